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
    certify: bool | None = None,
    adverse: Any = None,
    cutoff: float | None = None,
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
    effort
        How hard attacks try: `quick`, `standard` or `thorough`.
    k, radius, threat
        The size of the salient set, the largest move in encoded units, and what a row could become; the model's own if left out.
    explanation, reduce, per
        As for `Model.explain`.
    certify
        False proves nothing and is sooner done.
    adverse, cutoff
        The class that a decision against a person is of, and the probability from which on; attacks then keep this decision.
    part, split_seed, folder, max_rows
        For a dataset or file by its name: which part, how it is split, where known datasets lie, and at most so many rows, a sample by
        `seed`.

    Examples
    --------
    >>> import thickset
    >>> model = thickset.train({"data": {"source": "breast-cancer"}, "train": {"epochs": 2}}).model
    >>> found = thickset.audit(model, "breast-cancer", effort="quick", max_rows=20, require="auc>=0.9")
    >>> found.passed, len(found)
    (True, 20)
    >>> 0 <= found["p_at_k"] <= 1
    True
    """
    from thickset._results import Audit

    if predict is not None or explain is not None:
        from thickset._function_audit import audit_functions

        if model is not None or predict is None or explain is None:
            raise ThicksetTypeError("give a model, or both `predict` and `explain`")
        beside = {
            "effort": effort, "threat": threat, "explanation": explanation, "reduce": reduce, "per": per, "neighbours": neighbours,
            "points": points, "worst": worst, "certify": certify, "adverse": adverse, "cutoff": cutoff, "data_name": data_name,
            "part": part, "split_seed": split_seed, "folder": folder, "max_rows": max_rows, "encoded": encoded,
        }
        unused = [name for name, value in beside.items() if value is not None]
        if unused:
            raise ThicksetTypeError(f"`{unused[0]}` is for models; an audit of functions takes k, radius, noise_draws, seed and require")
        return audit_functions(
            predict, explain, X, y, require=require, k=k, radius=radius, noise_draws=noise_draws, seed=seed, progress=progress
        )
    from thickset._model import Model

    found: Model = _model_of(model)
    found._needs_scale()
    if threat is None:
        # An estimator has a threat of its own.
        threat = getattr(model, "threat", None)
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
            max_rows=max_rows,
            seed=seed if max_rows else None,
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
        certify=certify,
        adverse=None if adverse is None else found._class_name(adverse),
        cutoff=cutoff,
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

    Examples
    --------
    >>> import thickset
    >>> run = {"data": {"source": "breast-cancer"}, "train": {"epochs": 2}}
    >>> a = thickset.train({**run, "objective": {"kind": "vanilla"}}).model
    >>> b = thickset.train(run).model
    >>> thickset.compare(a, b, "breast-cancer", effort="quick", max_rows=20).verdict in ("less-stable", "more-stable", "not-shown")
    True
    """
    from thickset._results import Comparison

    first, second = _model_of(a), _model_of(b)
    if isinstance(X, (str, os.PathLike)) and data_name is None:
        data_name = os.path.basename(os.fspath(X)) or os.fspath(X)
    for one in (first, second):
        one._needs_scale()
    choice = _given(part=part, split_seed=split_seed, max_rows=max_rows)
    if max_rows:
        choice["seed"] = settings.get("seed", 0)
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
    """Every method of the registry: its id, family and summary.

    >>> import thickset
    >>> "r2et" in [one["id"] for one in thickset.methods() if one["family"] == "objective"]
    True
    """
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
            "`thickset.from_sklearn` and `thickset.from_torch` make models of pipelines and modules, and `predict=` and `explain=` take functions"
        )
    return found
