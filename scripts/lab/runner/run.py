"""One experiment from its plan to its report: missing tasks are run, finished ones are kept."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gomea_bn.errors import GomeaBnError
from gomea_bn.runtime.cluster import connected
from lab.runner.cluster import run_in_turn, run_tasks
from lab.runner.experiment import Experiment, Options, Plan, Row
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
