"""Discrete benchmark functions: binary, minimised, with partial evaluation and known optima.

The literature maximises these functions; every objective here is the negative of its function. Tables and weights are
rounded to multiples of a power of two (relative 2**-50), which makes sums exact in float64. Equal genotypes therefore
have equal objectives to the last bit, whatever the order of their changes.
"""

from __future__ import annotations

from functools import cached_property
from math import ceil, frexp, log2
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.errors import GomeaBnError, check_choice, check_integer
from gomea_bn.problems.base import KernelProblem
from gomea_bn.problems.kernels.benchmarks import (
    BlockData,
    HiffData,
    PairData,
    WindowData,
    best_bipartition,
    best_windows,
)

__all__ = [
    "HIFF",
    "BimodalTrap",
    "IsingSpinGlass",
    "MaxCut",
    "NKLandscape",
    "OneMax",
    "Trap",
    "Unitation",
    "as_neighbours",
    "checked_edges",
    "checked_size",
    "drawn_edges",
    "drawn_weights",
    "exact",
]


def exact(values: ArrayLike, largest_sum: float, option: str) -> NDArray[np.float64]:
    """Return values rounded so that sums up to a few times `largest_sum` are exact; integers do not change."""
    array = np.asarray(values, np.float64)
    if not np.isfinite(largest_sum):
        raise GomeaBnError(f"{option} must be finite numbers with a finite sum, got the sum {largest_sum}.")
    if largest_sum == 0:
        return array
    grain = 2.0 ** (frexp(largest_sum)[1] - 50)
    return np.round(array / grain) * grain


