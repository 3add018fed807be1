"""Networks as JSON: plain, versioned, exact to the last bit of every number."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from gomea_bn.errors import GomeaBnError, check_choice
from gomea_bn.network.value_kinds import ValueKind
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.runtime.files.atomic_files import write_text
from gomea_bn.runtime.files.json_files import check_format, field_of, read_json
from gomea_bn.runtime.files.text_files import prefixed_errors

if TYPE_CHECKING:
    from gomea_bn.network.protocol import NetworkLike

    Net = TypeVar("Net", bound=NetworkLike)

__all__ = ["FORMAT", "FORMAT_VERSION", "from_json", "network_from_content", "to_json"]

FORMAT = "gomea-bn network"
FORMAT_VERSION = 1


def to_json(network: NetworkLike, path: str | os.PathLike[str] | None = None) -> str:
    """Return a network as JSON text, and write it to `path` if given.

    The text has one entry per variable in column order: name, kind, support and cut_points or levels, values if their
    kind is known (integer, step, ordered), parents, table_parents if the table leaves some out, table (nested lists:
    one level per parent in order, then the variable), and shape if the variable has one. Numbers are written so that
    reading them gives the same float64.
    """
    cuts, support, levels, tables = network.cut_points, network.support, network.levels, network.tables
    shapes = network.shapes
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
        if name in network.value_kinds:
            entry["values"] = network.value_kinds[name].to_content()
        entry["parents"] = list(network.parents(name))
        # most networks have none, and earlier versions can read those
        if len(of_table := network.table_parents(name)) < len(network.parents(name)):
            entry["table_parents"] = list(of_table)
        entry["table"] = tables[name].tolist()
        variables.append(entry)
    lines = [f"    {json.dumps(entry, allow_nan=False)}" for entry in variables]
    head = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "pseudo_count": network.pseudo_count,
        "metadata": network.metadata,
    }
    fields = [f"  {json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in head.items()]
    fields.append('  "variables": [\n' + ",\n".join(lines) + "\n  ]")
    text = "{\n" + ",\n".join(fields) + "\n}\n"
    if path is not None:
        write_text(path, text)
    return text


def from_json(source: str | os.PathLike[str], kind: Callable[..., Net]) -> Net:
    """Return the network of a JSON file, or of JSON text, which begins with a brace.

    Parameters
    ----------
    source : str or path
        The file or text.
    kind : type
        Class of the network, called as `DiscretizedBayesNet` is.

    Raises
    ------
    GomeaBnError
        For a file that cannot be read, is not such JSON or has another format version, and for a description that is
        not a valid network.
    """
    content, where = read_json(source, "a network", FORMAT, FORMAT_VERSION)
    with prefixed_errors(where):
        return _network_of(content, kind)


def network_from_content(content: Any, where: str, kind: Callable[..., Net]) -> Net:
    """Return the network that a JSON value describes, for example one field of another file."""
    check_format(content, where, "a network", FORMAT, FORMAT_VERSION)
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
        # files of earlier versions have none
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
        parts["tables"][name] = field_of(entry, "table", list, where)
    pseudo_count = content.get("pseudo_count")
    metadata = field_of(content, "metadata", dict, "the network")
    network = kind(
        names, edges, curve_edges=curve_edges, pseudo_count=pseudo_count, metadata=metadata, **parts
    )
    for entry in variables:
        if list(network.parents(entry["name"])) != entry["parents"]:
            raise GomeaBnError(f"variable '{entry['name']}': parents must be in the order of the variables.")
        of_table = entry.get("table_parents", entry["parents"])
        if list(network.table_parents(entry["name"])) != of_table:
            raise GomeaBnError(
                f"variable '{entry['name']}': table_parents must be in the order of the variables."
            )
    return network
