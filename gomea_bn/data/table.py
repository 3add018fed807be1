"""Tables of continuous and discrete columns: read, checked and copied from a DataFrame or a file."""

from __future__ import annotations

import hashlib
import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from math import gcd
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import (
    FEW_VALUES,
    ROWS_WORTH_THREADS,
    RULE,
    column_positions,
    decided_column,
    empty_column,
    gap_lines,
    gaps_of,
    is_missing,
    refuse_gaps,
    refuse_infinite,
    storage,
    with_missing,
)
from gomea_bn.data.columns import (
    Column as Column,
)
from gomea_bn.data.dates import source_name
from gomea_bn.data.event_times import Censoring, doubts_about_times
from gomea_bn.data.files.reading import (
    FILE_OPTIONS,
    OF_TABLE,
    USUAL_FORM,
    Loaded,
    Note,
    ReadingOptions,
    reading_file,
)
from gomea_bn.data.forms import check_form_names, in_given_forms, with_forms
from gomea_bn.data.frames import frame_of, stored_types
from gomea_bn.data.selection import (
    chosen_columns,
    doubts_about_groups,
    group_codes,
    names_that_are_data,
    without_identifiers,
)
from gomea_bn.data.symbols import without_symbols
from gomea_bn.errors import (
    GomeaBnError,
    Option,
    Setting,
    check_choice,
    check_integer,
    give_warning,
    nearest,
    raise_all,
    row_list,
    wrong_option,
)
from gomea_bn.lazy import offered
from gomea_bn.runtime.threads import in_threads
from gomea_bn.texts import counted, listed, percent, shown_name

if TYPE_CHECKING:
    import pandas as pd


class WeightedRows(NamedTuple):
    """Rows in an order of their content, the weight of each, and with what probability it is searched, (n_rows,)."""

    table: Table
    weights: NDArray[np.float64]
    shares: NDArray[np.float64]


class RowGroups(NamedTuple):
    """The groups of the rows of a table, such as persons who have several rows.

    `column` is the name of the column that names them, and `codes`, int64 (n_rows,), number them. `n_given` is the
    number of all rows where the table has only those to search, and None where it has all.
    """

    column: str
    codes: NDArray[np.int64]
    n_given: int | None = None

    def of(self, rows: NDArray[np.int64] | slice) -> RowGroups:
        """Return the groups of some rows."""
        return self._replace(codes=self.codes[rows])


