"""Models that another library computes: PyTorch answers logits, gradients and Hessian products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thickset import _native
from thickset._errors import ThicksetError, ThicksetImportError, ThicksetValueError
from thickset._model import Model
from thickset._settings import to_json


def from_torch(
    net: Any,
    example: Any,
    *,
    classes: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    backend: str = "auto",
) -> Model:
    """A PyTorch module as a model.

    Where all of its operators are known to our engine, the module is exported to ONNX in memory, compared with PyTorch on `example`,
    and computed by our engine: it can then be saved, pickled and, as far as there are proofs, certified. Else PyTorch itself answers
    logits, gradients and Hessian products; attacks then follow a smooth twin, in which every `nn.ReLU` is a softplus, where there
    is one to replace. `model.backend` says which (`thickset` or `torch`), and `model.backend_note` why PyTorch.

    Rows are in the module's own units: no scale is taken from anywhere, unless the module's first step is one.

    Parameters
    ----------
    net
        The module, in evaluation mode or not; it is used in evaluation mode. It gives logits, or probabilities; of two classes one
        number is enough.
    example
        Rows that it takes, a tensor or array whose first dimension is rows. What both compute is compared on them, so they should
        reach every branch of a module that has branches: an export follows one.
    classes, names
        Names of the classes and of the features.
    backend
        `auto`, or `thickset` or `torch` for one of them only.

    Examples
    --------
    >>> import torch, thickset
    >>> net = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.ReLU(), torch.nn.Linear(12, 2))
    >>> model = thickset.from_torch(net, example=torch.randn(100, 6))
    >>> model.backend
    'thickset'
    """
    try:
        import torch
    except ImportError as error:
        raise ThicksetImportError("`from_torch` needs the package `torch`: pip install torch") from error
    if backend not in ("auto", "thickset", "torch"):
        raise ThicksetValueError(f"`backend` must be `auto`, `thickset` or `torch`, got {backend!r}")
    net = net.eval()
    first = next(net.parameters(), torch.zeros(()))
    example = torch.as_tensor(example).detach().to(device=first.device, dtype=first.dtype)
    if example.ndim < 2 or len(example) == 0:
        raise ThicksetValueError(f"`example` must hold rows, got a tensor of shape {tuple(example.shape)}")
    with torch.no_grad():
        found = net(example)
    if not isinstance(found, torch.Tensor) or found.ndim > 2 or len(found) != len(example) or found.numel() == 0:
        shape = tuple(found.shape) if isinstance(found, torch.Tensor) else type(found).__name__
        raise ThicksetValueError(f"the module must give one number a class for each row; it gives {shape} for {tuple(example.shape)}")
    head = _head(torch, net, found)
    expected = torch.softmax(_logits(torch, found, head), dim=1).double().cpu().numpy()
    named = [str(place) for place in range(expected.shape[1])] if classes is None else [str(one) for one in classes]
    note = "it was asked for"
    if backend != "torch":
        try:
            return _through_onnx(torch, net, example, expected, named, names)
        except ThicksetError as error:
            if backend == "thickset":
                raise
            note = str(error)
    made = TorchModel._around(torch, net, example, head, named, names)
    made.backend_note = note
    return made


def _names(example: Any, names: Sequence[str] | None) -> list[str]:
    """Names of a table's columns: the given ones, or `x0` and so on. Images have none."""
    if example.ndim != 2:
        return []
    width = example.shape[1]
    if names is not None and len(names) != width:
        raise ThicksetValueError(f"`names` must have one name a column, {width}, got {len(names)}")
    return [f"x{place}" for place in range(width)] if names is None else [str(name) for name in names]


def _head(torch: Any, net: Any, found: Any) -> str:
    """What the numbers of a module are: logits or probabilities, of all classes or of the second of two."""
    if found.ndim == 2 and found.shape[1] > 1:
        sums = found.sum(dim=1)
        is_share = bool((found >= 0).all()) and bool(torch.allclose(sums, torch.ones_like(sums), atol=1e-4))
        return "probabilities" if is_share else "logits"
    last = list(net.modules())[-1]
    return "probability" if isinstance(last, torch.nn.Sigmoid) else "logit"


