"""Exact optimal cut points of one variable, everything else fixed, by dynamic programming over its intervals.

With the graph and all other bins fixed, the density scores are sums over the intervals of one variable, apart from
terms that depend on their number alone. The best partition of C candidate cells is then found in O(C^2) steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from gomea_bn.errors import GomeaBnError
from gomea_bn.problems.kernels.intervals import (
    Cells,
    IntervalRule,
    IntervalTables,
    IntervalWork,
    best_intervals,
    fill_cells,
)
from gomea_bn.problems.kernels.score import DIRICHLET, LIKELIHOOD, ScoreRule
from gomea_bn.problems.policies import MAX_CARDINALITY, midpoint
from gomea_bn.problems.scores import ScoringMethod

__all__ = [
    "Child",
    "Coded",
    "CutLimits",
    "CutProblem",
    "IntervalScore",
    "OptimalCuts",
    "SortedColumn",
    "zoomed",
]

N_CELLS = 400
_RANK_SHARE = 0.75  # of the grid's measure; the rest follows the axis, so that wide gaps get candidates too
_MAX_ZOOMS = 40
_NO_STOP: NDArray[np.uint8] = np.zeros(1, np.uint8)


@dataclass(frozen=True, slots=True)
class CutLimits:
    """Which partitions may be chosen.

    Parameters
    ----------
    min_bins, max_bins : int
        Fewest and most bins; equal for a fixed number. ``max_bins=None`` sets no limit, and where the score has no
        term in the number of bins the dynamic programme then needs no layer per number.
    width_floor : float
        Narrowest bin as a fraction of the range; with ties the density has no upper bound without it.
    min_bin_count : int
        Fewest rows of a bin.

    Raises
    ------
    GomeaBnError
        If a limit is out of range.
    """

    min_bins: int = 1
    max_bins: int | None = 15
    width_floor: float = 1e-3
    min_bin_count: int = 1

    def __post_init__(self) -> None:
        for name, most in (
            ("min_bins", MAX_CARDINALITY),
            ("max_bins", MAX_CARDINALITY),
            ("min_bin_count", inf),
        ):
            value = getattr(self, name)
            if value is None and name == "max_bins":
                continue
            least = 0 if name == "min_bin_count" else 1
            if (
                isinstance(value, bool)
                or not isinstance(value, (int, np.integer))
                or not least <= value <= most
            ):
                raise GomeaBnError(f"{name} must be an integer from {least} to {most}, got {value!r}.")
        if self.max_bins is not None and self.max_bins < self.min_bins:
            raise GomeaBnError(f"max_bins must be at least min_bins = {self.min_bins}, got {self.max_bins}.")
        if not isinstance(self.width_floor, (int, float)) or not 0 <= self.width_floor < 1:
            raise GomeaBnError(f"width_floor must be a fraction from 0 to below 1, got {self.width_floor!r}.")


@dataclass(frozen=True, slots=True)
class Coded:
    """A variable as bins or levels: `codes` of shape (n_rows,), and how many there can be."""

    codes: NDArray[np.uint8]
    cardinality: int


@dataclass(frozen=True, slots=True)
class Child:
    """A child of the variable that is cut, with the child's other parents."""

    own: Coded
    spouses: tuple[Coded, ...] = ()


