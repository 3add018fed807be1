"""The plot of a network: variables in layers, and edges compared with those of a reference network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, Literal, TypeAlias

from gomea_bn.data.lags import slices_of
from gomea_bn.errors import GomeaBnError, nearest
from gomea_bn.network.parts import WithEdges
from gomea_bn.network.recorded import recorded_edge_probabilities
from gomea_bn.plots.axes import (
    BLUE,
    GREY,
    INK,
    LITERAL,
    ORANGE,
    drawn_width,
    plain_legend,
    plain_text,
    size_in_points,
)
from gomea_bn.plots.network_layout import NetworkLayout, network_layout
from gomea_bn.texts import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gomea_bn.network.recorded import NetworkLike

Dashes: TypeAlias = tuple[float, Sequence[float]]
Style: TypeAlias = tuple[str, Dashes, float]
Mark: TypeAlias = Literal["common", "reversed", "added", "missing"]


_STYLES: dict[str, Style] = {
    "common": (INK, (0, ()), 1.3),
    "reversed": (ORANGE, (0, (6, 2, 1.5, 2)), 1.6),
    "added": (BLUE, (0, (5, 2)), 1.6),
    "missing": (GREY, (0, (1.2, 2)), 1.3),
}
_PLAIN: Style = (INK, (0, ()), 1.3)
# points
_PADDING = 6.0
# inches
_LARGEST_FIGURE = 20.0
# points
_MARGIN = 5.0
_LEGEND_ENTRY = 105.0
_NUMBER_SIZE = 7.5


def edge_marks(
    network: NetworkLike, reference: WithEdges | Iterable[tuple[str, str]]
) -> dict[tuple[str, str], Mark]:
    """Return the mark of every edge of a network or of a reference network.

    Parameters
    ----------
    network : NetworkLike
        The network.
    reference : NetworkLike, ExpertNetwork or iterable of (parent, child)
        The network or the edges to compare with.

    Returns
    -------
    dict of (parent, child) to {"common", "reversed", "added", "missing"}
        First the edges of the network in its order: "common" in both, "reversed" in the reference, or "added" if the
        reference lacks them. Then the "missing" edges, which only the reference has.

    Raises
    ------
    GomeaBnError
        If the reference has a variable that the network lacks.
    """
    others = list(reference.edges if hasattr(reference, "edges") else reference)
    for parent, child in others:
        for end in (parent, child):
            if end not in network.names:
                raise GomeaBnError(
                    f"reference: edge '{parent}' → '{child}' has the unknown variable '{end}'."
                    f"{nearest(str(end), network.names)}"
                )
    reference_edges = set(others)
    marks: dict[tuple[str, str], Mark] = {}
    for parent, child in network.edges:
        if (parent, child) in reference_edges:
            marks[parent, child] = "common"
        else:
            marks[parent, child] = "reversed" if (child, parent) in reference_edges else "added"
    for parent, child in others:
        if (parent, child) not in marks and (child, parent) not in marks:
            marks[parent, child] = "missing"
    return marks


def plot_network(
    network: NetworkLike,
    *,
    reference: WithEdges | Iterable[tuple[str, str]] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a network in layers, parents above children, and return the axes.

    Rounded boxes are continuous variables with their number of bins, square boxes discrete ones with their number of
    levels. With a reference, edges are marked by colour and dash as common, reversed (drawn as in the network), added
    or missing, and a legend counts them. Without a reference, edges that the tables leave out are dashed, and where the
    network has probabilities of edges (`EdgeProbabilities.recorded_network`), thickness and number of an edge are that
    of an edge in either direction. Columns of earlier rows, as `gomea_bn.lagged` names them, stand above those of the
    row, every time in a band of its own. `network_layout` and `edge_marks` return the data that are drawn.

    Parameters
    ----------
    network : NetworkLike
        The network.
    reference : NetworkLike, ExpertNetwork or iterable of (parent, child), optional
        The network or the edges to compare with.
    ax : matplotlib Axes, optional
        Axes to draw in, where letters shrink to fit; by default those of a new figure of the size that the network
        needs.

    Raises
    ------
    GomeaBnError
        If the reference has a variable that the network lacks.

    Notes
    -----
    Names of more than 48 characters have "…" in place of their middle.
    """
    marks = None if reference is None else edge_marks(network, reference)
    edges = list(network.edges if marks is None else marks)
    kinds: dict[tuple[str, str], str] = {} if marks is None else dict(marks.items())
    has_legend = marks is not None
    boxes = {name: _box(network, name) for name in network.names}
    slices = slices_of(network.names)
    layout = network_layout(
        network.names,
        edges,
        widths={name: box.width for name, box in boxes.items()},
        gap=16.0,
        slices=[members for _, members in slices],
    )
    sketch = NetworkSketch(layout, {name: (box.width, box.height) for name, box in boxes.items()})
    room = 18.0 if has_legend else 0.0
    if ax is None:
        ax = _fitting_axes(sketch, room)
    ax.set_axis_off()
    width, height = size_in_points(ax)
    columns = min(max(int(width / _LEGEND_ENTRY), 1), len(_STYLES))
    scale = _fit(ax, sketch, width, height, room * ceil(len(_STYLES) / columns))
    for title, members in slices:
        _draw_slice(ax, title, [(sketch.points[name][1], boxes[name].height) for name in members], scale)
    for name, box in boxes.items():
        _draw_box(ax, box, sketch.points[name], scale, rounded=name in network.cut_points)
    probabilities = recorded_edge_probabilities(network) if marks is None else {}
    for edge in edges:
        colour, dashes, line = _STYLES[kinds[edge]] if edge in kinds else _PLAIN
        if edge in probabilities:
            adjacent = probabilities[edge].adjacent
            line = 0.4 + 2.2 * adjacent
            _draw_number(ax, sketch.path(edge), f"{adjacent:.2f}", scale)
        _draw_edge(ax, sketch.path(edge), (colour, dashes, line), scale)
    if has_legend:
        _draw_legend(ax, _STYLES, list(kinds.values()), columns)
    return ax


