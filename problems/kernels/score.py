"""Kernels that count the rows of families and score them, as tables or as sums of smooth curves of the parents."""

from __future__ import annotations

from math import exp, inf, isnan, lgamma, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.kernels import MISSING, count_dense
from gomea_bn.problems.kernels.curves import CurveData, CurveScratch, curve_key, curve_score, has_curves
from gomea_bn.runtime.jit import kernel, separate_kernel
from gomea_bn.runtime.kernels import bit_count, natural_log
from gomea_bn.runtime.limits import ROUNDING

# kinds of score
LIKELIHOOD, DIRICHLET, BDEU, SMOOTHED, LEFT_OUT, LEFT_OUT_BEST = 0, 1, 2, 3, 4, 5
# log likelihoods under smoothed tables, with neither prices nor priors
MISFIT_KINDS = (SMOOTHED, LEFT_OUT, LEFT_OUT_BEST)

HALF_LOG_TWO_PI = 0.9189385332046727


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
    # whether tables shrink towards the child's own distribution, see `centred_gains` (DIRICHLET)
    centred: bool = False
    # whether those of discrete columns alone have BDeu priors, see `equivalent_score` (DIRICHLET, centred)
    equivalent: bool = False
    # cells of a table with parents that cost nothing; each further one costs a nat in a score (DIRICHLET, centred), and
    # where a misfit has to choose between a table and curves (LEFT_OUT, LEFT_OUT_BEST)
    free_cells: float = inf


@kernel
def stirling_lgamma(x: float) -> float:
    """Return ln Gamma(x) for x >= 16 with an absolute error below 1e-12."""
    inverse = 1.0 / x
    square = inverse * inverse
    series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)))
    return (x - 0.5) * log(x) - x + HALF_LOG_TWO_PI + series


@kernel
def stirling_lgammas(values: NDArray[np.float64]) -> None:
    """Replace numbers of at least 16 by their ln Gamma, several at a time; see `stirling_lgamma`."""
    for i in range(values.shape[0]):
        x = values[i]
        inverse = 1.0 / x
        square = inverse * inverse
        of_seventh = square * (1.0 / 1680.0)
        series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - of_seventh)))
        values[i] = (x - 0.5) * natural_log(x) - x + HALF_LOG_TWO_PI + series


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


N_CONCENTRATIONS = 4
"""Number of concentrations of a centred prior; each is equally likely."""

# rows of the smallest concentration, and the largest one as a share of the rows: near the number of rows a table
# without effect would cost nothing
_LEAST_CONCENTRATION, _MOST_CONCENTRATION = 2.0, 0.3
MOST_OF_PRODUCT = 1e150
"""Above it, or below its inverse, a product of pseudo-counts is turned into its logarithm."""


@kernel
def concentrations(n_rows: float) -> tuple[float, float, float, float]:
    """Return the concentrations of a centred prior for a table of `n_rows` rows, evenly spread by their logarithms."""
    ratio = max(_MOST_CONCENTRATION * n_rows / _LEAST_CONCENTRATION, 1.0) ** (1.0 / (N_CONCENTRATIONS - 1))
    first = _LEAST_CONCENTRATION
    return first, first * ratio, first * ratio * ratio, first * ratio * ratio * ratio


