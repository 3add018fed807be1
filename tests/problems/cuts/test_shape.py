"""Shapes: against slow twins, quadrature and samples, at extreme scales, as JSON."""

import copy
import itertools
import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest
from shape_oracles import (
    quadrature,
    random_shape,
    slow_distribution,
    slow_log_density,
    slow_mass,
    slow_quantile,
)

from gomea_bn import GomeaBnError, Shape
from gomea_bn.problems.cuts import ColumnShape
from gomea_bn.problems.cuts.shape import MOST_PIECES

SEEDS = st.integers(0, 10_000)
UNIFORM = Shape([0.0, 4.0], [1.0], [1.0])
WITH_POINTS = Shape([0.0, 1.0, 4.0], [0.8, 0.4], [0.4, 0.4], {0.0: 0.25, 1.0: 0.125, 4.0: 0.175})


def random_cuts(shape: Shape, seed: int) -> np.ndarray:
    """Inner cuts, some of them at edges and at points of the shape."""
    rng = np.random.default_rng(seed)
    candidates = np.concatenate(
        (shape.edges[1:-1], shape.point_values, rng.uniform(shape.low, shape.high, 4))
    )
    cuts = np.unique(rng.choice(candidates, rng.integers(0, 6)))
    return np.asarray(cuts[(cuts > shape.low) & (cuts < shape.high)])


@given(SEEDS)
def test_a_density_integrates_to_one_minus_its_points(seed: int) -> None:
    shape = random_shape(seed)
    ends = np.array([shape.low, shape.high])
    assert quadrature(shape, ends) == pytest.approx(1 - sum(shape.points.values()), abs=1e-6)


@given(SEEDS)
def test_log_densities_equal_their_twins(seed: int) -> None:
    shape = random_shape(seed)
    rng = np.random.default_rng(seed)
    span = shape.high - shape.low
    values = np.concatenate(
        (
            shape.edges,
            shape.point_values,
            rng.uniform(shape.low, shape.high, 20),
            [shape.low - span, shape.high + span],
        )
    )
    slow = [slow_log_density(shape, value) for value in values.tolist()]
    assert shape.log_density(values) == pytest.approx(slow, abs=1e-9)


@given(SEEDS)
def test_distributions_equal_their_twins(seed: int) -> None:
    shape = random_shape(seed)
    rng = np.random.default_rng(seed)
    values = np.concatenate((shape.edges, shape.point_values, rng.uniform(shape.low, shape.high, 20)))
    slow = [slow_distribution(shape, value) for value in values.tolist()]
    assert shape.distribution(values) == pytest.approx(slow, abs=1e-12)
    assert shape.distribution([shape.low - 1, shape.high + 1]) == pytest.approx([0.0, 1.0])


def test_a_point_at_the_end_of_the_range_is_not_beyond_it() -> None:
    assert np.exp(WITH_POINTS.log_density([-1e-9, 0.0, 4.0, 5.0])) == pytest.approx([0.2, 0.25, 0.175, 0.1])
    assert WITH_POINTS.distribution([-1e-9, 0.0, 4.0]) == pytest.approx([0.0, 0.25, 1.0])


@pytest.mark.parametrize("shape", [UNIFORM, WITH_POINTS])
def test_scalars_have_the_values_of_lists(shape: Shape) -> None:
    for function in (shape.log_density, shape.distribution, shape.quantile):
        for value in (-1.0, 0.0, 0.3, 1.0, 5.0):
            single = function(value)
            assert np.shape(single) == ()
            assert float(single) == function([value])[0]


@pytest.mark.long
@given(SEEDS)
def test_quantiles_equal_bisection(seed: int) -> None:
    shape = random_shape(seed)
    probabilities = np.random.default_rng(seed).random(20)
    slow = [slow_quantile(shape, p) for p in probabilities.tolist()]
    assert shape.quantile(probabilities) == pytest.approx(slow, abs=1e-9 * (shape.high - shape.low), rel=1e-9)
    assert shape.quantile([-1.0, 0.0]).tolist() == [shape.low, shape.low]
    assert shape.quantile([1.0, 2.0]) == pytest.approx([shape.high, shape.high], rel=1e-12)


@given(SEEDS)
def test_quantile_and_distribution_are_inverse(seed: int) -> None:
    shape = random_shape(seed)
    rng = np.random.default_rng(seed)
    values = rng.uniform(shape.low, shape.high, 50)
    assert shape.quantile(shape.distribution(values)) == pytest.approx(
        values, abs=1e-9 * (shape.high - shape.low)
    )
    probabilities = np.sort(rng.random(50))
    at_quantiles = shape.distribution(shape.quantile(probabilities))
    assert (at_quantiles >= probabilities - 1e-12).all()
    is_point = np.isin(shape.quantile(probabilities), shape.point_values)
    assert at_quantiles[~is_point] == pytest.approx(probabilities[~is_point], abs=1e-12)
    assert (np.diff(shape.quantile(probabilities)) >= 0).all()


