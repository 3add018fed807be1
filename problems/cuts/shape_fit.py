"""The shape of a continuous column, fitted to its values.

The density is a mixture of two kernel densities, an adaptive histogram and the uniform density. Their bandwidths and
weights maximise the likelihood of the rows when each row is left out. Bandwidths and bins have a least width, the
resolution of the column, which bounds what repeated values can gain. Very many rows need no kernels: the density joins
their shares between knots. Values that repeat often are point masses; a
column of few values has nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite, log
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from gomea_bn.data.columns import MANY_ROWS, ROWS_WORTH_THREADS, Column
from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError
from gomea_bn.problems.cuts.blanket import Neighbourhood
from gomea_bn.problems.cuts.cut_column import CutColumn
from gomea_bn.problems.cuts.interval_dp import CutLimits, CutProblem, IntervalScore
from gomea_bn.problems.cuts.policies import ROUNDING, joined_to_values
from gomea_bn.problems.cuts.shape import MOST_PIECES, MOST_POINTS, POINTS_SHARE, RESERVE, ColumnShape, Shape
from gomea_bn.problems.scores import score_rule, scoring_method
from gomea_bn.runtime.fit_clock import NO_LIMIT, SHAPES, FitClock
from gomea_bn.runtime.threads import in_threads

PARAMETER_PRICE = 1.5
"""Nats that an effective parameter of a shape costs."""

# smallest weight of the uniform density: a share, and a number of rows, since a share of many rows would reach far into
# the tails of a column
_LEAST_UNIFORM = 0.01
_SQUARES = 16
_fits: dict[bytes, ColumnShape] = {}


@dataclass(frozen=True, slots=True)
class _Component:
    """A density of the mixture."""

    in_sample: NDArray[np.float64]  # (n_distinct,) density of every distinct value from all rows
    left_out: NDArray[np.float64]  # (n_distinct,) the same without one row of that value
    at_knots: NDArray[np.float64]  # (2, n_pieces) density at the left and right end of every piece
    masses: NDArray[np.float64]  # (n_pieces,) probability of every piece
    cost: float = 0.0  # nats that choosing the component from the data costs


def least_uniform(n_rows: int) -> float:
    """Return the smallest weight of the uniform density: 1/100, or less where that is more than ten rows."""
    return min(_LEAST_UNIFORM, 10 / n_rows)


def mixture(
    scaled: NDArray[np.float64],
    counts: NDArray[np.int64],
    width: float,
    knots: NDArray[np.float64],
    histogram_cuts: NDArray[np.float64],
    histogram_cost: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], float, float, float]:
    """Return the mixture of densities at both ends of every piece, its mass in every piece, and three numbers.

    The numbers are the log likelihood of the rows in nats, how many parameters the fit has, and how many nats the
    choice of its components costs. Values, width and knots are scaled to [0, 1].
    """
    components = [
        _uniform(len(scaled), knots),
        _kernel(scaled, counts, width, knots),
        _histogram_density(scaled, counts, histogram_cuts, knots, histogram_cost),
    ]
    centre, spread = _quartiles(scaled, counts)
    # smallest quartile range, as a share of the range, by which values are divided without overflow
    if spread > 1e-150:
        components.append(_kernel(scaled, counts, width, knots, (centre, spread)))
    costs = np.array([component.cost for component in components])
    # all components, or those that cost nothing
    mixtures = [_mixed(components, counts, taking_part) for taking_part in (costs == 0, costs >= 0)]
    weights, of_rows, n_parameters, cost = max(
        mixtures, key=lambda mixed: mixed[1] - (PARAMETER_PRICE * mixed[2] + mixed[3])
    )
    heights = np.tensordot(weights, np.array([component.at_knots for component in components]), axes=1)
    masses = weights @ np.array([component.masses for component in components])
    return heights, masses, of_rows, n_parameters, cost


def _mixed(
    components: Sequence[_Component], counts: NDArray[np.int64], takes_part: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], float, float, float]:
    """Return the weights of greatest left-out likelihood, the first at least `least_uniform`, and three numbers.

    A component that does not take part has the weight 0. The numbers are the log likelihood of all rows in nats, the
    number of parameters, and the costs of the components in nats. The number of parameters is the difference between
    the log likelihoods of all rows and with each row left out, to which a histogram of k bins adds k - 1, plus one per
    weight.
    """
    n_rows = counts.sum()
    charges = np.array([component.cost for component in components])
    densities = np.array([component.left_out for component in components])
    charged = densities * np.exp(-charges / n_rows)[:, None]
    weights = takes_part / takes_part.sum()
    # some of very many values are enough for the weights
    step = -(-len(counts) // 2_000)
    some, rows = charged[:, ::step], counts[::step]
    for _ in range(100):
        shares = some * weights[:, None]
        shares /= shares.sum(axis=0)
        weights = shares @ rows / rows.sum()
    # a component of a smaller weight has no parameters
    is_used = weights > 1e-3
    least = least_uniform(int(n_rows))
    weights *= 1 - least
    weights[0] += least
    in_sample = float((counts * np.log(weights @ np.array([c.in_sample for c in components]))).sum())
    left_out = float((counts * np.log(weights @ densities)).sum())
    n_parameters = max(in_sample - left_out, 0.0) + int(is_used[1:].sum())
    return weights, in_sample, n_parameters, float(charges @ is_used)


def _uniform(n_distinct: int, knots: NDArray[np.float64]) -> _Component:
    height = 1 / (knots[-1] - knots[0])
    of_values = np.full(n_distinct, height)
    return _Component(of_values, of_values, np.full((2, len(knots) - 1), height), height * np.diff(knots))


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
    widths = np.diff(np.concatenate((knots[:1], cuts, knots[-1:])))
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
    sources, rows, group = _groups(places, counts, 512)
    n_rows, n_sources = rows.sum(), len(sources)
    mirrored = np.concatenate((sources, 2 * low - sources, 2 * high - sources))
    weights = np.tile(rows, 3).astype(np.float64)
    # a few actual values, not the means of groups: several rows at one place would look like a peak
    judged = np.arange(0, len(places), -(-len(places) // 256))
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
    # one array, since new memory takes longer than the arithmetic
    kernels = positions[:, None] - centres
    kernels /= bandwidth
    # the square of a huge distance is infinite, and its kernel 0
    with np.errstate(over="ignore"):
        kernels *= kernels
    kernels *= -0.5
    return np.asarray(np.exp(kernels, out=kernels), np.float64)


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
    """Return at most `most` places, values or means of neighbouring ones, their rows, and the place of every value."""
    if len(places) <= most:
        return places, counts, np.arange(len(places))
    middle = np.cumsum(counts) - counts / 2
    group = np.minimum((middle * (most / counts.sum())).astype(np.int64), most - 1)
    # a value with very many rows leaves groups empty
    group = np.cumsum(np.concatenate(([0], np.diff(group) > 0))).astype(np.int64)
    rows = np.bincount(group, counts)
    means = np.bincount(group, counts * places) / rows
    return means, rows.astype(np.int64), group


POINT_SHARE = 0.1
"""Smallest share of the rows of a point mass."""
POINT_RATIO = 5.0
"""Smallest ratio of the rows of a point mass to those of the values around it."""
# values on either side of a point mass that it is compared with
_AROUND = 3

FEW_TIES = 1.1
"""Most rows per distinct value of a column with few repeated values."""
_MOST_HISTOGRAM_BINS = 24


def repeated_values(counts: NDArray[np.int64 | np.float64]) -> NDArray[np.bool_]:
    """Return which distinct values are point masses, bool (n_distinct,), given the number of rows of each.

    Numbers of rows that are drawn may be the expected ones.

    In a column of few values these are all values of at least five rows, or of two rows if there are at most ten
    values: at most 64 values, which 95 % of the rows have. If only one other value is left, it is a point mass, too. In
    other columns these are at most four values, each in at least a tenth of the rows, and each at least five times as
    frequent as the three values on either side of it that are not point masses are on average. Counts that fall slowly
    from the least value on have no point mass, and a heap of equal rows is one although another value is frequent, too.
    """
    n_distinct = len(counts)
    is_point = counts >= (2 if n_distinct <= 10 else 5)
    if is_point.sum() <= 64 and counts[is_point].sum() >= POINTS_SHARE * counts.sum():
        return is_point if n_distinct - int(is_point.sum()) > 1 else np.ones(n_distinct, np.bool_)
    is_point = np.zeros(n_distinct, np.bool_)
    if counts.max() < POINT_SHARE * counts.sum():
        return is_point
    order = np.argsort(-counts, kind="stable")
    # two distinct values at least stay for the density
    for n_points in range(min(MOST_POINTS, n_distinct - 2), 0, -1):
        is_point[:] = False
        is_point[order[:n_points]] = True
        if all(
            counts[k] >= POINT_SHARE * counts.sum()
            and counts[k] >= POINT_RATIO * _mean_around(counts, is_point, k)
            for k in order[:n_points].tolist()
        ):
            return is_point
    is_point[:] = False
    return is_point


def _mean_around(counts: NDArray[Any], is_point: NDArray[np.bool_], position: int) -> float:
    """Return the mean number of rows of the nearest values on either side that are not point masses."""
    others = np.flatnonzero(~is_point)
    place = int(np.searchsorted(others, position))
    return float(counts[others[max(place - _AROUND, 0) : place + _AROUND]].mean())


def _values_repeat(counts: NDArray[np.int64]) -> bool:
    """Return whether rows share their values, given the number of rows of every value."""
    return bool(counts.sum() > FEW_TIES * len(counts))


def resolution(distinct: NDArray[np.float64], counts: NDArray[np.int64]) -> float:
    """Return the least width of structure in a column's density, in the units of the data.

    It is the median gap between distinct values, and at least 1/100 of the range, or of twice the range of the middle
    four fifths of the rows if that is smaller. With few repeated values it is twice the gap, and at least 1/200.
    """
    span = distinct[-1] - distinct[0]
    cumulated = np.cumsum(counts)
    tenths = np.searchsorted(cumulated, np.array([0.1, 0.9]) * cumulated[-1])
    middle = distinct[tenths[1]] - distinct[tenths[0]]
    # twice the middle of a huge range would overflow
    extent = 2 * middle if 0 < middle < span / 2 else span
    # values of one measuring step have cells as wide as a gap
    share, n_gaps = (0.01, 1) if _values_repeat(counts) else (0.005, 2)
    # Python's floats overflow without a warning
    return max(float(share * extent), n_gaps * float(np.median(np.diff(distinct))))


def fit_shape(
    values: ArrayLike, point_values: ArrayLike | None = None, *, is_quick: bool = False
) -> ColumnShape:
    """Return the shape of a column.

    Parameters
    ----------
    values : ndarray of shape (n_rows,), float64
        At least two distinct values.
    point_values : array-like of shape (n_points,), float64, optional
        Values that are point masses; by default those of `repeated_values`. One that no row has gets a probability of
        1e-9, if it lies in the range. If fewer than two other values occur, these are point masses, too.
    is_quick : bool
        Whether the density is that of very many rows, and has no histogram: a fit then takes a tenth of the time.

    Raises
    ------
    GomeaBnError
        For values that are not finite numbers, are all equal, or have a range beyond float64.

    Notes
    -----
    One kernel density has a bandwidth in the units of the data, the other one on the scale asinh((x - median) / half
    the interquartile range), which follows long tails. Both are Gaussian and reflected at the ends of the range. The
    histogram has the bins of greatest Dirichlet(1) marginal likelihood, and its cuts cost what cuts cost in a search.
    Expectation maximisation finds the weights. With more than 50,000 rows the density joins the shares of the rows
    between knots, by lines or by steps, whichever is more likely. The log likelihood before charges is at most that of
    the shape.
    """
    checked = _checked(values)
    distinct, counts = np.unique(checked, return_counts=True)
    is_point = repeated_values(counts)
    if point_values is not None:
        points = _checked_points(point_values)
        points = points[(points >= distinct[0]) & (points <= distinct[-1])]
        every = np.union1d(distinct, points)
        rows = np.zeros(len(every), np.int64)
        rows[np.isin(every, distinct)] = counts
        distinct, counts, is_point = every, rows, np.isin(every, points)
    content = hashlib.blake2b(bytes([is_quick]))
    for part in (distinct, counts, is_point):
        content.update(part.tobytes())
    key = content.digest()
    # a fit asks several times for the shape of the same rows in other orders
    shape = _fits.get(key)
    if shape is None:
        shape = _fits[key] = _fitted(distinct, counts, is_point, is_quick=is_quick)
        # shapes that are kept, by the content of their columns
        while len(_fits) > 2_048:
            _fits.pop(next(iter(_fits)), None)
    return shape


def _of_points(distinct: NDArray[np.float64], counts: NDArray[np.int64]) -> ColumnShape:
    """Return the shape of a column of point masses; values between them share a probability of `RESERVE`."""
    n_rows = int(counts.sum())
    masses = np.maximum(counts / n_rows, RESERVE)
    masses *= (1 - RESERVE) / masses.sum()
    shape = Shape(
        distinct[[0, -1]], [RESERVE], [RESERVE], dict(zip(distinct.tolist(), masses.tolist(), strict=True))
    )
    return ColumnShape(shape, float(counts @ np.log(masses)), resolution(distinct, counts))


def _fitted(
    all_distinct: NDArray[np.float64],
    all_counts: NDArray[np.int64],
    is_point: NDArray[np.bool_],
    *,
    is_quick: bool,
) -> ColumnShape:
    """Return the shape of ascending values with counts, some of which are point masses; others have a density."""
    distinct, counts = all_distinct[~is_point], all_counts[~is_point]
    if len(distinct) < 2:
        return _of_points(all_distinct, all_counts)
    least = resolution(distinct, counts)
    low, high = float(all_distinct[0]), float(all_distinct[-1])
    span = high - low
    # on [0, 1]
    # smallest resolution as a share of the range: an outlier of 1e300 must not make it 0
    scaled, width = (distinct - low) / span, min(max(least / span, 1e-100), 0.5)
    histogram_cuts, histogram_cost = (np.empty(0), 0.0) if is_quick else _histogram(scaled, counts, width)
    beyond = _beyond_ends(distinct, counts, (low, high), least) / span
    ends = np.array([beyond[0], 1 - beyond[1]])
    edges = _edges(_knots(scaled, counts, histogram_cuts, ends, width), all_distinct)
    # where floats are coarse the edges are not exactly at the knots
    knots = (edges - low) / span
    # the first and last piece stand for whole cells of the values there
    knots[[0, -1]] += np.array([-1.0, 1.0]) * beyond
    if is_quick or counts.sum() > MANY_ROWS:
        heights, masses, of_rows, n_parameters = _joined_shares(scaled, counts, knots)
        cost = histogram_cost
    else:
        heights, masses, of_rows, n_parameters, cost = mixture(
            scaled, counts, width, knots, histogram_cuts, histogram_cost
        )
    n_rows, n_smooth = int(all_counts.sum()), int(counts.sum())
    # in the tails lines between distant knots would hold more mass than the mixture; widths are those of the edges,
    # since knots lose digits next to the middle of a wide range
    heights *= masses / masses.sum() * (n_smooth / n_rows) / (np.diff(edges) / span * heights.sum(axis=0) / 2)
    points = {
        float(value): max(float(count / n_rows), RESERVE)
        for value, count in zip(all_distinct[is_point], all_counts[is_point], strict=True)
    }
    shape = Shape(edges, heights[0], heights[1], points)
    # groups of rows make long tails look denser than the pieces of the shape are
    of_shape = float(counts @ shape.log_scaled_density(distinct))
    # a cell of the density that is cut in half is twice as dense
    of_rows += log(2) * float(counts[[0, -1]] @ (beyond > 0))
    log_likelihood = min(of_rows + n_smooth * log(n_smooth / n_rows), of_shape)
    log_likelihood -= PARAMETER_PRICE * n_parameters + cost
    log_likelihood += float(all_counts[is_point] @ np.log(shape.point_masses))
    return ColumnShape(shape, log_likelihood, least, n_parameters=n_parameters)


def _beyond_ends(
    distinct: NDArray[np.float64], counts: NDArray[np.int64], ends: tuple[float, float], least: float
) -> NDArray[np.float64]:
    """Return how far the cells of the least and the greatest value reach beyond these, in units, float64 (2,).

    A repeated value stands for numbers up to half of a gap on either side. An end that is a point mass has 0, and so
    has a column with few repeated values, or with gaps below the least width of structure: a heap is no cell there.
    """
    gaps = np.diff(distinct)
    step = float(np.median(gaps))
    if not (_values_repeat(counts) and step >= least):
        return np.zeros(2)
    is_open = np.array([distinct[0] == ends[0], distinct[-1] == ends[1]])
    return np.asarray(np.minimum(gaps[[0, -1]], step) / 2 * is_open, np.float64)


def _joined_shares(
    scaled: NDArray[np.float64], counts: NDArray[np.int64], knots: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], float, float]:
    """Return what `mixture` returns, but costs, for shares joined by lines or by steps, whichever is more likely."""
    n_rows = counts.sum()
    below = np.interp(knots, scaled, np.cumsum(counts) - counts / 2)
    below[0], below[-1] = 0.0, n_rows
    widths = np.diff(knots)
    least = least_uniform(int(n_rows))
    masses = (1 - least) * np.diff(below) / n_rows + least * widths
    steps = masses / widths
    # at a knot, the line between the middles of its pieces
    inner = (steps[:-1] * widths[1:] + steps[1:] * widths[:-1]) / (widths[:-1] + widths[1:])
    ends = [max(2 * steps[0] - inner[0], steps[0] / 2), max(2 * steps[-1] - inner[-1], steps[-1] / 2)]
    at_knots = np.concatenate((ends[:1], inner, ends[1:])) if len(inner) else np.repeat(steps, 2)
    lines = np.stack((at_knots[:-1], at_knots[1:]))
    lines *= 2 * steps / lines.sum(axis=0)
    piece = np.clip(np.searchsorted(knots, scaled, side="right") - 1, 0, len(steps) - 1)
    shares = (scaled - knots[piece]) / widths[piece]
    of_steps = float(counts @ np.log(steps[piece]))
    of_lines = float(counts @ np.log((1 - shares) * lines[0, piece] + shares * lines[1, piece]))
    if of_steps > of_lines:
        return np.stack((steps, steps)), masses, of_steps, len(steps) - 1
    return lines, masses, of_lines, len(steps) - 1


def _checked(values: ArrayLike) -> NDArray[np.float64]:
    """Return the values of a column as an array, float64 (n_rows,)."""
    try:
        # a negative zero would be printed as -0
        checked = np.asarray(values, np.float64) + 0.0
    except (TypeError, ValueError, OverflowError) as error:
        raise GomeaBnError(f"The values of a column must be numbers, got {values!r:.80}.") from error
    if checked.ndim != 1 or not np.isfinite(checked).all():
        raise GomeaBnError(f"The values of a column must be a list of finite numbers, got {values!r:.80}.")
    if len(checked) == 0 or checked.min() == checked.max():
        raise GomeaBnError(
            "A constant column has no shape; it needs at least two distinct values, got "
            f"{checked[:1].tolist()!r}."
        )
    # Python's floats overflow without a warning
    low, high = float(checked.min()), float(checked.max())
    if not isfinite(high - low):
        raise GomeaBnError(f"The range of a column must be finite, got values from {low:g} to {high:g}.")
    return checked


def _checked_points(point_values: ArrayLike) -> NDArray[np.float64]:
    """Return values that are given as point masses, float64 (n_points,)."""
    try:
        points = np.asarray(point_values, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise GomeaBnError(f"point_values must be numbers, got {point_values!r:.80}.") from error
    if points.ndim != 1 or not np.isfinite(points).all():
        raise GomeaBnError(f"point_values must be a list of finite numbers, got {point_values!r:.80}.")
    return points


def _edges(knots: NDArray[np.float64], distinct: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the knots in the units of ascending values, float64 (n_pieces + 1,), without equal ones.

    A knot that is a value but for rounding is that value: the piece in which the value lies is then the same in all
    units.
    """
    low, high = distinct[0], distinct[-1]
    inner = low + knots[1:-1] * (high - low)
    inner = np.unique(joined_to_values(inner, distinct, ROUNDING * (high - low)))
    return np.concatenate(([low], inner[(inner > low) & (inner < high)], [high]))


