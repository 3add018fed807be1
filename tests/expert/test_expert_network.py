"""Experts' networks: their parts, what is refused, and which columns they mention."""

import copy
import itertools
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from network_examples import HOSTILE_NAMES, small_network
from table_examples import patients
from wrong_input import untyped

from gomea_bn import DiscretizedBayesNet, ExpertNetwork, GomeaBnError, read_table


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
    with pytest.raises(AttributeError, match="An ExpertNetwork cannot be changed"):
        untyped(expert).names = ()
    with pytest.raises(AttributeError, match="An ExpertNetwork cannot be changed"):
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
        ({"edges": [("smoke", "b")], "names": ["smoker", "b"]}, "unknown variable 'smoke'. Did you mean 'smoker'"),
        ({"edges": [], "names": ["a", "a"]}, "Duplicate variable name 'a'"),
        ({"edges": [], "names": "ab"}, "got the single text 'ab'"),
        ({"edges": [], "names": ["age"], "cut_points": {"agee": [1]}}, "unknown variable 'agee'. Did you mean 'age'"),
        ({"edges": [("a", "b")], "cut_points": [1]}, "cut_points must map names to lists of numbers, got list"),
        ({"edges": [], "cut_points": {"a": [2, 1]}}, r"cut_points\['a'\] must increase strictly, got 2.0 before 1.0"),
        ({"edges": [], "cut_points": {"a": [1, 1]}}, "must increase strictly"),
        ({"edges": [], "cut_points": {"a": [math.nan]}}, r"cut_points\['a'\] must be finite"),
        ({"edges": [], "cut_points": {"a": [math.inf]}}, r"cut_points\['a'\] must be finite"),
        ({"edges": [], "cut_points": {"a": "12"}}, r"cut_points\['a'\] must be a list of numbers, got '12'"),
        ({"edges": [], "cut_points": {"a": ["1"]}}, r"cut_points\['a'\] must be a list of numbers"),
        ({"edges": [], "cut_points": {"a": [True]}}, r"cut_points\['a'\] must be a list of numbers"),
        ({"edges": [], "cut_points": {"a": 3}}, r"cut_points\['a'\] must be a list of numbers, got 3"),
        ({"edges": [], "cut_points": {"a": [[1.0]]}}, r"must be one-dimensional, got shape \(1, 1\)"),
    ],
)  # fmt: skip
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


def test_names_without_edges_are_mentioned_too():
    network = ExpertNetwork.from_edges([], names=["bp"]).fitted(read_table(patients()))
    assert network.metadata["expert_fit"]["not_mentioned"] == ["age", "smoker", "stage"]


def test_no_cut_points_state_one_bin():
    network = ExpertNetwork.from_edges([("age", "bp")], cut_points={"age": []}).fitted(read_table(patients()))
    assert network.cardinality("age") == 1
    assert network.cardinality("bp") == 3


def test_hostile_names_pass_through_everything():
    rng = np.random.default_rng(0)
    names = HOSTILE_NAMES
    frame = pd.DataFrame({name: rng.normal(size=40) for name in names})
    expert = ExpertNetwork.from_edges(list(itertools.pairwise(names)), cut_points={names[3]: [0.0]})
    expert = ExpertNetwork.from_json(expert.to_json())
    network = expert.fitted(read_table(frame))
    assert set(network.edges) == set(itertools.pairwise(names))
    assert network.cut_points[names[3]].tolist() == [0.0]
