"""The plot of the effects of parents on a variable: a panel per parent, with a band and the rows."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from gomea_bn.data.dates import name_in_words
from gomea_bn.errors import GomeaBnError, nearest
from gomea_bn.plots.axes import (
    BLUE,
    LITERAL,
    label_values,
    new_axes,
    plain_legend,
    plain_text,
)
from gomea_bn.texts import listed, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from gomea_bn.network.bayes_net import DiscretizedBayesNet
    from gomea_bn.network.effects import ColumnEffects, ParentEffect

# panels next to each other, and all of them
MOST_ABREAST, MOST_PANELS = 4, 12
# inches
_PANEL = (2.5, 2.3)
# share of the height that the bars of rows take, and room above the band
_ROWS, _ROOM = 0.16, 0.04
# characters
_LONGEST_TITLE, _LONGEST_OUTCOME = 26, 24
# lines of levels in a panel
_MOST_OUTCOMES = 8
# half the width of a level
_HALF = 0.38
_BAND = "#cfe2f3"
_ROW_BARS = "#b8b8b8"


def plot_effects(network: DiscretizedBayesNet, variable: str, *, figure: Figure | None = None) -> list[Axes]:
    """Draw how a variable goes with each of its parents, one panel per parent, and return the axes.

    Panels have the same vertical axis, so that effects can be compared; the parent with the largest share comes first.
    See `plot_effect` for a panel, and `DiscretizedBayesNet.effects` for the data that are drawn.

    Parameters
    ----------
    network : DiscretizedBayesNet
        The network.
    variable : str
        Name of a variable with parents.
    figure : matplotlib Figure, optional
        Figure to draw in; by default a new one. Of more than 12 parents those 12 with the largest shares are drawn.

    Raises
    ------
    GomeaBnError
        For an unknown variable, and for one without parents.
    """
    effects = network.column_effects(variable)
    n_panels = min(len(effects.effects), MOST_PANELS)
    # a panel is at least 1.5 inches wide
    room = MOST_ABREAST if figure is None else int(figure.get_figwidth() / 1.5)
    n_lines = ceil(n_panels / min(max(room, 1), MOST_ABREAST))
    n_abreast = ceil(n_panels / n_lines)
    if figure is None:
        import matplotlib.pyplot as plt

        size = (_PANEL[0] * max(n_abreast, 2), _PANEL[1] * n_lines)
        figure = plt.figure(figsize=size, layout="constrained")
    drawn: list[Axes] = []
    for k, effect in enumerate(effects.effects[:n_panels]):
        ax = figure.add_subplot(n_lines, n_abreast, k + 1, sharey=drawn[0] if drawn else None)
        _draw(network, effects, effect, ax)
        if k % n_abreast:
            ax.set_ylabel("")
            ax.tick_params(labelleft=False)
        if legend := ax.get_legend():
            legend.set_visible(k == 0)
        drawn.append(ax)
    _set_limits(effects, drawn)
    return drawn


def plot_effect(network: DiscretizedBayesNet, variable: str, parent: str, *, ax: Axes | None = None) -> Axes:
    """Draw how a variable goes with one of its parents, on average over the others, and return the axes.

    The line is the mean of the variable, or the probability of the second one of two levels, and the band holds the
    central 80 % of its values, or of its probabilities. Of more than two levels every one has a line. A discrete parent
    has a step per level. Grey bars show where rows are.

    Parameters
    ----------
    network : DiscretizedBayesNet
        The network.
    variable, parent : str
        Names of a variable and of one of its parents.
    ax : matplotlib Axes, optional
        Axes to draw in; by default those of a new figure.

    Raises
    ------
    GomeaBnError
        For an unknown variable, and for a parent that it does not have.
    """
    effects = network.column_effects(variable)
    by_parent = {effect.parent: effect for effect in effects.effects}
    if parent not in by_parent:
        raise GomeaBnError(
            f"parent must be a parent of '{variable}', which has the parents {listed(by_parent)}; got {parent!r:.80}."
            f"{nearest(str(parent), tuple(by_parent))}"
        )
    ax = new_axes((4.2, 3.2)) if ax is None else ax
    _draw(network, effects, by_parent[parent], ax)
    _set_limits(effects, [ax])
    return ax


def _draw(network: DiscretizedBayesNet, effects: ColumnEffects, effect: ParentEffect, ax: Axes) -> None:
    """Draw the panel of one parent, apart from its bars of rows and the limits of its vertical axis."""
    from matplotlib import colormaps

    outcomes = effects.shown_outcomes
    shown = outcomes[:_MOST_OUTCOMES]
    colours: list[Any] = (
        [BLUE] if len(shown) == 1 else [*colormaps["viridis"](np.linspace(0.0, 0.85, len(shown)))]
    )
    handles: list[Any] = []
    for k, colour in zip(shown, colours, strict=True):
        means = effect.means[:, k]
        style: dict[str, Any] = {"color": colour, "linewidth": 1.8, "zorder": 3}
        if effect.is_continuous:
            if len(shown) == 1:
                ax.fill_between(
                    effect.values, effect.lows[:, k], effect.highs[:, k], color=_BAND, linewidth=0
                )
            marker = "o" if len(effect.values) == 1 else ""
            handles += ax.plot(effect.values, means, marker=marker, **style)
            continue
        at = effect.values
        if len(shown) == 1:
            heights = effect.highs[:, k] - effect.lows[:, k]
            ax.bar(at, heights, 2 * _HALF, effect.lows[:, k], color=_BAND, linewidth=0)
        handles.append(ax.hlines(means, at - _HALF, at + _HALF, colors=[colour], linewidth=2.2, zorder=3))
    title = plain_text(name_in_words(effect.parent), _LONGEST_TITLE)
    ax.set_title(f"{title} ({percent(effect.share)})", fontsize="medium", **LITERAL)
    if effect.is_continuous:
        label_values(ax, effect.parent, network.support[effect.parent])
        ax.locator_params(axis="x", nbins=4)
    else:
        levels = network.levels[effect.parent]
        # characters that fit below a panel
        is_crowded = sum(len(str(level)) + 2 for level in levels) > 20
        tilt: dict[str, Any] = (
            {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if is_crowded else {}
        )
        texts = [plain_text(str(level), 12) for level in levels]
        ax.set_xticks(range(len(levels)), texts, fontsize="small", **tilt, **LITERAL)
    name = plain_text(name_in_words(effects.name), _LONGEST_TITLE)
    what = f"mean of {name}" if not effects.levels else f"probability of {name}"
    if len(effects.levels) == 2:
        what = f"P({name} = {plain_text(str(effects.levels[1]), _LONGEST_OUTCOME)})"
    ax.set_ylabel(what, **LITERAL)
    ax.spines[["top", "right"]].set_visible(False)
    if len(shown) > 1:
        texts = [plain_text(str(effects.levels[k]), _LONGEST_OUTCOME) for k in shown]
        plain_legend(ax, handles, texts, frameon=False, fontsize="small", loc="best")
    ax.bar(
        effect.values if not effect.is_continuous else effect.edges[:-1],
        _ROWS * effect.heights,
        width=2 * _HALF if not effect.is_continuous else np.diff(effect.edges),
        align="center" if not effect.is_continuous else "edge",
        color=_ROW_BARS,
        edgecolor="white",
        linewidth=0.4,
        transform=ax.get_xaxis_transform(),
        zorder=1,
    )


def _set_limits(effects: ColumnEffects, drawn: list[Axes]) -> None:
    """Set the limits of the common vertical axis, with room for the bars of rows below everything else."""
    chosen = list(effects.shown_outcomes[:_MOST_OUTCOMES])
    has_band = len(chosen) == 1
    ends = [(one.lows, one.highs) if has_band else (one.means, one.means) for one in effects.effects]
    low = min(float(lows[:, chosen].min()) for lows, _ in ends)
    high = max(float(highs[:, chosen].max()) for _, highs in ends)
    span = (high - low) or 1.0
    room = span * (_ROWS + _ROOM) / (1 - _ROWS - 2 * _ROOM)
    limits = low - room, high + span * _ROOM
    drawn[0].set_ylim(limits)
    # the bars of rows have no ticks
    drawn[0].set_yticks([tick for tick in drawn[0].get_yticks() if low <= tick <= limits[1]])
    drawn[0].set_ylim(limits)
