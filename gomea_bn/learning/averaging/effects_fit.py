"""Sums of effects of families: the posterior of the model that a search scores, and the density of left-out rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.learning.averaging.kernels import fill_group_scales
from gomea_bn.learning.averaging.line_scales import RepeatedValues, least_scale, log_steps
from gomea_bn.learning.averaging.stacks import LEAST_GAIN, Member
from gomea_bn.network.conditionals.family_effects import FamilyEffects, log_density_around, relative_widths
from gomea_bn.network.conditionals.kind import joint_groups
from gomea_bn.network.conditionals.scales import (
    Columns,
    LineScale,
    ProbabilityScale,
    TransformedScale,
    UnitScale,
)
from gomea_bn.network.conditionals.terms import Functions, Terms, broken_line, indicators
from gomea_bn.problems.column_functions import (
    ColumnFunctions,
    LevelFunctions,
    NumberFunctions,
    SmoothFunctions,
    normal_scores,
)
from gomea_bn.problems.curve_models import CurveModel
from gomea_bn.problems.curves import CurveSizes
from gomea_bn.problems.distributions import PRIOR_ROWS

# prior precision of the intercept, in rows
_INTERCEPT_PRECISION = 1e-3
# of moments, as a share
_ROUNDING = 1e-9
# fewest rows per group that has a variance of its own
_ROWS_PER_GROUP = 10
_STEPS = 4
# scales of the column on which coefficients are fitted to the noise: it may change which one is best
_SCALES_TO_FIT = 2
# degrees of freedom that heavy-tailed noise may have
_FREEDOMS = (8.0, 3.0)
# points of a transformation
_POINTS_OF_TRANSFORM = 17
# factor by which the least scale of residuals grows as long as repeated values gain
_WIDER, _MOST_WIDER = 1.5, 12
# prior precision of a line that log widths follow, in rows, steps of their fit, and what the last one changes
_LEAST_WIDTH_PRECISION = 1.0
_WIDTH_STEPS, _MOST_HALVINGS, _LEAST_STEP = 30, 8, 1e-4
# precision of a coefficient that stays 0
_NEVER = 1e12
# by how much a curve may be moved so that fewer B-splines describe it, in scales of the noise or in log odds
TOLERANCE = 0.01
# root mean square distance of places from normal scores beyond which functions are those of the scores, and the most
# knots of these
_MOST_SHIFT = 0.1
_MOST_KNOTS = 32
_NUMBERS_OF_KNOTS = (3, 4, 6, 8, 11, 15, 20, 27, 36)
# places by which most numbers of knots are found to be too few
_FEW_PLACES = 256


@dataclass(frozen=True)
class Design:
    """Functions of the parents in the rows, with what makes terms of them.

    `columns`, float64 (n_rows, n), are functions minus their means over the rows, `means` (n,), and `precisions` (n,)
    those of the normal prior of their coefficients, in rows. `widths` has the functions of which the log width of the
    noise is made, if it depends on the parents.
    """

    functions: tuple[Functions, ...]
    factors: tuple[Functions, ...]
    products: tuple[tuple[int, int], ...]
    columns: NDArray[np.float64]
    means: NDArray[np.float64]
    precisions: NDArray[np.float64]
    widths: Design | None = None

    @property
    def of_amounts(self) -> NDArray[np.float64]:
        """Squared heights of indicators of levels, and 0 of all other columns, float64 (n,)."""
        heights, first = np.zeros(len(self.means)), 0
        for of in self.functions:
            if of.of_levels:
                # the line of ordered levels is no amount of one of them
                is_amount = np.count_nonzero(of.matrix, axis=0) == 1
                heights[first : first + of.size] = is_amount * (of.matrix**2).max(axis=0)
            first += of.size
        return heights

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
            if of.of_levels and of.size < len(of.matrix):
                # some levels have one amount
                functions.append(of)
                heights.append(part)
                continue
            curve = of.combined(part[:, None])
            if not of.of_levels and not of.in_units:
                curve = _with_fewest_splines(curve, np.unique(places[of.of[0]]), tolerance)
            functions.append(replace(curve, matrix=np.eye(len(curve.matrix))))
            heights.append(curve.matrix[:, 0])
        intercept = coefficients[0] - self.means @ coefficients[1:]
        terms = Terms(tuple(functions), self.factors, self.products)
        return terms, np.concatenate([[intercept], *heights, products])


def _with_fewest_splines(curve: Functions, places: NDArray[np.float64], tolerance: float) -> Functions:
    """Return a curve with fewer B-splines, at most a tolerance away from it at some places, or the curve itself."""
    if curve.degree == 1:
        return _with_fewest_knots(curve, tolerance)
    wanted = curve.at(places)[:, 0]
    low, high = curve.knots[0], curve.knots[-1]
    few = slice(None, None, max(len(places) // _FEW_PLACES, 1))
    for n_knots in (2, *_NUMBERS_OF_KNOTS):
        degree = 1 if n_knots == 2 else 3
        if n_knots + degree - 1 >= len(curve.matrix):
            break
        inner = np.linspace(low, high, n_knots)
        knots = np.concatenate([[low] * degree, inner, [high] * degree])
        splines = Functions(curve.of, knots, np.eye(n_knots + degree - 1), curve.in_units)
        of_few = splines.at(places[few])
        heights = np.linalg.lstsq(of_few, wanted[few], rcond=1e-9)[0]
        # no splines come nearer to all places than the root mean square distance of the nearest ones to some
        if np.sqrt(np.mean((of_few @ heights - wanted[few]) ** 2)) > tolerance:
            continue
        of_places = splines.at(places)
        heights = np.linalg.lstsq(of_places, wanted, rcond=1e-9)[0]
        if np.abs(of_places @ heights - wanted).max() <= tolerance:
            return replace(splines, matrix=np.asarray(heights[:, None], np.float64))
    return curve


def _with_fewest_knots(line: Functions, tolerance: float) -> Functions:
    """Return a broken line with fewer knots, at most a tolerance away from it.

    The knot that is farthest from the line between two others enters as long as it is too far (Douglas & Peucker,
    "Algorithms for the reduction of the number of points required to represent a digitized line", 1973).
    """
    knots, heights = line.knots[1:-1], line.matrix[:, 0]
    used = [0, len(knots) - 1]
    while True:
        away = np.abs(np.interp(knots, knots[used], heights[used]) - heights)
        farthest = int(away.argmax())
        if away[farthest] <= tolerance:
            break
        used = sorted([*used, farthest])
    fewer = broken_line(line.of[0], knots[used], in_units=False)
    return fewer.combined(heights[used, None])


def design_of_model(
    model: CurveModel,
    family: Sequence[str],
    columns: Columns,
    scales: Mapping[bool, Mapping[str, LineScale]],
    known: Mapping[str, ColumnFunctions],
    sizes: CurveSizes,
) -> Design:
    """Return the functions of the parents under a model, in all rows.

    `family` are the parents in the order of the model, and `scales` those of probabilities and of own units. The
    functions are those that the search uses, `known` by column, for the places of the rows on these scales in place of
    their ranks. Where equal places leave fewer functions than the ranks had, the others have no coefficients.
    """
    n_levels = {name: len(of.matrix) for name, of in known.items() if isinstance(of, LevelFunctions)}
    functions, factors, widths, roughness = [], [], [], []
    order: list[int] = []
    place = 0
    for parent, numbers, of_noise, n_curves in zip(
        family, model.functions, model.widths, model.n_curves, strict=True
    ):
        first, place = place, place + len(numbers)
        levels = known[parent]
        if isinstance(levels, LevelFunctions):
            order += range(first, place)
            used, of_width = numbers, of_noise
            plain = indicators([parent], [n_levels[parent]])
            functions.append(plain.combined(levels.matrix[:, used]))
            factors.append(plain.combined(levels.factor_matrix))
            if of_width:
                widths.append(plain.combined(levels.matrix[:, of_width]))
                roughness.append(levels.roughness[of_width])
            continue
        places = columns.positions(parent, scales[False][parent])
        values = np.asarray(columns[parent], np.float64)
        scores = scores_of_parent(values, places)
        found = NumberFunctions(values, scores, sizes.per_column, has_units=sizes.has_units)
        smooth = functions_of_places(parent, found.smooth, scores, places)
        kept, used = _kept_numbers(numbers, n_curves, found)
        order += [first + k for k in kept]
        _, of_width = _kept_numbers(of_noise, n_curves, found)
        factors.append(smooth.combined(np.eye(smooth.size)[:, : found.n_factors]))
        functions += _curves(parent, used, found, smooth, scales[True][parent])
        widths += _curves(parent, of_width, found, smooth, scales[True][parent])
        roughness.append(found.roughness[of_width])
    pairs = list(dict.fromkeys((i, j) for i, _, j, _ in model.products.tolist()))
    chosen = sorted({v for pair in pairs for v in pair})
    number = {v: k for k, v in enumerate(chosen)}
    n_used = {v: min(1 + max(_numbers_of(model.products, v)), factors[v].size) for v in chosen}
    of_pairs = [factors[v].combined(np.eye(factors[v].size)[:, : n_used[v]]) for v in chosen]
    terms = Terms(tuple(functions), tuple(of_pairs), tuple((number[i], number[j]) for i, j in pairs))
    # a factor may have fewer functions in some pairs than in others
    precisions = {
        tuple(term): p for term, p in zip(model.products.tolist(), model.precisions[place:], strict=True)
    }
    of_products = [
        precisions.get((i, a, j, b), _NEVER)
        for i, j in pairs
        for a in range(n_used[i])
        for b in range(n_used[j])
    ]
    design = design_of_terms(
        terms, np.concatenate([model.precisions[order], np.array(of_products)]), columns, scales, n_levels
    )
    if not widths:
        return design
    of_widths = np.maximum(np.concatenate(roughness), _LEAST_WIDTH_PRECISION)
    return replace(design, widths=design_of_terms(Terms(tuple(widths)), of_widths, columns, scales, n_levels))


def scores_of_parent(values: NDArray[np.float64], places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the numbers of which functions of a parent's values are taken: its places, or else its normal scores.

    The search takes functions of normal scores at the mean ranks of equal values. Places on the scale of a continuous
    distribution are near them, unless many rows share a value: a quarter of the rows at the least value would stand
    where a single row does.
    """
    scores = normal_scores(values)[0]
    is_near = float(np.mean((scores - places) ** 2)) <= _MOST_SHIFT**2
    return places if is_near else scores


