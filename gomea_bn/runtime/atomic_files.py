"""Atomic writing: a file is written completely or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from gomea_bn.errors import GomeaBnError

__all__ = ["check_folder", "write_bytes", "write_text"]


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Replace a file by a text in UTF-8, whose line ends do not change, and return its path; see `write_bytes`."""
    return write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | os.PathLike[str], content: bytes, *, mode: int = 0o666) -> Path:
    """Replace a file and return its path.

    The content goes to a temporary file in the same folder, which is then renamed. Readers therefore see the old file
    or the complete new one. `mode` are the permissions of the file, of which the process's umask is taken away.

    Raises
    ------
    GomeaBnError
        If the folder does not exist or the file cannot be written. An older file then stays as it is.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise GomeaBnError(f"Cannot write '{os.fspath(path)}': the folder '{target.parent}' does not exist.")
    if target.is_dir():
        raise GomeaBnError(
            f"Cannot write '{os.fspath(path)}': it is a folder, not a file; give the name of a file."
        )
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.part")
    try:
        with open(temporary, "xb", opener=partial(os.open, mode=mode)) as file:
            file.write(content)
        os.replace(temporary, target)
    except OSError as error:
        raise GomeaBnError(f"Cannot write '{os.fspath(path)}': {error.strerror or error}.") from error
    finally:
        temporary.unlink(missing_ok=True)
    return Path(path)


def check_folder(folder: Path, files: Iterable[str]) -> None:
    """Raise `GomeaBnError` if files cannot be written to a folder; writes nothing.

    Parameters
    ----------
    folder : Path
        Folder, which need not exist.
    files : iterable of str
        Names of files in the folder.
    """
    existing = Path(os.path.abspath(folder))
    while not os.path.lexists(existing):
        existing = existing.parent
    if not existing.is_dir():
        raise GomeaBnError(f"Cannot write to folder '{folder}': '{existing}' is not a folder.")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise GomeaBnError(f"Cannot write to folder '{folder}': no permission to write in '{existing}'.")
    for name in files:
        target = folder / name
        if target.is_dir():
            raise GomeaBnError(f"Cannot write '{target}': a folder has this name.")
