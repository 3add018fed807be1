"""Files of discrete networks: states and full tables, and what restores the bins; one format per module.

Writers get their variables from `file_variables`. Readers return variables, of which `network_of_variables` makes a
network. BIF is for pyAgrum and pgmpy, NET is of HUGIN, and XDSL of GeNIe and SMILE.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import Any, NoReturn, TypeVar
from urllib.parse import quote, unquote

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.recorded import NetworkLike
from gomea_bn.network.tables import MOST_AXES

Net = TypeVar("Net", bound=NetworkLike)

PADDING = "never"
"""Name of the second state of a variable with one bin or level; it has probability 0."""

Box = tuple[float, float, float, float]

PROPERTY_PREFIX = "gomea_bn_"


@dataclass(frozen=True, slots=True, eq=False)
class FileVariable:
    """One variable of a discrete network in a file: identifier, states in code order, and identifiers of the parents.

    `table` is P(variable | parents) in the order of `parents`. `properties` are what gomea-bn adds to restore the
    variable: "name", and "edges" or "levels", or nothing. "types" are the types of levels that are not all text.
    """

    name: str
    states: tuple[str, ...]
    parents: tuple[str, ...]
    table: NDArray[np.float64]
    properties: Mapping[str, str] = field(default_factory=dict)


def file_variables(
    network: NetworkLike,
    names: Sequence[str],
    bins: Callable[[list[float]], list[str]],
    clean: Callable[[str], str],
) -> list[FileVariable]:
    """Return the variables of a network in column order, as a file holds them under distinct names.

    A variable with one bin or level gets a second state of probability 0, since other programs need two. `bins` names
    the bins of increasing cuts, and `clean` turns a level into a legal state name.
    """
    identifier = dict(zip(network.names, names, strict=True))
    states: dict[str, tuple[str, ...]] = {}
    for name in network.names:
        if name in network.cut_points:
            chosen = bins(network.cut_points[name].tolist())
        else:
            chosen = distinct_names(map(str, network.levels[name]), clean)
        if len(chosen) == 1:
            chosen = [*chosen, PADDING if chosen[0] != PADDING else f"x_{PADDING}"]
        states[name] = tuple(chosen)
    variables = []
    for name in network.names:
        parents = network.parents(name)
        shape = [len(states[member]) for member in (*parents, name)]
        properties = {"name": quote(name, safe="")}
        if name in network.cut_points:
            low, high = network.support[name]
            # exact to the last bit
            properties["edges"] = " ".join(map(repr, [low, *network.cut_points[name].tolist(), high]))
        else:
            # an empty level is "%"
            texts = [quote(str(level), safe="") or "%" for level in network.levels[name]]
            properties["levels"] = " ".join(texts)
        types = [type(level).__name__ for level in network.levels.get(name, ())]
        if set(types) - {"str"}:
            properties["types"] = " ".join(types)
        of_parents = tuple(identifier[parent] for parent in parents)
        table = padded_table(network.tables[name], shape)
        variables.append(FileVariable(identifier[name], states[name], of_parents, table, properties))
    return variables


def padded_table(table: NDArray[np.float64], shape: Sequence[int]) -> NDArray[np.float64]:
    """Return the table with added second states: probability 0 for them, uniform rows where a parent has one."""
    if table.shape == tuple(shape):
        return table
    padded = np.full(shape, 1.0 / shape[-1])
    padded[tuple(slice(0, size) for size in table.shape[:-1])] = 0.0
    padded[tuple(slice(0, size) for size in table.shape)] = table
    return padded


def bin_names(cuts: Sequence[float], below: str, between: str, above: str) -> list[str]:
    """Return names of bins with the fewest digits (at least 4) that keep the cuts apart.

    `below`, `between` and `above` are the forms of the first, the inner and the last bins, for example "up to {}", "{}
    to {}" and "above {}". A single bin is called "any".
    """
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
    middle = [between.format(low, high) for low, high in pairwise(texts)]
    return [below.format(texts[0]), *middle, above.format(texts[-1])]


def file_identifier(name: str) -> str:
    """Return a text of ASCII letters, digits and "_" that begins with a letter."""
    text = re.sub(r"[^A-Za-z0-9_]", "_", ascii_text(name))
    return text if re.match(r"[A-Za-z]", text) else f"x_{text}"


def distinct_names(
    names: Iterable[str], clean: Callable[[str], str], *, fold_case: bool = False
) -> list[str]:
    """Return one legal identifier per name, without duplicates; a name that is legal already stays as it is.

    `clean` turns a text into a legal one, and leaves a legal one as it is. With `fold_case` identifiers differ by more
    than case.
    """
    original = list(names)
    cleaned = [clean(name) for name in original]
    identifiers = list(cleaned)
    taken: set[str] = set()
    # number of the last duplicate of a text, so that many duplicates take linear time
    counts: dict[str, int] = {}
    # legal names first, so that no changed name takes theirs
    for position in sorted(range(len(original)), key=lambda i: cleaned[i] != original[i]):
        text = cleaned[position]
        count = counts.get(cleaned[position], 1)
        while (text.lower() if fold_case else text) in taken:
            count += 1
            text = clean(f"{cleaned[position]}_{count}")
        counts[cleaned[position]] = count
        taken.add(text.lower() if fold_case else text)
        identifiers[position] = text
    return identifiers


def printable_text(text: str) -> str:
    """Return a text without line ends, control characters and outer or repeated blanks, never empty."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(printable.split()) or "_"


