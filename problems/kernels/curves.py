"""Kernels that score columns as sums of smooth curves of their parents.

A continuous column, on one of its scales or after an increasing transformation, is a sum of curves and of noise that
may have heavy tails, or widths that follow the parents. A discrete column is a logit of such a sum, and a count has one
as the logarithm of its mean.
"""

from __future__ import annotations

from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.kernels.counts import (
    CONTINUED,
    ESTIMATED,
    WHOLE,
    CountData,
    CountScratch,
    count_gain,
)
from gomea_bn.problems.kernels.logits import (
    MOST_TERMS,
    LogitData,
    LogitScratch,
    logit_gain,
    may_have_several_indices,
    several_indices_gain,
    start_logit,
)
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
from gomea_bn.problems.kernels.widths import WidthScratch, list_forms, width_gain
from gomea_bn.runtime.jit import kernel, separate_kernel
from gomea_bn.runtime.kernels import divide_back, divide_forward, eliminate

OF_RANKS, IN_UNITS, OF_COUNTS, OF_LEVELS, IN_ORDER = 0, 1, 3, 4, 5
"""Targets of a child: its normal scores, its values in its own units, the logarithm of its mean, and all its levels.

2 is that of its transformed normal scores. A logit with one index has the target of its ranks, or of its levels in
their order.
"""
LINES, UNITS, SMOOTH = 0, 3, 4
"""Priors of lines, of columns in their own units, and of smooth curves; those of rough curves follow.

Lines have several widths: the priors before that of units.
"""
MOST_FUNCTIONS = 256
"""Largest number of functions of all parents of a column; a family with more is scored by its table.

A kind of products that does not fit next to them is left out.
"""

# nats by which the estimate of a logit of curves, or of lines, is larger without doubt; what is a line for odds is a
# curve for a regression, so that the former is also a share
_LEAST_LEAD_OF_CURVES, _LEAST_SHARE_OF_CURVES, _LEAST_LEAD_OF_LINES = 10.0, 0.35, 5.0
# nats that a regression gains by the free position of a level below which it does not pay, and above which it does
_LEAST_OF_POSITION, _MOST_OF_POSITION = 1.0, 10.0
# nats and share by which the estimate of a count of curves, or of lines, is larger without doubt
_LEAST_LEAD = 30.0
_LEAST_SHARE = 0.15
SCORE, TARGET, PRIOR, SOLVED, COEFFICIENTS = range(5)
"""Places of a candidate: its score in nats, target, prior, number of functions, and those of its transformation."""

MOST_PER_PAIR = 12
"""Largest number of products of two columns."""

# share of the largest gain of a normal column that promises one of a transformed column
_PROMISING = 0.9
# nats below the best normal noise at which heavy tails may be ahead
_CLOSE = 60.0
# the same below the best model of the same target
_CLOSE_OF_TARGET = 20.0
# the same of lines where the noise has widths, in nats per row
_CLOSE_LINES = 0.05
# the same in units of the child, in nats per row
_CLOSE_IN_UNITS = 0.25


class CurveData(NamedTuple):
    """Cross products of M functions of N variables and of T targets per variable; without curves M is 0.

    Functions and targets are centred. A target is the column of a child on one of its scales. The functions of the
    variables come first, and then products of factors of two variables: of two continuous ones, of a discrete and a
    continuous one, and of two discrete ones. Factors are the first functions of a continuous variable, and centred
    indicators of the levels of a discrete one.
    """

    products: NDArray[np.float64]  # (M, M) of functions
    with_targets: NDArray[np.float64]  # (M, N, T) of functions and targets
    squares: NDArray[np.float64]  # (N, T) of every target with itself, and what no curve can explain
    unexplained: NDArray[np.float64]  # (N, T) squares that no curve can explain
    alone: NDArray[np.float64]  # (N, T) score of a target without parents in nats, -inf without a target
    first: NDArray[np.int64]  # (N + 1,) functions of variable i: first[i] to first[i + 1]
    pair: NDArray[np.int64]  # (N, N) first product of two variables, -1 without products
    n_products: NDArray[np.int64]  # (N, N) number of products of two variables
    terms: NDArray[
        np.int64
    ]  # (P, 4) of the products: a variable, which of its factors, and the same of the other
    kinds: NDArray[
        np.int64
    ]  # (4,) first functions of the three kinds of products, and the number of all functions
    precisions: NDArray[np.float64]  # (n_priors, M) prior precisions of coefficients, inf: coefficient 0
    of_amounts: NDArray[
        np.float64
    ]  # (M,) squared heights of indicators of levels, and 0 of all other functions
    variable: NDArray[np.int64]  # (n_views,) variable of a view
    child_key: NDArray[np.uint64]  # (N,) random words that hash a family apart from its bins
    parent_key: NDArray[np.uint64]  # (N,)
    half_rows: float  # half of the rows, with those of the prior
    logits: LogitData
    counts: CountData
    transforms: TransformData
    tails: TailData


