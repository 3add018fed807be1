"""The network itself: construction, tables, densities, samples, equality, recorded columns."""

import copy
import itertools
import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from network_examples import (
    HOSTILE_LEVELS,
    HOSTILE_NAMES,
    RAIN_AND_HEIGHT,
    all_states,
    joint_probability,
    network_with,
    rain_and_height,
    slow_code,
    slow_log_density,
    small_network,
)
from scipy.stats import chisquare, kstest

from gomea_bn import DiscretizedBayesNet, GomeaBnError, read_table, refine_boundaries
from gomea_bn.certainty import edge_probabilities
from gomea_bn.expert.distance import mentioned_names
from gomea_bn.network import bayes_net
from gomea_bn.network.recorded import columns_of_expert_fit, fixed_columns
from gomea_bn.network.tables import draw_codes, family_counts, table_of_counts


@pytest.fixture
def network():
    return rain_and_height()


def test_the_parts_of_a_network_can_be_read(network):
    assert network.names == ("rain", "height")
    assert network.edges == [("rain", "height")]
    assert network.parents("height") == ("rain",)
    assert network.parents("rain") == ()
    assert (network.cardinality("rain"), network.cardinality("height")) == (2, 3)
    assert network.levels == {"rain": ("no", "yes")}
    assert network.support == {"height": (0.0, 4.0)}
    assert network.cut_points["height"].tolist() == [1.0, 2.5]
    assert network.tables["height"].shape == (2, 3)
    assert network.adjacency_matrix.tolist() == [[0, 1], [0, 0]]
    assert network.adjacency_matrix.dtype == np.int8
    assert network.n_parameters == 1 + 2 * 2
    assert network.bin_labels("height") == ("[0, 1]", "(1, 2.5]", "(2.5, 4]")
    assert repr(network) == "DiscretizedBayesNet(1 continuous variables with 3 bins, 1 discrete, 1 edges)"


def test_parents_are_in_the_order_of_the_columns_whatever_the_order_of_the_edges():
    tables: dict[str, Any] = {"a": [0.5, 0.5], "b": [0.5, 0.25, 0.25], "c": np.full((2, 3, 2), 0.5)}
    levels = {"a": (0, 1), "b": (0, 1, 2), "c": (0, 1)}
    for edges in ([("a", "c"), ("b", "c")], [("b", "c"), ("a", "c")]):
        network = network_with(list("abc"), edges, levels=levels, tables=tables)
        assert network.parents("c") == ("a", "b")
        assert network.edges == [("a", "c"), ("b", "c")]


def test_log_density_by_hand(network):
    rows = pd.DataFrame({"height": [1.0, 1.0001, 2.5, -3.0, 99.0], "rain": ["no", "no", "yes", "yes", "no"]})
    expected = [0.25 * 0.5 / 1, 0.25 * 0.25 / 1.5, 0.75 * 0.9 / 1.5, 0.75 * 0.1 / 1, 0.25 * 0.25 / 1.5]
    np.testing.assert_allclose(network.log_density(rows), np.log(expected), rtol=1e-14)
    assert network.score(rows) == pytest.approx(np.mean(np.log(expected)))
    assert network.log_density(pd.DataFrame({"height": [3.0], "rain": ["yes"]})).tolist() == [-math.inf]


def test_columns_go_by_name_and_others_are_ignored(network):
    rows = network.sample(50, 1)
    more = pd.concat([rows[["height"]], pd.DataFrame({"x": [None] * 50}), rows[["rain"]]], axis=1)
    np.testing.assert_array_equal(network.log_density(more), network.log_density(rows))


def test_discretize_gives_codes_on_the_frames_index(network):
    rows = pd.DataFrame({"height": [0.5, 2.5, 9.0], "rain": ["no", "yes", "yes"]}, index=[7, 3, 5])
    codes = network.discretize(rows)
    assert codes.index.tolist() == [7, 3, 5]
    assert codes.to_dict("list") == {"rain": [0, 1, 1], "height": [0, 1, 2]}


