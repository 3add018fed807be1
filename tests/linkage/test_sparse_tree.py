"""Linkage over many genes: neighbours by definition, average linkage over a sparse matrix by definition."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles import slow_similarity, slow_upgma

from gomea_bn import GomeaBnError, LinkageTree
from gomea_bn.linkage.kernels import MI, NMI, Neighbours, nearest_neighbours, sparse_average_linkage
from gomea_bn.linkage.models import _graph, count_work, patterns, sparse_graph, sparse_trees

NO_STOP = np.zeros(1, np.uint8)


def merged(
    similarity: NDArray[np.float64], seed: int, sizes: NDArray[np.float64] | None = None
) -> dict[frozenset[int], float]:
    """Merges of the graph of a matrix's positive entries, each with its similarity."""
    n = len(similarity)
    weights = np.ones(n) if sizes is None else sizes
    pairs = np.argwhere(np.triu(similarity > 0, 1))
    totals = np.array([similarity[a, b] * weights[a] * weights[b] for a, b in pairs])
    graph = sparse_graph(pairs.reshape(-1, 2), totals, weights)
    children, strength = np.zeros((n - 1, 2), np.int64), np.zeros(n - 1)
    n_merges = sparse_average_linkage(graph, np.random.default_rng(seed), NO_STOP, children, strength)
    nodes = [frozenset([g]) for g in range(n)]
    for a, b in children[:n_merges].tolist():
        assert not nodes[a] & nodes[b]
        nodes.append(nodes[a] | nodes[b])
    assert len(set(nodes)) == len(nodes)
    return dict(zip(nodes[n:], strength[:n_merges].tolist(), strict=True))


def related(seed: int, n: int, n_genes: int, n_alleles: int = 3) -> NDArray[np.int16]:
    """A population whose genes copy parts of each other."""
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, n_alleles, (n_genes, n))
    for gene in range(1, n_genes):
        is_copied = rng.random(n) < rng.choice([0.0, 0.7, 1.0])
        columns[gene, is_copied] = columns[int(rng.integers(gene)), is_copied]
    return columns.T.astype(np.int16).copy()


@settings(max_examples=80)
@given(st.integers(0, 2**32 - 1), st.integers(2, 25), st.sampled_from([0.1, 0.3, 1.0]))
def test_merges_are_average_linkage_of_a_matrix_with_zeros(seed: int, n: int, density: float) -> None:
    rng = np.random.default_rng(seed)
    raw = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density), 1)
    similarity = raw + raw.T
    expected = {members: value for members, value in slow_upgma(similarity) if value > 0}
    merges = merged(similarity, seed)
    assert merges.keys() == expected.keys()
    assert [merges[m] for m in expected] == pytest.approx(list(expected.values()))


def test_clusters_of_several_genes_count_as_often() -> None:
    similarity = np.array([[0.0, 0.8, 0.5], [0.8, 0.0, 0.2], [0.5, 0.2, 0.0]])
    merges = merged(similarity, 0, np.array([3.0, 1.0, 2.0]))
    assert merges[frozenset([0, 1])] == pytest.approx(0.8)
    assert merges[frozenset([0, 1, 2])] == pytest.approx((3 * 0.5 + 0.2) / 4)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(2, 30), st.sampled_from([1, 2, 4]))
def test_ties_and_hubs_are_still_average_linkage(seed: int, n: int, n_values: int) -> None:
    rng = np.random.default_rng(seed)
    raw = np.triu(rng.integers(0, n_values + 1, (n, n)) / 4, 1)
    raw[0, 1:] = 0.25
    similarity = raw + raw.T
    merges = merged(similarity, seed)
    assert len(merges) == n - 1
    nodes = [frozenset([g]) for g in range(n)] + list(merges)
    for members, value in merges.items():
        a, b = next(
            (a, b)
            for a, b in itertools.combinations([m for m in nodes if m < members], 2)
            if a | b == members
        )
        assert value == pytest.approx(similarity[np.ix_(sorted(a), sorted(b))].mean())
        assert all(value <= merges.get(part, np.inf) + 1e-12 for part in (a, b))


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 70), st.integers(1, 12), st.integers(1, 6))
def test_neighbours_are_the_most_similar_genes(seed: int, n: int, n_genes: int, k: int) -> None:
    genotypes = related(seed, n, n_genes)
    offsets, work = count_work(genotypes, np.full(n_genes, 3), NO_STOP)
    neighbours = Neighbours(
        np.zeros((n_genes, k), np.int32), np.zeros((n_genes, k)), np.zeros(n_genes, np.int64)
    )
    nearest_neighbours(genotypes, offsets, NMI, work, neighbours)
    columns = genotypes.T.tolist()
    for gene in range(n_genes):
        values = [slow_similarity(columns[gene], columns[h], "nmi") for h in range(n_genes)]
        others = sorted((values[h] for h in range(n_genes) if h != gene), reverse=True)
        count = int(neighbours.counts[gene])
        assert [v for v in others[:k] if v > 1e-9] == pytest.approx(
            sorted((v for v in neighbours.similarities[gene, :count].tolist() if v > 1e-9), reverse=True),
            abs=1e-9,
        )
        for other, value in zip(
            neighbours.genes[gene, :count], neighbours.similarities[gene, :count], strict=True
        ):
            assert value == pytest.approx(values[other], abs=1e-9)
        assert gene not in neighbours.genes[gene, :count]


