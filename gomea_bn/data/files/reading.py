"""Options for reading tables, the notes that reading leaves, and the rows that were read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from math import isinf
from typing import TYPE_CHECKING, Any, NamedTuple

from gomea_bn.errors import (
    GomeaBnError,
    GomeaBnWarning,
    Option,
    check_choice,
    check_integer,
    is_real,
    mapping_in,
    nearest,
    wrong_option,
)
from gomea_bn.parameters import Choice, check_declared, declarations, option
from gomea_bn.runtime.files import file_text, load_json
from gomea_bn.texts import listed

if TYPE_CHECKING:
    import pandas as pd

Note = GomeaBnWarning
"""What reading did to a table, in words; its options can be spelled as on the command line."""

OF_TEXT = ("sep", "encoding", "header")
"""Options that apply to text files only."""
FILE_OPTIONS = (*OF_TEXT, "sheet")
"""Options that apply to files only."""

SEPARATOR_NAMES = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "bar": "|", "space": " "}
"""Names for separators that are hard to type."""

TEXT, NUMBER, DATE, TIME_OF_DAY = "text", "number", "date", "time"
FORMS = (
    TEXT,
    NUMBER,
    f"{NUMBER} in UNIT",
    f"{NUMBER} with limit LIMIT",
    DATE,
    f"{DATE} day-month",
    f"{DATE} month-day",
    TIME_OF_DAY,
)
"""Forms in which the texts of a column may be read; UNIT stands for a unit, a currency or %.

