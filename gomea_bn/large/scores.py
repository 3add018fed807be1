"""Scores of families from their counts over all rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from gomea_bn.problems.kernels.score_rules import BDEU, LIKELIHOOD, ScoreRule

__all__ = ["dirichlet_score", "family_score"]


def dirichlet_score(counts: NDArray[np.int64]) -> float:
    """Return the log marginal likelihood of a table of counts under Dirichlet(1) priors, in nats.

    Parameters
    ----------
    counts : ndarray of shape (card(parent_1), ..., card(child)), int64
    """
    cardinality = counts.shape[-1]
    totals = counts.sum(axis=-1)
    return float(gammaln(counts + 1.0).sum() - (gammaln(totals + cardinality) - gammaln(cardinality)).sum())


def family_score(counts: NDArray[np.int64], rule: ScoreRule) -> float:
    """Return the score of a family in nats, with the cost of its edges and without the inside of bins.

    Parameters
    ----------
    counts : ndarray of shape (card(parent_1), ..., card(child)), int64
    rule : ScoreRule
        LIKELIHOOD, DIRICHLET with one pseudo-count per cell, or BDEU; its arrays are not used.
    """
    edges = float(rule.edge_cost) * (counts.ndim - 1)
    if rule.kind not in (LIKELIHOOD, BDEU):
        return dirichlet_score(counts) - edges
    cardinality = counts.shape[-1]
    table = counts.reshape(-1, cardinality).astype(np.float64)
    totals = table.sum(axis=1)
    if rule.kind == LIKELIHOOD:
        price = float(rule.weight * len(table) * (cardinality - 1))
        likelihood = float(xlogy(table, table).sum() - xlogy(totals, totals).sum())
        return likelihood - price - edges
    of_row = rule.prior / len(table)
    of_cell = of_row / cardinality
    table, totals = table[table > 0], totals[totals > 0]
    cells = float((gammaln(table + of_cell) - gammaln(of_cell)).sum())
    rows = float((gammaln(totals + of_row) - gammaln(of_row)).sum())
    return cells - rows - edges
