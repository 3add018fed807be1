"""The density of one column given its parents: an average of tables over several sets of cuts, and a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.network.conditionals.kind import Fitted
from gomea_bn.network.conditionals.scales import Columns, LineScale
from gomea_bn.network.tables import bin_widths, draw_codes, draw_in_bins
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.runtime.jit import kernel


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
            if name in self.tables:
                tables[name] = self.tables[name].transpose(axes)
            if name in self.counts:
                counts[name] = self.counts[name].transpose(axes)
        cuts = {name: self.cut_points[name] for name in names if name in self.cut_points}
        return TableSet(cuts, parents, tables, counts)


def log_mixture(
    first: NDArray[np.float64], second: NDArray[np.float64], weight: float
) -> NDArray[np.float64]:
    """Return the log density of a mixture of two log densities, (n,); the second has a weight above 0 and below 1."""
    return np.asarray(np.logaddexp(first + np.log1p(-weight), second + np.log(weight)), np.float64)


def counts_content(counts: Mapping[str, NDArray[np.float64]]) -> dict[str, Any]:
    """Return numbers of rows by column as values that JSON can hold; whole numbers take no decimal point."""
    return {
        name: (of_name.astype(np.int64) if (of_name == np.floor(of_name)).all() else of_name).tolist()
        for name, of_name in counts.items()
    }


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
    line : Fitted, optional
        Line, or mixture of lines, of a continuous column, or logit of a discrete one.
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
        line: Fitted | None = None,
        scales: Mapping[str, LineScale] | None = None,
        n_levels: Mapping[str, int] | None = None,
        set_to: float | None = None,
    ) -> None:
        self.name, self.line = name, line
        self.of_line = None if line is None else line.density(name, scales or {}, n_levels or {})
        self._support, self._shape, self._set_to = support, shape, set_to
        self._parents = [copy.parents[name] for copy in copies]
        self._cuts = [copy.cut_points for copy in copies]
        self._tables = [copy.tables[name] for copy in copies]
        self._scaled_tables: tuple[list[NDArray[np.float64]], float] | None = None
        self._tables_of_cells: dict[bytes, list[NDArray[np.float64]]] = {}

    @property
    def is_set(self) -> bool:
        """Whether an intervention has set the column to a value."""
        return self._set_to is not None

    @property
    def n_parameters(self) -> float:
        """Number of free parameters: the mean over all sets of cuts and the line, by their weights."""
        if self._set_to is not None:
            return 0.0
        of_tables = float(np.mean([table.size - table.size // table.shape[-1] for table in self._tables]))
        if self.line is None:
            return of_tables
        return (1 - self.line.weight) * of_tables + self.line.weight * self.line.n_parameters

    def log_density(
        self, values: Columns, of_tables: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return ln p(name | parents), float64 of the broadcast shape, in nats and the units of the column.

        A point mass, and a level, have the logarithm of their probability. `of_tables` is what `log_tables_along`
        returned for the bins that the values lie in.
        """
        if self._set_to is not None:
            return np.where(np.asarray(values[self.name]) == self._set_to, 0.0, -np.inf)
        ends = None if self._support is None else values.ends(self.name)
        if ends is None or (ends[0] >= ends[1]).any():
            logs = self._log_tables(values) if of_tables is None else of_tables
            if self._shape is not None:
                logs = logs + self._shape.log_density(values[self.name])
            if ends is not None:
                logs = np.where(ends[0] < ends[1], self._log_means(values, *ends), logs)
        else:
            logs = self._log_means(values, *ends)
        if self.line is None or self.of_line is None:
            return logs
        of_line, error = self.of_line.log_density(values, self._support)
        mixed = log_mixture(logs, of_line, self.line.weight)
        if error is not None:
            values.add_error(
                np.exp(of_line - np.where(mixed > -np.inf, mixed, 0.0)) * self.line.weight * error
            )
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
        if self.line is None or self.of_line is None:
            return result
        of_line = self.of_line.masses(cuts, values)
        return np.asarray((1 - self.line.weight) * result + self.line.weight * of_line)

    def sets_of_cuts(self, shown: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Return the inner cuts of a continuous column in every copy; those shown for a column that is set."""
        return [shown] if self.is_set else [cuts[self.name] for cuts in self._cuts]

    def table_probabilities(self, k: int, values: Columns) -> NDArray[np.float64]:
        """Return P(bin or level | parents) under the table of one copy, float64 (..., card)."""
        table = self._tables[k]
        return np.asarray(table.reshape(-1, table.shape[-1])[self._rows(k, values)])

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
        if self.line is not None and self.of_line is not None:
            rows = np.flatnonzero(generator.random(n) < self.line.weight)
            needed = (*self.line.parents, *self.line.groups)
            drawn[rows] = self.of_line.draw(values.some(rows, needed), len(rows), generator)
        return drawn

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

    def _log_means(
        self, values: Columns, lows: NDArray[np.float64], highs: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the log mean density under the tables over cells of the column, whose ends are given."""
        total: NDArray[np.float64] | float = 0.0
        for k, table in enumerate(self._tables):
            flat = table.reshape(-1, table.shape[-1])
            before = np.concatenate((np.zeros((len(flat), 1)), np.cumsum(flat, axis=1)), axis=1).ravel()
            rows, cuts = self._rows(k, values), self._cuts[k][self.name]
            parts = []
            for ends in (lows, highs):
                codes = np.searchsorted(cuts, ends, side="left")
                parts.append(
                    before[rows * (len(cuts) + 2) + codes]
                    + flat.ravel()[rows * (len(cuts) + 1) + codes] * self._shares_below(k, ends, codes)
                )
            total = total + np.maximum(parts[1] - parts[0], 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(total / len(self._tables)) - np.log(highs - lows))

    def _shares_below(
        self, k: int, numbers: NDArray[np.float64], codes: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return which share of the probability of their bins, in a copy, lies below numbers, of their shape."""
        assert self._support is not None
        edges = np.concatenate((self._support[:1], self._cuts[k][self.name], self._support[1:]))
        if self._shape is None:
            lengths = np.diff(edges)
            return np.asarray((numbers - edges[codes]) / lengths[codes])
        # all that lies at the lower end of the range is in the first bin
        below = np.concatenate(([0.0], self._shape.distribution(edges[1:])))
        masses = np.diff(below)
        inside = self._shape.distribution(numbers) - below[codes]
        return np.divide(inside, masses[codes], out=np.zeros(np.shape(inside)), where=masses[codes] > 0)

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
