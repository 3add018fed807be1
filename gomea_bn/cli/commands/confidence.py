"""The command `confidence`: how sure a learned network is of its edges, and what stays when it is learned again."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gomea_bn.cli.after_search import AfterSearch
from gomea_bn.cli.named_networks import (
    finish_folder,
    of_run_folder,
    recorded_file,
    run_record_of,
    table_of_record,
)
from gomea_bn.cli.option_texts import read_checkpoint, read_jobs
from gomea_bn.cli.options import AsJson, CheckpointEvery, CheckpointFolder, CheckpointResume, Jobs, Quiet
from gomea_bn.cli.output import (
    FAILED,
    INTERRUPTED,
    UNUSABLE_DATA,
    WRONG_USE,
    check_targets,
    fail,
    finishing,
    say,
    silent,
)
from gomea_bn.cli.running import printed_warnings
from gomea_bn.errors import GomeaBnError

if TYPE_CHECKING:
    from gomea_bn.learning.learner import BayesNetLearner

_OPTION_NAMES = {
    "bins": "--drawn-bins or --repeat",
    "n_sweeps": "--max-sweeps",
    "max_seconds": "--max-seconds",
}


def confidence(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="Folder of a run of `gomea-bn learn DATA --out RUN`.")
    ],
    data: Annotated[
        Path | None, typer.Option(help="The table of the run, if it is no longer where it was.")
    ] = None,
    max_seconds: Annotated[
        float, typer.Option(min=0, help="Time limit of the probabilities in seconds; 0 for none.")
    ] = 60.0,
    max_sweeps: Annotated[
        int, typer.Option(min=1, help="Largest number of sweeps of a sampled chain.")
    ] = 20_000,
    drawn_bins: Annotated[
        bool,
        typer.Option(
            "--drawn-bins",
            help="Draw bins together with graphs, so that doubt about cuts counts, in place of the bins of --repeat; "
            "for density-bd.",
        ),
    ] = False,
    repeat: Annotated[
        int,
        typer.Option(
            min=0,
            help="Number of further networks, each learned with the options of the run from a random 63 % of the rows; "
            "prints what stays and what moves, and the probabilities are means over their bins.",
        ),
    ] = 0,
    jobs: Jobs = 0,
    checkpoint: CheckpointFolder = None,
    every: CheckpointEvery = None,
    resume: CheckpointResume = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Compute the probabilities of edges of a learned network, and write them to the folder of its run.

    Example: gomea-bn confidence out/run --repeat 5

    The folder gets confidence.json, with --repeat also stability.json, and `show`, `compare`, drawings and the page
    have the probabilities. Ctrl-C keeps what is complete. Exit codes: 0 done, 1 not written, 2 wrong use, 3 run or
    table unusable, 130 interrupted.
    """
    from gomea_bn.learning.options import LearningOptions
    from gomea_bn.learning.run_folder import RUN_ENTRIES
    from gomea_bn.runtime.checkpoints import CHECKPOINT_FILE

    if checkpoint is not None:
        saved = [checkpoint / CHECKPOINT_FILE]
        check_targets({"--checkpoint": saved}, {"RUN": [run / name for name in RUN_ENTRIES]})
    tell = silent if quiet else say
    try:
        finish_folder(run)
        record = run_record_of(run)
        learner = _learner(run, record, data)
    except GomeaBnError as error:
        fail(error, UNUSABLE_DATA)
    try:
        learner.n_jobs = read_jobs(jobs)
        after_search = AfterSearch.of(
            confidence=True,
            draws_bins=drawn_bins,
            n_repeats=repeat,
            n_sweeps=max_sweeps,
            max_seconds=max_seconds,
            checkpoint=read_checkpoint(checkpoint, every, resume),
            option_names=_OPTION_NAMES,
        )
        if repeat:
            _check_repeatable(record)
        after_search.check_score(learner.table_, LearningOptions.of(learner, learner.table_.n_rows))
    except GomeaBnError as error:
        fail(error, WRONG_USE)
    try:
        after_search.check()
    except GomeaBnError as error:
        fail(error, WRONG_USE, after_search.problem_options)
    with printed_warnings():
        after_search.compute(learner, tell)
    if after_search.probabilities is None and after_search.stability is None:
        if after_search.problem is not None:
            fail(after_search.problem, FAILED, after_search.problem_options)
        fail("Interrupted; nothing was written.", INTERRUPTED)
    with finishing("the report and the files"):
        _write_and_print(run, learner, record, after_search, as_json=as_json)


