"""Probabilities of edges against brute force over all graphs."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from certainty_examples import discrete_frame, network_of, scored_graphs
from wrong_input import untyped

from gomea_bn import BayesNetLearner, ExpertKnowledge, GomeaBnError
from gomea_bn.certainty import edge_probabilities


def by_graphs(frame, max_indegree=3, allows=lambda graph: True):
    """Return the probabilities if all graphs have the same prior."""
    graphs = [item for item in scored_graphs(frame, max_indegree) if allows(item[0])]
    scores = np.array([score for _, score in graphs])
    weights = np.exp(scores - scores.max())
    arcs = np.zeros((frame.shape[1],) * 2)
    for (graph, _), weight in zip(graphs, weights / weights.sum(), strict=True):
        for child, parents in enumerate(graph):
            arcs[list(parents), child] += weight
    return arcs


@pytest.mark.parametrize("max_indegree", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_exact_probabilities_are_those_of_all_graphs(seed, max_indegree):
    frame = discrete_frame(seed)
    result = edge_probabilities(
        network_of(frame), frame, max_indegree=max_indegree, equivalent_sample_size=1.0
    )
    assert result.method == "exact"
    np.testing.assert_allclose(result.arcs, by_graphs(frame, max_indegree), atol=1e-12)


def test_exact_probabilities_do_not_lose_graphs_of_very_different_scores():
    # strong dependence: weights of parent sets differ by hundreds of nats
    frame = discrete_frame(1, n_rows=60)
    strong = pd.concat([frame.assign(c1=frame["c0"].cat.rename_categories(str))] * 20, ignore_index=True)
    result = edge_probabilities(network_of(strong), strong, equivalent_sample_size=1.0)
    np.testing.assert_allclose(result.arcs, by_graphs(strong), atol=1e-10)


def test_exact_probabilities_obey_knowledge():
    frame = discrete_frame(2)
    knowledge = ExpertKnowledge(required_edges=[("c0", "c2")], forbidden_edges=[("c3", "c1")])
    result = edge_probabilities(network_of(frame), frame, knowledge=knowledge, equivalent_sample_size=1.0)
    expected = by_graphs(frame, allows=lambda graph: 0 in graph[2] and 3 not in graph[1])
    np.testing.assert_allclose(result.arcs, expected, atol=1e-12)
    sampled = edge_probabilities(
        network_of(frame), frame, knowledge=knowledge, method="sampled", n_sweeps=200, random_state=1
    )
    assert sampled.arcs[0, 2] == pytest.approx(1)
    assert sampled.arcs[3, 1] == 0


@pytest.mark.parametrize(("seed", "max_indegree"), [(0, 1), (1, 2), (2, 3)])
def test_sampled_probabilities_are_those_of_all_graphs(seed, max_indegree):
    frame = discrete_frame(seed)
    options: dict[str, Any] = {
        "equivalent_sample_size": 1.0,
        "max_indegree": max_indegree,
        "method": "sampled",
        "max_seconds": None,
        "n_sweeps": 4000,
        "tolerance": 0.0,
    }
    result = edge_probabilities(network_of(frame), frame, random_state=1, **options)
    np.testing.assert_allclose(result.arcs, by_graphs(frame, max_indegree), atol=0.02)
    assert result.has_mixed
    again = edge_probabilities(network_of(frame), frame, random_state=1, **options)
    np.testing.assert_array_equal(result.arcs, again.arcs)


def test_chains_end_when_they_agree():
    frame = discrete_frame(4)
    options: dict[str, Any] = {"method": "sampled", "max_seconds": None, "random_state": 1}
    result = edge_probabilities(network_of(frame), frame, tolerance=0.3, **options)
    assert result.n_sweeps == 2000
    assert result.chain_difference <= 0.3
    closer = edge_probabilities(network_of(frame), frame, tolerance=0.0, n_sweeps=2100, **options)
    assert closer.n_sweeps == 2100


def test_chains_that_have_not_mixed_are_reported():
    frame = discrete_frame(7, n_columns=9, n_rows=400)
    with pytest.warns(UserWarning, match="The chains have not mixed"):
        result = edge_probabilities(network_of(frame), frame, method="sampled", n_sweeps=1, random_state=1)
    assert not result.has_mixed


def test_the_frame_and_the_consensus_network_hold_the_probabilities():
    frame = discrete_frame(1, n_columns=6, n_rows=300)
    result = edge_probabilities(network_of(frame), frame)
    rows = result.to_frame()
    assert len(rows) == 30
    row: Any
    for row in rows.itertuples():
        i, j = result.names.index(row.parent), result.names.index(row.child)
        assert row.arc == result.arcs[i, j]
        assert row.adjacent == pytest.approx(result.arcs[i, j] + result.arcs[j, i])
        assert row.direction == pytest.approx(row.arc / row.adjacent)
    assert rows["adjacent"].is_monotonic_decreasing
    for threshold in (0.0, 0.3, 0.9):
        consensus = result.consensus_network(threshold)
        expected = {
            frozenset((r.parent, r.child)) for r in map(untyped, rows.itertuples()) if r.adjacent >= threshold
        }
        assert {frozenset(edge) for edge in consensus.edges} == expected
    with pytest.raises(GomeaBnError, match="threshold must be a finite number"):
        result.consensus_network(2)


def test_a_learner_passes_its_rules_and_its_score():
    frame = discrete_frame(3)
    knowledge = ExpertKnowledge(forbidden_edges=[("c0", "c1"), ("c1", "c0")])
    learner = BayesNetLearner(
        scoring_method="bdeu",
        equivalent_sample_size=1.0,
        knowledge=knowledge,
        max_evaluations=500,
        random_state=1,
    ).fit(frame)
    result = learner.edge_probabilities()
    expected = by_graphs(frame, allows=lambda graph: 0 not in graph[1] and 1 not in graph[0])
    np.testing.assert_allclose(result.arcs, expected, atol=1e-12)


def test_chains_sample_more_variables_than_an_integer_has_bits():
    frame = discrete_frame(3, n_columns=70, n_rows=60)
    frame = frame.assign(c69=frame["c0"])
    result = edge_probabilities(network_of(frame), frame, max_indegree=1, n_sweeps=60, n_chains=1)
    assert result.method == "sampled"
    assert result.adjacent[0, 69] == pytest.approx(1, abs=0.01)
    assert result.adjacent[0, 1:69].max() < 0.9


def test_too_many_variables_and_wrong_options_are_named():
    frame = discrete_frame(1, n_columns=16, n_rows=40)
    with pytest.raises(GomeaBnError, match="Exact probabilities are for at most 15 variables, got 16"):
        edge_probabilities(network_of(frame), frame, method="exact")
    with pytest.raises(GomeaBnError, match="method must be one of"):
        edge_probabilities(network_of(frame), frame, method="guess")
