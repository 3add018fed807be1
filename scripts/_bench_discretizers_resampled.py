"""Real tables made larger: held-out density of the same graph with every method's bins, at three numbers of rows.

A row is a real row whose continuous values have moved by normal noise, of the same law for all rows (Silverman's
bandwidth, the table's covariances): a density without steps, with the table's dependences, from which any number of
rows can be drawn. Graph, cuts and tables come from n rows, as in `tables`; 10,000 others are held out.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
from _bench_discretizers_methods import compile_methods
from _bench_discretizers_tables import (
    PASSED_ON,
    TABLES,
    compared_methods,
    learned_network,
    print_records,
    with_levels,
)

from gomea_bn.learning.warm_up import compile_kernels

SIZES = (500, 5_000, 50_000)
N_HELD_OUT = 10_000


def smooth_rows(frame: pd.DataFrame, discrete: list[str], n: int, seed: int) -> pd.DataFrame:
    """Return n rows of the kernel density of a table, its discrete columns as they are in the drawn rows."""
    rng = np.random.default_rng(seed)
    drawn = frame.iloc[rng.integers(0, len(frame), n)].reset_index(drop=True)
    moving = [name for name in frame if name not in discrete]
    bandwidth = (4 / ((len(moving) + 2) * len(frame))) ** (1 / (len(moving) + 4))
    noise = rng.multivariate_normal(np.zeros(len(moving)), np.cov(frame[moving].T), n, method="eigh")
    return drawn.assign(**{name: drawn[name] + bandwidth * noise[:, i] for i, name in enumerate(moving)})


def one_size(task: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one record per method for one table and number of rows."""
    compile_kernels()
    source, discrete, target = TABLES[task["table"]]()
    compile_methods(target is not None)
    frame = with_levels(source, discrete)
    kinds = {name: "discrete" if name in discrete else "continuous" for name in frame}
    drawn = smooth_rows(frame, discrete, task["n"] + N_HELD_OUT, task["seed"])
    train, test = drawn.iloc[: task["n"]], drawn.iloc[task["n"] :]
    table, network = learned_network(train, kinds, task["seed"])
    return compared_methods(table, network, test, target, task)


def main(options: argparse.Namespace) -> None:
    """Print one table per data set and number of rows."""
    numbers = [n for n in SIZES if str(n) in options.only] or list(SIZES)
    tasks = [
        {"table": name, "n": n, **{key: getattr(options, key) for key in PASSED_ON}}
        for name in [name for name in TABLES if name in options.only] or TABLES
        for n in numbers
    ]
    with ProcessPoolExecutor(options.workers) as pool:
        for task, records in zip(tasks, pool.map(one_size, tasks), strict=True):
            print_records(records, f"{task['table']}, resampled to {task['n']:,} rows, seed {task['seed']}")
