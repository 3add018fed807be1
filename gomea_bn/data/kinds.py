"""Kinds of columns: the rule that makes a column continuous or discrete, and the column that it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import (
    EMPTY_LEVEL,
    FEW_ROWS,
    LARGEST_EXACT,
    LEAST_RANGE,
    Column,
    Level,
    extremes,
    level_values,
    numeric_values,
)
from gomea_bn.errors import GomeaBnError, Setting
from gomea_bn.texts import listed

if TYPE_CHECKING:
    import pandas as pd

FEW_VALUES = 10
"""A column of whole numbers with at most this many distinct values is discrete."""

RULE = (
    "bool, categorical and text columns, and columns of whole numbers with at most "
    f"{FEW_VALUES} distinct values, are discrete; all others are continuous"
)


def decided_column(
    series: pd.Series[Any], name: str, stored: str, kind: str | None, max_levels: int
) -> Column:
    """Return one column with its kind decided; whole numbers are integers, also where they are stored as floats."""
    if stored == "float" and (whole := _as_integers(series, name)) is not None:
        series, stored = whole, "integer"
    # most columns vary among their first rows
    parts = (series.iloc[:FEW_ROWS], series.iloc[FEW_ROWS:])
    if all(bool((part == series.iloc[0]).all()) for part in parts):
        return _constant_column(series, name, max_levels)
    inferred, reason = _inferred_kind(series, stored)
    if kind is not None:
        reason = (
            f"set by kinds (the rule says {inferred}: {reason})"
            if kind != inferred
            else f"set by kinds; {reason}"
        )
    if (kind or inferred) == "continuous":
        values: NDArray[Any] = numeric_values(series, name)
        _check_numbers(values, series, name, stored)
        levels = None
    else:
        values, levels = level_values(series, name)
        _check_levels(series, name, levels, max_levels, reason)
        reason += f"; {len(levels)} levels"
    values.flags.writeable = False
    is_integer = levels is None and stored == "integer"
    return Column(name, values, levels, reason, levels is not None and _has_order(series), is_integer)


def _as_integers(series: pd.Series[Any], name: str) -> pd.Series[Any] | None:
    """Return floats as integers, or None if one is no whole number or too large to be exact."""
    import pandas as pd

    # most columns of real numbers have a fraction among their first rows
    for part in (series.iloc[:FEW_ROWS], series):
        values = numeric_values(part, name)
        if not ((values == np.rint(values)) & (np.abs(values) < LARGEST_EXACT)).all():
            return None
    return pd.Series(values.astype(np.int64), index=series.index)


def empty_column(name: str, n_rows: int) -> Column:
    """Return the column of a source that has no values: discrete, with `EMPTY_LEVEL` in all rows."""
    values = np.zeros(n_rows, np.int32)
    values.flags.writeable = False
    return Column(name, values, (EMPTY_LEVEL,), f"empty: no value in all {n_rows} rows")


def _has_order(series: pd.Series[Any]) -> bool:
    """Return whether a column is an ordered pandas categorical."""
    return bool(getattr(series.dtype, "ordered", False))


def _constant_column(series: pd.Series[Any], name: str, max_levels: int) -> Column:
    """Return a constant column: discrete, with its value or the declared categories as levels."""
    values, levels = level_values(series, name)
    _check_levels(series, name, levels, max_levels, "pandas categorical")
    values.flags.writeable = False
    more = f"; {len(levels)} declared levels" if len(levels) > 1 else ""
    value = levels[int(values[0])]
    reason = f"constant: {value!r} in all {len(values)} rows{more}"
    return Column(name, values, levels, reason, _has_order(series))


def _inferred_kind(series: pd.Series[Any], stored: str) -> tuple[str, str]:
    """Return the kind by the rule, and the rule in words."""
    if stored == "float":
        return "continuous", "real numbers"
    if stored == "integer":
        distinct = series.nunique()
        if distinct <= FEW_VALUES:
            return "discrete", f"integers, {distinct} distinct (at most {FEW_VALUES})"
        return "continuous", f"integers, {distinct} distinct (more than {FEW_VALUES})"
    if stored == "text":
        return "discrete", "text" + _numbers_in_text(series)
    return "discrete", {"category": "pandas categorical", "bool": "bools"}[stored]


def _numbers_in_text(series: pd.Series[Any]) -> str:
    """Return a remark for text of which at least half reads as numbers, with the first that does not."""
    import pandas as pd

    numbers = np.array(pd.to_numeric(series.astype(object), errors="coerce"), dtype=np.float64)
    other = np.flatnonzero(np.isnan(numbers))
    if 2 * other.size > len(series):
        return ""
    if other.size == 0:
        return ", though every value reads as a number"
    return (
        f", though {len(series) - other.size} of {len(series)} values read as numbers; the first that does "
        f"not is {series.iloc[int(other[0])]!r:.40}"
    )


def _check_numbers(values: NDArray[np.float64], series: pd.Series[Any], name: str, stored: str) -> None:
    """Raise for numbers that float64 cannot distinguish, and for a range or densities that float64 cannot hold."""
    low, high = extremes(values)
    # Python's floats overflow without a warning
    if not np.isfinite(high - low) or 0 < high - low < LEAST_RANGE:
        extent = "narrow" if high - low < LEAST_RANGE else "wide"
        raise GomeaBnError(
            f"Column '{name}' ranges from {low:g} to {high:g}, too {extent} for float64.",
            ["rescale it"],
        )
    if stored == "integer" and max(-low, high) > LARGEST_EXACT and np.unique(values).size < series.nunique():
        raise GomeaBnError(
            f"Column '{name}' has integers beyond 2**53 that float64 cannot distinguish.",
            ["subtract an offset", "drop the column if it is an identifier"],
        )


def _check_levels(
    series: pd.Series[Any], name: str, levels: tuple[Level, ...], max_levels: int, reason: str
) -> None:
    if len(levels) <= max_levels:
        return
    advice: list[str | Setting] = ["merge or drop levels", Setting("max_levels")]
    if isinstance(levels[0], (int, float)) or "every value reads as a number" in reason:
        advice.append(Setting("kinds", "continuous", name))
    raise GomeaBnError(
        f"Column '{name}' must have at most {max_levels} levels, got {len(levels)} in its {len(series)} rows "
        f"({listed(map(repr, levels[:3]))}, …). It counts as discrete because: {reason}.",
        advice,
    )
