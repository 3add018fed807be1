"""The geometry of a drawn layout: rows as far apart as their edges need, and paths of edges between boxes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from gomea_bn.plots.network_layout import NetworkLayout

# distance between the ends of edges at a box
_PORT_GAP = 9.0
# height between two layers, per width of the widest edge between them
_FLATTEST = 0.14


class NetworkSketch:
    """Points of boxes and edges at full size, y downwards; `stretch` increases their distances.

    `sizes` are widths and heights of the boxes in the unit of x of the layout, and `row_gaps` the smallest and largest
    height between two rows. `tops` are the upper ends of the rows before they are stretched; `ports` are the offsets
    from the middle of a box at which an edge ends, by edge and whether it is the upper end; `points` are the centres of
    the boxes.
    """

    def __init__(
        self,
        layout: NetworkLayout,
        sizes: Mapping[str, tuple[float, float]],
        row_gaps: tuple[float, float] = (32.0, 110.0),
    ) -> None:
        self.layout, self.sizes, self.row_gaps = layout, sizes, row_gaps
        nodes = layout["nodes"]
        self.row_height = max(height for _, height in sizes.values())
        self.chains = {edge: self._chain(edge) for edge in layout["bends"]}
        self.tops = self._row_tops(round(max(y for _, y in nodes.values())) + 1)
        self.width = max(nodes[name][0] + width / 2 for name, (width, _) in sizes.items())
        self.width = max(self.width, *(x for chain in self.chains.values() for x, _ in chain), 0.0)
        self.height = self.tops[-1] + self.row_height
        self.ports = self._ports()
        self.points: dict[str, tuple[float, float]] = {}
        self.stretch(1.0, 1.0)

    def _chain(self, edge: tuple[str, str]) -> list[tuple[float, float]]:
        """Return the layout points of an edge, from its upper to its lower end."""
        nodes = self.layout["nodes"]
        chain = [nodes[edge[0]], *self.layout["bends"][edge], nodes[edge[1]]]
        return chain if chain[0][1] < chain[-1][1] else chain[::-1]

    def _row_tops(self, n_rows: int) -> list[float]:
        """Return the upper ends of the rows; the flatter the edges between two rows, the larger is their distance."""
        widest = [0.0] * n_rows
        for chain in self.chains.values():
            for (x, y), (next_x, _) in pairwise(chain):
                widest[round(y)] = max(widest[round(y)], abs(next_x - x))
        least, most = self.row_gaps
        tops = [0.0]
        for width in widest[:-1]:
            tops.append(tops[-1] + self.row_height + min(max(_FLATTEST * width, least), most))
        return tops

    def _ports(self) -> dict[tuple[tuple[str, str], bool], float]:
        """Return the offset from a box's middle at which an edge ends, by edge and whether it is the upper end."""
        meeting: dict[tuple[str, bool], list[tuple[float, tuple[str, str]]]] = {}
        for edge, chain in self.chains.items():
            upper, lower = self._ends(edge)
            meeting.setdefault((upper, True), []).append((chain[1][0], edge))
            meeting.setdefault((lower, False), []).append((chain[-2][0], edge))
        ports = {}
        for (name, is_upper), links in meeting.items():
            step = min(_PORT_GAP, 0.8 * self.sizes[name][0] / len(links))
            for position, (_, edge) in enumerate(sorted(links)):
                ports[edge, is_upper] = step * (position - (len(links) - 1) / 2)
        return ports

    def _ends(self, edge: tuple[str, str]) -> tuple[str, str]:
        """Return the upper and the lower node of an edge."""
        nodes = self.layout["nodes"]
        return edge if nodes[edge[0]][1] < nodes[edge[1]][1] else (edge[1], edge[0])

    def stretch(self, wider: float, higher: float) -> None:
        """Multiply the distances of boxes and of rows by two factors; the boxes keep their size."""
        self.wider, self.higher = wider, higher
        self.points = {
            name: (x * wider, self.tops[round(y)] * higher + self.row_height / 2)
            for name, (x, y) in self.layout["nodes"].items()
        }

    def path(self, edge: tuple[str, str]) -> list[tuple[float, float]]:
        """Return points from parent to child: verticals within rows, to be joined by curves between rows."""
        chain = self.chains[edge]
        upper, lower = self._ends(edge)
        track: list[tuple[float, float]] = []
        for position, (x, y) in enumerate(chain):
            middle = x * self.wider
            top = self.tops[round(y)] * self.higher
            bottom = top + self.row_height
            if position == 0:
                middle += self.ports[edge, True]
                top = self.points[upper][1] + self.sizes[upper][1] / 2
            elif position == len(chain) - 1:
                middle += self.ports[edge, False]
                bottom = self.points[lower][1] - self.sizes[lower][1] / 2
            track += [(middle, top), (middle, bottom)]
        return track if upper == edge[0] else track[::-1]
