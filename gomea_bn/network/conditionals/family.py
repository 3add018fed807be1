"""The density of one column given its parents: an average of tables over several sets of cuts, and a line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.network.conditionals.family_line import (
    LEAST_SPREAD,
    FamilyLine,
    LineScale,
    below_student,
    log_line_density,
    log_mixture,
    student_distribution,
)
from gomea_bn.network.tables import bin_widths, draw_codes, draw_in_bins
from gomea_bn.problems.cuts.policies import bin_codes
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.runtime.jit import kernel

# points at which a line is drawn: over its range, and for some of its centres up to six scales away
_N_POINTS = 129
_N_CENTRES = 41
_FARTHEST = 6.0
# a probability of the range of a column that is lost to rounding
_LEAST_MASS = 1e-12


@dataclass(frozen=True, eq=False, slots=True)
class TableSet:
    """Tables of all columns over one set of cuts.

    Attributes
    ----------
    cut_points : dict of str to ndarray of shape (n_bins - 1,), float64
        Inner cuts by continuous column.
    parents : dict of str to tuple of str
        Parents in the table of every column, in column order.
    tables : dict of str to ndarray of shape (card(parent_1), ..., card(name)), float64
        P(name | parents) by column.
    counts : dict of str to ndarray, float64, optional
        Number of rows of every cell of the tables, so that they can take further rows; empty if unknown.
    """

    cut_points: dict[str, NDArray[np.float64]]
    parents: dict[str, tuple[str, ...]]
    tables: dict[str, NDArray[np.float64]]
    counts: dict[str, NDArray[np.float64]] = field(default_factory=dict)

    def in_order(self, names: Sequence[str]) -> TableSet:
        """Return the tables of the same columns in another order, which the axes of every table follow."""
        parents, tables, counts = {}, {}, {}
        for name in names:
            of_name = sorted(self.parents[name], key=names.index)
            axes = [*(self.parents[name].index(parent) for parent in of_name), len(of_name)]
            parents[name] = tuple(of_name)
            tables[name] = self.tables[name].transpose(axes)
            if name in self.counts:
                counts[name] = self.counts[name].transpose(axes)
        cuts = {name: self.cut_points[name] for name in names if name in self.cut_points}
        return TableSet(cuts, parents, tables, counts)


def counts_content(counts: Mapping[str, NDArray[np.float64]]) -> dict[str, Any]:
    """Return numbers of rows by column as values that JSON can hold; whole numbers take no decimal point."""
    return {
        name: (of_name.astype(np.int64) if (of_name == np.floor(of_name)).all() else of_name).tolist()
        for name, of_name in counts.items()
    }


class Columns:
    """Values of columns, whose bins and positions on scales are computed once.

    Numbers of continuous columns, and codes of discrete ones, have shapes that broadcast. Numbers that stand for cells
    have the `ends` (lower, upper) of these, of their shape.
    """

    def __init__(
        self,
        values: Mapping[str, NDArray[Any]],
        ends: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]] | None = None,
    ) -> None:
        self._values, self._ends = values, ends or {}
        self._codes: dict[tuple[str, int], tuple[object, NDArray[Any]]] = {}
        self._positions: dict[tuple[str, int], tuple[object, NDArray[np.float64]]] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._values[name]

    def codes(self, name: str, cuts: NDArray[np.float64] | None) -> NDArray[Any]:
        """Return the bins of a continuous column, or the codes of a discrete one, for which `cuts` is None."""
        values = self._values[name]
        if cuts is None:
            return values
        key = name, id(cuts)
        if key not in self._codes:
            # the cuts are kept so that no other array gets their number
            self._codes[key] = cuts, bin_codes(np.ravel(values), cuts).reshape(np.shape(values))
        return self._codes[key][1]

    def positions(self, name: str, scale: LineScale) -> NDArray[np.float64]:
        """Return the positions of a continuous column on a scale."""
        key = name, id(scale)
        if key not in self._positions:
            self._positions[key] = scale, scale.of_values(np.asarray(self._values[name], np.float64))
        return self._positions[key][1]

    def ends(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Return the ends of the cells that values of a column stand for; None for exact values."""
        return self._ends.get(name)

    def bounds(self) -> tuple[Columns, ...] | None:
        """Return the columns at both ends of the cells of a single column; None for values and for several columns."""
        return None

    def add_error(self, error: NDArray[np.float64]) -> None:
        """Take note of the relative error of densities that count with their middles in cells of a single column."""

    def some(self, rows: NDArray[np.int64], of: Iterable[str]) -> Columns:
        """Return some rows of some columns of shape (n_rows,)."""
        return Columns({name: self._values[name][rows] for name in of})


