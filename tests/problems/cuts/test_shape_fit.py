"""Fitted shapes: left-out densities against slow twins, repeated values, point masses, long tails, odd scales."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from shape_oracles import quadrature, slow_histogram_left_out, slow_kernel_left_out
from shaped_examples import shaped_table

from gomea_bn import GomeaBnError, fit_shape, read_table
from gomea_bn.problems.cuts import shape_fit, table_shapes
from gomea_bn.problems.cuts.shape_fit import repeated_values, resolution, with_point_masses
from gomea_bn.runtime import FitClock

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]

ROUNDED: dict[str, Draw] = {
    "normal": lambda rng, n: rng.normal(size=n).round(1),
    "gamma": lambda rng, n: rng.gamma(2.0, 2.0, n).round(1),
    "uniform": lambda rng, n: rng.random(n).round(2),
}
LONG_TAILED: dict[str, Draw] = {
    "lognormal": lambda rng, n: np.exp(2 * rng.normal(size=n)),
    "cauchy": lambda rng, n: rng.standard_cauchy(n),
    "outlier": lambda rng, n: np.append(rng.normal(size=n - 1), 1e4),
}


def scaled_example(seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Distinct values on [0, 1], the rows of each, and knots."""
    rng = np.random.default_rng(seed)
    scaled = np.unique(rng.beta(2, 5, 30).round(3))
    scaled = (scaled - scaled[0]) / (scaled[-1] - scaled[0])
    return scaled, rng.integers(1, 6, len(scaled)), np.linspace(0, 1, 9)


def gain(values: NDArray[np.float64]) -> float:
    """Mean left-out log density above that of the uniform density, in nats per row."""
    return fit_shape(values).log_likelihood / len(values)


def slow_kernel(
    scaled: NDArray[np.float64], counts: NDArray[np.int64], least: float, low: float = 0.0, high: float = 1.0,
    slope: Any = 1.0,
) -> tuple[float, NDArray[np.float64]]:  # fmt: skip
    """The bandwidth of the twin whose left-out likelihood is largest, and its left-out densities."""
    n_halvings = int(2 * math.log2((high - low) / 2 / least))
    twins = [
        (
            bandwidth,
            slope * np.array(slow_kernel_left_out(scaled.tolist(), counts.tolist(), bandwidth, low, high)),
        )
        for bandwidth in (least * 2 ** (step / 2) for step in range(n_halvings + 1))
    ]
    return max(twins, key=lambda twin: float(counts @ np.log(0.99 * twin[1] + 0.01)))


@pytest.mark.parametrize("seed", range(4))
def test_the_kernel_leaves_out_one_row(seed: int) -> None:
    """The bandwidth is the one of the twin whose likelihood is largest, and densities are the twin's."""
    scaled, counts, knots = scaled_example(seed)
    component = shape_fit._kernel(scaled, counts, 0.05, knots)
    bandwidth, left_out = slow_kernel(scaled, counts, 0.05)
    assert component.left_out == pytest.approx(left_out, rel=1e-9, abs=1e-12)
    centres = np.concatenate((scaled, -scaled, 2 - scaled))
    rows = np.tile(counts, 3)

    def density(values: NDArray[np.float64]) -> NDArray[np.float64]:
        kernels = np.exp(-(((values[:, None] - centres) / bandwidth) ** 2) / 2) @ rows
        return np.asarray(kernels / (bandwidth * math.sqrt(2 * math.pi) * counts.sum()))

    at_knots = density(knots)
    assert component.in_sample == pytest.approx(density(scaled))
    assert component.at_knots[0] == pytest.approx(at_knots[:-1])
    assert component.at_knots[1] == pytest.approx(at_knots[1:])
    below = [
        sum(c * math.erf((knot - y) / bandwidth / math.sqrt(2)) / 2 for y, c in zip(centres, rows))
        / counts.sum()
        for knot in knots
    ]
    assert component.masses == pytest.approx(np.diff(below))


