"""Latent discretization: bins that separate the classes of a latent variable (Monti & Cooper 1999)."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import log2
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import column_positions, encode_levels, numeric_values
from gomea_bn.data.sources import source_frame
from gomea_bn.discretization.base import DiscretizationTask, Discretizer
from gomea_bn.discretization.latent.kernels import best_class_cut
from gomea_bn.discretization.latent.mixture import (
    Mixture,
    MixtureSearch,
    MixtureTable,
    compile_latent_kernels,
)
from gomea_bn.errors import GomeaBnError
from gomea_bn.parameters import Integer, option, stated, without_effect
from gomea_bn.problems.cuts.blanket import Cuts
from gomea_bn.problems.cuts.interval_counts import SortedColumn
from gomea_bn.problems.cuts.policies import MAX_CARDINALITY
from gomea_bn.problems.scoring.scores import is_gain

if TYPE_CHECKING:
    import pandas as pd

# of the time; sorting and cutting the columns takes less than EM
_MIXTURE_SHARE = 0.6


@without_effect(
    "memberships", "class_counts", "min_bins", "start", "start_rows", "tol", "max_iterations", "sd_floor",
    "pseudo_count", "min_class_rows",
)  # fmt: skip
@dataclass(eq=False, repr=False, kw_only=True)
class LatentDiscretizer(Discretizer):
    """Cuts every continuous column where the classes of a latent variable change.

    EM fits a finite mixture over all columns that are independent within a class: normal if continuous, multinomial if
    discrete. Every column is then split recursively at the cut that is most informative about the classes, while this
    shortens their description (the MDLPC rule of Fayyad & Irani 1993, with soft class memberships instead of counts).

    The edges of `network=` and the classes `y` have no influence. A network decides the kinds of its columns and keeps
    cuts that a user has fixed. Classes that are a column of the table take part in the mixture. A table of one column
    works: its classes are the normal components of its density. If one class describes the table best, every column
    gets one bin.

    Parameters
    ----------
    n_classes : int, optional
        Number of classes of the latent variable; by default the number with the highest BIC. Classes that lose all
        their rows during EM are dropped, so that there may be fewer.
    max_classes : int
        Largest number of classes among which BIC chooses; 1, 2, ... are tried until two in a row are no improvement.
    max_bins : int
        Largest number of bins of a column; the splits with the largest gain over all their rows come first.
    n_restarts : int
        Number of starts of EM for every number of classes.
    kinds, missing, max_levels
        See `gomea_bn.read_table`.
    max_seconds : float, optional
        Deadline in seconds; three fifths are for the mixture, whose best fit so far is kept. Columns that are not
        reached get one bin.
    random_state : int, optional
        Seed of the starts. The order of the rows has no influence.

    Attributes
    ----------
    mixture_ : Mixture or None
        Weights, means, standard deviations and level probabilities of the classes; None if the deadline came first.
    n_classes_ : int
        Number of classes of the mixture; 0 without a mixture.
    bic_ : dict of int to float
        BIC in nats of every number of classes that was tried; higher is better.
    class_entropy_ : dict of str to float
        Entropy in bits of the class given the bin, averaged over the rows, for every column that was cut.

    Notes
    -----
    BIC is the log likelihood minus (ln n)/2 nats per parameter; there are (K - 1) + K (2 continuous columns +
    sum (levels - 1)) parameters. For a set S of N rows with expected class shares p_h, Ent(S) = -sum p_h log2 p_h. The
    cut is the mid-point of distinct values with the smallest E = (N1 Ent(S1) + N2 Ent(S2)) / N. It is accepted if
    Ent(S) - E > (log2(N - 1) + log2(3^k - 2) - k (Ent(S) - Ent(S1) - Ent(S2))) / N for k classes: all of them count as
    present in the set and its parts, which the paper leaves open for soft memberships. The number of cuts grows with
    the number of rows, since soft memberships change with the values.

    On continuous columns the steps of EM are those of scikit-learn's ``GaussianMixture(covariance_type="diag")``, which
    has no discrete columns.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> h = rng.integers(0, 2, 400)
    >>> values = 10.0 * h[:, None] + rng.normal(size=(400, 2))
    >>> fitted = LatentDiscretizer().fit(values)
    >>> fitted.n_classes_, [len(cuts) for cuts in fitted.cut_points_.values()]
    (2, [1, 1])
    """

    n_classes: int | None = field(default=None, metadata=stated(Integer(1, none=""), ""), kw_only=False)
    max_classes: int = option(10, Integer(1))
    max_bins: int = option(30, Integer(1, MAX_CARDINALITY))
    n_restarts: int = option(20, Integer(1))
    random_state: int | None = option(0, Integer(0, none=""))

    def class_probabilities(self, X: pd.DataFrame | NDArray[Any] | str | os.PathLike[str]) -> pd.DataFrame:
        """Return the probability of every class given each row, (n_rows, n_classes_), with the frame's index.

        Columns are matched by name; others are ignored.

        Raises
        ------
        GomeaBnError
            As in `transform`, and if there is no mixture.
        """
        import pandas as pd

        if getattr(self, "mixture_", None) is None:
            raise GomeaBnError("There are no classes yet; call fit(frame) first, with enough max_seconds.")
        assert self.mixture_ is not None
        frame = source_frame(X)
        positions = column_positions(frame, self.feature_names_in_.tolist())
        numbers, codes = [], []
        for name in self.feature_names_in_.tolist():
            series = frame.iloc[:, positions[name]]
            if name in self.levels_:
                codes.append(encode_levels(series, name, self.levels_[name]).astype(np.int32))
            else:
                numbers.append(numeric_values(series, name))
        memberships = self.mixture_.memberships(self.mixture_.table.rows_of(numbers, codes))
        return pd.DataFrame(memberships, index=frame.index)

    def compile(self) -> None:
        """Compile or load the kernels of the method."""
        compile_latent_kernels()

    def _find_cuts(self, task: DiscretizationTask) -> Cuts:
        table = MixtureTable(task.table)
        self.mixture_ = self._find_mixture(task, table)
        self.n_classes_ = 0 if self.mixture_ is None else self.mixture_.n_classes
        self.class_entropy_: dict[str, float] = {}
        cuts: Cuts = {v: np.empty(0) for v in task.movable}
        if self.mixture_ is None:
            return cuts
        if not self.mixture_.converged:
            self.stopped_by_ = "max_seconds" if self._out_of_time(task) else "max_iterations"
        memberships = self.mixture_.memberships()
        for v in task.movable:
            if task.expired:
                break
            column = task.table.columns[v]
            cutter = ClassCuts(column.values[table.order], memberships)
            cuts[v] = cutter.find(self.max_bins, lambda: task.expired)
            self.class_entropy_[column.name] = cutter.expected_entropy(cuts[v])
        return cuts

    def _find_mixture(self, task: DiscretizationTask, table: MixtureTable) -> Mixture | None:
        """Return the mixture with `n_classes` classes, or with the best number of classes."""
        search = MixtureSearch(
            table,
            self.n_restarts,
            self.random_state,
            run=task.interruptible,
            expired=lambda: self._out_of_time(task),
            stop=task.stop.flag,
        )
        self.bic_: dict[int, float] = {}
        if self.n_classes is not None:
            if self.n_classes > table.n_rows:
                raise GomeaBnError(
                    f"n_classes must be at most the number of rows, {table.n_rows}, got {self.n_classes}."
                )
            mixture = search.fit(self.n_classes)
            if mixture is not None:
                self.bic_[self.n_classes] = mixture.bic
            return mixture
        selected = search.select(self.max_classes)
        if self._out_of_time(task):
            self.stopped_by_ = "max_seconds"
        if selected is None:
            return None
        self.bic_ = selected.bic
        return selected.mixture

    def _out_of_time(self, task: DiscretizationTask) -> bool:
        """Return whether the time for the mixture is up."""
        over = self.max_seconds is not None and task.stop.seconds > _MIXTURE_SHARE * self.max_seconds
        return over or task.expired


class ClassCuts:
    """Cuts of one column between rows of different classes.

    The column has at least two distinct values; every row of `memberships`, (n_rows, n_classes), sums to 1.
    """

    def __init__(self, values: NDArray[np.float64], memberships: NDArray[np.float64]) -> None:
        self.column = SortedColumn(values)
        self.rows_below = np.concatenate(([0], self.column.below, [self.column.n_rows]))
        self.below = np.zeros((len(self.rows_below), memberships.shape[1]))
        summed = np.cumsum(memberships[self.column.order], axis=0)
        self.below[1:] = summed[self.rows_below[1:] - 1]

    def find(
        self, max_bins: int = MAX_CARDINALITY, expired: Callable[[], bool] = lambda: False
    ) -> NDArray[np.float64]:
        """Return the cuts, ascending; the cuts so far once `expired` returns true."""
        gaps: list[int] = []
        # minus the gain over all rows of a block of distinct values, and where it begins, is split and ends
        waiting: list[tuple[float, int, int, int]] = []
        self._offer(0, len(self.rows_below) - 1, waiting)
        while waiting and len(gaps) + 1 < max_bins and not expired():
            _, low, middle, high = heappop(waiting)
            gaps.append(middle - 1)
            self._offer(low, middle, waiting)
            self._offer(middle, high, waiting)
        cuts = self.column.cuts[sorted(gaps)]
        return np.asarray(cuts[cuts > self.column.low], np.float64)

    def expected_entropy(self, cuts: NDArray[np.float64]) -> float:
        """Return the entropy in bits of the class given the bin, averaged over the rows."""
        edges = np.concatenate(([0], np.searchsorted(self.column.distinct, cuts, side="right"), [-1]))
        rows = np.diff(self.rows_below[edges])
        entropies = [_entropy(shares) for shares in np.diff(self.below[edges], axis=0) / rows[:, None]]
        return float(rows @ entropies) / self.column.n_rows

    def _offer(self, low: int, high: int, waiting: list[tuple[float, int, int, int]]) -> None:
        """Add the best split of the distinct values `low` to `high` - 1, if the stopping rule accepts it."""
        if high - low < 2:
            return
        middle, _ = best_class_cut(self.below, self.rows_below, low, high)
        n, n_left, n_right = (
            int(self.rows_below[end] - self.rows_below[start])
            for start, end in ((low, high), (low, middle), (middle, high))
        )
        entropy = _entropy((self.below[high] - self.below[low]) / n)
        entropy_left = _entropy((self.below[middle] - self.below[low]) / n_left)
        entropy_right = _entropy((self.below[high] - self.below[middle]) / n_right)
        gain = entropy - (n_left * entropy_left + n_right * entropy_right) / n
        k = self.below.shape[1]
        spread = k * entropy - k * entropy_left - k * entropy_right
        price = log2(n - 1) + k * log2(3) + log2(1 - 2 * 3.0**-k) - spread
        if is_gain(gain, entropy) and n * gain > price:
            heappush(waiting, (-n * gain, low, middle, high))


def _entropy(shares: NDArray[np.float64]) -> float:
    """Return the entropy of class shares in bits."""
    positive = shares[shares > 0.0]
    return -float(positive @ np.log2(positive))
