"""Tables in text files: encoding, separator and decimal mark are detected where they are unambiguous."""

from __future__ import annotations

import csv
import mmap
import re
import warnings
from collections.abc import Sequence, Set
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from gomea_bn.data.files.reading import SEPARATOR_NAMES, Note, ReadingOptions, TextForm
from gomea_bn.data.frames import column_names, distinct_values
from gomea_bn.data.selection import check_column_count, identifier_reason
from gomea_bn.data.symbols import (
    CODE,
    MARKS,
    WORDS,
    from_distinct,
    is_number,
    is_text_like,
    numbers_in,
    written_with,
)
from gomea_bn.errors import GomeaBnError, Option, Setting
from gomea_bn.texts import counted, listed

if TYPE_CHECKING:
    import pandas as pd

_SAMPLE_LINES = 200
_BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
# splits no line: the ASCII character that separates units
_NO_SEPARATOR = "\x1f"
_SYMBOLS = WORDS | MARKS
# a zero and another digit where a field may begin
_LEADING_ZERO = re.compile(rb"(?:\A|[^0-9A-Za-z.+-])0[0-9]")


def read_separated(
    path: str, usual: str | None, options: ReadingOptions, *, plain: bool
) -> tuple[pd.DataFrame, TextForm, list[Note], list[Note]]:
    """Return the table in a text file, its form, notes and warnings.

    `usual` is the separator that the ending of the file name stands for. `plain` says that the file is not compressed.
    Separator, decimal mark and encoding are detected where they are not given; it is an error if they are ambiguous.
    """
    encoding = options.encoding or _encoding(path, plain=plain)
    lines, n_blank = _reading(path, encoding, lambda: _first_lines(path, encoding))
    if not lines:
        raise GomeaBnError(f"File '{path}' is empty.")
    notes: list[Note] = []
    separator = options.separator or _separator(path, lines, usual)
    if separator not in (usual, options.separator):
        notes.append(
            Note(
                [f"Fields are separated by {_shown(separator)}; ", Option("sep"), " sets another separator."]
            )
        )
    names = _names(path, lines, separator, options)
    parts = {
        "sep": r"\s+" if separator == " " else separator,
        "encoding": encoding,
        # a blank line is a missing cell of one column, and no row of several
        "skip_blank_lines": len(names) > 1,
        "skipinitialspace": len(names) == 1,
        "skiprows": n_blank if options.header == "first-line" else 0,
    }
    decimal = options.decimal or "."
    symbols = _SYMBOLS | {str(value).strip() for value in options.na_values or ()}

    def parsed(**more: Any) -> pd.DataFrame:
        frame: pd.DataFrame = _reading(
            path, encoding, lambda: _parsed(path, names, options, {**parts, **more})
        )
        return frame

    frame = parsed(decimal=decimal)
    if len(names) > len(_records(lines, separator)[0]) and identifier_reason(frame.iloc[:, 0], "") is None:
        raise GomeaBnError(
            f"File '{path}' is ragged: its rows have more fields than its {len(names) - 1} column names."
        )
    first_rows = _records(lines, separator)[options.header == "first-line" :]
    may_have_codes = not plain or _has_leading_zeros(path, encoding)
    doubtful = [
        position
        for position in range(len(names))
        if _has_other_readings(
            frame.iloc[:, position],
            [row[position] for row in first_rows if len(row) > position],
            symbols,
            may_have_codes=may_have_codes,
        )
    ]
    written = parsed(dtype=str, usecols=doubtful) if doubtful else frame.iloc[:, :0]
    if options.decimal is None:
        decimal, note = _decimal(frame, written, symbols)
        if note is not None:
            notes.append(note)
        if decimal == ",":
            frame = parsed(decimal=decimal)
    frame, codes = with_codes(frame, written)
    notes += codes
    frame = _with_numbers(frame, decimal, symbols)
    frame, empty_rows = without_last_empty_rows(frame)
    frame, left_out = without_nameless(path, frame, names)
    return frame, TextForm(separator, decimal), notes + empty_rows, left_out


def _shown(separator: str) -> str:
    names = {character: name for name, character in SEPARATOR_NAMES.items() if name.isalpha()}
    return f"'{names.get(separator, separator)}'" if separator in "\t " else repr(separator)


def _encoding(path: str, *, plain: bool) -> str:
    """Return the encoding that the first bytes of a file mark, otherwise UTF-8."""
    if not plain:
        return "utf-8-sig"
    with open(path, "rb") as file:
        start = file.read(65536)
    if start[:2] in _BYTE_ORDER_MARKS:
        return _BYTE_ORDER_MARKS[start[:2]]
    if b"\0" in start:
        raise GomeaBnError(
            f"File '{path}' is not UTF-8 text: it holds NUL bytes, as binary files and UTF-16 text do.",
            ["save it as UTF-8", Setting("encoding", "utf-16-le")],
        )
    return "utf-8-sig"


