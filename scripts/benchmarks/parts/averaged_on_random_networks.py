"""The part `averaged` of shapes.py: divergences of networks and of averaged networks, where truth is uniform in bins.

Rows come from random networks of `gomea_bn.simulation`, in which no column follows a line inside its bins.
"""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import Any

import numpy as np
from harness.printing import print_table, with_error
from harness.runs import make_learner, resume_tasks, warm_up

from gomea_bn import average_families
from gomea_bn.simulation.random_networks import random_network

__all__ = ["RANDOM_LAWS", "averaged"]

Task = dict[str, Any]
Record = dict[str, Any]

RANDOM_LAWS: dict[str, dict[str, Any]] = {
    "tree": {"law": "tree"},
    "ide-cozman": {"law": "ide-cozman"},
    "dirichlet rows": {"law": "tree", "rows": "dirichlet"},
}
"""Options of `random_network` by the name of the law."""

N_VARIABLES = 8
N_FRESH = 20_000
"""Number of rows, drawn from the true network, over which divergences are means."""


def averaged(options: argparse.Namespace) -> None:
    """Print one row per law, number of rows and variant of ours."""
    graphs = range(options.first_seed, options.first_seed + options.graphs)
    groups = [
        (law, n_rows, name) for law in options.laws for n_rows in options.rows for name in options.variants
    ]
    tasks = [
        {
            "law": law,
            "rows": n_rows,
            "method": name,
            "graph": graph,
            "seconds": options.seconds,
            "options": options.variants[name],
        }
        for law, n_rows, name in groups
        for graph in graphs
    ]
    for of_variant in options.variants.values():
        warm_up(of_variant)
    records = resume_tasks(one_network, tasks, options.results, options.workers)
    rows = []
    for position, (law, n_rows, name) in enumerate(groups):
        group = records[position * len(graphs) : (position + 1) * len(graphs)]
        rows.append(
            [
                f"{law}, {n_rows:,} rows, {name}",
                *(with_error([r[key] for r in group]) for key in ("network", "bins", "lines")),
                f"{np.mean([r['weight'] for r in group]):.3f}",
                f"{np.mean([r['seconds'] for r in group]):.2f}",
            ]
        )
    heading = (
        f"Divergence from {N_VARIABLES} random variables in nats, graphs {graphs.start} to {graphs.stop - 1}, "
        f"{options.seconds:g} s a run"
    )
    columns = (
        "",
        "network",
        "averaged bins",
        "averaged bins and lines",
        "mean weight of lines",
        "s to average",
    )
    print_table(heading, columns, rows)


def one_network(task: Task) -> Record:
    """Learn from the rows of one random network; the weight is a mean over the columns with continuous parents."""
    truth = random_network(N_VARIABLES, **RANDOM_LAWS[task["law"]], random_state=task["graph"])
    frame = truth.sample(task["rows"], random_state=10_000 + task["graph"])
    fresh = truth.sample(N_FRESH, random_state=20_000 + task["graph"])
    warm_up(task["options"])
    fixed = {
        "kinds": dict.fromkeys(truth.cut_points, "continuous"),
        "n_jobs": 1,
        "random_state": task["graph"],
        "max_seconds": task["seconds"],
    }
    learner = make_learner(task["options"], **fixed).fit(frame)
    network = learner.network_
    bins = average_families(network, learner.table_, line="none")
    began = perf_counter()
    lines = average_families(network, learner.table_)
    seconds = perf_counter() - began
    best = truth.score(fresh)
    return {
        "network": best - network.score(fresh),
        "bins": best - bins.score(fresh),
        "lines": best - lines.score(fresh),
        "weight": lines.conditionals.mean_line_weight(lines),
        "seconds": seconds,
    }
