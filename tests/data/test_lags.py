"""Columns of earlier times, by groups, and the tiers that forbid edges back in time."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from gomea_bn import GomeaBnError, lagged, read_table
from gomea_bn.problems.knowledge import ExpertKnowledge

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
    assert tiers == [[f"{name}, {step} before" for name in ("x", "town")] for step in reversed(steps)] + [
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
    assert (frame["x"] - frame["x, 1 before"]).tolist() == [1.0] * 19


def test_tiers_are_an_order_of_the_table():
    frame, tiers = lagged(visits(), time="visit", group="person")
    table = read_table(frame, groups="person")
    assert sorted(table.names) == sorted(name for tier in tiers for name in tier)
    knowledge = ExpertKnowledge(temporal_order=tiers)
    assert [list(tier) for tier in knowledge.temporal_order] == tiers


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
        (lambda rows: rows.assign(**{"x, 1 before": 1}), {}, "names of lags already: x, 1 before"),
        (lambda rows: rows.assign(visit=[f"t{k}" for k in range(N)]), {}, "must hold numbers or dates"),
    ],
)
def test_wrong_tables_and_options_are_named(change, options, words):
    with pytest.raises(GomeaBnError, match=words):
        lagged(change(visits()), **{"time": "visit", "group": "person", **options})
