"""Tables that are too large for memory, as pieces of rows that are read one after another."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol
from urllib.parse import unquote

from gomea_bn.data.files.database_names import database_of
from gomea_bn.data.files.reading import TEXT
from gomea_bn.data.forms import check_form_names, in_given_forms
from gomea_bn.data.frames import arrow_frame, plain_frame, require_pyarrow
from gomea_bn.data.selection import chosen_columns
from gomea_bn.data.symbols import is_text_like, symbols_among
from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, first_line, nearest
from gomea_bn.runtime.files import check_is_file
from gomea_bn.texts import counted, listed

if TYPE_CHECKING:
    import pandas as pd

BATCH_ROWS = 131_072
"""Largest number of rows of a frame that a piece gives."""


_PARQUET, _ARROW = (".parquet", ".pq"), (".feather", ".arrow", ".ipc")
# name of the folder of rows without a value, as Hive and pandas write it
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


class Piece(Protocol):
    """Some rows of a table; it can be sent to another process."""

    @property
    def origin(self) -> str:
        """What the rows come from, in words."""

    def first_row(self) -> int:
        """Return the number of rows of the origin before those of the piece."""

    def n_rows(self) -> int:
        """Return the number of rows."""

    def frames(self, columns: Sequence[str] | None = None) -> Iterator[pd.DataFrame]:
        """Give the rows in frames of at most `BATCH_ROWS` rows; with `columns` at least these columns."""

    def in_forms(self, forms: Mapping[str, str], decimal: str | None) -> Piece:
        """Return a piece that gives the texts of these columns alone in forms, as of `in_given_forms`.

        Symbols of missing values among them are missing values.
        """


@dataclass(frozen=True)
class ChosenColumns:
    """Some columns of a folder or pattern of files; all but those of `drop`, if `columns` is None.

    It is a path, since its files are those of the folder. `forms` are those of texts, by the names of their columns.
    """

    path: str
    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    forms: tuple[tuple[str, str], ...] = ()

    def __fspath__(self) -> str:
        return self.path

    def names(self, names: Sequence[str]) -> list[str]:
        """Return which of the columns of files are chosen, in their order; raises as for a table in memory."""
        import pandas as pd

        chosen = chosen_columns(pd.DataFrame(columns=list(names)), self.columns, self.drop)
        return list(map(str, chosen.columns))


@dataclass(frozen=True)
class FilePiece:
    """Consecutive row groups of a Parquet file, or record batches of an Arrow file.

    `first` and `last` are the first group and the group after the last one. `of_folders` are the last columns, whose
    value is in the name of a folder, as in "year=2024". `columns` are those of the file that are read, by default all.
    `forms` are those of texts, by the names of their columns, and `decimal` is the mark of their numbers.
    """

    path: str
    first: int
    last: int
    of_folders: tuple[tuple[str, str | int | None], ...] = ()
    columns: tuple[str, ...] | None = None
    forms: tuple[tuple[str, str], ...] = ()
    decimal: str | None = None

    @property
    def origin(self) -> str:
        """The file in words."""
        return f"file '{self.path}'"

    def first_row(self) -> int:
        """Return the number of rows of the file before those of the piece."""
        return replace(self, first=0, last=self.first).n_rows()

    def n_rows(self) -> int:
        """Return the number of rows."""
        if self.path.lower().endswith(_PARQUET):
            metadata = _parquet(self.path).metadata
            return sum(metadata.row_group(group).num_rows for group in range(self.first, self.last))
        reader = _arrow(self.path)
        return sum(reader.get_batch(batch).num_rows for batch in range(self.first, self.last))

    def frames(self, columns: Sequence[str] | None = None) -> Iterator[pd.DataFrame]:
        """Give the rows; see `Piece`."""
        import pandas as pd
        import pyarrow as pa

        try:
            for batch in self._batches(self.columns if columns is None else columns):
                frame = arrow_frame(pa.Table.from_batches([batch]))
                if not batch.num_columns:
                    # columns of folders alone
                    frame = pd.DataFrame(index=range(batch.num_rows))
                for name, value in self.of_folders:
                    frame[name] = pd.Series(value, frame.index, object if value is None else None)
                yield plain_frame(_in_forms(frame, dict(self.forms), self.decimal))
        except (OSError, pa.ArrowException) as error:
            raise GomeaBnError(f"File '{self.path}' cannot be read: {first_line(error)}") from error

    def in_forms(self, forms: Mapping[str, str], decimal: str | None) -> FilePiece:
        """Return a piece that reads these texts; see `Piece`."""
        return replace(self, forms=tuple(forms.items()), decimal=decimal)

    def _batches(self, columns: Sequence[str] | None) -> Iterator[Any]:
        """Give the rows as record batches of at most `BATCH_ROWS` rows."""
        import pyarrow as pa

        if self.path.lower().endswith(_PARQUET):
            names = {name for name, _ in self.of_folders}
            file = _parquet(self.path)
            yield from file.iter_batches(
                BATCH_ROWS,
                row_groups=list(range(self.first, self.last)),
                columns=None if columns is None else [name for name in columns if name not in names],
                # every piece is read by one thread
                use_threads=False,
            )
            return
        reader = _arrow(self.path)
        for batch in range(self.first, self.last):
            rows = pa.Table.from_batches([reader.get_batch(batch)])
            chosen = rows if self.columns is None else rows.select(list(self.columns))
            yield from chosen.to_batches(BATCH_ROWS)


@dataclass(frozen=True)
class FramePiece:
    """Rows of a frame, the one at some position of a list; `forms` and `decimal` are as of `FilePiece`.

    A partition of a Dask dataframe is a delayed frame, which is computed whenever its rows are needed.
    """

    frame: Any
    position: int = 0
    forms: tuple[tuple[str, str], ...] = ()
    decimal: str | None = None

    @property
    def origin(self) -> str:
        """The frame in words."""
        return f"{'partition' if self._is_delayed else 'frame'} {self.position}"

    def first_row(self) -> int:
        """Return 0, since the piece is the whole frame."""
        return 0

    def n_rows(self) -> int:
        """Return the number of rows."""
        return len(self._in_memory())

    def frames(self, columns: Sequence[str] | None = None) -> Iterator[pd.DataFrame]:
        """Give the rows; see `Piece`."""
        frame = self._in_memory()
        for first in range(0, len(frame), BATCH_ROWS):
            rows = frame.iloc[first : first + BATCH_ROWS]
            yield plain_frame(_in_forms(rows, dict(self.forms), self.decimal))

    def in_forms(self, forms: Mapping[str, str], decimal: str | None) -> FramePiece:
        """Return a piece that reads these texts; see `Piece`."""
        return replace(self, forms=tuple(forms.items()), decimal=decimal)

    @property
    def _is_delayed(self) -> bool:
        return hasattr(self.frame, "compute")

    def _in_memory(self) -> pd.DataFrame:
        frame: pd.DataFrame = self.frame
        if self._is_delayed:
            frame = self.frame.compute(scheduler="synchronous")
        return frame


@dataclass(frozen=True)
class TablePiece:
    """Consecutive rows of a table in memory; values are not copied until they are read."""

    table: Table
    first: int
    last: int

    origin: ClassVar[str] = "the table"

    def first_row(self) -> int:
        """Return the number of rows of the table before those of the piece."""
        return self.first

    def n_rows(self) -> int:
        """Return the number of rows."""
        return self.last - self.first

    @property
    def rows(self) -> Table:
        """The rows as a table, which shares the memory of the whole one."""
        return self.table.between(self.first, self.last)

    def frames(self, columns: Sequence[str] | None = None) -> Iterator[pd.DataFrame]:
        """Give the rows; see `Piece`."""
        yield self.rows.to_frame()

    def in_forms(self, forms: Mapping[str, str], decimal: str | None) -> TablePiece:
        """Return the piece, since a table holds no texts of numbers."""
        return self


def _in_forms(frame: pd.DataFrame, forms: Mapping[str, str], decimal: str | None) -> pd.DataFrame:
    """Return rows with texts in forms, and without symbols of missing values in columns of these forms."""
    if not forms:
        return frame
    rows = frame.copy(deep=False)
    for position, name in enumerate(map(str, frame.columns)):
        if forms.get(name, TEXT) != TEXT and is_text_like(frame.iloc[:, position]):
            series = frame.iloc[:, position]
            distinct = list(series.dropna().unique())
            # those of a piece with nothing else are missing, too
            symbols = [value for value, symbol in zip(distinct, symbols_among(distinct, None)) if symbol]
            rows.isetitem(position, series.mask(series.isin(symbols)).array)
    return in_given_forms(rows, forms, decimal)[0]


def rows_of_pieces(places: Sequence[tuple[Piece, int]], n_rows: int) -> str:
    """Return "row 4 of file 'a' and rows 0, 2 of file 'b' (counted from 0)" for the first of some rows.

    `places` has their pieces and their positions in these, and `n_rows` is the number of all of them.
    """
    rows: dict[str, list[int]] = {}
    for piece, position in places:
        rows.setdefault(piece.origin, []).append(piece.first_row() + position)
    texts = [
        f"row{'s' if len(of_origin) > 1 else ''} {listed(of_origin)} of {origin}"
        for origin, of_origin in rows.items()
    ]
    more = f" and {n_rows - len(places)} more" if n_rows > len(places) else ""
    return f"{' and '.join(texts)}{more} (counted from 0)"


def pieces_in_words(source: Any) -> str:
    """Return words for a path that `is_in_pieces`: a folder of files, or a database of many rows."""
    if database_of(source) is None:
        return "a folder of files"
    from gomea_bn.data.files.databases import ROWS_IN_MEMORY

    return f"a database of more than {ROWS_IN_MEMORY:,} rows"


def files_digest(source: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of the names, sizes and times of change of the files of a folder or pattern, in hexadecimal.

    Their content is not read, since that would take as long as learning from it.
    """
    if database_of(source) is not None:
        from gomea_bn.data.files.database_names import content_digest

        return content_digest(source)
    digest = hashlib.sha256()
    for path in _files(os.fspath(source)):
        try:
            status = os.stat(path)
        except OSError as error:
            raise GomeaBnError(f"File '{path}' cannot be read: {error.strerror}.") from error
        digest.update(f"{path}\0{status.st_size}\0{status.st_mtime_ns}\0".encode())
    return digest.hexdigest()


