"""Columns of times until an event, which may be censored: what looks like them, and what was made of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import YES, Column
from gomea_bn.data.files.reading import Note
from gomea_bn.errors import Option, is_integer, is_real
from gomea_bn.texts import counted

_NO = {"0", "0.0", "false", "f", "no", "n"}
_SURE_TIMES = "time|times|futime|tte|followup|follow_up|fu|survtime|survival|survival_time|rectime|lifetime"
_TIMES = f"{_SURE_TIMES}|duration|tenure|days|weeks|months|years"
_EVENTS = (
    "event|events|status|state|death|dead|died|deceased|fustat|cens[a-z]*|fail|failed|failure|"
    "relapse|relapsed|recurrence|progression|churn|churned|delta|arrest|observed"
)
_NAME_OF_TIME = re.compile(rf"(.*[\W_])?({_TIMES})([\W_].*)?|time[a-z]+", re.IGNORECASE)
_SURE_NAME_OF_TIME = re.compile(rf"(.*[\W_])?({_SURE_TIMES})", re.IGNORECASE)
_NAME_OF_EVENT = re.compile(rf"(.*[\W_])?({_EVENTS})([\W_].*)?", re.IGNORECASE)


class Censoring(NamedTuple):
    """What became of the times until an event: the horizon, the rows, and those that nobody saw until the horizon.

    `largest` is the largest weight of a row, and `is_given` whether the horizon was.
    """

    duration: str
    horizon: float
    is_given: bool
    n_rows: int
    n_events: int
    n_lost: int
    largest: float


def done_text(event: str, done: Censoring) -> str:
    """Return what was done with times until an event, in words."""
    how = (
        "as given"
        if done.is_given
        else "the latest time of an event before which censoring alone leaves half of the rows and after which a "
        "tenth is observed"
    )
    n_free = done.n_rows - done.n_events - done.n_lost
    text = (
        f"'{event}' is the event within {done.horizon:,g} by '{done.duration}' ({how}): "
        f"{counted(done.n_events, 'row')} with it, {n_free:,} without it"
    )
    if not done.n_lost:
        return f"{text}. No row was censored before."
    return (
        f"{text}, and {done.n_lost:,} censored before, of which nobody knows. These are left out, and the others count "
        "for them, by the inverse probability of not being censored (Kaplan-Meier): up to "
        f"{done.largest:.2f} times."
    )


def time_and_event(columns: Sequence[Column]) -> tuple[str, str] | None:
    """Return the names of a column of times until an event and of the column of the event, if two look like them.

    Both have usual names. The times are numbers from 0 on, of which at least ten differ, and the event has the values 0
    and 1 or no and yes. Under names that may also be those of an age or a count of days, times with the event must
    differ from times without it by more than chance.
    """
    # ten distinct times make a time, and five standard errors between times with the event and without it
    found = [
        (is_sure, apart, time.name, event.name)
        for time in columns
        if _NAME_OF_TIME.fullmatch(time.name)
        and not time.n_missing
        and (times := numbers_of(time)) is not None
        and len(np.unique(times)) >= 10
        and times.min() >= 0
        for event in columns
        if event is not time
        and _NAME_OF_EVENT.fullmatch(event.name)
        and not event.n_missing
        and (events := yes_codes(event)) is not None
        for is_sure in [bool(_SURE_NAME_OF_TIME.fullmatch(time.name))]
        if (apart := _apart(times, events)) >= 5.0 or is_sure
    ]
    return max(found)[2:] if found else None


def doubts_about_times(columns: Sequence[Column]) -> list[Note]:
    """Return a note that names what `time_and_event` finds, if anything."""
    found = time_and_event(columns)
    if found is None:
        return []
    time, event = found
    return [
        Note(
            [
                f"'{time}' looks like the time until '{event}' or until the end of observation: a time that ended "
                "without the event is no outcome, since nobody saw what came later. A network of the event within a "
                "horizon, in which the rows seen until then count for those that were not, takes ",
                Option("target", event),
                " and ",
                Option("duration", time),
                ".",
            ]
        )
    ]


def numbers_of(column: Column) -> NDArray[np.float64] | None:
    """Return the known numbers of a column; None if it has others, or none."""
    if column.levels is None:
        return np.asarray(column.observed, np.float64) if len(column.observed) else None
    if any(isinstance(level, (bool, str)) for level in column.levels) or not len(column.observed):
        return None
    return np.asarray(np.array(column.levels, np.float64)[column.observed], np.float64)


def yes_codes(column: Column) -> NDArray[np.bool_] | None:
    """Return which known values of a column are 1 or yes, where the others are 0 or no; None for other columns."""
    texts = [str(level).strip().lower() for level in column.levels or ()]
    if len(texts) != 2 or not (_NO & set(texts) and YES & set(texts)):
        return None
    return np.asarray(np.array([text in YES for text in texts])[column.observed])


def _apart(times: NDArray[np.float64], events: NDArray[np.bool_]) -> float:
    """Return by how many standard errors times with the event differ from those without it (Mann & Whitney 1947)."""
    if events.all() or not events.any():
        return 0.0
    from scipy.stats import rankdata

    n, n_events = len(times), int(events.sum())
    ranks = rankdata(times)
    spread = sqrt(n_events * (n - n_events) / n) * float(ranks.std(ddof=1))
    return abs(float(ranks[events].sum()) - n_events * (n + 1) / 2) / spread if spread else 0.0


def recorded_censoring(record: object) -> Mapping[str, Any] | None:
    """Return the entry of a network's metadata on times until its target; None if there is none, or a damaged one."""
    if not isinstance(record, Mapping) or set(record) != set(Censoring._fields):
        return None
    counts = (record[name] for name in ("n_rows", "n_events", "n_lost"))
    is_typed = all(map(is_integer, counts)) and is_real(record["horizon"]) and is_real(record["largest"])
    return record if is_typed and isinstance(record["duration"], str) else None
