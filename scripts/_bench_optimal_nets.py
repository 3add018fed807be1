"""Random networks: KL of what is learned, by the number of rows and by the number of variables.

Beside ours stand the floor, which is the true graph with the true cuts and our smoothing, and our own search with bins
of equal frequency, BIC and one pseudo-count, the method that the paper's column mostly comes from. That one has half
of the seconds.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from _bench_discretizers_methods import inside, mean_bins
from _bench_optimal_learner import make_learner, named_options, smoothing, warm_up
from _bench_runs import append_record, read_records, run_all
from _side_by_side import print_rows, with_error

from gomea_bn import DiscretizedBayesNet
from gomea_bn.data.table import read_table
from gomea_bn.metrics.distances import accuracy, kl_divergence, sensitivity
from gomea_bn.simulation.random_networks import random_network

N_VARIABLES = 8
"""Of the table by rows."""
N_ROWS = 500
"""Of the table by variables."""
BY_ROWS = {  # rows: best of the four methods in Table 1 of Ha et al., and the mean KL to reach
    200: (0.94, 0.78),
    400: (0.83, 0.50),
    800: (0.73, 0.33),
    1600: (0.64, 0.18),
    3200: (0.57, 0.09),
    6400: (0.50, 0.05),
    12800: (0.46, 0.03),
    25600: (0.43, 0.02),
    51200: (0.41, 0.012),
}
BY_VARIABLES = {  # variables: the same of their Table 2
    4: (0.29, 0.10),
    6: (0.51, 0.28),
    8: (0.78, 0.48),
    10: (1.15, 0.68),
    12: (1.54, 0.85),
    14: (1.98, 1.2),
    16: (2.32, 1.5),
    18: (2.76, 1.8),
    20: (3.14, 2.0),
}
EQUAL_FREQUENCY = {"discretizer": "equal-frequency", "scoring_method": "density-bic", "pseudo_count": 1.0}
OURS, REFERENCE = "ours", "equal frequency"
MEASURED = (
    "mean KL",
    "median",
    "reached",
    "floor",
    "equal frequency",
    "accuracy",
    "sensitivity",
    "bins",
    "edges",
)
COLUMNS = ("paper", "at most", *MEASURED, "seconds", "longest")

Task = dict[str, Any]


def one_run(task: Task) -> dict[str, Any]:
    """Learn from one sample of one random network; returns the measured values, of ours with the floor's."""
    truth = random_network(task["variables"], law=task["law"], kind="random", random_state=task["net"])
    frame = truth.sample(task["rows"], random_state=10_000 + task["net"])
    warm_up(task["options"])
    fixed = {"n_jobs": 1, "random_state": task["net"], "max_seconds": task["seconds"]}
    learner = make_learner(task["options"], **fixed)
    began = perf_counter()
    network = learner.fit(frame).network_
    record = {
        "kl": divergence(truth, network, task["net"]),
        "seconds": perf_counter() - began,
        "accuracy": accuracy(truth, network),
        "sensitivity": sensitivity(truth, network),
        "bins": mean_bins(network.cut_points.values()),
        "true bins": mean_bins(truth.cut_points.values()),
        "edges": len(network.edges),
        "true edges": len(truth.edges),
        "stopped by": learner.stopped_by_,
    }
    if task["method"] == OURS:
        table = read_table(frame)
        cuts = inside(dict(truth.cut_points), table)
        floor = DiscretizedBayesNet.from_table(table, truth.edges, cuts, **smoothing(learner))
        record["floor"] = divergence(truth, floor, task["net"])
    return record


def divergence(truth: DiscretizedBayesNet, network: DiscretizedBayesNet, net: int) -> float:
    """Return the KL over 50,000 fresh rows, the same ones for every method."""
    return kl_divergence(truth, network, random_state=20_000 + net).mean