@settings(max_examples=60)
@given(seed=st.integers(0, 10_000), n_variables=st.integers(1, 5), zeros=st.booleans())
def test_log_density_equals_the_plain_twin(seed, n_variables, zeros):
    network = small_network(seed, n_variables, zeros=zeros)
    rng = np.random.default_rng(seed)
    rows = {}
    for name in network.names:
        if name in network.levels:
            levels = network.levels[name]
            rows[name] = [levels[code] for code in rng.integers(0, len(levels), 20)]
        else:
            candidates = np.concatenate(
                [network.cut_points[name], network.support[name], rng.normal(size=20) * 9]
            )
            rows[name] = rng.permutation(candidates)[:20].tolist()
    frame = pd.DataFrame(rows)
    before = frame.copy(deep=True)
    densities = network.log_density(frame)
    expected = [slow_log_density(network, {name: rows[name][row] for name in rows}) for row in range(20)]
    np.testing.assert_allclose(densities, expected, rtol=1e-12)
    codes = network.discretize(frame)
    for name in network.names:
        assert codes[name].tolist() == [slow_code(network, name, value) for value in rows[name]]
    pd.testing.assert_frame_equal(frame, before)


def test_from_table_counts_rows():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "c": rng.normal(size=200).round(1),
            "d": pd.Categorical(rng.choice(["a", "b"], 200), categories=["b", "unseen", "a"]),
            "e": rng.integers(0, 3, 200),
        }
    )
    cuts = [-0.5, 0.3]
    edges = [("e", "c"), ("d", "c")]
    for pseudo_count in (0.0, 1.0, 7.5):
        network = DiscretizedBayesNet.from_table(
            read_table(frame), edges, {"c": cuts}, pseudo_count=pseudo_count
        )
        assert network.levels == {"d": ("b", "unseen", "a"), "e": (0, 1, 2)}
        assert network.support == {"c": (frame.c.min(), frame.c.max())}
        assert network.pseudo_count == pseudo_count
        for (i, d), (j, e) in itertools.product(
            enumerate(network.levels["d"]), enumerate(network.levels["e"])
        ):
            values = [
                c for c, value_of_a, other in frame.itertuples(index=False) if value_of_a == d and other == e
            ]
            counts = [0, 0, 0]
            for value in values:
                counts[sum(value > cut for cut in cuts)] += 1
            mass = len(values) + pseudo_count
            expected = [(count + pseudo_count / 3) / mass if mass else 1 / 3 for count in counts]
            np.testing.assert_allclose(network.tables["c"][i, j], expected, rtol=1e-14)


def test_gaps_of_columns_without_children_leave_the_counts_of_the_other_rows():
    rng = np.random.default_rng(6)
    cause = rng.choice(["no", "yes"], 400)
    effects = {name: np.where(rng.random(400) < 0.7, cause, "no") for name in ("ache", "rash")}
    frame = pd.DataFrame({"cause": cause, **effects}).mask(rng.random((400, 3)) < [0, 0.3, 0.5])
    table = read_table(frame, missing="keep")
    edges = [("cause", "ache"), ("cause", "rash")]
    network = DiscretizedBayesNet.from_table(table, edges, {})
    for name in effects:
        counts = pd.crosstab(frame["cause"], frame[name]).to_numpy() + 0.5
        np.testing.assert_allclose(network.tables[name], counts / counts.sum(axis=1, keepdims=True))
    # of a gap of a cause its effects tell something
    turned = DiscretizedBayesNet.from_table(table, [("ache", "cause"), ("rash", "cause")], {})
    known = frame["ache"].value_counts()[["no", "yes"]].to_numpy() + 0.5
    assert np.abs(turned.tables["ache"] - known / known.sum()).max() > 1e-3


