"""Models, and what one asks of them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from thickset import _native
from thickset._errors import ThicksetTypeError, ThicksetValueError, warn
from thickset._progress import Progress, reporting
from thickset._settings import Method, options, to_json

if TYPE_CHECKING:
    import numpy as np

    from thickset._results import Attacks, Audit, Certificates, Explanation, Reasons

#: A data frame, an array of rows, or the name of a dataset or file.
Rows = Any

#: Rows that were read and encoded already.
_OWN_ROWS = (_native.Rows, _native.EncodedRows)


def load(
    path: str | os.PathLike[str],
    *,
    scale: Any = None,
    columns: Sequence[str] = (),
    classes: Sequence[str] = (),
    target: str | None = None,
    output: str | None = None,
) -> Model:
    """Reads a model from its file: one of ours, or ONNX (`.onnx`) of another framework.

    The file may go away afterwards. If it lies in a run's folder, the explanation, k and requirements of that run are the model's.

    Parameters
    ----------
    path
        The file.
    scale
        Only for ONNX: rows (a data frame or an array) to take means and deviations from where the graph has no scaler, or `"none"` if
        distances in the columns' own units are meant. Without it, such a model predicts and explains, but is not attacked.
    columns, classes
        Only for ONNX: names of the columns of the graph's input and of the classes, in order.
    target
        Only for ONNX: the column of files that holds the classes.
    output
        Only for ONNX: the graph's output that holds scores or probabilities.

    Examples
    --------
    >>> import thickset
    >>> run = {"data": {"source": "breast-cancer"}, "train": {"epochs": 2}}
    >>> thickset.train(run).model.save("model.safetensors")
    >>> model = thickset.load("model.safetensors")
    >>> model.classes
    ['malignant', 'benign']
    """
    given = os.fspath(path)
    asked = {"columns": list(columns), "classes": list(classes), "target": target, "output": output}
    named = {name: value for name, value in asked.items() if value}
    if not given.lower().endswith(".onnx"):
        if named or scale is not None:
            raise ThicksetTypeError(
                f"{', '.join([*named, *(['scale'] if scale is not None else [])])} are for ONNX files, got `{given}`"
            )
        return Model(_native.Model.load(given))
    from thickset._onnx import of_file

    return of_file(given, named, scale)


class Model:
    """A classifier that can be explained, attacked, certified and audited.

    Made by `load`, `train`, `from_sklearn`, `from_torch` or an estimator.

    Rows may be a data frame with the columns of the training data (pandas, polars, pyarrow), an array with those columns in order,
    an array of encoded features (`encoded=True`, or by its width), or the name of a dataset or file, as the command takes it.

    Examples
    --------
    >>> import thickset
    >>> model = thickset.train({"data": {"source": "breast-cancer"}, "train": {"epochs": 2}}).model
    >>> model.predict_proba("breast-cancer").shape     # a dataset's name: its test rows
    (86, 2)
    >>> len(model.explain("breast-cancer").top()[0])
    4
    """

    #: What computes: `thickset`, or another library's name where that one answers.
    backend: str = "thickset"

    #: Why another library computes; empty where it does not.
    backend_note: str = ""

    #: What was understood of an ONNX file, in lines; empty for models of ours.
    about: str = ""

    #: The largest difference from the probabilities of the framework that the model comes from, where they were compared.
    largest_difference: float | None = None

    def __init__(
        self, native: _native.Model, *, inputs: list[str] | None = None, wants_scale: bool = False
    ) -> None:
        self._native = native
        # All columns of an ONNX graph's input, of which the prediction may depend on some.
        self._inputs = inputs
        self._wants_scale = wants_scale

    def __getstate__(self) -> dict[str, Any]:
        return {
            "content": self._native.to_bytes(),
            "origin": self._native.origin(),
            "inputs": self._inputs,
            "wants_scale": self._wants_scale,
            "about": self.about,
            "largest_difference": self.largest_difference,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._native = _native.Model.from_bytes(state["content"], state["origin"])
        self._inputs = state.get("inputs")
        self._wants_scale = state.get("wants_scale", False)
        self.about = state.get("about", "")
        self.largest_difference = state.get("largest_difference")

    def __repr__(self) -> str:
        kind = self.description["model"]["kind"]
        return f"<thickset.Model {kind}, {len(self.features)} features, classes {', '.join(self.classes)}>"

    @property
    def description(self) -> dict[str, Any]:
        """What the weights are of: architecture, input, encoding."""
        found: dict[str, Any] = json.loads(self._native.description)
        return found

    @property
    def classes(self) -> list[str]:
        """The names of the classes, in the order of the probabilities."""
        return self._native.classes

    @property
    def features(self) -> list[str]:
        """The names of the encoded features."""
        return self._native.features

    @property
    def columns(self) -> list[str] | None:
        """The columns of the training data; None where the model takes numbers as they are."""
        return self._native.columns

    def to_bytes(self) -> bytes:
        """The bytes of the model's file."""
        return self._native.to_bytes()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model to one file, which the command and plain `safetensors` read too; or as ONNX (`.onnx`)."""
        if os.fspath(path).lower().endswith(".onnx"):
            with open(path, "wb") as file:
                file.write(self.to_onnx())
            return
        self._native.save(os.fspath(path))

    def to_onnx(self, *, encoded: bool = False) -> bytes:
        """The bytes of an ONNX file that takes the raw columns, or the encoded features."""
        return self._native.to_onnx(encoded)

    def encode(self, X: Rows, *, encoded: bool | None = None) -> np.ndarray[Any, Any]:
        """The rows as the network reads them, `[rows, features]` in single precision."""
        rows = self._rows(X, encoded=encoded)
        found: np.ndarray[Any, Any] = rows.values() if isinstance(rows, _OWN_ROWS) else rows
        return found

    def predict_proba(self, X: Rows, *, encoded: bool | None = None) -> np.ndarray[Any, Any]:
        """The probabilities of the classes, `[rows, classes]`."""
        return self._native.predict_proba(self._rows(X, encoded=encoded))

    def predict(self, X: Rows, *, encoded: bool | None = None) -> np.ndarray[Any, Any]:
        """The names of the predicted classes."""
        import numpy as np

        probabilities = self.predict_proba(X, encoded=encoded)
        names: np.ndarray[Any, Any] = np.asarray(self.classes, dtype=object)
        found: np.ndarray[Any, Any] = names[probabilities.argmax(axis=1)]
        return found

    def logits(self, X: Rows, *, encoded: bool | None = None) -> np.ndarray[Any, Any]:
        """What the last layer computes, `[rows, classes]`; probabilities are its softmax."""
        return self._native.logits(self._rows(X, encoded=encoded))

    def rows(
        self,
        name: str | os.PathLike[str],
        *,
        part: str | None = None,
        split_seed: int | None = None,
        folder: str | os.PathLike[str] | None = None,
        max_rows: int | None = None,
        seed: int = 0,
    ) -> _native.Rows:
        """Some rows of a dataset or file by its name, read and encoded once; every method takes them.

        Parameters
        ----------
        name
            A dataset's name or a file, as the command's `--data`.
        part
            `train`, `validation`, `test` or `all`; if left out, the test rows of the data that the model was trained on, all rows of others.
        split_seed, folder
            How the data is split, and where known datasets lie.
        max_rows, seed
            At most so many rows, a sample by the seed.

        Examples
        --------
        >>> import thickset
        >>> model = thickset.train({"data": {"source": "breast-cancer"}, "train": {"epochs": 2}}).model
        >>> len(model.explain(model.rows("breast-cancer", part="all", max_rows=50)))
        50
        """
        choice: dict[str, Any] = {
            "part": part,
            "split_seed": split_seed,
            "folder": None if folder is None else os.fspath(folder),
            "max_rows": max_rows,
            "seed": seed if max_rows else None,
        }
        found: _native.Rows = self._rows(os.fspath(name), **choice)
        return found

    def explain(
        self,
        X: Rows,
        *,
        explanation: Method | None = None,
        reduce: str | None = None,
        per: str | None = None,
        target: Any = None,
        seed: int = 0,
        encoded: bool | None = None,
        progress: Progress = False,
    ) -> Explanation:
        """Why the model predicts what it predicts, row by row.

        Parameters
        ----------
        explanation
            The method's id, or a mapping with its settings; the one that the model was trained for if left out.
        reduce
            How attributions become importances: `signed`, `absolute`, ...
        per
            `feature`, or `column` for the original columns.
        target
            The class to explain, a place in `classes`, for all rows or one a row; the predicted one if left out.

        Examples
        --------
        >>> import thickset
        >>> model = thickset.train({"data": {"source": "breast-cancer"}, "train": {"epochs": 2}}).model
        >>> why = model.explain("breast-cancer", explanation="grad")
        >>> why.values.shape, why.names[:2]
        ((86, 30), ['mean radius', 'mean texture'])
        """
        from thickset._results import Explanation

        rows = self._rows(X, encoded=encoded)
        given = options(explanation=explanation, reduce=reduce, per=per, seed=seed)
        with reporting(progress, "explaining") as report:
            answer = self._native.explain(rows, given, report, self._targets(target, len(rows)))
        return Explanation._of(self, answer, rows)

    def attack(
        self,
        X: Rows,
        *,
        method: Method | None = None,
        effort: str | None = None,
        k: int | None = None,
        radius: float | None = None,
        threat: Method | None = None,
        explanation: Method | None = None,
        reduce: str | None = None,
        per: str | None = None,
        seed: int = 0,
        encoded: bool | None = None,
        progress: Progress = False,
        **settings: Any,
    ) -> Attacks:
        """Searches for small changes of the rows that change their explanations most, with the suite of all attacks or one method."""
        from thickset._results import Attacks

        self._needs_scale()
        rows = self._rows(X, encoded=encoded)
        given = options(
            method=method,
            effort=effort,
            k=k,
            radius=radius,
            threat=threat,
            explanation=explanation,
            reduce=reduce,
            per=per,
            seed=seed,
            **settings,
        )
        with reporting(progress, "attacking") as report:
            answer = self._native.attack(rows, given, report)
        return Attacks._of(self, answer)

    def certify(
        self,
        X: Rows,
        *,
        k: int | None = None,
        radius: float | None = None,
        threat: Method | None = None,
        any_class: bool = False,
        nodes: int | None = None,
        explanation: Method | None = None,
        reduce: str | None = None,
        per: str | None = None,
        encoded: bool | None = None,
        progress: Progress = False,
    ) -> Certificates:
        """Proves, row by row, how far a row can move before its top-k set changes, and how low P@k can go within the radius."""
        from thickset._results import Certificates

        self._needs_scale()
        rows = self._rows(X, encoded=encoded)
        given = options(
            k=k,
            radius=radius,
            threat=threat,
            any_class=any_class,
            nodes=nodes,
            explanation=explanation,
            reduce=reduce,
            per=per,
        )
        with reporting(progress, "certifying") as report:
            answer = self._native.certify(rows, given, report)
        return Certificates._of(answer)

    def reasons(
        self,
        X: Rows,
        *,
        adverse: Any = None,
        cutoff: float | None = None,
        k: int | None = None,
        all_rows: bool = False,
        attack: bool = True,
        effort: str | None = None,
        radius: float | None = None,
        threat: Method | None = None,
        codes: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        explanation: Method | None = None,
        seed: int = 0,
        encoded: bool | None = None,
        progress: Progress = False,
    ) -> Reasons:
        """Why rows are decided against, as a person can be told, and how far those reasons hold. Only for tables.

        Parameters
        ----------
        adverse
            The class that a decision against a person is of; the run's if left out.
        cutoff
            Rows are decided against from this probability of it on; if left out, where it is the most probable class.
        k
            The most reasons of a row; 4 if left out.
        all_rows
            Also for rows that are not decided against.
        attack
            Attack the reasons, to see how far they hold.
        threat, radius
            The change that they are to hold under, such as `{"error": {"*": "5%"}}`.
        codes
            Codes and sentences: the path of a `codes.toml` (see `codes_template`), or its content as a mapping.

        Examples
        --------
        >>> import thickset
        >>> model = thickset.train({"data": {"source": "breast-cancer"}, "train": {"epochs": 3}}).model
        >>> found = model.reasons("breast-cancer", adverse="malignant", k=2, attack=False)
        >>> all(len(row["reasons"]) <= 2 for row in found.rows)
        True
        """
        from thickset._results import Reasons

        if attack:
            self._needs_scale()
        rows = self._rows(X, encoded=encoded)
        file = os.fspath(codes) if isinstance(codes, (str, os.PathLike)) else None
        given = options(
            adverse=None if adverse is None else self._class_name(adverse),
            cutoff=cutoff,
            k=k,
            all_rows=all_rows,
            attack=attack,
            effort=effort,
            radius=radius,
            threat=threat,
            codes=dict(codes) if isinstance(codes, Mapping) else None,
            codes_file=file,
            explanation=explanation,
            seed=seed,
        )
        with reporting(progress, "giving reasons") as report:
            answer = self._native.reasons(rows, given, report)
        return Reasons(answer)

    def codes_template(self) -> str:
        """A file of codes and sentences to begin with, for the model's columns (`reasons(codes=...)`)."""
        return self._native.codes_template()

    @staticmethod
    def _targets(target: Any, rows: int) -> list[int] | None:
        """The class to explain of each row."""
        if target is None:
            return None
        import numpy as np

        given = np.asarray(target.detach().cpu() if hasattr(target, "detach") else target)
        if given.dtype.kind not in "iu" or (given < 0).any():
            raise ThicksetValueError(f"`target` must be places of classes, counted from 0, got {target!r}")
        found: list[int] = np.broadcast_to(given.ravel() if given.ndim else given, (rows,)).tolist()
        return found

    def _needs_scale(self) -> None:
        """Refuses to measure distances where they have no meaning."""
        if self._wants_scale:
            raise ThicksetValueError(
                "the columns of this graph have no scaler, so a distance over them means nothing; "
                'load it with `scale=X` to take means and deviations from rows, or `scale="none"` if the columns\' own units are meant'
            )

    def _class_name(self, label: Any) -> str:
        """The name of a class that was given by its name or as the label that was trained on."""
        if str(label) in self.classes:
            return str(label)
        return self.classes[int(self._labels([label])[0])]  # type: ignore[index]

    def audit(self, X: Rows, y: Any = None, **settings: Any) -> Audit:
        """How far the explanations can be trusted, over all rows: see `thickset.audit`."""
        from thickset._functions import audit

        found: Audit = audit(self, X, y, **settings)
        return found

    def _labels(self, y: Any) -> np.ndarray[Any, Any] | None:
        """Classes as numbers; a class is given by its name, or as the label that was trained on."""
        if y is None:
            return None
        import numpy as np

        names = {name: place for place, name in enumerate(self.classes)}
        given = np.asarray(y).ravel()
        found = np.full(len(given), -1, dtype=np.int64)
        for place, label in enumerate(given.tolist()):
            if label is None or label != label:
                continue
            number = names.get(str(label))
            if number is None and isinstance(label, (bool, float)):
                number = names.get(str(int(label)))
            if number is None:
                raise ThicksetValueError(
                    f"the label {label!r} of row {place + 1} is none of the model's classes: {', '.join(self.classes)}"
                )
            found[place] = number
        return found

    def _rows(
        self, X: Rows, *, encoded: bool | None = None, labelled: bool = False, **choice: Any
    ) -> Any:
        if isinstance(X, _OWN_ROWS):
            return X
        if isinstance(X, (str, os.PathLike)):
            chosen = {name: value for name, value in choice.items() if value is not None}
            return self._native.open_rows(to_json({"data": os.fspath(X), **chosen}), labelled)
        if choice:
            raise ThicksetTypeError(
                f"{', '.join(choice)} choose rows of a dataset or file by its name; choose rows of a frame or array beforehand"
            )
        from thickset import _frames

        columns = self.columns
        if _frames.is_frame(X):
            if columns is not None:
                given = _frames.columns_of_frame(X, columns, flags_are_numbers=self._inputs is not None)
                return self._encoded("the data frame", given)
            return _frames.single_precision(_in_order(X, self.features))
        import numpy as np

        array = np.asarray(X)
        names = columns if self._inputs is None else self._inputs
        if encoded is None:
            width = array.shape[1] if array.ndim == 2 else -1
            encoded = not names or (width != len(names) and width == len(self.features))
        if encoded or not names or columns is None:
            return _frames.single_precision(array)
        given = _frames.columns_of_array(array, names)
        return self._encoded("the array", given)

    def _encoded(self, name: str, columns: list[Any]) -> _native.EncodedRows:
        """Rows of columns, with a warning of what the model has never seen."""
        rows = self._native.encode(name, columns)
        for note in rows.notes:
            warn(note)
        return rows


def _in_order(frame: Any, names: list[str]) -> Any:
    """The numbers of a frame's columns in the order of the names, if it has them all; else in its own."""
    have = [str(name) for name in frame.columns]
    return frame[names].to_numpy() if set(names) <= set(have) else frame.to_numpy()
