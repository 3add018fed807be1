"""Random networks: KL and held-out density of the true graph with every method's bins, by the number of rows.

8 variables, kind "random", at most 3 parents; 50,000 fresh rows for the KL. A method without a deadline of its own is
interrupted at it, and not tried on the larger samples of that network.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from _bench_discretizers_methods import (
    Given,
    compile_methods,
    mean_bins,
    methods_for,
    run_method,
)
from _bench_discretizers_tables import PASSED_ON
from _side_by_side import print_rows, with_error

from gomea_bn import DiscretizedBayesNet
from gomea_bn.data.table import read_table
from gomea_bn.metrics.distances import kl_divergence
from gomea_bn.simulation.random_networks import random_network

SIZES = (500, 5_000, 50_000)
N_VARIABLES = 8
N_HELD_OUT = 20_000
TRUE_CUTS = "true cuts"


def one_net(task: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one record per method and number of rows for one random network."""
    compile_methods(False)
    seed = task["net"]
    truth = random_network(N_VARIABLES, max_indegree=3, random_state=seed)
    late: set[str] = set()
    records = []
    for n in task["sizes"]:
        table = read_table(truth.sample(n, random_state=10_000 + seed))
        given = Given(table, truth.edges, None, task["seconds"], task["seed"], task["khiops_python"])
        records.append(measured(TRUE_CUTS, n, truth, table, dict(truth.cut_points), seed))
        for name in methods_for(table, None, task["full"], given.khiops_python is not None):
            if name in late:
                continue
            outcome = run_method(name, given)
            if outcome.cuts is None:
                late.add(name)
                records.append({"method": name, "n": n, "seconds": outcome.seconds, "note": outcome.note})
            else:
                found = measured(name, n, truth, table, outcome.cuts, seed)
                records.append({**found, "seconds": outcome.seconds, "note": outcome.note})
    return records


def measured(
    name: str, n: int, truth: DiscretizedBayesNet, table: Any, cuts: dict[str, Any], seed: int
) -> dict[str, Any]:
    """Return KL and held-out density of the true graph with the given cuts, and its mean number of bins."""
    network = DiscretizedBayesNet.from_table(table, truth.edges, cuts)
    kl = kl_divergence(truth, network, random_state=20_000 + seed).mean
    bins = mean_bins(cuts.values())
    density = network.score(truth.sample(N_HELD_OUT, random_state=30_000 + seed))
    return {"method": name, "n": n, "kl": kl, "density": density, "bins": bins, "seconds": 0.0, "note": ""}


def main(options: argparse.Namespace) -> None:
    """Print one table per number of rows."""
    sizes = [n for n in SIZES if not options.only or str(n) in options.only]
    tasks = [
        {"net": net, "sizes": sizes, **{key: getattr(options, key) for key in PASSED_ON}}
        for net in range(options.nets)
    ]
    with ProcessPoolExecutor(options.workers) as pool:
        records = [record for group in pool.map(one_net, tasks) for record in group]
    for n in sizes:
        groups: dict[str, list[dict[str, Any]]] = {}
        for record in (r for r in records if r["n"] == n):
            groups.setdefault(record["method"], []).append(record)
        print(
            f"\n{n:,} rows, true graph given, {N_VARIABLES} variables, networks of seeds 0 to {options.nets - 1}, "
            f"deadline {options.seconds:g} s a fit: KL and held-out log density in nats a row"
        )
        print_rows(
            ("method", "mean KL", "median", "density", "bins", "seconds", "longest", "note"),
            [[method, *summary(group)] for method, group in groups.items()],
        )


def summary(group: list[dict[str, Any]]) -> list[str]:
    """Return mean with standard error and median of the KL, density, bins and seconds, as text."""
    seconds = np.array([record["seconds"] for record in group])
    done = [record for record in group if "kl" in record]
    notes = [record["note"] for record in group if record["note"]]
    told = "; ".join(f"{text} ({notes.count(text)} of {len(group)})" for text in sorted(set(notes)))
    times = [f"{seconds.mean():.2f}", f"{seconds.max():.2f}"]
    if len(done) < len(group):
        return ["-", "-", "-", "-", *times, told]
    kl = np.array([record["kl"] for record in done])
    bins = np.mean([record["bins"] for record in done])
    density = f"{np.mean([record['density'] for record in group]):.3f}"
    return [with_error(kl, 4), f"{np.median(kl):.4f}", density, f"{bins:.1f}", *times, told]
