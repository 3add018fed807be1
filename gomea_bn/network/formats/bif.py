"""Writing networks as BIF files that pyAgrum and pgmpy can read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise, product
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from gomea_bn.network.formats.of_tables import for_export
from gomea_bn.runtime.atomic_files import write_text

if TYPE_CHECKING:
    from gomea_bn.network.protocol import NetworkLike

__all__ = ["safe_names", "to_bif"]

# words of the format; pyAgrum refuses them as names and as labels
_WORDS = frozenset(["network", "variable", "property", "probability", "type", "discrete", "table", "default"])
_NUMBER_AFTER_WORD = re.compile(r"(table|default)(?=[\d.eE+-])", re.IGNORECASE)
_PADDING = "never"


def to_bif(network: NetworkLike, path: str | os.PathLike[str] | None = None) -> str:
    """Return a network as BIF text, ASCII only, and write it to `path` if given.

    Names and labels keep letters, digits, "_" and "-"; every other character becomes "_". Words of the format and
    names that begin with a digit get the prefix "x_". Duplicates end in _2, _3, and so on (names differ by more than
    case). A comment lists the changed names.

    Bins have the labels le_a, gt_a_le_b, gt_b, because pyAgrum reads no brackets. Each variable has the properties
    `name`, its original name, and either `levels` or `edges`, the bin edges to the last bit. Names and levels are
    percent-encoded; an empty level is "%".

    pyAgrum needs two states per variable: a variable of one bin or level gets a second state "never" of probability 0.
    pyAgrum reads numbers of BIF files in single precision. Edges that only curves need are left out, with a warning.
    """
    network = for_export(network, "BIF")
    names = dict(zip(network.names, safe_names(network.names, fold_case=True)))
    labels = {name: _labels(network, name) for name in network.names}
    changed = [
        f"// {quote(name, safe=' ')} is written {safe}" for name, safe in names.items() if name != safe
    ]
    head = ["// Written by gomea-bn. Bins are (a, b]; a value equal to a cut belongs to the lower bin."]
    if changed:
        head += ["// Names changed to what BIF readers accept (the old name percent-encoded):", *changed]
    lines = [*head, "network gomea_bn {", "}"]
    for name, safe in names.items():
        lines += [
            f"variable {safe} {{",
            f"  type discrete [ {len(labels[name])} ] {{ {', '.join(labels[name])} }};",
            f"  property name = {quote(name, safe='')} ;",
            f"  property {_states_property(network, name)} ;",
            "}",
        ]
    for name in names:
        lines += _probability(network, name, names, labels)
    text = "\n".join(lines) + "\n"
    if path is not None:
        write_text(path, text)
    return text


def _states_property(network: NetworkLike, name: str) -> str:
    if name in network.cut_points:
        low, high = network.support[name]
        return f"edges = {' '.join(map(repr, [low, *network.cut_points[name].tolist(), high]))}"
    return f"levels = {' '.join(quote(str(level), safe='') or '%' for level in network.levels[name])}"


def _probability(
    network: NetworkLike, name: str, names: dict[str, str], labels: dict[str, list[str]]
) -> list[str]:
    """Return the lines of one probability block."""
    parents = network.parents(name)
    table = _padded(network.tables[name], [len(labels[member]) for member in (*parents, name)])
    rows = [", ".join(map(repr, row)) for row in table.reshape(-1, table.shape[-1]).tolist()]
    if not parents:
        return [f"probability ( {names[name]} ) {{", f"  table {rows[0]};", "}"]
    parent_names = ", ".join(names[parent] for parent in parents)
    states = product(*(labels[parent] for parent in parents))
    lines = [f"  ({', '.join(state)}) {row};" for state, row in zip(states, rows)]
    return [f"probability ( {names[name]} | {parent_names} ) {{", *lines, "}"]


def _padded(table: NDArray[np.float64], shape: Sequence[int]) -> NDArray[np.float64]:
    """Return the table with added second states: probability 0 for them, uniform rows where a parent has one."""
    if table.shape == tuple(shape):
        return table
    padded = np.full(shape, 1.0 / shape[-1])
    padded[tuple(slice(0, size) for size in table.shape[:-1])] = 0.0
    padded[tuple(slice(0, size) for size in table.shape)] = table
    return padded


def _labels(network: NetworkLike, name: str) -> list[str]:
    """Return the state labels of a variable, at least two."""
    if name in network.cut_points:
        labels = _bin_labels(network.cut_points[name].tolist())
    else:
        labels = safe_names([str(level) for level in network.levels[name]], fold_case=False, digits=True)
    return labels if len(labels) > 1 else [*labels, _PADDING if labels[0] != _PADDING else "x_never"]


def _bin_labels(cuts: list[float]) -> list[str]:
    """Return labels that name the cut points with the fewest digits (at least 4) that keep them apart."""
    if not cuts:
        return ["any"]
    texts = [repr(cut) for cut in cuts]
    for digits in range(4, 17):
        short = [f"{cut:.{digits}g}" for cut in cuts]
        if all(float(low) < float(high) for low, high in pairwise(short)):
            texts = short
            break
    # pyAgrum reads no "+" in labels
    texts = [text.replace("+", "") for text in texts]
    middle = [f"gt_{low}_le_{high}" for low, high in pairwise(texts)]
    return [f"le_{texts[0]}", *middle, f"gt_{texts[-1]}"]


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
    original = list(names)
    cleaned = [_cleaned(name, digits=digits) for name in original]
    identifiers = list(cleaned)
    taken: set[str] = set()
    # safe names first, so that no changed name takes theirs
    for position in sorted(range(len(original)), key=lambda i: cleaned[i] != original[i]):
        text, count = cleaned[position], 1
        while (text.lower() if fold_case else text) in taken:
            count += 1
            text = _cleaned(f"{cleaned[position]}_{count}", digits=digits)
        taken.add(text.lower() if fold_case else text)
        identifiers[position] = text
    return identifiers


def _cleaned(name: str, *, digits: bool) -> str:
    """Return a text of letters, digits, "_" and "-" that no reader takes for a word of the format."""
    text = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    if digits and re.fullmatch(r"-?[0-9]+", text):
        return text
    if not re.match(r"[A-Za-z_]", text) or text.lower() in _WORDS:
        text = f"x_{text}"
    # pgmpy takes "table1" for the start of a table
    return _NUMBER_AFTER_WORD.sub(r"\1_", text)
