"""The order within layers: crossings counted edge by edge, best orders by trying all of them."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gomea_bn.plots.kernels import count_crossings
from gomea_bn.plots.layers import _graph, _workspace, chains, ordered


def counted(rows, pieces):
    """Return the crossings, pair of edges by pair of edges."""
    layer = {vertex: number for number, row in enumerate(rows) for vertex in row}
    x = {vertex: at for row in rows for at, vertex in enumerate(row)}
    return sum(
        layer[a] == layer[c] and (x[a] - x[c]) * (x[b] - x[d]) < 0
        for (a, b), (c, d) in itertools.combinations(pieces, 2)
    )


def as_rows(layers):
    return [
        [vertex for vertex, layer_of_vertex in enumerate(layers) if layer_of_vertex == layer]
        for layer in range(max(layers) + 1)
    ]


def drawing(rng, n, n_layers, n_edges):
    """Return rows and pieces of a random layered graph with long edges, its places in random order."""
    _, layers = np.unique(rng.integers(0, n_layers, n), return_inverse=True)
    layers = layers.tolist()
    pairs = [(i, j) for i in range(n) for j in range(n) if layers[i] < layers[j]]
    chosen = rng.choice(len(pairs), min(n_edges, len(pairs)), replace=False) if pairs else []
    paths = chains(layers, [pairs[at] for at in chosen])
    rows = [rng.permutation(row).tolist() for row in as_rows(layers)]
    return rows, [piece for path in paths for piece in itertools.pairwise(path)]


drawings = st.builds(
    lambda seed, n, n_layers, n_edges: drawing(np.random.default_rng(seed), n, n_layers, n_edges),
    st.integers(0, 10_000),
    st.integers(1, 12),
    st.integers(1, 5),
    st.integers(0, 25),
)


@settings(max_examples=80)
@given(drawings, st.data())
def test_crossings_are_those_counted_edge_by_edge(drawn, data):
    rows, pieces = drawn
    if pieces:
        pieces = pieces + data.draw(st.lists(st.sampled_from(pieces), max_size=3))  # duplicate edges
    graph = _graph(rows, pieces)
    order = np.arange(graph.rows_at[-1])
    assert count_crossings(graph, order, _workspace(graph)) == counted(rows, pieces)


@settings(max_examples=80)
@given(drawings)
def test_orders_keep_every_row_and_never_cross_more_than_the_given_one(drawn):
    rows, pieces = drawn
    given_rows, given_pieces = [list(row) for row in rows], list(pieces)
    orders = ordered(rows, pieces)
    assert (rows, pieces) == (given_rows, given_pieces)
    assert [sorted(row) for row in orders] == [sorted(row) for row in rows]
    assert counted(orders, pieces) <= counted(rows, pieces)
    assert orders == ordered(rows, pieces)


@pytest.mark.parametrize("seed", range(10))
def test_no_move_within_a_row_saves_a_crossing(seed):
    rows, pieces = drawing(np.random.default_rng(seed), 24, 5, 60)
    best_rows = ordered(rows, pieces)
    graph = _graph(best_rows, pieces)
    work = _workspace(graph)
    least = counted(best_rows, pieces)
    assert len(best_rows) == 5
    for first, end in itertools.pairwise(graph.rows_at.tolist()):
        for start, to in itertools.product(range(first, end), repeat=2):
            moved = np.insert(np.delete(np.arange(graph.rows_at[-1]), start), to, start)
            assert count_crossings(graph, moved, work) >= least


def fewest(rows, pieces):
    """Return the least crossings of three rows over all orders: the outer rows do not see one another."""
    top, middle, bottom = rows
    upper = [piece for piece in pieces if piece[0] in top]
    lower = [piece for piece in pieces if piece[0] in middle]
    return min(
        min(counted([outer, order], upper) for outer in itertools.permutations(top))
        + min(counted([order, outer], lower) for outer in itertools.permutations(bottom))
        for order in itertools.permutations(middle)
    )


def test_small_graphs_nearly_all_get_the_fewest_crossings_there_are():
    rows = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10]]
    pairs = [*itertools.product(rows[0], rows[1]), *itertools.product(rows[1], rows[2])]
    excess = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        pieces = [pairs[at] for at in rng.choice(len(pairs), rng.integers(4, 14), replace=False)]
        excess.append(counted(ordered(rows, pieces), pieces) - fewest(rows, pieces))
    assert min(excess) == 0
    assert sum(more > 0 for more in excess) <= 2
    assert sum(excess) <= 4


def test_edges_become_paths_with_one_vertex_per_layer():
    layers = [0, 3, 1]
    assert chains(layers, [(0, 1), (0, 2), (2, 1)]) == [[0, 3, 4, 1], [0, 2], [2, 5, 1]]
    assert layers == [0, 3, 1, 1, 2, 2]


def test_vertices_without_edges_stay_where_they_are():
    assert ordered([], []) == []
    assert ordered([[0]], []) == [[0]]
    assert ordered([[2, 0, 1], [4, 3]], []) == [[2, 0, 1], [4, 3]]
    assert ordered([[0, 1, 2], [3, 4, 5]], [(0, 5), (2, 3)]) in (
        [[0, 1, 2], [5, 4, 3]],
        [[2, 1, 0], [3, 4, 5]],
    )


@pytest.mark.parametrize("n_edges", [64, 128])
def test_most_crossings_of_sixty_four_vertices_go(n_edges):
    rows, pieces = drawing(np.random.default_rng(5), 64, 8, n_edges)
    orders = ordered(rows, pieces)
    assert counted(orders, pieces) < 0.4 * counted(rows, pieces)
