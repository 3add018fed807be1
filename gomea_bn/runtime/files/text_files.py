"""Reading whole files, plain or compressed, as text or as strict, versioned JSON; errors name the file."""

from __future__ import annotations

import gzip
import json
import os
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import Any, NoReturn

from gomea_bn.errors import GomeaBnError, is_integer, nearest
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


_KINDS = {
    list: "a list",
    str: "text",
    dict: "an object",
    int: "an integer",
    float: "a number",
    bool: "true or false",
}


def read_json(
    source: str | os.PathLike[str],
    description: str,
    form: str | tuple[str, ...],
    version: int,
    *,
    max_bytes: int | None = None,
    advice: str = "",
) -> tuple[dict[str, Any], str]:
    """Return the object in a JSON file, or in JSON text, and the words that name the source in messages.

    The source is a file, or text that begins with a brace, and should be what `description` says, for example "a
    network". Its "format" must be one of `form`, and its "format_version" one from 1 to `version`. Files have by
    default the limit `text_files.most_bytes()`, and text has none. `advice` is a sentence for sources of another
    format. Text that holds NaN or a duplicate key is an error.
    """
    text, where = source_text(source, description, max_bytes=max_bytes)
    return parse_json(text, where, description, form, version, advice=advice), where


def source_text(
    source: str | os.PathLike[str], description: str, *, max_bytes: int | None = None
) -> tuple[str, str]:
    """Return the text of a file, or the given text if it begins with a brace, and the words that name the source."""
    if not isinstance(source, (str, os.PathLike)):
        raise GomeaBnError(f"Reading {description} needs a path or JSON text, got {type(source).__name__}.")
    if not isinstance(source, str) or source.lstrip()[:1] != "{":
        return file_text(source, description, max_bytes=max_bytes), named_source(source)
    if max_bytes is not None and len(source) > max_bytes:
        raise GomeaBnError(
            f"JSON text of {len(source):,} characters is not {description}; the limit is {max_bytes:,}."
        )
    return source, "JSON text"


def parse_json(
    text: str, where: str, description: str, form: str | tuple[str, ...], version: int, *, advice: str = ""
) -> dict[str, Any]:
    """Return the object that JSON text holds, its format and version checked; see `read_json`."""
    return check_format(load_json(text, where), where, description, form, version, advice=advice)


def load_json(text: str, where: str) -> Any:
    """Return the value of JSON text; raises `GomeaBnError` for other text, NaN, infinities and duplicate keys."""
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_duplicates)
    except RecursionError as error:
        raise GomeaBnError(
            f"{where} is not JSON that can be read: its values are nested too deeply."
        ) from error
    except ValueError as error:
        # Python's words advise to change a setting of Python
        is_long = "integer string conversion" in str(error)
        reason = f"an integer has more than {sys.get_int_max_str_digits():,} digits" if is_long else error
        raise GomeaBnError(f"{where} is not JSON: {reason}.") from error


def has_format(path: str | os.PathLike[str], form: str) -> bool:
    """Return whether a file is JSON of a format, of any version; False also for a file that cannot be read."""
    try:
        content = load_json(file_text(path, form), str(path))
    except GomeaBnError:
        return False
    return isinstance(content, dict) and content.get("format") == form


def check_format(
    content: Any, where: str, description: str, form: str | tuple[str, ...], version: int, *, advice: str = ""
) -> dict[str, Any]:
    """Return a JSON value if it is an object of a format and version; see `read_json`."""
    forms = (form,) if isinstance(form, str) else form
    if not isinstance(content, dict) or content.get("format") not in forms:
        got = repr(content.get("format")) if isinstance(content, dict) else type(content).__name__
        raise GomeaBnError(
            f'{where} is not {description}: wanted "format": {forms[0]!r}, got {got:.80}.{advice and " " + advice}'
        )
    got_version: Any = content.get("format_version")
    if not is_integer(got_version) or not 1 <= got_version <= version:
        versions = "1" if version == 1 else f"1 to {version}"
        raise GomeaBnError(
            f"{where} has format_version {got_version!r:.40}; this release reads {versions}. "
            "A newer file needs a newer gomea-bn."
        )
    return content


def check_fields(
    content: Mapping[str, Any], where: str, required: Sequence[str], optional: Sequence[str] = ()
) -> None:
    """Raise `GomeaBnError` for an unknown or a missing field of an object."""
    field_names = (*required, *optional)
    for key in content:
        if key not in field_names:
            raise GomeaBnError(
                f"{where} has the unknown field {key!r:.80}; fields are {', '.join(field_names)}."
                f"{nearest(key, field_names)}"
            )
    for key in required:
        if key not in content:
            raise GomeaBnError(f"{where} lacks the field {key!r}.")


def field_of(entry: Mapping[str, Any], key: str, kind: type, where: str) -> Any:
    """Return the value under a key; raises `GomeaBnError` if it is missing or of another type."""
    value = entry.get(key)
    if not isinstance(value, kind):
        got = type(value).__name__ if key in entry else "none"
        raise GomeaBnError(f"{where}: wanted {_KINDS[kind]} under {key!r}, got {got}.")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        duplicate = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"duplicate key {duplicate!r:.80}")
    return content
