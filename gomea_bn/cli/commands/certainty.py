"""The commands `confidence` and `test-graph`: how sure the edges of a network are."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gomea_bn.cli.after_search import AfterSearch
from gomea_bn.cli.named_networks import (
    Network,
    finish_folder,
    named_network,
    network_and_rows,
    of_run_folder,
    recorded_file,
    run_record_of,
    table_of_network,
    table_of_record,
    tested_network,
)
from gomea_bn.cli.option_texts import checkpoint_of_options, read_jobs
from gomea_bn.cli.options import (
    AsJson,
    CheckpointEvery,
    CheckpointFolder,
    CheckpointResume,
    Data,
    Jobs,
    Quiet,
    reads_table,
)
from gomea_bn.cli.output import (
    FAILED,
    INTERRUPTED,
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
from gomea_bn.cli.running import answering, limit, loaded_rows, printed_warnings
from gomea_bn.data.files.reading import ReadingOptions
from gomea_bn.errors import GomeaBnError
from gomea_bn.texts import counted, shown_name

if TYPE_CHECKING:
    from gomea_bn.learning.learner import BayesNetLearner


_MAX_SWEEPS = 20_000


@reads_table("network", only_with="certify")
def confidence(
    network: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="Folder of a run of `gomea-bn learn DATA --out RUN`. With --certify also any other network.",
        ),
    ],
    data: Annotated[
        Path | None,
        opt(
            "The table of the run, if it is no longer where it was. With --certify any table of its columns."
        ),
    ] = None,
    max_seconds: Annotated[
        float, opt("Time limit of the probabilities or of the proof in seconds; 0 for none.", min=0)
    ] = 60.0,
    max_sweeps: Annotated[int, opt("Largest number of sweeps of a sampled chain.", min=1)] = _MAX_SWEEPS,
    drawn_bins: Annotated[
        bool,
        opt(
            "Draw bins together with graphs, so that doubt about cuts counts, in place of the bins of --repeat; "
            "for density-bd."
        ),
    ] = False,
    repeat: Annotated[
        int,
        opt(
            "Number of further networks, each learned with the options of the run from a random 63 % of the rows; "
            "prints what stays and what moves, and the probabilities are means over their bins.",
            min=0,
        ),
    ] = 0,
    certify: Annotated[
        bool,
        opt(
            "Prove instead that no graph with the bins of the network has a higher score on the table, or print by how "
            "much one may be better, edge by edge. Nothing is written."
        ),
    ] = False,
    max_indegree: Annotated[
        int | None,
        opt("With --certify: largest number of parents of a variable in the compared graphs. Default: 3."),
    ] = None,
    scoring_method: Annotated[
        str | None,
        opt("With --certify: density-bic, density-bd, bic, aic, k2 or bdeu. Default: that of the network."),
    ] = None,
    ess: Annotated[
        float | None,
        opt(
            "With --certify: equivalent sample size of bdeu, in rows. Default: that of the network, or 1.",
            metavar="NUMBER",
        ),
    ] = None,
    jobs: Jobs = 0,
    checkpoint: CheckpointFolder = None,
    every: CheckpointEvery = None,
    resume: CheckpointResume = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
    *,
    reading: ReadingOptions,
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

    of_proof = {"--max-indegree": max_indegree, "--scoring-method": scoring_method, "--ess": ess}
    of_probabilities = {
        "--max-sweeps": max_sweeps != _MAX_SWEEPS,
        "--drawn-bins": drawn_bins,
        "--repeat": repeat,
        "--checkpoint": checkpoint,
        "--json": as_json,
    }
    for option, is_given in (of_probabilities if certify else of_proof).items():
        if is_given:
            fail(f"{option} {'is not' if certify else 'is'} for --certify.", WRONG_USE)
    if certify:
        _prove(
            network,
            data,
            reading,
            3 if max_indegree is None else max_indegree,
            max_seconds,
            scoring_method,
            ess,
        )
        return
    run = Path(network)
    if checkpoint is not None:
        saved = [checkpoint / CHECKPOINT_FILE]
        check_targets({"--checkpoint": saved}, {"RUN": [run / name for name in RUN_ENTRIES]})
    tell = silent if quiet else say
    with failing(UNUSABLE_DATA):
        finish_folder(run)
        record = run_record_of(run)
        learner = _learner(run, record, data)
    with failing(WRONG_USE):
        learner.n_jobs = read_jobs(jobs)
        after_search = AfterSearch(
            drawn_bins,
            repeat,
            max_sweeps,
            limit(max_seconds),
            checkpoint_of_options(checkpoint, every, resume),
        )
        discretizer, algorithm = record["parameters"].get("discretizer"), record.get("algorithm")
        for given in (
            discretizer if "(" in str(discretizer) else None,
            None if isinstance(algorithm, dict) else algorithm,
        ):
            if repeat and given is not None:
                raise GomeaBnError(
                    f"--repeat: the run used {given}, which was made in Python; repeat it there."
                )
        after_search.check_score(learner.table_, LearningOptions.of(learner, learner.table_.n_rows))
    try:
        after_search.check()
    except GomeaBnError as error:
        fail(error, WRONG_USE, after_search.problem_options)
    with printed_warnings():
        after_search.compute(learner, tell)
    if after_search.probabilities is None and after_search.stability is None:
        if after_search.problem is not None:
            fail(after_search.problem, FAILED, after_search.problem_options)
        fail(NOTHING_WRITTEN, INTERRUPTED)
    with finishing("the report and the files"):
        _write_and_print(run, learner, record, after_search, as_json=as_json)


def _learner(run: Path, record: Mapping[str, Any], data: Path | None) -> BayesNetLearner:
    """Return a learner as it was after the run, with its network and its table."""
    from gomea_bn.data.table import table_digest
    from gomea_bn.learning.learner import BayesNetLearner
    from gomea_bn.parameters import declarations
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
    known = {**declarations(BayesNetLearner), "knowledge": None, "cut_points": None, "kinds": None}
    options = {name: value for name, value in parameters.items() if name in known}
    if "(" in str(options.get("discretizer")):
        # an object is recorded in words, which make no discretizer
        options |= {"discretizer": "equal-frequency", "scoring_method": network.metadata["scoring_method"]}
    learner = BayesNetLearner(**{**options, "random_state": record["seed"]})
    learner.network_, learner.seed_, learner.stopped_by_ = network, record["seed"], ""
    learner.table_ = table_of_record(path, record)
    if table_digest(learner.table_) != network.metadata.get("data_sha256"):
        raise GomeaBnError(
            f"The rows of '{path}' are not those that the network of '{run}' was learned from."
        )
    return learner


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
        verdicts = [] if after_search.probabilities is None else [_verdicts(learner)]
        say("\n\n".join([*after_search.reports(), *verdicts]), to_error=False)
    if written:
        say(
            f"Wrote {', '.join(str(path) for path in written if path.name in texts)} and the network with it."
        )
    if problem is not None:
        fail(problem, FAILED, after_search.problem_options)


def _verdicts(learner: BayesNetLearner) -> str:
    """Return what the rows say about each edge, in the words of `test-graph`."""
    from gomea_bn.certainty.graph_tests import edge_verdicts, verdict_texts

    try:
        tested, n_rows = edge_verdicts(learner.network_, learner.table_)
    except GomeaBnError as error:
        return f"The edges were not tested. {error}"
    lines = [
        f"  {shown_name(parent)} → {shown_name(child)}: {text}"
        for (parent, child), text in verdict_texts(tested).items()
    ]
    return "\n".join([f"Each edge tested on {counted(n_rows, 'row')} (test-graph):", *lines])


def _prove(
    network: str,
    data: Path | None,
    reading: ReadingOptions,
    max_indegree: int,
    max_seconds: float,
    scoring_method: str | None,
    ess: float | None,
) -> None:
    """Print whether no graph with the bins of a network scores better, or the better graph edge by edge.

    Ctrl-C ends the proof and keeps the bound so far.
    """
    from gomea_bn.certainty.certificate import certify as certificate_of
    from gomea_bn.network.rows import evidence_for

    with failing(UNUSABLE_DATA):
        if data is None:
            saved = named_network(network)
            rows = table_of_network(network).to_frame()
        else:
            rows = loaded_rows(data, reading)
            saved = named_network(network, rows)
        table = evidence_for(saved, rows, allow_empty_bins=True)
    with answering("Interrupted before there was a bound."):
        certificate = certificate_of(
            saved,
            table,
            max_indegree=max_indegree,
            max_seconds=limit(max_seconds),
            scoring_method=scoring_method,
            equivalent_sample_size=ess,
        )
    say(str(certificate), to_error=False)
    if certificate.best_score > certificate.score and not certificate.is_optimal:
        say("Edges of the better graph:", to_error=False)
        for parent, child in certificate.edges:
            say(f"  {shown_name(parent)} → {shown_name(child)}", to_error=False)


@reads_table("network")
def test_graph(
    network: Network,
    data: Data,
    n_permutations: Annotated[int, opt("Number of permutations of every column.", min=1)] = 499,
    seed: Annotated[int, opt("Seed of the permutations.", min=0)] = 0,
    as_json: AsJson = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Test whether DATA rejects the graph of NETWORK, and print edges that it lacks or does not need.

    An expert's edges are completed from DATA. Exit codes: 0 done, whatever the answer, 2 wrong use, 3 network or data
    unusable, 130 interrupted.
    """
    from gomea_bn.certainty import test_graph as result_of
    from gomea_bn.network.rows import evidence_for

    with failing(UNUSABLE_DATA):
        saved, rows = network_and_rows(network, loaded_rows(data, reading))
        assert rows is not None
        table = evidence_for(saved, rows, allow_missing=True, allow_empty_bins=True)
    with answering(data_may_be_wrong=True):
        graph = tested_network(network, saved)
        result = result_of(graph, table, n_permutations=n_permutations, random_state=seed)
    if as_json:
        typer.echo(json.dumps(result.to_dict(), indent=2))
    else:
        say(str(result), to_error=False)
