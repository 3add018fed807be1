"""When a search stops, what it reports while it runs, and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, is_integer, is_real

__all__ = ["Callback", "FrontHistoryEntry", "HistoryEntry", "Limits", "Progress", "Result"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a run; the first one that is met ends it.

    Parameters
    ----------
    max_seconds : float, optional
    max_evaluations : int, optional
        Changed solutions evaluated, exact.
    max_generations : int, optional
        Summed over the populations of the multi-start scheme; an initialisation counts as one.
    patience : float, optional
        Stop once the evaluations exceed `patience` times those at the last improvement, but not before
        1,000 evaluations per gene. Deterministic, unlike a clock.
    target : float, optional
        Stop once the (minimised) objective is at most this.
    """

    max_seconds: float | None = None
    max_evaluations: int | None = None
    max_generations: int | None = None
    patience: float | None = None
    target: float | None = None

    def __post_init__(self) -> None:
        for name in ("max_seconds", "patience"):
            value = getattr(self, name)
            if value is not None and not (is_real(value) and value > 0):
                raise GomeaBnError(f"{name} must be a positive number or None, got {value!r}.")
        for name in ("max_evaluations", "max_generations"):
            value = getattr(self, name)
            if value is not None and not (is_integer(value) and value >= 1):
                raise GomeaBnError(f"{name} must be an integer of at least 1 or None, got {value!r}.")
        if self.target is not None and (not is_real(self.target) or isnan(self.target)):
            raise GomeaBnError(f"target must be a number or None, got {self.target!r}.")
        if all(
            value is None for value in (self.max_seconds, self.max_evaluations, self.max_generations)
        ) and (self.patience is None and self.target is None):
            raise GomeaBnError("Set a limit: max_seconds, max_evaluations, max_generations or patience.")

    @property
    def evaluations(self) -> float:
        """Return the evaluation limit, infinity for none."""
        return inf if self.max_evaluations is None else self.max_evaluations


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One improvement of the best solution."""

    seconds: float
    n_eval: int
    objective: float
    population_size: int


@dataclass(frozen=True, slots=True)
class FrontHistoryEntry:
    """The archive after a generation that added to it; `ideal` holds the least value of every objective."""

    seconds: float
    n_eval: int
    archive_size: int
    ideal: tuple[float, ...]
    population_size: int


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a run after a generation; with several objectives `best` is of the first one."""

    seconds: float
    n_eval: int
    n_generations: int
    population_sizes: tuple[int, ...]
    population_generations: tuple[int, ...]
    best: float
    statistics: dict[str, int]
    archive_size: int = 0


Callback = Callable[[Progress], bool | None]
"""Called after every generation; a true value stops the run."""


@dataclass(frozen=True)
class Result:
    """What a search found.

    Attributes
    ----------
    X : ndarray of shape (n_variables,), or (k, n_variables) for several objectives
        Best solution, or the front: int16, or float64 for real variables.
    F : ndarray of shape (1,), or (k, n_objectives), float64
        Their objectives, minimised.
    n_eval : int
        Changed solutions evaluated.
    n_eval_full : float
        The same in full evaluations: touched terms over all terms.
    exec_time, time_to_best : float
        Seconds.
    history : list of HistoryEntry, or of FrontHistoryEntry for several objectives
    stopped_by : str
        "max_seconds", "max_evaluations", "max_generations", "patience", "target", "callback", "interrupt" or
        "max_population_size".
    n_generations : int
    statistics : dict of str to int
        The problem's own counts.
    extra : dict
        "violation" of the best solution, or of every solution of a front; 0 means feasible.
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
