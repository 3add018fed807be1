"""Tests of frequency weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import invoke

from gomea_bn import BayesNetLearner, GomeaBnError
from gomea_bn.data import read_table
from gomea_bn.data.row_weights import repeated_rows


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
    table = read_table(rows, missing="drop")
    assert repeated_rows(table, [1, 9, 1, 2, *[1] * 8]).n_rows == 12


def test_learning_with_weights_equals_learning_from_repeated_rows():
    rows = frame()
    weights = np.random.default_rng(1).integers(0, 4, len(rows))
    # under the default score copies do not count
    options: dict[str, Any] = {
        "max_seconds": None,
        "max_evaluations": 200,
        "random_state": 1,
        "scoring_method": "density-bic",
    }
    weighted = BayesNetLearner(**options).fit(rows, sample_weight=weights)
    repeated = BayesNetLearner(**options).fit(rows.iloc[np.repeat(np.arange(len(rows)), weights)])
    assert weighted.network_ == repeated.network_
    assert weighted.score_ == repeated.score_


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


def test_the_command_takes_a_column_of_weights(tmp_path):
    rows = frame()
    weights = np.random.default_rng(1).integers(0, 4, len(rows))
    rows.assign(w=weights).to_csv(tmp_path / "data.csv", index=False)
    options = ["--max-seconds", "0", "--max-evaluations", "200", "--seed", "1", "--json"]
    result = invoke("learn", tmp_path / "data.csv", "--weight", "w", *options)
    assert result.exit_code == 0
    assert f'"n_rows": {weights.sum()}' in result.stdout
    assert '"weight": "w"' in result.stdout
    assert "unknown column 'v'" in invoke("learn", tmp_path / "data.csv", "--weight", "v", *options).stderr
