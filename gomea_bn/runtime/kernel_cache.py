"""The machine code of kernels on disk: one file per kernel and argument types, in a folder that only its owner writes.

A file holds a pickle, so it is read only if nobody else can have written it. Whatever goes wrong with the folder,
kernels are compiled in memory, with a warning: code that was compiled from other sources is never used in their place.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import shutil
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import llvmlite.binding as llvm
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from gomea_bn.errors import GomeaBnError, GomeaBnWarning
from gomea_bn.runtime.files.atomic_files import write_bytes

_HEADER = b"gomea-bn kernel 1\n"
_DIGEST_BYTES = 32
# name of a folder of kernels, a part of a digest
_FOLDER_NAME = re.compile(r"[0-9a-f]{16}")
_MOST_FOLDERS = 12
_MOST_DAYS = 60
_DAY = 86_400.0
_warned: set[Path] = set()


class KernelFiles:
    """The files of one kernel in one folder; it has the methods of numba's own caches.

    Parameters
    ----------
    folder : Path
        Folder, which is made when the first file is written.
    function : callable
        The kernel in Python.
    """

    def __init__(self, folder: Path, function: Callable[..., Any]) -> None:
        self.cache_path = str(folder)
        self._folder = folder
        code = function.__code__
        self._name = f"{function.__module__.removeprefix('gomea_bn.')}.{function.__qualname__}"
        self._identity = (self._name, code.co_firstlineno, code.co_code)
        self._lock: BinaryIO | None = None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for a signature, or None if there is none.

        With None this process holds the lock of that code, until `release`; if another process compiles it at this
        moment, its result is waited for.
        """
        compiled = self._read(sig, target_context)
        if compiled is None and self._take_lock(sig, target_context):
            compiled = self._read(sig, target_context)
        return compiled

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the compiled code for a signature; if that fails, warn once per process."""
        if data.library.has_dynamic_globals or not self._is_usable():
            return
        libdata, *others = data._reduce()
        payload = (_without_bitcode(libdata, data.fndesc), *others)
        body = dumps((self._key(sig, data.target_context), payload))  # type: ignore[no-untyped-call]
        try:
            make_folder(self._folder)
            write_bytes(
                self._path(sig, data.target_context),
                _HEADER + hashlib.sha256(body).digest() + body,
                mode=0o644,
            )
        except (OSError, GomeaBnError) as error:
            _warn(self._folder, f"cannot be written ({error})")

    def release(self) -> None:
        """Give back the lock that `load_overload` took."""
        if self._lock is not None:
            lock, self._lock = self._lock, None
            with suppress(OSError):
                _unlock(lock)
            lock.close()

    def flush(self) -> None:
        """Remove all files of the kernel."""
        for path in self._folder.glob(f"{self._name}-*.kernel"):
            with suppress(OSError):
                path.unlink()

    def _key(self, sig: Any, target_context: Any) -> tuple[Any, ...]:
        """Return all on which compiled code depends, apart from what the folder's name says."""
        return (self._folder.name, sig, target_context.codegen().magic_tuple(), self._identity)

    def _path(self, sig: Any, target_context: Any) -> Path:
        folder, _, machine, identity = self._key(sig, target_context)
        digest = hashlib.sha256(repr((folder, str(sig), machine, identity)).encode()).hexdigest()
        return self._folder / f"{self._name}-{digest[:16]}.kernel"

    def _read(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code from its file, None if there is none that can be used."""
        try:
            with open(self._path(sig, target_context), "rb") as file:
                if not (self._is_usable() and _only_its_owner_writes(os.fstat(file.fileno()))):
                    return None
                content = file.read()
        except OSError:
            return None
        start = len(_HEADER) + _DIGEST_BYTES
        body = content[start:]
        if content[:start] != _HEADER + hashlib.sha256(body).digest():
            return None
        try:
            key, payload = pickle.loads(body)
        except Exception:
            # a class of a user's problem may have been moved or renamed since
            return None
        if key != self._key(sig, target_context):
            return None
        self._note_use()
        target_context.refresh()
        return CompileResult._rebuild(target_context, *payload)  # type: ignore[no-untyped-call]

    def _is_usable(self) -> bool:
        """Return whether the folder is trusted; warn once per process if it is not."""
        usable = is_trusted(self._folder)
        if not usable:
            _warn(self._folder, "can be written by other users")
        return usable

    def _note_use(self) -> None:
        """Set the folder's time of change once a day, by which `prune_folders` sees what is in use."""
        with suppress(OSError):
            if time.time() - self._folder.stat().st_mtime > _DAY:
                os.utime(self._folder)

    def _take_lock(self, sig: Any, target_context: Any) -> bool:
        """Wait for the lock of a signature's file; returns False where files cannot be locked."""
        if not is_trusted(self._folder):
            return False
        try:
            make_folder(self._folder)
            self._lock = open(self._path(sig, target_context).with_suffix(".lock"), "ab")  # noqa: SIM115
            _wait_for_lock(self._lock)
        except OSError:
            self.release()
            return False
        except BaseException:
            self.release()
            raise
        return True


def is_trusted(folder: Path) -> bool:
    """Return whether a folder is absent, or only its owner, who is this user or root, can write to it."""
    try:
        return _only_its_owner_writes(folder.stat())
    except OSError:
        return True


def make_folder(folder: Path) -> None:
    """Make a folder of kernels unless it exists, and remove those that were not used for long."""
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o755, exist_ok=True)
        # the permissions of `mkdir` may be widened by default lists of the parent
        folder.chmod(0o755)
        prune_folders(folder.parent, keep=folder)


