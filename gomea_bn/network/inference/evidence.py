"""Reading evidence: values, intervals, sets and weights of single questions, and cells of whole frames."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import code_of_number, column_positions, encode_levels, numeric_values
from gomea_bn.errors import GomeaBnError, GomeaBnWarning, Setting, check_number, is_real, nearest
from gomea_bn.network.inference.bin_distributions import BinDistributions
from gomea_bn.network.inference.engine import Evidence
from gomea_bn.texts import counted, listed

if TYPE_CHECKING:
    import pandas as pd

    from gomea_bn.network.protocol import NetworkLike

__all__ = [
    "FrameEvidence",
    "Pieces",
    "Reader",
    "StatedEvidence",
    "holds_statements",
    "is_unknown",
    "refuse_stated",
    "weights_of_intervals",
]


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Intervals of a continuous variable as parts of its bins.

    Attributes
    ----------
    starts : ndarray of shape (n_intervals, n_bins), float64
        Share of the probability of a bin that lies below the interval.
    shares : ndarray of shape (n_intervals, n_bins), float64
        P(interval | bin).
    weights : ndarray of shape (n_intervals,), float64
        Weight of every interval.
    """

    starts: NDArray[np.float64]
    shares: NDArray[np.float64]
    weights: NDArray[np.float64]

    @property
    def likelihood(self) -> NDArray[np.float64]:
        """Likelihood of the evidence by bin, float64 (n_bins,)."""
        return self.weights @ self.shares


@dataclass(frozen=True, slots=True, eq=False)
class FrameEvidence:
    """Evidence of the rows of a frame.

    Attributes
    ----------
    evidence : Evidence
        Codes of all variables; variables that were not read are unknown.
    values : dict of str to ndarray of shape (n_rows,), float64
        Values of the continuous variables that were read, NaN where missing.
    """

    evidence: Evidence
    values: dict[str, NDArray[np.float64]]


@dataclass(frozen=True, slots=True, eq=False)
class StatedEvidence:
    """Evidence of a single question.

    Attributes
    ----------
    evidence : Evidence
        One row.
    values : dict of str to float
        Values of continuous variables that were given as numbers.
    pieces : dict of str to Pieces
        Intervals of continuous variables.
    """

    evidence: Evidence
    values: dict[str, float]
    pieces: dict[str, Pieces]


