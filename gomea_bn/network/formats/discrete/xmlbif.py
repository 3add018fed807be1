"""XMLBIF files (version 0.3): writing and reading."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.formats.discrete.file_variables import (
    FileVariable,
    bin_names,
    distinct_names,
    file_variables,
    one_line,
    plain_text,
    table_of_numbers,
)
from gomea_bn.network.formats.discrete.xml_tree import Element, child_text, xml_tree
from gomea_bn.runtime.files.atomic_files import write_text
from gomea_bn.runtime.files.text_files import prefixed_errors

if TYPE_CHECKING:
    from gomea_bn.network.protocol import NetworkLike

__all__ = ["to_xmlbif", "xmlbif_variables"]

Box = tuple[float, float, float, float]

_PREFIX = "gomea_bn_"


def to_xmlbif(
    network: NetworkLike,
    path: str | os.PathLike[str] | None = None,
    *,
    boxes: Mapping[str, Box] | None = None,
) -> str:
    """Return a network as XMLBIF text, and write it to `path` if given.

    Names and levels stay as they are, but for control characters and repeated blanks. Bins are called "up to 2.5",
    "2.5 to 4", "above 4". The properties gomea_bn_name, gomea_bn_edges and gomea_bn_levels restore names, bins and
    levels. There is no document type, since pyAgrum reads none.

    Parameters
    ----------
    network : NetworkLike
        The network.
    path : path, optional
        File to write; pyAgrum reads it under the ending .bifxml.
    boxes : mapping of str to (left, top, right, bottom), optional
        Position of every variable in pixels.
    """
    names = distinct_names(network.names, plain_text)
    variables = file_variables(network, names, _bin_texts, plain_text)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        "<!-- Written by gomea-bn. Bins are (a, b]; a value equal to a cut belongs to the lower bin. -->",
        '<BIF VERSION="0.3">',
        "<NETWORK>",
        "<NAME>gomea_bn</NAME>",
    ]
    for name, variable in zip(network.names, variables, strict=True):
        properties = {f"{_PREFIX}{key}": value for key, value in variable.properties.items()}
        if boxes is not None:
            left, top, right, bottom = boxes[name]
            properties["position"] = f"({round((left + right) / 2)}, {round((top + bottom) / 2)})"
        lines += [
            '<VARIABLE TYPE="nature">',
            f"\t<NAME>{escape(variable.name)}</NAME>",
            *(f"\t<OUTCOME>{escape(state)}</OUTCOME>" for state in variable.states),
            *(f"\t<PROPERTY>{key} = {value}</PROPERTY>" for key, value in properties.items()),
            "</VARIABLE>",
        ]
    for variable in variables:
        lines += [
            "<DEFINITION>",
            f"\t<FOR>{escape(variable.name)}</FOR>",
            *(f"\t<GIVEN>{escape(parent)}</GIVEN>" for parent in variable.parents),
            f"\t<TABLE>{' '.join(map(repr, variable.table.ravel().tolist()))}</TABLE>",
            "</DEFINITION>",
        ]
    text = "\n".join([*lines, "</NETWORK>", "</BIF>"]) + "\n"
    if path is not None:
        write_text(path, text)
    return text


def _bin_texts(cuts: Sequence[float]) -> list[str]:
    return bin_names(cuts, "up to {}", "{} to {}", "above {}", "any")


def xmlbif_variables(content: bytes) -> list[FileVariable]:
    """Return the variables of an XMLBIF file, in its order.

    Raises
    ------
    GomeaBnError
        For content that is not XMLBIF, variables that are not of the type nature, and tables that do not fit; the
        message names line and variable.
    """
    network = xml_tree(content, "BIF").find("NETWORK")
    if network is None:
        raise GomeaBnError("the file has no NETWORK.")
    states: dict[str, tuple[str, ...]] = {}
    properties: dict[str, dict[str, str]] = {}
    tables = {}
    for element in network:
        assert isinstance(element, Element)
        with prefixed_errors(f"line {element.line}"):
            if element.tag == "VARIABLE":
                name = child_text(element, "NAME", "a variable")
                states[name], properties[name] = _states(element, name, states)
            elif element.tag == "DEFINITION":
                name = child_text(element, "FOR", "a definition")
                if name in tables:
                    raise GomeaBnError(f"variable '{one_line(name)}' has two definitions.")
                tables[name] = element
    for name, element in tables.items():
        if name not in states:
            raise GomeaBnError(f"line {element.line}: definition of the unknown variable '{one_line(name)}'.")
    variables = []
    for name, outcomes in states.items():
        if name not in tables:
            raise GomeaBnError(f"variable '{one_line(name)}' has no definition.")
        element = tables[name]
        with prefixed_errors(f"line {element.line}"):
            parents = tuple((given.text or "").strip() for given in element.findall("GIVEN"))
            for parent in parents:
                if parent not in states:
                    raise GomeaBnError(f"variable '{one_line(name)}': unknown parent '{one_line(parent)}'.")
            shape = [len(states[member]) for member in (*parents, name)]
            table = table_of_numbers(
                child_text(element, "TABLE", f"variable '{one_line(name)}'").split(), shape, name
            )
        variables.append(FileVariable(name, outcomes, parents, table, properties[name]))
    return variables


def _states(
    element: Element, name: str, known: Mapping[str, object]
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the states and the properties of gomea-bn of a variable."""
    kind = element.get("TYPE", "nature")
    if kind != "nature":
        raise GomeaBnError(
            f"variable '{one_line(name)}' is of the type {one_line(kind)!r}; only nature can be read."
        )
    if not name or name in known:
        raise GomeaBnError(f"duplicate variable '{one_line(name)}'." if name else "a variable has no name.")
    outcomes = tuple((outcome.text or "").strip() for outcome in element.findall("OUTCOME"))
    if not outcomes:
        raise GomeaBnError(f"variable '{one_line(name)}' has no outcomes.")
    properties = {}
    for entry in element.findall("PROPERTY"):
        key, equals, value = (entry.text or "").partition("=")
        if equals and key.strip().startswith(_PREFIX):
            properties[key.strip()[len(_PREFIX) :]] = value.strip()
    return outcomes, properties