def frames_digests(frames: Iterable[pd.DataFrame]) -> dict[str, str]:
    """Return a SHA-256 of the values of every column of frames below one another, in hexadecimal, by name.

    A column of lists or records, which no table takes, has the digest of its name.
    """
    from pandas.util import hash_pandas_object

    digests: dict[str, Any] = {}
    for frame in frames:
        for position, name in enumerate(frame.columns):
            digest = digests.setdefault(str(name), hashlib.sha256(str(name).encode()))
            with suppress(TypeError):
                digest.update(hash_pandas_object(frame.iloc[:, position], index=False).to_numpy().tobytes())
    return {name: digest.hexdigest() for name, digest in digests.items()}


def pieces_of(source: Any) -> list[Piece]:
    """Return the pieces of a source of rows, in the order of its files and partitions.

    The source is a table, a path, a pattern, a Dask dataframe or a sequence of frames. A folder stands for all Parquet
    and Arrow files in it and in its folders, except hidden ones and those whose name begins with an underscore; links
    are followed. A pattern is one of `glob`, such as "rows/part-*.parquet". A folder called "year=2024" inside stands
    for a column "year", which is 2024 in its rows. All files, and all frames, must have the same columns; those of
    files must have one order.
    """
    if isinstance(source, (str, os.PathLike)):
        return _pieces_of_files(
            source if isinstance(source, ChosenColumns) else ChosenColumns(os.fspath(source))
        )
    if hasattr(source, "to_delayed"):
        return [FramePiece(partition, position) for position, partition in enumerate(source.to_delayed())]
    if isinstance(source, Table):
        # a wide table has several pieces, of at most four million values, which threads share
        size = min(BATCH_ROWS, max(2**22 // len(source.columns), 1))
        starts = range(0, source.n_rows, size)
        return [TablePiece(source, start, min(start + size, source.n_rows)) for start in starts]
    pieces = [FramePiece(frame, position) for position, frame in enumerate(source)]
    first = list(map(str, pieces[0].frame.columns))
    for piece in pieces[1:]:
        names = list(map(str, piece.frame.columns))
        if sorted(names) != sorted(first):
            raise GomeaBnError(_difference("frames", pieces[0].origin, first, piece.origin, names))
    return list(pieces)


def _pieces_of_files(source: ChosenColumns) -> list[Piece]:
    text = source.path
    if (database := database_of(text)) is not None:
        from gomea_bn.data.files.databases import rows_in_parquet

        text = rows_in_parquet(database, BATCH_ROWS)
    paths = _files(text)
    if not paths:
        raise GomeaBnError(
            f"'{text}' has no files that end in {', '.join((*_PARQUET, *_ARROW))}.",
            ["write the table as Parquet, for example by DataFrame.to_parquet"],
        )
    require_pyarrow(f"Reading '{text}'")
    pieces: list[Piece] = []
    names: list[str] = []
    chosen: list[str] = []
    for path, of_folders in zip(paths, _columns_of_folders(text, paths), strict=True):
        in_file, n_groups = _schema(path)
        added = tuple((name, value) for name, value in of_folders.items() if name not in in_file)
        of_file = [*in_file, *(name for name, _ in added)]
        if path == paths[0]:
            names, chosen = of_file, source.names(of_file)
            check_form_names(dict(source.forms), chosen)
        elif names != of_file:
            raise GomeaBnError(_difference("files", f"'{paths[0]}'", names, f"'{path}'", of_file))
        added = tuple((name, value) for name, value in added if name in chosen)
        read = tuple(name for name in in_file if name in chosen) if chosen != names else None
        pieces += [FilePiece(path, group, group + 1, added, read, source.forms) for group in range(n_groups)]
    return pieces


def _columns_of_folders(text: str, paths: Sequence[str]) -> list[Mapping[str, str | int | None]]:
    """Return for every file the values in the names of its folders, as in "year=2024/", below the given folder.

    Values of a column are integers if all of them are.
    """
    fixed = text
    while glob.has_magic(fixed) and not os.path.exists(fixed):
        fixed = os.path.dirname(fixed)
    texts = [
        {
            name: unquote(value)
            for name, mark, value in (
                part.partition("=") for part in Path(path).relative_to(fixed).parts[:-1]
            )
            if name and mark
        }
        for path in paths
    ]
    values: dict[str, set[str]] = {}
    for of_file in texts:
        for name, value in of_file.items():
            values.setdefault(name, set()).add(value)
    is_integer = {
        name: all(_is_integer(value) for value in of_column - {_NO_VALUE})
        for name, of_column in values.items()
    }
    return [
        {
            name: None if value == _NO_VALUE else int(value) if is_integer[name] else value
            for name, value in of_file.items()
        }
        for of_file in texts
    ]


def _is_integer(text: str) -> bool:
    """Return whether a text is an integer without leading zeros, which are part of a code."""
    try:
        return str(int(text)) == text
    except ValueError:
        return False


def _files(text: str) -> list[str]:
    """Return the paths of the files that a folder or a pattern stands for, sorted."""
    endings = (*_PARQUET, *_ARROW)
    if not os.path.isdir(text):
        return sorted(path for path in glob.glob(text, recursive=True) if path.lower().endswith(endings))
    paths = []
    # a link to a folder above would be followed for ever
    seen: set[str] = set()
    for folder, folders, files in os.walk(text, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
        paths += [
            os.path.join(folder, name)
            for name in files
            if name.lower().endswith(endings) and not name.startswith((".", "_"))
        ]
    return sorted(paths)


def _schema(path: str) -> tuple[list[str], int]:
    """Return the names of the columns of a file, and its number of row groups or record batches."""
    if path.lower().endswith(_PARQUET):
        file = _parquet(path)
        return list(file.schema_arrow.names), int(file.metadata.num_row_groups)
    reader = _arrow(path)
    return list(reader.schema.names), int(reader.num_record_batches)


def _difference(kind: str, first: str, names: list[str], other: str, of_other: list[str]) -> str:
    """Return the message for two files or frames with different columns, given how it names them."""
    if sorted(names) == sorted(of_other):
        return (
            f"The columns of {other} have another order than those of {first}; write all {kind} in one order."
        )
    missing = [repr(name) for name in names if name not in of_other]
    surplus = [repr(name) for name in of_other if name not in names]
    parts = []
    if missing:
        parts.append(f"lacks the {'column' if len(missing) == 1 else 'columns'} {listed(missing, 5)}")
    if surplus:
        hint = nearest(surplus[0].strip("'"), names)
        parts.append(
            f"has {counted(len(surplus), 'further column')}: {listed(surplus, 5)}.{hint}".rstrip(".")
        )
    return f"All {kind} must have the same columns: {other} {' and '.join(parts)}; compared with {first}."


def _parquet(path: str) -> Any:
    from pyarrow import parquet

    check_is_file(path)
    try:
        status = os.stat(path)
        return parquet.ParquetFile(path, metadata=_footer(path, status.st_size, status.st_mtime_ns))
    except (OSError, ValueError) as error:
        raise GomeaBnError(f"File '{path}' is not a readable Parquet file: {first_line(error)}") from error


# files whose footers stay in memory; threads read neighbouring pieces
@lru_cache(64)
def _footer(path: str, _n_bytes: int, _changed: int) -> Any:
    """Return the footer of a Parquet file of a size and time of change; it takes time for each of its row groups."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        return file.metadata


def _arrow(path: str) -> Any:
    import pyarrow as pa

    check_is_file(path)
    try:
        return pa.ipc.open_file(pa.memory_map(path))
    except (OSError, ValueError) as error:
        raise GomeaBnError(f"File '{path}' is not a readable Arrow file: {first_line(error)}") from error
