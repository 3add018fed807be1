"""The command `front`: find networks that trade several objectives against each other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from math import floor
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
    WRONG_USE,
    check_targets,
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
    with_lags,
    with_tiers,
)
from gomea_bn.data.files.reading import ReadingOptions
from gomea_bn.errors import GomeaBnError, nearest, spelling
from gomea_bn.learning.parameters import KNOWLEDGE, FrontParameters
from gomea_bn.texts import counted

if TYPE_CHECKING:
    import pandas as pd

    from gomea_bn.front.front import Candidate, Front
    from gomea_bn.learning.pareto_learner import ParetoBayesNetLearner


@reads_table()
@searches(FrontParameters)
def front(
    data: Data,
    out: OutFolder = None,
    expert: Annotated[
        Path | None,
        opt(
            "The expert's network: JSON, BIF, or a list of edges; adds the distance to it as an objective.",
            rich_help_panel=KNOWLEDGE,
        ),
    ] = None,
    objective: Annotated[
        list[str] | None,
        opt(
            "misfit, target, complexity, expert_distance; may be repeated. Default: all that apply, without the misfit "
            "where there is a target.",
            rich_help_panel="Search",
        ),
    ] = None,
    weight: Weight = None,
    time: TimeOfRows = None,
    lags: Lags = None,
    networks: Annotated[
        int,
        opt(
            "Number of networks that also get JSON, BIF and DOT files; `export` writes any of them later.",
            min=0,
        ),
    ] = 0,
    averaged_misfit: Annotated[
        bool,
        opt(
            "Add in-sample misfits, of the networks as they are and with averaged families, to front.csv, for the "
            "networks with files, or for 200: up to two seconds each, after the search."
        ),
    ] = False,
    *,
    given: Given,
    reading: ReadingOptions,
) -> None:
    """Find networks that trade fit, simplicity and closeness to an expert's network against each other.

    Example: gomea-bn front data.csv --expert edges.csv --seed 1 --out out/front

    Ctrl-C ends the search and keeps the front so far; while files are written it waits for the front, and leaves out
    further files of --networks. Exit codes: 0 done, 1 not written, 2 wrong use, 3 data unusable, 130 interrupted before
    there was a front or its files.
    """
    with failing(WRONG_USE, given.spelled, interrupted=NOTHING_WRITTEN):
        from gomea_bn.expert.expert_network import ExpertNetwork
        from gomea_bn.front.folder import FILES, NETWORKS
        from gomea_bn.learning.pareto_learner import ParetoBayesNetLearner
        from gomea_bn.runtime.checkpoints import CHECKPOINT_FILE

        targets = {} if out is None else {"--out": [out / name for name in (*FILES, NETWORKS)]}
        if (folder := given.values["checkpoint"]) is not None:
            targets["--checkpoint"] = [folder / CHECKPOINT_FILE]
        if targets:
            check_targets(targets, {"DATA": [data], "--expert": [expert] if expert else [], **given.files})
        of_learner = given.options()
        reading, of_learner["groups"] = with_lags(reading, time, of_learner["groups"], lags)
        options = {
            **of_learner,
            "objectives": _objectives(objective or [], expert),
            "expert": None if expert is None else ExpertNetwork.from_file(expert),
        }
        learner = ParetoBayesNetLearner(**options)
        _front(
            learner,
            data,
            out,
            expert,
            reading,
            given,
            weight=weight,
            networks=networks,
            averaged_misfit=averaged_misfit,
        )


def _front(
    learner: ParetoBayesNetLearner,
    data: Path,
    out: Path | None,
    expert: Path | None,
    reading: ReadingOptions,
    given: Given,
    *,
    weight: str | None,
    networks: int,
    averaged_misfit: bool,
) -> None:
    """Read, check, compile, search, write and print, in the order in which mistakes show earliest."""
    from gomea_bn.data.files.database_names import absolute_source, content_digest
    from gomea_bn.front.folder import check_front_folder, write_front
    from gomea_bn.learning.fronts.search import limits_of_front
    from gomea_bn.learning.pareto_learner import check_front_learning
    from gomea_bn.learning.warm_up import compile_front_kernels, size_of_table
    from gomea_bn.problems.knowledge import ExpertKnowledge

    checkpoint, quiet = given.saved_search(), given.values["quiet"]
    limits_of_front(learner)
    if out is not None:
        check_front_folder(out)
    table = read_data(
        data,
        kinds=learner.kinds or {},
        missing=learner.missing,
        max_levels=learner.max_levels,
        reading=reading,
        weight=weight,
        groups=learner.groups,
    )
    learner.knowledge = with_tiers(learner.knowledge or ExpertKnowledge(), table)
    sources: dict[str, dict[str, str]] = {
        name: {"path": absolute_source(path), "file_sha256": content_digest(path)}
        for name, path in (("source", data), ("expert_source", expert))
        if path is not None
    }
    if weight is not None:
        sources["source"]["weight"] = weight
    tell = silent if quiet else say
    tell(table.describe(KIND_OVERRIDE, spelling(), MOST_DESCRIBED))
    check_front_learning(learner, table)
    seconds = compile_first(partial(compile_front_kernels, **size_of_table(table)), tell)
    tell(announcement(learner, out))
    with printed_warnings():
        learner.fit(table, checkpoint=checkpoint)
    if learner.stopped_by_ == "interrupt":
        say("Interrupted: this is the front so far.")
    with finishing("the files of the front") as is_interrupted:
        record = learner.front_.record
        record |= {**sources, "seconds": {"compile": seconds, **record.get("seconds", {})}}
        front = learner.front_.with_origin(record=record)
        # a broken pipe must not lose the front
        broken_pipe: OSError | None = None
        try:
            if given.values["as_json"]:
                typer.echo(json.dumps(_summary(learner, front), indent=2))
            else:
                say(_report(learner, front), to_error=False)
        except OSError as error:
            broken_pipe = error
        if out is not None:
            columns = _averaged(front, networks, quiet=quiet) if averaged_misfit else None
            tell(f"Writing {len(front):,} networks to {out} ...")
            with failing(FAILED), _progress(is_interrupted, quiet=quiet) as go_on:
                written = write_front(out, front, networks=networks, columns=columns, go_on=go_on)
            tell(_what_next(out, len(front), written))
    if broken_pipe is not None:
        raise broken_pipe


@contextmanager
def _progress(is_interrupted: Callable[[], bool], *, quiet: bool) -> Iterator[Callable[[int, int], bool]]:
    """Yield the function that shows on a terminal how many networks have files, and ends at Ctrl-C."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=quiet or not console.is_terminal) as progress:
        task = progress.add_task("Writing files of networks", visible=False)

        def go_on(n_done: int, n_networks: int) -> bool:
            progress.update(task, completed=n_done, total=n_networks, visible=True)
            return not is_interrupted()

        yield go_on


