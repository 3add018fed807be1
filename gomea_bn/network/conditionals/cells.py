"""Cells of the columns of a network with conditional densities, from fine to coarse, and its tables over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.network.conditionals.family import Columns
from gomea_bn.network.tables import bin_widths
from gomea_bn.problems.cuts.policies import bin_codes

if TYPE_CHECKING:
    from gomea_bn.network.conditionals.conditionals import WithDensities
    from gomea_bn.problems.cuts.shape import Shape

    Net = TypeVar("Net", bound=WithDensities)

SIZES = (192, 96, 64, 48, 32, 24, 16, 12, 8, 0)
"""Numbers of cells of the levels, all divisors of the first; cuts that every level has come on top."""

# position of the level whose cells are refined row by row
_FIRST_LEVEL = SIZES.index(24)
# cells end at equally spaced positions of the normal scale of a column between these ends
_FARTHEST = 3.0
# width of the cell of a point mass, as a share of the range
_POINT_WIDTH = 1e-9
# weight of the middles of cells against rows of data, in rows
_WEIGHT_OF_MIDDLES = 1.0


def cell_middles(
    cuts: NDArray[np.float64], support: tuple[float, float], shape: Shape | None
) -> NDArray[np.float64]:
    """Return the median of each cell between some cuts, under the shape or uniform, float64 (n_cells,)."""
    if shape is not None:
        n_cells = len(cuts) + 1
        return shape.inside(np.arange(n_cells), cuts, np.full(n_cells, 0.5))
    ends = np.concatenate((support[:1], cuts, support[1:]))
    # halves first, since the sum of huge ends may overflow
    return np.asarray(ends[:-1] / 2 + ends[1:] / 2, np.float64)


def table_over_grid(
    network: WithDensities,
    name: str,
    cells: Mapping[str, NDArray[np.float64]],
    ends: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]] | None = None,
) -> NDArray[np.float64]:
    """Return P(cell or level of a column | cells or levels of its parents), each parent at the middle of its cell.

    `cells` are the inner cuts of the cells of continuous columns. With the `ends` of these, each (n_cells,), the line
    of the column is averaged over them. The table has the shape (card(parent_1), ..., card(name)).
    """
    parents, levels = network.parents(name), network.levels
    values: dict[str, NDArray[Any]] = {}
    along_axes = {}
    shape = []
    for axis, parent in enumerate(parents):
        middles: NDArray[Any] = (
            np.arange(len(levels[parent]))
            if parent in levels
            else cell_middles(cells[parent], network.support[parent], network.shapes.get(parent))
        )
        shape.append(len(middles))
        along = [-1 if k == axis else 1 for k in range(len(parents))]
        values[parent] = middles.reshape(along)
        if ends is not None and parent in ends:
            low, high = ends[parent]
            along_axes[parent] = low.reshape(along), high.reshape(along)
    masses = network.families[name].masses(cells.get(name), Columns(values, along_axes))
    return np.array(np.broadcast_to(masses, (*shape, masses.shape[-1])))


def table_over_rows(
    network: WithDensities,
    name: str,
    cells: Mapping[str, NDArray[np.float64]],
    rows: Mapping[str, NDArray[Any]],
) -> NDArray[np.float64]:
    """Return the table of `table_over_grid` with parents distributed inside their cells as in rows of data.

    A cell of the parents has the mean over its rows of the probabilities given their values, and over one more row at
    the middles, which alone decides for cells without rows. `rows` has numbers, or codes of levels, of all columns.
    """
    table = table_over_grid(network, name, cells)
    parents = network.parents(name)
    if not parents:
        return table
    card, n_configurations = table.shape[-1], prod(table.shape[:-1])
    configurations = np.zeros(len(rows[name]), np.int64)
    for parent, size in zip(parents, table.shape, strict=False):
        codes = rows[parent] if parent not in cells else bin_codes(rows[parent], cells[parent])
        configurations = configurations * size + codes
    masses = network.families[name].masses(cells.get(name), Columns(rows))
    masses = np.broadcast_to(masses, (len(configurations), card))
    sums = np.column_stack(
        [np.bincount(configurations, masses[:, code], n_configurations) for code in range(card)]
    )
    counts = np.bincount(configurations, minlength=n_configurations)[:, None]
    weight = _WEIGHT_OF_MIDDLES
    means = (sums + weight * table.reshape(-1, card)) / (counts + weight)
    return np.asarray(means / means.sum(axis=1, keepdims=True)).reshape(table.shape)


class CellNetwork:
    """A network whose bins are the cells of a level, which divide the shown bins; all else is that of the network."""

    def __init__(self, shown: WithDensities, cut_points: Mapping[str, NDArray[np.float64]]) -> None:
        self.shown = shown
        self.cut_points = dict(cut_points)

    def cardinality(self, name: str) -> int:
        """Return the number of cells or levels of a variable."""
        return len(self.cut_points[name]) + 1 if name in self.cut_points else self.shown.cardinality(name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.shown, name)


def shown_network(network: Net) -> Net:
    """Return the network that a network of cells belongs to, or the network itself."""
    return cast("Net", network.shown) if isinstance(network, CellNetwork) else network


@dataclass(frozen=True, eq=False)
class CellLevel:
    """The cells of one level.

    By continuous column: their inner `cuts`, and their lower and upper `ends` (n_cells,), both the value for a point
    mass. By position: one of the `values` that stand for each cell, or the codes of levels; the `first` cell of the
    finest level in each cell, and the first cell in each shown bin; and `tables` over the cells that have been
    computed. `cards` (V,) are numbers of cells or levels.
    """

    cuts: dict[str, NDArray[np.float64]]
    values: list[NDArray[Any]]
    ends: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]
    first: dict[int, NDArray[np.int64]]
    first_of_bins: dict[int, NDArray[np.int64]]
    cards: NDArray[np.int64]
    tables: dict[int, NDArray[np.float64]]


class CellGrids:
    """The levels of cells of a network with conditionals; the first one, the finest, has the cuts of all others."""

    def __init__(self, network: WithDensities) -> None:
        self._network = network
        self._cuts = {name: _cuts_by_level(network, name) for name in network.cut_points}
        self._levels: dict[int, CellLevel] = {}
        self._breaks: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}

    @cached_property
    def finest(self) -> WithDensities:
        """The network with the cells of the finest level as its bins."""
        cuts = {name: of_levels[0] for name, of_levels in self._cuts.items()}
        return cast("WithDensities", CellNetwork(self._network, cuts))

    @cached_property
    def masses(self) -> dict[int, NDArray[np.float64]]:
        """Probabilities of the finest cells under the distribution inside bins, by position of a continuous column."""
        network, cuts = self._network, self.finest.cut_points
        return {
            v: network.shapes[name].bin_masses(cuts[name])
            if name in network.shapes
            else bin_widths(cuts[name], network.support[name])
            for v, name in enumerate(network.names)
            if name in cuts
        }

    def breaks(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return where the density of a column, or of a child given it, may jump or bend, and its point masses."""
        if name not in self._breaks:
            network, shape = self._network, self._network.shapes.get(name)
            low, high = network.support[name]
            known = network.conditionals
            assert known is not None
            parts = [np.array([low, high]), network.cut_points[name], self._cuts[name][_FIRST_LEVEL]]
            parts += [copy.cut_points[name] for copy in known.copies]
            parts += [
                of_column.edges for of_column in (shape, known.scales.get(name)) if of_column is not None
            ]
            parts += [family.bends(name) for family in network.families.values()]
            points = np.empty(0) if shape is None else shape.point_values
            ends = np.unique(np.concatenate([*parts, points]))
            self._breaks[name] = ends[(ends >= low) & (ends <= high)], points
        return self._breaks[name]

    def level(self, index: int) -> CellLevel:
        """Return a level by its position in `SIZES`."""
        if index not in self._levels:
            network = self._network
            cuts = {name: of_levels[index] for name, of_levels in self._cuts.items()}
            values: list[NDArray[Any]] = []
            ends, first, first_of_bins = {}, {}, {}
            for v, name in enumerate(network.names):
                if name not in cuts:
                    values.append(np.arange(len(network.levels[name])))
                    continue
                (low, high), shape = network.support[name], network.shapes.get(name)
                middles = cell_middles(cuts[name], (low, high), shape)
                is_point = np.isin(middles, [] if shape is None else shape.point_values)
                lows, highs = (np.concatenate(part) for part in (([low], cuts[name]), (cuts[name], [high])))
                ends[name] = np.where(is_point, middles, lows), np.where(is_point, middles, highs)
                values.append(middles)
                first[v] = _first_cells(self._cuts[name][0], cuts[name])
                first_of_bins[v] = _first_cells(cuts[name], network.cut_points[name])
            cards = np.array([len(of_column) for of_column in values], np.int64)
            self._levels[index] = CellLevel(cuts, values, ends, first, first_of_bins, cards, {})
        return self._levels[index]

    def table(self, index: int, v: int) -> NDArray[np.float64]:
        """Return the table of the column at a position over the cells of a level."""
        level = self.level(index)
        if v not in level.tables:
            table = table_over_grid(self._network, self._network.names[v], level.cuts, level.ends)
            level.tables[v] = np.ascontiguousarray(table)
        return level.tables[v]


