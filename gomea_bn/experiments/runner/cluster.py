"""Independent tasks on Dask: processes of this machine, or any cluster by its scheduler's address."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from multiprocessing import resource_tracker
from time import perf_counter
from typing import Any

from gomea_bn import __version__
from gomea_bn.errors import GomeaBnError
from gomea_bn.experiments.runner.experiment import Measured, Row, Task, plain, task_key

__all__ = ["attempt", "connected", "run_tasks"]

ATTEMPTS = 2
"""How often a task that fails is run in all."""

CONNECT_SECONDS = 10.0
"""How long a scheduler may take to answer, and its first worker to appear."""

_SETTINGS = {
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.scheduler.allowed-failures": 0,
    "distributed.worker.profile.enabled": False,
}
"""No task waits at a worker, so a worker that dies takes one task along; `run_tasks` tries that one again."""


def attempt(measure: Callable[[Task], Measured], task: Task) -> Row:
    """Return the row of a task; an exception becomes a row with its traceback, warnings become texts in it."""
    row: Row = {"key": task_key(task), "task": task, "version": __version__}
    began = perf_counter()
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)  # of libraries, for their own callers
        try:
            found = measure(dict(task))
            row["measured"] = plain(found.values)
            row["seconds"] = {**plain(found.seconds), "task": perf_counter() - began}
        except Exception:
            row["error"] = _portable(traceback.format_exc())
            row.pop("measured", None)
    if told := list(dict.fromkeys(str(one.message) for one in noted)):
        row["warnings"] = told
    return row


def _portable(told: str) -> str:
    """Return a traceback with the files' paths from where Python finds them: results are shared."""
    roots = {os.path.abspath(root) + os.sep for root in sys.path if root}
    for root in sorted(roots | {os.getcwd() + os.sep}, key=len, reverse=True):
        told = told.replace(f'File "{root}', 'File "')
    return told


def _distributed() -> Any:
    try:
        return import_module("distributed")
    except ImportError:
        raise GomeaBnError('Benchmarks need Dask: pip install "gomea-bn[experiments]".') from None


@contextmanager
def connected(scheduler: str | None = None, n_workers: int | None = None) -> Iterator[Any]:
    """Give a Dask client; without an address of processes on this machine, one task at a time in each.

    Raises
    ------
    GomeaBnError
        If Dask is not installed, no scheduler answers at the address, or it has no worker.
    """
    dask = _distributed()
    if scheduler is not None:
        try:
            client = dask.Client(scheduler, timeout=CONNECT_SECONDS)
        except (OSError, ValueError) as error:
            raise GomeaBnError(f"No Dask scheduler answers at {scheduler!r}: {error}.") from error
        with client:
            try:
                client.wait_for_workers(1, timeout=CONNECT_SECONDS)
            except TimeoutError:
                raise GomeaBnError(
                    f"The Dask scheduler at {scheduler!r} has no workers; start some of one thread: dask worker "
                    f"{scheduler} --nthreads 1."
                ) from None
            yield client
        return
    with ExitStack() as stack:
        stack.enter_context(import_module("dask").config.set(_SETTINGS))
        with _interrupted_later():
            cluster = dask.LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                memory_limit=None,
                silence_logs=logging.CRITICAL,  # a lost task is told in its row
            )
            client = stack.enter_context(dask.Client(stack.enter_context(cluster)))
        yield client


@contextmanager
def _interrupted_later() -> Iterator[None]:
    """Let Ctrl-C wait for what is done inside, since half a cluster cannot be closed.

    Threads and processes that are started inside never see it: a terminal sends it to all, and the main one ends them.
    """
    former = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or former == signal.SIG_IGN:
        yield
        return
    resource_tracker.ensure_running()  # which unblocks Ctrl-C where it starts
    noted: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _frame: noted.append(number))
    masks = hasattr(signal, "pthread_sigmask")
    former_mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if masks else set()
    try:
        yield
    finally:
        if masks:
            signal.pthread_sigmask(signal.SIG_SETMASK, former_mask)
        signal.signal(signal.SIGINT, former)
    if noted:
        raise KeyboardInterrupt


def run_tasks(
    client: Any,
    measure: Callable[[Task], Measured],
    tasks: Sequence[Task],
    finished: Callable[[Row], object],
) -> int:
    """Run tasks on a cluster and return how many failed.

    Parameters
    ----------
    client : distributed.Client
    measure : callable
    tasks : sequence of dict
    finished : callable
        Gets every row as soon as its task is done, in the order in which they end.

    Notes
    -----
    A failed task runs once more; failing again, its row holds the traceback of the last time. A task whose worker
    dies (of memory, say) counts as failed like one that raises.
    """
    run = secrets.token_hex(4)  # other clients of the same scheduler may ask for the same tasks
    running: dict[str, tuple[Task, int]] = {}

    def submit(task: Task, n_tried: int) -> Any:
        future = client.submit(attempt, measure, task, key=f"{run}-{task_key(task)}-{n_tried}")
        running[future.key] = (task, n_tried)
        return future

    ended = _distributed().as_completed([submit(task, 1) for task in tasks])
    n_failed = 0
    try:
        for future in ended:
            task, n_tried = running.pop(future.key)
            row = _outcome(future, task)
            if "error" in row and n_tried < ATTEMPTS:
                ended.add(submit(task, n_tried + 1))
                continue
            n_failed += "error" in row
            finished({**row, "attempts": n_tried})
    except BaseException:
        ended.clear()
        raise
    return n_failed


def _outcome(future: Any, task: Task) -> Row:
    """Return the row that a future holds, or one that says how it was lost."""
    if future.status == "finished":
        row: Row = future.result()
        return row
    lost = future.exception() if future.status == "error" else "the task was cancelled"
    return {
        "key": task_key(task),
        "task": task,
        "version": __version__,
        "error": f"The task was lost: {lost}",
    }
