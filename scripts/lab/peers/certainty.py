"""Proofs of optimal graphs, and how often the search reaches them, by BDeu(1) with at most 3 parents.

`certainty-bootstrap` compares the frequencies of pairs among networks that pybnesian's hill climbing (extra "peers")
learns from bootstrap resamples, the protocol of boot.strength of R's bnlearn, with posterior probabilities.
"""

from time import process_time
from typing import Any

import numpy as np
import pandas as pd

from gomea_bn import BayesNetLearner, DiscretizedBayesNet
from gomea_bn.certainty import certify, edge_probabilities
from gomea_bn.data.table import read_table
from lab.methods.peers import PEERS
from lab.published.confidence import area_under_curve, calibration_error
from lab.published.tables import published_network, varying_sample
from lab.runner.experiment import Option, Options, tabulated
from lab.runner.report import Sheet, sheet
from lab.runner.runs import timed

EQUIVALENT_SAMPLE_SIZE = 1.0
MAX_INDEGREE = 3
BDEU: dict[str, Any] = {
    "scoring_method": "bdeu",
    "equivalent_sample_size": EQUIVALENT_SAMPLE_SIZE,
    "max_indegree": MAX_INDEGREE,
}
# nats
_SAME_SCORE = 1e-4


def without_edges(frame: pd.DataFrame) -> DiscretizedBayesNet:
    """Return the network without edges of discrete columns."""
    return DiscretizedBayesNet.from_table(read_table(frame), [], {})


def proof(frame: pd.DataFrame, **options: Any) -> Any:
    """Return the certificate of the graph without edges."""
    return certify(without_edges(frame), frame, **BDEU, **options)


def proofs(options: Options) -> Sheet:
    """Return one row per network: the proof starts from the graph without edges."""
    # compiles or loads the kernels, which no proof counts
    proof(varying_sample(published_network("asia"), 100, 0))
    rows = []
    for name in options.networks:
        frame = varying_sample(published_network(name), options.rows, 0)
        found, seconds = timed(proof, frame, max_seconds=options.limit, clock=process_time)
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
        frame = varying_sample(published_network(name), options.rows, 0)
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
        scoring_method="bdeu",
        equivalent_sample_size=EQUIVALENT_SAMPLE_SIZE,
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


def bootstrap(options: Options) -> Sheet:
    """Return the calibration of bootstrap frequencies of a peer and of posterior probabilities on ALARM."""
    truth = published_network("alarm")
    frame = varying_sample(truth, options.rows, 0)
    is_true = np.zeros((frame.shape[1],) * 2, np.bool_)
    position = {name: v for v, name in enumerate(frame.columns)}
    for parent, child in truth.edges:
        if parent in position and child in position:
            is_true[position[parent], position[child]] = is_true[position[child], position[parent]] = True
    began = process_time()
    frequencies = np.zeros(is_true.shape)
    for seed in range(options.resamples):
        resample = frame.sample(len(frame), replace=True, random_state=seed).reset_index(drop=True)
        for parent, child in PEERS["pybnesian hill climbing"](resample, "bdeu", EQUIVALENT_SAMPLE_SIZE):
            frequencies[position[parent], position[child]] += 1 / options.resamples
    of_peer = process_time() - began
    limits: dict[str, Any] = {"random_state": 0, "max_seconds": None, "n_jobs": 1}
    posterior, ours = timed(
        lambda: edge_probabilities(without_edges(frame), frame, **BDEU, **limits), clock=process_time
    )
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


_ROWS = {"rows": Option(1000, "Number of rows.", least=1)}


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
            "seconds": Option(20.0, "Processor seconds of a search."),
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
)
