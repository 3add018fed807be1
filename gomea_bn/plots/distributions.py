"""Parts of the plots of distributions: units of huge ranges, lines of densities, and ticks of levels."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10
from typing import TYPE_CHECKING, Any

import numpy as np

from gomea_bn.network.bin_distributions import Curve
from gomea_bn.plots.axes import LITERAL, plain_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from gomea_bn.data.columns import Level

# levels, and characters in all their names, that fit next to each other
_MANY_LEVELS, _LONG_LEVELS = 8, 40
# characters
_LONGEST_LEVEL = 24
# Matplotlib takes numbers below about 1e-287 for 0
_LARGEST_POWER = 250


def unit_of(support: tuple[float, float]) -> float:
    """Return the power of ten in which a range is drawn: 1, unless Matplotlib cannot draw its numbers or densities."""
    power = floor(log10(support[1] - support[0]))
    return 1.0 if abs(power) <= _LARGEST_POWER else 10.0 ** max(power, -300)


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


def level_ticks(ax: Axes, levels: Sequence[Level]) -> None:
    """Label the positions 0, 1, ... of the axis by levels, tilted where they are many or long."""
    texts = [plain_text(str(level), _LONGEST_LEVEL) for level in levels]
    crowded = len(levels) > _MANY_LEVELS or sum(map(len, texts)) > _LONG_LEVELS
    tilt: dict[str, Any] = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
    ax.set_xticks(range(len(levels)), texts, **tilt, **LITERAL)
