"""Bridges to pymoo: this package's problems for its algorithms, and GOMEA and RV-GOMEA for its `minimize`."""

from __future__ import annotations

from collections.abc import Callable
from time import time
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymoo.core.algorithm import Algorithm
from pymoo.core.individual import Individual
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.core.variable import Binary, Choice, Integer, Real
from pymoo.util.display.single import SingleObjectiveOutput

from gomea_bn.algorithms.ask_tell import AskedRun, asked_problem
from gomea_bn.algorithms.gomea import GOMEA as DiscreteSettings
from gomea_bn.algorithms.gomea import GomeaRun
from gomea_bn.algorithms.multi_start import MultiStartRun, opened_run
from gomea_bn.algorithms.optimisation import evaluate_genotypes, evaluate_solutions
from gomea_bn.algorithms.rvgomea import RVGOMEA as RealSettings
from gomea_bn.errors import GomeaBnError
from gomea_bn.problems.python_problem import as_compiled
from gomea_bn.runtime.checkpoints import NO_CHECKPOINT, CheckpointOption, State
from gomea_bn.runtime.limits import Limits

__all__ = ["GOMEA", "RVGOMEA", "as_problem"]

# pymoo's termination ends a run
_UNLIMITED = Limits(max_generations=2**62)


class _PymooProblem(Problem):  # type: ignore[misc]
    """A problem of this package as a pymoo problem, with the violation as its one inequality constraint."""

    def __init__(self, problem: Any) -> None:
        self.is_real = problem.is_real
        self.wrapped = problem
        self._is_mixed = self.is_real and problem.alphabet is not None
        if self.is_real:
            # pymoo samples between its bounds; the initial range replaces infinite ones
            finite = np.isfinite(problem.lower) & np.isfinite(problem.upper)
            lower = np.where(finite, problem.lower, problem.initial_range[0])
            upper = np.where(finite, problem.upper, problem.initial_range[1])
        else:
            lower, upper = np.zeros(problem.n_variables), np.asarray(problem.alphabet, float) - 1.0
        if self._is_mixed:
            ranges = zip(problem.alphabet.tolist(), lower.tolist(), upper.tolist(), strict=True)
            kinds = [
                Choice(options=list(range(size))) if size else Real(bounds=ends) for size, *ends in ranges
            ]
            space: dict[str, Any] = {"vars": {f"x{i}": kind for i, kind in enumerate(kinds)}}
        else:
            vtype = float if self.is_real else int
            space = {"n_var": problem.n_variables, "xl": lower, "xu": upper, "vtype": vtype}
        super().__init__(n_obj=problem.n_objectives, n_ieq_constr=1, **space)

    def shown(self, x: Any) -> Any:
        """Return a solution in pymoo's terms."""
        if not self._is_mixed:
            return x.copy() if self.is_real else x.astype(np.int64)
        named = zip(self.vars, x.tolist(), self.wrapped.alphabet, strict=True)
        return {name: int(value) if size else value for name, value, size in named}

    def _evaluate(self, x: Any, out: dict[str, Any], *_args: Any, **_kwargs: Any) -> None:
        if self._is_mixed:
            x = [[solution[name] for name in self.vars] for solution in x]
        if self.is_real:
            objectives, violations = evaluate_solutions(self.wrapped, x)
        else:
            genotypes = np.rint(np.asarray(x, float)).astype(np.int64)
            objectives, violations, _repaired = evaluate_genotypes(self.wrapped, genotypes)
        out["F"] = objectives
        out["G"] = violations[:, None]


def as_problem(problem: Any) -> Problem:
    """Return a problem as a pymoo problem with integer, real or mixed variables.

    Parameters
    ----------
    problem : object
        A problem of this package, or an object with ``n_variables``, ``evaluate``, and ``alphabet``, ``bounds``
        or both.

    Notes
    -----
    Variables of a mixed problem are named x0, x1, ...: a `Choice` if discrete, otherwise a `Real`. Values of integer
    variables are rounded. A problem that repairs genotypes returns the values of the repaired ones.
    """
    return _PymooProblem(as_compiled(problem))


def _variables(problem: Problem, shown: Callable[[Any], Any], **of_kinds: Any) -> SimpleNamespace:
    """Return the variables of a pymoo problem, whose solutions pymoo evaluates: `alphabet`, `bounds` or both.

    `shown` returns a solution in pymoo's terms.
    """
    sizes = {"n_variables": int(problem.n_var), "n_objectives": int(problem.n_obj)}
    return SimpleNamespace(problem=problem, shown=shown, **sizes, **of_kinds)


