"""Transcripts of the command line: what is typed after "$ ", and what is then printed.

Standard error stands before standard output, "..." for any text, and a last line such as "[3]" for the exit code. `cat`
prints a file, and `sed s/OLD/NEW/ FILE` changes one.
"""

import doctest
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import invoke

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))
N = 40


def write_tables() -> None:
    """Write the tables that transcripts speak of to the working folder."""
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
    days = [f"{1 + i % 12:02}/{1 + i % 11:02}/2021" for i in range(N)]
    frame.assign(visit=days, dose=[*frame["dose"][1:], np.nan]).to_csv("doubtful.csv", index=False)
    weeks = pd.DataFrame({"who": np.repeat(["a", "b"], 15), "week": np.tile(range(15), 2)})
    weeks["x"] = random.normal(size=30).round(2)
    weeks["high"] = np.where(weeks["x"] > 0, "yes", "no")
    weeks.to_csv("weeks.csv", index=False)
    Path("ragged.csv").write_text("a,b,c\n1,2,3\n4,5\n6,7,8\n")
    Path("names.csv").write_text("visit,town\n")
    Path("same.csv").write_text("a,b\n" + "1,x\n" * 12)
    Path("edges.csv").write_text("parent,child\nx,high\n")


def printed(line: str) -> str:
    """Return what a line prints in the working folder."""
    program, *arguments = shlex.split(line)
    if program == "cat":
        return Path(arguments[0]).read_text()
    if program == "sed":
        _, old, new, _ = arguments[0].split("/")
        path = Path(arguments[1])
        path.write_text(path.read_text().replace(old, new))
        return ""
    assert program == "gomea-bn", line
    result = invoke(*arguments)
    code = f"[{result.exit_code}]\n" if result.exit_code else ""
    return result.stderr + result.stdout + code


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=[path.stem for path in TRANSCRIPTS])
def test_what_is_printed_is_that_of_the_transcript(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tables()
    _, *steps = re.split(r"^\$ ", path.read_text(), flags=re.MULTILINE)
    assert steps
    for step in steps:
        line, _, wanted = step.partition("\n")
        got = printed(line)
        same = doctest.OutputChecker().check_output(
            wanted, got, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        )
        assert same, f"$ {line}\n{got}\nis not\n{wanted}"