class Family:
    """The density of a column given its parents.

    Parameters
    ----------
    name : str
        Name of the column.
    copies : sequence of TableSet
        Tables that are averaged.
    support : (float, float) or None
        Range of a continuous column; None for a discrete one.
    shape : Shape, optional
        Distribution of a continuous column inside its bins; uniform without one.
    line : FamilyLine, optional
        Line of a continuous column.
    scales : mapping of str to LineScale, optional
        Scales of the column and of the continuous parents of its line.
    n_levels : mapping of str to int, optional
        Number of levels of the discrete parents of its line.
    set_to : float, optional
        Number, or code of a level, that an intervention has set the column to. It then has this value with certainty.

    Notes
    -----
    All methods take the values of the parents as arrays that broadcast: of shape (n,) for rows, or of shapes such as
    (n, 1) and (1, m) for every combination of rows and of m values of one parent.
    """

    def __init__(
        self,
        name: str,
        copies: Sequence[TableSet],
        *,
        support: tuple[float, float] | None,
        shape: Shape | None = None,
        line: FamilyLine | None = None,
        scales: Mapping[str, LineScale] | None = None,
        n_levels: Mapping[str, int] | None = None,
        set_to: float | None = None,
    ) -> None:
        self.name, self.line = name, line
        self._support, self._shape, self._set_to = support, shape, set_to
        self._scales, self._n_levels = dict(scales or {}), dict(n_levels or {})
        self._parents = [copy.parents[name] for copy in copies]
        self._cuts = [copy.cut_points for copy in copies]
        self._tables = [copy.tables[name] for copy in copies]
        self._scaled_tables: tuple[list[NDArray[np.float64]], float] | None = None
        self._tables_of_cells: dict[bytes, list[NDArray[np.float64]]] = {}

    @property
    def is_set(self) -> bool:
        """Whether an intervention has set the column to a value."""
        return self._set_to is not None

    def log_density(
        self, values: Columns, of_tables: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return ln p(name | parents), float64 of the broadcast shape, in nats and the units of the column.

        A point mass, and a level, have the logarithm of their probability. `of_tables` is what `log_tables_along`
        returned for the bins that the values lie in.
        """
        if self._set_to is not None:
            return np.where(np.asarray(values[self.name]) == self._set_to, 0.0, -np.inf)
        logs = self._log_tables(values) if of_tables is None else of_tables
        if self._shape is not None:
            logs = logs + self._shape.log_density(values[self.name])
        if self.line is None:
            return logs
        own, scale = np.asarray(values[self.name], np.float64), self._scales[self.name]
        inside = np.clip(own, *self._support) if self._support else own
        z = values.positions(self.name, scale)
        slopes = scale.log_slope(inside, z)
        means, scales, freedom = self._line_at(values)
        bend = None
        if (bounds := values.bounds()) is None:
            spread = self._spread_at(values)
        else:
            at_ends = [self._line_at(end)[0] for end in bounds]
            least, most = np.minimum(means, np.minimum(*at_ends)), np.maximum(means, np.maximum(*at_ends))
            low, high = (end.positions(self.name, scale) for end in bounds)
            # an interval of centres around a number is one of numbers around a centre
            spread = most - least + high - low
            widths, distances = spread / scales, (z - means) / scales
            # a bound of the second derivative of the density of the line, as a share of it
            bend = (freedom + 1) * (1 / freedom + (freedom + 1) * (distances / (freedom + distances**2)) ** 2)
            is_wide = widths > LEAST_SPREAD
            z, means = np.where(is_wide, (low + high) / 2, z), np.where(is_wide, (least + most) / 2, means)
        of_line = log_line_density(z, means, scales, freedom, scale, scale.ends_of_points(inside), spread)
        of_line = of_line + slopes
        of_line = np.where((inside >= scale.least) & (inside <= scale.greatest), of_line, -np.inf)
        mixed = log_mixture(logs, of_line, self.line.weight)
        if bend is not None:
            share = np.exp(of_line - np.where(mixed > -np.inf, mixed, 0.0)) * self.line.weight
            values.add_error(share * bend * widths**2 / 24)
        return mixed

    def masses(self, cuts: NDArray[np.float64] | None, values: Columns) -> NDArray[np.float64]:
        """Return the probabilities of cells (a, b] of the column given its parents, float64 (..., n_cells).

        `cuts` (n_cells - 1,) are those between the cells; None for the levels of a discrete column.
        """
        if self._set_to is not None:
            code = int(self._set_to) if cuts is None else int(np.searchsorted(cuts, self._set_to))
            n_cells = self._tables[0].shape[-1] if cuts is None else len(cuts) + 1
            return np.asarray(np.arange(n_cells) == code, np.float64)
        tables = self._over_cells(cuts)
        total: NDArray[np.float64] | float = 0.0
        for k, table in enumerate(tables):
            total = total + table[self._rows(k, values)]
        result = np.asarray(total) / len(tables)
        if self.line is None or cuts is None:
            return result
        of_line = self._line_masses(cuts, values)
        return np.asarray((1 - self.line.weight) * result + self.line.weight * of_line)

    def sets_of_cuts(self, shown: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Return the inner cuts of a continuous column in every copy; those shown for a column that is set."""
        return [shown] if self.is_set else [cuts[self.name] for cuts in self._cuts]

    def table_probabilities(self, k: int, values: Columns) -> NDArray[np.float64]:
        """Return P(bin or level | parents) under the table of one copy, float64 (..., card)."""
        table = self._tables[k]
        return np.asarray(table.reshape(-1, table.shape[-1])[self._rows(k, values)])

    def line_density(self, numbers: NDArray[np.float64], values: Columns) -> NDArray[np.float64]:
        """Return the mean density of numbers under the line over rows of the parents, float64 (n_numbers,).

        Point masses have probabilities.
        """
        scale = self._scales[self.name]
        means, scales, freedom = (np.atleast_1d(part)[:, None] for part in self._line_at(values))
        z = scale.of_values(numbers)
        logs = log_line_density(z, means, scales, freedom, scale, scale.ends_of_points(numbers))
        densities = np.exp(logs + scale.log_slope(numbers, z)).mean(axis=0)
        return np.where((numbers >= scale.least) & (numbers <= scale.greatest), densities, 0.0)

    def draw(self, values: Columns, n: int, generator: np.random.Generator) -> NDArray[Any]:
        """Return one number, or code of a level, per row, each of shape (n,), given the parents, also of shape (n,)."""
        if self._set_to is not None:
            return np.full(n, self._set_to, np.float64 if self._support else np.int32)
        n_copies = len(self._tables)
        drawn = np.zeros(n, np.float64 if self._support else np.int32)
        members = generator.integers(n_copies, size=n) if n_copies > 1 else np.zeros(n, np.int64)
        for k in range(n_copies):
            rows = np.flatnonzero(members == k)
            if not len(rows):
                continue
            table = self._tables[k]
            of_rows = values.some(rows, self._parents[k])
            configurations = np.broadcast_to(self._rows(k, of_rows), rows.shape)
            codes = draw_codes(table.reshape(-1, table.shape[-1]), configurations, generator)
            drawn[rows] = self._values_in_bins(k, codes, generator) if self._support else codes
        if self.line is not None:
            rows = np.flatnonzero(generator.random(n) < self.line.weight)
            needed = (*self.line.parents, *self.line.groups)
            means, scales, freedom = self._line_at(values.some(rows, needed))
            scale = self._scales[self.name]
            low = below_student(freedom, (scale.low - means) / scales)
            high = below_student(freedom, (scale.high - means) / scales)
            shares = low + generator.random(len(rows)) * (high - low)
            z = means + scales * scipy.special.stdtrit(freedom, shares)
            drawn[rows] = scale.values_of(np.clip(z, scale.low, scale.high))
        return drawn

    def bends(self, parent: str) -> NDArray[np.float64]:
        """Return the values of a parent at which the line of the column bends, float64 (n,)."""
        if self.line is None or parent not in self.line.parents:
            return np.empty(0)
        scale = self._scales[parent]
        terms, position = self.line.terms, self.line.parents.index(parent)
        knots = np.concatenate(
            [of_parents[position] for of_parents in (terms.knots, terms.product_knots) if of_parents]
        )
        return scale.values_of(knots[(knots > scale.low) & (knots < scale.high)])

    def points_of_line(self, values: Columns) -> NDArray[np.float64]:
        """Return numbers at which the density of the line may bend, for drawing, float64 (n,).

        Some lie over the whole range, and about as many around some centres of the line.
        """
        if self.line is None:
            return np.empty(0)
        scale = self._scales[self.name]
        means, scales, _ = (np.atleast_1d(part) for part in self._line_at(values))
        means, scales = (part.ravel() for part in np.broadcast_arrays(means, scales))
        order = np.argsort(means)
        some = np.unique(order[np.linspace(0, len(order) - 1, _N_CENTRES).astype(np.int64)])
        offsets = np.linspace(-_FARTHEST, _FARTHEST, max(_N_POINTS // len(some), 5))
        around = means[some, None] + scales[some, None] * offsets
        z = np.concatenate([np.linspace(scale.low, scale.high, _N_POINTS), around.ravel()])
        return np.concatenate([scale.values_of(np.clip(z, scale.low, scale.high)), scale.bends])

    def _rows(self, k: int, values: Columns) -> Any:
        """Return the configuration of the parents in the table of one copy, int64 of the broadcast shape."""
        table = self._tables[k]
        rows: Any = np.int64(0)
        for parent, card in zip(self._parents[k], table.shape, strict=False):
            rows = rows * card + values.codes(parent, self._cuts[k].get(parent))
        return rows

    def log_tables_along(
        self, known: Columns, name: str, numbers: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the log density under the average of the tables, without the shape, float64 (n_rows, n_numbers).

        The column `name`, this one or a continuous parent, has all `numbers` in every row, and `known` has the values
        (n_rows,) of the other members.
        """
        n_rows = len(known[self.name])
        if self._set_to is not None:
            return np.zeros((n_rows, len(numbers)))
        tables, shift = self._scaled()
        total = np.zeros((n_rows, len(numbers)))
        for k, flat in enumerate(tables):
            # the place in the flattened table is one of the row plus one of the number
            of_rows, of_numbers, stride = np.zeros(n_rows, np.int64), np.zeros(len(numbers), np.int64), 1
            members = (*self._parents[k], self.name)
            for member, card in zip(members[::-1], self._tables[k].shape[::-1], strict=True):
                cuts = self._cuts[k].get(member)
                if member == name and cuts is not None:
                    of_numbers += stride * np.searchsorted(cuts, numbers, side="left")
                else:
                    of_rows += stride * known.codes(member, cuts).astype(np.int64)
                stride *= card
            add_cells(flat, of_rows, of_numbers, total)
        return self._logs(total, shift)

    def _log_tables(self, values: Columns) -> NDArray[np.float64]:
        """Return the log density under the average of the tables, without the shape."""
        tables, shift = self._scaled()
        total: NDArray[np.float64] | float = 0.0
        for k, table in enumerate(tables):
            codes = values.codes(self.name, self._cuts[k].get(self.name))
            total = total + table[self._rows(k, values) * self._tables[k].shape[-1] + codes]
        return self._logs(np.asarray(total), shift)

    def _logs(self, total: NDArray[np.float64], shift: float) -> NDArray[np.float64]:
        """Return the log density, given the sum over the copies of what `_scaled` has."""
        if len(self._tables) == 1:
            return total
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(total / len(self._tables)) + shift)

    def _scaled(self) -> tuple[list[NDArray[np.float64]], float]:
        """Return the densities of all cells of the flattened tables, divided by the exponential of a number, and it.

        A single table has logarithms in place of densities, and the number 0.
        """
        if self._scaled_tables is None:
            with np.errstate(divide="ignore"):
                logs = [np.log(table) for table in self._tables]
            if self._support is not None:
                logs = [
                    of_copy - np.log(self._bin_sizes(cuts[self.name]))
                    for of_copy, cuts in zip(logs, self._cuts)
                ]
            flat = [of_copy.ravel() for of_copy in logs]
            if len(flat) == 1:
                self._scaled_tables = flat, 0.0
            else:
                shift = max(float(of_copy.max()) for of_copy in flat)
                self._scaled_tables = [np.exp(of_copy - shift) for of_copy in flat], shift
        return self._scaled_tables

    def _bin_sizes(self, cuts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the widths of bins, or their probabilities under the shape, float64 (n_bins,)."""
        if self._shape is not None:
            return self._shape.bin_masses(cuts)
        assert self._support is not None
        return bin_widths(cuts, self._support)

    def _over_cells(self, cuts: NDArray[np.float64] | None) -> list[NDArray[np.float64]]:
        """Return the tables of the copies over some cells in place of the bins, each (n_configurations, n_cells)."""
        key = b"" if cuts is None else cuts.tobytes()
        if key not in self._tables_of_cells:
            self._tables_of_cells[key] = [
                table.reshape(-1, table.shape[-1]) if cuts is None
                else table.reshape(-1, table.shape[-1]) @ self._shares(k, cuts)
                for k, table in enumerate(self._tables)
            ]  # fmt: skip
        return self._tables_of_cells[key]

    def _shares(self, k: int, cuts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return which share of the probability of each bin of a copy lies in each cell, (n_bins, n_cells)."""
        assert self._support is not None
        of_copy = self._cuts[k][self.name]
        pieces = np.unique(np.concatenate([of_copy, cuts]))
        masses = self._bin_sizes(pieces)
        ends = np.concatenate([pieces, self._support[1:]])
        bins = np.searchsorted(of_copy, ends, side="left")
        shares = np.zeros((len(of_copy) + 1, len(cuts) + 1))
        shares[bins, np.searchsorted(cuts, ends, side="left")] = masses
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def _values_in_bins(
        self, k: int, codes: NDArray[np.int32], generator: np.random.Generator
    ) -> NDArray[np.float64]:
        cuts = self._cuts[k][self.name]
        if self._shape is not None:
            return self._shape.inside(codes, cuts, generator.random(len(codes)))
        assert self._support is not None
        return draw_in_bins(codes, cuts, self._support, generator)

    def _line_at(self, values: Columns) -> tuple[NDArray[np.float64], Any, Any]:
        """Return centres inside the range, scales and degrees of freedom of the line, of shapes that broadcast."""
        line, scale = self.line, self._scales[self.name]
        assert line is not None
        groups = self._groups(values)
        positions = [values.positions(parent, self._scales[parent]) for parent in line.parents]
        means: Any = line.coefficients[groups, 0]
        place = 1
        n = len(positions)
        first_knot = 1 + n
        for z, knots in zip(positions, line.terms.knots, strict=True):
            of_parent = [(place, z)]
            of_parent += [
                (first_knot + j, np.maximum(z - knot, 0.0)) for j, knot in enumerate(knots.tolist())
            ]
            if len(line.coefficients) == 1:
                means = means + sum(line.coefficients[0, at] * term for at, term in of_parent)
            else:
                # one sum per group, of which every row takes its own
                terms = np.stack([term for _, term in of_parent], axis=-1)
                sums = terms @ line.coefficients[:, [at for at, _ in of_parent]].T
                flat = sums.reshape(-1, len(line.coefficients))
                means = means + flat[np.arange(len(flat)).reshape(z.shape), groups]
            place += 1
            first_knot += len(knots)
        factors = [line.terms.factors(parent, z) for parent, z in enumerate(positions)]
        for at, (i, a, j, b) in enumerate(line.terms.products, start=first_knot):
            means = means + line.coefficients[groups, at] * (factors[i][a] * factors[j][b])
        return np.clip(means, scale.low, scale.high), line.scales[groups], line.freedom[groups]

    def _spread_at(self, values: Columns) -> NDArray[np.float64] | None:
        """Return how far the centre of the line moves inside the cells of parents; None if no parent has cells.

        Parents move one at a time, and their distances add up, so that no value between the cells is left out.
        """
        line = self.line
        assert line is not None
        total: Any = None
        n, groups = len(line.parents), self._groups(values)
        first_knot = 1 + n
        first_product = first_knot + sum(map(len, line.terms.knots))
        for place, (parent, knots) in enumerate(zip(line.parents, line.terms.knots, strict=True)):
            at = [1 + place, *range(first_knot, first_knot + len(knots))]
            first_knot += len(knots)
            if (ends := values.ends(parent)) is None:
                continue
            low, high = (self._scales[parent].of_values(end)[..., None] for end in ends)
            terms = [high - low, np.maximum(high - knots, 0.0) - np.maximum(low - knots, 0.0)]
            sums = np.concatenate(terms, axis=-1) @ line.coefficients[:, at].T
            flat = sums.reshape(-1, len(line.coefficients))
            moved: Any = flat[np.arange(len(flat)).reshape(sums.shape[:-1]), groups]
            at_ends = [line.terms.factors(place, end[..., 0]) for end in (low, high)]
            for product, (i, a, j, b) in enumerate(line.terms.products, start=first_product):
                if place not in (i, j):
                    continue
                own, other, factor = (a, j, b) if i == place else (b, i, a)
                step = at_ends[1][own] - at_ends[0][own]
                if i == j:
                    by = at_ends[1][own] + at_ends[0][own]
                else:
                    by = line.terms.factors(
                        other, values.positions(line.parents[other], self._scales[line.parents[other]])
                    )[factor]
                moved = moved + line.coefficients[groups, product] * (step * by)
            total = (0.0 if total is None else total) + np.abs(moved)
        return None if total is None else np.asarray(total)

    def _groups(self, values: Columns) -> Any:
        """Return the group of the line, int64 of the shape that the discrete parents broadcast to."""
        assert self.line is not None
        groups: Any = np.int64(0)
        for group in self.line.groups:
            groups = groups * self._n_levels[group] + np.asarray(values[group]).astype(np.int64)
        return groups

    def _line_masses(self, cuts: NDArray[np.float64], values: Columns) -> NDArray[np.float64]:
        """Return the probabilities of cells under the line, float64 (..., n_cells)."""
        scale = self._scales[self.name]
        ends = np.concatenate(([scale.low], scale.upper_ends(cuts), [scale.high]))
        means, scales, freedom = (np.asarray(part)[..., None] for part in self._line_at(values))
        spread = self._spread_at(values)
        widths = None if spread is None else spread[..., None] / scales
        below = student_distribution((ends - means) / scales, freedom, widths)
        masses = np.maximum(np.diff(below, axis=-1), 0.0)
        total = masses.sum(axis=-1, keepdims=True)
        return np.asarray(masses / np.maximum(total, _LEAST_MASS), np.float64)


@kernel
def add_cells(
    flat: NDArray[np.float64], of_rows: NDArray[np.int64], of_numbers: NDArray[np.int64],
    total: NDArray[np.float64],
) -> int:  # fmt: skip
    """Add the cells of a flattened table at the sums of two places, for all pairs of them."""
    for i in range(len(of_rows)):
        for j in range(len(of_numbers)):
            total[i, j] += flat[of_rows[i] + of_numbers[j]]
    return 0
