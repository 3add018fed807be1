"""Reading tables from CSV, TSV and Parquet files; errors name the file and the cause."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gomea_bn.errors import GomeaBnError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_frame"]

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_PARQUET = (".parquet", ".pq")
_COMPRESSED = (".gz", ".bz2", ".xz", ".zip", ".zst")


def read_frame(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Return the table in a CSV, TSV or Parquet file; the ending of the file name decides the format.

    CSV and TSV files hold the column names in the first line, are UTF-8 with decimal points, and may be compressed
    (.gz, .bz2, .xz, .zip, .zst). Empty cells and the usual spellings of pandas (NA, NaN, None, null, n/a) are missing
    values. Integers stay integers next to missing values. The index of a Parquet file is not read as a column.

    Parameters
    ----------
    path : path
        File name that ends in .csv, .tsv, .tab, .parquet or .pq, then perhaps in the ending of a compression.

    Raises
    ------
    GomeaBnError
        If the file is missing, empty, a folder, not text or ragged, has an unknown ending, or has duplicate or blank
        column names.
    """
    text = os.fspath(path)
    if not os.path.exists(text):
        raise GomeaBnError(f"File '{text}' does not exist.")
    if os.path.isdir(text):
        raise GomeaBnError(f"'{text}' is a folder; give a CSV, TSV or Parquet file.")
    endings = [ending.lower() for ending in Path(text).suffixes]
    ending = next((e for e in reversed(endings) if e not in _COMPRESSED), "")
    if ending not in _SEPARATORS and ending not in _PARQUET:
        raise GomeaBnError(
            f"File '{text}' must end in .csv, .tsv, .tab (perhaps then .gz, .bz2, .xz, .zip, .zst), .parquet "
            f"or .pq, got '{ending or 'no ending'}'.",
            ["rename it", "pass a pandas DataFrame"],
        )
    if os.path.getsize(text) == 0:
        raise GomeaBnError(f"File '{text}' is empty.")
    if ending in _PARQUET:
        return _read_parquet(text)
    return _read_separated(text, _SEPARATORS[ending], plain=endings[-1] == ending)


def _read_parquet(path: str) -> pd.DataFrame:
    import pandas as pd

    try:
        frame: pd.DataFrame = pd.read_parquet(path)
    except ImportError as error:
        raise GomeaBnError(f"Reading '{path}' needs pyarrow: pip install 'gomea-bn[parquet]'.") from error
    except (OSError, ValueError) as error:
        raise GomeaBnError(f"File '{path}' is not a readable Parquet file: {_first_line(error)}") from error
    return frame


def _read_separated(path: str, separator: str, *, plain: bool) -> pd.DataFrame:
    import pandas as pd

    if plain:
        with open(path, "rb") as file:
            if b"\0" in file.read(65536):
                raise GomeaBnError(
                    f"File '{path}' is not UTF-8 text: it holds NUL bytes, as binary files and UTF-16 text do."
                )
    options: dict[str, Any] = {"sep": separator, "encoding": "utf-8-sig"}
    if tuple(int(part) for part in pd.__version__.split(".")[:2]) < (3, 1):
        # the default from pandas 3.1 on, where the option is deprecated
        options["float_precision"] = "round_trip"
    try:
        header = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, **options)
        names = [str(cell).strip() for cell in header.iloc[0]]
        _check_header(path, names, separator)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame: pd.DataFrame = pd.read_csv(
                path,
                header=0,
                names=names,
                index_col=False,
                low_memory=False,
                dtype_backend="numpy_nullable",
                **options,
            )
    except UnicodeError as error:
        raise GomeaBnError(f"File '{path}' is not UTF-8 text ({error}); save it as UTF-8.") from error
    except pd.errors.EmptyDataError as error:
        raise GomeaBnError(f"File '{path}' is empty.") from error
    except pd.errors.ParserWarning as error:
        raise GomeaBnError(
            f"File '{path}' is ragged: its rows have more fields than its {len(names)} column names."
        ) from error
    except pd.errors.ParserError as error:
        raise GomeaBnError(
            f"File '{path}' is ragged or has an unclosed quote: {_first_line(error)} Its first line must hold names."
        ) from error
    except GomeaBnError:
        raise
    # each compression library raises its own exceptions
    except Exception as error:
        raise GomeaBnError(f"File '{path}' cannot be read: {_first_line(error)}") from error
    return frame


def _check_header(path: str, names: list[str], separator: str) -> None:
    """Raise if the first line cannot be the column names."""
    if len(names) == 1 and any(mark in names[0] for mark in ";\t,|"):
        raise GomeaBnError(
            f"File '{path}' has only one column, '{names[0]:.60}'; its fields must be separated by {separator!r}.",
            ["save it so", "in Python pass pandas.read_csv(path, sep=..., decimal=...) instead of the path"],
        )
    numbers = [_is_number(name) for name in names]
    if all(numbers) and not all(name.lstrip("+-").isdigit() for name in names):
        raise GomeaBnError(
            f"File '{path}' has no column names: its first line holds numbers. Add a line of names."
        )
    for position, name in enumerate(names):
        if not name:
            raise GomeaBnError(
                f"File '{path}' has no name for column {position} (counted from 0), perhaps a saved row index. Name "
                "it, or save the table without its index."
            )
        if name in names[:position]:
            raise GomeaBnError(
                f"Column name '{name}' occurs more than once in '{path}' (columns {names.index(name)} and "
                f"{position}, counted from 0). Rename one of them."
            )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _first_line(error: BaseException) -> str:
    """Return the first line of the message of another library's error, with a full stop."""
    lines = str(error).strip().splitlines()
    return (lines[0].rstrip(" .") if lines else type(error).__name__) + "."