MAX_LEVELS = 50
"""Most levels of a discrete column, unless a caller says otherwise."""


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
    notes : tuple of Note
        What was detected while reading, such as a separator; each is a `GomeaBnWarning` that was not given.
    warnings : tuple of Note
        What reading warned of.
    reading : ReadingOptions
        Options by which the source was read.
    left_out : mapping of str to str
        Columns of identifiers and free text that were left out, and why.
    weighted : bool
        Whether weights or groups decided how often every row stands in the table, so that equal rows are no copies by
        mistake.
    all_rows : WeightedRows or None
        Rows that a network of this table counts by their weights, where no row stands in it more than once.
    groups : RowGroups or None
        Groups whose rows belong together, as the option `groups` of `read_table` names them.
    censoring : Censoring or None
        What `BayesNetLearner(duration=...)` has made of the times until an event.
    """

    columns: tuple[Column, ...]
    n_rows: int
    dropped_rows: tuple[int, ...]
    notes: tuple[Note, ...] = ()
    warnings: tuple[Note, ...] = ()
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    left_out: Mapping[str, str] = field(default_factory=dict)
    weighted: bool = False
    all_rows: WeightedRows | None = None
    groups: RowGroups | None = None
    censoring: Censoring | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def tiers(self) -> list[list[str]]:
        """Columns of earlier rows, from the largest lag on, and of the rows themselves; empty without lags."""
        from gomea_bn.data.lags import slices_of

        return [members for _, members in slices_of(self.names)]

    @property
    def n_varying(self) -> int:
        """Number of columns that are not constant."""
        return sum(not column.is_constant for column in self.columns)

    @property
    def n_missing(self) -> int:
        """Number of missing values in all columns."""
        return sum(column.n_missing for column in self.columns)

    def require_complete(self, what: str, *advice: str | Setting) -> None:
        """Raise `GomeaBnError` if a value is missing; the message names columns and rows.

        `what` cannot use missing values: the subject of the message, in the singular. `advice` is what to do besides
        filling the values; by default to drop the rows.
        """
        if self.n_missing:
            gaps = {column.name: column.is_missing for column in self.columns}
            raise GomeaBnError(
                [f"{what} needs a table without missing values.\n", *gap_lines(gaps, "missing value")],
                ["fill them", *(advice or ["drop these rows, in Python by table.complete_rows()"])],
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
        groups = None if self.groups is None else self.groups.of(rows)
        return replace(
            self, columns=tuple(columns), n_rows=len(rows), dropped_rows=(), all_rows=None, groups=groups
        )

    def in_order(self, names: Sequence[str]) -> Table:
        """Return the table with its columns in the order of some names, each of which must be that of a column."""
        columns = {column.name: column for column in self.columns}
        return replace(self, columns=tuple(columns[name] for name in names))

    def between(self, first: int, last: int) -> Table:
        """Return the rows from one position to another, whose values share the memory of these columns."""
        columns = tuple(replace(column, values=column.values[first:last]) for column in self.columns)
        groups = None if self.groups is None else self.groups.of(slice(first, last))
        return replace(self, columns=columns, n_rows=last - first, dropped_rows=(), groups=groups)

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

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show."""
        return str(offered("table_html")(self))

    def describe(
        self,
        override: str = "kinds={'name': 'continuous' or 'discrete'}",
        spell: Callable[[Option | Setting], str] = str,
        most_columns: int | None = None,
    ) -> str:
        """Return a printed description: size, notes, dropped rows, the rule, and kind and reason of every column.

        Parameters
        ----------
        override : str
            How the caller replaces the kind that the rule decides.
        spell : callable
            How the caller writes options in the notes.
        most_columns : int, optional
            Number of columns that are described; of more the others are named by their kinds.
        """
        continuous = sum(column.is_continuous for column in self.columns)
        lines = [
            f"{counted(self.n_rows, 'row')}, {counted(len(self.columns), 'column')}: {continuous} continuous, "
            f"{len(self.columns) - continuous} discrete.",
            f"Rule: {RULE}; {override} overrides it.",
            *(note.text(spell) for note in self.notes),
        ]
        if self.n_missing:
            lines.append(
                f"Missing: {counted(self.n_missing, 'value')} in "
                f"{counted(sum(column.n_missing > 0 for column in self.columns), 'column')}."
            )
        if self.dropped_rows:
            # weights change the number of rows
            of_all = "" if self.weighted else f" of {self.n_rows + len(self.dropped_rows)}"
            lines.append(
                f"Dropped {len(self.dropped_rows)}{of_all} rows with "
                f"missing or infinite values: {row_list(self.dropped_rows)}."
            )
        shown_names = [shown_name(column.name) for column in self.columns]
        width = max(map(len, shown_names))
        described = list(zip(shown_names, self.columns, strict=True))[:most_columns]
        for name, column in described:
            kind = "continuous" if column.is_continuous else "discrete"
            lines.append(f"  {name:<{width}}  {kind:<10}  {column.reason}")
        others = self.columns[len(described) :]
        for kind in ("continuous", "discrete"):
            names = [shown_name(one.name) for one in others if one.is_continuous == (kind == "continuous")]
            if names:
                # columns that a description names without their reasons
                lines.append(f"  Also {kind}: {listed(names, 30)}.")
        return "\n".join(lines)


