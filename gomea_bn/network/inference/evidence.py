"""Reading evidence: values, intervals, sets and weights of single questions, and cells of whole frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import code_of_number, column_positions, encode_levels, numeric_values
from gomea_bn.data.dates import number_of, source_name, unit_of, value_in_words
from gomea_bn.errors import GomeaBnError, Setting, check_number, give_warning, is_real, nearest
from gomea_bn.lazy import pd
from gomea_bn.network.bin_distributions import BinDistributions
from gomea_bn.network.conditionals.conditionals import shown_network
from gomea_bn.network.inference.question import Evidence, Interval, Pieces
from gomea_bn.network.parts import spellings, unknown_variable
from gomea_bn.network.recorded import NetworkLike
from gomea_bn.network.rows import number_of_text
from gomea_bn.texts import counted, listed

Outside: TypeAlias = float | Interval
"""A value or an interval outside the support of its variable."""


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """What is known of one variable in one row.

    It is a bin or level, `code`, or the likelihood `weights` (cardinality,) of what was observed, up to a factor.
    `value`, `pieces` and `outside` are the number and the intervals that were given, and those outside the support.
    """

    code: int = -1
    weights: NDArray[np.float64] | None = None
    value: float | None = None
    pieces: Pieces | None = None
    outside: tuple[Outside, ...] = ()


Statements = Mapping[str, Sequence[Statement]]
"""One statement per row by variable."""


def outside_of(statements: Statements) -> dict[str, list[Outside]]:
    """Return the values and intervals outside the support, by continuous variable."""
    return {name: [value for row in rows for value in row.outside] for name, rows in statements.items()}


class EvidenceReader:
    """Reads values of a network's variables as evidence."""

    def __init__(self, network: NetworkLike) -> None:
        self.names = network.names
        self.levels = network.levels
        self.support = network.support
        self.network = network
        self._shown = shown_network(network)
        self._spellings = spellings(network.names)

    @cached_property
    def bins(self) -> dict[str, BinDistributions]:
        """Distributions inside the bins by continuous variable."""
        return {name: BinDistributions(self.network, name) for name in self.support}

    @cached_property
    def continuous(self) -> list[tuple[int, str, BinDistributions]]:
        """Position, name and distributions inside the bins of the continuous variables."""
        return [(v, name, self.bins[name]) for v, name in enumerate(self.names) if name in self.support]

    def variable(self, name: object, option: str) -> str:
        """Return the variable that a name stands for; `option` is the option that names it, for the message.

        A variable of dates, durations or times of day may be named as its column, without the unit.
        """
        if not isinstance(name, str) or name not in self._spellings:
            raise GomeaBnError(f"{option}: {unknown_variable(name, self.names, self.network.metadata)}")
        return self._spellings[name]

    def variables(self, names: Iterable[object], option: str) -> list[str]:
        """Return the variables that names stand for, each of them once; see `variable`."""
        chosen = [self.variable(name, option) for name in names]
        for name in chosen:
            if chosen.count(name) > 1:
                raise GomeaBnError(f"{option} names '{name}' twice; name it once.")
        return chosen

    def frame(
        self, frame: pd.DataFrame, names: Iterable[str]
    ) -> tuple[Evidence, dict[str, NDArray[np.float64]]]:
        """Return the evidence of some columns of a frame, and the values (n_rows,) of the continuous ones.

        Missing cells are unknown, and their values NaN.
        """
        names = list(names)
        places = column_positions(frame, names)
        codes = np.full((len(frame), len(self.names)), -1, np.int32)
        values = {}
        numbers = np.full(codes.shape, np.nan)
        for name in names:
            series, position = frame.iloc[:, places[name]], self.names.index(name)
            if name in self.levels:
                codes[:, position] = encode_levels(series, name, self.levels[name], allow_missing=True)
            else:
                values[name] = numeric_values(series, name, allow_missing=True)
                codes[:, position] = self.bins[name].codes(values[name])
                numbers[:, position] = np.clip(values[name], *self.support[name])
        return Evidence(codes, {}, numbers), values

    def present(self, frame: pd.DataFrame, names: Sequence[str]) -> list[str]:
        """Return the variables that a frame has columns of; warns of those that it lacks, and raises if it has none."""
        # names of several levels are refused where they are read
        if frame.columns.nlevels > 1:
            return list(names)
        labels = list(map(str, frame.columns))
        absent = [name for name in names if not {name, source_name(name)} & {*labels}]
        others = [label for label in labels if label not in self._spellings]
        hints = "".join(f" For {name!r}:{hint}" for name in absent if (hint := nearest(name, others)))
        if absent and len(absent) == len(names):
            raise GomeaBnError(
                f"The table has none of the columns that answers need: {listed(map(repr, absent), 10)}. It has "
                f"{listed(map(repr, labels), 10) or 'no columns'}.{hints}"
            )
        if absent:
            give_warning(
                f"The table lacks {counted(len(absent), 'column')} of the network, whose cells count as missing: "
                f"{listed(map(repr, absent), 10)}.{hints}"
            )
        return [name for name in names if name not in absent]

    def stated(self, evidence: Mapping[str, object]) -> tuple[Evidence, Statements]:
        """Return the evidence and the statements of one question, see `gomea_bn.network.inference.answers.query`."""
        return self.stated_rows({name: [value] for name, value in evidence.items()}, 1)

    def stated_rows(
        self, columns: Mapping[str, Sequence[object]], n_rows: int
    ) -> tuple[Evidence, Statements]:
        """Return evidence of several rows that may hold intervals, sets and weights, and what it says by variable."""
        codes = np.full((n_rows, len(self.names)), -1, np.int32)
        numbers = np.full(codes.shape, np.nan)
        weights: dict[int, NDArray[np.float64]] = {}
        pieces: dict[int, list[Pieces | None]] = {}
        statements = {}
        for name, (given, cells) in zip(self.variables(columns, "evidence"), columns.items(), strict=True):
            position = self.names.index(name)
            labels = [
                f"evidence['{given}']" + (f" of row {row}" if n_rows > 1 else "") for row in range(n_rows)
            ]
            rows = [self.statement(name, value, label) for value, label in zip(cells, labels, strict=True)]
            codes[:, position] = [statement.code for statement in rows]
            for row, statement in enumerate(rows):
                if statement.value is not None:
                    numbers[row, position] = self.inside(name, statement.value)
                if statement.weights is not None:
                    ones = np.ones((n_rows, len(statement.weights)))
                    weights.setdefault(position, ones)[row] = statement.weights
            statements[name] = rows
            if any(statement.pieces is not None for statement in rows):
                pieces[position] = [statement.pieces for statement in rows]
        return Evidence(codes, weights, numbers, pieces), statements

    def statement(self, name: str, value: object, label: str) -> Statement:
        """Return what a value, an interval, a set or weights say of a variable; `label` names them in messages."""
        if is_unknown(value):
            return Statement()
        if name in self.levels and _is_several(value):
            weights = np.zeros(len(self.levels[name]))
            for level, weight in _weighted(value, label):
                weights[self._level_code(name, level, label)] += weight
            return Statement(weights=weights)
        if name in self.levels or not (_is_several(value) or _is_interval(value)):
            return self.value(name, value, label)
        pieces, outside = self._pieces(name, value, label)
        weights = pieces.likelihood
        bins = np.flatnonzero(weights)
        # evidence for a single bin is that bin, up to a factor, if the network knows no more than bins
        if len(bins) == 1 and self._shown is self.network:
            return Statement(int(bins[0]), pieces=pieces, outside=outside)
        return Statement(weights=weights, pieces=pieces, outside=outside)

    def value(self, name: str, value: object, label: str) -> Statement:
        """Return what a single number or level says of a variable; `label` names it in messages."""
        if name in self.levels:
            return Statement(self._level_code(name, value, label))
        numbers = np.array([self._number(name, value, label)])
        outside = tuple(self.outside({name: numbers})[name].tolist())
        return Statement(int(self.bins[name].codes(numbers)[0]), value=float(numbers[0]), outside=outside)

    def _level_code(self, name: str, value: object, label: str) -> int:
        """Return the code of a level; `label` names it in messages."""
        levels = self.levels[name]
        plain = value.item() if isinstance(value, np.generic) else value
        code = levels.index(plain) if isinstance(plain, (str, bool, int, float)) and plain in levels else -1
        if code < 0:
            code = code_of_number(plain, levels)
        if code < 0:
            shown = listed(map(repr, levels), most=10)
            raise GomeaBnError(f"{label} must be one of the levels {shown}, got {value!r:.80}.")
        return code

    def _pieces(self, name: str, value: Any, label: str) -> tuple[Pieces, tuple[Outside, ...]]:
        """Return an interval, a set of intervals or intervals with weights as parts of bins, and those outside."""
        # the order of a set or of a mapping has no effect
        given = _weighted(value, label) if _is_several(value) else [(value, 1.0)]
        parts = sorted((self._interval(name, part, label), weight) for part, weight in given)
        for ((_, end, _), _), ((start, _, _), _) in pairwise(parts):
            if start < end:
                raise GomeaBnError(f"{label} must be intervals that do not overlap, got {value!r:.120}.")
        minimum, maximum = self.support[name]
        bins = self.bins[name]
        of_whole_bins = np.zeros(len(bins.edges) - 1)
        inside, of_bins, outside = [], [], []
        for (low, high, closed), weight in parts:
            # the first bin contains the minimum, although its label in an IntervalIndex, closed at its right, does not
            start = -np.inf if low < minimum or (low == minimum and closed != "neither") else low
            part = bins.interval(start, high, closed)
            if part[1].any():
                inside.append(((start, high, closed), weight))
                of_bins.append(part)
                continue
            # an interval without probability, outside or too narrow for the numbers, counts as its last value
            code = int(bins.codes(np.array([high]))[0])
            whole = slice(code, code + 1)
            if high <= minimum or low >= maximum:
                first = self.first_cells(name)
                whole = (
                    slice(0, int(first[1]) if len(first) > 1 else None)
                    if code == 0
                    else slice(int(first[-1]), None)
                )
                if weight:
                    outside.append((low, high, closed))
            of_whole_bins[whole] = np.maximum(of_whole_bins[whole], weight)
        starts, shares = np.zeros((2, len(inside) + 1, len(of_whole_bins)))
        shares[-1] = 1.0
        weights = np.empty_like(shares)
        weights[-1] = of_whole_bins
        for k, (_, weight) in enumerate(inside):
            starts[k], shares[k] = of_bins[k]
            weights[k] = np.maximum(weight - of_whole_bins, 0.0)
        return Pieces(starts, shares, weights, inside, of_whole_bins), tuple(outside)

    def _interval(self, name: str, value: Any, label: str) -> Interval:
        """Return the ends of an interval, which may be infinite, and which of them belong to it."""
        if isinstance(value, pd.Interval):
            ends, closed = (value.left, value.right), str(value.closed)
        else:
            ends, closed = value, "both"
        if not isinstance(ends, tuple) or len(ends) != 2:
            raise GomeaBnError(f"{label} must be a pandas Interval or a pair (low, high), got {value!r:.80}.")
        numbers = []
        for end, infinite in zip(ends, (-np.inf, np.inf), strict=True):
            is_infinite = end is None or (is_real(end) and abs(end) == np.inf)
            numbers.append(
                (infinite if end is None else float(end)) if is_infinite else self._number(name, end, label)
            )
        low, high = numbers
        if not low < high:
            raise GomeaBnError(
                f"{label} must be an interval of two numbers, the smaller first, got {value!r:.80}."
            )
        return low, high, closed

    def _number(self, name: str, value: object, label: str) -> float:
        """Return a number of a continuous variable, which may be given as a date, a time, or a text as in the table."""
        number = number_of(value, name)
        if number is None and isinstance(value, str) and unit_of(name) is None:
            number = number_of_text(self.network, name, value, label)
        if number is None and unit_of(name) is not None and not is_real(value):
            raise GomeaBnError(f"{label} must be {value_in_words(name)}, got {value!r:.80}.")
        if number is None:
            check_number(label, value)
            number = float(value)  # type: ignore[arg-type]
        return number

    def point(self, name: str, tables: NDArray[np.float64], how: str) -> NDArray[np.float64]:
        """Return one value of a continuous variable per row of probabilities of its bins, float64 (n_rows,).

        It is the "mean", the "median", or as "mode" the median of the most probable bin.
        """
        bins = self.bins[name]
        if how == "mean":
            return np.asarray(tables @ bins.means(), np.float64)
        if how == "median":
            return bins.quantiles(tables, 0.5)
        first = self.first_cells(name)
        most = np.add.reduceat(tables, first, axis=1).argmax(axis=1)
        is_inside = np.repeat(np.arange(len(first)), np.diff([*first, tables.shape[1]])) == most[:, None]
        return bins.quantiles(np.where(is_inside, tables, 0.0), 0.5)

    def first_cells(self, name: str) -> NDArray[np.int64]:
        """Return the first bin of the network in every shown bin of a continuous variable, int64 (n_shown,)."""
        cells, shown = self.network.cut_points[name], self._shown.cut_points[name]
        return np.concatenate(([0], np.searchsorted(cells, shown) + 1))

    def inside(self, name: str, value: float) -> float:
        """Return a number of a continuous variable, moved to the end of its support if it is outside."""
        low, high = self.support[name]
        return min(max(value, low), high)

    def outside(self, values: Mapping[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
        """Return the values outside the support of their variables, by variable."""
        return {
            name: given[(given < self.support[name][0]) | (given > self.support[name][1])]
            for name, given in values.items()
        }

    def warn_of_outside(self, outside: Mapping[str, Sequence[Outside] | NDArray[np.float64]]) -> None:
        """Warn of values and intervals outside the support of their variables, which count as in an end bin."""
        parts, examples = [], []
        for name, given in outside.items():
            if len(given):
                low, high = self.support[name]
                parts.append(f"{counted(len(given), 'value')} of '{name}' (support {low:g} to {high:g})")
                examples.append(_in_words(name, given[0]))
        if parts:
            nearest_part = "in the nearest bin" if self._shown is self.network else "its nearest end"
            give_warning(
                f"Values outside the support count as {nearest_part}: {listed(parts, 5)}; for example "
                f"{listed(examples, 5)}."
            )


def statement_text(value: object, text_of: Callable[[Any], str] = str) -> str:
    """Return what is stated about a variable in the form of the command, to follow its name: "= 3", "> 60", "in 2..5".

    `text_of` makes texts of numbers and levels.
    """
    if isinstance(value, tuple) and len(value) == 2:
        low, high, closed = *value, "both"
    elif isinstance(value, pd.Interval):
        low, high, closed = value.left, value.right, str(value.closed)
    elif isinstance(value, (set, frozenset)):
        members = sorted(
            statement_text(member, text_of).removeprefix("= ").removeprefix("in ") for member in value
        )
        return f"in {{{', '.join(members)}}}"
    elif isinstance(value, (Mapping, pd.Series)):
        weights = [
            f"{statement_text(member, text_of).removeprefix('= ')}: {weight:g}"
            for member, weight in value.items()
        ]
        return f"= one of {{{', '.join(weights)}}}, by weights"
    else:
        return f"= {text_of(value)}"
    ends = [
        None if end is None or (is_real(end) and abs(end) == np.inf) else text_of(end) for end in (low, high)
    ]
    if closed == "both" and None not in ends:
        return f"in {ends[0]}..{ends[1]}"
    limits = [
        f"{sign}{'=' if closed in ('both', side) else ''} {end}"
        for sign, side, end in ((">", "left", ends[0]), ("<", "right", ends[1]))
        if end is not None
    ]
    return " and ".join(limits) or "= any value"


def refuse_stated(evidence: Mapping[str, object], n_draws: int | None) -> NoReturn:
    """Raise for evidence of probability 0, or for evidence that none of `n_draws` draws agrees with."""
    values = ", ".join(f"{name} {statement_text(value, repr):.80}" for name, value in evidence.items())
    if n_draws is None:
        raise GomeaBnError(f"The evidence has probability 0 in this network: {values}.")
    raise GomeaBnError(f"None of {n_draws:,} draws agrees with the evidence: {values}.", [Setting("n_draws")])


def is_unknown(value: object) -> bool:
    """Return whether a value is None, NaN, NA or NaT."""
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return value is None or value is pd.NA or value is pd.NaT or (is_real(value) and value != value)


def holds_statements(series: pd.Series[Any]) -> bool:
    """Return whether a column holds intervals, sets or weights instead of plain values only."""
    if isinstance(series.dtype, pd.IntervalDtype):
        return True
    return series.dtype == object and any(_is_several(value) or _is_interval(value) for value in series)


def _is_interval(value: object) -> bool:
    return isinstance(value, (pd.Interval, tuple))


def _is_several(value: object) -> bool:
    return isinstance(value, (set, frozenset, Mapping, pd.Series))


def _weighted(value: Any, label: str) -> list[tuple[Any, float]]:
    """Return the members of a set with weights 1, or the items of a mapping with its weights."""
    if isinstance(value, (set, frozenset)):
        items = [(member, 1.0) for member in value]
    else:
        items = list(value.items())
    for member, weight in items:
        check_number(f"{label}[{member!r}]", weight, 0)
    if not any(weight > 0 for _, weight in items):
        raise GomeaBnError(f"{label} must have a weight above 0, got {value!r:.80}.")
    return [(member, float(weight)) for member, weight in items]


def _in_words(name: str, value: Outside) -> str:
    """Return "x = 3" or "x in 2..5", the forms of statements of the command."""
    if not isinstance(value, tuple):
        return f"{name} = {value:.10g}"
    low, high = ("" if abs(end) == np.inf else f"{end:.10g}" for end in value[:2])
    return f"{name} in {low}..{high}"
