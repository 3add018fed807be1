"""Linkage: similarities by definition, average linkage by definition, families of subsets."""

import itertools
import math
from collections import Counter
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles import as_lists, slow_entropy, slow_similarity, slow_upgma
from scipy.stats import chisquare
from search_examples import random_population

from gomea_bn import Custom, GomeaBnError, LinkageTree, Univariate
from gomea_bn.linkage import linkage_model
from gomea_bn.linkage.kernels import tree_slices, upgma

X, Y, Z = ([int(c) for c in word] for word in ("00112220", "00111110", "01010101"))


def population(columns: list[list[int]]) -> NDArray[np.int16]:
    return np.array(columns, np.int16).T.copy()


def built_tree(
    similarity: NDArray[np.float64], seed: int = 0
) -> tuple[list[frozenset[int]], NDArray[np.float64], NDArray[np.int64]]:
    """Every merge as a set, its similarity, and the merged nodes."""
    n = len(similarity)
    children, strength = np.zeros((n - 1, 2), np.int64), np.zeros(n - 1)
    work, chain = np.zeros((2, n), np.int64), np.zeros(n + 2, np.int64)
    upgma(similarity.copy(), np.random.default_rng(seed), work[0], work[1], chain, children, strength)
    nodes = [frozenset([g]) for g in range(n)]
    for a, b in children.tolist():
        assert not nodes[a] & nodes[b]
        nodes.append(nodes[a] | nodes[b])
    return nodes[n:], strength, children


def test_entropies_and_similarities_of_three_short_vectors() -> None:
    assert [slow_entropy(g) for g in (X, Y, Z)] == pytest.approx([1.561278, 0.954434, 1.0], abs=1e-6)
    genotypes, alphabet = population([X, Y, Z]), np.array([3, 2, 2])
    mi = LinkageTree("mi").similarities(genotypes, alphabet)
    nmi = LinkageTree("nmi").similarities(genotypes, alphabet)
    assert mi[np.triu_indices(3, 1)] == pytest.approx([0.954434, 0.061278, 0.048795], abs=1e-6)
    assert nmi[np.triu_indices(3, 1)] == pytest.approx([0.611316, 0.024511, 0.025606], abs=1e-6)


@settings(max_examples=80)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 2, 3, 16, 63, 64, 65, 128, 130]),
    st.sampled_from([2, 3, 8, 9, 15, 254]),
    st.sampled_from(["mi", "nmi"]),
)
def test_similarities_equal_their_definition(seed: int, n: int, largest: int, measure: str) -> None:
    rng = np.random.default_rng(seed)
    genotypes = random_population(rng, n, 6, largest)
    # an alphabet may be wider than what the population uses
    alphabet = genotypes.max(axis=0).astype(np.int64) + rng.integers(1, 3, 6)
    similarities = LinkageTree(measure).similarities(genotypes, alphabet)
    assert (similarities == similarities.T).all()
    for g, h in itertools.combinations(range(6), 2):
        expected = slow_similarity(genotypes[:, g].tolist(), genotypes[:, h].tolist(), measure)
        assert similarities[g, h] == pytest.approx(expected, abs=1e-9)
        assert similarities[g, h] >= 0.0


@pytest.mark.parametrize("measure", ["mi", "nmi"])
@pytest.mark.parametrize("size", [256, 257, 300, 512, 1000])
def test_similarities_of_genes_with_more_than_256_values_equal_their_definition(
    size: int, measure: str
) -> None:
    rng = np.random.default_rng(size)
    wide = rng.integers(0, size, 300)
    wide[:2] = 0, size - 1
    genotypes = np.stack([wide, wide % 4, rng.integers(0, 4, 300)], axis=1).astype(np.int16)
    matrix = LinkageTree(measure).similarities(genotypes, np.array([size, 4, 4]))
    for g, h in itertools.combinations(range(3), 2):
        expected = slow_similarity(genotypes[:, g].tolist(), genotypes[:, h].tolist(), measure)
        assert matrix[g, h] == pytest.approx(expected, abs=1e-9)


def test_normalised_similarity_is_1_for_relabelled_genes_and_0_for_constant_ones() -> None:
    x = np.random.default_rng(0).integers(0, 5, 50)
    genotypes = np.stack([x, (3 * x + 1) % 5, np.full(50, 2), np.full(50, 2)], axis=1).astype(np.int16)
    similarities = LinkageTree().similarities(genotypes, np.full(4, 5))
    assert similarities[0, 1] == pytest.approx(1.0)
    assert similarities[0, 2] == similarities[1, 3] == similarities[2, 3] == 0.0