class ProductScratch(NamedTuple):
    """Work space for the choice of products; a block has those of one pair of parents."""

    system: NDArray[
        np.float64
    ]  # (MOST_PER_PAIR, MOST_PER_PAIR + T) of a block given the functions of the parents
    least: NDArray[np.float64]  # (MOST_PER_PAIR,)
    functions: NDArray[np.int64]  # (MOST_FUNCTIONS,) of all blocks
    sizes: NDArray[np.int64]  # (MOST_FUNCTIONS,) numbers of functions of the blocks
    order: NDArray[np.int64]  # (MOST_FUNCTIONS, 2) places of blocks that gain, and their numbers of functions
    gains: NDArray[np.float64]  # (MOST_FUNCTIONS,) of these blocks, largest first
    counts: NDArray[np.int64]  # (2,) numbers of all blocks, and of those that gain


class CurveScratch(NamedTuple):
    """One thread's work space; mutated."""

    functions: NDArray[np.int64]  # (n_most,)
    # (n_most, n_most + T + K) upper part of penalised products, the targets, and functions of the child
    system: NDArray[np.float64]
    least: NDArray[np.float64]  # (n_most,) of the pivots
    logits: LogitScratch
    transforms: TransformScratch
    candidates: NDArray[np.float64]  # (4 * n_priors, COEFFICIENTS + K) models of a family
    tails: TailScratch
    widths: WidthScratch
    products: ProductScratch
    counts: CountScratch
    n_parameters: NDArray[np.int64]  # (1,) of the model that was scored last
    best: NDArray[np.float64]  # (COEFFICIENTS + K,) the candidate that was scored last, with its noise
    solved: NDArray[np.int64]  # (2,) prior of the system, and its number of functions
    count: NDArray[np.float64]  # (COEFFICIENTS,) the count that was scored last


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
def _has_order(curves: CurveData, parent: int) -> bool:
    """Return whether a variable has levels in their order: a line of these is its only function in own units."""
    first = curves.first[parent]
    return first < curves.first[parent + 1] and curves.precisions[UNITS, first] == np.inf


@kernel
def _has_units(curves: CurveData, views: NDArray[np.int64], n_views: int) -> bool:
    """Return whether a parent has own units, or a line of its levels."""
    for k in range(n_views - 1):
        parent = curves.variable[views[k]]
        last = curves.first[parent + 1] - 1
        if (
            last >= curves.first[parent]
            and curves.precisions[LINES, last] == np.inf
            and curves.precisions[UNITS, last] < np.inf
        ):
            return True
    return False


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
    """Add the products of pairs of parents to the `size` gathered functions, and return the number of all.

    None of a kind are added if there are more than fit. Sizes of blocks, those of a pair, enter the work space.
    """
    most, n_blocks = scratch.functions.shape[0], 0
    for kind in range(curves.kinds.shape[0] - 1):
        size_before, n_before = size, n_blocks
        for k in range(n_views - 1):
            for j in range(k):
                i, other = curves.variable[views[j]], curves.variable[views[k]]
                first = curves.pair[i, other]
                if first < curves.kinds[kind] or first >= curves.kinds[kind + 1]:
                    continue
                n_used = 0
                for function in range(first, first + curves.n_products[i, other]):
                    if curves.precisions[prior, function] < np.inf:
                        if size + n_used < most:
                            scratch.functions[size + n_used] = function
                        n_used += 1
                if n_used > 0:
                    size += n_used
                    scratch.products.sizes[min(n_blocks, most - 1)] = n_used
                    n_blocks += 1
        if size > most:
            size, n_blocks = size_before, n_before
    return size


@kernel
def _solve(curves: CurveData, scratch: CurveScratch, child: int, size: int, n_more: int, prior: int) -> None:
    """Factorise the penalised products of `size` gathered functions, and solve for the targets of a child.

    The diagonal of ``scratch.system`` then has the squares of the pivots, and row k ends with what function k explains
    of every target, in standard deviations of the residuals, then of every function of the child that its
    transformations are made of, and of `n_more` further gathered functions. The first rows are also the solution for
    the first functions alone.
    """
    functions, system = scratch.functions, scratch.system
    n_targets = curves.alone.shape[1]
    n_transformed, own = curves.transforms.n_functions[child], curves.first[child]
    first_more = size + n_targets + n_transformed
    for i in range(size):
        row = functions[i]
        for j in range(i, size):
            system[i, j] = curves.products[row, functions[j]]
        system[i, i] += curves.precisions[prior, row]
        for t in range(n_targets):
            system[i, size + t] = curves.with_targets[row, child, t]
        for a in range(n_transformed):
            system[i, size + n_targets + a] = curves.products[row, own + a]
        for j in range(n_more):
            system[i, first_more + j] = curves.products[row, functions[size + j]]
    for k in range(size):
        scratch.least[k] = curves.precisions[prior, functions[k]]
    eliminate(system, size, first_more + n_more, scratch.least)


