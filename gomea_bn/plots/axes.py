"""Shared parts of all plots: axes, colours that most people can distinguish, literal text, densities, ticks."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any

import numpy as np

from gomea_bn.data.dates import DAYS, HOURS, SECONDS, date_texts, name_in_words, unit_of
from gomea_bn.network.conditionals.curve import Curve

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D
    from numpy.typing import NDArray

    from gomea_bn.data.columns import Level

BLUE, ORANGE, INK, GREY = "#0072b2", "#d55e00", "#333333", "#767676"

LITERAL: dict[str, Any] = {"parse_math": False, "usetex": False}
"""Options of texts that may contain a user's names: no character is a command."""


LONGEST_NAME = 60
"""Most characters of the name of a variable."""


def new_axes(figsize: tuple[float, float], **options: Any) -> Axes:
    """Return the axes of a new pyplot figure of a size in inches."""
    import matplotlib.pyplot as plt

    ax: Axes = plt.figure(figsize=figsize, layout="constrained").add_subplot(**options)
    return ax


def axes_of_variable(ax: Axes | None, name: str) -> Axes:
    """Return axes, or those of a new figure, whose horizontal axis has the name of a variable."""
    ax = new_axes((6.4, 3.8)) if ax is None else ax
    ax.set_xlabel(plain_text(name_in_words(name), LONGEST_NAME), **LITERAL)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plain_text(text: str, longest: int | None = None) -> str:
    """Return a text for drawing: control characters except line ends are escaped as in Python.

    A text of more than `longest` characters has "…" in place of its middle.
    """
    drawn = "".join(char if char.isprintable() or char == "\n" else repr(char)[1:-1] for char in text)
    if longest is None or len(drawn) <= longest:
        return drawn
    tail = (longest - 1) // 3
    return f"{drawn[: longest - 1 - tail]}…{drawn[len(drawn) - tail :]}"


def drawn_width(text: str, size: float) -> float:
    """Return the width of one line of text in points, at a font size in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    width, _, _ = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), False)
    # hinting makes drawn text wider
    return 1.06 * float(width)


def size_in_points(ax: Axes) -> tuple[float, float]:
    """Return width and height of axes in points, after the layout engine of the figure has placed them."""
    figure = ax.figure.canvas.figure
    if figure.get_layout_engine() is not None:
        figure.draw_without_rendering()
    extent = ax.get_window_extent()
    return extent.width * 72 / figure.dpi, extent.height * 72 / figure.dpi


def plain_legend(
    ax: Axes, handles: Sequence[Artist | tuple[Artist, ...]], labels: Sequence[str], **options: Any
) -> Legend:
    """Add a legend whose labels are drawn literally, including labels that begin with "_"."""
    # matplotlib leaves out labels that begin with "_"
    legend = ax.legend(list(handles), [f"entry {position}" for position in range(len(labels))], **options)
    for text, label in zip(legend.get_texts(), labels, strict=True):
        text.update(LITERAL)
        text.set_text(label)
    return legend


def leave_room_for_legend(ax: Axes, highest: float, n_entries: int) -> None:
    """Set the limits of y, from 0, so that a legend with a number of lines fits above the highest value."""
    from matplotlib import rcParams

    line = 1.5 * float(rcParams["font.size"])
    share = min((n_entries + 1.0) * line / size_in_points(ax)[1], 0.5)
    ax.set_ylim(0, highest / (1 - share))


# height of a line in sizes of its font
_LINE = 1.2


def unit_of_axis(support: tuple[float, float]) -> float:
    """Return the power of ten in which a range is drawn: 1, unless Matplotlib cannot draw its numbers or densities."""
    power = floor(log10(support[1] - support[0]))
    # Matplotlib takes numbers below about 1e-287 for 0
    return 1.0 if abs(power) <= 250 else 10.0 ** max(power, -300)


def density_label(name: str, unit: float) -> str:
    """Return the label of an axis with densities of a column, such as "Density per day"."""
    if unit != 1:
        return f"Density per {unit:g}"
    one = {DAYS: "day", HOURS: "hour", SECONDS: "second"}.get(unit_of(name) or "")
    return "Density" if one is None else f"Density per {one}"


def label_values(ax: Axes, name: str, support: tuple[float, float]) -> None:
    """Write the values of a column of dates or times of day on the horizontal axis as these, others as numbers."""
    if name_in_words(name) == name:
        return
    span = support[1] - support[0]

    def text(value: float, _position: float) -> str:
        return (date_texts(np.array([value]), name, span) or [""])[0]

    ax.xaxis.set_major_formatter(text)
    # intervals between dates that fit below an axis
    ax.locator_params(axis="x", nbins=4)


def apart(ax: Axes, values: NDArray[np.float64], size: float) -> NDArray[np.float64]:
    """Return ascending places on the horizontal axis, near values, at which upright lines of text do not overlap.

    `values` is (n,), ascending; `size` is that of the font in points.
    """
    low, high = ax.get_xlim()
    step = min(_LINE * size / size_in_points(ax)[0], 1 / max(len(values), 1)) * (high - low)
    offsets = step * np.arange(len(values))
    places = np.maximum.accumulate(values - offsets)
    return np.asarray(np.minimum(places, high - step * len(values)) + offsets)


def in_unit(curve: Curve, unit: float) -> Curve:
    """Return a density with the values in a unit, per unit."""
    points = {value / unit: mass for value, mass in curve.points.items()}
    return Curve(curve.values / unit, curve.densities * unit, points)


def draw_curve(ax: Axes, curve: Curve, style: dict[str, Any]) -> Line2D:
    """Draw a density as a line and return its entry of the legend."""
    # from the axis up and down to it again, as steps do
    ends = curve.values[[0, -1]]
    values = np.concatenate((ends[:1], curve.values, ends[1:]))
    (line,) = ax.plot(values, np.pad(curve.densities, 1), solid_joinstyle="round", **style)
    return line


def draw_levels(
    ax: Axes, levels: Sequence[Level], groups: Sequence[tuple[Sequence[int], Any, dict[str, Any]]]
) -> list[Any]:
    """Draw groups of bars next to each other at every level, and return their entries of the legend.

    A group has the positions of its levels, their probabilities and its style. Names of levels are tilted where they
    are many or long, upright and smaller where they are more, and some have none where no more fit.
    """
    width, middle = 0.8 / len(groups), (len(groups) - 1) / 2
    handles = [
        ax.bar(
            [at + (k - middle) * width for at in positions],
            heights,
            width=0.92 * width,
            edgecolor="white",
            **style,
        )
        for k, (positions, heights, style) in enumerate(groups)
    ]
    texts = [plain_text(str(level), 24) for level in levels]
    room = size_in_points(ax)[0] / len(texts)
    shown = range(len(texts))
    style: dict[str, Any] = {}
    # points between tilted names
    if room < 19.0:
        size = max(room / _LINE, 6.0)
        shown = range(0, len(texts), ceil(_LINE * size / room))
        style = {"rotation": 90, "size": size}
    elif len(levels) > 8 or sum(map(len, texts)) > 40:
        # levels, and characters in all their names, that fit next to each other
        style = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(shown, [texts[at] for at in shown], **style, **LITERAL)
    ax.set_ylabel("Probability")
    return handles
