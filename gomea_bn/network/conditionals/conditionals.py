"""The conditional densities of all columns of a network, and the cells of its columns, from fine to coarse.

A density is that of a stack of members; over the cells it is one table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from math import prod, ulp
from types import MappingProxyType
from typing import Any, Protocol, TypeVar, cast

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from gomea_bn.data.columns import column_positions, encode_levels, numeric_values
from gomea_bn.errors import GomeaBnError, check_integer, is_real
from gomea_bn.lazy import pd
from gomea_bn.network.conditionals.family_table import FamilyTable, TableSet
from gomea_bn.network.conditionals.kind import ColumnFacts, Family, Fitted, Stack
from gomea_bn.network.conditionals.scales import Columns, ProbabilityScale, UnitScale
from gomea_bn.network.parts import Immutable, WithTables, check_keys
from gomea_bn.network.tables import bin_widths
from gomea_bn.problems.cuts.policies import bin_codes
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.texts import counted

Net = TypeVar("Net", bound="WithDensities")

INTERVAL = 0.9
"""Probability of the intervals that are shown: of cuts, of answers and of predicted numbers."""


def with_cut(low: float, high: float, cut: float) -> tuple[float, float]:
    """Return the ends of the interval of a cut, extended to the cut where it lies outside."""
    return min(low, cut), max(high, cut)


SIZES = (192, 96, 64, 48, 32, 24, 16, 12, 8, 0)
"""Numbers of cells of the levels, all divisors of the first; cuts that every level has come on top."""

# position of the level whose cells are refined row by row
_FIRST_LEVEL = SIZES.index(24)
# cells end at equally spaced positions of the normal scale of a column between these ends
_FARTHEST = 3.0
# weight of the middles of cells against rows of data, in rows
_WEIGHT_OF_MIDDLES = 1.0


class Conditionals(Immutable):
    """The conditional densities of a network whose tables over the shown bins are computed from them.

    The density of a column given its parents is that of its stack: a mean of members by their weights. Members are the
    mean over tables of several sets of cuts, a line or a mixture of lines of the continuous parents, a logit of a
    discrete column, or the value that an intervention has set. `gomea_bn.average_families` learns conditionals from
    the rows of a network.

    Parameters
    ----------
    stacks : mapping of str to Stack
        What every column follows.
    scales : mapping of str to Shape, optional
        Distributions of the columns that are part of members on probability scales.
    units : mapping of str to (centre, spread), optional
        Numbers that are subtracted from, and then divide, the columns that are part of members in own units.
    n_rows : int
        Number of rows that the conditionals were learned from, updates apart.
    cut_probabilities : mapping of str to sequence of float, optional
        For every continuous column the probability that each shown cut is near.
    cut_intervals : mapping of str to sequence of pairs of float, optional
        For every continuous column the 90 % interval of each shown cut.
    log_losses : mapping of str to (number of rows, mean, standard deviation), optional
        Of -ln p(column | parents) in nats, over rows that were left out of the fit, by column.

    Notes
    -----
    Every parameter is an attribute; mappings can only be read. The mapping of a part that is unknown is empty.
    """

    __slots__ = (
        "_frame",
        "cut_intervals",
        "cut_probabilities",
        "log_losses",
        "n_rows",
        "scales",
        "stacks",
        "units",
    )

    cut_intervals: Mapping[str, Any]
    cut_probabilities: Mapping[str, Any]
    _frame: tuple[Any, ...] | None
    log_losses: Mapping[str, tuple[float, float, float]]
    n_rows: int
    scales: Mapping[str, Shape]
    stacks: Mapping[str, Stack]
    units: Mapping[str, tuple[float, float]]

    def __init__(
        self,
        stacks: Mapping[str, Stack],
        *,
        scales: Mapping[str, Shape] | None = None,
        units: Mapping[str, tuple[float, float]] | None = None,
        n_rows: int,
        cut_probabilities: Mapping[str, ArrayLike] | None = None,
        cut_intervals: Mapping[str, ArrayLike] | None = None,
        log_losses: Mapping[str, tuple[float, float, float]] | None = None,
    ) -> None:
        check_integer("n_rows", n_rows, 1)
        parts: dict[str, Mapping[str, Any] | None] = {
            "stacks": stacks,
            "scales": scales,
            "units": units,
            "cut_probabilities": cut_probabilities,
            "cut_intervals": cut_intervals,
            "log_losses": {name: _loss(name, of_name) for name, of_name in (log_losses or {}).items()},
        }
        self._set_parts({name: MappingProxyType(dict(part or {})) for name, part in parts.items()})
        self._set_parts({"n_rows": n_rows, "_frame": None})

    @classmethod
    def of_tables(
        cls,
        sets: Sequence[TableSet],
        further: Mapping[str, tuple[float, Fitted]] | None = None,
        **parts: Any,
    ) -> Conditionals:
        """Return conditionals of columns that follow the mean of tables, and some a further member with a weight.

        Tables are over the same sets of cuts of all columns; `parts` are further ones of the constructor.
        """
        if not sets:
            raise GomeaBnError("Conditionals of tables must have at least one set of cuts, got none.")
        weighted = further or {}
        stacks = {}
        for name in sets[0].tables:
            tables = FamilyTable(tuple(one.of_column(name) for one in sets))
            weight, fitted = weighted.get(name, (0.0, None))
            stacks[name] = Stack.of(tables, fitted, weight)
        return cls(stacks, **parts)

    @property
    def n_sets(self) -> int:
        """Number of sets of cuts that tables average over; 0 without tables."""
        return max((stack.n_sets for stack in self.stacks.values()), default=0)

    def mean_line_weight(self, network: WithTables) -> float:
        """Return the mean weight of lines over the columns with continuous parents, 0 without such columns."""
        continuous = network.cut_points
        weights = [
            self.stacks[name].smooth_weight
            for name in continuous
            if any(parent in continuous for parent in network.parents(name))
        ]
        return float(np.mean(weights)) if weights else 0.0

    def facts(self, network: WithTables) -> ColumnFacts:
        """Return what the densities need to know of the columns of the network."""
        support = network.support
        return ColumnFacts(
            support,
            network.shapes,
            {name: len(of_name) for name, of_name in network.levels.items()},
            {
                False: {name: ProbabilityScale(shape, self.n_rows) for name, shape in self.scales.items()},
                True: {name: UnitScale(*pair, support[name]) for name, pair in self.units.items()},
            },
        )

    def after_intervention(self, values: Mapping[str, float]) -> Conditionals:
        """Return the conditionals in which columns have the given numbers or codes of levels with certainty."""
        from gomea_bn.network.conditionals.fixed_value import FixedValue

        fixed = {name: Stack.of(FixedValue(value)) for name, value in values.items()}
        return self.changed(
            stacks={**self.stacks, **fixed},
            log_losses={name: loss for name, loss in self.log_losses.items() if name not in values},
        )

    def in_order(self, names: Sequence[str]) -> Conditionals:
        """Return the conditionals of the same network with its variables in another order."""
        return self.changed(stacks={name: self.stacks[name].in_order(names) for name in names})

    def changed(self, **parts: Any) -> Conditionals:
        """Return conditionals with other values of some parameters of the constructor."""
        return Conditionals(**{**self._content(), **parts})

    def _content(self) -> dict[str, Any]:
        """Return the parts as keywords of the constructor."""
        content = {slot: getattr(self, slot) for slot in self.__slots__ if slot != "_frame"}
        return {
            name: dict(part) if isinstance(part, MappingProxyType) else part for name, part in content.items()
        }

    def checked(self, network: WithTables) -> Conditionals:
        """Return the conditionals with all parts in their stored form, checked against a network.

        They remember the bins and the graph that they were checked against, and are not checked again for the same.
        """
        cuts, support = network.cut_points, network.support
        frame = network.names, network.edges, [of.tolist() for of in cuts.values()], support, network.levels
        if self._frame == frame:
            return self
        continuous = list(cuts)
        check_keys(self.scales, [n for n in continuous if n in self.scales], network.names, "scales")
        for name, shape in self.scales.items():
            if not isinstance(shape, Shape):
                raise GomeaBnError(f"scales['{name}'] must be a Shape, got {type(shape).__name__}.")
        units = checked_units(self.units, network)
        check_keys(self.stacks, network.names, network.names, "stacks")
        shared: dict[bytes, NDArray[np.float64]] = {}
        stacks = {}
        for name in network.names:
            if not isinstance(stack := self.stacks[name], Stack):
                raise GomeaBnError(f"stacks['{name}'] must be a Stack, got {type(stack).__name__}.")
            stacks[name] = stack.checked(network, name, {False: self.scales, True: units}, shared)
        for option in ("cut_probabilities", "cut_intervals"):
            if by_name := getattr(self, option):
                check_keys(by_name, continuous, network.names, option)
        check_keys(self.log_losses, list(self.log_losses), network.names, "log_losses")
        for name, loss in self.log_losses.items():
            if len(loss) != 3 or not all(map(is_real, loss)) or loss[0] < 0 or loss[2] < 0:
                raise GomeaBnError(
                    f"log_losses['{name}'] must be a number of rows, a mean and a standard deviation, got {loss!r:.80}."
                )
        checked = self.changed(
            stacks=stacks,
            cut_probabilities={
                n: checked_probabilities(n, values, len(cuts[n]))
                for n, values in self.cut_probabilities.items()
            },
            cut_intervals={
                n: checked_intervals(n, values, cuts[n], support[n])
                for n, values in self.cut_intervals.items()
            },
            units={n: (scale.centre, scale.spread) for n, scale in units.items()},
        )
        checked._set_parts({"_frame": frame})
        return checked

    def to_content(self) -> dict[str, Any]:
        """Return the conditionals as values that JSON can hold."""
        return {
            "n_rows": self.n_rows,
            "stacks": {name: stack.to_content() for name, stack in self.stacks.items()},
            "scales": {name: shape.to_content() for name, shape in self.scales.items()},
            "units": {name: list(scale) for name, scale in self.units.items()},
            "cut_probabilities": {n: np.asarray(p).tolist() for n, p in self.cut_probabilities.items()},
            "cut_intervals": {n: np.asarray(ends).tolist() for n, ends in self.cut_intervals.items()},
            "log_losses": {name: list(loss) for name, loss in self.log_losses.items()},
        }

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Conditionals):
            return NotImplemented
        return self.to_content() == other.to_content()

    def __hash__(self) -> int:
        return hash((self.n_rows, tuple(self.stacks)))

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Conditionals, **self._content()), ()

    def __repr__(self) -> str:
        n_lines = sum(bool(stack.smooth) for stack in self.stacks.values())
        return f"Conditionals({self.n_sets} sets of cuts, {n_lines} lines)"


class WithDensities(WithTables, Protocol):
    """A network with the density of every variable; `DiscretizedBayesNet` documents its members."""

    @property
    def counts(self) -> Mapping[str, NDArray[np.float64]]:
        """Number of rows of the cells of the tables, if they are known and the network has no conditionals."""

    @property
    def conditionals(self) -> Conditionals | None:
        """Conditional densities that the tables are computed from; None if the network is its tables."""

    @property
    def families(self) -> Mapping[str, Family]:
        """The density of every variable given its parents, on arrays of values."""


def families_of(network: WithDensities) -> dict[str, Family]:
    """Return the density of every column given its parents.

    The families of a network without conditionals are its tables over the shown bins.
    """
    known = network.conditionals
    if known is None:
        known = Conditionals.of_tables([TableSet.of_network(network, network.counts)], n_rows=1)
    facts = known.facts(network)
    return {name: Family(name, known.stacks[name], facts) for name in network.names}


def row_values(network: WithTables, frame: pd.DataFrame, of: Collection[str]) -> dict[str, NDArray[Any]]:
    """Return some columns of a frame: numbers, float64 (n_rows,), or codes of levels, int32 (n_rows,), by name."""
    chosen = [name for name in network.names if name in of]
    positions = column_positions(frame, chosen)
    levels = network.levels
    values: dict[str, NDArray[Any]] = {}
    for name in chosen:
        column = frame.iloc[:, positions[name]]
        if name in levels:
            values[name] = encode_levels(column, name, levels[name])
        else:
            values[name] = numeric_values(column, name)
    return values


def _loss(name: str, numbers: object) -> tuple[float, float, float]:
    """Return what is known of a column's log loss, as `Conditionals.log_losses` has it."""
    if not isinstance(numbers, (list, tuple)) or len(numbers) != 3 or not all(map(is_real, numbers)):
        raise GomeaBnError(
            f"log_losses['{name}'] must be a number of rows, a mean and a standard deviation, got {numbers!r:.80}."
        )
    n_rows, mean, deviation = numbers
    return n_rows, mean, deviation


