"""Models of other libraries: scikit-learn's and PyTorch's, through ONNX in memory, and PyTorch itself where ONNX does not serve."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from thickset import _frames, _native
from thickset._errors import ThicksetError, ThicksetImportError, ThicksetValueError
from thickset._model import Model
from thickset._settings import to_json

#: How far probabilities of the two may differ. Both compute in single precision, of which this is a hundred thousand steps.
TOLERANCE = 1e-3


def from_sklearn(estimator: Any, X: Any, *, classes: Sequence[str] | None = None) -> Model:
    """A fitted scikit-learn classifier or pipeline as a model, through skl2onnx.

    X are rows like those it was fitted to: their columns name the inputs, and the model's probabilities are compared with
    `predict_proba` on them. A model that differs is refused, for what would be audited would be another one.
    """
    try:
        import skl2onnx
    except ImportError as error:
        raise ThicksetImportError("`from_sklearn` needs the package `skl2onnx`: pip install skl2onnx") from error
    names = [str(one) for one in estimator.classes_] if classes is None else list(classes)
    is_frame = _frames.is_frame(X)
    final = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    first: Any = X.head(1) if is_frame else np.asarray(X)[:1].astype(np.float32)
    if is_frame:
        first = first.astype({name: np.float32 for name in first.columns if first[name].dtype.kind in "iuf"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = skl2onnx.to_onnx(estimator, first, options={id(final): {"zipmap": False}})
    columns = [] if is_frame else [f"x{place}" for place in range(first.shape[1])]
    model = _of_onnx(graph.SerializeToString(), "the pipeline", columns, names, None if is_frame else X)
    _compare(model, model.predict_proba(X), np.asarray(estimator.predict_proba(X)), "predict_proba")
    return model


def from_torch(
    net: Any,
    example: Any,
    *,
    classes: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    backend: str | None = None,
) -> Model:
    """A PyTorch module that gives logits as a model.

    The module goes through ONNX in memory, and its probabilities are compared on the example. Where an operator is missing, or they
    differ, PyTorch itself answers logits, gradients and Hessian products; `model.backend` says which: `thickset` or `torch`.

    Parameters
    ----------
    net
        The module, in evaluation mode or not; it is used in evaluation mode.
    example
        Rows that it takes, a tensor whose first dimension is rows. All that is needed are shapes, but real rows make a better comparison.
    classes, names
        Names of the classes and of the features.
    backend
        `thickset` or `torch` to insist on one.
    """
    try:
        import torch
    except ImportError as error:
        raise ThicksetImportError("`from_torch` needs the package `torch`: pip install torch") from error
    if backend not in (None, "thickset", "torch"):
        raise ThicksetValueError(f"`backend` must be `thickset` or `torch`, got {backend!r}")
    net = net.eval()
    example = torch.as_tensor(example, dtype=torch.float32)
    with torch.no_grad():
        logits = net(example)
    if logits.ndim != 2 or logits.shape[1] < 2:
        raise ThicksetValueError(
            f"the module must give one logit a class, two or more; it gives {tuple(logits.shape)} for {tuple(example.shape)}"
        )
    named = [str(place) for place in range(logits.shape[1])] if classes is None else list(classes)
    if backend != "torch":
        try:
            return _through_onnx(torch, net, example, named, names)
        except Exception as error:
            if backend == "thickset":
                raise
            reason = error
    model = TorchModel._around(torch, net, example, named, names)
    model.reason = str(reason) if backend is None else "asked for"
    return model


def _through_onnx(torch: Any, net: Any, example: Any, classes: list[str], names: Sequence[str] | None) -> Model:
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            net,
            (example,),
            file,
            dynamo=False,
            input_names=["input"],
            output_names=["logits"],
            dynamic_axes={"input": {0: "rows"}, "logits": {0: "rows"}},
        )
    flat = example.ndim == 2
    columns = list(names or [f"x{place}" for place in range(example.shape[1])]) if flat else []
    model = _of_onnx(file.getvalue(), "the module", columns, classes, example.numpy() if flat else None)
    with torch.no_grad():
        expected = torch.softmax(net(example), dim=1).numpy()
    rows = example.reshape(len(example), -1).numpy()
    _compare(model, model.predict_proba(rows), expected, "the module")
    return model


def _of_onnx(content: bytes, name: str, columns: list[str], classes: list[str], rows: Any) -> Model:
    settings: dict[str, Any] = {"columns": columns, "classes": classes}
    if columns and rows is not None:
        # Distances are in units of the columns' ranges, as for tables that we encode ourselves.
        low, high = np.quantile(np.asarray(rows, dtype=np.float64), (0.01, 0.99), axis=0)
        settings["scales"] = {
            column: [float(a), float(b)] for column, a, b in zip(columns, low, high, strict=True) if b > a
        }
    return Model(_native.Model.from_onnx(content, name, to_json(settings)))


def _compare(model: Model, ours: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any], what: str) -> None:
    if ours.shape != theirs.shape:
        raise ThicksetValueError(f"the model gives {ours.shape} probabilities, {what} {theirs.shape}")
    difference = np.abs(ours - theirs).max(axis=1)
    if len(difference) and difference.max() > TOLERANCE:
        row = int(difference.argmax())
        raise ThicksetValueError(
            f"the model's probabilities of row {row + 1} are {np.round(ours[row], 4).tolist()}, those of {what} "
            f"{np.round(theirs[row], 4).tolist()}; a model that differs by more than {TOLERANCE} is refused"
        )


class TorchModel(Model):
    """A model that PyTorch computes. It can be asked everything but to be certified, saved or trained."""

    backend = "torch"

    #: Why ONNX did not serve.
    reason: str = ""

    _network: _TorchNetwork

    @classmethod
    def _around(cls, torch: Any, net: Any, example: Any, classes: list[str], names: Sequence[str] | None) -> TorchModel:
        shape = tuple(example.shape[1:])
        given = list(names) if names is not None else []
        computing = _TorchNetwork(torch, net, shape)
        made = cls(_native.Model.foreign(computing, list(shape), classes, given))
        made._network = computing
        return made

    def __getstate__(self) -> dict[str, Any]:
        raise ThicksetError("a model that PyTorch computes cannot be pickled; save the module, and make it again from it")

    def save(self, path: Any) -> None:
        """Refused: what it computes with is PyTorch's."""
        raise ThicksetError("a model that PyTorch computes cannot be saved; save the module with PyTorch")

    def to_bytes(self) -> bytes:
        """Refused: what it computes with is PyTorch's."""
        raise ThicksetError("a model that PyTorch computes has no file")