@kernel
def _gain_of_block(
    curves: CurveData, scratch: CurveScratch, child: int, size: int, start: int, n_used: int, prior: int
) -> float:
    """Return what a block of further functions gains over the first `size` functions, on the better target."""
    more, block, least = scratch.functions[size:], scratch.products.system, scratch.products.least
    system, n_targets = scratch.system, curves.alone.shape[1]
    column = size + n_targets + curves.transforms.n_functions[child] + start
    for i in range(n_used):
        row = more[start + i]
        least[i] = curves.precisions[prior, row]
        for j in range(i, n_used):
            block[i, j] = curves.products[row, more[start + j]]
        block[i, i] += least[i]
        for t in range(n_targets):
            block[i, n_used + t] = curves.with_targets[row, child, t]
    for k in range(size):
        for i in range(n_used):
            explained = system[k, column + i]
            for j in range(i, n_used):
                block[i, j] -= explained * system[k, column + j]
            for t in range(n_targets):
                block[i, n_used + t] -= explained * system[k, size + t]
    eliminate(block, n_used, n_used + n_targets, least)
    occam = 0.0
    for i in range(n_used):
        occam += 0.5 * log(least[i] / block[i, i])
    best = -np.inf
    for t in range(n_targets):
        if curves.alone[child, t] > -np.inf:
            before = curves.squares[child, t]
            for k in range(size):
                before -= system[k, size + t] * system[k, size + t]
            after = before
            for i in range(n_used):
                after -= block[i, n_used + t] * block[i, n_used + t]
            least_left = curves.unexplained[child, t]
            gain = occam + curves.half_rows * log(max(before, least_left) / max(after, least_left))
            best = max(best, gain)
    return best


@kernel
def _keep_products(
    curves: CurveData, scratch: CurveScratch, child: int, size: int, n_more: int, prior: int
) -> int:
    """Keep those blocks of the `n_more` products that gain over the first `size` functions, and return their number.

    They are ordered by their gains, each over the functions of the parents alone.
    """
    work, functions = scratch.products, scratch.functions
    start, n_blocks, n_kept = 0, 0, 0
    for i in range(n_more):
        work.functions[i] = functions[size + i]
    while start < n_more:
        n_used = work.sizes[n_blocks]
        gain = _gain_of_block(curves, scratch, child, size, start, n_used, prior)
        if gain > 0.0:
            place = n_kept
            while place > 0 and work.gains[place - 1] < gain:
                work.gains[place] = work.gains[place - 1]
                work.order[place, 0], work.order[place, 1] = (
                    work.order[place - 1, 0],
                    work.order[place - 1, 1],
                )
                place -= 1
            work.gains[place], work.order[place, 0], work.order[place, 1] = gain, start, n_used
            n_kept += 1
        start += n_used
        n_blocks += 1
    place = size
    for k in range(n_kept):
        for i in range(work.order[k, 1]):
            functions[place] = work.functions[work.order[k, 0] + i]
            place += 1
    work.counts[0], work.counts[1] = n_blocks, n_kept
    return place - size


@kernel
def solve_family(
    curves: CurveData, scratch: CurveScratch, views: NDArray[np.int64], n_views: int, prior: int
) -> tuple[int, int]:
    """Gather functions of the parents under a prior, and products that gain, and solve for the child.

    Return the number of functions without products and with them; -1 if there are more than fit.
    """
    child = curves.variable[views[n_views - 1]]
    n_curves = _gather_functions(curves, scratch, views, n_views, prior)
    if n_curves < 0:
        return n_curves, n_curves
    size = _gather_products(curves, scratch, views, n_views, prior, n_curves)
    _solve(curves, scratch, child, n_curves, size - n_curves, prior)
    if size > n_curves:
        n_kept = _keep_products(curves, scratch, child, n_curves, size - n_curves, prior)
        if n_kept > 0:
            _solve(curves, scratch, child, n_curves + n_kept, 0, prior)
        size = n_curves + n_kept
    return n_curves, size


@kernel
def _best_width(curves: CurveData, scratch: CurveScratch, views: NDArray[np.int64], n_views: int) -> int:
    """Return the prior of lines under which those of the parents score best, without products and transformations."""
    child = curves.variable[views[n_views - 1]]
    size = _gather_functions(curves, scratch, views, n_views, LINES)
    best, chosen = -np.inf, LINES
    if size < 0:
        return chosen
    for prior in range(UNITS):
        _solve(curves, scratch, child, size, 0, prior)
        occam = _occam(curves, scratch, size, prior)
        for t in range(curves.alone.shape[1]):
            left = _left(curves, scratch, child, size, size, t)
            score = curves.alone[child, t] + occam + curves.half_rows * log(curves.squares[child, t] / left)
            if score > best:
                best, chosen = score, prior
    return chosen


@kernel
def _best_products(
    curves: CurveData, scratch: CurveScratch, child: int, n_curves: int, size: int, prior: int
) -> tuple[int, float]:
    """Return how many of `size` functions score best: those without products, and some blocks of products.

    Also return the log of the number of sets of as many blocks, which the choice of the blocks costs.
    """
    work, n_targets = scratch.products, curves.alone.shape[1]
    best, n_best, n_solved, price, price_of_best = -np.inf, size, n_curves, 0.0, 0.0
    for block in range(work.counts[1]):
        n_solved += work.order[block, 1]
        price += log((work.counts[0] - block) / (block + 1.0))
        occam = _occam(curves, scratch, n_solved, prior)
        for t in range(n_targets):
            left = _left(curves, scratch, child, size, n_solved, t)
            score = (
                curves.alone[child, t]
                + occam
                - price
                + curves.half_rows * log(curves.squares[child, t] / left)
            )
            if score > best:
                best, n_best, price_of_best = score, n_solved, price
    return n_best, price_of_best


