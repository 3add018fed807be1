"""Searches on completed rows or tables, after a search on the rows that have values."""

from __future__ import annotations

from dataclasses import replace
from math import log
from time import perf_counter

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError
from gomea_bn.learning.learning_options import LearningOptions
from gomea_bn.learning.learning_problem import learning_problem
from gomea_bn.learning.search.completed_rows import (
    limits_before_rows,
    limits_left,
    on_completed_rows,
    shared_limits,
    total_of,
)
from gomea_bn.learning.search.learned import learned_cut_points, learned_edges, learned_shapes
from gomea_bn.learning.search.settings import SearchSettings
from gomea_bn.learning.search.staged_search import searched
from gomea_bn.learning.search.table_search import continued
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.inference.completion import completed_table
from gomea_bn.problems.structure import StructureProblem
from gomea_bn.runtime.limits import STOPPED_BY_USER, Limits, Result

__all__ = ["limits_before", "network_of", "with_completions"]

# share of the limits of a search that stays for completed tables, and their number
_SHARE = 0.6
_N_TABLES = 3


def limits_before(problem: StructureProblem, table: Table, limits: Limits) -> Limits:
    """Return the limits of the search before `with_completions`, given those of both together."""
    if not table.n_missing:
        return limits
    if not problem.first_cuts:
        return limits_before_rows(problem, limits)
    return shared_limits(limits, 1 - _SHARE)


def with_completions(
    problem: StructureProblem,
    table: Table,
    options: LearningOptions,
    result: Result,
    settings: SearchSettings,
) -> Result:
    """Return the result of a search after searches on completed rows; a complete table has none.

    If cuts are priced, graph and cuts are searched on completed tables, otherwise the graph on completed rows.

    Parameters
    ----------
    problem : StructureProblem
        Problem of the search; new cuts enter its libraries.
    table : Table
    options : LearningOptions
        Those of the problem.
    result : Result
        Result of the search under `limits_before`.
    settings : SearchSettings
        Limits are those of all searches together, the section is that of the searches on completed rows.
    """
    if not table.n_missing:
        return result
    if not problem.first_cuts:
        return on_completed_rows(problem, table, result, settings)
    return _on_completed_tables(problem, table, options, result, settings)


def network_of(problem: StructureProblem, table: Table, genotype: NDArray[np.int16]) -> DiscretizedBayesNet:
    """Return the network of a genotype, with tables from all rows and the smoothing "auto"."""
    return DiscretizedBayesNet.from_table(
        table,
        [(table.names[parent], table.names[child]) for parent, child in learned_edges(problem, genotype)],
        learned_cut_points(problem, genotype),
        pseudo_count="auto",
        shapes=learned_shapes(problem, genotype),
    )


def _on_completed_tables(
    problem: StructureProblem,
    table: Table,
    options: LearningOptions,
    result: Result,
    settings: SearchSettings,
) -> Result:
    """Return the result of a search with the best graph and cuts that it or searches on completed tables have found.

    Few rows have values in all variables of a family, so available cases show weak dependences and fine cuts badly.
    Draws from the network therefore complete the table, the learner searches it for a graph and cuts, and the next
    network completes the table again (the structural EM algorithm: Friedman 1998). A completed table makes the network
    that completed it look better than it is. So the networks compete by the likelihood of the observed values, minus 1
    for a free probability (Akaike's information criterion), and minus ln n for a cut.
    """
    began = perf_counter()
    frame = table.to_frame()
    genotype = best = result.X
    network = network_of(problem, table, genotype)
    criterion = _criterion(network, frame)
    for step in range(_N_TABLES):
        left = limits_left(settings.limits, result, _N_TABLES - step)
        if left is None or result.stopped_by in STOPPED_BY_USER:
            break
        completed = completed_table(network, table, np.random.default_rng([settings.seed, step]))
        of_table = learning_problem(completed, replace(options, curves="none"), pairs=problem.pairs)
        result = replace(result, exec_time=result.exec_time + perf_counter() - began)
        # the first search starts without a network, since the graph of available cases may be hard to leave
        start = (problem.edges(genotype), problem.cuts(genotype)) if step else None
        of_search, _ = searched(
            of_table,
            replace(
                settings.part(f"table {step}"),
                limits=left,
                seed=settings.seed + step + 1,
                callback=continued(settings.callback, result),
            ),
            start,
        )
        began = perf_counter()
        result = total_of([result, of_search])
        genotype = _genotype(problem, of_table, of_search.X, best)
        network = network_of(problem, table, genotype)
        if (of_network := _criterion(network, frame)) < criterion:
            best, criterion = genotype, of_network
            result = replace(result, time_to_best=result.exec_time)
    objective = -float(problem.scorer.score(problem.families(best)).sum())
    seconds = result.exec_time + perf_counter() - began
    return replace(result, X=best, F=np.array([objective]), exec_time=seconds)


def _criterion(network: DiscretizedBayesNet, frame: pd.DataFrame) -> float:
    """Return the charged likelihood of the observed values as a cost in nats; lower is better."""
    n_cuts = sum(map(len, network.cut_points.values()))
    price = network.n_parameters + log(len(frame)) * n_cuts
    try:
        densities = network.log_density(frame)
    except GomeaBnError:
        # the graph has too many paths for exact inference
        densities = network.log_density(frame, method="sampling", random_state=0)
    return price - float(densities.sum())


def _genotype(
    problem: StructureProblem, other: StructureProblem, genotype: NDArray[np.int16], kept: NDArray[np.int16]
) -> NDArray[np.int16]:
    """Return the genotype of another problem's genotype, whose cuts enter the libraries; those of `kept` stay."""
    policies = problem.policy_indices(kept).tolist()
    indices = [0] * problem.n_nodes
    for v, cuts in other.cuts(genotype).items():
        indices[v] = problem.enter_between_runs(v, cuts, [policies[v]])
    return problem.genotype(other.edges(genotype), indices)
