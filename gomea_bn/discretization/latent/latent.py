"""Latent discretization: bins that separate the classes of a latent variable (Monti & Cooper 1999)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
    STARTS,
    Mixture,
    MixtureOptions,
    MixtureSearch,
    MixtureTable,
    compile_latent_kernels,
)
from gomea_bn.errors import GomeaBnError, check_choice, check_integer, check_number
from gomea_bn.problems.cuts.blanket import Cuts
from gomea_bn.problems.cuts.interval_counts import SortedColumn
from gomea_bn.problems.cuts.policies import MAX_CARDINALITY
from gomea_bn.problems.scoring.scores import is_gain

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ClassCuts", "LatentDiscretizer"]

# of the time; sorting and cutting the columns takes less than EM
_MIXTURE_SHARE = 0.6


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
    memberships : {"soft", "hard"}
        Whether a row counts for every class by its probability (the paper), or only for its most probable class.
    class_counts : {"all", "expected", "share"}
        Classes that count as present in a set of rows by the stopping rule; the paper leaves this open for soft
        memberships. "all": all classes, which usually gives the fewest cuts. "expected": classes with at least one
        expected row. "share": classes with at least 5 % of the set.
    min_bins : int
        Number of bins up to which the best informative cuts are made even if the stopping rule refuses them. 1 is the
        paper's rule, which can leave a column uncut.
    max_bins : int
        Largest number of bins of a column; the splits with the largest gain over all their rows come first.
    n_restarts : int
        Number of starts of EM for every number of classes.
    start : {"both", "spread", "random"}
        First classes: "spread" builds them around seeds that lie far apart, "random" draws them, "both" alternates.
    start_rows : int
        Number of rows of the sample on which starts are compared, for larger tables.
    tol : float
        EM ends when a step gains at most this, in nats per row.
    max_iterations : int
        Largest number of EM steps from the best start, after at most 30 steps from every start.
    sd_floor : float
        Smallest standard deviation within a class, as a share of the column's. With 0, repeated values would make the
        likelihood infinite.
    pseudo_count : float
        Number of rows added to every class, spread evenly over the levels of a discrete column.
    min_class_rows : float
        Classes with fewer expected rows are dropped.
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
    Ent(S) - E > (log2(N - 1) + log2(3^k - 2) - k Ent(S) + k1 Ent(S1) + k2 Ent(S2)) / N, where k, k1, k2 are the
    numbers of classes in the set and its parts. The number of cuts grows with the number of rows, since soft
    memberships change with the values.

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

    mixture_: Mixture | None
    n_classes_: int
    bic_: dict[int, float]
    class_entropy_: dict[str, float]

    def __init__(
        self,
        n_classes: int | None = None,
        *,
        max_classes: int = 10,
        memberships: str = "soft",
        class_counts: str = "all",
        min_bins: int = 1,
        max_bins: int = 30,
        n_restarts: int = 20,
        start: str = "both",
        start_rows: int = 2000,
        tol: float = 1e-5,
        max_iterations: int = 500,
        sd_floor: float = 0.01,
        pseudo_count: float = 1.0,
        min_class_rows: float = 1.0,
        kinds: Mapping[str, str] | None = None,
        missing: str = "error",
        max_levels: int = 50,
        max_seconds: float | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.n_classes = n_classes
        self.max_classes = max_classes
        self.memberships = memberships
        self.class_counts = class_counts
        self.min_bins = min_bins
        self.max_bins = max_bins
        self.n_restarts = n_restarts
        self.start = start
        self.start_rows = start_rows
        self.tol = tol
        self.max_iterations = max_iterations
        self.sd_floor = sd_floor
        self.pseudo_count = pseudo_count
        self.min_class_rows = min_class_rows
        self.kinds = kinds
        self.missing = missing
        self.max_levels = max_levels
        self.max_seconds = max_seconds
        self.random_state = random_state

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

    def check_options(self) -> None:
        """Raise `GomeaBnError` for parameters out of range."""
        check_integer("n_classes", self.n_classes, 1, optional=True)
        check_integer("max_classes", self.max_classes, 1)
        check_choice("memberships", self.memberships, ("soft", "hard"))
        check_choice("class_counts", self.class_counts, tuple(_PRESENCE))
        check_integer("min_bins", self.min_bins, 1, MAX_CARDINALITY)
        check_integer("max_bins", self.max_bins, 1, MAX_CARDINALITY)
        if self.min_bins > self.max_bins:
            raise GomeaBnError(f"min_bins must be at most max_bins={self.max_bins}, got {self.min_bins}.")
        check_integer("n_restarts", self.n_restarts, 1)
        check_choice("start", self.start, STARTS)
        check_integer("start_rows", self.start_rows, 2)
        check_number("tol", self.tol, 0.0)
        check_integer("max_iterations", self.max_iterations, 1)
        check_number("sd_floor", self.sd_floor, 1e-6, 1.0)
        check_number("pseudo_count", self.pseudo_count, 1e-9)
        check_number("min_class_rows", self.min_class_rows, 1e-9)
        check_integer("random_state", self.random_state, 0, optional=True)

    def compile(self) -> None:
        """Compile or load the kernels of the method."""
        compile_latent_kernels()

    def _find_cuts(self, task: DiscretizationTask) -> Cuts:
        table = MixtureTable(task.table)
        self.mixture_ = self._find_mixture(task, table)
        self.n_classes_ = 0 if self.mixture_ is None else self.mixture_.n_classes
        self.class_entropy_ = {}
        cuts: Cuts = {v: np.empty(0) for v in task.movable}
        if self.mixture_ is None:
            return cuts
        if not self.mixture_.converged:
            self.stopped_by_ = "max_seconds" if self._out_of_time(task) else "max_iterations"
        memberships = self.mixture_.memberships()
        if self.memberships == "hard":
            memberships = np.eye(self.n_classes_)[memberships.argmax(axis=1)]
        for v in task.movable:
            if task.expired:
                break
            column = task.table.columns[v]
            cutter = ClassCuts(column.values[table.order], memberships, self.class_counts)
            cuts[v] = cutter.find(self.min_bins, self.max_bins, lambda: task.expired)
            self.class_entropy_[column.name] = cutter.expected_entropy(cuts[v])
        return cuts

    def _find_mixture(self, task: DiscretizationTask, table: MixtureTable) -> Mixture | None:
        """Return the mixture with `n_classes` classes, or with the best number of classes."""
        search = MixtureSearch(
            table,
            MixtureOptions(
                n_restarts=self.n_restarts,
                start=self.start,
                start_rows=self.start_rows,
                tol=self.tol,
                max_iterations=self.max_iterations,
                sd_floor=self.sd_floor,
                pseudo_count=self.pseudo_count,
                min_class_rows=self.min_class_rows,
            ),
            self.random_state,
            run=task.interruptible,
            expired=lambda: self._out_of_time(task),
            stop=task.stop.flag,
        )
        self.bic_ = {}
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


_PRESENCE = {"all": (0.0, 0.0), "expected": (1.0, 0.0), "share": (0.0, 0.05)}
"""Smallest number of expected rows, and smallest share of a set, of a class that counts as present in it."""


@dataclass(frozen=True, slots=True, order=True)
class _Split:
    """The best cut of a block of distinct values; sorts by acceptance, then by gain."""

    rank: tuple[bool, float]
    low: int
    middle: int
    high: int


class ClassCuts:
    """Cuts of one column between rows of different classes.

    Parameters
    ----------
    values : ndarray of shape (n_rows,), float64
        At least two distinct values.
    memberships : ndarray of shape (n_rows, n_classes), float64
        Every row sums to 1.
    class_counts : {"all", "expected", "share"}
        Classes that count in the stopping rule; see `LatentDiscretizer`.
    """

    def __init__(
        self, values: NDArray[np.float64], memberships: NDArray[np.float64], class_counts: str = "all"
    ) -> None:
        self.column = SortedColumn(values)
        self.rows_below = np.concatenate(([0], self.column.below, [self.column.n_rows]))
        self.below = np.zeros((len(self.rows_below), memberships.shape[1]))
        summed = np.cumsum(memberships[self.column.order], axis=0)
        self.below[1:] = summed[self.rows_below[1:] - 1]
        self.least_rows, self.least_share = _PRESENCE[class_counts]

    def find(
        self, min_bins: int = 1, max_bins: int = MAX_CARDINALITY, expired: Callable[[], bool] = lambda: False
    ) -> NDArray[np.float64]:
        """Return the cuts, ascending; the cuts so far once `expired` returns true."""
        gaps: list[int] = []
        waiting: list[_Split] = []
        self._offer(0, len(self.rows_below) - 1, waiting)
        while waiting and len(gaps) + 1 < max_bins and not expired():
            split = heappop(waiting)
            refused = split.rank[0]
            if refused and len(gaps) + 1 >= min_bins:
                break
            gaps.append(split.middle - 1)
            self._offer(split.low, split.middle, waiting)
            self._offer(split.middle, split.high, waiting)
        cuts = self.column.cuts[sorted(gaps)]
        return np.asarray(cuts[cuts > self.column.low], np.float64)

    def expected_entropy(self, cuts: NDArray[np.float64]) -> float:
        """Return the entropy in bits of the class given the bin, averaged over the rows."""
        edges = np.concatenate(([0], np.searchsorted(self.column.distinct, cuts, side="right"), [-1]))
        rows = np.diff(self.rows_below[edges])
        entropies = [_entropy(shares) for shares in np.diff(self.below[edges], axis=0) / rows[:, None]]
        return float(rows @ entropies) / self.column.n_rows

    def _offer(self, low: int, high: int, waiting: list[_Split]) -> None:
        """Add the best split of the distinct values `low` to `high` - 1, if one gains anything."""
        if high - low < 2:
            return
        middle, _ = best_class_cut(self.below, self.rows_below, low, high)
        n, n_left = self._rows(low, high), self._rows(low, middle)
        whole, left, right = (self._shares(*block) for block in ((low, high), (low, middle), (middle, high)))
        entropy, entropy_left, entropy_right = (_entropy(shares) for shares in (whole, left, right))
        gain = entropy - (n_left * entropy_left + (n - n_left) * entropy_right) / n
        k, k_left, k_right = (
            self._n_present(shares, rows)
            for shares, rows in ((whole, n), (left, n_left), (right, n - n_left))
        )
        spread = k * entropy - k_left * entropy_left - k_right * entropy_right
        price = log2(n - 1) + k * log2(3) + log2(1 - 2 * 3.0**-k) - spread
        if is_gain(gain, entropy):
            heappush(waiting, _Split((n * gain <= price, -n * gain), low, middle, high))

    def _rows(self, low: int, high: int) -> int:
        return int(self.rows_below[high] - self.rows_below[low])

    def _shares(self, low: int, high: int) -> NDArray[np.float64]:
        return np.asarray((self.below[high] - self.below[low]) / self._rows(low, high), np.float64)

    def _n_present(self, shares: NDArray[np.float64], n_rows: int) -> int:
        present = np.count_nonzero((shares >= self.least_share) & (shares * n_rows >= self.least_rows))
        return max(int(present), 1)


def _entropy(shares: NDArray[np.float64]) -> float:
    """Return the entropy of class shares in bits."""
    positive = shares[shares > 0.0]
    return -float(positive @ np.log2(positive))
