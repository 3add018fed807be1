"""Tables in files, text, Parquet, Arrow and spreadsheets, as frames of the chosen columns."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

from gomea_bn.data.files.database_names import database_of
from gomea_bn.data.files.last_rows import rows_of_table
from gomea_bn.data.files.reading import (
    FILE_OPTIONS,
    OF_TEXT,
    USUAL_FORM,
    Loaded,
    Note,
    ReadingOptions,
)
from gomea_bn.data.files.separated import (
    check_first_line,
    read_separated,
    with_codes,
    without_nameless,
)
from gomea_bn.data.forms import in_given_forms
from gomea_bn.data.frames import arrow_frame, column_names, frame_of, require_pyarrow
from gomea_bn.data.selection import chosen_columns
from gomea_bn.data.symbols import without_symbols
from gomea_bn.errors import GomeaBnError, Option, Setting, first_line, give_warning, nearest
from gomea_bn.runtime.files import check_is_file, check_unpacked, most_bytes
from gomea_bn.texts import listed

if TYPE_CHECKING:
    import pandas as pd

    from gomea_bn.data.files.database_names import Database

# the separator that an ending stands for
_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": None, ".dat": None, ".data": None}
_PARQUET = (".parquet", ".pq")
_ARROW = (".feather", ".arrow", ".ipc", ".arrows")
_STATISTICS = (".dta", ".sas7bdat", ".xpt", ".sav", ".zsav", ".rds", ".rdata", ".rda")
_COMPRESSED = (".gz", ".bz2", ".xz", ".zip", ".zst")
_ENDINGS = (
    ".csv, .tsv, .tab, .txt, .dat, .data (perhaps then .gz, .bz2, .xz, .zip, .zst), .parquet, .pq, .feather, .arrow, "
    ".xlsx, .ods, .dta, .sas7bdat, .xpt, .sav, .rds or .rdata"
)
# bytes read at once, those of a number in a table, and the largest ratio by which gzip shrinks a file
_BLOCK, _BYTES_OF_CELL, _MOST_OF_DEFLATE = 2**20, 8, 1032
# options of one kind of file only
_OF_SHEETS = ("sheet", "header")


def read_frame(
    path: str | os.PathLike[str],
    *,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    na_values: Any = None,
    sheet: str | int | None = None,
    header: str | None = None,
    forms: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Return the table in a file; the ending of the file name decides the format.

    Text files hold the column names in the first line and may be compressed (.gz, .bz2, .xz, .zip, .zst). Separator,
    decimal mark and the encodings UTF-8 and UTF-16 are detected where they are unambiguous. Empty cells are missing
    values, and so are the usual symbols, see `gomea_bn.data.symbols`. Integers stay integers next to missing values.
    The index of a Parquet file is not read as a column.

    Parameters
    ----------
    path : path
        File name that ends in .csv, .tsv, .tab, .txt, .dat, .data, .parquet, .pq, .feather, .arrow, .xlsx, .ods, .dta,
        .sas7bdat, .xpt, .sav, .rds or .rdata; or rows of a database, see `gomea_bn.data.files.databases`.
        With `sep` every other ending is text, too.
    sep, decimal, encoding, na_values, sheet, header, forms
        As of `gomea_bn.read_table`.

    Raises
    ------
    GomeaBnError
        If the file is missing, empty, a folder, not text or ragged, has an unknown ending, or has duplicate or blank
        column names, and for options that do not apply to it.

    Warns
    -----
    GomeaBnWarning
        If symbols are read as missing values in columns of text, and if columns without a name are left out.
    """
    options = ReadingOptions.of(
        sep=sep,
        decimal=decimal,
        encoding=encoding,
        na_values=na_values,
        sheet=sheet,
        header=header,
        forms=forms,
    )
    loaded = read_file(path, options)
    for doubt in loaded.warnings:
        give_warning(doubt)
    return loaded.frame


