"""Threads, the flag that ends a run, memory and garbage, and the live table of a run."""

import gc
import io
import signal
import sys
import threading
import time
from collections import deque
from pathlib import Path

import numpy as np
import pytest
from processor_time import work_for
from rich.console import Console

from gomea_bn.cli.running import rare_collections
from gomea_bn.runtime import (
    LiveTable,
    Progress,
    StopFlag,
    Workers,
    compiling,
    in_spare_threads,
    spare_threads,
)
from gomea_bn.runtime.threads import in_background, thread_pool, zeros_by_pages


def test_the_first_reason_to_stop_stays():
    stop = StopFlag(None)
    assert (stop.reason, stop.flag[0]) == ("", 0)
    stop.raise_for("patience")
    stop.raise_for("interrupt")
    assert (stop.reason, stop.flag[0]) == ("patience", 1)


def test_a_deadline_that_is_over_raises_the_flag():
    stop = StopFlag(1e-9)
    stop.check_deadline()
    assert stop.reason == "max_seconds"


def test_the_clock_stands_still_while_kernels_are_compiled():
    stop, began = StopFlag(None), time.perf_counter()
    with compiling():
        work_for(0.05)
        assert stop.seconds < 0.02
        with compiling():
            work_for(0.05)
    work_for(0.05)
    assert 0.05 <= stop.seconds < time.perf_counter() - began - 0.09


def test_work_that_would_exceed_the_deadline_raises_the_flag():
    for seconds, reason in ((10.0, ""), (3_700.0, "max_seconds")):
        stop = StopFlag(3_600.0)
        stop.check_deadline(seconds)
        assert stop.reason == reason
    unlimited = StopFlag(None)
    unlimited.check_deadline(1e9)
    assert not unlimited.reason


@pytest.mark.parametrize("inline", [True, False])
@pytest.mark.parametrize(("reason", "n_certain", "n_run"), [("interrupt", 2, 2), ("", 0, 20)])
def test_every_block_is_run_once_but_under_a_raised_flag_only_certain_ones(inline, reason, n_certain, n_run):
    stop, blocks = StopFlag(None), []
    if reason:
        stop.raise_for(reason)
    with Workers(3, stop) as workers:
        workers.run(
            lambda _thread, block: blocks.append(block), 20, n_threads=3, inline=inline, n_certain=n_certain
        )
    assert sorted(blocks) == list(range(n_run))


def test_a_call_in_the_background_gives_its_result_or_its_error():
    assert in_background(abs, -3).result() == 3
    with pytest.raises(TypeError):
        in_background(abs, "three").result()  # type: ignore[arg-type]


# a party that comes alone waits this number of seconds before the meeting fails
_ALONE = 600.0


def test_threads_that_a_single_task_leaves_idle_help_it():
    meeting, found = threading.Barrier(3, timeout=_ALONE), []

    def square(number):
        meeting.wait()
        return number**2

    with Workers(3, StopFlag(None)) as workers:
        workers.run(
            lambda _thread, _block: found.extend(in_spare_threads(square, range(6))),
            1,
            n_threads=1,
            inline=False,
            n_certain=0,
        )
    assert found == [0, 1, 4, 9, 16, 25]


def test_only_the_calling_thread_has_spare_ones():
    meeting = threading.Barrier(2, timeout=_ALONE)

    def threads(_number):
        meeting.wait()
        inner = in_spare_threads(lambda _number: threading.get_ident(), range(50))
        meeting.wait()
        return threading.get_ident(), set(inner)

    with spare_threads(2):
        found = in_spare_threads(threads, range(2))
    assert len({outer for outer, _ in found}) == 2
    # the other thread is busy
    assert all(inner == {outer} for outer, inner in found)
    here = {threading.get_ident()}
    assert set(in_spare_threads(lambda _number: threading.get_ident(), range(50))) == here
    with spare_threads(1):
        assert set(in_spare_threads(lambda _number: threading.get_ident(), range(50))) == here


