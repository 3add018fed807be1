"""Column names in the first line of a file: which are usable, and columns without one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gomea_bn.data.files.numerals import is_number
from gomea_bn.data.files.reading import Note
from gomea_bn.data.selection import identifier_reason
from gomea_bn.errors import GomeaBnError, Setting
from gomea_bn.texts import listed

if TYPE_CHECKING:
    import pandas as pd


def column_names(n_columns: int) -> list[str]:
    """Return the names of columns that have none: x0, x1, ..."""
    return [f"x{i}" for i in range(n_columns)]


def check_names(path: str, names: Sequence[str]) -> None:
    """Raise if the first line, whose fields are `names`, cannot be the column names; names may be blank."""
    numbers = [is_number(name) for name in names]
    if all(numbers) and not all(name.lstrip("+-").isdigit() for name in names):
        raise GomeaBnError(
            f"File '{path}' has no column names: its first line holds numbers.",
            ["add a line of names", Setting("header", "none")],
        )
    for position, name in enumerate(names):
        if name and name in names[:position]:
            raise GomeaBnError(
                f"Column name '{name}' occurs more than once in '{path}' (columns {names.index(name)} and "
                f"{position}, counted from 0). Rename one of them."
            )


def without_nameless(path: str, frame: pd.DataFrame, names: Sequence[str]) -> tuple[pd.DataFrame, list[Note]]:
    """Return the columns that have a name, and a warning that lists the others.

    `names` has "" for such a column. It is an error if one holds more than row names or a running number.
    """
    nameless = {}
    for position, name in enumerate(names):
        if name:
            continue
        series = frame.iloc[:, position]
        reason = "empty" if series.isna().all() else identifier_reason(series, "")
        if reason is None:
            raise GomeaBnError(
                f"File '{path}' has no name for column {position} (counted from 0), perhaps a saved row index. Name "
                "it, or save the table without its index."
            )
        nameless[position] = reason
    if not nameless:
        return frame, []
    columns = listed([f"column {position} ({reason})" for position, reason in nameless.items()], 5)
    remaining = [position for position in range(len(names)) if position not in nameless]
    note = Note(f"Left out columns without a name, counted from 0: {columns}.", ["name them to keep them"])
    return frame.iloc[:, remaining], [note]
