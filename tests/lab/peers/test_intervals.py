"""The benchmark of intervals of answers: which shares are held, its questions, and what it prints."""

from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest

from lab.peers.intervals import held, questions
from lab.peers.pairs import CellCoder, patients


def test_intervals_of_the_truth_hold_nine_of_ten_shares():
    rng = np.random.default_rng(1)
    answers, n_new, error = np.full(20_000, 0.3), 10_000, 0.004
    truth = answers + error * rng.normal(size=len(answers))
    shares = rng.binomial(n_new, truth) / n_new
    reach = NormalDist().inv_cdf(0.95)
    assert held(answers, np.full(len(answers), reach * error), shares, n_new).mean() == pytest.approx(
        0.9, abs=0.01
    )
    assert held(answers, np.zeros(len(answers)), shares, n_new).mean() < 0.85


def test_questions_count_rows_of_cells_with_enough_of_them():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=600),
            "k": rng.choice(["a", "b", "c"], 600, p=[0.5, 0.45, 0.05]),
            "y": rng.choice(list("no"), 600),
        }
    )
    train, new = frame[:400], frame[400:]
    coder = CellCoder.of(train)
    found = list(questions(coder, coder.cells(train), coder.cells(new), "y"))
    # a quarter of the rows each between inner quantiles; the level c is too rare
    assert [(name, finding) for name, finding, _, _ in found if name == "k"] == [("k", "a"), ("k", "b")]
    for name, finding, of_train, of_new in found:
        for rows, counts in ((train, of_train), (new, of_new)):
            fits = [
                value in finding if isinstance(finding, pd.Interval) else value == finding
                for value in rows[name]
            ]
            assert counts.tolist() == [(rows["y"][fits] == level).sum() for level in "no"]


@pytest.mark.long
def test_methods_of_a_table_are_printed_and_absent_tables_left_out(run_lab, monkeypatch):
    monkeypatch.setattr("lab.peers.pairs.patients", lambda: patients(1_000))
    options = ["--seconds", "1", "--splits", "1", "--most", "4", "--processes", "1"]
    printed = run_lab("answers-intervals", "--tables", "patients", "GBSG2", "clinic", *options)
    assert all(
        label in printed
        for label in (
            "ours",
            "group-by",
            "GBSG2: left out, needs --wheel FILE",
            "clinic: left out, needs --clinic",
        )
    )
