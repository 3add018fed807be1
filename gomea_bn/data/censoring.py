"""The outcome of a network, which must be known, and that of times until an event: the event within a horizon."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import Column
from gomea_bn.data.event_times import Censoring, done_text, numbers_of, yes_codes
from gomea_bn.data.files.reading import Note
from gomea_bn.data.table import Table
from gomea_bn.data.weights import weighted_table
from gomea_bn.errors import GomeaBnError, Option, check_number, nearest, row_list, wrong_option
from gomea_bn.texts import counted

# share of rows that are observed beyond a horizon that nobody gave
_LEAST_BEYOND = 0.1


def with_outcome(table: Table, event: str | None, duration: str | None, horizon: float | None) -> Table:
    """Return a table whose column `event` says whether the event came within a horizon, with weights of rows.

    Rows that were censored before the horizon have the weight 0 and are left out. Others count by the inverse
    probability that they were not (Robins & Rotnitzky, "Recovery of information and adjustment for dependent censoring
    using surrogate markers", 1992): 1 / G(t), with the Kaplan-Meier estimate G of the probability not to be censored
    before t, the time of the event or else the horizon. Their weighted share of events is then one minus the
    Kaplan-Meier estimate of the survival. Censoring must not depend on what the columns say of the event. The column
    of times is no variable of the result, whose `censoring` has what was done.

    Parameters
    ----------
    table : Table
        Rows; one with a `censoring` by the same column is returned as it is.
    event : str or None
        Column of 0 for censored rows and 1 for rows with the event, or of no and yes.
    duration : str or None
        Column of the times of events or of the end of observation, from 0 on. None: the table is returned as it is.
    horizon : float or None
        Time up to which events count. None: the latest time of an event before which at most half of the rows would be
        censored if there were no events, and after which at least a tenth of the rows is observed.

    Raises
    ------
    GomeaBnError
        For missing or negative times, an event that has not these two values, a horizon beyond which there is no row or
        before which there is no event, and groups or weights of rows.
    """
    if duration is None:
        if horizon is not None:
            raise wrong_option(
                "horizon", "is that of a column of times; give it too, or leave out the horizon."
            )
        return table
    if event is None:
        raise GomeaBnError(
            [Option("duration"), " needs the column of the event as ", Option("target"), "."],
            ["name the column that is 1 where the time ended with the event"],
        )
    if table.censoring is not None and table.censoring.duration == duration:
        return table
    known, _, weights = known_outcomes(table, event, duration, horizon)
    # inverse probabilities are importances, also where all of them are whole
    weighted = weighted_table(known, weights)
    return replace(weighted, dropped_rows=table.dropped_rows)


def known_outcomes(
    table: Table, event: str, duration: str, horizon: float | None
) -> tuple[Table, NDArray[np.int64], NDArray[np.float64]]:
    """Return the rows of `with_outcome` in the order of the table; the same errors are raised.

    With them come their positions among the rows given, and their weights, 1 on average.
    """
    check_number("horizon", horizon, 0, above=True, optional=True)
    if table.groups is not None or table.weighted:
        other = "groups" if table.groups is not None else "sample_weight"
        raise GomeaBnError(
            [Option("duration"), " and ", Option(other), " both decide how rows count."],
            ["leave one of them out"],
        )
    times = _times_of(_column(table, duration, "duration"))
    column = _column(table, event, "target")
    has_event = _events_of(column, duration)
    chosen = _chosen_horizon(times, has_event) if horizon is None else float(horizon)
    if not (times > chosen).any():
        raise wrong_option(
            "horizon", f"must be below the longest time of '{duration}', {times.max():g}, got {chosen:g}."
        )
    is_outcome = has_event & (times <= chosen)
    if not is_outcome.any():
        first = f"; the first is at {times[has_event].min():g}" if has_event.any() else ""
        raise wrong_option("horizon", f"must have events of '{event}' up to it, got {chosen:g}{first}.")
    is_known = is_outcome | (times >= chosen)
    weights = np.where(is_known, 1 / uncensored(times, has_event, np.minimum(times, chosen)), 0.0)
    done = Censoring(
        duration,
        chosen,
        horizon is not None,
        table.n_rows,
        int(is_outcome.sum()),
        int((~is_known).sum()),
        float(weights.max()),
    )
    # of two levels
    yes = int(column.values[has_event][0])
    values = np.where(is_outcome, yes, 1 - yes).astype(column.values.dtype)
    values.flags.writeable = False
    outcome = replace(column, values=values, reason=f"{column.reason}; within {chosen:g} by '{duration}'")
    columns = [outcome if other is column else other for other in table.columns if other.name != duration]
    changed = replace(
        table,
        columns=tuple(columns),
        notes=(*table.notes, Note(done_text(event, done))),
        left_out={**table.left_out, duration: f"the time until '{event}' or until the end of observation"},
        censoring=done,
    )
    rows = np.flatnonzero(is_known)
    return changed.take(rows), rows, weights[rows] / weights[rows].mean()


def uncensored(
    times: NDArray[np.float64], has_event: NDArray[np.bool_], at: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the Kaplan-Meier estimate of the probability not to be censored before some times, of the shape of `at`.

    Of equal times events come before censoring. `times` and `has_event` are (n_rows,).
    """
    distinct, codes = np.unique(times, return_inverse=True)
    ended, events = (np.bincount(codes, of, len(distinct)) for of in (None, has_event))
    observed = np.cumsum(ended[::-1])[::-1] - events
    censored = ended - events
    stays = 1 - np.divide(censored, observed, out=np.zeros(len(distinct)), where=observed > 0)
    before = np.concatenate([[1.0], np.cumprod(stays)])
    return np.asarray(before[np.searchsorted(distinct, at, side="left")], np.float64)


def _column(table: Table, name: Any, option: str) -> Column:
    """Return the column that an option names."""
    if not isinstance(name, str) or name not in table.names:
        hint = nearest(str(name), table.names)
        raise wrong_option(option, f"must be a column of the table, got {name!r:.80}.{hint}")
    column = table.columns[table.names.index(name)]
    if column.n_missing:
        missing = np.flatnonzero(column.is_missing)
        raise GomeaBnError(
            [
                Option(option),
                f" must not have missing values, got {counted(len(missing), 'missing value')} of {name!r} in "
                f"{row_list(missing)}.",
            ],
            ["drop these rows"],
        )
    return column


def _times_of(column: Column) -> NDArray[np.float64]:
    """Return the times of a column, float64 (n_rows,)."""
    times = numbers_of(column)
    if times is None:
        assert column.levels is not None
        raise wrong_option(
            "duration", f"must be a column of numbers, got '{column.name}' with {column.levels[0]!r}."
        )
    if (negative := np.flatnonzero(times < 0)).size:
        raise GomeaBnError(
            [
                Option("duration"),
                f" must be a column of numbers from 0 on, got {times[negative[0]]:g} in '{column.name}', negative in "
                f"{row_list(negative)}.",
            ],
            ["drop these rows"],
        )
    return times


def _events_of(column: Column, duration: str) -> NDArray[np.bool_]:
    """Return in which rows a column has the event."""
    events = yes_codes(column)
    if events is None:
        got = (
            "numbers"
            if column.levels is None
            else f"{counted(len(column.levels), 'value')}: " + ", ".join(map(repr, column.levels[:5]))
        )
        raise GomeaBnError(
            [
                Option("target"),
                f" must be 1 where the time of '{duration}' ended with the event and 0 where it was censored, or yes "
                f"and no, got '{column.name}' with {got}.",
            ],
            ["write its values as 0 and 1"],
        )
    return events


def _chosen_horizon(times: NDArray[np.float64], has_event: NDArray[np.bool_]) -> float:
    """Return the horizon where none is given; see `with_outcome`."""
    candidates = np.unique(times[has_event])
    # of censoring, a horizon that nobody gave leaves at least half of the rows
    is_observed = uncensored(times, has_event, candidates) >= 0.5
    beyond = len(times) - np.searchsorted(np.sort(times), candidates, side="right")
    fitting = candidates[is_observed & (beyond >= _LEAST_BEYOND * len(times))]
    if not len(fitting):
        raise GomeaBnError(
            [
                Option("horizon"),
                " must be given: there is no event before half of the rows are censored and after which a tenth of "
                f"the {counted(len(times), 'row')} is observed.",
            ]
        )
    return float(fitting.max())
