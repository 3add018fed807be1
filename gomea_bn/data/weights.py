"""Weights and groups of rows, such as those of one person: the rows that a search takes in place of all of them."""

from __future__ import annotations

from dataclasses import replace
from math import floor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.data.content_order import (
    FIXED_SEED,
    MOST_CHANCE,
    chance_of_copies,
    column_order,
    row_marks,
    row_order,
)
from gomea_bn.data.files.reading import Note
from gomea_bn.data.selection import likeness
from gomea_bn.data.table import Table, WeightedRows
from gomea_bn.errors import GomeaBnError, Option, row_list, wrong_option
from gomea_bn.texts import counted

# rows of a table with weights: a few gigabytes of ten columns
_MOST_ROWS = 50_000_000
# as of tables without weights
_FEWEST_ROWS = 10
MOST_EXTREMES = 0.25
"""Share of the rows searched that may be taken for holding the ends of columns."""
# share of distinct values up to which the values of a column repeat
_MOST_DISTINCT = 0.5


def checked_weights(weights: ArrayLike, n_rows: int, name: str = "sample_weight") -> NDArray[np.float64]:
    """Return one weight per row, float64 (n_rows,).

    They must be finite numbers from 0 on, with some above 0.
    """
    try:
        given = np.asarray(weights)
        # NumPy leaves the imaginary parts out with a warning of its own
        if np.iscomplexobj(given):
            raise TypeError("complex numbers have no order")
        checked = np.array(given, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise GomeaBnError([Option(name), f" must be numbers: {error}."]) from error
    if checked.shape != (n_rows,):
        rows = counted(n_rows, "row")
        raise wrong_option(name, f"must have one weight for each of {rows}, got {checked.shape}.")
    wrong = ~(np.isfinite(checked) & (checked >= 0))
    if wrong.any() or not checked.any():
        where = f"wrong in {row_list(np.flatnonzero(wrong).tolist())}" if wrong.any() else "all are zero"
        raise GomeaBnError([Option(name), f" must be finite numbers from 0 on, some above 0; {where}."])
    return checked


def refuse_groups(table: Table) -> None:
    """Raise `GomeaBnError` for a table with groups, whose rows a user gives weights."""
    if table.groups is not None:
        raise GomeaBnError(
            [Option("sample_weight"), " and ", Option("groups"), " both decide how rows count."],
            ["leave one of them out"],
        )


def weights_of_rows(table: Table, weights: ArrayLike) -> NDArray[np.float64]:
    """Return weights of the rows of a table, float64 (n_rows,), given those of all rows of its source.

    Raises `GomeaBnError` for weights that are not finite numbers from 0 on with some above 0.
    """
    of_source = checked_weights(weights, table.n_rows + len(table.dropped_rows))
    return np.delete(of_source, list(table.dropped_rows))


def weighted_table(table: Table, weights: ArrayLike) -> Table:
    """Return the table, then `weighted`, of the rows to search in place of those of a table with weights.

    Whole weights are frequencies, others are importances and are scaled to a mean of 1. In tables of discrete columns
    or coarse values, which several rows share, rows stand as often as their frequencies say. Otherwise repeats would
    look like evidence about exact values, and no row stands twice: it is taken with a probability in proportion to its
    weight, at most 1. Their number is the one that the weights are worth, the square of their sum over the sum
    of their squares (Kish 1965), and rows that hold the ends of columns are among them. Equal importances are no
    weights. `all_rows` of the table then has every row with its weight.

    Parameters
    ----------
    table : Table
        Rows.
    weights : array-like of shape (n_rows,)
        Weight of every row of the source of the table, so that rows which were dropped have one too. Rows of weight 0
        are left out.

    Raises
    ------
    GomeaBnError
        For weights that are not finite numbers from 0 on with some above 0, and for frequencies of more than 50 million
        rows.
    """
    of_rows = weights_of_rows(table, weights)
    if not of_rows.any():
        raise GomeaBnError([Option("sample_weight"), " is 0 in all rows that have no missing value."])
    are_frequencies = bool((of_rows == np.floor(of_rows)).all())
    is_same = bool((of_rows == of_rows[0]).all())
    if is_same and (of_rows[0] == 1 or not are_frequencies):
        return table
    # weights at the largest numbers have no finite sum
    times = float((of_rows / _MOST_ROWS).sum())
    if are_frequencies and times > 1:
        in_words = (
            f"{times * _MOST_ROWS:,.0f}" if times < _MOST_ROWS else f"weights of up to {of_rows.max():.3g}"
        )
        raise GomeaBnError(
            [
                Option("sample_weight"),
                f" has whole numbers, which are frequencies and must sum to at most {_MOST_ROWS:,}, got "
                f"{in_words}.",
            ],
            ["divide them by their mean if they are importances"],
        )
    if are_frequencies and (of_rows.max() <= 1 or _values_repeat(table, of_rows)):
        repeated = np.repeat(np.arange(table.n_rows), of_rows.astype(np.int64))
        return _checked(table.take(repeated), table)
    kept = np.flatnonzero(of_rows)
    given = table.take(kept)
    # draws must not depend on where rows stand
    order = _content_order(given, of_rows[kept])
    ordered, of_rows = given.take(order), of_rows[kept][order]
    # the largest weight is 1 first, so that no square overflows
    scaled = of_rows / of_rows.max()
    if not are_frequencies:
        of_rows = scaled / scaled.mean()
    taken, shares = _drawn(ordered, scaled)
    searched = given.take(np.sort(order[taken]))
    return _checked(replace(searched, all_rows=WeightedRows(ordered, of_rows, shares)), table)


def _content_order(table: Table, weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the positions of rows in an order that does not depend on their places, int64 (n_rows,)."""
    # equal rows with different weights are not interchangeable
    by_weight = np.argsort(weights, kind="stable")
    columns = [column.values[by_weight] for column in table.columns]
    return by_weight[row_order([columns[v] for v in column_order(columns)])]


def _drawn(table: Table, scaled: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the positions of the rows to search, int64, and the probability of every row, float64 (n_rows,).

    The rows are in their content order, and the largest of their weights, (n_rows,), is 1.
    """
    worth = scaled.sum() ** 2 / (scaled @ scaled)
    extremes = extreme_rows(table)
    if len(extremes) > MOST_EXTREMES * worth:
        extremes = extremes[:0]
    shares = np.ones(len(scaled))
    others = np.setdiff1d(np.arange(len(scaled)), extremes)
    shares[others] = _shares(scaled[others], worth - len(extremes))
    # rows at equal distances along the sum of their shares; the order is a hash, so no pattern of the table meets them
    start = np.random.default_rng(FIXED_SEED).random()
    return np.flatnonzero(np.diff(np.floor(np.cumsum(shares) + start), prepend=0.0)), shares


def _checked(table: Table, given: Table) -> Table:
    """Return a table in place of a given one with weights, with a note that says so.

    Raise `GomeaBnError` if it has too few rows, or a column no longer varies.
    """
    worth = "be worth at least {least} rows, the square of their sum over the sum of their squares"
    refuse_too_few(table, "sample_weight", f"{worth}, got {table.n_rows}.")
    verb = "repeat the" if table.all_rows is None else "chose these from"
    note = Note(f"Weights {verb} {counted(given.n_rows, 'row')} given.")
    return replace(table, weighted=True, dropped_rows=given.dropped_rows, notes=(*given.notes, note))


def refuse_too_few(table: Table, option: str, wanted: str) -> None:
    """Raise `GomeaBnError` if an option leaves too few rows in a table, or a column that no longer varies.

    `wanted` says what the option must do, with the least number of rows as "{least}".
    """
    if table.n_rows < _FEWEST_ROWS:
        raise GomeaBnError([Option(option), f" must {wanted.format(least=_FEWEST_ROWS)}"])
    for column in table.columns:
        if len(column.observed) and not (column.is_continuous and column.is_constant):
            continue
        left = (
            f"one value of the continuous column {column.name!r}, {column.observed[0]:g}"
            if len(column.observed)
            else f"no value of column {column.name!r}"
        )
        raise GomeaBnError([Option(option), f" leaves {left}."], ["drop the column"])


def _values_repeat(table: Table, weights: NDArray[np.float64]) -> bool:
    """Return whether values of continuous columns stand in several rows, or chance explains most equal rows."""
    counted = table.take(np.flatnonzero(weights))
    continuous = [column.observed for column in counted.columns if column.is_continuous]
    if all(len(np.unique(values)) <= _MOST_DISTINCT * len(values) for values in continuous):
        return True
    return chance_of_copies(counted, weights[weights > 0]) > MOST_CHANCE


def extreme_rows(table: Table) -> NDArray[np.int64]:
    """Return the positions of rows that hold the ends of continuous columns, which are the ends of densities."""
    ends = [
        (int(np.nanargmin(column.values)), int(np.nanargmax(column.values)))
        for column in table.columns
        if column.is_continuous and len(column.observed)
    ]
    return np.unique(np.array(ends, np.int64))


def _shares(weights: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Return shares in proportion to weights, of which none exceeds 1, with a given sum, float64 (n_rows,)."""
    order = np.argsort(-weights, kind="stable")
    ranked = weights[order]
    rest = np.maximum(np.cumsum(ranked[::-1])[::-1], 1e-300)
    # the first rows have a share of 1; those after them what is left of the sum
    factors = (total - np.arange(len(ranked))) / rest
    n_whole = int(np.argmax(factors * ranked <= 1 + 1e-12))
    shares = np.ones(len(weights))
    shares[order[n_whole:]] = np.minimum(factors[n_whole] * ranked[n_whole:], 1.0)
    return shares


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
