"""Spaces of named variables: what a search varies, and what a user's function gets."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, inf, log
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, check_flag, check_integer, is_integer, is_real
from gomea_bn.runtime.limits import Result

# integers of more values, and all next to real numbers, are real numbers that are rounded, as their order counts
_MOST_LEVELS = 16

Condition = Mapping[str, Any]


@dataclass(frozen=True)
class _Variable:
    """A named variable of a space, which one or several numbers stand for.

    `active_when` has names of earlier variables with the value that each must have, or a list or set of such values.
    """

    active_when: Condition | None = field(default=None, kw_only=True)

    @property
    def ranges(self) -> list[tuple[int, float, float]]:
        """Cardinality, 0 for a real number, and lower and upper end of every number."""
        raise NotImplementedError

    def value(self, numbers: NDArray[Any]) -> Any:
        """Return the value that some numbers stand for."""
        raise NotImplementedError

    def numbers(self, value: Any) -> Sequence[float]:
        """Return the numbers that stand for a value; raises `ValueError` for another value."""
        raise NotImplementedError


@dataclass(frozen=True)
class Real(_Variable):
    """A real number from `low` to `high`, on a logarithmic scale if `log`.

    Examples
    --------
    >>> from gomea_bn import Real, optimise
    >>> result = optimise(lambda v: (v["x"] - 2) ** 2, space={"x": Real(-5, 5)}, random_state=1, max_evaluations=500)
    >>> round(result.values["x"], 3)
    2.0
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        _check_ends(self)

    @property
    def ranges(self) -> list[tuple[int, float, float]]:
        """Cardinality 0 and the ends, or their logarithms."""
        return [(0, log(self.low), log(self.high)) if self.log else (0, float(self.low), float(self.high))]

    def value(self, numbers: NDArray[Any]) -> float:
        """Return the number."""
        number = float(numbers[0])
        return min(max(exp(number), self.low), self.high) if self.log else number

    def numbers(self, value: Any) -> Sequence[float]:
        """Return the number, or its logarithm."""
        if not (is_real(value) and self.low <= value <= self.high):
            raise ValueError(f"a number from {self.low} to {self.high}")
        return [log(value) if self.log else float(value)]


