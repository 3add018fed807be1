"""Lines of families: densities against quadrature and SciPy, samples against densities, and parts that are refused."""

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.stats import kstest, norm
from scipy.stats import t as student
from shape_oracles import random_shape, slow_distribution

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.conditionals import FamilyLine
from gomea_bn.network.conditionals.family import Columns, Family, TableSet
from gomea_bn.network.conditionals.family_line import LineTerms, log_line_density
from gomea_bn.network.conditionals.line_scales import ProbabilityScale, UnitScale
from gomea_bn.problems.cuts.shape import Shape

FLAT = ProbabilityScale(Shape([0.0, 1.0], [1.0], [1.0]), 100)


def two_groups(weight: float = 0.4, **parts: Any) -> FamilyLine:
    """Return a line with two parents, and two groups that differ in everything."""
    content: dict[str, Any] = {
        "coefficients": np.array([[0.1, 0.6, -0.3], [-0.5, 0.0, 0.8]]),
        "scales": np.array([0.5, 0.2]),
        "freedom": np.array([40.0, 4.0]),
        **parts,
    }
    return FamilyLine(weight, ("a", "b"), ("g",), **content)


def content_with(**parts: object) -> dict[str, Any]:
    return {**two_groups().to_content(), **parts}


# ---------------------------------------------------------------- scales


@given(st.integers(0, 5000), st.integers(2, 2000))
def test_the_scale_is_the_normal_quantile_of_the_shape(seed, n_rows):
    shape = random_shape(seed)
    scale = ProbabilityScale(shape, n_rows)
    values = np.concatenate(
        (
            np.random.default_rng(seed).uniform(shape.low - 1, shape.high + 1, 10),
            shape.edges,
            shape.point_values,
        )
    )
    for value, z in zip(values.tolist(), scale.of_values(values).tolist(), strict=True):
        inside = min(max(value, shape.low), shape.high)
        share = slow_distribution(shape, inside) - shape.points.get(inside, 0.0) / 2
        assert z == pytest.approx(norm.ppf((n_rows * share + 0.5) / (n_rows + 1)), abs=1e-6)
        assert scale.low - 1e-9 <= z <= scale.high + 1e-9
    assert scale.low == pytest.approx(-scale.high) == pytest.approx(norm.ppf(0.5 / (n_rows + 1)))


@given(st.integers(0, 5000), st.integers(2, 2000))
def test_values_come_back_from_the_scale(seed, n_rows):
    shape = random_shape(seed)
    scale = ProbabilityScale(shape, n_rows)
    values = np.random.default_rng(seed).uniform(shape.low, shape.high, 20)
    back = scale.values_of(scale.of_values(values))
    np.testing.assert_allclose(back, values, rtol=0, atol=1e-7 * (shape.high - shape.low))
    points = shape.point_values
    np.testing.assert_array_equal(scale.values_of(scale.of_values(points)), points)
    ends = scale.values_of(np.array([scale.low, scale.high, -40.0, 40.0]))
    assert ends.tolist() == pytest.approx([shape.low, shape.high] * 2)


@given(st.integers(0, 5000), st.integers(2, 2000))
def test_the_slope_is_the_derivative_of_the_scale(seed, n_rows):
    shape = random_shape(seed)
    scale = ProbabilityScale(shape, n_rows)
    shares = np.random.default_rng(seed).uniform(0.2, 0.8, len(shape.left))
    values = shape.edges[:-1] + shares * np.diff(shape.edges)
    # without a point mass between the two places
    step = 1e-4 * np.diff(shape.edges)
    apart = np.abs(values[:, None] - shape.point_values[None, :]).min(axis=1, initial=np.inf) > step
    values, step = values[apart], step[apart]
    slopes = (scale.of_values(values + step) - scale.of_values(values - step)) / (2 * step)
    np.testing.assert_allclose(np.exp(scale.log_slope(values, scale.of_values(values))), slopes, rtol=1e-5)


# ---------------------------------------------------------------- densities