def functions_of_places(
    parent: str, smooth: SmoothFunctions, scores: NDArray[np.float64], places: NDArray[np.float64]
) -> Functions:
    """Return functions of the scores of a parent as functions of its places; linear between some if both differ."""
    if scores is places:
        return Functions((parent,), smooth.knots, smooth.matrix)
    knots, first = np.unique(places, return_index=True)
    of_knots = scores[first]
    even = np.linspace(of_knots[0], of_knots[-1], _MOST_KNOTS)
    # scores rise with places
    nearest = np.unique(np.searchsorted((of_knots[1:] + of_knots[:-1]) / 2, even))
    heights = smooth.of_scores(of_knots[nearest])
    return broken_line(parent, knots[nearest], in_units=False).combined(heights)


def _curves(
    parent: str, used: Sequence[int], found: NumberFunctions, smooth: Functions, in_units: LineScale
) -> list[Functions]:
    """Return some functions of a continuous parent: those of its ranks, and the one of its own units."""
    functions = []
    of_ranks = [function for function in used if function < smooth.size]
    if of_ranks == [0] and smooth.degree > 1:
        # a line needs no spline
        line = broken_line(parent, smooth.knots[[0, -1]], in_units=False)
        functions.append(line.combined(smooth.at(smooth.knots[[0, -1]])[:, :1]))
    elif of_ranks:
        functions.append(smooth.combined(np.eye(smooth.size)[:, of_ranks]))
    if len(of_ranks) < len(used):
        functions.append(_line_in_units(parent, found, in_units))
    return functions


