"""Experts' networks completed over a table: counted tables, default bins, levels, kinds and supports."""

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from network_examples import network_with, one_column, slow_code, slow_log_density, small_network
from table_examples import patients

from gomea_bn import DiscretizedBayesNet, ExpertNetwork, GomeaBnError, read_table
from gomea_bn.data import Column, Table
from gomea_bn.simulation import random_network as ground_truth


def slow_table(network, frame, name, pseudo_count):
    """Return P(name | parents) counted row by row."""
    variables = (*network.parents(name), name)
    rows = [
        tuple(slow_code(network, member, row[member]) for member in variables)
        for row in frame.to_dict("records")
    ]
    counts = Counter(rows)
    card = network.cardinality(name)
    table = np.zeros([network.cardinality(member) for member in variables])
    for cell in itertools.product(*map(range, table.shape)):
        total = sum(counts[(*cell[:-1], code)] for code in range(card))
        mass = total + pseudo_count
        table[cell] = (counts[cell] + pseudo_count / card) / mass if mass else 1 / card
    return table


def _kinds(network):
    return {name: "continuous" if name in network.cut_points else "discrete" for name in network.names}


def shuffled(network, frame, seed):
    """Return the frame's columns in another order."""
    order = np.random.default_rng(seed).permutation(len(network.names))
    return frame[[network.names[position] for position in order]]


def test_tables_are_counted_by_hand():
    frame = pd.DataFrame(
        {"x": [0.0, 1, 2, 3, 4, 5, 6, 7, 8, 10], "y": list("aabbbbaaab"), "z": list("uvuvuvuvuv")}
    )
    expert = ExpertNetwork.from_edges([("x", "y")], cut_points={"x": [4.0]})
    network = expert.fitted(read_table(frame, kinds={"x": "continuous"}), pseudo_count=1.0)
    assert network.names == ("x", "y", "z")
    assert network.edges == [("x", "y")]
    assert network.support == {"x": (0.0, 10.0)}
    assert network.pseudo_count == 1.0
    np.testing.assert_array_equal(network.tables["x"], [0.5, 0.5])  # 4 belongs to the lower bin
    np.testing.assert_allclose(network.tables["y"], [[2.5 / 6, 3.5 / 6], [3.5 / 6, 2.5 / 6]])
    np.testing.assert_array_equal(network.tables["z"], [0.5, 0.5])
    assert network.metadata == {
        "expert_fit": {"not_mentioned": ["z"], "default_bins": [], "counted_tables": ["x", "y", "z"]}
    }


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.5, 1.0, 7.0]))
def test_counted_tables_equal_a_slow_count(seed, pseudo_count):
    frame = patients(30, seed)
    expert = ExpertNetwork.from_edges(
        [("stage", "age"), ("bp", "age"), ("stage", "smoker")], cut_points={"bp": [np.median(frame["bp"])]}
    )
    network = expert.fitted(read_table(frame), pseudo_count=pseudo_count)
    assert network.names == tuple(frame.columns)
    for name in network.names:
        np.testing.assert_allclose(
            network.tables[name], slow_table(network, frame, name, pseudo_count), rtol=1e-12
        )


def test_columns_without_bins_get_three_of_equal_frequency():
    frame = patients(90)
    network = ExpertNetwork.from_edges([("age", "smoker")]).fitted(read_table(frame))
    assert network.edges == [("age", "smoker")]
    for name in ("age", "bp"):
        codes = [slow_code(network, name, value) for value in frame[name]]
        assert len(network.cut_points[name]) == 2
        assert max(abs(count - 30) for count in Counter(codes).values()) <= 1
    assert network.metadata["expert_fit"] == {
        "not_mentioned": ["bp", "stage"],
        "default_bins": ["age", "bp"],
        "counted_tables": ["age", "smoker", "bp", "stage"],
    }


def test_tied_values_leave_fewer_default_bins():
    frame = pd.DataFrame({"x": [0.0] * 18 + [1.0, 2.5], "y": list("ab") * 10})
    network = ExpertNetwork.from_edges([("x", "y")]).fitted(read_table(frame))
    assert network.cut_points["x"].tolist() == [0.5]


