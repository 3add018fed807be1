from __future__ import annotations

import copy
import itertools
import math
import pickle
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from network_examples import HOSTILE_NAMES, slow_code, slow_log_density, small_network
from wrong_input import untyped

from gomea_bn.data.table import Column, Table, read_table
from gomea_bn.errors import GomeaBnError
from gomea_bn.expert.expert_network import ExpertNetwork
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.simulation.random_networks import random_network as ground_truth


def patients(n=60, seed=0):
    """Return a frame with two continuous and two discrete columns."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(20, 80, n).round(1)
    return pd.DataFrame(
        {
            "age": age,
            "smoker": rng.choice(["no", "yes"], n),
            "bp": age + rng.normal(80, 15, n).round(1),
            "stage": rng.integers(1, 4, n),
        }
    )


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


# ---------------------------------------------------------------- the value object


def test_an_expert_of_edges_and_bins():
    expert = ExpertNetwork.from_edges([("b", "a"), ("c", "a")], cut_points={"c": [1, 2.5], "d": []})
    assert expert.names == ("b", "a", "c", "d")
    assert expert.edges == [("b", "a"), ("c", "a")]
    assert {name: cuts.tolist() for name, cuts in expert.cut_points.items()} == {"c": [1.0, 2.5], "d": []}
    assert expert.network is None
    assert repr(expert) == "ExpertNetwork(4 variables, 2 edges, bins of 2 variables, no tables)"


def test_an_expert_of_a_network_speaks_of_all_its_parts():
    network = small_network(5)
    expert = ExpertNetwork.from_network(network)
    assert expert.names == network.names
    assert expert.edges == network.edges
    assert expert.network is network
    assert expert.cut_points.keys() == network.cut_points.keys()
    assert "with tables" in repr(expert)


def test_an_expert_cannot_be_changed_and_copies_are_equal():
    expert = ExpertNetwork.from_edges([("b", "a")], cut_points={"a": [1.0]})
    with pytest.raises(AttributeError, match="cannot be changed"):
        untyped(expert).names = ()
    with pytest.raises(AttributeError, match="cannot be changed"):
        del expert._edges
    with pytest.raises(ValueError, match="read-only"):
        expert.cut_points["a"][0] = 2.0
    expert.cut_points.clear()
    expert.edges.clear()
    assert expert.cut_points
    assert expert.edges
    for same in (copy.deepcopy(expert), pickle.loads(pickle.dumps(expert))):
        assert same == expert
        assert hash(same) == hash(expert)
    assert expert != ExpertNetwork.from_edges([("b", "a")], cut_points={"a": [2.0]})
    assert expert != ExpertNetwork.from_edges([("a", "b")], names=["b", "a"], cut_points={"a": [1.0]})
    assert expert != "expert"


def test_cuts_given_are_copied():
    cuts = np.array([1.0, 2.0])
    expert = ExpertNetwork.from_edges([], cut_points={"a": cuts})
    cuts[0] = 7.0
    assert expert.cut_points["a"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"edges": [("a", "b"), ("b", "c"), ("c", "a")]}, "contain the cycle"),
        ({"edges": [("a", "b"), ("b", "a")]}, "contain the cycle"),
        ({"edges": [("a", "b"), ("a", "b")]}, "Duplicate edge 'a' → 'b'"),
        ({"edges": [("a", "a")]}, "'a' → 'a' connects a variable with itself"),
        ({"edges": [("a", "b", "c")]}, r"pair of names \(parent, child\), got \('a', 'b', 'c'\)"),
        ({"edges": ["ab"]}, "pair of names .* got 'ab'"),
        ({"edges": [(["a"], "b")]}, "pair of names"),
        ({"edges": [(1, "b")]}, "pair of names"),
        ({"edges": "ab"}, r"edges must be \(parent, child\) pairs of names, got 'ab'"),
        ({"edges": None}, "edges must be .*got None"),
        ({"edges": []}, "The expert's network is empty: give edges, names or cut_points"),
        (
            {"edges": [("smoke", "b")], "names": ["smoker", "b"]},
            "unknown variable 'smoke'. Did you mean 'smoker'",
        ),
        ({"edges": [], "names": ["a", "a"]}, "Duplicate variable name 'a'"),
        ({"edges": [], "names": "ab"}, "got the single text 'ab'"),
        (
            {"edges": [], "names": ["age"], "cut_points": {"agee": [1]}},
            "unknown variable 'agee'. Did you mean 'age'",
        ),
        (
            {"edges": [("a", "b")], "cut_points": [1]},
            "cut_points must map names to lists of numbers, got list",
        ),
        (
            {"edges": [], "cut_points": {"a": [2, 1]}},
            r"cut_points\['a'\] must increase strictly, got 2.0 before 1.0",
        ),
        ({"edges": [], "cut_points": {"a": [1, 1]}}, "must increase strictly"),
        ({"edges": [], "cut_points": {"a": [math.nan]}}, r"cut_points\['a'\] must be finite"),
        ({"edges": [], "cut_points": {"a": [math.inf]}}, r"cut_points\['a'\] must be finite"),
        ({"edges": [], "cut_points": {"a": "12"}}, r"cut_points\['a'\] must be a list of numbers, got '12'"),
        ({"edges": [], "cut_points": {"a": ["1"]}}, r"cut_points\['a'\] must be a list of numbers"),
        ({"edges": [], "cut_points": {"a": [True]}}, r"cut_points\['a'\] must be a list of numbers"),
        ({"edges": [], "cut_points": {"a": 3}}, r"cut_points\['a'\] must be a list of numbers, got 3"),
        ({"edges": [], "cut_points": {"a": [[1.0]]}}, r"must be one-dimensional, got shape \(1, 1\)"),
    ],
)
def test_impossible_statements_are_refused(arguments, message):
    with pytest.raises(GomeaBnError, match=message):
        ExpertNetwork.from_edges(**arguments)


def test_a_network_must_agree_with_names_edges_and_cut_points():
    network = DiscretizedBayesNet(
        ["x", "y"], [("x", "y")],
        cut_points={"x": [1.0]}, support={"x": (0, 2)}, levels={"y": ("lo", "mid", "hi")},
        tables={"x": [0.5, 0.5], "y": [[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]]},
    )  # fmt: skip
    with pytest.raises(GomeaBnError, match="names and edges of an expert with tables must be those of"):
        ExpertNetwork(["x", "y"], [], network=network)
    with pytest.raises(GomeaBnError, match="names and edges of an expert with tables must be those of"):
        ExpertNetwork(["x", "y"], [("y", "x")], network=network)
    with pytest.raises(
        GomeaBnError, match=r"cut_points\['x'\] must be left out, because .* cut points \[1.0\]"
    ):
        ExpertNetwork(["x", "y"], [("x", "y")], cut_points={"x": [1.5]}, network=network)
    with pytest.raises(
        GomeaBnError, match=r"makes 2 bins, but .* 3 states of 'y', 'lo', 'mid', 'hi': give 2 cut points"
    ):
        ExpertNetwork(["x", "y"], [("x", "y")], cut_points={"y": [1.5]}, network=network)
    both = ExpertNetwork(["x", "y"], [("x", "y")], cut_points={"y": [3, 4], "x": [1]}, network=network)
    assert {name: cuts.tolist() for name, cuts in both.cut_points.items()} == {"x": [1.0], "y": [3.0, 4.0]}


# ---------------------------------------------------------------- names


def test_unknown_names_are_answered_with_the_nearest_column():
    table = read_table(patients().rename(columns={"stage": "cancer stage"}))
    with pytest.raises(GomeaBnError) as error:
        ExpertNetwork.from_edges([("Smoke", "Cancer")]).mentioned(table)
    first, second = str(error.value).splitlines()
    assert first == "Expert's edge 'Smoke' -> 'Cancer': unknown column 'Smoke'. Did you mean 'smoker'?"
    assert second.startswith("Expert's edge 'Smoke' -> 'Cancer': unknown column 'Cancer'.")
    with pytest.raises(GomeaBnError, match=r"unknown column 'AGE'\. Did you mean 'age'\?"):
        ExpertNetwork.from_edges([("AGE", "bp")]).fitted(table)
    with pytest.raises(
        GomeaBnError,
        match=r"Expert's variable 'qqq': unknown column 'qqq'\. Columns are 'age', 'smoker', 'bp', 'cancer stage'\.",
    ):
        ExpertNetwork.from_edges([("age", "bp")], cut_points={"qqq": [1]}).fitted(table)


def test_of_many_unknown_names_ten_are_named():
    edges = [(f"u{number}", "age") for number in range(13)]
    with pytest.raises(GomeaBnError, match="and 3 more variables") as error:
        ExpertNetwork.from_edges(edges).mentioned(read_table(patients()))
    assert len(str(error.value).splitlines()) == 11


def test_mentioned_columns_come_in_the_order_of_the_table():
    expert = ExpertNetwork.from_edges([("stage", "bp")], cut_points={"age": [50]})
    assert expert.mentioned(read_table(patients())) == ("age", "bp", "stage")
    with pytest.raises(GomeaBnError, match=r"table must be a Table, got DataFrame; use read_table\(frame\)"):
        expert.mentioned(patients())


# ---------------------------------------------------------------- fitting without tables


def test_tables_are_counted_by_hand():
    frame = pd.DataFrame(
        {"x": [0.0, 1, 2, 3, 4, 5, 6, 7, 8, 10], "y": list("aabbbbaaab"), "z": list("uvuvuvuvuv")}
    )
    expert = ExpertNetwork.from_edges([("x", "y")], cut_points={"x": [4.0]})
    network = expert.fitted(read_table(frame), pseudo_count=1.0)
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


def test_names_without_edges_are_mentioned_too():
    network = ExpertNetwork.from_edges([], names=["bp"]).fitted(read_table(patients()))
    assert network.metadata["expert_fit"]["not_mentioned"] == ["age", "smoker", "stage"]


def test_no_cut_points_state_one_bin():
    network = ExpertNetwork.from_edges([("age", "bp")], cut_points={"age": []}).fitted(read_table(patients()))
    assert network.cardinality("age") == 1
    assert network.cardinality("bp") == 3


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


def test_hostile_names_pass_through_everything():
    rng = np.random.default_rng(0)
    names = HOSTILE_NAMES
    frame = pd.DataFrame({name: rng.normal(size=40) for name in names})
    expert = ExpertNetwork.from_edges(list(itertools.pairwise(names)), cut_points={names[3]: [0.0]})
    expert = ExpertNetwork.from_json(expert.to_json())
    network = expert.fitted(read_table(frame))
    assert set(network.edges) == set(itertools.pairwise(names))
    assert network.cut_points[names[3]].tolist() == [0.0]


# ---------------------------------------------------------------- fitting with tables


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
    network = DiscretizedBayesNet(
        ["x"], [], cut_points={}, support={}, levels={"x": texts}, tables={"x": probabilities}
    )
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
    states = DiscretizedBayesNet(
        ["age"], [], cut_points={}, support={}, levels={"age": ("old", "young")}, tables={"age": [0.5, 0.5]}
    )
    with pytest.raises(
        GomeaBnError, match=r"'age' is continuous \(real numbers\).*states 'old', 'young'\. If"
    ):
        ExpertNetwork.from_network(states).fitted(read_table(frame))
    network = DiscretizedBayesNet(
        ["stage"],
        [],
        cut_points={"stage": [2]},
        support={"stage": (1, 3)},
        levels={},
        tables={"stage": [0.5, 0.5]},
    )
    with pytest.raises(GomeaBnError, match=r"kinds=\{'stage': 'continuous'\}"):
        ExpertNetwork.from_network(network).fitted(read_table(frame))
    fitted = ExpertNetwork.from_network(network).fitted(read_table(frame, kinds={"stage": "continuous"}))
    assert fitted.cut_points["stage"].tolist() == [2.0]


def age_network(cuts, support):
    tables = {"age": np.full(len(cuts) + 1, 1 / (len(cuts) + 1))}
    return DiscretizedBayesNet(
        ["age"],
        [],
        cut_points={"age": cuts},
        support={"age": support},
        levels={},
        tables=tables,
        pseudo_count=2.0,
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
    network = ExpertNetwork.from_edges([("x", "y")]).fitted(table)
    assert network.names == ("x", "y")
