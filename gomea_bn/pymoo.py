"""Bridges to pymoo: this package's problems for its algorithms, and GOMEA and RV-GOMEA for its `minimize`."""

from __future__ import annotations

from time import time
from typing import Any

import numpy as np
from pymoo.core.algorithm import Algorithm
from pymoo.core.individual import Individual
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.util.display.single import SingleObjectiveOutput

from gomea_bn.algorithms.gomea import GOMEA as DiscreteSettings
from gomea_bn.algorithms.gomea import GomeaRun
from gomea_bn.algorithms.multi_start import MultiStartRun, opened_run
from gomea_bn.algorithms.optimisation import evaluate_genotypes, evaluate_solutions
from gomea_bn.algorithms.rvgomea import RVGOMEA as RealSettings
from gomea_bn.algorithms.rvgomea import RealRun
from gomea_bn.errors import GomeaBnError
from gomea_bn.problems.python_problem import PythonProblem, RealPythonProblem, as_compiled
from gomea_bn.runtime.checkpoints import NO_CHECKPOINT, CheckpointOption, State
from gomea_bn.runtime.limits import Limits

__all__ = ["GOMEA", "RVGOMEA", "as_problem"]

# pymoo's termination ends a run
_UNLIMITED = Limits(max_generations=2**62)


class _PymooProblem(Problem):  # type: ignore[misc]
    """A problem of this package as a pymoo problem, with the violation as its one inequality constraint."""

    def __init__(self, problem: Any) -> None:
        self.is_real = problem.is_real
        if self.is_real:
            # pymoo samples between its bounds; the initial range replaces infinite ones
            finite = np.isfinite(problem.lower) & np.isfinite(problem.upper)
            lower = np.where(finite, problem.lower, problem.initial_range[0])
            upper = np.where(finite, problem.upper, problem.initial_range[1])
        else:
            lower, upper = np.zeros(problem.n_variables), np.asarray(problem.alphabet, float) - 1.0
        super().__init__(
            n_var=problem.n_variables,
            n_obj=problem.n_objectives,
            n_ieq_constr=1,
            xl=lower,
            xu=upper,
            vtype=float if self.is_real else int,
        )
        self.wrapped = problem

    def _evaluate(self, x: Any, out: dict[str, Any], *_args: Any, **_kwargs: Any) -> None:
        if self.is_real:
            objectives, violations = evaluate_solutions(self.wrapped, x)
        else:
            genotypes = np.rint(np.asarray(x, float)).astype(np.int64)
            objectives, violations, _repaired = evaluate_genotypes(self.wrapped, genotypes)
        out["F"] = objectives
        out["G"] = violations[:, None]


def as_problem(problem: Any) -> Problem:
    """Return a problem as a pymoo problem with integer or real variables.

    Parameters
    ----------
    problem : object
        A problem of this package, or an object with ``n_variables``, ``evaluate``, and ``alphabet`` or ``bounds``.

    Notes
    -----
    Values of integer variables are rounded. A problem that repairs genotypes returns the values of the repaired ones.
    """
    return _PymooProblem(as_compiled(problem))


class _FromPymoo:
    """A pymoo problem with bounds as a plain Python problem."""

    def __init__(self, problem: Problem) -> None:
        lower, upper = problem.bounds()
        if lower is None or upper is None or not np.isfinite([lower, upper]).all():
            raise GomeaBnError("GOMEA and RVGOMEA need a pymoo problem with finite bounds xl and xu.")
        self.problem = problem
        self.n_variables = int(problem.n_var)
        self.n_objectives = int(problem.n_obj)

    def answer(self, x: Any) -> tuple[Any, float]:
        """Return objectives and the sum of violated constraints."""
        answer = self.problem.evaluate(x, return_as_dictionary=True)
        violation = 0.0
        if self.problem.n_ieq_constr:
            violation += float(np.maximum(answer["G"], 0.0).sum())
        if self.problem.n_eq_constr:
            violation += float(np.abs(answer["H"]).sum())
        return answer["F"], violation


class _IntegersFromPymoo(_FromPymoo):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        if problem.vtype not in (int, bool, np.bool_, np.int64):
            raise GomeaBnError(
                f"GOMEA needs integer or boolean variables; this pymoo problem has vtype {problem.vtype!r}."
            )
        lower, upper = problem.bounds()
        self.lower = np.asarray(lower, np.int64)
        self.alphabet = np.asarray(upper, np.int64) - self.lower + 1

    def evaluate(self, x: Any) -> tuple[Any, float]:
        return self.answer(self.lower + x)


class _RealsFromPymoo(_FromPymoo):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        if problem.vtype not in (None, float, np.float64):
            raise GomeaBnError(
                f"RVGOMEA needs real variables; this pymoo problem has vtype {problem.vtype!r}."
            )
        self.bounds = problem.bounds()
        self.evaluate = self.answer


