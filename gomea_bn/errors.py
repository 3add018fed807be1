"""The exception that users catch, warnings, checks of options and of the environment, and words that messages share."""

from __future__ import annotations

import difflib
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from numbers import Integral, Real
from sys import float_info
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from numpy.typing import NDArray


# of a limit that an environment variable sets
_MOST_DIGITS = 18


# integers are counted in int64
_MOST_INTEGER = 2**63 - 1
MOST_SEED = 2**128 - 1
"""Largest integer that is a seed."""


@dataclass(frozen=True)
class Setting:
    """Advice to set an option; a command line spells it by its own option names.

    `column` is that of an option that maps columns to values, and a tuple the value of one that takes several. Without
    a value the advice is to raise the present one.
    """

    name: str
    value: str | tuple[str, ...] | None = None
    column: str | None = None

    def __str__(self) -> str:
        """Return the advice as a clause, with the option as an argument in Python."""
        if self.value is None:
            return f"raise {self.name}"
        if isinstance(self.value, tuple):
            return f"pass {self.name}={list(self.value)!r}"
        if self.column is None:
            return f'pass {self.name}="{self.value}"'
        return f"pass {self.name}={{{self.column!r}: {self.value!r}}}"


@dataclass(frozen=True)
class Option:
    """An option by its name in Python, perhaps with its value, within a message; a command line spells its name."""

    name: str
    value: str | None = None

    def __str__(self) -> str:
        """Return the option as an argument in Python."""
        return self.name if self.value is None else f"{self.name}={self.value!r}"


@dataclass(frozen=True, eq=False)
class RowPositions:
    """Positions of rows within a message, int64 (n,), counted from 0; see `row_list`."""

    positions: NDArray[Any]

    def __str__(self) -> str:
        return row_list(self.positions)


class _Message(Exception):
    """A message with names of options, positions of rows, and advice.

    A command line spells options by its own names, and a table in pieces names the pieces of rows.
    """

    def __init__(
        self, message: str | Sequence[str | Option | RowPositions] = "", advice: Sequence[str | Setting] = ()
    ) -> None:
        whole = message if isinstance(message, str) else tuple(message)
        # `args` holds all arguments: a copied or unpickled error is made from them
        super().__init__(whole, *([tuple(advice)] if advice else []))

    def text(self, spell: Callable[[Option | Setting], str] = str) -> str:
        """Return the message and the advice, each `Option` and `Setting` in the words of `spell`."""
        parts, *advice = self.args
        if isinstance(parts, tuple):
            parts = "".join(spell(part) if isinstance(part, Option) else str(part) for part in parts)
        clauses = [clause if isinstance(clause, str) else spell(clause) for part in advice for clause in part]
        if not clauses:
            return str(parts)
        *first, last = clauses
        joined = f"{', '.join(first)}, or {last}" if first else last
        # after a colon the advice goes on with the sentence
        if not str(parts).endswith(":"):
            joined = joined[0].upper() + joined[1:]
        return f"{parts} {joined}."

    def __str__(self) -> str:
        return self.text()

    def within(self, data: str) -> Self:
        """Return the same message after words that name the data it is about; one about an option stays as it is."""
        if self.is_about_option:
            return self
        parts, *advice = self.args
        return type(self)([data, *([parts] if isinstance(parts, str) else parts)], *advice)

    def with_rows(self, named: Callable[[NDArray[Any]], str]) -> Self:
        """Return the same message with the words of `named` for the positions of rows."""
        parts, *advice = self.args
        if isinstance(parts, str):
            return self
        return type(self)([named(p.positions) if isinstance(p, RowPositions) else p for p in parts], *advice)

    @property
    def is_about_option(self) -> bool:
        """Whether the message starts with an option: then its value is wrong, not the data."""
        parts = self.args[0]
        return isinstance(parts, tuple) and bool(parts) and isinstance(parts[0], Option)