A unit may come before a limit, below which the numbers are that words such as trace stand for.
"""

_NUMBER_FORM = re.compile(
    rf"{NUMBER}(?: in (?P<unit>\S.*?))?(?: with limit (?P<limit>[+-]?\d+(?:\.\d*)?(?:e[+-]?\d+)?))?"
)


def number_form(form: str) -> tuple[str | None, float | None] | None:
    """Return the unit and the limit that a form of numbers names, None for each that it does not; None for others."""
    match = _NUMBER_FORM.fullmatch(form)
    return match and (match["unit"], None if match["limit"] is None else float(match["limit"]))


class TextForm(NamedTuple):
    """How a text file writes a table: its separator and its decimal mark, None if each column is to decide."""

    separator: str = ","
    decimal: str | None = None


USUAL_FORM = TextForm()
"""That of files that do not say otherwise."""


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """How a table is read: the options of `gomea_bn.read_table` that describe the source.

    Raises
    ------
    GomeaBnError
        For an option of the wrong type or value.
    """

    sep: str | None = option(
        None,
        None,
        "Separator of a text file: one character, tab or space. Default: detected.",
        metavar="MARK",
    )
    decimal: str | None = option(
        None,
        Choice((".", ","), optional=True),
        "Decimal mark of a text file: . or ,. Default: detected.",
        metavar="MARK",
    )
    encoding: str | None = option(
        None, None, "Encoding of a text file, such as cp1252. Default: UTF-8.", metavar="NAME"
    )
    na_values: tuple[str | float, ...] | None = option(
        None,
        None,
        "'?,NA,-999': all symbols of missing values; '' for empty cells only; may be repeated. Default: empty cells, "
        "NA, NaN, null, ?, - and the like, for which the word usual stands.",
        metavar="SYMBOLS",
        repeats=True,
    )
    columns: tuple[str, ...] | None = option(
        None,
        None,
        "NAME,NAME: columns to read; may be repeated. Default: all.",
        metavar="NAME,NAME",
        repeats=True,
    )
    drop: tuple[str, ...] = option(
        (), None, "NAME,NAME: columns to leave out; may be repeated.", metavar="NAME,NAME", repeats=True
    )
    sheet: str | int | None = option(
        None,
        None,
        "Sheet of a spreadsheet, by name or number from 0. Default: the first with cells.",
        metavar="NAME",
    )
    header: str | None = option(
        None,
        Choice(("first-line", "none"), optional=True),
        "first-line: it holds the column names; none: columns are x0, x1, ... Default: first-line, unless most of "
        "its fields are values of their columns.",
        metavar="NAME",
    )
    dates: str = option(
        "numbers",
        Choice(("numbers", "drop")),
        "numbers: dates become days since 1970-01-01; drop: they are left out. Default: numbers.",
        metavar="NAME",
    )
    forms: Mapping[str, str] = option(
        {},
        None,
        "'NAME=date day-month', 'NAME=date month-day', NAME=date, NAME=time, NAME=number, 'NAME=number in mg' or "
        "NAME=text: how the texts of a column are read; may be repeated. Default: as all of them can be read.",
        command="form",
        metavar="COLUMN=FORM",
        repeats=True,
    )
    lags: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, **options: Any) -> ReadingOptions:
        """Return the options after checks; sequences may be lists, and one name or value may stand alone."""
        for name in ("na_values", "columns", "drop"):
            if options.get(name) is not None:
                options[name] = _several(name, options[name])
        for name in ("drop", "forms"):
            if options.get(name, ()) is None:
                del options[name]
        return cls(**options)

    def __post_init__(self) -> None:
        separator = self.separator
        is_mark = isinstance(separator, str) and len(separator) == 1 and separator not in '"\n\r'
        if separator is not None and not is_mark:
            names = ", ".join(map(repr, SEPARATOR_NAMES))
            raise wrong_option("sep", f"must be one character or one of {names}, got {self.sep!r:.80}.")
        check_declared(declarations(type(self)).values(), vars(self))
        if separator is not None and separator == self.decimal:
            raise GomeaBnError(
                [Option("sep"), " and ", Option("decimal"), f" must differ, got {self.decimal!r} for both."]
            )
        if self.encoding is not None:
            import codecs

            try:
                codecs.lookup(str(self.encoding))
            except LookupError:
                example = f"such as utf-8 or cp1252, got {self.encoding!r:.80}."
                raise wrong_option("encoding", f"must be the name of an encoding {example}") from None
        if self.sheet is not None and not isinstance(self.sheet, str):
            check_integer("sheet", self.sheet, 0)
        for name in ("columns", "drop"):
            for value in getattr(self, name) or ():
                if not isinstance(value, str):
                    raise GomeaBnError([Option(name), f" must hold names of columns, got {value!r:.80}."])
        forms = mapping_in("forms", self.forms, "names of columns")
        for name, form in forms.items():
            if not isinstance(form, str) or number_form(form) is None:
                check_choice(f"forms['{name}']", form, FORMS)
        object.__setattr__(self, "forms", {str(name): form for name, form in forms.items()})
        if self.lags is not None:
            object.__setattr__(self, "lags", _checked_lags(self.lags))
        for value in self.na_values or ():
            if not isinstance(value, str) and not is_real(value):
                raise GomeaBnError([Option("na_values"), f" must hold texts and numbers, got {value!r:.80}."])

    @property
    def separator(self) -> str | None:
        """Separator as a character, or None if it is to be detected."""
        if self.sep is None or not isinstance(self.sep, str):
            return self.sep
        return SEPARATOR_NAMES.get(self.sep, self.sep)

    @property
    def given(self) -> dict[str, Any]:
        """Options that differ from the defaults, as plain values that `of` takes and JSON can hold."""
        options = {field.name: getattr(self, field.name) for field in fields(self)}
        given = {name: value for name, value in options.items() if value != getattr(_DEFAULTS, name)}
        for name, parts in given.items():
            if isinstance(parts, tuple):
                # infinite numbers as text, and without NaN, which is missing anyway
                plain = [str(part) if isinstance(part, float) and isinf(part) else part for part in parts]
                given[name] = [part for part in plain if part == part]
        return given


OF_TABLE = ("kinds", "missing", "max_levels")
"""Options in a file of options for reading that `gomea_bn.read_table` has besides those of `ReadingOptions`."""


def reading_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the options for reading tables in a JSON file, by their names in Python.

    The file holds one object, which may also have those of `OF_TABLE`. Raises `GomeaBnError` for
    other content.
    """
    text = file_text(path, "options for reading")
    where = f"file '{os.fspath(path)}'"
    options = load_json(text, f"'{os.fspath(path)}'")
    if not isinstance(options, dict):
        raise GomeaBnError(f'{where} must hold an object such as {{"sep": ";"}}, got {options!r:.80}.')
    names = [*(field.name for field in fields(ReadingOptions)), *OF_TABLE]
    for name in options:
        if name not in names:
            raise GomeaBnError(
                f"{where} has {name!r}, which is none of {', '.join(names)}.{nearest(name, names)}"
            )
    kinds = options.get("kinds", {})
    if not isinstance(kinds, dict) or not all(kind in ("continuous", "discrete") for kind in kinds.values()):
        raise GomeaBnError(f"{where}: kinds must map columns to continuous or discrete, got {kinds!r:.80}.")
    return options


