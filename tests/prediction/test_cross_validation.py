"""Cross-validation against plain loops over the rows, each left out."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from wrong_input import untyped

from gomea_bn import BayesNetLearner, GomeaBnError, read_table
from gomea_bn.data.weights import weighted_table
from gomea_bn.metrics import histogram_baseline
from gomea_bn.prediction import cross_validate


def rows(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    k = np.where(x + 0.3 * rng.normal(size=n) > 0, "up", "down")
    return pd.DataFrame({"x": x, "y": x + 0.5 * rng.normal(size=n), "k": k})


def test_a_baseline_is_judged_as_by_a_loop_over_the_rows():
    frame = rows(20)
    judged = cross_validate(frame, target="k", folds=20, compare=["histogram"], random_state=3)
    logs, losses, surplus = [], [], []
    table = read_table(frame)
    for row in range(20):
        network = histogram_baseline(table.take(np.delete(np.arange(20), row)))
        one = frame.iloc[[row]]
        logs.append(float(network.log_density(one)[0]))
        shares = network.tables["k"]
        code = network.levels["k"].index(one["k"].iloc[0])
        losses.append(-math.log(shares[code]))
        surplus.append(shares.max() - (shares.argmax() == code))
    expected = {"log_density": logs, "log_loss": losses, "calibration": surplus}
    assert judged.columns.tolist() == [part for name in expected for part in (name, f"{name}_error")] + [
        "seconds"
    ]
    for name, values in expected.items():
        assert judged.loc["histogram", name] == pytest.approx(np.mean(values))
        error = np.std(values, ddof=1) / math.sqrt(20)
        assert judged.loc["histogram", f"{name}_error"] == pytest.approx(error)


def test_a_continuous_target_has_the_integral_of_squared_differences():
    frame = rows(40)[["x", "k"]]
    judged = cross_validate(frame, target="x", folds=40, compare=["histogram"], random_state=3)
    scores, inside = [], []
    table = read_table(frame)
    grid = np.linspace(-6, 6, 24_001)
    for row in range(40):
        network = histogram_baseline(table.take(np.delete(np.arange(40), row)))
        edges = [network.support["x"][0], *network.cut_points["x"], network.support["x"][1]]
        below = np.concatenate([[0.0], np.cumsum(network.tables["x"])])
        value = frame["x"].iloc[row]
        scores.append(((np.interp(grid, edges, below) - (grid >= value)) ** 2).sum() * (grid[1] - grid[0]))
        inside.append(np.interp(0.05, below, edges) <= value <= np.interp(0.95, below, edges))
    # the distribution is that of the values that occur
    assert judged.loc["histogram", "crps"] == pytest.approx(np.mean(scores), rel=0.02)
    assert judged.loc["histogram", "calibration"] == pytest.approx(0.9 - np.mean(inside), abs=0.026)


def test_methods_are_in_one_table_and_a_seed_repeats_it():
    frame = rows(150)
    learner = BayesNetLearner(max_evaluations=200, density="bins", n_jobs=1)
    options: dict[str, Any] = {"target": "k", "folds": 2, "max_seconds": None, "learner": learner}
    methods = ["learner", "equal-frequency", "histogram"]
    judged = cross_validate(frame, compare=methods, random_state=5, **options)
    assert judged.index.tolist() == methods
    losses, densities = judged["log_loss"].to_dict(), judged["log_density"].to_dict()
    assert losses["learner"] < losses["histogram"] - 0.2
    assert densities["learner"] > densities["histogram"]
    assert judged.attrs["seed"] == 5
    again = cross_validate(frame, compare=methods[1:], random_state=5, **options)
    columns = judged.columns[:-1]
    pd.testing.assert_frame_equal(again[columns], judged.loc[methods[1:], columns])


@pytest.mark.long
def test_rows_without_a_target_are_judged_by_their_other_cells():
    frame = rows(60)
    frame.loc[:9, "k"] = None
    learner = BayesNetLearner(max_evaluations=50, density="bins", n_jobs=1)
    judged = cross_validate(frame, target="k", folds=2, compare="learner", learner=learner, random_state=1)
    assert np.isfinite(judged.to_numpy()).all()


def test_a_baseline_is_learned_from_complete_rows():
    frame = rows(60)
    frame.loc[::7, "x"] = np.nan
    judged = cross_validate(frame, folds=3, compare=["histogram"], random_state=1)
    assert np.isfinite(judged["log_density"]).all()


def test_the_knee_of_a_front_is_judged():
    judged = cross_validate(rows(60), folds=2, compare=["knee"], max_seconds=0.3, random_state=1)
    assert np.isfinite(judged["log_density"].to_numpy()).all()


def test_refusals_name_what_is_wrong():
    frame = rows(10)
    with pytest.raises(
        GomeaBnError, match=r"compare must name methods among learner, knee, .*, got 'learners'"
    ):
        cross_validate(frame, compare=["learners"])
    with pytest.raises(GomeaBnError, match=r"compare must name methods among .*, got 'mdlp'"):
        cross_validate(frame, compare=["histogram", "mdlp"])
    with pytest.raises(GomeaBnError, match="compare must name at least one"):
        cross_validate(frame, compare=[])
    with pytest.raises(GomeaBnError, match="target must be a column of the table, got 'z'"):
        cross_validate(frame, target="z")
    with pytest.raises(GomeaBnError, match="folds must be at most the number of rows, 10, got 11"):
        cross_validate(frame, folds=11)
    with pytest.raises(GomeaBnError, match="folds must be an integer of at least 2, got 1"):
        cross_validate(frame, folds=1)


def test_weights_of_rows_weigh_what_is_learned_and_the_means():
    frame, weights = rows(30), np.random.default_rng(2).integers(0, 3, 30)
    kept = np.flatnonzero(weights)
    judged = cross_validate(
        frame, target="k", folds=len(kept), compare=["histogram"], random_state=3, sample_weight=weights
    )
    table = read_table(frame).take(kept)
    logs, losses = [], []
    for row in range(len(kept)):
        others = np.delete(np.arange(len(kept)), row)
        network = histogram_baseline(weighted_table(table.take(others), weights[kept][others]))
        logs.append(float(network.log_density(frame.iloc[[kept[row]]])[0]))
        code = network.levels["k"].index(frame["k"].iloc[kept[row]])
        losses.append(-math.log(network.tables["k"][code]))
    assert judged.loc["histogram", "log_density"] == pytest.approx(np.average(logs, weights=weights[kept]))
    assert judged.loc["histogram", "log_loss"] == pytest.approx(np.average(losses, weights=weights[kept]))


def test_equal_weights_are_none_and_weights_of_zero_removed_rows():
    frame = rows(40)
    options: dict[str, Any] = {
        "folds": 2,
        "compare": ["histogram", "learner"],
        "random_state": 3,
        "max_seconds": None,
    }
    options["learner"] = BayesNetLearner(max_evaluations=50, density="bins")
    plain = cross_validate(frame, target="y", **options).drop(columns="seconds")
    weighted = cross_validate(frame, target="y", sample_weight=np.ones(40), **options).drop(columns="seconds")
    pd.testing.assert_frame_equal(plain, weighted)
    zeros = np.arange(40) % 4 > 0
    removed = cross_validate(frame[zeros], target="y", **options).drop(columns="seconds")
    weighted = cross_validate(frame, target="y", sample_weight=zeros, **options).drop(columns="seconds")
    pd.testing.assert_frame_equal(removed, weighted)
    with pytest.raises(GomeaBnError, match="sample_weight must have one weight for each of 40 rows"):
        cross_validate(frame, sample_weight=[1.0], **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"compare": 3}, "compare must be a name or a sequence of names, got 3"),
        ({"compare": [["learner"]]}, "compare must name methods among"),
        ({"compare": [1]}, "compare must name methods among"),
        ({"target": 3}, "target must be a column of the table, got 3"),
        ({"target": ["a"]}, "target must be a column of the table, got"),
        ({"learner": "x"}, "learner must be a BayesNetLearner or None, got 'x'"),
        ({"learner": 0}, "learner must be a BayesNetLearner or None, got 0"),
    ],
)
def test_options_of_a_wrong_type_are_refused(options, words):
    rows = pd.DataFrame({"a": ["x", "y"] * 10, "b": np.arange(20) % 3 / 7})
    with pytest.raises(GomeaBnError, match=words):
        cross_validate(rows, folds=2, **untyped({"compare": "histogram", **options}))
