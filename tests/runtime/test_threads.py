"""The flag that ends a run, and threads that take blocks of work in turn."""

import threading

import pytest

from gomea_bn.runtime.threads import StopFlag, Workers, in_background, thread_pool


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


@pytest.mark.parametrize("inline", [True, False])
def test_only_certain_blocks_are_run_under_a_raised_flag(inline):
    stop = StopFlag(None)
    stop.raise_for("interrupt")
    blocks = []
    with Workers(2, stop) as workers:
        workers.run(lambda _thread, block: blocks.append(block), 5, n_threads=2, inline=inline, n_certain=2)
    assert sorted(blocks) == [0, 1]


@pytest.mark.parametrize("inline", [True, False])
def test_every_block_is_run_once(inline):
    blocks = []
    with Workers(3, StopFlag(None)) as workers:
        workers.run(lambda _thread, block: blocks.append(block), 20, n_threads=3, inline=inline, n_certain=0)
    assert sorted(blocks) == list(range(20))


def test_a_call_in_the_background_gives_its_result_or_its_error():
    assert in_background(abs, -3).result() == 3
    with pytest.raises(TypeError):
        in_background(abs, "three").result()  # type: ignore[arg-type]


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
