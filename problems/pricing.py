"""Pricing: the exact best cuts of one variable for a given network, which then enter the policy libraries.

The search is column generation with GOMEA as the master problem: a dynamic programme prices a variable for a good
network, the cuts it finds become a value of that variable's gene, and mixing spreads them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.family_scorer import FamilyScorer
from gomea_bn.problems.interval_dp import Child, Coded, CutLimits, CutProblem, IntervalScore, SortedColumn
from gomea_bn.problems.knowledge import EdgeRules
from gomea_bn.problems.structure import StructureProblem

__all__ = ["CutPricer", "PricedStructureProblem", "library_capacity"]

_CAPACITY = 64
_LIBRARY_BYTES = 1 << 28
_LEAST_CAPACITY = 24
_MOST_KNOWN = 1 << 16
_LEAST_GAIN = 1e-10  # of the score's size: smaller gains are rounding, and would keep a sweep from ending


def library_capacity(n_columns: int, n_rows: int) -> int:
    """Return how many policies of each of some columns of codes fit into a quarter of a gigabyte, from 24 to 64."""
    return max(_LEAST_CAPACITY, min(_CAPACITY, _LIBRARY_BYTES // max(n_columns * n_rows, 1)))


class PricedStructureProblem(StructureProblem):
    """Structure and bins of a network, where GOMEA may ask for the best cuts of a solution's variables.

    Parameters
    ----------
    scorer : FamilyScorer
        With room for growth, and a density score that `IntervalScore` knows.
    edge_rules : EdgeRules
    limits : CutLimits
        Of the cuts.
    n_cells : int
        Most candidate cells of one dynamic programme; zooming makes up for few of them.
    random_repair, initial_indegree
        As of `StructureProblem`.
    """

    def __init__(
        self,
        scorer: FamilyScorer,
        edge_rules: EdgeRules,
        limits: CutLimits,
        *,
        n_cells: int = 100,
        random_repair: bool = True,
        initial_indegree: float = 1.0,
    ) -> None:
        super().__init__(scorer, edge_rules, random_repair=random_repair, initial_indegree=initial_indegree)
        self.limits = limits
        self.n_cells = n_cells
        self._pricer: CutPricer | None = None

    def refiner(self, stop: NDArray[np.uint8]) -> CutPricer:
        """Return what prices the variables of solutions for a run, until `stop` is raised."""
        self._pricer = CutPricer(self, self.limits, n_cells=self.n_cells, stop=stop)
        return self._pricer

    def statistics(self) -> dict[str, int]:
        """Return the counts of `StructureProblem`, and how many variables were priced and how many known."""
        found = super().statistics()
        if self._pricer is not None:
            found["variables_priced"] = self._pricer.n_priced
            found["prices_known"] = self._pricer.n_known
            found["policies_entered"] = self._pricer.n_entered
        return found


class CutPricer:
    """Finds the best cuts of variables in the networks of a structure problem.

    Parameters
    ----------
    problem : StructureProblem
        With libraries that grow, and a density score that `IntervalScore` knows.
    limits : CutLimits
    n_cells : int
        Most candidate cells of one dynamic programme; zooming makes up for few of them.
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

    def __init__(
        self, problem: StructureProblem, limits: CutLimits, *, n_cells: int, stop: NDArray[np.uint8]
    ) -> None:
        self.problem = problem
        self.limits = limits
        self.n_cells = n_cells
        self.stop = stop
        scorer = problem.scorer
        self.score = IntervalScore(scorer.method, scorer.rule)
        self.movable = np.flatnonzero(scorer.grows).tolist()
        self._columns: dict[int, SortedColumn] = {}
        self._known: dict[tuple[int, ...], NDArray[np.float64]] = {}
        self.n_priced = 0
        self.n_known = 0
        self.n_entered = 0

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
            cuts = self._best_cuts(v, views, parents, children[v])
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
        self, v: int, views: NDArray[np.int64], parents: Sequence[Sequence[int]], children: Sequence[int]
    ) -> NDArray[np.float64] | None:
        """Return better cuts of a variable than the present ones, or None."""
        surroundings = [v, *(int(views[p]) for p in parents[v])]
        for child in children:
            surroundings += [-1, int(views[child]), *(int(views[s]) for s in parents[child] if s != v)]
        keys = self.problem.scorer.rows.child_key
        # the words that hash a view change when its place is taken by another policy; places alone would not
        signature = tuple(place if place < 0 else int(keys[place]) for place in surroundings[1:])
        known = self._known.get((v, *signature))
        present = self._cuts(v, views)
        if known is not None:
            self.n_known += 1
            return None if np.array_equal(known, present) else known
        found = self._solve(v, present, views, parents, children)
        if found is None:
            return None
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[(v, *signature)] = found
        return None if np.array_equal(found, present) else found

    def _cuts(self, v: int, views: NDArray[np.int64]) -> NDArray[np.float64]:
        scorer = self.problem.scorer
        return scorer.policy(v, int(views[v] - scorer.view_offset[v])).cut_points

    def _solve(
        self,
        v: int,
        present: NDArray[np.float64],
        views: NDArray[np.int64],
        parents: Sequence[Sequence[int]],
        children: Sequence[int],
    ) -> NDArray[np.float64] | None:
        """Return the best cuts by dynamic programming, the present ones if none are better; None if it gave up."""
        rows = self.problem.scorer.rows

        def coded(variable: int) -> Coded:
            view = int(views[variable])
            return Coded(rows.codes[view], int(rows.cardinality[view]))

        others = [Child(coded(c), tuple(coded(s) for s in parents[c] if s != v)) for c in children]
        cut_problem = CutProblem(self._column(v), [coded(p) for p in parents[v]], others, self.score)
        limits, most = self.limits, self.limits.max_bins or 1
        for family in (v, *children):
            cells = prod(int(rows.cardinality[views[o]]) for o in {family, *parents[family]} - {v})
            most = min(most, int(self.problem.rules.max_cells // cells))
        if most < 1:
            return present
        limits = CutLimits(1, most, limits.width_floor, limits.min_bin_count)
        self.n_priced += 1
        best = cut_problem.optimal(limits, n_cells=self.n_cells, incumbent=present, stop=self.stop)
        if self.stop[0]:
            return None
        if best is None:
            return present
        before = cut_problem.value(present)
        return best.cut_points if best.value > before + _LEAST_GAIN * max(1.0, abs(before)) else present

    def _column(self, v: int) -> SortedColumn:
        if v not in self._columns:
            self._columns[v] = SortedColumn(np.asarray(self.problem.scorer.variables[v].values, np.float64))
        return self._columns[v]
