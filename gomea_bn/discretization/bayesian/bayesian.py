"""Bayesian discretization: the most probable cuts of every column given a graph (Chen et al. 2017)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gomea_bn.discretization.base import DiscretizationTask, Discretizer, check_each_once, starting_cuts
from gomea_bn.discretization.bayesian.cuts import BayesianCuts, compile_bayesian_kernels
from gomea_bn.errors import GomeaBnError, nearest
from gomea_bn.parameters import Choice, Integer, option
from gomea_bn.problems.cuts.blanket import CodedColumn, Cuts, DueColumns, ParentSets, coded_bins
from gomea_bn.problems.cuts.interval_counts import SortedColumns

CARDINALITY_OVER = Choice(("table", "blanket"))
MAX_CANDIDATES = Integer(10, none="")


@dataclass(eq=False, repr=False, kw_only=True)
class BayesianDiscretizer(Discretizer):
    """Cuts every column into its most probable bins given its Markov blanket (Chen, Wheeler & Kochenderfer 2017).

    Parameters
    ----------
    cardinality_over : {"table", "blanket"}
        Columns whose largest number of bins or levels sets the prior's expected number of cuts: all columns (the
        authors' code, which gives their published cuts), or the Markov blanket (their paper).
    max_cycles : int
        Largest number of passes over the columns.
    order : sequence of str, optional
        Names of all continuous columns in the order of a pass; by default children come before their parents. The cuts
        may depend on the order, since the columns have no common objective.
    start : {"equal-width", "equal-frequency", "network"}
        Bins before the first pass; "network" takes the cuts of the network given to `fit`.
    max_candidates : int or None
        Largest number of distinct values of a column that is cut exactly. For more values, cuts are chosen among this
        number of candidates and then moved to the best position between their neighbours. None is always exact, in
        time quadratic in the number of rows.
    kinds, missing, max_levels
        See `gomea_bn.read_table`.
    max_seconds : float, optional
        Deadline in seconds; columns that are not reached keep their starting cuts.

    Attributes
    ----------
    costs_ : dict of str to float
        Objective of every column with a Markov blanket when it was last cut, in nats; lower is better.
    n_cycles_ : int
        Number of passes.

    Notes
    -----
    For a column X with distinct values u_1 < ... < u_m in range R, largest cardinality L, J_P configurations of its
    parents and J_c values of its child c, a set of cuts costs (paper, Section 3; here as negative logs of
    Dirichlet(1)-multinomials)

    - -ln(1 - exp(-L (u_{j+1} - u_j) / R)) for every cut between u_j and u_{j+1},
    - L (last - first value) / R for every interval,
    - lnG(g + J_P) - lnG(J_P) - sum_q ln n_q! for an interval of g rows, n_q of them with parent configuration q,
    - and for every child c and configuration s of its other parents lnG(n_s + J_c) - lnG(J_c) - sum_v ln n_sv!.

    Dynamic programming finds the minimum in O(m n (1 + children)) time and O(n) memory. A column without parents and
    children keeps its starting bins.
    """

    cardinality_over: str = option("table", CARDINALITY_OVER)
    max_cycles: int = option(10, Integer(1))
    order: Sequence[str] | None = None
    start: str = option("equal-width", Choice(("equal-width", "equal-frequency", "network")))
    max_candidates: int | None = option(2000, MAX_CANDIDATES)

    def compile(self) -> None:
        """Compile or load the kernels of the method."""
        compile_bayesian_kernels()

    def _find_cuts(self, task: DiscretizationTask) -> Cuts:
        result = discretize_all(
            task,
            starting_cuts(task, self.start),
            _visiting_order(self.order, task),
            cardinality_over=self.cardinality_over,
            max_cycles=self.max_cycles,
            max_candidates=self.max_candidates,
            sorted_columns=SortedColumns(lambda v: task.table.columns[v].values),
        )
        self.costs_ = {task.table.names[v]: cost for v, cost in sorted(result.costs.items())}
        self.n_cycles_ = result.n_cycles
        if not result.converged:
            self.stopped_by_ = "max_cycles"
        return result.cuts


@dataclass(frozen=True, slots=True)
class CycleResult:
    """Cuts after some passes, the objective of every column when it was last cut, and whether nothing would change."""

    cuts: Cuts
    costs: dict[int, float]
    n_cycles: int
    converged: bool


class _PublishedPasses(DueColumns):
    """Passes as the authors' code makes them.

    They differ from `DueColumns` in two points. The prior of a column depends on the largest cardinality among
    others, so that a column is also due when this has changed. And the passes end with a whole pass without a change,
    which counts.
    """

    def __init__(
        self,
        order: Sequence[int],
        graph: ParentSets,
        max_passes: int,
        largest_cardinality: Callable[[int], int],
    ) -> None:
        super().__init__(order, graph, max_passes)
        self._largest_cardinality = largest_cardinality
        self.largest: dict[int, int] = {}
        """Largest cardinality at the last visit, by column."""

    def is_due(self, v: int) -> bool:
        largest = self._largest_cardinality(v)
        is_due = super().is_due(v) or self.largest[v] != largest
        self.largest[v] = largest
        return is_due

    def needs_pass(self) -> bool:
        return self.n_passes == 0 or self.changed_in_pass


def discretize_all(
    task: DiscretizationTask,
    start: Cuts,
    order: Sequence[int],
    *,
    cardinality_over: str,
    max_cycles: int,
    max_candidates: int | None,
    sorted_columns: SortedColumns,
) -> CycleResult:
    """Return the cuts after passes over the columns until none changes, each cut given all others' bins."""
    cuts = dict(start)
    coded = task.coded(cuts)
    costs: dict[int, float] = {}

    def largest_cardinality(v: int) -> int:
        among: Iterable[CodedColumn] = coded
        if cardinality_over == "blanket":
            among = (coded[u] for u in task.graph.blanket(v))
        return max(column.cardinality for column in among)

    visited = [v for v in order if task.graph.blanket(v)]
    passes = _PublishedPasses(visited, task.graph, max_cycles, largest_cardinality)
    for v in passes:
        problem = BayesianCuts(sorted_columns[v], task.graph.neighbourhood(v, coded), passes.largest[v])
        best, cost = problem.optimal(max_candidates, incumbent=cuts[v], task=task)
        if task.expired:
            return CycleResult(cuts, costs, passes.n_passes, False)
        costs[v] = cost
        if not np.array_equal(best, cuts[v]):
            cuts[v] = best
            coded[v] = coded_bins(task.table.columns[v].values, best)
            passes.note_change(v)
    return CycleResult(cuts, costs, passes.n_passes, not passes.changed_in_pass)


def _visiting_order(order: Sequence[str] | None, task: DiscretizationTask) -> list[int]:
    """Return the movable columns in the order of a pass."""
    if order is None:
        return [v for v in task.graph.reverse_topological_order() if v in task.movable]
    names = task.table.names
    if isinstance(order, str) or not isinstance(order, Iterable):
        raise GomeaBnError(f"order must be a list of column names, got {order!r:.80}.")
    movable = [names[v] for v in task.movable]
    for name in order:
        if name not in movable:
            raise GomeaBnError(
                f"order: {name!r} is not a continuous column with free cuts.{nearest(str(name), movable)}"
            )
    check_each_once(order, movable, "continuous column")
    return [names.index(name) for name in order]
