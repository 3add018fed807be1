"""Evaluations in a user's Python code: which are repeated, which are answered together, and where they run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from multiprocessing import forkserver, get_all_start_methods, get_context
from pickle import PicklingError
from statistics import median
from threading import Condition
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.runtime.threads import POLL_SECONDS

# most evaluations that are answered together, and threads that vary solutions at the same time for them
ROUND = 64


def _bytes_of(x: NDArray[Any]) -> bytes:
    return x.tobytes()


class Request(NamedTuple):
    """One solution that wants evaluation, of which `changed` genes differ from one with the terms `parent_terms`."""

    x: NDArray[Any]  # (n_variables,)
    changed: NDArray[np.int64] | None = None  # None for a whole evaluation
    parent_terms: NDArray[np.float64] | None = None


class Meeting:
    """The place where threads wait until the evaluations of all of them can be answered together.

    A round is complete once every block of work that has begun waits for an evaluation and no thread is on its way to
    another block. The thread that completes it answers all. Which solutions a round has depends on the blocks alone.
    """

    def __init__(self, answer_all: Callable[[list[Request]], list[Any]]) -> None:
        self._answer_all = answer_all
        self._condition = Condition()
        self._stop = np.zeros(1, np.uint8)
        self._is_broken = False
        self._left: int | None = None
        self._budgets: Sequence[NDArray[np.int64]] = ()
        self.begin(1, 1)

    def begin(self, n_blocks: int, n_threads: int) -> None:
        """Expect the evaluations of some blocks, which a number of threads share."""
        self._n_blocks, self._n_threads = n_blocks, min(n_threads, n_blocks)
        self._n_begun = self._n_ended = 0
        self._block_of: dict[int, int] = {}
        self._waiting: dict[int, Request] = {}
        self._answers: dict[int, Any] = {}

    def limit(self, left: int, budgets: Sequence[NDArray[np.int64]], stop: NDArray[np.uint8]) -> None:
        """Allow the next blocks `left` evaluations.

        Where fewer are left than threads wait, the blocks that began last end: their threads get no further budget.
        The flag `stop` says that no further blocks begin.
        """
        self._left, self._budgets, self._stop = left, budgets, stop

    def block_begins(self, thread: int, block: int) -> None:
        """Note that a thread begins a block."""
        with self._condition:
            self._block_of[thread] = block
            self._n_begun += 1

    def block_ends(self, thread: int) -> None:
        """Note that a thread has come to the end of its block; the round of the others may be complete now."""
        with self._condition:
            if self._block_of.pop(thread, None) is not None:
                self._n_ended += 1
                self._answer_if_complete()

    def value(self, thread: int, request: Request) -> Any:
        """Return the answer to a request, or the exception in its place."""
        with self._condition:
            self._waiting[thread] = request
            self._answer_if_complete()
            while thread not in self._answers and not self._is_broken:
                self._condition.wait(POLL_SECONDS)
                self._answer_if_complete()
            return self._answers.pop(thread, None)

    def leave(self) -> None:
        """Let every thread that waits, or will wait, go on without an answer."""
        with self._condition:
            self._is_broken = True
            self._condition.notify_all()

    def _answer_if_complete(self) -> None:
        if not self._waiting or self._is_broken:
            return
        on_their_way = 0 if self._stop[0] else self._n_threads - (self._n_begun - self._n_ended)
        expected = self._n_begun - self._n_ended + min(on_their_way, self._n_blocks - self._n_begun)
        if len(self._waiting) < max(expected, 1):
            return
        order = sorted(self._waiting, key=lambda thread: self._block_of.get(thread, thread))
        answers = self._answer_all([self._waiting[thread] for thread in order])
        self._waiting.clear()
        self._answers.update(zip(order, answers, strict=True))
        if self._left is not None:
            self._left -= len(order)
            for thread in order[max(self._left, 0) :]:
                self._budgets[thread][0] = 0
        self._condition.notify_all()


def _answer(problem: Any, request: Request) -> Any:
    """Return what a user's object answers to one request, or the exception."""
    try:
        if request.changed is None:
            return problem.evaluate(request.x)
        return problem.evaluate_partial(*request)
    except Exception as error:
        return error