def test_an_empty_bin_and_an_unseen_level_keep_a_density():
    frame = pd.DataFrame(
        {"x": [0.0, 1.0] * 10, "d": pd.Categorical(["a", "b"] * 10, categories=["a", "b", "c"])}
    )
    network = DiscretizedBayesNet.from_table(frame, [("d", "x")], {"x": [0.25, 0.75]})
    row = pd.DataFrame({"x": [0.5], "d": ["c"]})
    assert np.exp(network.log_density(row)) == pytest.approx((1 / 3 / 21) * (1 / 3) / 0.5)


@pytest.mark.parametrize("seed", [3, 4, 11])
def test_sample_frequencies_agree_with_the_tables(seed):
    network = small_network(seed, 4)
    n = 40_000
    rows = network.sample(n, 7)
    codes = network.discretize(rows)
    probabilities, counts = [], []
    grouped = codes.value_counts()
    for state in all_states(network):
        probabilities.append(joint_probability(network, state))
        counts.append(grouped.get(tuple(state[name] for name in network.names), 0))
    expected = np.array(probabilities) * n
    large = expected >= 5
    assert abs(sum(counts) - n) == 0
    observed = [*np.array(counts)[large], n - np.array(counts)[large].sum()]
    frequencies = [*expected[large], n - expected[large].sum()]
    if frequencies[-1] < 1e-6:
        observed, frequencies = observed[:-1], frequencies[:-1]
    assert chisquare(observed, np.array(frequencies) * sum(observed) / sum(frequencies)).pvalue > 1e-4
    for name, cuts in network.cut_points.items():
        edges = np.array([network.support[name][0], *cuts, network.support[name][1]])
        low, high = edges[codes[name]], edges[codes[name] + 1]
        assert ((rows[name] > low) & (rows[name] <= high)).all()
        assert kstest((rows[name] - low) / (high - low), "uniform").pvalue > 1e-4


def test_sample_never_draws_what_is_impossible():
    network = rain_and_height(tables={"rain": [1.0, 0.0], "height": [[0.0, 1.0, 0.0], [1, 0, 0]]})
    rows = network.sample(2000, 0)
    assert (rows.rain == "no").all()
    assert ((rows.height > 1.0) & (rows.height <= 2.5)).all()


class LargestUniform(np.random.Generator):
    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        return np.full(size, np.nextafter(1.0, 0.0))


def test_the_largest_random_number_draws_a_possible_cell():
    table = np.array([[0.5, 0.5 - 5e-7, 0.0], [0.25, 0.25, 0.5], [1.0, 0.0, 0.0]])  # sums are 1 to 1e-6 only
    codes = draw_codes(table, np.array([0, 1, 2]), LargestUniform(np.random.PCG64(0)))
    assert codes.tolist() == [1, 2, 0]


def test_sample_is_seeded_and_typed(network):
    rows = network.sample(5, 3)
    pd.testing.assert_frame_equal(rows, network.sample(5, 3))
    pd.testing.assert_frame_equal(rows, network.sample(5, np.random.default_rng(3)))
    assert not rows.equals(network.sample(5, 4))
    assert list(rows.rain.cat.categories) == ["no", "yes"]
    assert rows.height.dtype == np.float64
    assert network.sample(0).shape == (0, 2)
    assert network.log_density(network.sample(0)).shape == (0,)
    for wrong in (-1, 1.5, True, "3"):
        with pytest.raises(GomeaBnError, match="n must be an integer"):
            network.sample(wrong)


def test_samples_lie_in_bins_even_where_floats_are_coarse():
    low = 1e15
    network = rain_and_height(
        cut_points={"height": [low + 0.25, low + 0.5]}, support={"height": (low, low + 1)}
    )
    rows = network.sample(3000, 1)
    assert (rows.height > low).all()
    assert set(network.discretize(rows).height) == {0, 1, 2}


def test_a_network_cannot_be_changed(network):
    with pytest.raises(AttributeError, match="cannot be changed"):
        network.names = ()
    with pytest.raises(AttributeError, match="cannot be changed"):
        del network._tables
    for arrays in (network.tables, network.cut_points):
        for array in arrays.values():
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0
    network.tables.clear()
    network.levels.clear()
    network.edges.clear()
    network.support.clear()
    network.cut_points.clear()
    network.metadata["new"] = 1
    assert network == rain_and_height()
    assert network.metadata == {}


