"""`optimise`: one call that searches any problem; and the evaluation of given solutions outside any search."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.algorithms.discrete_run import checked_genotypes, new_population, new_work
from gomea_bn.algorithms.gomea import GOMEA
from gomea_bn.algorithms.mogomea import MOGOMEA
from gomea_bn.algorithms.rvgomea import RVGOMEA, RealRun
from gomea_bn.errors import GomeaBnError, check_callable, check_choice, check_verbose
from gomea_bn.operators.mixing import evaluate_row
from gomea_bn.problems.base import CompiledProblem, with_defaults
from gomea_bn.problems.continuous import RealProblem
from gomea_bn.problems.python_problem import PythonProblem, RealPythonProblem, as_compiled
from gomea_bn.runtime.checkpoints import Checkpoint
from gomea_bn.runtime.evaluations import Evaluations
from gomea_bn.runtime.limits import Callback, Limits, Progress, Result
from gomea_bn.runtime.threads import thread_count


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
    map: Any = None,
    cache: bool | None = None,
    on_error: str = "raise",
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
    random_state : int, SeedSequence, Generator or RandomState, optional
        Seed. The same seed gives the same result at any number of threads or processes, unless a clock ended the run.
        Where solutions are evaluated together, the limit of evaluations ends the last generation at other solutions
        than where they are evaluated one by one.
    max_seconds, max_evaluations, max_generations, patience : number, optional
        Limits of the run; see `Limits`. At least one of them, a `target` or a `termination` is needed.
    target : float, optional
        Objective at which the run stops; by default the problem's own ``target``.
    termination, callback : callable, optional
        Functions that get a `Progress` after every generation; a true return value stops the run.
    initial : array_like of shape (k, n_variables), optional
        Solutions with which every population begins.
    n_jobs : int or None
        None is 1, -1 all cores. Number of threads for compiled discrete problems. Number of processes that evaluate
        solutions of a Python object, which must be importable there. With ``evaluate_batch`` each gets a part of X.
    map : executor or function, optional
        What evaluates the solutions of a Python object in place of `n_jobs`: an object with ``map``, such as a
        ``ThreadPoolExecutor`` or Dask's ``Client``, or a function ``map(function, items)``.
    cache : bool, optional
        Whether a solution of a Python object is evaluated once, and looked up when it comes again. By default it is if
        the first evaluations take 20 microseconds or more. Repeated ones count as evaluations all the same;
        ``result.statistics["repeated"]`` has their number.
    on_error : {"raise", "worst"}
        What an exception or a NaN of a Python object's evaluation does: end the search with this exception, which has
        the best solution so far as a note (of fronts and real variables, that of earlier generations), or make its
        solution the worst one, with infinite objectives and violation.
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
    check_choice("on_error", on_error, ("raise", "worst"))
    if not (cache is None or isinstance(cache, bool)):
        raise GomeaBnError(f"cache must be True, False or None, got {cache!r:.80}.")
    is_python = isinstance(problem, (PythonProblem, RealPythonProblem))
    if map is not None and not is_python:
        raise GomeaBnError(
            "map is for Python objects; the evaluations of this problem are compiled. Use n_jobs."
        )
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
    if not problem.is_real and not is_python:
        options["n_jobs"] = n_jobs
    with _evaluating(problem, n_jobs, map, cache, on_error) if is_python else nullcontext():
        if not verbose:
            return algorithm.run(problem, limits, callback=combined if calls else None, **options)
        from gomea_bn.runtime.progress import LiveTable

        with LiveTable(scores=False) as live:
            calls.append(live)
            return algorithm.run(problem, limits, callback=combined, **options)


@contextmanager
def _evaluating(
    problem: PythonProblem | RealPythonProblem,
    n_jobs: int | None,
    given_map: Any,
    cache: bool | None,
    on_error: str,
) -> Iterator[None]:
    """Evaluate the solutions of a user's object in this way during the block."""
    n_processes = thread_count(n_jobs)
    evaluations = problem.evaluations = Evaluations(problem.user, cache)
    problem.fails_softly = on_error == "worst"
    if given_map is not None:
        if n_processes > 1:
            raise GomeaBnError(f"Give either map or n_jobs, got both, with n_jobs={n_jobs}.")
        evaluations.use_map(given_map)
    elif n_processes > 1:
        evaluations.use_processes(n_processes)
    if given_map is not None or n_processes > 1 or evaluations.has_batches:
        problem.meet()
    try:
        yield
    finally:
        evaluations.close()
