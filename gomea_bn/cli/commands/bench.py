"""The command `bench`: run published experiments and report their numbers next to ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gomea_bn.cli.output import FAILED, INTERRUPTED, WRONG_USE, check_targets, fail, say, silent
from gomea_bn.cli.running import compile_first
from gomea_bn.errors import GomeaBnError

if TYPE_CHECKING:
    from gomea_bn.experiments.runner.experiment import Experiment
    from gomea_bn.experiments.runner.run import Outcome

__all__ = ["bench"]


def bench(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of an experiment, all, or list.")],
    nets: Annotated[
        int | None, typer.Option(min=1, help="Number of repetitions: networks, samples, foldings.")
    ] = None,
    sizes: Annotated[
        str | None, typer.Option(help="200,800: sizes of what the experiment varies, such as rows.")
    ] = None,
    algorithms: Annotated[str | None, typer.Option(help="EW,EF: algorithms to compare.")] = None,
    variants: Annotated[str | None, typer.Option(help="Laws or kinds of networks, tables, problems.")] = None,
    seconds: Annotated[float | None, typer.Option(min=0.01, help="Time limit of one search.")] = None,
    evaluations: Annotated[
        int | None,
        typer.Option(min=1, help="Limit of one search instead of --seconds; two runs then give equal rows."),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="First seed; all others follow from it.")] = None,
    full: Annotated[
        bool,
        typer.Option("--full", help="Use the sizes of the publication, with one or two minutes per search."),
    ] = False,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler; by default local processes.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Number of local processes; by default one per core.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in the folder.")] = False,
    accept_changes: Annotated[
        bool,
        typer.Option("--accept-changes", help="Resume with other options; rows that still fit are kept."),
    ] = False,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Report the existing rows without running anything.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder in which every experiment gets its own folder.")] = Path(
        "results"
    ),
    summary: Annotated[
        Path | None,
        typer.Option(help="Markdown file on all experiments in the folder; by default results.md there."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Do not print progress.")] = False,
) -> None:
    """Run a published experiment and report its numbers next to ours.

    Every finished run is written at once; Ctrl-C keeps them, and --resume continues. Exit codes: 0 done, 1 a run failed
    or nothing could be written, 2 wrong use, 130 interrupted.
    """
    from gomea_bn.experiments.runner.page import write_summary
    from gomea_bn.experiments.runner.registry import experiment, experiments
    from gomea_bn.experiments.runner.results import ResultFolder
    from gomea_bn.experiments.runner.run import report_only as report_again
    from gomea_bn.experiments.runner.run import run_experiment
    from gomea_bn.runtime.threads import thread_count

    tell = silent if quiet else say
    try:
        if name == "list":
            for entry in experiments().values():
                say(f"{entry.name:<10} {entry.title}. {entry.source}", to_error=False)
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
        check_targets({"--summary": [written]}, {"--out": [out / name for name in experiments()]})
        plans = {entry.name: entry.planned(full=full, **changes) for entry in chosen}
        resume = resume or accept_changes
        if report_only and name == "all":
            chosen = _with_results(chosen, out)
        # check all folders before hours of runs
        for entry in chosen if not report_only else ():
            description = entry.describe(plans[entry.name])
            ResultFolder(out / entry.name).check(description, resume=resume, accept_changes=accept_changes)
        n_failed = 0
        for entry in chosen:
            folder = out / entry.name
            if report_only:
                outcome = report_again(entry, folder)
            else:
                plan = plans[entry.name]
                if entry.prepare is not None and scheduler is None:
                    compile_first(entry.prepare, tell)
                with _progress(entry.name, quiet) as progress:
                    outcome = run_experiment(
                        entry,
                        plan,
                        folder,
                        resume=resume,
                        accept_changes=accept_changes,
                        scheduler=scheduler,
                        n_workers=workers or thread_count(-1),
                        progress=progress,
                    )
            _tell(outcome, folder)
            n_failed += len(outcome.failures)
        write_summary(out, list(experiments()), written)
    except GomeaBnError as error:
        fail(error, WRONG_USE)
    except OSError as error:
        fail(f"Cannot write into '{out}': {error.strerror or error}.", FAILED)
    except KeyboardInterrupt:
        fail(f"Interrupted. Finished runs are in '{out}'; --resume continues.", INTERRUPTED)
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
    """Raise for options that contradict each other, and for a summary that could not be written after the runs."""
    changed = [f"--{name}" for name, value in changes.items() if value is not None]
    if report_only and (changed or full):
        raise GomeaBnError(
            f"--report-only reports the options that the folder was run with; leave out "
            f"{', '.join(changed) or '--full'}."
        )
    if scheduler is not None and workers is not None:
        raise GomeaBnError("--workers is the number of local processes; leave it out with --scheduler.")
    if summary is not None and (summary.is_dir() or not summary.absolute().parent.is_dir()):
        raise GomeaBnError(f"--summary must be a file in an existing folder, got '{summary}'.")


def _with_results(chosen: Sequence[Experiment], out: Path) -> list[Experiment]:
    """Return the experiments that have a folder, and print the names of the others."""
    present = [entry for entry in chosen if (out / entry.name).is_dir()]
    if not present:
        raise GomeaBnError(f"'{out}' holds no results; run an experiment first.")
    if absent := [entry.name for entry in chosen if entry not in present]:
        say(f"Not run yet: {', '.join(absent)}.")
    return present


def _tell(outcome: Outcome, folder: Path) -> None:
    """Print the number of finished runs, and the published claims with their verdicts."""
    from gomea_bn.experiments.runner.page import claims_sheet
    from gomea_bn.experiments.runner.statistics import NOT_RUN

    say(f"{len(outcome.rows)} of {outcome.n_tasks} runs; report: {folder / 'report.html'}", to_error=False)
    claims = claims_sheet(outcome.report).rows
    run = [row for row in claims if row[4] != NOT_RUN]
    for claim, paper, ours, setting, verdict, _ in run:
        say(f"  {verdict:<15} {claim}: paper {paper}, ours {ours} ({setting})", to_error=False)
    if len(run) < len(claims):
        say(
            f"  {len(claims) - len(run)} published numbers have no runs here; see the report.", to_error=False
        )


@contextmanager
def _progress(name: str, quiet: bool) -> Iterator[Callable[[int, int, int], object]]:
    """Give a function that draws the progress of a run; nothing is drawn if the output is not a terminal."""
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
            label = f"{name}, {n_failed} failed" if n_failed else name
            bar.update(shown, completed=n_done, total=n_tasks, description=label)

        yield draw


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def _numbers(text: str | None) -> tuple[int, ...] | None:
    try:
        return None if text is None else tuple(int(part) for part in text.split(","))
    except ValueError:
        raise GomeaBnError(f"--sizes must be integers separated by commas, got {text!r}.") from None
