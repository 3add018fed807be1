"""A user's plain Python object as a problem: its functions are called from inside the compiled search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, is_integer
from gomea_bn.problems.continuous import RealKernelProblem
from gomea_bn.problems.kernels.python_calls import PythonData

__all__ = ["PythonProblem", "RealPythonProblem", "as_compiled"]


class _Exchange:
    """What both kinds of problem share: the areas through which kernels and Python talk."""

    n_aux = 0
    dtype: type[np.generic]

    def __init__(self, problem: Any) -> None:
        self.user = problem
        n: Any = getattr(problem, "n_variables", None)
        if not is_integer(n) or n < 1:
            raise GomeaBnError(f"A problem needs n_variables, an integer of at least 1; got {n!r}.")
        self.n_variables = int(n)
        if not callable(getattr(problem, "evaluate", None)):
            raise GomeaBnError(f"{type(problem).__name__} has no evaluate(x).")
        self.n_objectives = int(getattr(problem, "n_objectives", 1))
        self.n_terms = int(getattr(problem, "n_terms", self.n_objectives))
        self.target: float | None = getattr(problem, "target", None)
        self._has_terms = hasattr(problem, "n_terms")
        self._errors: list[BaseException] = []
        self._data: list[PythonData] = []
        self._callables: list[Callable[[], None]] = []

    def _callable(self, data: PythonData, partial: bool) -> Callable[[], None]:
        """Return the function without arguments that the kernels call; it must not raise."""
        objectives, violation, terms = data.objectives, data.violation, data.terms
        x = data.genotype.view()
        x.flags.writeable = False
        errors, n_terms, has_terms = self._errors, self.n_terms, self._has_terms
        evaluate = self.user.evaluate_partial if partial else self.user.evaluate
        changed, sizes, parent_terms = data.changed, data.sizes, data.parent_terms

        wanted = "(objectives, violation, terms)" if has_terms else "(objectives, violation)"
        n_objectives = self.n_objectives
        plain = "a number" if n_objectives == 1 else f"a list or array of {n_objectives} objectives"

        def store(answer: Any) -> None:
            parts: Any = answer if isinstance(answer, tuple) else (answer, 0.0)
            shape = np.shape(parts[0])
            fits = shape == (n_objectives,) or (shape == () and n_objectives == 1)
            if len(parts) != 2 + has_terms or not fits:
                also = "" if has_terms else f"{plain} or "
                raise GomeaBnError(f"evaluate must return {also}{wanted}, got {answer!r}.")
            objectives[:] = parts[0]
            violation[0] = parts[1]
            if has_terms:
                terms[:] = parts[2]
            else:
                terms[:n_terms] = objectives[:n_terms]
            if np.isnan(objectives).any() or not violation[0] >= 0:
                raise GomeaBnError(
                    f"evaluate returned {answer!r} for x = {x.tolist()}; nan cannot be compared."
                )

        def call() -> None:
            if errors:
                return
            try:
                store(evaluate(x, changed[: sizes[0]], parent_terms) if partial else evaluate(x))
            except BaseException as error:
                objectives[:] = np.inf
                violation[0] = np.inf
                errors.append(error)

        def call_simple() -> None:
            if errors:
                return
            try:
                answer = evaluate(x, changed[: sizes[0]], parent_terms) if partial else evaluate(x)
                if isinstance(answer, float) and answer == answer:
                    objectives[0] = answer
                    terms[0] = answer
                    violation[0] = 0.0
                else:
                    store(answer)
            except BaseException as error:
                objectives[:] = np.inf
                violation[0] = np.inf
                errors.append(error)

        return call_simple if not has_terms and self.n_objectives == 1 else call

    def kernel_data(self, n_threads: int) -> list[PythonData]:
        """Return one exchange area per thread."""
        while len(self._data) < n_threads:
            data = PythonData(
                0,
                0,
                np.zeros(self.n_variables, self.dtype),
                np.zeros(self.n_variables, np.int64),
                np.zeros(1, np.int64),
                np.zeros(self.n_terms),
                np.zeros(self.n_terms),
                np.zeros(self.n_objectives),
                np.zeros(1),
            )
            full = self._callable(data, False)
            partial = self._callable(data, True) if hasattr(self.user, "evaluate_partial") else None
            self._callables += [full] if partial is None else [full, partial]
            self._data.append(data._replace(full=id(full), partial=0 if partial is None else id(partial)))
        return self._data[:n_threads]

    def chunk_ended(self, thread: int, data: PythonData) -> PythonData:
        """Return `data`; raises what the user's function raised."""
        if self._errors:
            error = self._errors[0]
            self._errors.clear()
            raise error
        return data

    def __getstate__(self) -> dict[str, Any]:
        """Leave out of copies what is bound to this object's memory; a copy makes its own."""
        return {**self.__dict__, "_data": [], "_callables": [], "_errors": []}

    def generation_ended(self) -> None:
        """Do nothing: there is nothing to merge."""

    def statistics(self) -> dict[str, int]:
        """Return no counts."""
        return {}