@dataclass(frozen=True, slots=True)
class _Box:
    """Texts of a variable, and the size of its box in points."""

    title: str
    count: str
    width: float
    height: float
    size: float


def _box(network: NetworkLike, name: str) -> _Box:
    """Return the box of a variable at full size."""
    from matplotlib import rcParams

    size = float(rcParams["font.size"])
    count = counted(network.cardinality(name), "bin" if name in network.cut_points else "level")
    lines = _lines(plain_text(name, 48))
    texts = [(line, size) for line in lines] + [(count, 0.8 * size)]
    width = max(drawn_width(text, points) for text, points in texts) + 2 * _PADDING
    height = 1.2 * size * (len(lines) + 0.8) + _PADDING
    return _Box(title="\n".join(lines), count=count, width=max(width, 4 * size), height=height, size=size)


def _lines(text: str) -> list[str]:
    """Return a text in lines of similar length, at most 20 characters, that end after punctuation if it is near."""
    lines = []
    for rest in text.split("\n"):
        for left in range(ceil(len(rest) / 16), 1, -1):
            aim = ceil(len(rest) / left)
            near = range(max(aim - 6, 1), aim + 5)
            ends = [position for position in near if not rest[position - 1 : position].isalnum()]
            end = min(ends, key=lambda position: abs(position - aim), default=aim)
            lines.append(rest[:end])
            rest = rest[end:]
        lines.append(rest)
    return lines


def _fitting_axes(sketch: NetworkSketch, room: float) -> Axes:
    """Return axes that fill a new figure, as large as the drawing or the largest figure."""
    import matplotlib.pyplot as plt

    width = max(sketch.width, 0.0 if room == 0 else len(_STYLES) * _LEGEND_ENTRY) + 2 * _MARGIN
    height = sketch.height + room + 2 * _MARGIN
    figure = plt.figure(figsize=(min(width / 72, _LARGEST_FIGURE), min(height / 72, _LARGEST_FIGURE)))
    return figure.add_axes((0.0, 0.0, 1.0, 1.0))


def _fit(ax: Axes, sketch: NetworkSketch, width: float, height: float, room: float) -> float:
    """Set limits that centre a drawing in axes of a size in points, above `room` points; return its scale."""
    width, height = max(width - 2 * _MARGIN, 1.0), max(height - 2 * _MARGIN - room, 1.0)
    scale = min(width / sketch.width, height / sketch.height, 1.0)
    width, height, room, margin = (size / scale for size in (width, height, room, _MARGIN))
    # distances grow if the axes have room
    sketch.stretch(min(width / sketch.width, 1.4), min(height / sketch.height, 1.6))
    left = (sketch.width * sketch.wider - width) / 2 - margin
    top = (sketch.height * sketch.higher - height) / 2 - margin
    ax.set_xlim(left, left + width + 2 * margin)
    ax.set_ylim(top + height + room + 2 * margin, top)
    return scale


