"""Variants of the search on the same random networks with the same seconds: KL, score, and the way to the best.

The first variant is what the others are compared with, network by network: mean differences with 95 % bootstrap
intervals over the networks. A higher score and a lower KL are better. Scores can only be compared between variants that
maximise the same score.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from _bench_discretizers_methods import mean_bins
from _bench_optimal_learner import make_learner, named_options, variant, warm_up
from _bench_runs import run_all
from _side_by_side import mean_difference, print_rows, with_error

from gomea_bn.metrics.distances import accuracy, kl_divergence
from gomea_bn.simulation.random_networks import random_network

Task = dict[str, Any]


def one_run(task: Task) -> dict[str, Any]:
    """Learn from one sample of one random network with one variant."""
    n_variables, n_rows = task["cell"]
    truth = random_network(n_variables, law=task["law"], kind="random", random_state=task["net"])
    frame = truth.sample(n_rows, random_state=10_000 + task["net"])
    warm_up(task["options"])
    fixed = {"n_jobs": 1, "random_state": task["net"], "max_seconds": task["seconds"]}
    learner = make_learner(task["options"], **fixed).fit(frame)
    return {
        "kl": kl_divergence(truth, learner.network_, random_state=20_000 + task["net"]).mean,
        "score": learner.score_,
        "accuracy": accuracy(truth, learner.network_),
        "bins": mean_bins(learner.network_.cut_points.values()),
        "edges": len(learner.network_.edges),
        "seconds to best": learner.time_to_best_,
        "seconds": learner.fit_seconds_,
        "n_eval": learner.n_eval_,
    }


def cell_of(text: str) -> tuple[int, int]:
    """Return variables and rows of a cell such as `8x800`."""
    left, sign, right = text.partition("x")
    if not (sign and left.isdigit() and right.isdigit()):
        raise SystemExit(f"A cell must have the form 8x800, variables and then rows, got {text!r}.")
    return int(left), int(right)


def difference(own: list[dict[str, Any]], reference: list[dict[str, Any]], name: str, digits: int) -> str:
    """Return a mean difference with its interval as text."""
    found = mean_difference([r[name] for r in own], [r[name] for r in reference])
    return "{:+.{d}f} [{:+.{d}f}, {:+.{d}f}]".format(*found, d=digits)


def main(options: argparse.Namespace) -> None:
    """Print one table per cell, a row for every variant."""
    shared = {"discretizer": options.discretizer, **named_options(options.option)}
    variants = dict(variant(text) for text in options.variant)
    if len(variants) < len(options.variant):
        raise SystemExit("Every --variant needs a name of its own.")
    nets = range(options.first_net, options.first_net + options.nets)
    tasks = [
        {
            "cell": cell,
            "law": options.law,
            "net": net,
            "variant": name,
            "seconds": options.seconds,
            "options": {**shared, **own},
        }
        for cell in map(cell_of, options.cells)
        for net in nets
        for name, own in variants.items()
    ]
    for own in variants.values():
        warm_up({**shared, **own})
    found = {
        (task["cell"], task["variant"], task["net"]): record
        for task, record in run_all(one_run, tasks, options.workers)
    }
    told = ", ".join([options.discretizer, *options.option])
    for cell in map(cell_of, options.cells):
        groups = {name: [found[cell, name, net] for net in nets] for name in variants}
        print(
            f"\n{cell[0]} variables, {cell[1]:,} rows, law {options.law!r}, networks of seeds {nets.start} to "
            f"{nets.stop - 1}, {options.seconds:g} s a run, {told}"
        )
        first = groups[next(iter(variants))]
        rows = []
        for name, group in groups.items():
            means = {key: np.mean([record[key] for record in group]) for key in group[0]}
            changes = ["-", "-"]
            if group is not first:
                changes = [difference(group, first, "kl", 3), difference(group, first, "score", 1)]
            rows.append(
                [
                    name,
                    with_error([record["kl"] for record in group]),
                    changes[0],
                    f"{means['score']:.1f}",
                    changes[1],
                    f"{means['accuracy']:.2f}",
                    f"{means['bins']:.1f}",
                    f"{means['edges']:.1f}",
                    f"{means['seconds to best']:.2f}",
                    f"{means['seconds']:.2f}",
                    f"{means['n_eval']:,.0f}",
                ]
            )
        columns = ("KL", "minus first", "score", "minus first", "accuracy", "bins", "edges")
        print_rows(("variant", *columns, "seconds to best", "seconds", "n_eval"), rows)
