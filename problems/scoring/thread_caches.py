"""A score cache shared by threads, with one table per thread for new scores during a generation."""

from __future__ import annotations

import numpy as np

from gomea_bn.problems.kernels.score import FamilyCache, cache_merge

__all__ = ["ThreadCaches", "new_cache"]

_FIRST_CAPACITY = 1 << 12


def new_cache(capacity: int) -> FamilyCache:
    """Return an empty cache table; `capacity` is a power of two."""
    return FamilyCache(
        keys=np.zeros(capacity, np.uint64), scores=np.zeros(capacity), used=np.zeros(1, np.int64)
    )


class ThreadCaches:
    """A bounded cache that is only read while threads run; the new scores of each thread are merged into it afterwards.

    Parameters
    ----------
    max_bytes : int
        Upper limit of the shared table, and of each thread's.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.shared = new_cache(_FIRST_CAPACITY)
        self._per_thread: list[FamilyCache] = []

    def pair(self, thread: int, n_threads: int) -> tuple[FamilyCache, FamilyCache]:
        """Return the table that a thread reads, and the one that it reads and writes.

        A single thread writes to the shared table; its first table is empty.
        """
        if n_threads == 1:
            return new_cache(2), self.shared
        while len(self._per_thread) <= thread:
            self._per_thread.append(new_cache(_FIRST_CAPACITY))
        return self.shared, self._per_thread[thread]

    def grown(self, thread: int, cache: FamilyCache) -> FamilyCache:
        """Return a thread's table with room for further scores; called by that thread between its kernels."""
        larger = _grown(cache, max(int(cache.used[0]), _FIRST_CAPACITY), self.max_bytes)
        if cache is self.shared:
            self.shared = larger
        else:
            self._per_thread[thread] = larger
        return larger

    def merge(self) -> None:
        """Move the threads' new scores into the shared table, in thread order."""
        for thread, cache in enumerate(self._per_thread):
            used = int(cache.used[0])
            if used:
                self.shared = _grown(self.shared, used, self.max_bytes)
                cache_merge(self.shared, cache)
                self._per_thread[thread] = new_cache(len(cache.keys))

    def reserve(self, n_more: int) -> None:
        """Make room in the shared table for `n_more` entries, within the limit."""
        self.shared = _grown(self.shared, n_more, self.max_bytes)


def _grown(cache: FamilyCache, n_more: int, max_bytes: int) -> FamilyCache:
    """Return `cache`, or a larger copy that holds `n_more` further entries at half load, within `max_bytes`."""
    capacity = len(cache.keys)
    while capacity < 2 * (int(cache.used[0]) + n_more) and 32 * capacity <= max_bytes:
        capacity *= 2
    if capacity == len(cache.keys):
        return cache
    larger = new_cache(capacity)
    cache_merge(larger, cache)
    return larger
