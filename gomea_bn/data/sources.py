"""Tables in the forms that callers have them in: frames, arrays, files, tables read already; weights of rows."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.data.files.table_files import read_frame
from gomea_bn.data.frames import frame_of
from gomea_bn.data.table import Table, read_table
from gomea_bn.errors import (
    GomeaBnError,
    GomeaBnWarning,
    Option,
    Setting,
    check_choice,
    row_list,
    wrong_option,
)
from gomea_bn.texts import counted, listed

if TYPE_CHECKING:
    import pandas as pd

AVAILABLE = "available"
"""Treatment of missing values by which every part of a computation uses the rows that have its columns."""
MISSING_CHOICES = (AVAILABLE, "error", "drop")
"""Treatments of missing values by learners."""


def treatment_in_reading(missing: str) -> str:
    """Return how `read_table` treats missing values if a learner treats them as `missing` says."""
    return "keep" if missing == AVAILABLE else missing


def source_frame(source: Any) -> pd.DataFrame:
    """Return the rows of a table, a file, or any source of `frame_of`; a pandas frame is returned as it is."""
    if isinstance(source, Table):
        return source.to_frame()
    if isinstance(source, (str, os.PathLike)):
        return read_frame(source)
    return frame_of(source)


def source_table(source: Any, *, kinds: Mapping[str, str] | None, missing: str, max_levels: int) -> Table:
    """Return the table of any source; all sources but a `Table` are read by `read_table`.

    A `Table` must have the kinds that `kinds` names. `missing` is one of `MISSING_CHOICES`; other options are those of
    `read_table`.
    """
    check_choice("missing", missing, MISSING_CHOICES)
    if not isinstance(source, Table):
        reading = treatment_in_reading(missing)
        return read_table(source, kinds=kinds, missing=reading, max_levels=max_levels)
    check_kinds(source, kinds)
    for column in source.columns:
        if column.is_continuous and column.is_constant:
            raise GomeaBnError(
                f"Column {column.name!r} of the Table is continuous, but has one value, {column.observed[0]:g}, in all "
                f"{source.n_rows} rows.",
                ["make the Table by read_table, which makes such columns discrete", "drop the column"],
            )
    return source if missing == AVAILABLE else complete_table(source, missing, "The learner")


def check_kinds(table: Table, kinds: Mapping[str, str] | None) -> None:
    """Raise `GomeaBnError` unless the columns of a table that vary have the kinds that `kinds` names."""
    if kinds is not None and not isinstance(kinds, Mapping):
        raise GomeaBnError(f"kinds must map column names to kinds, got {type(kinds).__name__}.")
    kind_of = {str(name): kind for name, kind in (kinds or {}).items()}
    for column in table.columns:
        kind = "continuous" if column.is_continuous else "discrete"
        if kind_of.get(column.name, kind) != kind and not column.is_constant:
            raise GomeaBnError(
                f"Column {column.name!r} of the Table is {kind}, but kinds says {kind_of[column.name]!r}; read the "
                "table again with these kinds."
            )


def complete_table(table: Table, missing: str, what: str) -> Table:
    """Return a table without missing values, as `missing` says: "drop" drops incomplete rows, "error" raises.

    `what` needs the table, for the message.
    """
    if missing == "drop":
        return table.complete_rows()
    table.require_complete(what, Setting("missing", "drop"))
    return table


# rows of a table with weights: a few gigabytes of ten columns
# share of distinct values from which a column has hardly any ties
_LEAST_DISTINCT = 0.9
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
        rows = counted(n_rows, "row")
        raise wrong_option(name, f"must have one weight for each of {rows}, got {checked.shape}.")
    wrong = ~(np.isfinite(checked) & (checked >= 0))
    if wrong.any() or not checked.any():
        where = f"wrong in {row_list(np.flatnonzero(wrong).tolist())}" if wrong.any() else "all are 0"
        raise GomeaBnError([Option(name), f" must be finite numbers from 0 on, some above 0; {where}."])
    return checked


def _warn_of_ties(table: Table, weights: NDArray[np.float64]) -> None:
    """Warn of continuous columns without ties: repeats of their exact values look like evidence about the column."""
    if weights.max() <= 1:
        return
    without = [
        column.name
        for column in table.take(np.flatnonzero(weights)).columns
        if column.is_continuous and len(np.unique(column.observed)) > _LEAST_DISTINCT * len(column.observed)
    ]
    if without:
        warning = GomeaBnWarning(
            f"Weights repeat rows, but nearly every row has another value of {listed(map(repr, without), 3)}. Rows "
            "that agree in all digits look like strong evidence, so that edges and cuts may fit the weights.",
            ["give weights to tables of discrete or rounded columns", "leave them out"],
        )
        warnings.warn(warning, stacklevel=3)


def repeated_rows(table: Table, weights: ArrayLike) -> Table:
    """Return the table, then `weighted`, in which every row stands as many times as its weight says.

    The weights are whole numbers, one per row of the source: rows that were dropped have one, too. Rows with 0 are left
    out. More than 50 million rows are an error. A warning names continuous columns that have hardly any ties before.
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
        most = f"{_MOST_ROWS:,}, got {checked.sum():,.0f}."
        raise wrong_option("sample_weight", f"must sum to at most {most}")
    _warn_of_ties(table, checked)
    return replace(table, weighted=True).take(np.repeat(np.arange(table.n_rows), checked.astype(np.int64)))
