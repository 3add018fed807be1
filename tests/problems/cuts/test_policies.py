"""Libraries of cuts: equal frequency and equal width against slow twins, ties, neighbouring floats, fixed cuts."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles import make_scorer, slow_equal_frequency, slow_equal_width

from gomea_bn import GomeaBnError
from gomea_bn.problems import ScoredFamily, ScoredVariable
from gomea_bn.problems.cuts import bin_codes, equal_frequency_cuts, policy_library
from gomea_bn.problems.cuts.policies import equal_width_cuts, fixed_policy, midpoint

TIED_VALUES = st.lists(st.integers(-6, 12).map(lambda v: v / 4), min_size=2, max_size=60)


@given(TIED_VALUES, st.integers(2, 20))
def test_cuts_equal_their_twins(values: list[float], n_bins: int) -> None:
    x = np.array(values)
    assert equal_frequency_cuts(x, n_bins).tolist() == slow_equal_frequency(values, n_bins)
    assert equal_width_cuts(x, n_bins) == pytest.approx(slow_equal_width(values, n_bins), abs=1e-12)


@given(TIED_VALUES, st.integers(2, 12), st.sampled_from([equal_frequency_cuts, equal_width_cuts]))
def test_a_library_has_the_cuts_of_every_number_of_bins_once_fewest_first(
    values: list[float], max_bins: int, cut: Callable[[NDArray[np.float64], int], NDArray[np.float64]]
) -> None:
    x = np.array(values)
    family = "equal-frequency" if cut is equal_frequency_cuts else "equal-width"
    wanted = {tuple(cut(x, n_bins).tolist()) for n_bins in range(2, max_bins + 1)}
    library = policy_library(x, family, max_bins)
    policies = [tuple(policy.cut_points.tolist()) for policy in library]
    assert set(policies) == wanted
    assert [len(cuts) for cuts in policies] == sorted(map(len, wanted))
    assert all(policy.chosen for policy in library)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40), st.integers(2, 12))
def test_equal_frequency_never_splits_equal_rows_and_leaves_no_bin_empty(
    values: list[float], n_bins: int
) -> None:
    x = np.array(values)
    cuts = equal_frequency_cuts(x, n_bins)
    assert (np.diff(cuts) > 0).all()
    assert len(cuts) < n_bins
    assert sorted(set(bin_codes(x, cuts))) == list(range(len(cuts) + 1))


@pytest.mark.parametrize("n_bins", [2, 3, 5, 8])
def test_equal_frequency_without_ties_is_as_even_as_it_can_be(n_bins: int) -> None:
    x = np.random.default_rng(3).normal(size=101)
    counts = np.bincount(bin_codes(x, equal_frequency_cuts(x, n_bins)))
    assert len(counts) == n_bins
    assert counts.max() - counts.min() <= 1


def test_equal_width_keeps_bins_without_rows() -> None:
    x = np.array([0.0, 0.1, 0.2, 1.0])
    assert equal_width_cuts(x, 4).tolist() == [0.25, 0.5, 0.75]
    assert bin_codes(x, equal_width_cuts(x, 4)).tolist() == [0, 0, 0, 3]


def test_a_value_on_a_cut_goes_to_the_lower_bin() -> None:
    assert bin_codes(np.array([1.0, 1.5, 2.0, np.nextafter(2.0, 3.0)]), np.array([1.5, 2.0])).tolist() == [
        0,
        0,
        1,
        2,
    ]


def test_cuts_move_to_the_nearest_gap_and_to_the_lower_of_two() -> None:
    # wanted after 4 of 8 rows; gaps lie after 3 and after 5 rows
    assert equal_frequency_cuts(np.array([1.0] * 3 + [2.0] * 2 + [4.0] * 3), 2).tolist() == [1.5]
    # after 2 and after 5 rows: 5 is nearer
    assert equal_frequency_cuts(np.array([1.0] * 2 + [2.0] * 3 + [4.0] * 3), 2).tolist() == [3.0]


@given(st.floats(-1e300, 1e300))
def test_a_midpoint_separates_even_neighbouring_floats(low: float) -> None:
    high = np.nextafter(low, np.inf)
    cut = midpoint(np.array([low]), np.array([high]))
    assert bin_codes(np.array([low, high]), cut).tolist() == [0, 1]


@pytest.mark.parametrize("family", ["equal-frequency", "equal-width"])
@pytest.mark.parametrize("at", [0, 1, 2], ids=["lowest", "middle", "highest"])
def test_neighbouring_floats_never_make_a_bin_without_width(family: str, at: int) -> None:
    pair = [0.3, 0.1 + 0.2]
    others = [[0.7, 0.9], [0.0, 0.9], [0.0, 0.1]][at]
    x = np.repeat([*pair, *others], 20)
    for policy in policy_library(x, family, 6):
        assert (np.diff([x.min(), *policy.cut_points, x.max()]) > 0).all()
    variable = ScoredVariable("x", x, 0, policy_library(x, family, 6))
    scores = make_scorer([variable]).score([ScoredFamily((0, k)) for k in range(len(variable.policies))])
    assert np.isfinite(scores).all()


def test_a_column_of_two_neighbouring_floats_has_one_bin_of_equal_width() -> None:
    x = np.repeat([1.0, np.nextafter(1.0, 2.0)], 10)
    assert [p.n_bins for p in policy_library(x, "equal-width", 5)] == [1]


def test_more_bins_than_distinct_values_merge() -> None:
    library = policy_library(np.repeat([0.0, 1.0, 5.0], 7), "equal-frequency", 15)
    assert [policy.cut_points.tolist() for policy in library] == [[0.5], [0.5, 3.0]]


@pytest.mark.parametrize(
    ("cuts", "message"),
    [
        ([1.0, math.nan], "'age' must be finite"),
        ([1.0, math.inf], "'age' must be finite"),
        ([2.0, 1.0], "'age' must increase strictly, got \\[2.0, 1.0\\]"),
        ([2.0, 2.0], "'age' must increase strictly"),
        ([0.0, 1.0], "'age' must lie inside the range of its data, \\(0, 9\\); got \\[0.0\\]"),
        ([1.0, 9.0], "'age' must lie inside the range of its data, \\(0, 9\\); got \\[9.0\\]"),
        (np.linspace(0.01, 8.9, 255), "'age' must be at most 254 cuts, got 255"),
    ],
)
def test_fixed_cuts_are_refused_by_name(cuts: list[float], message: str) -> None:
    with pytest.raises(GomeaBnError, match=message):
        fixed_policy("age", np.arange(10.0), cuts)


def test_fixed_cuts_are_kept() -> None:
    policy = fixed_policy("age", np.arange(10.0), [2, 4.5])
    assert policy.cut_points.tolist() == [2.0, 4.5]
    assert not policy.chosen
    assert fixed_policy("age", np.arange(10.0), []).n_bins == 1
