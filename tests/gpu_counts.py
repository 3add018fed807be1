"""Counts of a GPU and of threads, compared; run as a script in which numba simulates the GPU.

    NUMBA_ENABLE_CUDASIM=1 python tests/gpu_counts.py

The variable must be set before numba is imported. On a machine with a GPU the script runs without it too.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd

from gomea_bn.data.pieces import FramePiece
from gomea_bn.large.cells import Coding
from gomea_bn.large.counters.local import LocalCounter
from gomea_bn.large.counters.on_gpu import GpuCounter
from gomea_bn.large.counters.plan import CountPlan, View

ROWS = 300
CELLS = (60, 40, 3, 1, 250)
# pieces of different sizes, one of them without rows
ENDS = (0, 1, 120, 120, 260, ROWS)
BYTES = ROWS * len(CELLS)


def view(column: int, n_codes: int, *, has_missing: bool = False) -> View:
    """Return a view that codes the cells of a column in turns."""
    codes = np.arange(CELLS[column]) % n_codes
    return View.of_codes(column, codes, n_codes, has_missing=has_missing)


def plans() -> list[CountPlan]:
    """Return families of one to 42 members: in several tables, and in one of the most cells in shared memory or beyond.

    A short plan is the last one, since a simulated thread takes microseconds for every cell.
    """
    wide, cells = view(0, 60), view(4, 250, has_missing=True)
    constant, pair = view(3, 1), view(1, 2)
    short = [[pair], [constant], [view(2, 3, has_missing=True), pair], [wide, view(1, 40), cells]]
    # tables of 10,000 and of 10,040 cells
    at_the_limit = [[view(1, 40), view(4, 250)], [view(1, 40), cells]]
    return [CountPlan([*short, *at_the_limit, [*[pair] * 12, *[constant] * 30]]), CountPlan(short)]


def main() -> None:
    """Compare the counts for pieces that stay on the GPU, that are sent in every pass, and for some of both."""
    generator = np.random.default_rng(5)
    frame = pd.DataFrame({f"x{v}": generator.integers(0, n, ROWS) for v, n in enumerate(CELLS)}).astype(float)
    # most rows are equal in a column, so that threads meet in a cell
    frame.loc[generator.random(ROWS) < 0.9, "x1"] = 0.0
    frame.loc[generator.random(ROWS) < 0.2, ["x2", "x4"]] = np.nan
    boundaries = {f"x{v}": np.arange(0.5, n - 1) for v, n in enumerate(CELLS)}
    coding = Coding(tuple(frame.columns), boundaries, {})
    pieces = [FramePiece(frame.iloc[a:b]) for a, b in pairwise(ENDS)]
    whole, short = plans()
    with LocalCounter(pieces, 1, BYTES // 2) as local:
        coded = local.code(coding)
        for plan, most_bytes, batch_bytes, n_threads, rows_of_threads in (
            (whole, None, BYTES, 13, ROWS),
            (short, BYTES // 2, 150 * len(CELLS), 7, 50),
            (short, 0, 1, 1, 130),
        ):
            expected = local.count(plan)
            assert expected.sum() == ROWS * len(plan.shapes)
            gpu = GpuCounter(
                local,
                most_bytes=most_bytes,
                batch_bytes=batch_bytes,
                n_threads=n_threads,
                rows_of_threads=rows_of_threads,
            )
            gpu.code(coding)
            # in place of the cells of the first coding
            again = gpu.code(coding)
            assert (again.n_rows, again.n_missing.tolist()) == (coded.n_rows, coded.n_missing.tolist())
            assert bool(gpu._streamed) == (most_bytes is not None)
            assert bool(gpu._resident) == (most_bytes != 0)
            sent = list(gpu._sent(local.coded_pieces))
            assert max(batch.block_rows.copy_to_host().max() for batch in sent) <= rows_of_threads
            # a block that exceeds a batch is sent by itself
            assert all(len(batch.cells) <= max(batch_bytes, rows_of_threads * len(CELLS)) for batch in sent)
            # a second pass must find the cells as the first one did
            for _ in range(1 + (plan is short)):
                np.testing.assert_array_equal(gpu.count(plan), expected)
    print("equal counts")


if __name__ == "__main__":
    main()
