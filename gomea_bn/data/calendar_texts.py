"""Texts that stand for dates and times of day."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

DAY_MONTH, MONTH_DAY = "day-month", "month-day"
ORDERS = (DAY_MONTH, MONTH_DAY)
"""Orders of day and month in dates that are digits."""

_EPOCH = date(1970, 1, 1).toordinal()
DAY = 86_400 * 10**6
"""Microseconds of a day."""
_ZONE = r"(?P<zone>Z|[+-]\d{2}:?\d{2})?"
_TIME = rf"(?:(?:[ T:]|, ?)(?P<hour>\d{{1,2}}):(?P<minute>\d{{2}})(?::(?P<second>\d{{2}})(?P<part>[.,]\d+)?)? ?(?P<half>[AaPp]\.?[Mm]\.?)? ?{_ZONE})?"  # noqa: E501
# no codes such as 1001-01-01, but the first year, which programs write for no date
_LATER_YEAR = r"(?P<year>0001|(?:1[5-9]|[2-9]\d)\d{2})"
_RECENT_YEAR = r"(?P<year>(?:19|20)\d{2}|2100)"
_ISO = re.compile(
    rf"{_LATER_YEAR}-\d{{2}}-\d{{2}}([ T]\d{{1,2}}:\d{{2}}(:\d{{2}}(\.\d+)?)?(?P<zone>Z|[+-]\d{{2}}:?\d{{2}})?)?"
)
_CLOCK = re.compile(r"(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?")
_YEAR = r"(?P<year>\d{4}|'?\d{2})"
_FULL_YEAR = r"(?P<year>\d{4})"
_WORD = r"(?P<word>[^\W\d_]{3,12})\.?"
_FIRST, _SECOND = r"(?P<first>\d{1,2})", r"(?P<second_part>\d{1,2})"
_COMPACT = r"(?P<month>0[1-9]|1[0-2])(?P<day>[0-3]\d)"
_DAY_PART = r"(?P<day>\d{1,2})(?:st|nd|rd|th|\.)?"
# the order of the parts is that of the pattern, or not known where they are called first and second
_PATTERNS = tuple(
    re.compile(pattern + _TIME)
    for pattern in (
        rf"{_LATER_YEAR}(?P<mark>[-/.])(?P<month>\d{{1,2}})(?P=mark)(?P<day>\d{{1,2}})",
        rf"(?P<day>\d{{1,2}})\.(?P<month>\d{{1,2}})\.{_FULL_YEAR}",
        # versions have single digits
        r"(?P<day>\d{2})\.(?P<month>\d{2})\.(?P<year>\d{2})",
        rf"{_FIRST}(?P<mark>[-/]){_SECOND}(?P=mark){_FULL_YEAR}",
        rf"{_FIRST}/{_SECOND}/{_YEAR}",
        rf"(?P<first>\d{{2}})-(?P<second_part>\d{{2}})-{_YEAR}",
        rf"{_DAY_PART}[-/ ]?(?:de )?{_WORD}[-/ ,]*(?:de )?{_YEAR}",
        rf"{_WORD}[-/ ]{_DAY_PART}(?:, ?|[-/ ]){_FULL_YEAR}",
        rf"{_FULL_YEAR}[-/ ]?{_WORD}[-/ ]?(?P<day>\d{{1,2}})",
        rf"{_RECENT_YEAR}{_COMPACT}",
    )
)
_STAMP = re.compile(
    rf"{_RECENT_YEAR}{_COMPACT}T(?P<hour>\d{{2}})(?P<minute>\d{{2}})(?:(?P<second>\d{{2}})(?P<part>[.,]\d+)?)?{_ZONE}"
)
_MONTHS_ALONE = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_RECENT_YEAR}[-/](?P<month>\d{{1,2}})",
        rf"(?P<month>\d{{1,2}})/{_RECENT_YEAR}",
        rf"{_WORD}[-/ ]{_YEAR}",
        rf"{_RECENT_YEAR}[-/ ]?Q(?P<quarter>[1-4])",
        rf"Q(?P<quarter>[1-4])[-/ ]?{_RECENT_YEAR}",
        rf"{_RECENT_YEAR}[- ]?W(?P<week>\d{{2}})(?:-?(?P<day>[1-7]))?",
    )
)
# English, German, French, Spanish, Dutch
_NAMES = (
    "january january januar janvier enero januari jan janv ene",
    "february februar fevrier febrero februari feb fev fevr",
    "march marz maerz mars marzo maart mar mrz mrt",
    "april avril abril apr avr abr",
    "may mai mayo mei may",
    "june juni juin junio jun",
    "july juli juillet julio jul juil",
    "august aout agosto augustus aug ago aou",
    "september septembre septiembre sep sept",
    "october oktober octobre octubre oct okt",
    "november novembre noviembre nov",
    "december dezember decembre diciembre dec dez dic",
)
_MONTHS = {name: month for month, names in enumerate(_NAMES, 1) for name in names.split()}
# two digits of a year from this one on are of the 1900s, as in Excel
_LAST_CENTURY = 30


class CalendarTexts(NamedTuple):
    """What distinct texts stand for: days since 1970-01-01 in UTC, or hours of a day, float64 (n,).

    `order` says what comes first in dates of digits, "" where that is no question, and "?" where it cannot be known.
    `form` has the parts of the dates in words. `zones` are the offsets from UTC, None for a text without one.
    """

    values: NDArray[np.float64]
    form: str
    order: str = ""
    zones: frozenset[str | None] = frozenset()


def clock_texts(texts: Sequence[str]) -> NDArray[np.float64] | None:
    """Return the hours of times of day such as 13:30, float64 (n,), or None if a text is none."""
    if not texts or not all(map(_CLOCK.fullmatch, texts)):
        return None
    parts = [[float(part) for part in text.split(":")] for text in texts]
    return np.array([sum(part / 60**power for power, part in enumerate(time)) for time in parts])


def calendar_texts(texts: Sequence[str], order: str = "") -> CalendarTexts | None:
    """Return the days that dates stand for, or None unless all texts are dates of one form.

    `order` is one of `ORDERS`, or empty: then the dates decide, among which one must have a day beyond 12.
    """
    if not texts:
        return None
    if (
        not order
        and (matches := _all_matches(_ISO, texts)) is not None
        and (days := iso_days(texts)) is not None
    ):
        return CalendarTexts(days, "year-month-day", "", frozenset(match["zone"] for match in matches))
    for pattern in (*_PATTERNS, _STAMP):
        if (matches := _all_matches(pattern, texts)) is not None:
            if "first" not in pattern.groupindex:
                return None if order else _days(matches, "")
            return _in_order(matches, order)
    if order:
        return None
    for pattern in _MONTHS_ALONE:
        if (matches := _all_matches(pattern, texts)) is not None:
            return None if _are_seasons(matches) else _days(matches, "")
    return None


def iso_days(texts: Sequence[str]) -> NDArray[np.float64] | None:
    """Return the days of dates as ISO 8601 has them, float64 (n,), as `calendar_texts`, but faster; or None."""
    import pandas as pd

    try:
        moments = pd.to_datetime(list(texts), format="ISO8601", utc=True)
    except ValueError:
        return None
    return np.asarray(moments.tz_localize(None).to_numpy("datetime64[us]").astype(np.int64) / DAY, np.float64)


def compact_days(numbers: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """Return the days of dates such as 20190110, float64 (n,), or None unless all are days from 1900 to 2100."""
    if not numbers.size or numbers.min() < 19000101 or numbers.max() > 21001231:
        return None
    distinct, where = np.unique(numbers, return_inverse=True)
    found = calendar_texts([str(number) for number in distinct.tolist()])
    return None if found is None else found.values[where]


def _all_matches(pattern: re.Pattern[str], texts: Sequence[str]) -> list[re.Match[str]] | None:
    """Return the matches of all texts, or None; most columns end with the first."""
    matches = []
    for text in texts:
        match = pattern.fullmatch(text)
        if match is None:
            return None
        matches.append(match)
    return matches


def _in_order(matches: Sequence[re.Match[str]], order: str) -> CalendarTexts | None:
    """Return dates of digits in the only order that fits; with the order "?" for two that differ.

    Of dates that all have a 1 in one place and all numbers to 12 in the other, each is the first of a month.
    """
    found = [days for each in ([order] if order else ORDERS) if (days := _days(matches, each)) is not None]
    if len(found) == 2 and (found[0].values != found[1].values).any():
        parts = [{match[name] for match in matches} for name in ("first", "second_part")]
        monthly = [
            k
            for k in (0, 1)
            if {int(part) for part in parts[k]} == {1} and len({*map(int, parts[1 - k])}) == 12
        ]
        return found[monthly[0]] if monthly else found[0]._replace(order="?")
    return found[0] if found else None


def _days(matches: Sequence[re.Match[str]], order: str) -> CalendarTexts | None:
    """Return the days of matches, or None if one is no day of the calendar."""
    days = np.empty(len(matches))
    zones: set[str | None] = set()
    for position, match in enumerate(matches):
        parts = match.groupdict()
        moment = _microseconds(parts, order)
        if moment is None:
            return None
        days[position] = moment / DAY
        zones.add(parts.get("zone"))
    return CalendarTexts(days, _in_words(matches, order), order, frozenset(zones))


def _microseconds(parts: dict[str, str | None], order: str) -> int | None:
    """Return the microseconds from 1970-01-01 on, or None for no day of the calendar."""
    first, second = parts.get("first"), parts.get("second_part")
    day = (first if order == DAY_MONTH else second) if order else parts.get("day") or "1"
    month = (second if order == DAY_MONTH else first) if order else parts.get("month")
    if word := parts.get("word"):
        number = _month_of(word)
    elif quarter := parts.get("quarter"):
        number = 3 * int(quarter) - 2
    else:
        number = int(month or 0)
    year = int((parts["year"] or "").lstrip("'"))
    if len((parts["year"] or "").lstrip("'")) == 2:
        year += 1900 if year >= _LAST_CENTURY else 2000
    week = parts.get("week")
    try:
        # weeks begin on Monday, as of ISO 8601
        moment = (
            date.fromisocalendar(year, int(week), int(day or 1))
            if week
            else date(year, number, int(day or 1))
        )
        ordinal = moment.toordinal() - _EPOCH
    except ValueError:
        return None
    time = _time_of(parts)
    return None if time is None else ordinal * DAY + time


def _time_of(parts: dict[str, str | None]) -> int | None:
    """Return the microseconds of a time of day and its offset from UTC, 0 without one; None for no time."""
    if parts.get("hour") is None:
        return 0
    hour, minute = int(parts["hour"] or 0), int(parts["minute"] or 0)
    second = int(parts["second"] or 0)
    if half := parts.get("half"):
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half[0] in "pP" else 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    time = ((hour * 60 + minute) * 60 + second) * 10**6
    if parts["part"]:
        time += int(parts["part"][1:7].ljust(6, "0"))
    if parts["zone"] and parts["zone"] != "Z":
        offset = parts["zone"].replace(":", "")
        minutes = int(offset[1:3]) * 60 + int(offset[3:])
        time -= (minutes if offset[0] == "+" else -minutes) * 60 * 10**6
    return time


def _month_of(word: str) -> int:
    """Return the number of a month by its name or the beginning of it, 0 for another word."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", word.casefold()) if not unicodedata.combining(c))
    return _MONTHS.get(plain, 0)


def _are_seasons(matches: Sequence[re.Match[str]]) -> bool:
    """Return whether texts such as 2010-11 name two years that follow each other."""
    if {"month", "year"} - set(matches[0].groupdict()):
        return False
    return all((int(match["year"]) + 1) % 100 == int(match["month"]) for match in matches)


def _in_words(matches: Sequence[re.Match[str]], order: str) -> str:
    parts = matches[0].groupdict()
    if order:
        words = "day/month/year" if order == DAY_MONTH else "month/day/year"
    else:
        names = {"first": "day", "second_part": "month", "word": "month"}
        shown = [
            name
            for name in parts
            if name in ("year", "month", "day", "word", "quarter", "week") and parts[name]
        ]
        positions = sorted(shown, key=lambda name: matches[0].start(name))
        words = "-".join(names.get(name, name) for name in positions)
    if any(len((match["year"] or "").lstrip("'")) == 2 for match in matches):
        words += f" (years {_LAST_CENTURY} to 99 of the 1900s)"
    return words
