"""Settings as people write them, made the JSON that the native half reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

#: A method's id, or a mapping with its id under `kind` and its settings.
Method = str | Mapping[str, Any]


def method(given: Method | None) -> dict[str, Any] | None:
    """`"grad"` and `{"kind": "grad", "of": "logit"}` are both methods."""
    if given is None:
        return None
    if isinstance(given, str):
        return {"kind": given}
    return dict(given)


def options(**given: Any) -> str:
    """JSON of the settings that were given; those that are None are left to the model and its data."""
    for name in ("explanation", "method"):
        if name in given:
            given[name] = method(given[name])
    if isinstance(given.get("require"), str):
        given["require"] = [given["require"]]
    return to_json({name: value for name, value in given.items() if value is not None})


def to_json(value: Any) -> str:
    """JSON of plain data; numpy's numbers are numbers and tuples are lists."""

    def plain(one: Any) -> Any:
        if hasattr(one, "item") and getattr(one, "ndim", 0) == 0:
            return one.item()
        if hasattr(one, "tolist"):
            return one.tolist()
        raise TypeError(f"a setting must be plain data, got {type(one).__name__}")

    return json.dumps(value, default=plain)