def test_what_a_network_was_built_from_can_change_later():
    cuts, table = np.array([1.0, 2.5]), np.array([[0.5, 0.25, 0.25], [0.1, 0.9, 0.0]])
    levels, metadata = ["no", "yes"], {"steps": [1]}
    network = rain_and_height(
        cut_points={"height": cuts},
        tables={"rain": [0.25, 0.75], "height": table},
        levels={"rain": levels},
        metadata=metadata,
    )
    cuts[0], table[0, 0], levels[0] = 0.1, 0.9, "changed"
    metadata["steps"].append(2)
    assert network == rain_and_height()
    assert network.metadata == {"steps": [1]}


def test_equality_goes_by_content(network):
    same = rain_and_height(metadata={"other": 1})
    assert network == same
    assert hash(network) == hash(same)
    assert pickle.loads(pickle.dumps(same)) == network
    assert pickle.loads(pickle.dumps(same)).metadata == {"other": 1}
    assert copy.deepcopy(network) == network
    assert network != 1
    others = [
        rain_and_height(cut_points={"height": [1.0, 2.6]}),
        rain_and_height(support={"height": (0.0, 5.0)}),
        rain_and_height(levels={"rain": ["no", "maybe"]}),
        rain_and_height(tables={**RAIN_AND_HEIGHT["tables"], "rain": [0.5, 0.5]}),
        rain_and_height(pseudo_count=1.0),
        rain_and_height(edges=[], tables={"rain": [0.25, 0.75], "height": [0.5, 0.25, 0.25]}),
        rain_and_height(names=["height", "rain"]),
    ]
    assert all(network != other for other in others)


def test_variables_in_another_order_are_the_same_network():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({name: rng.integers(0, n, 60) for name, n in zip("abcd", (2, 3, 4, 2), strict=True)})
    edges = [("a", "d"), ("b", "d"), ("c", "d"), ("a", "b")]
    network = DiscretizedBayesNet.from_table(frame.astype(str), edges, {})
    other = network.in_order(list("cdba"))
    assert other.names == tuple("cdba")
    assert sorted(other.edges) == sorted(edges)
    assert other.parents("d") == ("c", "b", "a")
    np.testing.assert_array_equal(other.tables["d"], network.tables["d"].transpose(2, 1, 0, 3))
    np.testing.assert_allclose(
        other.log_density(frame.astype(str)), network.log_density(frame.astype(str)), rtol=1e-12
    )
    assert other.in_order(list("abcd")) == network
    with pytest.raises(GomeaBnError, match="every variable of the network once"):
        network.in_order(list("abc"))


