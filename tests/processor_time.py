"""A clock that does not depend on the machine or on what else it does, and Ctrl-C in the middle of a run."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from time import process_time, sleep

# processor time of `_reference_work` on the machine whose seconds the tests state
_SECONDS_OF_REFERENCE = 0.0105


def _reference_work() -> float:
    """Return the processor time of some work that does not change."""
    began = process_time()
    numbers: dict[int, int] = {}
    for number in range(100_000):
        numbers[number % 1000] = numbers.get(number % 997, 0) ^ number
    return process_time() - began


@cache
def _seconds_of_second() -> float:
    """Return the seconds that this machine takes for what takes a second where the limits of tests come from."""
    return min(_reference_work() for _ in range(5)) / _SECONDS_OF_REFERENCE


def work_clock() -> float:
    """Return the processor time of this process over all its threads, in seconds of one machine.

    Tests have it in place of `perf_counter`: a process that waits for others, or a slow machine, does as much within a
    time limit as any other. It stands still while all threads sleep.
    """
    return process_time() / _seconds_of_second()


def work_for(seconds: float) -> None:
    """Return when the clock of tests has gone on by some seconds."""
    end = work_clock() + seconds
    while work_clock() < end:
        pass


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Fail if the block takes as many seconds of `work_clock`."""
    began = work_clock()
    yield
    assert work_clock() - began < seconds


def interrupt_the_next_run(after: float = 0.3) -> None:
    """Send Ctrl-C to this process some seconds after a run has begun to catch it."""
    former = signal.getsignal(signal.SIGINT)

    def send() -> None:
        while signal.getsignal(signal.SIGINT) is former:
            sleep(0.01)
        sleep(after)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=send, daemon=True).start()
