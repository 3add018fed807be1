"""The command that runs the published experiments."""

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
    name: Annotated[str, typer.Argument(help="An experiment, all, or list.")],
    nets: Annotated[int | None, typer.Option(min=1, help="Repetitions: networks, samples, foldings.")] = None,
    sizes: Annotated[str | None, typer.Option(help="200,800: what the experiment grows.")] = None,
    algorithms: Annotated[str | None, typer.Option(help="EW,EF: what is compared.")] = None,
    variants: Annotated[str | None, typer.Option(help="Laws or kinds of networks, tables, problems.")] = None,
    seconds: Annotated[float | None, typer.Option(min=0.01, help="Limit of one search.")] = None,
    evaluations: Annotated[
        int | None,
        typer.Option(min=1, help="Limit of one search, instead of seconds: two runs give equal rows."),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="From which all seeds are counted.")] = None,
    full: Annotated[
        bool, typer.Option("--full", help="The sizes of the publication, a minute or two a search.")
    ] = False,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler; by default processes here.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes here; by default one a core.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue what the folder holds.")] = False,
    accept_changes: Annotated[
        bool, typer.Option("--accept-changes", help="Resume with other options; fitting rows are kept.")
    ] = False,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Report the rows that are there, run nothing.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder; every experiment gets one of its own in it.")] = Path(
        "results"
    ),
    summary: Annotated[
        Path | None, typer.Option(help="Markdown file of all experiments in the folder; by default in it.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Run a published experiment and report its numbers beside ours.

    Every finished run is written at once; Ctrl-C keeps them, and --resume goes on. Exit codes: 0 done, 1 a run failed
    or nothing could be written, 2 wrong use, 130 interrupted.
    """
    from gomea_bn.experiments.runner.page import write_summary
    from gomea_bn.experiments.runner.registry import experiment, experiments
    from gomea_bn.experiments.runner.results import ResultFolder
    from gomea_bn.experiments.runner.run import report_only as report_again
    from gomea_bn.experiments.runner.run import run_experiment

    tell = silent if quiet else say
    try:
        if name == "list":
            for one in experiments().values():
                say(f"{one.name:<10} {one.title}. {one.source}", to_error=False)
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
        plans = {one.name: one.planned(full=full, **changes) for one in chosen}
        resume = resume or accept_changes
        if report_only and name == "all":
            chosen = _with_results(chosen, out)
        for one in chosen if not report_only else ():  # all of them, before hours of runs
            described = one.describe(plans[one.name])
            ResultFolder(out / one.name).check(described, resume=resume, accept_changes=accept_changes)
        n_failed = 0
        for one in chosen:
            folder = out / one.name
            if report_only:
                outcome = report_again(one, folder)
            else:
                plan = plans[one.name]
                if one.prepare is not None and scheduler is None:
                    compile_first(one.prepare, tell)
                with _progress(one.name, quiet) as progress:
                    outcome = run_experiment(
                        one,
                        plan,
                        folder,
                        resume=resume,
                        accept_changes=accept_changes,
                        scheduler=scheduler,
                        n_workers=workers or cores(),
                        progress=progress,
                    )
            _tell(outcome, folder)
            n_failed += len(outcome.failures)
        write_summary(out, list(experiments()), written)
    except GomeaBnError as error:
        fail(str(error), WRONG_USE)
    except OSError as error:
        fail(f"Cannot write into '{out}': {error.strerror or error}.", FAILED)
    except KeyboardInterrupt:
        fail(f"Interrupted; finished runs are in '{out}', and --resume goes on.", INTERRUPTED)
    if n_failed:
        fail(f"{n_failed} runs failed twice; their tracebacks are in rows.jsonl and in the report.", FAILED)


def _check(
    changes: Mapping[str, Any],
    full: bool,
    report_only: bool,
    scheduler: str | None,
    workers: int | None,
    summary: Path | None,
) -> None:
    """Refuse options that do not go together, and a summary that could not be written after hours of runs."""
    given = [f"--{name}" for name, value in changes.items() if value is not None]
    if report_only and (given or full):
        raise GomeaBnError(
            f"--report-only reports what the folder was run with; leave out {', '.join(given) or '--full'}."
        )
    if scheduler is not None and workers is not None:
        raise GomeaBnError("--workers is of processes here; leave it out with --scheduler.")
    if summary is not None and (summary.is_dir() or not summary.absolute().parent.is_dir()):
        raise GomeaBnError(f"--summary must be a file in a folder that exists, got '{summary}'.")


def _with_results(chosen: Sequence[Experiment], out: Path) -> list[Experiment]:
    """Return the experiments that have a folder, and tell of the others."""
    found = [one for one in chosen if (out / one.name).is_dir()]
    if not found:
        raise GomeaBnError(f"'{out}' holds no results; run an experiment first.")
    if absent := [one.name for one in chosen if one not in found]:
        say(f"Not run yet: {', '.join(absent)}.")
    return found


def _tell(outcome: Outcome, folder: Path) -> None:
    """Print what there is, and the claims with their verdicts."""
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
    """Give a function that draws how far a run is; silent where the output is not a terminal."""
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
            told = f"{name}, {n_failed} failed" if n_failed else name
            bar.update(shown, completed=n_done, total=n_tasks, description=told)

        yield draw


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def _numbers(text: str | None) -> tuple[int, ...] | None:
    try:
        return None if text is None else tuple(int(part) for part in text.split(","))
    except ValueError:
        raise GomeaBnError(f"--sizes must be integers with commas between, got {text!r}.") from None
