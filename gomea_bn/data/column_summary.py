"""Histograms and level counts of the columns of a table: a report shows them in place of the rows."""

from __future__ import annotations

from math import ceil, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import MANY_ROWS, ROWS_IN_CACHE
from gomea_bn.runtime.threads import in_threads

if TYPE_CHECKING:
    from gomea_bn.data.columns import Column
    from gomea_bn.data.table import Table


def column_summary(table: Table) -> list[dict[str, Any]]:
    """Return one dict per column, in order, of plain values that JSON can hold.

    Discrete columns have ``name``, ``kind``, ``levels`` in code order and ``counts``, the number of rows of each level.
    Continuous columns have ``name``, ``kind`` and ``histogram``, with ``edges`` (k + 1, increasing) and ``counts`` (k).
    The bins (a, b] are equally wide, and the first one includes its lower edge. There are 2 sqrt(n) of them, at least
    10 and at most 100. Columns of integers get bins whose widths are integers, so the outer edges may lie up to a bin
    beyond the range. A column with missing values also has ``n_missing``, which the counts do not include.
    """
    return in_threads(_summary, table.columns, n_threads=-1 if table.n_rows > MANY_ROWS else 1)


def _summary(column: Column) -> dict[str, Any]:
    values = column.observed
    summary: dict[str, Any] = {"name": column.name}
    if column.levels is None:
        edges = _edges(values)
        counts = _counts(values, edges)
        summary |= {"kind": "continuous", "histogram": {"edges": edges.tolist(), "counts": counts.tolist()}}
    else:
        counts = np.bincount(values, minlength=len(column.levels))
        summary |= {"kind": "discrete", "levels": list(column.levels), "counts": counts.tolist()}
    if len(values) < len(column.values):
        summary["n_missing"] = len(column.values) - len(values)
    return summary


def _counts(values: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the numbers of values, (n,), in the bins (a, b] between edges, int64 (k,)."""
    n_bins = len(edges) - 1
    width = (edges[-1] - edges[0]) / n_bins
    counts = np.zeros(n_bins, np.int64)
    for start in range(0, len(values), ROWS_IN_CACHE):
        some = values[start : start + ROWS_IN_CACHE]
        # bins are equally wide but for rounding, so that a value is at most one bin away from its quotient
        bins = np.clip((some - edges[0]) / width, 0, n_bins - 1).astype(np.int64)
        bins -= (some <= edges[bins]) & (bins > 0)
        bins += (some > edges[bins + 1]) & (bins < n_bins - 1)
        counts += np.bincount(bins, minlength=n_bins)
    return counts


def _edges(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the edges, float64 (k + 1,), increasing, of a histogram of all values (n,)."""
    low, high = float(values.min()), float(values.max())
    n_bins = min(max(2 * ceil(sqrt(len(values))), 10), 100)
    if high - low < 2**50 and bool((values == np.floor(values)).all()):
        # edges between integers: otherwise neighbouring bins would hold different numbers of them
        width = ceil((high - low + 1) / n_bins)
        edges = low - 0.5 + width * np.arange(ceil((high - low + 1) / width) + 1)
    else:
        edges = np.linspace(low, high, n_bins + 1)
    # in a range with few representable numbers some edges coincide
    return np.unique(edges)
