"""Families and sums of effects: densities against slow twins, quadrature and SciPy, cells, tables, refused parts."""

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
    random_functions,
    random_rows,
    random_terms,
    random_transform,
    slow_density,
    slow_splines,
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
from gomea_bn.network.conditionals import (
    ColumnFacts,
    Columns,
    CutTable,
    Family,
    FamilyEffects,
    FamilyLogit,
    FamilyTable,
    Functions,
    LineScale,
    ProbabilityScale,
    Stack,
    Terms,
    UnitScale,
    broken_line,
    indicators,
    table_over_rows,
)
from gomea_bn.network.conditionals.conditionals import cell_middles, table_over_grid
from gomea_bn.network.conditionals.family_effects import log_density_around
from gomea_bn.network.conditionals.scales import LEAST_SPREAD, TransformedScale
from gomea_bn.network.conditionals.terms import SumOfTerms

SEEDS = st.integers(0, 5000)


@pytest.mark.parametrize("kind", [None, FamilyLogit])
@given(SEEDS)
def test_the_log_density_is_that_of_a_slow_twin(kind, seed):
    network = random_conditionals_network(seed, kind)
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
    bent = {name: broken_line(name, np.array([-2.0, -0.5, 0.4, 2.0]), in_units=True) for name in "xw"}
    terms = Terms(
        tuple(bent.values()), (bent["x"], indicators("g", [2]), bent["w"]), ((0, 2), (1, 0), (2, 2))
    )
    coefficients = rng.normal(size=terms.n_terms + 1)
    effects = FamilyEffects(
        ("x", "w"), ("g",), terms, coefficients, np.array([0.0003]), np.array([5.0]), in_units=True
    )
    support = (-1000.0, 1000.0)
    scales = {True: dict.fromkeys("xwy", UnitScale(0.0, 1.0, support))}
    stack = Stack.of(FamilyTable((CutTable((), np.empty(0), {}, np.ones(1)),)), effects, 0.5)
    family = Family("y", stack, ColumnFacts({"y": support}, {}, {"g": 2}, scales))
    # all kinks of a parent are outside the cells; that of a square lies at its zero
    low, high = np.full(50, 0.45), np.full(50, 0.8)
    values: dict[str, NDArray[Any]] = {name: rng.uniform(-2, 2, 50) for name in "xw"}
    values |= {parent: (low + high) / 2, "g": rng.integers(0, 2, 50)}
    plain = SumOfTerms(terms, coefficients, scales, {"g": 2})

    def centre(of_parent: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(plain.of(Columns({**values, parent: of_parent})))

    width = np.abs(centre(high) - centre(low))
    is_wide = width > LEAST_SPREAD * 0.0003
    assert is_wide.sum() > 45
    middle = centre(values[parent])
    values["y"] = middle + width * rng.uniform(-0.7, 0.7, 50)
    below, above = ((values["y"] - middle + sign * width / 2) / 0.0003 for sign in (-1, 1))
    expected = 0.5 / 2000 + 0.5 * (student.cdf(above, 5.0) - student.cdf(below, 5.0)) / width
    found = family.log_density(Columns(values, {parent: (low, high)}))
    np.testing.assert_allclose(np.exp(found)[is_wide], expected[is_wide], rtol=1e-5)


SCALES: dict[bool, dict[str, LineScale]] = {
    False: {name: ProbabilityScale(random_shape(seed), 80) for seed, name in enumerate("xw")},
    True: {name: UnitScale(0.5, 1.5, (-4.0, 5.0)) for name in "xw"},
}


@given(SEEDS)
def test_a_sum_moves_inside_cells_of_all_parents_by_what_each_moves_it(seed):
    rng = np.random.default_rng(seed)
    terms = random_terms(rng)
    scales = {
        False: {name: UnitScale(0.0, 1.0, (-3.0, 3.0)) for name in "xw"},
        True: {name: UnitScale(0.1, 2.0, (-3.0, 3.0)) for name in "xw"},
    }
    plain = SumOfTerms(terms, rng.normal(size=terms.n_terms + 1), scales, {"g": 3})
    values: dict[str, NDArray[Any]] = {name: rng.uniform(-3, 3, 8) for name in "xw"}
    values["g"] = rng.integers(0, 3, 8)
    ends = {name: (values[name] - rng.uniform(0, 1, 8), values[name] + rng.uniform(0, 1, 8)) for name in "xw"}
    found = [np.broadcast_to(of_parent, 8) for of_parent in plain.moved(Columns(values, ends))]
    expected = []
    for name in "xw":
        at_ends = [np.broadcast_to(plain.of(Columns({**values, name: end})), 8) for end in ends[name]]
        if name in {
            f.of[0] for f in (*terms.functions, *(terms.factors[k] for pair in terms.products for k in pair))
        }:
            expected.append(at_ends[1] - at_ends[0])
    assert len(found) == len(expected)
    # parents come in the order of their functions
    np.testing.assert_allclose(
        sorted(map(tuple, np.round(found, 9))), sorted(map(tuple, np.round(expected, 9))), atol=1e-8
    )


@given(SEEDS)
def test_bends_are_where_the_slope_of_a_sum_jumps(seed):
    rng = np.random.default_rng(seed)
    terms = random_terms(rng, in_units=True)
    scales = {True: {name: UnitScale(0.5, 1.5, (-2.2, 3.0)) for name in "xw"}}
    plain = SumOfTerms(terms, rng.normal(size=terms.n_terms + 1), scales, {"g": 3})
    for name in "xw":
        bends = plain.bends(name)
        low, high = -2.2, 3.0
        assert ((bends > low) & (bends < high)).all()
        # between bends the second differences shrink with the square of the steps
        others = {"w": np.array([0.3]), "x": np.array([-0.2]), "g": np.array([1])}
        for left, right in itertools.pairwise([low, *bends.tolist(), high]):
            place = left + (right - left) * rng.uniform(0.3, 0.7)
            jumps = []
            for step in (1e-3, 1e-4):
                if right - left < 5e-3:
                    continue
                at = np.array([place - step, place, place + step])
                values = np.broadcast_to(plain.of(Columns({**others, name: at})), 3)
                jumps.append(abs(values[2] - 2 * values[1] + values[0]) / step)
            if jumps:
                assert jumps[1] < 0.3 * jumps[0] + 1e-7


@given(SEEDS)
def test_functions_are_those_of_the_recursion_of_de_boor(seed):
    rng = np.random.default_rng(seed)
    functions = random_functions(rng, "x", in_units=False)
    places = np.concatenate([rng.uniform(-4, 4, 20), functions.knots])
    splines = np.array([slow_splines(functions.knots.tolist(), functions.degree, z) for z in places.tolist()])
    np.testing.assert_allclose(splines.sum(axis=1), 1.0)
    np.testing.assert_allclose(functions.at(places), splines @ functions.matrix, atol=1e-10)
    heights = rng.normal(size=(functions.size, 2))
    np.testing.assert_allclose(
        functions.combined(heights).at(places), splines @ functions.matrix @ heights, atol=1e-10
    )
    assert functions.at(np.zeros((0, 3))).shape == (0, 3, functions.size)


@given(SEEDS)
def test_terms_are_functions_and_then_products_in_their_order(seed):
    rng = np.random.default_rng(seed)
    terms = random_terms(rng)
    values = {name: rng.uniform(SCALES[False][name].least, SCALES[False][name].greatest, 6) for name in "xw"}
    columns = Columns({**values, "g": rng.integers(0, 3, 6)})
    rows = terms.of_rows(columns, SCALES, {"g": 3})
    assert rows.shape == (6, terms.n_terms)

    def of(part: Functions) -> NDArray[np.float64]:
        if part.of == ("g",):
            return part.matrix[columns["g"]]
        scale = SCALES[part.in_units][part.of[0]]
        return part.at(scale.of_values(columns[part.of[0]]))

    expected = [of(part) for part in terms.functions]
    for i, j in terms.products:
        first, second = of(terms.factors[i]), of(terms.factors[j])
        expected.append(np.column_stack([a * b for a in first.T for b in second.T]))
    np.testing.assert_allclose(rows, np.column_stack([np.empty((6, 0)), *expected]), atol=1e-12)
    coefficients = rng.normal(size=terms.n_terms + 1)
    total = SumOfTerms(terms, coefficients, SCALES, {"g": 3}).of(columns)
    np.testing.assert_allclose(
        np.broadcast_to(total, 6), coefficients[0] + rows @ coefficients[1:], atol=1e-10
    )


def test_coefficients_that_add_a_constant_are_not_free():
    knots = np.array([-1.0, 0.0, 2.0])
    line = broken_line("x", knots, in_units=False)
    amounts, ranks = indicators(["g"], [3]), np.array([[-1.0], [0.0], [1.0]])
    for functions, n_free in [
        ((line,), 2),
        ((line, amounts), 4),
        ((amounts.combined(ranks),), 1),
        ((amounts.combined(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])),), 1),
        ((line.combined(np.array([[0.0], [1.0], [3.0]])), amounts.combined(ranks)), 2),
    ]:
        assert Terms(functions).n_free == n_free


