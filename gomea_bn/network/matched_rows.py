"""Rows that satisfy findings: how many they are, and their shares of bins and levels, to set next to an answer.

They come from rows in memory, or from counts that a fit keeps with its network: of single columns, of pairs, and of
triples of near columns over the shown bins.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from math import prod
from statistics import NormalDist
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.table import Table
from gomea_bn.errors import is_integer, is_real
from gomea_bn.network.conditionals.conditionals import WithDensities
from gomea_bn.problems.cuts.policies import bin_codes

ROW_COUNTS = "row_counts"
"""Entry of a network's metadata, which a fit writes: numbers of rows of sets of columns over the shown bins."""

LEAST_ROWS = 20
"""Fewer rows are shown, but nothing is concluded from them."""

# numbers of a record
_MOST_CELLS = 2**17

Counts: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Condition:
    """What a finding asks of a row: one of some shown bins or levels, or a value in one of some intervals.

    `cells` (cardinality,) are the bins or levels. `intervals` (low, high, closed) are given if they are parts of bins.
    """

    cells: NDArray[np.bool_]
    intervals: tuple[tuple[float, float, str], ...] = ()


@dataclass(frozen=True, eq=False)
class Matched:
    """The rows that satisfy findings and have values of the targets.

    `counts` (card(first target), ...) are sums of weights, whose mean over all rows is 1. The rows are evidence like
    `evidence` rows without weights.
    """

    counts: Counts
    evidence: float

    @property
    def n_rows(self) -> float:
        """Number of the rows by weight."""
        return float(self.counts.sum())

    @property
    def shares(self) -> Counts:
        """Shares of the bins and levels of the targets, of the form of `counts`; NaN without rows."""
        n_rows = self.n_rows
        return self.counts / n_rows if n_rows else np.full(self.counts.shape, np.nan)


class RowSource(Protocol):
    """Where the rows of a network are found."""

    @property
    def is_own(self) -> bool:
        """Whether the network was learned from the rows."""

    @property
    def n_rows(self) -> int:
        """Number of all rows."""

    @property
    def evidence_of_row(self) -> float:
        """Number of rows without weights that tell as much as a row with the mean weight."""

    def matched(self, targets: Sequence[str], conditions: Mapping[str, Condition]) -> Matched | None:
        """Return the rows that satisfy conditions by the values of targets; None if they are not known."""

    def crossed(self, names: Sequence[str]) -> Counts | None:
        """Return the weights of rows with values of all of some columns, (card(first), ...); None if not known."""

    def has_gaps(self, names: Iterable[str]) -> bool:
        """Return whether rows lack values of some of the columns."""


