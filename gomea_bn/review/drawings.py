"""Drawings of single networks in layers, for the page to stretch to its frame; equal graphs share one.

A wide network is drawn by communities: each has layers of its own, and the communities stand side by side in shelves.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.plots.network import NetworkSketch
from gomea_bn.plots.network_layout import MOST_IN_LAYERS, network_layout
from gomea_bn.review.layout import box_sizes

# between boxes, and between bends of edges, in pixels
_GAP = 10.0
_ROW_GAPS = (18.0, 44.0)
# of the page around a drawing, on both sides together
_MARGIN = 20.0
# shares of the width of the frame at which rows are divided
_NARROWER = (1.0, 0.8, 0.65)
# between communities, and widths of shelves in widths of the frame
_GROUP_GAP = 30.0
_SHELVES = (0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.45, 1.6, 1.8, 2.0, 2.5)
# widths of a community, as shares of the frame, from which on its rows are divided
_GROUP_SHARES = (0.35, 0.5, 0.7)
# limit of the time for drawings, in variables and edges; later graphs have none of their own
_MOST_LAID_OUT = 12_000


class Drawings:
    """The drawings of the distinct graphs over the same variables.

    They should be readable in a `frame` of a width and height in pixels. `groups` are communities of variables that are
    drawn apart, by their positions; without any, all variables share layers.

    Attributes
    ----------
    entries : list of dict
        "w" and "h" hold the width and height before the drawing is stretched, "x" the centres of the boxes, "r" their
        rows, "t" the upper ends of the rows. "e" has for every edge the positions of parent and child, the x of its
        bends from its upper to its lower end, and the offsets of its upper and lower end from the middle of their
        boxes; edges between groups are left to the page. "g" has the groups.
    """

    def __init__(
        self, names: Sequence[str], frame: tuple[float, float], groups: Sequence[Sequence[int]] = ()
    ) -> None:
        self.entries: list[dict[str, Any]] = []
        self._names = tuple(names)
        self._sizes = {
            name: (float(width), float(height)) for name, (width, height) in zip(names, box_sizes(names))
        }
        self._frame = frame
        self._groups = [list(group) for group in groups]
        self._positions: dict[frozenset[tuple[str, str]], int | None] = {}
        self._laid_out = 0

    def add(self, network: DiscretizedBayesNet) -> int | None:
        """Return the position of the drawing of a network, None if it takes too long to compute."""
        key = frozenset(network.edges)
        if key not in self._positions:
            self._laid_out += len(self._names) + len(network.edges)
            if len(self._names) > MOST_IN_LAYERS or self._laid_out > _MOST_LAID_OUT:
                return None
            self._positions[key] = len(self.entries)
            self.entries.append(self._entry(sorted(network.edges)))
        return self._positions[key]

    def _entry(self, edges: list[tuple[str, str]]) -> dict[str, Any]:
        sketch = self._sketch(edges, None)
        for share in _NARROWER:
            # scale below which names are hard to read, so that narrower drawings are tried
            if self._scale(sketch.width, sketch.height) >= 0.9:
                break
            other = self._sketch(edges, share * self._frame[0])
            sketch = max(sketch, other, key=lambda one: self._scale(one.width, one.height))
        layered = self._packed([[(sketch, 0.0)]], sketch.width)
        joined = {name for edge in edges for name in edge}
        groups = [[member for member in group if self._names[member] in joined] for group in self._groups]
        groups = [group for group in groups if group]
        if len(groups) < 2:
            return layered
        grouped = self._grouped_entry(groups, edges)
        scales = [self._scale(entry["w"], entry["h"]) for entry in (grouped, layered)]
        # scale of communities, as a share of that of common layers, below which these are drawn
        return grouped if scales[0] >= 0.85 * min(scales[1], 1.0) else layered

    def _grouped_entry(self, groups: list[list[int]], edges: list[tuple[str, str]]) -> dict[str, Any]:
        """Return the drawing whose communities stand in the shelves that fit the frame at the largest scale."""
        grouped = {member for group in groups for member in group}
        alone = [position for position in range(len(self._names)) if position not in grouped]
        packed = []
        for group_share in _GROUP_SHARES:
            blocks = [self._block(members, edges, group_share) for members in groups]
            blocks.sort(key=lambda sketch: -sketch.height)
            for share in _SHELVES:
                room = share * self._frame[0]
                rest = [self._block(alone, [], share)] if alone else []
                packed.append(self._packed(*_shelves([*blocks, *rest], room)))
        return {**max(packed, key=lambda entry: self._scale(entry["w"], entry["h"])), "g": groups}

    def _block(self, members: Sequence[int], edges: Sequence[tuple[str, str]], share: float) -> NetworkSketch:
        """Return the drawing of some variables and the edges among them, at a width as a share of the frame."""
        names = [self._names[member] for member in members]
        inner = [edge for edge in edges if edge[0] in names and edge[1] in names]
        return self._sketch(inner, share * self._frame[0], names)

    def _packed(
        self, shelves: Sequence[Sequence[tuple[NetworkSketch, float]]], width: float
    ) -> dict[str, Any]:
        """Return the drawing of shelves, one below another, of sketches with their left ends."""
        position_of = {name: position for position, name in enumerate(self._names)}
        height = max(height for _, height in self._sizes.values())
        x_of, row_of = [0.0] * len(self._names), [0] * len(self._names)
        tops: list[float] = []
        entries: list[list[Any]] = []
        for shelf in shelves:
            first, start = len(tops), tops[-1] + height + _GROUP_GAP if tops else 0.0
            columns = zip_longest(*(sketch.tops for sketch, _ in shelf), fillvalue=0.0)
            tops += [start + max(column) for column in columns]
            for sketch, left in shelf:
                for name, (x, row) in sketch.layout["nodes"].items():
                    x_of[position_of[name]] = round(left + x, 1)
                    row_of[position_of[name]] = first + round(row)
                entries += [
                    [
                        position_of[edge[0]],
                        position_of[edge[1]],
                        [round(left + x, 1) for x, _ in chain[1:-1]],
                        round(sketch.ports[edge, True], 1),
                        round(sketch.ports[edge, False], 1),
                    ]
                    for edge, chain in sketch.chains.items()
                ]
        tops = [round(top, 1) for top in tops]
        return {
            "w": round(width, 1),
            "h": round(tops[-1] + height, 1),
            "x": x_of,
            "r": row_of,
            "t": tops,
            "e": entries,
        }

    def _sketch(
        self, edges: list[tuple[str, str]], room: float | None, names: Sequence[str] | None = None
    ) -> NetworkSketch:
        sizes = {name: self._sizes[name] for name in names or self._names}
        widths = {name: width for name, (width, _) in sizes.items()}
        layout = network_layout(list(sizes), edges, widths=widths, gap=_GAP, room=room)
        return NetworkSketch(layout, sizes, _ROW_GAPS)

    def _scale(self, width: float, height: float) -> float:
        """Return the scale at which a drawing fits the frame."""
        return min(self._frame[0] / (width + _MARGIN), self._frame[1] / (height + _MARGIN))


def _shelves(
    blocks: Sequence[NetworkSketch], room: float
) -> tuple[list[list[tuple[NetworkSketch, float]]], float]:
    """Return sketches in shelves, each in the first with room and with its left end, and the widest shelf's width."""
    shelves: list[list[tuple[NetworkSketch, float]]] = []
    ends: list[float] = []
    for block in blocks:
        fitting = (at for at, end in enumerate(ends) if end + _GROUP_GAP + block.width <= room)
        at = next(fitting, len(shelves))
        if at == len(shelves):
            shelves.append([])
            ends.append(-_GROUP_GAP)
        left = ends[at] + _GROUP_GAP
        shelves[at].append((block, left))
        ends[at] = left + block.width
    return shelves, max(ends)


