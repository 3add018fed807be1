"""A multi-start run for one objective: the best solution of all populations, and the end of overtaken ones."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.algorithms.multi_start import MultiStartRun, Scheme
from gomea_bn.errors import GomeaBnError
from gomea_bn.operators.kernels.mixing import Elite
from gomea_bn.runtime.checkpoints import State
from gomea_bn.runtime.limits import Callback, HistoryEntry, Limits, Progress, Result
from gomea_bn.runtime.run_state import filled, history_of, history_state

__all__ = ["EliteRun"]

# an improvement by less than this share of the objective is rounding
_MEANINGFUL = 1e-10


class EliteRun(MultiStartRun):
    """One run for one objective; a subclass calls `note_best` with the solutions of each generation.

    Its populations have a ``mean``: (violation, objective).
    """

    dtype: type[np.generic] = np.int16

    def __init__(
        self,
        settings: Scheme,
        problem: Any,
        limits: Limits,
        random_state: int | np.random.SeedSequence | None,
        callback: Callback | None,
        n_threads: int,
    ) -> None:
        if problem.n_objectives != 1:
            raise GomeaBnError(
                f"{type(settings).__name__} takes problems with one objective, this one has "
                f"{problem.n_objectives}; use MOGOMEA."
            )
        super().__init__(settings, problem, limits, random_state, callback, n_threads)
        genotype: Any = np.zeros(problem.n_variables, self.dtype)
        self.elite = Elite(
            genotype=genotype, objectives=np.full(problem.n_objectives, inf), violation=np.full(1, inf)
        )
        self.history: list[HistoryEntry] = []

    def result(self) -> Result:
        """Return the best solution so far."""
        return Result(
            X=self.elite.genotype.copy(),
            F=self.elite.objectives.copy(),
            time_to_best=self.history[-1].seconds if self.history else 0.0,
            history=self.history,
            extra={"violation": float(self.elite.violation[0])},
            **self.totals(),
        )

    def best(self) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64]]:
        """Return the best solution, its objectives and violation, each with a leading axis of 1."""
        return self.elite.genotype[None], self.elite.objectives[None], self.elite.violation

    def state(self) -> State:
        """Return all that the rest of the run depends on, between two generations."""
        best = {"elite": self.elite._asdict(), "history": history_state(self.history)}
        return {**super().state(), **best}

    def restore(self, state: State) -> None:
        """Go on from what `state` had returned in a run of the same options."""
        super().restore(state)
        filled(self.elite, state["elite"])
        self.history = history_of(state["history"])

    def progress(self) -> Progress:
        """Return the state of the run."""
        return Progress(best=float(self.elite.objectives[0]), **self.counts())

    def note_best(
        self,
        genotypes: NDArray[Any],
        objectives: NDArray[np.float64],
        violations: NDArray[np.float64],
        population_size: int,
    ) -> None:
        """Copy the best of some solutions, the first of equals, if it is an improvement, and add to the history."""
        best = int(np.lexsort((objectives[:, 0], violations))[0])
        if (violations[best], objectives[best, 0]) < (self.elite.violation[0], self.elite.objectives[0]):
            self.elite.genotype[:] = genotypes[best]
            self.elite.objectives[:] = objectives[best]
            self.elite.violation[0] = violations[best]
        objective = float(self.elite.objectives[0])
        former = self.history[-1].objective if self.history else inf
        if not self.history or objective != former:
            if not 0 <= former - objective < _MEANINGFUL * abs(former):
                self.n_eval_at_best = self.n_eval
            self.history.append(HistoryEntry(self.stop.seconds, self.n_eval, objective, population_size))

    def _overtaken(self) -> list[Any]:
        """Return the populations with a worse mean than a larger one, and all smaller populations than those."""
        best_larger = (inf, inf)
        overtaken: list[Any] = []
        for population in reversed(self.populations):
            if not population.active:
                continue
            if overtaken or best_larger < population.mean:
                overtaken.append(population)
            elif not population.converged:
                best_larger = min(best_larger, population.mean)
        return overtaken

    def _target_met(self, target: float) -> bool:
        return bool(self.elite.violation[0] == 0 and self.elite.objectives[0] <= target)