@dataclass(frozen=True, eq=False)
class TableRows:
    """Rows in memory, with the columns and levels of a network; `weights` (n_rows,) count rows, by default 1 each."""

    network: WithDensities
    table: Table
    is_own: bool
    weights: NDArray[np.float64] | None = None
    n_evidence: int | None = None
    _codes: dict[str, NDArray[np.int64]] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Number of all rows."""
        return self.table.n_rows

    @property
    def evidence_of_row(self) -> float:
        """Number of rows without weights that tell as much as a row with the mean weight."""
        n_evidence = self.n_evidence or (
            self.n_rows if self.weights is None else effective_rows(self.weights)
        )
        return n_evidence / self.n_rows

    def matched(self, targets: Sequence[str], conditions: Mapping[str, Condition]) -> Matched:
        """Return the rows that satisfy conditions, by the values of targets."""
        fits = self._fits(conditions)
        for name in targets:
            fits &= self._coded(name) >= 0
        rows = np.flatnonzero(fits)
        weights = None if self.weights is None else self.weights[rows] / self.weights.mean()
        counts = self._counted(targets, rows, weights)
        evidence = float(len(rows)) if weights is None else effective_rows(weights)
        if self.n_evidence is not None:
            evidence *= self.n_evidence / self.table.n_rows
        return Matched(counts, evidence)

    def crossed(self, names: Sequence[str]) -> Counts:
        """Return the weights of rows with values of all of some columns."""
        return self.matched(names, {}).counts

    def has_gaps(self, names: Iterable[str]) -> bool:
        """Return whether rows lack values of some of the columns."""
        return any((self._coded(name) < 0).any() for name in names)

    def mean(self, target: str, conditions: Mapping[str, Condition]) -> float:
        """Return the mean of a continuous column over the rows that satisfy conditions; NaN without rows."""
        values = self._values(target)
        fits = self._fits(conditions) & ~np.isnan(values)
        weights = np.ones(len(values)) if self.weights is None else self.weights
        total = float(weights[fits].sum())
        return float(weights[fits] @ values[fits]) / total if total else float("nan")

    def _fits(self, conditions: Mapping[str, Condition]) -> NDArray[np.bool_]:
        """Return which rows satisfy conditions, bool (n_rows,)."""
        fits = np.ones(self.table.n_rows, np.bool_)
        for name, condition in conditions.items():
            if condition.intervals:
                fits &= _inside(self._values(name), condition.intervals)
            else:
                # a missing cell has the code -1
                fits &= np.append(condition.cells, False)[self._coded(name)]
        return fits

    def _values(self, name: str) -> NDArray[np.float64]:
        column = next(column for column in self.table.columns if column.name == name)
        return np.asarray(column.values, np.float64)

    def _coded(self, name: str) -> NDArray[np.int64]:
        if name not in self._codes:
            column = next(column for column in self.table.columns if column.name == name)
            cuts = self.network.cut_points.get(name)
            codes = column.values if cuts is None else bin_codes(column.values, cuts)
            self._codes[name] = np.where(column.is_missing, -1, np.asarray(codes, np.int64))
        return self._codes[name]

    def _counted(
        self, names: Sequence[str], rows: NDArray[np.int64], weights: NDArray[np.float64] | None
    ) -> Counts:
        cards = [self.network.cardinality(name) for name in names]
        joint = np.zeros(len(rows), np.int64)
        for name, card in zip(names, cards, strict=True):
            joint = joint * card + self._coded(name)[rows]
        return np.bincount(joint, weights, prod(cards)).reshape(cards).astype(np.float64)


def _inside(values: NDArray[np.float64], intervals: Iterable[tuple[float, float, str]]) -> NDArray[np.bool_]:
    """Return which values lie in one of some intervals, bool (n_rows,)."""
    fits = np.zeros(len(values), np.bool_)
    for low, high, closed in intervals:
        above = values >= low if closed in ("left", "both") else values > low
        fits |= above & (values <= high if closed in ("right", "both") else values < high)
    return fits


def effective_rows(weights: NDArray[np.float64]) -> float:
    """Return the number of rows without weights that tell as much (Kish, "Survey Sampling", 1965)."""
    squares = float(weights @ weights)
    return float(weights.sum()) ** 2 / squares if squares else 0.0


@dataclass(frozen=True, eq=False)
class KeptCounts:
    """Numbers of rows of sets of columns over the shown bins, which a network keeps."""

    n_rows: int
    evidence_of_row: float
    gaps: frozenset[str]
    tables: dict[frozenset[str], tuple[tuple[str, ...], Counts]]
    is_own: bool = True

    def matched(self, targets: Sequence[str], conditions: Mapping[str, Condition]) -> Matched | None:
        """Return the rows that satisfy conditions by the values of targets; None if they were not counted."""
        table = self.crossed([*targets, *conditions])
        if table is None or any(condition.intervals for condition in conditions.values()):
            return None
        for axis, condition in reversed([*enumerate(conditions.values(), start=len(targets))]):
            table = np.take(table, np.flatnonzero(condition.cells), axis).sum(axis=axis)
        return Matched(table, float(table.sum()) * self.evidence_of_row)

    def crossed(self, names: Sequence[str]) -> Counts | None:
        """Return the weights of rows with values of all of some columns; None if they were not counted."""
        known = self.tables.get(frozenset(names))
        return None if known is None else np.transpose(known[1], [known[0].index(name) for name in names])

    def has_gaps(self, names: Iterable[str]) -> bool:
        """Return whether rows lack values of some of the columns."""
        return not self.gaps.isdisjoint(names)


def kept_counts(network: WithDensities) -> KeptCounts | None:
    """Return the numbers of rows that a network keeps; None if there is no record of them, or a damaged one.

    Tables that were counted anew for the graph and the cuts of a network have its metadata, and no conditionals.
    """
    record = None if network.conditionals is None else network.metadata.get(ROW_COUNTS)
    if not isinstance(record, Mapping):
        return None
    parts: list[Any] = [record.get(key) for key in ("columns", "sets", "gaps", "counts", "rows", "evidence")]
    names, sets, gaps, text, n_rows, n_evidence = parts
    is_typed = all(isinstance(part, list) for part in (names, sets, gaps)) and isinstance(text, str)
    if not is_typed or not is_integer(n_rows) or not is_real(n_evidence) or n_rows < 1 or n_evidence <= 0:
        return None
    if sorted(map(str, names)) != sorted(network.names) or not all(
        isinstance(members, list) and all(is_integer(v) and 0 <= v < len(names) for v in members)
        for members in sets
    ):
        return None
    shapes = [tuple(network.cardinality(names[v]) for v in members) for members in sets]
    n_cells = sum(map(prod, shapes))
    if n_cells > _MOST_CELLS:
        return None
    try:
        unpacker = zlib.decompressobj()
        # a record cannot make the reader allocate more than its sets need
        numbers = np.frombuffer(
            unpacker.decompress(base64.b64decode(text, validate=True), 4 * n_cells + 1), "<f4"
        )
    except (binascii.Error, zlib.error, ValueError):
        return None
    if len(numbers) != n_cells or not np.isfinite(numbers).all() or (numbers < 0).any():
        return None
    ends = np.cumsum([prod(shape) for shape in shapes])
    cells = np.split(numbers.astype(np.float64), ends[:-1]) if sets else []
    tables = {}
    for members, part, shape in zip(sets, cells, shapes, strict=True):
        of_set = tuple(names[v] for v in members)
        if len(set(of_set)) < len(of_set):
            return None
        tables[frozenset(of_set)] = (of_set, part.reshape(shape))
    return KeptCounts(int(n_rows), float(n_evidence) / int(n_rows), frozenset(map(str, gaps)), tables)


def record_of_counts(
    names: Sequence[str],
    n_rows: int,
    n_evidence: float,
    gaps: Sequence[str],
    tables: Mapping[tuple[int, ...], NDArray[Any]],
) -> dict[str, Any]:
    """Return the entry of a network's metadata that `kept_counts` reads; `tables` are by positions of columns."""
    numbers = [np.asarray(table, "<f4").ravel() for table in tables.values()]
    packed = zlib.compress(np.concatenate(numbers).tobytes(), 7) if numbers else zlib.compress(b"")
    return {
        "columns": list(names),
        "rows": n_rows,
        "evidence": n_evidence,
        "gaps": list(gaps),
        "sets": [list(members) for members in tables],
        "counts": base64.b64encode(packed).decode(),
    }