@dataclass(frozen=True)
class Integer(_Variable):
    """An integer from `low` to `high`, both included, on a logarithmic scale if `log`.

    Examples
    --------
    >>> from gomea_bn import Integer, optimise
    >>> space = {"depth": Integer(1, 12)}
    >>> optimise(lambda v: (v["depth"] - 7) ** 2, space=space, random_state=1, max_evaluations=400).values
    {'depth': 7}
    """

    low: int
    high: int
    log: bool = False
    # whether it is a real number inside the search, where its order counts
    is_rounded: bool = field(default=False, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_ends(self)
        if not (is_integer(self.low) and is_integer(self.high)):
            raise GomeaBnError(f"Integer: low and high must be integers, got {self.low!r} and {self.high!r}.")

    def rounded(self) -> Integer:
        """Return the same variable, which is a real number inside the search."""
        copied = replace(self)
        object.__setattr__(copied, "is_rounded", True)
        return copied

    @property
    def ranges(self) -> list[tuple[int, float, float]]:
        """The number of values of a short range, or the ends of a long one."""
        levels = self.high - self.low + 1
        if levels <= _MOST_LEVELS and not (self.log or self.is_rounded):
            return [(levels, 0.0, levels - 1.0)]
        low, high = self.low - 0.5, self.high + 0.5
        return [(0, log(low), log(high)) if self.log else (0, low, high)]

    def value(self, numbers: NDArray[Any]) -> int:
        """Return the integer."""
        if self.ranges[0][0]:
            return self.low + int(numbers[0])
        number = exp(numbers[0]) if self.log else float(numbers[0])
        return min(max(round(number), self.low), self.high)

    def numbers(self, value: Any) -> Sequence[float]:
        """Return the position in a short range, or the integer, or its logarithm."""
        if not (is_real(value) and self.low <= value <= self.high and value == int(value)):
            raise ValueError(f"an integer from {self.low} to {self.high}")
        if self.ranges[0][0]:
            return [float(value - self.low)]
        return [log(value) if self.log else float(value)]


@dataclass(frozen=True)
class Categorical(_Variable):
    """One of some values without an order; ``Categorical([False, True])`` is a binary variable.

    Examples
    --------
    >>> from gomea_bn import Categorical, optimise
    >>> space = {"kind": Categorical(["line", "tree"]), "pruned": Categorical([False, True])}
    >>> cost = {"line": 2.0, "tree": 1.0}
    >>> result = optimise(lambda v: cost[v["kind"]] - v["pruned"], space=space, random_state=1, max_evaluations=50)
    >>> result.values
    {'kind': 'tree', 'pruned': True}
    """

    choices: Sequence[Any]

    def __post_init__(self) -> None:
        if isinstance(self.choices, str) or not isinstance(self.choices, Iterable):
            raise GomeaBnError(f"Categorical: choices must be a list of values, got {self.choices!r:.80}.")
        object.__setattr__(self, "choices", list(self.choices))
        if not self.choices:
            raise GomeaBnError("Categorical: choices must hold at least one value, got none.")

    @property
    def ranges(self) -> list[tuple[int, float, float]]:
        """The number of choices."""
        return [(len(self.choices), 0.0, len(self.choices) - 1.0)]

    def value(self, numbers: NDArray[Any]) -> Any:
        """Return the choice."""
        return self.choices[int(numbers[0])]

    def numbers(self, value: Any) -> Sequence[float]:
        """Return the position of a choice."""
        if value not in self.choices:
            raise ValueError(f"one of {self.choices!r:.80}")
        return [float(self.choices.index(value))]


@dataclass(frozen=True)
class Permutation(_Variable):
    """An order of the integers from 0 to n - 1, as a list; inside the search it is the order of n real keys.

    Examples
    --------
    >>> from gomea_bn import Permutation, optimise
    >>> def steps(values):
    ...     order = values["order"]
    ...     return sum(abs(a - b) for a, b in zip(order, order[1:]))
    >>> result = optimise(steps, space={"order": Permutation(6)}, random_state=1, target=5, max_evaluations=20_000)
    >>> result.F
    array([5.])
    """

    n: int

    def __post_init__(self) -> None:
        check_integer("Permutation: n", self.n, 1)

    @property
    def ranges(self) -> list[tuple[int, float, float]]:
        """The range of every key, from 0 to 1."""
        return [(0, 0.0, 1.0)] * self.n

    def value(self, numbers: NDArray[Any]) -> list[int]:
        """Return the order of the keys, the first of equals first."""
        order: list[int] = np.argsort(numbers, kind="stable").tolist()
        return order

    def numbers(self, value: Any) -> Sequence[float]:
        """Return keys in the middle of n parts of their range."""
        if sorted(value) != list(range(self.n)):
            raise ValueError(f"an order of 0 to {self.n - 1}")
        return ((np.argsort(value) + 0.5) / self.n).tolist()  # type: ignore[no-any-return]


def _check_ends(variable: Real | Integer) -> None:
    """Raise `GomeaBnError` unless a variable's ends are numbers in order, above 0 if its scale is logarithmic."""
    low, high, kind = variable.low, variable.high, type(variable).__name__
    check_flag(f"{kind}: log", variable.log)
    if not (is_real(low) and is_real(high) and -inf < low < high < inf):
        raise GomeaBnError(
            f"{kind}: low must be below high, both finite numbers, got {low!r:.40} and {high!r:.40}."
        )
    if variable.log and low <= 0:
        raise GomeaBnError(f"{kind}: low must be above 0 on a logarithmic scale, got {low!r:.40}.")


def _wanted(wanted: Any) -> list[Any]:
    """Return the values of a condition: those of a list or set, or a single one."""
    return list(wanted) if isinstance(wanted, (list, set, frozenset)) else [wanted]


def _check_condition(name: str, other: str, variable: _Variable, wanted: Any) -> None:
    """Raise `GomeaBnError` if a variable is active by values that another one cannot have."""
    for one in _wanted(wanted):
        try:
            variable.numbers(one)
        except (ValueError, TypeError, OverflowError) as error:
            raise GomeaBnError(
                f"space: {name!r} is active by {other!r} = {one!r:.80}, which must be {error}."
            ) from error


class Space:
    """The numbers that stand for named variables.

    A variable that is not active has no value, and its numbers have no effect.
    """

    def __init__(self, variables: Mapping[str, _Variable]) -> None:
        if not isinstance(variables, Mapping) or not variables:
            raise GomeaBnError(f"space must have a variable by each name, got {variables!r:.80}.")
        self.variables = dict(variables)
        names: list[str] = []
        for name, variable in self.variables.items():
            if not isinstance(variable, _Variable):
                raise GomeaBnError(
                    f"space: {name!r:.80} must be a Real, Integer, Categorical or Permutation, got {variable!r:.80}."
                )
            if not isinstance(variable.active_when or {}, Mapping):
                raise GomeaBnError(
                    f"space: active_when of {name!r} must have a value by each name, got {variable.active_when!r:.80}."
                )
            for other, wanted in (variable.active_when or {}).items():
                if other not in names:
                    raise GomeaBnError(
                        f"space: {name!r} is active by {other!r:.80}, which must be a variable before it."
                    )
                _check_condition(name, other, self.variables[other], wanted)
            names.append(name)
        if any(not size for variable in self.variables.values() for size, _, _ in variable.ranges):
            for name, variable in self.variables.items():
                if isinstance(variable, Integer):
                    self.variables[name] = variable.rounded()
        ranges = [numbers for variable in self.variables.values() for numbers in variable.ranges]
        sizes, lower, upper = zip(*ranges, strict=True)
        self.n_variables = len(ranges)
        self.alphabet = list(sizes) if any(sizes) else None
        self.bounds = None if all(sizes) else (lower, upper)
        # numbers differ wherever values do
        self._is_plain = all(
            isinstance(variable, (Real, Categorical)) and not variable.active_when
            for variable in self.variables.values()
        )

    def values(self, x: NDArray[Any]) -> dict[str, Any]:
        """Return the values of the active variables that numbers (n_variables,) stand for."""
        values: dict[str, Any] = {}
        first = 0
        for name, variable in self.variables.items():
            last = first + len(variable.ranges)
            if all(
                other in values and any(values[other] == one for one in _wanted(wanted))
                for other, wanted in (variable.active_when or {}).items()
            ):
                values[name] = variable.value(x[first:last])
            first = last
        return values

    def key(self, x: NDArray[Any]) -> bytes:
        """Return bytes that are the same for all numbers (n_variables,) that stand for the same values."""
        if self._is_plain:
            return bytes(x.tobytes())
        values = self.values(x)
        parts: list[Any] = []
        first = 0
        for name, variable in self.variables.items():
            last = first + len(variable.ranges)
            # a choice by its position, since texts of choices may be equal
            of_name = int(x[first]) if isinstance(variable, Categorical) else values.get(name)
            parts.append(of_name if name in values else None)
            first = last
        return repr(parts).encode()

    @property
    def digest(self) -> str:
        """Digest of the names and of what they stand for."""
        return hashlib.sha256(repr(self.variables).encode()).hexdigest()

    def numbers(self, values: Mapping[str, Any]) -> list[float]:
        """Return numbers that stand for values by name; raises `GomeaBnError` for a value that does not fit."""
        unknown = next((name for name in values if name not in self.variables), None)
        if unknown is not None:
            raise GomeaBnError(f"initial has {unknown!r:.80}, which is no variable of the space.")
        numbers: list[float] = []
        for name, variable in self.variables.items():
            if name not in values:
                numbers += [low for _, low, _ in variable.ranges]
                continue
            try:
                numbers += variable.numbers(values[name])
            except (ValueError, TypeError, OverflowError) as error:
                raise GomeaBnError(f"initial: {name!r} must be {error}, got {values[name]!r:.80}.") from error
        return numbers

    def rows(self, initial: Any) -> Any:
        """Return initial solutions by name, one or a list of them, as numbers (k, n_variables); others as they are."""
        if isinstance(initial, Mapping):
            initial = [initial]
        if not isinstance(initial, (list, tuple)) or not all(isinstance(row, Mapping) for row in initial):
            return initial
        rows = np.array([self.numbers(row) for row in initial])
        return rows if self.bounds is not None else rows.astype(np.int64)


class NamedProblem:
    """A user's object that has a `space`, in the numbers that a search varies; its function gets values by name."""

    def __init__(self, user: Any) -> None:
        self.problem = user
        self.space = user.space if isinstance(user.space, Space) else Space(user.space)
        self.n_variables = self.space.n_variables
        if self.space.alphabet is not None:
            self.alphabet = self.space.alphabet
        if self.space.bounds is not None:
            self.bounds = self.space.bounds
        for name in ("n_objectives", "target"):
            if hasattr(user, name):
                setattr(self, name, getattr(user, name))
        for name in ("evaluate", "evaluate_batch"):
            if callable(getattr(user, name, None)):
                setattr(self, name, getattr(self, f"_{name}"))

    def _evaluate(self, x: NDArray[Any]) -> Any:
        return self.problem.evaluate(self.space.values(x))

    def _evaluate_batch(self, solutions: NDArray[Any]) -> Any:
        return self.problem.evaluate_batch(self.named(solutions))

    def named(self, solutions: NDArray[Any]) -> list[dict[str, Any]]:
        """Return the values by name of every row of solutions (k, n_variables)."""
        return [self.space.values(x) for x in solutions]

    def key(self, x: NDArray[Any]) -> bytes:
        """Return bytes that are the same for all numbers that stand for the same values."""
        return self.space.key(x)


def named_user(problem: Any) -> NamedProblem | None:
    """Return the user's object of a problem, or of an asked one, if it has a space."""
    user = getattr(problem, "user", None)
    user = getattr(user, "given", user)
    return user if isinstance(user, NamedProblem) else None


def by_name(result: Result, user: NamedProblem | None) -> Result:
    """Return a result with the values by name of its solutions, if the user's object has a space."""
    if user is None:
        return result
    values: Any = user.named(np.atleast_2d(result.X)) if len(result.X) else []
    return replace(result, extra={**result.extra, "values": values if result.X.ndim == 2 else values[0]})


def posed(problem: Any, space: Any = None) -> Any:
    """Return a user's problem as an object, in numbers if it has a space: an object, a function, or a space alone."""
    if isinstance(problem, NamedProblem):
        return problem
    if isinstance(problem, Mapping) and space is None:
        problem = SimpleNamespace(space=problem)
    elif space is not None:
        if not callable(problem):
            raise GomeaBnError(
                f"space is for a function of values by name, got {problem!r:.80}. An object has its space as a member."
            )
        problem = SimpleNamespace(space=space, evaluate=problem)
    return NamedProblem(problem) if getattr(problem, "space", None) is not None else problem
