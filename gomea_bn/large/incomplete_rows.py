"""Probability tables of all rows of which some are incomplete, by steps of expectation and maximisation over pieces."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gomea_bn.large.cells import BLOCK_ROWS, CodedPiece
from gomea_bn.large.counters.plan import CountPlan, OfPiece, View
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.distributions.expected_tables import N_DRAWS, N_STEPS, completed_codes
from gomea_bn.network.tables import table_of_counts, table_of_expectation

__all__ = ["PieceSums", "network_of_counts", "with_expected_tables"]

# draws of a step: a table with more incomplete rows has fewer draws of every row
_MOST_DRAWS = 10_000_000
# rows whose bins take four bytes a column at once; blocks of cells take one
_ROWS_OF_CODES = 65_536
# incomplete rows that are completed together
_ROWS_OF_DRAWS = 8_192
# any fixed number: the same pieces must give the same tables
_SEED = 20240219


class PieceSums(Protocol):
    """Adds arrays over the cells of all pieces."""

    def total(self, of_piece: OfPiece) -> NDArray[np.int64]:
        """Return the sum of an array over all pieces, in their order."""


@dataclass(frozen=True)
class CompletedCounts:
    """Counts of the families of a network over one piece, whose incomplete rows are completed by draws.

    Attributes
    ----------
    network : DiscretizedBayesNet
        Every incomplete row is drawn from it given its observed values. Rows that are impossible do not count.
    views : sequence of View
        Bin or level of every cell, by column in the order of the network.
    n_draws : int
        Number of completions of every incomplete row; a complete row counts as often.
    step : int
        Number of the step, so that draws of all steps and pieces are independent.
    """

    network: DiscretizedBayesNet
    views: Sequence[View]
    n_draws: int
    step: int

    def __call__(self, position: int, piece: CodedPiece) -> NDArray[np.int64]:
        """Return the counts of a piece, int64 (n_cells,) of all tables one after another, times `n_draws`."""
        generator = np.random.default_rng([_SEED, self.step, position])
        plan = CountPlan(_family_views(self.network))
        complete, completed = np.zeros(plan.n_cells, np.int64), np.zeros(plan.n_cells, np.int64)
        parts = (
            block[:, first : first + _ROWS_OF_CODES]
            for block in piece.blocks()
            for first in range(0, block.shape[1], _ROWS_OF_CODES)
        )
        for cells in parts:
            codes = self._codes(cells)
            is_complete = (codes >= 0).all(axis=0)
            plan.count([_piece_of(codes[:, is_complete])], complete)
            incomplete = np.ascontiguousarray(codes[:, ~is_complete].T)
            for first in range(0, len(incomplete), _ROWS_OF_DRAWS):
                rows = incomplete[first : first + _ROWS_OF_DRAWS]
                drawn = completed_codes(self.network, rows, self.n_draws, generator)
                drawn = drawn.reshape(-1, len(self.views))
                plan.count([_piece_of(drawn[drawn[:, 0] >= 0].T)], completed)
        return self.n_draws * complete + completed

    def _codes(self, cells: NDArray[np.uint8]) -> NDArray[np.int32]:
        """Return the bins or levels of cells, int32 (n_columns, n_rows), -1 where missing."""
        codes = np.empty(cells.shape, np.int32)
        for position, view in enumerate(self.views):
            codes[position] = np.frombuffer(view.lookup, np.uint8)[cells[view.column]]
            if view.has_missing:
                codes[position][codes[position] == view.cardinality] = -1
        return codes


def _family_views(network: DiscretizedBayesNet) -> list[list[View]]:
    """Return the families of a network, in its order, for columns whose cells are their bins or levels."""
    views = {
        name: View.of_codes(v, np.arange(network.cardinality(name)), network.cardinality(name))
        for v, name in enumerate(network.names)
    }
    return [[*(views[parent] for parent in network.parents(name)), views[name]] for name in network.names]


def network_of_counts(
    names: Sequence[str],
    edges: Sequence[tuple[str, str]],
    counts: Sequence[NDArray[np.int64]],
    parts: Mapping[str, Any],
) -> DiscretizedBayesNet:
    """Return the network whose tables are counted.

    Parameters
    ----------
    names, edges
        As of `DiscretizedBayesNet`.
    counts : sequence of ndarray, int64 (card(parent_1), ..., card(child))
        Number of rows of every cell, by variable.
    parts : mapping of str to object
        Further keywords of `DiscretizedBayesNet`; `pseudo_count` smoothes the tables.
    """
    smoothing = parts["pseudo_count"]
    tables = {
        name: table_of_counts(of_family.astype(np.float64), smoothing)
        for name, of_family in zip(names, counts, strict=True)
    }
    return DiscretizedBayesNet(names, edges, tables=tables, **parts)


def with_expected_tables(
    network: DiscretizedBayesNet,
    available: Sequence[NDArray[np.int64]],
    views: Sequence[View],
    rows: PieceSums,
    announce: Callable[[str], object],
) -> DiscretizedBayesNet:
    """Return a network with the tables after some steps of expectation and maximisation from its own tables.

    These are the steps of tables in memory (`network.distributions.expected_tables`), one pass over all rows each. A
    network of complete rows stays as it is.

    Parameters
    ----------
    network : DiscretizedBayesNet
        With tables counted from available cases.
    available : sequence of ndarray, int64 (card(parent_1), ..., card(child))
        These counts, to which the smoothing "auto" is fitted.
    views : sequence of View
        See `CompletedCounts`.
    rows : PieceSums
    announce : callable
        Receives a line on every pass.
    """
    if not any(view.has_missing for view in views):
        return network
    n_draws = int(np.clip(_MOST_DRAWS // network.metadata["n_rows"], 1, N_DRAWS))
    plan = CountPlan(_family_views(network))
    for step in range(N_STEPS):
        announce(f"Completing rows with missing values by draws: pass {step + 1} of {N_STEPS} over all rows.")
        totals = rows.total(CompletedCounts(network, views, n_draws, step))
        tables = {
            name: table_of_expectation(
                counts / n_draws, of_available.astype(np.float64), network.pseudo_count or 0.0
            )
            for name, counts, of_available in zip(network.names, plan.tables(totals), available, strict=True)
        }
        network = network.changed(tables=tables)
    return network


def _piece_of(codes: NDArray[np.int32]) -> CodedPiece:
    """Return rows, int32 (n_columns, n_rows) without missing values, as a piece whose cells are the codes."""
    cells = np.ascontiguousarray(codes, np.uint8)
    blocks = [
        np.ascontiguousarray(cells[:, first : first + BLOCK_ROWS])
        for first in range(0, cells.shape[1], BLOCK_ROWS)
    ]
    return CodedPiece(cells.shape[1], len(cells), np.zeros(len(cells), np.int64), {}, blocks)
