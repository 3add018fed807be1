"""Averaged networks of tables: drawn cuts, tables and lines, what they predict, and the learner's option."""

from __future__ import annotations

import itertools
import math
import pickle
import signal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp
from shaped_examples import shaped_network, shaped_table
from wrong_input import untyped

from gomea_bn import (
    BayesNetEnsemble,
    BayesNetLearner,
    DiscretizedBayesNet,
    GomeaBnError,
    average_families,
    read_table,
    refine_boundaries,
)
from gomea_bn.errors import GomeaBnWarning
from gomea_bn.learning.averaging import families as averaging
from gomea_bn.learning.table_shapes import table_shapes
from gomea_bn.network.averaged.network import AveragedBayesNet
from gomea_bn.network.distributions.smoothing import PseudoCount
from gomea_bn.problems.cuts.blanket import CodedColumn, Neighbourhood
from gomea_bn.problems.cuts.cut_posterior import CutPosterior, PricedIntervals
from gomea_bn.problems.cuts.interval_counts import SortedColumn
from gomea_bn.problems.cuts.interval_dp import CutLimits, CutProblem, IntervalScore
from gomea_bn.problems.cuts.policies import bin_codes, equal_frequency_cuts
from gomea_bn.problems.scoring.scores import score_rule, scoring_method
from gomea_bn.simulation.random_networks import random_network

QUICK: dict[str, Any] = {"max_evaluations": 1500, "random_state": 1}