def _finite_bounds(problem: Problem) -> tuple[Any, Any]:
    """Return the bounds; raises `GomeaBnError` if one is missing or infinite."""
    lower, upper = problem.bounds()
    if lower is None or upper is None or not np.isfinite([lower, upper]).all():
        raise GomeaBnError("GOMEA and RVGOMEA need a pymoo problem with finite bounds xl and xu.")
    return lower, upper


def _integers(problem: Problem) -> SimpleNamespace:
    """Return the variables of a problem over integers."""
    if problem.vtype not in (int, bool, np.bool_, np.int64):
        raise GomeaBnError(
            f"GOMEA needs integer or boolean variables; this pymoo problem has vtype {problem.vtype!r}."
        )
    lower, upper = (np.asarray(ends, np.int64) for ends in _finite_bounds(problem))
    return _variables(problem, lambda x: lower + x.astype(np.int64), alphabet=upper - lower + 1)


def _reals(problem: Problem) -> SimpleNamespace:
    """Return the variables of a problem over real numbers."""
    if problem.vtype not in (None, float, np.float64):
        raise GomeaBnError(f"RVGOMEA needs real variables; this pymoo problem has vtype {problem.vtype!r}.")
    return _variables(problem, lambda x: x.copy(), bounds=_finite_bounds(problem))


def _values_of(name: str, variable: Any) -> Any:
    """Return the values of a discrete variable of a mixed pymoo problem, None if it is real."""
    if isinstance(variable, Integer):
        return range(int(variable.lb), int(variable.ub) + 1)
    if isinstance(variable, Binary):
        return (False, True)
    if isinstance(variable, Choice):
        return variable.options
    if isinstance(variable, Real):
        return None
    raise GomeaBnError(
        f"RVGOMEA takes Real, Integer, Binary and Choice; {name} is a {type(variable).__name__}."
    )


def _mixed(problem: Problem) -> SimpleNamespace:
    """Return the variables of a problem over real and discrete variables by name."""
    values = {name: _values_of(name, variable) for name, variable in problem.vars.items()}
    ranges = [(v.lb, v.ub) if isinstance(v, Real) else (0.0, 0.0) for v in problem.vars.values()]

    def shown(x: Any) -> Any:
        named = zip(values.items(), x.tolist(), strict=True)
        return {name: value if of is None else of[int(value)] for (name, of), value in named}

    sizes = [0 if of is None else len(of) for of in values.values()]
    return _variables(problem, shown, alphabet=sizes, bounds=tuple(zip(*ranges, strict=True)))


def _objects(solutions: list[Any]) -> NDArray[Any]:
    """Return solutions as rows of an array; those of mixed problems are dictionaries."""
    if not isinstance(solutions[0], dict):
        return np.array(solutions)
    rows = np.empty(len(solutions), object)
    rows[:] = solutions
    return rows


def _violations(problem: Problem, evaluated: Population) -> NDArray[np.float64]:
    """Return the sum of violated constraints of every solution."""
    violations = np.zeros(len(evaluated))
    if problem.n_ieq_constr:
        violations += np.maximum(evaluated.get("G"), 0.0).sum(axis=1)
    if problem.n_eq_constr:
        violations += np.abs(evaluated.get("H")).sum(axis=1)
    return violations


