"""Atomic writing: a file, or several files of a folder together, are written completely or not at all.

What killed processes left is removed. New entries of a folder are completed in a temporary folder next to the old
ones. One rename then decides that they are valid. A process that is killed before it leaves the old entries; after it,
whoever reads or writes the folder next completes the exchange.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import platform
import secrets
import shutil
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from gomea_bn.errors import GomeaBnError, GomeaBnWarning
from gomea_bn.runtime.files.text_files import check_is_file

_SUFFIX = ".part"
# of the name of a file, in that of its temporary file
_MOST_NAME_BYTES = 100


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Replace a file by a text in UTF-8, whose line ends do not change, and return its path; see `write_bytes`."""
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise GomeaBnError(
            f"Cannot write '{os.fspath(path)}': the text has half of a surrogate pair, {error.object[error.start]!r}, "
            "which no UTF-8 file can hold; rename the column or level that has it."
        ) from error
    return write_bytes(path, content)


def write_bytes(path: str | os.PathLike[str], content: bytes, *, mode: int = 0o666) -> Path:
    """Replace a file and return its path.

    The content goes to a temporary file in the same folder, which is then renamed. Readers therefore see the old file
    or the complete new one. Temporary files for this file that killed processes left are removed, with a
    `GomeaBnWarning`. A device or a pipe is not replaced: the content is written to it. `mode` are the permissions of
    the file, of which the process's umask is taken away. An older file stays as it is if the new one cannot be written.
    """
    target = Path(os.path.realpath(path))
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        return _write_into(path, content)
    if not os.path.isdir(target.parent):
        raise GomeaBnError(f"Cannot write '{os.fspath(path)}': the folder '{target.parent}' does not exist.")
    if os.path.isdir(target):
        raise GomeaBnError(
            f"Cannot write '{os.fspath(path)}': it is a folder, not a file; give the name of a file."
        )
    check_name(target)
    prefix = _temporary_prefix(target)
    temporary = target.with_name(f"{prefix}{process_mark()}{_SUFFIX}")
    try:
        with open(temporary, "xb", opener=partial(os.open, mode=mode)) as file:
            file.write(content)
        os.replace(temporary, target)
    except OSError as error:
        raise GomeaBnError(f"Cannot write '{os.fspath(path)}': {error.strerror or error}.") from error
    finally:
        temporary.unlink(missing_ok=True)
    remove_leftovers(target)
    return Path(path)


def check_name(path: str | os.PathLike[str]) -> None:
    """Raise `GomeaBnError` if the file system allows no file of this name, for example because it is too long."""
    try:
        os.lstat(path)
    except ValueError as error:
        raise GomeaBnError(f"Cannot write '{os.fspath(path)!s:.200}': {error}.") from error
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise GomeaBnError(f"Cannot write '{os.fspath(path)!s:.200}...': {error.strerror}.") from error