def test_the_stretched_kernel_is_that_of_stretched_values() -> None:
    scaled, counts, knots = scaled_example(7)
    centre, spread, least = 0.3, 0.1, 0.02
    component = shape_fit._kernel(scaled, counts, least, knots, (centre, spread))
    stretched = np.arcsinh((scaled - centre) / spread)
    slope = 1 / np.sqrt((scaled - centre) ** 2 + spread**2)
    low, high = math.asinh(-centre / spread), math.asinh((1 - centre) / spread)
    _, best = slow_kernel(stretched, counts, least / spread, low, high, slope)
    assert component.left_out == pytest.approx(best, rel=1e-9, abs=1e-12)
    assert component.masses.sum() == pytest.approx(1.0, abs=1e-2)


def test_a_mixture_keeps_a_hundredth_uniform_and_pays_for_its_parameters() -> None:
    rng = np.random.default_rng(4)
    n = 40
    counts = rng.integers(1, 4, n)
    ones, knots = np.ones(n), np.ones((2, 1))
    in_sample = 2.0 + rng.random(n)
    # a peak that costs 3 nats, with densities that fall where a row is left out
    peaked = shape_fit._Component(in_sample, 0.9 * in_sample, knots, np.ones(1), 3.0)
    uniform = shape_fit._Component(ones, ones, knots, np.ones(1))
    weights, of_rows, *charged = shape_fit._mixed([uniform, peaked], counts, np.array([True, True]))
    assert weights == pytest.approx([0.01, 0.99], abs=1e-9)
    assert of_rows == pytest.approx(float(counts @ np.log(0.01 + 0.99 * in_sample)))
    left_out = float(counts @ np.log(0.01 + 0.99 * 0.9 * in_sample))
    # one parameter more is the weight
    assert charged == pytest.approx([of_rows - left_out + 1, 3.0])
    weights, of_rows, *charged = shape_fit._mixed([uniform, peaked], counts, np.array([True, False]))
    assert (weights.tolist(), of_rows, charged) == ([1.0, 0.0], 0.0, [0.0, 0.0])


@pytest.mark.parametrize("seed", [3, 5, 6, 11])
def test_a_shape_pays_one_and_a_half_nats_per_parameter(seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=200)
    fitted = shape_fit.fit_shape(values)
    paid = float(fitted.shape.log_scaled_density(values).sum()) - fitted.log_likelihood
    assert fitted.n_parameters > 5
    # rows under the pieces of the shape may look a little denser than under the curve
    assert paid == pytest.approx(1.5 * fitted.n_parameters, abs=0.1)


