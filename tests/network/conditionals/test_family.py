"""Families and their lines: densities against slow twins, quadrature and SciPy, cells, tables and refused parts."""

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from averaged_examples import conditionals_of, lines_of
from conditional_oracles import (
    PARENTS,
    random_conditionals_network,
    random_rows,
    random_transform,
    slow_density,
    with_levels,
)
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.stats import kstest, norm
from scipy.stats import t as student
from shape_oracles import random_shape, slow_distribution

from gomea_bn import DiscretizedBayesNet, GomeaBnError, Shape
from gomea_bn.network.conditionals import FamilyLine
from gomea_bn.network.conditionals.basis import LEAST_SPREAD, LineTerms
from gomea_bn.network.conditionals.conditionals import cell_middles, table_over_grid, table_over_rows
from gomea_bn.network.conditionals.family import Family, Stack
from gomea_bn.network.conditionals.family_line import log_line_density
from gomea_bn.network.conditionals.family_table import CutTable, FamilyTable
from gomea_bn.network.conditionals.kind import ColumnFacts
from gomea_bn.network.conditionals.scales import Columns, ProbabilityScale, TransformedScale, UnitScale

SEEDS = st.integers(0, 5000)


@given(SEEDS)
def test_the_log_density_is_that_of_a_slow_twin(seed):
    network = random_conditionals_network(seed)
    rows = random_rows(network, 12, seed)
    for name in network.names:
        logs = np.broadcast_to(network.families[name].log_density(Columns(rows)), 12)
        expected = [math.log(slow_density(network, name, row)) for row in with_levels(network, rows)]
        np.testing.assert_allclose(logs, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.long
@given(SEEDS)
def test_tables_over_rows_are_means_over_the_rows_of_a_cell_and_its_middle(seed):
    network = random_conditionals_network(seed)
    rows, cuts = random_rows(network, 15, seed), network.cut_points
    grid = table_over_grid(network, "y", cuts)
    table = table_over_rows(network, "y", cuts, rows)
    family = network.families["y"]
    middles = {
        name: cell_middles(cuts[name], network.support[name], network.shapes.get(name)) for name in ("x", "w")
    }
    assert table.shape == grid.shape == tuple(network.cardinality(name) for name in network.names)
    for i, j, level in itertools.product(*map(range, table.shape[:-1])):
        place = {"x": middles["x"][i], "w": middles["w"][j], "g": np.int32(level)}
        at_middle = family.masses(cuts["y"], Columns({name: np.array([v]) for name, v in place.items()}))[0]
        np.testing.assert_allclose(grid[i, j, level], at_middle, atol=1e-12)
        parts = [at_middle]
        for k in range(15):
            codes = [sum(cut < rows[name][k] for cut in cuts[name].tolist()) for name in ("x", "w")]
            if codes == [i, j] and rows["g"][k] == level:
                row = {name: rows[name][k : k + 1] for name in PARENTS}
                parts.append(family.masses(cuts["y"], Columns(row))[0])
        np.testing.assert_allclose(table[i, j, level], np.mean(parts, axis=0), atol=1e-12)
    for name in PARENTS:
        np.testing.assert_allclose(
            table_over_rows(network, name, cuts, rows), table_over_grid(network, name, cuts)
        )


@given(SEEDS)
def test_the_middle_of_a_cell_halves_its_probability(seed):
    network = random_conditionals_network(seed)
    for name in ("x", "w"):
        shape, (low, high) = network.shapes.get(name), network.support[name]
        cuts = network.cut_points[name]
        middles = cell_middles(cuts, (low, high), shape)
        edges = np.concatenate([[low], cuts, [high]])
        assert ((middles >= edges[:-1]) & (middles <= edges[1:])).all()
        if shape is None:
            np.testing.assert_allclose(middles, (edges[:-1] + edges[1:]) / 2)
            continue
        below = shape.distribution(middles) - np.where(edges[:-1] > low, shape.distribution(edges[:-1]), 0.0)
        masses = shape.bin_masses(cuts)
        points = shape.point_masses.max(initial=0.0)
        assert (below >= masses / 2 - 1e-9).all()
        assert (below <= masses / 2 + points + 1e-9).all()


@pytest.mark.parametrize("parent", ["x", "w"])
def test_a_cell_of_a_parent_spreads_the_centre_of_products_over_an_interval(parent):
    rng = np.random.default_rng(0)
    terms = LineTerms((np.array([0.1]), np.empty(0)), True, (np.array([-0.5, 0.4]), np.array([0.2])))
    coefficients = rng.normal(size=(1, terms.n_terms + 1))
    line = FamilyLine(
        ("x", "w"), (), coefficients, np.array([0.0003]), np.array([5.0]), terms.knots, True, True,
        product_knots=terms.product_knots,
    )  # fmt: skip
    support = (-1000.0, 1000.0)
    scales = dict.fromkeys("xwy", UnitScale(0.0, 1.0, support))
    stack = Stack.of(FamilyTable((CutTable((), np.empty(0), {}, np.ones(1)),)), line, 0.5)
    family = Family("y", stack, ColumnFacts({"y": support}, {}, {}, {True: scales}))
    # all bends of a parent are outside the cells, so that its centre moves one way
    low, high = np.full(50, 0.45), np.full(50, 0.8)
    values = {name: rng.uniform(-2, 2, 50) for name in "xw"}
    values[parent] = (low + high) / 2

    def centre(of_parent: NDArray[np.float64]) -> NDArray[np.float64]:
        positions = [of_parent if name == parent else values[name] for name in "xw"]
        return np.asarray(
            coefficients[0, 0] + terms.of_rows(np.column_stack(positions)) @ coefficients[0, 1:]
        )

    width = np.abs(centre(high) - centre(low))
    assert (width > LEAST_SPREAD * 0.0003).all()
    values["y"] = centre(values[parent]) + width * rng.uniform(-0.7, 0.7, 50)
    below, above = ((values["y"] - centre(values[parent]) + sign * width / 2) / 0.0003 for sign in (-1, 1))
    expected = 0.5 / 2000 + 0.5 * (student.cdf(above, 5.0) - student.cdf(below, 5.0)) / width
    found = family.log_density(Columns(values, {parent: (low, high)}))
    np.testing.assert_allclose(np.exp(found), expected, rtol=1e-5)


def test_a_column_that_is_set_has_its_value_with_certainty():
    networks = map(random_conditionals_network, itertools.count())
    network = next(each for each in networks if lines_of(each))
    value = float(np.mean(network.support["y"]))
    known = conditionals_of(network).after_intervention({"y": value, "g": 2})
    after = network.do({"y": value, "g": "m"})
    assert after.conditionals == known
    assert {name: known.stacks[name].fixed_value for name in ("y", "g", "x")} == {
        "y": value,
        "g": 2,
        "x": None,
    }
    family, columns = after.families["y"], Columns({"y": np.array([value, value + 1e-3])})
    assert family.stack.words == "100 % an intervention"
    assert family.log_density(columns).tolist() == [0.0, -math.inf]
    assert family.draw(columns, 3, np.random.default_rng(0)).tolist() == [value] * 3
    cuts = np.array([value - 1e-3, value, value + 1e-3])
    assert family.masses(cuts, columns).tolist() == [0.0, 1.0, 0.0, 0.0]
    assert after.families["g"].masses(None, columns).tolist() == [0.0, 0.0, 1.0]
    assert set(after.sample(20, 1)["g"]) == {"m"}
    assert DiscretizedBayesNet.from_json(after.to_json()) == after


FLAT = ProbabilityScale(Shape([0.0, 1.0], [1.0], [1.0]), 100)


def two_groups(**parts: Any) -> FamilyLine:
    """Return a line with two parents, and two groups that differ in everything."""
    content: dict[str, Any] = {
        "coefficients": np.array([[0.1, 0.6, -0.3], [-0.5, 0.0, 0.8]]),
        "scales": np.array([0.5, 0.2]),
        "freedom": np.array([40.0, 4.0]),
        **parts,
    }
    return FamilyLine(("a", "b"), ("g",), **content)


def content_with(**parts: object) -> dict[str, Any]:
    return {**two_groups().to_content(), **parts}


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
    """Return the family of "y" that follows a line alone, on the scale of the unit interval."""
    scales = dict.fromkeys(("a", "b", "y"), FLAT)
    return Family("y", Stack.of(line), ColumnFacts({"y": (0.0, 1.0)}, {}, {"g": 2}, {False: scales}))


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
    ],
)
def test_wrong_parts_are_refused(parts):
    with pytest.raises(GomeaBnError, match="A line must have at least one continuous"):
        two_groups(**parts)


