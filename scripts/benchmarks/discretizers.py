"""The discretizers compared with each other and with those of other libraries.

    python scripts/benchmarks/discretizers.py port [--peer-python PATH] [--cycles 8]
    python scripts/benchmarks/discretizers.py tables [--folds 10] [--only wine] [--full]
    python scripts/benchmarks/discretizers.py resampled [--only wine] [--only 50000]
    python scripts/benchmarks/discretizers.py networks [--nets 10] [--seconds 60] [--full]
    python scripts/benchmarks/discretizers.py all

port       Auto-MPG with its published graph: `BayesianDiscretizer` and the port of the same paper in the package
           bnlearn, which runs in a process of its own for about 3 minutes. If another Python has that package, name it
           with --peer-python.
tables     Held-out density of real tables. In every fold a graph is learned once from the training rows, with bins of
           equal frequency whose number is learned too, at most 3 parents, and a fixed number of evaluations. Then each
           method cuts the training rows given that graph, and the tables are counted with one pseudo-count per row.
           Every result is printed twice: with the bins of the method, and with bins narrower than 1/100 of the range
           joined to a neighbour, since narrow bins around repeated values gain density without bound.
resampled  The same for real tables with more rows. A row is a real row whose continuous values are moved by normal
           noise with the table's covariances (Silverman's bandwidth). 10,000 other rows are held out.
networks   Random networks of 8 variables: KL over 50,000 fresh rows and held-out density of the true graph. A method
           without a deadline of its own is interrupted at --seconds and left out on larger samples of that network.

Needs the extra "peers"; libraries that are not installed are left out. Khiops takes part if --khiops-python names a
Python that has the package khiops. --full: 30 networks, and slow peers on every number of rows.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from harness.printing import mean_and_difference, print_table, with_error
from harness.real_tables import TABLES
from harness.runs import median_seconds, run_tasks
from methods.discretizer_methods import (
    LIBRARIES,
    Request,
    compile_methods,
    mean_bins,
    methods_for,
    missing_peers,
    run_elsewhere,
    run_method,
)
from numpy.typing import NDArray

from gomea_bn import BayesNetLearner, DiscretizedBayesNet
from gomea_bn.data.table import Table, read_table
from gomea_bn.discretization import BayesianDiscretizer
from gomea_bn.discretization.proposals import with_wide_bins
from gomea_bn.experiments.tables import FAMILIES, family_edges
from gomea_bn.learning.warm_up import compile_kernels
from gomea_bn.metrics.distances import kl_divergence
from gomea_bn.simulation.random_networks import random_network

Record = dict[str, Any]
Task = dict[str, Any]

SHOWN = ("auto", "wine", "housing", "iris", "breast cancer")
SIZES = (500, 5_000, 50_000)
N_VARIABLES = 8
WIDTHS = (0.0, 0.01)
"""Least widths of bins, as shares of the range."""
LEARNED = "equal frequency, counts learned"
REFERENCE = "equal frequency"
TRUE_CUTS = "true cuts"
SHARED = ("seed", "seconds", "full", "khiops_python")
"""Options of the command that every fit needs."""
PUBLISHED_CUTS = {
    "A": "15.25 17.65 20.9 25.65 28.9",
    "C": "70.5 93.5 109 159.5 259 284.5",
    "D": "71.5 99 127",
    "E": "2115 2480.5 2959.5 3657.5",
    "F": "12.35 13.75 16.05 22.85",
}
"""Inner cuts of Auto-MPG in Chen, Wheeler & Kochenderfer (2017)."""


def port(options: argparse.Namespace) -> None:
    """Print the cuts of ours and of bnlearn's port, the seconds of both and their ratio."""
    table = TABLES["auto"]()
    # the package takes classes as integers
    frame = table.frame.assign(
        **{name: table.frame[name].astype(int) for name, kind in table.kinds.items() if kind == "discrete"}
    )
    visited = [family[-1] for family in reversed(FAMILIES["auto"]) if table.kinds[family[-1]] == "continuous"]
    method = BayesianDiscretizer(order=visited, max_cycles=options.cycles, kinds=table.kinds)
    edges = family_edges(FAMILIES["auto"])
    fitted = method.fit(frame, network=edges)
    seconds = median_seconds(lambda: method.fit(frame, network=edges))
    cuts = fitted.cut_points_
    position = {name: k for k, name in enumerate(frame)}
    # a variable without parents is a number, a family is a tuple
    graph = [
        position[family] if len(family) == 1 else [position[name] for name in family]
        for family in FAMILIES["auto"]
    ]
    problem = {
        "columns": {name: frame[name].tolist() for name in frame},
        "graph": graph,
        "continuous": [position[name] for name in cuts],
        "cycles": options.cycles,
    }
    try:
        answer = run_elsewhere("bnlearn", options.peer_python, problem)
    except SystemExit as missing:
        print(missing)
        return
    rows = []
    for (name, of_ours), edges_of_bins in zip(cuts.items(), answer["edges"], strict=True):
        published = np.array(PUBLISHED_CUTS[name].split(), np.float64)
        of_port = np.array(edges_of_bins[1:-1])
        rows.append([name, _cut_text(of_ours), _same(of_ours, of_port), _same(of_ours, published)])
    heading = (
        f"Auto-MPG, {len(frame)} rows, published graph, at most {options.cycles} passes "
        f"({fitted.n_cycles_} needed)"
    )
    print_table(heading, ("column", "our cuts", "bnlearn's", "published"), rows)
    print(
        f"ours {seconds:.4f} s (median of 7 whole fits), bnlearn {answer['version']} {answer['seconds']:.1f} s: "
        f"{answer['seconds'] / seconds:,.0f}x"
    )


