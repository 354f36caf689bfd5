"""Audits."""

from __future__ import annotations

import json
from typing import Any

from thickset import _native
from thickset._errors import GateFailed
from thickset._results.reported import Reported


class Audit(Reported):
    """How far explanations can be trusted, over all rows.

    Attributes
    ----------
    figures : dict
        By id, each a dict of `label`, `value` and the ends `low` and `high` of its 95% interval (None where it has none).
    passed : bool
        Whether everything that was required holds.
    gate : list of dict
        What was required: `text`, `value`, `holds`.
    """

    def __init__(self, native: _native.Audit) -> None:
        self._native = native
        about = json.loads(native.summary())
        self.figures: dict[str, dict[str, Any]] = {one.pop("id"): one for one in about["figures"]}
        self.gate: list[dict[str, Any]] = about["gate"]
        self.model: str = about["model"]
        self.data: str = about["data"]
        self.features: list[str] = about["features"]
        self.class_names: list[str] = about["classes"]
        self.k: int = about["k"]
        self.passed: bool = native.passed
        self._rows = about["rows"]

    def __reduce__(self) -> tuple[Any, ...]:
        return _audit_of, (self.to_bytes(),)

    def __len__(self) -> int:
        return int(self._rows)

    def __getitem__(self, figure: str) -> float:
        """The value of a figure, such as `audit["p_at_k"]`."""
        value = self.figures[figure]["value"]
        return float(value)

    def to_bytes(self) -> bytes:
        """The bytes of `audit.json`: the same as the command writes."""
        return self._native.to_bytes()

    def raise_for_gate(self) -> Audit:
        """Raises `GateFailed` unless everything that was required holds; returns itself."""
        failed = [one for one in self.gate if not one["holds"]]
        if failed:
            listed = "; ".join(f"{one['text']} fails, it is {one['value']}" for one in failed)
            raise GateFailed(listed)
        return self

    def _columns(self) -> dict[str, Any]:
        return dict(self._native.rows())

    def to_html(self, *others: Audit) -> str:
        """The report: one page that needs no network and no script, of this audit or beside others."""
        return self._native.html([one._native for one in others])

    def log_to_mlflow(self, prefix: str = "thickset") -> None:
        """Logs figures, `audit.json` and the report to the active MLflow run."""
        from thickset.integrations import mlflow

        mlflow.log_audit(self, prefix)

    def _repr_html_(self) -> str:
        from thickset import _html

        return _html.figures(self) + _html.page(self.to_html())

    def __repr__(self) -> str:
        gate = "" if not self.gate else (", the gate holds" if self.passed else ", the gate fails")
        return f"<thickset.Audit of {self.model} on {len(self)} rows of {self.data}: P@{self.k} {self['p_at_k']:.4f}{gate}>"


def _audit_of(content: bytes) -> Audit:
    return Audit(_native.Audit.parse(content.decode(), "audit.json"))
