"""Multi-objective benchmark functions: binary, minimised, with partial evaluation and known fronts.

The literature maximises these functions; every objective here is the negative of one. Weights are rounded as in
`benchmarks`, so that sums are exact and equal genotypes have equal objectives to the last bit.
"""

from __future__ import annotations

from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.problems.base import CompiledProblem, KernelProblem, Solution, new_journal
from gomea_bn.problems.benchmarks import (
    as_neighbours,
    checked_edges,
    checked_size,
    drawn_edges,
    drawn_weights,
    exact,
)
from gomea_bn.problems.kernels.benchmarks import (
    BlockData,
    KnapsackData,
    PairData,
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

# largest number of genotypes whose enumeration takes about a second
_MOST_GENOTYPES = 1 << 20


class _Bits(KernelProblem):
    """A problem over binary genes with several objectives."""

    def __init__(self, data: Any, n_variables: int, n_terms: int, n_objectives: int) -> None:
        super().__init__(data, np.full(n_variables, 2), n_terms=n_terms, n_objectives=n_objectives)

    @cached_property
    def front(self) -> NDArray[np.float64] | None:
        """The Pareto front, shape (n_points, n_objectives), in lexical order; None if it is not known."""
        return brute_force_front(self) if 2**self.n_variables <= _MOST_GENOTYPES else None


class OneMaxZeroMax(_Bits):
    """Minus the number of ones, and minus the number of zeros: every genotype is Pareto-optimal.

    Examples
    --------
    >>> from gomea_bn import optimise
    >>> len(optimise(OneMaxZeroMax(6), random_state=1, max_evaluations=5_000).F)
    7
    """

    def __init__(self, n_variables: int) -> None:
        n = checked_size("n_variables", n_variables, 1)
        super().__init__(BlockData(-np.array([[0.0, 1.0], [1.0, 0.0]])), n, n, 2)

    @cached_property
    def front(self) -> NDArray[np.float64]:
        """The n_variables + 1 points (-i, i - n_variables), in lexical order."""
        return _line(np.array([-self.n_variables, 0]), np.array([1, -1]), self.n_variables)


class TrapInverseTrap(_Bits):
    """Concatenated deceptive traps, and the same with ones and zeros exchanged.

    In the first objective (before its sign is changed) a block with u ones is worth k if u = k, else k - 1 - u. In the
    second it is worth k if u = 0, else u - 1.

    Parameters
    ----------
    n_variables : int
        Number of genes, a multiple of `k`.
    k : int
        Number of genes per block, at least 2.

    Examples
    --------
    >>> from gomea_bn import optimise
    >>> optimise(TrapInverseTrap(10), random_state=1, max_evaluations=20_000).F.tolist()
    [[-10.0, -8.0], [-9.0, -9.0], [-8.0, -10.0]]
    """

    def __init__(self, n_variables: int, k: int = 5) -> None:
        self.k = checked_size("k", k, 2)
        n = checked_size("n_variables", n_variables, self.k)
        if n % self.k:
            raise GomeaBnError(f"n_variables must be a multiple of {self.k}, got {n}.")
        trap = np.array([*range(self.k - 1, -1, -1), self.k], np.float64)
        data = BlockData(-np.stack([trap, trap[::-1]], axis=1))
        super().__init__(data, n, n // self.k, 2)

    @cached_property
    def front(self) -> NDArray[np.float64]:
        """The n_variables / k + 1 points of blocks that are all ones or all zeros, in lexical order."""
        best, second = self.n_variables, self.n_variables - self.n_variables // self.k
        return _line(np.array([-best, -second]), np.array([1, -1]), self.n_variables // self.k)


class LOTZ(_Bits):
    """Minus the number of leading ones, and minus the number of trailing zeros.

    Examples
    --------
    >>> from gomea_bn import optimise
    >>> optimise(LOTZ(3), random_state=1, max_evaluations=2_000).F.tolist()
    [[-3.0, 0.0], [-2.0, -1.0], [-1.0, -2.0], [0.0, -3.0]]
    """

    def __init__(self, n_variables: int) -> None:
        n = checked_size("n_variables", n_variables, 1)
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
        Number of vertices.
    edges : array_like of int, shape (n_edges, 2)
        Pairs of different vertices.
    weights : array_like of shape (n_objectives, n_edges)
        Weights of the edges in each objective; they may be negative.

    Notes
    -----
    Up to 20 vertices `front` is computed by enumeration.

    Examples
    --------
    >>> from gomea_bn import optimise
    >>> path = MultiObjectiveMaxCut(3, [(0, 1), (1, 2)], [[1.0, 1.0], [2.0, -1.0]])
    >>> optimise(path, random_state=1, max_evaluations=1_000).F.tolist()
    [[-2.0, -1.0], [-1.0, -2.0]]
    """

    data: PairData

    def __init__(self, n_vertices: int, edges: ArrayLike, weights: ArrayLike) -> None:
        n = checked_size("n_vertices", n_vertices, 1)
        values = np.asarray(weights, np.float64)
        if values.ndim != 2 or not len(values):
            raise GomeaBnError(f"weights must have shape (n_objectives, n_edges), got {values.shape}.")
        pairs = np.zeros((0, 2), np.int64)
        rounded = np.zeros_like(values)
        for k, row in enumerate(values):
            pairs, checked = checked_edges(n, edges, row)
            rounded[k] = exact(checked, float(np.abs(checked).sum()), "weights")
        starts, neighbours, order = as_neighbours(n, pairs)
        by_neighbour = np.ascontiguousarray(np.tile(-rounded.T, (2, 1))[order])
        data = PairData(offset=0.0, starts=starts, neighbours=neighbours, weights=by_neighbour)
        super().__init__(data, n, len(pairs), len(values))

    @classmethod
    def random_graph(
        cls,
        n_vertices: int,
        n_edges: int,
        n_objectives: int = 2,
        *,
        weights: str = "uniform",
        random_state: int | None = None,
    ) -> MultiObjectiveMaxCut:
        """Return a graph of `n_edges` distinct edges drawn uniformly.

        Parameters
        ----------
        n_vertices, n_edges, n_objectives : int
            Sizes of the problem.
        weights : {"sign", "uniform"}
            -1 or 1 with equal probability, or uniform in [-1, 1].
        random_state : int, optional
            Seed of edges and weights.
        """
        n = checked_size("n_vertices", n_vertices, 2)
        m = checked_size("n_objectives", n_objectives, 1)
        generator = np.random.default_rng(random_state)
        edges = drawn_edges(n, n_edges, generator)
        return cls(n, edges, [drawn_weights(weights, n_edges, generator) for _ in range(m)])


class MultiObjectiveKnapsack(_Bits):
    """Minus the profits of items in several knapsacks, where every chosen item is in all knapsacks.

    Parameters
    ----------
    profits : array_like of shape (n_objectives, n_items)
        Profit of each item in each knapsack, at least 0.
    weights : array_like of shape (n_objectives, n_items)
        Positive weight of each item in each knapsack.
    capacities : array_like of shape (n_objectives,), optional
        Largest weight that each knapsack carries; by default half of the weight of all items.

    Notes
    -----
    The repair is that of Zitzler and Thiele (1999): while a knapsack is overloaded, the chosen item with the least
    ratio of profit to weight is removed, the first of equal ones. An item's ratio is the largest over the knapsacks.
    The genotype is repaired, too. Up to 20 items `front` is computed by enumeration.

    Examples
    --------
    >>> from gomea_bn import optimise
    >>> problem = MultiObjectiveKnapsack([[3, 1], [1, 3]], [[1, 1], [1, 1]])
    >>> optimise(problem, random_state=1, max_evaluations=1_000).X.tolist()
    [[1, 0], [0, 1]]
    """

    data: KnapsackData

    def __init__(self, profits: ArrayLike, weights: ArrayLike, capacities: ArrayLike | None = None) -> None:
        profit, weight = np.array(profits, np.float64), np.array(weights, np.float64)
        if profit.ndim != 2 or not profit.size or profit.shape != weight.shape:
            raise GomeaBnError(
                "profits and weights must both have shape (n_objectives, n_items), "
                f"got {profit.shape} and {weight.shape}."
            )
        for name, array in (("profits", profit), ("weights", weight)):
            for k, row in enumerate(array):
                array[k] = exact(row, float(np.abs(row).sum()), name)
        if (profit < 0).any() or (weight <= 0).any():
            raise GomeaBnError(
                "profits must be at least 0 and weights above 0, "
                f"got the least profit {profit.min():g} and the least weight {weight.min():g}."
            )
        n_objectives, n_items = profit.shape
        limit = weight.sum(axis=1) / 2 if capacities is None else np.asarray(capacities, np.float64)
        if limit.shape != (n_objectives,) or not (limit >= 0).all():
            raise GomeaBnError(
                f"capacities must be {n_objectives} numbers of at least 0, one per knapsack, got {capacities!r:.80}."
            )
        order = np.argsort((profit / weight).max(axis=0), kind="stable").astype(np.int64)
        data = KnapsackData(
            profits=np.ascontiguousarray(-profit.T),
            weights=np.ascontiguousarray(weight.T),
            capacities=limit.copy(),
            drop_order=order,
        )
        super().__init__(data, n_items, n_items + n_objectives, n_objectives)

    @classmethod
    def random(
        cls, n_items: int, n_objectives: int = 2, *, random_state: int | None = None
    ) -> MultiObjectiveKnapsack:
        """Return an instance whose profits and weights are integers drawn uniformly from 10 to 100."""
        n = checked_size("n_items", n_items, 1)
        m = checked_size("n_objectives", n_objectives, 1)
        generator = np.random.default_rng(random_state)
        return cls(*generator.integers(10, 101, (2, m, n)))


def brute_force_front(problem: CompiledProblem) -> NDArray[np.float64]:
    """Return the Pareto front of a small problem by evaluating every genotype.

    Parameters
    ----------
    problem : CompiledProblem
        A problem with at most 2**20 genotypes.

    Returns
    -------
    front : ndarray of shape (n_points, n_objectives), float64
        Distinct nondominated objective vectors of feasible genotypes, in lexical order.

    Raises
    ------
    GomeaBnError
        For a problem with more genotypes.
    """
    import moocore

    n = prod(problem.alphabet.tolist())
    if n > _MOST_GENOTYPES:
        raise GomeaBnError(
            f"problem must have at most {_MOST_GENOTYPES:,} genotypes to be enumerated, this one has {n:,}."
        )
    blank = Solution(
        genotype=np.zeros(problem.n_variables, np.int16),
        terms=np.zeros(problem.n_terms),
        aux=np.zeros(problem.n_aux, np.uint64),
        objectives=np.zeros(problem.n_objectives),
        violation=np.zeros(1),
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
    return np.asarray(points[np.asarray(moocore.is_nondominated(points))], np.float64)
