"""Histograms and level counts of a table: what a report needs to know of the rows, without the rows."""

from __future__ import annotations

from math import ceil, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from gomea_bn.data.table import Table

__all__ = ["column_summary"]

_FEWEST_BINS, _MOST_BINS = 10, 100


def column_summary(table: Table) -> list[dict[str, Any]]:
    """Return one plain dict per column, in order, that JSON can hold.

    Discrete: name, kind "discrete", levels (in code order) and counts (rows per level, unseen levels too).
    Continuous: name, kind "continuous", and histogram: edges (k + 1, increasing) and counts (k); bins are
    (a, b], the first also holds its lower edge. They are equally wide, 2 sqrt(n) of them, between 10 and 100;
    columns of whole numbers get bins of whole width around them, so the outer edges may lie up to a bin
    beyond the range.
    """
    found: list[dict[str, Any]] = []
    for column in table.columns:
        if column.levels is None:
            edges = _edges(column.values)
            codes = np.searchsorted(edges[1:-1], column.values, side="left")
            counts = np.bincount(codes, minlength=len(edges) - 1)
            histogram = {"edges": edges.tolist(), "counts": counts.tolist()}
            found.append({"name": column.name, "kind": "continuous", "histogram": histogram})
        else:
            counts = np.bincount(column.values, minlength=len(column.levels))
            found.append(
                {
                    "name": column.name,
                    "kind": "discrete",
                    "levels": list(column.levels),
                    "counts": counts.tolist(),
                }
            )
    return found


def _edges(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the increasing edges, float64 (k + 1,), of a histogram that holds all values (n,)."""
    low, high = float(values.min()), float(values.max())
    n_bins = min(max(2 * ceil(sqrt(len(values))), _FEWEST_BINS), _MOST_BINS)
    if high - low < 2**50 and bool((values == np.floor(values)).all()):
        # bins between the whole numbers: others would hold now two of them, now one
        width = ceil((high - low + 1) / n_bins)
        edges = low - 0.5 + width * np.arange(ceil((high - low + 1) / width) + 1)
    else:
        edges = np.linspace(low, high, n_bins + 1)
    return np.unique(edges)  # in a range of few representable numbers some fall together
