"""captum's signature: `attribute(inputs, target=None)`, for programs that were written for captum.

>>> explain = Attribution(model, explanation="integrated-gradients")  # doctest: +SKIP
>>> explain.attribute(inputs)                                         # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

import numpy as np

from thickset._errors import ThicksetTypeError
from thickset._model import Model
from thickset._settings import Method


class Attribution:
    """A model's explanation as an attribution method. Tensors come back as tensors, arrays as arrays."""

    def __init__(self, model: Model, explanation: Method | None = None, reduce: str = "signed") -> None:
        self.model = model
        self.explanation = explanation
        self.reduce = reduce

    def attribute(self, inputs: Any, target: Any = None, **_: Any) -> Any:
        """Importances of the encoded features, in the shape of the inputs.

        `target` is the class to explain, a number for all rows or one a row; the predicted one if left out. Other arguments of captum's
        methods, such as `baselines`, belong to the explanation's settings here and are refused.
        """
        if _:
            raise ThicksetTypeError(f"{', '.join(_)}: give settings of the explanation instead, like {{'kind': 'integrated-gradients', 'baseline': 0.0}}")
        is_tensor = hasattr(inputs, "detach")
        array = inputs.detach().cpu().numpy() if is_tensor else np.asarray(inputs)
        explained = self.model.explain(
            array, encoded=True, explanation=self.explanation, reduce=self.reduce, per="feature", target=target
        )
        values = explained.values.reshape(array.shape).astype(array.dtype if array.dtype.kind == "f" else np.float32)
        return inputs.new_tensor(values) if is_tensor else values
