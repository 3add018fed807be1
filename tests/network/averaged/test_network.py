"""Averaged networks: densities against slow twins and quadrature, samples against densities, and parts."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from pathlib import Path
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
    copy_with,
    grid_of,
    line_of_b,
    surface_of_c,
)
from network_examples import slow_code
from numpy.typing import NDArray
from scipy.stats import kstest, norm
from scipy.stats import t as student
from shape_oracles import slow_distribution, slow_log_density, slow_mass
from wrong_input import untyped

from gomea_bn.errors import GomeaBnError, GomeaBnWarning
from gomea_bn.network.averaged.checks import around_cuts
from gomea_bn.network.averaged.network import AveragedBayesNet
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.distributions.conditionals import conditional_density
from gomea_bn.problems.cuts.shape import Shape


@pytest.fixture(scope="module")
def averaged() -> AveragedBayesNet:
    return averaged_example()


@pytest.fixture(scope="module")
def sampled(averaged: AveragedBayesNet) -> pd.DataFrame:
    return averaged.sample(2000, random_state=4)


def slow_bins(network: DiscretizedBayesNet, row: dict[Any, Any], name: str) -> float:
    """Return the density of a variable given its parents in one network, bin by bin."""
    codes = {member: slow_code(network, member, row[member]) for member in (*network.parents(name), name)}
    probability = float(network.tables[name][tuple(codes.values())])
    if name in network.levels:
        return probability
    edges = [network.support[name][0], *network.cut_points[name].tolist(), network.support[name][1]]
    low, high = edges[codes[name]], edges[codes[name] + 1]
    if name not in network.shapes:
        return probability / (high - low)
    shape = network.shapes[name]
    return probability * math.exp(slow_log_density(shape, row[name])) / slow_mass(shape, low, high)


def slow_place(shape: Shape, value: float) -> float:
    """Return the place of a value on the scale of a column."""
    share = slow_distribution(shape, value) - shape.points.get(value, 0.0) / 2
    return float(norm.ppf((N_ROWS * share + 0.5) / (N_ROWS + 1)))


def slow_line(averaged: AveragedBayesNet, row: dict[Any, Any], name: str) -> float:
    """Return the density of a variable given its parents under its line."""
    line = averaged.lines[name]
    if line.in_units:
        return slow_surface(averaged, row, name)
    shape = averaged.scales[name]
    group = 0
    for member in line.groups:
        group = group * len(averaged.network.levels[member]) + slow_code(
            averaged.network, member, row[member]
        )
    intercept, *slopes = line.coefficients[group].tolist()
    places = [slow_place(averaged.scales[parent], row[parent]) for parent in line.parents]
    high = float(norm.ppf((N_ROWS + 0.5) / (N_ROWS + 1)))
    mean = intercept + sum(slope * place for slope, place in zip(slopes, places, strict=True))
    law = student(line.freedom[group], min(max(mean, -high), high), line.scales[group])
    z = slow_place(shape, row[name])
    of_place = law.pdf(z) / (law.cdf(high) - law.cdf(-high))
    slope = N_ROWS / (N_ROWS + 1) * math.exp(slow_log_density(shape, row[name])) / norm.pdf(z)
    return float(of_place * slope)


def slow_surface(averaged: AveragedBayesNet, row: dict[Any, Any], name: str) -> float:
    """Return the density of a variable under a surface of one parent in own units."""
    line = averaged.lines[name]
    (parent,) = line.parents
    places = {}
    for member in (parent, name):
        centre, spread = averaged.units[member]
        places[member] = (row[member] - centre) / spread
    z = places[parent]
    terms = [1.0, z, *(max(z - knot, 0.0) for knot in line.knots[0].tolist()), z * z]
    mean = sum(c * term for c, term in zip(line.coefficients[0].tolist(), terms, strict=True))
    centre, spread = averaged.units[name]
    low, high = ((end - centre) / spread for end in averaged.network.support[name])
    law = student(line.freedom[0], min(max(mean, low), high), line.scales[0])
    return float(law.pdf(places[name]) / (law.cdf(high) - law.cdf(low)) / spread)


# ---------------------------------------------------------------- densities


def test_the_density_is_the_mixture_of_copies_and_lines(
    averaged: AveragedBayesNet, sampled: pd.DataFrame
) -> None:
    rows = sampled[:60]
    terms = averaged.log_density_terms(rows)
    assert tuple(terms) == NAMES
    for position, row in enumerate(rows.to_dict("records")):
        for name in NAMES:
            density = math.fsum(slow_bins(network, row, name) for network in averaged.copies) / 3
            if name in averaged.lines:
                weight = averaged.lines[name].weight
                density = (1 - weight) * density + weight * slow_line(averaged, row, name)
            assert terms[name][position] == pytest.approx(math.log(density), abs=1e-9)
    total = averaged.log_density(rows)
    np.testing.assert_allclose(total, sum(terms.values()), rtol=1e-12)
    assert averaged.score(rows) == pytest.approx(total.mean())
    # columns are found by name, and other columns are ignored
    other = rows[list(NAMES[::-1])].assign(other=1)
    np.testing.assert_array_equal(averaged.log_density(other), total)


@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize("name", SUPPORT)
def test_densities_given_parents_integrate_to_one(sampled: pd.DataFrame, name: str, lines: bool) -> None:
    averaged = averaged_example() if lines else averaged_example(lines={})
    middles, widths = grid_of(averaged, name, 6000)
    for row in sampled[:8].to_dict("records"):
        grid = pd.DataFrame({**row, name: middles})
        total = float((np.exp(averaged.log_density_terms(grid)[name]) * widths).sum())
        points = averaged.network.shapes[name].points if name in averaged.network.shapes else {}
        for value in points:
            total += math.exp(
                float(averaged.log_density_terms(pd.DataFrame([{**row, name: value}]))[name][0])
            )
        assert total == pytest.approx(1.0, abs=1e-5)


def test_a_line_alone_integrates_to_one_also_where_its_scale_is_narrower(sampled: pd.DataFrame) -> None:
    for scale in (SHAPE_OF_B, Shape([5.5, 6.9], [1.2], [0.8])):
        averaged = averaged_example(lines={"b": line_of_b(weight=1 - 1e-12)}, scales={**SHAPES, "b": scale})
        middles, widths = grid_of(averaged, "b", 3000)
        for row in sampled[:6].to_dict("records"):
            terms = averaged.log_density_terms(pd.DataFrame({**row, "b": middles}))
            assert float((np.exp(terms["b"]) * widths).sum()) == pytest.approx(1.0, abs=1e-5)


def test_probabilities_of_levels_sum_to_one(averaged: AveragedBayesNet, sampled: pd.DataFrame) -> None:
    for name, levels in averaged.network.levels.items():
        sums = sum(
            np.exp(averaged.log_density_terms(sampled[:20].assign(**{name: level}))[name]) for level in levels
        )
        np.testing.assert_allclose(sums, 1.0, rtol=1e-12)


def test_values_beyond_the_support_have_the_density_of_its_end(sampled: pd.DataFrame) -> None:
    averaged, row = averaged_example(), sampled[:1]
    for name, (low, high) in SUPPORT.items():
        points = SHAPES[name].points if name in SHAPES else {}
        for value, end in ((low - 5, low), (high + 5, high)):
            # a value beyond a point mass has the density next to it; in a line it keeps the place of the point
            near = np.nextafter(end, (low + high) / 2) if end in points else end
            outside, inside = (averaged.log_density(row.assign(**{name: x})) for x in (value, near))
            np.testing.assert_allclose(outside, inside, rtol=1e-5)


def test_a_line_gives_no_density_where_its_scale_ends(sampled: pd.DataFrame) -> None:
    narrow = Shape([5.5, 6.5], [1.0], [1.0])
    line = line_of_b(weight=0.25, scales=np.full(2, 0.8))
    averaged = averaged_example(scales={**SHAPES, "b": narrow}, lines={"b": line})
    bins = averaged_example(lines={})
    for value, is_inside in ((5.2, False), (5.5, True), (6.5, True), (6.9, False), (9.0, False)):
        row = sampled[:1].assign(b=value)
        gain = float((averaged.log_density_terms(row)["b"] - bins.log_density_terms(row)["b"])[0])
        if is_inside:
            assert gain != pytest.approx(math.log(0.75))
        else:
            assert gain == pytest.approx(math.log(0.75))


# ---------------------------------------------------------------- samples


def test_sampled_values_follow_their_density_given_the_parents(
    averaged: AveragedBayesNet, sampled: pd.DataFrame
) -> None:
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


def test_sampled_levels_follow_their_probabilities_given_the_parents(
    averaged: AveragedBayesNet, sampled: pd.DataFrame
) -> None:
    for name, levels in averaged.network.levels.items():
        for level in levels:
            terms = averaged.log_density_terms(sampled.assign(**{name: level}))
            assert_frequency(np.exp(terms[name]), (sampled[name] == level).to_numpy(bool))


def assert_frequency(probabilities: NDArray[np.float64], happened: NDArray[np.bool_]) -> None:
    """Assert that independent events happened about as often as expected."""
    deviation = math.sqrt(float((probabilities * (1 - probabilities)).sum()))
    assert abs(float(happened.sum() - probabilities.sum())) < 4 * deviation


def test_samples_have_the_columns_of_the_network_and_depend_on_the_seed(averaged: AveragedBayesNet) -> None:
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


# ---------------------------------------------------------------- cuts


def test_the_probabilities_of_cuts_are_those_given(averaged: AveragedBayesNet) -> None:
    assert averaged.has_cut_probabilities
    frame = averaged.cut_probabilities("b")
    cuts = averaged.network.cut_points["b"].tolist()
    assert frame["cut"].tolist() == cuts
    assert frame["probability"].tolist() == np.linspace(0.3, 0.95, len(cuts)).tolist()
    assert frame["low"].tolist()[0] == 5.0
    assert frame["high"].tolist()[-1] == 7.0
    assert frame["low"].tolist()[1:] == frame["high"].tolist()[:-1]
    for name, message in (("g", "'g' is discrete; only continuous"), ("q", "'q'")):
        with pytest.raises(GomeaBnError, match=message):
            averaged.cut_probabilities(name)
    unsure = averaged_example(cut_probabilities=None)
    assert not unsure.has_cut_probabilities
    with pytest.raises(GomeaBnError, match="no probabilities of cuts; average_families computes them"):
        unsure.cut_probabilities("b")


def test_the_intervals_of_cuts_are_those_given(averaged: AveragedBayesNet) -> None:
    assert averaged.has_cut_intervals
    frame = averaged.cut_intervals("p")
    cuts = averaged.network.cut_points["p"]
    assert list(frame.columns) == ["cut", "low", "high"]
    np.testing.assert_array_equal(frame["cut"], cuts)
    np.testing.assert_array_equal(frame["low"], np.maximum(cuts - 0.1, 0.0))
    np.testing.assert_array_equal(frame["high"], np.minimum(cuts + 0.2, 10.0))
    for name, message in (("g", "'g' is discrete; only continuous"), ("q", "'q'")):
        with pytest.raises(GomeaBnError, match=message):
            averaged.cut_intervals(name)
    # files of earlier versions have none
    without = averaged_example(cut_intervals=None)
    assert not without.has_cut_intervals
    assert without.has_cut_probabilities
    with pytest.raises(GomeaBnError, match="no intervals of cuts; average_families computes them"):
        without.cut_intervals("b")


@pytest.mark.parametrize(
    "pair", [5, None, "x", (5.5,), (5.5, math.nan), (4.9, 6.0), (6.0, 7.1), (6.0, 5.5), (5.5, 6.0, 6.5)]
)
def test_wrong_intervals_of_cuts_are_refused(pair: object) -> None:
    cuts = copy_with(1).cut_points
    given: dict[str, Any] = {name: [SUPPORT[name]] * len(cuts[name]) for name in cuts}
    wanted = "cut_intervals of 'b' must be a pair of a low and a high end between 5 and 7 for each of "
    with pytest.raises(GomeaBnError, match=f"{wanted}{len(cuts['b'])} cuts?, got"):
        averaged_example(cut_intervals={**given, "b": [pair] * len(cuts["b"])})
    with pytest.raises(GomeaBnError, match="cut_intervals must have an entry for 'p', got none"):
        averaged_example(cut_intervals={"a": given["a"]})


def test_intervals_round_cuts_end_half_way() -> None:
    lows, highs = around_cuts(np.array([1.0, 2.0, 5.0]), (0.0, 6.0))
    assert lows.tolist() == [0.0, 1.5, 3.5]
    assert highs.tolist() == [1.5, 3.5, 6.0]
    lows, highs = around_cuts(np.array([1.0]), (0.0, 6.0))
    assert (lows.tolist(), highs.tolist()) == ([0.0], [6.0])
    lows, highs = around_cuts(np.empty(0), (0.0, 6.0))
    assert (len(lows), len(highs)) == (0, 0)


# ---------------------------------------------------------------- exports and queries


def test_queries_are_those_of_the_network_that_is_shown(averaged: AveragedBayesNet) -> None:
    for target, evidence in (("d", {"b": 5.7, "g": "yes"}), ("b", {"d": 1}), ("a", None)):
        answer, shown = averaged.query(target, evidence), averaged.network.query(target, evidence)
        assert isinstance(answer, pd.Series)
        assert isinstance(shown, pd.Series)
        pd.testing.assert_series_equal(answer, shown)


def test_distributions_given_all_parents_are_averaged(averaged: AveragedBayesNet) -> None:
    curve = averaged.conditional_density("c", {"b": 5.9})
    np.testing.assert_array_equal(curve.densities, conditional_density(averaged, "c", {"b": 5.9}).densities)
    rows = pd.DataFrame({name: [0] for name in NAMES}).assign(g="no", c=0.3, b=5.9)
    expected = [math.exp(averaged.log_density_terms(rows.assign(d=d))["d"][0]) for d in (0, 1, 2)]
    np.testing.assert_allclose(averaged.conditional_probabilities("d", {"c": 0.3}), expected)


def test_exports_of_tables_say_what_they_leave_out(averaged: AveragedBayesNet, tmp_path: Path) -> None:
    left_out = "holds the bins of one network. It leaves out the average over 3 sets of cuts and 2 lines"
    with pytest.warns(GomeaBnWarning, match=f"The export to BIF {left_out}"):
        text = averaged.to_bif(tmp_path / "a.bif")
    assert text == averaged.network.to_bif() == (tmp_path / "a.bif").read_text(encoding="utf-8")
    with pytest.warns(GomeaBnWarning, match=f"The export to pyAgrum {left_out}"):
        model = averaged.to_pyagrum()
    assert set(model.names()) == set(NAMES)
    with pytest.warns(GomeaBnWarning, match="The export to pgmpy") as caught:
        assert set(averaged.to_pgmpy().nodes()) == set(NAMES)
    assert "Use to_json, which keeps everything, or export averaged.network" in str(caught[0].message)
    # the warning names the line of the caller
    assert caught[0].filename == __file__
    without = averaged_example(lines={}, copies=[copy_with(1)])
    with pytest.warns(GomeaBnWarning, match=r"average over 1 set of cuts, so that"):
        without.to_bif()


def test_graphs_are_exported_without_a_warning(averaged: AveragedBayesNet) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert averaged.to_dot() == averaged.network.to_dot()
        graph, expected = averaged.to_networkx(), averaged.network.to_networkx()
        assert dict(graph.nodes) == dict(expected.nodes)
        assert set(graph.edges) == set(averaged.edges)
        assert averaged.plot().texts


# ---------------------------------------------------------------- the object


def test_averaged_networks_are_values(averaged: AveragedBayesNet) -> None:
    same = averaged_example()
    assert same == averaged
    assert hash(same) == hash(averaged)
    for again in (pickle.loads(pickle.dumps(averaged)), copy.deepcopy(averaged)):
        assert again == averaged
        assert again.lines["b"].scales.tolist() == [0.4, 0.2]
    assert averaged != averaged.network
    for parts in (
        {"n_rows": 61},
        {"lines": {}},
        {"lines": {"b": line_of_b(weight=0.41)}},
        {"copies": [copy_with(1)]},
        {"cut_probabilities": None},
        {"cut_intervals": None},
        {"network": copy_with(2), "cut_probabilities": None, "cut_intervals": None},
    ):
        assert averaged_example(**parts) != averaged


def test_averaged_networks_cannot_be_changed(averaged: AveragedBayesNet) -> None:
    with pytest.raises(AttributeError, match="cannot be changed"):
        averaged.network = copy_with(2)  # type: ignore[misc]
    with pytest.raises(AttributeError, match="cannot be changed"):
        del averaged._lines
    before = averaged.to_json()
    averaged.lines.clear()
    averaged.scales.clear()
    frame = averaged.cut_probabilities("b")
    frame["probability"] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        averaged.lines["b"].scales[0] = 1.0
    assert averaged.to_json() == before


def test_the_parts_are_those_given(averaged: AveragedBayesNet) -> None:
    assert averaged.network == copy_with(1)
    assert averaged.copies == tuple(copy_with(seed) for seed in (1, 2, 3))
    assert averaged.names == NAMES
    assert averaged.edges == copy_with(1).edges
    assert averaged.n_rows == N_ROWS
    assert averaged.scales == {**SHAPES, "b": SHAPE_OF_B}
    assert averaged.units == UNITS
    assert repr(averaged) == "AveragedBayesNet(3 sets of cuts, 2 lines, 6 edges)"


def test_the_mean_weight_of_lines_counts_columns_with_continuous_parents(averaged: AveragedBayesNet) -> None:
    # "b" and "c" have continuous parents, "a" and "p" none
    assert averaged.mean_line_weight == pytest.approx((0.4 + 0.7) / 2)
    assert averaged_example(lines={"b": line_of_b()}).mean_line_weight == pytest.approx(0.2)
    assert averaged_example(lines={}).mean_line_weight == 0.0
    assert AveragedBayesNet(OTHER, [OTHER], n_rows=5).mean_line_weight == 0.0


OTHER = DiscretizedBayesNet(
    ["a"], [], cut_points={"a": []}, support={"a": (0, 1)}, levels={}, tables={"a": [1.0]}
)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"network": 5}, "network must be a DiscretizedBayesNet, got int"),
        ({"n_rows": 0}, "n_rows must be an integer of at least 1, got 0"),
        ({"copies": []}, "copies must hold at least one network, got none"),
        ({"copies": [5]}, "Copies must be DiscretizedBayesNets, got int"),
        ({"copies": [copy_with(1), OTHER]}, "Copies must have the variables, edges, support and shapes"),
        ({"lines": {"b": 5}}, r"lines\['b'\] must be a FamilyLine, got int"),
        ({"lines": {"q": line_of_b()}}, "'q'"),
        ({"lines": {"g": line_of_b()}}, "lines must not have an entry for 'g', which is discrete"),
        ({"lines": {"c": line_of_b()}}, r"The line of 'c' must have the continuous parents \('b',\)"),
        (
            {"lines": {"b": line_of_b(parents=("p", "a"))}},
            r"The line of 'b' must have the continuous parents",
        ),
        ({"lines": {"b": line_of_b(groups=())}}, r"The line of 'b' must .* discrete parents \('g',\)"),
        (
            {"lines": {"b": line_of_b(coefficients=np.zeros((1, 3)), scales=np.ones(1), freedom=np.ones(1))}},
            "The line of 'b' must have 2 groups, got 1",
        ),
        ({"scales": None}, "scales must have an entry for 'b', which is part of a line"),
        ({"scales": {"b": SHAPE_OF_B}}, "scales must have an entry for 'a', which is part of a line"),
        ({"scales": {"q": SHAPE_OF_B}}, "scales: unknown variable 'q'"),
        ({"scales": {"g": SHAPE_OF_B}}, "scales must not have an entry for 'g', which is discrete"),
        ({"units": None}, "units must have an entry for 'c', which is part of a line"),
        ({"units": {"c": UNITS["c"]}}, "units must have an entry for 'b', which is part of a line"),
        ({"units": {"g": (0.0, 1.0)}}, "units must have entries of continuous variables only, got 'g'"),
        ({"units": {"c": (0.0, 0.0)}}, r"units\['c'\] must be a centre and a spread above 0"),
        ({"units": {"c": 5}}, r"units\['c'\] must be a centre and a spread above 0"),
        ({"lines": {"c": surface_of_c(in_units=False), "b": 5}}, r"lines\['b'\] must be a FamilyLine"),
        ({"scales": {"a": 5}}, r"scales\['a'\] must be a Shape, got int"),
        ({"cut_probabilities": {"a": [0.5]}}, "cut_probabilities must have an entry for 'p', got none"),
        ({"cut_probabilities": {"g": [0.5]}}, "cut_probabilities must not have an entry for 'g'"),
    ],
)
def test_parts_that_do_not_fit_are_refused(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(GomeaBnError, match=message):
        averaged_example(**parts)


@pytest.mark.parametrize("values", [5, None, ["x"], [0.5] * 9, [[0.5]], [-0.1], [1.1], [math.nan], "x"])
def test_wrong_probabilities_of_cuts_are_refused(values: object) -> None:
    given: dict[str, Any] = {name: np.full(len(cuts), 0.5) for name, cuts in copy_with(1).cut_points.items()}
    n = len(given["b"])
    # a wrong number instead of a wrong shape
    if isinstance(values, list) and len(values) == 1 and isinstance(values[0], float):
        values = values * n
    with pytest.raises(
        GomeaBnError, match=f"cut_probabilities of 'b' must be one number from 0 to 1 for each of {n}"
    ):
        averaged_example(cut_probabilities={**given, "b": values})


def test_rows_that_do_not_fit_are_refused(averaged: AveragedBayesNet, sampled: pd.DataFrame) -> None:
    with pytest.raises(GomeaBnError, match="frame must have at least one row, got none"):
        averaged.score(sampled[:0])
    with pytest.raises(GomeaBnError, match="no column 'b'"):
        averaged.log_density(sampled.drop(columns="b"))
    with pytest.raises(GomeaBnError, match="'b'"):
        averaged.log_density(sampled[:2].assign(b=[1.0, math.nan]))
    with pytest.raises(GomeaBnError, match="'g'"):
        averaged.log_density(sampled[:2].assign(g=["no", "perhaps"]))
