"""Held-out density of discretized tables, with the graph given or learned: Chen, Wheeler & Kochenderfer (2017)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn.data.table import read_table
from gomea_bn.discretization.bayesian.bayesian import LDBN, BayesianDiscretizer
from gomea_bn.discretization.mdl.mdl import MDLDiscretizer, MDLNetwork
from gomea_bn.learning.cuts.refinement import refine_boundaries
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.tables import family_counts, table_of_counts
from lab.published.algorithms import compile_search_and_refinement, learn, learning_seed, wide_cuts
from lab.published.tables import FAMILIES, ORDERS, TABLES, family_edges, published_table
from lab.runner.experiment import Experiment, Measured, Plan, Row, Task
from lab.runner.report import (
    Report,
    Text,
    group_by,
    mean_text,
    median_text,
    nested,
    rank_tests,
    summary_sheet,
)
from lab.runner.runs import timed
from lab.runner.statistics import Claim, number, summarise

METHODS = ("BD", "MDL", "MDL-published", "score", "coupled", "coupled-MDL", "EF", "EF-AIC", "optimal")
"""With the published graph: BD, MDL, the published code's MDL, cuts by the score. With a learned graph: coupled with
K2, coupled with MDL, ours."""
OWN_SMOOTHING = ("LDBN", "optimal-own")
"""Methods with the smoothing of our learner's default: LDBN, which learns the order of the variables too, and ours.
They are run only if they are asked for."""
FLOORS = ("0", "0.01")
PAPER = {
    ("auto", "BD"): -26.04,
    ("auto", "MDL-published"): -30.40,
    ("auto", "coupled"): -25.94,
    ("auto", "coupled-MDL"): -26.83,
    ("wine", "BD"): -19.94,
    ("wine", "MDL-published"): -23.60,
    ("housing", "BD"): -31.40,
    ("housing", "MDL-published"): -43.20,
    ("iris", "BD"): -2.25,
    ("iris", "MDL-published"): -2.50,
}
"""Mean log density of a row over 10 folds. Iris without the term of the class, ln 3, which ours has."""
COMPARED_WITH = {
    "MDL": "MDL-published",
    "score": "BD",
    "EF": "coupled",
    "EF-AIC": "coupled",
    "optimal": "coupled",
}
"""Published method with which a method without a published result is compared."""
TOLERANCE = 0.15
"""Distance by which the mean over ten folds moves with their order."""
NOTE = (
    "Tables of a fold's network count one more row per cell, densities are in the tables' units, values outside the "
    'range of the training rows count in the end bins. "at least 1/100": bins narrower than that share of the range '
    "join a neighbour, since narrow bins around repeated values gain density without bound. The published MDL counts "
    "the distinct values of raw columns in the price of a bin (MDL-published); MDL is the corrected "
    "one, also in coupled-MDL, which learns the graph too."
)


def tasks(plan: Plan) -> list[Task]:
    """Return one task per table, method, order of the rows and fold; `plan.sizes` are numbers of folds."""
    return [
        {
            "table": table,
            "method": method,
            "folds": folds,
            "net": plan.seed + net,
            "fold": fold,
            **plan.limits,
        }
        for table in plan.variants
        for method in plan.algorithms
        for folds in plan.sizes
        for net in range(plan.nets)
        for fold in range(folds)
    ]


def measure(task: Task) -> Measured:
    """Return the summed log density of one fold's rows under a method's network of all other rows."""
    frame, kinds = published_table(task["table"])
    order = np.random.default_rng(task["net"]).permutation(len(frame))
    size = round(len(frame) / task["folds"])
    stop = None if task["fold"] == task["folds"] - 1 else (task["fold"] + 1) * size
    held_out = order[task["fold"] * size : stop]
    train, test = frame.drop(index=held_out.tolist()), frame.iloc[held_out]
    if task["method"] in OWN_SMOOTHING:
        networks, seconds = timed(_smoothed_networks, task, train, kinds)
    else:
        (edges, cuts), seconds = timed(_fitted, task, train, kinds)
        networks = {floor: laplace_network(train, kinds, edges, cuts, float(floor)) for floor in FLOORS}
    bins = [len(cuts) + 1 for cuts in networks[FLOORS[0]].cut_points.values()]
    values: dict[str, Any] = {
        "n": len(test),
        "density": {floor: float(network.log_density(test).sum()) for floor, network in networks.items()},
        "bins": sum(bins) / len(bins),
    }
    return Measured(values, {"fit": seconds})


def _smoothed_networks(
    task: Task, train: pd.DataFrame, kinds: dict[str, str]
) -> dict[str, DiscretizedBayesNet]:
    """Return the networks of a method of `OWN_SMOOTHING` by least width; ours learns again for each width."""
    if task["method"] == "optimal-own":
        widths = {floor: {"min_width": float(floor)} if float(floor) else {} for floor in FLOORS}
        return {
            floor: learn("optimal", train, task, task["net"], kinds=kinds, **of_floor).network
            for floor, of_floor in widths.items()
        }
    coupled = LDBN(max_seconds=task["seconds"], random_state=learning_seed(task["net"]), kinds=kinds).fit(
        train
    )
    return {
        floor: DiscretizedBayesNet.from_table(
            coupled.table_,
            coupled.edges_,
            wide_cuts(coupled.cut_points_, coupled.table_, float(floor)),
            pseudo_count="auto",
        )
        for floor in FLOORS
    }


def _fitted(
    task: Task, train: pd.DataFrame, kinds: dict[str, str]
) -> tuple[list[tuple[str, str]], dict[str, NDArray[np.float64]]]:
    """Return the edges and cuts of one method."""
    table, method, seconds = task["table"], task["method"], task["seconds"]
    edges = family_edges(FAMILIES[table])
    if method == "coupled":
        order, most, cycles = ORDERS[table]
        coupled = LDBN(
            order=list(order), max_indegree=most, max_cycles=cycles, kinds=kinds, max_seconds=seconds
        ).fit(train)
        return coupled.edges_, coupled.cut_points_
    if method == "coupled-MDL":
        both = MDLNetwork(kinds=kinds, max_indegree=ORDERS[table][1], max_seconds=seconds).fit(train)
        return both.network_.edges, both.cut_points_
    if method in ("EF", "EF-AIC", "optimal"):
        network = learn(method, train, task, task["net"], kinds=kinds, max_indegree=ORDERS[table][1]).network
        return network.edges, dict(network.cut_points)
    method_of_cuts: Any
    if method in ("BD", "score"):
        visited = [family[-1] for family in reversed(FAMILIES[table]) if kinds[family[-1]] == "continuous"]
        method_of_cuts = BayesianDiscretizer(order=visited, kinds=kinds, max_seconds=seconds)
    else:
        variant = "published" if method == "MDL-published" else "corrected"
        method_of_cuts = MDLDiscretizer(variant=variant, kinds=kinds, max_seconds=seconds)
    method_of_cuts.fit(train, network=edges)
    if method != "score":
        return edges, method_of_cuts.cut_points_
    start = DiscretizedBayesNet.from_table(method_of_cuts.table_, edges, method_of_cuts.cut_points_)
    refined = refine_boundaries(start, method_of_cuts.table_, "dp", "free", max_bins=15, max_seconds=seconds)
    return edges, dict(refined.network.cut_points)


def laplace_network(
    train: pd.DataFrame,
    kinds: dict[str, str],
    edges: Sequence[tuple[str, str]],
    cuts: dict[str, NDArray[np.float64]],
    least_width: float,
) -> DiscretizedBayesNet:
    """Return the network of a graph and bins whose tables have (count + 1) / (total + values of the variable)."""
    table = read_table(train, kinds=kinds)
    plain = DiscretizedBayesNet.from_table(table, edges, wide_cuts(cuts, table, least_width))
    names = list(plain.names)
    codes = [column.to_numpy(np.int32) for _, column in plain.discretize(train).items()]
    cards = [plain.cardinality(name) for name in names]
    tables = {
        name: table_of_counts(
            family_counts(codes, [names.index(p) for p in plain.parents(name)], v, cards, name),
            float(cards[v]),
        )
        for v, name in enumerate(names)
    }
    return DiscretizedBayesNet(
        names, edges, cut_points=plain.cut_points, support=plain.support, levels=plain.levels, tables=tables
    )


def mean_densities(rows: Sequence[Row], floor: str) -> dict[tuple[str, str], list[float]]:
    """Return by table and method the mean log density of a row, one value per order of the rows.

    An order without all of its folds gives no value.
    """
    densities: dict[tuple[str, str], list[float]] = {}
    for (table, method, folds, _), group in group_by(rows, "table", "method", "folds", "net").items():
        if len(group) == folds:
            total = sum(row["measured"]["density"][floor] for row in group)
            n_rows = sum(row["measured"]["n"] for row in group)
            densities.setdefault((table, method), []).append(total / n_rows)
    return densities


def report(plan: Plan, rows: Sequence[Row]) -> Report:
    """Return held-out densities by table and method, with the bins of the method and without narrow bins."""
    densities, wide = (mean_densities(rows, floor) for floor in FLOORS)
    cells = group_by(rows, "table", "method")
    more_columns: dict[str, Text] = {
        "at least 1/100": lambda key: summarise(wide[key]).spread,
        "paper": lambda key: number(PAPER[key]) if key in PAPER else "-",
        "bins": mean_text(cells, "bins"),
        "median s": median_text(cells, "fit", "seconds"),
    }
    heading = "Log density of held-out rows, nats per row"
    sheets = (
        summary_sheet(heading, ("table", "method"), densities, more_columns),
        rank_tests("Pairs of methods", "table", nested(densities)),
    )
    return Report(sheets, (), tuple(_claims(densities, plan.sizes)), (NOTE,))


def _claims(densities: dict[tuple[str, str], list[float]], folds: Sequence[int]) -> list[Claim]:
    claims, of_folds = [], " and ".join(map(str, folds))
    for (table, column), paper in PAPER.items():
        compared = [m for m in METHODS if m == column or COMPARED_WITH.get(m) == column]
        for method in compared:
            ours = densities.get((table, method), [])
            shift = np.log(3.0) if table == "iris" else 0.0
            setting = method + (", without the class's term" if shift else "")
            if ours or method == column:
                claims.append(
                    Claim(
                        f"log density, {table}, {column}",
                        f"{setting}, {len(ours)} orders of rows, {of_folds} folds",
                        paper,
                        tuple(density + shift for density in ours),
                        "higher",
                        tolerance=TOLERANCE,
                        same=method == column != "coupled-MDL",
                    )
                )
    return claims


EXPERIMENTS = (
    Experiment(
        name="chen",
        title="Bayesian discretization of tables",
        source="Chen, Wheeler & Kochenderfer, Learning discrete Bayesian networks from continuous data (JAIR 2017).",
        plan=Plan(5, (10,), METHODS, tuple(TABLES), 2.0),
        full=Plan(10, (10,), METHODS, tuple(TABLES), 60.0),
        more_algorithms=OWN_SMOOTHING,
        tasks=tasks,
        measure=measure,
        report=report,
        least_size=2,
        prepare=compile_search_and_refinement,
    ),
)
