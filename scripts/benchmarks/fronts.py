"""The search for fronts compared with the published code and with pymoo.

    python scripts/benchmarks/fronts.py whole [--seeds 30] [--only trap-5]
    python scripts/benchmarks/fronts.py peers [--nets 10] [--seconds 10] [--full]
    python scripts/benchmarks/fronts.py enumerated [--nets 10]
    python scripts/benchmarks/fronts.py throughput [--seconds 60]
    python scripts/benchmarks/fronts.py all

whole       Evaluations until the archive holds the whole known front. The published code's figures are medians of nine
            runs of it (archive of 1,000 solutions, evaluations up to the last solution that entered the archive). With
            archive_update="immediate" ours are counted in the same way, with "generation" to the end of the
            generation. A third search keeps to the published rules: mutual information, one donor, dominance.
peers       MOGOMEA and pymoo's NSGA-II, NSGA-III and AGE-MOEA learn networks under misfit, complexity and expert
            distance. All have a copy of the same problem, the same initial sampler, repair, compiled scorer, archive,
            and seconds on one core. The gap of a front is the hypervolume that it lacks of the union of all fronts of
            a network; objectives are scaled by the union's ideal and nadir point, reference 1.1 in each.
enumerated  Networks of 4 and 5 columns, where all graphs are evaluated, with given bins or all numbers of bins. How far
            fronts of some evaluations are from the true one: the largest shortfall of a true point, as a share of the
            range of the objective, and the share of the true front's hypervolume.
throughput  Evaluations per second with a full archive of 10,000 solutions, and the archive's share of that time.

--full: larger problems and longer runs. Finished runs of `peers` are kept in --results and not run again; delete the
folder to start from the beginning. Fronts compared with single networks: `gomea-bn bench fig6`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import moocore
import numpy as np
from fronts_and_learn import PUBLISHED
from harness.printing import print_table, ratio_of_medians, with_interval
from harness.runs import resume_tasks
from methods.pymoo_runs import PEERS, run_peer
from numpy.typing import NDArray

from gomea_bn.algorithms.archive import ElitistArchive
from gomea_bn.algorithms.mogomea import MOGOMEA, FrontRun
from gomea_bn.data.table import read_table
from gomea_bn.front.quality import hypervolume
from gomea_bn.learning.pareto_learner import ParetoBayesNetLearner, front_problem
from gomea_bn.learning.warm_up import compile_front_kernels
from gomea_bn.problems.front_problem import FrontProblem
from gomea_bn.problems.multi_objective import LOTZ, OneMaxZeroMax, TrapInverseTrap, brute_force_front
from gomea_bn.runtime.limits import Limits, Progress, Result
from gomea_bn.simulation.random_experts import simulated_expert
from gomea_bn.simulation.random_networks import random_network

__all__ = ["CASES", "gaps", "run_to_front", "three_objectives"]

WHOLE_SECONDS = 120.0
"""Limit of a run to the whole front."""
PUBLISHED_ARCHIVE = 1000
SETTINGS = {
    "immediate": MOGOMEA(archive_update="immediate", archive_size=PUBLISHED_ARCHIVE),
    "generation": MOGOMEA(archive_update="generation", archive_size=PUBLISHED_ARCHIVE),
    "as published": MOGOMEA(
        linkage="tree-mi",
        search_donors=False,
        mixing="dominance",
        archive_update="immediate",
        archive_size=PUBLISHED_ARCHIVE,
    ),
}
N_VARIABLES, ARCHIVE_SIZE = 10, 10_000
PEER_ROWS, THROUGHPUT_ROWS = (500, 5_000), 500
OURS = "MOGOMEA"
POPULATIONS = {"NSGA-II": 200, "NSGA-III": 200, "AGE-MOEA": 50}
"""The best of 50, 100, 200 and 400 (AGE-MOEA: to 200) by mean gap on networks 1000 to 1002, 500 rows, 5 s."""
ENUMERATED: dict[str, tuple[int, int | None]] = {
    "4 columns, given cuts": (4, None),
    "4 columns, 2 to 4 bins": (4, 4),
    "5 columns, given cuts": (5, None),
}
"""Number of columns and largest number of bins of the problems that are enumerated; None: two given cuts."""
ENUMERATED_ROWS = 300
EVALUATIONS = (300, 1_000, 3_000, 10_000, 30_000)
"""Limits of the runs that are compared with the true front."""
FULL = 0.75
"""The adaptive grid thins an archive to at least this share of its size."""


@dataclass(frozen=True)
class Case:
    """A problem with a known front, and the evaluations that the published code took to find it."""

    name: str
    n_seeds: int
    problem: Callable[[], Any]
    published: float
    full_only: bool = False


CASES = (
    *(
        Case(f"trap-5 / inverse l={n}", 30, partial(TrapInverseTrap, n), published, n > 100)
        for n, published in ((25, 1.9e3), (50, 8.4e3), (100, 35e3), (200, 95e3))
    ),
    *(
        Case(f"LOTZ l={n}", 9, partial(LOTZ, n), published, n > 50)
        for n, published in ((25, 14e3), (50, 120e3), (100, 1.07e6))
    ),
    *(
        Case(f"OneMax / ZeroMax l={n}", 30, partial(OneMaxZeroMax, n), published)
        for n, published in ((25, 1.5e3), (50, 6.4e3), (100, 12.6e3))
    ),
)


def whole(options: argparse.Namespace) -> None:
    """Run the cases whose names begin with one of `--only`, or all, and print their table."""
    rows = []
    for case in CASES:
        chosen = (
            case.name.startswith(tuple(options.only)) if options.only else options.full or not case.full_only
        )
        if not chosen:
            continue
        problem = case.problem()
        runs: dict[str, list[tuple[float, float]]] = {name: [] for name in SETTINGS}
        for settings in SETTINGS.values():
            run_to_front(problem, settings, 0, 10.0)  # compiles
        for seed in range(1, 1 + (options.seeds or case.n_seeds)):
            for name, settings in SETTINGS.items():
                runs[name].append(run_to_front(problem, settings, seed))
        for name, of_setting in runs.items():
            rows.append([case.name, len(of_setting), name, *_whole_cells(of_setting, case.published)])
        print(f"done: {case.name}", flush=True)
    heading = (
        "Evaluations to the whole front: medians over seeds 1, 2, ...; ratios to the published code's median with a "
        "95 % bootstrap interval of ours"
    )
    columns = (
        "problem",
        "seeds",
        "search",
        "evaluations",
        "quartiles",
        "published",
        "ratio",
        "seconds",
        "solved",
    )
    print_table(heading, columns, rows)


def run_to_front(
    problem: Any, settings: MOGOMEA, seed: int, max_seconds: float = WHOLE_SECONDS
) -> tuple[float, float]:
    """Return evaluations and seconds until the archive holds the problem's whole front; infinite if it does not."""
    front = set(map(tuple, problem.front.tolist()))
    run = FrontRun(settings, problem, Limits(max_seconds=max_seconds), random_state=seed)
    with run, run.stop.catching_interrupts():
        running = True
        while running:
            running = run.step()
            members = run.archive.objectives
            # members are nondominated and distinct, so fewer or other ones cannot be the front
            if len(members) == len(front) and set(map(tuple, members.tolist())) == front:
                return run.n_eval_at_best, run.stop.seconds
    if run.stop.reason == "interrupt":
        raise KeyboardInterrupt
    return np.inf, np.inf


