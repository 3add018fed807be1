"""Compiled search for an order within the layers of a drawing, see `gomea_bn.plots.network_layout`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.runtime.jit import kernel


class LayeredGraph(NamedTuple):
    """A graph whose edges join neighbouring rows; V vertices are numbered row by row, E is the number of edges."""

    # (n_rows + 1,) first vertex of every row; an order of the V vertices has every row at these positions too
    rows_at: NDArray[np.int64]
    above_at: NDArray[np.int64]  # (V + 1,) where the neighbours of every vertex start in `above`
    above: NDArray[np.int64]  # (E,) neighbours in the row above; those of duplicate edges occur repeatedly
    below_at: NDArray[np.int64]  # (V + 1,)
    below: NDArray[np.int64]  # (E,) neighbours in the row below


class Workspace(NamedTuple):
    """Arrays that the search overwrites; W is the number of vertices of the longest row."""

    order: NDArray[np.int64]  # (V,)
    place: NDArray[np.int64]  # (V,) position of every vertex within its row
    # (W, W) additional crossings of two vertices of a row with the first left of the second, over right of it
    surplus: NDArray[np.int64]
    mean: NDArray[np.float64]  # (V,) mean position of the neighbours
    slots: NDArray[np.int64]  # (W,)
    moved: NDArray[np.int64]  # (W,)
    # (W + 1,) sums of counts over ranges of positions (Fenwick, "A new data structure for cumulative frequency
    # tables", 1994)
    tree: NDArray[np.int64]


@kernel
def reduce_crossings(
    graph: LayeredGraph, best: NDArray[np.int64], work: Workspace, patience: int, most_sweeps: int
) -> int:
    """Reorder the rows of `best`, (V,), and return the number of crossings that are left."""
    n = len(best)
    least = count_crossings(graph, best, work)
    for first in range(2):
        # the rows of a graph start in the order of their numbers
        for vertex in range(n):
            work.order[vertex] = vertex
        waited = 0
        for sweep in range(most_sweeps):
            if least == 0 or waited == patience:
                break
            _place(graph, work.order, work.place)
            _sweep(graph, work, sweep % 2 == first, sweep % 4 > 1)
            _sift(graph, work.order, work)
            crossings = count_crossings(graph, work.order, work)
            waited += 1
            if crossings < least:
                waited = 0
                least = crossings
                for at in range(n):
                    best[at] = work.order[at]
    _place(graph, best, work.place)
    while _sift(graph, best, work):
        pass
    return count_crossings(graph, best, work)


@kernel
def count_crossings(graph: LayeredGraph, order: NDArray[np.int64], work: Workspace) -> int:
    """Return the number of pairs of edges that cross; changes `work.place` and `work.tree`."""
    _place(graph, order, work.place)
    total = 0
    for row in range(len(graph.rows_at) - 2):
        width = graph.rows_at[row + 2] - graph.rows_at[row + 1]
        work.tree[: width + 1] = 0
        n_before = 0
        for at in range(graph.rows_at[row], graph.rows_at[row + 1]):
            start, end = graph.below_at[order[at]], graph.below_at[order[at] + 1]
            # edges of one vertex do not cross, so all are counted before they join the others
            for edge in range(start, end):
                node = work.place[graph.below[edge]] + 1
                total += n_before
                while node > 0:
                    total -= work.tree[node]
                    node -= node & -node
            for edge in range(start, end):
                node = work.place[graph.below[edge]] + 1
                while node <= width:
                    work.tree[node] += 1
                    node += node & -node
            n_before += end - start
    return total


@kernel
def _place(graph: LayeredGraph, order: NDArray[np.int64], place: NDArray[np.int64]) -> None:
    """Write the position of every vertex within its row."""
    for row in range(len(graph.rows_at) - 1):
        start = graph.rows_at[row]
        for at in range(start, graph.rows_at[row + 1]):
            place[order[at]] = at - start


@kernel
def _sweep(graph: LayeredGraph, work: Workspace, downward: bool, flip: bool) -> None:
    """Sort every row by the mean position of the neighbours in the row before; changes `work.order`.

    `flip` reverses equal vertices. Vertices without neighbours keep their positions.
    """
    n_rows = len(graph.rows_at) - 1
    neighbours_at = graph.above_at if downward else graph.below_at
    neighbours = graph.above if downward else graph.below
    for step in range(1, n_rows):
        row = step if downward else n_rows - 1 - step
        n_moved = 0
        for at in range(graph.rows_at[row], graph.rows_at[row + 1]):
            vertex = work.order[at]
            start, end = neighbours_at[vertex], neighbours_at[vertex + 1]
            if start == end:
                continue
            total = 0
            for edge in range(start, end):
                total += work.place[neighbours[edge]]
            work.mean[vertex] = total / (end - start)
            work.slots[n_moved] = at
            work.moved[n_moved] = vertex
            n_moved += 1
        if flip:
            for number in range(n_moved // 2):
                opposite = n_moved - 1 - number
                work.moved[number], work.moved[opposite] = work.moved[opposite], work.moved[number]
        _sort_by_mean(work, n_moved)
        for number in range(n_moved):
            at, vertex = work.slots[number], work.moved[number]
            work.order[at] = vertex
            work.place[vertex] = at - graph.rows_at[row]


@kernel
def _sort_by_mean(work: Workspace, n_moved: int) -> None:
    """Sort the first vertices of `work.moved` by `work.mean`; equal ones keep their order."""
    for number in range(1, n_moved):
        vertex = work.moved[number]
        at = number
        while at > 0 and work.mean[work.moved[at - 1]] > work.mean[vertex]:
            work.moved[at] = work.moved[at - 1]
            at -= 1
        work.moved[at] = vertex


@kernel
def _sift(graph: LayeredGraph, order: NDArray[np.int64], work: Workspace) -> bool:
    """Move every vertex to its position with the fewest crossings, row by row; return whether any moved.

    Changes `order` and `work.place`, which must have the positions of `order`.
    """
    any_moved = False
    for row in range(len(graph.rows_at) - 1):
        start, end = graph.rows_at[row], graph.rows_at[row + 1]
        work.surplus[: end - start, : end - start] = 0
        if row > 0:
            _add_surplus(work, start, end, graph.above_at, graph.above)
        if row < len(graph.rows_at) - 2:
            _add_surplus(work, start, end, graph.below_at, graph.below)
        for vertex in range(start, end):
            at = work.place[vertex]
            to = _best_position(order[start:end], work.surplus[vertex - start], start, at)
            if to == at:
                continue
            any_moved = True
            step = 1 if to > at else -1
            for position in range(at, to, step):
                other = order[start + position + step]
                order[start + position] = other
                work.place[other] = position
            order[start + to] = vertex
            work.place[vertex] = to
    return any_moved


@kernel
def _add_surplus(
    work: Workspace, start: int, end: int, neighbours_at: NDArray[np.int64], neighbours: NDArray[np.int64]
) -> None:
    """Add to `work.surplus` the crossings of the edges of the vertices of a row with one of its neighbouring rows."""
    for left in range(start, end):
        for right in range(left + 1, end):
            difference = 0
            for edge in range(neighbours_at[left], neighbours_at[left + 1]):
                place = work.place[neighbours[edge]]
                for other in range(neighbours_at[right], neighbours_at[right + 1]):
                    other_place = work.place[neighbours[other]]
                    if place > other_place:
                        difference += 1
                    elif place < other_place:
                        difference -= 1
            work.surplus[left - start, right - start] += difference
            work.surplus[right - start, left - start] -= difference


@kernel
def _best_position(row: NDArray[np.int64], surplus: NDArray[np.int64], start: int, at: int) -> int:
    """Return the first position in a row with the fewest crossings for the vertex at a position, which wins a tie.

    `surplus` holds the additional crossings if this vertex stands left of every other vertex of the row, by their
    numbers from `start` on.
    """
    best, least = at, 0
    crossings = 0
    for position in range(at - 1, -1, -1):
        crossings += surplus[row[position] - start]
        if crossings < least or (crossings == least and least < 0):
            best, least = position, crossings
    crossings = 0
    for position in range(at + 1, len(row)):
        crossings -= surplus[row[position] - start]
        if crossings < least:
            best, least = position, crossings
    return best
