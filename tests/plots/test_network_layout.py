"""The layout of networks in layers: distances, crossings and bends against slow twins, best orders by trying all."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gomea_bn import GomeaBnError
from gomea_bn.plots import network_layout
from gomea_bn.plots.kernels import count_crossings
from gomea_bn.plots.network_layout import _graph, _workspace, chains, ordered
from gomea_bn.simulation import random_network


def graphs(max_nodes=9):
    def edges(n):
        pairs = [(f"n{i}", f"n{j}") for i in range(n) for j in range(n) if i != j]
        return st.tuples(
            st.just(n), st.lists(st.sampled_from(pairs), max_size=3 * n) if pairs else st.just([])
        )

    return st.integers(1, max_nodes).flatmap(edges)


def rows_of(layout, widths):
    """Return, by layer, the (left, right) borders of all that stands there."""
    rows = {}
    for name, (x, y) in layout["nodes"].items():
        rows.setdefault(y, []).append((x - widths[name] / 2, x + widths[name] / 2))
    for points in layout["bends"].values():
        for x, y in points:
            rows.setdefault(y, []).append((x, x))
    return {y: sorted(row) for y, row in rows.items()}


@given(graphs(), st.integers(1, 3))
@settings(max_examples=20)
def test_slices_stand_below_one_another_and_parents_above_children(graph, n_slices):
    n, edges = graph
    names = [f"n{i}" for i in range(n)]
    slices = [part for k in range(n_slices) if (part := names[k::n_slices])]
    time_of = {name: k for k, part in enumerate(slices) for name in part}
    # acyclic, and never back in time
    order = {name: (time_of[name], name) for name in names}
    forward = [edge for edge in edges if order[edge[0]] < order[edge[1]]]
    layout = network_layout(names, forward, slices=slices)
    layer = {name: y for name, (_, y) in layout["nodes"].items()}
    assert all(layer[parent] < layer[child] for parent, child in forward)
    for earlier, later in itertools.pairwise(slices):
        assert max(layer[name] for name in earlier) < min(layer[name] for name in later)


@settings(max_examples=40)
@given(graphs(), st.randoms(use_true_random=False))
def test_layouts_keep_everything_apart_and_give_edges_a_bend_per_layer(graph, random):
    n, edges = graph
    names = [f"n{i}" for i in range(n)]
    widths = {name: random.choice([0.0, 1.0, 2.5]) for name in names}
    layout = network_layout(names, edges, widths=widths, gap=0.25)
    assert list(layout["nodes"]) == names
    assert list(layout["bends"]) == list(dict.fromkeys(edges))
    for row in rows_of(layout, widths).values():
        assert row[0][0] >= -1e-7
        for (_, right), (left, _) in itertools.pairwise(row):
            assert left - right >= 0.25 - 1e-7
    for (parent, child), points in layout["bends"].items():
        start, end = layout["nodes"][parent][1], layout["nodes"][child][1]
        step = 1 if end > start else -1
        assert start != end
        assert [y for _, y in points] == [float(y) for y in range(int(start) + step, int(end), step)]
    assert layout == network_layout(names, edges, widths=widths, gap=0.25)


def uppermost_layers(n, edges):
    """Return the layer of every node that is least among all layerings of the least total length."""
    layerings = [
        layers
        for layers in itertools.product(range(n), repeat=n)
        if all(layers[j] > layers[i] for i, j in edges)
    ]
    lengths = [sum(layers[j] - layers[i] for i, j in edges) for layers in layerings]
    shortest = [layers for layers, length in zip(layerings, lengths) if length == min(lengths)]
    return np.min(shortest, axis=0).tolist()


@pytest.mark.parametrize("seed", range(12))
def test_parents_stand_above_children_at_the_least_total_length_as_high_as_possible(seed):
    rng = np.random.default_rng(seed)
    n = 5
    edges = [(i, j) for i, j in itertools.combinations(range(n), 2) if rng.random() < 0.5]
    names = [str(i) for i in range(n)]
    layout = network_layout(names, [(names[i], names[j]) for i, j in edges])
    connected = sorted({node for edge in edges for node in edge})
    expected = uppermost_layers(n, edges)
    assert [layout["nodes"][names[node]][1] for node in connected] == [expected[node] for node in connected]


def crossings(layout):
    chains = [[layout["nodes"][a], *points, layout["nodes"][b]] for (a, b), points in layout["bends"].items()]
    pieces = [pair for chain in chains for pair in itertools.pairwise(chain)]
    return sum(
        (piece[0][0] - other[0][0]) * (piece[1][0] - other[1][0]) < -1e-9
        for piece, other in itertools.combinations(pieces, 2)
        if piece[0][1] == other[0][1]
    )


def test_trees_are_drawn_without_crossings_and_parents_in_the_middle():
    edges = [(f"n{(i - 1) // 2}", f"n{i}") for i in range(1, 15)]
    shuffled = [edges[i] for i in np.random.default_rng(1).permutation(len(edges))]
    layout = network_layout(sorted({name for edge in edges for name in edge}), shuffled)
    assert crossings(layout) == 0
    x = {name: point[0] for name, point in layout["nodes"].items()}
    for i in range(7):
        assert x[f"n{i}"] == pytest.approx((x[f"n{2 * i + 1}"] + x[f"n{2 * i + 2}"]) / 2)


def moved(layout, stop, x):
    """Return the layout with one node or bend at another x; a stop is a name, or an edge and a place in it."""
    nodes, bends = dict(layout["nodes"]), {edge: list(points) for edge, points in layout["bends"].items()}
    if stop in nodes:
        nodes[stop] = (x, nodes[stop][1])
    else:
        edge, bend = stop
        bends[edge][bend] = (x, bends[edge][bend][1])
    return {"nodes": nodes, "bends": bends}


@pytest.mark.parametrize("seed", [1, 2])
def test_no_swap_of_neighbours_saves_a_crossing(seed):
    network = random_network(11, law="ide-cozman", random_state=seed)
    layout = network_layout(network.names, network.edges)
    count = crossings(layout)
    stops: list[tuple[float, float, Any]] = [(y, x, name) for name, (x, y) in layout["nodes"].items()]
    stops += [
        (y, x, (edge, bend)) for edge, points in layout["bends"].items() for bend, (x, y) in enumerate(points)
    ]
    stops.sort(key=lambda stop: stop[:2])
    neighbours = [pair for pair in itertools.pairwise(stops) if pair[0][0] == pair[1][0]]
    assert len(neighbours) > 10
    for (_, left_x, left), (_, right_x, right) in neighbours:
        assert crossings(moved(moved(layout, left, right_x), right, left_x)) >= count


def test_edges_mostly_run_straight_through_the_layers_they_pass():
    network = random_network(20, law="ide-cozman", random_state=3)
    layout = network_layout(network.names, network.edges)
    inner = [pair for points in layout["bends"].values() for pair in itertools.pairwise(points)]
    straight = sum(abs(upper[0] - lower[0]) < 1e-6 for upper, lower in inner)
    assert len(inner) > 100
    assert straight > 0.75 * len(inner)


def test_long_edges_run_straight_through_the_layers():
    names = list("abcdef")
    layout = network_layout(names, [*itertools.pairwise(names), ("a", "f")])
    points = layout["bends"]["a", "f"]
    assert [y for _, y in points] == [1.0, 2.0, 3.0, 4.0]
    assert len({round(x, 6) for x, _ in points}) == 1


def test_the_edge_that_closes_a_cycle_points_upwards():
    layout = network_layout("abc", [("a", "b"), ("b", "c"), ("c", "a")])
    assert [layout["nodes"][name][1] for name in "abc"] == [0.0, 1.0, 2.0]
    assert [y for _, y in layout["bends"]["c", "a"]] == [1.0]
    longer = network_layout("abcd", [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
    assert [y for _, y in longer["bends"]["d", "a"]] == [2.0, 1.0]


def test_nodes_without_edges_stand_in_rows_below():
    names = [f"n{i}" for i in range(11)]
    layout = network_layout(names, [("n3", "n4")])
    alone = {layout["nodes"][name][1] for name in names if name not in ("n3", "n4")}
    assert alone == {2.0, 3.0, 4.0}
    assert {y for _, y in network_layout(names, [])["nodes"].values()} == {0.0, 1.0, 2.0}


def test_layouts_name_what_is_wrong():
    with pytest.raises(GomeaBnError, match=r"unknown node 'agee'\. Did you mean 'age'\?"):
        network_layout(["age", "bmi"], [("agee", "bmi")])
    with pytest.raises(GomeaBnError, match="connects a node with itself"):
        network_layout(["age"], [("age", "age")])
    with pytest.raises(GomeaBnError, match=r"widths\['b'\] must be a finite number of at least 0, got none"):
        network_layout(["a", "b"], [("a", "b")], widths={"a": 1})
    with pytest.raises(GomeaBnError, match=r"widths\['a'\] .* got nan"):
        network_layout(["a"], [], widths={"a": math.nan})


def test_layers_wider_than_the_room_are_divided_with_parents_above_children():
    children = [f"c{number}" for number in range(12)]
    edges = [("root", child) for child in children] + [(child, "end") for child in children[:4]]
    names = ["root", *children, "end"]
    wide = network_layout(names, edges)["nodes"]
    narrow = network_layout(names, edges, room=5.0)["nodes"]
    assert max(x for x, _ in narrow.values()) < max(x for x, _ in wide.values())
    assert all(narrow[parent][1] < narrow[child][1] for parent, child in edges)
    rows = {y for _, y in narrow.values()}
    assert rows == set(range(len(rows)))


def test_a_room_that_the_layers_need_is_not_exceeded():
    rng = np.random.default_rng(0)
    names = [f"x{number}" for number in range(24)]
    edges = [(names[i], names[j]) for j in range(1, 24) for i in rng.choice(j, min(j, 2), replace=False)]

    def width(layout):
        ends = [x + 0.5 for x, _ in layout["nodes"].values()]
        return max(ends + [x for bends in layout["bends"].values() for x, _ in bends])

    free = network_layout(names, edges)
    narrow = network_layout(names, edges, room=width(free) - 0.5)
    assert width(narrow) <= width(free) - 0.5


@pytest.mark.parametrize("room", [None, 6.0])
def test_a_layout_does_not_depend_on_names_and_thus_not_on_their_hashes(room):
    network = random_network(16, law="ide-cozman", random_state=4)
    layouts = []
    for prefix in ("x", "a longer name ", "0"):
        new_name = {name: f"{prefix}{at}" for at, name in enumerate(network.names)}
        edges = [(new_name[parent], new_name[child]) for parent, child in network.edges]
        layout = network_layout(list(new_name.values()), edges, room=room)
        layouts.append((list(layout["nodes"].values()), list(layout["bends"].values())))
    assert layouts[1:] == layouts[:1] * 2


def test_rows_stay_the_same_in_a_room_that_every_layer_fits():
    network = random_network(16, law="ide-cozman", random_state=4)
    free = network_layout(network.names, network.edges)
    roomy = network_layout(network.names, network.edges, room=100.0)
    assert [y for _, y in roomy["nodes"].values()] == [y for _, y in free["nodes"].values()]
    assert [len(points) for points in roomy["bends"].values()] == [
        len(points) for points in free["bends"].values()
    ]


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
