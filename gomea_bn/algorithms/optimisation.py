"""`optimise`: one call that searches any problem; and the evaluation of given solutions outside any search."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.algorithms.discrete_run import checked_genotypes, new_population, new_work
from gomea_bn.algorithms.gomea import GOMEA
from gomea_bn.algorithms.mogomea import MOGOMEA
from gomea_bn.algorithms.multi_start import seed_sequence
from gomea_bn.algorithms.rvgomea import RVGOMEA, RealRun
from gomea_bn.errors import GomeaBnError, check_callable, check_choice, check_integer, check_verbose
from gomea_bn.operators.checking import evaluate_change, evaluate_whole
from gomea_bn.operators.mixing import evaluate_row
from gomea_bn.problems.base import CompiledProblem, Solution, with_defaults
from gomea_bn.problems.continuous import RealProblem, new_real_journal
from gomea_bn.problems.python_problem import PythonProblem, as_compiled
from gomea_bn.problems.spaces import by_name, named_user, posed
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


def check_problem(problem: Any, *, n_changes: int = 200, random_state: Any = 0) -> list[str]:
    """Return sentences on where partial evaluation, or a second evaluation, differs from a whole one.

    Parameters
    ----------
    problem : object
        A problem as for `optimise`.
    n_changes : int
        Number of random changes of one to four variables.
    random_state : int, Generator or RandomState, optional
        Seed of the solutions and changes.

    Returns
    -------
    list of str
        One sentence for every difference, up to ten; none if all evaluations agree up to 1e-9 of the larger number.

    Raises
    ------
    GomeaBnError
        For a problem that cannot be used.

    Examples
    --------
    >>> class Wrong:
    ...     n_variables, alphabet, n_terms = 3, 2, 3
    ...     def evaluate(self, x):
    ...         return float(x.sum()), 0.0, x.astype(float)
    ...     def evaluate_partial(self, x, changed, parent_terms):
    ...         return float(parent_terms.sum()), 0.0, parent_terms
    >>> check_problem(Wrong())[0]
    'variables [...] from [...] to [...]: evaluate_partial gives the objective ..., evaluate gives ....'
    """
    check_integer("n_changes", n_changes, 1)
    problem = as_compiled(problem)
    if isinstance(problem, PythonProblem):
        # a look-up would hide what another evaluation gives
        problem.evaluations = Evaluations(problem.user, False)
    generator = np.random.default_rng(seed_sequence(random_state))
    kernel_data = problem.kernel_data(1)[0]
    n = problem.n_variables
    journal = (
        new_real_journal(n, problem.n_terms, problem.n_aux)
        if problem.is_real
        else new_work(problem, np.zeros(1, np.uint8)).journal
    )

    def whole(x: NDArray[Any]) -> Solution:
        solution = Solution(
            x.copy(),
            np.zeros(problem.n_terms),
            np.zeros(problem.n_aux, np.uint64),
            np.zeros(problem.n_objectives),
            np.zeros(1),
        )
        evaluate_whole(kernel_data, solution, journal, generator)
        problem.chunk_ended(0, kernel_data)
        return solution

    sentences: list[str] = []
    starts, ends = problem.sample(generator, n_changes), problem.sample(generator, n_changes)
    for x, y in zip(starts, ends, strict=True):
        solution = whole(x)
        # most variables that are changed together
        genes = generator.permutation(n)[: 1 + generator.integers(min(n, 4))]
        # a problem may repair solutions
        before, values = solution.genotype[genes].tolist(), y[genes].copy()
        evaluate_change(kernel_data, solution, journal, genes, values, generator)
        problem.chunk_ended(0, kernel_data)
        wanted = whole(solution.genotype)
        again = whole(solution.genotype)
        change = f"variables {genes.tolist()} from {before} to {values.tolist()}: evaluate_partial gives"
        if words := _difference(again, wanted):
            sentences.append(f"x = {solution.genotype.tolist()}: a second evaluate gives {words}.")
        elif words := _difference(solution, wanted):
            sentences.append(f"{change} {words}.")
        # sentences after which a check ends
        if len(sentences) == 10:
            break
    return sentences


def _difference(given: Solution, wanted: Solution) -> str:
    """Return in words the first part in which a solution differs from one evaluated in full, "" if none does."""
    nouns = ("objective", "violation", "term")
    parts = (
        (given.objectives, wanted.objectives),
        (given.violation, wanted.violation),
        (given.terms, wanted.terms),
    )
    for noun, (ours, theirs) in zip(nouns, parts, strict=True):
        # infinite values are equal or not
        with np.errstate(invalid="ignore"):
            # relative difference of two sums of the same terms in another order
            wrong = ~(
                (ours == theirs) | (np.abs(ours - theirs) <= 1e-9 * np.maximum(np.abs(ours), np.abs(theirs)))
            )
        if wrong.any():
            k = int(wrong.argmax())
            number = f" {k}" if len(ours) > 1 else ""
            return f"the {noun}{number} {ours[k]:.10g}, evaluate gives {theirs[k]:.10g}"
    return ""


def optimise(
    problem: Any,
    algorithm: GOMEA | MOGOMEA | RVGOMEA | None = None,
    *,
    space: Any = None,
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
        A function of values by name, with a `space`; an object with ``space`` and such a function ``evaluate``; any
        object with ``n_variables``, ``evaluate(x)`` and ``alphabet``, ``bounds`` or both (see `PythonProblem`); or a
        benchmark problem, a `KernelProblem` or a `RealKernelProblem`.
    algorithm : GOMEA, MOGOMEA or RVGOMEA, optional
        By default `GOMEA()`, `MOGOMEA()` for several objectives, or `RVGOMEA()` for real or mixed variables.
    space : mapping of str to Real, Integer, Categorical or Permutation, optional
        Variables by name, in the order of their conditions: ``active_when={"kind": "tree"}`` of a variable says that
        it has a value only where an earlier one has a value, or one of a list of values. ``result.values`` has the
        values of the best solution by name, or of all of a front.
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
    initial : array_like of shape (k, n_variables), or list of dict, optional
        Solutions with which every population begins, by name where the problem has a space.
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
        the best solution so far as a note, or make its solution the worst one, with infinite objectives and violation.
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
    if isinstance(algorithm, Mapping):
        raise GomeaBnError("algorithm must be a GOMEA, MOGOMEA or RVGOMEA, got a mapping; write space={...}.")
    problem = as_compiled(posed(problem, space))
    check_verbose(verbose)
    check_choice("on_error", on_error, ("raise", "worst"))
    if not (cache is None or isinstance(cache, bool)):
        raise GomeaBnError(f"cache must be True, False or None, got {cache!r:.80}.")
    is_python = isinstance(problem, PythonProblem)
    if map is not None and not is_python:
        raise GomeaBnError(
            "map is for Python objects; the evaluations of this problem are compiled. Use n_jobs."
        )
    kind: type[GOMEA] | type[MOGOMEA] | type[RVGOMEA]
    if target is None:
        target = problem.target
    for name, call in (("termination", termination), ("callback", callback)):
        check_callable(name, call)
    if problem.n_objectives > 1:
        kind, description = MOGOMEA, f"a MOGOMEA for {problem.n_objectives} objectives"
    elif problem.is_real:
        kind, description = RVGOMEA, "an RVGOMEA for real or mixed variables"
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
            result = algorithm.run(problem, limits, callback=combined if calls else None, **options)
        else:
            from gomea_bn.runtime.progress import LiveTable

            with LiveTable(limits=limits) as live:
                calls.append(live)
                result = algorithm.run(problem, limits, callback=combined, **options)
    return by_name(result, named_user(problem))


@contextmanager
def _evaluating(
    problem: PythonProblem,
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
        evaluations.use_processes(n_processes, __name__)
    if given_map is not None or n_processes > 1 or evaluations.has_batches:
        problem.meet()
    try:
        yield
    finally:
        evaluations.close()
