"""Imputed cells and rows drawn given evidence: their distribution, types, and what stays as it was."""

import numpy as np
import pandas as pd
import pytest
from inference_examples import slow_joint
from network_examples import network_with, simple_network, slow_code, small_network
from scipy.stats import chisquare, kstest
from shaped_examples import point_at_a_cut, random_network

from gomea_bn import (
    BayesNetLearner,
    DiscretizedBayesNet,
    GomeaBnError,
    GomeaBnWarning,
    average_families,
    read_table,
)
from gomea_bn.network.inference import completion


@pytest.fixture
def network() -> DiscretizedBayesNet:
    return DiscretizedBayesNet(
        ["x", "day", "n"],
        [("x", "day"), ("day", "n")],
        cut_points={"x": [1.0, 2.0]},
        support={"x": (0.0, 4.0)},
        levels={"day": ["mon", "tue"], "n": [1, 2, 3]},
        tables={
            "x": [0.5, 0.3, 0.2],
            "day": [[0.1, 0.9], [0.5, 0.5], [0.8, 0.2]],
            "n": [[0.1, 0.2, 0.7], [0.6, 0.3, 0.1]],
        },
    )


@pytest.mark.parametrize("method", ["exact", "sampling"])
def test_draws_are_joint_draws_from_the_posterior(network, method):
    n = 6000
    frame = pd.DataFrame({"x": np.nan, "day": None, "n": [3] * n})
    filled = network.impute(frame, random_state=1, method=method, n_draws=50)
    codes = network.discretize(filled)
    counts = np.bincount(codes["x"] * 2 + codes["day"], minlength=6)
    joint = slow_joint(network, {"n": np.array([0, 0, 1.0])}, ["x", "day"])
    # choosing among 50 weighted draws is slightly biased
    least = 1e-3 if method == "exact" else 1e-6
    assert chisquare(counts, joint.ravel() / joint.sum() * n).pvalue > least
    inside = filled["x"][codes["x"] == 2]
    assert kstest(inside, "uniform", args=(2, 2)).pvalue > 1e-3


def test_modes_and_means_by_hand(network):
    frame = pd.DataFrame({"x": [np.nan, np.nan], "day": ["mon", "tue"], "n": [np.nan, 2]})
    given_mon = np.array([0.5 * 0.1, 0.3 * 0.5, 0.2 * 0.8]) / 0.36
    given_tue = np.array([0.5 * 0.9, 0.3 * 0.5, 0.2 * 0.2]) / 0.64
    mode = network.impute(frame, "mode")
    assert mode["x"].tolist() == [3.0, 0.5]
    assert mode["n"].tolist() == [3.0, 2.0]
    mean = network.impute(frame, "mean")
    assert mean["x"].tolist() == pytest.approx([given_mon @ [0.5, 1.5, 3], given_tue @ [0.5, 1.5, 3]])
    assert mean["n"].tolist() == [3.0, 2.0]


def test_everything_but_missing_cells_stays(network):
    frame = pd.DataFrame(
        {
            "note": ["a", None, "c", "d"],
            "n": pd.array([1, None, 3, None], dtype="Int64"),
            "day": pd.Categorical(["mon", None, None, "mon"], categories=["sun", "mon"], ordered=True),
            "x": [0.25, np.nan, 3.5, 1.0],
        },
        index=[7, 7, 8, 9],
    )
    before = frame.copy()
    filled = network.impute(frame, random_state=3)
    pd.testing.assert_frame_equal(frame, before)
    assert filled.columns.tolist() == ["note", "n", "day", "x"]
    assert filled.index.tolist() == [7, 7, 8, 9]
    assert filled["note"].isna().tolist() == [False, True, False, False]
    for name in network.names:
        was_there = frame[name].notna().to_numpy()
        assert filled[name][was_there].tolist() == frame[name][was_there].tolist()
        assert filled[name].notna().all()
    assert filled["n"].dtype == "Int64"
    assert filled["day"].cat.ordered
    assert filled["day"].cat.categories.tolist() == ["sun", "mon", "tue"]
    complete = network.sample(5, 1)
    pd.testing.assert_frame_equal(network.impute(complete), complete)


def test_blocks_of_rows_give_the_same_means(network, monkeypatch):
    frame = network.sample(40, 2).astype(object)
    frame.iloc[::2, 0] = None
    frame.iloc[::3, 1] = None
    whole = network.impute(frame, "mean")
    monkeypatch.setattr(completion, "_BLOCK", 7)
    pd.testing.assert_frame_equal(network.impute(frame, "mean"), whole)
    assert network.impute(frame, random_state=1).notna().to_numpy().all()


