"""Networks whose probability tables are counted from rows, given the graph and the bins.

With missing values, steps of expectation and maximisation follow.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.data.columns import ROWS_WORTH_THREADS
from gomea_bn.data.content_order import FIXED_SEED, row_order
from gomea_bn.data.sources import source_frame
from gomea_bn.data.table import Table, read_table
from gomea_bn.errors import GomeaBnError
from gomea_bn.lazy import pd
from gomea_bn.network.parts import (
    check_cut_points,
    check_edges,
    check_keys,
    check_pseudo_count,
    value_kinds_of,
)
from gomea_bn.network.recorded import NetworkLike
from gomea_bn.network.tables import PseudoCount, family_counts, smoothing_of, table_of_counts
from gomea_bn.problems.cuts.policies import bin_codes
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.runtime.threads import in_threads

Net = TypeVar("Net", bound=NetworkLike)

N_STEPS = 5
"""Number of steps of expectation and maximisation."""
N_COMPLETIONS = 10
"""Number of completions of every incomplete row and step."""

CompletesRows: TypeAlias = Callable[[NetworkLike, int], Sequence[NDArray[np.float64]] | None]
"""A step: draws every incomplete row some times from a network given its observed values, and counts the rows.

It takes the network and the number of the step, and returns the expected counts by variable, float64 (card(parent_1),
..., card(child)), or None for no further step. Rows that are impossible under the network do not count. Repeated, with
tables made from the counts, it is a Monte Carlo form of the EM algorithm (Wei and Tanner 1990).
"""


def rows_to_count(
    rows: Table | pd.DataFrame | str | os.PathLike[str], cut_points: Mapping[str, ArrayLike]
) -> Table:
    """Return a table as it is, or the table of a frame or file whose columns with cut points are continuous."""
    if isinstance(rows, Table):
        return rows
    if not isinstance(cut_points, Mapping):
        raise GomeaBnError(f"cut_points must map variable names to values, got {type(cut_points).__name__}.")
    frame = source_frame(rows)
    names = list(map(str, frame.columns))
    kinds = {name: "continuous" if name in cut_points else "discrete" for name in names}
    return read_table(frame, kinds=kinds, min_rows=1)


def completes_rows(
    codes: Sequence[NDArray[np.int32]], parents: Sequence[tuple[int, ...]], cards: Sequence[int]
) -> CompletesRows:
    """Return the step over rows in memory: bins or levels by variable (n_rows,), -1 where missing."""
    observed = np.column_stack(codes)
    is_complete = (observed >= 0).all(axis=1)
    complete, incomplete = observed[is_complete], observed[~is_complete]
    # draws of a row must not depend on where it stands
    incomplete = incomplete[row_order(list(incomplete.T))]
    weights = np.concatenate(
        (np.ones(len(complete)), np.full(len(incomplete) * N_COMPLETIONS, 1 / N_COMPLETIONS))
    )
    generator = np.random.default_rng(FIXED_SEED)

    def completed(network: NetworkLike, _step: int) -> list[NDArray[np.float64]]:
        drawn = completed_codes(network, incomplete, N_COMPLETIONS, generator)
        rows = np.concatenate((complete, drawn.reshape(-1, len(cards))))
        is_possible = rows[:, 0] >= 0
        columns, of_rows = list(np.ascontiguousarray(rows[is_possible].T)), weights[is_possible]
        return [
            family_counts(columns, parents[v], v, cards, name, of_rows)
            for v, name in enumerate(network.names)
        ]

    return completed


def completed_codes(
    network: NetworkLike, codes: NDArray[np.int32], n_draws: int, generator: np.random.Generator
) -> NDArray[np.int32]:
    """Return draws of all variables given the observed codes, int32 (n_rows, n_draws, n_variables).

    `codes` (n_rows, n_variables) are -1 where missing. Draws are -1 in rows that are impossible under the network. They
    are exact where exact inference has room, otherwise by weighted sampling.
    """
    from gomea_bn.network.inference.engine import engine_for
    from gomea_bn.network.inference.question import Evidence

    evidence = Evidence(codes, {})
    try:
        return engine_for(network).draws(evidence, n_draws, generator)
    except GomeaBnError:
        # the graph has too many paths for exact inference
        return engine_for(network, "sampling", random_state=generator).draws(evidence, n_draws, generator)


def counted_network(
    kind: Callable[..., Net],
    table: Table,
    edges: Sequence[tuple[str, str]],
    parents: Sequence[tuple[int, ...]],
    parts: Mapping[str, Any],
) -> Net:
    """Return the network of class `kind` whose tables are counted from rows; see `network_of_counts` for the parts."""
    names = table.names
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
    # the missing value of a column without children changes no expected count
    parents_have_gaps = any(table.columns[parent].n_missing for of_child in parents for parent in of_child)
    completed = completes_rows(codes, parents, cards) if parents_have_gaps else None
    return network_of_counts(kind, names, edges, counts, parts, completed, n_threads=n_threads)


def network_of_counts(
    kind: Callable[..., Net],
    names: Sequence[str],
    edges: Sequence[tuple[str, str]],
    counts: Sequence[NDArray[np.float64]],
    parts: Mapping[str, Any],
    completed: CompletesRows | None,
    *,
    n_threads: int = 1,
) -> Net:
    """Return the network of class `kind` whose tables are counted.

    `counts` has the number of rows of every cell by variable, float64 (card(parent_1), ..., card(child)), of the rows
    in which all members of the family have values. `parts` are further keywords of `DiscretizedBayesNet`;
    `pseudo_count` smoothes the tables. The smoothing "auto" is fitted to `counts`, since it leaves out whole rows.
    `completed` is the step of expectation from the tables of these counts on; None if no value is missing.
    """
    metadata, levels = parts.get("metadata") or {}, parts["levels"]
    smoothings = [
        smoothing_of(
            parts["pseudo_count"], metadata, levels, [name, *(p for p, child in edges if child == name)]
        )
        for name in names
    ]

    def network_of(tables: Iterable[NDArray[np.float64]], of_rows: Sequence[NDArray[np.float64]]) -> Net:
        by_name = dict(zip(names, tables, strict=True))
        return kind(names, edges, tables=by_name, counts=dict(zip(names, of_rows, strict=True)), **parts)

    network = network_of(
        in_threads(
            lambda v: table_of_counts(counts[v], smoothings[v]), range(len(names)), n_threads=n_threads
        ),
        counts,
    )
    for step in range(0 if completed is None else N_STEPS):
        assert completed is not None
        all_expected = completed(network, step)
        if all_expected is None:
            break
        tables = [
            table_of_counts(expected, smoothing, available)
            for expected, smoothing, available in zip(all_expected, smoothings, counts, strict=True)
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
    check_keys(cut_points, continuous, names, "cut_points")
    weight = check_pseudo_count(pseudo_count) or 0.0
    support = {
        name: (float(columns[name].observed.min()), float(columns[name].observed.max()))
        for name in continuous
    }
    cuts = {name: check_cut_points(cut_points[name], name, support[name]) for name in continuous}
    levels = {column.name: column.levels for column in table.columns if column.levels is not None}
    return list(check_edges(edges, names)), {
        "cut_points": cuts,
        "support": support,
        "levels": levels,
        "shapes": shapes,
        "pseudo_count": weight,
        "metadata": metadata,
        "value_kinds": value_kinds_of(columns),
    }
