"""Classifiers whose explanations stay put: train them, attack them, measure them.

>>> import thickset
>>> model = thickset.train({"data": {"source": "breast-cancer"}, "train": {"epochs": 2}}).model
>>> len(model.explain("breast-cancer"))
86
>>> thickset.audit(model, "breast-cancer", effort="quick", max_rows=10, require=["auc>=0.9"]).passed
True

Nothing heavy is imported before it is used: not numpy, not scikit-learn, not PyTorch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from thickset._errors import GateFailed, ThicksetError, ThicksetWarning
from thickset._native import __version__

if TYPE_CHECKING:
    from thickset._estimator import ThicksetClassifier as ThicksetClassifier
    from thickset._foreign import from_torch as from_torch
    from thickset._onnx import from_sklearn as from_sklearn
    from thickset._function_audit import FunctionAudit as FunctionAudit
    from thickset._functions import audit as audit
    from thickset._functions import compare as compare
    from thickset._functions import methods as methods
    from thickset._functions import read_audit as read_audit
    from thickset._model import Model as Model
    from thickset._model import load as load
    from thickset._results import Attacks as Attacks
    from thickset._results import Audit as Audit
    from thickset._results import Certificates as Certificates
    from thickset._results import Comparison as Comparison
    from thickset._results import Explanation as Explanation
    from thickset._results import Reasons as Reasons
    from thickset._train import Trained as Trained
    from thickset._train import train as train

# Where each name comes from; a module is imported when one of its names is first asked for.
_HOME = {
    "ThicksetClassifier": "_estimator",
    "from_torch": "_foreign",
    "from_sklearn": "_onnx",
    "audit": "_functions",
    "compare": "_functions",
    "methods": "_functions",
    "read_audit": "_functions",
    "Model": "_model",
    "load": "_model",
    "Attacks": "_results",
    "Audit": "_results",
    "Certificates": "_results",
    "Comparison": "_results",
    "Explanation": "_results",
    "FunctionAudit": "_function_audit",
    "Reasons": "_results",
    "Trained": "_train",
    "train": "_train",
}

__all__ = ["GateFailed", "ThicksetError", "ThicksetWarning", "__version__", *_HOME]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'thickset' has no attribute {name!r}")
    value = getattr(import_module(f"thickset.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
