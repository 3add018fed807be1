"""Tables of continuous and discrete columns: read, checked and copied from a DataFrame or a file."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import Level, column_positions, is_missing, level_values, numeric_values, storage
from gomea_bn.data.table_files import read_frame
from gomea_bn.errors import GomeaBnError, Setting, check_choice, check_integer, nearest, row_list
from gomea_bn.texts import counted, listed, shown_name

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FEW_VALUES", "Column", "Table", "read_table", "table_digest"]

FEW_VALUES = 10
"""An integer column with at most this many distinct values is discrete."""

_RULE = (
    "bool, categorical and text columns, and integer columns with at most "
    f"{FEW_VALUES} distinct values, are discrete; all others are continuous"
)
# integers up to this size are distinct as float64
_LARGEST_EXACT = 2**53


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One variable of a table.

    Attributes
    ----------
    name : str
        Name of the column.
    values : ndarray of shape (n_rows,), read-only
        Continuous columns: float64 in original units. Discrete columns: int32 codes into `levels`.
    levels : tuple or None
        Discrete values in code order; None for a continuous column.
    reason : str
        Rule that decided the kind, in words.
    ordered : bool
        Whether the levels come from an ordered pandas categorical.
    """

    name: str
    values: NDArray[Any]
    levels: tuple[Level, ...] | None
    reason: str
    ordered: bool = False

    @property
    def is_continuous(self) -> bool:
        """Whether the column is continuous."""
        return self.levels is None

    @property
    def is_constant(self) -> bool:
        """Whether all rows have the same value; such a column gets no edges."""
        return bool((self.values == self.values[0]).all())


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Table:
    """Columns of equal length without missing values.

    Attributes
    ----------
    columns : tuple of Column
        Columns in the order of the source.
    n_rows : int
        Number of rows.
    dropped_rows : tuple of int
        Positions, counted from 0, of the rows of the source that `missing="drop"` removed.
    """

    columns: tuple[Column, ...]
    n_rows: int
    dropped_rows: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def n_varying(self) -> int:
        """Number of columns that are not constant."""
        return sum(not column.is_constant for column in self.columns)

    def take(self, rows: NDArray[np.int64]) -> Table:
        """Return the table of some rows, int64 (n,), by position; columns keep their kinds and all their levels."""
        columns = []
        for column in self.columns:
            values = column.values[rows]
            values.flags.writeable = False
            columns.append(replace(column, values=values))
        return Table(tuple(columns), len(rows), ())

    def to_frame(self) -> pd.DataFrame:
        """Return the rows as a frame; discrete columns are categoricals with all their levels."""
        import pandas as pd

        return pd.DataFrame(
            {
                column.name: column.values
                if column.levels is None
                else pd.Categorical.from_codes(
                    column.values, pd.Index(list(column.levels), dtype=object), ordered=column.ordered
                )
                for column in self.columns
            }
        )

    def describe(self, override: str = "kinds={'name': 'continuous' or 'discrete'}") -> str:
        """Return a printed description: size, dropped rows, the rule, and kind and reason of every column.

        Parameters
        ----------
        override : str
            How the caller replaces the kind that the rule decides.
        """
        continuous = sum(column.is_continuous for column in self.columns)
        lines = [
            f"{counted(self.n_rows, 'row')}, {counted(len(self.columns), 'column')}: {continuous} continuous, "
            f"{len(self.columns) - continuous} discrete.",
            f"Rule: {_RULE}; {override} overrides it.",
        ]
        if self.dropped_rows:
            lines.append(
                f"Dropped {len(self.dropped_rows)} of {self.n_rows + len(self.dropped_rows)} rows with "
                f"missing or infinite values: {row_list(self.dropped_rows)}."
            )
        shown_names = [shown_name(column.name) for column in self.columns]
        width = max(map(len, shown_names))
        for name, column in zip(shown_names, self.columns, strict=True):
            kind = "continuous" if column.is_continuous else "discrete"
            lines.append(f"  {name:<{width}}  {kind:<10}  {column.reason}")
        return "\n".join(lines)


