"""The command `learn`: learn a network from a table."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gomea_bn.cli.options import (
    KIND_OVERRIDE,
    MOST_DESCRIBED,
    Data,
    Given,
    Lags,
    OutFolder,
    TimeOfRows,
    Weight,
    reads_table,
    searches,
)
from gomea_bn.cli.output import (
    FAILED,
    NOTHING_WRITTEN,
    UNUSABLE_DATA,
    WRONG_USE,
    check_targets,
    fail,
    failing,
    finishing,
    say,
    silent,
)
from gomea_bn.cli.plain_help import opt
from gomea_bn.cli.running import (
    announcement,
    compile_first,
    printed_warnings,
    read_data,
    refuse_in_pieces,
    with_lags,
    with_tiers,
)
from gomea_bn.data.files.reading import ReadingOptions
from gomea_bn.errors import GomeaBnError, spelling
from gomea_bn.learning.parameters import NetworkParameters
from gomea_bn.texts import counted

if TYPE_CHECKING:
    from gomea_bn.data.pieces import ChosenColumns
    from gomea_bn.data.table import Table
    from gomea_bn.learning.learner import BayesNetLearner
    from gomea_bn.network.bayes_net import DiscretizedBayesNet
    from gomea_bn.runtime.checkpoints import Checkpoint

# names and values that need no quotes inside a finding
_PLAIN = re.compile(r"[\w.-][\w .-]*")


@reads_table()
@searches(NetworkParameters)
def learn(
    data: Data,
    out: OutFolder = None,
    start: Annotated[
        str | None,
        opt("Network from which the search begins: a file, or the folder of a run.", metavar="NETWORK"),
    ] = None,
    weight: Weight = None,
    time: TimeOfRows = None,
    lags: Lags = None,
    *,
    given: Given,
    reading: ReadingOptions,
) -> None:
    """Learn a network from DATA and print it.

    Example: gomea-bn learn data.csv --max-seconds 60 --seed 1 --out out/run

    DATA may also be a folder or a quoted pattern of Parquet and Arrow files, which need not fit into memory: a search
    on a sample of their rows is followed by improvements over all rows.

    Ctrl-C ends the search and keeps the best network so far. SIGTERM and SIGHUP do the same. Exit codes: 0 done,
    1 not written, 2 wrong use, 3 data unusable, 130 interrupted before there was a network, 143 and 129 ended by
    SIGTERM and SIGHUP.
    """
    with failing(WRONG_USE, given.spelled, interrupted=NOTHING_WRITTEN):
        from gomea_bn.learning.learner import BayesNetLearner
        from gomea_bn.learning.run_folder import RUN_ENTRIES
        from gomea_bn.runtime.checkpoints import CHECKPOINT_FILE

        targets = {} if out is None else {"--out": [out / name for name in RUN_ENTRIES]}
        if (folder := given.values["checkpoint"]) is not None:
            targets["--checkpoint"] = [folder / CHECKPOINT_FILE]
        if targets:
            of_start = {}
            if start is not None:
                from gomea_bn.cli.named_networks import files_of

                of_start = files_of("--start", start)
            check_targets(targets, {"DATA": [data], **of_start, **given.files})
        options = given.options()
        reading, options["groups"] = with_lags(reading, time, options["groups"], lags)
        learner = BayesNetLearner(**options)
        saved_search = given.saved_search()
        first = None
        if start is not None:
            from gomea_bn.cli.named_networks import named_network

            first = named_network(start)
        _learn(learner, data, out, reading, saved_search, given, first, weight)


def _learn(
    learner: BayesNetLearner,
    data: Path,
    out: Path | None,
    reading: ReadingOptions,
    checkpoint: Checkpoint | None,
    given: Given,
    start: DiscretizedBayesNet | None,
    weight: str | None,
) -> None:
    """Read, check, compile, search, write and print, in the order in which mistakes show earliest."""
    from gomea_bn.data.table import Table
    from gomea_bn.learning.options import LearningOptions, limits_of
    from gomea_bn.learning.run_folder import check_run_folder, run_record
    from gomea_bn.learning.warm_up import compile_kernels, size_of_table
    from gomea_bn.problems.scores import scoring_method

    options = LearningOptions.of(learner)
    if options.scoring_method is not None:
        scoring_method(options.scoring_method)
    limits_of(learner)
    if out is not None:
        check_run_folder(out)
    tell = silent if given.values["quiet"] else say
    rows, source_sha256 = _read_source(learner, data, reading, tell, weight)
    has_curves = options.has_curves
    size = size_of_table(rows, has_curves=has_curves) if isinstance(rows, Table) else {}
    seconds = compile_first(partial(compile_kernels, **size), tell)
    tell(announcement(learner, out))
    with printed_warnings({"network_": "The network of the whole search is kept: it"}):
        learner.fit(rows, start=start, checkpoint=checkpoint)
    if learner.stopped_by_ == "interrupt":
        say("Interrupted: this is the best network found so far.")
    with finishing("the report and the files"):
        record = run_record(learner, data, source_sha256, compile_seconds=seconds)
        if weight is not None:
            record["data"]["weight"] = weight
        _write_and_print(learner, data, out, record, tell, as_json=given.values["as_json"])


def _read_source(
    learner: BayesNetLearner,
    data: Path,
    reading: ReadingOptions,
    tell: Callable[[str], None],
    weight: str | None,
) -> tuple[ChosenColumns | Table, str]:
    """Return a checked table, or the checked files of one in pieces, and the SHA-256 of its files."""
    from gomea_bn.data.files.database_names import content_digest
    from gomea_bn.data.sources import is_in_pieces
    from gomea_bn.learning.learning_problem import check_learning, planned_bytes
    from gomea_bn.learning.options import LearningOptions, check_target
    from gomea_bn.problems.knowledge import ExpertKnowledge
    from gomea_bn.runtime.threads import thread_count

    if is_in_pieces(data):
        from gomea_bn.data.pieces import ChosenColumns, files_digest, pieces_in_words, pieces_of

        in_memory = f" needs the rows in memory, and those of {pieces_in_words(data)} are counted in pieces."
        for option, value, more in (
            ("--weight", weight, ["repeat every row as often as it was observed"]),
            ("--group", learner.groups, []),
            ("--target", learner.target, []),
            ("--duration", learner.duration, []),
        ):
            if value is not None:
                raise GomeaBnError(f"{option}{in_memory}", ["write the rows into one file", *more])
        refuse_in_pieces([name for name in reading.given if name not in ("columns", "drop", "forms")], data)
        chosen = ChosenColumns(str(data), reading.columns, reading.drop, tuple(reading.forms.items()))
        with failing(UNUSABLE_DATA, of_options=WRONG_USE):
            # files that cannot be read are an error before the search is announced
            pieces_of(chosen)
            return chosen, files_digest(data)
    if learner.scheduler is not None:
        raise GomeaBnError(
            "--scheduler counts the rows of a folder of Parquet files; leave it out for a table in one file."
        )
    table = read_data(
        data,
        kinds=learner.kinds or {},
        missing=learner.missing,
        max_levels=learner.max_levels,
        reading=reading,
        weight=weight,
        groups=learner.groups,
        target=learner.target,
        duration=learner.duration,
        horizon=learner.horizon,
    )
    check_target(learner.target, table)
    learner.knowledge = with_tiers(learner.knowledge or ExpertKnowledge(), table)
    digest = content_digest(data)
    tell(table.describe(KIND_OVERRIDE, spelling(), MOST_DESCRIBED))
    options = LearningOptions.of(learner, table.n_rows)
    check_learning(table, options)
    planned = planned_bytes(table, options, thread_count(learner.n_jobs), learner.sample_rows)
    # bytes of memory that are worth a line before the search
    if planned > 1e9:
        tell(f"The search takes at most about {planned / 1e9:.1f} GB of memory.")
    return table, digest


def _write_and_print(
    learner: BayesNetLearner,
    data: Path,
    out: Path | None,
    record: dict[str, Any],
    tell: Callable[[str], None],
    *,
    as_json: bool,
) -> None:
    """Write the files of the run and print its network; the network is printed also if the files fail."""
    from gomea_bn.learning.run_folder import write_run_folder

    problem, written = None, []
    try:
        if out is not None:
            written = write_run_folder(out, learner.network_, record, {})
    except GomeaBnError as error:
        problem = error
    if as_json:
        typer.echo(json.dumps({"run": record, "network": json.loads(learner.network_.to_json())}))
    else:
        say(_report(learner, data, out), to_error=False)
    if written:
        tell("Wrote " + ", ".join(map(str, written)) + ".")
    if problem is not None:
        fail(problem, FAILED)


def _report(learner: BayesNetLearner, data: Path, out: Path | None) -> str:
    """Return the printed result, at most a screen: what was found, how to repeat it, and what to type next."""
    from gomea_bn.learning.options import why_ended, why_unrepeatable
    from gomea_bn.network.formats.summary import to_short_text

    timed = learner.stopped_by_ in ("max_seconds", "interrupt")
    unrepeatable = why_unrepeatable(learner)
    again = f"--seed {learner.seed_}"
    if timed:
        again += f" --max-evaluations {learner.n_eval_} --max-seconds 0"
    n_pairs = learner.table_.n_varying * (learner.table_.n_varying - 1) // 2
    screened = (
        f"The search considered {learner.n_candidate_pairs_:,} of {n_pairs:,} pairs of columns; "
        "--max-candidates all takes all of them.\n"
        if learner.n_candidate_pairs_ < n_pairs
        else ""
    )
    record = learner.network_.metadata.get("all_rows")
    n_rows = learner.table_.n_rows
    return (
        f"{to_short_text(learner.network_)}\n\n"
        f"{'' if record is None else _all_rows(record, in_memory=n_rows > record['sample_rows'])}"
        f"{why_ended(learner)} after {learner.fit_seconds_:.2f} s, {learner.n_eval_:,} evaluations and "
        f"{counted(learner.n_generations_, 'generation')}; the best network was found after "
        f"{learner.time_to_best_:.2f} s.\n"
        f"{screened}"
        + (
            f"{unrepeatable}, so another run may give another network."
            if unrepeatable
            else f"The same data and options with {again} give this network again."
        )
        + f"\n\n{_next(data, out, learner)}"
    )


def _next(data: Path, out: Path | None, learner: BayesNetLearner) -> str:
    """Return what to type next, about the target, or else the column with most edges."""
    if out is None:
        command = f"gomea-bn learn {shlex.quote(str(data))} --out out/run"
        return f"Next: {command} keeps the network, to look at it and to ask it."
    run, table = shlex.quote(str(out)), shlex.quote(str(data))
    column, finding = _question(learner)
    steps = {
        f"gomea-bn show {run} --data {table}": "bins, edges, and what they gain",
        f"gomea-bn review {run}": "a page to look at",
        f"gomea-bn query {run} --target {column} --given {finding}": "a question",
    }
    if not data.is_dir() and learner.duration is None:
        group = "" if learner.groups is None else f"--group {shlex.quote(learner.groups)} "
        steps[f"gomea-bn study {table} --target {column} {group}-o study.html"] = "a page to show others"
    width = max(map(len, steps))
    return "\n".join(["Next:", *(f"  {command:<{width}}  {what}" for command, what in steps.items())])


def _question(learner: BayesNetLearner) -> tuple[str, str]:
    """Return a column to ask about, and a finding about another one that it has an edge with."""
    import numpy as np

    from gomea_bn.data.event_times import time_and_event

    network, table = learner.network_, learner.table_
    near = {name: [*network.parents(name), *network.children(name)] for name in network.names}
    # a time until an event is no outcome
    times = (time_and_event(table.columns) or ())[:1]
    others = [name for name in network.names if name not in times]
    target = learner.target or max(others, key=lambda name: len(near[name]))
    column = shlex.quote(target)
    for name in near[target]:
        cells = table.columns[table.names.index(name)]
        if cells.levels is None:
            value = f"{np.median(cells.observed):.4g}"
        else:
            value = str(cells.levels[np.bincount(cells.values[~cells.is_missing]).argmax()])
        # what needs quotes inside is no example
        if _PLAIN.fullmatch(name) and _PLAIN.fullmatch(value):
            return column, shlex.quote(f"{name}={value}")
    return column, "'OTHER=VALUE'"


def _all_rows(record: dict[str, Any], *, in_memory: bool) -> str:
    """Return what all rows have added to the network of a sample, by its record."""
    kinds = Counter(move["kind"] for move in record["moves"])
    edges = sum(kinds[kind] for kind in ("add", "remove", "replace", "reverse"))
    edges += sum(len(move["columns"]) for move in record["moves"] if move["kind"] == "graph")
    if record["tables_of"] == "sample":
        return (
            f"Interrupted before all {record['n_rows']:,} rows were counted: this is the network of a sample of "
            f"{record['sample_rows']:,} rows, with its tables.\n"
        )
    if record["stopped_by"] == "interrupt":
        ended = "Ctrl-C ended the improvement over all rows early."
    elif record["stopped_by"] != "local optimum":
        ended = f"{record['stopped_by']} ended the improvement over all rows early."
    else:
        ended = "No single edge would raise the score over all rows"
        # the cuts of some discretizers and scores stay those of the search; older records do not say so
        ended += ", and no compared cuts of one column would gain a nat." if record.get("recut", 1) else "."
    return (
        f"All {record['n_rows']:,} rows: {counted(record['readings'], 'reading')} of the "
        f"{'table' if in_memory else 'files'}, "
        f"{counted(record['passes'], 'pass', 'passes')} over their cells, {record['seconds']:.1f} s. They changed "
        f"{counted(edges, 'edge')} of the network that the search found on {record['sample_rows']:,} rows, and moved "
        f"the cuts of columns {counted(kinds['cuts'], 'time')}. {ended}\n"
    )