def _logits(torch: Any, found: Any, head: str) -> Any:
    """One logit a class of what a module gives."""
    if head == "logits":
        return found
    tiny = torch.finfo(found.dtype).tiny
    if head == "probabilities":
        return torch.log(found.clamp_min(tiny))
    one = found.reshape(-1)
    if head == "probability":
        one = torch.log(one.clamp_min(tiny)) - torch.log((1 - one).clamp_min(tiny))
    return torch.stack([torch.zeros_like(one), one], dim=1)


def _through_onnx(
    torch: Any, net: Any, example: Any, expected: Any, classes: list[str], names: Sequence[str] | None
) -> Model:
    """The module as our engine computes it, if it does and gives the same probabilities."""
    from thickset._onnx import TOLERANCE, of_answer

    content = _exported(torch, net, example)
    settings: dict[str, Any] = {"classes": classes}
    if example.ndim == 2:
        settings["columns"] = _names(example, names)
    model = of_answer(_native.parse_onnx(content, "the exported module", to_json(settings), None))
    # Distances are in the module's own units, as they are where PyTorch computes.
    model._wants_scale = False
    rows = model._rows(example.double().cpu().numpy().reshape(len(example), -1))
    model.largest_difference = model._native.check_probabilities(rows, expected, TOLERANCE)
    return model


def _exported(torch: Any, net: Any, example: Any) -> bytes:
    """The bytes of PyTorch's ONNX export; any number of rows."""
    import io
    import warnings
    from contextlib import redirect_stderr, redirect_stdout

    problems = []
    for dynamo in (False, True):
        file = io.BytesIO()
        axes = {"input": {0: "rows"}, "output": {0: "rows"}}
        more = {"dynamic_shapes": ({0: torch.export.Dim.AUTO},)} if dynamo else {"dynamic_axes": axes}
        try:
            # Exporters print what they could not export.
            with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                warnings.simplefilter("ignore")
                torch.onnx.export(
                    net, (example,), file, input_names=["input"], output_names=["output"], dynamo=dynamo, **more
                )
            return file.getvalue()
        except Exception as error:
            # Whatever an exporter fails with, PyTorch itself can still compute the module.
            problems.append(f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}")
    raise ThicksetValueError(f"PyTorch cannot export the module to ONNX: {'; '.join(problems)}")


class TorchModel(Model):
    """A model that PyTorch computes. It can be asked everything but to be certified, saved or trained."""

    backend = "torch"

    _network: _TorchNetwork

    @classmethod
    def _around(
        cls, torch: Any, net: Any, example: Any, head: str, classes: list[str], names: Sequence[str] | None
    ) -> TorchModel:
        shape = tuple(example.shape[1:])
        given = _names(example, names)
        computing = _TorchNetwork(torch, net, shape, head)
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

    def __init__(self, torch: Any, net: Any, shape: tuple[int, ...], head: str = "logits") -> None:
        self._torch = torch
        self._module = net
        self._shape = shape
        self._head = head
        self._like = next(net.parameters(), torch.zeros(()))

    def _net(self, x: Any) -> Any:
        return _logits(self._torch, self._module(x), self._head)

    def _tensor(self, array: Any) -> Any:
        # A copy: PyTorch must not write to what the caller holds.
        tensor = self._torch.tensor(np.asarray(array))
        return tensor.to(device=self._like.device, dtype=self._like.dtype)

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

        twin = copy.deepcopy(self._module)
        relu, softplus = self._torch.nn.ReLU, self._torch.nn.Softplus
        replaced = 0
        for module in twin.modules():
            for name, child in list(module.named_children()):
                if isinstance(child, relu):
                    setattr(module, name, softplus(beta=beta))
                    replaced += 1
        return _TorchNetwork(self._torch, twin, self._shape, self._head) if replaced else None
