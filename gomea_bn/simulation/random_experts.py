"""Simulated experts: true edges, wrong edges and random bins drawn from a true network."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, check_integer, check_number
from gomea_bn.expert.expert_network import ExpertNetwork
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.parts import random_generator
from gomea_bn.network.recorded import NetworkLike
from gomea_bn.problems.cuts.policies import MAX_CARDINALITY


def _column_ranges(table: Table, truth: DiscretizedBayesNet) -> dict[str, tuple[float, float]]:
    """Return (min, max) of the columns of the true network's continuous variables."""
    table.require_complete("simulated_expert")
    columns = {column.name: column for column in table.columns if column.is_continuous}
    for name in truth.cut_points:
        if name not in columns:
            raise GomeaBnError(f"table must have a continuous column '{name}', like truth.")
    return {
        name: (float(columns[name].values.min()), float(columns[name].values.max()))
        for name in truth.cut_points
    }


def _wrong_edges(
    truth: NetworkLike, right: Sequence[tuple[str, str]], max_indegree: int, rng: np.random.Generator
) -> list[tuple[str, str]]:
    """Return as many wrong edges as `right` has, between variables that are not adjacent in the true network."""
    names = truth.names
    position_of = {name: position for position, name in enumerate(names)}
    adjacent = truth.adjacency_matrix + truth.adjacency_matrix.T
    reaches = np.eye(len(names), dtype=bool)
    indegree = [0] * len(names)

    def add(parent: int, child: int) -> None:
        reaches[...] |= np.outer(reaches[:, parent], reaches[child])
        indegree[child] += 1

    for parent, child in right:
        add(position_of[parent], position_of[child])
    free = [(i, j) for j in range(len(names)) for i in range(j) if not adjacent[i, j]]
    wrong: list[tuple[str, str]] = []
    for pick, turned in zip(rng.permutation(len(free)), rng.random(len(free)) < 0.5):
        if len(wrong) == len(right):
            break
        i, j = free[pick]
        for parent, child in ((j, i), (i, j)) if turned else ((i, j), (j, i)):
            if not reaches[child, parent] and indegree[child] < max_indegree:
                add(parent, child)
                wrong.append((names[parent], names[child]))
                break
    if len(wrong) < len(right):
        raise GomeaBnError(
            f"truth allows only {len(wrong)} of the {len(right)} wrong edges: it has {len(truth.edges)} edges, "
            f"{len(free)} pairs of variables are not adjacent, and a variable has at most max_indegree = "
            f"{max_indegree} parents. Lower known or raise max_indegree."
        )
    return wrong


def _random_cuts(
    support: tuple[float, float], max_bins: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the inner cut points of 2 to `max_bins` bins, each at least half as wide as an equal share."""
    low, high = support
    n_bins = int(rng.integers(2, max_bins + 1))
    shares = np.diff(np.concatenate(([0.0], np.sort(rng.random(n_bins - 1)), [1.0])))
    cuts = np.unique(low + (high - low) * np.cumsum(0.5 / n_bins + 0.5 * shares)[:-1])
    return np.asarray(cuts[(cuts > low) & (cuts < high)], dtype=np.float64)


def simulated_expert(
    truth: DiscretizedBayesNet,
    *,
    known: float = 0.5,
    max_bins: int = 4,
    max_indegree: int = 6,
    table: Table | None = None,
    random_state: int | np.random.Generator | None = None,
) -> ExpertNetwork:
    """Return a simulated expert's network that is partly right about a true network: edges and bins without tables.

    It follows Ha et al. ("Learning discretized Bayesian networks with GOMEA", 2024), where the expert knows half of the
    true edges, half of the expert's edges are wrong, and bins are random.

    Parameters
    ----------
    truth : DiscretizedBayesNet
        The true network.
    known : float
        Share of the true edges that the expert knows, rounded half up; these edges are drawn uniformly.
    max_bins : int
        Largest number of bins of a continuous variable, at least 2.
    max_indegree : int
        Largest number of parents that a wrong edge may lead to.
    table : Table, optional
        Data whose ranges contain the cut points, as `ExpertNetwork.fitted` requires. By default they lie in the support
        of `truth`; then about 1 in 100 networks of 10 variables has a cut point outside 200 rows of data.
    random_state : int, numpy.random.Generator or None
        Seed. The same integer gives the same edges for every `max_bins`.

    Returns
    -------
    ExpertNetwork
        Expert's network over all names of `truth`, in its order.

    Raises
    ------
    GomeaBnError
        If an option is out of range, or `truth` has too few pairs of variables for the wrong edges.

    Notes
    -----
    The numbers of wrong and of right edges are equal. A wrong edge connects two variables that are not adjacent in
    `truth`. Pairs are taken in random order. Each has a random direction, unless only one direction keeps the graph
    acyclic and within `max_indegree`.

    A continuous variable has k bins, with k uniform on 2, ..., `max_bins`. Every bin has half an equal share of the
    range, 1 / (2 k), plus a part of the other half, which k - 1 uniform points divide. The range is the support in
    `truth` or that of the table's column.

    Examples
    --------
    >>> from gomea_bn.simulation.random_networks import random_network
    >>> expert = simulated_expert(random_network(10, random_state=1), random_state=1)
    >>> len(expert.edges), len(expert.cut_points)
    (12, 9)
    """
    if not isinstance(truth, DiscretizedBayesNet):
        raise GomeaBnError(f"truth must be a DiscretizedBayesNet, got {type(truth).__name__}.")
    check_number("known", known, 0, 1)
    check_integer("max_bins", max_bins, 2, MAX_CARDINALITY)
    check_integer("max_indegree", max_indegree, 1)
    ranges = truth.support if table is None else _column_ranges(table, truth)
    seeds = random_generator(random_state).integers(2**63, size=2)
    edge_rng, bin_rng = (np.random.default_rng(seed) for seed in seeds)
    true_edges = truth.edges
    n_right = math.floor(known * len(true_edges) + 0.5)
    right = [true_edges[position] for position in np.sort(edge_rng.permutation(len(true_edges))[:n_right])]
    wrong = _wrong_edges(truth, right, max_indegree, edge_rng)
    cut_points = {name: _random_cuts(ranges[name], max_bins, bin_rng) for name in truth.cut_points}
    return ExpertNetwork(truth.names, right + wrong, cut_points=cut_points)
