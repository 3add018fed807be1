"""Dates, times and durations: their texts, and as numbers with the unit in the name of the column."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from datetime import date, time, timedelta, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.frames import distinct_values
from gomea_bn.data.number_texts import typed
from gomea_bn.errors import GomeaBnError, Setting

if TYPE_CHECKING:
    import pandas as pd

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
                return None if order else _days_of(matches, "")
            return _in_order(matches, order)
    if order:
        return None
    for pattern in _MONTHS_ALONE:
        if (matches := _all_matches(pattern, texts)) is not None:
            return None if _are_seasons(matches) else _days_of(matches, "")
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
    found = [days for each in ([order] if order else ORDERS) if (days := _days_of(matches, each)) is not None]
    if len(found) == 2 and (found[0].values != found[1].values).any():
        parts = [{match[name] for match in matches} for name in ("first", "second_part")]
        monthly = [
            k
            for k in (0, 1)
            if {int(part) for part in parts[k]} == {1} and len({*map(int, parts[1 - k])}) == 12
        ]
        return found[monthly[0]] if monthly else found[0]._replace(order="?")
    return found[0] if found else None


def _days_of(matches: Sequence[re.Match[str]], order: str) -> CalendarTexts | None:
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


UTC = "UTC"
DAYS, SECONDS, HOURS = "days since 1970-01-01", "seconds", "hours"
UNITS = (DAYS, SECONDS, HOURS)
"""Units of dates, durations and times of day; the name of a column ends in one of them in brackets."""

_IN_WORDS = {
    DAYS: "a date such as 2024-12-31",
    SECONDS: "a duration such as datetime.timedelta(seconds=90)",
    HOURS: "a time of day such as 13:30",
}
# the least and the greatest number of a unit, and steps in this unit with formats that show them
_TEXTS = {
    DAYS: (
        -719_162.0,
        2_932_896.0,
        [
            (1.0, "%Y-%m-%d"),
            (1 / 1440, "%Y-%m-%d %H:%M"),
            (1 / 86_400, "%Y-%m-%d %H:%M:%S"),
            (1 / 86_400e6, "%Y-%m-%d %H:%M:%S.%f"),
        ],
    ),
    HOURS: (0.0, 24.0, [(1 / 60, "%H:%M"), (1 / 3600, "%H:%M:%S"), (1 / 3600e6, "%H:%M:%S.%f")]),
}


def source_name(name: str) -> str:
    """Return the name of the column of dates that a name with a unit comes from, or the name itself."""
    unit = unit_of(name)
    return name if unit is None else name.removesuffix(f" [{unit}]")


def unit_of(name: str) -> str | None:
    """Return which of `UNITS` the name of a column ends in, or None."""
    return next((unit for unit in UNITS if name.endswith(f" [{unit}]")), None)


def value_in_words(name: str) -> str:
    """Return in words what a value of a variable may be: a number, or also a date, a duration or a time of day."""
    unit = unit_of(name)
    return "a number" if unit is None else f"a number, or {_IN_WORDS[unit]}"


def time_zone(series: pd.Series[Any]) -> str | None:
    """Return the name of the time zone of a column of dates: UTC for several, None where a date has none."""
    import pandas as pd
    from pandas.api import types

    if isinstance(series.dtype, pd.DatetimeTZDtype):
        return _zone_name(series.dtype.tz)
    if types.is_datetime64_any_dtype(series.dtype):
        return None
    values = pd.unique(series.dropna())
    zones = {getattr(value, "tzinfo", None) for value in values}
    return _one_zone({zone and _zone_name(zone) for zone in zones})


def zone_of_offsets(offsets: Collection[str | None]) -> str | None:
    """Return the name of the time zone of dates with some offsets, as of `time_zone`."""
    return _one_zone({offset and _offset_name(offset) for offset in offsets})


def _one_zone(names: set[str | None]) -> str | None:
    if None in names:
        return None
    return names.pop() if len(names) == 1 else UTC


def _offset_name(offset: str) -> str:
    """Return the name of the time zone of an offset such as "Z", "+02:00" or "+0200"."""
    digits = offset.replace(":", "")
    return UTC if digits in ("Z", "+0000", "-0000") else f"{UTC}{digits[:3]}:{digits[3:]}"


def _zone_name(zone: Any) -> str:
    """Return a name by which a time zone is found again; that of its offset, or UTC, where it has none."""
    names = [str(zone)]
    # the others depend on the date
    if (offset := zone.utcoffset(None)) is not None:
        names.append(str(timezone(offset)))
    return next((name for name in names if is_time_zone(name)), UTC)


def is_time_zone(name: object) -> bool:
    """Return whether a value is the name of a time zone, such as "Europe/Berlin" or "UTC+02:00"."""
    import pandas as pd

    if not isinstance(name, str) or not name:
        return False
    try:
        pd.Timestamp(0, tz=UTC).tz_convert(name)
    # the data bases of zones raise errors of several classes
    except (KeyError, ValueError, TypeError, OSError):
        return False
    return True


def in_time_zone(dates: Any, zone: Any) -> Any:
    """Return a DatetimeIndex, in UTC if it has no time zone, in a time zone; without one for None."""
    aware = dates if dates.tz is not None else dates.tz_localize(UTC)
    return aware.tz_convert(UTC).tz_localize(None) if zone is None else aware.tz_convert(zone)


def as_numbers(series: pd.Series[Any], name: str) -> tuple[pd.Series[Any], str] | None:
    """Return a column of dates, times or durations as numbers, and their unit; None for other columns.

    Text counts as dates if every value is one of the same form, see `calendar_texts`, and whole numbers if all are such
    as 20190110. Text dates whose day and month cannot be distinguished are an error.
    """
    import pandas as pd
    from pandas.api import types

    dtype = series.dtype
    if types.is_datetime64_any_dtype(dtype):
        return column_of_numbers(_days(series), series), DAYS
    if types.is_timedelta64_dtype(dtype):
        return column_of_numbers(np.asarray(series.dt.total_seconds(), np.float64), series), SECONDS
    if types.is_integer_dtype(dtype):
        days = compact_days(series.dropna().to_numpy(np.int64))
        return None if days is None else (_over_gaps(days, series), DAYS)
    if isinstance(dtype, pd.StringDtype):
        return _from_text(series, name)
    if types.is_object_dtype(dtype):
        return _from_objects(series, name)
    return None


def number_of(value: object, name: str) -> float | None:
    """Return a date, duration or time of day in the unit that a name ends in.

    The value is one of Python, NumPy or pandas, or text as of `as_numbers`. Of any other value, and for a name without
    a unit, None is returned.
    """
    import pandas as pd

    times = (str, date, time, timedelta, np.datetime64, np.timedelta64)
    unit = unit_of(name)
    if unit is None or not isinstance(value, times):
        return None
    try:
        converted = as_numbers(pd.Series([value], dtype=object), source_name(name))
    except pd.errors.OutOfBoundsDatetime:
        return None
    if converted is None or converted[1] != unit:
        return None
    return float(converted[0].iloc[0])


def from_numbers(numbers: NDArray[np.float64], name: str, time_zone: str | None = None) -> Any:
    """Return numbers in the unit that a name ends in as dates, durations or times of day, to the microsecond.

    They are a DatetimeIndex, a TimedeltaIndex or an array of datetime.time. The numbers, float64 (n,), are without NaN.
    Dates have the time zone, or are in UTC without one.
    """
    import pandas as pd

    if name.endswith(f"[{HOURS}]"):
        microseconds = np.clip(np.rint(numbers * 3.6e9), 0, 86_400 * 10**6 - 1)
        times = pd.Timestamp("1970-01-01") + pd.to_timedelta(microseconds.astype(np.int64), unit="us")
        return np.array([time.time() for time in times], dtype=object)
    scale = DAY if name.endswith(f"[{DAYS}]") else 1e6
    durations = pd.to_timedelta(np.rint(numbers * scale).astype(np.int64), unit="us")
    return in_time_zone(pd.Timestamp("1970-01-01") + durations, time_zone) if scale == DAY else durations


def date_texts(numbers: NDArray[np.float64], name: str, span: float) -> list[str] | None:
    """Return numbers in the unit that a name ends in as dates or times of day in words, such as "2024-12-31".

    The texts are as fine as a tenth of a `span` of such numbers, and finer where that keeps numbers apart. None is
    returned for other names, and for numbers that no date has or that texts do not keep apart.
    """
    unit = unit_of(name)
    if unit not in _TEXTS:
        return None
    low, high, formats = _TEXTS[unit]
    if not ((numbers >= low) & (numbers <= high)).all():
        return None
    values = list(from_numbers(numbers, name))
    for step, form in formats:
        texts = [value.strftime(form) for value in values]
        if (step <= span / 10 or step == formats[-1][0]) and len({*texts}) == len({*numbers.tolist()}):
            return texts
    return None


def name_in_words(name: str) -> str:
    """Return the name of a column whose values are texts of `date_texts`: without the unit, which they are not in."""
    return source_name(name) if unit_of(name) in _TEXTS else name


def _from_objects(series: pd.Series[Any], name: str) -> tuple[pd.Series[Any], str] | None:
    """Return a column of Python's dates, times or durations, or of text, as numbers."""
    import pandas as pd
    from pandas.api import types

    values = series.dropna().astype(object)
    inferred = types.infer_dtype(values, skipna=True)
    if inferred == "string":
        return _from_text(series, name)
    if inferred in ("datetime", "datetime64", "date"):
        return column_of_numbers(_days(pd.to_datetime(series.astype(object), utc=True)), series), DAYS
    if inferred in ("timedelta", "timedelta64"):
        seconds = pd.to_timedelta(series.astype(object)).dt.total_seconds()
        return column_of_numbers(np.asarray(seconds, np.float64), series), SECONDS
    if inferred == "time":
        hours = [
            np.nan
            if value is None or value != value
            else value.hour + value.minute / 60 + (value.second + value.microsecond / 1e6) / 3600
            for value in series.astype(object)
        ]
        return column_of_numbers(np.array(hours, np.float64), series), HOURS
    return None