def _whole_cells(runs: Sequence[tuple[float, float]], published: float) -> list[str]:
    evaluations, seconds = zip(*runs, strict=True)
    low, median, high = np.quantile(evaluations, [0.25, 0.5, 0.75], method="nearest")
    return [
        f"{np.median(evaluations):,.0f}" if np.isfinite(median) else "-",
        f"{low:,.0f} to {high:,.0f}",
        f"{published:,.0f}",
        with_interval(ratio_of_medians(evaluations, [published])),
        f"{np.median(seconds):.3f}",
        f"{np.isfinite(evaluations).sum()}/{len(runs)}",
    ]


def three_objectives(net: int, n: int) -> FrontProblem:
    """Return misfit, complexity and expert distance for `n` rows of random network `net`.

    The expert knows half of the true edges and an equal number of wrong ones.
    """
    truth = random_network(N_VARIABLES, kind="random", random_state=net)
    table = read_table(truth.sample(n, random_state=10_000 + net))
    expert = simulated_expert(truth, table=table, random_state=20_000 + net).fitted(table)
    names = ("misfit", "complexity", "expert_distance")
    return front_problem(ParetoBayesNetLearner(**PUBLISHED), table, names, expert, 30_000 + net)


def peers(options: argparse.Namespace) -> None:
    """Print for each number of rows the gaps of all algorithms over the networks."""
    seconds = options.seconds or (60.0 if options.full else 10.0)
    tasks = [{"net": net, "n": n, "seconds": seconds} for n in PEER_ROWS for net in range(options.nets)]
    records = resume_tasks(compare_on, tasks, options.results / "peers.jsonl", options.workers)
    for n in PEER_ROWS:
        group = [record for record in records if record["task"]["n"] == n]
        rows = []
        for name in (OURS, *PEERS):
            gap = np.array([record["gaps"][name] for record in group])
            share = gap / [record["union"] for record in group]
            members = np.median([record["members"][name] for record in group])
            evaluations = np.median([record["n_eval"][name] for record in group])
            range_text = f"{gap.min():.4f} to {gap.max():.4f}"
            rows.append(
                [
                    name,
                    f"{np.median(gap):.4f}",
                    range_text,
                    f"{np.median(share):.2%}",
                    f"{members:,.0f}",
                    f"{evaluations:,.0f}",
                ]
            )
        heading = f"{N_VARIABLES} variables, n = {n}, {len(group)} networks, {seconds:g} s a run on one core"
        print_table(heading, ("", "median gap", "range", "of the union", "members", "evaluations"), rows)
        ours = np.array([record["gaps"][OURS] for record in group])
        best = np.array([min(record["gaps"][peer] for peer in PEERS) for record in group])
        print(
            f"ours / best peer, median of ratios by network: {np.median(ours / best):.2f}; smaller than every peer's "
            f"on {(ours < best).sum()} of {len(group)} networks"
        )