def read_table(
    source: Any,
    *,
    kinds: Mapping[str, str] | None = None,
    missing: str = "error",
    max_levels: int = MAX_LEVELS,
    min_rows: int = 10,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    na_values: str | float | Iterable[str | float] | None = None,
    columns: Iterable[str] | None = None,
    drop: Iterable[str] | None = None,
    sheet: str | int | None = None,
    header: str | None = None,
    dates: str = "numbers",
    forms: Mapping[str, str] | None = None,
    groups: str | None = None,
    lags: Mapping[str, Any] | None = None,
    reading: str | os.PathLike[str] | Mapping[str, Any] | None = None,
) -> Table:
    """Return a checked copy of a table in memory or in a file, with the kind of each column.

    Bool, categorical and text columns, and columns of whole numbers with at most 10 distinct values, are discrete; all
    others are continuous. Whole numbers are integers also where they are stored as floats. The levels of a pandas
    categorical are its categories in their order, observed or not. The levels of other columns are their distinct
    values, sorted. Names that are not text become ``str(name)``. The row index is ignored.

    A constant column, which has the same value in all rows, is discrete whatever its type and `kinds` say. Its only
    level is that value, or its levels are the categories of a pandas categorical. A column without values is constant,
    too, and its only level is "(empty)". A warning names these columns. Learners give them no edges, and a network
    refuses new rows with another value in them, as it does for all undeclared levels.

    Digits with a leading zero in text files and spreadsheets, such as the postal code 02163, stay text.

    Symbols such as "NA" and "?" are missing values, see `na_values`. Dates and times become numbers, and the name of
    the column then ends in their unit in brackets. Columns that identify rows (a running number, different texts in all
    rows, UUIDs, different integers under a name such as "id") and columns of free text (more than `max_levels` texts,
    most of them different or of several words) are left out with a warning, unless `kinds` or `columns` names them.

    Parameters
    ----------
    source : DataFrame, path, or other table
        Rows, which are never changed: a frame of pandas or polars, an object with the Arrow capsule or the dataframe
        interchange, a dict of columns, an array of shape (n_rows, n_columns), or the path of a file. For files see
        `gomea_bn.data.files.table_files.read_frame`.
    kinds : mapping of str to {"continuous", "discrete"}, optional
        Kinds of columns for which the rule does not decide.
    missing : {"error", "drop", "keep"}
        How to treat rows with a missing or infinite value. "error" raises. "drop" drops and records them. "keep" keeps
        missing values, which `Column` describes, and raises for infinite ones.
    max_levels : int
        Largest number of levels of a discrete column.
    min_rows : int
        Smallest number of rows, after dropping.
    sep : str, optional
        Separator of the fields of a text file: one character, "comma", "semicolon", "tab", "bar" or "space" (one or
        more). By default it is detected.
    decimal : {".", ","}, optional
        Decimal mark of numbers in text; the other mark may separate groups of three digits. By default it is detected,
        and must be given if numbers such as 275.089 may be read in two ways.
    encoding : str, optional
        Encoding of a text file, by its name in Python. By default UTF-8, or UTF-16 with a byte order mark.
    na_values : str, float or list of these, optional
        All texts and numbers that stand for missing values; empty cells always do, and "usual" stands for the usual
        symbols. By default the usual symbols: NA,
        N/A, NaN, null, None, ? and the errors of spreadsheets; and the marks *, -, --, ., .. and ... where all other
        values of the column hold a letter or a digit. An empty list stands for none.
    columns : list of str, optional
        Columns to read. By default all.
    drop : list of str, optional
        Columns to leave out.
    sheet : str or int, optional
        Sheet of a spreadsheet, by name or by position, counted from 0. By default the first that has cells.
    header : {"first-line", "none"}, optional
        Whether the first line of a file holds the column names; without names they are x0, x1, ... By default it does
        unless at least half of its fields could be values of their columns.
    dates : {"numbers", "drop"}
        Whether columns of dates, times and durations become numbers or are left out. Dates are days since 1970-01-01 in
        UTC, durations are seconds and times of day are hours. Text with at most 10 distinct values stays text. Dates
        that a network draws or predicts have the time zone of their column; a date without one counts as UTC.
    forms : mapping of str to str, optional
        How the texts of columns are read, by name: "number", "number in mg" (or another unit, currency or %),
        "number with limit 4" (for words such as "trace"), "date", "date day-month" and "date month-day" for the order
        of digits, "time", or "text", which stays as it is. By default a column of more than 10 different texts is read
        as numbers, dates or times if all of them are such, and a note says how; plain numbers in frames stay text. A
        text below a limit, such as "<0.006", is read as half the limit (as the limit if that is not positive), one
        above it, such as ">90", as the limit, and a word such as "trace" by the smallest limit of the column, or as
        missing where no text states one, with a warning.
    groups : str, optional
        Column that names the group of every row, such as a person or a site; see `BayesNetLearner`. It is no variable
        of the table, unless `kinds` names it.
    lags : mapping, optional
        The parameters `time`, `group` and `lags` of `gomea_bn.lagged`: the values of earlier rows become columns, too,
        with the kinds and levels of their columns. `Table.tiers` is the order of time of these columns. Time and group
        are no variables, and every row counts, since the earlier ones are what makes those of a group alike.
    reading : path or mapping, optional
        JSON file of these options by name, as ``gomea-bn check --write`` writes it, or their mapping. Arguments that
        are given replace those of the file.

    Returns
    -------
    Table
        Independent of the source; its arrays are read-only. Its notes say what was detected.

    Raises
    ------
    GomeaBnError
        For missing or infinite values, duplicate or unknown names, too many levels, too few rows, columns of nested
        objects or mixed types, unreadable files, ambiguous separators, decimal marks and dates, invalid options, and if
        all columns are constant. The message names columns and rows.

    Warns
    -----
    UserWarning
        If columns are constant or left out, if continuous columns have at most 10 distinct values, if symbols in text
        become missing values, if rows of measurements occur repeatedly, if column names look like data, if discrete
        columns have more free probabilities than rows, if a column without `groups` looks as if it named them, and if
        a column looks like the times until an event that some rows were not seen to have.
    """
    options = ReadingOptions.of(
        sep=sep,
        decimal=decimal,
        encoding=encoding,
        na_values=na_values,
        columns=columns,
        drop=drop,
        sheet=sheet,
        header=header,
        dates=dates,
        forms=forms,
        lags=lags,
    )
    of_table: dict[str, Any] = {"kinds": kinds, "missing": missing, "max_levels": max_levels}
    if reading is not None:
        in_file = dict(reading if isinstance(reading, Mapping) else reading_file(reading))
        options, of_table = _over_file(options, of_table, in_file)
    return table_of(load(source, options, groups=groups), **of_table, min_rows=min_rows)