def read_table(
    source: pd.DataFrame | str | os.PathLike[str],
    *,
    kinds: Mapping[str, str] | None = None,
    missing: str = "error",
    max_levels: int = 50,
    min_rows: int = 10,
) -> Table:
    """Return a checked copy of a DataFrame or of a CSV, TSV or Parquet file, with the kind of each column.

    Bool, categorical and text columns, and integer columns with at most 10 distinct values, are discrete; all
    others are continuous. The levels of a pandas categorical are its categories in their order, observed or not.
    The levels of other columns are their distinct values, sorted. Names that are not text become ``str(name)``.
    The row index is ignored.

    A constant column, which has the same value in all rows, is discrete whatever its type and `kinds` say. Its only
    level is that value, or its levels are the categories of a pandas categorical. A warning names it. Learners give
    it no edges, and a network refuses new rows with another value in it, as it does for all undeclared levels.

    Parameters
    ----------
    source : DataFrame or path
        Rows; a frame is never changed. For files see `gomea_bn.data.table_files.read_frame`.
    kinds : mapping of str to {"continuous", "discrete"}, optional
        Kinds of columns for which the rule does not decide.
    missing : {"error", "drop"}
        How to treat rows with a missing or infinite value: raise, or drop and record them.
    max_levels : int
        Largest number of levels of a discrete column.
    min_rows : int
        Smallest number of rows, after dropping.

    Returns
    -------
    Table
        Independent of the source; its arrays are read-only.

    Raises
    ------
    GomeaBnError
        For missing or infinite values, duplicate or unknown names, too many levels, too few rows, columns of dates,
        nested objects or mixed types, unreadable files, invalid options, and if all columns are constant. The message
        names columns and rows.

    Warns
    -----
    UserWarning
        If columns are constant.
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
    check_choice("missing", missing, ("error", "drop"))
    check_integer("max_levels", max_levels, 2)
    check_integer("min_rows", min_rows, 1)
    names = list(column_positions(frame))
    if not names:
        raise GomeaBnError("The table has no columns.")
    overrides = _checked_kinds(kinds, names)
    _check_row_count(len(frame), min_rows, 0)
    series = [frame.iloc[:, position] for position in range(len(names))]
    storages = [storage(values, name) for values, name in zip(series, names)]
    dropped = _rows_to_drop(series, storages, names, missing)
    if dropped.size:
        _check_row_count(len(frame) - dropped.size, min_rows, dropped.size)
        remaining = np.setdiff1d(np.arange(len(frame)), dropped)
        pairs = [_without_gaps(values, values.iloc[remaining], how) for values, how in zip(series, storages)]
        series, storages = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    columns = tuple(
        _column(values, name, how, overrides.get(name), max_levels)
        for values, name, how in zip(series, names, storages)
    )
    _warn_of_constants(columns)
    return Table(columns, len(frame) - dropped.size, tuple(dropped.tolist()))


def _without_gaps(
    whole: pd.Series[Any], remaining: pd.Series[Any], stored: str
) -> tuple[pd.Series[Any], str]:
    """Return the remaining rows of a column and how they are stored.

    pandas stores integers as floats if one is missing; without the missing ones they are integers again.
    """
    if (
        stored == "float"
        and whole.isna().any()
        and bool((remaining % 1 == 0).all() and (remaining.abs() < _LARGEST_EXACT).all())
    ):
        return remaining.astype("int64"), "integer"
    return remaining, stored


def _checked_kinds(kinds: Mapping[str, str] | None, names: list[str]) -> dict[str, str]:
    """Return the overrides by name as text."""
    if kinds is None:
        return {}
    if not isinstance(kinds, Mapping):
        raise GomeaBnError(f"kinds must map column names to kinds, got {type(kinds).__name__}.")
    overrides = {str(name): kind for name, kind in kinds.items()}
    for name, kind in overrides.items():
        if name not in names:
            raise GomeaBnError(f"kinds: unknown column '{name}'.{nearest(name, names)}")
        check_choice(f"kinds['{name}']", kind, ("continuous", "discrete"))
    return overrides


def _check_row_count(n_rows: int, min_rows: int, n_dropped: int) -> None:
    if n_rows < min_rows:
        after = f" after dropping {n_dropped} with missing or infinite values" if n_dropped else ""
        raise GomeaBnError(f"The table must have at least {min_rows} rows, got {n_rows}{after}.")


def _rows_to_drop(
    series: list[pd.Series[Any]], storages: list[str], names: list[str], missing: str
) -> NDArray[np.int64]:
    """Return the rows that have a missing or infinite value in any column; raises unless they may be dropped."""
    n_rows = len(series[0])
    incomplete = np.zeros(n_rows, dtype=bool)
    messages: list[str] = []
    for values, stored, name in zip(series, storages, names):
        is_gap = is_missing(values, stored)
        if is_gap.all():
            raise GomeaBnError(
                f"Column '{name}' has no values: all {n_rows} rows are missing or infinite.",
                ["drop the column"],
            )
        if is_gap.any():
            rows = np.flatnonzero(is_gap)
            messages.append(
                f"Column '{name}' has {counted(rows.size, 'missing or infinite value')} in {row_list(rows)}."
            )
        incomplete |= is_gap
    if messages and missing == "error":
        raise GomeaBnError(_first_lines(messages), ["fill or drop them", Setting("missing", "drop")])
    return np.flatnonzero(incomplete)


def _first_lines(messages: list[str], most: int = 10) -> str:
    """Return one line per message, and the number of further columns."""
    more = [f"… and {counted(len(messages) - most, 'further column')}."] if len(messages) > most else []
    return "\n".join([*messages[:most], *more])


def _column(series: pd.Series[Any], name: str, stored: str, kind: str | None, max_levels: int) -> Column:
    """Return one column with its kind decided."""
    if _is_constant(series):
        return _constant_column(series, name, max_levels)
    inferred, reason = _inferred_kind(series, stored)
    if kind is not None:
        reason = (
            f"set by kinds (the rule says {inferred}: {reason})"
            if kind != inferred
            else f"set by kinds; {reason}"
        )
    if (kind or inferred) == "continuous":
        values: NDArray[Any] = numeric_values(series, name)
        _check_numbers(values, series, name, stored)
        levels = None
    else:
        values, levels = level_values(series, name)
        _check_levels(series, name, levels, max_levels, reason)
        reason += f"; {len(levels)} levels"
    values.flags.writeable = False
    return Column(name, values, levels, reason, levels is not None and _has_order(series))


def _has_order(series: pd.Series[Any]) -> bool:
    """Return whether a column is an ordered pandas categorical."""
    return bool(getattr(series.dtype, "ordered", False))


def _is_constant(series: pd.Series[Any]) -> bool:
    first = series.iloc[0]
    return bool((series == first).all())


def _constant_column(series: pd.Series[Any], name: str, max_levels: int) -> Column:
    """Return a constant column: discrete, with its value or the declared categories as levels."""
    values, levels = level_values(series, name)
    _check_levels(series, name, levels, max_levels, "pandas categorical")
    values.flags.writeable = False
    more = f"; {len(levels)} declared levels" if len(levels) > 1 else ""
    value = levels[int(values[0])]
    reason = f"constant: {value!r} in all {len(values)} rows{more}"
    return Column(name, values, levels, reason, _has_order(series))


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
    """Raise for numbers that float64 cannot distinguish, and for a range that float64 cannot hold."""
    with np.errstate(over="ignore"):
        spread = values.max() - values.min()
    if not np.isfinite(spread):
        raise GomeaBnError(
            f"Column '{name}' ranges from {values.min():g} to {values.max():g}, too wide for float64.",
            ["rescale it"],
        )
    if (
        stored == "integer"
        and np.abs(values).max() > _LARGEST_EXACT
        and np.unique(values).size < series.nunique()
    ):
        raise GomeaBnError(
            f"Column '{name}' has integers beyond 2**53 that float64 cannot distinguish.",
            ["subtract an offset", "drop the column if it is an identifier"],
        )


def _check_levels(
    series: pd.Series[Any], name: str, levels: tuple[Level, ...], max_levels: int, reason: str
) -> None:
    if len(levels) <= max_levels:
        return
    advice: list[str | Setting] = ["merge or drop levels", Setting("max_levels")]
    if isinstance(levels[0], (int, float)) or "every value reads as a number" in reason:
        advice.append(Setting("kinds", "continuous", name))
    raise GomeaBnError(
        f"Column '{name}' must have at most {max_levels} levels, got {len(levels)} in its {len(series)} rows "
        f"({listed(map(repr, levels[:3]))}, …). It counts as discrete because: {reason}.",
        advice,
    )


def _warn_of_constants(columns: tuple[Column, ...]) -> None:
    """Warn of constant columns by name; raises if there is no other column."""
    constant = [column for column in columns if column.is_constant]
    if not constant:
        return
    values = [
        f"'{column.name}' is {column.levels[int(column.values[0])]!r}"
        for column in constant
        if column.levels is not None
    ]
    if len(constant) == len(columns):
        raise GomeaBnError(
            f"All columns of the table are constant: {listed(values, 5)} in all {len(columns[0].values)} rows. "
            "There is nothing to learn.",
            ["add a column that varies", "check how the rows were selected"],
        )
    warnings.warn(
        f"{counted(len(constant), 'column')} of the table {'is' if len(constant) == 1 else 'are'} constant and will "
        f"have no edges: {listed(values, 5)} in all {len(columns[0].values)} rows.",
        UserWarning,
        stacklevel=3,
    )


def table_digest(table: Table) -> str:
    """Return the SHA-256 of names, levels and values, which identifies what a result was learned from."""
    digest = hashlib.sha256()
    for column in table.columns:
        digest.update(repr((column.name, column.levels)).encode())
        digest.update(np.ascontiguousarray(column.values).tobytes())
    return digest.hexdigest()