def _draw_slice(ax: Axes, title: str, rows: Sequence[tuple[float, float]], scale: float) -> None:
    """Shade the rows of one time behind its boxes, which have a middle and a height in y, and write the time."""
    top = min(y - height / 2 for y, height in rows) - _PADDING
    bottom = max(y + height / 2 for y, height in rows) + _PADDING
    ax.axhspan(top, bottom, color=GREY, alpha=0.12, linewidth=0, zorder=0)
    texts = {"ha": "left", "va": "top", "zorder": 0.5, **LITERAL}
    ax.text(min(ax.get_xlim()), top, f" {title}", size=_NUMBER_SIZE * scale, color=INK, **texts)


def _draw_box(ax: Axes, box: _Box, point: tuple[float, float], scale: float, *, rounded: bool) -> None:
    from matplotlib.patches import FancyBboxPatch

    x, y = point
    patch = FancyBboxPatch(
        (x - box.width / 2, y - box.height / 2),
        box.width,
        box.height,
        boxstyle=f"round,pad=0,rounding_size={0.35 * box.height}" if rounded else "square,pad=0",
        facecolor="#eef3f8" if rounded else "#fdf3ea",
        edgecolor=GREY,
        linewidth=0.9 * scale,
        zorder=2,
    )
    ax.add_patch(patch)
    line = 1.2 * box.size
    centred = {"ha": "center", "va": "center", "zorder": 3, **LITERAL}
    ax.text(x, y - 0.4 * line, box.title, size=box.size * scale, color="black", **centred)
    below = y + box.height / 2 - _PADDING / 2 - 0.4 * line
    ax.text(x, below, box.count, size=0.8 * box.size * scale, color="#555555", **centred)


def _draw_edge(ax: Axes, track: list[tuple[float, float]], style: Style, scale: float) -> None:
    """Draw an arrow along points that pair up to verticals, with curves between the pairs."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    points, codes = [track[0]], [Path.MOVETO]
    for position, (x, y) in enumerate(track[1:], start=1):
        before_x, before_y = points[-1]
        if position % 2 == 0:
            middle = (before_y + y) / 2
            points += [(before_x, middle), (x, middle), (x, y)]
            codes += [Path.CURVE4] * 3
        elif abs(y - before_y) > 0.01:
            points.append((x, y))
            codes.append(Path.LINETO)
    colour, dashes, width = style
    arrow = FancyArrowPatch(
        path=Path(points, codes),
        arrowstyle="-|>,head_length=0.5,head_width=0.22",
        mutation_scale=12 * scale,
        color=colour,
        linestyle=dashes,
        linewidth=width * scale,
        joinstyle="miter",
        capstyle="butt",
        zorder=1,
    )
    ax.add_patch(arrow)


def _draw_number(ax: Axes, track: list[tuple[float, float]], text: str, scale: float) -> None:
    """Write a number at the middle of an edge."""
    (x0, y0), (x1, y1) = track[(len(track) - 1) // 2], track[(len(track) - 1) // 2 + 1]
    ax.text(
        (x0 + x1) / 2,
        (y0 + y1) / 2,
        text,
        size=_NUMBER_SIZE * scale,
        color=INK,
        ha="center",
        va="center",
        zorder=4,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6 * scale},
    )


def _draw_legend(ax: Axes, styles: dict[str, Style], marks: Sequence[str], columns: int) -> None:
    """Add a legend below the drawing with the marks and their numbers of edges."""
    from matplotlib.lines import Line2D

    handles, labels = [], []
    for mark, (colour, dashes, width) in styles.items():
        handles.append(Line2D([], [], color=colour, linestyle=dashes, linewidth=width))
        labels.append(f"{mark} ({marks.count(mark)})")
    plain_legend(
        ax,
        handles,
        labels,
        loc="lower center",
        ncols=columns,
        fontsize=9.0,
        frameon=False,
        borderaxespad=0.2,
        borderpad=0.2,
        handlelength=3.2,
        columnspacing=1.4,
    )


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
            # height between two layers, per width of the widest edge between them
            tops.append(tops[-1] + self.row_height + min(max(0.14 * width, least), most))
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
            # distance between the ends of edges at a box
            step = min(9.0, 0.8 * self.sizes[name][0] / len(links))
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
