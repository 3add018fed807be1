"""Tables of continuous and discrete columns, checked and copied out of a DataFrame or a file."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError

if TYPE_CHECKING:
    import pandas as pd

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gomea_bn.data.columns import Level, column_positions, is_missing, level_values, numeric_values, storage
from gomea_bn.data.table_files import read_frame
from gomea_bn.errors import nearest, row_list

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FEW_VALUES", "Column", "Table", "read_table"]

FEW_VALUES = 10
"""An integer column with at most this many distinct values is discrete."""

_RULE = (
    "bool, categorical and text columns, and integer columns with at most "
    f"{FEW_VALUES} distinct values, are discrete; all others are continuous; kinds={{'name': 'continuous' or "
    "'discrete'} overrides it"
)
_LARGEST_EXACT = 2**53


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One variable of a table.

    Attributes
    ----------
    name : str
        The column's name.
    values : ndarray of shape (n_rows,), read-only
        Continuous: float64 in original units. Discrete: int32 codes into `levels`.
    levels : tuple or None
        The discrete values in code order; None for a continuous column.
    reason : str
        The rule that decided the kind, in words.
    """

    name: str
    values: NDArray[Any]
    levels: tuple[Level, ...] | None
    reason: str

    @property
    def is_continuous(self) -> bool:
        """True for a continuous column."""
        return self.levels is None


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns of equal length without missing values.

    Attributes
    ----------
    columns : tuple of Column
        In the order of the source.
    n_rows : int
        Rows that are kept.
    dropped_rows : tuple of int
        Positions, counted from 0, of the source's rows that `missing="drop"` removed.
    """

    columns: tuple[Column, ...]
    n_rows: int
    dropped_rows: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names in order."""
        return tuple(column.name for column in self.columns)

    def to_frame(self) -> pd.DataFrame:
        """Return the rows as a frame; discrete columns are categoricals with all their levels."""
        import pandas as pd

        return pd.DataFrame(
            {
                column.name: column.values
                if column.levels is None
                else pd.Categorical.from_codes(column.values, pd.Index(list(column.levels), dtype=object))
                for column in self.columns
            }
        )

    def describe(self) -> str:
        """Return the printed account: size, dropped rows, the rule, and kind and reason of every column."""
        continuous = sum(column.is_continuous for column in self.columns)
        lines = [
            f"{self.n_rows} rows, {len(self.columns)} columns: {continuous} continuous, "
            f"{len(self.columns) - continuous} discrete.",
            f"Rule: {_RULE}.",
        ]
        if self.dropped_rows:
            lines.append(
                f"Dropped {len(self.dropped_rows)} of {self.n_rows + len(self.dropped_rows)} rows with "
                f"missing or infinite values: {row_list(self.dropped_rows)}."
            )
        width = max(len(column.name) for column in self.columns)
        for column in self.columns:
            kind = "continuous" if column.is_continuous else "discrete"
            lines.append(f"  {column.name:<{width}}  {kind:<10}  {column.reason}")
        return "\n".join(lines)


