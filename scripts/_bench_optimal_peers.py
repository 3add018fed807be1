"""pyAgrum on real tables: hill climbing on bins of three kinds and three counts, under two scores.

Graphs and bins are pyAgrum's, the tables are counted with our smoothing. Which of the combinations is best is judged on
the test rows, by whoever calls: a generous reading of a peer that has to choose one.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter

from _bench_discretizers_methods import Cuts, Given, by_pyagrum, inside
from _peers import PEERS

from gomea_bn import DiscretizedBayesNet
from gomea_bn.data.table import Table

__all__ = ["SCORES", "PeerNetwork", "peer_networks"]

METHODS = ("quantile", "uniform", "kmeans")
COUNTS = (3, 5, 8)
SCORES = {"BIC": ("bic", 0.0), "BDeu 1": ("bdeu", 1.0), "BDeu 10": ("bdeu", 10.0)}


@dataclass(frozen=True)
class PeerNetwork:
    """One combination: its name, the graph, the cuts, and the seconds of both."""

    label: str
    edges: list[tuple[str, str]]
    cuts: Cuts
    seconds: float


def peer_networks(table: Table) -> Iterator[PeerNetwork]:
    """Yield what pyAgrum learns from a table with every kind of bins, number of bins and score."""
    frame = table.to_frame()
    climb = PEERS["pyAgrum hill climbing"]
    for method in METHODS:
        for count in COUNTS:
            began = perf_counter()
            with warnings.catch_warnings():  # of equal quantiles, which `inside` joins
                warnings.filterwarnings("ignore", "Bins whose width are too small")
                cuts = inside(by_pyagrum(method, Given(table, [], None, 0.0, 0), count)[0], table)
            binned = DiscretizedBayesNet.from_table(table, [], cuts)
            codes = binned.discretize(frame)
            for name in binned.names:
                codes[name] = (
                    codes[name].astype("category").cat.set_categories(range(binned.cardinality(name)))
                )
            to_bins = perf_counter() - began
            for shown, (score, ess) in SCORES.items():
                began = perf_counter()
                edges = climb(codes, score, ess)
                yield PeerNetwork(f"{method} {count}, {shown}", edges, cuts, to_bins + perf_counter() - began)
