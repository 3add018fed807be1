"""Files of earlier versions as files of this one: edges without an axis in a table, and averaged networks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.errors import GomeaBnError, is_real
from gomea_bn.network.parts import check_edges
from gomea_bn.network.tables import MOST_COMPUTED_CELLS
from gomea_bn.runtime.files import field_of


def with_axes(
    names: Sequence[str],
    edges: Iterable[tuple[str, str]],
    curve_edges: Collection[tuple[str, str]],
    cut_points: Mapping[str, ArrayLike],
    levels: Mapping[str, Sequence[Any]],
    tables: Mapping[str, ArrayLike],
) -> dict[str, NDArray[np.float64]]:
    """Return tables with one axis per parent, repeated along the parents of edges that they left out.

    The parameters are those of `DiscretizedBayesNet`; the parents of `curve_edges` have no axis yet.
    """
    parents = check_edges(edges, tuple(names))
    left_out = check_edges(curve_edges, tuple(names))
    cards = [len(np.ravel(cut_points[n])) + 1 if n in cut_points else len(levels[n]) for n in names]
    result = {name: np.asarray(table, np.float64) for name, table in tables.items()}
    for child, name in enumerate(names):
        if not set(left_out[child]) <= set(parents[child]):
            raise GomeaBnError(f"curve_edges: '{name}' has a parent there that is not one in the network.")
        if not left_out[child]:
            continue
        shape = (*(cards[parent] for parent in parents[child]), cards[child])
        if prod(shape) > MOST_COMPUTED_CELLS:
            raise GomeaBnError(
                f"The table of '{name}' would have {prod(shape):,} cells with all parents; the limit is "
                f"{MOST_COMPUTED_CELLS:,}. Learn the network again."
            )
        kept = [cards[p] if p not in left_out[child] else 1 for p in parents[child]]
        result[name] = np.broadcast_to(result[name].reshape([*kept, cards[child]]), shape)
    return result


def with_stacks(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON of conditionals with a stack for every column from that of tables of all columns and lines."""
    where = "the conditionals"
    sets = field_of(content, "copies", list, where)
    if not sets:
        raise GomeaBnError("copies must hold at least one set of cuts, got none.")
    lines = field_of(content, "lines", dict, where)
    # the first files have none
    values = field_of({"set_values": {}, **content}, "set_values", dict, where)
    of_column: dict[str, list[dict[str, Any]]] = {}
    for k, one in enumerate(sets):
        if not isinstance(one, dict):
            raise GomeaBnError(f"copies[{k}] must be an object, got {type(one).__name__}.")
        cuts, parents, tables = (
            field_of(one, part, dict, f"copies[{k}]") for part in ("cut_points", "parents", "tables")
        )
        counts = field_of({"counts": {}, **one}, "counts", dict, f"copies[{k}]")
        for name, table in tables.items():
            of_name = parents.get(name)
            if not isinstance(of_name, list):
                raise GomeaBnError(f"copies[{k}]: parents must be lists of names.")
            entry = {
                "parents": of_name,
                "cut_points_of_parents": {parent: cuts[parent] for parent in of_name if parent in cuts},
                "table": table,
            }
            entry |= {"cut_points": cuts[name]} if name in cuts else {}
            entry |= {"counts": counts[name]} if name in counts else {}
            of_column.setdefault(name, []).append(entry)
    stacks = {}
    for name, of_name in of_column.items():
        members: list[dict[str, Any]] = [{"weight": 1.0, "kind": "table", "tables": of_name}]
        if name in lines:
            line = lines[name]
            weight: Any = line.get("weight") if isinstance(line, dict) else None
            if not is_real(weight):
                raise GomeaBnError(f"The weight of lines['{name}'] must be a number, got {weight!r:.80}.")
            members[0]["weight"] = 1.0 - weight
            members.append(line)
        stacks[name] = members
    for name, value in values.items():
        stacks[name] = [{"weight": 1.0, "kind": "fixed value", "value": value}]
    others = {key: part for key, part in content.items() if key not in ("copies", "lines", "set_values")}
    return {**others, "stacks": stacks}
