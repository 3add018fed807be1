"""The part `bells-of-mgcd` of shapes.py: graphs and numbers of bins from rows that are normal in every interval.

Networks and rows are those of the experiment `gomea-bn bench mgcd`. Every value is normal around the middle of its
interval, truncated at the ends, so that the intervals are the true bins.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from harness.printing import print_table, with_error
from harness.runs import make_learner, resume_tasks, warm_up

from gomea_bn.experiments.mgcd import gaussian_sample, random_truth
from gomea_bn.metrics.distances import cpdag_tpr_fpr

__all__ = ["bells_of_mgcd"]

Task = dict[str, Any]
Record = dict[str, Any]


def bells_of_mgcd(options: argparse.Namespace) -> None:
    """Print one row per number of rows and variant of ours."""
    nets = range(options.first_seed, options.first_seed + options.nets)
    tasks = [
        {"net": net, "rows": n_rows, "method": name, "seconds": options.seconds, "options": of_variant}
        for n_rows in options.rows
        for net in nets
        for name, of_variant in options.variants.items()
    ]
    for of_variant in options.variants.values():
        warm_up(of_variant)
    records = resume_tasks(one_network, tasks, options.results, options.workers)
    rows = []
    for n_rows in options.rows:
        for name in options.variants:
            group = [r for r in records if (r["task"]["rows"], r["task"]["method"]) == (n_rows, name)]
            means = {key: float(np.mean([r[key] for r in group])) for key in group[0] if key != "task"}
            rows.append(
                [
                    f"{n_rows:,} rows, {name}",
                    with_error([r["tpr"] for r in group]),
                    with_error([r["fpr"] for r in group]),
                    *(f"{means[key]:.1f}" for key in ("wrong", "missed", "true edges", "bins", "levels")),
                    f"{100.0 * means['exact']:.0f} %",
                    f"{means['seconds']:.1f}",
                ]
            )
    setting = ", ".join([options.discretizer, *options.option])
    heading = f"MGCD's random networks of seeds {nets.start} to {nets.stop - 1}, {options.seconds:g} s a run, {setting}"
    edges = ("wrong edges", "missed edges", "true edges")
    bins = ("bins per column", "true levels per column", "columns with the true number")
    print_table(heading, ("", "CPDAG TPR", "CPDAG FPR", *edges, *bins, "seconds"), rows)


def one_network(task: Task) -> Record:
    """Learn from the rows of one network; edges are wrong or missed if their adjacency is, in any direction."""
    truth = random_truth(task["net"])
    frame = gaussian_sample(truth, task["rows"], 10_000 + task["net"])
    warm_up(task["options"])
    fixed = {
        "kinds": dict.fromkeys(truth.names, "continuous"),
        "n_jobs": 1,
        "random_state": task["net"],
        "max_seconds": task["seconds"],
    }
    learner = make_learner(task["options"], **fixed).fit(frame)
    network = learner.network_
    true_positives, false_positives = cpdag_tpr_fpr(truth, network)
    true_pairs, pairs = ({frozenset(edge) for edge in graph.edges} for graph in (truth, network))
    bins = np.array([len(network.cut_points[name]) + 1 for name in truth.names])
    levels = np.array([truth.cardinality(name) for name in truth.names])
    return {
        "tpr": true_positives,
        "fpr": false_positives,
        "wrong": len(pairs - true_pairs),
        "missed": len(true_pairs - pairs),
        "true edges": len(true_pairs),
        "bins": float(bins.mean()),
        "levels": float(levels.mean()),
        "exact": float((bins == levels).mean()),
        "seconds": learner.fit_seconds_,
    }
