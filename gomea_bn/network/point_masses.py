"""Point masses of variables: those that another network lacks, and the width of a bin that stands for one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import column_positions, numeric_values
from gomea_bn.errors import check_choice
from gomea_bn.network.value_kinds import ValueKind
from gomea_bn.problems.cuts.shape import MOST_POINTS, Shape
from gomea_bn.texts import listed, percent, shown_name

if TYPE_CHECKING:
    import pandas as pd

    from gomea_bn.network.protocol import NetworkLike

RESOLUTIONS = ("points", "steps")
"""Measures of values that are point masses: their probability, or the density of a bin of one measuring step."""

# width of the bins of a column without a measuring step, as a share of its range: the default least width of a bin
_SHARE_OF_RANGE = 1e-3


def unshared_points(shapes: Mapping[str, Shape], others: Mapping[str, Shape]) -> list[tuple[str, float]]:
    """Return the point masses (variable, value) of some shapes that other shapes lack.

    The divergence from a distribution with a point mass to one without it is infinite.
    """
    return [
        (name, value)
        for name, shape in shapes.items()
        for value in shape.points
        if name not in others or value not in others[name].points
    ]


def width_of_points(network: NetworkLike, name: str) -> float:
    """Return the width of the bins that stand for the point masses of a variable, in its units.

    It is the step that the column was measured with. Without such a step it is the smallest distance of two point
    masses of a column of few values, and a thousandth of the range of any other column.
    """
    step = network.value_kinds.get(name, ValueKind()).step
    if step is not None:
        return step
    shape, (low, high) = network.shapes[name], network.support[name]
    if shape.has_few_values and len(shape.point_values) > 1:
        return float(np.diff(shape.point_values).min())
    return _SHARE_OF_RANGE * (high - low)


def log_widths_of_points(
    network: NetworkLike, frame: pd.DataFrame, resolution: str, of: Iterable[str] | None = None
) -> NDArray[np.float64] | float:
    """Return what a log density with a resolution is less than that in which point masses count with probabilities.

    That is, by row, the sum over the cells with point masses of ln `width_of_points`, or 0.0 for "points". `of` names
    the variables whose density is wanted, by default all; cells of the frame may be missing.
    """
    check_choice("resolution", resolution, RESOLUTIONS)
    if resolution == "points":
        return 0.0
    chosen = network.names if of is None else tuple(of)
    shapes = {
        name: network.shapes[name]
        for name in chosen
        if name in network.shapes and network.shapes[name].points
    }
    positions = column_positions(frame, list(shapes))
    total = np.zeros(len(frame))
    for name, shape in shapes.items():
        values = numeric_values(frame.iloc[:, positions[name]], name, allow_missing=True)
        total += np.where(shape.find_points(values)[1], np.log(width_of_points(network, name)), 0.0)
    return total


def points_text(points: Mapping[float, float]) -> str:
    """Return some point masses, by value, with their shares of the rows; of many the most frequent one."""
    if len(points) > MOST_POINTS:
        value, most = max(points.items(), key=lambda item: item[1])
        total = percent(min(sum(points.values()), 1.0))
        return f"{len(points)} values in {total} of rows, the most frequent one is {value:.6g} in {percent(most)}"
    return listed(f"{value:.6g} in {percent(mass)} of rows" for value, mass in points.items())


def points_measure(network: NetworkLike) -> str:
    """Return that point masses of a network count with their probability, for a report; "" without any."""
    names = [shown_name(name) for name, shape in network.shapes.items() if shape.points]
    return f"point masses of {listed(names, 5)} count with their probability" if names else ""