def _averaged(front: Front, networks: int, *, quiet: bool) -> pd.DataFrame | None:
    """Return the misfits with averaged families of the networks that get files, by id; None after Ctrl-C."""
    from gomea_bn.front.folder import ids_with_files
    from gomea_bn.learning.averaging.averaged_front import averaged_misfits

    # number of networks that get averaged misfits where none gets files
    ids = ids_with_files(front, networks or 200)
    try:
        misfits = averaged_misfits(front, ids=ids, random_state=front.record["seed"], verbose=not quiet)
    except KeyboardInterrupt:
        say("Interrupted: front.csv will lack the averaged misfits.")
        return None
    # the misfit of the search may leave rows out of tables, which averages do not
    return misfits.rename(columns={"misfit": "in_sample_misfit"})


def _objectives(names: list[str], expert: Path | None) -> list[str] | None:
    """Return the objectives that the options name, None for the default."""
    from gomea_bn.front.front import EXPERT_DISTANCE
    from gomea_bn.learning.fronts.search import STANDARD_OBJECTIVES

    standard = [*STANDARD_OBJECTIVES]
    for name in names:
        if name not in standard:
            raise GomeaBnError(
                f"--objective must be one of {', '.join(standard)}, got {name!r}.{nearest(name, standard)}"
            )
    if EXPERT_DISTANCE.name in names and expert is None:
        raise GomeaBnError(f"--objective {EXPERT_DISTANCE.name} needs the expert's network: --expert FILE.")
    if names and len(set(names)) < max(2, len(names)):
        raise GomeaBnError(f"--objective: give at least two different ones, got {', '.join(names)}.")
    return names or None


def _choices(front: Front) -> dict[str, Candidate]:
    """Return the networks to look at first, by their role."""
    best = {f"least {objective.label}": front.best(objective.name) for objective in front.objectives}
    single = {} if front.single is None else {"single network": front.single}
    return {"knee": front.knee(), "recommended": front.recommended().candidate, **single, **best}


