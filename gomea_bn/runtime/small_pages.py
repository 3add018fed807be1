"""Large arrays of zeros that take memory for the parts that are written, page by page."""

from __future__ import annotations

import math
import mmap
import threading
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["WorkSpaces", "zeros_by_pages"]

# NumPy asks for pages of 2 MiB for arrays of at least this number of bytes
_BYTES_OF_HUGE_PAGES = 1 << 22


def zeros_by_pages(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array of zeros of which only the written parts take memory, in the pages of the system.

    NumPy asks for pages of 2 MiB, so that one written row of 100 kB takes 2 MiB, and the time to fill them with zeros.
    """
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    if n_bytes < _BYTES_OF_HUGE_PAGES:
        return np.zeros(shape, dtype)
    # a forked process gets a copy, as of other arrays
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    return np.frombuffer(mmap.mmap(-1, n_bytes, **private), dtype).reshape(shape)


class WorkSpaces:
    """Arrays to work in, one per thread, which it uses again and again: new memory takes longer to get than to sort.

    The memory returns to the system with this object. The allocator would keep it.
    """

    def __init__(self) -> None:
        self._of_threads = threading.local()

    def of_shape(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return the array of this thread, which holds what the thread has last written into it."""
        n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
        memory = getattr(self._of_threads, "memory", None)
        if memory is None or len(memory) < n_bytes:
            memory = self._of_threads.memory = zeros_by_pages((n_bytes,), np.uint8)
        return np.asarray(memory[:n_bytes].view(dtype).reshape(shape))
