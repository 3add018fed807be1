"""Four searches for the thresholds of one column that shorten the description, with all other bins fixed."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from operator import gt

import numpy as np
from numpy.typing import NDArray

from gomea_bn.discretization.mdl.description_length import Criterion
from gomea_bn.discretization.mdl.kernels import (
    MergeData,
    MergeWork,
    SplitWork,
    gains_of_intervals,
    merge_path,
    pair_losses,
    shortest_split,
)
from gomea_bn.problems.cuts.blanket import Neighbourhood, joint_codes
from gomea_bn.problems.cuts.cut_column import CutColumn
from gomea_bn.problems.cuts.interval_counts import (
    NO_STOP,
    CountTable,
    IntervalCounts,
    PricedCuts,
    chosen_of,
    search_by_zooming,
)
from gomea_bn.problems.cuts.policies import equal_frequency_cuts
from gomea_bn.problems.kernels.intervals import CandidateCells, IntervalRule, IntervalWork, best_intervals

SEARCHES = ("exact", "merge", "split", "single-threshold")


class ThresholdProblem:
    """The thresholds of one column, given the bins of its Markov blanket; levels of a discrete column are their codes.

    The description length is the local part of Friedman & Goldszmidt (1996, equation 14), for m distinct values, k bins
    and n rows::

        (m-1) H((k-1)/(m-1)) + ln k + (ln n)/2 [ ||Pa|| (k-1) + k sum_c ||S_c|| (||X_c||-1) ]
            - n [ I(X*; Pa) + sum_c I(X_c; Pa_c*) ]

    H is the binary entropy, I the mutual information in the data, S_c the other parents of child c, and * marks a
    discretized variable. The information is a sum over intervals; the other terms depend on k alone. `child_parameters`
    replaces the sum over children. `degenerate` is the reason why the result of the last "single-threshold" search
    follows from its penalty alone; else empty.
    """

    def __init__(
        self,
        column: CutColumn,
        around: Neighbourhood,
        criterion: Criterion,
        child_parameters: float | None = None,
    ) -> None:
        self.column = column
        self.criterion = criterion
        self.degenerate = ""
        phi, n_rows = criterion.x_log_x, column.n_rows
        tables: list[CountTable] = []
        parameters_per_bin = 0.0
        self._offset = 0.0
        self.n_configurations = 1.0
        if around.parents:
            configurations, n_observed, self.n_configurations = joint_codes(around.parents, n_rows)
            tables.append(CountTable(configurations, n_observed, n_table_rows=1))
            self._offset += float(phi[n_rows] - phi[np.bincount(configurations)].sum())
        for family in around.families:
            child = family.child
            rows, n_observed, n_all = joint_codes(family.spouses, n_rows)
            cells = (rows * child.cardinality + child.codes).astype(np.int32)
            tables.append(CountTable(cells, n_observed * child.cardinality, n_observed))
            self._offset += float(phi[n_rows] - phi[np.bincount(child.codes)].sum())
            parameters_per_bin += n_all * (child.cardinality - 1)
        self.n_tables = len(tables)
        self.child_parameters = parameters_per_bin if child_parameters is None else child_parameters
        self._counts = IntervalCounts(column, tables)
        # between two neighbouring floats the cut is the lower one, but the minimum itself cannot be a cut
        self._candidates = np.flatnonzero(column.cuts > column.low)

    @property
    def n_values(self) -> int:
        """Return the number m of distinct values."""
        return self.column.n_distinct

    def layers(self, n_bins: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the part of the description length in nats that depends on the number of bins alone."""
        parameters = self.n_configurations * (n_bins - 1) + self.child_parameters * n_bins
        codes = self.criterion.partition(self.n_values, n_bins) + self.criterion.cardinality(n_bins)
        return codes + self.criterion.weight * parameters

    def value(self, cut_points: NDArray[np.float64]) -> float:
        """Return the local description length of any cut points in nats."""
        cells = self._counts.cells(cut_points, self.column.rows_below(cut_points))
        gain = float(self._gains(cells).sum())
        return float(self.layers(np.array([len(cut_points) + 1]))[0]) - gain - self._offset

    def find(
        self,
        search: str = "exact",
        *,
        max_bins: int = 30,
        n_cells: int | None = None,
        incumbent: NDArray[np.float64] | None = None,
        stop: NDArray[np.uint8] = NO_STOP,
    ) -> PricedCuts | None:
        """Return the thresholds of the chosen search, with their length, or None if another thread raises `stop`.

        The gaps of the cuts `incumbent` are always among the candidates of the exact search. The parameters of
        `MDLDiscretizer` describe the others.
        """
        # thresholds of a column without neighbours preserve no dependence
        if not self.n_tables:
            return PricedCuts(np.empty(0), self.value(np.empty(0)))
        if search == "exact":
            return self._exact(max_bins, n_cells, incumbent, stop)
        if n_cells is None:
            candidates = self._candidates
        else:
            cuts = equal_frequency_cuts(self.column.values, n_cells)
            candidates = self.column.gaps(cuts) if len(cuts) else np.empty(0, np.int64)
        find: Callable[[NDArray[np.int64], int, NDArray[np.uint8]], NDArray[np.int64] | None] = {
            "merge": self._merged,
            "split": self._split,
            "single-threshold": self._single_threshold,
        }[search]
        chosen = find(candidates, max_bins, stop)
        if chosen is None:
            return None
        cut_points = self.column.cuts[chosen]
        return PricedCuts(cut_points, self.value(cut_points))

    def _exact(
        self,
        max_bins: int,
        n_cells: int | None,
        incumbent: NDArray[np.float64] | None,
        stop: NDArray[np.uint8],
    ) -> PricedCuts | None:
        """Return the best thresholds: exact for at most `n_cells` distinct values, else on finer and finer grids."""
        column = self.column
        # up to this number of distinct values, all are candidates at once
        if len(column.cuts) < (n_cells or 1000):
            return self._programme(self._candidates, max_bins, stop)[0]
        # cells of a grid for more distinct values
        return search_by_zooming(
            column,
            {False: lambda candidates: self._programme(candidates, max_bins, stop)},
            gt,
            n_cells or 400,
            incumbent,
        )

    def _programme(
        self, candidates: NDArray[np.int64], max_bins: int, stop: NDArray[np.uint8]
    ) -> tuple[PricedCuts | None, NDArray[np.int64]]:
        """Return the best thresholds among the candidate indices, and their indices."""
        candidates = np.intersect1d(candidates, self._candidates, assume_unique=True)
        cells = self._cells(candidates)
        n_cells = len(candidates) + 1
        shape = (min(max_bins, n_cells) + 1, n_cells + 1)
        rule = IntervalRule(
            table=self.criterion.x_log_x,
            bayesian=False,
            bin_cost=0.0,
            log_range=0.0,
            shaped=True,
            min_width=0.0,
            min_tied_width=0.0,
            distinct=cells.below,
            min_rows=0,
            n_layers=shape[0] - 1,
            weights=np.empty(0),
            row_weight=0.0,
        )
        work = IntervalWork(
            counts=self._counts.counts,
            logs=np.empty(0),
            values=np.empty(shape),
            origin=np.zeros(shape, np.int32),
            stop=stop,
            scores=np.empty((0, 0)),
        )
        # widths do not count, and neighbouring floats have cuts that are values
        best_intervals(cells._replace(edges=np.arange(n_cells + 1.0)), self._counts.shift, rule, work)
        if stop[0]:
            return None, np.empty(0, np.int64)
        totals = self.layers(np.arange(1, shape[0])) - work.values[1:, n_cells] - self._offset
        layer = 1 + int(np.argmin(totals))
        best = float(totals[layer - 1])
        chosen = candidates[chosen_of(work.origin, layer)]
        return PricedCuts(self.column.cuts[chosen], best), chosen

    def _merged(
        self, candidates: NDArray[np.int64], max_bins: int, stop: NDArray[np.uint8]
    ) -> NDArray[np.int64] | None:
        """Return the candidates of the best partition on the path of merges that each lose least."""
        cells = self._cells(candidates)
        n_cells = len(candidates) + 1
        data = self._merge_data(cells)
        n_leaves = 1 << max(1, (n_cells - 1).bit_length())
        most = max(1, min(len(self._counts.counts), len(data.entries)))
        work = MergeWork(
            after=np.empty(n_cells + 1, np.int64),
            before=np.empty(n_cells + 1, np.int64),
            loss=np.full(n_leaves, inf),
            tree=np.empty(2 * n_leaves, np.int64),
            counted_entries=np.empty(most, np.int32),
            counted_amounts=np.empty(most, np.int32),
            removed=np.empty(n_cells - 1, np.int64),
            lost=np.empty(n_cells - 1),
        )
        gain = float(self._gains(cells).sum())
        if merge_path(data, work, stop) < n_cells - 1:
            return None
        n_bins = np.arange(1, n_cells + 1)
        gains = gain - np.concatenate(([0.0], np.cumsum(work.lost)))[::-1]
        totals = (self.layers(n_bins) - gains)[:max_bins]
        chosen = np.sort(work.removed[n_cells - 1 - int(np.argmin(totals)) :]) - 1
        return np.asarray(candidates[chosen], np.int64)

    def _split(
        self, candidates: NDArray[np.int64], max_bins: int, stop: NDArray[np.uint8]
    ) -> NDArray[np.int64] | None:
        """Return the candidates that are added, the best first, until none shortens the description."""
        cells = self._cells(candidates)
        n_cells = len(candidates) + 1
        work = SplitWork(
            self._counts.counts,
            np.zeros_like(self._counts.counts),
            np.full(n_cells, -inf),
            np.full(n_cells, -1, np.int64),
        )
        price = np.diff(self.layers(np.arange(1, min(max_bins, n_cells) + 1)))
        ends = {0: n_cells}
        due = [0]
        for cost in price.tolist():
            for first in due:
                if stop[0]:
                    return None
                shortest_split(cells, self._counts.shift, self.criterion.x_log_x, first, ends[first], work)
            first = int(np.argmax(work.gain))
            if not work.gain[first] > cost:
                break
            split = int(work.split[first])
            ends[first], ends[split] = split, ends[first]
            due = [first, split]
        return np.asarray(candidates[np.array(sorted(ends)[1:], np.int64) - 1])

    def _single_threshold(
        self, candidates: NDArray[np.int64], max_bins: int, stop: NDArray[np.uint8]
    ) -> NDArray[np.int64] | None:
        """Return the candidates whose removal alone from the set of all candidates would lengthen the description.

        If these are more than `max_bins` - 1, those are returned whose removal would lose most.
        """
        n_cells = len(candidates) + 1
        if n_cells < 2:
            return candidates
        losses = np.empty(n_cells - 1)
        pair_losses(self._merge_data(self._cells(candidates)), losses)
        fewer, all_of_them = self.layers(np.array([n_cells - 1, n_cells])).tolist()
        saved = all_of_them - fewer
        rows = np.diff(np.concatenate(([0], self.column.below[candidates], [self.column.n_rows])))
        self.degenerate = self._why_decided(rows, saved)
        chosen = np.flatnonzero(losses > saved)
        if len(chosen) >= max_bins:
            chosen = np.sort(chosen[np.argsort(-losses[chosen], kind="stable")[: max_bins - 1]])
        return np.asarray(candidates[chosen], np.int64)

    def _why_decided(self, rows: NDArray[np.int64], saved: float) -> str:
        """Return the reason why the result follows from the penalty, whatever the data say; empty if it does not.

        Merging cells of a and b rows loses between 0 and phi(a+b) - phi(a) - phi(b) per neighbour, with
        phi(x) = x ln x.
        """
        if len(rows) < 3:
            return ""
        phi = self.criterion.x_log_x
        a, b = rows[:-1], rows[1:]
        if saved < 0:
            return (
                f"removing one of {len(rows) - 1} thresholds lengthens the code of the partition by more than it "
                "saves elsewhere, so that none is removed"
            )
        if saved >= self.n_tables * float((phi[a + b] - phi[a] - phi[b]).max()):
            return (
                f"no two neighbouring cells hold enough rows to be worth the {saved:.3g} nats of a threshold, so that "
                "all are removed"
            )
        return ""

    def _merge_data(self, cells: CandidateCells) -> MergeData:
        """Return the cells' counts sorted by counter."""
        lengths = np.diff(cells.starts)
        total = int(cells.starts[-1])
        entries, amounts = cells.entries[:total], cells.amounts[:total]
        order = np.lexsort((entries, np.repeat(np.arange(len(lengths)), lengths)))
        return MergeData(
            start=cells.starts[:-1].copy(),
            length=lengths,
            entries=entries[order],
            amounts=amounts[order],
            table=self.criterion.x_log_x,
            first_row=self._counts.first_total,
        )

    def _gains(self, cells: CandidateCells) -> NDArray[np.float64]:
        """Return the gain of every cell as an interval, shape (n_cells,)."""
        gains = np.empty(len(cells.middles))
        gains_of_intervals(cells, self._counts.shift, self.criterion.x_log_x, self._counts.counts, gains)
        return gains

    def _cells(self, candidates: NDArray[np.int64]) -> CandidateCells:
        """Return the counted cells between candidate indices."""
        return self._counts.cells(self.column.cuts[candidates], self.column.below[candidates])
