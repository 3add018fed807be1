"""Scores of features: numbers around 0 that stand for their cells in sums, whatever the units."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from gomea_bn.data.columns import Column
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.inference.evidence import EvidenceReader
from gomea_bn.prediction.distributions import Cells

Values = NDArray[np.float64] | NDArray[np.int32]


def read_features(
    network: DiscretizedBayesNet, frame: pd.DataFrame, names: Sequence[str]
) -> dict[str, Values]:
    """Return the numbers of some columns, NaN if missing, or the codes of their levels in a network, -1 if missing."""
    read = EvidenceReader(network).frame(frame, names)
    return {
        name: read.values[name] if name in read.values else read.evidence.codes[:, network.names.index(name)]
        for name in names
    }


class FeatureScores:
    """The scores of the features of a table.

    A number has the normal score of its rank among the rows of the table, scaled to a standard deviation of 1. Many
    values are joined in 200 groups of neighbours. A level has a score of its own: whether a cell has it, less the share
    of the cells that do. The mean of the scores is 0, and missing cells have the score 0. Increasing transforms of a
    column leave its scores. Constant columns have no scores. `labels` has "column", or "column=level", of every score.
    """

    def __init__(self, features: Sequence[Column]) -> None:
        self.labels: list[str] = []
        self._columns = [column for column in features if not column.is_constant]
        self._scores: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        self._shares: dict[str, NDArray[np.float64]] = {}
        for column in self._columns:
            known = column.values[~column.is_missing]
            if column.levels is None:
                self._scores[column.name] = _normal_scores(known)
                self.labels.append(column.name)
            else:
                self._shares[column.name] = np.bincount(known, minlength=len(column.levels)) / len(known)
                self.labels += [f"{column.name}={level}" for level in column.levels]

    def of_rows(self, network: DiscretizedBayesNet, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Return the scores of rows as a network reads them, float64 (n_rows, n_scores).

        Columns that the network does not have are missing.
        """
        read = read_features(network, frame, [c.name for c in self._columns if c.name in network.names])
        parts = [np.empty((len(frame), 0))]
        for column in self._columns:
            part = np.zeros((len(frame), 1 if column.levels is None else len(column.levels)))
            values = read.get(column.name, np.empty(0))
            if column.levels is None:
                known = np.flatnonzero(~np.isnan(values))
                ends, scores = self._scores[column.name]
                part[known, 0] = scores[np.minimum(np.searchsorted(ends, values[known]), len(ends) - 1)]
            else:
                known = np.flatnonzero(values >= 0)
                # a level that no row of the network's table had is not in the network
                codes = np.array([column.levels.index(of) for of in network.levels.get(column.name, ())], int)
                part[known] = -self._shares[column.name]
                part[known, codes[values[known].astype(int)]] += 1.0
            parts.append(part)
        return np.concatenate(parts, axis=1)


def _normal_scores(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest values of at most 200 groups of about equally many rows, ascending, and the groups' scores."""
    ends = Cells.of(values).values
    groups = np.searchsorted(ends, values)
    sizes = np.bincount(groups)
    scores = ndtri((np.cumsum(sizes) - sizes / 2) / len(values))
    of_rows = scores[groups]
    return ends, (scores - of_rows.mean()) / of_rows.std()
