"""Fronts for the tests: random networks over a small table, with values that are theirs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from gomea_bn import DiscretizedBayesNet, read_table
from gomea_bn.front import COMPLEXITY, EXPERT_DISTANCE, MISFIT, Front


def small_frame(names=("a", "b", "c", "d"), n=60):
    """Return rows of continuous columns and, last, one of levels of which one is never seen."""
    rng = np.random.default_rng(11)
    frame = pd.DataFrame(rng.normal(size=(n, len(names) - 1)), columns=list(names[:-1]))
    frame[names[-1]] = pd.Categorical(rng.choice(["low", "high"], n), ["low", "high", "never"])
    return frame


def network_of(table, rng):
    """Return a network with random edges and bins, its tables counted from the table."""
    order = rng.permutation(len(table.names))
    edges = [
        (table.names[order[i]], table.names[order[j]])
        for j in range(len(order))
        for i in range(j)
        if rng.random() < 0.4
    ]
    cuts = {
        column.name: np.quantile(column.values, np.arange(1, k := int(rng.integers(1, 5))) / k)
        for column in table.columns
        if column.is_continuous
    }
    return DiscretizedBayesNet.from_table(table, edges, cuts)


def example_front(n=30, *, names=("a", "b", "c", "d"), expert=True, seed=5, record=None):
    """Return a front of `n` networks, dominated ones among them, with true misfit and complexity."""
    frame = small_frame(names)
    table = read_table(frame)
    rng = np.random.default_rng(seed)
    networks = [network_of(table, rng) for _ in range(n)]
    values = [[-network.score(frame), network.n_parameters, rng.random() / 3] for network in networks]
    objectives = [MISFIT, COMPLEXITY, EXPERT_DISTANCE]
    return Front(
        objectives if expert else objectives[:2],
        values if expert else [row[:2] for row in values],
        networks,
        table=table,
        expert=network_of(table, rng) if expert else None,
        record={"seed": seed, "data_sha256": "ab" * 32} if record is None else record,
    )
