"""Tables in text files: encoding, separator and decimal mark are detected where they are unambiguous."""

from __future__ import annotations

import csv
import io
import mmap
import re
import warnings
from collections.abc import Sequence, Set
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from gomea_bn.data.files.last_rows import is_note, rows_of_table
from gomea_bn.data.files.reading import SEPARATOR_NAMES, Note, ReadingOptions, TextForm
from gomea_bn.data.frames import column_names
from gomea_bn.data.number_texts import CODE, is_number, numbers_in, written_with
from gomea_bn.data.selection import check_column_count, identifier_reason, names_that_are_data
from gomea_bn.data.symbols import MARKS, WORDS, is_text_like
from gomea_bn.errors import GomeaBnError, Option, Setting, first_line
from gomea_bn.texts import counted, listed

if TYPE_CHECKING:
    import pandas as pd

_SAMPLE_LINES = 200
_BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
# splits no line: the ASCII character that separates units
_NO_SEPARATOR = "\x1f"
# as Excel writes the separator
_NAMED = re.compile(r"\ufeff?sep=(.)\s*$", re.IGNORECASE)
# lines that may stand above the names of the columns
_MOST_ABOVE = 30
# rows among whose values a name is looked for
_FEW_ROWS = 5_000
_SYMBOLS = WORDS | MARKS
_HIGH_BYTES = re.compile(rb"[\x80-\xff]+")
# a zero and another digit where a field may begin
_LEADING_ZERO = re.compile(rb"(?:\A|[^0-9A-Za-z.+-])0[0-9]")


