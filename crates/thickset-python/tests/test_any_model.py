"""Models of other libraries, and functions without gradients."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import thickset


def test_a_scikit_learn_pipeline_is_explained_attacked_and_audited(rows):
    pytest.importorskip("skl2onnx")
    X, y = rows
    pipeline = make_pipeline(StandardScaler(), MLPClassifier((16,), max_iter=80, random_state=0)).fit(X, y)
    model = thickset.from_sklearn(pipeline, X)
    assert model.backend == "thickset"
    assert model.classes == ["no", "yes"]
    np.testing.assert_allclose(model.predict_proba(X), pipeline.predict_proba(X), atol=1e-4)
    explained = model.explain(X[:4], explanation="grad", reduce="signed")
    assert explained.values.shape == (4, 6)
    audit = thickset.audit(model, X[:20], y[:20], effort="quick", k=3)
    assert audit.figures["accuracy"]["value"] > 0.5


def test_a_pipeline_that_onnx_gets_wrong_is_refused(rows, monkeypatch):
    pytest.importorskip("skl2onnx")
    X, y = rows
    fitted = LogisticRegression().fit(X, y)
    other = LogisticRegression().fit(X, y)
    other.coef_ = other.coef_ * 1.5
    monkeypatch.setattr(fitted, "predict_proba", other.predict_proba)
    with pytest.raises(ValueError, match="is refused"):
        thickset.from_sklearn(fitted, X)


def test_functions_without_gradients_are_audited(rows):
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
    distance = np.linalg.norm((moving.perturbed - X) / (np.quantile(X, 0.99, axis=0) - np.quantile(X, 0.01, axis=0)), axis=1)
    assert (distance <= 0.5 + 1e-9).all()
    with pytest.raises(ValueError, match="one importance a feature"):
        thickset.audit(predict=predict, explain=lambda x: x[:, :2], X=X)
    with pytest.raises(TypeError, match="both `predict` and `explain`"):
        thickset.audit(predict=predict, X=X)


def test_boosted_trees_with_shap_values_are_audited(rows):
    xgboost = pytest.importorskip("xgboost")
    shap = pytest.importorskip("shap")
    X, y = rows
    booster = xgboost.XGBClassifier(n_estimators=20, max_depth=3).fit(X, (y == "yes").astype(int))
    trees = shap.TreeExplainer(booster)
    audit = thickset.audit(predict=booster.predict_proba, explain=trees.shap_values, X=X[:15], y=(y[:15] == "yes").astype(int), k=2)
    assert 0 <= audit["p_at_k"] <= audit["noise_p_at_k"] <= 1
    assert audit["accuracy"] > 0.8


def test_a_torch_module_goes_through_onnx_or_is_asked_itself(rows):
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    torch.manual_seed(0)
    X, _ = rows
    net = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.ReLU(), torch.nn.Linear(12, 2))
    example = torch.tensor(X, dtype=torch.float32)
    lowered = thickset.from_torch(net, example)
    asked = thickset.from_torch(net, example, backend="torch")
    assert (lowered.backend, asked.backend) == ("thickset", "torch")
    rows_ = X[:10].astype(np.float32)
    with torch.no_grad():
        expected = torch.softmax(net(example[:10]), dim=1).numpy()
    np.testing.assert_allclose(asked.predict_proba(rows_), expected, atol=1e-6)
    np.testing.assert_allclose(lowered.predict_proba(rows_), expected, atol=1e-5)
    at = example[:10].clone().requires_grad_()
    probability = torch.softmax(net(at), dim=1)
    classes = probability.argmax(dim=1)
    probability[torch.arange(10), classes].sum().backward()
    found = asked.explain(rows_, explanation="grad", reduce="signed")
    np.testing.assert_allclose(found.values, at.grad.numpy(), atol=1e-5)
    attacks = asked.attack(rows_, effort="quick", k=2, radius=0.3)
    assert (np.linalg.norm(attacks.perturbed - attacks.rows, axis=1) <= 0.3 + 1e-5).all()
    assert 0 <= asked.audit(rows_, effort="quick", k=2)["p_at_k"] <= 1


def test_an_operator_that_is_missing_is_pytorchs_to_answer(rows):
    torch = pytest.importorskip("torch")

    class Odd(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.last = torch.nn.Linear(6, 3)

        def forward(self, x):
            return self.last(torch.special.bessel_j0(x) + torch.cumsum(x, dim=1))

    X, _ = rows
    model = thickset.from_torch(Odd(), torch.tensor(X[:20], dtype=torch.float32))
    assert model.backend == "torch"
    assert model.reason
    assert model.attack(X[:5].astype(np.float32), effort="quick", k=2).precision.shape == (5,)
    with pytest.raises(thickset.ThicksetError, match="cannot be pickled"):
        import pickle

        pickle.dumps(model)


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