@settings(max_examples=80)
@given(st.integers(0, 2**32 - 1), st.integers(2, 25))
def test_the_tree_equals_average_linkage_by_definition(seed: int, n: int) -> None:
    raw = np.random.default_rng(seed).random((n, n))
    similarity = raw + raw.T
    sets, strength, _ = built_tree(similarity, seed)
    expected = slow_upgma(similarity)
    assert set(sets) == {members for members, _ in expected}
    by_set = dict(expected)
    assert strength == pytest.approx([by_set[members] for members in sets])


@settings(max_examples=80)
@given(st.integers(0, 2**32 - 1), st.integers(2, 30), st.sampled_from([1, 2, 4]))
def test_a_tree_with_ties_is_still_average_linkage(seed: int, n: int, n_values: int) -> None:
    rng = np.random.default_rng(seed)
    raw = np.triu(rng.integers(0, n_values, (n, n)) / 4, 1)
    similarity = raw + raw.T
    sets, strength, children = built_tree(similarity, seed)
    nodes = [frozenset([g]) for g in range(n)] + sets
    assert len(set(nodes)) == 2 * n - 1
    assert nodes[-1] == frozenset(range(n))
    strengths = [math.inf] * n + strength.tolist()
    for merge, (a, b) in enumerate(children.tolist()):
        between = similarity[np.ix_(sorted(nodes[a]), sorted(nodes[b]))]
        assert strength[merge] == pytest.approx(between.mean(), abs=1e-12)
        # non-increasing along the path to the root
        assert strength[merge] <= min(strengths[a], strengths[b]) + 1e-12


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(2, 64), st.integers(1, 20))
def test_a_learned_tree_has_all_nodes_over_varying_genes_but_the_root(
    seed: int, n: int, n_genes: int
) -> None:
    rng = np.random.default_rng(seed)
    genotypes = random_population(rng, n, n_genes, 5)
    alphabet = genotypes.max(axis=0).astype(np.int64) + 1
    tree = LinkageTree("nmi", filtered=False).learn(genotypes, alphabet, rng)
    subsets = tree.subsets()
    varying = {g for g in range(n_genes) if len(set(genotypes[:, g].tolist())) > 1}
    singles = {frozenset([g]) for g in varying}
    assert [len(set(genes)) for genes in as_lists(tree)] == tree.sizes.tolist()
    assert set(subsets[: len(varying)]) == singles
    if len(varying) < 3:
        assert len(subsets) == len(varying)
        return
    assert len(set(subsets)) == len(subsets) == 2 * len(varying) - 2
    assert frozenset(varying) not in subsets
    for members in subsets[len(varying) :]:  # a union of two disjoint other nodes
        assert any(a | b == members and not a & b for a, b in itertools.combinations(subsets, 2))


def test_a_raised_flag_ends_learning_with_single_genes() -> None:
    rng = np.random.default_rng(5)
    genotypes = rng.integers(0, 3, (30, 12)).astype(np.int16)
    stop = np.zeros(1, np.uint8)
    tree = LinkageTree().for_run(stop)
    assert max(tree.learn(genotypes, np.full(12, 3), rng).sizes) > 1
    stop[0] = 1
    assert sorted(as_lists(tree.learn(genotypes, np.full(12, 3), rng))) == [[g] for g in range(12)]


def test_tree_slices_hold_the_nodes() -> None:
    similarity = np.random.default_rng(1).random((12, 12))
    sets, _, children = built_tree(similarity + similarity.T)
    sizes, starts, leaves = np.zeros(23, np.int64), np.zeros(23, np.int64), np.zeros(12, np.int64)
    tree_slices(children, sizes, starts, leaves)
    assert sorted(leaves.tolist()) == list(range(12))
    slices = [frozenset(leaves[s : s + k].tolist()) for s, k in zip(starts, sizes, strict=True)]
    assert slices == [frozenset([g]) for g in range(12)] + sets


def test_linked_genes_merge_before_any_others() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 3, 400), rng.integers(0, 3, 400)
    wide = [rng.integers(0, 14, 400) for _ in range(2)]
    columns = [a, b, np.where(rng.random(400) < 0.2, rng.integers(0, 3, 400), a), *wide]
    columns.append(np.where(rng.random(400) < 0.2, rng.integers(0, 3, 400), b))
    genotypes = np.array(columns, np.int16).T.copy()
    alphabet = np.array([3, 3, 3, 14, 14, 3])
    by_nmi = LinkageTree("nmi").learn(genotypes, alphabet, rng).subsets()
    assert {frozenset([0, 2]), frozenset([1, 5])} <= set(by_nmi)


def test_ties_favour_no_gene() -> None:
    pairs: Counter[frozenset[int]] = Counter()
    genotypes = np.repeat(np.arange(8) % 2, 4).reshape(8, 4).astype(np.int16)
    rng = np.random.default_rng(0)
    for _ in range(600):
        pairs[LinkageTree(filtered=False).learn(genotypes, np.full(4, 2), rng).subsets()[4]] += 1
    assert chisquare([pairs[frozenset(p)] for p in itertools.combinations(range(4), 2)]).pvalue > 1e-3