def around_cuts(
    cuts: NDArray[np.float64], support: tuple[float, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of an interval round every cut, float64 (n_cuts,): half-way to its neighbours, or the range."""
    middles = (cuts[:-1] + cuts[1:]) / 2
    lows = np.concatenate((support[:1], middles))[: len(cuts)]
    return lows, np.concatenate((middles, support[1:]))[: len(cuts)]


def checked_probabilities(name: str, values: object, n_cuts: int) -> NDArray[np.float64]:
    """Return one probability per cut of a variable, float64 (n_cuts,), read-only."""
    try:
        checked = np.array(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        checked = np.full(1, np.nan)
    if checked.shape != (n_cuts,) or not ((checked >= 0) & (checked <= 1)).all():
        raise GomeaBnError(
            f"cut_probabilities of '{name}' must be one number from 0 to 1 for each of {counted(n_cuts, 'cut')}, got "
            f"{values!r:.80}."
        )
    checked.flags.writeable = False
    return checked


def checked_intervals(
    name: str, values: object, cuts: NDArray[np.float64], support: tuple[float, float]
) -> NDArray[np.float64]:
    """Return one interval inside the support for each cut of a variable, float64 (n_cuts, 2), read-only."""
    try:
        checked = np.array(values, np.float64).reshape(-1, 2)
    except (TypeError, ValueError, OverflowError):
        checked = np.full((1, 2), np.nan)
    low, high = support
    is_valid = checked.shape == (len(cuts), 2) and bool(
        ((low <= checked[:, 0]) & (checked[:, 0] <= checked[:, 1]) & (checked[:, 1] <= high)).all()
    )
    if not is_valid:
        raise GomeaBnError(
            f"cut_intervals of '{name}' must be a pair of a low and a high end between {low:g} and {high:g} for each "
            f"of {counted(len(cuts), 'cut')}, got {values!r:.80}."
        )
    checked.flags.writeable = False
    return checked


def checked_units(units: Mapping[str, tuple[float, float]], network: WithTables) -> dict[str, UnitScale]:
    """Return the scales in own units of continuous variables, given their centres and spreads."""
    scales = {}
    for name, pair in units.items():
        if name not in network.cut_points:
            raise GomeaBnError(f"units must have entries of continuous variables only, got {name!r}.")
        try:
            centre, spread = map(float, pair)
        except (TypeError, ValueError, OverflowError):
            centre, spread = np.nan, np.nan
        if not np.isfinite(centre) or not 0 < spread < np.inf:
            raise GomeaBnError(
                f"units['{name}'] must be a centre and a spread above 0, both finite, got {pair!r:.80}."
            )
        scales[name] = UnitScale(centre, spread, network.support[name])
    return scales


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
    mass. `columns` have a value that stands for each cell, or the codes of levels. By position: the `first` cell of the
    finest level in each cell, and the first cell in each shown bin; and `tables` over the cells that have been
    computed. `cards` (V,) are numbers of cells or levels.
    """

    cuts: dict[str, NDArray[np.float64]]
    columns: Columns
    ends: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]
    first: dict[int, NDArray[np.int64]]
    first_of_bins: dict[int, NDArray[np.int64]]
    cards: NDArray[np.int64]
    tables: dict[int, NDArray[np.float64]]


class CellGrids:
    """The levels of cells of a network with conditionals; the first one, the finest, has the cuts of all others.

    `draws` returns drawn rows of all variables by name, for columns whose tables the network does not hold.
    """

    def __init__(self, network: WithDensities, draws: Callable[[], Mapping[str, NDArray[Any]]]) -> None:
        self._network = network
        self._draws = cache(draws)
        self._cuts = {name: _cuts_by_level(network, name, self._draws) for name in network.cut_points}
        self._levels: dict[int, CellLevel] = {}
        self._breaks: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        self._bends: dict[str, NDArray[np.float64]] = {}
        self._quantiles: dict[tuple[str, int], NDArray[np.float64]] = {}

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
            parts.append(network.families[name].jumps(name))
            parts += [
                of_column.edges for of_column in (shape, known.scales.get(name)) if of_column is not None
            ]
            parts.append(self.bends(name))
            points = np.empty(0) if shape is None else shape.point_values
            ends = np.unique(np.concatenate([*parts, points]))
            self._breaks[name] = ends[(ends >= low) & (ends <= high)], points
        return self._breaks[name]

    def bends(self, name: str) -> NDArray[np.float64]:
        """Return the values of a column at which lines of its children bend, float64 (n,), increasing."""
        if name not in self._bends:
            bends = [family.bends(name) for family in self._network.families.values()]
            self._bends[name] = np.unique(np.concatenate([np.empty(0), *bends]))
        return self._bends[name]

    def quantiles(self, name: str, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values at shares of the probability of a column, float64 (n,), which are kept by their number."""
        if (name, len(shares)) not in self._quantiles:
            self._quantiles[name, len(shares)] = _quantiles(self._network, name, shares, self._draws)
        return self._quantiles[name, len(shares)]

    def level(self, index: int) -> CellLevel:
        """Return a level by its position in `SIZES`."""
        if index not in self._levels:
            network = self._network
            cuts = {name: of_levels[index] for name, of_levels in self._cuts.items()}
            values: dict[str, NDArray[Any]] = {}
            ends, first, first_of_bins = {}, {}, {}
            for v, name in enumerate(network.names):
                if name not in cuts:
                    values[name] = np.arange(len(network.levels[name]))
                    continue
                (low, high), shape = network.support[name], network.shapes.get(name)
                middles = cell_middles(cuts[name], (low, high), shape)
                is_point = np.isin(middles, [] if shape is None else shape.point_values)
                lows, highs = (np.concatenate(part) for part in (([low], cuts[name]), (cuts[name], [high])))
                ends[name] = np.where(is_point, middles, lows), np.where(is_point, middles, highs)
                values[name] = middles
                first[v] = _first_cells(self._cuts[name][0], cuts[name])
                first_of_bins[v] = _first_cells(cuts[name], network.cut_points[name])
            cards = np.array(list(map(len, values.values())), np.int64)
            columns = Columns(values, ends)
            self._levels[index] = CellLevel(cuts, columns, ends, first, first_of_bins, cards, {})
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


def _cuts_by_level(
    network: WithDensities, name: str, draws: Callable[[], Mapping[str, NDArray[Any]]]
) -> list[NDArray[np.float64]]:
    """Return the inner cuts of a column at every level of `SIZES`."""
    low, high = network.support[name]
    shape, shown = network.shapes.get(name), network.cut_points[name]
    least = 4 * ulp(max(abs(low), abs(high)))
    # halves first, since the range may overflow
    # width of the cell of a point mass, as a share of the range
    width = max(1e-9 * (high / 2 - low / 2), least)
    shares = scipy.special.ndtr(np.linspace(-_FARTHEST, _FARTHEST, SIZES[0] + 1)[1:-1])
    fine = _quantiles(network, name, shares, draws)
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
    fixed = network.families[name].stack.fixed_value
    points += [] if fixed is None else [fixed]
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


def _quantiles(
    network: WithDensities,
    name: str,
    shares: NDArray[np.float64],
    draws: Callable[[], Mapping[str, NDArray[Any]]],
) -> NDArray[np.float64]:
    """Return values at shares of the probability of a column, float64 (n,).

    The distribution is the mean of up to three: that of tables, each averaged over its parents; the shape; and the
    scale of the column in lines, which may be finer than the shape. A column without tables has its shown one, or, if
    the network does not hold that, the distribution of drawn rows.
    """
    known, family = network.conditionals, network.families[name]
    assert known is not None
    (low, high), shape, scale = network.support[name], network.shapes.get(name), known.scales.get(name)
    has_tables = family.below(np.array([low, high])) is not None
    drawn = np.empty(0) if has_tables or name in network.stored_tables else np.sort(draws()[name])
    if not has_tables and not len(drawn):
        shown = TableSet.of_network(network, {}).of_column(name)
        family = Family(name, Stack.of(FamilyTable((shown,))), family.facts)
    parts = [np.array([low, high]), family.jumps(name)]
    if len(drawn):
        parts.append(np.quantile(drawn, shares))
    for of_column in (shape, scale):
        if of_column is not None:
            points = of_column.point_values
            parts += [of_column.quantile(shares), points, np.nextafter(points, -np.inf)]
    values = np.unique(np.concatenate(parts))
    values = values[(values >= low) & (values <= high)]
    below = np.searchsorted(drawn, values, side="right") / len(drawn) if len(drawn) else family.below(values)
    assert below is not None
    parts = [below, *(one.distribution(values) for one in (shape, scale) if one is not None)]
    return np.asarray(np.interp(shares, np.mean(parts, axis=0), values))
