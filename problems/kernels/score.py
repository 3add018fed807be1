"""Kernels that count the rows of families and score them, as tables or as sums of smooth curves of the parents."""

from __future__ import annotations

from math import lgamma, log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.kernels.logits import (
    CONTINUED,
    ESTIMATED,
    MOST_PER_PARENT,
    MOST_TERMS,
    WHOLE,
    LogitData,
    LogitScratch,
    logit_gain,
    start_logit,
)
from gomea_bn.problems.kernels.systems import eliminate
from gomea_bn.problems.kernels.tails import (
    TailData,
    TailScratch,
    add_functions,
    fit_tails,
    refitted_gain,
    score_residuals,
    scores_of_functions,
)
from gomea_bn.problems.kernels.transforms import TransformData, TransformScratch, transform_gain
from gomea_bn.runtime.jit import kernel
from gomea_bn.runtime.kernels import bit_count

MOST_FUNCTIONS = 256
"""Largest number of functions of all parents of a column; a family with more is scored by its table."""
MOST_WITH_PRODUCTS = 128
"""Largest number of functions of all parents of a column together with products; a family with more has no products."""

# estimated nats by which a logit of lines or of curves is better without doubt
_LEAST_LEAD = 30.0

# share of the largest gain of a normal column that promises one of a transformed column
_PROMISING = 0.9

# kinds of score
LIKELIHOOD, DIRICHLET, BDEU, SMOOTHED, LEFT_OUT, LEFT_OUT_BEST = 0, 1, 2, 3, 4, 5
# log likelihoods under smoothed tables, with neither prices nor priors
MISFIT_KINDS = (SMOOTHED, LEFT_OUT, LEFT_OUT_BEST)

_HALF_LOG_TWO_PI = 0.9189385332046727


class CurveData(NamedTuple):
    """Cross products of M functions of N variables and of T targets per variable; without curves M is 0.

    Functions and targets are centred. A target is the column of a child on one of its scales. The functions of the
    variables come first, and then products of functions of two variables.
    """

    products: NDArray[np.float64]  # (M, M) of functions
    with_targets: NDArray[np.float64]  # (M, N, T) of functions and targets
    squares: NDArray[np.float64]  # (N, T) of every target with itself, and what no curve can explain
    unexplained: NDArray[np.float64]  # (N, T) squares that no curve can explain
    alone: NDArray[np.float64]  # (N, T) score of a target without parents in nats, -inf without a target
    first: NDArray[np.int64]  # (N + 1,) functions of variable i: first[i] to first[i + 1]
    pair: NDArray[np.int64]  # (N, N) first product of two variables, -1 without products
    n_products: int  # number of products of two variables
    precisions: NDArray[np.float64]  # (n_priors, M) prior precisions of coefficients, inf: coefficient 0
    variable: NDArray[np.int64]  # (n_views,) variable of a view
    child_key: NDArray[np.uint64]  # (N,) random words that hash a family apart from its bins
    parent_key: NDArray[np.uint64]  # (N,)
    half_rows: float  # half of the rows, with those of the prior
    logits: LogitData
    transforms: TransformData
    tails: TailData


class CurveScratch(NamedTuple):
    """One thread's work space; mutated."""

    functions: NDArray[np.int64]  # (n_most,)
    # (n_most, n_most + T + K) upper part of penalised products, the targets, and functions of the child
    system: NDArray[np.float64]
    least: NDArray[np.float64]  # (n_most,) of the pivots
    logits: LogitScratch
    transforms: TransformScratch
    tails: TailScratch


@kernel
def has_curves(curves: CurveData) -> bool:
    """Return whether any family may be scored by curves."""
    return curves.products.shape[0] > 0


@kernel
def curve_key(curves: CurveData, views: NDArray[np.int64], n_views: int) -> np.uint64:
    """Return the 64-bit key of a family apart from its bins, which does not depend on the order of the parents."""
    key = curves.child_key[curves.variable[views[n_views - 1]]]
    for v in range(n_views - 1):
        key += curves.parent_key[curves.variable[views[v]]]
    return key if key != np.uint64(0) else np.uint64(1)


@kernel
def _gather_functions(
    curves: CurveData, scratch: CurveScratch, views: NDArray[np.int64], n_views: int, prior: int
) -> int:
    """Fill ``scratch.functions`` with the functions of the parents under a prior, and return their number.

    -1 if there are more than fit.
    """
    size = 0
    for k in range(n_views - 1):
        parent = curves.variable[views[k]]
        for function in range(curves.first[parent], curves.first[parent + 1]):
            if curves.precisions[prior, function] < np.inf:
                if size == scratch.functions.shape[0]:
                    return -1
                scratch.functions[size] = function
                size += 1
    return size


@kernel
def _gather_products(
    curves: CurveData, scratch: CurveScratch, views: NDArray[np.int64], n_views: int, prior: int, size: int
) -> int:
    """Add the products of all pairs of parents to the `size` gathered functions, and return the number of all.

    None are added if there are more than fit.
    """
    most = min(scratch.functions.shape[0], MOST_WITH_PRODUCTS)
    n_curves = size
    for k in range(n_views - 1):
        for j in range(k):
            first = curves.pair[curves.variable[views[j]], curves.variable[views[k]]]
            if first < 0 or curves.precisions[prior, first] == np.inf:
                continue
            if size + curves.n_products > most:
                return n_curves
            for function in range(first, first + curves.n_products):
                scratch.functions[size] = function
                size += 1
    return size