def _over_file(
    options: ReadingOptions, of_table: dict[str, Any], in_file: dict[str, Any]
) -> tuple[ReadingOptions, dict[str, Any]]:
    """Return options of `read_table` where those of a file stand for what was not given."""
    declared = inspect.signature(read_table).parameters
    whole = {
        name: in_file.get(name, value) if value == declared[name].default else value
        for name, value in of_table.items()
    }
    for name in OF_TABLE:
        in_file.pop(name, None)
    known = {option.name for option in fields(ReadingOptions)}
    for name in in_file:
        if name not in known:
            raise wrong_option("reading", f"has {name!r:.80}, which is no option of read_table.")
    return ReadingOptions.of(**{**in_file, **options.given}), whole


def table_of(
    loaded: Loaded,
    *,
    kinds: Mapping[str, str] | None = None,
    missing: str = "error",
    max_levels: int = MAX_LEVELS,
    min_rows: int = 10,
    problems: list[GomeaBnError] | None = None,
) -> Table:
    """Return the table of loaded rows; see `read_table`.

    Errors about columns are added to `problems`, if it is given, and the table then is that of the other columns.
    """
    check_choice("missing", missing, ("error", "drop", "keep"))
    check_integer("max_levels", max_levels, 2)
    check_integer("min_rows", min_rows, 1)
    frame, options = loaded.frame, loaded.options
    names = list(column_positions(frame))
    if not names:
        raise GomeaBnError("The table has no columns.")
    overrides = _checked_kinds(kinds, names)
    _check_row_count(len(frame), min_rows, 0)
    check_form_names(options.forms, names)
    positions = None
    of_times: dict[str, str] = {}
    if (lags := options.lags) is not None:
        from gomea_bn.data.lags import earlier_columns, earlier_rows, times_of_rows

        named = frame.set_axis(names, axis=1)
        times, of_times = times_of_rows(named[lags["time"]], options.forms, loaded.form.decimal)
        positions = earlier_rows(
            named.assign(**{lags["time"]: times}), lags["time"], lags.get("group"), lags["lags"]
        )
        keys = (lags["time"], lags.get("group"))
        frame = frame.iloc[:, [v for v, name in enumerate(names) if name not in keys]]
        names = list(column_positions(frame))
    groups: RowGroups | None = None
    unnamed: list[Note] = []
    if loaded.groups is None and lags is None:
        unnamed = doubts_about_groups(frame)
    elif loaded.groups is not None:
        groups = RowGroups(
            loaded.groups, group_codes(frame.iloc[:, names.index(loaded.groups)], loaded.groups)
        )
        if loaded.groups not in overrides:
            frame = frame.iloc[:, [v for v, name in enumerate(names) if name != loaded.groups]]
    formed = with_forms(
        frame, overrides, options.forms, dates=options.dates, decimal=loaded.form.decimal, few=FEW_VALUES
    )
    wanted = {
        *overrides,
        *options.forms,
        *(options.columns or ()),
        *formed.names.values(),
        *filter(None, [loaded.duration]),
    }
    frame, left_out, doubts = without_identifiers(formed.frame, wanted, max_levels)
    overrides = {formed.names.get(name, name): kind for name, kind in overrides.items()}
    names = list(column_positions(frame))
    if not names:
        if problems is None:
            raise_all(formed.problems)
        else:
            problems += formed.problems
        raise GomeaBnError(
            "No column of the table is left: all hold dates, identifiers or free text.",
            ["name columns to keep"],
        )
    # before the columns are read, since what they say may explain an error
    of_texts = (*loaded.warnings, *formed.doubts, *doubts, *unnamed)
    for note in of_texts:
        give_warning(note)
    # rows with missing values are earlier ones, too
    treatment = "keep" if positions is not None and missing == "drop" else missing
    columns, dropped = _read_columns(
        frame, names, overrides, treatment, max_levels, min_rows, loaded.weights, found := [*formed.problems]
    )
    if problems is None:
        raise_all(found)
    else:
        problems += found
    if not columns:
        raise GomeaBnError("No column of the table can be read.")
    columns = tuple(
        replace(
            column,
            time_zone=formed.time_zones.get(column.name) if column.is_continuous else None,
            dtype=_dtype_of(column, loaded.dtypes),
        )
        for column in columns
    )
    table = Table(
        columns,
        len(frame) - len(dropped),
        dropped,
        notes=(*loaded.notes, *formed.notes),
        reading=replace(
            options,
            forms={**loaded.forms, **of_times, **formed.forms, **options.forms},
            decimal=options.decimal or formed.decimal,
        ),
        left_out=left_out,
        groups=None if groups is None else groups.of(np.delete(np.arange(len(frame)), dropped)),
    )
    if lags is not None and positions is not None:
        table = replace(table.take(positions[-1]), columns=earlier_columns(columns, lags["lags"], positions))
        table = table.complete_rows() if missing == "drop" else table
        _check_row_count(table.n_rows, min_rows, len(table.dropped_rows))
    unused_times = doubts_about_times(table.columns) if loaded.duration is None else []
    try:
        constants = _constants(table.columns)
    except GomeaBnError as error:
        if problems is None:
            raise
        constants = []
        problems.append(error)
    of_table = (*constants, *doubts_about(table), *unused_times)
    for note in of_table:
        give_warning(note)
    return replace(table, warnings=(*of_texts, *of_table))


