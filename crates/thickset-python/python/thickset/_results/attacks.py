"""What attacks came to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from thickset._results.table import Array, Table

if TYPE_CHECKING:
    from thickset._model import Model


class Attacks(Table):
    """What attacks on explanations came to, row by row.

    Attributes
    ----------
    precision : array of shape (rows,)
        P@k at the worst point found: the share of the top k that is left.
    perturbed : array of shape (rows, features)
        The worst point, encoded; `rows` holds where it began.
    before, after : array of shape (rows, importances)
        The importances of the predicted class at both.
    held : array of bool
        Whether the prediction is the same at the worst point.
    attack : list of str
        The method that found it.
    """

    def __init__(self, model: Model, answer: Mapping[str, Any]) -> None:
        self._model = model
        self.k: int = answer["k"]
        self.names: list[str] = answer["names"]
        self.precision: Array = answer["precision"]
        self.rows: Array = answer["rows"]
        self.perturbed: Array = answer["perturbed"]
        self.before: Array = answer["before"]
        self.after: Array = answer["after"]
        self.held: Array = answer["held"]
        self.attack: list[str] = answer["attack"]
        self.classes: Array = answer["classes"]
        self.probabilities: Array = answer["probabilities"]
        self.probabilities_after: Array = answer["probabilities_after"]

    @classmethod
    def _of(cls, model: Model, answer: Mapping[str, Any]) -> Attacks:
        return cls(model, answer)

    def __len__(self) -> int:
        return len(self.precision)

    @property
    def p_at_k(self) -> float:
        """The mean share of a row's top k that survives."""
        return float(self.precision.mean())

    def changes(self, row: int) -> list[tuple[str, Any, Any]]:
        """What the attack changed, in the columns' own units: name, before, after."""
        before = self._model._native.decode(self.rows[row].tolist())
        after = self._model._native.decode(self.perturbed[row].tolist())
        return [(name, old, new) for (name, old), (_, new) in zip(before, after, strict=False) if old != new]

    def _columns(self) -> dict[str, Any]:
        names = np.asarray(self._model.classes, dtype=object)[self.classes]
        moved = np.linalg.norm(self.perturbed - self.rows, axis=1)
        return {
            "class": names.tolist(),
            "p_at_k": self.precision,
            "held": self.held,
            "attack": self.attack,
            "moved": moved,
        }

    def to_html(self) -> str:
        """The first rows as a table."""
        from thickset import _html

        title = f"{len(self)} attacked rows: {self.p_at_k:.3f} of the top {self.k} survive"
        return _html.table(title, self._columns())

    _repr_html_ = to_html

    def __repr__(self) -> str:
        return f"<thickset.Attacks on {len(self)} rows, P@{self.k} {self.p_at_k:.4f}>"
