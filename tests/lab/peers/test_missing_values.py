"""What the benchmarks of missing values remove, score and print."""

import numpy as np
import pandas as pd
import pytest

from lab.peers import missing_values
from lab.runner.experiment import Options
from lab.samples.real_tables import TABLES


def numbers(n_rows=4_000):
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(n_rows, 6)), columns=list("abcdef"))


@pytest.mark.parametrize("mechanism", ["random", "observed", "own", "another"])
def test_values_are_removed_by_their_mechanism(mechanism):
    frame = numbers()
    gaps = missing_values.amputated(frame, mechanism, 0.3, np.random.default_rng(1))
    assert gaps.where(gaps.notna(), frame).equals(frame)
    shares = gaps.isna().mean()
    removed = shares[shares > 0]
    assert len(removed) == (4 if mechanism == "observed" else 6)
    assert removed.to_numpy() == pytest.approx(0.3, abs=0.03)
    above = frame > frame.median()
    odds = np.array([[gaps[name][above[cause]].isna().mean() for cause in frame] for name in removed.index])
    raised = odds > 0.38
    if mechanism == "random":
        assert not raised.any()
    else:
        # every column has one cause
        assert raised.sum(axis=1).tolist() == [1] * len(removed)
        causes = {name: frame.columns[row.argmax()] for name, row in zip(removed.index, raised, strict=True)}
        assert all((cause == name) == (mechanism == "own") for name, cause in causes.items())
        if mechanism == "observed":
            assert not set(causes.values()) & set(removed.index)


def result(method, f1, density):
    return ("random", method, 0.3, 100, f1, density, 1.0)


def test_shares_compare_with_the_full_data_of_the_same_runs():
    rows = [
        *(result("full data", 0.8, -2.0), result("no edges", 0.0, -4.0), result("some", 0.4, -3.5)),
        *(result("full data", 0.6, -1.0), result("no edges", 0.0, -2.0), result("some", np.nan, np.nan)),
    ]
    names = ["mechanism", "method", "share", "rows", "F1", "density", "seconds"]
    full, some = missing_values.printed_lines(pd.DataFrame(rows, columns=names))
    assert full == ("full data", "0.700", "100.0%", "0.0000", "100.0%", "1.00", "2/2")
    assert some == ("some", "0.400", "50.0%", "1.5000", "25.0%", "1.00", "1/2")


def test_a_real_table_is_split():
    options = Options(table="iris", first=3, networks=1)
    [(seed, truth, train, test)] = missing_values.samples(options)
    whole = TABLES["iris"]().frame
    assert (seed, truth, len(train), len(test)) == (3, None, 105, 45)
    assert sorted(pd.concat([train, test])["A"]) == pytest.approx(sorted(whole["A"]), abs=0.02)
    assert pd.concat([train, test])["A"].is_unique
    assert sorted(pd.concat([train, test])["E"]) == sorted(whole["E"])


def test_imputation_keeps_levels_and_fills_every_cell():
    frame = numbers(50).assign(g=pd.Categorical(["u", "v"] * 25), h=1.0)
    gaps = frame.mask(np.random.default_rng(2).random(frame.shape) < 0.3)
    gaps["g"] = gaps["g"].astype(frame["g"].dtype)
    for way in ("mean", "neighbours"):
        filled = missing_values.imputed(gaps, way)
        assert not filled.isna().any().any()
        assert filled["g"].cat.categories.tolist() == ["u", "v"]
        for name in frame:
            is_observed = gaps[name].notna()
            kept, given = filled[name][is_observed], gaps[name][is_observed]
            if name == "g":
                assert kept.tolist() == given.tolist()
            else:
                assert kept.to_numpy() == pytest.approx(given.to_numpy())


@pytest.mark.long
def test_the_experiment_has_a_table_with_every_method(run_lab):
    few = ["--networks", "1", "--variables", "4", "--mechanisms", "observed", "--shares", "0.2"]
    printed = run_lab("missing-values", *few, "--rows", "120", "--evaluations", "100", "--oracle")
    assert "20% missing by observed, 120 rows" in printed
    assert "structural EM" in printed