class Reader:
    """Reads values of a network's variables as evidence.

    Parameters
    ----------
    network : NetworkLike
        The network.
    """

    def __init__(self, network: NetworkLike) -> None:
        self.names = network.names
        self.levels = network.levels
        self.support = network.support
        self._network = network

    @cached_property
    def bins(self) -> dict[str, BinDistributions]:
        """Distributions inside the bins by continuous variable."""
        return {name: BinDistributions(self._network, name) for name in self.support}

    @cached_property
    def continuous(self) -> list[tuple[int, str, BinDistributions]]:
        """Position, name and distributions inside the bins of the continuous variables."""
        return [(v, name, self.bins[name]) for v, name in enumerate(self.names) if name in self.support]

    def position(self, name: object, option: str) -> int:
        """Return the position of a variable; `option` is the option that names it, for the message."""
        if not isinstance(name, str) or name not in self.names:
            raise GomeaBnError(f"{option}: unknown variable {name!r}.{nearest(str(name), self.names)}")
        return self.names.index(name)

    def frame(self, frame: pd.DataFrame, names: Iterable[str]) -> FrameEvidence:
        """Return the values of some columns of a frame; missing cells are unknown.

        Raises
        ------
        GomeaBnError
            For absent columns, infinite values, unknown levels and values of a wrong type.
        """
        import pandas as pd

        if not isinstance(frame, pd.DataFrame):
            raise GomeaBnError(f"frame must be a pandas DataFrame, got {type(frame).__name__}.")
        names = list(names)
        places = column_positions(frame, names)
        codes = np.full((len(frame), len(self.names)), -1, np.int32)
        values = {}
        for name in names:
            series, position = frame.iloc[:, places[name]], self.names.index(name)
            if name in self.levels:
                codes[:, position] = encode_levels(series, name, self.levels[name], allow_missing=True)
            else:
                values[name] = numeric_values(series, name, allow_missing=True)
                codes[:, position] = self.bins[name].codes(values[name])
        return FrameEvidence(Evidence(codes, {}), values)

    def stated(self, evidence: Mapping[str, object]) -> StatedEvidence:
        """Return the evidence of a single question, see `gomea_bn.network.inference.answers.query`."""
        rows = self.stated_rows({name: [value] for name, value in evidence.items()}, 1)
        pieces, values = {}, {}
        for name, value in evidence.items():
            if name not in self.support or is_unknown(value):
                continue
            if is_real(value):
                values[name] = float(value)  # type: ignore[arg-type]
            elif (parts := self._pieces(name, value, f"evidence['{name}']")).likelihood.any():
                pieces[name] = parts
        return StatedEvidence(rows, values, pieces)

    def stated_rows(self, columns: Mapping[str, Sequence[object]], n_rows: int) -> Evidence:
        """Return evidence of several rows that may hold intervals, sets and weights, by variable."""
        codes = np.full((n_rows, len(self.names)), -1, np.int32)
        weights: dict[int, NDArray[np.float64]] = {}
        for name, cells in columns.items():
            position = self.position(name, "evidence")
            for row, value in enumerate(cells):
                label = f"evidence['{name}']" + (f" of row {row}" if n_rows > 1 else "")
                known = self._cell(name, value, label)
                if isinstance(known, int):
                    codes[row, position] = known
                else:
                    weights.setdefault(position, np.ones((n_rows, len(known))))[row] = known
        return Evidence(codes, weights)

    def _cell(self, name: str, value: object, label: str) -> int | NDArray[np.float64]:
        """Return the code of a value, -1 for a missing one, or weights of the bins or levels."""
        if is_unknown(value):
            return -1
        if name in self.levels and _is_several(value):
            return self._level_weights(name, value, label)
        if name in self.levels:
            return self.code(name, value, label)
        if not _is_several(value) and not _is_interval(value):
            return self.code(name, value, label)
        likelihood = self._pieces(name, value, label).likelihood
        if likelihood.any():
            return likelihood
        # all intervals lie outside the support, and so in an end bin
        _, end, _ = _intervals(value, label)[0][0]
        return int(self.bins[name].codes(np.array([end]))[0])

    def code(self, name: str, value: object, label: str) -> int:
        """Return the bin or level of a single value; `label` names the value in messages."""
        if name in self.support:
            check_number(label, value)
            return int(self.bins[name].codes(np.array([value], np.float64))[0])
        levels = self.levels[name]
        plain = value.item() if isinstance(value, np.generic) else value
        code = levels.index(plain) if isinstance(plain, (str, bool, int, float)) and plain in levels else -1
        if code < 0:
            code = code_of_number(plain, levels)
        if code < 0:
            shown = listed(map(repr, levels), most=10)
            raise GomeaBnError(f"{label} must be one of the levels {shown}, got {value!r:.80}.")
        return code

    def _level_weights(self, name: str, value: Any, label: str) -> NDArray[np.float64]:
        """Return the weights of the levels for a set of levels, or for a mapping of levels to weights."""
        weights = np.zeros(len(self.levels[name]))
        for level, weight in _weighted(value, label):
            weights[self.code(name, level, label)] += weight
        return weights

    def _pieces(self, name: str, value: Any, label: str) -> Pieces:
        """Return one interval, a set of intervals or a mapping of intervals to weights as parts of bins."""
        parts = _intervals(value, label)
        for ((_, end, _), _), ((start, _, _), _) in pairwise(sorted(parts)):
            if start < end:
                raise GomeaBnError(f"{label} must be intervals that do not overlap, got {value!r:.120}.")
        minimum = self.support[name][0]
        # the first bin contains the minimum, although its label in an IntervalIndex is open there
        of_bins = [
            self.bins[name].interval(-np.inf if low <= minimum else low, high, closed)
            for (low, high, closed), _ in parts
        ]
        starts, shares = (np.array(values) for values in zip(*of_bins, strict=True))
        return Pieces(starts, shares, np.array([weight for _, weight in parts]))

    def point(self, name: str, tables: NDArray[np.float64], how: str) -> NDArray[np.float64]:
        """Return one value of a continuous variable per row of probabilities of its bins, float64 (n_rows,).

        It is the "mean", the "median", or as "mode" the median of the most probable bin.
        """
        bins = self.bins[name]
        if how == "mean":
            return np.asarray(tables @ bins.means(), np.float64)
        if how == "median":
            return bins.quantiles(tables, 0.5)
        return bins.values(tables.argmax(axis=1).astype(np.int32), np.full(len(tables), 0.5))

    def warn_of_outside(self, values: Mapping[str, NDArray[np.float64]], stacklevel: int = 4) -> None:
        """Warn of values outside the support of their variables, which count as in an end bin."""
        parts = []
        for name, given in values.items():
            low, high = self.support[name]
            n_outside = int(np.count_nonzero((given < low) | (given > high)))
            if n_outside:
                parts.append(f"{counted(n_outside, 'value')} of '{name}' (support {low:g} to {high:g})")
        if parts:
            warnings.warn(
                f"Values outside the support count as in the nearest bin: {listed(parts, 5)}.",
                GomeaBnWarning,
                stacklevel=stacklevel,
            )


