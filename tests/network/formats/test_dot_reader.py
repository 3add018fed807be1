"""Graphs in DOT files: those that gomea-bn writes, and those of other programs."""

import itertools

import pydot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from network_examples import HOSTILE_LEVELS, HOSTILE_NAMES, small_network

from gomea_bn import ExpertNetwork, GomeaBnError
from gomea_bn.network.formats.dot import read_dot_graph


@pytest.mark.parametrize("cpdag", [False, True])
def test_our_own_files_give_the_graph_back(tmp_path, cpdag):
    network = small_network(
        3, names=[name for name in HOSTILE_NAMES if "&" not in name], levels=HOSTILE_LEVELS
    )
    network.to_dot(tmp_path / "g.dot", cpdag=cpdag)
    names, edges = read_dot_graph(tmp_path / "g.dot")
    assert names == list(network.names)
    assert edges == network.edges
    expert = ExpertNetwork.from_file(tmp_path / "g.dot")
    assert (expert.names, expert.edges, expert.network) == (network.names, network.edges, None)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.text(st.sampled_from('ab"\\n {}->;é&'), min_size=1, max_size=6),
        min_size=2,
        max_size=5,
        unique=True,
    )
)
def test_any_quoted_names_are_read_as_pydot_writes_them(tmp_path_factory, names):
    names = [name for name in names if not name.endswith("\\")]
    graph = pydot.Dot("g", graph_type="digraph")
    quoted = {name: '"' + name.replace('"', '\\"') + '"' for name in names if '\\"' not in name}
    for name in quoted.values():
        graph.add_node(pydot.Node(name))
    ends = list(quoted)
    for first, second in itertools.pairwise(ends):
        graph.add_edge(pydot.Edge(quoted[first], quoted[second]))
    path = tmp_path_factory.mktemp("dot") / "g.dot"
    path.write_text(graph.to_string(), encoding="utf-8")
    read_names, edges = read_dot_graph(path)
    assert read_names == ends
    assert edges == list(itertools.pairwise(ends))


OTHER = """// a comment -> here
strict digraph "some graph" {
  rankdir=LR; node [shape=box, label="x\\n3 bins"]
  a -> b -> "c d" [color = red; penwidth=2];  /* a -> q */
  -1.5 -> a
  lonely [label="An odd label"]
}
"""


def test_files_of_other_programs_name_nodes_by_identifier(tmp_path):
    (tmp_path / "g.dot").write_text(OTHER)
    assert read_dot_graph(tmp_path / "g.dot") == (
        ["a", "b", "c d", "-1.5", "lonely"],
        [("a", "b"), ("b", "c d"), ("-1.5", "a")],
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: wanted digraph"),
        ("graph { a -- b }", "line 1: wanted digraph, got 'graph'"),
        ("digraph {\n a -- b }", "line 2: wanted ->, got --"),
        ("digraph {\n subgraph x { a } }", "line 2: sub-graphs cannot be read"),
        ("digraph {\n a -> { b c } }", "line 2: wanted a node, got '{'"),
        ("digraph { a:n -> b }", "ports cannot be read"),
        ("digraph { a -> b", "end of the text"),
        ("digraph { a [label=", "end of the text"),
        ("digraph { a } digraph { b }", "wanted the end of the text"),
    ],
)
def test_what_is_no_directed_graph_is_refused_with_its_line(tmp_path, text, message):
    (tmp_path / "g.dot").write_text(text)
    with pytest.raises(GomeaBnError, match=r"g\.dot': ") as caught:
        read_dot_graph(tmp_path / "g.dot")
    assert message in str(caught.value)


def test_cycles_are_named(tmp_path):
    (tmp_path / "g.dot").write_text("digraph { a -> b -> a }")
    with pytest.raises(GomeaBnError, match=r"g\.dot': .*cycle"):
        ExpertNetwork.from_file(tmp_path / "g.dot")