class GomeaBnError(_Message, ValueError):
    """Raised for input that cannot be used; the message names the column, row or option concerned.

    Parameters
    ----------
    message : str, or sequence of str, Option and Rows
        What is wrong, as whole sentences. The parts of a sequence are joined.
    advice : sequence of str or Setting
        Remedies, any one of which helps, as clauses ("drop the column"). They end the message as one sentence.

    Examples
    --------
    >>> from gomea_bn import GomeaBnError, Real
    >>> try:
    ...     Real(1, 0)
    ... except GomeaBnError as error:
    ...     print(error)
    Real: low must be below high, both finite numbers, got 1 and 0.
    """


class GomeaBnErrors(GomeaBnError):
    """Raised for several problems of one table, the gravest first, each with its own advice.

    Parameters
    ----------
    errors : sequence of GomeaBnError
        At least two.
    """

    def __init__(self, errors: Sequence[GomeaBnError]) -> None:
        super().__init__()
        self.args = (tuple(errors),)

    def text(self, spell: Callable[[Option | Setting], str] = str) -> str:
        """Return the messages, numbered, each on lines of its own; see `GomeaBnError`."""
        errors = [f"{number}. {error.text(spell)}" for number, error in enumerate(self.args[0], 1)]
        return "\n".join([f"{len(errors)} problems:", *errors])

    def within(self, data: str) -> Self:
        """Return the same messages after words that name the data."""
        return type(self)([error.within(data) for error in self.args[0]])

    def with_rows(self, named: Callable[[NDArray[Any]], str]) -> Self:
        """Return the same messages with the words of `named` for the positions of rows."""
        return type(self)([error.with_rows(named) for error in self.args[0]])


def raise_all(errors: Sequence[GomeaBnError]) -> None:
    """Raise the only error, or all of them as one; do nothing if there is none."""
    if errors:
        raise errors[0] if len(errors) == 1 else GomeaBnErrors(errors)


class GomeaBnWarning(_Message, UserWarning):
    """Given for input that can be used, but not as its owner may expect; the parameters are those of `GomeaBnError`.

    Examples
    --------
    >>> import warnings
    >>> from gomea_bn import GomeaBnWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", GomeaBnWarning)  # an exception in place of each warning
    """


class RowsDiffer(GomeaBnWarning):
    """Given for an answer from which the rows that satisfy the findings differ by more than chance.

    Examples
    --------
    >>> import warnings
    >>> from gomea_bn import RowsDiffer
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", RowsDiffer)  # questions here are answered without it
    """


# packages whose frames lie between a user's call and a warning: this one, and what calls its functions for it
_PASSED = frozenset({"gomea_bn", "contextlib", "copy", "dataclasses", "functools", "importlib"})


def give_warning(warning: str | Warning, category: type[Warning] = GomeaBnWarning) -> None:
    """Give a warning at the line of the caller of this package, however deep inside the package it is found.

    A text becomes a warning of the category.
    """
    frame = sys._getframe(1)
    while frame.f_globals.get("__name__", "").partition(".")[0] in _PASSED and frame.f_back is not None:
        frame = frame.f_back
    scope = frame.f_globals
    # what `warnings.warn` does for a number of frames that is known
    warnings.warn_explicit(
        warning,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=scope.get("__name__"),
        registry=scope.setdefault("__warningregistry__", {}),
    )


def wrong_option(name: str, problem: str) -> GomeaBnError:
    """Return the error for the value of an option, a sentence that begins with its name."""
    return GomeaBnError([Option(name), f" {problem}"])


def is_integer(value: object) -> bool:
    """Return whether a value is an integer, NumPy's included; True and False are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_real(value: object) -> bool:
    """Return whether a value is a real number, NumPy's included; True, False and integers beyond float64 are not."""
    if isinstance(value, bool) or (isinstance(value, Integral) and abs(int(value)) > float_info.max):
        return False
    return isinstance(value, Real)


