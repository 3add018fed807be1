"""Kernels of EM for a mixture over mixed columns, and of the search for the cut that best separates its classes."""

from __future__ import annotations

from math import exp, inf, log, nan, pi
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.runtime.jit import kernel

# slots of `MixtureWork.reached`
LOG_LIKELIHOOD, OBJECTIVE, CONVERGED = 0, 1, 2


class MixtureRows(NamedTuple):
    """The rows of a table for a mixture."""

    values: NDArray[np.float64]  # (n_rows, n_continuous)
    codes: NDArray[np.int32]  # (n_rows, n_discrete), the levels of all columns numbered through


class MixtureState(NamedTuple):
    """Parameters of K classes; a class of weight 0 is dead."""

    weights: NDArray[np.float64]  # (K,)
    means: NDArray[np.float64]  # (n_continuous, K)
    variances: NDArray[np.float64]  # (n_continuous, K)
    probabilities: NDArray[np.float64]  # (n_levels, K)


class MixtureWork(NamedTuple):
    """Statistics of a pass over the rows, and work space; mutated."""

    mass: NDArray[np.float64]  # (K,) sums of memberships
    sums: NDArray[np.float64]  # (n_continuous, K) of membership times distance to the class mean
    squares: NDArray[np.float64]  # (n_continuous, K) of membership times squared distance
    counts: NDArray[np.float64]  # (n_levels, K) sums of memberships of the rows with a level
    constants: NDArray[np.float64]  # (K,)
    precisions: NDArray[np.float64]  # (n_continuous, K) 1 / (2 variance)
    logs: NDArray[np.float64]  # (n_levels, K) of the probabilities
    row: NDArray[np.float64]  # (K,)
    # (3,) LOG_LIKELIHOOD and OBJECTIVE of the last whole pass; CONVERGED is 1 or 0
    reached: NDArray[np.float64]
    stop: NDArray[np.uint8]  # (1,) raised to give up


class MixtureRule(NamedTuple):
    """How statistics become parameters."""

    least_variance: float
    pseudo_counts: NDArray[np.float64]  # (n_levels,) added to every class's count of a level
    pseudo_count: float  # their sum over the levels of one column
    least_rows: float  # a class with less mass dies
    tolerance: float  # gain of the objective, over all rows, at which EM ends


@kernel
def _clear(work: MixtureWork) -> None:
    """Set the statistics of a pass to 0."""
    n_classes = work.mass.shape[0]
    for k in range(n_classes):
        work.mass[k] = 0.0
    for c in range(work.sums.shape[0]):
        for k in range(n_classes):
            work.sums[c, k] = 0.0
            work.squares[c, k] = 0.0
    for v in range(work.counts.shape[0]):
        for k in range(n_classes):
            work.counts[v, k] = 0.0


@kernel
def _prepare(state: MixtureState, work: MixtureWork) -> None:
    """Fill ``work.constants``, ``work.precisions`` and ``work.logs`` from the parameters."""
    for k in range(state.weights.shape[0]):
        work.constants[k] = log(state.weights[k])
        for c in range(state.means.shape[0]):
            work.constants[k] -= 0.5 * log(2.0 * pi * state.variances[c, k])
            work.precisions[c, k] = 0.5 / state.variances[c, k]
        for v in range(state.probabilities.shape[0]):
            work.logs[v, k] = log(state.probabilities[v, k])


@kernel
def _row_memberships(rows: MixtureRows, i: int, means: NDArray[np.float64], work: MixtureWork) -> float:
    """Fill ``work.row`` with the memberships of row `i` and return its log density; see `_prepare`."""
    row = work.row
    n_classes = row.shape[0]
    for k in range(n_classes):
        row[k] = work.constants[k]
    for c in range(means.shape[0]):
        x = rows.values[i, c]
        for k in range(n_classes):
            distance = x - means[c, k]
            row[k] -= distance * distance * work.precisions[c, k]
    for d in range(rows.codes.shape[1]):
        v = rows.codes[i, d]
        for k in range(n_classes):
            row[k] += work.logs[v, k]
    top = -inf
    for k in range(n_classes):
        if row[k] > top:
            top = row[k]
    total = 0.0
    for k in range(n_classes):
        row[k] = exp(row[k] - top)
        total += row[k]
    for k in range(n_classes):
        row[k] /= total
    return top + log(total)


@kernel
def _count(rows: MixtureRows, i: int, means: NDArray[np.float64], work: MixtureWork) -> None:
    """Add row `i`, with the memberships ``work.row``, to the statistics."""
    row = work.row
    n_classes = row.shape[0]
    for k in range(n_classes):
        work.mass[k] += row[k]
    for c in range(means.shape[0]):
        x = rows.values[i, c]
        for k in range(n_classes):
            distance = x - means[c, k]  # to the mean before the step: free of cancellation
            weighted = row[k] * distance
            work.sums[c, k] += weighted
            work.squares[c, k] += weighted * distance
    for d in range(rows.codes.shape[1]):
        v = rows.codes[i, d]
        for k in range(n_classes):
            work.counts[v, k] += row[k]


