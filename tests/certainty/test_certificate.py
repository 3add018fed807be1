"""Certificates and near-optimal graphs against brute force, dynamic programming, and simulated interrupts."""

import itertools
import warnings
from math import exp
from typing import Any

import numpy as np
import pandas as pd
import pytest
from certainty_examples import discrete_frame, network_of, scored_graphs

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, ExpertKnowledge, GomeaBnError, GomeaBnWarning
from gomea_bn.certainty import (
    EdgeProbabilities,
    certify,
    edge_probabilities,
    near_optimal_graphs,
)
from gomea_bn.certainty import certificate as certificate_module
from gomea_bn.certainty.certificate import bounded_optimum
from gomea_bn.certainty.graph_scores import GraphScores
from gomea_bn.certainty.near_optimal import best_graphs
from gomea_bn.errors import spelling
from gomea_bn.network.recorded import counted_parents


def of_bdeu(network, frame, max_indegree=3, knowledge=None, score="bdeu"):
    return GraphScores.of(
        network, frame, max_indegree=max_indegree, knowledge=knowledge, scoring_method=score,
        equivalent_sample_size=1.0,
    )  # fmt: skip


@pytest.mark.parametrize("max_indegree", [1, 2, 3])
@pytest.mark.parametrize("score", ["bdeu", "bic"])
@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_is_that_of_all_graphs(seed, score, max_indegree):
    frame = discrete_frame(seed)
    best = max(value for _, value in scored_graphs(frame, max_indegree, score))
    found = certify(
        network_of(frame), frame, max_indegree=max_indegree, scoring_method=score, equivalent_sample_size=1.0,
        max_seconds=None,
    )  # fmt: skip
    assert found.stopped_by == "proof"
    assert found.best_score == pytest.approx(best, abs=1e-6)
    assert found.bound == pytest.approx(best, abs=1e-4)
    again = certify(network_of(frame, found.edges), frame, max_indegree=max_indegree, scoring_method=score,
                    equivalent_sample_size=1.0)  # fmt: skip
    assert again.is_optimal
    assert again.gap == 0
    assert "It is optimal" in str(again)


@pytest.mark.parametrize("seed", range(3))
def test_integer_and_dynamic_programming_agree(seed):
    frame = discrete_frame(seed + 10, n_columns=9, n_rows=150)
    graphs = of_bdeu(network_of(frame), frame)
    sets = graphs.parent_sets(prune=True)
    found = bounded_optimum(sets, [], None)
    assert found.stopped_by == "proof"
    assert graphs.score(found.parents) == pytest.approx(graphs.score(next(best_graphs(sets))[1]), abs=1e-5)


def test_pruned_sets_score_more_than_their_subsets():
    frame = discrete_frame(3, n_columns=5)
    graphs = of_bdeu(network_of(frame), frame)
    for pruned, whole in zip(graphs.parent_sets(prune=True), graphs.parent_sets(prune=False), strict=True):
        by_set = {
            frozenset(np.flatnonzero(row)): score
            for row, score in zip(whole.members, whole.scores, strict=True)
        }
        stays = {
            members
            for members, score in by_set.items()
            if all(score > other for subset, other in by_set.items() if subset < members)
        }
        assert {frozenset(np.flatnonzero(row)) for row in pruned.members} == stays
        assert (np.diff(pruned.scores) <= 0).all()


def test_knowledge_limits_the_graphs():
    frame = discrete_frame(1)
    knowledge = ExpertKnowledge(required_edges=[("c0", "c3")], forbidden_edges=[("c1", "c2"), ("c2", "c1")])
    best = max(
        value
        for graph, value in scored_graphs(frame)
        if 0 in graph[3] and 1 not in graph[2] and 2 not in graph[1]
    )
    network = network_of(frame, [("c0", "c3")])
    found = certify(network, frame, knowledge=knowledge, equivalent_sample_size=1.0)
    assert found.best_score == pytest.approx(best, abs=1e-6)
    with pytest.raises(GomeaBnError, match="breaks a rule: between 'c0' and 'c3'"):
        certify(network_of(frame), frame, knowledge=knowledge)


def test_a_learned_network_with_cuts_has_its_recorded_score():
    rng = np.random.default_rng(5)
    x = rng.normal(size=150)
    frame = pd.DataFrame({"x": x, "y": x + rng.normal(size=150), "z": rng.normal(size=150)})
    settings: list[dict[str, Any]] = [
        {"curves": "none"},
        {"discretizer": "equal-frequency"},
        {"curves": "none", "shape": "uniform"},
    ]
    for options in settings:
        learner = BayesNetLearner(max_evaluations=2000, random_state=1, **options).fit(frame)
        found = certify(learner.network_, frame)
        assert found.score == pytest.approx(learner.score_, abs=1e-6)
        assert found.is_optimal == (found.best_score - found.score < 1e-9)


def sum_of_four() -> tuple[pd.DataFrame, DiscretizedBayesNet]:
    """Return rows of a sum of four columns, which needs curves, and the network learned from them."""
    x = np.random.default_rng(8).normal(size=(80, 4))
    frame = pd.DataFrame(x, columns=["a", "b", "c", "d"]).assign(e=x.sum(axis=1))
    network = BayesNetLearner(max_evaluations=3000, random_state=1, prefer="density").fit(frame).network_
    assert network.metadata["curves"]
    return frame, network


