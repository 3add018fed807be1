"""Cells of columns: their order, the cuts they share with the shown bins, and the cells of point masses."""

import numpy as np
import pandas as pd
import pytest
from averaged_examples import averaged_example
from hypothesis import given, settings
from hypothesis import strategies as st
from network_examples import network_with, one_column
from scipy.stats import norm

from gomea_bn import DiscretizedBayesNet, Shape
from gomea_bn.network.conditionals import Conditionals, FamilyEffects, TableSet, Terms, broken_line
from gomea_bn.network.conditionals.conditionals import SIZES


def network_of_one(
    support: tuple[float, float], cuts: list[float], shape: Shape | None = None, set_to: float | None = None
) -> DiscretizedBayesNet:
    """Return a network of one column with conditionals."""
    table = np.full(len(cuts) + 1, 1 / (len(cuts) + 1))
    known = Conditionals.of_tables([TableSet({"x": np.array(cuts)}, {"x": ()}, {"x": table})], n_rows=50)
    return one_column(
        cuts, support, table, shapes={} if shape is None else {"x": shape},
        conditionals=known if set_to is None else known.after_intervention({"x": set_to}),
    )  # fmt: skip


def check_levels(network: DiscretizedBayesNet) -> None:
    grids = network.cell_grids
    finest = grids.level(0).cuts["x"]
    low, high = network.support["x"]
    for index, size in enumerate(SIZES):
        level = grids.level(index)
        cuts = level.cuts["x"]
        assert (np.diff([low, *cuts, high]) > 0).all()
        assert set(network.cut_points["x"]) <= set(cuts) <= set(finest)
        assert len(cuts) <= size + len(network.cut_points["x"]) + 10
        ends = np.array([low, *cuts, high])
        assert ((level.columns["x"] >= ends[:-1]) & (level.columns["x"] <= ends[1:])).all()
        # the first finest cell of every cell begins where the cell does
        np.testing.assert_array_equal(np.array([low, *finest])[level.first[0]], ends[:-1])
        np.testing.assert_array_equal(ends[level.first_of_bins[0]], [low, *network.cut_points["x"]])


@settings(max_examples=60, deadline=None)
@given(
    low=st.sampled_from([0.0, -3.0, 1e9, -1e300, 5e-300]),
    width=st.sampled_from([1.0, 1e-6, 1e5, 1e300]),
    shares=st.lists(st.floats(0.01, 0.99), max_size=6, unique_by=lambda share: round(share, 2)),
    points=st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), max_size=3, unique=True),
    shaped=st.booleans(),
)
def test_levels_have_the_shown_cuts_and_are_parts_of_the_finest(low, width, shares, points, shaped):
    high = low + width
    if not high - low > 1e-9 * abs(low):
        high = low + abs(low) / 2
    cuts = sorted({low + share * (high - low) for share in shares} - {low, high})
    shape = None
    if shaped:
        masses = {low + point * (high - low): 0.2 for point in points}
        rest = 1 - 0.2 * len(masses)
        shape = Shape([low, high], [rest * 0.5], [rest * 1.5], masses)
    check_levels(network_of_one((low, high), cuts, shape))


def test_point_masses_have_cells_of_their_own():
    shape = Shape([0.0, 10.0], [0.6], [0.4], {0.0: 0.3, 4.0: 0.1, 10.0: 0.1})
    network = network_of_one((0.0, 10.0), [5.0], shape)
    check_levels(network)
    for index in range(len(SIZES)):
        level = network.cell_grids.level(index)
        assert {0.0, 4.0, 10.0} <= set(level.columns["x"])
        of_points = shape.bin_masses(level.cuts["x"])[np.isin(level.columns["x"], [0.0, 4.0, 10.0])]
        np.testing.assert_allclose(of_points, [0.3, 0.1, 0.1], atol=1e-6)


def test_few_values_have_a_cell_each_and_coarse_cells_join_neighbours():
    values = np.arange(100.0)
    masses = dict.fromkeys(values.tolist(), 0.0099)
    shape = Shape([0.0, 99.0], [0.01], [0.01], masses)
    network = network_of_one((0.0, 99.0), [30.5], shape)
    check_levels(network)
    assert network.cell_grids.level(0).columns["x"].tolist() == values.tolist()
    coarse = network.cell_grids.level(SIZES.index(16)).cuts["x"]
    assert 10 < len(coarse) <= 16
    assert set(coarse) <= {30.5, *(values + 0.5)}


def test_rare_values_beyond_the_few_ones_have_cells_as_in_other_columns():
    masses = dict.fromkeys(np.arange(10.0).tolist(), 0.097)
    # heights are those over a range that is scaled to 1
    heights = [1e-9, (0.03 - 0.45e-9) / 0.55]
    shape = Shape([0.0, 9.0, 20.0], heights, heights, masses)
    network = network_of_one((0.0, 20.0), [4.5], shape)
    check_levels(network)
    beyond = [network.cell_grids.level(index).cuts["x"] for index in (0, SIZES.index(96))]
    fine, coarse = (int((cuts > 9).sum()) for cuts in beyond)
    assert fine > coarse > 5


