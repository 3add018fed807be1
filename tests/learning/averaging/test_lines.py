"""Lines of conditionals: their weights, groups and scales, and what they predict."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from averaged_examples import QUICK, conditionals_of, linear_frame, network_of, network_of_tables
from numpy.typing import NDArray
from scipy.special import logsumexp

from gomea_bn import (
    BayesNetLearner,
    average_families,
    read_table,
)
from gomea_bn.data.content_order import in_column_order, in_row_order
from gomea_bn.learning.averaging import families as averaging
from gomea_bn.network.rows import drawn_values
from gomea_bn.problems.cuts.policies import bin_codes
from gomea_bn.simulation.random_networks import random_network


@pytest.mark.parametrize("shaped", [False, True])
def test_weights_of_lines_are_fitted_to_rows_that_are_left_out(
    shaped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # lines are fitted to rows in this order
    frame = in_row_order(in_column_order(read_table(linear_frame(80, noise=0.4)))).to_frame()
    network = network_of(frame, [("x", "y"), ("c", "y")], shaped=shaped, pseudo_count=1.5)
    calls: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []

    def weight_of(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
        calls.append((first, second))
        return 0.625

    monkeypatch.setattr(averaging, "mixture_weight", weight_of)
    averaged = average_families(network, frame, n_copies=3)
    ((of_bins, of_line),) = calls
    assert conditionals_of(averaged).lines["y"].weight == 0.625
    assert conditionals_of(averaged).lines["y"].groups == ("c",)
    low, high = network.support["y"]
    logs = []
    for copy in conditionals_of(averaged).copies:
        codes = network_of_tables(network, copy).discretize(frame)
        cuts, card = copy.cut_points["y"], len(copy.cut_points["y"]) + 1
        for_copy = []
        for row in range(80):
            others = codes.drop(index=row)
            same = others[(others["x"] == codes["x"][row]) & (others["c"] == codes["c"][row])]
            probability = ((same["y"] == codes["y"][row]).sum() + 1.5 / card) / (len(same) + 1.5)
            value = frame["y"].to_numpy()[row]
            if shaped:
                inside = float(network.shapes["y"].log_inside(np.array([value]), cuts)[0])
            else:
                inside = -math.log(np.diff([low, *cuts, high])[bin_codes(np.array([value]), cuts)[0]])
            for_copy.append(math.log(probability) + inside)
        logs.append(for_copy)
    np.testing.assert_allclose(of_bins, logsumexp(logs, axis=0) - math.log(3), rtol=1e-9)
    # a row helps the line that predicts it, most rows by little
    bins = average_families(network, frame, n_copies=3, line="none").log_density_terms(frame)["y"]
    in_sample = averaged.log_density_terms(frame)["y"]
    line_alone = np.log((np.exp(in_sample) - 0.375 * np.exp(bins)) / 0.625)
    assert 0 < (line_alone - of_line).mean() < 0.2
    assert np.median(np.abs(line_alone - of_line)) < 0.06


@pytest.mark.parametrize("shaped", [False, True])
def test_a_strong_line_gets_most_of_the_weight_and_independent_columns_none(shaped: bool) -> None:
    frame = linear_frame()
    network = network_of(frame, [("x", "y"), ("x", "z"), ("c", "x")], shaped=shaped)
    averaged = average_families(network, frame)
    # "x" has no continuous parent
    assert set(conditionals_of(averaged).lines) == {"y"}
    line = conditionals_of(averaged).lines["y"]
    assert line.weight > 0.9
    assert line.coefficients[0, 1] == pytest.approx(1.0, abs=0.1)
    fresh = linear_frame(2000, seed=1)
    gain = averaged.score(fresh) - network.score(fresh)
    assert gain > 0.5
    bins = average_families(network, frame, line="none")
    assert conditionals_of(bins).lines == {}
    assert conditionals_of(bins).scales == {}
    assert network.score(fresh) < bins.score(fresh) < averaged.score(fresh)


def test_lines_of_groups_follow_their_discrete_parents() -> None:
    rng = np.random.default_rng(0)
    group, x = rng.choice(["k", "l"], 300), rng.normal(size=300)
    frame = pd.DataFrame(
        {"g": group, "x": x, "y": np.where(group == "k", x, -x) + 0.1 * rng.normal(size=300)}
    )
    # a level without rows
    frame["g"] = pd.Categorical(frame["g"], categories=["k", "l", "m"])
    network = network_of(frame, [("g", "y"), ("x", "y")])
    averaged = average_families(network, frame)
    slopes = conditionals_of(averaged).lines["y"].coefficients[:, 1]
    levels = list(network.levels["g"])
    assert slopes[levels.index("k")] > 0.9
    assert slopes[levels.index("l")] < -0.9
    sampled = averaged.sample(2000, random_state=1)
    for level, sign in (("k", 1), ("l", -1)):
        rows = sampled[sampled["g"] == level]
        assert sign * np.corrcoef(rows["x"], rows["y"])[0, 1] > 0.9


def test_groups_are_numbered_with_the_last_discrete_parent_fastest() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.integers(0, 3, 900), rng.integers(0, 2, 900)
    x = rng.normal(size=900)
    slopes = np.array([[1.0, -1.0], [0.0, 1.0], [-1.0, 0.0]])
    frame = pd.DataFrame({"a": first.astype(str), "b": second.astype(str), "x": x})
    frame["y"] = slopes[first, second] * x + 0.1 * rng.normal(size=900)
    averaged = average_families(network_of(frame, [("a", "y"), ("b", "y"), ("x", "y")]), frame)
    line = conditionals_of(averaged).lines["y"]
    assert line.groups == ("a", "b")
    # on the scale of "y", which all groups share
    steep = np.where(np.abs(line.coefficients[:, 1]) < 0.5, 0, np.sign(line.coefficients[:, 1]))
    assert steep.tolist() == slopes.ravel().tolist()


def test_lines_of_columns_with_point_masses_give_probabilities_to_the_points() -> None:
    rng = np.random.default_rng(1)
    rain = np.where(rng.random(300) < 0.4, 0.0, rng.gamma(3.0, size=300))
    frame = pd.DataFrame({"rain": rain, "flow": rain + 0.1 * rng.normal(size=300)})
    frame["depth"] = np.maximum(frame["flow"] - 1.5, 0.0)
    network = network_of(frame, [("rain", "flow"), ("flow", "depth")])
    assert network.shapes["rain"].points
    assert network.shapes["depth"].points
    averaged = average_families(network, frame)
    assert set(conditionals_of(averaged).lines) == {"flow", "depth"}
    assert not conditionals_of(averaged).lines["depth"].in_units
    density = averaged.conditional_density("depth", {"flow": 1.4})
    assert set(density.points) == {0.0}
    total = np.trapezoid(density.densities, density.values) + density.points[0.0]
    assert total == pytest.approx(1, abs=0.02)
    # a wet day is seldom far above, and a dry one is
    low, high = (averaged.conditional_density("depth", {"flow": flow}).points[0.0] for flow in (0.5, 3.0))
    assert high < 0.1 < 0.8 < low
    sampled = averaged.sample(500, random_state=0)
    assert 0.3 < (sampled["rain"] == 0).mean() < 0.5
    assert np.isfinite(averaged.log_density(sampled)).all()


def test_lines_of_counts_are_probabilities_that_sum_to_one() -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=1_500)
    frame = pd.DataFrame({"x": x, "visits": rng.poisson(np.exp(0.8 + 0.7 * x)).clip(max=25)})
    train, fresh = frame[:700], frame[700:]
    # each value of the fresh rows occurs
    fresh = fresh[fresh["visits"].isin(train["visits"])]
    network = network_of(train, [("x", "visits")], shaped=True)
    assert network.shapes["visits"].has_few_values
    lines, bins = (average_families(network, train, line=line) for line in ("auto", "none"))
    assert conditionals_of(lines).lines["visits"].weight > 0.3
    gain = (lines.log_density(fresh) - bins.log_density(fresh)).mean()
    assert gain > 0.03
    points = network.shapes["visits"].point_values
    for value in (-1.0, 0.0, 1.5):
        density = lines.conditional_density("visits", {"x": value})
        smooth = np.trapezoid(density.densities, density.values)
        assert smooth + math.fsum(density.points.values()) == pytest.approx(1, abs=1e-3)
        rows = pd.DataFrame({"x": value, "visits": points})
        terms = np.exp(lines.log_density_terms(rows)["visits"])
        assert terms == pytest.approx(list(density.points.values()), rel=1e-9)
        drawn = drawn_values(lines, 20_000, np.random.default_rng(7), {"x": np.full(20_000, value)})["visits"]
        shares = [(drawn == point).mean() for point in points]
        assert shares == pytest.approx(list(density.points.values()), abs=0.02)


@pytest.mark.parametrize("levels", [2, 3, 5])
def test_columns_of_few_values_gain_no_density_by_lines(levels: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=1_600)
    grid = np.clip(np.round(x + 0.3 * rng.normal(size=1_600) + levels / 2), 0, levels - 1)
    frame = pd.DataFrame({"x": x, "grid": grid / (levels - 1)})
    train, fresh = frame[:600], frame[600:]
    network = network_of(train, [("x", "grid")], shaped=True)
    lines, bins = (average_families(network, train, line=line) for line in ("auto", "none"))
    densities = [averaged.log_density_terms(fresh)["grid"].mean() for averaged in (lines, bins)]
    # no more than rows that are spread evenly over their steps
    assert densities[0] <= max(np.log(levels - 1) + 0.05, densities[1])


def test_columns_are_on_the_scales_on_which_lines_predict_best() -> None:
    rng = np.random.default_rng(6)
    x, z = rng.gamma(1.5, size=400), rng.normal(size=400)
    frame = pd.DataFrame({"x": x, "sum": x + 0.01 * rng.normal(size=400)})
    frame = frame.assign(z=np.exp(2 * z), power=np.exp(2 * (z + 0.1 * rng.normal(size=400))))
    averaged = average_families(network_of(frame, [("x", "sum"), ("z", "power")]), frame)
    assert {name: line.in_units for name, line in conditionals_of(averaged).lines.items()} == {
        "sum": True,
        "power": False,
    }
    assert set(conditionals_of(averaged).units) == {"x", "sum"}
    assert set(conditionals_of(averaged).scales) == {"z", "power"}
    centre, spread = conditionals_of(averaged).units["x"]
    assert (centre, spread) == (pytest.approx(x.mean()), pytest.approx(x.std()))


def test_step_functions_get_hardly_a_line_and_new_rows_are_predicted_better() -> None:
    gains = []
    for seed in range(6):
        truth = random_network(5, random_state=seed)
        frame, fresh = truth.sample(300, random_state=seed), truth.sample(3000, random_state=seed + 100)
        network = (
            BayesNetLearner(pseudo_count="auto", curves="none", density="bins", **QUICK).fit(frame).network_
        )
        averaged = average_families(network, frame)
        assert max((line.weight for line in conditionals_of(averaged).lines.values()), default=0.0) < 0.25
        # values beyond the range of the rows have no probability
        inside = np.all([fresh[name].between(*ends) for name, ends in network.support.items()], axis=0)
        gains.append(averaged.score(fresh[inside]) - network.score(fresh[inside]))
    assert min(gains) > -0.02
    assert np.mean(gains) > 0.01


@pytest.mark.parametrize(("spacing", "least_scale"), [(0.02, 0.02), (0.1, 0.05), (0.25, 0.1)])
@pytest.mark.parametrize("shaped", [False, True])
def test_repeated_values_do_not_buy_density_by_lines(
    spacing: float, least_scale: float, shaped: bool
) -> None:
    x = np.round(np.random.default_rng(2).normal(size=400) / spacing) * spacing
    frame = pd.DataFrame({"x": x, "y": x})
    network = network_of(frame, [("x", "y")], n_bins=8, shaped=shaped)
    averaged = average_families(network, frame)
    assert conditionals_of(averaged).lines["y"].scales.min() > least_scale
    # all that is known of a value is the interval that rounds to it
    assert averaged.log_density_terms(frame)["y"].mean() < -math.log(spacing)
    assert averaged.score(frame) > network.score(frame)


@pytest.mark.parametrize("shaped", [False, True])
@pytest.mark.parametrize(("factor", "offset", "rounding"), [(4.0, 0.0, 1e-9), (1e-3, 7.0, 0.01)])
def test_scales_of_columns_move_the_density_by_their_logarithms_alone(
    shaped: bool, factor: float, offset: float, rounding: float
) -> None:
    frame = linear_frame(150, noise=0.3)
    edges = [("x", "y"), ("c", "y"), ("y", "z")]
    moved = frame.assign(x=factor * frame["x"] + offset, y=factor * frame["y"] + offset)
    first, second = (
        average_families(network_of(rows, edges, shaped=shaped), rows, n_copies=4) for rows in (frame, moved)
    )
    assert set(conditionals_of(first).lines) == set(conditionals_of(second).lines) >= {"y"}
    assert conditionals_of(second).lines["y"].weight == pytest.approx(
        conditionals_of(first).lines["y"].weight, abs=1e-4
    )
    np.testing.assert_allclose(
        second.log_density(moved), first.log_density(frame) - 2 * math.log(factor), atol=rounding
    )
    for name in ("x", "y"):
        np.testing.assert_allclose(
            second.cut_probabilities(name)["probability"],
            first.cut_probabilities(name)["probability"],
            atol=1e-6,
        )
        np.testing.assert_allclose(
            second.cut_intervals(name), factor * first.cut_intervals(name) + offset, rtol=1e-9
        )
