"""Checks of a network against its rows: the probabilities of all pairs of columns over their bins.

The network draws rows, and the shares of their cells are compared with those of the rows that it was learned from. A
cell is off if the difference is more than four standard errors, of the rows and the draws together. Of every pair that
has such a cell, the worst one is kept in the metadata, next to the numbers of rows that answers are compared with, and
the misfit of every column, by which intervals of answers widen; it is measured given eighths of the rows by the other
column. A column in one shown bin is compared over quarters of its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
_LEAST_LATE_DRAWS = 5_000
# seconds that a drawn value takes, with its comparisons
_SECONDS_OF_DRAWN_VALUE = 1.3e-6
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

Codes = list[NDArray[np.int64]]
"""Bins or levels of every column, -1 for a missing cell."""


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
    alone. A clock may leave time for fewer draws.

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
    names, known = ordered.names, {column.name: column.values for column in rows.columns}
    quarters = {
        column.name: equal_frequency_cuts(column.observed, 4)
        for column in rows.columns
        if column.name in ordered.cut_points and not len(ordered.cut_points[column.name])
    }
    cuts = {**ordered.cut_points, **quarters}
    weights = np.ones(table.n_rows) if weights is None else weights / weights.mean()
    if n_evidence is None:
        n_evidence = int(weights.sum() ** 2 / (weights @ weights))
    n_draws = _n_draws(n_evidence)
    n_draws = clock.affordable(
        n_draws, _SECONDS_OF_DRAWN_VALUE * len(ordered.names), _LEAST_LATE_DRAWS, DRAWS
    )
    drawn = drawn_values(ordered, n_draws, np.random.default_rng([_SALT, seed]))

    def codes_of(values: dict[str, NDArray[Any]], name: str) -> NDArray[np.int64]:
        codes = bin_codes(values[name], cuts[name]) if name in cuts else values[name]
        return np.asarray(codes, np.int64)

    observed = [np.where(column.is_missing, -1, codes_of(known, column.name)) for column in rows.columns]
    has_gaps = [bool((codes < 0).any()) for codes in observed]
    of_draws = [codes_of(drawn, name) for name in names]
    cards = [len(cuts[name]) + 1 if name in cuts else ordered.cardinality(name) for name in names]
    pairs = chosen_pairs(ordered.adjacency_matrix, cards)
    off: list[tuple[float, dict[str, Any]]] = []
    counts: dict[tuple[int, ...], NDArray[np.float64]] = {}
    misfits = {name: Misfit() for name in names}
    # shown bins are where a network is nearest to its rows; findings may be any others
    even = {name: equal_frequency_cuts(known[name][~np.isnan(known[name])], _EVEN_CELLS) for name in cuts}
    even_rows, even_draws = (
        [
            np.where(codes < 0, -1, bin_codes(values[name], even[name])) if name in even else codes
            for name, codes in zip(names, of_values, strict=True)
        ]
        for values, of_values in ((known, observed), (drawn, of_draws))
    )
    even_cards = [
        len(even[name]) + 1 if name in even else card for name, card in zip(names, cards, strict=True)
    ]

    def both(first: Codes, second: Codes, sizes: list[int], *, gaps: bool) -> list[NDArray[np.float64]]:
        """Return weights of the rows of two columns by cells, and probabilities of the network."""
        of_rows = crossed([first[0], second[0]], sizes, weights)
        of_network = crossed([first[1], second[1]], sizes) / n_draws
        if gaps and of_rows.any():
            of_network = with_margins(of_network, of_rows / of_rows.sum())
        return [of_rows, of_network]

    for first, second in pairs:
        n_first, n_second = cards[first], cards[second]
        of_first, of_second = ([observed[v], of_draws[v]] for v in (first, second))
        is_gappy = has_gaps[first] or has_gaps[second]
        of_rows, of_network = both(of_first, of_second, [n_first, n_second], gaps=is_gappy)
        if not {names[first], names[second]} & quarters.keys():
            counts[first, second] = of_rows
        if not (n_known := of_rows.sum()):
            continue
        share = of_rows / n_known
        # the larger variance of the two is right where one of them has hardly any rows
        variance = np.maximum(share * (1 - share), of_network * (1 - of_network))
        errors = np.sqrt(variance * (table.n_rows / (n_evidence * n_known) + 1 / n_draws))
        away = np.divide(np.abs(share - of_network), errors, out=np.zeros_like(errors), where=errors > 0)
        for (v, of_column), other in zip(
            ((first, of_first), (second, of_second)), (second, first), strict=True
        ):
            of_other = [even_rows[other], even_draws[other]]
            of_pair, of_both = both(of_column, of_other, [cards[v], even_cards[other]], gaps=is_gappy)
            misfits[names[v]].add(of_pair * (n_evidence / table.n_rows), of_both, n_draws)
        cell = int(away.argmax())
        if away.flat[cell] > _MOST_ERRORS:
            entry = {
                "columns": [names[first], names[second]],
                "cells": [cell // n_second, cell % n_second],
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
                counts[members] = crossed(
                    [observed[v] for v in members], [cards[v] for v in members], weights
                )
        gaps = [name for name, is_gappy in zip(names, has_gaps, strict=True) if is_gappy]
        entries[ROW_COUNTS] = record_of_counts(names, table.n_rows, n_evidence, gaps, counts)
    return network.with_metadata(**entries)


def seconds_of_checks(n_rows: int, n_columns: int) -> float:
    """Return about the seconds that the check of a network takes, whose rows are all evidence."""
    return _SECONDS_OF_DRAWN_VALUE * n_columns * _n_draws(n_rows)


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


def crossed(
    codes: Codes, cards: Sequence[int], weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the weights of the rows of all combinations of cells, float64 (*cards,); missing cells do not count."""
    known = np.logical_and.reduce([of_column >= 0 for of_column in codes])
    if not known.all():
        codes, weights = (
            [of_column[known] for of_column in codes],
            None if weights is None else weights[known],
        )
    joint = codes[0]
    for of_column, card in zip(codes[1:], cards[1:], strict=True):
        joint = joint * card + of_column
    return np.bincount(joint, weights, prod(cards)).reshape(cards).astype(np.float64)


def chosen_pairs(adjacency: NDArray[np.int8], cards: Sequence[int]) -> list[tuple[int, int]]:
    """Return the pairs of columns with several bins or levels that are compared, as positions in column order."""
    varying = [v for v, card in enumerate(cards) if card > 1]
    pairs = [(first, second) for k, first in enumerate(varying) for second in varying[k + 1 :]]
    most = max(_MOST_PAIRS, _PAIRS_PER_COLUMN * len(cards))
    if len(pairs) <= most:
        return pairs
    joined = (adjacency + adjacency.T).astype(np.float32)
    nearness = joined @ joined + len(cards) * joined
    firsts, seconds = np.transpose(pairs)
    nearest = np.argsort(-nearness[firsts, seconds], kind="stable")[:most]
    return [pairs[position] for position in np.sort(nearest)]
