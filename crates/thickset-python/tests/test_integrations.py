"""Where people already are: each runs where its library can be imported."""

from __future__ import annotations

import numpy as np
import pytest

import thickset


def test_mlflow_keeps_figures_and_report(rows, net, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    X, y = rows
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db" if _has("sqlalchemy") else f"file:{tmp_path}/mlruns")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    audit = thickset.audit(net, X[:20], y[:20], effort="quick")
    with mlflow.start_run() as run:
        audit.log_to_mlflow()
    found = mlflow.get_run(run.info.run_id)
    assert found.data.metrics["thickset.p_at_k"] == audit["p_at_k"]
    assert found.data.tags["thickset.gate"] == "holds"


def _has(name):
    import importlib.util

    return importlib.util.find_spec(name) is not None


def test_mlflow_evaluates_a_logged_estimator(rows, net, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("mlflow.models.evaluation")
    pytest.importorskip("sqlalchemy", reason="the slim MLflow evaluates nothing")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/evaluated.db")
    X, y = rows
    names = [f"x{place}" for place in range(6)]
    data = pandas.DataFrame(X[:25], columns=names).assign(y=y[:25])
    with mlflow.start_run():
        logged = mlflow.sklearn.log_model(net, name="net", serialization_format="pickle")
        found = mlflow.models.evaluate(
            logged.model_uri,
            data,
            targets="y",
            model_type="classifier",
            evaluators=["thickset"],
            evaluator_config={"thickset": {"effort": "quick", "k": 2}},
        )
    expected = thickset.audit(net, X[:25], y[:25], effort="quick", k=2)
    assert found.metrics["thickset.p_at_k"] == expected["p_at_k"]
    assert found.metrics["thickset.accuracy"] == expected["accuracy"]


def test_captums_signature(rows, net):
    from thickset.integrations.captum import Attribution

    X, _ = rows
    model = net.model_
    inputs = model.encode(X[:5])
    attribution = Attribution(model, "grad")
    found = attribution.attribute(inputs)
    assert found.shape == inputs.shape
    classes = model.predict_proba(inputs, encoded=True).argmax(axis=1)
    np.testing.assert_array_equal(attribution.attribute(inputs, target=classes), found)
    # Probabilities of two classes add up to one, so their gradients are opposite.
    np.testing.assert_allclose(attribution.attribute(inputs, target=1 - classes), -found, atol=1e-6)
    with pytest.raises(TypeError, match="baselines"):
        attribution.attribute(inputs, baselines=0)


def test_attributions_are_captums(rows):
    torch = pytest.importorskip("torch")
    attr = pytest.importorskip("captum.attr")
    from thickset.integrations.captum import Attribution

    torch.manual_seed(0)
    X, _ = rows
    net = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.ReLU(), torch.nn.Linear(12, 3)).eval()
    inputs = torch.tensor(X[:6], dtype=torch.float32)
    model = thickset.from_torch(net, inputs)
    for target in (0, 2):
        theirs = attr.Saliency(net).attribute(inputs, target=target, abs=False)
        ours = Attribution(model, {"kind": "grad", "of": "logit"}).attribute(inputs, target=target)
        assert isinstance(ours, torch.Tensor)
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)
        theirs = attr.IntegratedGradients(net).attribute(inputs, target=target, n_steps=200, method="riemann_middle")
        path = {"kind": "integrated-gradients", "of": "logit", "steps": 200}
        ours = Attribution(model, path).attribute(inputs, target=target)
        torch.testing.assert_close(ours, theirs.float(), atol=1e-4, rtol=1e-3)


def test_quantus_call(rows, net):
    from thickset.integrations.quantus import TopKStability, explain_func

    X, _ = rows
    model = net.model_
    inputs = model.encode(X[:5])
    scores = TopKStability(k=2, radius=0.2, effort="quick")(model, inputs, None)
    assert len(scores) == 5 and all(0 <= score <= 1 for score in scores)
    assert explain_func(model, inputs).shape == inputs.shape


def test_quantus_evaluates_with_our_metric_and_our_explanations(rows):
    torch = pytest.importorskip("torch")
    quantus = pytest.importorskip("quantus")
    from thickset.integrations.quantus import TopKStability, explain_func

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 3, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(108, 3)).eval()
    images = np.random.default_rng(0).random((4, 1, 8, 8)).astype(np.float32)
    with torch.no_grad():
        labels = net(torch.tensor(images)).argmax(dim=1).numpy()
    ours = TopKStability(k=5, radius=0.3, effort="quick")
    theirs = quantus.Sparseness(disable_warnings=True, display_progressbar=False)
    found = quantus.evaluate(
        metrics={"ours": ours, "sparseness": theirs},
        xai_methods={"thickset": explain_func},
        model=net,
        x_batch=images,
        y_batch=labels,
        agg_func=np.mean,
        explain_func_kwargs={"explanation": "grad"},
    )
    assert 0 <= found["thickset"]["ours"] <= 1
    assert np.isfinite(found["thickset"]["sparseness"])


def test_skops_card_and_file(rows, net, tmp_path):
    pytest.importorskip("skops")
    import skops.card
    import skops.io

    from thickset.integrations.skops import TRUSTED, add_audit

    X, y = rows
    audit = thickset.audit(net, X[:20], y[:20], effort="quick")
    card = skops.card.Card(net)
    add_audit(card, audit)
    assert f"P@{audit.k}" in card.render()
    skops.io.dump(net, tmp_path / "net.skops")
    copy = skops.io.load(tmp_path / "net.skops", trusted=TRUSTED)
    np.testing.assert_array_equal(copy.predict_proba(X), net.predict_proba(X))