def test_a_line_needs_a_parent():
    with pytest.raises(GomeaBnError, match="at least one continuous parent"):
        FamilyLine((), (), np.zeros((1, 1)), np.ones(1), np.ones(1))


def test_the_parts_are_read_only_copies():
    scales: NDArray[np.float64] = np.array([0.5, 0.2])
    line = two_groups(scales=scales)
    scales[0] = 9.0
    assert line.scales.tolist() == [0.5, 0.2]
    for part in (line.coefficients, line.scales, line.freedom):
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 1.0
    with pytest.raises(AttributeError):
        line.parents = ()  # type: ignore[misc]


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
        coefficients=np.ones((2, n_terms + 1)), knots=tuple(map(np.array, knots)), has_products=has_products,
        in_units=True, product_knots=tuple(map(np.array, product_knots)),
    )  # fmt: skip
    assert (line.terms.n_terms, line.terms.kind) == (n_terms, kind)
    again = FamilyLine.from_content(json.loads(json.dumps(line.to_content())))
    assert again.in_units
    assert again.has_products == has_products
    assert [part.tolist() for part in again.knots] == [part.tolist() for part in line.knots]
    assert [part.tolist() for part in again.product_knots] == [part.tolist() for part in line.product_knots]
    assert ("product_knots" in line.to_content()) == bool(product_knots)
    plain = FamilyLine.from_content(two_groups().to_content())
    assert not plain.in_units
    assert set(plain.to_content()) == {"kind", "parents", "groups", "coefficients", "scales", "freedom"}


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


