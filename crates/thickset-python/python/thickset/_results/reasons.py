"""Reasons."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from thickset import _native
from thickset._results.table import Table


class Reasons(Table):
    """Why rows are decided against, as a person can be told.

    Attributes
    ----------
    rows : list of dict
        Each decided row: `row` (counted from 1), `probability` and `score` of the adverse class, `reasons` (dicts of `column`, `value`,
        `reference`, `contribution`, `code`, `text`, `holds`, and `tolerance` where it is proved), `holds` and `certified` of all of them,
        `contributions` of every column.
    adverse : str
        The adverse class.
    cutoff : float or None
        From this probability on rows are decided against; the most probable class decides where None.
    k : int
        The most reasons of a row.
    reference : str
        What rows are compared with; `reference_values` has that row, column by column.
    change : str or None
        What rows were changed by to see how far reasons hold, in words.
    """

    def __init__(self, native: _native.Reasons) -> None:
        self._native = native
        content: dict[str, Any] = json.loads(native.content())
        self.rows: list[dict[str, Any]] = content["rows"]
        self.adverse: str = content["adverse"]
        self.cutoff: float | None = content["cutoff"]
        self.k: int = content["k"]
        self.reference: str = content["reference"]
        self.reference_values: list[dict[str, Any]] = content["reference_values"]
        self.reference_probability: float = content["reference_probability"]
        self.change: str | None = content["change"]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> dict[str, Any]:
        """What is said of the row at this place."""
        return self.rows[place]

    def __reduce__(self) -> tuple[Any, ...]:
        return _reasons_of, (self._native.content(),)

    @property
    def texts(self) -> list[list[str]]:
        """The sentences of each row, the strongest reason first."""
        return [[one["text"] for one in row["reasons"]] for row in self.rows]

    def _columns(self) -> dict[str, Any]:
        lines: list[tuple[dict[str, Any], int | None, dict[str, Any]]] = []
        for row in self.rows:
            lines.extend((row, place, one) for place, one in enumerate(row["reasons"], 1))
            if not row["reasons"]:
                lines.append((row, None, {}))
        of_row = {
            "row": "row",
            "decided_against": "is_adverse",
            "probability": "probability",
            "score": "score",
            "reference_score": "reference_score",
            "sum_of_contributions": "sum",
        }
        columns: dict[str, Any] = {name: [row[key] for row, _, _ in lines] for name, key in of_row.items()}
        columns["rank"] = [place for _, place, _ in lines]
        for name in ("column", "value", "reference", "when", "contribution", "code", "text", "holds"):
            columns[name] = [one.get(name) for _, _, one in lines]
        for name, key in (("all_hold", "holds"), ("change_found", "changes"), ("certified", "certified")):
            columns[name] = [row[key] for row, _, _ in lines]
        columns["tolerance"] = [one.get("tolerance") for _, _, one in lines]
        return columns

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes what `thickset reasons --out` writes (`.csv`, `.jsonl`, `.parquet`), or one page to print a row into a folder."""
        path = Path(path)
        if path.suffix in (".csv", ".jsonl", ".parquet"):
            path.write_bytes(self._native.to_bytes(path.suffix[1:]))
        elif path.suffix == ".html":
            path.write_text(self.to_html(), encoding="utf-8")
        elif path.suffix:
            super().save(path)
        else:
            path.mkdir(parents=True, exist_ok=True)
            for place, row in enumerate(self.rows):
                (path / f"row-{row['row']}.html").write_text(self._native.letter(place), encoding="utf-8")

    def letter(self, place: int) -> str:
        """A page to print for the row at this place."""
        return self._native.letter(place)

    def to_html(self) -> str:
        """The reasons as a table, one line a row."""
        from thickset import _html

        shown = {
            "row": [row["row"] for row in self.rows],
            "probability": [row["probability"] for row in self.rows],
            "reasons": ["; ".join(texts) for texts in self.texts],
            "all hold": ["" if row["holds"] is None else f"{row['holds']:.0%}" for row in self.rows],
        }
        return _html.table(repr(self)[1:-1], shown)

    _repr_html_ = to_html

    def __repr__(self) -> str:
        against = sum(row["is_adverse"] for row in self.rows)
        return f"<thickset.Reasons of {len(self)} rows, {against} of them decided as {self.adverse}>"


def _reasons_of(content: str) -> Reasons:
    return Reasons(_native.Reasons.parse(content))
