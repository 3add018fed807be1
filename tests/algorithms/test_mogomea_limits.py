"""Runs for several objectives: the same at any number of threads, exact limits, interruption, repetition."""

import signal
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import moocore
import numpy as np
import pytest
from mo_oracles import check_front, network_problem, same

from gomea_bn import MOGOMEA
from gomea_bn.algorithms.mogomea import hypervolume_gain
from gomea_bn.problems import LOTZ, MultiObjectiveMaxCut
from gomea_bn.runtime import Limits, Progress


@pytest.fixture(autouse=True, scope="module")
def _compiled() -> None:
    """Compile before any clock counts."""
    MOGOMEA().run(network_problem(1, 2, 4), Limits(max_evaluations=500), random_state=0, n_jobs=2)


VARIANTS = [
    MOGOMEA(),
    MOGOMEA(archive_update="immediate", mixing="dominance"),
    MOGOMEA(linkage="univariate", search_donors=False, local_search=True, archive_size=12),
    MOGOMEA(linkage="tree", forced_improvement=False, base_clusters=1, archive_update="immediate"),
]
CASES: dict[str, Callable[[], Any]] = {
    "networks": lambda: network_problem(4, 3, 6),
    "cut": lambda: MultiObjectiveMaxCut.random_graph(14, 40, 3, random_state=1),
    "limited": lambda: network_problem(5, 2, 6, max_parameters=20.0),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("variant", range(len(VARIANTS)))
@pytest.mark.parametrize("case", CASES)
def test_a_seed_gives_one_result_at_any_number_of_threads(case: str, variant: int) -> None:
    limits, settings = Limits(max_evaluations=12_000), VARIANTS[variant]
    runs = [settings.run(CASES[case](), limits, random_state=7, n_jobs=t) for t in (1, 2, 3)]
    assert all(same(runs[0], run) for run in runs[1:])
    assert runs[0].n_eval == 12_000
    # once more with a sequence, and with caches that are full already
    problem = CASES[case]()
    sequence = np.random.SeedSequence(7)
    assert all(same(settings.run(problem, limits, random_state=sequence), runs[0]) for _ in range(2))
    few = Limits(max_evaluations=300)
    assert not same(
        settings.run(CASES[case](), few, random_state=8), settings.run(CASES[case](), few, random_state=7)
    )


@pytest.mark.sample(1)
@pytest.mark.parametrize("variant", range(len(VARIANTS)))
@pytest.mark.parametrize("case", ["cut", "limited"])
def test_evaluation_limits_are_exact(case: str, variant: int) -> None:
    problem = CASES[case]()
    for limit in [*range(1, 24), *range(24, 1500, 113), 4_321]:
        result = VARIANTS[variant].run(problem, Limits(max_evaluations=limit), random_state=limit, n_jobs=2)
        assert result.n_eval == limit
        assert result.stopped_by == "max_evaluations"
        if limit > 1400:
            check_front(problem, result)


def stop_after(n: int, signal_number: int | None) -> Any:
    seen: list[Progress] = []

    def watch(progress: Progress) -> bool:
        seen.append(progress)
        if signal_number is None:
            return len(seen) == n
        if len(seen) == n:
            signal.raise_signal(signal_number)
        return False

    return watch


@pytest.mark.sample(2)
@pytest.mark.parametrize("variant", range(len(VARIANTS)))
@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_run_that_was_stopped_can_be_repeated(variant: int, n_threads: int) -> None:
    settings = VARIANTS[variant]
    for reason, base_population, limits, callback in (
        ("callback", 8, Limits(max_generations=500), stop_after(9, None)),
        ("interrupt", 8, Limits(max_generations=500), stop_after(12, signal.SIGINT)),
        ("max_seconds", 8, Limits(max_seconds=0.1), None),
        # inside one large generation, where threads have passed the first unfinished solution
        ("max_seconds", 4096, Limits(max_seconds=0.15), None),
    ):
        chosen = replace(settings, base_population=base_population)
        stopped = chosen.run(CASES["networks"](), limits, random_state=5, n_jobs=n_threads, callback=callback)
        assert stopped.stopped_by == reason
        again = Limits(max_evaluations=stopped.n_eval)
        repeated = chosen.run(CASES["networks"](), again, random_state=5, n_jobs=3 - n_threads)
        assert same(repeated, stopped)
        check_front(CASES["networks"](), stopped)


def test_generations_patience_and_progress() -> None:
    problem = LOTZ(8)
    seen: list[Progress] = []
    result = MOGOMEA().run(problem, Limits(max_generations=7), random_state=0, callback=seen.append)
    assert (result.stopped_by, result.n_generations) == ("max_generations", 7)
    assert seen[-1].archive_size == len(result.F)
    assert seen[-1].best == result.F[0, 0]
    assert seen[-1].n_eval == result.n_eval
    result = MOGOMEA().run(problem, Limits(patience=1.5), random_state=0)
    assert result.stopped_by == "patience"
    last = result.extra["n_eval_at_last_addition"]
    assert result.n_eval > max(1000 * problem.n_variables, 1.5 * last)
    assert result.F.tolist() == problem.front.tolist()


def test_a_front_is_done_when_twice_its_evaluations_have_gained_too_little() -> None:
    least, n_variables = 0.02, 16
    generations: list[int] = []

    def note(progress: Progress) -> None:
        generations.append(progress.n_eval)

    problem = LOTZ(n_variables)
    result = MOGOMEA().run(problem, Limits(least_gain=least), random_state=3, callback=note)
    assert result.stopped_by == "done"
    assert result.n_eval == generations[-1] >= 320 * n_variables
    marks, due = [], 160 * n_variables
    for k, n_eval in enumerate(generations):
        if n_eval >= due:
            marks.append(MOGOMEA().run(problem, Limits(max_generations=k + 1), random_state=3).F)
            due = 2 * n_eval
    gains = [hypervolume_gain(before, now) for before, now in pairwise(marks)]
    assert len(gains) > 0
    assert all(gain >= least for gain in gains[:-1])
    assert gains[-1] < least


def test_the_gain_of_a_front_is_the_share_of_the_area_that_the_former_one_lacks() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        points = rng.random((30, 2)) * [1.0, 500.0] + [3.0, 40.0]
        now, before = _nondominated(points), _nondominated(points[:12])
        low, high = now.min(axis=0), now.max(axis=0)
        span = np.where(high > low, high - low, 1.0)
        wanted = 1 - _area((before - low) / span) / _area((now - low) / span)
        assert hypervolume_gain(before, now) == pytest.approx(wanted, abs=1e-12)
        # neither the unit of an objective nor the order of the networks decides
        scale, shift = np.array([1e3, 2.0]), np.array([-5.0, 1e3])
        moved = hypervolume_gain(before[::-1] * scale + shift, now * scale + shift)
        assert moved == pytest.approx(wanted, abs=1e-9)
    assert hypervolume_gain(now, now) == 0
    assert hypervolume_gain(np.empty((0, 2)), now) == 1


@pytest.mark.parametrize("n_objectives", [4, 5, 6])
def test_gains_of_many_objectives_are_near_the_exact_ones(n_objectives: int) -> None:
    points = np.random.default_rng(2).exponential(size=(200, n_objectives))
    front = points / points.sum(axis=1)[:, None]
    unit = (front - front.min(axis=0)) / np.ptp(front, axis=0)
    for n in (100, 190):
        exact = 1 - moocore.hypervolume(unit[:n], ref=1.1) / moocore.hypervolume(unit, ref=1.1)
        assert hypervolume_gain(front[:n], front) == pytest.approx(exact, rel=0.1)
    assert hypervolume_gain(front, front) == 0


def test_gains_of_large_fronts_of_many_objectives_take_little_time() -> None:
    # exact volumes would take hours
    points = np.random.default_rng(2).exponential(size=(2_000, 8))
    front = points / points.sum(axis=1)[:, None]
    assert 0 < hypervolume_gain(front[:1_000], front) < 0.1


def _nondominated(points: Any) -> Any:
    return np.array([p for p in points if not ((points <= p).all(axis=1) & (points < p).any(axis=1)).any()])


def _area(points: Any, corner: float = 1.1) -> float:
    """Return the area that points dominate below a corner, in columns between their first coordinates."""
    ordered = points[np.argsort(points[:, 0])]
    ordered = ordered[(ordered < corner).all(axis=1)]
    ends = [*ordered[1:, 0], *[corner][: len(ordered)]]
    return sum((end - x) * (corner - y) for (x, y), end in zip(ordered, ends, strict=True))
