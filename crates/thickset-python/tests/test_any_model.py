"""Models of other libraries, and functions without gradients."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import thickset


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


def test_a_torch_module_is_explained_attacked_and_audited(rows):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    X, _ = rows
    net = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.ReLU(), torch.nn.Linear(12, 2))
    example = torch.tensor(X, dtype=torch.float32)
    model = thickset.from_torch(net, example, classes=["no", "yes"])
    assert model.backend == "torch"
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
    with pytest.raises(thickset.ThicksetError, match="cannot be pickled"):
        pickle.dumps(model)


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
    model = thickset.from_torch(Fails(), torch.tensor(X[:20], dtype=torch.float32))
    with pytest.raises(RuntimeError, match="the module says no"):
        model.predict_proba(X[:5].astype(np.float32))