@kernel
def centred_gains(
    counts: NDArray[np.int32] | NDArray[np.int64], n_observed: int, r: int, weight: float
) -> tuple[float, float, float, float]:
    """Return ln Bayes factors of an (n_observed, r) count table against its child alone, by concentration, in nats.

    The probabilities of a table row have a Dirichlet prior with the mean p, the shares of the child's values over all
    rows of the table. With the concentration a, which weighs as much as a rows, row j of the table adds
    sum_k [lnG(a p_k + n_jk) - lnG(a p_k)] - [lnG(a + n_j) - lnG(a)], and the child alone has sum_k n_k ln p_k. Counts
    are multiplied by a weight.
    """
    n = 0
    for cell in range(n_observed * r):
        n += counts[cell]
    a_1, a_2, a_3, a_4 = concentrations(weight * n)
    # sums, and products that are not in them yet: of cells, and of rows of the table
    s_1, s_2, s_3, s_4 = 0.0, 0.0, 0.0, 0.0
    c_1, c_2, c_3, c_4 = 1.0, 1.0, 1.0, 1.0
    r_1, r_2, r_3, r_4 = 1.0, 1.0, 1.0, 1.0
    alone = 0.0
    is_whole = weight == 1.0
    for k in range(r):
        total = 0
        for j in range(n_observed):
            total += counts[j * r + k]
        if total == 0:
            continue
        share = total / n
        alone += weight * total * log(share)
        p_1, p_2, p_3, p_4 = a_1 * share, a_2 * share, a_3 * share, a_4 * share
        n_large = 0
        for j in range(n_observed):
            count = counts[j * r + k]
            if count == 0:
                continue
            if count < 16 and is_whole:
                for i in range(count):
                    c_1 *= p_1 + i
                    c_2 *= p_2 + i
                    c_3 *= p_3 + i
                    c_4 *= p_4 + i
                if c_4 > MOST_OF_PRODUCT or c_1 < 1.0 / MOST_OF_PRODUCT:
                    s_1, s_2, s_3, s_4 = s_1 + log(c_1), s_2 + log(c_2), s_3 + log(c_3), s_4 + log(c_4)
                    c_1, c_2, c_3, c_4 = 1.0, 1.0, 1.0, 1.0
            elif is_whole:
                n_large += 1
                s_1 += stirling_lgamma(p_1 + count)
                s_2 += stirling_lgamma(p_2 + count)
                s_3 += stirling_lgamma(p_3 + count)
                s_4 += stirling_lgamma(p_4 + count)
            else:
                n_large += 1
                s_1 += lgamma(p_1 + weight * count)
                s_2 += lgamma(p_2 + weight * count)
                s_3 += lgamma(p_3 + weight * count)
                s_4 += lgamma(p_4 + weight * count)
        if n_large > 0:
            s_1 -= n_large * lgamma(p_1)
            s_2 -= n_large * lgamma(p_2)
            s_3 -= n_large * lgamma(p_3)
            s_4 -= n_large * lgamma(p_4)
    n_large = 0
    for j in range(n_observed):
        count = 0
        for k in range(j * r, (j + 1) * r):
            count += counts[k]
        if count == 0:
            continue
        if count < 16 and is_whole:
            for i in range(count):
                r_1 *= a_1 + i
                r_2 *= a_2 + i
                r_3 *= a_3 + i
                r_4 *= a_4 + i
            if r_4 > MOST_OF_PRODUCT:
                s_1, s_2, s_3, s_4 = s_1 - log(r_1), s_2 - log(r_2), s_3 - log(r_3), s_4 - log(r_4)
                r_1, r_2, r_3, r_4 = 1.0, 1.0, 1.0, 1.0
        elif is_whole:
            n_large += 1
            s_1 -= stirling_lgamma(a_1 + count)
            s_2 -= stirling_lgamma(a_2 + count)
            s_3 -= stirling_lgamma(a_3 + count)
            s_4 -= stirling_lgamma(a_4 + count)
        else:
            n_large += 1
            s_1 -= lgamma(a_1 + weight * count)
            s_2 -= lgamma(a_2 + weight * count)
            s_3 -= lgamma(a_3 + weight * count)
            s_4 -= lgamma(a_4 + weight * count)
    if n_large > 0:
        s_1 += n_large * lgamma(a_1)
        s_2 += n_large * lgamma(a_2)
        s_3 += n_large * lgamma(a_3)
        s_4 += n_large * lgamma(a_4)
    return (
        s_1 + log(c_1) - log(r_1) - alone,
        s_2 + log(c_2) - log(r_2) - alone,
        s_3 + log(c_3) - log(r_3) - alone,
        s_4 + log(c_4) - log(r_4) - alone,
    )


@kernel
def log_mean(gains: tuple[float, float, float, float]) -> float:
    """Return the logarithm of the mean of the exponentials of four numbers."""
    g_1, g_2, g_3, g_4 = gains
    most = max(max(g_1, g_2), max(g_3, g_4))
    return most + log((exp(g_1 - most) + exp(g_2 - most) + exp(g_3 - most) + exp(g_4 - most)) / 4.0)


