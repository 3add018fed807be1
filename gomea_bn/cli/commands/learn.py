"""The command `learn`: learn a network from a table."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gomea_bn.cli.after_search import AfterSearch
from gomea_bn.cli.learn_report import report
from gomea_bn.cli.option_texts import (
    all_cut_points,
    read_auto,
    read_candidates,
    read_checkpoint,
    read_jobs,
    read_kinds,
    read_knowledge,
    read_missing,
    read_penalty,
    read_pseudo_count,
    written_options,
)
from gomea_bn.cli.options import (
    KIND_OVERRIDE,
    AsJson,
    CheckpointEvery,
    CheckpointFolder,
    CheckpointResume,
    CutPoints,
    Data,
    Forbid,
    FormerDevice,
    Jobs,
    Kind,
    LearnerMissing,
    MaxBins,
    MaxCandidates,
    MaxEvaluations,
    MaxGenerations,
    MaxIndegree,
    MaxLevels,
    MaxSeconds,
    MaxTableCells,
    MinBinCount,
    MinWidth,
    Patience,
    Quiet,
    Require,
    Seed,
    Shape,
    Tier,
    Tiers,
    reads_table,
)
from gomea_bn.cli.output import (
    FAILED,
    INTERRUPTED,
    WRONG_USE,
    check_targets,
    fail,
    finishing,
    say,
    silent,
    spelling,
)
from gomea_bn.cli.running import (
    announcement,
    compile_first,
    limit,
    printed_warnings,
    read_data,
)
from gomea_bn.data.files.reading import ReadingOptions
from gomea_bn.errors import GomeaBnError, Option

if TYPE_CHECKING:
    from gomea_bn.data.table import Table
    from gomea_bn.learning.learner import BayesNetLearner
    from gomea_bn.runtime.checkpoints import Checkpoint

__all__ = ["learn"]

# bytes of memory that are worth a line before the search
_MUCH_MEMORY = 1e9
_DISCRETIZER_HELP = (
    "optimal (exact best cuts, computed inside the search), equal-frequency, equal-width; bayesian, mdl, latent, mgcd "
    "or k-means propose cuts in addition to equal frequency."
)


@reads_table()
def learn(
    data: Data,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for network.json, network.bif, network.dot and run.json; made if absent."),
    ] = None,
    discretizer: Annotated[str, typer.Option(help=_DISCRETIZER_HELP)] = "optimal",
    scoring_method: Annotated[
        str | None,
        typer.Option(
            help="density-bic, density-bd; for discrete columns only also bdeu, bic, k2, aic. Default: density-bd "
            "for optimal cuts, otherwise density-bic.",
        ),
    ] = None,
    max_bins: MaxBins = "auto",
    min_width: MinWidth = 1e-3,
    min_bin_count: MinBinCount = 1,
    shape: Shape = "auto",
    curves: Annotated[
        str,
        typer.Option(
            help="auto: columns may also be sums of smooth curves of their parents, where that scores better than "
            "tables of bins; none: tables alone."
        ),
    ] = "auto",
    density: Annotated[
        str,
        typer.Option(
            help="averaged: conditional densities with averages over cuts and with lines; bins: tables of counts "
            "over the shown bins alone."
        ),
    ] = "averaged",
    line: Annotated[
        str,
        typer.Option(
            help="auto: averaged densities use lines and curves where they help; none: tables alone."
        ),
    ] = "auto",
    cut_cost: Annotated[
        float,
        typer.Option(
            min=0,
            help="Cost of a chosen cut under density-bd, as a multiple of ln(distinct values - 1) nats.",
        ),
    ] = 0.5,
    edge_cost: Annotated[
        float,
        typer.Option(min=0, help="Cost of an edge under density-bd, as a multiple of ln(columns - 1) nats."),
    ] = 1.0,
    max_indegree: MaxIndegree = "auto",
    max_candidates: MaxCandidates = "auto",
    max_table_cells: MaxTableCells = 1_000_000,
    max_seconds: MaxSeconds = 60.0,
    max_evaluations: MaxEvaluations = None,
    max_generations: MaxGenerations = None,
    patience: Patience = 10.0,
    checkpoint: CheckpointFolder = None,
    every: CheckpointEvery = None,
    resume: CheckpointResume = False,
    seed: Seed = None,
    jobs: Jobs = 0,
    kind: Kind = None,
    cut_points: CutPoints = None,
    cuts: Annotated[
        Path | None, typer.Option(help="JSON file of fixed inner cuts, as discretize writes it.")
    ] = None,
    require: Require = None,
    forbid: Forbid = None,
    tier: Tier = None,
    tiers: Tiers = None,
    missing: LearnerMissing = "available",
    max_levels: MaxLevels = 50,
    sample_rows: Annotated[
        int,
        typer.Option(
            min=1000, help="Rows of the sample on which the network of a folder of files is searched."
        ),
    ] = 200_000,
    scheduler: Annotated[
        str | None,
        typer.Option(help="Address of a Dask scheduler whose workers count the rows of a folder of files."),
    ] = None,
    device: FormerDevice = "cpu",
    pseudo_count: Annotated[
        str, typer.Option(help="Smoothing of a table row, in rows; auto: the data choose it for every table.")
    ] = "auto",
    penalty: Annotated[
        str, typer.Option(help="Penalty of density-bic: bic, literal, aic or nats per parameter.")
    ] = "bic",
    prior: Annotated[str, typer.Option(help="Prior of density-bd: dirichlet or bdeu.")] = "dirichlet",
    ess: Annotated[float, typer.Option(help="Equivalent sample size of bdeu, in rows.")] = 10.0,
    confidence: Annotated[
        bool,
        typer.Option(
            "--confidence",
            help="Also compute posterior probabilities of edges, for confidence.json, drawings and the page; with "
            "--repeat as means over the bins of the repeated networks.",
        ),
    ] = False,
    confidence_seconds: Annotated[
        float | None,
        typer.Option(
            min=0,
            show_default="60",
            help="With --confidence: its time limit in seconds, after the search; 0: none.",
        ),
    ] = None,
    confidence_sweeps: Annotated[
        int | None,
        typer.Option(
            min=1,
            show_default="20000",
            help="With --confidence: largest number of sweeps of a sampled chain.",
        ),
    ] = None,
    drawn_bins: Annotated[
        bool,
        typer.Option(
            "--drawn-bins",
            help="With --confidence: draw bins together with graphs, so that doubt about cuts counts, in place of the "
            "bins of --repeat; for density-bd.",
        ),
    ] = False,
    repeat: Annotated[
        int,
        typer.Option(
            min=0,
            help="Number of further networks, each learned from a random 63 % of the rows, within --max-seconds in "
            "all; prints what stays and what moves, for stability.json.",
        ),
    ] = 0,
    quiet: Quiet = False,
    as_json: AsJson = False,
    *,
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
    try:
        from gomea_bn.learning.learner import BayesNetLearner
        from gomea_bn.learning.run_folder import RUN_ENTRIES
        from gomea_bn.runtime.checkpoints import CHECKPOINT_FILE

        targets = {} if out is None else {"--out": [out / name for name in RUN_ENTRIES]}
        if checkpoint is not None:
            targets["--checkpoint"] = [checkpoint / CHECKPOINT_FILE]
        if targets:
            check_targets(
                targets,
                {"DATA": [data], "--cuts": [cuts] if cuts else [], "--tiers": [tiers] if tiers else []},
            )
        learner = BayesNetLearner(
            discretizer,
            scoring_method=scoring_method,
            cut_points=all_cut_points(cut_points or (), cuts),
            max_bins=read_auto("--max-bins", max_bins),
            min_width=min_width,
            min_bin_count=min_bin_count,
            shape=shape,
            curves=curves,
            density=density,
            line=line,
            cut_cost=cut_cost,
            edge_cost=edge_cost,
            max_indegree=read_auto("--max-indegree", max_indegree),
            max_candidates=read_candidates(max_candidates),
            knowledge=read_knowledge(
                require=require, forbid=forbid, tier=tier, tiers=tiers, max_table_cells=max_table_cells
            ),
            pseudo_count=read_pseudo_count(pseudo_count),
            penalty=read_penalty(penalty),
            prior=prior,
            equivalent_sample_size=ess,
            kinds=read_kinds(kind or ()),
            missing=read_missing(missing, ("available", "error", "drop")),
            max_levels=max_levels,
            sample_rows=sample_rows,
            scheduler=scheduler,
            device=device,
            max_seconds=limit(max_seconds),
            max_evaluations=max_evaluations,
            max_generations=max_generations,
            patience=limit(patience),
            n_jobs=read_jobs(jobs),
            random_state=seed,
            verbose=not quiet,
        )
        saved_search = read_checkpoint(checkpoint, every, resume)
        after_search = AfterSearch.of(
            confidence=confidence,
            draws_bins=drawn_bins,
            n_repeats=repeat,
            n_sweeps=confidence_sweeps,
            max_seconds=confidence_seconds,
            checkpoint=saved_search,
        )
        _learn(learner, data, out, reading, saved_search, after_search, quiet=quiet, as_json=as_json)
    except GomeaBnError as error:
        fail(error, WRONG_USE, written_options(cut_points=cut_points, cuts=cuts, tiers=tiers))
    except KeyboardInterrupt:
        fail("Interrupted; nothing was written.", INTERRUPTED)


def _learn(
    learner: BayesNetLearner,
    data: Path,
    out: Path | None,
    reading: ReadingOptions,
    checkpoint: Checkpoint | None,
    after_search: AfterSearch,
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """Read, check, compile, search, write and print, in the order in which mistakes show earliest."""
    from gomea_bn.data.table import Table
    from gomea_bn.learning.averaging.families import check_density
    from gomea_bn.learning.learning_options import LearningOptions
    from gomea_bn.learning.options import limits_of
    from gomea_bn.learning.run_folder import check_run_folder, run_record
    from gomea_bn.learning.warm_up import TableSize, compile_kernels, size_of_table
    from gomea_bn.problems.scoring.scores import scoring_method

    check_density(learner.density, learner.line)
    try:
        after_search.check()
    except GomeaBnError as error:
        fail(error, WRONG_USE, after_search.problem_options)
    options = LearningOptions.of(learner)
    if options.scoring_method is not None:
        scoring_method(options.scoring_method)
    limits_of(learner)
    if out is not None:
        check_run_folder(out)
    tell = silent if quiet else say
    rows, source_sha256 = _read_source(learner, data, reading, after_search, tell)
    size = size_of_table(rows) if isinstance(rows, Table) else TableSize()
    seconds = compile_first(partial(compile_kernels, in_second_process=True, **size), tell)
    tell(announcement(learner, out))
    with printed_warnings():
        learner.fit(rows, checkpoint=checkpoint)
    if learner.stopped_by_ == "interrupt":
        say("Interrupted: this is the best network found so far.")
    with printed_warnings():
        after_search.compute(learner, tell)
    with finishing("the report and the files"):
        record = run_record(learner, data, source_sha256, compile_seconds=seconds) | after_search.record
        _write_and_print(learner, out, record, after_search, tell, as_json=as_json)


def _read_source(
    learner: BayesNetLearner,
    data: Path,
    reading: ReadingOptions,
    after_search: AfterSearch,
    tell: Callable[[str], None],
) -> tuple[Path | Table, str]:
    """Return a checked table, or the path of one in pieces, and the SHA-256 of its files."""
    from gomea_bn.data.pieces import files_digest, is_in_pieces
    from gomea_bn.learning.learning_options import LearningOptions
    from gomea_bn.learning.learning_problem import check_learning
    from gomea_bn.learning.memory_plan import planned_bytes
    from gomea_bn.runtime.environment import file_digest
    from gomea_bn.runtime.threads import thread_count

    if is_in_pieces(data):
        if reading.given:
            raise GomeaBnError([Option(next(iter(reading.given))), " does not apply to a folder of files."])
        if after_search.confidence or after_search.n_repeats:
            raise GomeaBnError(
                "--confidence and --repeat need a table in one file; leave them out for a folder."
            )
        return data, files_digest(data)
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
    )
    digest = file_digest(data)
    tell(table.describe(KIND_OVERRIDE, spelling()))
    options = LearningOptions.of(learner, table.n_rows)
    check_learning(table, options)
    after_search.check_score(table, options)
    planned = planned_bytes(table, options, thread_count(learner.n_jobs))
    if planned > _MUCH_MEMORY:
        tell(f"The search takes at most about {planned / 1e9:.1f} GB of memory.")
    return table, digest


def _write_and_print(
    learner: BayesNetLearner,
    out: Path | None,
    record: dict[str, Any],
    after_search: AfterSearch,
    tell: Callable[[str], None],
    *,
    as_json: bool,
) -> None:
    """Write the files of the run and print its network; the network is printed also if the files fail."""
    from gomea_bn.learning.run_folder import write_run_folder

    problem, written = after_search.problem, []
    network, texts = after_search.network(learner), after_search.texts()
    try:
        if out is not None:
            written = write_run_folder(out, network, record, texts)
    except GomeaBnError as error:
        problem = error
    if as_json:
        content = {"run": record, "network": json.loads(network.to_json())}
        content |= {name.removesuffix(".json"): json.loads(text) for name, text in texts.items()}
        typer.echo(json.dumps(content))
    else:
        say("\n\n".join([report(learner), *after_search.reports()]), to_error=False)
    if written:
        tell("Wrote " + ", ".join(map(str, written)) + ".")
    if problem is not None:
        fail(problem, FAILED, after_search.problem_options)
