"""The one decorator that compiles kernels, with a disk cache that notices edits in every source file."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numba.core.config as numba_config
from platformdirs import user_cache_path

__all__ = ["kernel", "kernel_cache_dir"]

P = ParamSpec("P")
R = TypeVar("R")


def _package_files() -> list[Path]:
    """Return every Python source of the package, the linked folders included."""
    root = Path(__file__).parent
    found = []
    for folder, names, files in os.walk(root, followlinks=True):
        names[:] = sorted(name for name in names if name != "__pycache__")
        found += [Path(folder) / file for file in sorted(files) if file.endswith(".py")]
    return found


@cache
def kernel_cache_dir() -> Path:
    """Return the folder of compiled kernels, which changes with any source, numba or its Python.

    Numba's own stamp only covers the file that defines a kernel, not the kernels which that one calls
    (numba issue 1833), so stale code would survive an edit or an upgrade.
    """
    digest = hashlib.sha256(numba.__version__.encode())
    for path in _package_files():
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return user_cache_path("gomea-bn") / "kernels" / digest.hexdigest()[:16]


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` without the interpreter lock, cached on disk under `kernel_cache_dir`.

    Kernels cannot allocate: numba's reference counting is off, because counting up and down the dozens of arrays
    of a problem's named tuple at every inner call made a step fifteen times slower.
    """
    chosen = getattr(numba_config, "CACHE_DIR")  # noqa: B009 (numba sets its options at run time)
    if not chosen:
        setattr(numba_config, "CACHE_DIR", str(kernel_cache_dir()))  # noqa: B010
    options: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": False}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", numba.NumbaWarning)
            compiled = numba.njit(**options)(function)
    finally:
        setattr(numba_config, "CACHE_DIR", chosen)  # noqa: B010
    return cast(Callable[P, R], compiled)