def read_file(
    path: str | os.PathLike[str], options: ReadingOptions, apart: Mapping[str, str] | None = None
) -> Loaded:
    """Return the table in a file.

    See `read_frame`. Of dates and texts in forms of numbers only those that `forms` names are converted here. The
    columns of `apart` are as of `chosen_columns`.
    """
    text = os.fspath(path)
    if (database := database_of(path)) is not None:
        return _read_database(database, options, apart)
    if not os.path.exists(text):
        raise GomeaBnError(f"File '{text}' does not exist.")
    if os.path.isdir(text):
        raise GomeaBnError(
            f"'{text}' is a folder, and the rows must be in one file here.",
            [
                "write the rows of its files into one, which may be a Parquet file",
                "in Python give a data frame, such as pandas.read_parquet(folder)",
            ],
        )
    check_is_file(text)
    endings, ending = _endings(text)
    applicable = applicable_options(text, options.sep)
    if applicable is None:
        raise GomeaBnError(
            f"File '{text}' must end in {_ENDINGS}, got '{ending or 'no ending'}'.",
            ["rename it", Setting("sep", ",")],
        )
    for name in options.given:
        if name in {*FILE_OPTIONS} - {*applicable}:
            kind = "spreadsheets" if name == "sheet" else "text files"
            raise GomeaBnError([Option(name), f" applies to {kind}, but '{text}' is none."])
    if os.path.getsize(text) == 0:
        raise GomeaBnError(f"File '{text}' is empty.")
    form = USUAL_FORM._replace(decimal=options.decimal)
    notes: list[Note] = []
    doubts: list[Note] = []
    forms: dict[str, str] = {}
    if applicable == OF_TEXT:
        is_plain = not endings or endings[-1] not in _COMPRESSED
        if not is_plain:
            _check_compressed_text(text)
        frame, form, notes, doubts = read_separated(text, _SEPARATORS.get(ending), options, plain=is_plain)
    elif ending in SPREADSHEETS:
        _check_zipped(text)
        frame, notes, doubts = read_sheet(text, ending, options)
    elif ending in _STATISTICS:
        from gomea_bn.data.files.statistics_files import read_statistics

        frame, doubts, forms = read_statistics(
            text, ending, options.forms, are_codes_missing=options.na_values is None
        )
        frame = frame_of(frame)
    else:
        frame = _read_parquet(text) if ending in _PARQUET else _read_arrow(text)
    chosen = chosen_columns(frame, options.columns, options.drop, apart)
    frame, found, uncertain = without_symbols(
        chosen, options.na_values, form.decimal or ".", of_text=applicable == OF_TEXT
    )
    frame, limits, limited = in_given_forms(frame, options.forms, form.decimal)
    doubts += [*uncertain, *limits]
    forms = {name: forms[name] for name in map(str, frame.columns) if name in forms}
    return Loaded(
        frame, options, tuple(notes + found), tuple(doubts), form=form, limited=limited, forms=forms
    )


def _read_database(database: Database, options: ReadingOptions, apart: Mapping[str, str] | None) -> Loaded:
    """Return what `read_file` does, of the rows of a database."""
    for name in options.given:
        if name in FILE_OPTIONS:
            raise GomeaBnError([Option(name), f" applies to files, but the table is in {database.kind}."])
    from gomea_bn.data.files.databases import read_database

    form = USUAL_FORM._replace(decimal=options.decimal)
    chosen = chosen_columns(read_database(database), options.columns, options.drop, apart)
    frame, found, doubts = without_symbols(chosen, options.na_values, form.decimal or ".")
    frame, limits, limited = in_given_forms(frame, options.forms, form.decimal)
    return Loaded(frame, options, tuple(found), (*doubts, *limits), form=form, limited=limited)


def applicable_options(path: str | os.PathLike[str], sep: str | None = None) -> tuple[str, ...] | None:
    """Return which of `FILE_OPTIONS` apply to a file, by the ending of its name, or None for an unknown ending.

    With a separator every ending that is unknown otherwise is that of a text file.
    """
    _, ending = _endings(path)
    if database_of(path) is not None:
        return ()
    if ending in SPREADSHEETS:
        return _OF_SHEETS
    if ending in (*_PARQUET, *_ARROW, *_STATISTICS):
        return ()
    return OF_TEXT if ending in _SEPARATORS or sep is not None else None


def is_text_file(path: str | os.PathLike[str], sep: str | None = None) -> bool:
    """Return whether `read_file` reads a file as text; see `applicable_options`."""
    return applicable_options(path, sep) == OF_TEXT


def _endings(path: str | os.PathLike[str]) -> tuple[list[str], str]:
    """Return the endings of a file name, and the one that decides the format, or an empty text."""
    endings = [ending.lower() for ending in Path(path).suffixes]
    return endings, next((e for e in reversed(endings) if e not in _COMPRESSED), "")


def _check_compressed_text(path: str) -> None:
    """Raise for a text that is far larger than its file; unpacking it twice costs less than parsing it."""
    # typed nowhere
    from pandas.io.common import get_handle  # type: ignore[import-not-found]

    if os.path.getsize(path) * _MOST_OF_DEFLATE < most_bytes(0) and path.lower().endswith(".gz"):
        return
    n_bytes = 0
    try:
        with get_handle(path, "rb", compression="infer", is_text=False) as handles:
            while block := handles.handle.read(_BLOCK):
                n_bytes += len(block)
                check_unpacked(path, n_bytes)
    except GomeaBnError:
        raise
    # each compression library raises its own exceptions
    except Exception as error:
        raise GomeaBnError(f"File '{path}' cannot be read: {first_line(error)}") from error


def _check_zipped(path: str) -> None:
    """Raise for a spreadsheet, a ZIP archive, whose parts are far larger than the file."""
    try:
        with ZipFile(path) as archive:
            check_unpacked(path, sum(part.file_size for part in archive.infolist()))
    # the reader of spreadsheets has a better message
    except (OSError, BadZipFile, NotImplementedError):
        return


def _read_parquet(path: str) -> pd.DataFrame:
    require_pyarrow(f"Reading '{path}'")
    from pyarrow import parquet

    try:
        content = parquet.read_metadata(path)
        check_unpacked(path, content.num_rows * content.num_columns * _BYTES_OF_CELL)
        table = parquet.ParquetFile(path).read()
    except (OSError, ValueError) as error:
        if isinstance(error, GomeaBnError):
            raise
        raise GomeaBnError(f"File '{path}' is not a readable Parquet file: {first_line(error)}") from error
    return arrow_frame(table)


