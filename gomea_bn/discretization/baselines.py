"""Discretizers of single columns: equal width, equal frequency, k-means, and MDLP for classes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.discretization.base import DiscretizationTask, Discretizer
from gomea_bn.errors import MOST_SEED, GomeaBnError, Option, Setting
from gomea_bn.parameters import WholeNumber, option
from gomea_bn.problems.cuts.blanket import Cuts
from gomea_bn.problems.cuts.cut_column import CutColumn
from gomea_bn.problems.cuts.policies import MAX_CARDINALITY, equal_frequency_cuts, equal_width_cuts


@dataclass(eq=False, repr=False, kw_only=True)
class _FixedCount(Discretizer):
    """A method with a given number of bins."""

    follows_graph = False

    n_bins: int = option(5, WholeNumber(1, MAX_CARDINALITY))


class EqualWidth(_FixedCount):
    """Bins of equal width over each column's range.

    Bins without rows are kept, as in `BayesNetLearner(discretizer="equal-width")`.

    Parameters
    ----------
    n_bins : int
        Number of bins.
    kinds, missing, max_levels
        See `gomea_bn.read_table`.
    max_seconds : float, optional
        Deadline in seconds; columns that are not reached get one bin.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [0.5, 1.0, 2.0, 9.5]})
    >>> EqualWidth(n_bins=3).fit(frame).cut_points_["x"].tolist()
    [3.5, 6.5]
    """

    def _cut(self, values: NDArray[np.float64], task: DiscretizationTask) -> NDArray[np.float64]:
        return equal_width_cuts(values, self.n_bins)


class EqualFrequency(_FixedCount):
    """Bins with nearly equal numbers of rows; equal values stay together, so that there may be fewer bins.

    The cuts are those of `BayesNetLearner(discretizer="equal-frequency")`.

    Parameters
    ----------
    n_bins : int
        Number of bins.
    kinds, missing, max_levels, max_seconds
        See `EqualWidth`.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [0.5, 1.0, 2.0, 9.5]})
    >>> EqualFrequency(n_bins=2).fit(frame).cut_points_["x"].tolist()
    [1.5]
    """

    def _cut(self, values: NDArray[np.float64], task: DiscretizationTask) -> NDArray[np.float64]:
        return equal_frequency_cuts(values, self.n_bins)


@dataclass(eq=False, repr=False, kw_only=True)
class KMeans(_FixedCount):
    """Bins around the centres of one-dimensional k-means, by scikit-learn's `KBinsDiscretizer`.

    Parameters
    ----------
    n_bins : int
        Number of bins; smaller for a column with fewer distinct values.
    random_state : int, optional
        Seed of scikit-learn, which draws 200,000 rows from larger tables.
    kinds, missing, max_levels, max_seconds
        See `EqualWidth`.

    Notes
    -----
    Cuts lie midway between neighbouring centres. Of cuts with the same rows below them only the first stays, so that
    every bin has rows. A value equal to a cut goes to the lower bin, unlike in scikit-learn.
    Needs scikit-learn: ``pip install 'gomea-bn[interop]'``.
    """

    random_state: int | None = option(0, WholeNumber(0, MOST_SEED, none=""))

    def compile(self) -> None:
        """Compile or load the kernels of the method."""
        # importing takes seconds, and a missing library should be reported at once
        _binning_class()

    def _find_cuts(self, task: DiscretizationTask) -> Cuts:
        # installed with scikit-learn
        from threadpoolctl import threadpool_limits

        # one column is too little work for threads that wait for each other
        with threadpool_limits(1):
            return super()._find_cuts(task)

    def _cut(self, values: NDArray[np.float64], task: DiscretizationTask) -> NDArray[np.float64]:
        n_bins = min(self.n_bins, len(np.unique(values)))
        if n_bins < 2:
            return np.empty(0)
        # scikit-learn's seeds have 32 bits
        seed = None if self.random_state is None else self.random_state % 2**32
        binning = _binning_class()(n_bins=n_bins, encode="ordinal", strategy="kmeans", random_state=seed)
        ordered = np.sort(values)
        # the squares of very small and very large numbers underflow and overflow; a power of two changes no digit
        exponent = int(np.frexp(np.abs(ordered[[0, -1]]).max())[1])
        with warnings.catch_warnings():
            # of fewer clusters than bins, which the number of cuts shows
            warnings.simplefilter("ignore")
            edges = binning.fit(np.ldexp(values, -exponent)[:, None]).bin_edges_[0]
        cuts = np.ldexp(np.unique(edges[1:-1]), exponent)
        _, first = np.unique(np.searchsorted(ordered, cuts, side="right"), return_index=True)
        return np.asarray(cuts[first], np.float64)


@dataclass(eq=False, repr=False, kw_only=True)
class MDLP(Discretizer):
    """Cuts that separate the classes of `y`, split recursively while this shortens the description of the classes.

    Parameters
    ----------
    max_classes : int
        Largest number of distinct values of `y`.
    kinds, missing, max_levels, max_seconds
        See `EqualWidth`.

    Notes
    -----
    The cut is the mid-point of distinct values that minimises the classes' expected entropy (Fayyad & Irani 1993). It
    is accepted if the gain exceeds ``(log2(N - 1) + log2(3^k - 2) - k Ent(S) + k1 Ent(S1) + k2 Ent(S2)) / N``, where
    k, k1, k2 are the numbers of classes in the set S and in its two parts. Then both parts are split.
    """

    max_classes: int = option(50, WholeNumber(2))

    def _find_cuts(self, task: DiscretizationTask) -> Cuts:
        if task.target is None:
            raise GomeaBnError(
                "MDLP needs classes: fit(X, y) with one class per row, or y='name' of a column of X."
            )
        n_classes = int(task.target.max()) + 1
        if n_classes > self.max_classes:
            raise GomeaBnError(
                [
                    Option("y"),
                    f" has {n_classes} distinct values, but MDLP needs classes, at most {self.max_classes}.",
                ],
                [Setting("max_classes"), "give a column with fewer values"],
            )
        return super()._find_cuts(task)

    def _cut(self, values: NDArray[np.float64], task: DiscretizationTask) -> NDArray[np.float64]:
        assert task.target is not None
        column = CutColumn.of_values(values)
        n_distinct, n_classes = column.n_distinct, int(task.target.max()) + 1
        rank = np.searchsorted(column.greatest, values)
        counts = np.bincount(rank * n_classes + task.target, minlength=n_distinct * n_classes)
        # number of rows of each class below every distinct value
        below = np.zeros((n_distinct + 1, n_classes), np.int64)
        np.cumsum(counts.reshape(n_distinct, n_classes), axis=0, out=below[1:])
        gaps = []
        waiting = [(0, n_distinct)]
        while waiting and not task.expired:
            low, high = waiting.pop()
            split = _accepted_split(below[low : high + 1] - below[low])
            if split:
                gaps.append(low + split - 1)
                waiting += [(low, low + split), (low + split, high)]
        cuts = column.cuts[sorted(gaps)]
        return np.asarray(cuts[cuts > column.low], np.float64)


def _accepted_split(below: NDArray[np.int64]) -> int:
    """Return the number of distinct values below the best split of a set, or 0 if the split is not accepted.

    `below`, int64 (n_distinct + 1, n_classes), is the number of rows of each class below every distinct value.
    """
    total = below[-1]
    n = int(total.sum())
    if len(below) < 3 or np.count_nonzero(total) < 2:
        return 0
    left, right = below[1:-1], total - below[1:-1]
    entropy_left, entropy_right = _entropies(left), _entropies(right)
    n_left = left.sum(axis=1)
    expected = (n_left * entropy_left + (n - n_left) * entropy_right) / n
    best = int(np.argmin(expected))
    entropy = float(_entropies(total[None])[0])
    k, k_left, k_right = (int(np.count_nonzero(rows)) for rows in (total, left[best], right[best]))
    spread = k * entropy - k_left * float(entropy_left[best]) - k_right * float(entropy_right[best])
    delta = k * log2(3) + log2(1 - 2 * 3.0**-k) - spread
    return best + 1 if entropy - float(expected[best]) > (log2(n - 1) + delta) / n else 0


def _entropies(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the entropy in bits of every row of class counts."""
    shares = counts / counts.sum(axis=1, keepdims=True)
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(-(shares * logs).sum(axis=1), np.float64)


def _binning_class() -> Any:
    try:
        from sklearn.preprocessing import KBinsDiscretizer
    except ImportError as error:
        raise GomeaBnError(
            "The k-means discretizer needs scikit-learn; install it with: pip install 'gomea-bn[interop]'."
        ) from error
    return KBinsDiscretizer
