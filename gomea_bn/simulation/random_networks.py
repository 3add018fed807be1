"""Random discretized networks: two laws of the graph, and three kinds of bins and tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from string import ascii_letters
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, check_choice, check_integer, check_number
from gomea_bn.network.bayes_net import DiscretizedBayesNet

__all__ = ["random_network"]

Law: TypeAlias = Literal["tree", "ide-cozman"]
Kind: TypeAlias = Literal["random", "equal-width", "equal-frequency"]
Rows: TypeAlias = Literal["uniform", "dirichlet", "constant"]

MAX_JOINT_CELLS = 2**20
"""Largest exact joint table of the equal-frequency rescaling, in cells; a sample replaces larger ones."""

N_CALIBRATION_ROWS = 2**17
"""Number of rows of that sample, with which marginals are uniform within about 1e-3."""

BURN_IN = 20
"""Number of steps of the Markov chain, in multiples of the squared number of variables."""


def random_network(
    n_variables: int,
    *,
    law: Law = "tree",
    kind: Kind = "random",
    rows: Rows = "uniform",
    max_indegree: int = 6,
    max_edge_fraction: float = 0.4,
    max_table_rows: int = 3000,
    discrete_fraction: float = 0.1,
    cardinality: tuple[int, int] = (2, 6),
    random_state: int | np.random.Generator | None = None,
) -> DiscretizedBayesNet:
    """Return a random network over the variables `X1`, ..., `XN`, with continuous variables on the interval [0, 1].

    Cardinalities are uniform on `cardinality`. The same seed gives the same cardinalities and graph for every `kind`,
    and the same cut points and raw rows if these are random.

    Parameters
    ----------
    n_variables : int
        Number of variables N, at least 2.
    law : {"tree", "ide-cozman"}
        Law of the graph, see Notes. Both laws give connected graphs.
    kind : {"random", "equal-width", "equal-frequency"}
        Kind of bins and tables. "random" has bin widths proportional to U(0, 1) + 0.05 and random table rows.
        "equal-width" has equal widths and random rows. "equal-frequency" has random widths, and random rows that are
        rescaled until every marginal is uniform.
    rows : {"uniform", "dirichlet", "constant"}
        Law of the raw table rows: normalised independent uniforms, Dirichlet(1), or equal probabilities. With
        "constant" all variables are independent.
    max_indegree : int
        Largest number of parents of a variable.
    max_edge_fraction : float
        Largest number of edges, as a fraction of the N (N - 1) / 2 pairs; a spanning tree is always allowed.
    max_table_rows : int
        Largest number of rows (parent configurations) of a table.
    discrete_fraction : float
        Share of discrete variables, rounded half up; at least one variable is discrete unless the share is 0.
    cardinality : tuple of (int, int)
        Smallest and largest number of bins or levels of a variable.
    random_state : int, numpy.random.Generator or None
        Seed.

    Returns
    -------
    DiscretizedBayesNet
        The network, without a pseudo-count; levels of discrete variables are the texts `v1`, `v2`, ...

    Raises
    ------
    GomeaBnError
        If an option is out of range.

    Notes
    -----
    Law "tree": along a random order every variable but the first gets one earlier variable as parent, drawn uniformly.
    This is a uniform tree among those that grow along the order. Then m - (N - 1) pairs are drawn with replacement,
    with m uniform on N - 1, ..., max(N - 1, floor(max_edge_fraction N (N - 1) / 2)). An edge from the earlier to the
    later variable is added if the pair is free and the bounds allow it, so that m bounds the number of edges (42 on
    average for N = 20).

    Law "ide-cozman": the state of a Markov chain that is uniform over *all* connected directed acyclic graphs within
    the bounds on edges, in-degree and table rows (Ide & Cozman, "Random generation of Bayesian networks", SBIA 2002).
    It starts from a path in random order and runs for 20 N^2 steps. With probability 1/2 a step draws an ordered pair
    and deletes that edge, or adds it if it is absent. Otherwise it replaces a random edge by a random ordered pair,
    which may reverse it. Steps that leave the set are void. The replacement is needed if only trees are allowed (N <= 5
    for a fraction of 0.4), because then no single edge can be deleted or added.

    "equal-frequency" rescales the rows of each variable in turn, parents first, by iterative proportional fitting
    against the joint distribution of its parents. That distribution is exact while the variables with remaining
    children span at most 2^20 cells. Beyond, 2^17 sampled rows replace it, and marginals are uniform within about 1e-3.

    Examples
    --------
    >>> network = random_network(8, random_state=1)
    >>> len(network.names), len(network.levels)
    (8, 1)
    """
    check_integer("n_variables", n_variables, 2)
    check_integer("max_indegree", max_indegree, 1)
    check_integer("max_table_rows", max_table_rows, 2)
    check_number("max_edge_fraction", max_edge_fraction, 0, 1)
    check_number("discrete_fraction", discrete_fraction, 0, 1)
    check_choice("law", law, get_args(Law))
    check_choice("kind", kind, get_args(Kind))
    check_choice("rows", rows, get_args(Rows))
    fewest, most = cardinality
    if not 2 <= fewest <= most <= max_table_rows:
        raise GomeaBnError(
            f"cardinality must be two integers from 2 to max_table_rows = {max_table_rows}, the smaller first, got "
            f"{cardinality!r}."
        )
    seeds = np.random.default_rng(random_state).integers(2**63, size=5)
    shape_rng, graph_rng, cut_rng, row_rng, sample_rng = (np.random.default_rng(seed) for seed in seeds)

    names = [f"X{number}" for number in range(1, n_variables + 1)]
    cards = [int(count) for count in shape_rng.integers(fewest, most + 1, size=n_variables)]
    n_discrete = math.floor(discrete_fraction * n_variables + 0.5)
    if discrete_fraction > 0:
        n_discrete = max(1, n_discrete)
    discrete = {int(i) for i in shape_rng.permutation(n_variables)[:n_discrete]}

    bounds = GraphBounds(cards, _edge_limit(n_variables, max_edge_fraction), max_indegree, max_table_rows)
    draw_edges = tree_edges if law == "tree" else ide_cozman_edges
    edges = sorted(draw_edges(bounds, graph_rng))
    parents = [[i for i, j in edges if j == child] for child in range(n_variables)]

    tables = [_raw_rows([cards[i] for i in parents[v]], cards[v], rows, row_rng) for v in range(n_variables)]
    if kind == "equal-frequency":
        tables = equalise_marginals(parents, tables, sample_rng)
    cut_points = {}
    for name, count in zip(names, cards):
        widths = cut_rng.random(count) + 0.05
        if kind == "equal-width":
            widths[:] = 1.0
        cut_points[name] = (np.cumsum(widths) / widths.sum())[:-1]
    continuous = [name for v, name in enumerate(names) if v not in discrete]
    return DiscretizedBayesNet(
        names,
        [(names[i], names[j]) for i, j in edges],
        cut_points={name: cut_points[name] for name in continuous},
        support=dict.fromkeys(continuous, (0.0, 1.0)),
        levels={names[v]: tuple(f"v{k}" for k in range(1, cards[v] + 1)) for v in sorted(discrete)},
        tables=dict(zip(names, tables)),
        metadata={"law": law, "kind": kind, "rows": rows},
    )


def _edge_limit(n_variables: int, max_edge_fraction: float) -> int:
    """Return the largest number of edges of a graph, at least that of a spanning tree."""
    pairs = n_variables * (n_variables - 1) // 2
    # 0.29 * 100 is 28.999999999999996
    rounding = 1e-9
    return max(n_variables - 1, math.floor(max_edge_fraction * pairs + rounding))


def _raw_rows(parents: Sequence[int], count: int, rows: str, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return a table of shape (*parents, count) whose rows follow one of the laws of `random_network`."""
    shape = (*parents, count)
    if rows == "constant":
        return np.full(shape, 1.0 / count)
    table = rng.standard_exponential(shape) if rows == "dirichlet" else 1.0 - rng.random(shape)
    return np.asarray(table / table.sum(axis=-1, keepdims=True))


