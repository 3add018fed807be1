"""The tables of Chen, Wheeler & Kochenderfer (2017): held-out log density in original units, nats a row, ten folds.

The paper's figures are beside ours and beside our `LDBN`, its method with the structure learned too: once with our
smoothing and once with the paper's, one more than the count in every cell. Folds are its own kind: a random permutation
cut into pieces of n / 10 rows, of which the last takes the rest. Values outside the training range are in the end bins.
"""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from _bench_optimal_learner import make_learner, named_options, smoothing, warm_up
from _bench_optimal_tables import FLOORS, OURS, Record, Task, held_out, kinds_of, of_ours, rows_of, wide
from _bench_runs import run_all
from _bench_tables import TABLES, with_levels
from _side_by_side import compared, print_rows

from gomea_bn import DiscretizedBayesNet
from gomea_bn.data.table import Table
from gomea_bn.discretization import LDBN

PUBLISHED = {"auto-mpg": (-26.04, 0.3), "wine": (-19.94, 0.5), "housing": (-31.40, 1.0)}
"""The paper's figure, and by how much ours is to be higher."""
THEIRS, AS_PRINTED = "LDBN", "LDBN, the paper's smoothing"


def fold_rows(n_rows: int, folds: int, seed: int) -> list[np.ndarray]:
    """Return the test rows of every fold."""
    order = np.random.default_rng(seed).permutation(n_rows)
    size = round(n_rows / folds)
    return np.split(order, [size * k for k in range(1, folds)])


def one_fold(task: Task) -> list[Record]:
    """Return one record per method for one fold of one table."""
    source, discrete, _ = TABLES[task["table"]]()
    frame, kinds = with_levels(source, discrete), kinds_of(source, discrete)
    fold = fold_rows(len(frame), task["folds"], task["fold seed"])[task["fold"]]
    test, train = frame.iloc[fold], frame.drop(index=frame.index[fold])
    fixed = {"kinds": kinds, "n_jobs": 1, "random_state": 0, "max_seconds": task["seconds"]}
    if task["method"] == OURS:
        warm_up(task["options"])
        return [of_ours(task["options"], fixed, train, test)]
    began = perf_counter()
    theirs = LDBN(max_seconds=task["seconds"], random_state=0, kinds=kinds).fit(train)
    seconds = perf_counter() - began
    table, edges, cuts = theirs.table_, theirs.edges_, theirs.cut_points_
    counted = smoothing(make_learner(task["options"], **fixed))
    printed: Record = {"method": AS_PRINTED, "n edges": len(edges), "seconds": seconds}
    for floor in FLOORS:
        network = one_more_per_cell(table, edges, wide(cuts, table, floor))
        printed[f"density {floor}"] = network.log_density(test)
    return [{**held_out(THEIRS, table, edges, cuts, counted, test), "seconds": seconds}, printed]


def one_more_per_cell(table: Table, edges: Any, cuts: Any) -> DiscretizedBayesNet:
    """Return the network with one pseudo-count in every cell, so that a row has as many as its variable has values."""
    network = DiscretizedBayesNet.from_table(table, edges, cuts)
    codes = network.discretize(table.to_frame())
    tables = {}
    for name in network.names:
        counts = np.ones_like(network.tables[name])
        np.add.at(counts, tuple(codes[column].to_numpy() for column in (*network.parents(name), name)), 1.0)
        tables[name] = counts / counts.sum(axis=-1, keepdims=True)
    return DiscretizedBayesNet(
        network.names,
        network.edges,
        cut_points=network.cut_points,
        support=network.support,
        levels=network.levels,
        tables=tables,
    )


def main(options: argparse.Namespace) -> None:
    """Print one table: every method on every data set."""
    chosen = {"discretizer": options.discretizer, **named_options(options.option)}
    names = options.tables or list(PUBLISHED)
    tasks = [
        {
            "table": name,
            "fold": fold,
            "folds": options.folds,
            "fold seed": options.fold_seed,
            "method": method,
            "seconds": options.seconds,
            "options": chosen,
        }
        for name in names
        for method in (OURS, THEIRS)
        for fold in range(options.folds)
    ]
    warm_up(chosen)
    LDBN(n_restarts=1).fit(pd.DataFrame({"a": np.arange(30.0) % 7, "b": np.arange(30.0) % 11}))
    found: dict[tuple[str, str], list[tuple[int, Record]]] = {}
    for task, records in run_all(one_fold, tasks, options.workers):
        for record in records:
            found.setdefault((task["table"], record["method"]), []).append((task["fold"], record))
    rows = []
    for name in names:
        paper, margin = PUBLISHED[name]
        groups = {
            method: [record for _, record in sorted(found[name, method], key=lambda pair: pair[0])]
            for method in (OURS, THEIRS, AS_PRINTED)
        }
        for method, group in groups.items():
            own = {floor: rows_of(group, floor) for floor in FLOORS}
            above = own[0.0].mean() - paper
            cells: list[str] = []
            for floor in FLOORS:
                pair = compared(own[floor], rows_of(groups[THEIRS], floor))
                cells += [pair[0], "-" if method == THEIRS else pair[1]]
            reached = "-" if method != OURS else "yes" if above >= margin else f"no, {above - margin:+.2f}"
            numbers = (f"{paper:.2f}", f"{paper + margin:.2f}")
            seconds = f"{np.mean([record['seconds'] for record in group]):.2f}"
            rows.append([name, method, *numbers, *cells[:2], reached, *cells[2:], seconds])
    told = ", ".join([options.discretizer, *options.option])
    print(
        f"\nHeld-out log density, nats a row, original units, {options.folds} folds of seed {options.fold_seed}, "
        f"{options.seconds:g} s a fit, ours: {told}"
    )
    columns = ("method", "Chen et al.", "at least", "density", "minus LDBN", "reached")
    print_rows(("table", *columns, "no bin under 1/100", "minus LDBN", "seconds"), rows)