def _batch_answers(problem: Any, solutions: NDArray[Any]) -> list[Any]:
    """Return what ``evaluate_batch`` answers for every row of solutions (k, n_variables), or the exception of all."""
    k = len(solutions)
    try:
        answer = problem.evaluate_batch(solutions)
        parts = answer if isinstance(answer, tuple) else (answer,)
        arrays = [np.asarray(part) for part in parts]
        if not 1 <= len(arrays) <= 2 or any(len(np.atleast_1d(array)) != k for array in arrays):
            shapes = ", ".join(str(array.shape) for array in arrays)
            raise GomeaBnError(
                f"evaluate_batch must return objectives, or (objectives, violations), for each of the {k} rows of "
                f"X; got arrays of shape {shapes}."
            )
        rows: list[Any] = [np.reshape(row, -1) for row in np.reshape(arrays[0], (k, -1))]
        violations = np.zeros(k) if len(arrays) == 1 else np.reshape(arrays[1], k)
        return list(zip(rows, violations.tolist(), strict=True))
    except Exception as error:
        return [error] * k


# the problem of a worker process
_in_worker: list[Any] = []


def _take_problem(problem: Any) -> None:
    _in_worker[:] = [problem]


def _work(task: Request | NDArray[Any]) -> Any:
    """Answer a request, or a batch of solutions, in a worker process."""
    return _of_task(_in_worker[0], task)


def _of_task(problem: Any, task: Request | NDArray[Any]) -> Any:
    return _answer(problem, task) if isinstance(task, Request) else _batch_answers(problem, task)


def new_processes(problem: Any, n_jobs: int, imported: str) -> ProcessPoolExecutor:
    """Return worker processes that hold a copy of the problem; raises `GomeaBnError` if it cannot be copied.

    They do not fork this process, whose threads would be lost in the copy. They begin with the module `imported`.
    """
    method = "forkserver" if "forkserver" in get_all_start_methods() else "spawn"
    context = get_context(method)
    # what the script of the search imports is imported once, not in every process; what a user lists stays
    listed = getattr(forkserver._forkserver, "_preload_modules", ["__main__"])
    context.set_forkserver_preload([*dict.fromkeys((*listed, imported))])
    pool = ProcessPoolExecutor(n_jobs, context, _take_problem, (problem,))
    try:
        pool.submit(len, ()).result()
    except (PicklingError, AttributeError, TypeError) as error:
        pool.shutdown(wait=False, cancel_futures=True)
        raise GomeaBnError(
            f"n_jobs={n_jobs}: {type(problem).__name__} cannot be sent to other processes ({error}). Define its class "
            "in a module, or give map= an executor, such as a ThreadPoolExecutor."
        ) from error
    except RuntimeError as error:
        pool.shutdown(wait=False, cancel_futures=True)
        raise GomeaBnError(
            f"n_jobs={n_jobs}: the worker processes ended at once ({error}). They import the script that started "
            'them, so its search must stand under `if __name__ == "__main__":`.'
        ) from error
    return pool


Mapping = Callable[[Callable[[Any], Any], list[Any]], Iterable[Any]]


def mapping_of(given: Any) -> Mapping:
    """Return ``map(function, items)`` of an executor, a Dask client, or a function; raises `GomeaBnError` otherwise."""
    gather = getattr(given, "gather", None)
    mapped = getattr(given, "map", None)
    if callable(mapped):
        if not callable(gather):
            return lambda function, items: mapped(function, items)
        # Dask takes equal calls as one, also those of random functions
        return lambda function, items: gather(mapped(function, items, pure=False))
    if callable(given):
        return lambda function, items: given(function, items)
    raise GomeaBnError(
        "map must be an executor (of concurrent.futures, joblib's loky, Dask's Client) or a function "
        f"map(function, items), got {given!r:.80}."
    )


