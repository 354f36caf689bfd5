"""skops: an audit's figures as a table of a model card, and the types that loading an estimator must trust.

>>> add_audit(card, audit)  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thickset._results import Audit

#: What `skops.io.load(..., trusted=TRUSTED)` needs for a `ThicksetClassifier`.
TRUSTED = ["thickset._estimator.ThicksetClassifier", "thickset._model.Model"]


def table(audit: Audit) -> dict[str, list[str]]:
    """The figures, as `Card.add_table` takes them."""
    figures = list(audit.figures.values())
    return {
        "figure": [one["label"] for one in figures],
        "value": [f"{one['value']:.4f}" for one in figures],
        "95% interval": ["" if one["low"] is None else f"{one['low']:.4f} to {one['high']:.4f}" for one in figures],
    }


def add_audit(card: Any, audit: Audit, section: str = "Stability of explanations") -> Any:
    """Adds the figures to a model card, under this section; returns the card."""
    text = f"Audited with thickset on {len(audit)} rows of {audit.data}, top {audit.k}."
    return card.add_table(folded=False, description=text, **{section: table(audit)})
