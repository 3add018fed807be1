"""Missing and infinite values of the columns of a frame: where they are, and how a table keeps or refuses them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import MISSING_CODE, ROWS_WORTH_THREADS, Column, is_missing
from gomea_bn.errors import GomeaBnError, Setting, row_list
from gomea_bn.runtime.threads import in_threads
from gomea_bn.texts import counted

if TYPE_CHECKING:
    import pandas as pd


def gaps_of(series: Sequence[pd.Series[Any]], storages: Sequence[str]) -> list[NDArray[np.bool_]]:
    """Return which values of every column are missing or infinite, bool (n_rows,)."""
    has_threads = len(series) > 0 and len(series[0]) > ROWS_WORTH_THREADS
    return in_threads(
        lambda column: is_missing(*column),
        zip(series, storages, strict=True),
        n_threads=-1 if has_threads else 1,
    )


def refuse_gaps(gaps: Mapping[str, NDArray[np.bool_]]) -> None:
    """Raise if a column has missing or infinite values; `gaps` says which, bool (n_rows,), by name."""
    if any(is_gap.any() for is_gap in gaps.values()):
        raise GomeaBnError(
            gap_lines(gaps, "missing or infinite value"), ["fill or drop them", Setting("missing", "drop")]
        )


def refuse_infinite(gaps: Mapping[str, NDArray[np.bool_]], series: Sequence[pd.Series[Any]]) -> None:
    """Raise if any of the gaps, bool (n_rows,) by name, is an infinite value; the series are in the same order."""
    infinite = {
        name: is_gap & ~values.isna().to_numpy(dtype=bool)
        for (name, is_gap), values in zip(gaps.items(), series, strict=True)
        if is_gap.any()
    }
    if any(is_infinite.any() for is_infinite in infinite.values()):
        raise GomeaBnError(
            gap_lines(infinite, "infinite value"), ["replace or drop them", Setting("missing", "drop")]
        )


def gap_lines(gaps: Mapping[str, NDArray[np.bool_]], noun: str, most: int = 10) -> str:
    """Return one line per column that has gaps, bool (n_rows,) by name, and the number of further columns.

    `noun` says what a gap is, in the singular; there are at most `most` lines.
    """
    rows = {name: np.flatnonzero(is_gap) for name, is_gap in gaps.items() if is_gap.any()}
    lines = [f"Column '{name}' has {counted(r.size, noun)} in {row_list(r)}." for name, r in rows.items()]
    more = [f"… and {counted(len(lines) - most, 'further column')}."] if len(lines) > most else []
    return "\n".join([*lines[:most], *more])


def with_missing(column: Column, gaps: NDArray[np.bool_]) -> Column:
    """Return a column of observed values over all rows, with missing values at the gaps, bool (n_rows,)."""
    if not gaps.any():
        return column
    missing = np.nan if column.levels is None else MISSING_CODE
    values = np.full(len(gaps), missing, dtype=column.values.dtype)
    values[~gaps] = column.values
    values.flags.writeable = False
    reason = f"{column.reason}; {counted(int(gaps.sum()), 'missing value')}"
    return replace(column, values=values, reason=reason)
