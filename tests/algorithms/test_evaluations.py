"""Evaluations in Python: by the caller, together, in other processes, repeated ones, and those that fail."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from compiled_example import PythonTrap, compiled_trap
from numpy.typing import NDArray
from wrong_input import untyped

from gomea_bn import GOMEA, MOGOMEA, RVGOMEA, Checkpoint, GomeaBnError, optimise
from gomea_bn.algorithms.ask_tell import AskedRun
from gomea_bn.runtime import Result


class Bits:
    """Two blocks of a deceptive trap of five bits, without an evaluation."""

    n_variables, alphabet = 20, 2

    def value(self, x: NDArray[Any]) -> float:
        return PythonTrap(4).evaluate(x)


class Leading:
    """Leading ones against trailing zeros."""

    n_variables, alphabet, n_objectives = 12, 2, 2

    def value(self, x: NDArray[Any]) -> list[float]:
        ones = int(np.append(x, 0).argmin())
        zeros = int(np.append(x[::-1], 1).argmax())
        return [-float(ones), -float(zeros)]


class Valley:
    n_variables, bounds = 4, (-3.0, 3.0)

    def value(self, x: NDArray[Any]) -> float:
        return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())


class Mixed:
    n_variables, alphabet, bounds = 6, [3, 3, 3, 0, 0, 0], (0.0, 4.0)

    def value(self, x: NDArray[Any]) -> float:
        return float(((x[3:] - x[:3]) ** 2).sum() + x[:3].sum())


class Squares:
    n_variables, alphabet, bounds, n_objectives = 4, (3, 0, 0, 0), (-2.0, 2.0), 2

    def value(self, x: NDArray[Any]) -> list[float]:
        return [float(((x - end) ** 2).sum()) for end in (0.0, 1.0)]


KINDS = [
    (Squares, MOGOMEA()),
    (Bits, GOMEA()),
    (Bits, GOMEA(local_search=True, elite_update="immediate")),
    (Leading, MOGOMEA()),
    (Valley, RVGOMEA()),
    (Valley, RVGOMEA(linkage="univariate")),
    (Mixed, RVGOMEA()),
]


def evaluated(problem: Any, **more: Any) -> Any:
    """Return the problem with its `value` as ``evaluate``."""

    class Evaluated(type(problem)):  # type: ignore[misc]
        def evaluate(self, x: NDArray[Any]) -> Any:
            return self.value(x)

    made = Evaluated()
    for name, value in more.items():
        setattr(made, name, value)
    return made


def answered(run: AskedRun, problem: Any) -> tuple[Result, list[NDArray[Any]]]:
    """Answer all that a search asks for; return its result and what it has asked for."""
    rounds = []
    while not run.should_stop():
        solutions = run.ask()
        rounds.append(solutions)
        run.tell([problem.value(x) for x in solutions])
    return run.result(), rounds


def same(first: Result, second: Result) -> None:
    np.testing.assert_array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.F, second.F)
    assert (first.n_eval, first.n_generations) == (second.n_eval, second.n_generations)


@pytest.mark.parametrize(("kind", "settings"), KINDS)
def test_asking_and_telling_is_the_same_search_as_optimising(kind: Any, settings: Any) -> None:
    result, rounds = answered(settings.start(kind(), random_state=3, max_generations=24), kind())
    same(result, optimise(evaluated(kind()), settings, random_state=3, max_generations=24))
    shared = optimise(
        evaluated(kind()), settings, random_state=3, max_generations=24, map=ThreadPoolExecutor(3)
    )
    same(result, shared)
    assert all(len(solutions) for solutions in rounds)
    if settings not in (GOMEA(local_search=True, elite_update="immediate"),):
        assert max(map(len, rounds)) > 4


@pytest.mark.parametrize(("kind", "settings"), KINDS)
def test_no_solution_is_asked_for_twice_and_the_limit_holds(kind: Any, settings: Any) -> None:
    result, rounds = answered(settings.start(kind(), random_state=5, max_evaluations=333), kind())
    asked = np.concatenate(rounds)
    assert len(np.unique(asked, axis=0)) == len(asked) <= 333
    assert result.n_eval == 333
    assert result.stopped_by == "max_evaluations"
    best = min((problem_value for problem_value in map(kind().value, asked)), key=np.min)
    # archives have objectives of 41 bits
    assert np.min(result.F) == pytest.approx(np.min(best), rel=1e-11)


def test_a_search_without_limits_goes_on_until_it_is_left() -> None:
    least = np.inf
    with RVGOMEA().start(Valley(), random_state=1) as run:
        for _ in range(30):
            values = [Valley().value(x) for x in run.ask()]
            run.tell(values)
            least = min(least, *values, np.inf)
            # also in the middle of a generation
            assert run.result().F[0] == least
    assert run.should_stop()
    assert run.result().F[0] == least
    with pytest.raises(GomeaBnError, match="has ended"):
        run.ask()


def test_a_search_that_only_repeats_itself_ends() -> None:
    class Few:
        n_variables, alphabet = 2, 3

        def value(self, x: NDArray[Any]) -> float:
            return float(x @ [3, -1])

    result, rounds = answered(GOMEA().start(Few(), random_state=1), Few())
    assert result.stopped_by == "repeated"
    assert sum(map(len, rounds)) <= 9
    assert result.X.tolist() == [0, 2]


def test_what_is_told_is_checked() -> None:
    run = GOMEA().start(Bits(), random_state=1, max_evaluations=50)
    with pytest.raises(GomeaBnError, match="call ask"):
        run.tell([1.0])
    k = len(run.ask())
    for values, violations, message in (
        ([1.0] * (k + 1), None, f"objectives must have shape .{k},"),
        (["best"] * k, None, "objectives must be numbers, got .'best'"),
        ([1.0] * k, [0.0] * (k + 1), f"violations must have shape .{k},"),
        ([np.nan] * k, None, "row 0: objectives must not be NaN"),
        ([1.0] * k, [-1.0] * k, "violations at least 0"),
    ):
        with pytest.raises(GomeaBnError, match=message):
            run.tell(values, violations)
    np.testing.assert_array_equal(run.ask(), run.ask())
    run.close()
    with pytest.raises(GomeaBnError, match="evaluations of its own"):
        GOMEA().start(compiled_trap(2))


def test_infeasible_solutions_come_last() -> None:
    run = GOMEA().start(Bits(), random_state=1, max_evaluations=600)
    while not run.should_stop():
        solutions = run.ask()
        run.tell(-solutions.sum(axis=1), np.maximum(solutions.sum(axis=1) - 7, 0))
    assert run.result().F[0] == -7
    assert run.result().feasible


def test_a_killed_search_asks_again_for_its_latest_generation(tmp_path: Any) -> None:
    options: dict[str, Any] = {"random_state": 2, "max_generations": 30}
    whole, _ = answered(GOMEA().start(Bits(), **options), Bits())
    with GOMEA().start(Bits(), checkpoint=Checkpoint(tmp_path / "run", every=0), **options) as run:
        for _ in range(40):
            run.tell([Bits().value(x) for x in run.ask()])
    again = Checkpoint(tmp_path / "run", every=0, resume=True)
    resumed, _ = answered(GOMEA().start(Bits(), checkpoint=again, **options), Bits())
    same(whole, resumed)


class InBatches(Bits):
    """Evaluates all given solutions in one call, whose sizes it notes."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def evaluate_batch(self, solutions: NDArray[Any]) -> NDArray[Any]:
        self.sizes.append(len(solutions))
        return np.array([self.value(x) for x in solutions])


