"""Sums of effects of families: the posterior of the model that a search scores, and the density of left-out rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.learning.averaging.line_scales import RepeatedValues
from gomea_bn.network.conditionals.basis import PRIOR_ROWS, PRIOR_VARIANCE, joint_groups
from gomea_bn.network.conditionals.family_effects import FamilyEffects, log_density_around
from gomea_bn.network.conditionals.scales import (
    Columns,
    LineScale,
    ProbabilityScale,
    TransformedScale,
    UnitScale,
)
from gomea_bn.network.conditionals.terms import Functions, Terms, broken_line, indicators
from gomea_bn.problems.curve_models import CurveModel
from gomea_bn.problems.curves import CurveSizes, LevelFunctions, SmoothFunctions, curve_precisions

# prior precision of the intercept, in rows
_INTERCEPT_PRECISION = 1e-3
# rows of the whole table that the variance of a group is pooled with, and most groups per row
_POOLED_ROWS = 8.0
_ROWS_PER_GROUP = 10
_TAIL_STEPS, _SCALE_STEPS = 4, 15
# points of a transformation
_POINTS_OF_TRANSFORM = 17
# factor by which the least scale of residuals grows as long as repeated values gain
_WIDER, _MOST_WIDER = 1.5, 12
_LEAST_VARIANCE = 1e-12
# by how much a curve may be moved so that fewer B-splines describe it, in scales of the noise
_TOLERANCE = 0.01
_NUMBERS_OF_KNOTS = (3, 4, 6, 8, 11, 15, 20, 27, 36)


@dataclass(frozen=True)
class FittedEffects:
    """A sum of effects, and the log density of every row left out of it, in units of the column, float64 (n_rows,)."""

    effects: FamilyEffects
    left_out: NDArray[np.float64]


@dataclass(frozen=True)
class Design:
    """Functions of the parents in the rows, with what makes terms of them.

    `columns`, float64 (n_rows, n), are functions minus their means over the rows, `means` (n,), and `precisions` (n,)
    those of the normal prior of their coefficients, in rows.
    """

    functions: tuple[Functions, ...]
    factors: tuple[Functions, ...]
    products: tuple[tuple[int, int], ...]
    columns: NDArray[np.float64]
    means: NDArray[np.float64]
    precisions: NDArray[np.float64]

    def effects(
        self, coefficients: NDArray[np.float64], places: Mapping[str, NDArray[np.float64]], tolerance: float
    ) -> tuple[Terms, NDArray[np.float64]]:
        """Return terms and their coefficients, given those of 1 and of the columns, float64 (n + 1,).

        A parent has one curve, of as few B-splines as follow it within the tolerance at the places of the rows.
        """
        sizes = [functions.size for functions in self.functions]
        *parts, products = np.split(coefficients[1:], np.cumsum(sizes))
        functions, heights = [], []
        for of, part in zip(self.functions, parts, strict=True):
            curve = of.combined(part[:, None])
            if not of.of_levels:
                curve = _with_fewest_splines(curve, np.unique(places[of.of[0]]), tolerance)
            functions.append(replace(curve, matrix=np.eye(len(curve.matrix))))
            heights.append(curve.matrix[:, 0])
        intercept = coefficients[0] - self.means @ coefficients[1:]
        terms = Terms(tuple(functions), self.factors, self.products)
        return terms, np.concatenate([[intercept], *heights, products])


def _with_fewest_splines(curve: Functions, places: NDArray[np.float64], tolerance: float) -> Functions:
    """Return a curve with fewer B-splines, at most a tolerance away from it at some places, or the curve itself."""
    wanted = curve.at(places)[:, 0]
    low, high = curve.knots[0], curve.knots[-1]
    for n_knots in (2, *_NUMBERS_OF_KNOTS):
        degree = 1 if n_knots == 2 else 3
        if n_knots + degree - 1 >= len(curve.matrix):
            break
        inner = np.linspace(low, high, n_knots)
        knots = np.concatenate([[low] * degree, inner, [high] * degree])
        splines = Functions(curve.of, knots, np.eye(n_knots + degree - 1), curve.in_units)
        of_places = splines.at(places)
        heights = np.linalg.lstsq(of_places, wanted, rcond=1e-9)[0]
        if np.abs(of_places @ heights - wanted).max() <= tolerance:
            return replace(splines, matrix=heights[:, None])
    return curve


def design_of_model(
    model: CurveModel,
    parents: Sequence[str],
    groups: Sequence[str],
    columns: Columns,
    scales: Mapping[str, LineScale],
    n_levels: Mapping[str, int],
    sizes: CurveSizes,
) -> Design:
    """Return the functions of the parents under a model, in all rows.

    `scales` are those of probabilities. The functions are those that the search uses for the places of the rows there.
    """
    functions, precisions, smooth = [], [], []
    for parent in parents:
        found = SmoothFunctions(columns.positions(parent, scales[parent]), sizes.per_column)
        of_parent = curve_precisions(found.roughness, model.prior, columns.n_rows)
        n_used = int((of_parent < np.inf).sum())
        precisions.append(of_parent[:n_used])
        smooth.append(Functions((parent,), found.knots, found.matrix))
        first = smooth[-1].combined(np.eye(smooth[-1].size)[:, :n_used])
        if n_used == 1:
            # a line needs no spline
            line = broken_line(parent, first.knots[[0, -1]], in_units=False)
            first = line.combined(first.at(first.knots[[0, -1]]))
        functions.append(first)
    for group in groups:
        found_levels = LevelFunctions(np.asarray(columns[group], np.int32), n_levels[group])
        functions.append(indicators([group], [n_levels[group]]).combined(found_levels.matrix))
        precisions.append(np.ones(found_levels.matrix.shape[1]))
    factors: list[Functions] = []
    products: list[tuple[int, int]] = []
    if model.has_products:
        n_factor = sizes.per_pair
        factors = [of.combined(np.eye(of.size)[:, :n_factor]) for of in smooth if of.size >= n_factor]
        products = list(combinations(range(len(factors)), 2))
        precisions.append(np.ones(len(products) * n_factor**2))
    terms = Terms(tuple(functions), tuple(factors), tuple(products))
    of_rows = terms.of_rows(columns, {False: scales}, n_levels)
    means = of_rows.mean(axis=0)
    return Design(
        tuple(functions),
        tuple(factors),
        tuple(products),
        of_rows - means,
        means,
        np.concatenate([np.empty(0), *precisions]),
    )


def scale_of_model(
    model: CurveModel, values: NDArray[np.float64], scale: ProbabilityScale, in_units: UnitScale
) -> tuple[LineScale, NDArray[np.float64] | None]:
    """Return the scale of a column that a model describes, and its transformation as of `FamilyEffects`."""
    if model.in_units:
        return in_units, None
    if model.transform is None:
        return scale, None
    z = scale.of_values(values)
    functions = SmoothFunctions(z, len(model.transform))
    places = np.linspace(z.min(), z.max(), _POINTS_OF_TRANSFORM)
    heights = functions.of_scores(places)[:, : len(model.transform)] @ model.transform
    if not (np.diff(heights) > 0).all():
        return scale, None
    moved = np.interp(z, places, heights)
    transform = np.array([places, (heights - moved.mean()) / moved.std()])
    return TransformedScale(scale, *transform), transform


def left_out_residuals(
    z: NDArray[np.float64], design: NDArray[np.float64], precisions: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ridge regression of z (n,) on a design (n, q), and its residuals with each row left out, all float64.

    `precisions` (q,) are those of the normal prior of the coefficients, relative to that of a residual. The residual of
    a row that is left out is e / (1 - h) with its residual e and leverage h (PRESS: Allen, "The relationship between
    variable selection and data augmentation", 1974).
    """
    factor = scipy.linalg.cholesky(design.T @ design + np.diag(precisions), lower=True, check_finite=False)
    # without the checks of SciPy's own functions, which take longer than the work
    coefficients, _ = scipy.linalg.lapack.dpotrs(factor, design.T @ z, lower=True)
    half, _ = scipy.linalg.lapack.dtrtrs(factor, design.T, lower=True)
    leverage = np.einsum("ji,ji->i", half, half)
    return coefficients, (z - design @ coefficients) / (1 - leverage)


