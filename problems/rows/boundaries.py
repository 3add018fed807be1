"""Boundaries between the cells of a column: around its cuts, and spread over a sample of its values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.cuts.grid_cuts import GridColumn
from gomea_bn.problems.cuts.interval_counts import SortedColumn
from gomea_bn.problems.rows.cells import MOST_BOUNDARIES

__all__ = ["estimated_distinct", "first_boundaries", "repeats_values", "zoomed_boundaries"]

# boundaries that are spread over a column; the others are near its cuts
_SPREAD = 120
# sample ranks around a learned cut that become boundaries
_NEAR = (-64, -32, -16, -8, -4, -2, -1, 1, 2, 4, 8, 16, 32, 64)
# cells next to a cut that hold more rows are split
_FINE_ROWS = 2
# a column with more rows than this per distinct value of the sample repeats its values
_TIES = 2


def first_boundaries(sample: SortedColumn, cuts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the boundaries of the first cells of a column: the cuts of the sample, near ones, and spread ones.

    Parameters
    ----------
    sample : SortedColumn
        Sample of the column's values.
    cuts : ndarray of shape (k,), float64
        Cuts that the sample has shown.
    """
    gaps = sample.gaps(cuts) if len(cuts) else np.empty(0, np.int64)
    near = (gaps[:, None] + np.array(_NEAR)).ravel()
    near = near[(near >= 0) & (near < len(sample.cuts))]
    room = max(MOST_BOUNDARIES - _SPREAD - len(cuts), 1)
    if len(near) > MOST_BOUNDARIES - _SPREAD - len(cuts):
        near = near[:: -(-len(near) // room)]
    spread = sample.grid(min(_SPREAD, len(sample.cuts) + 1))
    return _with_cuts(sample.cuts[np.setdiff1d(np.union1d(near, spread), gaps)], cuts)


def zoomed_boundaries(
    sample: SortedColumn, column: GridColumn, cuts: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """Return boundaries with more of them next to the cuts, or None if the cells there are fine.

    Parameters
    ----------
    sample : SortedColumn
        Sample of the column's values.
    column : GridColumn
        The column with its present cells.
    cuts : ndarray of shape (k,), int64
        Cuts as indices of present boundaries.
    """
    if not len(cuts) or repeats_values(sample):
        return None
    if (np.maximum(column.rows[cuts], column.rows[cuts + 1]) <= _FINE_ROWS).all():
        return None
    edges = column.edges
    n_each = (MOST_BOUNDARIES - _SPREAD - len(cuts)) // len(cuts)
    near = np.concatenate(
        [np.linspace(edges[cut], edges[cut + 2], max(n_each, 3) + 2)[1:-1] for cut in cuts.tolist()]
    )
    spread = sample.cuts[sample.grid(min(_SPREAD, len(sample.cuts) + 1))]
    chosen = np.concatenate((near, edges[cuts], edges[cuts + 2], spread))
    inside = np.unique(chosen[(chosen > column.low) & (chosen < column.high)])
    return _with_cuts(inside, column.boundaries[cuts])


def _with_cuts(boundaries: NDArray[np.float64], cuts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return at most `MOST_BOUNDARIES` boundaries, all cuts among them, ascending."""
    others = np.setdiff1d(boundaries, cuts)
    room = MOST_BOUNDARIES - len(cuts)
    if len(others) > room:
        others = others[np.linspace(0, len(others) - 1, room).round().astype(np.int64)]
    return np.union1d(others, cuts)


def repeats_values(sample: SortedColumn) -> bool:
    """Return whether a column has few distinct values for its rows, so that the sample shows them all."""
    return sample.n_rows > _TIES * len(sample.distinct)


def estimated_distinct(sample: SortedColumn, n_rows: int) -> float:
    """Return an estimate of the number of distinct values in all rows.

    Of the rows outside the sample, the share of values that occur once in the sample is new (Good, 1953); but no
    more values are unseen than their numbers of occurrences suggest (Chao, 1984).
    """
    counts = np.diff(np.concatenate(([0], sample.below, [sample.n_rows])))
    once, twice = float((counts == 1).sum()), float((counts == 2).sum())
    new = once / sample.n_rows * (n_rows - sample.n_rows)
    return len(sample.distinct) + min(new, once * max(once - 1, 0) / (2 * (twice + 1)))
