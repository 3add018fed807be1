"""The time that compiling kernels takes, and progress lines meanwhile, since it looks like a hang."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

_SECONDS_OF_SILENCE = 1.0
# only the last one gets lines; blocks may be nested
_listeners: list[KernelProgress] = []
# seconds of finished blocks of `compiling`, and the times at which the present ones began
_seconds = [0.0]
_began: list[float] = []


class KernelProgress:
    """Lines about the kernels of one piece of work, if compiling takes more than a second.

    `tell` receives one line; `n_kernels` is the number that the work needs, None if it is not known.
    """

    def __init__(self, tell: Callable[[str], object], n_kernels: int | None = None) -> None:
        self._tell = tell
        self._n_kernels = n_kernels
        self._n_needed = 0
        self._lock = threading.Lock()
        self._line: str | None = None
        self._timer: threading.Timer | None = None
        self.n_compiled = 0

    def needed(self, name: str, *, is_compiled: bool) -> None:
        """Take in that the work now needs a kernel, which is in the cache already or is compiled from now on."""
        with self._lock:
            self._n_needed += 1
            if is_compiled:
                self._line = None
                return
            self.n_compiled += 1
            count = "" if self._n_kernels is None else f" ({self._n_needed} of {self._n_kernels})"
            self._line = f"Compiling kernels{count}: {name} (first use only) ..."
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

    def close(self) -> None:
        """Say nothing from now on."""
        with self._lock:
            self._line = None
            if self._timer is not None:
                self._timer.cancel()


@contextmanager
def announced_kernels(
    tell: Callable[[str], object], n_kernels: int | None = None
) -> Iterator[KernelProgress]:
    """Tell by `KernelProgress` which kernels are compiled inside the block, by this and by other threads."""
    progress = KernelProgress(tell, n_kernels)
    _listeners.append(progress)
    try:
        yield progress
    finally:
        _listeners.remove(progress)
        progress.close()


def kernel_needed(name: str, *, is_compiled: bool) -> None:
    """Tell the innermost `announced_kernels` that a kernel is called for the first time in this process."""
    if _listeners:
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


def search_clock() -> float:
    """Return the time in seconds of a clock like `perf_counter` that stands still while this process compiles."""
    began = _began[:1]
    return (began[0] if began else perf_counter()) - _seconds[0]
