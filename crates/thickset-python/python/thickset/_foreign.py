"""Models that another library computes: PyTorch answers logits, gradients and Hessian products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thickset import _native
from thickset._errors import ThicksetError, ThicksetImportError, ThicksetValueError
from thickset._model import Model


def from_torch(
    net: Any,
    example: Any,
    *,
    classes: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
) -> Model:
    """A PyTorch module that gives logits as a model.

    PyTorch itself answers logits, gradients and Hessian products, and `model.backend` is `torch`. Attacks follow a smooth twin, in
    which every `nn.ReLU` is a softplus, where there is one to replace.

    Parameters
    ----------
    net
        The module, in evaluation mode or not; it is used in evaluation mode.
    example
        Rows that it takes, a tensor whose first dimension is rows; all that is needed are shapes.
    classes, names
        Names of the classes and of the features.
    """
    try:
        import torch
    except ImportError as error:
        raise ThicksetImportError("`from_torch` needs the package `torch`: pip install torch") from error
    net = net.eval()
    example = torch.as_tensor(example, dtype=torch.float32)
    with torch.no_grad():
        logits = net(example)
    if logits.ndim != 2 or logits.shape[1] < 2:
        raise ThicksetValueError(
            f"the module must give one logit a class, two or more; it gives {tuple(logits.shape)} for {tuple(example.shape)}"
        )
    named = [str(place) for place in range(logits.shape[1])] if classes is None else list(classes)
    return TorchModel._around(torch, net, example, named, names)


class TorchModel(Model):
    """A model that PyTorch computes. It can be asked everything but to be certified, saved or trained."""

    backend = "torch"

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
