"""Families: densities against a slow twin, probabilities of cells against integrals and draws, and tables of them."""

import itertools
import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from averaged_examples import conditionals_of
from conditional_oracles import PARENTS, random_conditionals_network, slow_density
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare
from scipy.stats import t as student

from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.conditionals import FamilyLine
from gomea_bn.network.conditionals.family import Columns, Family, TableSet
from gomea_bn.network.conditionals.family_line import LineTerms
from gomea_bn.network.conditionals.line_scales import UnitScale
from gomea_bn.network.conditionals.shown_tables import cell_middles, table_over_grid, table_over_rows
from gomea_bn.network.conditionals.student import LEAST_SPREAD

SEEDS = st.integers(0, 5000)


def rows_of(network: DiscretizedBayesNet, n: int, seed: int) -> dict[str, NDArray[Any]]:
    """Return rows with point masses, ends of ranges and other values of every column."""
    rng = np.random.default_rng(seed)
    rows: dict[str, NDArray[Any]] = {"g": rng.integers(0, 3, n).astype(np.int32)}
    for name, (low, high) in network.support.items():
        points = network.shapes[name].point_values if name in network.shapes else np.empty(0)
        special = np.concatenate([points, [low, high], *([network.cut_points[name]])])
        rows[name] = np.where(rng.random(n) < 0.3, rng.choice(special, n), rng.uniform(low, high, n))
    return rows


def with_levels(network: DiscretizedBayesNet, rows: dict[str, NDArray[Any]]) -> list[dict[str, Any]]:
    return [
        {**{name: rows[name][k].item() for name in network.support}, "g": network.levels["g"][rows["g"][k]]}
        for k in range(len(rows["y"]))
    ]


def integrals(
    network: DiscretizedBayesNet, cuts: NDArray[np.float64], row: dict[str, NDArray[Any]]
) -> NDArray[np.float64]:
    """Return the integral of the density of "y" over cells, with the probabilities of points, by Gauss' rule."""
    known = conditionals_of(network)
    family, (low, high) = network.families["y"], network.support["y"]
    of_copies = [tables.cut_points["y"] for tables in known.copies]
    breaks = np.unique(np.concatenate([[low, high], cuts, known.scales["y"].edges, *of_copies]))
    breaks = np.unique(np.concatenate([np.linspace(a, b, 9) for a, b in itertools.pairwise(breaks)]))
    places, weights = np.polynomial.legendre.leggauss(24)
    half = np.diff(breaks)[:, None] / 2
    values = (breaks[:-1, None] + half + half * places).ravel()
    parents = {name: np.broadcast_to(row[name], values.shape) for name in PARENTS}
    masses = np.exp(family.log_density(Columns({**parents, "y": values}))) * (half * weights).ravel()
    points = network.shapes["y"].point_values if "y" in network.shapes else np.empty(0)
    parents = {name: np.broadcast_to(row[name], points.shape) for name in PARENTS}
    of_points = np.exp(family.log_density(Columns({**parents, "y": points})))
    everything = np.concatenate([values, points])
    cells = [sum(cut < value for cut in cuts.tolist()) for value in everything.tolist()]
    return np.asarray(np.bincount(cells, np.concatenate([masses, of_points]), len(cuts) + 1), np.float64)


# ---------------------------------------------------------------- densities


@given(SEEDS)
def test_the_log_density_is_that_of_a_slow_twin(seed):
    network = random_conditionals_network(seed)
    rows = rows_of(network, 12, seed)
    for name in network.names:
        logs = np.broadcast_to(network.families[name].log_density(Columns(rows)), 12)
        expected = [math.log(slow_density(network, name, row)) for row in with_levels(network, rows)]
        np.testing.assert_allclose(logs, expected, rtol=1e-8, atol=1e-8)


@given(SEEDS)
def test_values_that_broadcast_have_the_densities_of_rows(seed):
    network = random_conditionals_network(seed)
    family, rows = network.families["y"], rows_of(network, 4, seed)
    numbers = rows_of(network, 5, seed + 1)["y"]
    cuts = network.cut_points["y"]
    grid = Columns({**{name: rows[name][:, None] for name in PARENTS}, "y": numbers[None, :]})
    repeated = Columns({**{name: np.repeat(rows[name], 5) for name in PARENTS}, "y": np.tile(numbers, 4)})
    np.testing.assert_allclose(family.log_density(grid).ravel(), family.log_density(repeated), rtol=1e-12)
    # one parent along an axis of its own
    apart = Columns({"x": rows["x"][:, None, None], "w": rows["w"][:, None], "g": np.arange(3)})
    codes = np.indices((4, 4, 3)).reshape(3, -1)
    flat = Columns({"x": rows["x"][codes[0]], "w": rows["w"][codes[1]], "g": codes[2]})
    # an axis of a parent that no table has is left out
    masses = np.broadcast_to(family.masses(cuts, apart), (4, 4, 3, len(cuts) + 1))
    np.testing.assert_allclose(masses.reshape(48, -1), family.masses(cuts, flat), rtol=1e-10, atol=1e-14)


