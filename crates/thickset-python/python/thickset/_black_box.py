"""Audits of functions: any `predict`, any `explain`, no gradients.

What is searched is what a function lets one search: random directions, directions towards other rows, and a local search around the
worst point found. The P@k that comes out is what this search found, so the truth lies at or below it; a gradient search (`Model.attack`)
finds worse points where there are gradients to follow.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thickset import _frames
from thickset._errors import GateFailed, ThicksetTypeError, ThicksetValueError
from thickset._progress import Progress, reporting
from thickset._results import Array, _Table

#: The quantiles between which a column's values lie, but for outliers; as in our encoding.
_CLIP = (0.01, 0.99)

#: Rows that a function is asked about at once.
_BATCH = 4096

_RULE = re.compile(r"\s*([a-z_]+)(\.low|\.high)?\s*(>=|<=|>|<|==)\s*([-+0-9.eE]+)\s*")


class FunctionAudit(_Table):
    """How far explanations of a function can be trusted.

    Attributes
    ----------
    figures : dict
        `p_at_k` (of the worst point found), `noise_p_at_k` (mean over random points), `distinctness`, `held`, and `accuracy` where
        labels were given; each a dict of `label`, `value`, `low` and `high`, the ends of its 95% interval.
    precision : array of shape (rows,)
        P@k of each row at the worst point found.
    perturbed : array of shape (rows, features)
        That point, in the columns' own units.
    """

    def __init__(
        self,
        figures: dict[str, dict[str, Any]],
        gate: list[dict[str, Any]],
        columns: dict[str, Any],
        perturbed: Array,
        k: int,
        radius: float,
    ) -> None:
        self.figures = figures
        self.gate = gate
        self.passed = all(one["holds"] for one in gate)
        self.precision: Array = columns["p_at_k"]
        self.perturbed = perturbed
        self.k = k
        self.radius = radius
        self._held = columns

    def __len__(self) -> int:
        return len(self.precision)

    def __getitem__(self, figure: str) -> float:
        return float(self.figures[figure]["value"])

    def _columns(self) -> dict[str, Any]:
        return dict(self._held)

    def raise_for_gate(self) -> FunctionAudit:
        """Raises `GateFailed` unless everything that was required holds; returns itself."""
        failed = [f"{one['text']} fails, it is {one['value']}" for one in self.gate if not one["holds"]]
        if failed:
            raise GateFailed("; ".join(failed))
        return self

    def to_html(self) -> str:
        """The figures as a table."""
        from thickset import _html

        return _html.figures(self)

    _repr_html_ = to_html

    def __repr__(self) -> str:
        return (
            f"<thickset.FunctionAudit of {len(self)} rows: P@{self.k} {self['p_at_k']:.4f} within {self.radius}, "
            "found without gradients>"
        )


def audit_functions(
    predict: Callable[..., Any],
    explain: Callable[..., Any],
    X: Any,
    y: Any = None,
    *,
    require: Sequence[str] | str = (),
    k: int | None = None,
    radius: float | None = None,
    seed: int = 0,
    draws: int = 64,
    donors: int = 16,
    rounds: int = 4,
    progress: Progress = False,
) -> FunctionAudit:
    """Audits `explain` (rows to importances, ranked by size) of `predict` (rows to probabilities or labels).

    `radius` is of the l2 ball that a row may move in, with every column in units of its range from the 1% to the 99% quantile; 0.5 if
    left out, as for our models of tables. Constant columns stay.
    """
    rows, shaped = _rows(X)
    count, width = rows.shape
    k = min(8, max(1, width // 2)) if k is None else k
    if not 1 <= k < width:
        raise ThicksetValueError(f"k must lie in 1..={width - 1}, got {k}")
    radius = 0.5 if radius is None else float(radius)
    if not (radius > 0 and math.isfinite(radius)):
        raise ThicksetValueError(f"`radius` must be finite and positive, got {radius}")
    low, high = np.quantile(rows, _CLIP, axis=0)
    unit = high - low
    moves = unit > 0
    if not moves.any():
        raise ThicksetValueError("every column is constant, so no row can move")

    def classes(points: Array) -> Array:
        return _classes(_asked(predict, points, shaped, "predict"))

    def importances(points: Array) -> Array:
        found = np.abs(np.asarray(_asked(explain, points, shaped, "explain"), dtype=np.float64))
        if found.shape != points.shape:
            raise ThicksetValueError(
                f"`explain` must give one importance a feature, {points.shape}, got {found.shape}"
            )
        if not np.isfinite(found).all():
            raise ThicksetValueError("`explain` gave a number that is not finite")
        return found

    random = np.random.default_rng(seed)
    base_class = classes(rows)
    top = _top(importances(rows), k)
    precision, noise = np.ones(count), np.ones(count)
    held, worst = np.ones(count, dtype=bool), rows.copy()
    with reporting(progress, "auditing") as report:
        for row in range(count):
            if report is not None:
                report(row, count, "")
            mine = np.random.default_rng([seed, row])
            moved = _directions(mine, rows, row, unit, moves, draws, donors)
            for number in range(rounds):
                points = rows[row] + radius * moved * np.where(moves, unit, 0.0)
                kept = _kept(_top(importances(points), k), top[row], k)
                same = classes(points) == base_class[row]
                if number == 0:
                    noise[row] = float(kept[:draws].mean())
                for value, one in ((kept[place], place) for place in np.flatnonzero(same)):
                    if value < precision[row]:
                        precision[row], worst[row] = value, points[one]
                # Around the worst direction so far, ever nearer.
                order = np.lexsort((kept, ~same))
                best = moved[order[0]]
                near = mine.normal(size=(draws, width)) * moves / (2.0**number)
                near = best + near * (np.linalg.norm(best) / math.sqrt(max(1, int(moves.sum()))))
                moved = _within(near)
    held = classes(worst) == base_class
    pairs = random.permutation(count)
    other = [_kept(top[a][None], top[b], k)[0] for a, b in zip(range(count), pairs, strict=True) if a != b]
    figures = {
        "p_at_k": _figure(f"P@{k}", precision),
        "noise_p_at_k": _figure(f"P@{k} under noise", noise),
        "distinctness": _figure("distinctness", 1.0 - np.asarray(other or [1.0])),
        "held": _figure("predictions held", held.astype(float)),
    }
    columns: dict[str, Any] = {"class": base_class, "p_at_k": precision, "noise_p_at_k": noise}
    if y is not None:
        given = np.asarray(y).ravel()
        labels = np.unique(given)
        named = labels[base_class] if base_class.dtype.kind in "iu" and base_class.max(initial=0) < len(labels) else base_class
        columns["label"] = given
        figures["accuracy"] = _figure("accuracy", (named == given).astype(float))
    rules = [require] if isinstance(require, str) else list(require)
    return FunctionAudit(figures, [_judged(one, figures) for one in rules], columns, worst, k, radius)


def _rows(X: Any) -> tuple[Array, Callable[[Array], Any]]:
    """The rows as numbers, and how numbers become what the functions take."""
    if _frames.is_frame(X):
        import pandas

        if not isinstance(X, pandas.DataFrame):
            raise ThicksetTypeError("expected an array or a pandas data frame of numbers")
        texts = [str(name) for name in X.columns if not pandas.api.types.is_numeric_dtype(X[name])]
        if texts:
            raise ThicksetTypeError(
                f"column `{texts[0]}` holds no numbers; functions are searched over numbers, encode it first"
            )
        columns = X.columns
        return X.to_numpy(dtype=np.float64), lambda points: pandas.DataFrame(points, columns=columns)
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.size == 0:
        raise ThicksetValueError(f"expected rows of numbers, got an array of shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise ThicksetValueError("the rows must be finite numbers")
    return rows, lambda points: points


def _asked(function: Callable[..., Any], points: Array, shaped: Callable[[Array], Any], name: str) -> Array:
    parts = [
        np.asarray(function(shaped(points[start : start + _BATCH]))) for start in range(0, len(points), _BATCH)
    ]
    found = np.concatenate(parts)
    if len(found) != len(points):
        raise ThicksetValueError(f"`{name}` must give one answer a row, {len(points)}, got {len(found)}")
    return found


def _classes(found: Array) -> Array:
    """Probabilities of several classes, or labels, or the probability of the second class."""
    if found.ndim == 2:
        largest: Array = found.argmax(axis=1)
        return largest
    return (found > 0.5).astype(int) if found.dtype.kind == "f" else found


def _top(importance: Array, k: int) -> Array:
    """Each row's k largest, of equals the first."""
    return np.argsort(-importance, axis=1, kind="stable")[:, :k]