def linear_frame(n: int = 200, noise: float = 0.1, seed: int = 0) -> pd.DataFrame:
    """Return "y", which follows "x" on a line, "z" without a relation, and the discrete "c"."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return pd.DataFrame(
        {
            "x": x,
            "y": x + noise * rng.normal(size=n),
            "z": rng.normal(size=n),
            "c": rng.choice(["k", "l"], n),
        }
    )


def network_of(
    frame: pd.DataFrame,
    edges: list[tuple[str, str]],
    *,
    n_bins: int = 4,
    shaped: bool = True,
    pseudo_count: PseudoCount = "auto",
    metadata: dict[str, object] | None = None,
) -> DiscretizedBayesNet:
    """Return a network with bins of equal frequency."""
    kinds = {str(name): "continuous" for name in frame if frame[name].dtype == np.float64}
    table = read_table(frame, kinds=kinds)
    shapes = {name: shape.shape for name, shape in table_shapes(table).items()}
    return DiscretizedBayesNet.from_table(
        table,
        edges,
        {c.name: equal_frequency_cuts(c.values, n_bins) for c in table.columns if c.is_continuous},
        pseudo_count=pseudo_count,
        shapes=shapes if shaped else None,
        metadata={"shape": "auto" if shaped else "uniform", **(metadata or {})},
    )


# ---------------------------------------------------------------- copies


@pytest.mark.parametrize("pseudo_count", [0.0, 2.0, "auto"])
@pytest.mark.parametrize("shaped", [False, True])
def test_copies_have_the_graph_and_the_counted_tables(pseudo_count: PseudoCount, shaped: bool) -> None:
    frame = linear_frame(120)
    network = network_of(frame, [("x", "y"), ("c", "y")], shaped=shaped, pseudo_count=pseudo_count)
    averaged = average_families(network, frame, n_copies=5)
    assert averaged.network is network
    assert averaged.n_rows == 120
    assert len(averaged.copies) == 5
    assert len({tuple(copy.cut_points["y"].tolist()) for copy in averaged.copies}) > 1
    table = read_table(frame)
    for copy in averaged.copies:
        assert copy == DiscretizedBayesNet.from_table(
            table, network.edges, copy.cut_points, pseudo_count=pseudo_count, shapes=network.shapes
        )
    assert np.isfinite(averaged.score(frame))


def step_network(shaped: bool, n: int = 300) -> tuple[DiscretizedBayesNet, pd.DataFrame]:
    """Return a network of a column that depends on a discrete parent, weakly enough for unsure cuts."""
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"p": rng.choice(["k", "l"], n)})
    frame["x"] = rng.normal(size=n) + 0.8 * (frame["p"] == "l")
    return network_of(frame, [("p", "x")], n_bins=3, shaped=shaped), frame


@pytest.mark.parametrize("method", ["density-bd", "density-bic"])
@pytest.mark.parametrize("shaped", [False, True])
def test_cuts_are_drawn_from_their_posterior(method: str, shaped: bool) -> None:
    network, frame = step_network(shaped)
    network = network_of(frame, [("p", "x")], n_bins=3, shaped=shaped, metadata={"scoring_method": method})
    n = 400
    averaged = average_families(network, frame, n_copies=n, line="none")
    table = read_table(frame)
    chosen = scoring_method(method)
    shape = table_shapes(table)["x"] if shaped else None
    problem = CutProblem(
        SortedColumn(table.columns[1].values),
        Neighbourhood((CodedColumn(table.columns[0].values, 2),)),
        IntervalScore(chosen, score_rule(chosen, table.n_rows)),
        shape,
    )
    intervals = PricedIntervals(problem, CutLimits(), shaped=shaped, incumbent=network.cut_points["x"])
    likely = CutPosterior(intervals)
    # the power and the cost of cuts with which shaped columns are drawn
    drawn_from = CutPosterior(intervals, power=0.25, cut_cost=0.25) if shaped else likely
    # the central nine tenths of the place of every cut among three bins
    places = likely.places(3)
    assert places is not None
    candidates = intervals.candidates
    middles = [network.support["x"][0], *(candidates[:-1] + candidates[1:]) / 2, network.support["x"][1]]
    for (cut, low, high), of_cut, own in zip(
        averaged.cut_intervals("x").to_numpy(), places, network.cut_points["x"], strict=True
    ):
        assert cut == own
        first, last = middles.index(low), middles.index(high) - 1
        assert of_cut[first : last + 1].sum() >= 0.9
        assert of_cut[:first].sum() < 0.05 <= of_cut[: first + 1].sum()
        assert of_cut[last + 1 :].sum() <= 0.05 < of_cut[last:].sum()
    for _, low, high, probability in averaged.cut_probabilities("x").to_numpy():
        expected = likely.probability_between(low, high)
        assert probability == pytest.approx(expected, abs=1e-9)
        of_draws = drawn_from.probability_between(low, high)
        happened = [
            ((copy.cut_points["x"] > low) & (copy.cut_points["x"] < high)).any() for copy in averaged.copies
        ]
        assert abs(np.mean(happened) - of_draws) < 4.5 * math.sqrt(of_draws * (1 - of_draws) / n) + 1e-9
    numbers = np.bincount([len(copy.cut_points["x"]) for copy in averaged.copies], minlength=15) / n
    for share, expected in zip(numbers, drawn_from.bin_probabilities, strict=False):
        assert abs(share - expected) < 4.5 * math.sqrt(expected * (1 - expected) / n) + 1e-9


def test_tables_of_copies_are_no_larger_than_the_rows_afford() -> None:
    frame = linear_frame(60)
    for n_bins in (3, 12):
        network = network_of(frame, [("x", "y"), ("z", "y")], n_bins=n_bins)
        averaged = average_families(network, frame, n_copies=10, line="none")
        # the cube root of 8 cells per row
        affordable = int((8 * 60) ** (1 / 3))
        sizes = [len(cuts) + 1 for copy in averaged.copies for cuts in copy.cut_points.values()]
        assert max(sizes) <= max(n_bins, affordable)
        # a network with more bins may keep them
        assert (max(sizes) > affordable) == (n_bins > affordable)


def test_more_cuts_than_the_limits_allow_may_lie_anywhere() -> None:
    few = pd.DataFrame({"x": np.tile([0.0, 1.0, 2.0], 4), "c": ["k", "l"] * 6})
    table = read_table(few, kinds={"x": "continuous"})
    more_cuts = DiscretizedBayesNet.from_table(table, [], {"x": [0.2, 0.5, 1.5]})
    intervals = average_families(more_cuts, table).cut_intervals("x")
    assert intervals[["low", "high"]].to_numpy().tolist() == [[0.0, 2.0]] * 3


def test_a_sharp_step_has_a_narrow_interval_and_none_a_wide_one() -> None:
    rng = np.random.default_rng(4)
    x = rng.uniform(size=400)
    frame = pd.DataFrame({"x": x, "s": np.where(x > 0.6, "k", "l"), "w": rng.choice(["k", "l"], 400)})
    widths = []
    for child in ("s", "w"):
        network = network_of(frame, [("x", child)], n_bins=2)
        intervals = average_families(network, frame).cut_intervals("x")
        widths.append(float((intervals["high"] - intervals["low"]).iloc[0]))
        if child == "s":
            assert intervals["low"].iloc[0] < 0.6 < intervals["high"].iloc[0]
    assert widths[0] < 0.03
    assert widths[1] > 0.3


def test_fixed_cuts_stay() -> None:
    frame = linear_frame(150)
    learner = BayesNetLearner(cut_points={"x": [-0.5, 0.5]}, density="averaged", **QUICK).fit(frame)
    averaged = learner.averaged_
    assert all(copy.cut_points["x"].tolist() == [-0.5, 0.5] for copy in averaged.copies)
    assert averaged.cut_probabilities("x")["probability"].tolist() == [1.0, 1.0]
    assert averaged.cut_intervals("x").to_numpy().tolist() == [[cut] * 3 for cut in (-0.5, 0.5)]
    assert len({tuple(copy.cut_points["y"].tolist()) for copy in averaged.copies}) > 1


# ---------------------------------------------------------------- lines


@pytest.mark.parametrize("shaped", [False, True])
def test_weights_of_lines_are_fitted_to_rows_that_are_left_out(
    shaped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = linear_frame(80, noise=0.4)
    network = network_of(frame, [("x", "y"), ("c", "y")], shaped=shaped, pseudo_count=1.5)
    calls: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []

    def weight_of(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
        calls.append((first, second))
        return 0.625

    monkeypatch.setattr(averaging, "mixture_weight", weight_of)
    averaged = average_families(network, frame, n_copies=3)
    ((of_bins, of_line),) = calls
    assert averaged.lines["y"].weight == 0.625
    assert averaged.lines["y"].groups == ("c",)
    low, high = network.support["y"]
    logs = []
    for copy in averaged.copies:
        codes = copy.discretize(frame)
        cuts, card = copy.cut_points["y"], copy.cardinality("y")
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
    assert set(averaged.lines) == {"y"}
    line = averaged.lines["y"]
    assert line.weight > 0.9
    assert line.coefficients[0, 1] == pytest.approx(1.0, abs=0.1)
    fresh = linear_frame(2000, seed=1)
    gain = averaged.score(fresh) - network.score(fresh)
    assert gain > 0.5
    bins = average_families(network, frame, line="none")
    assert bins.lines == {}
    assert bins.scales == {}
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
    slopes = averaged.lines["y"].coefficients[:, 1]
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
    line = averaged.lines["y"]
    assert line.groups == ("a", "b")
    # on the scale of "y", which all groups share
    steep = np.where(np.abs(line.coefficients[:, 1]) < 0.5, 0, np.sign(line.coefficients[:, 1]))
    assert steep.tolist() == slopes.ravel().tolist()


def test_columns_with_point_masses_have_no_line_but_may_be_part_of_one() -> None:
    rng = np.random.default_rng(1)
    rain = np.where(rng.random(300) < 0.4, 0.0, rng.gamma(3.0, size=300))
    frame = pd.DataFrame({"rain": rain, "flow": rain + 0.1 * rng.normal(size=300)})
    frame["depth"] = np.maximum(frame["flow"] - 1.5, 0.0)
    network = network_of(frame, [("rain", "flow"), ("flow", "depth")])
    assert network.shapes["rain"].points
    assert network.shapes["depth"].points
    averaged = average_families(network, frame)
    assert set(averaged.lines) == {"flow"}
    assert set(averaged.scales) | set(averaged.units) == {"rain", "flow"}
    sampled = averaged.sample(500, random_state=0)
    assert 0.3 < (sampled["rain"] == 0).mean() < 0.5
    assert np.isfinite(averaged.log_density(sampled)).all()


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
    assert {name: line.in_units for name, line in averaged.lines.items()} == {"sum": True, "power": False}
    assert set(averaged.units) == {"x", "sum"}
    assert set(averaged.scales) == {"z", "power"}
    centre, spread = averaged.units["x"]
    assert (centre, spread) == (pytest.approx(x.mean()), pytest.approx(x.std()))


def test_step_functions_get_hardly_a_line_and_new_rows_are_predicted_better() -> None:
    gains = []
    for seed in range(6):
        truth = random_network(5, random_state=seed)
        frame, fresh = truth.sample(300, random_state=seed), truth.sample(3000, random_state=seed + 100)
        network = BayesNetLearner(pseudo_count="auto", curves="none", **QUICK).fit(frame).network_
        averaged = average_families(network, frame)
        assert max((line.weight for line in averaged.lines.values()), default=0.0) < 0.25
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
    assert averaged.lines["y"].scales.min() > least_scale
    # all that is known of a value is the interval that rounds to it
    assert averaged.log_density_terms(frame)["y"].mean() < -math.log(spacing)
    assert averaged.score(frame) > network.score(frame)


# ---------------------------------------------------------------- invariances and edge cases


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
    assert set(first.lines) == set(second.lines) >= {"y"}
    assert second.lines["y"].weight == pytest.approx(first.lines["y"].weight, abs=1e-4)
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


def test_the_seed_decides_the_cuts() -> None:
    frame = linear_frame(100)
    network = network_of(frame, [("x", "y")])
    first, again = (average_families(network, frame, n_copies=3, random_state=7) for _ in range(2))
    assert first == again
    assert first == average_families(network, read_table(frame), n_copies=3, random_state=7)
    assert first != average_families(network, frame, n_copies=3, random_state=8)


@pytest.mark.parametrize("shaped", [False, True])
def test_networks_without_edges_and_with_one_copy(shaped: bool) -> None:
    frame = linear_frame(50)
    averaged = average_families(network_of(frame, [], shaped=shaped), frame, n_copies=1)
    assert len(averaged.copies) == 1
    assert averaged.lines == {}
    assert np.isfinite(averaged.score(frame))
    assert averaged.log_density(frame) == pytest.approx(averaged.copies[0].log_density(frame))
    assert AveragedBayesNet.from_json(averaged.to_json()) == averaged


@pytest.mark.parametrize("shaped", [False, True])
def test_tables_of_ten_rows(shaped: bool) -> None:
    frame = linear_frame(10)
    for edges in ([("x", "y"), ("c", "y")], [("x", "y"), ("z", "y"), ("y", "c")]):
        averaged = average_families(network_of(frame, edges, n_bins=2, shaped=shaped), frame)
        assert np.isfinite(averaged.log_density(frame)).all()
        assert np.isfinite(averaged.log_density(averaged.sample(200, random_state=0))).all()


def test_discrete_networks_are_their_own_average() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 100)
    frame = pd.DataFrame({"a": a.astype(str), "b": np.where(rng.random(100) < 0.7, a, 0).astype(str)})
    network = BayesNetLearner(scoring_method="bdeu", **QUICK).fit(frame).network_
    averaged = average_families(network, frame, n_copies=2)
    assert averaged.copies == (network, network)
    assert averaged.log_density(frame) == pytest.approx(network.log_density(frame))
    assert averaged.has_cut_probabilities
    assert averaged.sample(5, random_state=0).shape == (5, 2)
    assert AveragedBayesNet.from_json(averaged.to_json()) == averaged


def test_mixed_shapes_and_points() -> None:
    table = shaped_table(200)
    averaged = average_families(shaped_network(table), table, n_copies=4)
    frame = table.to_frame()
    assert "rain" not in averaged.lines
    assert np.isfinite(averaged.log_density(frame)).all()
    assert averaged.copies[0].shapes.keys() == {"cause", "rain", "tail"}


def test_a_wider_support_than_the_rows_is_kept() -> None:
    frame = linear_frame(100)
    network = network_of(frame, [("x", "y")], shaped=False)
    wide = DiscretizedBayesNet(
        network.names,
        network.edges,
        cut_points=network.cut_points,
        support={name: (low - 1, high + 1) for name, (low, high) in network.support.items()},
        levels=network.levels,
        tables=network.tables,
        pseudo_count=network.pseudo_count,
    )
    averaged = average_families(wide, frame)
    assert averaged.network.support == wide.support
    beyond = frame[:1].assign(y=wide.support["y"][1])
    bins = average_families(wide, frame, line="none").log_density_terms(beyond)["y"]
    share = 1 - averaged.lines["y"].weight
    assert averaged.log_density_terms(beyond)["y"] == pytest.approx(bins + math.log(share))


# ---------------------------------------------------------------- wrong input


def test_wrong_input_is_refused() -> None:
    frame = linear_frame(50)
    network = network_of(frame, [("x", "y")])
    for arguments, options, message in (
        ((5, frame), {}, "network must be a DiscretizedBayesNet, got int"),
        ((network, 5), {}, "A table must be a Table, .* got int"),
        ((network, frame), {"n_copies": 0}, "n_copies must be an integer of at least 1, got 0"),
        ((network, frame), {"line": "yes"}, "line must be one of 'auto', 'none', got 'yes'"),
        ((network, frame), {"random_state": "x"}, "random_state"),
        ((network, frame.drop(columns="y")), {}, "no column 'y'"),
        (
            (network, frame.assign(x=2 * frame["x"])),
            {},
            r"Column 'x' has values from .* to .*, and the network's range is from .*; give the rows",
        ),
    ):
        with pytest.raises(GomeaBnError, match=message):
            average_families(*untyped(arguments), **untyped(options))


# ---------------------------------------------------------------- the learner


def test_the_learner_has_the_density_of_its_averaged_network() -> None:
    frame, fresh = linear_frame(), linear_frame(300, seed=1)
    plain = BayesNetLearner(**QUICK).fit(frame)
    learner = BayesNetLearner(density="averaged", **QUICK).fit(frame)
    assert learner.network_ == plain.network_
    assert not hasattr(plain, "averaged_")
    averaged = learner.averaged_
    assert averaged == average_families(plain.network_, frame, random_state=1)
    np.testing.assert_array_equal(learner.score_samples(fresh), averaged.log_density(fresh))
    assert learner.score(fresh) == pytest.approx(averaged.score(fresh))
    assert learner.score(fresh) > plain.score(fresh)
    pd.testing.assert_frame_equal(learner.sample(9, 3), averaged.sample(9, 3))
    assert pickle.loads(pickle.dumps(learner)).averaged_ == averaged
    assert learner.get_params()["density"] == "averaged"
    without = BayesNetLearner(density="averaged", line="none", **QUICK).fit(frame).averaged_
    assert without.lines == {}
    assert averaged.lines


def test_the_learner_drops_rows_with_missing_values() -> None:
    frame = linear_frame()
    frame.loc[3, "x"] = np.nan
    learner = BayesNetLearner(density="averaged", missing="drop", **QUICK).fit(frame)
    assert learner.averaged_.n_rows == 199
    densities = learner.score_samples(frame)
    assert np.flatnonzero(np.isnan(densities)).tolist() == [3]
    assert learner.score(frame) == pytest.approx(np.nanmean(densities))


@pytest.mark.filterwarnings("ignore:.*constant")
def test_the_learner_averages_tables_with_a_constant_column() -> None:
    frame = linear_frame(100).assign(k=3.5)
    learner = BayesNetLearner(density="averaged", **QUICK).fit(frame)
    assert learner.averaged_.names == tuple(frame)
    assert np.isfinite(learner.score(frame))
    assert (learner.sample(5, 0)["k"] == 3.5).all()


def test_a_learner_without_an_averaged_network_says_so() -> None:
    frame = linear_frame(60)
    learner = BayesNetLearner(density="averaged", **QUICK)
    with pytest.raises(GomeaBnError, match=r"has not learned a network yet; call fit\(frame\) first"):
        learner.score(frame)
    learner.fit(frame)
    # another fit leaves nothing of the one before
    learner.set_params(density="bins").fit(frame)
    learner.set_params(density="averaged")
    with pytest.raises(GomeaBnError, match=r'no averaged network; call fit\(frame\) with density="averaged"'):
        learner.score(frame)


@pytest.mark.parametrize("option", ["density", "line"])
def test_wrong_options_of_the_learner_are_refused(option: str) -> None:
    with pytest.raises(GomeaBnError, match=f"{option} must be one of"):
        BayesNetLearner(**untyped({option: "best"}), **QUICK).fit(linear_frame(30))


@pytest.mark.parametrize(("option", "value"), [("density", "best"), ("line", "yes")])
def test_wrong_options_are_refused_before_the_table_is_read(option: str, value: str) -> None:
    learner = BayesNetLearner(**untyped({option: value}), **QUICK)
    for model in (learner, BayesNetEnsemble(learner, n_networks=1)):
        with pytest.raises(GomeaBnError, match=f"{option} must be one of .*, got '{value}'"):
            model.fit("no such file.csv")


# ---------------------------------------------------------------- interrupts


def interrupted_from(call: int, monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    """Let the call of `average_families` with a number, counted from 1, end as by Ctrl-C."""
    real, calls = average_families, itertools.count(1)

    def average(*arguments: Any, **options: Any) -> AveragedBayesNet:
        if next(calls) >= call:
            signal.raise_signal(signal.SIGINT)
        return real(*arguments, **options)

    monkeypatch.setattr(f"gomea_bn.learning.{module}.average_families", average)


def test_ctrl_c_while_families_are_averaged_keeps_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = linear_frame(80)
    plain = BayesNetLearner(**QUICK).fit(frame)
    interrupted_from(1, monkeypatch, "learner")
    learner = BayesNetLearner(density="averaged", **QUICK)
    with pytest.warns(GomeaBnWarning, match="averaging of families was interrupted\\. network_ is complete"):
        assert learner.fit(frame) is learner
    assert learner.network_ == plain.network_
    # all that the search has found is kept
    fitted = {name for name in vars(plain) if name.endswith("_")}
    assert {name for name in vars(learner) if name.endswith("_")} == fitted
    assert learner.stopped_by_ == plain.stopped_by_
    with pytest.raises(GomeaBnError, match="no averaged network"):
        learner.score(frame)
    averaged = average_families(learner.network_, learner.table_)
    assert np.isfinite(averaged.score(frame))


def test_ctrl_c_while_families_are_averaged_keeps_all_networks_of_an_ensemble(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frame = linear_frame(80)
    learner = BayesNetLearner(density="averaged", **QUICK)
    plain = BayesNetEnsemble(learner, n_networks=3, random_state=1).fit(frame)
    interrupted_from(2, monkeypatch, "ensemble")
    ensemble = BayesNetEnsemble(learner, n_networks=3, random_state=1)
    with pytest.warns(GomeaBnWarning, match="averaging of families was interrupted. networks_ is complete"):
        ensemble.fit(frame)
    assert ensemble.networks_ == plain.networks_
    assert ensemble.n_networks_ == 3
    assert ensemble.averaged_ == []
    for call in (ensemble.score, ensemble.log_density):
        with pytest.raises(GomeaBnError, match="no averaged networks, since their averaging was interrupted"):
            call(frame)
    with pytest.raises(GomeaBnError, match="no averaged networks"):
        ensemble.sample(1)
    assert len(ensemble.edge_frequency())


def test_refinement_says_what_to_do_with_an_averaged_network() -> None:
    frame = linear_frame(60)
    averaged = average_families(network_of(frame, [("x", "y")]), frame, n_copies=2)
    with pytest.raises(
        GomeaBnError, match=r"got an AveragedBayesNet\. Refine its attribute network, then average"
    ):
        refine_boundaries(untyped(averaged), frame)
    refined = refine_boundaries(averaged.network, frame).network
    assert average_families(refined, frame, n_copies=2).network == refined