@pytest.mark.parametrize("wrong", [0, 1])
def test_an_error_of_any_thread_ends_the_others(monkeypatch, wrong):
    meeting, begun, is_known = threading.Barrier(2, timeout=_ALONE), [], threading.Event()

    class Noting(deque):
        def clear(self):
            super().clear()
            is_known.set()

    monkeypatch.setattr("gomea_bn.runtime.threads.deque", Noting)

    def fail(number):
        begun.append(number)
        meeting.wait()
        if number == wrong:
            raise KeyError(number)
        is_known.wait(_ALONE)

    with spare_threads(2), pytest.raises(KeyError):
        in_spare_threads(fail, range(40))
    assert sorted(begun) == [0, 1]


def test_an_error_does_not_wait_for_work_that_cannot_be_stopped():
    both, ended = threading.Barrier(2, timeout=_ALONE), threading.Event()

    def fail_beside_another(_thread, block):
        both.wait()
        if block == 0:
            raise KeyError
        ended.wait(_ALONE)
        late.append(block)

    late: list[int] = []
    with pytest.raises(KeyError), Workers(2, StopFlag(None)) as workers:
        workers.run(fail_beside_another, 2, n_threads=2, inline=False, n_certain=0)
    assert late == []
    ended.set()


def test_calls_that_have_not_begun_are_left_out_after_an_error():
    has_failed, calls = threading.Event(), []

    def fail():
        with thread_pool(1) as pool:
            calls.extend((pool.submit(has_failed.wait), pool.submit(abs, -1)))
            threading.Timer(0.05, has_failed.set).start()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert [call.cancelled() for call in calls] == [False, True]


def test_the_usual_pace_returns_after_an_error():
    usual, inside = gc.get_threshold(), []

    @rare_collections()
    def fail():
        inside.append(gc.get_threshold()[0])
        raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert inside[0] >= 100_000
    assert gc.get_threshold() == usual


@pytest.mark.parametrize("threshold", [(10**6, 3), (0, 10)])
def test_a_pace_that_is_rarer_or_none_stays(threshold):
    usual = gc.get_threshold()
    gc.set_threshold(*threshold)
    try:
        with rare_collections():
            assert gc.get_threshold()[:2] == threshold
    finally:
        gc.set_threshold(*usual)


@pytest.mark.parametrize("shape", [(3, 5), (0, 7), (3, 1 << 22)])
def test_arrays_are_zeros_that_can_be_written(shape):
    zeros = zeros_by_pages(shape, np.uint8)
    assert zeros.shape == shape
    assert zeros.dtype == np.uint8
    assert zeros.flags.c_contiguous
    assert not zeros.any()
    zeros[1:, -1] = 7
    assert zeros.sum() == 7 * max(shape[0] - 1, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of the process from /proc")
def test_only_written_parts_take_memory():
    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1])

    before = resident()
    zeros = zeros_by_pages((64, 1 << 21), np.uint8)
    zeros[:, 0] = 1
    # pages of 2 MiB would be 32,768 pages of 4 KiB
    assert resident() - before < 4_000
    assert zeros.sum() == 64


def progress(seconds: float, scored: int, best: float = -1.0) -> Progress:
    statistics = {"families_scored": scored, "cache_hits": 0}
    return Progress(seconds, scored, 1, (8,), (1,), best, statistics)


def shown(table: LiveTable, state: Progress) -> dict[str, str]:
    return {str(column.header): str(next(iter(column.cells))) for column in table.render(state).columns}


def test_rates_stay_positive_when_another_phase_counts_from_zero():
    table = LiveTable()
    rates = [shown(table, progress(*state))["families/s"] for state in ((1.0, 1000), (2.0, 50), (3.0, 250))]
    assert rates == ["1,000", "1,000", "200"]
    rates = [shown(table, progress(*state))["families/s"] for state in ((0.5, 300), (1.0, 400))]
    assert rates == ["200", "200"]


def test_the_last_state_is_drawn_at_the_end():
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=120)
    with LiveTable(console) as table:
        table(progress(1.0, 10, -5.0))
        table(progress(1.01, 20, -7.25))
    assert "7.250" in text.getvalue()


def test_the_first_interrupt_says_that_the_work_ends(capsys):
    stop = StopFlag(None)
    with stop.catching_interrupts():
        signal.raise_signal(signal.SIGINT)
        assert "the work ends with the best so far, which is kept" in capsys.readouterr().err
        assert stop.reason == "interrupt"
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert capsys.readouterr().err == ""
