"""UAI files: writing and reading."""

from __future__ import annotations

from collections.abc import Iterator

from gomea_bn.data.frames import column_names
from gomea_bn.errors import GomeaBnError
from gomea_bn.network.formats.discrete.file_variables import FileVariable, file_variables, table_of_numbers
from gomea_bn.network.recorded import NetworkLike


def to_uai(network: NetworkLike) -> str:
    """Return a network as UAI text (BAYES).

    The format has no names: variables are numbered in column order, bins from the lowest, levels in their order, all
    from 0. A variable with one bin or level gets a second state of probability 0. The last variable of a function is
    its child, and its states change fastest, as the format demands. pyAgrum 3.3 reverses the parents.
    """
    names = [str(position) for position in range(len(network.names))]
    variables = file_variables(
        network, names, lambda cuts: [str(code) for code in range(len(cuts) + 1)], lambda level: level
    )
    lines = [
        "BAYES",
        str(len(variables)),
        " ".join(str(len(variable.states)) for variable in variables),
        str(len(variables)),
    ]
    for variable in variables:
        scope = [*variable.parents, variable.name]
        lines.append(" ".join([str(len(scope)), *scope]))
    for variable in variables:
        rows = variable.table.reshape(-1, len(variable.states)).tolist()
        lines += ["", str(variable.table.size), *(" " + " ".join(map(repr, row)) for row in rows)]
    return "\n".join(lines) + "\n"


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
    n_variables = _integer(words, "the number of variables", 1)
    cards: list[int] = []
    while len(cards) < n_variables:
        cards.append(_integer(words, f"the number of states of variable {len(cards)}", 1))
    n_functions = _integer(words, "the number of functions", 0)
    if n_functions != n_variables:
        raise GomeaBnError(f"wanted one function for each of {n_variables:,} variables, got {n_functions:,}.")
    scopes: list[list[int]] = []
    while len(scopes) < n_functions:
        where = f"function {len(scopes)}"
        scope: list[int] = []
        size = _integer(words, f"{where}: the number of its variables", 1)
        while len(scope) < size:
            scope.append(_integer(words, f"{where}: a variable", 0, n_variables - 1))
        scopes.append(scope)
    names = column_names(n_variables)
    of_child: dict[int, FileVariable] = {}
    for number, scope in enumerate(scopes):
        n_cells = _integer(words, f"function {number}: the number of its values", 1)
        child = scope[-1]
        if child in of_child:
            raise GomeaBnError(f"function {number}: variable {child} has another function already.")
        values: list[str] = []
        while len(values) < n_cells:
            values.append(_word(words, f"function {number}: a value"))
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


def _word(words: Iterator[str], what: str) -> str:
    """Return the next word of a file."""
    word = next(words, None)
    if word is None:
        raise GomeaBnError(f"{what} is missing: the file ends early.")
    return word


def _integer(words: Iterator[str], what: str, least: int, most: int | None = None) -> int:
    """Return the next word of a file as an integer."""
    word = _word(words, what)
    number = int(word) if word.isascii() and word.isdecimal() and len(word) < 19 else -1
    if number < least or (most is not None and number > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise GomeaBnError(f"{what} must be an integer {limits}, got {word!r:.60}.")
    return number
