"""Large arrays of zeros that take memory for the parts that are written, page by page."""

from __future__ import annotations

import math
import mmap
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

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
