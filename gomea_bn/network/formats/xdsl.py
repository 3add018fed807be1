"""XDSL, the format of GeNIe and SMILE: text and reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from xml.sax.saxutils import escape

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.formats.discrete import (
    PROPERTY_PREFIX,
    Box,
    FileVariable,
    bin_names,
    distinct_names,
    file_identifier,
    file_variables,
    one_line,
    printable_text,
    table_of_numbers,
)
from gomea_bn.network.formats.xml_tree import Element, child_text, xml_tree
from gomea_bn.network.recorded import NetworkLike
from gomea_bn.network.tables import MOST_COMPUTED_CELLS
from gomea_bn.runtime.files import prefixed_errors


def to_xdsl(network: NetworkLike, boxes: Mapping[str, Box] | None = None) -> str:
    """Return a network as XDSL text; `boxes` are positions of nodes in pixels.

    Without them all nodes lie in one column. Identifiers of nodes and states keep ASCII letters, digits and "_"; every
    other character becomes "_". An identifier that would not begin with a letter gets the prefix "x_", and duplicates
    end in _2, _3, and so on. GeNIe shows the original names. Bins are called up_to_2_5, from_2_5_to_4, above_4. User
    properties gomea_bn_name, gomea_bn_edges and gomea_bn_levels restore names, bins and levels. Tables are in the order
    of GeNIe, the last parent faster than the first; pyAgrum 3.3 reverses the parents when it reads XDSL, and needs
    BIFXML instead.
    """
    names = distinct_names(network.names, file_identifier, fold_case=True)
    variables = file_variables(network, names, _xdsl_bins, file_identifier)
    of_name = dict(zip(network.names, variables, strict=True))
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        "<!-- Written by gomea-bn. Bins are (a, b]; a value equal to a cut belongs to the lower bin. -->",
        '<smile version="1.0" id="gomea_bn" numsamples="10000" discsamples="10000">',
        "\t<nodes>",
    ]
    # GeNIe wants parents before their children
    for name in network.order:
        lines += _xdsl_node(of_name[name])
    lines += [
        "\t</nodes>",
        "\t<extensions>",
        '\t\t<genie version="1.0" app="gomea-bn" name="gomea-bn" faultnameformat="nodestate">',
    ]
    # pyAgrum takes the shown names for the names of variables
    shown = distinct_names(network.names, printable_text)
    for position, (name, variable) in enumerate(of_name.items()):
        box = boxes[name] if boxes is not None else (20, 20 + 80 * position, 140, 70 + 80 * position)
        lines += [
            f'\t\t\t<node id="{variable.name}">',
            f"\t\t\t\t<name>{escape(shown[position])}</name>",
            '\t\t\t\t<interior color="e5f6f7" />',
            '\t\t\t\t<outline color="000080" />',
            '\t\t\t\t<font color="000000" name="Arial" size="8" />',
            f"\t\t\t\t<position>{' '.join(str(round(end)) for end in box)}</position>",
            "\t\t\t</node>",
        ]
    return "\n".join([*lines, "\t\t</genie>", "\t</extensions>", "</smile>"]) + "\n"


def _xdsl_node(variable: FileVariable) -> list[str]:
    """Return the lines of one node: the child's states change fastest in its table."""
    parents = [f"\t\t\t<parents>{' '.join(variable.parents)}</parents>"] if variable.parents else []
    return [
        f'\t\t<cpt id="{variable.name}">',
        *(f'\t\t\t<state id="{state}" />' for state in variable.states),
        *parents,
        *(
            f'\t\t\t<property id="{PROPERTY_PREFIX}{key}">{escape(value)}</property>'
            for key, value in variable.properties.items()
        ),
        f"\t\t\t<probabilities>{' '.join(map(repr, variable.table.ravel().tolist()))}</probabilities>",
        "\t\t</cpt>",
    ]


def _xdsl_bins(cuts: Sequence[float]) -> list[str]:
    """Return up_to_2_5, from_2_5_to_4, above_4; a minus becomes "minus_"."""
    names = bin_names(cuts, "up_to_{}", "from_{}_to_{}", "above_{}")
    return distinct_names(
        [name.replace("e-", "e_minus_").replace("-", "minus_") for name in names], file_identifier
    )


def xdsl_variables(content: bytes) -> list[FileVariable]:
    """Return the variables of an XDSL file: nodes with tables, and deterministic nodes; errors name line and node.

    The order is that of the drawing if gomea-bn wrote the file, otherwise that of the nodes.
    """
    root = xml_tree(content, "smile")
    nodes = root.find("nodes")
    if nodes is None or not len(nodes):
        raise GomeaBnError("the file has no nodes.")
    states: dict[str, tuple[str, ...]] = {}
    for node in nodes:
        assert isinstance(node, Element)
        name = node.get("id", "")
        with prefixed_errors(f"line {node.line}"):
            if node.tag not in ("cpt", "deterministic"):
                raise GomeaBnError(
                    f"node '{one_line(name)}' is of the type {one_line(node.tag)!r}; only cpt and deterministic can be "
                    "read. Change the type of the node in GeNIe."
                )
            if not name or name in states:
                raise GomeaBnError(
                    f"{'a node has no id' if not name else f'duplicate node {one_line(name)!r}'}."
                )
            states[name] = tuple(state.get("id", "") for state in node.findall("state"))
            if not states[name]:
                raise GomeaBnError(f"node '{one_line(name)}' has no states.")
    variables = []
    for node in nodes:
        assert isinstance(node, Element)
        with prefixed_errors(f"line {node.line}"):
            variables.append(_xdsl_variable(node, states))
    drawn = [node.get("id", "") for node in root.iterfind("extensions/genie/node")]
    if all("name" in variable.properties for variable in variables) and sorted(drawn) == sorted(states):
        order = {name: position for position, name in enumerate(drawn)}
        variables.sort(key=lambda variable: order[variable.name])
    return variables


def _xdsl_variable(node: Element, states: Mapping[str, tuple[str, ...]]) -> FileVariable:
    """Return the variable of a node."""
    name = node.get("id", "")
    parents = tuple(child_text(node, "parents", f"node '{one_line(name)}'").split())
    for parent in parents:
        if parent not in states:
            raise GomeaBnError(f"node '{one_line(name)}': unknown parent '{one_line(parent)}'.")
    shape = [len(states[member]) for member in (*parents, name)]
    if node.tag == "deterministic":
        if prod(shape) > MOST_COMPUTED_CELLS:
            raise GomeaBnError(
                f"node '{one_line(name)}' has a table of {prod(shape):,} numbers; the limit of deterministic nodes is "
                f"{MOST_COMPUTED_CELLS:,}."
            )
        chosen = child_text(node, "resultingstates", f"node '{one_line(name)}'").split()
        words = [str(int(state == result)) for result in chosen for state in states[name]]
    else:
        words = child_text(node, "probabilities", f"node '{one_line(name)}'").split()
    table = table_of_numbers(words, shape, name)
    properties = {
        str(entry.get("id"))[len(PROPERTY_PREFIX) :]: (entry.text or "").strip()
        for entry in node.findall("property")
        if str(entry.get("id")).startswith(PROPERTY_PREFIX)
    }
    return FileVariable(name, states[name], parents, table, properties)
