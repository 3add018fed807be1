"""All directed acyclic graphs over a few variables, ranked by their scores under given bins."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations, product
from math import prod

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.family_scorer import ScoredFamily
from gomea_bn.problems.structure import StructureProblem


@lru_cache(maxsize=8)
def acyclic_graphs(n: int) -> NDArray[np.int64]:
    """Return all directed acyclic graphs over n variables as sets of parents, bits, int64 (n_graphs, n)."""
    sets = [[s for s in range(1 << n) if not s >> v & 1] for v in range(n)]
    graphs = np.array(list(product(*sets)), np.int64).reshape(-1, n)
    left = np.full(len(graphs), (1 << n) - 1)
    for _ in range(n):
        for v in range(n):
            # a variable whose parents have all left leaves too
            left = np.where(graphs[:, v] & left, left, left & ~(1 << v))
    return np.asarray(graphs[left == 0], np.int64)


class SmallGraphs:
    """The graphs of a problem with few variables that its rules and candidate pairs allow."""

    def __init__(self, problem: StructureProblem) -> None:
        self._problem = problem
        rules, n = problem.edge_rules, problem.n_nodes
        graphs = acyclic_graphs(n)
        allowed = np.ones(len(graphs), np.bool_)
        for i, j in combinations(range(n), 2):
            kinds = (graphs[:, j] >> i & 1) + 2 * (graphs[:, i] >> j & 1)
            allowed &= rules.allowed[i, j][kinds]
            if problem.pairs is not None and not problem.pairs[i, j]:
                allowed &= kinds == 0
        sizes = np.sum([graphs >> v & 1 for v in range(n)], axis=0)
        self._graphs = graphs[allowed & (sizes <= rules.max_indegree).all(axis=1)]

    def best(self, policies: Sequence[int], n_best: int) -> tuple[list[list[tuple[int, int]]], int]:
        """Return the edges (parent, child) of the best graphs under a policy per variable, and the number of families.

        The families of all graphs are scored; tables of more cells than allowed leave theirs out.
        """
        problem, n = self._problem, len(policies)
        offsets, rows = problem.scorer.view_offset, problem.scorer.rows
        cardinality = [int(rows.cardinality[offsets[v] + k]) for v, k in enumerate(policies)]
        members: list[tuple[int, int]] = []
        families: list[ScoredFamily] = []
        for v in range(n):
            for s in np.unique(self._graphs[:, v]).tolist():
                parents = [p for p in range(n) if s >> p & 1]
                if prod(float(cardinality[k]) for k in (v, *parents)) <= problem.max_table_cells:
                    members.append((v, s))
                    families.append(ScoredFamily((v, policies[v]), tuple((p, policies[p]) for p in parents)))
        scores = np.full((n, 1 << n), -np.inf)
        if families:
            scores[tuple(np.array(members).T)] = problem.scorer.score(families)
        totals = scores[np.arange(n), self._graphs].sum(axis=1)
        ranked = np.argsort(-totals, kind="stable")[:n_best]
        edges = [
            [(p, v) for v in range(n) for p in range(n) if self._graphs[graph, v] >> p & 1]
            for graph in ranked.tolist()
            if totals[graph] > -np.inf
        ]
        return edges, len(families)
