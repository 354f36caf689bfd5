"""Explanations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from thickset._results.table import Array, Table, import_for

if TYPE_CHECKING:
    from thickset._model import Model


class Explanation(Table):
    """Why a model predicts what it predicts, row by row.

    Attributes
    ----------
    values : array of shape (rows, features)
        The importances.
    names : list of str
        What they are of: features, or columns.
    classes : array of int
        The explained class of each row, the predicted one; a place in `class_names`.
    probabilities : array of shape (rows, classes)
    data : array of shape (rows, features)
        The encoded rows.
    config : dict
        How the rows were explained.
    base_values : array of shape (rows,) or None
        What the importances of a row add up from, where the method has it: the score of the reference row for contributions, the
        output at the baseline for integrated gradients.
    k : int
        How many importances are named where nothing is said: 4 contributions, else 8.
    """

    def __init__(
        self,
        values: Array,
        names: list[str],
        classes: Array,
        class_names: list[str],
        probabilities: Array,
        data: Array,
        config: dict[str, Any],
        base_values: Array | None = None,
        k: int = 8,
        model: Model | None = None,
    ) -> None:
        self.values = values
        self.names = names
        self.classes = classes
        self.class_names = class_names
        self.probabilities = probabilities
        self.data = data
        self.config = config
        self.base_values = base_values
        self.k = k
        self._model = model
        self._rows: Any = None

    @classmethod
    def _of(cls, model: Model, answer: Mapping[str, Any], rows: Any) -> Explanation:
        is_array = isinstance(rows, np.ndarray)
        data = rows if is_array else rows.values()
        return cls(
            answer["importance"],
            answer["names"],
            answer["classes"],
            model.classes,
            answer["probabilities"],
            data,
            json.loads(answer["config"]),
            answer["base"],
            answer["k"],
            model,
        )._of_rows(None if is_array else rows)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> Explanation:
        """Some of the rows; a single number gives an explanation of one row."""
        if isinstance(rows, (int, np.integer)):
            place = int(rows)
            rows = slice(place, place + 1 if place != -1 else None)
        base = None if self.base_values is None else self.base_values[rows]
        return Explanation(
            self.values[rows],
            self.names,
            self.classes[rows],
            self.class_names,
            self.probabilities[rows],
            self.data[rows],
            self.config,
            base,
            self.k,
            self._model,
        )

    def _of_rows(self, rows: Any) -> Explanation:
        # What values were that the model does not know is told by the rows, not by their encoding.
        self._rows = rows
        return self

    def __getstate__(self) -> dict[str, Any]:
        # A copy elsewhere needs the numbers, not the network.
        return {**self.__dict__, "_model": None, "_rows": None}

    def top(self, k: int | None = None) -> list[list[str]]:
        """The names of each row's k (`self.k`) most important features, the most important first; of equals the first."""
        order = np.argsort(-self.values, axis=1, kind="stable")[:, : self.k if k is None else k]
        return [[self.names[place] for place in row] for row in order]

    def _columns(self) -> dict[str, Any]:
        names = np.asarray(self.class_names, dtype=object)[self.classes]
        chosen = self.probabilities[np.arange(len(self)), self.classes]
        columns: dict[str, Any] = {"class": names.tolist(), "probability": chosen}
        for place, name in enumerate(self.names):
            columns[name if name not in columns else f"{name} (importance)"] = self.values[:, place]
        return columns

    def to_shap(self) -> Any:
        """A `shap.Explanation` for shap's plots.

        Base values are what the importances of a row add up from, and 0 where the method has none. Where importances are of columns,
        the data are the columns' own values; a category is shown by its name and counted by its place.
        """
        shap = import_for("shap", "to_shap")
        base = np.zeros(len(self)) if self.base_values is None else self.base_values
        data: Array | None = self.data
        shown: Array | None = None
        if self.data.shape[1] != len(self.names) or self.config["per"] == "column":
            data, shown = self._column_data()
        return shap.Explanation(
            values=self.values, base_values=base, data=data, display_data=shown, feature_names=self.names
        )

    def _column_data(self) -> tuple[Array | None, Array | None]:
        """The rows' own values, column by column: as numbers, and as a person reads them."""
        if self._model is None:
            return None, None
        rows = np.ascontiguousarray(self.data, dtype=np.float32) if self._rows is None else self._rows
        texts, numbers = self._model._native.column_values(rows)
        shown = np.asarray(texts, dtype=object).reshape(len(self), -1)
        if shown.shape[1] != len(self.names):
            return None, None
        for column in np.flatnonzero(np.isnan(numbers).all(axis=0)):
            _, places = np.unique(shown[:, column].astype(str), return_inverse=True)
            numbers[:, column] = places
        return numbers, shown

    def to_html(self, row: int = 0, k: int = 12) -> str:
        """A row's k largest importances as a bar chart, in HTML that needs no script."""
        from thickset import _html

        order = np.argsort(-np.abs(self.values[row]), kind="stable")[:k]
        title = (
            f"{self.class_names[self.classes[row]]} "
            f"({self.probabilities[row, self.classes[row]]:.3f}), by {self.config['explanation']['kind']}"
        )
        return _html.bars(title, [(self.names[place], float(self.values[row, place])) for place in order])

    def _repr_html_(self) -> str:
        from thickset import _html

        if len(self) == 1:
            return self.to_html()
        columns = self._columns()
        shown = {"class": columns["class"], "probability": columns["probability"]}
        shown["top"] = [", ".join(names) for names in self.top()]
        return _html.table(f"{len(self)} explained rows", shown)

    def __repr__(self) -> str:
        return f"<thickset.Explanation of {len(self)} rows, {len(self.names)} importances, {self.config['explanation']['kind']}>"
