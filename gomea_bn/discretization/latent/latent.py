"""Latent discretization: bins that separate the classes of a latent variable (Monti & Cooper 1999)."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from heapq import heappop, heappush
from math import inf, log, log2
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.table import Column, Table
from gomea_bn.discretization.base import EM_TOLERANCE, DiscretizationTask, Discretizer
from gomea_bn.discretization.latent.kernels import (
    CONVERGED,
    LOG_LIKELIHOOD,
    MixtureRows,
    MixtureRule,
    MixtureState,
    MixtureWork,
    best_class_cut,
    count_assigned,
    em_steps,
    expect,
    fill_memberships,
)
from gomea_bn.errors import GomeaBnError
from gomea_bn.parameters import WholeNumber, option, stated, with_known_names
from gomea_bn.problems.cuts.blanket import Cuts
from gomea_bn.problems.cuts.cut_column import CutColumn
from gomea_bn.problems.cuts.policies import MAX_CARDINALITY
from gomea_bn.problems.scores import is_gain

if TYPE_CHECKING:
    import pandas as pd

# rows of the sample on which starts are compared, for larger tables
_START_ROWS = 2000
_MAX_ITERATIONS = 500
# smallest standard deviation within a class, as a share of the column's: repeated values have a finite likelihood
_SD_FLOOR = 0.01
# classes with fewer expected rows are dropped
_MIN_CLASS_ROWS = 1.0
# standard deviations; the squares of larger numbers overflow
_FARTHEST = 1e100


@cache
def compile_latent_kernels() -> None:
    """Compile or load the kernels on a tiny table, so that no deadline pays for it."""
    values = np.arange(8.0)
    codes: NDArray[np.int32] = np.repeat(np.arange(2, dtype=np.int32), 4)
    table = Table((Column("x", values, None, ""), Column("k", codes, (0, 1), "")), 8, ())
    search = MixtureSearch(MixtureTable(table))
    mixture = search.fit(2)
    assert mixture is not None
    search.from_state(mixture.state)
    memberships = mixture.memberships()
    below = np.concatenate((np.zeros((1, mixture.n_classes)), np.cumsum(memberships, axis=0)))
    best_class_cut(below, np.arange(9, dtype=np.int64), 0, 8)


@with_known_names
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

    _warm_ups = (compile_latent_kernels,)
    follows_graph = False

    n_classes: int | None = field(default=None, metadata=stated(WholeNumber(1, none=""), ""), kw_only=False)
    max_classes: int = option(10, WholeNumber(1))
    max_bins: int = option(30, WholeNumber(1, MAX_CARDINALITY))
    n_restarts: int = option(20, WholeNumber(1))
    random_state: int | None = option(0, WholeNumber(0, none=""))

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
        index, values = self._values(X)
        numbers = [of_column for name, of_column in values.items() if name not in self.levels_]
        codes = [values[name].astype(np.int32) for name in values if name in self.levels_]
        memberships = self.mixture_.memberships(self.mixture_.table.rows_of(numbers, codes))
        return pd.DataFrame(memberships, index=index)

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
        for v in task.passes(task.movable):
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
        self.bic_: dict[int, float]
        if self.n_classes is None:
            mixture, self.bic_ = search.select(self.max_classes)
            if self._out_of_time(task):
                self.stopped_by_ = "max_seconds"
            return mixture
        if self.n_classes > table.n_rows:
            raise GomeaBnError(
                f"n_classes must be at most the number of rows, {table.n_rows}, got {self.n_classes}."
            )
        mixture = search.fit(self.n_classes)
        self.bic_ = {} if mixture is None else {self.n_classes: mixture.bic}
        return mixture

    def _out_of_time(self, task: DiscretizationTask) -> bool:
        """Return whether the time for the mixture is up."""
        # sorting and cutting the columns takes less of the time than EM
        over = self.max_seconds is not None and task.stop.seconds > 0.6 * self.max_seconds
        return over or task.expired


class ClassCuts:
    """Cuts of one column between rows of different classes.

    The column has at least two distinct values; every row of `memberships`, (n_rows, n_classes), sums to 1.
    """

    def __init__(self, values: NDArray[np.float64], memberships: NDArray[np.float64]) -> None:
        self.column = CutColumn.of_values(values)
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
        edges = np.concatenate(([0], np.searchsorted(self.column.greatest, cuts, side="right"), [-1]))
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


class MixtureTable:
    """The columns of a table, none of them constant, for a mixture.

    Numbers are standardised by `location` and `scale`, the mean and standard deviation in the data's units. The levels
    of all columns are numbered consecutively; `first_levels` has the number of the first level of each discrete column.
    Rows are sorted, so that their order in the table has no influence on the mixture; `order` has the row of the table
    at every position of `rows`.
    """

    def __init__(self, table: Table) -> None:
        self.columns = table.columns
        self.n_rows = table.n_rows
        self.order: NDArray[np.int64] = np.lexsort([c.values for c in table.columns]).astype(np.int64)
        numbers = [c.values[self.order] for c in table.columns if c.levels is None]
        codes = [c.values[self.order] for c in table.columns if c.levels is not None]
        self.level_counts = np.array([len(c.levels) for c in table.columns if c.levels is not None], np.int64)
        self.first_levels: list[int] = (np.cumsum(self.level_counts) - self.level_counts).tolist()
        # first by the range: the squares of very small and very large numbers underflow and overflow
        self._low = np.array([x.min() for x in numbers])
        self._range = np.array([x.max() for x in numbers]) - self._low
        unit = [(x - low) / width for x, low, width in zip(numbers, self._low, self._range)]
        self._unit_mean = np.array([x.mean() for x in unit])
        self._unit_sd = np.array([x.std() for x in unit])
        self.location = self._low + self._range * self._unit_mean
        self.scale = self._range * self._unit_sd
        self.rows = self.rows_of(numbers, codes)

    def rows_of(self, numbers: list[NDArray[np.float64]], codes: list[NDArray[np.int32]]) -> MixtureRows:
        """Return rows of the continuous columns' values and of the discrete columns' codes, in column order."""
        n_rows = len((numbers or codes)[0])
        values = np.empty((n_rows, len(numbers)))
        for c, x in enumerate(numbers):
            with np.errstate(over="ignore"):  # far outside the table; infinities are clipped
                standard = ((x - self._low[c]) / self._range[c] - self._unit_mean[c]) / self._unit_sd[c]
            values[:, c] = np.clip(standard, -_FARTHEST, _FARTHEST)
        joined = np.empty((n_rows, len(codes)), np.int32)
        for d, first in enumerate(self.first_levels):
            joined[:, d] = codes[d] + first
        return MixtureRows(values, joined)

    @property
    def n_levels(self) -> int:
        """Return the number of levels of all discrete columns together."""
        return int(self.level_counts.sum())

    @property
    def log_scale(self) -> float:
        """Return the difference in nats between a row's log density in standard units and in the data's units."""
        return float(np.log(self._range).sum() + np.log(self._unit_sd).sum())


@dataclass(frozen=True, eq=False)
class Mixture:
    """Classes within which all columns are independent, and normal if continuous.

    `weights` are the shares of the classes, largest first. The log likelihood of the table in nats is in the data's
    units; if a deadline ended EM, it is that of the last whole pass. `converged` says whether EM ended by its
    tolerance.
    """

    table: MixtureTable
    state: MixtureState
    log_likelihood: float
    n_iterations: int
    converged: bool

    @property
    def weights(self) -> NDArray[np.float64]:
        """Return the share of every class."""
        return self.state.weights

    @property
    def n_classes(self) -> int:
        """Return the number of classes."""
        return len(self.state.weights)

    @property
    def n_parameters(self) -> int:
        """Return the number of free parameters."""
        per_class = 2 * len(self.table.location) + int((self.table.level_counts - 1).sum())
        return self.n_classes - 1 + self.n_classes * per_class

    @property
    def bic(self) -> float:
        """Return the log likelihood minus (ln n)/2 nats per free parameter; higher is better."""
        return self.log_likelihood - self.n_parameters * log(self.table.n_rows) / 2

    @property
    def means(self) -> dict[str, NDArray[np.float64]]:
        """Return the classes' means of every continuous column, each of shape (n_classes,), in the data's units."""
        table = self.table
        return {
            name: table.location[c] + table.scale[c] * self.state.means[c]
            for c, name in enumerate(self._names(continuous=True))
        }

    @property
    def standard_deviations(self) -> dict[str, NDArray[np.float64]]:
        """Return the classes' standard deviations of every continuous column, in the data's units."""
        return {
            name: self.table.scale[c] * np.sqrt(self.state.variances[c])
            for c, name in enumerate(self._names(continuous=True))
        }

    @property
    def level_probabilities(self) -> dict[str, NDArray[np.float64]]:
        """Return the probability of every level in every class, shape (n_classes, n_levels), by discrete column."""
        table = self.table
        return {
            name: self.state.probabilities[first : first + size].T
            for name, first, size in zip(
                self._names(continuous=False), table.first_levels, table.level_counts.tolist()
            )
        }

    def memberships(self, rows: MixtureRows | None = None) -> NDArray[np.float64]:
        """Return the probability of every class given each row, (n_rows, n_classes); by default the table's rows."""
        rows = self.table.rows if rows is None else rows
        out = np.empty((len(rows.values), self.n_classes))
        fill_memberships(rows, self.state, _work(self.state), out)
        return out

    def _names(self, *, continuous: bool) -> list[str]:
        return [column.name for column in self.table.columns if column.is_continuous == continuous]