def checked_size(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Return an option as an int; raises `GomeaBnError` unless it is an integer from `least` to `most`."""
    check_integer(name, value, least, most)
    return int(value)


class _Binary(KernelProblem):
    """A problem over binary genes with the graph of genes that share a sub-function."""

    def __init__(
        self, data: Any, n_variables: int, n_terms: int, target: float | None, n_aux: int = 0
    ) -> None:
        super().__init__(data, np.full(n_variables, 2), n_terms=n_terms, n_aux=n_aux, target=target)

    @cached_property
    def interactions(self) -> NDArray[np.int64]:
        """Pairs of genes that share a sub-function, shape (n_pairs, 2), lower gene first, in lexical order."""
        return self._weighted_interactions()[0]

    @cached_property
    def interaction_weights(self) -> NDArray[np.float64]:
        """Number of sub-functions that each pair of `interactions` shares, shape (n_pairs,)."""
        return self._weighted_interactions()[1]

    def _weighted_interactions(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        raise NotImplementedError


class Unitation(_Binary):
    """The sum over consecutive blocks of genes of a function of each block's number of ones.

    Parameters
    ----------
    n_variables : int
        Number of genes, a multiple of the block size.
    values : array_like of shape (block size + 1,)
        Value of a block by its number of ones, maximised; the objective is minus the sum.

    Examples
    --------
    >>> from gomea_bn.algorithms.optimisation import evaluate_genotypes
    >>> problem = Unitation(4, [1.0, 0.0, 2.0])
    >>> evaluate_genotypes(problem, [[1, 1, 0, 0]])[0]
    array([[-3.]])
    """

    def __init__(self, n_variables: int, values: ArrayLike) -> None:
        worth = np.asarray(values, np.float64)
        if worth.ndim != 1 or len(worth) < 2:
            raise GomeaBnError(f"values must be at least 2 numbers, got an array of shape {worth.shape}.")
        self.block_size = len(worth) - 1
        n = checked_size("n_variables", n_variables, self.block_size)
        if n % self.block_size:
            raise GomeaBnError(f"n_variables must be a multiple of {self.block_size}, got {n}.")
        n_blocks = n // self.block_size
        worth = exact(worth, n_blocks * float(np.abs(worth).max()), "values")
        super().__init__(BlockData(-worth[:, None]), n, n_blocks, -n_blocks * float(worth.max()))

    def _weighted_interactions(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        within = np.stack(np.triu_indices(self.block_size, 1), axis=1)
        firsts = np.arange(0, self.n_variables, self.block_size)
        pairs = (firsts[:, None, None] + within).reshape(-1, 2).astype(np.int64)
        return pairs, np.ones(len(pairs))


class OneMax(Unitation):
    """Minus the number of ones.

    Examples
    --------
    >>> from gomea_bn import optimise
    >>> optimise(OneMax(12), random_state=1, max_evaluations=5_000).F
    array([-12.])
    """

    def __init__(self, n_variables: int) -> None:
        super().__init__(n_variables, [0, 1])


class Trap(Unitation):
    """Concatenated deceptive traps: a block of k genes with u ones is worth k if u = k, else k - 1 - u.

    Parameters
    ----------
    n_variables : int
        Number of genes, a multiple of `k`.
    k : int
        Number of genes per block, at least 2.

    Examples
    --------
    >>> from gomea_bn import optimise
    >>> optimise(Trap(20), random_state=1, max_evaluations=100_000).F
    array([-20.])
    """

    def __init__(self, n_variables: int, k: int = 5) -> None:
        k = checked_size("k", k, 2)
        super().__init__(n_variables, [*range(k - 1, -1, -1), k])


class BimodalTrap(Unitation):
    """Concatenated bimodal traps of six genes: 0 or 6 ones are worth 6, 3 are worth 5, 2 or 4 are 2, 1 or 5 are 0.

    Examples
    --------
    >>> BimodalTrap(12).target
    -12.0
    """

    def __init__(self, n_variables: int) -> None:
        super().__init__(n_variables, [6, 0, 2, 5, 2, 0, 6])


class NKLandscape(_Binary):
    """NK landscape with S1 neighbourhoods: the sum of a random table over each window of k consecutive genes.

    Windows do not wrap around the end.

    Parameters
    ----------
    n_variables : int
        Number of genes.
    k : int
        Number of genes per window, from 1 to 20 (the literature's K is k - 1).
    random_state : int or SeedSequence, optional
        Seed of the tables' values, which are uniform in [0, 1].
    tables : array_like of shape (n_variables - k + 1, 2**k), optional
        Values, maximised, to use instead of random ones. A window's first gene is the highest bit of the column.

    Notes
    -----
    `target` is the optimum, by dynamic programming along the windows.

    Examples
    --------
    >>> from gomea_bn import optimise
    >>> problem = NKLandscape(16, 3, random_state=1)
    >>> bool(optimise(problem, random_state=1, max_evaluations=50_000).F[0] == problem.target)
    True
    """

    def __init__(
        self,
        n_variables: int,
        k: int = 5,
        *,
        random_state: int | np.random.SeedSequence | None = None,
        tables: ArrayLike | None = None,
    ) -> None:
        self.k = checked_size("k", k, 1, 20)
        n = checked_size("n_variables", n_variables, self.k)
        shape = (n - self.k + 1, 1 << self.k)
        if tables is None:
            values = np.random.default_rng(random_state).random(shape)
        else:
            values = np.asarray(tables, np.float64)
            if values.shape != shape:
                raise GomeaBnError(f"tables must have shape {shape}, got {values.shape}.")
        self.tables = exact(values, float(np.abs(values).max(axis=1).sum()), "tables")
        data = WindowData(np.ascontiguousarray(-self.tables))
        work = np.zeros((2, 1 << (self.k - 1)))
        super().__init__(data, n, shape[0], float(best_windows(data.tables, work[0], work[1])))

    def _weighted_interactions(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        first = np.repeat(np.arange(self.n_variables), self.k - 1)
        second = first + np.tile(np.arange(1, self.k), self.n_variables)
        pairs = np.stack([first, second], axis=1)[second < self.n_variables].astype(np.int64)
        earliest = np.maximum(pairs[:, 1] - self.k + 1, 0)
        return pairs, np.minimum(pairs[:, 0], self.n_variables - self.k) - earliest + 1.0


class _Pairwise(_Binary):
    """The sum of the weights of pairs whose genes differ, plus a constant."""

    data: PairData

    def __init__(
        self, n_variables: int, edges: ArrayLike, weights: ArrayLike, offset: float, target: float | None
    ) -> None:
        pairs, weight = checked_edges(n_variables, edges, weights)
        weight = exact(weight, abs(offset) + float(np.abs(weight).sum()), "weights")
        starts, neighbours, order = as_neighbours(n_variables, pairs)
        by_neighbour = np.tile(weight, 2)[order]
        data = PairData(
            offset=float(offset), starts=starts, neighbours=neighbours, weights=by_neighbour[:, None]
        )
        # largest n for which enumerating 2**(n - 1) genotypes takes less than a second
        if target is None and n_variables <= 25:
            target = float(best_bipartition(data, np.zeros(n_variables, np.int16)))
        self._edges = pairs
        super().__init__(data, n_variables, len(pairs), target)

    def _weighted_interactions(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        pairs, counts = np.unique(np.sort(self._edges, axis=1), axis=0, return_counts=True)
        return pairs.reshape(-1, 2), counts.astype(np.float64)


def as_neighbours(
    n_variables: int, pairs: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the neighbour lists of a graph of edges (n_pairs, 2): `starts` (n_variables + 1,), `neighbours`, `order`.

    `order` (2 * n_pairs,) has the index of each neighbour's edge among all edges and the same edges again.
    """
    ends = np.concatenate([pairs[:, 0], pairs[:, 1]])
    others = np.concatenate([pairs[:, 1], pairs[:, 0]])
    order = np.argsort(ends, kind="stable")
    starts = np.searchsorted(ends[order], np.arange(n_variables + 1)).astype(np.int64)
    return starts, others[order], order


def checked_edges(
    n_variables: int, edges: ArrayLike, weights: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return edges (n_edges, 2) and weights (n_edges,); raises `GomeaBnError` if they cannot be used."""
    pairs = np.asarray(edges)
    weight = np.asarray(weights, np.float64)
    if pairs.size == 0:
        pairs = np.zeros((0, 2), np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not np.issubdtype(pairs.dtype, np.integer):
        raise GomeaBnError(
            f"edges must be integers of shape (n_edges, 2), got {pairs.dtype} of shape {pairs.shape}."
        )
    if weight.shape != (len(pairs),):
        raise GomeaBnError(
            f"weights must be one number for each of the {len(pairs)} edges, got shape {weight.shape}."
        )
    wrong = (pairs < 0).any(axis=1) | (pairs >= n_variables).any(axis=1) | (pairs[:, 0] == pairs[:, 1])
    if wrong.any():
        row = int(np.argmax(wrong))
        raise GomeaBnError(
            f"edges: row {row} must be two different vertices from 0 to {n_variables - 1}, got {pairs[row].tolist()}."
        )
    return pairs.astype(np.int64), weight


def _torus_edges(side: int) -> NDArray[np.int64]:
    """Return the 2 side**2 edges of a square torus: from each vertex to its right neighbour, then to the one below."""
    vertex = np.arange(side * side).reshape(side, side)
    right, below = np.roll(vertex, -1, axis=1), np.roll(vertex, -1, axis=0)
    return np.concatenate(
        [np.stack([vertex.ravel(), other.ravel()], axis=1) for other in (right, below)]
    ).astype(np.int64)


def drawn_weights(law: str, n: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return n random weights: -1 or 1 under the law "sign", in [-1, 1] under "uniform"."""
    check_choice("weights", law, ("sign", "uniform"))
    return generator.choice([-1.0, 1.0], n) if law == "sign" else generator.uniform(-1.0, 1.0, n)


def drawn_edges(n_vertices: int, n_edges: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return distinct edges drawn uniformly, shape (n_edges, 2)."""
    most = n_vertices * (n_vertices - 1) // 2
    check_integer("n_edges", n_edges, 0, most)
    return np.stack(np.triu_indices(n_vertices, 1), axis=1)[generator.choice(most, n_edges, replace=False)]


class MaxCut(_Pairwise):
    """Minus the total weight of the edges between the two sides of a cut.

    Parameters
    ----------
    n_vertices : int
        Number of vertices.
    edges : array_like of int, shape (n_edges, 2)
        Pairs of different vertices.
    weights : array_like of shape (n_edges,), optional
        Weights of the edges, 1 by default; they may be negative.
    target : float, optional
        Minus the best cut, if it is known. Up to 25 vertices it is computed by enumeration.

    Examples
    --------
    >>> from gomea_bn import optimise
    >>> square = MaxCut(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> optimise(square, random_state=1, max_evaluations=1_000).F
    array([-4.])
    """

    def __init__(
        self,
        n_vertices: int,
        edges: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        target: float | None = None,
    ) -> None:
        n = checked_size("n_vertices", n_vertices, 1)
        weight = np.ones(len(np.asarray(edges))) if weights is None else np.asarray(weights, np.float64)
        super().__init__(n, edges, -weight, 0.0, target)

    @classmethod
    def torus(cls, side: int, *, weights: str = "sign", random_state: int | None = None) -> MaxCut:
        """Return a square torus with four neighbours per vertex.

        Parameters
        ----------
        side : int
            At least 3; there are side**2 vertices.
        weights : {"sign", "uniform"}
            -1 or 1 with equal probability, or uniform in [-1, 1].
        random_state : int, optional
            Seed of the weights.
        """
        edges = _torus_edges(checked_size("side", side, 3))
        return cls(
            side * side, edges, drawn_weights(weights, len(edges), np.random.default_rng(random_state))
        )

    @classmethod
    def random_graph(
        cls, n_vertices: int, n_edges: int, *, weights: str = "sign", random_state: int | None = None
    ) -> MaxCut:
        """Return a graph of `n_edges` distinct edges drawn uniformly; `weights` as for `torus`."""
        n = checked_size("n_vertices", n_vertices, 2)
        generator = np.random.default_rng(random_state)
        edges = drawn_edges(n, n_edges, generator)
        return cls(n, edges, drawn_weights(weights, n_edges, generator))


class IsingSpinGlass(_Pairwise):
    """Energy - sum J s s' of a square torus of spins s = 2 x - 1 with couplings J of -1 or 1.

    Parameters
    ----------
    side : int
        At least 3; there are side**2 spins and 2 side**2 couplings.
    random_state : int, optional
        Seed of the couplings.
    couplings : array_like of shape (2 * side**2,), optional
        Couplings to use instead of random ones: of each spin, row by row, with its right neighbour, then with the one
        below.
    target : float, optional
        Energy of the ground state, if it is known. Up to side 5 it is computed by enumeration.

    Examples
    --------
    >>> problem = IsingSpinGlass(3, couplings=[1.0] * 18)
    >>> problem.n_variables, problem.target
    (9, -18.0)
    """

    def __init__(
        self,
        side: int,
        *,
        random_state: int | None = None,
        couplings: ArrayLike | None = None,
        target: float | None = None,
    ) -> None:
        edges = _torus_edges(checked_size("side", side, 3))
        if couplings is None:
            self.couplings = drawn_weights("sign", len(edges), np.random.default_rng(random_state))
        else:
            self.couplings = np.asarray(couplings, np.float64)
            if self.couplings.shape != (len(edges),) or not np.isin(self.couplings, (-1, 1)).all():
                raise GomeaBnError(f"couplings must be {len(edges)} numbers, each -1 or 1.")
        # J s s' is J for equal spins and -J for different ones
        super().__init__(side * side, edges, 2 * self.couplings, -float(self.couplings.sum()), target)


class HIFF(_Binary):
    """Hierarchical if-and-only-if: minus the total size of all blocks of 1, 2, 4, ... equal genes.

    Parameters
    ----------
    n_variables : int
        Number of genes, a power of two; the optimum is -n (log2 n + 1).

    Examples
    --------
    >>> HIFF(8).target
    -32.0
    """

    def __init__(self, n_variables: int) -> None:
        n = checked_size("n_variables", n_variables, 1)
        if n & (n - 1):
            raise GomeaBnError(f"n_variables must be a power of two, got {n}.")
        sizes = np.zeros(2 * n)
        for level in range(n.bit_length()):
            sizes[1 << level : 2 << level] = n >> level
        super().__init__(HiffData(-sizes), n, 2 * n - 1, -n * (log2(n) + 1), n_aux=2 * n)

    def _weighted_interactions(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        pairs = np.stack(np.triu_indices(self.n_variables, 1), axis=1).astype(np.int64)
        # the smallest common block has 2**j genes, where j is the number of low bits that differ
        lowest = np.frexp((pairs[:, 0] ^ pairs[:, 1]).astype(np.float64))[1]
        return pairs, ceil(log2(self.n_variables)) - lowest + 1.0
