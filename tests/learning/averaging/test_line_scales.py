"""Scales of lines: by ranks where a shape cannot follow them, and floors that repeated values cannot pass."""

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from averaged_examples import effects_on, slope_of, weight_of
from numpy.typing import NDArray
from scipy.stats import norm

from gomea_bn import DiscretizedBayesNet, Shape, average_families, fit_shape, read_table
from gomea_bn.learning.averaging import RepeatedValues, least_scale, line_scale, log_steps
from gomea_bn.network.conditionals import ProbabilityScale, UnitScale
from gomea_bn.problems.cuts import equal_frequency_cuts, table_shapes
from gomea_bn.problems.cuts.shape import MOST_PIECES

Transform = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def exponential(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values over fifteen orders of magnitude."""
    return np.asarray(np.exp(6 * z), np.float64)


def averaged_of(x: NDArray[np.float64], y: NDArray[np.float64]) -> DiscretizedBayesNet:
    """Return the network with conditionals of the edge from x to y, with bins of equal frequency."""
    frame = pd.DataFrame({"x": x, "y": y})
    table = read_table(frame, kinds={"x": "continuous", "y": "continuous"})
    shapes = {name: shape.shape for name, shape in table_shapes(table).items()}
    cuts = {column.name: equal_frequency_cuts(column.values, 4) for column in table.columns}
    network = DiscretizedBayesNet.from_table(
        table, [("x", "y")], cuts, pseudo_count="auto", shapes=shapes, metadata={"shape": "auto"}
    )
    return average_families(network, frame, n_copies=5, prefer="density")


@pytest.mark.parametrize("n", [200, 1500])
def test_the_exponential_of_a_column_has_the_line_of_the_column(n: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    y = x + 0.2 * rng.normal(size=n)
    plain, of_y, of_both = (
        averaged_of(x, y),
        averaged_of(x, exponential(y)),
        averaged_of(exponential(x), exponential(y)),
    )
    fresh = rng.normal(size=2000)
    rows = pd.DataFrame({"x": fresh, "y": fresh + 0.2 * rng.normal(size=2000)})
    rows = rows[rows["x"].between(x.min(), x.max()) & rows["y"].between(y.min(), y.max())]
    density = plain.log_density_terms(rows)["y"].mean()
    assert weight_of(plain, "y") > 0.9
    for averaged, transform in ((of_y, "y"), (of_both, "xy")):
        moved = rows.assign(**{name: exponential(rows[name].to_numpy()) for name in transform})
        assert weight_of(averaged, "y") > 0.9
        assert slope_of(averaged, "y", "x") == pytest.approx(slope_of(plain, "y", "x"), abs=0.1)
        widths = [effects_on(network, "y").scales[0] for network in (averaged, plain)]
        assert widths[0] == pytest.approx(widths[1], rel=0.15)
        # in the units of y
        of_moved = averaged.log_density_terms(moved)["y"].mean() + (math.log(6) + 6 * rows["y"]).mean()
        assert of_moved == pytest.approx(density, abs=0.2)
        assert (
            of_moved
            > averaged.of_tables().log_density_terms(moved)["y"].mean() + (6 * rows["y"]).mean() + 2.2
        )


@pytest.mark.parametrize("n", [50, 300, 20_000])
def test_ranks_stand_for_a_column_that_its_shape_cannot_follow(n: int) -> None:
    z = np.random.default_rng(1).normal(size=n)
    values = exponential(z)
    scale = line_scale(values, fit_shape(values).shape)
    assert (scale.low, scale.high) == (values.min(), values.max())
    assert 4 <= len(scale.left) <= MOST_PIECES
    np.testing.assert_array_equal(scale.left, scale.right)
    # every knot has the share of the rows below it
    shares = [(values <= knot).mean() for knot in scale.edges[1:]]
    np.testing.assert_allclose(scale.distribution(scale.edges[1:]), shares, atol=1e-9)
    counts = [
        ((values > a) & (values <= b)).sum() for a, b in zip(scale.edges, scale.edges[1:], strict=False)
    ]
    assert min(counts[1:]) >= 2
    assert counts[0] >= 1
    places = ProbabilityScale(scale, n).of_values(values)
    by_rank = norm.ppf((np.argsort(np.argsort(values)) + 1) / (n + 1))
    assert np.abs(places - by_rank).mean() < (0.12 if n == 50 else 0.05)
    # knots follow increasing transforms
    moved = line_scale(z**3, Shape([(z**3).min(), (z**3).max()], [1.0], [1.0]))
    np.testing.assert_array_equal(
        np.searchsorted(np.sort(z**3), moved.edges[1:-1]), np.searchsorted(np.sort(values), scale.edges[1:-1])
    )


def test_a_shape_that_follows_its_column_stays() -> None:
    rng = np.random.default_rng(2)
    for values in (
        rng.normal(size=300),
        rng.gamma(2.0, size=1000),
        rng.uniform(size=60),
        np.exp(rng.normal(size=500)),
    ):
        shape = fit_shape(values).shape
        assert line_scale(values, shape) is shape
    # point masses, and rounded values
    points = np.concatenate([np.zeros(60), exponential(rng.normal(size=140))])
    # so few equal rows that the others could be ranked
    few = np.concatenate([np.zeros(10), exponential(rng.normal(size=90))])
    rounded = np.round(exponential(rng.normal(size=300)), 1)
    for values in (points, few, rounded):
        shape = fit_shape(values).shape
        assert line_scale(values, shape) is shape
    assert fit_shape(few).shape.points


@pytest.mark.parametrize("spacing", [0.05, 0.2])
@pytest.mark.parametrize("factor", [1e-3, 1.0, 500.0])
def test_the_least_scale_is_the_step_between_rounded_normal_values(spacing: float, factor: float) -> None:
    z = factor * np.round(np.random.default_rng(3).normal(size=800) / spacing) * spacing
    scale = ProbabilityScale(fit_shape(z).shape, 800)
    assert least_scale(log_steps(z, scale)) == pytest.approx(spacing, rel=0.15)


def slow_least_scale(values: list[float], scale: ProbabilityScale) -> float:
    """Return the geometric mean of the steps over the rows, by ranks or by slopes."""
    n, distinct = len(values), sorted(set(values))
    by_rank, by_slope = [], []
    for value in values:
        below, up_to = sum(v < value for v in values), sum(v <= value for v in values)
        by_rank.append(norm.ppf((up_to + 0.5) / (n + 1)) - norm.ppf((below + 0.5) / (n + 1)))
        k = distinct.index(value)
        left = distinct[k] - distinct[k - 1] if k else distinct[1] - distinct[0]
        right = distinct[k + 1] - distinct[k] if k + 1 < len(distinct) else left
        place = scale.of_values(np.array([value]))
        by_slope.append((left + right) / 2 * math.exp(scale.log_slope(np.array([value]), place)[0]))
    return max(math.prod(by_rank) ** (1 / n), math.prod(by_slope) ** (1 / n))


def test_the_least_scale_is_the_geometric_mean_of_the_steps_of_the_rows() -> None:
    values = [3.0, 1.0, 1.0, 7.0, 3.0, 3.0, 8.0]
    # even, and crowded at the low end, where ranks and slopes disagree
    for shape in (Shape([1.0, 8.0], [1.0], [1.0]), Shape([1.0, 2.0, 8.0], [6.0, 1 / 6], [6.0, 1 / 6])):
        scale = ProbabilityScale(shape, len(values))
        assert least_scale(log_steps(np.array(values), scale)) == pytest.approx(
            slow_least_scale(values, scale)
        )
    normal = np.random.default_rng(0).normal(size=50_000)
    assert least_scale(log_steps(normal, ProbabilityScale(fit_shape(normal).shape, 50_000))) == 1e-3


@pytest.mark.parametrize("decimals", [0, 1, 3])
@pytest.mark.parametrize("factor", [1.0, 3.0, 6.0])
def test_rounded_values_of_a_skewed_column_buy_no_density(decimals: int, factor: float) -> None:
    exact = np.exp(factor * np.random.default_rng(5).normal(size=400))
    values = np.asarray(np.round(exact, decimals), np.float64)
    averaged = averaged_of(values, values)
    of_rows = averaged.log_density_terms(pd.DataFrame({"x": values, "y": values}))["y"]
    # all that is known of a value is the interval that rounds to it, however many equal rows end the range
    assert of_rows.mean() < decimals * math.log(10)


def test_repeats_gain_what_lies_above_the_density_of_rows_that_are_spread_over_their_steps() -> None:
    values = np.array([0.0] * 6 + [1.0] * 3 + [3.0])
    # steps: 1, (1 + 2) / 2 and 2; the last value does not repeat
    logs = -np.log([1.0] * 6 + [1.5] * 3 + [0.1])
    for factor in (1.0, 2.0, 1e200):
        repeated = RepeatedValues(factor * values + 7, UnitScale(0.0, 1.0, (0.0, 1.0)))
        of_units = logs - np.log(factor) - 0.001
        assert not repeated.gain(of_units)
        # low densities elsewhere do not make up for it
        assert repeated.gain(of_units + np.repeat([0.05, -3.0], [6, 4]))
    assert not RepeatedValues(np.arange(20.0), UnitScale(0.0, 1.0, (0.0, 19.0))).gain(np.full(20, 9.0))


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_a_column_with_a_point_mass_follows_the_same_in_all_units(unit: float) -> None:
    rng = np.random.default_rng(7)
    x = rng.normal(size=600)
    y = np.where(x < 0, 0.0, x + 0.1 * rng.normal(size=600) ** 2)
    plain, scaled = averaged_of(x, y), averaged_of(x, unit * y)
    assert weight_of(plain, "y") > 0.2
    assert weight_of(scaled, "y") == pytest.approx(weight_of(plain, "y"), abs=1e-3)
