"""Quantus: P@k under attack as a metric with Quantus' call, and an explanation function for its other metrics.

Quantus passes `model`, `x_batch`, `y_batch`, `a_batch`; what is scored is our suite's worst case, row by row.

>>> TopKStability(radius=0.5, k=8)(model, x_batch, y_batch)  # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

import numpy as np

from thickset._model import Model


class TopKStability:
    """The share of each row's top k that the worst attack found leaves; in [0, 1], higher is more stable."""

    name = "thickset top-k stability"
    score_direction = "higher"

    def __init__(self, *, k: int | None = None, radius: float | None = None, effort: str = "standard", **settings: Any) -> None:
        self.settings = {"k": k, "radius": radius, "effort": effort, **settings}
        self.evaluation_scores: list[float] = []

    def __call__(self, model: Any, x_batch: Any, y_batch: Any = None, a_batch: Any = None, **_: Any) -> list[float]:
        """Scores each row of a `thickset.Model` or a PyTorch module. Explanations that were made elsewhere (`a_batch`) are not looked at."""
        rows = np.asarray(x_batch)
        attacks = _model(model, rows).attack(rows, encoded=True, **self.settings)
        self.evaluation_scores = attacks.precision.tolist()
        return self.evaluation_scores


def explain_func(model: Any, inputs: Any, targets: Any = None, **settings: Any) -> Any:
    """What Quantus' metrics take as `explain_func`: importances of the targets in the shape of the inputs."""
    array = np.asarray(inputs)
    settings = {"reduce": "signed", **{name: value for name, value in settings.items() if name in _SETTINGS}}
    explained = _model(model, array).explain(array, encoded=True, target=targets, per="feature", **settings)
    return explained.values.reshape(array.shape)


#: What is ours of the settings that Quantus hands on; it adds its own, such as `device`.
_SETTINGS = ("explanation", "reduce", "seed")


def _model(model: Any, rows: Any) -> Model:
    if isinstance(model, Model):
        return model
    from thickset._foreign import from_torch

    return from_torch(model, rows)