@kernel
def centred_score(
    counts: NDArray[np.int32] | NDArray[np.int64],
    n_observed: int,
    r: int,
    weight: float,
    averages: bool = False,
) -> float:
    """Return the score in nats of an (n_observed, r) count table of a child with parents under a centred prior.

    It is the score of the child alone, with one pseudo-count per value, or the mean over those of `equivalent_score`,
    plus the ln Bayes factor of the table, the mean over its concentrations. Counts are multiplied by a weight.
    """
    n = 0
    for cell in range(n_observed * r):
        n += counts[cell]
    size = weight * n
    a_1, a_2, a_3, a_4 = concentrations(size)
    alone, s_1, s_2, s_3, s_4 = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(r):
        total = 0
        for j in range(n_observed):
            total += counts[j * r + k]
        if total == 0:
            continue
        if averages:
            s_1 += lgamma(a_1 / r + weight * total) - lgamma(a_1 / r)
            s_2 += lgamma(a_2 / r + weight * total) - lgamma(a_2 / r)
            s_3 += lgamma(a_3 / r + weight * total) - lgamma(a_3 / r)
            s_4 += lgamma(a_4 / r + weight * total) - lgamma(a_4 / r)
        else:
            alone += lgamma(1.0 + weight * total)
    if averages:
        alone = log_mean(
            (
                s_1 + lgamma(a_1) - lgamma(a_1 + size),
                s_2 + lgamma(a_2) - lgamma(a_2 + size),
                s_3 + lgamma(a_3) - lgamma(a_3 + size),
                s_4 + lgamma(a_4) - lgamma(a_4 + size),
            )
        )
    else:
        alone += lgamma(float(r)) - lgamma(r + size)
    return alone + log_mean(centred_gains(counts, n_observed, r, weight))


@kernel
def _log_rising_of(
    counts: NDArray[np.int32] | NDArray[np.int64],
    n_groups: int,
    width: int,
    priors: tuple[float, float, float, float],
    weight: float,
) -> tuple[float, float, float, float]:
    """Return for each prior the sum over groups of `width` counts of lnG(prior + total) - lnG(prior).

    Totals are multiplied by a weight. Four products, one after the other in every step, keep the processor busy.
    """
    p_1, p_2, p_3, p_4 = priors
    s_1, s_2, s_3, s_4 = 0.0, 0.0, 0.0, 0.0
    # products that are not in the sums yet
    c_1, c_2, c_3, c_4 = 1.0, 1.0, 1.0, 1.0
    n_large = 0
    is_whole = weight == 1.0
    for j in range(n_groups):
        total = 0
        for k in range(j * width, (j + 1) * width):
            total += counts[k]
        if total == 0:
            continue
        if total < 16 and is_whole:
            for c in range(total):
                c_1 *= p_1 + c
                c_2 *= p_2 + c
                c_3 *= p_3 + c
                c_4 *= p_4 + c
            if c_4 > MOST_OF_PRODUCT or c_1 < 1.0 / MOST_OF_PRODUCT:
                s_1, s_2, s_3, s_4 = s_1 + log(c_1), s_2 + log(c_2), s_3 + log(c_3), s_4 + log(c_4)
                c_1, c_2, c_3, c_4 = 1.0, 1.0, 1.0, 1.0
        elif is_whole:
            n_large += 1
            s_1 += stirling_lgamma(p_1 + total)
            s_2 += stirling_lgamma(p_2 + total)
            s_3 += stirling_lgamma(p_3 + total)
            s_4 += stirling_lgamma(p_4 + total)
        else:
            n_large += 1
            s_1 += lgamma(p_1 + weight * total)
            s_2 += lgamma(p_2 + weight * total)
            s_3 += lgamma(p_3 + weight * total)
            s_4 += lgamma(p_4 + weight * total)
    if n_large > 0:
        s_1 -= n_large * lgamma(p_1)
        s_2 -= n_large * lgamma(p_2)
        s_3 -= n_large * lgamma(p_3)
        s_4 -= n_large * lgamma(p_4)
    return s_1 + log(c_1), s_2 + log(c_2), s_3 + log(c_3), s_4 + log(c_4)


