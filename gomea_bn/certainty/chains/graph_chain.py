"""Sampled posterior probabilities of edges: Markov chains over graphs, all of which have the same prior probability.

A step draws the parents of one to four variables from their exact joint distribution given the parents of all others
(Goudie & Mukherjee, "A Gibbs sampler for learning DAGs", JMLR 2016). Of the others, only their descent from the drawn
variables matters. The parent sets of a variable are therefore summed by the drawn variables from which their
members descend, and the acyclic graphs over the drawn variables say which sums go together.

Between such steps, covered edges are reversed: those whose ends have the same other parents. Every graph of an
equivalence class is reached from any other by such reversals (Chickering, UAI 1995).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from gomea_bn.certainty.kernels import MOST_DRAWN, STEP, Families, OrderedGraph, WorkSpace, sweep
from gomea_bn.certainty.parent_sets import ScoredParentSets
from gomea_bn.runtime.checkpoints import State, generator_of, generator_states

MARGIN = 15.0
"""Nats below a subset at which a parent set no longer counts: those of ALARM have a probability of .001 together."""


@cache
def _acyclic_graphs(n: int) -> tuple[tuple[int, ...], ...]:
    """Return the parents of every variable, as bits, in all acyclic graphs over n variables."""
    subsets = [[bits for bits in range(1 << n) if not bits >> v & 1] for v in range(n)]
    return tuple(parents for parents in itertools.product(*subsets) if _is_acyclic(parents))


def _is_acyclic(parents: Sequence[int]) -> bool:
    left = (1 << len(parents)) - 1
    while left:
        roots = [v for v, bits in enumerate(parents) if left >> v & 1 and not bits & left]
        if not roots:
            return False
        left -= sum(1 << v for v in roots)
    return True


def _cumulative_partners(sets: Sequence[ScoredParentSets]) -> NDArray[np.float64]:
    """Return cumulative probabilities, per row, of the variables that are drawn together with a variable.

    They depend on the scores alone, not on the state of a chain, which keeps its distribution right.
    """
    n = len(sets)
    weights = np.full((n, n), 0.02)
    for child, of_child in enumerate(sets):
        # a fourth of the score leaves weight to parents that are rare
        shares = np.exp((of_child.scores - of_child.scores[0]) / 4)
        of_parents = shares @ of_child.members / shares.sum()
        weights[:, child] += of_parents
        weights[child] += of_parents
    np.fill_diagonal(weights, 0.0)
    totals = np.cumsum(weights, axis=1)
    return np.asarray(totals / np.maximum(totals[:, -1:], 1e-300))


def chain_families(sets: Sequence[ScoredParentSets]) -> Families:
    """Return the parent sets of all variables as kernels read them."""
    n = len(sets)
    members = np.concatenate([of_child.members for of_child in sets])
    filled = np.full((len(members), max(1, int(members.sum(axis=1).max()))), n, np.uint32)
    rows, variables = np.nonzero(members)
    firsts = np.searchsorted(rows, rows)
    filled[rows, np.arange(len(rows)) - firsts] = variables
    graphs = [_acyclic_graphs(size) for size in range(1, MOST_DRAWN + 1)]
    acyclic = np.zeros((MOST_DRAWN, max(map(len, graphs)), MOST_DRAWN), np.int64)
    for size, of_size in enumerate(graphs, start=1):
        acyclic[size - 1, : len(of_size), :size] = of_size
    offsets = np.concatenate(([0], np.cumsum([len(of_child.scores) for of_child in sets]))).astype(np.int64)
    codes, keys = _keys(members)
    owners = np.repeat(np.arange(n), np.diff(offsets))
    positions = np.lexsort((keys, owners))
    return Families(
        offsets=offsets,
        members=filled,
        scores=np.concatenate([of_child.scores for of_child in sets]),
        weights=np.concatenate([_weights(of_child.scores) for of_child in sets]),
        partners=_cumulative_partners(sets),
        n_acyclic=np.array([len(of_size) for of_size in graphs], np.int64),
        acyclic=acyclic,
        codes=codes,
        keys=keys,
        sorted_keys=keys[positions],
        positions=positions,
    )


def _keys(members: NDArray[np.bool_]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return a random number per variable, and the exclusive or of those of every set's members.

    With 64 bits, two of a million sets have the same key with a probability of 3e-8.
    """
    codes = np.asarray(np.random.default_rng(0).integers(2**64, size=members.shape[1], dtype=np.uint64))
    return codes, np.bitwise_xor.reduce(np.where(members, codes, np.uint64(0)), axis=1)


