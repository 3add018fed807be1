"""Probability tables of a given graph and bins, counted from all rows of a table in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from gomea_bn.data.table import Table, read_table
from gomea_bn.errors import GomeaBnError
from gomea_bn.large.cells import MOST_BOUNDARIES, Coding
from gomea_bn.large.counts import CountPlan, View
from gomea_bn.large.opening import (
    SourceFiles,
    about_sample,
    check_complete,
    opened_counter,
    sample_frame,
    silent,
)
from gomea_bn.learning.cuts.given_cuts import shapes_of_cuts
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.distributions.smoothing import PseudoCount
from gomea_bn.network.tables import table_of_counts

__all__ = ["network_from_pieces"]


def network_from_pieces(
    source: Any,
    edges: Iterable[tuple[str, str]],
    cut_points: Mapping[str, ArrayLike],
    *,
    table_of: Callable[[pd.DataFrame], Table] = read_table,
    drops_missing: bool = False,
    pseudo_count: PseudoCount = "auto",
    shape: str = "auto",
    sample_rows: int = 200_000,
    scheduler: str | None = None,
    n_jobs: int | None = None,
    announce: Callable[[str], object] = silent,
) -> DiscretizedBayesNet:
    """Return the network of a graph and bins, with probability tables counted from all rows of a table in pieces.

    Parameters
    ----------
    source : path of a folder, pattern of file names, Dask dataframe, or sequence of DataFrame
    edges, cut_points, pseudo_count
        As of `DiscretizedBayesNet.from_table`.
    table_of : callable
        Returns the table of a sample of the rows, a DataFrame; its columns are those of the network.
    drops_missing : bool
        Whether rows with missing values are left out; otherwise they are an error.
    shape : {"auto", "uniform", "marginal"}
        Distribution inside the bins, as of `BayesNetLearner`. It is fitted to the sample.
    sample_rows, scheduler, n_jobs
        As of `BayesNetLearner`.
    announce : callable
        Receives a line on every step.

    Raises
    ------
    GomeaBnError
        For cut points or edges that do not fit the table, unreadable files, files that change meanwhile, and missing
        values.
    """
    files = SourceFiles(source)
    with opened_counter(source, scheduler, n_jobs) as counter:
        rows, n_rows, _ = sample_frame(counter, sample_rows, 0)
        announce(f"{n_rows:,} rows; shapes and levels come from {len(rows):,} of them.")
        with about_sample(len(rows), n_rows):
            table = table_of(rows)
        cuts = {name: np.asarray(values, np.float64) for name, values in cut_points.items()}
        # checks cuts and edges, and has everything but the tables of all rows
        of_sample = DiscretizedBayesNet.from_table(
            table,
            edges,
            cuts,
            pseudo_count=pseudo_count,
            shapes=shapes_of_cuts(table, {name: c.tolist() for name, c in cuts.items()}, shape),
        )
        levels = {column.name: column.levels for column in table.columns if column.levels is not None}
        _check_sizes(of_sample)
        coding = Coding(
            table.names, cuts, levels, drops_missing=drops_missing, na_values=table.reading.na_values
        )
        coded = counter.code(coding)
        if not drops_missing:
            check_complete(table, coded.n_missing)
        announce(f"All {coded.n_rows:,} rows read.")
        plan = CountPlan(_families(of_sample, table.names))
        counts = plan.tables(counter.count(plan))
    files.check_unchanged()
    return _with_counts(of_sample, counts, coded.n_rows, pseudo_count)


def _with_counts(
    network: DiscretizedBayesNet,
    counts: Sequence[NDArray[np.int64]],
    n_rows: int,
    pseudo_count: PseudoCount,
) -> DiscretizedBayesNet:
    """Return a network with tables of other counts, int64 (card(parent_1), ..., card(child)) for every variable."""
    tables = {
        name: table_of_counts(of_family.astype(np.float64), pseudo_count)
        for name, of_family in zip(network.names, counts, strict=True)
    }
    return DiscretizedBayesNet(
        network.names,
        network.edges,
        cut_points=network.cut_points,
        support=network.support,
        levels=network.levels,
        tables=tables,
        shapes=network.shapes,
        pseudo_count=pseudo_count,
        value_kinds=network.value_kinds,
        metadata={"n_rows": n_rows},
    )


def _families(network: DiscretizedBayesNet, names: Sequence[str]) -> list[list[View]]:
    """Return the families of a network as views."""
    views = {
        name: View.of_codes(v, np.arange(network.cardinality(name)), network.cardinality(name))
        for v, name in enumerate(names)
    }
    return [[*(views[parent] for parent in network.table_parents(name)), views[name]] for name in names]


def _check_sizes(network: DiscretizedBayesNet) -> None:
    """Raise for a variable with more bins or levels than a byte numbers."""
    for name in network.names:
        if network.cardinality(name) > MOST_BOUNDARIES + 1:
            raise GomeaBnError(
                f"Column {name!r} has {network.cardinality(name)} bins or levels; a table in pieces can have at most "
                f"{MOST_BOUNDARIES + 1}."
            )
