"""Finite mixtures over continuous and discrete columns, fitted by EM with a number of classes chosen by BIC."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from math import inf, log

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.table import Column, Table
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

# EM steps from every start, before the best one goes on
_SHORT_STEPS = 30
# nats per row
_SHORT_TOLERANCE = 1e-4
# rows of the sample on which starts are compared, for larger tables
_START_ROWS = 2000
# the best start goes on until a step gains at most this, in nats per row
_TOLERANCE = 1e-5
_MAX_ITERATIONS = 500
# smallest standard deviation within a class, as a share of the column's: repeated values have a finite likelihood
_SD_FLOOR = 0.01
# rows added to every class, spread evenly over the levels of a discrete column
_PSEUDO_COUNT = 1.0
# classes with fewer expected rows are dropped
_MIN_CLASS_ROWS = 1.0
# rows times classes times columns of one compiled call, which takes a fraction of a second
_ENTRIES_PER_CALL = 10_000_000
# standard deviations; the squares of larger numbers overflow
_FARTHEST = 1e100


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


@dataclass(frozen=True, slots=True)
class MixtureSelection:
    """The mixture of highest BIC, and the BIC of every number of classes that was tried."""

    mixture: Mixture
    bic: dict[int, float]


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

    def select(self, max_classes: int) -> MixtureSelection | None:
        """Return the best of 1, 2, ... up to `max_classes` classes, or None if the deadline came before the first.

        The search ends after two numbers in a row without improvement.
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
        return None if best is None else MixtureSelection(best, bic)

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
            run.advance(_SHORT_STEPS, _SHORT_TOLERANCE)
            if short is None or run.log_likelihood > short.log_likelihood:
                short = run
        assert short is not None
        whole = short if short.rows is self.table.rows else self.from_state(short.state)
        whole.advance(_MAX_ITERATIONS, _TOLERANCE)
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
        pseudo_count = _PSEUDO_COUNT if self.table.n_levels else 0.0
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
        per_call = max(_ENTRIES_PER_CALL // per_step, 1)
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
