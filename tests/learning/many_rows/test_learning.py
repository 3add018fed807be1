"""Networks of tables in pieces, against the score of tables in memory."""

import re
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from learning_inside import LearningOptions, learning_problem, of_many_rows
from pieces_examples import median_cuts, network_of_sample, score_in_memory, score_over_all_rows

from gomea_bn import BayesNetLearner, GomeaBnError, GomeaBnWarning, read_table
from gomea_bn.certainty import edge_probabilities
from gomea_bn.learning.cuts.given_cuts import network_from_pieces
from gomea_bn.runtime import cluster


def test_the_seed_of_a_run_repeats_its_sample(frame):
    options: dict[str, Any] = {"max_seconds": None, "max_evaluations": 100, "sample_rows": 1_000}
    drawn = BayesNetLearner(**options).fit([frame])
    again = BayesNetLearner(**options, random_state=drawn.seed_).fit([frame])
    assert again.table_.to_frame().equals(drawn.table_.to_frame())
    assert again.network_ == drawn.network_


@pytest.mark.long
def test_the_score_over_all_rows_is_that_of_a_table_in_memory(frame, fit, learner) -> None:
    # with a sample of all rows nothing is estimated
    whole = replace(learner, sample_rows=6_000).fit([frame.iloc[:900], frame.iloc[900:]])
    assert whole.score_ == pytest.approx(score_in_memory(frame, whole.network_, learner), abs=1e-6)
    # from a sample only the number of distinct values and the shapes are estimated
    assert fit.score_ == pytest.approx(score_in_memory(frame, fit.network_, learner), rel=0.01)


def test_shaped_columns_have_the_score_of_a_table_in_memory(learner) -> None:
    generator = np.random.default_rng(4)
    x = generator.normal(size=3_000)
    y = np.where(generator.random(3_000) < 0.3, 0.0, x + generator.normal(scale=0.5, size=3_000))
    bells = pd.DataFrame({"x": x, "y": y})
    fit = replace(learner, sample_rows=3_000).fit([bells.iloc[:1_000], bells.iloc[1_000:]])
    assert set(fit.network_.shapes) == {"x", "y"}
    assert fit.network_.shapes["y"].points
    assert fit.score_ == pytest.approx(score_in_memory(bells, fit.network_, learner), abs=1e-6)


def test_all_rows_improve_the_network_of_the_sample(frame, fit, learner) -> None:
    record = fit.network_.metadata["all_rows"]
    assert record["n_rows"] == 6_000
    assert 1_000 <= record["sample_rows"] < 1_100
    assert {move["kind"] for move in record["moves"]} <= {"add", "remove", "reverse", "cuts", "graph"}
    assert all(move["nats"] > 0 for move in record["moves"])
    sample = score_in_memory(frame, network_of_sample(learner, fit), learner)
    assert score_in_memory(frame, fit.network_, learner) > sample + 10
    assert fit.network_.metadata["n_rows"] == 6_000
    for name in ("X1", "X4"):
        assert fit.network_.support[name] == (frame[name].min(), frame[name].max())


def test_no_single_edge_improves_the_network_also_after_the_last_cuts(
    frame, fit, learner, monkeypatch
) -> None:
    check_edges(frame, fit.network_, learner)
    monkeypatch.setattr(of_many_rows, "_MOST_ROUNDS", 0)
    fit = replace(learner, max_evaluations=20).fit([frame])
    assert {move["kind"] for move in fit.network_.metadata["all_rows"]["moves"]} > {"cuts"}
    check_edges(frame, fit.network_, learner)


def check_edges(frame: pd.DataFrame, network, learner: BayesNetLearner) -> None:
    """Compare the network with those that differ in a single edge."""
    score = score_in_memory(frame, network, learner)
    names = list(network.names)
    for parent in names:
        for child in names:
            if parent == child:
                continue
            edges = set(network.edges) ^ {(parent, child)}
            try:
                other = type(network).from_table(read_table(frame), edges, network.cut_points)
            except GomeaBnError:
                continue
            assert score_in_memory(frame, other, learner) < score + 1e-6


def test_the_score_of_a_network_over_all_rows_is_that_of_learning(frame, fit, learner) -> None:
    pieces = [frame.iloc[:3_000], frame.iloc[3_000:]]
    assert score_over_all_rows(learner, pieces, fit.network_) == pytest.approx(fit.score_, abs=1e-7)
    assert score_over_all_rows(learner, pieces, network_of_sample(learner, fit)) < fit.score_ - 10


def test_tables_count_all_rows(frame, fit) -> None:
    counted = type(fit.network_).from_table(
        read_table(frame),
        fit.network_.edges,
        fit.network_.cut_points,
        pseudo_count="auto",
        metadata={"equivalent": True},
    )
    for name in fit.network_.names:
        np.testing.assert_allclose(fit.network_.tables[name], counted.tables[name], rtol=0, atol=1e-12)


