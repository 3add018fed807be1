"""Values split into several and joined again by searches for thresholds: Corcoran, Tran & Levine (2014)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from gomea_bn.discretization.mdl.mdl import MDLDiscretizer
from lab.runner.experiment import Experiment, Measured, Plan, Row, Task
from lab.runner.report import (
    Figure,
    Panel,
    Report,
    by_net,
    figures_of,
    group_by,
    mean_text,
    median_text,
    nested,
    rank_tests,
    summary_sheet,
    values_of,
)
from lab.runner.runs import timed
from lab.runner.statistics import Finding, is_lower, number, summarise

SEARCHES = ("single-threshold", "merge", "split", "exact")
PUBLISHED = SEARCHES[0]
GRAPHS = {
    "chain": (("A", "B"), ("B", "C")),
    "fork": (("B", "A"), ("B", "C")),
    "collider": (("A", "B"), ("C", "B")),
}
"""The three kinds of connected graphs with three nodes and no triangle; every node has three values."""
N_VALUES, N_FINE = 3, 5
SIZES = (250, 1_000, 4_000, 16_000, 64_000)
NOTE = (
    "Every value of a three-node network is drawn as one of five neighbouring values; a search that joins them again "
    "has two thresholds at known positions. All searches begin with all values apart. Recovered: the share of the "
    "three columns with exactly these thresholds. Ours are compared with the claim of the publication: with many "
    "rows the single-threshold rule recovers every column."
)


def tasks(plan: Plan) -> list[Task]:
    """Return one task per graph, number of rows, sample and search."""
    return [
        {"graph": graph, "rows": size, "net": plan.seed + net, "search": search, "seconds": plan.seconds}
        for graph in plan.variants
        for size in plan.sizes
        for net in range(plan.nets)
        for search in plan.algorithms
    ]


def exploded(graph: str, n_rows: int, seed: int) -> pd.DataFrame:
    """Return rows of a random three-node network with every value v replaced by one of v f, ..., v f + f - 1, f = 5.

    Table rows are Dirichlet(1/2), so that neighbouring values differ.
    """
    generator = np.random.default_rng(seed)
    parents_of = {name: [p for p, c in GRAPHS[graph] if c == name] for name in "ABC"}
    values: dict[str, np.ndarray] = {}
    while len(values) < len(parents_of):
        for name, parents in parents_of.items():
            if name in values or not all(parent in values for parent in parents):
                continue
            table = generator.dirichlet(np.full(N_VALUES, 0.5), size=N_VALUES ** len(parents))
            row = np.zeros(n_rows, np.int64)
            for parent in parents:
                row = row * N_VALUES + values[parent]
            steps = np.cumsum(table, axis=1)[row, :-1]
            values[name] = (generator.random(n_rows)[:, None] >= steps).sum(axis=1)
    return pd.DataFrame({n: v * N_FINE + generator.integers(0, N_FINE, n_rows) for n, v in values.items()})


def measure(task: Task) -> Measured:
    """Return the share of columns that one search recovers, its number of thresholds, and the description length."""
    frame = exploded(task["graph"], task["rows"], task["net"])
    edges = list(GRAPHS[task["graph"]])
    kinds = dict.fromkeys("ABC", "continuous")
    method = MDLDiscretizer(
        task["search"], kinds=kinds, start_bins=N_VALUES * N_FINE, max_seconds=task["seconds"]
    )
    _, seconds = timed(method.fit, frame, network=edges)
    true_thresholds = [N_FINE * k - 0.5 for k in range(1, N_VALUES)]
    right = [cuts.tolist() == true_thresholds for cuts in method.cut_points_.values()]
    thresholds = sum(len(cuts) for cuts in method.cut_points_.values())
    length = method.description_length_.total / task["rows"]
    values = {"recovered": sum(right) / len(right), "thresholds": thresholds, "length": length}
    return Measured(values, {"fit": seconds})


def report(_plan: Plan, rows: Sequence[Row]) -> Report:
    """Return recovery and description length by graph, rows and search."""
    sheets, panels, findings = [], [], []
    for (graph,), group in group_by(rows, "graph").items():
        cells = group_by(group, "rows", "search")
        recovered = {key: values_of(cell, "recovered") for key, cell in cells.items()}
        more_columns = {
            "nats per row": mean_text(cells, "length"),
            "median s": median_text(cells, "fit", "seconds"),
        }
        sheets.append(
            summary_sheet(f"Recovered columns, {graph}", ("rows", "search"), recovered, more_columns)
        )
        sheets.append(rank_tests(f"Recovered columns, pairs of searches, {graph}", "rows", nested(recovered)))
        panels.append(Panel(graph, "rows", "recovered columns", figures_of(recovered), log_x=True))
        largest = max(size for size, _ in recovered)
        if (largest, PUBLISHED) in recovered:
            shares = recovered[largest, PUBLISHED]
            published, exact = (
                by_net(cells.get((largest, name), ()), "recovered") for name in (PUBLISHED, "exact")
            )
            n_all, reason = shares.count(1.0), ""
            # the rule approaches the exact minimum
            if of_exact := recovered.get((largest, "exact")):
                mean = number(summarise(of_exact).mean)
                reason = f"the exact minimum of the same description length recovers {mean}"
            findings.append(
                Finding(
                    f"{graph}: share of columns recovered",
                    f"{PUBLISHED}, {largest} rows",
                    "1 with many rows",
                    f"{number(summarise(shares).mean)}, all three in {n_all} of {len(shares)} samples",
                    summarise(shares).median == 1.0 and not is_lower(published, exact),
                    reason=reason,
                )
            )
    figure = Figure("recovery", "Share of columns recovered: medians and quartiles", tuple(panels))
    return Report(tuple(sheets), (figure,), tuple(findings), (NOTE,))


EXPERIMENTS = (
    Experiment(
        name="topdown",
        title="Exploded data, and three nodes",
        source="Corcoran, Tran & Levine, top-down discretization by minimum description length (2014).",
        plan=Plan(10, (1_000, 4_000, 16_000, 64_000), SEARCHES, tuple(GRAPHS), 10.0),
        full=Plan(30, SIZES, SEARCHES, tuple(GRAPHS), 60.0),
        tasks=tasks,
        measure=measure,
        report=report,
        least_size=10,
    ),
)
