"""Reader of UAI, the format of the competitions of inference."""

from __future__ import annotations

from collections.abc import Iterator

from gomea_bn.data.frames import column_names
from gomea_bn.errors import GomeaBnError
from gomea_bn.network.formats.discrete import FileVariable, table_of_numbers


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
