"""A column that follows tables: probabilities of its bins or levels, the mean over one or several sets of cuts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.conditionals.kind import Fitted, FurtherRows
from gomea_bn.network.conditionals.scales import Columns
from gomea_bn.network.parts import WithTables, check_counts, check_cut_points, check_table
from gomea_bn.network.tables import (
    bin_widths,
    draw_codes,
    draw_in_bins,
    family_counts,
    table_of_counts,
)
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.runtime.jit import kernel

if TYPE_CHECKING:
    from gomea_bn.network.conditionals.curve import Curve


@dataclass(frozen=True, eq=False, slots=True)
class CutTable:
    """A table of a column given some of its parents over one set of cuts.

    Attributes
    ----------
    parents : tuple of str
        Parents in the table, in column order.
    cuts : ndarray of shape (n_bins - 1,), float64, or None
        Inner cuts of the column; None for a discrete one.
    cuts_of_parents : dict of str to ndarray, float64
        Inner cuts of the continuous parents in the table.
    table : ndarray of shape (card(parent_1), ..., card(column)), float64
        P(column | parents).
    counts : ndarray of the same shape, float64, optional
        Number of rows of every cell, so that the table can take further rows; None if unknown.
    """

    parents: tuple[str, ...]
    cuts: NDArray[np.float64] | None
    cuts_of_parents: dict[str, NDArray[np.float64]]
    table: NDArray[np.float64]
    counts: NDArray[np.float64] | None = None

    @property
    def flat(self) -> NDArray[np.float64]:
        """The table with one row per configuration of the parents."""
        return self.table.reshape(-1, self.table.shape[-1])

    def configurations(self, columns: Columns) -> Any:
        """Return the configuration of the parents, int64 of the shape that their values broadcast to."""
        rows: Any = np.int64(0)
        for parent, card in zip(self.parents, self.table.shape, strict=False):
            rows = rows * card + columns.codes(parent, self.cuts_of_parents.get(parent))
        return rows

    def with_rows(self, name: str, rows: FurtherRows) -> CutTable:
        """Return the table with rows added to its counts."""
        assert self.counts is not None
        return self._of_counts(rows.old * self.counts + self._counts_of(name, rows), rows)

    def left_out(self, name: str, rows: FurtherRows) -> CutTable:
        """Return the table without some of its rows."""
        assert self.counts is not None
        return self._of_counts(np.maximum(rows.old * self.counts - self._counts_of(name, rows), 0.0), rows)

    def _counts_of(self, name: str, rows: FurtherRows) -> NDArray[np.float64]:
        codes = [rows.columns.codes(parent, self.cuts_of_parents.get(parent)) for parent in self.parents]
        codes.append(rows.columns.codes(name, self.cuts))
        n_parents = len(self.parents)
        return family_counts(codes, range(n_parents), n_parents, self.table.shape, name, rows.weights)

    def _of_counts(self, counts: NDArray[np.float64], rows: FurtherRows) -> CutTable:
        return replace(self, table=table_of_counts(counts, rows.smoothing), counts=counts)

    def in_order(self, names: Sequence[str]) -> CutTable:
        """Return the same table with its axes in another order of the columns."""
        parents = sorted(self.parents, key=names.index)
        axes = [*map(self.parents.index, parents), len(parents)]
        counts = None if self.counts is None else self.counts.transpose(axes)
        return replace(self, parents=tuple(parents), table=self.table.transpose(axes), counts=counts)

    def checked(self, network: WithTables, name: str, shared: dict[bytes, NDArray[np.float64]]) -> CutTable:
        """Return the table in its stored form; raises `GomeaBnError` if it does not fit a network."""
        continuous, levels, parents = network.cut_points, network.levels, network.parents(name)
        if [p for p in parents if p in self.parents] != list(self.parents):
            raise GomeaBnError(
                f"A table of '{name}' must have some of the parents {parents} in this order, got {self.parents}."
            )
        members = {**self.cuts_of_parents, **({} if self.cuts is None else {name: self.cuts})}
        wanted = [member for member in (*self.parents, name) if member in continuous]
        if sorted(members) != sorted(wanted):
            raise GomeaBnError(
                f"A table of '{name}' must have cuts of {wanted}, got those of {list(members)}."
            )
        cuts = {}
        for member in wanted:
            of_member = check_cut_points(members[member], member, network.support[member])
            of_member.flags.writeable = False
            cuts[member] = shared.setdefault(of_member.tobytes(), of_member)
        cards = [
            len(cuts[member]) + 1 if member in cuts else len(levels[member])
            for member in (*self.parents, name)
        ]
        table = check_table(self.table, name, tuple(cards))
        counts = {} if self.counts is None else check_counts({name: self.counts}, {name: table})
        of_parents = {parent: cuts[parent] for parent in self.parents if parent in cuts}
        return CutTable(tuple(self.parents), cuts.get(name), of_parents, table, counts.get(name))

    def to_content(self) -> dict[str, Any]:
        """Return the table as values that JSON can hold; whole numbers of rows take no decimal point."""
        content: dict[str, Any] = {"parents": list(self.parents)}
        if self.cuts is not None:
            content["cut_points"] = self.cuts.tolist()
        if self.cuts_of_parents:
            content["cut_points_of_parents"] = {
                parent: cuts.tolist() for parent, cuts in self.cuts_of_parents.items()
            }
        content["table"] = self.table.tolist()
        if self.counts is not None:
            content["counts"] = counts_content(self.counts)
        return content

    @classmethod
    def from_content(cls, content: Any) -> CutTable:
        """Return the table that JSON values describe; raises `GomeaBnError` for others."""
        if not isinstance(content, Mapping) or not {"parents", "table"} <= set(content):
            raise GomeaBnError("A table of a column must be an object with the fields parents, table.")
        parents, of_parents = content["parents"], content.get("cut_points_of_parents", {})
        if not isinstance(parents, list) or not all(isinstance(parent, str) for parent in parents):
            raise GomeaBnError(f"The parents of a table must be a list of names, got {parents!r:.80}.")
        if not isinstance(of_parents, Mapping):
            raise GomeaBnError(
                f"The cut_points_of_parents of a table must be an object, got {of_parents!r:.80}."
            )
        try:
            cuts, counts = (
                None if content.get(part) is None else np.array(content[part], np.float64)
                for part in ("cut_points", "counts")
            )
            cuts_of_parents = {parent: np.array(of_one, np.float64) for parent, of_one in of_parents.items()}
            table = np.array(content["table"], np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise GomeaBnError(f"The parts of a table must be numbers: {error}.") from error
        return cls(tuple(parents), cuts, cuts_of_parents, table, counts)


def counts_content(counts: NDArray[np.float64]) -> Any:
    """Return numbers of rows as lists that JSON can hold; whole numbers take no decimal point."""
    return (counts.astype(np.int64) if (counts == np.floor(counts)).all() else counts).tolist()


@dataclass(frozen=True, eq=False, slots=True)
class TableSet:
    """Tables of all columns over one set of cuts, which conditionals are made of.

    Attributes
    ----------
    cut_points : mapping of str to ndarray of shape (n_bins - 1,), float64
        Inner cuts by continuous column.
    parents : mapping of str to tuple of str
        Parents in the table of every column, in column order.
    tables : mapping of str to ndarray of shape (card(parent_1), ..., card(name)), float64
        P(name | parents) by column.
    counts : mapping of str to ndarray, float64, optional
        Number of rows of every cell of the tables, so that they can take further rows; empty if unknown.
    """

    cut_points: Mapping[str, NDArray[np.float64]]
    parents: Mapping[str, tuple[str, ...]]
    tables: Mapping[str, NDArray[np.float64]]
    counts: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    @classmethod
    def of_network(cls, network: WithTables, counts: Mapping[str, NDArray[np.float64]]) -> TableSet:
        """Return the cuts and tables of a network, and what they were counted from."""
        parents = {name: network.parents(name) for name in network.names}
        return cls(network.cut_points, parents, network.stored_tables, counts)

    def of_column(self, name: str) -> CutTable:
        """Return the table of a column, with the cuts that it needs."""
        parents, cuts = self.parents[name], self.cut_points
        of_parents = {parent: cuts[parent] for parent in parents if parent in cuts}
        return CutTable(parents, cuts.get(name), of_parents, self.tables[name], self.counts.get(name))


@dataclass(frozen=True, eq=False)
class FamilyTable(Fitted):
    """The tables of a family: the density is the mean over them, with the shape of the column inside their bins.

    Attributes
    ----------
    tables : tuple of CutTable
        Tables over one or several sets of cuts, all with the same weight.
    """

    of_levels = None
    what = "tables"
    kind = "table"
    required = ("tables",)

    tables: tuple[CutTable, ...]
    parents: tuple[str, ...] = field(init=False)
    groups: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        if not self.tables:
            raise GomeaBnError("The tables of a column must be at least one, got none.")
        members = dict.fromkeys(parent for one in self.tables for parent in one.parents)
        continuous = {parent for one in self.tables for parent in one.cuts_of_parents}
        object.__setattr__(self, "parents", tuple(p for p in members if p in continuous))
        object.__setattr__(self, "groups", tuple(p for p in members if p not in continuous))

    @property
    def counts_cells(self) -> bool:
        """Whether it holds probabilities of cells: it does."""
        return True

    @property
    def words(self) -> str:
        """What the column follows, for a sentence."""
        return "tables" if self.tables[0].cuts is None else "bins"

    @property
    def n_parameters(self) -> float:
        """Mean number of free probabilities over the sets of cuts."""
        sizes = [one.table.size - one.table.size // one.table.shape[-1] for one in self.tables]
        return float(np.mean(sizes))

    @property
    def n_sets(self) -> int:
        """Number of sets of cuts that it averages over."""
        return len(self.tables)

    @property
    def value_counts(self) -> NDArray[np.float64] | None:
        """Number of rows of every bin or level of the first set of cuts; None if unknown."""
        counts = self.tables[0].counts
        return None if counts is None else np.asarray(counts.reshape(-1, counts.shape[-1]).sum(axis=0))

    @property
    def takes_rows(self) -> bool:
        """Whether all tables hold the counts of their rows."""
        return all(one.counts is not None for one in self.tables)

    @property
    def can_leave_out(self) -> bool:
        """Whether it is certain which rows all tables count."""
        return self.takes_rows

    def scaled(self, name: str) -> set[tuple[bool, str]]:
        """Return the columns that it needs a scale of: none."""
        return set()

    def checked(
        self,
        network: WithTables,
        name: str,
        scales: Mapping[bool, Mapping[str, Any]],
        shared: dict[bytes, NDArray[np.float64]],
    ) -> FamilyTable:
        """Return it in its stored form; raises `GomeaBnError` if it does not fit the family of a column."""
        return FamilyTable(tuple(one.checked(network, name, shared) for one in self.tables))

    def in_order(self, names: Sequence[str]) -> FamilyTable:
        """Return it for a network with its columns in another order."""
        return FamilyTable(tuple(one.in_order(names) for one in self.tables))

    def with_rows(self, name: str, rows: FurtherRows) -> FamilyTable:
        """Return the tables over the same cuts with rows added to their counts."""
        return FamilyTable(tuple(one.with_rows(name, rows) for one in self.tables))

    def counted(self, name: str, rows: FurtherRows) -> FamilyTable:
        """Return the tables over the same cuts with the rows in their cells."""
        return self.with_rows(name, rows)

    def left_out(self, name: str, rows: FurtherRows) -> FamilyTable:
        """Return the tables without some of their rows."""
        return FamilyTable(tuple(one.left_out(name, rows) for one in self.tables))

    def to_content(self) -> dict[str, Any]:
        """Return the tables as values that JSON can hold."""
        return {"kind": self.kind, "tables": [one.to_content() for one in self.tables]}

    @classmethod
    def parts_of(cls, content: Any) -> dict[str, Any]:
        """Return the tables that JSON values describe; raises `GomeaBnError` for values of other types."""
        tables = content.get("tables") if isinstance(content, Mapping) else None
        if not isinstance(tables, list):
            raise GomeaBnError("Tables of a column must be an object with a list as its field tables.")
        return {"tables": tuple(map(CutTable.from_content, tables))}

    @cached_property
    def _support(self) -> tuple[float, float] | None:
        return self.facts.support.get(self.name)

    @cached_property
    def _shape(self) -> Shape | None:
        """Distribution inside the bins; None if it is uniform, or the column discrete."""
        return self.facts.shapes.get(self.name)

    @cached_property
    def _of_cells(self) -> dict[bytes, list[NDArray[np.float64]]]:
        """Tables over cells that were asked for, by the cuts between these."""
        return {}

    def log_density(
        self, values: Columns, along: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], Any]:
        """Return the log density, and its relative error where values are the middles of cells, or None."""
        ends = None if self._support is None else values.ends(self.name)
        if ends is None or (ends[0] >= ends[1]).any():
            logs = self._log_tables(values) if along is None else along
            if self._shape is not None:
                logs = logs + self._shape.log_density(values[self.name])
            if ends is not None:
                logs = np.where(ends[0] < ends[1], self._log_means(values, *ends), logs)
        else:
            logs = self._log_means(values, *ends)
        return logs, None

    def masses(self, cuts: NDArray[np.float64] | None, values: Columns) -> NDArray[np.float64]:
        """Return the probabilities of the cells between some cuts, or of all levels, float64 (..., n_cells)."""
        total: NDArray[np.float64] | float = 0.0
        for one, table in zip(self.tables, self._over_cells(cuts), strict=True):
            total = total + table[one.configurations(values)]
        return np.asarray(total) / len(self.tables)

    def draw(self, values: Columns, n: int, generator: np.random.Generator) -> NDArray[Any]:
        """Return one number, or code of a level, per row, (n,)."""
        n_tables = len(self.tables)
        drawn = np.zeros(n, np.int32 if self._support is None else np.float64)
        members = generator.integers(n_tables, size=n) if n_tables > 1 else np.zeros(n, np.int64)
        for k, one in enumerate(self.tables):
            rows = np.flatnonzero(members == k)
            if not len(rows):
                continue
            of_rows = values.some(rows, one.parents)
            configurations = np.broadcast_to(one.configurations(of_rows), rows.shape)
            codes = draw_codes(one.flat, configurations, generator)
            drawn[rows] = codes if one.cuts is None else self._values_in_bins(one.cuts, codes, generator)
        return drawn

    def along(self, known: Columns, name: str, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what is the same inside cells of a column, float64 (n_rows, n_numbers)."""
        n_rows = known.n_rows
        tables, shift = self._scaled
        total = np.zeros((n_rows, len(numbers)))
        for one, flat in zip(self.tables, tables, strict=True):
            # the place in the flattened table is one of the row plus one of the number
            of_rows, of_numbers, stride = np.zeros(n_rows, np.int64), np.zeros(len(numbers), np.int64), 1
            members = (*one.parents, self.name)
            for member, card in zip(members[::-1], one.table.shape[::-1], strict=True):
                cuts = one.cuts if member == self.name else one.cuts_of_parents.get(member)
                if member == name and cuts is not None:
                    of_numbers += stride * np.searchsorted(cuts, numbers, side="left")
                else:
                    of_rows += stride * known.codes(member, cuts).astype(np.int64)
                stride *= card
            add_cells(flat, of_rows, of_numbers, total)
        return self._logs(total, shift)

    def jumps(self, name: str) -> NDArray[np.float64]:
        """Return the values of the column or of a parent at which the density jumps, float64 (n,)."""
        cuts = [
            of_table
            for one in self.tables
            if (of_table := one.cuts if name == self.name else one.cuts_of_parents.get(name)) is not None
        ]
        return np.unique(np.concatenate([np.empty(0), *cuts]))

    def below(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability up to increasing numbers, about as the mean over the parents, float64 (n,)."""
        assert self._support is not None
        low, high = self._support
        total = np.zeros(len(numbers))
        for one in self.tables:
            assert one.cuts is not None
            to_ends = np.concatenate([[0.0], np.cumsum(one.flat.mean(axis=0))])
            if self._shape is None:
                total += np.interp(numbers, np.concatenate([[low], one.cuts, [high]]), to_ends)
            else:
                under_shape = np.concatenate([[0.0], self._shape.distribution(one.cuts), [1.0]])
                total += np.interp(self._shape.distribution(numbers), under_shape, to_ends)
        return np.asarray(total / total[-1])

    def breaks(self, values: Columns) -> NDArray[np.float64]:
        """Return numbers between which the density is drawn as lines, float64 (n,)."""
        from gomea_bn.network.conditionals.curve import curve_of

        assert self._support is not None
        return np.union1d(curve_of(self._shape, self._support).values, self.jumps(self.name))

    def pieces(
        self, breaks: NDArray[np.float64], values: Columns
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean density over rows at the left and right ends of pieces between breaks, (n_pieces,) each."""
        from gomea_bn.network.conditionals.curve import piece_ends

        ends = [piece_ends(curve, breaks) for curve in self._curves(values)]
        left, right = (np.mean(of_side, axis=0) for of_side in zip(*ends, strict=True))
        return left, right

    def of_points(self, points: NDArray[np.float64], values: Columns) -> NDArray[np.float64]:
        """Return the mean probabilities of point masses over rows of the parents, float64 (n_points,)."""
        of_curves = [
            [curve.points.get(point, 0.0) for point in points.tolist()] for curve in self._curves(values)
        ]
        return np.asarray(np.mean(of_curves, axis=0), np.float64)

    def _curves(self, values: Columns) -> list[Curve]:
        """Return the mean density over rows of the parents under every table."""
        from gomea_bn.network.conditionals.curve import curve_of, ratios_of_bins, scaled_by_bin

        assert self._support is not None
        inside = curve_of(self._shape, self._support)
        curves = []
        for one in self.tables:
            assert one.cuts is not None
            probabilities = one.flat[one.configurations(values)]
            mean_row = probabilities.reshape(-1, probabilities.shape[-1]).mean(axis=0)
            ratios = ratios_of_bins(mean_row, one.cuts, self._shape, self._support)
            curves.append(scaled_by_bin(inside, one.cuts, ratios))
        return curves

    def _log_tables(self, values: Columns) -> NDArray[np.float64]:
        """Return the log density under the average of the tables, without the shape."""
        tables, shift = self._scaled
        total: NDArray[np.float64] | float = 0.0
        for one, table in zip(self.tables, tables, strict=True):
            codes = values.codes(self.name, one.cuts)
            total = total + table[one.configurations(values) * one.table.shape[-1] + codes]
        return self._logs(np.asarray(total), shift)

    def _log_means(
        self, values: Columns, lows: NDArray[np.float64], highs: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the log mean density under the tables over cells of the column, whose ends are given."""
        total: NDArray[np.float64] | float = 0.0
        for one in self.tables:
            flat, cuts = one.flat, one.cuts
            assert cuts is not None
            before = np.concatenate((np.zeros((len(flat), 1)), np.cumsum(flat, axis=1)), axis=1).ravel()
            rows = one.configurations(values)
            parts = []
            for ends in (lows, highs):
                codes = np.searchsorted(cuts, ends, side="left")
                parts.append(
                    before[rows * (len(cuts) + 2) + codes]
                    + flat.ravel()[rows * (len(cuts) + 1) + codes] * self._shares_below(cuts, ends, codes)
                )
            total = total + np.maximum(parts[1] - parts[0], 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(total / len(self.tables)) - np.log(highs - lows))

    def _shares_below(
        self, cuts: NDArray[np.float64], numbers: NDArray[np.float64], codes: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return which share of the probability of their bins lies below numbers, of their shape."""
        assert self._support is not None
        edges = np.concatenate((self._support[:1], cuts, self._support[1:]))
        if self._shape is None:
            lengths = np.diff(edges)
            return np.asarray((numbers - edges[codes]) / lengths[codes])
        # all that lies at the lower end of the range is in the first bin
        below = np.concatenate(([0.0], self._shape.distribution(edges[1:])))
        masses = np.diff(below)
        inside = self._shape.distribution(numbers) - below[codes]
        return np.divide(inside, masses[codes], out=np.zeros(np.shape(inside)), where=masses[codes] > 0)

    def _logs(self, total: NDArray[np.float64], shift: float) -> NDArray[np.float64]:
        """Return the log density, given the sum over the tables of what `_scaled` has."""
        if len(self.tables) == 1:
            return total
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(total / len(self.tables)) + shift)

    @cached_property
    def _scaled(self) -> tuple[list[NDArray[np.float64]], float]:
        """Densities of all cells of the flattened tables, divided by the exponential of a number, and that number.

        A single table has logarithms in place of densities, and the number 0.
        """
        with np.errstate(divide="ignore"):
            logs = [np.log(one.table) for one in self.tables]
        flat = [
            (of_table if one.cuts is None else of_table - np.log(self._bin_sizes(one.cuts))).ravel()
            for of_table, one in zip(logs, self.tables, strict=True)
        ]
        if len(flat) == 1:
            return flat, 0.0
        shift = max(float(of_table.max()) for of_table in flat)
        return [np.exp(of_table - shift) for of_table in flat], shift

    def _bin_sizes(self, cuts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the widths of bins, or their probabilities under the shape, float64 (n_bins,)."""
        if self._shape is not None:
            return self._shape.bin_masses(cuts)
        assert self._support is not None
        return bin_widths(cuts, self._support)

    def _over_cells(self, cuts: NDArray[np.float64] | None) -> list[NDArray[np.float64]]:
        """Return the tables over some cells in place of the bins, each (n_configurations, n_cells)."""
        key = b"" if cuts is None else cuts.tobytes()
        if key not in self._of_cells:
            self._of_cells[key] = [
                one.flat if cuts is None or one.cuts is None else one.flat @ self._shares(one.cuts, cuts)
                for one in self.tables
            ]
        return self._of_cells[key]

    def _shares(self, of_table: NDArray[np.float64], cuts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return which share of the probability of each bin of a table lies in each cell, (n_bins, n_cells)."""
        assert self._support is not None
        pieces = np.unique(np.concatenate([of_table, cuts]))
        masses = self._bin_sizes(pieces)
        ends = np.concatenate([pieces, self._support[1:]])
        bins = np.searchsorted(of_table, ends, side="left")
        shares = np.zeros((len(of_table) + 1, len(cuts) + 1))
        shares[bins, np.searchsorted(cuts, ends, side="left")] = masses
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def _values_in_bins(
        self, cuts: NDArray[np.float64], codes: NDArray[np.int32], generator: np.random.Generator
    ) -> NDArray[np.float64]:
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
