"""The plot of a variable given its parents: one density, or bars of levels, for each of several values of a parent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.dates import date_texts, name_in_words
from gomea_bn.errors import GomeaBnError, check_number, nearest
from gomea_bn.network.conditionals.curve import Curve
from gomea_bn.network.marginals import (
    conditional_density,
    conditional_probabilities,
    drawn_numbers,
)
from gomea_bn.network.recorded import ordered_parents
from gomea_bn.plots.axes import (
    LITERAL,
    axes_of_variable,
    density_label,
    draw_curve,
    draw_levels,
    in_unit,
    label_values,
    leave_room_for_legend,
    plain_legend,
    plain_text,
    unit_of_axis,
)
from gomea_bn.texts import listed, percent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from gomea_bn.network.bayes_net import DiscretizedBayesNet


@dataclass(frozen=True, slots=True)
class ConditionalDensity:
    """The distribution of a variable given values of all of its parents.

    Attributes
    ----------
    given : dict of str to value
        Value of every parent.
    quantile : float or None
        Probability up to the value of the parent that varies, if it was chosen as a quantile.
    distribution : Curve, or ndarray of shape (n_levels,), float64
        Density of a continuous variable, or probabilities of the levels of a discrete one.
    """

    given: dict[str, Any]
    quantile: float | None
    distribution: Curve | NDArray[np.float64]


def conditional_densities(
    network: DiscretizedBayesNet,
    variable: str,
    given: Mapping[str, object] | None = None,
    *,
    along: str | None = None,
    quantiles: Sequence[float] = (0.1, 0.5, 0.9),
) -> list[ConditionalDensity]:
    """Return the data of `plot_conditional_density`: one distribution per value of the parent that varies.

    Parameters
    ----------
    network : DiscretizedBayesNet
        The network.
    variable : str
        Name of a variable.
    given : mapping of str to value, optional
        Values of parents: numbers in original units, or levels. Further parents have their median or their most
        frequent level under the network, apart from the one that varies.
    along : str, optional
        Parent that varies: at its quantiles under the network, or over its levels, of which the six most frequent ones
        are taken. By default the parent that adds most of those without a given value; nothing varies if all have one.
    quantiles : sequence of float
        Probabilities of a continuous parent's values, between 0 and 1.

    Returns
    -------
    list of ConditionalDensity

    Raises
    ------
    GomeaBnError
        For an unknown variable, for names that are not parents of it, for a parent that both varies and has a given
        value, for probabilities out of range, and for values that do not fit.
    """
    parents = ordered_parents(network, variable)
    values = dict(given or {})
    free = [parent for parent in parents if parent not in values]
    if along is None:
        along = free[0] if free else None
    elif along not in parents:
        raise GomeaBnError(
            f"along must be a parent of '{variable}', which has the parents {listed(parents) or 'none'}; got "
            f"{along!r:.80}.{nearest(str(along), parents)}"
        )
    elif along in values:
        raise GomeaBnError(f"along: '{along}' has a value in given; leave it out of one.")
    if len(quantiles) == 0:
        raise GomeaBnError("quantiles must have at least one number between 0 and 1, got none.")
    for quantile in quantiles:
        check_number("quantiles", quantile, 0.0, 1.0)
    rows = drawn_numbers(network) if free else None
    steps: list[tuple[dict[str, Any], float | None]] = [({}, None)]
    if rows is not None:
        values |= {parent: _typical(network, parent, rows) for parent in free}
        if along is not None:
            steps = _steps(network, along, rows, quantiles)
    distribution = conditional_density if variable in network.cut_points else conditional_probabilities
    conditions = [({**values, **step}, quantile) for step, quantile in steps]
    return [
        ConditionalDensity(condition, quantile, distribution(network, variable, condition))
        for condition, quantile in conditions
    ]


def plot_conditional_density(
    network: DiscretizedBayesNet,
    variable: str,
    given: Mapping[str, object] | None = None,
    *,
    along: str | None = None,
    quantiles: Sequence[float] = (0.1, 0.5, 0.9),
    ax: Axes | None = None,
) -> Axes:
    """Draw the density of a variable given its parents, for several values of one parent, and return the axes.

    The density is drawn as it is in the network: with steps or shapes inside bins, all sets of cuts and the line. Point
    masses are dots; the highest density stands for probability 1. A discrete variable is drawn as bars. The legend
    names the values of the parent that varies, and its title those of other parents.
    `conditional_densities` returns the data that are drawn.

    Parameters
    ----------
    network, variable, given, along, quantiles
        See `conditional_densities`.
    ax : matplotlib Axes, optional
        Axes to draw in; by default those of a new figure.

    Raises
    ------
    GomeaBnError
        See `conditional_densities`.
    """
    from matplotlib import colormaps

    densities = conditional_densities(network, variable, given, along=along, quantiles=quantiles)
    ax = axes_of_variable(ax, variable)
    colours = colormaps["viridis"](np.linspace(0.0, 0.85, len(densities)))
    first = densities[0].given
    varying = [parent for parent in first if any(d.given[parent] != first[parent] for d in densities)]
    fixed = [parent for parent in first if parent not in varying]
    labels = [
        listed(_said(parent, density.given[parent], density.quantile) for parent in varying) or "density"
        for density in densities
    ]
    if variable in network.cut_points:
        unit = unit_of_axis(network.support[variable])
        handles, highest = _draw_curves(ax, densities, colours, unit)
        ax.set_ylabel(density_label(variable, unit))
        label_values(ax, variable, network.support[variable])
    else:
        levels, heights = network.levels[variable], np.array([d.distribution for d in densities])
        places = list(range(len(levels)))
        groups = [(places, *bars) for bars in zip(heights, [{"color": c} for c in colours], strict=True)]
        handles, highest = draw_levels(ax, levels, groups), float(heights.max())
    leave_room_for_legend(ax, highest, len(labels) + bool(fixed))
    legend = plain_legend(ax, handles, labels, frameon=False, loc="upper right")
    if fixed:
        # an empty title would stay invisible
        legend.set_title("given")
        title = legend.get_title()
        title.update(LITERAL)
        title.set_text("given " + listed(_said(parent, first[parent], None) for parent in fixed))
    return ax


def _typical(network: DiscretizedBayesNet, name: str, rows: pd.DataFrame) -> Any:
    """Return the median of a continuous variable, or the most frequent level of a discrete one."""
    if name in network.cut_points:
        return float(np.median(rows[name].to_numpy(np.float64)))
    return _levels_by_frequency(network, name, rows)[0]


def _steps(
    network: DiscretizedBayesNet, name: str, rows: pd.DataFrame, quantiles: Sequence[float]
) -> list[tuple[dict[str, Any], float | None]]:
    """Return the values of the parent that varies, with their probabilities if they are quantiles."""
    if name in network.cut_points:
        values = rows[name].to_numpy(np.float64)
        return [({name: float(np.quantile(values, quantile))}, float(quantile)) for quantile in quantiles]
    frequent = _levels_by_frequency(network, name, rows)[:6]
    return [({name: level}, None) for level in network.levels[name] if level in frequent]


def _levels_by_frequency(network: DiscretizedBayesNet, name: str, rows: pd.DataFrame) -> list[Any]:
    """Return the levels of a discrete variable, the most frequent first."""
    levels = network.levels[name]
    counts = np.bincount(rows[name].cat.codes, minlength=len(levels))
    return [levels[code] for code in np.argsort(-counts, kind="stable")]


def _said(parent: str, value: Any, quantile: float | None) -> str:
    """Return a parent with its value, as in "x = 1.5 (10 %)"."""
    if isinstance(value, float):
        text = (date_texts(np.array([value]), parent, 1.0) or [f"{value:.4g}"])[0]
    else:
        text = plain_text(str(value), 24)
    share = "" if quantile is None else f" ({percent(quantile)})"
    return f"{plain_text(name_in_words(parent), 24)} = {text}{share}"


def _draw_curves(
    ax: Axes, densities: Sequence[ConditionalDensity], colours: NDArray[np.float64], unit: float
) -> tuple[list[Any], float]:
    """Draw densities as lines, and return their entries of the legend and the highest density."""
    curves = [
        in_unit(density.distribution, unit)
        for density in densities
        if isinstance(density.distribution, Curve)
    ]
    highest = max(float(curve.densities.max()) for curve in curves)
    handles: list[Any] = []
    for curve, colour in zip(curves, colours, strict=True):
        handles.append(draw_curve(ax, curve, {"color": colour, "linewidth": 1.8, "zorder": 3}))
        heights = [mass * highest for mass in curve.points.values()]
        ax.plot(list(curve.points), heights, "o", color=colour, markersize=5.5, zorder=6)
    if unit != 1:
        ax.set_xlabel(f"{ax.get_xlabel()} [{unit:g}]", **LITERAL)
    return handles, highest