def test_quantiles_stay_at_a_point_for_all_of_its_probability() -> None:
    at = [0.0, 0.1, 0.2499, 0.26, 0.4, 0.45, 0.5249, 0.53, 0.8249, 0.83, 1.0]
    values = WITH_POINTS.quantile(at)
    assert values[:3].tolist() == [0.0, 0.0, 0.0]
    assert 0.0 < values[3] < 1.0
    assert values[[5, 6]].tolist() == [1.0, 1.0]
    assert values[7] > 1.0
    assert values[8] < 4.0
    assert values[[9, 10]].tolist() == [4.0, 4.0]


@given(SEEDS)
def test_masses_of_bins_equal_their_twins_and_sum_to_one(seed: int) -> None:
    shape = random_shape(seed)
    cuts = random_cuts(shape, seed)
    ends = [shape.low, *cuts.tolist(), shape.high]
    masses = shape.bin_masses(cuts)
    assert masses == pytest.approx([slow_mass(shape, a, b) for a, b in itertools.pairwise(ends)], abs=1e-12)
    assert masses.sum() == pytest.approx(1.0, abs=1e-12)


@given(SEEDS)
@settings(max_examples=40)
def test_the_density_inside_every_bin_integrates_to_one(seed: int) -> None:
    shape = random_shape(seed)
    cuts = random_cuts(shape, seed)
    ends = np.concatenate(([shape.low], cuts, [shape.high]))
    masses = quadrature(shape, ends)
    for code, (low, high) in enumerate(itertools.pairwise(ends)):
        points = [v for v in shape.points if low < v <= high or v == low == shape.low]
        # the same factor for all values of a bin
        inside = np.append(low + (high - low) * np.array([0.3, 0.7]), points)
        factors = np.exp(shape.log_inside(inside, cuts) - shape.log_density(inside))
        assert np.ptp(factors) < 1e-9 * factors[0]
        total = masses[code] + sum(shape.points[v] for v in points)
        assert factors[0] * total == pytest.approx(1.0, abs=1e-6)


def test_a_point_at_a_cut_belongs_to_the_lower_bin() -> None:
    cuts = np.array([1.0])
    assert WITH_POINTS.bin_masses(cuts) == pytest.approx([0.525, 0.475])
    inside = np.exp(WITH_POINTS.log_inside(np.array([0.0, 1.0, 4.0]), cuts))
    assert inside == pytest.approx([0.25 / 0.525, 0.125 / 0.525, 0.175 / 0.475])


def test_bins_between_neighbouring_floats_have_a_mass_above_zero() -> None:
    cuts = np.array([1.0, np.nextafter(1.0, 2.0), 3.0])
    flat = Shape([0.0, 4.0], [0.1], [0.1], {0.0: 0.9})
    assert np.diff(flat.distribution(cuts))[0] == 0
    for shape in (UNIFORM, flat):
        assert (shape.bin_masses(cuts) > 0).all()
        assert np.isfinite(shape.log_inside(cuts, cuts)).all()


@given(SEEDS, st.sampled_from([1.0, 1e-300, 1e290]))
def test_values_inside_bins_stay_in_them(seed: int, scale: float) -> None:
    shape = random_shape(seed, scale=scale)
    cuts = random_cuts(shape, seed)
    codes = np.repeat(np.arange(len(cuts) + 1), 6)
    shares = np.tile([0.0, 1e-17, 0.3, 0.7, 1 - 1e-16, 1.0], len(cuts) + 1)
    values = shape.inside(codes, cuts, shares)
    assert np.searchsorted(cuts, values, side="left").tolist() == codes.tolist()
    assert (values >= shape.low).all()
    assert (values <= shape.high).all()


def test_values_inside_a_bin_between_neighbouring_floats_are_its_upper_end() -> None:
    low = 1.0
    cuts = np.array([low, np.nextafter(low, 2)])
    values = UNIFORM.inside(np.ones(5, np.int64), cuts, np.linspace(0, 1, 5))
    assert set(values.tolist()) == {cuts[1]}


