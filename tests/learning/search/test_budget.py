"""What several searches may take together."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gomea_bn import GOMEA
from gomea_bn.learning.search import SearchRounds, SearchSettings
from gomea_bn.runtime import FrontHistoryEntry, HistoryEntry, Limits, Progress, Result


def test_shares_are_of_what_is_left() -> None:
    limits = Limits(10.0, 1000, 40, patience=3.0)
    assert limits.after(4.0, 200, 10) == Limits(6.0, 800, 30, patience=3.0)
    assert limits.after(4.0, 200, 10, share=0.5) == Limits(3.0, 400, 15, patience=3.0)


@pytest.mark.parametrize(
    ("spent", "name"),
    [
        ((10.0, 0, 0), "max_seconds"),
        ((0.0, 1000, 0), "max_evaluations"),
        ((0.0, 0, 40), "max_generations"),
        ((10.0, 1000, 40), "max_seconds"),
    ],
)
def test_one_limit_that_is_met_spends_the_budget(spent: tuple[float, int, int], name: str) -> None:
    limits = Limits(10.0, 1000, 40)
    assert not limits.met(9.0, 999, 39)
    assert limits.met(*spent) == name


def test_there_is_always_something_left() -> None:
    assert Limits(10.0, 5, 5).after(20.0, 50, 50, least_seconds=0.25) == Limits(0.25, 1, 1)


def test_limits_that_are_not_set_stay_so() -> None:
    assert Limits(patience=2.0).after(5.0, 7, 9, share=0.1) == Limits(patience=2.0)


@given(st.integers(1, 10**6), st.integers(1, 12))
def test_equal_shares_of_the_rest_never_exceed_the_whole(evaluations: int, n: int) -> None:
    limits = Limits(max_evaluations=evaluations)
    total = 0
    for k in range(n):
        if limits.met(0.0, total):
            break
        share = limits.after(0.0, total, share=1 / (n - k)).max_evaluations
        assert share is not None
        total += share
    assert total <= evaluations


def of_round(n_eval: int, objective: float, stopped_by: str = "done", seconds: float = 1.0) -> Result:
    """Return the result of a round."""
    counts = {"stages": n_eval}
    return Result(np.zeros(2), np.array([objective]), n_eval, 2.0, seconds, 0.5, [], stopped_by, 3, counts)


def searched(result: Result, progress: Progress | None, seen: list[SearchSettings]) -> Callable[..., Result]:
    """Return a search that reports some progress and ends with a result; the settings it gets are added to `seen`."""

    def search(settings: SearchSettings) -> Result:
        seen.append(settings)
        assert settings.callback is not None
        if progress is not None:
            settings.callback(progress)
        return result

    return search


def test_a_round_of_a_checkpoint_counts_the_seconds_of_an_earlier_process() -> None:
    reported: list[Progress] = []
    limits = Limits(100.0, 1000, 40)
    rounds = SearchRounds(SearchSettings(GOMEA(), limits, 5, n_threads=1, callback=reported.append))
    # the clock of the rounds begins in this process
    late = Progress(35.0, 10, 1, (), (), 3.0, {})
    rounds.run(searched(of_round(200, 3.0, seconds=40.0), late, []), "first", limits)
    assert 35.0 <= reported[-1].seconds < 40.0
    rounds.run(searched(of_round(200, 3.0), replace(late, seconds=20.0), []), "second", limits)
    assert 60.0 <= reported[-1].seconds < 65.0


def test_rounds_count_together_and_a_saved_one_keeps_its_seconds() -> None:
    reported: list[Progress] = []
    seen: list[SearchSettings] = []
    limits = Limits(100.0, 1000, 40)
    rounds = SearchRounds(SearchSettings(GOMEA(), limits, 5, n_threads=1, callback=reported.append))
    # a checkpoint gives it at once
    first = rounds.run(searched(of_round(200, 7.0, seconds=30.0), None, seen), "first", limits)
    assert seen[-1].seed == 5
    assert rounds.stop.seconds >= 30.0
    left = rounds.limits(0.5)
    assert left.max_seconds is not None
    assert left.max_seconds <= 35.0
    assert (left.max_evaluations, left.max_generations) == (400, 18)
    progress = Progress(0.1, 10, 1, (), (), 3.0, {"stages": 1}, reached="4 edges")
    search = searched(of_round(50, 3.0), progress, seen)
    rounds.run(search, "second", left, further=2, best=7.0, compares=False)
    assert (seen[-1].seed, seen[-1].limits) == (7, left)
    assert (reported[-1].n_eval, reported[-1].n_generations, reported[-1].best) == (210, 4, 7.0)
    assert (reported[-1].statistics, reported[-1].reached) == ({"stages": 201}, "4 edges")
    assert not rounds.is_over
    plain = Progress(0.1, 10, 1, (), (), 3.0, {})
    rounds.run(searched(of_round(50, 3.0, "callback"), plain, seen), "third", limits)
    assert (seen[-1].seed, reported[-1].best) == (5, 3.0)
    assert rounds.is_over
    total = rounds.total(first, time_to_best=31.0)
    assert (total.n_eval, total.n_eval_full, total.n_generations) == (300, 6.0, 9)
    assert (total.F[0], total.stopped_by, total.time_to_best) == (7.0, "callback", 31.0)
    assert total.statistics == {"stages": 300}


def test_improvements_of_rounds_follow_each_other() -> None:
    limits = Limits(100.0, 1000, 40)
    rounds = SearchRounds(SearchSettings(GOMEA(), limits, 5, n_threads=1, callback=lambda _: None))
    for objectives in ([5.0, 3.0], [4.0, 2.0]):
        entries = [HistoryEntry(0.0, 10 * k + 10, objective, 4) for k, objective in enumerate(objectives)]
        rounds.run(searched(replace(of_round(100, 2.0), history=entries), None, []), "round", limits)
    assert [(entry.n_eval, entry.objective) for entry in rounds.history] == [(10, 5.0), (20, 3.0), (120, 2.0)]


def test_fronts_have_no_improvements_of_one_objective() -> None:
    limits = Limits(100.0, 1000, 40)
    rounds = SearchRounds(SearchSettings(GOMEA(), limits, 5, n_threads=1, callback=lambda _: None))
    front = replace(of_round(100, 2.0), history=[FrontHistoryEntry(0.0, 10, 3, (1.0, 2.0), 4)])
    assert rounds.run(searched(front, None, []), "front", limits) is front
    assert rounds.history == []
