"""Distributions inside bins: means, values, quantiles and intervals, against sums over fine grids and draws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from network_examples import one_column
from shape_oracles import slow_mass
from shaped_examples import point_at_a_cut, random_network

from gomea_bn import Shape
from gomea_bn.network.bin_distributions import BinDistributions

PLAIN = one_column([1.0, 4.0], (0.0, 10.0), [0.2, 0.5, 0.3])


@given(seed=st.integers(0, 200))
def test_means_are_those_of_the_values_at_all_shares(seed):
    network = random_network(seed, 3)
    shares = (np.arange(20_000) + 0.5) / 20_000
    for name in network.cut_points:
        bins = BinDistributions(network, name)
        for code, mean in enumerate(bins.means()):
            values = bins.values(np.full(len(shares), code, np.int32), shares)
            width = bins.edges[code + 1] - bins.edges[code]
            assert mean == pytest.approx(values.mean(), abs=1e-4 * width)


@given(seed=st.integers(0, 200), level=st.floats(0, 1))
def test_a_quantile_has_its_probability_below(seed, level):
    network = random_network(seed, 3)
    rng = np.random.default_rng(seed)
    for name in network.cut_points:
        bins = BinDistributions(network, name)
        probabilities = rng.dirichlet(np.ones(len(bins.edges) - 1), size=3)
        probabilities[1, 0] = 0.0 if len(bins.edges) > 2 else 1.0
        for row, quantile in zip(probabilities, bins.quantiles(probabilities, level), strict=True):
            row = row / row.sum()
            # (-inf, quantile] and (-inf, quantile) with point masses
            up_to = row @ bins.interval(-np.inf, float(np.nextafter(quantile, np.inf)), "both")[1]
            below = row @ bins.interval(-np.inf, float(np.nextafter(quantile, -np.inf)), "both")[1]
            assert below <= level + 1e-6
            assert up_to >= level - 1e-6


@given(seed=st.integers(0, 200), shares=st.tuples(st.floats(-0.2, 1.2), st.floats(0.001, 0.5)))
def test_intervals_have_the_mass_of_the_shape(seed, shares):
    network = random_network(seed, 3)
    for name, shape in network.shapes.items():
        bins = BinDistributions(network, name)
        low = shape.low + shares[0] * (shape.high - shape.low)
        high = low + shares[1] * (shape.high - shape.low)
        masses = shape.bin_masses(network.cut_points[name])
        # the twin counts a minimum at which the interval begins
        _, share = bins.interval(low if low > shape.low else -np.inf, high, "right")
        for code, mass in enumerate(masses):
            left, right = max(low, bins.edges[code]), min(high, bins.edges[code + 1])
            expected = slow_mass(shape, left, right) / mass if left < right else 0.0
            assert share[code] == pytest.approx(expected, abs=1e-6)


def test_closed_ends_matter_for_point_masses():
    network = point_at_a_cut()
    bins = BinDistributions(network, "x")
    below_the_point = network.shapes["x"].bin_masses(network.cut_points["x"])[0] - 0.4
    for closed, has_point in (("both", True), ("right", True), ("left", False), ("neither", False)):
        start, share = bins.interval(0.0, 4.0, closed)
        expected = (below_the_point + 0.4 * has_point) / (below_the_point + 0.4)
        assert share.tolist() == pytest.approx([expected, 0.0])
        assert start.tolist() == pytest.approx([0.0, 0.0])
    for closed, has_point in (("both", True), ("right", False), ("left", True), ("neither", False)):
        assert bins.interval(4.0, 9.0, closed)[1][0] == pytest.approx(
            0.4 * has_point / (below_the_point + 0.4)
        )


def test_uniform_bins_by_hand():
    bins = BinDistributions(PLAIN, "x")
    assert bins.means().tolist() == [0.5, 2.5, 7.0]
    assert bins.codes(np.array([0.0, 1.0, 1.5, 4.0, 99.0, np.nan])).tolist() == [0, 0, 1, 1, 2, -1]
    probabilities = np.array([[0.2, 0.5, 0.3]])
    assert bins.quantiles(probabilities, 0.1)[0] == pytest.approx(0.5)
    assert bins.quantiles(probabilities, 0.45)[0] == pytest.approx(2.5)
    assert bins.quantiles(probabilities, 1.0)[0] == 10.0
    assert bins.quantiles(np.array([[0.0, 1.0, 0.0]]), 0.0)[0] == pytest.approx(1.0)
    start, share = bins.interval(2.0, 7.0, "both")
    assert start.tolist() == pytest.approx([1.0, 1 / 3, 0.0])
    assert share.tolist() == pytest.approx([0.0, 2 / 3, 0.5])
    densities = bins.log_densities(np.array([0.5, 9.0]), np.array([0, 2], np.int32))
    assert np.exp(densities).tolist() == pytest.approx([1.0, 1 / 6])


def test_means_of_huge_bins_are_finite():
    network = one_column([], (8e307, 1.6e308), [1.0])
    assert BinDistributions(network, "x").means()[0] == pytest.approx(1.2e308)


def test_means_of_huge_shapes_scale_with_their_unit():
    shape = Shape([0.0, 1.0, 3.0], [1.5, 0.75], [1.5, 0.75])
    means = []
    for unit in (1.0, 2.0**1000, 2.0**-1000):
        scaled = Shape(shape.edges * unit, shape.left, shape.right)
        network = one_column([unit], (0.0, 3 * unit), [0.4, 0.6]).changed(shapes={"x": scaled})
        means.append(BinDistributions(network, "x").means() / unit)
    np.testing.assert_array_equal(means[1:], [means[0]] * 2)
    assert means[0].tolist() == pytest.approx([0.5, 2.0])
