"""Signals: what is noted, delayed, left alone and restored."""

import signal
import threading

import pytest

from gomea_bn.runtime import delayed_interrupts, interrupts
from gomea_bn.runtime.interrupts import (
    ignore_until_exit,
    noting_interrupts,
    signal_exit_code,
    treat_as_interrupts,
)

ENDING = [signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def _former_handlers():
    former = {number: signal.getsignal(number) for number in (signal.SIGINT, *ENDING)}
    # commands that ran in this process may have set handlers
    for number in ENDING:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number, handler in former.items():
        signal.signal(number, handler)
    interrupts._received.clear()


@pytest.mark.parametrize("number", [signal.SIGINT, *ENDING])
def test_a_signal_is_noted_and_the_handlers_return(number):
    treat_as_interrupts()
    former = {n: signal.getsignal(n) for n in (signal.SIGINT, *ENDING)}
    noted = []
    with noting_interrupts(lambda: noted.append(number)):
        signal.raise_signal(number)
        signal.raise_signal(number)
    assert noted == [number, number]
    assert {n: signal.getsignal(n) for n in former} == former


@pytest.mark.parametrize("number", ENDING)
def test_ending_signals_interrupt_and_give_the_exit_code(number):
    treat_as_interrupts()
    assert signal_exit_code() is None
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)
    assert signal_exit_code() == 128 + number
    treat_as_interrupts()  # a second command in the same process
    assert signal_exit_code() is None


def test_ctrl_c_has_no_exit_code_of_a_signal():
    treat_as_interrupts()
    with noting_interrupts(lambda: None):
        signal.raise_signal(signal.SIGINT)
    assert signal_exit_code() is None


def test_the_first_signal_decides_the_exit_code():
    treat_as_interrupts()
    with noting_interrupts(lambda: None):
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGTERM)
    assert signal_exit_code() == 129


@pytest.mark.parametrize("former", [signal.SIG_IGN, lambda number, frame: None])
def test_handlers_of_others_stay(former):
    for number in ENDING:
        signal.signal(number, former)
    treat_as_interrupts()
    noted = []
    with noting_interrupts(lambda: noted.append(1)):
        for number in ENDING:
            assert signal.getsignal(number) == former
            signal.raise_signal(number)
    assert not noted
    assert signal_exit_code() is None


def test_a_library_leaves_ending_signals_alone():
    with noting_interrupts(lambda: None):
        assert [signal.getsignal(number) for number in ENDING] == [signal.SIG_DFL] * 2


def test_ignored_ctrl_c_stays_ignored_while_sigterm_is_noted():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    treat_as_interrupts()
    noted = []
    with noting_interrupts(lambda: noted.append(1)):
        signal.raise_signal(signal.SIGINT)
        assert not noted
        signal.raise_signal(signal.SIGTERM)
    assert noted == [1]


def test_signals_are_ignored_after_the_work_of_a_process_that_ends_with_it():
    treat_as_interrupts(until_exit=True)
    with delayed_interrupts():
        ignore_until_exit()
    assert [signal.getsignal(number) for number in (signal.SIGINT, *ENDING)] == [signal.SIG_IGN] * 3
    for number in (signal.SIGINT, *ENDING):
        signal.raise_signal(number)
    assert signal_exit_code() is None


def test_signals_still_interrupt_a_process_that_goes_on_after_the_command():
    treat_as_interrupts()
    ignore_until_exit()
    for number in (signal.SIGINT, *ENDING):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)


def test_other_threads_set_no_handlers():
    former = signal.getsignal(signal.SIGINT)
    seen = []

    def work():
        treat_as_interrupts()
        with noting_interrupts(lambda: None):
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [former]
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_the_first_interrupt_waits_and_the_second_one_ends_the_block():
    said, steps = [], []

    def work(n_signals):
        with delayed_interrupts(lambda: said.append("first")):
            for number in range(n_signals):
                signal.raise_signal(signal.SIGINT)
                steps.append(number)

    work(1)
    with pytest.raises(KeyboardInterrupt):
        work(3)
    assert said == ["first", "first"]
    assert steps == [0, 0]


def test_an_inner_block_has_its_own_first_interrupt():
    noted = []
    with delayed_interrupts():
        with noting_interrupts(lambda: noted.append(1)):
            signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    assert noted == [1]