@given(st.integers(0, 10**6))
def test_a_transformed_scale_goes_there_and_back(seed):
    rng = np.random.default_rng(seed)
    before = UnitScale(1.0, 2.0, (-4.0, 9.0))
    scale = TransformedScale(before, *random_transform(rng))
    values = rng.uniform(-4, 9, (3, 4))
    z = scale.of_values(values)
    np.testing.assert_allclose(scale.values_of(z), values, atol=1e-9)
    np.testing.assert_allclose(scale.upper_ends(values), z)
    order = np.argsort(values.ravel())
    assert (np.diff(z.ravel()[order]) > 0).all()
    assert scale.low < z.min() < z.max() < scale.high
    # the logarithm of the slope is what a range gains
    grid = np.linspace(-4, 9, 100_001)
    middles = (grid[1:] + grid[:-1]) / 2
    slopes = np.exp(scale.log_slope(middles, scale.of_values(middles)))
    assert slopes.mean() * 13 == pytest.approx(scale.high - scale.low, rel=1e-4)
    assert scale.ends_of_points(values) is None


def test_transforms_are_stored_and_belong_to_the_line():
    transform = np.array([[-1.0, 0.0, 2.0], [-3.0, 0.0, 0.5]])
    line = two_groups(transform=transform)
    again = FamilyLine.from_content(json.loads(json.dumps(line.to_content())))
    np.testing.assert_array_equal(again.transform, transform)
    assert again.words == "a line on a scale of its own"
    assert line.n_parameters == two_groups().n_parameters + 3
    with pytest.raises(ValueError, match="read-only"):
        line.transform[0, 0] = 5.0
    plain = UnitScale(0.0, 1.0, (-2.0, 2.0))
    assert two_groups().own_scale(plain) is plain
    assert line.own_scale(plain).of_values(np.array([2.0])).tolist() == pytest.approx([0.5])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (content_with(transform=[[0, 1]]), "transform of a line must have two lists of equal length"),
        (content_with(transform=[[0, 1], [1, 1]]), "of at least two increasing numbers"),
        (content_with(transform=[[0], [1]]), "of at least two increasing numbers"),
        (content_with(transform=[[0, 1], [0, float("inf")]]), "transform of a line must have finite numbers"),
        (content_with(transform="x"), "The parts of a line must be numbers"),
        (5, "A line must be an object with the fields parents, groups"),
        ({"parents": []}, "A line must be an object with the fields parents, groups"),
        (content_with(parents=5), "The parents of a line must be a list of names, got 5"),
        (content_with(parents="ab"), "The parents of a line must be a list of names, got 'ab'"),
        (content_with(groups=[1]), r"The groups of a line must be a list of names, got \[1\]"),
        (content_with(groups=None), "The groups of a line must be a list of names, got None"),
        (content_with(scales=["x", 1]), "The parts of a line must be numbers"),
        (content_with(scales={}), "The parts of a line must be numbers"),
        (content_with(coefficients=[[1, [2]]]), "The parts of a line must be numbers"),
        (content_with(freedom=[None, 1]), "A line must have at least one continuous parent"),
        (content_with(scales=0.5), "A line must have at least one continuous parent"),
        (content_with(knots=5), "The knots of a line must be a list of lists"),
        (content_with(product_knots={}), "The product_knots of a line must be a list of lists"),
        (content_with(product_knots=[[0.5], []]), "A line must have at least one continuous parent"),
        (content_with(knots=[["x"], []]), "The parts of a line must be numbers"),
        (content_with(in_units=1), "in_units of a line must be true or false"),
    ],
)
def test_damaged_content_is_refused(content, message):
    with pytest.raises(GomeaBnError, match=message):
        FamilyLine.from_content(content)
