"""The policy libraries of a search: first cuts, and pricing, which adds exact best cuts for the network of a solution.

First cuts are the gaps of a column's shape, and cuts that show dependence. The search is then column generation with
GOMEA as the master problem. A dynamic programme prices a variable in a good network, its cuts become a value of the
variable's gene, and mixing spreads them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.content_order import FIXED_SEED
from gomea_bn.problems.cuts.blanket import (
    CodedColumn,
    CodedFamily,
    Neighbourhood,
    ParentSets,
    coded_bins,
)
from gomea_bn.problems.cuts.cut_column import CutColumn, ScoredVariable
from gomea_bn.problems.cuts.interval_dp import CutLimits, CutProblem, IntervalScore
from gomea_bn.problems.cuts.policies import MAX_CARDINALITY, equal_frequency_cuts
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.problems.family_scorer import FamilyScorer, ScoredFamily
from gomea_bn.problems.scores import ScoringMethod, score_rule

_MOST_ROWS = 2_000
_STARTING_BINS = 5
_N_CELLS = 100
# the density on both sides of a gap is higher by this factor somewhere
_DEPTH = 1.5
# single rows in a tail look like humps
_LEAST_SIDE = 0.05

_CAPACITY = 64
_LEAST_CAPACITY = 24


def gaps_of_shape(shape: Shape) -> NDArray[np.float64]:
    """Return the minima between two humps of a shape that have a twentieth of the rows on either side."""
    heights = np.concatenate((shape.left[:1], np.minimum(shape.right[:-1], shape.left[1:]), shape.right[-1:]))
    is_minimum = (heights[1:-1] < heights[:-2]) & (heights[1:-1] <= heights[2:])
    highest_before = np.maximum.accumulate(heights)[:-2]
    highest_after = np.maximum.accumulate(heights[::-1])[::-1][2:]
    is_deep = np.minimum(highest_before, highest_after) > _DEPTH * heights[1:-1]
    gaps = shape.edges[1:-1][is_minimum & is_deep]
    below = shape.distribution(gaps)
    return np.asarray(gaps[(below >= _LEAST_SIDE) & (below <= 1 - _LEAST_SIDE)], np.float64)


def first_cuts(
    variables: Sequence[ScoredVariable],
    method: ScoringMethod,
    limits: CutLimits,
    is_late: Callable[[], bool] = lambda: False,
) -> dict[int, list[NDArray[np.float64]]]:
    """Return inner cuts of the continuous variables that have a shape and no fixed cuts, by position.

    A search that starts from quantiles sees little dependence between columns whose levels overlap. These cuts come
    from the gaps of the shape, and from three rounds in which every variable gets the best cuts for the three variables
    that depend on it most, each by itself, given the bins of the round before. At most 2,000 rows are used, to which
    the limits on rows and widths apply. A variable whose bins can only be shaped starts from quantiles instead of gaps,
    so that its cuts depend on ranks alone. `is_late` is asked before every variable whether no time is left; where none
    is from the beginning, there are cuts of the libraries alone.
    """
    free = [
        v for v, variable in enumerate(variables) if variable.has_free_cuts and variable.shape is not None
    ]
    proposed: dict[int, list[NDArray[np.float64]]] = {v: [] for v in free}
    if len(variables) < 2:
        return proposed
    if is_late():
        return {v: _few_cuts(variables[v]) for v in free}
    rows = _some_rows(len(variables[0].values))
    values = {v: np.asarray(variables[v].values, np.float64)[rows] for v in free}
    # a column may be constant in some of the rows, or have no value there
    observed = {v: of_v[~np.isnan(of_v)] for v, of_v in values.items()}
    free = [v for v in free if len(np.unique(observed[v])) > 1]
    rule = score_rule(method, len(rows), n_variables=len(variables), centred=True)
    interval_score = IntervalScore(method, rule)
    sorted_column = cache(lambda v: CutColumn.of_values(values[v]))
    cuts = {v: _starting_cuts(variables[v], observed[v], limits) for v in free}
    for v in free:
        if len(cuts[v]):
            proposed[v].append(cuts[v])
        if _may_be_uniform(variables[v]) and not is_late():
            jumps = CutProblem.of_rows(sorted_column(v), Neighbourhood(), interval_score).optimal(
                limits, n_cells=_N_CELLS
            )
            if jumps is not None and len(jumps.cut_points):
                proposed[v].append(jumps.cut_points)
    solved: dict[int, tuple[Any, ...]] = {}
    for _ in range(3):
        if is_late():
            break
        coded = [_coded(variable, rows, cuts.get(v)) for v, variable in enumerate(variables)]
        partners = _partners(coded, method, free)
        for v in free:
            if is_late():
                break
            # the same problem as in the round before has the same best cuts
            of_partners = [cuts[p].tobytes() if p in cuts else b"" for p in partners[v]]
            question = (*partners[v], *of_partners)
            if solved.get(v) == question:
                if len(cuts[v]):
                    proposed[v].append(cuts[v])
                continue
            around = Neighbourhood(families=tuple(CodedFamily(coded[p]) for p in partners[v]))
            problem = CutProblem.of_rows(sorted_column(v), around, interval_score, variables[v].shape)
            best = problem.optimal(limits, n_cells=_N_CELLS, incumbent=cuts[v])
            if best is not None and len(best.cut_points):
                cuts[v] = best.cut_points
                proposed[v].append(best.cut_points)
                solved[v] = question
    if len(rows) < len(variables[0].values):
        for v in (v for v in free if not _may_be_uniform(variables[v])):
            proposed[v] = [
                _moved_by_rank(inner, sorted_column(v), variables[v].ranks) for inner in proposed[v]
            ]
    return proposed


def _few_cuts(variable: ScoredVariable) -> list[NDArray[np.float64]]:
    """Return the cuts of the library of a variable into most bins, at most five; none for a library of one bin."""
    cuts = [p.cut_points for p in variable.policies if 1 < p.n_bins <= _STARTING_BINS]
    return cuts[-1:]


def _some_rows(n_rows: int) -> NDArray[np.int64]:
    """Return the positions of at most 2,000 rows, int64 (n,), ascending; the same ones in every run."""
    if n_rows <= _MOST_ROWS:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(FIXED_SEED).choice(n_rows, _MOST_ROWS, replace=False))


def _moved_by_rank(cuts: NDArray[np.float64], some_rows: CutColumn, column: CutColumn) -> NDArray[np.float64]:
    """Return the cuts of some rows moved to the gap of the whole column that is in the middle by rank.

    Otherwise the position of a cut would decide in which bins the rows between its two values are.
    """
    left = np.searchsorted(some_rows.greatest, cuts, side="right") - 1
    first, last = (np.searchsorted(column.greatest, some_rows.greatest[k]) for k in (left, left + 1))
    return np.asarray(column.cuts[(first + last - 1) // 2], np.float64)


def _may_be_uniform(variable: ScoredVariable) -> bool:
    return variable.shape is None or False in variable.shape.measures


def _starting_cuts(
    variable: ScoredVariable, values: NDArray[np.float64], limits: CutLimits
) -> NDArray[np.float64]:
    """Return the first of these cuts within the limits: the gaps of the shape, five or fewer bins of equal frequency.

    There are no cuts if nothing is within the limits. The gaps count only if bins may be uniform.
    """
    most = limits.max_bins or MAX_CARDINALITY
    starts = [equal_frequency_cuts(values, k) for k in range(min(_STARTING_BINS, most), 1, -1)]
    if _may_be_uniform(variable) and variable.shape is not None:
        gaps = gaps_of_shape(variable.shape.shape)
        starts.insert(0, gaps[(gaps > values.min()) & (gaps < values.max())])
    for cuts in starts:
        rows = np.bincount(coded_bins(values, cuts).codes, minlength=len(cuts) + 1)
        if 0 < len(cuts) < most and rows.min() >= limits.min_bin_count:
            return cuts
    return np.empty(0)


def _coded(
    variable: ScoredVariable, rows: NDArray[np.int64], cuts: NDArray[np.float64] | None
) -> CodedColumn:
    """Return some rows of a variable as codes, with the first policy of its library if `cuts` is None."""
    if variable.n_levels:
        codes = variable.values[rows].astype(np.int32)
        return CodedColumn(codes, variable.n_levels, bool((codes < 0).any()), is_level=True)
    if cuts is None:
        cuts = variable.policies[0].cut_points
    return coded_bins(np.asarray(variable.values, np.float64)[rows], cuts)


def _partners(
    coded: Sequence[CodedColumn], method: ScoringMethod, free: Sequence[int]
) -> dict[int, list[int]]:
    """Return up to three variables, at least one, that gain most from each of the given ones as their only parent."""
    n_rows, n = len(coded[0].codes), len(coded)
    discrete = [ScoredVariable(str(v), column.codes, column.cardinality) for v, column in enumerate(coded)]
    scorer = FamilyScorer(discrete, method, score_rule(method, n_rows, centred=True))
    alone = scorer.score([ScoredFamily((v, 0)) for v in range(n)], use_cache=False)
    # every variable has one view, which has its number
    ends, partners = 2 * np.arange(n), {}
    for v in free:
        others = np.delete(np.arange(n), v)
        views = np.column_stack([np.full(n - 1, v), others]).ravel()
        gains = scorer.score_encoded(ends, views, use_cache=False) - alone[others]
        order = np.argsort(-gains, kind="stable")[:3]
        partners[v] = [int(others[k]) for i, k in enumerate(order.tolist()) if i == 0 or gains[k] > 0]
    return partners


def library_capacity(n_columns: int, n_rows: int) -> int:
    """Return the number of policies per column, from 24 to 64, whose codes fit into a quarter of a gigabyte."""
    return max(_LEAST_CAPACITY, min(_CAPACITY, 2**28 // max(n_columns * n_rows, 1)))


@dataclass(frozen=True)
class Pricing:
    """Limits of pricing, and scores, of which every solution draws one; several give cuts of different fineness."""

    limits: CutLimits
    scores: Sequence[IntervalScore]
    n_cells: int = 100  # most cells of one dynamic programme; zooming compensates for a small number


@dataclass(eq=False)
class CodedNetwork:
    """The network of one genotype: its graph, and every variable's codes under its policy.

    By variable, `columns` are replaced when a variable gets another policy, `identities` are numbers that no other
    policy of any variable has, and `cut_points` are None for a discrete variable.
    """

    graph: ParentSets
    columns: list[CodedColumn]
    identities: list[int]
    cut_points: list[NDArray[np.float64] | None]

    def neighbourhood(self, v: int) -> Neighbourhood:
        """Return the coded Markov blanket of a variable, with its present bins."""
        return replace(self.graph.neighbourhood(v, self.columns), centre=self.columns[v])

    def relatives(self, v: int) -> set[int]:
        """Return the variables whose bins have an influence on the cuts of a variable, or may be influenced by them."""
        return self.graph.blanket(v)

    def signature(self, v: int) -> tuple[int, ...]:
        """Return numbers that are equal only for neighbourhoods of equal bins."""
        graph, identities = self.graph, self.identities
        signature = [identities[p] for p in graph.parents[v]]
        for child in graph.children[v]:
            signature += [-1, identities[child], *(identities[s] for s in graph.parents[child] if s != v)]
        return tuple(signature)


@dataclass(eq=False)
class CodedQuestion(CodedNetwork):
    """The network of one genotype, in which columns are cut for what they tell of the column `target`.

    What a column tells is the probability of the target given the other members of its family and of its children's
    families, in every one of them that the column is a member of: a sum over intervals, unlike the probability given
    the whole Markov blanket. A column of none is judged as if it were alone with the target.
    """

    target: int

    def neighbourhood(self, v: int) -> Neighbourhood:
        """Return what decides on the cuts of a column, with its present bins."""
        if v == self.target:
            return super().neighbourhood(v)
        families = tuple(
            CodedFamily(self.columns[self.target], tuple(self.columns[w] for w in others))
            for others in self._others(v)
        )
        return Neighbourhood(families=families, centre=self.columns[v])

    def relatives(self, v: int) -> set[int]:
        """Return the variables whose bins have an influence on the cuts of a variable, or may be influenced by them."""
        # a column of no family that decides is judged with the target alone
        return set(range(len(self.columns))) if v == self.target else {*super().relatives(v), self.target}

    def signature(self, v: int) -> tuple[int, ...]:
        """Return numbers that are equal only for neighbourhoods of equal bins."""
        if v == self.target:
            return super().signature(v)
        signature = [self.identities[self.target]]
        for others in self._others(v):
            signature += [-1, *(self.identities[w] for w in others)]
        return tuple(signature)

    def _others(self, v: int) -> list[list[int]]:
        """Return the other members than the target of each family that decides on it and has the column."""
        graph, target = self.graph, self.target
        families = [(*graph.parents[child], child) for child in (target, *graph.children[target])]
        return [[w for w in family if w not in (v, target)] for family in families if v in family] or [[]]
