import pytest
from hypothesis import given
from hypothesis import strategies as st

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.graph import layers, topological_order


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
