"""Scores of families with missing values as sums of tables, each counted on rows that have its members."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.cuts.blanket import CodedColumn, joint_codes
from gomea_bn.problems.kernels.available_cases import MISSING
from gomea_bn.problems.kernels.score import LEAST_GAIN

__all__ = ["FamilyTable", "TableScore", "family_tables", "is_observed", "least_gain", "observed_codes"]

TableScore = Callable[[NDArray[np.int64], float], float]
"""Function that gets counts, int64 (n_observed, r), and the number of parent configurations; returns nats."""


@dataclass(frozen=True, slots=True)
class FamilyTable:
    """A term of the score of a family: the score of the child given some parents, on some rows, times a weight.

    Attributes
    ----------
    parents : tuple of int
        Positions of the parents, ascending.
    is_counted : ndarray of shape (n_rows,), bool, or None
        Rows that count; None for all rows.
    weight : float
    """

    parents: tuple[int, ...]
    is_counted: NDArray[np.bool_] | None = None
    weight: float = 1.0


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


def family_tables(child: CodedColumn, parents: Sequence[CodedColumn], score: TableScore) -> list[FamilyTable]:
    """Return the terms whose sum is the score of a family on available cases, without costs of edges.

    Without missing values this is one term: all parents on all rows. Otherwise the parents are removed one by one, as
    `family_score` of the kernels does it, and the gain of each is the difference of two terms. Terms that cancel are
    left out.

    Parameters
    ----------
    child : CodedColumn
    parents : sequence of CodedColumn
    score : callable
        Score of counts, which decides the order of the parents.
    """
    remaining = list(range(len(parents)))
    if not (child.has_missing or any(parent.has_missing for parent in parents)):
        return [FamilyTable(tuple(remaining))]
    observed = [is_observed(column) for column in (*parents, child)]
    n_rows = len(child.codes)
    tables: list[FamilyTable] = []
    n_before = -1
    while True:
        is_complete = np.logical_and.reduce([*(observed[p] for p in remaining), observed[-1]])
        n_complete = int(is_complete.sum())
        weight = n_rows / max(n_complete, 1)
        if n_complete == n_before:
            # the same table on the same rows, with the opposite weight
            tables.pop()
        else:
            tables.append(FamilyTable(tuple(remaining), is_complete, weight))
        if not remaining:
            return tables
        some = [CodedColumn(parents[p].codes[is_complete], parents[p].cardinality) for p in remaining]
        of_child = CodedColumn(child.codes[is_complete], child.cardinality)
        del remaining[_weakest(of_child, some, score)]
        tables.append(FamilyTable(tuple(remaining), is_complete, -weight))
        n_before = n_complete


def _weakest(child: CodedColumn, parents: Sequence[CodedColumn], score: TableScore) -> int:
    """Return the position of the parent that gains least given the others, the first of equal ones."""
    whole = _score_of(child, parents, score)
    return least_gain(
        whole,
        [whole - _score_of(child, [*parents[:p], *parents[p + 1 :]], score) for p in range(len(parents))],
    )


def least_gain(whole: float, gains: Sequence[float]) -> int:
    """Return the position of the least gain of a part of the score `whole`, the first of equal ones."""
    weakest = 0
    for p, gain in enumerate(gains):
        if gain < gains[weakest] - LEAST_GAIN * max(1.0, abs(whole)):
            weakest = p
    return weakest


def _score_of(child: CodedColumn, parents: Sequence[CodedColumn], score: TableScore) -> float:
    """Return the score of a child given parents, on all rows of the given columns."""
    rows, n_numbered, n_configurations = joint_codes(parents, len(child.codes))
    cells = rows.astype(np.int64) * child.cardinality + child.codes
    counts = np.bincount(cells, minlength=n_numbered * child.cardinality)
    return score(counts.reshape(n_numbered, child.cardinality), n_configurations)