def _cut_text(cuts: NDArray[np.float64]) -> str:
    return " ".join(f"{cut:g}" for cut in cuts)


def _same(cuts: NDArray[np.float64], other: NDArray[np.float64]) -> str:
    """Return "the same", or the other cuts as text."""
    equal = len(cuts) == len(other) and np.allclose(cuts, other, rtol=1e-12)
    return "the same" if equal else _cut_text(other)


def tables(options: argparse.Namespace) -> None:
    """Print one table per data set."""
    _say_what_is_missing()
    for name in [name for name in SHOWN if not options.only or name in options.only]:
        tasks = [
            {"table": name, "fold": fold, "folds": options.folds, **_shared(options)}
            for fold in range(options.folds)
        ]
        records = _joined(run_tasks(one_fold, tasks, options.workers))
        print_records(records, f"{name}, all rows, {options.folds} folds, seed {options.seed}")


def one_fold(task: Task) -> list[Record]:
    """Return one record per method for one fold of one table."""
    compile_kernels()
    table = TABLES[task["table"]]()
    compile_methods(table.target is not None)
    order = np.random.default_rng(task["seed"]).permutation(len(table.frame))
    fold = np.array_split(order, task["folds"])[task["fold"]]
    test, train = table.frame.iloc[fold], table.frame.drop(index=fold.tolist())
    return compared_methods(train, test, table.kinds, table.target, task)


def resampled(options: argparse.Namespace) -> None:
    """Print one table per data set and number of rows."""
    _say_what_is_missing()
    tasks = [
        {"table": name, "n": n, **_shared(options)}
        for name in [name for name in TABLES if name in options.only] or TABLES
        for n in [n for n in SIZES if str(n) in options.only] or SIZES
    ]
    for task, records in zip(tasks, run_tasks(one_size, tasks, options.workers), strict=True):
        print_records(records, f"{task['table']}, resampled to {task['n']:,} rows, seed {task['seed']}")


def one_size(task: Task) -> list[Record]:
    """Return one record per method for one table and number of rows."""
    compile_kernels()
    table = TABLES[task["table"]]()
    compile_methods(table.target is not None)
    drawn = smooth_rows(table.frame, table.continuous, task["n"] + 10_000, task["seed"])
    train, test = drawn.iloc[: task["n"]], drawn.iloc[task["n"] :]
    return compared_methods(train, test, table.kinds, table.target, task)


def smooth_rows(frame: pd.DataFrame, continuous: list[str], n: int, seed: int) -> pd.DataFrame:
    """Return n rows of the kernel density of a table; discrete values stay as they are in the drawn rows."""
    rng = np.random.default_rng(seed)
    drawn = frame.iloc[rng.integers(0, len(frame), n)].reset_index(drop=True)
    bandwidth = (4 / ((len(continuous) + 2) * len(frame))) ** (1 / (len(continuous) + 4))
    noise = rng.multivariate_normal(np.zeros(len(continuous)), np.cov(frame[continuous].T), n, method="eigh")
    return drawn.assign(**{name: drawn[name] + bandwidth * noise[:, i] for i, name in enumerate(continuous)})


