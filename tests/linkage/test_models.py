"""Linkage models beyond the learned tree: bias correction, size limits, partitions, interaction graphs."""

import itertools
import math
from collections.abc import Iterable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles import slow_entropy, slow_similarity, slow_upgma
from search_examples import random_population
from wrong_input import untyped

from gomea_bn import GOMEA, Full, GomeaBnError, LinkageTree, MarginalProduct, StaticTree
from gomea_bn.problems import HIFF, MaxCut, NKLandscape, OneMax, Trap
from gomea_bn.runtime import Limits


def cardinalities(genotypes: NDArray[np.int16]) -> NDArray[np.int64]:
    largest: NDArray[np.int64] = genotypes.max(axis=0).astype(np.int64)
    return largest + 1


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 5, 64, 100]), st.sampled_from([2, 3, 15]))
def test_corrected_similarity_equals_its_definition(seed: int, n: int, largest: int) -> None:
    rng = np.random.default_rng(seed)
    genotypes = random_population(rng, n, 5, largest)
    similarities = LinkageTree("corrected").similarities(genotypes, cardinalities(genotypes) + 1)
    assert (similarities == similarities.T).all()
    for g, h in itertools.combinations(range(5), 2):
        x, y = genotypes[:, g].tolist(), genotypes[:, h].tolist()
        bias = (len(set(x)) - 1) * (len(set(y)) - 1) / (2 * n * math.log(2))
        both = slow_entropy(list(zip(x, y, strict=True)))
        expected = max(slow_similarity(x, y, "mi") - bias, 0) / both if both > 0 else 0
        assert similarities[g, h] == pytest.approx(expected, abs=1e-9)


def test_correction_removes_the_preference_for_wide_genes() -> None:
    """Independent genes: at n = 256 the normalised MI of 15-valued ones is 30 times that of 3-valued ones."""
    rng = np.random.default_rng(1)
    means = {"nmi": np.zeros(2), "corrected": np.zeros(2)}
    for _ in range(100):
        alphabet = np.array([3, 3, 15, 15])
        genotypes = rng.integers(0, alphabet, (256, 4)).astype(np.int16)
        for measure, mean in means.items():
            similarities = LinkageTree(measure).similarities(genotypes, alphabet)
            mean += np.array([similarities[0, 1], similarities[2, 3]]) / 100
    assert means["nmi"][0] == pytest.approx(0.003, abs=0.001)
    assert means["nmi"][1] == pytest.approx(0.092, abs=0.004)
    # the expectation is one of large samples: 14 * 14 cells of 256 solutions still keep a little
    assert means["corrected"][1] < 0.25 * means["nmi"][1]


def test_correction_finds_narrow_pairs_among_wide_genes_in_small_populations() -> None:
    hits = {"mi": 0, "nmi": 0, "corrected": 0}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        alphabet = np.array([3, 3, 15, 15, 15, 15])
        genotypes = rng.integers(0, alphabet, (64, 6)).astype(np.int16)
        genotypes[:, 1] = np.where(rng.random(64) < 0.5, genotypes[:, 0], genotypes[:, 1])
        for measure in hits:
            subsets = LinkageTree(measure, filtered=False).learn(genotypes, alphabet, rng).subsets()
            hits[measure] += {0, 1} in subsets
    assert hits["mi"] < hits["nmi"] < hits["corrected"]
    assert hits["corrected"] >= 30


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(3, 20), st.integers(1, 20), st.sampled_from(["mi", "nmi"]))
def test_a_size_limit_leaves_out_large_subsets_only(
    seed: int, n_genes: int, limit: int, measure: str
) -> None:
    genotypes = random_population(np.random.default_rng(seed), 30, n_genes, 3)
    alphabet = cardinalities(genotypes)
    every = LinkageTree(measure).learn(genotypes, alphabet, np.random.default_rng(1)).subsets()
    limited = LinkageTree(measure, max_set_size=limit).learn(genotypes, alphabet, np.random.default_rng(1))
    assert limited.subsets() == [s for s in every if len(s) <= limit]


def description_bits(
    subsets: Iterable[frozenset[int]], genotypes: NDArray[np.int16], alphabet: NDArray[np.int64]
) -> float:
    n = len(genotypes)
    total = 0.0
    for subset in subsets:
        rows = [tuple(row) for row in genotypes[:, sorted(subset)].tolist()]
        table = math.prod(alphabet[sorted(subset)].tolist()) - 1
        total += table * math.log2(n + 1) + n * float(slow_entropy(rows))
    return total


