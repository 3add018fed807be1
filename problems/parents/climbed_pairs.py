"""Pairs of variables that local searches over parent sets join: candidates of a longer search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.knowledge import EdgeRules
from gomea_bn.problems.parents.order_starts import DEPTHS, OrderStarts
from gomea_bn.problems.parents.pricing import ParentLibraries
from gomea_bn.problems.parents.variable_orders import Arc, arcs_of, random_order
from gomea_bn.problems.scoring.family_scorer import FamilyScorer

__all__ = ["WidenedPairs", "pairs_of_climbs", "widened_pairs"]

# rounds of `widened_pairs`
_MOST_ROUNDS = 3


def pairs_of_climbs(
    scorer: FamilyScorer, rules: EdgeRules, n_climbs: int, generator: np.random.Generator
) -> NDArray[np.bool_]:
    """Return the pairs of variables that are joined in the graphs of searches from random orders, (N, N), symmetric."""
    libraries = ParentLibraries(scorer, rules, None)
    n = len(scorer.variables)
    joined = np.zeros((n, n), np.bool_)
    for _ in range(n_climbs):
        order = random_order(libraries.required, generator)
        for v, parents in enumerate(libraries.climbed(order, generator, np.zeros(1, np.uint8))):
            joined[v, list(parents)] = True
    return joined | joined.T


@dataclass(frozen=True)
class WidenedPairs:
    """Pairs of variables that matter around a good graph, and that graph.

    Attributes
    ----------
    pairs : ndarray of shape (N, N), bool
        Symmetric.
    edges : list of (parent, child)
    """

    pairs: NDArray[np.bool_]
    edges: list[Arc]


def widened_pairs(
    scorer: FamilyScorer,
    rules: EdgeRules,
    pairs: NDArray[np.bool_],
    generator: np.random.Generator,
    is_late: Callable[[], bool] = lambda: False,
) -> WidenedPairs:
    """Return some pairs and those that they lack around the graph of a local search, in a few rounds.

    A round finds a graph within the pairs, and then scores every variable as a further parent of every other one, and
    in place of each of its parents. A ranking before any search is filled by variables that predict a column equally
    well; given one of them as a parent, the others gain little. Searches from other orders follow, see `OrderStarts`.

    Parameters
    ----------
    scorer : FamilyScorer
        Every variable has one policy.
    rules : EdgeRules
    pairs : ndarray of shape (N, N), bool
        Symmetric.
    generator : numpy.random.Generator
    is_late : callable
        Whether no time is left, asked before every piece of work; the graph is then the present one.
    """
    libraries = ParentLibraries(scorer, rules, pairs, is_late)
    stop = np.zeros(1, np.uint8)
    libraries.enter_pairs(stop)
    sets = libraries.improved(random_order(libraries.required, generator), generator, stop, DEPTHS)
    for _ in range(_MOST_ROUNDS):
        if stop[0] or not libraries.widen(sets, stop):
            break
        sets = libraries.improved(random_order(sets, generator), generator, stop, DEPTHS)
    best = OrderStarts(libraries, generator, stop).improved(sets)
    return WidenedPairs(libraries.pairs, arcs_of(best))