class _TorchNetwork:
    """Logits and derivatives of a module, for the native half: arrays of double precision in and out."""

    def __init__(self, torch: Any, net: Any, shape: tuple[int, ...]) -> None:
        self._torch = torch
        self._net = net
        self._shape = shape
        self._dtype = next((one.dtype for one in net.parameters()), torch.float32)

    def _tensor(self, array: Any) -> Any:
        return self._torch.from_numpy(np.ascontiguousarray(array)).to(self._dtype)

    def _input(self, array: Any) -> Any:
        return self._tensor(array).reshape(-1, *self._shape)

    @staticmethod
    def _array(tensor: Any, rows: int) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = tensor.detach().reshape(rows, -1).double().cpu().numpy()
        return found

    def logits(self, x: Any) -> np.ndarray[Any, Any]:
        with self._torch.no_grad():
            return self._array(self._net(self._input(x)), len(x))

    def pullback(self, x: Any, g: Any) -> np.ndarray[Any, Any]:
        at = self._input(x).requires_grad_()
        (found,) = self._torch.autograd.grad(self._net(at), at, self._tensor(g), allow_unused=True)
        return self._or_zero(found, x)

    def tangent(self, x: Any, v: Any) -> np.ndarray[Any, Any]:
        _, found = self._torch.autograd.functional.jvp(self._net, self._input(x), self._input(v))
        return self._array(found, len(x))

    def pullback_tangent(self, x: Any, v: Any, g: Any) -> np.ndarray[Any, Any]:
        at = self._input(x).requires_grad_()
        grad = self._torch.autograd.grad
        (first,) = grad(self._net(at), at, self._tensor(g), create_graph=True, allow_unused=True)
        if first is None or not first.requires_grad:
            return np.zeros_like(x)
        (found,) = grad(first, at, self._input(v), allow_unused=True)
        return self._or_zero(found, x)

    def _or_zero(self, found: Any, x: Any) -> np.ndarray[Any, Any]:
        return np.zeros_like(x) if found is None else self._array(found, len(x))

    def smooth(self, beta: float) -> _TorchNetwork | None:
        """The module with softplus for ReLU; None where it has no `nn.ReLU` to replace."""
        import copy

        twin = copy.deepcopy(self._net)
        relu, softplus = self._torch.nn.ReLU, self._torch.nn.Softplus
        replaced = 0
        for module in twin.modules():
            for name, child in list(module.named_children()):
                if isinstance(child, relu):
                    setattr(module, name, softplus(beta=beta))
                    replaced += 1
        return _TorchNetwork(self._torch, twin, self._shape) if replaced else None
