"""Cells of files: codes such as 02163, and rows without a value at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.data.files.numerals import CODE
from gomea_bn.data.files.reading import Note
from gomea_bn.errors import Setting
from gomea_bn.texts import counted, listed

if TYPE_CHECKING:
    import pandas as pd


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
