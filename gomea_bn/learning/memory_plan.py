"""How much memory a search for a network may take, before it begins."""

from __future__ import annotations

from gomea_bn.data.table import Table
from gomea_bn.learning.learning_options import OPTIMAL, LearningOptions
from gomea_bn.problems.cuts.pricing import library_capacity

__all__ = ["planned_bytes"]

# a column sorted for pricing: order, values, cuts and ranks, of 8 bytes each
_BYTES_OF_SORTED = 32
_BYTES_OF_CACHE = 1 << 26
# what families with as many configurations as rows need: slots and keys of 8 bytes, with at least a half of them free
_BYTES_OF_SLOTS = 2 * 8 * 2


def planned_bytes(table: Table, options: LearningOptions, n_threads: int, sample_rows: int) -> int:
    """Return about how many bytes the search for one network may take at most, the table and its ordered rows included.

    These are the codes of all policies, columns sorted for pricing, the cache of scores, and the work space of every
    thread. A search that is short takes less, since libraries fill up while it runs.

    Parameters
    ----------
    table : Table
    options : LearningOptions
    n_threads : int
        Number of threads of the search.
    sample_rows : int
        Largest number of rows that are searched.
    """
    n_rows = min(table.n_rows, sample_rows)
    fixed = options.cut_points or {}
    n_free = sum(column.is_continuous and column.name not in fixed for column in table.columns)
    of_table = sum(column.values.nbytes for column in table.columns)
    if options.discretizer == OPTIMAL:
        n_policies, of_sorted = library_capacity(max(n_free, 1), n_rows), _BYTES_OF_SORTED
    else:
        n_policies, of_sorted = options.max_bins, 0
    of_codes = n_rows * (n_free * n_policies + len(table.columns) - n_free)
    of_thread = n_rows * (_BYTES_OF_SLOTS + 4 * options.max_bins)
    return 2 * of_table + of_codes + n_free * n_rows * of_sorted + n_threads * of_thread + _BYTES_OF_CACHE
