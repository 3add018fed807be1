"""Sampled posterior probabilities of edges: Markov chains over orders of the variables.

Given an order, the parents of every variable are independent, and their sums are exact (Friedman & Koller, "Being
Bayesian about network structure", 2003). All orders have the same prior probability, so that a graph counts once for
every order in which its parents come before their children.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gomea_bn.certainty.parent_sets import ParentSets
from gomea_bn.runtime.checkpoints import State
from gomea_bn.runtime.run_state import generator_of, generator_states

__all__ = ["MOST_SAMPLED", "OrderChain"]

MOST_SAMPLED = 62
"""Largest number of variables: parent sets are bits of 64-bit integers."""

# sets whose weight is smaller than that of the best one by this number of nats add nothing
_NEGLIGIBLE = 40.0
# sums that are remembered
_MOST_KNOWN = 1_000_000


class _Sums:
    """Sums over the parent sets before a variable in an order, each computed once."""

    def __init__(self, sets: Sequence[ParentSets]) -> None:
        self._sets = sets
        self._masks = [of_child.masks for of_child in sets]
        self._logs: dict[tuple[int, int], float] = {}

    def _allowed(self, v: int, before: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the positions and scores of the parent sets within `before` that count, best score first."""
        positions = np.flatnonzero(self._masks[v] & ~before == 0)
        scores = self._sets[v].scores[positions]
        most = int(np.searchsorted(-scores, _NEGLIGIBLE - scores[0])) if len(scores) else 0
        return positions[:most], scores[:most]

    def log_sum(self, v: int, before: int) -> float:
        """Return the log of the sum of the weights of the parent sets; minus infinity without any."""
        key = v, before
        value = self._logs.get(key)
        if value is None:
            _, scores = self._allowed(v, before)
            value = float(scores[0] + np.log(np.exp(scores - scores[0]).sum())) if len(scores) else -np.inf
            if len(self._logs) > _MOST_KNOWN:
                self._logs.clear()
            self._logs[key] = value
        return value

    def parent_probabilities(self, v: int, before: int) -> NDArray[np.float64]:
        """Return the probability that each variable is a parent of v, float64 (n_variables,)."""
        positions, scores = self._allowed(v, before)
        weights = np.exp(scores - scores[0])
        return np.asarray(weights @ self._sets[v].members[positions] / weights.sum())


class OrderChain:
    """A Markov chain over orders, whose stationary distribution is the posterior of orders.

    A step takes one variable out of the order and draws its new position from the exact conditional distribution.

    Parameters
    ----------
    sets : sequence of ParentSets
        All allowed parent sets of every variable.
    start : sequence of int
        First order, under which every variable has an allowed parent set.
    generator : numpy Generator
    """

    def __init__(
        self, sets: Sequence[ParentSets], start: Sequence[int], generator: np.random.Generator
    ) -> None:
        self._sums = _Sums(sets)
        self.order = list(start)
        self._generator = generator
        self._samples: list[NDArray[np.float32]] = []

    def state(self) -> State:
        """Return all that further sweeps and the means depend on, for checkpoints."""
        n = len(self.order)
        return {
            "order": self.order,
            "generator": generator_states([self._generator]),
            "samples": np.array(self._samples, np.float32).reshape(-1, n, n),
        }

    def restore(self, state: State) -> None:
        """Go on from what `state` had returned for the same parent sets."""
        if sorted(state["order"]) != sorted(self.order):
            raise ValueError(f"wanted an order of {len(self.order)} variables, got {state['order']}")
        self.order = list(state["order"])
        self._generator = generator_of(state["generator"])
        n = len(self.order)
        self._samples = list(np.array(state["samples"], np.float32).reshape(-1, n, n))

    def sweep(self) -> None:
        """Take as many steps as there are variables, and keep the probabilities of edges given the order."""
        for v in self._generator.permutation(len(self.order)).tolist():
            self._step(v)
        self._samples.append(self._edge_probabilities())

    def _step(self, v: int) -> None:
        others = [u for u in self.order if u != v]
        scores, bit = np.empty(len(self.order)), 1 << v
        differences = np.empty(len(others))
        before = 0
        for position, other in enumerate(others):
            scores[position] = self._sums.log_sum(v, before)
            without = self._sums.log_sum(other, before)
            differences[position] = self._after(other, before | bit, without)
            before |= 1 << other
        scores[-1] = self._sums.log_sum(v, before)
        # the score of each position up to a constant: variables after v may have it as a parent
        logs = scores + np.append(np.cumsum(differences[::-1])[::-1], 0.0)
        weights = np.exp(logs - logs.max())
        position = int(np.searchsorted(np.cumsum(weights), self._generator.random() * weights.sum()))
        others.insert(min(position, len(others)), v)
        self.order = others

    def _after(self, other: int, before: int, without: float) -> float:
        """Return what a variable gains by further variables before it, in nats; finite."""
        gain = self._sums.log_sum(other, before) - without
        # a variable whose required parents come later
        return gain if np.isfinite(gain) else 1e9

    def mean_probabilities(self) -> NDArray[np.float64]:
        """Return the mean probability of every edge, without the first quarter of the sweeps, (n, n)."""
        counted = self._samples[len(self._samples) // 4 :] or [self._edge_probabilities()]
        return np.asarray(np.mean(counted, axis=0), np.float64)

    def _edge_probabilities(self) -> NDArray[np.float32]:
        """Return the probability of every edge given the present order."""
        probabilities = np.zeros((len(self.order), len(self.order)), np.float32)
        before = 0
        for v in self.order:
            probabilities[:, v] = self._sums.parent_probabilities(v, before)
            before |= 1 << v
        return probabilities