@kernel
def _solve(curves: CurveData, scratch: CurveScratch, child: int, size: int, prior: int) -> None:
    """Factorise the penalised products of the gathered functions, and solve for the targets of a child.

    The diagonal of ``scratch.system`` then has the squares of the pivots, and row k ends with what function k explains
    of every target, in standard deviations of the residuals, and then of every function of the child that its
    transformations are made of. The first rows are also the solution for the first
    functions alone.
    """
    functions, system = scratch.functions, scratch.system
    n_targets = curves.alone.shape[1]
    n_transformed, own = curves.transforms.n_functions[child], curves.first[child]
    width = size + n_targets + n_transformed
    for i in range(size):
        row = functions[i]
        for j in range(i, size):
            system[i, j] = curves.products[row, functions[j]]
        system[i, i] += curves.precisions[prior, row]
        for t in range(n_targets):
            system[i, size + t] = curves.with_targets[row, child, t]
        for a in range(n_transformed):
            system[i, size + n_targets + a] = curves.products[row, own + a]
    for k in range(size):
        scratch.least[k] = curves.precisions[prior, functions[k]]
    eliminate(system, size, width, scratch.least)


@kernel
def _regress_levels(
    curves: CurveData, scratch: CurveScratch, views: NDArray[np.int64], n_views: int, prior: int
) -> int:
    """Regress positions of the levels of a discrete child on the functions of its parents, and start its logit there.

    Functions, prior precisions, positions and coefficients enter the work space. Return the number of functions; -1 if
    there are more than fit.
    """
    logits, work, functions = curves.logits, scratch.logits, scratch.functions
    child = curves.variable[views[n_views - 1]]
    size = 0
    for k in range(n_views - 1):
        parent = curves.variable[views[k]]
        last = min(curves.first[parent + 1], curves.first[parent] + MOST_PER_PARENT)
        for function in range(curves.first[parent], last):
            if curves.precisions[prior, function] < np.inf:
                if size == min(MOST_TERMS, functions.shape[0]):
                    return -1
                functions[size] = function
                size += 1
    n_levels, system = logits.n_levels[child], scratch.system
    for i in range(size):
        for j in range(i, size):
            system[i, j] = curves.products[functions[i], functions[j]]
        system[i, i] += curves.precisions[prior, functions[i]]
        for k in range(n_levels):
            system[i, size + k] = curves.products[functions[i], curves.first[child] + k]
        work.parameters[2, i + 1] = curves.precisions[prior, functions[i]]
    eliminate(system, size, size + n_levels, work.parameters[2, 1:])
    n_rows = logits.weight * logits.functions.shape[0]
    start_logit(logits, work, system, child, size, n_rows)
    for row in range(logits.functions.shape[0]):
        of_row, values = logits.functions[row], work.rows[row]
        values[0] = 1.0
        for i in range(size):
            values[i + 1] = of_row[functions[i]]
    return size


@kernel
def _logit_score(curves: CurveData, scratch: CurveScratch, views: NDArray[np.int64], n_views: int) -> float:
    """Return the score in nats of a family whose discrete child is a logit; -inf if it cannot be one.

    The better one of lines and curves counts. Of a single discrete parent a table says all.
    """
    child = curves.variable[views[n_views - 1]]
    if n_views == 2 and curves.logits.n_levels[curves.variable[views[0]]] > 0:
        return -np.inf
    logits, work = curves.logits, scratch.logits
    # some of the rows choose, unless they leave it open
    size = _regress_levels(curves, scratch, views, n_views, 0)
    of_lines = -np.inf if size < 0 else logit_gain(logits, work, child, size, ESTIMATED)
    size = _regress_levels(curves, scratch, views, n_views, 1)
    of_curves = -np.inf if size < 0 else logit_gain(logits, work, child, size, ESTIMATED)
    best = -np.inf
    if of_curves > of_lines - _LEAST_LEAD:
        best = logit_gain(logits, work, child, size, CONTINUED)
    if of_lines > of_curves - _LEAST_LEAD:
        size = _regress_levels(curves, scratch, views, n_views, 0)
        best = max(best, logit_gain(logits, work, child, size, WHOLE))
    return logits.alone[child] + best


@kernel
def _residual_moments(curves: CurveData, scratch: CurveScratch, child: int, size: int, n_solved: int) -> None:
    """Set the moments of the functions of a child given the first `n_solved` of `size` functions of its parents."""
    data, own = curves.transforms, curves.first[child]
    n_functions, first = data.n_functions[child], size + curves.alone.shape[1]
    moments = scratch.transforms.moments
    for a in range(n_functions):
        for b in range(a, n_functions):
            moments[a, b] = curves.products[own + a, own + b] + data.least[child, a, b]
        if a > 0:
            moments[a, a] += data.precisions[child, a]
    for k in range(n_solved):
        explained = scratch.system[k, first : first + n_functions]
        for a in range(n_functions):
            for b in range(a, n_functions):
                moments[a, b] -= explained[a] * explained[b]