def read_separated(
    path: str, usual: str | None, options: ReadingOptions, *, plain: bool
) -> tuple[pd.DataFrame, TextForm, list[Note], list[Note]]:
    """Return the table in a text file, its form, notes and warnings.

    `usual` is the separator that the ending of the file name stands for. `plain` says that the file is not compressed.
    Separator, decimal mark, encoding and lines above the table are detected where they are not given; it is an error if
    they are ambiguous.
    """
    encoding = options.encoding or _encoding(path, plain=plain)
    all_lines = _reading(path, encoding, lambda: _lines(path, encoding, _SAMPLE_LINES))
    if len(all_lines) < _SAMPLE_LINES:
        all_lines = _without_notes_below(all_lines)
    n_above, lines, named = _after_first_lines(all_lines, usual, options)
    if not lines:
        raise GomeaBnError(f"File '{path}' is empty.")
    notes: list[Note] = []
    doubts: list[Note] = []
    if above := [line.strip() for line in all_lines[:n_above] if line.strip() and not _NAMED.match(line)]:
        said = listed([repr(line[:60]) for line in above], 3)
        doubts.append(Note(f"Left out {counted(len(above), 'line')} above the table in '{path}': {said}."))
    separator = options.separator or named or _separator(path, lines, usual)
    if separator not in (usual, options.separator):
        notes.append(
            Note(
                [f"Fields are separated by {_shown(separator)}; ", Option("sep"), " sets another separator."]
            )
        )
    names, n_header = _names(path, lines, separator, options)
    _check_rows(path, all_lines, n_above, lines, separator)
    if n_header == 2:
        notes.append(Note(f"Names of columns are those of two lines, such as {max(names, key=len)!r}."))
    parts = {
        "sep": r"\s+" if separator == " " else separator,
        "encoding": encoding,
        # a blank line is a missing cell of one column, and no row of several
        "skip_blank_lines": len(names) > 1,
        "skipinitialspace": len(names) == 1
        or _have_blanks(lines, separator)
        or _have_blanks_before_quotes(lines, separator),
        # blank lines are rows of one column
        "skiprows": (n_above + n_header - (n_header == 1))
        if n_header or any(map(str.strip, all_lines[:n_above]))
        else 0,
        "header": 0 if n_header == 1 else None,
    }
    decimal = options.decimal or "."
    symbols = _SYMBOLS | {str(value).strip() for value in options.na_values or ()}

    text: str | None = None
    # positions of totals within the table
    inside: list[int] = []

    def parsed(**more: Any) -> pd.DataFrame:
        def read() -> pd.DataFrame:
            return _parsed(path, text, names, {**parts, **more})

        frame: pd.DataFrame = _reading(path, encoding, read)
        return frame.drop(index=inside).reset_index(drop=True) if inside else frame

    frame = None if len(lines) < sum(map(_is_full, all_lines[n_above:])) else parsed(decimal=decimal)
    start = n_above + n_header
    if frame is None or (lines[0][:1] != "#" and _may_have_comments(frame)):
        every = _reading(path, encoding, lambda: _lines(path, encoding))
        rows = [*every[:start], *_without_comments(every[start:], separator, len(names))]
        text = "\n".join([*rows, ""])
        if n_comments := len(every) - len(rows):
            doubts.append(Note(f"Left out {counted(n_comments, 'comment')} (#) in the table."))
        frame = parsed(decimal=decimal)
    if n_header == 1 and (n_again := _headers_below(frame, names, symbols)):
        every = (
            _reading(path, encoding, lambda: _lines(path, encoding))
            if text is None
            else text.split("\n")[:-1]
        )
        text = "\n".join(
            [*every[:start], *(line for line in every[start:] if line.strip() != lines[0].strip()), ""]
        )
        lines = [lines[0], *(line for line in lines[1:] if line.strip() != lines[0].strip())]
        doubts.append(
            Note(f"Left out {counted(n_again, 'line')} in the table with the names of its columns.")
        )
        frame = parsed(decimal=decimal)
    end, between, of_rows, doubts_of_rows = rows_of_table(frame)
    if end < len(frame) or between:
        parts["nrows"], inside = end, between
        frame = parsed(decimal=decimal)
    notes += of_rows
    doubts += doubts_of_rows
    as_data = _records(lines, separator)[0] if options.header is None and n_header == 0 else []
    if options.header is None and n_header == 1 and all(names) and not _rise(names):
        # a table with a saved index has names, as have columns of rising numbers
        as_data = names_that_are_data(names, frame.iloc[:_FEW_ROWS])
    if as_data and n_header:
        # the first line is a row
        names, n_header = column_names(len(names)), 0
        parts |= {"header": None, "skiprows": n_above}
        if "nrows" in parts:
            parts["nrows"], inside = end + 1, [position + 1 for position in between]
        frame = parsed(decimal=decimal)
    if as_data:
        doubts.append(
            Note(
                [
                    f"{len(as_data)} of {len(names)} column names look like data: {listed(map(repr, as_data), 5)}. The "
                    "first line of the file is read as a row, and the columns are called x0, x1, ...; ",
                    Option("header", "first-line"),
                    " reads names from it.",
                ]
            )
        )
    if len(names) > len(_records(lines, separator)[0]) and identifier_reason(frame.iloc[:, 0], "") is None:
        raise GomeaBnError(
            f"File '{path}' is ragged: its rows have more fields than its {len(names) - 1} column names."
        )
    first_rows = _records(lines, separator)[n_header:]
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
        decimal, note = _decimal(frame, written, symbols, separator)
        if note is not None:
            notes.append(note)
        if decimal == ",":
            frame = parsed(decimal=decimal)
    frame, codes = with_codes(frame, written)
    notes += codes
    frame, left_out = without_nameless(path, frame, names)
    is_known = options.decimal or decimal == "," or separator == "," or "Float64" in map(str, frame.dtypes)
    form = TextForm(separator, decimal if is_known else None)
    return frame, form, notes, doubts + left_out


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
    if (marked := _unmarked_utf16(start)) is not None:
        return marked
    if b"\0" in start:
        raise GomeaBnError(
            f"File '{path}' is not UTF-8 text: it holds NUL bytes, as binary files and UTF-16 text do.",
            ["save it as UTF-8", Setting("encoding", "utf-16-le")],
        )
    return "utf-8-sig"


def _unmarked_utf16(start: bytes) -> str | None:
    """Return the UTF-16 of which most letters have a byte of zero on one side, or None."""
    n_letters = len(start) // 2
    even, odd = start[0::2].count(0), start[1::2].count(0)
    if not n_letters or max(even, odd) < n_letters / 2 or min(even, odd):
        return None
    return "utf-16-le" if odd > even else "utf-16-be"


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
    words, names = "", ["cp1252"]
    if isinstance(error, UnicodeDecodeError):
        around = error.object[max(error.start - 12, 0) : error.end + 12]
        # letters of one byte in words of plain ones, or words of such bytes
        runs = _HIGH_BYTES.findall(error.object)
        if runs and sum(map(len, runs)) >= 2 * len(runs):
            names = ["gb18030", "cp1251", "cp1252"]
        shown = [f"in {each} '{' '.join(around.decode(each, 'replace').split())}'" for each in names]
        words = f" It would read {listed(shown)}."
    return GomeaBnError(
        f"File '{path}' is not {name} text ({getattr(error, 'reason', error)}).{words}",
        ["save it as UTF-8", *(Setting("encoding", each) for each in names)],
    )


