"""Models, and what one asks of them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from thickset import _native
from thickset._errors import ThicksetTypeError, ThicksetValueError
from thickset._progress import Progress, reporting
from thickset._settings import Method, options, to_json

if TYPE_CHECKING:
    import numpy as np

    from thickset._results import Attacks, Audit, Certificates, Explanation

#: A data frame, an array of rows, or the name of a dataset or file.
Rows = Any


def load(path: str | os.PathLike[str]) -> Model:
    """Reads a model from its file.

    The file may go away afterwards. If it lies in a run's folder, the explanation, k and requirements of that run are the model's.
    """
    return Model(_native.Model.load(os.fspath(path)))


class Model:
    """A classifier that can be explained, attacked, certified and audited. Made by `load`, `train` or an estimator.

    Rows may be a data frame with the columns of the training data (pandas, polars, pyarrow), an array with those columns in order,
    an array of encoded features (`encoded=True`, or by its width), or the name of a dataset or file, as the command takes it.
    """

    #: How the model computes: `thickset`, or another library's name where that one answers.
    backend: str = "thickset"

    def __init__(self, native: _native.Model) -> None:
        self._native = native

    def __getstate__(self) -> dict[str, Any]:
        return {"content": self._native.to_bytes(), "origin": self._native.origin()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._native = _native.Model.from_bytes(state["content"], state["origin"])

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
        """Writes the model to one file, which the command and plain `safetensors` read too."""
        self._native.save(os.fspath(path))

    def encode(self, X: Rows, *, encoded: bool | None = None) -> np.ndarray[Any, Any]:
        """The rows as the network reads them, `[rows, features]` in single precision."""
        rows = self._rows(X, encoded=encoded)
        found: np.ndarray[Any, Any] = rows.values() if isinstance(rows, _native.Rows) else rows
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

    def explain(
        self,
        X: Rows,
        *,
        explanation: Method | None = None,
        reduce: str | None = None,
        per: str | None = None,
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
        """
        from thickset._results import Explanation

        rows = self._rows(X, encoded=encoded)
        given = options(explanation=explanation, reduce=reduce, per=per, seed=seed)
        with reporting(progress, "explaining") as report:
            answer = self._native.explain(rows, given, report)
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
        if isinstance(X, _native.Rows):
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
                given = _frames.columns_of_frame(X, columns)
                return self._native.encode("the data frame", given)[0]
            return _frames.single_precision(_in_order(X, self.features))
        import numpy as np

        array = np.asarray(X)
        if encoded is None:
            width = array.shape[1] if array.ndim == 2 else -1
            encoded = columns is None or (width != len(columns) and width == len(self.features))
        if encoded or columns is None:
            return _frames.single_precision(array)
        given = _frames.columns_of_array(array, columns)
        return self._native.encode("the array", given)[0]


def _in_order(frame: Any, names: list[str]) -> Any:
    """The numbers of a frame's columns in the order of the names, if it has them all; else in its own."""
    have = [str(name) for name in frame.columns]
    return frame[names].to_numpy() if set(names) <= set(have) else frame.to_numpy()
