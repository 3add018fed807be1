"""The command `check`: what a table would be read as, its problems, and the file that it writes."""

import json

import numpy as np
import pandas as pd
import pytest
from command_line import invoke, ok, refused

from gomea_bn import read_table

N = 40


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "nr": range(N),
            "dose": [f"{k / 4} mg" for k in range(N)],
            "visit": pd.date_range("2021-01-01", periods=N, freq="5D").strftime("%d/%m/%Y"),
            "few": random.integers(0, 4, N),
            "town": random.choice(["u", "v", "?"], N),
        }
    )
    frame.to_csv("rows.csv", index=False)
    doubtful = frame.assign(
        visit=[f"{1 + i % 12:02}/{1 + i % 11:02}/2021" for i in range(N)], dose=[*frame["dose"][1:], np.nan]
    )
    doubtful.to_csv("doubtful.csv", index=False)
    return tmp_path


def kinds_in(printed: str) -> dict[str, str]:
    """Return the kinds that a command prints, by column."""
    lines = [line.split("  ") for line in printed.splitlines() if line.startswith("  ")]
    return {parts[1].strip(): next(part.strip() for part in parts[2:] if part.strip()) for parts in lines}


def test_kinds_and_forms_are_printed_and_written(folder):
    result = ok("check", "rows.csv", "--write", "reading.json")
    assert "'dose' in mg (such as '0.0 mg')" in result.stdout
    assert kinds_in(result.stdout)["few"] == "discrete"
    assert "Left out 1 column: 'nr' (a running number)" in result.stderr
    options = json.loads((folder / "reading.json").read_text())
    assert options["forms"] == {"dose": "number in mg", "visit": "date day-month"}
    assert options["columns"] == ["dose", "visit", "few", "town"]
    assert options["kinds"]["visit"] == "continuous"
    table = read_table("rows.csv", reading="reading.json", missing="keep")
    assert table.names == ("dose", "visit [days since 1970-01-01]", "few", "town")
    # the file decides, also after an edit
    options["kinds"]["few"] = "continuous"
    (folder / "reading.json").write_text(json.dumps(options))
    assert kinds_in(ok("check", "rows.csv", "--reading", "reading.json").stdout)["few"] == "continuous"
    found = json.loads(ok("check", "rows.csv", "--json").stdout)
    assert (found["n_rows"], found["left_out"]) == (N, {"nr": "a running number"})


def test_all_problems_are_named_with_what_to_type(folder):
    result = invoke("check", "doubtful.csv", "--missing", "error")
    said = result.stderr
    assert result.exit_code == 3
    assert "Error: 2 problems:" in said
    assert "Give --form 'visit=date day-month'" in said
    assert "Column 'dose' has 1 missing" in said
    table = ok("check", "doubtful.csv", "--form", "visit=date month-day").stdout
    assert "visit [days since 1970-01-01]" in table


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--form", "visit"), "--form must be name=FORM"),
        (("--form", "visit=date", "--form", "visit=text"), "--form names 'visit' twice"),
        (("--form", "visits=date"), "--form: unknown column 'visits'. Did you mean 'visit'?"),
        (("--form", "visit=dates"), "must be one of"),
        (("--write", "rows.csv"), "--write"),
        (("--missing", "fill"), "--missing must be one of"),
    ],
)
def test_wrong_options_are_named(folder, options, words):
    assert words in refused(2, "check", "rows.csv", *options)
