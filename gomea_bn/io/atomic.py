"""Writing files whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from gomea_bn.errors import GomeaBnError

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
