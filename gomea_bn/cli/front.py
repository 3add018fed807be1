"""The command that finds a front."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from math import floor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gomea_bn.cli.options import read_candidates, read_cut_points, read_edges, read_kinds, read_tiers
from gomea_bn.cli.output import FAILED, INTERRUPTED, WRONG_USE, fail, say, silent
from gomea_bn.cli.running import announcement, compile_first, cores, finishing, limit, read_data
from gomea_bn.errors import GomeaBnError

if TYPE_CHECKING:
    from gomea_bn.data.table import Table
    from gomea_bn.front.front import Candidate, Front
    from gomea_bn.learning.pareto_learner import ParetoBayesNetLearner

__all__ = ["front"]

# of the limit on free parameters: who uses more may be held back by it
_NEAR = 0.95


def front(
    data: Annotated[Path, typer.Argument(help="CSV, TSV or Parquet file; its first line holds the names.")],
    out: Annotated[Path | None, typer.Option(help="Folder for the front; made if absent.")] = None,
    expert: Annotated[
        Path | None,
        typer.Option(
            help="The expert's network: JSON, BIF, or a list of edges; adds its distance as objective."
        ),
    ] = None,
    objective: Annotated[
        list[str] | None,
        typer.Option(help="misfit, complexity, expert_distance; repeat it. Default: all that can be had."),
    ] = None,
    discretizer: Annotated[
        str,
        typer.Option(help="equal-frequency, equal-width, or optimal (exact cuts, found inside the search)."),
    ] = "equal-frequency",
    max_bins: Annotated[int, typer.Option(help="Most bins of a continuous column.")] = 9,
    min_width: Annotated[
        float, typer.Option(help="Narrowest optimal bin, as a fraction of the range.")
    ] = 1e-3,
    min_bin_count: Annotated[int, typer.Option(min=0, help="Fewest rows of an optimal bin.")] = 1,
    max_complexity: Annotated[
        float | None,
        typer.Option(
            help="Most free parameters. Default: 10 times the expert's; without an expert 10 times what the network "
            "without edges needs, or the number of rows if that is more."
        ),
    ] = None,
    max_indegree: Annotated[int, typer.Option(min=0, help="Most parents of a variable.")] = 6,
    max_candidates: Annotated[
        str, typer.Option(help="Partners that a variable may be joined to: a number, auto or all.")
    ] = "auto",
    max_table_cells: Annotated[int, typer.Option(help="Most cells of a variable's table.")] = 1_000_000,
    max_seconds: Annotated[float, typer.Option(min=0, help="Limit on the search's time; 0 for none.")] = 60.0,
    max_evaluations: Annotated[int | None, typer.Option(min=1, help="Limit on evaluated networks.")] = None,
    max_generations: Annotated[
        int | None, typer.Option(min=1, help="Limit on generations of all populations.")
    ] = None,
    patience: Annotated[
        float,
        typer.Option(
            min=0, help="Stop after this many times the evaluations that the last find took; 0 for never."
        ),
    ] = 0.0,
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
    pseudo_count: Annotated[float, typer.Option(min=0, help="Smoothing of a table row, in rows.")] = 1.0,
    networks: Annotated[
        int, typer.Option(min=0, help="Networks with JSON, BIF and DOT files of their own.")
    ] = 200,
    parquet: Annotated[
        bool, typer.Option("--parquet", help="Write front.parquet too (needs pyarrow).")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No column kinds, no progress.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary and the record as JSON.")
    ] = False,
) -> None:
    """Find networks that trade fit, simplicity and nearness to an expert's network against each other.

    Ctrl-C ends the search and keeps the front so far; while files are written it waits for them. Exit codes: 0
    done, 1 not written, 2 wrong use, 3 data unusable, 130 interrupted before there was a front or its files.
    """
    try:
        from gomea_bn.expert.expert_network import ExpertNetwork
        from gomea_bn.learning.pareto_learner import ParetoBayesNetLearner
        from gomea_bn.problems.knowledge import ExpertKnowledge

        learner = ParetoBayesNetLearner(
            discretizer,
            objectives=_objectives(objective or [], expert),
            expert=None if expert is None else ExpertNetwork.from_file(expert),
            max_complexity=max_complexity,
            cut_points=read_cut_points(cut_points or ()),
            max_bins=max_bins,
            min_width=min_width,
            min_bin_count=min_bin_count,
            max_indegree=max_indegree,
            max_candidates=read_candidates(max_candidates),
            knowledge=ExpertKnowledge(
                required_edges=read_edges("--require", require or ()),
                forbidden_edges=read_edges("--forbid", forbid or ()),
                temporal_order=read_tiers(tier or (), tiers),
                max_table_cells=max_table_cells,
            ),
            pseudo_count=pseudo_count,
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
        _front(learner, data, out, expert, networks=networks, parquet=parquet, quiet=quiet, as_json=as_json)
    except GomeaBnError as error:
        fail(str(error), WRONG_USE)
    except KeyboardInterrupt:
        fail("Interrupted; nothing was written.", INTERRUPTED)


def _front(
    learner: ParetoBayesNetLearner,
    data: Path,
    out: Path | None,
    expert: Path | None,
    *,
    networks: int,
    parquet: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Read, check, compile, search, write and print, in the order in which mistakes show earliest."""
    from gomea_bn.front.folder import check_front_folder, write_front
    from gomea_bn.learning.warm_up import compile_front_kernels
    from gomea_bn.runtime.environment import file_digest
    from gomea_bn.runtime.limits import Limits

    Limits(learner.max_seconds, learner.max_evaluations, learner.max_generations, learner.patience)
    if out is not None:
        check_front_folder(out, parquet=parquet, inputs=[data] if expert is None else [data, expert])
    frame, table = read_data(
        data, kinds=learner.kinds, missing=learner.missing, max_levels=learner.max_levels
    )
    sources = {
        name: {"path": os.path.abspath(path), "file_sha256": file_digest(path)}
        for name, path in (("source", data), ("expert_source", expert))
        if path is not None
    }
    tell = silent if quiet else say
    tell(table.describe())
    _check(learner, table)
    seconds = compile_first(compile_front_kernels, tell)
    tell(announcement(learner, out))
    learner.fit(frame)
    if learner.stopped_by_ == "interrupt":
        say("Interrupted: this is the front so far.")
    with finishing("the files of the front"):
        found = _with_record(learner.front_, sources, seconds)
        unread = _print(learner, found, as_json=as_json)
        if out is not None:
            tell(f"Writing {len(found):,} networks to {out} ...")
            try:
                written = write_front(out, found, networks=networks, parquet=parquet)
            except GomeaBnError as error:
                fail(str(error), FAILED)
            tell(_what_next(out, len(found), written))
    if unread is not None:
        raise unread


