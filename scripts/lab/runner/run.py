"""One experiment from its plan to its report: missing tasks are run, on Dask or in turn, and finished ones are kept."""

import os
import secrets
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from gomea_bn import __version__
from gomea_bn.errors import GomeaBnError
from gomea_bn.runtime.cluster import connected, distributed
from lab.runner.experiment import Experiment, Measured, Options, Plan, Row, Task, plain, task_key
from lab.runner.page import write_report
from lab.runner.report import Report
from lab.runner.results import ResultFolder, failed


@dataclass(frozen=True)
class Outcome:
    """Rows of a run in the order of the tasks, the report, and the number of tasks."""

    rows: list[Row]
    report: Report
    n_tasks: int

    @property
    def failures(self) -> list[Row]:
        """Return the rows of the tasks that failed."""
        return [row for row in self.rows if failed(row)]


def run_experiment(
    experiment: Experiment,
    plan: Plan | Options,
    folder: Path,
    *,
    resume: bool = False,
    accept_changes: bool = False,
    scheduler: str | None = None,
    n_workers: int | None = None,
    in_turn: bool = False,
    progress: Callable[[int, int, int], object] = lambda n_done, n_tasks, n_failed: None,
) -> Outcome:
    """Run the tasks without a row, and report all rows of the folder; see `ResultFolder`.

    `resume` continues the rows in the folder, `accept_changes` also those of another description. Tasks run on a Dask
    scheduler, on `n_workers` processes of this machine, by default one per core, or `in_turn` in this process, as those
    of some experiments always do. `progress` is called with the numbers of finished tasks, of all and of failed ones.
    Rows of finished tasks are kept when a run ends by an exception or by Ctrl-C.
    """
    results = ResultFolder(folder)
    tasks = experiment.expand(plan)
    description = experiment.describe(plan)
    results.check(description, resume=resume, accept_changes=accept_changes)
    with results.locked():
        results.open(description, resume=resume, accept_changes=accept_changes)
        missing = results.missing(tasks)
        n_done, n_failed = len(tasks) - len(missing), 0
        progress(n_done, len(tasks), n_failed)

        def finished(row: Row) -> None:
            nonlocal n_done, n_failed
            results.add(row)
            n_done, n_failed = n_done + 1, n_failed + failed(row)
            progress(n_done, len(tasks), n_failed)

        try:
            if missing and (in_turn or experiment.in_turn):
                run_in_turn(experiment.measure, missing, finished)
            elif missing:
                with connected(scheduler, n_workers) as client:
                    run_tasks(client, experiment.measure, missing, finished)
        finally:
            rows = results.merge(tasks)
        return Outcome(rows, write_report(folder, experiment, plan, rows, len(tasks) - len(rows)), len(tasks))


def report_only(experiment: Experiment, folder: Path) -> Outcome:
    """Report the rows that a folder has under its own description; no task is run.

    A folder without results of this experiment and revision, or that another process writes into, is a `GomeaBnError`.
    """
    results = ResultFolder(folder)
    described = results.description()
    if described is None or described.get("experiment") != experiment.name:
        raise GomeaBnError(f"'{folder}' holds no results of {experiment.name}; run it first.")
    plan = experiment.described(described)
    if described.get("revision") != experiment.revision:
        raise GomeaBnError(
            f"'{folder}' holds rows of another revision of {experiment.name}; run it again with --accept-changes."
        )
    tasks = experiment.expand(plan)
    with results.locked():
        rows = results.merge(tasks)
        return Outcome(rows, write_report(folder, experiment, plan, rows, len(tasks) - len(rows)), len(tasks))


ATTEMPTS = 2
"""Number of times that a failing task is run in all."""


def attempt(measure: Callable[[Task], Measured | dict[str, Any]], task: Task) -> Row:
    """Return the row of a task; it holds the traceback of an exception, and the texts of warnings."""
    row: Row = {"key": task_key(task), "task": task, "version": __version__}
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
    return row


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
        "version": __version__,
        "error": f"The task was lost: {lost}",
    }