def test_a_table_is_imputed_as_its_network_says():
    network = random_network(3, 4)
    frame = network.sample(300, 3)
    rows = frame.astype(object).mask(np.random.default_rng(0).random(frame.shape) < 0.3)
    first, second = (network.impute(rows, random_state=5) for _ in range(2))
    pd.testing.assert_frame_equal(first, second)
    assert np.isfinite(network.log_density(first)).all()
    estimated = network.impute(rows, "mean", method="sampling", random_state=1)
    exact = network.impute(rows, "mean")
    for name in network.cut_points:
        low, high = network.support[name]
        gaps = np.abs(estimated[name].astype(float) - exact[name].astype(float))
        assert gaps.max() < 0.1 * (high - low)


def test_wrong_ways_are_refused(network):
    frame = network.sample(3, 0)
    with pytest.raises(
        GomeaBnError, match="how must be one of 'draw', 'mode', 'mean', 'joint', got 'median'"
    ):
        network.impute(frame, "median")
    with pytest.raises(GomeaBnError, match="no column 'n'"):
        network.impute(frame[["x", "day"]])


@pytest.mark.parametrize("seed", range(5))
def test_rows_given_evidence_follow_the_posterior(seed):
    network = small_network(seed, 4, max_bins=3)
    evidence = {name: network.sample(1, seed)[name].iloc[0] for name in network.names[1:3]}
    rows = network.sample(3000, seed, evidence=evidence)
    for name, value in evidence.items():
        assert (rows[name] == value).all()
    likelihoods = {
        name: np.eye(network.cardinality(name))[slow_code(network, name, value)]
        for name, value in evidence.items()
    }
    others = [network.names[0], network.names[3]]
    joint = slow_joint(network, likelihoods, others)
    codes = network.discretize(rows)[others].to_numpy()
    counts = np.bincount(np.ravel_multi_index(codes.T, joint.shape), minlength=joint.size)
    expected = joint.ravel() / joint.sum() * 3000
    if joint.size > 1:
        assert chisquare(counts[expected > 0], expected[expected > 0]).pvalue > 1e-3


def test_values_of_intervals_lie_inside_and_follow_the_density(network):
    rows = network.sample(4000, 1, evidence={"x": (0.5, 1.5)})
    assert rows["x"].between(0.5, 1.5).all()
    # P([0.5, 1]) = 0.25 and P((1, 1.5]) = 0.15
    assert (rows["x"] <= 1).mean() == pytest.approx(0.625, abs=0.03)
    assert kstest(rows["x"][rows["x"] <= 1], "uniform", args=(0.5, 0.5)).pvalue > 1e-3
    union = network.sample(4000, 1, evidence={"x": {(2, 2.5): 3, (3, 4): 1}})["x"]
    assert (union.between(2, 2.5) | union.between(3, 4)).all()
    assert (union <= 2.5).mean() == pytest.approx(0.6, abs=0.03)
    point = point_at_a_cut().sample(2000, 1, evidence={"x": (3.9, 4.1)})["x"]
    assert (point == 4.0).mean() > 0.5
    with pytest.warns(GomeaBnWarning, match=r"for example x in 20\.\.30"):
        end = network.sample(4000, 1, evidence={"x": {(20, 30): 1, (3, 4): 3}})["x"]
    # the whole last bin, with three times the density in its upper half
    assert end.between(2, 4).all()
    assert (end > 3).mean() == pytest.approx(0.75, abs=0.03)
    sets = network.sample(500, 1, evidence={"day": {"mon"}, "n": {1: 1, 2: 0.5}})
    assert (sets["day"] == "mon").all()
    assert set(sets["n"]) == {1, 2}


def test_the_seed_decides_the_rows(network):
    first, second = (network.sample(20, 4, evidence={"n": 3}) for _ in range(2))
    pd.testing.assert_frame_equal(first, second)
    assert len(network.sample(0, 1, evidence={"n": 1})) == 0
    pd.testing.assert_frame_equal(network.sample(5, 1, evidence={}), network.sample(5, 1))


def test_impossible_evidence_for_a_sample_is_refused(network):
    with pytest.raises(GomeaBnError, match="probability 0 in this network: day = 'tue'"):
        network.do({"day": "mon"}).sample(3, evidence={"day": "tue"})


def test_an_intervention_cuts_what_leads_to_a_variable(network):
    changed = network.do({"day": "mon"})
    assert changed.edges == [("day", "n")]
    assert changed.query("x").tolist() == network.query("x").tolist()
    assert network.query("x", {"day": "mon"}).tolist() != network.query("x").tolist()
    np.testing.assert_allclose(changed.query("n").to_numpy(), [0.1, 0.2, 0.7])
    assert changed.query("day").tolist() == [1.0, 0.0]
    assert changed.metadata["do"] == {"day": "mon"}
    assert network.metadata == {}
    again = changed.do({"x": 1.5})
    assert again.metadata["do"] == {"day": "mon", "x": "(1, 2]"}
    assert again.sample(50, 0)["x"].between(1, 2).all()
    with pytest.raises(GomeaBnError, match=r"values: unknown variable 'dya'\. Did you mean 'day'"):
        network.do({"dya": "mon"})
    with pytest.raises(
        GomeaBnError, match=r"values\['day'\] must be one of the levels 'mon', 'tue', got 'sun'"
    ):
        network.do({"day": "sun"})
    with pytest.raises(GomeaBnError, match=r"values\['x'\] must be a finite number, got \(1, 2\)"):
        network.do({"x": (1, 2)})
    with pytest.raises(GomeaBnError, match="at least one variable"):
        network.do({})


