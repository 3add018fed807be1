"""A run that is killed and resumed equals one that was never ended."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoint_examples import killed_and_resumed, without_seconds

from gomea_bn import GOMEA, MOGOMEA, RVGOMEA, Checkpoint, GomeaBnError, LinkageTree, optimise
from gomea_bn.problems import LOTZ, Trap, rosenbrock
from gomea_bn.runtime import Limits, Progress, Result, StopFlag


class OneMax:
    n_variables, alphabet = 20, 3

    def evaluate(self, x: Any) -> float:
        return -float(x.sum())


class Mixed:
    n_variables, alphabet, bounds = 8, (2, 3, 2, 3, 0, 0, 0, 0), (-5.0, 5.0)

    def evaluate(self, x: Any) -> float:
        return float((x[:4] != 1).sum() * 2 + ((x[4:] - x[:4]) ** 2).sum())


class Squares:
    n_variables, alphabet, bounds, n_objectives = 4, (3, 0, 0, 0), (-2.0, 2.0), 2

    def evaluate(self, x: Any) -> Any:
        return [float(((x - end) ** 2).sum()) for end in (0.0, 1.0)]


class Valley:
    n_variables, bounds = 6, (-3.0, 3.0)

    def evaluate(self, x: Any) -> float:
        halves = x.reshape(2, 3)
        return float((100 * (halves[:, 1:] - halves[:, :-1] ** 2) ** 2 + (1 - halves[:, :-1]) ** 2).sum())


RUNS: dict[str, tuple[Callable[[], Any], Any]] = {
    "GOMEA": (lambda: Trap(20, 5), None),
    "immediate GOMEA": (lambda: Trap(20, 5), GOMEA(elite_update="immediate", local_search=True)),
    "plain Python": (OneMax, None),
    "MOGOMEA": (lambda: LOTZ(12), MOGOMEA(archive_size=5)),
    "immediate MOGOMEA": (lambda: LOTZ(12), MOGOMEA(archive_size=5, archive_update="immediate")),
    "RV-GOMEA": (lambda: rosenbrock(5), None),
    "adapted distributions": (Valley, None),
    "real front": (Squares, None),
    "mixed variables": (Mixed, None),
    "mixed variables, fixed linkage": (Mixed, RVGOMEA(linkage="univariate")),
}


def result_of(name: str, **options: Any) -> Result:
    problem, algorithm = RUNS[name]
    limits = {"max_evaluations": 2500, "target": -1e9 if name == "plain Python" else None}
    return optimise(problem(), algorithm, **{"random_state": 3, **limits, **options})


def assert_same(first: Result, second: Result) -> None:
    for name in ("X", "F"):
        assert np.array_equal(getattr(first, name), getattr(second, name)), name
    for name in ("n_eval", "n_eval_full", "n_generations", "stopped_by"):
        assert getattr(first, name) == getattr(second, name), name
    assert without_seconds(first.history) == without_seconds(second.history)
    assert first.extra.keys() == second.extra.keys()


@pytest.mark.sample(3)
@pytest.mark.parametrize("n_files", [1, 3])
@pytest.mark.parametrize("name", RUNS)
def test_a_killed_and_resumed_run_equals_one_that_was_never_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, n_files: int
) -> None:
    result, n_kills = killed_and_resumed(
        monkeypatch, lambda checkpoint: result_of(name, checkpoint=checkpoint), tmp_path / "c", n_files
    )
    assert n_kills > 1
    assert_same(result_of(name), result)
    again = result_of(name, checkpoint=Checkpoint(tmp_path / "c", resume=True))
    assert_same(result, again)
    assert [e.seconds for e in again.history] == [e.seconds for e in result.history]


@pytest.mark.parametrize("name", ["GOMEA", "MOGOMEA"])
def test_a_killed_and_resumed_run_is_done_where_it_would_have_been(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    def run(checkpoint: Checkpoint | None) -> Result:
        problem, algorithm = (Trap(20, 5), GOMEA()) if name == "GOMEA" else (LOTZ(12), MOGOMEA())
        limits = Limits(least_gain=0.5 if name == "GOMEA" else 0.005)
        return algorithm.run(problem, limits, random_state=3, checkpoint=checkpoint)

    result, n_kills = killed_and_resumed(monkeypatch, run, tmp_path / "c", 3)
    assert n_kills > 1
    assert result.stopped_by == "done"
    assert_same(run(None), result)


@pytest.mark.parametrize("name", ["GOMEA", "MOGOMEA"])
def test_the_number_of_threads_may_change(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    n_jobs = iter([2, 1, 2, *[1] * 99])
    result, _ = killed_and_resumed(
        monkeypatch,
        lambda checkpoint: result_of(name, n_jobs=next(n_jobs), checkpoint=checkpoint),
        tmp_path / "c",
        3,
    )
    assert_same(result_of(name), result)


def test_a_run_that_a_callback_stopped_goes_on(tmp_path: Path) -> None:
    def stops(progress: Progress) -> bool:
        return progress.n_generations == 5

    stopped = result_of("GOMEA", checkpoint=tmp_path / "c", callback=stops)
    assert stopped.stopped_by == "callback"
    assert stopped.n_generations == 5
    resumed = Checkpoint(tmp_path / "c", resume=True)
    assert_same(stopped, result_of("GOMEA", checkpoint=resumed, callback=stops))
    assert_same(result_of("GOMEA"), result_of("GOMEA", checkpoint=resumed))


def test_a_run_that_ctrl_c_stopped_ends_after_its_generation_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stops: list[StopFlag] = []
    start = StopFlag.start_clock

    def noting(self: StopFlag, *args: Any) -> None:
        stops.append(self)
        start(self, *args)

    def presses(progress: Progress) -> None:
        # what the handler of the signal does
        if progress.n_generations == 7:
            stops[-1].has_delayed = True

    monkeypatch.setattr(StopFlag, "start_clock", noting)
    stopped = result_of("GOMEA", checkpoint=tmp_path / "c", callback=presses)
    assert (stopped.stopped_by, stopped.n_generations) == ("interrupt", 7)
    assert_same(result_of("GOMEA"), result_of("GOMEA", checkpoint=Checkpoint(tmp_path / "c", resume=True)))


def test_the_clock_goes_on(tmp_path: Path) -> None:
    def stops(progress: Progress) -> bool:
        return progress.seconds > 0.3

    options: dict[str, Any] = {"max_seconds": 0.5, "max_evaluations": None, "target": -1.0}
    stopped = result_of("RV-GOMEA", checkpoint=tmp_path / "c", callback=stops, **options)
    seen: list[float] = []
    result = result_of(
        "RV-GOMEA",
        checkpoint=Checkpoint(tmp_path / "c", resume=True),
        callback=lambda progress: seen.append(progress.seconds),
        **options,
    )
    assert result.stopped_by == "max_seconds"
    # on a slow machine the first part may have taken all of the time
    assert min(seen, default=0.5) >= 0.3
    assert 0.5 <= result.exec_time < 0.5 + stopped.exec_time


@pytest.mark.parametrize("name", RUNS)
def test_a_run_that_has_ended_goes_on_with_larger_limits(tmp_path: Path, name: str) -> None:
    def limited(n_generations: int, **options: Any) -> Result:
        return result_of(name, max_evaluations=None, max_generations=n_generations, **options)

    first = limited(12, checkpoint=tmp_path)
    resumed = Checkpoint(tmp_path, resume=True)
    assert_same(first, limited(12, checkpoint=resumed))
    assert_same(limited(20), limited(20, checkpoint=resumed))
    assert_same(limited(20), limited(20, checkpoint=resumed))


@pytest.mark.parametrize("n_first", [3, 501])
@pytest.mark.parametrize("name", RUNS)
def test_a_run_repeats_the_generation_that_its_limit_has_cut(tmp_path: Path, name: str, n_first: int) -> None:
    first = result_of(name, max_evaluations=n_first, checkpoint=tmp_path)
    assert first.n_eval <= n_first
    result = result_of(name, max_evaluations=1500, checkpoint=Checkpoint(tmp_path, resume=True))
    assert_same(result_of(name, max_evaluations=1500), result)


def test_a_run_that_met_its_target_goes_on_to_a_lower_one(tmp_path: Path) -> None:
    first = result_of("adapted distributions", target=1e-1, checkpoint=tmp_path)
    assert first.stopped_by == "target"
    result = result_of("adapted distributions", target=1e-3, checkpoint=Checkpoint(tmp_path, resume=True))
    assert_same(result_of("adapted distributions", target=1e-3), result)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"random_state": 4}, "option random_state was"),
        ({"algorithm": GOMEA(growth=3)}, "option growth was 2, and is now 3"),
        (
            {"algorithm": GOMEA(linkage=LinkageTree("mi"))},
            "option linkage was 'tree', and is now LinkageTree",
        ),
        ({"initial": np.zeros((1, 20), np.int64)}, "option initial was"),
        ({"problem": Trap(25, 5)}, "the problem's n_variables was 20, and is now 25"),
        ({"problem": Trap(20, 4)}, "the problem's n_terms was 4, and is now 5"),
        ({"problem": OneMax()}, "the problem's class was Trap, and is now OneMax"),
    ],
)
def test_another_run_is_refused_by_the_name_of_what_differs(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    same: dict[str, Any] = {
        "problem": Trap(20, 5),
        "max_evaluations": 2500,
        "target": -1e9,
        "random_state": 3,
    }
    optimise(**same, checkpoint=tmp_path, callback=lambda _progress: True)
    with pytest.raises(GomeaBnError, match="belongs to another run") as caught:
        optimise(**{**same, **changes}, checkpoint=Checkpoint(tmp_path, resume=True))
    assert message in str(caught.value)


def test_a_run_without_a_seed_goes_on_with_the_seed_of_its_checkpoint(tmp_path: Path) -> None:
    first = result_of(
        "GOMEA", random_state=None, checkpoint=tmp_path, callback=lambda progress: progress.n_eval > 500
    )
    resumed = Checkpoint(tmp_path, resume=True)
    result = result_of("GOMEA", random_state=None, checkpoint=resumed)
    assert without_seconds(result.history)[: len(first.history)] == without_seconds(first.history)
    assert_same(result, result_of("GOMEA", random_state=None, checkpoint=resumed))


def test_populations_of_another_size_are_refused(tmp_path: Path) -> None:
    from gomea_bn.runtime import write_bytes
    from gomea_bn.runtime.checkpoints import checkpoint_bytes, read_checkpoint

    result_of("GOMEA", checkpoint=tmp_path, callback=lambda progress: progress.n_generations == 9)
    resumed = Checkpoint(tmp_path, resume=True)
    content = read_checkpoint(resumed.path)
    data = content["run"]["state"]["populations"][0]["data"]
    for name, value in {
        "parents": data["parents"][:1],
        "genotypes": data["genotypes"] + np.int16(90),
    }.items():
        former, data[name] = data[name], value
        write_bytes(resumed.path, checkpoint_bytes(content))
        with pytest.raises(GomeaBnError, match=r"does not fit this run|is not allowed"):
            result_of("GOMEA", checkpoint=resumed)
        data[name] = former
