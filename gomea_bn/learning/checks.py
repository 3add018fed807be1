"""Checks of a network against its rows: the probabilities of all pairs of columns over their bins.

The network draws rows, and the shares of their cells are compared with those of the rows that it was learned from. A
cell is off if the difference is more than four standard errors, of the rows and the draws together. Of every pair that
has such a cell, the worst one is kept in the metadata, next to the numbers of rows that answers are compared with, and
the misfit of every column, by which intervals of answers widen; it is measured given eighths of the rows by the other
column. A column in one shown bin is compared over quarters of its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import MANY_ROWS
from gomea_bn.data.content_order import in_column_order
from gomea_bn.data.table import Table
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.matched_rows import ROW_COUNTS, TableRows, counted_sets, record_of_counts, with_margins
from gomea_bn.network.recorded import CHECKS, MISFITS
from gomea_bn.network.rows import drawn_values
from gomea_bn.problems.cuts.policies import bin_codes, equal_frequency_cuts
from gomea_bn.runtime.fit_clock import DRAWS, NO_LIMIT, FitClock

_MOST_ERRORS = 4.0
_MOST_KEPT = 20
# the error of the draws adds an eighth to that of the rows
_DRAWS_PER_ROW = 4
_LEAST_DRAWS, _MOST_DRAWS = 20_000, 200_000
# fewest draws where a clock leaves no time for more; the errors of cells grow with fewer draws
_LEAST_LATE_DRAWS = 2_000
# seconds that a drawn value takes, that a row or draw takes in a pair, and that a pair takes in any case
_SECONDS_OF_DRAWN_VALUE, _SECONDS_OF_PAIRED_VALUE, _SECONDS_OF_PAIR = 1.3e-6, 4e-9, 6e-4
# of the limit
_MOST_SHARE_OF_TIME = 0.1
# all pairs of 45 columns
_MOST_PAIRS = 1_000
_PAIRS_PER_COLUMN = 10
_SALT = 83_177
# cells of about as many rows each, given which misfits are measured
_EVEN_CELLS = 8
# least variance of a number of rows whose share tells of a misfit
_LEAST_VARIANCE = 1.0
# square of the misfit that rows do not show, in those of the standard errors of shares
_UNSEEN = 1.0


class _CheckedColumn:
    """Cells of a column, of rows and of draws: its shown bins and even cells together divide it into fine cells.

    `rows` and `draws` are fine cells, int64, -1 for a missing value. `shown` and `even` have the first fine cell of
    every shown bin and of every even cell.
    """

    def __init__(self, values: NDArray[Any], drawn: NDArray[Any], cuts: NDArray[np.float64]) -> None:
        # shown bins are where a network is nearest to its rows; findings may be any others
        # many rows take longer to sort than to count, and their order must not matter
        known = values[~np.isnan(values)] if len(values) <= MANY_ROWS else drawn
        even = equal_frequency_cuts(known, _EVEN_CELLS)
        fine = np.union1d(cuts, even)
        self._set(bin_codes(values, fine), bin_codes(drawn, fine), len(fine) + 1)
        self.shown, self.even = (
            np.concatenate(([0], np.searchsorted(fine, some) + 1)).astype(np.int64) for some in (cuts, even)
        )

    @classmethod
    def of_levels(cls, codes: NDArray[Any], drawn: NDArray[Any], n_levels: int) -> Self:
        """Return the cells of a column of levels, which are these."""
        column = cls.__new__(cls)
        column._set(codes, drawn, n_levels)
        column.shown = column.even = np.arange(n_levels)
        return column

    def _set(self, rows: NDArray[Any], draws: NDArray[Any], n_fine: int) -> None:
        self.rows, self.draws, self.n_fine = rows.astype(np.int64), draws.astype(np.int64), n_fine
        self.has_gaps = bool((self.rows < 0).any())

    @property
    def n_shown(self) -> int:
        """Number of shown bins, or of levels."""
        return len(self.shown)

    @cached_property
    def shown_rows(self) -> NDArray[np.int64]:
        """Shown bins of rows, -1 for a missing value."""
        return np.searchsorted(self.shown, self.rows, side="right") - 1


def checked_network(
    network: DiscretizedBayesNet,
    table: Table,
    seed: int,
    weights: NDArray[np.float64] | None = None,
    n_evidence: int | None = None,
    *,
    of_sample: bool = False,
    clock: FitClock = NO_LIMIT,
) -> DiscretizedBayesNet:
    """Return the network with its rows, what `DiscretizedBayesNet.checks` says, and numbers of rows in its metadata.

    Rows count by `weights` (n_rows,). They are evidence like `n_evidence` rows, by default all, or with weights the
    square of their sum over the sum of their squares. Beyond 1,000 pairs, and ten per column, those are left out that
    have no edge and the fewest common neighbours.

    Of a sample the numbers of all rows stay, if the network has them. A network without conditionals gets its rows
    alone. A clock may leave time for fewer draws and pairs.

    A pair is compared on the rows that have both values. Which rows these are may depend on values, so that either
    column is distributed otherwise than in all rows. The probabilities of the network are therefore scaled to the
    shares of either column, where some of its rows have a gap, and only the dependence of the two is compared.
    """
    if not of_sample:
        network = network.with_row_source(TableRows(network, table, True, weights, n_evidence))
    if network.conditionals is None:
        return network
    rows = in_column_order(table)
    # the draws do not depend on the order of the columns
    ordered = network.in_order(rows.names)
    names = ordered.names
    quarters = {
        column.name: equal_frequency_cuts(column.observed, 4)
        for column in rows.columns
        if column.name in ordered.cut_points and not len(ordered.cut_points[column.name])
    }
    cuts = {**ordered.cut_points, **quarters}
    if n_evidence is None:
        n_evidence = table.n_rows if weights is None else int(weights.sum() ** 2 / (weights @ weights))
    if weights is not None:
        weights = weights / weights.mean()
    n_pairs, n_draws = _most_pairs(len(names)), _n_draws(n_evidence)
    of_draw = _SECONDS_OF_DRAWN_VALUE * len(names) + _SECONDS_OF_PAIRED_VALUE * n_pairs
    of_pair = _SECONDS_OF_PAIRED_VALUE * table.n_rows + _SECONDS_OF_PAIR
    n_draws = clock.before(n_pairs * of_pair).affordable(n_draws, of_draw, _LEAST_LATE_DRAWS, DRAWS)
    n_pairs = clock.before(n_draws * of_draw).affordable(n_pairs, of_pair, len(names), DRAWS)
    drawn = drawn_values(ordered, n_draws, np.random.default_rng([_SALT, seed]))
    columns = [
        _CheckedColumn(column.values, drawn[column.name], cuts[column.name])
        if column.name in cuts
        else _CheckedColumn.of_levels(column.values, drawn[column.name], ordered.cardinality(column.name))
        for column in rows.columns
    ]
    cards = [column.n_shown for column in columns]
    pairs = chosen_pairs(ordered.adjacency_matrix, cards, n_pairs)
    off: list[tuple[float, dict[str, Any]]] = []
    counts: dict[tuple[int, ...], NDArray[np.float64]] = {}
    misfits = {name: Misfit() for name in names}

    for first, second in pairs:
        of_first, of_second = columns[first], columns[second]
        joint = _JointCells(of_first, of_second, weights)
        of_rows, of_network = joint.over(of_first.shown, of_second.shown)
        if not {names[first], names[second]} & quarters.keys():
            counts[first, second] = of_rows
        if not (n_known := of_rows.sum()):
            continue
        share = of_rows / n_known
        # the larger variance of the two is right where one of them has hardly any rows
        variance = np.maximum(share * (1 - share), of_network * (1 - of_network))
        errors = np.sqrt(variance * (table.n_rows / (n_evidence * n_known) + 1 / n_draws))
        away = np.divide(np.abs(share - of_network), errors, out=np.zeros_like(errors), where=errors > 0)
        for v, (in_cells, of_both) in (
            (first, joint.over(of_first.shown, of_second.even)),
            (second, joint.turned().over(of_second.shown, of_first.even)),
        ):
            misfits[names[v]].add(in_cells * (n_evidence / table.n_rows), of_both, n_draws)
        cell = int(away.argmax())
        if away.flat[cell] > _MOST_ERRORS:
            entry: dict[str, Any] = {
                "columns": [names[first], names[second]],
                "cells": [cell // cards[second], cell % cards[second]],
                "rows": float(share.flat[cell]),
                "network": float(of_network.flat[cell]),
                "standard_error": float(errors.flat[cell]),
            }
            off.append((float(away.flat[cell]), entry))
    worst = [entry for _, entry in sorted(off, key=lambda pair: -pair[0])[:_MOST_KEPT]]
    used = {name for entry in worst for name in entry["columns"]}
    of_cells = {name: of_column.tolist() for name, of_column in quarters.items() if name in used}
    known_misfits = {name: of_name.share for name, of_name in misfits.items() if of_name.share is not None}
    record = {"pairs": len(pairs), "off": len(off), "worst": worst, MISFITS: known_misfits}
    entries: dict[str, Any] = {CHECKS: record | ({"cut_points": of_cells} if of_cells else {})}
    if not (of_sample and ROW_COUNTS in network.metadata):
        shown = [1 if name in quarters else card for name, card in zip(names, cards, strict=True)]
        for members in counted_sets(ordered.adjacency_matrix, shown, table.n_rows):
            if members not in counts:
                shown_rows = [columns[v].shown_rows for v in members]
                counts[members] = crossed(shown_rows, [cards[v] for v in members], weights)
        gaps = [name for name, column in zip(names, columns, strict=True) if column.has_gaps]
        entries[ROW_COUNTS] = record_of_counts(names, table.n_rows, n_evidence, gaps, counts)
    return network.with_metadata(**entries)


def seconds_of_checks(n_rows: int, n_columns: int, clock: FitClock) -> float:
    """Return about the seconds that stay for the check of a network, whose rows are all evidence."""
    n_draws = _n_draws(n_rows)
    of_pair = _SECONDS_OF_PAIRED_VALUE * (n_rows + n_draws) + _SECONDS_OF_PAIR
    seconds = _SECONDS_OF_DRAWN_VALUE * n_columns * n_draws + of_pair * _most_pairs(n_columns)
    return seconds if clock.max_seconds is None else min(seconds, _MOST_SHARE_OF_TIME * clock.max_seconds)


def _most_pairs(n_columns: int) -> int:
    """Return the largest number of pairs that are compared, at least 1."""
    return max(min(n_columns * (n_columns - 1) // 2, max(_MOST_PAIRS, _PAIRS_PER_COLUMN * n_columns)), 1)


def _n_draws(n_evidence: int) -> int:
    return int(np.clip(_DRAWS_PER_ROW * n_evidence, _LEAST_DRAWS, _MOST_DRAWS))


@dataclass(eq=False)
class Misfit:
    """How far the probabilities of a column given another one are from those of new rows, as far as rows show.

    The difference of a share f of n rows and a probability p, in standard deviations sqrt(p (1 - p)), has the variance
    1 / n + misfit^2. The moment estimate of random effects with the weights n (DerSimonian & Laird, "Meta-analysis in
    clinical trials", 1986) is the sum of squares beyond the noise, divided by the sum of n over all probabilities. Rows
    that a network was fitted to are nearer to it than new ones, and hide edges that its score does not pay for. The
    noise is therefore that of given margins, and the misfit that rows cannot show counts on top, like the noise of all
    shares: an answer is not surer than the share of the mean number of rows that satisfy a finding.
    """

    excess: float = 0.0
    n_shares: int = 0
    weight: float = 0.0
    rows: float = 0.0

    def add(self, counts: NDArray[np.float64], network: NDArray[np.float64], n_draws: int) -> None:
        """Add a pair of columns: numbers of rows and probabilities, (n_column, n_other), these from some draws."""
        of_other, drawn = counts.sum(axis=0), network.sum(axis=0)
        met = (of_other > 0) & (drawn > 0)
        if (n_met := int(met.sum())) < 2:
            return
        share, probability = counts[:, met] / of_other[met], network[:, met] / drawn[met]
        n = np.broadcast_to(1 / (1 / of_other[met] + 1 / (n_draws * drawn[met])), share.shape)
        spread = probability * (1 - probability)
        counted = n * spread >= _LEAST_VARIANCE
        noise = (n_met - 1) / n_met
        self.excess += float(
            (n[counted] * np.square(share - probability)[counted] / spread[counted] - noise).sum()
        )
        self.n_shares += int(counted.sum())
        self.weight += float(n[counted].sum())
        self.rows += float(np.broadcast_to(of_other[met], share.shape)[counted].sum())

    @property
    def share(self) -> float | None:
        """The misfit, as a share of a standard deviation; None if no pair tells."""
        if not self.rows:
            return None
        seen = max(self.excess, 0.0) / self.weight
        return float(np.sqrt(seen + _UNSEEN * self.n_shares / self.rows))


class _JointCells:
    """Rows and draws of two columns in all combinations of their fine cells."""

    def __init__(
        self, first: _CheckedColumn, second: _CheckedColumn, weights: NDArray[np.float64] | None
    ) -> None:
        sizes = [first.n_fine, second.n_fine]
        self.rows = crossed([first.rows, second.rows], sizes, weights)
        self.draws = crossed([first.draws, second.draws], sizes)
        self.n_draws = len(first.draws)
        self.has_gaps = first.has_gaps or second.has_gaps

    def turned(self) -> Self:
        """Return the cells with the second column first."""
        other = copy(self)
        other.rows, other.draws = self.rows.T, self.draws.T
        return other

    def over(
        self, first: NDArray[np.int64], second: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return weights of rows and probabilities of the network over cells that begin at some fine cells."""
        of_rows, of_draws = (
            np.add.reduceat(np.add.reduceat(fine, first, 0), second, 1) for fine in (self.rows, self.draws)
        )
        of_network = of_draws / self.n_draws
        if self.has_gaps and of_rows.any():
            of_network = with_margins(of_network, of_rows / of_rows.sum())
        return of_rows, of_network


def crossed(
    codes: Sequence[NDArray[np.int64]], cards: Sequence[int], weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the weights of the rows of all combinations of cells, float64 (*cards,); missing cells do not count."""
    if any(of_column.min(initial=0) < 0 for of_column in codes):
        known = np.logical_and.reduce([of_column >= 0 for of_column in codes])
        codes = [of_column[known] for of_column in codes]
        weights = None if weights is None else weights[known]
    joint = codes[0]
    for of_column, card in zip(codes[1:], cards[1:], strict=True):
        joint = joint * card + of_column
    return np.bincount(joint, weights, prod(cards)).reshape(cards).astype(np.float64)


def chosen_pairs(adjacency: NDArray[np.int8], cards: Sequence[int], most: int) -> list[tuple[int, int]]:
    """Return the pairs of columns with several bins or levels that are compared, as positions in column order.

    There are at most `most`, of the nearest columns.
    """
    varying = [v for v, card in enumerate(cards) if card > 1]
    pairs = [(first, second) for k, first in enumerate(varying) for second in varying[k + 1 :]]
    if len(pairs) <= most:
        return pairs
    joined = (adjacency + adjacency.T).astype(np.float32)
    nearness = joined @ joined + len(cards) * joined
    firsts, seconds = np.transpose(pairs)
    nearest = np.argsort(-nearness[firsts, seconds], kind="stable")[:most]
    return [pairs[position] for position in np.sort(nearest)]