@kernel
def _tail_gain(
    curves: CurveData, scratch: CurveScratch, child: int, size: int, n_solved: int, target: int, prior: int
) -> float:
    """Return what the residuals of a child gain by heavy tails, given the first `n_solved` of `size` functions.

    The child is on the scale of a target, or after its transformation, which follows the targets.
    """
    n_targets, own, system = curves.alone.shape[1], curves.first[child], scratch.system
    transform, beta, step = scratch.transforms.coefficients[3], scratch.tails.coefficients[0], scratch.tails.coefficients[1]
    n_functions, step_functions = curves.transforms.n_functions[child], scratch.transforms.functions
    tails, residuals = scratch.tails, scratch.tails.residuals
    for i in range(residuals.shape[0]):
        residuals[i] = curves.tails.own[child, i] if target == 1 else np.float32(0.0)
    least = curves.unexplained[child, min(target, n_targets - 1)]
    n_own = n_functions
    if target == 0:
        transform[0] = 1.0
        n_own = 1
    elif target == n_targets:
        least = 0.0
        for a in range(n_functions):
            for b in range(n_functions):
                of_pair = curves.transforms.least[child, min(a, b), max(a, b)]
                least += transform[a] * transform[b] * of_pair
    if target != 1:
        for a in range(n_own):
            step_functions[a] = own + a
        add_functions(curves.tails, tails, step_functions[:n_own], transform, 1.0)
    for k in range(n_solved - 1, -1, -1):
        value = 0.0
        if target == n_targets:
            for a in range(n_functions):
                value += transform[a] * system[k, size + n_targets + a]
        else:
            value = system[k, size + target]
        for j in range(k + 1, n_solved):
            value -= system[k, j] * beta[j]
        beta[k] = value / sqrt(system[k, k])
    functions = scratch.functions[:n_solved]
    add_functions(curves.tails, tails, functions, beta, -1.0)
    least = 0.5 * least / curves.half_rows
    n_rows = 2.0 * curves.half_rows
    gain, freedom = fit_tails(tails, least)
    if n_rows * gain < 0.5 * log(n_rows):
        return 0.0
    # a step from the coefficients of normal residuals to those of heavy-tailed ones (Bickel, "One-step Huber estimates
    # in the linear model", 1975): the information of both has the same form
    score_residuals(tails, freedom)
    scores_of_functions(curves.tails, tails, functions, step)
    for k in range(n_solved):
        value = curves.tails.weight * step[k] - curves.precisions[prior, functions[k]] * beta[k]
        for j in range(k):
            value -= system[j, k] * step[j]
        step[k] = value / sqrt(system[k, k])
    for k in range(n_solved - 1, -1, -1):
        value = step[k]
        for j in range(k + 1, n_solved):
            value -= system[k, j] * step[j]
        step[k] = value / sqrt(system[k, k])
    add_functions(curves.tails, tails, functions, step, -1.0)
    return n_rows * max(gain, refitted_gain(tails, freedom, least)) - 0.5 * log(n_rows)


@kernel
def curve_score(curves: CurveData, scratch: CurveScratch, views: NDArray[np.int64], n_views: int) -> float:
    """Return the score in nats of a family whose child is a sum of curves of its parents; -inf if it cannot be one.

    The best target and prior count, with products of parents or without. The costs of edges and cuts are not included.
    `views` are as of `family_score`.
    """
    child = curves.variable[views[n_views - 1]]
    if curves.logits.n_levels[child] > 0 and n_views > 1:
        return _logit_score(curves, scratch, views, n_views)
    n_targets = curves.alone.shape[1]
    best = -np.inf
    for t in range(n_targets):
        best = max(best, curves.alone[child, t])
    if best == -np.inf or n_views == 1:
        return -np.inf
    is_transformed = curves.transforms.n_functions[child] > 0
    transform = scratch.transforms.coefficients[3]
    most_of_first = 0.0
    best, best_t, best_prior, best_solved = -np.inf, 0, 0, 0
    size, prior = 0, 0
    for p in range(curves.precisions.shape[0]):
        n_curves = _gather_functions(curves, scratch, views, n_views, p)
        if n_curves < 0:
            continue
        prior = p
        size = _gather_products(curves, scratch, views, n_views, prior, n_curves)
        _solve(curves, scratch, child, size, prior)
        for t in range(n_targets):
            before = curves.squares[child, t]
            after = before
            # half of ln(|prior precision| / |posterior precision|), relative to the variance of the residuals
            occam = 0.0
            for k in range(size):
                pivot, explained = scratch.system[k, k], scratch.system[k, size + t]
                occam += 0.5 * log(curves.precisions[prior, scratch.functions[k]] / pivot)
                after -= explained * explained
                if k == n_curves - 1 or k == size - 1:
                    left = max(after, curves.unexplained[child, t])
                    gain = occam + curves.half_rows * log(before / left)
                    score = curves.alone[child, t] + gain
                    if score > best:
                        best, best_t, best_prior, best_solved = score, t, prior, k + 1
                    if t == 0 and is_transformed and gain > _PROMISING * most_of_first:
                        most_of_first = max(most_of_first, gain)
                        _residual_moments(curves, scratch, child, size, k + 1)
                        gain = occam + transform_gain(
                            curves.transforms, scratch.transforms, child, 2.0 * curves.half_rows, before
                        )
                        score = curves.alone[child, t] + gain
                        if score > best:
                            best, best_t, best_prior, best_solved = score, n_targets, prior, k + 1
                            for a in range(curves.transforms.n_functions[child]):
                                transform[a] = scratch.transforms.coefficients[0, a]
    if best == -np.inf or curves.tails.cells.shape[1] == 0:
        return best
    if best_prior != prior:
        size = _gather_functions(curves, scratch, views, n_views, best_prior)
        if best_solved > size:
            size = _gather_products(curves, scratch, views, n_views, best_prior, size)
        _solve(curves, scratch, child, size, best_prior)
    return best + _tail_gain(curves, scratch, child, size, best_solved, best_t, best_prior)


