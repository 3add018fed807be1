"""The command `bench`, which runs the published experiments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gomea_bn.cli.output import FAILED, INTERRUPTED, WRONG_USE, fail, say, silent
from gomea_bn.cli.running import compile_first, cores
from gomea_bn.errors import GomeaBnError

if TYPE_CHECKING:
    from gomea_bn.experiments.runner.experiment import Experiment
    from gomea_bn.experiments.runner.run import Outcome

__all__ = ["bench"]


def bench(
    name: Annotated[str, typer.Argument(help="Name of an experiment, or all, or list.")],
    nets: Annotated[
        int | None, typer.Option(min=1, help="Number of repetitions: networks, samples, or orders of folds.")
    ] = None,
    sizes: Annotated[str | None, typer.Option(help="Numbers of rows or variables, such as 200,800.")] = None,
    algorithms: Annotated[str | None, typer.Option(help="Compared algorithms, such as EW,EF.")] = None,
    variants: Annotated[
        str | None, typer.Option(help="Laws or kinds of networks, tables, or problems.")
    ] = None,
    seconds: Annotated[float | None, typer.Option(min=0.01, help="Limit of one search in seconds.")] = None,
    evaluations: Annotated[
        int | None,
        typer.Option(
            min=1, help="Limit of one search in evaluations, instead of seconds; two runs give equal rows."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Number from which all seeds are counted.")] = None,
    full: Annotated[
        bool,
        typer.Option("--full", help="Use the sizes of the publication, with a minute or two per search."),
    ] = False,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler; by default processes of this machine.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Number of processes of this machine; by default one per core.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in the folder.")] = False,
    accept_changes: Annotated[
        bool,
        typer.Option(
            "--accept-changes", help="Resume with other options; rows that still belong to the run are kept."
        ),
    ] = False,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Report the rows in the folder; run nothing.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder of results; every experiment has a folder in it.")] = Path(
        "results"
    ),
    summary: Annotated[
        Path | None,
        typer.Option(help="Markdown file about all experiments in the folder; by default results.md in it."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Run a published experiment and report its numbers next to ours.

    Every finished run is written at once. Ctrl-C keeps finished runs, and --resume continues. Exit codes: 0 done, 1 a
    run failed or nothing could be written, 2 wrong use, 130 interrupted.
    """
    from gomea_bn.experiments.runner.page import write_summary
    from gomea_bn.experiments.runner.registry import experiment, experiments
    from gomea_bn.experiments.runner.results import ResultFolder
    from gomea_bn.experiments.runner.run import report_only as report_again
    from gomea_bn.experiments.runner.run import run_experiment

    tell = silent if quiet else say
    try:
        if name == "list":
            for listed in experiments().values():
                say(f"{listed.name:<10} {listed.title}. {listed.source}", to_error=False)
            return
        chosen = list(experiments().values()) if name == "all" else [experiment(name)]
        changes = {
            "nets": nets,
            "sizes": _numbers(sizes),
            "algorithms": _names(algorithms),
            "variants": _names(variants),
            "seconds": seconds,
            "evaluations": evaluations,
            "seed": seed,
        }
        written = summary or out / "results.md"
        _check(changes, full, report_only, scheduler, workers, summary)
        plans = {item.name: item.planned(full=full, **changes) for item in chosen}
        resume = resume or accept_changes
        if report_only and name == "all":
            chosen = _with_results(chosen, out)
        for item in chosen if not report_only else ():  # all of them, before hours of runs
            described = item.describe(plans[item.name])
            ResultFolder(out / item.name).check(described, resume=resume, accept_changes=accept_changes)
        n_failed = 0
        for item in chosen:
            folder = out / item.name
            if report_only:
                outcome = report_again(item, folder)
            else:
                plan = plans[item.name]
                if item.prepare is not None and scheduler is None:
                    compile_first(item.prepare, tell)
                with _progress(item.name, quiet) as progress:
                    outcome = run_experiment(
                        item,
                        plan,
                        folder,
                        resume=resume,
                        accept_changes=accept_changes,
                        scheduler=scheduler,
                        n_workers=workers or cores(),
                        progress=progress,
                    )
            _print_outcome(outcome, folder)
            n_failed += len(outcome.failures)
        write_summary(out, list(experiments()), written)
    except GomeaBnError as error:
        fail(str(error), WRONG_USE)
    except OSError as error:
        fail(f"Cannot write into '{out}': {error.strerror or error}.", FAILED)
    except KeyboardInterrupt:
        fail(f"Interrupted. Finished runs are in '{out}'; --resume continues.", INTERRUPTED)
    if n_failed:
        fail(f"{n_failed} runs failed twice. Their tracebacks are in rows.jsonl and in the report.", FAILED)


def _check(
    changes: Mapping[str, Any],
    full: bool,
    report_only: bool,
    scheduler: str | None,
    workers: int | None,
    summary: Path | None,
) -> None:
    """Raise for options that exclude each other, and for a summary that could not be written after hours of runs."""
    given = [f"--{name}" for name, value in changes.items() if value is not None]
    if report_only and (given or full):
        raise GomeaBnError(
            f"--report-only uses the options of the folder's run; leave out {', '.join(given) or '--full'}."
        )
    if scheduler is not None and workers is not None:
        raise GomeaBnError(
            "--workers is the number of processes of this machine; leave it out with --scheduler."
        )
    if summary is not None and (summary.is_dir() or not summary.absolute().parent.is_dir()):
        raise GomeaBnError(f"--summary must be a file in an existing folder, got '{summary}'.")


def _with_results(chosen: Sequence[Experiment], out: Path) -> list[Experiment]:
    """Return the experiments that have a folder, and print the others."""
    present = [item for item in chosen if (out / item.name).is_dir()]
    if not present:
        raise GomeaBnError(f"'{out}' has no results; run an experiment first.")
    if absent := [item.name for item in chosen if item not in present]:
        say(f"Not run yet: {', '.join(absent)}.")
    return present


def _print_outcome(outcome: Outcome, folder: Path) -> None:
    """Print the number of runs, and the claims with their verdicts."""
    from gomea_bn.experiments.runner.page import claims_sheet
    from gomea_bn.experiments.runner.statistics import NOT_RUN

    say(f"{len(outcome.rows)} of {outcome.n_tasks} runs; report: {folder / 'report.html'}", to_error=False)
    claims = claims_sheet(outcome.report).rows
    run = [row for row in claims if row[4] != NOT_RUN]
    for what, paper, ours, setting, said, _ in run:
        say(f"  {said:<15} {what}: paper {paper}, ours {ours} ({setting})", to_error=False)
    if len(run) < len(claims):
        say(
            f"  {len(claims) - len(run)} published numbers have no runs here; see the report.", to_error=False
        )


@contextmanager
def _progress(name: str, quiet: bool) -> Iterator[Callable[[int, int, int], object]]:
    """Give a function that draws the progress of a run; it is silent if the output is not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda _done, _tasks, _failed: None
        return
    columns: tuple[Any, ...] = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console) as bar:
        shown = bar.add_task(name)

        def draw(n_done: int, n_tasks: int, n_failed: int) -> None:
            description = f"{name}, {n_failed} failed" if n_failed else name
            bar.update(shown, completed=n_done, total=n_tasks, description=description)

        yield draw


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def _numbers(text: str | None) -> tuple[int, ...] | None:
    try:
        return None if text is None else tuple(int(part) for part in text.split(","))
    except ValueError:
        raise GomeaBnError(f"--sizes must be integers separated by commas, got {text!r}.") from None
