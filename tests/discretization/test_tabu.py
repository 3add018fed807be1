"""Tabu search: against a slow twin, all small graphs, pyAgrum's hill climbing, and the rules of an expert."""

from importlib import resources

import numpy as np
import pandas as pd
import pgmpy
import pyagrum
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import all_dags, is_acyclic, slow_score_of_codes
from processor_time import at_most
from sklearn.base import clone

from gomea_bn import DiscretizedBayesNet, ExpertKnowledge, GomeaBnError
from gomea_bn.discretization import Tabu

EXAMPLES = resources.files(pgmpy) / "utils" / "example_models"


def rows_of(name, n_rows, seed):
    return DiscretizedBayesNet.from_file(str(EXAMPLES / f"{name}.bif.gz")).sample(n_rows, seed)


def random_rows(seed, n_columns=4):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 120))
    columns = [rng.integers(0, 2, n)]
    for _ in range(n_columns - 1):
        noise = rng.random(n) < 0.3
        columns.append(np.where(noise, rng.integers(0, 3, n), columns[int(rng.integers(len(columns)))]))
    return pd.DataFrame(dict(zip("abcdefgh", columns)))


def slow_score(frame, edges):
    """BIC by counting tuples."""
    columns, sizes = frame.to_numpy().T, frame.nunique().tolist()
    parents = [sorted(p for p, child in edges if child == c) for c in range(len(sizes))]
    return sum(slow_score_of_codes(columns, sizes, c, of_c, "bic") for c, of_c in enumerate(parents))


def slow_tabu(frame, length, patience):
    """The search from no edges, every graph scored again; ties within 1e-10 of the score to the first move."""
    n = frame.shape[1]
    length = min(length, n * (n - 1) // 4)
    edges: frozenset = frozenset()
    best, best_edges, idle, steps = slow_score(frame, edges), edges, 0, 0
    until: dict = {}
    pairs = [(p, c) for p in range(n) for c in range(n) if p != c]
    while idle < patience:
        total = slow_score(frame, edges)
        slack = 1e-10 * max(1.0, abs(best))
        moves = []
        for p, c in pairs:
            if (p, c) not in edges and (c, p) not in edges:
                moves.append((0, p, c, edges | {(p, c)}))
            if (p, c) in edges:
                moves.append((1, p, c, edges - {(p, c)}))
                moves.append((2, p, c, edges - {(p, c)} | {(c, p)}))
        priced = []
        for _, p, c, after in sorted(moves, key=lambda move: move[:3]):
            if not is_acyclic(n, after):
                continue
            gain = slow_score(frame, after) - total
            if until.get(frozenset((p, c)), 0) > steps and total + gain <= best + slack:
                continue
            priced.append((gain, p, c, after))
        if not priced:
            break
        highest = max(gain for gain, *_ in priced)
        _, p, c, edges = next(move for move in priced if move[0] >= highest - slack)
        steps += 1
        until[frozenset((p, c))] = steps + length
        idle += 1
        if slow_score(frame, edges) > best + slack:
            best, best_edges, idle = slow_score(frame, edges), edges, 0
    return best, best_edges, steps


@pytest.mark.long
@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(0, 5))
def test_tabu_search_walks_as_a_slow_twin(seed, length):
    frame = random_rows(seed)
    fitted = Tabu(tabu_length=length, patience=5).fit(frame)
    best, edges, steps = slow_tabu(frame, length, 5)
    assert fitted.score_ == pytest.approx(best, abs=1e-8)
    assert {("abcd".index(p), "abcd".index(c)) for p, c in fitted.edges_} == edges
    assert fitted.n_steps_ == steps


def test_at_most_half_of_the_pairs_rest():
    # were the only pair of two columns to rest, no move would be left
    rows = random_rows(1, 2)
    assert Tabu(tabu_length=50).fit(rows).stopped_by_ == "patience"


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(6))
def test_tabu_search_finds_the_best_of_all_graphs_of_four_columns(seed):
    frame = random_rows(seed)
    best = max(slow_score(frame, edges) for edges in all_dags(4))
    assert Tabu().fit(frame).score_ == pytest.approx(best, abs=1e-8)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("name", "n_rows", "seed"), [("asia", 2000, 0), ("asia", 2000, 2), ("alarm", 1000, 0)]
)
def test_tabu_search_is_not_worse_than_pyagrums_hill_climbing_from_no_edges(name, n_rows, seed):
    frame = rows_of(name, n_rows, seed)
    learner = pyagrum.BNLearner(frame.astype(str))
    learner.useScoreBIC()
    learner.useNoPrior()
    learner.useGreedyHillClimbing()
    learner.setMaxIndegree(6)
    columns = list(frame)
    edges = [(columns[p], columns[c]) for p, c in learner.learnDAG().arcs()]
    codes = frame.apply(lambda column: pd.factorize(column)[0])
    climbed = slow_score(codes, [(columns.index(p), columns.index(c)) for p, c in edges])
    fitted = Tabu().fit(frame)
    total = slow_score(codes, [(columns.index(p), columns.index(c)) for p, c in fitted.edges_])
    assert fitted.score_ == pytest.approx(total, rel=1e-12)
    assert total >= climbed - 1e-6
    assert fitted.stopped_by_ == "patience"


