"""Fits, densities and answers with default options are the recorded ones.

Digests in `test_recorded_results.py` protect the options of publications, which must never move. This test protects
what users get who set nothing: the graph, its scores family by family, densities of new rows and thirty answers of each
of twelve tables. A change that is meant to leave results alone, such as a reshaping of the code, must pass. A change
that is meant to move a default records the values again by ``make record``. The difference of `recorded_defaults.json`
then shows every value that moved, and none that did not.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import recorded_defaults
from recorded_defaults import TABLES, TOLERANCE, agree, main, measured, moved, recorded


def test_every_table_is_recorded():
    assert list(recorded()) == list(TABLES)
    assert len(TABLES) == 12


@pytest.mark.parametrize("table", TABLES)
def test_a_table_gives_the_recorded_network_and_answers(table):
    lines = moved(recorded()[table], measured(table))
    assert not lines, f"{len(lines)} values moved; make record keeps those that should:\n" + "\n".join(lines)


@pytest.mark.parametrize("table", TABLES)
def test_a_record_has_scores_densities_and_thirty_answers(table):
    record = recorded()[table]
    n_answers = sum(
        what.startswith(("P(", "prediction of ", "mean, median and 90 % of ")) or " filled in " in what
        for what in record
    )
    assert n_answers == 30
    n_columns = sum(what.endswith(" given its parents") for what in record)
    assert n_columns == sum(what.startswith("mean log density of ") for what in record) >= 4
    assert len(record["edges"]) >= 3
    assert {"n_parameters", "mean log density", "log density of row 4"} <= set(record)
    assert ("score" in record) or ("knee" in record)


@pytest.mark.long
def test_neither_threads_of_libraries_nor_another_process_move_a_value():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "2")
    command = [sys.executable, recorded_defaults.__file__, "--check"]
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (1.0, 1.0 + TOLERANCE / 2, True),
        (1.0, 1.0 + 2 * TOLERANCE, False),
        (1e6, 1e6 + 0.5, True),
        (1e-9, 2e-9, True),
        (0.1, None, False),
        ("a", "a", True),
        ("a", "b", False),
        ([0.5, "a"], [0.5 + TOLERANCE / 2, "a"], True),
        ([0.5, 0.5], [0.5], False),
        (["a -> b"], ["b -> a"], False),
    ],
)
def test_numbers_agree_within_the_tolerance_and_all_else_exactly(before, now, expected):
    assert agree(before, now) == expected


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Two tables whose records the test decides; returns the records of today, and the file."""
    today = {"one": {"a": 1.0, "b": "x"}, "two": {"c": [0.25, 0.75]}}
    monkeypatch.setattr(recorded_defaults, "TABLES", {name: lambda name=name: today[name] for name in today})
    monkeypatch.setattr(recorded_defaults, "RECORDED", tmp_path / "recorded.json")
    assert main([]) == 0
    return today, tmp_path / "recorded.json"


def test_recording_prints_and_writes_what_moved_alone(small, capsys):
    today, path = small
    assert json.loads(path.read_text()) == today
    capsys.readouterr()
    today["one"] |= {"a": 1.0 + TOLERANCE / 2, "b": "y", "d": None}
    del today["two"]["c"]
    assert main(["--check"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "one: 2 of 3 values moved",
        '  b: "x" -> "y"',
        "  d: - -> null",
        "two: 1 of 0 values moved",
        "  c: [0.25, 0.75] -> -",
    ]
    assert json.loads(path.read_text())["one"] == {"a": 1.0, "b": "x"}
    assert main(["one"]) == 0
    assert json.loads(path.read_text()) == {
        "one": {"a": 1.0, "b": "y", "d": None},
        "two": {"c": [0.25, 0.75]},
    }
    assert main([]) == main(["--check"]) == 0
    assert json.loads(path.read_text())["two"] == {}


def test_a_file_has_a_line_for_every_value(small):
    _, path = small
    assert Path(path).read_text().splitlines()[1:4] == [' "one": {', '  "a": 1.0,', '  "b": "x"']


def test_an_unknown_table_is_refused(small, capsys):
    with pytest.raises(SystemExit):
        main(["three"])
    assert "unknown tables three; there are one, two" in capsys.readouterr().err
