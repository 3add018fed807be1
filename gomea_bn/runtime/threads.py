"""Threads that run blocks of work, and the flag by which the deadline and Ctrl-C stop running kernels."""

from __future__ import annotations

import itertools
import math
import mmap
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from threading import Thread, local
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gomea_bn.errors import GomeaBnError, is_integer
from gomea_bn.runtime.interrupts import noting_interrupts
from gomea_bn.runtime.kernel_progress import search_clock

T = TypeVar("T")
R = TypeVar("R")

POLL_SECONDS = 0.05
"""Seconds between two looks of a waiting thread at signals, the flag of its run and the deadline."""
# NumPy asks for pages of 2 MiB for arrays of at least this number of bytes
_BYTES_OF_HUGE_PAGES = 1 << 22
_STOPPING = "Interrupted: the work ends with the best so far, which is kept; a second Ctrl-C ends it at once."
# the pool of threads that the work of the present thread leaves idle, and their number
_spare = local()


class StopFlag:
    """One byte that kernels read at every evaluation, to stop once it is set.

    `reason` is empty until the flag is raised. With `delays_interrupts` the first Ctrl-C only sets `has_delayed`, so
    that the work comes to a point from which it can go on.
    """

    def __init__(self, max_seconds: float | None) -> None:
        self.flag: NDArray[np.uint8] = np.zeros(1, np.uint8)
        self.reason = ""
        self.delays_interrupts = False
        self.has_delayed = False
        self.start_clock(0.0, max_seconds)

    def start_clock(self, seconds: float, max_seconds: float | None) -> None:
        """Let the clock go on from a number of seconds, with a limit on all of them."""
        self.max_seconds = max_seconds
        self.started = search_clock() - seconds
        self._deadline = None if max_seconds is None else self.started + max_seconds

    @property
    def seconds(self) -> float:
        """Return the seconds since the start, without those of the compiler."""
        return search_clock() - self.started

    def raise_for(self, reason: str) -> None:
        """Raise the flag; the first reason stays."""
        self.reason = self.reason or reason
        self.flag[0] = 1

    def replace_reason(self, reason: str) -> None:
        """Raise the flag for a reason, also if there was another one."""
        self.reason = ""
        self.raise_for(reason)

    def check_deadline(self, seconds: float = 0.0) -> None:
        """Raise the flag if the deadline is over, or would be after some seconds."""
        if self._deadline is not None and search_clock() + seconds >= self._deadline:
            self.raise_for("max_seconds")

    @property
    def is_over(self) -> bool:
        """Whether the flag is raised, after a look at the clock."""
        self.check_deadline()
        return bool(self.flag[0])

    @contextmanager
    def catching_interrupts(self) -> Iterator[None]:
        """Raise the flag at the first Ctrl-C, and say so on standard error; a second one interrupts at once."""

        def note() -> None:
            if self.reason == "interrupt" or self.has_delayed:
                raise KeyboardInterrupt
            # a signal handler cannot write to a stream that is being written to, and others may be closed
            with suppress(RuntimeError, OSError, ValueError):
                print(_STOPPING, file=sys.stderr, flush=True)
            if self.delays_interrupts:
                self.has_delayed = True
            else:
                self.raise_for("interrupt")

        with noting_interrupts(note):
            yield


class DaemonThreads(Executor):
    """Threads that the end of the interpreter does not wait for, one for every call."""

    def submit(self, function: Callable[..., R], /, *args: Any, **options: Any) -> Future[R]:
        """Return the future of a call that begins at once."""
        future: Future[R] = Future()

        def call() -> None:
            try:
                result = function(*args, **options)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        Thread(target=call, name="gomea-bn", daemon=True).start()
        return future


class Workers:
    """Threads that take blocks of work in turn, while the main thread watches signals and the deadline.

    Threads that `may_wait` for somebody outside do not keep the interpreter from ending.
    """

    def __init__(self, n_threads: int, stop: StopFlag, *, may_wait: bool = False) -> None:
        self.n_threads = n_threads
        self.stop = stop
        self._pool: Executor = (
            DaemonThreads() if may_wait else ThreadPoolExecutor(n_threads, thread_name_prefix="gomea-bn")
        )

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.stop.raise_for("error")
        # after an error, such as Ctrl-C during compilation, there is no waiting for work that cannot be stopped
        self._pool.shutdown(wait=error is None, cancel_futures=True)

    def run(
        self, task: Callable[[int, int], Any], n_blocks: int, *, n_threads: int, inline: bool, n_certain: int
    ) -> None:
        """Call ``task(thread, block)`` for every block, in order of blocks, until the flag is raised.

        `n_threads` share the blocks; `inline` work, shorter than starting it on another thread, runs in the calling
        thread. The first `n_certain` blocks are called even if the flag is raised. Threads that the work of a single
        one leaves idle are spare ones of `in_spare_threads`.
        """
        blocks = itertools.count()
        n_working = min(n_threads, n_blocks)
        n_spare = self.n_threads - 1 if n_working == 1 else 0

        def work(thread: int) -> None:
            while (block := next(blocks)) < n_blocks and (block < n_certain or not self.stop.flag[0]):
                task(thread, block)

        if inline:
            work(0)
            self.stop.check_deadline()
            return

        def work_alone_or_not(thread: int) -> None:
            with _with_spare(self._pool, n_spare):
                work(thread)

        pending = {self._pool.submit(work_alone_or_not, thread) for thread in range(n_working)}
        while pending:
            done, pending = wait(pending, timeout=POLL_SECONDS)
            for future in done:
                future.result()
            self.stop.check_deadline()