class _MultiStart(Algorithm):  # type: ignore[misc]
    """An algorithm of this package in pymoo; one iteration is one generation of the multi-start scheme."""

    def __init__(self, settings: Any, checkpoint: CheckpointOption, **kwargs: Any) -> None:
        super().__init__(output=kwargs.pop("output", SingleObjectiveOutput()), **kwargs)
        self.settings = settings
        self.checkpoint = checkpoint
        self._run: MultiStartRun | None = None
        self._section = self._of_run = NO_CHECKPOINT
        self._has_ended = False

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the running search, as pymoo copies algorithms for its history."""
        return {**self.__dict__, "_run": None, "_section": NO_CHECKPOINT, "_of_run": NO_CHECKPOINT}

    def _new_run(self, seed: int) -> MultiStartRun:
        raise NotImplementedError

    def _shown(self, x: Any) -> Any:
        """Return a solution in pymoo's terms."""
        return x.copy()

    def _initialize_infill(self) -> None:
        self._run = self._new_run(int(self.random_state.integers(2**32)))
        self._section = opened_run(self.checkpoint, self._run, self.seed)

    def _initialize_advance(self, infills: Any = None, **_kwargs: Any) -> None:
        assert self._run is not None
        self._section.resume(self._restore)
        self._section.keep(lambda: {"n_iter": self.n_iter, "has_ended": self._has_ended})
        self._of_run = self._section.part("run")
        self._run.begin(self._of_run)
        # the clock of pymoo starts with the process
        self.start_time = time() - self._run.stop.seconds
        if self._has_ended:
            self._show(self._run)
        else:
            self._advance()

    def _restore(self, state: State) -> None:
        """Go on from an iteration of an earlier process; a run that had ended takes no further step."""
        self._has_ended = state["has_ended"]
        # pymoo counts up after an iteration, before it finalizes
        self.n_iter = state["n_iter"] + (-1 if self._has_ended else 1)

    def _finalize(self) -> None:
        self._has_ended = True
        self._section.write()

    def _infill(self) -> None:
        return None

    def _advance(self, infills: Any = None, **_kwargs: Any) -> None:
        if self._run is None:
            raise GomeaBnError(
                f"A copy of a running {type(self).__name__} cannot continue; use the original."
            )
        with self._run as run:
            if not run.advance(self._of_run):
                self.termination.force_termination = True
        self._show(run)

    def _show(self, run: MultiStartRun) -> None:
        """Tell pymoo the state of the run."""
        self.evaluator.n_eval = run.n_eval
        self.pop = self._population(run.newest())
        self._best = run.best()

    def _set_optimum(self) -> None:
        """Set the best of all populations; pymoo's default is the best of the newest population."""
        self.opt = self._population(self._best)

    def _population(self, solutions: tuple[Any, Any, Any]) -> Population:
        individuals = []
        for x, f, violation in zip(*solutions, strict=True):
            individual = Individual(X=self._shown(x), F=f.copy())
            # one constraint gets the whole violation, so that pymoo's sum over constraints is right
            constraints = np.zeros(self.problem.n_ieq_constr + self.problem.n_eq_constr)
            constraints[:1] = violation
            inequalities, equalities = np.split(constraints, [self.problem.n_ieq_constr])
            individual.set("G", inequalities)
            individual.set("H", equalities)
            individual.evaluated.update(("F", "G", "H"))
            individuals.append(individual)
        return Population.create(*individuals)


class GOMEA(_MultiStart):
    """GOMEA as a pymoo algorithm, for integer or boolean variables.

    Parameters
    ----------
    settings : gomea_bn.GOMEA, optional
        Options of the search.
    checkpoint : Checkpoint or path, optional
        Folder for checkpoints, from which a run that was killed can go on; see `gomea_bn.Checkpoint`. The number of
        iterations and the clock of pymoo go on too, but not its history. The termination may be another one.
    **kwargs
        Options of pymoo's ``Algorithm`` (``termination``, ``callback``, ``output`` ...).

    Examples
    --------
    >>> from pymoo.optimize import minimize
    >>> from gomea_bn.pymoo import GOMEA, as_problem
    >>> class OneMax:
    ...     n_variables, alphabet = 20, 2
    ...     def evaluate(self, x):
    ...         return -float(x.sum())
    >>> result = minimize(as_problem(OneMax()), GOMEA(), ("n_eval", 2000), seed=1)
    >>> float(result.F[0])
    -20.0
    """

    def __init__(
        self, settings: DiscreteSettings | None = None, *, checkpoint: CheckpointOption = None, **kwargs: Any
    ) -> None:
        super().__init__(settings or DiscreteSettings(), checkpoint, **kwargs)

    def _setup(self, problem: Problem, **_kwargs: Any) -> None:
        if isinstance(problem, _PymooProblem) and not problem.is_real:
            self._searched: Any = problem.wrapped
            self._lower: Any = 0
        else:
            adapted = _IntegersFromPymoo(problem)
            self._searched = PythonProblem(adapted)
            self._lower = adapted.lower

    def _new_run(self, seed: int) -> MultiStartRun:
        return GomeaRun(self.settings, self._searched, _UNLIMITED, random_state=seed)

    def _shown(self, x: Any) -> Any:
        return self._lower + x.astype(np.int64)


class RVGOMEA(_MultiStart):
    """RV-GOMEA as a pymoo algorithm, for real variables.

    Parameters
    ----------
    settings : gomea_bn.RVGOMEA, optional
        Options of the search.
    checkpoint : Checkpoint or path, optional
        Folder for checkpoints, from which a run that was killed can go on; see `gomea_bn.Checkpoint`. The number of
        iterations and the clock of pymoo go on too, but not its history. The termination may be another one.
    **kwargs
        Options of pymoo's ``Algorithm``.
    """

    def __init__(
        self, settings: RealSettings | None = None, *, checkpoint: CheckpointOption = None, **kwargs: Any
    ) -> None:
        super().__init__(settings or RealSettings(), checkpoint, **kwargs)

    def _setup(self, problem: Problem, **_kwargs: Any) -> None:
        if isinstance(problem, _PymooProblem) and problem.is_real:
            self._searched: Any = problem.wrapped
        else:
            self._searched = RealPythonProblem(_RealsFromPymoo(problem))

    def _new_run(self, seed: int) -> MultiStartRun:
        return RealRun(self.settings, self._searched, _UNLIMITED, random_state=seed)
