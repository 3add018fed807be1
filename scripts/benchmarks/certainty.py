"""Proofs of optimal graphs, how often the search reaches them, and how well probabilities of edges are calibrated.

    python scripts/benchmarks/certainty.py proofs [--networks asia,sachs,child,insurance,alarm] [--rows 1000]
    python scripts/benchmarks/certainty.py search [--networks asia,child,insurance] [--seconds 5] [--seeds 3]
    python scripts/benchmarks/certainty.py sampled [--rows 1000] [--seeds 2] [--tolerance 0.03]
    python scripts/benchmarks/certainty.py calibration [--nets 6] [--rows 400] [--members 8]

proofs       Published discrete networks (BDeu(1), at most 3 parents): seconds to the proof, and the bound.
search       Nats that the learner's graph is below the proven optimum, by seed.
sampled      Sampled probabilities of edges: largest errors on connected parts of 12 columns, for which exact ones are
             known, and largest differences between seeds on ALARM.
calibration  Random networks of 8 columns: frequencies of edges among networks from subsamples and from bootstrap
             resamples, and posterior probabilities over the bins of one network, and over those of the networks from
             subsamples. Calibration error (ECE, 10 bins),
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
from gomea_bn.certainty import EdgeProbabilities, certify, edge_probabilities
from gomea_bn.data.table import read_table
from gomea_bn.experiments.tables import published_network
from gomea_bn.simulation import random_network

EQUIVALENT_SAMPLE_SIZE = 1.0
MAX_INDEGREE = 3


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
    """Print how far below the optimum the learner's graph is, for every seed."""
    rows = []
    for name in options.networks.split(","):
        frame = sample(name, options.rows, 0)
        optimum = proof(frame, max_seconds=None)
        below = []
        for seed in range(options.seeds):
            learner = BayesNetLearner(
                scoring_method="bdeu",
                equivalent_sample_size=EQUIVALENT_SAMPLE_SIZE,
                max_indegree=MAX_INDEGREE,
                max_seconds=options.seconds,
                patience=None,
                n_jobs=1,
                random_state=seed,
            ).fit(frame)
            below.append(optimum.bound - learner.score_)
        reached = sum(gap < 1e-4 for gap in below)
        rows.append([name, f"{reached} of {options.seeds}", f"{np.median(below):.4f}", f"{max(below):.4f}"])
    print_table(
        f"Searches of {options.seconds:g} s", ["network", "optimal", "median gap", "largest gap"], rows
    )


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


def connected_columns(name: str, frame: pd.DataFrame, n_columns: int, seed: int) -> pd.DataFrame:
    """Return columns that a random walk over the edges of a published network reaches."""
    generator = np.random.default_rng(seed)
    edges = [edge for edge in published_network(name).edges if set(edge) <= set(frame.columns)]
    chosen = {str(generator.choice(frame.columns))}
    while len(chosen) < n_columns:
        neighbours = sorted({end for edge in edges if len(chosen & set(edge)) == 1 for end in edge} - chosen)
        chosen.add(str(generator.choice(neighbours)))
    return frame[[column for column in frame if column in chosen]]


def sampled(options: argparse.Namespace) -> None:
    """Print how far sampled probabilities are from exact ones, and from each other."""
    rows = []
    for name, seed in itertools.product(("child", "insurance", "alarm"), range(options.seeds)):
        frame = connected_columns(name, sample(name, options.rows, seed), 12, seed)
        exact = probabilities(frame, method="exact")
        found = probabilities(
            frame, method="sampled", random_state=seed, max_seconds=None, tolerance=options.tolerance
        )
        errors = (np.abs(getattr(found, kind) - getattr(exact, kind)).max() for kind in ("arcs", "adjacent"))
        rows.append([f"{name}, 12 columns", f"{found.n_sweeps:,}", *(f"{error:.4f}" for error in errors)])
    frame = sample("alarm", options.rows, 0)
    results = []
    for seed in range(options.seeds):
        began = process_time()
        results.append(probabilities(frame, random_state=seed, max_seconds=None))
        rows.append([f"alarm, {process_time() - began:.1f} s", f"{results[-1].n_sweeps:,}", "", ""])
    differences = (np.ptp([getattr(r, kind) for r in results], axis=0).max() for kind in ("arcs", "adjacent"))
    rows.append(["alarm, between seeds", "", *(f"{difference:.4f}" for difference in differences)])
    print_table(
        f"BDeu(1), {options.rows:,} rows, at most 3 parents", ["columns", "sweeps", "edge", "pair"], rows
    )


def calibration(options: argparse.Namespace) -> None:
    """Print the quality of three kinds of confidence in pairs."""
    kinds = ("subsamples", "bootstrap", "posterior", "posterior over bins")
    values: dict[str, list[float]] = {name: [] for name in kinds}
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
            if resampling == "subsample":
                values["posterior over bins"] += _of_pairs(model.edge_probabilities().to_frame(), pairs)
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
    parser.add_argument("part", choices=("proofs", "search", "sampled", "calibration"))
    parser.add_argument("--networks", default="asia,sachs,child,insurance,alarm")
    parser.add_argument("--rows", type=int, default=None, help="Number of rows.")
    parser.add_argument("--limit", type=float, default=60.0, help="Seconds of a proof.")
    parser.add_argument("--seconds", type=float, default=5.0, help="Seconds of a search.")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tolerance", type=float, default=0.03, help="Largest difference of chains.")
    parser.add_argument("--nets", type=int, default=6, help="Number of random networks.")
    parser.add_argument("--members", type=int, default=8, help="Number of networks in an ensemble.")
    options = parser.parse_args(arguments)
    if options.rows is None:
        options.rows = 400 if options.part == "calibration" else 1000
    {"proofs": proofs, "search": search, "sampled": sampled, "calibration": calibration}[options.part](
        options
    )


if __name__ == "__main__":
    main()