def read_table(
    source: pd.DataFrame | str | os.PathLike[str],
    *,
    kinds: Mapping[str, str] | None = None,
    missing: str = "error",
    max_levels: int = 50,
    min_rows: int = 10,
) -> Table:
    """Return a checked copy of a DataFrame or of a CSV, TSV or Parquet file, with each column's kind.

    Bool, categorical and text columns, and integer columns with at most 10 distinct values, are discrete; all
    others are continuous. Levels of a pandas categorical are its categories in their order, seen or not;
    other levels are the distinct values, sorted. Names that are not text are taken as `str(name)`; the row
    index is ignored.

    Parameters
    ----------
    source : DataFrame or path
        The rows; a frame is never changed. Files: see `gomea_bn.data.table_files.read_frame`.
    kinds : mapping of str to {"continuous", "discrete"}, optional
        Overrides the rule for the columns it names.
    missing : {"error", "drop"}
        What to do with rows that have a missing or infinite value: refuse the table, or drop and record them.
    max_levels : int
        Most levels that a discrete column may have.
    min_rows : int
        Fewest rows, after dropping.

    Raises
    ------
    GomeaBnError
        Naming columns and rows: missing or infinite values, constant columns, doubled or unknown names, too
        many levels, too few rows, columns of dates, nested objects or mixed types, unreadable files, unknown
        options.
    """
    import pandas as pd

    if isinstance(source, (str, os.PathLike)):
        frame = read_frame(source)
    elif isinstance(source, pd.DataFrame):
        frame = source
    else:
        raise GomeaBnError(
            f"A table must be a pandas DataFrame or the path of a CSV, TSV or Parquet file, got "
            f"{type(source).__name__}; for an array use pandas.DataFrame(array, columns=[...])."
        )
    _check_options(missing, max_levels, min_rows)
    names = list(column_positions(frame))
    if not names:
        raise GomeaBnError("The table has no columns.")
    chosen = _check_kinds(kinds, names)
    _check_row_count(len(frame), min_rows, 0)
    series = [frame.iloc[:, position] for position in range(len(names))]
    stored = [storage(one, name) for one, name in zip(series, names)]
    dropped = _rows_to_drop(series, stored, names, missing)
    if dropped.size:
        _check_row_count(len(frame) - dropped.size, min_rows, dropped.size)
        kept = np.setdiff1d(np.arange(len(frame)), dropped)
        pairs = [_without_gaps(one, one.iloc[kept], how) for one, how in zip(series, stored)]
        series, stored = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    columns = tuple(
        _column(one, name, how, chosen.get(name), max_levels) for one, name, how in zip(series, names, stored)
    )
    _check_not_constant(columns)
    return Table(columns, len(frame) - dropped.size, tuple(dropped.tolist()))


def _without_gaps(whole: pd.Series[Any], kept: pd.Series[Any], stored: str) -> tuple[pd.Series[Any], str]:
    """Return the kept rows of a column and how they are stored.

    pandas keeps integers as floats once one is missing; without the missing ones they are integers again.
    """
    if (
        stored == "float"
        and whole.isna().any()
        and bool((kept % 1 == 0).all() and (kept.abs() < _LARGEST_EXACT).all())
    ):
        return kept.astype("int64"), "integer"
    return kept, stored


