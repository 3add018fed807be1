"""Frequency weights: numbers of times that rows count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, Option, row_list
from gomea_bn.texts import counted

# rows of a table with weights: a few gigabytes of ten columns
_MOST_ROWS = 50_000_000


def checked_weights(weights: ArrayLike, n_rows: int, name: str = "sample_weight") -> NDArray[np.float64]:
    """Return one weight per row, float64 (n_rows,).

    They must be finite numbers from 0 on, with some above 0.
    """
    try:
        checked = np.array(weights, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise GomeaBnError([Option(name), f" must be numbers: {error}."]) from error
    if checked.shape != (n_rows,):
        raise GomeaBnError(
            [
                Option(name),
                f" must have one weight for each of {counted(n_rows, 'row')}, got {checked.shape}.",
            ]
        )
    wrong = ~(np.isfinite(checked) & (checked >= 0))
    if wrong.any() or not checked.any():
        where = f"wrong in {row_list(np.flatnonzero(wrong).tolist())}" if wrong.any() else "all are 0"
        raise GomeaBnError([Option(name), f" must be finite numbers from 0 on, some above 0; {where}."])
    return checked


def repeated_rows(table: Table, weights: ArrayLike) -> Table:
    """Return the table, then `weighted`, in which every row stands as many times as its weight says.

    The weights are whole numbers, one per row of the source: rows that were dropped have one, too. Rows with 0 are left
    out. More than 50 million rows are an error.
    """
    n_source = table.n_rows + len(table.dropped_rows)
    checked = np.delete(checked_weights(weights, n_source), list(table.dropped_rows))
    fractions = checked != np.floor(checked)
    if fractions.any():
        raise GomeaBnError(
            [
                Option("sample_weight"),
                " must be whole numbers: scores and cuts count whole rows, so a search has no meaning for importance "
                f"weights such as {checked[fractions][0]:g} yet.",
            ],
            [
                "round the weights",
                "give network.update(rows, weights) any weights, which keeps graph and cuts",
            ],
        )
    if checked.sum() > _MOST_ROWS:
        raise GomeaBnError(
            [Option("sample_weight"), f" must sum to at most {_MOST_ROWS:,}, got {checked.sum():,.0f}."]
        )
    return replace(table, weighted=True).take(np.repeat(np.arange(table.n_rows), checked.astype(np.int64)))
