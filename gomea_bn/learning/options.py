"""What the learners share: tables, threads, seeds, and the check of options."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.sources import as_frame, read_source
from gomea_bn.errors import GomeaBnError, is_integer, is_real
from gomea_bn.runtime.limits import Callback

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "both",
    "check_options",
    "mean_density",
    "row_densities",
    "seed_of",
    "thread_count",
]


def check_options(learner: Any, algorithm: type, *, auto: bool = False) -> None:
    """Raise `GomeaBnError` for an algorithm, callback or pseudo-count ("auto" if allowed) that cannot be used."""
    if learner.algorithm is not None and not isinstance(learner.algorithm, algorithm):
        raise GomeaBnError(f"algorithm must be a {algorithm.__name__} or None, got {learner.algorithm!r}.")
    if learner.callback is not None and not callable(learner.callback):
        raise GomeaBnError(f"callback must be a callable that takes a Progress, got {learner.callback!r}.")
    weight = learner.pseudo_count
    if auto and isinstance(weight, str) and weight == "auto":
        return
    if not is_real(weight) or not 0 <= weight < np.inf:
        wanted = "a finite number of at least 0" + (" or 'auto'" if auto else "")
        raise GomeaBnError(f"pseudo_count must be {wanted}, got {weight!r}.")


def row_densities(
    log_density: Callable[[pd.DataFrame], NDArray[np.float64]],
    names: Sequence[str],
    source: Any,
    missing: str,
) -> NDArray[np.float64]:
    """Return the log density of every row of a frame, array or file; nan for incomplete rows if `missing` is "drop"."""
    frame = read_source(as_frame(source))
    if missing != "drop":
        return log_density(frame)
    known = frame[[name for name in frame.columns if str(name) in names]]
    complete = ~known.isin([np.inf, -np.inf]).any(axis=1) & known.notna().all(axis=1)
    densities = np.full(len(frame), np.nan)
    if complete.any():
        densities[complete.to_numpy()] = log_density(frame[complete])
    return densities


def mean_density(densities: NDArray[np.float64]) -> float:
    """Return the mean over the rows that have a density."""
    complete = densities[~np.isnan(densities)]
    if not len(complete):
        raise GomeaBnError("score needs at least one row without missing values.")
    return float(complete.mean())


def both(first: Callback, second: Callback | None) -> Callback:
    """Return a callback that calls two and stops the run if either wants to."""

    def call(progress: Any) -> bool:
        return bool(first(progress)) | bool(second is not None and second(progress))

    return call


def thread_count(n_jobs: int | None) -> int:
    """Return the number of threads that `n_jobs` means: None is 1, -1 all cores."""
    if n_jobs is None:
        return 1
    if not is_integer(n_jobs) or (n_jobs < 1 and n_jobs != -1):
        raise GomeaBnError(f"n_jobs must be None, -1 or an integer of at least 1, got {n_jobs!r}.")
    if n_jobs > 0:
        return int(n_jobs)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def seed_of(random_state: Any) -> int:
    """Return the integer that repeats a run: `random_state` itself, drawn from it, or drawn from the system."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint32)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**32, dtype=np.uint64))
    if is_integer(random_state) and random_state >= 0:
        return int(random_state)
    raise GomeaBnError(
        f"random_state must be a non-negative integer, a numpy generator or None, got {random_state!r}."
    )