def _reading(path: str, encoding: str, read: Any) -> Any:
    """Return what a reader returns; errors of pandas name the file and the cause."""
    import pandas as pd

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return read()
    except UnicodeError as error:
        raise _encoding_error(path, encoding, error) from error
    except pd.errors.EmptyDataError as error:
        raise GomeaBnError(f"File '{path}' is empty.") from error
    except pd.errors.ParserError as error:
        raise GomeaBnError(
            f"File '{path}' is ragged or has an unclosed quote: {first_line(error)} Its first line must hold names."
        ) from error
    except GomeaBnError:
        raise
    # each compression library raises its own exceptions
    except Exception as error:
        raise GomeaBnError(f"File '{path}' cannot be read: {first_line(error)}") from error


def _encoding_error(path: str, encoding: str, error: UnicodeError) -> GomeaBnError:
    """Return the error for text in another encoding, with what the bytes are in the most frequent one."""
    name = "UTF-8" if encoding.startswith("utf-8") else encoding
    words = ""
    if isinstance(error, UnicodeDecodeError):
        around = error.object[max(error.start - 12, 0) : error.end + 12]
        words = f" In cp1252 it would read '{' '.join(around.decode('cp1252', 'replace').split())}'."
    return GomeaBnError(
        f"File '{path}' is not {name} text ({getattr(error, 'reason', error)}).{words}",
        ["save it as UTF-8", Setting("encoding", "cp1252")],
    )


def _first_lines(path: str, encoding: str) -> tuple[list[str], int]:
    """Return the first lines of a file that are not blank, as they are, and the number of blank lines before them."""
    import pandas as pd

    frame = pd.read_csv(
        path,
        sep=_NO_SEPARATOR,
        header=None,
        names=["line"],
        index_col=False,
        nrows=_SAMPLE_LINES,
        dtype=str,
        quoting=csv.QUOTE_NONE,
        keep_default_na=False,
        skip_blank_lines=False,
        encoding=encoding,
    )
    lines = [str(line) for line in frame["line"]]
    has_text = [bool(line.strip()) for line in lines]
    return [line for line in lines if line.strip()], has_text.index(True) if any(has_text) else 0


def _records(lines: Sequence[str], separator: str) -> list[list[str]]:
    """Return the fields of the first records; the last is left out where the lines may end within it."""
    is_blank = separator == " "
    # a quoted field may hold line ends
    texts = [f"{line.strip() if is_blank else line}\n" for line in lines]
    try:
        records = [
            [field.strip() for field in record]
            for record in csv.reader(texts, delimiter=separator, skipinitialspace=is_blank)
            if record
        ]
    except csv.Error:
        return []
    return records[:-1] if len(lines) == _SAMPLE_LINES and len(records) > 1 else records


def _separator(path: str, lines: Sequence[str], usual: str | None) -> str:
    """Return the separator: the usual one where it fits, otherwise the only one that does.

    It fits if all records have as many fields as the first, at least 2. Otherwise, if all have one more, a row name.
    """
    for n_more in (0, 1):
        if usual is not None and _fits(lines, usual, n_more):
            return usual
        fitting = [separator for separator in (",", ";", "\t", "|") if _fits(lines, separator, n_more)]
        if not fitting and _fits(lines, " ", n_more):
            fitting = [" "]
        if len(fitting) > 1:
            raise GomeaBnError(
                [
                    f"File '{path}' may be separated by {' or '.join(map(_shown, fitting))}; say by which with ",
                    Option("sep"),
                    ".",
                ]
            )
        if fitting:
            return fitting[0]
    return usual or ","


def _fits(lines: Sequence[str], separator: str, n_more: int) -> bool:
    """Return whether all records have `n_more` fields more than the first, and at least 2."""
    counts = [len(record) for record in _records(lines, separator)]
    return len(counts) > 2 * n_more and set(counts[1:] or counts) == {counts[0] + n_more} and max(counts) >= 2


def _names(path: str, lines: Sequence[str], separator: str, options: ReadingOptions) -> list[str]:
    """Return the names of the columns, "" for a column without one."""
    records = _records(lines, separator)
    if not records:
        raise GomeaBnError(f"File '{path}' is ragged or has an unclosed quote in its first lines.")
    first = records[0]
    if options.columns is None and not options.drop:
        check_column_count(len(first))
    if options.header == "none":
        return column_names(len(first))
    if len(first) == 1 and len(records) > 1 and len(records[1]) > 1:
        raise GomeaBnError(
            f"File '{path}' is ragged: its first line is {first[0]!r:.60}, but the next has {len(records[1])} fields.",
            ["remove the lines above the column names"],
        )
    check_names(path, first)
    if not any(first):
        raise GomeaBnError(f"File '{path}' has no column names: the fields of its first line are blank.")
    # as R writes row names
    if len(records) > 2 and all(len(record) == len(first) + 1 for record in records[1:]):
        return ["", *first]
    if len(first) == 1 and any(mark in first[0] for mark in ";\t,|"):
        raise GomeaBnError(
            [
                f"File '{path}' has only one column, '{first[0]:.60}', when its fields are separated by "
                f"{_shown(separator)}; set another separator with ",
                Option("sep"),
                ".",
            ]
        )
    return first


