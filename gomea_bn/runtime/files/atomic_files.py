"""Atomic writing: a file is written completely or not at all, and what killed processes left is removed."""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import secrets
import warnings
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

from gomea_bn.errors import GomeaBnError, GomeaBnWarning

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
