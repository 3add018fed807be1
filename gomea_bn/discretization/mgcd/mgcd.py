"""MGCD: bins between the Gaussians that a column's Markov blanket mixes (Mabrouk et al. 2015)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import erfc, inf, log, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import LEAST_RANGE
from gomea_bn.discretization.base import EM_TOLERANCE, DiscretizationTask, Discretizer, starting_cuts
from gomea_bn.discretization.mgcd.kernels import (
    CountedCells,
    EMWork,
    SharedGaussians,
    expectation_maximisation,
)
from gomea_bn.discretization.structure_search import (
    Parents,
    check_knowledge,
    compile_structure_kernels,
    permitted_start,
    tabu_search,
)
from gomea_bn.errors import GomeaBnError
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.column_graph import ColumnGraph
from gomea_bn.parameters import Choice, Flag, Number, WholeNumber, option, with_known_names
from gomea_bn.problems.cuts.blanket import CodedColumn, Cuts, coded_column, joint_codes
from gomea_bn.problems.cuts.cut_column import CutColumn, ScoredVariable
from gomea_bn.problems.cuts.interval_counts import NO_STOP
from gomea_bn.problems.cuts.policies import MAX_CARDINALITY, Policy, without_narrow_bins, without_sparse_bins
from gomea_bn.problems.family_scorer import FamilyScorer
from gomea_bn.problems.knowledge import ExpertKnowledge, edge_rules
from gomea_bn.problems.scores import score_rule, scoring_method

# passes over the columns for one graph
_MAX_CYCLES = 3
# iterations of EM from every start; only the best goes on
_SHORT_RUN = 10
_MAX_ITERATIONS = 200
# cells of near values that represent a column with more distinct values
_N_CELLS = 300


@cache
def compile_mgcd_kernels() -> None:
    """Compile or load the kernels on a tiny column, so that no deadline pays for it."""
    cells = ColumnCells(CutColumn.of_values(np.arange(12.0)), 10)
    halves = CodedColumn(np.arange(12, dtype=np.int32) // 6, 2)
    around = Configurations.of([halves], 12)
    SharedMixtureSearch(cells, around, 2, "nml", np.random.default_rng(0)).fitted(2)


@with_known_names
@dataclass(eq=False, repr=False, kw_only=True)
class MGCDiscretizer(Discretizer):
    """Cuts every column between the Gaussians of its mixture given its Markov blanket; can learn the graph too.

    Given the configuration of its blanket under the others' bins, a column is a mixture of Gaussians. All
    configurations share the Gaussians, and each has its own weights. EM fits the Gaussians, BIC chooses their number,
    and a cut lies between every two neighbours. Without `network=` in `fit`, the graph is learned in turn by tabu
    search.

    Parameters
    ----------
    univariate : bool
        Whether to ignore the blankets: one mixture per column. Similar to the univariate method of Cai et al. (2013),
        with which the paper compares MGCD.
    max_bins : int
        Largest number of Gaussians of a column; bins without rows are joined afterwards.
    penalty : {"nml", "observed", "all"}
        Cost of the weights in the choice of the number of Gaussians. "observed" and "all": (ln n)/2 nats for each
        weight, for the configurations that occur or for all possible ones (BIC, as published). "nml": the stochastic
        complexity of the rows of each configuration; see Notes.
    min_width : float
        Width of the narrowest bin, as a fraction of the column's range. Narrower bins are joined with a neighbour.
        With 0, bins around repeated values would have unbounded density.
    min_bin_count : int
        Smallest number of rows of a bin; bins with fewer are joined with a neighbour.
    max_indegree, knowledge
        Limits of the search; see `Tabu`.
    pseudo_count : float
        Pseudo-count per row of the network's tables.
    random_state : int, optional
        Seed of the starts.
    kinds, missing, max_levels
        See `gomea_bn.read_table`.
    max_seconds : float, optional
        Deadline in seconds. Unfinished columns keep their former cuts. The bins and the graph of an unfinished round
        are the result if their score is the best.

    Attributes
    ----------
    mixtures_ : dict of str to SharedMixture
        Gaussians behind the cuts.
    n_cycles_ : int
        Number of passes over the columns.
    edges_, network_, score_, round_scores_
        Only if the graph was learned: the (parent, child) pairs and the network of the best round, its "density-bic" in
        nats (higher is better, and comparable whatever the bins), and the scores of all rounds.
    stopped_by_ : str
        "fixpoint", "cycle" (rounds repeat), "max_cycles", "max_rounds", "max_seconds" or "interrupt".

    Notes
    -----
    BIC for g cuts is ``ln L - (q g + 2 (g + 1)) / 2 ln n`` for q configurations (paper, Section 3). It charges every
    configuration as if it had all n rows, so that a column with a large blanket gets hardly any cuts. "nml" charges the
    stochastic complexity of the rows that a configuration has (Kontkanen & Myllymaki 2007); a column of pure noise gets
    one bin whatever the blanket.

    The paper leaves open where the alternation starts and how its rounds compare; here it starts from bins of equal
    frequency, and every round makes a whole tabu search. Bins are (a, b] here and [a, b) in
    the paper: a cut equal to a value lies just below it, so that the same rows share a bin.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 400)
    >>> frame = pd.DataFrame({"x": rng.normal(4.0 * y, 0.5), "y": y})
    >>> fitted = MGCDiscretizer(random_state=0).fit(frame, network=[("y", "x")])
    >>> bool(1.5 < fitted.cut_points_["x"].item() < 2.5)
    True
    """

    _warm_ups = (compile_mgcd_kernels, compile_structure_kernels)
    _uses_classes = False

    univariate: bool = option(False, Flag())
    max_bins: int = option(15, WholeNumber(1, MAX_CARDINALITY))
    penalty: str = option("nml", Choice(("nml", "observed", "all")))
    min_width: float = option(1e-3, Number(0, 1, below=True))
    min_bin_count: int = option(1, WholeNumber(1))
    max_indegree: int | None = option(6, WholeNumber(0, none=""))
    knowledge: ExpertKnowledge | None = None
    pseudo_count: float = option(1.0, Number(0))
    random_state: int | None = option(None, WholeNumber(0, none=""))

    def check_options(self) -> None:
        """Raise `GomeaBnError` for parameters out of range."""
        super().check_options()
        check_knowledge(self.knowledge)

    def _find_cuts(self, task: DiscretizationTask) -> Cuts:
        for name in ("edges_", "network_", "score_", "round_scores_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        for column in (task.table.columns[v] for v in task.movable):
            if np.ptp(column.values) < LEAST_RANGE:
                raise GomeaBnError(
                    f"Column '{column.name}' ranges from {column.values.min():g} to {column.values.max():g}, too "
                    "narrow for the densities of float64; rescale it."
                )
        columns = MGCDColumns(task, self)
        state = MGCDState(task.graph, starting_cuts(task, "equal-frequency"), {})
        if not task.has_graph:
            state = self._alternate(columns, state)
        else:
            state = columns.discretized(state)
            if not columns.converged:
                self.stopped_by_ = "max_cycles"
        self.mixtures_ = {task.table.names[v]: state.mixtures[v] for v in sorted(state.mixtures)}
        self.n_cycles_ = columns.n_cycles
        return {v: state.cuts[v] for v in task.movable}

    def _alternate(self, columns: MGCDColumns, start: MGCDState) -> MGCDState:
        """Return the best round of search and discretization in turn."""
        task, table = columns.task, columns.task.table
        sizes = [1 if column.levels is None else len(column.levels) for column in table.columns]
        rules = edge_rules(self.knowledge, table.names, sizes, max_indegree=self.max_indegree)
        parents = permitted_start(task.graph, rules, self.knowledge, sizes)
        state = start.over(parents)
        scorer = columns.scorer(state.cuts)
        best, best_score = state, scorer.graph_score(parents)
        self.round_scores_: list[float] = []
        visited = {state.key()}
        self.stopped_by_ = "max_rounds"
        # alternations of search and discretization
        for _ in range(10):
            found, *_ = tabu_search(scorer, rules, state.graph.parents, task.stop)
            if self.round_scores_ and found == state.graph.parents:
                self.stopped_by_ = "fixpoint"
                break
            searched = state.over(found)
            moved = columns.discretized(searched, rules.max_table_cells)
            if task.expired:
                for unfinished in (searched, moved):
                    score = columns.scorer(unfinished.cuts).graph_score(unfinished.graph.parents)
                    if score > best_score:
                        best, best_score = unfinished, score
                break
            before, state = state.key(), moved
            scorer = columns.scorer(state.cuts)
            score = scorer.graph_score(state.graph.parents)
            if not self.round_scores_ or score > best_score:
                best, best_score = state, score
            self.round_scores_.append(score)
            if state.key() in visited:
                self.stopped_by_ = "fixpoint" if state.key() == before else "cycle"
                break
            visited.add(state.key())
        self.edges_ = best.graph.edges
        self.score_ = best_score
        self.network_ = DiscretizedBayesNet.from_table(
            table,
            self.edges_,
            {table.names[v]: cuts for v, cuts in best.cuts.items()},
            pseudo_count=self.pseudo_count,
            metadata={"scoring_method": "density-bic", "score": best_score, "n_rows": table.n_rows},
        )
        return best


@dataclass(frozen=True, slots=True)
class MGCDState:
    """A graph, the bins of all continuous columns, and the mixtures behind those that moved."""

    graph: ColumnGraph
    cuts: Cuts
    mixtures: dict[int, SharedMixture]

    def over(self, parents: Parents) -> MGCDState:
        """Return the state with another graph."""
        return replace(self, graph=ColumnGraph(self.graph.names, parents))

    def key(self) -> tuple[Parents, tuple[bytes, ...]]:
        """Return a value that is equal for equal graphs and cuts."""
        return self.graph.parents, tuple(self.cuts[v].tobytes() for v in sorted(self.cuts))


class MGCDColumns:
    """The columns of a table, each sorted once, with the last mixture of each and what it was fitted to.

    A column whose blanket has the same codes as at its last fit keeps its mixture, also from one graph to another.
    """

    def __init__(self, task: DiscretizationTask, options: MGCDiscretizer) -> None:
        self.task = task
        self._options = options
        self.n_cycles = 0
        self.converged = True
        self._cells = cache(lambda v: ColumnCells(task.sorted_column(v)))
        self._seed = np.random.SeedSequence(options.random_state).entropy
        self._coded: dict[int, tuple[NDArray[np.float64], CodedColumn]] = {}
        self._fitted: dict[int, tuple[list[CodedColumn], int, SharedMixture]] = {}

    def discretized(self, state: MGCDState, max_table_cells: float = inf) -> MGCDState:
        """Return the state after passes over the columns, children first, until no row's bin changes."""
        cuts, mixtures = dict(state.cuts), dict(state.mixtures)
        order = [v for v in state.graph.reverse_topological_order() if v in self.task.movable]
        coded = self._recoded(cuts)
        # as published, the last pass changes no row's bin
        passes = self.task.passes(order, _MAX_CYCLES, graph=state.graph, to_unchanged=True)
        for v in passes:
            around = [] if self._options.univariate else sorted(state.graph.blanket(v))
            most = self._options.max_bins
            if max_table_cells < inf:
                # tables around the column stay within the limit
                room = state.graph.neighbourhood(v, coded).most_bins(max_table_cells)
                most = max(1, min(most, room))
            mixture = self._mixture(v, [coded[u] for u in around], most)
            if mixture is None:
                break
            mixtures[v], cuts[v] = mixture, self._cuts(v, mixture)
            before, coded = coded[v], self._recoded(cuts)
            if coded[v] is not before:
                passes.note_change(v)
        self.n_cycles += passes.n_passes
        self.converged = not passes.changed_in_pass
        return MGCDState(state.graph, cuts, mixtures)

    def scorer(self, cuts: Cuts) -> FamilyScorer:
        """Return the scorer of graphs under the bins by log density, which can be compared for different bins."""
        table = self.task.table
        method = scoring_method("density-bic")
        variables = [
            ScoredVariable.of(c, (Policy(cuts[v]),) if c.is_continuous else ())
            for v, c in enumerate(table.columns)
        ]
        return FamilyScorer(variables, method, score_rule(method, table.n_rows))

    def _recoded(self, cuts: Cuts) -> list[CodedColumn]:
        """Return all columns as codes; a column whose rows stay in their bins is the same object as before."""
        for v, column in enumerate(self.task.table.columns):
            if column.levels is not None:
                self._coded.setdefault(v, (np.empty(0), coded_column(column, None)))
            elif v not in self._coded or self._coded[v][0] is not cuts[v]:
                new = coded_column(column, cuts[v])
                if v in self._coded and np.array_equal(new.codes, self._coded[v][1].codes):
                    new = self._coded[v][1]
                self._coded[v] = cuts[v], new
        return [self._coded[v][1] for v in range(len(self.task.table.columns))]

    def _mixture(self, v: int, blanket: list[CodedColumn], most: int) -> SharedMixture | None:
        """Return the best mixture of one column given its blanket; None at the deadline."""
        near = None
        if v in self._fitted:
            former, limit, near = self._fitted[v]
            if limit == most and len(former) == len(blanket) and all(a is b for a, b in zip(former, blanket)):
                return near
        task = self.task
        search = SharedMixtureSearch(
            self._cells(v),
            Configurations.of(blanket, task.table.n_rows),
            most,
            self._options.penalty,
            np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=(v,))),
            stop=task.stop.flag,
            run=task.interruptible,
        )
        mixture = search.best(near)
        if mixture is not None:
            self._fitted[v] = blanket, most, mixture
        return mixture

    def _cuts(self, v: int, mixture: SharedMixture) -> NDArray[np.float64]:
        """Return the mixture's cuts without those that leave a bin too narrow or with too few rows."""
        column = self._cells(v).column
        cuts = separating_cuts(mixture.cuts(), column)
        wide = without_narrow_bins(cuts, (column.low, column.high), self._options.min_width)
        return without_sparse_bins(wide, self.task.table.columns[v].values, self._options.min_bin_count)


