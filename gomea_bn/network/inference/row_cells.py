"""The distribution of one unknown number given the rest of its row, over cells that are refined row by row."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.network.conditionals.kind import Family
from gomea_bn.network.conditionals.scales import LEAST_SPREAD, Columns, LineScale

BLOCK_OF_ROWS = 512
"""Rows whose cells are in memory at the same time."""

# a cell is divided into that many
_PARTS = 4
# a cell of a quantile is divided into that many
_PARTS_OF_QUANTILE = 16
# every round divides cells by 4, and float64 has 53 binary digits
_MOST_ROUNDS = 40
# places of the outer points of the rule of Gauss with three points from the middle, in widths, and its weights
_OUTER = np.sqrt(0.15) * np.array([-1.0, 1.0])
_WEIGHT_OF_MIDDLE, _WEIGHT_OF_OUTER = 8 / 18, 5 / 18
# relative error of a middle above which a density may count with its mean over the cell
_WIDE_ERROR = LEAST_SPREAD**2 / 24

Places = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Rows and cells, whose shapes broadcast."""


class _CellColumns(Columns):
    """Known columns (n_rows,) of rows, and values of one further column.

    `rows` has the row of every value, of a shape that broadcasts with that of the values. `ends` are the lower and
    upper ends of cells that the values are the middles of. `made` keeps what was made of the known columns. Rows have
    most values in common, since their cells are parts of the same ones: what is made of the further column alone is
    made of its distinct values.
    """

    def __init__(
        self,
        known: Columns,
        rows: NDArray[np.int64],
        name: str,
        values: NDArray[np.float64],
        made: dict[Hashable, Any],
        ends: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
    ) -> None:
        self._known, self._rows, self._name, self._numbers = known, rows, name, values
        distinct, self._place = np.unique(values, return_inverse=True)
        self._further, self._made = Columns({name: distinct}), made
        self._bounds = ends and tuple(_CellColumns(known, rows, name, end, made) for end in ends)
        self.errors = np.zeros(np.broadcast_shapes(rows.shape, values.shape))

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._numbers if name == self._name else self._known[name][self._rows]

    def positions(self, name: str, scale: LineScale) -> NDArray[np.float64]:
        """Return the positions of a continuous column on a scale."""
        if name == self._name:
            return self._further.positions(name, scale)[self._place]
        return self._known.positions(name, scale)[self._rows]

    def codes(self, name: str, cuts: NDArray[np.float64] | None) -> NDArray[Any]:
        """Return the bins of a continuous column, or the codes of a discrete one, for which `cuts` is None."""
        if name == self._name:
            return self._further.codes(name, cuts)[self._place]
        return self._known.codes(name, cuts)[self._rows]

    def made_of(self, names: Iterable[str], key: Hashable, make: Callable[[Columns], Any]) -> Any:
        """Return what a function makes of some columns, an array or several; of known ones once for every row."""
        if self.vary(names):
            if any(name != self._name for name in names):
                return make(self)
            return _taken(make(self._further), self._place)
        if key not in self._made:
            self._made[key] = make(self._known)
        return _taken(self._made[key], self._rows)

    def vary(self, names: Iterable[str]) -> bool:
        """Return whether the further column is among some columns."""
        return self._name in names

    def ends(self, name: str) -> None:
        """Return None: the ends of the cells are bounds."""

    def add_error(self, error: NDArray[np.float64]) -> None:
        """Add relative errors of the densities of cells, of the shape of all values."""
        self.errors += error

    def bounds(self) -> tuple[Columns, ...] | None:
        """Return the columns at the lower and at the upper ends of the cells."""
        return self._bounds


def _taken(made: Any, places: NDArray[np.int64]) -> Any:
    """Return parts of an array, or of several; what is one number or None for all places stays."""
    if isinstance(made, tuple):
        return tuple(_taken(part, places) for part in made)
    return made if np.ndim(made) == 0 else made[places]


