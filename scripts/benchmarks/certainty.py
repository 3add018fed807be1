"""Proofs of optimal graphs, how often the search reaches them, and how well probabilities of edges are calibrated.

    python scripts/benchmarks/certainty.py proofs [--networks asia,sachs,child,insurance,alarm] [--rows 1000]
    python scripts/benchmarks/certainty.py search [--networks asia,child,insurance] [--seconds 20] [--seeds 20]
    python scripts/benchmarks/certainty.py calibration [--nets 6] [--rows 400] [--members 8]

proofs       Published discrete networks (BDeu(1), at most 3 parents): seconds to the proof, and the bound.
search       How often the learner reaches the proven optimum, and its evaluations and processor seconds until then.
calibration  Random networks of 8 columns: frequencies of edges among networks from subsamples and from bootstrap
             resamples, and posterior probabilities over the bins of one network. Calibration error (ECE, 10 bins),
             area under the ROC curve (AUC) and Brier score of pairs, directions ignored.
"""

from __future__ import annotations

import argparse
import itertools
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from edge_frequencies import area_under_curve
from printing import print_table

from gomea_bn import BayesNetEnsemble, BayesNetLearner, DiscretizedBayesNet
from gomea_bn.certainty import certify
from gomea_bn.data.table import read_table
from gomea_bn.experiments.tables import published_network
from gomea_bn.simulation import random_network

EQUIVALENT_SAMPLE_SIZE = 1.0
MAX_INDEGREE = 3
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


def proofs(options: argparse.Namespace) -> None:
    """Print one row per network: the proof starts from the graph without edges."""
    # compiles or loads the kernels, which no proof counts
    proof(sample("asia", 100, 0))
    rows = []
    for name in options.networks.split(","):
        frame = sample(name, options.rows, 0)
        began = process_time()
        found = proof(frame, max_seconds=options.limit)
        seconds = process_time() - began
        rows.append(
            [name, str(frame.shape[1]), str(found.n_parent_sets), f"{found.best_score:.4f}",
             f"{found.bound:.4f}", found.stopped_by, f"{seconds:.1f}", f"{found.seconds:.1f}"]
        )  # fmt: skip
        print(*rows[-1], flush=True)
    heads = ["network", "columns", "parent sets", "best", "bound", "ended by", "CPU s", "wall s"]
    print_table(f"BDeu(1), {options.rows:,} rows, at most 3 parents", heads, rows)


def search(options: argparse.Namespace) -> None:
    """Print in how many seeds the learner's graph is optimal, and after how many evaluations and seconds."""
    rows = []
    for name in options.networks.split(","):
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
        print(*rows[-1], flush=True)
    heads = ["network", "optimal", "failed seeds", "largest gap", "median evaluations", "median s", "most s"]
    print_table(f"Searches of {options.seconds:g} s of one core", heads, rows)


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
    ).fit(frame)
    return optimum - learner.score_, learner.n_eval_, process_time() - began


def calibration(options: argparse.Namespace) -> None:
    """Print the quality of three kinds of confidence in pairs."""
    values: dict[str, list[float]] = {"subsamples": [], "bootstrap": [], "posterior": []}
    truths: list[bool] = []
    for seed in range(options.nets):
        truth = random_network(8, random_state=seed)
        frame = truth.sample(options.rows, random_state=seed)
        edges = {frozenset(edge) for edge in truth.edges}
        pairs = [frozenset(pair) for pair in itertools.combinations(truth.names, 2)]
        truths += [pair in edges for pair in pairs]
        learner = BayesNetLearner(max_seconds=None, max_evaluations=20_000, random_state=seed)
        for name, resampling in (("subsamples", "subsample"), ("bootstrap", "bootstrap")):
            model = BayesNetEnsemble(
                learner, n_networks=options.members, resampling=resampling, random_state=seed
            ).fit(frame)
            values[name] += _of_pairs(model.edge_frequency(), pairs)
        values["posterior"] += _of_pairs(learner.fit(frame).edge_probabilities().to_frame(), pairs)
    rows = [[name, *_quality(np.array(of_kind), np.array(truths))] for name, of_kind in values.items()]
    title = f"{options.nets} random networks of 8 columns, {options.rows} rows, {len(truths)} pairs"
    print_table(title, ["confidence", "true pairs", "false pairs", "ECE", "AUC", "Brier"], rows)


def _of_pairs(frame: pd.DataFrame, pairs: list[frozenset[str]]) -> list[float]:
    """Return the column `adjacent` of pairs; 0 for pairs without a row."""
    known = {
        frozenset(pair): float(adjacent)
        for *pair, adjacent in frame[["parent", "child", "adjacent"]].to_numpy().tolist()
    }
    return [known.get(pair, 0.0) for pair in pairs]


def _quality(confidence: np.ndarray, is_true: np.ndarray) -> list[str]:
    """Return mean confidences, calibration error, area under the curve and Brier score as text."""
    numbers = [
        confidence[is_true].mean(),
        confidence[~is_true].mean(),
        calibration_error(confidence, is_true),
        area_under_curve(confidence[is_true].tolist(), confidence[~is_true].tolist()),
        ((confidence - is_true) ** 2).mean(),
    ]
    return [f"{number:.3f}" for number in numbers]


def calibration_error(confidence: np.ndarray, is_true: np.ndarray, n_bins: int = 10) -> float:
    """Return the mean distance between confidence and share of true pairs in bins of equal width, weighted by pairs."""
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    distances = [
        abs(confidence[bins == k].sum() - is_true[bins == k].sum())
        for k in range(n_bins)
        if (bins == k).any()
    ]
    return float(sum(distances) / len(confidence))


def main(arguments: list[str] | None = None) -> None:
    """Print one of the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=("proofs", "search", "calibration"))
    parser.add_argument("--networks", default="asia,sachs,child,insurance,alarm")
    parser.add_argument("--rows", type=int, default=None, help="Number of rows.")
    parser.add_argument("--limit", type=float, default=60.0, help="Seconds of a proof.")
    parser.add_argument("--seconds", type=float, default=20.0, help="Processor seconds of a search.")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--nets", type=int, default=6, help="Number of random networks.")
    parser.add_argument("--members", type=int, default=8, help="Number of networks in an ensemble.")
    options = parser.parse_args(arguments)
    if options.rows is None:
        options.rows = 400 if options.part == "calibration" else 1000
    {"proofs": proofs, "search": search, "calibration": calibration}[options.part](options)


if __name__ == "__main__":
    main()
