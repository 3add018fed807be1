"""Distributions for probability scales of columns in lines, and the least scale of residuals."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.network.conditionals.line_scales import LineScale
from gomea_bn.problems.cuts.policies import midpoint
from gomea_bn.problems.cuts.shape import MOST_PIECES, Shape
from gomea_bn.problems.cuts.shape_fit import PARAMETER_PRICE

# steps of the knots on the scale, and the fewest distinct values between two knots
_N_STEPS = MOST_PIECES - 4
_FEWEST_VALUES = 2
# most rows per distinct value of a column that ranks may stand for
_FEW_TIES = 1.1
_LEAST_SCALE = 1e-3


def line_scale(values: NDArray[np.float64], shape: Shape) -> Shape:
    """Return the distribution of a column, float64 (n_rows,), on whose probability scale lines are fitted.

    It is the given shape, unless a distribution with the ranks of the column explains the rows better although each of
    its pieces is charged. A shape cannot follow a column that spreads over orders of magnitude on both sides of its
    median, such as the exponential of a wide normal column; there the scale would bend every line. The shape stays if
    it has point masses, or if more than every tenth row repeats a value.
    """
    distinct = np.unique(values)
    if shape.points or len(values) > _FEW_TIES * len(distinct):
        return shape
    by_ranks = _shape_of_ranks(values, distinct)
    charge = PARAMETER_PRICE * (len(by_ranks.left) - 1)
    gain = float((by_ranks.log_density(values) - shape.log_density(values)).sum())
    return by_ranks if gain > charge else shape


def least_scale(values: NDArray[np.float64], scale: LineScale) -> float:
    """Return the least scale of residuals on a scale of a column, so that repeated values gain nothing.

    A value that repeats stands for a step: the values that are nearer to it than to other values. With the geometric
    mean of the steps over the rows as its scale, a line has a lower mean log density than rows that are spread evenly
    over their steps. A step on the scale counts by the ranks of its rows, which increasing transforms do not change, or
    by its width and the slope of the scale, whichever gives the larger mean: at the ends of its range a column with
    many equal rows has a slope that its ranks do not have. There are at least two distinct values.
    """
    distinct, position, counts = np.unique(values, return_inverse=True, return_counts=True)
    edges = scipy.special.ndtri((np.concatenate(([0], np.cumsum(counts))) + 0.5) / (len(values) + 1))
    by_ranks = np.log(np.diff(edges))[position]
    by_slope = np.log(_steps(distinct))[position] + scale.log_slope(values, scale.of_values(values))
    ends = scale.ends_of_points(values)
    if ends is not None:
        # a point mass has no slope: its line is a probability
        by_slope = np.where(ends.is_point, by_ranks, by_slope)
    return max(float(np.exp(max(by_ranks.mean(), by_slope.mean()))), _LEAST_SCALE)


def most_log_density(values: NDArray[np.float64]) -> float:
    """Return the largest mean log density that lines may have in a column of repeated values, in its units.

    It is that of rows that are spread evenly over their steps, as of `least_scale`; infinity if hardly a value repeats.
    The probability scale is steep at the ends of a range, where many equal rows would gain density without bound.
    """
    distinct, position = np.unique(values, return_inverse=True)
    if len(values) <= _FEW_TIES * len(distinct):
        return float("inf")
    return -float(np.log(_steps(distinct))[position].mean())


def _steps(distinct: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the widths of the values that are nearer to each distinct value than to others, float64 (n_distinct,)."""
    gaps = np.diff(distinct)
    return np.asarray((np.concatenate((gaps[:1], gaps)) + np.concatenate((gaps, gaps[-1:]))) / 2, np.float64)


def _shape_of_ranks(values: NDArray[np.float64], distinct: NDArray[np.float64]) -> Shape:
    """Return a shape that is uniform between knots, which lie at equal steps of the normal scale of the ranks."""
    n_rows = len(values)
    below = np.searchsorted(np.sort(values), distinct, side="left")[1:]
    z = scipy.special.ndtri((below + 0.5) / (n_rows + 1))
    steps = np.floor(z * (_N_STEPS / (2 * scipy.special.ndtri((n_rows + 0.5) / (n_rows + 1)))))
    gaps = [0]
    for gap in (np.flatnonzero(np.diff(steps)) + 1).tolist():
        if gap - gaps[-1] >= _FEWEST_VALUES:
            gaps.append(gap)
    chosen = [gap for gap in gaps[1:] if len(distinct) - 1 - gap >= _FEWEST_VALUES]
    edges = np.concatenate((distinct[:1], midpoint(distinct[:-1], distinct[1:])[chosen], distinct[-1:]))
    masses = np.diff(np.concatenate(([0], below[chosen], [n_rows]))) / n_rows
    heights = masses / np.diff(edges) * (distinct[-1] - distinct[0])
    return Shape(edges, heights, heights)
