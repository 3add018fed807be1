"""Independent tasks of experiments, on Dask or one after another."""

import os
import secrets
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

from gomea_bn.runtime.cluster import distributed
from gomea_bn.runtime.environment import machine
from gomea_bn.runtime.sources import __version__, source_digest
from lab.runner.experiment import Measured, Row, Task, plain, task_key

ATTEMPTS = 2
"""Number of times that a failing task is run in all."""


def attempt(measure: Callable[[Task], Measured | dict[str, Any]], task: Task) -> Row:
    """Return the row of a task; it holds the traceback of an exception, and the texts of warnings."""
    row: Row = {"key": task_key(task), "task": task}
    began = perf_counter()
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)  # of libraries, for their own callers
        try:
            result = measure(dict(task))
            measured = result if isinstance(result, Measured) else Measured(result, {})
            row["measured"] = plain(measured.values)
            row["seconds"] = {**plain(measured.seconds), "task": perf_counter() - began}
        except Exception:
            row["error"] = _portable(traceback.format_exc())
            row.pop("measured", None)
    if texts := list(dict.fromkeys(str(warning.message) for warning in noted)):
        row["warnings"] = texts
    return {**row, **_origin()}


def _origin() -> dict[str, Any]:
    """Return the fields of a row that say which code made it, when and where."""
    return {
        "version": __version__,
        "sources": source_digest(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
    }


def _portable(text: str) -> str:
    """Return a traceback with paths relative to Python's folders, since results are shared."""
    roots = {os.path.abspath(root) + os.sep for root in sys.path if root}
    for root in sorted(roots | {os.getcwd() + os.sep}, key=len, reverse=True):
        text = text.replace(f'File "{root}', 'File "')
    return text


def run_in_turn(
    measure: Callable[[Task], Measured | dict[str, Any]],
    tasks: Sequence[Task],
    finished: Callable[[Row], object],
) -> None:
    """Run tasks one after another in this process; `finished` is called with every row, as by `run_tasks`."""
    for task in tasks:
        row = attempt(measure, task)
        n_tried = 1
        while "error" in row and n_tried < ATTEMPTS:
            row, n_tried = attempt(measure, task), n_tried + 1
        finished({**row, "attempts": n_tried})


def run_tasks(
    client: Any,
    measure: Callable[[Task], Measured | dict[str, Any]],
    tasks: Sequence[Task],
    finished: Callable[[Row], object],
) -> int:
    """Run tasks on a cluster, hand over every row as soon as its task ends, and return the number of failed ones.

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

    ended = distributed().as_completed([submit(task, 1) for task in tasks])
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
        "error": f"The task was lost: {lost}",
        **_origin(),
    }
