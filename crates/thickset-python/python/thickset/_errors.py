"""Exceptions. Each is a `ThicksetError` and the builtin that fits, so both can be caught."""

from __future__ import annotations


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
