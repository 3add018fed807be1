"""Proofs of optimal graphs, how often the search reaches them, and scores of large graphs.

All but `certainty-large` have BDeu(1) and at most 3 parents.
`certainty-bootstrap` compares the frequencies of pairs among networks that pybnesian's hill climbing (extra "peers")
learns from bootstrap resamples, the protocol of boot.strength of R's bnlearn, with posterior probabilities.
`certainty-large` has BDeu(10) and default limits: nats above the generating network, with priced parent sets, without
them (the search of earlier versions), and of pybnesian's hill climbing.
"""

from time import process_time
from typing import Any

import numpy as np
import pandas as pd

from gomea_bn import GOMEA, BayesNetLearner, DiscretizedBayesNet
from gomea_bn.certainty import EdgeProbabilities, certify, edge_probabilities
from gomea_bn.data.table import read_table
from gomea_bn.learning import Scoring
from gomea_bn.problems.parents.screening import AUTO_CANDIDATES, UNSCREENED_VARIABLES
from lab.methods.peers import PEERS
from lab.published.confidence import area_under_curve, calibration_error
from lab.published.judge import network_score
from lab.published.tables import published_network
from lab.runner.experiment import Option, Options
from lab.runner.printing import sheet
from lab.runner.report import Sheet
from lab.runner.tabulated import tabulated

EQUIVALENT_SAMPLE_SIZE = 1.0
MAX_INDEGREE = 3
LARGE_SAMPLE_SIZE = 10.0
# nats
_SAME_SCORE = 1e-4


def sample(name: str, n_rows: int, seed: int) -> pd.DataFrame:
    """Return rows of a published network, without columns that have one value."""
    truth = published_network(name)
    frame = truth.sample(n_rows, random_state=10_000 + seed)
    return frame[[column for column in truth.names if frame[column].nunique() > 1]]


def proof(frame: pd.DataFrame, edges: Any = (), **options: Any) -> Any:
    """Return the certificate of a graph over discrete columns."""
    network = DiscretizedBayesNet.from_table(read_table(frame), list(edges), {})
    return certify(
        network,
        frame,
        scoring_method="bdeu",
        equivalent_sample_size=EQUIVALENT_SAMPLE_SIZE,
        max_indegree=MAX_INDEGREE,
        **options,
    )


def proofs(options: Options) -> Sheet:
    """Return one row per network: the proof starts from the graph without edges."""
    # compiles or loads the kernels, which no proof counts
    proof(sample("asia", 100, 0))
    rows = []
    for name in options.networks:
        frame = sample(name, options.rows, 0)
        began = process_time()
        found = proof(frame, max_seconds=options.limit)
        seconds = process_time() - began
        rows.append(
            [name, str(frame.shape[1]), str(found.n_parent_sets), f"{found.best_score:.4f}",
             f"{found.bound:.4f}", found.stopped_by, f"{seconds:.1f}", f"{found.seconds:.1f}"]
        )  # fmt: skip
    heads = ["network", "columns", "parent sets", "best", "bound", "ended by", "CPU s", "wall s"]
    return sheet(f"BDeu(1), {options.rows:,} rows, at most 3 parents", heads, rows)


def search(options: Options) -> Sheet:
    """Return in how many seeds the learner's graph is optimal, and after how many evaluations and seconds."""
    rows = []
    for name in options.networks:
        frame = sample(name, options.rows, 0)
        optimum = proof(frame, max_seconds=None).bound
        runs = [search_run(frame, optimum, options.seconds, seed) for seed in range(options.seeds)]
        gaps, evaluations, seconds = np.array(runs).T
        reached = gaps < _SAME_SCORE
        # a failed seed counts as later than all others
        evaluations[~reached] = seconds[~reached] = np.inf
        failed = ", ".join(str(seed) for seed in np.flatnonzero(~reached)) or "-"
        rows.append(
            [name, f"{reached.sum()} of {options.seeds}", failed, f"{max(gaps):.4f}",
             f"{np.median(evaluations):,.0f}", f"{np.median(seconds):.2f}", f"{max(seconds):.2f}"]
        )  # fmt: skip
    heads = ["network", "optimal", "failed seeds", "largest gap", "median evaluations", "median s", "most s"]
    return sheet(f"Searches of {options.seconds:g} s of one core", heads, rows)


def search_run(
    frame: pd.DataFrame, optimum: float, most_seconds: float, seed: int
) -> tuple[float, float, float]:
    """Return how far below the optimum the learner ends, and its evaluations and processor seconds until then."""
    began = process_time()

    def ends(progress: Any) -> bool:
        return -progress.best > optimum - _SAME_SCORE or process_time() - began > most_seconds

    learner = BayesNetLearner(
        scoring_method=Scoring("bdeu", equivalent_sample_size=EQUIVALENT_SAMPLE_SIZE),
        max_indegree=MAX_INDEGREE,
        # the callback ends the search by processor time
        max_seconds=10 * most_seconds,
        patience=None,
        n_jobs=1,
        callback=ends,
        random_state=seed,
        density="bins",
    ).fit(frame)
    return optimum - learner.score_, learner.n_eval_, process_time() - began


def probabilities(frame: pd.DataFrame, **options: Any) -> EdgeProbabilities:
    """Return the probabilities of edges between discrete columns."""
    return edge_probabilities(
        DiscretizedBayesNet.from_table(read_table(frame), [], {}),
        frame,
        scoring_method="bdeu",
        equivalent_sample_size=EQUIVALENT_SAMPLE_SIZE,
        max_indegree=MAX_INDEGREE,
        **options,
    )


