"""Networks as JSON: plain, versioned, exact to the last bit of every number."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from gomea_bn.errors import GomeaBnError
from gomea_bn.runtime.atomic_files import write_text

if TYPE_CHECKING:
    from gomea_bn.network.protocol import NetworkLike

    Net = TypeVar("Net", bound=NetworkLike)

__all__ = ["FORMAT", "FORMAT_VERSION", "from_json", "to_json"]

FORMAT = "gomea-bn network"
FORMAT_VERSION = 1


def to_json(network: NetworkLike, path: str | os.PathLike[str] | None = None) -> str:
    """Return a network as JSON text, and write it to `path` if given.

    One entry per variable in column order: name, kind, support and cut_points or levels, parents, table
    (nested lists: parents in order, then the variable). Numbers are written so that reading gives the same
    float64.
    """
    cuts, support, levels, tables = network.cut_points, network.support, network.levels, network.tables
    variables: list[dict[str, Any]] = []
    for name in network.names:
        entry: dict[str, Any] = {"name": name}
        if name in cuts:
            entry["kind"] = "continuous"
            entry["support"] = list(support[name])
            entry["cut_points"] = cuts[name].tolist()
        else:
            entry["kind"] = "discrete"
            entry["levels"] = list(levels[name])
        entry["parents"] = list(network.parents(name))
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
    """Return the network of a JSON file, or of JSON text: that which begins with a brace.

    Raises
    ------
    GomeaBnError
        For a file that cannot be read, is not such JSON, has another format version, or describes no valid
        network.
    """
    if not isinstance(source, (str, os.PathLike)):
        raise GomeaBnError(f"A network is read from a path or JSON text, got {type(source).__name__}.")
    if isinstance(source, str) and source.lstrip()[:1] == "{":
        text, where = source, "JSON text"
    else:
        text, where = _read(source), f"File '{os.fspath(source)}'"
    try:
        content = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise GomeaBnError(f"{where} is not JSON: {error}.") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        got = repr(content.get("format")) if isinstance(content, dict) else type(content).__name__
        raise GomeaBnError(f'{where} is not a network: wanted "format": {FORMAT!r}, got {got:.80}.')
    version = content.get("format_version")
    if version != FORMAT_VERSION or isinstance(version, bool):
        raise GomeaBnError(
            f"{where} has format_version {version!r:.40}; this release reads {FORMAT_VERSION}. "
            "A newer file needs a newer gomea-bn."
        )
    try:
        return _build(content, kind)
    except GomeaBnError as error:
        raise GomeaBnError(f"{where}: {error}") from error


def _read(source: str | os.PathLike[str]) -> str:
    try:
        with open(source, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError as error:
        raise GomeaBnError(f"File '{os.fspath(source)!s:.200}' does not exist.") from error
    except UnicodeDecodeError as error:
        raise GomeaBnError(f"File '{os.fspath(source)}' is not UTF-8 text: {error}.") from error
    except OSError as error:
        raise GomeaBnError(f"File '{os.fspath(source)!s:.200}' cannot be read: {error.strerror}.") from error
    except (TypeError, ValueError) as error:
        raise GomeaBnError(f"A network comes from a path or JSON text, got {source!r:.80}.") from error


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _build(content: Mapping[str, Any], kind: Callable[..., Net]) -> Net:
    """Return the network of parsed JSON."""
    variables = _field(content, "variables", list, "the network")
    names: list[str] = []
    edges: list[tuple[str, str]] = []
    parts: dict[str, dict[str, Any]] = {"cut_points": {}, "support": {}, "levels": {}, "tables": {}}
    for place, entry in enumerate(variables):
        if not isinstance(entry, dict):
            raise GomeaBnError(f"variables[{place}] must be an object, got {type(entry).__name__}.")
        name = _field(entry, "name", str, f"variables[{place}]")
        where = f"variable '{name}'"
        if name in names:
            raise GomeaBnError(f"Variable name '{name}' occurs more than once.")
        names.append(name)
        if (sort := _field(entry, "kind", str, where)) not in ("continuous", "discrete"):
            raise GomeaBnError(f"{where}: kind must be 'continuous' or 'discrete', got {sort!r}.")
        wanted = ("support", "cut_points") if sort == "continuous" else ("levels",)
        for key in wanted:
            parts[key][name] = _field(entry, key, list, where)
        edges += [(parent, name) for parent in _field(entry, "parents", list, where)]
        parts["tables"][name] = _field(entry, "table", list, where)
    pseudo_count = content.get("pseudo_count")
    metadata = _field(content, "metadata", dict, "the network")
    network = kind(names, edges, pseudo_count=pseudo_count, metadata=metadata, **parts)
    for entry in variables:
        if list(network.parents(entry["name"])) != entry["parents"]:
            raise GomeaBnError(f"variable '{entry['name']}': parents must be in the order of the variables.")
    return network


def _field(entry: Mapping[str, Any], key: str, kind: type, where: str) -> Any:
    value = entry.get(key)
    if not isinstance(value, kind):
        wanted = {"list": "a list", "str": "text", "dict": "an object"}[kind.__name__]
        got = type(value).__name__ if key in entry else "none"
        raise GomeaBnError(f"{where}: wanted {wanted} under {key!r}, got {got}.")
    return value
