"""Texts that name rows of a database, and digests of rows by where they lie."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

_SOURCE = re.compile(
    r"(?P<kind>[a-z][a-z0-9+_]+)(?::(?P<slashes>/+)(?P<where>.*?))?::(?P<what>.*\S.*)", re.DOTALL
)
_QUERY = re.compile(r"\s*(select|with|from)\s", re.IGNORECASE)
SQLITE, DUCKDB = "sqlite", "duckdb"


class Database(NamedTuple):
    """A source of rows in a database; `url` is that of SQLAlchemy, `file` that of a database in a file."""

    kind: str
    url: str
    file: str | None
    what: str

    @property
    def query(self) -> str:
        """The query for the rows, also where a table is named."""
        if _QUERY.match(self.what):
            return self.what
        parts = ['"' + part.replace('"', '""') + '"' for part in self.what.strip().split(".")]
        return f"SELECT * FROM {'.'.join(parts)}"

    @property
    def absolute(self) -> str:
        """The source with the absolute path of its file."""
        if self.file is None:
            return f"{self.url}::{self.what}"
        return f"{self.kind}:///{os.path.abspath(self.file)}::{self.what}"


def database_of(source: Any) -> Database | None:
    """Return which rows of a database a text or path names, or None for the path of a file and other sources.

    Paths have one slash where the text of a connection has several.
    """
    text = os.fspath(source) if isinstance(source, (str, os.PathLike)) else ""
    if not isinstance(text, str) or "::" not in text:
        return None
    found = _SOURCE.fullmatch(text)
    if found is None or os.path.exists(text) or (found["slashes"] is None and found["kind"] != DUCKDB):
        return None
    kind, where, what = found["kind"], found["where"] or "", found["what"]
    file = None
    if kind in (SQLITE, DUCKDB) and where:
        is_relative = {3: True, 4: False}.get(len(found["slashes"]), os.path.exists(where))
        file = where if is_relative else f"/{where}"
    slashes = found["slashes"]
    url = kind if slashes is None else f"{kind}:{slashes if len(slashes) > 1 else '//'}{where}"
    return Database(kind, url, file, what)


def content_digest(source: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of the bytes of a file, of the file of a database, or of the text of another database."""
    from gomea_bn.runtime.environment import file_digest

    database = database_of(source)
    if database is not None and database.file is None:
        return hashlib.sha256(os.fspath(source).encode()).hexdigest()
    return file_digest(Path(source if database is None or database.file is None else database.file))


def absolute_source(source: str | os.PathLike[str]) -> str:
    """Return a source with the absolute path of its file."""
    database = database_of(source)
    return os.path.abspath(source) if database is None else database.absolute