def _parsed(path: str, names: Sequence[str], options: ReadingOptions, parts: dict[str, Any]) -> pd.DataFrame:
    """Return the table as pandas reads it; only empty cells are missing values."""
    import pandas as pd

    if tuple(int(part) for part in pd.__version__.split(".")[:2]) < (3, 1):
        # the default from pandas 3.1 on, where the option is deprecated
        parts = {**parts, "float_precision": "round_trip"}
    unique = [name or f"\0{position}" for position, name in enumerate(names)]
    try:
        frame: pd.DataFrame = pd.read_csv(
            path,
            header=0 if options.header == "first-line" else None,
            names=unique,
            index_col=False,
            low_memory=False,
            dtype_backend="numpy_nullable",
            keep_default_na=False,
            na_values=[""],
            **parts,
        )
    except pd.errors.ParserWarning as error:
        raise GomeaBnError(
            f"File '{path}' is ragged: its rows have more fields than its {len(names)} column names."
        ) from error
    return frame


def _has_leading_zeros(path: str, encoding: str) -> bool:
    """Return whether some field of a file that is not compressed may begin with a zero and another digit."""
    if encoding.lower().startswith(("utf-16", "utf_16", "utf-32", "utf_32")):
        return True
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return _LEADING_ZERO.search(content) is not None


def _has_other_readings(
    series: pd.Series[Any], first: Sequence[str], symbols: Set[str], *, may_have_codes: bool
) -> bool:
    """Return whether numbers, as pandas reads them with a point, may be codes such as 007 or groups such as 275.089.

    `first` has the first fields as they are in the file. With `may_have_codes` any column may have codes.
    """
    from pandas.api import types

    if types.is_integer_dtype(series.dtype):
        return may_have_codes
    if not types.is_float_dtype(series.dtype):
        return False
    values = series.dropna().to_numpy(np.float64)
    if may_have_codes and bool((values == np.floor(values)).any()):
        return True
    # one number that is none with groups is a proof
    return bool(written_with([text for text in first if text and text not in symbols], ","))


def _decimal(frame: pd.DataFrame, written: pd.DataFrame, symbols: Set[str]) -> tuple[str, Note | None]:
    """Return the decimal mark of the numbers in a file, and a note if it is a comma.

    `frame` has numbers where they have a decimal point, and `written` the texts of columns of numbers that may have
    another reading. `symbols` are texts of missing values. It is an error if some columns only fit a point and
    others only a comma, and if "1,234" may be 1.234 or 1234.
    """
    points, commas, either = [], [], []
    for name in map(str, frame.columns):
        is_real = str(frame[name].dtype) == "Float64"
        texts = _values_of(written[name] if is_real and name in written else frame[name], symbols)
        # the first number with one reading ends the search
        marks = (
            ".,"
            if texts and is_real and written_with(texts, ",")
            else "."
            if is_real
            else written_with(texts)
        )
        if marks == ".":
            points.append(name)
        elif marks == ",":
            commas.append((name, next(text for text in texts if "," in text)))
        elif marks == ".,":
            differing = (text for text in texts if numbers_in([text], ".") != numbers_in([text], ","))
            either += [(name, text) for text in islice(differing, 1)]
    if commas and not points:
        names = [f"'{name}'" for name, _ in commas]
        return ",", Note(
            [
                f"Decimal commas in {counted(len(names), 'column')} ({listed(names, 5)}), for example "
                f"{commas[0][1]!r}; ",
                Option("decimal"),
                " sets the decimal mark.",
            ]
        )
    if commas or (either and not points):
        (name, example), *_ = commas or either
        number = example.strip()
        readings = f"{number.replace(',', '.')} or {number.replace('.', '').replace(',', '')}"
        but = f"but column '{points[0]}' holds decimal points" if commas else f"which may be {readings}"
        raise GomeaBnError(
            f"Column '{name}' holds numbers such as {example!r}, {but}.",
            [Setting("decimal", ","), Setting("decimal", ".")],
        )
    return ".", None


def _values_of(series: pd.Series[Any], symbols: Set[str]) -> list[str]:
    """Return the distinct texts of a column of text, without symbols of missing values."""
    if not is_text_like(series):
        return []
    return [str(value) for value in series.dropna().unique() if str(value).strip() not in symbols]


def _with_numbers(frame: pd.DataFrame, decimal: str, symbols: Set[str]) -> pd.DataFrame:
    """Return the frame with columns as numbers whose texts are numbers with groups of three digits."""
    for position, name in enumerate(frame.columns):
        series = frame.iloc[:, position]
        texts = _values_of(series, symbols)
        if texts and written_with(texts, decimal) and not set(series.dropna().unique()) - set(texts):
            codes, uniques = distinct_values(series)
            frame = frame.assign(**{str(name): from_distinct(series, codes, list(uniques), decimal)})
    return frame


def first_line(error: BaseException) -> str:
    """Return the first line of the message of another library's error, with a full stop."""
    lines = str(error).strip().splitlines()
    return (lines[0].rstrip(" .") if lines else type(error).__name__) + "."


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
