"""Ordering the vertices within the layers of a drawing so that few edges cross."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["chains", "ordered"]

# sweeps without a better order before the search ends
_PATIENCE = 8
_MOST_SWEEPS = 40

# per pair of neighbouring rows: entry [u, v] is the number of edges from upper u to lower v
Links = list[NDArray[np.float64]]
# per row: indices into the original row, from left to right
Order = list[NDArray[np.intp]]


def chains(layers: list[int], edges: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Return every edge as a path with one vertex per layer, and append the layers of new vertices to `layers`.

    A vertex is a node of the network, or a bend of an edge in a layer that the edge crosses.

    Parameters
    ----------
    layers : list of int
        The layer of every vertex. Mutated.
    edges : iterable of (upper, lower)
        Pairs of vertices, the second in a deeper layer.
    """
    paths = []
    for upper, lower in edges:
        between = range(layers[upper] + 1, layers[lower])
        bends = range(len(layers), len(layers) + len(between))
        layers += between
        paths.append([upper, *bends, lower])
    return paths


def ordered(rows: Sequence[Sequence[int]], pieces: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Return the rows reordered to reduce crossings; never worse than the input.

    No move of a single vertex within its row saves a crossing. The same input gives the same order.

    Parameters
    ----------
    rows : sequence of sequence of int
        Vertices of every layer, from the top.
    pieces : iterable of (upper, lower)
        Edges between neighbouring rows; duplicates count repeatedly. `chains` splits longer edges.

    Notes
    -----
    Sweeps down and up sort each row by the mean position of its neighbours in the previous row (Sugiyama, Tagawa &
    Toda, "Methods for visual understanding of hierarchical system structures", 1981). Between sweeps, each vertex moves
    to the position with the fewest crossings ("sifting": Matuszewski, Schönfeld & Molitor, "Using sifting for k-layer
    straightline crossing minimization", 1999). The best order of all is returned.
    """
    links = _links(rows, pieces)
    original = [np.arange(len(row)) for row in rows]
    best, least = original, _count(links, original)
    for first in (0, 1):
        order, waited = original, 0
        for sweep in range(_MOST_SWEEPS):
            if not least or waited == _PATIENCE:
                break
            order = _swept(links, order, downward=sweep % 2 == first, flip=sweep % 4 > 1)
            _sift(links, order)
            count = _count(links, order)
            waited = 0 if count < least else waited + 1
            if count < least:
                best, least = [row.copy() for row in order], count
    while _sift(links, best):
        pass
    return [[row[index] for index in order.tolist()] for row, order in zip(rows, best)]


def _links(rows: Sequence[Sequence[int]], pieces: Iterable[tuple[int, int]]) -> Links:
    position_of = {vertex: (number, at) for number, row in enumerate(rows) for at, vertex in enumerate(row)}
    links = [np.zeros((len(upper), len(lower))) for upper, lower in pairwise(rows)]
    for upper, lower in pieces:
        number, at = position_of[upper]
        links[number][at, position_of[lower][1]] += 1
    return links


def _joined(links: Links, order: Order, number: int, *, above: bool) -> NDArray[np.float64]:
    """Return the links of the vertices of a row, in original order, with the ordered row above or below."""
    return links[number - 1].T[:, order[number - 1]] if above else links[number][:, order[number + 1]]


def _pair_crossings(joined: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a matrix of which [u, v] is the number of crossings of the edges of u and v if u is left of v.

    `joined` holds the links of the row with the ordered other row.
    """
    left_of = np.cumsum(joined, axis=1) - joined
    return np.asarray(joined @ left_of.T)


def _count(links: Links, order: Order) -> int:
    """Return the number of pairs of edges that cross."""
    total = 0.0
    for number, joined in enumerate(links):
        placed = joined[order[number]][:, order[number + 1]]
        # [i, k]: number of edges that begin right of i and end left of k
        from_right = placed[:0:-1].cumsum(axis=0)[::-1]
        total += (placed[:-1, 1:] * from_right[:, :-1].cumsum(axis=1)).sum()
    return int(total)


def _swept(links: Links, order: Order, *, downward: bool, flip: bool) -> Order:
    """Return the order after one sweep. `flip` reverses equal vertices; vertices without neighbours stay."""
    swept = [row.copy() for row in order]
    numbers = range(1, len(order)) if downward else range(len(order) - 2, -1, -1)
    for number in numbers:
        row = swept[number]
        joined = _joined(links, swept, number, above=downward)
        degree = joined.sum(axis=1)
        mean = joined @ np.arange(joined.shape[1]) / np.maximum(degree, 1)
        free = np.flatnonzero(degree[row])
        moved = row[free][::-1] if flip else row[free]
        row[free] = moved[np.argsort(mean[moved], kind="stable")]
    return swept


def _sift(links: Links, order: Order) -> bool:
    """Move every vertex to its position with the fewest crossings; return whether any moved. Mutates the rows."""
    moved = [_sift_row(links, order, number) for number in range(len(order))]
    return any(moved)


def _sift_row(links: Links, order: Order, number: int) -> bool:
    """Move the vertices of one row; return whether any moved. Mutates the row."""
    row = order[number]
    pairs = np.zeros((len(row), len(row)))
    for above in (True, False):
        if 0 <= number - above < len(links):
            pairs += _pair_crossings(_joined(links, order, number, above=above))
    # [u][v]: additional crossings of u left of v over u right of v
    surplus = (pairs - pairs.T).tolist()
    # rows are short, so lists are quicker than arrays
    vertices = row.tolist()
    moved = False
    for vertex, cost in enumerate(surplus):
        at = vertices.index(vertex)
        to = _best_position([cost[other] for other in vertices], at)
        if to != at:
            vertices.insert(to, vertices.pop(at))
            moved = True
    row[:] = vertices
    return moved


def _best_position(costs: list[float], at: int) -> int:
    """Return the first position with the fewest crossings for the vertex at a position, which itself wins a tie.

    `costs` holds, for the vertex of every position, the additional crossings if the moved vertex stands left of it.
    """
    best, least = at, 0.0
    crossings = 0.0
    for position in range(at - 1, -1, -1):
        crossings += costs[position]
        if crossings < least or (crossings == least < 0):
            best, least = position, crossings
    crossings = 0.0
    for position in range(at + 1, len(costs)):
        crossings -= costs[position]
        if crossings < least:
            best, least = position, crossings
    return best