def _lines(path: str, encoding: str, n_lines: int | None = None) -> list[str]:
    """Return the lines of a file, or the first ones, as they are."""
    import pandas as pd

    frame = pd.read_csv(
        path,
        sep=_NO_SEPARATOR,
        header=None,
        names=["line"],
        index_col=False,
        nrows=n_lines,
        dtype=str,
        quoting=csv.QUOTE_NONE,
        keep_default_na=False,
        skip_blank_lines=False,
        encoding=encoding,
    )
    return [str(line) for line in frame["line"]]


def _after_first_lines(
    all_lines: Sequence[str], usual: str | None, options: ReadingOptions
) -> tuple[int, list[str], str | None]:
    """Return the number of lines above a table, its lines that are not blank, and the separator that a line names.

    Above a table stand blank lines, a line such as "sep=;" of a spreadsheet, comments that begin with # or %, and
    titles: lines of fewer fields, where all further lines have as many. Without a header blank lines alone count.
    Comments below the first line are left out where the other lines have as many fields only without them.
    """
    n_above = next((k for k, line in enumerate(all_lines) if line.strip()), len(all_lines))
    named = _NAMED.match(all_lines[n_above]) if n_above < len(all_lines) else None
    if named is not None:
        n_above += 1
    separators = (
        [options.separator]
        if options.separator
        else [named[1]]
        if named
        else [usual, ";", "\t", "|", ",", " "]
    )

    def rest(start: int) -> list[str]:
        lines = [*filter(_is_full, all_lines[start:])]
        if not any(line[:1] == "#" for line in lines[1:]) or lines[0][:1] == "#":
            return lines
        counts = [(mark, n_more) for mark in separators if mark for n_more in (0, 1)]
        if any(_fits(lines, *count) for count in counts):
            return lines
        plain = [line for line in lines if line[:1] != "#"]
        for mark, n_more in counts:
            if _fits(plain, mark, n_more):
                return [plain[0], *_without_comments(lines[1:], mark, len(_records(plain, mark)[-1]))]
        return lines

    def has_titles(start: int, first: int) -> bool:
        below = rest(first)
        return any(
            _fits(below, mark, n_more)
            and all(
                sum(map(bool, record)) < len(_records(below, mark)[0])
                for record in _records(all_lines[start:first], mark)
            )
            for mark in separators
            if mark
            for n_more in (0, 1)
        )

    def fits(start: int, more: Sequence[int] = (0, 1)) -> bool:
        return any(_fits(rest(start), mark, n_more) for mark in separators if mark for n_more in more)

    start = n_above
    comments = start
    while comments < len(all_lines) and (
        all_lines[comments][:1] in ("#", "%") or not all_lines[comments].strip()
    ):
        comments += 1
    if comments > start and fits(comments):
        # a header may begin with the mark of a comment
        first = comments - _is_header(rest(comments - 1), separators)
        return first, rest(first), named and named[1]
    # a blank line below titles says that they are some, also above two columns
    gap = next(
        (k for k in range(start, min(start + _MOST_ABOVE, len(all_lines))) if not all_lines[k].strip()), start
    )
    below = next((k for k in range(gap, len(all_lines)) if all_lines[k].strip()), start)
    if below > start and fits(below, (0,)) and has_titles(start, below):
        return below, rest(below), named and named[1]
    if not rest(start) or (fits(start) and not _has_title(rest(start), separators)):
        return n_above, rest(n_above), named and named[1]
    further = range(start + 1, min(start + _MOST_ABOVE, len(all_lines) - 3))
    for more in ((0,), (1,)):
        for first in further:
            is_first = all_lines[first].strip() and fits(first, more) and has_titles(start, first)
            if is_first and not _has_title(rest(first), separators):
                return first, rest(first), named and named[1]
    return n_above, rest(n_above), named and named[1]


