"""The discretizers compared with each other and with those of other libraries.

`discretizers-tables`: in every fold a graph is learned once from the training rows, with bins of equal frequency whose
number is learned too, at most 3 parents, and a fixed number of evaluations. Then each method cuts the training rows
given that graph, and the tables are counted with one pseudo-count per row. Every result is given twice: with the bins
of the method, and with bins narrower than 1/100 of the range joined to a neighbour, since narrow bins around repeated
values gain density without bound.

`discretizers-networks`: KL over 50,000 fresh rows and held-out density of the true graph. A method without a deadline
of its own is interrupted at --seconds and left out on larger samples of that network.

Libraries of the extra "peers" that are not installed are left out.
"""

import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from gomea_bn import BayesNetLearner, DiscretizedBayesNet
from gomea_bn.data.table import Table, read_table
from gomea_bn.learning.warm_up import compile_kernels
from gomea_bn.metrics.distances import kl_divergence
from gomea_bn.simulation.random_networks import random_network
from lab.methods.discretizer_methods import (
    LIBRARIES,
    Request,
    compile_methods,
    mean_bins,
    methods_for,
    missing_peers,
    run_method,
)
from lab.peers.held_out import WIDTHS, densities_of, density_cells, held_out
from lab.runner.experiment import Experiment, Option, Options, Row, Task
from lab.runner.printing import with_error
from lab.runner.report import Record, Report, Sheet, by_method, group_by, measured_records, sheet
from lab.samples.real_tables import TABLES

SHOWN = ("auto", "wine", "housing", "iris", "breast cancer")
SIZES = (500, 5_000, 50_000)
N_VARIABLES = 8
LEARNED = "equal frequency, counts learned"
REFERENCE = "equal frequency"
TRUE_CUTS = "true cuts"
SHARED = ("seed", "seconds", "full")
"""Options of the command that every fit needs."""


def tables(options: Options) -> list[Task]:
    """Return a task per data set and fold."""
    return [
        {"table": name, "fold": fold, "folds": options.folds, **_shared(options)}
        for name in options.tables
        for fold in range(options.folds)
    ]


def tables_report(options: Options, rows: Sequence[Row]) -> Report:
    """Return one table per data set."""
    setting = f"all rows, {options.folds} folds, seed {options.seed}"
    sheets = [
        densities_sheet(measured_records(group), f"{name}, {setting}")
        for (name,), group in group_by(rows, "table").items()
    ]
    return Report(tuple(sheets), notes=_missing())


def one_fold(task: Task) -> dict[str, list[Record]]:
    """Return one record per method for one fold of one table."""
    compile_kernels()
    table = TABLES[task["table"]]()
    compile_methods(table.target is not None)
    order = np.random.default_rng(task["seed"]).permutation(len(table.frame))
    fold = np.array_split(order, task["folds"])[task["fold"]]
    test, train = table.frame.iloc[fold], table.frame.drop(index=fold.tolist())
    return {"records": compared_methods(train, test, table.kinds, table.target, task)}


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
    request = Request(table, network.edges, target, task["seconds"], task["seed"])
    first = held_out(LEARNED, table, network.edges, network.cut_points, {}, test)
    records = [{**first, "seconds": 0.0, "note": ""}]
    for name in methods_for(table, target, task["full"]):
        outcome = run_method(name, request)
        record: Record = {"method": name}
        if outcome.cuts is not None:
            record = held_out(name, table, network.edges, outcome.cuts, {}, test)
        records.append({**record, "seconds": outcome.seconds, "note": outcome.note})
    return records


