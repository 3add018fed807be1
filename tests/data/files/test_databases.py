"""Rows of databases are those of the frame that was written to them."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import QUICK, ok, refused
from table_examples import assert_same_table

from gomea_bn import GomeaBnError, read_table
from gomea_bn.data import pieces, read_frame
from gomea_bn.data.files import databases
from gomea_bn.data.files.database_names import absolute_source, content_digest, database_of
from gomea_bn.data.pieces import ChosenColumns, pieces_of
from gomea_bn.data.sources import is_in_pieces

N = 40


@pytest.fixture
def rows():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {"x": rng.normal(size=N), "n": rng.integers(0, 30, N), "town": rng.choice(["a", "b"], N)}
    )
    frame["n"] = frame["n"].astype("Int64").where(frame.index != 2)
    return frame


@pytest.fixture
def file(tmp_path, rows):
    path = tmp_path / "clinic.db"
    with closing(sqlite3.connect(path)) as connection:
        rows.to_sql("visits", connection, index=False)
        rows.to_sql('odd "name"', connection, index=False)
    return path


@pytest.mark.parametrize(
    "what",
    [
        "visits",
        "main.visits",
        'odd "name"',
        "SELECT * FROM visits",
        "with v as (select * from visits) select * from v",
    ],
)
@pytest.mark.parametrize("as_path", [False, True])
def test_a_table_and_a_query_of_sqlite(file, rows, what, as_path):
    text = f"sqlite:///{file}::{what}"
    # a path of the command has lost slashes
    source = Path(text) if as_path else text
    assert_same_table(read_table(source, missing="keep"), read_table(rows, missing="keep"))


def test_a_file_is_found_from_the_folder_of_the_process(file, rows, monkeypatch):
    monkeypatch.chdir(file.parent)
    for source in ("sqlite:///clinic.db::visits", Path("sqlite:///clinic.db::visits")):
        assert len(read_frame(source)) == N
        assert absolute_source(source) == f"sqlite:///{file}::visits"
        assert content_digest(source) == content_digest(file)


@pytest.mark.parametrize(
    "text", ["data.csv", "C:/folder::x", "a::b", "sqlite:///x.db", "sqlite:///x.db:: ", 3]
)
def test_other_sources_are_no_databases(text):
    assert database_of(text) is None


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("sqlite:///{file}::visit", "rows of 'visit' cannot be read from sqlite: .*no such table"),
        (
            "sqlite:///{file}::select nothing",
            "cannot be read from sqlite: near .nothing.: syntax error. It has .visits., .*\\.$",
        ),
        ("sqlite:///{file}::select 1; drop table visits", "cannot be read from sqlite"),
        ("sqlite:///none.db::visits", "File '.*none.db' does not exist"),
        ("sqlite:///{file}.missing::visits", "does not exist"),
    ],
)
def test_what_cannot_be_read_is_named(file, source, words):
    with pytest.raises(GomeaBnError, match=words):
        read_table(source.format(file=file))
    assert len(read_frame(f"sqlite:///{file}::visits")) == N


def test_options_of_files_do_not_apply(file):
    with pytest.raises(GomeaBnError, match="sep applies to files, but the table is in sqlite"):
        read_table(f"sqlite:///{file}::visits", sep=";")
    assert read_table(f"sqlite:///{file}::visits", columns=["x", "town"]).names == ("x", "town")


def test_commands_find_the_rows_of_a_run_again(file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = "sqlite:///clinic.db::SELECT x, town FROM visits"
    ok("learn", source, *QUICK, "--out", "run")
    record = json.loads(Path("run/run.json").read_text())
    assert record["data"]["path"] == f"sqlite:///{file}::SELECT x, town FROM visits"
    assert "x" in ok("show", "run", "--data", source).stdout
    assert "town" in ok("effect", "run", "--of", "town", "--on", "x").stdout
    assert "cannot be read from sqlite" in refused(3, "check", "sqlite:///clinic.db::none")


def test_sqlalchemy_reads_the_same(file, rows):
    pytest.importorskip("sqlalchemy")
    source = f"sqlite+pysqlite:///{file}::visits"
    assert_same_table(read_table(source, missing="keep"), read_table(rows, missing="keep"))


@pytest.mark.parametrize("driver", ["", "+pysqlite"])
def test_many_rows_of_a_database_are_read_in_pieces(file, rows, driver, monkeypatch):
    if driver:
        pytest.importorskip("sqlalchemy")
    source = f"sqlite{driver}:///{file}::SELECT *, CASE WHEN n > 25 THEN n END AS late FROM visits;"
    rows = rows.assign(late=rows["n"].where(rows["n"] > 25))
    assert not is_in_pieces(source)
    database = database_of(source)
    assert database is not None
    monkeypatch.setattr(databases, "ROWS_IN_MEMORY", N - 1)
    assert is_in_pieces(source)
    # batches without a value of a column have no type for it
    path = databases.rows_in_parquet(database, 3)
    assert [entry.name for entry in Path(path).parent.iterdir()] == ["rows.parquet"]
    frames = [frame for piece in pieces_of(source) for frame in piece.frames()]
    read = pd.concat(frames, ignore_index=True)
    assert read["late"].fillna(-1).tolist() == rows["late"].fillna(-1).tolist()
    assert_same_table(read_table(read, missing="keep"), read_table(rows, missing="keep"))
    monkeypatch.setattr(databases, "ROWS_IN_MEMORY", N)
    assert not is_in_pieces(source)


@pytest.mark.parametrize("end", ["-- all", ";", "; -- all", "\n-- all\n", "/* all */"])
def test_ends_of_queries_do_not_matter_where_rows_are_counted(file, rows, end, monkeypatch):
    source = f"sqlite:///{file}::SELECT * FROM visits {end}"
    assert not is_in_pieces(source)
    assert_same_table(read_table(source, missing="keep"), read_table(rows, missing="keep"))
    if end != "; -- all":
        monkeypatch.setattr(databases, "ROWS_IN_MEMORY", N - 1)
        assert is_in_pieces(source)


@pytest.mark.parametrize("first", [[1, 2, None, 4], [1, "2", None, 4], [1.5, 2.5, None, 4.5]])
def test_numbers_above_texts_in_a_column_of_sqlite_are_texts_in_all_pieces(tmp_path, first, monkeypatch):
    cells = [*first, "a", "b", None, "c"]
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.execute("CREATE TABLE visits (code, x)")
        connection.executemany("INSERT INTO visits VALUES (?, ?)", [(cell, 0.5) for cell in cells])
        connection.commit()
    monkeypatch.setattr(databases, "ROWS_IN_MEMORY", 3)
    monkeypatch.setattr(pieces, "BATCH_ROWS", 4)
    source = f"sqlite:///{tmp_path / 'a.db'}::visits"
    read = pd.concat([frame for piece in pieces_of(source) for frame in piece.frames()])
    texts = [None if cell is None else str(cell) for cell in cells]
    assert read["code"].astype(object).where(read["code"].notna(), None).tolist() == texts
    assert read["x"].tolist() == [0.5] * len(cells)


@pytest.mark.parametrize("option", [["--weight", "n"], ["--group", "town"], ["--na-values", "9"]])
def test_options_that_need_rows_in_memory_name_the_database(file, option, monkeypatch):
    monkeypatch.setattr(databases, "ROWS_IN_MEMORY", N - 1)
    message = refused(2, "learn", f"sqlite:///{file}::visits", *option)
    assert "a database of more than 39 rows" in message
    assert "folder" not in message


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_duckdb_queries_files(tmp_path, rows, ending, monkeypatch):
    pytest.importorskip("duckdb")
    path = tmp_path / f"rows.{ending}"
    rows.to_csv(path, index=False) if ending == "csv" else rows.to_parquet(path)
    source = f"duckdb::SELECT * FROM '{path}'"
    assert_same_table(read_table(source, missing="keep"), read_table(rows, missing="keep"))
    assert not is_in_pieces(source)
    monkeypatch.setattr(databases, "ROWS_IN_MEMORY", 10)
    assert is_in_pieces(source)
    few = ChosenColumns(source, ("x", "town"))
    assert is_in_pieces(few)
    assert next(list(frame) for piece in pieces_of(few) for frame in piece.frames()) == ["x", "town"]
    frames = [frame for piece in pieces_of(source) for frame in piece.frames()]
    assert_same_table(read_table(pd.concat(frames), missing="keep"), read_table(rows, missing="keep"))


def test_tables_of_duckdb(tmp_path, rows):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "x.duckdb")) as connection:
        connection.execute("CREATE TABLE visits AS SELECT * FROM rows")
    source = f"duckdb:///{tmp_path / 'x.duckdb'}::visits"
    assert_same_table(read_table(source, missing="keep"), read_table(rows, missing="keep"))
    with pytest.raises(GomeaBnError, match="cannot be read from duckdb"):
        read_table(source.replace("visits", "none"))


def test_tables_of_a_database_are_named_where_one_is_not_there(tmp_path):
    with sqlite3.connect(tmp_path / "a.db") as connection:
        pd.DataFrame({"x": range(20)}).to_sql("visits", connection, index=False)
    with pytest.raises(GomeaBnError, match=r"no such table: visit\. It has 'visits'\. Did you mean 'visits'"):
        read_table(f"sqlite:///{tmp_path}/a.db::visit")
