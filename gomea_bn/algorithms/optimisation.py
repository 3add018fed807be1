"""`optimise`: any problem, one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gomea_bn.algorithms.gomea import GOMEA
from gomea_bn.algorithms.mogomea import MOGOMEA
from gomea_bn.algorithms.rvgomea import RVGOMEA
from gomea_bn.errors import GomeaBnError
from gomea_bn.problems.python_problem import as_compiled
from gomea_bn.runtime.limits import Callback, Limits, Progress, Result

__all__ = ["optimise"]


def optimise(
    problem: Any,
    algorithm: GOMEA | MOGOMEA | RVGOMEA | None = None,
    *,
    seed: Any = None,
    max_seconds: float | None = None,
    max_evaluations: int | None = None,
    max_generations: int | None = None,
    patience: float | None = None,
    target: float | None = None,
    termination: Callable[[Progress], bool] | None = None,
    callback: Callback | None = None,
    initial: Any = None,
    n_threads: int = 1,
    verbose: bool = False,
) -> Result:
    """Return the best solution of a problem, or its front; everything is minimised.

    Parameters
    ----------
    problem : object
        One of the package's problems, a `KernelProblem` or `RealKernelProblem` of one's own, or any object with
        ``n_variables``, ``evaluate(x)`` and ``alphabet`` or ``bounds`` (see `PythonProblem`, `RealPythonProblem`).
    algorithm : GOMEA, MOGOMEA or RVGOMEA, optional
        The default is `GOMEA()`, `MOGOMEA()` for several objectives, and `RVGOMEA()` for real variables.
    seed : int or SeedSequence, optional
        Same seed, same result (unless a clock ended the run), at any number of threads.
    max_seconds, max_evaluations, max_generations, patience : number, optional
        See `Limits`. With none of them, a `target` or a `termination`, the call is refused.
    target : float, optional
        Stop once the objective is at most this; the problem's own ``target`` by default.
    termination, callback : callable, optional
        Get a `Progress` after every generation; a true return value stops the run.
    initial : array_like of shape (k, n_variables), optional
        Solutions that take the first places of every population.
    n_threads : int
        Threads for compiled discrete problems; Python functions run one at a time whatever this says.
    verbose : bool
        Show a live table.

    Raises
    ------
    GomeaBnError
        For a problem, option or limit that cannot be used.

    Examples
    --------
    >>> class OneMax:
    ...     n_variables, alphabet = 20, 2
    ...     def evaluate(self, x):
    ...         return -float(x.sum())
    >>> result = optimise(OneMax(), seed=1, target=-20, max_evaluations=10_000)
    >>> int(result.X.sum()), result.stopped_by
    (20, 'target')
    """
    problem = as_compiled(problem)
    kind: type[GOMEA] | type[MOGOMEA] | type[RVGOMEA]
    is_real = not hasattr(problem, "alphabet")
    if target is None:
        target = getattr(problem, "target", None)
    if termination is not None and not callable(termination):
        raise GomeaBnError(f"termination must be a callable that takes a Progress, got {termination!r}.")
    if is_real:
        kind, wanted = RVGOMEA, "an RVGOMEA for real variables"
    elif problem.n_objectives > 1:
        kind, wanted = MOGOMEA, f"a MOGOMEA for {problem.n_objectives} objectives"
    else:
        kind, wanted = GOMEA, "a GOMEA for discrete variables and one objective"
    if algorithm is None:
        algorithm = kind()
    if not isinstance(algorithm, kind):
        raise GomeaBnError(f"algorithm must be {wanted}, got {algorithm!r}.")
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

    options: dict[str, Any] = {"seed": seed, "initial": initial}
    if not is_real:
        options["n_threads"] = n_threads
    if not verbose:
        return algorithm.run(problem, limits, callback=combined if calls else None, **options)
    from gomea_bn.runtime.progress import LiveTable

    with LiveTable() as live:
        calls.append(live)
        return algorithm.run(problem, limits, callback=combined, **options)