class ScoreRule(NamedTuple):
    """How counts become a score in nats."""

    kind: int  # LIKELIHOOD, DIRICHLET, BDEU, SMOOTHED, LEFT_OUT or LEFT_OUT_BEST
    weight: float  # nats per free parameter (LIKELIHOOD)
    # pseudo-count per cell (DIRICHLET) or per table row (SMOOTHED, LEFT_OUT), equivalent sample size (BDEU)
    prior: float
    x_log_x: NDArray[np.float64]  # (n_rows + 1,)
    log_rising: NDArray[np.float64]  # (n_rows + 1,) lnG(prior + c) - lnG(prior) (DIRICHLET)
    edge_cost: float = 0.0  # nats per parent
    # whether gains on the rows without missing values are multiplied to the number of all rows
    extrapolates: bool = True
    completions: float = 1.0  # completions of every row, which count as one row together


@kernel
def stirling_lgamma(x: float) -> float:
    """Return ln Gamma(x) for x >= 16 with an absolute error below 1e-12."""
    inverse = 1.0 / x
    square = inverse * inverse
    series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)))
    return (x - 0.5) * log(x) - x + _HALF_LOG_TWO_PI + series


@kernel
def _sum_log_rising(
    counts: NDArray[np.int32], n_rows_of_table: int, width: int, prior: float, by_row: bool
) -> float:
    """Return the sum over cells (or over row totals) of lnG(prior + count) - lnG(prior).

    Small counts are multiplied into one running product, so that most cells need no logarithm.
    """
    total = 0.0
    product = 1.0
    lgamma_prior = lgamma(prior)
    step = 1 if by_row else width
    for row in range(n_rows_of_table):
        for k in range(step):
            if by_row:
                count = 0
                for c in range(width):
                    count += counts[row * width + c]
            else:
                count = counts[row * width + k]
            if count == 0:
                continue
            if count < 16:
                for c in range(count):
                    product *= prior + c
                if product > 1e200 or product < 1e-200:
                    total += log(product)
                    product = 1.0
            else:
                total += stirling_lgamma(prior + count) - lgamma_prior
    return total + log(product)


@kernel
def _smoothed_log_likelihood(
    counts: NDArray[np.int32], n_observed: int, r: int, prior: float, n_left_out: float
) -> float:
    """Return the log likelihood of an (n_observed, r) count table under its own smoothed probabilities, in nats.

    P(cell) = (n_cell - n_left_out + prior / r) / (n_row - n_left_out + prior), as in the tables of a learned network.
    With n_left_out = 1 every row has its probability under the counts of the others, with 0 under all counts.
    """
    share = prior / r
    total = 0.0
    for j in range(n_observed):
        row = 0
        for k in range(j * r, (j + 1) * r):
            count = counts[k]
            if count > 0:
                row += count
                total += count * log(count - n_left_out + share)
        if row > 0:
            total -= row * log(row - n_left_out + prior)
    return total


@kernel
def _left_out_log_likelihoods(
    counts: NDArray[np.int32], n_observed: int, r: int
) -> tuple[float, float, float, float]:
    """Return the log likelihoods of an (n_observed, r) count table with 1, 4, 16 and 64 rows of smoothing, in nats.

    Every row has its probability under the counts of the others, P(cell) = (n_cell - 1 + amount * base) / (n_row - 1 +
    amount). The base is the distribution of the child alone, also without the row and with one pseudo-count.
    """
    with_1, with_4, with_16, with_64 = 0.0, 0.0, 0.0, 0.0
    n_rows = 0
    for cell in range(n_observed * r):
        n_rows += counts[cell]
    for k in range(r):
        marginal = 0
        for j in range(n_observed):
            marginal += counts[j * r + k]
        base = (marginal - 1.0 + 1.0 / r) / n_rows
        for j in range(n_observed):
            count = counts[j * r + k]
            if count > 0:
                others = count - 1.0
                with_1 += count * log(others + base)
                with_4 += count * log(others + 4.0 * base)
                with_16 += count * log(others + 16.0 * base)
                with_64 += count * log(others + 64.0 * base)
    for j in range(n_observed):
        row = 0
        for k in range(j * r, (j + 1) * r):
            row += counts[k]
        if row > 0:
            others = row - 1.0
            with_1 -= row * log(others + 1.0)
            with_4 -= row * log(others + 4.0)
            with_16 -= row * log(others + 16.0)
            with_64 -= row * log(others + 64.0)
    return with_1, with_4, with_16, with_64


@kernel
def _best_left_out_log_likelihood(counts: NDArray[np.int32], n_observed: int, r: int) -> float:
    """Return the largest of the log likelihoods of `_left_out_log_likelihoods`, in nats."""
    with_1, with_4, with_16, with_64 = _left_out_log_likelihoods(counts, n_observed, r)
    return max(max(with_1, with_4), max(with_16, with_64))


@kernel
def best_amount(counts: NDArray[np.int32], n_observed: int, r: int) -> float:
    """Return the rows of smoothing with the largest of the log likelihoods of `_left_out_log_likelihoods`."""
    with_1, with_4, with_16, with_64 = _left_out_log_likelihoods(counts, n_observed, r)
    best, amount = with_1, 1.0
    if with_4 > best:
        best, amount = with_4, 4.0
    if with_16 > best:
        best, amount = with_16, 16.0
    return 64.0 if with_64 > best else amount