@dataclass(frozen=True, slots=True)
class SharedMixture:
    """Gaussians that all configurations share, by ascending mean.

    Means and standard deviations, (n_components,), are in the data's units. `shares` are those of all rows and sum to
    1, `weights`, (n_configurations, n_components), are the shares of the rows of each configuration. The score is the
    log likelihood minus the cost of the parameters, both in nats.
    """

    means: NDArray[np.float64]
    deviations: NDArray[np.float64]
    shares: NDArray[np.float64]
    weights: NDArray[np.float64]
    log_likelihood: float
    score: float

    def cuts(self) -> NDArray[np.float64]:
        """Return the best cut between every two neighbouring means, ascending; equal means have none."""
        means, deviations = self.means.tolist(), self.deviations.tolist()
        cuts = [
            gaussian_cut(means[k], deviations[k], means[k + 1], deviations[k + 1])
            for k in range(len(means) - 1)
            if means[k] < means[k + 1]
        ]
        return np.maximum.accumulate(np.array(cuts)) if cuts else np.empty(0)


def gaussian_cut(mean_0: float, deviation_0: float, mean_1: float, deviation_1: float) -> float:
    """Return the cut between two Gaussians, ``mean_0 < mean_1``, with the least of their mass on the wrong side.

    The cut minimises ``1 - Phi((t - m0) / s0) + Phi((t - m1) / s1)`` over t in [mean_0, mean_1] (Mabrouk et al. 2015,
    Eq. 6; their Proposition 2 says "highest" for lowest). At an inner minimum the densities cross: it is the root of a
    quadratic at which its slope is positive, computed without cancellation.
    """
    ratio = deviation_1 / deviation_0
    # halves, since the difference may overflow
    distance = 2 * ((mean_1 / 2 - mean_0 / 2) / deviation_0)
    curvature = 1 - 1 / ratio**2
    slope = distance / ratio**2
    odds = 2 * log(ratio)
    discriminant = (distance / ratio) ** 2 + odds * curvature
    positions = [0.0, distance]
    if discriminant >= 0:
        crossing = (distance * slope + odds) / (slope + sqrt(discriminant))
        positions.insert(0, min(max(crossing, 0.0), distance))

    def misplaced(position: float) -> float:
        return erfc(position / sqrt(2)) + erfc((distance - position) / ratio / sqrt(2))

    return min(max(mean_0 + deviation_0 * min(positions, key=misplaced), mean_0), mean_1)


