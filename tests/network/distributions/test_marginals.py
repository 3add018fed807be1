"""The distribution of one variable, against sums over all states and pyAgrum; point masses that one network lacks."""

import numpy as np
import pandas as pd
import pytest
from network_examples import all_states, joint_probability, one_column, small_network
from shaped_examples import point_at_a_cut, shaped_network, shaped_table

from gomea_bn import GomeaBnError, Shape
from gomea_bn.network.bin_distributions import unshared_points
from gomea_bn.network.marginals import marginal
from gomea_bn.plots import marginal_density
from gomea_bn.simulation import random_network


@pytest.mark.parametrize("seed", range(8))
def test_marginals_are_sums_over_all_states(seed):
    network = small_network(seed, 5, levels=[("only",), ("lo", "hi"), (0, 1, 2)])
    assert len(network.names) == 5
    for name in network.names:
        expected = np.zeros(network.cardinality(name))
        for codes in all_states(network):
            expected[codes[name]] += joint_probability(network, codes)
        computed, is_exact = marginal(network, name)
        assert is_exact
        np.testing.assert_allclose(computed, expected, atol=1e-12)


def test_marginals_agree_with_pyagrum_on_twenty_variables():
    network = random_network(20, random_state=2)
    assert len(network.names) == 20
    for name in network.names:
        np.testing.assert_allclose(marginal(network, name)[0], network.query(name).to_numpy(), atol=1e-12)


def test_a_sample_stands_in_where_tables_would_grow_too_large():
    network = random_network(12, random_state=3)
    name = max(network.names, key=lambda variable: len(network.parents(variable)))
    (exact, is_exact), (sampled, is_sample_exact) = (
        marginal(network, name),
        marginal(network, name, max_cells=3),
    )
    assert is_exact
    assert not is_sample_exact
    np.testing.assert_allclose(sampled, exact, atol=0.01)
    assert sampled.sum() == pytest.approx(1)
    again, _ = marginal(network, name, max_cells=3)
    np.testing.assert_array_equal(sampled, again)
    with pytest.raises(GomeaBnError, match="Unknown variable"):
        marginal(network, "nobody")


def heights(curve, values):
    """Return the density of a curve between its vertices."""
    return np.interp(values, curve.values, curve.densities)


@pytest.mark.parametrize("n_bins", [1, 2, 4, 12])
def test_a_density_and_its_points_sum_to_one(n_bins):
    network = shaped_network(shaped_table(), n_bins)
    for name in network.names:
        curve = marginal_density(network, name)
        assert (np.diff(curve.values) >= 0).all()
        area = np.trapezoid(curve.densities, curve.values)
        assert area + sum(curve.points.values()) == pytest.approx(1, abs=1e-9)
        assert set(curve.points) == ({0.0} if name == "rain" else set())


@pytest.mark.parametrize("n_bins", [1, 4, 12])
def test_the_density_of_a_root_is_the_network_s(n_bins):
    table = shaped_table()
    whole = shaped_network(table, n_bins)
    for name in whole.names:
        shapes = {name: whole.shapes[name]} if name in whole.shapes else {}
        (column,) = (c for c in table.columns if c.name == name)
        alone = one_column(
            whole.cut_points[name], whole.support[name], marginal(whole, name)[0], name=name,
            shapes=shapes,
        )  # fmt: skip
        frame = table.to_frame()[[name]]
        curve = marginal_density(whole, name)
        expected = np.exp(alone.log_density(frame))
        drawn = heights(curve, column.values)
        for value, mass in curve.points.items():
            assert expected[column.values == value] == pytest.approx(mass)
            drawn[column.values == value] = mass
        # at a jump the drawing has both heights
        smooth = ~np.isin(column.values, curve.values)
        assert smooth.sum() > 150
        np.testing.assert_allclose(drawn[smooth], expected[smooth], rtol=1e-9)


def test_the_bins_of_a_density_have_their_marginal_probabilities():
    network = shaped_network(shaped_table(), 5)
    for name in network.names:
        curve = marginal_density(network, name)
        edges = [network.support[name][0], *network.cut_points[name], network.support[name][1]]
        for code, probability in enumerate(marginal(network, name)[0]):
            low, high = edges[code], edges[code + 1]
            area = heights(curve, np.linspace(low, high, 200_001)[1:-1]).mean() * (high - low)
            area += sum(
                mass
                for value, mass in curve.points.items()
                if low < value <= high or value == low == edges[0]
            )
            assert area == pytest.approx(probability, rel=1e-3)


def test_a_point_at_a_cut_belongs_to_the_lower_bin():
    network = point_at_a_cut(0.3)
    # on [0, 4] the density of the shape is .05 to .058 per unit
    share = 0.4 / (0.4 + 4 * (0.05 + 0.058) / 2)
    assert marginal_density(network, "x").points == {4.0: pytest.approx(0.3 * share)}
    density = np.exp(network.log_density_terms(pd.DataFrame({"x": [4.0], "y": [0.5]}))["x"])
    assert density[0] == pytest.approx(0.3 * share)


def test_the_density_of_a_variable_that_is_uniform_inside_has_two_heights_at_a_cut():
    network = shaped_network(shaped_table(), 3)
    curve = marginal_density(network, "flat")
    low, high = network.support["flat"]
    first, second = network.cut_points["flat"]
    assert curve.values.tolist() == [low, first, first, second, second, high]
    expected = marginal(network, "flat")[0] / np.diff([low, first, second, high])
    np.testing.assert_allclose(curve.densities, np.repeat(expected, 2))


def test_a_density_needs_a_continuous_variable():
    network = random_network(6, random_state=4)
    (discrete,) = network.levels
    with pytest.raises(GomeaBnError, match=f"'{discrete}' is discrete"):
        marginal_density(network, discrete)
    with pytest.raises(GomeaBnError, match="Unknown variable 'nobody'"):
        marginal_density(network, "nobody")


def shape_with(*values):
    share = 1 - 0.1 * len(values)
    return Shape([0.0, 1.0], [share], [share], dict.fromkeys(values, 0.1))


def test_point_masses_are_matched_by_variable_and_value():
    first = {"x": shape_with(0.0, 0.5), "y": shape_with(1.0), "z": shape_with()}
    assert unshared_points(first, first) == []
    assert unshared_points(first, {}) == [("x", 0.0), ("x", 0.5), ("y", 1.0)]
    assert unshared_points(first, {"x": shape_with(0.5, 1.0), "y": shape_with(0.0, 1.0)}) == [("x", 0.0)]
    assert unshared_points({}, first) == []
