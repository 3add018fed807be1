import itertools
import math
import runpy
from collections import Counter
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from network_examples import with_parts
from scipy.stats import chisquare
from wrong_input import untyped

from gomea_bn import DiscretizedBayesNet, GomeaBnError
from gomea_bn.simulation import random_network
from gomea_bn.simulation.random_networks import (
    GraphBounds,
    _edge_limit,
    equalise_marginals,
    ide_cozman_edges,
    tree_edges,
)

LAWS = ["tree", "ide-cozman"]
KINDS = ["random", "equal-width", "equal-frequency"]


def to_networkx(network: DiscretizedBayesNet) -> nx.DiGraph:
    graph = nx.DiGraph(network.edges)
    graph.add_nodes_from(network.names)
    return graph


def allowed_graphs(bounds: GraphBounds) -> set[frozenset[tuple[int, int]]]:
    """Every connected acyclic graph within the bounds, by going through all orientations of all pairs."""
    n = len(bounds.cardinalities)
    pairs = list(itertools.combinations(range(n), 2))
    graphs = set()
    for marks in itertools.product((0, 1, 2), repeat=len(pairs)):
        edges = [(i, j) if mark == 1 else (j, i) for (i, j), mark in zip(pairs, marks) if mark]
        parents = [[i for i, j in edges if j == child] for child in range(n)]
        graph = nx.DiGraph(edges)
        if (
            n - 1 <= len(edges) <= bounds.max_edges
            and graph.number_of_nodes() == n
            and nx.is_weakly_connected(graph)
            and nx.is_directed_acyclic_graph(graph)
            and all(len(of) <= bounds.max_indegree for of in parents)
            and all(math.prod(bounds.cardinalities[p] for p in of) <= bounds.max_table_rows for of in parents)
        ):
            graphs.add(frozenset(edges))
    return graphs


@given(
    n=st.integers(2, 9),
    law=st.sampled_from(LAWS),
    kind=st.sampled_from(KINDS),
    rows=st.sampled_from(["uniform", "dirichlet", "constant"]),
    max_indegree=st.integers(1, 6),
    max_edge_fraction=st.floats(0, 1),
    max_table_rows=st.integers(6, 200),
    discrete_fraction=st.floats(0, 1),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=80)
def test_every_network_keeps_the_bounds(
    n, law, kind, rows, max_indegree, max_edge_fraction, max_table_rows, discrete_fraction, seed
):
    def draw() -> DiscretizedBayesNet:
        return random_network(
            n, law=law, kind=kind, rows=rows, max_indegree=max_indegree, max_edge_fraction=max_edge_fraction,
            max_table_rows=max_table_rows, discrete_fraction=discrete_fraction, random_state=seed,
        )  # fmt: skip

    network = draw()
    assert network == draw()
    graph = to_networkx(network)
    assert nx.is_directed_acyclic_graph(graph)
    assert nx.is_weakly_connected(graph)
    assert n - 1 <= len(network.edges) <= max(n - 1, max_edge_fraction * n * (n - 1) / 2 + 1e-6)
    expected_discrete = math.floor(discrete_fraction * n + 0.5)
    assert len(network.levels) == (max(1, expected_discrete) if discrete_fraction > 0 else 0)
    assert set(network.levels) | set(network.cut_points) == set(network.names)
    for name in network.names:
        assert len(network.parents(name)) <= max_indegree
        table = network.tables[name]
        assert 2 <= network.cardinality(name) <= 6
        assert table.shape == (*map(network.cardinality, network.parents(name)), network.cardinality(name))
        assert table[..., 0].size <= max_table_rows
        assert (table > 0).all()
        np.testing.assert_allclose(table.sum(axis=-1), 1.0, atol=1e-12)
    for name, cuts in network.cut_points.items():
        assert network.support[name] == (0.0, 1.0)
        widths = np.diff([0.0, *cuts, 1.0])
        assert widths.max() / widths.min() <= 21.0 + 1e-9
        if kind == "equal-width":
            np.testing.assert_allclose(widths, 1 / len(widths), atol=1e-12)