def _kept_numbers(
    numbers: Sequence[int], n_curves: int, found: NumberFunctions
) -> tuple[list[int], list[int]]:
    """Return which functions of a model a column has at its places, and their numbers there.

    The model has `n_curves` functions of ranks, and the column's own units as the next one. Equal places have fewer.
    """
    known = {k: k for k in range(min(n_curves, found.n_curves))}
    if found.units is not None:
        known[n_curves] = found.n_curves
    elif 0 not in numbers:
        # curves are any function of so few values, and the line is the nearest
        known[n_curves] = 0
    kept = [k for k, of_model in enumerate(numbers) if of_model in known]
    return kept, [known[numbers[k]] for k in kept]


def _numbers_of(products: NDArray[np.int64], variable: int) -> list[int]:
    """Return the numbers of the factors of a variable in products."""
    return [int(a) for side in (0, 2) for a in products[products[:, side] == variable, side + 1]]


def _line_in_units(parent: str, functions: NumberFunctions, scale: LineScale) -> Functions:
    """Return the function of a column in its own units, which bends where values end that count in full."""
    assert functions.units is not None
    low, high = functions.units.ends
    ends = np.unique(
        scale.of_values(
            np.clip(np.array([scale.least, low, high, scale.greatest]), scale.least, scale.greatest)
        )
    )
    line = broken_line(parent, ends, in_units=True)
    return line.combined(functions.units.of_values(scale.values_of(ends))[:, None])


