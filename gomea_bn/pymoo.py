"""Bridges to pymoo: our problems for its algorithms, our algorithms for its `minimize`."""

from __future__ import annotations

from typing import Any

import numpy as np
from pymoo.core.algorithm import Algorithm
from pymoo.core.individual import Individual
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.util.display.single import SingleObjectiveOutput

from gomea_bn._gomea_run import GomeaRun
from gomea_bn.errors import GomeaBnError
from gomea_bn.evaluation import evaluate_genotypes
from gomea_bn.gomea import GOMEA as Settings
from gomea_bn.limits import Limits
from gomea_bn.problems.python_problem import PythonProblem

__all__ = ["GOMEA", "as_problem"]


class _PymooProblem(Problem):  # type: ignore[misc]
    """One of our discrete problems as pymoo sees it; a violation is its one inequality constraint."""

    def __init__(self, problem: Any) -> None:
        super().__init__(
            n_var=problem.n_variables,
            n_obj=problem.n_objectives,
            n_ieq_constr=1,
            xl=np.zeros(problem.n_variables),
            xu=np.asarray(problem.alphabet, float) - 1.0,
            vtype=int,
        )
        self.wrapped = problem

    def _evaluate(self, x: Any, out: dict[str, Any], *_args: Any, **_kwargs: Any) -> None:
        genotypes = np.rint(np.asarray(x, float)).astype(np.int64)
        objectives, violations, _repaired = evaluate_genotypes(self.wrapped, genotypes)
        out["F"] = objectives
        out["G"] = violations[:, None]


def as_problem(problem: Any) -> Problem:
    """Return a discrete problem as a pymoo problem with integer variables.

    Parameters
    ----------
    problem : object
        One of the package's discrete problems, or an object with ``n_variables``, ``alphabet``, ``evaluate``.

    Notes
    -----
    Values are rounded to integers. A problem that repairs genotypes is evaluated at the repaired one.
    """
    return _PymooProblem(problem if hasattr(problem, "kernel_data") else PythonProblem(problem))


class _FromPymoo:
    """A pymoo problem with bounded integer variables, as a plain Python problem."""

    def __init__(self, problem: Problem) -> None:
        lower, upper = problem.bounds()
        if lower is None or upper is None or not np.isfinite([lower, upper]).all():
            raise GomeaBnError(
                "GOMEA needs a pymoo problem with finite bounds xl and xu of its integer variables."
            )
        if problem.vtype not in (int, bool, np.bool_, np.int64) and getattr(problem, "vars", None) is None:
            raise GomeaBnError(
                f"GOMEA searches integer or boolean variables; this pymoo problem has vtype {problem.vtype!r}."
            )
        self.problem = problem
        self.lower = np.asarray(lower, np.int64)
        self.n_variables = int(problem.n_var)
        self.n_objectives = int(problem.n_obj)
        self.alphabet = np.asarray(upper, np.int64) - self.lower + 1

    def evaluate(self, x: Any) -> tuple[Any, float]:
        answer = self.problem.evaluate(self.lower + x, return_as_dictionary=True)
        violation = 0.0
        if self.problem.n_ieq_constr:
            violation += float(np.maximum(answer["G"], 0.0).sum())
        if self.problem.n_eq_constr:
            violation += float(np.abs(answer["H"]).sum())
        return answer["F"], violation


class GOMEA(Algorithm):  # type: ignore[misc]
    """GOMEA as a pymoo algorithm: one pymoo iteration is one generation of the multi-start scheme.

    Parameters
    ----------
    settings : gomea_bn.GOMEA, optional
        Options of the search.
    **kwargs
        pymoo's own options (``termination``, ``callback``, ``output`` ...).

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

    def __init__(self, settings: Settings | None = None, **kwargs: Any) -> None:
        super().__init__(output=kwargs.pop("output", SingleObjectiveOutput()), **kwargs)
        self.settings = settings or Settings()
        self._run: GomeaRun | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave the running search out of copies, which pymoo takes for its history."""
        return {**self.__dict__, "_run": None}

    def _setup(self, problem: Problem, **_kwargs: Any) -> None:
        if isinstance(problem, _PymooProblem):
            self._searched: Any = problem.wrapped
            self._lower: Any = 0
        else:
            adapted = _FromPymoo(problem)
            self._searched = PythonProblem(adapted)
            self._lower = adapted.lower

    def _initialize_infill(self) -> None:
        seed = int(self.random_state.integers(2**32))
        self._run = GomeaRun(
            self.settings, self._searched, Limits(max_generations=2**62), seed, 1, None, None
        )

    def _initialize_advance(self, infills: Any = None, **_kwargs: Any) -> None:
        self._advance()

    def _infill(self) -> None:
        return None

    def _advance(self, infills: Any = None, **_kwargs: Any) -> None:
        if self._run is None:
            raise GomeaBnError("A copy of a running GOMEA cannot go on; continue with the original.")
        with self._run as run:
            if not run.step():
                self.termination.force_termination = True
        self.evaluator.n_eval = run.n_eval
        self.pop = self._population(run.newest())
        self._best = run.best()

    def _set_optimum(self) -> None:
        """Take the best of all populations, where pymoo would take the newest population's."""
        self.opt = self._population(self._best)

    def _population(self, solutions: tuple[Any, Any, Any]) -> Population:
        individuals = []
        for x, f, violation in zip(*solutions, strict=True):
            individual = Individual(X=self._lower + x.astype(np.int64), F=f.copy())
            # the whole violation goes to one constraint, so that pymoo's sum over them is right
            constraints = np.zeros(self.problem.n_ieq_constr + self.problem.n_eq_constr)
            constraints[:1] = violation
            inequalities, equalities = np.split(constraints, [self.problem.n_ieq_constr])
            individual.set("G", inequalities)
            individual.set("H", equalities)
            individual.evaluated.update(("F", "G", "H"))
            individuals.append(individual)
        return Population.create(*individuals)