@kernel
def _occam(curves: CurveData, scratch: CurveScratch, n_solved: int, prior: int) -> float:
    """Return half of ln(|prior precision| / |posterior precision|), relative to the variance of the residuals."""
    occam = 0.0
    for k in range(n_solved):
        pivot = scratch.system[k, k]
        occam += 0.5 * log(curves.precisions[prior, scratch.functions[k]]) - log(sqrt(pivot))
    return occam


@kernel
def _left(
    curves: CurveData, scratch: CurveScratch, child: int, size: int, n_solved: int, target: int
) -> float:
    """Return the squares of a target that the first `n_solved` of `size` functions leave."""
    left = curves.squares[child, target]
    for k in range(n_solved):
        explained = scratch.system[k, size + target]
        left -= explained * explained
    return max(left, curves.unexplained[child, target])


@kernel
def regress_levels(
    curves: CurveData,
    scratch: CurveScratch,
    views: NDArray[np.int64],
    n_views: int,
    prior: int,
    in_order: bool,
) -> int:
    """Regress positions of the levels of a discrete child on the functions of its parents, and start its logit there.

    Levels `in_order` have positions at equal distances.
    Functions, prior precisions, positions and coefficients enter the work space. Return the number of functions; -1 if
    there are more than fit.
    """
    logits, work, functions = curves.logits, scratch.logits, scratch.functions
    child = curves.variable[views[n_views - 1]]
    size = 0
    for k in range(n_views - 1):
        parent = curves.variable[views[k]]
        most = size + curves.logits.most_functions[parent]
        for function in range(curves.first[parent], curves.first[parent + 1]):
            if curves.precisions[prior, function] < np.inf and size < most:
                if size == min(MOST_TERMS, functions.shape[0]):
                    return -1
                functions[size] = function
                size += 1
    n_levels, system = logits.n_levels[child], scratch.system
    for i in range(size):
        for j in range(i, size):
            system[i, j] = curves.products[functions[i], functions[j]]
        precision = curves.precisions[prior, functions[i]]
        system[i, i] += precision
        for k in range(n_levels):
            system[i, size + k] = curves.products[functions[i], curves.first[child] + k]
        work.cells.parameters[2, i + 1] = precision
        work.cells.parameters[5, i + 1] = curves.of_amounts[functions[i]]
    eliminate(system, size, size + n_levels, work.cells.parameters[2, 1:])
    n_rows = logits.weight * logits.codes.shape[1]
    start_logit(logits, work, system, child, size, n_rows, in_order)
    return size


@kernel
def _estimated_gain(curves: CurveData, scratch: CurveScratch, child: int, size: int) -> float:
    """Return about what the logit that `regress_levels` has started gains, -inf without one.

    It is the gain of the regression of its positions, as if they were normal given the parents, and at most what levels
    that are known gain.
    """
    if size < 0:
        return -np.inf
    logits, occam, entropy = curves.logits, 0.0, 0.0
    for i in range(size):
        occam += 0.5 * log(scratch.logits.cells.parameters[2, i + 1] / scratch.system[i, i])
    for k in range(logits.n_levels[child]):
        entropy -= logits.shares[child, k] * log(logits.shares[child, k])
    n_rows = logits.weight * logits.codes.shape[1]
    return occam + n_rows * min(-0.5 * log(scratch.logits.state[1]), entropy)


@kernel
def _better_logit(
    curves: CurveData, scratch: CurveScratch, views: NDArray[np.int64], n_views: int, prior: int, best: float
) -> float:
    """Return the greater one of a gain in nats and that of the logit with one index under a prior, which is noted.

    Positions of levels that are in their order are at equal distances, or they are free. A regression says which of
    both may be better, or that either may.
    """
    child, logits = curves.variable[views[n_views - 1]], scratch.logits
    n_odds, first, last = curves.logits.n_levels[child] - 1, 0, 0
    if _has_order(curves, child):
        regress_levels(curves, scratch, views, n_views, prior, True)
        left = logits.state[1]
        regress_levels(curves, scratch, views, n_views, prior, False)
        further = 0.5 * curves.logits.weight * curves.logits.codes.shape[1] * log(left / logits.state[1])
        first = 1 if further < _LEAST_OF_POSITION * (n_odds - 1) else 0
        last = 0 if further > _MOST_OF_POSITION * (n_odds - 1) else 1
    for k in range(first, last + 1):
        in_order = k == 1
        size = regress_levels(curves, scratch, views, n_views, prior, in_order)
        if size < 0:
            return best
        gain = logit_gain(curves.logits, logits, scratch.functions, child, size, in_order)
        if gain > best:
            best = gain
            scratch.n_parameters[0] = size + n_odds if in_order else (size + 1) * n_odds
            scratch.best[PRIOR], scratch.best[TARGET] = prior, IN_ORDER if in_order else OF_RANKS
    return best


