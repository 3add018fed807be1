"""Tests of frequency weights."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import invoke, ok
from review_examples import page_data

from gomea_bn import BayesNetLearner, GomeaBnError, ParetoBayesNetLearner, read_front, read_table
from gomea_bn.cli.named_networks import named_network
from gomea_bn.data.sources import repeated_rows
from gomea_bn.errors import GomeaBnWarning

OPTIONS: dict[str, Any] = {
    "max_seconds": None, "max_evaluations": 300, "single_evaluations": 200, "random_state": 1,
}  # fmt: skip


def frame(n=120, seed=0):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=n)
    return pd.DataFrame({"x": x, "y": x + 0.3 * generator.normal(size=n), "k": np.where(x > 0, "a", "b")})


def test_rows_stand_as_often_as_their_weights_say():
    table = read_table(frame(10))
    repeated = repeated_rows(table, [2, 0, 1, 3, 1, 0, 0, 0, 0, 1])
    assert repeated.n_rows == 8
    wanted = table.columns[0].values[[0, 0, 2, 3, 3, 3, 4, 9]]
    np.testing.assert_array_equal(repeated.columns[0].values, wanted)


def test_weights_are_those_of_the_rows_that_were_not_dropped():
    rows = frame(12)
    rows.loc[1, "x"] = np.nan
    assert repeated_rows(read_table(rows, missing="drop"), [1, 9, 1, 2, *[1] * 8]).n_rows == 12


def test_learning_with_weights_equals_learning_from_repeated_rows():
    rows = frame()
    weights = np.random.default_rng(1).integers(0, 4, len(rows))
    # under the default score copies do not count
    options: dict[str, Any] = {
        "max_seconds": None, "max_evaluations": 200, "random_state": 1, "scoring_method": "density-bic",
    }  # fmt: skip
    weighted = BayesNetLearner(**options).fit(rows, sample_weight=weights)
    repeated = BayesNetLearner(**options).fit(rows.iloc[np.repeat(np.arange(len(rows)), weights)])
    assert weighted.network_ == repeated.network_
    assert weighted.score_ == repeated.score_


def test_weights_of_columns_without_ties_are_warned_of():
    rows, weights = frame(), np.arange(120) % 3
    with pytest.warns(GomeaBnWarning, match="another value of 'x', 'y'"):
        repeated_rows(read_table(rows), weights)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Weights repeat")
        repeated_rows(read_table(rows), np.ones(120))
        repeated_rows(read_table(rows.round(1)), weights)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], "sample_weight must have one weight for each of 120 rows"),
        (np.full(120, -1), "sample_weight must be finite numbers from 0 on, some above 0; wrong in"),
        (np.zeros(120), "all are 0"),
        (np.full(120, 0.5), "sample_weight must be whole numbers"),
        (np.full(120, 1e7), "sample_weight must sum to at most 50,000,000"),
        (["a"] * 120, "sample_weight must be numbers"),
    ],
)
def test_other_weights_are_refused(weights, message):
    with pytest.raises(GomeaBnError, match=message):
        BayesNetLearner(max_evaluations=10).fit(frame(), sample_weight=weights)


def test_pieces_have_no_weights():
    with pytest.raises(GomeaBnError, match="sample_weight needs a table in memory"):
        BayesNetLearner(max_evaluations=10).fit([frame(), frame()], sample_weight=np.ones(240))


def test_a_front_with_weights_equals_that_of_repeated_rows():
    rows = frame()
    weights = np.random.default_rng(1).integers(0, 4, len(rows))
    weighted = ParetoBayesNetLearner(**OPTIONS).fit(rows, sample_weight=weights)
    repeated = ParetoBayesNetLearner(**OPTIONS).fit(rows.iloc[np.repeat(np.arange(len(rows)), weights)])
    np.testing.assert_array_equal(weighted.front_.values, repeated.front_.values)
    assert [entry.network for entry in weighted.front_] == [entry.network for entry in repeated.front_]
    assert weighted.front_.run_hash == repeated.front_.run_hash
    with pytest.raises(GomeaBnError, match="sample_weight must be whole numbers"):
        ParetoBayesNetLearner(**OPTIONS).fit(rows, sample_weight=np.full(120, 0.5))


@pytest.mark.sample(1)
@pytest.mark.parametrize("command", ["learn", "front"])
def test_commands_take_a_column_of_weights(tmp_path, command):
    rows = frame()
    weights = np.random.default_rng(1).integers(0, 4, len(rows))
    data, out = tmp_path / "data.csv", tmp_path / "out"
    rows.assign(w=weights).to_csv(data, index=False)
    options: list[object] = ["--max-seconds", 0, "--max-evaluations", 300, "--seed", 1, "--out", out]
    if command == "front":
        options += ["--single-evaluations", 200]
    ok(command, data, "--weight", "w", *options)
    if command == "learn":
        learner = BayesNetLearner(max_seconds=None, max_evaluations=300, random_state=1)
        network = learner.fit(rows, sample_weight=weights).network_
        learned = named_network(str(out))
        assert (learned.edges, learned.metadata["score"]) == (network.edges, network.metadata["score"])
        assert "left_out_copies" not in learned.metadata
    else:
        front = ParetoBayesNetLearner(**OPTIONS).fit(rows, sample_weight=weights).front_
        np.testing.assert_array_equal(read_front(out).values, front.values)
    ok("review", out, "-o", tmp_path / "page.html")
    counts = next(
        v["counts"] for v in page_data((tmp_path / "page.html").read_text())["variables"] if "counts" in v
    )
    assert sum(counts) == weights.sum()
    assert "unknown column 'v'" in invoke(command, data, "--weight", "v", *options).stderr


def test_the_command_names_its_own_option(tmp_path):
    data = tmp_path / "data.csv"
    frame().to_csv(data, index=False)
    assert (
        "--weight must be numbers" in invoke("learn", data, "--weight", "k", "--max-evaluations", 10).stderr
    )
