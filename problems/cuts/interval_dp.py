"""Optimal cut points of one column, with the graph and all other bins fixed.

A density score is then a sum over the intervals of the column, plus terms that depend on their number alone. A dynamic
programme finds the best partition of C candidate cells, exactly, in O(C^2) steps (Jackson et al., "An algorithm for
optimal partitioning of data on an interval", IEEE Signal Processing Letters 12, 2005).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, log
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, Option, check_integer, check_number
from gomea_bn.problems.cuts.available_cases import observed_codes, terms_of_rows
from gomea_bn.problems.cuts.blanket import CodedColumn, CodedFamily, Neighbourhood
from gomea_bn.problems.cuts.cut_column import CutColumn
from gomea_bn.problems.cuts.interval_counts import (
    NO_STOP,
    CountTable,
    IntervalCounts,
    PricedCuts,
    Solve,
    chosen_of,
    search_by_zooming,
)
from gomea_bn.problems.cuts.policies import MAX_CARDINALITY
from gomea_bn.problems.cuts.shape import ColumnShape
from gomea_bn.problems.kernels.intervals import (
    NOT_CENTRED,
    CandidateCells,
    CentredTables,
    IntervalRule,
    IntervalWork,
    best_intervals,
    interval_gains,
)
from gomea_bn.problems.kernels.score import (
    DIRICHLET,
    LIKELIHOOD,
    N_CONCENTRATIONS,
    ScoreRule,
    centred_gains,
    concentrations,
    default_score,
)
from gomea_bn.problems.scores import ScoringMethod, flat_counts, log_factorials
from gomea_bn.runtime.limits import ROUNDING

N_CELLS = 400

_PricedCells = tuple[CandidateCells, NDArray[np.float64]]
"""Cells, and the scores of their intervals; see `IntervalWork.scores`."""


@dataclass(frozen=True, slots=True)
class CutLimits:
    """Limits on the partitions of a column that may be chosen.

    Equal `min_bins` and `max_bins` fix the number of bins. ``max_bins=None`` sets no limit; if the score has no term in
    the number of bins, the dynamic programme then needs no layer per number. `min_width` is that of the narrowest bin
    that is uniform inside, as a fraction of the range: with 0, ties make the density unbounded. `min_bin_count` is the
    smallest number of rows of a bin.
    """

    min_bins: int = 1
    max_bins: int | None = 15
    min_width: float = 1e-3
    min_bin_count: int = 1

    def __post_init__(self) -> None:
        check_integer("min_bins", self.min_bins, 1, MAX_CARDINALITY)
        check_integer("max_bins", self.max_bins, 1, MAX_CARDINALITY, optional=True)
        check_integer("min_bin_count", self.min_bin_count, 0, 2**31)
        check_number("min_width", self.min_width, 0, 1, below=True)
        if self.max_bins is not None and self.max_bins < self.min_bins:
            raise GomeaBnError(f"max_bins must be at least min_bins={self.min_bins}, got {self.max_bins}.")


class IntervalScore:
    """A density score as a sum of gains of intervals; built once for a table.

    Scores of discrete columns alone raise `GomeaBnError`, and so does the BDeu prior, whose gains depend on the number
    of bins.
    """

    def __init__(self, method: ScoringMethod, rule: ScoreRule) -> None:
        if not method.density or rule.kind not in (LIKELIHOOD, DIRICHLET):
            got = f"got {method.name!r}{' with the BDeu prior' if method.density else ''}."
            wanted = f" 'density-bic', or 'density-bd' with the Dirichlet prior; {got}"
            raise GomeaBnError(["Optimal cut points need ", Option("scoring_method"), wanted])
        self.bayesian = rule.kind == DIRICHLET
        self.centred, self._rule = rule.centred, rule
        self.weight = rule.weight
        self.cut_cost = method.cut_cost
        n_terms = len(rule.x_log_x) + MAX_CARDINALITY
        if self.bayesian:
            self.table = log_factorials(n_terms)
        else:
            x = np.arange(n_terms, dtype=np.float64)
            self.table = np.zeros(n_terms)
            self.table[1:] = x[1:] * np.log(x[1:])

    def logs(self, counts: NDArray[np.int64] | int) -> Any:
        """Return n ln n, or ln n!, of counts n, float64, computed where they are larger than the table."""
        try:
            return self.table[counts]
        except IndexError:
            return (
                scipy.special.gammaln(counts + 1.0) if self.bayesian else scipy.special.xlogy(counts, counts)
            )

    def of_counts(self, counts: NDArray[np.int64], n_configurations: float, levels: Sequence[bool]) -> float:
        """Return the score in nats of a table of counts, int64 (n_observed, r), without widths and costs of cuts.

        `levels` says which members of the family are discrete; the child is the last one.
        """
        r, totals = counts.shape[1], counts.sum(axis=1)
        if self.centred and (len(levels) > 1 or (self._rule.equivalent and levels[-1])):
            without_price = self._rule._replace(free_cells=inf)
            of_family = n_configurations, r, without_price, 1.0, levels[-1], all(levels)
            return default_score(flat_counts(counts), len(counts), *of_family)
        cells = float(self.logs(counts).sum())
        if self.bayesian:
            return cells - float((self.logs(totals + r - 1) - self.table[r - 1]).sum())
        penalty = self.weight * n_configurations * (r - 1)
        return float(cells - self.logs(totals).sum() - penalty)


# times that concentrations follow from the cuts, and the cuts from them
_MOST_ROUNDS = 3
# of the concentrations that a search for cuts begins with: the first one, and in small columns also the other
_FIRST_POSITIONS = (2, 0)


class CutProblem:
    """The cut points of one column, given tables around it: a sum over intervals and a term of their number.

    `of_rows` builds it from the bins of the Markov blanket in every row, `of_cells` from counts of the column's cells.
    `tables` are those of the column's own family and then of its children's. `configurations` has for each table of the
    own family its weight, the numbers of rows of the configurations of the parents that occur, (m,), and the number of
    all configurations. `bin_cost` is the number of parameters of the tables per bin; `cut_cost` the nats per cut.

    With missing values the score of a family is a sum of gains of its parents (`available_terms`). The order in which
    parents are judged depends on the bins; it is that of the column's present bins for all cuts.

    Under a centred prior the score is such a sum once every table has a concentration. The best cuts given
    concentrations, and the best concentrations given cuts, follow each other until the score no longer grows.

    The rows of a bin are uniform inside it, or have the shape of the column. Then the column's own family is scored by
    how much better its table predicts the bins than a table without parents, plus the log density of the shape unless
    bins can only be shaped.
    """

    def __init__(
        self,
        column: CutColumn,
        tables: Sequence[CountTable],
        configurations: Sequence[tuple[float, NDArray[np.int64], float]],
        bin_cost: float,
        cut_cost: float,
        score: IntervalScore,
        shape: ColumnShape | None,
    ) -> None:
        self.column = column
        self.score = score
        self.shape = shape
        self._measures = (False,) if shape is None else shape.measures
        self._weight = column.weight
        self._configurations = configurations
        self._tables = tables
        self._counts = IntervalCounts(column, tables)
        self._cut_cost = cut_cost
        self._bin_cost = 0.0 if score.bayesian else score.weight * bin_cost
        self._layer_terms: dict[tuple[int, bool], float] = {}
        self._terms: dict[tuple[int, int, bool], NDArray[np.float64]] = {}
        self._constant = 0.0
        if not score.bayesian:
            self._constant = sum(
                weight * (score.weight * n_all - float(score.logs(counts).sum()))
                for weight, counts, n_all in self._configurations
            )
        # position of the concentration of every table
        self._positions = np.full(len(tables), _FIRST_POSITIONS[0])
        # by which the best concentration scores higher than the mean over all, in nats
        self._excess = np.zeros(len(tables))
        if score.centred:
            self._own_rows = [rows for _, rows, _ in configurations]
            # the column alone; its tables are compared with it
            self._configurations = [(self._weight, np.array([column.n_rows]), 1.0)]
            for table in tables:
                if table.n_values:
                    # a child alone
                    self._constant += table.weight * score.of_counts(
                        table.of_values[None], 1.0, [table.is_level]
                    )

    @classmethod
    def of_rows(
        cls,
        column: CutColumn,
        around: Neighbourhood,
        score: IntervalScore,
        shape: ColumnShape | None = None,
    ) -> CutProblem:
        """Return the problem of the cuts between the values of a column, given the bins of its blanket in every row."""
        centre = around.centre or _uncut(column)
        tables, configurations = _own_tables(centre, around.parents, score)
        bin_cost = sum(weight * n_all for weight, _, n_all in configurations)
        for family in around.families:
            for table, n_others in _child_tables(family, centre, score):
                tables.append(table)
                bin_cost += table.weight * n_others * (table.n_values - 1)
        cut_cost = score.cut_cost * log(max(len(column.cuts), 1))
        return cls(column, tables, configurations, bin_cost, cut_cost, score, shape)

    @classmethod
    def of_cells(
        cls,
        column: CutColumn,
        of_family: Sequence[tuple[float, NDArray[np.int64]]],
        children: Sequence[tuple[float, NDArray[np.int64], bool]],
        cut_cost: float,
        score: IntervalScore,
        shape: ColumnShape | None = None,
    ) -> CutProblem:
        """Return the problem of the cuts between a column's cells, given counts of these.

        Counts have weights, and are several for one family if values are missing: of the column and its parents,
        (card(parent_1), ..., n_cells), and of its children's families, (n_cells, card(parent), ..., card(child)). The
        last part of these says whether the child is discrete.
        """
        n_cells = len(column.greatest)
        own = [(weight, table.reshape(-1, n_cells)) for weight, table in of_family]
        totals = [(weight, table.sum(axis=1)) for weight, table in own]
        bin_cost = sum(weight * len(table) for weight, table in own)
        bin_cost += sum(weight * table[0].size * (1 - 1 / table.shape[-1]) for weight, table, _ in children)
        tables = [
            CountTable(table.T, len(table), weight=weight, has_parents=of_term.ndim > 1)
            for (weight, table), (_, of_term) in zip(own, of_family, strict=True)
        ]
        for weight, of_child, is_level in children:
            r, size = of_child.shape[-1], of_child[0].size
            shift = r - 1 if score.bayesian else 0
            counted = of_child.reshape(n_cells, -1)
            tables.append(CountTable(counted, size, size // r, shift, weight, r, is_level))
        configurations = [(weight, rows[rows > 0], len(rows)) for weight, rows in totals]
        return cls(column, tables, configurations, bin_cost, cut_cost, score, shape)

    def follow(self, cuts: NDArray[np.int64]) -> None:
        """Let intervals be priced with the concentrations that are best for cuts, given by their indices.

        The sum over the intervals of these cuts is then their score.
        """
        if self.score.centred:
            column = self.column
            gains = self._gains_of(self._counts.cells(column.cuts[cuts], column.below[cuts]))
            self._positions = gains.argmax(axis=1)
            self._excess = gains.max(axis=1) - (log_sum_exp(gains.T) - log(N_CONCENTRATIONS))

    def _gains_of(self, cells: CandidateCells) -> NDArray[np.float64]:
        """Return the ln Bayes factors of the tables with bins that are cells, (n_tables, n_concentrations)."""
        n_bins = len(cells.middles)
        of_bins = np.zeros((n_bins, len(self._counts.shift)), np.int64)
        n_entries = int(cells.starts[-1])
        bins = np.repeat(np.arange(n_bins), np.diff(cells.starts))
        of_bins[bins, cells.entries[:n_entries]] = cells.amounts[:n_entries]
        gains, first = np.empty((len(self._tables), N_CONCENTRATIONS)), 0
        for t, table in enumerate(self._tables):
            part = of_bins[:, first : first + table.n_cells]
            counts = part.reshape(-1, table.n_values) if table.n_values else part.T
            n_observed, r = counts.shape
            gains[t] = centred_gains(flat_counts(counts), n_observed, r, 1.0)
            first += table.n_cells
        return gains

    def _exact(self, cells: CandidateCells, *, shaped: bool) -> tuple[float, NDArray[np.int64]]:
        """Return the score of bins that are cells under a centred prior, and the positions of best concentrations."""
        gains = self._gains_of(cells)
        weights = np.array([table.weight_of_gain for table in self._tables])
        value = self.layer_term(len(cells.middles), shaped=shaped)
        value += float(weights @ (log_sum_exp(gains.T) - log(N_CONCENTRATIONS)))
        if not shaped:
            rows, span = np.diff(cells.below), self.column.high - self.column.low
            inside = self.score.logs(rows) - rows * (np.log(np.diff(cells.edges)) - log(span))
            value += self._weight * float(inside.sum())
        return value, gains.argmax(axis=1)

    def constant_given(self) -> float:
        """Return what a centred prior adds to the `interval_gains` of any cuts."""
        constant = 0.0
        if self.score.centred:
            own_rows = iter(self._own_rows)
            for table, position, excess in zip(
                self._tables, self._positions.tolist(), self._excess.tolist(), strict=True
            ):
                n_rows = int(table.of_values.sum())
                if not table.n_values:
                    amount = concentrations(float(n_rows))[position]
                    of_rows = scipy.special.gammaln(amount + next(own_rows)) - scipy.special.gammaln(amount)
                    gain = -float(of_rows.sum())
                else:
                    gain = -float(
                        scipy.special.xlogy(table.of_values, table.of_values / max(n_rows, 1)).sum()
                    )
                constant += table.weight_of_gain * (gain - excess)
        return constant

    def _centred(self, positions: NDArray[np.int64]) -> CentredTables:
        """Return the prior of the tables with concentrations by their positions, for one call of a kernel."""
        if not self.score.centred:
            return NOT_CENTRED
        n_counters = len(self._counts.shift)
        pseudo_counts, weights = np.ones(n_counters), np.ones(n_counters)
        own = np.full(n_counters, -1, np.int32)
        of_own: list[tuple[float, int, float]] = []
        cell, total = 0, sum(table.n_cells for table in self._tables)
        for table, position in zip(self._tables, positions.tolist(), strict=True):
            n_rows = max(int(table.of_values.sum()), 1)
            amount, end = concentrations(float(n_rows))[position], cell + table.n_cells
            weights[cell:end] = table.weight_of_gain
            if not table.n_values:
                own[cell:end] = len(of_own)
                of_own.append((amount, n_rows, table.weight_of_gain))
            else:
                n_others = table.n_cells // table.n_values
                # values without rows have no counts either
                pseudo_counts[cell:end] = np.tile(amount * table.of_values / n_rows, n_others)
                pseudo_counts[total : total + n_others] = amount
                weights[total : total + n_others] = -table.weight_of_gain
                total += n_others
            cell = end
        amounts, own_rows, own_weights = (np.array(of_tables) for of_tables in zip(*of_own, strict=True))
        return CentredTables(
            is_used=True,
            pseudo_counts=pseudo_counts,
            own=own,
            weights=weights,
            concentrations=amounts,
            n_rows=own_rows.astype(np.int64),
            own_weights=own_weights,
            rows=np.zeros(len(of_own), np.int64),
            of_rows=np.empty((2, len(of_own))),
            touched=np.empty(n_counters, np.int32),
            large=np.empty(n_counters, np.int64),
            of_large=np.empty((2, n_counters)),
        )

    def layer_term(self, n_bins: int, *, shaped: bool = False) -> float:
        """Return the part of the score in nats that depends on the number of bins alone."""
        key = n_bins, shaped
        # every grid of a search asks for the same ones
        if key in self._layer_terms:
            return self._layer_terms[key]
        term = self._constant
        if self.score.bayesian:
            of_no_row = float(self.score.table[n_bins - 1])
            for weight, counts, _ in self._configurations:
                of_rows = self.score.logs(counts + (n_bins - 1))
                # a sum of one number costs more than the rest
                total = float(of_rows[0] if len(counts) == 1 else of_rows.sum())
                term += weight * (len(counts) * of_no_row - total)
            term -= self._weight * (self._cut_cost * (n_bins - 1))
        self._layer_terms[key] = float(term) + (self.shape_term(n_bins) if shaped else 0.0)
        return self._layer_terms[key]

    def _terms_of_layers(self, first: int, last: int, *, shaped: bool) -> NDArray[np.float64]:
        """Return the layer terms of some numbers of bins, the last one included."""
        key = first, last, shaped
        if key not in self._terms:
            self._terms[key] = np.array([self.layer_term(k, shaped=shaped) for k in range(first, last + 1)])
        return self._terms[key]

    def shape_term(self, n_bins: int) -> float:
        """Return what shaped bins add to the score in nats, apart from terms of the rows of single bins.

        It is the log density of the shape, unless that is the same for all cuts (`ColumnShape.constant_score`), minus
        the score of a table without parents: under the Dirichlet(1) prior
        lnG(k) - lnG(n + k) for k bins and n rows, and - n ln n - (k - 1) weight under a price per parameter, of which
        the interval's gains contain the part that is proportional to k.
        """
        logs, n_rows = self.score.logs, self.column.n_rows
        log_likelihood = 0.0 if self.shape is None else self.shape.compared_log_likelihood
        if self.score.bayesian:
            return self._weight * (log_likelihood + float(logs(n_rows + n_bins - 1) - logs(n_bins - 1)))
        return self._weight * (log_likelihood + float(logs(n_rows)) - self.score.weight)

    def _all_cells(self) -> _PricedCells:
        """Return the cells between all cuts of the column, and room for the scores that all measures share."""
        n_edges = len(self.column.cuts) + 2
        cells = self._counts.cells(self.column.cuts, self.column.below)
        return cells, np.full((n_edges, n_edges) if len(self._measures) > 1 else (0, 0), np.nan)

    def _solve(
        self,
        candidates: NDArray[np.int64],
        limits: CutLimits,
        stop: NDArray[np.uint8],
        positions: NDArray[np.int64],
        *,
        shaped: bool,
        priced: _PricedCells | None = None,
    ) -> tuple[PricedCuts | None, NDArray[np.int64]]:
        """Return the best cuts among the candidate indices, and their indices; `priced` are their cells if known.

        `positions` are those of the concentrations of a centred prior to begin with. They become the best ones for the
        cuts.
        """
        column = self.column
        if priced is None:
            priced = self._counts.cells(column.cuts[candidates], column.below[candidates]), np.empty((0, 0))
        if not self.score.centred:
            return self._solve_given(candidates, limits, stop, positions, priced, shaped=shaped)
        best: PricedCuts | None = None
        chosen: NDArray[np.int64] = np.empty(0, np.int64)
        for _ in range(_MOST_ROUNDS):
            given, indices = self._solve_given(candidates, limits, stop, positions, priced, shaped=shaped)
            if given is None:
                break
            cells = self._counts.cells(column.cuts[indices], column.below[indices])
            value, latest = self._exact(cells, shaped=shaped)
            if best is not None and value <= best.value + ROUNDING * max(1.0, abs(value)):
                break
            best, chosen = PricedCuts(given.cut_points, value), indices
            if np.array_equal(latest, positions):
                break
            positions[:] = latest
            # the scores that measures share are those of the first concentrations
            priced = priced[0], np.empty((0, 0))
        return best, chosen

    def _solve_given(
        self,
        candidates: NDArray[np.int64],
        limits: CutLimits,
        stop: NDArray[np.uint8],
        positions: NDArray[np.int64],
        priced: _PricedCells,
        *,
        shaped: bool,
    ) -> tuple[PricedCuts | None, NDArray[np.int64]]:
        """Return what `_solve` returns, with the concentrations of a centred prior by their positions."""
        column = self.column
        cells, scores = priced
        n_cells = len(candidates) + 1
        n_layers = min(limits.max_bins or MAX_CARDINALITY, n_cells)
        if limits.max_bins is None and limits.min_bins == 1 and not self.score.bayesian:
            n_layers = 0
        distinct = column.distinct_of_cuts(candidates)
        rule = self._interval_rule(distinct, limits, n_layers, positions, shaped=shaped)
        values, origin = self._run(cells, rule, stop, scores=scores)
        none: NDArray[np.int64] = np.empty(0, np.int64)
        if stop[0]:
            return None, none
        if n_layers == 0:
            best, layer = float(values[0, n_cells]) + self.layer_term(0, shaped=shaped), 0
        else:
            if limits.min_bins > n_layers:
                return None, none
            totals = values[limits.min_bins :, n_cells] + self._terms_of_layers(
                limits.min_bins, n_layers, shaped=shaped
            )
            place = int(totals.argmax())
            best, layer = float(totals[place]), limits.min_bins + place
        if best == -inf:
            return None, none
        chosen = candidates[chosen_of(origin, layer)]
        return PricedCuts(column.cuts[chosen], best), chosen

    def _run(
        self,
        cells: CandidateCells,
        rule: IntervalRule,
        stop: NDArray[np.uint8],
        scores: NDArray[np.float64] | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Return the values and the origins of `best_intervals`."""
        shape = (rule.n_layers + 1, len(cells.edges))
        work = IntervalWork(
            counts=self._counts.counts,
            logs=np.empty_like(rule.weights),
            values=np.empty(shape),
            origin=np.zeros(shape, np.int32),
            stop=stop,
            scores=np.empty((0, 0)) if scores is None else scores,
        )
        best_intervals(cells, self._counts.shift, rule, work)
        return work.values, work.origin

    def interval_gains(
        self, candidates: NDArray[np.int64], limits: CutLimits, *, shaped: bool
    ) -> NDArray[np.float64]:
        """Return what every interval between two edges gains in nats, float64 (n + 2, n + 2) for n candidate raw cuts.

        The edges are the smallest value, the candidates and the largest value. The score of cut points is the sum over
        their intervals plus `layer_term` and `constant_given`. Intervals that the limits forbid have -inf, and so have
        pairs of edges that are not in ascending order.
        """
        column = self.column
        cells = self._counts.cells(column.cuts[candidates], column.below[candidates])
        distinct = column.distinct_of_cuts(candidates)
        rule = self._interval_rule(distinct, limits, 0, self._positions, shaped=shaped)
        gains = np.empty((len(cells.edges), len(cells.edges)))
        interval_gains(
            cells, self._counts.shift, rule, self._counts.counts, np.empty_like(rule.weights), gains
        )
        return gains

    def _interval_rule(
        self,
        distinct: NDArray[np.int64],
        limits: CutLimits,
        n_layers: int,
        positions: NDArray[np.int64],
        *,
        shaped: bool,
        any_width: bool = False,
    ) -> IntervalRule:
        """Return gains and limits of intervals, given the number of distinct values below every cut point.

        `positions` are those of the concentrations of a centred prior.
        """
        span = self.column.high - self.column.low
        own_weight = self._weight * self.score.weight if shaped and not self.score.bayesian else 0.0
        least_width = limits.min_width * span
        if self.shape is not None:
            least_width = max(least_width, 0.0 if any_width else self.shape.min_uniform_width)
        return IntervalRule(
            table=self.score.table,
            bayesian=self.score.bayesian,
            bin_cost=self._bin_cost - own_weight,
            log_range=log(span),
            shaped=shaped,
            # what shaped bins gain depends on the order of the values alone
            min_width=0.0 if shaped else least_width,
            min_tied_width=0.0 if shaped or any_width or self.shape is None else self.shape.resolution,
            distinct=np.concatenate(([0], distinct, [self.column.n_distinct])).astype(np.int64),
            min_rows=limits.min_bin_count,
            n_layers=n_layers,
            weights=self._counts.weights,
            row_weight=self._weight,
            centred=self._centred(positions),
        )

    def value(self, cut_points: NDArray[np.float64]) -> float:
        """Return the score of any cut points, whatever the widths and counts of their bins; see `optimal`."""
        n_bins = len(cut_points) + 1
        column = self.column
        cells = self._counts.cells(cut_points, column.rows_below(cut_points))
        distinct = column.distinct_below(cut_points)
        limits = CutLimits(n_bins, n_bins, 0.0, 0)
        values = []
        for shaped in self._measures:
            if self.shape is not None and len(self._measures) > 1 and not shaped:
                up_to_edges = np.concatenate(([0], distinct, [column.n_distinct]))
                if self.shape.is_too_narrow(cells.edges, cells.below, up_to_edges):
                    continue
            if self.score.centred:
                values.append(self._exact(cells, shaped=shaped)[0])
                continue
            rule = self._interval_rule(
                distinct, limits, n_bins, self._positions, shaped=shaped, any_width=True
            )
            of_intervals, _ = self._run(cells, rule, NO_STOP)
            values.append(float(of_intervals[n_bins, n_bins]) + self.layer_term(n_bins, shaped=shaped))
        return max(values)

    def optimal(
        self,
        limits: CutLimits,
        *,
        n_cells: int = N_CELLS,
        incumbent: NDArray[np.float64] | None = None,
        stop: NDArray[np.uint8] = NO_STOP,
        least_gain: float = 0.0,
    ) -> PricedCuts | None:
        """Return the best cut points among the mid-points of neighbouring values, or None if the limits allow none.

        The value is the score of the column's family and its children's families. It leaves out the children's log
        widths, and the log density of a column whose bins can only be shaped. With missing values it also leaves out
        tables of children that do not have the column as a parent. All these are the same for all cuts of the column.

        With fewer than `n_cells` mid-points the result is exact. With more, a grid of `n_cells` cells and the gaps of
        `incumbent` is solved for shaped and for uniform bins. For the better of these the grid is then refined around
        the chosen cuts until they lie between neighbouring values, or a grid gains less than `least_gain`. Every
        solution is at least as good as the one before. Another thread may raise `stop` to give up; the result is then
        None or that of the last grid.
        """
        if len(self.column.cuts) < n_cells:
            return self._best_of_all(
                limits, stop, _FIRST_POSITIONS if self.score.centred else _FIRST_POSITIONS[:1]
            )
        column = self.column

        def is_worse(value: float, best: float) -> bool:
            return value < best + least_gain

        def solve(shaped: bool) -> Solve:
            # every way goes on with concentrations of its own
            positions = self._positions.copy()
            return partial(self._solve, limits=limits, stop=stop, positions=positions, shaped=shaped)

        # shaped bins depend on the ranks of the values alone
        solves = {shaped: solve(shaped) for shaped in self._measures}
        return search_by_zooming(column, solves, is_worse, n_cells, incumbent)

    def best(self, limits: CutLimits, present: NDArray[np.int64]) -> tuple[NDArray[np.int64], float, float]:
        """Return the best of all cuts, their score, and that of the present cuts in nats, -inf if limits forbid these.

        Cuts are indices.
        """
        n_bins = len(present) + 1
        of_present = replace(limits, min_bins=n_bins, max_bins=n_bins)
        now = -np.inf
        for shaped in self._measures:
            unchanged, _ = self._solve(present, of_present, NO_STOP, self._positions.copy(), shaped=shaped)
            now = max(now, -np.inf if unchanged is None else unchanged.value)
        optimum = self._best_of_all(limits, NO_STOP, _FIRST_POSITIONS[:1])
        if optimum is None:
            return present, -np.inf, now
        return np.searchsorted(self.column.cuts, optimum.cut_points), optimum.value, now

    def _best_of_all(
        self, limits: CutLimits, stop: NDArray[np.uint8], first_positions: Sequence[int]
    ) -> PricedCuts | None:
        """Return the best of all cuts, which the concentrations at each of the first positions lead to."""
        optima, every = [], np.arange(len(self.column.cuts))
        for position in first_positions:
            # the measures share the scores of intervals
            priced = self._all_cells()
            for shaped in self._measures:
                first = np.full_like(self._positions, position)
                optima.append(self._solve(every, limits, stop, first, shaped=shaped, priced=priced)[0])
        return _first_best(optima)


