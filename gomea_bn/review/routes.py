"""Edges between boxes in rows: curves with a bend, so that none passes under a box it does not join."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["box_hits", "points_on", "routes"]

Points = NDArray[np.float64]

_CLEARANCE = 6.0  # kept between an edge and a foreign box
_TIP_GAP = 2.0  # between the end of an edge and the box it joins
_BENDS = (0.0, *np.arange(14.0, 160.0, 14.0).tolist(), 180.0, 220.0, 270.0, 330.0)
_LEANS = (0.5, 0.3, 0.7)  # where along the edge it bends
_DIPS = (38.0, 46.0, 54.0)  # of edges that leave a row and come back to it
_SAMPLES = 29
_AT_ONCE = 12
_HIT = 10_000.0
_ASTRAY = 3.0  # dislike of leaving the area of the boxes, per pixel
_AROUND = 150.0  # dislike of a way through the gaps between boxes: taken where one bend would be wide
_LANES = (
    0.0,
    6.0,
    -6.0,
    12.0,
    -12.0,
    18.0,
    -18.0,
    24.0,
    -24.0,
)  # sideways places in a gap, so that edges do not merge
_LANE_WIDTH = 5.0
_CROWDED = 8000.0  # dislike of a lane that another edge has, squared pixels times its weight


Traffic = dict[float, list[tuple[float, float]]]  # by row: where edges cross it, and how much each matters


def routes(boxes: Points, pairs: Mapping[tuple[int, int], float]) -> dict[tuple[int, int], Points]:
    """Return for every pair a curve of cubic Bezier pieces, (3 k + 1, 2), that clears all other boxes.

    It runs from the border of the first box to the border of the second: the least bent single piece that
    clears all others, or, where none does or it would swing wide, pieces through the gaps of rows between.

    Parameters
    ----------
    boxes : ndarray of shape (n, 4)
        Centre x, centre y, width, height; boxes of a row have the same y and stand apart.
    pairs : mapping of (int, int) to float
        Boxes to join, and how much each edge matters, 0 to 1: others keep off the lanes of those that do.
    """
    traffic: Traffic = {float(y): [] for y in boxes[:, 1]}
    found = {}
    for pair in sorted(pairs, key=lambda pair: (-pairs[pair], pair)):
        found[pair] = _route(boxes, *pair, traffic)
        _join(traffic, found[pair], pairs[pair])
    return found


def points_on(curve: Points, n_points: int = _SAMPLES) -> Points:
    """Return points along a curve of cubic Bezier pieces (3 k + 1, 2): (k * n_points, 2)."""
    pieces = np.stack([curve[start : start + 4] for start in range(0, len(curve) - 1, 3)])
    return _along(pieces, n_points).reshape(-1, 2)


def box_hits(points: Points, boxes: Points, margin: float) -> NDArray[np.bool_]:
    """Return whether each set of points (k, p, 2) enters each box (n, 4) grown by a margin: bool (k, n)."""
    x, y = points[:, :, None, 0], points[:, :, None, 1]
    inside = np.abs(x - boxes[:, 0]) < boxes[:, 2] / 2 + margin
    inside &= np.abs(y - boxes[:, 1]) < boxes[:, 3] / 2 + margin
    found: NDArray[np.bool_] = np.any(inside, axis=1)
    return found


def _along(pieces: Points, n_points: int) -> Points:
    """Return points along cubic Bezier pieces (k, 4, 2): (k, n_points, 2)."""
    t = np.linspace(0, 1, n_points)
    weights = np.stack([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3], axis=1)
    found: Points = weights @ pieces
    return found


def _join(traffic: Traffic, curve: Points, weight: float) -> None:
    """Note where a curve crosses the rows; mutates `traffic`."""
    points = points_on(curve)
    for level, places in traffic.items():
        below = points[:, 1] > level
        for at in np.flatnonzero(below[:-1] != below[1:]):
            places.append((float(points[at : at + 2, 0].mean()), weight))


def _route(boxes: Points, first: int, second: int, traffic: Traffic) -> Points:
    start, end = boxes[first, :2], boxes[second, :2]
    pieces, dislikes = _single_pieces(start, end)
    others = boxes[np.delete(np.arange(len(boxes)), [first, second])]
    low = (boxes[:, :2] - boxes[:, 2:] / 2).min(axis=0)
    high = (boxes[:, :2] + boxes[:, 2:] / 2).max(axis=0)
    limit = np.inf if start[1] == end[1] else _AROUND
    best, least = pieces[0], np.inf
    for at in range(0, len(pieces), _AT_ONCE):
        if dislikes[at] > min(least, limit):
            break  # pieces come by rising dislike, and anything else only adds to it
        some = slice(at, at + _AT_ONCE)
        points = _along(pieces[some], _SAMPLES)
        astray = np.maximum(low - points, points - high).max(axis=(1, 2)).clip(min=0.0)
        cost = dislikes[some] + _ASTRAY * astray + _HIT * box_hits(points, others, _CLEARANCE).sum(axis=1)
        if cost.min() < least:
            best, least = pieces[some][int(np.argmin(cost))], float(cost.min())
    if least > limit:
        best = _through_gaps(boxes, start, end, traffic)
    return _clipped(best, boxes[first], boxes[second])


def _single_pieces(start: Points, end: Points) -> tuple[Points, NDArray[np.float64]]:
    """Return single pieces (k, 4, 2) between two points and how much each is disliked, (k,) rising."""
    along = end - start
    across = np.array([-along[1], along[0]]) / (float(np.hypot(*along)) or 1.0)
    pieces, dislike = [], []
    for bend in _BENDS:
        for lean in _LEANS if bend else _LEANS[:1]:
            for side in (1.0, -1.0) if bend else (1.0,):
                control = start + lean * along + side * bend * across
                pieces.append((start, (start + 2 * control) / 3, (end + 2 * control) / 3, end))
                dislike.append(bend + (6.0 if lean != 0.5 else 0.0))
    if start[1] == end[1]:
        for dip in (*_DIPS, *(-one for one in _DIPS)):
            down = np.array([0.0, dip / 0.75])
            pieces.append((start, start + down, end + down, end))
            dislike.append(abs(dip) + 20.0)
    order = np.argsort(dislike, kind="stable")
    return np.array(pieces)[order], np.array(dislike)[order]


def _through_gaps(boxes: Points, start: Points, end: Points, traffic: Traffic) -> Points:
    """Return a curve of pieces that crosses every row between two boxes upright, in a gap of that row.

    Each piece between two rows lies in the free band between them: its control points do, so all of it does.
    """
    low, high = sorted((float(start[1]), float(end[1])))
    levels = sorted({float(y) for y in boxes[:, 1] if low < y < high}, reverse=bool(start[1] > end[1]))
    reach = (boxes[0, 3] / 2 + _CLEARANCE) * (1.0 if end[1] > start[1] else -1.0)
    found = [start]
    for x, level in zip(_crossings(boxes, levels, float(start[0]), float(end[0]), traffic), levels):
        above, below = np.array([x, level - reach]), np.array([x, level + reach])
        found += [
            *_bow(found[-1], above),
            above,
            above + (below - above) / 3,
            above + (below - above) * 2 / 3,
            below,
        ]
    return np.array([*found, *_bow(found[-1], end), end])


def _bow(start: Points, end: Points) -> tuple[Points, Points]:
    """Return the control points of a piece that starts and ends upright."""
    half = np.array([0.0, (end[1] - start[1]) / 2])
    return start + half, end - half


def _crossings(
    boxes: Points, levels: Sequence[float], start: float, end: float, traffic: Traffic
) -> list[float]:
    """Return where a path crosses each row: in gaps, with the least sum of squared steps to the side."""
    places, costs = [np.array([start])], np.array([0.0])
    before: list[NDArray[np.int64]] = []
    for height, level in enumerate(levels):
        straight = start + (end - start) * (height + 1) / (len(levels) + 1)
        places.append(_gap_places(boxes[boxes[:, 1] == level], straight))
        others = np.array(traffic[level]).reshape(-1, 2)
        crowd = (np.abs(places[-1][:, None] - others[:, 0]) < _LANE_WIDTH) @ others[:, 1]
        steps = costs[:, None] + (places[-1][None, :] - places[-2][:, None]) ** 2 + _CROWDED * crowd
        before.append(steps.argmin(axis=0))
        costs = steps.min(axis=0)
    at = int(np.argmin(costs + (places[-1] - end) ** 2))
    found = []
    for height in range(len(levels), 0, -1):
        found.append(float(places[height][at]))
        at = int(before[height - 1][at])
    return found[::-1]


def _gap_places(row: Points, wanted: float) -> NDArray[np.float64]:
    """Return for every gap of a row, and beyond both its ends, the lanes nearest to a wanted place."""
    row = row[np.argsort(row[:, 0])]
    left = row[:, 0] - row[:, 2] / 2 - _CLEARANCE - 1
    right = row[:, 0] + row[:, 2] / 2 + _CLEARANCE + 1
    lows, highs = np.concatenate(([-np.inf], right)), np.concatenate((left, [np.inf]))
    lows, highs = lows[lows <= highs], highs[lows <= highs]
    nearest = np.clip(wanted, lows, highs)
    lanes = np.clip(nearest[:, None] + np.array(_LANES), lows[:, None], highs[:, None])
    return np.unique(lanes.ravel())


def _clipped(curve: Points, first: Points, second: Points) -> Points:
    """Return the part of a curve, (3 k + 1, 2), between two boxes; all of it where they overlap."""
    starts = _split(curve[:4], first, leaving=True)
    body = np.concatenate([starts, curve[4:]])
    ends = _split(body[-4:], second, leaving=False)
    return np.concatenate([body[:-4], ends])


def _split(piece: Points, box: Points, *, leaving: bool) -> Points:
    """Return the part of a piece (4, 2) after it leaves a box, or before it enters one."""
    points = _along(piece[None], 301)[0]
    inside = (np.abs(points - box[:2]) <= box[2:] / 2 + _TIP_GAP).all(axis=1)
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
