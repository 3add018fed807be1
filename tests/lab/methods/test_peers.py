"""The judge of the benchmarks agrees with other libraries, which run in processes of their own."""

import itertools
import math
import sys
from collections import Counter

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from oracles import slow_score_of_codes

from gomea_bn import read_table
from lab.methods import peers
from lab.published.judge import codes_and_cards, family_score, network_score
from lab.published.search_engine import pyagrum_learner
from lab.published.tables import published_network


@pytest.fixture(scope="module")
def child_sample():
    truth = published_network("child")
    return truth.sample(400, random_state=3), truth.edges


@pytest.fixture(scope="module")
def table_with_an_unseen_level():
    rng = np.random.default_rng(0)
    a, b, c = rng.integers(0, 3, 300), rng.integers(0, 2, 300), rng.integers(0, 3, 300)
    columns = {"a": (a, "uvw"), "b": ((a + b) % 2, "xy"), "c": ((b + c) % 3, "pqrs")}  # no row has c = "s"
    return pd.DataFrame(
        {
            name: pd.Categorical.from_codes(codes, pd.Index(list(levels)))
            for name, (codes, levels) in columns.items()
        }
    )


@pytest.mark.parametrize("score", ["bdeu", "bic"])
def test_family_score_equals_a_slow_count(table_with_an_unseen_level, score):
    codes, cards = codes_and_cards(table_with_an_unseen_level)
    assert cards == [3, 2, 4]
    for child in range(3):
        others = [i for i in range(3) if i != child]
        for parents in ([], others[:1], others[1:], others):
            expected = slow_score_of_codes(codes.T, cards, child, parents, score, ess=7.0)
            assert family_score(codes, cards, child, parents, score, 7.0) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("score", ["bdeu", "bic"])
def test_pgmpy_scores_a_network_alike(child_sample, score):
    from pgmpy.models import DiscreteBayesianNetwork

    frame, edges = child_sample
    model = DiscreteBayesianNetwork(edges)
    theirs = peers._pgmpy_score(frame, score, 10.0).score(model)
    assert network_score(frame, edges, score, 10.0) == pytest.approx(theirs, abs=1e-8)


def test_pyagrum_scores_a_family_alike(table_with_an_unseen_level):
    frame = table_with_an_unseen_level
    codes, cards = codes_and_cards(frame)
    families = [(2, (0,)), (0, (1, 2)), (1, ())]
    # pyAgrum's log-gamma rounds arguments below 50 to 0.01, so its BDeu is near-exact only where the priors
    # of the cells are whole numbers: ess 24 is a multiple of q r in each of the families
    for score, ess, tolerance in (("bic", 1.0, 1e-8), ("bdeu", 24.0, 1e-3)):
        learner = pyagrum_learner(frame, score, ess)
        for child, parents in families:
            theirs = math.log(2) * learner.score("abc"[child], ["abc"[p] for p in parents])
            ours = family_score(codes, cards, child, parents, score, ess)
            assert ours == pytest.approx(theirs, abs=tolerance)


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
    assert set(peers.consistent_extension(names, directed, undirected)) in members


def test_the_extension_of_a_graph_short_of_a_cpdag_has_no_cycle():
    edges = peers.consistent_extension(list("abc"), [("a", "b"), ("b", "c")], [("a", "c")])
    assert set(edges) == {("a", "b"), ("b", "c"), ("a", "c")}


def test_a_graph_without_extension_is_refused():
    square = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]
    with pytest.raises(ValueError, match="no consistent extension"):
        peers.consistent_extension(list("abcd"), [], square)


@pytest.mark.long
def test_a_peer_runs_in_its_own_process_and_can_be_stopped(child_sample):
    frame, _ = child_sample
    run = peers.run_peer("pyAgrum hill climbing", frame, "bdeu", 10.0, timeout=600.0)
    assert run.edges is not None
    assert network_score(frame, run.edges, "bdeu", 10.0) > network_score(frame, [], "bdeu", 10.0)
    stopped = peers.run_peer("pgmpy hill climbing", frame, "bdeu", 10.0, timeout=0.01)
    assert (stopped.edges, stopped.note) == (None, "stopped after 0.01 s")


def test_a_peer_that_is_not_installed_is_said_to_be_missing(monkeypatch, child_sample, capsys):
    monkeypatch.setitem(sys.modules, "pybnesian", None)
    scores = peers.peer_family_scores(child_sample[0], [("Age", ())], "bic")
    assert set(scores) == {"pyAgrum", "pgmpy"}
    assert "pybnesian is left out" in capsys.readouterr().out


@pytest.mark.long
def test_a_peer_that_fails_gives_its_last_line(monkeypatch, child_sample):
    run = peers.run_peer("no such peer", child_sample[0], "bic", 1.0)
    assert run.edges is None
    assert run.note == "failed: KeyError: 'no such peer'"


@pytest.mark.long
def test_pyagrum_bins_as_asked_and_finds_an_edge():
    rng = np.random.default_rng(1)
    x = rng.random(300)
    table = read_table(pd.DataFrame({"x": x, "y": (x + rng.normal(0, 0.05, 300)).clip(0, 1)}))
    networks = {peer.label: peer for peer in peers.pyagrum_networks(table)}
    assert len(networks) == 3 * 3 * len(peers.GRID_SCORES)
    uniform = networks["uniform 5, BIC"].cuts["x"]
    assert uniform == pytest.approx(np.linspace(x.min(), x.max(), 6)[1:-1])
    counts = np.histogram(x, [x.min(), *networks["quantile 3, BDeu 10"].cuts["x"], x.max()])[0]
    assert counts.max() - counts.min() <= 2
    assert all({*peer.edges} & {("x", "y"), ("y", "x")} for peer in networks.values())


def test_quantile_bins_are_even_and_families_have_few_parents():
    rng = np.random.default_rng(2)
    causes = rng.random((2_000, 3))
    y = causes.sum(axis=1) + rng.normal(0, 0.1, 2_000)
    repeated = np.repeat([0.0, 1.0, 2.0], [1_800, 100, 100])
    frame = pd.DataFrame({"a": causes[:, 0], "b": causes[:, 1], "c": causes[:, 2], "y": y, "z": repeated})
    table = read_table(frame, kinds=dict.fromkeys("abcyz", "continuous"))
    network = peers.pyagrum_by_quantiles(table, 3, 1)
    assert network.label == "quantile 3, BIC"
    assert np.histogram(y, [y.min(), *network.cuts["y"], y.max()])[0].tolist() == [667, 666, 667]
    # both quantiles are 0, which is the end of the range
    assert len(network.cuts["z"]) == 0
    n_parents = [
        Counter(child for _, child in peers.pyagrum_by_quantiles(table, 3, most).edges) for most in (1, 5)
    ]
    assert [max(counts.values()) for counts in n_parents] == [1, 3]


def test_binned_rows_have_the_categories_that_no_row_has():
    table = read_table(pd.DataFrame({"x": np.linspace(0, 1, 50), "d": pd.Categorical(list("ab") * 25)}))
    binned = peers.binned_frame(table, {"x": np.array([0.3, 0.305])})
    assert list(binned["x"].cat.categories) == [0, 1, 2]
    assert binned["x"].value_counts().to_dict() == {0: 15, 1: 0, 2: 35}
