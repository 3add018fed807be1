import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from network_examples import simple_network, small_network, with_parts
from shaped_examples import point_at_a_cut
from wrong_input import untyped

from gomea_bn import ExpertNetwork, GomeaBnError, compare
from gomea_bn.metrics import shd


def network_of(edges, cuts, levels=None):
    return simple_network(levels or {}, edges, cuts=cuts)


A = network_of(
    [("age", "smoking"), ("smoking", "cost"), ("age", "cost")],
    {"age": [3, 5], "smoking": [1, 2, 3], "cost": [4]},
    {"sex": ("f", "m")},
)
B = network_of(
    [("age", "smoking"), ("cost", "smoking"), ("age", "sex")],
    {"age": [3, 5], "smoking": [1, 2, 3, 4, 5], "cost": [4.00001]},
    {"sex": ("f", "m", "x")},
)


def test_differences_are_reported_in_values():
    comparison = compare(A, B)
    assert comparison.common == (("age", "smoking"),)
    assert comparison.reversed == (("smoking", "cost"),)
    assert comparison.only_a == (("age", "cost"),)
    assert comparison.only_b == (("age", "sex"),)
    assert (comparison.names_only_a, comparison.names_only_b) == ((), ())
    assert [states.name for states in comparison.variables] == ["age", "smoking", "cost", "sex"]
    assert [(states.n_a, states.n_b, states.equal) for states in comparison.variables] == [
        (3, 3, True), (4, 6, False), (2, 2, False), (2, 3, False),
    ]  # fmt: skip
    assert comparison.variables[0].cut_points_b == (3.0, 5.0)
    assert comparison.variables[0].levels_a is None
    assert comparison.variables[3].levels_b == ("f", "m", "x")
    assert comparison.variables[3].cut_points_a is None
    assert (comparison.parameters_a, comparison.parameters_b) == (A.n_parameters, B.n_parameters)
    assert comparison.shd == shd(A, B)
    assert not comparison.equal


def test_differences_are_reported_in_words():
    assert compare(A, B).to_text("first", "yours") == "\n".join(
        [
            "Edges: 1 in both, 1 reversed, 1 only in first, 1 only in yours. Structural Hamming distance: 4.",
            "  smoking → cost in first is cost → smoking in yours.",
            "  first has the edge age → cost, which yours lacks.",
            "  yours has the edge age → sex, which first lacks.",
            "Bins and levels: 3 of 4 variables differ.",
            "  smoking has 4 bins in first, 6 in yours.",
            "  cost has 2 bins in both, cut at 4 in first, at 4.00001 in yours.",
            "  sex has 2 levels in first, 3 in yours.",
            f"first has {A.n_parameters} free parameters, yours {B.n_parameters}.",
        ]
    )
    assert str(compare(A, B)) == compare(A, B).to_text("a", "b")


def test_equal_networks_are_said_to_be_equal():
    lines = str(compare(A, A)).splitlines()
    assert lines == [
        "a and b have the same 3 edges.",
        "All variables of both have the same bins and levels.",
        "a and b are equal in every probability.",
    ]
    tables = {name: table.copy() for name, table in A.tables.items()}
    tables["age"] = [0.2, 0.3, 0.5]
    other = with_parts(A, tables=tables)
    assert str(compare(A, other)).splitlines()[2] == f"Both have {A.n_parameters} free parameters."
    bare = network_of([], {"x": []})
    assert str(compare(bare, network_of([], {"x": [1]}))).splitlines() == [
        "Neither a nor b has an edge.",
        "Bins and levels: 1 of 1 variable differs.",
        "  x has 1 bin in a, 2 in b.",
        "a has 0 free parameters, b 1.",
    ]


def test_equivalent_graphs_are_said_to_be_equivalent():
    cuts = {"x": [1], "y": [1]}
    text = str(compare(network_of([("x", "y")], cuts), network_of([("y", "x")], cuts)))
    assert "Structural Hamming distance: 0. Both graphs imply the same independences" in text


def test_variables_of_one_network_only_are_named():
    a = network_of([("x", "y"), ("y", "z")], {"x": [1], "y": [1], "z": [1]})
    b = network_of([("x", "y"), ("w", "x"), ("x", "v")], {"x": [1], "y": [1], "v": [], "w": []})
    comparison = compare(a, b)
    assert (comparison.names_only_a, comparison.names_only_b) == (("z",), ("v", "w"))
    assert comparison.shd is None
    lines = str(comparison).splitlines()
    assert lines[:3] == [
        "a has the variable z, which b lacks.",
        "b has the variables v, w, which a lacks.",
        "Edges: 1 in both, 0 reversed, 1 only in a, 2 only in b.",
    ]
    apart = compare(network_of([], {"x": []}), network_of([], {"y": []}))
    assert str(apart).splitlines()[2:] == ["Neither a nor b has an edge.", "Both have 0 free parameters."]


