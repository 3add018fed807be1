"""Counts and lists as text, for messages, reports and pages."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun, "1 edge" or "3 edges"; `plural` is for nouns that do not end in "s"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(items: Iterable[object], most: int | None = None) -> str:
    """Return "a, b, c"; beyond `most` items "a, b and 5 more"."""
    texts = [str(item) for item in items]
    if most is None or len(texts) <= most:
        return ", ".join(texts)
    return f"{', '.join(texts[:most])} and {len(texts) - most} more"


def percent(share: float) -> str:
    """Return a share as "49 %", with one decimal below 10 %, and "below 0.1 %" for one that would round to 0."""
    if share == 0:
        return "0 %"
    if 0 < share < 0.0005:
        return "below 0.1 %"
    return f"{100 * share:.{0 if round(100 * share, 1) >= 10 else 1}f} %"


def amount(value: float, digits: int = 2) -> str:
    """Return a size with some digits, or "less than 0.001" for one that is no more than rounding, and not 0."""
    return "less than 0.001" if 0 < value < 0.0005 else f"{value:.{digits}g}"


def text_width(text: str) -> float:
    """Return the approximate width in pixels of a text in a font of 12.5 pixels."""
    return sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return 13.0
    if letter in "mwMW@%":
        return 10.8
    if letter in "fijlrtI.,:;'|!()[] ":
        return 4.4
    return 8.6 if letter.isupper() else 7.1


def shown_name(name: str) -> str:
    """Return a name, in quotes if it could be misread within a line: line ends, outer blanks, arrows."""
    return name if name.isprintable() and name == name.strip() and "→" not in name else repr(name)
