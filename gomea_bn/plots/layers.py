"""Ordering the vertices within the layers of a drawing so that few edges cross."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gomea_bn.plots.kernels import LayeredGraph, Workspace, reduce_crossings


def chains(layers: list[int], edges: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Return every edge as a path with one vertex per layer, and append the layers of new vertices to `layers`.

    An edge leads from an upper to a lower vertex. A vertex is a node of the network, or a bend of an edge in a layer
    that it crosses.
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

    No move of a single vertex within its row saves a crossing. The same input gives the same order. Rows are those of
    the layers, from the top, and pieces are edges (upper, lower) between neighbouring rows; duplicates count
    repeatedly.

    Notes
    -----
    Sweeps down and up sort each row by the mean position of its neighbours in the previous row (Sugiyama, Tagawa &
    Toda, "Methods for visual understanding of hierarchical system structures", 1981). Between sweeps, each vertex moves
    to the position with the fewest crossings ("sifting": Matuszewski, Schönfeld & Molitor, "Using sifting for k-layer
    straightline crossing minimization", 1999). The best order of all is returned.
    """
    graph = _graph(rows, pieces)
    order = np.arange(graph.rows_at[-1])
    # the search ends after 32 sweeps without a better order
    reduce_crossings(graph, order, _workspace(graph), 32, 160)
    vertices = [vertex for row in rows for vertex in row]
    bounds = pairwise(graph.rows_at.tolist())
    return [[vertices[number] for number in order[start:end].tolist()] for start, end in bounds]


def _graph(rows: Sequence[Sequence[int]], pieces: Iterable[tuple[int, int]]) -> LayeredGraph:
    """Return the graph with its vertices numbered in the order of the rows."""
    number_of = {vertex: number for number, vertex in enumerate(vertex for row in rows for vertex in row)}
    edges = np.array([(number_of[upper], number_of[lower]) for upper, lower in pieces], np.int64)
    upper, lower = edges.reshape(-1, 2).T
    above_at, above = _neighbours(lower, upper, len(number_of))
    below_at, below = _neighbours(upper, lower, len(number_of))
    rows_at = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return LayeredGraph(rows_at=rows_at, above_at=above_at, above=above, below_at=below_at, below=below)


def _neighbours(
    ends: NDArray[np.int64], others: NDArray[np.int64], n_vertices: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the neighbours of every vertex start, (n_vertices + 1,), and the neighbours, one per edge."""
    starts = np.searchsorted(np.sort(ends), np.arange(n_vertices + 1)).astype(np.int64)
    return starts, others[np.argsort(ends, kind="stable")]


def _workspace(graph: LayeredGraph) -> Workspace:
    n_vertices = int(graph.rows_at[-1])
    widest = int(np.diff(graph.rows_at).max(initial=0))
    return Workspace(
        order=np.empty(n_vertices, np.int64),
        place=np.empty(n_vertices, np.int64),
        surplus=np.empty((widest, widest), np.int64),
        mean=np.empty(n_vertices),
        slots=np.empty(widest, np.int64),
        moved=np.empty(widest, np.int64),
        tree=np.empty(widest + 1, np.int64),
    )