def design_of_terms(
    terms: Terms,
    precisions: NDArray[np.float64],
    columns: Columns,
    scales: Mapping[bool, Mapping[str, LineScale]],
    n_levels: Mapping[str, int],
) -> Design:
    """Return some terms in all rows, given the prior precisions of their coefficients."""
    of_rows = terms.of_rows(columns, scales, n_levels)
    means = of_rows.mean(axis=0)
    return Design(terms.functions, terms.factors, terms.products, of_rows - means, means, precisions)


class OwnScale:
    """A scale of a column around its effects, its transformation as of `FamilyEffects`, and the rows on it.

    `z`, float64 (n_rows,), are the places of the rows, and `least` is the least scale of noise around them.
    """

    def __init__(
        self,
        values: NDArray[np.float64],
        scale: LineScale,
        *,
        in_units: bool = False,
        transform: NDArray[np.float64] | None = None,
    ) -> None:
        self.in_units, self.transform = in_units, transform
        self.z = scale.of_values(values)
        self.least = least_scale(log_steps(values, scale))
        self._scale = scale
        self._slopes = scale.log_slope(values, self.z)
        self._ends = scale.ends_of_points(values)

    @property
    def n_parameters(self) -> int:
        """Number of points of a transformation."""
        return 0 if self.transform is None else self.transform.shape[1]

    def log_density(
        self, residuals: NDArray[np.float64], noise: NDArray[np.float64], freedom: float
    ) -> NDArray[np.float64]:
        """Return the log density of all rows in units of the column, given distances to sums and scales of noise."""
        freedom = min(freedom, len(self.z) - 1 + PRIOR_ROWS)
        means = self.z - residuals
        return log_density_around(self.z, means, noise, freedom, self._scale, self._ends) + self._slopes


