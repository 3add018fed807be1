"""Scores of refined networks by plain counting."""

import math

import numpy as np
import pandas as pd
from oracles import slow_family_score

from gomea_bn.data.table import Table
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.problems.curves import ScoredVariable
from gomea_bn.problems.cuts.policies import Policy
from gomea_bn.problems.family_scorer import Family
from gomea_bn.simulation.random_networks import random_network


def slow_refined_score(network: DiscretizedBayesNet, frame: pd.DataFrame, method: str) -> float:
    """The score in nats of a network on the rows that its tables were counted from, by counting with dictionaries."""
    names = network.names
    variables = [
        ScoredVariable(name, frame[name].to_numpy(float), 0, (Policy(network.cut_points[name]),))
        if name in network.cut_points
        else ScoredVariable(
            name,
            np.array([network.levels[name].index(level) for level in frame[name]], np.int32),
            len(network.levels[name]),
        )
        for name in names
    ]
    families = [
        Family((v, 0), tuple((names.index(parent), 0) for parent in network.parents(name)))
        for v, name in enumerate(names)
    ]
    charged = len(network.edges) * math.log(max(len(names) - 1, 1)) if method == "density-bd" else 0.0
    return math.fsum(slow_family_score(variables, family, method) for family in families) - charged


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
