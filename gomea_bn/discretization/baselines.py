"""Discretizers that look at one column at a time: equal width, equal frequency, k-means, MDLP against classes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from math import log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.discretization.base import Cuts, DiscretizationTask, Discretizer
from gomea_bn.errors import GomeaBnError, check_integer
from gomea_bn.problems.interval_counts import SortedColumn
from gomea_bn.problems.policies import MAX_CARDINALITY, equal_frequency_cuts, equal_width_cuts

__all__ = ["MDLP", "EqualFrequency", "EqualWidth", "KMeans"]


class _PerColumn(Discretizer):
    """A method that cuts every column on its own; the network only decides kinds and which cuts stay."""

    def _find_cuts(self, task: DiscretizationTask) -> Cuts:
        found: Cuts = {v: np.empty(0) for v in task.movable}
        for v in task.movable:
            if task.expired:
                break
            found[v] = self._cut(task.table.columns[v].values, task)
        return found

    def _cut(self, values: NDArray[np.float64], task: DiscretizationTask) -> NDArray[np.float64]:
        raise NotImplementedError


class _FixedCount(_PerColumn):
    """A method whose number of bins is given."""

    n_bins: int

    def check_options(self) -> None:
        """Raise `GomeaBnError` for parameters out of range."""
        check_integer("n_bins", self.n_bins, 1, MAX_CARDINALITY)


class EqualWidth(_FixedCount):
    """Bins of equal width over each column's range.

    Bins without rows are kept, as in `BayesNetLearner(discretizer="equal-width")`.

    Parameters
    ----------
    n_bins : int
    kinds, missing, max_levels
        See `gomea_bn.read_table`.
    max_seconds : float, optional
        Deadline; columns not reached by then stay one bin.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [0.0, 1.0, 2.0, 9.0]})
    >>> EqualWidth(n_bins=3).fit(frame).cut_points_["x"].tolist()
    [3.0, 6.0]
    """

    def __init__(
        self,
        *,
        n_bins: int = 5,
        kinds: Mapping[str, str] | None = None,
        missing: str = "error",
        max_levels: int = 50,
        max_seconds: float | None = None,
    ) -> None:
        self.n_bins = n_bins
        self.kinds = kinds
        self.missing = missing
        self.max_levels = max_levels
        self.max_seconds = max_seconds

    def _cut(self, values: NDArray[np.float64], task: DiscretizationTask) -> NDArray[np.float64]:
        return equal_width_cuts(values, self.n_bins)


class EqualFrequency(_FixedCount):
    """Bins of nearly equal row counts; equal values stay together, so there may be fewer bins.

    The cuts are those of `BayesNetLearner(discretizer="equal-frequency")`.

    Parameters
    ----------
    n_bins : int
    kinds, missing, max_levels
        See `gomea_bn.read_table`.
    max_seconds : float, optional
        Deadline; columns not reached by then stay one bin.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [0.0, 1.0, 2.0, 9.0]})
    >>> EqualFrequency(n_bins=2).fit(frame).cut_points_["x"].tolist()
    [1.5]
    """

    def __init__(
        self,
        *,
        n_bins: int = 5,
        kinds: Mapping[str, str] | None = None,
        missing: str = "error",
        max_levels: int = 50,
        max_seconds: float | None = None,
    ) -> None:
        self.n_bins = n_bins
        self.kinds = kinds
        self.missing = missing
        self.max_levels = max_levels
        self.max_seconds = max_seconds

    def _cut(self, values: NDArray[np.float64], task: DiscretizationTask) -> NDArray[np.float64]:
        return equal_frequency_cuts(values, self.n_bins)


class KMeans(_FixedCount):
    """Bins around the centres of one-dimensional k-means, by scikit-learn's `KBinsDiscretizer`.

    Parameters
    ----------
    n_bins : int
        Fewer where a column has fewer distinct values.
    random_state : int, optional
        Of scikit-learn, which draws 200,000 rows where there are more.
    kinds, missing, max_levels
        See `gomea_bn.read_table`.
    max_seconds : float, optional
        Deadline; columns not reached by then stay one bin.

    Notes
    -----
    Cuts lie midway between neighbouring centres; of those with the same rows below them only the first stays, so that
    every bin has rows. A value equal to a cut goes to the lower bin, unlike in scikit-learn.
    Needs scikit-learn: ``pip install 'gomea-bn[interop]'``.
    """

    def __init__(
        self,
        *,
        n_bins: int = 5,
        random_state: int | None = 0,
        kinds: Mapping[str, str] | None = None,
        missing: str = "error",
        max_levels: int = 50,
        max_seconds: float | None = None,
    ) -> None:
        self.n_bins = n_bins
        self.random_state = random_state
        self.kinds = kinds
        self.missing = missing
        self.max_levels = max_levels
        self.max_seconds = max_seconds

    def check_options(self) -> None:
        """Raise `GomeaBnError` for parameters out of range."""
        super().check_options()
        check_integer("random_state", self.random_state, 0, optional=True)

    def compile(self) -> None:
        """Compile or load the kernels of the method."""
        _binning_class()  # importing takes seconds, and a missing library should be told at once

    def _find_cuts(self, task: DiscretizationTask) -> Cuts:
        from threadpoolctl import threadpool_limits  # of scikit-learn

        with threadpool_limits(1):  # one column is too little work for threads that wait for each other
            return super()._find_cuts(task)

    def _cut(self, values: NDArray[np.float64], task: DiscretizationTask) -> NDArray[np.float64]:
        n_bins = min(self.n_bins, len(np.unique(values)))
        if n_bins < 2:
            return np.empty(0)
        seed = None if self.random_state is None else self.random_state % 2**32  # what scikit-learn takes
        binning = _binning_class()(n_bins=n_bins, encode="ordinal", strategy="kmeans", random_state=seed)
        ordered = np.sort(values)
        # a power of two changes no digit; the squares of very small and very large numbers do not exist
        exponent = int(np.frexp(np.abs(ordered[[0, -1]]).max())[1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fewer lumps than bins, which the number of cuts tells
            edges = binning.fit(np.ldexp(values, -exponent)[:, None]).bin_edges_[0]
        cuts = np.ldexp(np.unique(edges[1:-1]), exponent)
        below, first = np.unique(np.searchsorted(ordered, cuts, side="right"), return_index=True)
        kept: NDArray[np.float64] = cuts[first][(cuts[first] > ordered[0]) & (below < len(values))]
        return kept


class MDLP(_PerColumn):
    """Cuts that tell the classes of `y` apart, split recursively while that shortens their description.

    Parameters
    ----------
    max_classes : int
        Most distinct values of `y`.
    kinds, missing, max_levels
        See `gomea_bn.read_table`.
    max_seconds : float, optional
        Deadline; columns not reached by then stay one bin.

    Notes
    -----
    Fayyad & Irani (1993): of the mid-points between distinct values the one is taken that minimises the classes'
    expected entropy, and accepted if the gain exceeds ``(log2(N - 1) + log2(3^k - 2) - k Ent(S) + k1 Ent(S1) +
    k2 Ent(S2)) / N``, where k, k1, k2 are the numbers of classes in S and in its two parts; then both parts are split.
    """

    def __init__(
        self,
        *,
        max_classes: int = 50,
        kinds: Mapping[str, str] | None = None,
        missing: str = "error",
        max_levels: int = 50,
        max_seconds: float | None = None,
    ) -> None:
        self.max_classes = max_classes
        self.kinds = kinds
        self.missing = missing
        self.max_levels = max_levels
        self.max_seconds = max_seconds

    def check_options(self) -> None:
        """Raise `GomeaBnError` for parameters out of range."""
        check_integer("max_classes", self.max_classes, 2)

    def _find_cuts(self, task: DiscretizationTask) -> Cuts:
        if task.target is None:
            raise GomeaBnError(
                "MDLP needs classes: fit(X, y) with one class per row, or y='name' of a column of X."
            )
        n_classes = int(task.target.max()) + 1
        if n_classes > self.max_classes:
            raise GomeaBnError(
                f"y has {n_classes} distinct values, more than max_classes={self.max_classes}; MDLP needs classes."
            )
        return super()._find_cuts(task)

    def _cut(self, values: NDArray[np.float64], task: DiscretizationTask) -> NDArray[np.float64]:
        assert task.target is not None
        column = SortedColumn(values)
        n_distinct, n_classes = len(column.distinct), int(task.target.max()) + 1
        place = np.searchsorted(column.distinct, values)
        counts = np.bincount(place * n_classes + task.target, minlength=n_distinct * n_classes)
        below = np.zeros(
            (n_distinct + 1, n_classes), np.int64
        )  # rows of each class under every distinct value
        np.cumsum(counts.reshape(n_distinct, n_classes), axis=0, out=below[1:])
        found = []
        waiting = [(0, n_distinct)]
        while waiting and not task.expired:
            low, high = waiting.pop()
            split = _accepted_split(below[low : high + 1] - below[low])
            if split:
                found.append(low + split - 1)
                waiting += [(low, low + split), (low + split, high)]
        cuts = column.cuts[sorted(found)]
        kept: NDArray[np.float64] = cuts[cuts > column.low]
        return kept


def _accepted_split(below: NDArray[np.int64]) -> int:
    """Return before which distinct value to split a set, or 0 where the split is not accepted.

    `below`, int64 (n_distinct + 1, n_classes), counts the set's rows of each class under every distinct value.
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
    k, k_left, k_right = (int(np.count_nonzero(one)) for one in (total, left[best], right[best]))
    spread = k * entropy - k_left * float(entropy_left[best]) - k_right * float(entropy_right[best])
    delta = k * log2(3) + log2(1 - 2 * 3.0**-k) - spread
    return best + 1 if entropy - float(expected[best]) > (log2(n - 1) + delta) / n else 0


def _entropies(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the entropy in bits of every row of class counts."""
    shares = counts / counts.sum(axis=1, keepdims=True)
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    found: NDArray[np.float64] = -(shares * logs).sum(axis=1)
    return found


def _binning_class() -> Any:
    try:
        from sklearn.preprocessing import KBinsDiscretizer
    except ImportError as error:
        raise GomeaBnError(
            "The k-means discretizer needs scikit-learn; install it with: pip install 'gomea-bn[interop]'."
        ) from error
    return KBinsDiscretizer
