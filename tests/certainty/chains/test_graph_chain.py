"""Steps of the chain over graphs against slow twins."""

import itertools
from collections import defaultdict

import numpy as np
import pytest
from certainty_examples import graphs

from gomea_bn.certainty.chains.graph_chain import GraphChain, chain_families
from gomea_bn.certainty.kernels import sweep
from gomea_bn.certainty.parent_sets import ScoredParentSets


def random_sets(n, seed):
    """Return parent sets of at most two members with random scores; some of them hundreds of nats apart."""
    rng = np.random.default_rng(seed)
    sets = []
    for child in range(n):
        others = [v for v in range(n) if v != child]
        chosen = [s for size in range(3) for s in itertools.combinations(others, size)]
        scores = rng.normal(scale=2.0, size=len(chosen))
        if child == 0:
            # the next step of the weights begins at 300
            scores -= 300.0 * np.array([1 not in s for s in chosen])
        members = np.zeros((len(chosen), n), np.bool_)
        for row, of_set in enumerate(chosen):
            members[row, list(of_set)] = True
        order = np.argsort(-scores)
        sets.append(ScoredParentSets(members[order], scores[order]))
    return sets


def posterior(sets):
    """Return the probability of every acyclic graph, as parents by variable."""
    scores = [
        {tuple(np.flatnonzero(row).tolist()): score for row, score in zip(s.members, s.scores, strict=True)}
        for s in sets
    ]
    all_graphs = graphs(len(sets), 2)
    logs = np.array([sum(scores[v][parents] for v, parents in enumerate(graph)) for graph in all_graphs])
    weights = np.exp(logs - logs.max())
    return dict(zip(all_graphs, weights / weights.sum(), strict=True))


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(3))
def test_the_chain_visits_graphs_by_their_probability(seed):
    sets = random_sets(4, seed)
    families = chain_families(sets)
    empty = [int(np.flatnonzero(~s.members.any(axis=1))[0]) for s in sets]
    chain = GraphChain(families, empty, range(4), np.random.default_rng(seed))
    visits: dict[tuple[tuple[int, ...], ...], int] = defaultdict(int)
    n_sweeps = 20_000
    for _ in range(n_sweeps):
        sweep(families, chain._graph, chain._work, np.zeros((5, 4)), 1, chain.generator)
        graph = tuple(
            tuple(np.flatnonzero(s.members[k - first]).tolist())
            for s, k, first in zip(sets, chain._graph.chosen, families.offsets, strict=False)
        )
        visits[graph] += 1
        position = {v: k for k, v in enumerate(chain._graph.order.tolist())}
        assert all(position[p] < position[v] for v, parents in enumerate(graph) for p in parents)
    expected = posterior(sets)
    distance = sum(abs(expected[graph] - visits[graph] / n_sweeps) for graph in expected) / 2
    assert distance < 0.06


def test_acyclic_graphs_of_a_step_are_all_of_them():
    families = chain_families(random_sets(4, 0))
    # Robinson's numbers of labelled acyclic graphs
    assert families.n_acyclic.tolist() == [1, 3, 25, 543]


def test_means_leave_out_the_first_quarter_of_the_sweeps():
    sets = random_sets(3, 1)
    families = chain_families(sets)
    empty = [int(np.flatnonzero(~s.members.any(axis=1))[0]) for s in sets]
    chain = GraphChain(families, empty, range(3), np.random.default_rng(1))
    for _ in range(200):
        chain.sweep()
    # two hundred sweeps are fifty sums of four
    sums = chain.sums._sums
    assert chain.sums._counts == [4] * 50
    late = np.sum(sums[12:], axis=0)[:3] / (4 * 38)
    np.testing.assert_array_equal(chain.sums.mean(), late)
    assert not np.allclose(late, np.sum(sums, axis=0)[:3] / 200)
