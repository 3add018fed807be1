"""Cuts of conditionals: drawn from their posterior, limits, intervals, fixed cuts."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from averaged_examples import QUICK, conditionals_of, linear_frame, network_of

from gomea_bn import (
    BayesNetLearner,
    DiscretizedBayesNet,
    average_families,
    read_table,
)
from gomea_bn.problems.cuts.blanket import CodedColumn, Neighbourhood
from gomea_bn.problems.cuts.cut_posterior import CutPosterior, PricedIntervals
from gomea_bn.problems.cuts.interval_counts import SortedColumn
from gomea_bn.problems.cuts.interval_dp import CutLimits, CutProblem, IntervalScore
from gomea_bn.problems.cuts.shape_fit import table_shapes
from gomea_bn.problems.scoring.scores import score_rule, scoring_method


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
            ((copy.cut_points["x"] > low) & (copy.cut_points["x"] < high)).any()
            for copy in conditionals_of(averaged).copies
        ]
        assert abs(np.mean(happened) - of_draws) < 4.5 * math.sqrt(of_draws * (1 - of_draws) / n) + 1e-9
    numbers = (
        np.bincount([len(copy.cut_points["x"]) for copy in conditionals_of(averaged).copies], minlength=15)
        / n
    )
    for share, expected in zip(numbers, drawn_from.bin_probabilities, strict=False):
        assert abs(share - expected) < 4.5 * math.sqrt(expected * (1 - expected) / n) + 1e-9


def test_tables_of_copies_are_no_larger_than_the_rows_afford() -> None:
    frame = linear_frame(60)
    for n_bins in (3, 12):
        network = network_of(frame, [("x", "y"), ("z", "y")], n_bins=n_bins)
        averaged = average_families(network, frame, n_copies=10, line="none")
        # the cube root of 8 cells per row
        affordable = int((8 * 60) ** (1 / 3))
        sizes = [
            len(cuts) + 1 for copy in conditionals_of(averaged).copies for cuts in copy.cut_points.values()
        ]
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
    averaged = BayesNetLearner(cut_points={"x": [-0.5, 0.5]}, **QUICK).fit(frame).network_
    assert all(copy.cut_points["x"].tolist() == [-0.5, 0.5] for copy in conditionals_of(averaged).copies)
    assert averaged.cut_probabilities("x")["probability"].tolist() == [1.0, 1.0]
    assert averaged.cut_intervals("x").to_numpy().tolist() == [[cut] * 3 for cut in (-0.5, 0.5)]
    assert len({tuple(copy.cut_points["y"].tolist()) for copy in conditionals_of(averaged).copies}) > 1
