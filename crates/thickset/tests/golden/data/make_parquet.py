"""The same small table as loans.csv and loans.parquet; deterministic. Made with pandas 3.1.1, pyarrow 26.0.1.

Usage: python make_parquet.py
"""

from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

rows = 200
columns = {
    "income": pa.array([None if i % 17 == 0 else 900.5 + 37.25 * (i * 7 % 101) for i in range(rows)], pa.float64()),
    "age": pa.array([18 + i * 13 % 60 for i in range(rows)], pa.int64()),
    "children": pa.array([None if i % 29 == 0 else i % 4 for i in range(rows)], pa.int32()),
    "owner": pa.array([i % 3 == 0 for i in range(rows)], pa.bool_()),
    "city": pa.array([None if i % 23 == 0 else ["Graz", "Linz", "Wels", "Steyr"][i * 5 % 4] for i in range(rows)], pa.string()),
    "rate": pa.array([Decimal(i % 50) / 8 for i in range(rows)], pa.decimal128(9, 3)),
    "default": pa.array(["yes" if i * 31 % 10 < 3 else "no" for i in range(rows)], pa.string()),
}
table = pa.table(columns)
here = Path(__file__).parent
pq.write_table(table, here / "loans.parquet", compression="snappy", row_group_size=64, store_decimal_as_integer=True)
frame = pd.DataFrame({name: column.to_pylist() for name, column in columns.items()}, dtype=object)
frame["owner"] = frame["owner"].map({True: "true", False: "false"})
frame.to_csv(here / "loans.csv", index=False)