def _dtype_of(column: Column, dtypes: Mapping[str, str]) -> str:
    """Return the type that the values of a column had, if it is one of such values; numbers may have been texts."""
    from pandas.api import types

    dtype = dtypes.get(source_name(column.name), "")
    if not dtype or not column.is_continuous:
        return dtype
    if source_name(column.name) == column.name:
        return dtype if types.is_numeric_dtype(dtype) else ""
    return dtype if types.is_datetime64_any_dtype(dtype) or types.is_timedelta64_dtype(dtype) else ""


def _read_columns(
    frame: pd.DataFrame,
    names: list[str],
    kinds: Mapping[str, str],
    missing: str,
    max_levels: int,
    min_rows: int,
    weights: pd.Series[Any] | None,
    problems: list[GomeaBnError],
) -> tuple[tuple[Column, ...], tuple[int, ...]]:
    """Return the columns of a frame with their kinds decided, and the rows that `missing` drops.

    Rows need their weight also where missing values are kept. Errors about columns, which are left out then, are added
    to `problems`.
    """
    series, storages, refused = [], [], []
    for position, name in enumerate(names):
        try:
            storages.append(storage(frame.iloc[:, position], name))
            series.append(frame.iloc[:, position].rename(name))
        except GomeaBnError as error:
            refused.append(error)
    problems[:0] = refused
    names = [str(column.name) for column in series]
    gaps = dict(zip(names, gaps_of(series, storages)))
    empty = _empty_columns(gaps, series)
    for name in empty:
        gaps[name] = np.zeros(len(frame), np.bool_)
    of_weights = {}
    if weights is not None:
        name = str(weights.name)
        of_weights = {name: is_missing(weights, storage(weights, name))}
    try:
        if missing == "keep":
            refuse_infinite(gaps, series)
        if missing != "drop":
            refuse_gaps((gaps if missing == "error" else {}) | of_weights)
    except GomeaBnError as error:
        problems.append(error)
    incomplete = np.zeros(len(frame), np.bool_)
    for is_gap in (*gaps.values(), *of_weights.values()):
        if is_gap.any():
            incomplete |= is_gap
    dropped = np.flatnonzero(incomplete) if missing == "drop" else np.empty(0, np.int64)
    _check_row_count(len(frame) - dropped.size, min_rows, dropped.size)

    def column_at(position: int) -> Column | GomeaBnError:
        name = names[position]
        if name in empty:
            return empty_column(name, len(frame) - dropped.size)
        excluded = incomplete if missing == "drop" else gaps[name]
        observed = series[position].iloc[np.flatnonzero(~excluded)] if excluded.any() else series[position]
        try:
            column = decided_column(observed, name, storages[position], kinds.get(name), max_levels)
        except GomeaBnError as error:
            return error
        if missing != "drop":
            column = with_missing(column, gaps[name])
        # the first question, which counts them, is asked by this thread
        _ = column.n_missing
        return column

    columns = in_threads(column_at, range(len(names)), n_threads=-1 if len(frame) > ROWS_WORTH_THREADS else 1)
    problems += [column for column in columns if isinstance(column, GomeaBnError)]
    return tuple(column for column in columns if isinstance(column, Column)), tuple(dropped.tolist())


