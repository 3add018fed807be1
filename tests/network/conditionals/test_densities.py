"""Conditional densities: against slow twins and quadrature, draws against densities, and parts of conditionals."""

import copy
import math
import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from averaged_examples import (
    N_ROWS,
    NAMES,
    SHAPE_OF_B,
    SHAPES,
    SUPPORT,
    UNITS,
    averaged_example,
    conditionals_example,
    conditionals_of,
    copy_with,
    curve_of_c,
    effects_on,
    grid_of,
    line_of_b,
    sets_of,
    tables_of,
)
from conditional_oracles import slow_density
from network_examples import one_column
from numpy.typing import NDArray
from scipy.stats import kstest
from wrong_input import untyped

from gomea_bn import DiscretizedBayesNet, GomeaBnError, Shape
from gomea_bn.network.conditionals import Conditionals, FamilyEffects, TableSet, Terms, indicators
from gomea_bn.network.conditionals.conditionals import around_cuts
from gomea_bn.network.marginals import conditional_density


@pytest.fixture(scope="module")
def averaged() -> DiscretizedBayesNet:
    return averaged_example()


@pytest.fixture(scope="module")
def sampled(averaged: DiscretizedBayesNet) -> pd.DataFrame:
    return averaged.sample(2000, random_state=4)


def test_the_density_is_the_mixture_of_copies_and_lines(averaged, sampled):
    rows = sampled[:60]
    terms = averaged.log_density_terms(rows)
    assert tuple(terms) == NAMES
    for position, row in enumerate(rows.to_dict("records")):
        for name in NAMES:
            expected = math.log(slow_density(averaged, name, row))
            assert terms[name][position] == pytest.approx(expected, abs=1e-9)
    total = averaged.log_density(rows)
    np.testing.assert_allclose(total, sum(terms.values()), rtol=1e-12)
    assert averaged.score(rows) == pytest.approx(total.mean())
    # columns are found by name, and other columns are ignored
    np.testing.assert_array_equal(averaged.log_density(rows[list(NAMES[::-1])].assign(other=1)), total)


def test_a_line_alone_integrates_to_one_also_where_its_scale_is_narrower(sampled):
    for scale in (SHAPE_OF_B, Shape([5.5, 6.9], [1.2], [0.8])):
        averaged = averaged_example(lines={"b": (1 - 1e-12, line_of_b())}, scales={**SHAPES, "b": scale})
        middles, widths = grid_of(averaged, "b", 3000)
        for row in sampled[:6].to_dict("records"):
            terms = averaged.log_density_terms(pd.DataFrame({**row, "b": middles}))
            assert float((np.exp(terms["b"]) * widths).sum()) == pytest.approx(1.0, abs=1e-5)


def test_probabilities_of_levels_sum_to_one(averaged, sampled):
    for name, levels in averaged.levels.items():
        sums = sum(
            np.exp(averaged.log_density_terms(sampled[:20].assign(**{name: level}))[name]) for level in levels
        )
        np.testing.assert_allclose(sums, 1.0, rtol=1e-12)


def test_values_beyond_the_support_have_the_density_of_its_end(sampled):
    averaged, row = averaged_example(), sampled[:1]
    for name, (low, high) in SUPPORT.items():
        points = SHAPES[name].points if name in SHAPES else {}
        for value, end in ((low - 5, low), (high + 5, high)):
            # a value beyond a point mass has the density next to it; in a line it keeps the place of the point
            near = np.nextafter(end, (low + high) / 2) if end in points else end
            outside, inside = (averaged.log_density(row.assign(**{name: x})) for x in (value, near))
            np.testing.assert_allclose(outside, inside, rtol=1e-5)


def test_a_line_gives_no_density_where_its_scale_ends(sampled):
    narrow = Shape([5.5, 6.5], [1.0], [1.0])
    line = line_of_b(scales=np.full(2, 0.8))
    averaged = averaged_example(scales={**SHAPES, "b": narrow}, lines={"b": (0.25, line)})
    bins = averaged_example(lines={})
    for value, is_inside in ((5.2, False), (5.5, True), (6.5, True), (6.9, False), (9.0, False)):
        row = sampled[:1].assign(b=value)
        gain = float((averaged.log_density_terms(row)["b"] - bins.log_density_terms(row)["b"])[0])
        if is_inside:
            assert gain != pytest.approx(math.log(0.75))
        else:
            assert gain == pytest.approx(math.log(0.75))


