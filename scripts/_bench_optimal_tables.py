"""Real tables, scaled: held-out log density of ours beside pyAgrum's best grid, in nats a row.

Five folds. Continuous columns are scaled to [0, 1] by the training rows, test values are clipped to that range. Every
density is printed twice: as the method defines its bins, and with no bin narrower than 1/100 of the range, because
narrow bins around repeated values gain density without bound. Ours then learns anew with that width as its floor where
it has such an option; other narrow bins are joined to a neighbour.
"""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from _bench_discretizers_methods import mean_bins
from _bench_optimal_learner import has_parameter, make_learner, named_options, smoothing, warm_up
from _bench_optimal_peers import SCORES, peer_networks
from _bench_runs import run_all
from _bench_tables import TABLES, with_levels
from _side_by_side import compared, print_rows

import gomea_bn
from gomea_bn import BayesNetLearner, DiscretizedBayesNet
from gomea_bn.data.table import Table, read_table
from gomea_bn.discretization.proposals import with_wide_bins

FLOORS = (0.0, 0.01)
PUBLISHED = {  # our prototype, what to reach, and the best continuous network (pybnesian, R)
    "iris": (1.78, 2.40, 3.13),
    "wine": (5.04, 5.8, 6.61),
    "auto-mpg": (0.40, 0.55, 0.77),
    "diabetes": (5.28, 5.4, 5.81),
    "breast cancer": (10.78, 11.2, 15.41),
}
OURS, ENSEMBLE, PEERS = "ours", "ensemble", "pyAgrum, "

Task = dict[str, Any]
Record = dict[str, Any]


def kinds_of(frame: pd.DataFrame, discrete: list[str]) -> dict[str, str]:
    """Return the kind of every column."""
    return {name: "discrete" if name in discrete else "continuous" for name in map(str, frame)}