def _summary(learner: ParetoBayesNetLearner, front: Front) -> dict[str, Any]:
    """Return the summary that `--json` prints."""
    return {
        "run_hash": front.run_hash,
        "n_networks": len(front),
        "objectives": [
            {**asdict(objective), "least": float(column.min()), "most": float(column.max())}
            for objective, column in zip(front.objectives, front.values.T)
        ],
        "choices": [
            {"what": role, "id": chosen.index, "objectives": chosen.objectives, "edges": chosen.network.edges}
            for role, chosen in _choices(front).items()
        ],
        "n_eval": learner.n_eval_,
        "n_generations": learner.n_generations_,
        "seconds": learner.fit_seconds_,
        "stopped_by": learner.stopped_by_,
        "seed": learner.seed_,
        "record": front.record,
    }


def _report(learner: ParetoBayesNetLearner, front: Front) -> str:
    """Return the printed result: size, ranges, the networks to look at first, and how to repeat the run."""
    from gomea_bn.learning.options import why_ended, why_unrepeatable

    size = (
        f"{len(front):,} networks, none better than another in every objective"
        if len(front) > 1
        else "1 network"
    )
    if len(front.nondominated()) < len(front):
        size += ", except that others are better than the single network"
    lines = [f"The front has {size}.", "", f"{'':<24}{'least':>12}{'most':>12}"]
    for objective, column in zip(front.objectives, front.values.T):
        # the page and the table of the front name units of information
        unit = objective.unit.removeprefix("nats").lstrip()
        lines.append(
            f"{objective.label:<24}{column.min():>12.6g}{column.max():>12.6g}  {f'{unit}; ' if unit else ''}"
            f"low values: {objective.better}"
        )
    choices = _choices(front)
    head = "".join(f"{name:>18}" for name in front.names)
    lines += ["", f"{'':<32}{'id':>6}{'edges':>7}{head}"]
    for role, chosen in choices.items():
        values = "".join(f"{value:>18.6g}" for value in chosen.objectives.values())
        lines.append(f"{role.capitalize():<32}{chosen.index:>6}{len(chosen.network.edges):>7}{values}")
    errors = {role: chosen.distance_error for role, chosen in choices.items()}
    known = [f"{error:.2g} ({role})" for role, error in errors.items() if error is not None]
    if known:
        lines.append(f"Standard errors of the distances to the expert: {', '.join(known)}.")
    lines += ["", *_limit_lines(front)]
    again = f"--seed {learner.seed_}"
    unrepeatable = why_unrepeatable(learner)
    if learner.stopped_by_ in ("max_seconds", "interrupt"):
        again += f" --max-evaluations {learner.n_eval_} --max-seconds 0"
        again += f" --single-evaluations {learner.n_eval_single_}"
    lines += [
        f"{why_ended(learner)} after {learner.fit_seconds_:.2f} s, {learner.n_eval_:,} evaluations and "
        f"{counted(learner.n_generations_, 'generation')}.",
        f"{unrepeatable}, so another run may give another front."
        if unrepeatable
        else f"The same data and options with {again} give this front again.",
    ]
    return "\n".join(lines)


def _limit_lines(front: Front) -> list[str]:
    """Return the lines on the limit on free parameters, with the main networks that come close to it."""
    parameters = front.record.get("parameters", {})
    most = parameters.get("max_complexity")
    if most is None:
        return []
    lines = [f"At most {floor(most):,} free parameters (--max-complexity)."]
    near = [f"the {role} ({chosen.counted_parameters:,.0f})" for role, chosen in front.near_limit().items()]
    if near:
        verb = "uses" if len(near) == 1 else "use"
        lines.append(
            f"Warning: {' and '.join(near)} {verb} more than 95% of the limit; a higher one may fit better."
        )
    return lines


def _what_next(out: Path, size: int, written: list[Path]) -> str:
    """Return the names of the files and the commands to look at them."""
    with_files = sum(path.parent.name == "networks" and path.suffix == ".json" for path in written)
    extra = f", networks/ (JSON, BIF and DOT of {with_files:,})" if with_files else ""
    return (
        f"Wrote {out}: front.csv, front.json and networks.gz (all {size:,} networks){extra}.\n"
        f"Next: gomea-bn review {out} -o page.html, choose there, save the decision, then\n"
        f"      gomea-bn accept {out} decision.json -o model.json"
    )
