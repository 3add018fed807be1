"""Families whose members have missing values: counts with a code for missing as terms on the rows that count."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.cuts.interval_counts import GridColumn
from gomea_bn.problems.cuts.interval_dp import GridCuts, IntervalScore, ScoreOfParents, Term, available_terms
from gomea_bn.problems.kernels.score import ScoreRule
from gomea_bn.problems.rows.counter import View
from gomea_bn.problems.scoring.scores import family_score


def observed_counts(
    counts: NDArray[np.int64], views: Sequence[View], axes: Sequence[int]
) -> NDArray[np.int64]:
    """Return the counts of the rows in which the members `axes` have values; the last code stands for missing."""
    observed = tuple(
        slice(view.cardinality) if axis in axes else slice(None) for axis, view in enumerate(views)
    )
    others = tuple(axis for axis in range(counts.ndim) if axis not in axes)
    return np.asarray(counts[observed].sum(axis=others))


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
            return family_score(complete.sum(axis=others), without_edges)

        return int(complete.sum()), score

    return available_terms(child, int(counts.sum()), cases)


def available_score(counts: NDArray[np.int64], views: Sequence[View], rule: ScoreRule) -> float:
    """Return the score of a family on available cases in nats, with the cost of its edges; see `observed_counts`."""
    if not any(view.has_missing for view in views):
        return family_score(counts, rule)
    total = 0.0
    for term in terms_of_counts(counts, views, rule):
        # the cost of an edge is a part of its gain
        total += term.weight * family_score(_counts_of_term(counts, views, term), rule)
    return total


def cuts_around(
    column: GridColumn,
    present: NDArray[np.int64],
    families: Sequence[Sequence[View]],
    bins: Sequence[Sequence[View]],
    tables: Sequence[NDArray[np.int64]],
    rule: ScoreRule,
    score: IntervalScore,
) -> GridCuts:
    """Return the cuts of a column, given the counts of the families around it by its cells.

    The first family is that of the column, the others are those of its children: `families` and their `tables` with the
    cells of the column, `bins` with its present ones. The order in which parents with missing values are judged is that
    of the present cuts, indices of boundaries.
    """
    if not any(view.has_missing for family in families for view in family):
        return GridCuts(column, [(1.0, tables[0])], [(1.0, table) for table in tables[1:]], score)
    cells = families[0][-1]
    starts = np.concatenate(([0], present + 1))
    if cells.has_missing:
        starts = np.append(starts, len(column.rows))
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
    return GridCuts(column, parts[0], [part for of_child in parts[1:] for part in of_child], score)