def _checked_lags(given: Any) -> dict[str, Any]:
    """Return the parameters of `gomea_bn.lagged`, with the lags as a list in rising order."""
    lags = mapping_in("lags", given, "time, group and lags")
    if not {"time"} <= {*lags} <= {"time", "group", "lags"}:
        raise wrong_option("lags", f"must have a time and may have a group and lags, got {listed([*lags])}.")
    for name in ("time", "group"):
        if not isinstance(lags.get(name, ""), str):
            raise wrong_option("lags", f"must name columns, got {lags[name]!r:.80} as the {name}.")
    if lags["time"] == lags.get("group"):
        raise wrong_option("group", f"must be another column than time, got '{lags['time']}' for both.")
    return {**lags, "lags": checked_lags(lags.get("lags", 1))}


def checked_lags(lags: int | Iterable[int]) -> list[int]:
    """Return the lags in rising order, all of them up to a number."""
    if not isinstance(lags, Iterable):
        check_integer("lags", lags, 1)
        return list(range(1, int(lags) + 1))
    steps = list(lags)
    for step in steps:
        check_integer("lags", step, 1)
    if not steps:
        raise wrong_option("lags", "must name at least one number of rows, got none.")
    return sorted(set(steps))


def _several(name: str, value: Any) -> tuple[Any, ...]:
    """Return one name or value, or several, as a tuple; names of columns become text."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        value = (value,)
    if isinstance(value, dict):
        raise GomeaBnError([Option(name), f" must be a list, got {type(value).__name__}."])
    return tuple(str(part) for part in value) if name != "na_values" else tuple(value)


_DEFAULTS = ReadingOptions()


@dataclass(frozen=True)
class Loaded:
    """Rows of the chosen columns of a source, without symbols of missing values, and the options that were used.

    `notes` say what reading detected, and `warnings` what may not be as the owner of the table expects. `weights` is
    the column that has the weights of the rows, which is no variable, `groups` a column of the frame whose values name
    the groups of the rows, and `duration` one of times until an event. `form` is that of a text file, and the usual one
    of other sources. `limited` has the texts with limits of columns that `options.forms` names, see `in_given_forms`.
    `forms` are those by which other rows must be read that `options` does not have, and `dtypes` the types of the
    columns of a frame of pandas.
    """

    frame: pd.DataFrame
    options: ReadingOptions
    notes: tuple[Note, ...]
    warnings: tuple[Note, ...]
    weights: pd.Series[Any] | None = None
    groups: str | None = None
    duration: str | None = None
    form: TextForm = USUAL_FORM
    limited: Mapping[str, pd.Series[Any]] = field(default_factory=dict)
    forms: Mapping[str, str] = field(default_factory=dict)
    dtypes: Mapping[str, str] = field(default_factory=dict)
