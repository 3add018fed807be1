"""The cuts that are shown of a network in which columns follow curves: their limits, and that no step improves them."""

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import pandas as pd
import pytest
from option_examples import table_problem

from gomea_bn import ExpertKnowledge
from gomea_bn.learning.search.shown_cuts import LearnedNetwork, learned_cut_points, with_shown_cuts
from gomea_bn.problems import FamilyScorer, ScoredFamily, StructureProblem, curve_data, graph_families
from gomea_bn.problems.cuts import Policy
from gomea_bn.runtime import Result

Edges = list[tuple[int, int]]


def smooth_rows(n_rows: int = 300, n_parents: int = 3) -> pd.DataFrame:
    """Independent columns, a sum of their curves, and a discrete child of the first column."""
    rng = np.random.default_rng(2)
    parents = rng.normal(size=(n_rows, n_parents))
    total = np.sin(2 * parents[:, 0]) + 0.5 * parents[:, 1:].sum(axis=1) + rng.normal(scale=0.3, size=n_rows)
    frame = pd.DataFrame(parents, columns=[f"p{k}" for k in range(n_parents)])
    return frame.assign(total=total, sign=np.where(parents[:, 0] > 0.3, "+", "-"))


def edges_of(frame: pd.DataFrame) -> Edges:
    """Return the true edges of `smooth_rows`."""
    n_parents = len(frame.columns) - 2
    return [*((p, n_parents) for p in range(n_parents)), (0, n_parents + 1)]


def problem_of(frame: pd.DataFrame, **options: Any) -> StructureProblem:
    return table_problem(frame, **{"curves": "auto", **options})


def result_of(problem: StructureProblem, edges: Edges) -> Result:
    """Return the result of a search that has found edges, and the first cuts of every library."""
    genotype = problem.genotype(edges, [0] * problem.n_nodes)
    score = problem.scorer.score(problem.families(genotype)).sum()
    return Result(
        X=genotype,
        F=np.array([-score]),
        n_eval=1,
        n_eval_full=1.0,
        exec_time=1.0,
        time_to_best=1.0,
        history=[],
        stopped_by="max_evaluations",
        n_generations=1,
        statistics={},
        extra={},
    )


def shown(frame: pd.DataFrame, **options: Any) -> LearnedNetwork:
    problem = problem_of(frame, **options)
    learned, result = with_shown_cuts(problem, result_of(problem, edges_of(frame)))
    assert learned.record["curves"]
    assert result.exec_time > 1.0
    return learned


def cells_of(learned: LearnedNetwork, frame: pd.DataFrame, child: int) -> int:
    """Return the number of cells of the table of a column with all its parents."""
    members = [child, *(parent for parent, other in learned.edges if other == child)]
    names = [str(frame.columns[v]) for v in members]
    return prod(len(learned.cuts[name]) + 1 if name in learned.cuts else 2 for name in names)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return smooth_rows()


@pytest.fixture(scope="module")
def learned(frame: pd.DataFrame) -> LearnedNetwork:
    return shown(frame)


def test_without_curves_the_cuts_are_those_of_the_search(frame: pd.DataFrame) -> None:
    problem = problem_of(frame, curves="none")
    result = result_of(problem, edges_of(frame))
    expected = learned_cut_points(problem, result.X)
    learned, same = with_shown_cuts(problem, result)
    assert same is result
    assert "curves" not in learned.record
    assert learned.cuts.keys() == expected.keys()
    assert all(np.array_equal(learned.cuts[name], expected[name]) for name in expected)


