"""Columns of earlier times, by groups, and the tiers that forbid edges back in time."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gomea_bn import ExpertKnowledge, GomeaBnError, GomeaBnWarning, lagged, read_table

N = 30


def visits() -> pd.DataFrame:
    """Return rows of three persons with 12, 10 and 8 visits, in an order of chance."""
    random = np.random.default_rng(0)
    person = np.repeat(["a", "b", "c"], [12, 10, 8])
    visit = np.concatenate([np.arange(12), np.arange(10), np.arange(8)])
    rows = pd.DataFrame(
        {"visit": visit, "person": person, "x": random.normal(size=N), "town": random.choice(["u", "v"], N)}
    )
    return rows.sample(frac=1, random_state=1, ignore_index=True)


@pytest.mark.parametrize("lags", [1, 2, [3], [1, 4]])
def test_rows_stand_next_to_their_earlier_ones(lags):
    steps = list(range(1, lags + 1)) if isinstance(lags, int) else lags
    frame, tiers = lagged(visits(), time="visit", group="person", lags=lags)
    assert tiers == [[f"{name} ({step} before)" for name in ("x", "town")] for step in reversed(steps)] + [
        ["x", "town"]
    ]
    assert list(frame) == ["person", *(name for tier in tiers for name in tier)]
    assert len(frame) == N - 3 * max(steps)
    # brute force
    known: dict[Any, Any] = {(row.person, row.visit): (row.x, row.town) for row in visits().itertuples()}
    expected = [
        (person, *(part for step in (*reversed(steps), 0) for part in known[person, visit - step]))
        for person, visit in sorted(known)
        if (person, visit - max(steps)) in known
    ]
    assert sorted(frame.itertuples(index=False, name=None)) == sorted(expected)


def test_dates_order_rows_by_the_calendar():
    days = pd.date_range("2021-01-25", periods=20)
    rows = pd.DataFrame({"day": days.strftime("%d.%m.%Y"), "x": np.arange(20.0)}).sample(
        frac=1, random_state=0
    )
    frame, _ = lagged(rows, time="day")
    assert (frame["x"] - frame["x (1 before)"]).tolist() == [1.0] * 19


def test_ambiguous_dates_of_rows_are_asked_about_and_given():
    days = [f"{1 + k % 11:02}/{1 + k // 11:02}/2021" for k in range(33)]
    rows = pd.DataFrame({"day": days, "x": np.arange(33.0) ** 2})
    with pytest.raises(
        GomeaBnError, match=r"cannot be distinguished\. Pass forms=\{'day': 'date day-month'\}"
    ) as error:
        read_table(rows, lags={"time": "day"})
    assert "drop" not in str(error.value)
    with pytest.warns(GomeaBnWarning, match="2 steps of 32 from row to row differ from the usual 1"):
        table = read_table(rows, lags={"time": "day"}, forms={"day": "date day-month"})
    values = {column.name: column.values for column in table.columns}
    assert (np.sqrt(values["x"]) - np.sqrt(values["x (1 before)"])).tolist() == [1.0] * 32
    # the order that the whole column decides is known for new rows
    rows["day"] = pd.date_range("2021-01-20", periods=33).strftime("%d/%m/%Y")
    assert read_table(rows, lags={"time": "day"}).reading.forms == {"day": "date day-month"}


@pytest.mark.parametrize("freq", ["MS", "QS", "YS", "ME"])
def test_months_quarters_and_years_are_evenly_spaced(freq):
    rows = pd.DataFrame({"day": pd.date_range("2001-01-01", periods=30, freq=freq), "x": np.arange(30.0)})
    with warnings.catch_warnings(action="error"):
        lagged(rows, time="day")


def test_tiers_are_an_order_of_the_table():
    frame, tiers = lagged(visits(), time="visit", group="person")
    table = read_table(frame, groups="person")
    assert sorted(table.names) == sorted(name for tier in tiers for name in tier)
    knowledge = ExpertKnowledge(temporal_order=tiers)
    assert [list(tier) for tier in knowledge.temporal_order] == tiers


@pytest.mark.parametrize("group", [None, "person"])
def test_a_table_is_that_of_the_frame_but_for_kinds_and_levels(group):
    rows = visits().assign(day=pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N), "D"))
    rows["few"] = np.arange(N) // 3 % 10
    # a value of the first row alone is a level of both columns, and an eleventh number makes both continuous
    rows.loc[rows["visit"] == 11, "town"] = "w"
    if group is None:
        rows = rows.assign(visit=np.arange(N)).drop(columns="person")
    lags = {"time": "visit", "lags": [1, 3], **({} if group is None else {"group": group})}
    table = read_table(rows, lags=lags)
    frame, tiers = lagged(rows, **lags)
    assert [len(tier) for tier in table.tiers] == [len(tier) for tier in tiers]
    assert [name.replace(" [days since 1970-01-01]", "") for name in table.names] == [
        name for tier in tiers for name in tier
    ]
    columns = {column.name: column for column in table.columns}
    for step in (1, 3):
        assert columns[f"town ({step} before)"].levels == columns["town"].levels == ("u", "v", "w")
        assert columns[f"few ({step} before)"].levels == columns["few"].levels
        assert f"day ({step} before) [days since 1970-01-01]" in columns
    assert table.to_frame()["town (3 before)"].tolist() == frame["town (3 before)"].tolist()
    np.testing.assert_array_equal(columns["x (1 before)"].values, frame["x (1 before)"])
    assert table.groups is None


def test_rows_with_gaps_are_earlier_ones_before_they_are_dropped():
    rows = pd.DataFrame({"t": range(20), "x": np.arange(20.0) ** 2, "y": np.arange(20.0) % 7 / 3})
    rows.loc[4, "x"] = np.nan
    lags = {"time": "t", "lags": 2}
    assert read_table(rows, lags=lags, missing="keep").n_rows == 18
    table = read_table(rows, lags=lags, missing="drop")
    values = {column.name: column.values for column in table.columns}
    assert values["x"].tolist() == [float(k) ** 2 for k in range(2, 20) if k not in (4, 5, 6)]
    assert np.sqrt(values["x"]).tolist() == (np.sqrt(values["x (2 before)"]) + 2).tolist()


@pytest.mark.parametrize(
    ("lags", "options", "words"),
    [
        (2, {}, "lags must map time, group and lags"),
        ({"lags": 2}, {}, "lags must have a time"),
        ({"time": "visit", "by": "person"}, {}, "lags must have a time and may have a group and lags, got"),
        ({"time": 3}, {}, "lags must name columns, got 3 as the time"),
        ({"time": "visit", "group": "visit"}, {}, "group must be another column than time"),
        ({"time": "visit", "group": "person"}, {"groups": "town"}, "leave out groups"),
        ({"time": "visits"}, {}, "time: unknown column 'visits'. Did you mean 'visit'"),
        ({"time": "visit", "group": "person", "lags": 11}, {}, "at least 10 rows, got 1"),
    ],
)
def test_wrong_lags_of_a_table_are_named(lags, options, words):
    with pytest.raises(GomeaBnError, match=words):
        read_table(visits(), lags=lags, **options)


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        (lambda rows: rows, {"time": "visits"}, "time: unknown column 'visits'. Did you mean 'visit'"),
        (lambda rows: rows, {"group": "who"}, "group: unknown column 'who'"),
        (lambda rows: rows, {"group": "visit"}, "group must be another column than time"),
        (lambda rows: rows, {"group": None}, "'visit' has the same time more than once, in rows"),
        (lambda rows: rows.assign(visit=rows["visit"] // 2), {}, "more than once in a group of 'person'"),
        (
            lambda rows: rows.assign(visit=rows["visit"].where(rows.index > 0)),
            {},
            "'visit' is missing in row 0",
        ),
        (lambda rows: rows, {"lags": 0}, "lags must be an integer of at least 1"),
        (lambda rows: rows, {"lags": []}, "lags must name at least one"),
        (lambda rows: rows, {"lags": [1, "2"]}, "lags must be an integer"),
        (lambda rows: rows, {"lags": 12}, "No row has 12 earlier rows in its group"),
        (lambda rows: rows.assign(**{"x (1 before)": 1}), {}, "names of lags already: x .1 before"),
        (lambda rows: rows.assign(visit=[f"t{k}" for k in range(N)]), {}, "must hold numbers or dates"),
    ],
)
def test_wrong_tables_and_options_are_named(change, options, words):
    with pytest.raises(GomeaBnError, match=words):
        lagged(change(visits()), **{"time": "visit", "group": "person", **options})
