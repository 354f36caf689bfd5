"""Results are arrays with names, and make tables, files, pages and pictures of themselves."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import thickset
from thickset import GateFailed


def test_an_explanation_is_its_arrays(rows, net):
    X, _ = rows
    explained = net.explain(X[:7])
    assert explained.values.shape == (7, 6)
    assert explained.names == [f"x{place}" for place in range(6)]
    assert len(explained) == 7
    order = np.argsort(-explained.values[0], kind="stable")
    assert explained.top(3)[0] == [explained.names[place] for place in order[:3]]
    one = explained[2]
    np.testing.assert_array_equal(one.values[0], explained.values[2])
    assert explained[-1].values.shape == (1, 6)
    assert explained[1:3].values.shape == (2, 6)


def test_the_gradient_is_the_gradient_of_the_probability(rows, net):
    X, _ = rows
    model = net.model_
    x = model.encode(X[:4]).astype(np.float64)
    explained = model.explain(x, encoded=True, explanation="grad", reduce="signed")
    step = 1e-2
    for feature in range(6):
        up, down = x.copy(), x.copy()
        up[:, feature] += step
        down[:, feature] -= step
        probability = lambda at: model.predict_proba(at, encoded=True)[np.arange(4), explained.classes]
        slope = (probability(up) - probability(down)) / (2 * step)
        np.testing.assert_allclose(explained.values[:, feature], slope, atol=5e-2)


def test_tables_in_every_form(rows, net, tmp_path):
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    X, _ = rows
    explained = net.explain(X[:5])
    frame = explained.to_pandas()
    assert list(frame.columns[:2]) == ["class", "probability"]
    np.testing.assert_array_equal(frame["x3"], explained.values[:, 3])
    assert explained.to_polars().shape == frame.shape
    explained.save(tmp_path / "why.csv")
    np.testing.assert_allclose(pandas.read_csv(tmp_path / "why.csv")["x0"], explained.values[:, 0])
    explained.save(tmp_path / "why.jsonl")
    assert json.loads((tmp_path / "why.jsonl").read_text().splitlines()[0])["x0"] == explained.values[0, 0]
    explained.save(tmp_path / "why.npz")
    np.testing.assert_array_equal(np.load(tmp_path / "why.npz")["x1"], explained.values[:, 1])
    explained.save(tmp_path / "why.parquet")
    assert polars.read_parquet(tmp_path / "why.parquet").height == 5
    with pytest.raises(ValueError, match="ends in .csv"):
        explained.save(tmp_path / "why.docx")


def test_pictures_escape_what_others_named(rows):
    pandas = pytest.importorskip("pandas")
    X, y = rows
    frame = pandas.DataFrame(X, columns=["<script>alert(1)</script>", "b", "c", "d", "e", "f"])
    net = thickset.ThicksetClassifier(max_iter=1).fit(frame, y)
    page = net.explain(frame[:1])._repr_html_()
    assert "<svg" in page
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "<script>alert" not in net.audit(frame[:12], effort="quick")._repr_html_()


def test_attacks_stay_in_the_ball_and_say_what_they_found(rows, net):
    X, _ = rows
    attacks = net.attack(X[:20], effort="quick", radius=0.2, k=3)
    moved = np.linalg.norm(attacks.perturbed - attacks.rows, axis=1)
    assert (moved <= 0.2 + 1e-6).all()
    assert attacks.k == 3
    again = net.model_.explain(attacks.perturbed, encoded=True).values
    kept = [
        len(set(np.argsort(-a, kind="stable")[:3]) & set(np.argsort(-b, kind="stable")[:3])) / 3
        for a, b in zip(attacks.before, again, strict=True)
    ]
    np.testing.assert_allclose(attacks.precision[attacks.held], np.array(kept)[attacks.held], atol=1e-9)
    assert "survive" in attacks._repr_html_()
    changed = attacks.changes(int(np.argmax(moved)))
    assert changed and changed[0][1] != changed[0][2]


def test_no_attack_breaks_a_certificate(rows, net):
    X, _ = rows
    # Contributions have no certificate; the gradient has.
    certified = net.certify(X[:15], radius=0.1, k=3, explanation="grad")
    attacked = net.attack(X[:15], radius=0.1, k=3, effort="quick", explanation="grad")
    held = attacked.held
    assert (attacked.precision[held] >= certified.certified_p_at_k[held] - 1e-9).all()
    assert certified.to_pandas().shape[0] == 15
    assert "keep their top 3" in repr(certified)


def test_an_audit_has_figures_rows_a_gate_and_a_page(rows, net, tmp_path):
    X, y = rows
    audit = thickset.audit(net, X[:40], y[:40], effort="quick", require=["p_at_k>=0.01", "auc>=0.6"])
    assert audit.passed and audit.raise_for_gate() is audit
    figure = audit.figures["p_at_k"]
    assert figure["low"] <= audit["p_at_k"] == figure["value"] <= figure["high"]
    frame = audit.to_pandas()
    assert len(frame) == len(audit) == 40
    assert abs(frame["p_at_k"].mean() - audit["p_at_k"]) < 1e-12
    assert "<iframe" in audit._repr_html_()
    failed = thickset.audit(net, X[:20], effort="quick", require="p_at_k>=1.5")
    assert not failed.passed
    with pytest.raises(GateFailed, match="p_at_k>=1.5 fails"):
        failed.raise_for_gate()
    copy = pickle.loads(pickle.dumps(audit))
    assert copy.to_bytes() == audit.to_bytes()
    audit.save(tmp_path / "one.html")
    assert "<html" in (tmp_path / "one.html").read_text()
    with pytest.raises(ValueError, match="none of the model's classes"):
        thickset.audit(net, X[:3], ["maybe"] * 3, effort="quick")


def test_reasons_are_told_in_the_persons_own_values(frame, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = frame
    net = thickset.ThicksetClassifier(max_iter=8, immutable=["age"]).fit(X, y)
    found = net.reasons(X[:60], adverse="no", k=3, effort="quick", threat={"error": {"*": "5%"}})
    assert found.adverse == "no" and len(found) == (net.predict(X[:60]) == "no").sum() > 0
    probability = net.predict_proba(X[:60])[:, 0]
    columns = set(X.columns)
    for row in found.rows:
        assert row["is_adverse"] and row["probability"] == pytest.approx(probability[row["row"] - 1])
        # Contributions of all columns add up from the reference's score to the row's.
        assert sum(row["contributions"]) == pytest.approx(row["score"] - row["reference_score"], abs=1e-4)
        assert len(row["reasons"]) <= 3
        for one in row["reasons"]:
            assert one["column"] in columns and one["contribution"] > 0 and 0 <= one["holds"] <= 1
            own = X["job"].iloc[row["row"] - 1]
            if one["column"] == "job" and isinstance(own, str):
                assert one["value"] == own
    assert "off by" in found.change or "error" in found.change
    table = found.to_pandas()
    found.save(tmp_path / "reasons.csv")
    written = pandas.read_csv(tmp_path / "reasons.csv")
    assert list(table.columns) == list(written.columns) and len(table) == len(written)
    np.testing.assert_allclose(table["contribution"].astype(float), written["contribution"])
    assert found.to_polars().height == len(table)
    found.save(tmp_path / "reasons.parquet")
    found.save(tmp_path / "letters")
    assert len(list((tmp_path / "letters").iterdir())) == len(found)
    assert "<html" in found.letter(0)
    assert "<table" in found._repr_html_()
    copy = pickle.loads(pickle.dumps(found))
    assert copy.rows == found.rows
    everyone = net.reasons(X[:60], adverse="no", attack=False, all_rows=True)
    assert len(everyone) == 60 and everyone.change is None
    few = net.reasons(X[:60], adverse="no", cutoff=0.9, attack=False)
    assert len(few) == (probability >= 0.9).sum()
    with pytest.raises(ValueError, match="maybe"):
        net.reasons(X[:3], adverse="maybe")
    with pytest.raises(ValueError, match="adverse"):
        net.reasons(X[:3])


def test_a_reason_names_a_value_that_the_model_has_never_seen(frame):
    X, y = frame
    net = thickset.ThicksetClassifier(max_iter=4).fit(X, y)
    other = X[:40].copy()
    other["job"] = other["job"].astype(object)
    other.loc[:, "job"] = "pilot"
    with pytest.warns(thickset.ThicksetWarning, match="40 rows have a `job` that the model has never seen"):
        found = net.reasons(other, adverse="no", attack=False, all_rows=True, k=8)
    values = {one["value"] for row in found.rows for one in row["reasons"] if one["column"] == "job"}
    assert values <= {"pilot"}
    with pytest.warns(thickset.ThicksetWarning):
        shown = net.explain(other)._column_data()[1]
    assert set(shown[:, net.explain(X[:1]).names.index("job")]) == {"pilot"}


def test_reasons_have_the_codes_that_were_given(frame, tmp_path):
    X, y = frame
    net = thickset.ThicksetClassifier(max_iter=4).fit(X, y)
    template = net.model_.codes_template()
    assert 'column = "income"' in template
    (tmp_path / "codes.toml").write_text(template)
    of_file = net.reasons(X[:40], adverse="no", attack=False, codes=tmp_path / "codes.toml")
    assert all(one["code"] for row in of_file.rows for one in row["reasons"])
    rule = {"column": "income", "code": "R7", "text": "Your income is {value}."}
    found = net.reasons(X[:40], adverse="no", attack=False, codes={"reason": [rule]})
    codes = {one["code"] for row in found.rows for one in row["reasons"] if one["column"] == "income"}
    assert codes == {"R7"}
    with pytest.raises(FileNotFoundError):
        net.reasons(X[:3], adverse="no", codes=tmp_path / "nothing.toml")


def test_importances_that_add_up_have_their_base(rows, net):
    X, _ = rows
    explained = net.explain(X[:20])
    assert explained.config["explanation"]["kind"] == "contributions"
    probability = explained.probabilities[np.arange(20), explained.classes]
    np.testing.assert_allclose(
        explained.base_values + explained.values.sum(axis=1), np.log(probability / (1 - probability)), atol=1e-3
    )
    path = {"kind": "integrated-gradients", "steps": 400}
    along = net.explain(X[:20], explanation=path, reduce="signed")
    np.testing.assert_allclose(along.base_values + along.values.sum(axis=1), probability, atol=2e-3)
    assert net.explain(X[:2], explanation="grad").base_values is None
    assert net.explain(X[:2], explanation=path, reduce="absolute").base_values is None


def test_every_result_shows_itself_in_a_notebook(rows, net):
    X, y = rows
    few = X[:12]
    explained = net.explain(few)
    shown = [
        explained,
        explained[0],
        net.attack(few, effort="quick"),
        net.certify(few[:3], explanation="grad", radius=0.05),
        net.reasons(few, adverse="no", effort="quick"),
        thickset.audit(net, few, y[:12], effort="quick"),
        thickset.compare(net, net, few, effort="quick"),
    ]
    for one in shown:
        page = one._repr_html_()
        assert page.startswith("<") and "<script" not in page, type(one)
        assert one.to_html().lstrip().startswith("<")
        assert repr(one).startswith("<thickset.")


def test_shap_draws_contributions_of_columns(frame):
    shap = pytest.importorskip("shap")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    X, y = frame
    net = thickset.ThicksetClassifier(max_iter=3).fit(X, y)
    explained = net.explain(X[:40])
    made = explained.to_shap()
    assert made.values.shape == (40, len(explained.names))
    job = explained.names.index("job")
    assert made.display_data[1, job] == X["job"].iloc[1]
    np.testing.assert_array_equal(made.base_values, explained.base_values)
    for draw in (shap.plots.bar, shap.plots.beeswarm, lambda one, show: shap.plots.waterfall(one[0], show=show)):
        draw(made, show=False)
        plt.close("all")
    shap.plots.scatter(made[:, "income"], show=False)
    plt.close("all")


def test_shap_draws_an_explanation(rows, net):
    shap = pytest.importorskip("shap")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X, _ = rows
    explained = net.explain(X[:30], explanation="integrated-gradients", reduce="signed")
    made = explained.to_shap()
    assert made.values.shape == (30, 6)
    assert list(made.feature_names) == explained.names
    shap.plots.bar(made, show=False)
    shap.plots.beeswarm(made, show=False)
    shap.plots.waterfall(made[0], show=False)


def test_every_method_of_the_registry_is_listed():
    found = thickset.methods()
    assert {"r2et", "er-attack", "integrated-gradients"} <= {one["id"] for one in found}
    assert all(one["summary"] for one in found)