def _check_options(missing: str, max_levels: int, min_rows: int) -> None:
    if missing not in ("error", "drop"):
        raise GomeaBnError(f"missing must be 'error' or 'drop', got {missing!r}.")
    for option, value, least in (("max_levels", max_levels, 2), ("min_rows", min_rows, 1)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise GomeaBnError(f"{option} must be an integer of at least {least}, got {value!r}.")


def _check_kinds(kinds: Mapping[str, str] | None, names: list[str]) -> dict[str, str]:
    """Return the overrides by name as text."""
    if kinds is None:
        return {}
    if not isinstance(kinds, Mapping):
        raise GomeaBnError(f"kinds must map column names to kinds, got {type(kinds).__name__}.")
    chosen = {str(name): kind for name, kind in kinds.items()}
    for name, kind in chosen.items():
        if name not in names:
            raise GomeaBnError(f"kinds names '{name}', but there is no such column.{nearest(name, names)}")
        if kind not in ("continuous", "discrete"):
            raise GomeaBnError(f"kinds['{name}'] must be 'continuous' or 'discrete', got {kind!r}.")
    return chosen


def _check_row_count(n_rows: int, min_rows: int, n_dropped: int) -> None:
    if n_rows < min_rows:
        after = f" after dropping {n_dropped} with missing or infinite values" if n_dropped else ""
        raise GomeaBnError(f"The table must have at least {min_rows} rows, got {n_rows}{after}.")


def _rows_to_drop(
    series: list[pd.Series[Any]], stored: list[str], names: list[str], missing: str
) -> NDArray[np.int64]:
    """Return the rows that have a missing or infinite value anywhere, or refuse them."""
    n_rows = len(series[0])
    anywhere = np.zeros(n_rows, dtype=bool)
    told: list[str] = []
    for one, how, name in zip(series, stored, names):
        here = is_missing(one, how)
        if here.all():
            raise GomeaBnError(
                f"Column '{name}' has no values: all {n_rows} rows are missing or infinite; drop it."
            )
        if here.any():
            rows = np.flatnonzero(here)
            told.append(
                f"Column '{name}' has {rows.size} missing or infinite value{'s' if rows.size > 1 else ''} "
                f"in {row_list(rows)}"
            )
        anywhere |= here
    if told and missing == "error":
        more = f"\n… and {len(told) - 10} columns more" if len(told) > 10 else ""
        raise GomeaBnError("\n".join(told[:10]) + more + '; fill or drop them, or pass missing="drop".')
    return np.flatnonzero(anywhere)


def _column(series: pd.Series[Any], name: str, stored: str, kind: str | None, max_levels: int) -> Column:
    """Return one column with its kind decided."""
    found, why = _inferred_kind(series, stored)
    if kind is not None:
        why = f"set by kinds (the rule says {found}: {why})" if kind != found else f"set by kinds; {why}"
    if (kind or found) == "continuous":
        values: NDArray[Any] = numeric_values(series, name)
        _check_numbers(values, series, name, stored)
        levels = None
    else:
        values, levels = level_values(series, name)
        _check_levels(series, name, levels, max_levels, why)
        why += f"; {len(levels)} levels"
    values.flags.writeable = False
    return Column(name, values, levels, why)


def _inferred_kind(series: pd.Series[Any], stored: str) -> tuple[str, str]:
    """Return the kind by the rule, and the rule in words."""
    if stored == "float":
        return "continuous", "real numbers"
    if stored == "integer":
        distinct = series.nunique()
        if distinct <= FEW_VALUES:
            return "discrete", f"integers, {distinct} distinct (at most {FEW_VALUES})"
        return "continuous", f"integers, {distinct} distinct (more than {FEW_VALUES})"
    if stored == "text":
        return "discrete", "text" + _numbers_in_text(series)
    return "discrete", {"category": "pandas categorical", "bool": "bools"}[stored]


def _numbers_in_text(series: pd.Series[Any]) -> str:
    """Return a remark for text of which at least half reads as numbers, with the first that does not."""
    import pandas as pd

    numbers = np.array(pd.to_numeric(series.astype(object), errors="coerce"), dtype=np.float64)
    other = np.flatnonzero(np.isnan(numbers))
    if 2 * other.size > len(series):
        return ""
    if other.size == 0:
        return ", though every value reads as a number"
    return (
        f", though {len(series) - other.size} of {len(series)} values read as numbers; the first that does "
        f"not is {series.iloc[int(other[0])]!r:.40}"
    )


def _check_numbers(values: NDArray[np.float64], series: pd.Series[Any], name: str, stored: str) -> None:
    """Refuse numbers that float64 cannot tell apart or whose range it cannot hold."""
    with np.errstate(over="ignore"):
        spread = values.max() - values.min()
    if not np.isfinite(spread):
        raise GomeaBnError(
            f"Column '{name}' ranges from {values.min():g} to {values.max():g}, too wide for float64; "
            "rescale it."
        )
    if (
        stored == "integer"
        and np.abs(values).max() > _LARGEST_EXACT
        and np.unique(values).size < series.nunique()
    ):
        raise GomeaBnError(
            f"Column '{name}' has integers beyond 2**53 that float64 cannot tell apart; subtract an offset, "
            "or drop it if it is an identifier."
        )


def _check_levels(
    series: pd.Series[Any], name: str, levels: tuple[Level, ...], max_levels: int, why: str
) -> None:
    if len(levels) <= max_levels:
        return
    shown = ", ".join(repr(level) for level in levels[:3])
    numeric = isinstance(levels[0], (int, float)) or "every value reads as a number" in why
    advice = f", or pass kinds={{'{name}': 'continuous'}}" if numeric else ""
    raise GomeaBnError(
        f"Column '{name}' must have at most {max_levels} levels, got {len(levels)} in its {len(series)} rows "
        f"({shown}, …). It counts as discrete because: {why}. Merge or drop levels, raise max_levels{advice}."
    )


def _check_not_constant(columns: tuple[Column, ...]) -> None:
    told = []
    for column in columns:
        first = column.values[0].item()
        if (column.values == first).all():
            value = first if column.levels is None else column.levels[first]
            told.append(f"Column '{column.name}' is constant: {value!r} in all {len(column.values)} rows")
    if told:
        raise GomeaBnError("\n".join(told) + "; drop it, since it carries no information.")


def table_digest(table: Table) -> str:
    """Return the SHA-256 of names, levels and values: what a result was learned from."""
    digest = hashlib.sha256()
    for column in table.columns:
        digest.update(repr((column.name, column.levels)).encode())
        digest.update(np.ascontiguousarray(column.values).tobytes())
    return digest.hexdigest()
