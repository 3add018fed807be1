"""Held-out densities of real tables: scales, widths of bins, peers, and the printed tables."""

import numpy as np
import pandas as pd
import pytest

from gomea_bn import BayesNetLearner, read_table
from lab.methods import peers
from lab.peers import held_out

QUICK = ["--discretizer", "equal-frequency", "--option", "max_evaluations=400"]


def test_scaling_is_by_the_training_rows_and_test_values_are_clipped():
    train = pd.DataFrame({"x": [2.0, 6.0, 4.0], "c": pd.Categorical([0, 1, 0])})
    test = pd.DataFrame({"x": [1.0, 3.0, 9.0], "c": pd.Categorical([1, 1, 0])})
    before = test.copy()
    scaled_train, scaled_test = held_out.scaled(train, test, ["x"])
    assert scaled_train["x"].tolist() == [0.0, 1.0, 0.5]
    assert scaled_test["x"].tolist() == [0.0, 0.25, 1.0]
    pd.testing.assert_series_equal(scaled_test["c"], test["c"])
    pd.testing.assert_frame_equal(test, before)


@pytest.fixture
def spiky_table():
    rng = np.random.default_rng(0)
    x = np.concatenate((np.full(40, 0.5), rng.random(60), [0.0, 1.0]))
    return read_table(pd.DataFrame({"x": x, "y": rng.random(102)}))


def test_a_repeated_value_counts_with_narrow_bins_and_less_with_wide_ones(spiky_table):
    cuts = {"x": np.array([0.499, 0.501]), "y": np.array([0.5])}
    test = pd.DataFrame({"x": [0.5], "y": [0.3]})
    record = held_out.held_out("atom", spiky_table, [], cuts, {"pseudo_count": 1.0}, test)
    height = (40 + 1 / 3) / (102 + 1) / 0.002
    y = spiky_table.columns[1].values
    expected = np.log(height) + np.log(((y <= 0.5).sum() + 0.5) / 103) - np.log(0.5 - y.min())
    assert record["density 0.0"] == pytest.approx([expected])
    assert record["density 0.01"][0] < expected - 3.0
    for column, wide in held_out.wide_cuts(cuts, spiky_table, 0.01).items():
        low, high = spiky_table.to_frame()[column].min(), spiky_table.to_frame()[column].max()
        assert np.diff([low, *wide, high]).min() >= 0.01 * (high - low)
    assert record["bins 0.0"] == 2.5
    assert record["bins 0.01"] == 2.0


def test_ours_learns_once_per_width_and_loses_narrow_cuts(monkeypatch, spiky_table):
    widths = []

    def make(options, **fixed):
        widths.append(options["min_width"] if options else None)
        return BayesNetLearner(
            cut_points={"x": [0.499, 0.501]}, shape=shape, max_evaluations=200, random_state=0
        )

    monkeypatch.setattr(held_out, "make_learner", make)
    frame = spiky_table.to_frame()
    shape = "uniform"
    record = held_out.of_ours({}, {}, frame, frame)[0]
    assert widths == [None, 0.01]
    assert record["density 0.01"].mean() < record["density 0.0"].mean() - 0.5
    # bins with a shape may be narrow
    shape = "marginal"
    record = held_out.of_ours({}, {}, frame, frame)[0]
    assert (record["density 0.01"] == record["density 0.0"]).all()


def test_the_best_peer_is_judged_on_the_test_rows_of_all_folds():
    def group(*means):
        return [{"density 0.0": np.full(3, mean)} for mean in means]

    groups = {
        "ours": group(9.0, 9.0),
        "pyAgrum, uniform 3, BIC": group(1.0, 1.0),
        "pyAgrum, uniform 5, BIC": group(2.0, -4.0),
        "pyAgrum, uniform 3, BDeu 10": group(0.0, 3.0),
    }
    assert held_out.best_peer(groups, 0.0) == "pyAgrum, uniform 3, BDeu 10"
    assert held_out.best_peer(groups, 0.0, "BIC") == "pyAgrum, uniform 3, BIC"
    assert held_out.best_peer({"ours": group(9.0)}, 0.0) is None


@pytest.mark.long
def test_tables_prints_every_method(monkeypatch, run_lab):
    monkeypatch.setattr(peers, "GRID_METHODS", ("uniform",))
    few = ["--tables", "iris", "--folds", "2", "--seconds", "4"]
    printed = run_lab("optimal-tables", *QUICK, *few)
    assert "iris, 150 rows, 2 folds of seed 0" in printed
    assert len([line for line in printed.splitlines() if line.startswith("pyAgrum, uniform")]) >= 3
    summary = printed.splitlines()[-1].split()
    assert summary[0] == "iris"
    assert all(np.isfinite(float(text)) for text in summary[1:])


@pytest.mark.long
def test_tables_without_peers_prints_ours_alone(run_lab):
    few = ["--tables", "iris", "--folds", "2", "--seconds", "2", "--without-peers"]
    printed = run_lab("optimal-tables", *QUICK, *few)
    assert not [line for line in printed.splitlines() if line.startswith("pyAgrum")]
    assert printed.splitlines()[-1].split()[:3] == ["iris", "-", "-"]


def test_jitter_separates_equal_values_and_keeps_the_order_of_others():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.integers(0, 5, 60) * 0.5, "c": pd.Categorical(rng.integers(0, 2, 60))})
    before = frame.copy()
    once, twice = (held_out.jittered(frame, ["x"]) for _ in range(2))
    pd.testing.assert_frame_equal(once, twice)
    pd.testing.assert_frame_equal(frame, before)
    pd.testing.assert_series_equal(once["c"], frame["c"])
    noise = once["x"] - frame["x"]
    assert noise.between(0.0, 0.05).all()
    assert noise.max() > 0.04
    assert once["x"].is_unique


@pytest.mark.long
def test_tables_with_jitter_say_so(run_lab):
    command = ["optimal-tables", *QUICK, "--tables", "iris", "--folds", "2", "--seconds", "2"]
    printed = run_lab(*command, "--without-peers", "--jitter").splitlines()
    assert any(line.startswith("iris, 150 rows") and "values jittered" in line for line in printed)


@pytest.mark.long
def test_jitter_changes_densities_and_not_the_number_of_test_rows():
    task = {"table": "iris", "fold": 0, "folds": 3, "fold seed": 0, "method": held_out.OURS, "seconds": 5.0}
    task |= {"resolution": "steps", "options": {"discretizer": "equal-frequency", "max_evaluations": 300}}
    plain, again, noisy = (
        held_out.one_fold({**task, "jitter": jitter})["records"][0]["density 0.0"]
        for jitter in (False, False, True)
    )
    assert plain.tolist() == again.tolist()
    assert plain.shape == noisy.shape == (50,)
    assert (plain != noisy).mean() > 0.5