def _histogram(
    scaled: NDArray[np.float64], counts: NDArray[np.int64], width: float
) -> tuple[NDArray[np.float64], float]:
    """Return the inner cuts of the best histogram of at most 5,000 ranks, and what choosing them costs."""
    method = scoring_method("density-bd")
    up_to = np.cumsum(counts)
    ranks = np.linspace(0, up_to[-1] - 1, min(up_to[-1], 5_000)).astype(np.int64)
    values = scaled[np.searchsorted(up_to, ranks, side="right")]
    n_rows = len(values)
    column = CutColumn.of_values(values)
    problem = CutProblem.of_rows(column, Neighbourhood(), IntervalScore(method, score_rule(method, n_rows)))
    share = min(width / (column.high - column.low), 0.5)
    best = problem.optimal(CutLimits(1, _MOST_HISTOGRAM_BINS, share, 1), n_cells=100)
    cuts = best.cut_points if best is not None else np.empty(0)
    return cuts, method.cut_cost * log(max(len(column.cuts), 1)) * len(cuts)


def _knots(
    scaled: NDArray[np.float64],
    counts: NDArray[np.int64],
    cuts: NDArray[np.float64],
    ends: NDArray[np.float64],
    width: float,
) -> NDArray[np.float64]:
    """Return 0, the ends, the histogram's cuts, further knots, half evenly spaced and half at quantiles of rows, and 1.

    The shares of the last quantiles at both ends halve down to a single row, to follow long tails. The further knots
    are at least a quarter of the resolution `width` away from all others.
    """
    fixed = np.unique(np.concatenate(([0.0, 1.0], ends, cuts)))
    most = MOST_PIECES + 1 - len(fixed)
    n_even = most // 2
    n_quantiles = most - n_even
    cumulated = np.cumsum(counts)
    n_tail = min(6, int(np.log2(max(cumulated[-1] / n_quantiles, 1))))
    n_middle = n_quantiles - 2 * n_tail
    middle = np.arange(1, n_middle + 1) / (n_middle + 1)
    tail = middle[0] / 2 ** np.arange(1, n_tail + 1)
    steps = np.concatenate((tail, middle, 1 - tail))
    quantiles = scaled[np.searchsorted(cumulated, steps * cumulated[-1])]
    further = np.sort(np.concatenate((np.arange(1, n_even + 1) / (n_even + 1), quantiles)))
    knots = fixed.tolist()
    last = -np.inf
    # distances of rounded values are often equal to it but for rounding
    least = (1 - ROUNDING) * width / 4
    for knot, distance in zip(further.tolist(), np.abs(further[:, None] - fixed).min(axis=1).tolist()):
        if min(distance, knot - last) >= least:
            knots.append(knot)
            last = knot
    return np.sort(knots)