def test_bin_labels_take_the_digits_they_need():
    network = rain_and_height(cut_points={"height": [1.00000001, 1.00000002]})
    assert network.bin_labels("height") == (
        "[0, 1.00000001]", "(1.00000001, 1.00000002]", "(1.00000002, 4]",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"names": []}, ["at least one variable"]),
        ({"names": "rain"}, ["sequence of names"]),
        ({"names": ["rain", "rain"]}, ["Duplicate variable name 'rain'"]),
        ({"names": ["rain", 3]}, ["text", "3"]),
        ({"names": ["rain", " "]}, ["not blank"]),
        ({"names": ["rain", "height", "x"]}, ["levels must have an entry for 'x'"]),
        ({"cut_points": {}}, ["support", "'height'"]),
        ({"cut_points": {"heigth": [1]}}, ["'heigth'", "Did you mean 'height'?"]),
        ({"cut_points": {"height": [1, 1]}}, ["'height'", "increase strictly"]),
        ({"cut_points": {"height": [2, 1]}}, ["'height'", "2.0 before 1.0"]),
        ({"cut_points": {"height": [0.0, 1.0]}}, ["'height'", "inside the support", "0.0"]),
        ({"cut_points": {"height": [1.0, 4.0]}}, ["inside the support", "4.0"]),
        ({"cut_points": {"height": [1.0, np.nan]}}, ["'height'", "finite"]),
        ({"cut_points": {"height": [[1.0, 2.0]]}}, ["'height'", "shape (1, 2)"]),
        ({"cut_points": {"height": ["a", "b"]}}, ["'height'", "numbers"]),
        ({"support": {}}, ["support must have an entry for 'height'"]),
        ({"support": {"height": (0.0, np.inf)}}, ["'height'", "finite"]),
        ({"support": {"height": (4.0, 0.0)}}, ["min < max"]),
        ({"support": {"height": (0.0, 1e-310)}}, ["'height'", "1e-303 wide", "(0.0, 1e-310)", "Rescale it."]),
        ({"support": {"height": 4.0}}, ["two numbers"]),
        ({"support": {"height": (0, 1, 2)}}, ["two numbers"]),
        (
            {"support": {"height": (0, 4), "rain": (0, 1)}},
            ["support must not have an entry for 'rain', which is discrete"],
        ),
        ({"levels": {}}, ["levels must have an entry for 'rain'"]),
        ({"levels": {"rain": "ab"}}, ["'rain'", "sequence"]),
        ({"levels": {"rain": []}}, ["'rain'", "at least one"]),
        ({"levels": {"rain": ["a", "a"]}}, ["'rain'", "duplicate 'a'"]),
        ({"levels": {"rain": [1, True]}}, ["'rain'", "duplicate True"]),
        ({"levels": {"rain": ["a", None]}}, ["'rain'", "None"]),
        ({"levels": {"rain": ["a", math.nan]}}, ["'rain'", "nan"]),
        ({"levels": {"rain": ["a", ("b",)]}}, ["'rain'", "('b',)"]),
        ({"edges": [("rain", "heigth")]}, ["'rain' → 'heigth'", "Did you mean 'height'?"]),
        ({"edges": [("rain", "rain")]}, ["'rain' → 'rain' connects a variable with itself"]),
        ({"edges": [("rain", "height")] * 2}, ["Duplicate edge 'rain' → 'height'"]),
        ({"edges": [("rain", "height"), ("height", "rain")]}, ["cycle", " → "]),
        ({"edges": ["ab"]}, ["pair of names (parent, child)", "'ab'"]),
        ({"edges": [("rain", "height", "x")]}, ["pair"]),
        ({"tables": {"rain": [0.5, 0.5]}}, ["tables must have an entry for 'height'"]),
        ({"tables": {**RAIN_AND_HEIGHT["tables"], "rain": [0.5, 0.4]}}, ["'rain'", "sum to 1", "0.9"]),
        ({"tables": {**RAIN_AND_HEIGHT["tables"], "rain": [0.5, 0.50001]}}, ["'rain'", "sum to 1", "1.00001"]),
        ({"tables": {**RAIN_AND_HEIGHT["tables"], "rain": [1.5, -0.5]}}, ["'rain'", "-0.5 at [1]"]),
        ({"tables": {**RAIN_AND_HEIGHT["tables"], "rain": [np.nan, 1]}}, ["'rain'", "nan at [0]"]),
        ({"tables": {**RAIN_AND_HEIGHT["tables"], "height": [0.5, 0.25, 0.25]}}, ["'height'", "(2, 3)", "(3,)"]),
        ({"tables": {**RAIN_AND_HEIGHT["tables"], "height": [[1], [1, 2]]}}, ["'height'", "(2, 3)"]),
        ({"tables": [1]}, ["tables must map"]),
        ({"pseudo_count": -1}, ["pseudo_count", "-1"]),
        ({"pseudo_count": math.inf}, ["pseudo_count", "finite"]),
        ({"pseudo_count": "1"}, ["pseudo_count", "'1'"]),
        ({"metadata": {"when": object()}}, ["metadata['when']", "JSON"]),
        ({"metadata": {"loss": math.nan}}, ["metadata['loss']", "JSON"]),
    ],
)  # fmt: skip
def test_bad_parts_are_refused_by_name(changes, words):
    with pytest.raises(GomeaBnError) as caught:
        rain_and_height(**changes)
    for word in words:
        assert word in str(caught.value)