def communities(strength: NDArray[np.float64]) -> list[list[int]]:
    """Return the communities of the joined nodes, the largest first, and none if too much joins them.

    `strength` has the symmetric weights of the pairs, (n, n), at least 0, without a diagonal. Communities are merged
    greedily, as long as the modularity rises (Clauset, Newman & Moore, "Finding community structure in very large
    networks", 2004).
    """
    n, total = len(strength), float(strength.sum())
    if total == 0:
        return []
    # share of the weight between two communities, and at the ends of one
    between = strength / total
    ends = between.sum(axis=1)
    members = [[node] for node in range(n)]
    while True:
        gains = np.where(np.triu(between, 1) > 0, 2 * (between - np.outer(ends, ends)), 0.0)
        kept, merged = np.unravel_index(int(gains.argmax()), gains.shape)
        if gains[kept, merged] <= 0:
            break
        for line in (between, between.T):
            line[kept] += line[merged]
            line[merged] = 0
        ends[kept] += ends[merged]
        ends[merged] = 0
        members[kept] += members[merged]
        members[merged] = []
    found = sorted((sorted(group) for group in members if len(group) > 1), key=lambda group: -len(group))
    # share of the weight inside communities below which the edges between them would hide the drawing
    return found if between.trace() >= 0.7 and len(found) > 1 else []