def _empty_columns(gaps: Mapping[str, NDArray[np.bool_]], series: Sequence[pd.Series[Any]]) -> set[str]:
    """Return the names of columns without values; raises if all values of a column are infinite."""
    empty = {name: values for (name, is_gap), values in zip(gaps.items(), series) if is_gap.all()}
    for name, values in empty.items():
        if not values.isna().all():
            raise GomeaBnError(
                f"Column '{name}' has no values: all {len(values)} rows are missing or infinite.",
                ["drop the column"],
            )
    return set(empty)


def _checked_kinds(kinds: Mapping[str, str] | None, names: list[str]) -> dict[str, str]:
    """Return the overrides by name as text."""
    if kinds is None:
        return {}
    if not isinstance(kinds, Mapping):
        raise GomeaBnError(f"kinds must map column names to kinds, got {type(kinds).__name__}.")
    overrides = {str(name): kind for name, kind in kinds.items()}
    for name, kind in overrides.items():
        if name not in names:
            raise GomeaBnError([Option("kinds"), f": unknown column '{name}'.{nearest(name, names)}"])
        check_choice(f"kinds['{name}']", kind, ("continuous", "discrete"))
    return overrides


def _check_row_count(n_rows: int, min_rows: int, n_dropped: int) -> None:
    if n_rows < min_rows:
        after = f" after dropping {n_dropped} with missing or infinite values" if n_dropped else ""
        raise GomeaBnError(f"The table must have at least {counted(min_rows, 'row')}, got {n_rows}{after}.")


