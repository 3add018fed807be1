"""Networks as JSON: plain, versioned, exact to the last bit of every number; files of earlier versions are read."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.errors import GomeaBnError, check_choice, is_real
from gomea_bn.network.conditionals.conditionals import Conditionals
from gomea_bn.network.conditionals.family_table import counts_content
from gomea_bn.network.conditionals.kind import Stack
from gomea_bn.network.parts import ValueKind, check_edges
from gomea_bn.network.recorded import NetworkLike
from gomea_bn.network.tables import MOST_COMPUTED_CELLS
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.runtime.files import check_format, field_of, head_of, json_text, prefixed_errors, read_json
from gomea_bn.runtime.sources import __version__, source_digest


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


Net = TypeVar("Net", bound=NetworkLike)

FORMAT = "gomea-bn network"
AVERAGED_FORMAT = "gomea-bn averaged network"
"""Format of the files of averaged networks of earlier versions, which are read."""


def to_json(network: NetworkLike) -> str:
    """Return a network as JSON text.

    The field "written_by" has the version and the digest of the sources that wrote the text; reading leaves it out, so
    that networks do not differ by it. The text has one entry per variable in column order: name, kind, support and
    cut_points or levels, values if their kind is known (integer, step, ordered), shape if the variable has one,
    parents, the counts of rows of the table's cells if they are known, and table (nested lists: one level per parent in
    order, then the variable) if the network holds it. The field "conditionals" follows if the network has some: every
    set of cuts has its cut points, parents, tables and counts. Numbers are written so that reading them gives the same
    float64.
    """
    tables, head = network.stored_tables, head_content(network)
    conditionals = head.pop("conditionals", None)
    head["written_by"] = {"version": __version__, "sources": source_digest()}
    head["variables"] = [
        {**entry, **({"table": tables[entry["name"]].tolist()} if entry["name"] in tables else {})}
        for entry in variable_contents(network)
    ]
    texts = {} if conditionals is None else {"conditionals": json_text(conditionals, ["copies"])}
    return json_text(head, ["variables"], texts)


def head_content(network: NetworkLike) -> dict[str, Any]:
    """Return the JSON object of a network without its field "variables"."""
    content = {
        **head_of(FORMAT),
        "pseudo_count": network.pseudo_count,
        "metadata": network.metadata,
    }
    if network.conditionals is not None:
        content["conditionals"] = network.conditionals.to_content()
    return content


def variable_contents(network: NetworkLike) -> list[dict[str, Any]]:
    """Return the JSON objects of the variables without their field "table"."""
    cuts, support, levels, shapes = network.cut_points, network.support, network.levels, network.shapes
    kinds = network.value_kinds
    counts = {name: counts_content(of_name) for name, of_name in network.counts.items()}
    variables: list[dict[str, Any]] = []
    for name in network.names:
        entry: dict[str, Any] = {"name": name}
        if name in cuts:
            entry["kind"] = "continuous"
            entry["support"] = list(support[name])
            entry["cut_points"] = cuts[name].tolist()
            if name in shapes:
                entry["shape"] = shapes[name].to_content()
        else:
            entry["kind"] = "discrete"
            entry["levels"] = list(levels[name])
        if name in kinds:
            entry["values"] = kinds[name].to_content()
        entry["parents"] = list(network.parents(name))
        if name in counts:
            entry["counts"] = counts[name]
        variables.append(entry)
    return variables


def from_json(source: str | os.PathLike[str], kind: Callable[..., Net]) -> Net:
    """Return the network of a JSON file, or of JSON text, which begins with a brace; `kind` makes it of its parts.

    Files that cannot be read, are not such JSON or have another format version are refused, as are descriptions that
    are not a valid network.
    """
    content, where = read_json(source, "a network", (FORMAT, AVERAGED_FORMAT))
    with prefixed_errors(where):
        if content["format"] == AVERAGED_FORMAT:
            return _network_of(_of_averaged(content), kind)
        return _network_of(content, kind)


def network_from_content(content: Any, where: str, kind: Callable[..., Net]) -> Net:
    """Return the network that a JSON value describes, for example one field of another file."""
    check_format(content, where, "a network", FORMAT)
    with prefixed_errors(where):
        return _network_of(content, kind)


def _network_of(content: Mapping[str, Any], kind: Callable[..., Net]) -> Net:
    """Return the network of parsed JSON whose format is checked."""
    variables = field_of(content, "variables", list, "the network")
    names: list[str] = []
    edges: list[tuple[str, str]] = []
    curve_edges: list[tuple[str, str]] = []
    parts: dict[str, dict[str, Any]] = {
        "cut_points": {},
        "support": {},
        "levels": {},
        "tables": {},
        "counts": {},
        "shapes": {},
        "value_kinds": {},
    }
    for position, entry in enumerate(variables):
        if not isinstance(entry, dict):
            raise GomeaBnError(f"variables[{position}] must be an object, got {type(entry).__name__}.")
        name = field_of(entry, "name", str, f"variables[{position}]")
        where = f"variable '{name}'"
        if name in names:
            raise GomeaBnError(f"Duplicate variable name '{name}'.")
        names.append(name)
        sort = field_of(entry, "kind", str, where)
        check_choice(f"{where}: kind", sort, ("continuous", "discrete"))
        for key in ("support", "cut_points") if sort == "continuous" else ("levels",):
            parts[key][name] = field_of(entry, key, list, where)
        if "shape" in entry:
            with prefixed_errors(where):
                parts["shapes"][name] = Shape.from_content(entry["shape"])
        # files of earlier versions have none of these two
        if "counts" in entry:
            parts["counts"][name] = field_of(entry, "counts", list, where)
        if "values" in entry:
            with prefixed_errors(where):
                parts["value_kinds"][name] = ValueKind.from_content(entry["values"])
        parents = field_of(entry, "parents", list, where)
        edges += [(parent, name) for parent in parents]
        if "table_parents" in entry:
            of_table = field_of(entry, "table_parents", list, where)
            if not set(map(str, of_table)) <= set(map(str, parents)):
                raise GomeaBnError(
                    f"{where}: table_parents must be some of its parents, got {of_table!r:.80}."
                )
            curve_edges += [(parent, name) for parent in parents if parent not in of_table]
        table = entry.get("table")
        # the store of a front has arrays, and conditionals need no tables
        if isinstance(table, np.ndarray):
            parts["tables"][name] = table
        elif "table" in entry or "conditionals" not in content:
            parts["tables"][name] = field_of(entry, "table", list, where)
    pseudo_count = content.get("pseudo_count")
    metadata = field_of(content, "metadata", dict, "the network")
    if curve_edges:
        from gomea_bn.network.formats.json_format import with_axes

        parts["tables"] = with_axes(
            names, edges, curve_edges, parts["cut_points"], parts["levels"], parts["tables"]
        )
    conditionals = None
    if "conditionals" in content:
        conditionals = _conditionals_of(field_of(content, "conditionals", dict, "the network"))
    network = kind(
        names, edges, conditionals=conditionals, pseudo_count=pseudo_count, metadata=metadata, **parts
    )
    for entry in variables:
        if list(network.parents(entry["name"])) != entry["parents"]:
            raise GomeaBnError(f"variable '{entry['name']}': parents must be in the order of the variables.")
    return network


def _conditionals_of(content: Mapping[str, Any]) -> Conditionals:
    """Return the conditionals that a JSON object describes."""
    where = "the conditionals"
    if "copies" in content:
        from gomea_bn.network.formats.json_format import with_stacks

        content = with_stacks(content)
    stacks, scales = (field_of(content, part, dict, where) for part in ("stacks", "scales"))
    # files of earlier versions lack the other parts
    others = {"units": {}, "cut_intervals": {}, "log_losses": {}, **content}
    return Conditionals(
        {name: _stack_of(name, of_name) for name, of_name in stacks.items()},
        scales={name: Shape.from_content(shape) for name, shape in scales.items()},
        n_rows=field_of(content, "n_rows", int, where),
        cut_probabilities=field_of(content, "cut_probabilities", dict, where),
        **{part: field_of(others, part, dict, where) for part in ("units", "cut_intervals", "log_losses")},
    )


def _stack_of(name: str, content: Any) -> Stack:
    with prefixed_errors(f"stack of '{name}'"):
        from gomea_bn.network.conditionals.kinds import stack_from_content

        return stack_from_content(content)


def _of_averaged(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON of a network from that of an averaged network, as earlier versions wrote it."""
    network = dict(field_of(content, "network", dict, "the averaged network"))
    check_format(network, "network", "a network", FORMAT)
    variables = field_of(network, "variables", list, "the network")
    parents = {
        entry.get("name"): entry.get("table_parents", entry.get("parents"))
        for entry in variables
        if isinstance(entry, dict)
    }
    copies = [
        {"parents": parents, **copy} if isinstance(copy, dict) else copy
        for copy in field_of(content, "copies", list, "the averaged network")
    ]
    return {**network, "conditionals": {**content, "copies": copies}}
