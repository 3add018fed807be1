"""Texts that stand for numbers: marks of decimals and thousands, units, currencies, limits of detection."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

CODE = r"0\d+"
"""Pattern of digits with a leading zero, as postal codes have: a number would lose the zero."""

CODE_PATTERN = re.compile(CODE)
_SIGN, _EXPONENT = r"[+-]?", r"([eE][+-]?\d+)?"
_INFINITE = re.compile(rf"{_SIGN}inf(inity)?", re.IGNORECASE)
_WHOLE = re.compile(rf"{_SIGN}\d+")
# minus signs of typography, blanks that break no line, and apostrophes, as a keyboard has them
_TYPED = str.maketrans(
    {
        **dict.fromkeys((0x2212, 0x2013, 0xFE63, 0xFF0D), "-"),
        **dict.fromkeys((0xA0, 0x202F, 0x2009, 0x2007), " "),
        0x2019: "'",
    }
)


def _number_patterns(decimal: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a plain number, and of one with marked groups of three digits."""
    mark, group = re.escape(decimal), re.escape("," if decimal == "." else ".")
    plain = re.compile(rf"{_SIGN}(\d+({mark}\d*)?|{mark}\d+){_EXPONENT}")
    grouped = re.compile(rf"{_SIGN}[1-9]\d{{0,2}}(?P<mark>[{group}' ])\d{{3}}((?P=mark)\d{{3}})*({mark}\d*)?")
    return plain, grouped


_PATTERNS = {decimal: _number_patterns(decimal) for decimal in (".", ",")}


def typed(text: str) -> str:
    """Return a text without outer blanks, with the minus sign, the blank and the apostrophe of a keyboard."""
    return text.strip() if text.isascii() else text.translate(_TYPED).strip()


def is_number(text: str, decimal: str = ".") -> bool:
    """Return whether a text is a number with this decimal mark, perhaps with groups of three digits; `CODE` is none.

    The groups are separated by the other mark, by blanks or by apostrophes.
    """
    plain, grouped = _PATTERNS[decimal]
    text = typed(text)
    return not CODE_PATTERN.fullmatch(text) and bool(
        plain.fullmatch(text) or grouped.fullmatch(text) or _INFINITE.fullmatch(text)
    )


def written_with(texts: Sequence[str], marks: str = ".,") -> str:
    """Return those of some decimal marks with which all texts are numbers: "", ".", "," or ".,"."""
    return "".join(decimal for decimal in marks if all(is_number(text, decimal) for text in texts))


def numbers_in(texts: Sequence[str], decimal: str = ".") -> list[int] | list[float] | None:
    """Return the numbers that the texts stand for, integers if all are whole, or None if one is not a number.

    Outer blanks are ignored. The groups of three digits may be separated as of `is_number`.
    """
    if not texts or not all(is_number(text, decimal) for text in texts):
        return None
    plain = [_without_groups(typed(text), decimal) for text in texts]
    if all(_WHOLE.fullmatch(text) for text in plain):
        whole = [int(text) for text in plain]
        if max(map(abs, whole)) < 2**63:
            return whole
    return [float(text) for text in plain]


def _without_groups(text: str, decimal: str) -> str:
    """Return a number as Python writes it."""
    for mark in ("," if decimal == "." else ".", " ", "'"):
        text = text.replace(mark, "")
    return text.replace(decimal, ".")


