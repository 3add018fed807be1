"""Files of an expert's network: JSON, lists of edges, and which other formats are read."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.formats.json_format import FORMAT as NETWORK_FORMAT
from gomea_bn.network.formats.json_format import network_from_content
from gomea_bn.network.formats.registry import READ, format_of
from gomea_bn.runtime.files import (
    check_fields,
    check_format,
    file_text,
    head_of,
    json_text,
    load_json,
    named_source,
    prefixed_errors,
    source_text,
    written,
)
from gomea_bn.texts import listed

FORMAT = "gomea-bn expert"

_WHAT = "an expert's network"
_NETWORKS_TOO = f"Files of networks, {NETWORK_FORMAT!r}, can be read as well."
_EDGE_COLUMNS = {"parent", "child"}


def file_kind(path: str | os.PathLike[str]) -> str:
    """Return the format of a file, "edges", "dot" or one of networks, by its ending or otherwise by its first line."""
    if str(path).lower().endswith((".csv", ".tsv")):
        return "edges"
    if str(path).lower().endswith((".dot", ".gv")):
        return "dot"
    known = format_of(path, compressed=True)
    if known in READ:
        return known
    text = file_text(path, _WHAT)
    if text.lstrip().startswith("{"):
        return "json"
    if _delimiter(text):
        return "edges"
    if re.search(r"^\s*(network|variable)\b[^{;]*\{", text, re.MULTILINE):
        return "bif"
    endings = listed(f".{name}" for name in READ)
    raise GomeaBnError(
        f"{named_source(path)} is not an expert's network: wanted {endings}, .dot, or edges with the columns "
        "parent,child."
    )


def expert_to_json(
    names: Sequence[str],
    edges: list[tuple[str, str]],
    cut_points: Mapping[str, Any],
    network: DiscretizedBayesNet | None,
    path: str | os.PathLike[str] | None = None,
) -> str:
    """Return an expert's network as JSON text, exact to the last bit, and write it to `path` if given.

    The fields are names, edges as [parent, child], cut_points by name, and network, in the format of networks, if the
    expert gave tables.
    """
    content = {
        **head_of(FORMAT),
        "names": list(names),
        "edges": edges,
        "cut_points": {name: cuts.tolist() for name, cuts in cut_points.items()},
    }
    texts = {} if network is None else {"network": network.to_json()}
    return written(json_text(content, ["edges", "cut_points"], texts), path)


def read_expert_json(
    source: str | os.PathLike[str],
) -> tuple[Sequence[str] | None, list[tuple[str, str]], dict[str, Any], DiscretizedBayesNet | None]:
    """Return the arguments of an `ExpertNetwork` in JSON: a file, or text that begins with a brace.

    JSON of a network (`DiscretizedBayesNet.to_json`) is read as well. Other files, versions and fields raise
    `GomeaBnError`.
    """
    text, where = source_text(source, _WHAT)
    content = load_json(text, where)
    if isinstance(content, dict) and content.get("format") == NETWORK_FORMAT:
        network = network_from_content(content, where, DiscretizedBayesNet)
        return network.names, network.edges, {}, network
    check_format(content, where, _WHAT, FORMAT, advice=_NETWORKS_TOO)
    check_fields(content, where, ("format", "format_version"), ("names", "edges", "cut_points", "network"))
    names, network, cut_points = content.get("names"), content.get("network"), content.get("cut_points", {})
    with prefixed_errors(where):
        if names is not None and not isinstance(names, list):
            raise GomeaBnError(f"names must be a list of names, got {names!r:.80}.")
        if network is not None:
            network = network_from_content(network, "Its field 'network'", DiscretizedBayesNet)
        edges = content.get("edges", None if network is None else list(map(list, network.edges)))
        if not isinstance(edges, list) or not all(isinstance(e, list) and len(e) == 2 for e in edges):
            raise GomeaBnError(f"edges must be a list of [parent, child], got {edges!r:.80}.")
        if not isinstance(cut_points, dict):
            raise GomeaBnError(f"cut_points must map names to lists of numbers, got {cut_points!r:.80}.")
    return names, [(parent, child) for parent, child in edges], cut_points, network


def read_edge_list(path: str | os.PathLike[str]) -> list[tuple[str, str]]:
    """Return the edges of a CSV or TSV file with the two columns parent and child.

    The first line holds the names of the two columns in any order. Fields are separated by commas, tabs or semicolons,
    and are quoted if they contain one. Blanks around fields and empty lines are ignored. A file that cannot be read,
    has other columns, or has a line without exactly two names raises `GomeaBnError`.
    """
    text, where = file_text(path, _WHAT), named_source(path)
    delimiter = _delimiter(text)
    if delimiter is None:
        first = text.partition("\n")[0].strip()
        raise GomeaBnError(
            f"{where} must have the columns parent,child in its first line, got {first!r:.80}."
        )
    reader = csv.reader(
        text.splitlines(keepends=True), delimiter=delimiter, skipinitialspace=True, strict=True
    )
    edges: list[tuple[str, str]] = []
    try:
        header = [field.strip().lower() for field in next(reader)]
        for row in reader:
            fields = [field.strip() for field in row]
            if not any(fields):
                continue
            if len(fields) != 2 or not all(fields):
                raise GomeaBnError(
                    f"{where}, line {reader.line_num}: wanted a parent and a child, got {fields}."
                )
            edges.append((fields[header.index("parent")], fields[header.index("child")]))
    except csv.Error as error:
        raise GomeaBnError(f"{where}, line {reader.line_num}: {error}.") from error
    return edges


def _delimiter(text: str) -> str | None:
    """Return the delimiter of the columns parent and child in the first line, or None if that line has others."""
    first = text.partition("\n")[0]
    for mark in (",", "\t", ";"):
        fields = [field.strip().strip('"').lower() for field in first.split(mark)]
        if len(fields) == 2 and set(fields) == _EDGE_COLUMNS:
            return mark
    return None
