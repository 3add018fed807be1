"""The effects of parents: known laws, a slow twin, shares, order of columns, words, and where they are shown."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from averaged_examples import averaged_example, copy_with, lines_of, sets_of, weight_of
from conditional_oracles import random_conditionals_network
from network_examples import network_with, rain_and_height

from gomea_bn import DiscretizedBayesNet, GomeaBnError
from gomea_bn.network.conditionals import (
    Columns,
    Conditionals,
    FamilyEffects,
    Functions,
    TableSet,
    Terms,
    broken_line,
    indicators,
)
from gomea_bn.network.conditionals.kinds import KINDS
from gomea_bn.network.effects import BAND, shows_effects

SLOPES = {"x": 2.0, "w": -3.0}
STEPS = {"a": 0.0, "b": 4.0, "c": -2.0}
SHARES = {"a": 0.5, "b": 0.3, "c": 0.2}
NOISE = 0.5


def additive_network(weight: float = 1 - 1e-9, product: float = 0.0) -> DiscretizedBayesNet:
    """Return "y" = 2 x - 3 w + a step by "g" + product x w + noise, with uniform and independent "x" and "w"."""
    support = {"x": (-5.0, 5.0), "w": (-1.0, 1.0), "y": (-40.0, 40.0)}
    cuts = {"x": [0.0], "w": [0.0], "y": [0.0]}
    levels = tuple(SHARES)
    tables = {"x": [0.5, 0.5], "w": [0.5, 0.5], "g": list(SHARES.values()), "y": np.full((2, 2, 3, 2), 0.5)}
    ends = {name: np.array(support[name]) for name in SLOPES}
    lines = [broken_line(name, ends[name], in_units=True) for name in SLOPES]
    factors = [Functions(line.of, line.knots, ends[line.of[0]][:, None], in_units=True) for line in lines]
    effects = FamilyEffects(
        ("x", "w"),
        ("g",),
        Terms((indicators(["g"], [3]), *lines), tuple(factors), ((0, 1),)),
        np.concatenate(
            [[0.0], list(STEPS.values()), *(SLOPES[name] * ends[name] for name in SLOPES), [product]]
        ),
        np.array([NOISE]),
        np.array([1e6]),
        in_units=True,
    )
    network = network_with(
        ["x", "w", "g", "y"],
        [("x", "y"), ("w", "y"), ("g", "y")],
        cut_points=cuts,
        support=support,
        levels={"g": levels},
        tables=tables,
    )
    parents = {name: network.parents(name) for name in network.names}
    known = Conditionals.of_tables(
        [TableSet(network.cut_points, parents, network.stored_tables)],
        {"y": (weight, effects)},
        units=dict.fromkeys(support, (0.0, 1.0)),
        n_rows=100,
    )
    return network.changed(conditionals=known)


def test_the_effects_of_an_additive_law_are_its_functions():
    network = additive_network()
    effects = network.column_effects("y")
    by_parent = {one.parent: one for one in effects.effects}
    for name, slope in SLOPES.items():
        one = by_parent[name]
        # common random numbers cancel in differences
        np.testing.assert_allclose(np.diff(one.means[:, 0]), slope * np.diff(one.values), atol=1e-9)
        assert one.words == f"{'rises' if slope > 0 else 'falls'} with {name}"
    steps = by_parent["g"].means[:, 0]
    np.testing.assert_allclose(steps - steps[0], list(STEPS.values()), atol=1e-9)
    # x has the mean 0, so that its effect at 0 is the mean of all others
    x = by_parent["x"]
    at_zero = float(np.interp(0.0, x.values, x.means[:, 0]))
    mean_step = sum(SHARES[level] * STEPS[level] for level in SHARES)
    variances = {
        "x": SLOPES["x"] ** 2 * 100 / 12,
        "w": SLOPES["w"] ** 2 * 4 / 12,
        "g": sum(SHARES[level] * (STEPS[level] - mean_step) ** 2 for level in SHARES),
    }
    others = variances["w"] + variances["g"]
    assert at_zero == pytest.approx(mean_step, abs=4 * np.sqrt((others + NOISE**2) / 500))
    total = sum(variances.values())
    for name, one in by_parent.items():
        assert one.share == pytest.approx(variances[name] / total, abs=0.05)
        assert one.rows.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(by_parent["g"].rows, list(SHARES.values()), atol=4 * np.sqrt(0.25 / 500))
    assert [one.parent for one in effects.effects] == ["x", "g", "w"]
    assert sum(one.share for one in effects.effects) == pytest.approx(1.0)
    assert effects.explained == pytest.approx(total / (total + NOISE**2), abs=0.02)
    assert effects.additive == pytest.approx(1.0, abs=0.02)
    # the band at one value of x is that of the rest, which is not normal
    width = (x.highs - x.lows)[:, 0]
    rng = np.random.default_rng(3)
    rest = SLOPES["w"] * rng.uniform(-1, 1, 100_000) + rng.choice(
        list(STEPS.values()), 100_000, p=list(SHARES.values())
    )
    expected = np.diff(np.quantile(rest + NOISE * rng.normal(size=100_000), BAND))[0]
    np.testing.assert_allclose(width, expected, rtol=0.15)


def test_what_parents_do_only_together_is_named():
    network = additive_network(product=4.0)
    effects = network.column_effects("y")
    # x and w have the mean 0: their product averages out
    by_parent = {one.parent: one for one in effects.effects}
    slope = np.polyfit(by_parent["x"].values, by_parent["x"].means[:, 0], 1)[0]
    assert slope == pytest.approx(SLOPES["x"], abs=4 * 4.0 * np.sqrt(4 / 12 / 500))
    together = 16 * (100 / 12) * (4 / 12)
    sums = 4 * 100 / 12 + 9 * 4 / 12 + 4.89
    assert effects.additive == pytest.approx(sums / (sums + together), abs=0.08)
    assert effects.sentence.endswith("of this they explain only together")
    assert "together" not in additive_network().column_effects("y").sentence


def slow_means(network: DiscretizedBayesNet, name: str, parent: str, value: float) -> Any:
    """Return the mean of "y", or the probabilities of its levels, given a value of a parent and drawn other parents."""
    rows = network.sample(1500, 5, values="numbers")
    columns = {
        other: rows[other].cat.codes.to_numpy() if other in network.levels else rows[other].to_numpy()
        for other in network.parents(name)
    }
    columns[parent] = np.full(len(rows), value, columns[parent].dtype)
    if name in network.levels:
        masses = network.families[name].masses(None, Columns(columns))
        # a fixed value has one row for all
        return np.broadcast_to(masses, (len(rows), masses.shape[-1])).mean(axis=0)
    low, high = network.support[name]
    points = network.shapes[name].point_values if name in network.shapes else np.empty(0)
    cuts = np.unique(
        np.concatenate([np.linspace(low, high, 800)[1:-1], points[(points > low) & (points < high)]])
    )
    masses = network.families[name].masses(cuts, Columns(columns))
    masses = np.broadcast_to(masses, (len(rows), masses.shape[-1])).mean(axis=0)
    edges = np.array([low, *cuts.tolist(), high])
    middles = (edges[:-1] + edges[1:]) / 2
    # all that is at a point lies at the upper end of its cell, or in the first cell
    middles[np.isin(edges[1:], points)] = edges[1:][np.isin(edges[1:], points)]
    return np.array([masses @ middles])


@pytest.mark.parametrize("kind", [None, *KINDS], ids=lambda kind: "tables" if kind is None else kind.__name__)
def test_effects_are_those_of_a_slow_twin_for_every_kind(kind):
    network = random_conditionals_network(11, kind)
    effects = network.column_effects("y")
    rows = network.sample(1500, 5, values="numbers")
    spread = 0.5 if "y" in network.levels else float(rows["y"].std())
    for one in effects.effects:
        for at in (0, len(one.values) - 1):
            expected = slow_means(network, "y", one.parent, one.values[at])
            tolerance = 4.5 * spread * np.sqrt(1 / 500 + 1 / 1500)
            np.testing.assert_allclose(one.means[at], expected, atol=tolerance)
            assert (one.lows[at] <= one.highs[at]).all()


@pytest.mark.parametrize("kind", [None, *KINDS], ids=lambda kind: "tables" if kind is None else kind.__name__)
def test_the_order_of_columns_has_no_effect(kind):
    network = random_conditionals_network(4, kind)
    frame = network.effects("y")
    pd.testing.assert_frame_equal(network.in_order(["y", "g", "x", "w"]).effects("y"), frame)
    # neither have files
    pd.testing.assert_frame_equal(DiscretizedBayesNet.from_json(network.to_json()).effects("y"), frame)


def test_the_frame_has_a_row_per_parent_value_and_level():
    frame = averaged_example().effects("d")
    assert list(frame) == ["parent", "value", "level", "probability", "low", "high", "rows", "share"]
    sums = frame.groupby(["parent", "value"])["probability"].sum()
    np.testing.assert_allclose(sums, 1.0)
    frame = averaged_example().effects("b")
    assert list(frame) == ["parent", "value", "mean", "low", "high", "rows", "share"]
    assert frame.loc[frame["parent"] == "g", "value"].tolist() == ["no", "yes"]
    assert frame.groupby("parent")["share"].first().sum() == pytest.approx(1.0)
    assert frame["share"].is_monotonic_decreasing


def test_a_table_of_levels_has_its_own_rows_as_effect():
    network = rain_and_height()
    effects = network.column_effects("height")
    (one,) = effects.effects
    cells = np.array([0.5, 1.75, 3.25])
    table = network.tables["height"]
    spread = np.sqrt((table * cells**2).sum(axis=1) - (table @ cells) ** 2 + 0.2)
    np.testing.assert_allclose(one.means[:, 0], table @ cells, atol=float(4.5 * spread.max() / np.sqrt(500)))
    assert (one.share, effects.additive, one.words) == (1.0, 1.0, "differs by rain")


def test_unknown_columns_and_those_without_parents_are_refused():
    network = additive_network()
    with pytest.raises(GomeaBnError, match="'x' has no parents"):
        network.effects("x")
    with pytest.raises(GomeaBnError, match="nknown variable"):
        network.effects("v")
    # an intervention removes the parents
    with pytest.raises(GomeaBnError, match="'y' has no parents"):
        network.do({"y": 1.0}).effects("y")


def test_columns_show_effects_that_follow_them_or_have_large_tables():
    assert shows_effects(additive_network(), "y")
    assert not shows_effects(additive_network(0.4), "y")
    assert not shows_effects(additive_network(), "x")
    assert shows_effects(copy_with(1), "b", max_table_cells=5)
    assert not shows_effects(copy_with(1), "b")
    text = additive_network().summary()
    assert "it rises with x (" in text
    assert "falls with w (" in text
    assert "differs by g (" in text
    assert "parents explain" not in additive_network(0.4).summary()
    assert "parents explain" in additive_network(0.4).summary(max_table_cells=20)
    with pytest.raises(GomeaBnError, match="max_table_cells"):
        additive_network().summary(max_table_cells=-1)


def test_parameters_are_those_that_are_kept():
    network = averaged_example()
    sets, effects = sets_of(network), lines_of(network)
    for name in network.names:
        of_sets = [one.tables[name].size * (1 - 1 / one.tables[name].shape[-1]) for one in sets]
        weight = weight_of(network, name)
        of_effects = effects[name].n_parameters if name in effects else 0
        expected = (1 - weight) * np.mean(of_sets) + weight * of_effects
        assert network.families[name].n_parameters == pytest.approx(expected)
    total = sum(family.n_parameters for family in network.families.values())
    assert network.n_parameters == round(total)
    # a set of cuts more does not count again
    same, single = (averaged_example(copies=[sets[0]] * n) for n in (3, 1))
    assert same.n_parameters == single.n_parameters
    assert network.do({"b": 6.0}).families["b"].n_parameters == 0
    # those of tables alone are their free probabilities
    tables = network.of_tables()
    assert tables.n_parameters == sum(t.size - t.size // t.shape[-1] for t in network.tables.values())
