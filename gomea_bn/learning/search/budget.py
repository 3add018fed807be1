"""What several searches may take together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from gomea_bn.runtime.limits import Limits, Result

__all__ = ["Budget"]

# the clock of a search that may not be left out
_LEAST_SECONDS = 1e-6


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of several searches together, and what has been spent of them.

    Attributes
    ----------
    limits : Limits
    seconds, evaluations, generations : float, int, int
        What has been spent.
    """

    limits: Limits
    seconds: float = 0.0
    evaluations: int = 0
    generations: int = 0

    def spend(self, seconds: float, evaluations: int = 0, generations: int = 0) -> Self:
        """Return the budget after something else was spent."""
        return replace(
            self,
            seconds=self.seconds + seconds,
            evaluations=self.evaluations + evaluations,
            generations=self.generations + generations,
        )

    def after(self, result: Result) -> Self:
        """Return the budget after a search."""
        return self.spend(result.exec_time, result.n_eval, result.n_generations)

    @property
    def is_spent(self) -> bool:
        """Whether a limit is met."""
        limits = self.limits
        counts = (
            (limits.max_seconds, self.seconds),
            (limits.max_evaluations, self.evaluations),
            (limits.max_generations, self.generations),
        )
        return any(limit is not None and spent >= limit for limit, spent in counts)

    def share(self, share: float = 1.0, *, least_seconds: float = _LEAST_SECONDS) -> Limits:
        """Return the limits of a search that gets a share of what is left; `patience` and `target` stay.

        They allow at least one evaluation, one generation and some seconds, so that there is always a result.
        """
        limits = self.limits
        seconds, evaluations, generations = limits.max_seconds, limits.max_evaluations, limits.max_generations
        return replace(
            limits,
            max_seconds=None if seconds is None else max(share * (seconds - self.seconds), least_seconds),
            max_evaluations=None
            if evaluations is None
            else max(int(share * (evaluations - self.evaluations)), 1),
            max_generations=None
            if generations is None
            else max(int(share * (generations - self.generations)), 1),
        )
