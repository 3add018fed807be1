"""Writing files whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from gomea_bn.errors import GomeaBnError

if TYPE_CHECKING:
    pass

import secrets

__all__ = ["write_bytes", "write_text"]


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Return the path after `text` replaced the file there, in UTF-8 with the line ends as given.

    See `write_bytes`.
    """
    return write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | os.PathLike[str], content: bytes) -> Path:
    """Return the path after `content` replaced the file there.

    Readers see the old file or the new one, never a part: the content goes to a file beside it, which then
    takes its name.

    Raises
    ------
    GomeaBnError
        If the folder does not exist or the file cannot be written; an older file is then untouched.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise GomeaBnError(f"Cannot write '{os.fspath(path)}': the folder '{target.parent}' does not exist.")
    if target.is_dir():
        raise GomeaBnError(f"Cannot write '{os.fspath(path)}': it is a folder; give the name of a file.")
    beside = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.part")
    try:
        with open(beside, "xb") as file:
            file.write(content)
        os.replace(beside, target)
    except OSError as error:
        raise GomeaBnError(f"Cannot write '{os.fspath(path)}': {error.strerror or error}.") from error
    finally:
        beside.unlink(missing_ok=True)
    return Path(path)


def check_folder(folder: Path, files: Iterable[str], *, inputs: Iterable[Path] = ()) -> None:
    """Raise `GomeaBnError` if `files` could not be written to `folder` or would replace an input; creates nothing.

    Parameters
    ----------
    folder : Path
    files : iterable of str
        Names in `folder`.
    inputs : iterable of Path
        What the run reads, for example the table.
    """
    nearest = Path(os.path.abspath(folder))
    while not os.path.lexists(nearest):
        nearest = nearest.parent
    if not nearest.is_dir():
        raise GomeaBnError(f"Cannot write to folder '{folder}': '{nearest}' is not a folder.")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise GomeaBnError(f"Cannot write to folder '{folder}': no permission to write in '{nearest}'.")
    read = [path for path in inputs if path.exists()]
    for name in files:
        target = folder / name
        if target.is_dir():
            raise GomeaBnError(f"Cannot write '{target}': a folder of that name is in the way.")
        if target.exists() and any(target.samefile(path) for path in read):
            raise GomeaBnError(
                f"Cannot write '{target}': it is a file that this run reads, and would be lost; choose another folder."
            )
