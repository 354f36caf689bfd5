"""`ThicksetClassifier` is an estimator that scikit-learn accepts, and does what its parameters say."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from thickset import ThicksetClassifier, ThicksetError

#: Rows are drawn by their weights, so a row of weight 2 is not the same draw as the row twice; every other check must pass.
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": "rows are drawn by their weights in mini-batches",
}


def _name(check):
    return getattr(check, "func", check).__name__


@pytest.mark.parametrize(
    ("estimator", "check"),
    list(estimator_checks_generator(ThicksetClassifier(), legacy=True)),
    ids=lambda one: _name(one) if callable(one) else "",
)
def test_scikit_learns_own_checks(estimator, check):
    reason = EXPECTED_FAILURES.get(_name(check))
    if reason is not None:
        try:
            check(estimator)
        except AssertionError:
            pytest.xfail(reason)
        return
    check(estimator)


def test_it_learns_and_answers_with_the_labels_it_was_given(rows, net):
    X, y = rows
    assert net.score(X, y) > 0.8
    assert list(net.classes_) == ["no", "yes"]
    assert set(net.predict(X)) <= {"no", "yes"}
    probabilities = net.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-6)
    margin = net.decision_function(X)
    np.testing.assert_allclose(1 / (1 + np.exp(-margin)), probabilities[:, 1], atol=1e-5)


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(rows):
    X, y = rows
    fit = lambda seed: ThicksetClassifier(max_iter=2, hidden=(8,), random_state=seed).fit(X, y)
    assert fit(1).model_.to_bytes() == fit(1).model_.to_bytes()
    assert fit(1).model_.to_bytes() != fit(2).model_.to_bytes()


def test_a_copy_by_pickle_answers_alike_and_a_clone_is_unfitted(rows, net):
    X, y = rows
    copy = pickle.loads(pickle.dumps(net))
    assert copy.model_.to_bytes() == net.model_.to_bytes()
    np.testing.assert_array_equal(copy.predict_proba(X), net.predict_proba(X))
    np.testing.assert_array_equal(copy.explain(X[:9]).values, net.explain(X[:9]).values)
    assert copy.audit(X[:20], y[:20], effort="quick").to_bytes() == net.audit(X[:20], y[:20], effort="quick").to_bytes()
    assert not hasattr(clone(net), "model_")


def test_data_frames_go_through_our_encoding(frame):
    X, y = frame
    net = ThicksetClassifier(max_iter=4, immutable=["age"]).fit(X, y)
    assert list(net.feature_names_in_) == list(X.columns)
    assert "job=(missing)" in net.model_.features
    assert "owner=True" in net.model_.features
    other = X.copy()
    other["job"] = "never seen"
    assert np.isfinite(net.predict_proba(other)).all()
    moved = net.attack(X[:5], effort="quick")
    age = net.model_.features.index("age")
    np.testing.assert_allclose(moved.perturbed[:, age], moved.rows[:, age])
    with pytest.raises(ValueError, match="feature names"):
        net.predict(X[list(reversed(X.columns))])


def test_polars_and_pandas_frames_give_the_same_bytes(frame):
    polars = pytest.importorskip("polars")
    X, y = frame
    other = polars.from_pandas(X.astype({"job": object}))
    fit = lambda X: ThicksetClassifier(max_iter=2).fit(X, y.to_numpy())
    of_pandas, of_polars = fit(X), fit(other)
    assert of_pandas.model_.to_bytes() == of_polars.model_.to_bytes()
    np.testing.assert_array_equal(of_pandas.predict_proba(X), of_polars.predict_proba(other))


def test_dates_and_unnamed_columns_are_refused_with_a_sentence(frame):
    pandas = pytest.importorskip("pandas")
    X, y = frame
    dated = X.assign(day=pandas.Timestamp("2024-01-01"))
    with pytest.raises(ThicksetError, match="column `day` holds dates"):
        ThicksetClassifier().fit(dated, y)
    with pytest.raises(TypeError):
        ThicksetClassifier().fit(X.rename(columns={"age": 3}), y)


def test_missing_values_in_arrays_are_values_too(rows):
    X, y = rows
    holed = X.copy()
    holed[::5, 3] = np.nan
    net = ThicksetClassifier(max_iter=2).fit(holed, y)
    assert np.isfinite(net.predict_proba(holed)).all()
    assert np.isfinite(net.predict_proba(X)).all()
    with pytest.raises(ValueError, match="infinity"):
        net.predict(np.full((1, 6), np.inf))


def test_weights_say_how_often_rows_are_seen(rows):
    X, y = rows
    fit = lambda **more: ThicksetClassifier(max_iter=3, hidden=(8,)).fit(X, y, **more)
    assert fit().model_.to_bytes() == fit(sample_weight=np.full(len(X), 2.5)).model_.to_bytes()
    only = fit(sample_weight=np.where(y == "yes", 1.0, 1e-9))
    assert (only.predict(X) == "yes").mean() > 0.9
    half = np.arange(len(X)) % 2 == 0
    weights = half.astype(float)
    assert np.isfinite(fit(sample_weight=weights).predict_proba(X)).all()
    with pytest.raises(ValueError, match="class"):
        fit(sample_weight=(y == "yes").astype(float))


def test_balanced_classes_raise_the_rare_class(rows):
    X, _ = rows
    y = (X[:, 0] + 0.3 * np.random.default_rng(1).normal(size=len(X)) > 1.0).astype(int)
    plain = ThicksetClassifier("vanilla", max_iter=6).fit(X, y)
    balanced = ThicksetClassifier("vanilla", max_iter=6, class_weight="balanced").fit(X, y)
    rare = ThicksetClassifier("vanilla", max_iter=6, class_weight={1: 50.0}).fit(X, y)
    share = lambda net: net.predict_proba(X)[:, 1].mean()
    assert share(plain) < share(balanced) < share(rare)
    with pytest.raises(ValueError, match="names 7, which no row has"):
        ThicksetClassifier(class_weight={7: 2.0}).fit(X, y)


def test_training_stops_early_where_nothing_improves(rows):
    X, y = rows
    net = ThicksetClassifier(max_iter=200, hidden=(4,), early_stopping=True, n_iter_no_change=2).fit(X, y)
    assert net.n_iter_ < 200
    assert len(net.epochs_) == net.n_iter_


def test_settings_that_do_not_exist_are_refused_with_what_was_expected(rows):
    X, y = rows
    with pytest.raises(ThicksetError, match="unknown variant `r2te`"):
        ThicksetClassifier("r2te").fit(X, y)
    with pytest.raises(ValueError, match="unknown field `gap_wait`"):
        ThicksetClassifier({"kind": "r2et", "gap_wait": 1}).fit(X, y)
    with pytest.raises(ValueError, match="k must lie in"):
        ThicksetClassifier(k=6).fit(X, y)
    with pytest.raises(ValueError, match="train.epochs"):
        ThicksetClassifier(max_iter=0).fit(X, y)


def test_it_works_in_pipelines_searches_and_processes(rows):
    X, y = rows
    pipeline = make_pipeline(StandardScaler(), ThicksetClassifier(max_iter=2, hidden=(8,)))
    pipeline.set_output(transform="default")
    assert cross_val_score(pipeline, X, y, cv=3).min() > 0.5
    search = GridSearchCV(
        ThicksetClassifier(max_iter=2), {"hidden": [(4,), (8,)], "objective": ["vanilla", "r2et"]}, cv=2, n_jobs=2
    )
    search.fit(X, y)
    assert search.best_params_["objective"] in ("vanilla", "r2et")
    serial = cross_val_score(ThicksetClassifier(max_iter=2), X, y, cv=2, n_jobs=1)
    np.testing.assert_array_equal(serial, cross_val_score(ThicksetClassifier(max_iter=2), X, y, cv=2, n_jobs=2))


def test_frames_of_a_pipelines_set_output_keep_their_names(frame):
    X, y = frame
    numbers = X[["income", "age", "rooms"]]
    pipeline = make_pipeline(StandardScaler(), ThicksetClassifier(max_iter=2))
    pipeline.set_output(transform="pandas").fit(numbers, y)
    assert list(pipeline[-1].feature_names_in_) == ["income", "age", "rooms"]
    assert pipeline[-1].model_.features == ["income", "age", "rooms"]