def test_data_that_do_not_fit_the_bins_are_refused():
    table = read_table(patients())
    low, high = table.columns[0].values.min(), table.columns[0].values.max()
    cases: list[tuple[list[float], str]] = [
        ([10, 50], "cut point 10.0"),
        ([float(low)], f"cut point {low!s}"),
        ([50, high, 99], f"cut points {high!s}, 99.0"),
    ]
    for cuts, named in cases:
        with pytest.raises(
            GomeaBnError, match=f"Expert's {named} of column 'age' must lie inside the range"
        ) as error:
            ExpertNetwork.from_edges([], cut_points={"age": cuts}).fitted(table)
        assert f"{float(low)!r} to {float(high)!r}" in str(error.value)
        assert "leave it out, or check the units" in str(error.value)
    with pytest.raises(
        GomeaBnError, match=r"cut points of column 'stage', which is discrete \(integers, 3 distinct"
    ):
        ExpertNetwork.from_edges([], cut_points={"stage": [2]}).fitted(table)
    pseudo_count: Any
    for pseudo_count in (-1, "1", math.nan, None, True):
        with pytest.raises(GomeaBnError, match="pseudo_count must be a"):
            ExpertNetwork.from_edges([("age", "bp")]).fitted(table, pseudo_count=pseudo_count)


def test_a_table_that_cannot_be_held_is_refused():
    frame = ground_truth(16, random_state=0, discrete_fraction=0.0).sample(30, 0)
    expert = ExpertNetwork.from_edges(
        [(name, "X16") for name in frame.columns[:-1]],
        cut_points={name: np.quantile(frame[name], [0.2, 0.4, 0.6, 0.8]) for name in frame.columns[:-1]},
    )
    with pytest.raises(GomeaBnError, match=r"table of 'X16' with 15 parents would have .* cells"):
        expert.fitted(read_table(frame))


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_given_tables_keep_their_density_in_any_order_of_columns(seed):
    network = small_network(seed, 5, max_parents=3)
    frame = network.sample(40, seed)
    assume((frame.astype(object).nunique() > 1).all())
    table = read_table(shuffled(network, frame, seed), kinds=_kinds(network))
    fitted = ExpertNetwork.from_network(network).fitted(table)
    assert fitted.names == table.names
    assert set(fitted.edges) == set(network.edges)
    assert fitted.support == {name: network.support[name] for name in fitted.names if name in network.support}
    np.testing.assert_allclose(fitted.log_density(frame), network.log_density(frame), rtol=1e-12)
    assert fitted.pseudo_count == network.pseudo_count
    assert fitted.metadata["seed"] == seed


def test_levels_are_matched_by_value_not_by_place():
    network = small_network(11, 5, levels=[("no", "yes", "often")])
    frame = network.sample(50, 1)
    for name in network.levels:
        frame[name] = pd.Categorical(frame[name], categories=["often", "no", "yes"])
    fitted = ExpertNetwork.from_network(network).fitted(read_table(frame))
    assert network.levels
    assert all(levels == ("often", "no", "yes") for levels in fitted.levels.values())
    np.testing.assert_allclose(fitted.log_density(frame), network.log_density(frame), rtol=1e-12)
    rows = frame.astype(dict.fromkeys(network.levels, object)).to_dict("records")
    slow = [slow_log_density(network, row) for row in rows]
    np.testing.assert_allclose(fitted.log_density(frame), slow, rtol=1e-9)


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (("2", "10", "1.5"), [1.5, 2.0, 10.0]),
        (("true", "False"), [False, True]),
        (("1e+20", "-3"), [-3, 1e20]),
        ((1, 2), ["1", "2"]),
        ((True, False), [0, 1]),
    ],
)
def test_numbers_and_bools_match_levels_written_as_text(texts, values):
    probabilities = np.arange(1, len(texts) + 1) / sum(range(1, len(texts) + 1))
    network = network_with(["x"], [], levels={"x": texts}, tables={"x": probabilities})
    frame = pd.DataFrame({"x": pd.Categorical(values * 10, categories=values)})
    fitted = ExpertNetwork.from_network(network).fitted(read_table(frame))
    assert fitted.levels["x"] == tuple(values)
    expected = []
    for value in values:
        index = next(k for k, t in enumerate(texts) if t == value or str(t).lower() in _spellings(value))
        expected.append(probabilities[index])
    np.testing.assert_array_equal(fitted.tables["x"], expected)


def _spellings(value):
    return {str(value).lower(), f"{value:g}" if isinstance(value, float) else str(value).lower()}


def one_variable(levels, **options):
    return ExpertNetwork.from_network(
        DiscretizedBayesNet(
            ["v"], [], cut_points={}, support={}, levels={"v": levels},
            tables={"v": np.full(len(levels), 1 / len(levels))}, **options,
        )
    )  # fmt: skip


