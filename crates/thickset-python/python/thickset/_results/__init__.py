"""Results: arrays with names, which make data frames, files, pages and pictures of themselves."""

from __future__ import annotations

from thickset._results.attacks import Attacks
from thickset._results.audit import Audit
from thickset._results.certificates import Certificates
from thickset._results.comparison import Comparison
from thickset._results.explanation import Explanation
from thickset._results.reasons import Reasons
from thickset._results.table import Array, Table

__all__ = ["Array", "Attacks", "Audit", "Certificates", "Comparison", "Explanation", "Reasons", "Table"]
