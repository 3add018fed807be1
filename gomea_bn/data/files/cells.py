"""Cells of files: column names in the first line, codes such as 02163, and rows without a value at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gomea_bn.data.files.reading import Note
from gomea_bn.data.selection import identifier_reason
from gomea_bn.data.symbols import CODE, is_number
from gomea_bn.errors import GomeaBnError, Setting
from gomea_bn.texts import counted, listed

if TYPE_CHECKING:
    import pandas as pd


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


def with_codes(frame: pd.DataFrame, written: pd.DataFrame) -> tuple[pd.DataFrame, list[Note]]:
    """Return the frame with codes such as 02163 as they are written, and a note that names their columns.

    `written` is what the file holds, as text, in columns of numbers.
    """
    codes, examples = {}, []
    for name in map(str, written.columns):
        texts = written[name].str.strip()
        is_code = texts.str.fullmatch(CODE, na=False)
        if is_code.any():
            codes[name] = texts.astype("string")
            examples.append(f"'{name}' (such as {str(texts[is_code].iloc[0])!r})")
    if not codes:
        return frame, []
    columns = listed(examples, 5)
    note = Note(
        f"Leading zeros make {counted(len(codes), 'column')} text: {columns}. To read numbers:",
        [Setting("kinds", "continuous", next(iter(codes)))],
    )
    return frame.assign(**codes), [note]


def without_last_empty_rows(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[Note]]:
    """Return the rows up to the last one that holds a value, and a note if there are further ones."""
    has_values = frame.notna().any(axis=1).to_numpy()
    if not has_values.any() or has_values[-1]:
        return frame, []
    n_rows = int(has_values.nonzero()[0][-1]) + 1
    return frame.iloc[:n_rows], [
        Note(f"Left out {counted(len(frame) - n_rows, 'empty row')} at the end of the table.")
    ]