@pytest.mark.parametrize("curves", ["none", "auto"])
def test_scores_of_families_are_those_of_a_scorer_of_the_cuts_of_the_search(
    frame: pd.DataFrame, curves: str
) -> None:
    problem = problem_of(frame, curves=curves)
    names = list(frame.columns)
    edges = [*edges_of(frame), (1, names.index("sign"))]
    # without bins the edges of a column are void, unless curves follow it
    policies = [0, problem.enter_between_runs(1, np.empty(0), [0]), 0, 0, 0]
    genotype = problem.genotype(edges, policies)
    of_genotype = problem.scorer.score(problem.families(genotype)).sum()
    result = replace(result_of(problem, edges), X=genotype, F=np.array([-of_genotype]))
    cuts, scorer = problem.cuts(result.X), problem.scorer
    of_search = [
        replace(variable, policies=(Policy(cuts[v]),)) if v in cuts else variable
        for v, variable in enumerate(scorer.variables)
    ]
    learned, _ = with_shown_cuts(problem, result)
    assert list(learned.family_scores) == names
    alone = FamilyScorer(
        of_search, scorer.method, scorer.rule, curves=None if curves == "none" else curve_data(of_search)
    )
    parents = [[p for p, child in learned.edges if child == v] for v in range(len(names))]
    void = [sum(child == v for _, child in edges) - len(parents[v]) for v in range(len(names))]
    assert sum(void) == learned.n_void
    assert learned.n_void == (2 if curves == "none" else 0)
    with_void = [[p for p, child in edges if child == v] for v in range(len(names))]
    expected = alone.score(graph_families(with_void), use_cache=False)
    for v, score in enumerate(learned.family_scores.values()):
        whole = expected[v] + of_search[v].constant_score + void[v] * scorer.rule.edge_cost
        assert score == pytest.approx(whole, abs=1e-6)
    of_result = -result.F[0] + scorer.constant_score + learned.n_void * scorer.rule.edge_cost
    assert sum(learned.family_scores.values()) == pytest.approx(of_result, abs=1e-6)


def test_no_single_step_improves_the_score_by_tables() -> None:
    # the programme is exact for few values
    frame = smooth_rows().round(1)
    learned, names = shown(frame), list(frame.columns)
    tables = problem_of(frame).of_tables(learned.edges)
    scorer = tables.scorer
    table_parents = {
        name: [names.index(parent) for parent in of_column["table_parents"]]
        for name, of_column in learned.record["curves"].items()
    }
    edges = [
        (parent, child)
        for parent, child in learned.edges
        if parent in table_parents.get(names[child], [parent])
    ]
    policies = [
        tables.enter_between_runs(v, learned.cuts[name], []) if name in learned.cuts else 0
        for v, name in enumerate(names)
    ]

    def score(some_edges: Edges, some_policies: list[int]) -> float:
        families = [
            ScoredFamily((v, k), tuple((p, some_policies[p]) for p, child in some_edges if child == v))
            for v, k in enumerate(some_policies)
        ]
        return float(scorer.score(families, use_cache=False).sum())

    best = score(edges, policies)
    for edge in learned.edges:
        if names[edge[1]] in table_parents:
            other = [e for e in edges if e != edge] if edge in edges else [*edges, edge]
            assert score(other, policies) <= best + 1e-6
    for v in tables.priced_variables:
        cuts = learned.cuts[names[v]]
        values = np.unique(frame[names[v]])
        middles = (values[:-1] + values[1:]) / 2
        # every cut in another place, without every cut, and with one more
        proposed = [np.sort([*np.delete(cuts, k), x]) for k in range(len(cuts)) for x in middles]
        proposed += [np.delete(cuts, k) for k in range(len(cuts)) if len(cuts) > 1]
        proposed += [np.sort([*cuts, x]) for x in middles if len(cuts) < 5]
        for other_cuts in proposed:
            if len(np.unique(other_cuts)) < len(other_cuts):
                continue
            index = tables.enter_between_runs(v, other_cuts, [policies[v]])
            assert score(edges, [*policies[:v], index, *policies[v + 1 :]]) <= best + 1e-6


def test_columns_of_edges_have_two_to_six_bins(frame: pd.DataFrame, learned: LearnedNetwork) -> None:
    numbers = {name: len(cuts) + 1 for name, cuts in learned.cuts.items()}
    assert set(numbers) == set(frame.columns) - {"sign"}
    assert all(2 <= n_bins <= 6 for n_bins in numbers.values())
    # more rows pay for more bins, but nobody can read them
    many = shown(smooth_rows(4_000, n_parents=1))
    assert max(len(cuts) + 1 for cuts in many.cuts.values()) == 6


