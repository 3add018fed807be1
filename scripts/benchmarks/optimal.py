"""The learner with optimal cuts: real tables, and ways to search on random networks.

    python scripts/benchmarks/optimal.py tables [--tables iris wine] [--fold-seed 0] [--ensemble 10]
        [--resampling subsample] [--without-copies] [--jitter]
    python scripts/benchmarks/optimal.py pricing [--cells 8x800 20x500]
    python scripts/benchmarks/optimal.py variants --variant base --variant mi:algorithm.linkage=tree-mi [--cells 8x800]

tables    Held-out log density of real tables, ours and pyAgrum's best grid (see held_out.py).
pricing   When to price cuts, and what to search with, for the same networks, score and seconds: quantile bins in the
          search and exact cuts after it; the best network priced whenever the evaluations have doubled, after every
          generation, or with a sample of the others (the default); hill climbing with restarts that prices every
          optimum.
variants  Variants of the learner on the same networks with the same seconds. The other variants are compared with the
          first one, network by network: mean differences with 95 % bootstrap intervals over the networks. Scores can
          only be compared between variants that maximise the same score.

`tables` and `variants` take --discretizer and --option name=value for the learner. `tables` needs the extra "peers".
Each run has one core; --workers of them run at once. KL and structure on random networks: `gomea-bn bench table1`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from harness.printing import mean_difference, print_table, with_error
from harness.real_tables import TABLES
from harness.runs import (
    add_learner_options,
    add_resolution_option,
    make_learner,
    named_options,
    run_tasks,
    variant,
    warm_up,
)
from methods.discretizer_methods import mean_bins
from numpy.typing import NDArray
from parts.held_out import tables

from gomea_bn import GOMEA, BayesNetLearner, DiscretizedBayesNet
from gomea_bn.algorithms.populations import new_population, new_work, variation_rules
from gomea_bn.data.table import read_table
from gomea_bn.learning.cuts.refinement import refine_boundaries
from gomea_bn.learning.learning_options import LearningOptions
from gomea_bn.learning.learning_problem import learning_problem
from gomea_bn.learning.search.learned import learned_cut_points
from gomea_bn.metrics.distances import accuracy, kl_divergence, sensitivity
from gomea_bn.operators.kernels.mixing import initialise_range
from gomea_bn.problems.structure import StructureProblem
from gomea_bn.simulation.random_networks import random_network

Task = dict[str, Any]
Record = dict[str, Any]

WAYS = ("sample", "best", "doubling", "after the search", "restarted climbing")
SCORE = "density-bd"
PERTURBED = 0.1
"""Share of the genes that a restart from the best network draws again."""
FROM_RANDOM = 0.3
"""Share of the restarts that begin from a random network."""


def pricing(options: argparse.Namespace) -> None:
    """Print one table per cell, a row for every way, compared with the default."""
    cells = [cell_of(text) for text in options.cells]
    nets = range(options.first_net, options.first_net + options.nets)
    tasks = [
        {"cell": cell, "net": net, "way": way, "seconds": options.seconds}
        for cell in cells
        for net in nets
        for way in WAYS
    ]
    records = list(zip(tasks, run_tasks(one_way, tasks, options.workers), strict=True))
    for cell in cells:
        runs = {
            way: [record for task, record in records if task["cell"] == cell and task["way"] == way]
            for way in WAYS
        }
        default = runs[WAYS[0]]
        rows = [
            [
                way,
                with_error([record["kl"] for record in of_way]),
                difference(of_way, default, "kl", 3),
                difference(of_way, default, "score", 1),
                f"{np.mean([record['sensitivity'] for record in of_way]):.2f}",
                f"{np.mean([record['seconds to best'] for record in of_way]):.2f}",
            ]
            for way, of_way in runs.items()
        ]
        heading = f"{cell[0]} variables, {cell[1]} rows, {options.nets} networks, {options.seconds:g} s a run"
        columns = (
            "way",
            "mean KL",
            f"minus {WAYS[0]!r}",
            "score minus its",
            "sensitivity",
            "seconds to best",
        )
        print_table(heading, columns, rows)


@dataclass(frozen=True)
class Searched:
    """A network with its score in nats, and the seconds until it was reached."""

    network: DiscretizedBayesNet
    score: float
    seconds: float


def one_way(task: Task) -> Record:
    """Learn from one sample of one random network in one way."""
    n_variables, n_rows = task["cell"]
    truth = random_network(n_variables, kind="random", random_state=task["net"])
    frame = truth.sample(n_rows, random_state=10_000 + task["net"])
    warm_up({})
    if task["way"] == "restarted climbing":
        searched = climbed(frame, task["seconds"], task["net"])
    else:
        searched = learned(task["way"], frame, task["seconds"], task["net"])
    return {
        "kl": kl_divergence(truth, searched.network, random_state=20_000 + task["net"]).mean,
        "score": searched.score,
        "sensitivity": sensitivity(truth, searched.network),
        "seconds to best": searched.seconds,
    }


def learned(way: str, frame: pd.DataFrame, seconds: float, seed: int) -> Searched:
    """Return the learner's network if it prices cuts in one way, during the search or after it."""
    limits: dict[str, Any] = {"max_seconds": seconds, "patience": None, "n_jobs": 1, "random_state": seed}
    if way != "after the search":
        learner = BayesNetLearner(density="bins", algorithm=GOMEA(refine=way), **limits).fit(frame)
        return Searched(learner.network_, learner.score_, learner.time_to_best_)
    learner = BayesNetLearner("equal-frequency", density="bins", scoring_method=SCORE, **limits).fit(frame)
    refined = refine_boundaries(
        learner.network_,
        learner.table_,
        "dp",
        "free",
        max_bins=15,
        scoring_method=SCORE,
        pseudo_count="auto",
        random_state=0,
    )
    return Searched(refined.network, refined.score_after, learner.fit_seconds_ + refined.seconds)


