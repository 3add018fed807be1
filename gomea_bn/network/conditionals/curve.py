"""Densities that are linear between values, for drawings, and what bins do to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gomea_bn.network.tables import bin_widths
from gomea_bn.problems.cuts.shape import Shape


@dataclass(frozen=True, slots=True)
class Curve:
    """A density that is linear between values, and values with a probability of their own.

    Attributes
    ----------
    values : ndarray of shape (n,), float64
        Values in increasing order. A value at which the density may jump stands twice.
    densities : ndarray of shape (n,), float64
        Density at these values, per unit of the variable.
    points : dict of float to float
        Probability of every value that is a point mass, by increasing value.
    """

    values: NDArray[np.float64]
    densities: NDArray[np.float64]
    points: dict[float, float]


def curve_of(shape: Shape | None, support: tuple[float, float]) -> Curve:
    """Return the density of a column under its shape, or the uniform one over its range."""
    low, high = support
    if shape is None:
        return Curve(np.array([low, high]), np.full(2, 1 / (high - low)), {})
    values = np.repeat(shape.edges, 2)[1:-1]
    densities = np.column_stack([shape.left, shape.right]).ravel() / (high - low)
    return Curve(values, densities, shape.points)


def ratios_of_bins(
    probabilities: NDArray[np.float64],
    cuts: NDArray[np.float64],
    shape: Shape | None,
    support: tuple[float, float],
) -> NDArray[np.float64]:
    """Return the probabilities of bins divided by those under `curve_of`, float64 (n_bins,)."""
    if shape is not None:
        return np.asarray(probabilities / shape.bin_masses(cuts), np.float64)
    # widths first, since the quotient of a narrow bin and a huge range may underflow
    return np.asarray(probabilities / bin_widths(cuts, support) * (support[1] - support[0]), np.float64)


def scaled_by_bin(curve: Curve, cuts: NDArray[np.float64], ratios: NDArray[np.float64]) -> Curve:
    """Return a curve that spans bins, multiplied by one number per bin; `cuts` are inner cut points."""
    ends = [curve.values[0], *cuts, curve.values[-1]]
    values, densities = [], []
    for low, high, ratio in zip(ends, ends[1:], ratios, strict=False):
        first = int(np.searchsorted(curve.values, low, side="right"))
        last = int(np.searchsorted(curve.values, high, side="left"))
        heights = [_between(curve, first, low), *curve.densities[first:last], _between(curve, last, high)]
        values.append(np.array([low, *curve.values[first:last], high]))
        densities.append(ratio * np.array(heights))
    codes = np.searchsorted(cuts, list(curve.points), side="left")
    points = {
        value: float(mass * ratios[code])
        for (value, mass), code in zip(curve.points.items(), codes, strict=True)
    }
    return Curve(np.concatenate(values), np.concatenate(densities), points)


def _between(curve: Curve, position: int, value: float) -> float:
    """Return the density at a value on the line that leads to the vertex at a position."""
    (left, right), (from_height, to_height) = (
        part[position - 1 : position + 1].tolist() for part in (curve.values, curve.densities)
    )
    share = (value - left) / (right - left)
    return float(from_height + share * (to_height - from_height))


def piece_ends(curve: Curve, breaks: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the density at the left and at the right end of every piece between breaks, each float64 (n_pieces,).

    The breaks increase strictly from the first to the last value of the curve, and all its values are among them.
    """
    lows, highs = breaks[:-1], breaks[1:]
    # the curve is one line from a break to the next
    last = np.searchsorted(curve.values, lows, side="right")
    first = last - 1
    left, width = curve.values[first], curve.values[last] - curve.values[first]
    height, rise = curve.densities[first], curve.densities[last] - curve.densities[first]
    return height + (lows - left) / width * rise, height + (highs - left) / width * rise
