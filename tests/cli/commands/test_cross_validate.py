"""The command `cross-validate` prints the table of `gomea_bn.prediction.cross_validate`."""

import json

import pandas as pd
import pytest
from command_line import ok, refused

from gomea_bn.prediction import cross_validate


@pytest.fixture
def data(rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows.to_csv("rows.csv", index=False)
    return rows


def test_the_table_is_printed_and_written(data):
    expected = cross_validate(data, target="c", folds=3, compare=["histogram"], random_state=2)
    options = (
        "cross-validate", "rows.csv", "--target", "c", "--folds", 3, "--compare", "histogram", "--seed", 2,
    )  # fmt: skip
    text = ok(*options).stdout
    assert text.split()[:3] == ["method", "log_density", "log_density_error"]
    assert f"{expected['log_loss'].iloc[0]:.4g}" in text
    record = json.loads(ok(*options, "--json").stdout)
    assert record["seed"] == 2
    assert record["methods"][0]["log_density"] == pytest.approx(expected.loc["histogram", "log_density"])
    assert ok(*options, "-o", "judged.csv", "-q").stderr == "Wrote judged.csv.\n"
    written = pd.read_csv("judged.csv", index_col="method").drop(columns="seconds")
    pd.testing.assert_frame_equal(written, expected.drop(columns="seconds"))


def test_wrong_use_is_refused(data):
    start = ("cross-validate", "rows.csv")
    assert "--compare must name methods among learner" in refused(2, *start, "--compare", "learner,other")
    assert "--target must be a column of the table, got 'z'" in refused(2, *start, "--target", "z")
    assert "cannot write 'rows.csv'" in refused(2, *start, "-o", "rows.csv")


@pytest.mark.parametrize("command", ["cross-validate", "study"])
def test_a_column_of_many_levels_is_read_as_the_error_says(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(
        {"ward": [f"w{row % 55}" for row in range(220)], "ill": ["no", "no", "yes", "no"] * 55}
    )
    frame.to_csv("wards.csv", index=False)
    options = {
        "cross-validate": ("--compare", "histogram", "--folds", 2, "--out", "out.csv"),
        "study": ("--target", "ill", "--folds", 0, "--out", "out.html"),
    }
    asked = (command, "wards.csv", "--max-seconds", 1, "--seed", 1, *options[command])
    assert "raise --max-levels" in refused(3, *asked)
    ok(*asked, "--max-levels", 60)