def _learner(run: Path, record: Mapping[str, Any], data: Path | None) -> BayesNetLearner:
    """Return a learner as it was after the run, with its network and its table."""
    from gomea_bn.data.table import table_digest
    from gomea_bn.learning.learner import BayesNetLearner
    from gomea_bn.learning.parameters import declared_options, learner_of_options
    from gomea_bn.problems.knowledge import ExpertKnowledge

    network = of_run_folder(run)
    if not record:
        raise GomeaBnError(
            f"Folder '{run}' has no run.json; give a folder that `gomea-bn learn` wrote with --out."
        )
    source = record.get("data")
    if isinstance(source, dict) and os.path.isdir(str(source.get("path"))):
        raise GomeaBnError(
            f"The run in '{run}' learned from a folder; probabilities need a table in one file."
        )
    path = recorded_file(source, data)
    if path is None:
        raise GomeaBnError(
            "The table of the run is not where it was, or has changed; give its place with --data."
        )
    parameters = dict(record["parameters"])
    if parameters.get("knowledge") is not None:
        parameters["knowledge"] = ExpertKnowledge(**parameters["knowledge"])
    known = {**declared_options(BayesNetLearner), "knowledge": None, "cut_points": None, "kinds": None}
    options = {name: value for name, value in parameters.items() if name in known}
    if "(" in str(options.get("discretizer")):
        # an object is recorded in words, which make no discretizer
        options |= {"discretizer": "equal-frequency", "scoring_method": network.metadata["scoring_method"]}
    learner = learner_of_options(BayesNetLearner, {**options, "random_state": record["seed"]})
    learner.network_, learner.seed_, learner.stopped_by_ = network, record["seed"], ""
    learner.table_ = table_of_record(path, record)
    if table_digest(learner.table_) != network.metadata.get("data_sha256"):
        raise GomeaBnError(
            f"The rows of '{path}' are not those that the network of '{run}' was learned from."
        )
    return learner


def _check_repeatable(record: Mapping[str, Any]) -> None:
    """Raise `GomeaBnError` if the options of a run cannot be made again from its record."""
    discretizer, algorithm = record["parameters"].get("discretizer"), record.get("algorithm")
    for given in (
        discretizer if "(" in str(discretizer) else None,
        None if isinstance(algorithm, dict) else algorithm,
    ):
        if given is not None:
            raise GomeaBnError(f"--repeat: the run used {given}, which was made in Python; repeat it there.")


def _write_and_print(
    run: Path, learner: BayesNetLearner, record: dict[str, Any], after_search: AfterSearch, *, as_json: bool
) -> None:
    """Write the folder of the run again, with what was computed, and print that."""
    from gomea_bn.learning.run_folder import CONFIDENCE_FILE, STABILITY_FILE, write_run_folder

    texts = after_search.texts()
    former = {name: run / name for name in (CONFIDENCE_FILE, STABILITY_FILE)}
    kept = {name: path.read_text(encoding="utf-8") for name, path in former.items() if path.is_file()}
    problem = after_search.problem
    try:
        written = write_run_folder(
            run, after_search.network(learner), {**record, **after_search.record}, {**kept, **texts}
        )
    except GomeaBnError as error:
        problem, written = error, []
    if as_json:
        typer.echo(json.dumps({name.removesuffix(".json"): json.loads(text) for name, text in texts.items()}))
    else:
        say("\n\n".join(after_search.reports()), to_error=False)
    if written:
        say(
            f"Wrote {', '.join(str(path) for path in written if path.name in texts)} and the network with it."
        )
    if problem is not None:
        fail(problem, FAILED, after_search.problem_options)
