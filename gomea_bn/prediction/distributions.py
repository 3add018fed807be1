"""Distribution of one column given all other cells of a row over fine cells, its score, and folds of rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn.data.table import Table
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.inference.answers import other_cells, reduced
from gomea_bn.network.inference.engine import engine_for
from gomea_bn.network.inference.evidence import EvidenceReader

_MOST_CELLS = 200


@dataclass(frozen=True)
class Cells:
    """A fine division of the range of a continuous column, the same for all networks and rows.

    The values that stand for the cells, float64 (n_cells,), increase and occur in the column; the edges, float64
    (n_cells + 1,), lie half-way between them.
    """

    values: NDArray[np.float64]
    edges: NDArray[np.float64]

    @classmethod
    def of(cls, column: NDArray[np.float64]) -> Cells:
        """Return the cells of a column: one per value, or per quantile if it has more than 200 values."""
        values = np.unique(column)
        if len(values) > _MOST_CELLS:
            levels = np.linspace(0, 1, _MOST_CELLS)
            values = np.unique(np.quantile(column, levels, method="inverted_cdf"))
        inner = values[:-1] / 2 + values[1:] / 2
        return cls(values, np.concatenate((values[:1], inner, values[-1:])))

    def quantiles(self, probabilities: NDArray[np.float64], level: float) -> NDArray[np.float64]:
        """Return the first value whose cumulated probability reaches a level, float64 (n,), for rows (n, n_cells)."""
        cumulated = np.cumsum(probabilities, axis=1)
        # rounding must not leave a row without such a value
        reaches = cumulated >= np.minimum(level, cumulated[:, -1:])
        return np.asarray(self.values[np.argmax(reaches & (cumulated > 0), axis=1)])


def cell_probabilities(
    network: DiscretizedBayesNet, frame: pd.DataFrame, target: str, cells: Cells
) -> NDArray[np.float64]:
    """Return P(cell | other cells of the row) of a continuous target, float64 (n_rows, n_cells)."""
    engine = engine_for(network)
    reader = EvidenceReader(engine.network)
    ends = [-np.inf, *cells.edges[1:-1].tolist(), np.inf]
    of_cells = [reader.bins[target].interval(low, high, "right")[1] for low, high in pairwise(ends)]
    evidence = other_cells(reader, frame, target, "error")
    shares = np.array(of_cells).T
    return reduced(engine, evidence, reader.names.index(target), lambda tables: tables @ shares)[0]


def folds_of(
    table: Table, target: str | None, n_folds: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return a random fold of every row, int64 (n_rows,); the values of the target are alike in all folds.

    Rows of a group have one fold, and the means of the target in groups are alike.
    """
    codes = np.arange(table.n_rows) if table.groups is None else table.groups.codes
    groups, sizes = np.unique(codes, return_inverse=True, return_counts=True)[1:]
    keys = [generator.random(len(sizes))]
    if target is not None:
        keys.append(np.bincount(groups, table.columns[table.names.index(target)].values) / sizes)
    folds = np.empty(len(sizes), np.int64)
    folds[np.lexsort(keys)] = np.arange(len(sizes)) % n_folds
    return folds[groups]


def crps(
    cells: Cells, probabilities: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the continuous ranked probability score of every row, and its derivatives by the probabilities.

    The scores, float64 (n_rows,), are in the units of the target, and the probabilities float64 (n_rows, n_cells). A
    score is the integral of (F(z) - 1{z >= value})^2 over z, with the distribution F of the values of the cells
    (Gneiting & Raftery, "Strictly proper scoring rules, prediction, and estimation", 2007); lower is better.
    """
    points, observed = cells.values, values[:, None]
    below = np.cumsum(probabilities, axis=1)[:, :-1]
    gaps = np.diff(points)
    before = np.clip(observed - points[:-1], 0.0, gaps)
    inside = (before * below**2 + (gaps - before) * (1 - below) ** 2).sum(axis=1)
    by_below = 2 * (before * below - (gaps - before) * (1 - below))
    slopes = np.zeros_like(probabilities)
    # a probability is part of all sums from its own cell on
    slopes[:, :-1] = np.cumsum(by_below[:, ::-1], axis=1)[:, ::-1]
    beyond = np.maximum(points[0] - values, 0) + np.maximum(values - points[-1], 0)
    return np.asarray(inside + beyond), slopes