def _without_notes_below(lines: Sequence[str]) -> list[str]:
    """Return the lines of a whole file without notes at its end, such as a source, which have fewer fields."""
    end = len(lines)
    while end > 3 and (not lines[end - 1].strip() or is_note(lines[end - 1])):
        end -= 1
    return [*lines[:end]] if any(mark in lines[end - 1] for mark in ",;\t| ") else [*lines]


def _is_full(line: str) -> bool:
    return bool(line.strip())


def _without_comments(lines: Sequence[str], separator: str, n_fields: int) -> list[str]:
    """Return lines without those that begin with #, outside of quotes, and have another number of fields or a blank."""
    rows = []
    is_quoted = False
    for line in lines:
        if line[:1] == "#" and not is_quoted:
            is_row = line[1:2].strip() and [len(record) for record in _records([line], separator)] == [
                n_fields
            ]
            if not is_row:
                continue
        is_quoted ^= line.count('"') % 2 == 1
        rows.append(line)
    return rows


def _may_have_comments(frame: pd.DataFrame) -> bool:
    """Return whether a row without a last cell begins with #, as a comment of fewer fields does."""
    first = frame.iloc[:, 0]
    if frame.shape[1] < 2 or not is_text_like(first):
        return False
    return bool(first[frame.iloc[:, -1].isna()].str.startswith("#").any())


def _headers_below(frame: pd.DataFrame, names: Sequence[str], symbols: Set[str]) -> int:
    """Return the number of rows that hold the names of all columns, or 0 if no column has numbers otherwise."""
    if len(names) < 2 or not all(names) or not all(is_text_like(column) for _, column in frame.items()):
        return 0
    is_header = np.ones(len(frame), np.bool_)
    for position, name in enumerate(names):
        is_header &= (frame.iloc[:, position].str.strip() == name).fillna(False).to_numpy(np.bool_)
        if not is_header.any():
            return 0
    rows = frame[~is_header].iloc[:_FEW_ROWS]
    columns = (_values_of(column, symbols) for _, column in rows.items())
    has_numbers = any(texts and written_with(texts) for texts in columns)
    return int(is_header.sum()) if has_numbers and not any(map(is_number, names)) else 0


def _check_rows(
    path: str, all_lines: Sequence[str], n_above: int, lines: Sequence[str], separator: str
) -> None:
    """Raise if the first rows differ in their numbers of fields, but for a short last one.

    `lines` are the rows after `n_above` of `all_lines`.
    """
    records, starts = [], []
    numbers = iter(enumerate(all_lines[n_above:], n_above + 1))
    numbers_of = [next(number for number, other in numbers if other == line) for line in lines]
    try:
        reader = _reader(lines, separator)
        start = 0
        for record in reader:
            records.append(record)
            starts.append(start)
            start = reader.line_num
    except csv.Error:
        return
    if len(all_lines) == _SAMPLE_LINES:
        # the last may end within a record
        records = records[:-1]
    counts = [len(record) for record in records[1:]]
    usual = max(counts, key=counts.count, default=0)
    for start, count in zip(starts[1:], counts, strict=False):
        if count > usual or (count < usual and start < starts[-1]):
            mark = _shown(separator)
            advice = (
                f"put fields that hold {mark} in quotes"
                if count > usual
                else f"write {mark} for empty fields too"
            )
            raise GomeaBnError(
                f"File '{path}' is ragged: line {numbers_of[start]} has {counted(count, 'field')}, "
                f"but most have {usual}: {lines[start]!r:.80}.",
                [advice, "remove the line"],
            )


def _is_header(lines: Sequence[str], separators: Sequence[str | None]) -> bool:
    """Return whether a comment names the columns of the lines below it, of which the first then has a number."""
    bare = [lines[0].lstrip("#% "), *lines[1:]]
    for mark in separators:
        if mark and _fits(bare, mark, 0):
            first, second = _records(bare[:3], mark)[:2]
            return any(map(is_number, second)) and not any(map(is_number, first))
    return False


def _has_title(lines: Sequence[str], separators: Sequence[str | None]) -> bool:
    """Return whether a first line has one field that is not blank, and the second has three or more."""
    for mark in separators:
        if mark and _fits(lines, mark, 0):
            records = _records(lines[:3], mark)
            full = [sum(map(bool, record)) for record in records]
            return len(full) > 1 and full[0] < 2 and len(records[0]) > 2
    return False


