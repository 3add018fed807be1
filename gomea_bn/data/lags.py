"""Columns of earlier times next to those of each row, with which a network over time is learned as any other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from gomea_bn.data.columns import column_positions
from gomea_bn.data.dates import as_numbers
from gomea_bn.data.frames import frame_of
from gomea_bn.errors import GomeaBnError, Option, RowPositions, check_integer, nearest, wrong_option
from gomea_bn.texts import counted, listed

if TYPE_CHECKING:
    import pandas as pd


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
        The group, where there is one, then for every lag the columns "NAME, 2 before" from the largest lag on, then
        the columns themselves; without the time.
    list of list of str
        Names of the columns of every lag, from the largest on, and of the row itself.

    Raises
    ------
    GomeaBnError
        For unknown columns, missing or equal times, missing groups, names that occur already, and if no row is left.
    """
    import pandas as pd

    rows = frame_of(frame)
    names = list(column_positions(rows))
    rows = rows.set_axis(names, axis=1)
    for option, name in (("time", time), ("group", group)):
        if name is not None and name not in names:
            raise GomeaBnError([Option(option), f": unknown column '{name}'.{nearest(str(name), names)}"])
    if group is not None and group == time:
        raise wrong_option("group", f"must be another column than time, got '{group}' for both.")
    steps = _checked_lags(lags)
    for name in (time, *([group] if group is not None else [])):
        gaps = np.flatnonzero(rows[name].isna())
        if gaps.size:
            raise GomeaBnError(
                [f"Column '{name}' is missing in ", RowPositions(gaps), "."], ["drop these rows"]
            )
    keys = [time] if group is None else [group, time]
    twice = np.flatnonzero(rows.duplicated(keys, keep=False))
    if twice.size:
        of_group = "" if group is None else f" in a group of '{group}'"
        raise GomeaBnError(
            [f"Column '{time}' has the same time more than once{of_group}, in ", RowPositions(twice), "."],
            ["name the column whose rows belong together as the group", "drop copies"],
        )
    moments = _moments(rows[time], time)
    order = np.lexsort([moments] if group is None else [moments, rows[group].factorize()[0]])
    ordered = rows.iloc[order].reset_index(drop=True)
    values = [name for name in names if name not in keys]
    if not values:
        raise GomeaBnError("No column remains besides the time and the group.")
    codes = np.zeros(len(ordered), np.int64) if group is None else ordered[group].factorize()[0]
    place = ordered.groupby(codes).cumcount().to_numpy()
    kept = np.flatnonzero(place >= steps[-1])
    if not kept.size:
        raise GomeaBnError(
            f"No row has {counted(steps[-1], 'earlier row')}{'' if group is None else ' in its group'}.",
            ["use fewer lags"],
        )
    parts, tiers = [] if group is None else [ordered[[group]].iloc[kept]], []
    for step in reversed([0, *steps]):
        part = ordered[values].iloc[kept - step]
        tier = [name if step == 0 else f"{name}, {step} before" for name in values]
        parts.append(part.set_axis(tier, axis=1))
        tiers.append(tier)
    clash = {name for tier in tiers[:-1] for name in tier} & set(names)
    if clash:
        raise GomeaBnError(
            f"The table has columns with the names of lags already: {listed(sorted(clash), 5)}."
        )
    return pd.concat([part.reset_index(drop=True) for part in parts], axis=1), tiers


def _moments(series: pd.Series[Any], name: str) -> Any:
    """Return numbers that order the times of rows, (n_rows,); texts must be dates, which their letters do not order."""
    from pandas.api import types

    if types.is_numeric_dtype(series.dtype) and not types.is_bool_dtype(series.dtype):
        return series.to_numpy()
    dates = as_numbers(series, name)
    if dates is None:
        raise GomeaBnError(
            f"Column '{name}' must hold numbers or dates to order rows, got {series.iloc[0]!r:.60}.",
            ["write the times as numbers or as YYYY-MM-DD"],
        )
    return dates[0].to_numpy(np.float64)


def _checked_lags(lags: int | Iterable[int]) -> list[int]:
    """Return the lags in rising order."""
    if not isinstance(lags, Iterable):
        check_integer("lags", lags, 1)
        return list(range(1, int(lags) + 1))
    steps = list(lags)
    for step in steps:
        check_integer("lags", step, 1)
    if not steps:
        raise wrong_option("lags", "must name at least one number of rows, got none.")
    return sorted(set(steps))