def slow_partition(genotypes: NDArray[np.int16], alphabet: NDArray[np.int64], largest: int) -> float:
    """Bits of the description that greedy merging by definition ends with."""

    def bits(*clusters: frozenset[int]) -> float:
        return description_bits(clusters, genotypes, alphabet)

    clusters = {frozenset([g]) for g in range(genotypes.shape[1])}
    while True:
        options = [
            (bits(a, b) - bits(a | b), a, b)
            for a, b in itertools.combinations(clusters, 2)
            if len(a | b) <= largest
        ]
        best = max(options, key=lambda option: option[0], default=(0.0, frozenset(), frozenset()))
        if best[0] <= 1e-9:
            return bits(*clusters)
        clusters = clusters - {best[1], best[2]} | {best[1] | best[2]}


@pytest.mark.long
@settings(max_examples=40)
@given(
    st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 40, 300]), st.integers(1, 8), st.sampled_from([2, 3, 8])
)
def test_the_partition_is_the_greedy_one(seed: int, n: int, n_genes: int, limit: int) -> None:
    rng = np.random.default_rng(seed)
    genotypes = random_population(rng, n, n_genes, 3)
    alphabet = cardinalities(genotypes)
    subsets = MarginalProduct(limit).learn(genotypes, alphabet, rng).subsets()
    assert sorted(gene for subset in subsets for gene in subset) == list(range(n_genes))
    assert max(map(len, subsets)) <= limit
    bits = description_bits(subsets, genotypes, alphabet)
    assert bits == pytest.approx(slow_partition(genotypes, alphabet, limit), rel=1e-9)


def test_the_table_of_a_cluster_has_a_cell_per_combination_of_values() -> None:
    block = np.repeat([0, 1], 200)
    # the last gene saves 52 bits with the block, whose table of 8 cells costs 61 and a table of 6 would cost 43
    last = np.where(np.arange(400) % 200 < 58, 1 - block, block)
    genotypes = np.array([block, block, block, last], np.int16).T.copy()
    subsets = MarginalProduct().learn(genotypes, cardinalities(genotypes), np.random.default_rng(0)).subsets()
    assert set(subsets) == {frozenset([0, 1, 2]), frozenset([3])}


def test_blocks_are_found_and_independent_genes_stay_single() -> None:
    rng = np.random.default_rng(5)
    blocks = [rng.integers(0, 2, 400) for _ in range(4)]
    noise = [rng.integers(0, 4, 400) for _ in range(3)]
    columns = [
        np.where(rng.random(400) < 0.1, 1 - block, block) for block in blocks for _ in range(3)
    ] + noise
    genotypes = np.array(columns, np.int16).T.copy()
    subsets = MarginalProduct().learn(genotypes, cardinalities(genotypes), rng).subsets()
    expected = [frozenset(range(b, b + 3)) for b in range(0, 12, 3)] + [frozenset([g]) for g in (12, 13, 14)]
    assert set(subsets) == set(expected)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(3, 16))
