"""The positions of variables and the routes of edges in the drawing that all networks of a page share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gomea_bn.plots.layers import chains, ordered
from gomea_bn.review.routes import points_on, routes
from gomea_bn.texts import text_width

__all__ = ["Layout", "consensus_arcs", "layout"]

BOX_HEIGHT = 30.0
# between boxes of a row
_GAP = 40.0
# between the centres of rows
_ROW_GAP = 84.0
_MARGIN = 14.0
# width of the bin count and the padding
_BADGE = 36.0
_NARROWEST, _WIDEST = 62.0, 172.0
# an arc of a smaller share of the networks shapes the layout only if it alone connects a variable to the others
_OFTEN = 0.3
# the expert's arcs count as if half of the networks had them
_EXPERT_WEIGHT = 0.5
_SWEEPS = 12


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions of all variables and routes of all edges, in pixels at full size.

    Attributes
    ----------
    width, height : float
        Size of the drawing.
    boxes : ndarray of shape (n_variables, 4), float64
        Centre x, centre y, width and height of the box of each variable.
    curves : dict of (int, int) to ndarray of shape (3 k + 1, 2)
        Cubic Bezier pieces from the border of i's box to the border of j's box, for pairs with i < j.
    """

    width: float
    height: float
    boxes: NDArray[np.float64]
    curves: dict[tuple[int, int], NDArray[np.float64]]


def layout(
    names: Sequence[str], shares: NDArray[np.float64], expert: NDArray[np.bool_] | None = None
) -> Layout:
    """Return positions that suit many networks, and a route for every pair that any network or the expert joins.

    Parameters
    ----------
    names : sequence of str
        Names of the variables, whose lengths determine the widths of the boxes.
    shares : ndarray of shape (n_variables, n_variables)
        Share of the networks that have the arc i -> j, at [i, j].
    expert : ndarray of shape (n_variables, n_variables), optional
        Arcs of the expert.
    """
    arcs = consensus_arcs(shares, expert)
    widths = np.array([box_width(name) for name in names])
    rows = _uncrossed(_rows(len(names), arcs), arcs, len(names))
    x = _horizontal(rows, widths, arcs)
    boxes = np.empty((len(names), 4))
    for height, row in enumerate(rows):
        boxes[row, 1] = _MARGIN + BOX_HEIGHT / 2 + height * _ROW_GAP
    boxes[:, 0], boxes[:, 2], boxes[:, 3] = x, widths, BOX_HEIGHT
    weight = _weights(shares, expert)
    strength = np.minimum(weight + weight.T, 1.0)
    pairs = {(int(i), int(j)): float(strength[i, j]) for i, j in np.argwhere(np.triu(strength, 1) > 0)}
    return _framed(boxes, routes(boxes, pairs))


def box_width(name: str) -> float:
    """Return the width of a variable's box in pixels; the page shortens names that are longer."""
    return min(max(text_width(name) + _BADGE, _NARROWEST), _WIDEST)


def consensus_arcs(
    shares: NDArray[np.float64], expert: NDArray[np.bool_] | None = None
) -> dict[tuple[int, int], float]:
    """Return acyclic arcs and their weights: frequent arcs, and rarer ones that connect parts of the graph.

    Pairs are added by falling weight (the sum over both directions) in their more frequent direction. An arc that
    would close a cycle is reversed, which cannot close another cycle.
    """
    weight = _weights(shares, expert)
    n = len(weight)
    strength = weight + weight.T
    pairs = [(int(i), int(j)) for i, j in np.argwhere(np.triu(strength, 1) > 0)]
    pairs.sort(key=lambda pair: -strength[pair])
    # [i, j]: whether a directed path leads from i to j
    reach = np.eye(n, dtype=bool)
    component = list(range(n))
    chosen: dict[tuple[int, int], float] = {}
    for i, j in pairs:
        apart = component[i] != component[j]
        if not apart and strength[i, j] < _OFTEN:
            continue
        tail, head = (i, j) if weight[i, j] >= weight[j, i] else (j, i)
        if reach[head, tail]:
            tail, head = head, tail
        chosen[tail, head] = float(strength[i, j])
        reach |= np.outer(reach[:, tail], reach[head])
        if apart:
            old, new = component[j], component[i]
            component = [new if label == old else label for label in component]
    return chosen


def _weights(shares: NDArray[np.float64], expert: NDArray[np.bool_] | None) -> NDArray[np.float64]:
    return shares + (_EXPERT_WEIGHT * expert if expert is not None else 0.0)


