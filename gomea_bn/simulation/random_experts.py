"""The draws behind a simulated expert: wrong edges and random bins."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, is_integer, is_real
from gomea_bn.expert.expert_network import ExpertNetwork
from gomea_bn.network.bayes_net import DiscretizedBayesNet

__all__ = ["check_options", "column_ranges", "random_cuts", "wrong_edges"]

_MOST_BINS = 255


def check_options(truth: DiscretizedBayesNet, known: float, max_bins: int, max_indegree: int) -> None:
    """Raise `GomeaBnError` for options of `simulated_expert` that cannot be used."""
    if not isinstance(truth, DiscretizedBayesNet):
        raise GomeaBnError(f"truth must be a DiscretizedBayesNet, got {type(truth).__name__}.")
    if not is_real(known) or not 0 <= known <= 1:
        raise GomeaBnError(f"known must be a share of the edges, from 0 to 1, got {known!r}.")
    if not is_integer(max_bins) or not 2 <= max_bins <= _MOST_BINS:
        raise GomeaBnError(f"max_bins must be an integer from 2 to {_MOST_BINS}, got {max_bins!r}.")
    if not is_integer(max_indegree) or max_indegree < 1:
        raise GomeaBnError(f"max_indegree must be an integer of at least 1, got {max_indegree!r}.")


def column_ranges(table: Table, truth: DiscretizedBayesNet) -> dict[str, tuple[float, float]]:
    """Return (min, max) of the columns of the truth's continuous variables."""
    columns = {column.name: column for column in table.columns if column.is_continuous}
    for name in truth.cut_points:
        if name not in columns:
            raise GomeaBnError(f"table must have a continuous column '{name}' as the truth has.")
    return {
        name: (float(columns[name].values.min()), float(columns[name].values.max()))
        for name in truth.cut_points
    }


def wrong_edges(
    truth: DiscretizedBayesNet,
    right: Sequence[tuple[str, str]],
    max_indegree: int,
    rng: np.random.Generator,
) -> list[tuple[str, str]]:
    """Return as many edges as `right` has, between variables that the truth does not join."""
    names = truth.names
    place = {name: position for position, name in enumerate(names)}
    joined = truth.adjacency_matrix + truth.adjacency_matrix.T
    reaches = np.eye(len(names), dtype=bool)
    indegree = [0] * len(names)

    def add(parent: int, child: int) -> None:
        reaches[...] |= np.outer(reaches[:, parent], reaches[child])
        indegree[child] += 1

    for parent, child in right:
        add(place[parent], place[child])
    free = [(i, j) for j in range(len(names)) for i in range(j) if not joined[i, j]]
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
            f"The truth has {len(truth.edges)} edges and leaves room for {len(wrong)} of the {len(right)} wrong "
            f"ones: {len(free)} pairs of variables are not joined, and no variable may have more than "
            f"max_indegree = {max_indegree} parents. Lower known or raise max_indegree."
        )
    return wrong


def random_cuts(support: tuple[float, float], max_bins: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the inner cuts of 2 to `max_bins` bins, none narrower than half an equal share."""
    low, high = support
    n_bins = int(rng.integers(2, max_bins + 1))
    shares = np.diff(np.concatenate(([0.0], np.sort(rng.random(n_bins - 1)), [1.0])))
    cuts = np.unique(low + (high - low) * np.cumsum(0.5 / n_bins + 0.5 * shares)[:-1])
    inside: NDArray[np.float64] = cuts[(cuts > low) & (cuts < high)]
    return inside


def simulated_expert(
    truth: DiscretizedBayesNet,
    *,
    known: float = 0.5,
    max_bins: int = 4,
    max_indegree: int = 6,
    table: Table | None = None,
    random_state: int | np.random.Generator | None = None,
) -> ExpertNetwork:
    """Return an expert's network that is partly right about a true one: edges and bins, no tables.

    As in Ha et al. ("Learning discretized Bayesian networks with GOMEA", 2024), where the expert knows half of
    the true edges, half of all the expert's edges are wrong, and bins are random.

    Parameters
    ----------
    truth : DiscretizedBayesNet
    known : float
        Share of the true edges that the expert has, rounded half up, drawn uniformly.
    max_bins : int
        Most bins of a continuous variable, at least 2.
    max_indegree : int
        Wrong edges lead to no variable that has this many parents already.
    table : Table, optional
        Data whose ranges the cuts must lie in, as `ExpertNetwork.fitted` wants; by default they lie in the
        truth's support, and about 1 network in 100 of 10 variables then has a cut beyond 200 rows of data.
    random_state : int, numpy.random.Generator or None
        Seed. The same integer gives the same edges whatever `max_bins`.

    Returns
    -------
    ExpertNetwork
        Over all of the truth's names in its order.

    Raises
    ------
    GomeaBnError
        If an option is out of range, or the truth leaves too few pairs of variables for the wrong edges.

    Notes
    -----
    There are as many wrong edges as right ones. A wrong edge joins two variables that the truth does not join in
    either direction. Pairs come in random order, each directed at random unless only one direction keeps the
    graph acyclic and within `max_indegree`.

    A continuous variable gets k bins, k uniform on 2, ..., `max_bins`. Its cuts are uniform over the truth's
    support, or the range of the table's column, given that no bin is narrower than half an equal share,
    1 / (2 k) of it: each bin has this width plus its share of the other half, which k - 1 uniform points divide.

    Examples
    --------
    >>> from gomea_bn.simulation.random_networks import random_network
    >>> expert = simulated_expert(random_network(10, random_state=1), random_state=1)
    >>> len(expert.edges), len(expert.cut_points)
    (12, 9)
    """
    check_options(truth, known, max_bins, max_indegree)
    ranges = truth.support if table is None else column_ranges(table, truth)
    try:
        seeds = np.random.default_rng(random_state).integers(2**63, size=2)
    except (TypeError, ValueError) as error:
        raise GomeaBnError(
            f"random_state must be a non-negative integer, a numpy generator or None, got {random_state!r}."
        ) from error
    edge_rng, bin_rng = (np.random.default_rng(seed) for seed in seeds)
    true_edges = truth.edges
    n_right = math.floor(known * len(true_edges) + 0.5)
    right = [true_edges[place] for place in np.sort(edge_rng.permutation(len(true_edges))[:n_right])]
    wrong = wrong_edges(truth, right, max_indegree, edge_rng)
    cut_points = {name: random_cuts(ranges[name], max_bins, bin_rng) for name in truth.cut_points}
    return ExpertNetwork(truth.names, right + wrong, cut_points=cut_points)
