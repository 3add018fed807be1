"""Genotypes of structure and bins: repair, limits, and partial evaluation against full evaluation."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles import (
    Walk,
    broken_rules,
    discrete_variables,
    evaluated,
    fixed,
    guarded_journal,
    is_acyclic,
    make_problem,
    make_scorer,
    random_knowledge,
    random_variables,
    slow_break_cycles,
    slow_family_score,
)
from scipy.stats import chisquare

from gomea_bn import ExpertKnowledge
from gomea_bn.problems import ScoredFamily, ScoredVariable, Solution, set_gene
from gomea_bn.problems.family_scorer import new_cache
from gomea_bn.problems.kernels.structure import evaluate_structure_partial


def noise(n_variables: int, n_rows: int = 20) -> list[ScoredVariable]:
    rng = np.random.default_rng(n_variables)
    return discrete_variables(rng.integers(0, 2, (n_variables, n_rows)), [2] * n_variables)


def test_genes_are_pairs_in_order_then_bins_of_continuous_variables() -> None:
    variables = random_variables(np.random.default_rng(0), 60, "cdcd", max_bins=6)
    fixed_column = variables[2].values.astype(np.float64)
    variables[2] = ScoredVariable("v2", fixed_column, 0, (fixed(fixed_column, 0.0),))  # no choice, no gene
    problem = make_problem(variables)
    assert problem.alphabet.tolist() == [3] * 6 + [5]
    assert problem.ordinal.tolist() == [False] * 6 + [True]
    genotype = problem.genotype([(0, 1), (3, 0), (1, 2), (3, 2)], [4, 0, 0, 0])
    assert genotype.tolist() == [1, 0, 2, 1, 0, 2, 4]
    assert problem.edges(genotype) == [(0, 1), (1, 2), (3, 0), (3, 2)]
    assert problem.policy_indices(genotype).tolist() == [4, 0, 0, 0]


@pytest.mark.parametrize(("kinds", "length"), [("d", 0), ("c", 1), ("dd", 1), ("cd", 2)])
def test_the_smallest_problems_can_be_sampled_and_evaluated(kinds: str, length: int) -> None:
    problem = make_problem(random_variables(np.random.default_rng(1), 40, kinds))
    assert problem.n_variables == length
    genotypes = problem.sample(np.random.default_rng(0), 50)
    assert genotypes.shape == (50, length)
    for genotype in genotypes:
        assert np.isfinite(evaluated(problem, genotype).objectives[0])


def test_sampling_is_sparse_even_and_keeps_the_rules() -> None:
    n = 9
    knowledge = ExpertKnowledge([("v0", "v1")], [("v2", "v3"), ("v3", "v2")], [["v4"], ["v5"]])
    problem = make_problem(noise(n), knowledge=knowledge, initial_indegree=1.5)
    genotypes = problem.sample(np.random.default_rng(0), 4000)
    pairs = list(itertools.combinations(range(n), 2))
    by_pair = {pair: Counter(genotypes[:, k].tolist()) for k, pair in enumerate(pairs)}
    assert by_pair[0, 1] == {1: 4000}
    assert by_pair[2, 3] == {0: 4000}
    assert set(by_pair[4, 5]) == {0, 1}
    free = [pair for pair in pairs if pair not in ((0, 1), (2, 3), (4, 5))]
    for pair in free:
        present = by_pair[pair][1] + by_pair[pair][2]
        assert present / 4000 == pytest.approx(2 * 1.5 / (n - 1), abs=0.05)
        assert by_pair[pair][1] / present == pytest.approx(0.5, abs=0.06)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(2, 9))
def test_repair_in_index_order_equals_its_twin(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    problem = make_problem(noise(n), random_repair=False)
    genotype = rng.integers(0, 3, problem.n_variables).astype(np.int16)
    repaired = evaluated(problem, genotype).genotype
    assert set(problem.edges(repaired)) == slow_break_cycles(n, problem.edges(genotype))


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(2, 9), st.booleans())
def test_evaluation_repairs_keeps_the_rules_and_scores(seed: int, n: int, random_repair: bool) -> None:
    rng = np.random.default_rng(seed)
    variables = random_variables(rng, 60, "".join(rng.choice(list("cd"), n)))
    knowledge = random_knowledge(rng, n)
    problem = make_problem(variables, knowledge=knowledge, random_repair=random_repair)
    genotype = np.array([rng.choice(np.flatnonzero(row)) for row in problem.allowed], np.int16)
    solution = evaluated(problem, genotype, rng)
    assert broken_rules(problem, solution.genotype, knowledge) == []
    edges, policies = problem.edges(solution.genotype), problem.policy_indices(solution.genotype).tolist()
    assert set(edges) <= set(problem.edges(genotype))
    for child in range(n):
        family = ScoredFamily(
            (child, policies[child]), tuple((i, policies[i]) for i, j in edges if j == child)
        )
        assert solution.terms[child] == pytest.approx(
            -slow_family_score(variables, family, "density-bic"), abs=1e-9
        )
    assert solution.objectives[0] == pytest.approx(solution.terms.sum(), abs=1e-9)
    again = evaluated(problem, solution.genotype, rng)
    assert [array.tolist() for array in again] == [array.tolist() for array in solution]


@pytest.mark.parametrize("n", [3, 64, 65, 130])
def test_dense_graphs_of_one_two_and_three_words_become_acyclic(n: int) -> None:
    problem = make_problem(noise(n), knowledge=ExpertKnowledge(max_indegree=3))
    rng = np.random.default_rng(n)
    for _ in range(3):
        genotype = problem.genotype(list(itertools.combinations(rng.permutation(n).tolist(), 2)), [0] * n)
        backward = rng.random(len(genotype)) < 0.02
        genotype = np.where(backward, 3 - genotype, genotype).astype(np.int16)
        edges = problem.edges(evaluated(problem, genotype, rng).genotype)
        assert is_acyclic(n, edges)
        assert max(Counter(child for _, child in edges).values()) == min(3, n - 1)


def test_random_repair_drops_each_arc_of_a_cycle_equally_often() -> None:
    problem = make_problem(noise(3))
    cycle = {(0, 1), (1, 2), (2, 0)}
    genotype = problem.genotype(sorted(cycle), [0] * 3)
    rng = np.random.default_rng(0)
    dropped: Counter[tuple[int, int]] = Counter()
    for _ in range(900):
        (arc,) = cycle - set(problem.edges(evaluated(problem, genotype, rng).genotype))
        dropped[arc] += 1
    assert chisquare([dropped[arc] for arc in cycle]).pvalue > 1e-3


def test_index_order_drops_the_arc_that_the_published_code_drops() -> None:
    problem = make_problem(noise(3), random_repair=False)
    repaired = evaluated(problem, problem.genotype([(0, 1), (1, 2), (2, 0)], [0] * 3)).genotype
    # the walk is 0, its parent 2, its parent 1; there the arc 0 -> 1 leads back
    assert problem.edges(repaired) == [(1, 2), (2, 0)]


def test_random_repair_of_dense_graphs_favours_no_column() -> None:
    n = 5
    problem = make_problem(noise(n))
    rng = np.random.default_rng(5)
    arc_counts: Counter[tuple[int, int]] = Counter()
    for _ in range(2500):
        arc_counts.update(
            problem.edges(evaluated(problem, rng.integers(1, 3, 10).astype(np.int16), rng).genotype)
        )
    assert chisquare([arc_counts[arc] for arc in itertools.permutations(range(n), 2)]).pvalue > 1e-3


def test_surplus_parents_and_bins_are_given_up_evenly() -> None:
    variables = random_variables(np.random.default_rng(3), 80, "ccd")
    problem = make_problem(variables, knowledge=ExpertKnowledge(max_indegree=1))
    rng = np.random.default_rng(0)
    genotype = problem.genotype([(0, 2), (1, 2)], [0, 0, 0])
    parent_counts = Counter(problem.edges(evaluated(problem, genotype, rng).genotype)[0] for _ in range(600))
    assert chisquare([parent_counts[0, 2], parent_counts[1, 2]]).pvalue > 1e-3
    knowledge = ExpertKnowledge([("v0", "v1")], max_table_cells=6)
    problem = make_problem(variables[:2], knowledge=knowledge)
    genotype = problem.genotype([(0, 1)], [2, 2])
    bins = Counter(
        tuple(problem.policy_indices(evaluated(problem, genotype, rng).genotype)) for _ in range(600)
    )
    assert set(bins) == {(0, 1), (1, 0)}
    assert chisquare(list(bins.values())).pvalue > 1e-3


def test_only_what_may_go_leaves_a_cycle_of_required_arcs() -> None:
    knowledge = ExpertKnowledge([("v0", "v1"), ("v1", "v2"), ("v3", "v4"), ("v4", "v5")])
    problem = make_problem(noise(7), knowledge=knowledge)
    rng = np.random.default_rng(0)
    required, closing, between = {(0, 1), (1, 2), (3, 4), (4, 5)}, {(2, 0), (5, 3)}, {(2, 3), (5, 0)}
    outside = {(0, 6), (4, 6)}
    genotype = problem.genotype(sorted(required | closing | between | outside), [0] * 7)
    for _ in range(200):
        edges = set(problem.edges(evaluated(problem, genotype, rng).genotype))
        assert is_acyclic(7, edges)
        assert required | outside <= edges
        assert not closing & edges
        assert len(between & edges) == 1


def test_many_coarsening_steps_fit_into_the_journal() -> None:
    knowledge = ExpertKnowledge([("v0", "v1"), ("v0", "v2")], max_table_cells=4)
    problem = make_problem(
        random_variables(np.random.default_rng(0), 400, "ccc", max_bins=200), knowledge=knowledge
    )
    genotype = problem.genotype([(0, 1), (0, 2)], (problem.alphabet[-3:] - 1).tolist())
    solution = evaluated(problem, genotype)  # asserts that nothing was written behind the journal
    assert problem.policy_indices(solution.genotype).tolist() == [0, 0, 0]


def subsets(rng: np.random.Generator, n_genes: int, n_edges: int) -> NDArray[np.int64]:
    """Mostly small, sometimes large, with bins more often than their share."""
    size = min(n_genes, int(rng.choice([1, 2, 3, 8, 40], p=[0.4, 0.2, 0.2, 0.15, 0.05])))
    genes = set(rng.choice(n_genes, size, replace=False).tolist())
    if n_genes > n_edges and rng.random() < 0.5:
        genes.add(int(rng.integers(n_edges, n_genes)))
    return np.array(sorted(genes))


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("n", "steps", "random_repair"),
    [
        (3, 1000, True),
        (3, 1000, False),
        (10, 3000, True),
        (10, 1000, False),
        (64, 400, True),
        (65, 400, True),
        (70, 400, False),
        (130, 60, True),
    ],
)
def test_partial_evaluation_equals_full_evaluation(n: int, steps: int, random_repair: bool) -> None:
    rng = np.random.default_rng(100 * n + random_repair)
    variables = random_variables(rng, 50, "".join(rng.choice(list("ccd"), n)))
    problem = make_problem(variables, random_repair=random_repair, initial_indegree=2.0)
    walk = Walk(problem, rng)
    for _ in range(steps):
        walk.step(subsets(rng, problem.n_variables, problem.n_edge_genes))


# parent sets of more than 64 variables take two words
@example(66, 66, True)
@example(70, 70, True)
@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.booleans())
def test_partial_evaluation_keeps_the_rules(seed: int, n: int, random_repair: bool) -> None:
    rng = np.random.default_rng(seed)
    variables = random_variables(rng, 40, "".join(rng.choice(list("cccd"), n)), max_bins=9)
    knowledge = random_knowledge(rng, n)
    problem = make_problem(variables, knowledge=knowledge, random_repair=random_repair, initial_indegree=3.0)

    def check(solution: Solution) -> None:
        assert broken_rules(problem, solution.genotype, knowledge) == []

    walk = Walk(problem, rng, check)
    for _ in range(40):
        walk.step(subsets(rng, problem.n_variables, problem.n_edge_genes))


@pytest.mark.parametrize("n", [5, 66])
def test_only_touched_families_are_scored(n: int) -> None:
    problem = make_problem(random_variables(np.random.default_rng(n), 40, "c" * n))
    rng = np.random.default_rng(0)
    last = n - 1
    solution = evaluated(problem, problem.genotype([(0, 1), (0, last), (2, last)], [0] * n), rng)
    journal, _ = guarded_journal(problem)
    data = problem.kernel_data(1)[0]

    def touched_by(gene: int, value: int) -> set[int]:
        journal.counts[:] = 0
        set_gene(solution, journal, gene, value)
        n_touched = evaluate_structure_partial(data, solution, journal, rng)
        scored = set(journal.terms[: journal.counts[1]].tolist())
        assert n_touched == len(scored)
        return scored

    assert touched_by(problem.n_edge_genes + 0, 1) == {0, 1, last}
    assert touched_by(problem.n_edge_genes + 1, 2) == {1}
    assert touched_by(0, 2) == {0, 1}  # 0 -> 1 turned round
    assert touched_by(0, 0) == {0}
    assert touched_by(1, 1) == {2}


@pytest.mark.parametrize("capacity", [2, 16])
def test_a_tiny_cache_changes_nothing(capacity: int) -> None:
    rng = np.random.default_rng(4)
    variables = random_variables(rng, 50, "cccdd")
    scorer = make_scorer(variables, cache_bytes=0)
    scorer.caches.shared = new_cache(capacity)
    small, large = make_problem(variables, scorer=scorer), make_problem(variables)
    for genotype in large.sample(rng, 200):
        a = evaluated(small, genotype, np.random.default_rng(1))
        b = evaluated(large, genotype, np.random.default_rng(1))
        assert a.terms.tobytes() == b.terms.tobytes()