@pytest.mark.filterwarnings("ignore:.*matched by their values")
@pytest.mark.parametrize("dtype", ["float64", "Float64", "Int64", "int64[pyarrow]", object, "category"])
def test_filled_codes_keep_their_zeros_where_the_column_holds_numbers(dtype):
    levels = ["02163", "10001"]
    network = network_with(
        ["zip", "k"],
        [("zip", "k")],
        levels={"zip": levels, "k": ["a", "b"]},
        tables={"zip": [0.5, 0.5], "k": [[1.0, 0.0], [0.0, 1.0]]},
    )
    numbers = pd.Series([10001, None, None, 10001], dtype="Int64").astype(dtype)
    filled = network.impute(pd.DataFrame({"zip": numbers, "k": list("babb")}), how="mode")
    assert filled["zip"].tolist() == ["10001", "02163", "10001", "10001"]


def test_levels_that_a_column_of_bools_cannot_hold_are_written_as_levels():
    network = network_with(
        ["n", "k"],
        [("k", "n")],
        levels={"n": [1, 2], "k": ["a", "b"]},
        tables={"k": [0.5, 0.5], "n": [[1.0, 0.0], [0.0, 1.0]]},
    )
    rows = pd.DataFrame({"n": pd.Series([True, None], dtype="boolean"), "k": ["a", "b"]})
    assert network.impute(rows, how="mode")["n"].tolist() == [1, 2]


@pytest.mark.parametrize("how", ["draw", "mode", "mean"])
def test_a_column_without_any_value_is_filled_with_its_only_level(how):
    network = simple_network({"nothing": ("(empty)",)}, [], cuts={"x": []})
    frame = pd.DataFrame({"x": [0.5, np.nan], "nothing": [np.nan, np.nan]})
    filled = network.impute(frame, how, random_state=1)
    assert filled["nothing"].tolist() == ["(empty)", "(empty)"]
    assert filled["x"][0] == 0.5
    assert 0 <= filled["x"][1] <= 10


@pytest.mark.parametrize("missing", [["level"], ["x", "y", "level"]])
def test_variables_without_evidence_below_them_follow_their_parents(missing):
    rng = np.random.default_rng(0)
    w = rng.normal(size=1_000)
    x = w + rng.normal(scale=0.3, size=1_000)
    y = x + rng.normal(scale=0.3, size=1_000)
    frame = pd.DataFrame({"w": w, "x": x, "y": y, "level": np.where(y > 0, "high", "low")})
    network = average_families(
        DiscretizedBayesNet.from_table(
            read_table(frame),
            [("w", "x"), ("x", "y"), ("y", "level")],
            {"w": [0.0], "x": [-0.5, 0.5], "y": [-0.5, 0.5]},
        ),
        frame,
    )
    rows = frame.head(300).copy()
    # these rows share a table of the level over cells of y, which the others must not use
    rows.loc[:99, "y"] = np.nan
    rows.loc[100:, missing] = np.nan
    filled = [network.impute(rows, random_state=seed) for seed in (1, 1, 1)]
    for again in filled[1:]:
        pd.testing.assert_frame_equal(again, filled[0])
    drawn = filled[0].loc[100:]
    assert ((drawn["level"] == "high") == (drawn["y"] > 0)).mean() > 0.95


@pytest.mark.parametrize("how", ["draw", "mode", "mean"])
@pytest.mark.parametrize("unit", ["s", "ns"])
@pytest.mark.filterwarnings("ignore::gomea_bn.errors.GomeaBnWarning")
def test_observed_dates_and_durations_stay_to_the_last_digit(how, unit):
    rng = np.random.default_rng(0)
    steps = pd.Series(rng.integers(10**15, 10**17, 80))
    durations = pd.to_timedelta(steps, unit="ns").astype(np.dtype(f"timedelta64[{unit}]"))
    dates = pd.Timestamp("2020-01-01") + pd.to_timedelta(steps, unit="ns")
    dates = dates.astype(np.dtype(f"datetime64[{unit}]"))
    frame = pd.DataFrame({"x": rng.normal(size=80), "duration": durations, "date": dates})
    gaps = frame.mask(rng.random(frame.shape) < 0.1)
    network = BayesNetLearner(max_evaluations=20, max_seconds=None, random_state=1).fit(gaps).network_
    filled = network.impute(gaps, how, random_state=1)
    for name in ("duration", "date"):
        assert filled[name].notna().all()
        observed = gaps[name].notna()
        # filled cells may have finer units
        assert (filled.loc[observed, name] == frame.loc[observed, name]).all()
