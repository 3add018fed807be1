"""Large tables: their rows, and the densities that are printed."""

import numpy as np
import pandas as pd
import pytest

from lab.peers import large_tables
from lab.peers.large_tables import collinear_table
from lab.samples.real_tables import RealTable

QUICK = ["--discretizer", "equal-frequency", "--option", "max_evaluations=200"]


@pytest.mark.parametrize("heavy_tails", [False, True])
def test_three_factors_determine_ten_columns(heavy_tails):
    table, again = (collinear_table(3_000, 0, heavy_tails) for _ in range(2))
    pd.testing.assert_frame_equal(table.frame, again.frame)
    assert table.frame.shape == (3_000, 10)
    assert table.continuous == list(table.frame)
    assert not table.frame.equals(collinear_table(3_000, 1, heavy_tails).frame)
    ranks = table.frame.rank().to_numpy()
    shares = np.linalg.eigvalsh(np.corrcoef(ranks.T))[::-1] / 10
    # a square is not monotone, so that ranks need more than three components
    assert shares[:5].sum() > 0.9
    kurtosis = table.frame.kurt()
    assert (kurtosis.max() > 10.0) == heavy_tails


def test_the_registered_tables_have_more_than_10000_rows():
    for name, make in large_tables.LARGE_TABLES.items():
        if name == "health insurance":
            pytest.importorskip("statsmodels")
        table = make()
        assert 10_000 < len(table.frame) <= 21_000
        assert len(table.continuous) >= 4
        for column, kind in table.kinds.items():
            assert isinstance(table.frame[column].dtype, pd.CategoricalDtype) == (kind == "discrete")


def test_large_prints_ours_and_every_number_of_bins(monkeypatch, run_lab, tmp_path):
    pytest.importorskip("pyagrum")
    small = collinear_table(400, 0, False).frame[["A", "B", "C"]]
    table = RealTable(small, dict.fromkeys("ABC", "continuous"), None)
    monkeypatch.setitem(large_tables.LARGE_TABLES, "collinear", lambda: table)
    command = ["shapes-large", *QUICK, "--tables", "collinear", "--widths", "0", "--seconds", "2"]
    lines = run_lab(*command, "--bins", "2", "4").splitlines()
    heading = next(n for n, line in enumerate(lines) if "120 test rows of 'collinear'" in line)
    printed = lines[heading - 1 :]
    methods = (
        "ours",
        "ours, averaged bins",
        "ours, averaged bins and lines",
        "quantile 2, BIC",
        "quantile 4, BIC",
    )
    assert all(line.startswith(method) for line, method in zip(printed[3:8], methods, strict=True))
    means = [float(printed[row][len(methods[row - 3]) :].split()[0]) for row in (3, 6, 7)]
    ahead = float(printed[-1].split(":")[1].split()[0])
    assert ahead == pytest.approx(means[0] - max(means[1:]), abs=0.011)
    assert "quantile" not in run_lab(*command, "--without-peers", "--resume", "--accept-changes")


def test_densities_of_bins_integrate_over_the_test_rows():
    task = {"table": "collinear", "split seed": 0, "widths": [0.0], "bins": 3}
    pytest.importorskip("pyagrum")
    [record] = large_tables.one_split(task)["records"]
    assert record["bins 0.0"] == 3.0
    assert len(record["density 0.0"]) == 3_900
    assert np.isfinite(record["density 0.0"]).all()