def test_levels_of_several_parents_are_numbered_with_the_last_one_fastest():
    functions = indicators(["g", "h"], [2, 3])
    columns = Columns({"g": np.array([0, 0, 1, 1]), "h": np.array([0, 2, 0, 2])})
    places = functions.places(columns, {}, {"g": 2, "h": 3})
    assert places.tolist() == [0, 2, 3, 5]
    np.testing.assert_array_equal(functions.at(places), np.eye(6)[[0, 2, 3, 5]])


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
    assert family.stack.words == "an intervention"
    assert family.log_density(columns).tolist() == [0.0, -math.inf]
    assert family.draw(columns, 3, np.random.default_rng(0)).tolist() == [value] * 3
    cuts = np.array([value - 1e-3, value, value + 1e-3])
    assert family.masses(cuts, columns).tolist() == [0.0, 1.0, 0.0, 0.0]
    assert after.families["g"].masses(None, columns).tolist() == [0.0, 0.0, 1.0]
    assert set(after.sample(20, 1)["g"]) == {"m"}
    assert DiscretizedBayesNet.from_json(after.to_json()) == after


FLAT = ProbabilityScale(Shape([0.0, 1.0], [1.0], [1.0]), 100)


LINES = tuple(broken_line(name, np.array([-3.0, 3.0]), in_units=False) for name in "ab")