def test_sampled_values_follow_their_density_given_the_parents(averaged, sampled):
    rows = sampled[:400]
    for name in SUPPORT:
        middles, widths = grid_of(averaged, name, 300)
        n = len(middles)
        parents = rows.loc[rows.index.repeat(n)].assign(**{name: np.tile(middles, len(rows))})
        masses = np.exp(averaged.log_density_terms(parents)[name]).reshape(-1, n) * widths
        below = np.cumsum(masses, axis=1)
        below /= below[:, -1:]
        values = rows[name].to_numpy(float)
        points = SHAPES[name].points if name in SHAPES else {}
        measured = ~np.isin(values, list(points))
        cells = np.minimum(np.searchsorted(middles - widths / 2, values, side="right") - 1, n - 1)
        shares = np.take_along_axis(below, cells[:, None], axis=1)[:, 0]
        assert kstest(shares[measured], "uniform").pvalue > 1e-3, name
        if points:
            at_point = averaged.log_density_terms(sampled.assign(**{name: 0.0}))[name]
            assert_frequency(np.exp(at_point), sampled[name].to_numpy(float) == 0.0)


def test_sampled_levels_follow_their_probabilities_given_the_parents(averaged, sampled):
    for name, levels in averaged.levels.items():
        for level in levels:
            terms = averaged.log_density_terms(sampled.assign(**{name: level}))
            assert_frequency(np.exp(terms[name]), (sampled[name] == level).to_numpy(bool))


def assert_frequency(probabilities: NDArray[np.float64], happened: NDArray[np.bool_]) -> None:
    """Assert that independent events happened about as often as expected."""
    deviation = math.sqrt(float((probabilities * (1 - probabilities)).sum()))
    assert abs(float(happened.sum() - probabilities.sum())) < 4 * deviation


