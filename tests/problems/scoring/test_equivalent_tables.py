"""Tables of discrete columns alone: equivalent graphs have one score, and the kept table is what it implies."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles import discrete_variables, slow_family_score, slow_set_score

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, ExpertKnowledge
from gomea_bn.certainty.graph_scores import GraphScores
from gomea_bn.network.tables import posterior_mean, table_and_left_out_cells
from gomea_bn.problems import FamilyScorer, ScoredFamily, family_score, score_rule, scoring_method

METHOD = scoring_method("density-bd")


def scorer_of(
    columns: list[NDArray[np.int64]], cards: list[int], *, free_cells: float | None = None
) -> FamilyScorer:
    rule = score_rule(METHOD, len(columns[0]), n_variables=len(columns), centred=True, equivalent=True)
    if free_cells is not None:
        rule = rule._replace(free_cells=free_cells)
    return FamilyScorer(discrete_variables(columns, cards), METHOD, rule)


def random_columns(seed: int, n_rows: int, cards: list[int]) -> list[NDArray[np.int64]]:
    """Columns of which each follows the one before it, some of them with rare values."""
    rng = np.random.default_rng(seed)
    columns: list[NDArray[np.int64]] = []
    for card in cards:
        own = (card * rng.random(n_rows) ** rng.integers(1, 6)).astype(np.int64)
        follows = bool(columns) & (rng.random(n_rows) < 0.7)
        columns.append(np.where(follows, columns[-1] % card, own) if columns else own)
    return columns


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 400), st.lists(st.integers(1, 12), min_size=1, max_size=4))
def test_a_family_is_the_difference_of_one_function_of_sets(seed: int, n_rows: int, cards: list[int]) -> None:
    columns = random_columns(seed, n_rows, cards)
    child = len(cards) - 1
    rule = score_rule(METHOD, n_rows, centred=True, equivalent=True)
    scorer = FamilyScorer(discrete_variables(columns, cards), METHOD, rule)
    family = ScoredFamily((child, 0), tuple((p, 0) for p in range(child)))
    expected = slow_family_score(
        discrete_variables(columns, cards), family, "density-bd", centred=True, equivalent=True
    )
    assert scorer.score([family])[0] == pytest.approx(expected, abs=1e-7)
    counts = np.zeros(cards, np.int64)
    np.add.at(counts, tuple(columns), 1)
    assert family_score(counts, rule, [True] * len(cards)) == pytest.approx(expected, abs=1e-7)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 400), st.sampled_from([None, 4.0, 20.0]))
def test_all_orders_of_a_complete_graph_have_one_score(
    seed: int, n_rows: int, free_cells: float | None
) -> None:
    """All complete graphs are equivalent; the price of cells beyond the free ones has no direction either."""
    cards = [3, 2, 5, 4]
    scorer = scorer_of(random_columns(seed, n_rows, cards), cards, free_cells=free_cells)
    totals = []
    for order in itertools.permutations(range(4)):
        families = [
            ScoredFamily((v, 0), tuple((p, 0) for p in sorted(order[:k]))) for k, v in enumerate(order)
        ]
        totals.append(float(np.sum(scorer.score(families))))
    np.testing.assert_allclose(totals, totals[0], atol=1e-7)


def test_a_parent_of_many_levels_costs_less_than_under_one_weight() -> None:
    rng = np.random.default_rng(5)
    ward = rng.integers(0, 40, 9_000)
    stay = np.digitize(rng.normal(size=9_000) + np.where(ward < 6, 0.7, 0.0), [-0.6, 0.1, 0.7])
    scores = scorer_of([ward, stay], [40, 4]).score([ScoredFamily((1, 0)), ScoredFamily((1, 0), ((0, 0),))])
    assert scores[1] - scores[0] > 10


LIMITS: dict[str, Any] = {"max_seconds": None, "max_evaluations": 600, "random_state": 1}


def chain(n_rows: int) -> pd.DataFrame:
    a, b, c = random_columns(2, n_rows, [3, 4, 3])
    return pd.DataFrame({"a": a, "b": b, "c": c}).map("v{}".format)


def test_the_network_says_how_its_graph_was_scored() -> None:
    frame = chain(400)
    network = BayesNetLearner(**LIMITS).fit(frame).network_
    assert network.metadata["equivalent"] is True
    assert len(network.edges) == 2
    published = BayesNetLearner(shape="uniform", density="bins", **LIMITS).fit(frame)
    assert "equivalent" not in published.network_.metadata


def test_graphs_are_judged_by_the_score_that_chose_them() -> None:
    frame = chain(400)
    learner = BayesNetLearner(**LIMITS).fit(frame)
    scores = GraphScores.of(learner.network_, frame, max_indegree=2)
    assert scores.scorer.rule.equivalent


def slow_table(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """P(child | parents) after the rows: every size by the probability of the rows one after the other."""
    n, cells = int(counts.sum()), np.repeat(np.arange(counts.size), counts.ravel())
    tables, logs = [], []
    for power in range(4):
        size = 2 * max(0.3 * n / 2, 1.0) ** (power / 3)
        seen, log = np.full(counts.size, size / counts.size), 0.0
        for cell in cells.tolist():
            log += math.log(seen[cell] / seen.sum())
            seen[cell] += 1
        tables.append(seen.reshape(counts.shape) / seen.reshape(counts.shape).sum(axis=-1, keepdims=True))
        logs.append(log)
    return np.average(tables, axis=0, weights=np.exp(np.array(logs) - max(logs)))


@pytest.mark.parametrize("seed", range(5))
def test_the_kept_table_is_the_posterior_of_the_score(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.negative_binomial(0.4, 0.1, (3, 2, 4))
    np.testing.assert_allclose(posterior_mean(counts.astype(np.float64)), slow_table(counts), atol=1e-9)
    left_out = posterior_mean(counts.astype(np.float64), 1.0)
    n, size = counts.sum(), counts.size
    # one of many rows hardly moves the weights of the sizes
    for cell in np.argwhere(counts > 0)[:5]:
        fewer = counts.copy()
        fewer[tuple(cell)] -= 1
        assert left_out[tuple(cell)] == pytest.approx(
            slow_table(fewer)[tuple(cell)], abs=2 / np.sqrt(n * size)
        )


def counts_of(network: DiscretizedBayesNet, frame: pd.DataFrame, members: list[str]) -> NDArray[np.int64]:
    """Number of rows of every cell of a table of levels, the last member fastest."""
    counts = np.zeros([len(network.levels[name]) for name in members], np.int64)
    np.add.at(counts, tuple(frame[name].map(network.levels[name].index) for name in members), 1)
    return counts


@pytest.mark.parametrize("n_rows", [200, 1_000])
def test_a_table_of_more_parents_than_rows_support_leans_on_fewer_parents(n_rows: int) -> None:
    """Required parents that say nothing of a column cost new rows little."""
    rng = np.random.default_rng(2)
    cause = rng.integers(0, 2, n_rows)
    noise = {f"noise{i}": rng.integers(0, 4, n_rows).astype(str) for i in range(3)}
    child = np.where(rng.random(n_rows) < 0.85, cause, 1 - cause)
    frame = pd.DataFrame({"cause": cause.astype(str), **noise, "child": child.astype(str)})
    parents = ["cause", *noise]
    knowledge = ExpertKnowledge(required_edges=[(parent, "child") for parent in parents])
    network = BayesNetLearner(knowledge=knowledge, max_indegree=4, **LIMITS).fit(frame).network_
    counts = counts_of(network, frame, [*network.parents("child"), "child"])
    table = network.tables["child"].reshape(counts.shape)
    cause_last = np.moveaxis(table, network.parents("child").index("cause"), -2).reshape(-1, 2, 2)
    posterior = np.moveaxis(slow_table(counts), network.parents("child").index("cause"), -2).reshape(-1, 2, 2)
    law = np.array([[0.85, 0.15], [0.15, 0.85]])
    loss, of_posterior = (-float((law * np.log(t)).sum() / len(t) / 2) for t in (cause_last, posterior))
    assert loss < of_posterior - 0.01
    # what left-out rows chose is also what they are judged by
    kept, left_out = table_and_left_out_cells(counts.astype(np.float64), "scored")
    np.testing.assert_allclose(kept, table)
    assert np.all((left_out > 0) == (counts > 0))


def levels_and_numbers(n_rows: int) -> pd.DataFrame:
    """Three columns of levels in a chain, a number that follows one of them, and noise."""
    rng = np.random.default_rng(8)
    frame = chain(n_rows)
    y = np.where(frame["b"] == "v1", 1.0, 0.0) + rng.normal(size=n_rows)
    return frame.assign(y=y, noise=rng.normal(size=n_rows))


@pytest.mark.parametrize("make", [chain, levels_and_numbers])
def test_the_score_is_the_marginal_likelihood_of_the_kept_tables(make: Callable[[int], pd.DataFrame]) -> None:
    frame = make(500)
    network = BayesNetLearner(**LIMITS).fit(frame).network_
    edge_cost = network.metadata["edge_cost"] * math.log(9)
    checked = 0
    for name in network.names:
        members = [*network.parents(name), name]
        if not set(members) <= set(network.levels):
            continue
        counts = counts_of(network, frame, members)
        np.testing.assert_allclose(network.tables[name].reshape(counts.shape), slow_table(counts), atol=1e-9)
        own = slow_set_score(counts[counts > 0].tolist(), counts.size)
        if len(members) > 1:
            of_parents = counts.sum(axis=-1)
            own -= slow_set_score(of_parents[of_parents > 0].tolist(), of_parents.size)
        expected = own - edge_cost * (len(members) - 1)
        assert network.family_scores[name] == pytest.approx(expected, abs=1e-6)
        checked += 1
    assert checked >= 2


def test_pseudo_counts_that_are_asked_for_smooth_tables() -> None:
    frame = chain(400)
    network = BayesNetLearner(pseudo_count=2.0, **LIMITS).fit(frame).network_
    name = network.edges[0][1]
    counts = counts_of(network, frame, [*network.parents(name), name])
    expected = (counts + 2 / counts.shape[-1]) / (counts.sum(axis=-1, keepdims=True) + 2)
    np.testing.assert_allclose(network.table(name), expected)
