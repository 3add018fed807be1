"""A table's columns as cells around cuts, and the scores of families and of cuts by counts of cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.cells import MOST_BOUNDARIES, View, observed_counts
from gomea_bn.problems.cuts.available_cases import ScoreOfParents, Term, available_terms
from gomea_bn.problems.cuts.cut_column import CutColumn
from gomea_bn.problems.cuts.interval_dp import CutProblem, IntervalScore
from gomea_bn.problems.cuts.shape import ColumnShape, Shape
from gomea_bn.problems.kernels.score import ScoreRule
from gomea_bn.problems.kernels.shapes import sum_log_heights
from gomea_bn.problems.scores import family_score
from gomea_bn.runtime.jit import read_only


def scaled_log_density(shape: Shape, values: NDArray[np.float64]) -> float:
    """Return the sum of the log densities of values with the range of the column scaled to 1; NaN adds nothing.

    A value that is a point mass adds the logarithm of its probability.
    """
    masses = np.log(shape.point_masses)
    edges, left, right, points = map(read_only, (shape.edges, shape.left, shape.right, shape.point_values))
    return float(sum_log_heights(read_only(values), edges, left, right, points, masses))


# boundaries that are spread over a column; the others are near its cuts
_SPREAD = 120
# sample ranks around a learned cut that become boundaries
_NEAR = (-64, -32, -16, -8, -4, -2, -1, 1, 2, 4, 8, 16, 32, 64)


def first_boundaries(sample: CutColumn, cuts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the boundaries of the first cells of a column: the cuts of a sample, near ones, and spread ones."""
    gaps = sample.gaps(cuts) if len(cuts) else np.empty(0, np.int64)
    near = (gaps[:, None] + np.array(_NEAR)).ravel()
    near = near[(near >= 0) & (near < len(sample.cuts))]
    room = max(MOST_BOUNDARIES - _SPREAD - len(cuts), 1)
    if len(near) > MOST_BOUNDARIES - _SPREAD - len(cuts):
        near = near[:: -(-len(near) // room)]
    spread = sample.grid(min(_SPREAD, len(sample.cuts) + 1))
    return _with_cuts(sample.cuts[np.setdiff1d(np.union1d(near, spread), gaps)], cuts)


def zoomed_boundaries(
    sample: CutColumn, column: CutColumn, cuts: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """Return boundaries with more of them next to the cuts, present ones; None if the cells there are fine."""
    if not len(cuts) or repeats_values(sample):
        return None
    # cells next to a cut that hold more rows are split
    rows = column.rows
    if (np.maximum(rows[cuts], rows[cuts + 1]) <= 2).all():
        return None
    edges = column.edges
    n_each = (MOST_BOUNDARIES - _SPREAD - len(cuts)) // len(cuts)
    near = np.concatenate(
        [np.linspace(edges[cut], edges[cut + 2], max(n_each, 3) + 2)[1:-1] for cut in cuts.tolist()]
    )
    spread = sample.cuts[sample.grid(min(_SPREAD, len(sample.cuts) + 1))]
    chosen = np.concatenate((near, edges[cuts], edges[cuts + 2], spread))
    inside = np.unique(chosen[(chosen > column.low) & (chosen < column.high)])
    return _with_cuts(inside, column.cuts[cuts])


def _with_cuts(boundaries: NDArray[np.float64], cuts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return at most `MOST_BOUNDARIES` boundaries, all cuts among them, ascending."""
    others = np.setdiff1d(boundaries, cuts)
    room = MOST_BOUNDARIES - len(cuts)
    if len(others) > room:
        others = others[np.linspace(0, len(others) - 1, room).round().astype(np.int64)]
    return np.union1d(others, cuts)


def repeats_values(sample: CutColumn) -> bool:
    """Return whether a column has few distinct values for its rows, so that the sample shows them all."""
    # a column with more rows than this per distinct value of the sample repeats its values
    return sample.n_rows > 2 * len(sample.greatest)


def estimated_distinct(sample: CutColumn, n_rows: int) -> float:
    """Return an estimate of the number of distinct values in all rows.

    Of the rows outside the sample, the share of values that occur once in the sample is new (Good, 1953); but no
    more values are unseen than their numbers of occurrences suggest (Chao, 1984).
    """
    counts = sample.rows
    once, twice = float((counts == 1).sum()), float((counts == 2).sum())
    new = once / sample.n_rows * (n_rows - sample.n_rows)
    return len(sample.greatest) + min(new, once * max(once - 1, 0) / (2 * (twice + 1)))


def _counts_of_term(counts: NDArray[np.int64], views: Sequence[View], term: Term) -> NDArray[np.int64]:
    """Return the counts that a term scores, int64 (card(parent), ..., card(child)); see `observed_counts`."""
    of_rows = observed_counts(counts, views, term.observed)
    others = tuple(position for position, axis in enumerate(term.observed[:-1]) if axis not in term.parents)
    return np.asarray(of_rows.sum(axis=others))


def terms_of_counts(counts: NDArray[np.int64], views: Sequence[View], rule: ScoreRule) -> list[Term]:
    """Return the `available_terms` of a family from its counts, see `observed_counts`."""
    without_edges = rule._replace(edge_cost=0.0)
    child = len(views) - 1

    def cases(remaining: Sequence[int]) -> tuple[int, ScoreOfParents]:
        complete = observed_counts(counts, views, (*remaining, child))

        def score(chosen: Sequence[int]) -> float:
            others = tuple(axis for axis, p in enumerate(remaining) if p not in chosen)
            levels = [views[p].is_level for p in (*chosen, child)]
            return family_score(complete.sum(axis=others), without_edges, levels)

        return int(complete.sum()), score

    return available_terms(child, int(counts.sum()), cases)


def available_score(counts: NDArray[np.int64], views: Sequence[View], rule: ScoreRule) -> float:
    """Return the score of a family on available cases in nats, with the cost of its edges; see `observed_counts`."""
    if not any(view.has_missing for view in views):
        return family_score(counts, rule, [view.is_level for view in views])
    total = 0.0
    for term in terms_of_counts(counts, views, rule):
        # the cost of an edge is a part of its gain
        of_term = _counts_of_term(counts, views, term)
        levels = [views[p].is_level for p in (*term.parents, len(views) - 1)]
        total += term.weight * family_score(of_term, rule, levels)
    return total


def cuts_around(
    column: CutColumn,
    present: NDArray[np.int64],
    families: Sequence[Sequence[View]],
    bins: Sequence[Sequence[View]],
    tables: Sequence[NDArray[np.int64]],
    rule: ScoreRule,
    score: IntervalScore,
    cut_cost: float,
    shape: ColumnShape | None,
) -> CutProblem:
    """Return the cuts of a column, given the counts of the families around it by its cells.

    The first family is that of the column, the others are those of its children: `families` and their `tables` with the
    cells of the column, `bins` with its present ones. The order in which parents with missing values are judged is that
    of the present cuts, indices of boundaries.
    """
    if not any(view.has_missing for family in families for view in family):
        children = [
            (1.0, table, family[-1].is_level) for family, table in zip(families[1:], tables[1:], strict=True)
        ]
        return CutProblem.of_cells(column, [(1.0, tables[0])], children, cut_cost, score, shape)
    cells = families[0][-1]
    starts = np.concatenate(([0], present + 1))
    if cells.has_missing:
        starts = np.append(starts, len(column.greatest))
    parts: list[list[tuple[float, NDArray[np.int64]]]] = []
    for family, of_bins, table in zip(families, bins, tables, strict=True):
        position = [view.column for view in family].index(cells.column)
        terms = terms_of_counts(np.add.reduceat(table, starts, axis=position), of_bins, rule)
        parts.append(
            [
                (term.weight, _counts_of_term(table, family, term))
                for term in terms
                if position in (*term.parents, len(family) - 1)
            ]
        )
    children = [
        (*part, family[-1].is_level)
        for family, of_child in zip(families[1:], parts[1:], strict=True)
        for part in of_child
    ]
    return CutProblem.of_cells(column, parts[0], children, cut_cost, score, shape)