def test_kinds_and_levels_that_differ_are_reported():
    a = network_of([], {"x": [1]}, {"y": (0, 1), "z": ("p", "q")})
    b = network_of([], {}, {"x": ("lo", "mid", "hi"), "y": ("0", "2"), "z": ("q", "p")})
    text = str(compare(a, b))
    assert "x is continuous with 2 bins in a, discrete with 3 levels in b." in text
    assert "y has 2 levels in both: 0, 1 in a, '0', '2' in b." in text
    assert "z has 2 levels in both: 'p', 'q' in a, 'q', 'p' in b." in text


def test_levels_that_a_file_holds_as_text_are_the_same_levels(tmp_path):
    levels = {"n": (0, 1, 2), "b": (False, True), "f": (0.5, 1.0), "t": ("1", "x")}
    network = network_of([("n", "b")], {"c": [2.5]}, levels)
    network.to_bif(tmp_path / "network.bif")
    read = ExpertNetwork.from_bif(tmp_path / "network.bif").network
    assert read.levels["n"] != network.levels["n"]
    for comparison in (compare(network, read), compare(read, network)):
        assert all(states.equal for states in comparison.variables)
        assert "All variables of both have the same bins and levels." in str(comparison)
    other = network_of([("n", "b")], {"c": [2.5]}, levels | {"n": ("0", "1", "3")})
    assert [states.name for states in compare(network, other).variables if not states.equal] == ["n"]


def test_long_lists_are_cut_and_odd_names_quoted():
    many = network_of([], {"x": np.linspace(1, 9, 20)})
    shifted = network_of([], {"x": np.linspace(1, 9.5, 20)})
    assert " and 8 more in a, at 1," in str(compare(many, shifted))
    odd = network_of([("a\nb", "x → y")], {"a\nb": [1], "x → y": [1]})
    plain = network_of([], {"a\nb": [1], "x → y": [1]})
    assert r"a has the edge 'a\nb' → 'x → y', which b lacks." in str(compare(odd, plain))


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(GomeaBnError, match="got dict"):
        compare(A, untyped({}))
    with pytest.raises(GomeaBnError, match="name_a and name_b must differ, got 'me'"):
        compare(A, B).to_text("me", "me")


@given(st.integers(0, 60), st.integers(0, 60), st.integers(2, 6), st.integers(2, 6))
@settings(max_examples=60)
def test_every_edge_is_counted_once_and_swapping_mirrors(first, second, size_a, size_b):
    a, b = small_network(first, size_a), small_network(second, size_b)
    forward, backward = compare(a, b), compare(b, a)
    assert sorted([*forward.common, *forward.reversed, *forward.only_a]) == sorted(a.edges)
    assert sorted([*forward.common, *(edge[::-1] for edge in forward.reversed), *forward.only_b]) == sorted(
        b.edges
    )
    assert sorted(forward.common) == sorted(backward.common)
    assert sorted(forward.reversed) == sorted(edge[::-1] for edge in backward.reversed)
    assert (forward.only_a, forward.only_b) == (backward.only_b, backward.only_a)
    assert (forward.names_only_a, forward.names_only_b) == (backward.names_only_b, backward.names_only_a)
    assert forward.shd == backward.shd
    assert {states.name for states in forward.variables} == set(a.names) & set(b.names)
    for states in forward.variables:
        same = a.bin_labels(states.name)[1:-1] == b.bin_labels(states.name)[1:-1] and states.n_a == states.n_b
        assert same or not states.equal
    assert len(forward.to_text().splitlines()) >= 2


def test_the_order_of_the_variables_has_no_influence_on_the_hamming_distance():
    def bare(*names):
        return simple_network(dict.fromkeys(names, 2), [])

    assert compare(bare("a", "b"), bare("b", "a")).shd == 0
    assert compare(bare("a", "b"), bare("a", "c")).shd is None


def test_other_distributions_inside_the_bins_are_named():
    shaped = point_at_a_cut()
    uniform = with_parts(shaped, levels={})
    comparison = compare(shaped, uniform)
    assert comparison.other_shapes == ("x",)
    assert not comparison.equal
    assert "The distribution inside the bins of x differs." in comparison.to_text()
    assert compare(shaped, shaped).other_shapes == ()
    assert "distribution" not in str(compare(shaped, shaped))
