"""Tables in databases: a connection and, after two colons, the name of a table or a query.

Such as sqlite:///clinic.db::visits, duckdb::SELECT age, cough FROM 'rows/*.parquet', and
postgresql://reader@host/clinic::visits. Databases in files are opened for reading only.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from gomea_bn.data.files.reading import database_of
from gomea_bn.data.frames import arrow_frame, plain_frame, require_pyarrow
from gomea_bn.errors import GomeaBnError

if TYPE_CHECKING:
    import pandas as pd

_SOURCE = re.compile(
    r"(?P<kind>[a-z][a-z0-9+_]+)(?::(?P<slashes>/+)(?P<where>.*?))?::(?P<what>.*\S.*)", re.DOTALL
)
_QUERY = re.compile(r"\s*(select|with|from)\s", re.IGNORECASE)
_SQLITE, _DUCKDB = "sqlite", "duckdb"
# rows of a query of DuckDB that are learned from in memory
_ROWS_IN_MEMORY = 1_000_000


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


def named_database(text: str) -> Database | None:
    """Return which rows of a database a text or the text of a path names, or None for the path of a file.

    Paths have one slash where the text of a connection has several.
    """
    found = _SOURCE.fullmatch(text)
    if found is None or os.path.exists(text) or (found["slashes"] is None and found["kind"] != _DUCKDB):
        return None
    kind, where, what = found["kind"], found["where"] or "", found["what"]
    file = None
    if kind in (_SQLITE, _DUCKDB) and where:
        is_relative = {3: True, 4: False}.get(len(found["slashes"]), os.path.exists(where))
        file = where if is_relative else f"/{where}"
    slashes = found["slashes"]
    url = kind if slashes is None else f"{kind}:{slashes if len(slashes) > 1 else '//'}{where}"
    return Database(kind, url, file, what)


def source_digest(source: str | os.PathLike[str]) -> str:
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


def read_database(database: Database) -> pd.DataFrame:
    """Return the rows of a table or query; integers stay integers next to missing values."""
    import pandas as pd

    if database.kind == _DUCKDB:
        with _relation(database) as relation:
            return arrow_frame(relation.to_arrow_table())
    with _failing(database), _connection(database) as connection:
        query: Any = database.query
        if database.kind != _SQLITE:
            from sqlalchemy import text

            query = text(query)
        return plain_frame(pd.read_sql_query(query, connection, dtype_backend="numpy_nullable"))


def is_large(database: Database) -> bool:
    """Return whether the rows are learned from in pieces: those of DuckDB that are more than a million."""
    if database.kind != _DUCKDB:
        return False
    with _relation(database) as relation:
        return int(relation.count("*").fetchall()[0][0]) > _ROWS_IN_MEMORY


@lru_cache(maxsize=4)
def rows_in_parquet(database: Database, batch_rows: int) -> str:
    """Return a temporary Parquet file of the rows, in batches, which is removed when the process ends.

    Pieces are read repeatedly, and a query without an order may give its rows in another one each time.
    """
    require_pyarrow("Learning from a database in pieces")
    from pyarrow import parquet

    folder = tempfile.mkdtemp(prefix="gomea-bn-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = os.path.join(folder, "rows.parquet")
    with _relation(database) as relation:
        reader = relation.to_arrow_reader(batch_rows)
        with parquet.ParquetWriter(path, reader.schema) as file:
            for batch in reader:
                file.write_batch(batch)
    return path


@contextmanager
def _relation(database: Database) -> Iterator[Any]:
    """Give the relation of DuckDB that has the rows."""
    try:
        import duckdb
    except ImportError as error:
        raise _missing("duckdb") from error
    require_pyarrow("Reading from DuckDB")
    _check_file(database)
    with _failing(database):
        connection: Any = (
            duckdb.connect() if database.file is None else duckdb.connect(database.file, read_only=True)
        )
        with closing(connection):
            yield connection.sql(database.query)


@contextmanager
def _connection(database: Database) -> Iterator[Any]:
    """Give a connection of sqlite3, or of SQLAlchemy to any other database."""
    if database.kind == _SQLITE:
        _check_file(database)
        with closing(sqlite3.connect(f"file:{quote(database.file or '')}?mode=ro", uri=True)) as connection:
            yield connection
        return
    try:
        from sqlalchemy import create_engine
    except ImportError as error:
        raise _missing("sqlalchemy") from error
    engine = create_engine(database.url)
    try:
        with engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


def _check_file(database: Database) -> None:
    if database.kind == _SQLITE and database.file is None:
        raise GomeaBnError("A source in SQLite must name its file, as in sqlite:///clinic.db::visits.")
    if database.file is not None and not os.path.isfile(database.file):
        raise GomeaBnError(f"File '{database.file}' does not exist.")


def _missing(package: str) -> GomeaBnError:
    return GomeaBnError(f"Reading from this database needs {package}: pip install 'gomea-bn[sql]'.")


@contextmanager
def _failing(database: Database) -> Iterator[None]:
    """Raise `GomeaBnError` for what a database refuses; passwords in the connection are not shown."""
    try:
        yield
    except GomeaBnError:
        raise
    # each database raises its own exceptions
    except Exception as error:
        # pandas repeats the query
        lines = str(error.__cause__ or error).strip().splitlines() or [type(error).__name__]
        raise GomeaBnError(
            f"The rows of '{database.what:.80}' cannot be read from {database.kind}: {lines[0]:.300}."
        ) from error
