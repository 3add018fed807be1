"""Printed tables, and the statistics in their cells."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lab.runner.report import Sheet


def print_sheet(table: Sheet) -> None:
    """Print a table: its heading, the first column left-aligned, the others right-aligned, and its note."""
    widths = [max(map(len, column)) for column in zip(table.columns, *table.rows, strict=True)]
    print(f"\n{table.heading}")
    for first, *others in (table.columns, *table.rows):
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        print("  ".join([first.ljust(widths[0]), *cells]).rstrip(), flush=True)
    if table.note:
        print(table.note)


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of positive numbers."""
    return float(np.exp(np.log(np.array(values, np.float64)).mean()))


def ratio_of_means(
    ours: Sequence[float], theirs: Sequence[float], *, resamples: int = 4000, seed: int = 0
) -> tuple[float, float, float]:
    """Return the ratio of the geometric means and its 95 % bootstrap interval; both samples are resampled."""
    a, b = np.log(np.array(ours, np.float64)), np.log(np.array(theirs, np.float64))
    rng = np.random.default_rng(seed)
    differences = a[rng.integers(0, len(a), (resamples, len(a)))].mean(axis=1) - b[
        rng.integers(0, len(b), (resamples, len(b)))
    ].mean(axis=1)
    low, high = np.exp(np.quantile(differences, [0.025, 0.975]))
    return geometric_mean(ours) / geometric_mean(theirs), float(low), float(high)


def with_interval(ratio: tuple[float, float, float]) -> str:
    """Return a ratio with its interval as text."""
    return "{:.2f} [{:.2f}, {:.2f}]".format(*ratio)


def mean_difference(
    ours: Sequence[float], theirs: Sequence[float], *, resamples: int = 4000, seed: int = 0
) -> tuple[float, float, float]:
    """Return the mean of paired differences and its 95 % bootstrap interval; the pairs are resampled."""
    differences = np.array(ours, np.float64) - np.array(theirs, np.float64)
    rng = np.random.default_rng(seed)
    means = differences[rng.integers(0, len(differences), (resamples, len(differences)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(differences.mean()), float(low), float(high)


def with_error(values: ArrayLike, digits: int = 3) -> str:
    """Return the mean with its standard error as text; the error of a single value is nan."""
    sample = np.asarray(values, np.float64)
    error = sample.std(ddof=1) / np.sqrt(len(sample)) if len(sample) > 1 else float("nan")
    return f"{sample.mean():.{digits}f} ± {error:.{digits}f}"


def mean_and_difference(values: NDArray[np.float64], reference: NDArray[np.float64]) -> list[str]:
    """Return the mean, and the mean difference from the reference with its standard error over the rows."""
    difference = values - reference
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    return [f"{values.mean():.2f}", f"{difference.mean():+.2f} ± {error:.2f}"]