def ascii_text(text: str) -> str:
    """Return a text without accents, whose other characters outside of ASCII are "_"."""
    letters = (letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    return "".join(letter if letter.isascii() else "_" for letter in letters)


def one_line(text: str) -> str:
    """Return the beginning of a text for a message, with control characters escaped."""
    return repr(text[:60])[1:-1]


def table_of_numbers(words: Sequence[str], shape: Sequence[int], name: str) -> NDArray[np.float64]:
    """Return the table that numbers of a file fill, the last axis fastest; rows are checked by `checked_table`.

    Nothing is allocated for a table that the numbers do not fill.
    """
    if len(shape) > MOST_AXES:
        raise GomeaBnError(
            f"probability of '{one_line(name)}': {len(shape) - 1} parents are more than {MOST_AXES - 1}, the limit."
        )
    if prod(shape) != len(words):
        raise GomeaBnError(
            f"probability of '{one_line(name)}': wanted {prod(shape):,} numbers for states of {list(shape)}, got "
            f"{len(words):,}."
        )
    try:
        values = np.array([float(word) for word in words])
    except ValueError as error:
        raise GomeaBnError(f"probability of '{one_line(name)}': {error}.") from error
    return checked_table(values.reshape(shape), name)


def checked_table(table: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    """Return a table with rows that sum to 1; rows that sum to 1 within 0.01, as in rounded files, are scaled."""
    with np.errstate(over="ignore", invalid="ignore"):
        sums = table.sum(axis=-1, keepdims=True)
        # rows with a smaller error are scaled
        is_wrong = ~(np.abs(sums - 1) <= 1e-2) | (table < 0).any(axis=-1, keepdims=True)
    if is_wrong.any():
        row = np.argwhere(is_wrong)[0][:-1].tolist()
        raise GomeaBnError(
            f"probability of '{one_line(name)}': a row has a negative number or does not sum to 1 (states of the "
            f"parents {row}, counted from 0)."
            if row
            else f"probability of '{one_line(name)}': a row has a negative number or does not sum to 1."
        )
    # smaller errors are those of written digits
    return np.where(np.abs(sums - 1) > 1e-6, table / sums, table)


def network_of_variables(
    variables: Sequence[FileVariable], kind: Callable[..., Net], *, restore: bool = True
) -> Net:
    """Return the network of the variables of a file, in their order; parents may come after their children.

    With `restore` variables with the properties of gomea-bn get their original names, levels and bins, which must fit
    their states. All others are discrete with the names of their states as levels.
    """
    if not variables:
        raise GomeaBnError("the file has no variable.")
    position_of = {variable.name: position for position, variable in enumerate(variables)}
    restored = {variable.name: _Restored(variable, restore) for variable in variables}
    edges: list[tuple[str, str]] = []
    tables: dict[str, NDArray[np.float64]] = {}
    for variable in variables:
        name, parents = restored[variable.name].name, variable.parents
        edges += [(restored[parent].name, name) for parent in parents]
        order = sorted(range(len(parents)), key=lambda axis: position_of[parents[axis]])
        # without the second state that other programs need and that never occurs
        states_that_occur = tuple(slice(0, restored[member].card) for member in (*parents, variable.name))
        tables[name] = variable.table[states_that_occur].transpose([*order, len(parents)])
    continuous = [of for of in restored.values() if of.edges]
    return kind(
        [of.name for of in restored.values()],
        edges,
        cut_points={of.name: of.edges[1:-1] for of in continuous},
        support={of.name: (of.edges[0], of.edges[-1]) for of in continuous},
        levels={of.name: of.levels for of in restored.values() if not of.edges},
        tables=tables,
    )


class _Restored:
    """The name, and the ends of the bins or the levels, of a variable of a file."""

    def __init__(self, variable: FileVariable, restore: bool) -> None:
        self.name = variable.name
        self.edges: list[float] = []
        self.levels: list[Any] = list(variable.states)
        self.card = len(variable.states)
        properties = variable.properties if restore else {}
        key = "edges" if "edges" in properties else "levels"
        if not {"name", key} <= properties.keys():
            return
        self.name = unquote(properties["name"])
        words = properties[key].split()
        self.card = len(words) - (key == "edges")
        if self.card < 1 or max(2, self.card) != max(2, len(variable.states)):
            raise GomeaBnError(
                f"variable '{variable.name}' has {len(variable.states)} states, but its property {key} makes "
                f"{self.card}."
            )
        if key == "edges":
            for word in words:
                try:
                    self.edges.append(float(word))
                except ValueError as error:
                    raise GomeaBnError(
                        f"variable '{variable.name}': its property edges must hold numbers, got {word!r:.60}."
                    ) from error
            return
        texts = [unquote(word) if word != "%" else "" for word in words]
        types = properties.get("types", "").split()
        if len(types) == len(texts):
            self.levels = [_level(text, kind, variable.name) for text, kind in zip(texts, types, strict=True)]
        else:
            # the levels 1 and "1" have the same text, but different labels
            has_duplicates = len(set(texts)) < len(texts)
            self.levels = list(variable.states)[: self.card] if has_duplicates else texts


def _level(text: str, kind: str, name: str) -> str | int | float | bool:
    """Return a level of one of the types that a file names."""
    read: dict[str, Callable[[str], str | int | float | bool]] = {
        "str": str,
        "int": int,
        "float": float,
        "bool": lambda word: word == "True",
    }
    try:
        return read[kind](text)
    except (KeyError, ValueError) as error:
        raise GomeaBnError(
            f"variable '{name}': its property types must fit its levels, got {kind!r:.20} for {text!r:.60}."
        ) from error


class TokenReader:
    """The tokens of a text, and the position of the next one; matches of the group "skip" of a token are no tokens."""

    def __init__(self, text: str, token: re.Pattern[str]) -> None:
        self.text = text
        self.tokens = [
            (match.group(), match.start()) for match in token.finditer(text) if match.lastgroup != "skip"
        ]
        self.position = 0

    def fail(self, message: str) -> NoReturn:
        """Raise `GomeaBnError` with the line of the last token taken."""
        start = self.tokens[min(self.position, len(self.tokens)) - 1][1] if self.tokens else 0
        raise GomeaBnError(f"line {self.text.count(chr(10), 0, start) + 1}: {message}.")

    def peek(self) -> str:
        """Return the next token, or an empty text at the end."""
        return self.tokens[self.position][0] if self.position < len(self.tokens) else ""

    def take(self, expected: str = "") -> str:
        """Return the next token and step over it; raise if another one is expected."""
        token = self.peek()
        self.position += 1
        if not token or (expected and token != expected):
            self.fail(f"wanted {expected or 'more'!r}, got {token or 'the end of the text'!r:.60}")
        return token
