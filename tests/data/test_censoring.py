"""Times until an event that may be censored: weights against Kaplan-Meier by hand, what is noticed, and wrong input."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from gomea_bn import GomeaBnError, GomeaBnWarning, read_table
from gomea_bn.data import Table
from gomea_bn.data.censoring import uncensored, with_outcome


def censored_rows(n_rows: int = 600, seed: int = 0, *, digits: int = 1) -> pd.DataFrame:
    """Return a column that shortens the times until an event, and times that are censored at random."""
    r = np.random.default_rng(seed)
    x = r.normal(size=n_rows)
    until = r.exponential(10 * np.exp(-0.5 * x))
    censored = np.minimum(r.exponential(15, n_rows), 20)
    return pd.DataFrame(
        {
            "x": x,
            "time": np.minimum(until, censored).round(digits),
            "event": (until <= censored).astype(int),
        }
    )


def survival(times: NDArray[np.float64], events: NDArray[np.bool_], until: float) -> float:
    """Return the Kaplan-Meier estimate of the share of rows without the event up to a time."""
    share = 1.0
    for t in sorted({float(time) for time, event in zip(times, events) if event and time <= until}):
        n_observed = sum(1 for time in times if time >= t)
        n_events = sum(1 for time, event in zip(times, events) if event and time == t)
        share *= 1 - n_events / n_observed
    return share


def outcome_of(frame: pd.DataFrame, horizon: float | None = None, **names: str) -> Table:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GomeaBnWarning)
        table = read_table(frame)
    return with_outcome(table, names.get("event", "event"), names.get("time", "time"), horizon)


def weighted_share(table: Table) -> float:
    """Return the share of rows with the event, by weight."""
    rows, weights = (
        (table, np.ones(table.n_rows))
        if table.all_rows is None
        else (table.all_rows.table, table.all_rows.weights)
    )
    has_event = rows.columns[rows.names.index("event")].values == 1
    return float(weights @ has_event / weights.sum())


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), horizon=st.sampled_from([2.0, 5.0, 8.5]), digits=st.sampled_from([0, 3]))
def test_the_weighted_share_of_events_is_that_of_kaplan_and_meier(
    seed: int, horizon: float, digits: int
) -> None:
    frame = censored_rows(300, seed, digits=digits)
    table = outcome_of(frame, horizon)
    expected = 1 - survival(frame["time"].to_numpy(), frame["event"].to_numpy() == 1, horizon)
    assert_allclose(weighted_share(table), expected, rtol=1e-9)
    assert "time" not in table.names
    assert table.censoring is not None
    lost = ((frame["event"] == 0) & (frame["time"] < horizon)).sum()
    assert table.censoring.n_lost == lost
    assert table.censoring.n_events == ((frame["event"] == 1) & (frame["time"] <= horizon)).sum()
    said = table.notes[-2 if lost else -1].text()
    assert f"{lost:,} censored before" in said
    assert f"within {horizon:g} by 'time' (as given)" in said


def test_the_probability_of_no_censoring_is_survival_with_the_roles_exchanged() -> None:
    frame = censored_rows(400, 3, digits=3)
    times, events = frame["time"].to_numpy(), frame["event"].to_numpy() == 1
    at = np.array([0.0, 1.0, 7.5, 19.0])
    expected = [survival(times, ~events, np.nextafter(t, -1)) for t in at]
    # no time occurs twice with and without the event
    assert not set(times[events]) & set(times[~events])
    assert_allclose(uncensored(times, events, at), expected, rtol=1e-9)
    statsmodels = pytest.importorskip("statsmodels.api")
    fitted = statsmodels.SurvfuncRight(times, ~events)
    before = np.array([fitted.surv_prob[fitted.surv_times < t].min(initial=1.0) for t in at])
    assert_allclose(uncensored(times, events, at), before, rtol=1e-9)


def test_without_weights_the_risk_is_off() -> None:
    """A risk that is known: naive shares are below or above it, the weighted one is not."""
    frame = censored_rows(20_000, 5, digits=6)
    r = np.random.default_rng(6)
    truth = float((1 - np.exp(-8 / (10 * np.exp(-0.5 * r.normal(size=10**6))))).mean())
    share = weighted_share(outcome_of(frame, 8.0))
    assert share == pytest.approx(truth, abs=0.012)
    known = frame[(frame["event"] == 1) | (frame["time"] >= 8)]
    of_known = ((known["event"] == 1) & (known["time"] <= 8)).mean()
    assert of_known > truth + 0.03
    assert (frame["event"] == 1).mean() < truth + 0.2


def test_a_horizon_is_chosen_and_said() -> None:
    frame = censored_rows(2_000, 1)
    done = outcome_of(frame).censoring
    assert done is not None
    times, events = frame["time"].to_numpy(), frame["event"].to_numpy() == 1
    assert not done.is_given
    assert done.horizon in set(times[events])
    assert uncensored(times, events, np.array([done.horizon]))[0] >= 0.5
    assert (times > done.horizon).mean() >= 0.1
    assert done.largest <= 2
    later = times[events & (times > done.horizon)]
    assert all(
        uncensored(times, events, np.array([t]))[0] < 0.5 or (times > t).mean() < 0.1
        for t in np.unique(later)
    )


def test_a_tenth_of_the_rows_is_observed_beyond_the_horizon() -> None:
    frame = censored_rows(500, 3, digits=6)
    # the last row alone is censored
    frame["event"] = (frame["time"] < frame["time"].max()).astype(int)
    done = outcome_of(frame).censoring
    assert done is not None
    assert (frame["time"] > done.horizon).sum() == 50


def test_rows_that_nobody_lost_have_no_weights() -> None:
    frame = censored_rows(300, 2)
    frame.loc[(frame["event"] == 0) & (frame["time"] < 4), "time"] = 4.0
    table = outcome_of(frame, 4.0)
    assert table.all_rows is None
    assert not table.weighted
    assert table.n_rows == 300
    assert "No row was censored before" in table.notes[-1].text()


@pytest.mark.parametrize("words", [("no", "yes"), (False, True), (0.0, 1.0)])
def test_words_for_the_event(words: tuple[Any, Any]) -> None:
    frame = censored_rows(300, 4)
    changed = frame.assign(event=[words[code] for code in frame["event"]])
    assert weighted_share(outcome_of(changed, 5.0)) == pytest.approx(weighted_share(outcome_of(frame, 5.0)))


WRONG: dict[str, tuple[dict[str, Any], float | None, str]] = {
    "negative": ({"time": -1.0}, 5.0, "numbers from 0 on, got -1 in 'time', negative in row 0"),
    "missing time": ({"time": np.nan}, 5.0, "missing values, got 1 missing value of 'time' in row 0"),
    "levels": ({"event": 2}, 5.0, "'event' with 3 values: 0, 1, 2"),
    "beyond": ({}, 1e4, "below the longest time of 'time', 20, got 10000"),
    "before": ({}, 1e-9, "must have events of 'event' up to it"),
    "number": ({}, -1.0, "horizon must be a finite number above 0"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_times(case: str) -> None:
    changes, horizon, words = WRONG[case]
    frame = censored_rows(300, 0, digits=3)
    frame.loc[0, "event"] = 0
    for name, value in changes.items():
        frame.loc[0, name] = value
    table = read_table(frame.assign(time=frame["time"] + 1e-6 * (horizon == 1e-9)), missing="keep")
    with pytest.raises(GomeaBnError, match=words):
        with_outcome(table, "event", "time", horizon)


def test_wrong_columns() -> None:
    frame = censored_rows(300).assign(ward=np.resize(["a", "b"], 300))
    for names, words in (
        ({"time": "tyme"}, "duration must be a column of the table, got 'tyme'. Did you mean 'time'"),
        ({"event": "x"}, "write its values as 0 and 1|Write its values as 0 and 1"),
        ({"event": "ward"}, "'ward' with 2 values: 'a', 'b'"),
        ({"time": "ward"}, "must be a column of numbers, got 'ward' with 'a'"),
    ):
        with pytest.raises(GomeaBnError, match=words):
            outcome_of(frame, 5.0, **names)
    with pytest.raises(GomeaBnError, match="needs the column of the event"):
        with_outcome(read_table(frame), None, "time", 5.0)
    with pytest.raises(GomeaBnError, match="horizon is that of a column of times"):
        with_outcome(read_table(frame), "event", None, 5.0)
    with pytest.raises(GomeaBnError, match="duration and groups both decide"):
        with_outcome(
            read_table(frame.assign(person=np.arange(300) // 2), groups="person"), "event", "time", 5.0
        )


def warned(frame: pd.DataFrame) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", GomeaBnWarning)
        read_table(frame)
    return [str(warning.message) for warning in caught if "looks like the time" in str(warning.message)]


@pytest.mark.parametrize(
    ("time", "event"),
    [
        ("time", "event"),
        ("futime", "death"),
        ("d.time", "death"),
        ("OS_TIME", "status"),
        ("survtime", "censdead"),
    ],
)
def test_a_pair_is_noticed(time: str, event: str) -> None:
    (text,) = warned(censored_rows().rename(columns={"time": time, "event": event}))
    assert f"'{time}' looks like the time until '{event}'" in text
    assert text.endswith(f"takes target='{event}' and duration='{time}'.")


def test_names_of_other_quantities_need_times_that_differ() -> None:
    frame = censored_rows().rename(columns={"time": "OS_MONTHS"})
    assert not warned(frame)
    ended = frame.assign(OS_MONTHS=np.where(frame["event"] == 0, 20 + frame["x"], frame["OS_MONTHS"]))
    assert len(warned(ended)) == 1


def test_other_columns_are_not_noticed() -> None:
    frame = censored_rows()
    assert not warned(frame.rename(columns={"time": "age"}))
    assert not warned(frame.rename(columns={"event": "female"}))
    assert not warned(frame.assign(time=frame["time"] - 1))
    assert not warned(frame.assign(event=frame["event"] + 1))
