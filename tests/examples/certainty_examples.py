"""Small discrete tables, and the scores of all graphs over their columns by brute force."""

import itertools
from collections.abc import Iterator
from functools import cache

import numpy as np
import pandas as pd
from oracles import is_acyclic

from gomea_bn import DiscretizedBayesNet, read_table
from lab.published.judge import codes_and_cards, family_score

Graph = tuple[tuple[int, ...], ...]


def discrete_frame(seed: int, n_columns: int = 4, n_rows: int = 60) -> pd.DataFrame:
    """Return columns of two or three levels, each of which depends weakly on some earlier ones."""
    rng = np.random.default_rng(seed)
    columns: list[np.ndarray] = []
    for v in range(n_columns):
        levels = int(rng.integers(2, 4))
        values = rng.integers(levels, size=n_rows)
        for earlier in columns:
            if rng.random() < 0.5:
                copied = rng.random(n_rows) < 0.5
                values = np.where(copied, earlier % levels, values)
        columns.append(values)
        # every level occurs
        columns[v][:levels] = range(levels)
    return pd.DataFrame(
        {
            f"c{v}": pd.Categorical.from_codes(
                values.tolist(), pd.Index([f"l{k}" for k in range(values.max() + 1)])
            )
            for v, values in enumerate(columns)
        }
    )


def network_of(frame: pd.DataFrame, edges: list[tuple[str, str]] | None = None) -> DiscretizedBayesNet:
    """Return the network of a frame with given edges."""
    return DiscretizedBayesNet.from_table(read_table(frame), edges or [], {})


@cache
def graphs(n: int, max_indegree: int) -> list[Graph]:
    """Return the parents of every variable in every acyclic graph."""
    sets = [
        [
            s
            for k in range(max_indegree + 1)
            for s in itertools.combinations([u for u in range(n) if u != v], k)
        ]
        for v in range(n)
    ]
    return [
        graph
        for graph in itertools.product(*sets)
        if is_acyclic(n, [(parent, v) for v, parents in enumerate(graph) for parent in parents])
    ]


def scored_graphs(
    frame: pd.DataFrame, max_indegree: int = 3, score: str = "bdeu", ess: float = 1.0
) -> Iterator[tuple[Graph, float]]:
    """Give every acyclic graph over the columns with its score."""
    codes, cards = codes_and_cards(frame)
    known: dict[tuple[int, tuple[int, ...]], float] = {}
    for graph in graphs(len(cards), max_indegree):
        for family in enumerate(graph):
            if family not in known:
                known[family] = family_score(codes, cards, *family, score, ess)
        yield graph, sum(known[family] for family in enumerate(graph))
