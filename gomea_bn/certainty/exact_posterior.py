"""Exact posterior probabilities of edges by dynamic programming over subsets of the variables.

All graphs have the same prior probability, apart from what the score itself charges. Orders of the variables play no
part, so that no graph counts more for having many of them. The sums over graphs are by inclusion and exclusion of sinks
(Tian & He, "Computing posterior probabilities of structural features in Bayesian networks", UAI 2009).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gomea_bn.certainty.parent_sets import ScoredParentSets, over_subsets

MOST_EXACT = 15
"""Largest number of variables: the time grows with 3 to this power."""


def exact_edge_probabilities(sets: Sequence[ScoredParentSets]) -> NDArray[np.float64]:
    """Return the posterior probability of every edge, float64 (n_variables, n_variables), [parent, child].

    `sets` are all allowed parent sets of every variable. Let a_v(U) be the sum of the weights of the parent sets of v
    within U, f(S) the sum over the graphs on S, and g(U) the sum over the graphs on the other variables, whose parents
    may also lie in U. Then, with T not empty,

    f(S) = sum over T in S of (-1)^(|T|+1) f(S - T) prod over v in T of a_v(S - T),
    g(U) = sum over T outside U of (-1)^(|T|+1) g(U + T) prod over v in T of a_v(U).

    The derivatives of f(all) by a_v(U) give the probabilities. A term is at most f(all) times the probability that U is
    ancestral, so that rounding errors stay below 4^n times 1e-16.
    """
    n = len(sets)
    within = np.array([over_subsets(of_child, np.logaddexp) for of_child in sets])
    up, signs = _graphs_on_subsets(within)
    down = _graphs_on_the_rest(within)
    derivatives = np.zeros((n, 1 << n))
    for subset in range((1 << n) - 1):
        outside, terms, members = _terms(within, subset, n)
        weights = np.exp(up[subset] + terms[1:] + down[subset | outside[1:]] - up[-1]) * signs[members[1:]]
        inside = (outside[1:, None] >> np.arange(n) & 1).astype(np.float64)
        derivatives[:, subset] = weights @ inside
    subsets = np.arange(1 << n)
    probabilities = np.zeros((n, n))
    for parent in range(n):
        having = subsets[subsets >> parent & 1 == 1]
        for child in range(n):
            if child != parent:
                first, second = within[child][having ^ (1 << parent)], within[child][having]
                # 0 where both are minus infinity
                without = np.subtract(first, second, out=np.zeros(len(first)), where=np.isfinite(second))
                probabilities[parent, child] = -derivatives[child][having] @ np.expm1(without)
    return np.clip(probabilities, 0.0, 1.0)


def _terms(
    within: NDArray[np.float64], subset: int, n: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Return all subsets T of the other variables, the sum of log a_v(subset) over v in T, and the sizes of T.

    The empty subset comes first.
    """
    outside, sums, sizes = np.zeros(1, np.int64), np.zeros(1), np.zeros(1, np.int64)
    for v in range(n):
        if not subset >> v & 1:
            outside = np.concatenate((outside, outside | 1 << v))
            sums = np.concatenate((sums, sums + within[v, subset]))
            sizes = np.concatenate((sizes, sizes + 1))
    return outside, sums, sizes


def _graphs_on_subsets(within: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the log of the sum over the graphs on every subset, (2**n,), and the sign of a term by the size of T."""
    n = len(within)
    signs = np.where(np.arange(n + 1) % 2 == 1, 1.0, -1.0)
    # sums with a scale each, completed in the order of the subsets
    scales, totals = np.full(1 << n, -np.inf), np.zeros(1 << n)
    scales[0], totals[0] = 0.0, 1.0
    for subset in range((1 << n) - 1):
        if totals[subset] <= 0:
            continue
        outside, terms, sizes = _terms(within, subset, n)
        targets = subset | outside[1:]
        logs = scales[subset] + np.log(totals[subset]) + terms[1:]
        higher = np.maximum(scales[targets], logs)
        shift = np.where(np.isfinite(higher), higher, 0.0)
        totals[targets] = totals[targets] * np.exp(scales[targets] - shift) + signs[sizes[1:]] * np.exp(
            logs - shift
        )
        scales[targets] = higher
    with np.errstate(divide="ignore"):
        return scales + np.log(np.maximum(totals, 0.0)), signs


def _graphs_on_the_rest(within: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log of the sum over the graphs on the complement of every subset, whose parents may be anywhere."""
    n = len(within)
    logs = np.full(1 << n, -np.inf)
    logs[-1] = 0.0
    for subset in range((1 << n) - 2, -1, -1):
        outside, terms, sizes = _terms(within, subset, n)
        values = terms[1:] + logs[subset | outside[1:]]
        highest = values.max()
        if highest == -np.inf:
            continue
        total = np.exp(values - highest) @ np.where(sizes[1:] % 2 == 1, 1.0, -1.0)
        if total > 0:
            logs[subset] = highest + np.log(total)
    return logs
