"""Searches on completed rows or tables, after a search on the rows that have values."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import log
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn.data.kernels import MISSING
from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError
from gomea_bn.learning.averaging.families import N_COPIES, average_in_time
from gomea_bn.learning.learning_problem import learning_problem
from gomea_bn.learning.options import LearningOptions
from gomea_bn.learning.search.rounds import SearchRounds
from gomea_bn.learning.search.shown_cuts import (
    Found,
    LearnedNetwork,
    learned_cut_points,
    learned_edges,
    learned_shapes,
    with_shown_cuts,
)
from gomea_bn.learning.search.staged_search import GraphAndCuts, searched
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.counting import completed_codes
from gomea_bn.network.inference.answers import log_density
from gomea_bn.network.inference.cell_engine import OF_ROWS, CellEngine
from gomea_bn.network.inference.completion import completed_table
from gomea_bn.network.inference.engine import Engine, engine_for
from gomea_bn.problems.cuts.cut_column import ScoredVariable
from gomea_bn.problems.cuts.shape_fit import share_shapes, table_shapes
from gomea_bn.problems.family_scorer import Completion, FamilyScorer
from gomea_bn.problems.kernels.score import DIRICHLET, ScoreRule
from gomea_bn.problems.scores import score_rule, scoring_method
from gomea_bn.problems.structure import StructureProblem
from gomea_bn.runtime.fit_clock import GAPS, NO_LIMIT, SEARCH, FitClock
from gomea_bn.runtime.kernel_progress import search_clock
from gomea_bn.runtime.limits import STOPPED_BY_USER, Limits, Result
from gomea_bn.runtime.threads import StopFlag

# shares of the limits of a search that stay for completed rows, and for completed tables
_SHARE_OF_ROWS, _SHARE_OF_TABLES = 0.25, 0.6
# most evaluations of each of the two searches, and per gene
_MOST_EVALUATIONS = 5_000
_MOST_PER_GENE = 50
_MOST_COMPLETIONS = 5
# rows of a table and their completions, beyond which every row is completed once
_MOST_ROWS = 50_000


def limits_before(problem: StructureProblem, rounds: SearchRounds) -> Limits:
    """Return the limits of the first round, the search before `with_completions`."""
    if problem.first_cuts:
        return rounds.limits(1 - _SHARE_OF_TABLES)
    evaluations, most = rounds.settings.limits.max_evaluations, 2 * _evaluations(problem)
    before = rounds.limits(1 - _SHARE_OF_ROWS)
    if evaluations is None:
        return before
    return replace(before, max_evaluations=max(evaluations - min(int(_SHARE_OF_ROWS * evaluations), most), 1))


def _on_completed_rows(problem: StructureProblem, table: Table, rounds: SearchRounds) -> Result:
    """Return the result of the first round with the graph that scores best on completed rows; the cuts stay.

    Dependences that a graph lacks are lost when the rows are completed by draws from its network. The second round
    therefore looks for a graph with many edges, under the Akaike information criterion on available cases. Draws from
    its network complete the rows. The third round scores graphs by expected counts, so that all families are compared
    on the same rows (the structural EM algorithm: Friedman 1998). What a parent costs is multiplied by the fourth root
    of the number of all rows per row in which the family was observed. The objective becomes that of the new graph on
    available cases.
    """
    (result,), settings = rounds.results, rounds.settings
    if not problem.n_edge_genes:
        return result
    views = problem.scorer.view_offset[:-1] + problem.policy_indices(result.X)
    # uint8 (n_variables, n_rows), and numbers of bins or levels
    rows, cards = problem.scorer.rows.codes[views], problem.scorer.rows.cardinality[views].tolist()
    first_edges = learned_edges(problem, result.X)

    def edges_of(
        step: int, codes: NDArray[np.uint8], rule: ScoreRule, completion: Completion | None = None
    ) -> list[tuple[int, int]] | None:
        """Return the edges of a search for the graph alone, None if nothing is left or the user stops it."""
        if rounds.is_over:
            return None
        variables = [
            ScoredVariable(one.name, of_one, card, are_bins=one.n_levels == 0)
            for one, of_one, card in zip(problem.scorer.variables, codes, cards, strict=True)
        ]
        of_rows = StructureProblem(
            FamilyScorer(variables, problem.scorer.method, rule, completion=completion),
            problem.edge_rules,
            random_repair=problem.rules.random_order,
            initial_indegree=problem.initial_indegree,
            pairs=problem.pairs,
        )
        left = rounds.limits(1 / (2 - step))
        limits = replace(
            left, max_evaluations=int(min(left.evaluations, _evaluations(problem))), patience=None
        )
        initial = of_rows.genotype(first_edges, [0] * of_rows.n_nodes)[None]
        random_state = np.random.SeedSequence([settings.seed, step])
        of_search = rounds.run(
            lambda of_round: of_round.run(of_rows, initial=initial, random_state=random_state),
            f"graph {step}",
            limits,
            best=float(result.F[0]),
            compares=False,
        )
        was_stopped = of_search.stopped_by in STOPPED_BY_USER
        return None if was_stopped and not step else of_rows.edges(of_search.X)

    generous = score_rule(scoring_method("density-bic"), table.n_rows, penalty="aic")
    dense = edges_of(0, rows, generous)
    if dense is None:
        return rounds.total(result)
    network = LearnedNetwork(dense, learned_cut_points(problem, result.X)).over(table, pseudo_count="auto")
    codes, completion = _completed_rows(network, rows, np.random.default_rng([settings.seed, 2]))
    edges = edges_of(1, codes, problem.scorer.rule, completion)
    if edges is None:
        return rounds.total(result)
    genotype = problem.genotype(edges, problem.policy_indices(result.X).tolist())
    return rounds.total(result, X=genotype, F=_objective(problem, genotype))


def _evaluations(problem: StructureProblem) -> int:
    """Return the largest number of evaluations of either search."""
    return max(_MOST_EVALUATIONS, _MOST_PER_GENE * problem.n_edge_genes)


def _objective(problem: StructureProblem, genotype: NDArray[np.int16]) -> NDArray[np.float64]:
    """Return the objective of a genotype on available cases, float64 (1,)."""
    return np.array([-float(problem.scorer.score(problem.families(genotype)).sum())])


def _completed_rows(
    network: DiscretizedBayesNet, rows: NDArray[np.uint8], generator: np.random.Generator
) -> tuple[NDArray[np.uint8], Completion]:
    """Return the possible rows, completed some times by draws from a network, and how they were completed."""
    n_completions = min(max(_MOST_ROWS // rows.shape[1], 1), _MOST_COMPLETIONS)
    is_observed = rows != MISSING
    observed = np.where(is_observed, rows.astype(np.int32), np.int32(-1))
    drawn = completed_codes(network, np.ascontiguousarray(observed.T), n_completions, generator)
    is_possible = drawn[:, 0, 0] >= 0
    codes = drawn[is_possible].astype(np.uint8).transpose(2, 0, 1).reshape(len(rows), -1)
    completion = Completion(is_observed[:, is_possible], n_completions)
    return np.ascontiguousarray(codes), completion


# number of completed tables that are searched by tables alone, and before and in searches with curves
_N_TABLES = 3
_N_BEFORE_CURVES = 1
_N_WITH_CURVES = 4
# seconds that learning the conditionals of incomplete rows takes for a value, and share of those that are left
_SECONDS_OF_CONDITIONALS, _SHARE_OF_CONDITIONALS = 4e-5, 0.2
# share of the seconds left that a completed table, and its preparation, may take each
_SHARE_OF_PREPARATION = 0.15
# fewest complete rows that are searched alone, and per column
_LEAST_COMPLETE_ROWS = 100
_ROWS_PER_COLUMN = 10
# rows beyond which the first completed table that gains nothing is the last one
_FEW_ROWS = 1_000
# any number: draws must be others than those of the searches before
_SEED_OF_CURVES = 11


def with_completions(
    problem: StructureProblem,
    table: Table,
    options: LearningOptions,
    rounds: SearchRounds,
    start: GraphAndCuts | None = None,
    clock: FitClock = NO_LIMIT,
) -> Found:
    """Return what searches of a table with missing values find, the first one with `limits_before`.

    The first search may begin at a graph and cuts. If cuts are priced, further rounds search graph and cuts, and
    otherwise the graph on completed rows. The clock is that of the whole fit. Ctrl-C ends the search that is running,
    and what has been found is completed.

    Few rows have values in all variables of a family, so available cases show weak dependences and fine cuts badly.
    Draws from the network therefore complete the table, the learner searches it for a graph and cuts, and the next
    network completes the table again (the structural EM algorithm: Friedman 1998).

    The first search scores available cases. Where columns may have curves, a search of a completed table without curves
    follows, and one of the complete rows if there are enough of them: unlike draws, they show all dependences. The
    other rounds begin without a network on a table that the conditionals of the best network complete. Networks with
    conditionals compete by the likelihood of the observed values, minus 1 for every free probability and coefficient,
    weighted as in the mixture. Learning those of one network may take a share of what the clock has left. Of many rows,
    the first completed table that gains nothing is the last one.
    """
    has_curves = options.has_curves and problem.scorer.rule.kind == DIRICHLET and bool(problem.first_cuts)
    rounds.run(partial(searched, problem, start=start), "search", limits_before(problem, rounds))
    # Ctrl-C must not lose what the search has found
    with rounds.stop.catching_interrupts():
        if not problem.first_cuts:
            result = _on_completed_rows(problem, table, rounds)
            return Found(problem, *with_shown_cuts(problem, result, clock))
        result = _on_tables_of_bins(problem, table, options, rounds, clock, has_curves=has_curves)
        found = Found(problem, *with_shown_cuts(problem, rounds.total(result), clock))
        return _on_tables_with_curves(found, table, options, rounds, clock) if has_curves else found


def _search_of(
    problem: StructureProblem,
    rows: Table,
    options: LearningOptions,
    rounds: SearchRounds,
    clock: FitClock,
    part: str,
    further: int,
    n_left: int,
    start: GraphAndCuts | None = None,
) -> tuple[StructureProblem, Result]:
    """Return the problem of some rows and the result of its search, the first one of `n_left`."""
    of_rows = learning_problem(rows, options, pairs=problem.pairs, clock=clock.part(_SHARE_OF_PREPARATION))
    return of_rows, rounds.run(
        partial(searched, of_rows, start=start),
        part,
        rounds.limits(1 / n_left),
        further=further,
        best=float(rounds.results[0].F[0]),
        compares=False,
    )


def _on_tables_of_bins(
    problem: StructureProblem,
    table: Table,
    options: LearningOptions,
    rounds: SearchRounds,
    clock: FitClock,
    *,
    has_curves: bool,
) -> Result:
    """Return the best result of the first round and of completed tables without curves.

    There are fewer of these if searches with curves follow.

    A completed table makes the network that completed it look better than it is. So the networks compete by the
    likelihood of the observed values, minus 1 for a free probability (Akaike's information criterion), and minus ln n
    for a cut.
    """
    (first,), seed, frame = rounds.results, rounds.settings.seed, table.to_frame()
    latest = best = first.X
    time_to_best = first.time_to_best
    network = network_of(problem, table, best)
    criterion = _criterion(network, frame)
    n_tables = _N_BEFORE_CURVES if has_curves else _N_TABLES
    n_left = n_tables + _N_WITH_CURVES * has_curves
    for step in range(n_tables):
        if rounds.is_over:
            break
        completed = _completed(network, table, [seed, step], rounds.stop, clock)
        if rounds.is_over:
            break
        # the first search starts without a network, since the graph of available cases may be hard to leave
        start = GraphAndCuts(problem.edges(latest), problem.cuts(latest)) if step else None
        without = replace(options, curves="none")
        of_table, of_search = _search_of(
            problem, completed, without, rounds, clock, f"table {step}", step + 1, n_left - step, start
        )
        latest = _genotype(problem, of_table, of_search.X, best)
        network = network_of(problem, table, latest)
        if (of_network := _criterion(network, frame)) < criterion:
            best, criterion, time_to_best = latest, of_network, rounds.stop.seconds
    return replace(first, X=best, F=_objective(problem, best), time_to_best=time_to_best)


def _on_tables_with_curves(
    found: Found, table: Table, options: LearningOptions, rounds: SearchRounds, clock: FitClock
) -> Found:
    """Return the best of the network so far and of those that searches with curves find.

    They search the complete rows, if there are enough of them, and completed tables.
    """
    problem, (first, *_), seed, frame = found.problem, rounds.results, rounds.settings.seed, table.to_frame()
    complete = table.complete_rows()
    is_enough = complete.n_rows >= max(_LEAST_COMPLETE_ROWS, _ROWS_PER_COLUMN * len(table.columns))
    # a column that is constant there has no shape, and shows no dependence
    is_enough &= complete.n_varying == table.n_varying
    # the network so far and one of curves have conditionals
    needed = 2 * _SECONDS_OF_CONDITIONALS * table.n_rows * len(table.columns)
    if rounds.is_over or rounds.seconds_left < needed:
        return replace(found, result=rounds.total(found.result))

    def with_conditionals(network: DiscretizedBayesNet, rows: Table) -> tuple[DiscretizedBayesNet, float]:
        of_network = clock.part(_SHARE_OF_CONDITIONALS)
        averaged = average_in_time(network, rows, N_COPIES, "auto", "simple", seed, of_network)
        return averaged, _criterion_of_conditionals(averaged, frame)

    def over(learned: LearnedNetwork, rows: Table) -> DiscretizedBayesNet:
        return learned.over(rows, pseudo_count="auto", metadata=learned.record)

    began = search_clock()
    network, criterion = with_conditionals(over(found.network, table), table)
    found = replace(found, conditionals=network.conditionals)
    longest = search_clock() - began
    for n_left in range(_N_WITH_CURVES if is_enough else _N_WITH_CURVES - 1, 0, -1):
        if rounds.is_over:
            break
        if clock.left < longest:
            clock.note(SEARCH)
            break
        began = search_clock()
        completed = _completed(network, table, [seed, _SEED_OF_CURVES, n_left], rounds.stop, clock)
        if rounds.is_over:
            break
        rows = complete if n_left == _N_WITH_CURVES else completed
        of_rows, of_search = _search_of(
            problem, rows, options, rounds, clock, f"curves {n_left}", _SEED_OF_CURVES + n_left, n_left
        )
        result = replace(first, X=of_search.X, F=of_search.F, time_to_best=rounds.stop.seconds)
        learned, _ = with_shown_cuts(of_rows, of_search, clock)
        of_table = _of_all_rows(Found(of_rows, learned, result), problem, table)
        other, of_network = with_conditionals(
            over(of_table.network, completed), table if rows is complete else completed
        )
        longest = max(longest, search_clock() - began)
        if of_network < criterion:
            network, criterion = other, of_network
            found = replace(of_table, conditionals=network.conditionals)
        elif table.n_rows > _FEW_ROWS and rows is not complete:
            # later tables rarely gain where one did not, and take as long
            break
    return replace(found, result=rounds.total(found.result))


def _of_all_rows(found: Found, problem: StructureProblem, table: Table) -> Found:
    """Return what a search of other rows has found, with the shapes of the table and figures of all its rows.

    Nats of complete rows are multiplied by the number of all rows per complete one, as scores of available cases are.
    The problem is then that of the table.
    """
    shapes = {name: table_shapes(table)[name].shape for name in found.network.shapes}
    learned, of_rows = replace(found.network, shapes=shapes), found.problem.scorer
    if of_rows.n_rows == table.n_rows:
        return replace(found, network=learned)
    weight = table.n_rows / of_rows.n_rows
    record = {
        field: {name: _multiplied(entry, weight) for name, entry in of_field.items()}
        for field, of_field in learned.record.items()
    }
    scores = {name: weight * score for name, score in learned.family_scores.items()}
    # costs of void edges, which users do not see, are not multiplied
    void = learned.n_void * of_rows.rule.edge_cost
    objective = weight * (found.result.F - of_rows.constant_score - void) + void
    return replace(
        found,
        problem=problem,
        network=replace(learned, record=record, family_scores=scores),
        result=replace(found.result, F=objective + problem.scorer.constant_score),
    )


def _multiplied(entry: Any, weight: float) -> Any:
    """Return the record of a column, see `LearnedNetwork`, with its nats multiplied by a weight."""
    if isinstance(entry, dict):
        return {**entry, "nats": weight * entry["nats"]}
    return [[name, weight * nats] for name, nats in entry]


def network_of(problem: StructureProblem, table: Table, genotype: NDArray[np.int16]) -> DiscretizedBayesNet:
    """Return the network of a genotype, with tables from all rows and the smoothing "auto"."""
    learned = LearnedNetwork(
        learned_edges(problem, genotype),
        learned_cut_points(problem, genotype),
        learned_shapes(problem, genotype),
    )
    return learned.over(table, pseudo_count="auto")


def _completed(
    network: DiscretizedBayesNet, table: Table, seed: list[int], stop: StopFlag, clock: FitClock
) -> Table:
    """Return a table completed by draws from a network, with the shapes of its observed values."""
    is_late = clock.part(_SHARE_OF_PREPARATION).late(GAPS)
    completed = completed_table(
        network, table, np.random.default_rng(seed), lambda: bool(stop.reason) or is_late()
    )
    share_shapes(completed, table)
    return completed


def _criterion_of_conditionals(network: DiscretizedBayesNet, frame: pd.DataFrame) -> float:
    """Return the charged likelihood of the observed values under conditionals as a cost in nats; lower is better."""
    price = sum(family.n_parameters for family in network.families.values())
    return price - _log_likelihood(network, frame)


def _log_likelihood(network: DiscretizedBayesNet, frame: pd.DataFrame) -> float:
    """Return the log likelihood of the observed values of rows in nats, which is compared with that of others."""
    if network.conditionals is None:
        engine: Engine = engine_for(network)
    else:
        engine = CellEngine(network, OF_ROWS, is_rough=True)
    try:
        densities = log_density(engine, frame, None, (), "points")
    except GomeaBnError:
        # the graph has too many paths for exact inference
        densities = network.log_density(frame, method="sampling", random_state=0)
    return float(densities.sum())


def _criterion(network: DiscretizedBayesNet, frame: pd.DataFrame) -> float:
    """Return the charged likelihood of the observed values as a cost in nats; lower is better."""
    n_cuts = sum(map(len, network.cut_points.values()))
    price = network.n_parameters + log(len(frame)) * n_cuts
    return price - _log_likelihood(network, frame)


def _genotype(
    problem: StructureProblem, other: StructureProblem, genotype: NDArray[np.int16], kept: NDArray[np.int16]
) -> NDArray[np.int16]:
    """Return the genotype of another problem's genotype, whose cuts enter the libraries; those of `kept` stay."""
    policies = problem.policy_indices(kept).tolist()
    indices = [0] * problem.n_nodes
    for v, cuts in other.cuts(genotype).items():
        indices[v] = problem.enter_between_runs(v, cuts, [policies[v]])
    return problem.genotype(other.edges(genotype), indices)
