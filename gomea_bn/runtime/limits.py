"""Limits of a search, its progress reports, and its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, Option, check_integer, check_number, is_real

ROUNDING = 1e-10
"""Share of an objective, or nats, by which sums of the same terms in other orders differ, which is no improvement."""
STOPPED_BY_USER = ("interrupt", "callback")
"""Values of `Result.stopped_by` after which no other search should follow."""

# the clock of a search that may not be left out
_LEAST_SECONDS = 1e-6


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a run, which ends at the first one that is met.

    Parameters
    ----------
    max_seconds : float, optional
        Largest duration in seconds. Compiling kernels, which the first search of a kind does, does not count.
    max_evaluations : int, optional
        Number of evaluations of changed solutions; the run ends exactly there.
    max_generations : int, optional
        Number of generations of all populations of the multi-start scheme; an initialisation counts as one.
    patience : float, optional
        Ratio of the number of evaluations to that at the last improvement above which the run ends, but not before
        1,000 evaluations per gene. Unlike a clock it gives reproducible results.
    target : float, optional
        Value of the minimised objective at which the run ends.
    least_gain : float, optional
        The run ends as done when its evaluations have doubled while the objective fell by less than this, or, with
        several objectives, while the front gained less than this share of its hypervolume, but not before 320
        evaluations per gene. Reproducible as `patience`, which counts every improvement.

    Raises
    ------
    GomeaBnError
        For a limit that cannot be used, or if there is none.

    Examples
    --------
    >>> Limits(max_seconds=10, target=0.0).evaluations
    inf
    """

    max_seconds: float | None = None
    max_evaluations: int | None = None
    max_generations: int | None = None
    patience: float | None = None
    target: float | None = None
    least_gain: float | None = None

    def __post_init__(self) -> None:
        for name in ("max_seconds", "patience", "least_gain"):
            # an infinite limit is allowed and never met
            value: Any = getattr(self, name)
            if not (is_real(value) and value == inf):
                check_number(name, value, 0.0, above=True, optional=True)
        check_integer("max_evaluations", self.max_evaluations, 1, optional=True)
        check_integer("max_generations", self.max_generations, 1, optional=True)
        if self.target is not None and (not is_real(self.target) or self.target != self.target):
            raise GomeaBnError(f"target must be a number or None, got {self.target!r:.80}.")
        limits = (
            self.max_seconds,
            self.max_evaluations,
            self.max_generations,
            self.patience,
            self.target,
            self.least_gain,
        )
        if all(limit is None for limit in limits):
            raise GomeaBnError(
                [
                    "Set a limit: ",
                    Option("max_seconds"),
                    ", ",
                    Option("max_evaluations"),
                    " or ",
                    Option("patience"),
                    ".",
                ]
            )

    @property
    def evaluations(self) -> float:
        """Return the limit of evaluations, infinity if there is none."""
        return inf if self.max_evaluations is None else self.max_evaluations

    def met(self, seconds: float, evaluations: int = 0, generations: int = 0) -> str:
        """Return the name of the first limit on what was spent that is met, empty if there is none."""
        counts = {
            "max_seconds": (self.max_seconds, seconds),
            "max_evaluations": (self.max_evaluations, evaluations),
            "max_generations": (self.max_generations, generations),
        }
        return next(
            (name for name, (limit, spent) in counts.items() if limit is not None and spent >= limit), ""
        )

    def after(
        self,
        seconds: float = 0.0,
        evaluations: int = 0,
        generations: int = 0,
        *,
        share: float = 1.0,
        least_seconds: float = _LEAST_SECONDS,
    ) -> Self:
        """Return the limits of a search that gets a share of what is left after something was spent.

        They allow at least one evaluation, one generation and some seconds, so that there is always a result.
        `patience`, `target` and `least_gain` stay.
        """

        def left(most: int | None, spent: int) -> int | None:
            return None if most is None else max(int(share * (most - spent)), 1)

        most = self.max_seconds
        return replace(
            self,
            max_seconds=None if most is None else max(share * (most - seconds), least_seconds),
            max_evaluations=left(self.max_evaluations, evaluations),
            max_generations=left(self.max_generations, generations),
        )


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One improvement of the best solution."""

    seconds: float
    n_eval: int
    objective: float
    population_size: int


@dataclass(frozen=True, slots=True)
class FrontHistoryEntry:
    """The state of the archive after new members; `ideal` holds the least value of every objective."""

    seconds: float
    n_eval: int
    archive_size: int
    ideal: tuple[float, ...]
    population_size: int


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a run after a generation or a local search.

    `best` is the first objective of the best solution, and `violation` how far that is from feasible: 0 if it is.
    `reached` says in words what the best solution is, if that is known. With a `least_gain` the run is done after
    `done_at` evaluations if it gains less until then; 0 is unknown.

    Examples
    --------
    >>> from gomea_bn import optimise
    >>> from gomea_bn.problems.benchmarks import OneMax
    >>> seen = []
    >>> result = optimise(OneMax(12), random_state=1, max_generations=3, callback=lambda p: seen.append(p.n_eval))
    >>> len(seen), seen[-1] == result.n_eval
    (3, True)
    """

    seconds: float
    n_eval: int
    n_generations: int
    population_sizes: tuple[int, ...]
    population_generations: tuple[int, ...]
    best: float
    statistics: dict[str, int]
    archive_size: int = 0
    violation: float = 0.0
    reached: str = ""
    done_at: int = 0


