"""Reading whole text files, plain or compressed, with errors that name the file."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO

from gomea_bn.errors import GomeaBnError
from gomea_bn.runtime.environment import environment_limit

SIZE_VARIABLE = "GOMEA_BN_MAX_FILE_BYTES"
"""Environment variable with the largest number of bytes that is read of a network, a front, or a compressed table."""

_GZIP_MAGIC = b"\x1f\x8b"
_MOST_BYTES = 2**30
# files of tables and networks rarely shrink to a twentieth; bombs shrink to a thousandth
_MOST_UNPACKED, _MOST_RATIO = 2**28, 100


def most_bytes(packed: int | None = None) -> int:
    """Return the largest number of bytes that is read of a file, also after decompression.

    The content of a compressed file of `packed` bytes may have 100 times as many, and at least 256 MiB, unless the
    environment variable `SIZE_VARIABLE` sets another limit.
    """
    default = _MOST_BYTES if packed is None else max(_MOST_UNPACKED, _MOST_RATIO * packed)
    return environment_limit(SIZE_VARIABLE, default, "bytes")


def check_is_file(path: str | os.PathLike[str]) -> None:
    """Raise `GomeaBnError` for a device or a pipe, which may have no end; a missing file and a folder pass."""
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise GomeaBnError(
            f"{named_source(path)} is a device or a pipe, not a file; write its content to a file first."
        )


def check_unpacked(path: str | os.PathLike[str], n_bytes: int) -> None:
    """Raise `GomeaBnError` if a compressed file holds more bytes, after decompression, than its size justifies."""
    most = most_bytes(os.path.getsize(path))
    if n_bytes > most:
        raise _too_large(named_source(path), most, None)


def file_text(path: str | os.PathLike[str], description: str, *, max_bytes: int | None = None) -> str:
    """Return the text of a UTF-8 file, with or without a byte order mark, plain or compressed by gzip.

    Parameters and errors are those of `file_bytes`; bytes that are not such text are another error.
    """
    return decoded(file_bytes(path, description, max_bytes=max_bytes), named_source(path))


def decoded(content: bytes, where: str) -> str:
    """Return bytes in UTF-8, with or without a byte order mark, as text; `where` names them in the error."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise GomeaBnError(f"{where} is not UTF-8 text: {error.reason} at byte {error.start}.") from error


def file_bytes(path: str | os.PathLike[str], description: str, *, max_bytes: int | None = None) -> bytes:
    """Return the bytes of a file, plain or compressed by gzip.

    `description` says what the file should be, for example "a network". `max_bytes` limits the content after
    decompression; by default it is `most_bytes()`.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise GomeaBnError(f"Reading {description} needs a path, got {path!r:.80}.")
    where = named_source(path)
    check_is_file(path)
    most = most_bytes() if max_bytes is None else max_bytes
    try:
        with open(path, "rb") as file:
            is_compressed = file.read(2) == _GZIP_MAGIC
            if is_compressed:
                most = min(most, most_bytes(os.path.getsize(path)))
            file.seek(0)
            content = (gzip.GzipFile(fileobj=file) if is_compressed else file).read(most + 1)
    except FileNotFoundError as error:
        raise GomeaBnError(f"{where} does not exist.") from error
    except (OSError, EOFError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise GomeaBnError(f"{where} cannot be read: {reason}.") from error
    except ValueError as error:  # a name with a null character
        raise GomeaBnError(f"{where} cannot be read: {error}.") from error
    if len(content) > most:
        raise _too_large(where, most, f"it is not {description}" if max_bytes is not None else None)
    return content


def unpacked(packed: bytes, where: str) -> bytes:
    """Return the content of bytes that gzip has compressed; `where` names them in errors.

    Content larger than `most_bytes()` is an error.
    """
    most = min(most_bytes(), most_bytes(len(packed)))
    try:
        content = gzip.GzipFile(fileobj=BytesIO(packed)).read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise GomeaBnError(f"{where} is not compressed by gzip: {error}.") from error
    if len(content) > most:
        raise _too_large(where, most, None)
    return content


def _too_large(where: str, most: int, reason: str | None) -> GomeaBnError:
    """Return the error for a file that exceeds a limit: that of a kind of file, or that of all files."""
    why = reason or f"the environment variable {SIZE_VARIABLE} sets this limit"
    return GomeaBnError(f"{where} is larger than {most:,} bytes; {why}.")


def named_source(path: str | os.PathLike[str]) -> str:
    """Return the words that name a file in messages, "File 'x'"."""
    return f"File '{os.fspath(path)!s:.200}'"


@contextmanager
def prefixed_errors(where: str) -> Iterator[None]:
    """Put the name of a source in front of the `GomeaBnError` that its content causes."""
    try:
        yield
    except GomeaBnError as error:
        raise GomeaBnError(f"{where}: {error}") from error
