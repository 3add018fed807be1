"""Level and power of the test of a graph, `gomea_bn.certainty.test_graph`.

Each table is drawn from a random network of its own. "true" tests the graph of the network, "one edge less" that graph
without the edge whose removal costs most in the network, on the first tables alone. Rejections are at level .05, and
found edges are those at a false-discovery rate of .05.
"""

from typing import Any

import numpy as np
import pandas as pd

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, ParetoBayesNetLearner
from gomea_bn.certainty import test_graph
from gomea_bn.simulation.random_networks import random_network
from lab.runner.experiment import Option, Options, tabulated
from lab.runner.report import Sheet, sheet

LEVEL = 0.05
ROADS = ("default", "gaps", "many rows", "front")
SHARE_OF_GAPS = 0.1
"""Share of the cells that are missing where tables have gaps."""
EVALUATIONS_OF_FRONTS = 3_000
"""Evaluations of a front that has no number of its own, since fronts do not end by themselves."""


def rejections(options: Options) -> Sheet:
    """Return one row per kind of graph."""
    rejected: dict[str, list[bool]] = {"true": [], "one edge less": []}
    n_found: dict[str, list[int]] = {graph: [] for graph in rejected}
    for seed in range(options.tables):
        truth = random_network(options.columns, cardinality=(2, 4), max_indegree=2, random_state=seed)
        frame = truth.sample(options.rows, random_state=seed)
        # bins without rows are left out
        cuts = {
            name: of_column[(of_column > frame[name].min()) & (of_column < frame[name].max())]
            for name, of_column in truth.cut_points.items()
        }
        graphs = {"true": truth.edges}
        if seed < options.wrong:
            strongest = max(truth.edges, key=lambda edge: truth.why(edge).removal_cost)
            graphs["one edge less"] = [edge for edge in truth.edges if edge != strongest]
        for graph, edges in graphs.items():
            network = DiscretizedBayesNet.from_table(frame, edges, cuts)
            result = test_graph(
                network, frame, n_permutations=options.permutations, random_state=10_000 + seed
            )
            rejected[graph].append(result.p_value < LEVEL)
            n_found[graph].append(int((result.missing["q_value"] < LEVEL).sum()))
    rows = [
        [
            graph,
            str(len(of_graph)),
            f"{np.mean(of_graph):.4f}",
            f"{np.std(of_graph) / len(of_graph) ** 0.5:.4f}",
            f"{np.mean(np.array(n_found[graph]) > 0):.4f}",
        ]
        for graph, of_graph in rejected.items()
        if of_graph
    ]
    heading = f"{options.columns} columns, {options.rows} rows, {options.permutations} permutations"
    columns = ("graph", "tables", "rejected", "standard error", "tables with a found edge")
    return sheet(heading, columns, rows)


def independent_columns(n_rows: int, seed: int) -> pd.DataFrame:
    """Return twelve columns that depend on nothing: of several shapes and kinds, one of them with thirty levels."""
    rng = np.random.default_rng([seed, n_rows])
    columns: dict[str, Any] = {
        "normal": rng.normal(size=n_rows),
        "rounded": np.round(rng.normal(50, 10, n_rows)),
        "tenths": rng.gamma(2, 2, n_rows).round(1),
        "skewed": np.exp(rng.normal(size=n_rows)),
        "count": rng.poisson(3, n_rows),
        "zeros": np.where(rng.random(n_rows) < 0.4, 0.0, np.exp(rng.normal(size=n_rows)).round(2)),
        "heavy": rng.standard_t(2, n_rows),
        "uniform": rng.uniform(size=n_rows),
    }
    for n_levels in (2, 3, 7, 30):
        columns[f"{n_levels} levels"] = [f"level {k}" for k in rng.integers(0, n_levels, n_rows)]
    return pd.DataFrame(columns)


def _network(table: pd.DataFrame, road: str, evaluations: int, seed: int) -> DiscretizedBayesNet:
    """Return what one road makes of a table: the default, gaps, many rows, or the knee of a front."""
    limits: dict[str, Any] = {
        "max_evaluations": evaluations or None,
        "max_seconds": None,
        "random_state": seed,
    }
    if road == "front":
        limits["max_evaluations"] = evaluations or EVALUATIONS_OF_FRONTS
        return ParetoBayesNetLearner(**limits).fit(table).front_.recommended().candidate.network
    if road == "gaps":
        table = table.mask(np.random.default_rng([seed, len(table)]).random(table.shape) < SHARE_OF_GAPS)
    if road == "many rows":
        limits["sample_rows"] = max(len(table) // 2, 1_000)
    return BayesNetLearner(**limits).fit(table).network_


def false_edges(options: Options) -> Sheet:
    """Return one row per road and number of rows."""
    rows = []
    for road in options.roads:
        for n_rows in options.rows:
            edges: list[tuple[str, str]] = []
            for seed in range(options.first_seed, options.first_seed + options.tables):
                table = independent_columns(n_rows, seed)
                edges += _network(table, road, options.evaluations, seed).edges
            many = sum(child == "30 levels" for _, child in edges)
            rows.append([road, f"{n_rows:,}", str(options.tables), str(len(edges)), str(many)])
    columns = ("road", "rows", "tables", "edges", "into thirty levels")
    return sheet("Edges between independent columns", columns, rows)


EXPERIMENTS = (
    tabulated(
        "graph-tests",
        "Level and power of the test whether data reject a graph",
        (__doc__ or "").partition("\n\n")[2],
        rejections,
        {
            "tables": Option(2_000, "Number of tables.", least=1),
            "wrong": Option(200, "Number of tables on which a wrong graph is tested.", least=0),
            "rows": Option(200, "Number of rows.", least=10),
            "columns": Option(6, "Number of columns.", least=2),
            "permutations": Option(499, "Number of permuted tables.", least=19),
        },
    ),
    tabulated(
        "independent",
        "Edges that a default fit draws between independent columns",
        "Tables have twelve columns that depend on nothing: continuous ones of several shapes, and levels. Of gaps a "
        "tenth of the cells is missing, and of many rows half of them, or 1,000, are searched. The network of a "
        "front is the recommended one.",
        false_edges,
        {
            "roads": Option(ROADS, "Ways to learn a network.", choices=ROADS),
            "first_seed": Option(0, "Seed of the first table.", least=0),
            "tables": Option(8, "Number of tables of every size.", least=1),
            "rows": Option((150, 600, 2_500), "Numbers of rows.", least=10),
            "evaluations": Option(
                0,
                f"Evaluations of a fit; 0 until it is done, and {EVALUATIONS_OF_FRONTS:,} of a front.",
                least=0,
            ),
        },
    ),
)