class SortedColumn:
    """A continuous column sorted once, with every raw candidate cut: the mid-points of neighbouring values.

    Parameters
    ----------
    values : ndarray of shape (n_rows,), float64
        At least two distinct values.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
    order : ndarray of shape (n_rows,), int64
        Rows by ascending value.
    distinct : ndarray of shape (m,), float64
    cuts : ndarray of shape (m - 1,), float64
        ``cuts[i]`` lies between ``distinct[i]`` and ``distinct[i + 1]``.
    below : ndarray of shape (m - 1,), int64
        Rows below each cut.
    """

    def __init__(self, values: NDArray[np.float64]) -> None:
        self.values = values
        self.n_rows = len(values)
        self.order = np.argsort(values, kind="stable")
        ascending = values[self.order]
        starts = np.flatnonzero(np.concatenate(([True], ascending[1:] != ascending[:-1])))
        self.distinct = ascending[starts]
        if len(self.distinct) < 2:
            raise GomeaBnError("A constant column cannot be cut; it needs at least two distinct values.")
        self.cuts = midpoint(self.distinct[:-1], self.distinct[1:])
        self.below = starts[1:]
        self.low, self.high = float(self.distinct[0]), float(self.distinct[-1])

    def rows_below(self, cut_points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return how many rows lie at or below each of any cut points."""
        cumulated = np.concatenate(([0], self.below, [self.n_rows]))
        found: NDArray[np.int64] = cumulated[np.searchsorted(self.distinct, cut_points, side="right")]
        return found

    def gaps(self, cut_points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return for each cut point the index of the raw cut in the same gap between distinct values."""
        index = np.searchsorted(self.distinct, cut_points, side="right") - 1
        return np.unique(np.clip(index, 0, len(self.cuts) - 1))

    def grid(self, n_cells: int) -> NDArray[np.int64]:
        """Return at most `n_cells` - 1 indices of raw cuts, even in a mixture of rank and position.

        Repeated values jump over several steps, which puts a candidate on either side of them.
        """
        position = (self.cuts - self.low) / (self.high - self.low)
        measure = _RANK_SHARE * (self.below / self.n_rows) + (1 - _RANK_SHARE) * position
        steps = np.arange(1, n_cells) / n_cells
        upper = np.clip(np.searchsorted(measure, steps), 0, len(measure) - 1)
        lower = np.maximum(upper - 1, 0)
        return np.unique(np.where(steps - measure[lower] < measure[upper] - steps, lower, upper))


class IntervalScore:
    """A density score as the gain of intervals; built once for a table.

    Parameters
    ----------
    method : ScoringMethod
        "density-bic", or "density-bd" with the Dirichlet(1) prior.
    rule : ScoreRule
        From `scores.score_rule`.

    Raises
    ------
    GomeaBnError
        For scores that are no density, and for the BDeu prior, whose gains differ with the number of bins.
    """

    def __init__(self, method: ScoringMethod, rule: ScoreRule) -> None:
        if not method.density or rule.kind not in (LIKELIHOOD, DIRICHLET):
            raise GomeaBnError(
                "Optimal cut points need scoring_method 'density-bic', or 'density-bd' with the Dirichlet prior; "
                f"got {method.name!r}" + (" with the BDeu prior." if method.density else ".")
            )
        self.bayesian = rule.kind == DIRICHLET
        self.weight = rule.weight
        self.cut_cost = method.cut_cost
        x = np.arange(len(rule.x_log_x) + MAX_CARDINALITY, dtype=np.float64)
        if self.bayesian:
            self.table = gammaln(x + 1.0)
        else:
            self.table = np.zeros(len(x))
            self.table[1:] = x[1:] * np.log(x[1:])


@dataclass(frozen=True, slots=True)
class OptimalCuts:
    """Cut points and what the variable's own family and its children's families then score together, in nats.

    The children's own log widths, which do not depend on these cuts, are left out.
    """

    cut_points: NDArray[np.float64]
    value: float


class CutProblem:
    """The cut points of one variable, given the bins of its parents, children and spouses.

    Parameters
    ----------
    column : SortedColumn
    parents : sequence of Coded
    children : sequence of Child
    score : IntervalScore
    """

    def __init__(
        self, column: SortedColumn, parents: Sequence[Coded], children: Sequence[Child], score: IntervalScore
    ) -> None:
        self.column = column
        self.score = score
        n_rows = column.n_rows
        own, n_own, n_configurations = _joint(parents, n_rows)
        codes, sizes = [own], [n_own]
        rows_of_child, bin_cost = [], 0.0 if score.bayesian else score.weight * n_configurations
        for child in children:
            rows, n_observed, n_all = _joint(child.spouses, n_rows)
            codes.append(rows * child.own.cardinality + child.own.codes)
            sizes.append(n_observed * child.own.cardinality)
            rows_of_child.append(n_observed)
            if not score.bayesian:
                bin_cost += score.weight * n_all * (child.own.cardinality - 1)
        self._bin_cost = bin_cost
        bases = np.concatenate(([0], np.cumsum(sizes)))
        n_cells = int(bases[-1])
        n_counters = n_cells + sum(rows_of_child)
        row_of = np.full(n_counters, -1, np.int32)
        shift = np.zeros(n_counters, np.int64)
        first = n_cells
        for child, base, n_observed in zip(children, bases[1:].tolist(), rows_of_child):
            r = child.own.cardinality
            row_of[base : base + n_observed * r] = first + np.repeat(np.arange(n_observed), r)
            shift[first : first + n_observed] = r - 1 if score.bayesian else 0
            first += n_observed
        ordered = np.empty((len(codes), n_rows), np.int32)
        for t, (one, base) in enumerate(zip(codes, bases.tolist())):
            ordered[t] = (one + base)[column.order]
        self._tables = IntervalTables(ordered, row_of, shift)
        self._sizes = [*sizes, *rows_of_child]
        self._counts = np.zeros(n_counters, np.int32)
        self._own_counts = np.bincount(own, minlength=1)
        self._constant = 0.0
        if not score.bayesian:
            self._constant = score.weight * n_configurations - float(score.table[self._own_counts].sum())

    def layer_term(self, n_bins: int) -> float:
        """Return the part of the score that depends on the number of bins alone, in nats."""
        if not self.score.bayesian:
            return self._constant
        table, counts = self.score.table, self._own_counts[self._own_counts > 0]
        term = len(counts) * table[n_bins - 1] - float(table[counts + (n_bins - 1)].sum())
        cut_cost = self.score.cut_cost * log(max(len(self.column.cuts), 1))
        return float(term) - cut_cost * (n_bins - 1)

    def value(self, cut_points: NDArray[np.float64]) -> float:
        """Return the score of given cut points, whatever their bins' widths and counts; see `OptimalCuts`."""
        n_bins = len(cut_points) + 1
        cells, _ = self._cells(cut_points, self.column.rows_below(cut_points))
        values, _ = self._run(cells, CutLimits(n_bins, n_bins, 0.0, 0), n_bins, _NO_STOP)
        return float(values[n_bins, n_bins]) + self.layer_term(n_bins)

    def optimal(
        self,
        limits: CutLimits,
        *,
        n_cells: int = N_CELLS,
        incumbent: NDArray[np.float64] | None = None,
        stop: NDArray[np.uint8] = _NO_STOP,
    ) -> OptimalCuts | None:
        """Return the best cut points among the mid-points of neighbouring values, or None if the limits allow none.

        With at most `n_cells` mid-points the result is exact. With more, a grid of `n_cells` cells is solved, and
        then again with the grid refined around the chosen cuts, until these lie between neighbouring values; every
        solution is at least as good as the one before.

        Parameters
        ----------
        limits : CutLimits
        n_cells : int
            Most candidate cells of one dynamic programme, at least 2.
        incumbent : ndarray of shape (k,), optional
            Cut points whose gaps are always among the candidates.
        stop : ndarray of shape (1,), uint8
            Raised from elsewhere to give up; the result is then None or what the last grid gave.
        """
        column = self.column
        if len(column.cuts) < n_cells:
            return self._solve(np.arange(len(column.cuts)), limits, stop)[0]
        candidates = column.grid(n_cells)
        if incumbent is not None:
            candidates = np.union1d(candidates, column.gaps(incumbent))
        best, chosen = self._solve(candidates, limits, stop)
        for _ in range(_MAX_ZOOMS):
            if best is None or not len(chosen):
                break
            candidates, is_raw = zoomed(candidates, chosen, len(column.cuts), n_cells)
            if is_raw:
                break
            found, chosen_now = self._solve(candidates, limits, stop)
            if found is None or found.value < best.value:
                break
            best, chosen = found, chosen_now
        return best

    def _solve(
        self, candidates: NDArray[np.int64], limits: CutLimits, stop: NDArray[np.uint8]
    ) -> tuple[OptimalCuts | None, NDArray[np.int64]]:
        """Return the best cuts among the candidate indices, and their indices."""
        column = self.column
        cells, n_cells = self._cells(column.cuts[candidates], column.below[candidates])
        n_layers = min(limits.max_bins or MAX_CARDINALITY, n_cells)
        if limits.max_bins is None and limits.min_bins == 1 and not self.score.bayesian:
            n_layers = 0
        values, origin = self._run(cells, limits, n_layers, stop)
        none: NDArray[np.int64] = np.empty(0, np.int64)
        if stop[0]:
            return None, none
        if n_layers == 0:
            best, layer = float(values[0, n_cells]) + self._constant, 0
        else:
            totals = [values[k, n_cells] + self.layer_term(k) for k in range(limits.min_bins, n_layers + 1)]
            if not totals:
                return None, none
            layer = limits.min_bins + int(np.argmax(totals))
            best = float(totals[layer - limits.min_bins])
        if best == -inf:
            return None, none
        edges = []
        edge = n_cells
        while (edge := int(origin[layer, edge])) > 0:
            edges.append(edge - 1)
            layer -= n_layers > 0
        chosen = candidates[edges[::-1]]
        return OptimalCuts(column.cuts[chosen], best), chosen

    def _cells(self, cut_points: NDArray[np.float64], below: NDArray[np.int64]) -> tuple[Cells, int]:
        """Return the counted cells between cut points that have `below` rows below them, and their number."""
        column = self.column
        n_cells = len(cut_points) + 1
        most = sum(min(column.n_rows, n_cells * size) for size in self._sizes)
        cells = Cells(
            np.concatenate(([column.low], cut_points, [column.high])),
            np.concatenate(([0], below, [column.n_rows])).astype(np.int64),
            np.zeros(n_cells + 1, np.int64),
            np.zeros(n_cells, np.int64),
            np.empty(most, np.int32),
            np.empty(most, np.int32),
        )
        fill_cells(self._tables, cells, self._counts)
        return cells, n_cells

    def _run(
        self, cells: Cells, limits: CutLimits, n_layers: int, stop: NDArray[np.uint8]
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Return the layers' values and origins; see `best_intervals`."""
        column = self.column
        span = column.high - column.low
        rule = IntervalRule(
            self.score.table,
            self._bin_cost,
            log(span),
            limits.width_floor * span,
            limits.min_bin_count,
            n_layers,
        )
        shape = (n_layers + 1, len(cells.edges))
        work = IntervalWork(self._counts, np.empty(shape), np.zeros(shape, np.int32), stop)
        best_intervals(cells, self._tables.shift, rule, work)
        return work.values, work.origin


def _joint(variables: Sequence[Coded], n_rows: int) -> tuple[NDArray[np.int32], int, float]:
    """Return joint codes (n_rows,), how many they are numbered up to, and how many configurations there are.

    Where the configurations outnumber the rows, only those that occur are numbered.
    """
    n_all = float(np.prod([float(one.cardinality) for one in variables]))
    joint = np.zeros(n_rows, np.int64)
    n_observed = 1
    for one in variables:
        joint = joint * one.cardinality + one.codes
        n_observed *= one.cardinality
        if n_observed > 2 * n_rows + 1024:
            distinct, joint = np.unique(joint, return_inverse=True)
            n_observed = len(distinct)
    return joint.astype(np.int32), n_observed, n_all


def zoomed(
    candidates: NDArray[np.int64], chosen: NDArray[np.int64], n_raw: int, n_cells: int
) -> tuple[NDArray[np.int64], bool]:
    """Return candidates between the neighbours of every chosen one, and whether all those neighbours are raw."""
    bounds = np.concatenate(([-1], candidates, [n_raw]))
    place = np.searchsorted(candidates, chosen) + 1
    low, high = np.maximum(bounds[place - 1], 0), np.minimum(bounds[place + 1], n_raw - 1)
    if ((chosen - low <= 1) & (high - chosen <= 1)).all():
        return candidates, True
    n_each = max(8, n_cells // len(chosen))
    windows = [np.linspace(a, b, min(n_each, b - a + 1)).round().astype(np.int64) for a, b in zip(low, high)]
    return np.unique(np.concatenate([chosen, *windows])), False