def _constants(columns: Sequence[Column]) -> list[Note]:
    """Return a warning that names the constant columns; raises if there is no other column."""
    constant = [column for column in columns if column.is_constant]
    if not constant:
        return []
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
    return [
        Note(
            f"{counted(len(constant), 'column')} of the table {'is' if len(constant) == 1 else 'are'} constant and "
            f"will have no edges: {listed(values, 5)} in all {len(columns[0].values)} rows."
        )
    ]


def column_digests(table: Table) -> dict[str, str]:
    """Return a SHA-256 of the levels and values of every column, as hexadecimal text, by name."""
    return {
        column.name: hashlib.sha256(
            repr(column.levels).encode() + np.ascontiguousarray(column.values).tobytes()
        ).hexdigest()
        for column in table.columns
    }


def table_digest(table: Table) -> str:
    """Return the SHA-256 of names, levels and values, which identifies what a result was learned from."""
    digest = hashlib.sha256()
    for column in table.columns:
        digest.update(repr((column.name, column.levels)).encode())
        digest.update(np.ascontiguousarray(column.values).data)
    return digest.hexdigest()


# a column with repeated values mostly repeats one among this number of rows
_FEW_ROWS = 1_000


def doubts_about(table: Table) -> list[Note]:
    """Return the warnings about a table."""
    if len(table.columns) < 2:
        return []
    doubts = (
        # rows of a group may be equal
        _duplicate_rows(table) if table.groups is None else None,
        _data_as_names(table),
        _few_values(table),
        _many_probabilities(table),
    )
    return [note for note in doubts if note is not None]


def _duplicate_rows(table: Table) -> Note | None:
    """Return a warning if rows of measurements occur repeatedly, or if all rows were copied.

    Only rows without missing values count, since few remaining values may be equal by chance.
    """
    from pandas.util import hash_array

    incomplete = [column.is_missing for column in table.columns if column.n_missing]
    is_complete = ~np.logical_or.reduce(incomplete) if incomplete else slice(None)
    first, *others = sorted(table.columns, key=lambda column: not column.is_continuous)
    values = first.values[is_complete]
    if first.is_continuous and _all_differ(values):
        return None
    n_rows, hashes = len(values), hash_array(values)
    for column in others:
        # odd, so that no bit of a hash is lost
        hashes *= np.uint64(1_000_003)
        hashes += hash_array(column.values[is_complete])
        if column.is_continuous and _all_differ(hashes):
            return None
    counts = np.unique(hashes, return_counts=True)[1]
    n_duplicates = n_rows - counts.size
    has_numbers = any(column.is_continuous for column in table.columns)
    # that number of different rows does not occur equally often by chance
    are_copies = counts.size >= 20 and gcd(*counts.tolist()) > 1
    # duplicates of rows of measurements are rare
    if not are_copies and not (has_numbers and n_duplicates > 0.01 * n_rows):
        return None
    complete = "" if n_rows == table.n_rows else " without missing values"
    whole = f" Every row occurs {gcd(*counts.tolist())} times or a multiple of it." if are_copies else ""
    return Note(
        f"{counted(n_duplicates, 'row')} of {n_rows:,}{complete} ({percent(n_duplicates / n_rows)}) "
        f"{'repeats' if n_duplicates == 1 else 'repeat'} an earlier one.{whole} They count as independent "
        "observations, except under the default score of continuous columns: there edges and coefficients count a copy "
        "once, but tables, means and constants count every row. Copies make edges and cuts look surer than they are, "
        "and put the same row into training and test data.",
        ["drop copies of the same observation before reading"],
    )


def _all_differ(numbers: NDArray[np.uint64] | NDArray[np.float64]) -> bool:
    """Return whether no number occurs twice; the first ones are looked at first."""
    few = numbers[:_FEW_ROWS]
    if len(np.unique(few)) < len(few):
        return False
    ascending = np.sort(numbers)
    return not bool((ascending[1:] == ascending[:-1]).any())


def _data_as_names(table: Table) -> Note | None:
    """Return a warning if at least half of the names, and two, could be values of their columns."""
    suspicious = names_that_are_data(
        table.names, table.take(np.arange(min(table.n_rows, _FEW_ROWS))).to_frame()
    )
    if not suspicious:
        return None
    return Note(
        [
            f"{len(suspicious)} of {len(table.names)} column names look like data: "
            f"{listed(map(repr, suspicious), 5)}. If the first line of the file is a row, read it with ",
            Option("header", "none"),
            ".",
        ]
    )


