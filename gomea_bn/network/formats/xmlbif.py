"""Reader of XMLBIF."""

from __future__ import annotations

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.formats.discrete import FileVariable, one_line, table_of_numbers
from gomea_bn.network.formats.xml_tree import Element, child_text, xml_tree
from gomea_bn.runtime.files import prefixed_errors


def xmlbif_variables(content: bytes) -> list[FileVariable]:
    """Return the variables of an XMLBIF file, in the order of the file; errors name line and variable."""
    network = xml_tree(content, "BIF").find("NETWORK")
    states: dict[str, tuple[str, ...]] = {}
    for node in () if network is None else network.findall("VARIABLE"):
        assert isinstance(node, Element)
        with prefixed_errors(f"line {node.line}"):
            name = child_text(node, "NAME", "a variable")
            if node.get("TYPE", "nature") != "nature":
                raise GomeaBnError(
                    f"'{one_line(name)}' is of the type {node.get('TYPE')!r:.60}; only nature is read."
                )
            if not name or name in states:
                raise GomeaBnError(
                    f"duplicate variable '{one_line(name)}'." if name else "a variable has no name."
                )
            states[name] = tuple((state.text or "").strip() for state in node.findall("OUTCOME"))
            if not states[name]:
                raise GomeaBnError(f"variable '{one_line(name)}' has no states.")
    if network is None or not states:
        raise GomeaBnError("the file has no variables.")
    variables: dict[str, FileVariable] = {}
    for definition in network.findall("DEFINITION"):
        assert isinstance(definition, Element)
        with prefixed_errors(f"line {definition.line}"):
            name = child_text(definition, "FOR", "a definition")
            parents = tuple((given.text or "").strip() for given in definition.findall("GIVEN"))
            for member in (name, *parents):
                if member not in states:
                    raise GomeaBnError(f"a definition has the unknown variable '{one_line(member)}'.")
            if name in variables:
                raise GomeaBnError(f"'{one_line(name)}' is defined twice.")
            words = child_text(definition, "TABLE", f"'{one_line(name)}'").split()
            table = table_of_numbers(words, [len(states[member]) for member in (*parents, name)], name)
            variables[name] = FileVariable(name, states[name], parents, table, {})
    for name in states:
        if name not in variables:
            raise GomeaBnError(f"variable '{one_line(name)}' has no definition.")
    return [variables[name] for name in states]
