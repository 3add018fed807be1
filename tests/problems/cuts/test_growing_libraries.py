"""Libraries that grow during a search: policies enter, leave and merge; genes, samples and climbs follow."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles import broken_rules, evaluated, fixed, guarded_journal, slow_family_score
from pricing_examples import growing_scorer, priced_problem, slow_network_score, tied_variables

from gomea_bn import ExpertKnowledge, GomeaBnError
from gomea_bn.algorithms.discrete_run import climb_cost, new_population, new_work, variation_rules
from gomea_bn.operators.mixing import initialise_range, n_other_values, other_value
from gomea_bn.problems import (
    FamilyScorer,
    LibraryGrowth,
    ScoredFamily,
    ScoredVariable,
    StructureProblem,
    set_gene,
    undo,
)
from gomea_bn.problems.cuts import CutLimits, Policy, bin_codes
from gomea_bn.problems.kernels.structure import evaluate_structure_partial


def random_cuts(values: NDArray[Any], n_cuts: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return np.sort(rng.uniform(values.min(), values.max(), n_cuts))


def held(scorer: FamilyScorer, variable: int) -> list[int]:
    return [k for k, policy in enumerate(scorer.library(variable)) if policy is not None]


def test_a_column_is_sorted_once_for_all_its_libraries() -> None:
    variable = ScoredVariable("x", np.array([3.0, 1.0, 2.0]), 0)
    first = variable.with_policies([Policy(np.array([1.5]))])
    second = first.with_policies([Policy(np.empty(0))])
    assert [policy.n_bins for policy in (*first.policies, *second.policies)] == [2, 1]
    assert second.ranks is first.ranks is variable.ranks
    assert second.ranks.ascending.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("method", "cut_cost"), [("density-bd", 0.5), ("density-bd", 0.0), ("density-bic", 1.0)]
)
def test_entered_policy_is_as_if_it_had_been_there_from_the_start(method: str, cut_cost: float) -> None:
    rng = np.random.default_rng(4)
    variables = tied_variables(4, 90, "cdc", n_distinct=30)
    values = variables[0].values.astype(np.float64)
    scorer = growing_scorer(variables, method, cut_cost=cut_cost)
    assert scorer.view_offset.tolist() == [0, 8, 9, 17]
    # a cut on a value, bins without rows, one bin, the most bins
    cut_sets = [np.sort(values)[[40]], random_cuts(values, 5, rng), np.empty(0), np.array([-1e-3, 0.0, 1e-9])]
    slots = [scorer.enter(0, cuts) for cuts in cut_sets]
    assert slots == [3, 4, 5, 6]
    longer = ScoredVariable("v0", values, 0, (*variables[0].policies, *map(Policy, cut_sets)))
    other = growing_scorer([longer, *variables[1:]], method, cut_cost=cut_cost)
    assert other.library(0)[:7] == [*longer.policies]
    for slot, cuts in zip(slots, cut_sets):
        assert scorer.rows.codes[slot].tolist() == bin_codes(values, cuts).tolist()
        assert scorer.rows.codes[slot].tolist() == other.rows.codes[slot].tolist()
        assert scorer.rows.constant[slot] == other.rows.constant[slot]
        assert scorer.rows.cardinality[slot] == len(cuts) + 1 == scorer.policy(0, slot).n_bins
        families = [ScoredFamily((0, slot), ((1, 0), (2, 1))), ScoredFamily((1, 0), ((0, slot),))]
        scores = scorer.score(families)
        assert scores.tolist() == other.score(families).tolist()
        for family, score in zip(families, scores.tolist()):
            slow = slow_family_score([longer, *variables[1:]], family, method, cut_cost=cut_cost)
            assert score == pytest.approx(slow, abs=1e-9)


def test_a_scorer_without_curves_begins_with_the_first_libraries() -> None:
    """A clock ends a search anywhere, so that what has entered since must not decide the search for tables."""
    variables = tied_variables(4, 60, "cdc", n_distinct=30)
    scorer, fresh = growing_scorer(variables), growing_scorer(variables)
    family = [ScoredFamily((0, 1), ((2, 1),))]
    scorer.score(family)
    scorer.leave(0, 1)
    assert scorer.enter(0, np.array([0.123, 0.5])) == 1
    assert scorer.enter(2, np.array([0.2])) == 3
    other_score = scorer.score(family)
    of_tables = scorer.without_curves()
    assert [of_tables.library(v) for v in (0, 2)] == [fresh.library(v) for v in (0, 2)]
    assert of_tables.rows.cardinality.tolist() == fresh.rows.cardinality.tolist()
    for each in (scorer, of_tables):
        assert each.score(family) == fresh.score(family) != other_score


def test_equal_cuts_merge_and_first_places_stay() -> None:
    variables = tied_variables(1, 60, "cd", n_distinct=30)
    scorer = growing_scorer(variables)
    first_cuts = variables[0].policies[1].cut_points
    assert scorer.enter(0, first_cuts.copy()) == 1
    assert scorer.enter(0, np.array([0.123])) == scorer.enter(0, np.array([0.123])) == 3
    assert scorer.enter(0, np.array([0.123, 0.5])) == 4
    assert held(scorer, 0) == [0, 1, 2, 3, 4]
    scorer.leave(0, 1)
    assert held(scorer, 0) == [0, 2, 3, 4]
    assert scorer.rows.cardinality[1] == 0
    with pytest.raises(GomeaBnError, match="Variable 'v0' has no policy 1"):
        scorer.policy(0, 1)
    with pytest.raises(GomeaBnError, match="'v0' has policies 0 to 7, got 1"):
        scorer.score([ScoredFamily((0, 1))])
    assert scorer.enter(0, first_cuts) == 1
    with pytest.raises(GomeaBnError, match="Policy 0 of variable 'v0' cannot leave"):
        scorer.leave(0, 0)
    with pytest.raises(GomeaBnError, match="Policy 1 of variable 'v1' cannot leave"):
        scorer.leave(1, 1)
    with pytest.raises(GomeaBnError, match="'v0': at most 6 bins can enter, got 7"):
        scorer.enter(0, np.linspace(-0.1, 0.1, 6))
    assert scorer.library(1) == []


def _arrays(scorer: FamilyScorer) -> list[NDArray[Any]]:
    return [part for part in scorer.rows if isinstance(part, np.ndarray)]


def test_full_library_takes_no_more() -> None:
    variables = tied_variables(1, 60, "c", n_distinct=30)
    scorer = growing_scorer(variables, capacity=4)
    assert scorer.enter(0, np.array([0.1])) == 3
    before = [array.copy() for array in _arrays(scorer)]
    assert scorer.enter(0, np.array([0.2])) == -1
    assert scorer.enter(0, np.array([0.1])) == 3
    assert all((a == b).all() for a, b in zip(before, _arrays(scorer)))
    # a first library that is larger than the capacity is kept whole, without room for more
    small = growing_scorer(variables, capacity=2)
    assert held(small, 0) == [0, 1, 2]
    assert small.enter(0, np.array([0.2])) == -1


def test_fixed_cuts_and_levels_never_grow() -> None:
    variables = tied_variables(1, 60, "ccd", n_distinct=30)
    values = variables[1].values.astype(np.float64)
    variables[1] = ScoredVariable("v1", values, 0, (fixed(values, 0.0),))
    scorer = growing_scorer(variables)
    assert scorer.grows.tolist() == [True, False, False]
    assert np.diff(scorer.view_offset).tolist() == [8, 1, 1]
    for v in (1, 2):
        with pytest.raises(GomeaBnError, match=f"The library of variable 'v{v}' cannot grow"):
            scorer.enter(v, np.array([0.7]))
    assert scorer.enter(1, np.array([0.0])) == 0
    still = FamilyScorer(variables, scorer.method, scorer.rule)
    with pytest.raises(GomeaBnError, match="'v0' cannot grow"):
        still.enter(0, np.array([0.7]))


@pytest.mark.long
@given(
    st.integers(0, 10_000), st.lists(st.sampled_from(["enter", "leave", "score"]), min_size=5, max_size=60)
)
@settings(max_examples=60)
def test_reused_place_never_finds_old_scores(seed: int, steps: list[str]) -> None:
    rng = np.random.default_rng(seed)
    variables = tied_variables(seed, 40, "ccd", n_distinct=12)
    scorer = growing_scorer(variables, capacity=5)
    shadow: list[list[Any]] = [[p and p.cut_points for p in scorer.library(v)] for v in range(2)]
    for step in [*steps, "score"]:
        v = int(rng.integers(2))
        if step == "enter":
            cuts = random_cuts(variables[v].values, int(rng.integers(0, 4)), rng)
            slot = scorer.enter(v, cuts)
            equal = [
                k
                for k, policy_cuts in enumerate(shadow[v])
                if policy_cuts is not None and np.array_equal(policy_cuts, cuts)
            ]
            free = [k for k, policy_cuts in enumerate(shadow[v]) if policy_cuts is None]
            assert slot == [*equal, *free, -1][0]
            if slot >= 0:
                shadow[v][slot] = cuts
        elif step == "leave":
            slot = int(rng.integers(1, 5))
            scorer.leave(v, slot)
            shadow[v][slot] = None
        else:
            chosen = [int(rng.choice(held(scorer, u))) for u in range(2)]
            families = [
                ScoredFamily((0, chosen[0])),
                ScoredFamily((0, chosen[0]), ((1, chosen[1]), (2, 0))),
                ScoredFamily((1, chosen[1]), ((0, chosen[0]),)),
                ScoredFamily((2, 0), ((0, chosen[0]), (1, chosen[1]))),
            ]
            cached = scorer.score(families)
            assert cached.tolist() == scorer.score(families, use_cache=False).tolist()
            cut = [shadow[u][k] for u, k in enumerate(chosen)]
            slow = slow_network_score(variables, [(0, 1), (0, 2), (1, 2)], [*cut, np.empty(0)])
            assert cached[[0, 2, 3]].sum() == pytest.approx(slow, abs=1e-8)
    for v in range(2):
        assert held(scorer, v) == [k for k, cuts in enumerate(shadow[v]) if cuts is not None]


def grown_problem(seed: int = 1) -> StructureProblem:
    """A library with places 0, 2, 5, 6 in use out of 8, and one with its first three."""
    variables = tied_variables(seed, 60, "cdc", n_distinct=20)
    problem, _ = priced_problem(variables, CutLimits(max_bins=6), capacity=8)
    rng = np.random.default_rng(seed)

    def all_used(_gene: int) -> NDArray[np.int64]:
        return np.arange(8)

    for n_cuts in (1, 2, 3, 5):
        assert problem.enter_policy(
            0, random_cuts(variables[0].values, n_cuts, rng), all_used
        ) == n_cuts + 2 - (n_cuts == 5)
    for slot in (1, 3, 4):
        problem.scorer.leave(0, slot)
    problem._follow_library(0, int(problem.rules.bin_gene[0]))
    return problem


def test_alphabet_and_allowed_follow_in_place() -> None:
    variables = tied_variables(1, 60, "cdc", n_distinct=30)
    problem, _ = priced_problem(variables, CutLimits(max_bins=6), capacity=5)
    alphabet, allowed = problem.alphabet, problem.allowed
    gene = int(problem.rules.bin_gene[2])
    used: list[int] = []
    requests: list[int] = []

    def in_use(asked_gene: int) -> NDArray[np.int64]:
        requests.append(asked_gene)
        return np.array(used, np.int64)

    assert (gene, alphabet.tolist(), problem.ordinal[gene]) == (4, [3, 3, 3, 3, 3], False)
    assert problem.enter_policy(2, np.array([0.01]), in_use) == 3
    assert problem.enter_policy(2, np.array([0.02]), in_use) == 4
    assert requests == []
    assert (alphabet[gene], allowed[gene].tolist()) == (5, [True] * 5)
    # full: what nobody uses leaves, the first place stays
    used[:] = [2, 4]
    assert problem.enter_policy(2, np.array([0.03]), in_use) == 1
    assert requests == [gene]
    assert held(problem.scorer, 2) == [0, 1, 2, 4]
    assert (alphabet[gene], allowed[gene].tolist()) == (5, [True, True, True, False, True])
    assert problem.scorer.policy(2, 4).cut_points.tolist() == [0.02]
    # known cuts need no room
    assert problem.enter_policy(2, np.array([0.02]), in_use) == 4
    assert problem.enter_policy(2, np.array([0.04]), in_use) == 3
    used[:] = [1, 2, 3, 4]
    assert problem.enter_policy(2, np.array([0.05]), in_use) == -1
    assert held(problem.scorer, 2) == [0, 1, 2, 3, 4]
    used[:] = [0]
    assert problem.enter_policy(2, np.array([0.05]), in_use) == 1
    assert held(problem.scorer, 2) == [0, 1]
    assert (alphabet[gene], allowed[gene].tolist()) == (2, [True, True, False, False, False])
    assert problem.alphabet is alphabet
    assert problem.allowed is allowed
    # the other library is untouched
    assert allowed[3].tolist() == [True, True, True, False, False]


def test_samples_use_held_policies_alone() -> None:
    problem = grown_problem()
    genes = problem.rules.bin_gene[[0, 2]]
    drawn = problem.sample(np.random.default_rng(0), 2000)
    for gene, slots in zip(genes.tolist(), ([0, 2, 5, 6], [0, 1, 2]), strict=True):
        alleles, counts = np.unique(drawn[:, gene], return_counts=True)
        assert alleles.tolist() == slots
        assert counts.min() > 0.8 * 2000 / len(slots)
        assert problem.allowed[gene].nonzero()[0].tolist() == slots


def test_climbs_try_held_policies_alone() -> None:
    problem = grown_problem()
    rules = variation_rules(problem, 4, climbs=True)
    gene = int(problem.rules.bin_gene[0])
    for start in (0, 2, 5, 6):
        n_others = n_other_values(rules, gene)
        tried = [other_value(rules, gene, start, turn) for turn in range(n_others)]
        assert sorted(value for value in tried if value >= 0) == sorted({0, 2, 5, 6} - {start})


def test_one_climb_tries_at_most_six_policies_of_a_library() -> None:
    variables = tied_variables(1, 60, "cdcc", n_distinct=20)
    problem, _ = priced_problem(variables, CutLimits(max_bins=6), capacity=30)
    rng = np.random.default_rng(0)
    for _ in range(27):
        problem.enter_policy(0, random_cuts(variables[0].values, 3, rng), lambda _gene: np.arange(30))
    assert problem.alphabet.tolist() == [3] * 6 + [30, 3, 3]
    # every edge both ways, six of one library, all others of two
    assert climb_cost(problem, climbs=True) == 6 * 2 + 6 + 2 * 2
    data = new_population(problem, problem.sample(rng, 5))
    work = new_work(problem, np.zeros(1, np.uint8))
    work.budget[0] = 10**6
    kernel_data = problem.kernel_data(1)[0]
    initialise_range(kernel_data, data, variation_rules(problem, 5, climbs=True), rng, work, 0, 5)
    assert data.tallies[:, 1].tolist() == [1 + 22] * 5
    for i in range(5):
        assert data.objectives[i, 0] == evaluated(problem, data.genotypes[i]).objectives[0]


@pytest.mark.long
@given(st.integers(0, 10_000))
@settings(max_examples=40)
def test_coarsening_keeps_table_limits_in_libraries_without_order(seed: int) -> None:
    """Under required edges bins must give way, whatever the order in which policies entered."""
    rng = np.random.default_rng(seed)
    variables = tied_variables(seed, 50, "cccd", n_distinct=25, max_bins=3)
    knowledge = ExpertKnowledge(
        required_edges=[("v0", "v1"), ("v2", "v1"), ("v3", "v1")],
        max_table_cells=int(rng.choice([24, 40, 90])),
    )
    problem, _ = priced_problem(variables, CutLimits(max_bins=9), capacity=12, knowledge=knowledge)
    for v in (0, 1, 2):
        for _ in range(9):
            cuts = random_cuts(variables[v].values, int(rng.integers(0, 9)), rng)
            problem.enter_policy(v, cuts, lambda _gene: np.arange(12))
        for slot in rng.permutation(np.arange(1, 12))[: rng.integers(0, 6)].tolist():
            if slot in held(problem.scorer, v):
                problem.scorer.leave(v, slot)
        problem._follow_library(v, int(problem.rules.bin_gene[v]))
    for k, genotype in enumerate(problem.sample(rng, 20)):
        solution = evaluated(problem, genotype, np.random.default_rng(k))
        assert broken_rules(problem, solution.genotype, knowledge) == []
        for gene in problem.rules.bin_gene[:3].tolist():
            assert problem.allowed[gene, solution.genotype[gene]]
        # steps through the journal keep the limits, agree with evaluation from scratch, and can be undone
        before = [array.copy() for array in solution]
        journal, is_intact = guarded_journal(problem)
        gene = int(rng.integers(problem.n_edge_genes, problem.n_variables))
        set_gene(solution, journal, gene, int(rng.choice(np.flatnonzero(problem.allowed[gene]))))
        evaluate_structure_partial(problem.kernel_data(1)[0], solution, journal, rng)
        assert is_intact()
        assert broken_rules(problem, solution.genotype, knowledge) == []
        whole = evaluated(problem, solution.genotype)
        assert whole.genotype.tolist() == solution.genotype.tolist()
        assert whole.objectives[0] == solution.objectives[0]
        undo(solution, journal)
        assert all((a == b).all() for a, b in zip(before[:3], solution[:3]))


def test_widest_variable_steps_to_the_policy_with_the_next_fewer_bins() -> None:
    values = np.linspace(0.0, 1.0, 40)
    # bins by place; the first library has one policy, the others entered in this order
    sizes = [3, 7, 2, 6, 4, 5]
    policies = (Policy(np.arange(1, 3) / 3),)
    variables = [
        ScoredVariable("v0", values, 0, policies),
        ScoredVariable("v1", (values > 0.5).astype(np.int32), 2),
    ]
    for most, slot in ((14, 1), (13, 3), (11, 5), (8, 4), (7, 0), (5, 2)):
        knowledge = ExpertKnowledge(required_edges=[("v0", "v1")], max_table_cells=max(most, 6))
        problem, _ = priced_problem(variables, CutLimits(max_bins=7), capacity=6, knowledge=knowledge)
        for n_bins in sizes[1:]:
            problem.scorer.enter(0, np.arange(1, n_bins) / n_bins)
        problem.rules = problem.rules._replace(max_cells=float(most))
        assert [policy.n_bins for policy in problem.scorer.library(0) if policy] == sizes
        solution = evaluated(problem, problem.genotype([(0, 1)], [1, 0]))
        assert problem.policy_indices(solution.genotype)[0] == slot
        assert problem.edges(solution.genotype) == [(0, 1)]


def test_journal_has_room_for_libraries_that_grow_later() -> None:
    variables = tied_variables(1, 60, "cd", n_distinct=30)
    problem, _ = priced_problem(variables, CutLimits(), capacity=40)
    work = new_work(problem, np.zeros(1, np.uint8))
    assert problem.alphabet.tolist() == [3, 3]
    assert len(work.journal.genes) >= 2 * 40
    assert problem.scorer.growth == LibraryGrowth(40, 15)
    assert problem.sample(np.random.default_rng(0), 1).shape == (1, 2)
