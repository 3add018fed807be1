"""Multi-objective benchmark functions of the field: binary, minimised, with partial evaluation and known fronts.

The literature maximises these functions; every objective here is the negative of one. Weights are rounded as in
`benchmarks`, so that sums are exact and equal genotypes have equal objectives to the last bit.
"""

from __future__ import annotations

from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.errors import GomeaBnError, is_integer
from gomea_bn.problems.base import KernelProblem, Solution, new_journal
from gomea_bn.problems.benchmarks import _checked_edges, _checked_size, _drawn_weights, _exact
from gomea_bn.problems.kernels.multi_objective import (
    BlockFrontData,
    CutFrontData,
    KnapsackData,
    RunLengthData,
    evaluate_every,
)

__all__ = [
    "LOTZ",
    "MultiObjectiveKnapsack",
    "MultiObjectiveMaxCut",
    "OneMaxZeroMax",
    "TrapInverseTrap",
    "brute_force_front",
]

# enumerating these takes about a second
_MOST_GENOTYPES = 1 << 20


class _Bits(KernelProblem):
    """Binary genes and several objectives."""

    def __init__(self, data: Any, n_variables: int, n_terms: int, n_objectives: int) -> None:
        super().__init__(data, np.full(n_variables, 2), n_terms=n_terms, n_objectives=n_objectives)

    @cached_property
    def front(self) -> NDArray[np.float64] | None:
        """The Pareto front, shape (n_points, n_objectives), in lexical order; None where it is not known."""
        return brute_force_front(self) if 2**self.n_variables <= _MOST_GENOTYPES else None


class OneMaxZeroMax(_Bits):
    """Minus the number of ones, and minus the number of zeros: every genotype is Pareto-optimal."""

    def __init__(self, n_variables: int) -> None:
        n = _checked_size("n_variables", n_variables, 1)
        super().__init__(BlockFrontData(-np.array([[0.0, 1.0], [1.0, 0.0]])), n, n, 2)

    @cached_property
    def front(self) -> NDArray[np.float64]:
        """The n_variables + 1 points (-i, i - n_variables), in lexical order."""
        return _line(np.array([-self.n_variables, 0]), np.array([1, -1]), self.n_variables)