def check_integer(
    name: str, value: Any, least: int, most: int | None = None, *, optional: bool = False
) -> None:
    """Raise `GomeaBnError` unless an option is an integer from `least` to `most`, or None if `optional`.

    Both ends are included; `most` is at most the largest int64. True and False are not integers.
    """
    if optional and value is None:
        return
    if not is_integer(value) or not least <= value <= (_MOST_INTEGER if most is None else most):
        is_huge = most is None and is_integer(value) and value > least
        limits = f"from {least} to {most}" if most is not None else f"of at least {least}"
        limits += " and below 2**63" if is_huge else ""
        raise wrong_option(
            name, f"must be an integer {limits}{' or None' if optional else ''}, got {value!r:.80}."
        )


def check_probabilities(name: str, values: Any) -> list[float]:
    """Return an option as a list; raises `GomeaBnError` unless it is a sequence of numbers from 0 to 1."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        example = f", such as [{values!r}]" if is_real(values) else ""
        raise wrong_option(name, f"must be a sequence of numbers from 0 to 1{example}, got {values!r:.80}.")
    checked = list(values)
    for position, value in enumerate(checked):
        check_number(f"{name}[{position}]", value, 0, 1)
    return checked


def names_in(name: str, value: Any) -> list[Any]:
    """Return an option as a list; raises `GomeaBnError` unless it is a name or a sequence."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, bytes) or not isinstance(value, Iterable):
        raise wrong_option(name, f"must be a name or a sequence of names, got {value!r:.80}.")
    return list(value)