@kernel
def equivalent_score(
    counts: NDArray[np.int32] | NDArray[np.int64],
    n_observed: int,
    configurations: float,
    r: int,
    weight: float,
) -> float:
    """Return the score in nats of an (n_observed, r) count table that is the same for equivalent graphs.

    It is f(parents and child) - f(parents). f of a set of columns is the log of the mean, over equivalent sample sizes
    a, of the marginal likelihood of their joint table, whose cells have the Dirichlet prior a / cells (BDeu). Being a
    difference of one function of sets, the sum over families does not change where a covered edge is reversed. Counts
    are multiplied by a weight.
    """
    n = 0
    for cell in range(n_observed * r):
        n += counts[cell]
    a_1, a_2, a_3, a_4 = concentrations(weight * n)
    cells = configurations * r
    of_cell = (a_1 / cells, a_2 / cells, a_3 / cells, a_4 / cells)
    of_row = (a_1 / configurations, a_2 / configurations, a_3 / configurations, a_4 / configurations)
    c_1, c_2, c_3, c_4 = _log_rising_of(counts, n_observed * r, 1, of_cell, weight)
    r_1, r_2, r_3, r_4 = _log_rising_of(counts, n_observed, r, of_row, weight)
    t_1, t_2 = lgamma(a_1) - lgamma(a_1 + weight * n), lgamma(a_2) - lgamma(a_2 + weight * n)
    t_3, t_4 = lgamma(a_3) - lgamma(a_3 + weight * n), lgamma(a_4) - lgamma(a_4 + weight * n)
    return log_mean((c_1 + t_1, c_2 + t_2, c_3 + t_3, c_4 + t_4)) - log_mean(
        (r_1 + t_1, r_2 + t_2, r_3 + t_3, r_4 + t_4)
    )


@kernel
def price_of_cells(rule: ScoreRule, configurations: float, r: int, of_levels: bool) -> float:
    """Return what the cells of a table cost in nats under a centred rule; see `default_score`."""
    price = max(configurations * r - rule.free_cells, 0.0)
    if rule.equivalent and of_levels:
        # a price of sets of columns, too, has no direction
        price -= max(configurations - rule.free_cells, 0.0)
    return price


@kernel
def default_score(
    counts: NDArray[np.int32] | NDArray[np.int64],
    n_observed: int,
    configurations: float,
    r: int,
    rule: ScoreRule,
    weight: float,
    is_level: bool,
    of_levels: bool,
) -> float:
    """Return the score in nats of an (n_observed, r) count table under a centred rule, with the price of its cells.

    `of_levels` says whether the child and its parents are discrete columns, and `is_level` whether the child is. A
    family of levels and bins has the score of the child alone, plus the ln Bayes factor of its table. Counts are
    multiplied by a weight.
    """
    price = price_of_cells(rule, configurations, r, of_levels)
    if rule.equivalent and of_levels:
        return equivalent_score(counts, n_observed, configurations, r, weight) - price
    return centred_score(counts, n_observed, r, weight, rule.equivalent and is_level) - price


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


class ScoreCache(NamedTuple):
    """Scores of families under their bins, and those by curves, which are the same for all bins."""

    families: FamilyCache
    curves: FamilyCache


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
    is_level: NDArray[np.bool_]  # (n_views,) whether the codes are those of a discrete column
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
def is_of_levels(rows: RowData, views: NDArray[np.int64], n_views: int, left_out: int = -1) -> bool:
    """Return whether all views but the one at `left_out` are of discrete columns."""
    for v in range(n_views):
        if v != left_out and not rows.is_level[views[v]]:
            return False
    return True


@kernel
def is_dense(cells: float, n_rows: int) -> bool:
    """Return whether a table of `cells` cells is counted cell by cell rather than by observed configurations."""
    return cells <= 65536.0 and cells <= 8.0 * n_rows + 1024.0


@kernel
def _table_score(
    rows: RowData,
    rule: ScoreRule,
    counts: NDArray[np.int32],
    n_observed: int,
    configurations: float,
    child: int,
    has_parents: bool,
    of_levels: bool,
) -> float:
    """Return the score of the table of a view, under a centred prior if the rule says so."""
    r = rows.cardinality[child]
    if rule.centred and (has_parents or (rule.equivalent and of_levels)):
        return default_score(
            counts, n_observed, configurations, r, rule, 1.0, rows.is_level[child], of_levels
        )
    return score_counts(counts, n_observed, configurations, r, rule)


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
    child = members[n_members - 1]
    r = rows.cardinality[child]
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
    all_levels = is_of_levels(rows, members, n_members)
    score = _table_score(rows, rule, counts, observed, configurations, child, n_members > 1, all_levels)
    weakest, least = -1, score
    stride = whole
    for p in range(n_members - 1):
        card = rows.cardinality[members[p]]
        fewer = configurations / card
        of_levels = all_levels or is_of_levels(rows, members, n_members, p)
        if dense:
            stride //= card
            sum_over_parent(counts, whole, card, stride, scratch.sums)
            without = _table_score(
                rows, rule, scratch.sums, np.int64(fewer), fewer, child, n_members > 2, of_levels
            )
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
            without = _table_score(rows, rule, counts, observed, fewer, child, n_members > 2, of_levels)
        gain = score - without
        if weakest < 0 or gain < least - ROUNDING * max(1.0, abs(score)):
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
def _log_likelihood(
    counts: NDArray[np.int32], n_observed: int, r: int, x_log_x: NDArray[np.float64]
) -> float:
    """Return the log likelihood in nats of an (n_observed, r) count table under its own shares."""
    total = 0.0
    for j in range(n_observed):
        row = 0
        for k in range(j * r, (j + 1) * r):
            row += counts[k]
            total += x_log_x[counts[k]]
        total -= x_log_x[row]
    return total