def compare_on(task: Mapping[str, Any]) -> dict[str, Any]:
    """Run all algorithms on one network; returns gaps, sizes of fronts and evaluations by name."""
    net, n, seconds = task["net"], task["n"], task["seconds"]
    settings = MOGOMEA(archive_size=ARCHIVE_SIZE)
    settings.run(three_objectives(net, n), Limits(max_evaluations=2_000), random_state=0)  # compiles
    result = settings.run(three_objectives(net, n), Limits(max_seconds=seconds), random_state=net)
    fronts, evaluations = {OURS: result.F}, {OURS: result.n_eval}
    for peer in PEERS:
        run = run_peer(
            peer,
            three_objectives(net, n),
            seconds=seconds,
            random_state=net,
            population=POPULATIONS[peer],
            archive_size=ARCHIVE_SIZE,
        )
        fronts[peer], evaluations[peer] = run.objectives, run.n_eval
    lacking, union = gaps(fronts)
    members = {name: len(front) for name, front in fronts.items()}
    return {"gaps": lacking, "union": union, "members": members, "n_eval": evaluations}


def gaps(fronts: Mapping[str, NDArray[np.float64]]) -> tuple[dict[str, float], float]:
    """Return the hypervolume that each front lacks of the union front's, and the union front's."""
    union = np.concatenate(list(fronts.values()))
    union = union[np.asarray(moocore.is_nondominated(union, keep_weakly=True))]
    ideal, nadir = union.min(axis=0), union.max(axis=0)
    spans = np.where(nadir > ideal, nadir - ideal, 1.0)
    corner = np.full(union.shape[1], 1.1)

    def volume(points: NDArray[np.float64]) -> float:
        return float(moocore.hypervolume((points - ideal) / spans, ref=corner))

    whole_volume = volume(union)
    return {name: whole_volume - volume(front) for name, front in fronts.items()}, whole_volume


def throughput(options: argparse.Namespace) -> None:
    """Print rates with archives of 10,000 and of 100, and the time per offered solution."""
    seconds = options.seconds or 60.0
    compile_front_kernels(print)
    rows = []
    results = []
    for archive_size, seed in ((ARCHIVE_SIZE, 1), (ARCHIVE_SIZE, 2), (100, 1)):
        result, states = rates(archive_size, seconds, seed)
        results.append(result)
        full = [state for state in states if state.archive_size >= FULL * archive_size]
        cells = ["-", "-", "-"]
        if len(full) > 1 and full[-1].seconds > full[0].seconds:
            sustained = (full[-1].n_eval - full[0].n_eval) / (full[-1].seconds - full[0].seconds)
            cells = [f"{full[0].seconds:.1f}", f"{sustained:,.0f}", f"{1e6 / sustained:.1f}"]
        rows.append(
            [
                f"{archive_size:,}",
                seed,
                f"{max(state.archive_size for state in states):,}",
                f"{result.n_eval / result.exec_time:,.0f}",
                *cells,
                f"{result.statistics['cache_hits'] / sum(result.statistics.values()):.1%}",
            ]
        )
    columns = ("archive", "seed", "most members", "evaluations/s", "full at s", "evaluations/s from then on")
    heading = f"{N_VARIABLES} variables, n = {THROUGHPUT_ROWS}, three objectives, {seconds:g} s, one core"
    print_table(heading, (*columns, "µs each", "families from the cache"), rows)
    first, second = (len(result.X) for result in results[:2])
    fresh, again = microseconds_per_offer(results[0], results[1])
    print(
        f"Offering {second:,} members of the second front to the first with {first:,}: {fresh:.1f} µs each, a second "
        f"time {again:.1f} µs each"
    )


def rates(archive_size: int, seconds: float, seed: int) -> tuple[Result, list[Progress]]:
    """Return a run of MOGOMEA and its state after every generation."""
    states: list[Progress] = []
    settings = MOGOMEA(archive_size=archive_size)
    problem = three_objectives(0, THROUGHPUT_ROWS)
    return settings.run(
        problem, Limits(max_seconds=seconds), random_state=seed, callback=states.append
    ), states


