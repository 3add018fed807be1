"""Scales of columns that follow lines or effects, and how much density their repeated values may have."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.network.conditionals.scales import LineScale, PointEnds
from gomea_bn.problems.curve_parts import LEAST_DEVIATION
from gomea_bn.problems.cuts.policies import midpoint
from gomea_bn.problems.cuts.shape import MOST_PIECES, Shape
from gomea_bn.problems.cuts.shape_fit import FEW_TIES, PARAMETER_PRICE

# steps of the knots on the scale, and the fewest distinct values between two knots
_N_STEPS = MOST_PIECES - 4
_FEWEST_VALUES = 2
# density of repeated values beyond that of their steps, in nats per row of the table, that is left to chance
_MOST_EXCESS = 0.02


@dataclass(frozen=True)
class LineRows:
    """Rows of a column and of its continuous parents on their scales, float64 (n_rows,) and (n_rows, n_parents).

    `groups`, int64 (n_rows,) below `n_groups`, are configurations of the discrete parents. Residuals have a least
    scale, so that repeated values cannot gain density. `ends` are positions of values that are point masses, and
    `log_steps` (n_rows,) the logs of the steps that values stand for, by default of the least scale.
    """

    z: NDArray[np.float64]
    parents: NDArray[np.float64]
    groups: NDArray[np.int64]
    n_groups: int
    scale: LineScale
    min_scale: float
    ends: PointEnds | None = None
    log_steps: NDArray[np.float64] | None = None

    def some(self, rows: NDArray[np.int64]) -> LineRows:
        """Return some of the rows."""
        ends = None if self.ends is None else self.ends.some(rows)
        steps = None if self.log_steps is None else self.log_steps[rows]
        members = {name: getattr(self, name)[rows] for name in ("z", "parents", "groups")}
        return replace(self, **members, ends=ends, log_steps=steps)


def line_scale(values: NDArray[np.float64], shape: Shape) -> Shape:
    """Return the distribution of a column, float64 (n_rows,), on whose probability scale lines are fitted.

    It is the given shape, unless a distribution with the ranks of the column explains the rows better although each of
    its pieces is charged. A shape cannot follow a column that spreads over orders of magnitude on both sides of its
    median, such as the exponential of a wide normal column; there the scale would bend every line. The shape stays if
    it has point masses, or if more than every tenth row repeats a value.
    """
    distinct = np.unique(values)
    if shape.points or len(values) > FEW_TIES * len(distinct):
        return shape
    by_ranks = _shape_of_ranks(values, distinct)
    charge = PARAMETER_PRICE * (len(by_ranks.left) - 1)
    gain = float((by_ranks.log_density(values) - shape.log_density(values)).sum())
    return by_ranks if gain > charge else shape


def log_steps(values: NDArray[np.float64], scale: LineScale) -> NDArray[np.float64]:
    """Return the logs of the steps that values stand for on a scale of their column, float64 (n_rows, 2).

    A value that repeats stands for a step: the values that are nearer to it than to other values. A step counts by the
    ranks of its rows, which increasing transforms do not change, and by its width and the slope of the scale: at the
    ends of its range a column with many equal rows has a slope that its ranks do not have. There are at least two
    distinct values.
    """
    distinct, position, counts = np.unique(values, return_inverse=True, return_counts=True)
    edges = scipy.special.ndtri((np.concatenate(([0], np.cumsum(counts))) + 0.5) / (len(values) + 1))
    by_ranks = np.log(np.diff(edges))[position]
    by_slope = np.log(_steps(distinct))[position] + scale.log_slope(values, scale.of_values(values))
    ends = scale.ends_of_points(values)
    if ends is not None:
        # a point mass has no slope: its line is a probability
        by_slope = np.where(ends.is_point, by_ranks, by_slope)
    return np.column_stack([by_ranks, by_slope])


def least_scale(steps: NDArray[np.float64]) -> float:
    """Return the least scale of residuals on a scale of a column, so that repeated values gain nothing.

    `steps` are those of `log_steps`. With the geometric mean of the steps over the rows as its scale, a line has a
    lower mean log density than rows that are spread evenly over their steps. Of both steps the larger mean counts.
    """
    return max(float(np.exp(steps.mean(axis=0).max())), LEAST_DEVIATION)


class RepeatedValues:
    """Repeated values of a column, float64 (n_rows,), which may have no more density than their steps allow.

    A step of a value, as of `log_steps` but in units, has at most the probability 1. The scale of a line and the range
    of its column do not always see to that: a probability scale is steep where many rows are equal. A point mass has a
    probability, and no density. Where hardly a value repeats, copies of rows are likelier than steps, and values count
    that 1 % of the rows have. `tables` (n_rows,) are the log densities of left-out rows under tables, in units, and
    `of_tables` is the density that repeats have there beyond their steps, in nats.
    """

    def __init__(
        self, values: NDArray[np.float64], scale: LineScale, tables: NDArray[np.float64] | None = None
    ) -> None:
        distinct, self._position, self._counts = np.unique(values, return_inverse=True, return_counts=True)
        n_rows = len(values)
        least = 2 if n_rows > FEW_TIES * len(distinct) else max(3, n_rows / 100)
        self._log_steps = np.log(_steps(distinct)) if len(distinct) > 1 else np.zeros(1)
        ends = scale.ends_of_points(distinct)
        self._counted = self._counts >= least
        if ends is not None:
            self._counted &= ~ends.is_point
        # a shape inside bins may be that high too, and then a line gains nothing from it
        self.of_tables = 0.0 if tables is None else self._excess(tables)

    def gain(self, logs: NDArray[np.float64]) -> bool:
        """Return whether rows with these log densities in units, float64 (n_rows,), owe some to their repeats."""
        return self._excess(logs) > self.of_tables + _MOST_EXCESS * len(logs)

    def _excess(self, logs: NDArray[np.float64]) -> float:
        """Return the density of repeated values beyond that of their steps, in nats of all rows."""
        of_values = np.bincount(self._position, logs) + self._counts * self._log_steps
        return float(of_values[self._counted & (of_values > 0)].sum())


def _steps(distinct: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the widths of the values that are nearer to each distinct value than to others, float64 (n_distinct,)."""
    gaps = np.diff(distinct)
    before, after = np.concatenate((gaps[:1], gaps)), np.concatenate((gaps, gaps[-1:]))
    with np.errstate(over="ignore"):
        sums = before + after
    return np.asarray(np.where(np.isinf(sums), before / 2 + after / 2, sums / 2), np.float64)


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
