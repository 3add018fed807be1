"""Graphs: which are refused, relatives, separation, equivalence; and what an edge is worth."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inference_examples import slow_joint
from network_examples import simple_network, small_network
from wrong_input import untyped

from gomea_bn import DiscretizedBayesNet, GomeaBnError, compare, read_table
from gomea_bn.metrics import cpdag
from gomea_bn.network.graph import layers, topological_order
from gomea_bn.network.tables import table_and_left_out


@st.composite
def acyclic_parents(draw):
    """Return the parents of every node of a random acyclic graph."""
    n_nodes = draw(st.integers(0, 8))
    order = draw(st.permutations(range(n_nodes)))
    parents = [[] for _ in range(n_nodes)]
    for position, node in enumerate(order):
        if position:
            parents[node] = draw(st.lists(st.sampled_from(order[:position]), unique=True))
    return parents


def slow_order(parents):
    """Return the order of Kahn's algorithm with a queue."""
    queue = [node for node, node_parents in enumerate(parents) if not node_parents]
    order = []
    while queue:
        order.append(queue.pop(0))
        for node, node_parents in enumerate(parents):
            ready = order[-1] in node_parents and set(node_parents) <= set(order)
            if ready:
                queue.append(node)
    return tuple(order)


def slow_depth(parents, node):
    return max((1 + slow_depth(parents, parent) for parent in parents[node]), default=0)


@given(acyclic_parents())
def test_the_topological_order_is_that_of_a_queue(parents):
    assert topological_order(parents, "abcdefgh") == slow_order(parents)


@given(acyclic_parents())
def test_layers_hold_the_nodes_of_one_depth_in_increasing_order(parents):
    depths = [slow_depth(parents, node) for node in range(len(parents))]
    assert layers(parents, "abcdefgh") == [
        [node for node, depth in enumerate(depths) if depth == layer] for layer in sorted(set(depths))
    ]


@pytest.mark.parametrize("order", [topological_order, layers])
@pytest.mark.parametrize(
    ("parents", "cycles"),
    [
        ([[0]], ["a → a"]),
        ([[1], [0]], ["a → b → a", "b → a → b"]),
        ([[], [3, 0], [1], [2]], ["b → c → d → b", "c → d → b → c", "d → b → c → d"]),
    ],
)
def test_a_cycle_is_an_error_that_names_it_along_its_edges(order, parents, cycles):
    with pytest.raises(GomeaBnError) as caught:
        order(parents, "abcd")
    assert str(caught.value) in [f"The edges contain the cycle {cycle}." for cycle in cycles]


def of_edges(names: str, edges: list[str], **tables: object) -> DiscretizedBayesNet:
    """A network of two-level variables with one-letter names; edges are "ab" for a → b."""
    pairs = [(edge[0], edge[1]) for edge in edges]
    return simple_network(
        dict.fromkeys(names, ("no", "yes")), pairs, np.random.default_rng(0), **untyped(tables)
    )


NET = of_edges("abcdef", ["ac", "bc", "cd", "ce", "fe"])


def test_relatives_by_hand():
    assert NET.children("c") == ("d", "e")
    assert NET.children("d") == ()
    assert NET.ancestors("e") == ("a", "b", "c", "f")
    assert NET.ancestors("a") == ()
    assert NET.descendants("a") == ("c", "d", "e")
    assert NET.markov_blanket("c") == ("a", "b", "d", "e", "f")
    assert NET.markov_blanket("f") == ("c", "e")
    for ask in (NET.children, NET.ancestors, NET.descendants, NET.markov_blanket):
        with pytest.raises(GomeaBnError, match="Unknown variable 'z'"):
            ask("z")


@given(seed=st.integers(0, 10**6))
@settings(max_examples=60)
def test_separation_equals_pyagrums(seed):
    network = small_network(seed, 6, max_parents=3)
    model = network.to_pyagrum()
    rng = np.random.default_rng(seed)
    for _ in range(5):
        roles = rng.integers(0, 4, size=6)
        sets = [
            [name for name, role in zip(network.names, roles, strict=True) if role == k] for k in range(3)
        ]
        if sets[0] and sets[1]:
            # pyAgrum takes single nodes
            expected = all(model.isIndependent(x, y, sets[2]) for x, y in itertools.product(sets[0], sets[1]))
            assert network.d_separated(*sets) == expected


