"""The positions of variables and the routes of edges in the drawing that all networks of a page share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gomea_bn.plots.network_layout import MOST_IN_LAYERS, network_layout
from gomea_bn.review.routes import points_on, routes
from gomea_bn.texts import text_width

_MARGIN = 14.0
# after these a name may continue on a second line
_BREAKS = " _-./,:;|"
# an arc of a smaller share of the networks shapes the layout only if it alone connects a variable to the others
_OFTEN = 0.3


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions of all variables and routes of all edges, in pixels at full size."""

    width: float
    height: float
    boxes: NDArray[np.float64]  # (n_variables, 4) centre x, centre y, width and height of each variable's box
    # cubic Bezier pieces (3 k + 1, 2) from the border of i's box to the border of j's box, for pairs with i < j
    curves: dict[tuple[int, int], NDArray[np.float64]]


def layout(
    names: Sequence[str], shares: NDArray[np.float64], expert: NDArray[np.bool_] | None = None
) -> Layout:
    """Return positions that suit many networks, and a route for every pair that any network or the expert joins.

    The lengths of names determine the widths of boxes. `shares` has at [i, j] the share of the networks with the arc
    i -> j, and `expert` the arcs of the expert.
    """
    sizes = box_sizes(names)
    labels = [str(number) for number in range(len(names))]
    arcs = consensus_arcs(shares, expert) if len(names) <= MOST_IN_LAYERS else {}
    # the gap is that between boxes of a row, which is divided where it is wider than the room
    placed = network_layout(
        labels,
        [(labels[tail], labels[head]) for tail, head in arcs],
        widths=dict(zip(labels, sizes[:, 0].tolist())),
        gap=34.0,
        room=1000.0,
    )
    centres = np.array([placed["nodes"][label] for label in labels])
    # between the centres of rows, in addition to the height of a box
    centres[:, 1] *= sizes[0, 1] + 46.0
    boxes = np.hstack([centres, sizes])
    weight = _weights(shares, expert)
    strength = np.minimum(weight + weight.T, 1.0)
    pairs = {(int(i), int(j)): float(strength[i, j]) for i, j in np.argwhere(np.triu(strength, 1) > 0)}
    return _framed(boxes, routes(boxes, pairs))


def line_break(name: str) -> int | None:
    """Return the number of characters in the first of the two lines of a name in its box, None for one line.

    A longer name is broken near its middle.
    """
    breaks = [at for at in range(3, len(name) - 2) if name[at - 1] in _BREAKS]
    # characters of a name that stand in one line
    if len(name) <= 12 or not breaks:
        return None
    return min(breaks, key=lambda at: abs(at - len(name) / 2))


def box_sizes(names: Sequence[str]) -> NDArray[np.float64]:
    """Return width and height of the box of every variable in pixels, (n, 2); the page shortens longer names."""
    breaks = [line_break(name) for name in names]
    lines = [[name] if at is None else [name[:at], name[at:]] for name, at in zip(names, breaks)]
    # width of the bin count and the padding
    widths = [max(map(text_width, texts)) + 22.0 for texts in lines]
    # 13 pixels for every line of a name, and padding
    height = 13.0 * max(map(len, lines)) + 11.0
    return np.array([[min(max(width, 50.0), 172.0), height] for width in widths])


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
    # the expert's arcs count as if half of the networks had them
    return shares + (0.5 * expert if expert is not None else 0.0)


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
