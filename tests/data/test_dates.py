"""Numbers of dates and times of day as text."""

import numpy as np
import pandas as pd
import pytest

from gomea_bn.data.dates import date_texts, name_in_words

DAY, CLOCK, WAIT = "day [days since 1970-01-01]", "at [hours]", "wait [seconds]"


@pytest.mark.parametrize(
    ("name", "numbers", "span", "texts"),
    [
        (DAY, [0.0, 18_993.5], 1000.0, ["1970-01-01", "2022-01-01"]),
        (DAY, [18_993.5], 2.0, ["2022-01-01 12:00"]),
        # the same day, and the same minute
        (DAY, [18_993.25, 18_993.5], 1000.0, ["2022-01-01 06:00", "2022-01-01 12:00"]),
        (DAY, [0.0, 1 / 86_400], 1000.0, ["1970-01-01 00:00:00", "1970-01-01 00:00:01"]),
        (DAY, [-1.0], 1e-9, ["1969-12-31 00:00:00.000000"]),
        (CLOCK, [0.0, 13.5], 24.0, ["00:00", "13:30"]),
        (CLOCK, [13.5, 13.5 + 1 / 3600], 24.0, ["13:30:00", "13:30:01"]),
        # no dates of a calendar, and numbers that texts do not keep apart
        (DAY, [1e300], 1000.0, None),
        (DAY, [np.nan], 1000.0, None),
        (CLOCK, [25.0], 24.0, None),
        (DAY, [0.0, 1e-14], 1000.0, None),
        (WAIT, [90.0], 100.0, None),
        ("x", [1.0], 1.0, None),
    ],
)
def test_texts_are_as_fine_as_needed(name, numbers, span, texts):
    assert date_texts(np.array(numbers), name, span) == texts


def test_texts_of_whole_days_are_those_of_pandas():
    days = np.sort(np.random.default_rng(0).choice(40_000, 50, replace=False)).astype(np.float64)
    expected = [f"{pd.Timestamp(day, unit='D'):%Y-%m-%d}" for day in days]
    assert date_texts(days, DAY, float(np.ptp(days))) == expected


def test_names_lose_a_unit_that_their_values_are_not_in():
    assert [name_in_words(name) for name in (DAY, CLOCK, WAIT, "x")] == ["day", "at", WAIT, "x"]
