"""The command `learn`: learn a network from a table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gomea_bn.cli.options import (
    KIND_OVERRIDE,
    AsJson,
    CheckpointEvery,
    CheckpointFolder,
    CheckpointResume,
    CutPoints,
    Data,
    Forbid,
    FormerThreads,
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
    reads_table,
    written_options,
)
from gomea_bn.cli.output import FAILED, INTERRUPTED, WRONG_USE, check_targets, fail, say, silent, spelling
from gomea_bn.cli.running import announcement, compile_first, finishing, limit, printed_warnings, read_data
from gomea_bn.data.reading import ReadingOptions
from gomea_bn.errors import GomeaBnError, Option
from gomea_bn.texts import counted, listed, shown_name

if TYPE_CHECKING:
    from gomea_bn.certainty.edge_posterior import EdgeProbabilities
    from gomea_bn.data.table import Table
    from gomea_bn.learning.learner import BayesNetLearner
    from gomea_bn.learning.repeats import Stability
    from gomea_bn.network.averaged.network import AveragedBayesNet
    from gomea_bn.network.bayes_net import DiscretizedBayesNet
    from gomea_bn.runtime.checkpoints import Checkpoint

__all__ = ["learn", "report"]

# bytes of memory that are worth a line before the search
_MUCH_MEMORY = 1e9
_DISCRETIZER_HELP = (
    "optimal (exact best cuts, computed inside the search), equal-frequency, equal-width; bayesian, mdl, latent, mgcd "
    "or k-means propose cuts in addition to equal frequency."
)


@reads_table
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
            "their tables, which finds the right edges of smooth columns; none."
        ),
    ] = "auto",
    density: Annotated[
        str,
        typer.Option(
            help="bins: the density of the network; averaged: that of its graph with averages over cuts and with "
            "lines, written to averaged.json."
        ),
    ] = "bins",
    line: Annotated[
        str, typer.Option(help="auto: averaged densities use lines where they help; none.")
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
    threads: FormerThreads = None,
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
    drawn_bins: Annotated[
        bool,
        typer.Option(
            "--drawn-bins",
            help="With --confidence: draw bins together with graphs, so that doubt about cuts counts; for density-bd.",
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
            max_seconds=limit(max_seconds),
            max_evaluations=max_evaluations,
            max_generations=max_generations,
            patience=limit(patience),
            n_jobs=read_jobs(jobs, threads),
            random_state=seed,
            verbose=not quiet,
        )
        kept = read_checkpoint(checkpoint, every, resume)
        if drawn_bins and not confidence:
            raise GomeaBnError("--drawn-bins applies to --confidence, which is not given.")
        further = _Further(confidence=confidence, draws_bins=drawn_bins, n_repeats=repeat, checkpoint=kept)
        _learn(learner, data, out, reading, kept, further, quiet=quiet, as_json=as_json)
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
    further: _Further,
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """Read, check, compile, search, write and print, in the order in which mistakes show earliest."""
    from gomea_bn.data.pieces import files_digest, is_in_pieces
    from gomea_bn.learning.averaging.families import check_density
    from gomea_bn.learning.learning_problem import LearningOptions, check_learning
    from gomea_bn.learning.memory_plan import planned_bytes
    from gomea_bn.learning.options import limits_of
    from gomea_bn.learning.run_folder import check_run_folder, run_record, write_run_folder
    from gomea_bn.learning.warm_up import compile_kernels
    from gomea_bn.problems.scores import scoring_method
    from gomea_bn.runtime.environment import file_digest
    from gomea_bn.runtime.threads import thread_count

    check_density(learner.density, learner.line)
    further.check()
    options = LearningOptions.of(learner)
    if options.scoring_method is not None:
        scoring_method(options.scoring_method)
    limits_of(learner)
    if out is not None:
        check_run_folder(out)
    tell = silent if quiet else say
    rows: Path | Table = data
    n_columns = None
    if is_in_pieces(data):
        if reading.given:
            raise GomeaBnError([Option(next(iter(reading.given))), " does not apply to a folder of files."])
        if further.confidence or further.n_repeats:
            raise GomeaBnError(
                "--confidence and --repeat need a table in one file; leave them out for a folder."
            )
        source_sha256 = files_digest(data)
    else:
        if learner.scheduler is not None:
            raise GomeaBnError(
                "--scheduler counts the rows of a folder of Parquet files; leave it out for a table in one file."
            )
        rows = read_data(
            data,
            kinds=learner.kinds or {},
            missing=learner.missing,
            max_levels=learner.max_levels,
            reading=reading,
        )
        source_sha256 = file_digest(data)
        tell(rows.describe(KIND_OVERRIDE, spelling()))
        resolved = LearningOptions.of(learner, rows.n_rows)
        check_learning(rows, resolved)
        planned = planned_bytes(rows, resolved, thread_count(learner.n_jobs))
        if planned > _MUCH_MEMORY:
            tell(f"The search takes at most about {planned / 1e9:.1f} GB of memory.")
        n_columns = len(rows.names)
    seconds = compile_first(partial(compile_kernels, n_columns=n_columns, in_second_process=True), tell)
    tell(announcement(learner, out))
    with printed_warnings():
        learner.fit(rows, checkpoint=checkpoint)
    if learner.stopped_by_ == "interrupt":
        say("Interrupted: this is the best network found so far.")
    with printed_warnings():
        further.compute(learner, tell)
    with finishing("the report and the files"):
        record = run_record(learner, data, source_sha256, compile_seconds=seconds)
        problem, written = further.problem, []
        record |= further.record
        network, averaged = further.network(learner), _averaged(learner)
        if averaged is not None and (further.probabilities is not None or further.stability is not None):
            averaged = averaged.with_metadata(**network.metadata)
        try:
            if out is not None:
                written = write_run_folder(out, network, record, averaged, further.texts())
        except GomeaBnError as error:
            problem = error
        if as_json:
            content = {"run": record, "network": json.loads(network.to_json())}
            content |= {
                name.removesuffix(".json"): json.loads(text) for name, text in further.texts().items()
            }
            if averaged is not None:
                content["averaged"] = json.loads(averaged.to_json())
            typer.echo(json.dumps(content))
        else:
            say("\n\n".join([report(learner), *further.reports()]), to_error=False)
        if written:
            tell("Wrote " + ", ".join(map(str, written)) + ".")
        if problem is not None:
            fail(problem, FAILED)


# folders of checkpoints within that of the search
_REPEATS, _PROBABILITIES = "repeats", "probabilities"


@dataclass
class _Further:
    """What `learn` computes after the search: repeated networks, and probabilities of edges.

    Ctrl-C ends a part and keeps what is complete. `problem` is the error of a part that could not be computed, which
    must not lose the network. Each part has a checkpoint in a folder of its own, within that of the search.
    """

    confidence: bool
    draws_bins: bool
    n_repeats: int
    checkpoint: Checkpoint | None = None
    stability: Stability | None = None
    probabilities: EdgeProbabilities | None = None
    problem: GomeaBnError | None = None

    def check(self) -> None:
        """Raise `GomeaBnError` if a checkpoint of a part would be lost."""
        for name, is_wanted in ((_REPEATS, self.n_repeats), (_PROBABILITIES, self.confidence)):
            part = self._checkpoint(name)
            if is_wanted and part is not None:
                part.check()

    def _checkpoint(self, name: str) -> Checkpoint | None:
        """Return the checkpoint of a part; one that had not begun starts."""
        if self.checkpoint is None:
            return None
        part = replace(self.checkpoint, folder=Path(self.checkpoint.folder) / name)
        return replace(part, resume=part.resume and part.path.exists())

    def compute(self, learner: BayesNetLearner, tell: Callable[[str], None]) -> None:
        """Repeat the search and compute the probabilities, as far as they are wanted."""
        if not (self.confidence or self.n_repeats):
            return
        if learner.stopped_by_ == "interrupt":
            tell("Interrupted: no repeated searches, no probabilities of edges.")
            return
        repeated: list[DiscretizedBayesNet] = []
        try:
            if self.n_repeats:
                repeated = self._repeat(learner, tell)
            if self.confidence:
                tell("Computing the probabilities of edges (Ctrl-C ends this and keeps the network).")
                self.probabilities = learner.edge_probabilities(
                    bins="drawn" if self.draws_bins else repeated,
                    random_state=learner.seed_,
                    checkpoint=self._checkpoint(_PROBABILITIES),
                )
        except GomeaBnError as error:
            self.problem = error
        except KeyboardInterrupt:
            tell("Interrupted: the network is kept.")

    def _repeat(self, learner: BayesNetLearner, tell: Callable[[str], None]) -> list[DiscretizedBayesNet]:
        """Return networks from parts of the rows; sets `stability`."""
        from gomea_bn.learning.ensemble import BayesNetEnsemble
        from gomea_bn.learning.repeats import stability

        options = learner.get_params(deep=False) | {"density": "bins"}
        tell(f"Repeating the search {counted(self.n_repeats, 'time')} (Ctrl-C keeps the repeats so far).")
        ensemble = BayesNetEnsemble(
            type(learner)(**options), n_networks=self.n_repeats, random_state=learner.seed_
        ).fit(learner.table_, checkpoint=self._checkpoint(_REPEATS))
        if ensemble.n_networks_ < self.n_repeats:
            tell(f"Interrupted after {counted(ensemble.n_networks_, 'repeat')}.")
        self.stability = stability(learner.network_, ensemble.networks_)
        return list(ensemble.networks_)

    @property
    def record(self) -> dict[str, Any]:
        """Entries of run.json."""
        entries: dict[str, Any] = {}
        if self.stability is not None:
            entries["stability"] = self.stability.summary()
        if self.probabilities is not None:
            probabilities = self.probabilities
            entries["confidence"] = {
                "method": probabilities.method,
                "n_bin_sets": probabilities.n_bin_sets,
                "has_drawn_bins": probabilities.has_drawn_bins,
                "has_mixed": bool(probabilities.has_mixed),
                "stopped_by": probabilities.stopped_by,
                "seconds": probabilities.seconds,
            }
        return entries

    def network(self, learner: BayesNetLearner) -> DiscretizedBayesNet:
        """Return the network, with what was computed in its metadata."""
        network = learner.network_ if self.probabilities is None else self.probabilities.recorded_network()
        return network if self.stability is None else self.stability.recorded_network(network)

    def texts(self) -> dict[str, str]:
        """Return the texts of the files by name."""
        from gomea_bn.learning.run_folder import CONFIDENCE_FILE, STABILITY_FILE

        parts = {CONFIDENCE_FILE: self.probabilities, STABILITY_FILE: self.stability}
        return {name: part.to_json() for name, part in parts.items() if part is not None}

    def reports(self) -> list[str]:
        """Return what is printed after the network."""
        return [part.to_text() for part in (self.stability, self.probabilities) if part is not None]


def report(learner: BayesNetLearner) -> str:
    """Return the printed result: the network, its score, why the search ended, and how to repeat it."""
    import numpy as np

    from gomea_bn.learning.cuts.cut_gains import cut_gains
    from gomea_bn.learning.options import why_unrepeatable
    from gomea_bn.network.inference.completion import completed_table

    timed = learner.stopped_by_ in ("max_seconds", "interrupt")
    unrepeatable = why_unrepeatable(learner)
    again = f"--seed {learner.seed_}"
    if timed:
        again += f" --max-evaluations {learner.n_eval_} --max-seconds 0"
    method = learner.network_.metadata["scoring_method"]
    averaged = _averaged(learner)
    rows = learner.table_
    if averaged is not None:
        # averages cannot sum missing cells out
        rows = completed_table(learner.network_, rows, np.random.default_rng(learner.seed_))
    density = (learner.network_ if averaged is None else averaged).score(rows.to_frame())
    n_pairs = learner.table_.n_varying * (learner.table_.n_varying - 1) // 2
    screened = (
        f"The search considered {learner.n_candidate_pairs_:,} of {n_pairs:,} pairs of columns; "
        "--max-candidates all takes all of them.\n"
        if learner.n_candidate_pairs_ < n_pairs
        else ""
    )
    gains = cut_gains(learner.network_, learner.table_)
    summary = learner.network_.summary(gains) if averaged is None else averaged.summary(gains)
    of_rows = "these data" if "all_rows" not in learner.network_.metadata else "the sample"
    return (
        f"{summary}\n\n"
        f"{_all_rows(learner.network_)}"
        f"Score ({method}, continuous columns scaled to [0, 1]): {learner.score_:.3f} nats.\n"
        f"Mean log density per row of {of_rows}, in the data's units{_of_points(learner.network_)}: "
        f"{density:.4f} nats.\n"
        f"Stopped by {learner.stopped_by_} after {learner.fit_seconds_:.2f} s, {learner.n_eval_:,} evaluations and "
        f"{counted(learner.n_generations_, 'generation')}; the best network was found after "
        f"{learner.time_to_best_:.2f} s.\n"
        f"{screened}"
        + (
            f"{unrepeatable}, so another run may give another network."
            if unrepeatable
            else f"The same data and options with {again} give this network again."
        )
    )


def _all_rows(network: DiscretizedBayesNet) -> str:
    """Return what all rows of a table in pieces have added to the network of a sample, "" for a table in memory."""
    record = network.metadata.get("all_rows")
    if record is None:
        return ""
    kinds = Counter(move["kind"] for move in record["moves"])
    edges = sum(kinds[kind] for kind in ("add", "remove", "replace", "reverse"))
    if record["tables_of"] == "sample":
        return (
            f"Interrupted before all {record['n_rows']:,} rows were counted: this is the network of a sample of "
            f"{record['sample_rows']:,} rows, with its tables.\n"
        )
    ended = (
        "No single edge and no other cuts of a column would raise the score over all rows."
        if record["stopped_by"] != "interrupt"
        else "Ctrl-C ended the improvement over all rows early."
    )
    return (
        f"All {record['n_rows']:,} rows: {counted(record['readings'], 'reading')} of the files, "
        f"{counted(record['passes'], 'pass', 'passes')} over their cells, {record['seconds']:.1f} s. They changed "
        f"{counted(edges, 'edge')} of the network that the search found on {record['sample_rows']:,} rows, and moved "
        f"the cuts of columns {counted(kinds['cuts'], 'time')}. {ended}\n"
    )


def _averaged(learner: BayesNetLearner) -> AveragedBayesNet | None:
    """Return the averaged network of a learner, None if it should make none or Ctrl-C interrupted the averaging."""
    return getattr(learner, "averaged_", None)


def _of_points(network: DiscretizedBayesNet) -> str:
    """Return a note for a density to which point masses contribute probabilities, "" without any."""
    names = [shown_name(name) for name, shape in network.shapes.items() if shape.points]
    return f" (point masses of {listed(names, 5)} count with their probability)" if names else ""
