"""Densities given parents: against the terms of the log density, and averages over rows against samples."""

import math

import numpy as np
import pandas as pd
import pytest
from averaged_examples import SHAPES, SUPPORT, averaged_example, copy_with, curve_of_c
from numpy.typing import NDArray
from scipy.stats import kstest
from wrong_input import untyped

from gomea_bn import DiscretizedBayesNet, GomeaBnError, Shape
from gomea_bn.network.conditionals import Curve
from gomea_bn.network.marginals import (
    conditional_density,
    conditional_probabilities,
    level_probabilities,
    marginal,
    mean_density,
    mean_probabilities,
)
from gomea_bn.plots import marginal_density


def networks() -> list[DiscretizedBayesNet]:
    return [copy_with(1), averaged_example(lines={}), averaged_example()]


ROWS = averaged_example().sample(30, random_state=3)


def total(curve: Curve) -> float:
    """Return the integral of a curve, and the probabilities of its points."""
    return float(np.trapezoid(curve.densities, curve.values)) + math.fsum(curve.points.values())


def inner(curve: Curve) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return values in the middle of the pieces of a curve, and the densities there."""
    lows, highs = curve.values[::2], curve.values[1::2]
    return (lows + highs) / 2, (curve.densities[::2] + curve.densities[1::2]) / 2


@pytest.mark.parametrize("kind", range(3))
@pytest.mark.parametrize("name", SUPPORT)
def test_densities_given_parents_are_the_terms_of_the_log_density(kind, name):
    network = networks()[kind]
    parents = network.parents(name)
    # lines are not linear between their points
    tolerance = 0.01 if kind == 2 else 1e-9
    for row in ROWS[:10].to_dict("records"):
        curve = conditional_density(network, name, {parent: row[parent] for parent in parents})
        assert (np.diff(curve.values) >= 0).all()
        assert curve.values[[0, -1]].tolist() == list(SUPPORT[name])
        assert total(curve) == pytest.approx(1.0, abs=tolerance)
        if kind:
            values, densities = inner(curve)
            expected = np.exp(network.log_density_terms(pd.DataFrame({**row, name: values}))[name])
            np.testing.assert_allclose(
                densities, expected, rtol=3 * tolerance, atol=tolerance * expected.max()
            )
            # the ends of a piece are exact, but belong to it and not to its neighbour
            ends = np.nextafter(curve.values[:-1:2], np.inf)
            at_ends = np.exp(network.log_density_terms(pd.DataFrame({**row, name: ends}))[name])
            np.testing.assert_allclose(curve.densities[::2], at_ends, rtol=1e-6)
            ends = np.nextafter(curve.values[1::2], -np.inf)
            at_ends = np.exp(network.log_density_terms(pd.DataFrame({**row, name: ends}))[name])
            np.testing.assert_allclose(curve.densities[1::2], at_ends, rtol=1e-6)
        for value, mass in curve.points.items():
            at_point = network.log_density_terms(pd.DataFrame([{**row, name: value}]))[name][0]
            assert mass == pytest.approx(math.exp(at_point))


def test_a_narrow_line_keeps_its_peak():
    averaged = averaged_example(lines={"c": (0.7, curve_of_c(scales=np.array([1e-3])))})
    for value in (5.1, 5.8, 6.4):
        assert total(conditional_density(averaged, "c", {"b": value})) == pytest.approx(1.0, abs=0.01)


def test_the_scale_of_a_line_may_jump_and_end_inside_the_support():
    scale = Shape([5.5, 6.0, 6.5], [0.5, 1.5], [0.5, 1.5])
    averaged = averaged_example(scales={**SHAPES, "b": scale})
    row = ROWS.to_dict("records")[0]
    curve = conditional_density(averaged, "b", {p: row[p] for p in averaged.parents("b")})
    assert {5.5, 6.0, 6.5} <= set(curve.values.tolist())
    starts, ends = np.nextafter(curve.values[:-1:2], np.inf), np.nextafter(curve.values[1::2], -np.inf)
    for values, densities in ((starts, curve.densities[::2]), (ends, curve.densities[1::2])):
        expected = np.exp(averaged.log_density_terms(pd.DataFrame({**row, "b": values}))["b"])
        np.testing.assert_allclose(densities, expected, rtol=1e-9)


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", range(3))
def test_means_over_rows_are_means_of_densities(kind):
    network = networks()[kind]
    for name in SUPPORT:
        parents = list(network.parents(name))
        curve = mean_density(network, name, ROWS)
        mean = np.zeros(len(curve.values) // 2)
        middles = (curve.values[::2] + curve.values[1::2]) / 2
        for row in ROWS.to_dict("records"):
            terms = network.log_density_terms(pd.DataFrame({**row, name: middles}))
            mean += np.exp(terms[name]) / len(ROWS)
        if kind:
            np.testing.assert_allclose(inner(curve)[1], mean, rtol=0.02, atol=0.005 * mean.max())
        for value, mass in curve.points.items():
            masses = [
                conditional_density(network, name, {p: row[p] for p in parents}).points[value]
                for row in ROWS.to_dict("records")
            ]
            assert mass == pytest.approx(np.mean(masses))
    for name in ("g", "d"):
        expected = [
            np.exp(network.log_density_terms(ROWS.assign(**{name: level}))[name]).mean()
            for level in copy_with(1).levels[name]
        ]
        np.testing.assert_allclose(mean_probabilities(network, name, ROWS), expected, rtol=1e-9)


def test_a_discretized_network_has_its_own_density():
    network = copy_with(2)
    for row in ROWS[:5].to_dict("records"):
        for name, (low, high) in SUPPORT.items():
            curve = conditional_density(network, name, {p: row[p] for p in network.parents(name)})
            values = np.random.default_rng(1).uniform(low, high, 50)
            expected = np.exp(network.log_density_terms(pd.DataFrame({**row, name: values}))[name])
            np.testing.assert_allclose(np.interp(values, curve.values, curve.densities), expected, rtol=1e-9)


def test_probabilities_given_parents_are_those_of_the_table():
    network = copy_with(1)
    given = {"a": 1.5}
    code = int(np.searchsorted(network.cut_points["a"], 1.5))
    np.testing.assert_array_equal(conditional_probabilities(network, "g", given), network.tables["g"][code])
    averaged = averaged_example()
    copies = [copy_with(seed) for seed in (1, 2, 3)]
    rows = [copy.tables["g"][int(np.searchsorted(copy.cut_points["a"], 1.5))] for copy in copies]
    np.testing.assert_allclose(conditional_probabilities(averaged, "g", given), np.mean(rows, axis=0))


def test_marginal_densities_of_conditionals_are_those_of_samples():
    averaged = averaged_example()
    sample = averaged.sample(5000, random_state=8)
    for name in SUPPORT:
        curve = marginal_density(averaged, name)
        assert total(curve) == pytest.approx(1.0, abs=0.003)
        of_rows = mean_density(averaged, name, averaged.sample(4000, 0, values="numbers"))
        np.testing.assert_array_equal(curve.densities, of_rows.densities)
        widths, heights = np.diff(curve.values), curve.densities
        below = np.concatenate(([0.0], np.cumsum(widths * (heights[:-1] + heights[1:]) / 2)))
        values = sample[name].to_numpy()
        values = values[~np.isin(values, list(curve.points))]
        shares = np.interp(values, curve.values, below / below[-1])
        assert kstest(shares, "uniform").pvalue > 1e-3, name
        for value, mass in curve.points.items():
            assert (sample[name] == value).mean() == pytest.approx(mass, abs=0.03)
    for name, levels in averaged.levels.items():
        probabilities, is_exact = level_probabilities(averaged, name)
        assert not is_exact
        shares = [(sample[name] == level).mean() for level in levels]
        np.testing.assert_allclose(probabilities, shares, atol=0.03)
        of_network, _ = level_probabilities(averaged.of_tables(), name)
        np.testing.assert_array_equal(of_network, marginal(averaged.of_tables(), name)[0])


@pytest.mark.parametrize("kind", [0, 2])
def test_wrong_input_is_refused(kind):
    network = networks()[kind]
    for name, given, message in (
        ("q", {}, "'q'"),
        ("g", {"a": 1}, "A density needs a continuous variable, but 'g' is discrete"),
        ("c", {}, "given must have a value for every parent of 'c', got none for 'b'"),
        ("a", {"p": 1}, "given: 'p' is not a parent of 'a', which has the parents none"),
        ("c", {"b": 6, "bb": 6}, "given: 'bb' is not a parent of 'c', .* Did you mean 'b'"),
        ("c", {"b": math.nan}, "'b'"),
        ("c", {"b": "x"}, "'b'"),
        ("b", {"a": 1, "p": 1, "g": "perhaps"}, "'g'"),
    ):
        with pytest.raises(GomeaBnError, match=message):
            conditional_density(network, name, untyped(given))
    with pytest.raises(GomeaBnError, match="need a discrete variable, but 'c' is continuous"):
        conditional_probabilities(network, "c", {"b": 6})
    for function in (marginal_density, level_probabilities):
        with pytest.raises(GomeaBnError, match="'q'"):
            function(network, "q")
    # beyond the support counts as its end
    outside, end = (conditional_density(network, "c", {"b": value}) for value in (99, 7))
    np.testing.assert_array_equal(outside.densities, end.densities)
