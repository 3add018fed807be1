"""The decorator that compiles kernels, with a disk cache that notices edits in all sources compiled code depends on."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numba.core.config as numba_config
from platformdirs import user_cache_path

from gomea_bn.runtime.fingerprint import fingerprint

__all__ = ["kernel", "kernel_cache_dir", "kernels_are_cached", "note_kernels_cached", "note_source"]

P = ParamSpec("P")
R = TypeVar("R")

_chosen_by_user: str = getattr(numba_config, "CACHE_DIR")  # noqa: B009 (numba sets its options at run time)
_HAS_KERNELS = re.compile(rb"^@kernel\b", re.MULTILINE)
_IMPORTS = re.compile(rb"^\s*from (gomea_bn[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
_WHOLE_IMPORTS = re.compile(rb"^\s*import (gomea_bn[\w.]*)", re.MULTILINE)
_foreign_digests: set[str] = set()
_kernels: list[Any] = []


def _package_sources() -> dict[str, bytes]:
    """Return the source of every module of the package by its dotted name, the linked folders included."""
    root = Path(__file__).parent.parent
    sources = {}
    for folder, names, files in os.walk(root, followlinks=True):
        names[:] = sorted(name for name in names if name != "__pycache__")
        for file in sorted(files):
            if file.endswith(".py"):
                path = Path(folder) / file
                parts = ("gomea_bn", *path.relative_to(root).with_suffix("").parts)
                sources[".".join(parts).removesuffix(".__init__")] = path.read_bytes()
    return sources


def _compiled_modules(sources: dict[str, bytes]) -> list[str]:
    """Return the modules on whose text compiled code depends: those with kernels, and all that they import."""
    waiting = [name for name, text in sources.items() if _HAS_KERNELS.search(text)]
    reached: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in reached or name not in sources:
            continue
        reached.add(name)
        waiting += [module.decode() for module in _WHOLE_IMPORTS.findall(sources[name])]
        for module, imported in _IMPORTS.findall(sources[name]):
            package = module.decode()
            names = [f"{package}.{part}" for part in re.findall(r"\w+", imported.decode())]
            waiting += [package, *names]
    # the package itself imports every public name, but only for type checkers
    return sorted(reached - {"gomea_bn"})


@cache
def _package_digest() -> str:
    sources = _package_sources()
    digest = hashlib.sha256(numba.__version__.encode())
    for name in _compiled_modules(sources):
        digest.update(name.encode())
        digest.update(sources[name])
    return digest.hexdigest()


def kernel_cache_dir() -> Path:
    """Return the folder of compiled kernels, which depends on their sources, on numba and on registered problems.

    Numba's own stamp covers the file that defines a kernel but not the kernels that it calls (numba issue 1833), so
    outdated code would survive an edit or an upgrade.
    """
    base = Path(_chosen_by_user) if _chosen_by_user else user_cache_path("gomea-bn") / "kernels"
    # numba also keys kernels by the path of their source, so every checkout has its own kernels
    digest = hashlib.sha256(f"{Path(__file__).parent.parent}{_package_digest()}".encode())
    for foreign in sorted(_foreign_digests):
        digest.update(foreign.encode())
    return base / digest.hexdigest()[:16]


def kernels_are_cached(what: str = "learner") -> bool:
    """Return whether the cache folder has all kernels of a kind of run."""
    return (kernel_cache_dir() / f"{what}-compiled").exists()


def note_kernels_cached(what: str) -> None:
    """Write the mark that `kernels_are_cached` looks for, if the folder can be written."""
    with suppress(OSError):
        kernel_cache_dir().mkdir(parents=True, exist_ok=True)
        (kernel_cache_dir() / f"{what}-compiled").touch()


def note_source(function: Callable[..., Any]) -> None:
    """Make the cache folder depend on the source of a user's function, which is compiled into this package's kernels.

    Otherwise these kernels would contain the old code of an edited problem, and a process without the user's module
    could not read the index of cached kernels. Kernels that this process has already compiled do not change.
    """
    source = function.__code__.co_filename
    if (function.__module__ or "").startswith("gomea_bn.") or not os.path.isfile(source):
        return
    digest = hashlib.sha256(Path(source).read_bytes() + fingerprint(function).encode()).hexdigest()
    if digest in _foreign_digests:
        return
    _foreign_digests.add(digest)
    for compiled in _kernels:
        _place_cache(compiled)


def _place_cache(compiled: Any) -> None:
    """Point a kernel's disk cache at `kernel_cache_dir`."""
    former = getattr(numba_config, "CACHE_DIR")  # noqa: B009 (numba sets its options at run time)
    setattr(numba_config, "CACHE_DIR", str(kernel_cache_dir()))  # noqa: B010
    try:
        # without a source file, as in an interactive session, every process compiles the function
        with suppress(RuntimeError):
            compiled.enable_caching()
    finally:
        setattr(numba_config, "CACHE_DIR", former)  # noqa: B010


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function to run without the interpreter lock, cached on disk under `kernel_cache_dir`.

    Kernels cannot allocate, because numba's reference counting is off: counting references to the dozens of arrays in
    a problem's named tuple at every inner call made a step fifteen times slower.
    """
    note_source(function)
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
    compiled = numba.njit(**options)(function)
    if not getattr(numba_config, "DISABLE_JIT"):  # noqa: B009
        _place_cache(compiled)
        _kernels.append(compiled)
    return cast(Callable[P, R], compiled)