def test_a_scheduler_that_does_not_answer_is_an_error(frame, learner, monkeypatch) -> None:
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.5)
    with pytest.raises(GomeaBnError, match="No Dask scheduler answers"):
        replace(learner, scheduler="tcp://127.0.0.1:9").fit([frame])


def test_rules_about_edges_hold_on_all_rows(frame, fit, learner) -> None:
    from gomea_bn import ExpertKnowledge

    absent = next(
        (a, b)
        for a in fit.network_.names
        for b in fit.network_.names
        if a != b and not {(a, b), (b, a)} & set(fit.network_.edges)
    )
    forbidden = fit.network_.edges[0]
    knowledge = ExpertKnowledge(required_edges=[absent], forbidden_edges=[forbidden], max_indegree=2)
    cuts = {"X1": [float(frame["X1"].median())]}
    ruled = replace(learner, knowledge=knowledge, cut_points=cuts).fit([frame])
    assert absent in ruled.network_.edges
    assert forbidden not in ruled.network_.edges
    assert max(len(ruled.network_.parents(name)) for name in ruled.network_.names) <= 2
    assert ruled.network_.cut_points["X1"].tolist() == cuts["X1"]


def test_all_rows_join_only_the_pairs_that_a_limit_leaves_on_the_sample(frame, fit, learner) -> None:
    limited = replace(learner, max_candidates=1).fit([frame])
    options = LearningOptions.of(replace(learner, max_candidates=1, curves="none"), len(frame))
    pairs = learning_problem(limited.table_, options).pairs
    assert pairs is not None
    names = limited.network_.names
    assert all(pairs[names.index(parent), names.index(child)] for parent, child in limited.network_.edges)
    assert len(limited.network_.edges) < len(fit.network_.edges)


@pytest.mark.parametrize("score", [None, "bdeu", "bic", "aic", "k2", "density-bd"])
def test_discrete_tables_have_every_score(letters, learner, score) -> None:
    discrete = replace(learner, scoring_method=score, max_evaluations=300)
    fit = replace(discrete).fit([letters.iloc[:1_500], letters.iloc[1_500:]])
    assert fit.network_.metadata["all_rows"]["n_rows"] == 4_000
    assert fit.score_ == pytest.approx(score_in_memory(letters, fit.network_, discrete), rel=1e-12)
    assert {frozenset(edge) for edge in fit.network_.edges} >= {frozenset("ab"), frozenset("bc")}


def test_warnings_from_a_sample_say_so(frame, learner) -> None:
    odd = frame.assign(same=5.0, key=[f"row {k}" for k in range(len(frame))])
    with pytest.warns(GomeaBnWarning) as of_sample:
        replace(learner).fit([odd])
    texts = [str(warning.message) for warning in of_sample]
    assert len(texts) == 2
    ends = (
        r"Left out 1 column: 'key' \(a different text in every row\).*",
        ".*: 'same' is 5 in all 1,?0.. rows.",
    )
    for text, end in zip(texts, ends, strict=True):
        assert re.fullmatch(rf"In a sample of 1,0\d\d of 6,000 rows: {end}", text)
    with pytest.warns(GomeaBnWarning) as of_all:
        network_from_pieces([odd.drop(columns="key")], [], median_cuts(frame))
    assert [str(warning.message)[:8] for warning in of_all] == ["1 column"]


def test_probabilities_of_edges_are_those_of_the_sample_and_say_so(frame, fit, learner) -> None:
    said = rf"those of the sample, {fit.table_.n_rows:,} of 6,000 rows"
    with pytest.warns(GomeaBnWarning, match=said):
        of_sample = fit.edge_probabilities()
    again = edge_probabilities(fit.network_, fit.table_, equivalent_sample_size=None)
    np.testing.assert_array_equal(of_sample.arcs, again.arcs)
    whole = replace(learner).fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error", GomeaBnWarning)
        whole.edge_probabilities()


def test_given_bins_are_counted_from_all_rows(frame, fit) -> None:
    network = fit.network_
    pieces = [frame.iloc[:1_700], frame.iloc[1_700:]]
    counted = network_from_pieces(pieces, network.edges, network.cut_points, sample_rows=1_000)
    # a given graph has the smoothing of a learned one
    record = {name: network.metadata[name] for name in ("centred", "equivalent") if name in network.metadata}
    assert record
    at_once = type(network).from_table(
        read_table(frame), network.edges, network.cut_points, pseudo_count="auto", metadata=record
    )
    for name in network.names:
        np.testing.assert_allclose(counted.tables[name], at_once.tables[name], rtol=1e-9)
    assert counted.support == network.support
    assert counted.metadata["n_rows"] == 6_000
    even = network_from_pieces(pieces, [], network.cut_points, pseudo_count=2.0, shape="uniform", n_jobs=2)
    expected = type(network).from_table(read_table(frame), [], network.cut_points, pseudo_count=2.0)
    assert even == expected
