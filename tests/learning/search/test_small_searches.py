"""Searches of two to four columns: against brute force, and the same from every seed."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from learning_inside import StagedSearch, scoring_of
from numpy.typing import NDArray
from option_examples import table_options, table_problem
from pricing_examples import all_cuts

from gomea_bn import GOMEA, BayesNetLearner, ExpertKnowledge, read_table
from gomea_bn.learning.search import GraphAndCuts, SearchSettings
from gomea_bn.problems import FamilyScorer, ScoredFamily
from gomea_bn.problems.cuts import CutLimits, Policy
from gomea_bn.runtime import Limits, Progress, Result


def two_lines(seed: int, n_rows: int) -> pd.DataFrame:
    """A column, another that is plus or minus it, and levels of the first with noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n_rows)
    branch = np.where(rng.random(n_rows) < 0.5, x, -x) * 1.5 + 0.2 * rng.normal(size=n_rows)
    noisy = x + 0.5 * rng.normal(size=n_rows)
    level = np.select([noisy < -0.6, noisy < 0.6], ["low", "middle"], "high")
    return pd.DataFrame({"x": x, "branch": branch, "level": level})


def staged(
    frame: pd.DataFrame, limits: Limits, *, seed: int = 1, callback: Any = None, **options: Any
) -> Result:
    problem = table_problem(frame, **options)
    settings = SearchSettings(GOMEA(), limits, seed, n_threads=1, callback=callback)
    return StagedSearch(problem, settings).run()


@pytest.mark.parametrize("seed", range(4))
def test_two_columns_get_the_best_of_all_graphs_and_cuts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 9, 120).astype(float)
    y = np.clip(np.abs(x - 4) + rng.integers(-2, 3, 120), 0, 6).astype(float)
    table, options = (
        read_table(pd.DataFrame({"x": x, "y": y}), kinds=dict.fromkeys("xy", "continuous")),
        table_options(max_bins=4),
    )
    problem = table_problem(table, max_bins=4)
    result = StagedSearch(problem, SearchSettings(GOMEA(), Limits(max_evaluations=600), 1, 1)).run()

    limits = CutLimits(1, 4, options.min_width, options.min_bin_count)
    variables = [
        replace(variable, policies=policies_of(all_cuts(variable.values, limits)))
        for variable in problem.scorer.variables
    ]
    scorer = FamilyScorer(variables, *scoring_of(table, options))
    n_x, n_y = (len(variable.policies) for variable in variables)
    alone_x = scorer.score([ScoredFamily((0, i)) for i in range(n_x)])
    alone_y = scorer.score([ScoredFamily((1, j)) for j in range(n_y)])
    pairs = [(i, j) for i in range(n_x) for j in range(n_y)]
    x_given_y = scorer.score([ScoredFamily((0, i), ((1, j),)) for i, j in pairs]).reshape(n_x, n_y)
    y_given_x = scorer.score([ScoredFamily((1, j), ((0, i),)) for i, j in pairs]).reshape(n_x, n_y)
    best = max(
        alone_x.max() + alone_y.max(), (x_given_y + alone_y).max(), (alone_x[:, None] + y_given_x).max()
    )
    assert -result.F[0] == pytest.approx(best, abs=1e-6)


def policies_of(sets: Iterable[NDArray[np.float64]]) -> tuple[Policy, ...]:
    return tuple(map(Policy, sets))


@pytest.mark.parametrize("required", [[], [("level", "branch")]])
@pytest.mark.parametrize("seed", [0, 1])
def test_seeds_agree_on_the_network(seed: int, required: list[tuple[str, str]]) -> None:
    """Cuts given the graph, and the graph given cuts, are not the best of both: seeds ended up to 4 nats apart.

    The concentrations of the tables are a third part, which the cuts take from the tables before.
    """
    frame, knowledge = two_lines(seed, 60), ExpertKnowledge(required_edges=required)
    learners = [
        BayesNetLearner(
            max_seconds=None, max_evaluations=1_500, random_state=k, density="bins", knowledge=knowledge
        ).fit(frame)
        for k in range(3)
    ]
    scores = [learner.score_ for learner in learners]
    assert max(scores) - min(scores) < 1
    assert all(set(required) <= set(learner.network_.edges) for learner in learners)


@pytest.mark.parametrize("n_evaluations", [1, 2, 30, 100, 400])
def test_limits_on_evaluations_hold(n_evaluations: int) -> None:
    result = staged(two_lines(2, 60), Limits(max_evaluations=n_evaluations))
    assert result.n_eval == n_evaluations


@pytest.mark.parametrize("n_reports", [1, 2, 4])
def test_evaluations_repeat_a_comparison_of_graphs_that_ended_early(n_reports: int) -> None:
    reports: list[Progress] = []

    def stop(progress: Progress) -> bool:
        reports.append(progress)
        return len(reports) >= n_reports

    frame = two_lines(3, 80)
    ended = staged(frame, Limits(max_seconds=60), callback=stop, curves="auto")
    again = staged(frame, Limits(max_evaluations=ended.n_eval), curves="auto")
    assert (again.n_eval, again.F[0]) == (ended.n_eval, ended.F[0])
    assert np.array_equal(again.X, ended.X)


def test_tables_of_few_cells_are_kept_to() -> None:
    knowledge = ExpertKnowledge(required_edges=[("x", "branch"), ("level", "branch")], max_table_cells=12)
    learner = BayesNetLearner(
        max_seconds=None, max_evaluations=800, random_state=1, density="bins", knowledge=knowledge
    ).fit(two_lines(4, 200))
    network = learner.network_
    assert {("x", "branch"), ("level", "branch")} <= set(network.edges)
    assert network.cardinality("x") * network.cardinality("branch") * 3 <= 12


def test_a_given_network_is_the_least_that_comes_out() -> None:
    problem = table_problem(two_lines(1, 60), curves="auto")
    best = StagedSearch(problem, SearchSettings(GOMEA(), Limits(max_evaluations=1_500), 1, 1)).run()
    start = GraphAndCuts(problem.edges(best.X), problem.cuts(best.X))
    short = StagedSearch(problem, SearchSettings(GOMEA(), Limits(max_evaluations=3), 1, 1)).run(start)
    assert short.F[0] <= best.F[0] + 1e-9
