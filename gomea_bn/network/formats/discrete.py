"""Files of discrete networks, BIF, NET and XDSL, and UAI to read: states and full tables, and what restores the bins.

Writers get their variables from `file_variables`. Readers return variables, of which `network_of_variables` makes a
network. BIF is for pyAgrum and pgmpy, NET is of HUGIN, and XDSL of GeNIe and SMILE.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, pairwise, product
from math import prod
from typing import Any, NoReturn, TypeVar
from urllib.parse import quote, unquote
from xml.etree import ElementTree
from xml.parsers import expat
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.frames import column_names
from gomea_bn.errors import GomeaBnError
from gomea_bn.network.recorded import NetworkLike
from gomea_bn.network.tables import MOST_AXES
from gomea_bn.runtime.files import prefixed_errors

Net = TypeVar("Net", bound=NetworkLike)

PADDING = "never"
"""Name of the second state of a variable with one bin or level; it has probability 0."""

# rows with a larger error are scaled; rows with an error above the second limit are refused
_EXACT_SUM_ERROR = 1e-6
_ROUNDED_SUM_ERROR = 1e-2

# words of the format; pyAgrum refuses them as names and as labels
_BIF_WORDS = frozenset(
    ["network", "variable", "property", "probability", "type", "discrete", "table", "default"]
)
_NUMBER_AFTER_WORD = re.compile(r"(table|default)(?=[\d.eE+-])", re.IGNORECASE)

Box = tuple[float, float, float, float]

_PREFIX = "gomea_bn_"
# words of the format; no node may be called so
_NET_WORDS = re.compile(
    "class|continuous|data|decision|discrete|function|label|model_data|model_nodes|net|node|normal|position|potential|"
    "state_values|states|subtype|temporal|utility"
)
_NET_TOKEN = re.compile(
    r"""
    (?P<skip>\s+ | %[^\n]*)
    | (?P<quoted>"[^"]*")
    | (?P<mark>[{}()=;|])
    | (?P<word>[^\s{}()=;|"%]+)
    | (?P<bad>.)
    """,
    re.VERBOSE | re.DOTALL,
)


# a deterministic node has a table that its file does not hold number by number
_MOST_DETERMINISTIC = 2**22


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


def _identifier(name: str) -> str:
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
        is_wrong = ~(np.abs(sums - 1) <= _ROUNDED_SUM_ERROR) | (table < 0).any(axis=-1, keepdims=True)
    if is_wrong.any():
        row = np.argwhere(is_wrong)[0][:-1].tolist()
        raise GomeaBnError(
            f"probability of '{one_line(name)}': a row has a negative number or does not sum to 1 (states of the "
            f"parents {row}, counted from 0)."
            if row
            else f"probability of '{one_line(name)}': a row has a negative number or does not sum to 1."
        )
    return np.where(np.abs(sums - 1) > _EXACT_SUM_ERROR, table / sums, table)


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


def to_bif(network: NetworkLike) -> str:
    """Return a network as BIF text, ASCII only.

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
    bins = partial(bin_names, below="le_{}", between="gt_{}_le_{}", above="gt_{}")
    variables = file_variables(network, names, bins, partial(_bif_name, digits=True))
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
        lines += _bif_probability(variable, states)
    return "\n".join(lines) + "\n"


def _bif_probability(variable: FileVariable, states: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the lines of one probability block."""
    rows = [
        ", ".join(map(repr, row)) for row in variable.table.reshape(-1, variable.table.shape[-1]).tolist()
    ]
    if not variable.parents:
        return [f"probability ( {variable.name} ) {{", f"  table {rows[0]};", "}"]
    of_parents = product(*(states[parent] for parent in variable.parents))
    lines = [f"  ({', '.join(state)}) {row};" for state, row in zip(of_parents, rows, strict=True)]
    return [f"probability ( {variable.name} | {', '.join(variable.parents)} ) {{", *lines, "}"]


def safe_names(names: Iterable[str], *, fold_case: bool, digits: bool = False) -> list[str]:
    """Return one BIF identifier per name, without duplicates; a name that is safe already stays as it is.

    With `fold_case` identifiers differ by more than case (pgmpy's reader ignores the case of variables). With `digits`
    whole numbers are safe: they are as labels, but not as names.
    """
    return distinct_names(names, partial(_bif_name, digits=digits), fold_case=fold_case)


def _bif_name(name: str, *, digits: bool) -> str:
    """Return a text of letters, digits, "_" and "-" that no reader takes for a word of the format."""
    text = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    if digits and re.fullmatch(r"-?[0-9]+", text):
        return text
    if not re.match(r"[A-Za-z_]", text) or text.lower() in _BIF_WORDS:
        text = f"x_{text}"
    # pgmpy takes "table1" for the start of a table
    return _NUMBER_AFTER_WORD.sub(r"\1_", text)


_BIF_TOKEN = re.compile(
    r"""
    (?P<skip>\s+ | //[^\n]* | /\*.*?\*/)
    | (?P<quoted>"[^"]*")
    | (?P<mark>[{}()\[\],;|])
    | (?P<word>[^\s{}()\[\],;|"]+)
    | (?P<bad>.)
    """,
    re.VERBOSE | re.DOTALL,
)
# cells of all tables with a default row, which the file need not hold one by one
_MOST_DEFAULT_CELLS = 2**24


def bif_variables(text: str) -> list[FileVariable]:
    """Return the variables of BIF text in its order, plain names and labels as text; errors name the line."""
    reader = _BifReader(text)
    reader.read()
    if not reader.levels:
        raise GomeaBnError("the file has no variable; it is not BIF.")
    variables = []
    for name, levels in reader.levels.items():
        if name not in reader.tables:
            raise GomeaBnError(f"variable '{name}' has no probability block.")
        parents, table = reader.tables[name]
        variables.append(FileVariable(name, tuple(levels), tuple(parents), table, reader.properties[name]))
    return variables


class _BifReader(TokenReader):
    """The tokens of a text, and the levels and tables read so far."""

    def __init__(self, text: str) -> None:
        super().__init__(text, _BIF_TOKEN)
        self.levels: dict[str, list[str]] = {}
        self.properties: dict[str, dict[str, str]] = {}
        self.tables: dict[str, tuple[list[str], NDArray[np.float64]]] = {}
        self.n_default_cells = 0

    def read(self) -> None:
        """Read all blocks."""
        readers: dict[str, Callable[[], None]] = {
            "network": self.network,
            "variable": self.variable,
            "probability": self.probability,
        }
        while self.position < len(self.tokens):
            word = self.take()
            if word not in readers:
                self.fail(f"wanted network, variable or probability, got {word!r:.60}")
            readers[word]()

    def until(self, end: str) -> list[str]:
        """Return the tokens before an end, without their quotes, and step over that end."""
        return [token[1:-1] if token[0] == '"' else token for token in iter(self.take, end)]

    def network(self) -> None:
        """Step over the block with the name of the network."""
        self.until("{")
        self.until("}")

    def variable(self) -> None:
        """Read the name and the labels of a variable."""
        name = " ".join(self.until("{"))
        if name in self.levels:
            self.fail(f"duplicate variable '{name}'")
        properties: dict[str, str] = {}
        while (word := self.take()) != "}":
            if word == "property":
                key, *value = [*self.until(";"), ""]
                if value[:1] == ["="]:
                    properties[key] = " ".join(value[1:-1])
                continue
            if word != "type":
                self.until(";")
                continue
            if name in self.levels:
                self.fail(f"variable '{name}' has two types")
            sort = self.take()
            self.take("[")
            count = self.take()
            self.take("]")
            self.take("{")
            labels = _bif_entries(self.until("}"))
            if sort != "discrete" or str(len(labels)) != count:
                self.fail(
                    f"variable '{name}': wanted discrete with {count} labels, got {sort} with {len(labels)}"
                )
            self.levels[name] = labels
            if self.peek() == ";":
                self.take()
        if name not in self.levels:
            self.fail(f"variable '{name}' has no type")
        self.properties[name] = properties

    def probability(self) -> None:
        """Read the table of a variable."""
        self.take("(")
        tokens = self.until(")")
        if not _bif_entries(tokens):
            self.fail("a probability block names no variable")
        if "|" in tokens:
            bar = tokens.index("|")
            child, parents = " ".join(tokens[:bar]), _bif_entries([*tokens[bar + 1 :], ","], self.levels)
        else:
            child, *parents = _bif_entries(tokens)
        for name in (child, *parents):
            if name not in self.levels:
                self.fail(
                    f"probability of '{child}': unknown variable '{name}'; variables must come before their tables"
                )
        if child in self.tables:
            self.fail(f"variable '{child}' has two probability blocks")
        table = self.empty_table([len(self.levels[name]) for name in (*parents, child)], child)
        default: list[float] | None = None
        codes = [{label: code for code, label in enumerate(self.levels[name])} for name in parents]
        self.take("{")
        while (word := self.take()) != "}":
            if word == "table":
                if not np.isnan(table).all():
                    self.fail(f"probability of '{child}': 'table' repeats rows that the block has already")
                # the states of the child change slowest here
                values = self.numbers(table.size, child)
                table[...] = np.moveaxis(np.reshape(values, (table.shape[-1], *table.shape[:-1])), 0, -1)
            elif word == "default":
                if default is not None:
                    self.fail(f"probability of '{child}': a second default row; remove one of them")
                default = self.numbers(table.shape[-1], child)
            elif word == "(":
                labels = {label for code_of in codes for label in code_of}
                states = _bif_entries([*self.until(")"), ","], labels)
                if len(states) != len(parents):
                    self.fail(f"probability of '{child}': wanted {len(parents)} parent labels, got {states}")
                for parent, state, code_of in zip(parents, states, codes):
                    if state not in code_of:
                        self.fail(f"probability of '{child}': '{parent}' has no label '{state}'")
                row = tuple(code_of[state] for state, code_of in zip(states, codes))
                if not np.isnan(table[row]).all():
                    self.fail(
                        f"probability of '{child}': a second row for ({', '.join(states)}); remove one of them"
                    )
                table[row] = self.numbers(table.shape[-1], child)
            else:
                self.until(";")
        if default is not None:
            self.n_default_cells += table.size
            if self.n_default_cells > _MOST_DEFAULT_CELLS:
                self.fail(
                    f"tables with a default row must have at most {_MOST_DEFAULT_CELLS:,} numbers in all"
                )
            table[np.isnan(table).any(axis=-1)] = default
        self.tables[child] = (parents, self.checked(table, child))

    def empty_table(self, shape: list[int], child: str) -> NDArray[np.float64]:
        """Return a table of NaN; raise, before it is allocated, if the text cannot fill it."""
        n_cells = prod(shape)
        if n_cells > max(len(self.tokens), _MOST_DEFAULT_CELLS) or len(shape) > MOST_AXES:
            self.fail(
                f"probability of '{child}': {len(shape) - 1} parents make a table of {n_cells:,} numbers, more than "
                "the file holds"
            )
        return np.full(shape, np.nan)

    def numbers(self, count: int, child: str) -> list[float]:
        """Return the numbers up to the semicolon."""
        words = [word for word in self.until(";") if word != ","]
        try:
            values = [float(word) for word in words]
        except ValueError as error:
            self.fail(f"probability of '{child}': {error}")
        if len(values) != count:
            self.fail(f"probability of '{child}': wanted {count} numbers, got {len(values)}")
        return values

    def checked(self, table: NDArray[np.float64], child: str) -> NDArray[np.float64]:
        """Return the table with rows that sum to 1; raise for missing and wrong rows."""
        sums = table.sum(axis=-1, keepdims=True)
        if np.isnan(sums).any():
            self.fail(
                f"probability of '{child}': no numbers for parent states "
                f"{np.argwhere(np.isnan(sums))[0][:-1].tolist()}"
            )
        try:
            return checked_table(table, child)
        except GomeaBnError as error:
            self.fail(str(error).rstrip("."))


def _bif_entries(tokens: list[str], known: Collection[str] = ()) -> list[str]:
    """Return the entries of a list: the texts between commas, or the tokens if there is no comma.

    JavaBayes separates entries by blanks: one that is not `known`, when all its words are, is as many as words.
    """
    if "," not in tokens:
        return tokens
    groups = [list(entry) for is_comma, entry in groupby(tokens, lambda token: token == ",") if not is_comma]
    if len(groups) == 1 and " ".join(groups[0]) not in known and all(word in known for word in groups[0]):
        return groups[0]
    return [" ".join(entry) for entry in groups]


def to_net(network: NetworkLike, boxes: Mapping[str, Box] | None = None) -> str:
    """Return a network as NET text of HUGIN; `boxes` are positions of nodes in pixels.

    Identifiers of nodes keep ASCII letters, digits and "_"; labels show the original names. States are called "up to
    2.5", "2.5 to 4", "above 4", or by their levels in ASCII, with ' for quotes. Continuous variables are interval
    nodes, of which HUGIN knows the ends of the bins: it counts a value that equals a cut to the upper bin. The
    attributes gomea_bn_name, gomea_bn_edges and gomea_bn_levels restore names, bins and levels.
    """
    names = distinct_names(network.names, _net_identifier, fold_case=True)
    bins = partial(bin_names, below="up to {}", between="{} to {}", above="above {}")
    # pyAgrum takes different characters outside of ASCII for the same
    variables = file_variables(network, names, bins, lambda level: _net_text(ascii_text(level)))
    lowest = 0.0 if boxes is None else max((box[3] for box in boxes.values()), default=0.0)
    lines = [
        "% Written by gomea-bn. Bins are (a, b]; a value equal to a cut belongs to the lower bin.",
        "net",
        "{",
        "  node_size = (120 50);",
        "}",
    ]
    for name, variable in zip(network.names, variables, strict=True):
        lines += [f"node {variable.name}", "{", f'  label = "{_net_text(name)}";']
        if boxes is not None:
            left, top, right, bottom = boxes[name]
            # y points upwards in HUGIN
            lines.append(f"  position = ({round((left + right) / 2)} {round(lowest - (top + bottom) / 2)});")
        states = " ".join(f'"{state}"' for state in variable.states)
        lines.append(f"  states = ({states});")
        edges = variable.properties.get("edges", "").split()
        if len(edges) == len(variable.states) + 1:
            lines += ["  subtype = interval;", f"  state_values = ({' '.join(edges)});"]
        lines += [f'  {_PREFIX}{key} = "{value}";' for key, value in variable.properties.items()]
        lines.append("}")
    for variable in variables:
        given = f" | {' '.join(variable.parents)}" if variable.parents else ""
        rows = variable.table.reshape(-1, len(variable.states)).tolist()
        data = "\n    ".join(f"({' '.join(map(repr, row))})" for row in rows)
        lines += [f"potential ({variable.name}{given})", "{", f"  data = ({data});", "}"]
    return "\n".join(lines) + "\n"


def _net_identifier(name: str) -> str:
    """Return an identifier that is no word of the format."""
    text = _identifier(name)
    return f"x_{text}" if _NET_WORDS.fullmatch(text.lower()) else text


def _net_text(text: str) -> str:
    """Return a text that may stand in quotes."""
    return printable_text(text).replace('"', "'").replace("\\", "/")


def net_variables(text: str) -> list[FileVariable]:
    """Return the variables of NET text, in the order of the nodes; errors name line and node."""
    reader = _NetReader(text)
    reader.read()
    variables = []
    for name, attributes in reader.nodes.items():
        if name not in reader.tables:
            raise GomeaBnError(f"node '{one_line(name)}' has no potential.")
        parents, words, position = reader.tables[name]
        reader.position = position
        for member in (name, *parents):
            if member not in reader.nodes:
                reader.fail(f"potential of '{one_line(name)}': unknown node '{one_line(member)}'")
        shape = [len(reader.states[member]) for member in (*parents, name)]
        try:
            table = table_of_numbers(words, shape, name)
        except GomeaBnError as error:
            reader.fail(str(error).rstrip("."))
        properties = {
            key[len(_PREFIX) :]: " ".join(value)
            for key, value in attributes.items()
            if key.startswith(_PREFIX)
        }
        variables.append(FileVariable(name, tuple(reader.states[name]), tuple(parents), table, properties))
    return variables


class _NetReader(TokenReader):
    """The tokens of a text, and the nodes and tables read so far."""

    def __init__(self, text: str) -> None:
        super().__init__(text, _NET_TOKEN)
        self.nodes: dict[str, dict[str, list[str]]] = {}
        self.states: dict[str, list[str]] = {}
        # parents, numbers, and the position of the last token
        self.tables: dict[str, tuple[list[str], list[str], int]] = {}

    def read(self) -> None:
        """Read all blocks."""
        if not self.tokens:
            raise GomeaBnError("the file is empty; it is not NET.")
        while self.position < len(self.tokens):
            word = self.take()
            if word == "discrete":
                word = self.take("node")
            if word == "net":
                self.attributes("the net")
            elif word == "node":
                self.node()
            elif word == "potential":
                self.potential()
            elif word in ("class", "continuous", "decision", "utility", "function"):
                name = self.take()
                self.fail(
                    f"'{one_line(name)}' is of the sort {word!r}; only discrete chance nodes can be read"
                )
            else:
                self.fail(f"wanted net, node or potential, got {word!r:.60}")

    def attributes(self, block: str) -> dict[str, list[str]]:
        """Return the attributes of a block, named for messages; values are lists of words and of unquoted texts."""
        self.take("{")
        attributes: dict[str, list[str]] = {}
        while (key := self.take()) != "}":
            if key in attributes:
                self.fail(f"{block} has two values of {key!r:.60}; remove one of them")
            self.take("=")
            values = []
            while (token := self.take()) != ";":
                if token in ("{", "}", "="):
                    self.fail(f"wanted ';' after the value of {key!r:.60}, got {token!r}")
                if token not in ("(", ")"):
                    values.append(token[1:-1] if token[0] == '"' else token)
            attributes[key] = values
        return attributes

    def node(self) -> None:
        """Read the states of a node."""
        name = self.take()
        if name in self.nodes:
            self.fail(f"duplicate node '{one_line(name)}'")
        attributes = self.attributes(f"node '{one_line(name)}'")
        if not attributes.get("states"):
            self.fail(f"node '{one_line(name)}' has no states")
        self.nodes[name], self.states[name] = attributes, attributes["states"]

    def potential(self) -> None:
        """Read the numbers of a table."""
        self.take("(")
        words = list(iter(self.take, ")"))
        bar = words.index("|") if "|" in words else len(words)
        children, parents = words[:bar], words[bar + 1 :]
        if len(children) != 1:
            self.fail(f"a potential must be of one node, got {len(children)}")
        if children[0] in self.tables:
            self.fail(f"node '{one_line(children[0])}' has two potentials")
        attributes = self.attributes(f"the potential of '{one_line(children[0])}'")
        if "data" not in attributes:
            self.fail(f"the potential of '{one_line(children[0])}' has no data")
        self.tables[children[0]] = (parents, attributes["data"], self.position)


def uai_variables(text: str) -> list[FileVariable]:
    """Return the variables of UAI text: x0, x1, ... with the levels 0, 1, ...

    Words from # to the end of a line are ignored, as pyAgrum writes them. The last variable of a function is its child.
    Errors name the function, counted from 0, or the variable.
    """
    words = iter([word for line in text.splitlines() for word in line.partition("#")[0].split()])
    sort = next(words, "")
    if sort != "BAYES":
        raise GomeaBnError(
            f"line 1: wanted BAYES, got {sort!r:.60}; other sorts of UAI files cannot be read."
        )
    n_variables = _uai_integer(words, "the number of variables", 1)
    cards = [
        _uai_integer(words, f"the number of states of variable {variable}", 1)
        for variable in range(n_variables)
    ]
    n_functions = _uai_integer(words, "the number of functions", 0)
    if n_functions != n_variables:
        raise GomeaBnError(f"wanted one function for each of {n_variables:,} variables, got {n_functions:,}.")
    scopes: list[list[int]] = []
    for number in range(n_functions):
        where = f"function {number}"
        size = _uai_integer(words, f"{where}: the number of its variables", 1)
        scopes.append([_uai_integer(words, f"{where}: a variable", 0, n_variables - 1) for _ in range(size)])
    names = column_names(n_variables)
    of_child: dict[int, FileVariable] = {}
    for number, scope in enumerate(scopes):
        n_cells = _uai_integer(words, f"function {number}: the number of its values", 1)
        child = scope[-1]
        if child in of_child:
            raise GomeaBnError(f"function {number}: variable {child} has another function already.")
        values = [_uai_word(words, f"function {number}: a value") for _ in range(n_cells)]
        table = table_of_numbers(values, [cards[member] for member in scope], names[child])
        levels = [str(code) for code in range(cards[child])]
        properties = {
            "name": names[child],
            "levels": " ".join(levels),
            "types": " ".join(["int"] * len(levels)),
        }
        parents = tuple(names[parent] for parent in scope[:-1])
        of_child[child] = FileVariable(names[child], tuple(levels), parents, table, properties)
    if (more := next(words, None)) is not None:
        raise GomeaBnError(f"wanted the end of the file after the last function, got {more!r:.60}.")
    return [of_child[position] for position in range(n_variables)]


def _uai_word(words: Iterator[str], what: str) -> str:
    """Return the next word of a file."""
    word = next(words, None)
    if word is None:
        raise GomeaBnError(f"{what} is missing: the file ends early.")
    return word


def _uai_integer(words: Iterator[str], what: str, least: int, most: int | None = None) -> int:
    """Return the next word of a file as an integer."""
    word = _uai_word(words, what)
    number = int(word) if word.isascii() and word.isdecimal() and len(word) < 19 else -1
    if number < least or (most is not None and number > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise GomeaBnError(f"{what} must be an integer {limits}, got {word!r:.60}.")
    return number


def to_xdsl(network: NetworkLike, boxes: Mapping[str, Box] | None = None) -> str:
    """Return a network as XDSL text; `boxes` are positions of nodes in pixels.

    Without them all nodes lie in one column. Identifiers of nodes and states keep ASCII letters, digits and "_"; every
    other character becomes "_". An identifier that would not begin with a letter gets the prefix "x_", and duplicates
    end in _2, _3, and so on. GeNIe shows the original names. Bins are called up_to_2_5, from_2_5_to_4, above_4. User
    properties gomea_bn_name, gomea_bn_edges and gomea_bn_levels restore names, bins and levels. Tables are in the order
    of GeNIe, the last parent faster than the first; pyAgrum 3.3 reverses the parents when it reads XDSL, and needs
    BIFXML instead.
    """
    names = distinct_names(network.names, _identifier, fold_case=True)
    variables = file_variables(network, names, _xdsl_bins, _identifier)
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
            f'\t\t\t<property id="{_PREFIX}{key}">{escape(value)}</property>'
            for key, value in variable.properties.items()
        ),
        f"\t\t\t<probabilities>{' '.join(map(repr, variable.table.ravel().tolist()))}</probabilities>",
        "\t\t</cpt>",
    ]


def _xdsl_bins(cuts: Sequence[float]) -> list[str]:
    """Return up_to_2_5, from_2_5_to_4, above_4; a minus becomes "minus_"."""
    names = bin_names(cuts, "up_to_{}", "from_{}_to_{}", "above_{}")
    return distinct_names(
        [name.replace("e-", "e_minus_").replace("-", "minus_") for name in names], _identifier
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
        if prod(shape) > _MOST_DETERMINISTIC:
            raise GomeaBnError(
                f"node '{one_line(name)}' has a table of {prod(shape):,} numbers; the limit of deterministic nodes is "
                f"{_MOST_DETERMINISTIC:,}."
            )
        chosen = child_text(node, "resultingstates", f"node '{one_line(name)}'").split()
        words = [str(int(state == result)) for result in chosen for state in states[name]]
    else:
        words = child_text(node, "probabilities", f"node '{one_line(name)}'").split()
    table = table_of_numbers(words, shape, name)
    properties = {
        str(entry.get("id"))[len(_PREFIX) :]: (entry.text or "").strip()
        for entry in node.findall("property")
        if str(entry.get("id")).startswith(_PREFIX)
    }
    return FileVariable(name, states[name], parents, table, properties)


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


_DEEPEST = 100
_LONGEST_DEFAULT = 200


class Element(ElementTree.Element):
    """An element of XML that knows the line of its start, counted from 1."""

    line: int = 0


_XML_ENCODING = re.compile(rb"""(\s*<\?xml[^>]*?encoding=["'])([\w.-]+)(["'])""")
_OF_EXPAT = (b"utf-8", b"utf-16", b"iso-8859-1", b"us-ascii")


def xml_tree(content: bytes, root: str) -> Element:
    """Return the root element of XML in the encoding that it declares, one of Python's.

    Document types are read, since files of other programs have them, but entities are refused: a few of them can make a
    small file expand to gigabytes. So are another root, and elements that are nested too deeply.
    """
    builder = ElementTree.TreeBuilder(element_factory=Element)
    parser = expat.ParserCreate()
    depth = 0

    def fail(message: str) -> NoReturn:
        raise GomeaBnError(f"line {parser.CurrentLineNumber}: {message}.")

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            fail(f"elements are nested more than {_DEEPEST} deep")
        if depth == 1 and tag != root:
            fail(f"wanted the root element {root}, got {tag!r:.60}")
        element = builder.start(tag, attributes)
        assert isinstance(element, Element)
        element.line = parser.CurrentLineNumber

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def refuse_entity(name: str, *_: object) -> None:
        fail(f"it declares the entity {name!r:.60}; remove it, since files with entities are not read")

    def check_default(element: str, _attribute: str, _kind: str, default: str | None, _required: int) -> None:
        if default is not None and len(default) > _LONGEST_DEFAULT:
            fail(f"an attribute of {element!r:.60} has a default of more than {_LONGEST_DEFAULT} characters")

    declared = _XML_ENCODING.match(content[:200])
    if declared is not None and declared[2].lower() not in _OF_EXPAT:
        # of other encodings expat knows those of single bytes alone
        try:
            text = content.decode(declared[2].decode("ascii"))
        except (UnicodeError, LookupError) as error:
            raise GomeaBnError(f"it is not text in the encoding that it declares: {error}.") from error
        content = _XML_ENCODING.sub(rb"\1utf-8\3", text.encode(), count=1)
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    parser.EntityDeclHandler = refuse_entity
    parser.AttlistDeclHandler = check_default
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        if isinstance(error, GomeaBnError):
            raise
        raise GomeaBnError(f"it is not XML: {error}.") from error
    tree = builder.close()
    assert isinstance(tree, Element)
    return tree


def child_text(element: ElementTree.Element, tag: str, owner: str) -> str:
    """Return the text of the child with a tag, without outer blanks; "" if there is none.

    Several are an error, whose message begins with the owner, for example "node 'rain'".
    """
    children = element.findall(tag)
    if len(children) > 1:
        raise GomeaBnError(f"{owner} has {len(children)} elements {tag} where one is allowed.")
    return (children[0].text or "").strip() if children else ""