@kernel
def score_counts(
    counts: NDArray[np.int32], n_observed: int, configurations: float, r: int, rule: ScoreRule
) -> float:
    """Return the score in nats of a (n_observed, r) count table out of `configurations` parent configurations."""
    total = 0.0
    if rule.kind == LIKELIHOOD:
        table = rule.x_log_x
        for j in range(n_observed):
            row = 0
            cells = 0.0
            for k in range(j * r, (j + 1) * r):
                row += counts[k]
                cells += table[counts[k]]
            total += cells - table[row]
        return total - rule.weight * configurations * (r - 1)
    if rule.kind == SMOOTHED:
        return _smoothed_log_likelihood(counts, n_observed, r, rule.prior, 0.0)
    if rule.kind == LEFT_OUT:
        return _smoothed_log_likelihood(counts, n_observed, r, rule.prior, 1.0)
    if rule.kind == LEFT_OUT_BEST:
        return _best_left_out_log_likelihood(counts, n_observed, r)
    if rule.kind == DIRICHLET:
        rising = rule.log_rising
        row_prior = rule.prior * r
        for j in range(n_observed):
            for k in range(j * r, (j + 1) * r):
                total += rising[counts[k]]
        return total - _sum_log_rising(counts, n_observed, r, row_prior, True)
    row_prior = rule.prior / configurations
    cells = _sum_log_rising(counts, n_observed, r, row_prior / r, False)
    return cells - _sum_log_rising(counts, n_observed, r, row_prior, True)


@kernel
def expected_score(
    counts: NDArray[np.int32] | NDArray[np.int64],
    n_observed: int,
    configurations: float,
    r: int,
    rule: ScoreRule,
    weight: float,
) -> float:
    """Return the score of `score_counts` for counts that are multiplied by a weight."""
    total = 0.0
    prior = rule.prior
    if rule.kind == BDEU:
        prior = rule.prior / configurations / r
    of_cell, of_table_row = lgamma(prior), lgamma(r * prior)
    for j in range(n_observed):
        of_row = 0.0
        for k in range(j * r, (j + 1) * r):
            if counts[k] > 0:
                expected = weight * counts[k]
                of_row += expected
                if rule.kind == LIKELIHOOD:
                    total += expected * log(expected)
                else:
                    total += lgamma(prior + expected) - of_cell
        if of_row > 0.0:
            if rule.kind == LIKELIHOOD:
                total -= of_row * log(of_row)
            else:
                total -= lgamma(r * prior + of_row) - of_table_row
    if rule.kind == LIKELIHOOD:
        total -= rule.weight * configurations * (r - 1)
    return total


MISSING = 255
"""Code of a missing value as a byte; codes of levels and bins are smaller."""


@kernel
def count_available(
    codes: NDArray[np.uint8],
    views: NDArray[np.int64],
    cardinality: NDArray[np.int64],
    n_views: int,
    cells: int,
    joint: NDArray[np.uint16],
    is_complete: NDArray[np.uint8],
    counts: NDArray[np.int32],
) -> int:
    """Count joint configurations of `views`, the last one fastest, into ``counts[:cells]``; return the number of rows.

    Rows in which a view is missing do not count. `joint` and `is_complete` are work space for a block of rows. An
    incomplete row adds 0 to the first cell, so that no branch depends on the data.
    """
    n_rows = codes.shape[1]
    block = joint.shape[0]
    counts[:cells] = 0
    n_complete = 0
    for start in range(0, n_rows, block):
        m = min(block, n_rows - start)
        joint[:m] = 0
        is_complete[:m] = 1
        for v in range(n_views):
            column = codes[views[v], start : start + m]
            r = np.uint16(cardinality[views[v]])
            for i in range(m):
                joint[i] = np.uint16(joint[i] * r + column[i])
                is_complete[i] &= np.uint8(column[i] != MISSING)
        for i in range(m):
            counts[np.int64(joint[i]) * np.int64(is_complete[i])] += np.int32(is_complete[i])
            n_complete += np.int64(is_complete[i])
    return n_complete


@kernel
def count_available_sparsely(
    codes: NDArray[np.uint8],
    views: NDArray[np.int64],
    cardinality: NDArray[np.int64],
    n_views: int,
    left_out: int,
    slots: NDArray[np.int64],
    slot_keys: NDArray[np.int64],
    counts: NDArray[np.int32],
) -> tuple[int, int]:
    """Count into a table of the *observed* parent configurations; return how many there are, and the number of rows.

    Rows in which a view is missing do not count. The parent at position `left_out` (-1 for none) decides which rows
    count, but is no part of the configuration. See `count_sparse` for the layout.
    """
    r = cardinality[views[n_views - 1]]
    mask = np.int64(slots.shape[0] - 1)
    slots[:] = 0
    observed = 0
    n_complete = 0
    for i in range(codes.shape[1]):
        key = np.int64(0)
        complete = True
        for v in range(n_views):
            code = codes[views[v], i]
            if code == MISSING:
                complete = False
                break
            if v != left_out and v < n_views - 1:
                key = key * cardinality[views[v]] + np.int64(code)
        if not complete:
            continue
        n_complete += 1
        mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
        slot = np.int64(mixed >> np.uint64(33)) & mask
        while slots[slot] != 0 and slot_keys[slot] != key:
            slot = (slot + 1) & mask
        if slots[slot] == 0:
            slot_keys[slot] = key
            counts[observed * r : (observed + 1) * r] = 0
            observed += 1
            slots[slot] = observed
        counts[(slots[slot] - 1) * r + np.int64(codes[views[n_views - 1], i])] += 1
    return observed, n_complete


