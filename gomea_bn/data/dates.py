"""Dates, times and durations as numbers, with the unit in the name of the column."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, time, timedelta, timezone
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.calendar_texts import DAY, calendar_texts, clock_texts, compact_days
from gomea_bn.data.frames import distinct_values
from gomea_bn.data.number_texts import typed
from gomea_bn.errors import GomeaBnError, Setting

if TYPE_CHECKING:
    import pandas as pd

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
