"""Audits of functions: any `predict`, any `explain`, no gradients. The library searches; here its points become what the functions take."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thickset import _frames, _native
from thickset._errors import GateFailed, ThicksetTypeError, ThicksetValueError, warn
from thickset._progress import Progress, reporting
from thickset._results import Array
from thickset._results.reported import Reported
from thickset._settings import options

#: The quantiles between which a column's values lie, but for outliers; as in our encoding.
_CLIP = (0.01, 0.99)

_LABELS = {
    "p_at_k": "P@{k}, worst point found",
    "noise_p_at_k": "P@{k} under noise",
    "comprehensiveness": "comprehensiveness",
    "distinctness": "distinctness",
    "accuracy": "accuracy",
}


class FunctionAudit(Reported):
    """How far explanations of a function can be trusted, as far as a search without gradients can say.

    The P@k is what the search found, so the truth lies at or below it; an audit of a model (`from_sklearn`, `from_torch`) follows
    gradients and finds worse points where there are some.

    Attributes
    ----------
    figures : dict
        `p_at_k` (of the worst point found), `noise_p_at_k` (mean over random neighbours), `comprehensiveness`, `distinctness`, and
        `accuracy` where labels were given; each a dict of `label`, `value`, `low` and `high`, the ends of its 95% interval.
    precision : array of shape (rows,)
        P@k of each row at the worst point found.
    perturbed : array of shape (rows, columns), or a data frame like the one that was given
        That point, in the columns' own units.
    passed : bool
        Whether everything that was required holds.
    gate : list of dict
        What was required: `text`, `value`, `holds`.
    """

    def __init__(self, native: _native.FunctionAudit, table: _FunctionRows, k: int, radius: float) -> None:
        self._native = native
        about = json.loads(native.summary())
        self.k = k
        self.radius = radius
        self.figures: dict[str, dict[str, Any]] = {}
        for one in about["figures"]:
            name = one.pop("id")
            self.figures[name] = {"label": _LABELS[name].format(k=k), **one}
        self.gate: list[dict[str, Any]] = about["gate"]
        self.passed = all(one["holds"] for one in self.gate)
        self.evaluations: int = about["evaluations"]
        self.weaker: str = about["weaker"]
        self._held = dict(native.rows())
        self._held["class"] = table.class_names(self._held["class"])
        self.precision: Array = self._held["p_at_k"]
        self.perturbed: Any = table.shaped(native.perturbed())

    def __len__(self) -> int:
        return len(self.precision)

    def __getitem__(self, figure: str) -> float:
        """The value of a figure, such as `audit["p_at_k"]`."""
        return float(self.figures[figure]["value"])

    def _columns(self) -> dict[str, Any]:
        return dict(self._held)

    def raise_for_gate(self) -> FunctionAudit:
        """Raises `GateFailed` unless everything that was required holds; returns itself."""
        failed = [f"{one['text']} fails, it is {one['value']}" for one in self.gate if not one["holds"]]
        if failed:
            raise GateFailed("; ".join(failed))
        return self

    def to_bytes(self) -> bytes:
        """The bytes of its `audit.json`, which `thickset report` reads."""
        return self._native.to_bytes()

    def to_html(self) -> str:
        """The report: one page that needs no network and no script."""
        return self._native.html()

    def _repr_html_(self) -> str:
        from thickset import _html

        return _html.figures(self) + _html.page(self.to_html())

    def __repr__(self) -> str:
        gate = "" if not self.gate else (", the gate holds" if self.passed else ", the gate fails")
        return (
            f"<thickset.FunctionAudit of {len(self)} rows: P@{self.k} {self['p_at_k']:.4f} within {self.radius}, "
            f"found without gradients{gate}>"
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
    noise_draws: int | None = None,
    seed: int = 0,
    progress: Progress = False,
) -> FunctionAudit:
    """Audits `explain` (rows to importances, ranked by size) of `predict` (rows to probabilities or labels).

    `radius` is of the l2 ball that a row may move in, with every column in units of its range from the 1% to the 99% quantile; 0.5 if
    left out, as for our models of tables. Columns that are constant, or hold texts, truth values or missing values, stay.
    """
    if X is None:
        raise ThicksetTypeError("expected the rows to audit as `X`")
    table = _FunctionRows(X)
    width = len(table.names)
    if not table.moves.any():
        raise ThicksetValueError("no column of numbers varies, so no row can move")
    k = min(8, max(1, width // 2)) if k is None else int(k)
    radius = 0.5 if radius is None else float(radius)
    answers = _Classes(predict, table)

    def importances(points: Array) -> Array:
        found = np.abs(np.asarray(explain(table.shaped(points)), dtype=np.float64))
        if found.shape != points.shape:
            raise ThicksetValueError(
                f"`explain` must give one importance a feature, {points.shape}, got {found.shape}"
            )
        if not np.isfinite(found).all():
            raise ThicksetValueError("`explain` gave a number that is not finite")
        return found.ravel()

    with reporting(progress, "auditing") as report:
        native = _native.audit_functions(
            answers.probabilities,
            importances,
            table.values,
            table.names,
            table.low.tolist(),
            table.size.tolist(),
            table.moves.tolist(),
            answers.count,
            answers.places(y),
            options(k=k, radius=radius, noise_draws=noise_draws, seed=seed),
            [require] if isinstance(require, str) else list(require),
            report,
        )
    return FunctionAudit(native, table, k, radius)


class _FunctionRows:
    """Rows as numbers, and how numbers become what the functions take."""

    def __init__(self, X: Any) -> None:
        self.classes: list[Any] = []
        self._levels: dict[int, Any] = {}
        if _frames.is_frame(X):
            import pandas

            if not isinstance(X, pandas.DataFrame):
                raise ThicksetTypeError("expected an array or a pandas data frame; `to_pandas()` makes one of others")
            self._frame: Any = X.iloc[:0]
            self.names = [str(name) for name in X.columns]
            columns = [self._column(place, X.iloc[:, place]) for place in range(X.shape[1])]
            rows = np.stack(columns, axis=1) if columns else np.empty((len(X), 0))
        else:
            self._frame = None
            rows = np.asarray(X)
            if rows.ndim != 2 or rows.dtype.kind not in "fiub":
                raise ThicksetValueError(
                    f"expected rows of numbers, got an array of {rows.dtype} of shape {rows.shape}; a data frame may hold texts"
                )
            rows = rows.astype(np.float64)
            self.names = [f"x{place}" for place in range(rows.shape[1])]
            for place in np.flatnonzero(~np.isfinite(rows).all(axis=0)).tolist():
                self._levels[place], rows[:, place] = np.unique(rows[:, place], return_inverse=True)
        if rows.size == 0:
            raise ThicksetValueError(f"expected rows of numbers, got a table of shape {rows.shape}")
        self.values: Array = np.ascontiguousarray(rows)
        low, high = np.quantile(self.values, _CLIP, axis=0)
        self.moves: Array = high > low
        self.moves[list(self._levels)] = False
        # What stays is measured from its first value, so that it is small and exact.
        self.low: Array = np.where(self.moves, low, self.values[0])
        self.size: Array = np.where(self.moves, high - low, 1.0)
        self.low[list(self._levels)] = 0.0
        stays = [self.names[place] for place in self._levels]
        if stays:
            warn(
                "columns that hold texts, truth values or missing values stay as they are in an audit of functions: "
                + ", ".join(stays)
            )

    def _column(self, place: int, series: Any) -> Array:
        import pandas

        types = pandas.api.types
        if types.is_numeric_dtype(series.dtype) and not types.is_bool_dtype(series.dtype):
            numbers: Array = series.to_numpy(dtype=np.float64, na_value=np.nan)
            if np.isfinite(numbers).all():
                return numbers
        # The place of each value among the different ones, a missing one too.
        codes, self._levels[place] = pandas.factorize(series, use_na_sentinel=False)
        return np.asarray(codes, dtype=np.float64)

    def shaped(self, points: Array) -> Any:
        """Points as the functions take them: an array, or a data frame with the columns and types that were given."""
        if self._frame is None:
            if not self._levels:
                return points
            points = points.copy()
            for place, levels in self._levels.items():
                points[:, place] = levels[points[:, place].astype(int)]
            return points
        import pandas

        columns = {}
        for place, dtype in enumerate(self._frame.dtypes):
            column = points[:, place]
            if place in self._levels:
                levels = self._levels[place]
                columns[place] = pandas.Series(levels.take(column.astype(int))).astype(dtype)
            elif not self.moves[place]:
                columns[place] = pandas.Series(column).astype(dtype)
            else:
                columns[place] = pandas.Series(column)
        frame = pandas.DataFrame(columns)
        frame.columns = self._frame.columns
        return frame

    def class_names(self, places: Array) -> Any:
        """The classes as `predict` names them, or their numbers."""
        return [self.classes[place] for place in places] if self.classes else places


class _Classes:
    """What `predict` gives, made probabilities: of several classes, of the second of two, or labels."""

    def __init__(self, predict: Callable[..., Any], table: _FunctionRows) -> None:
        self._predict = predict
        self._table = table
        first = self._asked(table.values)
        # A bound method such as `predict_proba` knows the order of its classes.
        named = getattr(getattr(predict, "__self__", None), "classes_", None)
        self._labels: list[Any] | None = None
        if first.ndim == 2:
            self.count = first.shape[1]
        elif first.dtype.kind == "f" and not _is_whole(first):
            self.count = 2
        else:
            # A label that no row has stands in the last place.
            self._labels = sorted(set(first.tolist()), key=str) if named is None else np.asarray(named).tolist()
            self.count = len(self._labels) + 1
        if self._labels is not None:
            table.classes = [*self._labels, "another"]
        elif named is not None and len(named) == self.count:
            table.classes = np.asarray(named).tolist()
        if self.count < 2:
            raise ThicksetValueError(f"`predict` must tell at least 2 classes apart, got {self.count}")

    def _asked(self, points: Array) -> Array:
        found = np.asarray(self._predict(self._table.shaped(points)))
        if found.ndim == 2 and found.shape[1] == 1:
            found = found[:, 0]
        if found.ndim not in (1, 2) or len(found) != len(points):
            raise ThicksetValueError(
                f"`predict` must give one answer a row, {len(points)}, got an array of shape {found.shape}"
            )
        return found

    def probabilities(self, points: Array) -> Array:
        found = self._asked(points)
        if self._labels is not None:
            made = np.zeros((len(found), self.count))
            places = {label: place for place, label in enumerate(self._labels)}
            for row, label in enumerate(found.tolist()):
                made[row, places.get(label, self.count - 1)] = 1.0
            return made.ravel()
        if found.ndim == 1:
            found = np.stack([1.0 - found, found], axis=1)
        if found.shape[1] != self.count:
            raise ThicksetValueError(f"`predict` gave {self.count} classes before, and {found.shape[1]} now")
        made = np.ascontiguousarray(found, dtype=np.float64).ravel()
        if not np.isfinite(made).all():
            raise ThicksetValueError("`predict` gave a number that is not finite")
        return made

    def places(self, y: Any) -> Array | None:
        """The place of each label among the classes."""
        if y is None:
            return None
        given = np.asarray(y).ravel()
        if len(given) != len(self._table.values):
            raise ThicksetValueError(f"expected one label a row, {len(self._table.values)}, got {len(given)}")
        names = self._table.classes
        labels = np.unique(given)
        if not names and given.dtype.kind in "iub" and 0 <= int(given.min()) and int(given.max()) < self.count:
            names = list(range(self.count))
        elif not names and len(labels) == self.count:
            names = labels.tolist()
        known = {name: place for place, name in enumerate(names)}
        unknown = [label for label in labels.tolist() if label not in known]
        if unknown:
            raise ThicksetValueError(
                f"label {unknown[0]!r} is no class of `predict`, which has {names if names else self.count}"
            )
        return np.array([known[label] for label in given.tolist()], dtype=np.int64)


def _is_whole(values: Array) -> bool:
    """Whether floats are labels that were written as floats: whole numbers beyond 0 and 1."""
    return bool((values == np.round(values)).all() and (values > 1).any())
