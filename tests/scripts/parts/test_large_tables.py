"""Large tables: their rows, and the densities that are printed."""

import numpy as np
import pandas as pd
import pytest
import shapes
from harness.real_tables import RealTable
from parts import large_tables
from parts.large_tables import collinear_table

QUICK = ["--discretizer", "equal-frequency", "--option", "max_evaluations=200", "--workers", "1"]


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


def test_large_prints_ours_and_every_number_of_bins(monkeypatch, capsys):
    pytest.importorskip("pyagrum")
    small = collinear_table(400, 0, False).frame[["A", "B", "C"]]
    table = RealTable(small, dict.fromkeys("ABC", "continuous"), None)
    monkeypatch.setitem(large_tables.LARGE_TABLES, "collinear", lambda: table)
    command = [
        "large",
        *QUICK,
        "--tables",
        "collinear",
        "--bins",
        "2",
        "4",
        "--widths",
        "0",
        "--seconds",
        "2",
    ]
    shapes.main(command)
    printed = capsys.readouterr().out.splitlines()
    assert "120 test rows of 'collinear'" in printed[1]
    methods = (
        "ours",
        "ours, averaged bins",
        "ours, averaged bins and lines",
        "quantile 2, BIC",
        "quantile 4, BIC",
        "Gaussian",
        "mixture of",
    )
    assert all(line.startswith(method) for line, method in zip(printed[3:10], methods, strict=True))
    means = [float(printed[row][len(methods[row - 3]) :].split()[0]) for row in (3, 6, 7)]
    ahead = float(printed[-1].split(":")[1].split()[0])
    assert ahead == pytest.approx(means[0] - max(means[1:]), abs=0.011)
    shapes.main([*command, "--without-peers"])
    assert "quantile" not in capsys.readouterr().out


def test_densities_of_bins_integrate_over_the_test_rows():
    task = {"table": "collinear", "split seed": 0, "widths": [0.0], "bins": 3}
    pytest.importorskip("pyagrum")
    [record] = large_tables.one_split(task)
    assert record["bins 0.0"] == 3.0
    assert len(record["density 0.0"]) == 3_900
    assert np.isfinite(record["density 0.0"]).all()


def test_one_gaussian_is_the_normal_density_of_mean_and_covariance():
    pytest.importorskip("sklearn")
    frame = collinear_table(300, 1, False).frame[["A", "B"]]
    one, best = large_tables.gaussians(frame, frame[:50], (1, 2))
    centred = (frame[:50] - frame.mean()).to_numpy()
    covariance = np.cov(frame.to_numpy().T, bias=True) + large_tables.SMALLEST_VARIANCE * np.eye(2)
    distances = np.einsum("ij,jk,ik->i", centred, np.linalg.inv(covariance), centred)
    expected = -0.5 * distances - np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(covariance)[1]
    assert one["gaussians"] == pytest.approx(expected)
    assert best["method"] in ("mixture of 1 Gaussians", "mixture of 2 Gaussians")


def test_a_linear_gaussian_network_of_two_columns_is_one_gaussian():
    pytest.importorskip("pybnesian")
    frame = collinear_table(300, 0, False).frame[["A", "B"]]
    train, test = frame[:200], frame[200:]
    records = large_tables.continuous_networks(train, test)
    assert records[0]["n edges"] == 1
    (gaussian, _) = large_tables.gaussians(train, test, (1, 2))
    np.testing.assert_allclose(records[0]["gaussians"], gaussian["gaussians"], atol=0.05)
    for record in records[1:]:
        assert record["method"] == "pybnesian semiparametric, 1,000 rows"
        assert len(record["gaussians"]) == 100
