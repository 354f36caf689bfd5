"""Results: arrays with names, which make data frames, files, pages and pictures of themselves."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from thickset import _native
from thickset._errors import GateFailed, ThicksetImportError, ThicksetValueError

if TYPE_CHECKING:
    from thickset._model import Model

Array = np.ndarray[Any, Any]


class _Table:
    """What every result with rows can do. `_columns` gives its columns in order."""

    def _columns(self) -> dict[str, Any]:
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """A pandas data frame, one line a row."""
        return _import("pandas", "to_pandas").DataFrame(self._columns())

    def to_polars(self) -> Any:
        """A polars data frame, one line a row."""
        return _import("polars", "to_polars").DataFrame(self._columns())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the table: `.csv`, `.jsonl`, `.npz`, or `.parquet` (with pandas)."""
        path = Path(path)
        columns = self._columns()
        if path.suffix == ".parquet":
            self.to_pandas().to_parquet(path)
        elif path.suffix == ".npz":
            arrays: Any = {name: np.asarray(one) for name, one in columns.items()}
            np.savez_compressed(path, **arrays)
        elif path.suffix == ".jsonl":
            lines = zip(*(np.asarray(one).tolist() for one in columns.values()), strict=True)
            text = "".join(json.dumps(dict(zip(columns, line, strict=True))) + "\n" for line in lines)
            path.write_text(text, encoding="utf-8")
        elif path.suffix == ".csv":
            import csv

            with path.open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(columns)
                writer.writerows(zip(*(np.asarray(one).tolist() for one in columns.values()), strict=True))
        else:
            raise ThicksetValueError(
                f"expected a name that ends in .csv, .jsonl, .npz or .parquet, got `{path}`"
            )


class Explanation(_Table):
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
        shap = _import("shap", "to_shap")
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


class Reasons(_Table):
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


class Attacks(_Table):
    """What attacks on explanations came to, row by row.

    Attributes
    ----------
    precision : array of shape (rows,)
        P@k at the worst point found: the share of the top k that is left.
    perturbed : array of shape (rows, features)
        The worst point, encoded; `rows` holds where it began.
    before, after : array of shape (rows, importances)
        The importances of the predicted class at both.
    held : array of bool
        Whether the prediction is the same at the worst point.
    attack : list of str
        The method that found it.
    """

    def __init__(self, model: Model, answer: Mapping[str, Any]) -> None:
        self._model = model
        self.k: int = answer["k"]
        self.names: list[str] = answer["names"]
        self.precision: Array = answer["precision"]
        self.rows: Array = answer["rows"]
        self.perturbed: Array = answer["perturbed"]
        self.before: Array = answer["before"]
        self.after: Array = answer["after"]
        self.held: Array = answer["held"]
        self.attack: list[str] = answer["attack"]
        self.classes: Array = answer["classes"]
        self.probabilities: Array = answer["probabilities"]
        self.probabilities_after: Array = answer["probabilities_after"]

    @classmethod
    def _of(cls, model: Model, answer: Mapping[str, Any]) -> Attacks:
        return cls(model, answer)

    def __len__(self) -> int:
        return len(self.precision)

    @property
    def p_at_k(self) -> float:
        """The mean share of a row's top k that survives."""
        return float(self.precision.mean())

    def changes(self, row: int) -> list[tuple[str, Any, Any]]:
        """What the attack changed, in the columns' own units: name, before, after."""
        before = self._model._native.decode(self.rows[row].tolist())
        after = self._model._native.decode(self.perturbed[row].tolist())
        return [(name, old, new) for (name, old), (_, new) in zip(before, after, strict=False) if old != new]

    def _columns(self) -> dict[str, Any]:
        names = np.asarray(self._model.classes, dtype=object)[self.classes]
        moved = np.linalg.norm(self.perturbed - self.rows, axis=1)
        return {
            "class": names.tolist(),
            "p_at_k": self.precision,
            "held": self.held,
            "attack": self.attack,
            "moved": moved,
        }

    def to_html(self) -> str:
        """The first rows as a table."""
        from thickset import _html

        title = f"{len(self)} attacked rows: {self.p_at_k:.3f} of the top {self.k} survive"
        return _html.table(title, self._columns())

    _repr_html_ = to_html

    def __repr__(self) -> str:
        return f"<thickset.Attacks on {len(self)} rows, P@{self.k} {self.p_at_k:.4f}>"


class Certificates(_Table):
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


