"""Scores of refined networks by plain counting."""

import numpy as np
import pandas as pd
from pricing_examples import slow_network_score, table_variables

from gomea_bn import DiscretizedBayesNet, read_table
from gomea_bn.data import Table
from gomea_bn.simulation import random_network


def slow_refined_score(network: DiscretizedBayesNet, frame: pd.DataFrame, method: str) -> float:
    """The score in nats of a network on the rows that its tables were counted from, by counting with dictionaries."""
    names, kinds = network.names, dict.fromkeys(network.cut_points, "continuous")
    return slow_network_score(
        table_variables(read_table(frame, kinds=kinds).in_order(names)),
        [(names.index(parent), names.index(child)) for parent, child in network.edges],
        [network.cut_points.get(name, np.empty(0)) for name in names],
        method,
        edge_cost=1.0,
    )


METHODS = ("density-bic", "density-bd")


def quantile_network(
    truth: DiscretizedBayesNet, table: Table, n_bins: int | None = None
) -> DiscretizedBayesNet:
    """The true graph with cuts at quantiles, as many as the truth has or a given number."""
    columns = {column.name: column.values for column in table.columns}
    cuts = {
        name: np.unique(np.quantile(columns[name], np.arange(1, k) / k))
        for name, k in ((name, n_bins or len(true_cuts) + 1) for name, true_cuts in truth.cut_points.items())
    }
    return DiscretizedBayesNet.from_table(table, truth.edges, cuts)


def example(seed: int, n_rows: int = 800, n_variables: int = 5) -> tuple[DiscretizedBayesNet, pd.DataFrame]:
    truth = random_network(n_variables, rows="dirichlet", random_state=seed)
    frame = truth.sample(n_rows, random_state=seed + 1)
    return truth, frame