def counted_sets(
    adjacency: NDArray[np.int8], cards: Sequence[int], n_rows: int, most_cells: int | None = None
) -> list[tuple[int, ...]]:
    """Return the sets of columns whose rows are counted, as positions: single ones, pairs, and triples of near columns.

    Pairs with an edge come before those with common neighbours. All tables together have at most as many numbers as
    the rows have cells, or as `most_cells` says, and counting takes a second or two.
    """
    varying = [v for v, card in enumerate(cards) if card > 1]
    joined = (adjacency + adjacency.T).astype(np.float64)
    nearness = joined @ joined + len(cards) * joined

    def distance(members: tuple[int, ...]) -> float:
        return -sum(float(nearness[pair]) for pair in combinations(members, 2))

    triples = set()
    for v in varying:
        others = [w for w in varying if w != v]
        # near columns of which each two are counted together with a column
        nearest = [others[k] for k in np.argsort(-nearness[v, others], kind="stable")[:8].tolist()]
        triples |= {tuple(sorted((v, *pair))) for pair in combinations(nearest, 2)}
    room = min(_MOST_CELLS, n_rows * len(cards), _MOST_CELLS if most_cells is None else most_cells)
    # rows that are counted for the record: a second or two, but some sets of columns in any case
    most = max(2 * 10**8 // max(n_rows, 1), 10 * len(cards))
    first, second = (np.array(varying, np.int64)[of] for of in np.triu_indices(len(varying), 1))
    by_distance = np.argsort(-nearness[first, second], kind="stable")
    pairs = zip(first[by_distance].tolist(), second[by_distance].tolist(), strict=True)
    chosen: list[tuple[int, ...]] = []
    for members in chain(((v,) for v in varying), pairs, sorted(sorted(triples), key=distance)):
        if len(chosen) == most:
            break
        size = cards[members[0]]
        for v in members[1:]:
            size *= cards[v]
        if size <= room:
            room -= size
            chosen.append(members)
    return chosen


def limit_of_chance(n_figures: int) -> float:
    """Return the number of standard errors that chance alone exceeds in none of some figures, as in one with three."""
    return -NormalDist().inv_cdf(NormalDist().cdf(-3.0) / max(n_figures, 1))


def number_of_figures(cards: Iterable[int]) -> int:
    """Return the number of probabilities of some distributions that are free to differ: two of them sum to 1."""
    return sum(1 if card == 2 else card for card in cards)


def standard_errors_apart(
    network: Counts, shares: Counts, evidence: float, error: float | Counts = 0.0
) -> Counts:
    """Return by how many standard errors shares of rows differ from probabilities, as signed roots of the deviance.

    These are those of the normal distribution where rows are many, and right where a probability is near 0 or 1, which
    sqrt(p (1 - p) / n) is not (McCullagh and Nelder, "Generalized Linear Models", 1989, section 4.4.3). `error` is the
    standard error of the probabilities.
    """
    p, q = np.clip(network, 0.0, 1.0), np.clip(shares, 0.0, 1.0)
    spread = p * (1 - p)
    with np.errstate(divide="ignore", invalid="ignore"):
        noise = np.where(spread > 0, np.square(error) / spread, 0.0)
        n = 1 / (1 / evidence + noise)
        deviance = np.where(q > 0, q * np.log(q / p), 0.0) + np.where(
            q < 1, (1 - q) * np.log((1 - q) / (1 - p)), 0.0
        )
        return np.asarray(np.sign(q - p) * np.sqrt(2 * n * np.maximum(deviance, 0.0)))


def with_margins(joint: Counts, like: Counts) -> Counts:
    """Return a joint distribution scaled to the margins of another one (iterative proportional fitting)."""
    for _ in range(20):
        for axis in range(joint.ndim):
            others = tuple(a for a in range(joint.ndim) if a != axis)
            margin, wanted = (of.sum(axis=others, keepdims=True) for of in (joint, like))
            joint = joint * np.divide(wanted, margin, out=np.zeros_like(margin), where=margin > 0)
    return joint