def own_scales(
    model: CurveModel, values: NDArray[np.float64], scale: ProbabilityScale, in_units: UnitScale
) -> list[OwnScale]:
    """Return scales that a column may have: that of the model first, that of probabilities, and its own units."""
    plain = OwnScale(values, scale)
    if scale.shape.points:
        return [plain]
    units = OwnScale(values, in_units, in_units=True)
    if model.in_units:
        return [units, plain]
    if model.transform is None:
        return [plain, units]
    z = plain.z
    functions = SmoothFunctions(z, len(model.transform))
    places = np.linspace(z.min(), z.max(), _POINTS_OF_TRANSFORM)
    heights = functions.of_scores(places)[:, : len(model.transform)] @ model.transform
    if not (np.diff(heights) > 0).all():
        return [plain, units]
    moved = np.interp(z, places, heights)
    transform = np.array([places, (heights - moved.mean()) / moved.std()])
    moved_scale = TransformedScale(scale, *transform)
    return [OwnScale(values, moved_scale, transform=transform), plain, units]


def left_out_residuals(
    z: NDArray[np.float64], design: NDArray[np.float64], precisions: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ridge regressions of columns z (n, m) on a design (n, q), and residuals with each row left out, float64.

    `precisions` (q,) are those of the normal prior of the coefficients (q, m), relative to that of a residual. The
    residual of a row that is left out is e / (1 - h) with its residual e and leverage h (PRESS: Allen, "The
    relationship between variable selection and data augmentation", 1974).
    """
    moments = design.T @ design + np.diag(precisions)
    try:
        factor = scipy.linalg.cholesky(moments, lower=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        # weights of rows from 1 to 10^16 leave nothing but rounding of some directions
        ridge = _ROUNDING * np.diagonal(moments)
        factor = scipy.linalg.cholesky(moments + np.diag(ridge), lower=True, check_finite=False)
    # without the checks of SciPy's own functions, which take longer than the work
    coefficients, _ = scipy.linalg.lapack.dpotrs(factor, design.T @ z, lower=True)
    half, _ = scipy.linalg.lapack.dtrtrs(factor, design.T, lower=True)
    leverage = np.einsum("ji,ji->i", half, half)
    return coefficients, (z - design @ coefficients) / (1 - leverage)[:, None]


def fitted_effects(
    design: Design,
    parents: tuple[str, ...],
    groups: tuple[str, ...],
    columns: Columns,
    places: Mapping[str, NDArray[np.float64]],
    n_levels: Mapping[str, int],
    scales: Sequence[OwnScale],
    repeated: RepeatedValues,
) -> Member:
    """Return the posterior of a sum of effects: the mean of its coefficients, and noise as of left-out rows.

    Of the scales of the column and of normal and heavy-tailed noise, those count under which left-out rows are
    likeliest. The variance of the noise is that of residuals with each row left out, so that it includes what the
    coefficients do not know. Groups of rows, configurations of the discrete parents, have variances of their own, drawn
    towards that of all rows. Heavy tails weight rows as expectation and maximisation do (Lange, Little & Taylor,
    "Robust statistical modeling using the t distribution", 1989). Where repeated values would gain density, the noise
    is wider, or another scale of the column counts. Where the model has widths that follow the parents, and left-out
    rows gain by them, less one nat for each of their coefficients, they take the place of variances of groups. `places`
    are those of continuous parents on their scales.
    """
    n_rows = columns.n_rows
    n_groups = prod(n_levels[group] for group in groups)
    if n_groups * _ROWS_PER_GROUP > n_rows:
        n_groups = 1
    of_rows = np.zeros(n_rows, np.int64)
    if n_groups > 1:
        of_rows = joint_groups(
            [columns[group] for group in groups], [n_levels[group] for group in groups], n_rows
        )
    full = np.column_stack([np.ones(n_rows), design.columns])
    precisions = np.concatenate([[_INTERCEPT_PRECISION], design.precisions])
    coefficients, residuals = left_out_residuals(np.column_stack([own.z for own in scales]), full, precisions)

    def choice(among: Sequence[int]) -> tuple[int, float, Design | None]:
        """Return the scale, the degrees of freedom and the widths under which left-out rows are likeliest."""
        best, chosen, freedom, widths = -np.inf, among[0], np.inf, None
        kinds = [
            (k, tails, of_widths)
            for k in among
            for tails in (np.inf, *_FREEDOMS)
            for of_widths in ((None,) if design.widths is None else (None, design.widths))
        ]
        for k, tails, of_widths in kinds:
            noise = _noise(residuals[:, k], of_rows, n_groups, tails, of_widths)
            own = scales[k]
            logs = own.log_density(residuals[:, k], np.maximum(noise.of_rows, own.least), tails)
            value = float(logs.sum()) - own.n_parameters - (tails < np.inf) - len(noise.coefficients)
            is_first = k == among[0] and tails == np.inf and of_widths is None
            if value > best + (0.0 if is_first else LEAST_GAIN):
                best, chosen, freedom, widths = value, k, tails, of_widths
        return chosen, freedom, widths

    def fitted(chosen: int, freedom: float, widths: Design | None) -> _ScaledFit:
        """Return the fit on a scale of the column."""
        own, beta, left = scales[chosen], coefficients[:, chosen], residuals[:, chosen]
        noise = _noise(left, of_rows, n_groups, freedom, widths)
        for _ in range(_STEPS if freedom < np.inf or n_groups > 1 or widths is not None else 0):
            weights = float((noise.of_rows**2).mean()) / noise.of_rows**2
            if freedom < np.inf:
                weights = weights * (freedom + 1) / (freedom + (left / noise.of_rows) ** 2)
            root = np.sqrt(weights)
            of_step, of_left = left_out_residuals((own.z * root)[:, None], full * root[:, None], precisions)
            beta, left = of_step[:, 0], of_left[:, 0] / root
            noise = _noise(left, of_rows, n_groups, freedom, widths)
        least, is_wider = own.least, False
        for _ in range(_MOST_WIDER):
            left_out = own.log_density(left, np.maximum(noise.of_rows, least), freedom)
            # widths are those of all rows
            left_out -= len(noise.coefficients) / n_rows
            if not repeated.gain(left_out):
                break
            least, is_wider = max(least, noise.least) * _WIDER, True
        return _ScaledFit(own, beta, noise, freedom, widths, least, left_out, is_wider)

    remaining, fits, n_plain = list(range(len(scales))), [], 0
    while remaining and n_plain < _SCALES_TO_FIT:
        chosen, freedom, widths = choice(remaining)
        fit = fitted(chosen, freedom, widths)
        fits.append(fit)
        # a scale that is steep where values repeat stays so under any noise
        n_plain += not fit.is_wider
        remaining.remove(chosen)
    return max(fits, key=lambda fit: fit.worth).member(design, parents, groups, places)


@dataclass(frozen=True)
class _ScaledFit:
    """A fit on one of the scales of a column: coefficients, noise, and the log density of left-out rows.

    The noise is at least `least` wide, and `is_wider` says whether that is more than its residuals say.
    """

    scale: OwnScale
    coefficients: NDArray[np.float64]
    noise: _Noise
    freedom: float
    widths: Design | None
    least: float
    left_out: NDArray[np.float64]
    is_wider: bool

    @property
    def worth(self) -> float:
        """Log density of all left-out rows, less one nat for every parameter of the scale."""
        return float(self.left_out.sum()) - self.scale.n_parameters

    def member(
        self,
        design: Design,
        parents: tuple[str, ...],
        groups: tuple[str, ...],
        places: Mapping[str, NDArray[np.float64]],
    ) -> Member:
        """Return the sum of effects."""
        noise, least = self.noise, self.least
        tolerance = TOLERANCE * max(float(noise.scales.min()), least)
        terms, of_terms = design.effects(self.coefficients, places, tolerance)
        effects = FamilyEffects(
            parents,
            groups,
            terms,
            of_terms,
            np.maximum(noise.scales, least) if self.widths is None else noise.scales,
            np.full(len(noise.scales), min(self.freedom, len(self.left_out) - 1 + PRIOR_ROWS)),
            least,
            self.scale.in_units,
            self.scale.transform,
        )
        if self.widths is not None:
            # the mean log width is 0
            of_widths = np.concatenate([[0.0], noise.coefficients])
            width_terms, heights = self.widths.effects(of_widths, places, TOLERANCE)
            effects = replace(effects, width_terms=width_terms, width_coefficients=heights)
        return Member(effects, self.left_out)


@dataclass(frozen=True)
class _Noise:
    """Scales of the noise of groups of rows, and relative widths of rows with the coefficients of their logs."""

    scales: NDArray[np.float64]
    groups: NDArray[np.int64]
    relative: NDArray[np.float64]
    coefficients: NDArray[np.float64]

    @property
    def of_rows(self) -> NDArray[np.float64]:
        """Scales of all rows, float64 (n_rows,)."""
        return self.scales[self.groups] * self.relative

    @property
    def least(self) -> float:
        """Smallest scale that rows may have."""
        return float(self.scales.min() * self.relative.min())


def _noise(
    residuals: NDArray[np.float64],
    groups: NDArray[np.int64],
    n_groups: int,
    freedom: float,
    widths: Design | None,
) -> _Noise:
    """Return the noise of residuals: one scale per group, or widths that follow functions of the parents."""
    n_rows = len(residuals)
    if widths is None:
        scales = _group_scales(residuals, groups, n_groups, freedom)
        return _Noise(scales, groups, np.ones(n_rows), np.empty(0))
    coefficients = width_coefficients(residuals, widths.columns, widths.precisions, freedom)
    relative, of_one = relative_widths(widths.columns @ coefficients), np.zeros(n_rows, np.int64)
    return _Noise(_group_scales(residuals / relative, of_one, 1, freedom), of_one, relative, coefficients)


def width_coefficients(
    residuals: NDArray[np.float64],
    columns: NDArray[np.float64],
    precisions: NDArray[np.float64],
    freedom: float,
) -> NDArray[np.float64]:
    """Return the coefficients of the log width of residuals, float64 (n,), at their posterior mode.

    Steps of scoring, as the search takes them: the information on the coefficients is the same at all of their values
    (Harvey, "Estimating regression models with multiplicative heteroscedasticity", 1976), and the prior is relative to
    that of one row.
    """
    system = scipy.linalg.cho_factor(columns.T @ columns + np.diag(precisions), check_finite=False)
    information = 2.0 if freedom == np.inf else 2 * freedom / (freedom + 3)
    groups = np.zeros(len(residuals), np.int64)

    def level(coefficients: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the log posterior up to a constant, and the scores of the rows."""
        logs = columns @ coefficients
        standard = residuals / relative_widths(logs)
        scale = float(_group_scales(standard, groups, 1, freedom)[0])
        squares = (standard / scale) ** 2
        if freedom == np.inf:
            density, scores = -squares / 2, squares - 1
        else:
            density = -(freedom + 1) / 2 * np.log1p(squares / freedom)
            scores = (freedom + 1) * squares / (freedom + squares) - 1
        prior = information / 2 * float(precisions @ coefficients**2)
        return float((density - logs).sum()) - len(logs) * np.log(scale) - prior, scores

    present = np.zeros(columns.shape[1])
    value, scores = level(present)
    for _ in range(_WIDTH_STEPS):
        gradient = columns.T @ scores / information - precisions * present
        step = scipy.linalg.cho_solve(system, gradient, check_finite=False)
        for _ in range(_MOST_HALVINGS):
            changed, of_changed = level(present + step)
            if changed >= value:
                break
            step /= 2
        else:
            break
        present, value, scores = present + step, changed, of_changed
        if np.abs(columns @ step).max() < _LEAST_STEP:
            break
    return np.asarray(present, np.float64)


def _group_scales(
    residuals: NDArray[np.float64], groups: NDArray[np.int64], n_groups: int, freedom: float
) -> NDArray[np.float64]:
    """Return the scale of residuals in every group, float64 (n_groups,); see `fill_group_scales`."""
    counts, sums, scales = np.empty((3, n_groups))
    fill_group_scales(np.ascontiguousarray(residuals), groups, freedom, counts, sums, scales)
    return scales