def equalise_marginals(
    parents: Sequence[Sequence[int]],
    tables: Sequence[NDArray[np.float64]],
    rng: np.random.Generator,
    *,
    max_joint_cells: int = MAX_JOINT_CELLS,
) -> list[NDArray[np.float64]]:
    """Return the tables rescaled so that every variable's marginal is uniform.

    Parents are in increasing order. Tables have the shape (*cardinalities of the parents, cardinality) and positive
    entries. `rng` draws the sample that replaces a joint distribution of more than `max_joint_cells`.
    """
    cards = [table.shape[-1] for table in tables]
    joint: _Joint | _Sample = _Joint(cards)
    result = list(tables)
    done: set[int] = set()
    while len(done) < len(cards):
        ready = [v for v in range(len(cards)) if v not in done and done.issuperset(parents[v])]
        open_after = {v: _still_needed(parents, done | {v}) for v in ready}
        variable = min(ready, key=lambda v: math.prod(cards[i] for i in open_after[v]))
        if isinstance(joint, _Joint) and joint.cells.size * cards[variable] > max_joint_cells:
            joint = joint.sample(N_CALIBRATION_ROWS, rng)
        weights = joint.marginal(parents[variable])
        table = tables[variable].reshape(-1, cards[variable])
        result[variable] = _fit_columns(table, weights).reshape(tables[variable].shape)
        joint.extend(variable, parents[variable], result[variable], keep=open_after[variable])
        done.add(variable)
    return result


