"""Discretization policies: vectors of cut points of one variable, in libraries ordered by the number of bins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import MANY_ROWS, MISSING_CODE, ROWS_IN_CACHE
from gomea_bn.data.kernels import MISSING
from gomea_bn.errors import GomeaBnError, Option, is_real

ROUNDING = 1e-9
"""Differences of this share of a range are rounding."""
# numbers of rows and bins whose ranks are kept: those of the columns of some tables
_MOST_RANKS = 64
# codes are bytes
MAX_CARDINALITY = MISSING


@dataclass(frozen=True)
class Policy:
    """One way to cut a continuous variable."""

    # (n_bins - 1,) inner cuts, strictly increasing, in the data's units; bins are (a, b]
    cut_points: NDArray[np.float64]
    chosen: bool = True  # from the data; cuts that a user has fixed have no cost under density-bd

    @property
    def n_bins(self) -> int:
        """Return the number of bins."""
        return len(self.cut_points) + 1


def midpoint(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return cuts between `low` and `high`, also for neighbouring floats: `low` is in the lower bin, `high` above."""
    middle = low + (high - low) / 2
    return np.where(middle < high, middle, low)


def bin_codes(values: NDArray[np.float64], cuts: NDArray[np.float64]) -> NDArray[np.signedinteger[Any]]:
    """Return the bin of every value, signed (n,), -1 for NaN; a value equal to a cut belongs to the lower bin."""
    codes: NDArray[np.signedinteger[Any]]
    if len(values) > MANY_ROWS and len(cuts) < MAX_CARDINALITY:
        small = np.zeros(len(values), np.uint8)
        for start in range(0, len(values), ROWS_IN_CACHE):
            some, bins = values[start : start + ROWS_IN_CACHE], small[start : start + ROWS_IN_CACHE]
            for cut in cuts.tolist():
                bins += (some > cut).view(np.uint8)
        codes = small.astype(np.int16)
    else:
        codes = np.searchsorted(cuts, values, side="left").astype(np.int32)
    codes[np.isnan(values)] = MISSING_CODE
    return codes


def equal_width_cuts(values: NDArray[np.float64], n_bins: int) -> NDArray[np.float64]:
    """Return the inner cuts of `n_bins` bins of equal width over the range of `values`, also of bins without rows."""
    low, high = float(values.min()), float(values.max())
    cuts = np.unique(np.linspace(low, high, n_bins + 1)[1:-1])
    return np.asarray(cuts[(cuts > low) & (cuts < high)], np.float64)


def equal_frequency_cuts(values: NDArray[np.float64], n_bins: int) -> NDArray[np.float64]:
    """Return the inner cuts of `n_bins` bins with nearly equal numbers of rows.

    Cuts lie midway between neighbouring distinct values. A cut that would split rows of equal value moves to the gap
    with the nearest cumulative count (the lower of two); bins of zero width are merged.
    """
    return _equal_frequency(*np.unique(values, return_counts=True), range(n_bins, n_bins + 1))[0]


def _equal_frequency(
    distinct: NDArray[np.float64], counts: NDArray[np.int64], numbers: range
) -> list[NDArray[np.float64]]:
    """Return what `equal_frequency_cuts` returns for ascending values and their counts, for every number of bins."""
    # rows below the gap after each value
    cumulated = np.cumsum(counts)
    below = cumulated[:-1]
    if not len(below) or not numbers:
        return [np.empty(0) for _ in numbers]
    # all numbers of bins at once, one after another
    rows_below, starts = _equal_ranks(int(cumulated[-1]), numbers)
    first_at_least = np.searchsorted(below, rows_below)
    left = np.maximum(first_at_least - 1, 0)
    right = np.minimum(first_at_least, len(below) - 1)
    gaps = np.where(rows_below - below[left] <= below[right] - rows_below, left, right)
    cuts = midpoint(distinct[gaps], distinct[gaps + 1])
    # between two neighbouring floats the only cut is the lower one: as the minimum it would leave a bin without width
    is_kept = cuts > distinct[0]
    # cuts ascend, so that equal ones are neighbours
    is_kept[1:] &= (cuts[1:] != cuts[:-1]) | starts[1:]
    ends = [0, *accumulate(n_bins - 1 for n_bins in numbers)]
    return [cuts[a:b][is_kept[a:b]] for a, b in pairwise(ends)]


