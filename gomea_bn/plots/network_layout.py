"""The layout of a graph: layers of nodes, and bends of edges that cross layers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from math import ceil, sqrt
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, nearest
from gomea_bn.network.graph import reachable
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


# weight of a piece of an edge, by the number of its ends that are bends
_STRAIGHTNESS = {0: 1.0, 1: 2.0, 2: 8.0}
# weight of nodes midway above their children (more than two pieces of edges) and midway below their parents
_CENTRING = {True: 3.0, False: 0.5}
_BOX_GAP, _ROW_HEIGHT = 24.0, 96.0
MOST_IN_LAYERS = 500
"""Number of nodes above which the layers take more than a few seconds."""


class NetworkLayout(TypedDict):
    """Points of a drawing, y downwards.

    nodes : dict of str to (x, y)
        Centre of every node; y is the number of the layer, 0 at the top, and x is at least half the width of the node.
    bends : dict of (parent, child) to list of (x, y)
        One point per layer that the edge crosses, from the parent to the child; empty between neighbouring layers.
    """

    nodes: dict[str, tuple[float, float]]
    bends: dict[tuple[str, str], list[tuple[float, float]]]


def network_layout(
    names: Sequence[str],
    edges: Iterable[tuple[str, str]],
    *,
    widths: Mapping[str, float] | None = None,
    gap: float = 0.3,
    room: float | None = None,
    slices: Sequence[Sequence[str]] = (),
) -> NetworkLayout:
    """Return node positions in layers, parents above children, and bends that keep edges away from nodes.

    Nodes without edges are placed in rows below the others. An edge that would close a cycle with earlier edges points
    upwards. The same input gives the same layout.

    Parameters
    ----------
    names : sequence of str
        Names of the nodes.
    edges : iterable of (parent, child)
        Pairs of names; duplicates count once. Cycles are allowed, but no edge from a node to itself.
    widths : mapping of str to float, optional
        Width of every node in the unit of x (pixels, points); by default 1.
    gap : float
        Smallest distance in x between neighbours of a layer, which are borders of nodes or bends.
    room : float, optional
        Width that a drawing should have. A layer that needs more is divided into several, so the drawing is higher; it
        stays wider where too many edges run side by side. By default no layer is divided.
    slices : sequence of sequences of str
        All names, in groups whose layers are below those of the group before. By default there are no groups.

    Raises
    ------
    GomeaBnError
        For an edge with an unknown node or from a node to itself, and for a node without a width.

    Notes
    -----
    The steps are those of Sugiyama, Tagawa & Toda ("Methods for visual understanding of hierarchical system
    structures", 1981). The layers, of least total edge length, and the positions in them are the linear programs of
    Gansner et al. ("A technique for drawing directed graphs", 1993, sections 2.3 and 4.2). A further term puts nodes
    midway between their parents and between their children. The order within layers is that of `ordered`.

    Examples
    --------
    >>> layout = network_layout(["a", "b", "c"], [("a", "b"), ("b", "c"), ("a", "c")])
    >>> [layout["nodes"][name][1] for name in "abc"], len(layout["bends"]["a", "c"])
    ([0.0, 1.0, 2.0], 1)
    """
    all_nodes = list(dict.fromkeys(names))
    distinct_edges = _checked_edges(edges, all_nodes)
    width_of = _checked_widths(widths, all_nodes)
    connected = {name for edge in distinct_edges for name in edge} | {
        name for part in slices for name in part
    }
    nodes = [name for name in all_nodes if name in connected]
    index = {name: position for position, name in enumerate(nodes)}
    pairs = _downward([(index[parent], index[child]) for parent, child in distinct_edges])
    layering = list(_layers(len(nodes), tuple(pairs)))
    if slices:
        layering = _sliced([[index[name] for name in part] for part in slices], pairs)
    depths = _divided(layering, pairs, [width_of[name] + gap for name in nodes], gap, room)
    layers = list(depths)
    paths = chains(layers, pairs)
    pieces = [piece for path in paths for piece in pairwise(path)]
    rows = ordered(_by_layer(layers), pieces)
    half = np.zeros(len(layers))
    half[: len(nodes)] = [width_of[name] / 2 for name in nodes]
    x_of = _x_positions(rows, pieces, half, gap, len(nodes), room)
    points = [(float(x), float(layer)) for x, layer in zip(x_of, layers)]
    bends = {}
    for (parent, child), path in zip(distinct_edges, paths):
        inner = [points[vertex] for vertex in path[1:-1]]
        bends[parent, child] = inner if path[0] == index[parent] else inner[::-1]
    centres = dict(zip(nodes, points))
    isolated = [name for name in all_nodes if name not in connected]
    centres |= _isolated(isolated, width_of, gap, len(rows), float((x_of + half).max(initial=room or 0.0)))
    return {"nodes": {name: centres[name] for name in all_nodes}, "bends": bends}


def node_boxes(
    names: Sequence[str], edges: Iterable[tuple[str, str]]
) -> dict[str, tuple[float, float, float, float]]:
    """Return (left, top, right, bottom) of the boxes of nodes in pixels, y downwards, for drawings in other programs.

    Widths grow with the names. More than 500 nodes are placed in rows regardless of edges, since their layout would
    take more than a few seconds. Parameters and errors are those of `network_layout`.
    """
    widths = {name: min(max(76.0, 7.0 * len(name) + 20), 220.0) for name in names}
    drawn = edges if len(names) <= MOST_IN_LAYERS else []
    nodes = network_layout(names, drawn, widths=widths, gap=_BOX_GAP)["nodes"]
    left = min(nodes[name][0] - widths[name] / 2 for name in names) - _BOX_GAP
    return {
        name: (
            x - widths[name] / 2 - left,
            _BOX_GAP + _ROW_HEIGHT * y,
            x + widths[name] / 2 - left,
            _BOX_GAP + _ROW_HEIGHT * y + 46.0,
        )
        for name, (x, y) in nodes.items()
    }


def _checked_edges(edges: Iterable[tuple[str, str]], names: list[str]) -> list[tuple[str, str]]:
    """Return the edges without duplicates, in the given order."""
    distinct: dict[tuple[str, str], None] = {}
    for parent, child in edges:
        for end in (parent, child):
            if end not in names:
                raise GomeaBnError(
                    f"Edge '{parent}' → '{child}': unknown node '{end}'.{nearest(str(end), names)}"
                )
        if parent == child:
            raise GomeaBnError(f"Edge '{parent}' → '{child}' connects a node with itself.")
        distinct[parent, child] = None
    return list(distinct)


def _checked_widths(widths: Mapping[str, float] | None, names: list[str]) -> dict[str, float]:
    if widths is None:
        return dict.fromkeys(names, 1.0)
    for name in names:
        if name not in widths or not 0 <= widths[name] < np.inf:
            got = repr(widths[name]) if name in widths else "none"
            raise GomeaBnError(f"widths['{name}'] must be a finite number of at least 0, got {got}.")
    return {name: float(widths[name]) for name in names}


def _downward(edges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the edges of an acyclic graph: an edge that closes a cycle with earlier ones is reversed."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    turned = []
    for parent, child in edges:
        top, bottom = (child, parent) if parent in reachable(children, [child]) else (parent, child)
        children[top].append(bottom)
        turned.append((top, bottom))
    return turned


# the same graph is laid out for several widths in a row
@lru_cache(maxsize=8)
def _layers(n_nodes: int, edges: tuple[tuple[int, int], ...]) -> tuple[int, ...]:
    """Return the layer of every node: children below parents, with the least total length of the edges.

    Of several such layerings it is the one that has every node in its uppermost layer, so that it does not depend on
    the solver. It exists because the minimum of two of them, node by node, is one of them too.
    """
    if not n_nodes:
        return ()
    # all layers together count less than one unit of length
    cost = np.full(n_nodes, 1.0 / n_nodes**2)
    program = _Program(n_nodes)
    for parent, child in edges:
        cost[parent] -= 1
        cost[child] += 1
        program.keep_apart(parent, child, 1.0)
    return tuple(round(depth) for depth in program.minimum(cost).tolist())


def _sliced(slices: Sequence[Sequence[int]], edges: Iterable[tuple[int, int]]) -> list[int]:
    """Return the layer of every node where the layers of every slice are below those of the slice before."""
    layer_of: dict[int, int] = {}
    for part in slices:
        position = {node: at for at, node in enumerate(part)}
        inside = [(position[a], position[b]) for a, b in edges if a in position and b in position]
        first = max(layer_of.values(), default=-1) + 1
        layer_of |= {node: first + layer for node, layer in zip(part, _layers(len(part), tuple(inside)))}
    return [layer_of[node] for node in sorted(layer_of)]


def _divided(
    layers: list[int], edges: list[tuple[int, int]], needs: list[float], gap: float, room: float | None
) -> list[int]:
    """Return the layers after those that need more than `room` are divided; parents stay above children.

    `needs` holds the width of every node with its gap. The upper part gets the nodes with more parents than children,
    which makes the edges shorter.
    """
    rank = [0] * len(layers)
    for parent, child in edges:
        rank[parent] += 1
        rank[child] -= 1
    # each division lengthens edges, whose bends may make a layer too wide again
    for _ in range(3):
        crossing = list(layers)
        chains(crossing, edges)
        rows = _by_layer(crossing)
        divided = list(layers)
        below = 0
        for depth, row in enumerate(rows):
            members = sorted(
                (vertex for vertex in row if vertex < len(layers)), key=lambda vertex: rank[vertex]
            )
            bends = gap * (len(row) - len(members))
            total = sum(needs[vertex] for vertex in members)
            n_parts = 1 if room is None else min(ceil((total + bends) / (room + gap)), len(members))
            filled = 0.0
            for vertex in members:
                part = min(int(n_parts * (filled + needs[vertex] / 2) / total), n_parts - 1)
                divided[vertex] = depth + below + part
                filled += needs[vertex]
            below += max(n_parts, 1) - 1
        if divided == layers:
            break
        # numbered without layers that hold no node
        number_of = {depth: number for number, depth in enumerate(sorted(set(divided)))}
        layers = [number_of[depth] for depth in divided]
    return layers


def _by_layer(layers: list[int]) -> list[list[int]]:
    """Return the vertices of every layer."""
    rows: list[list[int]] = [[] for _ in range(max(layers, default=-1) + 1)]
    for vertex, layer in enumerate(layers):
        rows[layer].append(vertex)
    return rows


def _x_positions(
    rows: list[list[int]],
    pieces: list[tuple[int, int]],
    half: NDArray[np.float64],
    gap: float,
    n_nodes: int,
    room: float | None,
) -> NDArray[np.float64]:
    """Return x of every vertex, chosen for straight edges and for nodes midway between their neighbours.

    No row ends beyond `room`, or beyond the width of the widest row without spaces.
    """
    n_vertices = len(half)
    if not n_vertices:
        return np.zeros(0)
    program = _Program(n_vertices)
    # small, so that it decides only between equal layouts
    cost = [1e-3] * n_vertices
    widths = [2 * half[row].sum() + gap * (len(row) - 1) for row in rows]
    end = np.inf if room is None else max(room, *widths)
    for row in rows:
        program.least[row[0]] = half[row[0]]
        program.most[row[-1]] = end - half[row[-1]]
        for left, right in pairwise(row):
            program.keep_apart(left, right, half[left] + half[right] + gap)
    sides: dict[tuple[int, bool], list[int]] = {}
    for upper, lower in pieces:
        program.measure({upper: 1.0, lower: -1.0})
        cost.append(_STRAIGHTNESS[(upper >= n_nodes) + (lower >= n_nodes)])
        sides.setdefault((upper, True), []).append(lower)
        sides.setdefault((lower, False), []).append(upper)
    for (vertex, is_above), others in sides.items():
        if len(others) > 1:
            program.measure({vertex: 1.0, **dict.fromkeys(others, -1.0 / len(others))})
            cost.append(_CENTRING[is_above])
    return program.minimum(np.array(cost))[:n_vertices]


def _isolated(
    names: list[str], widths: Mapping[str, float], gap: float, layer: int, room: float
) -> dict[str, tuple[float, float]]:
    """Return points of nodes without edges, in rows of the width `room` or of a square, whichever is wider."""
    if not names:
        return {}
    per_row = ceil(sqrt(len(names)))
    room = max(room, (gap + max(widths[name] for name in names)) * per_row - gap)
    rows: list[list[str]] = [[]]
    lengths = [-gap]
    for name in names:
        if rows[-1] and lengths[-1] + gap + widths[name] > room:
            rows.append([])
            lengths.append(-gap)
        rows[-1].append(name)
        lengths[-1] += gap + widths[name]
    points = {}
    for number, (row, length) in enumerate(zip(rows, lengths)):
        x = (room - length) / 2
        for name in row:
            points[name] = (x + widths[name] / 2, float(layer + number))
            x += widths[name] + gap
    return points


class _Program:
    """A linear program over the x of vertices, followed by the absolute values that `measure` adds."""

    def __init__(self, n_vertices: int) -> None:
        self.n_variables = n_vertices
        # ends of the range of every variable
        self.least = [0.0] * n_vertices
        self.most = [np.inf] * n_vertices
        # (row, column, value) of the matrix of the restrictions, as three lists
        self.entries: tuple[list[int], list[int], list[float]] = ([], [], [])
        self.bounds: list[float] = []

    def keep_apart(self, left: int, right: int, distance: float) -> None:
        """Require x[right] - x[left] >= distance."""
        self._restrict((left, right), (1.0, -1.0), -distance)

    def measure(self, terms: Mapping[int, float]) -> None:
        """Add a variable for the absolute value of the sum of weight * x[vertex]."""
        vertices, weights = (*terms, self.n_variables), terms.values()
        self._restrict(vertices, (*weights, -1.0), 0.0)
        self._restrict(vertices, (*(-weight for weight in weights), -1.0), 0.0)
        self.least.append(0.0)
        self.most.append(np.inf)
        self.n_variables += 1

    def _restrict(self, vertices: tuple[int, ...], weights: tuple[float, ...], most: float) -> None:
        """Require that the sum of weight * x[vertex] is at most `most`."""
        rows, columns, values = self.entries
        rows += [len(self.bounds)] * len(vertices)
        columns += vertices
        values += weights
        self.bounds.append(most)

    def minimum(self, cost: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variables with the least cost, float64 (n_variables,)."""
        # without integers `milp` is a linear program, with half of the preparation of `linprog`
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import coo_array

        rows, columns, values = self.entries
        shape = (len(self.bounds), self.n_variables)
        matrix: Any = coo_array((values, (rows, columns)), shape=shape).tocsc()
        constraint = LinearConstraint(matrix, ub=np.array(self.bounds))
        solution = milp(
            cost, constraints=constraint, bounds=Bounds(np.array(self.least), np.array(self.most))
        )
        if solution.status != 0:
            raise RuntimeError(f"The linear program of the layout was not solved: {solution.message}")
        return np.asarray(solution.x, dtype=np.float64)
