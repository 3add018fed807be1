"""Columns of earlier times next to those of each row, with which a network over time is learned as any other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import Column, column_positions
from gomea_bn.data.dates import source_name
from gomea_bn.data.files.reading import checked_lags
from gomea_bn.data.forms import with_forms
from gomea_bn.data.frames import frame_of
from gomea_bn.errors import GomeaBnError, Option, RowPositions, Setting, give_warning, nearest, wrong_option
from gomea_bn.texts import counted, listed

if TYPE_CHECKING:
    import pandas as pd

# share by which months, quarters and years differ from one another
_UNEVEN = 0.11
_EARLIER = re.compile(r"(?P<name>.*) \((?P<step>[1-9]\d*) before\)", re.DOTALL)


def lagged(
    frame: Any, *, time: str, group: str | None = None, lags: int | Iterable[int] = 1
) -> tuple[pd.DataFrame, list[list[str]]]:
    """Return a frame whose rows also have the values of earlier rows, and the tiers of its columns, earliest first.

    Rows are sorted by time within their group. A row that has fewer earlier rows in its group than the largest lag is
    left out. The tiers are a `temporal_order` of `ExpertKnowledge`: no edge leads back in time.

    Parameters
    ----------
    frame : DataFrame or other table
        Rows as of `read_table`; paths are not read.
    time : str
        Column that orders the rows: numbers or dates, different in all rows of a group. Times should be
        evenly spaced, since a lag counts rows.
    group : str, optional
        Column that names the group of every row, such as a person. By default all rows are one group.
    lags : int or list of int
        How many rows before the row to take values from: 2 stands for 1 and 2.

    Returns
    -------
    DataFrame
        The group, where there is one, then for every lag the columns "NAME (2 before)" from the largest lag on, then
        the columns themselves; without the time.
    list of list of str
        Names of the columns of every lag, from the largest on, and of the row itself.

    Raises
    ------
    GomeaBnError
        For unknown columns, missing or equal times, missing groups, names that occur already, and if no row is left.
    """
    rows = frame_of(frame)
    names = list(column_positions(rows))
    rows = rows.set_axis(names, axis=1)
    for option, name in (("time", time), ("group", group)):
        if name is not None and name not in names:
            raise GomeaBnError([Option(option), f": unknown column '{name}'.{nearest(str(name), names)}"])
    if group is not None and group == time:
        raise wrong_option("group", f"must be another column than time, got '{group}' for both.")
    keys = [time] if group is None else [group, time]
    values = [name for name in names if name not in keys]
    if not values:
        raise GomeaBnError("No column remains besides the time and the group.")
    lagged_rows, tiers, _ = _with_earlier(rows, time, group, checked_lags(lags), values)
    return lagged_rows.drop(columns=time), tiers


def rows_with_earlier(
    rows: pd.DataFrame,
    texts: Mapping[str, pd.Series[Any]],
    *,
    time: str,
    group: str | None = None,
    lags: Sequence[int],
) -> tuple[pd.DataFrame, dict[str, pd.Series[Any]]]:
    """Return the frame of `lagged` with the time of every row in its first column, and texts of columns likewise."""
    rows = rows.set_axis(list(column_positions(rows)), axis=1)
    values = [name for name in rows.columns if name not in (time, group)]
    found, _, positions = _with_earlier(rows, time, group, lags, values)
    moved = {
        earlier_name(name, step): of_column.iloc[chosen].reset_index(drop=True)
        for step, chosen in zip([*reversed(lags), 0], positions, strict=True)
        for name, of_column in texts.items()
        if name in values
    }
    return found, moved


def _with_earlier(
    rows: pd.DataFrame, time: str, group: str | None, steps: Sequence[int], values: Sequence[str]
) -> tuple[pd.DataFrame, list[list[str]], list[NDArray[np.int64]]]:
    """Return the frame of `lagged` with times in the first column, its tiers, and what `earlier_rows` returns."""
    import pandas as pd

    positions = earlier_rows(rows, time, group, steps)
    parts = [rows[[time] if group is None else [time, group]].iloc[positions[-1]]]
    tiers = []
    for step, chosen in zip([*reversed(steps), 0], positions, strict=True):
        tiers.append([earlier_name(name, step) for name in values])
        parts.append(rows[list(values)].iloc[chosen].set_axis(tiers[-1], axis=1))
    _check_names([*rows.columns], tiers)
    return pd.concat([part.reset_index(drop=True) for part in parts], axis=1), tiers, positions


def earlier_columns(
    columns: Sequence[Column], lags: Sequence[int], positions: Sequence[NDArray[np.int64]]
) -> tuple[Column, ...]:
    """Return columns next to those of earlier rows, as `lagged` does, which keep their kinds, levels and units.

    `positions` are those of `earlier_rows` for the same lags.
    """
    tiers = []
    for step, chosen in zip([*reversed(lags), 0], positions, strict=True):
        tier = []
        for column in columns:
            values = column.values[chosen]
            values.flags.writeable = False
            tier.append(replace(column, name=earlier_name(column.name, step), values=values))
        tiers.append(tier)
    _check_names([column.name for column in columns], [[column.name for column in tier] for tier in tiers])
    return tuple(column for tier in tiers for column in tier)


def slices_of(names: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Return which columns of earlier rows and of the row itself some names are, earliest first; none without lags.

    Each slice has a title, "2 before" or "now". Columns of which there is no earlier one stand in the first.
    """
    plain = {source_name(name): name for name in names}
    steps: dict[str, int] = {}
    for short, name in plain.items():
        found = _EARLIER.fullmatch(short)
        if found is not None and found["name"] in plain:
            steps[name] = int(found["step"])
            steps.setdefault(plain[found["name"]], 0)
    if not steps:
        return []
    first = max(steps.values())
    slices: dict[int, list[str]] = {step: [] for step in sorted({*steps.values()}, reverse=True)}
    for name in plain.values():
        slices[steps.get(name, first)].append(name)
    return [(f"{step} before" if step else "now", members) for step, members in slices.items()]


