"""Training by a configuration, as the command does it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from thickset import _native
from thickset._model import Model
from thickset._progress import Progress, reporting
from thickset._settings import to_json


@dataclass(frozen=True)
class Trained:
    """A trained model and how it came about."""

    #: The selected epoch's model.
    model: Model
    #: One dict an epoch: loss, validation AUC, accuracy, P@k.
    epochs: list[dict[str, Any]]
    #: The number of the selected epoch, counted from 1.
    selected: int
    #: Why training ended.
    reason: str
    #: What was left out of the data or assumed of it.
    notes: list[str]


def train(
    config: str | os.PathLike[str] | Mapping[str, Any],
    *,
    set: Mapping[str, Any] | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress = False,
) -> Trained:
    """Trains by a `run.toml`, or by a mapping of the same form.

    The model has the same bytes as the command's (`thickset train run.toml`).

    Parameters
    ----------
    config
        The path of a `run.toml` (`thickset init` writes one), or its content as a mapping.
    set
        Single settings over those of a `run.toml`, like `{"train.epochs": 50}`.
    out
        The folder that the run's folder is made in; nothing is written if left out. Only for a `run.toml`.
    resume
        Go on where an interrupted run stands.

    Examples
    --------
    >>> import thickset
    >>> trained = thickset.train({"data": {"source": "breast-cancer"}, "model": {"kind": "linear"}, "train": {"epochs": 3}})
    >>> [epoch["epoch"] for epoch in trained.epochs]
    [1, 2, 3]
    """
    with reporting(progress, "training") as report:
        if isinstance(config, Mapping):
            data = dict(config.get("data", {}))
            opened = _native.Dataset.open(to_json(data), int(config.get("seed", 0)))
            answer = _native.train(to_json(dict(config)), opened, report)
            return trained(answer, opened.notes)
        overrides = [f"{name}={to_json(value)}" for name, value in (set or {}).items()]
        folder = None if out is None else os.fspath(out)
        answer = _native.train_run(os.fspath(config), overrides, folder, resume, report)
    return trained(answer, [])


def trained(answer: tuple[_native.Model, str, int, str], notes: list[str]) -> Trained:
    """What the native half gives, as a result."""
    model, epochs, selected, reason = answer
    return Trained(Model(model), json.loads(epochs), selected, reason, notes)