def test_a_parent_that_no_table_has_is_cut_where_its_neighbours_change() -> None:
    rng = np.random.default_rng(0)
    first = rng.uniform(-1, 1, size=150)
    twin = first + rng.normal(scale=0.01, size=150)
    total = np.tanh(3 * first) + 0.5 * twin + rng.normal(scale=0.1, size=150)
    frame = pd.DataFrame({"first": first, "twin": twin, "total": total})
    problem = problem_of(frame)
    learned, _ = with_shown_cuts(problem, result_of(problem, [(0, 2), (1, 2)]))
    assert learned.record["curves"]["total"]["table_parents"] == ["first"]
    assert learned.cuts["twin"] == pytest.approx(learned.cuts["first"], abs=0.05)


def test_a_parent_that_shows_nothing_by_itself_has_thirds_of_the_rows() -> None:
    rng = np.random.default_rng(0)
    strong, weak = rng.uniform(-1, 1, size=(2, 150))
    total = 2 * strong + 0.2 * weak + rng.normal(scale=0.05, size=150)
    frame = pd.DataFrame({"strong": strong, "weak": weak, "total": total})
    problem = problem_of(frame)
    learned, _ = with_shown_cuts(problem, result_of(problem, [(0, 2), (1, 2)]))
    assert learned.record["curves"]["total"]["table_parents"] == ["strong"]
    assert np.histogram(weak, [-1, *learned.cuts["weak"], 1])[0].tolist() == [50, 50, 50]


@pytest.mark.long
def test_tables_of_all_parents_keep_to_the_limit_on_cells() -> None:
    frame = smooth_rows(n_parents=4)
    sizes = {}
    for most in (1_000_000, 100, 40, 20):
        learned = shown(frame, knowledge=ExpertKnowledge(max_table_cells=most))
        sizes[most] = max(cells_of(learned, frame, child) for child in range(len(frame.columns)))
        assert sizes[most] <= most
    # two bins of each of five columns make 32 cells
    assert sizes[1_000_000] > 100
    assert sizes[40] >= 32


def test_tables_of_columns_with_curves_keep_to_65536_cells() -> None:
    frame = smooth_rows(1_000, n_parents=4)
    fixed = {f"p{k}": np.linspace(-1.5, 1.5, 11).tolist() for k in range(4)}
    learned = shown(frame, cut_points=fixed)
    assert 12**4 < cells_of(learned, frame, 4) <= 2**16


def test_bins_that_matter_least_are_given_up_first() -> None:
    """A parent that explains most of the column keeps more bins than one that hardly matters."""
    rng = np.random.default_rng(4)
    strong, weak = rng.normal(size=(2, 2_000))
    total = 2 * strong + 0.7 * weak + rng.normal(scale=0.2, size=2_000)
    frame = pd.DataFrame({"strong": strong, "weak": weak, "total": total})
    problem = problem_of(frame, knowledge=ExpertKnowledge(max_table_cells=60))
    learned, _ = with_shown_cuts(problem, result_of(problem, [(0, 2), (1, 2)]))
    assert len(learned.cuts["strong"]) > len(learned.cuts["weak"])


def test_fixed_cuts_and_limits_on_bins_are_kept(frame: pd.DataFrame) -> None:
    learned = shown(frame, cut_points={"p0": [0.1], "p1": []}, min_bin_count=40, max_bins=3)
    assert learned.cuts["p0"].tolist() == [0.1]
    assert learned.cuts["p1"].tolist() == []
    for name in ("p2", "total"):
        counts = np.histogram(frame[name], [-np.inf, *learned.cuts[name], np.inf])[0]
        assert 2 <= len(counts) <= 3
        assert counts.min() >= 40


def test_the_same_network_gets_the_same_cuts_after_any_search(
    frame: pd.DataFrame, learned: LearnedNetwork
) -> None:
    problem = problem_of(frame)
    # cuts that a search has put into the libraries
    for v in problem.priced_variables:
        problem.enter_between_runs(v, np.array([0.123]), [])
    again, _ = with_shown_cuts(problem, result_of(problem, edges_of(frame)))
    assert replace(again, cuts={}, shapes={}) == replace(learned, cuts={}, shapes={})
    assert all(np.array_equal(again.cuts[name], learned.cuts[name]) for name in learned.cuts)