def _read_arrow(path: str) -> pd.DataFrame:
    """Return the table in a Feather or Arrow file, or in a stored Arrow stream."""
    pyarrow = require_pyarrow(f"Reading '{path}'")
    from pyarrow import feather, ipc

    try:
        try:
            table = feather.read_table(path, memory_map=False)
        except pyarrow.ArrowInvalid:
            with open(path, "rb") as file:
                table = ipc.open_stream(file).read_all()
    except (OSError, ValueError) as error:
        raise GomeaBnError(f"File '{path}' is not a readable Arrow file: {first_line(error)}") from error
    return arrow_frame(table)


SPREADSHEETS = {
    ".xlsx": ("openpyxl", "openpyxl"),
    ".xlsm": ("openpyxl", "openpyxl"),
    ".ods": ("odf", "odfpy"),
}
"""pandas' engine and the package that it needs, by the ending of the file name."""


def read_sheet(
    path: str, ending: str, options: ReadingOptions
) -> tuple[pd.DataFrame, list[Note], list[Note]]:
    """Return the table in one sheet of a spreadsheet, notes and warnings.

    The sheet of the options is a name or a position, counted from 0; None stands for the first sheet with cells.
    """
    import pandas as pd
    from pandas.api.types import is_numeric_dtype

    engine, package = SPREADSHEETS[ending]
    try:
        book: Any = pd.ExcelFile(path, engine=engine)  # type: ignore[arg-type]
    except ImportError as error:
        raise GomeaBnError(f"Reading '{path}' needs {package}: pip install 'gomea-bn[excel]'.") from error
    # the libraries raise exceptions of many types
    except Exception as error:
        raise GomeaBnError(f"File '{path}' is not a readable {ending} file: {error}") from error
    with book:
        sheets = list(map(str, book.sheet_names))
        chosen = sheets if options.sheet is None else [_chosen(path, sheets, options.sheet)]
        cells, sheet = _first_with_cells(book, chosen)
        if cells is None:
            raise GomeaBnError(f"File '{path}' has no cells in {listed([repr(name) for name in chosen], 5)}.")
        notes = []
        if options.sheet is None and len(sheets) > 1:
            others = listed([repr(name) for name in sheets if name != sheet], 5)
            notes.append(
                Note([f"Sheet {sheet!r} is read, not {others}; ", Option("sheet"), " names another."])
            )
        if options.header == "none":
            names = column_names(cells.shape[1])
        else:
            names = ["" if name is None or name != name else str(name).strip() for name in cells.iloc[0]]
            check_first_line(path, names)

        def parsed(**more: Any) -> pd.DataFrame:
            frame: pd.DataFrame = pd.read_excel(
                book,
                sheet_name=sheet,
                header=None if options.header == "none" else 0,
                names=[name or f"\0{position}" for position, name in enumerate(names)],
                index_col=None,
                keep_default_na=False,
                na_values=[""],
                **more,
            )
            return frame

        frame = parsed(dtype_backend="numpy_nullable")
        end, inside, notes_of_rows, doubts = rows_of_table(frame)
        if end < len(frame):
            frame = parsed(dtype_backend="numpy_nullable", nrows=end)
        if inside:
            # without texts such as Total a column may be one of numbers
            frame = frame.drop(index=inside).convert_dtypes()
        numeric = [
            position for position in range(len(names)) if is_numeric_dtype(frame.iloc[:, position].dtype)
        ]
        # pandas makes numbers of cells with text
        written = parsed(dtype=str, nrows=end).drop(index=inside).iloc[:, numeric]
        frame, codes = with_codes(frame, written)
    # a blank row is a missing cell of one column, and no row of several
    if len(names) > 1:
        frame = frame.dropna(how="all")
    frame, left_out = without_nameless(path, frame, names)
    return frame, notes + codes + notes_of_rows, doubts + left_out


def _chosen(path: str, sheets: list[str], sheet: str | int) -> str:
    """Return the name of the chosen sheet."""
    if isinstance(sheet, str) and sheet in sheets:
        return sheet
    if (isinstance(sheet, int) or sheet.isdecimal()) and int(sheet) < len(sheets):
        return sheets[int(sheet)]
    raise GomeaBnError(
        [
            Option("sheet"),
            f": '{path}' has no sheet {sheet!r}; its sheets are {listed([repr(name) for name in sheets], 10)}."
            f"{nearest(str(sheet), sheets)}",
        ]
    )


def _first_with_cells(book: Any, sheets: list[str]) -> tuple[pd.DataFrame | None, str]:
    """Return the first row of the first of some sheets that has cells, and its name."""
    import pandas as pd

    for sheet in sheets:
        cells: pd.DataFrame = pd.read_excel(
            book, sheet_name=sheet, header=None, nrows=1, keep_default_na=False, na_values=[""]
        )
        if cells.shape[1]:
            return cells, sheet
    return None, ""
