"""Tables in the forms that callers have them in: frames, arrays, files, tables read already."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from gomea_bn.data.files.reading import ReadingOptions
from gomea_bn.data.frames import frame_of
from gomea_bn.data.selection import group_codes
from gomea_bn.data.table import RowGroups, Table, load, table_of
from gomea_bn.errors import (
    GomeaBnError,
    Option,
    Setting,
    check_choice,
    wrong_option,
)

if TYPE_CHECKING:
    import pandas as pd

Rows: TypeAlias = Any
"""Rows in any form that `source_frame` takes: a frame, a `Table`, an Arrow table, an array, a dict, or a path."""
AVAILABLE = "available"
"""Treatment of missing values by which every part of a computation uses the rows that have its columns."""
MISSING_CHOICES = (AVAILABLE, "error", "drop")
"""Treatments of missing values by learners."""


def treatment_in_reading(missing: str) -> str:
    """Return how `read_table` treats missing values if a learner treats them as `missing` says."""
    return "keep" if missing == AVAILABLE else missing


def is_in_pieces(source: Any) -> bool:
    """Return whether a source of rows is a folder, a pattern of file names, a Dask dataframe, or a list of frames."""
    if isinstance(source, (list, tuple)):
        return bool(source) and all(hasattr(frame, "iloc") for frame in source)
    if isinstance(source, (str, os.PathLike)):
        from gomea_bn.data.files.database_names import database_of

        text = os.fspath(source)
        if (database := database_of(source)) is not None:
            from gomea_bn.data.files.databases import is_large

            return is_large(database)
        return os.path.isdir(text) or (glob.has_magic(text) and not os.path.exists(text))
    return hasattr(source, "to_delayed") and hasattr(source, "npartitions")


def source_frame(source: Any) -> pd.DataFrame:
    """Return the rows of a table, a file, or any source of `frame_of`; a pandas frame is returned as it is."""
    import pandas as pd

    if isinstance(source, pd.DataFrame):
        return source
    if isinstance(source, Table):
        return source.to_frame()
    if isinstance(source, (str, os.PathLike)):
        from gomea_bn.data.files.table_files import read_frame

        return read_frame(source)
    return frame_of(source)


def source_table(
    source: Any,
    *,
    kinds: Mapping[str, str] | None,
    missing: str,
    max_levels: int,
    groups: str | None = None,
    duration: str | None = None,
) -> Table:
    """Return the table of any source; all sources but a `Table` are read as by `read_table`.

    A `Table` must have the kinds that `kinds` names, and the groups or a column that `groups` names. `missing` is one
    of `MISSING_CHOICES`, and `duration` the column of times until an event; other options are those of `read_table`.
    """
    check_choice("missing", missing, MISSING_CHOICES)
    for option, name in (("groups", groups), ("duration", duration)):
        if name is not None and not isinstance(name, str):
            raise wrong_option(option, f"must be the name of a column or None, got {name!r:.80}.")
    if not isinstance(source, Table):
        loaded = load(source, ReadingOptions(), groups=groups, duration=duration)
        return table_of(loaded, kinds=kinds, missing=treatment_in_reading(missing), max_levels=max_levels)
    check_kinds(source, kinds)
    if groups is not None:
        source = _in_groups(source, groups, kinds or {})
    for column in source.columns:
        if column.is_continuous and column.is_constant:
            raise GomeaBnError(
                f"Column {column.name!r} of the Table is continuous, but has one value, {column.observed[0]:g}, in all "
                f"{source.n_rows} rows.",
                ["make the Table by read_table, which makes such columns discrete", "drop the column"],
            )
    return source if missing == AVAILABLE else complete_table(source, missing, "The learner")


def _in_groups(table: Table, name: str, kinds: Mapping[str, str]) -> Table:
    """Return a table with the groups that one of its columns names, which is no variable unless `kinds` names it."""
    if table.groups is not None and table.groups.column == name:
        return table
    if name not in table.names or table.groups is not None:
        of_table = "" if table.groups is None else f", which has groups by '{table.groups.column}'"
        raise GomeaBnError(
            [Option("groups"), f" must be a column of the Table{of_table}, got '{name}'."],
            [f"make the Table by read_table with groups={name!r}"],
        )
    names = [other for other in table.names if other != name or name in kinds]
    codes = group_codes(table.in_order([name]).to_frame()[name], name)
    return replace(table.in_order(names), groups=RowGroups(name, codes))


def check_kinds(table: Table, kinds: Mapping[str, str] | None) -> None:
    """Raise `GomeaBnError` unless the columns of a table that vary have the kinds that `kinds` names."""
    if kinds is not None and not isinstance(kinds, Mapping):
        raise GomeaBnError(f"kinds must map column names to kinds, got {type(kinds).__name__}.")
    kind_of = {str(name): kind for name, kind in (kinds or {}).items()}
    for column in table.columns:
        kind = "continuous" if column.is_continuous else "discrete"
        if kind_of.get(column.name, kind) != kind and not column.is_constant:
            raise GomeaBnError(
                f"Column {column.name!r} of the Table is {kind}, but kinds says {kind_of[column.name]!r}; read the "
                "table again with these kinds."
            )


def complete_table(table: Table, missing: str, what: str) -> Table:
    """Return a table without missing values, as `missing` says: "drop" drops incomplete rows, "error" raises.

    `what` needs the table, for the message.
    """
    if missing == "drop":
        return table.complete_rows()
    table.require_complete(what, Setting("missing", "drop"))
    return table