def microseconds_per_offer(first: Result, second: Result) -> tuple[float, float]:
    """Return the time per member to offer the second run's front to the first one's, and to offer it a second time.

    All offered members lie close to the archive's, so that few can be dismissed quickly. The second time each one is
    dominated, a duplicate, or in an occupied box.
    """
    archives = []
    for result in (first, second):
        archive = ElitistArchive(result.X.shape[1], result.F.shape[1], ARCHIVE_SIZE)
        archive.offer(result.X, result.F)
        archives.append(archive)
    times = []
    for _ in range(2):
        began = perf_counter()
        archives[0].take(archives[1].data)
        times.append((perf_counter() - began) / len(archives[1]) * 1e6)
    return times[0], times[1]


def enumerated(options: argparse.Namespace) -> None:
    """Print how far fronts are from the true ones on problems whose networks can all be evaluated."""
    rows = []
    for name, (n_columns, bins) in ENUMERATED.items():
        records = [_compared_with_true_front(net, n_columns, bins) for net in range(options.nets)]
        size = np.median([n_points for n_points, _ in records])
        for k, evaluations in enumerate(EVALUATIONS):
            shortfalls, shares = np.array([of_runs[k] for _, of_runs in records]).T
            rows.append(
                [
                    name,
                    f"{size:,.0f}",
                    f"{evaluations:,}",
                    f"{(shortfalls < 1e-9).sum()}/{len(shortfalls)}",
                    f"{np.median(shortfalls):.4f}",
                    f"{shortfalls.max():.4f}",
                    f"{shares.min():.4f}",
                ]
            )
        print(f"done: {name}", flush=True)
    columns = ("", "true front", "evaluations", "complete", "median shortfall", "largest", "least volume")
    heading = f"{ENUMERATED_ROWS} rows, three objectives, {options.nets} networks, every genotype evaluated"
    print_table(heading, columns, rows)


def _compared_with_true_front(
    net: int, n_columns: int, bins: int | None
) -> tuple[int, list[tuple[float, float]]]:
    """Return the number of points of the true front, and for each run its shortfall and its share of the hypervolume.

    The shortfall is the least amount by which the front must improve in every objective to cover the true front, as a
    share of the ranges of the objectives in the true front (additive epsilon indicator).
    """
    truth = random_network(n_columns, kind="random", random_state=net)
    table = read_table(truth.sample(ENUMERATED_ROWS, random_state=10_000 + net))
    expert = simulated_expert(truth, table=table, random_state=20_000 + net)
    space: dict[str, Any] = {"discretizer": "equal-frequency", "max_bins": bins}
    if bins is None:
        space = {
            "cut_points": {
                c.name: np.quantile(c.values, (0.3, 0.7)) for c in table.columns if c.is_continuous
            }
        }
    # no limit that depends on the single network of a run
    fixed: dict[str, Any] = {
        "expert": expert,
        "max_complexity": 1e9,
        "max_seconds": None,
        "random_state": net,
    }
    fronts = []
    for evaluations in EVALUATIONS:
        learner = ParetoBayesNetLearner(**space, **fixed, max_evaluations=evaluations).fit(table)
        fronts.append(learner.front_)
    names = fronts[0].names
    true_front = brute_force_front(front_problem(learner, table, names, learner.expert_, net))
    ideal, nadir = true_front.min(axis=0), true_front.max(axis=0)
    spans = np.where(nadir > ideal, nadir - ideal, 1.0)
    whole_volume = hypervolume(true_front, names, None, ideal, nadir)
    runs = []
    for front in fronts:
        beyond = (front.values[None] - true_front[:, None]) / spans
        share = hypervolume(front.values, names, None, ideal, nadir) / whole_volume
        runs.append((float(beyond.max(axis=2).min(axis=1).max()), share))
    return len(true_front), runs


PARTS = {"whole": whole, "peers": peers, "enumerated": enumerated, "throughput": throughput}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one part or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=[*PARTS, "all"])
    parser.add_argument("--seeds", type=int, help="number of seeds of whole (30, for LOTZ 9)")
    parser.add_argument(
        "--only", action="append", default=[], help="problems whose names begin with this text"
    )
    parser.add_argument("--nets", type=int, default=10, help="number of random networks")
    parser.add_argument("--seconds", type=float, help="limit of a run (peers 10, throughput 60)")
    parser.add_argument("--workers", type=int, default=2, help="number of processes of peers")
    parser.add_argument("--full", action="store_true", help="larger problems and longer runs")
    parser.add_argument("--results", type=Path, default=Path("out/fronts"), help="folder of finished runs")
    options = parser.parse_args(arguments)
    for part in PARTS if options.part == "all" else [options.part]:
        PARTS[part](options)


if __name__ == "__main__":
    main()
