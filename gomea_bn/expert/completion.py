"""Completing an expert's network over the columns of a table of data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import Level, same_as_text
from gomea_bn.data.table import Column, Table
from gomea_bn.errors import GomeaBnError, Setting, nearest
from gomea_bn.expert.files import ExpertParts
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.checks import check_pseudo_count
from gomea_bn.network.smoothing import PseudoCount
from gomea_bn.problems.cuts.policies import equal_frequency_cuts
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.texts import listed

# equal-frequency bins of a column without bins from the expert: low, middle, high
_DEFAULT_BINS = 3
_WITHOUT_TABLES = "ExpertNetwork.from_edges(expert.edges, cut_points=expert.cut_points)"


def completed(
    expert: ExpertParts, table: Table, pseudo_count: PseudoCount, shapes: Mapping[str, Shape]
) -> DiscretizedBayesNet:
    """Return the network of `ExpertNetwork.fitted`; all of the expert's names are columns of the table."""
    cut_points, network = expert.cut_points, expert.network
    weight = check_pseudo_count(pseudo_count)
    if weight is None:
        raise GomeaBnError("pseudo_count must be a finite number of at least 0 or 'auto', got None.")
    table.require_complete("The expert's network")
    for column in table.columns:
        if column.name in cut_points and not column.is_continuous:
            raise GomeaBnError(
                f"The expert gives cut points of column '{column.name}', which is discrete ({column.reason}).",
                [
                    *([] if column.is_constant else [Setting("kinds", "continuous", column.name)]),
                    "leave these cut points out",
                ],
            )
    record = {
        "not_mentioned": [name for name in table.names if name not in (expert.names or ())],
        "default_bins": [
            column.name for column in table.columns if column.is_continuous and column.name not in cut_points
        ],
        "counted_tables": [name for name in table.names if network is None or name not in network.names],
    }
    if network is None:
        cuts = {column.name: _cuts(column, cut_points) for column in table.columns if column.is_continuous}
        return DiscretizedBayesNet.from_table(
            table,
            expert.edges,
            cuts,
            pseudo_count=weight,
            shapes=shapes,
            metadata={"expert_fit": record},
        )
    return _with_given_tables(table, cut_points, network, weight, shapes, record)