@separate_kernel
def table_score(
    rows: RowData,
    rule: ScoreRule,
    scratch: ScoreScratch,
    views: NDArray[np.int64],
    n_views: int,
    least: float,
) -> float:
    """Return the uncached score in nats of a family by its table; -inf where it is certain to be less than `least`.

    `views` holds the parents' views in the order of their variables, then the child's; (n_views,), int64.
    """
    scratch.statistics[FAMILIES_SCORED] += 1
    for v in range(n_views):
        if rows.has_missing[views[v]]:
            return _available_score(rows, rule, scratch, views, n_views)
    n_rows = rows.codes.shape[1]
    child = views[n_views - 1]
    r = rows.cardinality[child]
    configurations = n_configurations(rows, views, n_views)
    cells = configurations * r
    # under every prior of a centred rule a table is no likelier than under its own shares
    of_levels = is_of_levels(rows, views, n_views)
    is_bounded = rule.centred and n_views > 1 and rows.observed.shape[1] == 0
    needed = least - ROUNDING * max(abs(least), float(n_rows)) - rows.constant[child]
    needed += rule.edge_cost * (n_views - 1) + price_of_cells(rule, configurations, r, of_levels)
    if is_bounded and needed > 0.0:
        return -inf
    if is_dense(cells, n_rows):
        whole = np.int64(cells)
        n_tables = 4 if whole * 4 <= n_rows else 1
        count_dense(
            rows.codes, views, rows.cardinality, n_views, whole, n_tables, scratch.joint, scratch.counts
        )
        observed = np.int64(configurations)
    else:
        observed = count_sparse(rows.codes, views, rows.cardinality, n_views, scratch)
    if is_bounded and _log_likelihood(scratch.counts, observed, r, rule.x_log_x) < needed:
        return -inf
    if rows.observed.shape[1] > 0:
        weight = _completed_weight(rows, rule, views, n_views)
        of_row = weight / rule.completions
        if rule.centred and (n_views > 1 or (rule.equivalent and of_levels)):
            score = default_score(
                scratch.counts, observed, configurations, r, rule, of_row, rows.is_level[child], of_levels
            )
        else:
            score = expected_score(scratch.counts, observed, configurations, r, rule, of_row)
        return (score - rule.edge_cost * (n_views - 1)) / weight
    score = _table_score(rows, rule, scratch.counts, observed, configurations, child, n_views > 1, of_levels)
    return score + rows.constant[child] - rule.edge_cost * (n_views - 1)


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
    of_curves = -inf
    if has_curves(rows.curves):
        score = curve_score(rows.curves, scratch.curves, views, n_views)
        of_curves = score - rule.edge_cost * (n_views - 1) - rows.own_cost[views[n_views - 1]]
    return max(table_score(rows, rule, scratch, views, n_views, of_curves), of_curves)


@kernel
def known_value(shared: FamilyCache, writable: FamilyCache, key: np.uint64) -> float:
    """Return the value of a key in either cache, NaN without one."""
    slot = cache_slot(shared, key)
    if slot >= 0 and shared.keys[slot] == key:
        return shared.scores[slot]
    slot = cache_slot(writable, key)
    if slot >= 0 and writable.keys[slot] == key:
        return writable.scores[slot]
    return np.nan


