"""Groups of rows, such as those of one person: the rows that a search takes in place of all of them."""

from __future__ import annotations

from dataclasses import replace
from math import floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.content_order import FIXED_SEED, row_marks
from gomea_bn.data.group_columns import likeness
from gomea_bn.data.table import Table, WeightedRows
from gomea_bn.data.weights import MOST_EXTREMES, extreme_rows, refuse_too_few


def rows_to_search_in_groups(table: Table) -> Table:
    """Return the table of the rows to search in place of those of a table with groups; other tables as they are.

    Every row that is searched counts as an observation of its own. Of a group as many rows are drawn as raise the
    variance of the association of two columns by at most a tenth over that of independent rows: one, or 1 + .1 / r,
    where r is the product of the two largest intraclass correlations of columns, since m rows of a group raise it by
    (m - 1) r (the design effect: Scott & Holt, "The effect of two-stage sampling on ordinary least squares methods",
    1982). Rows that hold the ends of columns are drawn first. `all_rows` of the table then has every row, all with the
    same weight, which sum to the number of rows searched.

    Raises
    ------
    GomeaBnError
        If fewer than ten rows are left, or a single value of a column.
    """
    groups = table.groups
    if groups is None or groups.n_given is not None:
        return table
    known_groups = groups._replace(n_given=table.n_rows)
    known = replace(table, weighted=True, groups=known_groups)
    codes = np.unique(groups.codes, return_inverse=True)[1]
    n_each = _rows_of_group(table, codes)
    if n_each is None or n_each >= np.bincount(codes).max():
        return known
    # draws must not depend on where rows stand, nor on the names of groups
    marks = row_marks([column.values for column in table.columns])
    of_groups = np.zeros(codes.max() + 1, np.uint64)
    np.add.at(of_groups, codes, marks)
    order = np.lexsort((marks, codes, of_groups[codes]))
    ordered, codes = table.take(order), codes[order]
    draws = np.random.default_rng(FIXED_SEED).random(table.n_rows)
    extremes = extreme_rows(ordered)
    draws[extremes] -= 1
    drawn = np.lexsort((draws, codes))
    ranks = np.empty(table.n_rows, np.int64)
    starts = np.flatnonzero(np.diff(codes[drawn], prepend=-1))
    ranks[drawn] = np.arange(table.n_rows) - np.repeat(starts, np.diff(starts, append=table.n_rows))
    is_taken = ranks < n_each
    if len(extremes) <= MOST_EXTREMES * is_taken.sum():
        is_taken[extremes] = True
    searched = known.take(np.sort(order[is_taken]))
    weights = np.full(table.n_rows, searched.n_rows / table.n_rows)
    shares = np.minimum(n_each / np.bincount(codes), 1.0)[codes]
    searched = replace(
        searched,
        dropped_rows=table.dropped_rows,
        all_rows=WeightedRows(replace(ordered, groups=known_groups.of(order)), weights, shares),
    )
    refuse_too_few(searched, "groups", f"leave at least {{least}} rows to search, got {searched.n_rows}.")
    return searched


def record_of_groups(table: Table) -> dict[str, Any]:
    """Return the column, and the numbers of groups, of all rows and of those searched, of a table with groups."""
    assert table.groups is not None
    return {
        "column": table.groups.column,
        "groups": len(np.unique(table.groups.codes)),
        "rows": table.n_rows if table.groups.n_given is None else table.groups.n_given,
        "searched": table.n_rows,
    }


def _rows_of_group(table: Table, codes: NDArray[np.int64]) -> int | None:
    """Return how many rows of a group count as independent ones, None for all."""
    correlations = sorted(
        likeness(column.observed, codes[~column.is_missing])[0]
        for column in table.columns
        if len(column.observed) and not column.is_constant
    )
    # a column alone is compared with itself
    product = float(np.prod([*correlations[-1:], *correlations][-2:]))
    # by how much the rows of a group that are searched may raise the variance of a product of two columns
    return None if product <= 0 else 1 + floor(0.1 / product)