def _have_blanks(lines: Sequence[str], separator: str) -> bool:
    """Return whether a blank follows every separator, as in "a, b"."""
    if separator in " \t":
        return False
    pairs = [part for line in lines for part in line.rstrip().split(separator)[1:]]
    return (
        bool(pairs)
        and all(part[:1] in (" ", "") for part in pairs)
        and any(part[:1] == " " for part in pairs)
    )


def _records(lines: Sequence[str], separator: str) -> list[list[str]]:
    """Return the fields of the first records; the last is left out where the lines may end within it."""
    try:
        records = [[field.strip() for field in record] for record in _reader(lines, separator) if record]
    except csv.Error:
        return []
    return records[:-1] if len(lines) == _SAMPLE_LINES and len(records) > 1 else records


def _reader(lines: Sequence[str], separator: str) -> Any:
    is_blank = separator == " "
    skips = is_blank or _have_blanks_before_quotes(lines, separator)
    # a quoted field may hold line ends
    texts = [f"{line.strip() if is_blank else line}\n" for line in lines]
    return csv.reader(texts, delimiter=separator, skipinitialspace=skips)


def _have_blanks_before_quotes(lines: Sequence[str], separator: str) -> bool:
    """Return whether records have as many fields as the first only if blanks before quotes are skipped."""
    if separator in " \t" or not any(f'{separator} "' in line for line in lines):
        return False
    texts = [f"{line}\n" for line in lines]
    try:
        as_is, skipped = [
            {
                len(record)
                for record in csv.reader(texts, delimiter=separator, skipinitialspace=skips)
                if record
            }
            for skips in (False, True)
        ]
    except csv.Error:
        return False
    return len(as_is) > 1 and len(skipped) == 1


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


def _names(path: str, lines: Sequence[str], separator: str, options: ReadingOptions) -> tuple[list[str], int]:
    """Return the names of the columns, "" for a column without one, and the number of lines that hold them."""
    records = _records(lines, separator)
    if not records:
        raise GomeaBnError(f"File '{path}' is ragged or has an unclosed quote in its first lines.")
    first = records[0]
    if first[0][:1] == "#" and first[0][1:].strip():
        first = [first[0].lstrip("# "), *first[1:]]
    if options.columns is None and not options.drop:
        check_column_count(len(first))
    if options.header == "none":
        return column_names(len(first)), 0
    if len(first) == 1 and len(records) > 1 and len(records[1]) > 1:
        raise GomeaBnError(
            f"File '{path}' is ragged: its first line is {first[0]!r:.60}, but the next has {len(records[1])} fields.",
            ["remove the lines above the column names"],
        )
    symbols = _SYMBOLS | {str(value).strip() for value in options.na_values or ()}
    if _has_second_line(records, symbols):
        more = ["" if text in symbols else text for text in records[1]]
        above = [
            name or (text and before) for name, before, text in zip(first, ["", *first], more, strict=False)
        ]
        first = [f"{name} {text}".strip() for name, text in zip(above, more, strict=True)]
        check_first_line(path, first)
        return first, 2
    if options.header is None and len(records) > 1 and _are_numbers(first):
        return column_names(len(first)), 0
    check_first_line(path, first)
    if not any(first):
        raise GomeaBnError(f"File '{path}' has no column names: the fields of its first line are blank.")
    # as R writes row names
    if len(records) > 2 and all(len(record) == len(first) + 1 for record in records[1:]):
        return ["", *first], 1
    if len(first) == 1 and any(mark in first[0] for mark in ";\t,|"):
        raise GomeaBnError(
            [
                f"File '{path}' has only one column, '{first[0]:.60}', when its fields are separated by "
                f"{_shown(separator)}; set another separator with ",
                Option("sep"),
                ".",
            ]
        )
    return first, 1


