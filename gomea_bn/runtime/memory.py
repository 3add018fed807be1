"""How rarely Python looks for garbage, and large arrays of zeros that take memory page by page as they are written."""

from __future__ import annotations

import gc
import math
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

# new objects between two looks; modules are made of many objects, which all stay
_OBJECTS = 100_000


@contextmanager
def rare_collections() -> Iterator[None]:
    """Look for garbage rarely during the block: a command imports for a second, a sixth of which was such looks.

    A process that never looks, with a threshold of 0, goes on not to look.
    """
    usual = gc.get_threshold()
    gc.set_threshold(usual[0] and max(_OBJECTS, usual[0]), *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


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
