"""Communities of a graph: columns that are joined to each other more than to the rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# share of the weight inside communities below which the edges between them would hide the drawing
_LEAST_INSIDE = 0.7


def communities(strength: NDArray[np.float64]) -> list[list[int]]:
    """Return the communities of the joined nodes, the largest first, and none if too much joins them.

    `strength` has the symmetric weights of the pairs, (n, n), at least 0, without a diagonal. Communities are merged
    greedily, as long as the modularity rises (Clauset, Newman & Moore, "Finding community structure in very large
    networks", 2004).
    """
    n, total = len(strength), float(strength.sum())
    if total == 0:
        return []
    # share of the weight between two communities, and at the ends of one
    between = strength / total
    ends = between.sum(axis=1)
    members = [[node] for node in range(n)]
    while True:
        gains = np.where(np.triu(between, 1) > 0, 2 * (between - np.outer(ends, ends)), 0.0)
        kept, merged = np.unravel_index(int(gains.argmax()), gains.shape)
        if gains[kept, merged] <= 0:
            break
        for line in (between, between.T):
            line[kept] += line[merged]
            line[merged] = 0
        ends[kept] += ends[merged]
        ends[merged] = 0
        members[kept] += members[merged]
        members[merged] = []
    found = sorted((sorted(group) for group in members if len(group) > 1), key=lambda group: -len(group))
    return found if between.trace() >= _LEAST_INSIDE and len(found) > 1 else []
