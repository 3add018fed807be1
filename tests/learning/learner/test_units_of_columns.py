"""Units of columns: which changes of a table leave the learned network as it is."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gomea_bn import BayesNetLearner, ParetoBayesNetLearner, fit_shape
from gomea_bn.problems.cuts import bin_codes, policy_library
from gomea_bn.problems.family_scorer import _log_width_sum

DISCRETIZERS = ["optimal", "equal-frequency", "equal-width"]


def chain(seed, n_columns=5, n_rows=120):
    """Return columns that follow one another, every second one rounded."""
    rng = np.random.default_rng(seed)
    values = np.cumsum(rng.normal(size=(n_rows, n_columns)), axis=1)
    values[:, ::2] = values[:, ::2].round(1)
    return pd.DataFrame(values, columns=[f"x{v}" for v in range(n_columns)])


def in_other_units(frame):
    return frame * np.array([1.8, 0.01, 3.0, 25.4, 0.5]) + np.array([32.0, 1.0, 0.0, -7.0, 2.0])


def learned(frame, discretizer, seed=1, **options):
    options = {"max_evaluations": 300, "max_seconds": None, "random_state": seed} | options
    return BayesNetLearner(discretizer, **options).fit(frame)


def bins(learner, frame):
    """Return the bin of every value."""
    return {n: np.searchsorted(learner.network_.cut_points[n], frame[n]).tolist() for n in frame}


@given(st.lists(st.floats(1e-6, 1e6), min_size=2, max_size=9), st.integers(-900, 900))
def test_powers_of_two_leave_sums_of_log_widths_to_the_last_bit(widths, exponent):
    edges = np.cumsum([0.0, *widths])
    counts = np.arange(len(widths))
    sums = [
        _log_width_sum(counts, of_unit, of_earlier_versions=False)
        for of_unit in (edges, np.ldexp(edges, exponent))
    ]
    assert sums[0] == sums[1]
    assert sums[0] == pytest.approx(_log_width_sum(counts, edges, of_earlier_versions=True), abs=1e-9)


def test_a_narrow_bin_of_a_huge_range_has_a_finite_log_width():
    edges = np.array([0.0, 1e-300, 1e300])
    total = _log_width_sum(np.array([1, 0]), edges, of_earlier_versions=False)
    assert total == pytest.approx(-600 * np.log(10))


@given(st.integers(0, 1000), st.integers(-60, 60))
@settings(max_examples=10)
def test_powers_of_two_leave_shapes_to_the_last_bit(seed, exponent):
    values = chain(seed, 2)["x1"].to_numpy()
    first, second = fit_shape(values), fit_shape(np.ldexp(values, exponent))
    assert first.log_likelihood == second.log_likelihood
    assert (first.shape.left == second.shape.left).all()
    assert (np.ldexp(first.shape.edges, exponent) == second.shape.edges).all()


@pytest.mark.long
@pytest.mark.parametrize("discretizer", DISCRETIZERS)
@given(st.integers(0, 1000), st.lists(st.integers(-20, 20), min_size=5, max_size=5))
@settings(max_examples=3)
def test_columns_times_powers_of_two_give_the_same_network(discretizer, seed, exponents):
    frame = chain(seed)
    factors = 2.0 ** np.array(exponents)
    first, second = learned(frame, discretizer), learned(frame * factors, discretizer)
    assert first.score_ == second.score_
    assert first.network_.edges == second.network_.edges
    for name, factor in zip(frame, factors.tolist(), strict=True):
        assert (first.network_.cut_points[name] * factor).tolist() == second.network_.cut_points[
            name
        ].tolist()


@pytest.mark.sample(1)
@pytest.mark.parametrize("discretizer", ["equal-frequency", "equal-width"])
@pytest.mark.parametrize("seed", range(2))
def test_other_units_leave_networks_of_other_cuts_to_the_last_bit(discretizer, seed):
    frame = chain(seed)
    other = in_other_units(frame)
    first, second = learned(frame, discretizer), learned(other, discretizer)
    assert first.score_ == second.score_
    assert first.network_.edges == second.network_.edges
    assert bins(first, frame) == bins(second, other)


@pytest.mark.parametrize("seed", [1, 2, 4, 5])
def test_other_units_leave_shapes_but_for_rounding(seed):
    frame = chain(seed)
    other = in_other_units(frame)
    for name in frame:
        first, second = fit_shape(frame[name].to_numpy()), fit_shape(other[name].to_numpy())
        assert first.log_likelihood == pytest.approx(second.log_likelihood, abs=1e-6)
        assert len(first.shape.edges) == len(second.shape.edges)


def test_a_cut_that_is_a_value_but_for_rounding_is_that_value():
    values = np.arange(1, 12) / 10
    inches = values * 2.54
    bins_of = []
    for column in (values, inches):
        cuts_of = [p.cut_points for p in policy_library(column, "equal-width", 8, joins_values=True)]
        for cuts in cuts_of:
            nearest = np.abs(cuts[:, None] - column).min(axis=1)
            assert ((nearest == 0) | (nearest > 1e-6)).all()
        bins_of.append([bin_codes(column, cuts).tolist() for cuts in cuts_of])
    assert bins_of[0] == bins_of[1]


def test_fronts_of_columns_times_powers_of_two_are_equal():
    frame = chain(3)
    first, second = (
        ParetoBayesNetLearner(max_evaluations=300, max_seconds=None, random_state=1).fit(rows).front_
        for rows in (frame, frame * 2.0 ** np.arange(-2, 3))
    )
    # logarithms of widths are rounded
    np.testing.assert_allclose(first.values, second.values, rtol=1e-13)


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(3))
def test_other_units_leave_graph_and_bins_of_optimal_cuts(seed):
    frame = chain(seed)
    other = in_other_units(frame)
    first, second = (learned(rows, "optimal", max_evaluations=1500) for rows in (frame, other))
    assert set(first.network_.edges) == set(second.network_.edges)
    assert bins(first, frame) == bins(second, other)


def test_increasing_transforms_leave_graph_and_bins_of_marginal_shapes_alone():
    frame = chain(0, n_rows=400)
    other = np.exp(frame / 2)
    first, second = (
        learned(rows, "optimal", shape="marginal", max_evaluations=600) for rows in (frame, other)
    )
    assert first.network_.metadata["curves"]
    assert set(first.network_.edges) == set(second.network_.edges)
    assert bins(first, frame) == bins(second, other)
    # the widths of uniform bins count
    other = np.exp(2 * frame)
    first, second = (learned(rows, "optimal", max_evaluations=600) for rows in (frame, other))
    assert bins(first, frame) != bins(second, other)
