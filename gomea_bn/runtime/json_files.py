"""Reading the JSON files that this package writes: strict, versioned, with errors that name the source."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, NoReturn

from gomea_bn.errors import GomeaBnError

__all__ = ["field_of", "parse_json", "read_json", "source_text"]

MAX_BYTES = 1 << 30
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
    what: str,
    form: str,
    version: int,
    *,
    max_bytes: int = MAX_BYTES,
    advice: str = "",
) -> tuple[dict[str, Any], str]:
    """Return the object in a JSON file, or in JSON text, and the words that name the source in messages.

    Parameters
    ----------
    source : str or path
        A file, or text that begins with a brace.
    what : str
        What the source should be, for example "a network".
    form, version : str, int
        Wanted values of the keys "format" and "format_version".
    max_bytes : int
        Largest file that is read.
    advice : str
        A sentence for sources of another format.

    Raises
    ------
    GomeaBnError
        For a file that cannot be read or is too large, and for text that is not JSON, holds NaN or a duplicate key,
        or has another format or version.
    """
    text, where = source_text(source, what, max_bytes=max_bytes)
    return parse_json(text, where, what, form, version, advice=advice), where


def source_text(source: str | os.PathLike[str], what: str, *, max_bytes: int = MAX_BYTES) -> tuple[str, str]:
    """Return the text of a file, or the given text if it begins with a brace, and the words that name the source."""
    if not isinstance(source, (str, os.PathLike)):
        raise GomeaBnError(f"Reading {what} needs a path or JSON text, got {type(source).__name__}.")
    if isinstance(source, str) and source.lstrip()[:1] == "{":
        return source, "JSON text"
    shown = f"{os.fspath(source)!s:.200}"
    try:
        with open(source, "rb") as file:
            content = file.read(max_bytes + 1)
        if len(content) > max_bytes:
            raise GomeaBnError(f"File '{shown}' is larger than {max_bytes:,} bytes; it is not {what}.")
        return content.decode("utf-8"), f"File '{shown}'"
    except FileNotFoundError as error:
        raise GomeaBnError(f"File '{shown}' does not exist.") from error
    except UnicodeDecodeError as error:
        raise GomeaBnError(f"File '{shown}' is not UTF-8 text: {error}.") from error
    except OSError as error:
        raise GomeaBnError(f"File '{shown}' cannot be read: {error.strerror}.") from error
    except GomeaBnError:
        raise
    except (TypeError, ValueError) as error:
        raise GomeaBnError(f"Reading {what} needs a path or JSON text, got {source!r:.80}.") from error


def parse_json(
    text: str, where: str, what: str, form: str, version: int, *, advice: str = ""
) -> dict[str, Any]:
    """Return the object that JSON text holds, its format and version checked; see `read_json`."""
    try:
        content = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_duplicates)
    except (ValueError, RecursionError) as error:
        raise GomeaBnError(f"{where} is not JSON: {error}.") from error
    if not isinstance(content, dict) or content.get("format") != form:
        got = repr(content.get("format")) if isinstance(content, dict) else type(content).__name__
        raise GomeaBnError(
            f'{where} is not {what}: wanted "format": {form!r}, got {got:.80}.{advice and " " + advice}'
        )
    got_version = content.get("format_version")
    if got_version != version or isinstance(got_version, bool):
        raise GomeaBnError(
            f"{where} has format_version {got_version!r:.40}; this release reads {version}. "
            "A newer file needs a newer gomea-bn."
        )
    return content


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
