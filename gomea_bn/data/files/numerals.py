"""Numbers that are written as text: decimal points and commas, groups of three digits."""

from __future__ import annotations

import re
from collections.abc import Sequence

_SIGN, _EXPONENT = r"[+-]?", r"([eE][+-]?\d+)?"
_INFINITE = re.compile(rf"{_SIGN}inf(inity)?", re.IGNORECASE)
_WHOLE = re.compile(rf"{_SIGN}\d+")

CODE = r"0\d+"
"""Pattern of digits with a leading zero, as postal codes have: a number would lose the zero."""

_CODE = re.compile(CODE)


def _patterns(decimal: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a plain number, and of one with marked groups of three digits."""
    mark, group = re.escape(decimal), re.escape("," if decimal == "." else ".")
    plain = re.compile(rf"{_SIGN}(\d+({mark}\d*)?|{mark}\d+){_EXPONENT}")
    grouped = re.compile(rf"{_SIGN}[1-9]\d{{0,2}}({group}\d{{3}})+({mark}\d*)?")
    return plain, grouped


_PATTERNS = {decimal: _patterns(decimal) for decimal in (".", ",")}


def is_number(text: str, decimal: str = ".") -> bool:
    """Return whether a text is a number with this decimal mark, perhaps with groups of three digits; `CODE` is none."""
    plain, grouped = _PATTERNS[decimal]
    return not _CODE.fullmatch(text) and bool(
        plain.fullmatch(text) or grouped.fullmatch(text) or _INFINITE.fullmatch(text)
    )


def written_with(texts: Sequence[str], marks: str = ".,") -> str:
    """Return those of some decimal marks with which all texts are numbers: "", ".", "," or ".,"."""
    return "".join(decimal for decimal in marks if all(is_number(text.strip(), decimal) for text in texts))


def numbers_in(texts: Sequence[str], decimal: str = ".") -> list[int] | list[float] | None:
    """Return the numbers that the texts stand for, integers if all are whole, or None if one is not a number.

    Outer blanks are ignored. The other mark than `decimal` may separate groups of three digits.
    """
    stripped = [text.strip() for text in texts]
    if not stripped or not all(is_number(text, decimal) for text in stripped):
        return None
    group = "," if decimal == "." else "."
    plain = [text.replace(group, "").replace(decimal, ".") for text in stripped]
    if all(_WHOLE.fullmatch(text) for text in plain):
        whole = [int(text) for text in plain]
        if max(map(abs, whole)) < 2**63:
            return whole
    return [float(text) for text in plain]
