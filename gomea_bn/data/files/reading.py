"""Options for reading tables, and the notes that reading leaves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from math import isinf
from typing import Any, NamedTuple

from gomea_bn.errors import (
    GomeaBnError,
    GomeaBnWarning,
    Option,
    check_choice,
    check_integer,
    is_real,
    wrong_option,
)

Note = GomeaBnWarning
"""What reading did to a table, in words; its options can be spelled as on the command line."""

SEPARATOR_NAMES = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "bar": "|", "space": " "}
"""Names for separators that are hard to type."""


class TextForm(NamedTuple):
    """How a text file writes a table: its separator and its decimal mark."""

    separator: str = ","
    decimal: str = "."


USUAL_FORM = TextForm()
"""That of files that do not say otherwise."""

HEADERS = ("first-line", "none")
_DATES = ("numbers", "drop")


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """How a table is read: the options of `gomea_bn.read_table` that describe the source.

    Raises
    ------
    GomeaBnError
        For an option of the wrong type or value.
    """

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    na_values: tuple[str | float, ...] | None = None
    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    sheet: str | int | None = None
    header: str = "first-line"
    dates: str = "numbers"

    @classmethod
    def of(cls, **options: Any) -> ReadingOptions:
        """Return the options after checks; sequences may be lists, and one name or value may stand alone."""
        for name in ("na_values", "columns", "drop"):
            if options.get(name) is not None:
                options[name] = _several(name, options[name])
        if options.get("drop", ()) is None:
            del options["drop"]
        return cls(**options)

    def __post_init__(self) -> None:
        separator = self.separator
        is_mark = isinstance(separator, str) and len(separator) == 1 and separator not in '"\n\r'
        if separator is not None and not is_mark:
            names = ", ".join(map(repr, SEPARATOR_NAMES))
            raise wrong_option("sep", f"must be one character or one of {names}, got {self.sep!r:.80}.")
        check_choice("decimal", self.decimal, (".", ","), optional=True)
        check_choice("header", self.header, HEADERS)
        check_choice("dates", self.dates, _DATES)
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


def _several(name: str, value: Any) -> tuple[Any, ...]:
    """Return one name or value, or several, as a tuple; names of columns become text."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        value = (value,)
    if isinstance(value, dict):
        raise GomeaBnError([Option(name), f" must be a list, got {type(value).__name__}."])
    return tuple(str(part) for part in value) if name != "na_values" else tuple(value)


_DEFAULTS = ReadingOptions()
