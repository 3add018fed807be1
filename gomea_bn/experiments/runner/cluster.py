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
from gomea_bn.runtime.interrupts import noting_interrupts

__all__ = ["attempt", "connected", "run_tasks"]

ATTEMPTS = 2
"""Number of times that a failing task is run in all."""

CONNECT_SECONDS = 10.0
"""Limit of the time until a scheduler answers, and until its first worker appears."""

_SETTINGS = {
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.scheduler.allowed-failures": 0,
    "distributed.worker.profile.enabled": False,
}
"""No task waits at a worker, so a dying worker loses one task only; `run_tasks` runs that one again."""


def attempt(measure: Callable[[Task], Measured], task: Task) -> Row:
    """Return the row of a task; it holds the traceback of an exception, and the texts of warnings."""
    row: Row = {"key": task_key(task), "task": task, "version": __version__}
    began = perf_counter()
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)  # of libraries, for their own callers
        try:
            measured = measure(dict(task))
            row["measured"] = plain(measured.values)
            row["seconds"] = {**plain(measured.seconds), "task": perf_counter() - began}
        except Exception:
            row["error"] = _portable(traceback.format_exc())
            row.pop("measured", None)
    if texts := list(dict.fromkeys(str(warning.message) for warning in noted)):
        row["warnings"] = texts
    return row


def _portable(text: str) -> str:
    """Return a traceback with paths relative to Python's folders, since results are shared."""
    roots = {os.path.abspath(root) + os.sep for root in sys.path if root}
    for root in sorted(roots | {os.getcwd() + os.sep}, key=len, reverse=True):
        text = text.replace(f'File "{root}', 'File "')
    return text


def _distributed() -> Any:
    try:
        return import_module("distributed")
    except ImportError:
        raise GomeaBnError('Experiments need Dask: pip install "gomea-bn[experiments]".') from None


@contextmanager
def connected(scheduler: str | None = None, n_workers: int | None = None) -> Iterator[Any]:
    """Give a Dask client of a scheduler, or without an address of processes on this machine.

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
                silence_logs=logging.CRITICAL,  # the row of a lost task says so
            )
            client = stack.enter_context(dask.Client(stack.enter_context(cluster)))
        yield client


@contextmanager
def _interrupted_later() -> Iterator[None]:
    """Let Ctrl-C wait for the end of the block, since half a cluster cannot be closed.

    Threads and processes that are started in the block never see Ctrl-C, which a terminal sends to all of them; the
    main process ends them.
    """
    former = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or former == signal.SIG_IGN:
        yield
        return
    # its start unblocks Ctrl-C, so it starts first
    resource_tracker.ensure_running()
    noted: list[bool] = []
    masks = hasattr(signal, "pthread_sigmask")
    with noting_interrupts(lambda: noted.append(True)):
        former_mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if masks else set()
        try:
            yield
        finally:
            if masks:
                signal.pthread_sigmask(signal.SIG_SETMASK, former_mask)
    if noted:
        raise KeyboardInterrupt


def run_tasks(
    client: Any,
    measure: Callable[[Task], Measured],
    tasks: Sequence[Task],
    finished: Callable[[Row], object],
) -> int:
    """Run tasks on a cluster and return the number of failed ones.

    Parameters
    ----------
    client : distributed.Client
    measure : callable
    tasks : sequence of dict
    finished : callable
        Called with every row as soon as its task ends.

    Notes
    -----
    A failed task runs a second time. If it fails again, its row holds the last traceback. A task whose worker dies, for
    example because memory ran out, counts as failed.
    """
    # other clients of the same scheduler may submit equal tasks
    run = secrets.token_hex(4)
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
    """Return the row of a future, or a row that says how the task was lost."""
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