def two_groups(**parts: Any) -> FamilyEffects:
    """Return lines of two parents, with noise that differs between two groups."""
    content: dict[str, Any] = {
        "terms": Terms((*LINES, indicators("g", [2]))),
        # slopes of .6 and -.3
        "coefficients": np.array([0.1, -1.8, 1.8, 0.9, -0.9, 0.0, -0.6]),
        "scales": np.array([0.5, 0.2]),
        "freedom": np.array([40.0, 4.0]),
        **parts,
    }
    return FamilyEffects(("a", "b"), ("g",), **content)


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


def mean_of(line: FamilyEffects, parents: list[float], group: int) -> float:
    """Return the centre of `two_groups`."""
    first, second = parents
    return 0.1 + 0.6 * first - 0.3 * second - 0.6 * group


@pytest.mark.parametrize(
    "parents", [[0.0, 0.0], [1.5, -2.0], [2.5, 2.5], [-2.5, -2.5], [40.0, 0.0], [-40.0, 0.0]]
)
@pytest.mark.parametrize("group", [0, 1])
@pytest.mark.parametrize("width", [None, 1e-3])
def test_the_density_integrates_to_one_wherever_the_centre_is(parents, group, width):
    line = two_groups()
    mean, scale = mean_of(line, parents, group), width or float(line.scales[group])

    def density(z: float) -> float:
        logs = log_density_around(
            np.array([z]), np.array([mean]), np.array([scale]), line.freedom[group], FLAT
        )
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
    logs = log_density_around(z, means, scales, freedom, FLAT)
    for k in range(5):
        law = student(freedom[k], means[k], scales[k])
        mass = law.cdf(FLAT.high) - law.cdf(FLAT.low)
        assert logs[k] == pytest.approx(law.logpdf(z[k]) - math.log(mass), abs=1e-9)


def family_of(line: FamilyEffects) -> Family:
    """Return the family of "y" that is a sum of effects alone, on the scale of the unit interval."""
    scales = dict.fromkeys(("a", "b", "y"), FLAT)
    return Family("y", Stack.of(line), ColumnFacts({"y": (0.0, 1.0)}, {}, {"g": 2}, {False: scales}))


