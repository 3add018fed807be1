"""All graphs of few variables: their number, and the best ones against brute force."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import discrete_variables, make_problem

from gomea_bn import ExpertKnowledge
from gomea_bn.problems.structure import acyclic_graphs, allowed_graphs, best_graphs


@pytest.mark.parametrize(("n", "n_graphs"), [(1, 1), (2, 3), (3, 25), (4, 543)])
def test_there_are_as_many_acyclic_graphs_as_robinson_counted(n: int, n_graphs: int) -> None:
    graphs = acyclic_graphs(n)
    assert graphs.shape == (n_graphs, n)
    assert len(np.unique(graphs, axis=0)) == n_graphs


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([{}, {"max_indegree": 1}, {"max_table_cells": 12}]))
def test_the_best_graphs_are_those_of_a_search_over_all_genotypes(seed: int, limits: dict[str, Any]) -> None:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, 40)
    columns = [first, (first + (rng.random(40) < 0.3)) % 3, rng.integers(0, 2, 40), (first > 0) * 1]
    variables = discrete_variables(columns, [3, 3, 2, 2])
    knowledge = ExpertKnowledge(required_edges=[("v2", "v3")], forbidden_edges=[("v0", "v1")], **limits)
    problem = make_problem(variables, "bdeu", knowledge=knowledge)

    scores = {}
    for genes in itertools.product((0, 1, 2), repeat=6):
        edges = problem.edges(np.array(genes, np.int16))
        if not problem.edge_rules.violations("0123", edges, [3, 3, 2, 2]) and is_acyclic(edges):
            families = problem.families(problem.genotype(edges, [0] * 4))
            scores[tuple(sorted(edges))] = float(problem.scorer.score(families).sum())
    best, _ = best_graphs(problem, allowed_graphs(problem), [0] * 4, 5)
    found = [scores[tuple(sorted(edges))] for edges in best]
    assert found == pytest.approx(sorted(scores.values(), reverse=True)[:5], abs=1e-9)


def is_acyclic(edges: list[tuple[int, int]]) -> bool:
    left = set(range(4))
    while free := {v for v in left if not any(child == v and parent in left for parent, child in edges)}:
        left -= free
    return not left