def test_networks_with_curves_are_judged_by_the_score_that_chose_them() -> None:
    frame, network = sum_of_four()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = certify(network, frame, max_indegree=4)
        near = near_optimal_graphs(network, frame, max_indegree=4)
        judged = edge_probabilities(network, frame, max_indegree=4)
    # bins that show the curves were chosen after the search, and have their costs
    assert found.score < network.metadata["score"]
    assert found.is_optimal
    assert {frozenset(edge) for edge in found.edges} == {frozenset(edge) for edge in network.edges}
    assert len(near) >= 1
    # tables of the same bins doubt the edges, or their direction
    tables = DiscretizedBayesNet.from_table(frame, network.edges, network.cut_points)
    without = edge_probabilities(tables, frame, max_indegree=4)
    arcs, of_tables = (
        {
            (parent, child): share
            for parent, child, share in each.to_frame()[["parent", "child", "arc"]].to_numpy()
        }
        for each in (judged, without)
    )
    for name in "abcd":
        assert arcs[name, "e"] > 0.99
    assert min(of_tables[name, "e"] for name in "abcd") < 0.9


def test_other_scores_of_networks_with_curves_are_those_of_tables_with_a_warning() -> None:
    frame, network = sum_of_four()
    counted = {
        (parent, child)
        for child, parents in zip(network.names, counted_parents(network), strict=True)
        for parent in parents
    }
    of_curves = [edge for edge in network.edges if edge not in counted]
    assert of_curves
    plain = DiscretizedBayesNet.from_table(
        frame, counted, network.cut_points, pseudo_count="auto", shapes=network.shapes,
        metadata=network.metadata,
    )  # fmt: skip
    other: dict[str, Any] = {"scoring_method": "density-bic"}
    for function, options in (
        (certify, other),
        (edge_probabilities, other),
        (edge_probabilities, {"bins": "drawn", "n_sweeps": 50}),
        (near_optimal_graphs, other),
    ):
        with pytest.warns(GomeaBnWarning, match=r"learned with curves of .* by the score of tables alone"):
            judged = function(network, frame, **options)
        if isinstance(judged, EdgeProbabilities):
            assert all(f"{parent} → {child}" in judged.to_text() for parent, child in network.edges)
    with pytest.warns(GomeaBnWarning, match="learned with curves") as warned:
        found, of_plain = certify(network, frame, **other), certify(plain, frame, **other)
    assert found.score == of_plain.score
    assert found.bound == pytest.approx(of_plain.bound)
    message = warned[0].message
    assert isinstance(message, GomeaBnWarning)
    assert f"no edge that only curves need ({len(of_curves)} here)" in str(message)
    assert "Learn with curves='none' to judge" in str(message)
    # a command line spells the option
    assert "Learn with --curves none to judge" in message.text(spelling())


def test_columns_with_a_single_value_have_no_edges():
    frame = discrete_frame(3).assign(constant="o", other="p")
    network = network_of(frame, [("constant", "c1")])
    without = network_of(frame.drop(columns=["constant", "other"]))
    options: dict[str, Any] = {"equivalent_sample_size": 1.0}
    rows = edge_probabilities(network, frame, **options).to_frame()
    is_constant = rows["parent"].isin(["constant", "other"]) | rows["child"].isin(["constant", "other"])
    assert (rows["adjacent"][is_constant] == 0).all()
    expected = edge_probabilities(without, frame, **options).to_frame()
    np.testing.assert_allclose(np.sort(rows["adjacent"][~is_constant]), np.sort(expected["adjacent"]))
    found, plain = certify(network, frame, **options), certify(without, frame, **options)
    assert found.best_score == pytest.approx(plain.best_score)
    assert not any({"constant", "other"} & set(edge) for edge in found.edges)


@pytest.mark.parametrize("size", [1.0, 10.0])
def test_the_equivalent_sample_size_is_that_of_the_learner(size):
    frame = discrete_frame(4)
    learner = BayesNetLearner(
        scoring_method="bdeu", equivalent_sample_size=size, max_evaluations=1000, random_state=1
    ).fit(frame)
    assert certify(learner.network_, frame).score == pytest.approx(learner.score_, abs=1e-6)


def test_wrong_input_is_named():
    frame = discrete_frame(1)
    network = network_of(frame, [("c0", "c3"), ("c1", "c3")])
    with pytest.raises(GomeaBnError, match="'c3' of the network has 2 parents, more than max_indegree='1'"):
        certify(network, frame, max_indegree=1)
    with pytest.raises(GomeaBnError, match="max_seconds must be a finite number above 0 or None, got 0"):
        certify(network, frame, max_seconds=0)
    with pytest.raises(GomeaBnError, match="scoring_method must be one of"):
        certify(network, frame, scoring_method="mdl")


def test_an_interrupt_keeps_the_bound(monkeypatch):
    frame = discrete_frame(2, n_columns=6)
    graphs = of_bdeu(network_of(frame), frame)
    sets = graphs.parent_sets(prune=True)
    best = graphs.score(next(best_graphs(sets))[1])
    rounds = iter([certificate_module.violated_clusters])

    def interrupted(*arguments):
        return next(rounds, interrupt)(*arguments)

    def interrupt(*_arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(certificate_module, "violated_clusters", interrupted)
    found = bounded_optimum(sets, [], None)
    assert found.stopped_by == "interrupt"
    assert best <= found.bound + 1e-6
    assert found.bound <= sum(of_child.scores[0] for of_child in sets) + 1e-6


def test_no_time_leaves_a_valid_bound():
    frame = discrete_frame(2, n_columns=6)
    best = certify(network_of(frame), frame, max_seconds=None).best_score
    found = certify(network_of(frame), frame, max_seconds=1e-9)
    assert found.bound >= best - 1e-9
    assert found.stopped_by == "max_seconds"
    assert "No graph" in str(found)


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
