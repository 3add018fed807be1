"""Candidate pairs: strengths by definition, rules kept, problems over some of the pairs, more than 64 variables."""

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from option_examples import table_options, table_problem
from oracles import (
    Walk,
    broken_rules,
    discrete_variables,
    evaluated,
    is_acyclic,
    make_problem,
    make_scorer,
    random_knowledge,
    random_variables,
    slow_break_cycles,
    slow_family_score,
)
from typer.testing import CliRunner

from gomea_bn import BayesNetLearner, ExpertKnowledge, GomeaBnError, ParetoBayesNetLearner
from gomea_bn.cli import main
from gomea_bn.cli.options import value_of
from gomea_bn.parameters import declarations
from gomea_bn.problems import (
    EdgeRules,
    FamilyScorer,
    ScoredFamily,
    ScoredVariable,
    Solution,
    StructureProblem,
    edge_rules,
    parents,
)
from gomea_bn.problems.kernels.structure import reaches
from gomea_bn.problems.parents import Screening, candidate_pairs

WIDE = [63, 64, 65, 100, 127, 128, 129, 130]


def rules_of(variables: list[ScoredVariable], knowledge: ExpertKnowledge | None = None) -> EdgeRules:
    return edge_rules(knowledge, [v.name for v in variables], [v.n_levels or 2 for v in variables])


def random_pairs(rng: np.random.Generator, n: int, share: float) -> NDArray[np.bool_]:
    upper = np.triu(rng.random((n, n)) < share, 1)
    return np.asarray(upper | upper.T)


def coarse(variable: ScoredVariable, bins: int) -> tuple[int, int]:
    """The policy nearest to a number of bins, the smaller of two, and its cardinality."""
    counts = [policy.n_bins for policy in variable.policies] or [variable.n_levels]
    policy = min(range(len(counts)), key=lambda k: (abs(counts[k] - bins), k))
    return policy, counts[policy]


def slow_strength(
    variables: list[ScoredVariable],
    child: tuple[int, int],
    given_parents: list[tuple[int, int]],
    parent: tuple[int, int],
) -> tuple[float, float]:
    """Strength and BIC gain of one more parent, by counting with dictionaries."""

    def cards(view: tuple[int, int]) -> int:
        variable = variables[view[0]]
        return variable.n_levels or variable.policies[view[1]].n_bins

    more, less = (
        slow_family_score(variables, ScoredFamily(child, tuple(sorted(p))), "density-bic", penalty=0.0)
        for p in ([*given_parents, parent], given_parents)
    )
    freedom = math.prod(map(cards, given_parents)) * (cards(parent) - 1) * (cards(child) - 1)
    half = max(freedom / 2, 0.5)
    price = math.log(len(variables[0].values)) / 2
    return (more - less - half) / math.sqrt(half), more - less - price * freedom


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_pairwise_strengths_equal_their_definition(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    variables = random_variables(rng, 60, "".join(rng.choice(list("cd"), n)), max_bins=8)
    strengths = Screening(make_scorer(variables)).pairwise()
    assert (np.diag(strengths) == -np.inf).all()
    for i, j in itertools.combinations(range(n), 2):
        expected = max(
            slow_strength(variables, (i, coarse(variables[i], a)[0]), [], (j, coarse(variables[j], b)[0]))[0]
            for a in (3, 6)
            for b in (3, 6)
        )
        assert strengths[i, j] == strengths[j, i] == pytest.approx(expected, abs=1e-9)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(0, 4))
def test_conditional_strengths_equal_their_definition(seed: int, n: int, limit: int) -> None:
    rng = np.random.default_rng(seed)
    variables = random_variables(rng, 120, "".join(rng.choice(list("cd"), n)), max_bins=7)
    expected = np.full((n, n), -np.inf)
    for bins in (3, 6):
        views = [(v, coarse(variables[v], bins)[0]) for v in range(n)]
        for child in range(n):
            parents: list[int] = []
            while len(parents) < n - 1:
                others = [v for v in range(n) if v != child and v not in parents]
                given_parents = [views[p] for p in parents]
                strengths = [slow_strength(variables, views[child], given_parents, views[v]) for v in others]
                for v, (strength, _) in zip(others, strengths, strict=True):
                    expected[child, v] = max(expected[child, v], strength)
                best = max(range(len(others)), key=lambda k: strengths[k][1])
                if strengths[best][1] <= 0 or len(parents) >= limit:
                    break
                parents.append(others[best])
    assert Screening(make_scorer(variables)).conditional(limit) == pytest.approx(expected, abs=1e-9)