def _uncut(column: CutColumn) -> CodedColumn:
    """Return the column with a single bin, which gains nothing as a parent."""
    has_missing = column.n_rows < column.n_all_rows
    codes = np.full(column.n_all_rows, -1 if has_missing else 0, np.int32)
    if has_missing:
        codes[column.order] = 0
    return CodedColumn(codes, 1, has_missing)


def _own_tables(
    centre: CodedColumn, parents: Sequence[CodedColumn], score: IntervalScore
) -> tuple[list[CountTable], list[tuple[float, NDArray[np.int64], float]]]:
    """Return the tables of the column's own family, and the configurations that `CutProblem` takes."""
    tables, configurations = [], []
    for term, is_counted in terms_of_rows(centre, parents, score.of_counts):
        members = [parents[p] for p in term.parents]
        codes, n_observed, n_all = observed_codes(members, is_counted, len(centre.codes))
        tables.append(CountTable(codes, n_observed, weight=term.weight, has_parents=bool(members)))
        counts = np.bincount(codes if is_counted is None else codes[is_counted], minlength=1)
        configurations.append((term.weight, counts[counts > 0], n_all))
    return tables, configurations


def _child_tables(
    family: CodedFamily, centre: CodedColumn, score: IntervalScore
) -> Iterator[tuple[CountTable, float]]:
    """Give a child's tables that have the column as a parent, and the numbers of configurations of the others."""
    child, spouses = family.child, family.spouses
    parents = (*spouses[: family.place], centre, *spouses[family.place :])
    for term, is_counted in terms_of_rows(child, parents, score.of_counts):
        if family.place not in term.parents:
            continue
        members = [parents[p] for p in term.parents if p != family.place]
        rows, n_observed, n_all = observed_codes(members, is_counted, len(child.codes))
        codes = (rows * child.cardinality + child.codes).astype(np.int32)
        if is_counted is not None:
            codes[~is_counted] = -1
        table = CountTable(
            counted=codes,
            n_cells=n_observed * child.cardinality,
            n_table_rows=n_observed,
            shift=child.cardinality - 1 if score.bayesian else 0,
            weight=term.weight,
            n_values=child.cardinality,
            is_level=child.is_level,
        )
        yield table, n_all


