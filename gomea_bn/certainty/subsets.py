"""Dynamic programmes over all subsets of the variables: the best score of every subset."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gomea_bn.certainty.parent_sets import ScoredParentSets

MOST_VARIABLES = 20
"""Largest number of variables: the tables hold 2 to this power times this number of floats, 170 MB."""


def over_subsets(sets: ScoredParentSets, combine: np.ufunc) -> NDArray[np.float64]:
    """Return a sum or maximum of the scores of all parent sets within every subset, float64 (2**n_variables,).

    Parameters
    ----------
    sets : ScoredParentSets
        Parent sets of one variable.
    combine : ufunc
        `numpy.maximum`, or `numpy.logaddexp` for the logarithm of a sum.
    """
    n = sets.members.shape[1]
    table = np.full(1 << n, -np.inf)
    table[sets.masks] = sets.scores
    for bit in range(n):
        halves = table.reshape(-1, 2, 1 << bit)
        combine(halves[:, 1], halves[:, 0], out=halves[:, 1])
    return table


def best_of_subsets(sets: Sequence[ScoredParentSets]) -> NDArray[np.float64]:
    """Return the best score of a graph on every subset of the variables, in nats, float64 (2**n_variables,).

    A graph has a sink, whose parents are among the other variables, and the rest is a graph again (Silander &
    Myllymäki, "A simple approach for finding the globally optimal Bayesian network structure", UAI 2006).
    """
    within = [over_subsets(of_child, np.maximum) for of_child in sets]
    n = len(within)
    subsets = np.arange(1 << n)
    n_members = np.zeros(1 << n, np.int64)
    for v in range(n):
        n_members += subsets >> v & 1
    best = np.full(1 << n, -np.inf)
    best[0] = 0.0
    order = np.argsort(n_members, kind="stable")
    ends = np.cumsum(np.bincount(n_members))
    for size in range(1, n + 1):
        layer = order[ends[size - 1] : ends[size]]
        for v in range(n):
            with_v = layer[layer >> v & 1 == 1]
            others = with_v ^ (1 << v)
            best[with_v] = np.maximum(best[with_v], best[others] + within[v][others])
    return best