def hidden_parent(n_noise: int) -> list[ScoredVariable]:
    """Columns a, b, child and noise; b turns the child's answer to a round and is independent of it alone."""
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 3, 900), rng.integers(0, 2, 900)
    child = np.where(a == 0, 0, 1 + (a + b) % 2)
    child = np.where(rng.random(900) < 0.15, rng.integers(0, 3, 900), child)
    noise = [rng.integers(0, 2, 900) for _ in range(n_noise)]
    return discrete_variables([a, b, child, *noise], [3, 2, 3] + [2] * n_noise)


@pytest.mark.parametrize("seed", range(5))
def test_quick_strengths_compare_columns_at_three_bins(seed: int) -> None:
    variables = random_variables(np.random.default_rng(seed), 60, "ccc", max_bins=8)
    strengths = Screening(make_scorer(variables), is_quick=True).pairwise()
    for i, j in itertools.combinations(range(3), 2):
        views = [(v, coarse(variables[v], 3)[0]) for v in (i, j)]
        assert strengths[i, j] == pytest.approx(slow_strength(variables, views[0], [], views[1])[0], abs=1e-9)


def test_a_parent_that_counts_only_with_another_is_a_candidate() -> None:
    variables = hidden_parent(60)
    strengths = Screening(make_scorer(variables)).pairwise()
    assert np.count_nonzero(strengths[2] > strengths[2, 1]) > 3
    candidates = candidate_pairs(make_scorer(variables), rules_of(variables), 2)
    assert candidates is not None
    assert candidates[1, 2]
    assert candidates[0, 2]


def test_large_tables_are_screened_by_a_fixed_sample_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = hidden_parent(10)
    monkeypatch.setattr(parents, "_FEWEST_ROWS", 300)
    monkeypatch.setattr(parents, "_MAX_VISITS", 1.0)
    first, again = (Screening(make_scorer(variables)) for _ in range(2))
    assert first._rows.codes.shape[1] == 300
    assert first._rows.codes.tolist() == again._rows.codes.tolist()
    assert int(np.argmax(first.pairwise()[2])) == 0