def drawn_places(line: FamilyEffects, parents: list[float], groups: NDArray[np.int64]) -> NDArray[np.float64]:
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
    line = two_groups(coefficients=np.array([0.0, 0, 0, 0, 0, 30.0, -30.0]), scales=np.full(2, 1e-3))
    groups = np.array([0, 1, 0, 1])
    drawn = drawn_places(line, [0.0, 0.0], groups)
    np.testing.assert_allclose(drawn, np.where(groups == 0, FLAT.high, FLAT.low), atol=0.02)


@pytest.mark.parametrize(
    "parts",
    [
        {"scales": np.array([0.5, 0.0])},
        {"scales": np.array([0.5, -1.0])},
        {"scales": np.array([0.5])},
        {"scales": np.array(0.5)},
        {"scales": np.zeros(0), "freedom": np.zeros(0)},
        {"freedom": np.array([4.0, 0.0])},
        {"freedom": np.array([4.0, 4.0, 4.0])},
        {"least_scale": -0.1},
        {"least_scale": math.nan},
        {"coefficients": np.zeros(6)},
        {"coefficients": np.zeros((1, 7))},
        {"terms": Terms(LINES)},
        {"terms": Terms(LINES, LINES, ((0, 1),))},
    ],
)
def test_wrong_parts_are_refused(parts):
    with pytest.raises(GomeaBnError, match="A sum of effects must have at least one parent"):
        two_groups(**parts)


@pytest.mark.parametrize("part", ["coefficients", "scales", "freedom"])
@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_numbers_that_are_not_finite_are_refused(part, number):
    with pytest.raises(GomeaBnError, match=f"The {part} of a sum of effects must be finite numbers"):
        two_groups(**{part: np.append(getattr(two_groups(), part)[1:], number)})


def test_effects_need_a_parent():
    with pytest.raises(GomeaBnError, match="at least one parent"):
        FamilyEffects((), (), Terms(()), np.zeros(1), np.ones(1), np.ones(1))


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


CUBIC = Functions(("a",), np.repeat([-2.0, 2.0], 4), np.eye(4))


@pytest.mark.parametrize(
    ("terms", "words", "n_free"),
    [
        (Terms((indicators("g", [2]),)), "amounts of levels", 1),
        (Terms(LINES), "lines", 2),
        (Terms((*LINES, indicators("g", [2]))), "lines", 3),
        (Terms((CUBIC, LINES[1])), "curves", 4),
        (Terms((broken_line("a", np.array([-1.0, 0.0, 1.0]), in_units=False),)), "curves", 2),
        (Terms(LINES, (LINES[0], LINES[1]), ((0, 1),)), "effects that depend on each other", 6),
    ],
)
def test_words_numbers_and_content_of_terms(terms, words, n_free):
    coefficients = np.random.default_rng(0).normal(size=terms.n_terms + 1)
    effects = two_groups(terms=terms, coefficients=coefficients, in_units=True, least_scale=0.1)
    assert (effects.words, terms.n_free) == (words, n_free)
    assert effects.n_parameters == n_free + 1 + 2
    again = FamilyEffects.from_content(json.loads(json.dumps(effects.to_content())))
    assert again.to_content() == effects.to_content()
    assert (again.in_units, again.least_scale) == (True, 0.1)
    np.testing.assert_array_equal(again.coefficients, coefficients)
    assert again.terms.sizes == terms.sizes
    # identity matrices are not written
    assert all("matrix" not in part for part in effects.to_content()["functions"])


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


def test_transforms_are_stored_and_belong_to_the_column():
    transform = np.array([[-1.0, 0.0, 2.0], [-3.0, 0.0, 0.5]])
    line = two_groups(transform=transform)
    again = FamilyEffects.from_content(json.loads(json.dumps(line.to_content())))
    np.testing.assert_array_equal(again.transform, transform)
    assert again.words == "lines on a transformed scale"
    assert line.n_parameters == two_groups().n_parameters + 3
    with pytest.raises(ValueError, match="read-only"):
        line.transform[0, 0] = 5.0
    plain = UnitScale(0.0, 1.0, (-2.0, 2.0))
    assert two_groups().own_scale(plain) is plain
    assert line.own_scale(plain).of_values(np.array([2.0])).tolist() == pytest.approx([0.5])


