"""The options for reading tables, which all commands share."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import invoke, ok, refused

N = 60


@pytest.fixture
def european(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    x = rng.normal(size=N)
    frame = pd.DataFrame(
        {
            "nr": range(N),
            "x": x,
            "y": np.round(x + rng.normal(size=N) / 4, 3),
            "town": rng.choice(["Köln", "Bonn", "weiß nicht"], N),
        }
    )
    frame.to_csv(tmp_path / "rows.txt", sep=";", decimal=",", index=False, encoding="cp1252")
    return tmp_path / "rows.txt"


READING = ("--encoding", "cp1252", "--na-values", "weiß nicht", "--columns", "x,y", "--columns", "town")
QUICK = ("--max-evaluations", "20", "--seed", "1", "--missing", "drop")


def test_help_names_every_option():
    for command in ("learn", "front", "discretize", "refine", "show"):
        (line,) = [text for text in ok(command, "--help").stdout.splitlines() if "--sep" in text]
        assert "--help-all shows" in line or "--help-all shows" in " ".join(
            ok(command, "--help").stdout.split()
        )
        printed = invoke(command, "--help-all").stdout
        for option in (
            "sep",
            "decimal",
            "encoding",
            "na-values",
            "columns",
            "drop",
            "sheet",
            "header",
            "dates",
            "reading",
        ):
            assert f"--{option} " in printed, (command, option)


def test_messages_name_options_as_on_the_command_line(european):
    assert "give --encoding cp1252" in refused(3, "learn", european, *QUICK)
    result = ok("learn", european, *QUICK, "--encoding", "cp1252")
    assert "Fields are separated by ';'; --sep sets another separator." in result.stderr
    assert "--decimal sets the decimal mark" in result.stderr
    assert (
        "Left out 1 column: 'nr' (a running number). To take one in: give --kind nr=continuous"
        in result.stderr
    )


def test_a_symbol_that_ends_in_a_full_stop_is_quoted(tmp_path):
    path = tmp_path / "rents.csv"
    path.write_text("rent,own\n" + "".join(f"{300 + k}.25,{k % 2}\n" for k in range(20)) + "k.A.,1\n")
    message = "(1 'k.A.' are not). If these texts stand for missing values: give --na-values 'usual,k.A.'."
    assert message in ok("learn", path, *QUICK).stderr


@pytest.mark.parametrize(
    ("options", "words", "code"),
    [
        (("--columns", "z"), "--columns: unknown column 'z'", 2),
        (("--drop", "tows"), "--drop: unknown column 'tows'. Did you mean 'town'?", 2),
        (("--decimal", "x"), "--decimal must be one of", 2),
        (("--sheet", "1"), "--sheet applies to spreadsheets", 2),
        (("--header", "none"), "at least 10 rows", 0),
    ],
)
def test_wrong_options_end_with_their_code(european, options, words, code):
    result = invoke("learn", european, *QUICK, "--encoding", "cp1252", *options)
    assert result.exit_code == code, result.stderr
    assert code == 0 or words in result.stderr


def test_a_run_is_read_again_as_it_was(european, tmp_path):
    out = tmp_path / "out"
    ok("learn", european, *READING, *QUICK, "--out", out)
    record = json.loads((out / "run.json").read_text())
    assert record["reading"] == {
        "encoding": "cp1252",
        "na_values": ["weiß nicht"],
        "columns": ["x", "y", "town"],
    }
    assert [column["name"] for column in record["data"]["columns"]] == ["x", "y", "town"]
    assert record["data"]["n_rows"] + len(record["data"]["dropped_rows"]) == N
    ok("review", out)
    complete = european.with_name("complete.txt")
    frame = pd.read_csv(european, sep=";", decimal=",", encoding="cp1252")
    frame[frame["town"] != "weiß nicht"].to_csv(complete, sep=";", decimal=",", index=False)
    for command in (("show", out / "network.json", "--data"), ("refine", out / "network.json")):
        tail = ("--out", tmp_path / "refined.json") if command[0] == "refine" else ()
        ok(*command, complete, "--drop", "nr", *tail)
        assert invoke(*command, complete, "--drop", "no", *tail).exit_code == 2


def test_fronts_and_discretizers_read_in_the_same_way(european, tmp_path):
    out = tmp_path / "front"
    ok("front", european, *READING, *QUICK, "--out", out)
    assert json.loads((out / "front.json").read_text())["record"]["reading"]["columns"] == ["x", "y", "town"]
    ok("review", out)
    result = ok("discretize", european, *READING, "--missing", "drop", "--method", "equal-width", "--json")
    made = json.loads(result.stdout)
    assert list(made["cut_points"]) == ["x", "y"]
    assert len(made["dropped_rows"]) > 0


def test_an_empty_list_of_symbols_keeps_them_as_levels(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n" + "".join(f"{i / 7},{'u?'[i % 2]}\n" for i in range(N)))
    kept = ok("learn", path, *QUICK, "--na-values", "", "--json")
    assert json.loads(kept.stdout)["run"]["data"]["n_rows"] == N
    dropped = invoke("learn", path, *QUICK, "--json")
    assert json.loads(dropped.stdout)["run"]["data"]["n_rows"] == N // 2


def test_options_of_a_file_are_those_of_the_command_line(european, tmp_path):
    options = {
        "encoding": "cp1252", "na_values": ["weiß nicht"], "drop": ["nr"], "kinds": {"y": "continuous"},
    }  # fmt: skip
    file = tmp_path / "reading.json"
    file.write_text(json.dumps({**options, "missing": "drop", "max_levels": 9}), encoding="utf-8")
    quick = ("--max-evaluations", "20", "--seed", "1")
    written = ("--encoding", "cp1252", "--na-values", "weiß nicht", "--drop", "nr", "--kind", "y=continuous")
    in_file = ok("learn", european, *quick, "--reading", file, "--json")
    typed = invoke("learn", european, *quick, *written, "--missing", "drop", "--max-levels", "9", "--json")
    records = [json.loads(result.stdout)["run"] for result in (in_file, typed)]
    for name in ("reading", "parameters", "data"):
        assert records[0][name] == records[1][name]
    replaced = invoke("learn", european, *quick, "--reading", file, "--drop", "nr,town", "--json")
    assert json.loads(replaced.stdout)["run"]["reading"]["drop"] == ["nr", "town"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"seperator": ";"}', "has 'seperator', which is none of sep, decimal"),
        ("[1]", "must hold an object"),
        ('{"sep": ";"', "--reading: "),
        ('{"sep": "ab"}', "--sep must be one character"),
        ('{"kinds": {"x": "real"}}', "kinds must map columns to continuous or discrete"),
        ('{"missing": "fill"}', "--missing must be one of"),
    ],
)
def test_files_of_options_that_cannot_be_used_are_refused(european, tmp_path, content, words):
    (tmp_path / "reading.json").write_text(content)
    assert words in refused(2, "learn", european, "--reading", tmp_path / "reading.json")


def test_every_command_reads_the_file_that_check_writes(tmp_path):
    rows = pd.DataFrame({"y": [k % 7 / 2 for k in range(N)], "paid": [f"{k + 7}.576,37 €" for k in range(N)]})
    rows.to_csv(tmp_path / "rows.csv", sep=";", decimal=",", index=False)
    ok("check", tmp_path / "rows.csv", "--kind", "y=continuous", "--write", tmp_path / "reading.json")
    assert json.loads((tmp_path / "reading.json").read_text(encoding="utf-8"))["decimal"] == ","
    ok(
        "learn",
        tmp_path / "rows.csv",
        *QUICK,
        "--reading",
        tmp_path / "reading.json",
        "--out",
        tmp_path / "run",
    )
    pd.DataFrame({"paid": ["12.576 €", "15.000 €"], "x": [1, 2]}).to_csv(
        tmp_path / "new.csv", sep=";", index=False
    )
    by_run = ok("predict", tmp_path / "run", tmp_path / "new.csv", "--target", "y")
    assert "--decimal ," in by_run.stderr
    by_file = ok(
        "predict",
        tmp_path / "run",
        tmp_path / "new.csv",
        "--target",
        "y",
        "--reading",
        tmp_path / "reading.json",
    )
    assert by_file.stdout == by_run.stdout
