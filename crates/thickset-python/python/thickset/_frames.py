"""Data frames and arrays, made the columns that the native half reads.

pandas, polars and pyarrow are recognised without being imported. Numbers become float64 with NaN for a missing value; truth values,
categories and texts become codes into a list of texts. Each is a copy: the library keeps its own form. Arrays that are single
precision, row by row in memory and encoded already are passed on without one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from thickset import _native
from thickset._errors import ThicksetTypeError, ThicksetValueError

#: `(name, numbers)`, or `(name, codes, texts)` with a negative code for a missing value.
Column = tuple[str, "np.ndarray[Any, Any]"] | tuple[str, "np.ndarray[Any, Any]", list[str]]

#: Texts that stand for a missing value, as in files.
MISSING = frozenset({"", *_native.missing_texts})


def is_frame(data: Any) -> bool:
    """Whether it has named columns: a pandas or polars data frame, or a pyarrow table."""
    return _kind(data) is not None


def _kind(data: Any) -> str | None:
    for name, classes in (
        ("pandas", ("DataFrame",)),
        ("polars", ("DataFrame", "LazyFrame")),
        ("pyarrow", ("Table", "RecordBatch")),
    ):
        module = sys.modules.get(name)
        if module is not None and any(
            isinstance(data, getattr(module, one)) for one in classes if hasattr(module, one)
        ):
            return name
    return None


def columns_of_frame(
    data: Any, only: Iterable[str] | None = None, *, flags_are_numbers: bool = False
) -> list[Column]:
    """The columns of a data frame, or only those of these names that it has. Truth values are texts, or 0 and 1."""
    kind = _kind(data)
    if kind == "polars" and type(data).__name__ == "LazyFrame":
        data = data.collect()
    # A frame made of an array has numbers as names.
    names = [str(name) for name in (data.column_names if kind == "pyarrow" else data.columns)]
    wanted = None if only is None else set(only)
    columns: list[Column] = []
    for place, name in enumerate(names):
        if wanted is not None and name not in wanted:
            continue
        if kind == "pandas":
            columns.append(_of_pandas(name, data.iloc[:, place]))
        elif kind == "polars":
            columns.append(_of_polars(name, data.to_series(place)))
        else:
            columns.append(_of_values(name, data.column(place).to_pylist()))
    return [_numbers_of_flags(column) for column in columns] if flags_are_numbers else columns


def _numbers_of_flags(column: Column) -> Column:
    """A column of truth values as 0, 1 and NaN; any other as it is."""
    if len(column) == 2 or not column[2] or not set(column[2]) <= {"True", "False"}:
        return column
    name, codes, texts = column
    values = np.array([float(text == "True") for text in texts])
    return name, np.where(codes < 0, np.nan, values[codes])


def _of_pandas(name: str, series: Any) -> Column:
    import pandas as pd

    types = pd.api.types
    if types.is_bool_dtype(series.dtype):
        return _of_values(name, series.astype(object).where(series.notna(), None).tolist())
    if isinstance(series.dtype, pd.CategoricalDtype):
        texts = [_text(level) for level in series.cat.categories]
        return _with_missing(name, series.cat.codes.to_numpy(dtype=np.int64), texts)
    if types.is_numeric_dtype(series.dtype):
        if types.is_complex_dtype(series.dtype):
            raise ThicksetTypeError(f"column `{name}` holds complex numbers, expected real ones")
        return name, series.to_numpy(dtype=np.float64, na_value=np.nan)
    if types.is_datetime64_any_dtype(series.dtype) or types.is_timedelta64_dtype(series.dtype):
        raise _dates(name)
    codes, levels = pd.factorize(series, use_na_sentinel=True)
    return _with_missing(name, codes.astype(np.int64), [_text(level) for level in levels])


def _of_polars(name: str, series: Any) -> Column:
    import polars as pl

    if series.dtype.is_numeric():
        numbers = series.cast(pl.Float64).fill_null(float("nan"))
        return name, np.asarray(numbers.to_numpy(), dtype=np.float64)
    if series.dtype.is_temporal():
        raise _dates(name)
    return _of_values(name, series.to_list())


def _of_values(name: str, values: Sequence[Any]) -> Column:
    """A column of Python objects: numbers if all of them are, else texts."""
    known = [value for value in values if not _is_missing(value)]
    if known and all(_is_number(value) for value in known):
        numbers = [np.nan if _is_missing(value) else float(value) for value in values]
        return name, np.array(numbers, dtype=np.float64)
    if any(hasattr(value, "isoformat") for value in known):
        raise _dates(name)
    places: dict[str, int] = {}
    codes = [
        -1 if _is_missing(value) else places.setdefault(_text(value), len(places))
        for value in values
    ]
    return _with_missing(name, np.array(codes, dtype=np.int64), list(places))


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.bool_))


def _dates(name: str) -> ThicksetTypeError:
    return ThicksetTypeError(
        f"column `{name}` holds dates or times, expected numbers or categories; turn it into numbers first, such as days since a day"
    )


def _text(value: Any) -> str:
    """As a file would spell it."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _with_missing(name: str, codes: np.ndarray[Any, Any], texts: list[str]) -> Column:
    """Codes of texts that stand for a missing value become those of none."""
    gone = [place for place, text in enumerate(texts) if text.strip() in MISSING]
    if gone:
        codes = np.where(np.isin(codes, gone), -1, codes)
    return name, codes, texts


def columns_of_array(data: np.ndarray[Any, Any], names: Sequence[str]) -> list[Column]:
    """The columns of an array, under these names; an array of objects may hold texts."""
    if data.ndim != 2 or data.shape[1] != len(names):
        raise ThicksetValueError(
            f"expected an array of rows with {len(names)} columns, got one of shape {data.shape}"
        )
    if data.dtype.kind in "fiub":
        return [(name, data[:, place].astype(np.float64)) for place, name in enumerate(names)]
    if data.dtype.kind in "OUS":
        return [_of_values(name, data[:, place].tolist()) for place, name in enumerate(names)]
    raise ThicksetTypeError(f"expected an array of numbers or texts, got one of {data.dtype}")


def single_precision(data: Any) -> np.ndarray[Any, Any]:
    """Rows of numbers as the network reads them: single precision, row by row. No copy where they are that already."""
    array = np.asarray(data)
    if array.dtype.kind not in "fiub":
        raise ThicksetTypeError(f"expected rows of real numbers, got an array of {array.dtype}")
    if array.ndim < 2:
        raise ThicksetValueError(
            f"expected rows of numbers, got an array of shape {array.shape}; for one row give `x[None, :]`"
        )
    array = array.reshape(array.shape[0], -1)
    return np.ascontiguousarray(array, dtype=np.float32)
