"""The order of places within the layers of a drawing, so that few edges cross."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["chains", "ordered"]

_PATIENCE = 8  # sweeps without a better order before the search ends
_MOST_SWEEPS = 40

Links = list[NDArray[np.float64]]  # per two neighbouring rows, [u, v]: edges from upper u to lower v
Order = list[NDArray[np.intp]]  # per row: indices into the row as it was given, from left to right


def chains(layers: list[int], edges: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Return every edge as a path with one place per layer; appends the layers of new places to `layers`.

    Parameters
    ----------
    layers : list of int
        The layer of every vertex. Mutated.
    edges : iterable of (upper, lower)
        Vertices, the second in a deeper layer than the first.
    """
    paths = []
    for upper, lower in edges:
        between = range(layers[upper] + 1, layers[lower])
        bends = range(len(layers), len(layers) + len(between))
        layers += between
        paths.append([upper, *bends, lower])
    return paths


def ordered(rows: Sequence[Sequence[int]], pieces: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Return the rows with their places in an order with few crossings, never more than in the given one.

    No move of one place within its row saves a crossing. The same input gives the same order.

    Parameters
    ----------
    rows : sequence of sequence of int
        The places of every layer, from above.
    pieces : iterable of (upper, lower)
        Edges between neighbouring rows, doubled ones as often as they are given; `chains` parts longer ones.

    Notes
    -----
    Sweeps down and up sort each row by the mean position of its neighbours in the row before (Sugiyama,
    Tagawa & Toda, "Methods for visual understanding of hierarchical system structures", 1981). Between
    sweeps, places move one at a time to where they cross least ("sifting": Matuszewski, Schönfeld & Molitor,
    "Using sifting for k-layer straightline crossing minimization", 1999). The best order met is kept.
    """
    links = _links(rows, pieces)
    given = [np.arange(len(row)) for row in rows]
    best, least = given, _count(links, given)
    for first in (0, 1):
        order, waited = given, 0
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
    return [[row[at] for at in found.tolist()] for row, found in zip(rows, best)]


def _links(rows: Sequence[Sequence[int]], pieces: Iterable[tuple[int, int]]) -> Links:
    seat = {place: (number, at) for number, row in enumerate(rows) for at, place in enumerate(row)}
    links = [np.zeros((len(upper), len(lower))) for upper, lower in pairwise(rows)]
    for upper, lower in pieces:
        number, at = seat[upper]
        links[number][at, seat[lower][1]] += 1
    return links


def _joined(links: Links, order: Order, number: int, *, above: bool) -> NDArray[np.float64]:
    """Return the links of a row's places, as given, with the row above or below, in order."""
    return links[number - 1].T[:, order[number - 1]] if above else links[number][:, order[number + 1]]


def _pair_crossings(joined: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return [u, v]: crossings of u's edges with v's if u stands left of v; joined: (row, other row in order)."""
    left_of = np.cumsum(joined, axis=1) - joined
    return np.asarray(joined @ left_of.T)


def _count(links: Links, order: Order) -> int:
    """Return how many pairs of edges cross."""
    total = 0.0
    for number, joined in enumerate(links):
        placed = joined[np.ix_(order[number], order[number + 1])]
        total += np.triu(_pair_crossings(placed), 1).sum()
    return int(total)


def _swept(links: Links, order: Order, *, downward: bool, flip: bool) -> Order:
    """Return the order after one sweep; flip turns round places that tie. Places without neighbours stay."""
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
    """Move places to where they cross least in their rows; return whether any did. Mutates the rows."""
    moved = [_sift_row(links, order, number) for number in range(len(order))]
    return any(moved)


def _sift_row(links: Links, order: Order, number: int) -> bool:
    """Move the places of one row; return whether any did. Mutates the row."""
    row = order[number]
    pairs = np.zeros((len(row), len(row)))
    for above in (True, False):
        if 0 <= number - above < len(links):
            pairs += _pair_crossings(_joined(links, order, number, above=above))
    dearer = pairs - pairs.T  # [u, v]: what u left of v costs more than u right of v
    moved = False
    for place in range(len(row)):
        at = int(np.argmax(row == place))
        past = np.cumsum(-dearer[place, row])  # crossings by where it stands, up to a constant
        past[:at] += dearer[place, row[:at]]
        to = int(np.argmin(past))
        if past[to] < past[at]:
            if to > at:
                row[at:to] = row[at + 1 : to + 1]
            else:
                row[to + 1 : at + 1] = row[to:at]
            row[to] = place
            moved = True
    return moved
