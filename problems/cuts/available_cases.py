"""Scores of families with missing values: sums of terms, each on the rows in which its members have values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.kernels import MISSING
from gomea_bn.problems.cuts.blanket import CodedColumn, joint_codes
from gomea_bn.runtime.limits import ROUNDING

TableScore = Callable[[NDArray[np.int64], float, Sequence[bool]], float]
"""Score in nats of counts, int64 (n_observed, r), a number of parent configurations, and which members are discrete.

The child is the last one of these.
"""

ScoreOfParents = Callable[[Sequence[int]], float]
"""Function that gets positions of parents; returns nats."""


@dataclass(frozen=True, slots=True)
class Term:
    """A part of the score of a family: the score of the child given some parents, on some rows, times a weight."""

    parents: tuple[int, ...]  # positions among the members of the family, ascending
    # members that have values in the rows that count, ascending; the last one is the child
    observed: tuple[int, ...]
    weight: float = 1.0


def available_terms(
    n_parents: int, n_rows: int, cases: Callable[[Sequence[int]], tuple[int, ScoreOfParents]]
) -> list[Term]:
    """Return the terms whose sum is the score of a family on available cases, without costs of edges.

    The parent that gains least, given the other parents, on the rows in which all members have values, is removed; then
    the next one, as `family_score` of the kernels does it. The gain of each is the difference of two terms, multiplied
    by the number of all rows per row that has them. Terms that cancel are left out. `cases` gets positions of parents,
    and returns the number of rows in which these and the child have values, and the score of the child given any of
    them there.
    """
    child = n_parents
    remaining = list(range(n_parents))
    terms: list[Term] = []
    n_before = -1
    while True:
        observed = (*remaining, child)
        n_complete, score = cases(remaining)
        weight = n_rows / max(n_complete, 1)
        if n_complete == n_before:
            # the same table on the same rows, with the opposite weight
            terms.pop()
        else:
            terms.append(Term(tuple(remaining), observed, weight))
        if not remaining:
            return terms
        whole = score(remaining)
        gains = [whole - score([p for p in remaining if p != left_out]) for left_out in remaining]
        del remaining[_least_gain(whole, gains)]
        terms.append(Term(tuple(remaining), observed, -weight))
        n_before = n_complete


def _least_gain(whole: float, gains: Sequence[float]) -> int:
    """Return the position of the least gain of a part of the score `whole`, the first of equal ones."""
    weakest = 0
    for p, gain in enumerate(gains):
        if gain < gains[weakest] - ROUNDING * max(1.0, abs(whole)):
            weakest = p
    return weakest


def is_observed(column: CodedColumn) -> NDArray[np.bool_]:
    """Return which values of a coded column are not missing, bool (n_rows,)."""
    if column.codes.dtype == np.uint8:
        return np.asarray(column.codes != MISSING)
    return np.asarray(column.codes >= 0)


def observed_codes(
    columns: Sequence[CodedColumn], is_counted: NDArray[np.bool_] | None, n_rows: int
) -> tuple[NDArray[np.int32], int, float]:
    """Return what `joint_codes` returns, for the rows that count; the code of all other rows is -1."""
    if is_counted is None:
        return joint_codes(columns, n_rows)
    some = [CodedColumn(column.codes[is_counted], column.cardinality) for column in columns]
    joint, n_numbered, n_configurations = joint_codes(some, int(is_counted.sum()))
    codes = np.full(n_rows, -1, np.int32)
    codes[is_counted] = joint
    return codes, n_numbered, n_configurations


def terms_of_rows(
    child: CodedColumn, parents: Sequence[CodedColumn], score: TableScore
) -> list[tuple[Term, NDArray[np.bool_] | None]]:
    """Return the `available_terms` of a family, each with the rows that count, bool (n_rows,), or None for all rows.

    Without missing values this is one term: all parents on all rows. `score` decides the order of the parents.
    """
    members = (*parents, child)
    if not any(member.has_missing for member in members):
        return [(Term(tuple(range(len(parents))), tuple(range(len(members)))), None)]
    observed = [is_observed(member) for member in members]

    def complete_rows(positions: Sequence[int]) -> NDArray[np.bool_]:
        return np.asarray(np.logical_and.reduce([observed[p] for p in positions]))

    def cases(remaining: Sequence[int]) -> tuple[int, ScoreOfParents]:
        is_complete = complete_rows((*remaining, -1))
        some = {p: replace(parents[p], codes=parents[p].codes[is_complete]) for p in remaining}
        codes = child.codes[is_complete]

        def score_given(chosen: Sequence[int]) -> float:
            rows, n_numbered, n_configurations = joint_codes([some[p] for p in chosen], len(codes))
            cells = rows.astype(np.int64) * child.cardinality + codes
            counts = np.bincount(cells, minlength=n_numbered * child.cardinality)
            table = counts.reshape(n_numbered, child.cardinality)
            levels = [some[p].is_level for p in chosen]
            return score(table, n_configurations, [*levels, child.is_level])

        return len(codes), score_given

    terms = available_terms(len(parents), len(child.codes), cases)
    return [(term, complete_rows(term.observed)) for term in terms]
