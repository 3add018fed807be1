"""When to price cuts, and what to search with: the same networks, score and seconds for every way.

The ways: quantile bins in the search and exact cuts after it; the best network priced whenever the evaluations have
doubled, after every generation, or with a sample of the others (the default); and hill climbing with restarts that
prices whatever it reaches.
"""

from __future__ import annotations

import argparse
from typing import Any

import pandas as pd
from _bench_optimal_learner import warm_up
from _bench_optimal_timing import cell_of, difference
from _bench_runs import run_all
from _restarted_climbing import restarted_climbing
from _side_by_side import print_rows, with_error

from gomea_bn import GOMEA, BayesNetLearner, DiscretizedBayesNet
from gomea_bn.data.table import read_table
from gomea_bn.learning.learning_problem import LearningOptions, learned_cut_points, learning_problem
from gomea_bn.learning.refinement import refine_boundaries
from gomea_bn.metrics.distances import kl_divergence, sensitivity
from gomea_bn.simulation.random_networks import random_network

WAYS = ("sample", "best", "doubling", "after the search", "restarted climbing")
SCORE = "density-bd"

Task = dict[str, Any]
Found = tuple[DiscretizedBayesNet, float, float]


def searched(way: str, frame: pd.DataFrame, seconds: float, seed: int) -> Found:
    """Return what the learner finds, its score and the seconds until then."""
    limits = {"max_seconds": seconds, "patience": None, "n_jobs": 1, "random_state": seed}
    if way != "after the search":
        found = BayesNetLearner(algorithm=GOMEA(refine=way), **limits).fit(frame)
        return found.network_, found.score_, found.time_to_best_
    found = BayesNetLearner("equal-frequency", scoring_method=SCORE, **limits).fit(frame)
    refined = refine_boundaries(
        found.network_, found.table_, "dp", "free", scoring_method=SCORE, pseudo_count="auto", random_state=0
    )
    return refined.network, refined.score_after, found.fit_seconds_ + refined.seconds


def climbed(frame: pd.DataFrame, seconds: float, seed: int) -> Found:
    """Return what restarted climbing finds, its score and the seconds until then."""
    table = read_table(frame)
    problem = learning_problem(table, LearningOptions())
    problem.scorer.reserve(1 << 18)
    genotype, score, found_at, _ = restarted_climbing(problem, seconds, seed)
    edges = [(table.names[a], table.names[b]) for a, b in problem.edges(genotype)]
    cuts = learned_cut_points(problem, genotype)
    return DiscretizedBayesNet.from_table(table, edges, cuts, pseudo_count="auto"), score, found_at


def one_run(task: Task) -> dict[str, Any]:
    """Learn from one sample of one random network in one way."""
    n_variables, n_rows = task["cell"]
    truth = random_network(n_variables, kind="random", random_state=task["net"])
    frame = truth.sample(n_rows, random_state=10_000 + task["net"])
    warm_up({})
    if task["way"] == "restarted climbing":
        network, score, found_at = climbed(frame, task["seconds"], task["net"])
    else:
        network, score, found_at = searched(task["way"], frame, task["seconds"], task["net"])
    return {
        "kl": kl_divergence(truth, network, random_state=20_000 + task["net"]).mean,
        "score": score,
        "sensitivity": sensitivity(truth, network),
        "seconds to best": found_at,
    }


def main(options: argparse.Namespace) -> None:
    """Print one table per cell, a row for every way, compared with the default."""
    cells = [cell_of(text) for text in options.cells]
    nets = range(options.first_net, options.first_net + options.nets)
    tasks = [
        {"cell": cell, "net": net, "way": way, "seconds": options.seconds}
        for cell in cells
        for net in nets
        for way in WAYS
    ]
    records = list(run_all(one_run, tasks, options.workers))
    for cell in cells:
        runs = {
            way: [record for task, record in records if task["cell"] == cell and task["way"] == way]
            for way in WAYS
        }
        rows = [
            [
                way,
                with_error([r["kl"] for r in own], 3),
                difference(own, runs[WAYS[0]], "kl", 3),
                difference(own, runs[WAYS[0]], "score", 1),
                f"{sum(r['sensitivity'] for r in own) / len(own):.2f}",
                f"{sum(r['seconds to best'] for r in own) / len(own):.2f}",
            ]
            for way, own in runs.items()
        ]
        print(f"\n{cell[0]} variables, {cell[1]} rows, {options.nets} networks, {options.seconds:g} s a run")
        columns = (
            "way",
            "mean KL",
            f"minus {WAYS[0]!r}",
            "score minus its",
            "sensitivity",
            "seconds to best",
        )
        print_rows(columns, rows)
