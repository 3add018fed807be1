"""Real tables: held-out density of the same graph with every method's bins.

In every fold the graph is learned once from the training rows, with bins of equal frequency whose number is learned
too, at most 3 parents, and a fixed number of evaluations. Then each method cuts the training rows given that graph, and
the tables are counted with one pseudo-count a row. Every result is printed twice: as the method defines its bins, and
with bins narrower than 1/100 of the range joined to a neighbour, since narrow bins around repeated values gain density
without bound.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
from _bench_discretizers_methods import (
    Given,
    compile_methods,
    mean_bins,
    methods_for,
    run_method,
)
from _bench_tables import TABLES, with_levels
from _side_by_side import compared, print_rows

from gomea_bn import BayesNetLearner, DiscretizedBayesNet
from gomea_bn.data.table import Table, read_table
from gomea_bn.discretization.proposals import with_wide_bins
from gomea_bn.learning.warm_up import compile_kernels

SHOWN = ("auto-mpg", "wine", "housing", "iris", "breast cancer")
FLOORS = (0.0, 0.01)
LEARNED = "equal frequency, counts learned"
REFERENCE = "equal frequency"
PASSED_ON = ("seed", "seconds", "full", "khiops_python")
"""Options of the script that every fit needs."""


def learned_network(train: pd.DataFrame, kinds: dict[str, str], seed: int) -> tuple[Table, Any]:
    """Return the training rows as a table, and the network learned from them with bins of equal frequency."""
    table = read_table(train, kinds=kinds)
    learner = BayesNetLearner(
        "equal-frequency",
        max_indegree=3,
        kinds=kinds,
        max_seconds=None,
        max_evaluations=100_000,
        n_jobs=1,
        random_state=seed,
    ).fit(train)
    return table, learner.network_


def one_fold(task: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one record per method for one fold of one table."""
    compile_kernels()
    source, discrete, target = TABLES[task["table"]]()
    compile_methods(target is not None)
    frame = with_levels(source, discrete)
    kinds = {name: "discrete" if name in discrete else "continuous" for name in frame}
    order = np.random.default_rng(task["seed"]).permutation(len(frame))
    fold = np.array_split(order, task["folds"])[task["fold"]]
    test, train = frame.iloc[fold], frame.drop(index=fold)
    table, network = learned_network(train, kinds, task["seed"])
    return compared_methods(table, network, test, target, task)


def compared_methods(
    table: Table, network: DiscretizedBayesNet, test: pd.DataFrame, target: str | None, task: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return one record per method: its cuts given the network's graph, and the density of the test rows."""
    khiops = task["khiops_python"]
    given = Given(table, network.edges, target, task["seconds"], task["seed"], khiops)
    records = [densities(LEARNED, table, network.edges, network.cut_points, test, 0.0)]
    for name in methods_for(table, target, task["full"], khiops is not None):
        outcome = run_method(name, given)
        if outcome.cuts is None:
            records.append({"method": name, "note": outcome.note, "seconds": outcome.seconds})
        else:
            records.append(
                densities(name, table, network.edges, outcome.cuts, test, outcome.seconds, outcome.note)
            )
    return records


def densities(
    name: str, table: Table, edges: Any, cuts: Any, test: pd.DataFrame, seconds: float, note: str = ""
) -> dict[str, Any]:
    """Return the held-out log densities of a graph with the given cuts, as they are and with wide bins only."""
    record: dict[str, Any] = {"method": name, "seconds": seconds, "note": note}
    ranges = {c.name: (c.values.min(), c.values.max()) for c in table.columns if c.is_continuous}
    for floor in FLOORS:
        used = {column: with_wide_bins(own, ranges[column], floor) for column, own in cuts.items()}
        network = DiscretizedBayesNet.from_table(table, edges, used)
        record[f"density {floor}"] = network.log_density(test)
        record[f"bins {floor}"] = mean_bins(used.values())
    return record


def main(options: argparse.Namespace) -> None:
    """Print one table per data set."""
    chosen = [name for name in SHOWN if not options.only or name in options.only]
    with ProcessPoolExecutor(options.workers) as pool:
        for name in chosen:
            tasks = [
                {
                    "table": name,
                    "fold": fold,
                    **{key: getattr(options, key) for key in ("folds", *PASSED_ON)},
                }
                for fold in range(options.folds)
            ]
            records = [r for found in pool.map(one_fold, tasks) for r in found]
            print_records(records, f"{name}, all rows, {options.folds} folds, seed {options.seed}")


def print_records(records: list[dict[str, Any]], title: str) -> None:
    """Print what all fits of one table gave."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        groups.setdefault(record["method"], []).append(record)

    def rows_of(method: str, floor: float) -> np.ndarray:
        return np.concatenate([record[f"density {floor}"] for record in groups[method]])

    rows = []
    for method, group in groups.items():
        seconds = f"{np.mean([record['seconds'] for record in group]):.3f}"
        notes = sorted({record["note"] for record in group if record["note"]})
        cells: list[str] = []
        for floor in FLOORS:
            if any(f"density {floor}" not in record for record in group):
                cells += ["-", "-", "-"]
                continue
            cells += compared(rows_of(method, floor), rows_of(REFERENCE, floor))
            cells.append(f"{np.mean([record[f'bins {floor}'] for record in group]):.1f}")
        rows.append([method, *cells, seconds if method != LEARNED else "-", "; ".join(notes)])
    n_rows = len(rows_of(REFERENCE, 0.0))
    print(f"\n{title}: held-out log density in nats a row, over {n_rows:,} rows")
    columns = ("density", "minus equal frequency", "bins")
    wide = ("no bin under 1/100", "minus equal frequency", "bins")
    print_rows(("method", *columns, *wide, "seconds", "note"), rows)