def functions_with(**parts: object) -> dict[str, Any]:
    """Return content in which the functions of the first parent have other parts; None takes one away."""
    first, *others = two_groups().to_content()["functions"]
    changed = {name: value for name, value in {**first, **parts}.items() if value is not None}
    return content_with(functions=[changed, *others])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            content_with(transform=[[0, 1]]),
            "transform of a sum of effects must have two lists of equal length",
        ),
        (content_with(transform=[[0, 1], [1, 1]]), "of at least two increasing numbers"),
        (content_with(transform=[[0], [1]]), "of at least two increasing numbers"),
        (content_with(transform=[[0, 1], [0, float("inf")]]), "The transform .* must be finite numbers"),
        (content_with(transform="x"), "The transform of a sum of effects must be numbers"),
        (
            {"kind": "effects", "parents": []},
            "A sum of effects must be an object with the fields parents, groups",
        ),
        (content_with(parents=5), "The parents of a sum of effects must be a list of names, got 5"),
        (content_with(parents="ab"), "The parents of a sum of effects must be a list of names, got 'ab'"),
        (content_with(groups=[1]), r"The groups of a sum of effects must be a list of names, got \[1\]"),
        (content_with(groups=None), "The groups of a sum of effects must be a list of names, got None"),
        (content_with(scales=["x", 1]), "The scales of a sum of effects must be numbers"),
        (content_with(scales={}), "The scales of a sum of effects must be numbers"),
        (content_with(coefficients=[[1, [2]]]), "The coefficients of a sum of effects must be numbers"),
        (content_with(freedom=[None, 1]), "The freedom of a sum of effects must be finite numbers"),
        (content_with(scales=0.5), "A sum of effects must have at least one parent"),
        (content_with(in_units=1), "in_units of a sum of effects must be true or false"),
        (content_with(least_scale="x"), "and least_scale a number"),
        (content_with(functions=5), "The terms of a sum must be lists"),
        (content_with(functions=[5]), "The functions of a parent must be an object with of"),
        (content_with(functions=[]), "A sum of effects must have at least one parent"),
        (content_with(factors=5, products=[]), "The terms of a sum must be lists"),
        (content_with(products=[[0, 1]]), "products must be pairs of positions below 0"),
        (content_with(products=[[0]]), "The terms of a sum must be lists"),
        (content_with(products=5), "The terms of a sum must be lists"),
        (functions_with(of=None), "must be an object with of"),
        (functions_with(of=[]), "must have the name of a continuous parent"),
        (functions_with(of="a"), "must have the name of a continuous parent"),
        (functions_with(of=[5]), "must have the name of a continuous parent"),
        (functions_with(of=["a", "b"]), "must have the name of a continuous parent"),
        (functions_with(size=None), "must be an object with of"),
        (functions_with(size=0), "must have from 1 to 4,096 functions, got 0"),
        (functions_with(size=10**9), "must have from 1 to 4,096 functions, got 1000000000"),
        (functions_with(size="x"), "must be an object with of"),
        (functions_with(size=1), "must have the name of a continuous parent"),
        (functions_with(size=5), "must have the name of a continuous parent"),
        (functions_with(matrix=[[1.0], [float("nan")]]), "a matrix of finite numbers"),
        (functions_with(matrix=[1.0, 2.0]), "a matrix of finite numbers"),
        (functions_with(matrix=[[]]), "a matrix of finite numbers"),
        (functions_with(in_units="yes"), "must have the name of a continuous parent"),
        (functions_with(knots=[[1.0]]), "increasing knots"),
        (functions_with(knots=[3.0, 3.0, -3.0, -3.0]), "increasing knots"),
        (functions_with(knots=[-3.0, -2.0, 3.0, 3.0]), "the outer ones repeated"),
        (functions_with(knots=[-3.0, -3.0, 2.0, 3.0]), "the outer ones repeated"),
        (functions_with(knots=[1.0] * 4), "increasing knots"),
        (functions_with(knots=[-1.0, -1.0, 0.0, 0.0, 0.0, 1.0, 1.0], size=5), "increasing knots"),
        (functions_with(knots=["x"] * 4), "must be an object with of"),
    ],
)
def test_damaged_content_is_refused(content, message):
    with pytest.raises(GomeaBnError, match=message):
        FamilyEffects.from_content(content)
