"""Reading the JSON files that this package writes: strict, versioned, with errors that name the source."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from gomea_bn.errors import GomeaBnError, is_integer, nearest
from gomea_bn.runtime.files.text_files import file_text, named_source

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