class MixtureSearch:
    """Fits mixtures to one table.

    Every number of classes has `n_restarts` starts, around seeds that lie far apart and random ones in turn. The same
    seed gives the same mixtures, and a mixture of K classes does not depend on the other K that are tried. `run` calls
    compiled functions, as `DiscretizationTask.interruptible` does, `expired` says several times a second whether to
    end, and `stop` is raised by another thread to leave a running pass.
    """

    def __init__(
        self,
        table: MixtureTable,
        n_restarts: int = 20,
        seed: int | None = 0,
        *,
        run: Callable[[Callable[[], int]], int] = lambda call: call(),
        expired: Callable[[], bool] = lambda: False,
        stop: NDArray[np.uint8] | None = None,
    ) -> None:
        self.table = table
        self.n_restarts = n_restarts
        self._seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
        self.run = run
        self.expired = expired
        self.stop = np.zeros(1, np.uint8) if stop is None else stop

    def select(self, max_classes: int) -> tuple[Mixture | None, dict[int, float]]:
        """Return the best of 1, 2, ... up to `max_classes` classes by BIC, and the BIC of those that were tried.

        The search ends after two numbers in a row without improvement. The mixture is None if the deadline came before
        the first.
        """
        best: Mixture | None = None
        bic: dict[int, float] = {}
        worse = 0
        for n_classes in range(1, min(max_classes, self.table.n_rows) + 1):
            mixture = self.fit(n_classes)
            if mixture is None:
                break
            bic[n_classes] = mixture.bic
            worse += 1
            if best is None or mixture.bic > best.bic:
                best, worse = mixture, 0
            if worse == 2 or self.expired():
                break
        return best, bic

    def fit(self, n_classes: int) -> Mixture | None:
        """Return a mixture of at most `n_classes` classes, or None if the deadline came before the end of one pass.

        EM makes short runs from several starts, on a sample if there are many rows; the best one goes on with all rows
        (Biernacki, Celeux & Govaert 2003). Classes that lose their rows are dropped.
        """
        generator = np.random.default_rng([n_classes, self._seed])
        rows = self._sample(generator)
        short: _Run | None = None
        for n_tried in range(1 if n_classes == 1 else self.n_restarts):
            if short is not None and self.expired():
                break
            if n_tried % 2 == 0:
                labels = self._spread_classes(rows, n_classes, generator)
            else:
                labels = generator.integers(0, n_classes, len(rows.values))
            run = self._from_labels(rows, labels)
            # steps of EM, and nats per row below which they end, before the best start goes on
            run.advance(30, 1e-4)
            if short is None or run.log_likelihood > short.log_likelihood:
                short = run
        assert short is not None
        whole = short if short.rows is self.table.rows else self.from_state(short.state)
        whole.advance(_MAX_ITERATIONS, EM_TOLERANCE)
        return whole.mixture(self.table)

    def _spread_classes(
        self, rows: MixtureRows, n_classes: int, generator: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return for every row the nearest of seeds drawn far apart as in k-means++ (Arthur & Vassilvitskii 2007).

        A mismatch in a discrete column counts 2 / (probability of a mismatch): the mean distance of two rows is then
        that in a standardised continuous column. There are fewer classes if there are fewer distinct rows.
        """
        n_rows = len(rows.values)
        nearest = np.full(n_rows, inf)
        labels = np.zeros(n_rows, np.int64)
        chosen = int(generator.integers(n_rows))
        for k in range(n_classes):
            distance = ((rows.values - rows.values[chosen]) ** 2).sum(axis=1)
            distance += (rows.codes != rows.codes[chosen]) @ self._mismatch_costs
            closer = distance < nearest
            labels[closer] = k
            nearest[closer] = distance[closer]
            total = np.cumsum(nearest)
            # no distinct rows are left
            if total[-1] == 0.0:
                break
            chosen = int(np.searchsorted(total, generator.random() * total[-1], side="right"))
        return labels

    @cached_property
    def _mismatch_costs(self) -> NDArray[np.float64]:
        costs = np.zeros(len(self.table.level_counts))
        for d, first in enumerate(self.table.first_levels):
            shares = np.bincount(self.table.rows.codes[:, d] - first) / self.table.n_rows
            mismatch = 1.0 - float((shares**2).sum())
            costs[d] = 2.0 / mismatch if mismatch > 0.0 else 0.0
        return costs

    def _sample(self, generator: np.random.Generator) -> MixtureRows:
        rows = self.table.rows
        if self.table.n_rows <= _START_ROWS:
            return rows
        chosen = np.sort(generator.choice(self.table.n_rows, _START_ROWS, replace=False))
        return MixtureRows(rows.values[chosen], rows.codes[chosen])

    def _from_labels(self, rows: MixtureRows, labels: NDArray[np.int64]) -> _Run:
        n_columns, n_classes = len(self.table.location), int(labels.max()) + 1
        state = MixtureState(
            np.ones(n_classes),
            np.zeros((n_columns, n_classes)),
            np.ones((n_columns, n_classes)),
            np.ones((self.table.n_levels, n_classes)),
        )
        run = _Run(self, rows, state)
        count_assigned(rows, labels, state, run.work)
        return run

    def from_state(self, state: MixtureState) -> _Run:
        """Return a run over all rows that goes on from a state."""
        run = _Run(self, self.table.rows, state)
        self.run(lambda: int(expect(run.rows, run.state, run.work) < 0.0))
        return run

    def rule(self, tolerance: float) -> MixtureRule:
        """Return the rules of a step, with a tolerance in nats."""
        # rows added to every class, spread evenly over the levels of a discrete column
        pseudo_count = 1.0 if self.table.n_levels else 0.0
        sizes = self.table.level_counts
        return MixtureRule(
            least_variance=_SD_FLOOR**2,
            pseudo_counts=np.repeat(pseudo_count / sizes, sizes),
            pseudo_count=pseudo_count,
            least_rows=_MIN_CLASS_ROWS,
            tolerance=tolerance,
        )


class _Run:
    """A run of EM on some rows, which can be continued."""

    def __init__(self, search: MixtureSearch, rows: MixtureRows, state: MixtureState) -> None:
        self.search = search
        self.rows = rows
        self.state = state
        self.work = _work(state, search.stop)
        self.n_steps = 0
        self.log_likelihood = -inf

    def advance(self, max_steps: int, tol: float) -> None:
        """Take up to `max_steps` more steps, until one gains at most `tol` nats per row."""
        n_rows, n_classes = len(self.rows.values), len(self.state.weights)
        per_step = n_rows * n_classes * (1 + self.rows.values.shape[1] + self.rows.codes.shape[1])
        # rows times classes times columns of one compiled call, which takes a fraction of a second
        per_call = max(10_000_000 // per_step, 1)
        rule = self.search.rule(tol * n_rows)
        self.work.reached[CONVERGED] = 0.0
        left = max_steps
        while left and not self.converged and not self.search.stop[0]:
            n_steps = min(left, per_call)
            step = partial(em_steps, self.rows, self.state, self.work, rule, n_steps)
            self.n_steps += self.search.run(step)
            self.log_likelihood = float(self.work.reached[LOG_LIKELIHOOD])
            left -= n_steps
            if self.search.expired():
                break

    @property
    def converged(self) -> bool:
        return bool(self.work.reached[CONVERGED])

    def mixture(self, table: MixtureTable) -> Mixture | None:
        """Return the living classes, largest first, or None before the first whole pass."""
        if not np.isfinite(self.log_likelihood):
            return None
        order = np.argsort(-self.state.weights, kind="stable")
        living = order[self.state.weights[order] > 0.0]
        # classes are the last axis
        state = MixtureState(*(np.ascontiguousarray(part[..., living]) for part in self.state))
        log_likelihood = self.log_likelihood - table.n_rows * table.log_scale
        return Mixture(table, state, log_likelihood, self.n_steps, self.converged)


def _work(state: MixtureState, stop: NDArray[np.uint8] | None = None) -> MixtureWork:
    n_classes = len(state.weights)
    columns, levels = state.means.shape, state.probabilities.shape
    return MixtureWork(
        mass=np.zeros(n_classes),
        sums=np.zeros(columns),
        squares=np.zeros(columns),
        counts=np.zeros(levels),
        constants=np.zeros(n_classes),
        precisions=np.zeros(columns),
        logs=np.zeros(levels),
        row=np.zeros(n_classes),
        reached=np.array([-inf, -inf, 0.0]),
        stop=np.zeros(1, np.uint8) if stop is None else stop,
    )