def test_equal_genes_merge_into_a_tree_of_small_depth() -> None:
    # ties go to the smaller cluster; a chain that always took the larger one would be 15 deep
    for seed in range(10):
        _, _, children = built_tree(np.ones((16, 16)), seed)
        depth = [0] * 31
        for merge, (a, b) in enumerate(children.tolist()):
            depth[16 + merge] = 1 + max(depth[a], depth[b])
        assert depth[-1] <= 10


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(3, 15))
def test_the_filter_drops_the_children_of_identical_merges_only(seed: int, n: int, n_genes: int) -> None:
    genotypes = random_population(np.random.default_rng(seed), n, n_genes, 3)
    alphabet = genotypes.max(axis=0).astype(np.int64) + 1
    every = LinkageTree("nmi", filtered=False).learn(genotypes, alphabet, np.random.default_rng(seed))
    filtered = LinkageTree("nmi").learn(genotypes, alphabet, np.random.default_rng(seed)).subsets()
    dropped = set(every.subsets()) - set(filtered)
    assert set(filtered) <= set(every.subsets())
    if (genotypes != genotypes[0]).any():
        assert filtered  # a family without subsets could not mix
    columns = genotypes.T.tolist()
    for members in dropped:
        parent = min((s for s in every.subsets() if s > members), key=len)
        between = itertools.product(members, parent - members)
        assert all(slow_similarity(columns[g], columns[h], "nmi") > 1 - 1e-4 for g, h in between)
    for members in set(filtered):
        parents = [s for s in every.subsets() if s > members]
        if parents:
            parent = min(parents, key=len)
            pairs = itertools.product(members, parent - members)
            values = [slow_similarity(columns[g], columns[h], "nmi") for g, h in pairs]
            assert np.mean(values) < 1 - 1e-6


def test_copies_of_a_gene_travel_together() -> None:
    rng = np.random.default_rng(3)
    x, y, z = (rng.integers(0, 3, 60) for _ in range(3))
    genotypes = np.array([x, y, x, z, (x + 1) % 3], np.int16).T.copy()
    subsets = LinkageTree().learn(genotypes, np.full(5, 3), rng).subsets()
    assert frozenset([0, 2, 4]) in subsets
    assert not any(frozenset([g]) in subsets for g in (0, 2, 4))
    by_mi = LinkageTree("mi").learn(genotypes, np.full(5, 3), rng).subsets()
    assert len(by_mi) == 8  # the filter means nothing for bits


def test_univariate_and_custom_families() -> None:
    genotypes, rng = np.zeros((4, 3), np.int16), np.random.default_rng(0)
    alphabet = np.full(3, 2)
    assert as_lists(Univariate().learn(genotypes, alphabet, rng)) == [[0], [1], [2]]
    generators = ((g for g in subset) for subset in ([2, 0], [1]))
    assert as_lists(Custom(generators).learn(genotypes, alphabet, rng)) == [[2, 0], [1]]
    assert as_lists(Custom([[0, 1, 2]]).learn(genotypes, alphabet, rng)) == [[0, 1, 2]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Custom([]), "at least one subset"),
        (lambda: Custom(cast(Any, 3)), r"Custom: subsets must be lists of integers, .* got 3"),
        (lambda: Custom(cast(Any, [[0, "x"]])), "subsets must be lists of integers"),
        (lambda: Custom(cast(Any, [[0.5, 1]])), "subsets must be lists of integers"),
        (lambda: Custom([[0], []]), r"non-empty and without duplicates, got \[\]"),
        (lambda: Custom([[1, 1]]), r"non-empty and without duplicates, got \[1, 1\]"),
        (
            lambda: LinkageTree("entropy"),
            "measure must be one of .*'corrected', 'mi', 'nmi'.*, got 'entropy'",
        ),
        (
            lambda: linkage_model("forest"),
            r"linkage must be one of 'tree', .*'tree-corrected', .* got 'forest'",
        ),
        (lambda: linkage_model(cast(Any, 3)), r"object with learn\(...\), got 3"),
    ],
)
def test_families_that_cannot_be_used_are_refused(make: Any, message: str) -> None:
    with pytest.raises(GomeaBnError, match=message):
        make()


@pytest.mark.parametrize("subset", [[0, 3], [-1]])
def test_genes_that_do_not_exist_are_refused(subset: list[int]) -> None:
    with pytest.raises(GomeaBnError, match=r"genes are 0 to 2, got the subset"):
        Custom([subset]).learn(np.zeros((2, 3), np.int16), np.full(3, 2), np.random.default_rng(0))