def test_a_blanket_separates_from_all_other_variables():
    for name in NET.names:
        blanket = NET.markov_blanket(name)
        others = [other for other in NET.names if other not in (*blanket, name)]
        assert not others or NET.d_separated(name, others, blanket)
    assert NET.d_separated("a", "b")
    assert not NET.d_separated("a", "b", "d")


@pytest.mark.parametrize(
    ("sets", "words"),
    [
        (("a", "a"), "must not share variables; two of them have 'a'"),
        (("a", "b", ["b"]), "two of them have 'b'"),
        (("a", []), "must each name at least one"),
        (("a", "z"), "Unknown variable 'z'"),
    ],
)
def test_sets_that_make_no_sense_are_refused(sets, words):
    with pytest.raises(GomeaBnError, match=words):
        NET.d_separated(*sets)


def test_compelled_and_reversible_edges_by_hand():
    classes = of_edges("abcdef", ["ac", "bc", "cd", "ef"]).cpdag()
    assert classes.compelled == (("a", "c"), ("b", "c"), ("c", "d"))
    assert classes.reversible == (("e", "f"),)
    assert str(classes) == "a → c\nb → c\nc → d\ne — f"


@given(seed=st.integers(0, 10**6))
def test_the_edges_of_a_class_are_those_of_the_matrix(seed):
    network = small_network(seed, 6, max_parents=3)
    classes = network.cpdag()
    assert sorted([*classes.compelled, *classes.reversible]) == sorted(network.edges)
    marks = cpdag(network.adjacency_matrix)
    for parent, child in network.edges:
        i, j = network.names.index(parent), network.names.index(child)
        assert marks[i, j] == 1
        assert ((parent, child) in classes.reversible) == bool(marks[j, i])


def test_reversible_edges_are_marked_in_texts(tmp_path):
    network = of_edges("abcd", ["ab", "cb", "cd"])
    assert network.cpdag().reversible == (("c", "d"),)
    text = network.to_dot(tmp_path / "g.dot", cpdag=True)
    assert (tmp_path / "g.dot").read_text() == text
    assert "  n2 -> n3 [dir=none];" in text
    assert "  n0 -> n1;" in text
    assert "dir=none" not in network.to_dot()
    summary = network.summary()
    assert "cannot tell the direction of reversible ones" in summary
    assert "  c → d (reversible)\n" in summary + "\n"
    assert "  a → b\n" in summary
    assert "reversible" not in of_edges("abc", ["ab", "cb"]).summary()


def test_a_comparison_says_which_directions_are_open():
    first, second = of_edges("abcd", ["ab", "cb", "cd"]), of_edges("abcd", ["ab", "cb", "dc"])
    comparison = compare(first, second)
    assert comparison.compelled_a == (("a", "b"), ("c", "b"))
    assert comparison.compelled_b == (("a", "b"), ("c", "b"))
    assert "c → d in a is d → c in b (reversible in both)." in comparison.to_text()
    third = of_edges("abcd", ["ba", "cb", "cd"])
    assert "a → b in a is b → a in b." in compare(first, third).to_text()


def test_reasons_by_hand():
    network = of_edges("ab", ["ab"], a=[0.25, 0.75], b=[[0.5, 0.5], [0.1, 0.9]])
    joint = np.array([[0.125, 0.125], [0.075, 0.675]])
    information = float((joint * np.log(joint / np.outer(joint.sum(1), joint.sum(0)))).sum())
    reasons = network.why(("a", "b"))
    assert reasons.mutual_information == pytest.approx(information)
    assert reasons.removal_cost == pytest.approx(information)
    assert (reasons.n_parameters, reasons.gain, reasons.n_rows) == (1, None, None)
    assert "a → b: 0.0833 nats of mutual information." in str(reasons)
    assert "costs 0.0833 nats per row and saves 1 free parameter." in str(reasons)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=40)
