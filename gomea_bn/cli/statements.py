"""Statements about variables on the command line: "x=3.2", "x>3", "y in 2..5", "z in {a,b}"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf, isfinite
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any

from gomea_bn.cli.option_texts import fields_of
from gomea_bn.data.columns import Level, same_as_text
from gomea_bn.data.dates import number_of, value_in_words
from gomea_bn.data.number_texts import numbers_in
from gomea_bn.errors import GomeaBnError, nearest
from gomea_bn.network.parts import spellings, unknown_variable
from gomea_bn.network.rows import number_of_text
from gomea_bn.texts import listed

if TYPE_CHECKING:
    from gomea_bn.network.bayes_net import DiscretizedBayesNet

_FORMS = "NAME=VALUE, NAME>VALUE, NAME in LOW..HIGH or NAME in {VALUE,VALUE}"
_LIMIT = re.compile(r"[<>]=?\s*[^<>=\s]")
_HOLDS = {">=": ge, "<=": le, ">": gt, "<": lt}
# longer ones first
_COMPARISONS = (">=", "<=", ">", "<")


def read_statements(option: str, texts: Iterable[str], network: DiscretizedBayesNet) -> dict[str, Any]:
    """Return what statements say, by variable, as `DiscretizedBayesNet.query` takes it.

    A statement is a value, an interval, to which its ends belong and which may be infinite ("2..", "..5"), a comparison
    with <, <=, > or >=, or a set of levels. Intervals and comparisons are of continuous variables and of levels that
    are numbers. Names may hold any characters. `option` holds
    the statements, for messages.
    """
    stated: dict[str, Any] = {}
    for text in texts:
        name, operator, value = _parts(option, text, network)
        if operator == "=" and name in network.cut_points and _LIMIT.match(value):
            # "crp=<0.5" states what a laboratory writes for a value below its limit
            name, operator, value = _parts(option, f"{name}{value}", network)
        former = stated.pop(name, None)
        if former is not None and (operator == "=" or not isinstance(former, (tuple, set, _interval_type()))):
            raise GomeaBnError(
                f"{option} names '{name}' twice; give one statement per variable, or two limits such as {name}>=2 and "
                f"{name}<=3."
            )
        if operator == "=":
            stated[name] = _value(option, name, value, network)
        elif operator in _COMPARISONS:
            stated[name] = _compared(option, name, operator, value, network)
        elif value.startswith("{") and value.endswith("}"):
            if name in network.cut_points:
                raise GomeaBnError(
                    f"{option}: '{name}' is continuous and needs an interval, '{name} in 2..5', got {text!r:.120}."
                )
            stated[name] = {_value(option, name, field, network) for field in fields_of(option, value[1:-1])}
        else:
            stated[name] = _interval(option, name, value, network)
        if former is not None:
            stated[name] = _both(option, name, former, stated[name])
    return stated


def _interval_type() -> Any:
    import pandas as pd

    return pd.Interval


def _both(option: str, name: str, first: Any, second: Any) -> Any:
    """Return what satisfies two statements about one variable, each an interval or a set of levels."""
    if isinstance(first, set):
        both = first & second
        if not both:
            raise GomeaBnError(f"{option}: no level of '{name}' satisfies all that is stated about it.")
        return both
    ends = [_ends(first), _ends(second)]
    # of equal ends the open one is the narrower
    low, is_low_open = max((low, is_open) for (low, is_open), _ in ends)
    high, is_high_closed = min((high, not is_open) for _, (high, is_open) in ends)
    if not low < high:
        if low == high and is_high_closed and not is_low_open:
            number = str(low).removesuffix(".0")
            raise GomeaBnError(f"{option}: only one value satisfies what is stated; write {name}={number}.")
        raise GomeaBnError(f"{option}: no value of '{name}' satisfies all that is stated about it.")
    if is_high_closed and not is_low_open:
        return (low if isfinite(low) else None, high if isfinite(high) else None)
    closed = "right" if is_high_closed else "neither" if is_low_open else "left"
    return _interval_type()(low, high, closed=closed)


def _ends(interval: Any) -> tuple[tuple[float, bool], tuple[float, bool]]:
    """Return the ends of an interval, each with whether it is open."""
    if isinstance(interval, tuple):
        low, high = interval
        return (-inf if low is None else low, False), (inf if high is None else high, False)
    # an end that is infinite belongs to no value
    low, high = float(interval.left), float(interval.right)
    return (low, interval.open_left and isfinite(low)), (high, interval.open_right and isfinite(high))


def read_values(option: str, texts: Iterable[str], network: DiscretizedBayesNet) -> dict[str, Any]:
    """Return the values in statements "x=3.2" by variable; intervals and sets are errors, see `read_statements`."""
    texts = list(texts)
    for text in texts:
        name, operator, _ = _parts(option, text, network)
        if operator != "=":
            raise GomeaBnError(f"{option} must set '{name}' to one value, {name}=VALUE, got {text!r:.120}.")
    return read_statements(option, texts, network)


def _parts(option: str, text: str, network: DiscretizedBayesNet) -> tuple[str, str, str]:
    """Return the variable, the operator "=", "in" or a comparison, and the rest of a statement."""
    bare = text.strip()
    # a column of dates may be named as in its file, without the unit
    variables = spellings(network.names)
    # the longest name first, since names may hold operators
    for written in sorted(variables, key=len, reverse=True):
        rest = bare.removeprefix(written.strip())
        if rest == bare:
            continue
        name = variables[written]
        value = rest.lstrip()
        if value.startswith("=") and value[1:].strip():
            return name, "=", value[1:].strip()
        for comparison in _COMPARISONS:
            if value.startswith(comparison) and value.removeprefix(comparison).strip():
                return name, comparison, value.removeprefix(comparison).strip()
        if (
            rest[:1].isspace()
            and value.startswith("in")
            and value[2:3] in (" ", "{", ".", "-")
            and value[2:].strip()
        ):
            return name, "in", value[2:].strip()
    candidate = bare.partition("=")[0].partition(" in ")[0].strip()
    if candidate in variables:
        raise GomeaBnError(f"{option} must be {_FORMS}, got {text!r:.120}.")
    raise GomeaBnError(
        f"{option} must be {_FORMS}, got {text!r:.120}: {unknown_variable(candidate, network.names, network.metadata)}"
    )


def _value(option: str, name: str, text: str, network: DiscretizedBayesNet) -> Level:
    """Return a value of a variable: a number, or the level that equals the text or has it as its text."""
    if name in network.cut_points:
        return _number(option, name, text, network)
    levels = network.levels[name]
    for level in (
        *(level for level in levels if level == text),
        *(level for level in levels if str(level) == text or same_as_text(level, text)),
        # outer blanks are those of the statement
        *(level for level in levels if isinstance(level, str) and level.strip() == text.strip()),
    ):
        return level
    raise GomeaBnError(
        f"{option}: '{name}' has no level {text!r:.80}; its levels are {listed(map(str, levels), 10)}."
        f"{nearest(text, [str(level) for level in levels])}"
    )


def _number(option: str, name: str, text: str, network: DiscretizedBayesNet) -> float:
    """Return the number that a text stands for; of a column of dates, the text may also be a date."""
    number = number_of(text, name)
    if number is None:
        number = number_of_text(network, name, text, option)
    if number is None:
        advice = " Write decimals with a point." if "," in text else ""
        raise GomeaBnError(
            f"{option}: '{name}' is continuous and needs {value_in_words(name)}, got {text!r:.80}.{advice}"
        )
    return number


def _compared(option: str, name: str, operator: str, text: str, network: DiscretizedBayesNet) -> Any:
    """Return the interval of the values for which a comparison holds, or the set of the levels that are numbers."""
    if name not in network.cut_points:
        numbers = _numeric_levels(network.levels[name])
        if numbers is None:
            raise GomeaBnError(
                f"{option}: '{name}' has levels, which no comparison orders; give {name}=LEVEL or '{name} in {{a,b}}'."
            )
        end = _number(option, name, text, network)
        return _levels_where(
            option, name, numbers, f"{operator}{text}", lambda level: _HOLDS[operator](level, end)
        )
    end = _number(option, name, text, network)
    if operator in (">=", "<="):
        return (end, None) if operator == ">=" else (None, end)
    import pandas as pd

    low, high = (end, float("inf")) if operator == ">" else (float("-inf"), end)
    return pd.Interval(low, high, closed="neither")


def _numeric_levels(levels: Sequence[Level]) -> dict[float, Level] | None:
    """Return the levels by the numbers that they are, or None if one is no number."""
    if any(isinstance(level, bool) for level in levels):
        return None
    numbers = [numbers_in([level]) if isinstance(level, str) else [level] for level in levels]
    return (
        {float(read[0]): level for read, level in zip(numbers, levels, strict=True) if read}
        if all(numbers)
        else None
    )


def _levels_where(
    option: str, name: str, numbers: Mapping[float, Level], stated: str, holds: Callable[[float], bool]
) -> set[Level]:
    """Return the levels whose numbers satisfy a statement; it is an error if none does."""
    levels = {level for number, level in numbers.items() if holds(number)}
    if not levels:
        shown = listed([f"{number:g}" for number in sorted(numbers)], 10)
        raise GomeaBnError(
            f"{option}: no level of '{name}' satisfies {name}{stated}; its levels are {shown}."
        )
    return levels


def _interval(option: str, name: str, text: str, network: DiscretizedBayesNet) -> Any:
    """Return the ends of "2..5", None for an end that is open, or the set of the levels that are numbers within."""
    low, dots, high = text.partition("..")
    if (
        name not in network.cut_points
        and dots
        and (numbers := _numeric_levels(network.levels[name])) is not None
    ):
        least, most = (
            _number(option, name, end.strip(), network) if end.strip() else other
            for end, other in ((low, -inf), (high, inf))
        )
        return _levels_where(option, name, numbers, f" in {text}", lambda level: least <= level <= most)
    if name not in network.cut_points or not dots or not (low.strip() or high.strip()):
        wanted = (
            f"an interval, '{name} in 2..5'"
            if name in network.cut_points
            else f"a set of levels, '{name} in {{a,b}}'"
        )
        raise GomeaBnError(f"{option}: '{name}' needs {wanted}, got {text!r:.80}.")
    ends = [None if not end.strip() else _number(option, name, end.strip(), network) for end in (low, high)]
    if ends[0] is not None and ends[1] is not None and not ends[0] < ends[1]:
        raise GomeaBnError(
            f"{option}: the interval of '{name}' must have its smaller end first, got {text!r:.80}."
        )
    return ends[0], ends[1]