def _write_into(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write to a device or a pipe, which must not be replaced by a file, and return its path."""
    try:
        # a pipe without a reader is an error instead of a wait without end
        descriptor = os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "wb") as file:
            os.set_blocking(descriptor, True)
            file.write(content)
    except OSError as error:
        raise GomeaBnError(f"Cannot write '{os.fspath(path)}': {error.strerror or error}.") from error
    return Path(path)


def _temporary_prefix(target: Path) -> str:
    """Return the beginning of the names of temporary files for a file; a name has at most 255 bytes."""
    return f".{os.fsdecode(os.fsencode(target.name)[:_MOST_NAME_BYTES])}."


def remove_leftovers(target: Path) -> None:
    """Remove the temporary files for a file that killed processes left, with a `GomeaBnWarning`."""
    folder, prefix = target.parent, _temporary_prefix(target)
    for name in os.listdir(folder) if folder.is_dir() else []:
        mark = name.removeprefix(prefix).removesuffix(_SUFFIX)
        if len(mark) == len(name) - len(prefix) - len(_SUFFIX) and is_left_over(mark):
            with suppress(OSError):
                os.unlink(folder / name)
                warnings.warn(
                    GomeaBnWarning(
                        f"Removed '{folder / name}', the unfinished file of a process that was killed."
                    ),
                    stacklevel=4,
                )


def check_folder(folder: Path, files: Iterable[str]) -> None:
    """Raise `GomeaBnError` if files cannot be written to a folder, which need not exist; writes nothing."""
    existing = Path(os.path.abspath(folder))
    while not os.path.lexists(existing):
        existing = existing.parent
    if not os.path.isdir(existing):
        raise GomeaBnError(f"Cannot write to folder '{folder}': '{existing}' is not a folder.")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise GomeaBnError(f"Cannot write to folder '{folder}': no permission to write in '{existing}'.")
    for name in files:
        target = folder / name
        check_name(target)
        if os.path.isdir(target):
            raise GomeaBnError(f"Cannot write '{target}': a folder has this name.")


def process_mark() -> str:
    """Return a text for the name of a temporary entry: this process, this machine, and a random part."""
    return f"{os.getpid()}-{_host()}-{secrets.token_hex(4)}"


def is_left_over(mark: str) -> bool:
    """Return whether the process that made a text by `process_mark` has surely ended.

    A process of another machine, or one that cannot be asked for, may still run.
    """
    number, _, rest = mark.partition("-")
    # elsewhere a signal of number 0 would end the process
    if os.name != "posix" or not number.isascii() or not number.isdigit() or not rest.startswith(_host()):
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError, ValueError):
        return False
    return False


def _host() -> str:
    """Return a short name of this machine: numbers of processes mean nothing on another one."""
    return hashlib.sha256(platform.node().encode(errors="surrogateescape")).hexdigest()[:8]


_PREFIX = ".part-"
# folders inside the temporary one: new entries before and after they are valid, and what they replace
_NEW, _READY, _OLD = "new", "ready", "old"
_PLAN = "plan.json"
_MOST_BYTES = 100_000


@contextmanager
def replaced_entries(folder: Path, names: Sequence[str]) -> Iterator[Path]:
    """Yield an empty folder to fill; at the end of the block its entries replace those of another folder.

    The folder is made if absent. `names` are those of all entries that belong together: those that the block did not
    make are removed, and other entries stay. After an error the entries are as they were.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        finish_exchange(folder, names)
        temporary = folder / f"{_PREFIX}{process_mark()}"
        (temporary / _NEW).mkdir(parents=True)
        try:
            yield temporary / _NEW
            plan = {"names": list(names), "new": sorted(os.listdir(temporary / _NEW))}
            (temporary / _PLAN).write_text(json.dumps(plan), encoding="utf-8")
            os.rename(temporary / _NEW, temporary / _READY)
            _exchange(folder, temporary, plan["names"], plan["new"])
            shutil.rmtree(temporary, ignore_errors=True)
        finally:
            shutil.rmtree(temporary / _NEW, ignore_errors=True)
            (temporary / _PLAN).unlink(missing_ok=True)
            # entries that could not be moved back stay
            for emptied in (temporary / _OLD, temporary):
                with suppress(OSError):
                    emptied.rmdir()
    except OSError as error:
        raise GomeaBnError(f"Cannot write to folder '{folder}': {error.strerror or error}.") from error


def finish_exchange(folder: Path, names: Sequence[str]) -> None:
    """Complete the exchange of entries that a killed process had begun, and remove what such processes left.

    Both are said by a `GomeaBnWarning`. Leftovers of processes that may still run stay. Only entries of some names may
    be moved: a folder can come from a stranger, so its own plan does not decide that, and an exchange of other entries
    stays as it is.
    """
    for temporary in sorted(folder.glob(f"{_PREFIX}*")):
        if not _is_own_folder(temporary) or not is_left_over(temporary.name.removeprefix(_PREFIX)):
            continue
        if not _is_own_folder(temporary / _READY):
            shutil.rmtree(temporary, ignore_errors=True)
            _warn_of_exchange(
                f"Removed unfinished files of a process that was killed from folder '{folder}'."
            )
            continue
        try:
            plan = _plan(temporary)
            if not {*plan["names"], *plan["new"]} <= set(names):
                continue
            _move(folder, temporary, plan["names"], plan["new"], [])
        except (OSError, ValueError, RecursionError) as error:
            raise GomeaBnError(
                f"A process was killed while it replaced the files of folder '{folder}', and this cannot be completed: "
                f"{error}. The new files are in '{temporary / _READY}', the old ones in '{temporary / _OLD}'."
            ) from error
        shutil.rmtree(temporary, ignore_errors=True)
        _warn_of_exchange(
            f"Completed the exchange of files in folder '{folder}' that a killed process had begun."
        )


def _exchange(folder: Path, temporary: Path, names: Sequence[str], new: Sequence[str]) -> None:
    """Move valid entries into a folder as `_move` does; undo all moves after an error."""
    moves: list[tuple[Path, Path]] = []
    try:
        _move(folder, temporary, names, new, moves)
    except BaseException:
        for source, target in reversed(moves):
            if os.path.lexists(target) and not os.path.lexists(source):
                os.rename(target, source)
        # the entries are no longer valid, so that nobody completes the exchange
        os.rename(temporary / _READY, temporary / _NEW)
        raise


def _move(
    folder: Path, temporary: Path, names: Sequence[str], new: Sequence[str], moves: list[tuple[Path, Path]]
) -> None:
    """Move entries of a folder to `old` and the valid ones into the folder, and note every move before it is made.

    Entries that another process moved before it was killed stay where they are.
    """
    ready, old = temporary / _READY, temporary / _OLD
    old.mkdir(exist_ok=True)
    for name in sorted({*names, *new}):
        is_waiting = os.path.lexists(ready / name)
        if os.path.lexists(folder / name) and (is_waiting or name not in new):
            moves.append((folder / name, old / name))
            os.rename(*moves[-1])
        if is_waiting:
            moves.append((ready / name, folder / name))
            os.rename(*moves[-1])


def _plan(temporary: Path) -> dict[str, list[str]]:
    """Return the plan of an exchange; raises `ValueError` if it is damaged."""
    check_is_file(temporary / _PLAN)
    with open(temporary / _PLAN, "rb") as file:
        plan = json.loads(file.read(_MOST_BYTES))
    if not isinstance(plan, dict) or set(plan) != {"names", "new"}:
        raise ValueError("its plan is damaged")
    for entries in plan.values():
        if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
            raise ValueError("its plan is damaged")
    if (temporary / _OLD).is_symlink():
        raise ValueError(f"'{_OLD}' is a link")
    return plan


def _is_own_folder(path: Path) -> bool:
    """Return whether a path is a folder and not a link to one."""
    return path.is_dir() and not path.is_symlink()


def _warn_of_exchange(text: str) -> None:
    warnings.warn(GomeaBnWarning(text), stacklevel=4)