def densities_sheet(records: list[Record], title: str) -> Sheet:
    """Return the means over all fits of one table, method by method."""
    groups = by_method(records)
    rows = []
    for method, group in groups.items():
        seconds = f"{np.mean([record['seconds'] for record in group]):.3f}"
        notes = sorted({record["note"] for record in group if record["note"]})
        cells: list[str] = []
        for width in WIDTHS:
            if any(f"density {width}" not in record for record in group):
                cells += ["-", "-", "-"]
                continue
            cells += density_cells(group, width, groups[REFERENCE])
        rows.append([method, *cells, seconds if method != LEARNED else "-", "; ".join(notes)])
    n_rows = len(densities_of(groups[REFERENCE], 0.0))
    columns = ("density", "minus equal frequency", "bins")
    wide = ("no bin under 1/100", "minus equal frequency", "bins")
    heading = f"{title}: held-out log density in nats per row, over {n_rows:,} rows"
    return sheet(heading, ("method", *columns, *wide, "seconds", "note"), rows)


def networks(options: Options) -> list[Task]:
    """Return a task per random network."""
    nets = options.nets or (30 if options.full else 10)
    return [{"net": net, "sizes": options.rows, **_shared(options)} for net in range(nets)]


def networks_report(options: Options, rows: Sequence[Row]) -> Report:
    """Return one table per number of rows."""
    found = measured_records(rows)
    sheets = []
    for n in options.rows:
        groups = by_method([record for record in found if record["n"] == n])
        heading = (
            f"{N_VARIABLES} variables, {n:,} rows, {len(rows)} networks, true graph, deadline "
            f"{options.seconds:g} s a fit: KL and held-out log density in nats per row"
        )
        columns = ("method", "mean KL", "median", "density", "bins", "seconds", "longest", "note")
        sheets.append(
            sheet(heading, columns, [[method, *_summary(group)] for method, group in groups.items()])
        )
    return Report(tuple(sheets), notes=_missing())


def one_net(task: Task) -> dict[str, list[Record]]:
    """Return one record per method and number of rows for one random network."""
    compile_methods(False)
    seed = task["net"]
    truth = random_network(N_VARIABLES, max_indegree=3, random_state=seed)
    late: set[str] = set()
    records = []
    for n in task["sizes"]:
        table = read_table(truth.sample(n, random_state=10_000 + seed))
        request = Request(table, truth.edges, None, task["seconds"], task["seed"])
        records.append(_on_true_graph(TRUE_CUTS, truth, table, dict(truth.cut_points), seed))
        for name in methods_for(table, None, task["full"]):
            if name in late:
                continue
            outcome = run_method(name, request)
            timing = {"seconds": outcome.seconds, "note": outcome.note}
            if outcome.cuts is None:
                late.add(name)
                records.append({"method": name, "n": n, **timing})
            else:
                records.append({**_on_true_graph(name, truth, table, outcome.cuts, seed), **timing})
    return {"records": records}


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


def _missing() -> tuple[str, ...]:
    return tuple(
        f"The methods of {name} are left out: the package {LIBRARIES[name]} is not installed."
        for name in missing_peers()
    )


def _shared(options: Options) -> dict[str, Any]:
    return {name: getattr(options, name) for name in SHARED}


_SHARED = {
    "seconds": Option(60.0, "Deadline of every fit."),
    "seed": Option(1, "Seed of folds and of methods that draw."),
    "full": Option(False, "30 networks, and slow peers on every number of rows."),
}

EXPERIMENTS = (
    Experiment(
        name="discretizers-tables",
        title="Held-out density of real tables, discretized given a graph",
        source="Methods of ours and of other libraries.",
        tasks=tables,
        measure=one_fold,
        report=tables_report,
        options={
            "tables": Option(SHOWN, "Tables.", choices=sorted(TABLES)),
            "folds": Option(10, "Number of folds.", least=2),
            **_SHARED,
        },
    ),
    Experiment(
        name="discretizers-networks",
        title="Divergences of the true graph with the cuts of all methods",
        source="Random networks of 8 variables.",
        tasks=networks,
        measure=one_net,
        report=networks_report,
        options={
            "nets": Option(None, "Number of random networks (10; 30 with --full).", int, least=1),
            "rows": Option(SIZES, "Numbers of rows.", least=1),
            **_SHARED,
        },
    ),
)
