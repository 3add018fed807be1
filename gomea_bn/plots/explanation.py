"""The plot of an explanation: what an answer rests on, as horizontal bars of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gomea_bn.errors import GomeaBnError, check_choice
from gomea_bn.plots.axes import BLUE, INK, LITERAL, ORANGE, label_values, new_axes, plain_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gomea_bn.network.explanations import Explanation

_ENDS = {
    "drivers": ("lowest", "highest"),
    "measure_next": ("lowest", "highest"),
    "parameters": ("low", "high"),
}
_TITLES = {
    "drivers": "over the values of one column",
    "pushes": "without one finding, and with all",
    "measure_next": "if one more column were known",
    "parameters": "over the 90 % interval of one probability",
}


def plot_explanation(explanation: Explanation, part: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw one part of an explanation as bars of answers, and a line at the answer itself.

    Parameters
    ----------
    explanation : Explanation
        From `DiscretizedBayesNet.explain`.
    part : {"drivers", "pushes", "measure_next", "parameters"}, optional
        Its table to draw, at most 12 rows; by default "pushes", or "drivers" if there are no findings. Bars of
        "pushes" lead from the answer without a finding to the answer, blue where the finding raises it, otherwise
        orange.
    ax : Axes, optional
        Axes to draw into; by default those of a new pyplot figure.

    Raises
    ------
    GomeaBnError
        For an unknown part, or one without rows.
    """
    if part is None:
        part = "pushes" if len(explanation.pushes) else "drivers"
    check_choice("part", part, tuple(_TITLES))
    frame = getattr(explanation, part).head(12)
    if not len(frame):
        raise GomeaBnError(f"The explanation of '{explanation.target}' has no rows in part '{part}'.")
    at = explanation.baseline if part == "drivers" else explanation.answer
    if part == "pushes":
        labels = [f"{name} {finding}" for name, finding in frame["finding"].items()]
        starts = frame["without"].tolist()
        ends = [at] * len(starts)
    else:
        first, second = _ENDS[part]
        starts, ends = frame[first].tolist(), frame[second].tolist()
        labels = list(map(str, frame.index))
    if part == "parameters":
        labels = [
            f"{row.column} = {row.value}" + (f" | {row.given}" if row.given else "")
            for row in frame.itertuples()
        ]
    if ax is None:
        ax = new_axes((7.0, 1.2 + 0.32 * len(frame)))
    colours = [BLUE if end >= start else ORANGE for start, end in zip(starts, ends, strict=True)]
    widths = [end - start for start, end in zip(starts, ends, strict=True)]
    ax.barh(range(len(frame)), widths, left=starts, height=0.6, color=colours)
    ax.axvline(at, color=INK, linewidth=1)
    ax.set_yticks(range(len(frame)), [plain_text(label, 48) for label in labels], **LITERAL)
    ax.invert_yaxis()
    if explanation.support is not None:
        label_values(ax, explanation.target, explanation.support)
    ax.set_xlabel(plain_text(f"{explanation.quantity}, {_TITLES[part]}"), **LITERAL)
    return ax
