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
    with pytest.raises(ValueError, match="predicted class"):
        attribution.attribute(inputs, target=1 - classes)


def test_quantus_call(rows, net):
    from thickset.integrations.quantus import TopKStability, explain_func

    X, _ = rows
    model = net.model_
    inputs = model.encode(X[:5])
    scores = TopKStability(k=2, radius=0.2, effort="quick")(model, inputs, None)
    assert len(scores) == 5 and all(0 <= score <= 1 for score in scores)
    assert explain_func(model, inputs).shape == inputs.shape


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
