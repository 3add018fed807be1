"""The mixture of densities that a shape is fitted by, and its weights by the rows that are left out.

Densities are the uniform one, two kernel densities and that of a histogram, of values on [0, 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

__all__ = ["PARAMETER_PRICE", "least_uniform", "mixture"]

PARAMETER_PRICE = 1.5
"""Nats that an effective parameter of a shape costs."""

# smallest weight of the uniform density: a share, and a number of rows, since a share of many rows would reach far into
# the tails of a column
_LEAST_UNIFORM = 0.01
_UNIFORM_ROWS = 10
# smallest quartile range, as a share of the range, by which values are divided without overflow
_LEAST_SPREAD = 1e-150
_N_ITERATIONS = 100
_SQUARES = 16
# largest numbers of centres of a kernel density, of values that choose its bandwidth, and that choose weights
_MOST_CENTRES = 512
_MOST_JUDGED = 256
_MOST_WEIGHED = 2_000
# a component of a smaller weight has no parameters
_LEAST_WEIGHT = 1e-3


@dataclass(frozen=True, slots=True)
class _Component:
    """A density of the mixture.

    Attributes
    ----------
    in_sample, left_out : ndarray of shape (n_distinct,), float64
        Density of every distinct value, from all rows and without one row of that value.
    at_knots : ndarray of shape (2, n_pieces), float64
        Density at the left and right end of every piece.
    masses : ndarray of shape (n_pieces,), float64
        Probability of every piece.
    cost : float
        Nats that choosing the component from the data costs.
    """

    in_sample: NDArray[np.float64]
    left_out: NDArray[np.float64]
    at_knots: NDArray[np.float64]
    masses: NDArray[np.float64]
    cost: float = 0.0


def least_uniform(n_rows: int) -> float:
    """Return the smallest weight of the uniform density: 1/100, or less where that is more than ten rows."""
    return min(_LEAST_UNIFORM, _UNIFORM_ROWS / n_rows)


def mixture(
    scaled: NDArray[np.float64],
    counts: NDArray[np.int64],
    width: float,
    knots: NDArray[np.float64],
    histogram_cuts: NDArray[np.float64],
    histogram_cost: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], float, float]:
    """Return the mixture of densities at both ends of every piece, its mass in every piece, and two numbers of nats.

    The numbers are the log likelihood of the rows and what the fit is charged. Values, width and knots are scaled to
    [0, 1].
    """
    components = [
        _uniform(scaled, knots),
        _kernel(scaled, counts, width, knots),
        _histogram_density(scaled, counts, histogram_cuts, knots, histogram_cost),
    ]
    centre, spread = _quartiles(scaled, counts)
    if spread > _LEAST_SPREAD:
        components.append(_kernel(scaled, counts, width, knots, (centre, spread)))
    weights, of_rows, charge = _best_mixture(components, counts)
    heights = np.tensordot(weights, np.array([component.at_knots for component in components]), axes=1)
    masses = weights @ np.array([component.masses for component in components])
    return heights, masses, of_rows, charge


def _best_mixture(
    components: Sequence[_Component], counts: NDArray[np.int64]
) -> tuple[NDArray[np.float64], float, float]:
    """Return what `_mixed` returns, for all components or for those that cost nothing, whichever is better."""
    costs = np.array([component.cost for component in components])
    mixtures = [_mixed(components, counts, taking_part) for taking_part in (costs == 0, costs >= 0)]
    return max(mixtures, key=lambda mixed: mixed[1] - mixed[2])


def _mixed(
    components: Sequence[_Component],
    counts: NDArray[np.int64],
    takes_part: NDArray[np.bool_],
) -> tuple[NDArray[np.float64], float, float]:
    """Return the weights of greatest left-out likelihood, the first at least `least_uniform`, and two numbers of nats.

    A component that does not take part has the weight 0.

    These are the log likelihood of all rows, and what the fit is charged: a price for every parameter, and the costs
    of the components. The number of parameters is the difference between the log likelihoods of all rows and with each
    row left out, to which a histogram of k bins adds k - 1, plus one per weight.
    """
    n_rows = counts.sum()
    charges = np.array([component.cost for component in components])
    densities = np.array([component.left_out for component in components])
    charged = densities * np.exp(-charges / n_rows)[:, None]
    weights = takes_part / takes_part.sum()
    # some of very many values are enough for the weights
    step = -(-len(counts) // _MOST_WEIGHED)
    some, rows = charged[:, ::step], counts[::step]
    for _ in range(_N_ITERATIONS):
        shares = some * weights[:, None]
        shares /= shares.sum(axis=0)
        weights = shares @ rows / rows.sum()
    is_used = weights > _LEAST_WEIGHT
    least = least_uniform(int(n_rows))
    weights *= 1 - least
    weights[0] += least
    in_sample = float((counts * np.log(weights @ np.array([c.in_sample for c in components]))).sum())
    left_out = float((counts * np.log(weights @ densities)).sum())
    n_parameters = max(in_sample - left_out, 0.0) + int(is_used[1:].sum())
    return weights, in_sample, PARAMETER_PRICE * n_parameters + float(charges @ is_used)


def _uniform(scaled: NDArray[np.float64], knots: NDArray[np.float64]) -> _Component:
    ones = np.ones(len(scaled))
    return _Component(ones, ones, np.ones((2, len(knots) - 1)), np.diff(knots))


def _histogram_density(
    scaled: NDArray[np.float64],
    counts: NDArray[np.int64],
    cuts: NDArray[np.float64],
    knots: NDArray[np.float64],
    cost: float,
) -> _Component:
    """Return the density of the bins between cuts, with one row added to every bin."""
    n_rows, n_bins = counts.sum(), len(cuts) + 1
    code = np.searchsorted(cuts, scaled, side="left")
    rows = np.bincount(code, counts, minlength=n_bins)
    widths = np.diff(np.concatenate(([0.0], cuts, [1.0])))
    left_out = rows[code] / (n_rows - 1 + n_bins) / widths[code]
    density = (rows + 1) / (n_rows + n_bins) / widths
    middles = (knots[:-1] + knots[1:]) / 2
    at_pieces = density[np.searchsorted(cuts, middles, side="left")]
    at_ends = np.stack([at_pieces, at_pieces])
    return _Component(density[code], left_out, at_ends, at_pieces * np.diff(knots), cost)


def _kernel(
    scaled: NDArray[np.float64],
    counts: NDArray[np.int64],
    least: float,
    knots: NDArray[np.float64],
    scale: tuple[float, float] | None = None,
) -> _Component:
    """Return the kernel density of the best bandwidth, on the given scale (centre, spread) if there is one.

    Bandwidths fall from half of the range by factors of the square root of 2, so that each matrix of kernels is the
    square of the one before. Squares double the rounding error, so that every sixteenth matrix is computed afresh.
    """
    places, at_knots, slope, slope_at_knots = scaled, knots, np.ones(len(scaled)), np.ones(len(knots))
    if scale is not None:
        places, slope = _stretched(scaled, scale)
        at_knots, slope_at_knots = _stretched(knots, scale)
        least /= scale[1]
    low, high = at_knots[0], at_knots[-1]
    sources, rows, group = _groups(places, counts, _MOST_CENTRES)
    n_rows, n_sources = rows.sum(), len(sources)
    mirrored = np.concatenate((sources, 2 * low - sources, 2 * high - sources))
    weights = np.tile(rows, 3).astype(np.float64)
    # actual values, not the means of groups: several rows at one place would look like a peak
    judged = np.arange(0, len(places), -(-len(places) // _MOST_JUDGED))
    judged_rows = np.add.reduceat(counts, judged)
    itself, own_group = np.arange(len(judged)), group[judged]
    largest = max((high - low) / 2, least)
    n_halvings = int(2 * np.log2(largest / least))
    kernels = np.empty((len(judged), 3 * n_sources))
    best_likelihood, best_bandwidth, best = -np.inf, least, np.ones((2, len(judged)))
    for step in range(n_halvings, -1, -1):
        bandwidth = least * 2 ** (step / 2)
        if (n_halvings - step) % _SQUARES:
            kernels *= kernels
        else:
            kernels = _gaussian(places[judged], mirrored, bandwidth)
        of_value = (
            kernels[itself, own_group]
            + kernels[itself, own_group + n_sources]
            + kernels[itself, own_group + 2 * n_sources]
        )
        sums = kernels @ weights
        both = np.stack((sums / n_rows, np.maximum(sums - of_value, 0.0) / (n_rows - 1)))
        both /= bandwidth * np.sqrt(2 * np.pi)
        # a little uniform density, as in the mixture
        mixed = (1 - _LEAST_UNIFORM) * both[1] * slope[judged] + _LEAST_UNIFORM
        likelihood = float((judged_rows * np.log(mixed)).sum())
        if likelihood > best_likelihood:
            best_likelihood, best_bandwidth, best = likelihood, bandwidth, both
    values = _gaussian(at_knots, mirrored, best_bandwidth) @ weights
    values *= slope_at_knots / (best_bandwidth * np.sqrt(2 * np.pi) * n_rows)
    below = scipy.special.ndtr((at_knots[:, None] - mirrored) / best_bandwidth) @ weights / n_rows
    if len(judged) < len(places):
        best = np.stack([np.interp(places, places[judged], densities) for densities in best])
    at_ends = np.stack([values[:-1], values[1:]])
    return _Component(best[0] * slope, best[1] * slope, at_ends, np.diff(below))


def _gaussian(
    positions: NDArray[np.float64], centres: NDArray[np.float64], bandwidth: float
) -> NDArray[np.float64]:
    """Return exp(-(distance / bandwidth)^2 / 2), float64 (n_positions, n_centres)."""
    # the square of a huge distance is infinite, and its kernel 0
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(-(((positions[:, None] - centres) / bandwidth) ** 2) / 2), np.float64)


def _stretched(
    values: NDArray[np.float64], scale: tuple[float, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return values on the scale asinh((x - centre) / spread), and the derivative of the scale."""
    centre, spread = scale
    return np.arcsinh((values - centre) / spread), 1 / np.hypot(values - centre, spread)


def _quartiles(scaled: NDArray[np.float64], counts: NDArray[np.int64]) -> tuple[float, float]:
    """Return the median and half the interquartile range of the rows."""
    cumulated = np.cumsum(counts)
    first, median, third = scaled[
        np.searchsorted(cumulated, np.array([0.25, 0.5, 0.75]) * cumulated[-1])
    ].tolist()
    return median, (third - first) / 2


def _groups(
    places: NDArray[np.float64], counts: NDArray[np.int64], most: int
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Return at most `most` places, their rows, and the position of the place that stands for every distinct value.

    The places are the distinct values, or the means of neighbouring ones.
    """
    if len(places) <= most:
        return places, counts, np.arange(len(places))
    middle = np.cumsum(counts) - counts / 2
    group = np.minimum((middle * (most / counts.sum())).astype(np.int64), most - 1)
    # a value with very many rows leaves groups empty
    group = np.cumsum(np.concatenate(([0], np.diff(group) > 0))).astype(np.int64)
    rows = np.bincount(group, counts)
    means = np.bincount(group, counts * places) / rows
    return means, rows.astype(np.int64), group