def test_no_pair_is_left_out_of_small_tables_unless_asked() -> None:
    variables = random_variables(np.random.default_rng(0), 50, "cd" * 50)
    scorer, rules = make_scorer(variables), rules_of(variables)
    assert candidate_pairs(scorer, rules, "auto") is None
    assert candidate_pairs(scorer, rules, None) is None
    assert candidate_pairs(scorer, rules, 99) is None
    variables = random_variables(np.random.default_rng(0), 50, "cd" * 50 + "c")
    scorer, rules = make_scorer(variables), rules_of(variables)
    assert candidate_pairs(scorer, rules, None) is None
    candidates = candidate_pairs(scorer, rules, "auto")
    assert candidates is not None
    assert (candidates == candidate_pairs(scorer, rules, 10)).all()
    assert 101 * 10 / 2 <= np.count_nonzero(np.triu(candidates)) < 101 * 100 / 2


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(3, 12), st.integers(1, 4))
def test_candidates_are_symmetric_the_best_and_within_the_rules(seed: int, n: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    variables = random_variables(rng, 60, "".join(rng.choice(list("cd"), n)))
    knowledge = random_knowledge(rng, n)
    rules = rules_of(variables, knowledge)
    scorer = make_scorer(variables)
    candidates = candidate_pairs(scorer, rules, k)
    if candidates is None:
        assert k >= n - 1
        return
    assert (candidates == candidates.T).all()
    names = {f"v{i}": i for i in range(n)}
    for parent, child in knowledge.required_edges:
        assert candidates[names[parent], names[child]]
    impossible = ~(rules.allowed[:, :, 1] | rules.allowed[:, :, 2])
    assert not candidates[np.triu(impossible)].any()
    pairwise = Screening(scorer).pairwise()
    for i in range(n):
        possible = [j for j in range(n) if j != i and not impossible[min(i, j), max(i, j)]]
        best = sorted(possible, key=lambda j: (-pairwise[i, j], j))[:k]
        assert candidates[i, best].all()


@pytest.mark.parametrize("wrong", [0, -3, 2.5, "some", True])
def test_numbers_of_candidates_that_cannot_be_used_are_refused(wrong: Any) -> None:
    with pytest.raises(
        GomeaBnError, match="max_candidates must be an integer of at least 1, or 'auto' or None, got"
    ):
        table_options(max_candidates=wrong)


def test_candidates_in_words() -> None:
    declared = declarations(BayesNetLearner)["max_candidates"]
    assert [value_of(declared, text) for text in ("auto", "all", "7")] == ["auto", None, 7]
    for text in ("0", "-1", "few", "1.5"):
        with pytest.raises(
            GomeaBnError, match="max_candidates must be an integer of at least 1, or auto or all"
        ):
            value_of(declared, text)


def test_a_constant_column_is_a_weak_partner() -> None:
    variables = hidden_parent(5)
    variables.append(ScoredVariable("constant", np.zeros(900, np.int32), 1))
    strengths = Screening(make_scorer(variables)).pairwise()
    assert np.isfinite(strengths[-1, :-1]).all()
    assert strengths[-1].max() < strengths[2, 0]


def test_genes_are_the_kept_pairs_in_order() -> None:
    variables = random_variables(np.random.default_rng(0), 60, "cdcd", max_bins=6)
    pairs = np.zeros((4, 4), np.bool_)
    for i, j in ((0, 3), (1, 2), (2, 3)):
        pairs[i, j] = pairs[j, i] = True
    problem = make_problem(variables, pairs=pairs)
    assert problem.alphabet.tolist() == [3, 3, 3, 5, 5]
    genotype = problem.genotype([(3, 0), (1, 2)], [4, 0, 2, 0])
    assert genotype.tolist() == [2, 1, 0, 4, 2]
    assert problem.edges(genotype) == [(1, 2), (3, 0)]
    with pytest.raises(GomeaBnError, match="'v0' -> 'v1' is not among the candidate pairs"):
        problem.genotype([(0, 1)], [0] * 4)


def test_samples_are_as_sparse_as_over_all_pairs() -> None:
    rng = np.random.default_rng(0)
    variables = discrete_variables(rng.integers(0, 2, (30, 20)), [2] * 30)
    problem = make_problem(variables, pairs=random_pairs(rng, 30, 0.3), initial_indegree=1.5)
    genotypes = problem.sample(rng, 2000)
    assert np.count_nonzero(genotypes) / 2000 == pytest.approx(1.5 * 30, rel=0.03)
    assert np.count_nonzero(genotypes == 1) == pytest.approx(np.count_nonzero(genotypes == 2), rel=0.05)


def arcs_of(problem: StructureProblem, aux: NDArray[np.uint64]) -> set[tuple[int, int]]:
    """The arcs that the words of the parent sets hold, read as one big integer per child."""
    words = aux.reshape(problem.n_nodes, problem.words).tolist()
    sets = [sum(word << (64 * w) for w, word in enumerate(row)) for row in words]
    return {(i, j) for j in range(problem.n_nodes) for i in range(64 * problem.words) if sets[j] >> i & 1}


@pytest.mark.parametrize("n", WIDE)
@pytest.mark.parametrize("share", [1.0, 0.2])
def test_repair_across_words_equals_its_twin(n: int, share: float) -> None:
    rng = np.random.default_rng(n)
    variables = discrete_variables(rng.integers(0, 2, (n, 20)), [2] * n)
    pairs = None if share == 1.0 else random_pairs(rng, n, share)
    problem = make_problem(variables, pairs=pairs, random_repair=False)
    for indegree in (0.7, 1.5, 3.0):
        problem.initial_indegree = indegree
        genotype = problem.sample(rng, 1)[0]
        solution = evaluated(problem, genotype)
        edges = set(problem.edges(solution.genotype))
        assert edges == slow_break_cycles(n, problem.edges(genotype))
        assert arcs_of(problem, solution.aux) == edges


@pytest.mark.parametrize("n", WIDE)
def test_ancestors_across_words_equal_their_twin(n: int) -> None:
    rng = np.random.default_rng(n)
    problem = make_problem(
        discrete_variables(rng.integers(0, 2, (n, 20)), [2] * n), random_repair=False, initial_indegree=1.2
    )
    solution = evaluated(problem, problem.sample(rng, 1)[0])
    above = np.zeros((n, n), np.bool_)  # [start, target]
    for parent, child in problem.edges(solution.genotype):
        above[child, parent] = True
    for middle in range(n):
        above |= above[:, middle, None] & above[middle]
    (data,) = problem.kernel_data(1)
    starts, targets = rng.integers(0, n, (2, 2000)).tolist()
    answers = [reaches(solution.aux, data, a, b) for a, b in zip(starts, targets, strict=True)]
    assert answers == above[starts, targets].tolist()
    assert 0 < sum(answers) < 2000


@pytest.mark.sample(1)
@pytest.mark.parametrize("n", [12, 65, 128, 130])
@pytest.mark.parametrize("random_repair", [True, False])
def test_partial_evaluation_over_candidates_equals_full_evaluation(n: int, random_repair: bool) -> None:
    rng = np.random.default_rng(n)
    variables = random_variables(rng, 40, "".join(rng.choice(list("ccd"), n)))
    knowledge = random_knowledge(rng, n)
    pairs = candidate_pairs(make_scorer(variables), rules_of(variables, knowledge), 4)
    problem = make_problem(
        variables, knowledge=knowledge, pairs=pairs, random_repair=random_repair, initial_indegree=2.5
    )

    def check(solution: Solution) -> None:
        edges = problem.edges(solution.genotype)
        assert arcs_of(problem, solution.aux) == set(edges)
        assert is_acyclic(n, edges)
        assert broken_rules(problem, solution.genotype, knowledge) == []

    walk = Walk(problem, rng, check)
    for _ in range(80):
        walk.step(rng.choice(problem.n_variables, int(rng.choice([1, 3, 20])), replace=False))


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """A chain of 9 columns, and one that is independent of all."""
    rng = np.random.default_rng(5)
    columns = [rng.normal(size=300)]
    for _ in range(8):
        columns.append(columns[-1] + rng.normal(scale=0.6, size=300))
    return pd.DataFrame({f"c{i}": x for i, x in enumerate(columns)} | {"alone": rng.normal(size=300)})


@pytest.mark.long
def test_the_learner_searches_the_candidates(frame: pd.DataFrame) -> None:
    limits: dict[str, Any] = {"max_evaluations": 4000, "random_state": 1}
    every = BayesNetLearner(**limits).fit(frame)
    assert every.n_candidate_pairs_ == 45
    rules = ExpertKnowledge(required_edges=[("alone", "c0")], forbidden_edges=[("c1", "c2"), ("c2", "c1")])
    few = BayesNetLearner(max_candidates=2, knowledge=rules, **limits).fit(frame)
    assert few.n_candidate_pairs_ < 30
    assert ("alone", "c0") in few.network_.edges
    pairs = table_problem(frame, max_candidates=2, knowledge=rules).pairs
    assert pairs is not None
    assert np.count_nonzero(pairs) == 2 * few.n_candidate_pairs_
    names = list(frame.columns)
    assert all(pairs[names.index(a), names.index(b)] for a, b in few.network_.edges)
    assert not pairs[1, 2]
    assert {frozenset(e) for e in few.network_.edges} >= {frozenset(("c3", "c4")), frozenset(("c6", "c7"))}


@pytest.mark.long
def test_the_command_line_says_that_pairs_were_screened(frame: pd.DataFrame, tmp_path: Path) -> None:
    frame.to_csv(tmp_path / "rows.csv", index=False)
    command = ["learn", str(tmp_path / "rows.csv"), "--max-evaluations", "500", "--seed", "1", "--quiet"]
    result = CliRunner().invoke(main, [*command, "--max-candidates", "2", "--json"])
    n_pairs = json.loads(result.stdout)["run"]["counts"]["n_candidate_pairs"]
    assert n_pairs < 30
    printed = CliRunner().invoke(main, [*command, "--max-candidates", "2"]).stdout
    assert f"considered {n_pairs} of 45 pairs of columns" in printed
    assert "pairs of columns" not in CliRunner().invoke(main, command).stdout


@pytest.mark.long
def test_rounds_with_a_discretizer_keep_the_candidates(frame: pd.DataFrame) -> None:
    learner = BayesNetLearner(
        "k-means",
        max_candidates=2,
        max_evaluations=8000,
        random_state=1,
        max_seconds=None,
    ).fit(frame)
    assert learner.statistics_["rounds"] > 1
    assert learner.n_candidate_pairs_ < 30


@pytest.mark.long
def test_a_front_searches_the_candidates(frame: pd.DataFrame) -> None:
    learner = ParetoBayesNetLearner(max_candidates=2, max_evaluations=3000, random_state=1).fit(frame)
    assert learner.n_candidate_pairs_ < 30
    every = ParetoBayesNetLearner(max_evaluations=1000, random_state=1).fit(frame)
    assert every.n_candidate_pairs_ == 45


@pytest.mark.long
@pytest.mark.parametrize(("candidates", "most_pairs"), [(10, 70 * 69 // 4), ("auto", 70 * 69 // 2)])
def test_more_than_64_columns_are_learned(candidates: int | str, most_pairs: int) -> None:
    rng = np.random.default_rng(2)
    columns = [rng.integers(0, 2, 400)]
    for _ in range(69):
        columns.append(np.where(rng.random(400) < 0.9, columns[-1], 1 - columns[-1]))
    wide = pd.DataFrame({f"c{i}": x for i, x in enumerate(columns)}).astype("category")
    learner = BayesNetLearner(
        scoring_method="bic",
        max_candidates=candidates,
        max_evaluations=60_000,
        random_state=1,
    ).fit(wide)
    assert learner.n_candidate_pairs_ <= most_pairs
    pairs = {frozenset(edge) for edge in learner.network_.edges}
    assert sum(frozenset((f"c{i}", f"c{i + 1}")) in pairs for i in range(69)) >= 66


def test_scorers_are_left_as_they_were() -> None:
    variables = hidden_parent(3)
    scorer: FamilyScorer = make_scorer(variables)
    before = scorer.caches.shared.used.tolist()
    candidate_pairs(scorer, rules_of(variables), 2)
    assert scorer.caches.shared.used.tolist() == before