def mean_of(line: FamilyLine, parents: list[float], group: int) -> float:
    """Return the centre of a line of two parents."""
    intercept, first, second = line.coefficients[group].tolist()
    return float(intercept + first * parents[0] + second * parents[1])


@pytest.mark.parametrize(
    "parents", [[0.0, 0.0], [1.5, -2.0], [2.5, 2.5], [-2.5, -2.5], [40.0, 0.0], [-40.0, 0.0]]
)
@pytest.mark.parametrize("group", [0, 1])
@pytest.mark.parametrize("width", [None, 1e-3])
def test_the_density_integrates_to_one_wherever_the_centre_is(parents, group, width):
    line = two_groups()
    mean, scale = mean_of(line, parents, group), width or float(line.scales[group])

    def density(z: float) -> float:
        logs = log_line_density(np.array([z]), np.array([mean]), np.array([scale]), line.freedom[group], FLAT)
        return math.exp(float(logs[0]))

    centre = min(max(mean, FLAT.low), FLAT.high)
    near = [centre + k * scale for k in (-20, -5, -1, 0, 1, 5, 20)]
    breaks = sorted({FLAT.low, *(z for z in near if FLAT.low < z < FLAT.high), FLAT.high})
    total = math.fsum(quad(density, a, b)[0] for a, b in itertools.pairwise(breaks))
    assert total == pytest.approx(1.0, abs=1e-6)


@given(st.integers(0, 5000))
def test_the_density_is_that_of_a_truncated_student_distribution(seed):
    rng = np.random.default_rng(seed)
    means, scales, freedom = rng.uniform(-1, 1, 5), rng.uniform(0.1, 1, 5), rng.uniform(1, 40, 5)
    z = rng.uniform(FLAT.low, FLAT.high, 5)
    logs = log_line_density(z, means, scales, freedom, FLAT)
    for k in range(5):
        law = student(freedom[k], means[k], scales[k])
        mass = law.cdf(FLAT.high) - law.cdf(FLAT.low)
        assert logs[k] == pytest.approx(law.logpdf(z[k]) - math.log(mass), abs=1e-9)


def family_of(line: FamilyLine) -> Family:
    """Return the family of "y" that is a line, but for a table of weight 1e-12, on the scale of the unit interval."""
    line = FamilyLine(1 - 1e-12, line.parents, line.groups, line.coefficients, line.scales, line.freedom)
    tables = TableSet({"y": np.empty(0)}, {"y": ()}, {"y": np.ones(1)})
    scales = dict.fromkeys(("a", "b", "y"), FLAT)
    return Family("y", [tables], support=(0.0, 1.0), line=line, scales=scales, n_levels={"g": 2})