def test_values_inside_bins_follow_the_density() -> None:
    rng = np.random.default_rng(3)
    for seed in range(5):
        shape = random_shape(seed)
        cuts = random_cuts(shape, seed + 1)
        codes = rng.choice(len(cuts) + 1, 4000, p=shape.bin_masses(cuts) / shape.bin_masses(cuts).sum())
        values = shape.inside(codes, cuts, rng.random(4000))
        counts = [(values == point).mean() for point in shape.points]
        assert counts == pytest.approx(list(shape.points.values()), abs=0.03)
        # without points the distribution function is continuous
        smooth = Shape(
            shape.edges,
            shape.left / (1 - sum(shape.points.values())),
            shape.right / (1 - sum(shape.points.values())),
        )
        others = values[~np.isin(values, shape.point_values)]
        assert kstest(smooth.distribution(others), "uniform").pvalue > 0.001


@pytest.mark.parametrize(
    "edges",
    [
        [-1e300, 1e300],
        [0.0, 1e-300, 2e-300],
        [1.0, np.nextafter(1.0, 2.0)],
        [0.0, 5e-324],
        [1e15, 1e15 + 0.5, 1e15 + 1],
        [0, 3, 4],
    ],
)
def test_shapes_of_any_scale_are_distributions(edges: list[float]) -> None:
    n = len(edges) - 1
    shape = Shape(edges, np.ones(n), np.ones(n))
    assert shape.distribution(edges) == pytest.approx(
        [(e - edges[0]) / (edges[-1] - edges[0]) for e in edges]
    )
    assert np.isfinite(shape.log_density(np.array(edges, np.float64))).all()
    assert shape.quantile(shape.distribution(edges)) == pytest.approx(edges)
    assert shape.edges.dtype == np.float64
    assert Shape.from_content(json.loads(json.dumps(shape.to_content()))) == shape


@given(SEEDS)
def test_json_gives_back_every_bit(seed: int) -> None:
    shape = random_shape(seed)
    back = Shape.from_content(json.loads(json.dumps(shape.to_content())))
    for name in ("edges", "left", "right", "point_values", "point_masses"):
        assert getattr(back, name).tobytes() == getattr(shape, name).tobytes()
    assert back == shape
    assert hash(back) == hash(shape)


def test_shapes_without_points_have_no_field_for_them() -> None:
    assert UNIFORM.to_content() == {"edges": [0.0, 4.0], "left": [1.0], "right": [1.0]}
    assert WITH_POINTS.to_content()["points"] == [[0.0, 0.25], [1.0, 0.125], [4.0, 0.175]]


def test_equality_goes_by_content() -> None:
    assert Shape([0, 4], [1], [1]) == UNIFORM
    assert Shape([0, 4], [1], [1], {}) == UNIFORM
    assert UNIFORM != WITH_POINTS
    assert Shape([0, 4], [0.5], [0.5], {1.0: 0.5}) != Shape([0, 4], [0.5], [0.5], {2.0: 0.5})
    assert Shape([0, 4], [0.5], [1.5]) != UNIFORM
    assert UNIFORM != "shape"
    # 0 and -0 are equal
    assert Shape([-0.0, 4], [1], [1]) == UNIFORM
    assert hash(Shape([-0.0, 4], [1], [1])) == hash(UNIFORM)


def test_copies_are_equal_and_read_only() -> None:
    for copied in (pickle.loads(pickle.dumps(WITH_POINTS)), copy.deepcopy(WITH_POINTS)):
        assert copied == WITH_POINTS
        for array in (copied.edges, copied.left, copied.right, copied.point_values, copied.point_masses):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0.5


def test_points_are_sorted_by_value() -> None:
    shape = Shape([0, 4], [0.5], [0.5], {3.0: 0.2, 1.0: 0.3})
    assert list(shape.points.items()) == [(1.0, 0.3), (3.0, 0.2)]


