"""Real-valued GOMEA: whole runs, their limits and their results."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from processor_time import at_most, interrupt_the_next_run

from gomea_bn import (
    RVGOMEA,
    GomeaBnError,
    LinkageTree,
    RealKernelProblem,
    Univariate,
    kernel,
    register_problem,
)
from gomea_bn.linkage.real import Blocks
from gomea_bn.problems import (
    Journal,
    Solution,
    circles_in_a_square,
    rosenbrock,
    set_term,
    soreb,
    soreb_chain,
    sphere,
)
from gomea_bn.runtime import Limits, Progress, Result

Matrix = NDArray[np.float64]


class HalfSpaceData(NamedTuple):
    """A sphere of which only x0 >= bound is feasible."""

    bound: float


@kernel
def half_space(
    data: HalfSpaceData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    solution.objectives[0] = 0.0
    for g in range(solution.terms.shape[0]):
        solution.terms[g] = solution.genotype[g] ** 2
        solution.objectives[0] += solution.terms[g]
    solution.violation[0] = max(0.0, data.bound - solution.genotype[0])
    return len(solution.terms)


@kernel
def half_space_partial(
    data: HalfSpaceData, solution: Solution, journal: Journal, generator: np.random.Generator
) -> int:
    for k in range(journal.counts[0]):
        g = journal.genes[k]
        set_term(solution, journal, g, solution.genotype[g] ** 2)
    solution.objectives[0] = 0.0
    for g in range(solution.terms.shape[0]):
        solution.objectives[0] += solution.terms[g]
    solution.violation[0] = max(0.0, data.bound - solution.genotype[0])
    return int(journal.counts[0])


register_problem(HalfSpaceData, half_space, half_space_partial)


def constrained(n_variables: int, bound: float) -> RealKernelProblem:
    ranges: dict[str, Any] = {"lower": -100.0, "upper": 100.0, "initial_range": (-10.0, 10.0)}
    return RealKernelProblem(HalfSpaceData(bound), n_variables, n_terms=n_variables, **ranges)


def solve(problem: Any, *, seed: int = 0, max_evaluations: int = 300_000, **options: Any) -> Result:
    limits = Limits(max_evaluations=max_evaluations, target=problem.target)
    return RVGOMEA(**options).run(problem, limits, random_state=seed)


@pytest.mark.long
@pytest.mark.parametrize(
    ("problem", "options"),
    [
        (sphere(8), {"linkage": "univariate"}),
        (sphere(8), {}),
        (rosenbrock(6), {"linkage": "interaction-tree"}),
        (soreb(10), {"linkage": Blocks(5)}),
        (soreb_chain(5), {}),
        (soreb_chain(6), {"linkage": "full"}),
        (circles_in_a_square(4), {"linkage": Blocks(2)}),
    ],
)
def test_known_optima_are_found(problem: RealKernelProblem, options: dict[str, Any]) -> None:
    result = solve(problem, **options)
    assert result.stopped_by == "target"
    assert problem.target is not None
    assert result.F[0] <= problem.target
    assert result.history[-1].objective == result.F[0]
    assert result.history[-1].n_eval == result.n_eval
    assert 0 < result.n_eval_full <= result.n_eval
    objectives = [entry.objective for entry in result.history]
    assert objectives == sorted(objectives, reverse=True)


@pytest.mark.long
@pytest.mark.parametrize(
    ("n_variables", "initial_range"), [(10, (-115.0, -100.0)), (10, (0.0, 1.0)), (20, (0.0, 1.0))]
)
def test_the_overlapping_chain_is_solved_with_learned_linkage(
    n_variables: int, initial_range: tuple[float, float]
) -> None:
    problem = soreb_chain(n_variables, initial_range=initial_range)
    solved = [solve(problem, seed=seed, max_evaluations=6_000_000) for seed in range(5)]
    assert [result.stopped_by for result in solved] == ["target"] * 5


@pytest.mark.long
def test_evaluations_stay_near_the_published_code() -> None:
    # median full evaluations of the authors' program on the same sizes, times 1.5
    for problem, linkage, most in (
        (sphere(40), Univariate(), 1.5 * 679),
        (sphere(40), LinkageTree(), 1.5 * 5_200),
        (rosenbrock(20), Univariate(), 1.5 * 39_000),
        (soreb(20), Blocks(5), 1.5 * 65_000),
        (soreb(10), LinkageTree(), 1.5 * 670_000),
    ):
        runs = [solve(problem, seed=s, max_evaluations=10_000_000, linkage=linkage) for s in range(7)]
        assert np.median([run.n_eval_full for run in runs]) <= most


def test_nothing_leaves_the_bounds() -> None:
    # the optimum (1, 2, 3, -1) lies in a corner, so that most draws fall outside
    lower = np.array([1.0, 2.0, 3.0, -5.0])
    problem = sphere(4, initial_range=(lower, lower + 1), lower=lower, upper=lower + 4)
    seen: list[Matrix] = []

    def note(progress: Progress) -> None:
        seen.append(np.array([progress.best]))

    result = RVGOMEA().run(problem, Limits(max_evaluations=30_000), random_state=1, callback=note)
    assert bool(np.all(lower <= result.X))
    assert bool(np.all(lower + 4 >= result.X))
    assert result.F[0] == pytest.approx(15.0, abs=1e-3)
    assert min(float(best[0]) for best in seen) >= 15.0


@pytest.mark.long
def test_the_best_is_feasible_and_on_the_constraint() -> None:
    problem = constrained(4, 2.0)
    result = RVGOMEA().run(problem, Limits(max_evaluations=60_000), random_state=2)
    assert result.extra["violation"] == 0.0
    assert result.X[0] >= 2.0
    assert result.F[0] == pytest.approx(4.0, abs=1e-3)
    # infeasible solutions of a good objective never meet a target
    limits = Limits(max_evaluations=5_000, target=3.9)
    assert RVGOMEA().run(problem, limits, random_state=2).stopped_by == "max_evaluations"
    unreachable = RVGOMEA().run(constrained(2, 1e9), Limits(max_evaluations=2_000), random_state=2)
    assert unreachable.extra["violation"] > 0
    assert unreachable.X[0] > 10.0


@pytest.mark.parametrize("linkage", ["tree", "univariate"])
def test_the_same_seed_gives_the_same_run(linkage: str) -> None:
    problem, limits = rosenbrock(6), Limits(max_evaluations=20_000)
    runs = [RVGOMEA(linkage=linkage).run(problem, limits, random_state=seed) for seed in (5, 5, 6)]
    np.testing.assert_array_equal(runs[0].X, runs[1].X)
    assert runs[0].F[0] == runs[1].F[0]
    assert runs[0].n_eval_full == runs[1].n_eval_full
    assert [e.n_eval for e in runs[0].history] == [e.n_eval for e in runs[1].history]
    assert not np.array_equal(runs[0].X, runs[2].X)
    sequence = np.random.SeedSequence(5)
    for _ in range(2):
        np.testing.assert_array_equal(
            RVGOMEA(linkage=linkage).run(problem, limits, random_state=sequence).X, runs[0].X
        )


def test_limits_hold() -> None:
    problem = rosenbrock(10)
    for n_eval in (1, 7, 1234):
        result = RVGOMEA().run(problem, Limits(max_evaluations=n_eval), random_state=0)
        assert (result.n_eval, result.stopped_by) == (n_eval, "max_evaluations")
        assert np.isfinite(result.F[0])
    result = RVGOMEA().run(problem, Limits(max_generations=13), random_state=0)
    assert (result.n_generations, result.stopped_by) == (13, "max_generations")
    with at_most(1.0):
        result = RVGOMEA(linkage="full").run(problem, Limits(max_seconds=0.3), random_state=0)
    assert result.stopped_by == "max_seconds"
    result = RVGOMEA().run(sphere(1), Limits(patience=2.0), random_state=0)
    assert result.stopped_by == "patience"
    result = RVGOMEA(max_population_size=10).run(
        sphere(2), Limits(max_evaluations=10_000_000), random_state=0
    )
    assert result.stopped_by == "max_population_size"


def test_a_callback_stops_and_sees_the_schedule() -> None:
    seen: list[Progress] = []

    def stop_late(progress: Progress) -> bool:
        seen.append(progress)
        return progress.n_generations == 30

    result = RVGOMEA().run(
        rosenbrock(10), Limits(max_evaluations=10_000_000), random_state=0, callback=stop_late
    )
    assert result.stopped_by == "callback"
    assert [p.n_generations for p in seen] == list(range(1, 31))
    # creation counts as a generation of the run; the second population follows eight of the first
    assert seen[8].population_sizes == (10,)
    assert seen[9].population_sizes == (10, 20)
    assert seen[9].population_generations == (8, 0)
    assert seen[10].population_generations == (8, 1)
    assert seen[11].population_generations == (9, 1)


def test_an_interrupt_returns_the_best_so_far() -> None:
    problem = soreb_chain(30)
    interrupt_the_next_run()
    result = RVGOMEA().run(problem, Limits(max_seconds=120), random_state=0)
    assert result.stopped_by == "interrupt"
    assert np.isfinite(result.F[0])


def test_initial_solutions_are_used_and_checked() -> None:
    problem = sphere(5, lower=-200.0, upper=200.0)
    start = np.full((1, 5), 0.001)
    result = RVGOMEA().run(problem, Limits(max_evaluations=1), random_state=0, initial=start)
    np.testing.assert_array_equal(result.X, start[0])
    wrong = np.array([[0.0, 0.0, 900.0, 0.0, 0.0]])
    with pytest.raises(GomeaBnError, match=r"row 0 has 900.0 for variable 2, outside its bounds"):
        RVGOMEA().run(problem, Limits(max_evaluations=1), initial=wrong)
    with pytest.raises(GomeaBnError, match=r"shape \(k, 5\)"):
        RVGOMEA().run(problem, Limits(max_evaluations=1), initial=np.zeros((1, 4)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"selection": 0.0}, "selection must be a finite number above 0 and at most 1, got 0.0"),
        ({"base_population": 2}, "base_population must be an integer of at least 3"),
        ({"max_population_size": 5}, "at least base_population"),
        ({"linkage": "nmi"}, "linkage must be one of"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(GomeaBnError, match=message):
        RVGOMEA(**options)
