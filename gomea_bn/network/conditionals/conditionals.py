"""The conditional densities of all columns of a network: averages of tables over sets of cuts, and lines."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.data.columns import column_positions, encode_levels, numeric_values
from gomea_bn.errors import GomeaBnError, check_integer, is_real
from gomea_bn.network.checks import check_counts, check_cut_points, check_keys, check_table
from gomea_bn.network.conditionals.family import Family, TableSet, counts_content
from gomea_bn.network.conditionals.family_line import FamilyLine, LineScale, ProbabilityScale, UnitScale
from gomea_bn.network.parts import Immutable, WithTables
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.texts import counted

if TYPE_CHECKING:
    import pandas as pd

CUT_INTERVAL = 0.9
"""Probability of the interval of a cut."""


class Conditionals(Immutable):
    """The conditional densities of a network whose tables over the shown bins are computed from them.

    The density of a column given its parents is (1 - w) times the mean over several sets of cuts with their tables,
    plus w times a line: the column is Student-t around a sum of functions of its continuous parents. The weight w is 0
    where a line predicts no better. `gomea_bn.average_families` learns conditionals from the rows of a network.

    Parameters
    ----------
    copies : sequence of TableSet
        Sets of cuts with their tables, at least one.
    lines : mapping of str to FamilyLine, optional
        Lines by continuous column. The column and the continuous parents of a line need a scale.
    scales : mapping of str to Shape, optional
        Distributions of the columns that are part of lines on probability scales.
    units : mapping of str to (centre, spread), optional
        Numbers that are subtracted from, and then divide, the columns that are part of lines in own units.
    n_rows : int
        Number of rows that the conditionals were learned from, updates apart.
    cut_probabilities : mapping of str to sequence of float, optional
        For every continuous column the probability that each shown cut is near.
    cut_intervals : mapping of str to sequence of pairs of float, optional
        For every continuous column the 90 % interval of each shown cut.
    set_values : mapping of str to float, optional
        Numbers, or codes of levels, that an intervention has set columns to.
    log_losses : mapping of str to (number of rows, mean, standard deviation), optional
        Of -ln p(column | parents) in nats, over rows that were left out of the fit, by column.
    """

    __slots__ = (
        "_copies",
        "_cut_intervals",
        "_cut_probabilities",
        "_frame",
        "_lines",
        "_log_losses",
        "_n_rows",
        "_scales",
        "_set_values",
        "_units",
    )

    _copies: tuple[TableSet, ...]
    _cut_intervals: dict[str, Any]
    _cut_probabilities: dict[str, Any]
    _frame: tuple[Any, ...] | None
    _lines: dict[str, FamilyLine]
    _log_losses: dict[str, tuple[float, float, float]]
    _n_rows: int
    _scales: dict[str, Shape]
    _set_values: dict[str, float]
    _units: dict[str, tuple[float, float]]

    def __init__(
        self,
        copies: Sequence[TableSet],
        *,
        lines: Mapping[str, FamilyLine] | None = None,
        scales: Mapping[str, Shape] | None = None,
        units: Mapping[str, tuple[float, float]] | None = None,
        n_rows: int,
        cut_probabilities: Mapping[str, ArrayLike] | None = None,
        cut_intervals: Mapping[str, ArrayLike] | None = None,
        set_values: Mapping[str, float] | None = None,
        log_losses: Mapping[str, tuple[float, float, float]] | None = None,
    ) -> None:
        check_integer("n_rows", n_rows, 1)
        if not copies:
            raise GomeaBnError("copies must hold at least one set of cuts, got none.")
        self._set_parts(
            {
                "_copies": tuple(copies),
                "_lines": dict(lines or {}),
                "_scales": dict(scales or {}),
                "_units": dict(units or {}),
                "_n_rows": n_rows,
                "_cut_probabilities": dict(cut_probabilities or {}),
                "_cut_intervals": dict(cut_intervals or {}),
                "_set_values": dict(set_values or {}),
                "_log_losses": {name: _loss(name, of_name) for name, of_name in (log_losses or {}).items()},
                "_frame": None,
            }
        )

    @property
    def copies(self) -> tuple[TableSet, ...]:
        """Sets of cuts with the tables that are averaged."""
        return self._copies

    @property
    def lines(self) -> dict[str, FamilyLine]:
        """Lines by column; columns without an entry have tables alone."""
        return dict(self._lines)

    @property
    def scales(self) -> dict[str, Shape]:
        """Distributions of the columns that are part of lines on probability scales."""
        return dict(self._scales)

    @property
    def units(self) -> dict[str, tuple[float, float]]:
        """Centre and spread of the columns that are part of lines in own units."""
        return dict(self._units)

    @property
    def n_rows(self) -> int:
        """Number of rows that the conditionals were learned from."""
        return self._n_rows

    @property
    def cut_probabilities(self) -> dict[str, NDArray[np.float64]]:
        """Probability that each shown cut is near, float64 (n_cuts,) by column; empty if unknown."""
        return dict(self._cut_probabilities)

    @property
    def cut_intervals(self) -> dict[str, NDArray[np.float64]]:
        """The 90 % interval of each shown cut, float64 (n_cuts, 2) by column; empty if unknown."""
        return dict(self._cut_intervals)

    @property
    def set_values(self) -> dict[str, float]:
        """Numbers, or codes of levels, that an intervention has set columns to."""
        return dict(self._set_values)

    @property
    def log_losses(self) -> dict[str, tuple[float, float, float]]:
        """Number of left-out rows, mean and standard deviation of -ln p(column | parents) by column, if known."""
        return dict(self._log_losses)

    def mean_line_weight(self, network: WithTables) -> float:
        """Return the mean weight of lines over the columns with continuous parents, 0 without such columns."""
        continuous = network.cut_points
        weights = [
            self._lines[name].weight if name in self._lines else 0.0
            for name in continuous
            if any(parent in continuous for parent in network.parents(name))
        ]
        return float(np.mean(weights)) if weights else 0.0

    def after_intervention(self, values: Mapping[str, float]) -> Conditionals:
        """Return the conditionals in which columns have the given numbers or codes of levels with certainty.

        Their tables have no parents any more, and hold nothing but one uniform row.
        """
        copies = []
        for copy in self._copies:
            cards = {name: copy.tables[name].shape[-1] for name in values}
            copies.append(
                TableSet(
                    copy.cut_points,
                    {**copy.parents, **dict.fromkeys(values, ())},
                    {**copy.tables, **{name: np.full(card, 1 / card) for name, card in cards.items()}},
                )
            )
        return self.changed(
            copies=copies,
            set_values={**self._set_values, **values},
            lines={name: line for name, line in self._lines.items() if name not in values},
            log_losses={name: loss for name, loss in self._log_losses.items() if name not in values},
        )

    def in_order(self, names: Sequence[str]) -> Conditionals:
        """Return the conditionals of the same network with its variables in another order."""
        return self.changed(copies=[copy.in_order(names) for copy in self._copies])

    def changed(self, **parts: Any) -> Conditionals:
        """Return conditionals with other values of some parameters of the constructor."""
        return Conditionals(**{**self._content(), **parts})

    def _content(self) -> dict[str, Any]:
        """Return the parts as keywords of the constructor."""
        return {slot[1:]: getattr(self, slot) for slot in self.__slots__ if slot != "_frame"}

    def checked(self, network: WithTables) -> Conditionals:
        """Return the conditionals with all parts in their stored form, checked against a network.

        They remember the bins and the graph that they were checked against, and are not checked again for the same.
        """
        cuts, support, levels = network.cut_points, network.support, network.levels
        frame = network.names, network.edges, [of.tolist() for of in cuts.values()], support, levels
        if self._frame == frame:
            return self
        continuous = list(cuts)
        check_keys(self._scales, [n for n in continuous if n in self._scales], network.names, "scales")
        for name, shape in self._scales.items():
            if not isinstance(shape, Shape):
                raise GomeaBnError(f"scales['{name}'] must be a Shape, got {type(shape).__name__}.")
        units = checked_units(self._units, network)
        for name, line in self._lines.items():
            check_line(network, name, line, units if getattr(line, "in_units", False) else self._scales)
        for option in ("cut_probabilities", "cut_intervals"):
            if by_name := getattr(self, f"_{option}"):
                check_keys(by_name, continuous, network.names, option)
        copies = []
        for k, copy in enumerate(self._copies):
            if not isinstance(copy, TableSet):
                raise GomeaBnError(f"copies[{k}] must be a TableSet, got {type(copy).__name__}.")
            check_keys(copy.cut_points, continuous, network.names, "cut_points of a copy")
            for part in ("parents", "tables"):
                check_keys(getattr(copy, part), network.names, network.names, f"{part} of a copy")
            of_copy = {n: check_cut_points(copy.cut_points[n], n, support[n]) for n in continuous}
            for inner in of_copy.values():
                inner.flags.writeable = False
            cards = {n: len(of_copy[n]) + 1 if n in cuts else len(levels[n]) for n in network.names}
            for name in network.names:
                parents = network.parents(name)
                if [p for p in parents if p in copy.parents[name]] != list(copy.parents[name]):
                    raise GomeaBnError(
                        f"The table of '{name}' in a copy must have some of the parents {parents} in this order, got "
                        f"{copy.parents[name]}."
                    )
            tables = {
                n: check_table(copy.tables[n], n, (*(cards[p] for p in copy.parents[n]), cards[n]))
                for n in network.names
            }
            counts = check_counts(copy.counts, tables)
            copies.append(TableSet(of_copy, dict(copy.parents), tables, counts))
        check_keys(self._set_values, list(self._set_values), network.names, "set_values")
        for name, value in self._set_values.items():
            low, high = support[name] if name in cuts else (0, len(levels[name]) - 1)
            if not is_real(value) or not low <= value <= high:
                raise GomeaBnError(f"set_values['{name}'] must be from {low:g} to {high:g}, got {value!r}.")
        check_keys(self._log_losses, list(self._log_losses), network.names, "log_losses")
        for name, loss in self._log_losses.items():
            if len(loss) != 3 or not all(map(is_real, loss)) or loss[0] < 0 or loss[2] < 0:
                raise GomeaBnError(
                    f"log_losses['{name}'] must be a number of rows, a mean and a standard deviation, got {loss!r:.80}."
                )
        checked = self.changed(
            copies=copies,
            cut_probabilities={
                n: checked_probabilities(n, values, len(cuts[n]))
                for n, values in self._cut_probabilities.items()
            },
            cut_intervals={
                n: checked_intervals(n, values, cuts[n], support[n])
                for n, values in self._cut_intervals.items()
            },
            units={n: (scale.centre, scale.spread) for n, scale in units.items()},
        )
        checked._set_parts({"_frame": frame})
        return checked

    def to_content(self) -> dict[str, Any]:
        """Return the conditionals as values that JSON can hold."""
        copies = [
            {
                "cut_points": {name: cuts.tolist() for name, cuts in copy.cut_points.items()},
                "parents": {name: list(parents) for name, parents in copy.parents.items()},
                "tables": {name: table.tolist() for name, table in copy.tables.items()},
                **({"counts": counts_content(copy.counts)} if copy.counts else {}),
            }
            for copy in self._copies
        ]
        return {
            "n_rows": self._n_rows,
            "lines": {name: line.to_content() for name, line in self._lines.items()},
            "scales": {name: shape.to_content() for name, shape in self._scales.items()},
            "units": {name: list(scale) for name, scale in self._units.items()},
            "cut_probabilities": {n: np.asarray(p).tolist() for n, p in self._cut_probabilities.items()},
            "cut_intervals": {n: np.asarray(ends).tolist() for n, ends in self._cut_intervals.items()},
            "set_values": self.set_values,
            "log_losses": {name: list(loss) for name, loss in self._log_losses.items()},
            "copies": copies,
        }

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Conditionals):
            return NotImplemented
        return self.to_content() == other.to_content()

    def __hash__(self) -> int:
        return hash((self._n_rows, len(self._copies), tuple(self._lines)))

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Conditionals, **self._content()), ()

    def __repr__(self) -> str:
        return f"Conditionals({len(self._copies)} sets of cuts, {len(self._lines)} lines)"


class WithDensities(WithTables, Protocol):
    """A network with the density of every variable; `DiscretizedBayesNet` documents its members."""

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
    known, support, levels = network.conditionals, network.support, network.levels
    n_levels = {name: len(of_name) for name, of_name in levels.items()}
    if known is None:
        parents = {name: network.parents(name) for name in network.names}
        copies: tuple[TableSet, ...] = (TableSet(network.cut_points, parents, dict(network.tables)),)
        lines, of_units, of_shapes, set_values = {}, {}, {}, {}
    else:
        copies, lines, set_values = known.copies, known.lines, known.set_values
        of_shapes = {name: ProbabilityScale(shape, known.n_rows) for name, shape in known.scales.items()}
        of_units = {name: UnitScale(*pair, support[name]) for name, pair in known.units.items()}
    families = {}
    for name in network.names:
        line = lines.get(name)
        scales: Mapping[str, LineScale] = of_units if line is not None and line.in_units else of_shapes
        families[name] = Family(
            name,
            copies,
            support=support.get(name),
            shape=network.shapes.get(name),
            line=line,
            scales=scales,
            n_levels=n_levels,
            set_to=set_values.get(name),
        )
    return families


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


def check_line(network: WithTables, name: str, line: object, scales: Mapping[str, object]) -> None:
    """Raise `GomeaBnError` for a line that does not fit the family of a variable."""
    if not isinstance(line, FamilyLine):
        raise GomeaBnError(f"lines['{name}'] must be a FamilyLine, got {type(line).__name__}.")
    cuts, levels = network.cut_points, network.levels
    parents = network.parents(name)
    if name not in cuts:
        raise GomeaBnError(f"lines must not have an entry for '{name}', which is discrete.")
    continuous = tuple(parent for parent in parents if parent in cuts)
    discrete = tuple(parent for parent in parents if parent in levels)
    # a line is the same in every order of its parents
    if sorted(line.parents) != sorted(continuous) or sorted(line.groups) != sorted(discrete):
        raise GomeaBnError(
            f"The line of '{name}' must have the continuous parents {continuous} and the discrete parents {discrete}, "
            f"got {line.parents} and {line.groups}."
        )
    n_groups = int(np.prod([len(levels[parent]) for parent in discrete], dtype=np.int64))
    if len(line.scales) != n_groups:
        raise GomeaBnError(f"The line of '{name}' must have {n_groups} groups, got {len(line.scales)}.")
    missing = [member for member in (name, *continuous) if member not in scales]
    if missing:
        option = "units" if line.in_units else "scales"
        raise GomeaBnError(f"{option} must have an entry for '{missing[0]}', which is part of a line.")