def climbed(frame: pd.DataFrame, seconds: float, seed: int) -> Searched:
    """Return the network that restarted climbing reaches."""
    table = read_table(frame)
    problem = learning_problem(table, LearningOptions())
    problem.scorer.reserve(1 << 18)
    genotype, score, to_best = restarted_climbing(problem, seconds, seed)
    edges = [(table.names[a], table.names[b]) for a, b in problem.edges(genotype)]
    cuts = learned_cut_points(problem, genotype)
    network = DiscretizedBayesNet.from_table(table, edges, cuts, pseudo_count="auto")
    return Searched(network, score, to_best)


def restarted_climbing(
    problem: StructureProblem, max_seconds: float, seed: int
) -> tuple[NDArray[np.int16], float, float]:
    """Return the best genotype, its score in nats, and the seconds until it was reached.

    A climb tries every value of every gene in random order until none improves the score. If the problem prices cuts,
    all variables are then priced, and the climb goes on until neither helps.
    """
    generator = np.random.default_rng(seed)
    stop = np.zeros(1, np.uint8)
    refiner = problem.refiner(stop)
    rules, work = variation_rules(problem, 1, climbs=True), new_work(problem, stop)
    began = perf_counter()
    best, best_value, to_best = problem.sample(generator, 1)[0], np.inf, 0.0
    while perf_counter() - began < max_seconds:
        start = problem.sample(generator, 1)
        if best_value < np.inf and generator.random() > FROM_RANDOM:
            unchanged = generator.random(problem.n_variables) >= PERTURBED
            start[0, unchanged] = best[unchanged]
        value = np.inf
        while perf_counter() - began < max_seconds:
            data = new_population(problem, start)
            work.budget[0] = 1 << 62
            initialise_range(problem.kernel_data(1)[0], data, rules, generator, work, 0, 1)
            problem.generation_ended()
            reached = float(data.objectives[0, 0])
            if reached < best_value:
                best, best_value, to_best = data.genotypes[0].copy(), reached, perf_counter() - began
            if reached > value - 1e-9:
                break
            value, start = reached, data.genotypes.copy()
            if refiner is not None:
                in_use = partial(_values_in_use, start[0], best)
                start = refiner.improved(start[0], generator, in_use)[None]
    return best, problem.scorer.constant_score - best_value, to_best


def _values_in_use(present: NDArray[np.int16], best: NDArray[np.int16], gene: int) -> NDArray[np.int64]:
    return np.array([present[gene], best[gene]], np.int64)