def compared_methods(
    train: pd.DataFrame, test: pd.DataFrame, kinds: dict[str, str], target: str | None, task: Task
) -> list[Record]:
    """Return one record per method: its cuts given a graph of the training rows, and the density of the test rows."""
    table = read_table(train, kinds=kinds)
    learner = BayesNetLearner(
        "equal-frequency",
        max_indegree=3,
        kinds=kinds,
        max_seconds=None,
        max_evaluations=100_000,
        n_jobs=1,
        random_state=task["seed"],
        density="bins",
    ).fit(train)
    network = learner.network_
    khiops = task["khiops_python"]
    request = Request(table, network.edges, target, task["seconds"], task["seed"], khiops)
    records = [densities(LEARNED, table, network.edges, network.cut_points, test, 0.0)]
    for name in methods_for(table, target, task["full"], khiops is not None):
        outcome = run_method(name, request)
        if outcome.cuts is None:
            records.append({"method": name, "note": outcome.note, "seconds": outcome.seconds})
        else:
            records.append(
                densities(name, table, network.edges, outcome.cuts, test, outcome.seconds, outcome.note)
            )
    return records


def densities(
    name: str, table: Table, edges: Any, cuts: Any, test: pd.DataFrame, seconds: float, note: str = ""
) -> Record:
    """Return the held-out log densities of a graph with the given cuts, for every least width of the bins."""
    record: Record = {"method": name, "seconds": seconds, "note": note}
    ranges = {c.name: (c.values.min(), c.values.max()) for c in table.columns if c.is_continuous}
    for width in WIDTHS:
        used = {
            column: with_wide_bins(of_column, ranges[column], width) for column, of_column in cuts.items()
        }
        network = DiscretizedBayesNet.from_table(table, edges, used)
        record[f"density {width}"] = network.log_density(test)
        record[f"bins {width}"] = mean_bins(used.values())
    return record


def print_records(records: list[Record], title: str) -> None:
    """Print the means over all fits of one table, method by method."""
    groups = _by_method(records)

    def density_of_rows(method: str, width: float) -> NDArray[np.float64]:
        return np.concatenate([record[f"density {width}"] for record in groups[method]])

    rows = []
    for method, group in groups.items():
        seconds = f"{np.mean([record['seconds'] for record in group]):.3f}"
        notes = sorted({record["note"] for record in group if record["note"]})
        cells: list[str] = []
        for width in WIDTHS:
            if any(f"density {width}" not in record for record in group):
                cells += ["-", "-", "-"]
                continue
            cells += mean_and_difference(density_of_rows(method, width), density_of_rows(REFERENCE, width))
            cells.append(f"{np.mean([record[f'bins {width}'] for record in group]):.1f}")
        rows.append([method, *cells, seconds if method != LEARNED else "-", "; ".join(notes)])
    n_rows = len(density_of_rows(REFERENCE, 0.0))
    columns = ("density", "minus equal frequency", "bins")
    wide = ("no bin under 1/100", "minus equal frequency", "bins")
    heading = f"{title}: held-out log density in nats per row, over {n_rows:,} rows"
    print_table(heading, ("method", *columns, *wide, "seconds", "note"), rows)


def networks(options: argparse.Namespace) -> None:
    """Print one table per number of rows."""
    _say_what_is_missing()
    sizes = [n for n in SIZES if not options.only or str(n) in options.only]
    tasks = [{"net": net, "sizes": sizes, **_shared(options)} for net in range(options.nets)]
    records = _joined(run_tasks(one_net, tasks, options.workers))
    for n in sizes:
        groups = _by_method([record for record in records if record["n"] == n])
        heading = (
            f"{N_VARIABLES} variables, {n:,} rows, {options.nets} networks, true graph, deadline "
            f"{options.seconds:g} s a fit: KL and held-out log density in nats per row"
        )
        columns = ("method", "mean KL", "median", "density", "bins", "seconds", "longest", "note")
        print_table(heading, columns, [[method, *_summary(group)] for method, group in groups.items()])