class TrapInverseTrap(_Bits):
    """Concatenated deceptive traps, and the same with ones and zeros exchanged.

    Parameters
    ----------
    n_variables : int
        A multiple of `k`.
    k : int
        Genes per block, at least 2. A block with u ones is worth k if u = k, else k - 1 - u, to the first objective
        (before its sign is changed), and k if u = 0, else u - 1, to the second.
    """

    def __init__(self, n_variables: int, k: int = 5) -> None:
        self.k = _checked_size("k", k, 2)
        n = _checked_size("n_variables", n_variables, self.k)
        if n % self.k:
            raise GomeaBnError(f"n_variables must be a multiple of {self.k}, got {n}.")
        trap = np.array([*range(self.k - 1, -1, -1), self.k], np.float64)
        data = BlockFrontData(-np.stack([trap, trap[::-1]], axis=1))
        super().__init__(data, n, n // self.k, 2)

    @cached_property
    def front(self) -> NDArray[np.float64]:
        """The n_variables / k + 1 points of blocks that are all ones or all zeros, in lexical order."""
        best, second = self.n_variables, self.n_variables - self.n_variables // self.k
        return _line(np.array([-best, -second]), np.array([1, -1]), self.n_variables // self.k)


class LOTZ(_Bits):
    """Minus the number of leading ones, and minus the number of trailing zeros."""

    def __init__(self, n_variables: int) -> None:
        n = _checked_size("n_variables", n_variables, 1)
        super().__init__(RunLengthData(1.0), n, 2 * n, 2)

    @cached_property
    def front(self) -> NDArray[np.float64]:
        """The n_variables + 1 points (-i, i - n_variables), in lexical order."""
        return _line(np.array([-self.n_variables, 0]), np.array([1, -1]), self.n_variables)


def _line(start: NDArray[np.int64], step: NDArray[np.int64], n_steps: int) -> NDArray[np.float64]:
    """Return the points start, start + step, ..., start + n_steps * step."""
    return (start + np.arange(n_steps + 1)[:, None] * step).astype(np.float64)


class MultiObjectiveMaxCut(_Bits):
    """Minus the weights of the edges between the two sides of a cut, by several sets of weights.

    Parameters
    ----------
    n_vertices : int
    edges : array_like of int, shape (n_edges, 2)
    weights : array_like of shape (n_objectives, n_edges)
        Negative ones allowed.

    Notes
    -----
    `front` is found by enumeration up to 20 vertices.
    """

    data: CutFrontData

    def __init__(self, n_vertices: int, edges: ArrayLike, weights: ArrayLike) -> None:
        n = _checked_size("n_vertices", n_vertices, 1)
        given = np.asarray(weights, np.float64)
        if given.ndim != 2 or not len(given):
            raise GomeaBnError(f"weights must have the shape (n_objectives, n_edges), got {given.shape}.")
        pairs = np.zeros((0, 2), np.int64)
        rounded = np.zeros_like(given)
        for k, row in enumerate(given):
            pairs, checked = _checked_edges(n, edges, row)
            rounded[k] = _exact(checked, float(np.abs(checked).sum()), "weights")
        ends = np.concatenate([pairs[:, 0], pairs[:, 1]])
        others = np.concatenate([pairs[:, 1], pairs[:, 0]])
        order = np.argsort(ends, kind="stable")
        starts = np.searchsorted(ends[order], np.arange(n + 1)).astype(np.int64)
        by_end = np.ascontiguousarray(np.tile(-rounded.T, (2, 1))[order])
        super().__init__(CutFrontData(starts, others[order], by_end), n, len(pairs), len(given))

    @classmethod
    def random_graph(
        cls,
        n_vertices: int,
        n_edges: int,
        n_objectives: int = 2,
        *,
        weights: str = "uniform",
        seed: int | None = None,
    ) -> MultiObjectiveMaxCut:
        """Return `n_edges` different edges drawn uniformly; `weights` is "sign" (-1 or 1) or "uniform" (in [-1, 1])."""
        n = _checked_size("n_vertices", n_vertices, 2)
        m = _checked_size("n_objectives", n_objectives, 1)
        most = n * (n - 1) // 2
        if not is_integer(n_edges) or not 0 <= n_edges <= most:
            raise GomeaBnError(f"n_edges must be from 0 to {most} for {n} vertices, got {n_edges!r}.")
        generator = np.random.default_rng(seed)
        edges = np.stack(np.triu_indices(n, 1), axis=1)[generator.choice(most, n_edges, replace=False)]
        return cls(n, edges, [_drawn_weights(weights, n_edges, generator) for _ in range(m)])


class MultiObjectiveKnapsack(_Bits):
    """Minus the profits of items in several knapsacks, all of which must hold every chosen item.

    Parameters
    ----------
    profits : array_like of shape (n_objectives, n_items)
        What an item is worth in each knapsack; not negative.
    weights : array_like of shape (n_objectives, n_items)
        What it weighs there; positive.
    capacities : array_like of shape (n_objectives,), optional
        What each knapsack can carry; half of the weight of all items if not given.

    Notes
    -----
    Zitzler and Thiele (1999), whose repair is used: while any knapsack is overloaded, the chosen item with the
    least ratio of profit to weight, each item's largest over the knapsacks, is taken out; of equals the first.
    The genotype is repaired, too. `front` is found by enumeration up to 20 items.
    """

    data: KnapsackData

    def __init__(self, profits: ArrayLike, weights: ArrayLike, capacities: ArrayLike | None = None) -> None:
        profit, weight = np.array(profits, np.float64), np.array(weights, np.float64)
        if profit.ndim != 2 or not profit.size or profit.shape != weight.shape:
            raise GomeaBnError(
                "profits and weights must both have the shape (n_objectives, n_items), "
                f"got {profit.shape} and {weight.shape}."
            )
        for name, array in (("profits", profit), ("weights", weight)):
            for k, row in enumerate(array):
                array[k] = _exact(row, float(np.abs(row).sum()), name)
        if (profit < 0).any() or (weight <= 0).any():
            raise GomeaBnError("profits must not be negative, and weights must be positive.")
        n_objectives, n_items = profit.shape
        limit = weight.sum(axis=1) / 2 if capacities is None else np.asarray(capacities, np.float64)
        if limit.shape != (n_objectives,) or not (limit >= 0).all():
            raise GomeaBnError(
                f"capacities must be {n_objectives} numbers that are not negative, one per knapsack."
            )
        order = np.argsort((profit / weight).max(axis=0), kind="stable").astype(np.int64)
        columns = (np.ascontiguousarray(-profit.T), np.ascontiguousarray(weight.T))
        super().__init__(
            KnapsackData(*columns, limit.copy(), order), n_items, n_items + n_objectives, n_objectives
        )

    @classmethod
    def random(
        cls, n_items: int, n_objectives: int = 2, *, seed: int | None = None
    ) -> MultiObjectiveKnapsack:
        """Return the usual instances: profits and weights are whole numbers drawn uniformly from 10 to 100."""
        n = _checked_size("n_items", n_items, 1)
        m = _checked_size("n_objectives", n_objectives, 1)
        generator = np.random.default_rng(seed)
        return cls(*generator.integers(10, 101, (2, m, n)))


def brute_force_front(problem: KernelProblem) -> NDArray[np.float64]:
    """Return the Pareto front of a small problem by evaluating every genotype.

    Parameters
    ----------
    problem : KernelProblem
        With at most 2**20 genotypes.

    Returns
    -------
    front : ndarray of shape (n_points, n_objectives), float64
        The non-dominated objective vectors of feasible genotypes, each once, in lexical order.
    """
    import moocore

    n = prod(problem.alphabet.tolist())
    if n > _MOST_GENOTYPES:
        raise GomeaBnError(
            f"brute_force_front evaluates at most {_MOST_GENOTYPES} genotypes; this problem has {n}."
        )
    blank = Solution(
        np.zeros(problem.n_variables, np.int16),
        np.zeros(problem.n_terms),
        np.zeros(problem.n_aux, np.uint64),
        np.zeros(problem.n_objectives),
        np.zeros(1),
    )
    journal = new_journal(problem.alphabet, problem.n_terms, problem.n_aux)
    objectives, violations = np.zeros((n, problem.n_objectives)), np.zeros(n)
    data = problem.kernel_data(1)[0]
    evaluate_every(data, problem.alphabet, blank, journal, np.random.default_rng(0), objectives, violations)
    points = objectives[violations == 0]
    points = points[np.lexsort(points.T[::-1])]
    differs = np.ones(len(points), np.bool_)
    differs[1:] = (points[1:] != points[:-1]).any(axis=1)
    points = points[differs]
    front: NDArray[np.float64] = points[np.asarray(moocore.is_nondominated(points))]
    return front