@lru_cache(_MOST_RANKS)
def _equal_ranks(n_rows: int, numbers: range) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the rows below the cuts of equal frequency for every number of bins, and which cuts are first ones."""
    rows_below = np.concatenate([np.arange(1, n_bins) * (n_rows / n_bins) for n_bins in numbers])
    is_first = np.concatenate([np.arange(1, n_bins) == 1 for n_bins in numbers])
    return rows_below, is_first


def joined_to_values(
    numbers: NDArray[np.float64], values: NDArray[np.float64], least: float
) -> NDArray[np.float64]:
    """Return numbers, of which those at most `least` away from one of the ascending values are the nearest value."""
    if not len(values):
        return numbers
    right = np.clip(np.searchsorted(values, numbers), 0, len(values) - 1)
    left = np.maximum(right - 1, 0)
    nearest = np.where(numbers - values[left] <= values[right] - numbers, values[left], values[right])
    return np.where(np.abs(numbers - nearest) <= least, nearest, numbers)


POLICY_FAMILIES = ("equal-frequency", "equal-width")
"""Names of the families of policies."""


def policy_library(
    values: NDArray[np.float64], family: str, max_bins: int, *, joins_values: bool = False
) -> tuple[Policy, ...]:
    """Return the distinct policies of one variable with 2 to `max_bins` bins, at most 255, fewest bins first.

    With `joins_values`, a cut of equal width that differs from a value by rounding is that value, so that the bins are
    the same in all units.
    """
    # the rows are sorted once for all policies
    distinct, counts = np.unique(values, return_counts=True)
    numbers = range(2, max_bins + 1)
    if family == "equal-width":
        cuts_of_numbers = [equal_width_cuts(distinct[[0, -1]], k) for k in numbers]
    else:
        cuts_of_numbers = _equal_frequency(distinct, counts, numbers)
    if joins_values and family == "equal-width":
        least = ROUNDING * (distinct[-1] - distinct[0])
        cuts_of_numbers = [np.unique(joined_to_values(c, distinct[1:-1], least)) for c in cuts_of_numbers]
    distinct_cuts = {tuple(cuts.tolist()): None for cuts in cuts_of_numbers}
    return tuple(Policy(np.array(cuts)) for cuts in sorted(distinct_cuts, key=len))


def fixed_policy(name: str, values: NDArray[np.float64], cut_points: Iterable[float]) -> Policy:
    """Return the policy that a user has fixed for the variable `name`; raises `GomeaBnError` for cuts that are none."""
    of_column: list[str | Option] = [Option("cut_points"), f" of column {name!r} must "]
    if isinstance(cut_points, str) or not isinstance(cut_points, Iterable):
        raise GomeaBnError([*of_column, f"be a list of numbers, got {cut_points!r}."])
    cut_list = list(cut_points)
    if not all(is_real(cut) for cut in cut_list):
        raise GomeaBnError([*of_column, f"be a list of numbers, got {cut_list!r}."])
    cuts = np.asarray(cut_list, dtype=np.float64)
    low, high = float(values.min()), float(values.max())
    if not np.isfinite(cuts).all():
        raise GomeaBnError([*of_column, f"be finite numbers, got {cuts.tolist()}."])
    if (np.diff(cuts) <= 0).any():
        raise GomeaBnError([*of_column, f"increase strictly, got {cuts.tolist()}."])
    outside = cuts[(cuts <= low) | (cuts >= high)]
    if len(outside):
        reason = "A bin beyond the range has neither rows nor a width: leave these cuts out."
        inside = f"lie inside the range of its data, ({low:g}, {high:g}); got {outside.tolist()}. {reason}"
        raise GomeaBnError([*of_column, inside])
    if len(cuts) >= MAX_CARDINALITY:
        raise GomeaBnError([*of_column, f"be at most {MAX_CARDINALITY - 1} cuts, got {len(cuts)}."])
    return Policy(cuts, chosen=False)


def without_narrow_bins(
    cuts: NDArray[np.float64], support: tuple[float, float], min_width: float
) -> NDArray[np.float64]:
    """Return the cuts without those that leave a bin narrower than a fraction of the range, `support`.

    From the left, cuts too near to the one before are dropped; then those too near to the maximum.
    """
    low, high = support
    least = min_width * (high - low)
    wide: list[float] = []
    for cut in cuts.tolist():
        if cut - (wide[-1] if wide else low) >= least and low < cut:
            wide.append(cut)
    while wide and (high - wide[-1] < least or wide[-1] >= high):
        wide.pop()
    return np.array(wide)


def without_sparse_bins(
    cuts: NDArray[np.float64], values: NDArray[np.float64], min_bin_count: int
) -> NDArray[np.float64]:
    """Return the cuts without those that leave a bin of fewer rows than `min_bin_count`.

    From the left, cuts with too few rows between them and the one before are dropped; then those with too few rows
    above.
    """
    if min_bin_count <= 1 or not len(cuts):
        return cuts
    below = np.searchsorted(np.sort(values), cuts, side="right").tolist()
    full: list[int] = []
    for k, rows in enumerate(below):
        if rows - (below[full[-1]] if full else 0) >= min_bin_count:
            full.append(k)
    while full and len(values) - below[full[-1]] < min_bin_count:
        full.pop()
    return cuts[full]