def test_samples_have_the_columns_of_the_network_and_depend_on_the_seed(averaged):
    first, again, other = (averaged.sample(50, random_state=seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(other)
    pd.testing.assert_frame_equal(first, averaged.sample(50, np.random.default_rng(1)))
    assert tuple(first.columns) == NAMES
    assert tuple(first["d"].cat.categories) == (0, 1, 2)
    assert len(averaged.sample(0)) == 0
    for name, (low, high) in SUPPORT.items():
        assert first[name].between(low, high).all()
    with pytest.raises(GomeaBnError, match="n must be an integer of at least 0, got -1"):
        averaged.sample(-1)
    with pytest.raises(GomeaBnError, match="random_state must be"):
        averaged.sample(1, untyped("x"))


@pytest.mark.parametrize("ask", ["cut_probabilities", "cut_intervals"])
def test_what_is_known_of_cuts_is_that_of_continuous_columns(averaged, ask):
    for name, message in (("g", "'g' is discrete; only continuous"), ("q", "'q'")):
        with pytest.raises(GomeaBnError, match=message):
            getattr(averaged, ask)(name)
    kind = ask.removeprefix("cut_")
    with pytest.raises(GomeaBnError, match=f"no {kind} of cuts; average_families computes them"):
        getattr(averaged_example(**{ask: None}), ask)("b")


def test_the_probabilities_of_cuts_are_those_given(averaged):
    frame = averaged.cut_probabilities("b")
    cuts = averaged.cut_points["b"].tolist()
    assert frame["cut"].tolist() == cuts
    assert frame["probability"].tolist() == np.linspace(0.3, 0.95, len(cuts)).tolist()
    assert frame["low"].tolist()[0] == 5.0
    assert frame["high"].tolist()[-1] == 7.0
    assert frame["low"].tolist()[1:] == frame["high"].tolist()[:-1]


def test_the_intervals_of_cuts_are_those_given(averaged):
    frame = averaged.cut_intervals("p")
    cuts = averaged.cut_points["p"]
    assert list(frame.columns) == ["cut", "low", "high"]
    np.testing.assert_array_equal(frame["cut"], cuts)
    np.testing.assert_array_equal(frame["low"], np.maximum(cuts - 0.1, 0.0))
    np.testing.assert_array_equal(frame["high"], np.minimum(cuts + 0.2, 10.0))
    assert len(averaged_example(cut_intervals=None).cut_probabilities("b"))


@pytest.mark.parametrize(
    "pair", [5, None, "x", (5.5,), (5.5, math.nan), (4.9, 6.0), (6.0, 7.1), (6.0, 5.5), (5.5, 6.0, 6.5)]
)
def test_wrong_intervals_of_cuts_are_refused(pair):
    cuts = copy_with(1).cut_points
    given: dict[str, Any] = {name: [SUPPORT[name]] * len(cuts[name]) for name in cuts}
    wanted = "cut_intervals of 'b' must be a pair of a low and a high end between 5 and 7 for each of "
    with pytest.raises(GomeaBnError, match=f"{wanted}{len(cuts['b'])} cuts?, got"):
        averaged_example(cut_intervals={**given, "b": [pair] * len(cuts["b"])})
    with pytest.raises(GomeaBnError, match="cut_intervals must have an entry for 'p', got none"):
        averaged_example(cut_intervals={"a": given["a"]})


def test_intervals_round_cuts_end_half_way():
    lows, highs = around_cuts(np.array([1.0, 2.0, 5.0]), (0.0, 6.0))
    assert lows.tolist() == [0.0, 1.5, 3.5]
    assert highs.tolist() == [1.5, 3.5, 6.0]
    lows, highs = around_cuts(np.array([1.0]), (0.0, 6.0))
    assert (lows.tolist(), highs.tolist()) == ([0.0], [6.0])
    lows, highs = around_cuts(np.empty(0), (0.0, 6.0))
    assert (len(lows), len(highs)) == (0, 0)


def test_distributions_given_all_parents_are_averaged(averaged):
    curve = averaged.conditional_density("c", {"b": 5.9})
    np.testing.assert_array_equal(curve.densities, conditional_density(averaged, "c", {"b": 5.9}).densities)
    rows = pd.DataFrame({name: [0] for name in NAMES}).assign(g="no", c=0.3, b=5.9)
    expected = [math.exp(averaged.log_density_terms(rows.assign(d=d))["d"][0]) for d in (0, 1, 2)]
    np.testing.assert_allclose(averaged.conditional_probabilities("d", {"c": 0.3}), expected)


def test_exports_are_those_of_the_tables(averaged):
    tables = averaged.of_tables()
    assert tables.conditionals is None
    assert tables.of_tables() is tables
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for export in ("to_bif", "to_net", "to_dot", "to_xdsl"):
            assert getattr(averaged.compiled(), export)() == getattr(tables, export)()
    assert averaged.to_pyagrum().cpt("d").toarray().tolist() == averaged.tables["d"].tolist()


def test_networks_with_conditionals_are_values(averaged):
    same = averaged_example()
    assert same == averaged
    assert hash(same) == hash(averaged)
    assert hash(same.conditionals) == hash(averaged.conditionals)
    for again in (pickle.loads(pickle.dumps(averaged)), copy.deepcopy(averaged)):
        assert again == averaged
        assert effects_on(again, "b").scales.tolist() == [0.4, 0.2]
    assert averaged != averaged.of_tables()
    assert averaged.conditionals != 5
    for parts in (
        {"n_rows": 61},
        {"lines": {}},
        {"lines": {"b": (0.41, line_of_b())}},
        {"copies": [tables_of(copy_with(1))]},
        {"cut_probabilities": None},
        {"cut_intervals": None},
        {"fixed": {"a": 1.0}},
    ):
        assert averaged.changed(conditionals=conditionals_example(**parts)) != averaged


def test_conditionals_cannot_be_changed(averaged):
    known = conditionals_of(averaged)
    with pytest.raises(AttributeError, match="cannot be changed"):
        known.n_rows = 5  # type: ignore[misc]
    with pytest.raises(AttributeError, match="cannot be changed"):
        del known.stacks
    before = averaged.to_json()
    for part in (known.stacks, known.scales, known.units, known.cut_probabilities):
        with pytest.raises(AttributeError):
            part.clear()  # type: ignore[union-attr]
    averaged.cut_probabilities("b")["probability"] = 0.0
    for array in (
        effects_on(averaged, "b").scales,
        sets_of(averaged)[0].tables["a"],
        sets_of(averaged)[0].cut_points["a"],
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    assert averaged.to_json() == before


def test_the_parts_are_those_given(averaged):
    known = conditionals_of(averaged)
    for seed, tables in enumerate(sets_of(averaged), start=1):
        network = copy_with(seed)
        for name in NAMES:
            assert tables.parents[name] == network.parents(name)
            np.testing.assert_array_equal(tables.tables[name], network.tables[name])
            np.testing.assert_array_equal(tables.cut_points.get(name), network.cut_points.get(name))
    assert known.n_rows == N_ROWS
    assert known.scales == {**SHAPES, "b": SHAPE_OF_B}
    assert known.units == UNITS
    assert repr(known) == "Conditionals(3 sets of cuts, 2 lines)"


def test_the_mean_weight_of_lines_counts_columns_with_continuous_parents(averaged):
    # "b" and "c" have continuous parents, "a" and "p" none
    def mean_weight(**parts: Any) -> float:
        return conditionals_example(**parts).mean_line_weight(averaged)

    assert mean_weight() == pytest.approx((0.4 + 0.7) / 2)
    assert mean_weight(lines={"b": (0.4, line_of_b())}) == pytest.approx(0.2)
    assert mean_weight(lines={}) == 0.0
    assert Conditionals.of_tables([tables_of(OTHER)], n_rows=5).mean_line_weight(OTHER) == 0.0


OTHER = one_column([], (0, 1), [1.0], name="a")
POINTED = Shape([0.0, 1.0], [0.9], [0.5], {0.0: 0.3})


def amounts_on_b(of: list[str], n_levels: int) -> FamilyEffects:
    """Return amounts of levels that are effects on "b"."""
    return line_of_b(terms=Terms((indicators(of, [n_levels]),)), coefficients=np.zeros(1 + n_levels))


def tables_with(part: str, name: str, value: object) -> TableSet:
    """Return tables in which one entry of one part is another one, or absent for None."""
    given: dict[str, Any] = {
        which: dict(getattr(tables_of(copy_with(1)), which)) for which in ("cut_points", "parents", "tables")
    }
    given[part][name] = value
    if value is None:
        del given[part][name]
    return TableSet(**given)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"n_rows": 0}, "n_rows must be an integer of at least 1, got 0"),
        ({"copies": []}, "must have at least one set of cuts, got none"),
        ({"copies": [tables_of(OTHER)], "lines": {}}, "stacks must have an entry for 'g', got none"),
        ({"copies": [tables_with("tables", "d", None)]}, "stacks must have an entry for 'd'"),
        ({"copies": [tables_with("cut_points", "c", None)]}, "A table of 'c' must have cuts of"),
        ({"copies": [tables_with("parents", "d", ("a",))]}, r"A table of 'd' must have some of the parents"),
        ({"copies": [tables_with("parents", "b", ("p", "a"))]}, r"A table of 'b' must have some"),
        ({"copies": [tables_with("parents", "d", ())]}, r"tables\['d'\] must have shape \(3,\)"),
        ({"copies": [tables_with("cut_points", "a", [9.0])]}, r"cut_points\['a'\] must lie inside"),
        ({"fixed": {"q": 1.0}}, "stacks: unknown variable 'q'"),
        ({"fixed": {"g": 2.0}}, "The fixed value of 'g' must be from 0 to 1, got 2.0"),
        ({"fixed": {"a": 9.0}}, "The fixed value of 'a' must be from -1 to 3, got 9.0"),
        ({"fixed": {"a": "x"}}, "The fixed value of 'a' must be from -1 to 3, got 'x'"),
        ({"lines": {"b": (0.5, 5)}}, "A member of a stack must be a kind of conditional, got int"),
        ({"lines": {"b": (1.5, line_of_b())}}, "The weight of tables must be a number above 0"),
        ({"lines": {"b": (np.nan, line_of_b())}}, "The weight of tables must be a number above 0"),
        ({"lines": {"g": (0.5, line_of_b())}}, "'g' is discrete and cannot follow a sum of effects"),
        ({"lines": {"c": (0.5, line_of_b())}}, "The effects on 'c' are of 'a', which is no parent"),
        ({"lines": {"b": (0.5, line_of_b(parents=("p", "c")))}}, "The effects on 'b' are of 'c', which is no parent"),
        ({"lines": {"b": (0.5, line_of_b(parents=("p",)))}}, "are of 'a', which is no continuous parent"),
        ({"lines": {"b": (0.5, line_of_b(groups=()))}}, "The effects on 'b' are of 'g', which is no discrete parent"),
        ({"lines": {"b": (0.5, amounts_on_b(["g"], 3))}}, r"The effects of \('g',\) on 'b' must have 2 rows, .* got 3"),
        ({"lines": {"b": (0.5, line_of_b(scales=np.ones(3), freedom=np.ones(3)))}}, "must have 1 or 2 scales, got 3"),
        (
            {"lines": {"c": (0.5, curve_of_c(in_units=False, transform=[[0.0, 1.0]] * 2))}, "scales": {"c": POINTED}},
            r"The effects on 'c' have a transform, but scales\['c'\] has point masses",
        ),
        ({"scales": None}, "scales must have an entry for 'p', which has an effect"),
        ({"scales": {"a": SHAPES["a"], "p": SHAPES["p"]}}, "scales must have an entry for 'b', which is a sum"),
        ({"scales": {"b": SHAPE_OF_B}}, "scales must have an entry for 'p', which has an effect"),
        ({"scales": {"q": SHAPE_OF_B}}, "scales: unknown variable 'q'"),
        ({"scales": {"g": SHAPE_OF_B}}, "scales must not have an entry for 'g', which is discrete"),
        ({"units": None}, "units must have an entry for 'b', which has an effect"),
        ({"units": {"b": UNITS["b"]}}, "units must have an entry for 'c', which is a sum of effects"),
        ({"units": {"g": (0.0, 1.0)}}, "units must have entries of continuous variables only, got 'g'"),
        ({"units": {"c": (0.0, 0.0)}}, r"units\['c'\] must be a centre and a spread above 0"),
        ({"units": {"c": 5}}, r"units\['c'\] must be a centre and a spread above 0"),
        ({"scales": {"a": 5}}, r"scales\['a'\] must be a Shape, got int"),
        ({"cut_probabilities": {"a": [0.5]}}, "cut_probabilities must have an entry for 'p', got none"),
        ({"cut_probabilities": {"g": [0.5]}}, "cut_probabilities must not have an entry for 'g'"),
    ],
)  # fmt: skip
def test_parts_that_do_not_fit_are_refused(parts, message):
    with pytest.raises(GomeaBnError, match=message):
        averaged_example(**parts)


