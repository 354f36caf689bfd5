"""Writes docs/python/reference.md from the docstrings: `python docs/python/make_reference.py` with the package installed."""

from __future__ import annotations

import inspect
import pathlib

import thickset

PAGE = pathlib.Path(__file__).with_name("reference.md")


def described(name: str, thing: object, level: int) -> str:
    try:
        signature = str(inspect.signature(thing))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        signature = ""
    text = inspect.cleandoc(inspect.getdoc(thing) or "")
    return f"{'#' * level} `{name}`\n\n```python\n{name}{signature}\n```\n\n```text\n{text}\n```\n"


def members(thing: type) -> list[str]:
    return [name for name, one in vars(thing).items() if not name.startswith("_") and callable(one) and inspect.getdoc(one)]


def page() -> str:
    parts = ["# Reference\n\nMade from the docstrings by `docs/python/make_reference.py`.\n"]
    for name in sorted(thickset._HOME):
        thing = getattr(thickset, name)
        parts.append(described(f"thickset.{name}", thing, 2))
        if inspect.isclass(thing):
            parts.extend(described(f"{name}.{one}", getattr(thing, one), 3) for one in members(thing))
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
