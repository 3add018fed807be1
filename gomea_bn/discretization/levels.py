"""Groups of adjacent levels of discrete columns, and networks over all levels made from groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import Level
from gomea_bn.data.table import Column, Table
from gomea_bn.errors import GomeaBnError, nearest
from gomea_bn.network.bayes_net import DiscretizedBayesNet

LevelGroups = tuple[tuple[Level, ...], ...]
"""The groups of a column's levels, in code order."""


def grouped_columns(option: str | Iterable[str] | None, table: Table) -> tuple[int, ...]:
    """Return the positions of the discrete columns whose adjacent levels may be grouped.

    The option is that of `MDLDiscretizer.aggregate_levels`. Raises `GomeaBnError` for names of unknown or continuous
    columns, and of columns whose levels have no order.
    """
    if option is None:
        return ()
    ordered = [v for v, column in enumerate(table.columns) if _is_ordered(column)]
    if isinstance(option, str) and option == "ordered":
        return tuple(v for v in ordered if len(table.columns[v].levels or ()) > 2)
    if isinstance(option, str) or not isinstance(option, Iterable):
        raise GomeaBnError(
            f"aggregate_levels must be None, 'ordered' or a list of column names, got {option!r:.80}."
        )
    positions = set()
    for name in option:
        if name not in table.names:
            raise GomeaBnError(f"aggregate_levels: unknown column {name!r}.{nearest(str(name), table.names)}")
        v = table.names.index(name)
        if table.columns[v].is_continuous:
            raise GomeaBnError(
                f"aggregate_levels: column {name!r} is continuous, so that it gets bins; leave it out."
            )
        if v not in ordered:
            raise GomeaBnError(
                f"aggregate_levels: the levels of column {name!r} have no order. Declare it, for example by "
                f"frame[{name!r}].astype(pandas.CategoricalDtype([...], ordered=True)), or leave the column out: "
                "its levels then stay as they are."
            )
        positions.add(v)
    return tuple(sorted(positions))


def _is_ordered(column: Column) -> bool:
    if column.levels is None:
        return False
    if all(isinstance(level, (int, float)) and not isinstance(level, bool) for level in column.levels):
        return all(a < b for a, b in zip(column.levels, column.levels[1:]))  # type: ignore[operator]
    return column.ordered


def groups_between_cuts(levels: Sequence[Level], cut_points: NDArray[np.float64]) -> LevelGroups:
    """Return the groups between cuts of the codes; a level that never occurs joins the group its code falls in."""
    codes = np.searchsorted(cut_points, np.arange(len(levels), dtype=np.float64), side="left")
    return tuple(
        tuple(level for level, code in zip(levels, codes.tolist()) if code == group)
        for group in range(len(cut_points) + 1)
    )


def group_cuts(name: str, levels: Sequence[Level], groups: Sequence[Sequence[Level]]) -> NDArray[np.float64]:
    """Return the cuts of the codes that give these groups.

    Raises `GomeaBnError` if the groups, one after the other, are not the column's levels in code order.
    """
    if [level for group in groups for level in group] != list(levels) or not all(groups):
        raise GomeaBnError(
            f"level_groups of {name!r} must hold its levels {list(levels)!r} in this order, got {list(groups)!r}."
        )
    return np.cumsum([len(group) for group in groups], dtype=np.float64)[:-1] - 0.5


def network_over_levels(
    table: Table,
    edges: Iterable[tuple[str, str]],
    cut_points: Mapping[str, NDArray[np.float64]],
    groups: Mapping[str, LevelGroups],
    *,
    pseudo_count: float,
    metadata: Mapping[str, object],
) -> DiscretizedBayesNet:
    """Return the network whose tables depend on grouped columns through their groups alone, over all their levels.

    P(level | parents) = P(group | parents) P(level | group), and a child has one and the same table row for all levels
    of a parent's group, so that the network takes rows as they were before grouping. Smoothing is `pseudo_count` per
    table row of the groups, and per group for its levels.
    """
    group_of = {
        name: np.repeat(np.arange(len(own_groups)), list(map(len, own_groups)))
        for name, own_groups in groups.items()
    }
    columns = tuple(
        Column(
            c.name, group_of[c.name][c.values].astype(np.int32), tuple(range(len(groups[c.name]))), c.reason
        )
        if c.name in groups
        else c
        for c in table.columns
    )
    coarse = DiscretizedBayesNet.from_table(
        Table(columns, table.n_rows, table.dropped_rows),
        edges,
        cut_points,
        pseudo_count=pseudo_count,
        metadata=metadata,
    )
    if not groups:
        return coarse
    tables = {}
    levels = {c.name: c.levels for c in table.columns if c.levels is not None}
    for column in table.columns:
        values = coarse.tables[column.name]
        for axis, name in enumerate((*coarse.parents(column.name), column.name)):
            if name in groups:
                values = np.take(values, group_of[name], axis=axis)
        if column.name in groups:
            values = values * _within_groups(column, group_of[column.name], pseudo_count)
        tables[column.name] = values
    return DiscretizedBayesNet(
        table.names,
        coarse.edges,
        cut_points=coarse.cut_points,
        support=coarse.support,
        levels=levels,
        tables=tables,
        pseudo_count=pseudo_count,
        metadata=metadata,
    )


def _within_groups(column: Column, group: NDArray[np.int64], pseudo_count: float) -> NDArray[np.float64]:
    """Return P(level | its group), shape (n_levels,)."""
    sizes = np.bincount(group)[group]
    counts = np.bincount(column.values, minlength=len(group)) + pseudo_count / sizes
    totals = np.bincount(group, counts)[group]
    return np.where(totals > 0, counts / np.where(totals > 0, totals, 1.0), 1.0 / sizes)
