"""Exceptions. Each is a `ThicksetError` and the builtin that fits, so both can be caught."""

from __future__ import annotations

import os
import sys
import warnings


class ThicksetError(Exception):
    """Anything that thickset refuses or fails with. The message says what came and what was expected."""


class ThicksetValueError(ThicksetError, ValueError):
    """A value, setting or file content that cannot be used."""


class ThicksetTypeError(ThicksetError, TypeError):
    """An object of a kind that cannot be used."""


class ThicksetOSError(ThicksetError, OSError):
    """A file that cannot be read or written."""


class ThicksetFileNotFoundError(ThicksetError, FileNotFoundError):
    """A file or dataset that is not there."""


class ThicksetRuntimeError(ThicksetError, RuntimeError):
    """A training that diverged, or a failure of ours."""


class ThicksetImportError(ThicksetError, ImportError):
    """A package that a function needs and that is not installed."""


class GateFailed(ThicksetError, AssertionError):
    """A figure of an audit is not what was required."""


class ThicksetWarning(UserWarning):
    """What a person should know of the rows, such as values that the model has never seen."""


def warn(text: str) -> None:
    """Warns with the place in the caller's program, however deep in this package the reason was found."""
    inside = os.path.dirname(__file__) + os.sep
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(inside):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, ThicksetWarning, stacklevel=level)