def _still_needed(parents: Sequence[Sequence[int]], done: set[int]) -> list[int]:
    """Return the variables in `done` with a child that is not in `done`, in increasing order."""
    return sorted(
        {p for v, its_parents in enumerate(parents) if v not in done for p in its_parents if p in done}
    )


def _fit_columns(rows: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rows, each summing to 1, scaled per column until their weighted mean is uniform."""
    fitted = rows.copy()
    target = 1.0 / rows.shape[1]
    for _ in range(10_000):
        marginal = weights @ fitted
        if np.abs(marginal - target).max() < 1e-12:
            break
        fitted *= target / marginal
        fitted /= fitted.sum(axis=1, keepdims=True)
    return fitted


class _Joint:
    """The exact joint distribution of the variables with remaining children."""

    def __init__(self, cards: Sequence[int]) -> None:
        self.cards = cards
        self.axes: list[int] = []
        self.cells: NDArray[np.float64] = np.ones(())

    def marginal(self, variables: Sequence[int]) -> NDArray[np.float64]:
        """Return the flat joint distribution of variables in increasing order; the last one varies fastest."""
        letters = dict(zip(self.axes, ascii_letters))
        formula = f"{_spell(letters, self.axes)}->{_spell(letters, variables)}"
        return np.asarray(np.einsum(formula, self.cells)).reshape(-1)

    def extend(
        self, variable: int, parents: Sequence[int], table: NDArray[np.float64], keep: Sequence[int]
    ) -> None:
        """Multiply by the table of one more variable and sum out all but `keep`; mutates the object."""
        letters = dict(zip([*self.axes, variable], ascii_letters))
        family = _spell(letters, [*parents, variable])
        formula = f"{_spell(letters, self.axes)},{family}->{_spell(letters, keep)}"
        self.cells = np.asarray(np.einsum(formula, self.cells, table))
        self.axes = list(keep)

    def sample(self, n_rows: int, rng: np.random.Generator) -> _Sample:
        """Return rows drawn from the joint distribution."""
        cumulative = np.cumsum(self.cells.reshape(-1))
        flat = np.searchsorted(cumulative[:-1], rng.random(n_rows) * cumulative[-1], side="right")
        columns = dict(zip(self.axes, np.unravel_index(flat, self.cells.shape)))
        return _Sample(self.cards, columns, n_rows, rng)


def _spell(letters: Mapping[int, str], variables: Sequence[int]) -> str:
    """Return the variables as axes of an Einstein sum."""
    return "".join(letters[v] for v in variables)


class _Sample:
    """Sampled rows in place of a large joint distribution."""

    def __init__(
        self,
        cards: Sequence[int],
        columns: dict[int, NDArray[np.intp]],
        n_rows: int,
        rng: np.random.Generator,
    ) -> None:
        self.cards, self.columns, self.n_rows, self.rng = cards, columns, n_rows, rng

    def _configurations(self, variables: Sequence[int]) -> NDArray[np.intp]:
        if not variables:
            return np.zeros(self.n_rows, dtype=np.intp)
        shape = [self.cards[v] for v in variables]
        return np.ravel_multi_index([self.columns[v] for v in variables], shape)

    def marginal(self, variables: Sequence[int]) -> NDArray[np.float64]:
        """Return the flat joint frequencies of some variables; the last one varies fastest."""
        n_cells = math.prod(self.cards[v] for v in variables)
        return np.bincount(self._configurations(variables), minlength=n_cells) / self.n_rows

    def extend(
        self, variable: int, parents: Sequence[int], table: NDArray[np.float64], keep: Sequence[int]
    ) -> None:
        """Draw the column of one more variable and drop all but `keep`; mutates the object."""
        cumulative = np.cumsum(table.reshape(-1, table.shape[-1]), axis=1)[self._configurations(parents)]
        draws = self.rng.random((self.n_rows, 1))
        self.columns[variable] = (draws > cumulative[:, :-1]).sum(axis=1)
        self.columns = {v: self.columns[v] for v in keep}


Edge: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class GraphBounds:
    """Upper bounds of a graph; variables are the positions of `cardinalities`."""

    cardinalities: Sequence[int]
    max_edges: int
    max_indegree: int
    max_table_rows: int


class _Graph:
    """A directed acyclic graph as bit masks, with checks of its bounds."""

    def __init__(self, bounds: GraphBounds) -> None:
        self.bounds = bounds
        self.edges: list[Edge] = []
        n_variables = len(bounds.cardinalities)
        self.children = [0] * n_variables
        self.neighbours = [0] * n_variables
        self.indegree = [0] * n_variables
        self.table_rows = [1] * n_variables

    def has(self, edge: Edge) -> bool:
        """Return whether the graph has the edge."""
        return bool(self.children[edge[0]] >> edge[1] & 1)

    def fits(self, edge: Edge) -> bool:
        """Return whether the bounds allow one more edge, without a check for cycles."""
        parent, child = edge
        return (
            len(self.edges) < self.bounds.max_edges
            and self.indegree[child] < self.bounds.max_indegree
            and self.table_rows[child] * self.bounds.cardinalities[parent] <= self.bounds.max_table_rows
        )

    def closes_cycle(self, edge: Edge) -> bool:
        """Return whether a path leads from the child of the edge to its parent."""
        return _leads_to(self.children, edge[1], edge[0])

    def add(self, edge: Edge) -> None:
        """Add an edge without checks."""
        parent, child = edge
        self.edges.append(edge)
        self.indegree[child] += 1
        self.table_rows[child] *= self.bounds.cardinalities[parent]
        self._flip(edge)

    def remove(self, position: int) -> Edge:
        """Remove and return the edge at a position of `edges`, whose order changes."""
        edge = self.edges[position]
        self.edges[position] = self.edges[-1]
        self.edges.pop()
        parent, child = edge
        self.indegree[child] -= 1
        self.table_rows[child] //= self.bounds.cardinalities[parent]
        self._flip(edge)
        return edge

    def joins(self, edge: Edge) -> bool:
        """Return whether the two ends are connected, directions ignored."""
        return _leads_to(self.neighbours, *edge)

    def _flip(self, edge: Edge) -> None:
        parent, child = edge
        self.children[parent] ^= 1 << child
        self.neighbours[parent] ^= 1 << child
        self.neighbours[child] ^= 1 << parent


def _leads_to(links: Sequence[int], start: int, goal: int) -> bool:
    """Return whether a path follows the bit masks `links` from `start` to `goal`."""
    seen = ahead = 1 << start
    while ahead:
        if ahead >> goal & 1:
            return True
        lowest = ahead & -ahead
        reached = links[lowest.bit_length() - 1] & ~seen
        seen |= reached
        ahead = (ahead ^ lowest) | reached
    return False


def tree_edges(bounds: GraphBounds, rng: np.random.Generator) -> list[Edge]:
    """Return edges by the law "tree": a random tree along a random order, with further random edges."""
    n_variables = len(bounds.cardinalities)
    order = [int(v) for v in rng.permutation(n_variables)]
    n_draws = int(rng.integers(n_variables - 1, bounds.max_edges + 1)) - (n_variables - 1)
    graph = _Graph(bounds)
    for position in range(1, n_variables):
        graph.add((order[int(rng.integers(position))], order[position]))
    pairs = [(order[i], order[j]) for i in range(n_variables) for j in range(i + 1, n_variables)]
    for k in rng.integers(len(pairs), size=n_draws):
        if not graph.has(pairs[k]) and graph.fits(pairs[k]):
            graph.add(pairs[k])
    return graph.edges


def ide_cozman_edges(bounds: GraphBounds, rng: np.random.Generator) -> list[Edge]:
    """Return edges by the law "ide-cozman": uniform over the connected acyclic graphs within the bounds."""
    n_variables = len(bounds.cardinalities)
    graph = _Graph(bounds)
    path = [int(v) for v in rng.permutation(n_variables)]
    for edge in pairwise(path):
        graph.add(edge)
    n_steps = BURN_IN * n_variables**2
    firsts = rng.integers(n_variables, size=n_steps).tolist()
    gaps = rng.integers(1, n_variables, size=n_steps).tolist()
    replaces = (rng.random(n_steps) < 0.5).tolist()
    picks = rng.random(n_steps).tolist()
    for first, gap, replace, pick in zip(firsts, gaps, replaces, picks):
        pair = (first, (first + gap) % n_variables)
        if replace:
            _replace(graph, int(pick * len(graph.edges)), pair)
        elif graph.has(pair):
            graph.remove(graph.edges.index(pair))
            if not graph.joins(pair):
                graph.add(pair)
        elif graph.fits(pair) and not graph.closes_cycle(pair):
            graph.add(pair)
    return graph.edges


def _replace(graph: _Graph, position: int, pair: Edge) -> None:
    """Replace one edge by `pair` if the graph stays within its bounds and connected."""
    if graph.has(pair):
        return
    removed = graph.remove(position)
    if graph.fits(pair) and not graph.closes_cycle(pair):
        graph.add(pair)
        if graph.joins(removed):
            return
        graph.remove(len(graph.edges) - 1)
    graph.add(removed)