Callback = Callable[[Progress], bool | None]
"""A function that is called after every generation, and every local search before them; a true value ends the run."""


class Nearest(NamedTuple):
    """The solution that came nearest to being feasible: X (n_variables,), F (n_objectives,) and its violation."""

    X: NDArray[Any]
    F: NDArray[np.float64]
    violation: float


@dataclass(frozen=True, repr=False)
class Result:
    """The result of a search.

    Where no solution is feasible, `X` and `F` are those of the solution of least violation for one objective, and a
    front of no solutions for several.

    Attributes
    ----------
    X : ndarray of shape (n_variables,), or (k, n_variables) for several objectives
        Best solution, or the solutions of the front: int16, or float64 for real variables.
    F : ndarray of shape (1,), or (k, n_objectives), float64
        Objectives of the best solution, or of the front, minimised.
    n_eval : int
        Number of evaluations of changed solutions.
    n_eval_full : float
        Number of full evaluations: touched terms over all terms.
    exec_time, time_to_best : float
        Durations in seconds, of the run and until the last improvement.
    history : list of HistoryEntry, or of FrontHistoryEntry for several objectives
        Improvements, in order.
    stopped_by : str
        Reason of the end: "max_seconds", "max_evaluations", "max_generations", "patience", "target", "done" (see
        `least_gain` of `Limits`), "callback", "interrupt", "max_population_size", or "repeated" of a search that asks
        for evaluations and comes to no new solution.
    n_generations : int
        Number of generations of all populations.
    statistics : dict of str to int
        Counts of the problem's own work.
    extra : dict
        "violation" of the best solution, or of each solution of a front, where 0 means feasible; "values" by name of a
        problem with a space. A run for several
        objectives without a feasible solution has the parts of `nearest`: "nearest_X", "nearest_F" and
        "nearest_violation".

    Examples
    --------
    >>> from gomea_bn import optimise
    >>> from gomea_bn.problems.benchmarks import OneMax
    >>> result = optimise(OneMax(12), random_state=1, max_evaluations=5_000)
    >>> int(result.X.sum()), result.F, result.feasible, result.stopped_by
    (12, array([-12.]), True, 'target')
    """

    X: NDArray[Any]
    F: NDArray[np.float64]
    n_eval: int
    n_eval_full: float
    exec_time: float
    time_to_best: float
    history: list[Any]
    stopped_by: str
    n_generations: int
    statistics: dict[str, int] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def values(self) -> Any:
        """The best solution by name, or a list of those of the front; None for a problem without a space."""
        return self.extra.get("values")

    @property
    def feasible(self) -> bool:
        """Whether the search found a feasible solution."""
        return self.nearest is None

    @property
    def nearest(self) -> Nearest | None:
        """The solution of least violation if none is feasible, else None."""
        if "nearest_X" in self.extra and not len(self.X):
            return Nearest(*(self.extra[f"nearest_{name}"] for name in Nearest._fields))
        violation = self.extra.get("violation", 0.0)
        if self.X.ndim == 2 or not violation > 0:
            return None
        return Nearest(self.X, self.F, float(violation))

    def __repr__(self) -> str:
        """Return lines of the values of the objectives, the solution, the work and the end of the run."""
        nearest = self.nearest
        is_front = self.X.ndim == 2
        if nearest is not None:
            heading = f"Result: no feasible solution, the nearest has the violation {nearest.violation:.10g}"
            x, best, which = nearest.X, ", ".join(f"{value:.10g}" for value in nearest.F), "X of the nearest"
        elif is_front and not len(self.F):
            heading, x, best, which = "Result", np.empty(0), "front of 0", "X of the first"
        elif is_front:
            heading, x, which = "Result", self.X[0], "X of the first"
            best = f"front of {len(self.F):,}, least {self.F.min(axis=0)}"
        else:
            heading, x, best, which = "Result", self.X, f"{self.F[0]:.10g}", "X"
        values = self.values[0] if is_front and self.values else self.values
        solution = str(values or np.array2string(x, threshold=8, edgeitems=4, max_line_width=10**6))
        return (
            f"{heading}\n  F: {best}\n  {which}: {solution}\n"
            f"  evaluations: {self.n_eval:,} ({self.n_eval_full:,.1f} full), generations: {self.n_generations:,}\n"
            f"  seconds: {self.exec_time:.2f}, to the last improvement: {self.time_to_best:.2f}\n"
            f"  stopped by: {self.stopped_by}"
        )