def _cuts(column: Column, cut_points: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    if column.name not in cut_points:
        return _default_cuts(column)
    _column_range(column, cut_points[column.name], "leave it out")
    return cut_points[column.name]


def _default_cuts(column: Column) -> NDArray[np.float64]:
    """Return the cut points of three equal-frequency bins, or of fewer if the column has too many equal values."""
    return equal_frequency_cuts(column.values, _DEFAULT_BINS)


def _column_range(column: Column, cuts: NDArray[np.float64], advice: str) -> tuple[float, float]:
    """Return the minimum and maximum of a column, or raise if a cut point of the expert lies outside."""
    low, high = float(column.values.min()), float(column.values.max())
    outside = cuts[(cuts <= low) | (cuts >= high)].tolist()
    if outside:
        raise GomeaBnError(
            f"Expert's {'cut points' if len(outside) > 1 else 'cut point'} {listed(outside)} of column '{column.name}' "
            f"must lie inside the range of its data, {low!r} to {high!r}. A bin outside it has neither rows nor a "
            f"width; {advice}, or check the units."
        )
    return low, high


def _shared_support(column: Column, support: tuple[float, float]) -> tuple[float, float]:
    """Return the expert's support of a column, or raise if all data lie outside of it."""
    low, high = float(column.values.min()), float(column.values.max())
    if support[1] <= low or support[0] >= high:
        raise GomeaBnError(
            f"The expert's bins of column '{column.name}' span {support[0]!r} to {support[1]!r}, but all its data lie "
            f"between {low!r} and {high!r}; check the units."
        )
    return support


def _with_given_tables(
    table: Table,
    cut_points: Mapping[str, NDArray[np.float64]],
    network: DiscretizedBayesNet,
    pseudo_count: PseudoCount,
    shapes: Mapping[str, Shape],
    record: dict[str, list[str]],
) -> DiscretizedBayesNet:
    """Return the expert's probability tables in the order of the columns, with counted tables of the other columns."""
    columns = {column.name: column for column in table.columns}
    parts: dict[str, dict[str, Any]] = {
        "cut_points": {},
        "support": {},
        "levels": {},
        "tables": {},
        "shapes": dict(network.shapes),
    }
    codes: dict[str, list[int]] = {}
    for name in network.names:
        column = columns[name]
        if name in cut_points:
            parts["cut_points"][name] = cut_points[name]
            parts["support"][name] = (
                _shared_support(column, network.support[name])
                if name in network.support
                else _column_range(column, cut_points[name], f"give support={{'{name}': (min, max)}}")
            )
        else:
            codes[name] = _level_codes(column, network.levels[name])
            parts["levels"][name] = column.levels
    position_of = {name: position for position, name in enumerate(table.names)}
    for name in network.names:
        parents = network.parents(name)
        order = sorted(range(len(parents)), key=lambda axis: position_of[parents[axis]])
        probabilities = network.tables[name].transpose([*order, len(parents)])
        for axis, variable in enumerate([*(parents[position] for position in order), name]):
            if variable in codes:
                probabilities = probabilities.take(codes[variable], axis=axis)
        parts["tables"][name] = probabilities
    others = tuple(column for column in table.columns if column.name not in network.names)
    if others:
        alone = Table(others, table.n_rows, table.dropped_rows)
        cuts = {column.name: _default_cuts(column) for column in others if column.is_continuous}
        counted = DiscretizedBayesNet.from_table(alone, [], cuts, pseudo_count=pseudo_count)
        for kind, part in parts.items():
            part.update(getattr(counted, kind))
    for name, shape in shapes.items():
        # an expert who gives tables and a support means bins that are uniform inside
        if name not in network.support and name in parts["support"]:
            parts["shapes"][name] = shape
    same_smoothing = not others or network.pseudo_count == pseudo_count
    return DiscretizedBayesNet(
        table.names,
        network.edges,
        conditionals=None,
        curve_edges=(),
        pseudo_count=network.pseudo_count if same_smoothing else None,
        metadata={**network.metadata, "expert_fit": record},
        **parts,
    )


def _level_codes(column: Column, expert_levels: Sequence[Level]) -> list[int]:
    """Return for each level of a column its code among the expert's levels; raise if the levels do not match."""
    name = column.name
    if column.levels is None:
        raise GomeaBnError(
            f"Column '{name}' is continuous ({column.reason}), but the expert's network gives it the states "
            f"{_shown(expert_levels)}. If these are bins, give their cut points, lowest first: "
            f"ExpertNetwork.from_bif(path, cut_points={{'{name}': [...]}}); if they are values, read the data with "
            f"kinds={{'{name}': 'discrete'}}."
        )
    by_value = {level: code for code, level in enumerate(expert_levels)}
    codes: list[int] = []
    for level in column.levels:
        same_text = [code for code, other in enumerate(expert_levels) if same_as_text(level, other)]
        code = by_value.get(level, same_text[0] if len(same_text) == 1 else -1)
        if code < 0 or code in codes:
            raise GomeaBnError(
                f"Column '{name}' has the level {level!r}, which the expert's table of '{name}' lacks; its levels are "
                f"{_shown(expert_levels)}.{nearest(str(level), map(str, expert_levels))} Rename levels in the data or "
                f"in the expert's network, or drop the expert's tables: {_WITHOUT_TABLES}."
            )
        codes.append(code)
    unmatched = [level for code, level in enumerate(expert_levels) if code not in codes]
    if unmatched:
        raise GomeaBnError(
            f"The expert's table of '{name}' has the level {_shown(unmatched)}, which column '{name}' lacks; its "
            f"levels are {_shown(column.levels)}. Declare it in the data, frame['{name}'] = "
            f"pandas.Categorical(frame['{name}'], categories=[...]), or drop the expert's tables: "
            f"{_WITHOUT_TABLES}."
        )
    return codes


def _shown(levels: Sequence[Level]) -> str:
    return listed(map(repr, levels), most=10)


def unknown_column(name: str, edges: Sequence[tuple[str, str]], columns: tuple[str, ...]) -> str:
    """Return the message for an expert's variable that is not a column of the table."""
    hint = nearest(name, columns)
    if not hint:
        hint = f" Columns are {_shown(columns)}."
    edge = next((edge for edge in edges if name in edge), None)
    statement = f"edge '{edge[0]}' -> '{edge[1]}'" if edge else f"variable '{name}'"
    return f"Expert's {statement}: unknown column '{name}'.{hint}"