@kernel
def count_assigned(
    rows: MixtureRows, labels: NDArray[np.int64], state: MixtureState, work: MixtureWork
) -> None:
    """Fill the statistics with rows that belong wholly to the class of their label, int64 (n_rows,)."""
    _clear(work)
    for k in range(work.row.shape[0]):
        work.row[k] = 0.0
    for i in range(labels.shape[0]):
        work.row[labels[i]] = 1.0
        _count(rows, i, state.means, work)
        work.row[labels[i]] = 0.0


@kernel
def expect(rows: MixtureRows, state: MixtureState, work: MixtureWork) -> float:
    """Fill the statistics under the parameters and return the log likelihood, or NaN if stopped."""
    _prepare(state, work)
    _clear(work)
    log_likelihood = 0.0
    for i in range(rows.values.shape[0]):
        if i % 4096 == 0 and work.stop[0] != 0:
            return nan
        log_likelihood += _row_memberships(rows, i, state.means, work)
        _count(rows, i, state.means, work)
    return log_likelihood


@kernel
def _maximise(state: MixtureState, work: MixtureWork, rule: MixtureRule) -> bool:
    """Set the parameters by the statistics, and return whether a class died; the largest never does."""
    n_classes = state.weights.shape[0]
    largest = 0
    for k in range(n_classes):
        if work.mass[k] > work.mass[largest]:
            largest = k
    died = False
    total = 0.0
    for k in range(n_classes):
        if k != largest and work.mass[k] < rule.least_rows:
            died = died or state.weights[k] > 0.0
            work.mass[k] = 0.0
        total += work.mass[k]
    for k in range(n_classes):
        mass = work.mass[k]
        state.weights[k] = mass / total
        if mass == 0.0:
            continue
        for c in range(state.means.shape[0]):
            shift = work.sums[c, k] / mass
            state.means[c, k] += shift
            state.variances[c, k] = max(work.squares[c, k] / mass - shift * shift, rule.least_variance)
        for v in range(state.probabilities.shape[0]):
            state.probabilities[v, k] = (work.counts[v, k] + rule.pseudo_counts[v]) / (
                mass + rule.pseudo_count
            )
    return died


@kernel
def _log_prior(state: MixtureState, rule: MixtureRule) -> float:
    """Return the log prior of the pseudo-counts, up to a constant for each living class."""
    log_prior = 0.0
    if rule.pseudo_count > 0.0:
        for v in range(state.probabilities.shape[0]):
            for k in range(state.weights.shape[0]):
                if state.weights[k] > 0.0:
                    log_prior += rule.pseudo_counts[v] * log(state.probabilities[v, k])
    return log_prior


@kernel
def em_steps(
    rows: MixtureRows, state: MixtureState, work: MixtureWork, rule: MixtureRule, n_steps: int
) -> int:
    """Take up to `n_steps` steps, each new parameters and a pass over the rows; return how many were taken.

    The statistics must have been computed. Ends early if the objective (log likelihood plus log prior) gains no more
    than the tolerance, or if stopped; after a stop the last parameters have no pass.
    """
    reached = work.reached
    for step in range(n_steps):
        died = _maximise(state, work, rule)
        log_likelihood = expect(rows, state, work)
        if log_likelihood != log_likelihood:
            return step
        objective = log_likelihood + _log_prior(state, rule)
        gain = objective - reached[OBJECTIVE]
        reached[LOG_LIKELIHOOD] = log_likelihood
        reached[OBJECTIVE] = objective
        if gain <= rule.tolerance and not died:
            reached[CONVERGED] = 1.0
            return step + 1
    return n_steps


@kernel
def fill_memberships(
    rows: MixtureRows, state: MixtureState, work: MixtureWork, out: NDArray[np.float64]
) -> None:
    """Fill `out`, (n_rows, K), with the probability of every class given a row."""
    _prepare(state, work)
    for i in range(out.shape[0]):
        _row_memberships(rows, i, state.means, work)
        for k in range(out.shape[1]):
            out[i, k] = work.row[k]


@kernel
def best_class_cut(
    below: NDArray[np.float64], rows_below: NDArray[np.int64], low: int, high: int
) -> tuple[int, float]:
    """Return the best cut of the distinct values `low` to `high` - 1, as the value above it, and the entropy after it.

    The entropy is summed over the rows of the block, in nats; of equally good cuts the lowest is taken.

    Parameters
    ----------
    below : (n_distinct + 1, K) sums of memberships of the rows under each distinct value
    rows_below : (n_distinct + 1,) their number
    low, high : the block, at least two distinct values
    """
    best, cut = inf, low
    for i in range(low + 1, high):
        n_left = float(rows_below[i] - rows_below[low])
        n_right = float(rows_below[high] - rows_below[i])
        total = n_left * log(n_left) + n_right * log(n_right)
        for k in range(below.shape[1]):
            left = below[i, k] - below[low, k]
            right = below[high, k] - below[i, k]
            if left > 0.0:  # rounding can leave less than nothing
                total -= left * log(left)
            if right > 0.0:
                total -= right * log(right)
        # relative: smaller differences of entropies are rounding
        if cut == low or total < best - 1e-12 * (n_left + n_right):
            best, cut = total, i
    return cut, best
