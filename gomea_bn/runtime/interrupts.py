"""Ctrl-C and the signals that end a process: how long work hears of them without losing its results."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

# exit code of a process that a signal ended, minus the number of the signal
_SIGNAL_EXIT = 128

# signals by which systems end processes; Windows lacks SIGHUP
_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
_received: list[int] = []
# whether the process ends with its present command
_ends_process = False


class _Handler:
    """Handler of a signal that calls a function; handlers of other programs are never replaced."""

    def __init__(self, note: Callable[[], None]) -> None:
        self.note = note

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        if number in _ENDING:
            _received.append(number)
        self.note()


def treat_as_interrupts(*, until_exit: bool = False) -> None:
    """Let SIGTERM and SIGHUP act as Ctrl-C in this process, apart from those that it ignores or handles already.

    Only the main thread can set handlers; another one changes nothing. With `until_exit` the process ends with the
    command that begins; `ignore_until_exit` does nothing otherwise.
    """
    global _ends_process
    if threading.current_thread() is not threading.main_thread():
        return
    _received.clear()
    _ends_process = until_exit
    for number in _ENDING:
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _Handler(_raise))


def ignore_until_exit() -> None:
    """Ignore Ctrl-C, SIGTERM and SIGHUP from now on, if the process ends with its command, whose work is done.

    A signal would otherwise end the interpreter while it shuts down, with a code that says that the work failed.
    """
    if not _ends_process or threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGINT, *_ENDING):
        if _may_replace(number, signal.getsignal(number)):
            signal.signal(number, signal.SIG_IGN)


def signal_exit_code() -> int | None:
    """Return the exit code after a SIGTERM or SIGHUP that acted as Ctrl-C (143, 129), None without any."""
    return _SIGNAL_EXIT + _received[0] if _received else None


@contextmanager
def noting_interrupts(note: Callable[[], None]) -> Iterator[None]:
    """Call a function at Ctrl-C, in place of `KeyboardInterrupt`, during the block.

    The same holds for SIGTERM and SIGHUP if `treat_as_interrupts` was called. A process that ignores Ctrl-C goes on to
    ignore it. In other threads than the main one, which gets no signals, the block just runs. An exception that the
    function raises ends the block.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = {
        number: handler
        for number in (signal.SIGINT, *_ENDING)
        if _may_replace(number, handler := signal.getsignal(number))
    }
    for number in former:
        signal.signal(number, _Handler(note))
    try:
        yield
    finally:
        for number, handler in former.items():
            # the block may have set another one, which stays
            if isinstance(signal.getsignal(number), _Handler):
                signal.signal(number, handler)


@contextmanager
def delayed_interrupts(announce: Callable[[], None] | None = None) -> Iterator[None]:
    """Delay the first Ctrl-C until the end of the block, where it is dropped; a second one interrupts at once.

    The first Ctrl-C calls `announce`, for example to say what goes on.
    """
    noted = False

    def note() -> None:
        nonlocal noted
        if noted:
            _raise()
        noted = True
        if announce is not None:
            # a signal handler cannot write to a stream that is being written to
            with suppress(RuntimeError):
                announce()

    with noting_interrupts(note):
        yield


def _may_replace(number: int, handler: object) -> bool:
    """Return whether `noting_interrupts` may replace the handler of a signal."""
    if number == signal.SIGINT:
        # None is a handler that was not set from Python
        return handler is not None and handler != signal.SIG_IGN
    return isinstance(handler, _Handler)


def _raise() -> None:
    raise KeyboardInterrupt
