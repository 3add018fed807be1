"""`optimise`: one call that searches any problem; and the evaluation of given solutions outside any search."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.algorithms.discrete_run import checked_genotypes, new_population, new_work
from gomea_bn.algorithms.gomea import GOMEA
from gomea_bn.algorithms.mogomea import MOGOMEA
from gomea_bn.algorithms.rvgomea import RVGOMEA, RealRun
from gomea_bn.errors import GomeaBnError, check_callable, check_verbose
from gomea_bn.operators.mixing import evaluate_row
from gomea_bn.problems.base import CompiledProblem, with_defaults
from gomea_bn.problems.continuous import RealProblem
from gomea_bn.problems.python_problem import as_compiled
from gomea_bn.runtime.checkpoints import Checkpoint
from gomea_bn.runtime.limits import Callback, Limits, Progress, Result


def evaluate_genotypes(
    problem: CompiledProblem, genotypes: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int16]]:
    """Return objectives (n, n_objectives), violations (n,) and the repaired genotypes (n, n_variables).

    The given array is not changed. A wrong shape, or a value that a gene may not have, raises `GomeaBnError`.
    """
    problem = with_defaults(problem)
    population = new_population(problem, checked_genotypes(problem, genotypes, "genotypes"))
    work = new_work(problem, np.zeros(1, np.uint8))
    generator = np.random.default_rng(0)
    data = problem.kernel_data(1)[0]
    for row in range(len(population.parents)):
        evaluate_row(data, population, row, generator, work)
    problem.chunk_ended(0, data)
    problem.generation_ended()
    return population.objectives, population.violations, population.genotypes


def evaluate_solutions(
    problem: RealProblem, solutions: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return objectives (n, n_objectives) and violations (n,) of solutions (n, n_variables) within the bounds."""
    initial = np.asarray(solutions, np.float64)
    settings = RVGOMEA(base_population=max(len(initial), 3))
    with RealRun(settings, problem, Limits(max_generations=1), random_state=0, initial=initial) as run:
        run.step()
    data = run.populations[0].data
    return data.objectives[: len(initial)], data.violations[: len(initial)]


def optimise(
    problem: Any,
    algorithm: GOMEA | MOGOMEA | RVGOMEA | None = None,
    *,
    random_state: Any = None,
    max_seconds: float | None = None,
    max_evaluations: int | None = None,
    max_generations: int | None = None,
    patience: float | None = None,
    target: float | None = None,
    termination: Callable[[Progress], bool] | None = None,
    callback: Callback | None = None,
    initial: Any = None,
    n_jobs: int | None = 1,
    verbose: bool = False,
    checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
) -> Result:
    """Return the best solution of a problem, or its front; everything is minimised.

    Parameters
    ----------
    problem : object
        A benchmark problem, a `KernelProblem` or `RealKernelProblem`, or any object with ``n_variables``,
        ``evaluate(x)`` and ``alphabet``, ``bounds`` or both (see `PythonProblem` and `RealPythonProblem`).
    algorithm : GOMEA, MOGOMEA or RVGOMEA, optional
        By default `GOMEA()`, `MOGOMEA()` for several objectives, or `RVGOMEA()` for real or mixed variables.
    random_state : int or SeedSequence, optional
        Seed. The same seed gives the same result at any number of threads, unless a clock ended the run.
    max_seconds, max_evaluations, max_generations, patience : number, optional
        Limits of the run; see `Limits`. At least one of them, a `target` or a `termination` is needed.
    target : float, optional
        Objective at which the run stops; by default the problem's own ``target``.
    termination, callback : callable, optional
        Functions that get a `Progress` after every generation; a true return value stops the run.
    initial : array_like of shape (k, n_variables), optional
        Solutions with which every population begins.
    n_jobs : int or None
        Number of threads for compiled discrete problems: None is 1, -1 is all cores. A
        problem's Python functions always run one at a time.
    verbose : bool
        Whether to show a live table.
    checkpoint : Checkpoint or path, optional
        Folder for checkpoints, from which a run that was killed can go on; see `gomea_bn.Checkpoint`.

    Raises
    ------
    GomeaBnError
        For a problem, option or limit that cannot be used, and for a checkpoint of another run.

    Examples
    --------
    >>> class OneMax:
    ...     n_variables, alphabet = 20, 2
    ...     def evaluate(self, x):
    ...         return -float(x.sum())
    >>> result = optimise(OneMax(), random_state=1, target=-20, max_evaluations=10_000)
    >>> int(result.X.sum()), result.stopped_by
    (20, 'target')
    """
    problem = as_compiled(problem)
    check_verbose(verbose)
    kind: type[GOMEA] | type[MOGOMEA] | type[RVGOMEA]
    if target is None:
        target = problem.target
    for name, call in (("termination", termination), ("callback", callback)):
        check_callable(name, call)
    if problem.is_real:
        kind, description = RVGOMEA, "an RVGOMEA for real or mixed variables"
    elif problem.n_objectives > 1:
        kind, description = MOGOMEA, f"a MOGOMEA for {problem.n_objectives} objectives"
    else:
        kind, description = GOMEA, "a GOMEA for discrete variables and one objective"
    if algorithm is None:
        algorithm = kind()
    if not isinstance(algorithm, kind):
        raise GomeaBnError(f"algorithm must be {description}, got {algorithm!r}.")
    unlimited = all(
        limit is None for limit in (max_seconds, max_evaluations, max_generations, patience, target)
    )
    if unlimited and termination is not None:
        limits = Limits(max_generations=2**62)
    else:
        limits = Limits(max_seconds, max_evaluations, max_generations, patience, target)
    calls = [call for call in (termination, callback) if call is not None]

    def combined(progress: Progress) -> bool:
        return sum(bool(call(progress)) for call in calls) > 0

    options: dict[str, Any] = {"random_state": random_state, "initial": initial, "checkpoint": checkpoint}
    if not problem.is_real:
        options["n_jobs"] = n_jobs
    if not verbose:
        return algorithm.run(problem, limits, callback=combined if calls else None, **options)
    from gomea_bn.runtime.progress import LiveTable

    with LiveTable(scores=False) as live:
        calls.append(live)
        return algorithm.run(problem, limits, callback=combined, **options)