def test_every_gene_has_edges_to_as_many_genes_as_asked_for() -> None:
    genotypes = np.random.default_rng(0).integers(0, 3, (200, 7)).astype(np.int16)
    stop = np.zeros(1, np.uint8)
    for k in (1, 2, 5):
        graph = _graph(genotypes, np.ones(7), MI, k, stop)
        assert graph.degree.min() == k


def test_patterns_ignore_the_names_of_alleles() -> None:
    genotypes = np.array([[0, 2, 0, 1], [0, 2, 1, 1], [1, 0, 0, 0], [2, 1, 1, 0]], np.int16)
    columns, which = patterns(genotypes)
    assert columns[:, which].T.tolist() == [[0, 0, 1, 2], [0, 0, 1, 2], [0, 1, 0, 1], [0, 0, 1, 1]]
    assert columns.shape == (4, 3)
    assert which[0] == which[1]


@pytest.mark.parametrize("measure", ["nmi", "mi"])
@pytest.mark.parametrize("seed", range(5))
def test_with_all_neighbours_the_tree_is_that_of_the_full_matrix(measure: str, seed: int) -> None:
    genotypes, alphabet = related(seed, 300, 40), np.full(40, 3)
    learned = [
        LinkageTree(measure, filtered=filtered, max_matrix_genes=limit, n_neighbours=1000).learn(
            genotypes, alphabet, np.random.default_rng(seed)
        )
        for filtered in (False, True)
        for limit in (40, 0)
    ]
    columns = genotypes.T.tolist()
    equal = [
        (g, h)
        for g, h in itertools.combinations(range(40), 2)
        if slow_similarity(columns[g], columns[h], "nmi") > 1 - 1e-9
    ]
    assert equal  # how equal genes merge among themselves is up to chance
    sets = [{s for s in tree.subsets() if all((g in s) == (h in s) for g, h in equal)} for tree in learned]
    assert sets[0] == sets[1]
    assert sets[2] == sets[3]
    assert [len(tree.sizes) for tree in learned[:2]] == [78, 78]
    if measure == "nmi":
        assert len(learned[2].sizes) == len(learned[3].sizes) < 78


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(3, 60), st.integers(1, 5))
def test_few_neighbours_give_nested_sets_over_all_varying_genes(
    seed: int, n: int, n_genes: int, k: int
) -> None:
    genotypes = related(seed, n, n_genes)
    tree = LinkageTree(filtered=False, max_matrix_genes=0, n_neighbours=k).learn(
        genotypes, np.full(n_genes, 3), np.random.default_rng(seed)
    )
    sets = tree.subsets()
    varying = frozenset(np.flatnonzero((genotypes != genotypes[0]).any(axis=0)).tolist())
    assert frozenset().union(*sets) == varying
    assert {frozenset([g]) for g in varying} <= set(sets)
    assert len(set(sets)) == len(sets)
    assert varying not in sets or len(varying) < 3
    assert all(a <= b or b <= a or not a & b for a, b in itertools.combinations(sets, 2))


def test_linked_blocks_are_found_among_many_genes() -> None:
    rng = np.random.default_rng(1)
    blocks = rng.integers(0, 3, (200, 128))
    genotypes = np.repeat(blocks, 4, axis=0)
    genotypes[rng.random(genotypes.shape) < 0.1] = 0
    tree = LinkageTree(max_matrix_genes=500, n_neighbours=8).learn(
        np.ascontiguousarray(genotypes.T.astype(np.int16)), np.full(800, 3), rng
    )
    subsets = set(tree.subsets())
    assert all(frozenset(range(4 * b, 4 * b + 4)) in subsets for b in range(200))


def test_a_raised_flag_ends_learning_with_single_genes() -> None:
    stop = np.ones(1, np.uint8)
    genotypes, rng = related(0, 50, 30), np.random.default_rng(0)
    tree = LinkageTree(max_matrix_genes=0).for_run(stop).learn(genotypes, np.full(30, 3), rng)
    assert tree.sizes.tolist() == [1] * 30
    assert len(sparse_trees(genotypes, NMI, 8, rng, stop)[1]) < 29
    stop[0] = 0
    assert len(sparse_trees(genotypes, NMI, 29, rng, stop)[1]) == 29


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_matrix_genes": -1}, "max_matrix_genes"),
        ({"n_neighbours": 0}, "n_neighbours must be an integer"),
    ],
)
def test_sizes_that_cannot_be_used_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(GomeaBnError, match=message):
        LinkageTree(**options)