def _kept(tops: Array, top: Array, k: int) -> Array:
    kept: Array = np.isin(tops, top).sum(axis=1) / k
    return kept


def _directions(
    random: np.random.Generator, rows: Array, row: int, unit: Array, moves: Array, draws: int, donors: int
) -> Array:
    """Directions of at most length 1, in units of the columns' ranges."""
    free = random.normal(size=(draws, len(unit))) * moves
    free /= np.maximum(np.linalg.norm(free, axis=1, keepdims=True), 1e-12)
    if len(rows) < 2 or donors == 0:
        return free
    others = random.choice(len(rows), size=min(donors, len(rows)), replace=False)
    towards = (rows[others[others != row]] - rows[row]) / np.where(moves, unit, 1.0) * moves
    return np.concatenate([free, _within(towards)])


def _within(moved: Array) -> Array:
    """Directions longer than 1 are shortened to it."""
    shortened: Array = moved / np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1.0)
    return shortened


def _figure(label: str, values: Array) -> dict[str, Any]:
    """A mean with its 95% interval, which ends at 0 and 1."""
    mean = float(values.mean())
    half = 1.959963984540054 * float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None
    ends = (None, None) if half is None else (max(0.0, mean - half), min(1.0, mean + half))
    return {"label": label, "value": mean, "low": ends[0], "high": ends[1]}


def _judged(text: str, figures: dict[str, dict[str, Any]]) -> dict[str, Any]:
    found = _RULE.fullmatch(text)
    if found is None or found[1] not in figures:
        raise ThicksetValueError(
            f"the requirement `{text}` must be a figure, a comparison and a number, like p_at_k>=0.9; figures are {', '.join(figures)}"
        )
    value = figures[found[1]][(found[2] or ".value")[1:]]
    bound = float(found[4])
    holds = value is not None and {
        ">=": value >= bound,
        "<=": value <= bound,
        ">": value > bound,
        "<": value < bound,
        "==": value == bound,
    }[found[3]]
    return {"text": text, "value": value, "holds": bool(holds)}