@contextmanager
def thread_pool(n_threads: int = -1) -> Iterator[Executor]:
    """Give some threads, in which a product of matrices takes one thread; -1 stands for one per core.

    At the end, which Ctrl-C or an error may cause, calls that have not begun are left out.
    """
    pool = ThreadPoolExecutor(thread_count(n_threads), thread_name_prefix="gomea-bn")
    try:
        with one_blas_thread():
            yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def in_threads(function: Callable[[T], R], items: Iterable[T], *, n_threads: int = -1) -> list[R]:
    """Return what a function returns for every item, in their order, from some threads; -1 stands for one per core.

    With 1 it is the calling thread. Threads pay for functions that sort or add large arrays, which NumPy does without
    holding the lock of the interpreter.
    """
    if n_threads == 1:
        return [function(item) for item in items]
    with thread_pool(n_threads) as pool:
        return list(pool.map(function, items))


@contextmanager
def spare_threads(n_threads: int) -> Iterator[None]:
    """Let `in_spare_threads` use `n_threads` threads, of which the calling one is one."""
    if n_threads == 1:
        yield
        return
    pool = ThreadPoolExecutor(n_threads - 1, thread_name_prefix="gomea-bn")
    try:
        with _with_spare(pool, n_threads - 1):
            yield
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _with_spare(pool: Executor, n_threads: int) -> Iterator[None]:
    """Let the calling thread use threads of a pool as spare ones."""
    before = getattr(_spare, "threads", None)
    _spare.threads = (pool, n_threads) if n_threads else None
    try:
        yield
    finally:
        _spare.threads = before


def n_spare_threads() -> int:
    """Return the number of threads that help the calling one in `in_spare_threads`."""
    threads = getattr(_spare, "threads", None)
    return 0 if threads is None else int(threads[1])


def in_spare_threads(function: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Return what a function returns for every item, in their order; threads that have nothing to do help.

    The calling thread takes items like the others, and waits for none that has not begun. Without spare threads, those
    of `spare_threads` and of a task of `Workers`, it takes all. Spare threads have none of their own.
    """
    given = list(items)
    threads = getattr(_spare, "threads", None)
    if threads is None or len(given) < 2:
        return [function(item) for item in given]
    pool, n_threads = threads
    results: dict[int, R] = {}
    waiting = deque(enumerate(given))

    def work() -> None:
        try:
            while True:
                try:
                    number, item = waiting.popleft()
                except IndexError:
                    return
                results[number] = function(item)
        except BaseException:
            waiting.clear()
            raise

    helpers = [pool.submit(work) for _ in range(min(n_threads, len(given) - 1))]
    try:
        work()
    finally:
        wait([helper for helper in helpers if not helper.cancel()])
    for helper in helpers:
        if not helper.cancelled():
            helper.result()
    return [results[number] for number in range(len(given))]


def in_background(function: Callable[[T], R], item: T) -> Future[R]:
    """Return the future of a call in a thread of its own; its `result` waits, and raises the error of the call."""
    pool = ThreadPoolExecutor(1, thread_name_prefix="gomea-bn")
    future = pool.submit(function, item)
    # the thread ends after the call
    pool.shutdown(wait=False)
    return future


def one_blas_thread() -> AbstractContextManager[object]:
    """Return a context in which a product of matrices takes one thread.

    On a machine with other work the threads of OpenBLAS wait for each other, which takes up to a hundred times as long.
    """
    limited: AbstractContextManager[object] = _blas_libraries().limit(limits=1, user_api="blas")
    return limited


@cache
def _blas_libraries() -> Any:
    """Return what sets the threads of the libraries, which takes milliseconds to find."""
    # SciPy brings a library of its own with its linear algebra
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def thread_count(n_jobs: int | None) -> int:
    """Return the number of threads that `n_jobs` stands for: None is 1, -1 the number of cores of the process.

    It is at most the number of cores, or 16 where there are fewer: every thread takes memory, and results do not depend
    on the number.
    """
    if n_jobs is None:
        return 1
    if not is_integer(n_jobs) or (n_jobs < 1 and n_jobs != -1):
        raise GomeaBnError(f"n_jobs must be None, -1 or an integer of at least 1, got {n_jobs!r}.")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    # largest number of threads on a machine with fewer cores
    return cores if n_jobs == -1 else min(int(n_jobs), max(cores, 16))


def zeros_by_pages(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array of zeros of which only the written parts take memory, in the pages of the system.

    NumPy asks for pages of 2 MiB, so that one written row of 100 kB takes 2 MiB, and the time to fill them with zeros.
    """
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    if n_bytes < _BYTES_OF_HUGE_PAGES:
        return np.zeros(shape, dtype)
    # a forked process gets a copy, as of other arrays
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    return np.frombuffer(mmap.mmap(-1, n_bytes, **private), dtype).reshape(shape)
