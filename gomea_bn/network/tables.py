"""Probability tables of a network: counting rows, looking up cells and drawing values, on arrays of codes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.dates import date_texts
from gomea_bn.errors import GomeaBnError
from gomea_bn.network.smoothing import PseudoCount, fitted_smoothing, smoothed, smoothed_and_left_out
from gomea_bn.texts import counted

# one gigabyte of float64
_MOST_CELLS = 2**27
# rows whose int64 positions stay in the cache of a core
_ROWS_IN_CACHE = 1 << 16
# NumPy allows 64 axes
_MOST_AXES = 63


def bin_widths(cuts: NDArray[np.float64], support: tuple[float, float]) -> NDArray[np.float64]:
    """Return the widths of the bins, float64 (n_bins,), in original units; the end bins end at the support."""
    return np.diff(np.concatenate(([support[0]], cuts, [support[1]])))


def family_index(
    codes: Sequence[NDArray[np.int32]], parents: Sequence[int], child: int, cards: Sequence[int]
) -> NDArray[np.int64]:
    """Return for every row its position in the child's flattened table (C order), int64 (n_rows,)."""
    index = np.zeros(len(codes[child]), dtype=np.int64)
    for position in (*parents, child):
        index *= cards[position]
        index += codes[position]
    return index


def table_of_counts(
    counts: NDArray[np.float64], pseudo_count: PseudoCount, available: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return P(child | parents) from counts of rows, both float64 (card(parent_1), ..., card(child)).

    P = (n_cell + pseudo_count / card(child)) / (n_row + pseudo_count). A table row is uniform if it has neither rows of
    data nor pseudo-counts. With "auto" the table is smoothed by `fitted_smoothing`, which for expected counts is fitted
    to those of `available` cases.
    """
    if pseudo_count == "auto":
        if available is None:
            return smoothed_and_left_out(counts)[0]
        return smoothed(counts, fitted_smoothing(available))
    return _evenly_smoothed(counts, counts.sum(axis=-1, keepdims=True), pseudo_count)


def table_and_left_out(
    codes: Sequence[NDArray[np.int32]],
    parents: Sequence[int],
    child: int,
    cards: Sequence[int],
    pseudo_count: PseudoCount,
    name: str,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the table of the counts of rows, and the probability of the child's code in every row of the data.

    The row is left out of the counts for its own probability, float64 (n_rows,). All rows of a cell have the same
    probability, so it takes one division per cell.
    """
    table, left_out = table_and_left_out_cells(
        family_counts(codes, parents, child, cards, name), pseudo_count
    )
    return table, left_out.ravel()[family_index(codes, parents, child, cards)]


def table_and_left_out_cells(
    counts: NDArray[np.float64], pseudo_count: PseudoCount
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the table of counts, and the probability of every cell with one of its rows left out, of their shape."""
    if pseudo_count == "auto":
        return smoothed_and_left_out(counts)
    totals = counts.sum(axis=-1, keepdims=True)
    return (
        _evenly_smoothed(counts, totals, pseudo_count),
        _evenly_smoothed(counts - 1, totals - 1, pseudo_count),
    )


def family_counts(
    codes: Sequence[NDArray[np.int32]],
    parents: Sequence[int],
    child: int,
    cards: Sequence[int],
    name: str,
    weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the number of rows per cell, float64 (card(parent_1), ..., card(child)).

    Rows count with their weights, float64 (n_rows,), if there are some. Rows in which the child or a parent is missing,
    with the code -1, do not count. Tables of more than 2**27 cells or 62 parents are refused.
    """
    shape = tuple(cards[position] for position in (*parents, child))
    n_cells = check_table_size(shape, name)
    if weights is None:
        return _rows_of_cells(codes, parents, child, cards, n_cells).reshape(shape).astype(np.float64)
    is_complete = np.logical_and.reduce([codes[member] >= 0 for member in (*parents, child)])
    index = family_index(codes, parents, child, cards)[is_complete]
    return np.bincount(index, weights[is_complete], minlength=n_cells).reshape(shape).astype(np.float64)


def check_table_size(shape: Sequence[int], name: str) -> int:
    """Return the number of cells of the table of a variable; raises for more than 2**27 cells or 62 parents.

    `shape` is (card(parent_1), ..., card(child)).
    """
    n_cells = prod(shape)
    if n_cells > _MOST_CELLS or len(shape) > _MOST_AXES:
        raise GomeaBnError(
            f"The table of '{name}' with {counted(len(shape) - 1, 'parent')} would have {counted(n_cells, 'cell')}; "
            f"the limits are {_MOST_AXES - 1} parents and {_MOST_CELLS:,} cells. Remove parents or merge bins."
        )
    return n_cells


def _rows_of_cells(
    codes: Sequence[NDArray[np.int32]], parents: Sequence[int], child: int, cards: Sequence[int], n_cells: int
) -> NDArray[np.int64]:
    """Return the number of complete rows per cell of the child's flattened table, int64 (n_cells,)."""
    members = [codes[member] for member in (*parents, child)]
    of_members = [cards[member] for member in (*parents, child)]
    last = len(members) - 1
    counts = np.zeros(n_cells, np.int64)
    # blocks of rows stay in the cache of a core; a large table is not filled more often than needed
    n_block = max(_ROWS_IN_CACHE, n_cells)
    for start in range(0, len(members[last]), n_block):
        block = [member[start : start + n_block] for member in members]
        index = family_index(block, range(last), last, of_members)
        if any(member.min() < 0 for member in block):
            index = index[np.logical_and.reduce([member >= 0 for member in block])]
        counts += np.bincount(index, minlength=n_cells)
    return counts


def _evenly_smoothed(
    counts: NDArray[np.float64], totals: NDArray[np.float64], pseudo_count: float
) -> NDArray[np.float64]:
    """Return (count + pseudo_count / card) / (total + pseudo_count), and 1 / card where the denominator is 0."""
    card = counts.shape[-1]
    table = np.full_like(counts, 1.0 / card)
    np.divide(counts + pseudo_count / card, totals + pseudo_count, out=table, where=totals + pseudo_count > 0)
    return table


def draw_codes(
    table: NDArray[np.float64], rows: NDArray[np.int64], generator: np.random.Generator
) -> NDArray[np.int32]:
    """Return one code per row, int32 (n,), drawn from `table[row]`; `table` is (n_table_rows, card)."""
    cumulated = np.cumsum(table, axis=1)
    # exactly 1 from the last cell with a positive probability on, so that no later cell is drawn
    cumulated /= cumulated[:, -1:]
    uniform = generator.random(len(rows))
    codes = np.zeros(len(rows), dtype=np.int32)
    for cell in range(table.shape[1] - 1):
        codes += uniform >= cumulated[rows, cell]
    return codes


def draw_in_bins(
    codes: NDArray[np.int32],
    cuts: NDArray[np.float64],
    support: tuple[float, float],
    generator: np.random.Generator,
) -> NDArray[np.float64]:
    """Return one value per code, float64 (n,), uniform in the bin (a, b]."""
    edges = np.concatenate(([support[0]], cuts, [support[1]]))
    low, high = edges[codes], edges[codes + 1]
    values = high - generator.random(len(codes)) * (high - low)
    # rounding must not move a value out of (a, b]
    return np.asarray(np.clip(values, np.nextafter(low, high), high), dtype=np.float64)


def edge_texts(edges: Sequence[float], fewest: int = 4) -> list[str]:
    """Return increasing numbers as text, with the fewest digits (at least `fewest`) that keep them apart.

    Numbers below 10^7 keep the digits before the decimal point, so that days, prices and populations can be read.
    """
    largest = max(map(abs, edges), default=0.0)
    whole_digits = len(f"{largest:.0f}") if largest < 1e7 else 0
    for digits in range(max(fewest, whole_digits), 17):
        texts = [f"{edge:.{digits}g}" for edge in edges]
        if all(float(low) < float(high) for low, high in pairwise(texts)):
            return texts
    return [repr(edge) for edge in edges]


def value_texts(name: str, edges: Sequence[float]) -> list[str]:
    """Return increasing values of a column as text: dates and times of day as these, others as of `edge_texts`."""
    texts = date_texts(np.array(edges, np.float64), name, edges[-1] - edges[0])
    return edge_texts(edges) if texts is None else texts


def bin_texts(name: str, cuts: NDArray[np.float64], support: tuple[float, float]) -> tuple[str, ...]:
    """Return the bins of a column as text, "[0, 1.5]", "(1.5, 3]", with edges as `value_texts` writes them."""
    texts = value_texts(name, [support[0], *cuts.tolist(), support[1]])
    return tuple(
        f"{'(' if position else '['}{low}, {high}]" for position, (low, high) in enumerate(pairwise(texts))
    )
