"""Lines, curves and surfaces of families: their scales, their fit to rows, and the density of rows left out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.network.conditionals.basis import (
    PRECISION,
    PRIOR_ROWS,
    PRIOR_VARIANCE,
    LineTerms,
    design_of,
    scale_of,
)
from gomea_bn.network.conditionals.family import log_mixture
from gomea_bn.network.conditionals.family_line import FamilyLine, LineSums, log_line_density
from gomea_bn.network.conditionals.scales import LineScale, PointEnds
from gomea_bn.network.conditionals.student import log_student
from gomea_bn.problems.curves import SmoothFunctions, new_transform_scratch, no_transforms, set_transform
from gomea_bn.problems.cuts.policies import midpoint
from gomea_bn.problems.cuts.shape import MOST_PIECES, Shape
from gomea_bn.problems.cuts.shape_fit import PARAMETER_PRICE
from gomea_bn.problems.kernels.transforms import MOST_OF_TRANSFORM, transform_gain

# rows of the whole table that the variance of a group is pooled with
_POOLED_ROWS = 8.0
# fewest and most knots of a curve, and where the outer ones lie on a normal scale
_NUMBERS_OF_KNOTS = (3, 20)
_FARTHEST_KNOT = 2.2
# most parents with products of curves
_MOST_PARENTS_OF_PRODUCTS = 4
# rows on which terms are chosen, drawn with any fixed seed
_MOST_ROWS_OF_CHOICE = 4_000
_SEED = 20240219
HEAVY_TAILS = (3.0, 6.0, 15.0)
"""Degrees of freedom that residuals may have in place of those of their estimated variance."""
_TAIL_STEPS = 15
_LEAST_VARIANCE = 1e-12
# gain of further terms that counts, in nats of all rows
_LEAST_GAIN = 2.0
# points of a transformation, and the fewest distinct values of a column that has one
_POINTS_OF_TRANSFORM, _FEWEST_OF_TRANSFORM = 17, 20
# gain of a line on the rows of the choice below which a longer table has none, in nats
_LEAST_GAIN_OF_FEW = 0.1
_MOST_STEPS = 500
_STEP_TOLERANCE = 1e-7
# steps of the knots on the scale, and the fewest distinct values between two knots
_N_STEPS = MOST_PIECES - 4
_FEWEST_VALUES = 2
# most rows per distinct value of a column that ranks may stand for
_FEW_TIES = 1.1
_LEAST_SCALE = 1e-3
# density of repeated values beyond that of their steps, in nats per row of the table, that is left to chance
_MOST_EXCESS = 0.02


@dataclass(frozen=True)
class FittedLine:
    """A line as of `FamilyLine`, apart from its weight, and how well it predicts rows that are left out.

    Arrays are float64: coefficients (n_groups, n_terms + 1), scales and freedom (n_groups,), ratios, tails and widths
    as of `LineSums`, and `left_out` (n_rows,), the log density of every row on the scale of the column, with the row
    left out of the fit.
    """

    terms: LineTerms
    coefficients: NDArray[np.float64]
    scales: NDArray[np.float64]
    freedom: NDArray[np.float64]
    ratios: NDArray[np.float64]
    tails: NDArray[np.float64]
    widths: NDArray[np.float64]
    left_out: NDArray[np.float64]

    def of_family(
        self,
        parents: tuple[str, ...],
        groups: tuple[str, ...],
        rows: LineRows,
        *,
        in_units: bool,
        transform: NDArray[np.float64] | None = None,
    ) -> FamilyLine:
        """Return the line of a family with its continuous and discrete parents, and the rows of the fit.

        These are on the transformed scale of the column if it has one.
        """
        terms = self.terms.of_rows(rows.parents)
        sums = LineSums.of_rows(
            rows.z, terms, rows.groups, self.ratios, self.tails, self.widths, rows.min_scale
        )
        return FamilyLine(
            parents,
            groups,
            self.coefficients,
            self.scales,
            self.freedom,
            self.terms.knots,
            self.terms.has_products,
            in_units,
            sums,
            self.terms.product_knots,
            transform,
        )


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


def possible_terms(parents: NDArray[np.float64]) -> list[LineTerms]:
    """Return the terms that a line may have: lines, curves, products, curves with products, and with all products.

    `parents` are float64 (n_rows, n_parents). The knots of a parent are its quantiles at equal steps of the normal
    scale; their number grows with the cube root of the number of rows. Its knots of products are the outer quartiles;
    products of curves are for at most four parents, as in the search. There are at least two rows per coefficient.
    """
    n_rows, n_parents = parents.shape
    n_knots = int(np.clip(round(n_rows ** (1 / 3)), *_NUMBERS_OF_KNOTS))
    shares = scipy.special.ndtr(np.linspace(-_FARTHEST_KNOT, _FARTHEST_KNOT, n_knots))
    knots = tuple(np.unique(np.quantile(column, shares)) for column in parents.T)
    without = (np.empty(0),) * n_parents
    candidates = [
        LineTerms(chosen, has_products) for has_products in (False, True) for chosen in (without, knots)
    ]
    if 1 < n_parents <= _MOST_PARENTS_OF_PRODUCTS:
        quartiles = tuple(np.unique(np.quantile(column, (0.25, 0.75))) for column in parents.T)
        candidates.append(LineTerms(knots, True, quartiles))
    return candidates[:1] + [terms for terms in candidates[1:] if 2 * (terms.n_terms + 1) <= n_rows]


def fitted_line(
    rows: LineRows, terms: LineTerms | None = None, *, heavy_tails: Sequence[float] = HEAVY_TAILS
) -> FittedLine:
    """Return the line with some terms, by default a straight one, that predicts left-out rows best.

    The coefficients of all groups are the same, apart from the intercepts, or those of a straight line may differ
    between groups. Residuals may have `heavy_tails` as degrees of freedom in place of those of their estimated
    variance.

    Coefficients have a normal prior, and variances an inverse-gamma prior. The residual of a row that is left out is e
    / (1 - h) with its residual e and leverage h, and its square over (1 - h) leaves the sum of squares (PRESS: Allen,
    "The relationship between variable selection and data augmentation", 1974). The leverage of new rows is replaced by
    its mean. Groups with the same coefficients may have other variances; their ratios are estimated first and then
    fixed.
    """
    is_line = terms is None or terms.kind == "line"
    terms = LineTerms((np.empty(0),) * rows.parents.shape[1]) if terms is None else terms
    shared = _with_shared_slopes(rows, terms, heavy_tails)
    if rows.n_groups == 1 or not is_line:
        return shared
    separate = _with_own_slopes(rows, shared, heavy_tails)
    return separate if separate.left_out.sum() > shared.left_out.sum() else shared


def best_line(rows: LineRows, others: NDArray[np.float64] | None = None) -> FittedLine | None:
    """Return the line whose terms predict left-out rows best; they are chosen on at most 4,000 rows.

    `others` is the log density of every left-out row on the scale of the column under another model, float64 (n_rows,).
    There is no line, None, if it adds nothing to that model on the 4,000 rows of a longer table.
    """
    n_rows = len(rows.z)
    few, chosen = rows, np.arange(n_rows)
    if n_rows > _MOST_ROWS_OF_CHOICE:
        chosen = np.random.default_rng(_SEED).permutation(n_rows)[:_MOST_ROWS_OF_CHOICE]
        few = rows.some(chosen)
    best, *further = (fitted_line(few, terms) for terms in possible_terms(few.parents))
    for line in further:
        if line.left_out.sum() > best.left_out.sum() + _LEAST_GAIN:
            best = line
    if few is rows:
        return best
    if others is not None:
        weight = mixture_weight(others[chosen], best.left_out)
        if mixture_gain(others[chosen], best.left_out, weight) <= _LEAST_GAIN_OF_FEW:
            return None
    return fitted_line(rows, best.terms)


def transform_of(rows: LineRows, line: FittedLine) -> NDArray[np.float64] | None:
    """Return an increasing transformation of a column after which a line has noise that is closer to normal.

    It is float64 (2, n_points), as of `FamilyLine`, and that of the greatest posterior density for the terms of the
    given line; see `gomea_bn.problems.kernels.transforms`. None if it explains the rows no better.
    """
    n_rows, z = len(rows.z), rows.z
    if len(np.unique(z)) < _FEWEST_OF_TRANSFORM:
        return None
    functions, data, scratch = (
        SmoothFunctions(z, MOST_OF_TRANSFORM),
        no_transforms(1),
        new_transform_scratch(),
    )
    set_transform(data, 0, functions, z, np.full(n_rows, rows.min_scale))
    size = int(data.n_functions[0])
    if not size:
        return None
    own = functions.of_rows(0, n_rows)[:, :size]
    design = design_of(line.terms.of_rows(rows.parents), rows.groups, rows.n_groups)
    explained = design.T @ own
    system = design.T @ design + PRECISION * np.eye(design.shape[1])
    moments = own.T @ own + data.least[0, :size, :size] - explained.T @ np.linalg.solve(system, explained)
    of_line = 0.5 * n_rows * np.log(n_rows / moments[0, 0])
    moments[np.diag_indices(size)] += np.append(0.0, data.precisions[0, 1:size])
    scratch.moments[:size, :size] = moments
    gain = transform_gain(data, scratch, 0, float(n_rows), float(n_rows)) - of_line
    if not gain > _LEAST_GAIN:
        return None
    places = np.linspace(z.min(), z.max(), _POINTS_OF_TRANSFORM)
    heights = functions.of_scores(places)[:, :size] @ scratch.coefficients[0, :size]
    if not (np.diff(heights) > 0).all():
        return None
    moved = np.interp(z, places, heights)
    return np.array([places, (heights - moved.mean()) / moved.std()])


def left_out_residuals(
    z: NDArray[np.float64], design: NDArray[np.float64], precisions: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], float]:
    """Return the ridge regression of z (n,) on a design (n, q), and its residuals with each row left out, all float64.

    `precisions` (q,) are those of the normal prior of the coefficients, relative to that of a residual. These are: the
    coefficients (q,); the residuals (n,), value minus prediction with the row left out; the penalised sum of squares
    (n,) of the regression without each row; and the one with all rows.
    """
    factor = scipy.linalg.cholesky(design.T @ design + np.diag(precisions), lower=True, check_finite=False)
    # without the checks of SciPy's own functions, which take longer than the work
    coefficients, _ = scipy.linalg.lapack.dpotrs(factor, design.T @ z, lower=True)
    half, _ = scipy.linalg.lapack.dtrtrs(factor, design.T, lower=True)
    leverage = np.einsum("ji,ji->i", half, half)
    plain = z - design @ coefficients
    residuals = plain / (1 - leverage)
    total = max(float(z @ z - z @ (design @ coefficients)), 0.0)
    squares = np.maximum(total - plain * residuals, 0.0)
    return coefficients, residuals, squares, total


def _with_shared_slopes(rows: LineRows, terms: LineTerms, heavy_tails: Sequence[float]) -> FittedLine:
    """Return the line with the same coefficients in all groups; intercepts and variances may differ."""
    z, groups, n_groups, n_rows = rows.z, rows.groups, rows.n_groups, len(rows.z)
    design = design_of(terms.of_rows(rows.parents), groups, n_groups)
    precisions = np.full(design.shape[1], PRECISION)
    counts = np.bincount(groups, minlength=n_groups)
    ratios = np.ones(n_groups)
    if n_groups > 1:
        _, residuals, _, total = left_out_residuals(z, design, precisions)
        of_all = max(total / n_rows, PRIOR_VARIANCE / n_rows)
        of_groups = np.bincount(groups, residuals**2, minlength=n_groups)
        ratios = np.sqrt((of_groups / of_all + _POOLED_ROWS) / (counts + _POOLED_ROWS))
    weights = 1 / ratios[groups]
    coefficients, residuals, squares, total = left_out_residuals(
        z * weights, design * weights[:, None], precisions
    )
    wider = np.sqrt(1 + design.shape[1] / n_rows)
    of_rows = scale_of(squares, n_rows - 1) * wider
    freedom, width = _tail(residuals / of_rows, n_rows - 1 + PRIOR_ROWS, heavy_tails)
    scales = np.maximum(scale_of(total, n_rows) * wider * width * ratios, rows.min_scale)
    left_out = log_line_density(
        z,
        z - residuals * ratios[groups],
        np.maximum(of_rows * width * ratios[groups], rows.min_scale),
        freedom,
        rows.scale,
        rows.ends,
    )
    n_terms = terms.n_terms
    intercepts = coefficients[0] + (coefficients[1 + n_terms :] if n_groups > 1 else np.zeros(1))
    slopes = np.tile(coefficients[1 : 1 + n_terms], (n_groups, 1))
    is_normal = width == 1.0
    return FittedLine(
        terms,
        np.column_stack([intercepts, slopes]),
        scales,
        np.full(n_groups, freedom + 1.0 if is_normal else freedom),
        ratios,
        np.array([0.0 if is_normal else freedom]),
        np.array([width]),
        left_out,
    )


def _tail(
    residuals: NDArray[np.float64], freedom: float, heavy_tails: Sequence[float]
) -> tuple[float, float]:
    """Return the degrees of freedom of Student's t distribution that fit left-out residuals best, and their scale.

    Residuals are in units of their scales. By default they have the degrees of freedom of the estimated variance;
    heavier tails must have a higher likelihood. Their scale is that of the greatest likelihood, by expectation and
    maximisation.
    """
    heavier = np.array([tail for tail in heavy_tails if tail < freedom])
    squares = residuals**2
    numerators = (heavier[:, None] + 1) * squares
    variances = np.ones(len(heavier))
    for _ in range(_TAIL_STEPS):
        shares = numerators / (heavier[:, None] + squares / variances[:, None])
        variances = np.add.reduce(shares, axis=1) / len(squares)
    tails = np.concatenate(([freedom], heavier))
    scales = np.concatenate(([1.0], np.sqrt(np.maximum(variances, _LEAST_VARIANCE))))
    logs = log_student(residuals / scales[:, None], tails[:, None]) - np.log(scales)[:, None]
    best = int(logs.sum(axis=1).argmax())
    return float(tails[best]), float(scales[best])


def _with_own_slopes(rows: LineRows, shared: FittedLine, heavy_tails: Sequence[float]) -> FittedLine:
    """Return one regression per group; a group without rows has the line with shared slopes."""
    coefficients, scales, freedom = shared.coefficients.copy(), shared.scales.copy(), shared.freedom.copy()
    tails, widths = np.zeros(rows.n_groups), np.ones(rows.n_groups)
    left_out = np.empty(len(rows.z))
    for group in range(rows.n_groups):
        members = np.flatnonzero(rows.groups == group)
        if len(members) == 0:
            continue
        alone = replace(rows.some(members), groups=np.zeros(len(members), np.int64), n_groups=1)
        of_group = _with_shared_slopes(alone, shared.terms, heavy_tails)
        coefficients[group] = of_group.coefficients[0]
        scales[group], freedom[group] = of_group.scales[0], of_group.freedom[0]
        tails[group], widths[group] = of_group.tails[0], of_group.widths[0]
        left_out[members] = of_group.left_out
    ratios = np.ones(rows.n_groups)
    return FittedLine(shared.terms, coefficients, scales, freedom, ratios, tails, widths, left_out)


def mixture_weight(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return the weight of the second of two densities with which their mixture fits rows best.

    The log densities, float64 (n_rows,), are of rows that were left out of the fit of either. The weight, by
    expectation maximisation, is at most 1 - 1 / (n_rows + 1): the next row may be one that the second density cannot
    predict.
    """
    ratio = np.exp(np.clip(second - first, -700, 700))
    weight, n_rows = 0.5, len(first)
    for _ in range(_MOST_STEPS):
        share = weight * ratio
        # `mean` of NumPy gives the same number; for few rows it takes as long as the rest of the step
        before, weight = weight, float(np.add.reduce(share / (1 - weight + share))) / n_rows
        if abs(weight - before) < _STEP_TOLERANCE:
            break
    return min(weight, 1 - 1 / (n_rows + 1))


