"""Drawings of single networks in layers, for the page to stretch to its frame; equal graphs share one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.plots.network import NetworkSketch
from gomea_bn.plots.network_layout import MOST_IN_LAYERS, network_layout
from gomea_bn.review.layout import box_sizes

# between boxes, and between bends of edges, in pixels
_GAP = 10.0
_ROW_GAPS = (18.0, 44.0)
# of the page around a drawing, on both sides together
_MARGIN = 20.0
# scale below which names are hard to read, so that narrower drawings are tried
_READABLE = 0.9
# shares of the width of the frame at which rows are divided
_NARROWER = (1.0, 0.8, 0.65)
# limit of the time for drawings, in variables and edges; later graphs have none of their own
_MOST_LAID_OUT = 12_000


class Drawings:
    """The drawings of the distinct graphs over the same variables.

    Parameters
    ----------
    names : sequence of str
        Names of the variables.
    frame : (float, float)
        Width and height in pixels in which a drawing should be readable.

    Attributes
    ----------
    entries : list of dict
        "w" and "h" hold the width and height before the drawing is stretched, "x" the centres of the boxes, "r" their
        rows, "t" the upper ends of the rows. "e" has for every edge the positions of parent and child, the x of its
        bends from its upper to its lower end, and the offsets of its upper and lower end from the middle of their
        boxes.
    """

    def __init__(self, names: Sequence[str], frame: tuple[float, float]) -> None:
        self.entries: list[dict[str, Any]] = []
        self._names = tuple(names)
        self._sizes = {
            name: (float(width), float(height)) for name, (width, height) in zip(names, box_sizes(names))
        }
        self._frame = frame
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
            if self._scale(sketch) >= _READABLE:
                break
            other = self._sketch(edges, share * self._frame[0])
            sketch = max(sketch, other, key=self._scale)
        position_of = {name: position for position, name in enumerate(self._names)}
        centres = [sketch.layout["nodes"][name] for name in self._names]
        return {
            "w": round(sketch.width, 1),
            "h": round(sketch.height, 1),
            "x": [round(x, 1) for x, _ in centres],
            "r": [round(row) for _, row in centres],
            "t": [round(top, 1) for top in sketch.tops],
            "e": [
                [
                    position_of[edge[0]],
                    position_of[edge[1]],
                    [round(x, 1) for x, _ in chain[1:-1]],
                    round(sketch.ports[edge, True], 1),
                    round(sketch.ports[edge, False], 1),
                ]
                for edge, chain in sketch.chains.items()
            ],
        }

    def _sketch(self, edges: list[tuple[str, str]], room: float | None) -> NetworkSketch:
        widths = {name: width for name, (width, _) in self._sizes.items()}
        layout = network_layout(self._names, edges, widths=widths, gap=_GAP, room=room)
        return NetworkSketch(layout, self._sizes, _ROW_GAPS)

    def _scale(self, sketch: NetworkSketch) -> float:
        """Return the scale at which a drawing fits the frame."""
        return min(self._frame[0] / (sketch.width + _MARGIN), self._frame[1] / (sketch.height + _MARGIN))