def variants(options: argparse.Namespace) -> None:
    """Print one table per cell, a row for every variant."""
    shared = {"discretizer": options.discretizer, **named_options(options.option)}
    named = dict(variant(text) for text in options.variant)
    if len(named) < len(options.variant):
        raise SystemExit("The names of --variant must be distinct.")
    cells = [cell_of(text) for text in options.cells]
    nets = range(options.first_net, options.first_net + options.nets)
    tasks = [
        {
            "cell": cell,
            "law": options.law,
            "net": net,
            "variant": name,
            "seconds": options.seconds,
            "options": {**shared, **of_variant},
        }
        for cell in cells
        for net in nets
        for name, of_variant in named.items()
    ]
    for of_variant in named.values():
        warm_up({**shared, **of_variant})
    records = list(zip(tasks, run_tasks(one_variant, tasks, options.workers), strict=True))
    setting = ", ".join([options.discretizer, *options.option])
    for cell in cells:
        groups = {
            name: [record for task, record in records if (task["cell"], task["variant"]) == (cell, name)]
            for name in named
        }
        first = groups[next(iter(named))]
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
        heading = (
            f"{cell[0]} variables, {cell[1]:,} rows, law {options.law!r}, networks of seeds {nets.start} to "
            f"{nets.stop - 1}, {options.seconds:g} s a run, {setting}"
        )
        columns = ("KL", "minus first", "score", "minus first", "accuracy", "bins", "edges")
        print_table(heading, ("variant", *columns, "seconds to best", "seconds", "n_eval"), rows)


def one_variant(task: Task) -> Record:
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


def difference(group: list[Record], reference: list[Record], name: str, digits: int) -> str:
    """Return a mean difference with its interval as text."""
    interval = mean_difference([record[name] for record in group], [record[name] for record in reference])
    return "{:+.{d}f} [{:+.{d}f}, {:+.{d}f}]".format(*interval, d=digits)


PARTS = {"tables": tables, "pricing": pricing, "variants": variants}


def command_line() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="part", required=True)
    on_tables = commands.add_parser("tables", help="held-out density of real tables, scaled")
    on_tables.add_argument("--tables", nargs="+", choices=sorted(TABLES), help="five tables by default")
    on_tables.add_argument("--folds", type=int, default=5, help="number of folds")
    on_tables.add_argument("--fold-seed", type=int, default=0, help="seed of the folds")
    on_tables.add_argument("--ensemble", type=int, default=0, metavar="K", help="also average K networks")
    on_tables.add_argument(
        "--resampling",
        choices=("bootstrap", "subsample"),
        # the published figures are of bootstrap resamples
        default="bootstrap",
        help="how the ensemble draws the rows of each network",
    )
    on_tables.add_argument(
        "--without-copies",
        action="store_true",
        help="leave out test rows whose values all equal those of a training row",
    )
    on_tables.add_argument(
        "--jitter",
        action="store_true",
        help="add uniform noise up to a tenth of the smallest gap between distinct values of a continuous column",
    )
    on_tables.add_argument("--without-peers", action="store_true", help="leave pyAgrum out")
    add_resolution_option(on_tables)
    by_way = commands.add_parser("pricing", help="when to price cuts, and restarted climbing instead")
    by_variant = commands.add_parser("variants", help="variants of the learner on the same networks")
    by_variant.add_argument(
        "--variant",
        action="append",
        required=True,
        metavar="NAME:OPTION=VALUE,...",
        help="options in addition to --option; the others are compared with the first variant",
    )
    by_variant.add_argument(
        "--law", choices=("tree", "ide-cozman"), default="tree", help="law of the networks"
    )
    for command in (by_way, by_variant):
        command.add_argument(
            "--cells",
            nargs="+",
            default=["8x200", "8x800", "20x500"],
            metavar="VARIABLESxROWS",
            help="sizes of the samples",
        )
        command.add_argument("--nets", type=int, default=10, help="number of random networks")
        command.add_argument("--first-net", type=int, default=0, help="seed of the first network")
    for command in (on_tables, by_variant):
        add_learner_options(command)
    for command in (on_tables, by_way, by_variant):
        command.add_argument("--workers", type=int, default=2, help="number of processes")
        command.add_argument("--seconds", type=float, default=10.0, help="deadline of a run")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the chosen part."""
    # scikit-learn's k-means reads this; there is one process per core
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    options = command_line().parse_args(arguments)
    PARTS[options.part](options)


if __name__ == "__main__":
    main()
