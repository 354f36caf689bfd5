"""Audits, comparisons, and what else is no method of a model."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from thickset import _native
from thickset._errors import ThicksetTypeError
from thickset._progress import Progress, reporting
from thickset._settings import Method, options

if TYPE_CHECKING:
    from thickset._results import Audit, Comparison


def audit(
    model: Any = None,
    X: Any = None,
    y: Any = None,
    *,
    predict: Callable[..., Any] | None = None,
    explain: Callable[..., Any] | None = None,
    require: Sequence[str] | str = (),
    effort: str | None = None,
    k: int | None = None,
    radius: float | None = None,
    threat: Method | None = None,
    explanation: Method | None = None,
    reduce: str | None = None,
    per: str | None = None,
    seed: int = 0,
    neighbours: int | None = None,
    points: int | None = None,
    noise_draws: int | None = None,
    worst: int | None = None,
    data_name: str | None = None,
    part: str | None = None,
    split_seed: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    max_rows: int | None = None,
    encoded: bool | None = None,
    progress: Progress = False,
) -> Any:
    """How far the explanations of a model can be trusted, over all rows.

    Explains every row, attacks the explanations with a suite of attacks, measures what noise does to them, how distinct and how
    faithful they are. The result has every figure with its interval, the rows, the report as a page, and whether `require` holds.

    Parameters
    ----------
    model
        A `Model`, or an estimator that holds one (`ThicksetClassifier`). Leave it out and give `predict` and `explain` for functions
        without gradients; a `FunctionAudit` is then returned, which has the same figures as far as functions give them.
    X
        A data frame, an array, or the name of a dataset or file.
    y
        The classes of the rows, where they are known. A file's own target is read where it has one.
    require
        What must hold, like `p_at_k>=0.9`; see `Audit.passed` and `Audit.raise_for_gate`.
    """
    from thickset._results import Audit

    if predict is not None or explain is not None:
        from thickset._black_box import audit_functions

        if model is not None or predict is None or explain is None:
            raise ThicksetTypeError("give a model, or both `predict` and `explain`")
        return audit_functions(
            predict, explain, X, y, require=require, k=k, radius=radius, seed=seed, progress=progress
        )
    from thickset._model import Model

    found: Model = _model_of(model)
    by_name = isinstance(X, (str, os.PathLike))
    if by_name and data_name is None:
        data_name = os.path.basename(os.fspath(X)) or os.fspath(X)
    rows = found._rows(
        X,
        encoded=encoded,
        labelled=True,
        **_given(
            part=part,
            split_seed=split_seed,
            folder=None if folder is None else os.fspath(folder),
            limit=max_rows,
        ),
    )
    given = options(
        explanation=explanation,
        reduce=reduce,
        per=per,
        seed=seed,
        effort=effort,
        k=k,
        radius=radius,
        threat=threat,
        neighbours=neighbours,
        points=points,
        noise_draws=noise_draws,
        worst=worst,
        require=list(require) if not isinstance(require, str) else [require],
        data_name=data_name,
    )
    with reporting(progress, "auditing") as report:
        answer = found._native.audit(rows, found._labels(y), given, report)
    return Audit(answer)


def compare(
    a: Any,
    b: Any,
    X: Any,
    y: Any = None,
    *,
    require: Sequence[str] | str = (),
    part: str | None = None,
    split_seed: int | None = None,
    max_rows: int | None = None,
    data_name: str | None = None,
    progress: Progress = False,
    **settings: Any,
) -> Comparison:
    """Two models on the same rows: which reasons changed, and is `b` less stable than `a`? Differences are `b` minus `a`.

    Both are audited with the same settings, those of `a` where something is left out. `settings` are those of `audit`.
    """
    from thickset._results import Comparison

    first, second = _model_of(a), _model_of(b)
    if isinstance(X, (str, os.PathLike)) and data_name is None:
        data_name = os.path.basename(os.fspath(X)) or os.fspath(X)
    choice = _given(part=part, split_seed=split_seed, limit=max_rows)
    rows = [one._rows(X, labelled=True, **choice) for one in (first, second)]
    given = options(
        require=list(require) if not isinstance(require, str) else [require],
        data_name=data_name,
        **settings,
    )
    with reporting(progress, "comparing") as report:
        answer = _native.compare(
            first._native, rows[0], second._native, rows[1], first._labels(y), given, report
        )
    return Comparison(answer)


def read_audit(path: str | os.PathLike[str]) -> Audit:
    """Reads an `audit.json`, whoever wrote it."""
    from thickset._results import Audit

    with open(path, encoding="utf-8") as file:
        return Audit(_native.Audit.parse(file.read(), os.fspath(path)))


def methods() -> list[dict[str, str]]:
    """Every method of the registry: its id, family and summary."""
    return [
        {"id": one, "family": family, "summary": summary}
        for one, family, summary in _native.methods()
    ]


def _given(**choice: Any) -> dict[str, Any]:
    return {name: value for name, value in choice.items() if value is not None}


def _model_of(given: Any) -> Any:
    """The model itself, or the one that an estimator was fitted to."""
    from thickset._model import Model

    found = getattr(given, "model_", given)
    if not isinstance(found, Model):
        raise ThicksetTypeError(
            f"expected a thickset.Model or a fitted ThicksetClassifier, got {type(given).__name__}; "
            "`thickset.from_torch` makes a model of a module, and `predict=` and `explain=` take functions"
        )
    return found
