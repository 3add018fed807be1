"""All graphs whose score is within a Bayes factor of the best one, in order of their scores."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from math import log

import numpy as np
from numpy.typing import NDArray

from gomea_bn.certainty.graph_scores import GraphScores
from gomea_bn.certainty.parent_sets import ScoredParentSets, over_subsets
from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, check_integer, check_number
from gomea_bn.lazy import pd
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.problems.knowledge import ExpertKnowledge

# the tables hold 2 to this power times this number of floats, 170 MB
_MOST_VARIABLES = 20


@dataclass(frozen=True)
class NearOptimalGraph:
    """A graph and how far it is below the best one.

    Attributes
    ----------
    edges : list of (parent, child)
    score : float
        Score in nats.
    log_bayes_factor : float
        Score of the best graph minus that of this one, in nats.
    """

    edges: list[tuple[str, str]]
    score: float
    log_bayes_factor: float


def near_optimal_graphs(
    network: DiscretizedBayesNet,
    data: pd.DataFrame | Table | str | os.PathLike[str],
    *,
    bayes_factor: float = 20.0,
    max_graphs: int = 1000,
    max_indegree: int = 3,
    knowledge: ExpertKnowledge | None = None,
    scoring_method: str | None = None,
    equivalent_sample_size: float | None = None,
) -> list[NearOptimalGraph]:
    """Return the graphs over the bins of a network whose score is at most ln(`bayes_factor`) below the best one.

    Parameters
    ----------
    network : DiscretizedBayesNet
        The network; its bins count, its graph does not. At most 20 variables.
    data, max_indegree, knowledge, scoring_method, equivalent_sample_size
        As of `certify`.
    bayes_factor : float
        Largest ratio of the marginal likelihoods of the best graph and of a returned one, at least 1.
    max_graphs : int
        Largest number of graphs; the best ones are returned.

    Returns
    -------
    list of NearOptimalGraph
        By decreasing score. Markov-equivalent graphs are separate entries.

    Raises
    ------
    GomeaBnError
        As `certify`, and for more than 20 variables.
    """
    check_number("bayes_factor", bayes_factor, 1)
    check_integer("max_graphs", max_graphs, 1)
    graphs = GraphScores.of(
        network,
        data,
        max_indegree=max_indegree,
        knowledge=knowledge,
        scoring_method=scoring_method,
        equivalent_sample_size=equivalent_sample_size,
    )
    n = len(graphs.names)
    if n > _MOST_VARIABLES:
        raise GomeaBnError(
            f"Near-optimal graphs can be listed for at most {_MOST_VARIABLES} variables, got {n}."
        )
    constant = graphs.scorer.constant_score
    entries: list[NearOptimalGraph] = []
    for score, parents in best_graphs(graphs.parent_sets(prune=False)):
        best = entries[0].score - constant if entries else score
        if best - score > log(bayes_factor) or len(entries) == max_graphs:
            break
        entries.append(NearOptimalGraph(graphs.edges(parents), score + constant, best - score))
    return entries


def best_graphs(sets: Sequence[ScoredParentSets]) -> Iterator[tuple[float, list[list[int]]]]:
    """Give the score and the parents of every graph, by decreasing score.

    Sinks are removed one after another, the largest first, so that every graph is reached once. A removed sink makes
    all larger remaining variables due: each must be a parent of a sink that is removed before it. The best score of the
    remaining subset bounds what a beginning can reach.
    """
    n = len(sets)
    masks = [of_child.masks.tolist() for of_child in sets]
    scores = [of_child.scores.tolist() for of_child in sets]
    best = _best_of_subsets(sets).tolist()
    ticket = count()
    # minus the bound, ticket, score of the removed sinks, remaining, due, choices so far, next sink and its parent set
    heap: list[tuple[float, int, float, int, int, tuple[object, ...] | None, int, int]] = []

    def push_next(
        score: float, left: int, due: int, chosen: tuple[object, ...] | None, sink: int, k: int
    ) -> None:
        """Push the next parent set of a sink, from position `k`, that lies within the other remaining variables."""
        others = left ^ 1 << sink
        while k < len(masks[sink]) and masks[sink][k] & ~others:
            k += 1
        if k < len(masks[sink]):
            bound = score + scores[sink][k] + best[others]
            heappush(heap, (-bound, next(ticket), score, left, due, chosen, sink, k))

    def push_sinks(score: float, left: int, due: int, chosen: tuple[object, ...] | None) -> None:
        for sink in range(n):
            if left >> sink & 1 and not due >> sink & 1:
                push_next(score, left, due, chosen, sink, 0)

    push_sinks(0.0, (1 << n) - 1, 0, None)
    while heap:
        bound, _, score, left, due, chosen, sink, k = heappop(heap)
        push_next(score, left, due, chosen, sink, k + 1)
        others = left ^ 1 << sink
        larger = others & ~((1 << sink + 1) - 1)
        still_due = (due | larger) & ~masks[sink][k]
        path = (chosen, sink, k)
        if others:
            push_sinks(score + scores[sink][k], others, still_due, path)
        else:
            parents: list[list[int]] = [[] for _ in range(n)]
            step: object = path
            while isinstance(step, tuple):
                step, v, position = step
                parents[v] = np.flatnonzero(sets[v].members[position]).tolist()
            yield -bound, parents


def _best_of_subsets(sets: Sequence[ScoredParentSets]) -> NDArray[np.float64]:
    """Return the best score of a graph on every subset of the variables, in nats, float64 (2**n_variables,).

    A graph has a sink, whose parents are among the other variables, and the rest is a graph again (Silander &
    Myllymäki, "A simple approach for finding the globally optimal Bayesian network structure", UAI 2006).
    """
    within = [over_subsets(of_child, np.maximum) for of_child in sets]
    n = len(within)
    subsets = np.arange(1 << n)
    n_members = np.bitwise_count(subsets)
    best = np.full(1 << n, -np.inf)
    best[0] = 0.0
    order = np.argsort(n_members, kind="stable")
    ends = np.cumsum(np.bincount(n_members))
    for size in range(1, n + 1):
        layer = order[ends[size - 1] : ends[size]]
        for v in range(n):
            with_v = layer[layer >> v & 1 == 1]
            others = with_v ^ (1 << v)
            best[with_v] = np.maximum(best[with_v], best[others] + within[v][others])
    return best
