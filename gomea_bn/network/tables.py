"""Probability tables of a network, on arrays of codes: counts of rows, smoothing, cells and drawn values.

A table is smoothed towards tables with fewer parents, weighted by leave-one-out likelihood.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.data.dates import date_texts
from gomea_bn.errors import GomeaBnError
from gomea_bn.problems.kernels.score import concentrations
from gomea_bn.runtime.jit import kernel
from gomea_bn.texts import counted

PseudoCount: TypeAlias = float | Literal["auto", "scored"]
"""Number of pseudo-counts per table row, spread evenly over its cells; "auto": smoothing chosen from the data.

"scored", which no network stores, is that of `posterior_mean`.
"""

# nats of all left-out rows
_LEAST_GAIN = 1.0

AMOUNTS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
"""Numbers of pseudo-counts per table row over which the smoothing "auto" averages."""

MOST_FILE_CELLS = 1_000_000
"""Most cells of all tables of a file."""

MOST_COMPUTED_CELLS = 2**22
"""Most cells of one table that is computed from a network, or made of a file that holds less."""

MOST_SHOWN_CELLS = 200
"""Most cells of a table that people read."""

# exponent of the likelihoods; below 1 because cuts and parents were often chosen with the same rows
_POWER = 0.25

# one gigabyte of float64
_MOST_CELLS = 2**27
MOST_AXES = 63
"""NumPy allows 64 axes."""


@dataclass(frozen=True)
class Smoothing:
    """The smoothing of a table: P = sum of weight * (n_cell + amount * base) / (n_row + amount).

    `parents` are the axes of the full array of counts that are the parents of this table. `bases` are those towards
    which it is smoothed, which have fewer parents; None is the uniform distribution. Each base has one weight per entry
    of `AMOUNTS`, and all of them sum to 1.
    """

    parents: tuple[int, ...]
    bases: tuple[Smoothing | None, ...]
    weights: tuple[tuple[float, ...], ...]


class _Fitted(NamedTuple):
    """A smoothed table: its smoothing, None if it is uniform, its probabilities, and those with a row left out.

    Every cell is without one of its own rows in `left_out`, and has 0 there if it has none.
    """

    smoothing: Smoothing | None
    table: NDArray[np.float64]
    left_out: NDArray[np.float64]


def fitted_smoothing(counts: NDArray[np.float64]) -> Smoothing:
    """Return the smoothing of a table that fits its rows best when each row is left out of the counts.

    The table without parents has one base, the uniform distribution. Any other table has three: uniform, the table
    without parents, and the table with one parent fewer. The parent to drop is chosen by the smaller table: smoothed
    towards the table without parents by the best amount, it has the greatest leave-one-out likelihood. Bases are
    smoothed in the same way.

    Every pair of a base and an amount has a weight in proportion to the fourth root of its leave-one-out likelihood
    (pseudo-Bayes factors: Geisser & Eddy, "A predictive approach to model selection", 1979). The root is an addition:
    where the same rows chose graph and cuts, the likelihood overrates small amounts.
    """
    smoothing = _fitted_from_root(counts).smoothing
    assert smoothing is not None
    return smoothing


def smoothed_and_left_out(counts: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return P(child | parents) under the fitted smoothing, and P of every cell with one of its rows left out.

    The smoothing is that of all rows; only the counts leave the row out. Both arrays have the shape of `counts`. Cells
    without rows have 0 in the second one.
    """
    _, table, left_out = _fitted_from_root(counts)
    return table, left_out


def smoothing_of(
    pseudo_count: PseudoCount | None,
    metadata: Mapping[str, Any],
    levels: Container[str],
    members: Iterable[str],
) -> PseudoCount:
    """Return the smoothing of a family's table in a network with metadata; `levels` contains its discrete columns.

    A network of unknown smoothing has "auto". Tables of discrete columns keep what their score says, unless a number of
    pseudo-counts was asked for.
    """
    if pseudo_count is None or pseudo_count == "auto":
        is_scored = metadata.get("equivalent") is True and all(name in levels for name in members)
        return "scored" if is_scored else "auto"
    return pseudo_count