# three letters of ISO 4217 that are frequent, and other texts that stand before or after an amount
_CURRENCY = (
    r"(?:[A-Z]{1,3})?[$€£¥₹₽₩₺₴₫₪฿¢]|USD|EUR|GBP|CHF|JPY|CNY|RMB|SEK|NOK|DKK|PLN|CZK|HUF|CAD|AUD|NZD|INR|BRL|"
    r"MXN|ZAR|TRY|KRW|SGD|HKD|RUB|Fr\.|kr\.?|Rs\.?"
)
# begins with a letter or a sign of degrees or parts, goes on to a blank, and may have a second word
_UNIT = r"[^\W\d_%‰°ºµμ]*[^\W\d_]?[%‰°ºµμΩ]?(?:[^\W_]|[/·^*²³⁻¹%.-])*(?: [^\W\d_]\S*)?"
_SHORT = 15
_PARTS = re.compile(
    rf"(?P<limit><=|>=|=<|=>|[<>≤≥])? ?(?P<sign>[+-])? ?(?P<before>{_CURRENCY})? ?"
    rf"(?P<number>[+-]?(?:\d[\d.,' ]*|[.,]\d+)(?:[eE][+-]?\d+)?)(?P<more>\+)? ?(?P<after>\D.*)?"
)
# neither a time of day such as T134500 nor the second part of a code such as 1001-01
_AFTER = re.compile(rf"(?:{_CURRENCY})|(?!T\d|[-.]|[/·^*]\d){_UNIT}")
# no codes with hyphens, and no long ones
_MEASURED = re.compile(
    rf"(?:{_CURRENCY})? ?[+-]?(?:\d{{1,4}}|\d{{1,3}}(?:[,' ]\d{{3}})*)(?:[.,]\d+)? ?"
    r"(?:(?:[/±x]|\+/-) ?\d[\d.,/ ]*.{0,9}|[^\W\d_].{0,14}|%|\*+)?"
)
# what laboratories put after values beyond the normal range; small letters are units, hours and litres
_FLAG = re.compile(
    r"(?P<value>.*?[^\s*])(?:(?:(?<=\d)| )(?P<letters>\(?(?:HH?|LL?|(?i:high|low|abnormal|critical))\)?\*{0,3})|"
    r" ?(?P<stars>\*{1,3}|[↑↓]{1,2}))"
)
_LIMIT_WORDS = re.compile(
    r"<? ?(?:trace|traces|tr\.?|nd|n\.d\.?|not detected|non-detect|bdl|b\.d\.l\.|bql|blq|bloq|lod|loq|lloq|below "
    r"(?:the )?(?:limit|detection|lod|loq).*)",
    re.IGNORECASE,
)
# in accounts, and in files of programs that put the sign last
_NEGATIVE = re.compile(r"\((?!0\d)([^()+-]*\d[^()+-]*)\)|(?!0\d)([^()+-]*\d)-")


class NumberTexts(NamedTuple):
    """What distinct texts of a column stand for, None for a missing value.

    `unit` stands next to all numbers, or is empty. `limits` has what texts below or above a limit are read as, by the
    text. `limit` is the limit by which words such as "trace" are read; None if there are none or nothing states it.
    `flags` are the different ones, such as "H", that stood after numbers and say nothing of these.
    """

    numbers: Sequence[float | None]
    unit: str
    limits: dict[str, float | None]
    limit: float | None = None
    flags: tuple[str, ...] = ()


def number_texts(
    texts: Sequence[str],
    decimal: str = ".",
    unit: str | None = None,
    limit: float | None = None,
    *,
    is_given: bool = False,
) -> NumberTexts | None:
    """Return the numbers that distinct texts stand for, or None if they are not all numbers of one unit.

    A unit, a sign of percent or a currency stands next to every number or to none; mg and MG are one unit. A text such
    as "<0.006" is read as half the limit, or as the limit if that is not positive, and one such as ">90" or "90+" as
    the limit. A word such as "trace" is read as a number below `limit`, by default the smallest of the texts, and is
    missing without any. At least half of the texts must be numbers without a limit. "(5)" and "5-" are -5 if other
    texts have no such sign. With `is_given` the texts are known to be numbers, and these two conditions do not count.
    With `unit` no other one is taken. Where not all texts have one unit otherwise, flags of laboratories are left out,
    "5.1 H" is 5.1, unless more than half of the texts have one: these are codes.
    """
    read = _unflagged_numbers(texts, decimal, unit, limit, is_given=is_given)
    if read is not None:
        return read
    flags = [match and (match["stars"] or match["letters"]) for match in map(_FLAG.fullmatch, texts)]
    n_flags = sum(flag is not None for flag in flags)
    if not n_flags or (not is_given and n_flags > 0.5 * len(texts)):
        return None
    plain = [text.removesuffix(flag).rstrip() if flag else text for text, flag in zip(texts, flags)]
    read = _unflagged_numbers(plain, decimal, unit, limit, is_given=is_given)
    if read is None:
        return None
    limits = {text: read.limits[value] for text, value in zip(texts, plain) if value in read.limits}
    return read._replace(limits=limits, flags=tuple(dict.fromkeys(flag for flag in flags if flag)))


