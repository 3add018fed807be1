"""The decorator that compiles kernels, with a disk cache that notices edits in all sources compiled code depends on."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numba.core.config as numba_config
from numba.core import types
from platformdirs import user_cache_path

from gomea_bn.runtime.fingerprint import fingerprint
from gomea_bn.runtime.kernel_cache import KernelFiles, is_trusted, make_folder
from gomea_bn.runtime.kernel_compiler import KernelDispatcher
from gomea_bn.runtime.kernel_progress import kernel_needed

P = ParamSpec("P")
R = TypeVar("R")

_chosen_by_user: str = getattr(numba_config, "CACHE_DIR")  # noqa: B009 (numba sets its options at run time)
_HAS_KERNELS = re.compile(rb"^@kernel\b", re.MULTILINE)
_IMPORTS = re.compile(rb"^\s*from (gomea_bn[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
_WITHOUT_CODE = frozenset(
    f"gomea_bn.{name}"
    for name in (
        "errors",
        "linkage.sparse_tree",
        "runtime.files.atomic_files",
        "runtime.fingerprint",
        "runtime.kernel_progress",
    )
)
"""Modules that modules with kernels import and no kernel uses: editing a message leaves compiled code valid."""
_WHOLE_IMPORTS = re.compile(rb"^\s*import (gomea_bn[\w.]*)", re.MULTILINE)
_PLAIN_TYPES = (
    types.Array,
    types.Boolean,
    types.NoneType,
    types.Number,
    types.NumPyRandomGeneratorType,
    types.Omitted,
)
_foreign_digests: set[str] = set()
_kernels: list[KernelDispatcher] = []


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
    """Return the modules on whose text compiled code depends: those with kernels, and what these import.

    Modules that no kernel uses are left out.
    """
    waiting = [name for name, text in sources.items() if _HAS_KERNELS.search(text)]
    reached: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in reached or name in _WITHOUT_CODE or name not in sources:
            continue
        reached.add(name)
        waiting += [module.decode() for module in _WHOLE_IMPORTS.findall(sources[name])]
        for module, imported in _IMPORTS.findall(sources[name]):
            package = module.decode()
            names = [f"{package}.{part}" for part in re.findall(r"\w+", imported.decode())]
            waiting += [package, *names]
    return sorted(reached)


@cache
def _package_digest() -> str:
    sources = _package_sources()
    digest = hashlib.sha256(numba.__version__.encode())
    for name in _compiled_modules(sources):
        digest.update(name.encode())
        digest.update(sources[name])
    return digest.hexdigest()


def kernel_cache_dir(*, with_foreign: bool = False) -> Path:
    """Return the folder of compiled kernels, which changes with their sources and numba.

    Numba's own stamp only covers the file that defines a kernel, not the kernels which that one calls
    (numba issue 1833), so stale code would survive an edit or an upgrade.

    Parameters
    ----------
    with_foreign : bool
        Whether to return the folder for kernels compiled for users' problems, which changes with these as well.
    """
    base = Path(_chosen_by_user) if _chosen_by_user else user_cache_path("gomea-bn") / "kernels"
    # numba also keys kernels by the path of their source, so every checkout has its own kernels
    digest = hashlib.sha256(f"{Path(__file__).parent.parent}{_package_digest()}".encode())
    if with_foreign:
        for foreign in sorted(_foreign_digests):
            digest.update(foreign.encode())
    return base / digest.hexdigest()[:16]


def kernels_are_cached() -> bool:
    """Return whether the cache folder can be used and has the kernels of a search."""
    folder = kernel_cache_dir()
    return is_trusted(folder) and any(folder.glob("*.vary_range-*.kernel"))


def kernels_can_be_kept() -> bool:
    """Return whether kernels can be written to the cache folder, which is made if it is absent."""
    folder = kernel_cache_dir()
    try:
        make_folder(folder)
    except OSError:
        return False
    return is_trusted(folder) and os.access(folder, os.W_OK)


def note_source(function: Callable[..., Any]) -> None:
    """Make the cache of kernels for users' problems depend on the source of a user's function.

    Otherwise these kernels would contain the old code of an edited problem, and a process without the user's module
    could not read the index of cached kernels. Kernels that this process has already compiled do not change.
    """
    source = function.__code__.co_filename
    if _is_ours(function) or not os.path.isfile(source):
        return
    digest = hashlib.sha256(Path(source).read_bytes() + fingerprint(function).encode()).hexdigest()
    if digest in _foreign_digests:
        return
    _foreign_digests.add(digest)
    for compiled in _kernels:
        _place_cache(compiled)


def _is_ours(defined: Any) -> bool:
    return (defined.__module__ or "").startswith("gomea_bn.")


def _is_foreign(numba_type: Any) -> bool:
    """Return whether code compiled for an argument of this type may contain code of a user's problem."""
    if isinstance(numba_type, types.BaseTuple):
        parts: Any = numba_type
        named = isinstance(parts, types.BaseNamedTuple)
        return (named and not _is_ours(parts.instance_class)) or any(map(_is_foreign, parts.types))
    return not isinstance(numba_type, _PLAIN_TYPES)


class _KernelCache:
    """The disk cache of one kernel: users' problems have a folder of their own, next to the folder of all others.

    It has the methods of numba's own caches. Registering a problem thus leaves all other compiled kernels usable.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = function.__name__
        folders = kernel_cache_dir(with_foreign=not _is_ours(function)), kernel_cache_dir(with_foreign=True)
        self._plain, self._foreign = (KernelFiles(folder, function) for folder in folders)

    @property
    def cache_path(self) -> str:
        """Path of the folder for kernels without users' problems."""
        return str(self._plain.cache_path)

    def _of(self, sig: Any) -> KernelFiles:
        arguments = sig if isinstance(sig, tuple) else sig.args
        return self._foreign if any(map(_is_foreign, arguments)) else self._plain

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for a signature, or None if there is none; the caller then compiles it."""
        compiled = self._of(sig).load_overload(sig, target_context)
        kernel_needed(self._name, is_compiled=compiled is not None)
        return compiled

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save the compiled code for a signature."""
        self._of(sig).save_overload(sig, data)

    def release(self) -> None:
        """Give back the locks that `load_overload` took."""
        self._plain.release()
        self._foreign.release()

    def flush(self) -> None:
        """Forget all compiled code of the kernel."""
        self._plain.flush()
        self._foreign.flush()


def _place_cache(compiled: KernelDispatcher) -> None:
    """Give a kernel its disk cache in today's folders."""
    # a function without a source file, as in an interactive session, is compiled in every process
    if os.path.isfile(compiled.py_func.__code__.co_filename):
        compiled._cache = _KernelCache(compiled.py_func)


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function to run without the interpreter lock, cached on disk under `kernel_cache_dir`.

    Kernels cannot allocate, because numba's reference counting is off: counting references to the dozens of arrays in
    a problem's named tuple at every inner call made a step fifteen times slower.
    """
    note_source(function)
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
    if getattr(numba_config, "DISABLE_JIT"):  # noqa: B009
        return function
    compiled = KernelDispatcher(function, targetoptions={"nopython": True, **options})
    _place_cache(compiled)
    _kernels.append(compiled)
    return cast(Callable[P, R], compiled)
