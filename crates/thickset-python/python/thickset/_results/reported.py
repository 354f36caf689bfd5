"""A result with a JSON file and a page of its own."""

from __future__ import annotations

import os
from pathlib import Path

from thickset._results.table import Table


class Reported(Table):
    """What audits and comparisons share: how they are saved."""

    _file = "audit.json"

    def to_bytes(self) -> bytes:
        """The bytes of its JSON file."""
        raise NotImplementedError

    def to_html(self) -> str:
        """Its page."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes its JSON file and `report.html` into a folder, or one file: `.json`, `.html`, or the rows as `Table.save` does."""
        path = Path(path)
        if path.suffix == ".json":
            path.write_bytes(self.to_bytes())
        elif path.suffix == ".html":
            path.write_text(self.to_html(), encoding="utf-8")
        elif path.suffix:
            super().save(path)
        else:
            path.mkdir(parents=True, exist_ok=True)
            (path / self._file).write_bytes(self.to_bytes())
            (path / "report.html").write_text(self.to_html(), encoding="utf-8")