def test_solutions_are_evaluated_in_batches() -> None:
    problem = InBatches()
    result = optimise(problem, random_state=3, max_generations=24)
    same(result, optimise(evaluated(Bits()), random_state=3, max_generations=24))
    assert max(problem.sizes) > 16
    assert sum(problem.sizes) == result.n_eval - result.statistics["repeated"]

    class Wrong(InBatches):
        def evaluate_batch(self, solutions: NDArray[Any]) -> NDArray[Any]:
            return np.zeros(len(solutions) + 1)

    with pytest.raises(GomeaBnError, match="evaluate_batch must return objectives"):
        optimise(Wrong(), max_evaluations=100)


def test_worker_processes_give_the_same_result() -> None:
    alone = optimise(PythonTrap(3), random_state=4, max_generations=12)
    same(alone, optimise(PythonTrap(3), random_state=4, max_generations=12, n_jobs=2))

    class Local(Bits):
        def evaluate(self, x: NDArray[Any]) -> float:
            return 0.0

    with pytest.raises(GomeaBnError, match="Local cannot be sent to other processes"):
        optimise(Local(), max_evaluations=50, n_jobs=2)


def test_any_map_evaluates() -> None:
    sizes = []

    def backwards(function: Any, items: list[Any]) -> Iterable[Any]:
        sizes.append(len(items))
        return [function(item) for item in reversed(items)][::-1]

    result = optimise(evaluated(Bits()), random_state=3, max_generations=30, map=backwards)
    same(result, optimise(evaluated(Bits()), random_state=3, max_generations=30))
    assert max(sizes) > 4
    with pytest.raises(GomeaBnError, match="map must be an executor"):
        optimise(PythonTrap(2), max_evaluations=50, map=3)
    with pytest.raises(GomeaBnError, match="map is for Python objects"):
        optimise(compiled_trap(2), max_evaluations=50, map=map)