def scaled(
    train: pd.DataFrame, test: pd.DataFrame, continuous: list[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both parts with continuous columns scaled to [0, 1] by the first, and the second clipped to it."""
    low, high = train[continuous].min(), train[continuous].max()
    return (
        train.assign(**(train[continuous] - low) / (high - low)),
        test.assign(**((test[continuous] - low) / (high - low)).clip(0.0, 1.0)),
    )


def one_fold(task: Task) -> list[Record]:
    """Return one record per method for one fold of one table: ours, the ensemble, or the peers."""
    from sklearn.model_selection import KFold

    source, discrete, _ = TABLES[task["table"]]()
    frame, kinds = with_levels(source, discrete), kinds_of(source, discrete)
    folds = list(KFold(task["folds"], shuffle=True, random_state=task["fold seed"]).split(frame))
    rows, held = folds[task["fold"]]
    continuous = [name for name, kind in kinds.items() if kind == "continuous"]
    train, test = scaled(frame.iloc[rows], frame.iloc[held], continuous)
    fixed = {"kinds": kinds, "n_jobs": 1, "random_state": 0, "max_seconds": task["seconds"]}
    table = read_table(train, kinds=kinds)
    if task["method"] == PEERS:
        counted = smoothing(make_learner(task["options"], **fixed))
        return [
            {
                **held_out(PEERS + peer.label, table, peer.edges, peer.cuts, counted, test),
                "seconds": peer.seconds,
            }
            for peer in peer_networks(table)
        ]
    warm_up(task["options"])
    if task["method"] == ENSEMBLE:
        return [of_ensemble(task, fixed, train, test)]
    return [of_ours(task["options"], fixed, train, test)]


def held_out(
    name: str, table: Table, edges: Any, cuts: Any, counted: dict[str, Any], test: pd.DataFrame
) -> Record:
    """Return the densities of a graph with cuts, its tables counted anew: as it is, and with wide bins only."""
    record: Record = {"method": name, "n edges": len(edges)}
    for floor in FLOORS:
        network = DiscretizedBayesNet.from_table(table, edges, wide(cuts, table, floor), **counted)
        record[f"density {floor}"] = network.log_density(test)
        record[f"bins {floor}"] = mean_bins(network.cut_points.values())
    return record


def wide(cuts: Any, table: Table, floor: float) -> dict[str, Any]:
    """Return cuts that leave no bin narrower than a fraction of its column's range."""
    ranges = {c.name: (c.values.min(), c.values.max()) for c in table.columns if c.is_continuous}
    return {name: with_wide_bins(own, ranges[name], floor) for name, own in cuts.items()}


def of_ours(
    options: dict[str, Any], fixed: dict[str, Any], train: pd.DataFrame, test: pd.DataFrame
) -> Record:
    """Return the densities of the learner, which learns once per width floor if it can be told one."""
    record: Record = {"method": OURS}
    learner: BayesNetLearner | None = None
    for floor in FLOORS:
        can_be_told = floor > 0 and has_parameter("min_width")
        if learner is None or can_be_told:
            asked = {"min_width": floor} if can_be_told else {}
            began = perf_counter()
            learner = make_learner({**options, **asked}, **fixed).fit(train)
            record.setdefault("seconds", perf_counter() - began)
        network = learner.network_
        cuts = wide(network.cut_points, learner.table_, floor)
        if any(len(own) < len(network.cut_points[name]) for name, own in cuts.items()):
            network = DiscretizedBayesNet.from_table(
                learner.table_, network.edges, cuts, **smoothing(learner)
            )
        record[f"density {floor}"] = network.log_density(test)
        record[f"bins {floor}"] = mean_bins(network.cut_points.values())
        record.setdefault("n edges", len(network.edges))
    return record


def of_ensemble(task: Task, fixed: dict[str, Any], train: pd.DataFrame, test: pd.DataFrame) -> Record:
    """Return the mean densities of an ensemble, whose networks share the seconds of one fit.

    Without an option for the width floor, an ensemble has no second figure.
    """
    record: Record = {"method": ENSEMBLE}
    for floor in FLOORS:
        asked = {"min_width": floor} if floor > 0 else {}
        if asked and not has_parameter("min_width"):
            continue
        own = {**fixed, "max_seconds": task["seconds"] / task["ensemble"]}
        learner = make_learner({**task["options"], **asked}, **own)
        began = perf_counter()
        # named through the package: a version without the class can run everything else
        ensemble: Any = gomea_bn.BayesNetEnsemble(learner, n_networks=task["ensemble"]).fit(train)
        record.setdefault("seconds", perf_counter() - began)
        record[f"mean {floor}"] = ensemble.score(test) * len(test)
        record["n rows"] = len(test)
    return record


def main(options: argparse.Namespace) -> None:
    """Print one table per data set, and then all of them beside the published figures."""
    chosen = {"discretizer": options.discretizer, **named_options(options.option)}
    methods = [OURS] + ([] if options.without_peers else [PEERS])
    if options.ensemble:
        if not hasattr(gomea_bn, "BayesNetEnsemble"):
            raise SystemExit("--ensemble needs gomea_bn.BayesNetEnsemble, which this version has not.")
        methods.insert(1, ENSEMBLE)
    names = options.tables or list(PUBLISHED)
    tasks = [
        {
            "table": name,
            "fold": fold,
            "folds": options.folds,
            "fold seed": options.fold_seed,
            "method": method,
            "seconds": options.seconds,
            "ensemble": options.ensemble,
            "options": chosen,
        }
        for name in names
        for method in methods
        for fold in range(options.folds)
    ]
    warm_up(chosen)
    found: dict[str, dict[str, list[tuple[int, Record]]]] = {name: {} for name in names}
    for task, records in run_all(one_fold, tasks, options.workers):
        for record in records:
            found[task["table"]].setdefault(record["method"], []).append((task["fold"], record))
    told = f"{options.folds} folds of seed {options.fold_seed}, {options.seconds:g} s a fit, ours: "
    told += ", ".join([options.discretizer, *options.option])
    summary = []
    for name in names:
        groups = {
            method: [record for _, record in sorted(pairs, key=lambda pair: pair[0])]
            for method, pairs in found[name].items()
        }
        summary.append([name, *print_one(name, groups, told)])
    print(f"\nHeld-out log density, nats a row, columns scaled to [0, 1]; {told}")
    columns = (
        "best pyAgrum",
        "its best by BIC",
        "ours",
        "prototype",
        "at least",
        "reached",
        "best continuous",
    )
    wide_columns = ("best pyAgrum, no bin under 1/100", "ours, no bin under 1/100")
    print_rows(("table", *columns, *wide_columns), summary)


def best_peer(groups: dict[str, list[Record]], floor: float, score: str = "") -> str | None:
    """Return the combination of pyAgrum that is best on the test rows, of one score or of all."""
    means = {
        method: rows_of(group, floor).mean()
        for method, group in groups.items()
        if method.startswith(PEERS) and method.endswith(score)
    }
    return max(means, key=lambda method: means[method]) if means else None


def rows_of(group: list[Record], floor: float) -> np.ndarray:
    """Return the densities of all test rows, fold by fold."""
    return np.concatenate([record[f"density {floor}"] for record in group])


def print_one(name: str, groups: dict[str, list[Record]], told: str) -> list[str]:
    """Print every method of one table, pyAgrum's as the best with each score; returns the row of the summary."""
    best = {floor: best_peer(groups, floor) for floor in FLOORS}
    shown = [method for method in (OURS, ENSEMBLE) if method in groups]
    peers_shown = [best_peer(groups, floor, score) for score in SCORES for floor in FLOORS]
    shown += [method for method in dict.fromkeys(peers_shown) if method is not None]
    rows = []
    for method in shown:
        group = groups[method]
        cells: list[str] = []
        for floor in FLOORS:
            reference = best[floor]
            if f"density {floor}" in group[0]:
                own = rows_of(group, floor)
                pair = compared(own, rows_of(groups[reference], floor) if reference else own)
                cells += [*pair] if reference and reference != method else [pair[0], "-"]
                cells.append(f"{np.mean([record[f'bins {floor}'] for record in group]):.1f}")
            elif f"mean {floor}" in group[0]:
                n_rows = sum(record["n rows"] for record in group)
                cells += [f"{sum(record[f'mean {floor}'] for record in group) / n_rows:.2f}", "-", "-"]
            else:
                cells += ["-", "-", "-"]
        edges = f"{np.mean([record['n edges'] for record in group]):.1f}" if "n edges" in group[0] else "-"
        seconds = [record["seconds"] for record in group]
        rows.append([method, *cells, edges, f"{np.mean(seconds):.2f}", f"{np.max(seconds):.2f}"])
    print(f"\n{name}, {len(rows_of(groups[OURS], 0.0))} rows, {told}")
    columns = ("density", "minus best pyAgrum", "bins")
    print_rows(("method", *columns, "no bin under 1/100", *columns[1:], "edges", "seconds", "longest"), rows)
    prototype, target, continuous = PUBLISHED.get(name, (None, None, None))
    ours = {floor: rows_of(groups[OURS], floor).mean() for floor in FLOORS}

    def peers(floor: float, score: str = "") -> str:
        method = best_peer(groups, floor, score)
        return "-" if method is None else f"{rows_of(groups[method], floor).mean():.2f}"

    reached = "-" if target is None else "yes" if ours[0.0] >= target else f"no, {ours[0.0] - target:+.2f}"
    return [
        peers(0.0),
        peers(0.0, "BIC"),
        f"{ours[0.0]:.2f}",
        *("-" if number is None else f"{number:.2f}" for number in (prototype, target)),
        reached,
        "-" if continuous is None else f"{continuous:.2f}",
        peers(0.01),
        f"{ours[0.01]:.2f}",
    ]