def refuse_stated(evidence: Mapping[str, object], n_draws: int | None) -> NoReturn:
    """Raise for evidence of probability 0, or for evidence that none of `n_draws` draws agrees with."""
    values = ", ".join(f"{name} = {value!r:.80}" for name, value in evidence.items())
    if n_draws is None:
        raise GomeaBnError(f"The evidence has probability 0 in this network: {values}.")
    raise GomeaBnError(f"None of {n_draws:,} draws agrees with the evidence: {values}.", [Setting("n_draws")])


def is_unknown(value: object) -> bool:
    """Return whether a value is None, NaN, NA or NaT."""
    import pandas as pd

    return value is None or value is pd.NA or value is pd.NaT or (is_real(value) and value != value)


def holds_statements(series: pd.Series[Any]) -> bool:
    """Return whether a column holds intervals, sets or weights instead of plain values only."""
    import pandas as pd

    if isinstance(series.dtype, pd.IntervalDtype):
        return True
    return series.dtype == object and any(_is_several(value) or _is_interval(value) for value in series)


def _is_interval(value: object) -> bool:
    import pandas as pd

    return isinstance(value, (pd.Interval, tuple))


def _is_several(value: object) -> bool:
    import pandas as pd

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


def _intervals(value: Any, label: str) -> list[tuple[tuple[float, float, str], float]]:
    """Return the intervals of a statement as ((low, high, closed), weight)."""
    parts = _weighted(value, label) if _is_several(value) else [(value, 1.0)]
    return [(_interval(part, label), weight) for part, weight in parts]


def weights_of_intervals(value: object, label: str, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights of numbers under an interval, a set of intervals or weights of them, float64 (n,)."""
    weights = np.zeros(len(numbers))
    for (low, high, closed), weight in _intervals(value, label):
        after = numbers >= low if closed in ("left", "both") else numbers > low
        before = numbers <= high if closed in ("right", "both") else numbers < high
        weights += weight * (after & before)
    return weights


def _interval(value: Any, label: str) -> tuple[float, float, str]:
    """Return the ends of an interval, which may be infinite, and which of them belong to it."""
    import pandas as pd

    if isinstance(value, pd.Interval):
        ends, closed = (value.left, value.right), str(value.closed)
    else:
        ends, closed = value, "both"
    if not isinstance(ends, tuple) or len(ends) != 2:
        raise GomeaBnError(f"{label} must be a pandas Interval or a pair (low, high), got {value!r:.80}.")
    low = -np.inf if ends[0] is None else ends[0]
    high = np.inf if ends[1] is None else ends[1]
    if not (is_real(low) and is_real(high) and low < high):
        raise GomeaBnError(
            f"{label} must be an interval of two numbers, the smaller first, got {value!r:.80}."
        )
    return float(low), float(high), closed
