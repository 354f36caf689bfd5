"""What is proved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thickset._results.table import Array, Table


class Certificates(Table):
    """What is proved, row by row.

    Attributes
    ----------
    certified_radius : array of shape (rows,)
        No smaller move changes the row's top-k set.
    change_at : array of shape (rows,)
        The size of the smallest move found that does; NaN where none was found.
    kept_at_least, kept_at_most : array of int
        How many of the top k every move within `radius` keeps, and some move keeps.
    radius_status, worst_case_status : list of str
        `exact`, `certified` or `unknown`.
    """

    def __init__(self, answer: Mapping[str, Any]) -> None:
        self.k: int = answer["k"]
        self.radius: float = answer["radius"]
        self.certified_radius: Array = answer["certified_radius"]
        self.change_at: Array = answer["change_at"]
        self.radius_status: list[str] = answer["radius_status"]
        self.worst_case_status: list[str] = answer["worst_case_status"]
        self.kept_at_least: Array = answer["kept_at_least"]
        self.kept_at_most: Array = answer["kept_at_most"]

    @classmethod
    def _of(cls, answer: Mapping[str, Any]) -> Certificates:
        return cls(answer)

    def __len__(self) -> int:
        return len(self.certified_radius)

    @property
    def certified_p_at_k(self) -> Array:
        """The P@k that every move within the radius keeps, row by row."""
        return self.kept_at_least / self.k

    def _columns(self) -> dict[str, Any]:
        return {
            "certified_radius": self.certified_radius,
            "change_at": self.change_at,
            "radius_status": self.radius_status,
            "certified_p_at_k": self.certified_p_at_k,
            "reached_p_at_k": self.kept_at_most / self.k,
            "worst_case_status": self.worst_case_status,
        }

    def to_html(self) -> str:
        """The first rows as a table."""
        from thickset import _html

        return _html.table(repr(self)[1:-1], self._columns())

    _repr_html_ = to_html

    def __repr__(self) -> str:
        whole = int((self.kept_at_least == self.k).sum())
        return f"<thickset.Certificates: {whole} of {len(self)} rows keep their top {self.k} within {self.radius}>"
