"""The command that learns a network."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gomea_bn.cli.options import (
    all_cut_points,
    read_candidates,
    read_edges,
    read_kinds,
    read_penalty,
    read_pseudo_count,
    read_tiers,
)
from gomea_bn.cli.output import FAILED, INTERRUPTED, WRONG_USE, fail, say, silent
from gomea_bn.cli.running import announcement, compile_first, cores, limit, read_data
from gomea_bn.errors import GomeaBnError

if TYPE_CHECKING:
    from gomea_bn.learning.learner import BayesNetLearner

__all__ = ["learn", "report"]

_DISCRETIZER_HELP = (
    "optimal (exact cuts, found inside the search), equal-frequency, equal-width; bayesian, mdl, latent, mgcd or "
    "k-means propose cuts beside equal frequency."
)


def learn(
    data: Annotated[Path, typer.Argument(help="CSV, TSV or Parquet file; its first line holds the names.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for network.json, network.bif, network.dot and run.json; made if absent."),
    ] = None,
    discretizer: Annotated[str, typer.Option(help=_DISCRETIZER_HELP)] = "optimal",
    scoring_method: Annotated[
        str | None,
        typer.Option(
            help="density-bic, density-bd; if all columns are discrete also bdeu, bic, k2, aic. Default: density-bd "
            "for optimal cuts, else density-bic.",
        ),
    ] = None,
    max_bins: Annotated[int, typer.Option(help="Most bins of a continuous column.")] = 15,
    min_width: Annotated[
        float, typer.Option(help="Narrowest optimal bin, as a fraction of the range.")
    ] = 1e-3,
    min_bin_count: Annotated[int, typer.Option(min=0, help="Fewest rows of an optimal bin.")] = 1,
    cut_cost: Annotated[
        float,
        typer.Option(
            min=0, help="Price of a chosen cut under density-bd: this share of ln(distinct values - 1)."
        ),
    ] = 0.5,
    edge_cost: Annotated[
        float,
        typer.Option(min=0, help="Price of an edge under density-bd: this share of ln(columns - 1)."),
    ] = 1.0,
    max_indegree: Annotated[int, typer.Option(min=0, help="Most parents of a variable.")] = 6,
    max_candidates: Annotated[
        str, typer.Option(help="Partners that a variable may be joined to: a number, auto or all.")
    ] = "auto",
    max_table_cells: Annotated[int, typer.Option(help="Most cells of a variable's table.")] = 1_000_000,
    max_seconds: Annotated[float, typer.Option(min=0, help="Limit on the search's time; 0 for none.")] = 60.0,
    max_evaluations: Annotated[
        int | None, typer.Option(min=1, help="Limit on evaluated networks, exact.")
    ] = None,
    max_generations: Annotated[
        int | None, typer.Option(min=1, help="Limit on generations of all populations.")
    ] = None,
    patience: Annotated[
        float,
        typer.Option(
            min=0, help="Stop after this many times the evaluations that the best took; 0 for never."
        ),
    ] = 10.0,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Repeats a run; drawn and recorded if not given.")
    ] = None,
    threads: Annotated[
        int, typer.Option(min=0, help="0 for all cores; the result does not depend on it.")
    ] = 0,
    kind: Annotated[
        list[str] | None,
        typer.Option(help="NAME=continuous or NAME=discrete, against the rule; may be repeated."),
    ] = None,
    cut_points: Annotated[
        list[str] | None, typer.Option(help="NAME=18,40,65: fixed inner cuts of a column; may be repeated.")
    ] = None,
    cuts: Annotated[
        Path | None, typer.Option(help="JSON file of fixed inner cuts, as discretize writes it.")
    ] = None,
    require: Annotated[
        list[str] | None, typer.Option(help="PARENT,CHILD or 'PARENT->CHILD': an edge that must be there.")
    ] = None,
    forbid: Annotated[
        list[str] | None,
        typer.Option(help="PARENT,CHILD or 'PARENT->CHILD': an edge that must not be there."),
    ] = None,
    tier: Annotated[
        list[str] | None,
        typer.Option(help="NAME,NAME: no edge from a later tier to an earlier one; repeat it."),
    ] = None,
    tiers: Annotated[Path | None, typer.Option(help="File with one tier per line, earliest first.")] = None,
    missing: Annotated[str, typer.Option(help="Rows with missing values: error or drop.")] = "error",
    max_levels: Annotated[int, typer.Option(min=2, help="Most levels of a discrete column.")] = 50,
    pseudo_count: Annotated[
        str, typer.Option(help="Smoothing of a table row, in rows; auto: chosen for every table by the data.")
    ] = "auto",
    penalty: Annotated[
        str, typer.Option(help="Of density-bic: bic, literal, aic or nats per parameter.")
    ] = "bic",
    prior: Annotated[str, typer.Option(help="Of density-bd: dirichlet or bdeu.")] = "dirichlet",
    ess: Annotated[float, typer.Option(help="Equivalent sample size of bdeu, in rows.")] = 10.0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No column kinds, no progress.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the record and the network as JSON.")
    ] = False,
) -> None:
    """Learn a network from DATA and print what was found.

    Ctrl-C ends the search and keeps the best network so far. Exit codes: 0 done, 1 not written, 2 wrong use,
    3 data unusable, 130 interrupted before there was a network.
    """
    try:
        from gomea_bn.learning.learner import BayesNetLearner
        from gomea_bn.problems.knowledge import ExpertKnowledge

        learner = BayesNetLearner(
            discretizer,
            scoring_method=scoring_method,
            cut_points=all_cut_points(cut_points or (), cuts),
            max_bins=max_bins,
            min_width=min_width,
            min_bin_count=min_bin_count,
            cut_cost=cut_cost,
            edge_cost=edge_cost,
            max_indegree=max_indegree,
            max_candidates=read_candidates(max_candidates),
            knowledge=ExpertKnowledge(
                required_edges=read_edges("--require", require or ()),
                forbidden_edges=read_edges("--forbid", forbid or ()),
                temporal_order=read_tiers(tier or (), tiers),
                max_table_cells=max_table_cells,
            ),
            pseudo_count=read_pseudo_count(pseudo_count),
            penalty=read_penalty(penalty),
            prior=prior,
            equivalent_sample_size=ess,
            kinds=read_kinds(kind or ()),
            missing=missing,
            max_levels=max_levels,
            max_seconds=limit(max_seconds),
            max_evaluations=max_evaluations,
            max_generations=max_generations,
            patience=limit(patience),
            n_jobs=threads or cores(),
            random_state=seed,
            verbose=not quiet,
        )
        _learn(learner, data, out, quiet=quiet, as_json=as_json)
    except GomeaBnError as error:
        fail(str(error), WRONG_USE)
    except KeyboardInterrupt:
        fail("Interrupted; nothing was written.", INTERRUPTED)


def _learn(learner: BayesNetLearner, data: Path, out: Path | None, *, quiet: bool, as_json: bool) -> None:
    """Read, check, compile, search, write and print, in the order in which mistakes show earliest."""
    from gomea_bn.learning.learning_problem import LearningOptions, learning_problem
    from gomea_bn.learning.run_folder import check_run_folder, run_record, write_run_folder
    from gomea_bn.learning.warm_up import compile_kernels
    from gomea_bn.problems.scores import scoring_method
    from gomea_bn.runtime.environment import file_digest
    from gomea_bn.runtime.limits import Limits

    options = LearningOptions(
        **{name: getattr(learner, name) for name in LearningOptions.__dataclass_fields__}
    )
    if options.scoring_method is not None:
        scoring_method(options.scoring_method)
    Limits(learner.max_seconds, learner.max_evaluations, learner.max_generations, learner.patience)
    if out is not None:
        check_run_folder(out, inputs=[data])
    frame, table = read_data(
        data, kinds=learner.kinds, missing=learner.missing, max_levels=learner.max_levels
    )
    source_sha256 = file_digest(data)
    tell = silent if quiet else say
    tell(table.describe())
    learning_problem(table, replace(options, max_candidates=None))  # the check needs no screening
    seconds = compile_first(compile_kernels, tell)
    tell(announcement(learner, out))
    learner.fit(frame)
    if learner.stopped_by_ == "interrupt":
        say("Interrupted: this is the best network found so far.")
    record = run_record(learner, data, source_sha256, compile_seconds=seconds)
    problem = ""
    try:
        written = write_run_folder(out, learner.network_, record) if out is not None else []
    except GomeaBnError as error:
        problem = str(error)
    if as_json:
        typer.echo(json.dumps({"run": record, "network": json.loads(learner.network_.to_json())}))
    else:
        say(report(learner), to_error=False)
    if problem:
        fail(problem, FAILED)
    if written:
        tell("Wrote " + ", ".join(map(str, written)) + ".")


def report(learner: BayesNetLearner) -> str:
    """Return the printed result: the network, its score, why the search ended and how to repeat it."""
    timed = learner.stopped_by_ in ("max_seconds", "interrupt")
    late = learner.statistics_.get("discretizer_cut_short", 0)
    again = f"--seed {learner.seed_}"
    if timed:
        again += f" --max-evaluations {learner.n_eval_} --max-seconds 0"
    method = learner.network_.metadata["scoring_method"]
    density = learner.network_.score(learner.table_.to_frame())
    every = learner.n_features_in_ * (learner.n_features_in_ - 1) // 2
    screened = (
        f"Edges were searched for among {learner.n_candidate_pairs_:,} of {every:,} pairs of columns; "
        "--max-candidates all takes all of them.\n"
        if learner.n_candidate_pairs_ < every
        else ""
    )
    return (
        f"{learner.network_.summary()}\n\n"
        f"Score ({method}, continuous columns scaled to [0, 1]): {learner.score_:.3f} nats.\n"
        f"Mean log density of a row that it learned from, in the data's units: {density:.4f} nats.\n"
        f"Stopped by {learner.stopped_by_} after {learner.fit_seconds_:.2f} s, {learner.n_eval_:,} evaluations and "
        f"{learner.n_generations_} generations; the best was there after {learner.time_to_best_:.2f} s.\n"
        f"{screened}"
        + (
            f"The clock ended the discretizer in {late} of {learner.statistics_['discretizer_runs']} runs, so that "
            "another run may give another network."
            if late
            else f"The same data and options with {again} give this network again."
        )
    )