def one_net(task: Task) -> list[Record]:
    """Return one record per method and number of rows for one random network."""
    compile_methods(False)
    seed = task["net"]
    truth = random_network(N_VARIABLES, max_indegree=3, random_state=seed)
    late: set[str] = set()
    records = []
    for n in task["sizes"]:
        table = read_table(truth.sample(n, random_state=10_000 + seed))
        request = Request(table, truth.edges, None, task["seconds"], task["seed"], task["khiops_python"])
        records.append(_on_true_graph(TRUE_CUTS, truth, table, dict(truth.cut_points), seed))
        for name in methods_for(table, None, task["full"], request.khiops_python is not None):
            if name in late:
                continue
            outcome = run_method(name, request)
            timing = {"seconds": outcome.seconds, "note": outcome.note}
            if outcome.cuts is None:
                late.add(name)
                records.append({"method": name, "n": n, **timing})
            else:
                records.append({**_on_true_graph(name, truth, table, outcome.cuts, seed), **timing})
    return records


def _on_true_graph(
    name: str, truth: DiscretizedBayesNet, table: Table, cuts: dict[str, Any], seed: int
) -> Record:
    """Return the KL and the held-out density of the true graph with the given cuts, and its mean number of bins."""
    network = DiscretizedBayesNet.from_table(table, truth.edges, cuts)
    return {
        "method": name,
        "n": table.n_rows,
        "kl": kl_divergence(truth, network, random_state=20_000 + seed).mean,
        "density": network.score(truth.sample(20_000, random_state=30_000 + seed)),
        "bins": mean_bins(cuts.values()),
        "seconds": 0.0,
        "note": "",
    }


def _summary(group: list[Record]) -> list[str]:
    """Return mean with standard error and median of the KL, density, bins and seconds as text."""
    seconds = [record["seconds"] for record in group]
    finished = [record for record in group if "kl" in record]
    notes = [record["note"] for record in group if record["note"]]
    note = "; ".join(f"{text} ({notes.count(text)} of {len(group)})" for text in sorted(set(notes)))
    times = [f"{statistics.mean(seconds):.2f}", f"{max(seconds):.2f}"]
    if len(finished) < len(group):
        return ["-", "-", "-", "-", *times, note]
    kl = [record["kl"] for record in group]
    bins = np.mean([record["bins"] for record in group])
    density = np.mean([record["density"] for record in group])
    return [with_error(kl, 4), f"{np.median(kl):.4f}", f"{density:.3f}", f"{bins:.1f}", *times, note]


def _say_what_is_missing() -> None:
    for name in missing_peers():
        print(f"The methods of {name} are left out: the package {LIBRARIES[name]} is not installed.")


def _shared(options: argparse.Namespace) -> dict[str, Any]:
    return {name: getattr(options, name) for name in SHARED}


def _joined(groups: Sequence[list[Record]]) -> list[Record]:
    return [record for group in groups for record in group]


def _by_method(records: Sequence[Record]) -> dict[str, list[Record]]:
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record["method"], []).append(record)
    return groups


PARTS = {"port": port, "tables": tables, "resampled": resampled, "networks": networks}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one part or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=[*PARTS, "all"])
    parser.add_argument("--peer-python", default=sys.executable, help="a Python that has bnlearn")
    parser.add_argument("--khiops-python", help="a Python that has khiops")
    parser.add_argument(
        "--cycles", type=int, default=8, help="largest number of passes over the columns, of port"
    )
    parser.add_argument("--folds", type=int, default=10, help="number of folds of tables")
    parser.add_argument("--only", action="append", default=[], help="a table, or a number of rows")
    parser.add_argument("--nets", type=int, help="number of random networks (10; 30 with --full)")
    parser.add_argument("--seconds", type=float, default=60.0, help="deadline of every fit")
    parser.add_argument("--seed", type=int, default=1, help="seed of folds and of methods that draw")
    parser.add_argument("--workers", type=int, default=2, help="number of processes")
    parser.add_argument("--full", action="store_true", help="30 networks, and slow peers everywhere")
    options = parser.parse_args(arguments)
    # scikit-learn's k-means reads this; there is one process per core
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    options.nets = options.nets or (30 if options.full else 10)
    for part in PARTS if options.part == "all" else [options.part]:
        PARTS[part](options)


if __name__ == "__main__":
    main()