def posterior_mean(
    counts: NDArray[np.float64], n_left_out: float = 0.0, available: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the mean of P(child | parents) after the rows, under the prior of the equivalent score of a table.

    Given an equivalent sample size a, the cells of the joint table have the Dirichlet prior a / cells; the sizes have
    the weights that the joint table gives them, or that of `available` rows. Every cell is without `n_left_out` of its
    own rows, which its weights know.
    """
    # looked up here, since a network that is read and asked needs no special functions
    gammaln = scipy.special.gammaln
    occupied = counts if available is None else available
    occupied = occupied[occupied > 0]
    n_rows, n_cells = float(occupied.sum()), counts.size
    sizes = np.array(concentrations(n_rows))
    of_cell = sizes[:, None] / n_cells
    logs = (
        (gammaln(of_cell + occupied) - gammaln(of_cell)).sum(axis=1)
        + gammaln(sizes)
        - gammaln(sizes + n_rows)
    )
    weights = np.exp(logs - logs.max())
    totals = np.maximum(counts.sum(axis=-1, keepdims=True) - n_left_out, 0.0)
    of_counts = np.maximum(counts - n_left_out, 0.0)
    table = np.zeros(counts.shape)
    for weight, cell in zip(weights / weights.sum(), of_cell[:, 0]):
        table += weight * (of_counts + cell) / (totals + cell * counts.shape[-1])
    return table


def _is_smoothed(counts: NDArray[np.float64]) -> bool:
    """Return whether left-out rows gain more than a nat by the fitted smoothing, in place of `posterior_mean`.

    Equal pseudo-counts of all cells fit a table badly that has more parents than its score would choose.
    """
    if counts.ndim == 1:
        return False
    has_rows = counts > 0
    of_rows = counts[has_rows]
    with np.errstate(divide="ignore"):
        smoothed_loss, loss = (
            -float(of_rows @ np.log(left_out[has_rows]))
            for left_out in (smoothed_and_left_out(counts)[1], posterior_mean(counts, 1.0))
        )
    return loss - smoothed_loss > _LEAST_GAIN


def smoothed(counts: NDArray[np.float64], smoothing: Smoothing) -> NDArray[np.float64]:
    """Return P(child | parents), of the shape of `counts`, whose axes are the smoothing's parents and the child."""
    counts, bases = _for_kernels(counts), smoothing.bases
    tables = [
        _uniform(counts) if base is None else smoothed(_summed(counts, smoothing.parents, base.parents), base)
        for base in bases
    ]
    weights = np.array(smoothing.weights)
    return _mixture(
        counts, 0.0, _stacked(tables), _rows_of_bases(counts.shape, smoothing.parents, bases), weights
    )


def _fitted_from_root(counts: NDArray[np.float64]) -> _Fitted:
    """Return the smoothed table, which is made from the one without parents."""
    counts = _for_kernels(counts)
    uniform = _Fitted(None, _uniform(counts), _uniform(counts))
    root = _averaged(_summed(counts, tuple(range(counts.ndim - 1)), ()), (), [uniform])
    return _fitted(counts, tuple(range(counts.ndim - 1)), [uniform, root])


def _for_kernels(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return counts in the memory layout for which kernels are compiled."""
    return np.require(counts, np.float64, ["C", "W"])


def _uniform(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.full(counts.shape[-1], 1 / counts.shape[-1])


def _fitted(counts: NDArray[np.float64], parents: tuple[int, ...], first: list[_Fitted]) -> _Fitted:
    """Return the smoothed table of counts, given the first two bases: the uniform one, and the one without parents."""
    root = first[1]
    if not parents:
        return root
    if len(parents) == 1:
        return _averaged(counts, parents, first)
    fewer = _best_without_one(counts, parents, root.left_out)
    return _averaged(counts, parents, [*first, _fitted(_summed(counts, parents, fewer), fewer, first)])


def _best_without_one(
    counts: NDArray[np.float64], parents: tuple[int, ...], marginal: NDArray[np.float64]
) -> tuple[int, ...]:
    """Return the parents without the one whose removal leaves the greatest likelihood, smoothed to the marginal."""
    best, best_parents = -np.inf, parents
    for position in range(len(parents)):
        fewer = (*parents[:position], *parents[position + 1 :])
        of_fewer = _summed(counts, parents, fewer)
        of_rows = np.zeros((1, of_fewer.size // len(marginal)), np.int64)
        likelihood = _likelihoods(of_fewer, marginal[None], of_rows).max()
        if likelihood > best:
            best, best_parents = likelihood, fewer
    return best_parents


def _averaged(counts: NDArray[np.float64], parents: tuple[int, ...], bases: Sequence[_Fitted]) -> _Fitted:
    """Return the table that is smoothed by the average over bases and amounts."""
    smoothings = [base.smoothing for base in bases]
    of_rows = _rows_of_bases(counts.shape, parents, smoothings)
    left_out = _stacked([base.left_out for base in bases])
    logs = _likelihoods(counts, left_out, of_rows)
    weights = np.exp(_POWER * (logs - logs.max()))
    weights /= weights.sum()
    return _Fitted(
        Smoothing(parents, tuple(smoothings), tuple(map(tuple, weights.tolist()))),
        _mixture(counts, 0.0, _stacked([base.table for base in bases]), of_rows, weights),
        _mixture(counts, 1.0, left_out, of_rows, weights),
    )


def _stacked(tables: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the rows of all tables, (n, card)."""
    return np.concatenate([table.reshape(-1, table.shape[-1]) for table in tables])


def _rows_of_bases(
    shape: tuple[int, ...], parents: tuple[int, ...], bases: Sequence[Smoothing | None]
) -> NDArray[np.int64]:
    """Return where every row of a table lies in each base, int64 (n_bases, n_rows); the bases are stacked."""
    of_rows = np.empty((len(bases), *shape[:-1]), np.int64)
    start = 0
    for k, base in enumerate(bases):
        fewer = () if base is None else base.parents
        kept = [card if parent in fewer else 1 for card, parent in zip(shape, parents)]
        of_rows[k] = np.arange(start, start + prod(kept)).reshape(kept)
        start += prod(kept)
    return of_rows.reshape(len(bases), -1)


def _summed(
    counts: NDArray[np.float64], parents: tuple[int, ...], fewer: tuple[int, ...]
) -> NDArray[np.float64]:
    """Return the counts summed over the parents that are not in `fewer`."""
    axes = tuple(axis for axis, parent in enumerate(parents) if parent not in fewer)
    return _for_kernels(counts.sum(axis=axes))


def _likelihoods(
    counts: NDArray[np.float64], bases: NDArray[np.float64], of_rows: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the leave-one-out log likelihood of every base and amount, (n_bases, n_amounts).

    `bases` also leave the row out. All rows of a cell have the same probability when one of them is left out, so one
    value per cell is exact. A cell of less than one row, as weights make it, is left out as a whole.
    """
    likelihoods = np.zeros((len(of_rows), len(AMOUNTS)))
    _add_likelihoods(counts.reshape(-1, counts.shape[-1]), bases, of_rows, likelihoods)
    return likelihoods


def _mixture(
    counts: NDArray[np.float64],
    n_left_out: float,
    bases: NDArray[np.float64],
    of_rows: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the mean of smoothed tables, of the shape of `counts`; every cell is without 0 or 1 of its own rows."""
    table = np.zeros(counts.shape)
    cells = counts.reshape(-1, counts.shape[-1])
    _add_mixture(cells, n_left_out, bases, of_rows, weights, table.reshape(cells.shape))
    return table


@kernel
def _add_likelihoods(
    counts: NDArray[np.float64], bases: NDArray[np.float64], of_rows: NDArray[np.int64],
    likelihoods: NDArray[np.float64],
) -> int:  # fmt: skip
    for row in range(len(counts)):
        fewer_in_row = max(counts[row].sum() - 1.0, 0.0)
        for child in range(counts.shape[1]):
            count = counts[row, child]
            if count == 0.0:
                continue
            for base in range(len(of_rows)):
                prior = bases[of_rows[base, row], child]
                for k in range(len(AMOUNTS)):
                    left_out = (max(count - 1.0, 0.0) + AMOUNTS[k] * prior) / (fewer_in_row + AMOUNTS[k])
                    likelihoods[base, k] += count * np.log(left_out)
    return 0


@kernel
def _add_mixture(
    counts: NDArray[np.float64], n_left_out: float, bases: NDArray[np.float64], of_rows: NDArray[np.int64],
    weights: NDArray[np.float64], table: NDArray[np.float64],
) -> int:  # fmt: skip
    for row in range(len(counts)):
        in_row = max(counts[row].sum() - n_left_out, 0.0)
        for base in range(len(of_rows)):
            of_count, of_base = 0.0, 0.0
            for k in range(len(AMOUNTS)):
                share = weights[base, k] / (in_row + AMOUNTS[k])
                of_count += share
                of_base += share * AMOUNTS[k]
            for child in range(counts.shape[1]):
                count = counts[row, child]
                if count > 0.0 or n_left_out == 0.0:
                    prior = bases[of_rows[base, row], child]
                    table[row, child] += of_count * max(count - n_left_out, 0.0) + of_base * prior
    return 0


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
    to those of `available` cases, as the weights of "scored" are.
    """
    if pseudo_count == "scored":
        if not _is_smoothed(counts if available is None else available):
            return posterior_mean(counts, available=available)
        pseudo_count = "auto"
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
    if pseudo_count == "scored":
        if not _is_smoothed(counts):
            return posterior_mean(counts), posterior_mean(counts, 1.0)
        pseudo_count = "auto"
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
    if n_cells > _MOST_CELLS or len(shape) > MOST_AXES:
        raise GomeaBnError(
            f"The table of '{name}' with {counted(len(shape) - 1, 'parent')} would have {counted(n_cells, 'cell')}; "
            f"the limits are {MOST_AXES - 1} parents and {_MOST_CELLS:,} cells. Remove parents or merge bins."
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
    n_block = max(1 << 16, n_cells)
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
