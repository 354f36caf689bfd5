"""The estimator that scikit-learn accepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thickset import _frames, _native
from thickset._errors import ThicksetImportError, ThicksetTypeError, ThicksetValueError
from thickset._model import Model
from thickset._progress import reporting
from thickset._results import Attacks, Audit, Certificates, Explanation, Reasons
from thickset._settings import Method, method, to_json
from thickset._train import trained

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import (
        _check_sample_weight,
        check_is_fitted,
        column_or_1d,
        validate_data,
    )
except ImportError as error:
    raise ThicksetImportError(
        "`ThicksetClassifier` needs scikit-learn 1.6 or later: pip install scikit-learn"
    ) from error

#: Fewer rows cannot be learned from and checked on.
_LEAST_ROWS = 10

#: An epoch of a small table has about this many steps, where the batch is chosen for it.
_STEPS = 16


class ThicksetClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """A neural network whose explanations stay put.

    Data frames (pandas, polars, pyarrow) may hold categories, texts and missing values: they are encoded as the command encodes a
    file, and all that is learned of the data is stored in the model. Arrays hold numbers, which are scaled; NaN is a missing value.

    Parameters
    ----------
    objective : str or mapping, default "r2et"
        What is minimised: a method's id, or a mapping with `kind` and its settings. `"vanilla"` is plain training.
        `thickset.methods()` lists all.
    hidden : sequence of int, default (64, 32)
        Sizes of the hidden layers. None is a linear model.
    k : int, optional
        Size of the salient set: the features a person is told. 8, and at most half of them, if left out.
    explanation : str or mapping, optional
        The explanation that is trained for, selected by, and handed out; the paper's for tables if left out.
    threat : str or mapping, optional
        What attacks may do to a row: `"table"`, `"papers"`, or a mapping of parts. Used by `attack`, `certify` and `audit`.
    max_iter : int, default 30
        Epochs at most.
    batch_size : int or "auto", default "auto"
        Rows of a step; by default a sixteenth of them, at least 8 and at most 128.
    learning_rate : float, default 0.001
        Of Adam.
    early_stopping : bool, default False
        Stop after `n_iter_no_change` epochs in which neither validation AUC nor P@k improved.
    n_iter_no_change : int, default 10
    validation_fraction : float, default 0.15
        The share of the rows that chooses among epochs, of each class. 0 trains and chooses on all rows.
    class_weight : dict, "balanced" or None
        How classes are weighed. A row of weight 2 is seen twice as often.
    immutable : sequence of str
        Columns that a person cannot change: attacks leave them.
    random_state : int, RandomState or None, default 0
        Decides the split, the fresh weights and every draw. The same seed gives the same bytes.
    verbose : bool, default False
        Show a progress bar (tqdm).

    Attributes
    ----------
    model_ : thickset.Model
    classes_ : array of the labels
    n_iter_ : int
        Epochs that were trained.
    epochs_ : list of dict
        Loss, validation AUC, accuracy and P@k of each.
    notes_ : list of str
        What was left out of the data or assumed of it.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from thickset import ThicksetClassifier
    >>> X = np.random.default_rng(0).uniform(size=(200, 6))
    >>> y = np.where(X[:, 0] + X[:, 1] * X[:, 2] > 0.75, "yes", "no")
    >>> net = ThicksetClassifier(max_iter=5).fit(X, y)
    >>> net.predict(X[:3]).shape
    (3,)
    >>> net.explain(X[:3]).values.shape
    (3, 6)
    """

    def __init__(
        self,
        objective: Method = "r2et",
        *,
        hidden: Sequence[int] | None = (64, 32),
        k: int | None = None,
        explanation: Method | None = None,
        threat: Method | None = None,
        max_iter: int = 30,
        batch_size: int | str = "auto",
        learning_rate: float = 1e-3,
        early_stopping: bool = False,
        n_iter_no_change: int = 10,
        validation_fraction: float = 0.15,
        class_weight: Mapping[Any, float] | str | None = None,
        immutable: Sequence[str] = (),
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.objective = objective
        self.hidden = hidden
        self.k = k
        self.explanation = explanation
        self.threat = threat
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.class_weight = class_weight
        self.immutable = immutable
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ThicksetClassifier:
        """Trains on rows X and labels y. A row of weight 2 is seen twice as often as one of weight 1."""
        columns = self._fit_columns(X)
        rows = len(columns[0][1])
        if y is None:
            raise ThicksetValueError(
                "This ThicksetClassifier estimator requires y to be passed, but the target y is None"
            )
        check_classification_targets(y)
        labels = column_or_1d(y, warn=True)
        if len(labels) != rows:
            raise ThicksetValueError(
                f"X and y must have the same number of rows, got {rows} and {len(labels)}"
            )
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ThicksetValueError(
                f"every row has the class {self.classes_[0]!r}, expected at least two classes"
            )
        names = [str(label) for label in self.classes_.tolist()]
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, np.empty((rows, 1)), dtype=np.float64)
        seed = self._seed()
        taken = {column[0] for column in columns}
        target = getattr(y, "name", None)
        target = target if isinstance(target, str) and target not in taken else "target"
        while target in taken:
            target += "_"
        settings = {
            "target": target,
            "seed": seed,
            "validation": self._share("validation_fraction", self.validation_fraction),
            "immutable": list(self.immutable),
            "keep_numbers": not _frames.is_frame(X),
        }
        dataset = _native.Dataset.from_columns(
            columns, codes.astype(np.int64), names, to_json(settings), weights
        )
        if len(dataset.features) < 2:
            raise ThicksetValueError(
                f"an explanation ranks features, so there must be two or more; got n_features = {len(dataset.features)}"
            )
        with reporting(self.verbose, "training") as report:
            answer = _native.train(to_json(self._settings(seed, rows, names)), dataset, report)
        made = trained(answer, dataset.notes)
        self.model_ = made.model
        self.epochs_ = made.epochs
        self.n_iter_ = len(made.epochs)
        self.notes_ = made.notes
        self.selected_epoch_ = made.selected
        return self

    def _fit_columns(self, X: Any) -> list[_frames.Column]:
        """The columns of the training rows, checked as scikit-learn checks them."""
        if _frames.is_frame(X):
            validate_data(self, X, reset=True, skip_check_array=True)
            columns = _frames.columns_of_frame(X)
            if not columns:
                raise ThicksetValueError(
                    f"0 feature(s) (shape={tuple(X.shape)}) while a minimum of 1 is required."
                )
            if len(columns[0][1]) < _LEAST_ROWS:
                raise ThicksetValueError(
                    f"Found a data frame with {len(columns[0][1])} sample(s) while a minimum of {_LEAST_ROWS} is required."
                )
            return columns
        array = validate_data(
            self,
            X,
            reset=True,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
            ensure_min_samples=_LEAST_ROWS,
        )
        return _frames.columns_of_array(array, _array_names(array.shape[1]))

    def _settings(self, seed: int, rows: int, names: list[str]) -> dict[str, Any]:
        """The run's configuration, in the form of `run.toml`."""
        objective = method(self.objective) or {}
        if self.explanation is not None:
            objective["explain"] = method(self.explanation)
        if self.hidden is None:
            model: dict[str, Any] = {"kind": "linear"}
        else:
            model = {"kind": "mlp", "hidden": [int(size) for size in self.hidden]}
        batch = self.batch_size
        if batch == "auto":
            batch = min(128, max(8, rows // _STEPS))
        elif not isinstance(batch, (int, np.integer)):
            raise ThicksetValueError(f'`batch_size` must be a number or "auto", got {batch!r}')
        train: dict[str, Any] = {
            "epochs": int(self.max_iter),
            "batch": int(batch),
            "optimizer": {"kind": "adam", "rate": float(self.learning_rate)},
        }
        if self.early_stopping:
            train["patience"] = int(self.n_iter_no_change)
        if self.class_weight is not None:
            train["class_weight"] = self._class_weight(names)
        run = {
            "name": "estimator",
            "seed": seed,
            "model": model,
            "objective": objective,
            "train": train,
            # What an estimator is scored by is the class it predicts, not only how it ranks.
            "selection": {"by": "auc-and-accuracy"},
        }
        if self.k is not None:
            run["k"] = int(self.k)
        return run

    def _class_weight(self, names: list[str]) -> Any:
        given = self.class_weight
        if isinstance(given, str):
            if given != "balanced":
                raise ThicksetValueError(
                    f'`class_weight` must be a dict, "balanced" or None, got {given!r}'
                )
            return given
        if not isinstance(given, Mapping):
            raise ThicksetTypeError(
                f'`class_weight` must be a dict, "balanced" or None, got {type(given).__name__}'
            )
        places = {label: place for place, label in enumerate(self.classes_.tolist())}
        unknown = [label for label in given if label not in places]
        if unknown:
            raise ThicksetValueError(f"`class_weight` names {unknown[0]!r}, which no row has")
        return {names[places[label]]: float(weight) for label, weight in given.items()}

    def _seed(self) -> int:
        if isinstance(self.random_state, (int, np.integer)):
            if self.random_state < 0:
                raise ThicksetValueError(
                    f"`random_state` must be at least 0, got {self.random_state}"
                )
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    @staticmethod
    def _share(name: str, value: float) -> float:
        if not 0.0 <= value < 1.0:
            raise ThicksetValueError(f"`{name}` must be at least 0 and below 1, got {value}")
        return float(value)

    def _rows(self, X: Any) -> Any:
        """Rows to ask about, encoded, checked as scikit-learn checks them."""
        check_is_fitted(self, "model_")
        if _frames.is_frame(X):
            validate_data(self, X, reset=False, skip_check_array=True)
            return self.model_._rows(X)
        array = validate_data(
            self,
            X,
            reset=False,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
        )
        return self.model_._rows(array, encoded=False)

    def predict_proba(self, X: Any) -> np.ndarray[Any, Any]:
        """The probabilities of the classes, in the order of `classes_`."""
        rows = self._rows(X)
        return self.model_.predict_proba(rows, encoded=True)

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """The labels of the predicted classes."""
        probabilities = self.predict_proba(X)
        found: np.ndarray[Any, Any] = self.classes_[probabilities.argmax(axis=1)]
        return found

    def decision_function(self, X: Any) -> np.ndarray[Any, Any]:
        """Logits: of two classes the second's minus the first's, of more `[rows, classes]`."""
        rows = self._rows(X)
        logits = self.model_.logits(rows, encoded=True)
        return logits[:, 1] - logits[:, 0] if len(self.classes_) == 2 else logits

    def explain(self, X: Any, **settings: Any) -> Explanation:
        """Why rows get their class: see `Model.explain`."""
        rows = self._rows(X)
        return self.model_.explain(rows, encoded=True, **settings)

    def attack(self, X: Any, **settings: Any) -> Attacks:
        """How far small changes of rows change their explanations: see `Model.attack`."""
        settings.setdefault("threat", self.threat)
        rows = self._rows(X)
        return self.model_.attack(rows, encoded=True, **settings)

    def certify(self, X: Any, **settings: Any) -> Certificates:
        """What no small change of a row can do to its explanation: see `Model.certify`."""
        settings.setdefault("threat", self.threat)
        rows = self._rows(X)
        return self.model_.certify(rows, encoded=True, **settings)

    def reasons(self, X: Any, **settings: Any) -> Reasons:
        """Why rows are decided against, as a person can be told: see `Model.reasons`."""
        settings.setdefault("threat", self.threat)
        rows = self._rows(X)
        return self.model_.reasons(rows, encoded=True, **settings)

    def audit(self, X: Any, y: Any = None, **settings: Any) -> Audit:
        """How far the explanations can be trusted: see `thickset.audit`."""
        settings.setdefault("threat", self.threat)
        rows = self._rows(X)
        return self.model_.audit(rows, y, encoded=True, **settings)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags


def _array_names(count: int) -> list[str]:
    """What scikit-learn calls the columns of an array."""
    return [f"x{place}" for place in range(count)]
