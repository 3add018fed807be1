"""The bins that an expert gave: their form, the network and the column that they belong to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.data.table import Column
from gomea_bn.errors import GomeaBnError, is_real, nearest
from gomea_bn.network import checks
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.problems.policies import equal_frequency_cuts

__all__ = ["checked_cuts", "column_range", "default_cuts", "joined_cuts", "shared_support"]

DEFAULT_BINS = 3
"""Bins of equal frequency where the expert gave none: low, middle, high."""

_ANYWHERE = (-math.inf, math.inf)


def checked_cuts(
    cut_points: Mapping[str, ArrayLike], names: tuple[str, ...]
) -> dict[str, NDArray[np.float64]]:
    """Return the cuts by name, in the order of the names, read-only."""
    if not isinstance(cut_points, Mapping):
        raise GomeaBnError(f"cut_points must map names to lists of numbers, got {type(cut_points).__name__}.")
    for name, cuts in cut_points.items():
        if name not in names:
            raise GomeaBnError(f"cut_points names {name!r}, no variable.{nearest(str(name), names)}")
        if (
            isinstance(cuts, str)
            or not isinstance(cuts, Iterable)
            or not all(is_real(cut) for cut in np.ravel(np.asarray(cuts, dtype=object)))
        ):
            raise GomeaBnError(f"cut_points['{name}'] must be a list of numbers, got {cuts!r:.80}.")
    found = {
        name: checks.check_cut_points(cut_points[name], name, _ANYWHERE)
        for name in names
        if name in cut_points
    }
    for cuts in found.values():
        cuts.flags.writeable = False
    return found


def joined_cuts(
    cuts: Mapping[str, NDArray[np.float64]], network: DiscretizedBayesNet
) -> dict[str, NDArray[np.float64]]:
    """Return the given cuts, which must fit the network's states, and the network's own."""
    for name, given in cuts.items():
        if name in network.cut_points:
            if not np.array_equal(given, network.cut_points[name]):
                raise GomeaBnError(
                    f"cut_points['{name}'] must be left out: the network has bins of '{name}' already, cut at "
                    f"{network.cut_points[name].tolist()}."
                )
        elif len(given) + 1 != len(network.levels[name]):
            states = network.levels[name]
            raise GomeaBnError(
                f"cut_points['{name}'] makes {len(given) + 1} bins, but the network has {len(states)} states of "
                f"'{name}', {', '.join(map(repr, states[:10]))}: give {len(states) - 1} cuts, lowest bin first."
            )
    both = {**cuts, **network.cut_points}
    return {name: both[name] for name in network.names if name in both}


def default_cuts(column: Column) -> NDArray[np.float64]:
    """Return the cuts of three bins of equal frequency, or of fewer where equal values leave fewer."""
    return equal_frequency_cuts(column.values, DEFAULT_BINS)


def column_range(column: Column, cuts: NDArray[np.float64], advice: str) -> tuple[float, float]:
    """Return the minimum and maximum of a column, between which all of the expert's cuts must lie."""
    low, high = float(column.values.min()), float(column.values.max())
    outside = cuts[(cuts <= low) | (cuts >= high)].tolist()
    if outside:
        raise GomeaBnError(
            f"Expert {'cuts' if len(outside) > 1 else 'cut'} {', '.join(map(repr, outside))} of column "
            f"'{column.name}': wanted inside the range of its data, {low!r} to {high!r}. A bin outside it has "
            f"neither rows nor a width; {advice}, or check the units."
        )
    return low, high


def shared_support(column: Column, support: tuple[float, float]) -> tuple[float, float]:
    """Return the expert's own support of a column, which must overlap with the data's range."""
    low, high = float(column.values.min()), float(column.values.max())
    if support[1] <= low or support[0] >= high:
        raise GomeaBnError(
            f"The expert's bins of '{column.name}' span {support[0]!r} to {support[1]!r}, but all data of the "
            f"column lie from {low!r} to {high!r}; check the units."
        )
    return support
