"""Problems from a user's plain Python objects, whose functions the compiled search calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, check_integer
from gomea_bn.problems.base import (
    CompiledProblem,
    check_cardinalities,
    data_digest,
    with_defaults,
)
from gomea_bn.problems.continuous import RealKernelProblem, RealProblem, outside, with_real_defaults
from gomea_bn.problems.kernels.python_calls import PythonData
from gomea_bn.problems.spaces import NamedProblem, posed
from gomea_bn.runtime.evaluations import ROUND, Evaluations, Meeting, Request


def _numbers(part: Any) -> NDArray[np.float64]:
    """Return a part of an answer as float64; raises `TypeError` for text and complex numbers, which NumPy converts."""
    array = np.asarray(part)
    if array.dtype.kind not in "biufO":
        raise TypeError(f"{array.dtype} is not a type of real numbers")
    return array.astype(np.float64)


class PythonProblem(CompiledProblem):
    """The problem of a plain object with ``n_variables``, ``evaluate``, and ``alphabet``, ``bounds`` or both.

    ``alphabet`` holds cardinalities from 1 to 32,767: one for all variables, or one per variable; next to ``bounds`` it
    has an entry for every variable, 0 for real ones. ``bounds`` are (lower, upper), each a number or of shape
    (n_variables,). ``initial_range`` has (least, largest) initial values; it is optional if the bounds are finite.
    ``interactions``, pairs of real variables that share a term, are optional too.

    ``evaluate(x)`` returns the objective, or (objectives, violation), or (objectives, violation, terms). Several
    objectives alone must be a list or an array, as a tuple has one of the other meanings. Optional are ``n_terms``,
    ``n_objectives``, ``target``, the known optimum, ``sample(generator, n)``, which returns initial solutions (n,
    n_variables), and ``evaluate_partial(x, changed, parent_terms)``, which returns the same as ``evaluate`` after the
    variables `changed` (int64 indices) changed, from the terms before the change. Without ``n_terms`` the terms are
    the objectives. A problem whose change depends on former values needs its own terms. For real variables
    ``evaluate_partial`` is also called without a changed variable; it then computes the objective from the terms.

    All objectives are minimised. `x` is one read-only array that the next call overwrites, so copy it to keep it: int16
    for discrete variables alone, else float64 in which discrete values are 0.0 to cardinality - 1. Equal solutions
    must give equal objectives, so sum partial results in a fixed order. An exception in a function ends the search and
    reaches the caller. A member that is lacking or cannot be used raises `GomeaBnError`.

    Examples
    --------
    >>> class OneMax:
    ...     n_variables, alphabet = 4, 2
    ...     def evaluate(self, x):
    ...         return -float(x.sum())
    >>> PythonProblem(OneMax()).alphabet
    array([2, 2, 2, 2])
    """

    # every solution has its own random numbers, so that solutions may wait for their evaluations together
    solutions_per_block = 1
    interactions: list[tuple[int, int]] | None = None

    def __init__(self, problem: Any) -> None:
        self.user = problem
        self.n_variables = self._number("n_variables", None)
        if not any(callable(getattr(problem, name, None)) for name in ("evaluate", "evaluate_batch")):
            raise GomeaBnError(f"{type(problem).__name__} needs a method evaluate(x) or evaluate_batch(X).")
        if hasattr(problem, "n_terms") and not callable(getattr(problem, "evaluate", None)):
            raise GomeaBnError(f"{type(problem).__name__} has n_terms, so it needs a method evaluate(x).")
        self.n_objectives = self._number("n_objectives", 1)
        self.n_terms = self._number("n_terms", self.n_objectives)
        self.target = getattr(problem, "target", None)
        self._has_terms = hasattr(problem, "n_terms")
        self.evaluations = Evaluations(problem)
        self.fails_softly = False
        self._errors: list[BaseException] = []
        self._data: list[PythonData] = []
        self._callables: list[Callable[[], None]] = []
        self.is_real = getattr(problem, "bounds", None) is not None
        self.dtype: type[np.generic] = np.float64 if self.is_real else np.int16
        self.alphabet: Any
        self._ranges: RealKernelProblem | None = None
        if self.is_real:
            self._take_bounds(problem.bounds)
        else:
            self.alphabet = self._cardinalities(getattr(problem, "alphabet", None))
            self.allowed = np.arange(self.alphabet.max()) < self.alphabet[:, None]
            self.ordinal = np.zeros(self.n_variables, np.bool_)

    def _number(self, name: str, default: int | None) -> int:
        """Return a member of the user's object that must be an integer of at least 1."""
        number: Any = getattr(self.user, name, default)
        check_integer(f"{type(self.user).__name__}.{name}", number, 1)
        return int(number)

    def meet(self) -> None:
        """Let the evaluations of all threads of a run be answered together from now on."""
        self.meeting = Meeting(self.evaluations.answers)
        self._data.clear()

    def _callable(self, data: PythonData, partial: bool, thread: int) -> Callable[[], None]:
        """Return the function without arguments that kernels call; it keeps exceptions, as it must not raise."""
        objectives, violation, terms = data.objectives, data.violation, data.terms
        x = data.genotype.view()
        x.flags.writeable = False
        errors, n_terms, has_terms = self._errors, self.n_terms, self._has_terms
        meeting, evaluations = self.meeting, self.evaluations
        changed, sizes, parent_terms = data.changed, data.sizes, data.parent_terms

        is_simple = not has_terms and self.n_objectives == 1
        full_form = "(objectives, violation, terms)" if has_terms else "(objectives, violation)"
        n_objectives = self.n_objectives
        plain = "a number" if n_objectives == 1 else f"a list or array of {n_objectives} objectives"
        advice = " Several objectives need an object with n_objectives." if n_objectives == 1 else ""

        def store(answer: Any) -> None:
            parts: Any = answer if isinstance(answer, tuple) else (answer, 0.0)
            shape = np.shape(parts[0])
            fits = shape == (n_objectives,) or (shape == () and n_objectives == 1)
            if len(parts) != 2 + has_terms or not fits:
                also = "" if has_terms else f"{plain} or "
                raise GomeaBnError(f"evaluate must return {also}{full_form}, got {answer!r:.200}.{advice}")
            try:
                objectives[:] = _numbers(parts[0])
                violation[0] = _numbers(parts[1])
                if has_terms:
                    terms[:] = _numbers(parts[2])
                else:
                    terms[:n_terms] = objectives[:n_terms]
            except (TypeError, ValueError, OverflowError) as error:
                raise GomeaBnError(f"evaluate must return numbers, got {answer!r:.200}: {error}.") from error
            if np.isnan(objectives).any() or not violation[0] >= 0:
                raise GomeaBnError(
                    f"evaluate returned {answer!r} for x = {x.tolist()}; objectives must not be NaN and the "
                    "violation must be at least 0."
                )

        def is_usual(objective: Any = None, amount: Any = None, parts: Any = None, *_: Any) -> bool:
            return (
                n_objectives == 1
                and isinstance(objective, float)
                and objective == objective
                and isinstance(amount, float)
                and amount >= 0.0
                and type(parts) is np.ndarray
                and parts.dtype == np.float64
                and parts.shape == terms.shape
                and not _
            )

        def call() -> None:
            if errors:
                return
            try:
                if meeting is not None:
                    changes = (changed[: sizes[0]].copy(), parent_terms.copy()) if partial else ()
                    answer = meeting.value(thread, Request(x.copy(), *changes))
                    if isinstance(answer, BaseException):
                        raise answer
                else:
                    answer = evaluations.answer(
                        Request(x, changed[: sizes[0]], parent_terms) if partial else Request(x)
                    )
                # the usual answers, without the time of the checks
                if is_simple and isinstance(answer, float) and answer == answer:
                    objectives[0] = answer
                    terms[0] = answer
                    violation[0] = 0.0
                elif has_terms and type(answer) is tuple and is_usual(*answer):
                    objectives[0], violation[0], terms[:] = answer
                else:
                    store(answer)
            except BaseException as error:
                objectives[:] = np.inf
                violation[0] = np.inf
                if self.fails_softly and isinstance(error, Exception):
                    terms[:] = np.inf
                else:
                    errors.append(error)
                    if meeting is not None:
                        meeting.leave()

        return call

    def _announced(self, data: PythonData) -> Callable[[], None]:
        """Return the function without arguments that evaluates the solutions that a kernel has announced."""

        def call() -> None:
            if self._errors:
                return
            try:
                self.evaluations.prepare([Request(x) for x in data.announced[: data.sizes[0]].copy()])
            except BaseException as error:
                self._errors.append(error)

        return call

    def kernel_data(self, n_threads: int) -> list[PythonData]:
        """Return the arrays of each thread."""
        while len(self._data) < n_threads:
            data = PythonData(
                full=0,
                partial=0,
                genotype=np.zeros(self.n_variables, self.dtype),
                changed=np.zeros(self.n_variables, np.int64),
                sizes=np.zeros(1, np.int64),
                parent_terms=np.zeros(self.n_terms),
                terms=np.zeros(self.n_terms),
                objectives=np.zeros(self.n_objectives),
                violation=np.zeros(1),
                ahead=0,
                announced=np.zeros((ROUND, self.n_variables), self.dtype),
            )
            thread = len(self._data)
            full = self._callable(data, False, thread)
            has_partial = hasattr(self.user, "evaluate_partial")
            partial = self._callable(data, True, thread) if has_partial else None
            # the list keeps the functions alive whose addresses the kernels call
            # partial evaluations need the terms of the solutions as they are then
            ahead = None if self.meeting is None or has_partial else self._announced(data)
            self._callables += [call for call in (full, partial, ahead) if call is not None]
            addresses = [0 if call is None else id(call) for call in (full, partial, ahead)]
            self._data.append(data._replace(full=addresses[0], partial=addresses[1], ahead=addresses[2]))
        return self._data[:n_threads]

    def chunk_ended(self, thread: int, data: PythonData) -> PythonData:
        """Return `data` as it is; raises the exception of the user's function, if there was one."""
        if self._errors:
            error = self._errors[0]
            self._errors.clear()
            raise error
        return data

    def statistics(self) -> dict[str, int]:
        """Return the number of evaluations of solutions that had been evaluated before."""
        return {"repeated": self.evaluations.n_repeated}

    def identity(self) -> dict[str, str]:
        """Return the class of the user's object or the name of a function, and digests of what it varies."""
        ranges = [getattr(self, name, None) for name in ("alphabet", "lower", "upper")]
        user = getattr(self.user, "problem", self.user)
        known = {**super().identity(), "class": type(user).__qualname__, "ranges": data_digest(tuple(ranges))}
        if isinstance(self.user, NamedProblem):
            known["space"] = self.user.space.digest
            known["function"] = getattr(getattr(user, "evaluate", None), "__qualname__", "")
        return known

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without arrays and functions that are bound to this object's memory."""
        bound: dict[str, Any] = {"_data": [], "_callables": [], "_errors": [], "meeting": None}
        return {**self.__dict__, **bound, "evaluations": Evaluations(self.user)}

    def _cardinalities(self, alphabet: Any) -> NDArray[np.int64]:
        try:
            cardinalities = np.broadcast_to(np.asarray(alphabet), self.n_variables).astype(
                np.int64, casting="same_kind"
            )
        except (TypeError, ValueError) as error:
            raise GomeaBnError(
                f"alphabet must be an integer or {self.n_variables} integers (cardinalities), got {alphabet!r}."
            ) from error
        check_cardinalities(cardinalities)
        return cardinalities

    def _take_bounds(self, bounds: Any) -> None:
        if not isinstance(bounds, (Sequence, np.ndarray)) or isinstance(bounds, str) or len(bounds) != 2:
            raise GomeaBnError(f"bounds must be (lower, upper), got {bounds!r}.")
        if np.ndim(bounds[0]) and np.array_equal(bounds[0], bounds[1]):
            raise GomeaBnError(
                f"bounds must be (lower, upper), got {bounds!r}, in which both are equal. "
                "If these are (low, high) pairs, one per variable, transpose them."
            )
        self._ranges = ranges = RealKernelProblem(
            None,
            self.n_variables,
            lower=bounds[0],
            upper=bounds[1],
            initial_range=getattr(self.user, "initial_range", None),
            alphabet=getattr(self.user, "alphabet", None),
        )
        self.alphabet = ranges.alphabet
        self.lower, self.upper, self.initial_range = ranges.lower, ranges.upper, ranges.initial_range
        self.interactions = getattr(self.user, "interactions", None)

    def sample(self, generator: np.random.Generator, n: int) -> NDArray[Any]:
        """Return the problem's own initial solutions, or uniform ones, shape (n, n_variables)."""
        if not hasattr(self.user, "sample"):
            if self._ranges is not None:
                return self._ranges.sample(generator, n)
            return generator.integers(0, self.alphabet, (n, self.n_variables)).astype(np.int16)
        solutions = np.asarray(self.user.sample(generator, n))
        if solutions.shape != (n, self.n_variables):
            raise GomeaBnError(f"sample must return shape {(n, self.n_variables)}, got {solutions.shape}.")
        if self.is_real:
            solutions = solutions.astype(np.float64)
            wrong = outside(cast("RealProblem", self), solutions).any(axis=1)
            kinds = "" if self.alphabet is None else " and whole numbers for discrete variables"
            allowed = f"within the bounds{kinds}"
        else:
            wrong = ((solutions < 0) | (solutions >= self.alphabet)).any(axis=1)
            allowed = "from 0 to alphabet - 1"
        if wrong.any():
            row = int(wrong.argmax())
            raise GomeaBnError(
                f"sample must return values {allowed}, got {solutions[row].tolist()} in row {row}."
            )
        return solutions.astype(self.dtype)


def as_compiled(problem: Any) -> Any:
    """Return a problem that kernels can evaluate, with all members of `CompiledProblem` or `RealProblem`.

    A problem with ``kernel_data`` is returned as it is, or with the defaults of members that it lacks. A plain Python
    object is wrapped.
    """
    problem = posed(problem)
    if hasattr(problem, "kernel_data"):
        return with_real_defaults(problem) if hasattr(problem, "lower") else with_defaults(problem)
    is_of_pymoo = hasattr(problem, "n_var")
    # pymoo's problems have a method of this name
    has_bounds = hasattr(problem, "bounds") and not (is_of_pymoo and callable(problem.bounds))
    if not (has_bounds or hasattr(problem, "alphabet")):
        name = type(problem).__name__
        ours = f"{name} needs a space, alphabet (numbers of values) or bounds (of real variables)."
        theirs = (
            f" For {name}, give gomea_bn.pymoo.GOMEA (discrete variables) or RVGOMEA (one objective) "
            "to pymoo's minimize."
        )
        raise GomeaBnError(ours + theirs if is_of_pymoo else ours)
    return PythonProblem(problem)
