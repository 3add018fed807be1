"""Networks whose probability tables are counted from rows, given the graph and the bins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.data.columns import ROWS_WORTH_THREADS
from gomea_bn.network import checks
from gomea_bn.network.distributions.expected_tables import N_STEPS, CompletedRows, CompletesRows
from gomea_bn.network.distributions.smoothing import PseudoCount
from gomea_bn.network.tables import family_counts, table_of_counts, table_of_expectation
from gomea_bn.network.value_kinds import value_kinds_of
from gomea_bn.problems.cuts.policies import bin_codes
from gomea_bn.runtime.threads import in_threads

if TYPE_CHECKING:
    from gomea_bn.data.table import Table
    from gomea_bn.network.bayes_net import DiscretizedBayesNet
    from gomea_bn.problems.cuts.shape import Shape

__all__ = ["counted_network", "network_of_counts", "parts_without_tables"]

Net = TypeVar("Net", bound="DiscretizedBayesNet")


def counted_network(
    kind: type[Net],
    table: Table,
    edges: Iterable[tuple[str, str]],
    cut_points: Mapping[str, ArrayLike],
    *,
    pseudo_count: PseudoCount,
    shapes: Mapping[str, Shape] | None,
    metadata: Mapping[str, Any] | None,
) -> Net:
    """Return a network of class `kind` for `DiscretizedBayesNet.from_table`, which describes the parameters."""
    names = table.names
    edges = list(edges)
    parents, parts = parts_without_tables(
        table,
        edges,
        cut_points,
        pseudo_count=pseudo_count,
        shapes=shapes,
        metadata=metadata,
    )
    columns = {column.name: column for column in table.columns}
    cuts, levels = parts["cut_points"], parts["levels"]
    n_threads = -1 if table.n_rows > ROWS_WORTH_THREADS else 1

    def codes_of(name: str) -> NDArray[Any]:
        values = columns[name].values
        return bin_codes(values, cuts[name]) if name in cuts else values

    def counts_of(position: int) -> NDArray[np.float64]:
        return family_counts(codes, parents[position], position, cards, names[position])

    codes = in_threads(codes_of, names, n_threads=n_threads)
    cards = [len(cuts[name]) + 1 if name in cuts else len(levels[name]) for name in names]
    counts = in_threads(counts_of, range(len(names)), n_threads=n_threads)
    completed = CompletedRows(codes, parents, cards) if table.n_missing else None
    return network_of_counts(kind, names, edges, counts, parts, completed, n_threads=n_threads)


def network_of_counts(
    kind: type[Net],
    names: Sequence[str],
    edges: Sequence[tuple[str, str]],
    counts: Sequence[NDArray[np.float64]],
    parts: Mapping[str, Any],
    completed: CompletesRows | None,
    *,
    n_threads: int = 1,
) -> Net:
    """Return the network of class `kind` whose tables are counted.

    Parameters
    ----------
    names, edges
        As of `DiscretizedBayesNet`.
    counts : sequence of ndarray, float64 (card(parent_1), ..., card(child))
        Number of rows of every cell by variable, of the rows in which all members of the family have values.
    parts : mapping of str to object
        Further keywords of `DiscretizedBayesNet`; `pseudo_count` smoothes the tables. The smoothing "auto" is fitted to
        `counts`, since it leaves out whole rows.
    completed : callable, optional
        Step of expectation from the tables of these counts on; None if no value is missing.
    n_threads : int
    """
    smoothing = parts["pseudo_count"]

    def network_of(tables: Iterable[NDArray[np.float64]], of_rows: Sequence[NDArray[np.float64]]) -> Net:
        by_name = dict(zip(names, tables, strict=True))
        return kind(names, edges, tables=by_name, counts=dict(zip(names, of_rows, strict=True)), **parts)

    network = network_of(
        in_threads(lambda of_family: table_of_counts(of_family, smoothing), counts, n_threads=n_threads),
        counts,
    )
    for step in range(0 if completed is None else N_STEPS):
        assert completed is not None
        all_expected = completed(network, step)
        tables = [
            table_of_expectation(expected, available, smoothing)
            for expected, available in zip(all_expected, counts, strict=True)
        ]
        network = network_of(tables, all_expected)
    return network


def parts_without_tables(
    table: Table,
    edges: Iterable[tuple[str, str]],
    cut_points: Mapping[str, ArrayLike],
    *,
    pseudo_count: PseudoCount,
    shapes: Mapping[str, Shape] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> tuple[list[tuple[int, ...]], dict[str, Any]]:
    """Return the parents of every variable, and the keywords of a network apart from its tables.

    The parameters are those of `DiscretizedBayesNet.from_table`.
    """
    names = table.names
    columns = {column.name: column for column in table.columns}
    continuous = [name for name in names if columns[name].is_continuous]
    checks.check_keys(cut_points, continuous, names, "cut_points")
    weight = checks.check_pseudo_count(pseudo_count) or 0.0
    support = {
        name: (float(columns[name].observed.min()), float(columns[name].observed.max()))
        for name in continuous
    }
    cuts = {name: checks.check_cut_points(cut_points[name], name, support[name]) for name in continuous}
    levels = {column.name: column.levels for column in table.columns if column.levels is not None}
    return list(checks.check_edges(edges, names)), {
        "cut_points": cuts,
        "support": support,
        "levels": levels,
        "shapes": shapes,
        "pseudo_count": weight,
        "metadata": metadata,
        "value_kinds": value_kinds_of(columns),
    }