@kernel
def _logit_score(curves: CurveData, scratch: CurveScratch, views: NDArray[np.int64], n_views: int) -> float:
    """Return the score in nats of a family whose discrete child is a logit; -inf if it cannot be one.

    The better one of lines and curves counts; a regression of positions of the levels chooses between them, unless it
    leaves it open. Where it says that one index is not enough, levels have sums of their own. Of a single discrete
    parent a table says all.
    """
    child = curves.variable[views[n_views - 1]]
    n_odds, functions, best = curves.logits.n_levels[child] - 1, scratch.functions, -np.inf
    has_order = False
    for k in range(n_views - 1):
        has_order |= _has_order(curves, curves.variable[views[k]])
    if has_order:
        best = _better_logit(curves, scratch, views, n_views, UNITS, best)
    if n_views == 2 and curves.logits.n_levels[curves.variable[views[0]]] > 0:
        return curves.logits.alone[child] + best
    n_lines = regress_levels(curves, scratch, views, n_views, LINES, False)
    of_lines = _estimated_gain(curves, scratch, child, n_lines)
    size = regress_levels(curves, scratch, views, n_views, SMOOTH, False)
    of_curves = _estimated_gain(curves, scratch, child, size)
    lead = _LEAST_LEAD_OF_CURVES + _LEAST_SHARE_OF_CURVES * max(of_curves, 0.0)
    if size >= 0 and of_curves > of_lines - _LEAST_LEAD_OF_LINES:
        best = _better_logit(curves, scratch, views, n_views, SMOOTH, best)
    # without curves both are the same
    if n_lines >= 0 and n_lines != size and of_lines > of_curves - lead:
        best = _better_logit(curves, scratch, views, n_views, LINES, best)
    if n_odds == 1:
        return curves.logits.alone[child] + best
    for prior in (LINES, SMOOTH):
        size = regress_levels(curves, scratch, views, n_views, prior, False)
        is_other = prior == LINES or size != n_lines
        if not (size >= 0 and is_other):
            continue
        if may_have_several_indices(curves.logits, scratch.logits, scratch.system, child, size):
            gain = several_indices_gain(curves.logits, scratch.logits, functions, child, size, best)
            if gain > best:
                best = gain
                scratch.n_parameters[0] = (size + 1) * n_odds
                scratch.best[PRIOR], scratch.best[TARGET] = prior, OF_LEVELS
    return curves.logits.alone[child] + best


@kernel
def _residual_moments(curves: CurveData, scratch: CurveScratch, child: int, size: int, n_solved: int) -> None:
    """Set the moments of the functions of a child given the first `n_solved` of `size` functions of its parents.

    The precisions of the prior of its transformation are added to them.
    """
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
def _set_residuals(
    curves: CurveData, scratch: CurveScratch, child: int, size: int, candidate: NDArray[np.float64]
) -> float:
    """Set the residuals of a model of a child by some of `size` functions, and its coefficients, for normal noise.

    Return their least variance. The target after all others is the child after its transformation.
    """
    n_targets, system, tails = curves.alone.shape[1], scratch.system, scratch.tails
    target, n_solved = np.int64(candidate[TARGET]), np.int64(candidate[SOLVED])
    transform, functions, beta = candidate[COEFFICIENTS:], scratch.transforms.functions, tails.coefficients[0]
    n_functions = curves.transforms.n_functions[child]
    for i in range(tails.residuals.shape[0]):
        tails.residuals[i] = curves.tails.own[child, i] if target == IN_UNITS else np.float32(0.0)
    if target < n_targets:
        least = curves.unexplained[child, target]
        for k in range(n_solved):
            beta[k] = system[k, size + target]
        if target != IN_UNITS:
            functions[0], transform[0] = curves.first[child], 1.0
            add_functions(curves.tails, tails, functions[:1], transform, 1.0)
    else:
        least = 0.0
        for a in range(n_functions):
            functions[a] = curves.first[child] + a
            for b in range(n_functions):
                least += transform[a] * transform[b] * curves.transforms.least[child, a, b]
        add_functions(curves.tails, tails, functions[:n_functions], transform, 1.0)
        for k in range(n_solved):
            beta[k] = 0.0
            for a in range(n_functions):
                beta[k] += transform[a] * system[k, size + n_targets + a]
    divide_back(system, n_solved, beta)
    add_functions(curves.tails, tails, scratch.functions[:n_solved], beta, -1.0)
    return 0.5 * least / curves.half_rows


@kernel
def _refit_to_tails(
    curves: CurveData, scratch: CurveScratch, n_solved: int, prior: int, freedom: float
) -> None:
    """Take one step from the coefficients of normal residuals towards those of heavy-tailed ones, and move residuals.

    The information on the coefficients has the same form for all distributions of the residuals, so that the system is
    eliminated already (Bickel, "One-step Huber estimates in the linear model", 1975).
    """
    tails, functions = scratch.tails, scratch.functions[:n_solved]
    beta, step = tails.coefficients[0], tails.coefficients[1]
    score_residuals(tails, freedom)
    scores_of_functions(curves.tails, tails, functions, step)
    for k in range(n_solved):
        step[k] = curves.tails.weight * step[k] - curves.precisions[prior, functions[k]] * beta[k]
    divide_forward(scratch.system, n_solved, step)
    divide_back(scratch.system, n_solved, step)
    add_functions(curves.tails, tails, functions, step, -1.0)


