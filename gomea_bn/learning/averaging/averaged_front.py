"""The misfits of the networks of a front with averaged families."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, Option
from gomea_bn.front.front import Front
from gomea_bn.learning.averaging.families import N_COPIES, average_families
from gomea_bn.learning.options import seed_of
from gomea_bn.network.inference.completion import completed_table
from gomea_bn.network.rows import table_for


def averaged_misfits(
    front: Front,
    data: pd.DataFrame | Table | str | os.PathLike[str] | None = None,
    *,
    test: pd.DataFrame | None = None,
    ids: Sequence[int] | None = None,
    n_copies: int = N_COPIES,
    line: str = "auto",
    random_state: Any = 0,
    verbose: bool = False,
) -> pd.DataFrame:
    """Return the misfits of the networks of a front by their tables alone, and with averaged families.

    The front itself stays.

    Parameters
    ----------
    front : Front
        The networks.
    data : DataFrame, Table, or path of a CSV, TSV or Parquet file, optional
        Rows that the networks were learned from; by default `front.table`. Every network fills their missing cells by
        draws.
    test : DataFrame, optional
        Rows over which misfits are means; by default those of the data.
    ids : sequence of int, optional
        Positions of the networks in the front; by default all of them. A network takes up to a second or two.
    n_copies, line, random_state
        As of `average_families`.
    verbose : bool
        Whether a bar on a terminal shows how many networks are done.

    Returns
    -------
    DataFrame
        One row per network, with the index "id". Columns `misfit` and `averaged_misfit` are minus the mean log density
        per row, in nats and the units of the data. Column `line_weight` is the mean weight of lines over the continuous
        columns with continuous parents, 0 without such columns.

    Raises
    ------
    GomeaBnError
        Without rows, for ids that are not in the front, and as `average_families`.
    """
    rows = front.table if data is None else data
    if rows is None:
        raise GomeaBnError(
            ["This front has no rows; pass the table that it was learned from as ", Option("data"), "."]
        )
    from rich.console import Console
    from rich.progress import track

    numbers = range(len(front)) if ids is None else ids
    records = []
    console = Console(stderr=True)
    for number in track(
        numbers, "Averaging families", console=console, disable=not (verbose and console.is_terminal)
    ):
        network = front.network(number).of_tables()
        table = table_for(network, rows, allow_missing=True)
        # misfits before and after are those of the same complete rows
        table = completed_table(network, table, np.random.default_rng(seed_of(random_state)))
        averaged = average_families(network, table, n_copies=n_copies, line=line, random_state=random_state)
        scored = table.to_frame() if test is None else test
        known = averaged.conditionals
        weight = 0.0 if known is None else known.mean_line_weight(averaged)
        records.append((-network.score(scored), -averaged.score(scored), weight))
    columns = ["misfit", "averaged_misfit", "line_weight"]
    index = pd.Index(np.array(numbers, np.int64) % len(front), name="id")
    return pd.DataFrame(records, columns=columns, index=index)