class PythonProblem(_Exchange):
    """Wraps an object with ``n_variables``, ``alphabet`` and ``evaluate``.

    Parameters
    ----------
    problem : object
        ``n_variables`` : int.
        ``alphabet`` : int or array_like of int, shape (n_variables,), cardinalities.
        ``evaluate(x)`` : returns the objective (several: as a list or array, for a tuple means the following), or
        (objectives, violation), or (objectives, violation, terms).
        ``evaluate_partial(x, changed, parent_terms)``, optional : the same for `x` after the genes `changed` (int64
        indices) changed, given the terms before. Without ``n_terms`` the terms are the objectives; a problem whose
        change depends on former values needs terms of its own.
        ``n_terms``, ``n_objectives`` : int, optional.
        ``target`` : float, optional, known optimum.
        ``sample(generator, n)``, optional : initial genotypes, shape (n, n_variables).

    Notes
    -----
    Everything is minimised. `x` is one read-only int16 array that is overwritten before the next call: copy it to
    keep it. Equal genotypes must give equal objectives, so sum partial results in a fixed order. An exception in
    a function ends the search and reaches the caller.
    """

    dtype = np.int16

    def __init__(self, problem: Any) -> None:
        super().__init__(problem)
        self.alphabet = self._alphabet(getattr(problem, "alphabet", None))
        self.allowed = np.arange(self.alphabet.max()) < self.alphabet[:, None]
        self.ordinal = np.zeros(self.n_variables, np.bool_)

    def _alphabet(self, alphabet: Any) -> NDArray[np.int64]:
        try:
            cardinalities = np.broadcast_to(np.asarray(alphabet, dtype=np.int64), self.n_variables).copy()
        except (TypeError, ValueError) as error:
            raise GomeaBnError(
                f"alphabet must be an integer or {self.n_variables} integers (cardinalities), got {alphabet!r}."
            ) from error
        if cardinalities.min() < 1 or cardinalities.max() > np.iinfo(np.int16).max:
            raise GomeaBnError(f"alphabet: cardinalities must be from 1 to 32767, got {alphabet!r}.")
        return cardinalities

    def sample(self, generator: np.random.Generator, n: int) -> NDArray[np.int16]:
        """Return the problem's own initial genotypes, or uniform ones, shape (n, n_variables)."""
        if hasattr(self.user, "sample"):
            genotypes = np.asarray(self.user.sample(generator, n))
            if genotypes.shape != (n, self.n_variables):
                raise GomeaBnError(
                    f"sample must return shape {(n, self.n_variables)}, got {genotypes.shape}."
                )
            if (genotypes < 0).any() or (genotypes >= self.alphabet).any():
                raise GomeaBnError("sample returned genes outside their alphabet.")
            return genotypes.astype(np.int16)
        return generator.integers(0, self.alphabet, (n, self.n_variables)).astype(np.int16)


class RealPythonProblem(_Exchange):
    """Wraps an object with ``n_variables``, ``bounds`` and ``evaluate`` over real variables.

    Parameters
    ----------
    problem : object
        ``bounds`` : (lower, upper), each a number or array_like of shape (n_variables,); infinite ones need
        ``initial_range`` : (least, largest) of initial values.
        ``interactions`` : list of pairs of variables that share a term, optional.
        The rest as for `PythonProblem`, with float64 `x`. ``evaluate_partial`` may be called without a changed
        variable: it then brings the objective in line with the terms.
    """

    dtype = np.float64

    def __init__(self, problem: Any) -> None:
        super().__init__(problem)
        bounds = problem.bounds
        if not isinstance(bounds, (Sequence, np.ndarray)) or isinstance(bounds, str) or len(bounds) != 2:
            raise GomeaBnError(f"bounds must be (lower, upper), got {bounds!r}.")
        if np.ndim(bounds[0]) and np.array_equal(bounds[0], bounds[1]):
            raise GomeaBnError(
                f"bounds must be (lower, upper), got {bounds!r}, which leaves no variable any room. "
                "Is it one (low, high) pair per variable? Transpose it."
            )
        ranges = RealKernelProblem(
            None,
            self.n_variables,
            lower=bounds[0],
            upper=bounds[1],
            initial_range=getattr(problem, "initial_range", None),
        )
        self.lower, self.upper, self.initial_range = ranges.lower, ranges.upper, ranges.initial_range
        self.interactions: list[tuple[int, int]] | None = getattr(problem, "interactions", None)
        self._ranges = ranges

    def sample(self, generator: np.random.Generator, n: int) -> NDArray[np.float64]:
        """Return the problem's own initial solutions, or uniform ones, shape (n, n_variables)."""
        if not hasattr(self.user, "sample"):
            return self._ranges.sample(generator, n)
        solutions = np.asarray(self.user.sample(generator, n), np.float64)
        if solutions.shape != (n, self.n_variables):
            raise GomeaBnError(f"sample must return shape {(n, self.n_variables)}, got {solutions.shape}.")
        if not ((solutions >= self.lower) & (solutions <= self.upper)).all():
            raise GomeaBnError("sample returned values outside the bounds.")
        return solutions


def as_compiled(problem: Any) -> Any:
    """Return a problem that kernels can evaluate: one of the package's as it is, else a Python object wrapped."""
    if hasattr(problem, "kernel_data"):
        return problem
    return RealPythonProblem(problem) if hasattr(problem, "bounds") else PythonProblem(problem)