@kernel
def _width_gain(
    curves: CurveData,
    scratch: CurveScratch,
    views: NDArray[np.int64],
    n_views: int,
    target: int,
    least: float,
    freedom: float,
) -> tuple[float, int]:
    """Return what noise as wide as the parents say gains, in nats, and the number of its coefficients.

    Residuals are set, which have a least variance, and degrees of freedom if all widths are one.
    """
    child, work, tails = curves.variable[views[n_views - 1]], scratch.widths, scratch.tails
    work.counts[0], work.counts[1] = 0, 0
    of_lines, of_curves, n_listed = curves.precisions[LINES], curves.precisions[SMOOTH], 0
    for k in range(n_views - 1):
        parent = curves.variable[views[k]]
        n_listed = list_forms(curves.first, of_lines, of_curves, work, parent, n_listed)
    # a transformed child has the least squares of its ranks, in proportion
    of_cells = curves.tails.least[child, IN_UNITS if target == IN_UNITS else OF_RANKS]
    mean = 0.0
    for cell in range(of_cells.shape[0]):
        mean += of_cells[cell] * curves.tails.rows[child, cell]
    factor, cells = np.float32(least / max(mean, 1e-300)), curves.tails.cells[child]
    for i in range(tails.residuals.shape[0]):
        work.squares[i] = tails.residuals[i] * tails.residuals[i] + factor * of_cells[cells[i]]
    return width_gain(
        curves.tails,
        tails,
        work,
        curves.products,
        of_lines,
        of_curves,
        n_listed,
        n_views - 1,
        freedom,
        2.0 * curves.half_rows,
    )


@kernel
def _noise_gain(
    curves: CurveData,
    scratch: CurveScratch,
    views: NDArray[np.int64],
    n_views: int,
    size: int,
    candidate: NDArray[np.float64],
    with_widths: bool,
) -> tuple[float, int]:
    """Return what a model of a child by some of `size` functions gains by other noise than normal noise of one width.

    In nats, with the number of further parameters. The noise has heavy tails, or also widths that follow the parents.
    """
    child = curves.variable[views[n_views - 1]]
    least = _set_residuals(curves, scratch, child, size, candidate)
    n_rows = 2.0 * curves.half_rows
    gain, freedom = fit_tails(scratch.tails, least)
    price, best, n_more = 0.5 * log(n_rows), 0.0, 0
    if n_rows * gain < price:
        freedom = np.inf
    else:
        _refit_to_tails(curves, scratch, np.int64(candidate[SOLVED]), np.int64(candidate[PRIOR]), freedom)
        best = n_rows * max(gain, refitted_gain(scratch.tails, freedom, least)) - price
        n_more = 1
    scratch.widths.counts[1] = 0
    if not with_widths:
        return best, n_more
    of_widths, n_of_widths = _width_gain(
        curves, scratch, views, n_views, np.int64(candidate[TARGET]), least, freedom
    )
    if of_widths > best:
        return of_widths, n_of_widths
    scratch.widths.counts[1] = 0
    return best, n_more


@kernel
def _set_candidates(
    curves: CurveData,
    scratch: CurveScratch,
    child: int,
    size: int,
    n_solved: int,
    prior: int,
    price: float,
    first: int,
    least_promising: float,
) -> float:
    """Describe two models of a child by the first `n_solved` of `size` functions, with normal noise.

    The first one is of the normal scores of the child, or of their transformation, which is tried if the scores gain
    enough; the other one is in its own units. A price in nats is subtracted. Return what the normal scores gain.
    """
    occam = _occam(curves, scratch, n_solved, prior) - price
    of_ranks = -np.inf
    for t in range(curves.alone.shape[1]):
        candidate = scratch.candidates[first + t]
        left = _left(curves, scratch, child, size, n_solved, t)
        gain = occam + curves.half_rows * log(curves.squares[child, t] / left)
        candidate[SCORE], candidate[TARGET] = curves.alone[child, t] + gain, t
        candidate[PRIOR], candidate[SOLVED] = prior, n_solved
        if t == OF_RANKS:
            of_ranks = gain
    n_transformed = curves.transforms.n_functions[child]
    if n_transformed > 0 and of_ranks > least_promising:
        _residual_moments(curves, scratch, child, size, n_solved)
        before = curves.squares[child, OF_RANKS]
        gain = occam + transform_gain(
            curves.transforms, scratch.transforms, child, 2.0 * curves.half_rows, before
        )
        candidate = scratch.candidates[first]
        if gain > of_ranks:
            candidate[SCORE] = curves.alone[child, OF_RANKS] + gain
            candidate[TARGET] = curves.alone.shape[1]
            for a in range(n_transformed):
                candidate[COEFFICIENTS + a] = scratch.transforms.coefficients[0, a]
    return of_ranks


@kernel
def _n_parameters(curves: CurveData, child: int, candidate: NDArray[np.float64]) -> int:
    """Return the number of coefficients of a model, with the centre and the width of its noise."""
    size = np.int64(candidate[SOLVED]) + 2
    if np.int64(candidate[TARGET]) == curves.alone.shape[1]:
        size += curves.transforms.n_functions[child] - 1
    return size


