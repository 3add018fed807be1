"""Proofs of optimal graphs, how often the search reaches them, and scores of large graphs.

    python scripts/benchmarks/certainty.py proofs [--networks asia,sachs,child,insurance,alarm] [--rows 1000]
    python scripts/benchmarks/certainty.py search [--networks asia,child,insurance] [--seconds 20] [--seeds 20]
    python scripts/benchmarks/certainty.py sampled [--rows 1000] [--tolerance 0.03]
    python scripts/benchmarks/certainty.py alarm [--rows 1000] [--seeds 3]
    python scripts/benchmarks/certainty.py bootstrap [--rows 1000] [--resamples 200]
    python scripts/benchmarks/certainty.py large [--networks andes] [--rows 1000] [--seconds 20]

proofs  Published discrete networks (BDeu(1), at most 3 parents): seconds to the proof, and the bound.
search  How often the learner reaches the proven optimum, and its evaluations and processor seconds until then.
sampled Sampled probabilities of edges: largest errors, which are total variations, of an edge and of a pair on ten
        tables of at most 12 columns, for which exact ones are known.
alarm   Sweeps and seconds of sampled probabilities on ALARM, and their largest differences between seeds.
bootstrap
        ALARM: calibration of the frequencies of pairs among networks that pybnesian's hill climbing (extra "peers")
        learns from bootstrap resamples, the protocol of boot.strength of R's bnlearn, and of posterior probabilities.
large   Published networks of many columns, BDeu(10), default limits: nats above the generating network, with priced
        parent sets, without them (the search of earlier versions), and of pybnesian's hill climbing (extra "peers").
"""

from __future__ import annotations

import argparse
import itertools
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from harness.printing import print_table
from methods.peers import PEERS

from gomea_bn import GOMEA, BayesNetLearner, DiscretizedBayesNet
from gomea_bn.certainty import EdgeProbabilities, certify, edge_probabilities
from gomea_bn.data.table import read_table
from gomea_bn.experiments.confidence import area_under_curve, calibration_error
from gomea_bn.experiments.judge import network_score
from gomea_bn.experiments.tables import published_network
from gomea_bn.problems.parents.screening import AUTO_CANDIDATES, UNSCREENED_VARIABLES

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


def connected_columns(name: str, frame: pd.DataFrame, n_columns: int, seed: int) -> pd.DataFrame:
    """Return columns that a random walk over the edges of a published network reaches."""
    generator = np.random.default_rng(seed)
    edges = [edge for edge in published_network(name).edges if set(edge) <= set(frame.columns)]
    chosen = {str(generator.choice(frame.columns))}
    while len(chosen) < n_columns:
        neighbours = sorted({end for edge in edges if len(chosen & set(edge)) == 1 for end in edge} - chosen)
        chosen.add(str(generator.choice(neighbours)))
    return frame[[column for column in frame if column in chosen]]


# connected parts of 12 columns, by network and seed, and all columns of SACHS
_TABLES = (*itertools.product(("child", "insurance", "alarm"), range(3)), ("sachs", 0))


def sampled(options: argparse.Namespace) -> None:
    """Print how far sampled probabilities are from exact ones."""
    rows = []
    for name, seed in _TABLES:
        frame = sample(name, options.rows, seed)
        if frame.shape[1] > 12:
            frame = connected_columns(name, frame, 12, seed)
        exact = probabilities(frame, method="exact")
        chains = probabilities(
            frame, method="sampled", random_state=seed, max_seconds=None, tolerance=options.tolerance
        )
        errors = (np.abs(getattr(chains, kind) - getattr(exact, kind)).max() for kind in ("arcs", "adjacent"))
        rows.append(
            [
                f"{name}, {frame.shape[1]} columns",
                f"{chains.n_sweeps:,}",
                *(f"{error:.4f}" for error in errors),
            ]
        )
        print(*rows[-1], flush=True)
    print_table(
        f"BDeu(1), {options.rows:,} rows, at most 3 parents", ["columns", "sweeps", "edge", "pair"], rows
    )


def alarm(options: argparse.Namespace) -> None:
    """Print how long sampled probabilities on ALARM take, and how far those of several seeds differ."""
    frame = sample("alarm", options.rows, 0)
    rows, results = [], []
    for seed in range(options.seeds):
        began = process_time()
        results.append(probabilities(frame, random_state=seed, max_seconds=None, n_jobs=-1))
        seconds = (f"{process_time() - began:.1f}", f"{results[-1].seconds:.1f}")
        rows.append([f"seed {seed}", f"{results[-1].n_sweeps:,}", *seconds, "", ""])
    differences = (np.ptp([getattr(r, kind) for r in results], axis=0).max() for kind in ("arcs", "adjacent"))
    rows.append(["between seeds", "", "", "", *(f"{difference:.4f}" for difference in differences)])
    heads = ["ALARM", "sweeps", "CPU s", "wall s", "edge", "pair"]
    print_table(f"BDeu(1), {options.rows:,} rows, at most 3 parents", heads, rows)


def bootstrap(options: argparse.Namespace) -> None:
    """Print the calibration of bootstrap frequencies of a peer and of posterior probabilities on ALARM."""
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
    print_table(f"BDeu(1), {options.rows:,} rows", heads, rows)


def large(options: argparse.Namespace) -> None:
    """Print scores above that of the generating network, and the processor seconds."""
    # a tenth of a second compiles or loads the kernels, which no search counts
    large_run(sample("asia", 100, 0), 0.1)
    rows = []
    for name in options.networks.split(","):
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
        print(*rows[-1], flush=True)
    heads = ["network", "columns", "ours", "without pricing", "pybnesian", "its s"]
    print_table(f"{options.rows:,} rows, {options.seconds:g} s of one core for ours", heads, rows)


def large_run(frame: pd.DataFrame, seconds: float, **changes: Any) -> float:
    """Return the score that the learner reaches in some processor seconds, those of its preparation included."""
    began = process_time()
    learner = BayesNetLearner(
        scoring_method="bdeu",
        equivalent_sample_size=LARGE_SAMPLE_SIZE,
        max_seconds=10 * seconds,
        patience=None,
        n_jobs=1,
        callback=lambda progress: process_time() - began > seconds,
        random_state=0,
        **changes,
        density="bins",
    ).fit(frame)
    return learner.score_


PARTS = {
    "proofs": proofs,
    "search": search,
    "sampled": sampled,
    "alarm": alarm,
    "bootstrap": bootstrap,
    "large": large,
}
"""Functions that print a table each, by the name of the part."""


def main(arguments: list[str] | None = None) -> None:
    """Print one of the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=tuple(PARTS))
    parser.add_argument("--networks", default="asia,sachs,child,insurance,alarm")
    parser.add_argument("--rows", type=int, default=1000, help="Number of rows.")
    parser.add_argument("--limit", type=float, default=60.0, help="Seconds of a proof.")
    parser.add_argument("--seconds", type=float, default=20.0, help="Processor seconds of a search.")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--resamples", type=int, default=200)
    parser.add_argument("--tolerance", type=float, default=0.03, help="Largest difference of chains.")
    options = parser.parse_args(arguments)
    PARTS[options.part](options)


if __name__ == "__main__":
    main()