def test_the_static_tree_is_average_linkage_within_components(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = [p for p in itertools.combinations(range(n), 2) if rng.random() < 0.2]
    weights = rng.random(len(pairs)) + 0.1
    subsets = (
        StaticTree(np.array(pairs, int).reshape(-1, 2), weights)
        .learn(np.zeros((2, n), np.int16), np.full(n, 2), rng)
        .subsets()
    )
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(pairs)
    matrix = np.zeros((n, n))
    for (g, h), weight in zip(pairs, weights, strict=True):
        matrix[g, h] = matrix[h, g] = weight
    merges = [members for members, strength in slow_upgma(matrix) if strength > 0 and len(members) < n]
    assert set(subsets) == {frozenset([g]) for g in range(n)} | set(merges)
    assert len(set(subsets)) == len(subsets)
    for subset in subsets:
        assert nx.is_connected(graph.subgraph(subset))
    if not nx.is_connected(graph):
        assert {frozenset(c) for c in nx.connected_components(graph)} <= set(subsets)


def test_static_trees_of_the_benchmarks() -> None:
    def subsets(problem: Any, **options: Any) -> set[frozenset[int]]:
        tree = StaticTree(problem.interactions, problem.interaction_weights, **options)
        learned = tree.learn(
            np.zeros((2, problem.n_variables), np.int16), problem.alphabet, np.random.default_rng()
        )
        return set(learned.subsets())

    assert subsets(OneMax(6)) == {frozenset([g]) for g in range(6)}
    assert {frozenset(range(b, b + 5)) for b in range(0, 20, 5)} <= subsets(Trap(20))
    hierarchy = {frozenset(range(b, b + size)) for size in (1, 2, 4) for b in range(0, 8, size)}
    assert subsets(HIFF(8)) == hierarchy
    assert max(map(len, subsets(NKLandscape(30), max_set_size=8))) <= 8
    torus = MaxCut.torus(5)
    neighbours: list[list[int]] = [[] for _ in range(25)]
    for g, h in torus.interactions.tolist():
        neighbours[g].append(h)
        neighbours[h].append(g)
    learned = StaticTree.from_neighbours(neighbours).learn(
        np.zeros((2, 25), np.int16), torus.alphabet, np.random.default_rng(7)
    )
    assert set(learned.subsets()) == subsets(torus)


def test_neighbour_lists_of_a_ring_are_not_taken_for_pairs() -> None:
    tree = StaticTree.from_neighbours([[1, 3], [2, 0], [3, 1], [0, 2]])
    assert tree.similarities(4).tolist() == [[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]]


def test_one_static_tree_serves_problems_of_several_sizes() -> None:
    tree = StaticTree([[0, 1]])
    sizes = [
        len(tree.learn(np.zeros((2, n), np.int16), np.full(n, 2), np.random.default_rng()).sizes)
        for n in (2, 5)
    ]
    assert sizes == [2, 6]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "model",
    [
        LinkageTree("corrected"),
        LinkageTree("mi", max_set_size=10),
        MarginalProduct(max_set_size=5),
        StaticTree(Trap(50).interactions),
    ],
    ids=["corrected", "limited", "marginal", "static"],
)
def test_gomea_solves_deceptive_traps_with_every_model(model: Any) -> None:
    problem = Trap(50)
    limits = Limits(target=problem.target, max_evaluations=1_000_000)
    result = GOMEA(linkage=model, local_search=False).run(problem, limits, random_state=1)
    assert result.stopped_by == "target"


def test_the_full_set_only_selects() -> None:
    problem = Trap(20)
    genotypes = np.random.default_rng(0).integers(0, 2, (16, 20)).astype(np.int16)
    assert Full().learn(genotypes, problem.alphabet, np.random.default_rng(0)).subsets() == [
        frozenset(range(20))
    ]
    algorithm = GOMEA(linkage=Full(), local_search=False, base_population=16, max_population_size=16)
    result = algorithm.run(problem, Limits(max_generations=50), random_state=0, initial=genotypes)
    values = {tuple(row) for row in genotypes.tolist()}
    assert tuple(result.X.tolist()) in values
    assert result.stopped_by == "max_population_size"  # all solutions became the best one


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LinkageTree("joint"), "'corrected'"),
        (lambda: LinkageTree(max_set_size=0), "max_set_size must be an integer of at least 1 or None, got 0"),
        (lambda: MarginalProduct(untyped(2.5)), r"MarginalProduct: max_set_size .* got 2.5"),
        (lambda: StaticTree([[0, 1]], max_set_size=True), r"StaticTree: max_set_size .* got True"),
        (lambda: StaticTree([0, 1]), r"shape \(n_pairs, 2\), got int64 of shape \(2,\)"),
        (lambda: StaticTree([[0.0, 1.0]]), r"got float64"),
        (lambda: StaticTree([[0, 1], [2, 2]]), r"two different genes, got \[2, 2\]"),
        (lambda: StaticTree([[0, -1]]), r"two different genes, got \[0, -1\]"),
        (lambda: StaticTree([[0, 1]], [1, 2]), r"weights must be 1 positive numbers"),
        (lambda: StaticTree([[0, 1]], [0]), r"weights must be 1 positive numbers"),
        (lambda: StaticTree([[0, 5]]).similarities(5), r"genes are 0 to 4, got an interaction with gene 5"),
    ],
)
def test_models_that_cannot_be_used_are_refused(make: Any, message: str) -> None:
    with pytest.raises(GomeaBnError, match=message):
        make()
