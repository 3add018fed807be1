"""What all plots share: axes to draw in, colours that most people can tell apart, names drawn as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

__all__ = ["BLUE", "GREY", "INK", "LITERAL", "ORANGE", "new_axes", "plain_legend", "plain_text"]

BLUE, ORANGE, INK, GREY = "#0072b2", "#d55e00", "#333333", "#767676"

LITERAL: dict[str, Any] = {"parse_math": False, "usetex": False}
"""Options of every text that may hold a user's name: no character of it is a command."""


def new_axes(figsize: tuple[float, float], **options: Any) -> Axes:
    """Return the axes of a new pyplot figure whose size in inches is `figsize`."""
    import matplotlib.pyplot as plt

    return plt.figure(figsize=figsize, layout="constrained").add_subplot(**options)


def plain_text(text: str, longest: int | None = None) -> str:
    """Return a text as it can be drawn: line ends kept, other control characters escaped as in Python.

    Longer ones than `longest` characters lose their middle to "…".
    """
    drawn = "".join(one if one.isprintable() or one == "\n" else repr(one)[1:-1] for one in text)
    if longest is None or len(drawn) <= longest:
        return drawn
    tail = (longest - 1) // 3
    return f"{drawn[: longest - 1 - tail]}…{drawn[len(drawn) - tail :]}"


def plain_legend(
    ax: Axes, handles: Sequence[Artist | tuple[Artist, ...]], labels: Sequence[str], **options: Any
) -> Legend:
    """Add a legend whose labels are drawn literally, those that begin with "_" too."""
    legend = ax.legend(list(handles), [f"entry {place}" for place in range(len(labels))], **options)
    for text, label in zip(legend.get_texts(), labels, strict=True):
        text.update(LITERAL)
        text.set_text(label)
    return legend