def _unflagged_numbers(
    texts: Sequence[str], decimal: str, unit: str | None, limit: float | None, *, is_given: bool
) -> NumberTexts | None:
    """Return what `number_texts` does for texts without flags."""
    negative = [match and "-" + (match[1] or match[2]).strip() for match in map(_NEGATIVE.fullmatch, texts)]
    signed = [new or typed(text) for new, text in zip(negative, texts)]
    if any(negative) and all(negative) and not is_given:
        return None
    plain = numbers_in(signed, decimal)
    if plain is not None:
        return NumberTexts(plain, "", {}) if not unit else None
    matches: list[re.Match[str] | None] = []
    n_limits, units = 0, Counter[str]()
    for text in signed:
        match = _PARTS.fullmatch(text)
        if match is not None and match["number"] and is_number(match["number"].rstrip(), decimal):
            found = _unit_of(match)
            # a range such as 1-2 and a second number are no unit
            if found is None or not all(_alike(found, other) for other in units):
                return None
            units[found] += 1
            n_limits += bool(match["limit"] or match["more"])
            matches.append(match)
        elif _LIMIT_WORDS.fullmatch(text):
            n_limits += 1
            matches.append(None)
        else:
            return None
    if not is_given and (not units or n_limits > 0.5 * len(texts)):
        return None
    found = units.most_common(1)[0][0] if units else _short(unit or "")
    if unit is not None and not all(_alike(other, _short(unit)) for other in units or [found]):
        return None
    read = [None if match is None else _number(match, decimal) for match in matches]
    if None in matches and limit is None:
        below = [number for match, number in zip(matches, read) if match and _is_below(match)]
        limit = min((number for number in below if number is not None), default=None)
    numbers: list[float | None] = []
    limits: dict[str, float | None] = {}
    for text, match, number in zip(texts, matches, read):
        value = _below(limit) if number is None else number
        if match and _is_below(match):
            value = _below(number)
        numbers.append(value if value is None or not n_limits else float(value))
        if match is None or match["limit"] or match["more"]:
            limits[text] = value
    return NumberTexts(numbers, found, limits, limit if None in matches else None)


def is_measured(text: str) -> bool:
    """Return whether a text begins with a number, and goes on with a unit, a flag or a second number: "120/80"."""
    return bool(_MEASURED.fullmatch(typed(text)))


def is_below_limit(text: str) -> bool:
    """Return whether a text is that of a number below a limit, such as "<5", with either decimal mark."""
    match = _PARTS.fullmatch(typed(text))
    return match is not None and _is_below(match) and written_with([match["number"].rstrip()]) != ""


def without_unit(text: str) -> str:
    """Return a text such as "<5 mg" without what stands next to its number; others, such as "<LOD", stay."""
    match = _PARTS.fullmatch(typed(text))
    if match is None or not (match["before"] or match["after"]):
        return text
    return "".join(match[part] or "" for part in ("limit", "sign", "number", "more")).replace(" ", "")


def _below(limit: float | None) -> float | None:
    """Return the number that stands for those below a limit: half of it, or itself if it is not positive."""
    return limit / 2 if limit is not None and limit > 0 else limit


def _number(match: re.Match[str], decimal: str) -> int | float:
    (number,) = numbers_in([match["number"]], decimal) or [0]
    return -number if match["sign"] == "-" else number


def _is_below(match: re.Match[str]) -> bool:
    return match["limit"] in ("<", "<=", "=<", "≤")


def _unit_of(match: re.Match[str]) -> str | None:
    """Return the unit next to a number, "" without one; None where what stands there is none."""
    before, after = match["before"] or "", (match["after"] or "").strip()
    if (before and after) or len(after) > _SHORT or (after and not _AFTER.fullmatch(after)):
        return None
    return _short(before or after)


def _alike(unit: str, other: str) -> bool:
    """Return whether two units are one but for capitals, which one has none of: mW and MW are two, and m and M."""
    if unit == other:
        return True
    return len(unit) > 1 and unit.lower() == other.lower() and (unit.islower() or other.islower())


def _short(unit: str) -> str:
    """Return a unit without the plural of words such as years."""
    return unit[:-1] if len(unit) > 3 and unit.endswith("s") and unit.isalpha() else unit