def _first_cells(cuts: NDArray[np.float64], coarser: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the first cell between some cuts in every cell between some of these cuts, int64 (n_coarser + 1,)."""
    return np.concatenate(([0], np.searchsorted(cuts, coarser) + 1)).astype(np.int64)


def _cuts_by_level(network: WithDensities, name: str) -> list[NDArray[np.float64]]:
    """Return the inner cuts of a column at every level of `SIZES`."""
    low, high = network.support[name]
    shape, shown = network.shapes.get(name), network.cut_points[name]
    least = 4 * float(np.spacing(max(abs(low), abs(high))))
    # halves first, since the range may overflow
    width = max(_POINT_WIDTH * (high / 2 - low / 2), least)
    shares = scipy.special.ndtr(np.linspace(-_FARTHEST, _FARTHEST, SIZES[0] + 1)[1:-1])
    fine = _quantiles(network, name, shares)
    points = [] if shape is None else shape.point_values.tolist()
    between = np.empty(0)
    if shape is not None and shape.has_few_values and len(points) > 1:
        # every value has its cell at the finest level, and coarser ones join neighbours; rare values may lie beyond
        between = shape.point_values[:-1] / 2 + shape.point_values[1:] / 2
        is_beyond = (fine < shape.point_values[0]) | (fine > shape.point_values[-1])
        snapped = between[np.minimum(np.searchsorted(shape.point_values, fine), len(between) - 1)]
        fine = np.asarray(np.where(is_beyond, fine, snapped), np.float64)
        between = between if len(between) < SIZES[0] else np.empty(0)
        points = []
    set_values = network.conditionals.set_values if network.conditionals is not None else {}
    points += [set_values[name]] if name in set_values else []
    ends = [end for point in points for end in (point - width, point if point > low else low + width)]
    always = _apart(np.concatenate([shown, ends]), low, high, least, shown)
    kept = np.zeros(len(fine), np.bool_)
    kept[np.isin(fine, _apart(np.concatenate([always, fine]), low, high, least, always))] = True
    # a cut that every level has stands for the ends of cells less than half a cell away
    nearest = np.searchsorted(fine, always) - 0.5
    distances = np.abs(np.arange(len(fine))[:, None] - nearest).min(axis=1, initial=np.inf)
    levels = []
    for size in SIZES:
        step = SIZES[0] // size if size else len(fine) + 1
        some = np.arange(step - 1, len(fine), step)
        some = some[kept[some] & (distances[some] >= step / 2)]
        levels.append(np.unique(np.concatenate([always, fine[some]])))
    finest = _apart(np.concatenate([levels[0], between]), low, high, least, levels[0])
    return [finest, *levels[1:]]


def _apart(
    cuts: NDArray[np.float64], low: float, high: float, least: float, always: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return cuts inside the support in increasing order, without those too close to others or to the ends."""
    kept = [low]
    is_always = set(always.tolist())
    for cut in np.unique(cuts).tolist():
        if cut in is_always:
            while len(kept) > 1 and cut - kept[-1] < least and kept[-1] not in is_always:
                kept.pop()
            kept.append(cut)
        elif cut - kept[-1] >= least and high - cut >= least:
            kept.append(cut)
    return np.array(kept[1:])


def _quantiles(network: WithDensities, name: str, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values at shares of the probability of a column, float64 (n,).

    The distribution is the mean of up to three: that of the tables, each averaged over its parents, over the sets of
    cuts; the shape; and the scale of the column in lines, which may be finer than the shape.
    """
    known = network.conditionals
    assert known is not None
    (low, high), shape, scale = network.support[name], network.shapes.get(name), known.scales.get(name)
    parts = [np.array([low, high]), *(copy.cut_points[name] for copy in known.copies)]
    for of_column in (shape, scale):
        if of_column is not None:
            points = of_column.point_values
            parts += [of_column.quantile(shares), points, np.nextafter(points, -np.inf)]
    values = np.unique(np.concatenate(parts))
    values = values[(values >= low) & (values <= high)]
    below = np.zeros(len(values))
    for copy in known.copies:
        table, cuts = copy.tables[name], copy.cut_points[name]
        to_ends = np.concatenate([[0.0], np.cumsum(table.reshape(-1, table.shape[-1]).mean(axis=0))])
        if shape is None:
            below += np.interp(values, np.concatenate([[low], cuts, [high]]), to_ends)
        else:
            under_shape = np.concatenate([[0.0], shape.distribution(cuts), [1.0]])
            below += np.interp(shape.distribution(values), under_shape, to_ends)
    parts = [below / below[-1], *(one.distribution(values) for one in (shape, scale) if one is not None)]
    return np.asarray(np.interp(shares, np.mean(parts, axis=0), values))