def test_a_cycle_is_named_in_the_direction_of_its_edges():
    names = ["a", "b", "c", "d"]
    edges = [("d", "a"), ("a", "b"), ("b", "c"), ("c", "a")]
    with pytest.raises(GomeaBnError, match="cycle") as caught:
        network_with(names, edges, levels=dict.fromkeys(names, ("x", "y")), tables={})
    names_in_cycle = (
        str(caught.value).removeprefix("The edges contain the cycle ").removesuffix(".").split(" → ")
    )
    assert names_in_cycle[0] == names_in_cycle[-1]
    assert set(itertools.pairwise(names_in_cycle)) == {("a", "b"), ("b", "c"), ("c", "a")}


def test_a_table_too_large_is_refused_before_it_is_made():
    table = read_table(pd.DataFrame({f"c{i}": np.arange(50) + 0.25 for i in range(7)}))
    cuts = {name: np.arange(0.5, 49) for name in table.names}
    with pytest.raises(GomeaBnError, match=r"table of 'c0' with 6 parents would have 781,250,000,000 cells"):
        DiscretizedBayesNet.from_table(table, [(f"c{i}", "c0") for i in range(1, 7)], cuts)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ({"rain": ["no"]}, ["no column 'height'"]),
        ({"rain": ["no"], "Height": [1.0]}, ["no column 'height'", "Did you mean 'Height'?"]),
        ({"rain": ["no", "no"], "height": [1.0, math.inf]}, ["'height'", "row 1"]),
        ({"rain": ["no", None], "height": [1.0, math.inf]}, ["'height'", "1 infinite value", "row 1"]),
        ({"rain": ["no", "hail", "fog"], "height": [1.0] * 3}, ["'rain'", "'hail', 'fog'", "rows 1, 2", "'yes'"]),
        ({"rain": [0, 1], "height": [1.0] * 2}, ["'rain'", "unknown level 0, 1"]),
        ({"rain": ["no"], "height": ["tall"]}, ["'height' must hold numbers", "'tall'", "row 0"]),
        ({"rain": [["no"]], "height": [1.0]}, ["'rain'"]),
    ],
)  # fmt: skip
def test_rows_that_do_not_fit_are_refused(network, rows, words):
    with pytest.raises(GomeaBnError) as caught:
        network.log_density(pd.DataFrame(rows), unknown="error")
    for word in words:
        assert word in str(caught.value)


def test_other_misuses_are_refused(network):
    with pytest.raises(GomeaBnError, match="no column 'rain'"):
        network.log_density(np.zeros((2, 2)))
    with pytest.raises(GomeaBnError, match=r"A table must be .* got int"):
        network.log_density(2)
    with pytest.raises(GomeaBnError, match="at least one row"):
        network.score(network.sample(0))
    with pytest.raises(GomeaBnError, match=r"Unknown variable 'rian'\. Did you mean 'rain'"):
        network.parents("rian")


def test_levels_match_by_value_whatever_the_column_stores():
    table = read_table(pd.DataFrame({"d": [1, 2, 3] * 5, "b": [True, False, True] * 5}))
    network = DiscretizedBayesNet.from_table(table, [("d", "b")], {})
    expected = network.log_density(pd.DataFrame({"d": [1, 3], "b": [True, False]}))
    for d in (
        [1.0, 3.0],
        np.array([1, 3], dtype=np.int8),
        pd.array([1, 3], dtype="Int64"),
        pd.Categorical([1, 3]),
    ):
        for b in (
            [True, False],
            pd.array([True, False], dtype="boolean"),
            np.array([True, False], dtype=object),
        ):
            densities = network.log_density(pd.DataFrame({"d": d, "b": b}))
            np.testing.assert_array_equal(densities, expected)


