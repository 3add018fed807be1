"""The time that compiling kernels takes, and progress lines meanwhile, since it looks like a hang."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

_SECONDS_OF_SILENCE = 1.0
# Python prints warnings to standard error by default, so that users know why they wait
_log = logging.getLogger("gomea_bn").warning
# seconds of finished blocks of `compiling`, and the times at which the present ones began
_seconds = [0.0]
_began: list[float] = []


class KernelProgress:
    """Lines about the kernels of one piece of work, if compiling takes more than a second; `tell` receives one line."""

    def __init__(self, tell: Callable[[str], object]) -> None:
        self._tell = tell
        self._lock = threading.Lock()
        self._line: str | None = None
        self._timer: threading.Timer | None = None
        self.n_compiled = 0

    def needed(self, name: str, *, is_compiled: bool) -> None:
        """Take in that the work now needs a kernel, which is in the cache already or is compiled from now on."""
        with self._lock:
            if is_compiled:
                self._line = None
                return
            self.n_compiled += 1
            self._line = f"Compiling kernels: {name} (first use on this machine only) ..."
            # a kernel that takes less than a second is not worth a line
            if self._timer is None:
                self._timer = threading.Timer(_SECONDS_OF_SILENCE, self._speak)
                self._timer.daemon = True
                self._timer.start()

    def _speak(self) -> None:
        with self._lock:
            line, self._line, self._timer = self._line, None, None
        if line is not None:
            self._tell(line)

    def done(self) -> None:
        """Take in that no kernel is compiled now."""
        with self._lock:
            self._line = None
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None


# only the last one gets lines; blocks may be nested
_listeners = [KernelProgress(_log)]


@contextmanager
def announced_kernels(tell: Callable[[str], object]) -> Iterator[KernelProgress]:
    """Tell by `KernelProgress` which kernels are compiled inside the block, by this and by other threads.

    Outside of all blocks the lines are warnings of the logger "gomea_bn".
    """
    progress = KernelProgress(tell)
    _listeners.append(progress)
    try:
        yield progress
    finally:
        _listeners.remove(progress)
        progress.done()


def kernel_needed(name: str, *, is_compiled: bool) -> None:
    """Tell the innermost `announced_kernels` that a kernel is called for the first time in this process."""
    _listeners[-1].needed(name, is_compiled=is_compiled)


@contextmanager
def compiling() -> Iterator[None]:
    """Stop `search_clock` in the block; one thread at a time may be inside."""
    _began.append(perf_counter())
    try:
        yield
    finally:
        # blocks inside another one are part of its time
        began = _began.pop()
        if not _began:
            _seconds[0] += perf_counter() - began
            _listeners[-1].done()


def search_clock() -> float:
    """Return the time in seconds of a clock like `perf_counter` that stands still while this process compiles."""
    began = _began[:1]
    return (began[0] if began else perf_counter()) - _seconds[0]
