"""Graph and bins under one description length: all graphs of three nodes, recovery, groups of levels."""

import itertools
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import all_dags
from processor_time import at_most
from table_examples import copied_codes

from gomea_bn import DiscretizedBayesNet, ExpertKnowledge, GomeaBnError
from gomea_bn.data import Table
from gomea_bn.discretization import MDLDiscretizer, MDLNetwork, description_length
from gomea_bn.discretization.base import DiscretizationTask
from gomea_bn.discretization.mdl.description_length import Criterion, total_length
from gomea_bn.discretization.mdl.mdl import shortest_graph
from gomea_bn.network.column_graph import ColumnGraph
from gomea_bn.problems import edge_rules
from gomea_bn.problems.cuts import CodedColumn
from gomea_bn.runtime import StopFlag, Workers
from gomea_bn.simulation import random_network

CRITERIA = ("aic", "bic", "mdl")
CHAINS = {"A->B B->C", "B->A B->C", "B->A C->B"}  # one and the same distribution


@cache
def three_node_graphs() -> tuple[ColumnGraph, ...]:
    """All 25 directed graphs without cycles over A, B, C."""
    return tuple(
        ColumnGraph.of([("ABC"[i], "ABC"[j]) for i, j in graph], tuple("ABC")) for graph in all_dags(3)
    )


def arrows(edges: Any) -> str:
    return " ".join(sorted(f"{p}->{c}" for p, c in edges))


def best_graphs(codes: list[np.ndarray], criterion: str) -> set[str]:
    """The graphs of least length among all 25, ties included."""
    columns = [CodedColumn(column.astype(np.int32), int(column.max()) + 1) for column in codes]
    lengths = [
        total_length(columns, graph, Criterion(criterion, len(codes[0]))).total
        for graph in three_node_graphs()
    ]
    return {
        arrows(graph.edges)
        for graph, length in zip(three_node_graphs(), lengths)
        if length < min(lengths) + 1e-6
    }


def test_parameters_of_configurations_that_never_occur_count():
    """Eight parents of four values have more configurations than there are rows, and are numbered by occurrence."""
    rng = np.random.default_rng(0)
    columns = [CodedColumn(rng.integers(0, 4, 200).astype(np.int32), 4) for _ in range(9)]
    names = tuple("abcdefghi")
    graph = ColumnGraph.of([(name, "i") for name in names[:8]], names)
    length = total_length(columns, graph, Criterion("bic", 200))
    assert length.parameters == pytest.approx(np.log(200) / 2 * (4**8 * 3 + 8 * 3))


def chain(n_rows: int, seed: int) -> list[np.ndarray]:
    """A -> B -> C of four values each."""
    return list(copied_codes(np.random.default_rng(seed), n_rows, 4, 0.7))


