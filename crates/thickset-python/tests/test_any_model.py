"""Models of other libraries, and functions without gradients."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import thickset


def test_functions_without_gradients_are_audited(rows, tmp_path):
    X, _ = rows
    X = X[:40]
    weights = np.array([3.0, 2.0, 1.0, 0.5, 0.2, 0.1])
    predict = lambda x: np.stack([1 - (x @ weights > 3.4), x @ weights > 3.4], axis=1).astype(float)
    constant = thickset.audit(predict=predict, explain=lambda x: np.tile(weights, (len(x), 1)), X=X, k=2)
    assert constant["p_at_k"] == constant["noise_p_at_k"] == 1
    assert constant["distinctness"] == 0
    # Values of the row times weights: their order changes as the row moves.
    moving = thickset.audit(predict=predict, explain=lambda x: x * weights, X=X, k=2, radius=0.5, require="p_at_k<0.95")
    assert moving["p_at_k"] < moving["noise_p_at_k"] <= 1
    assert moving.passed and len(moving.to_pandas()) == 40
    again = thickset.audit(predict=predict, explain=lambda x: x * weights, X=X, k=2, radius=0.5)
    np.testing.assert_array_equal(moving.precision, again.precision)
    size = np.quantile(X, 0.99, axis=0) - np.quantile(X, 0.01, axis=0)
    assert (np.linalg.norm((moving.perturbed - X) / size, axis=1) <= 0.5 + 1e-6).all()
    # What is told of the worst points is true of them, and rows that keep all are told as they were.
    top = lambda x: np.argsort(-np.abs(x * weights), axis=1, kind="stable")[:, :2]
    kept = [len(set(a) & set(b)) / 2 for a, b in zip(top(X), top(moving.perturbed), strict=True)]
    np.testing.assert_array_equal(kept, moving.precision)
    np.testing.assert_array_equal(predict(X), predict(moving.perturbed))
    np.testing.assert_array_equal(moving.perturbed[moving.precision == 1], X[moving.precision == 1])
    moving.save(tmp_path / "audit")
    assert "without gradients" in (tmp_path / "audit" / "report.html").read_text()
    assert (tmp_path / "audit" / "audit.json").read_bytes() == moving.to_bytes()


def test_bad_functions_are_refused_and_their_exceptions_pass(rows):
    X, _ = rows
    X = X[:20]
    predict = lambda x: (x[:, 0] > 0.5).astype(float) * 0.5 + 0.25
    with pytest.raises(ValueError, match="one importance a feature"):
        thickset.audit(predict=predict, explain=lambda x: x[:, :2], X=X)
    with pytest.raises(TypeError, match="both `predict` and `explain`"):
        thickset.audit(predict=predict, X=X)
    with pytest.raises(TypeError, match="`effort` is for models"):
        thickset.audit(predict=predict, explain=np.abs, X=X, effort="quick")
    with pytest.raises(ValueError, match="k must lie in"):
        thickset.audit(predict=predict, explain=np.abs, X=X, k=6)
    with pytest.raises(ValueError, match="there is no figure `auc`"):
        thickset.audit(predict=predict, explain=np.abs, X=X, require="auc>=0.5")
    with pytest.raises(ZeroDivisionError):
        thickset.audit(predict=predict, explain=lambda x: 1 // 0, X=X)
    with pytest.raises(KeyError, match="enough"):
        thickset.audit(predict=predict, explain=np.abs, X=X, progress=lambda *_: {}["enough"])
    with pytest.raises(ValueError, match="is no class of `predict`"):
        thickset.audit(predict=predict, explain=np.abs, X=X, y=np.arange(20))


def test_functions_of_labels_texts_and_missing_values_are_audited(frame):
    X, y = frame
    X, y = X[:30], y[:30]
    seen = []

    def predict(rows):
        seen.append(rows.copy())
        return np.where(rows["income"] + (rows["job"] == "cook") > 0.7, "yes", "no")

    def explain(rows):
        found = np.zeros(rows.shape)
        found[:, 0], found[:, 6] = rows["income"], 0.4
        return found

    with pytest.warns(thickset.ThicksetWarning, match="stay as they are.*debt.*job") as told:
        audit = thickset.audit(predict=predict, explain=explain, X=X, y=y, k=1)
    assert told[0].filename == __file__
    assert 0 <= audit["p_at_k"] < 1
    assert audit["accuracy"] > 0.5
    for rows in seen:
        assert list(rows.columns) == list(X.columns)
        assert rows["job"].dtype == X["job"].dtype and rows["owner"].dtype == X["owner"].dtype
    # Texts, truth values and what misses values stay; missing ones are missing still.
    for name in ("debt", "job", "owner"):
        assert audit.perturbed[name].tolist() == X[name].tolist() or audit.perturbed[name].equals(X[name].reset_index(drop=True))
    assert set(audit.to_pandas()["class"]) <= {"yes", "no"}


def test_boosted_trees_with_shap_values_are_audited(rows):
    xgboost = pytest.importorskip("xgboost")
    shap = pytest.importorskip("shap")
    X, y = rows
    booster = xgboost.XGBClassifier(n_estimators=20, max_depth=3).fit(X, (y == "yes").astype(int))
    trees = shap.TreeExplainer(booster)
    audit = thickset.audit(predict=booster.predict_proba, explain=trees.shap_values, X=X[:15], y=(y[:15] == "yes").astype(int), k=2)
    assert 0 <= audit["p_at_k"] <= audit["noise_p_at_k"] <= 1
    assert audit["accuracy"] > 0.8
    assert "without gradients" in audit._repr_html_()


@pytest.fixture(scope="module")
def pipeline(frame):
    """A pipeline of a data frame with numbers that are missing, categories and a network."""
    pytest.importorskip("skl2onnx")
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    X, y = frame
    X = X.astype({"job": object, "owner": float}).fillna({"job": "none"})
    numbers = ["income", "age", "debt", "rooms", "cars", "pets", "owner"]
    encode = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numbers),
            ("categories", OneHotEncoder(handle_unknown="ignore"), ["job"]),
        ]
    )
    net = MLPClassifier((12, 8), max_iter=60, random_state=0)
    return make_pipeline(encode, net).fit(X, y), X, y


def test_a_pipeline_gives_its_own_probabilities_and_reasons(pipeline):
    made, X, y = pipeline
    model = thickset.from_sklearn(made, X)
    assert model.backend == "thickset"
    assert model.classes == ["no", "yes"]
    assert model.largest_difference < 1e-5
    np.testing.assert_allclose(model.predict_proba(X), made.predict_proba(X), atol=1e-5)
    assert list(model.predict(X[:9])) == list(made.predict(X[:9]))
    # Its columns are the data's, not the encoder's.
    explained = model.explain(X[:20])
    assert sorted(explained.names) == sorted(X.columns)
    found = model.reasons(X[:30], adverse="no", effort="quick")
    assert {one["column"] for row in found.rows for one in row["reasons"]} <= set(X.columns)
    audit = thickset.audit(model, X[:30], y[:30], effort="quick", require="accuracy>=0.7")
    assert audit.passed
    # The attack leaves every category whole, and its perturbed rows are what scikit-learn would see.
    changed = model.attack(X[:10], effort="quick").changes(0)
    assert all(name in set(X.columns) or name.startswith("job") for name, _, _ in changed)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))


def test_a_pipeline_is_what_onnxruntime_says(pipeline):
    runtime = pytest.importorskip("onnxruntime")
    from thickset._onnx import _converted

    made, X, _ = pipeline
    session = runtime.InferenceSession(_converted(made, X, double=False), providers=["CPUExecutionProvider"])
    feed = {
        one.name: X[[one.name]].to_numpy(dtype=object if one.type == "tensor(string)" else np.float32) for one in session.get_inputs()
    }
    theirs = session.run(["probabilities"], feed)[0]
    np.testing.assert_allclose(thickset.from_sklearn(made, X).predict_proba(X), theirs, atol=1e-4)


def test_pipelines_of_arrays_are_scaled_by_the_rows_where_they_do_not_scale(rows):
    pytest.importorskip("skl2onnx")
    from sklearn.feature_selection import SelectKBest
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline

    X, y = rows
    wide = X * np.array([1e5, 1, 1, 1, 1, 1e-4]) + np.array([3e6, 0, 0, 0, 0, 0])
    plain = LogisticRegression(max_iter=20).fit(X, y)
    assert thickset.from_sklearn(plain, X).largest_difference < 1e-5
    few = make_pipeline(SelectKBest(k=3), MLPClassifier((8,), max_iter=50, random_state=0)).fit(X, y)
    model = thickset.from_sklearn(few, X)
    # Columns that the prediction does not depend on are read and left out.
    assert len(model.columns) == 3
    np.testing.assert_allclose(model.predict_proba(X), few.predict_proba(X), atol=1e-5)
    encoded = thickset.from_sklearn(LogisticRegression(max_iter=200).fit(wide, y), wide).encode(wide)
    np.testing.assert_allclose(encoded.mean(axis=0), 0, atol=1e-3)
    np.testing.assert_allclose(encoded.std(axis=0), 1, atol=1e-3)
    assert (np.abs(model.attack(X[:5], effort="quick").perturbed) < 100).all()


def test_three_classes_and_numbers_as_labels(rows):
    pytest.importorskip("skl2onnx")
    from sklearn.linear_model import LogisticRegression

    X, _ = rows
    y = (X[:, 0] * 3).astype(int) * 10
    model = thickset.from_sklearn(LogisticRegression().fit(X, y), X)
    assert model.classes == ["0", "10", "20"]
    assert thickset.audit(model, X[:20], y[:20], effort="quick")["accuracy"] >= 0.5


def test_a_converter_that_is_wrong_is_refused_with_rows_and_sizes(rows):
    pytest.importorskip("skl2onnx")
    from sklearn.linear_model import LogisticRegression

    X, y = rows

    class Other(LogisticRegression):
        def predict_proba(self, X):
            found = super().predict_proba(X)
            return found * 0.9 + 0.05

    from skl2onnx import update_registered_converter
    from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes
    from skl2onnx.operator_converters.linear_classifier import convert_sklearn_linear_classifier

    update_registered_converter(
        Other,
        "Other",
        calculate_linear_classifier_output_shapes,
        convert_sklearn_linear_classifier,
        options={"zipmap": [True, False, "columns"], "nocl": [True, False], "output_class_labels": [False, True], "raw_scores": [True, False]},
    )
    with pytest.raises(ValueError, match=r"row \d+ `(no|yes)` 0\.\d+ instead of 0\.\d+"):
        thickset.from_sklearn(Other().fit(X, y), X)


def test_trees_and_regressors_are_refused_with_what_can_be_done(rows):
    pytest.importorskip("skl2onnx")
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LinearRegression

    X, y = rows
    with pytest.raises(ValueError, match=r"TreeEnsembleClassifier.*thickset\.audit\(predict="):
        thickset.from_sklearn(RandomForestClassifier(5).fit(X, y), X)
    with pytest.raises(TypeError, match="predict_proba"):
        thickset.from_sklearn(LinearRegression().fit(X, X[:, 0]), X)


def test_an_onnx_file_is_loaded_and_ours_is_read_back(pipeline, rows, net, tmp_path):
    from thickset._onnx import _converted

    made, X, y = pipeline
    (tmp_path / "pipeline.onnx").write_bytes(_converted(made, X, double=False))
    model = thickset.load(tmp_path / "pipeline.onnx", classes=["no", "yes"])
    np.testing.assert_allclose(model.predict_proba(X), made.predict_proba(X), atol=1e-4)
    assert "skl2onnx" in model.about
    X, _ = rows
    net.model_.save(tmp_path / "ours.onnx")
    np.testing.assert_array_equal(thickset.load(tmp_path / "ours.onnx").predict_proba(X), net.predict_proba(X))
    with pytest.raises(FileNotFoundError):
        thickset.load(tmp_path / "nothing.onnx")
    (tmp_path / "wrong.onnx").write_bytes(b"no graph")
    with pytest.raises(ValueError, match="ONNX"):
        thickset.load(tmp_path / "wrong.onnx")
    with pytest.raises(TypeError, match="are for ONNX files"):
        thickset.load(tmp_path / "ours.safetensors", classes=["a", "b"])


def test_a_graph_without_a_scaler_is_not_attacked_until_a_scale_is_given(rows, tmp_path):
    pytest.importorskip("skl2onnx")
    from sklearn.neural_network import MLPClassifier

    from thickset._onnx import _converted

    X, y = rows
    net = MLPClassifier((8,), max_iter=30, random_state=0).fit(X, y)
    file = tmp_path / "plain.onnx"
    file.write_bytes(_converted(net, X, double=False))
    model = thickset.load(file)
    np.testing.assert_allclose(model.predict_proba(X), net.predict_proba(X), atol=1e-5)
    assert len(model.explain(X[:3])) == 3
    with pytest.raises(ValueError, match="have no scaler"):
        model.attack(X[:3])
    with pytest.raises(ValueError, match="have no scaler"):
        thickset.audit(model, X[:3])
    assert len(thickset.load(file, scale="none").attack(X[:3], effort="quick")) == 3
    scaled = thickset.load(file, scale=X)
    np.testing.assert_allclose(scaled.encode(X).std(axis=0), 1, atol=1e-4)
    np.testing.assert_allclose(scaled.predict_proba(X), net.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("backend", ["thickset", "torch"])
def test_a_torch_module_is_explained_attacked_and_audited(rows, backend):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    X, _ = rows
    net = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.ReLU(), torch.nn.Linear(12, 2))
    example = torch.tensor(X, dtype=torch.float32)
    model = thickset.from_torch(net, example, classes=["no", "yes"], backend=backend)
    assert model.backend == backend
    few = X[:10].astype(np.float32)
    at = example[:10].clone().requires_grad_()
    probability = torch.softmax(net(at), dim=1)
    np.testing.assert_allclose(model.predict_proba(few), probability.detach().numpy(), atol=1e-6)
    probability[torch.arange(10), probability.argmax(dim=1)].sum().backward()
    found = model.explain(few, explanation="grad", reduce="signed")
    np.testing.assert_allclose(found.values, at.grad.numpy(), atol=1e-5)
    attacks = model.attack(few, effort="quick", k=2, radius=0.3)
    assert (np.linalg.norm(attacks.perturbed - attacks.rows, axis=1) <= 0.3 + 1e-5).all()
    assert 0 <= model.audit(few, effort="quick", k=2)["p_at_k"] <= 1
    if backend == "torch":
        with pytest.raises(thickset.ThicksetError, match="cannot be pickled"):
            pickle.dumps(model)
    else:
        copy = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(copy.predict_proba(few), model.predict_proba(few))


def test_our_engine_takes_a_module_where_it_can_and_pytorch_the_others(rows):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    X, _ = rows
    image = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(),
        torch.nn.Linear(64, 3),
    )
    images = torch.rand(12, 1, 8, 8)
    model = thickset.from_torch(image, images)
    assert model.backend == "thickset" and model.backend_note == ""
    with torch.no_grad():
        np.testing.assert_allclose(model.logits(images.numpy()), image.eval()(images).numpy(), atol=1e-5)

    class Odd(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(6, 4)

        def forward(self, x):
            return torch.fft.rfft(self.first(x)).abs()

    odd = thickset.from_torch(Odd(), X)
    assert odd.backend == "torch" and "fft" in odd.backend_note
    assert 0 <= odd.attack(X[:4].astype(np.float32), effort="quick", k=2).p_at_k <= 1
    with pytest.raises(ValueError, match="fft"):
        thickset.from_torch(Odd(), X, backend="thickset")
    # One sigmoid, a softmax at the end, and one logit: the same probabilities from both.
    body = [torch.nn.Linear(6, 8), torch.nn.ReLU()]
    for tail in ([torch.nn.Linear(8, 1), torch.nn.Sigmoid()], [torch.nn.Linear(8, 3), torch.nn.Softmax(dim=1)], [torch.nn.Linear(8, 1)]):
        net = torch.nn.Sequential(*body, *tail)
        ours, theirs = (thickset.from_torch(net, X, backend=backend) for backend in ("thickset", "torch"))
        few = X[:7].astype(np.float32)
        np.testing.assert_allclose(ours.predict_proba(few), theirs.predict_proba(few), atol=1e-5)
    with pytest.raises(ValueError, match="one number a class"):
        thickset.from_torch(torch.nn.Flatten(0), X)


def test_the_hessian_products_of_a_module_are_those_of_finite_differences(rows):
    torch = pytest.importorskip("torch")
    from thickset._foreign import _TorchNetwork

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(6, 9), torch.nn.Softplus(), torch.nn.Linear(9, 3)).double()
    asked = _TorchNetwork(torch, net, (6,))
    X, _ = rows
    random = np.random.default_rng(0)
    x, v, g = X[:4], random.normal(size=(4, 6)), random.normal(size=(4, 3))
    step = 1e-6
    along = (asked.logits(x + step * v) - asked.logits(x - step * v)) / (2 * step)
    np.testing.assert_allclose(asked.tangent(x, v), along, atol=1e-7)
    bent = (asked.pullback(x + step * v, g) - asked.pullback(x - step * v, g)) / (2 * step)
    np.testing.assert_allclose(asked.pullback_tangent(x, v, g), bent, atol=1e-7)
    # The two are one another's adjoint.
    np.testing.assert_allclose((asked.tangent(x, v) * g).sum(), (asked.pullback(x, g) * v).sum())


def test_exceptions_of_a_module_are_passed_on(rows):
    torch = pytest.importorskip("torch")

    class Fails(torch.nn.Module):
        def forward(self, x):
            if len(x) != 20:
                raise RuntimeError("the module says no")
            return x[:, :2]

    X, _ = rows
    model = thickset.from_torch(Fails(), torch.tensor(X[:20], dtype=torch.float32), backend="torch")
    with pytest.raises(RuntimeError, match="the module says no"):
        model.predict_proba(X[:5].astype(np.float32))
