"""Plots of a variable given its parents: which values parents get, and what is drawn."""

import itertools
from typing import Any

import numpy as np
import pytest
from averaged_examples import averaged_example, copy_with
from network_examples import network_with, one_column
from wrong_input import untyped

from gomea_bn import GomeaBnError
from gomea_bn.network.conditionals import Curve
from gomea_bn.network.marginals import conditional_density, conditional_probabilities
from gomea_bn.plots import conditional_densities, plot_conditional_density


@pytest.mark.parametrize("network", [copy_with(1), averaged_example()])
def test_the_first_free_parent_varies_over_quantiles_and_others_are_typical(network):
    rows = network.sample(4000, 0, values="numbers")
    densities = conditional_densities(network, "b", quantiles=[0.25, 0.75])
    assert [density.quantile for density in densities] == [0.25, 0.75]
    for density, quantile in zip(densities, (0.25, 0.75), strict=True):
        assert density.given == {
            "a": np.quantile(rows["a"], quantile),
            "g": rows["g"].mode()[0],
            "p": np.median(rows["p"]),
        }
        assert isinstance(density.distribution, Curve)
        expected = conditional_density(network, "b", density.given)
        np.testing.assert_array_equal(density.distribution.densities, expected.densities)
    along = conditional_densities(network, "b", {"p": 3.0}, along="g")
    assert [density.given["g"] for density in along] == ["no", "yes"]
    assert {density.quantile for density in along} == {None}
    assert {(density.given["p"], density.given["a"]) for density in along} == {(3.0, np.median(rows["a"]))}
    # nothing varies
    for variable, given in (("b", {"a": 0, "g": "no", "p": 3}), ("a", None)):
        (density,) = conditional_densities(network, variable, untyped(given))
        assert density.given == (given or {})
        assert density.quantile is None


def test_a_discrete_variable_has_probabilities():
    averaged = averaged_example()
    densities = conditional_densities(averaged, "d")
    assert len(densities) == 3
    for density in densities:
        expected = conditional_probabilities(averaged, "d", density.given)
        np.testing.assert_array_equal(density.distribution, expected)


def test_the_six_most_frequent_levels_of_a_parent_are_drawn_in_their_order():
    shares = np.array([0.02, 0.2, 0.03, 0.2, 0.15, 0.15, 0.15, 0.1])
    network = network_with(
        ["k", "c"],
        [("k", "c")],
        levels={"k": tuple("abcdefgh"), "c": (0, 1)},
        tables={"k": shares, "c": np.full((8, 2), 0.5)},
    )
    assert [d.given["k"] for d in conditional_densities(network, "c")] == list("bdefgh")


def test_lines_and_the_legend_are_the_densities():
    averaged = averaged_example()
    densities = conditional_densities(averaged, "b")
    ax = plot_conditional_density(averaged, "b")
    for density, line in zip(densities, ax.lines[::2], strict=True):
        assert isinstance(density.distribution, Curve)
        np.testing.assert_array_equal(np.asarray(line.get_xdata())[1:-1], density.distribution.values)
        np.testing.assert_array_equal(np.asarray(line.get_ydata())[1:-1], density.distribution.densities)
    legend = ax.get_legend()
    assert legend is not None
    texts = [text.get_text() for text in legend.get_texts()]
    values = [density.given["a"] for density in densities]
    assert texts == [f"a = {v:.4g} ({q} %)" for v, q in zip(values, (10, 50, 90), strict=True)]
    first = densities[0].given
    assert legend.get_title().get_text() == f"given g = {first['g']}, p = {first['p']:.4g}"
    assert legend.get_title().get_visible()
    assert ax.get_xlabel() == "b"
    # the legend stands above the highest density
    highest = max(
        float(np.max(d.distribution.densities)) for d in densities if isinstance(d.distribution, Curve)
    )
    assert ax.get_ylim()[1] > 1.2 * highest


def test_point_masses_are_dots_of_their_probability():
    averaged = averaged_example()
    ax = plot_conditional_density(averaged, "p")
    curve = conditional_density(averaged, "p", {})
    assert curve.points[0.0] > 0
    (dots,) = ax.lines[1::2]
    assert np.asarray(dots.get_xdata()).tolist() == [0.0]
    assert np.asarray(dots.get_ydata())[0] / curve.densities.max() == pytest.approx(curve.points[0.0])
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["density"]


def test_bars_of_a_discrete_variable_stand_next_to_each_other():
    averaged = averaged_example()
    ax = plot_conditional_density(averaged, "d", quantiles=[0.2, 0.8])
    densities = conditional_densities(averaged, "d", quantiles=[0.2, 0.8])
    heights: list[Any] = [[bar.get_height() for bar in bars] for bars in ax.containers]
    np.testing.assert_array_equal(heights, [density.distribution for density in densities])
    places = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for bars in ax.containers for bar in bars)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(places))
    assert [text.get_text() for text in ax.get_xticklabels()] == ["0", "1", "2"]
    assert ax.get_ylabel() == "Probability"


@pytest.mark.parametrize("low", [1e299, -1e300])
def test_huge_ranges_are_drawn_in_a_unit(low):
    ax = plot_conditional_density(one_column([0], (-1e300, 1e300), [0.5, 0.5]), "x")
    ax.figure.canvas.draw()
    assert "1e+300" in ax.get_xlabel()
    assert "1e+300" in ax.get_ylabel()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"variable": "q"}, "'q'"),
        ({"along": "c"}, "along must be a parent of 'b', which has the parents a, g, p; got 'c'"),
        ({"along": "p", "given": {"p": 1}}, "along: 'p' has a value in given; leave it out of one"),
        ({"given": {"c": 1}}, "given: 'c' is not a parent of 'b'"),
        ({"given": {"g": "x"}}, "'g'"),
        ({"quantiles": []}, "quantiles must have at least one number between 0 and 1, got none"),
        ({"quantiles": [1.5]}, "quantiles must be a finite number of at least 0 and at most 1, got 1.5"),
    ],
)
def test_wrong_input_is_refused(options, message):
    with pytest.raises(GomeaBnError, match=message):
        plot_conditional_density(averaged_example(), **{"variable": "b", **options})
