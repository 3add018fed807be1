"""Sources of tables as frames of the chosen columns, whose missing values are known."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gomea_bn.data.files.reading import Note, ReadingOptions
from gomea_bn.data.files.table_files import FILE_OPTIONS, read_file
from gomea_bn.data.frames import frame_of
from gomea_bn.data.selection import chosen_columns
from gomea_bn.data.symbols import without_symbols
from gomea_bn.errors import GomeaBnError, Option

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Loaded:
    """Rows of the chosen columns of a source, without symbols of missing values, and the options that were used.

    `notes` say what reading detected, and `warnings` what may not be as the owner of the table expects.
    """

    frame: pd.DataFrame
    options: ReadingOptions
    notes: tuple[Note, ...]
    warnings: tuple[Note, ...]


def load(source: Any, options: ReadingOptions) -> Loaded:
    """Return the rows of a path or another source of `frame_of`, for which options of files are an error."""
    if isinstance(source, (str, os.PathLike)):
        frame, notes, warnings = read_file(source, options)
        return Loaded(frame, options, tuple(notes), tuple(warnings))
    frame = frame_of(source)
    for name in options.given:
        if name in FILE_OPTIONS:
            raise GomeaBnError(
                [Option(name), f" applies to files, but the table is a {type(source).__name__}."]
            )
    chosen = chosen_columns(frame, options.columns, options.drop)
    frame, notes, warnings = without_symbols(chosen, options.na_values)
    return Loaded(frame, options, tuple(notes), tuple(warnings))