@pytest.mark.parametrize(("n_steps", "fewest", "most"), [(5, 4, 9), (11, 17, 21), (30, 23, 23)])
def test_a_histogram_has_at_most_24_bins(n_steps: int, fewest: int, most: int) -> None:
    """The rows stand in clear steps with gaps between them."""
    steps = np.repeat(np.arange(n_steps), 4000 // n_steps)
    values = np.sort(2 * steps + np.random.default_rng(1).random(len(steps)))
    scaled = (values - values[0]) / (values[-1] - values[0])
    cuts, cost = shape_fit._histogram(scaled, np.ones(len(scaled), np.int64), 0.001)
    assert fewest <= len(cuts) <= most
    assert cost == pytest.approx(0.5 * math.log(len(scaled) - 1) * len(cuts), rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_histogram_leaves_out_one_row(seed: int) -> None:
    scaled, counts, knots = scaled_example(seed)
    cuts = np.array([0.125, 0.5])
    component = shape_fit._histogram_density(scaled, counts, cuts, knots, 0.0)
    twin = slow_histogram_left_out(scaled.tolist(), counts.tolist(), cuts.tolist())
    assert component.left_out == pytest.approx(twin)
    assert component.masses.sum() == pytest.approx(1.0)
    assert (component.at_knots[0] == component.at_knots[1]).all()


def test_many_squares_of_kernels_stay_exact() -> None:
    """An outlier makes the range so wide that the best bandwidth is far below it."""
    scaled, counts, knots = scaled_example(1)
    scaled = np.append(scaled[:-1] * 1e-9, 1.0)
    least = 5e-11
    component = shape_fit._kernel(scaled, counts, least, knots)
    assert component.left_out == pytest.approx(slow_kernel(scaled, counts, least)[1], rel=1e-9, abs=1e-12)


def test_an_outlier_takes_no_density_from_the_other_rows() -> None:
    rng = np.random.default_rng(5)
    inner = np.sort(rng.normal(size=100))
    alone = fit_shape(inner).shape.log_density(inner).mean()
    for outlier in (1e3, 1e9, 1e13):
        values = np.append(inner, outlier)
        fitted = fit_shape(values)
        assert fitted.shape.log_density(inner).mean() > alone - 0.2
        log_likelihood = fitted.log_likelihood / len(values) - math.log(np.ptp(values))
        # -1.42 for the normal distribution, minus what the parameters cost
        assert -3 < log_likelihood < -1.4


def test_expectation_maximisation_never_takes_away_from_the_uniform_density() -> None:
    ones = np.ones((2, 1))
    components = [
        shape_fit._Component(np.array([1.0, 1.0]), np.array([1.0, 1.0]), ones, np.ones(1)),
        shape_fit._Component(np.array([5.0, 1.0]), np.array([4.0, 1e-300]), ones, np.ones(1), cost=0.1),
        shape_fit._Component(np.array([4.0, 4.0]), np.array([4.0, 4.0]), ones, np.ones(1), cost=1e6),
    ]
    weights, in_sample, *charged = shape_fit._mixed(
        components, np.array([9, 1]), np.ones(len(components), np.bool_)
    )
    assert weights.sum() == pytest.approx(1.0)
    assert weights[0] >= 0.01
    assert weights[2] < 1e-12
    # the weights of greatest left-out likelihood are (2 / 15, 13 / 15), apart from the cost
    assert weights[1] == pytest.approx(13 / 15 * 0.99, abs=0.02)
    assert in_sample == pytest.approx(9 * math.log(weights[0] + 5 * weights[1]) + math.log(weights.sum()))
    left_out = 9 * math.log(weights[0] + 4 * weights[1]) + math.log(weights[0])
    # one weight above 1/1000, and its cost
    assert charged == pytest.approx([in_sample - left_out + 1, 0.1])


def test_new_rows_lose_a_nat_for_every_parameter_of_a_shape() -> None:
    losses, n_parameters = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        former, new = (np.exp(rng.normal(size=n)) * (rng.random(n) > 0.15) for n in (300, 10_000))
        fitted = fit_shape(former)
        above = []
        for values in (former, new):
            # minus the true density, so that means of rows hardly vary
            logs = np.log(np.maximum(values, 1e-300))
            truth = np.where(
                values == 0, np.log(0.15), np.log(0.85 / np.sqrt(2 * np.pi)) - logs - logs**2 / 2
            )
            above.append(float((fitted.shape.log_density(values) - truth).mean()))
        losses.append(300 * (above[0] - above[1]))
        n_parameters.append(fitted.n_parameters)
    assert np.mean(losses) == pytest.approx(np.mean(n_parameters), abs=3.0)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ROUNDED)
def test_shuffled_ties_hardly_change_the_density_of_new_rows(name: str) -> None:
    """Rows that are spread over the step of rounding again change the mean density by at most 0.05 nats."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        values = ROUNDED[name](rng, 600)
        step = float(np.median(np.diff(np.unique(values))))
        jittered = values + rng.uniform(-0.49, 0.49, len(values)) * step
        tied, spread = fit_shape(values).shape, fit_shape(jittered).shape
        new = ROUNDED[name](rng, 3000) + rng.uniform(-0.5, 0.5, 3000) * step
        new = new[(new > max(tied.low, spread.low)) & (new < min(tied.high, spread.high))]
        assert tied.log_density(new).mean() == pytest.approx(spread.log_density(new).mean(), abs=0.05)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_cell_of_the_least_or_greatest_value_is_whole(sign: float) -> None:
    rng = np.random.default_rng(0)
    values = sign * np.minimum(1 + np.floor(np.exp(rng.normal(0.9, 1.1, 400))), 50)
    shape = fit_shape(values).shape
    assert len(shape.points) == 0
    for cell in sign * np.arange(1.0, 5.0):
        low, high = shape.distribution([cell - 0.5, cell + 0.5])
        assert high - low == pytest.approx((values == cell).mean(), abs=0.05)


@pytest.mark.parametrize("name", ROUNDED)
@pytest.mark.parametrize("n_copies", [2, 10])
def test_repeated_rows_buy_no_density(name: str, n_copies: int) -> None:
    values = np.random.default_rng(12).permutation(ROUNDED[name](np.random.default_rng(3), 300))
    continuous = values + np.random.default_rng(4).uniform(-0.4, 0.4, len(values)) * 1e-3
    for column in (values, continuous):
        few, many = fit_shape(column).shape, fit_shape(np.repeat(column, n_copies)).shape
        assert many.log_density(column).mean() < few.log_density(column).mean() + 0.15


def test_coarser_rounding_never_makes_a_column_denser() -> None:
    values = np.random.default_rng(6).normal(size=500)
    exact = fit_shape(values).log_likelihood / 500 - math.log(np.ptp(values))
    for step in (0.05, 0.1, 0.25, 0.5, 1.0):
        rounded = np.round(values / step) * step
        density = fit_shape(rounded).log_likelihood / 500 - math.log(np.ptp(rounded))
        assert density < exact + 0.05


def test_few_distinct_values_never_gain_beyond_their_frequencies() -> None:
    """What two to five repeated values gain is at most what unequal frequencies are worth in a histogram."""
    rng = np.random.default_rng(1)
    for n_distinct in (2, 3, 5):
        for _ in range(5):
            shares = rng.dirichlet(np.ones(n_distinct))
            values = rng.choice(n_distinct, 400, p=shares).astype(np.float64)
            if len(np.unique(values)) < 2 or fit_shape(values).shape.points:
                continue
            frequencies = np.unique(values, return_counts=True)[1] / 400
            at_most = math.log(n_distinct) + float(frequencies @ np.log(frequencies))
            assert gain(values) < at_most + 0.05


@pytest.mark.parametrize(
    ("counts", "is_point"),
    [
        ([1] * 90 + [10], [False] * 90 + [True]),
        ([1] * 91 + [9], [False] * 91 + [False]),
        ([2] * 40 + [10], [False] * 40 + [True]),
        ([2] * 40 + [9], [False] * 41),
        ([20, 1, 20, *[1] * 60], [True, False, True, *[False] * 60]),
        ([50, 20, 4, *[1] * 60], [True, True, False, *[False] * 60]),
        # the third is not five times as frequent as those around it
        ([50, 20, 9, *[1] * 60], [True, True, *[False] * 61]),
        ([50, 20, 12, *[2] * 45], [False] * 48),
        # five candidates are too many
        ([20] * 5 + [1] * 20, [False] * 25),
        ([20] * 4 + [1] * 20, [True] * 4 + [False] * 20),
        # few values: one other value is no density
        ([50, 1], [True, True]),
        ([50, 1, 1], [True, False, False]),
        ([50, 40, 1], [True, True, True]),
        ([2, 2, 2, 2, 2], [True] * 5),
        ([3, 2, 1, 1, 1], [False] * 5),
        # of more than ten values from five rows on, if they have 95 % of the rows
        ([5] * 19 + [4], [True] * 20),
        ([5] * 38 + [4, 3, 3], [True] * 38 + [False] * 3),
        ([5] * 37 + [4, 4, 2], [False] * 40),
        ([5] * 64, [True] * 64),
        ([5] * 65, [False] * 65),
    ],
)
def test_point_masses_are_frequent_and_far_above_the_rest(counts: list[int], is_point: list[bool]) -> None:
    assert repeated_values(np.array(counts)).tolist() == is_point


@given(st.lists(st.integers(1, 60), min_size=2, max_size=30, unique=True))
def test_point_masses_of_a_mirrored_column_are_mirrored(counts: list[int]) -> None:
    straight, mirrored = repeated_values(np.array(counts)), repeated_values(np.array(counts[::-1]))
    assert mirrored[::-1].tolist() == straight.tolist()


def test_a_heap_of_rows_is_a_point_mass_and_the_first_of_falling_counts_is_not() -> None:
    tail = [3, 2, 4, 1, 2, 3] * 10
    zeros_among_numbers = [60, 8, 9, 4, 3, *tail, 15, *tail]
    assert np.flatnonzero(repeated_values(np.array(zeros_among_numbers))).tolist() == [0]
    falling = [int(200 * 0.75**k) for k in range(18)] + [1] * 60
    assert falling[0] >= 0.1 * sum(falling)
    assert not repeated_values(np.array(falling)).any()


def test_points_have_their_share_of_the_rows_after_any_increasing_transform() -> None:
    rng = np.random.default_rng(8)
    values = np.where(rng.random(500) < 0.4, 0.0, rng.gamma(2.0, 1.0, 500))
    values[:60] = 3.0
    shares = [float((values == point).mean()) for point in (0.0, 3.0)]
    for transform in (np.asarray, np.exp, np.cbrt, lambda x: -x):
        fitted = fit_shape(transform(values))
        expected = {float(transform(np.array([point]))[0]): s for point, s in zip((0.0, 3.0), shares)}
        assert fitted.shape.points == expected
        assert fitted.measures == (True,)
        smooth = quadrature(fitted.shape, np.array([fitted.shape.low, fitted.shape.high]))
        assert smooth == pytest.approx(1 - sum(shares), abs=1e-4)


def test_points_count_with_their_probability() -> None:
    rng = np.random.default_rng(9)
    dense = rng.random(300)
    dense[:2] = 0.0, 1.0
    values = np.concatenate((dense, np.full(100, 0.5)))
    smooth = fit_shape(dense).log_likelihood
    expected = smooth + 300 * math.log(0.75) + 100 * math.log(0.25)
    assert fit_shape(values).log_likelihood == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", LONG_TAILED)
@pytest.mark.parametrize("n_rows", [200, 3000])
def test_long_tails_have_finite_densities_far_above_uniform(name: str, n_rows: int) -> None:
    values = LONG_TAILED[name](np.random.default_rng(2), n_rows)
    fitted = fit_shape(values)
    densities = fitted.shape.log_density(values)
    assert np.isfinite(densities).all()
    uniform = -math.log(np.ptp(values))
    assert densities.mean() > uniform + 1.0
    # the likelihood promises no more than the shape has for the rows, nor than it has for new ones
    promised = fitted.log_likelihood / n_rows + uniform
    assert promised <= densities.mean()
    new = LONG_TAILED[name](np.random.default_rng(3), 4000)
    new = new[(new >= values.min()) & (new <= values.max())]
    assert promised - 0.1 < fitted.shape.log_density(new).mean() < promised + 0.5


@pytest.mark.parametrize(
    ("draw", "entropy"),
    [
        (lambda rng, n: rng.normal(size=n), 0.5 * math.log(2 * math.pi * math.e)),
        (lambda rng, n: rng.random(n), 0.0),
        (lambda rng, n: rng.exponential(size=n), 1.0),
        (lambda rng, n: np.where(rng.random(n) < 0.5, 0, 9) + rng.normal(size=n), 2.112),
    ],
    ids=["normal", "uniform", "exponential", "two modes"],
)
def test_new_rows_have_nearly_the_true_density(draw: Draw, entropy: float) -> None:
    fitted = fit_shape(draw(np.random.default_rng(0), 1000))
    new = draw(np.random.default_rng(1), 5000)
    new = new[(new > fitted.shape.low) & (new < fitted.shape.high)]
    assert fitted.shape.log_density(new).mean() == pytest.approx(-entropy, abs=0.06)


@given(st.integers(0, 1000))
@settings(max_examples=20)
def test_shuffled_rows_give_the_same_numbers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.where(rng.random(400) < 0.2, 1.0, rng.normal(size=400).round(int(rng.integers(1, 9))))
    first, second = fit_shape(values), fit_shape(rng.permutation(values))
    assert first.shape == second.shape
    assert (first.log_likelihood, first.resolution) == (second.log_likelihood, second.resolution)


def test_units_change_only_the_units() -> None:
    values = np.random.default_rng(4).gamma(2.0, size=300)
    first, second = fit_shape(values), fit_shape(1024 * values)
    assert second.shape.edges == pytest.approx(1024 * first.shape.edges)
    assert second.shape.left == pytest.approx(first.shape.left)
    assert second.log_likelihood == pytest.approx(first.log_likelihood)
    assert second.resolution == pytest.approx(1024 * first.resolution)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        # twice the median gap, or the gap if values repeat
        ([0, 1, 2, 3, 10], 2.0),
        (np.repeat([0, 1, 2, 3, 10], 2), 1.0),
        # a share of the range, where gaps are small: a hundredth if values repeat
        (np.linspace(0, 10, 5001), 0.05),
        (np.repeat(np.linspace(0, 10, 5001), 2), 0.1),
        # the share of twice the middle four fifths, where tails are long
        (np.concatenate((np.repeat(np.linspace(0, 1, 1001), 2), [100.0])), 0.01 * 2 * 0.8),
    ],
)
def test_the_resolution_is_that_of_gaps_and_of_most_rows(values: Any, expected: float) -> None:
    distinct, counts = np.unique(np.asarray(values, np.float64), return_counts=True)
    assert resolution(distinct, counts) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(
    "values",
    [
        [0.0, 1.0],
        [0, 1] * 50,
        [0.0] * 99 + [1.0],
        [1.0, np.nextafter(1.0, 2.0)] * 5,
        1 + 2.220446049250313e-16 * np.arange(7),
        1e16 + 2 * np.arange(9),
        np.arange(10) * 5e-324,
        np.random.default_rng(0).normal(size=60) * 1e-310,
        np.random.default_rng(0).normal(size=60) * 1e300,
        [1e-300, 2e-300, 3e-300, 1e300],
        np.append(np.random.default_rng(0).normal(size=60), 1e200),
        np.append(np.zeros(20), [1.0, 1e300]),
        np.arange(30),
    ],
)
def test_columns_of_any_scale_have_a_shape(values: Any) -> None:
    column = np.asarray(values, np.float64)
    fitted = fit_shape(values)
    assert (fitted.shape.low, fitted.shape.high) == (column.min(), column.max())
    assert np.isfinite(fitted.log_likelihood)
    assert np.isfinite(fitted.shape.log_density(column)).all()
    assert fitted.resolution > 0
    assert fitted.shape.distribution([column.max()]) == pytest.approx([1.0])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, 1.0], r"constant column has no shape; it needs at least two distinct values, got \[1.0\]"),
        ([], r"at least two distinct values, got \[\]"),
        ([0.0, np.nan], r"must be a list of finite numbers, got \[0.0, nan\]"),
        ([[0.0, 1.0]], "must be a list of finite numbers"),
        (["a", "b"], r"must be numbers, got \['a', 'b'\]"),
        ([-1.7e308, 1.7e308], r"range of a column must be finite, got values from -1.7e\+308 to 1.7e\+308"),
    ],
)
def test_columns_without_a_shape_are_refused(values: Any, message: str) -> None:
    with pytest.raises(GomeaBnError, match=message):
        fit_shape(values)


def test_a_negative_zero_is_a_point_mass_at_zero() -> None:
    normal = np.random.default_rng(2).normal(size=60)
    shape = fit_shape(np.concatenate((np.full(60, -0.0), normal))).shape
    assert [str(value) for value in shape.points] == ["0.0"]


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([1.0, np.nan], "point_values must be a list of finite numbers"),
        (1.0, "point_values must be a list of finite numbers, got 1.0"),
        ("many", "point_values must be .*numbers, got 'many'"),
    ],
)
def test_point_masses_must_be_numbers(points: Any, message: str) -> None:
    with pytest.raises(GomeaBnError, match=message):
        fit_shape([1.0, 2.0, 3.0, 1.0], points)


def test_point_masses_may_be_a_list() -> None:
    fitted = fit_shape([1.0, 2.0, 3.0, 1.0], [1.0, 1.0])
    assert fitted.shape.points == {1.0: 0.5}
    assert fit_shape([1.0, 2.0, 3.0, 1.0], []).shape.points == {}


def test_point_masses_without_rows_stay_and_a_single_other_value_is_one() -> None:
    """A part of the rows keeps the point masses of all rows; those beyond its range are none."""
    shape = fit_shape([1.0, 2.0, 3.0, 4.0, 1.0], [1.0, 2.5, 9.0]).shape
    assert shape.points == {1.0: 0.4, 2.5: 1e-9}
    for points in ([1.0, 2.0], [1.0, 2.0, 3.0]):
        few = fit_shape([1.0, 2.0, 3.0, 1.0], points).shape
        assert few.points == pytest.approx({1.0: 0.5, 2.0: 0.25, 3.0: 0.25})


@pytest.mark.parametrize("n_rows", [300, 3_000])
def test_a_quick_shape_is_a_density_next_to_that_of_kernels(n_rows: int) -> None:
    rng = np.random.default_rng(n_rows)
    quick = fit_shape(rng.normal(size=n_rows), is_quick=True)
    others = rng.normal(size=5_000)
    inside = others[(others > quick.shape.low) & (others < quick.shape.high)]
    assert quick.shape.distribution([quick.shape.high])[0] == pytest.approx(1)
    of_law = -(inside**2).mean() / 2 - np.log(2 * np.pi) / 2
    # about 60 pieces of a share of the rows each
    assert quick.shape.log_density(inside).mean() > of_law - 30 / n_rows - 0.02


@pytest.mark.parametrize("n_rows", [500, 60_000])
def test_a_column_of_few_values_has_nothing_but_point_masses(n_rows: int) -> None:
    """Also of a tall column, whose shape comes from cells."""
    rng = np.random.default_rng(3)
    values = rng.choice([0.5, 1.0, 2.5, 10.0], n_rows, p=[0.5, 0.3, 0.15, 0.05])
    fitted = fit_shape(values)
    shares = {value: float((values == value).mean()) for value in (0.5, 1.0, 2.5, 10.0)}
    assert fitted.shape.points == pytest.approx(shares, rel=1e-6)
    assert fitted.shape.has_few_values
    assert fitted.measures == (True,)
    drawn = fitted.shape.quantile(rng.random(10_000))
    assert set(drawn.tolist()) == set(shares)
    # a new value between the others is possible, but nearly never drawn
    assert fitted.shape.log_density(np.array([5.0]))[0] < -20
    expected = n_rows * sum(share * math.log(share) for share in shares.values())
    assert fitted.log_likelihood == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("n_rows", [2_000, 20_000, 60_000])
@pytest.mark.parametrize("law", ["lognormal", "zeros", "long counts", "few degrees of freedom"])
def test_many_rows_of_long_tails_keep_their_mean_and_quantiles(law: str, n_rows: int) -> None:
    """The uniform density, which spans the whole range, has no fixed share of many rows."""
    rng = np.random.default_rng(1)
    values = {
        "lognormal": lambda: rng.lognormal(size=n_rows),
        "zeros": lambda: np.where(rng.random(n_rows) < 0.6, 0.0, rng.lognormal(size=n_rows)),
        "long counts": lambda: rng.negative_binomial(0.5, 0.02, n_rows).astype(np.float64),
        "few degrees of freedom": lambda: rng.standard_t(3, n_rows),
    }[law]()
    drawn = fit_shape(values).shape.quantile(np.random.default_rng(2).random(100_000))
    assert drawn.mean() == pytest.approx(values.mean(), abs=4 * values.std() * (1 / n_rows + 1e-5) ** 0.5)
    # the smallest of long counts, which repeat, are spread over the next ones
    for level in (0.5, 0.95, 0.995) if law == "long counts" else (0.005, 0.05, 0.5, 0.95, 0.995):
        error = (level * (1 - level) * (1 / n_rows + 1e-5)) ** 0.5
        at = np.quantile(values, level)
        # values that repeat have the level inside their probability
        below, up_to = (drawn < at).mean(), (drawn <= at).mean()
        assert below - 4 * error - 10 / n_rows <= level <= up_to + 4 * error + 10 / n_rows


@pytest.mark.parametrize("n_rows", [1_000, 55_000])
def test_rare_values_of_counts_have_a_density(n_rows: int) -> None:
    values = np.random.default_rng(4).negative_binomial(1, 0.15, n_rows).astype(np.float64)
    shape = fit_shape(values).shape
    distinct, counts = np.unique(values, return_counts=True)
    assert set(distinct[counts >= 50]) <= set(shape.points) <= set(distinct[counts >= 5])
    drawn = shape.quantile(np.random.default_rng(5).random(100_000))
    error = values.std() * (1 / n_rows + 1e-5) ** 0.5
    assert drawn.mean() == pytest.approx(values.mean(), abs=4 * error)


@pytest.mark.parametrize(
    ("rows_per_value", "share"), [(1.0, 0.005), (1.05, 0.005), (1.25, 0.01), (2.0, 0.01)]
)
def test_values_repeat_if_there_are_more_than_eleven_rows_for_ten_values(
    rows_per_value: float, share: float
) -> None:
    distinct = np.linspace(0.0, 1.0, 2001)
    counts = np.ones(2001, np.int64)
    counts[: round(2001 * (rows_per_value - 1))] = 2
    assert resolution(distinct, counts) == share


@pytest.mark.parametrize("far", [1e12, 1e15])
def test_outliers_on_both_sides_leave_a_distribution(far: float) -> None:
    values = np.random.default_rng(0).normal(size=300)
    values[3], values[5] = far, -far
    shape = fit_shape(values).shape
    assert shape.distribution(np.array([far]))[0] == pytest.approx(1.0, abs=1e-6)


def test_a_table_keeps_its_shapes():
    table = shaped_table(100)
    assert table_shapes(table) is table_shapes(table)
    assert list(table_shapes(table)) == list(table.names)


def test_given_point_masses_replace_the_rule():
    values = np.concatenate((np.zeros(40), np.full(8, 2.0), np.linspace(1, 9, 52)))
    assert fit_shape(values).shape.points == {0.0: 0.4}
    assert fit_shape(values, np.array([2.0])).shape.points == {2.0: 0.08}
    assert fit_shape(values, np.array([0.0, 2.0])).shape.points == {0.0: 0.4, 2.0: 0.08}
    without = fit_shape(values, np.empty(0)).shape
    assert without.points == {}
    assert without.distribution([9.0])[0] == pytest.approx(1.0)


def test_a_part_of_a_table_has_the_point_masses_of_the_whole_table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            # 0 is a point mass of the whole table only, 5 of the part only
            "x": np.concatenate((np.zeros(15), rng.normal(size=85))),
            "y": np.concatenate((rng.normal(size=94), np.full(6, 5.0))),
        }
    )
    table = read_table(frame, kinds=dict.fromkeys("xy", "continuous"))
    rows = np.arange(10, 100)[::2]
    rows = np.concatenate((rows, np.arange(94, 100)))
    alone, part = table.take(rows), table.take(rows)
    assert [list(s.shape.points) for s in table_shapes(table).values()] == [[0.0], []]
    assert [list(s.shape.points) for s in table_shapes(alone).values()] == [[], [5.0]]
    part = with_point_masses(part, table)
    assert [list(s.shape.points) for s in table_shapes(part).values()] == [[0.0], []]
    assert table_shapes(part)["x"].shape.points == {0.0: 3 / len(rows)}
    assert (table_shapes(part)["x"].shape.low, table_shapes(part)["x"].shape.high) == (
        part.columns[0].values.min(),
        part.columns[0].values.max(),
    )


def test_shapes_are_quick_ones_when_time_is_up() -> None:
    table = read_table(pd.DataFrame({"x": np.random.default_rng(0).normal(size=1_000)}))
    values = table.columns[0].values
    (late,) = table_shapes(table, FitClock(0.0)).values()
    assert late.shape == fit_shape(values, is_quick=True).shape != fit_shape(values).shape