def _from_text(series: pd.Series[Any], name: str) -> tuple[pd.Series[Any], str] | None:
    """Return a column of text as numbers if all of its values are dates or times of day."""
    codes, uniques = distinct_values(series)
    texts = [typed(str(value)) for value in uniques]
    if (hours := clock_texts(texts)) is not None:
        return column_of_numbers(np.append(hours, np.nan)[codes], series), HOURS
    dates = calendar_texts(texts)
    if dates is None:
        return None
    if dates.order == "?":
        raise GomeaBnError(
            f"Column '{name}' holds dates such as {texts[0]!r}, in which day and month cannot be distinguished.",
            ["write them as YYYY-MM-DD", Setting("drop", name)],
        )
    return column_of_numbers(np.append(dates.values, np.nan)[codes], series), DAYS


def _over_gaps(present: NDArray[np.float64], series: pd.Series[Any]) -> pd.Series[Any]:
    """Return the numbers of the values that are not missing as a column over all rows."""
    numbers = np.full(len(series), np.nan)
    numbers[series.notna().to_numpy(bool)] = present
    return column_of_numbers(numbers, series)


def _days(dates: pd.Series[Any]) -> NDArray[np.float64]:
    """Return the days since 1970-01-01 of dates, float64, NaN where missing."""
    import pandas as pd

    moments = dates.dt.tz_convert("UTC").dt.tz_localize(None) if getattr(dates.dt, "tz", None) else dates
    days = (moments.astype("datetime64[us]") - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    return np.asarray(days, np.float64)


def column_of_numbers(values: NDArray[np.float64], series: pd.Series[Any]) -> pd.Series[Any]:
    """Return numbers as a column, integers if all are whole."""
    import pandas as pd

    present = values[~np.isnan(values)]
    is_whole = bool((present == np.floor(present)).all())
    numbers = pd.Series(values, index=series.index, name=series.name).astype("Float64")
    return numbers.astype("Int64") if is_whole else numbers