def fitted_effects(
    model: CurveModel,
    design: Design,
    name: str,
    parents: tuple[str, ...],
    groups: tuple[str, ...],
    columns: Columns,
    scales_of_parents: Mapping[str, LineScale],
    n_levels: Mapping[str, int],
    scale: LineScale,
    transform: NDArray[np.float64] | None,
    repeated: RepeatedValues,
    least_scale: float,
) -> FittedEffects:
    """Return the posterior of a model of a column: the mean of its coefficients, and noise as of left-out rows.

    The variance of the noise is that of residuals with each row left out, so that it includes what the coefficients do
    not know. Groups of rows, configurations of the discrete parents, have variances of their own, drawn towards that of
    all rows. Heavy tails weight rows as expectation and maximisation do (Lange, Little & Taylor, "Robust statistical
    modeling using the t distribution", 1989). Where repeated values would gain density, the noise is wider.
    """
    values = columns[name]
    z = scale.of_values(values)
    n_rows = len(z)
    n_groups = prod(n_levels[group] for group in groups)
    if n_groups * _ROWS_PER_GROUP > n_rows:
        n_groups = 1
    of_rows = (
        joint_groups([columns[group] for group in groups], [n_levels[group] for group in groups], n_rows)
        if n_groups > 1
        else np.zeros(n_rows, np.int64)
    )
    full = np.column_stack([np.ones(n_rows), design.columns])
    precisions = np.concatenate([[_INTERCEPT_PRECISION], design.precisions])
    is_heavy = bool(np.isfinite(model.heavy_tails))
    freedom = model.heavy_tails if is_heavy else n_rows - 1 + PRIOR_ROWS
    weights = np.ones(n_rows)
    coefficients, residuals = left_out_residuals(z, full, precisions)
    scales = np.ones(n_groups)
    for step in range(1 + _TAIL_STEPS * (is_heavy or n_groups > 1)):
        if step:
            root = np.sqrt(weights)
            coefficients, residuals = left_out_residuals(z * root, full * root[:, None], precisions)
            residuals = residuals / root
        scales = _scales(residuals, of_rows, n_groups, freedom if is_heavy else np.inf)
        ratios = residuals / scales[of_rows]
        weights = (freedom + 1) / (freedom + ratios**2) if is_heavy else np.ones(n_rows)
        if n_groups > 1:
            # relative to all rows, whose noise the prior of the coefficients is relative to
            weights = weights * float((residuals**2).mean()) / scales[of_rows] ** 2 if not is_heavy else (
                weights * float((scales[of_rows] ** 2).mean()) / scales[of_rows] ** 2
            )
    ends = scale.ends_of_points(values)
    slopes = scale.log_slope(values, z)
    least = least_scale
    for _ in range(_MOST_WIDER):
        wide = np.maximum(scales, least)
        left_out = log_density_around(z, z - residuals, wide[of_rows], freedom, scale, ends) + slopes
        if not repeated.gain(left_out):
            break
        least = max(least, float(scales.min())) * _WIDER
    places = {parent: columns.positions(parent, scales_of_parents[parent]) for parent in parents}
    terms, of_terms = design.effects(coefficients, places, _TOLERANCE * float(wide.min()))
    effects = FamilyEffects(
        parents,
        groups,
        terms,
        of_terms,
        wide,
        np.full(n_groups, freedom),
        least,
        model.in_units,
        transform,
    )
    return FittedEffects(effects, left_out)


def _scales(
    residuals: NDArray[np.float64], groups: NDArray[np.int64], n_groups: int, freedom: float
) -> NDArray[np.float64]:
    """Return the scale of residuals in every group, float64 (n_groups,), drawn towards that of all rows."""
    squares, counts = residuals**2, np.bincount(groups, minlength=n_groups)
    shares = np.ones(len(residuals))
    of_all, of_groups = 1.0, np.ones(n_groups)
    for _ in range(1 if freedom == np.inf else _SCALE_STEPS):
        of_all = (float((shares * squares).sum()) + PRIOR_ROWS * PRIOR_VARIANCE) / (len(residuals) + PRIOR_ROWS)
        sums = np.bincount(groups, shares * squares, minlength=n_groups)
        of_groups = np.maximum((sums + _POOLED_ROWS * of_all) / (counts + _POOLED_ROWS), _LEAST_VARIANCE)
        if n_groups == 1:
            of_groups = np.array([max(of_all, _LEAST_VARIANCE)])
        if freedom < np.inf:
            shares = (freedom + 1) / (freedom + squares / of_groups[groups])
    return np.sqrt(of_groups)
