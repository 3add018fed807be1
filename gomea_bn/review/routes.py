"""Routes of edges between boxes in rows: curves that avoid all boxes other than the two that they join."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]

# least distance between an edge and a box that it does not join
_CLEARANCE = 6.0
_BENDS = (0.0, *np.arange(14.0, 160.0, 14.0).tolist(), 180.0, 220.0, 270.0, 330.0)
# position of the bend along the edge, as a share of its length
_LEANS = (0.5, 0.3, 0.7)
# depth of edges that leave a row and return to it
_DIPS = (38.0, 46.0, 54.0)
# (lean, bend, cost) of single pieces by rising cost; the bend to the other side is negative
_SHAPES = np.array(
    sorted(
        (
            (lean, side * bend, bend + (6.0 if lean != 0.5 else 0.0))
            for bend in _BENDS
            for lean in (_LEANS if bend else _LEANS[:1])
            for side in ((1.0, -1.0) if bend else (1.0,))
        ),
        key=lambda shape: shape[2],
    )
)
_SAMPLES = 97
_HIT = 10_000.0
# offsets within a gap, so that edges do not merge
_LANES = (0.0, 6.0, -6.0, 12.0, -12.0, 18.0, -18.0, 24.0, -24.0)
_LANE_WIDTH = 5.0


Traffic = dict[float, list[tuple[float, float]]]
"""By the y of each row: (x, weight) of every edge that crosses it."""


def routes(boxes: Points, pairs: Mapping[tuple[int, int], float]) -> dict[tuple[int, int], Points]:
    """Return for every pair a curve of cubic Bezier pieces, (3 k + 1, 2), that avoids all other boxes.

    A curve runs from the border of the first box to the border of the second. It is the least bent single piece that
    avoids all other boxes. If there is none, or if it would be very wide, the curve has several pieces, which pass
    through gaps in the rows between the two boxes.

    `boxes` (n, 4) are centre x, centre y, width, height; those of a row have the same y and do not overlap. `pairs` are
    boxes to join, with the weight of each edge from 0 to 1. Edges avoid the lanes of edges with large weights.
    """
    traffic: Traffic = {float(y): [] for y in boxes[:, 1]}
    curves = {}
    for pair in sorted(pairs, key=lambda pair: (-pairs[pair], pair)):
        curves[pair] = _route(boxes, *pair, traffic)
        _join(traffic, curves[pair], pairs[pair])
    return curves


def points_on(curve: Points, n_points: int = _SAMPLES) -> Points:
    """Return points along a curve of cubic Bezier pieces (3 k + 1, 2): (k * n_points, 2)."""
    pieces = np.stack([curve[start : start + 4] for start in range(0, len(curve) - 1, 3)])
    return _along(pieces, n_points).reshape(-1, 2)


def box_hits(points: Points, boxes: Points, margin: float) -> NDArray[np.bool_]:
    """Return whether each set of points (k, p, 2) enters each box (n, 4) extended by a margin: bool (k, n)."""
    x, y = points[:, :, None, 0], points[:, :, None, 1]
    inside = np.abs(x - boxes[:, 0]) < boxes[:, 2] / 2 + margin
    inside &= np.abs(y - boxes[:, 1]) < boxes[:, 3] / 2 + margin
    return np.asarray(inside.any(axis=1), np.bool_)


def _may_hit(pieces: Points, boxes: Points, margin: float) -> NDArray[np.bool_]:
    """Return whether each box, extended by a margin, meets the rectangle around all control points, bool (n,).

    Curves lie between their control points.
    """
    low, high = pieces.min(axis=(0, 1)), pieces.max(axis=(0, 1))
    reach = boxes[:, 2:] / 2 + margin
    return np.asarray(((boxes[:, :2] + reach > low) & (boxes[:, :2] - reach < high)).all(axis=1), np.bool_)


def _along(pieces: Points, n_points: int) -> Points:
    """Return points along cubic Bezier pieces (k, 4, 2): (k, n_points, 2)."""
    return np.asarray(_bernstein(n_points) @ pieces, np.float64)


@cache
def _bernstein(n_points: int) -> NDArray[np.float64]:
    """Return the weights of the control points at points along a cubic Bezier piece, (n_points, 4)."""
    t = np.linspace(0, 1, n_points)
    return np.stack([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3], axis=1)


def _join(traffic: Traffic, curve: Points, weight: float) -> None:
    """Add to `traffic` the positions at which a curve crosses the rows."""
    points = points_on(curve)
    for level, crossings in traffic.items():
        below = points[:, 1] > level
        for at in np.flatnonzero(below[:-1] != below[1:]):
            crossings.append((float(points[at : at + 2, 0].mean()), weight))


def _route(boxes: Points, first: int, second: int, traffic: Traffic) -> Points:
    start, end = boxes[first, :2], boxes[second, :2]
    pieces, costs = _single_pieces(start, end)
    others = boxes[np.delete(np.arange(len(boxes)), [first, second])]
    low = (boxes[:, :2] - boxes[:, 2:] / 2).min(axis=0)
    high = (boxes[:, :2] + boxes[:, 2:] / 2).max(axis=0)
    # cost above which a route through the gaps between boxes is preferred to a wide bend
    limit = np.inf if start[1] == end[1] else 150.0
    best, least = pieces[0], np.inf
    # the first piece alone, as it is often free
    for start_at, end_at in pairwise([0, *range(1, len(pieces), 12), len(pieces)]):
        if costs[start_at] > min(least, limit):
            # pieces are sorted by cost, to which the following steps only add
            break
        some = slice(start_at, end_at)
        points = _along(pieces[some], _SAMPLES)
        near = others[_may_hit(pieces[some], others, _CLEARANCE)]
        astray = np.maximum(low - points, points - high).max(axis=(1, 2)).clip(min=0.0)
        # per pixel outside the area of the boxes
        cost = costs[some] + 3.0 * astray + _HIT * box_hits(points, near, _CLEARANCE).sum(axis=1)
        if cost.min() < least:
            best, least = pieces[some][int(np.argmin(cost))], float(cost.min())
    if least > limit:
        best = _through_gaps(boxes, start, end, traffic)
    # the part between the two boxes; the whole curve if they overlap
    best = np.concatenate([_split(best[:4], boxes[first], leaving=True), best[4:]])
    return np.concatenate([best[:-4], _split(best[-4:], boxes[second], leaving=False)])


def _single_pieces(start: Points, end: Points) -> tuple[Points, NDArray[np.float64]]:
    """Return single pieces (k, 4, 2) between two points, sorted by cost, and their costs (k,)."""
    along = end - start
    across = np.array([-along[1], along[0]]) / (float(np.hypot(*along)) or 1.0)
    controls = start + _SHAPES[:, :1] * along + _SHAPES[:, 1:2] * across
    pieces = np.empty((len(_SHAPES), 4, 2))
    pieces[:, 0], pieces[:, 3] = start, end
    pieces[:, 1], pieces[:, 2] = (start + 2 * controls) / 3, (end + 2 * controls) / 3
    costs = _SHAPES[:, 2]
    if start[1] != end[1]:
        return pieces, costs
    dips = np.array([*_DIPS, *(-dip for dip in _DIPS)])
    dipping = np.empty((len(dips), 4, 2))
    dipping[:, :2], dipping[:, 2:] = start, end
    dipping[:, 1:3, 1] += dips[:, None] / 0.75
    costs = np.concatenate([costs, np.abs(dips) + 20.0])
    order = np.argsort(costs, kind="stable")
    return np.concatenate([pieces, dipping])[order], costs[order]


def _through_gaps(boxes: Points, start: Points, end: Points, traffic: Traffic) -> Points:
    """Return a curve of pieces that crosses every row between two boxes vertically, in a gap of that row.

    Each piece between two rows lies in the free band between them, because all its control points do.
    """
    low, high = sorted((float(start[1]), float(end[1])))
    levels = sorted({float(y) for y in boxes[:, 1] if low < y < high}, reverse=bool(start[1] > end[1]))
    reach = (boxes[0, 3] / 2 + _CLEARANCE) * (1.0 if end[1] > start[1] else -1.0)
    points = [start]
    for x, level in zip(_crossings(boxes, levels, float(start[0]), float(end[0]), traffic), levels):
        above, below = np.array([x, level - reach]), np.array([x, level + reach])
        points += [
            *_bow(points[-1], above),
            above,
            above + (below - above) / 3,
            above + (below - above) * 2 / 3,
            below,
        ]
    return np.array([*points, *_bow(points[-1], end), end])


def _bow(start: Points, end: Points) -> tuple[Points, Points]:
    """Return the inner control points of a piece that starts and ends vertically."""
    half = np.array([0.0, (end[1] - start[1]) / 2])
    return start + half, end - half


def _crossings(
    boxes: Points, levels: Sequence[float], start: float, end: float, traffic: Traffic
) -> list[float]:
    """Return x at which a path crosses each row: the gaps with the least sum of squared horizontal steps."""
    lanes, costs = [np.array([start])], np.array([0.0])
    before: list[NDArray[np.int64]] = []
    for height, level in enumerate(levels):
        straight = start + (end - start) * (height + 1) / (len(levels) + 1)
        lanes.append(_gap_lanes(boxes[boxes[:, 1] == level], straight))
        others = np.array(traffic[level]).reshape(-1, 2)
        crowd = (np.abs(lanes[-1][:, None] - others[:, 0]) < _LANE_WIDTH) @ others[:, 1]
        # cost of a lane that another edge uses, in squared pixels times that edge's weight
        steps = costs[:, None] + (lanes[-1][None, :] - lanes[-2][:, None]) ** 2 + 8000.0 * crowd
        before.append(steps.argmin(axis=0))
        costs = steps.min(axis=0)
    at = int(np.argmin(costs + (lanes[-1] - end) ** 2))
    crossings = []
    for height in range(len(levels), 0, -1):
        crossings.append(float(lanes[height][at]))
        at = int(before[height - 1][at])
    return crossings[::-1]


def _gap_lanes(row: Points, target: float) -> NDArray[np.float64]:
    """Return the lanes nearest to a target x in every gap of a row, and beyond both ends of the row."""
    row = row[np.argsort(row[:, 0])]
    left = row[:, 0] - row[:, 2] / 2 - _CLEARANCE - 1
    right = row[:, 0] + row[:, 2] / 2 + _CLEARANCE + 1
    lows, highs = np.concatenate(([-np.inf], right)), np.concatenate((left, [np.inf]))
    lows, highs = lows[lows <= highs], highs[lows <= highs]
    nearest = np.clip(target, lows, highs)
    lanes = np.clip(nearest[:, None] + np.array(_LANES), lows[:, None], highs[:, None])
    return np.unique(lanes.ravel())


def _split(piece: Points, box: Points, *, leaving: bool) -> Points:
    """Return the part of a piece (4, 2) after it leaves a box, or before it enters one."""
    points = _along(piece[None], 301)[0]
    # between the end of an edge and the box that it joins
    inside = (np.abs(points - box[:2]) <= box[2:] / 2 + 2.0).all(axis=1)
    if inside.all() or not inside.any():
        return piece
    at = np.flatnonzero(inside)
    t = (at.max() + 1) / 300 if leaving else (at.min() - 1) / 300
    t = min(max(t, 0.0), 1.0)
    halves = _halves(piece, t)
    return halves[1] if leaving else halves[0]


def _halves(piece: Points, t: float) -> tuple[Points, Points]:
    """Return both parts of a piece (4, 2) by de Casteljau's construction."""
    a, b, c = (piece[k] + t * (piece[k + 1] - piece[k]) for k in range(3))
    d, e = a + t * (b - a), b + t * (c - b)
    middle = d + t * (e - d)
    return np.array([piece[0], a, d, middle]), np.array([middle, e, c, piece[3]])