# ---------------------------------------------------------------- probabilities of cells


@given(SEEDS)
def test_masses_are_integrals_of_the_density(seed):
    network = random_conditionals_network(seed)
    low, high = network.support["y"]
    points = network.shapes["y"].point_values if "y" in network.shapes else np.empty(0)
    inside = points[(points > low) & (points < high)]
    # a point at a cut belongs to the lower cell
    cuts = np.unique(np.concatenate([np.random.default_rng(seed).uniform(low, high, 3), inside]))
    rows = rows_of(network, 2, seed)
    masses = network.families["y"].masses(cuts, Columns(rows))
    np.testing.assert_allclose(masses.sum(axis=-1), 1.0, rtol=1e-12)
    assert (masses >= 0).all()
    for k in range(2):
        expected = integrals(network, cuts, {name: rows[name][k] for name in PARENTS})
        np.testing.assert_allclose(masses[k], expected, atol=2e-4)


@given(SEEDS)
def test_finer_cells_add_up(seed):
    network = random_conditionals_network(seed)
    family, columns = network.families["y"], Columns(rows_of(network, 3, seed))
    fine = np.sort(np.random.default_rng(seed).uniform(*network.support["y"], 5))
    parts = family.masses(fine, columns)
    whole = family.masses(fine[[1, 3]], columns)
    sums = np.add.reduceat(parts, [0, 2, 4], axis=-1)
    np.testing.assert_allclose(sums, whole, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_draws_fall_into_cells_by_their_masses(seed):
    network, n = random_conditionals_network(seed), 3000
    row = {name: values[:1] for name, values in rows_of(network, 1, seed).items()}
    columns = Columns({name: np.repeat(values, n) for name, values in row.items()})
    for name in network.names:
        family, cuts = network.families[name], network.cut_points.get(name)
        drawn = family.draw(columns, n, np.random.default_rng(seed))
        assert drawn.shape == (n,)
        if cuts is None:
            counts = np.bincount(drawn, minlength=3)
        else:
            low, high = network.support[name]
            assert low <= drawn.min() <= drawn.max() <= high
            counts = np.bincount(np.searchsorted(cuts, drawn), minlength=len(cuts) + 1)
        masses = np.ravel(family.masses(cuts, Columns(row)))
        likely = masses > 1e-3
        assert counts[~likely].sum() <= 20
        expected = masses[likely] / masses[likely].sum() * counts[likely].sum()
        assert chisquare(counts[likely], expected).pvalue > 1e-5, name


# ---------------------------------------------------------------- tables


@given(SEEDS)
def test_tables_over_rows_are_means_over_the_rows_of_a_cell_and_its_middle(seed):
    network = random_conditionals_network(seed)
    rows, cuts = rows_of(network, 15, seed), network.cut_points
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
        0.5, ("x", "w"), (), coefficients, np.array([0.0003]), np.array([5.0]), terms.knots, True, True,
        product_knots=terms.product_knots,
    )  # fmt: skip
    support = (-1000.0, 1000.0)
    tables = TableSet({"y": np.empty(0)}, {"y": ()}, {"y": np.ones(1)})
    scales = dict.fromkeys("xwy", UnitScale(0.0, 1.0, support))
    family = Family("y", [tables], support=support, line=line, scales=scales)
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


# ---------------------------------------------------------------- files and interventions


@pytest.mark.parametrize("seed", range(6))
def test_files_and_pickles_keep_every_bit_of_the_densities(seed):
    network = random_conditionals_network(seed)
    frame = pd.DataFrame(with_levels(network, rows_of(network, 50, seed)))
    logs = network.log_density(frame)
    for again in (DiscretizedBayesNet.from_json(network.to_json()), pickle.loads(pickle.dumps(network))):
        assert again == network
        np.testing.assert_array_equal(again.log_density(frame), logs)
        pd.testing.assert_frame_equal(again.sample(20, 1), network.sample(20, 1))


def test_a_column_that_is_set_has_its_value_with_certainty():
    networks = map(random_conditionals_network, itertools.count())
    network = next(each for each in networks if conditionals_of(each).lines)
    value = float(np.mean(network.support["y"]))
    known = conditionals_of(network).after_intervention({"y": value, "g": 2})
    after = network.do({"y": value, "g": "m"})
    assert after.conditionals == known
    assert known.set_values == {"y": value, "g": 2}
    assert "y" not in known.lines
    family, columns = after.families["y"], Columns({"y": np.array([value, value + 1e-3])})
    assert family.is_set
    assert family.log_density(columns).tolist() == [0.0, -math.inf]
    assert family.draw(columns, 3, np.random.default_rng(0)).tolist() == [value] * 3
    cuts = np.array([value - 1e-3, value, value + 1e-3])
    assert family.masses(cuts, columns).tolist() == [0.0, 1.0, 0.0, 0.0]
    assert after.families["g"].masses(None, columns).tolist() == [0.0, 0.0, 1.0]
    assert set(after.sample(20, 1)["g"]) == {"m"}
    assert DiscretizedBayesNet.from_json(after.to_json()) == after
