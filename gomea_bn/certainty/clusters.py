"""Cluster cuts: linear inequalities that hold for acyclic graphs, and those that a point violates.

Within a cluster of variables at least one has no parent in the cluster (Jaakkola, Sontag, Globerson & Meila, "Learning
Bayesian network structure using LP relaxations", AISTATS 2010).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gomea_bn.certainty.parent_sets import ScoredParentSets

_LEAST_VIOLATION = 1e-4
_NO_WEIGHT = 1e-7


@dataclass(frozen=True)
class Choices:
    """All parent sets of all variables as the columns of a linear programme.

    Attributes
    ----------
    child : ndarray of shape (n_choices,), int64
        Variable that a parent set belongs to.
    members : ndarray of shape (n_choices, n_variables), bool
        Which variables are in the set.
    cost : ndarray of shape (n_choices,), float64
        Best score of the variable minus the score of the set, in nats.
    """

    child: NDArray[np.int64]
    members: NDArray[np.bool_]
    cost: NDArray[np.float64]

    @classmethod
    def of(cls, sets: Sequence[ScoredParentSets]) -> Choices:
        """Return the columns of the parent sets of every variable, in their order."""
        sizes = [len(of_child.scores) for of_child in sets]
        return cls(
            np.repeat(np.arange(len(sets)), sizes),
            np.concatenate([of_child.members for of_child in sets]),
            np.concatenate([of_child.scores[0] - of_child.scores for of_child in sets]),
        )

    def subset(self, columns: NDArray[np.bool_]) -> Choices:
        """Return some of the columns."""
        return Choices(self.child[columns], self.members[columns], self.cost[columns])

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return int(self.members.shape[1])

    def one_each(self) -> Any:
        """Return the matrix that sums the columns of every variable, sparse (n_variables, n_choices)."""
        n = len(self.child)
        return sparse.csr_matrix((np.ones(n), (self.child, np.arange(n))), shape=(self.n_variables, n))


def cluster_rows(choices: Choices, clusters: Sequence[NDArray[np.bool_]]) -> Any:
    """Return the matrix whose product with an acyclic graph is at least 1 in every row, sparse (n_clusters, n_choices).

    A row has ones for the parent sets of the cluster's variables without a member in the cluster.
    """
    rows = [
        np.flatnonzero(cluster[choices.child] & ~choices.members[:, cluster].any(axis=1))
        for cluster in clusters
    ]
    columns = np.concatenate([np.zeros(0, np.int64), *rows])
    return sparse.csr_matrix(
        (np.ones(len(columns)), columns, np.cumsum([0, *map(len, rows)])),
        shape=(len(rows), len(choices.child)),
    )


def violated_clusters(
    choices: Choices, point: NDArray[np.float64], generator: np.random.Generator, n_noisy: int = 0
) -> list[NDArray[np.bool_]]:
    """Return clusters whose inequality a point violates, each once, found by local search from every variable.

    Parameters
    ----------
    choices : Choices
    point : ndarray of shape (n_choices,), float64
        Solution of the relaxation.
    generator : numpy Generator
    n_noisy : int
        Number of further searches from every variable, with noise on the steps.
    """
    n = choices.n_variables
    support = np.flatnonzero(point > _NO_WEIGHT)
    weights, members = point[support], choices.members[support].astype(np.float64)
    of_child = np.zeros((len(support), n))
    of_child[np.arange(len(support)), choices.child[support]] = 1.0
    clusters = np.tile(np.eye(n, dtype=np.bool_), (1 + n_noisy, 1))
    rows = np.arange(len(clusters))
    noise = np.repeat(np.linspace(0.0, 0.2, 1 + n_noisy), n)[:, None]
    for _ in range(2 * n):
        n_hits = clusters @ members.T
        inside = clusters @ of_child.T * weights
        hit = (n_hits > 0) * weights @ of_child
        joins = (inside * (n_hits == 0)) @ members + hit - 1
        leaves = 1 - (inside * (n_hits == 1)) @ members - hit
        gains = np.where(clusters, leaves, joins) + noise * generator.random(clusters.shape)
        small = clusters.sum(axis=1) < 2
        gains[clusters & small[:, None]] = -np.inf
        best = gains.argmax(axis=1)
        moves = (gains[rows, best] > 1e-9) | small
        if not moves.any():
            break
        clusters[rows[moves], best[moves]] ^= True
    without = ((clusters @ of_child.T * weights) * (clusters @ members.T == 0)).sum(axis=1)
    is_violated = (without < 1 - _LEAST_VIOLATION) & (clusters.sum(axis=1) > 1)
    return list(np.unique(clusters[is_violated], axis=0)) if is_violated.any() else []