def sizes_of(options: argparse.Namespace) -> tuple[list[int], list[int]]:
    """Return the numbers of rows and of variables to run, all published ones where none are named."""
    rows = BY_ROWS if options.sizes is None else options.sizes
    variables = BY_VARIABLES if options.variables is None else options.variables
    return list(rows), list(variables)


def tasks_of(options: argparse.Namespace) -> list[Task]:
    """Return every run of both tables."""
    ours = {"discretizer": options.discretizer, **named_options(options.option)}
    cells = [(N_VARIABLES, n) for n in sizes_of(options)[0]] + [(n, N_ROWS) for n in sizes_of(options)[1]]
    return [
        {
            "method": method,
            "law": options.law,
            "variables": variables,
            "rows": rows,
            "net": net,
            "seconds": seconds,
            "options": chosen,
        }
        for variables, rows in dict.fromkeys(cells)
        for method, chosen, seconds in (
            (OURS, ours, options.seconds),
            (REFERENCE, EQUAL_FREQUENCY, options.seconds / 2),
        )
        for net in range(options.nets)
    ]


def key(task: Task) -> str:
    """Return the text by which a finished run is known again."""
    return json.dumps(task, sort_keys=True, default=repr)


def main(options: argparse.Namespace) -> None:
    """Run what is not in the file of results yet, and print both tables."""
    path = Path(options.results)
    found = {record["key"]: record for record in read_records(path)} if options.resume else {}
    tasks = tasks_of(options)
    for chosen in (EQUAL_FREQUENCY, {"discretizer": options.discretizer, **named_options(options.option)}):
        warm_up(chosen)
    for task, record in run_all(one_run, [t for t in tasks if key(t) not in found], options.workers):
        found[key(task)] = {"key": key(task), **record}
        append_record(path, found[key(task)])
    groups: dict[tuple[str, int, int], list[dict[str, Any]]] = {}
    for task in tasks:
        groups.setdefault((task["method"], task["variables"], task["rows"]), []).append(found[key(task)])
    told = ", ".join([options.discretizer, *options.option])
    told = f"{options.nets} networks, law {options.law!r}, {options.seconds:g} s a run, ours: {told}"
    known = options.law == "tree"
    for_rows, for_variables = sizes_of(options)
    for first, sizes, published, heading in (
        ("rows", for_rows, BY_ROWS, f"KL in nats, {N_VARIABLES} variables"),
        ("variables", for_variables, BY_VARIABLES, f"KL in nats, {N_ROWS} rows"),
    ):
        if not sizes:
            continue
        print(f"\n{heading}, {told}")
        rows = []
        for size in sizes:
            cell = (N_VARIABLES, size) if first == "rows" else (size, N_ROWS)
            numbers = published.get(size) if known else (published.get(size, (None,))[0], None)
            rows.append([str(size), *cells_of(groups[OURS, *cell], groups[REFERENCE, *cell], numbers)])
        print_rows((first, *COLUMNS), rows)


def cells_of(
    ours: list[dict[str, Any]], reference: list[dict[str, Any]], published: tuple[Any, Any] | None
) -> list[str]:
    """Return one printed row: what the paper has, what to reach, what was measured."""

    def all_of(name: str) -> np.ndarray:
        return np.array([record[name] for record in ours])

    paper, target = published or (None, None)
    kl = all_of("kl")
    return [
        *("-" if number is None else f"{number:g}" for number in (paper, target)),
        with_error(kl),
        f"{np.median(kl):.3f}",
        "-" if target is None else "yes" if kl.mean() <= target else f"no, {kl.mean() - target:+.3f}",
        with_error(all_of("floor")),
        with_error([record["kl"] for record in reference]),
        f"{all_of('accuracy').mean():.2f}",
        f"{all_of('sensitivity').mean():.2f}",
        f"{all_of('bins').mean():.1f} of {all_of('true bins').mean():.1f}",
        f"{all_of('edges').mean():.1f} of {all_of('true edges').mean():.1f}",
        f"{all_of('seconds').mean():.1f}",
        f"{all_of('seconds').max():.1f}",
    ]
