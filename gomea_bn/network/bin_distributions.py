"""How continuous variables are distributed inside their bins.

Point masses have a probability, or count as a bin of one measuring step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import column_positions, numeric_values
from gomea_bn.errors import check_choice
from gomea_bn.lazy import pd
from gomea_bn.network.conditionals.curve import Curve, curve_of, ratios_of_bins, scaled_by_bin
from gomea_bn.network.parts import ValueKind
from gomea_bn.network.recorded import NetworkLike
from gomea_bn.network.tables import bin_widths
from gomea_bn.problems.cuts.policies import bin_codes
from gomea_bn.problems.cuts.shape import MOST_POINTS, Shape
from gomea_bn.texts import listed, percent, shown_name

RESOLUTIONS = ("points", "steps")
"""Measures of values that are point masses: their probability, or the density of a bin of one measuring step."""


def curve_inside(network: NetworkLike, name: str) -> Curve:
    """Return the density whose parts are the densities inside the bins: the shape of a variable, or uniform."""
    return curve_of(network.shapes.get(name), network.support[name])


def bin_ratios(network: NetworkLike, name: str, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities of the shown bins divided by those under `curve_inside`, float64 (n_bins,)."""
    return ratios_of_bins(
        probabilities, network.cut_points[name], network.shapes.get(name), network.support[name]
    )


class BinDistributions:
    """The distributions of a continuous variable given each of its bins, whose ends are `edges` (n_bins + 1,)."""

    def __init__(self, network: NetworkLike, name: str) -> None:
        self._cuts = network.cut_points[name]
        self._support = network.support[name]
        self._shape = network.shapes.get(name)
        self._curve = curve_inside(network, name)
        self.edges = np.concatenate((self._support[:1], self._cuts, self._support[1:]))

    def codes(self, values: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the bin of every value, int32 (n,); -1 for NaN."""
        return bin_codes(values, self._cuts).astype(np.int32)

    def means(self) -> NDArray[np.float64]:
        """Return the mean of every bin, float64 (n_bins,)."""
        if self._shape is None:
            # halves first, since the sum of huge ends may overflow
            return self.edges[:-1] / 2 + self.edges[1:] / 2
        curve = scaled_by_bin(self._curve, self._cuts, np.ones(len(self._cuts) + 1))
        starts, widths = curve.values[:-1], np.diff(curve.values)
        left, right = curve.densities[:-1], curve.densities[1:]
        masses = widths * (left + right) / 2
        # the integral of x f(x) over a piece on which the density f is linear
        moments = starts * masses + widths * (widths * (left + 2 * right) / 6)
        bins = np.searchsorted(self._cuts, curve.values[1:], side="left")
        totals, sums = np.zeros((2, len(self._cuts) + 1))
        np.add.at(totals, bins, masses)
        np.add.at(sums, bins, moments)
        for value, mass in curve.points.items():
            code = int(np.searchsorted(self._cuts, value, side="left"))
            totals[code] += mass
            sums[code] += mass * value
        return np.clip(sums / totals, self.edges[:-1], self.edges[1:])

    def values(self, codes: NDArray[np.int32], shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values at shares of the probability of their bins, float64 (n,), always inside these bins."""
        if self._shape is not None:
            return self._shape.inside(codes, self._cuts, shares)
        low, high = self.edges[codes], self.edges[codes + 1]
        lowest = np.where(codes > 0, np.nextafter(low, high), low)
        return np.asarray(np.clip(low + shares * (high - low), lowest, high), np.float64)

    def quantiles(self, probabilities: NDArray[np.float64], level: float) -> NDArray[np.float64]:
        """Return the quantile of every row of probabilities of the bins (n, n_bins), float64 (n,).

        `level` is the probability of values up to the quantile.
        """
        cumulated = np.cumsum(probabilities, axis=1)
        wanted = level * cumulated[:, -1]
        # the last bin with a positive probability for rounding errors, the first one for level 0
        reaches = (cumulated >= wanted[:, None]) & (cumulated > 0)
        codes = np.argmax(reaches, axis=1).astype(np.int32)
        rows = np.arange(len(codes))
        of_bin = probabilities[rows, codes]
        shares = (wanted - (cumulated[rows, codes] - of_bin)) / of_bin
        return self.values(codes, np.clip(shares, 0.0, 1.0))

    def log_densities(self, values: NDArray[np.float64], codes: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the log density of values given their bins, float64 (n,), in nats for the original units."""
        if self._shape is not None:
            return self._shape.log_inside(values, self._cuts)
        return np.asarray(-np.log(bin_widths(self._cuts, self._support))[codes], np.float64)

    def interval(
        self, low: float, high: float, closed: str
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return where an interval begins in every bin and P(interval | bin), each float64 (n_bins,).

        The ends may be infinite. `closed`, "both", "left", "right" or "neither", says which belong to the interval,
        which matters only for point masses.
        """
        lows = np.clip(low, self.edges[:-1], self.edges[1:])
        highs = np.clip(high, self.edges[:-1], self.edges[1:])
        if self._shape is None:
            widths = np.diff(self.edges)
            return (lows - self.edges[:-1]) / widths, (highs - lows) / widths
        masses = self._shape.bin_masses(self._cuts)
        below_bins = np.concatenate(([0.0], np.cumsum(masses)[:-1]))
        below_low = _below(self._shape, low, includes=closed in ("right", "neither"))
        below_high = _below(self._shape, high, includes=closed in ("right", "both"))
        start = np.clip((below_low - below_bins) / masses, 0.0, 1.0)
        return start, np.clip((below_high - below_bins) / masses, 0.0, 1.0) - start


def _below(shape: Shape, value: float, includes: bool) -> float:
    """Return the probability under a shape of values below one value, or up to it."""
    below = float(shape.distribution(np.array(value)))
    return below if includes else below - shape.points.get(value, 0.0)


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
    # as a share of its range: the default least width of a bin
    return 1e-3 * (high - low)


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
