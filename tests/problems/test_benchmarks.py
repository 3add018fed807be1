"""Benchmark functions: their definitions, partial evaluation, known optima, and that GOMEA finds them."""

import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from search_examples import journal_of, unevaluated
from wrong_input import untyped

from gomea_bn import GOMEA, GomeaBnError, KernelProblem
from gomea_bn.problems import (
    HIFF,
    BimodalTrap,
    IsingSpinGlass,
    MaxCut,
    NKLandscape,
    OneMax,
    Trap,
    Unitation,
    evaluate,
    evaluate_partial,
    set_gene,
    undo,
)
from gomea_bn.runtime import Limits

RING = [[0, 1], [1, 2], [2, 3], [3, 0]]


def small_problems(seed: int) -> list[KernelProblem]:
    """One of each, with weights that are no whole numbers where that is allowed."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 6))
    return [
        OneMax(11),
        Trap(20, k=4),
        BimodalTrap(18),
        Unitation(12, rng.normal(size=4) / 3),
        NKLandscape(k + int(rng.integers(0, 14)), k, random_state=seed),
        NKLandscape(9, 3, tables=rng.normal(size=(7, 8)) * 1e6),
        MaxCut.torus(4, weights="uniform", random_state=seed),
        MaxCut.random_graph(12, int(rng.integers(0, 67)), weights="uniform", random_state=seed),
        MaxCut(5, [[0, 1], [1, 0], [3, 1]], [0.1, 0.2, -0.7]),  # two edges between the same vertices
        IsingSpinGlass(4, random_state=seed),
        HIFF(16),
        HIFF(1),
    ]


def full(problem: KernelProblem, genotype: Any) -> tuple[float, int]:
    """Objective and touched terms of a whole evaluation."""
    solution = unevaluated(problem)
    solution.genotype[:] = genotype
    rng = np.random.default_rng(0)
    touched = evaluate(problem.data, solution, journal_of(problem), rng)
    assert solution.violation[0] == 0
    assert (solution.genotype == genotype).all()
    return float(solution.objectives[0]), touched


def every_genotype(n: int) -> NDArray[np.int16]:
    return np.array(list(itertools.product((0, 1), repeat=n)), np.int16)


def scopes(problem: KernelProblem) -> list[frozenset[int]]:
    """The genes of every sub-function."""
    n = problem.n_variables
    if isinstance(problem, Unitation):
        k = problem.block_size
        return [frozenset(range(b, b + k)) for b in range(0, n, k)]
    if isinstance(problem, NKLandscape):
        return [frozenset(range(w, w + problem.k)) for w in range(n - problem.k + 1)]
    if isinstance(problem, HIFF):
        sizes = [1 << level for level in range(n.bit_length())]
        return [frozenset(range(b, b + size)) for size in sizes for b in range(0, n, size)]
    assert isinstance(problem, (MaxCut, IsingSpinGlass))
    data = problem.data
    return [
        frozenset((g, int(h)))
        for g in range(n)
        for h in data.neighbours[data.starts[g] : data.starts[g + 1]]
        if h < g
    ]


def test_trap_values() -> None:
    assert [full(Trap(5), [1] * u + [0] * (5 - u))[0] for u in range(6)] == [-4, -3, -2, -1, 0, -5]
    assert [full(BimodalTrap(6), [0] * (6 - u) + [1] * u)[0] for u in range(7)] == [-6, 0, -2, -5, -2, 0, -6]
    assert full(Trap(10), [1] * 5 + [0, 1, 0, 0, 0]) == (-5 - 3, 2)
    assert full(OneMax(4), [1, 0, 1, 1]) == (-3, 4)


@pytest.mark.long
@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_objectives_equal_their_definitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2, 16)
    nk = NKLandscape(16, 5, random_state=seed)
    windows = [nk.tables[w, int("".join(map(str, x[w : w + 5])), 2)] for w in range(12)]
    assert full(nk, x) == (-sum(windows), 12)
    assert nk.tables == pytest.approx(np.random.default_rng(seed).random((12, 32)), abs=1e-12)

    edges = [(i, j) for i, j in itertools.combinations(range(16), 2) if rng.random() < 0.3]
    weights = rng.normal(size=len(edges))
    cut = sum(w for (i, j), w in zip(edges, weights, strict=True) if x[i] != x[j])
    objective, touched = full(MaxCut(16, np.array(edges).reshape(-1, 2), weights), x)
    assert objective == pytest.approx(-cut, abs=1e-12)
    assert touched == len(edges)

    glass = IsingSpinGlass(4, random_state=seed)
    spins = (2 * x - 1).reshape(4, 4)
    right, below = glass.couplings.reshape(2, 4, 4)
    energy = -(right * spins * np.roll(spins, -1, 1) + below * spins * np.roll(spins, -1, 0)).sum()
    assert full(glass, x) == (energy, 32)

    blocks = [x[b : b + size] for size in (1, 2, 4, 8, 16) for b in range(0, 16, size)]
    assert full(HIFF(16), x) == (-sum(len(b) for b in blocks if len(set(b)) == 1), 31)


@pytest.mark.long
@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_partial_evaluation_equals_a_whole_one_to_the_last_bit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for problem in small_problems(seed):
        solution, journal, terms = unevaluated(problem), journal_of(problem), scopes(problem)
        solution.genotype[:] = rng.integers(0, 2, problem.n_variables)
        evaluate(problem.data, solution, journal, rng)
        for _ in range(12):
            former = (solution.genotype.copy(), solution.aux.copy(), solution.objectives[0])
            size = min(problem.n_variables, int(rng.choice([1, 2, 5, problem.n_variables])))
            flipped = rng.permutation(problem.n_variables)[:size]
            for gene in flipped.tolist():
                set_gene(solution, journal, gene, 1 - solution.genotype[gene])
            changed = solution.genotype.copy()
            touched = evaluate_partial(problem.data, solution, journal, rng)
            assert (solution.genotype == changed).all()
            assert solution.objectives[0] == full(problem, changed)[0]
            affected = sum(1 for term in terms if not term.isdisjoint(flipped.tolist()))
            assert touched == affected if not isinstance(problem, HIFF) else touched <= affected
            if rng.random() < 0.5:
                undo(solution, journal)
                solution.objectives[0] = former[2]
                assert (solution.genotype == former[0]).all()
                assert (solution.aux == former[1]).all()
            journal.counts[:] = 0


def test_the_journal_is_long_enough_for_every_step_of_the_hierarchy() -> None:
    problem = HIFF(256)
    rng = np.random.default_rng(0)
    solution, journal = unevaluated(problem), journal_of(problem)
    evaluate(problem.data, solution, journal, rng)
    for gene in rng.permutation(256).tolist():
        set_gene(solution, journal, gene, 1)
    assert evaluate_partial(problem.data, solution, journal, rng) == 511
    assert solution.objectives[0] == problem.target
    assert journal.counts[2] == 511 < len(journal.aux)


def test_equal_genotypes_have_equal_objectives_after_a_long_walk() -> None:
    problem = NKLandscape(60, 5, random_state=3)
    rng = np.random.default_rng(1)
    solution, journal = unevaluated(problem), journal_of(problem)
    evaluate(problem.data, solution, journal, rng)
    for gene in rng.integers(0, 60, 20_000).tolist():
        set_gene(solution, journal, gene, 1 - solution.genotype[gene])
        evaluate_partial(problem.data, solution, journal, rng)
        journal.counts[:] = 0
    assert solution.objectives[0] == full(problem, solution.genotype)[0]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "make",
    [
        lambda seed: OneMax(8),
        lambda seed: Trap(10),
        lambda seed: BimodalTrap(12),
        lambda seed: Unitation(9, np.random.default_rng(seed).normal(size=4)),
        lambda seed: NKLandscape(11, 1 + seed, random_state=seed),
        lambda seed: NKLandscape(10, 3, tables=np.random.default_rng(seed).normal(size=(8, 8))),
        lambda seed: MaxCut.random_graph(10, 20, weights="sign", random_state=seed),
        lambda seed: MaxCut.random_graph(10, 30, weights="uniform", random_state=seed),
        lambda seed: MaxCut.torus(3, weights="sign", random_state=seed),
        lambda seed: IsingSpinGlass(3, random_state=seed),
        lambda seed: HIFF(8),
    ],
)
@pytest.mark.parametrize("seed", range(4))
def test_targets_are_the_optima(make: Callable[[int], KernelProblem], seed: int) -> None:
    problem = make(seed)
    values = [full(problem, x)[0] for x in every_genotype(problem.n_variables)]
    assert min(values) == problem.target


def test_known_ground_states() -> None:
    ferromagnet = IsingSpinGlass(4, couplings=np.ones(32))
    assert ferromagnet.target == -32
    assert MaxCut(4, RING).target == -4
    assert MaxCut(3, [*RING[:2], [2, 0]]).target == -2
    assert MaxCut.torus(6).target is None  # too many vertices to enumerate
    assert MaxCut(26, RING, target=-4.0).target == -4


@pytest.mark.parametrize("seed", range(5))
def test_interactions_are_the_pairs_that_share_a_sub_function(seed: int) -> None:
    for problem in small_problems(seed):
        shared: Counter[tuple[int, int]] = Counter()
        for scope in scopes(problem):
            shared.update(itertools.combinations(sorted(scope), 2))
        graph: Any = problem
        assert [tuple(pair) for pair in graph.interactions.tolist()] == sorted(shared)
        assert graph.interaction_weights.tolist() == [shared[pair] for pair in sorted(shared)]


@pytest.mark.long
@pytest.mark.parametrize(
    "problem",
    [
        OneMax(100),
        Trap(50),
        Trap(49, k=7),
        BimodalTrap(60),
        NKLandscape(60, 5, random_state=1),
        MaxCut.torus(5, weights="uniform", random_state=1),
        MaxCut.random_graph(20, 60, random_state=2),
        IsingSpinGlass(5, random_state=3),
        HIFF(64),
    ],
    ids=lambda p: f"{type(p).__name__}-{p.n_variables}",
)
def test_gomea_finds_the_optimum(problem: KernelProblem) -> None:
    limits = Limits(target=problem.target, max_evaluations=1_000_000)
    result = GOMEA(linkage="tree-mi", local_search=False).run(problem, limits, random_state=1)
    assert result.stopped_by == "target"
    assert result.F[0] == problem.target == full(problem, result.X)[0]
    assert result.n_eval_full < result.n_eval


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Trap(12), r"n_variables must be a multiple of 5, got 12"),
        (lambda: Trap(12, k=1), r"k must be an integer of at least 2, got 1"),
        (lambda: OneMax(0), r"n_variables must be an integer of at least 1, got 0"),
        (lambda: OneMax(untyped(2.0)), r"n_variables must be an integer of at least 1, got 2.0"),
        (lambda: Unitation(4, [1]), r"values must be at least 2 numbers"),
        (lambda: Unitation(4, [0, np.inf]), r"values must be finite"),
        (lambda: HIFF(12), r"n_variables must be a power of two, got 12"),
        (lambda: NKLandscape(4, 5), r"n_variables must be an integer of at least 5, got 4"),
        (lambda: NKLandscape(40, 21), r"k must be an integer from 1 to 20, got 21"),
        (lambda: NKLandscape(4, 2, tables=np.zeros((4, 4))), r"shape \(3, 4\), got \(4, 4\)"),
        (lambda: MaxCut(3, [[0, 3]]), r"row 0 must be two different vertices from 0 to 2, got \[0, 3\]"),
        (lambda: MaxCut(3, [[0, 1], [1, 1]]), r"row 1 must be .* got \[1, 1\]"),
        (lambda: MaxCut(3, [[0, 1]], [1, 2]), r"one number for each of the 1 edges"),
        (lambda: MaxCut(3, [0, 1]), r"edges must be integers of shape \(n_edges, 2\)"),
        (lambda: MaxCut.torus(2), r"side must be an integer of at least 3, got 2"),
        (lambda: MaxCut.torus(3, weights="one"), r"weights must be one of 'sign', 'uniform', got 'one'"),
        (lambda: MaxCut.random_graph(4, 7), r"n_edges must be an integer from 0 to 6, got 7"),
        (lambda: IsingSpinGlass(3, couplings=[1] * 17), r"couplings must be 18 numbers"),
        (lambda: IsingSpinGlass(3, couplings=[2] * 18), r"couplings must be 18 numbers, each -1 or 1"),
    ],
)
def test_impossible_problems_are_refused(make: Callable[[], KernelProblem], message: str) -> None:
    with pytest.raises(GomeaBnError, match=message):
        make()