def _first_best(optima: Iterable[PricedCuts | None]) -> PricedCuts | None:
    """Return the optimum of the highest value, the first of equals."""
    return max((o for o in optima if o is not None), key=lambda o: o.value, default=None)


def candidate_boundaries(n_boundaries: int, n_counters: int, present: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the boundaries of a column that may become cuts as indices, int64 (n,), ascending.

    All of them take part unless the dynamic programme would have too much to do, with tables of `n_counters` cells per
    cell of the column; then a part that is spread evenly, all `present` cuts and their neighbours do.
    """
    # 30 million pairs of cells times counters of a dynamic programme, to which its time is proportional
    most = int((60_000_000 / max(n_counters, 1)) ** 0.5)
    if n_boundaries <= max(most, 2 * len(present) + 8):
        return np.arange(n_boundaries)
    spread = np.linspace(0, n_boundaries - 1, max(most, 8)).round().astype(np.int64)
    near = np.concatenate([present + step for step in (-1, 0, 1)])
    return np.unique(np.concatenate((spread, near[(near >= 0) & (near < n_boundaries)])))


def log_sum_exp(terms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ln of the sum of exp(terms) over the first axis; the sum of zeros is -inf.

    SciPy's function of this purpose takes several times as long for small arrays.
    """
    most = terms.max(axis=0)
    # terms that are all -inf must not be subtracted from each other
    shift = np.where(np.isfinite(most), most, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(shift + np.log(np.exp(terms - shift).sum(axis=0)))
