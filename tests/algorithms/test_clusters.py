"""Balanced clusters in objective space, against a twin of lists and loops."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mo_oracles import slow_clusters, slow_extremes

from gomea_bn.algorithms.mogomea import balanced_clusters, extreme_clusters
from gomea_bn.operators.front_mixing import ALL

DEGENERATE = {
    "all equal": lambda rng: np.full((23, 3), 4.0),
    "one constant": lambda rng: np.column_stack([np.full(23, 7.5), rng.random(23)]),
    "two points": lambda rng: np.repeat(np.array([[0.0, 1.0], [1.0, 0.0]]), [3, 20], axis=0),
    "the stand-in for infinity": lambda rng: np.where(rng.random((23, 2)) < 0.5, 1e300, rng.random((23, 2))),
    "infinite throughout": lambda rng: np.column_stack([np.full(23, 1e300), rng.random(23)]),
    "of both signs": lambda rng: rng.choice([-1e300, 0.0, 1e300], (23, 2)),
    "tiny next to a large offset": lambda rng: 1e9 + 1e-5 * rng.integers(0, 9, (23, 2)),
}


def check(objectives, k, clusters, of_solution):
    n = len(objectives)
    size = n if k == 1 else max(1, 2 * n // k)
    assert [len(members) for members in clusters] == [size] * k
    for members in clusters:
        assert members.tolist() == sorted(set(members.tolist()))
        assert members[0] >= 0
        assert members[-1] < n
    is_member = np.array([np.isin(np.arange(n), members) for members in clusters])
    for i, chosen in enumerate(of_solution.tolist()):
        assert is_member[chosen, i] or not is_member[:, i].any()


@settings(max_examples=150)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 40),
    st.integers(1, 4),
    st.sampled_from([1, 2, 4, 8, 1024]),
    st.data(),
)
def test_clusters_equal_their_twin(seed, n, m, levels, data):
    k = data.draw(st.integers(1, min(n, 9)))
    rng = np.random.default_rng(seed)
    # few levels give many ties, and fewer different points than clusters; powers of two as ranges and scales make
    # all sums exact, so that their order does not matter
    steps = rng.integers(0, levels + 1, (n, m))
    steps[0], steps[-1] = 0, levels
    objectives = steps * rng.choice([0.0, 2.0**-20, 1.0, 2.0**30], m) + rng.choice([0.0, -(2.0**9)], m)
    ours, theirs = np.random.default_rng(seed), np.random.default_rng(seed)
    clusters, of_solution = balanced_clusters(objectives, k, ours)
    expected, chosen = slow_clusters(objectives.tolist(), k, theirs)
    assert [members.tolist() for members in clusters] == expected
    assert of_solution.tolist() == chosen
    check(objectives, k, clusters, of_solution)
    extremes = extreme_clusters(objectives, clusters, ours)
    assert extremes.tolist() == slow_extremes(objectives.tolist(), expected, theirs)
    assert ours.bit_generator.state == theirs.bit_generator.state


@pytest.mark.parametrize("kind", DEGENERATE)
@pytest.mark.parametrize("k", [1, 2, 4, 23])
def test_degenerate_objectives_still_give_whole_clusters(kind, k):
    objectives = DEGENERATE[kind](np.random.default_rng(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clusters, of_solution = balanced_clusters(objectives, k, np.random.default_rng(2))
        extremes = extreme_clusters(objectives, clusters, np.random.default_rng(2))
    check(objectives, k, clusters, of_solution)
    optimised = extremes[extremes != ALL].tolist()
    assert sorted(optimised) == sorted(set(optimised))
    assert len(optimised) == min(k - 1, objectives.shape[1])


def test_an_objective_without_differences_leaves_the_others_their_say():
    x = np.random.default_rng(3).random(60)
    for constant in (0.0, 1e300, -1e300):
        objectives = np.column_stack([np.full(60, constant), x])
        clusters, _ = balanced_clusters(objectives, 4, np.random.default_rng(0))
        alone, _ = balanced_clusters(x[:, None], 4, np.random.default_rng(0))
        spans = sorted(np.ptp(x[members]) for members in clusters)
        assert spans[-1] < 0.75
        assert {tuple(c) for c in clusters} == {tuple(c) for c in alone}


def test_groups_that_lie_apart_are_found_whole():
    rng = np.random.default_rng(4)
    group = np.repeat(np.arange(4), 15)
    centres = np.array([[0, 30], [5, 10], [14, 4], [30, 0]])
    objectives = centres[group] + rng.random((60, 2))
    shuffled = rng.permutation(60)
    clusters, of_solution = balanced_clusters(objectives[shuffled], 4, np.random.default_rng(5))
    for g in range(4):
        # a cluster is twice as large as a share, and its own come first
        assert any(set(np.flatnonzero(group[shuffled] == g)) <= set(members.tolist()) for members in clusters)
    extremes = extreme_clusters(objectives[shuffled], clusters, np.random.default_rng(5))
    for j in range(2):
        means = [objectives[shuffled][members, j].mean() for members in clusters]
        assert extremes[int(np.argmin(means))] == j
    assert len(set(of_solution.tolist())) == 4


def test_who_is_in_several_clusters_gets_any_of_them():
    objectives = np.random.default_rng(6).random((30, 2))
    seen = [set() for _ in range(30)]
    for seed in range(60):
        # the leaders depend on the first draw, an objective: keep the seeds that give the same clusters
        clusters, of_solution = balanced_clusters(objectives, 3, np.random.default_rng(seed))
        if seed == 0:
            first = clusters
        if all((a == b).all() for a, b in zip(clusters, first)):
            for i, chosen in enumerate(of_solution.tolist()):
                seen[i].add(chosen)
    own_clusters = [{c for c, members in enumerate(first) if i in members} for i in range(30)]
    assert sum(len(expected) > 1 for expected in own_clusters) > 5
    assert all(expected <= drawn for expected, drawn in zip(own_clusters, seen))


def test_as_many_clusters_as_solutions_and_one_cluster():
    objectives = np.random.default_rng(7).random((9, 2))
    clusters, of_solution = balanced_clusters(objectives, 9, np.random.default_rng(0))
    assert [len(members) for members in clusters] == [2] * 9
    # every solution leads a cluster, and is in it
    assert set(np.concatenate(clusters).tolist()) == set(range(9))
    assert len(of_solution) == 9
    clusters, of_solution = balanced_clusters(objectives, 1, np.random.default_rng(0))
    assert clusters[0].tolist() == list(range(9))
    assert of_solution.tolist() == [0] * 9
    assert extreme_clusters(objectives, clusters, np.random.default_rng(0)).tolist() == [ALL]


def test_one_seed_gives_the_same_clusters():
    objectives = np.random.default_rng(8).random((40, 3))
    runs = [balanced_clusters(objectives, 5, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert all((a == b).all() for a, b in zip(runs[0][0], runs[1][0], strict=True))
    assert (runs[0][1] == runs[1][1]).all()
    assert (runs[0][1] != runs[2][1]).any()
