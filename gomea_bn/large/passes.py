"""Passes over the rows: tables of families are counted together as far as they fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from gomea_bn.large.counters.plan import CountPlan, View
from gomea_bn.runtime.threads import in_threads

__all__ = ["count_in_passes"]

# cells of the tables of one pass over the cells of all rows
_CELLS_OF_PASS = 2**24


def count_in_passes(
    groups: Sequence[Sequence[Sequence[View]]],
    count: Callable[[CountPlan], NDArray[np.int64]],
    use: Callable[[int, list[NDArray[np.int64]]], None],
    *,
    n_threads: int,
) -> int:
    """Count families in one pass or, where their tables are large, in several; return the number of passes.

    Parameters
    ----------
    groups : sequence of sequence of family
        The tables of a group are in memory together.
    count : callable
        Returns the counts of a plan, int64 (plan.n_cells,).
    use : callable
        Receives the position of every group and its tables, on some thread; the tables are then released.
    n_threads : int
        Number of threads that call `use`.
    """
    first, n_passes = 0, 0
    while first < len(groups):
        n_cells, last = 0, first
        while last < len(groups) and (last == first or n_cells < _CELLS_OF_PASS):
            n_cells += sum(prod(view.n_codes for view in family) for family in groups[last])
            last += 1
        plan = CountPlan([family for group in groups[first:last] for family in group])
        tables = iter(plan.tables(count(plan)))
        n_passes += 1
        of_groups = {position: [next(tables) for _ in groups[position]] for position in range(first, last)}
        in_threads(lambda item: use(*item), of_groups.items(), n_threads=n_threads)
        first = last
    return n_passes
