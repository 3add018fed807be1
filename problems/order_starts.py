"""Graphs of several local searches over orders of the variables, of which the best ones are searched longer.

A local search over orders can end thousands of nats below the one that begins at another order. Another start takes
seconds, and kicks of a bad graph rarely mend it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.parent_pricing import ParentLibraries
from gomea_bn.problems.scores import is_gain
from gomea_bn.problems.variable_orders import Parents, random_order

__all__ = ["DEPTHS", "OrderStarts"]

DEPTHS = (0, 1, 2, 4, 8, 1_000)
"""Generations of ancestors that chains of variables change with a variable; the last number stands for all of them."""

# searches from further orders; the first of them begins at a greedy graph
_MOST_STARTS = 6
# graphs with the best score after which no further search begins
_MOST_EQUAL = 3
# kicks without a gain of every graph, and then of how many best ones
_IDLE_KICKS = 50
_ROUNDS_OF_BEST = ((3, 100), (1, 400))
# passes over all chains of a further graph before its kicks
_N_IMPROVEMENTS = 2
# times that pairs are added around the best graph
_MOST_WIDENED = 3


class OrderStarts:
    """Local searches from several orders in the same libraries of parent sets.

    Parameters
    ----------
    libraries : ParentLibraries
        They grow.
    generator : numpy.random.Generator
    stop : ndarray of shape (1,), uint8
        Raised by another thread, or by the libraries when no time is left, to end early.
    """

    def __init__(
        self, libraries: ParentLibraries, generator: np.random.Generator, stop: NDArray[np.uint8]
    ) -> None:
        self.libraries = libraries
        self.generator = generator
        self.stop = stop

    def improved(self, first: Sequence[Parents]) -> Sequence[Parents]:
        """Return the best graph of searches from a graph and from other orders.

        Every search gets few kicks, and the best graphs get more in rounds of fewer and fewer graphs. Pairs that the
        best graph lacks are then added, as long as this gains.

        Parameters
        ----------
        first : sequence of tuple of int
            Parents of every variable; they are in its library.
        """
        graphs = [self._kicked(first, _IDLE_KICKS)]
        for start in range(_MOST_STARTS):
            if self.stop[0] or self._is_settled(graphs):
                break
            graphs.append(self._kicked(self._further_graph(start), _IDLE_KICKS))
        for n_kept, most_idle in _ROUNDS_OF_BEST:
            graphs.sort(key=self.libraries.score, reverse=True)
            graphs = [self._kicked(graph, most_idle) for graph in graphs[:n_kept]]
        return self._widened(max(graphs, key=self.libraries.score))

    def _is_settled(self, graphs: Sequence[Sequence[Parents]]) -> bool:
        """Return whether as many graphs as needed have the best score."""
        scores = [self.libraries.score(graph) for graph in graphs]
        best = max(scores)
        return sum(not is_gain(best - score, best) for score in scores) >= _MOST_EQUAL

    def _further_graph(self, start: int) -> Sequence[Parents]:
        """Return the graph at which a local search without kicks ends, from a greedy graph or a random order."""
        libraries = self.libraries
        sets = self._greedy_graph() if start == 0 else libraries.required
        for _ in range(_N_IMPROVEMENTS):
            sets = libraries.improved(random_order(sets, self.generator), self.generator, self.stop, DEPTHS)
        return sets

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

    def _kicked(self, sets: Sequence[Parents], most_idle: int) -> Sequence[Parents]:
        order = random_order(sets, self.generator)
        return self.libraries.kicked(order, self.generator, self.stop, DEPTHS, most_idle)

    def _widened(self, sets: Sequence[Parents]) -> Sequence[Parents]:
        """Return a graph after pairs around it were added, and it was improved with them, while that gains."""
        libraries = self.libraries
        for _ in range(_MOST_WIDENED):
            if self.stop[0] or not libraries.widen(sets, self.stop):
                break
            order = random_order(sets, self.generator)
            larger = libraries.improved(order, self.generator, self.stop, DEPTHS)
            larger = self._kicked(larger, _IDLE_KICKS)
            if not is_gain(libraries.score(larger) - libraries.score(sets), libraries.score(sets)):
                break
            sets = larger
        return sets