@pytest.mark.parametrize("seed", range(4))
def test_bins_decide_which_graph_aic_bic_and_mdl_choose(seed):
    """The comparison of Corcoran, Tran & Levine (2014) on a chain: bins that lose information mask its graph.

    Between values of B that share a bin A and C are dependent, so halves of B call for an edge A - C. Values that are
    distinguished for no reason make the tables too costly. MDL's bins give all three criteria the chain back.
    """
    n_rows = 2000
    codes = chain(n_rows, seed)
    generator = np.random.default_rng(100 + seed)
    fine = [column * 8 + generator.integers(0, 8, n_rows) for column in codes]
    for criterion in CRITERIA:
        assert best_graphs(codes, criterion) == CHAINS
        halves = best_graphs([codes[0], codes[1] // 2, codes[2]], criterion)
        assert all("A->C" in graph or "C->A" in graph for graph in halves)
    for criterion in ("bic", "mdl"):
        assert best_graphs(fine, criterion) == {""}
    frame = pd.DataFrame(dict(zip("ABC", fine)))
    kinds = dict.fromkeys("ABC", "discrete")
    learner = MDLDiscretizer(kinds=kinds, aggregate_levels="ordered")
    fitted = learner.fit(frame, network=[("A", "B"), ("B", "C")]).transform(frame)
    for name, column in zip("ABC", codes):
        assert (fitted[name] == column).all()
    learned = MDLNetwork(kinds=kinds, aggregate_levels="ordered").fit(frame)
    assert arrows(learned.network_.edges) in CHAINS
    assert (learned.transform(frame) == np.column_stack(codes)).all(axis=None)


def climbed(
    codes: list[np.ndarray],
    criterion: str,
    knowledge: ExpertKnowledge | None = None,
    first: Sequence[tuple[str, str]] = (),
    **limits: Any,
) -> ColumnGraph:
    """The graph that greedy climbing finds from the required edges, or from others."""
    names = tuple("ABCDEFGH"[: len(codes)])
    columns = [CodedColumn(column.astype(np.int32), int(column.max()) + 1) for column in codes]
    rules = edge_rules(knowledge, names, [c.cardinality for c in columns], **limits)
    start = ColumnGraph.of(knowledge.required_edges if knowledge else first, names)
    stop = StopFlag(None)
    with Workers(1, stop) as workers:
        task = DiscretizationTask(Table((), len(codes[0]), ()), start, True, (), {}, None, stop, workers)
        judge = Criterion(criterion, len(codes[0]))
        return ColumnGraph(names, shortest_graph(columns, start, judge, rules, task))


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from(CRITERIA), st.integers(20, 300))
def test_no_single_change_improves_the_greedy_graph(seed, criterion, n_rows):
    """Against the length of every neighbouring graph, counted from scratch."""
    generator = np.random.default_rng(seed)
    codes = [generator.integers(0, int(generator.integers(2, 4)), n_rows) for _ in range(4)]
    codes[2] = np.where(generator.random(n_rows) < 0.7, codes[0] ^ (codes[1] & 1), codes[2])
    codes[3] = np.where(generator.random(n_rows) < 0.7, codes[2], codes[3])
    graph = climbed(codes, criterion)
    columns = [CodedColumn(column.astype(np.int32), int(column.max()) + 1) for column in codes]
    judge = Criterion(criterion, n_rows)
    length = total_length(columns, graph, judge).total
    assert length <= total_length(columns, ColumnGraph.of(None, graph.names), judge).total + 1e-9
    edges = set(graph.edges)
    for p, c in itertools.permutations(graph.names, 2):
        others = edges - {(p, c), (c, p)}
        for changed in (others, others | {(p, c)}):
            try:
                neighbour = ColumnGraph.of(sorted(changed), graph.names)
            except GomeaBnError:
                continue  # a cycle
            assert total_length(columns, neighbour, judge).total >= length - 1e-6


def test_an_edge_is_turned_where_that_is_best():
    """A and B decide C together, so A -> C, C -> B needs C -> B turned, or else a third edge."""
    generator = np.random.default_rng(0)
    a, b = generator.integers(0, 3, (2, 1000))
    c = np.where(generator.random(1000) < 0.8, a + b, generator.integers(0, 5, 1000))
    first = [("A", "C"), ("C", "B")]
    assert climbed([a, b, c], "mdl", first=first).edges == [("A", "C"), ("B", "C")]
    one_way = ExpertKnowledge(required_edges=first)
    assert set(first) < set(climbed([a, b, c], "mdl", one_way).edges)


def test_climbing_respects_the_knowledge():
    a, b, c = chain(1500, 3)
    knowledge = ExpertKnowledge(
        required_edges=[("C", "A")], forbidden_edges=[("A", "B"), ("B", "A")], temporal_order=[["C"], ["B"]]
    )
    assert set(climbed([a, b, c], "mdl", knowledge).edges) == {("C", "A"), ("C", "B")}
    other = chain(1500, 4)[0]
    two_causes = [a, other, np.where(np.arange(1500) % 2, a, other)]
    assert max(map(len, climbed(two_causes, "aic").parents)) == 2
    assert max(map(len, climbed(two_causes, "aic", max_indegree=1).parents)) == 1
    assert climbed([a, b, c], "mdl", ExpertKnowledge(max_table_cells=15)).edges == []


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", [1, 2])
def test_graph_and_bins_of_random_networks_are_recovered(seed):
    truth = random_network(8, random_state=seed)
    learner = MDLNetwork().fit(truth.sample(3200, random_state=seed))
    pairs = {frozenset(edge) for edge in learner.network_.edges}
    assert pairs == {frozenset(edge) for edge in truth.edges}
    close = sum(len(learner.cut_points_[name]) == len(cuts) for name, cuts in truth.cut_points.items())
    assert close >= len(truth.cut_points) - 1
    test = truth.sample(5000, random_state=99)
    assert truth.score(test) - learner.score(test) < 0.15
    assert learner.stopped_by_ == "fixpoint"


@pytest.mark.long
@settings(max_examples=10)
@given(st.integers(0, 10**6), st.integers(30, 300), st.sampled_from(["exact", "merge"]))
def test_the_description_never_grows_over_rounds(seed, n_rows, search):
    frame = random_network(5, random_state=seed).sample(n_rows, random_state=seed)
    frame = frame[[name for name in frame if frame[name].nunique() > 1]]
    learner = MDLNetwork(search).fit(frame)
    lengths = [entry.objective for entry in learner.history_]
    assert all(b < a for a, b in itertools.pairwise(lengths))
    total = learner.description_length_.total
    assert total == pytest.approx(lengths[-1], rel=1e-9)
    assert description_length(learner.network_, frame).total == pytest.approx(total, rel=1e-12)
    assert learner.network_.metadata["description_length"] == pytest.approx(total)
    single = [MDLNetwork(search, start_bins=[k]).fit(frame).description_length_.total for k in (2, 3, 5)]
    assert total == pytest.approx(min(single), rel=1e-12)


def test_the_same_rows_give_the_same_network():
    frame = random_network(6, random_state=5).sample(400, random_state=5)
    assert MDLNetwork().fit(frame).network_ == MDLNetwork().fit(frame).network_


def mixed_frame(n_rows: int = 3000) -> pd.DataFrame:
    generator = np.random.default_rng(8)
    grade = generator.integers(0, 6, n_rows)
    high = (grade >= 4) ^ (generator.random(n_rows) < 0.05)
    x = np.where(high, generator.random(n_rows) + 0.7, generator.random(n_rows))
    return pd.DataFrame({"grade": grade, "x": x, "high": np.where(high, "yes", "no")})


@pytest.mark.parametrize("children", [[], ["x", "high"]])
def test_the_network_is_one_over_all_levels(children):
    """Its density is that of the groups, times how often a level occurs in its group."""
    frame = mixed_frame()
    rules = ExpertKnowledge(required_edges=[("grade", child) for child in children])
    learner = MDLNetwork(aggregate_levels=["grade"], pseudo_count=0.0, knowledge=rules).fit(frame)
    assert learner.level_groups_ == {"grade": ((0, 1, 2, 3), (4, 5))}
    network = learner.network_
    assert network.levels["grade"] == (0, 1, 2, 3, 4, 5)
    codes = learner.transform(frame)
    assert codes["grade"].tolist() == (frame["grade"] >= 4).astype(int).tolist()
    coarse_frame = frame.assign(grade=codes["grade"])
    coarse = DiscretizedBayesNet.from_table(
        MDLDiscretizer().read(coarse_frame, None), network.edges, learner.cut_points_, pseudo_count=0.0
    )
    share = frame["grade"].value_counts() / len(frame)
    group = (coarse_frame["grade"].value_counts() / len(frame)).loc[coarse_frame["grade"]].to_numpy()
    expected = coarse.log_density(coarse_frame) + np.log(share.loc[frame["grade"]].to_numpy() / group)
    assert network.log_density(frame) == pytest.approx(expected, abs=1e-10)
    assert [child for parent, child in network.edges if parent == "grade"] == children
    for name, table in network.tables.items():
        assert table.sum(axis=-1) == pytest.approx(np.ones(table.shape[:-1]))
        if name in children:
            by_level = np.moveaxis(table, network.parents(name).index("grade"), 0)
            assert np.array_equal(by_level[0], by_level[3])
            assert np.array_equal(by_level[4], by_level[5])
    assert network.metadata["level_groups"] == {"grade": [[0, 1, 2, 3], [4, 5]]}
    lengths = description_length(network, frame, level_groups=learner.level_groups_)
    assert lengths.total == pytest.approx(learner.description_length_.total)


def test_pseudo_counts_of_a_group_are_shared_by_its_levels():
    frame = mixed_frame()
    learner = MDLNetwork(aggregate_levels=["grade"], pseudo_count=3.0).fit(frame)
    counts = frame["grade"].value_counts()
    by_level = learner.network_.tables["grade"].reshape(-1, 6)
    for group in learner.level_groups_["grade"]:
        levels = [int(level) for level in group]
        within = by_level[:, levels] / by_level[:, levels].sum(axis=1, keepdims=True)
        expected = (counts[levels].to_numpy() + 3.0 / len(levels)) / (counts[levels].sum() + 3.0)
        np.testing.assert_allclose(within, np.broadcast_to(expected, within.shape), rtol=1e-12)


def test_knowledge_and_first_graphs_hold():
    frame = mixed_frame()
    knowledge = ExpertKnowledge(
        required_edges=[("high", "grade")], forbidden_edges=[("high", "x"), ("x", "high")]
    )
    edges = MDLNetwork(knowledge=knowledge).fit(frame).network_.edges
    assert ("high", "grade") in edges
    assert not {("high", "x"), ("x", "high")} & set(edges)
    with pytest.raises(GomeaBnError, match=r"first graph breaks the rules: .*'x' and 'high'"):
        MDLNetwork(knowledge=knowledge).fit(frame, network=[("x", "high")])
    first = MDLNetwork().fit(frame)
    again = MDLNetwork(start="network").fit(frame, network=first.network_)
    assert again.network_ == first.network_
    assert again.description_length_ == first.description_length_


def test_limits_hold():
    frame = random_network(12, random_state=1).sample(50_000, random_state=1)
    learner = MDLNetwork(max_seconds=1.0)
    learner.compile()
    with at_most(2.5):
        learner.fit(frame)
    assert learner.stopped_by_ == "max_seconds"
    lengths = [entry.objective for entry in learner.history_]
    assert lengths == sorted(lengths, reverse=True)
    assert learner.network_.names == tuple(frame.columns)
    short = MDLNetwork(max_rounds=1, start_bins=(3,)).fit(frame[:500])
    assert (short.n_rounds_, short.stopped_by_) == (1, "max_rounds")


def test_classes_belong_into_the_table():
    frame = mixed_frame(50)
    with pytest.raises(GomeaBnError, match="put the classes into the table as a column"):
        MDLNetwork().fit(frame, frame["high"])
    with pytest.raises(GomeaBnError, match="has not learned a network yet"):
        MDLNetwork().score(frame)


def test_tiny_tables_give_networks():
    frame = pd.DataFrame({"x": [1.5, 2.0, 2.0, 4.0], "y": [0.5, 0.5, 0.1, 0.2], "z": list("abab")})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner = MDLNetwork().fit(frame)
    assert learner.network_.edges == []
    assert np.isfinite(learner.score(frame))