def _print(learner: ParetoBayesNetLearner, found: Front, *, as_json: bool) -> OSError | None:
    """Print the result, and return why that failed: a pipe that nobody reads must not cost the front."""
    try:
        if as_json:
            typer.echo(json.dumps(_summary(learner, found), indent=2))
        else:
            say(_report(learner, found), to_error=False)
    except OSError as error:
        return error
    return None


def _objectives(names: list[str], expert: Path | None) -> list[str] | None:
    """Return the objectives that are asked for, None for the default."""
    from gomea_bn.errors import nearest
    from gomea_bn.front.front import COMPLEXITY, EXPERT_DISTANCE, MISFIT

    known = [MISFIT.name, COMPLEXITY.name, EXPERT_DISTANCE.name]
    for name in names:
        if name not in known:
            raise GomeaBnError(
                f"--objective must be one of {', '.join(known)}, got {name!r}.{nearest(name, known)}"
            )
    if EXPERT_DISTANCE.name in names and expert is None:
        raise GomeaBnError(f"--objective {EXPERT_DISTANCE.name} needs the expert's network: --expert FILE.")
    if names and len(set(names)) < max(2, len(names)):
        raise GomeaBnError(f"--objective: give at least two different ones, got {', '.join(names)}.")
    return names or None


def _check(learner: ParetoBayesNetLearner, table: Table) -> None:
    """Raise `GomeaBnError` for options, rules and an expert's network that do not fit the table."""
    from gomea_bn.expert.expert_network import ExpertNetwork
    from gomea_bn.front.front import COMPLEXITY, EXPERT_DISTANCE, MISFIT
    from gomea_bn.learning.pareto_learner import front_problem

    names = list(learner.objectives or [MISFIT.name, COMPLEXITY.name])
    completed = mentioned = None
    if isinstance(learner.expert, ExpertNetwork):
        completed = learner.expert.fitted(table, pseudo_count=learner.pseudo_count)
        mentioned = frozenset(learner.expert.mentioned(table))
        names = list(learner.objectives or [*names, EXPERT_DISTANCE.name])
    front_problem(learner, table, names, completed, mentioned, seed=0)


