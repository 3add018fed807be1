"""Probabilities of edges against brute force over all graphs."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from certainty_examples import discrete_frame, network_of, scored_graphs
from wrong_input import untyped

from gomea_bn import (
    BayesNetEnsemble,
    BayesNetLearner,
    DiscretizedBayesNet,
    ExpertKnowledge,
    GomeaBnError,
    compare,
    read_table,
)
from gomea_bn.certainty import edge_probabilities
from gomea_bn.certainty.edge_posterior import chain_difference
from gomea_bn.network.inference.completion import completed_table
from gomea_bn.network.recorded import recorded_edge_probabilities
from gomea_bn.network.rows import table_for
from lab.published.judge import codes_and_cards, family_score


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
        "equivalent_sample_size": 1.0, "max_indegree": max_indegree, "method": "sampled", "max_seconds": None,
        "n_sweeps": 4000, "tolerance": 0.0,
    }  # fmt: skip
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
    text = result.to_text()
    assert "(sampled by one chain; " in text
    assert "One chain does not show whether it has mixed." in text
    assert "nan" not in text


def test_many_parent_sets_leave_the_likely_candidates(monkeypatch):
    monkeypatch.setattr("gomea_bn.certainty.edge_posterior._MOST_SETS", 70)
    frame = discrete_frame(6, n_columns=6, n_rows=300)
    knowledge = ExpertKnowledge(required_edges=[("c5", "c0")])
    options: dict[str, Any] = {"knowledge": knowledge, "max_indegree": 2, "random_state": 1}
    network = network_of(frame, [("c4", "c1")])
    exact = edge_probabilities(network, frame, method="exact", **options)
    assert exact.n_candidates is None
    with pytest.warns(UserWarning, match="Every variable has only its 4 most likely candidate parents"):
        result = edge_probabilities(network, frame, method="sampled", n_sweeps=500, **options)
    assert result.n_candidates == 4
    assert result.arcs[5, 0] == pytest.approx(1)
    assert ((result.arcs > 0).sum(axis=0) <= 4).all()
    # the parent in the network, and the three that are most likely alone
    assert (result.arcs[:, 1] > 0).sum() == 4
    assert result.arcs[4, 1] > 0
    codes, cards = codes_and_cards(frame)
    alone = {v: family_score(codes, cards, 1, (v,), "bdeu", 1.0) for v in (0, 2, 3, 5)}
    assert result.arcs[min(alone, key=lambda v: alone[v]), 1] == 0


def test_too_many_variables_and_wrong_options_are_named():
    frame = discrete_frame(1, n_columns=16, n_rows=40)
    with pytest.raises(GomeaBnError, match="Exact probabilities are for at most 15 variables, got 16"):
        edge_probabilities(network_of(frame), frame, method="exact")
    with pytest.raises(GomeaBnError, match="method must be one of"):
        edge_probabilities(network_of(frame), frame, method="guess")


def probabilities_of(*adjacent, n=4):
    """Return probabilities whose pairs have given probabilities of an edge, all in one direction."""
    frame = discrete_frame(1, n_columns=n)
    arcs = np.zeros((n, n))
    arcs[np.triu_indices(n, 1)] = adjacent
    return replace(edge_probabilities(network_of(frame), frame), arcs=arcs)


@pytest.mark.parametrize(
    ("adjacent", "expected"),
    [
        # the steps of the distribution are 1/6 until .1, 4/6 until .9: the median over [0, 1] is 4/6
        ((0.02, 0.05, 0.08, 0.1, 0.9, 0.95), 0.9),
        ((0.3, 0.02, 0.05, 0.08, 0.35, 0.9), 0.9),
        ((0.01, 0.02, 0.03, 0.04, 0.05, 0.1), 0.5),
        ((0.7, 0.8, 0.9, 0.95, 0.99, 1.0), 0.5),
    ],
)
def test_the_threshold_is_that_of_the_nearest_ideal_graph(adjacent, expected):
    result = probabilities_of(*adjacent)
    values = np.sort(adjacent)
    grid = (np.arange(20_000) + 0.5) / 20_000
    shares = (values[None, :] <= grid[:, None]).mean(axis=1)
    best = min(np.unique(shares), key=lambda share: np.abs(shares - share).mean())
    kept = round(best * 6)
    assert result.threshold() == expected
    assert int((values >= expected).sum()) == 6 - kept
    assert len(result.consensus_network("auto").edges) == 6 - kept


def test_edges_are_compelled_or_reversible_in_the_frame():
    frame = discrete_frame(1, n_columns=4)
    network = network_of(frame, [("c0", "c2"), ("c1", "c2"), ("c0", "c3")])
    rows = edge_probabilities(network, frame).to_frame()
    kinds = {(row.parent, row.child): row.kind for row in map(untyped, rows.itertuples()) if row.kind}
    assert kinds == {("c0", "c2"): "compelled", ("c1", "c2"): "compelled", ("c0", "c3"): "reversible"}


def test_a_network_carries_its_probabilities_into_files_and_comparisons(tmp_path):
    frame = discrete_frame(1, n_columns=5, n_rows=200)
    edges = [("c0", "c1"), ("c2", "c1"), ("c3", "c4")]
    result = edge_probabilities(network_of(frame, edges), frame)
    read = DiscretizedBayesNet.from_json(result.recorded_network().to_json(tmp_path / "n.json"))
    recorded = recorded_edge_probabilities(read)
    assert list(recorded) == read.edges
    position = {name: k for k, name in enumerate(result.names)}
    for (parent, child), (arc, adjacent) in recorded.items():
        i, j = position[parent], position[child]
        assert arc == pytest.approx(result.arcs[i, j], abs=0.006)
        assert adjacent == pytest.approx(result.adjacent[i, j], abs=0.006)
        assert f'label="{adjacent:.2f}"' in read.to_dot()
    assert recorded_edge_probabilities(network_of(frame, edges)) == {}
    text = compare(read, network_of(frame, edges[:2])).to_text()
    assert f"(probability of an edge in either direction in a: {recorded['c3', 'c4'].adjacent:.2f})" in text
    stored = json.loads(result.to_json(tmp_path / "p.json"))
    assert stored["names"] == list(result.names)
    assert stored["threshold"] == result.threshold()


@pytest.mark.parametrize(
    "record", [3, {"pairs": 3}, {"pairs": [["c0", "c1", 2, 0], ["c0"], [1, 2, 0.1, 0.1]]}]
)
def test_damaged_records_of_probabilities_say_nothing(record):
    network = network_of(discrete_frame(1), [("c0", "c1")]).with_metadata(edge_probabilities=record)
    assert all(value == (0, 0) for value in recorded_edge_probabilities(network).values())
    assert network.to_dot()


def test_probabilities_over_several_sets_of_bins_are_means():
    rng = np.random.default_rng(5)
    x = rng.random(150)
    table = read_table(pd.DataFrame({"x": x, "y": x + 0.6 * rng.random(150), "z": rng.random(150)}))

    def network(**cuts):
        return DiscretizedBayesNet.from_table(table, [("x", "y")], cuts)

    coarse = network(x=[0.5], y=[0.8], z=[0.5])
    fine = network(x=[0.3, 0.7], y=[0.5, 1.0], z=[0.2])
    parts = [edge_probabilities(each, table) for each in (coarse, fine)]
    mean = edge_probabilities(coarse, table, bins=[coarse, fine])
    assert mean.n_bin_sets == 2
    np.testing.assert_allclose(mean.arcs, (parts[0].arcs + parts[1].arcs) / 2)
    assert not np.allclose(parts[0].arcs, parts[1].arcs)
    assert "means over 2 sets of bins" in str(mean)
    assert mean.consensus_network(0.0).cut_points["x"].tolist() == [0.5]
    costly = edge_probabilities(coarse, table, edge_cost=3.0)
    assert (costly.adjacent < parts[0].adjacent + 1e-9).all()
    assert costly.adjacent.sum() < parts[0].adjacent.sum() - 0.1
    with pytest.raises(GomeaBnError, match=r"bins\[1\] must have the variables"):
        edge_probabilities(coarse, table, bins=[coarse, network_of(discrete_frame(1))])


def test_an_ensemble_averages_over_its_bins():
    frame = discrete_frame(2, n_rows=80)
    learner = BayesNetLearner(max_evaluations=200, max_seconds=None, scoring_method="bdeu", random_state=1)
    result = BayesNetEnsemble(learner, n_networks=2, random_state=1).fit(frame).edge_probabilities()
    assert result.n_bin_sets == 2
    # levels are the same in all of them
    expected = edge_probabilities(network_of(frame), frame, equivalent_sample_size=10.0)
    np.testing.assert_allclose(result.arcs, expected.arcs, atol=1e-9)


def with_gaps(frame, share, seed=0):
    """Return the frame with a share of its cells missing."""
    return frame.mask(np.random.default_rng(seed).random(frame.shape) < share)


def test_missing_cells_are_filled_by_draws():
    frame = discrete_frame(1, n_rows=200)
    network = DiscretizedBayesNet.from_table(read_table(frame), [("c0", "c1")], {})
    gaps = with_gaps(frame, 0.1)
    result = edge_probabilities(network, gaps, n_completions=3, random_state=1)
    assert result.n_completed_tables == 3
    assert "missing cells filled by draws, means over 3 tables" in str(result)
    table = table_for(network, gaps, allow_missing=True)
    each = [
        edge_probabilities(network, completed_table(network, table, np.random.default_rng([1, k])))
        for k in range(3)
    ]
    assert len({part.arcs[0, 1] for part in each}) == 3
    np.testing.assert_allclose(result.arcs, np.mean([part.arcs for part in each], axis=0))
    assert result.recorded_network().metadata["edge_probabilities"]["n_completed_tables"] == 3
    # every set of bins has as many tables
    several = edge_probabilities(network, gaps, bins=[network] * 2, n_completions=3, random_state=1)
    assert (several.n_completed_tables, several.n_bin_sets) == (4, 2)


def test_threads_do_not_change_the_chains():
    frame = discrete_frame(3, n_columns=6)
    options: dict[str, Any] = {"method": "sampled", "n_sweeps": 50, "max_seconds": None, "random_state": 1}
    with pytest.warns(UserWarning, match="have not mixed"):
        one = edge_probabilities(network_of(frame), frame, **options)
    with pytest.warns(UserWarning, match="have not mixed"):
        two = edge_probabilities(network_of(frame), frame, n_jobs=2, **options)
    np.testing.assert_array_equal(one.arcs, two.arcs)
    with pytest.raises(GomeaBnError, match="n_jobs must be"):
        edge_probabilities(network_of(frame), frame, n_jobs=0)


def test_chains_differ_by_pairs_as_well_as_by_edges():
    means = np.array([[[0, 0.1], [0.2, 0]], [[0, 0], [0, 0]]])
    assert chain_difference(means) == pytest.approx(0.3)
    assert np.isnan(chain_difference(means[:1]))


def test_a_compelled_direction_against_the_rows_is_called_so():
    frame = discrete_frame(3, n_columns=3, n_rows=60)
    network = network_of(frame, [("c0", "c2"), ("c1", "c2")])
    result = edge_probabilities(network, frame)
    arcs = np.array([[0.0, 0.0, 0.002], [0.0, 0.0, 0.9], [0.998, 0.1, 0.0]])
    text = replace(result, arcs=arcs).to_text()
    against = (
        "c0 → c2: 1.00, in this direction 0.00 (the rows prefer c2 → c0, 1.00, to the network's direction)"
    )
    assert against in text
    assert "c1 → c2: 1.00, in this direction 0.90 (the other edges fix the direction)" in text
    # an edge that no graph has, whose direction is no number
    arcs = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.3], [0.0, 0.1, 0.0]])
    text = replace(result, arcs=arcs).to_text()
    assert "c0 → c2: 0.00, in this direction 0.00 (no edge is likelier)" in text
    assert "c1 → c2: 0.40, in this direction 0.30 (no edge is likelier)" in text


def test_other_graphs_may_fix_a_direction_that_this_one_leaves_open():
    frame = discrete_frame(3, n_columns=3, n_rows=60)
    result = edge_probabilities(network_of(frame, [("c0", "c1")]), frame)
    arcs = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    text = replace(result, arcs=arcs).to_text()
    assert "c0 → c1: 1.00, in this direction 1.00 (in this graph the rows cannot tell the direction)" in text