def test_kinds_share_graph_and_what_is_random_in_both():
    nets = {kind: random_network(7, kind=untyped(kind), random_state=3) for kind in KINDS}
    random, width, frequency = (nets[kind] for kind in KINDS)
    assert random.edges == width.edges == frequency.edges
    for name in random.names:
        np.testing.assert_array_equal(random.tables[name], width.tables[name])
    for name, cuts in random.cut_points.items():
        np.testing.assert_array_equal(cuts, frequency.cut_points[name])
    assert random != random_network(7, random_state=4)
    assert random_network(7, random_state=np.random.default_rng(3)) == random


def test_default_law_draws_edge_counts_with_replacement():
    """Eight variables, 0 to 4 draws among 28 pairs, of which the tree takes 7."""
    expected = np.zeros(12)
    for n_draws in range(5):
        state = np.zeros(12)
        state[7] = 1.0
        for _ in range(n_draws):
            free = (28 - np.arange(12)) / 28
            state = state * (1 - free) + np.concatenate(([0.0], (state * free)[:-1]))
        expected += state / 5
    rng = np.random.default_rng(1)
    bounds = GraphBounds([3] * 8, 11, 8, 10**6)
    counts = Counter(len(tree_edges(bounds, rng)) for _ in range(1500))
    assert set(counts) == set(range(7, 12))
    assert chisquare([counts[m] for m in range(7, 12)], 1500 * expected[7:]).pvalue > 0.01


def test_trees_of_the_default_law_follow_their_probabilities():
    """Three variables: each of 6 directed paths has 1/12, each of 3 stars 1/6."""
    rng = np.random.default_rng(2)
    bounds = GraphBounds([2] * 3, 2, 6, 3000)
    counts = Counter(frozenset(tree_edges(bounds, rng)) for _ in range(1800))
    assert len(counts) == 9
    expected = [1800 / (6 if len({i for i, _ in edges}) == 1 else 12) for edges in counts]
    assert chisquare(list(counts.values()), expected).pvalue > 0.01


def test_further_edges_of_the_default_law_are_uniform_over_the_pairs():
    """With every edge count the same, each unordered pair is adjacent equally often."""
    rng = np.random.default_rng(3)
    bounds = GraphBounds([2] * 5, 7, 4, 3000)
    counts: Counter[frozenset[int]] = Counter()
    for _ in range(1000):
        counts.update(map(frozenset, tree_edges(bounds, rng)))
    assert chisquare([counts[frozenset(pair)] for pair in itertools.combinations(range(5), 2)]).pvalue > 0.01


def test_default_law_stops_where_no_pair_is_left():
    rng = np.random.default_rng(4)
    for _ in range(30):
        edges = tree_edges(GraphBounds([2, 3, 4, 5, 6], 10, 1, 3000), rng)
        assert len(edges) == 4


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("bounds", "n_graphs"),
    [
        (GraphBounds([2] * 3, 2, 6, 3000), 12),
        (GraphBounds([2] * 3, 3, 6, 3000), 18),
        (GraphBounds([2] * 4, 3, 6, 3000), 128),
        (GraphBounds([2, 3, 2, 4], 5, 2, 6), None),
    ],
)
def test_chain_visits_every_allowed_graph_equally_often(bounds, n_graphs):
    states = allowed_graphs(bounds)
    assert n_graphs in (None, len(states))
    rng = np.random.default_rng(5)
    counts = Counter(frozenset(ide_cozman_edges(bounds, rng)) for _ in range(20 * len(states)))
    assert set(counts) <= states
    assert chisquare([counts[state] for state in states]).pvalue > 0.01


def test_the_limit_on_edges_is_the_share_of_all_pairs_without_rounding_errors():
    assert _edge_limit(25, 0.41) == 123  # 0.41 * 300 is 122.99999999999999
    assert _edge_limit(4, 0.6) == 3
    assert _edge_limit(10, 0.1) == 9  # of a spanning tree


def test_chain_is_dense_at_twenty_variables():
    networks = [random_network(20, law="ide-cozman", random_state=seed) for seed in range(20)]
    assert 68 < np.mean([len(network.edges) for network in networks]) <= 76


@pytest.mark.parametrize("rows", ["uniform", "dirichlet"])
@pytest.mark.parametrize("law", LAWS)
def test_equal_frequency_marginals_are_uniform(law, rows):
    for seed in range(3):
        network = random_network(9, law=law, kind="equal-frequency", rows=rows, random_state=seed)
        for name in network.names:
            np.testing.assert_allclose(network.query(name), 1 / network.cardinality(name), atol=1e-9)
        assert any(np.ptp(network.tables[child], axis=-2).max() > 0.05 for _, child in network.edges)


