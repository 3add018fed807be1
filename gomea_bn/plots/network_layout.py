"""Where the nodes of a graph go on paper: layers of variables, and bends for edges that cross layers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import ceil, sqrt
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, nearest
from gomea_bn.plots.layers import chains, ordered

__all__ = ["NetworkLayout", "network_layout"]

_STRAIGHTNESS = {0: 1.0, 1: 2.0, 2: 8.0}  # weight of a piece of an edge by how many of its ends are bends
_CENTRING = {True: 3.0, False: 0.5}  # over children: more than two pieces of edges weigh; under parents
_COMPACTNESS = 1e-3  # small: it only decides where nothing else does


class NetworkLayout(TypedDict):
    """Points of a drawing, y downwards.

    nodes : dict of str to (x, y)
        The centre of every node; y is the layer's number, 0 on top, and x is at least half the node's width.
    bends : dict of (parent, child) to list of (x, y)
        One point in every layer that the edge crosses, from the parent to the child; empty between
        neighbouring layers.
    """

    nodes: dict[str, tuple[float, float]]
    bends: dict[tuple[str, str], list[tuple[float, float]]]


def network_layout(
    names: Sequence[str],
    edges: Iterable[tuple[str, str]],
    *,
    widths: Mapping[str, float] | None = None,
    gap: float = 0.3,
) -> NetworkLayout:
    """Return node positions in layers, parents above children, and bends that keep edges clear of nodes.

    Nodes without edges stand in rows below the rest. An edge that would close a cycle with edges listed
    before it points upwards. The same input gives the same layout.

    Parameters
    ----------
    names : sequence of str
        The nodes.
    edges : iterable of (parent, child)
        Names; doubled ones count once. Cycles are allowed, an edge from a node to itself is not.
    widths : mapping of str to float, optional
        Width of every node in the unit wanted for x (pixels, points); 1 by default.
    gap : float
        Least distance in x, in that unit, between neighbours of one layer: borders of nodes, and bends.

    Raises
    ------
    GomeaBnError
        For an edge that names no node or joins a node to itself, or a node without a width.

    Notes
    -----
    The steps of Sugiyama, Tagawa & Toda (1981): layers of least total edge length, and positions in them,
    as the linear programs of Gansner et al. ("A technique for drawing directed graphs", 1993, sections 2.3
    and 4.2), with a further term that puts nodes midway between their parents and between their children;
    the order within layers is that of `gomea_bn.plots.layers`.

    Examples
    --------
    >>> layout = network_layout(["a", "b", "c"], [("a", "b"), ("b", "c"), ("a", "c")])
    >>> [layout["nodes"][name][1] for name in "abc"], len(layout["bends"]["a", "c"])
    ([0.0, 1.0, 2.0], 1)
    """
    own = list(dict.fromkeys(names))
    kept = _checked_edges(edges, own)
    breadths = _checked_widths(widths, own)
    joined = {name for edge in kept for name in edge}
    nodes = [name for name in own if name in joined]
    index = {name: place for place, name in enumerate(nodes)}
    pairs = _downward([(index[parent], index[child]) for parent, child in kept])
    layers = _layers(len(nodes), pairs)
    paths = chains(layers, pairs)
    pieces = [piece for path in paths for piece in pairwise(path)]
    rows = ordered(_by_layer(layers), pieces)
    half = np.zeros(len(layers))
    half[: len(nodes)] = [breadths[name] / 2 for name in nodes]
    places = _places(rows, pieces, half, gap, len(nodes))
    points = [(float(x), float(layer)) for x, layer in zip(places, layers)]
    bends = {}
    for (parent, child), path in zip(kept, paths):
        inner = [points[place] for place in path[1:-1]]
        bends[parent, child] = inner if path[0] == index[parent] else inner[::-1]
    found = dict(zip(nodes, points))
    alone = [name for name in own if name not in joined]
    found |= _isolated(alone, breadths, gap, len(rows), float((places + half).max(initial=0.0)))
    return {"nodes": {name: found[name] for name in own}, "bends": bends}


def _checked_edges(edges: Iterable[tuple[str, str]], names: list[str]) -> list[tuple[str, str]]:
    """Return every edge once, in the given order."""
    kept: dict[tuple[str, str], None] = {}
    for parent, child in edges:
        for end in (parent, child):
            if end not in names:
                raise GomeaBnError(f"Edge '{parent}' → '{child}': no node '{end}'.{nearest(str(end), names)}")
        if parent == child:
            raise GomeaBnError(f"Edge '{parent}' → '{child}' joins a node to itself.")
        kept[parent, child] = None
    return list(kept)


def _checked_widths(widths: Mapping[str, float] | None, names: list[str]) -> dict[str, float]:
    if widths is None:
        return dict.fromkeys(names, 1.0)
    for name in names:
        if name not in widths or not 0 <= widths[name] < np.inf:
            got = repr(widths[name]) if name in widths else "none"
            raise GomeaBnError(f"widths['{name}'] must be a finite number of at least 0, got {got}.")
    return {name: float(widths[name]) for name in names}


def _downward(edges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the edges, turned round where they close a cycle with earlier ones: a graph without cycles."""
    children: dict[int, list[int]] = {}
    turned = []
    for parent, child in edges:
        top, bottom = (child, parent) if _leads_to(children, child, parent) else (parent, child)
        children.setdefault(top, []).append(bottom)
        turned.append((top, bottom))
    return turned