def test_a_number_of_an_intervention_has_a_cell():
    network = network_of_one((0.0, 10.0), [5.0], set_to=3.0)
    check_levels(network)
    np.testing.assert_array_equal(network.query("x"), [1.0, 0.0])
    np.testing.assert_allclose(network.predict(network.sample(2, random_state=1), "x"), 3.0, atol=1e-6)


def test_cells_end_at_equal_steps_of_the_normal_scale():
    # the table gives the bins the probabilities that they have under the shape
    network = network_of_one((0.0, 1.0), [(5**0.5 - 1) / 2], Shape([0.0, 1.0], [0.5], [1.5]))
    probabilities = network.shapes["x"].distribution(network.cell_grids.level(SIZES.index(64)).cuts["x"])
    positions = norm.ppf(probabilities)
    steps = np.diff(positions)
    # the shown cut divides one cell
    assert (np.abs(steps - 6 / 64) < 1e-9).sum() >= len(steps) - 2


def test_columns_without_a_shape_follow_their_tables():
    network = averaged_example()
    assert "b" not in network.shapes
    codes = network.discretize(network.sample(20_000, random_state=1))["b"]
    assert len(np.unique(codes)) == network.cardinality("b")
    cuts = network.cell_grids.level(SIZES.index(32)).cuts["b"]
    shares = (
        np.searchsorted(np.sort(network.sample(20_000, random_state=1, values="numbers")["b"]), cuts) / 20_000
    )
    # no cell has much more than its share of rows
    assert np.diff(shares).max() < 0.15


def test_cells_follow_tables_and_scales_that_the_shape_does_not_resolve():
    # nearly all rows are near 0, where the shape has one wide piece
    shape = Shape([0.0, 1000.0], [1.0], [1.0])
    heights = [4e5, 4000.0, 0.204 / 0.9999]
    scale = Shape([0.0, 0.001, 0.1, 1000.0], heights, heights)
    copy = TableSet({"x": np.array([0.1])}, {"x": ()}, {"x": np.array([0.8, 0.2])})
    network = one_column(
        [0.1], (0.0, 1000.0), [0.8, 0.2], shape=shape,
        conditionals=Conditionals.of_tables([copy], scales={"x": scale}, n_rows=50),
    )  # fmt: skip
    shares = np.concatenate(([0.0], scale.distribution(network.cell_grids.level(0).cuts["x"]), [1.0]))
    assert np.diff(shares).max() < 0.05


@pytest.mark.sample(3)
@pytest.mark.parametrize("noise", [0.1, 0.01, 1e-3, 1e-4])
@pytest.mark.parametrize("freedom", [1.0, 3.0, 400.0])
def test_densities_of_columns_that_follow_unknown_ones_closely_do_not_depend_on_the_cells(noise, freedom):
    # y is x, and z is the mean of both, with noise much smaller than a cell
    names = ("x", "y", "z")
    parents = {"x": (), "y": ("x",), "z": ("x", "y")}
    tables = {name: np.ones([1] * (len(of_name) + 1)) for name, of_name in parents.items()}
    cuts = dict.fromkeys(names, np.empty(0))
    scale, freedoms = np.array([noise]), np.array([freedom])
    lines = {
        name: FamilyEffects(
            parents[name],
            (),
            Terms(
                tuple(broken_line(parent, np.array([0.0, 1.0]), in_units=True) for parent in parents[name])
            ),
            np.array([0.0, *[0.0, 1 / len(parents[name])] * len(parents[name])]),
            scale,
            freedoms,
            in_units=True,
        )
        for name in ("y", "z")
    }
    network = network_with(
        names,
        [("x", "y"), ("x", "z"), ("y", "z")],
        cut_points=cuts,
        support=dict.fromkeys(names, (0.0, 1.0)),
        tables=tables,
        conditionals=Conditionals.of_tables(
            [TableSet(cuts, parents, tables)],
            {name: (0.999, line) for name, line in lines.items()},
            units=dict.fromkeys(names, (0.0, 1.0)),
            n_rows=100,
        ),
    )
    values = np.linspace(0.3, 0.7, 101)
    for name in ("y", "z"):
        known = pd.DataFrame(np.nan, range(len(values)), names).assign(**{name: values})
        draws = network.sample(200_000, random_state=1, values="numbers")[name]
        expected = np.log(((draws > 0.3) & (draws <= 0.7)).mean() / 0.4)
        logs = network.log_density(known)
        assert np.log(np.exp(logs).mean()) == pytest.approx(expected, abs=0.03)
        assert logs.std() < 0.3