class Audit(_Table):
    """How far explanations can be trusted, over all rows.

    Attributes
    ----------
    figures : dict
        By id, each a dict of `label`, `value` and the ends `low` and `high` of its 95% interval (None where it has none).
    passed : bool
        Whether everything that was required holds.
    gate : list of dict
        What was required: `text`, `value`, `holds`.
    """

    def __init__(self, native: _native.Audit) -> None:
        self._native = native
        about = json.loads(native.summary())
        self.figures: dict[str, dict[str, Any]] = {one.pop("id"): one for one in about["figures"]}
        self.gate: list[dict[str, Any]] = about["gate"]
        self.model: str = about["model"]
        self.data: str = about["data"]
        self.features: list[str] = about["features"]
        self.class_names: list[str] = about["classes"]
        self.k: int = about["k"]
        self.passed: bool = native.passed
        self._rows = about["rows"]

    def __reduce__(self) -> tuple[Any, ...]:
        return _audit_of, (self.to_bytes(),)

    def __len__(self) -> int:
        return int(self._rows)

    def __getitem__(self, figure: str) -> float:
        """The value of a figure, such as `audit["p_at_k"]`."""
        value = self.figures[figure]["value"]
        return float(value)

    def to_bytes(self) -> bytes:
        """The bytes of `audit.json`: the same as the command writes."""
        return self._native.to_bytes()

    def raise_for_gate(self) -> Audit:
        """Raises `GateFailed` unless everything that was required holds; returns itself."""
        failed = [one for one in self.gate if not one["holds"]]
        if failed:
            listed = "; ".join(f"{one['text']} fails, it is {one['value']}" for one in failed)
            raise GateFailed(listed)
        return self

    def _columns(self) -> dict[str, Any]:
        return dict(self._native.rows())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes `audit.json` and `report.html` into a folder, or one file: `.json`, `.html`, or the rows as `_Table.save` does."""
        path = Path(path)
        if path.suffix == ".json":
            path.write_bytes(self.to_bytes())
        elif path.suffix == ".html":
            path.write_text(self.to_html(), encoding="utf-8")
        elif path.suffix:
            super().save(path)
        else:
            path.mkdir(parents=True, exist_ok=True)
            (path / "audit.json").write_bytes(self.to_bytes())
            (path / "report.html").write_text(self.to_html(), encoding="utf-8")

    def to_html(self, *others: Audit) -> str:
        """The report: one page that needs no network and no script, of this audit or beside others."""
        return self._native.html([one._native for one in others])

    def log_to_mlflow(self, prefix: str = "thickset") -> None:
        """Logs figures, `audit.json` and the report to the active MLflow run."""
        from thickset.integrations import mlflow

        mlflow.log_audit(self, prefix)

    def _repr_html_(self) -> str:
        from thickset import _html

        return _html.figures(self) + _html.page(self.to_html())

    def __repr__(self) -> str:
        gate = "" if not self.gate else (", the gate holds" if self.passed else ", the gate fails")
        return f"<thickset.Audit of {self.model} on {len(self)} rows of {self.data}: P@{self.k} {self['p_at_k']:.4f}{gate}>"


class Comparison(_Table):
    """Two models on the same rows. Differences are the second minus the first.

    Attributes
    ----------
    a, b : Audit
    content : dict
        All of `compare.json` but the rows.
    verdict : str
        `less-stable`, `more-stable` or `not-shown`, of the second.
    """

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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes `compare.json`, or the report of both (`.html`), or the rows as a table."""
        path = Path(path)
        if path.suffix == ".json":
            path.write_bytes(self.to_bytes())
        elif path.suffix == ".html":
            path.write_text(self.to_html(), encoding="utf-8")
        else:
            super().save(path)

    def to_html(self) -> str:
        """The report of both models side by side."""
        return self.a.to_html(self.b)

    def _repr_html_(self) -> str:
        from thickset import _html

        return _html.paragraph(repr(self)[1:-1]) + _html.page(self.to_html())

    def __repr__(self) -> str:
        mean = self.content["precision_at_k"]["mean"]
        return f"<thickset.Comparison on {len(self)} rows: {self.verdict}, P@k differs by {mean['value']:+.4f}>"


def _reasons_of(content: str) -> Reasons:
    return Reasons(_native.Reasons.parse(content))


def _audit_of(content: bytes) -> Audit:
    return Audit(_native.Audit.parse(content.decode(), "audit.json"))


def _import(name: str, what: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ThicksetImportError(f"`{what}` needs the package `{name}`: pip install {name}") from error


