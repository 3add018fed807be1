"""The benchmark's judge agrees with other libraries, and its samples with the network they come from."""

import gzip
import itertools
import math
from importlib import resources

import _judge
import _peers
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln


@pytest.fixture(scope="module")
def child_sample():
    return _judge.load_bif_sample("child", 400, seed=3)


@pytest.fixture(scope="module")
def table_with_an_unseen_level():
    rng = np.random.default_rng(0)
    a, b, c = rng.integers(0, 3, 300), rng.integers(0, 2, 300), rng.integers(0, 3, 300)
    columns = {"a": (a, "uvw"), "b": ((a + b) % 2, "xy"), "c": ((b + c) % 3, "pqrs")}  # no row has c = "s"
    return pd.DataFrame(
        {name: pd.Categorical.from_codes(codes, list(levels)) for name, (codes, levels) in columns.items()}
    )


def dense_family_score(codes, cards, child, parents, score, ess):
    """Count in a table with every cell, one parent state at a time."""
    q = math.prod(cards[p] for p in parents)
    total = 0.0
    for state in itertools.product(*(range(cards[p]) for p in parents)):
        rows = np.all(codes[:, list(parents)] == np.array(state, dtype=int), axis=1)
        counts = np.bincount(codes[rows, child], minlength=cards[child])
        if score == "bdeu":
            cell = ess / (q * cards[child])
            total += gammaln(ess / q) - gammaln(counts.sum() + ess / q) + np.sum(gammaln(counts + cell))
            total -= cards[child] * gammaln(cell)
        else:
            total += sum(k * math.log(k / counts.sum()) for k in counts if k)
            total -= 0.5 * math.log(len(codes)) * (cards[child] - 1)
    return total


@pytest.mark.parametrize("score", ["bdeu", "bic"])
def test_family_score_equals_a_dense_count(table_with_an_unseen_level, score):
    codes, cards = _judge.codes_and_cards(table_with_an_unseen_level)
    assert cards == [3, 2, 4]
    for child in range(3):
        others = [i for i in range(3) if i != child]
        for parents in ([], others[:1], others[1:], others):
            expected = dense_family_score(codes, cards, child, parents, score, 7.0)
            assert _judge.family_score(codes, cards, child, parents, score, 7.0) == pytest.approx(
                expected, abs=1e-9
            )


@pytest.mark.parametrize("score", ["bdeu", "bic"])
def test_pgmpy_scores_a_network_alike(child_sample, score):
    from pgmpy.models import DiscreteBayesianNetwork

    frame, edges, _ = child_sample
    model = DiscreteBayesianNetwork(edges)
    theirs = _peers._pgmpy_score(frame, score, 10.0).score(model)
    assert _judge.network_score(frame, edges, score, 10.0) == pytest.approx(theirs, abs=1e-8)


def test_pyagrum_scores_a_family_alike(table_with_an_unseen_level):
    frame = table_with_an_unseen_level
    codes, cards = _judge.codes_and_cards(frame)
    families = [(2, (0,)), (0, (1, 2)), (1, ())]
    # pyAgrum's log-gamma rounds arguments below 50 to 0.01, so its BDeu is near-exact only where the priors
    # of the cells are whole numbers: ess 24 is a multiple of q r in each of the families
    for score, ess, tolerance in (("bic", 1.0, 1e-8), ("bdeu", 24.0, 1e-3)):
        learner = _peers._pyagrum_learner(frame, score, ess)
        for child, parents in families:
            theirs = math.log(2) * learner.score("abc"[child], ["abc"[p] for p in parents])
            ours = _judge.family_score(codes, cards, child, parents, score, ess)
            assert ours == pytest.approx(theirs, abs=tolerance)


def test_a_sample_has_all_levels_and_is_repeatable(child_sample):
    frame, edges, levels = child_sample
    again, _, _ = _judge.load_bif_sample("child", 400, seed=3)
    other, _, _ = _judge.load_bif_sample("child", 400, seed=4)
    assert frame.shape == (400, 20)
    assert len(edges) == 25
    assert {name: list(frame[name].cat.categories) for name in frame} == levels
    pd.testing.assert_frame_equal(frame, again)
    assert not frame.equals(other)


