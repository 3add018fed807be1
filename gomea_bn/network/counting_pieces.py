"""Expected counts of the families of a network over rows with missing values, in passes over the pieces of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.cells import CountPlan, View
from gomea_bn.data.columns import ROWS_IN_CACHE
from gomea_bn.data.content_order import FIXED_SEED
from gomea_bn.data.row_counters import BLOCK_ROWS, Coded, OfPiece
from gomea_bn.network.counting import N_COMPLETIONS, N_STEPS, CompletesRows, completed_codes
from gomea_bn.network.recorded import NetworkLike

# incomplete rows that are completed together
_ROWS_OF_DRAWS = 8_192


def _completed_counts(
    network: NetworkLike, views: Sequence[View], n_draws: int, step: int, position: int, piece: Coded
) -> NDArray[np.int64]:
    """Return the counts of all tables over a piece, int64 (n_cells,) one after another, times `n_draws`.

    Every incomplete row is drawn from the network given its observed values, `n_draws` times; a complete row counts as
    often, and impossible rows do not count. `views` give the bin or level of every cell, by column in the order of the
    network. Draws of all steps and pieces are independent.
    """
    generator = np.random.default_rng([FIXED_SEED, step, position])
    plan = CountPlan(_family_views(network))
    complete, completed = np.zeros(plan.n_cells, np.int64), np.zeros(plan.n_cells, np.int64)
    parts = (
        block[:, first : first + ROWS_IN_CACHE]
        for block in piece.blocks()
        for first in range(0, block.shape[1], ROWS_IN_CACHE)
    )
    for cells in parts:
        codes = _codes(views, cells)
        is_complete = (codes >= 0).all(axis=0)
        plan.count([_piece_of(codes[:, is_complete])], complete)
        incomplete = np.ascontiguousarray(codes[:, ~is_complete].T)
        for first in range(0, len(incomplete), _ROWS_OF_DRAWS):
            rows = incomplete[first : first + _ROWS_OF_DRAWS]
            drawn = completed_codes(network, rows, n_draws, generator)
            drawn = drawn.reshape(-1, len(views))
            plan.count([_piece_of(drawn[drawn[:, 0] >= 0].T)], completed)
    return n_draws * complete + completed


def _codes(views: Sequence[View], cells: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return the bins or levels of cells, int32 (n_columns, n_rows), -1 where missing."""
    codes = np.empty(cells.shape, np.int32)
    for position, view in enumerate(views):
        codes[position] = np.frombuffer(view.lookup, np.uint8)[cells[view.column]]
        if view.has_missing:
            codes[position][codes[position] == view.cardinality] = -1
    return codes


def _family_views(network: NetworkLike) -> list[list[View]]:
    """Return the families of a network, in its order, for columns whose cells are their bins or levels."""
    views = {
        name: View.of_codes(v, np.arange(network.cardinality(name)), network.cardinality(name))
        for v, name in enumerate(network.names)
    }
    return [[*(views[parent] for parent in network.parents(name)), views[name]] for name in network.names]


def completes_pieces(
    views: Sequence[View],
    parents: Iterable[int],
    n_rows: int,
    total: Callable[[OfPiece], NDArray[np.int64]],
    announce: Callable[[str], object],
    is_over: Callable[[], bool] = bool,
) -> CompletesRows | None:
    """Return the step that completes the rows of all pieces in a pass over them; None if no parent has gaps.

    `parents` are the positions of columns with children; the missing value of another column changes no expected count
    of the rows that have values. `total` returns the sum of an array over all pieces, in their order. `announce`
    receives a line on every pass, and `is_over` says whether there is no time for another one.
    """
    if not any(views[parent].has_missing for parent in parents):
        return None
    # draws of a step: a table with more incomplete rows has fewer draws of every row
    n_draws = int(np.clip(10_000_000 // n_rows, 1, N_COMPLETIONS))

    def completed(network: NetworkLike, step: int) -> list[NDArray[np.float64]] | None:
        if is_over():
            return None
        announce(f"Completing rows with missing values by draws: pass {step + 1} of {N_STEPS} over all rows.")
        totals = total(partial(_completed_counts, network, views, n_draws, step))
        return [counts / n_draws for counts in CountPlan(_family_views(network)).tables(totals)]

    return completed


def _piece_of(codes: NDArray[np.int32]) -> Coded:
    """Return rows, int32 (n_columns, n_rows) without missing values, as a piece whose cells are the codes."""
    cells = np.ascontiguousarray(codes, np.uint8)
    blocks = [
        np.ascontiguousarray(cells[:, first : first + BLOCK_ROWS])
        for first in range(0, cells.shape[1], BLOCK_ROWS)
    ]
    return Coded(cells.shape[1], np.zeros(len(cells), np.int64), {}, blocks)
