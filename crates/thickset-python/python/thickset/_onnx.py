"""Models of other frameworks that our engine computes: ONNX files, and scikit-learn's pipelines through ONNX in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from thickset import _frames, _native
from thickset._errors import ThicksetError, ThicksetImportError, ThicksetTypeError, ThicksetValueError
from thickset._model import Model
from thickset._settings import to_json

#: How far probabilities may differ from the framework's: single precision through a deep network, and no more.
TOLERANCE = 1e-4


def of_answer(answer: tuple[_native.Model, str, list[str], bool]) -> Model:
    """What the native half read, as a model."""
    native, about, inputs, wants_scale = answer
    model = Model(native, inputs=inputs, wants_scale=wants_scale)
    model.about = about
    return model


def of_file(path: str, named: dict[str, Any], scale: Any) -> Model:
    """The model of an ONNX file."""
    own_units = isinstance(scale, str) and scale == "none"
    answer = _native.load_onnx(path, to_json(named), None)
    if scale is not None and not own_units:
        answer = _native.load_onnx(path, to_json(named), _columns(scale, answer[2]))
    model = of_answer(answer)
    if own_units:
        model._wants_scale = False
    return model


def _columns(X: Any, names: list[str]) -> list[_frames.Column]:
    """The columns of rows, under these names where they have none."""
    if isinstance(X, str):
        raise ThicksetTypeError(f'`scale` must be rows, or "none", got {X!r}')
    if _frames.is_frame(X):
        return _frames.columns_of_frame(X, flags_are_numbers=True)
    return _frames.columns_of_array(np.asarray(X), names)


def from_sklearn(estimator: Any, X: Any, *, tolerance: float = TOLERANCE) -> Model:
    """A fitted scikit-learn classifier or pipeline as a model that our engine computes.

    It is converted by skl2onnx in memory, and compared with `estimator.predict_proba(X)`: where a probability differs by more than
    `tolerance`, the model is refused, with the rows and sizes. What has no gradient (trees, nearest neighbours) is refused, too:
    `thickset.audit(predict=..., explain=..., X=...)` takes those.

    Parameters
    ----------
    estimator
        Fitted, with `predict_proba`.
    X
        Rows as the estimator takes them, best the training rows: a data frame or an array. They also give the scale of columns that
        the pipeline itself does not scale, and the typical row that contributions are compared with.

    Examples
    --------
    >>> import numpy as np, thickset
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X = np.random.default_rng(0).normal(size=(200, 4))
    >>> pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, X[:, 0] + X[:, 1] > 0)
    >>> model = thickset.from_sklearn(pipeline, X)
    >>> model.classes, model.largest_difference < 1e-5
    (['False', 'True'], True)
    >>> thickset.audit(model, X[:20], effort="quick")["p_at_k"] <= 1
    True
    """
    if not hasattr(estimator, "predict_proba"):
        raise ThicksetTypeError(
            f"expected a fitted classifier with `predict_proba`, got {type(estimator).__name__}"
        )
    if not _frames.is_frame(X):
        X = np.asarray(X)
        if X.ndim != 2 or len(X) == 0:
            raise ThicksetValueError(f"expected rows as the estimator takes them, got an array of shape {X.shape}")
    expected = np.asarray(estimator.predict_proba(X), dtype=np.float64)
    classes = [str(label) for label in np.asarray(estimator.classes_).tolist()]
    settings: dict[str, Any] = {"classes": classes}
    if not _frames.is_frame(X):
        names = getattr(estimator, "feature_names_in_", None)
        settings["columns"] = [f"x{place}" for place in range(X.shape[1])] if names is None else [str(name) for name in names]
    problem: ThicksetError | None = None
    # Constants in double precision keep what pipelines compute with; some converters know single precision alone.
    for double in (True, False):
        try:
            content = _converted(estimator, X, double=double)
            return _checked(content, settings, X, expected, tolerance)
        except ThicksetImportError:
            raise
        except ThicksetError as error:
            problem = problem or error
    assert problem is not None
    raise problem


def _checked(content: bytes, settings: dict[str, Any], X: Any, expected: np.ndarray[Any, Any], tolerance: float) -> Model:
    """The model of ONNX bytes, if it gives these probabilities for these rows."""
    name = "the converted pipeline"
    answer = _native.parse_onnx(content, name, to_json(settings), None)
    answer = _native.parse_onnx(content, name, to_json(settings), _columns(X, answer[2]))
    model = of_answer(answer)
    rows = model._rows(X)
    model.largest_difference = model._native.check_probabilities(rows, expected, tolerance)
    model._native = model._native.with_references_of(model.encode(rows))
    model._wants_scale = False
    return model


def _converted(estimator: Any, X: Any, *, double: bool) -> bytes:
    """The bytes of skl2onnx's graph, of one input a column for a data frame and of one matrix for an array."""
    try:
        import skl2onnx
        from skl2onnx.common import data_types as kinds
    except ImportError as error:
        raise ThicksetImportError("`from_sklearn` needs the package `skl2onnx`: pip install skl2onnx") from error
    number = kinds.DoubleTensorType if double else kinds.FloatTensorType
    if _frames.is_frame(X):
        columns = _frames.columns_of_frame(X, flags_are_numbers=True)
        types = [
            (column[0], (number if len(column) == 2 else kinds.StringTensorType)([None, 1])) for column in columns
        ]
    else:
        types = [("input", (kinds.StringTensorType if X.dtype.kind in "OUS" else number)([None, X.shape[1]]))]
    try:
        graph = skl2onnx.convert_sklearn(estimator, initial_types=types, options={"zipmap": False})
    except Exception as error:
        raise ThicksetValueError(f"skl2onnx cannot convert the estimator: {error}") from error
    content: bytes = graph.SerializeToString()
    return content
