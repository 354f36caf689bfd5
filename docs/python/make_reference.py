"""Writes docs/python/reference.md from the docstrings and docs/python/notebooks.md from the notebooks, with the package installed:
`python docs/python/make_reference.py`."""

from __future__ import annotations

import inspect
import pathlib

import thickset

HERE = pathlib.Path(__file__).parent
NOTEBOOKS = ("credit", "sklearn_pipeline", "torch_cnn", "boosted_trees")


def described(name: str, thing: object, level: int) -> str:
    try:
        signature = str(inspect.signature(thing))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        signature = ""
    text = inspect.cleandoc(inspect.getdoc(thing) or "")
    return f"{'#' * level} `{name}`\n\n```python\n{name}{signature}\n```\n\n```text\n{text}\n```\n"


def members(thing: type) -> list[str]:
    """Methods of its own, and those it has from other classes of the package."""
    classes = [one for one in thing.__mro__ if one.__module__.startswith("thickset")]
    methods = ((name, method) for one in classes for name, method in vars(one).items())
    return list(dict.fromkeys(name for name, method in methods if not name.startswith("_") and callable(method) and inspect.getdoc(method)))


def reference() -> str:
    parts = ["# Reference\n\nMade from the docstrings by `docs/python/make_reference.py`.\n"]
    for name in sorted(thickset._HOME):
        thing = getattr(thickset, name)
        parts.append(described(f"thickset.{name}", thing, 2))
        if inspect.isclass(thing):
            parts.extend(described(f"{name}.{one}", getattr(thing, one), 3) for one in members(thing))
    return "\n".join(parts)


def notebooks() -> str:
    """The notebooks as one page: cells of text as they are, a level below, and cells of code."""
    parts = ["# Notebooks\n\nScripts in `docs/python/notebooks/` with cells (`# %%`), which editors and Jupytext open as notebooks. The tests run them.\n"]
    for name in NOTEBOOKS:
        text = (HERE / "notebooks" / f"{name}.py").read_text(encoding="utf-8")
        for cell in text.split("# %%")[1:]:
            head, _, body = cell.partition("\n")
            if head.strip() == "[markdown]":
                lines = [line.removeprefix("#").removeprefix(" ") for line in body.strip().splitlines()]
                parts.append("\n".join(f"#{line}" if line.startswith("# ") else line for line in lines) + "\n")
            else:
                parts.append(f"```python\n{body.strip()}\n```\n")
    return "\n".join(parts)


PAGES = {"reference.md": reference, "notebooks.md": notebooks}

if __name__ == "__main__":
    for page, write in PAGES.items():
        (HERE / page).write_text(write(), encoding="utf-8")
