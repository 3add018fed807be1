"""Dates, times and durations as numbers, with the unit in the name of the column."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, time, timedelta, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.files.reading import Note
from gomea_bn.data.frames import distinct_values, has_floats
from gomea_bn.errors import GomeaBnError, Option, Setting
from gomea_bn.texts import listed

if TYPE_CHECKING:
    import pandas as pd

UTC = "UTC"
# microseconds
_DAY = 86_400e6
DAYS, SECONDS, HOURS = "days since 1970-01-01", "seconds", "hours"
UNITS = (DAYS, SECONDS, HOURS)
"""Units of dates, durations and times of day; the name of a column ends in one of them in brackets."""

_IN_WORDS = {
    DAYS: "a date such as 2024-12-31",
    SECONDS: "a duration such as datetime.timedelta(seconds=90)",
    HOURS: "a time of day such as 13:30",
}
_TIME = r"([ T]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?"
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}" + _TIME)
_CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")
_OTHERS = (
    (re.compile(r"\d{4}/\d{1,2}/\d{1,2}"), ("%Y/%m/%d",)),
    (re.compile(r"\d{1,2}\.\d{1,2}\.\d{4}"), ("%d.%m.%Y",)),
    (re.compile(r"\d{1,2}/\d{1,2}/\d{4}"), ("%d/%m/%Y", "%m/%d/%Y")),
)


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


class Dated(NamedTuple):
    """A frame with dates, times and durations as numbers.

    `names` are the new names, with units, by the former name as text, and `time_zones` those of columns of dates by
    new name.
    """

    frame: pd.DataFrame
    names: dict[str, str]
    time_zones: dict[str, str]
    notes: list[Note]


def with_dates(frame: pd.DataFrame, kinds: Mapping[str, str], how: str, few: int) -> Dated:
    """Return a frame with dates, times and durations as numbers.

    Columns of text stay text if `kinds` calls them discrete, and if they have few distinct values and `kinds` does not
    call them continuous. `how` is "numbers", or "drop", which leaves the columns out; `few` is the largest number of
    distinct values that are few.
    """
    changed: dict[int, tuple[pd.Series[Any], str]] = {}
    time_zones: dict[str, str] = {}
    for position, (label, dtype) in enumerate(zip(frame.columns, frame.dtypes, strict=True)):
        if has_floats(dtype):
            continue
        name, series = str(label), frame.iloc[:, position]
        if _stays_text(series, kinds.get(name), few):
            continue
        converted = as_numbers(series, name)
        if converted is not None:
            numbers, unit = converted
            changed[position] = numbers, f"{name} [{unit}]"
            if unit == DAYS and (zone := _time_zone(series)) is not None:
                time_zones[changed[position][1]] = zone
    if not changed:
        return Dated(frame, {}, {}, [])
    names = {str(frame.columns[position]): new_name for position, (_, new_name) in changed.items()}
    if how == "drop":
        remaining = [position for position in range(frame.shape[1]) if position not in changed]
        note = Note(f"Left out columns of dates and times: {listed(map(repr, names), 10)}.")
        return Dated(frame.iloc[:, remaining], {}, {}, [note])
    import pandas as pd

    parts = [changed[p][0] if p in changed else frame.iloc[:, p] for p in range(frame.shape[1])]
    labels = [changed[p][1] if p in changed else label for p, label in enumerate(frame.columns)]
    shown = listed([f"'{name}' as '{new_name}'" for name, new_name in names.items()], 5)
    note = Note(
        [f"Dates and times are read as numbers: {shown}; ", Option("dates", "drop"), " leaves them out."]
    )
    dated = pd.concat(parts, axis=1, keys=range(len(parts))).set_axis(labels, axis=1)
    return Dated(dated, names, time_zones, [note])


def _time_zone(series: pd.Series[Any]) -> str | None:
    """Return the name of the time zone of a column of dates: UTC for several, None where a date has none."""
    import pandas as pd
    from pandas.api import types

    if isinstance(series.dtype, pd.DatetimeTZDtype):
        return _zone_name(series.dtype.tz)
    if types.is_datetime64_any_dtype(series.dtype):
        return None
    values = pd.unique(series.dropna())
    if isinstance(values[0], str):
        offsets = {match[4] if (match := _ISO.fullmatch(value.strip())) else None for value in values}
        names = {offset and _offset_name(offset) for offset in offsets}
    else:
        zones = {getattr(value, "tzinfo", None) for value in values}
        names = {zone and _zone_name(zone) for zone in zones}
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


def _stays_text(series: pd.Series[Any], kind: str | None, few: int) -> bool:
    """Return whether a column is not to be looked at, because it is discrete text."""
    from pandas.api import types

    if not types.is_object_dtype(series.dtype) and not types.is_string_dtype(series.dtype):
        return False
    if kind is not None:
        return kind == "discrete"
    try:
        return bool(series.nunique() <= few)
    # lists and dicts cannot be compared
    except TypeError:
        return True


def as_numbers(series: pd.Series[Any], name: str) -> tuple[pd.Series[Any], str] | None:
    """Return a column of dates, times or durations as numbers, and their unit; None for other columns.

    Text counts as dates if every value is one, as YYYY-MM-DD, YYYY/MM/DD, DD.MM.YYYY, DD/MM/YYYY or MM/DD/YYYY (the
    first also with a time), or a time of day, as HH:MM or HH:MM:SS. Text dates whose day and month cannot be
    distinguished are an error.
    """
    import pandas as pd
    from pandas.api import types

    dtype = series.dtype
    if types.is_datetime64_any_dtype(dtype):
        return _numbers(_days(series), series), DAYS
    if types.is_timedelta64_dtype(dtype):
        return _numbers(np.asarray(series.dt.total_seconds(), np.float64), series), SECONDS
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
    scale = _DAY if name.endswith(f"[{DAYS}]") else 1e6
    durations = pd.to_timedelta(np.rint(numbers * scale).astype(np.int64), unit="us")
    return in_time_zone(pd.Timestamp("1970-01-01") + durations, time_zone) if scale == _DAY else durations


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
        return _numbers(_days(pd.to_datetime(series.astype(object), utc=True)), series), DAYS
    if inferred in ("timedelta", "timedelta64"):
        seconds = pd.to_timedelta(series.astype(object)).dt.total_seconds()
        return _numbers(np.asarray(seconds, np.float64), series), SECONDS
    if inferred == "time":
        hours = [
            np.nan
            if value is None or value != value
            else value.hour + value.minute / 60 + (value.second + value.microsecond / 1e6) / 3600
            for value in series.astype(object)
        ]
        return _numbers(np.array(hours, np.float64), series), HOURS
    return None


def _from_text(series: pd.Series[Any], name: str) -> tuple[pd.Series[Any], str] | None:
    """Return a column of text as numbers if all of its values are dates or times of day."""
    codes, uniques = distinct_values(series)
    texts = [str(value).strip() for value in uniques]
    if not texts:
        return None
    if all(map(_CLOCK.fullmatch, texts)):
        parts = [[float(part) for part in text.split(":")] for text in texts]
        each = np.array([sum(part / 60**power for power, part in enumerate(time)) for time in parts])
        unit = HOURS
    else:
        dates = _text_dates(texts, name)
        if dates is None:
            return None
        each, unit = _days(dates), DAYS
    numbers = np.append(each, np.nan)[codes]
    return _numbers(numbers, series), unit


def _text_dates(texts: list[str], name: str) -> pd.Series[Any] | None:
    """Return the dates that texts stand for, or None if one of them is not a date."""
    import pandas as pd

    if all(map(_ISO.fullmatch, texts)):
        return _parsed(texts, "ISO8601")
    for pattern, formats in _OTHERS:
        if all(map(pattern.fullmatch, texts)):
            dates = [parsed for parsed in (_parsed(texts, form) for form in formats) if parsed is not None]
            if len(dates) == 2 and not dates[0].equals(dates[1]):
                raise GomeaBnError(
                    f"Column '{name}' holds dates such as {texts[0]!r}, in which day and month cannot be "
                    "distinguished.",
                    ["write them as YYYY-MM-DD", Setting("drop", name)],
                )
            return pd.Series(dates[0]) if dates else None
    return None


def _parsed(texts: list[str], form: str) -> pd.Series[Any] | None:
    import pandas as pd

    try:
        return pd.Series(pd.to_datetime(texts, format=form, utc=True))
    except ValueError:
        return None


def _days(dates: pd.Series[Any]) -> NDArray[np.float64]:
    """Return the days since 1970-01-01 of dates, float64, NaN where missing."""
    import pandas as pd

    moments = dates.dt.tz_convert("UTC").dt.tz_localize(None) if getattr(dates.dt, "tz", None) else dates
    days = (moments.astype("datetime64[us]") - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    return np.asarray(days, np.float64)


def _numbers(values: NDArray[np.float64], series: pd.Series[Any]) -> pd.Series[Any]:
    """Return numbers as a column, integers if all are whole."""
    import pandas as pd

    present = values[~np.isnan(values)]
    is_whole = bool((present == np.floor(present)).all())
    numbers = pd.Series(values, index=series.index, name=series.name).astype("Float64")
    return numbers.astype("Int64") if is_whole else numbers
