"""Kernels that turn the counts of a family into a score."""

from __future__ import annotations

from math import lgamma, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.runtime.jit import kernel

__all__ = ["MISFIT_KINDS", "ScoreRule", "expected_score", "score_counts", "stirling_lgamma"]

# kinds of score
LIKELIHOOD, DIRICHLET, BDEU, SMOOTHED, LEFT_OUT, LEFT_OUT_BEST = 0, 1, 2, 3, 4, 5
# log likelihoods under smoothed tables, with neither prices nor priors
MISFIT_KINDS = (SMOOTHED, LEFT_OUT, LEFT_OUT_BEST)

_HALF_LOG_TWO_PI = 0.9189385332046727


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
def _best_left_out_log_likelihood(counts: NDArray[np.int32], n_observed: int, r: int) -> float:
    """Return the largest log likelihood of an (n_observed, r) count table over some amounts of smoothing, in nats.

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
    return max(max(with_1, with_4), max(with_16, with_64))


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
