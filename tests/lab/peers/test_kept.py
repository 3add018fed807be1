"""The experiment `kept-numbers`."""

import numpy as np
import pandas as pd
import pytest

from gomea_bn import GomeaBnError
from lab.peers.kept import table_of_kept, within


def test_held_out_rows_are_within_the_range_of_training_rows():
    train = pd.DataFrame({"x": [0.0, 1.0, 2.0, np.nan], "level": list("abca")})
    held_out = pd.DataFrame({"x": [-1.0, 1.5, 9.0, np.nan], "level": ["a", "d", "c", None]})
    found = within(train, held_out)
    np.testing.assert_array_equal(found["x"], [0.0, 2.0, np.nan])
    assert found["level"].fillna("absent").tolist() == ["a", "c", "absent"]


def test_a_table_that_is_no_file_is_an_error(tmp_path):
    with pytest.raises(GomeaBnError, match="neither one of diabetes"):
        table_of_kept(str(tmp_path / "absent.csv"))


@pytest.mark.long
def test_methods_of_a_table_are_printed(run_lab, tmp_path):
    rng = np.random.default_rng(3)
    x = rng.normal(size=300)
    frame = pd.DataFrame({"x": x, "y": x + rng.normal(size=300), "g": rng.choice(["a", "b"], 300)})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    printed = run_lab("kept-numbers", "--tables", str(tmp_path / "rows.csv"), "--seconds", "1")
    assert "rows.csv: 210 training rows, 90 held out, 3 columns" in printed
    assert all(f"\n{label}" in printed for label in ("ours", "ours, density"))
