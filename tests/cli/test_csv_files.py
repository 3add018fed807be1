"""CSV files that commands write: the form of the file that was read, six digits, and no formulas."""

import numpy as np
import pandas as pd
import pytest
from command_line import ok

from gomea_bn import DiscretizedBayesNet
from gomea_bn.cli.output import rounded_frame, without_formulas


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=80).round(7)
    frame = pd.DataFrame(
        {"x": x, "y": (x + rng.normal(size=80)).round(7), "k": np.where(x > 0, "=1+1", "no")}
    )
    network = DiscretizedBayesNet.from_table(frame, [("x", "y"), ("x", "k")], {"x": [0.0], "y": [0.0]})
    network.to_json(tmp_path / "network.json")
    frame["note"] = "+cmd"
    frame.loc[:9, "y"] = np.nan
    frame.to_csv(tmp_path / "data.csv", index=False, sep=";", decimal=",")
    return tmp_path


def test_files_are_written_in_the_form_that_was_read(folder):
    given = pd.read_csv(folder / "data.csv", sep=";", decimal=",")
    done = ok(
        "predict",
        folder / "network.json",
        folder / "data.csv",
        "--target",
        "y",
        "--keep",
        "x,note",
        "-o",
        folder / "p.csv",
    )
    written = pd.read_csv(folder / "p.csv", sep=";", decimal=",")
    assert written.columns[0] == "x"
    # cells of the table keep all digits, computed ones have six
    assert written["x"].tolist() == given["x"].tolist()
    assert written.iloc[:, -1].tolist() == [float(f"{value:.6g}") for value in written.iloc[:, -1]]
    assert (written["note"] == "'+cmd").all()
    assert "80 texts would be formulas in a spreadsheet" in done.stderr
    ok("impute", folder / "network.json", folder / "data.csv", "--how", "mean", "-o", folder / "i.csv")
    filled = pd.read_csv(folder / "i.csv", sep=";", decimal=",")
    known = given["y"].notna()
    assert filled.loc[known, "y"].tolist() == given.loc[known, "y"].tolist()
    assert filled["y"].notna().all()
    assert set(filled["k"]) == {"'=1+1", "no"}


def test_numbers_have_six_digits_and_given_cells_stay():
    frame = pd.DataFrame({"a": [1 / 3, 1234567.891, np.nan, 1e-12 / 7], "n": [1, 2, 3, 123456789]})
    given = np.zeros((4, 2), bool)
    given[1] = True
    rounded = rounded_frame(frame, given)
    assert rounded["a"].tolist()[:2] == [0.333333, 1234567.891]
    assert np.isnan(rounded["a"][2])
    assert rounded["a"][3] == 1.42857e-13
    assert rounded["n"].tolist() == frame["n"].tolist()
    assert rounded_frame(frame)["a"][1] == 1234570.0


@pytest.mark.parametrize("text", ["=1", "@x", "+x", "-a", "\tx", "\n=1", "+1+1", "-1-1"])
def test_formulas_get_an_apostrophe(text):
    changed, n = without_formulas(pd.DataFrame({"a": [text, "b", None]}))
    assert (changed["a"][0], n) == (f"'{text}", 1)
    assert changed["a"][1] == "b"
    assert pd.isna(changed["a"][2])
    named, n = without_formulas(pd.DataFrame({text: [1]}))
    assert (named.columns[0], n) == (f"'{text}", 1)


@pytest.mark.parametrize("text", ["", "-", "+", "-1", "+1.5", "-1,5", "1e-5", "a=b", "x"])
def test_other_texts_stay(text):
    frame = pd.DataFrame({"a": [text]})
    changed, n = without_formulas(frame)
    assert n == 0
    pd.testing.assert_frame_equal(changed, frame)
