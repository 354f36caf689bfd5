"""The documents are true: examples run, notebooks run, the reference is current."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import pathlib
import runpy

import pytest

import thickset

DOCS = pathlib.Path(__file__).parents[3] / "docs" / "python"

#: Every module whose docstrings have examples, and what those need.
MODULES = {
    "": (),
    "_estimator": (),
    "_foreign": ("torch",),
    "_functions": (),
    "_model": (),
    "_onnx": ("skl2onnx",),
    "_train": (),
}


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_docstrings_run(name, tmp_path, monkeypatch):
    for needed in MODULES[name]:
        pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(f"thickset.{name}" if name else "thickset")
    failed, tried = doctest.testmod(module)
    assert tried > 0
    assert failed == 0


@pytest.mark.parametrize(
    ("notebook", "needs"), [("credit", ("pandas",)), ("sklearn_pipeline", ("pandas", "skl2onnx")), ("boosted_trees", ("xgboost", "shap")), ("torch_cnn", ("torch",))]
)
def test_notebooks_run(notebook, needs):
    for name in needs:
        pytest.importorskip(name)
    runpy.run_path(str(DOCS / "notebooks" / f"{notebook}.py"))


def test_the_pages_are_what_docstrings_and_notebooks_say():
    spec = importlib.util.spec_from_file_location("make_reference", DOCS / "make_reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for page, write in module.PAGES.items():
        assert (DOCS / page).read_text(encoding="utf-8") == write(), f"{page}: run docs/python/make_reference.py"
