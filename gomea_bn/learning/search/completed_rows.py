"""Search for the graph on completed rows, after a search on the rows that have values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.table import Table
from gomea_bn.learning.reported_scores import continued
from gomea_bn.learning.search.budget import Budget
from gomea_bn.learning.search.learned import learned_cut_points, learned_edges
from gomea_bn.learning.search.settings import SearchSettings
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.expected_tables import completed_codes
from gomea_bn.problems.kernels.score import MISSING, ScoreRule
from gomea_bn.problems.scoring.family_scorer import Completion, FamilyScorer
from gomea_bn.problems.scoring.scored_columns import ScoredVariable
from gomea_bn.problems.scoring.scores import score_rule, scoring_method
from gomea_bn.problems.structure import StructureProblem
from gomea_bn.runtime.limits import STOPPED_BY_USER, Limits, Result

__all__ = ["limits_before_rows", "on_completed_rows", "total_of"]

# share of the limits of a search that stays for completed rows
_SHARE = 0.25
# most evaluations of each of the two searches, and per gene
_MOST_EVALUATIONS = 5_000
_MOST_PER_GENE = 50
_MOST_COMPLETIONS = 5
# rows of a table and their completions, beyond which every row is completed once
_MOST_ROWS = 50_000


@dataclass(frozen=True, slots=True)
class _Codes:
    """The rows as bins or levels: codes, uint8 (n_variables, n_rows), and their numbers, int64 (n_variables,)."""

    codes: NDArray[np.uint8]
    cards: NDArray[np.int64]


def limits_before_rows(problem: StructureProblem, limits: Limits) -> Limits:
    """Return the limits of the search before `on_completed_rows`, given those of both together."""
    evaluations, most = limits.max_evaluations, 2 * _evaluations(problem)
    before = Budget(limits).share(1 - _SHARE)
    if evaluations is None:
        return before
    return replace(before, max_evaluations=max(evaluations - min(int(_SHARE * evaluations), most), 1))


def on_completed_rows(
    problem: StructureProblem,
    table: Table,
    result: Result,
    settings: SearchSettings,
) -> Result:
    """Return the result of a search with the graph that scores best on completed rows; the cuts stay.

    Dependences that a graph lacks are lost when the rows are completed by draws from its network. A first search
    therefore looks for a graph with many edges, under the Akaike information criterion on available cases. Draws from
    its network complete the rows. The second search scores graphs by expected counts, so that all families are compared
    on the same rows (the structural EM algorithm: Friedman 1998). What a parent costs is multiplied by the fourth root
    of the number of all rows per row in which the family was observed.

    Parameters
    ----------
    problem : StructureProblem
        Problem of the search.
    table : Table
        Rows with missing values.
    result : Result
        Result of the search under `limits_before_rows`. Its objective becomes that of the new graph on available cases.
    settings : SearchSettings
        Limits are those of all searches together, the section is that of both searches on completed rows.
    """
    if result.stopped_by in STOPPED_BY_USER or not problem.n_edge_genes:
        return result
    views = problem.scorer.view_offset[:-1] + problem.policy_indices(result.X)
    rows = _Codes(problem.scorer.rows.codes[views], problem.scorer.rows.cardinality[views])
    first_edges = learned_edges(problem, result.X)
    results = [result]

    def searched(of_rows: StructureProblem, step: int) -> list[tuple[int, int]] | None:
        """Return the edges of a search, None if nothing is left for it or the user stops it."""
        budget = Budget(settings.limits).after(total_of(results))
        if budget.is_spent:
            return None
        left = budget.share(1 / (2 - step))
        evaluations = min(left.evaluations, _evaluations(problem))
        of_search = settings.algorithm.run(
            of_rows,
            replace(left, max_evaluations=int(evaluations), patience=None),
            random_state=np.random.SeedSequence([settings.seed, step]),
            n_jobs=settings.n_threads,
            callback=continued(settings.callback, total_of(results)),
            initial=of_rows.genotype(first_edges, [0] * of_rows.n_nodes)[None],
            checkpoint=settings.section.part(f"graph {step}"),
        )
        results.append(of_search)
        was_stopped = of_search.stopped_by in STOPPED_BY_USER
        return None if was_stopped and not step else of_rows.edges(of_search.X)

    generous = score_rule(scoring_method("density-bic"), table.n_rows, penalty="aic")
    dense = searched(_coded_problem(problem, rows, generous), 0)
    if dense is None:
        return total_of(results)
    network = DiscretizedBayesNet.from_table(
        table,
        [(table.names[parent], table.names[child]) for parent, child in dense],
        learned_cut_points(problem, result.X),
        pseudo_count="auto",
    )
    completed_rows, completion = _completed_rows(network, rows, np.random.default_rng([settings.seed, 2]))
    edges = searched(_coded_problem(problem, completed_rows, problem.scorer.rule, completion), 1)
    if edges is None:
        return total_of(results)
    genotype = problem.genotype(edges, problem.policy_indices(result.X).tolist())
    objective = -float(problem.scorer.score(problem.families(genotype)).sum())
    return replace(total_of(results), X=genotype, F=np.array([objective]))


def _evaluations(problem: StructureProblem) -> int:
    """Return the largest number of evaluations of either search."""
    return max(_MOST_EVALUATIONS, _MOST_PER_GENE * problem.n_edge_genes)


def total_of(results: Sequence[Result]) -> Result:
    """Return the first of some results with the counts of all, and the reason of a stop by the user."""
    last = results[-1].stopped_by
    return replace(
        results[0],
        stopped_by=last if last in STOPPED_BY_USER else results[0].stopped_by,
        n_eval=sum(result.n_eval for result in results),
        n_eval_full=sum(result.n_eval_full for result in results),
        exec_time=sum(result.exec_time for result in results),
        n_generations=sum(result.n_generations for result in results),
    )


def _coded_problem(
    problem: StructureProblem, rows: _Codes, rule: ScoreRule, completion: Completion | None = None
) -> StructureProblem:
    """Return the problem of the graph alone, for rows as codes."""
    variables = [
        ScoredVariable(variable.name, codes, card)
        for variable, codes, card in zip(problem.scorer.variables, rows.codes, rows.cards.tolist())
    ]
    return StructureProblem(
        FamilyScorer(variables, problem.scorer.method, rule, completion=completion),
        problem.edge_rules,
        random_repair=problem.rules.random_order,
        initial_indegree=problem.initial_indegree,
        pairs=problem.pairs,
    )


def _completed_rows(
    network: DiscretizedBayesNet, rows: _Codes, generator: np.random.Generator
) -> tuple[_Codes, Completion]:
    """Return the possible rows, completed some times by draws from a network, and how they were completed."""
    n_rows = rows.codes.shape[1]
    n_completions = min(max(_MOST_ROWS // n_rows, 1), _MOST_COMPLETIONS)
    is_observed = rows.codes != MISSING
    observed = np.where(is_observed, rows.codes.astype(np.int32), np.int32(-1))
    drawn = completed_codes(network, np.ascontiguousarray(observed.T), n_completions, generator)
    is_possible = drawn[:, 0, 0] >= 0
    codes = drawn[is_possible].astype(np.uint8).transpose(2, 0, 1).reshape(len(rows.cards), -1)
    completion = Completion(is_observed[:, is_possible], n_completions)
    return _Codes(np.ascontiguousarray(codes), rows.cards), completion
