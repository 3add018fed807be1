"""Groups of levels of a column that go with about the same values of another one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.texts import listed, shown_name

MOST_LEVELS = 8
"""Most levels that a sentence names each; more of them have groups."""

MOST_GROUPS = 4
# levels of a group that are named
MOST_NAMED = 6


def level_groups(
    means: NDArray[np.float64], counts: NDArray[np.float64], variance: float | None = None
) -> list[NDArray[np.int64]]:
    """Return the positions of the levels of every group, the one with the most of the last outcome first.

    Levels are ordered along the direction in which their outcomes differ most, and a group is a run of this order. The
    groups are the likeliest ones a posteriori, found exactly: outcomes of a group have a Dirichlet prior of one row
    around all rows, or a normal prior of the information of one row. Partitions of the levels have the probabilities of
    Ewens' sampling formula with the parameter 1 ("The sampling theory of selectively neutral alleles", 1972), in
    proportion to the product of (size - 1)! over the groups. The order of levels has no effect.

    Parameters
    ----------
    means : ndarray of shape (n_levels, n_outcomes)
        Probabilities of outcomes by level, or with a variance the mean of numbers, as one outcome.
    counts : ndarray of shape (n_levels,)
        Number of rows of every level, above 0.
    variance : float, optional
        Variance of the numbers within a level, above 0.
    """
    n_levels = len(counts)
    shares = counts / counts.sum()
    centre = shares @ means
    apart = (means - centre) * np.sqrt(shares)[:, None]
    direction = np.linalg.svd(apart, full_matrices=False)[2][0]
    # either sign is the same direction
    direction = direction if direction[-1] >= 0 else -direction
    places = np.round((means - centre) @ direction, 12)
    order = np.lexsort((*means.T, places))
    sums = np.concatenate(
        (np.zeros((1, means.shape[1])), np.cumsum((counts[:, None] * means)[order], axis=0))
    )
    rows = np.concatenate(([0.0], np.cumsum(counts[order])))
    scores = (_numbers(float(centre[0]), variance) if variance is not None else _shares(centre))(
        sums[None] - sums[:, None], rows[None] - rows[:, None]
    )
    sizes = np.arange(n_levels + 1)[None] - np.arange(n_levels + 1)[:, None]
    scores += scipy.special.gammaln(np.maximum(sizes, 1))
    # best[k, j]: score of the first j levels in k + 1 groups
    best = np.full((MOST_GROUPS, n_levels + 1), -np.inf)
    first = np.zeros((MOST_GROUPS, n_levels + 1), np.int64)
    best[0, 1:] = scores[0, 1:]
    for k in range(1, MOST_GROUPS):
        for j in range(k + 1, n_levels + 1):
            candidates = best[k - 1, k:j] + scores[k:j, j]
            first[k, j] = k + int(candidates.argmax())
            best[k, j] = candidates.max()
    k, end, groups = int(best[:, n_levels].argmax()), n_levels, []
    for step in range(k, -1, -1):
        start = int(first[step, end]) if step else 0
        groups.append(np.sort(order[start:end]))
        end = start
    return groups


def groups_in_words(groups: Sequence[tuple[Sequence[str], str]]) -> str:
    """Return groups of levels, as their labels with a value, in words such as "26 % at a, b; 13 % at the other 38"."""
    largest = max(len(labels) for labels, _ in groups)
    parts = []
    for labels, value in groups:
        is_rest = len(labels) == largest > MOST_NAMED
        where = f"the other {len(labels)}" if is_rest else listed(map(shown_name, labels), MOST_NAMED)
        parts.append(f"{value} at {where}")
    return "; ".join(parts)


_Score = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


def _shares(centre: NDArray[np.float64]) -> _Score:
    """Return the log probability of counts (..., n_outcomes) of groups under a Dirichlet prior of one row."""
    prior = np.maximum(centre, 1e-9)

    def score(sums: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
        sums, rows = np.maximum(sums, 0.0), np.maximum(rows, 0.0)
        gammaln = scipy.special.gammaln
        parts = gammaln(sums + prior) - gammaln(prior)
        return np.asarray(parts.sum(axis=-1) + gammaln(prior.sum()) - gammaln(rows + prior.sum()))

    return score


def _numbers(centre: float, variance: float) -> _Score:
    """Return the log density of sums of groups, up to what all groupings share, under a normal prior of one row."""

    def score(sums: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
        rows = np.maximum(rows, 0.0)
        moved = sums[..., 0] - rows * centre
        return np.asarray(moved**2 / (2 * variance * (rows + 1)) - np.log(rows + 1) / 2)

    return score
