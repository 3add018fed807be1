"""Runs with their seconds or in processes of their own, and the learner that a command line describes.

A learner's option is `name=value`, where the value is a Python literal or else a text. `algorithm.name=value` is an
option of its GOMEA.
"""

import ast
import inspect
import multiprocessing
import resource
import statistics
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.pool import Pool
from time import perf_counter
from typing import Any, Self, TypeVar

from gomea_bn import GOMEA, BayesNetLearner, DiscretizedBayesNet
from gomea_bn.errors import GomeaBnError
from gomea_bn.network.bin_distributions import RESOLUTIONS
from gomea_bn.runtime.children import end_with_parent
from gomea_bn.simulation.random_networks import random_network
from lab.runner.experiment import Option

R = TypeVar("R")

_ALGORITHM = "algorithm."


def in_new_process(function: Callable[..., R], *arguments: Any) -> R:
    """Return the result of a call in a process of its own, whose peak memory is that of the call alone.

    The call may start processes: those of an executor are no daemons, unlike those of a pool.
    """
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawning, initializer=end_with_parent) as executor:
        return executor.submit(function, *arguments).result()


class ReplaceableProcess:
    """A process that runs calls one after another, and is replaced after a call that exceeds its time limit.

    Unlike an exception that an alarm raises, the end of a process also stops compiled code.
    """

    def __init__(self) -> None:
        self._pool: Pool | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def call(self, function: Callable[..., R], *arguments: Any, timeout: float) -> R:
        """Return the result of a call; `multiprocessing.TimeoutError` if it takes more seconds or the process dies."""
        if self._pool is None:
            self._pool = multiprocessing.get_context("spawn").Pool(1, end_with_parent)
        try:
            return self._pool.apply_async(function, arguments).get(timeout)
        except multiprocessing.TimeoutError:
            self.end()
            raise

    def end(self) -> None:
        """End the process if there is one; the next call starts another."""
        if self._pool is not None:
            self._pool.terminate()
            self._pool.join()
            self._pool = None


def peak_megabytes() -> float:
    """Return the peak memory of this process up to now."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def median_seconds(call: Callable[[], object], repeats: int = 7) -> float:
    """Return the median wall time of a call in seconds."""
    return statistics.median(timed(call)[1] for _ in range(repeats))


def timed(
    call: Callable[..., R], *arguments: Any, clock: Callable[[], float] = perf_counter, **options: Any
) -> tuple[R, float]:
    """Return the result of a call and its seconds by a clock."""
    began = clock()
    result = call(*arguments, **options)
    return result, clock() - began


RESOLUTION = {
    "resolution": Option(
        "steps",
        "Whether values that are point masses count with their probability, or as bins of one measuring step.",
        choices=RESOLUTIONS,
    )
}
"""The option `resolution` of `log_density`, which headings print by `measure_text`."""

LEARNER = {
    "discretizer": Option("optimal", "Discretizer of BayesNetLearner."),
    "option": Option(
        (),
        "NAME=VALUE: another option of BayesNetLearner; algorithm.NAME=VALUE is an option of its GOMEA.",
        str,
    ),
}
"""Options that describe the learner."""

VARIANTS = {
    **LEARNER,
    "variant": Option(
        (),
        "NAME:OPTION=VALUE,...: options of one learner in addition to --option; repeat it to compare several.",
        str,
    ),
}
"""Options that describe several learners."""


def learner_variants(options: Any) -> dict[str, dict[str, Any]]:
    """Return the options of the learner by the name of its variant; without a variant it is called "ours"."""
    shared = {"discretizer": options.discretizer, **named_options(options.option)}
    named = [variant(text) for text in options.variant or ["ours"]]
    if len(dict(named)) < len(named):
        raise GomeaBnError("The names of --variant must be distinct.")
    return {name: {**shared, **of_variant} for name, of_variant in named}


def measure_text(resolution: str) -> str:
    """Return how point masses count, for a heading."""
    return "point masses count " + (
        "as bins of one step" if resolution == "steps" else "with their probability"
    )


def named_options(texts: Iterable[str]) -> dict[str, Any]:
    """Return the options that texts of the form `name=value` describe."""
    options: dict[str, Any] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise GomeaBnError(f"An option must have the form name=value, got {text!r}.")
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
    make_learner({**options, "max_seconds": 60.0, "max_evaluations": 500}).fit(frame)
    _WARM.add(key)


_WARM: set[str] = set()
