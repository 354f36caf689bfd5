"""Comparisons of two models."""

from __future__ import annotations

import json
from typing import Any

from thickset import _native
from thickset._results.audit import Audit
from thickset._results.reported import Reported


class Comparison(Reported):
    """Two models on the same rows. Differences are the second minus the first.

    Attributes
    ----------
    a, b : Audit
    content : dict
        All of `compare.json` but the rows.
    verdict : str
        `less-stable`, `more-stable` or `not-shown`, of the second.
    """

    _file = "compare.json"

    def __init__(self, native: _native.Comparison) -> None:
        self._native = native
        content = json.loads(native.to_bytes())
        self._rows: list[dict[str, Any]] = content.pop("rows")
        self.content: dict[str, Any] = content
        self.verdict: str = content["verdict"]
        self.gate: list[dict[str, Any]] = content["gate"]
        self.passed: bool = native.passed
        self.a, self.b = (Audit(one) for one in native.audits)

    def to_bytes(self) -> bytes:
        """The bytes of `compare.json`: the same as the command writes."""
        return self._native.to_bytes()

    def __len__(self) -> int:
        return len(self._rows)

    def _columns(self) -> dict[str, Any]:
        names = list(self._rows[0]) if self._rows else []
        return {name: [row.get(name) for row in self._rows] for name in names}

    def to_html(self) -> str:
        """The report of both models side by side."""
        return self.a.to_html(self.b)

    def _repr_html_(self) -> str:
        from thickset import _html

        return _html.paragraph(repr(self)[1:-1]) + _html.page(self.to_html())

    def __repr__(self) -> str:
        mean = self.content["precision_at_k"]["mean"]
        return f"<thickset.Comparison on {len(self)} rows: {self.verdict}, P@k differs by {mean['value']:+.4f}>"