def separating_cuts(cuts: NDArray[np.float64], column: CutColumn) -> NDArray[np.float64]:
    """Return the ascending cuts that separate values, for bins (a, b].

    A cut equal to a value moves just below it, since the paper's bins [a, b) put that value into the upper bin. Of
    cuts between the same two values the lowest stays. Cuts beyond the values are dropped.
    """
    n_below = np.searchsorted(column.greatest, cuts, side="left")
    inside = (n_below > 0) & (n_below < column.n_distinct)
    cuts, n_below = cuts[inside], n_below[inside]
    _, first = np.unique(n_below, return_index=True)
    cuts, n_below = cuts[first], n_below[first]
    moved = np.where(cuts == column.greatest[n_below], np.nextafter(cuts, -inf), cuts)
    return np.asarray(moved[moved > column.low], np.float64)


@dataclass(frozen=True, slots=True)
class Configurations:
    """Configurations of the blanket of a column.

    `codes` has that of every row, `rows` the number of rows of every configuration that occurs, and `n_all` is the
    number of possible ones.
    """

    codes: NDArray[np.int32]
    rows: NDArray[np.int64]
    n_all: float

    @classmethod
    def of(cls, blanket: Sequence[CodedColumn], n_rows: int) -> Configurations:
        """Return the joint configurations of coded columns."""
        joint, _, n_all = joint_codes(blanket, n_rows)
        _, codes, rows = np.unique(joint, return_inverse=True, return_counts=True)
        return cls(codes.astype(np.int32), rows, n_all)

    def weight_cost(self, n_components: int, penalty: str) -> float:
        """Return the cost of the weights of `n_components` components in nats; see `MGCDiscretizer`."""
        if penalty == "nml":
            sizes, counts = np.unique(self.rows, return_counts=True)
            return float(counts @ log_complexity(n_components, sizes.astype(np.float64)))
        n = self.n_all if penalty == "all" else len(self.rows)
        return n * (n_components - 1) * log(len(self.codes)) / 2