def drawn_places(line: FamilyLine, parents: list[float], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return places of draws given places of the parents inside the range."""
    n = len(groups)
    values = {name: np.full(n, FLAT.values_of(np.array([z]))) for name, z in zip("ab", parents, strict=True)}
    drawn = family_of(line).draw(Columns({**values, "g": groups}), n, np.random.default_rng(3))
    assert ((drawn >= 0) & (drawn <= 1)).all()
    return FLAT.of_values(drawn)


@pytest.mark.parametrize("parents", [[0.0, 0.0], [2.5, -2.5], [2.5, 2.0]])
@pytest.mark.parametrize("group", [0, 1])
def test_draws_follow_the_density(parents, group):
    line = two_groups()
    drawn = drawn_places(line, parents, np.full(2000, group))
    mean = min(max(mean_of(line, parents, group), FLAT.low), FLAT.high)
    law = student(line.freedom[group], mean, line.scales[group])
    low, high = law.cdf(FLAT.low), law.cdf(FLAT.high)
    assert kstest(drawn, lambda z: (law.cdf(z) - low) / (high - low)).pvalue > 1e-4


def test_draws_of_a_centre_beyond_the_range_are_at_the_end_that_is_nearer():
    line = two_groups(coefficients=np.array([[30.0, 0, 0], [-30.0, 0, 0]]), scales=np.full(2, 1e-3))
    groups = np.array([0, 1, 0, 1])
    drawn = drawn_places(line, [0.0, 0.0], groups)
    np.testing.assert_allclose(drawn, np.where(groups == 0, FLAT.high, FLAT.low), atol=0.02)


# ---------------------------------------------------------------- parts


@pytest.mark.parametrize(
    "parts",
    [
        {"scales": np.array([0.5, 0.0])},
        {"scales": np.array([0.5, -1.0])},
        {"scales": np.array([0.5, math.inf])},
        {"scales": np.array([0.5])},
        {"scales": np.array(0.5)},
        {"freedom": np.array([4.0, 0.0])},
        {"freedom": np.array([4.0, math.nan])},
        {"freedom": np.array([4.0, 4.0, 4.0])},
        {"coefficients": np.zeros((2, 2))},
        {"knots": (np.zeros(1),)},
        {"knots": (np.zeros(1), np.zeros(1))},
        {"has_products": True},
        {"coefficients": np.zeros((2, 4)), "knots": (np.array([math.nan]), np.empty(0))},
        {"coefficients": np.zeros((1, 3))},
        {"coefficients": np.full((2, 3), math.nan)},
        {"coefficients": np.zeros(3)},
        {"coefficients": np.zeros((0, 3)), "scales": np.zeros(0), "freedom": np.zeros(0)},
        {"weight": 0.0},
        {"weight": 1.0},
        {"weight": math.nan},
    ],
)
def test_wrong_parts_are_refused(parts):
    with pytest.raises(
        GomeaBnError, match="A line must have a weight between 0 and 1, at least one continuous"
    ):
        two_groups(**parts)


def test_a_line_needs_a_parent():
    with pytest.raises(GomeaBnError, match="at least one continuous parent"):
        FamilyLine(0.5, (), (), np.zeros((1, 1)), np.ones(1), np.ones(1))


def test_the_parts_are_read_only_copies():
    scales: NDArray[np.float64] = np.array([0.5, 0.2])
    line = two_groups(scales=scales)
    scales[0] = 9.0
    assert line.scales.tolist() == [0.5, 0.2]
    for part in (line.coefficients, line.scales, line.freedom):
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 1.0
    with pytest.raises(AttributeError):
        line.weight = 0.5  # type: ignore[misc]


def test_the_content_gives_the_same_line():
    line = two_groups(0.1 + 0.2, scales=np.array([1 / 3, 1e-3]))
    again = FamilyLine.from_content(json.loads(json.dumps(line.to_content())))
    assert (again.weight, again.parents, again.groups) == (line.weight, ("a", "b"), ("g",))
    for part in ("coefficients", "scales", "freedom"):
        np.testing.assert_array_equal(getattr(again, part), getattr(line, part), strict=True)


def test_the_terms_of_a_surface_are_positions_curves_and_products():
    terms = LineTerms((np.array([-0.5, 0.5]), np.array([0.0])), has_products=True)
    assert (terms.kind, terms.words) == ("surface", "a surface")
    positions = np.random.default_rng(0).normal(size=(20, 2))
    for (x, y), found in zip(positions.tolist(), terms.of_rows(positions), strict=True):
        curves = [max(x + 0.5, 0), max(x - 0.5, 0), max(y, 0)]
        assert found.tolist() == pytest.approx([x, y, *curves, x * x, x * y, y * y])


def test_products_of_curves_follow_the_products_of_positions():
    terms = LineTerms((np.array([0.2]), np.empty(0)), True, (np.array([-0.5, 0.5]), np.array([0.0])))
    positions = np.random.default_rng(0).normal(size=(20, 2))
    for (x, y), found in zip(positions.tolist(), terms.of_rows(positions), strict=True):
        low, high, up = max(x + 0.5, 0), max(x - 0.5, 0), max(y, 0)
        products = [x * up, low * y, low * up, high * y, high * up]
        assert found.tolist() == pytest.approx([x, y, max(x - 0.2, 0), x * x, x * y, y * y, *products])
    assert (terms.n_terms, terms.kind) == (11, "surface")
    three = LineTerms((np.empty(0),) * 3, True, (np.array([1.0]),) * 3)
    assert three.n_terms == 3 + 6 + 3 * 3


@pytest.mark.parametrize(
    ("knots", "has_products", "product_knots", "n_terms", "kind"),
    [
        ((), False, (), 2, "line"),
        (([0.0], []), False, (), 3, "curve"),
        ((), True, (), 5, "surface"),
        (([0.0], [1.0, 2.0]), True, (), 8, "surface"),
        (([0.0], []), True, ([], [0.5]), 7, "surface"),
    ],
)
def test_the_kind_of_terms_and_their_content(knots, has_products, product_knots, n_terms, kind):
    line = two_groups(
        coefficients=np.ones((2, n_terms + 1)),
        knots=tuple(map(np.array, knots)),
        has_products=has_products,
        in_units=True,
        product_knots=tuple(map(np.array, product_knots)),
    )
    assert (line.terms.n_terms, line.terms.kind) == (n_terms, kind)
    again = FamilyLine.from_content(json.loads(json.dumps(line.to_content())))
    assert again.in_units
    assert again.has_products == has_products
    assert [part.tolist() for part in again.knots] == [part.tolist() for part in line.knots]
    assert [part.tolist() for part in again.product_knots] == [part.tolist() for part in line.product_knots]
    assert ("product_knots" in line.to_content()) == bool(product_knots)
    plain = FamilyLine.from_content(two_groups().to_content())
    assert not plain.in_units
    assert set(plain.to_content()) == {"weight", "parents", "groups", "coefficients", "scales", "freedom"}


@given(st.floats(-50, 50), st.floats(0.01, 30))
def test_own_units_are_an_affine_scale(centre, spread):
    scale = UnitScale(centre, spread, (centre - 3 * spread, centre + spread))
    values = centre + spread * np.array([-3.0, -1.5, 0.0, 1.0])
    z = scale.of_values(values)
    np.testing.assert_allclose(z, [-3, -1.5, 0, 1], atol=1e-9)
    np.testing.assert_allclose(scale.values_of(z), values, rtol=1e-9, atol=1e-9)
    step = 1e-3 * spread
    slopes = (scale.of_values(values[1:3] + step) - z[1:3]) / step
    np.testing.assert_allclose(scale.log_slope(values[1:3], z[1:3]), np.log(slopes), atol=1e-6)
    assert scale.of_values(np.array([centre + 9 * spread])).tolist() == pytest.approx([1.0])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (5, "A line must be an object with the fields weight, parents, groups"),
        ({"weight": 0.5}, "A line must be an object with the fields weight, parents, groups"),
        (content_with(parents=5), "The parents of a line must be a list of names, got 5"),
        (content_with(parents="ab"), "The parents of a line must be a list of names, got 'ab'"),
        (content_with(groups=[1]), r"The groups of a line must be a list of names, got \[1\]"),
        (content_with(groups=None), "The groups of a line must be a list of names, got None"),
        (content_with(weight="much"), "The parts of a line must be numbers"),
        (content_with(weight=None), "The parts of a line must be numbers"),
        (content_with(scales=["x", 1]), "The parts of a line must be numbers"),
        (content_with(scales={}), "The parts of a line must be numbers"),
        (content_with(coefficients=[[1, [2]]]), "The parts of a line must be numbers"),
        (content_with(freedom=[None, 1]), "A line must have a weight between 0 and 1"),
        (content_with(scales=0.5), "A line must have a weight between 0 and 1"),
        (content_with(knots=5), "The knots of a line must be a list of lists"),
        (content_with(product_knots={}), "The product_knots of a line must be a list of lists"),
        (content_with(product_knots=[[0.5], []]), "A line must have a weight between 0 and 1"),
        (content_with(knots=[["x"], []]), "The parts of a line must be numbers"),
        (content_with(in_units=1), "has_products and in_units of a line must be true or false"),
        (content_with(weight=1), "A line must have a weight between 0 and 1"),
    ],
)
def test_damaged_content_is_refused(content, message):
    with pytest.raises(GomeaBnError, match=message):
        FamilyLine.from_content(content)