@kernel
def _cached_curve_score(
    rows: RowData,
    scratch: ScoreScratch,
    shared: FamilyCache,
    writable: FamilyCache,
    views: NDArray[np.int64],
    n_views: int,
) -> float:
    """Return the score by curves from the shared or the `writable` cache of scores by curves."""
    key = curve_key(rows.curves, views, n_views)
    known = known_value(shared, writable, key)
    if not isnan(known):
        return known
    score = curve_score(rows.curves, scratch.curves, views, n_views)
    cache_insert(writable, key, score)
    cache_insert(writable, ~key, float(scratch.curves.n_parameters[0]))
    return score


@kernel
def _family_score_of_curves(
    rows: RowData,
    rule: ScoreRule,
    scratch: ScoreScratch,
    shared: ScoreCache,
    writable: ScoreCache,
    views: NDArray[np.int64],
    n_views: int,
) -> float:
    """Return the score of a family by curves, with the cost of its edges and of the child's own curve."""
    of_curves = _cached_curve_score(rows, scratch, shared.curves, writable.curves, views, n_views)
    return of_curves - rule.edge_cost * (n_views - 1) - rows.own_cost[views[n_views - 1]]


@kernel
def n_parameters(
    rows: RowData,
    rule: ScoreRule,
    scratch: ScoreScratch,
    shared: ScoreCache,
    writable: ScoreCache,
    views: NDArray[np.int64],
    n_views: int,
) -> float:
    """Return the number of free parameters by which a family is scored: those of its table, or of curves.

    The caches are those of `cached_family_score`.
    """
    child = views[n_views - 1]
    if has_curves(rows.curves) and n_views > 1:
        score = cached_family_score(rows, rule, scratch, shared, writable, views, n_views)
        if _family_score_of_curves(rows, rule, scratch, shared, writable, views, n_views) >= score:
            known = known_value(shared.curves, writable.curves, ~curve_key(rows.curves, views, n_views))
            if not isnan(known):
                return known
            curve_score(rows.curves, scratch.curves, views, n_views)
            return float(scratch.curves.n_parameters[0])
    return n_configurations(rows, views, n_views) * (rows.cardinality[child] - 1)


@kernel
def cached_family_score(
    rows: RowData,
    rule: ScoreRule,
    scratch: ScoreScratch,
    shared: ScoreCache,
    writable: ScoreCache,
    views: NDArray[np.int64],
    n_views: int,
) -> float:
    """Return a family's score, by its table or by curves, from the shared or the `writable` cache.

    A new score is computed and enters the latter.
    """
    key = family_key(rows, views, n_views)
    known = known_value(shared.families, writable.families, key)
    if not isnan(known):
        scratch.statistics[CACHE_HITS] += 1
        return known
    of_curves = -inf
    if has_curves(rows.curves):
        of_curves = _family_score_of_curves(rows, rule, scratch, shared, writable, views, n_views)
    score = table_score(rows, rule, scratch, views, n_views, of_curves)
    if has_curves(rows.curves):
        further = 0.0
        if not rule.centred:
            cells = n_configurations(rows, views, n_views) * rows.cardinality[views[n_views - 1]]
            further = max(cells - rule.free_cells, 0.0)
        if of_curves >= score - further:
            score = of_curves
    cache_insert(writable.families, key, score)
    return score


@kernel
def score_families(
    rows: RowData,
    rule: ScoreRule,
    scratch: ScoreScratch,
    shared: ScoreCache,
    writable: ScoreCache,
    offsets: NDArray[np.int64],
    views: NDArray[np.int64],
    scores: NDArray[np.float64],
    first: int = 0,
    step: int = 1,
    ends_at_curves: bool = False,
) -> int:
    """Fill `scores` (n_families,) for families in compressed rows: ``views[offsets[f]:offsets[f + 1]]``, child last.

    These are the families from `first` on at some `step`. With empty `writable` tables (capacity 0) every family is
    counted, and nothing is cached. Returns the number of the family where it ends: `ends_at_curves` is after the first
    one that neither cache had by curves.
    """
    n_known = writable.curves.used[0]
    for f in range(first, scores.shape[0], step):
        family = views[offsets[f] : offsets[f + 1]]
        if writable.families.keys.shape[0] == 0:
            scores[f] = best_score(rows, rule, scratch, family, family.shape[0])
        else:
            scores[f] = cached_family_score(rows, rule, scratch, shared, writable, family, family.shape[0])
        if ends_at_curves and writable.curves.used[0] > n_known:
            return f + 1
    return scores.shape[0]