class Evaluations:
    """Answers to requests: from those before, from one call for many solutions, from other processes, or one by one.

    Parameters
    ----------
    problem : object
        The user's object, with ``evaluate`` and perhaps ``evaluate_partial`` and ``evaluate_batch``.
    keeps_repeated : bool, optional
        Whether a solution is evaluated once and then looked up. By default the first calls decide: functions that take
        20 microseconds or more are.
    """

    def __init__(self, problem: Any, keeps_repeated: bool | None = None) -> None:
        self.problem = problem
        # what is the same for solutions that are equal to the user's object
        self._key: Callable[[NDArray[Any]], bytes] = getattr(problem, "key", _bytes_of)
        self._keeps = keeps_repeated
        self._is_single = callable(getattr(problem, "evaluate", None))
        self._kept: dict[bytes, Any] = {}
        self._prepared: dict[bytes, Any] = {}
        self._timed: list[float] = []
        self.n_repeated = 0
        self._mapping: Mapping | None = None
        self._n_chunks = 1
        self._pool: Executor | None = None
        self._by_caller: Callable[[NDArray[Any]], list[Any]] | None = None
        self._repeats: Callable[[int], None] | None = None
        self._n_in_turn = 0

    @property
    def has_batches(self) -> bool:
        """Whether the user's object evaluates many solutions in one call; those with own terms are evaluated singly."""
        return callable(getattr(self.problem, "evaluate_batch", None)) and not hasattr(
            self.problem, "n_terms"
        )

    def use_processes(self, n_jobs: int, imported: str) -> None:
        """Evaluate in worker processes, which begin with a module `imported`, from now on, until `close`."""
        pool = new_processes(self.problem, n_jobs, imported)
        self._pool, self._n_chunks = pool, n_jobs
        self._mapping = lambda _function, items: pool.map(_work, items)

    def use_map(self, given: Any) -> None:
        """Evaluate by an executor or a function of the user from now on."""
        self._mapping = mapping_of(given)
        workers = getattr(given, "_max_workers", None)
        self._n_chunks = workers if isinstance(workers, int) else 1

    def answer_by(
        self, answer_all: Callable[[NDArray[Any]], list[Any]], repeats: Callable[[int], None]
    ) -> None:
        """Let a function answer all solutions (k, n_variables) that were not looked up.

        `repeats` gets the number of look-ups since then whenever all solutions of a round were looked up.
        """
        self._by_caller, self._repeats = answer_all, repeats

    def close(self) -> None:
        """End worker processes."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    def answer(self, request: Request) -> Any:
        """Return the answer to one request; exceptions of the user's function reach the caller."""
        if self._keeps is False:
            return self._evaluated(request)
        answer = self._kept.get(self._key(request.x))
        if answer is not None:
            self.n_repeated += 1
            return answer
        began = perf_counter()
        answer = self._evaluated(request)
        seconds = perf_counter() - began
        self._keep(request, answer)
        if self._keeps is None:
            self._time(seconds)
        return answer

    def _evaluated(self, request: Request) -> Any:
        if request.changed is not None:
            return self.problem.evaluate_partial(*request)
        if self._is_single:
            return self.problem.evaluate(request.x)
        (answer,) = _batch_answers(self.problem, request.x[None])
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def prepare(self, requests: list[Request]) -> None:
        """Evaluate solutions that will be asked for one at a time."""
        keys = [self._key(request.x) for request in requests]
        self._prepared.clear()
        self._prepared = dict(zip(keys, self.answers(requests), strict=True))

    def answers(self, requests: list[Request]) -> list[Any]:
        """Return the answers to some requests, of which equal ones are evaluated once; of a failure its exception."""
        answers: list[Any] = [None] * len(requests)
        new: dict[bytes, list[int]] = {}
        for i, request in enumerate(requests):
            key = self._key(request.x)
            if key in self._prepared:
                answers[i] = self._prepared[key]
            elif self._keeps is not False and key in self._kept:
                answers[i] = self._kept[key]
                self.n_repeated += 1
            else:
                new.setdefault(key if self._keeps is not False else str(i).encode(), []).append(i)
        asked = [places[0] for places in new.values()]
        self._n_in_turn = 0 if asked else self._n_in_turn + len(requests)
        if not asked:
            if self._repeats is not None:
                self._repeats(self._n_in_turn)
            return answers
        for places, answer in zip(new.values(), self._answers_of([requests[i] for i in asked]), strict=True):
            self.n_repeated += len(places) - 1
            if self._keeps is not False and not isinstance(answer, BaseException):
                self._keep(requests[places[0]], answer)
            for i in places:
                answers[i] = answer
        return answers

    def _answers_of(self, requests: list[Request]) -> list[Any]:
        if self._by_caller is not None:
            return self._by_caller(np.array([request.x for request in requests]))
        tasks: list[Any] = requests
        if self.has_batches:
            solutions = np.array([request.x for request in requests])
            tasks = [part for part in np.array_split(solutions, self._n_chunks) if len(part)]
        # executors of the user take the problem with every task
        task = partial(_of_task, self.problem)
        results = list(map(task, tasks) if self._mapping is None else self._mapping(task, tasks))
        return [row for part in results for row in part] if self.has_batches else results

    def _time(self, seconds: float) -> None:
        """Note the time of a call; after the first calls decide whether look-ups pay."""
        self._timed.append(seconds)
        # their median decides whether repeated solutions are looked up; a busy machine delays single ones
        if len(self._timed) == 15:
            # a look-up takes about a microsecond; a function this quick is called again instead
            self._keeps = median(self._timed) >= 20e-6
            if not self._keeps:
                self._kept.clear()

    def _keep(self, request: Request, answer: Any) -> None:
        # solutions that are kept at most; later ones are evaluated each time
        if len(self._kept) < (1 << 20):
            # the caller may change what it has returned
            with suppress(Exception):
                answer = (
                    tuple(np.array(part) for part in answer)
                    if isinstance(answer, tuple)
                    else np.array(answer)
                )
            self._kept[self._key(request.x)] = answer