def bootstrap(options: Options) -> Sheet:
    """Return the calibration of bootstrap frequencies of a peer and of posterior probabilities on ALARM."""
    frame = sample("alarm", options.rows, 0)
    is_true = np.zeros((frame.shape[1],) * 2, np.bool_)
    position = {name: v for v, name in enumerate(frame.columns)}
    for parent, child in published_network("alarm").edges:
        if parent in position and child in position:
            is_true[position[parent], position[child]] = is_true[position[child], position[parent]] = True
    began = process_time()
    frequencies = np.zeros(is_true.shape)
    for seed in range(options.resamples):
        resample = frame.sample(len(frame), replace=True, random_state=seed).reset_index(drop=True)
        for parent, child in PEERS["pybnesian hill climbing"](resample, "bdeu", EQUIVALENT_SAMPLE_SIZE):
            frequencies[position[parent], position[child]] += 1 / options.resamples
    of_peer = process_time() - began
    began = process_time()
    posterior = probabilities(frame, random_state=0, max_seconds=None, n_jobs=1)
    ours = process_time() - began
    upper = np.triu_indices(len(is_true), 1)
    truths, rows = is_true[upper], []
    for label, confidence, seconds in (
        (f"{options.resamples} bootstrap resamples", frequencies + frequencies.T, of_peer),
        ("posterior", posterior.adjacent, ours),
    ):
        of_pairs = np.clip(confidence[upper], 0, 1)
        measures = (
            calibration_error(of_pairs, truths),
            area_under_curve(of_pairs[truths], of_pairs[~truths]),
            float(((of_pairs - truths) ** 2).mean()),
        )
        rows.append([label, *(f"{measure:.3f}" for measure in measures), f"{seconds:.1f}"])
    heads = ["pairs of ALARM", "ECE", "AUC", "Brier", "CPU s"]
    return sheet(f"BDeu(1), {options.rows:,} rows", heads, rows)


def large(options: Options) -> Sheet:
    """Return scores above that of the generating network, and the processor seconds."""
    # a tenth of a second compiles or loads the kernels, which no search counts
    large_run(sample("asia", 100, 0), 0.1)
    rows = []
    for name in options.networks:
        frame = sample(name, options.rows, 0)
        edges = [edge for edge in published_network(name).edges if set(edge) <= set(frame.columns)]
        reference = network_score(frame, edges, "bdeu", LARGE_SAMPLE_SIZE)
        is_screened = frame.shape[1] > UNSCREENED_VARIABLES
        earlier = {
            "max_candidates": AUTO_CANDIDATES if is_screened else None,
            "algorithm": GOMEA(refine="none"),
        }
        scores = [large_run(frame, options.seconds, **changes) - reference for changes in ({}, earlier)]
        began = process_time()
        of_peer = PEERS["pybnesian hill climbing"](frame, "bdeu", LARGE_SAMPLE_SIZE)
        seconds = process_time() - began
        scores.append(network_score(frame, of_peer, "bdeu", LARGE_SAMPLE_SIZE) - reference)
        rows.append([name, str(frame.shape[1]), *(f"{score:.0f}" for score in scores), f"{seconds:.1f}"])
    heads = ["network", "columns", "ours", "without pricing", "pybnesian", "its s"]
    return sheet(f"{options.rows:,} rows, {options.seconds:g} s of one core for ours", heads, rows)


def large_run(frame: pd.DataFrame, seconds: float, **changes: Any) -> float:
    """Return the score that the learner reaches in some processor seconds, those of its preparation included."""
    began = process_time()
    learner = BayesNetLearner(
        scoring_method=Scoring("bdeu", equivalent_sample_size=LARGE_SAMPLE_SIZE),
        max_seconds=10 * seconds,
        patience=None,
        n_jobs=1,
        callback=lambda progress: process_time() - began > seconds,
        random_state=0,
        **changes,
        density="bins",
    ).fit(frame)
    return learner.score_


_ROWS = {"rows": Option(1000, "Number of rows.", least=1)}
_SECONDS = {"seconds": Option(20.0, "Processor seconds of a search.")}


def _networks(*names: str) -> dict[str, Option]:
    return {"networks": Option(names, "Published discrete networks.")}


EXPERIMENTS = (
    tabulated(
        "certainty-proofs",
        "Seconds to the proof of an optimal graph, and the bound",
        "The proof starts from the graph without edges.",
        proofs,
        {
            **_networks("asia", "sachs", "child", "insurance", "alarm"),
            **_ROWS,
            "limit": Option(60.0, "Seconds of a proof."),
        },
        split=("networks",),
    ),
    tabulated(
        "certainty-search",
        "How often the learner reaches the proven optimum",
        "Evaluations and processor seconds until then.",
        search,
        {
            **_networks("asia", "child", "insurance"),
            **_ROWS,
            **_SECONDS,
            "seeds": Option(20, "Number of seeds.", least=1),
        },
        split=("networks",),
    ),
    tabulated(
        "certainty-bootstrap",
        "Calibration of bootstrap frequencies and of posterior probabilities on ALARM",
        "The frequencies are those of a peer.",
        bootstrap,
        {**_ROWS, "resamples": Option(200, "Number of resamples.", least=1)},
    ),
    tabulated(
        "certainty-large",
        "Scores of published networks of many columns",
        "Nats above the generating network.",
        large,
        {**_networks("andes"), **_ROWS, **_SECONDS},
        split=("networks",),
    ),
)