def test_levels_that_only_one_side_has_are_refused():
    table = read_table(pd.DataFrame({"v": ["yes", "no", "oftn"] * 5}))
    with pytest.raises(GomeaBnError) as error:
        one_variable(("no", "yes", "often")).fitted(table)
    assert str(error.value).startswith(
        "Column 'v' has the level 'oftn', which the expert's table of 'v' lacks; its levels are 'no', 'yes', "
        "'often'. Did you mean 'often'? Rename levels"
    )
    with pytest.raises(
        GomeaBnError, match=r"has the level 'rare', which column 'v' lacks.*pandas\.Categorical"
    ):
        one_variable(("no", "yes", "oftn", "rare")).fitted(table)
    alike = read_table(pd.DataFrame({"v": ["1", "2", "1.0"] * 5}))
    with pytest.raises(GomeaBnError, match=r"has the level '1\.0', which the expert's table of 'v' lacks"):
        one_variable((1, 2)).fitted(alike)
    declared = read_table(
        pd.DataFrame({"v": pd.Categorical(["yes", "no"] * 5, categories=["no", "yes", "rare"])})
    )
    assert one_variable(("no", "rare", "yes")).fitted(declared).levels == {"v": ("no", "yes", "rare")}
    with pytest.raises(
        GomeaBnError, match=r"has the level False, which .* lacks; its levels are 'true', 'True'"
    ):
        one_variable(("true", "True")).fitted(read_table(pd.DataFrame({"v": [True, False] * 5})))
    with pytest.raises(GomeaBnError, match=r"has the level True, which .* lacks"):
        one_variable(("false", "true", "True")).fitted(read_table(pd.DataFrame({"v": [True, False] * 5})))


def test_kinds_that_do_not_agree_are_refused():
    frame = patients()
    states = network_with(["age"], [], levels={"age": ("old", "young")}, tables={"age": [0.5, 0.5]})
    with pytest.raises(
        GomeaBnError, match=r"'age' is continuous \(real numbers\).*states 'old', 'young'\. If"
    ):
        ExpertNetwork.from_network(states).fitted(read_table(frame))
    network = one_column([2], (1, 3), [0.5, 0.5], name="stage")
    with pytest.raises(GomeaBnError, match=r"kinds=\{'stage': 'continuous'\}"):
        ExpertNetwork.from_network(network).fitted(read_table(frame))
    fitted = ExpertNetwork.from_network(network).fitted(read_table(frame, kinds={"stage": "continuous"}))
    assert fitted.cut_points["stage"].tolist() == [2.0]


def age_network(cuts, support):
    tables = {"age": np.full(len(cuts) + 1, 1 / (len(cuts) + 1))}
    return network_with(
        ["age"], [], cut_points={"age": cuts}, support={"age": support}, tables=tables, pseudo_count=2.0
    )


def test_a_network_keeps_its_own_support_and_cuts_beyond_the_data():
    table = read_table(patients())
    fitted = ExpertNetwork.from_network(age_network([10, 50], (0, 120))).fitted(table, pseudo_count=2.0)
    assert fitted.support["age"] == (0.0, 120.0)
    assert fitted.cut_points["age"].tolist() == [10.0, 50.0]
    assert fitted.support["bp"] == (table.columns[2].values.min(), table.columns[2].values.max())
    assert fitted.pseudo_count == 2.0
    low, high = table.columns[0].values.min().item(), table.columns[0].values.max().item()
    for support in ((100, 200), (high, 200), (-5, low)):
        middle = sum(support) / 2
        with pytest.raises(GomeaBnError, match=f"'age' span {float(support[0])!r} to .* check the units"):
            ExpertNetwork.from_network(age_network([middle], support)).fitted(table)


def test_columns_outside_a_network_are_counted_without_edges():
    frame = patients()
    network = age_network([50], (0, 120))
    fitted = ExpertNetwork.from_network(network).fitted(read_table(frame), pseudo_count=1.0)
    assert fitted.edges == []
    np.testing.assert_array_equal(fitted.tables["age"], [0.5, 0.5])
    for name in ("smoker", "bp", "stage"):
        np.testing.assert_allclose(fitted.tables[name], slow_table(fitted, frame, name, 1.0))
    assert fitted.cardinality("bp") == 3
    assert fitted.pseudo_count is None  # the expert's says 2
    assert fitted.metadata["expert_fit"] == {
        "not_mentioned": ["smoker", "bp", "stage"],
        "default_bins": ["bp"],
        "counted_tables": ["smoker", "bp", "stage"],
    }


def test_fitting_leaves_the_table_alone():
    values = np.arange(12.0)
    values.flags.writeable = False
    codes = np.tile(np.array([0, 1], dtype=np.int32), 6)
    codes.flags.writeable = False
    table = Table((Column("x", values, None, ""), Column("y", codes, ("a", "b"), "")), 12, ())
    assert ExpertNetwork.from_edges([("x", "y")]).fitted(table).names == ("x", "y")
