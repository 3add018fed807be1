"""Runs of several programs on the same problems, compared, and printed as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Run",
    "compared",
    "mean_difference",
    "print_rows",
    "ratio_of_medians",
    "with_error",
    "with_interval",
]


@dataclass(frozen=True)
class Run:
    """What one run took to reach the stopping value; infinite where it did not."""

    evaluations: float
    seconds: float
    full_evaluations: float = float("nan")


def _quiet_ratio(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):
        return np.median(ours, axis=-1) / np.median(theirs, axis=-1)


def ratio_of_medians(
    ours: Sequence[float], theirs: Sequence[float], *, resamples: int = 4000, seed: int = 0
) -> tuple[float, float, float]:
    """Return the ratio of the medians and its 95 % bootstrap interval; both samples are resampled."""
    a, b = np.array(ours, np.float64), np.array(theirs, np.float64)
    rng = np.random.default_rng(seed)
    drawn = _quiet_ratio(
        a[rng.integers(0, len(a), (resamples, len(a)))], b[rng.integers(0, len(b), (resamples, len(b)))]
    )
    low, high = np.quantile(drawn[~np.isnan(drawn)], [0.025, 0.975])
    return float(_quiet_ratio(a, b)), float(low), float(high)


def with_interval(ratio: tuple[float, float, float]) -> str:
    """Return a ratio with its interval as text."""
    return "{:.2f} [{:.2f}, {:.2f}]".format(*ratio)


def mean_difference(
    ours: Sequence[float], theirs: Sequence[float], *, resamples: int = 4000, seed: int = 0
) -> tuple[float, float, float]:
    """Return the mean of paired differences and its 95 % bootstrap interval; the pairs are resampled."""
    differences = np.array(ours, np.float64) - np.array(theirs, np.float64)
    rng = np.random.default_rng(seed)
    drawn = differences[rng.integers(0, len(differences), (resamples, len(differences)))].mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(differences.mean()), float(low), float(high)


def with_error(values: ArrayLike, digits: int = 3) -> str:
    """Return the mean with its standard error as text; of one value the error is nan."""
    found = np.asarray(values, np.float64)
    error = found.std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else float("nan")
    return f"{found.mean():.{digits}f} ± {error:.{digits}f}"


def compared(own: NDArray[np.float64], reference: NDArray[np.float64]) -> list[str]:
    """Return the mean, and the mean difference from the reference with its standard error over the rows."""
    difference = own - reference
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    return [f"{own.mean():.2f}", f"{difference.mean():+.2f} ± {error:.2f}"]


def print_rows(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under right-aligned columns, the first one left-aligned."""
    table = [list(columns), *map(list, rows)]
    widths = [max(len(row[k]) for row in table) for k in range(len(columns))]
    for row in table:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        print("  ".join(cells), flush=True)