def test_the_text_of_a_shape_says_its_range() -> None:
    assert repr(UNIFORM) == "Shape(1 pieces from 0 to 4)"
    assert repr(WITH_POINTS) == "Shape(2 pieces from 0 to 4, 3 point masses)"


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (([0.0], [], []), "1 to 64 pieces with one edge more than heights, got 1 edges, 0 left and 0 right"),
        (([0.0, 1.0], [1.0], [1.0, 1.0]), "got 2 edges, 1 left and 2 right heights"),
        ((np.arange(MOST_PIECES + 2), np.ones(MOST_PIECES + 1), np.ones(MOST_PIECES + 1)), "got 66 edges"),
        (([0.0, 0.0], [1.0], [1.0]), r"edges of a shape must increase strictly, got \[0.0, 0.0\]"),
        (([1.0, 0.0], [1.0], [1.0]), "must increase strictly"),
        (([-1.7e308, 1.7e308], [1.0], [1.0]), r"range of a shape must be finite, got edges from -1.7e\+308"),
        (([0.0, 1.0], [0.0], [2.0]), "heights of a shape must be above 0"),
        (([0.0, 1.0], [2.0], [-1.0]), "heights of a shape must be above 0"),
        (([0.0, 1.0], [1.0], [1.1]), "total probability 1, got 1.05"),
        (([0.0, 1.0], [1.0], [1.0], {0.5: 0.1}), "total probability 1, got 1.1"),
        (
            ([0.0, 1.0], [0.9], [0.9], {1.5: 0.1}),
            r"points of a shape must lie in its range .* got \{1.5: 0.1\}",
        ),
        (([0.0, 1.0], [0.9], [0.9], {-0.5: 0.1}), "points of a shape must lie in its range"),
        (([0.0, 1.0], [1.1], [1.1], {0.5: -0.1}), "have probabilities above 0"),
        (([0.0, 1.0], [0.9], [0.9], {"a": 0.1}), r"points of a shape must be numbers, got \['a'\]"),
        (([0.0, 1.0], [0.9], [0.9], {0.5: np.nan}), "points of a shape must be a list of finite numbers"),
        (
            ([0.0, 1.0], [0.9], [0.9], [0.1]),
            r"points of a shape must map values to probabilities, got \[0.1\]",
        ),
        (
            ([0.0, np.inf], [1.0], [1.0]),
            r"edges of a shape must be a list of finite numbers, got \[0.0, inf\]",
        ),
        ((["a", "b"], [1.0], [1.0]), r"edges of a shape must be numbers, got \['a', 'b'\]"),
        (([0.0, 1.0], [[1.0]], [1.0]), r"left of a shape must be a list of finite numbers, got \[\[1.0\]\]"),
        (([0, 10**400], [1.0], [1.0]), "edges of a shape must be numbers"),
    ],
)
def test_parts_that_are_no_distribution_are_refused(parts: tuple[Any, ...], message: str) -> None:
    with pytest.raises(GomeaBnError, match=message):
        Shape(*parts)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "A shape must be an object, got list"),
        ({"edges": [0, 1], "left": [1]}, "A shape must have a field 'right'"),
        (
            {"edges": [0, 1], "left": [1], "right": [1], "points": {}},
            r"pairs of value and probability, got \{\}",
        ),
        ({"edges": [0, 1], "left": [1], "right": [1], "points": [[1]]}, r"pairs .* got \[\[1\]\]"),
        (
            {"edges": [0, 1], "left": [0.8], "right": [0.8], "points": [[1, 0.1], [1.0, 0.1]]},
            r"points of a shape must differ, got \[1.0, 1.0\]",
        ),
        (
            {"edges": [0, 1], "left": [1], "right": [1], "points": [["a", 0]]},
            "points of a shape must be a list of finite numbers",
        ),
        (
            {"edges": [0, 1], "left": [0.9], "right": [0.9], "points": [["0", 0.1]]},
            r"points of a shape must be a list of finite numbers, got \['0', 0.1\]",
        ),
        (
            {"edges": ["0", "1"], "left": [1], "right": [1]},
            r"edges of a shape must be a list of finite numbers, got \['0', '1'\]",
        ),
        (
            {"edges": [False, 1], "left": [1], "right": [1]},
            r"edges of a shape must be a list of finite numbers, got \[False, 1\]",
        ),
        (
            {"edges": [0, 1], "left": "1", "right": [1]},
            "left of a shape must be a list of finite numbers, got '1'",
        ),
        (
            {"edges": [0, None], "left": [1], "right": [1]},
            "edges of a shape must be a list of finite numbers",
        ),
    ],
)
def test_content_that_is_no_shape_is_refused(content: Any, message: str) -> None:
    with pytest.raises(GomeaBnError, match=message):
        Shape.from_content(content)


def test_rounded_parts_are_accepted() -> None:
    assert Shape([0.0, 1.0], [1.0000004], [1.0000004]).bin_masses(np.array([0.5])).sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("shape", "uniform", "shaped", "measures"),
    [
        (UNIFORM, True, True, (False, True)),
        (UNIFORM, False, True, (True,)),
        (UNIFORM, True, False, (False,)),
        (WITH_POINTS, True, True, (True,)),
        (WITH_POINTS, True, False, (False,)),
    ],
)
def test_point_masses_exclude_uniform_bins(
    shape: Shape, uniform: bool, shaped: bool, measures: tuple[bool, ...]
) -> None:
    assert ColumnShape(shape, 0.0, 0.1, uniform, shaped).measures == measures