def _rows(n: int, arcs: dict[tuple[int, int], float]) -> list[list[int]]:
    """Return the variables of each row, from the top: parents above children where a compact drawing allows it."""
    rank = _ranks(n, arcs)
    touched = {variable for arc in arcs for variable in arc}
    most_rows = max(3, math.ceil(1.25 * math.sqrt(n)))
    deepest = max((rank[variable] for variable in touched), default=0) + 1
    if deepest > most_rows:
        rank = [depth * most_rows // deepest for depth in rank]
    layers: list[list[int]] = [[] for _ in range(max(rank) + 1)]
    for variable in range(n):
        if variable in touched:
            layers[rank[variable]].append(variable)
    layers = [layer for layer in layers if layer]
    if len(touched) < n:
        layers.append([variable for variable in range(n) if variable not in touched])
    capacity = max(3, round(math.sqrt(1.3 * n)))
    rows = []
    for layer in _uncrossed(layers, arcs, n):
        parts = math.ceil(len(layer) / capacity)
        rows += [layer[part::parts] for part in range(parts)]
    return rows


def _ranks(n: int, arcs: dict[tuple[int, int], float]) -> list[int]:
    """Return the length of the longest path that leads to each variable."""
    rank = [0] * n
    for _ in range(n):
        before = list(rank)
        for tail, head in arcs:
            rank[head] = max(rank[head], rank[tail] + 1)
        if rank == before:
            break
    return rank


def _uncrossed(rows: list[list[int]], arcs: Iterable[tuple[int, int]], n: int) -> list[list[int]]:
    """Return the rows, reordered to reduce crossings of the arcs between them."""
    layers = [0] * n
    for height, row in enumerate(rows):
        for variable in row:
            layers[variable] = height
    downward = [(i, j) if layers[i] < layers[j] else (j, i) for i, j in arcs]
    between = [(upper, lower) for upper, lower in downward if layers[upper] != layers[lower]]
    pieces = [piece for path in chains(layers, between) for piece in pairwise(path)]
    full = [
        [*row, *(dummy for dummy in range(n, len(layers)) if layers[dummy] == height)]
        for height, row in enumerate(rows)
    ]
    return [[variable for variable in row if variable < n] for row in ordered(full, pieces)]


def _horizontal(
    rows: list[list[int]], widths: NDArray[np.float64], arcs: dict[tuple[int, int], float]
) -> NDArray[np.float64]:
    """Return x of every variable, (n,): near its neighbours, without overlaps, in rows of similar width."""
    needed = max(widths[row].sum() + _GAP * (len(row) - 1) for row in rows)
    x = np.zeros(len(widths))
    for row in rows:
        spread = np.linspace(0, needed, len(row) + 2)[1:-1]
        x[row] = _apart(spread, widths[row])
    pull = np.zeros((len(widths), len(widths)))
    for (tail, head), weight in arcs.items():
        pull[tail, head] = pull[head, tail] = weight
    for _ in range(_SWEEPS):
        for row in rows:
            total = pull[row].sum(axis=1) + 0.35
            # a weight for the present position dampens the sweeps
            targets = (pull[row] @ x + 0.35 * x[row]) / total
            order = np.argsort(targets, kind="stable")
            row[:] = [row[index] for index in order]
            x[row] = np.clip(_apart(targets[order], widths[row]), -needed, 2 * needed)
            middle = (x[row[0]] - widths[row[0]] / 2 + x[row[-1]] + widths[row[-1]] / 2) / 2
            x[row] += 0.5 * (needed / 2 - middle)
    return x


def _apart(targets: NDArray[np.float64], widths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the positions, (k,), nearest to the targets by least squares among those that keep all gaps."""
    from scipy.optimize import isotonic_regression

    offsets = np.concatenate(([0.0], np.cumsum((widths[:-1] + widths[1:]) / 2 + _GAP)))
    return np.asarray(isotonic_regression(targets - offsets).x + offsets, np.float64)


def _framed(boxes: NDArray[np.float64], curves: dict[tuple[int, int], NDArray[np.float64]]) -> Layout:
    """Return the layout, shifted so that boxes and curves begin at the margin."""
    corners = [boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2]
    corners += [points_on(curve) for curve in curves.values()]
    points = np.concatenate(corners)
    shift = _MARGIN - points.min(axis=0)
    width, height = (points.max(axis=0) + shift + _MARGIN).tolist()
    moved = boxes.copy()
    moved[:, :2] += shift
    return Layout(width, height, moved, {pair: curve + shift for pair, curve in curves.items()})
