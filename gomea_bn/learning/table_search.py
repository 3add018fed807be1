"""What a search has learned, and the tables of a network in which some columns follow curves."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.algorithms.gomea import GOMEA
from gomea_bn.learning.learning_problem import learned_cut_points, learned_edges, learned_shapes
from gomea_bn.learning.staged_search import StagedSearch
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.problems.structure import StructureProblem
from gomea_bn.runtime.limits import Callback, Limits, Progress, Result

__all__ = ["LearnedNetwork", "continued", "learned_network", "with_tables"]

Edges = list[tuple[int, int]]

# evaluations of the search for tables, per evaluation of the search before it
_EVALUATION_SHARE = 0.25
_FEWEST_EVALUATIONS = 500
# seconds of the search for tables after Ctrl-C or a callback has ended the search before it
_SECONDS_AFTER_STOP = 1.0
_STOPPED = ("interrupt", "callback")
# any number: the second search must draw other numbers than the first
_SEED_OF_TABLES = 1


@dataclass(frozen=True)
class LearnedNetwork:
    """The parts of a learned network that a search decides.

    Attributes
    ----------
    edges : list of (parent, child)
        Edges of the graph, by position.
    n_void : int
        Number of edges of the search that the graph lacks, since one of their variables has a single bin.
    table_edges : list of (parent, child)
        Edges that the tables have; the others are curve edges.
    cuts : dict of str to ndarray of shape (n_bins - 1,)
        Inner cuts by continuous variable.
    shapes : dict of str to Shape
        By continuous variable whose bins are shaped.
    record : dict
        Fields of the metadata that describe families with curves; empty without any. "curves": by column that follows
        curves, the "nats" by which these are better than its table.
    """

    edges: Edges
    n_void: int
    table_edges: Edges
    cuts: dict[str, NDArray[np.float64]]
    shapes: dict[str, Shape]
    record: dict[str, Any]

    @property
    def curve_edges(self) -> Edges:
        """Edges that the tables leave out."""
        return [edge for edge in self.edges if edge not in self.table_edges]


def learned_network(problem: StructureProblem, genotype: NDArray[np.int16]) -> LearnedNetwork:
    """Return the network of a genotype, with tables of all parents."""
    edges = learned_edges(problem, genotype)
    return LearnedNetwork(
        edges=edges,
        n_void=len(problem.edges(genotype)) - len(edges),
        table_edges=edges,
        cuts=learned_cut_points(problem, genotype),
        shapes=learned_shapes(problem, genotype),
        record={},
    )


def with_tables(
    problem: StructureProblem,
    result: Result,
    algorithm: GOMEA,
    limits: Limits,
    *,
    seed: int,
    n_threads: int,
    callback: Callback | None,
) -> tuple[LearnedNetwork, Result]:
    """Return the network of a search, and its result with the counts of the search for tables.

    If some columns follow curves, a second search decides the tables: it takes some of the edges of the graph, and all
    cuts, so that the score by tables is highest. Without curves there is no second search.

    Parameters
    ----------
    problem : StructureProblem
        Problem of the search; its libraries of cuts change.
    result : Result
        Result of the search.
    algorithm : GOMEA
    limits : Limits
        Limits of both searches together.
    seed, n_threads, callback
        As of `StagedSearch`.
    """
    network = learned_network(problem, result.X)
    follows = problem.curve_gains(result.X) > 0
    if not follows.any():
        return network, result
    scores = problem.scorer.score(problem.families(result.X))
    own = [(parent, child) for parent, child in problem.edges(result.X) if not follows[child]]
    cuts = problem.cuts(result.X)
    tables = problem.of_tables(network.edges)
    search = StagedSearch(
        tables,
        algorithm,
        _limits_of_tables(limits, result),
        seed=seed + _SEED_OF_TABLES,
        n_threads=n_threads,
        callback=continued(callback, result),
    )
    of_tables = search.run((own, cuts))
    by_tables = tables.scorer.score(tables.families(of_tables.X))
    names = [variable.name for variable in problem.scorer.variables]
    gains = dict(zip(names, np.maximum(scores - by_tables, 0.0).tolist(), strict=True))
    learned = replace(
        network,
        table_edges=[edge for edge in learned_edges(tables, of_tables.X) if edge in set(network.edges)],
        cuts=learned_cut_points(tables, of_tables.X),
        shapes=learned_shapes(tables, of_tables.X),
        record={"curves": {names[v]: {"nats": gains[names[v]]} for v in np.flatnonzero(follows).tolist()}},
    )
    return learned, replace(
        result,
        n_eval=result.n_eval + of_tables.n_eval,
        n_eval_full=result.n_eval_full + of_tables.n_eval_full,
        exec_time=result.exec_time + of_tables.exec_time,
        n_generations=result.n_generations + of_tables.n_generations,
        statistics=dict(Counter(result.statistics) + Counter(of_tables.statistics)),
    )


def _limits_of_tables(limits: Limits, result: Result) -> Limits:
    """Return the limits of the search for tables, given those of both searches and the result of the first one."""
    evaluations = max(int(_EVALUATION_SHARE * result.n_eval), _FEWEST_EVALUATIONS)
    if limits.max_evaluations is not None:
        evaluations = max(min(evaluations, limits.max_evaluations - result.n_eval), 1)
    seconds = None if limits.max_seconds is None else max(limits.max_seconds - result.exec_time, 1e-6)
    if result.stopped_by in _STOPPED:
        seconds = _SECONDS_AFTER_STOP
    return Limits(max_seconds=seconds, max_evaluations=evaluations, patience=limits.patience)


def continued(callback: Callback | None, result: Result) -> Callback | None:
    """Return a callback that adds the counts of an ended search, and its objective, to the progress of another one."""
    if callback is None:
        return None

    def report(progress: Progress) -> bool | None:
        return callback(
            replace(
                progress,
                seconds=result.exec_time + progress.seconds,
                n_eval=result.n_eval + progress.n_eval,
                n_generations=result.n_generations + progress.n_generations,
                best=float(result.F[0]),
                statistics=dict(Counter(result.statistics) + Counter(progress.statistics)),
            )
        )

    return report