def pairs_in(name: str, value: Any) -> list[tuple[str, str]]:
    """Return an option as a list of pairs; raises `GomeaBnError` unless it is a series of two names each."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise wrong_option(name, f"must be (parent, child) pairs of names, got {value!r:.80}.")
    pairs = []
    for pair in value:
        is_pair = isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2
        if not is_pair or not all(isinstance(end, str) for end in pair):
            raise GomeaBnError(f"An edge must be a pair of names (parent, child), got {pair!r:.80}.")
        pairs.append((str(pair[0]), str(pair[1])))
    return pairs


def mapping_in(name: str, value: Any, keys: str = "variable names") -> dict[Any, Any]:
    """Return an option as a dict, empty for None; raises `GomeaBnError` unless it is a mapping."""
    if value is not None and not isinstance(value, Mapping):
        raise wrong_option(name, f"must map {keys} to values, got {value!r:.80}.")
    return dict(value or {})


def check_number(
    name: str,
    value: Any,
    least: float = -inf,
    most: float = inf,
    *,
    above: bool = False,
    below: bool = False,
    optional: bool = False,
) -> None:
    """Raise `GomeaBnError` unless an option is a finite number in a range, or None if `optional`.

    Both ends are included, unless `above` or `below` exclude them.
    """
    if optional and value is None:
        return
    in_range = is_real(value) and least <= value <= most and abs(value) < inf
    if in_range and not (above and value == least) and not (below and value == most):
        return
    lower = "" if least == -inf else f"{'above' if above else 'of at least'} {least:g}"
    upper = "" if most == inf else f"{'below' if below else 'at most'} {most:g}"
    limits = " and ".join(filter(None, (lower, upper)))
    number = f"a finite number{' ' if limits else ''}{limits}{' or None' if optional else ''}"
    raise wrong_option(name, f"must be {number}, got {value!r:.80}.")


def check_choice(name: str, value: Any, choices: Sequence[str], *, optional: bool = False) -> None:
    """Raise `GomeaBnError` unless an option is one of the choices, or None if `optional`."""
    if (optional and value is None) or (isinstance(value, str) and value in choices):
        return
    hint = nearest(value, choices) if isinstance(value, str) else ""
    listed_choices = ", ".join(map(repr, choices)) + (" or None" if optional else "")
    raise wrong_option(name, f"must be one of {listed_choices}, got {value!r:.80}.{hint}")


def check_flag(name: str, value: Any) -> None:
    """Raise `GomeaBnError` unless an option is True or False."""
    if not isinstance(value, bool):
        raise wrong_option(name, f"must be True or False, got {value!r:.80}.")


def environment_limit(variable: str, default: int, unit: str) -> int:
    """Return a limit that an environment variable sets, which must be a positive integer."""
    text = os.environ.get(variable, str(default))
    if not text.isascii() or not text.isdigit() or len(text) > _MOST_DIGITS or int(text) == 0:
        raise GomeaBnError(
            f"The environment variable {variable} must be a positive number of {unit}, got {text!r:.80}."
        )
    return int(text)


def check_verbose(value: Any) -> None:
    """Raise `GomeaBnError` unless the option "verbose" is True or False, or a level of other libraries."""
    if not isinstance(value, int):
        raise wrong_option("verbose", f"must be True or False, got {value!r:.80}.")


def check_callable(name: str, value: Any) -> None:
    """Raise `GomeaBnError` unless an option is None or a function that takes the progress of a run."""
    if value is not None and not callable(value):
        raise wrong_option(name, f"must be a callable that takes a Progress, or None, got {value!r:.80}.")


def nearest(name: str, names: Iterable[str]) -> str:
    """Return the sentence " Did you mean 'x'?" for the closest of the names, or an empty text."""
    candidates = list(names)
    same_but_case = [other for other in candidates if other.strip().casefold() == name.strip().casefold()]
    match = same_but_case or difflib.get_close_matches(name, candidates, n=1, cutoff=0.6)
    return f" Did you mean '{match[0]}'?" if match else ""


def row_list(rows: NDArray[Any] | Sequence[int]) -> str:
    """Return "row 4" or "rows 4, 19, 87 and 12 more", at most eight; rows are counted from 0."""
    first = ", ".join(str(int(row)) for row in rows[:8])
    more = f" and {len(rows) - 8} more" if len(rows) > 8 else ""
    return f"row{'s' if len(rows) != 1 else ''} {first}{more} (counted from 0)"


# options with another name than in Python
_OPTION_NAMES = {
    "equivalent_sample_size": "--ess",
    "forbidden_edges": "--forbid",
    "forms": "--form",
    "groups": "--group",
    "kinds": "--kind",
    "max_networks": "--networks",
    "n_jobs": "--jobs",
    "random_state": "--seed",
    "required_edges": "--require",
    "sample_weight": "--weight",
    "temporal_order": "--tier",
}


def spelling(names: Mapping[str, str] | None = None) -> Callable[[Option | Setting], str]:
    """Return the function that spells options in messages as on the command line.

    `names` has what the user wrote for an option of this name in Python, where that differs between calls of a command:
    for example "--tiers" for "temporal_order".
    """
    option_names = {**_OPTION_NAMES, **(names or {})}

    def option_of(name: str) -> str:
        # check functions also get names of values that are not options
        return option_names.get(name, f"--{name.replace('_', '-')}" if name.isidentifier() else name)

    def spell(part: Option | Setting) -> str:
        if isinstance(part, Option):
            return option_of(part.name) + ("" if part.value is None else f" {shlex.quote(part.value)}")
        option = option_of(part.name)
        if part.value is None:
            return f"raise {option}"
        given = part.value if isinstance(part.value, str) else ",".join(map(_field, part.value))
        value = given if part.column is None else f"{part.column}={given}"
        # the full stop of a value is not that of the sentence
        quoted = f"'{value}'" if value.endswith(".") and shlex.quote(value) == value else shlex.quote(value)
        return f"give {option} {quoted}"

    return spell


def _field(text: str) -> str:
    """Return one of several values that commas separate, quoted as in CSV where it must be."""
    return '"{}"'.format(text.replace('"', '""')) if "," in text or text[:1] == '"' else text


def first_line(error: BaseException) -> str:
    """Return the first line of the message of another library's error, with a full stop."""
    lines = str(error).strip().splitlines()
    return (lines[0].rstrip(" .") if lines else type(error).__name__) + "."
