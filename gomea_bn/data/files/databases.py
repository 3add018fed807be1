"""Tables in databases: a connection and, after two colons, the name of a table or a query.

Such as sqlite:///clinic.db::visits, duckdb::SELECT age, cough FROM 'rows/*.parquet', and
postgresql://reader@host/clinic::visits. Databases in files are opened for reading only.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from gomea_bn.data.files.database_names import DUCKDB, SQLITE, Database
from gomea_bn.data.frames import arrow_frame, plain_frame, require_pyarrow
from gomea_bn.errors import GomeaBnError, nearest
from gomea_bn.texts import listed

if TYPE_CHECKING:
    import pandas as pd

ROWS_IN_MEMORY = 1_000_000
"""Largest number of rows of a query that are learned from in memory."""


def read_database(database: Database) -> pd.DataFrame:
    """Return the rows of a table or query; integers stay integers next to missing values."""
    if database.kind == DUCKDB:
        with _relation(database) as relation:
            return arrow_frame(relation.to_arrow_table())
    with _frames(database, database.query) as frames:
        return plain_frame(next(frames))


def is_large(database: Database) -> bool:
    """Return whether the rows are more than a million, so that they are learned from in pieces.

    Rows that a database gives and cannot count, as of a query that no other query may contain, are not.
    """
    if database.kind == DUCKDB:
        with _relation(database) as relation:
            return int(relation.count("*").fetchall()[0][0]) > ROWS_IN_MEMORY
    # a comment may end the query
    query = f"SELECT COUNT(*) FROM ({database.query.strip().rstrip(';')}\n) AS rows_of_query"
    try:
        with _frames(database, query) as frames:
            n_rows: Any = next(frames).iloc[0, 0]
    except GomeaBnError:
        # raises what is wrong with the query itself, if anything is
        with _frames(database, database.query, 1) as frames:
            next(frames, None)
        return False
    return int(n_rows) > ROWS_IN_MEMORY


@lru_cache(maxsize=4)
def rows_in_parquet(database: Database, batch_rows: int) -> str:
    """Return a temporary Parquet file of the rows, in batches, which is removed when the process ends.

    Pieces are read repeatedly, and a query without an order may give its rows in another one each time.
    """
    pa = require_pyarrow("Learning from a database in pieces")
    from pandas.api.types import infer_dtype
    from pyarrow import parquet

    folder = tempfile.mkdtemp(prefix="gomea-bn-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = os.path.join(folder, "rows.parquet")
    if database.kind == DUCKDB:
        with _relation(database) as relation:
            reader = relation.to_arrow_reader(batch_rows)
            with parquet.ParquetWriter(path, reader.schema) as file:
                for batch in reader:
                    file.write_batch(batch)
        return path
    # the type of a column is known when all rows are: those without a value have none
    parts: list[str] = []
    schemas = []
    with _frames(database, database.query, batch_rows) as frames:
        for frame in frames:
            empty = frame.columns[frame.isna().all()]
            frame = frame.astype(dict.fromkeys(empty, object))
            for position in range(frame.shape[1]):
                cells = frame.iloc[:, position]
                if infer_dtype(cells).startswith("mixed"):
                    frame.isetitem(position, cells.map(str, na_action="ignore").array)
            rows = pa.Table.from_pandas(frame, preserve_index=False)
            parts.append(f"{path}.{len(parts)}")
            schemas.append(rows.schema.remove_metadata())
            parquet.write_table(rows, parts[-1])
        # SQLite stores a type with every cell
        of_text = {field.name for each in schemas for field in each if _is_text(field.type)}
        alike = [
            pa.schema([field.with_type(pa.string()) if field.name in of_text else field for field in each])
            for each in schemas
        ]
        schema = pa.unify_schemas(alike, promote_options="permissive")
    with parquet.ParquetWriter(path, schema) as file:
        for part in parts:
            file.write_table(parquet.read_table(part).cast(schema))
            os.remove(part)
    return path


def _is_text(arrow_type: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(arrow_type) or types.is_large_string(arrow_type))


@contextmanager
def _frames(
    database: Database, query: str, batch_rows: int | None = None
) -> Iterator[Iterator[pd.DataFrame]]:
    """Give the rows of a query of another database than DuckDB, in one frame or in frames of some rows."""
    import pandas as pd

    with _failing(database), _connection(database) as connection:
        asked: Any = query
        if database.kind != SQLITE:
            from sqlalchemy import text

            asked = text(query)
            # otherwise a driver fetches all rows at once
            connection = connection.execution_options(stream_results=batch_rows is not None)
        read = pd.read_sql_query(asked, connection, chunksize=batch_rows, dtype_backend="numpy_nullable")
        yield iter([read] if isinstance(read, pd.DataFrame) else read)


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
    if database.kind == SQLITE:
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
    if database.kind == SQLITE and database.file is None:
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
            f"The rows of '{database.what:.80}' cannot be read from {database.kind}: {lines[0].rstrip('.'):.300}."
            f"{_tables_in(database)}"
        ) from error


def _tables_in(database: Database) -> str:
    """Return a sentence on the tables of a database of SQLite, with the nearest name; empty for others."""
    if database.kind != SQLITE:
        return ""
    try:
        with _connection(database) as connection:
            found = connection.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
            ).fetchall()
    except sqlite3.Error:
        return ""
    names = [str(name) for (name,) in found]
    return (
        f" It has {listed([repr(name) for name in names], 10) or 'no tables'}.{nearest(database.what, names)}"
    )
