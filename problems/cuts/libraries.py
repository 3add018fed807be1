"""The policy libraries of a search: first cuts, and pricing, which adds exact best cuts for the network of a solution.

First cuts are the gaps of a column's shape, and cuts that show dependence. The search is then column generation with
GOMEA as the master problem. A dynamic programme prices a variable in a good network, its cuts become a value of the
variable's gene, and mixing spreads them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.content_order import FIXED_SEED
from gomea_bn.problems.base import Refiner, ValuesInUse
from gomea_bn.problems.cuts.blanket import (
    CodedColumn,
    CodedFamily,
    DueColumns,
    Neighbourhood,
    ParentSets,
    coded_bins,
)
from gomea_bn.problems.cuts.cut_column import CutColumn
from gomea_bn.problems.cuts.interval_dp import CutLimits, CutProblem, IntervalScore
from gomea_bn.problems.cuts.policies import MAX_CARDINALITY, equal_frequency_cuts
from gomea_bn.problems.cuts.shape import ColumnShape, Shape
from gomea_bn.problems.family_scorer import FamilyScorer, ScoredFamily
from gomea_bn.problems.scored_variables import ScoredVariable
from gomea_bn.problems.scores import ScoringMethod, is_gain, score_rule

_MOST_ROWS = 2_000
_STARTING_BINS = 5
_N_CELLS = 100
# the density on both sides of a gap is higher by this factor somewhere
_DEPTH = 1.5
# single rows in a tail look like humps
_LEAST_SIDE = 0.05

_CAPACITY = 64
_LEAST_CAPACITY = 24
# pricing one variable takes about as long as this number of evaluations
_EVALUATIONS_PER_PRICE = 200
_FREE_ROUNDS = 5
_MOST_REMEMBERED = 1 << 16


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
            column = CutColumn.of_values(np.asarray(variables[v].values, np.float64))
            proposed[v] = [_moved_by_rank(inner, sorted_column(v), column) for inner in proposed[v]]
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


class PricedProblem(Protocol):
    """A problem whose variables' cuts can be priced."""

    @property
    def priced_variables(self) -> list[int]:
        """Continuous variables whose libraries grow."""

    @property
    def max_table_cells(self) -> float:
        """Largest number of cells of a variable's table."""

    def sorted_column(self, variable: int) -> CutColumn:
        """Return a continuous variable, sorted once."""

    def shape(self, variable: int) -> ColumnShape | None:
        """Return how a continuous variable's bins may be distributed inside; None for uniform bins only."""

    def idle_variables(self, genotype: NDArray[np.int16]) -> list[int]:
        """Return variables whose cuts no score of a genotype depends on, in increasing order."""

    def coded_network(self, genotype: NDArray[np.int16]) -> CodedNetwork:
        """Return the network of a genotype without cycles."""

    def choose_cuts(
        self,
        variable: int,
        cut_points: NDArray[np.float64],
        genotype: NDArray[np.int16],
        network: CodedNetwork,
        in_use: ValuesInUse,
    ) -> bool:
        """Give a variable of a genotype and of its network other cuts; return False if the library has no room."""


class _PricedColumn(NamedTuple):
    """What pricing found for one column: the cuts to remember, None if it gave up, and better ones than the present."""

    signature: tuple[int, ...]
    best: NDArray[np.float64] | None
    better: NDArray[np.float64] | None
    is_known: bool = False
    is_solved: bool = False