def test_hostile_names_and_levels_survive_sampling():
    network = small_network(2, names=HOSTILE_NAMES, levels=HOSTILE_LEVELS)
    rows = network.sample(300, 1)
    assert tuple(rows.columns) == network.names
    assert np.isfinite(network.log_density(rows)).all()


def test_the_network_of_integer_named_columns_scores_the_same_frame():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 2)))
    network = DiscretizedBayesNet.from_table(read_table(frame), [("0", "1")], {"0": [0.0], "1": []})
    assert network.log_density(frame).shape == (20,)


def table_with_parents(n_parents):
    """Return the table of two rows of a variable with parents of a single value each."""
    codes = [np.zeros(2, np.int32) for _ in range(n_parents)] + [np.array([0, 1], np.int32)]
    cards = [1] * n_parents + [2]
    return table_of_counts(family_counts(codes, range(n_parents), n_parents, cards, "x"), 1.0)


def test_a_table_has_at_most_62_parents():
    table = table_with_parents(62)
    assert table.shape == (1,) * 62 + (2,)
    assert table.ravel().tolist() == [0.5, 0.5]
    with pytest.raises(GomeaBnError, match=r"table of 'x' with 63 parents .* limits are 62 parents"):
        table_with_parents(63)


ODD = (None, 3, "x", ["x", ["y"], 4], [{"x": 1}], {"x": ["y"]}, [["x"]])


def recorded_network(**metadata: Any) -> DiscretizedBayesNet:
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    frame = pd.DataFrame({"x": x, "y": x + rng.normal(size=60)})
    return DiscretizedBayesNet.from_table(
        read_table(frame), [("x", "y")], {"x": [0.0], "y": [0.1]}, pseudo_count=1.0, metadata=metadata
    )


def test_names_alone_are_columns():
    assert fixed_columns(recorded_network(fixed_cut_points=["x", ["y"], 4])) == {"x"}
    assert fixed_columns(recorded_network(fixed_cut_points="x")) == frozenset()
    assert columns_of_expert_fit(
        recorded_network(expert_fit={"not_mentioned": ["y", [1]]}), "not_mentioned"
    ) == {"y"}
    assert columns_of_expert_fit(recorded_network(expert_fit=["y"]), "not_mentioned") == frozenset()


@pytest.mark.parametrize("odd", ODD)
def test_odd_metadata_raise_no_error(odd):
    network = recorded_network(fixed_cut_points=odd, expert_fit=odd, do=odd, scoring_method=odd)
    frame = network.sample(50, random_state=1)
    refined = refine_boundaries(network, frame, max_seconds=5)
    # only a list with the name fixes its cuts
    if isinstance(odd, list) and "x" in odd:
        np.testing.assert_array_equal(refined.network.cut_points["x"], network.cut_points["x"])
    refine_boundaries(network, frame, method="equal-width", max_seconds=5)
    assert mentioned_names(network) == {"x", "y"}
    assert set(network.do({"x": 0.5}).metadata["do"]) >= {"x"}
    assert edge_probabilities(network, frame).arcs.shape == (2, 2)


@pytest.fixture
def tall(monkeypatch):
    """Let tables of more than 20 rows be tall, in parts of 16 rows."""
    monkeypatch.setattr(bayes_net, "MANY_ROWS", 20)
    monkeypatch.setattr(bayes_net, "ROWS_IN_CACHE", 16)


@pytest.mark.parametrize("n", [1, 20, 21, 32, 33])
def test_the_score_is_the_mean_over_all_rows(tall, n):
    network = small_network(3)
    frame = network.sample(n, random_state=1)
    assert network.score(frame) == pytest.approx(network.log_density(frame).mean(), rel=1e-12)


def test_a_message_names_the_row_of_the_whole_table(tall):
    network = small_network(3)
    frame = network.sample(40, random_state=1)
    frame.loc[37, next(iter(network.cut_points))] = np.inf
    with pytest.raises(GomeaBnError, match="row 37"):
        network.score(frame)