def prune_folders(base: Path, *, keep: Path) -> None:
    """Remove folders of kernels that were not used for long, and all but the last few.

    Parameters
    ----------
    base : Path
        Folder of the folders of kernels. Entries with other names stay.
    keep : Path
        Folder that stays.
    """
    used: list[tuple[float, Path]] = []
    with suppress(OSError):
        for folder in base.iterdir():
            if _FOLDER_NAME.fullmatch(folder.name) and folder != keep and not folder.is_symlink():
                used.append((folder.stat().st_mtime, folder))
    newest_first = sorted(used, reverse=True)
    for rank, (changed, folder) in enumerate(newest_first, start=1):
        if rank >= _MOST_FOLDERS or time.time() - changed > _MOST_DAYS * _DAY:
            shutil.rmtree(folder, ignore_errors=True)


def _without_bitcode(libdata: tuple[str, str, Any], description: Any) -> tuple[str, str, Any]:
    """Return the data of a compiled library whose bitcode only names the function that Python calls.

    The bitcode is for linking into other kernels, which compile a form of their own.
    """
    name, kind, (machine_code, _) = libdata
    symbol = description.llvm_cpython_wrapper_name.replace("\\", "\\5c").replace('"', "\\22")
    named = llvm.parse_assembly(f'define void @"{symbol}"() {{ ret void }}')
    return name, kind, (machine_code, named.as_bitcode())


def _only_its_owner_writes(status: os.stat_result) -> bool:
    """Return whether a file or folder belongs to this user or root, and nobody else can write to it."""
    # on Windows, permissions are not in the mode; the folder lies in the user's profile
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid in (os.getuid(), 0) and not status.st_mode & 0o022


def _warn(folder: Path, problem: str) -> None:
    if folder not in _warned:
        _warned.add(folder)
        warnings.warn(
            GomeaBnWarning(
                f"Compiled kernels are not kept, and every process compiles them again: the folder '{folder}' {problem}"
                ". NUMBA_CACHE_DIR can name another folder."
            ),
            stacklevel=2,
        )


if os.name == "nt":
    import msvcrt

    def _wait_for_lock(file: BinaryIO) -> None:
        while True:
            with suppress(OSError):
                msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
                return
            time.sleep(0.1)

    def _unlock(file: BinaryIO) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined,unused-ignore]

else:
    import fcntl

    def _wait_for_lock(file: BinaryIO) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)

    def _unlock(file: BinaryIO) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)
