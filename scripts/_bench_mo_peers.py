"""MOGOMEA beside pymoo's NSGA-II, NSGA-III and AGE-MOEA on one structure problem with three objectives.

Everybody has the same problem (its own copy, so that no one finds another's scores cached), initial sampler, repair,
compiled scorer, seconds on one core, and archive. Fronts are compared by hypervolume: objectives scaled by the ideal
and nadir point of the union of all fronts of a network, reference 1.1 in each. The gap of a front is what it lacks of
the union front's hypervolume.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import moocore
import numpy as np
from _side_by_side import print_rows
from numpy.typing import NDArray

from gomea_bn.algorithms.mogomea import MOGOMEA
from gomea_bn.data.table import read_table
from gomea_bn.learning.pareto_learner import ParetoBayesNetLearner, front_problem
from gomea_bn.problems.front_problem import FrontProblem
from gomea_bn.runtime.limits import Limits
from gomea_bn.simulation.random_experts import simulated_expert
from gomea_bn.simulation.random_networks import random_network

__all__ = ["gaps", "three_objectives"]

N_VARIABLES, SIZES, ARCHIVE_SIZE = 10, (500, 5_000), 10_000
OURS, PEERS = "MOGOMEA", ("NSGA-II", "NSGA-III", "AGE-MOEA")
# the best of 50, 100, 200 and 400 (AGE-MOEA: to 200) by mean gap on networks 1000 to 1002, n = 500, 5 s
POPULATIONS = {"NSGA-II": 200, "NSGA-III": 200, "AGE-MOEA": 50}


def three_objectives(net: int, n: int) -> FrontProblem:
    """Return misfit, complexity and expert distance for `n` rows of random network `net`.

    The expert knows half of the true edges and as many wrong ones; ten times its parameters are the limit.
    """
    truth = random_network(N_VARIABLES, kind="random", random_state=net)
    table = read_table(truth.sample(n, random_state=10_000 + net))
    expert = simulated_expert(truth, table=table, random_state=20_000 + net).fitted(table)
    names = ("misfit", "complexity", "expert_distance")
    return front_problem(ParetoBayesNetLearner(), table, names, expert, frozenset(table.names), 30_000 + net)


def gaps(fronts: Mapping[str, NDArray[np.float64]]) -> tuple[dict[str, float], float]:
    """Return what each front lacks of the union front's hypervolume, and that hypervolume."""
    union = np.concatenate(list(fronts.values()))
    union = union[np.asarray(moocore.is_nondominated(union, keep_weakly=True))]
    ideal, nadir = union.min(axis=0), union.max(axis=0)
    spans = np.where(nadir > ideal, nadir - ideal, 1.0)
    corner = np.full(union.shape[1], 1.1)

    def volume(points: NDArray[np.float64]) -> float:
        return float(moocore.hypervolume((points - ideal) / spans, ref=corner))

    whole = volume(union)
    return {name: whole - volume(front) for name, front in fronts.items()}, whole


def _ours(net: int, n: int, seconds: float) -> tuple[NDArray[np.float64], int]:
    settings = MOGOMEA(archive_size=ARCHIVE_SIZE)
    settings.run(three_objectives(net, n), Limits(max_evaluations=2_000), random_state=0)  # compiles
    result = settings.run(three_objectives(net, n), Limits(max_seconds=seconds), random_state=net)
    return result.F, result.n_eval


def compare_on(task: Mapping[str, Any]) -> dict[str, Any]:
    """Run everybody on one network; returns gaps, sizes of fronts and evaluations by name."""
    from _pymoo_runs import run_peer

    net, n, seconds = task["net"], task["n"], task["seconds"]
    fronts, evaluated = {}, {}
    fronts[OURS], evaluated[OURS] = _ours(net, n, seconds)
    for peer in PEERS:
        run = run_peer(
            peer,
            three_objectives(net, n),
            seconds=seconds,
            seed=net,
            population=POPULATIONS[peer],
            archive_size=ARCHIVE_SIZE,
        )
        fronts[peer], evaluated[peer] = run.objectives, run.n_eval
    found, whole = gaps(fronts)
    return {
        **task,
        "gaps": found,
        "union": whole,
        "members": {name: len(front) for name, front in fronts.items()},
        "n_eval": evaluated,
    }


def finished(path: Path) -> list[dict[str, Any]]:
    """Return the results in a file of one JSON object per line; none if there is no file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run_tasks(function: Any, tasks: list[dict[str, Any]], path: Path, workers: int) -> list[dict[str, Any]]:
    """Return the results of all tasks; those in the file are not run again, new ones are added to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    done = finished(path)
    waiting = [task for task in tasks if not any(task.items() <= result.items() for result in done)]
    with ProcessPoolExecutor(max_workers=workers) as pool:
        for result in pool.map(function, waiting):
            done.append(result)
            with path.open("a") as file:
                file.write(json.dumps(result) + "\n")
            print(f"done: {path.stem} " + ", ".join(f"{key} {result[key]}" for key in tasks[0]), flush=True)
    return [result for task in tasks for result in done if task.items() <= result.items()]


def main(options: Any) -> None:
    """Print for each number of rows the gaps of all algorithms over the networks."""
    seconds = options.seconds or (60.0 if options.full else 10.0)
    n_nets = options.nets or 10
    tasks = [{"net": net, "n": n, "seconds": seconds} for n in SIZES for net in range(n_nets)]
    results = run_tasks(compare_on, tasks, options.results / "peers.jsonl", options.workers)
    for n in SIZES:
        group = [result for result in results if result["n"] == n]
        rows = []
        for name in (OURS, *PEERS):
            gap = np.array([result["gaps"][name] for result in group])
            share = gap / [result["union"] for result in group]
            rows.append(
                [
                    name,
                    f"{np.median(gap):.4f}",
                    f"{gap.min():.4f} to {gap.max():.4f}",
                    f"{np.median(share):.2%}",
                    f"{np.median([result['members'][name] for result in group]):,.0f}",
                    f"{np.median([result['n_eval'][name] for result in group]):,.0f}",
                ]
            )
        print(f"\n{N_VARIABLES} variables, n = {n}, {len(group)} networks, {seconds:g} s a run on one core")
        columns = ("", "median gap", "range", "of the union", "members", "evaluations")
        print_rows(columns, rows)
        ours = np.array([result["gaps"][OURS] for result in group])
        best = np.array([min(result["gaps"][peer] for peer in PEERS) for result in group])
        print(
            f"ours / best peer, median of ratios by network: {np.median(ours / best):.2f} (wanted at most 0.50); "
            f"smaller than every peer's on {(ours < best).sum()} of {len(group)} networks (wanted 9 of 10)"
        )