class _Blanket:
    """The product of the densities of some families, along one column that is unknown, in rows.

    The column is a member of all `families`, and `known` has the values (n_rows,) of all other members. No table
    changes inside the cells that the `middles` (n_cells,) stand for.
    """

    def __init__(
        self, families: Sequence[Family], known: Columns, name: str, middles: NDArray[np.float64]
    ) -> None:
        self._families, self._known, self._name = families, known, name
        self._along = [family.along(known, name, middles) for family in families]
        self._made: dict[Hashable, Any] = {}
        self.shape = known.n_rows, len(middles)

    def log_density(self, places: Places, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log density at values, float64 of the shape that the places broadcast to."""
        return self._at(places, _CellColumns(self._known, places[0], self._name, values, self._made))

    def log_masses(
        self, places: Places, lows: NDArray[np.float64], highs: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the log masses of cells by the densities at their middles, and their relative errors up to 1.

        A density that is narrower than its cell counts with its mean over the cell.
        """
        middles = lows / 2 + highs / 2
        cells = _CellColumns(self._known, places[0], self._name, middles, self._made, (lows, highs))
        logs = self._at(places, cells) + _log_widths(lows, highs)
        return logs, np.where(lows == highs, 0.0, np.minimum(cells.errors, 1.0))

    def _at(self, places: Places, cells: _CellColumns) -> NDArray[np.float64]:
        logs = [
            family.log_density(cells, [None if part is None else part[places] for part in of_members])
            for family, of_members in zip(self._families, self._along, strict=True)
        ]
        return np.broadcast_to(sum(logs[1:], logs[0]), cells.errors.shape)


class _Shares(NamedTuple):
    """What cells have of the probability of their rows.

    By cell: `masses`, zeros in impossible rows; `farness`, 1 plus the distance to the mean of the row in its standard
    deviations; `widths` in standard deviations. `log_totals` are the log masses of all rows that have cells.
    """

    masses: NDArray[np.float64]
    farness: NDArray[np.float64]
    widths: NDArray[np.float64]
    log_totals: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Cells:
    """Cells of rows, in the order of the rows and of their numbers.

    All attributes are by cell: its row, the cell of all rows that it is a part of, its ends, and its log mass and the
    relative error of that by the densities at middles.
    """

    rows: NDArray[np.int64]
    bases: NDArray[np.int64]
    lows: NDArray[np.float64]
    highs: NDArray[np.float64]
    logs: NDArray[np.float64]
    errors: NDArray[np.float64]

    @property
    def parts(self) -> tuple[NDArray[Any], ...]:
        """All attributes."""
        return self.rows, self.bases, self.lows, self.highs, self.logs, self.errors

    def some(self, cells: NDArray[Any]) -> _Cells:
        """Return some of the cells."""
        return _Cells(*(part[cells] for part in self.parts))

    @classmethod
    def joined(cls, parts: Sequence[_Cells]) -> _Cells:
        """Return the cells of all rows, given those of some, each of other rows."""
        joined = cls(*map(np.concatenate, zip(*(part.parts for part in parts), strict=True)))
        return joined.some(np.argsort(joined.rows, kind="stable"))

    def shares(self) -> _Shares:
        """Return the shares of the cells in their rows."""
        first = np.flatnonzero(np.diff(self.rows, prepend=-1))
        counts = np.diff(first, append=len(self.rows))
        top = np.maximum.reduceat(self.logs, first)
        masses = np.exp(self.logs - np.repeat(np.where(top > -np.inf, top, 0.0), counts))
        totals = np.add.reduceat(masses, first)
        masses /= np.repeat(np.where(totals > 0, totals, 1.0), counts)
        middles, widths = self.lows / 2 + self.highs / 2, self.highs - self.lows
        distances = middles - np.repeat(np.add.reduceat(masses * middles, first), counts)
        with np.errstate(over="ignore", divide="ignore"):
            variances = np.add.reduceat(masses * (distances**2 + widths**2 / 12), first)
            per_deviation = np.repeat(1 / np.maximum(np.sqrt(variances), np.finfo(np.float64).tiny), counts)
            return _Shares(
                masses, 1 + np.abs(distances) * per_deviation, widths * per_deviation, top + np.log(totals)
            )

    def are_wide(self, shares: _Shares) -> NDArray[np.bool_]:
        """Return which cells have a mass that matters and that is not exact, bool (n_cells,)."""
        widths = self.highs - self.lows
        # the spacing of half a number, since that of the largest one overflows
        # a cell 64 times as wide as the distance of neighbouring numbers is not divided
        least = 128 * np.spacing(np.maximum(np.abs(self.lows), np.abs(self.highs)) / 2)
        errors = shares.masses * shares.farness * _errors_of_gauss(self.errors)
        # largest error of the mass of a cell by the rule of Gauss, times its distance to the mean in deviations
        return np.asarray((errors > 2e-7) & (widths > least))

    def divided(self, is_wide: NDArray[np.bool_], blanket: _Blanket) -> _Cells:
        """Return the cells with some of them divided."""
        counts = np.where(is_wide, _PARTS, 1)
        source = np.repeat(np.arange(len(counts)), counts)
        new = self.some(source)
        parts = np.flatnonzero(is_wide[source])
        lows, highs = self.lows[is_wide], self.highs[is_wide]
        ends = lows[:, None] + (highs - lows)[:, None] * np.linspace(0.0, 1.0, _PARTS + 1)
        ends[:, -1] = highs
        new.lows[parts], new.highs[parts] = ends[:, :-1].ravel(), ends[:, 1:].ravel()
        new.logs[parts], new.errors[parts] = blanket.log_masses(
            (new.rows[parts], new.bases[parts]), new.lows[parts], new.highs[parts]
        )
        return new


@dataclass(frozen=True, eq=False)
class RowCells:
    """The distributions of a column in rows, over cells of every row.

    By cell, in increasing order of `rows` and ends: `lows` and `highs`, which are equal for a point mass, `masses`,
    zeros in impossible rows, `centres`, the means inside, and `bases`, the cells that they are parts of, as `blanket`
    numbers them. Without a blanket the column fills its cells uniformly. By row: the log density of the known values,
    -inf for impossible rows, and the errors of probabilities by the width of the cells, an estimate that is rather too
    large.
    """

    rows: NDArray[np.int64]
    lows: NDArray[np.float64]
    highs: NDArray[np.float64]
    masses: NDArray[np.float64]
    centres: NDArray[np.float64]
    log_evidence: NDArray[np.float64]
    errors: NDArray[np.float64]
    bases: NDArray[np.int64]
    shown_cuts: NDArray[np.float64]
    blanket: _Blanket | None

    @property
    def n_cells(self) -> int:
        """Largest number of cells of a row."""
        return int(np.bincount(self.rows, minlength=1).max())

    def tables(self) -> NDArray[np.float64]:
        """Return the probabilities of the shown bins, float64 (n_rows, n_bins)."""
        n_rows, card = len(self.log_evidence), len(self.shown_cuts) + 1
        flat = self.rows * card + np.searchsorted(self.shown_cuts, self.highs)
        return np.asarray(np.bincount(flat, self.masses, n_rows * card).reshape(n_rows, card), np.float64)

    def point(self, how: str) -> NDArray[np.float64]:
        """Return the "mean", the "median", or as "mode" the median of the most probable bin, float64 (n_rows,)."""
        if how == "mean":
            sums = np.bincount(self.rows, self.masses * self.centres, len(self.log_evidence))
            return np.asarray(sums, np.float64)
        if how == "median":
            return self.quantiles(0.5)
        most = self.tables().argmax(axis=1)
        is_inside = np.searchsorted(self.shown_cuts, self.highs) == most[self.rows]
        return self.quantiles(0.5, np.where(is_inside, self.masses, 0.0))

    def quantiles(self, level: float, masses: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return the quantile of every row, float64 (n_rows,); by other masses of the cells if there are some."""
        masses = self.masses if masses is None else masses
        first = np.searchsorted(self.rows, np.arange(len(self.log_evidence)))
        cell, share = _reached(masses, self.rows, first, level)
        lows, highs = self.lows[cell], self.highs[cell]
        steps = np.linspace(0.0, 1.0, _PARTS_OF_QUANTILE + 1)
        ends = lows[:, None] + steps * (highs - lows)[:, None]
        ends[:, -1] = highs
        of_rows = np.arange(len(first))
        parts = np.zeros((len(first), _PARTS_OF_QUANTILE))
        if self.blanket is not None:
            logs, _ = self.blanket.log_masses(
                (of_rows[:, None], self.bases[cell][:, None]), ends[:, :-1], ends[:, 1:]
            )
            parts = _shares(logs)
        # a cell without a density at its parts, such as a point mass, is uniform
        parts = np.where(parts.sum(axis=1, keepdims=True) > 0, parts, 1.0 / _PARTS_OF_QUANTILE)
        below = np.concatenate((np.zeros((len(first), 1)), np.cumsum(parts, axis=1)), axis=1)
        part = np.minimum((below[:, 1:] < share[:, None]).sum(axis=1), _PARTS_OF_QUANTILE - 1)
        of_part = np.maximum(parts[of_rows, part], np.finfo(np.float64).tiny)
        inside = np.clip((share - below[of_rows, part]) / of_part, 0.0, 1.0)
        start, end = ends[of_rows, part], ends[of_rows, part + 1]
        return np.asarray(np.clip(start + inside * (end - start), lows, highs))


def row_cells(
    families: Sequence[Family],
    name: str,
    known: Columns,
    breaks: tuple[NDArray[np.float64], NDArray[np.float64]],
    shown_cuts: NDArray[np.float64],
) -> RowCells:
    """Return the distribution of a continuous column given all others in every row.

    All rows have the cells between the places where the density may jump or bend, and point masses (`breaks`). A
    density that is narrower than its cell counts with its mean over the cell, so that no peak is lost. Rows in which
    the masses of some cells are not exact divide these cells further. The families are those of the column, and of its
    children with a known value; `known` has the values (n_rows,) of all their other members.
    """
    ends, points = breaks
    # a cell next to a point mass does not reach it
    inner_low = np.where(np.isin(ends[:-1], points), np.nextafter(ends[:-1], np.inf), ends[:-1])
    inner_high = np.where(np.isin(ends[1:], points), np.nextafter(ends[1:], -np.inf), ends[1:])
    is_cell = inner_low < inner_high
    lows = np.concatenate((inner_low[is_cell], points))
    highs = np.concatenate((inner_high[is_cell], points))
    order = np.lexsort((lows, highs))
    lows, highs = lows[order], highs[order]
    blanket = _Blanket(families, known, name, lows / 2 + highs / 2)
    n_rows, n_cells = blanket.shape
    everywhere = np.arange(n_rows)[:, None], np.arange(n_cells)[None]
    of_all = blanket.log_masses(everywhere, lows[None], highs[None])
    cells = _Cells(*(part.ravel() for part in np.broadcast_arrays(*everywhere, lows, highs, *of_all)))
    shares = cells.shares()
    is_wide = cells.are_wide(shares)
    if is_wide.any():
        done = []
        for _ in range(_MOST_ROUNDS):
            is_hard = np.bincount(cells.rows, is_wide, n_rows)[cells.rows] > 0
            done.append(cells.some(~is_hard))
            if not is_wide.any():
                break
            cells = cells.some(is_hard).divided(is_wide[is_hard], blanket)
            is_wide = cells.are_wide(cells.shares())
        else:
            done.append(cells)
        cells = _Cells.joined(done)
        shares = cells.shares()
    centres = cells.lows / 2 + cells.highs / 2
    errors = cells.errors.copy()
    # the others keep the mass by their middles, whose error is small, and narrow ones need no mean inside the cell
    chosen = np.flatnonzero(
        (shares.masses * shares.farness * errors > 1e-6) | (shares.masses * shares.widths > 1e-4)
    )
    chosen = chosen[(errors[chosen] < _WIDE_ERROR) & (cells.lows[chosen] < cells.highs[chosen])]
    # the rule of Gauss with three points
    places = cells.rows[chosen], cells.bases[chosen]
    low, high = cells.lows[chosen], cells.highs[chosen]
    from_middle = (high - low) * _OUTER[:, None]
    outer = blanket.log_density(places, centres[chosen] + from_middle)
    # densities as multiples of that at the middle
    parts = np.exp(outer - (cells.logs[chosen] - _log_widths(low, high)))
    inside = _WEIGHT_OF_MIDDLE + _WEIGHT_OF_OUTER * parts.sum(axis=0)
    cells.logs[chosen] += np.log(inside)
    centres[chosen] += _WEIGHT_OF_OUTER * (parts * from_middle).sum(axis=0) / inside
    errors[chosen] = _errors_of_gauss(errors[chosen])
    shares = cells.shares()
    # error of the probabilities of a row by rounding, and by the tables of Student's t distribution
    return RowCells(
        cells.rows,
        cells.lows,
        cells.highs,
        shares.masses,
        centres,
        shares.log_totals,
        np.asarray(np.bincount(cells.rows, shares.masses * errors, n_rows) + 1e-8, np.float64),
        cells.bases,
        shown_cuts,
        blanket,
    )


def _errors_of_gauss(errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return bounds of the relative errors of masses by the rule of Gauss, given those by the densities at middles."""
    return np.where(errors < _WIDE_ERROR, errors**3, errors)


def _log_widths(lows: NDArray[np.float64], highs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithms of widths, float64 (n,); 0 for point masses."""
    # halves first, since the range may overflow
    halves = np.where(lows == highs, 0.5, highs / 2 - lows / 2)
    return np.asarray(np.log(halves) + np.log(2.0))


def _shares(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows of log masses as shares that sum to 1, or zeros."""
    top = logs.max(axis=1, keepdims=True)
    masses = np.exp(logs - np.where(top > -np.inf, top, 0.0))
    total = masses.sum(axis=1, keepdims=True)
    return np.asarray(masses / np.where(total > 0, total, 1.0))


def _reached(
    masses: NDArray[np.float64], rows: NDArray[np.int64], first: NDArray[np.int64], level: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the first cell of every row up to which its masses reach a share, and the share of this cell's mass."""
    # sums within rows, so that the digits of a row are its own
    order = np.arange(len(rows)) - first[rows]
    padded = np.zeros((len(first), int(order.max(initial=0)) + 1))
    padded[rows, order] = masses
    cumulated = np.cumsum(padded, axis=1)
    wanted = level * cumulated[:, -1]
    place = np.argmax((cumulated >= wanted[:, None]) & (cumulated > 0), axis=1)
    of_rows = np.arange(len(first))
    of_cell = padded[of_rows, place]
    share = (wanted - (cumulated[of_rows, place] - of_cell)) / np.where(of_cell > 0, of_cell, 1.0)
    return first + place, np.clip(share, 0.0, 1.0)