@kernel
def sum_over_parent(
    counts: NDArray[np.int32], cells: int, card: int, stride: int, sums: NDArray[np.int32]
) -> None:
    """Fill ``sums[: cells / card]`` with the counts summed over the values of a parent.

    `stride` is the number of cells between neighbouring values of the parent.
    """
    span = stride * card
    for outer in range(cells // span):
        for inner in range(stride):
            total = np.int32(0)
            for value in range(card):
                total += counts[outer * span + value * stride + inner]
            sums[outer * stride + inner] = total


class FamilyCache(NamedTuple):
    """Open-addressing table from family key to score; key 0 means empty."""

    keys: NDArray[np.uint64]  # (capacity,), a power of two
    scores: NDArray[np.float64]
    used: NDArray[np.int64]  # (1,)


@kernel
def cache_slot(cache: FamilyCache, key: np.uint64) -> int:
    """Return the slot that holds `key`, or the empty one where it belongs, or -1 if neither is found."""
    mask = cache.keys.shape[0] - 1
    slot = np.int64(key >> np.uint64(20)) & mask
    for _ in range(64):
        stored = cache.keys[slot]
        if stored == key or stored == np.uint64(0):
            return slot
        slot = (slot + 1) & mask
    return -1


@kernel
def cache_insert(cache: FamilyCache, key: np.uint64, score: float) -> None:
    """Store a score; in a full neighbourhood the first slot is overwritten, so the table stays bounded."""
    slot = cache_slot(cache, key)
    if slot < 0:
        slot = np.int64(key >> np.uint64(20)) & (cache.keys.shape[0] - 1)
    elif cache.keys[slot] == np.uint64(0):
        cache.used[0] += 1
    cache.keys[slot] = key
    cache.scores[slot] = score


@kernel
def cache_merge(target: FamilyCache, source: FamilyCache) -> None:
    """Insert every entry of `source` into `target`, in slot order."""
    for slot in range(source.keys.shape[0]):
        if source.keys[slot] != np.uint64(0):
            cache_insert(target, source.keys[slot], source.scores[slot])


# slots of `ScoreScratch.statistics`
FAMILIES_SCORED, CACHE_HITS = 0, 1

# smallest improvement of a score that counts, relative to the score's size or in nats: smaller ones are rounding,
# and would keep a search from ending
LEAST_GAIN = 1e-10
BLOCK = 2048
# members with several values of a family whose configurations 64-bit integers can number
MOST_MEMBERS = 64
# the price of a family on completed rows grows by this power of the number of rows per observed row
_PRICE_POWER = 0.25


class RowData(NamedTuple):
    """The rows as bin codes; a view is one (variable, policy) pair."""

    codes: NDArray[np.uint8]  # (n_views, n_rows)
    cardinality: NDArray[np.int64]  # (n_views,)
    constant: NDArray[np.float64]  # (n_views,) nats: minus the rows' log widths, minus the policy's own cost
    own_cost: NDArray[np.float64]  # (n_views,) nats: the policy's own cost
    child_key: NDArray[np.uint64]  # (n_views,) random words that hash a family
    parent_key: NDArray[np.uint64]  # (n_views,)
    curves: CurveData
    has_missing: NDArray[np.bool_]  # (n_views,) whether some codes are MISSING
    # (n_views, n_words) which rows had a value before they were completed, a bit per row; no words without completion
    observed: NDArray[np.uint64]


class ScoreScratch(NamedTuple):
    """One thread's work space; mutated."""

    joint: NDArray[np.uint16]  # (BLOCK,)
    counts: NDArray[np.int32]
    slots: NDArray[np.int64]  # sparse counting: hash slot -> parent configuration's number + 1
    slot_keys: NDArray[np.int64]
    is_complete: NDArray[np.uint8]  # (BLOCK,)
    sums: NDArray[np.int32]  # counts summed over one parent
    members: NDArray[np.int64]  # (MOST_MEMBERS,) views of a family, fewer and fewer
    statistics: NDArray[np.int64]  # (2,) FAMILIES_SCORED and CACHE_HITS
    curves: CurveScratch


@kernel
def count_dense(
    codes: NDArray[np.uint8],
    views: NDArray[np.int64],
    cardinality: NDArray[np.int64],
    n_views: int,
    cells: int,
    n_tables: int,
    scratch: ScoreScratch,
) -> None:
    """Count joint configurations of `views`, the last one fastest, into ``scratch.counts[:cells]``.

    The joint codes of a block are formed by vector code first. Four tables avoid store-to-load stalls when
    consecutive rows hit the same cell.
    """
    joint, counts = scratch.joint, scratch.counts
    n_rows = codes.shape[1]
    counts[: n_tables * cells] = 0
    for start in range(0, n_rows, BLOCK):
        m = min(BLOCK, n_rows - start)
        first = codes[views[0], start : start + m]
        for i in range(m):
            joint[i] = first[i]
        for v in range(1, n_views):
            column = codes[views[v], start : start + m]
            r = np.uint16(cardinality[views[v]])
            for i in range(m):
                joint[i] = np.uint16(joint[i] * r + column[i])
        if n_tables == 4:
            paired = m // 4 * 4
            for i in range(0, paired, 4):
                counts[joint[i]] += 1
                counts[cells + joint[i + 1]] += 1
                counts[2 * cells + joint[i + 2]] += 1
                counts[3 * cells + joint[i + 3]] += 1
            for i in range(paired, m):
                counts[joint[i]] += 1
        else:
            for i in range(m):
                counts[joint[i]] += 1
    if n_tables == 4:
        for c in range(cells):
            counts[c] += counts[cells + c] + counts[2 * cells + c] + counts[3 * cells + c]


@kernel
def count_sparse(
    codes: NDArray[np.uint8],
    views: NDArray[np.int64],
    cardinality: NDArray[np.int64],
    n_views: int,
    scratch: ScoreScratch,
) -> int:
    """Count into a table of the *observed* parent configurations only; returns how many there are.

    ``scratch.counts`` then holds (n_observed, r) counts, configurations in order of first appearance.
    """
    counts, slots, slot_keys = scratch.counts, scratch.slots, scratch.slot_keys
    n_rows = codes.shape[1]
    r = cardinality[views[n_views - 1]]
    mask = np.int64(slots.shape[0] - 1)
    slots[:] = 0
    observed = 0
    child = codes[views[n_views - 1]]
    for i in range(n_rows):
        key = np.int64(0)
        for v in range(n_views - 1):
            key = key * cardinality[views[v]] + np.int64(codes[views[v], i])
        mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
        slot = np.int64(mixed >> np.uint64(33)) & mask
        while slots[slot] != 0 and slot_keys[slot] != key:
            slot = (slot + 1) & mask
        if slots[slot] == 0:
            slot_keys[slot] = key
            base = observed * r
            for c in range(r):
                counts[base + c] = 0
            observed += 1
            slots[slot] = observed
        counts[(slots[slot] - 1) * r + np.int64(child[i])] += 1
    return observed


@kernel
def configuration_number(scratch: ScoreScratch, key: int) -> int:
    """Return the number of a parent configuration in `count_sparse`; -1 if no row has it."""
    mask = np.int64(scratch.slots.shape[0] - 1)
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64(mixed >> np.uint64(33)) & mask
    while scratch.slots[slot] != 0:
        if scratch.slot_keys[slot] == key:
            return scratch.slots[slot] - 1
        slot = (slot + 1) & mask
    return -1


@kernel
def _completed_weight(rows: RowData, rule: ScoreRule, views: NDArray[np.int64], n_views: int) -> float:
    """Return the weight of a family's counts on completed rows: the fourth root of the share of its observed rows.

    In these rows all its members had values before the rows were completed.
    """
    n_observed = 0
    for word in range(rows.observed.shape[1]):
        common = rows.observed[views[0], word]
        for v in range(1, n_views):
            common &= rows.observed[views[v], word]
        n_observed += bit_count(common)
    return (max(n_observed, 1) * rule.completions / rows.codes.shape[1]) ** _PRICE_POWER


@kernel
def n_configurations(rows: RowData, views: NDArray[np.int64], n_views: int) -> float:
    """Return the number of parent configurations of a family, whose child's view comes last."""
    configurations = 1.0
    for v in range(n_views - 1):
        configurations *= rows.cardinality[views[v]]
    return configurations


@kernel
def is_dense(cells: float, n_rows: int) -> bool:
    """Return whether a table of `cells` cells is counted cell by cell rather than by observed configurations."""
    return cells <= 65536.0 and cells <= 8.0 * n_rows + 1024.0


@kernel
def _least_gain(
    rows: RowData, rule: ScoreRule, scratch: ScoreScratch, n_members: int
) -> tuple[int, float, int]:
    """Return the parent in ``scratch.members`` that gains least, its gain in nats, and the number of complete rows.

    The child comes last. The gain of a parent is the score of the child given all parents minus that given the other
    parents, on the rows in which all members are observed. Without parents the position is -1, and the "gain" is the
    score. Of equal gains the first counts.
    """
    members, counts = scratch.members, scratch.counts
    r = rows.cardinality[members[n_members - 1]]
    configurations = n_configurations(rows, members, n_members)
    cells = configurations * r
    dense = is_dense(cells, rows.codes.shape[1])
    whole = np.int64(cells) if dense else 0
    if dense:
        observed = np.int64(configurations)
        n_complete = count_available(
            rows.codes,
            members,
            rows.cardinality,
            n_members,
            whole,
            scratch.joint,
            scratch.is_complete,
            counts,
        )
    else:
        observed, n_complete = count_available_sparsely(
            rows.codes, members, rows.cardinality, n_members, -1, scratch.slots, scratch.slot_keys, counts
        )
    score = score_counts(counts, observed, configurations, r, rule)
    weakest, least = -1, score
    stride = whole
    for p in range(n_members - 1):
        card = rows.cardinality[members[p]]
        fewer = configurations / card
        if dense:
            stride //= card
            sum_over_parent(counts, whole, card, stride, scratch.sums)
            without = score_counts(scratch.sums, np.int64(fewer), fewer, r, rule)
        else:
            observed, _ = count_available_sparsely(
                rows.codes,
                members,
                rows.cardinality,
                n_members,
                p,
                scratch.slots,
                scratch.slot_keys,
                counts,
            )
            without = score_counts(counts, observed, fewer, r, rule)
        gain = score - without
        if weakest < 0 or gain < least - LEAST_GAIN * max(1.0, abs(score)):
            weakest, least = p, gain
    return weakest, least, n_complete


@kernel
def _available_score(
    rows: RowData, rule: ScoreRule, scratch: ScoreScratch, views: NDArray[np.int64], n_views: int
) -> float:
    """Return the score in nats of a family with missing values: a sum of gains, each on the rows that have its members.

    The parent that gains least, given the others, on the rows where all members are observed, is removed; then the next
    one from the smaller family, until none is left. A gain, less the cost of an edge, is multiplied by the number of
    all rows per complete row. So a parent is always judged on one set of rows. Without missing values the sum is the
    score of the family.
    """
    members = scratch.members
    n_rows = rows.codes.shape[1]
    n_members = 0
    for v in range(n_views):
        # a column with one value gains nothing; only so many of the others are numbered
        if v == n_views - 1 or n_views <= MOST_MEMBERS or rows.cardinality[views[v]] > 1:
            members[n_members] = views[v]
            n_members += 1
    total = rows.constant[views[n_views - 1]] - rule.edge_cost * (n_views - n_members)
    while True:
        weakest, gain, n_complete = _least_gain(rows, rule, scratch, n_members)
        weight = n_rows / max(n_complete, 1) if rule.extrapolates else 1.0
        if weakest < 0:
            return total + weight * gain
        total += weight * (gain - rule.edge_cost)
        for v in range(weakest, n_members - 1):
            members[v] = members[v + 1]
        n_members -= 1


@kernel
def family_score(
    rows: RowData, rule: ScoreRule, scratch: ScoreScratch, views: NDArray[np.int64], n_views: int
) -> float:
    """Return the uncached score in nats of a family by its table.

    `views` holds the parents' views in the order of their variables, then the child's; (n_views,), int64.
    """
    scratch.statistics[FAMILIES_SCORED] += 1
    for v in range(n_views):
        if rows.has_missing[views[v]]:
            return _available_score(rows, rule, scratch, views, n_views)
    n_rows = rows.codes.shape[1]
    r = rows.cardinality[views[n_views - 1]]
    configurations = n_configurations(rows, views, n_views)
    cells = configurations * r
    if is_dense(cells, n_rows):
        whole = np.int64(cells)
        n_tables = 4 if whole * 4 <= n_rows else 1
        count_dense(rows.codes, views, rows.cardinality, n_views, whole, n_tables, scratch)
        observed = np.int64(configurations)
    else:
        observed = count_sparse(rows.codes, views, rows.cardinality, n_views, scratch)
    if rows.observed.shape[1] > 0:
        weight = _completed_weight(rows, rule, views, n_views)
        score = expected_score(scratch.counts, observed, configurations, r, rule, weight / rule.completions)
        return (score - rule.edge_cost * (n_views - 1)) / weight
    score = score_counts(scratch.counts, observed, configurations, r, rule)
    return score + rows.constant[views[n_views - 1]] - rule.edge_cost * (n_views - 1)


@kernel
def family_key(rows: RowData, views: NDArray[np.int64], n_views: int) -> np.uint64:
    """Return the 64-bit key of a family, which does not depend on the order of the parents."""
    key = rows.child_key[views[n_views - 1]]
    for v in range(n_views - 1):
        key += rows.parent_key[views[v]]
    return key if key != np.uint64(0) else np.uint64(1)


@kernel
def best_score(
    rows: RowData, rule: ScoreRule, scratch: ScoreScratch, views: NDArray[np.int64], n_views: int
) -> float:
    """Return the uncached score in nats of a family by its table or by curves, whichever is better."""
    score = family_score(rows, rule, scratch, views, n_views)
    if has_curves(rows.curves):
        of_curves = curve_score(rows.curves, scratch.curves, views, n_views)
        score = max(score, of_curves - rule.edge_cost * (n_views - 1) - rows.own_cost[views[n_views - 1]])
    return score


@kernel
def _cached_curve_score(
    rows: RowData,
    scratch: ScoreScratch,
    shared: FamilyCache,
    writable: FamilyCache,
    views: NDArray[np.int64],
    n_views: int,
) -> float:
    """Return the score by curves from the shared or the `writable` cache, where it is the same for all bins."""
    key = curve_key(rows.curves, views, n_views)
    slot = cache_slot(shared, key)
    if slot >= 0 and shared.keys[slot] == key:
        return shared.scores[slot]
    slot = cache_slot(writable, key)
    if slot >= 0 and writable.keys[slot] == key:
        return writable.scores[slot]
    score = curve_score(rows.curves, scratch.curves, views, n_views)
    cache_insert(writable, key, score)
    return score


@kernel
def cached_family_score(
    rows: RowData,
    rule: ScoreRule,
    scratch: ScoreScratch,
    shared: FamilyCache,
    writable: FamilyCache,
    views: NDArray[np.int64],
    n_views: int,
) -> float:
    """Return a family's score, by its table or by curves, from the shared or the `writable` cache.

    A new score is computed and enters the latter.
    """
    key = family_key(rows, views, n_views)
    slot = cache_slot(shared, key)
    if slot >= 0 and shared.keys[slot] == key:
        scratch.statistics[CACHE_HITS] += 1
        return shared.scores[slot]
    slot = cache_slot(writable, key)
    if slot >= 0 and writable.keys[slot] == key:
        scratch.statistics[CACHE_HITS] += 1
        return writable.scores[slot]
    score = family_score(rows, rule, scratch, views, n_views)
    if has_curves(rows.curves):
        of_curves = _cached_curve_score(rows, scratch, shared, writable, views, n_views)
        score = max(score, of_curves - rule.edge_cost * (n_views - 1) - rows.own_cost[views[n_views - 1]])
    cache_insert(writable, key, score)
    return score


@kernel
def score_families(
    rows: RowData,
    rule: ScoreRule,
    scratch: ScoreScratch,
    shared: FamilyCache,
    writable: FamilyCache,
    offsets: NDArray[np.int64],
    views: NDArray[np.int64],
    scores: NDArray[np.float64],
) -> None:
    """Fill `scores` (n_families,) for families in compressed rows: ``views[offsets[f]:offsets[f + 1]]``, child last.

    With an empty `writable` table (capacity 0) every family is counted, and nothing is cached.
    """
    for f in range(scores.shape[0]):
        family = views[offsets[f] : offsets[f + 1]]
        if writable.keys.shape[0] == 0:
            scores[f] = best_score(rows, rule, scratch, family, family.shape[0])
        else:
            scores[f] = cached_family_score(rows, rule, scratch, shared, writable, family, family.shape[0])
