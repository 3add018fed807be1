"""Continuous benchmark functions: definitions, known optima, partial evaluation against full evaluation."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import rosen
from search_examples import journal_of, unevaluated
from wrong_input import untyped

from gomea_bn import GomeaBnError, RealKernelProblem
from gomea_bn.problems import (
    Solution,
    circles_in_a_square,
    evaluate,
    evaluate_partial,
    rosenbrock,
    set_gene,
    soreb,
    soreb_chain,
    sphere,
    undo,
)

Vector = NDArray[np.float64]


def slow_sphere(x: Vector) -> float:
    return float(sum(value**2 for value in x))


def slow_soreb(x: Vector, size: int, stride: int) -> float:
    """Rotate every window by -45 degrees in one plane after another, then weigh the squares."""
    total = 0.0
    for first in range(0, len(x) - size + 1, stride):
        y = [float(v) for v in x[first : first + size]]
        for i, j in itertools.combinations(range(size), 2):
            y[i], y[j] = (y[i] + y[j]) / 2**0.5, (y[j] - y[i]) / 2**0.5
        total += sum(10.0 ** (6.0 * k / (size - 1)) * v**2 for k, v in enumerate(y))
    return total


def slow_circles(x: Vector) -> float:
    points = x.reshape(-1, 2)
    return -min(float(np.hypot(*(p - q))) for p, q in itertools.combinations(points, 2))


PROBLEMS: dict[str, tuple[RealKernelProblem, Callable[[Vector], float]]] = {
    "sphere": (sphere(7), slow_sphere),
    "rosenbrock": (rosenbrock(7), lambda x: float(rosen(x))),
    "blocks": (soreb(15), lambda x: slow_soreb(x, 5, 5)),
    "overlapping": (soreb(9, block_size=5, stride=2), lambda x: slow_soreb(x, 5, 2)),
    "chain": (soreb_chain(8), lambda x: slow_soreb(x, 2, 1)),
    "circles": (circles_in_a_square(6), slow_circles),
}


def evaluated(problem: RealKernelProblem, x: Vector) -> Solution:
    solution = unevaluated(problem, x)
    journal = journal_of(problem)
    touched = evaluate(problem.kernel_data(1)[0], solution, journal, np.random.default_rng(0))
    assert touched == problem.n_terms
    return solution


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", PROBLEMS)
def test_values_equal_the_definition(name: str) -> None:
    problem, slow = PROBLEMS[name]
    rng = np.random.default_rng(1)
    for scale in (0.1, 1.0, 100.0):
        x = scale * rng.standard_normal(problem.n_variables)
        solution = evaluated(problem, x)
        assert solution.objectives[0] == pytest.approx(slow(x), rel=1e-9)
        assert solution.violation[0] == 0.0


def test_the_chain_is_the_overlapping_chain_of_the_published_library() -> None:
    # the `gomea` package prints 6 where four variables are all 1
    assert evaluated(soreb_chain(4), np.ones(4)).objectives[0] == pytest.approx(6.0)
    assert evaluated(soreb_chain(2), np.array([0.0, 1.0])).objectives[0] == pytest.approx((1 + 1e6) / 2)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", PROBLEMS)
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1))
def test_partial_equals_full_evaluation_along_random_steps(name: str, seed: int) -> None:
    problem, slow = PROBLEMS[name]
    rng = np.random.default_rng(seed)
    solution = evaluated(problem, rng.random(problem.n_variables))
    journal = journal_of(problem)
    data = problem.kernel_data(1)[0]
    for _ in range(12):
        before = solution.genotype.copy(), solution.terms.copy(), solution.objectives.copy()
        n_changed = int(rng.integers(1, problem.n_variables + 1))
        for g in rng.permutation(problem.n_variables)[:n_changed].tolist():
            set_gene(solution, journal, g, untyped(rng.random()))
        touched = evaluate_partial(data, solution, journal, rng)
        whole = evaluated(problem, np.asarray(solution.genotype, np.float64))
        assert 0 < touched <= problem.n_terms
        assert touched >= int((whole.terms != before[1]).sum())
        np.testing.assert_array_equal(solution.terms, whole.terms)
        assert solution.objectives[0] == pytest.approx(slow(np.asarray(solution.genotype)), rel=1e-9)
        if rng.random() < 0.5:
            undo(solution, journal)
            solution.objectives[:] = before[2]
            np.testing.assert_array_equal(solution.genotype, before[0])
            np.testing.assert_array_equal(solution.terms, before[1])
        journal.counts[:] = 0
    evaluate_partial(data, solution, journal, rng)
    whole = evaluated(problem, np.asarray(solution.genotype, np.float64))
    assert solution.objectives[0] == whole.objectives[0]


@pytest.mark.parametrize(
    ("name", "variable", "expected"),
    [
        ("sphere", 3, 1),
        ("rosenbrock", 0, 1),
        ("rosenbrock", 3, 2),
        ("blocks", 7, 1),
        ("overlapping", 4, 3),
        ("chain", 7, 1),
        ("chain", 2, 2),
        ("circles", 5, 5),
    ],
)
def test_a_step_touches_the_terms_that_hold_its_variable(name: str, variable: int, expected: int) -> None:
    problem, _ = PROBLEMS[name]
    rng = np.random.default_rng(2)
    solution = evaluated(problem, rng.random(problem.n_variables))
    journal = journal_of(problem)
    set_gene(solution, journal, variable, untyped(0.5))
    assert evaluate_partial(problem.kernel_data(1)[0], solution, journal, rng) == expected


def test_known_optima() -> None:
    for name, optimum in (("sphere", 0.0), ("rosenbrock", 1.0), ("blocks", 0.0), ("chain", 0.0)):
        problem, _ = PROBLEMS[name]
        assert problem.target is not None
        best = evaluated(problem, np.full(problem.n_variables, optimum)).objectives[0]
        assert best == 0.0
        assert best <= problem.target
        rng = np.random.default_rng(3)
        near = evaluated(problem, optimum + 1e-3 * rng.standard_normal(problem.n_variables))
        assert near.objectives[0] > problem.target


@pytest.mark.parametrize(
    ("points", "distance"),
    [
        ([(0, 0), (1, 1)], 1.414214),
        ([(0, 0), (0, 1), (1, 0), (1, 1)], 1.0),
        ([(0, 0), (0, 1), (1, 0), (1, 1), (0.5, 0.5)], 0.707107),
        ([(a, b) for a in (0, 0.5, 1) for b in (0, 0.5, 1)], 0.5),
    ],
)
def test_known_packings_meet_the_target(points: list[tuple[float, float]], distance: float) -> None:
    problem = circles_in_a_square(len(points))
    radius = evaluated(problem, np.array(points, np.float64).ravel()).objectives[0]
    assert -radius == pytest.approx(distance, abs=1e-6)
    assert problem.target is not None
    assert radius <= problem.target <= radius + 2e-5


def test_interactions_are_the_pairs_that_share_a_term() -> None:
    assert soreb_chain(4).interactions == [(0, 1), (1, 2), (2, 3)]
    assert sphere(3).interactions == []
    assert soreb(6, block_size=3).interactions == [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5)]


def test_samples_fill_the_initial_range() -> None:
    problem = sphere(2, initial_range=([-1.0, 5.0], [1.0, 6.0]), lower=-2.0)
    x = problem.sample(np.random.default_rng(0), 2000)
    assert x.shape == (2000, 2)
    np.testing.assert_allclose(x.min(axis=0), [-1, 5], atol=0.01)
    np.testing.assert_allclose(x.max(axis=0), [1, 6], atol=0.01)


def test_what_cannot_be_built_is_refused() -> None:
    with pytest.raises(GomeaBnError, match="do not cover 12 variables"):
        soreb(12)
    with pytest.raises(GomeaBnError, match="Were they swapped"):
        sphere(3, initial_range=(1.0, -1.0))
    with pytest.raises(GomeaBnError, match=r"variable 0 is .*outside its bounds"):
        sphere(3, initial_range=(-5.0, 5.0), lower=-1.0)
    with pytest.raises(GomeaBnError, match="needs a finite initial range"):
        RealKernelProblem(None, 2)
    with pytest.raises(GomeaBnError, match="lower must be a number or have shape"):
        sphere(3, lower=[0.0, 0.0])
    with pytest.raises(GomeaBnError, match="upper must be a number, got NaN for variable 1"):
        sphere(3, upper=[0.0, np.nan, 0.0])
    with pytest.raises(GomeaBnError, match="at least 2"):
        rosenbrock(1)
    with pytest.raises(GomeaBnError, match="at least 2"):
        circles_in_a_square(1)
    with pytest.raises(GomeaBnError, match="n_variables"):
        sphere(0)