@pytest.mark.parametrize("cache", [True, False])
def test_repeated_solutions_are_looked_up(cache: bool) -> None:
    problem = PythonTrap(3)
    result = optimise(problem, random_state=1, max_evaluations=700, target=-1e9, cache=cache)
    assert result.n_eval == 700
    assert problem.calls == 700 - result.statistics["repeated"]
    assert (result.statistics["repeated"] > 0) == cache
    with pytest.raises(GomeaBnError, match="cache must be"):
        optimise(problem, max_evaluations=10, cache=untyped("yes"))


def test_one_slow_call_does_not_decide_about_look_ups(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    class Delayed(PythonTrap):
        def evaluate(self, x: Any) -> Any:
            now[0] += 1.0 if self.calls == 0 else 1e-6
            return super().evaluate(x)

    monkeypatch.setattr("gomea_bn.runtime.evaluations.perf_counter", lambda: now[0])
    problem = Delayed(3)
    optimise(problem, random_state=1, max_evaluations=700, target=-1e9)
    assert problem.calls > 685


class Failing(Bits):
    """Fails at every eighth solution."""

    calls = 0

    def evaluate(self, x: NDArray[Any]) -> float:
        self.calls += 1
        if self.calls % 8 == 0:
            raise ZeroDivisionError("no value here")
        return self.value(x) if self.calls % 9 else float("nan")


@pytest.mark.parametrize("together", [False, True])
def test_an_evaluation_that_fails_ends_the_search_or_makes_the_worst_solution(together: bool) -> None:
    more: dict[str, Any] = {"map": ThreadPoolExecutor(2)} if together else {}
    with pytest.raises(ZeroDivisionError) as caught:
        optimise(Failing(), random_state=1, max_evaluations=500, **more)
    if not together:
        assert "The search had found this before the error" in caught.value.__notes__[0]
    result = optimise(Failing(), random_state=1, max_evaluations=500, on_error="worst", **more)
    assert np.isfinite(result.F[0])
    assert result.n_eval == 500
    with pytest.raises(GomeaBnError, match="on_error"):
        optimise(Failing(), max_evaluations=10, on_error="ignore")


def test_generators_are_seeds() -> None:
    results = [
        optimise(PythonTrap(3), random_state=make(7), max_evaluations=300)
        for make in (np.random.default_rng, np.random.default_rng, np.random.RandomState)
    ]
    same(results[0], results[1])
    assert results[2].n_eval > 0
