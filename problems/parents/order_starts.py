"""Graphs of several local searches over orders of the variables, and the pairs that these join: candidates of a search.

A local search over orders can end thousands of nats below the one that begins at another order. Another start takes
seconds, and kicks of a bad graph rarely mend it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.knowledge import EdgeRules
from gomea_bn.problems.parents.pricing import (
    Arc,
    ParentLibraries,
    Parents,
    arcs_of,
    random_order,
    ranked_order,
)
from gomea_bn.problems.scoring.family_scorer import FamilyScorer
from gomea_bn.problems.scoring.scores import is_gain

DEPTHS = (0, 1, 2, 4, 8, 1_000)
"""Generations of ancestors that chains of variables change with a variable; the last number stands for all of them."""

# searches from further orders; the first of them begins at a greedy graph
_MOST_STARTS = 9
# searches after which the best graph gets thorough kicks
_STARTS_OF_ROUND = 3
# graphs with the best score after which no further search begins
_MOST_EQUAL = 3
# graphs that get thorough kicks at the end
_MOST_KICKED = 3
# kicks without a gain: quick ones of every graph, thorough ones of good graphs, and of the best one
_QUICK_KICKS = 100
_THOROUGH_KICKS = 50
_LAST_KICKS = 400
# part of the order that a reversed segment has at least
_SHORTEST_SEGMENT = 10
# times that pairs are added around the best graph
_MOST_WIDENED = 3


@dataclass(eq=False)
class OrderStarts:
    """Local searches from several orders in the same growing libraries, until `stop` is raised."""

    libraries: ParentLibraries
    generator: np.random.Generator
    stop: NDArray[np.uint8]

    def improved(self, first: Sequence[Parents]) -> Sequence[Parents]:
        """Return the best graph of searches from a graph, whose sets are in the libraries, and from other orders.

        Every search gets quick kicks. The best graph gets thorough ones after every few searches, and so do the best
        few graphs at the end. Pairs that the best one lacks are then added, as long as this gains.
        """
        # best score first
        graphs = [self._kicked(first)]
        for start in range(_MOST_STARTS):
            if self.stop[0] or self._is_settled(graphs):
                break
            graphs.append(self._kicked(self._further_graph(start, graphs[0])))
            graphs.sort(key=self.libraries.score, reverse=True)
            if start % _STARTS_OF_ROUND == 0:
                graphs[0] = self._kicked(graphs[0], _THOROUGH_KICKS, is_thorough=True)
        for k, graph in enumerate(graphs[:_MOST_KICKED]):
            graphs[k] = self._kicked(graph, _THOROUGH_KICKS, is_thorough=True)
        best = max(graphs, key=self.libraries.score)
        return self._with_missing_pairs(self._kicked(best, _LAST_KICKS, is_thorough=True))

    def _is_settled(self, graphs: Sequence[Sequence[Parents]]) -> bool:
        """Return whether as many graphs as needed have the score of the first, the best one."""
        best, *scores = [self.libraries.score(graph) for graph in graphs]
        return 1 + sum(not is_gain(best - score, best) for score in scores) >= _MOST_EQUAL

    def _further_graph(self, start: int, best: Sequence[Parents]) -> Sequence[Parents]:
        """Return the graph at which a local search without kicks ends, from an order that suits its number.

        The first one begins at a greedy graph. Then random orders take turns with those of the best graph of which a
        random segment is reversed.
        """
        if start == 0:
            order = random_order(self._greedy_graph(), self.generator)
        elif start % 2:
            order = random_order(self.libraries.required, self.generator)
        else:
            order = self._with_reversed_segment(best)
        sets = self.libraries.improved(order, self.generator, self.stop, DEPTHS)
        return self.libraries.improved(random_order(sets, self.generator), self.generator, self.stop, DEPTHS)

    def _with_reversed_segment(self, sets: Sequence[Parents]) -> NDArray[np.int64]:
        """Return an order of a graph with a random segment reversed; required parents stay before their children."""
        order, n = random_order(sets, self.generator), len(sets)
        length = int(self.generator.integers(n // _SHORTEST_SEGMENT, n // 2 + 1))
        first = int(self.generator.integers(n - length + 1))
        order[first : first + length] = order[first : first + length][::-1]
        return ranked_order(self.libraries.required, np.argsort(order))

    def _greedy_graph(self) -> Sequence[Parents]:
        """Return the graph of libraries that grow by one parent at a time; its sets enter the shared libraries.

        Such a graph can lie near a better one than a graph of all pairs of parents does.
        """
        libraries = self.libraries
        greedy = ParentLibraries(libraries.scorer, libraries.rules, libraries.pairs, libraries.is_late)
        sets = greedy.improved(random_order(greedy.required, self.generator), self.generator, self.stop)
        for v, parents in enumerate(sets):
            libraries.enter(v, parents)
        return sets

    def _kicked(
        self, sets: Sequence[Parents], most_idle: int = _QUICK_KICKS, *, is_thorough: bool = False
    ) -> list[Parents]:
        order = random_order(sets, self.generator)
        return self.libraries.kicked(
            order, self.generator, self.stop, DEPTHS, most_idle, is_thorough=is_thorough
        )

    def _with_missing_pairs(self, sets: Sequence[Parents]) -> Sequence[Parents]:
        """Return a graph after pairs around it were added, and it was improved with them, while that gains."""
        libraries = self.libraries
        for _ in range(_MOST_WIDENED):
            if self.stop[0] or not libraries.widen(sets, self.stop):
                break
            order = random_order(sets, self.generator)
            larger = libraries.improved(order, self.generator, self.stop, DEPTHS)
            larger = self._kicked(larger)
            if not is_gain(libraries.score(larger) - libraries.score(sets), libraries.score(sets)):
                break
            sets = larger
        return sets


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
    """Pairs of variables that matter around a good graph, and the edges (parent, child) of that graph."""

    pairs: NDArray[np.bool_]  # (N, N), symmetric
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
    Every variable has one policy. `is_late` is asked before every piece of work; the graph is then the present one.
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
