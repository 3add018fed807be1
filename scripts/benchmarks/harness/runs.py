"""Runs of the benchmarks: on several processes, resumed from a file, and of the learner that a command line describes.

A learner's option is `name=value`, where the value is a Python literal or else a text. `algorithm.name=value` is an
option of its GOMEA.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import multiprocessing
import resource
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing.pool import Pool
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

from gomea_bn import GOMEA, BayesNetLearner, DiscretizedBayesNet
from gomea_bn.network.distributions.point_masses import RESOLUTIONS
from gomea_bn.simulation.random_networks import random_network

__all__ = [
    "ReplaceableProcess",
    "add_learner_options",
    "in_new_process",
    "make_learner",
    "median_seconds",
    "named_options",
    "peak_megabytes",
    "read_records",
    "resume_tasks",
    "run_tasks",
    "smoothing",
    "variant",
    "warm_up",
]

T = TypeVar("T")
R = TypeVar("R")

_ALGORITHM = "algorithm."


def run_tasks(function: Callable[[T], R], tasks: Sequence[T], workers: int) -> list[R]:
    """Return the result of every task in the order of the tasks; one worker is this process itself."""
    results = dict(_as_completed(function, tasks, workers))
    return [results[position] for position in range(len(tasks))]


def resume_tasks(
    function: Callable[[dict[str, Any]], dict[str, Any]],
    tasks: Sequence[dict[str, Any]],
    path: Path | None,
    workers: int,
) -> list[dict[str, Any]]:
    """Return the record of every task in the order of the tasks.

    Records of finished tasks are read from a file of JSON lines. The other tasks are run, and every record is added to
    the file as soon as its task ends. A record holds its task as "task" next to the results. Without a file all tasks
    are run.
    """
    if path is None:
        results = run_tasks(function, tasks, workers)
        return [{"task": task, **result} for task, result in zip(tasks, results, strict=True)]
    records = {_key(record["task"]): record for record in read_records(path)}
    missing = [task for task in tasks if _key(task) not in records]
    path.parent.mkdir(parents=True, exist_ok=True)
    for position, result in _as_completed(function, missing, workers):
        record = {"task": missing[position], **result}
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        records[_key(record["task"])] = record
        print("done:", ", ".join(f"{name} {value}" for name, value in record["task"].items()), flush=True)
    return [records[_key(task)] for task in tasks]


def read_records(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file of JSON lines, or none if it is absent; an incomplete last line is cut off."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    return [json.loads(line) for line in whole.splitlines()]


def _key(task: Mapping[str, Any]) -> str:
    """Return a text that is equal for equal tasks."""
    return json.dumps(task, sort_keys=True)


def _as_completed(function: Callable[[T], R], tasks: Sequence[T], workers: int) -> Iterator[tuple[int, R]]:
    """Yield the position and the result of every task as it ends."""
    if workers == 1:
        for position, task in enumerate(tasks):
            yield position, function(task)
        return
    with ProcessPoolExecutor(workers) as pool:
        positions = {pool.submit(function, task): position for position, task in enumerate(tasks)}
        try:
            for future in as_completed(positions):
                yield positions[future], future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def in_new_process(function: Callable[..., R], *arguments: Any) -> R:
    """Return the result of a call in a process of its own, whose peak memory is that of the call alone."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


class ReplaceableProcess:
    """A process that runs calls one after another, and is replaced after a call that exceeds its time limit.

    Unlike an exception that an alarm raises, the end of a process also stops compiled code.
    """

    def __init__(self) -> None:
        self._pool: Pool | None = None

    def __enter__(self) -> ReplaceableProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def call(self, function: Callable[..., R], *arguments: Any, timeout: float) -> R:
        """Return the result of a call.

        Raises
        ------
        multiprocessing.TimeoutError
            If the call takes longer than `timeout` seconds, or the process dies.
        """
        if self._pool is None:
            self._pool = multiprocessing.get_context("spawn").Pool(1)
        try:
            return self._pool.apply_async(function, arguments).get(timeout)
        except multiprocessing.TimeoutError:
            self._end()
            raise

    def _end(self) -> None:
        if self._pool is not None:
            self._pool.terminate()
            self._pool.join()
            self._pool = None


def peak_megabytes() -> float:
    """Return the peak memory of this process up to now."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def median_seconds(call: Callable[[], object], repeats: int = 7) -> float:
    """Return the median wall time of a call in seconds."""
    times = []
    for _ in range(repeats):
        began = perf_counter()
        call()
        times.append(perf_counter() - began)
    return statistics.median(times)


def add_resolution_option(parser: argparse.ArgumentParser) -> None:
    """Add the option `resolution` of `log_density`, which headings print by `measure_text`."""
    parser.add_argument(
        "--resolution",
        choices=RESOLUTIONS,
        default="steps",
        help="values that are point masses count with their probability, or as bins of one measuring step (default)",
    )


def measure_text(resolution: str) -> str:
    """Return how point masses count, for a heading."""
    return "point masses count " + (
        "as bins of one step" if resolution == "steps" else "with their probability"
    )


def add_learner_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that describe the learner to a command."""
    parser.add_argument("--discretizer", default="optimal", help="discretizer of BayesNetLearner")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="another option of BayesNetLearner; algorithm.NAME=VALUE is an option of its GOMEA",
    )


def named_options(texts: Iterable[str]) -> dict[str, Any]:
    """Return the options that texts of the form `name=value` describe."""
    options: dict[str, Any] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise SystemExit(f"An option must have the form name=value, got {text!r}.")
        try:
            options[name.strip()] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError):
            options[name.strip()] = value.strip()
    return options


def variant(text: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the options of a variant, given as `name` or `name:option=value,option=value`."""
    name, _, options = text.partition(":")
    return name, named_options(part for part in options.split(",") if part)


def make_learner(options: Mapping[str, Any], **fixed: Any) -> BayesNetLearner:
    """Return a learner with the options of the command line, which take precedence over the fixed ones."""
    learner_options = {name: value for name, value in options.items() if not name.startswith(_ALGORITHM)}
    search_options = {
        name.removeprefix(_ALGORITHM): value for name, value in options.items() if name.startswith(_ALGORITHM)
    }
    if search_options:
        learner_options["algorithm"] = GOMEA(**search_options)
    # recorded figures are those of tables; `density=averaged` is an option like others
    return BayesNetLearner(density="bins").set_params(**{**fixed, **learner_options})


def smoothing(learner: BayesNetLearner) -> dict[str, Any]:
    """Return the learner's options with which `DiscretizedBayesNet.from_table` counts tables as the learner does."""
    shared = set(inspect.signature(DiscretizedBayesNet.from_table).parameters) - {"cut_points"}
    return {name: value for name, value in learner.get_params(deep=False).items() if name in shared}


def warm_up(options: Mapping[str, Any]) -> None:
    """Learn once from a small table, so that no measured second is spent on compiling.

    Processes that are started later inherit the compiled kernels.
    """
    key = repr(sorted(options.items(), key=str))
    if key in _WARM:
        return
    frame = random_network(3, random_state=0).sample(60, random_state=0)
    small = {"max_seconds": 60.0, "max_evaluations": 500}
    make_learner({**options, **small}).fit(frame)
    _WARM.add(key)


_WARM: set[str] = set()