def mixture_gain(first: NDArray[np.float64], second: NDArray[np.float64], weight: float) -> float:
    """Return what the mixture of two densities gains over the first one, in nats of all rows; 0 for a weight of 0."""
    return float(np.sum(log_mixture(first, second, weight) - first)) if weight > 0 else 0.0


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
    return max(float(np.exp(steps.mean(axis=0).max())), _LEAST_SCALE)


class RepeatedValues:
    """Repeated values of a column, float64 (n_rows,), which may have no more density than their steps allow.

    A step of a value, as of `log_steps` but in units, has at most the probability 1. The scale of a line and the range
    of its column do not always see to that: a probability scale is steep where many rows are equal. A point mass has a
    probability, and no density. Where hardly a value repeats, copies of rows are likelier than steps, and values count
    that 1 % of the rows have. `tables` (n_rows,) are the log densities of left-out rows under tables, in units.
    """

    def __init__(
        self, values: NDArray[np.float64], scale: LineScale, tables: NDArray[np.float64] | None = None
    ) -> None:
        distinct, self._position, self._counts = np.unique(values, return_inverse=True, return_counts=True)
        n_rows = len(values)
        least = 2 if n_rows > _FEW_TIES * len(distinct) else max(3, n_rows / 100)
        self._log_steps = np.log(_steps(distinct)) if len(distinct) > 1 else np.zeros(1)
        ends = scale.ends_of_points(distinct)
        self._counted = self._counts >= least
        if ends is not None:
            self._counted &= ~ends.is_point
        # a shape inside bins may be that high too, and then a line gains nothing from it
        self._of_tables = 0.0 if tables is None else self._excess(tables)

    def gain(self, logs: NDArray[np.float64]) -> bool:
        """Return whether rows with these log densities in units, float64 (n_rows,), owe some to their repeats."""
        return self._excess(logs) > self._of_tables + _MOST_EXCESS * len(logs)

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
