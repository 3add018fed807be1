import math
from collections import Counter
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from network_examples import one_column, simple_network

from gomea_bn import GomeaBnError, read_table, simulated_expert
from gomea_bn.simulation import random_network as ground_truth


@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.integers(2, 14),
    st.sampled_from([0.0, 0.3, 0.5, 0.7]),
    st.integers(2, 6),
    st.sampled_from(["tree", "ide-cozman"]),
)
def test_simulated_experts_know_their_share_of_the_true_edges(
    seed, n_variables, known_fraction, max_bins, law
):
    truth = ground_truth(n_variables, law=law, random_state=seed, max_edge_fraction=0.3)
    true_edges = set(truth.edges)
    n_right = math.floor(known_fraction * len(true_edges) + 0.5)
    pairs = n_variables * (n_variables - 1) // 2
    if n_right > pairs - len(true_edges):
        with pytest.raises(GomeaBnError, match="truth allows only"):
            simulated_expert(truth, known=known_fraction, max_bins=max_bins, random_state=seed)
        return
    expert = simulated_expert(truth, known=known_fraction, max_bins=max_bins, random_state=seed)
    assert expert.names == truth.names
    assert expert.network is None
    assert nx.is_directed_acyclic_graph(nx.DiGraph(expert.edges))
    right = [edge for edge in expert.edges if edge in true_edges]
    wrong = [edge for edge in expert.edges if edge not in true_edges]
    assert len(right) == len(wrong) == n_right
    joined = {frozenset(edge) for edge in true_edges}
    assert not any(frozenset(edge) in joined for edge in wrong)
    assert len({frozenset(edge) for edge in expert.edges}) == len(expert.edges)
    assert max(Counter(child for _, child in expert.edges).values(), default=0) <= 6
    assert expert.cut_points.keys() == truth.cut_points.keys()
    for name, cuts in expert.cut_points.items():
        low, high = truth.support[name]
        widths = np.diff([low, *cuts, high]) / (high - low)
        assert 2 <= len(widths) <= max_bins
        assert widths.min() >= 0.5 / len(widths) - 1e-12
    assert simulated_expert(truth, known=known_fraction, max_bins=max_bins, random_state=seed) == expert


def test_simulated_experts_vary_in_all_their_parts():
    truth = ground_truth(10, random_state=2)
    experts = [simulated_expert(truth, random_state=seed) for seed in range(200)]
    n_known = Counter(edge for expert in experts for edge in expert.edges if edge in set(truth.edges))
    share = math.floor(0.5 * len(truth.edges) + 0.5) / len(truth.edges)
    spread = 5 * math.sqrt(200 * share * (1 - share))
    assert all(abs(n_known[edge] - 200 * share) < spread for edge in truth.edges)
    wrong = Counter(edge for expert in experts for edge in expert.edges if edge not in set(truth.edges))
    position_of = {name: position for position, name in enumerate(truth.names)}
    forward = sum(count for (a, b), count in wrong.items() if position_of[a] < position_of[b])
    assert 0.3 < forward / wrong.total() < 0.7
    n_bins = Counter(len(cuts) + 1 for expert in experts for cuts in expert.cut_points.values())
    assert set(n_bins) == {2, 3, 4}
    assert all(abs(count / n_bins.total() - 1 / 3) < 0.06 for count in n_bins.values())
    halves = [cuts[0] for expert in experts for cuts in expert.cut_points.values() if len(cuts) == 1]
    assert abs(np.mean(halves) - 0.5) < 0.03
    assert abs(np.std(halves) - 0.5 / math.sqrt(12)) < 0.03  # uniform on 1/4 to 3/4


def test_bins_do_not_change_a_simulated_experts_edges():
    truth = ground_truth(8, random_state=2)
    table = read_table(truth.sample(50, 0))
    expert = simulated_expert(truth, random_state=5)
    assert simulated_expert(truth, max_bins=9, random_state=5).edges == expert.edges
    assert simulated_expert(truth, table=table, random_state=5).edges == expert.edges
    assert simulated_expert(truth, random_state=6).edges != expert.edges


def test_cuts_within_the_data_can_always_be_fitted():
    for seed in range(20):
        truth = ground_truth(6, random_state=seed)
        table = read_table(truth.sample(20, seed))
        expert = simulated_expert(truth, table=table, random_state=seed)
        fitted = expert.fitted(table)
        assert set(fitted.edges) == set(expert.edges)
        assert all(np.array_equal(fitted.cut_points[name], cuts) for name, cuts in expert.cut_points.items())


def test_wrong_edges_keep_the_limit_on_parents():
    for seed in range(30):
        truth = ground_truth(8, random_state=seed)
        expert = simulated_expert(truth, max_indegree=2, random_state=seed)
        wrong = Counter(child for parent, child in expert.edges if (parent, child) not in set(truth.edges))
        right = Counter(child for parent, child in expert.edges if (parent, child) in set(truth.edges))
        assert all(wrong[name] + right[name] <= max(2, right[name]) for name in truth.names)


def test_impossible_simulations_are_refused():
    truth = ground_truth(5, random_state=1)
    full = simple_network({"a": 2, "b": 2, "c": 2}, [("a", "b"), ("a", "c"), ("b", "c")])
    cases: list[tuple[dict[str, Any], str]] = [
        ({"truth": full}, "truth allows only 0 of the 2 wrong edges: it has 3 edges, 0 pairs .* Lower known"),
        ({"truth": [("a", "b")]}, "truth must be a DiscretizedBayesNet, got list"),
        ({"known": 1.5}, "known must be a finite number of at least 0 and at most 1"),
        ({"known": math.nan}, "known must be a finite number of at least 0 and at most 1"),
        ({"known": True}, "known must be a finite number of at least 0 and at most 1"),
        ({"max_bins": 1}, "max_bins must be an integer from 2 to 255, got 1"),
        ({"max_bins": 2.5}, "max_bins must be an integer"),
        ({"max_indegree": 0}, "max_indegree must be an integer of at least 1"),
        ({"random_state": -1}, "random_state must be a non-negative integer"),
        ({"table": read_table(full.sample(50, 0))}, "table must have a continuous column 'X"),
    ]
    for options, message in cases:
        with pytest.raises(GomeaBnError, match=message):
            simulated_expert(**{"truth": truth, **options})


def test_simulated_cuts_survive_an_extreme_support():
    for low, high in [(-1e308, 7e307), (1.0, 1.0 + 2**-50), (1e-300, 2e-300)]:
        truth = one_column([], (low, high), [1.0])
        for seed in range(10):
            cuts = simulated_expert(truth, random_state=seed).cut_points["x"]
            assert ((cuts > low) & (cuts < high)).all()
