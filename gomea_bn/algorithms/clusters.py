"""Balanced clusters of a population in objective space, and the objectives of the extreme clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gomea_bn.operators.kernels.front_mixing import ALL

__all__ = ["balanced_clusters", "extreme_clusters"]

_MOST_ROUNDS = 1000
# sum of the centres' shifts at which k-means ends
_STILL = 1e-10


def balanced_clusters(
    objectives: NDArray[np.float64], k: int, generator: np.random.Generator
) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """Return the members of k clusters of equal size, and a cluster for every solution.

    Parameters
    ----------
    objectives : ndarray of shape (n, m), float64
        Finite objectives; each is scaled by its range.
    k : int
        Number of clusters, from 1 to n.
    generator : numpy.random.Generator

    Returns
    -------
    list of ndarray of shape (c,)
        Members of each cluster, ``c = max(1, 2 n // k)`` (all n for one cluster); clusters overlap.
    ndarray of shape (n,)
        Cluster of each solution: a random one of those that hold it, or the nearest one.

    Notes
    -----
    Balanced k-leader-means (Luong, La Poutre & Bosman 2014): leaders that lie far apart are the first centres of
    k-means. Each final centre takes the c nearest solutions, its k-means members first. A centre without members moves
    to the solution that lies farthest from its centre.
    """
    n = len(objectives)
    spans = np.ptp(objectives, axis=0)
    # the offset is subtracted, as a large one would hide differences
    points = (objectives - objectives.min(axis=0)) / np.where(spans > 0, spans, 1.0)
    if k == 1:
        return [np.arange(n)], np.zeros(n, np.int64)
    axis = int(generator.integers(points.shape[1]))
    leaders = [int(np.argmax(points[:, axis]))]
    nearest = _distances(points, points[leaders[0]])
    while len(leaders) < k:
        leaders.append(int(np.argmax(nearest)))
        np.minimum(nearest, _distances(points, points[leaders[-1]]), out=nearest)
    centres = points[leaders]
    for _ in range(_MOST_ROUNDS):
        distances = np.stack([_distances(points, centre) for centre in centres])
        owner = distances.argmin(axis=0)
        moved = np.empty_like(centres)
        for c in range(k):
            in_cluster = owner == c
            farthest = int(np.argmax(distances.min(axis=0)))
            moved[c] = points[in_cluster].mean(axis=0) if in_cluster.any() else points[farthest]
        shift = float(np.sqrt(((moved - centres) ** 2).sum(axis=1)).sum())
        centres = moved
        if shift <= _STILL:
            break
    size = max(1, 2 * n // k)
    clusters = []
    belongs = np.zeros((n, k), np.bool_)
    for c in range(k):
        distance = np.where(owner == c, 0.0, _distances(points, centres[c]))
        members = np.sort(np.argsort(distance, kind="stable")[:size])
        centres[c] = points[members].mean(axis=0)
        belongs[members, c] = True
        clusters.append(members)
    choice = np.where(belongs, generator.random((n, k)), -1.0).argmax(axis=1)
    outside = ~belongs.any(axis=1)
    if outside.any():
        distances = np.stack([_distances(points[outside], centre) for centre in centres])
        choice[outside] = distances.argmin(axis=0)
    return clusters, choice.astype(np.int64)


def _distances(points: NDArray[np.float64], centre: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.sqrt(((points - centre) ** 2).sum(axis=1)), np.float64)


def extreme_clusters(
    objectives: NDArray[np.float64], clusters: list[NDArray[np.int64]], generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return the objective of each extreme cluster and ALL for the other clusters, shape (k,).

    In random order every objective gets the cluster with the best mean that has no objective yet. One cluster keeps
    ALL objectives.
    """
    own_objective = np.full(len(clusters), ALL, np.int64)
    means = np.stack([objectives[members].mean(axis=0) for members in clusters])
    for objective in generator.permutation(objectives.shape[1])[: len(clusters) - 1]:
        free = np.flatnonzero(own_objective == ALL)
        own_objective[free[np.argmin(means[free, objective])]] = objective
    return own_objective
