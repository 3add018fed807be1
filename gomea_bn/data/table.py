"""Tables of continuous and discrete columns: read, checked and copied from a DataFrame or a file."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import MISSING_CODE, Column, column_positions, storage
from gomea_bn.data.gaps import gap_lines, gaps_of, refuse_gaps, refuse_infinite, with_missing, without_rows
from gomea_bn.data.kinds import FEW_VALUES, RULE, decided_column
from gomea_bn.data.table_files import read_frame
from gomea_bn.errors import GomeaBnError, Setting, check_choice, check_integer, nearest, row_list
from gomea_bn.texts import counted, listed, shown_name

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FEW_VALUES", "MISSING_CODE", "Column", "Table", "read_table", "table_digest"]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Table:
    """Columns of equal length, which may have missing values.

    Only ``read_table(..., missing="keep")`` makes tables with missing values.

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

    @property
    def n_missing(self) -> int:
        """Number of missing values in all columns."""
        return sum(column.n_missing for column in self.columns)

    def require_complete(self, what: str) -> None:
        """Raise `GomeaBnError` if a value is missing; the message names columns and rows.

        Parameters
        ----------
        what : str
            What cannot use missing values: the subject of the message, in the singular.
        """
        if self.n_missing:
            gaps = {column.name: column.is_missing for column in self.columns}
            raise GomeaBnError(
                f"{what} needs a table without missing values.\n{gap_lines(gaps, 'missing value')}",
                ["fill them", Setting("missing", "drop")],
            )

    def complete_rows(self) -> Table:
        """Return the rows without missing values; `dropped_rows` then also names the others."""
        incomplete = np.zeros(self.n_rows, np.bool_)
        for column in self.columns:
            incomplete |= column.is_missing
        if not incomplete.any():
            return self
        n_source = self.n_rows + len(self.dropped_rows)
        source_rows = np.delete(np.arange(n_source), list(self.dropped_rows))
        dropped = sorted({*self.dropped_rows, *source_rows[incomplete].tolist()})
        return replace(self.take(np.flatnonzero(~incomplete)), dropped_rows=tuple(dropped))

    def take(self, rows: NDArray[np.int64]) -> Table:
        """Return the table of some rows, int64 (n,), by position; columns keep their kinds and all their levels."""
        columns = []
        for column in self.columns:
            values = column.values[rows]
            values.flags.writeable = False
            columns.append(replace(column, values=values))
        return Table(tuple(columns), len(rows), ())

    def to_frame(self) -> pd.DataFrame:
        """Return the rows as a frame; discrete columns are categoricals with all their levels, and NaN is missing."""
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
            f"Rule: {RULE}; {override} overrides it.",
        ]
        if self.n_missing:
            lines.append(
                f"Missing: {counted(self.n_missing, 'value')} in "
                f"{counted(sum(column.n_missing > 0 for column in self.columns), 'column')}."
            )
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
    missing : {"error", "drop", "keep"}
        How to treat rows with a missing or infinite value. "error" raises. "drop" drops and records them. "keep" keeps
        missing values, which `Column` describes, and raises for infinite ones.
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
    check_choice("missing", missing, ("error", "drop", "keep"))
    check_integer("max_levels", max_levels, 2)
    check_integer("min_rows", min_rows, 1)
    names = list(column_positions(frame))
    if not names:
        raise GomeaBnError("The table has no columns.")
    overrides = _checked_kinds(kinds, names)
    _check_row_count(len(frame), min_rows, 0)
    series = [frame.iloc[:, position] for position in range(len(names))]
    storages = [storage(values, name) for values, name in zip(series, names)]
    gaps = dict(zip(names, gaps_of(series, storages)))
    _refuse_empty(gaps)
    if missing == "error":
        refuse_gaps(gaps)
    if missing == "keep":
        refuse_infinite(gaps, series)
    incomplete = np.logical_or.reduce(list(gaps.values()))
    dropped = np.flatnonzero(incomplete) if missing == "drop" else np.empty(0, np.int64)
    _check_row_count(len(frame) - dropped.size, min_rows, dropped.size)
    columns = []
    for values, name, stored in zip(series, names, storages):
        excluded = incomplete if missing == "drop" else gaps[name]
        observed, stored = without_rows(values, stored, excluded)
        column = decided_column(observed, name, stored, overrides.get(name), max_levels)
        columns.append(with_missing(column, gaps[name]) if missing == "keep" else column)
    _warn_of_constants(columns)
    return Table(tuple(columns), len(frame) - dropped.size, tuple(dropped.tolist()))


def _refuse_empty(gaps: Mapping[str, NDArray[np.bool_]]) -> None:
    """Raise if all values of a column are missing or infinite."""
    for name, is_gap in gaps.items():
        if is_gap.all():
            raise GomeaBnError(
                f"Column '{name}' has no values: all {len(is_gap)} rows are missing or infinite.",
                ["drop the column"],
            )


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


def _warn_of_constants(columns: Sequence[Column]) -> None:
    """Warn of constant columns by name; raises if there is no other column."""
    constant = [column for column in columns if column.is_constant]
    if not constant:
        return
    values = [
        f"'{column.name}' is {column.levels[int(column.observed[0])]!r}"
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
