"""First cuts for the policy libraries of a search: the gaps of a column's shape, and cuts that show dependence."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.cuts.blanket import CodedColumn, CodedFamily, Neighbourhood, coded_bins
from gomea_bn.problems.cuts.interval_counts import SortedColumn, SortedColumns
from gomea_bn.problems.cuts.interval_dp import CutLimits, CutProblem, IntervalScore
from gomea_bn.problems.cuts.policies import MAX_CARDINALITY, equal_frequency_cuts
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.problems.scoring.family_scorer import Family, FamilyScorer
from gomea_bn.problems.scoring.scored_columns import ScoredVariable
from gomea_bn.problems.scoring.scores import ScoringMethod, score_rule

_MOST_ROWS = 2_000
_ROW_SEED = 20240219
_N_ROUNDS = 3
_N_PARTNERS = 3
_STARTING_BINS = 5
_N_CELLS = 100
# the density on both sides of a gap is higher by this factor somewhere
_DEPTH = 1.5
# single rows in a tail look like humps
_LEAST_SIDE = 0.05


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
    rule = score_rule(method, len(rows), n_variables=len(variables))
    interval_score = IntervalScore(method, rule)
    columns = SortedColumns(lambda v: values[v])
    cuts = {v: _starting_cuts(variables[v], observed[v], limits) for v in free}
    for v in free:
        if len(cuts[v]):
            proposed[v].append(cuts[v])
        if _may_be_uniform(variables[v]) and not is_late():
            jumps = CutProblem(columns[v], Neighbourhood(), interval_score).optimal(limits, n_cells=_N_CELLS)
            if jumps is not None and len(jumps.cut_points):
                proposed[v].append(jumps.cut_points)
    for _ in range(_N_ROUNDS):
        if is_late():
            break
        coded = [_coded(variable, rows, cuts.get(v)) for v, variable in enumerate(variables)]
        partners = _partners(coded, method, free)
        for v in free:
            if is_late():
                break
            around = Neighbourhood(families=tuple(CodedFamily(coded[p]) for p in partners[v]))
            problem = CutProblem(columns[v], around, interval_score, variables[v].shape)
            best = problem.optimal(limits, n_cells=_N_CELLS, incumbent=cuts[v])
            if best is not None and len(best.cut_points):
                cuts[v] = best.cut_points
                proposed[v].append(best.cut_points)
    if len(rows) < len(variables[0].values):
        for v in (v for v in free if not _may_be_uniform(variables[v])):
            column = SortedColumn(np.asarray(variables[v].values, np.float64))
            proposed[v] = [_moved_by_rank(inner, columns[v], column) for inner in proposed[v]]
    return proposed


def _few_cuts(variable: ScoredVariable) -> list[NDArray[np.float64]]:
    """Return the cuts of the library of a variable into most bins, at most five; none for a library of one bin."""
    cuts = [p.cut_points for p in variable.policies if 1 < p.n_bins <= _STARTING_BINS]
    return cuts[-1:]


def _some_rows(n_rows: int) -> NDArray[np.int64]:
    """Return the positions of at most 2,000 rows, int64 (n,), ascending; the same ones in every run."""
    if n_rows <= _MOST_ROWS:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(_ROW_SEED).choice(n_rows, _MOST_ROWS, replace=False))


def _moved_by_rank(
    cuts: NDArray[np.float64], some_rows: SortedColumn, column: SortedColumn
) -> NDArray[np.float64]:
    """Return the cuts of some rows moved to the gap of the whole column that is in the middle by rank.

    Otherwise the position of a cut would decide in which bins the rows between its two values are.
    """
    left = np.searchsorted(some_rows.distinct, cuts, side="right") - 1
    first, last = (np.searchsorted(column.distinct, some_rows.distinct[k]) for k in (left, left + 1))
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
        return CodedColumn(codes, variable.n_levels, bool((codes < 0).any()))
    if cuts is None:
        cuts = variable.policies[0].cut_points
    return coded_bins(np.asarray(variable.values, np.float64)[rows], cuts)


def _partners(
    coded: Sequence[CodedColumn], method: ScoringMethod, free: Sequence[int]
) -> dict[int, list[int]]:
    """Return up to three variables, at least one, that gain most from each of the given ones as their only parent."""
    n_rows, n = len(coded[0].codes), len(coded)
    discrete = [ScoredVariable(str(v), column.codes, column.cardinality) for v, column in enumerate(coded)]
    scorer = FamilyScorer(discrete, method, score_rule(method, n_rows))
    alone = scorer.score([Family((v, 0)) for v in range(n)], use_cache=False)
    partners = {}
    for v in free:
        others = [p for p in range(n) if p != v]
        scores = scorer.score([Family((p, 0), ((v, 0),)) for p in others], use_cache=False)
        gains = scores - alone[others]
        order = np.argsort(-gains, kind="stable")[:_N_PARTNERS]
        partners[v] = [others[k] for i, k in enumerate(order.tolist()) if i == 0 or gains[k] > 0]
    return partners
