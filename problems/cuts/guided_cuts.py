"""Searches among many cuts of a tall column, whose cells tell where most values are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.cuts.quantile_cells import QuantileCells
from gomea_bn.problems.kernels.available_cases import MISSING
from gomea_bn.problems.kernels.cut_guide import CutGuide, fill_codes, fill_guide

__all__ = ["cut_guide", "fill_library_codes", "read_only"]

# buckets of the guide per cut, and the fewest
_BUCKETS_PER_CUT = 4
_LEAST_BUCKETS = 4_096
# largest distance from the centre in units of the spread, which may be 0
_FURTHEST = 1e300
_BLOCK_ROWS = 1 << 11


def cut_guide(cuts: NDArray[np.float64], cells: QuantileCells) -> CutGuide:
    """Return the guide to ascending cuts of a column, float64 (n_cuts,)."""
    quartiles = cells.below[-1] * np.array([1, 2, 3]) // 4
    first, centre, third = cells.middles[np.searchsorted(cells.below, quartiles, side="right") - 1].tolist()
    n_buckets = max(_BUCKETS_PER_CUT * len(cuts), _LEAST_BUCKETS)
    furthest = _FURTHEST / max(cells.high - cells.low, 1.0)
    guide = CutGuide(
        cuts=np.append(cuts, np.inf),
        below=np.empty(n_buckets + 2, np.uint32),
        centre=centre,
        scale=min(2 / (third - first), furthest) if third > first else furthest,
    )
    fill_guide(guide)
    return guide


def read_only(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a view of a column that cannot be written to: kernels are compiled for columns of tables."""
    view = np.ascontiguousarray(values, np.float64).view()
    view.flags.writeable = False
    return view


def fill_library_codes(
    values: NDArray[np.float64],
    cells: QuantileCells,
    library: Sequence[NDArray[np.float64]],
    codes: NDArray[np.uint8],
) -> list[NDArray[np.int64]]:
    """Fill `codes` with the bins of a column under some vectors of cuts, and return the rows below each of their cuts.

    Every value is searched once among the cuts of all vectors.

    Parameters
    ----------
    values : ndarray of shape (n_rows,), float64
        NaN is coded as `MISSING`.
    cells : QuantileCells
        Cells of the values.
    library : sequence of ndarray of shape (n_cuts,), float64
        Vectors of ascending cuts.
    codes : ndarray of shape (n_vectors, n_rows), uint8
    """
    all_cuts = np.unique(np.concatenate(library))
    code_of = np.zeros((len(library), len(all_cuts) + 2), np.uint8)
    for of_vector, cuts in zip(code_of, library, strict=True):
        of_vector[1:-1] = np.searchsorted(cuts, all_cuts, side="right")
    code_of[:, -1] = MISSING
    rows = np.empty(len(all_cuts) + 2, np.int64)
    intervals = np.empty(_BLOCK_ROWS, np.uint32)
    fill_codes(read_only(values), cut_guide(all_cuts, cells), code_of, intervals, rows, codes)
    up_to = np.cumsum(rows)
    return [up_to[np.searchsorted(all_cuts, cuts)] for cuts in library]
