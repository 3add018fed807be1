"""Distribution of one column given all other cells of a row, under networks and averaged networks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import column_positions
from gomea_bn.network.averaged.answers import joint_log_densities
from gomea_bn.network.averaged.network import AveragedBayesNet
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.inference.bin_distributions import BinDistributions
from gomea_bn.problems.log_sums import log_sum_exp

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

__all__ = ["Cells", "Density", "cell_probabilities", "crps", "level_probabilities"]

Density = DiscretizedBayesNet | AveragedBayesNet

_MOST_CELLS = 200
# rows times values of the target whose densities are computed at the same time
_BLOCK = 2**18


@dataclass(frozen=True)
class Cells:
    """A fine division of the range of a continuous column, the same for all networks and rows.

    Attributes
    ----------
    values : ndarray of shape (n_cells,), float64
        Value that stands for each cell, increasing; all of them occur in the column.
    edges : ndarray of shape (n_cells + 1,), float64
        Ends of the cells, half-way between the values.
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


def level_probabilities(density: Density, frame: pd.DataFrame, target: str) -> NDArray[np.float64]:
    """Return P(target | other cells) of a discrete target for every row, float64 (n_rows, n_levels).

    Parameters
    ----------
    density : DiscretizedBayesNet or AveragedBayesNet
        The network. Rows with missing cells are answered by the bins of an averaged network.
    frame : DataFrame
        Rows with a column for every variable but the target.
    target : str
        Name of the target.
    """
    if isinstance(density, DiscretizedBayesNet):
        return density.predict_proba(frame, target).to_numpy()
    return _by_parts(density, frame, target, list(density.network.levels[target]), None)


def cell_probabilities(
    density: Density, frame: pd.DataFrame, target: str, cells: Cells
) -> NDArray[np.float64]:
    """Return P(cell | other cells of the row) of a continuous target, float64 (n_rows, n_cells).

    Parameters are those of `level_probabilities`, and the cells.
    """
    if isinstance(density, DiscretizedBayesNet):
        bins = BinDistributions(density, target)
        ends = [-np.inf, *cells.edges[1:-1].tolist(), np.inf]
        of_bins = [bins.interval(low, high, "right")[1] for low, high in pairwise(ends)]
        return np.asarray(density.predict_proba(frame, target).to_numpy() @ np.array(of_bins).T)
    return _by_parts(density, frame, target, cells.values.tolist(), cells)


def _by_parts(
    averaged: AveragedBayesNet, frame: pd.DataFrame, target: str, values: Sequence[Any], cells: Cells | None
) -> NDArray[np.float64]:
    """Return the probabilities of the values of the target: averaged where rows are complete, else by bins."""
    others = [name for name in averaged.names if name != target]
    frame = frame.reset_index(drop=True)
    result = np.empty((len(frame), len(values)))
    positions = column_positions(frame, others)
    has_gap = frame.iloc[:, [positions[name] for name in others]].isna().any(axis=1).to_numpy()
    if has_gap.any():
        incomplete = frame[has_gap]
        result[has_gap] = (
            level_probabilities(averaged.network, incomplete, target)
            if cells is None
            else cell_probabilities(averaged.network, incomplete, target, cells)
        )
    logs = np.zeros(len(values))
    if cells is not None:
        shape = averaged.network.shapes.get(target)
        is_point = np.isin(cells.values, [] if shape is None else shape.point_values)
        # the density of a point mass is its probability
        logs = np.where(is_point, 0.0, np.log(np.diff(cells.edges)))
    complete = np.flatnonzero(~has_gap)
    step = max(_BLOCK // len(values), 1)
    for start in range(0, len(complete), step):
        rows = complete[start : start + step]
        terms = joint_log_densities(averaged, frame.iloc[rows], target, values) + logs
        result[rows] = np.exp(terms - log_sum_exp(terms.T)[:, None])
    return result


def crps(
    cells: Cells, probabilities: NDArray[np.float64], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the continuous ranked probability score of every row, float64 (n_rows,), in the units of the target.

    It is the integral of (F(z) - 1{z >= value})^2 over z, with the distribution F of the values of the cells
    (Gneiting & Raftery, "Strictly proper scoring rules, prediction, and estimation", 2007); lower is better.

    Parameters
    ----------
    cells : Cells
    probabilities : ndarray of shape (n_rows, n_cells), float64
    values : ndarray of shape (n_rows,), float64
        Values that were observed.
    """
    points, observed = cells.values, values[:, None]
    below = np.cumsum(probabilities, axis=1)[:, :-1]
    gaps = np.diff(points)
    before = np.clip(observed - points[:-1], 0.0, gaps)
    inside = (before * below**2 + (gaps - before) * (1 - below) ** 2).sum(axis=1)
    return np.asarray(inside + np.maximum(points[0] - values, 0) + np.maximum(values - points[-1], 0))