_shapes: WeakKeyDictionary[Table, dict[str, ColumnShape]] = WeakKeyDictionary()


def table_shapes(table: Table, clock: FitClock = NO_LIMIT) -> dict[str, ColumnShape]:
    """Return the fitted shape of every continuous column by name, quick ones once the time of the clock is up."""
    if table not in _shapes:
        continuous = [column for column in table.columns if column.is_continuous]
        # quick fits of few rows hold the lock of the interpreter
        has_time = 0 < clock.left < np.inf
        n_threads = -1 if table.n_rows > ROWS_WORTH_THREADS or has_time else 1
        # what follows says more about edges than fine shapes do
        # share of the seconds left of a preparation after which shapes are quick ones
        is_late = clock.part(0.4).late(SHAPES)

        def fitted(column: Column) -> ColumnShape:
            return fit_shape(column.observed, column.points, is_quick=is_late())

        fits = in_threads(fitted, continuous, n_threads=n_threads)
        _shapes[table] = dict(zip((column.name for column in continuous), fits, strict=True))
    return _shapes[table]


def share_shapes(completed: Table, table: Table) -> None:
    """Let `table_shapes` return the shapes of a table for one whose missing cells were filled in."""
    _shapes[completed] = table_shapes(table)


def with_point_masses(part: Table, whole: Table, shares: NDArray[np.float64] | None = None) -> Table:
    """Return a part of a table's rows with the point masses of the whole table.

    Otherwise a value could be a point mass in one part and not in another, so that a probability would be averaged with
    a density. `shares`, float64 (n_rows,), are the probabilities with which rows of the whole table are in the part,
    and decide how many rows a value has; by default all count alike. Columns that know their point masses keep them.
    """
    points = {}
    for column in whole.columns:
        if column.is_continuous and column.points is None:
            distinct, places = np.unique(column.observed, return_inverse=True)
            counts = np.bincount(places, None if shares is None else shares[~column.is_missing])
            points[column.name] = distinct[repeated_values(counts)]
    return replace(part, columns=tuple(replace(c, points=points.get(c.name, c.points)) for c in part.columns))