def _with_record(found: Front, sources: dict[str, Any], compile_seconds: float) -> Front:
    """Return the front with the files that it was learned from, and the seconds of compiling, in its record."""
    from gomea_bn.front.front import Front

    record = found.record
    record |= {**sources, "seconds": {"compile": compile_seconds, **record.get("seconds", {})}}
    return Front(
        found.objectives, found.values, found.network, table=found.table, expert=found.expert, record=record
    )


def _choices(found: Front) -> dict[str, Candidate]:
    """Return the networks to look at first, by what they are."""
    best = {f"least {objective.label}": found.best(objective.name) for objective in found.objectives}
    return {"knee": found.knee(), **best}


def _summary(learner: ParetoBayesNetLearner, found: Front) -> dict[str, Any]:
    """Return what `--json` prints."""
    return {
        "run_hash": found.run_hash,
        "n_networks": len(found),
        "objectives": [
            {**asdict(objective), "least": float(column.min()), "most": float(column.max())}
            for objective, column in zip(found.objectives, found.values.T)
        ],
        "choices": [
            {"what": what, "id": chosen.index, "objectives": chosen.objectives, "edges": chosen.network.edges}
            for what, chosen in _choices(found).items()
        ],
        "n_eval": learner.n_eval_,
        "n_generations": learner.n_generations_,
        "seconds": learner.fit_seconds_,
        "stopped_by": learner.stopped_by_,
        "seed": learner.seed_,
        "record": found.record,
    }


def _report(learner: ParetoBayesNetLearner, found: Front) -> str:
    """Return the printed result: size, ranges, the networks to look at first, and how to repeat the run."""
    size = (
        f"{len(found):,} networks, none better than another in every objective"
        if len(found) > 1
        else "1 network"
    )
    lines = [f"The front has {size}.", "", f"{'':<24}{'least':>12}{'most':>12}"]
    for objective, column in zip(found.objectives, found.values.T):
        lines.append(
            f"{objective.label:<24}{column.min():>12.6g}{column.max():>12.6g}  {objective.unit}; "
            f"less is {objective.better}"
        )
    lines += ["", *_choice_lines(found), "", *_limit_lines(found)]
    again = f"--seed {learner.seed_}"
    if learner.stopped_by_ in ("max_seconds", "interrupt"):
        again += f" --max-evaluations {learner.n_eval_} --max-seconds 0"
    lines += [
        f"Stopped by {learner.stopped_by_} after {learner.fit_seconds_:.2f} s, {learner.n_eval_:,} evaluations and "
        f"{learner.n_generations_} generations.",
        f"The same data and options with {again} give this front again.",
    ]
    return "\n".join(lines)


def _choice_lines(found: Front) -> list[str]:
    """Return a table of the networks to look at first: id, edges, objectives."""
    head = "".join(f"{name:>18}" for name in found.names)
    lines = [f"{'':<32}{'id':>6}{'edges':>7}{head}"]
    for what, chosen in _choices(found).items():
        values = "".join(f"{value:>18.6g}" for value in chosen.objectives.values())
        lines.append(f"{what.capitalize():<32}{chosen.index:>6}{len(chosen.network.edges):>7}{values}")
    return lines


def _limit_lines(found: Front) -> list[str]:
    """Return the limit on free parameters that the record holds, and which networks to look at first reach it."""
    from gomea_bn.front.front import MISFIT

    parameters = found.record.get("parameters", {})
    most = parameters.get("max_complexity")
    if most is None:
        return []
    lines = [f"At most {floor(most):,} free parameters (--max-complexity)."]
    watched = {"knee": found.knee()}
    if MISFIT.name in found.names:
        watched["best fit"] = found.best(MISFIT.name)
    near = [
        f"the {what} ({chosen.network.n_parameters:,})"
        for what, chosen in watched.items()
        if chosen.network.n_parameters > _NEAR * most
    ]
    if near:
        verb = "uses" if len(near) == 1 else "use"
        lines.append(
            f"Warning: {' and '.join(near)} {verb} more than {_NEAR:.0%} of them; a higher limit may fit better."
        )
    return lines


def _what_next(out: Path, size: int, written: list[Path]) -> str:
    """Return where the files are and how to look at them."""
    with_files = sum(path.parent.name == "networks" and path.suffix == ".json" for path in written)
    extra = f", networks/ (JSON, BIF and DOT of {with_files:,})" if with_files else ""
    return (
        f"Wrote {out}: front.csv and front.json (all {size:,} networks){extra}.\n"
        f"Next: gomea-bn review {out} -o page.html, choose there, save the decision, then\n"
        f"      gomea-bn accept {out} decision.json -o model.json"
    )