def test_each_family_of_a_sample_follows_the_network(tmp_path):
    import pyagrum as gum

    path = tmp_path / "sachs.bif"
    packed = resources.files("pgmpy") / "utils" / "example_models" / "sachs.bif.gz"
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    network, n = gum.loadBN(str(path)), 20_000
    frame, edges, _ = _judge.load_bif_sample("sachs", n, seed=5)
    inference = gum.LazyPropagation(network)
    for child in frame.columns:
        family = [child, *(a for a, b in edges if b == child)]
        joint = inference.evidenceJointImpact(family, [])
        counts = frame.value_counts(family)
        state = gum.Instantiation(joint)
        while not state.end():
            levels = tuple(network.variable(name).label(state.val(network.variable(name))) for name in family)
            p = joint.get(state)
            # six standard deviations, and one row for the cells where hardly any is due
            assert abs(counts.get(levels, 0) - n * p) <= 6 * math.sqrt(n * p * (1 - p)) + 1
            state.inc()


def cpdag(graph):
    """Return (directed, undirected) edges of the class of a DAG, by enumerating all orientations."""
    skeleton = list(graph.edges())

    def colliders(g):
        return {
            (frozenset((a, b)), c)
            for c in g
            for a, b in itertools.combinations(g.predecessors(c), 2)
            if not g.has_edge(a, b) and not g.has_edge(b, a)
        }

    members = []
    for flips in itertools.product((False, True), repeat=len(skeleton)):
        other = nx.DiGraph()
        other.add_nodes_from(graph)
        other.add_edges_from((b, a) if flip else (a, b) for flip, (a, b) in zip(flips, skeleton))
        if nx.is_directed_acyclic_graph(other) and colliders(other) == colliders(graph):
            members.append(set(other.edges()))
    fixed = set.intersection(*members)
    return fixed, [edge for edge in skeleton if edge not in fixed], members


@pytest.mark.parametrize("seed", range(20))
def test_the_extension_of_a_cpdag_is_a_member_of_its_class(seed):
    rng = np.random.default_rng(seed)
    names = list("abcde")
    graph = nx.DiGraph()
    graph.add_nodes_from(names)
    graph.add_edges_from(pair for pair in itertools.combinations(names, 2) if rng.random() < 0.5)
    directed, undirected, members = cpdag(graph)
    assert set(_judge.consistent_extension(names, directed, undirected)) in members


def test_the_extension_of_a_graph_short_of_a_cpdag_has_no_cycle():
    edges = _judge.consistent_extension(list("abc"), [("a", "b"), ("b", "c")], [("a", "c")])
    assert set(edges) == {("a", "b"), ("b", "c"), ("a", "c")}


def test_a_graph_without_extension_is_refused():
    square = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]
    with pytest.raises(ValueError, match="no consistent extension"):
        _judge.consistent_extension(list("abcd"), [], square)


def test_a_peer_runs_in_its_own_process_and_can_be_stopped(child_sample):
    frame, _, _ = child_sample
    run = _peers.run_peer("pyAgrum hill climbing", frame, "bdeu", 10.0, timeout=30.0)
    assert run.edges is not None
    assert _judge.network_score(frame, run.edges, "bdeu", 10.0) > _judge.network_score(
        frame, [], "bdeu", 10.0
    )
    stopped = _peers.run_peer("pgmpy hill climbing", frame, "bdeu", 10.0, timeout=0.01)
    assert (stopped.edges, stopped.note) == (None, "stopped after 0.01 s")


def test_random_families_are_distinct():
    families = _judge.random_families(list("abcdef"), 100, 3, seed=0)
    assert len(set(families)) == 100
    assert {len(parents) for _, parents in families} == {0, 1, 2, 3}
    assert all(child not in parents for child, parents in families)
