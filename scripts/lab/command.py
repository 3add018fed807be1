"""The command of the laboratory, `python scripts/lab`: run an experiment, continue it, or report its rows again."""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from gomea_bn.cli.output import FAILED, INTERRUPTED, WRONG_USE, check_targets, fail, say, silent
from gomea_bn.cli.running import compile_first
from gomea_bn.errors import GomeaBnError
from gomea_bn.runtime.threads import thread_count
from lab.runner import registry, run
from lab.runner.experiment import PLAN_OPTIONS, Experiment, Option
from lab.runner.page import claims_sheet, write_summary
from lab.runner.printing import print_sheet
from lab.runner.results import ResultFolder
from lab.runner.run import Outcome
from lab.runner.statistics import NOT_RUN

_DESCRIPTION = """Run an experiment of the laboratory: a published one next to its published numbers, a comparison with
other libraries, or a measurement of scaling. Every finished run is written at once; Ctrl-C keeps them, and --resume
continues. Exit codes: 0 done, 1 a run failed or nothing could be written, 2 wrong use, 130 interrupted."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise GomeaBnError(f"{message} (--help lists the options)")


def main(arguments: Sequence[str]) -> None:
    """Run the command with its arguments; raises `typer.Exit` with the code if something went wrong."""
    name, *others = arguments or ["--help"]
    try:
        if name in ("list", "--list"):
            for entry in registry.experiments().values():
                say(f"{entry.name:<22} {entry.title}", to_error=False)
            return
        if name in ("-h", "--help"):
            _parser("NAME", PLAN_OPTIONS).print_help()
            return
        _run(*read_arguments(name, others))
    except GomeaBnError as error:
        fail(error, WRONG_USE)


def read_arguments(
    name: str, others: Sequence[str]
) -> tuple[list[Experiment], dict[str, Any], argparse.Namespace]:
    """Return the experiments of a name, the changes of their plans by option, and all options of the command.

    An unknown experiment or option, or a value that an option cannot have, is a `GomeaBnError`.
    """
    chosen = list(_published().values()) if name == "all" else [registry.experiment(name)]
    declared = PLAN_OPTIONS if name == "all" else chosen[0].options
    given = _parser(name, declared, chosen[0]).parse_args(others)
    texts = {option: getattr(given, option) for option in declared if option != "full"}
    changes = {n: declared[n].read(n, value) for n, value in texts.items() if value is not None}
    for entry in chosen:
        entry.planned(full=given.full, **changes)
    return chosen, changes, given


def _published() -> dict[str, Experiment]:
    """Return the experiments that have published numbers, which `all` runs."""
    return {name: entry for name, entry in registry.experiments().items() if entry.plan is not None}


def _parser(name: str, options: Mapping[str, Option], entry: Experiment | None = None) -> _Parser:
    """Return the parser of the options of an experiment and of those that all have."""
    about = _DESCRIPTION if entry is None or name == "all" else f"{entry.title}.\n\n{entry.source}"
    parser = _Parser(
        prog=f"python scripts/lab {name}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        epilog=None
        if entry is not None
        else "`python scripts/lab list` names the experiments. Published ones have the "
        "options above; `python scripts/lab NAME --help` lists those of another one.",
    )
    for each, option in options.items():
        default = (
            vars(entry.plan).get(each) if entry is not None and entry.plan is not None else option.default
        )
        shown = " ".join(map(str, default)) if isinstance(default, tuple) else default
        note = (
            f"{option.help} ({shown})"
            if entry is not None and shown not in (None, "", False)
            else option.help
        )
        if each != "full":
            values = argparse.SUPPRESS if default is False else "VALUE"
            parser.add_argument(
                f"--{each.replace('_', '-')}", dest=each, nargs="*", action="extend", metavar=values,
                help=note.replace("%", "%%"),
            )  # fmt: skip
    full = options["full"].help if "full" in options else "Use the sizes of the publication."
    parser.add_argument("--full", action="store_true", help=full)
    parser.add_argument("--scheduler", help="Address of a Dask scheduler; by default local processes.")
    # an experiment may have an option of its own called workers
    names = ["--processes", *([] if "workers" in options else ["--workers"])]
    parser.add_argument(
        *names, type=_at_least_one, help="Number of local processes; by default one per core."
    )
    parser.add_argument("--in-turn", action="store_true", help="Run one task after another in this process.")
    parser.add_argument("--resume", action="store_true", help="Continue the run in the folder.")
    parser.add_argument("--accept-changes", action="store_true", help="Resume with other options.")
    parser.add_argument(
        "--report", "--report-only", action="store_true", help="Report the existing rows; run nothing."
    )
    parser.add_argument("--out", type=Path, default=Path("results"), help="Folder with one per experiment.")
    parser.add_argument("--summary", type=Path, help="Markdown file on all experiments; results.md in --out.")
    parser.add_argument("-q", "--quiet", action="store_true", help="Do not print progress.")
    return parser


def _at_least_one(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be an integer of at least 1, got {text!r}")
    return int(text)


def _run(chosen: list[Experiment], changes: Mapping[str, Any], given: argparse.Namespace) -> None:
    """Run or report the chosen experiments and print what they found."""
    n_failed, out, tell = 0, given.out, silent if given.quiet else say
    written = given.summary or out / "results.md"
    try:
        _check(changes, given)
        check_targets({"--summary": [written]}, {"--out": [out / name for name in registry.experiments()]})
        plans = {entry.name: entry.planned(full=given.full, **changes) for entry in chosen}
        resume = given.resume or given.accept_changes
        if given.report and len(chosen) > 1:
            chosen = _with_results(chosen, out)
        # check all folders before hours of runs
        for entry in chosen if not given.report else ():
            ResultFolder(out / entry.name).check(
                entry.describe(plans[entry.name]), resume=resume, accept_changes=given.accept_changes
            )
        for entry in chosen:
            folder = out / entry.name
            if given.report:
                outcome = run.report_only(entry, folder)
            else:
                if entry.prepare is not None and given.scheduler is None:
                    compile_first(entry.prepare, tell)
                with _progress(entry.name, given.quiet) as progress:
                    outcome = run.run_experiment(
                        entry,
                        plans[entry.name],
                        folder,
                        resume=resume,
                        accept_changes=given.accept_changes,
                        scheduler=given.scheduler,
                        n_workers=given.processes or thread_count(-1),
                        in_turn=given.in_turn,
                        progress=progress,
                    )
            _tell(entry, outcome, folder)
            n_failed += len(outcome.failures)
        if any(entry.plan is not None for entry in chosen):
            write_summary(out, list(_published()), written)
    except OSError as error:
        fail(f"Cannot write into '{out}': {error.strerror or error}.", FAILED)
    except KeyboardInterrupt:
        fail(f"Interrupted. Finished runs are in '{out}'; --resume continues.", INTERRUPTED)
    if n_failed:
        fail(f"{n_failed} runs failed twice; their tracebacks are in rows.jsonl.", FAILED)


def _check(changes: Mapping[str, Any], given: argparse.Namespace) -> None:
    """Raise for options that contradict each other, and for a summary that could not be written after the runs."""
    changed = [f"--{name}" for name in changes]
    if given.report and (changed or given.full):
        raise GomeaBnError(
            f"--report reports the options that the folder was run with; leave out "
            f"{', '.join(changed) or '--full'}."
        )
    if given.scheduler is not None and given.processes is not None:
        raise GomeaBnError("--processes is the number of local ones; leave it out with --scheduler.")
    summary = given.summary
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


def _tell(entry: Experiment, outcome: Outcome, folder: Path) -> None:
    """Print the number of finished runs, and the published claims with their verdicts or else the tables."""
    say(f"{len(outcome.rows)} of {outcome.n_tasks} runs; report: {folder / 'report.md'}", to_error=False)
    if entry.plan is None:
        for note in outcome.report.notes:
            say(note, to_error=False)
        for sheet in outcome.report.sheets:
            print_sheet(sheet)
        return
    claims = claims_sheet(outcome.report).rows
    run_claims = [row for row in claims if row[4] != NOT_RUN]
    for claim, paper, ours, setting, verdict, _ in run_claims:
        say(f"  {verdict:<15} {claim}: paper {paper}, ours {ours} ({setting})", to_error=False)
    if n_absent := len(claims) - len(run_claims):
        say(f"  {n_absent} published numbers have no runs here; see the report.", to_error=False)


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