def earlier_name(name: str, step: int) -> str:
    """Return the name of a column of the row that is some steps before; that of the unit of dates stays behind."""
    if step == 0:
        return name
    short = source_name(name)
    return f"{short} ({step} before){name.removeprefix(short)}"


def _check_names(names: Sequence[str], tiers: Sequence[Sequence[str]]) -> None:
    clash = {name for tier in tiers[:-1] for name in tier} & set(names)
    if clash:
        raise GomeaBnError(
            f"The table has columns with the names of lags already: {listed(sorted(clash), 5)}."
        )


def earlier_rows(
    rows: pd.DataFrame, time: str, group: str | None, lags: Sequence[int]
) -> list[NDArray[np.int64]]:
    """Return positions in rows, int64 (n,), of the largest lag first and at last of the rows themselves.

    The rows are those with enough earlier ones in their group, in the order of groups and times. Raises `GomeaBnError`
    for missing or equal times, missing groups, and if there is no such row.
    """
    for name in (time, *([group] if group is not None else [])):
        gaps = np.flatnonzero(rows[name].isna())
        if gaps.size:
            raise GomeaBnError(
                [f"Column '{name}' is missing in ", RowPositions(gaps), "."], ["drop these rows"]
            )
    twice = np.flatnonzero(rows.duplicated([time] if group is None else [group, time], keep=False))
    if twice.size:
        of_group = "" if group is None else f" in a group of '{group}'"
        raise GomeaBnError(
            [f"Column '{time}' has the same time more than once{of_group}, in ", RowPositions(twice), "."],
            ["name the column whose rows belong together as the group", "drop copies"],
        )
    moments = times_of_rows(rows[time], {})[0].to_numpy()
    codes = np.zeros(len(rows), np.int64) if group is None else rows[group].factorize()[0]
    order = np.lexsort([moments, codes])
    ordered = codes[order]
    first_of_group = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]][: len(ordered)])
    sizes = np.diff(np.r_[first_of_group, len(ordered)])
    n_earlier = np.arange(len(ordered)) - np.repeat(first_of_group, sizes)
    _warn_of_uneven(np.diff(np.asarray(moments, np.float64)[order])[n_earlier[1:] > 0], time)
    late = np.flatnonzero(n_earlier >= lags[-1])
    if not late.size:
        raise GomeaBnError(
            f"No row has {counted(lags[-1], 'earlier row')}{'' if group is None else ' in its group'}.",
            ["use fewer lags"],
        )
    return [np.asarray(order[late - step], np.int64) for step in [*reversed(lags), 0]]


def times_of_rows(
    series: pd.Series[Any], forms: Mapping[str, str], decimal: str | None = None
) -> tuple[pd.Series[Any], dict[str, str]]:
    """Return numbers that order the times of rows, and the forms by which texts of this column must be read.

    Texts must be dates or times of day, which their letters do not order.
    """
    from pandas.api import types

    name = str(series.name)
    formed = with_forms(series.to_frame(), {}, forms, dates="numbers", decimal=decimal, few=0)
    if formed.problems:
        parts, *advice = formed.problems[0].args
        # the times are no variable that may be left out or discrete
        others = [
            part
            for of_problem in advice
            for part in of_problem
            if getattr(part, "name", "") not in ("kinds", "drop")
        ]
        raise GomeaBnError(parts, others)
    times = formed.frame.iloc[:, 0]
    if not types.is_numeric_dtype(times.dtype) or types.is_bool_dtype(times.dtype):
        raise GomeaBnError(
            f"Column '{name}' must hold numbers or dates to order rows, got {series.iloc[0]!r:.60}.",
            ["write the times as numbers or as YYYY-MM-DD", Setting("forms", "date day-month", name)],
        )
    return times, formed.forms


def _warn_of_uneven(steps: NDArray[np.float64], name: str) -> None:
    """Warn of steps between the times of rows that differ by more than months, quarters and years do."""
    if not steps.size:
        return
    values, counts = np.unique(steps, return_counts=True)
    usual = values[counts.argmax()]
    n_odd = int(counts[np.abs(values - usual) > _UNEVEN * usual].sum())
    if n_odd:
        give_warning(
            f"The times in '{name}' are not evenly spaced: {counted(n_odd, 'step')} of {len(steps):,} from row to row "
            f"{'differs' if n_odd == 1 else 'differ'} from the usual {usual:g} ({values[0]:g} to {values[-1]:g}). "
            "A lag counts rows, whatever the time between them."
        )
