"""Limits of tables in the benchmark hold, and its figures are those of the networks."""

from __future__ import annotations

import argparse

import table_limits
from harness.real_tables import TABLES


def test_a_limit_is_a_multiple_of_the_rows():
    options = argparse.Namespace(evaluations=400, splits=1, factors=[0.12])
    runs = table_limits.measured("iris", options)
    assert runs["limit"].tolist() == ["default", "0.12 n"]
    assert runs["rows"].tolist() == [105, 105]
    default, limited = runs["cells"].tolist()
    assert limited <= 12 < default
    assert runs["kB"][1] < runs["kB"][0]


def test_the_size_of_a_file_is_in_kilobytes(tmp_path):
    options = argparse.Namespace(evaluations=50)
    real = TABLES["iris"]()
    network = table_limits.learned(real.frame, real.kinds, None, options)
    network.to_json(tmp_path / "network.json")
    assert 1000 * table_limits.kilobytes(network) == (tmp_path / "network.json").stat().st_size


def test_a_line_is_printed_per_limit(capsys):
    table_limits.main(["--tables", "iris", "--splits", "1", "--evaluations", "50", "--factors", "3"])
    printed = capsys.readouterr().out
    assert printed.count("iris (105 rows)") == 2
    assert "3 n" in printed