@kernel
def _keep(scratch: CurveScratch, candidate: NDArray[np.float64], gain: float) -> None:
    """Keep a candidate as the best one, with what its noise gains, and the functions that its width follows."""
    for i in range(scratch.best.shape[0]):
        scratch.best[i] = candidate[i]
    scratch.best[SCORE] += gain
    widths = scratch.widths
    for k in range(widths.counts[1]):
        widths.best[k] = widths.chosen[k]
    widths.counts[2] = widths.counts[1]


@kernel
def _judge_noise(
    curves: CurveData,
    scratch: CurveScratch,
    views: NDArray[np.int64],
    n_views: int,
    number: int,
    with_widths: bool,
) -> float:
    """Return what a candidate gains by its best noise, in nats, and keep it if it is the best one."""
    child, candidate = curves.variable[views[n_views - 1]], scratch.candidates[number]
    prior = np.int64(candidate[PRIOR])
    if candidate[SCORE] == -np.inf:
        return 0.0
    if prior != scratch.solved[0]:
        _, scratch.solved[1] = solve_family(curves, scratch, views, n_views, prior)
        scratch.solved[0] = prior
    gain, n_more = _noise_gain(curves, scratch, views, n_views, scratch.solved[1], candidate, with_widths)
    if candidate[SCORE] + gain > scratch.best[SCORE]:
        _keep(scratch, candidate, gain)
        scratch.n_parameters[0] = _n_parameters(curves, child, candidate) + n_more
    return gain


@kernel
def _with_noise(
    curves: CurveData, scratch: CurveScratch, views: NDArray[np.int64], n_views: int, n_candidates: int
) -> float:
    """Return the score of the best candidate with its best noise; the system of the last candidate is solved.

    The best one with normal noise of one width is judged first; where it gains by no other noise, the others count as
    having none. Where it gains most by widths that follow the parents, the best one of the other target is judged as
    well, and otherwise those that are close to it and to the best one of their target. Other noise may move the best
    one in units of the column far.
    """
    child, candidates = curves.variable[views[n_views - 1]], scratch.candidates
    of_ranks, in_units = 0, 1
    for number in range(2, n_candidates, 2):
        if candidates[number, SCORE] > candidates[of_ranks, SCORE]:
            of_ranks = number
        if candidates[number + 1, SCORE] > candidates[in_units, SCORE]:
            in_units = number + 1
    chosen, other = of_ranks, in_units
    if candidates[in_units, SCORE] > candidates[of_ranks, SCORE]:
        chosen, other = in_units, of_ranks
    best = candidates[chosen, SCORE]
    scratch.n_parameters[0] = _n_parameters(curves, child, candidates[chosen])
    scratch.widths.counts[1] = 0
    _keep(scratch, candidates[chosen], 0.0)
    if curves.tails.cells.shape[1] == 0 or _judge_noise(curves, scratch, views, n_views, chosen, True) == 0.0:
        return scratch.best[SCORE]
    if scratch.widths.counts[2] > 0:
        # normal noise of one width lets curves follow single rows where noise is wide, and lines less
        _judge_noise(curves, scratch, views, n_views, other, True)
        for number in range(curves.alone.shape[1]):
            of_target = candidates[in_units if number == IN_UNITS else of_ranks, SCORE]
            margin = _CLOSE + 2.0 * _CLOSE_LINES * curves.half_rows
            if number != chosen and number != other and candidates[number, SCORE] >= of_target - margin:
                _judge_noise(curves, scratch, views, n_views, number, True)
        return scratch.best[SCORE]
    for number in range(n_candidates):
        if number == chosen:
            continue
        margin = 2.0 * _CLOSE_IN_UNITS * curves.half_rows if number == in_units else 0.0
        of_target = candidates[in_units if number % 2 == 1 else of_ranks, SCORE]
        if candidates[number, SCORE] >= max(best - max(margin, _CLOSE), of_target - _CLOSE_OF_TARGET):
            _judge_noise(curves, scratch, views, n_views, number, False)
    return scratch.best[SCORE]


@separate_kernel
def sum_score(curves: CurveData, scratch: CurveScratch, views: NDArray[np.int64], n_views: int) -> float:
    """Return the score in nats of a family whose child is a sum of curves of its parents; -inf if it cannot be one.

    The best prior and the best target count, or the best transformation of the child, with products of parents or
    without. Its residuals may have heavy tails, and widths that follow the parents.
    """
    child = curves.variable[views[n_views - 1]]
    may_follow = False
    for t in range(curves.alone.shape[1]):
        may_follow |= curves.alone[child, t] > -np.inf
    if not may_follow or n_views == 1:
        return -np.inf
    n_candidates, size, most_of_ranks = 0, 0, 0.0
    of_lines, of_smooth = -np.inf, -np.inf
    for place in range(UNITS - 1, curves.precisions.shape[0]):
        prior = _best_width(curves, scratch, views, n_views) if place < UNITS else place
        # rough curves follow kinks, which smooth ones show
        if prior > SMOOTH and of_smooth <= of_lines:
            break
        n_curves, n_all = solve_family(curves, scratch, views, n_views, prior)
        if n_curves < 0 or (prior == UNITS and not _has_units(curves, views, n_views)):
            continue
        of_width = log(UNITS) if prior < UNITS else 0.0
        size, n_solved, price = n_all, n_curves, of_width
        for with_products in range(2 if size > n_curves else 1):
            if with_products:
                n_solved, price = _best_products(curves, scratch, child, n_curves, size, prior)
                price += of_width
            of_ranks = _set_candidates(
                curves,
                scratch,
                child,
                size,
                n_solved,
                prior,
                price,
                n_candidates,
                _PROMISING * most_of_ranks,
            )
            most_of_ranks = max(most_of_ranks, of_ranks)
            for t in range(curves.alone.shape[1]):
                score = scratch.candidates[n_candidates + t, SCORE]
                if prior < SMOOTH:
                    of_lines = max(of_lines, score)
                elif prior == SMOOTH:
                    of_smooth = max(of_smooth, score)
            n_candidates += curves.alone.shape[1]
    if n_candidates == 0:
        return -np.inf
    scratch.solved[0], scratch.solved[1] = np.int64(scratch.candidates[n_candidates - 1, PRIOR]), size
    return _with_noise(curves, scratch, views, n_views, n_candidates)