def log_complexity(n_values: int, n_rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the stochastic complexity of a distribution over `n_values` values for each number of rows, in nats.

    It is the log of the sum over all samples of their highest likelihood. The recurrence is that of Kontkanen &
    Myllymaki (2007); it starts from Szpankowski's approximation for two values, whose error is below one per cent.
    """
    before = np.ones(len(n_rows))
    if n_values == 1:
        return np.log(before)
    current = np.sqrt(pi * n_rows / 2) * np.exp(
        np.sqrt(8 / (9 * pi * n_rows)) + (3 * pi - 16) / (36 * pi * n_rows)
    )
    for k in range(1, n_values - 1):
        before, current = current, current + n_rows / k * before
    return np.asarray(np.log(current), np.float64)


class ColumnCells:
    """A column in at most `n_cells` cells of near values, standardized; of fewer distinct values each is a cell.

    `floor` is the smallest standard deviation of a component: at least 1 / sqrt(12) times the median gap between
    distinct values, as for values that are rounded to such steps.
    """

    def __init__(self, column: CutColumn, n_cells: int = _N_CELLS) -> None:
        self.column = column
        low, high = column.low, column.high
        self._low, self._high = low, high
        # halves, since the range may overflow
        inside = (column.greatest / 2 - low / 2) / (high / 2 - low / 2)
        counts = np.diff(column.below, prepend=0, append=column.n_rows)
        self._centre = float(np.average(inside, weights=counts))
        self._scale = sqrt(np.average((inside - self._centre) ** 2, weights=counts))
        values = (inside - self._centre) / self._scale
        cell = np.arange(len(values))
        if len(values) > n_cells:
            cell = np.searchsorted(column.grid(n_cells), np.arange(len(values)), side="left")
        rows = np.bincount(cell, counts)
        self.means = np.bincount(cell, counts * values) / rows
        self.variances = np.bincount(cell, counts * (values - self.means[cell]) ** 2) / rows
        self.rows = rows
        self.cell_of_row = np.empty(column.n_rows, np.int32)
        self.cell_of_row[column.order] = np.repeat(cell, counts)
        # smallest standard deviation of a component, relative to the column's
        self.floor = max(1e-3, float(np.median(np.diff(values))) / sqrt(12))

    def counted(self, configurations: Configurations) -> CountedCells:
        """Return the rows by configuration and cell."""
        n_cells, q = len(self.means), len(configurations.rows)
        joint = configurations.codes.astype(np.int64) * n_cells + self.cell_of_row
        if q * n_cells <= 8 * self.column.n_rows:
            counts = np.bincount(joint, minlength=q * n_cells)
            occurring = np.flatnonzero(counts)
            counts = counts[occurring]
        else:
            occurring, counts = np.unique(joint, return_counts=True)
        return CountedCells(
            means=self.means,
            variances=self.variances,
            starts=np.searchsorted(occurring, np.arange(q + 1) * n_cells),
            cells=(occurring % n_cells).astype(np.int32),
            counts=counts.astype(np.float64),
        )

    def standardized(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values in the data's units as standardized ones."""
        inside = (values / 2 - self._low / 2) / (self._high / 2 - self._low / 2)
        return np.asarray((inside - self._centre) / self._scale, np.float64)

    def units(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return standardized values in the data's units."""
        inside = means * self._scale + self._centre
        return self._low * (1 - inside) + self._high * inside

    @property
    def unit(self) -> float:
        """Return the column's standard deviation in the data's units."""
        return 2 * (self._scale * (self._high / 2 - self._low / 2))


class SharedMixtureSearch:
    """Finds the number of Gaussians and the Gaussians of one column given configurations.

    `penalty` is that of `MGCDiscretizer`, and `generator` draws the random starts. `stop` is raised by another thread
    to give up, and `run` calls compiled functions, as `DiscretizationTask.interruptible` does.
    """

    def __init__(
        self,
        cells: ColumnCells,
        configurations: Configurations,
        max_components: int,
        penalty: str,
        generator: np.random.Generator,
        *,
        stop: NDArray[np.uint8] = NO_STOP,
        run: Callable[[Callable[[], int]], int] = lambda call: call(),
    ) -> None:
        self.cells = cells
        self.max_components = max_components
        self.penalty = penalty
        self.generator = generator
        self.data = cells.counted(configurations)
        self.n_rows = cells.column.n_rows
        self._configurations = configurations
        self._stop = stop
        self._run = run

    def best(self, near: SharedMixture | None = None) -> SharedMixture | None:
        """Return the mixture with the best score; None if stopped.

        More components are tried until two numbers in a row are no better. With a mixture to start from, the numbers go
        up and down from its number of components while they are better.
        """
        most = min(self.max_components, self.cells.column.n_distinct)
        if near is not None:
            return self._best_near(near, min(len(near.means), most), most)
        best: SharedMixture | None = None
        worse = 0
        for n_components in range(1, most + 1):
            mixture = self.fitted(n_components)
            if mixture is None:
                return None
            worse += 1
            if best is None or mixture.score > best.score:
                best, worse = mixture, 0
            # numbers of components in a row without a better score that end the search
            if worse >= 2:
                break
        return best

    def _best_near(self, near: SharedMixture, n_components: int, most: int) -> SharedMixture | None:
        """Return the mixture with the best score among the numbers of components around `n_components`."""
        best = self.fitted(n_components, near)
        for step in (1, -1):
            n_tried = n_components + step
            while best is not None and 1 <= n_tried <= most:
                mixture = self.fitted(n_tried)
                if mixture is None:
                    return None
                if mixture.score <= best.score:
                    break
                best, n_tried = mixture, n_tried + step
        return best

    def fitted(self, n_components: int, near: SharedMixture | None = None) -> SharedMixture | None:
        """Return the best mixture of `n_components` components over all starts; None if stopped.

        Components with hardly any rows are dropped. If `near` has `n_components` components, it replaces the random
        starts.
        """
        best = self._climb(self._started(self._quantiles(n_components)), _SHORT_RUN)
        for start in self._further_starts(n_components, near):
            if self._stop[0]:
                return None
            tried = self._climb(start, _SHORT_RUN)
            if tried[1] > best[1]:
                best = tried
        mixture, likelihood, rows = best
        while True:
            mixture, likelihood, rows = self._climb(mixture, _MAX_ITERATIONS)
            if self._stop[0]:
                return None
            # components with fewer rows are dropped
            living = rows >= min(2.0, rows.max())
            if living.all():
                return self._described(mixture, likelihood, rows)
            # a configuration may have had dropped components alone
            weights = mixture.weights[:, living] + 1e-9
            mixture = SharedGaussians(
                means=mixture.means[living],
                deviations=mixture.deviations[living],
                weights=weights / weights.sum(axis=1, keepdims=True),
            )

    def _further_starts(self, n_components: int, near: SharedMixture | None) -> Iterator[SharedGaussians]:
        """Yield the starts of EM other than quantiles."""
        if near is None and n_components > 1:
            # one start of EM is from quantiles, the others from rows drawn far apart
            for _ in range(5):
                yield self._started(self._far_apart(n_components))
        elif near is not None and len(near.means) == n_components:
            deviations = near.deviations / self.cells.unit
            yield self._with_equal_weights(self.cells.standardized(near.means), deviations, near.shares)

    def _quantiles(self, n_components: int) -> NDArray[np.float64]:
        """Return the borders, in standardized units, of groups with about equal numbers of rows."""
        below = np.cumsum(self.cells.rows) - self.cells.rows / 2
        rows_below = np.arange(1, n_components) * (self.n_rows / n_components)
        return np.asarray(np.interp(rows_below, below, self.cells.means), np.float64)

    def _far_apart(self, n_components: int) -> NDArray[np.float64]:
        """Return the borders between random rows, drawn in proportion to the squared distance to those before.

        These are the first centres of k-means++ (Arthur & Vassilvitskii 2007).
        """
        values, chances = self.cells.means, self.cells.rows
        centres: list[float] = []
        nearest = np.full(len(values), inf)
        for _ in range(n_components):
            below = np.cumsum(chances)
            drawn = np.searchsorted(below, self.generator.random() * below[-1], side="right")
            centres.append(values[min(drawn, len(values) - 1)])
            nearest = np.minimum(nearest, (values - centres[-1]) ** 2)
            chances = self.cells.rows * nearest
        ordered = np.sort(centres)
        return np.asarray((ordered[1:] + ordered[:-1]) / 2, np.float64)

    def _started(self, borders: NDArray[np.float64]) -> SharedGaussians:
        """Return the Gaussians of the rows between borders, with equal weights for all configurations."""
        cells = self.cells
        k = len(borders) + 1
        group = np.searchsorted(borders, cells.means)
        rows = np.bincount(group, cells.rows, minlength=k)
        at_least_one = np.maximum(rows, 1.0)
        edges = np.concatenate((cells.means[:1], borders, cells.means[-1:]))
        middle = (edges[1:] + edges[:-1]) / 2
        means = np.where(
            rows > 0, np.bincount(group, cells.rows * cells.means, minlength=k) / at_least_one, middle
        )
        spread = cells.variances + (cells.means - means[group]) ** 2
        variances = np.where(
            rows > 0, np.bincount(group, cells.rows * spread, minlength=k) / at_least_one, 1 / k**2
        )
        return self._with_equal_weights(means, np.sqrt(variances), at_least_one / at_least_one.sum())

    def _with_equal_weights(
        self, means: NDArray[np.float64], deviations: NDArray[np.float64], shares: NDArray[np.float64]
    ) -> SharedGaussians:
        """Return Gaussians in standardized units, with the same weights for all configurations."""
        weights = np.tile(shares, (len(self.data.starts) - 1, 1))
        return SharedGaussians(means, np.maximum(deviations, self.cells.floor), weights)

    def _climb(
        self, start: SharedGaussians, max_iterations: int
    ) -> tuple[SharedGaussians, float, NDArray[np.float64]]:
        """Return the mixture at the end of EM, its log likelihood and the rows of every component."""
        mixture = SharedGaussians(start.means.copy(), start.deviations.copy(), start.weights.copy())
        shape = (len(self.data.means), len(start.means))
        work = EMWork(
            logs=np.empty(shape),
            ratios=np.empty(shape),
            highest=np.empty(shape[0]),
            mass=np.empty(shape),
            weights=np.empty_like(start.weights),
            shares=np.empty(shape[1]),
            trace=np.empty(max_iterations + 1),
            stop=self._stop,
        )
        tolerance = EM_TOLERANCE * self.n_rows
        n_iterations = self._run(
            lambda: expectation_maximisation(self.data, mixture, work, self.cells.floor, tolerance)
        )
        return mixture, float(work.trace[n_iterations]), work.mass.sum(axis=0)

    def _described(
        self, mixture: SharedGaussians, likelihood: float, rows: NDArray[np.float64]
    ) -> SharedMixture:
        """Return the mixture in the data's units."""
        n_components = len(mixture.means)
        # a mean and a deviation each
        cost = n_components * log(self.n_rows)
        cost += self._configurations.weight_cost(n_components, self.penalty)
        likelihood -= self.n_rows * log(self.cells.unit)
        order = np.argsort(mixture.means, kind="stable")
        return SharedMixture(
            means=self.cells.units(mixture.means[order]),
            deviations=mixture.deviations[order] * self.cells.unit,
            shares=rows[order] / self.n_rows,
            weights=mixture.weights[:, order],
            log_likelihood=likelihood,
            score=likelihood - cost,
        )