def test_tabu_search_leaves_the_local_optimum_at_which_climbing_ends():
    frame = rows_of("alarm", 1000, 0)
    climbed = Tabu(tabu_length=0, patience=1).fit(frame)
    assert Tabu().fit(frame).score_ > climbed.score_ + 50


def test_tabu_search_starts_from_a_given_graph_and_never_ends_below_it():
    frame = random_rows(3, 6)
    best = Tabu().fit(frame)
    again = Tabu(max_steps=3).fit(frame, network=best.network_)
    assert again.score_ >= best.score_ - 1e-9
    assert again.n_steps_ == 3
    assert again.stopped_by_ == "max_steps"
    reversed_edges = [(c, p) for p, c in best.edges_]
    assert Tabu().fit(frame, network=reversed_edges).score_ == pytest.approx(best.score_)


def test_tabu_search_keeps_an_experts_rules():
    frame = random_rows(1, 6)
    knowledge = ExpertKnowledge(
        required_edges=[("f", "a")], forbidden_edges=[("a", "b"), ("b", "a")],
        temporal_order=[["f", "e"], ["c", "d"]], max_indegree=2, max_table_cells=12,
    )  # fmt: skip
    fitted = Tabu("aic", knowledge=knowledge).fit(frame)
    pairs = {frozenset(edge) for edge in fitted.edges_}
    assert ("f", "a") in fitted.edges_
    assert frozenset("ab") not in pairs
    assert not {(p, c) for p, c in fitted.edges_ if p in "cd" and c in "ef"}
    assert max(len(fitted.network_.parents(name)) for name in frame) <= 2
    assert max(table.size for table in fitted.network_.tables.values()) <= 12
    free = Tabu("aic").fit(frame)
    assert free.score_ > fitted.score_
    with pytest.raises(GomeaBnError, match="first graph breaks the rules: between 'a' and 'b'"):
        Tabu(knowledge=knowledge).fit(frame, network=[("a", "b")])
    with pytest.raises(GomeaBnError, match="cycle"):
        Tabu(knowledge=knowledge).fit(frame, network=[("a", "f")])


def test_a_required_edge_may_not_turn_but_an_optional_one_may():
    frame = pd.DataFrame({"a": [0, 1] * 40, "b": [0, 1] * 40})
    required = ExpertKnowledge(required_edges=[("b", "a")])
    assert Tabu(knowledge=required).fit(frame).edges_ == [("b", "a")]
    assert Tabu(knowledge=required).fit(frame).stopped_by_ == "no_moves"
    one_way = ExpertKnowledge(forbidden_edges=[("a", "b")])
    assert Tabu(knowledge=one_way).fit(frame).edges_ == [("b", "a")]


@pytest.mark.parametrize("method", ["aic", "bdeu", "bic", "k2"])
def test_every_score_finds_a_plain_dependence_and_leaves_out_none_columns(method):
    rng = np.random.default_rng(5)
    a, c = rng.integers(0, 3, (2, 400))
    frame = pd.DataFrame({"a": a, "b": np.where(rng.random(400) < 0.8, a, c), "one": "x"})
    fitted = Tabu(method).fit(frame)
    assert {frozenset(edge) for edge in fitted.edges_} == {frozenset("ab")}
    assert fitted.network_.metadata["scoring_method"] == method
    assert fitted.feature_names_in_.tolist() == ["a", "b", "one"]


def test_tabu_search_repeats_and_has_scikit_learns_parameters():
    frame = random_rows(8, 7)
    learner = Tabu(patience=20)
    assert learner.fit(frame).edges_ == clone(learner).fit(frame).edges_
    assert repr(learner) == "Tabu(patience=20)"


def test_one_column_has_no_moves():
    assert Tabu().fit(pd.DataFrame({"a": [0, 1]})).stopped_by_ == "no_moves"


def test_the_deadline_holds_and_the_best_so_far_stays():
    frame = pd.DataFrame(np.random.default_rng(0).integers(0, 3, (20_000, 25))).add_prefix("x")
    Tabu(max_seconds=0.01).fit(frame.head(50))  # compiles
    with at_most(4):
        fitted = Tabu(patience=10**9, max_seconds=0.3).fit(frame)
    assert fitted.stopped_by_ == "max_seconds"
