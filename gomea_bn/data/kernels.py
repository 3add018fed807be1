"""Kernels that turn rows into cells of columns and count them, in blocks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.runtime.jit import kernel

MISSING = 255
"""Code of a missing value as a byte; codes of levels and bins are smaller."""

# rows whose codes families with small tables share
CODED_ROWS = 65_536

# cells that `count_dense` can number
MOST_NARROW = 65_536


@kernel
def count_dense(
    codes: NDArray[np.uint8],
    views: NDArray[np.int64],
    cardinality: NDArray[np.int64],
    n_views: int,
    cells: int,
    n_tables: int,
    joint: NDArray[np.uint16],
    counts: NDArray[np.int32],
) -> None:
    """Count joint configurations of `views`, the last one fastest, into ``counts[:cells]``.

    The joint codes of a block of rows, as many as `joint` takes, are formed by vector code first. Four tables avoid
    store-to-load stalls when consecutive rows hit the same cell.
    """
    n_rows, block = codes.shape[1], joint.shape[0]
    counts[: n_tables * cells] = 0
    for start in range(0, n_rows, block):
        m = min(block, n_rows - start)
        first = codes[views[0], start : start + m]
        for i in range(m):
            joint[i] = first[i]
        for v in range(1, n_views):
            column = codes[views[v], start : start + m]
            r = np.uint16(cardinality[views[v]])
            for i in range(m):
                joint[i] = np.uint16(joint[i] * r + column[i])
        if n_tables == 4:
            paired = m // 4 * 4
            for i in range(0, paired, 4):
                counts[joint[i]] += 1
                counts[cells + joint[i + 1]] += 1
                counts[2 * cells + joint[i + 2]] += 1
                counts[3 * cells + joint[i + 3]] += 1
            for i in range(paired, m):
                counts[joint[i]] += 1
        else:
            for i in range(m):
                counts[joint[i]] += 1
    if n_tables == 4:
        for c in range(cells):
            counts[c] += counts[cells + c] + counts[2 * cells + c] + counts[3 * cells + c]


@kernel
def cells_of_values(
    values: NDArray[np.float64],
    boundaries: NDArray[np.float64],
    missing: int,
    positions: NDArray[np.int32],
    cells: NDArray[np.uint8],
) -> int:
    """Fill `cells` with the number of boundaries below each value, `missing` for NaN; return the number of NaN.

    `boundaries` is ascending and has at most 254 entries. `positions` is work space of any length: every step of the
    bisection is made for as many values at once, which is vector code.
    """
    n_missing = 0
    n_boundaries = boundaries.shape[0]
    for start in range(0, values.shape[0], positions.shape[0]):
        # slices would keep the loops from becoming vector code
        m = min(positions.shape[0], values.shape[0] - start)
        for i in range(m):
            positions[i] = 0
        size = n_boundaries
        while size > 0:
            half = (size + 1) // 2
            for i in range(m):
                position = positions[i]
                is_above = values[start + i] > boundaries[position + half - 1]
                positions[i] = position + half if is_above else position
            size -= half
        for i in range(m):
            is_missing = values[start + i] != values[start + i]
            cells[start + i] = missing if is_missing else positions[i]
            n_missing += is_missing
    return n_missing


class CountWork(NamedTuple):
    """Work space of `add_counts`; mutated."""

    codes: NDArray[np.uint8]  # (n_views, CODED_ROWS)
    joint: NDArray[np.uint32]  # joint codes of some rows
    narrow: NDArray[np.uint16]  # the same for families of at most `MOST_NARROW` cells
    counts: NDArray[np.int32]  # (MOST_NARROW,)


@kernel
def add_counts(
    cells: NDArray[np.uint8],
    columns: NDArray[np.int64],
    lookups: NDArray[np.uint8],
    cardinality: NDArray[np.int64],
    members: NDArray[np.int64],
    starts: NDArray[np.int64],
    first_cell: NDArray[np.int64],
    work: CountWork,
    totals: NDArray[np.int64],
) -> int:
    """Add the counts of a block of rows to the tables of several families; return the number of families.

    Families with small tables share the codes of some rows. One with a large table counts all rows of the block at
    once, so that its table stays in the cache.

    `cells` are (n_columns, n_rows). A view has a column, a code of every cell in `lookups` (n_views, 256), and a number
    of codes. `members` are views, the last one of a family fastest; `starts` has the first member of every family, and
    `first_cell` the first entry of its table in `totals`; both end with the number of all.
    """
    n_families = starts.shape[0] - 1
    for first_row in range(0, cells.shape[1], CODED_ROWS):
        n_rows = min(CODED_ROWS, cells.shape[1] - first_row)
        for view in range(columns.shape[0]):
            of_column = cells[columns[view]]
            lookup = lookups[view]
            codes = work.codes[view]
            for i in range(n_rows):
                codes[i] = lookup[of_column[first_row + i]]
        coded = work.codes[:, :n_rows]
        for family in range(n_families):
            views = members[starts[family] : starts[family + 1]]
            first = first_cell[family]
            n_cells = first_cell[family + 1] - first
            if n_cells <= MOST_NARROW:
                # cells of which four tables fit into the first cache
                n_tables = 4 if n_cells <= 1024 else 1
                count_dense(
                    coded, views, cardinality, views.shape[0], n_cells, n_tables, work.narrow, work.counts
                )
                for cell in range(n_cells):
                    totals[first + cell] += work.counts[cell]
    for family in range(n_families):
        if first_cell[family + 1] - first_cell[family] > MOST_NARROW:
            views = members[starts[family] : starts[family + 1]]
            _add_to_large(
                cells, columns, lookups, cardinality, views, work.joint, totals[first_cell[family] :]
            )
    return n_families


@kernel
def _add_to_large(
    cells: NDArray[np.uint8],
    columns: NDArray[np.int64],
    lookups: NDArray[np.uint8],
    cardinality: NDArray[np.int64],
    views: NDArray[np.int64],
    joint: NDArray[np.uint32],
    table: NDArray[np.int64],
) -> None:
    """Add the counts of a block of rows to the table of one family; arguments as of `add_counts`."""
    for start in range(0, cells.shape[1], joint.shape[0]):
        m = min(joint.shape[0], cells.shape[1] - start)
        for i in range(m):
            joint[i] = 0
        for v in range(views.shape[0]):
            of_column = cells[columns[views[v]]]
            lookup = lookups[views[v]]
            n_codes = np.uint32(cardinality[views[v]])
            for i in range(m):
                joint[i] = np.uint32(joint[i] * n_codes + lookup[of_column[start + i]])
        for i in range(m):
            table[joint[i]] += 1
