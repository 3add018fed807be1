"""The search in stages: over graphs with given cuts, and over graphs and cuts together."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from option_examples import table_problem

from gomea_bn import GOMEA, BayesNetLearner, ExpertKnowledge, GomeaBnError
from gomea_bn.learning.search import SearchSettings, staged_search
from gomea_bn.learning.search.staged_search import StagedSearch
from gomea_bn.problems import ParentLibraries, ScoredFamily, StructureProblem
from gomea_bn.problems.scores import relative_edge_cost
from gomea_bn.runtime import Limits, Progress, Result
from gomea_bn.simulation import random_network


def exclusive_or(n_rows: int = 400) -> pd.DataFrame:
    """Three columns of two bells each; the third is high if one of the others is, so that no pair is dependent."""
    rng = np.random.default_rng(3)
    first, second = rng.integers(2, size=(2, n_rows))
    levels = np.stack([first, second, first ^ second], axis=1)
    values = 4.0 * levels + rng.normal(scale=0.6, size=(n_rows, 3))
    return pd.DataFrame(values, columns=["first", "second", "either"])


@pytest.fixture(scope="module")
def problem() -> StructureProblem:
    return table_problem(exclusive_or())


def staged(frame: pd.DataFrame, limits: Limits, **options: Any) -> tuple[StagedSearch, Result]:
    problem = table_problem(frame, **options)
    search = StagedSearch(problem, SearchSettings(GOMEA(), limits, seed=1, n_threads=1))
    return search, search.run()


def test_edges_are_found_whose_columns_are_independent_in_pairs() -> None:
    frame = exclusive_or().assign(noise=np.random.default_rng(4).normal(size=400))
    learner = BayesNetLearner(max_evaluations=30_000, max_seconds=None, random_state=1).fit(frame)
    skeleton = {frozenset(edge) for edge in learner.network_.edges}
    # the two parents of a column that depends on both need no edge between them
    assert len(skeleton) == 2
    assert not any("noise" in pair for pair in skeleton)
    assert [len(learner.network_.cut_points[str(name)]) for name in frame] == [1, 1, 1, 0]


@pytest.mark.long
def test_the_result_is_the_best_of_all_stages_with_the_counts_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    # all local searches together leave nothing to the later stages
    monkeypatch.setattr(staged_search, "_IDLE_CLIMBS", 1)
    frame = random_network(12, random_state=5).sample(300, 5)
    search, result = staged(frame, Limits(max_evaluations=250_000))
    assert len(search.stages) >= 3
    of_climbs = search.rounds.n_climbing
    assert 0 < of_climbs < 125_000
    assert result.n_eval == of_climbs + sum(stage.n_eval for stage in search.stages) == 250_000
    assert result.n_generations == sum(stage.n_generations for stage in search.stages)
    assert result.F[0] == min(stage.F[0] for stage in search.stages)
    assert result.statistics["stages"] == len(search.stages)
    assert result.stopped_by == "max_evaluations"
    assert result.history[-1].objective == result.F[0]
    assert all(before.objective > after.objective for before, after in pairwise(result.history))
    assert all(before.n_eval < after.n_eval for before, after in pairwise(result.history))
    best = next(k for k, stage in enumerate(search.stages) if stage.F[0] == result.F[0])
    before_best = of_climbs + sum(stage.n_eval for stage in search.stages[:best])
    assert best > 0
    assert result.history[-1].n_eval == before_best + search.stages[best].history[-1].n_eval


def test_searches_begin_with_local_searches() -> None:
    truth = random_network(12, random_state=4)
    frame = truth.sample(300, 4)
    search, result = staged(frame, Limits(max_evaluations=3_000))
    assert 0 < result.history[0].n_eval <= search.rounds.n_climbing < result.n_eval
    assert result.history[0].objective >= result.F[0]
    assert all(before.objective > after.objective for before, after in pairwise(result.history))
    true = {frozenset(edge) for edge in truth.edges}
    position = {name: v for v, name in enumerate(frame)}
    joined = {frozenset(edge) for edge in search.problem.edges(result.X)}
    assert len(joined & {frozenset(position[name] for name in edge) for edge in true}) >= 0.5 * len(true)
    assert -search.problem.scorer.score(search.problem.families(result.X)).sum() == pytest.approx(result.F[0])


def test_searches_leave_graphs_whose_edges_run_the_wrong_way() -> None:
    """Searches from the graph without edges alone end 20 nats lower, with five more edges, and stay there."""
    rng, n = np.random.default_rng(6), 14
    values = np.zeros((400, n))
    edges = set()
    for child in range(n):
        parents = np.flatnonzero(rng.random(child) < 0.25)
        effects = rng.choice([-1, 1], len(parents)) * rng.uniform(0.6, 1.4, len(parents))
        values[:, child] = values[:, parents] @ effects + rng.normal(size=400)
        values[:, child] /= values[:, child].std()
        edges |= {frozenset((int(parent), child)) for parent in parents}
    frame = pd.DataFrame(values, columns=[f"v{i}" for i in range(n)])
    learner = BayesNetLearner(max_evaluations=15_000, max_seconds=None, random_state=1).fit(frame)
    assert {frozenset(int(name[1:]) for name in edge) for edge in learner.network_.edges} == edges


def test_pairs_of_parents_are_tried_after_one_and_two_searches_without_a_gain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    climbed, enter_pairs = StagedSearch._climbed, ParentLibraries.enter_pairs
    n_idle: list[int] = []
    with_pairs: list[int] = []

    def counted(search: StagedSearch, network: Any, cuts: Any, n: int) -> Any:
        n_idle.append(n)
        return climbed(search, network, cuts, n)

    def noted(libraries: ParentLibraries, stop: Any) -> None:
        with_pairs.append(n_idle[-1])
        enter_pairs(libraries, stop)

    monkeypatch.setattr(StagedSearch, "_climbed", counted)
    monkeypatch.setattr(ParentLibraries, "enter_pairs", noted)
    staged(random_network(6, random_state=4).sample(200, 4), Limits(max_evaluations=20_000))
    assert set(n_idle) == set(range(6))
    assert with_pairs == [n for n in n_idle if n in (1, 2)]


def test_climbs_keep_to_required_edges_and_limits() -> None:
    frame = random_network(6, random_state=4).sample(200, 4)
    knowledge = ExpertKnowledge(required_edges=[("X6", "X1")], max_indegree=1)
    search, result = staged(frame, Limits(max_evaluations=50), knowledge=knowledge)
    edges = search.problem.edges(result.X)
    assert (5, 0) in edges
    assert len({child for _, child in edges}) == len(edges)
    search, result = staged(frame, Limits(max_seconds=1e-6))
    assert result.stopped_by == "max_seconds"
    assert np.isfinite(result.F[0])


def test_ctrl_c_during_climbs_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    climbed = StagedSearch._climbed
    calls = []

    def interrupted(search: StagedSearch, *arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        network = climbed(search, *arguments, **options)
        if len(calls) == 2:
            search.stop.raise_for("interrupt")
        return network

    monkeypatch.setattr(StagedSearch, "_climbed", interrupted)
    search, result = staged(random_network(12, random_state=4).sample(300, 4), Limits(max_seconds=60))
    assert result.stopped_by == "interrupt"
    assert len(calls) == 2
    assert result.n_eval == search.rounds.n_climbing + 1
    assert search.problem.edges(result.X)


def test_a_callback_follows_climbs_and_stops_the_search() -> None:
    reports: list[Progress] = []

    def stop_at_the_second(progress: Progress) -> bool:
        reports.append(progress)
        return len(reports) >= 2

    problem = table_problem(random_network(12, random_state=4).sample(300, 4))
    limits = Limits(max_evaluations=100_000)
    settings = SearchSettings(GOMEA(), limits, seed=1, n_threads=1, callback=stop_at_the_second)
    search = StagedSearch(problem, settings)
    result = search.run()
    assert result.stopped_by == "callback"
    assert result.n_eval == search.rounds.n_climbing + 1
    # the third local search ends before its first work
    assert 0 < reports[0].n_eval < reports[1].n_eval <= search.rounds.n_climbing
    assert len(reports) == 3
    assert reports[0].best >= reports[1].best >= result.F[0]


@pytest.mark.sample(1)
@pytest.mark.parametrize("n_reports", [1, 2, 5, 9])
def test_evaluations_repeat_a_search_that_ended_during_climbs(n_reports: int) -> None:
    frame = random_network(12, random_state=4).sample(300, 4)
    reports: list[Progress] = []

    def stop(progress: Progress) -> bool:
        reports.append(progress)
        return len(reports) >= n_reports

    def run(limits: Limits, callback: Any = None) -> Result:
        problem = table_problem(frame)
        return StagedSearch(problem, SearchSettings(GOMEA(), limits, 1, n_threads=1, callback=callback)).run()

    ended = run(Limits(max_seconds=60), stop)
    again = run(Limits(max_evaluations=ended.n_eval))
    assert ended.n_generations <= 1
    assert again.n_eval == ended.n_eval
    assert again.F[0] == ended.F[0]
    assert np.array_equal(again.X, ended.X)


def test_stages_of_graphs_take_the_finer_cuts() -> None:
    search, _ = staged(exclusive_or(), Limits(max_evaluations=600))
    no_cuts: dict[int, Any] = {v: np.empty(0) for v in range(3)}
    search.best = replace(search.best, cuts=no_cuts)
    for turn in range(5):
        for v, cuts in search._stage_cuts(turn, search.best).items():
            first = search.first_cuts[v]
            assert cuts is first[turn % len(first)]
    fine = {v: np.linspace(0.5, 3.5, 12) for v in range(3)}
    search.best = replace(search.best, cuts=fine)
    assert search._stage_cuts(0, search.best) == fine


def test_stages_of_graphs_keep_the_best_cuts_if_edges_are_required() -> None:
    knowledge = ExpertKnowledge(required_edges=[("first", "either")])
    search, _ = staged(exclusive_or(), Limits(max_evaluations=600), knowledge=knowledge)
    search.best = replace(search.best, cuts={v: np.empty(0) for v in range(3)})
    assert all(len(cuts) == 0 for cuts in search._stage_cuts(0, search.best).values())


def test_the_genotype_has_the_score_of_the_result() -> None:
    search, result = staged(exclusive_or(), Limits(max_evaluations=20_000))
    problem = search.problem
    parents: list[list[int]] = [[], [], []]
    for parent, child in problem.edges(result.X):
        parents[child].append(parent)
    policies = problem.policy_indices(result.X).tolist()
    families = [ScoredFamily((v, policies[v]), tuple((p, policies[p]) for p in parents[v])) for v in range(3)]
    assert problem.scorer.score(families, use_cache=False).sum() == pytest.approx(-result.F[0], abs=1e-8)


def weak_equations(n_columns: int, n_edges: int, seed: int) -> pd.DataFrame:
    """Columns of linear equations with normal noise, 600 rows."""
    rng = np.random.default_rng(seed)
    pairs = rng.permutation([(p, c) for c in range(n_columns) for p in range(c)])[:n_edges].tolist()
    values = rng.normal(size=(600, n_columns))
    for child in range(n_columns):
        for parent in (p for p, c in pairs if c == child):
            values[:, child] += rng.choice([-0.4, 0.4]) * values[:, parent] / values[:, parent].std()
    return pd.DataFrame(values, columns=[f"v{i}" for i in range(n_columns)])


def test_edges_cost_less_where_many_are_found() -> None:
    search, result = staged(weak_equations(11, 20, 1), Limits(max_evaluations=20_000))
    scorer = search.problem.scorer
    share = scorer.method.edge_cost
    # the later stages may have found more edges than gave the price
    n_edges = len(search.problem.edges(result.X))
    assert min(abs(share - relative_edge_cost(k, 55, 11)) for k in range(n_edges + 1)) < 1e-12
    assert share < 0.8
    assert scorer.rule.edge_cost == pytest.approx(share * np.log(10))
    families = search.problem.families(result.X)
    assert scorer.score(families, use_cache=False).sum() == pytest.approx(-result.F[0], abs=1e-8)
    assert all(before.objective > after.objective for before, after in pairwise(result.history))


def test_problems_keep_another_cost_of_edges_with_their_state() -> None:
    first, second = (table_problem(exclusive_or()) for _ in range(2))
    families = [
        ScoredFamily((0, 0), ()),
        ScoredFamily((1, 0), ((0, 0),)),
        ScoredFamily((2, 0), ((0, 0), (1, 0))),
    ]
    before = first.scorer.score(families)
    first.kernel_data(1)
    first.set_edge_cost(0.75)
    assert first.kernel_data(1)[0].score.edge_cost == pytest.approx(0.75 * np.log(9))
    # three columns cost as ten
    gained = 0.25 * np.log(9) * np.array([0, 1, 2])
    np.testing.assert_allclose(first.scorer.score(families) - before, gained, atol=1e-9)
    second.restore(first.state())
    assert second.scorer.method == first.scorer.method
    assert second.identity() == first.identity()
    np.testing.assert_allclose(second.scorer.score(families), first.scorer.score(families), atol=1e-9)
    np.testing.assert_allclose(
        second.with_cuts({}).scorer.score(families), first.scorer.score(families), atol=1e-9
    )


def test_prices_are_those_of_one_edge_more_where_few_are_found_and_stay_between() -> None:
    few = [relative_edge_cost(k, 66, 12) * np.log(11) for k in range(5)]
    np.testing.assert_allclose(few, np.log(66 / np.arange(1, 6)))
    assert relative_edge_cost(5, 66, 12) == relative_edge_cost(6, 66, 12) == pytest.approx(1.0)
    assert relative_edge_cost(12, 66, 12) == pytest.approx(np.log(66 / 12) / np.log(11))
    assert relative_edge_cost(60, 66, 12) == 0.5


def test_edges_cost_more_where_few_are_found() -> None:
    search, result = staged(weak_equations(11, 3, 2), Limits(max_evaluations=5_000))
    n_edges, share = len(search.problem.edges(result.X)), search.problem.scorer.method.edge_cost
    assert share > 1.1
    assert min(abs(share - relative_edge_cost(k, 55, 11)) for k in range(n_edges + 1)) < 1e-12
    families = search.problem.families(result.X)
    scored = search.problem.scorer.score(families, use_cache=False).sum()
    assert scored == pytest.approx(-result.F[0], abs=1e-8)
    assert result.history[-1].objective == pytest.approx(result.F[0], abs=1e-8)
    assert all(before.objective > after.objective for before, after in pairwise(result.history))


def test_published_scores_have_the_given_cost() -> None:
    published, _ = staged(weak_equations(6, 15, 1), Limits(max_evaluations=600), shape="uniform")
    assert published.problem.scorer.method.edge_cost == 1.0


def test_networks_have_the_cost_that_their_score_charges() -> None:
    frame = weak_equations(11, 20, 1)
    options: dict[str, Any] = {
        "max_evaluations": 20_000,
        "max_seconds": None,
        "random_state": 1,
        "density": "bins",
    }
    learner = BayesNetLearner(edge_cost=1.2, **options).fit(frame)
    metadata = learner.network_.metadata
    assert 0.6 <= metadata["edge_cost"] < 1.1
    assert sum(metadata["families"].values()) == pytest.approx(learner.score_, abs=1e-6)


@pytest.mark.long
def test_patience_needs_a_thousand_evaluations_per_gene_also_after_an_early_best_network() -> None:
    frame = exclusive_or()
    options: dict[str, Any] = {"patience": 0.001, "max_seconds": None, "random_state": 1}
    learner = BayesNetLearner(shape="uniform", **options).fit(frame)
    n_genes = learner.n_candidate_pairs_ + 3
    assert learner.stopped_by_ == "patience"
    assert 1_000 * n_genes < learner.n_eval_ < 1_100 * n_genes
    search, result = staged(frame, Limits(patience=0.001))
    assert result.stopped_by == "patience"
    assert search.problem.n_variables == n_genes
    # the lengths that the docstring of the learner states
    of_stages = [stage.n_eval for stage in search.stages]
    assert of_stages == [64 ** (k % 2) * 2 ** (k // 2) * 500 for k in range(len(of_stages))]
    effort = np.cumsum([n / 64 ** (k % 2) for k, n in enumerate(of_stages)])
    assert effort[-2] <= 1_000 * n_genes < effort[-1]


def test_stages_of_graphs_take_a_small_share_of_the_patience() -> None:
    search, result = staged(exclusive_or(), Limits(patience=3.0))
    assert result.stopped_by == "patience"
    together = sum(stage.n_eval for stage in search.stages[::2])
    assert together < result.n_eval / 4
    # at least 1,000 evaluations per gene, in the units of patience
    assert together + (result.n_eval - together) / 64 > 1_000 * search.problem.n_variables


@pytest.mark.sample(5)
@pytest.mark.parametrize("generations", range(1, 31))
def test_any_number_of_generations_ends_the_search(generations: int) -> None:
    # 29 generations are used up exactly when a stage ends by its number of evaluations
    limits = Limits(max_generations=generations, patience=None)
    _, result = staged(exclusive_or(60), limits)
    assert result.stopped_by == "max_generations"
    assert result.n_generations == generations


def test_progress_has_the_counts_of_all_stages() -> None:
    reports: list[Progress] = []

    def note(progress: Progress) -> bool:
        reports.append(progress)
        return progress.n_eval > 50_000

    learner = BayesNetLearner(max_seconds=None, patience=50.0, callback=note, random_state=1)
    learner.fit(exclusive_or())
    assert learner.stopped_by_ == "callback"
    assert all(before.n_eval <= after.n_eval for before, after in pairwise(reports))
    assert all(before.best >= after.best for before, after in pairwise(reports))
    assert reports[-1].best == -learner.score_


def test_required_edges_stay_within_their_limit_on_cells() -> None:
    rng = np.random.default_rng(5)
    frame = exclusive_or().assign(third=lambda f: f["first"] + rng.normal(size=400))
    knowledge = ExpertKnowledge(
        required_edges=[("first", "either"), ("second", "either"), ("third", "either")], max_table_cells=17
    )
    learner = BayesNetLearner(
        knowledge=knowledge, max_evaluations=20_000, max_seconds=None, random_state=1
    ).fit(frame)
    assert set(knowledge.required_edges) <= set(learner.network_.edges)
    assert learner.network_.tables["either"].size <= 17


def test_a_problem_with_given_cuts_scores_as_the_whole_problem(problem: StructureProblem) -> None:
    cuts = {v: first[0] for v, first in problem.first_cuts.items()}
    given = problem.with_cuts(cuts)
    assert given.n_variables == problem.n_edge_genes
    policies = [problem.enter_between_runs(v, points, []) for v, points in cuts.items()]
    ours = ScoredFamily((2, 0), ((0, 0), (1, 0)))
    same = ScoredFamily((2, policies[2]), ((0, policies[0]), (1, policies[1])))
    assert given.scorer.score([ours]) == pytest.approx(problem.scorer.score([same]))
    assert all(np.array_equal(given.cuts(np.zeros(3, np.int16))[v], points) for v, points in cuts.items())


def test_cuts_that_enter_a_full_library_replace_the_last_policy_that_is_not_in_use() -> None:
    problem = table_problem(exclusive_or())
    first = problem.scorer.library(0)[0]
    entered = [problem.enter_between_runs(0, np.array([0.01 * k + 0.5]), []) for k in range(70)]
    last = len(problem.scorer.library(0)) - 1
    assert entered[-1] == last
    assert problem.enter_between_runs(0, np.array([3.7]), [last, last - 1]) == last - 2
    assert problem.scorer.library(0)[0] is first
    with pytest.raises(GomeaBnError, match="cannot leave"):
        problem.scorer.leave(0, 0)


@pytest.mark.parametrize("max_table_cells", [2, 4])
def test_first_cuts_keep_to_small_tables(max_table_cells: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    frame = pd.DataFrame({"x": x, "y": x + rng.normal(size=300)})
    knowledge = ExpertKnowledge(max_table_cells=max_table_cells)
    learner = BayesNetLearner(max_evaluations=2_000, max_seconds=None, random_state=1, knowledge=knowledge)
    network = learner.fit(frame).network_
    assert max(table.size for table in network.tables.values()) <= max_table_cells


def test_a_first_local_search_that_a_limit_ends_keeps_what_it_has_scored() -> None:
    frame = random_network(8, random_state=5).sample(1_000, 5)
    scores = []
    for n in (20, 40, 80):
        learner = BayesNetLearner(max_evaluations=n, density="bins", random_state=1).fit(frame)
        assert learner.network_.edges, n
        scores.append(learner.score_)
    assert scores == sorted(scores)
