"""Kernels of the table that keeps the scores of families."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.runtime.jit import kernel

__all__ = ["FamilyCache", "cache_insert", "cache_merge", "cache_slot"]


class FamilyCache(NamedTuple):
    """Open-addressing table from family key to score; key 0 means empty."""

    keys: NDArray[np.uint64]  # (capacity,), a power of two
    scores: NDArray[np.float64]
    used: NDArray[np.int64]  # (1,)


@kernel
def cache_slot(cache: FamilyCache, key: np.uint64) -> int:
    """Return the slot that holds `key`, or the empty one where it belongs, or -1 if neither is found."""
    mask = cache.keys.shape[0] - 1
    slot = np.int64(key >> np.uint64(20)) & mask
    for _ in range(64):
        stored = cache.keys[slot]
        if stored == key or stored == np.uint64(0):
            return slot
        slot = (slot + 1) & mask
    return -1


@kernel
def cache_insert(cache: FamilyCache, key: np.uint64, score: float) -> None:
    """Store a score; in a full neighbourhood the first slot is overwritten, so the table stays bounded."""
    slot = cache_slot(cache, key)
    if slot < 0:
        slot = np.int64(key >> np.uint64(20)) & (cache.keys.shape[0] - 1)
    elif cache.keys[slot] == np.uint64(0):
        cache.used[0] += 1
    cache.keys[slot] = key
    cache.scores[slot] = score


@kernel
def cache_merge(target: FamilyCache, source: FamilyCache) -> None:
    """Insert every entry of `source` into `target`, in slot order."""
    for slot in range(source.keys.shape[0]):
        if source.keys[slot] != np.uint64(0):
            cache_insert(target, source.keys[slot], source.scores[slot])
