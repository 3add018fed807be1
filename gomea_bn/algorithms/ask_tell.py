"""Searches whose solutions the calling program evaluates."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.errors import GomeaBnError, check_integer
from gomea_bn.operators.mixing import no_elite, take_best
from gomea_bn.problems.python_problem import as_compiled
from gomea_bn.problems.spaces import by_name, named_user, posed
from gomea_bn.runtime.limits import Result
from gomea_bn.runtime.threads import DaemonThreads


class _Closed(BaseException):
    """The end of a search whose evaluations nobody answers any more."""


class _Variables:
    """The variables of a user's object, which need not have any evaluation."""

    def __init__(self, problem: Any) -> None:
        for name in (
            "n_variables",
            "alphabet",
            "bounds",
            "initial_range",
            "interactions",
            "n_objectives",
            "target",
            "sample",
            "key",
        ):
            if hasattr(problem, name):
                setattr(self, name, getattr(problem, name))
        self.given, self.problem = problem, getattr(problem, "problem", problem)

    def evaluate(self, x: NDArray[Any]) -> float:
        """Raise, as the caller of `AskedRun.ask` evaluates."""
        raise AssertionError


def asked_problem(problem: Any) -> Any:
    """Return a problem whose evaluations `AskedRun` answers; raises `GomeaBnError` for a compiled one."""
    problem = posed(problem)
    if hasattr(problem, "kernel_data"):
        raise GomeaBnError(
            f"start takes an object with n_variables and alphabet or bounds; {type(problem).__name__} has evaluations "
            "of its own. Give it to optimise or run."
        )
    asked = as_compiled(_Variables(problem))
    asked.meet()
    return asked