@pytest.mark.parametrize("values", [5, None, ["x"], [0.5] * 9, [[0.5]], [-0.1], [1.1], [math.nan], "x"])
def test_wrong_probabilities_of_cuts_are_refused(values):
    given: dict[str, Any] = {name: np.full(len(cuts), 0.5) for name, cuts in copy_with(1).cut_points.items()}
    n = len(given["b"])
    # a wrong number instead of a wrong shape
    if isinstance(values, list) and len(values) == 1 and isinstance(values[0], float):
        values = values * n
    with pytest.raises(
        GomeaBnError, match=f"cut_probabilities of 'b' must be one number from 0 to 1 for each of {n}"
    ):
        averaged_example(cut_probabilities={**given, "b": values})


def test_rows_that_do_not_fit_are_refused(averaged, sampled):
    with pytest.raises(GomeaBnError, match="frame must have at least one row, got none"):
        averaged.score(sampled[:0])
    with pytest.raises(GomeaBnError, match="no column 'b'"):
        averaged.log_density(sampled.drop(columns="b"))
    with pytest.raises(GomeaBnError, match="'b'"):
        averaged.log_density_terms(sampled[:2].assign(b=[1.0, math.nan]))
    with pytest.raises(GomeaBnError, match="'g'"):
        averaged.log_density(sampled[:2].assign(g=["no", "perhaps"]), unknown="error")


def test_conditionals_are_checked_again_for_other_bins_and_graphs_alone(
    averaged: DiscretizedBayesNet,
) -> None:
    known = averaged.conditionals
    assert known is not None
    assert averaged.changed(tables=averaged.tables).conditionals is known
    wider = {**averaged.support, "b": (averaged.support["b"][0] - 1, averaged.support["b"][1] + 1)}
    assert known.checked(averaged.of_tables().changed(support=wider, shapes={})) is not known
    with pytest.raises(GomeaBnError, match="in this order"):
        known.checked(averaged.of_tables().in_order(NAMES[::-1]))