@kernel
def start_count(
    curves: CurveData, scratch: CurveScratch, views: NDArray[np.int64], n_views: int, prior: int
) -> int:
    """Gather functions of the parents of a count, and their prior precisions; -1 if there are more than fit."""
    size = 0
    for k in range(n_views - 1):
        parent = curves.variable[views[k]]
        for function in range(curves.first[parent], curves.first[parent + 1]):
            precision = curves.precisions[prior, function]
            if precision < np.inf:
                if size == min(MOST_TERMS - 1, scratch.functions.shape[0]):
                    return -1
                scratch.functions[size] = function
                size += 1
                scratch.counts.cells.parameters[2, size] = precision
                scratch.counts.cells.parameters[5, size] = curves.of_amounts[function]
    return size


@kernel
def _count_gain(curves: CurveData, scratch: CurveScratch, child: int, size: int, how: int) -> float:
    """Return the gain of the count that `start_count` has started, -inf without one; `how` as of `count_gain`."""
    if size < 0:
        return -np.inf
    functions, cells = scratch.functions[:size], curves.logits.cells
    return curves.logits.weight * count_gain(curves.counts, cells, scratch.counts, functions, child, how)


@kernel
def _count_score(
    curves: CurveData, scratch: CurveScratch, views: NDArray[np.int64], n_views: int, with_curves: bool
) -> float:
    """Return the score in nats of a family whose child is a count; -inf if there are more functions than fit.

    Some of the rows choose between lines, of normal scores and in units, and curves, unless they leave it open. Curves
    are not tried without `with_curves`. ``scratch.count`` gets the prior and the number of functions of the choice.
    """
    child = curves.variable[views[n_views - 1]]
    size = start_count(curves, scratch, views, n_views, UNITS)
    of_lines = _count_gain(curves, scratch, child, size, ESTIMATED)
    best, n_functions, chosen, of_curves = -np.inf, size, UNITS, -np.inf
    if with_curves:
        size = start_count(curves, scratch, views, n_views, SMOOTH)
        of_curves = _count_gain(curves, scratch, child, size, ESTIMATED)
    lead = max(_LEAST_LEAD, _LEAST_SHARE * max(of_lines, of_curves))
    if of_curves > of_lines - lead:
        best, n_functions, chosen = _count_gain(curves, scratch, child, size, CONTINUED), size, SMOOTH
    if of_lines > of_curves - lead:
        how = WHOLE if with_curves else CONTINUED
        size = start_count(curves, scratch, views, n_views, UNITS) if with_curves else size
        gain = _count_gain(curves, scratch, child, size, how)
        if gain > best:
            best, n_functions, chosen = gain, size, UNITS
    scratch.count[PRIOR], scratch.count[SOLVED] = chosen, n_functions
    return curves.counts.alone[child] + best


@separate_kernel
def curve_score(curves: CurveData, scratch: CurveScratch, views: NDArray[np.int64], n_views: int) -> float:
    """Return the score in nats of a family whose child follows curves of its parents; -inf if it cannot follow them.

    It is a logit, or a sum of curves and noise, or a count, which may score better than such a sum. The costs of edges
    and cuts are not included. `views` are as of `family_score`.
    """
    child = curves.variable[views[n_views - 1]]
    if n_views > 1 and curves.logits.n_levels[child] > 0:
        return _logit_score(curves, scratch, views, n_views)
    score = sum_score(curves, scratch, views, n_views)
    if n_views > 1 and curves.counts.is_count[child]:
        # what is a line with normal noise is no curve of a count, but a parent of few values has no line in units
        with_curves = not score > -np.inf or scratch.best[PRIOR] >= SMOOTH
        for k in range(n_views - 1):
            parent = curves.variable[views[k]]
            last = curves.first[parent + 1] - 1
            with_curves |= curves.precisions[UNITS, last] == np.inf or _has_order(curves, parent)
        of_count = _count_score(curves, scratch, views, n_views, with_curves)
        if of_count > score:
            score = of_count
            scratch.best[TARGET] = OF_COUNTS
            scratch.best[PRIOR], scratch.best[SOLVED] = scratch.count[PRIOR], scratch.count[SOLVED]
            scratch.n_parameters[0] = np.int64(scratch.count[SOLVED]) + 2
    return score