def test_equal_frequency_marginals_stay_near_uniform_when_a_sample_stands_in():
    network = random_network(9, law="ide-cozman", kind="random", random_state=6)
    position = {name: i for i, name in enumerate(network.names)}
    parents = [[position[p] for p in network.parents(name)] for name in network.names]
    tables = equalise_marginals(
        parents,
        [network.tables[name] for name in network.names],
        np.random.default_rng(0),
        max_joint_cells=30,
    )
    rescaled = with_parts(network, tables=dict(zip(network.names, tables)))
    worst = max(np.abs(rescaled.query(n) - 1 / rescaled.cardinality(n)).max() for n in rescaled.names)
    assert 1e-7 < worst < 4e-3


def test_equal_frequency_holds_in_a_sample_of_a_large_network():
    network = random_network(20, law="ide-cozman", kind="equal-frequency", random_state=2)
    codes = network.discretize(network.sample(40_000, random_state=1))
    assert len(network.names) == 20
    for name in network.names:
        shares = np.bincount(codes[name], minlength=network.cardinality(name)) / 40_000
        np.testing.assert_allclose(shares, 1 / len(shares), atol=0.015)


def test_constant_rows_make_every_value_equally_likely():
    network = random_network(5, rows="constant", random_state=1)
    assert len(network.tables) == 5
    assert all((table == 1 / table.shape[-1]).all() for table in network.tables.values())


def test_rows_follow_their_law():
    """A row of two: the first share of two uniforms has P(share < 1/4) = 1/6, under Dirichlet(1) 1/4."""
    cases: list[tuple[Any, float]] = [("uniform", 1 / 6), ("dirichlet", 1 / 4)]
    for rows, expected in cases:
        shares = [
            value
            for seed in range(150)
            for table in random_network(
                4, rows=rows, cardinality=(2, 2), max_edge_fraction=1, random_state=seed
            ).tables.values()
            for value in table[..., 0].ravel()
        ]
        deviation = math.sqrt(expected * (1 - expected) / len(shares))
        assert abs(np.mean(np.array(shares) < 0.25) - expected) < 4 * deviation


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_variables": 1}, "n_variables must be an integer of at least 2, got 1"),
        ({"law": "forest"}, "law must be one of 'tree', 'ide-cozman', got 'forest'"),
        ({"kind": "both"}, "kind must be one of"),
        ({"rows": "normal"}, "rows must be one of"),
        ({"max_indegree": 0}, "max_indegree must be an integer of at least 1"),
        ({"max_edge_fraction": 1.5}, "max_edge_fraction must be a finite number of at least 0 and at most 1"),
        ({"discrete_fraction": -0.1}, "discrete_fraction must be a finite number of at least 0 and at most 1"),
        ({"cardinality": (1, 4)}, "cardinality must be two integers"),
        ({"cardinality": (5, 4)}, "cardinality must be two integers"),
        ({"max_table_rows": 5}, "max_table_rows = 5"),
    ],
)  # fmt: skip
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(GomeaBnError, match=message):
        random_network(**{"n_variables": 4, **options})


def test_launcher_writes_the_network_and_its_rows(tmp_path, capsys):
    script = Path(__file__).parents[2] / "scripts" / "generate_network.py"
    main = runpy.run_path(str(script))["main"]
    main(["5", "--law", "ide-cozman", "--n-rows", "40", "--seed", "3", "--out", str(tmp_path / "new")])
    network = random_network(5, law="ide-cozman", random_state=3)
    assert DiscretizedBayesNet.from_json(tmp_path / "new" / "network.json") == network
    frame = pd.read_csv(tmp_path / "new" / "rows.csv")
    assert list(frame.columns) == list(network.names)
    assert len(frame) == 40
    assert np.isfinite(network.log_density(frame)).all()
    with pytest.raises(SystemExit) as stop:
        main(["1", "--out", str(tmp_path)])
    assert stop.value.code == 2
    assert "n_variables must be an integer of at least 2" in capsys.readouterr().err