def test_the_cost_is_the_divergence_to_the_network_without_the_edge(seed):
    network = small_network(seed, 4, max_parents=3, zeros=seed % 2 == 0)
    for parent, child in network.edges:
        reasons = network.why((parent, child))
        rest = [name for name in network.parents(child) if name != parent]
        # P(child | rest) from the network itself
        joint = slow_joint(network, {}, [*rest, child])
        totals = joint.sum(axis=-1, keepdims=True)
        without = joint / np.where(totals > 0, totals, 1.0)
        family = slow_joint(network, {}, [*rest, parent, child])
        of_pair = family / np.where((total := family.sum(axis=-1, keepdims=True)) > 0, total, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = family * np.log(of_pair / without[..., None, :])
        assert reasons.removal_cost == pytest.approx(np.nansum(terms), abs=1e-9)
        assert reasons.mutual_information >= 0
        free = {
            name: int(np.prod([network.cardinality(p) for p in parents]) * (network.cardinality(child) - 1))
            for name, parents in (("with", network.parents(child)), ("without", rest))
        }
        assert reasons.n_parameters == free["with"] - free["without"]


def test_the_gain_is_that_of_rows_left_out_one_by_one():
    rng = np.random.default_rng(3)
    a, c = rng.integers(0, 2, (2, 60))
    frame = pd.DataFrame({"a": a, "b": np.where(rng.random(60) < 0.8, a, 1 - a), "c": c}).astype(str)
    network = DiscretizedBayesNet.from_table(frame, [("a", "b"), ("c", "b")], {})
    useful, useless = network.why(("a", "b"), frame), network.why(("c", "b"), read_table(frame))
    assert useful.gain > 5
    assert useless.gain < 1
    assert useful.n_rows == 60
    assert f"On 60 rows, each left out in turn, it gains {useful.gain:.3g} nats." in str(useful)
    total = 0.0
    for row in range(60):
        rest, one = frame.drop(index=row), frame.iloc[[row]]
        for sign, parents in ((1, ["a", "c"]), (-1, ["c"])):
            same = rest[(rest[parents] == one[parents].iloc[0]).all(axis=1)]
            hits = (same["b"] == one["b"].iloc[0]).sum()
            total += sign * np.log((hits + 0.5) / (len(same) + 1))
    assert useful.gain == pytest.approx(total)
    # without pseudo-counts the data choose the smoothing
    plain = DiscretizedBayesNet.from_table(frame, [("a", "b")], {}, pseudo_count=0)
    codes = [plain.discretize(frame)[name].to_numpy() for name in plain.names]
    logs = [
        np.log(table_and_left_out(codes, parents, 1, [2, 2, 2], "auto", "b")[1]).sum()
        for parents in ([0], [])
    ]
    assert plain.why(("a", "b"), frame).gain == pytest.approx(logs[0] - logs[1])


def test_edges_that_are_not_there_have_no_reasons():
    with pytest.raises(GomeaBnError, match=r"got \('c', 'a'\)\. It has the reverse\."):
        NET.why(("c", "a"))
    with pytest.raises(
        GomeaBnError, match=r"edge must be an edge \(parent, child\) of the network, got 'ac'"
    ):
        NET.why("ac")


def test_a_frame_gives_the_tables_of_its_table(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"age": rng.integers(20, 60, 50), "n": rng.integers(0, 3, 50), "w": rng.normal(size=50)}
    )
    cuts: dict[str, Any] = {"age": [30, 45], "n": [0.5]}
    frame["w"] = frame["w"].round(0).astype(int).astype(str)
    table = read_table(frame, kinds={"age": "continuous", "n": "continuous", "w": "discrete"})
    expected = DiscretizedBayesNet.from_table(table, [("age", "n")], cuts)
    assert DiscretizedBayesNet.from_table(frame, [("age", "n")], cuts) == expected
    frame.to_csv(tmp_path / "rows.csv", index=False)
    read = DiscretizedBayesNet.from_table(tmp_path / "rows.csv", [("age", "n")], cuts)
    assert read.cut_points.keys() == {"age", "n"}
    with pytest.raises(GomeaBnError, match="cut_points must map variable names to values, got list"):
        DiscretizedBayesNet.from_table(frame, [], untyped([1, 2]))
    with pytest.raises(GomeaBnError, match=r"cut_points: unknown variable 'agee'\. Did you mean 'age'"):
        DiscretizedBayesNet.from_table(frame[["age", "w"]], [], {"agee": [1]})
    with pytest.raises(GomeaBnError, match=r"must be a Table, .*got int"):
        DiscretizedBayesNet.from_table(untyped(3), [], {})
