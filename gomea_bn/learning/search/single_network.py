"""The search for a single network with which the search for a front begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from gomea_bn.algorithms.optimisation import evaluate_genotypes
from gomea_bn.data.table import Table
from gomea_bn.learning.options import LearningOptions
from gomea_bn.learning.search.completed_tables import network_of
from gomea_bn.learning.search.search import search
from gomea_bn.learning.search.staged_search import SearchSettings, genotype_of
from gomea_bn.network.inference.completion import completed_table
from gomea_bn.problems.front_problem import FrontProblem
from gomea_bn.problems.structure import StructureProblem
from gomea_bn.runtime.limits import STOPPED_BY_USER, FrontHistoryEntry, Limits, Result

# as of `BayesNetLearner`: more evaluations than that rarely change the network
_PATIENCE = 10.0
_ROUNDING = 1e-11
# any number: the rows must be other draws than those of the searches
_SEED_OF_ROWS = 7


@dataclass(frozen=True)
class SingleNetwork:
    """The network that a search for the best score has found.

    Edges are pairs (parent, child), and cuts those of every continuous column, by position. `pairs`, bool (N, N), are
    those that the search could join, and `n_parameters` counts the free parameters of its tables. Missing values of
    `rows` are drawn from the network. The objective of `result` is minus the score in nats.
    """

    edges: list[tuple[int, int]]
    cuts: Mapping[int, NDArray[np.float64]]
    n_parameters: int
    pairs: NDArray[np.bool_] | None
    rows: Table
    result: Result

    @property
    def was_stopped(self) -> bool:
        """Whether Ctrl-C or a callback ended the search, so that no other one should follow."""
        return self.result.stopped_by in STOPPED_BY_USER

    @property
    def score(self) -> float:
        """Score of the network in nats, as `BayesNetLearner` reports it."""
        return -float(self.result.F[0])

    def genotype(self, problem: FrontProblem) -> NDArray[np.int16]:
        """Return the network as a genotype of a front's problem, whose libraries of cuts it enters."""
        return genotype_of(problem, self.edges, dict(self.cuts))


def limits_of_single(limits: Limits, share: float, evaluations: int | None) -> Limits | None:
    """Return the limits of the search for a single network, None if nothing is left for it.

    `share`, from 0 to below 1, is that of the seconds, evaluations and generations of both searches together; a number
    of `evaluations`, below that of `limits`, takes its place.
    """
    if evaluations == 0 or (evaluations is None and not share):
        return None
    most, generations = limits.max_evaluations, limits.max_generations
    if evaluations is not None:
        most, seconds, generations = evaluations, limits.max_seconds, None
    else:
        seconds = None if limits.max_seconds is None else share * limits.max_seconds
        most = None if most is None else int(share * most)
        generations = None if generations is None else int(share * generations)
    if most == 0 or generations == 0:
        return None
    return Limits(seconds, most, generations, limits.patience or _PATIENCE)


def single_network(
    table: Table,
    options: LearningOptions,
    settings: SearchSettings,
    *,
    began: float,
    share: float,
) -> SingleNetwork:
    """Return the network that `BayesNetLearner` would find for a table, without curves; see `search`."""
    found = search(table, replace(options, curves="none"), settings, began=began, share=share)
    problem, result = found.problem, found.result
    rows = table
    if table.n_missing:
        network = network_of(problem, table, result.X)
        rows = completed_table(network, table, np.random.default_rng([settings.seed, _SEED_OF_ROWS]))
    return SingleNetwork(
        edges=found.network.edges,
        cuts=problem.cuts(result.X),
        n_parameters=_n_parameters(problem, result.X, found.network.edges),
        pairs=problem.pairs,
        rows=rows,
        result=result,
    )


def _n_parameters(
    problem: StructureProblem, genotype: NDArray[np.int16], edges: list[tuple[int, int]]
) -> int:
    """Return the number of free parameters of the tables of a genotype's network with these edges."""
    views = problem.scorer.view_offset[:-1] + problem.policy_indices(genotype)
    cards = problem.scorer.rows.cardinality[views].tolist()
    parents: list[list[int]] = [[] for _ in cards]
    for parent, child in edges:
        parents[child].append(cards[parent])
    return sum(prod(of_child) * (card - 1) for of_child, card in zip(parents, cards, strict=True))


def with_single(
    problem: FrontProblem, front: Result, single: SingleNetwork, genotype: NDArray[np.int16]
) -> tuple[Result, int | None]:
    """Return the front of a search with the single network in it, in order, and the position of that network.

    The network stays in the front if others dominate it. It replaces a network with the same objectives. The position
    is None for a network that exceeds the limit on free parameters. The counts are those of both searches.
    """
    values, violations, _ = evaluate_genotypes(problem, genotype[None])
    genotypes, objectives = front.X, front.F
    position = None
    if violations[0] == 0:
        # the same network may have its terms added in another order
        others = ~np.isclose(objectives, values[0], rtol=_ROUNDING, atol=_ROUNDING).all(axis=1)
        genotypes = np.concatenate([genotypes[others], genotype[None]])
        objectives = np.concatenate([objectives[others], values])
        order = np.lexsort(objectives.T[::-1])
        genotypes, objectives = genotypes[order], objectives[order]
        position = int(np.flatnonzero(order == len(order) - 1)[0])
    before = single.result
    history = [
        replace(entry, seconds=before.exec_time + entry.seconds, n_eval=before.n_eval + entry.n_eval)
        for entry in front.history
        if isinstance(entry, FrontHistoryEntry)
    ]
    return replace(
        front,
        X=genotypes,
        F=objectives,
        n_eval=before.n_eval + front.n_eval,
        n_eval_full=before.n_eval_full + front.n_eval_full,
        exec_time=before.exec_time + front.exec_time,
        time_to_best=before.exec_time + front.time_to_best,
        history=history,
        stopped_by=before.stopped_by if single.was_stopped else front.stopped_by,
        n_generations=before.n_generations + front.n_generations,
        statistics=dict(Counter(before.statistics) + Counter(front.statistics)),
        extra={**front.extra, "violation": np.zeros(len(genotypes))},
    ), position