def _few_values(table: Table) -> Note | None:
    """Return a warning that names the continuous columns with at most `FEW_VALUES` values that repeat."""
    few: dict[str, NDArray[np.float64]] = {}
    for column in table.columns:
        # most columns have more values among their first rows
        if column.is_continuous and len(np.unique(column.observed[:_FEW_ROWS])) <= FEW_VALUES:
            values = np.unique(column.observed)
            # in a table of a few rows values hardly repeat
            if len(values) <= FEW_VALUES and 2 * len(values) <= len(column.observed):
                few[column.name] = values
    if not few:
        return None
    named = [
        f"'{name}' ({listed([f'{value:g}' for value in values.tolist()], FEW_VALUES)})"
        for name, values in few.items()
    ]
    return Note(
        f"{counted(len(few), 'continuous column')} {'has' if len(few) == 1 else 'have'} at most {FEW_VALUES} values: "
        f"{listed(named, 3)}. Such values are point masses, which have a probability and no density.",
        [Setting("kinds", "discrete", next(iter(few)))],
    )


def _many_probabilities(table: Table) -> Note | None:
    """Return a warning if the marginal distributions of discrete columns have more free probabilities than rows."""
    free = {column.name: len(column.levels) - 1 for column in table.columns if column.levels is not None}
    total = sum(free.values())
    if total <= table.n_rows:
        return None
    largest = sorted(free, key=lambda name: -free[name])[:3]
    most = listed([f"'{name}' {free[name] + 1} levels" for name in largest])
    return Note(
        f"The discrete columns have {total:,} free parameters even without edges, more than the "
        f"{counted(table.n_rows, 'row')}: {most}.",
        ["merge or drop levels", "drop columns"],
    )


def load(
    source: Any,
    options: ReadingOptions,
    weight: str | None = None,
    groups: str | None = None,
    duration: str | None = None,
) -> Loaded:
    """Return the rows of a path or another source of `frame_of`, for which options of files are an error.

    The column `weight` has the weights of the rows, `groups` names their groups, and `duration` has times until an
    event, whatever the options say.
    """
    named = {"sample_weight": weight, "groups": groups, "duration": duration}
    if options.lags is not None:
        for name, given in named.items():
            if given is not None:
                raise GomeaBnError(
                    [Option("lags"), " has the time and the group of the rows; leave out ", Option(name), "."]
                )
        named |= {"time": options.lags["time"], "group": options.lags.get("group")}
    apart = {option: name for option, name in named.items() if name is not None}
    if weight is not None and weight == groups:
        raise GomeaBnError(
            [Option("groups"), f" names the column '{weight}', which has the weights of the rows."]
        )
    if isinstance(source, (str, os.PathLike)):
        from gomea_bn.data.files.table_files import read_file

        loaded = read_file(source, options, apart)
    else:
        frame = frame_of(source)
        for name in options.given:
            if name in FILE_OPTIONS:
                raise GomeaBnError(
                    [Option(name), f" applies to files, but the table is a {type(source).__name__}."]
                )
        form = USUAL_FORM._replace(decimal=options.decimal)
        chosen = chosen_columns(frame, options.columns, options.drop, apart)
        frame, notes, warnings = without_symbols(chosen, options.na_values, form.decimal or ".")
        frame, limits, limited = in_given_forms(frame, options.forms, form.decimal)
        loaded = Loaded(
            frame,
            options,
            tuple(notes),
            (*warnings, *limits),
            form=form,
            limited=limited,
            dtypes=stored_types(source),
        )
    weights, frame = None, loaded.frame
    if weight is not None:
        is_weight = np.arange(frame.shape[1]) == column_positions(frame, [weight])[weight]
        weights, frame = frame.loc[:, is_weight].iloc[:, 0], frame.loc[:, ~is_weight]
    return replace(loaded, frame=frame, weights=weights, groups=groups, duration=duration)
