"""One experiment from its plan to its report: what is missing is run, what is there is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gomea_bn.errors import GomeaBnError
from gomea_bn.experiments.runner.cluster import connected, run_tasks
from gomea_bn.experiments.runner.experiment import Experiment, Plan, Row
from gomea_bn.experiments.runner.page import write_report
from gomea_bn.experiments.runner.report import Report
from gomea_bn.experiments.runner.results import ResultFolder, failed

__all__ = ["Outcome", "report_only", "run_experiment"]


@dataclass(frozen=True)
class Outcome:
    """What a run left: its rows in the order of the tasks, the report, and how many tasks there are."""

    rows: list[Row]
    report: Report
    n_tasks: int

    @property
    def failures(self) -> list[Row]:
        """Return the rows of the tasks that failed."""
        return [row for row in self.rows if failed(row)]


def run_experiment(
    experiment: Experiment,
    plan: Plan,
    folder: Path,
    *,
    resume: bool = False,
    accept_changes: bool = False,
    scheduler: str | None = None,
    n_workers: int | None = None,
    progress: Callable[[int, int, int], object] = lambda n_done, n_tasks, n_failed: None,
) -> Outcome:
    """Run the tasks that have no row yet, and report all.

    Parameters
    ----------
    experiment : Experiment
    plan : Plan
    folder : Path
        For rows and report; see `ResultFolder`.
    resume, accept_changes : bool
        Continue what is in the folder, even of another description.
    scheduler : str, optional
        Address of a Dask scheduler; by default processes on this machine.
    n_workers : int, optional
        How many processes; by default one per core.
    progress : callable
        Gets the numbers of tasks done, of all tasks and of failed ones.

    Notes
    -----
    However a run ends, an exception or Ctrl-C included, the rows of finished tasks are kept.
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
            if missing:
                with connected(scheduler, n_workers) as client:
                    run_tasks(client, experiment.measure, missing, finished)
        finally:
            rows = results.merge(tasks)
        return Outcome(rows, write_report(folder, experiment, plan, rows, len(tasks) - len(rows)), len(tasks))


def report_only(experiment: Experiment, folder: Path) -> Outcome:
    """Report the rows that a folder has under its own description, running nothing.

    Raises
    ------
    GomeaBnError
        If the folder holds no results of this experiment or of its present revision, or another process writes into it.
    """
    results = ResultFolder(folder)
    described = results.description()
    if described is None or described.get("experiment") != experiment.name:
        raise GomeaBnError(f"'{folder}' holds no results of {experiment.name}; run it first.")
    plan = Plan.of(described)
    if described.get("revision") != experiment.revision:
        raise GomeaBnError(
            f"'{folder}' holds rows of another revision of {experiment.name}; run it again with --accept-changes."
        )
    tasks = experiment.expand(plan)
    with results.locked():
        rows = results.merge(tasks)
        return Outcome(rows, write_report(folder, experiment, plan, rows, len(tasks) - len(rows)), len(tasks))