def _leads_to(children: Mapping[int, list[int]], start: int, goal: int) -> bool:
    """Return whether a path of edges leads from one node to the other."""
    seen, waiting = {start}, [start]
    while waiting:
        new = [node for node in children.get(waiting.pop(), ()) if node not in seen]
        seen.update(new)
        waiting += new
    return goal in seen


def _layers(n_nodes: int, edges: list[tuple[int, int]]) -> list[int]:
    """Return the layer of every node: children below parents, total length of the edges least."""
    if not n_nodes:
        return []
    cost = np.zeros(n_nodes)
    program = _Program(n_nodes)
    for parent, child in edges:
        cost[parent] -= 1
        cost[child] += 1
        program.keep_apart(parent, child, 1.0)
    return [round(depth) for depth in program.minimum(cost).tolist()]


def _by_layer(layers: list[int]) -> list[list[int]]:
    """Return the places of every layer."""
    rows: list[list[int]] = [[] for _ in range(max(layers, default=-1) + 1)]
    for place, layer in enumerate(layers):
        rows[layer].append(place)
    return rows


def _places(
    rows: list[list[int]],
    pieces: list[tuple[int, int]],
    half: NDArray[np.float64],
    gap: float,
    n_nodes: int,
) -> NDArray[np.float64]:
    """Return x of every place: straight edges first, then nodes midway between their neighbours."""
    n_places = len(half)
    if not n_places:
        return np.zeros(0)
    program = _Program(n_places)
    cost = [_COMPACTNESS] * n_places
    for row in rows:
        program.keep_right_of(row[0], half[row[0]])
        for left, right in pairwise(row):
            program.keep_apart(left, right, half[left] + half[right] + gap)
    sides: dict[tuple[int, bool], list[int]] = {}
    for upper, lower in pieces:
        program.measure({upper: 1.0, lower: -1.0})
        cost.append(_STRAIGHTNESS[(upper >= n_nodes) + (lower >= n_nodes)])
        sides.setdefault((upper, True), []).append(lower)
        sides.setdefault((lower, False), []).append(upper)
    for (place, is_above), others in sides.items():
        if len(others) > 1:
            program.measure({place: 1.0, **dict.fromkeys(others, -1.0 / len(others))})
            cost.append(_CENTRING[is_above])
    return program.minimum(np.array(cost))[:n_places]


def _isolated(
    names: list[str], widths: Mapping[str, float], gap: float, layer: int, room: float
) -> dict[str, tuple[float, float]]:
    """Return points of nodes without edges, in rows about as long as the room or as there are rows."""
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
    """A linear program over places and, behind them, the absolute values that `measure` adds."""

    def __init__(self, n_places: int) -> None:
        self.n_variables = n_places
        self.least = [0.0] * n_places
        self.rows: list[dict[int, float]] = []
        self.bounds: list[float] = []

    def keep_right_of(self, place: int, least: float) -> None:
        """Demand x[place] >= least."""
        self.least[place] = least

    def keep_apart(self, left: int, right: int, distance: float) -> None:
        """Demand x[right] - x[left] >= distance."""
        self.rows.append({left: 1.0, right: -1.0})
        self.bounds.append(-distance)

    def measure(self, terms: Mapping[int, float]) -> None:
        """Add a variable that is at least the absolute value of the sum of weight * x[place]."""
        for sign in (1.0, -1.0):
            row = {place: sign * weight for place, weight in terms.items()}
            self.rows.append({**row, self.n_variables: -1.0})
            self.bounds.append(0.0)
        self.least.append(0.0)
        self.n_variables += 1

    def minimum(self, cost: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variables, float64 (n_variables,), at which the cost is least."""
        from scipy.optimize import linprog
        from scipy.sparse import coo_array

        entries = [(row, at, value) for row, terms in enumerate(self.rows) for at, value in terms.items()]
        row, column, value = (np.array(part) for part in zip(*entries))
        matrix: Any = coo_array((value, (row, column)), shape=(len(self.rows), self.n_variables)).tocsr()
        limits = [(least, None) for least in self.least]
        solution = linprog(cost, A_ub=matrix, b_ub=self.bounds, bounds=limits, method="highs-ds")
        if solution.status != 0:
            raise RuntimeError(f"The layout's linear program was not solved: {solution.message}")
        return np.asarray(solution.x, dtype=np.float64)
