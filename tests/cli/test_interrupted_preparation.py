"""Ctrl-C and ending signals while a command prepares: before, between and after its searches."""

import signal

import numpy as np
import pandas as pd
import pytest
from command_line import invoke

import gomea_bn.data.table
import gomea_bn.learning.fronts.search
import gomea_bn.learning.learner
import gomea_bn.learning.pareto_learner
import gomea_bn.learning.search.search
from gomea_bn import read_front

SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
# by name: the command, the module that calls the function, and the function
BEFORE_A_NETWORK = {
    "reading": ("learn", gomea_bn.data.table, "_read_columns"),
    "learn": ("learn", gomea_bn.learning.search.search, "learning_problem"),
    "front": ("front", gomea_bn.learning.pareto_learner, "checked_expert"),
    "single network": ("front", gomea_bn.learning.search.search, "learning_problem"),
}


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.csv"
    pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=list("abc")).to_csv(path, index=False)
    return path


@pytest.mark.sample(6)
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("place", BEFORE_A_NETWORK)
def test_a_signal_before_the_first_network_ends_in_one_line(monkeypatch, rows, number, place):
    command, module, name = BEFORE_A_NETWORK[place]

    def interrupted(*arguments, **options):
        signal.raise_signal(number)
        raise AssertionError("the signal was ignored")

    monkeypatch.setattr(module, name, interrupted)
    result = invoke(
        command, rows, "--max-evaluations", "20", "--out", rows.parent / "out", "--checkpoint",
        rows.parent / "ck",
    )  # fmt: skip
    assert result.exit_code == SIGNALS[number]
    assert result.stderr.endswith("Error: Interrupted; nothing was written.\n")
    assert result.stderr.count("Error: ") == 1
    assert "Traceback" not in result.stderr
    assert list(rows.parent.iterdir()) == [rows]


@pytest.mark.sample(1)
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_between_two_searches_keeps_the_single_network(monkeypatch, rows, number):
    prepare = gomea_bn.learning.fronts.search.front_problem

    def interrupted(*arguments, **options):
        signal.raise_signal(number)
        return prepare(*arguments, **options)

    monkeypatch.setattr(gomea_bn.learning.fronts.search, "front_problem", interrupted)
    out = rows.parent / "out"
    result = invoke("front", rows, "--max-evaluations", "5000", "--out", out)
    assert result.exit_code == (0 if number == signal.SIGINT else SIGNALS[number]), result.stderr
    record = read_front(out).record
    assert record["stopped_by"] == "interrupt"
    assert record["single_network"]["id"] is not None
