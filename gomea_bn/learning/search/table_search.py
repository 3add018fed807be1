"""What a search has learned, and the tables of a network in which some columns follow curves."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.learning.search.learned import learned_cut_points, learned_edges, learned_shapes
from gomea_bn.learning.search.settings import SearchSettings
from gomea_bn.learning.search.staged_search import StagedSearch, evaluations_of_effort
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.problems.structure import StructureProblem
from gomea_bn.runtime.limits import STOPPED_BY_USER, Callback, Limits, Progress, Result

__all__ = ["LearnedNetwork", "continued", "learned_network", "with_tables"]

Edges = list[tuple[int, int]]

# effort of the search for tables: a share of that of the search before it, at least this number, but no more than all
_EFFORT_SHARE = 0.1
_LEAST_EFFORT = 300.0
# seconds that this search may take even if the clock is over
_LEAST_SECONDS = 0.5
# its seconds after Ctrl-C or a callback has ended the search before it
_SECONDS_AFTER_STOP = 1.0
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
    effort: float,
    settings: SearchSettings,
) -> tuple[LearnedNetwork, Result]:
    """Return the network of a search, and its result with the seconds and statistics of the search for tables.

    If some columns follow curves, a second search decides the tables: it takes some of the edges of the graph, and all
    cuts, so that the score by tables is highest. Without curves there is no second search.

    Parameters
    ----------
    problem : StructureProblem
        Problem of the search; its libraries of cuts change.
    result : Result
        Result of the search.
    effort : float
        Effort of the search, as of `StagedSearch`.
    settings : SearchSettings
        Those of the search, with the section of the search for tables. The seconds hold for both searches together.
    """
    network = learned_network(problem, result.X)
    follows = problem.curve_gains(result.X) > 0
    if not follows.any():
        return network, result
    scores = problem.scorer.score(problem.families(result.X))
    is_required = ~problem.edge_rules.allowed[:, :, 0]
    start = [
        (parent, child)
        for parent, child in network.edges
        if not follows[child] or is_required[min(parent, child), max(parent, child)]
    ]
    cuts = problem.cuts(result.X)
    tables = problem.of_tables(network.edges)
    allowed = max(_EFFORT_SHARE * effort, min(effort, _LEAST_EFFORT))
    evaluations = evaluations_of_effort(allowed, tables.n_variables)
    search = StagedSearch(
        tables,
        replace(
            settings,
            limits=_limits_of_tables(settings.limits, result, evaluations),
            seed=settings.seed + _SEED_OF_TABLES,
            callback=continued(settings.callback, result, adds_evaluations=False),
        ),
    )
    of_tables = search.run((start, cuts))
    by_tables = tables.scorer.score(tables.families(of_tables.X))
    names = [variable.name for variable in problem.scorer.variables]
    gains = np.maximum(scores - by_tables, 0.0).tolist()
    learned = replace(
        network,
        table_edges=learned_edges(tables, of_tables.X),
        cuts=learned_cut_points(tables, of_tables.X),
        shapes=learned_shapes(tables, of_tables.X),
        record={"curves": {names[v]: {"nats": gains[v]} for v in np.flatnonzero(follows).tolist()}},
    )
    counts = {"evaluations_of_tables": of_tables.n_eval}
    return learned, replace(
        result,
        exec_time=result.exec_time + of_tables.exec_time,
        statistics=dict(Counter(result.statistics) + Counter(of_tables.statistics)) | counts,
    )


def _limits_of_tables(limits: Limits, result: Result, evaluations: int) -> Limits:
    """Return the limits of the search for tables: a number of evaluations, and the seconds that are left.

    The evaluations of the search before it decide them unless the clock is over, so that runs can be repeated.
    """
    seconds = (
        None if limits.max_seconds is None else max(limits.max_seconds - result.exec_time, _LEAST_SECONDS)
    )
    if result.stopped_by in STOPPED_BY_USER:
        seconds = _SECONDS_AFTER_STOP
    return Limits(max_seconds=seconds, max_evaluations=evaluations)


def continued(
    callback: Callback | None, result: Result, *, adds_evaluations: bool = True, keeps_best: bool = True
) -> Callback | None:
    """Return a callback that reports the counts and the objective of an ended search while another one goes on.

    Parameters
    ----------
    callback : callable, optional
    result : Result
        Result of the ended search.
    adds_evaluations : bool
        Whether the evaluations of the other search count.
    keeps_best : bool
        Whether the objective of the ended search is reported, or else that of the other one.
    """
    if callback is None:
        return None

    def report(progress: Progress) -> bool | None:
        return callback(
            replace(
                progress,
                seconds=result.exec_time + progress.seconds,
                n_eval=result.n_eval + adds_evaluations * progress.n_eval,
                n_generations=result.n_generations + adds_evaluations * progress.n_generations,
                best=float(result.F[0]) if keeps_best else progress.best,
                statistics=dict(Counter(result.statistics) + Counter(progress.statistics)),
            )
        )

    return report
