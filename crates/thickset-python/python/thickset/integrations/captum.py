"""captum's signature: `attribute(inputs, target=None)`, for programs that were written for captum.

>>> explain = Attribution(model, explanation="integrated-gradients")  # doctest: +SKIP
>>> explain.attribute(inputs)                                         # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

import numpy as np

from thickset._errors import ThicksetValueError
from thickset._model import Model
from thickset._settings import Method


class Attribution:
    """A model's explanation as an attribution method. Tensors come back as tensors, arrays as arrays."""

    def __init__(self, model: Model, explanation: Method | None = None, reduce: str = "signed") -> None:
        self.model = model
        self.explanation = explanation
        self.reduce = reduce

    def attribute(self, inputs: Any, target: Any = None) -> Any:
        """Importances of the encoded features, in the shape of the inputs, for the predicted class.

        `target` may be given where it is the predicted class, as a number for all rows or one a row: explanations of other classes are
        not what is trained, attacked and certified, and are refused.
        """
        is_tensor = hasattr(inputs, "detach")
        array = inputs.detach().cpu().numpy() if is_tensor else np.asarray(inputs)
        explained = self.model.explain(array, encoded=True, explanation=self.explanation, reduce=self.reduce)
        if target is not None:
            wanted = target.detach().cpu().numpy() if hasattr(target, "detach") else np.asarray(target)
            if (np.broadcast_to(wanted, explained.classes.shape) != explained.classes).any():
                raise ThicksetValueError("`target` must be the predicted class of each row")
        values = explained.values.reshape(array.shape).astype(array.dtype if array.dtype.kind == "f" else np.float32)
        return inputs.new_tensor(values) if is_tensor else values
