"""Checks of an expert's bins: their form, and their fit to a network and to a column of data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.data.table import Column
from gomea_bn.errors import GomeaBnError, is_real, nearest
from gomea_bn.network import checks
from gomea_bn.network.protocol import NetworkLike
from gomea_bn.problems.cuts.policies import equal_frequency_cuts
from gomea_bn.texts import counted, listed

DEFAULT_BINS = 3
"""Number of equal-frequency bins of a column without bins from the expert: low, middle, high."""

_ANYWHERE = (-math.inf, math.inf)


def checked_cuts(
    cut_points: Mapping[str, ArrayLike], names: tuple[str, ...]
) -> dict[str, NDArray[np.float64]]:
    """Return the cut points by name, in the order of the names, read-only."""
    if not isinstance(cut_points, Mapping):
        raise GomeaBnError(f"cut_points must map names to lists of numbers, got {type(cut_points).__name__}.")
    for name, cuts in cut_points.items():
        if name not in names:
            raise GomeaBnError(f"cut_points: unknown variable {name!r}.{nearest(str(name), names)}")
        if (
            isinstance(cuts, str)
            or not isinstance(cuts, Iterable)
            or not all(is_real(cut) for cut in np.ravel(np.asarray(cuts, dtype=object)))
        ):
            raise GomeaBnError(f"cut_points['{name}'] must be a list of numbers, got {cuts!r:.80}.")
    checked = {
        name: checks.check_cut_points(cut_points[name], name, _ANYWHERE)
        for name in names
        if name in cut_points
    }
    for cuts in checked.values():
        cuts.flags.writeable = False
    return checked


def joined_cuts(
    cut_points: Mapping[str, NDArray[np.float64]], network: NetworkLike
) -> dict[str, NDArray[np.float64]]:
    """Return cut points, which must fit the states of a network, together with those of the network."""
    for name, cuts in cut_points.items():
        if name in network.cut_points:
            if not np.array_equal(cuts, network.cut_points[name]):
                raise GomeaBnError(
                    f"cut_points['{name}'] must be left out, because the network already has bins of '{name}', with "
                    f"the cut points {network.cut_points[name].tolist()}."
                )
        elif len(cuts) + 1 != len(network.levels[name]):
            states = network.levels[name]
            raise GomeaBnError(
                f"cut_points['{name}'] makes {len(cuts) + 1} bins, but the network has {len(states)} states of "
                f"'{name}', {listed(map(repr, states), most=10)}: give {counted(len(states) - 1, 'cut point')}, lowest "
                "bin first."
            )
    both = {**cut_points, **network.cut_points}
    return {name: both[name] for name in network.names if name in both}


def default_cuts(column: Column) -> NDArray[np.float64]:
    """Return the cut points of three equal-frequency bins, or of fewer if the column has too many equal values."""
    return equal_frequency_cuts(column.values, DEFAULT_BINS)


def column_range(column: Column, cuts: NDArray[np.float64], advice: str) -> tuple[float, float]:
    """Return the minimum and maximum of a column, or raise if a cut point of the expert lies outside."""
    low, high = float(column.values.min()), float(column.values.max())
    outside = cuts[(cuts <= low) | (cuts >= high)].tolist()
    if outside:
        raise GomeaBnError(
            f"Expert's {'cut points' if len(outside) > 1 else 'cut point'} {listed(outside)} of column '{column.name}' "
            f"must lie inside the range of its data, {low!r} to {high!r}. A bin outside it has neither rows nor a "
            f"width; {advice}, or check the units."
        )
    return low, high


def shared_support(column: Column, support: tuple[float, float]) -> tuple[float, float]:
    """Return the expert's support of a column, or raise if all data lie outside of it."""
    low, high = float(column.values.min()), float(column.values.max())
    if support[1] <= low or support[0] >= high:
        raise GomeaBnError(
            f"The expert's bins of column '{column.name}' span {support[0]!r} to {support[1]!r}, but all its data lie "
            f"between {low!r} and {high!r}; check the units."
        )
    return support
