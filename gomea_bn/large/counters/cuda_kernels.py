"""The kernel that counts families on a GPU."""

# mypy: disable-error-code="attr-defined, no-untyped-call, untyped-decorator"

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda

__all__ = ["MOST_MEMBERS", "MOST_SHARED_CELLS", "add_family_counts"]

MOST_MEMBERS = 32
"""Largest number of members of a family that have two codes or more."""

MOST_SHARED_CELLS = 10_000
"""Number of 32-bit counts that fit into 48 kB of shared memory next to the lookups of `MOST_MEMBERS` views."""


@cuda.jit
def add_family_counts(
    cells: Any,
    block_starts: Any,
    block_rows: Any,
    columns: Any,
    lookups: Any,
    cardinality: Any,
    members: Any,
    starts: Any,
    first_cell: Any,
    n_tables: Any,
    totals: Any,
) -> None:
    """Add the counts of families over blocks of rows to `totals`; launched with a grid of (n_families, n_blocks).

    The threads of a thread block share the rows of one block of cells, and count one family. A narrow family has
    tables in shared memory, whose sums are added to `totals` at the end. Neighbouring threads count into different
    ones of these tables, so that equal rows rarely wait for each other. A wide family counts in `totals` directly.

    Parameters
    ----------
    cells : (n_bytes,), uint8
        Blocks of rows one after another, each (n_columns, n_rows).
    block_starts, block_rows : (n_blocks,), int64
        First byte and number of rows of a block. A block has fewer than 2**32 rows, so that 32 bits hold its counts.
    columns, lookups, cardinality : (n_views,), int64; (n_views, 256), uint8; (n_views,), int64
        Column of a view, the view's code of every cell, and the number of its codes.
    members, starts : (n_members,), (n_families + 1,), int64
        Views of all families, the last one of a family fastest; `starts` has the first member of every family. A
        family has at most `MOST_MEMBERS` of them.
    first_cell : (n_families + 1,), int64
        First entry of a family's table in `totals`.
    n_tables : (n_families,), int64
        Number of tables of a family in shared memory, together at most `MOST_SHARED_CELLS` cells; 0 for wide families.
    totals : (n_cells,), int64
        Changed.
    """
    counts = cuda.shared.array(MOST_SHARED_CELLS, np.uint32)
    codes = cuda.shared.array((MOST_MEMBERS, 256), np.uint8)
    n_codes = cuda.shared.array(MOST_MEMBERS, np.int64)
    column_starts = cuda.shared.array(MOST_MEMBERS, np.int64)
    family = cuda.blockIdx.x
    block = cuda.blockIdx.y
    thread = cuda.threadIdx.x
    n_threads = cuda.blockDim.x

    n_rows = block_rows[block]
    first_member = starts[family]
    n_members = starts[family + 1] - first_member
    first = first_cell[family]
    n_cells = first_cell[family + 1] - first
    of_family = n_tables[family]
    for m in range(thread, n_members, n_threads):
        view = members[first_member + m]
        n_codes[m] = cardinality[view]
        column_starts[m] = block_starts[block] + columns[view] * n_rows
    for i in range(thread, n_members * 256, n_threads):
        codes[i // 256, i % 256] = lookups[members[first_member + i // 256], i % 256]
    for i in range(thread, of_family * n_cells, n_threads):
        counts[i] = 0
    cuda.syncthreads()

    for row in range(thread, n_rows, n_threads):
        joint = np.int64(0)
        for m in range(n_members):
            joint = joint * n_codes[m] + codes[m, cells[column_starts[m] + row]]
        if of_family == 0:
            cuda.atomic.add(totals, first + joint, 1)
        else:
            cuda.atomic.add(counts, thread % of_family * n_cells + joint, 1)
    # no thread leaves early, since all of them must arrive here
    cuda.syncthreads()

    if of_family == 0:
        return
    for cell in range(thread, n_cells, n_threads):
        count = np.int64(0)
        for table in range(of_family):
            count += counts[table * n_cells + cell]
        if count > 0:
            cuda.atomic.add(totals, first + cell, count)
