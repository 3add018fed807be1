"""Writing networks as BIF files that pyAgrum and pgmpy can read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING
from urllib.parse import quote

from gomea_bn.network.formats.discrete.file_variables import (
    FileVariable,
    bin_names,
    distinct_names,
    file_variables,
)
from gomea_bn.runtime.files.atomic_files import write_text

if TYPE_CHECKING:
    from gomea_bn.network.protocol import NetworkLike

__all__ = ["safe_names", "to_bif"]

# words of the format; pyAgrum refuses them as names and as labels
_WORDS = frozenset(["network", "variable", "property", "probability", "type", "discrete", "table", "default"])
_NUMBER_AFTER_WORD = re.compile(r"(table|default)(?=[\d.eE+-])", re.IGNORECASE)


def to_bif(network: NetworkLike, path: str | os.PathLike[str] | None = None) -> str:
    """Return a network as BIF text, ASCII only, and write it to `path` if given.

    Names and labels keep letters, digits, "_" and "-"; every other character becomes "_". Words of the format and
    names that begin with a digit get the prefix "x_". Duplicates end in _2, _3, and so on (names differ by more than
    case). A comment lists the changed names.

    Bins have the labels le_a, gt_a_le_b, gt_b, because pyAgrum reads no brackets. Each variable has the properties
    `name`, its original name, and either `levels` or `edges`, the bin edges to the last bit. Names and levels are
    percent-encoded; an empty level is "%".

    pyAgrum needs two states per variable: a variable of one bin or level gets a second state "never" of probability 0.
    pyAgrum reads numbers of BIF files in single precision.
    """
    names = safe_names(network.names, fold_case=True)
    variables = file_variables(network, names, _bin_labels, partial(_cleaned, digits=True))
    changed = [
        f"// {quote(name, safe=' ')} is written {safe}"
        for name, safe in zip(network.names, names, strict=True)
        if name != safe
    ]
    head = ["// Written by gomea-bn. Bins are (a, b]; a value equal to a cut belongs to the lower bin."]
    if changed:
        head += ["// Names changed to what BIF readers accept (the old name percent-encoded):", *changed]
    lines = [*head, "network gomea_bn {", "}"]
    for variable in variables:
        key = "edges" if "edges" in variable.properties else "levels"
        lines += [
            f"variable {variable.name} {{",
            f"  type discrete [ {len(variable.states)} ] {{ {', '.join(variable.states)} }};",
            f"  property name = {variable.properties['name']} ;",
            f"  property {key} = {variable.properties[key]} ;",
            "}",
        ]
    states = {variable.name: variable.states for variable in variables}
    for variable in variables:
        lines += _probability(variable, states)
    text = "\n".join(lines) + "\n"
    if path is not None:
        write_text(path, text)
    return text


def _probability(variable: FileVariable, states: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the lines of one probability block."""
    rows = [
        ", ".join(map(repr, row)) for row in variable.table.reshape(-1, variable.table.shape[-1]).tolist()
    ]
    if not variable.parents:
        return [f"probability ( {variable.name} ) {{", f"  table {rows[0]};", "}"]
    of_parents = product(*(states[parent] for parent in variable.parents))
    lines = [f"  ({', '.join(state)}) {row};" for state, row in zip(of_parents, rows, strict=True)]
    return [f"probability ( {variable.name} | {', '.join(variable.parents)} ) {{", *lines, "}"]


def _bin_labels(cuts: list[float]) -> list[str]:
    return bin_names(cuts, "le_{}", "gt_{}_le_{}", "gt_{}", "any")


def safe_names(names: Iterable[str], *, fold_case: bool, digits: bool = False) -> list[str]:
    """Return one BIF identifier per name, without duplicates; a name that is safe already stays as it is.

    Parameters
    ----------
    names : iterable of str
        Any texts, with or without duplicates.
    fold_case : bool
        Whether identifiers must differ by more than case (pgmpy's reader ignores the case of variables).
    digits : bool
        Whether whole numbers are safe: they are as labels, but not as names.
    """
    return distinct_names(names, partial(_cleaned, digits=digits), fold_case=fold_case)


def _cleaned(name: str, *, digits: bool) -> str:
    """Return a text of letters, digits, "_" and "-" that no reader takes for a word of the format."""
    text = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    if digits and re.fullmatch(r"-?[0-9]+", text):
        return text
    if not re.match(r"[A-Za-z_]", text) or text.lower() in _WORDS:
        text = f"x_{text}"
    # pgmpy takes "table1" for the start of a table
    return _NUMBER_AFTER_WORD.sub(r"\1_", text)
