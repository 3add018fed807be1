"""Pricing: the exact best cuts of one variable for a given network, which then enter the policy libraries.

The search is column generation with GOMEA as the master problem: a dynamic programme prices a variable for a good
network, the cuts it finds become a value of that variable's gene, and mixing spreads them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.interval_dp import Child, Coded, CutLimits, CutProblem, IntervalScore, SortedColumn
from gomea_bn.problems.policies import MAX_CARDINALITY

if TYPE_CHECKING:
    from gomea_bn.problems.structure import StructureProblem

__all__ = ["CutPricer", "Pricing", "library_capacity"]

_CAPACITY = 64
_LIBRARY_BYTES = 1 << 28
_LEAST_CAPACITY = 24
# pricing takes about as long as so many evaluations
_EVALUATIONS_PER_PRICE = 200
_FREE_ROUNDS = 5
_MOST_KNOWN = 1 << 16
_LEAST_GAIN = 1e-10  # of the score's size: smaller gains are rounding, and would keep a sweep from ending


def library_capacity(n_columns: int, n_rows: int) -> int:
    """Return how many policies of each of some columns of codes fit into a quarter of a gigabyte, from 24 to 64."""
    return max(_LEAST_CAPACITY, min(_CAPACITY, _LIBRARY_BYTES // max(n_columns * n_rows, 1)))


@dataclass(frozen=True)
class Pricing:
    """What a search may price, and by which scores.

    Attributes
    ----------
    limits : CutLimits
        Of the cuts.
    scores : sequence of IntervalScore
        One of them, drawn at random, holds for all variables of a solution; several give cuts of different fineness.
    n_cells : int
        Most candidate cells of one dynamic programme; zooming makes up for few of them.
    """

    limits: CutLimits
    scores: Sequence[IntervalScore]
    n_cells: int = 100


class CutPricer:
    """Finds the best cuts of variables in the networks of a structure problem.

    Parameters
    ----------
    problem : StructureProblem
        With libraries that grow.
    pricing : Pricing
    stop : ndarray of shape (1,), uint8
        Raised from elsewhere to give up.

    Attributes
    ----------
    n_priced : int
        Dynamic programmes solved.
    n_known : int
        Times when a variable had been priced before in the same surroundings.
    n_entered : int
        Times when a solution got other cuts.
    """

    def __init__(self, problem: StructureProblem, pricing: Pricing, stop: NDArray[np.uint8]) -> None:
        self.problem = problem
        self.pricing = pricing
        self.stop = stop
        self.movable = np.flatnonzero(problem.scorer.grows).tolist()
        self._columns: dict[int, SortedColumn] = {}
        self._known: dict[tuple[int, ...], NDArray[np.float64]] = {}
        self.n_priced = 0
        self.n_known = 0
        self.n_entered = 0

    def affordable(self, n_eval: int) -> bool:
        """Return whether a run of `n_eval` evaluations may price further variables: a few rounds, then one in 200."""
        return self.n_priced < _FREE_ROUNDS * len(self.movable) + n_eval / _EVALUATIONS_PER_PRICE

    def improved(
        self,
        genotype: NDArray[np.int16],
        generator: np.random.Generator,
        in_use: Callable[[int], NDArray[np.int64]],
    ) -> NDArray[np.int16]:
        """Return the genotype after pricing all variables in random order, each with the cuts that others got before.

        Parameters
        ----------
        genotype : ndarray of shape (n_genes,), int16
            Without cycles, as evaluation leaves it.
        generator : numpy.random.Generator
        in_use : callable
            As of `StructureProblem.enter_policy`; the values of the genotype itself are added.
        """
        problem = self.problem
        order = generator.permutation(self.movable).tolist()
        n_scores = len(self.pricing.scores)
        score = int(generator.integers(n_scores)) if n_scores > 1 else 0
        genotype = genotype.copy()
        parents: list[list[int]] = [[] for _ in range(problem.n_nodes)]
        for parent, child in problem.edges(genotype):
            parents[child].append(parent)
        children: list[list[int]] = [[] for _ in parents]
        for child, found in enumerate(parents):
            for parent in found:
                children[parent].append(child)
        views = problem.scorer.view_offset[:-1] + problem.policy_indices(genotype)
        for v in order:
            if self.stop[0]:
                break
            cuts = self._best_cuts(v, views, parents, children[v], score)
            if cuts is None:
                continue
            gene = int(problem.rules.bin_gene[v])
            place = problem.enter_policy(
                v, cuts, lambda gene: np.append(in_use(gene), genotype[gene]).astype(np.int64)
            )
            if place >= 0:
                self.n_entered += 1
                genotype[gene] = place
                views[v] = problem.scorer.view_offset[v] + place
        return genotype

    def _best_cuts(
        self,
        v: int,
        views: NDArray[np.int64],
        parents: Sequence[Sequence[int]],
        children: Sequence[int],
        score: int,
    ) -> NDArray[np.float64] | None:
        """Return better cuts of a variable than the present ones, or None."""
        surroundings = [int(views[p]) for p in parents[v]]
        for child in children:
            surroundings += [-1, int(views[child]), *(int(views[s]) for s in parents[child] if s != v)]
        keys = self.problem.scorer.rows.child_key
        # a view's word changes when its place is taken by another policy, which its number does not
        signature = (v, score, *(view if view < 0 else int(keys[view]) for view in surroundings))
        known = self._known.get(signature)
        present = self._cuts(v, views)
        if known is not None and np.array_equal(known, present):
            self.n_known += 1
            return None
        cut_problem = self._cut_problem(v, views, parents, children, self.pricing.scores[score])
        if known is not None:
            self.n_known += 1
            # a zoomed search is exact only around its incumbent, and the present cuts may be from a better one
            if not _is_better(cut_problem, known, present):
                self._known[signature] = present
                return None
            return known
        found = self._solve(present, cut_problem, self._most_bins(v, views, parents, children))
        if found is None:
            return None
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[signature] = found
        return None if np.array_equal(found, present) else found

    def _cuts(self, v: int, views: NDArray[np.int64]) -> NDArray[np.float64]:
        scorer = self.problem.scorer
        return scorer.policy(v, int(views[v] - scorer.view_offset[v])).cut_points

    def _cut_problem(
        self,
        v: int,
        views: NDArray[np.int64],
        parents: Sequence[Sequence[int]],
        children: Sequence[int],
        score: IntervalScore,
    ) -> CutProblem:
        rows = self.problem.scorer.rows

        def coded(variable: int) -> Coded:
            view = int(views[variable])
            return Coded(rows.codes[view], int(rows.cardinality[view]))

        others = [Child(coded(c), tuple(coded(s) for s in parents[c] if s != v)) for c in children]
        return CutProblem(self._column(v), [coded(p) for p in parents[v]], others, score)

    def _most_bins(
        self, v: int, views: NDArray[np.int64], parents: Sequence[Sequence[int]], children: Sequence[int]
    ) -> int:
        """Return how many bins of a variable the limits on bins and on its families' tables leave room for."""
        cardinality = self.problem.scorer.rows.cardinality
        most = self.pricing.limits.max_bins or MAX_CARDINALITY
        for family in (v, *children):
            cells = prod(int(cardinality[views[o]]) for o in {family, *parents[family]} - {v})
            most = min(most, int(self.problem.rules.max_cells // cells))
        return most

    def _solve(
        self, present: NDArray[np.float64], cut_problem: CutProblem, most_bins: int
    ) -> NDArray[np.float64] | None:
        """Return the best cuts by dynamic programming, the present ones if none are better; None if it gave up."""
        if most_bins < 1:
            return present
        limits = self.pricing.limits
        limits = CutLimits(1, most_bins, limits.width_floor, limits.min_bin_count)
        self.n_priced += 1
        best = cut_problem.optimal(limits, n_cells=self.pricing.n_cells, incumbent=present, stop=self.stop)
        if self.stop[0]:
            return None
        if best is None or not _is_better(cut_problem, best.cut_points, present):
            return present
        return best.cut_points

    def _column(self, v: int) -> SortedColumn:
        if v not in self._columns:
            self._columns[v] = SortedColumn(np.asarray(self.problem.scorer.variables[v].values, np.float64))
        return self._columns[v]


def _is_better(cut_problem: CutProblem, cuts: NDArray[np.float64], present: NDArray[np.float64]) -> bool:
    """Return whether cuts score more than the present ones, by more than rounding."""
    before = cut_problem.value(present)
    return cut_problem.value(cuts) > before + _LEAST_GAIN * max(1.0, abs(before))