class CutPricer(Refiner):
    """Finds the best cuts of single variables in the networks of a problem.

    This is one pass over the variables of one solution, not a cycle until nothing changes: the search
    asks again for solutions that it has improved. Results are therefore remembered across solutions, by what the
    variable's Markov blanket looked like. Another thread may raise `stop` to give up.

    It counts the dynamic programmes solved (`n_priced`), the times that a variable had been priced before in the same
    neighbourhood (`n_known`), and the times that a solution got other cuts (`n_entered`).
    """

    def __init__(self, problem: PricedProblem, pricing: Pricing, stop: NDArray[np.uint8]) -> None:
        self.problem = problem
        self.pricing = pricing
        self.stop = stop
        self.movable = problem.priced_variables
        self._remembered: dict[tuple[int, ...], NDArray[np.float64]] = {}
        self.n_priced = 0
        self.n_known = 0
        self.n_entered = 0

    def affordable(self, n_eval: int) -> bool:
        """Return whether a run of `n_eval` evaluations may price further variables: a few rounds, then one in 200."""
        return self.n_priced < _FREE_ROUNDS * len(self.movable) + n_eval / _EVALUATIONS_PER_PRICE

    def state(self) -> dict[str, Any]:
        """Return the counts, and the remembered cuts with the neighbourhoods in which they are best."""
        # numbers of policies are odd, so that 0 can stand for the -1 between them
        signatures = [[0 if part < 0 else part for part in key] for key in self._remembered]
        cuts = list(self._remembered.values())
        return {
            "counts": [self.n_priced, self.n_known, self.n_entered],
            "signatures": np.array([part for key in signatures for part in key], np.uint64),
            "signature_lengths": np.array([len(key) for key in signatures], np.int64),
            "cuts": np.concatenate([np.empty(0), *cuts]),
            "cut_lengths": np.array([len(of_key) for of_key in cuts], np.int64),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take in what `state` had returned."""
        self.n_priced, self.n_known, self.n_entered = state["counts"]
        signatures, cuts = iter(state["signatures"].tolist()), np.array(state["cuts"])
        ends = np.cumsum(state["cut_lengths"]).tolist()
        self._remembered.clear()
        for n_parts, start, end in zip(state["signature_lengths"].tolist(), [0, *ends], ends):
            variable, score, *others = islice(signatures, n_parts)
            self._remembered[variable, score, *(part or -1 for part in others)] = cuts[start:end]

    def improved(
        self, genotype: NDArray[np.int16], generator: np.random.Generator, in_use: ValuesInUse
    ) -> NDArray[np.int16]:
        """Return the genotype after pricing all variables in random order, each given the cuts of those before it.

        Variables whose cuts no score depends on keep them.
        """
        idle = self.problem.idle_variables(genotype)
        movable = [v for v in self.movable if v not in idle]
        order = generator.permutation(np.array(movable, np.int64)).tolist()
        n_scores = len(self.pricing.scores)
        score = int(generator.integers(n_scores)) if n_scores > 1 else 0
        genotype = genotype.copy()
        network = self.problem.coded_network(genotype)
        # what is forgotten on the way must not have been looked up before
        is_tight = len(self._remembered) + len(order) > _MOST_REMEMBERED
        passes = DueColumns(order, (lambda _v: set(order)) if is_tight else network.relatives, 1)
        for v, of_column in passes.solved(lambda v: self._priced(v, network, score)):
            self.n_known += of_column.is_known
            self.n_priced += of_column.is_solved
            if of_column.best is not None:
                if of_column.signature not in self._remembered and len(self._remembered) >= _MOST_REMEMBERED:
                    self._remembered.clear()
                self._remembered[of_column.signature] = of_column.best
            if self.stop[0]:
                break
            if of_column.better is not None:
                self.n_entered += self.problem.choose_cuts(v, of_column.better, genotype, network, in_use)
        return genotype

    def _priced(self, v: int, network: CodedNetwork, score: int) -> _PricedColumn:
        """Return the best cuts of a variable, and whether they are better than the present ones; changes nothing."""
        signature = (v, score, *network.signature(v))
        remembered = self._remembered.get(signature)
        present = network.cut_points[v]
        assert present is not None
        if self.stop[0]:
            return _PricedColumn(signature, None, None)
        if remembered is not None and np.array_equal(remembered, present):
            return _PricedColumn(signature, remembered, None, is_known=True)
        around = network.neighbourhood(v)
        cut_problem = CutProblem.of_rows(
            self.problem.sorted_column(v), around, self.pricing.scores[score], self.problem.shape(v)
        )
        if remembered is not None:
            # a zoomed search is exact only around its incumbent, and the present cuts may be from a better one
            if not _is_better(cut_problem, remembered, present):
                return _PricedColumn(signature, present, None, is_known=True)
            return _PricedColumn(signature, remembered, remembered, is_known=True)
        most_bins = min(
            self.pricing.limits.max_bins or MAX_CARDINALITY, around.most_bins(self.problem.max_table_cells)
        )
        if most_bins < self.pricing.limits.min_bins:
            return _PricedColumn(signature, present, None)
        best = self._solve(present, cut_problem, most_bins)
        is_other = best is not None and not np.array_equal(best, present)
        return _PricedColumn(signature, best, best if is_other else None, is_solved=True)

    def _solve(
        self, present: NDArray[np.float64], cut_problem: CutProblem, most_bins: int
    ) -> NDArray[np.float64] | None:
        """Return the best cuts by dynamic programming, the present ones if none are better; None if it gave up."""
        limits = self.pricing.limits
        # the time of a dynamic programme grows with the number of bins: many are tried only where they may pay
        few_bins = min(most_bins, 15)
        steps = sorted({few_bins, most_bins}) if len(present) < few_bins else [most_bins]
        for n_bins in steps:
            allowed = replace(limits, max_bins=n_bins)
            best = cut_problem.optimal(
                allowed, n_cells=self.pricing.n_cells, incumbent=present, stop=self.stop
            )
            if best is not None and len(best.cut_points) + 1 < n_bins:
                break
        if self.stop[0]:
            return None
        if best is None or not _is_better(cut_problem, best.cut_points, present):
            return present
        return best.cut_points


def _is_better(cut_problem: CutProblem, cuts: NDArray[np.float64], present: NDArray[np.float64]) -> bool:
    """Return whether cuts score more than the present ones, by more than rounding."""
    before = cut_problem.value(present)
    return is_gain(cut_problem.value(cuts) - before, before)