def _weights(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights of the sets of one variable, best score first; see `Families`."""
    below = scores[0] - scores
    return np.asarray(np.exp(STEP * np.floor(below / STEP) - below))


class SweepSums:
    """Sums of the probabilities of edges over consecutive sweeps, as many sweeps in each sum but the last."""

    def __init__(self, n_variables: int) -> None:
        self._n_variables = n_variables
        self._sums: list[NDArray[np.float64]] = []
        self._counts: list[int] = []
        self._sweeps_in_sum = 1

    @property
    def n_sweeps(self) -> int:
        """Number of sweeps in all sums."""
        return sum(self._counts)

    def state(self) -> State:
        """Return all sums, for checkpoints."""
        return {
            "sums": np.array(self._sums),
            "counts": list(self._counts),
            "sweeps_in_sum": self._sweeps_in_sum,
        }

    def restore(self, state: State) -> None:
        """Go on from what `state` had returned."""
        shape = (-1, self._n_variables + 1, self._n_variables)
        self._sums = list(np.array(state["sums"], np.float64).reshape(shape))
        self._counts, self._sweeps_in_sum = list(state["counts"]), state["sweeps_in_sum"]

    def opened(self, n_sweeps: int) -> tuple[NDArray[np.float64], int]:
        """Return the sum to which the next sweeps add, (n_variables + 1, n_variables), and their number.

        The number is at most `n_sweeps` and counts as taken.
        """
        if not self._counts or self._counts[-1] == self._sweeps_in_sum:
            # sums of consecutive sweeps that are kept, so that the first quarter can be left out at any time
            if len(self._sums) == 64:
                # of too many sums, every two become one
                self._sums = [first + second for first, second in zip(*[iter(self._sums)] * 2, strict=True)]
                self._sweeps_in_sum *= 2
                self._counts = [self._sweeps_in_sum] * len(self._sums)
            self._sums.append(np.zeros((self._n_variables + 1, self._n_variables)))
            self._counts.append(0)
        n_taken = min(n_sweeps, self._sweeps_in_sum - self._counts[-1])
        self._counts[-1] += n_taken
        return self._sums[-1], n_taken

    def mean(self) -> NDArray[np.float64]:
        """Return the mean probability of every edge, without the first quarter of the sweeps, (n, n)."""
        first = len(self._sums) // 4
        total = np.sum(self._sums[first:], axis=0)[: self._n_variables]
        return np.asarray(total / sum(self._counts[first:]))


class GraphChain:
    """A Markov chain over graphs, whose stationary distribution is their posterior.

    `start` has the position of the first parent set of every variable, counted among its own sets. In `order` the
    parents of the start come first. The sums of former sweeps, to which those of the chain are added, may be given.
    """

    def __init__(
        self,
        families: Families,
        start: Sequence[int],
        order: Sequence[int],
        generator: np.random.Generator,
        sums: SweepSums | None = None,
    ) -> None:
        n = len(order)
        self._families = families
        self.generator = generator
        self._graph = OrderedGraph(
            chosen=families.offsets[:-1] + np.array(start, np.int64), order=np.array(order, np.int64)
        )
        self._work = WorkSpace(
            block=np.zeros(MOST_DRAWN, np.int64),
            reached=np.zeros(n + 1, np.int64),
            sums=np.zeros((MOST_DRAWN, 1 << MOST_DRAWN)),
            tops=np.zeros((MOST_DRAWN, 1 << MOST_DRAWN)),
            bases=np.zeros((MOST_DRAWN, 1 << MOST_DRAWN)),
            log_sums=np.zeros((MOST_DRAWN, 1 << MOST_DRAWN)),
            weights=np.zeros(families.acyclic.shape[1]),
            shares=np.zeros(n + 1),
            descends=np.zeros((n + 1, n), np.uint8),
            marks=np.zeros(n + 1, np.int64),
            path=np.zeros(n + 1, np.int64),
            steps=np.zeros(n + 1, np.int64),
            new_order=np.zeros(n + 1, np.int64),
        )
        self.sums = SweepSums(n) if sums is None else sums

    @property
    def chosen(self) -> list[int]:
        """Position of the parent set of every variable, counted among its own sets."""
        return [int(k) for k in self._graph.chosen - self._families.offsets[:-1]]

    def state(self) -> State:
        """Return all that further sweeps and the means depend on, for checkpoints."""
        return {
            "chosen": self._graph.chosen.tolist(),
            "order": self._graph.order.tolist(),
            "generator": generator_states([self.generator]),
            **self.sums.state(),
        }

    def restore(self, state: State) -> None:
        """Go on from what `state` had returned for the same parent sets."""
        n, firsts = len(self._graph.order), self._families.offsets
        chosen, order = np.array(state["chosen"], np.int64), np.array(state["order"], np.int64)
        if sorted(order.tolist()) != list(range(n)):
            raise ValueError(f"wanted an order of {n} variables, got {order.tolist()}")
        if len(chosen) != n or (chosen < firsts[:-1]).any() or (chosen >= firsts[1:]).any():
            raise ValueError(f"wanted a parent set of every variable, got {chosen.tolist()}")
        self._graph.chosen[:], self._graph.order[:] = chosen, order
        self.generator = generator_of(state["generator"])
        self.sums.restore(state)

    def sweep(self, n_sweeps: int = 1) -> None:
        """Take sweeps of as many steps as there are variables, and add the probabilities of edges given the graphs."""
        while n_sweeps > 0:
            total, n_taken = self.sums.opened(n_sweeps)
            sweep(self._families, self._graph, self._work, total, n_taken, self.generator)
            n_sweeps -= n_taken
