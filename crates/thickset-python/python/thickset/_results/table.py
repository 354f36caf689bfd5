"""What every result with rows can do."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from thickset._errors import ThicksetImportError, ThicksetValueError

Array = np.ndarray[Any, Any]


class Table:
    """What every result with rows can do. `_columns` gives its columns in order."""

    def _columns(self) -> dict[str, Any]:
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """A pandas data frame, one line a row."""
        return import_for("pandas", "to_pandas").DataFrame(self._columns())

    def to_polars(self) -> Any:
        """A polars data frame, one line a row."""
        return import_for("polars", "to_polars").DataFrame(self._columns())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the table: `.csv`, `.jsonl`, `.npz`, or `.parquet` (with pandas)."""
        path = Path(path)
        columns = self._columns()
        if path.suffix == ".parquet":
            self.to_pandas().to_parquet(path)
        elif path.suffix == ".npz":
            arrays: Any = {name: np.asarray(one) for name, one in columns.items()}
            np.savez_compressed(path, **arrays)
        elif path.suffix == ".jsonl":
            lines = zip(*(np.asarray(one).tolist() for one in columns.values()), strict=True)
            text = "".join(json.dumps(dict(zip(columns, line, strict=True))) + "\n" for line in lines)
            path.write_text(text, encoding="utf-8")
        elif path.suffix == ".csv":
            import csv

            with path.open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(columns)
                writer.writerows(zip(*(np.asarray(one).tolist() for one in columns.values()), strict=True))
        else:
            raise ThicksetValueError(
                f"expected a name that ends in .csv, .jsonl, .npz or .parquet, got `{path}`"
            )


def import_for(name: str, what: str) -> Any:
    """A package that is needed for one call only."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ThicksetImportError(f"`{what}` needs the package `{name}`: pip install {name}") from error