def _floats(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return values as floats; raises `GomeaBnError` for what is no number."""
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise GomeaBnError(f"{name} must be numbers, got {values!r:.200}.") from error


class AskedRun:
    """A search that is under way and waits for the values of the solutions that it asks for.

    No solution is asked for twice. A search that comes to nothing but solutions that it has asked for ends; the
    result's ``stopped_by`` is then "repeated".

    `GOMEA.start`, `MOGOMEA.start` and `RVGOMEA.start` return it. The search is that of `gomea_bn.optimise` with the
    same seed and several processes. It works in another thread of this process while it is not waiting.

    Examples
    --------
    >>> from gomea_bn import GOMEA
    >>> class Bits:
    ...     n_variables, alphabet = 10, 2
    >>> run = GOMEA().start(Bits(), random_state=1, max_evaluations=400)
    >>> while not run.should_stop():
    ...     solutions = run.ask()
    ...     run.tell(-solutions.sum(axis=1))
    >>> int(run.result().X.sum())
    10
    """

    def __init__(self, run: Any, problem: Any, section: Any) -> None:
        self._run, self._n_objectives, self._user = run, problem.n_objectives, named_user(problem)
        self._questions: SimpleQueue[NDArray[Any] | None] = SimpleQueue()
        self._answers: SimpleQueue[list[Any] | None] = SimpleQueue()
        self._asked: NDArray[Any] | None = None
        # values of the first solutions of the round, and how many of the next ones the caller has
        self._given: list[Any] = []
        self._n_out = 0
        self._has_ended = False
        # the best solution with a value, for one objective
        self._best = no_elite(run.problem, run.dtype) if self._n_objectives == 1 else None
        problem.evaluations.answer_by(self._answered, self._note_repeats)
        self._future: Future[Result] = DaemonThreads().submit(run.finish, section)
        self._future.add_done_callback(lambda _future: self._questions.put(None))

    def ask(self, most: int | None = None) -> Any:
        """Return the solutions that want evaluation, shape (k, n_variables), with k of at least 1.

        The same solutions come back until `tell` has got their values. Discrete variables alone are int16; real and
        mixed ones are float64. Solutions of a space are a list of dictionaries. An ended search raises `GomeaBnError`;
        see `should_stop`.

        Parameters
        ----------
        most : int, optional
            Largest number of solutions; the search goes on once the values of all others came too.
        """
        check_integer("most", most, 1, optional=True)
        if self.should_stop():
            raise GomeaBnError(
                "The search has ended, so it asks for nothing; see should_stop() and result()."
            )
        assert self._asked is not None
        left = self._asked[len(self._given) :]
        self._n_out = len(left) if most is None else min(most, len(left))
        solutions = left[: self._n_out].copy()
        return solutions if self._user is None else self._user.named(solutions)

    def tell(self, objectives: ArrayLike, violations: ArrayLike | None = None) -> None:
        """Give the values of the solutions of the latest `ask`, in their order.

        Parameters
        ----------
        objectives : array_like of shape (k,), or (k, n_objectives)
            Objectives, which are minimised.
        violations : array_like of shape (k,), optional
            How far each solution is from feasible; 0 is feasible, and the default.

        Raises
        ------
        GomeaBnError
            If nothing was asked, a shape does not fit, an objective is NaN or a violation is negative.
        """
        if self._asked is None or not self._n_out:
            raise GomeaBnError("tell needs solutions that were asked for; call ask() first.")
        k = self._n_out
        values, amounts = _floats("objectives", objectives), np.zeros(k)
        if violations is not None:
            amounts = _floats("violations", violations)
        shapes = [(k, self._n_objectives), *([(k,)] if self._n_objectives == 1 else [])]
        if values.shape not in shapes:
            raise GomeaBnError(f"objectives must have shape {shapes[-1]}, got {values.shape}.")
        if amounts.shape != (k,):
            raise GomeaBnError(f"violations must have shape ({k},), got {amounts.shape}.")
        wrong = np.isnan(values.reshape(k, -1)).any(axis=1) | ~(amounts >= 0)
        if wrong.any():
            row = int(wrong.argmax())
            raise GomeaBnError(
                f"row {row}: objectives must not be NaN and violations at least 0, got {values[row]} and "
                f"{amounts[row]}."
            )
        values = values.reshape(k, -1)
        if self._best is not None:
            first = len(self._given)
            take_best(self._best, self._asked[first : first + k], values, amounts)
        self._given += zip(values, amounts.tolist(), strict=True)
        self._n_out = 0
        if len(self._given) == len(self._asked):
            self._asked, given, self._given = None, self._given, []
            self._answers.put(given)

    def should_stop(self) -> bool:
        """Return whether the search has ended; it waits until that is known."""
        if self._has_ended or self._asked is not None:
            return self._has_ended
        self._asked = self._questions.get()
        if self._asked is None:
            self._has_ended = True
            error = self._future.exception()
            if error is not None and not isinstance(error, _Closed):
                raise error
        return self._has_ended

    def result(self) -> Result:
        """Return the best solution evaluated, or the front at the end of the latest generation."""
        if self._has_ended and self._future.done() and self._future.exception() is None:
            return by_name(self._future.result(), self._user)
        result: Result = self._run.result()
        if self._best is None:
            return by_name(result, self._user)
        violation = float(self._best.violation[0])
        if (violation, self._best.objectives[0]) < (result.extra["violation"], result.F[0]):
            extra = {**result.extra, "violation": violation}
            best = self._best.genotype.copy(), self._best.objectives.copy()
            result = replace(result, X=best[0], F=best[1], extra=extra)
        return by_name(result, self._user)

    def close(self) -> None:
        """End the search where it is; `result` keeps what it has found."""
        if not self._has_ended:
            self._has_ended, self._asked = True, None
            self._answers.put(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _note_repeats(self, n: int) -> None:
        """End a search that has come to nothing new for long, as it would never ask again."""
        # evaluations in turn of solutions that were evaluated before, after which a search ends
        if n > 100_000:
            self._run.stop.raise_for("repeated")

    def _answered(self, solutions: NDArray[Any]) -> list[Any]:
        """Return what `tell` gives for solutions, in the thread of the search."""
        self._questions.put(solutions)
        answers = self._answers.get()
        return [_Closed()] * len(solutions) if answers is None else answers