class _MultiStart(Algorithm):  # type: ignore[misc]
    """An algorithm of this package in pymoo.

    One iteration is one round of solutions that pymoo evaluates. For a problem of this package, whose evaluations are
    compiled, it is one generation of the multi-start scheme.
    """

    def __init__(self, settings: Any, checkpoint: CheckpointOption, **kwargs: Any) -> None:
        super().__init__(output=kwargs.pop("output", SingleObjectiveOutput()), **kwargs)
        self.settings = settings
        self.checkpoint = checkpoint
        # what shows solutions in pymoo's terms, and what is searched
        self._source: Any = None
        self._searched: Any = None
        self._run: MultiStartRun | None = None
        # the same run if pymoo evaluates its solutions
        self._asked: AskedRun | None = None
        self._section = self._of_run = NO_CHECKPOINT
        self._has_ended = False

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the running search, as pymoo copies algorithms for its history."""
        return {
            **self.__dict__,
            "_run": None,
            "_asked": None,
            "_section": NO_CHECKPOINT,
            "_of_run": NO_CHECKPOINT,
        }

    def _new_run(self, seed: int) -> MultiStartRun:
        raise NotImplementedError

    def _initialize_infill(self) -> Population | None:
        self._run = self._new_run(int(self.random_state.integers(2**32)))
        self._section = opened_run(self.checkpoint, self._run, self.seed)
        self._of_run = self._section.part("run")
        if self._searched.meeting is None:
            return None
        self._asked = AskedRun(self._run, self._searched, self._of_run)
        return self._infill()

    def _initialize_advance(self, infills: Any = None, **_kwargs: Any) -> None:
        # pymoo has just set the number of the iteration to 1
        self._section.resume(self._restore)
        self._section.keep(lambda: {"n_iter": self.n_iter, "has_ended": self._has_ended})
        if self._asked is not None:
            self._advance(infills)
            return
        assert self._run is not None
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
        if self._asked is not None:
            self._asked.close()
        self._section.write()

    def _infill(self) -> Population | None:
        if self._asked is None or self._asked.should_stop():
            return None
        most = getattr(self.termination, "n_max_evals", None)
        solutions = self._asked.ask(None if most is None else max(int(most) - self.evaluator.n_eval, 1))
        return Population.new(X=_objects([self._source.shown(x) for x in solutions]))

    def _advance(self, infills: Any = None, **_kwargs: Any) -> None:
        if self._asked is not None:
            self._tell(self._asked, infills)
            return
        if self._run is None:
            raise GomeaBnError(
                f"A copy of a running {type(self).__name__} cannot continue; use the original."
            )
        with self._run as run:
            if not run.advance(self._of_run):
                self.termination.force_termination = True
        self._show(run)

    def _tell(self, asked: AskedRun, infills: Population | None) -> None:
        """Give the search what pymoo has evaluated; the last round may be cut to pymoo's limit of evaluations."""
        if infills is not None:
            self.pop = infills
            values, violations = infills.get("F"), _violations(self.problem, infills)
            asked.tell(values, violations)
        if asked.should_stop():
            self.termination.force_termination = True
        best = asked.result()
        self._best = (best.X[None], best.F[None], np.array([best.extra["violation"]]))

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
            individual = Individual(X=self._source.shown(x), F=f.copy())
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
            self._source, self._searched = problem, problem.wrapped
        else:
            self._source = _integers(problem)
            self._searched = asked_problem(self._source)

    def _new_run(self, seed: int) -> MultiStartRun:
        return GomeaRun(self.settings, self._searched, _UNLIMITED, random_state=seed)


class RVGOMEA(_MultiStart):
    """RV-GOMEA as a pymoo algorithm, for real variables or a mix of real and discrete ones.

    Parameters
    ----------
    settings : gomea_bn.RVGOMEA, optional
        Options of the search.
    checkpoint : Checkpoint or path, optional
        Folder for checkpoints, from which a run that was killed can go on; see `gomea_bn.Checkpoint`. The number of
        iterations and the clock of pymoo go on too, but not its history. The termination may be another one.
    **kwargs
        Options of pymoo's ``Algorithm``.

    Examples
    --------
    >>> from pymoo.optimize import minimize
    >>> from pymoo.problems import get_problem
    >>> from gomea_bn.pymoo import RVGOMEA
    >>> result = minimize(get_problem("sphere", n_var=4), RVGOMEA(), ("n_eval", 1500), seed=1)
    >>> bool(result.F[0] < 1e-6)
    True
    """

    def __init__(
        self, settings: RealSettings | None = None, *, checkpoint: CheckpointOption = None, **kwargs: Any
    ) -> None:
        super().__init__(settings or RealSettings(), checkpoint, **kwargs)

    def _setup(self, problem: Problem, **_kwargs: Any) -> None:
        if isinstance(problem, _PymooProblem) and problem.is_real:
            self._source, self._searched = problem, problem.wrapped
        else:
            has_kinds = getattr(problem, "vars", None) is not None
            self._source = _mixed(problem) if has_kinds else _reals(problem)
            self._searched = asked_problem(self._source)

    def _new_run(self, seed: int) -> MultiStartRun:
        run: MultiStartRun = self.settings._new_run(self._searched, _UNLIMITED, random_state=seed)
        return run
