"""Multi-objective benchmark functions: their definitions, partial evaluation with undo, and known fronts."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search_examples import journal_of, unevaluated
from wrong_input import untyped

from gomea_bn import GomeaBnError, KernelProblem
from gomea_bn.problems import (
    LOTZ,
    MaxCut,
    MultiObjectiveKnapsack,
    MultiObjectiveMaxCut,
    OneMaxZeroMax,
    Solution,
    Trap,
    TrapInverseTrap,
    brute_force_front,
    evaluate,
    evaluate_partial,
    set_gene,
    undo,
)

Twin = Callable[[Sequence[int]], tuple[tuple[float, ...], list[int]]]


def onemax_zeromax(x: Sequence[int]) -> tuple[tuple[float, ...], list[int]]:
    return (-float(list(x).count(1)), -float(list(x).count(0))), list(x)


def trap_inverse_trap(k: int) -> Twin:
    def trap(block: Sequence[int], bit: int) -> int:
        u = list(block).count(bit)
        return k if u == k else k - 1 - u

    def twin(x: Sequence[int]) -> tuple[tuple[float, ...], list[int]]:
        blocks = [x[b : b + k] for b in range(0, len(x), k)]
        return tuple(-float(sum(trap(block, bit) for block in blocks)) for bit in (1, 0)), list(x)

    return twin


def lotz(x: Sequence[int]) -> tuple[tuple[float, ...], list[int]]:
    ones = len(list(itertools.takewhile(lambda bit: bit == 1, x)))
    zeros = len(list(itertools.takewhile(lambda bit: bit == 0, reversed(x))))
    return (-float(ones), -float(zeros)), list(x)


def max_cut(edges: Any, weights: Any) -> Twin:
    def twin(x: Sequence[int]) -> tuple[tuple[float, ...], list[int]]:
        cut = [e for e, (a, b) in enumerate(edges) if x[a] != x[b]]
        return tuple(-sum(row[e] for e in cut) for row in weights), list(x)

    return twin


def knapsack(profits: Any, weights: Any, capacities: Any) -> Twin:
    sacks = range(len(capacities))

    def ratio(item: int) -> float:
        return max(profits[m][item] / weights[m][item] for m in sacks)

    def twin(x: Sequence[int]) -> tuple[tuple[float, ...], list[int]]:
        chosen = [item for item, bit in enumerate(x) if bit]
        while any(sum(weights[m][item] for item in chosen) > capacities[m] for m in sacks):
            chosen.remove(min(chosen, key=ratio))
        return (
            tuple(-float(sum(profits[m][item] for item in chosen)) for m in sacks),
            [int(item in chosen) for item in range(len(x))],
        )

    return twin


def cases(seed: int) -> list[tuple[KernelProblem, Twin]]:
    """Small problems with their twins; whole numbers, or weights in eighths, so that both sums are exact."""
    rng = np.random.default_rng(seed)
    n, m, k = int(rng.integers(2, 14)), int(rng.integers(1, 4)), int(rng.integers(2, 6))
    edges = [pair for pair in itertools.combinations(range(n), 2) if rng.random() < 0.6]
    edge_weights = (rng.integers(-40, 40, (m, len(edges))) / 8).tolist()
    profits, weights = rng.integers(0, 30, (m, n)), rng.integers(1, 30, (m, n))
    capacities = rng.integers(0, 15 * n, m)
    return [
        (OneMaxZeroMax(n), onemax_zeromax),
        (TrapInverseTrap(3 * k, k), trap_inverse_trap(k)),
        (LOTZ(n), lotz),
        (MultiObjectiveMaxCut(n, edges, np.reshape(edge_weights, (m, -1))), max_cut(edges, edge_weights)),
        (
            MultiObjectiveKnapsack(profits, weights, capacities),
            knapsack(profits.tolist(), weights.tolist(), capacities.tolist()),
        ),
        (
            MultiObjectiveKnapsack(profits, weights),
            knapsack(profits.tolist(), weights.tolist(), (weights.sum(axis=1) / 2).tolist()),
        ),
    ]


def full(problem: KernelProblem, genotype: Any) -> tuple[Solution, int]:
    solution, journal = unevaluated(problem), journal_of(problem)
    solution.genotype[:] = genotype
    touched = evaluate(problem.data, solution, journal, np.random.default_rng(0))
    assert journal.counts.tolist() == [0, 0, 0]
    assert solution.violation[0] == 0
    return solution, touched


def objectives(problem: KernelProblem, genotype: Any) -> list[float]:
    return full(problem, genotype)[0].objectives.tolist()


def front_of(points: Sequence[tuple[float, ...]]) -> list[tuple[float, ...]]:
    """The non-dominated points, each once, in lexical order, by comparing all pairs."""
    distinct = sorted(set(points))
    return [
        p
        for p in distinct
        if not any(q != p and all(a <= b for a, b in zip(q, p, strict=True)) for q in distinct)
    ]


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_objectives_and_repair_equal_their_definitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for problem, twin in cases(seed):
        for share in (0.5, 0.95):
            x = (rng.random(problem.n_variables) < share).astype(int).tolist()
            solution, touched = full(problem, x)
            expected, repaired = twin(x)
            assert tuple(solution.objectives.tolist()) == expected
            assert solution.genotype.tolist() == repaired
            assert touched == problem.n_terms


def test_values_from_the_literature() -> None:
    assert objectives(TrapInverseTrap(5), [1] * 5) == [-5, -4]
    assert objectives(TrapInverseTrap(5), [0] * 5) == [-4, -5]
    assert [objectives(TrapInverseTrap(5), [1] * u + [0] * (5 - u)) for u in (1, 4)] == [[-3, 0], [0, -3]]
    assert objectives(LOTZ(6), [1, 1, 0, 1, 0, 0]) == [-2, -2]
    assert objectives(LOTZ(4), [1, 1, 1, 1]) == [-4, 0]
    assert objectives(OneMaxZeroMax(5), [1, 0, 1, 1, 0]) == [-3, -2]


def test_the_first_objective_of_traps_is_the_single_objective_one() -> None:
    rng = np.random.default_rng(4)
    trap, both = Trap(30, k=6), TrapInverseTrap(30, k=6)
    edges, weights = [[0, 1], [1, 2], [2, 0], [0, 3]], [0.1, 0.7, -0.3, 0.2]
    cut, cuts = MaxCut(4, edges, weights), MultiObjectiveMaxCut(4, edges, [weights, weights[::-1]])
    for _ in range(20):
        x = rng.integers(0, 2, 30)
        assert objectives(both, x) == [objectives(trap, x)[0], objectives(trap, 1 - x)[0]]
        assert objectives(cuts, x[:4])[0] == objectives(cut, x[:4])[0]


def test_the_knapsack_drops_the_least_ratio_first() -> None:
    # best ratios over both knapsacks: 2, 1/2, 3, 2; without item 1 the second one is still overloaded, so item 0 goes
    problem = MultiObjectiveKnapsack([[2, 1, 1, 8], [1, 1, 9, 1]], [[1, 2, 5, 4], [4, 4, 3, 4]], [11, 9])
    solution, touched = full(problem, [1, 1, 1, 1])
    assert solution.genotype.tolist() == [0, 0, 1, 1]
    assert solution.objectives.tolist() == [-9, -10]
    assert solution.terms[:2].tolist() == [9, 7]
    assert touched == 6


def dependent_terms(problem: KernelProblem, before: Any, after: Any, flipped: set[int]) -> int | None:
    """How many sub-functions a step re-evaluates; None where repair has a say."""
    n = problem.n_variables
    if isinstance(problem, LOTZ):
        count = 0
        for bit, order in ((1, list(range(n))), (0, list(range(n))[::-1])):
            products = [[all(x[g] == bit for g in order[: i + 1]) for i in range(n)] for x in (before, after)]
            moved = {i for i in range(n) if products[0][i] != products[1][i]}
            count += sum(1 for i in range(n) if order[i] in flipped or i - 1 in moved)
        return count
    if isinstance(problem, MultiObjectiveMaxCut):
        data = problem.data
        return sum(
            1
            for g in range(n)
            for h in data.neighbours[data.starts[g] : data.starts[g + 1]].tolist()
            if h < g and {g, h} & flipped
        )
    if isinstance(problem, TrapInverseTrap):
        return len({g // problem.k for g in flipped})
    if isinstance(problem, OneMaxZeroMax):
        return len(flipped)
    return None


@pytest.mark.long
@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_partial_evaluation_equals_a_whole_one_and_can_be_undone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for problem, twin in cases(seed):
        n = problem.n_variables
        solution, journal = full(problem, rng.integers(0, 2, n))[0], journal_of(problem)
        for _ in range(12):
            former = [array.copy() for array in solution]
            size = min(n, int(rng.choice([1, 1, 2, 3, n])))
            flipped = rng.permutation(n)[:size].tolist()
            for gene in flipped:
                set_gene(solution, journal, gene, 1 - solution.genotype[gene])
            requested = solution.genotype.tolist()
            touched = evaluate_partial(problem.data, solution, journal, rng)

            whole, _ = full(problem, requested)
            pairs: list[tuple[Any, Any]] = list(zip(solution, whole, strict=True))
            for values, expected in pairs:
                np.testing.assert_array_equal(
                    values[: problem.n_objectives], expected[: problem.n_objectives]
                )
            assert solution.genotype.tolist() == whole.genotype.tolist() == twin(requested)[1]
            assert tuple(solution.objectives.tolist()) == twin(requested)[0]
            expected_touched = dependent_terms(problem, former[0], solution.genotype, set(flipped))
            if expected_touched is None:
                dropped = sum(a != b for a, b in zip(requested, solution.genotype.tolist(), strict=True))
                expected_touched = size + dropped + problem.n_objectives
            assert touched == expected_touched
            if rng.random() < 0.5:
                undo(solution, journal)
                solution.objectives[:] = former[3]
                for values, before in zip(solution, former, strict=True):
                    np.testing.assert_array_equal(values, before)
            journal.counts[:] = 0


@pytest.mark.long
def test_equal_genotypes_have_equal_objectives_after_a_long_walk() -> None:
    rng = np.random.default_rng(1)
    problems = [
        MultiObjectiveMaxCut.random_graph(40, 200, 3, random_state=5),
        MultiObjectiveKnapsack(rng.random((2, 60)), rng.random((2, 60)) + 0.1),
    ]
    for problem in problems:
        n = problem.n_variables
        solution, journal = full(problem, rng.integers(0, 2, n))[0], journal_of(problem)
        for gene in rng.integers(0, n, 20_000).tolist():
            set_gene(solution, journal, gene, 1 - solution.genotype[gene])
            evaluate_partial(problem.data, solution, journal, rng)
            journal.counts[:] = 0
        assert solution.objectives.tolist() == objectives(problem, solution.genotype)


def test_the_journal_is_long_enough_for_a_step_that_repair_takes_back_whole() -> None:
    problem = MultiObjectiveKnapsack(np.ones((3, 50)), np.ones((3, 50)), [0, 0, 0])
    solution, journal = full(problem, np.zeros(50))[0], journal_of(problem)
    for gene in range(50):
        set_gene(solution, journal, gene, 1)
    assert evaluate_partial(problem.data, solution, journal, np.random.default_rng(0)) == 103
    assert not solution.genotype.any()
    assert journal.counts[0] == 100 <= len(journal.genes)
    undo(solution, journal)
    assert not solution.genotype.any()
    assert solution.terms[:3].tolist() == [0, 0, 0]


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(6))
def test_fronts_are_those_of_all_genotypes(seed: int) -> None:
    small: list[tuple[Any, Twin]] = [case for case in cases(seed) if case[0].n_variables <= 12]
    assert small
    for problem, twin in small:
        points = [twin(x)[0] for x in itertools.product((0, 1), repeat=problem.n_variables)]
        assert problem.front.dtype == np.float64
        assert [tuple(point) for point in problem.front.tolist()] == front_of(points)
        assert brute_force_front(problem).tolist() == problem.front.tolist()


@pytest.mark.parametrize(
    "problem", [OneMaxZeroMax(17), TrapInverseTrap(18, k=3), TrapInverseTrap(20), LOTZ(16)]
)
def test_analytic_fronts_are_those_of_enumeration(problem: Any) -> None:
    assert problem.front.tolist() == brute_force_front(problem).tolist()


def test_known_fronts() -> None:
    trap = TrapInverseTrap(25).front
    assert trap.tolist() == [[-25, -20], [-24, -21], [-23, -22], [-22, -23], [-21, -24], [-20, -25]]
    for problem in (OneMaxZeroMax(100), LOTZ(100)):
        assert len(problem.front) == 101
        assert (problem.front.sum(axis=1) == -100).all()
    assert len(TrapInverseTrap(100).front) == 21
    assert MultiObjectiveMaxCut.random_graph(21, 40, random_state=1).front is None
    assert MultiObjectiveKnapsack.random(100, random_state=1).front is None


def test_random_instances_follow_their_laws() -> None:
    knapsack = MultiObjectiveKnapsack.random(750, 3, random_state=2)
    profits, weights = -knapsack.data.profits, knapsack.data.weights
    for drawn in (profits, weights):
        assert drawn.shape == (750, 3)
        assert (drawn.min(), drawn.max()) == (10, 100)
        assert (drawn == np.round(drawn)).all()
    assert knapsack.data.capacities.tolist() == (weights.sum(axis=0) / 2).tolist()
    assert (
        MultiObjectiveKnapsack.random(750, 3, random_state=2).data.profits.tolist()
        == knapsack.data.profits.tolist()
    )
    cut = MultiObjectiveMaxCut.random_graph(12, 30, 3, weights="sign", random_state=2)
    assert cut.n_terms == len(cut.data.neighbours) // 2 == 30
    assert set(cut.data.weights.ravel().tolist()) == {-1.0, 1.0}
    assert len(np.unique(cut.data.weights, axis=0)) > 2  # the objectives have weights of their own


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OneMaxZeroMax(0), r"n_variables must be an integer of at least 1, got 0"),
        (lambda: TrapInverseTrap(12), r"n_variables must be a multiple of 5, got 12"),
        (lambda: TrapInverseTrap(12, k=1), r"k must be an integer of at least 2, got 1"),
        (lambda: LOTZ(untyped(2.5)), r"n_variables must be an integer of at least 1, got 2.5"),
        (
            lambda: MultiObjectiveMaxCut(3, [[0, 1]], [1]),
            r"weights must have shape \(n_objectives, n_edges\)",
        ),
        (
            lambda: MultiObjectiveMaxCut(3, [[0, 1]], [[1, 2]]),
            r"one number for each of the 1 edges, got shape \(2,\)",
        ),
        (lambda: MultiObjectiveMaxCut(3, [[0, 3]], [[1]]), r"row 0 must be .* got \[0, 3\]"),
        (lambda: MultiObjectiveMaxCut(3, [[0, 1]], [[np.inf]]), r"weights must be finite"),
        (lambda: MultiObjectiveMaxCut.random_graph(4, 7), r"n_edges must be an integer from 0 to 6, got 7"),
        (
            lambda: MultiObjectiveMaxCut.random_graph(4, 2, 0),
            r"n_objectives must be an integer of at least 1",
        ),
        (lambda: MultiObjectiveKnapsack([[1, 2]], [[1]]), r"got \(1, 2\) and \(1, 1\)"),
        (lambda: MultiObjectiveKnapsack([[-1]], [[1]]), r"got the least profit -1"),
        (lambda: MultiObjectiveKnapsack([[1]], [[0]]), r"the least weight 0"),
        (lambda: MultiObjectiveKnapsack([[np.nan]], [[1]]), r"profits must be finite"),
        (lambda: MultiObjectiveKnapsack([[1]], [[1]], [-1]), r"capacities must be 1 numbers"),
        (lambda: MultiObjectiveKnapsack.random(0), r"n_items must be an integer of at least 1, got 0"),
        (lambda: brute_force_front(LOTZ(21)), r"at most 1,048,576 genotypes .* has 2,097,152"),
    ],
)
def test_impossible_problems_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(GomeaBnError, match=message):
        make()