def _has_second_line(records: Sequence[Sequence[str]], symbols: Set[str]) -> bool:
    """Return whether the second record has units of columns that hold numbers below it, and no number there.

    Some of these columns may have none, a blank or one of the symbols of missing values. Then, or if there is one unit,
    the texts of other columns must be no values: below them stand fewer texts than rows, and others.
    """
    if len(records) < 5 or {len(record) for record in records} != {len(records[0])}:
        return False
    n_units = 0
    are_all, are_no_values = True, True
    for first, second, *below in zip(*records, strict=True):
        is_unit = bool(second) and second not in symbols
        present = [text for text in below if text and text not in symbols]
        if present and all(is_number(text, ".") or is_number(text, ",") for text in present):
            if is_number(first) or is_number(second, ".") or is_number(second, ","):
                return False
            n_units += is_unit
            are_all &= is_unit
        elif is_unit and (second in present or len({*present}) == len(present)):
            are_no_values = False
    return n_units > 0 and (are_no_values or (are_all and n_units > 1))


def _are_numbers(names: Sequence[str]) -> bool:
    """Return whether all names are numbers, and some are no whole ones or the same, which no names are.

    Some may be symbols of missing values, if most are numbers.
    """
    numbers = [name for name in names if name.lower() not in ("nan", "na")]
    are_names = all(name.lstrip("+-").isdigit() for name in numbers) and len({*numbers}) == len(numbers)
    return 2 * len(numbers) > len(names) and all(map(is_number, numbers)) and not are_names


def _rise(names: Sequence[str]) -> bool:
    """Return whether those of the names that are numbers rise from the first to the last."""
    numbers = [float((numbers_in([name]) or [0])[0]) for name in names if is_number(name)]
    return len(numbers) > 2 and all(low < high for low, high in pairwise(numbers))


def _parsed(path: str, text: str | None, names: Sequence[str], parts: dict[str, Any]) -> pd.DataFrame:
    """Return the table as pandas reads it from a text or the file; only empty cells are missing values."""
    import pandas as pd

    if tuple(int(part) for part in pd.__version__.split(".")[:2]) < (3, 1):
        # the default from pandas 3.1 on, where the option is deprecated
        parts = {**parts, "float_precision": "round_trip"}
    unique = [name or f"\0{position}" for position, name in enumerate(names)]
    try:
        frame: pd.DataFrame = pd.read_csv(
            path if text is None else io.StringIO(text),
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


def _decimal(
    frame: pd.DataFrame, written: pd.DataFrame, symbols: Set[str], separator: str
) -> tuple[str, Note | None]:
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
    if separator == "," and not commas and not any("," in text for _, text in either):
        return ".", None
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


def check_first_line(path: str, names: Sequence[str]) -> None:
    """Raise if the first line, whose fields are `names`, cannot be the column names; names may be blank."""
    if _are_numbers(names):
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

    `names` has "" for such a column. One that holds more than row names or an index gets its position as a name.
    """
    nameless, kept = {}, {}
    for position, name in enumerate(names):
        if name:
            continue
        series = frame.iloc[:, position]
        reason = "empty" if series.isna().all() else identifier_reason(series, "") or _index_reason(series)
        if reason is None:
            kept[position] = f"column {position}"
            continue
        nameless[position] = reason
    said: list[Note] = []
    if kept:
        new = {frame.columns[position]: name for position, name in kept.items()}
        said.append(
            Note(
                f"'{path}' has no name for {listed(list(kept.values()), 5)} (counted from 0), which is called so."
            )
        )
        frame = frame.rename(columns=new)
    if not nameless:
        return frame, said
    columns = listed([f"column {position} ({reason})" for position, reason in nameless.items()], 5)
    remaining = [position for position in range(len(names)) if position not in nameless]
    note = Note(f"Left out columns without a name, counted from 0: {columns}.", ["name them to keep them"])
    return frame.iloc[:, remaining], [*said, note]


def _index_reason(series: pd.Series[Any]) -> str | None:
    """Return why whole numbers are a saved index: they rise, or start again where frames were joined; or None."""
    from pandas.api import types

    if not types.is_integer_dtype(series.dtype) or series.isna().any():
        return None
    numbers = series.to_numpy(np.int64)
    steps = np.diff(numbers)
    if (steps > 0).all() or len(np.unique(numbers)) == len(numbers):
        return "different whole numbers"
    first = int(numbers[0])
    starts_again = (steps > 0) | ((numbers[1:] == first) & (steps < 0))
    return "a running number that starts again" if first in (0, 1) and starts_again.all() else None


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
