"""Discrete next to real variables: linkage and means against plain Python, searches against brute force."""

import itertools
import math
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles import slow_similarity

from gomea_bn import RVGOMEA, Custom, GomeaBnError, RealKernelProblem, optimise
from gomea_bn.algorithms.mixed import MixedVariables
from gomea_bn.linkage import from_subsets
from gomea_bn.linkage.real import gaussian_similarities
from gomea_bn.problems.kernels.continuous import SQUARE, WindowsData


def solutions_of(seed: int, n: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Two genes and two numbers in turn; the first number follows the first gene."""
    rng = np.random.default_rng(seed)
    alphabet = np.array([rng.integers(1, 5), 0, rng.integers(1, 5), 0])
    rows = rng.normal(size=(n, 4))
    for g in (0, 2):
        rows[:, g] = rng.integers(0, alphabet[g], n)
    rows[:, 1] += rng.integers(0, 9) * rows[:, 0]
    return rows, alphabet


def slow_information(x: list[float], y: list[float]) -> float:
    """-ln(1 - share of the variance of y between the groups of x) / 2, less the excess by chance."""
    groups: dict[float, list[float]] = defaultdict(list)
    for code, value in zip(x, y, strict=True):
        groups[code].append(value)
    mean = math.fsum(y) / len(y)
    total = math.fsum((value - mean) ** 2 for value in y)
    means = {code: math.fsum(values) / len(values) for code, values in groups.items()}
    within = math.fsum((value - means[code]) ** 2 for code, value in zip(x, y, strict=True))
    return 0.5 * math.log(total / within) - max(len(groups) - 2, 0) / (2 * len(y))


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([12, 40]))
def test_linkage_is_learned_from_the_information_of_every_pair(seed: int, n: int) -> None:
    rows, alphabet = solutions_of(seed, n)
    mixed = MixedVariables(alphabet)
    covariance = np.cov(rows.T, bias=True)
    learned = gaussian_similarities(mixed.covariance(mixed.groups(rows), covariance))
    columns: list[list[float]] = rows.T.tolist()
    for g, h in ((0, 1), (0, 3), (2, 1), (2, 3)):
        expected = max(slow_information(columns[g], columns[h]), 0.0)
        assert learned[g, h] == learned[h, g] == pytest.approx(expected, abs=1e-6)
    chance = max((len(set(columns[0])) - 1) * (len(set(columns[2])) - 1) - 1, 0) / (2 * n)
    codes = rows[:, [0, 2]].astype(int).T.tolist()
    expected = max(math.log(2) * slow_similarity(codes[0], codes[1], "mi") - chance, 0.0)
    assert learned[0, 2] == pytest.approx(expected, abs=1e-6)
    assert learned[1, 3] == pytest.approx(gaussian_similarities(covariance)[1, 3], abs=1e-12)


def test_a_real_variable_follows_the_discrete_one_that_tells_most_about_it() -> None:
    rng = np.random.default_rng(1)
    rows = np.column_stack([rng.integers(0, 3, 60), rng.integers(0, 2, 60), rng.normal(size=(60, 2))])
    rows[:, 2] += np.array([0.0, 9.0, -4.0])[rows[:, 0].astype(int)]
    mixed = MixedVariables(np.array([4, 2, 0, 0]))
    new = np.array([[0.0, 1, 0, 0], [2, 0, 0, 0], [3, 0, 0, 0]])
    offsets = mixed.offsets(mixed.groups(rows), new)
    mean = rows[:, 2].mean()
    of_groups = [rows[rows[:, 0] == value, 2].mean() - mean for value in (0, 2)]
    np.testing.assert_allclose(offsets[:, 2], [*of_groups, 0.0])
    assert not offsets[:, [0, 1, 3]].any()


def test_subsets_are_exchanged_with_and_without_their_real_variables() -> None:
    mixed = MixedVariables(np.array([2, 2, 2, 0, 0]))
    family = from_subsets([[0], [1], [2], [3], [4], [3, 4], [0, 1], [2, 4], [0, 1, 2, 4], range(5)])
    rows = np.array([[0.0, 0, 1, 0.1, 0.2], [1, 0, 0, 0.3, 0.4]])
    # variable 1 is constant, and all variables at once would copy a solution
    exchanged = mixed.exchanged(family, rows).subsets()
    expected = [{0}, {2}, {0, 2}, {2, 4}, {0, 2, 4}]
    assert sorted(map(sorted, exchanged)) == sorted(map(sorted, expected))
    assert mixed.sampled(family).subsets() == [{3}, {4}, {3, 4}]


def trap(bits: NDArray[np.float64]) -> float:
    """Blocks of five: 0 for ones, otherwise 1 plus the number of ones, which leads to zeros."""
    ones = bits.reshape(-1, 5).sum(axis=1)
    return float(np.where(ones == 5, 0.0, 1.0 + ones).sum())


class TrapAndEllipsoid:
    """Ten bits and three numbers, which add up; counts its calls."""

    n_variables, alphabet, bounds = 13, (2,) * 10 + (0,) * 3, (-4.0, 4.0)
    rotated = np.array([[1.0, 1.0, 0.0], [-5.0, 5.0, 5.0], [0.0, -20.0, 20.0]])
    calls = 0

    def evaluate(self, x: NDArray[np.float64]) -> Any:
        self.calls += 1
        return trap(x[:10]) + float(((self.rotated @ (x[10:] - 1.5)) ** 2).sum())


class TrapAndSphere:
    """Traps and squares as terms."""

    n_variables, alphabet, bounds, n_terms = 14, (2,) * 10 + (0,) * 4, (-4.0, 4.0), 6

    def evaluate(self, x: NDArray[np.float64]) -> Any:
        terms = np.array([trap(x[:5]), trap(x[5:10]), *((x[10:] - 1.5) ** 2)])
        return terms.sum(), 0.0, terms


class PartialTrapAndSphere(TrapAndSphere):
    def evaluate_partial(
        self, x: NDArray[np.float64], changed: NDArray[np.int64], parent_terms: NDArray[np.float64]
    ) -> Any:
        terms = parent_terms.copy()
        for block in {int(g) // 5 for g in changed if g < 10}:
            terms[block] = trap(x[5 * block : 5 * block + 5])
        numbers = changed[changed >= 10]
        terms[numbers - 8] = (x[numbers] - 1.5) ** 2
        return terms.sum(), 0.0, terms


class Dependent:
    """A random cost of every pair of neighbouring values, and an optimum of each number that its value chooses."""

    n_variables, alphabet, bounds = 10, (0, 3) * 5, (-4.0, 4.0)

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.costs = rng.random((4, 3, 3))
        self.optima = rng.uniform(-4, 4, (5, 3))

    def cost(self, values: Any) -> float:
        return float(sum(self.costs[i, values[i], values[i + 1]] for i in range(4)))

    def evaluate(self, x: NDArray[np.float64]) -> float:
        values = x[1::2].astype(int)
        return self.cost(values) + float(((x[::2] - self.optima[np.arange(5), values]) ** 2).sum())


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_additive_parts_are_solved_together(seed: int) -> None:
    result = optimise(TrapAndEllipsoid(), random_state=seed, target=1e-8, max_evaluations=60_000)
    assert result.stopped_by == "target"
    assert result.X[:10].tolist() == [1.0] * 10
    np.testing.assert_allclose(result.X[10:], 1.5, atol=1e-3)


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(4))
def test_numbers_that_depend_on_genes_reach_the_optimum_of_brute_force(seed: int) -> None:
    problem = Dependent(seed)
    best = min(itertools.product(range(3), repeat=5), key=problem.cost)
    result = optimise(problem, random_state=1, max_evaluations=40_000)
    assert result.X[1::2].tolist() == list(best)
    np.testing.assert_allclose(result.X[::2], problem.optima[np.arange(5), best], atol=1e-3)
    assert result.F[0] == problem.evaluate(result.X)


def test_partial_evaluation_gives_the_same_run() -> None:
    runs = [
        optimise(problem(), RVGOMEA(linkage="tree"), random_state=2, max_evaluations=6_000)
        for problem in (TrapAndSphere, PartialTrapAndSphere)
    ]
    np.testing.assert_array_equal(runs[0].X, runs[1].X)
    assert runs[0].n_eval == runs[1].n_eval == runs[0].n_eval_full == 6_000
    assert runs[1].n_eval_full < 0.7 * 6_000
    assert runs[1].F[0] == pytest.approx(TrapAndSphere().evaluate(runs[1].X)[0], abs=1e-12)


@pytest.mark.long
def test_a_compiled_mixed_problem_stays_in_its_alphabet() -> None:
    alphabet = [3, 0, 5, 0]
    squares = WindowsData(SQUARE, 1, 1, np.zeros((0, 0)), np.zeros(5, np.int64))
    problem = RealKernelProblem(
        squares, 4, lower=-2, upper=np.inf, initial_range=(1, 3), alphabet=alphabet, n_terms=4
    )
    rows = problem.sample(np.random.default_rng(1), 200)
    assert [sorted(set(rows[:, g])) for g in (0, 2)] == [[0, 1, 2], [0, 1, 2, 3, 4]]
    assert ((rows[:, 1::2] >= 1) & (rows[:, 1::2] <= 3)).all()
    result = optimise(problem, random_state=1, target=1e-10, max_evaluations=20_000)
    assert result.stopped_by == "target"
    assert result.X[::2].tolist() == [0.0, 0.0]


@pytest.mark.sample(1)
@pytest.mark.parametrize("linkage", ["tree", "full", "univariate", Custom([[0, 1, 10], [11, 12]])])
def test_python_is_called_as_often_as_counted_and_a_seed_repeats_the_run(linkage: Any) -> None:
    runs = []
    for _ in range(2):
        problem = TrapAndEllipsoid()
        runs.append(
            optimise(problem, RVGOMEA(linkage=linkage), random_state=4, max_evaluations=3_001, cache=False)
        )
        assert runs[-1].n_eval == problem.calls == 3_001
        assert np.isin(runs[-1].X[:10], [0, 1]).all()
    np.testing.assert_array_equal(runs[0].X, runs[1].X)
    assert [h.objective for h in runs[0].history] == [h.objective for h in runs[1].history]
    assert runs[0].F[0] == min(h.objective for h in runs[0].history)


def test_a_target_ends_the_search_at_the_evaluation_that_meets_it() -> None:
    problem = TrapAndEllipsoid()
    result = optimise(problem, random_state=1, target=8.0, max_evaluations=60_000, cache=False)
    assert result.F[0] <= 8.0
    assert result.stopped_by == "target"
    assert result.n_eval == problem.calls
    before = optimise(TrapAndEllipsoid(), random_state=1, max_evaluations=result.n_eval - 1)
    assert before.F[0] > 8.0


def test_callbacks_stop_and_initial_solutions_are_used() -> None:
    best = np.array([1.0] * 10 + [1.5] * 3)
    result = optimise(
        TrapAndEllipsoid(),
        random_state=1,
        initial=[best],
        max_evaluations=5_000,
        callback=lambda progress: progress.n_generations == 3,
    )
    assert (result.stopped_by, result.n_generations, float(result.F[0])) == ("callback", 3, 0.0)


class Sampled(TrapAndEllipsoid):
    def sample(self, generator: np.random.Generator, n: int) -> NDArray[np.float64]:
        return np.full((n, 13), 0.5)


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"alphabet": 2}, {}, r"must be 13 integers, .* or 0 if it is real, got 2"),
        ({"alphabet": [2, 0]}, {}, r"must be 13 integers, .* got \[2, 0\]"),
        ({"alphabet": [2] * 13}, {}, "has no real variable; leave out bounds"),
        ({"alphabet": [0] * 13}, {}, "has no discrete variable; leave out alphabet"),
        ({"alphabet": [-2] + [0] * 12}, {}, "cardinalities must be from 1 to 32767, got -2 for gene 0"),
        (
            {},
            {"initial": [[0.5] * 13]},
            "row 0 has 0.5 for variable 0, which must be a whole number from 0 to 1",
        ),
        (
            {},
            {"initial": [[0.0] * 12 + [9]]},
            r"row 0 has 9.0 for variable 12, outside its bounds \[-4.0, 4.0\]",
        ),
        (
            {"n_objectives": 2},
            {"algorithm": RVGOMEA()},
            "algorithm must be a MOGOMEA for 2 objectives",
        ),
        ({}, {"algorithm": RVGOMEA(linkage=Custom([[0, 1]]))}, "no subset has a real variable"),
    ],
)
def test_mistakes_are_named(changes: dict[str, Any], options: dict[str, Any], message: str) -> None:
    problem = TrapAndEllipsoid()
    for name, value in changes.items():
        setattr(problem, name, value)
    with pytest.raises(GomeaBnError, match=message):
        optimise(problem, random_state=1, max_evaluations=100, **options)


def test_own_samples_must_have_whole_numbers() -> None:
    with pytest.raises(GomeaBnError, match=r"whole numbers for discrete variables, got .* in row 0"):
        optimise(Sampled(), random_state=1, max_evaluations=100)
