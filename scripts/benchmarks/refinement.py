"""Cut points moved after the search: KL and score by method, the true graph given.

    python scripts/benchmarks/refinement.py [--nets 10] [--rows 6400] [--seconds 60] [--without-rv] [--starts 1]

Random networks of 8 variables with Dirichlet(1) table rows. Every method gets the true graph. The numbers of bins of
equal frequency are found by the learner with that graph required.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
from harness.printing import print_table

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, ExpertKnowledge
from gomea_bn.data.table import read_table
from gomea_bn.learning.cuts.refinement import refine_boundaries
from gomea_bn.metrics.distances import kl_divergence
from gomea_bn.simulation.random_networks import random_network

N_VARIABLES = 8


def given_graph(truth: DiscretizedBayesNet) -> ExpertKnowledge:
    """Return the knowledge under which only the true graph is allowed."""
    edges = set(truth.edges)
    others = [(a, b) for a in truth.names for b in truth.names if a != b and (a, b) not in edges]
    return ExpertKnowledge(required_edges=sorted(edges), forbidden_edges=others)


def one_net(seed: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return one record per method for one random network."""
    truth = random_network(N_VARIABLES, rows="dirichlet", random_state=seed)
    frame = truth.sample(options.rows, random_state=10_000 + seed)
    table = read_table(frame)
    learner = BayesNetLearner(
        "equal-frequency",
        knowledge=given_graph(truth),
        pseudo_count=1.0,
        max_seconds=20,
        random_state=seed,
        density="bins",
    ).fit(frame)
    equal_frequency = learner.network_
    true_cuts = DiscretizedBayesNet.from_table(table, truth.edges, truth.cut_points)
    records: list[dict[str, Any]] = []

    def add(name: str, network: DiscretizedBayesNet, gain: float = 0.0, seconds: float = 0.0) -> None:
        kl = kl_divergence(truth, network, random_state=20_000 + seed).mean
        extra = sum(len(network.cut_points[v]) - len(cuts) for v, cuts in truth.cut_points.items())
        bins = extra / len(truth.cut_points)
        records.append({"method": name, "kl": kl, "gain": gain, "seconds": seconds, "bins": bins})

    add("equal frequency", equal_frequency)
    add("true cuts", true_cuts)
    starts = {"equal frequency": equal_frequency, "true counts": equal_frequency_with_counts(truth, table)}
    for start, network in starts.items():
        for method, counts in (("dp", "free"), ("dp", "fixed"), ("rv-gomea", "fixed")):
            if method == "rv-gomea" and options.without_rv:
                continue
            began = perf_counter()
            result = refine_boundaries(
                network,
                table,
                method,
                counts,
                max_bins=15,
                max_seconds=options.seconds,
                random_state=seed,
                starts=options.starts if method == "dp" else 1,
            )
            gain = result.score_after - result.score_before
            add(f"{method} {counts}, from {start}", result.network, gain, perf_counter() - began)
    return records


def equal_frequency_with_counts(truth: DiscretizedBayesNet, table: Any) -> DiscretizedBayesNet:
    """Return the true graph with bins of equal frequency, in the true numbers."""
    columns = {column.name: column.values for column in table.columns}
    cuts = {
        name: np.unique(np.quantile(columns[name], np.arange(1, len(true) + 1) / (len(true) + 1)))
        for name, true in truth.cut_points.items()
    }
    return DiscretizedBayesNet.from_table(table, truth.edges, cuts)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print mean KL, score gain and seconds per method."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nets", type=int, default=10, help="number of random networks")
    parser.add_argument("--rows", type=int, default=6400, help="number of rows")
    parser.add_argument("--seconds", type=float, default=60.0, help="deadline of every refinement")
    parser.add_argument("--starts", type=int, default=1, help="number of starts of the exact method")
    parser.add_argument("--without-rv", action="store_true", help="leave RV-GOMEA out")
    options = parser.parse_args(arguments)
    groups: dict[str, list[dict[str, Any]]] = {}
    for seed in range(options.nets):
        for record in one_net(seed, options):
            groups.setdefault(record["method"], []).append(record)
    rows = []
    for method, group in groups.items():
        kl = np.array([record["kl"] for record in group])
        mean = {key: np.mean([record[key] for record in group]) for key in ("gain", "seconds", "bins")}
        rows.append(
            (
                method,
                f"{kl.mean():.4f}",
                f"{kl.std():.4f}",
                f"{kl.max():.4f}",
                f"{mean['gain']:.0f}",
                f"{mean['bins']:+.2f}",
                f"{mean['seconds']:.2f}",
            )
        )
    heading = f"{options.nets} networks, {N_VARIABLES} variables, {options.rows} rows, true graph given"
    print_table(heading, ("method", "mean KL", "sd", "worst", "score gain", "bins - true", "seconds"), rows)
    for start in ("equal frequency", "true counts"):
        pair = [groups.get(f"{method} fixed, from {start}") for method in ("rv-gomea", "dp")]
        if pair[0] and pair[1]:
            share = [a["gain"] / b["gain"] for a, b in zip(pair[0], pair[1])]
            print(
                f"rv-gomea's score gain over dp's, from {start}: mean {np.mean(share):.3f}, least {min(share):.3f}"
            )


if __name__ == "__main__":
    main()
