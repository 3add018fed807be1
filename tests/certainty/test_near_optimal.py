"""Near-optimal graphs against all graphs by brute force."""

import itertools
from math import exp

import pytest
from certainty_examples import discrete_frame, network_of, scored_graphs

from gomea_bn import GomeaBnError
from gomea_bn.certainty import near_optimal_graphs


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("factor", [1.0, 3.0, 50.0, 1e6])
def test_the_graphs_are_those_of_brute_force(seed, factor):
    frame = discrete_frame(seed)
    scored = list(scored_graphs(frame))
    best = max(score for _, score in scored)
    expected = {
        frozenset((f"c{p}", f"c{v}") for v, parents in enumerate(graph) for p in parents): score
        for graph, score in scored
        if best - score <= 1e-9 or exp(best - score) <= factor
    }
    entries = near_optimal_graphs(
        network_of(frame), frame, bayes_factor=factor + 1e-9, equivalent_sample_size=1.0
    )
    assert [frozenset(entry.edges) for entry in entries] == list(
        dict.fromkeys(frozenset(entry.edges) for entry in entries)
    )
    assert {frozenset(entry.edges) for entry in entries} == set(expected)
    for entry in entries:
        assert entry.score == pytest.approx(expected[frozenset(entry.edges)], abs=1e-8)
        assert entry.log_bayes_factor == pytest.approx(best - entry.score, abs=1e-8)
    assert all(a.score >= b.score - 1e-9 for a, b in itertools.pairwise(entries))


def test_the_number_of_graphs_is_limited_to_the_best():
    frame = discrete_frame(0)
    entries = near_optimal_graphs(network_of(frame), frame, bayes_factor=1e6, equivalent_sample_size=1.0)
    first = near_optimal_graphs(
        network_of(frame), frame, bayes_factor=1e6, max_graphs=5, equivalent_sample_size=1.0
    )
    assert first == entries[:5]
    with pytest.raises(GomeaBnError, match="bayes_factor must be a finite number of at least 1"):
        near_optimal_graphs(network_of(frame), frame, bayes_factor=0.5)
