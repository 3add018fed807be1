"""Discretization policies: cut-point vectors of one variable, kept in a library ordered by bin count."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, is_real

__all__ = [
    "POLICY_FAMILIES",
    "Policy",
    "bin_codes",
    "equal_frequency_cuts",
    "equal_width_cuts",
    "fixed_policy",
    "midpoint",
    "policy_library",
]

MAX_CARDINALITY = 255  # codes are bytes


@dataclass(frozen=True)
class Policy:
    """One way to cut a continuous variable.

    Attributes
    ----------
    cut_points : ndarray of shape (n_bins - 1,), float64
        Inner cuts, strictly increasing, in the data's units; bins are ``(a, b]``.
    chosen : bool
        Whether the cuts were chosen from the data; cuts fixed by a user cost nothing under ``density-bd``.
    """

    cut_points: NDArray[np.float64]
    chosen: bool = True

    @property
    def n_bins(self) -> int:
        """Return the number of bins."""
        return len(self.cut_points) + 1


def midpoint(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return cuts that put `low` below and `high` above, also when the two are neighbouring floats."""
    middle = low + (high - low) / 2
    return np.where(middle < high, middle, low)


def bin_codes(values: NDArray[np.float64], cut_points: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Return the bin of every value, shape (n_rows,); a value equal to a cut goes to the lower bin."""
    return np.searchsorted(cut_points, values, side="left").astype(np.uint8)


def equal_width_cuts(values: NDArray[np.float64], n_bins: int) -> NDArray[np.float64]:
    """Return the inner cuts of `n_bins` bins of equal width over the range of `values`.

    Bins without rows are kept; cuts that coincide in floating point are merged.
    """
    low, high = float(values.min()), float(values.max())
    cuts = np.unique(np.linspace(low, high, n_bins + 1)[1:-1])
    inside: NDArray[np.float64] = cuts[(cuts > low) & (cuts < high)]
    return inside


def equal_frequency_cuts(values: NDArray[np.float64], n_bins: int) -> NDArray[np.float64]:
    """Return the inner cuts of `n_bins` bins of nearly equal row counts.

    Cuts lie midway between neighbouring distinct values. A cut that would split rows of equal value moves to the
    gap whose cumulative count is nearest to the wanted one (the lower of two); bins of zero width merge.
    """
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) < 2:
        return np.empty(0)
    below = np.cumsum(counts)[:-1]
    wanted = np.arange(1, n_bins) * (len(values) / n_bins)
    first_at_least = np.searchsorted(below, wanted)
    left = np.clip(first_at_least - 1, 0, len(below) - 1)
    right = np.clip(first_at_least, 0, len(below) - 1)
    gaps = np.unique(np.where(wanted - below[left] <= below[right] - wanted, left, right))
    cuts = np.unique(midpoint(distinct[gaps], distinct[gaps + 1]))
    # between two neighbouring floats the only cut is the lower one: as the minimum it would leave a bin without width
    kept: NDArray[np.float64] = cuts[cuts > distinct[0]]
    return kept


POLICY_FAMILIES: dict[str, Callable[[NDArray[np.float64], int], NDArray[np.float64]]] = {
    "equal-frequency": equal_frequency_cuts,
    "equal-width": equal_width_cuts,
}


def policy_library(values: NDArray[np.float64], family: str, max_bins: int) -> tuple[Policy, ...]:
    """Return the policies of one variable with 2 to `max_bins` bins, fewest bins first, equal ones merged.

    Parameters
    ----------
    values : ndarray of shape (n_rows,), float64
    family : str
        A key of `POLICY_FAMILIES`.
    max_bins : int
        Largest number of bins, at least 2 and at most 255.
    """
    cut = POLICY_FAMILIES[family]
    values = np.sort(values)  # once: every policy sorts again, which is quick for sorted values
    found = {tuple(cut(values, k)): None for k in range(2, max_bins + 1)}
    return tuple(Policy(np.array(cuts)) for cuts in sorted(found, key=len))


def fixed_policy(name: str, values: NDArray[np.float64], cut_points: Iterable[float]) -> Policy:
    """Return the policy that a user fixed for the variable `name`.

    Raises
    ------
    GomeaBnError
        If the cuts are not finite and strictly increasing, or lie outside the range of the data.
    """
    if isinstance(cut_points, str) or not isinstance(cut_points, Iterable):
        raise GomeaBnError(f"cut_points of column {name!r} must be a list of numbers, got {cut_points!r}.")
    listed = list(cut_points)
    if not all(is_real(cut) for cut in listed):
        raise GomeaBnError(f"cut_points of column {name!r} must be a list of numbers, got {listed!r}.")
    cuts = np.asarray(listed, dtype=np.float64)
    low, high = float(values.min()), float(values.max())
    if not np.isfinite(cuts).all():
        raise GomeaBnError(f"cut_points of column {name!r} must be finite numbers, got {cuts.tolist()}.")
    if (np.diff(cuts) <= 0).any():
        raise GomeaBnError(f"cut_points of column {name!r} must increase strictly, got {cuts.tolist()}.")
    outside = cuts[(cuts <= low) | (cuts >= high)]
    if len(outside):
        raise GomeaBnError(
            f"cut_points of column {name!r} must lie inside the range of its data, ({low:g}, {high:g}); "
            f"got {outside.tolist()}. A bin beyond the range has neither rows nor a width: leave these cuts out."
        )
    if len(cuts) >= MAX_CARDINALITY:
        raise GomeaBnError(
            f"cut_points of column {name!r}: at most {MAX_CARDINALITY - 1} cuts, got {len(cuts)}."
        )
    return Policy(cuts, chosen=False)
