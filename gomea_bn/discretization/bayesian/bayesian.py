"""Bayesian discretization: the most probable cuts given a graph (Chen, Wheeler & Kochenderfer 2017)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gomea_bn.discretization.base import (
    CodedColumn,
    Cuts,
    DiscretizationTask,
    Discretizer,
    coded_bins,
    starting_cuts,
)
from gomea_bn.discretization.bayesian.cuts import BayesianCuts, compile_bayesian_kernels
from gomea_bn.errors import GomeaBnError, is_integer, nearest
from gomea_bn.problems.interval_dp import SortedColumn

__all__ = ["BayesianDiscretizer", "CycleResult", "check_bayesian_options", "discretize_all"]


class BayesianDiscretizer(Discretizer):
    """The most probable bins of every column given its Markov blanket.

    Parameters
    ----------
    cardinality_over : {"table", "blanket"}
        Whose largest number of bins or levels sets the prior's expected number of cuts: all columns' (the authors'
        code, which gives their published cuts), or the Markov blanket's (their paper).
    max_cycles : int
        Most passes over the columns.
    order : sequence of str, optional
        The columns in the order of a pass; by default children before their parents. Other orders may end in other
        cuts, since the method has no objective that is common to all columns.
    start : {"equal-width", "equal-frequency", "network"}
        The bins before the first pass; "network" takes those of the given network.
    max_candidates : int or None
        Up to so many distinct values a column is cut exactly; above, the cuts are chosen among so many candidates and
        then moved to the best place between their neighbours. None is always exact, in time quadratic in the rows.
    kinds, missing, max_levels
        See `gomea_bn.data.table.read_table`.
    max_seconds : float, optional
        Deadline; columns not reached by then keep the cuts they had.

    Attributes
    ----------
    costs_ : dict of str to float
        The objective of every column with a Markov blanket when it was last cut, in nats, lower is better.
    n_cycles_ : int

    Notes
    -----
    For a column X with distinct values u_1 < ... < u_m in range R, largest cardinality L, J_P configurations of its
    parents and J_c values of its child c, a set of cuts costs (paper, Section 3; here as negative logs of
    Dirichlet(1)-multinomials)

    - -ln(1 - exp(-L (u_{j+1} - u_j) / R)) for every cut between u_j and u_{j+1},
    - L (last - first value) / R for every interval,
    - lnG(g + J_P) - lnG(J_P) - sum_q ln n_q! for an interval of g rows, n_q of them with parent configuration q,
    - and for every child c and configuration s of its other parents lnG(n_s + J_c) - lnG(J_c) - sum_v ln n_sv!.

    The minimum is found by dynamic programming in O(m n (1 + children)) time and O(n) memory. A column without parents
    and children keeps its starting bins.
    """

    def __init__(
        self,
        *,
        cardinality_over: str = "table",
        max_cycles: int = 10,
        order: Sequence[str] | None = None,
        start: str = "equal-width",
        max_candidates: int | None = 2000,
        kinds: Mapping[str, str] | None = None,
        missing: str = "error",
        max_levels: int = 50,
        max_seconds: float | None = None,
    ) -> None:
        self.cardinality_over = cardinality_over
        self.max_cycles = max_cycles
        self.order = order
        self.start = start
        self.max_candidates = max_candidates
        self.kinds = kinds
        self.missing = missing
        self.max_levels = max_levels
        self.max_seconds = max_seconds

    def _check_options(self) -> None:
        check_bayesian_options(self.cardinality_over, self.max_cycles, self.max_candidates)
        if self.start not in ("equal-width", "equal-frequency", "network"):
            raise GomeaBnError(
                f"start must be 'equal-width', 'equal-frequency' or 'network', got {self.start!r}."
            )

    def _compile(self) -> None:
        compile_bayesian_kernels()

    def _find_cuts(self, task: DiscretizationTask) -> Cuts:
        found = discretize_all(
            task,
            starting_cuts(task, self.start),
            _visiting_order(self.order, task),
            cardinality_over=self.cardinality_over,
            max_cycles=self.max_cycles,
            max_candidates=self.max_candidates,
        )
        self.costs_ = {task.table.names[v]: cost for v, cost in sorted(found.costs.items())}
        self.n_cycles_ = found.n_cycles
        if not found.converged:
            self.stopped_by_ = "max_cycles"
        return found.cuts


@dataclass(frozen=True, slots=True)
class CycleResult:
    """The cuts after some passes, the objective of every column when it was last cut, and how it ended."""

    cuts: Cuts
    costs: dict[int, float]
    n_cycles: int
    converged: bool


def discretize_all(
    task: DiscretizationTask,
    start: Cuts,
    order: Sequence[int],
    *,
    cardinality_over: str,
    max_cycles: int,
    max_candidates: int | None,
    sorted_columns: dict[int, SortedColumn] | None = None,
) -> CycleResult:
    """Return the cuts after passes over the columns until none changes, each cut given all others' bins.

    A column whose blanket and largest cardinality are as at its last visit is left, for its optimum is the same.
    """
    columns = {} if sorted_columns is None else sorted_columns
    cuts = dict(start)
    coded = task.coded(cuts)
    costs: dict[int, float] = {}
    seen: dict[int, tuple[int, dict[int, CodedColumn]]] = {}
    visited = [v for v in order if task.graph.blanket(v)]
    for n_cycles in range(1, max_cycles + 1):
        changed = False
        for v in visited:
            blanket = {u: coded[u] for u in task.graph.blanket(v)}
            among = blanket.values() if cardinality_over == "blanket" else coded
            largest = max(one.cardinality for one in among)
            if v in seen and seen[v][0] == largest and all(seen[v][1][u] is blanket[u] for u in blanket):
                continue
            seen[v] = largest, blanket
            if v not in columns:
                columns[v] = SortedColumn(task.table.columns[v].values)
            problem = BayesianCuts(columns[v], task.graph.neighbourhood(v, coded), largest)
            found, cost = problem.optimal(max_candidates, incumbent=cuts[v], task=task)
            if task.expired:
                return CycleResult(cuts, costs, n_cycles, False)
            costs[v] = cost
            if not np.array_equal(found, cuts[v]):
                changed = True
                cuts[v] = found
                coded[v] = coded_bins(task.table.columns[v].values, found)
        if not changed:
            return CycleResult(cuts, costs, n_cycles, True)
    return CycleResult(cuts, costs, max_cycles, False)


def _visiting_order(order: Sequence[str] | None, task: DiscretizationTask) -> list[int]:
    """Return the movable columns in the order of a pass."""
    if order is None:
        return [v for v in task.graph.reverse_topological_order() if v in task.movable]
    names = task.table.names
    if isinstance(order, str) or not isinstance(order, Iterable):
        raise GomeaBnError(f"order must be a list of column names, got {order!r}.")
    for name in order:
        if name not in names or names.index(name) not in task.movable:
            raise GomeaBnError(
                f"order: no continuous column {name!r} whose cuts are wanted.{nearest(str(name), names)}"
            )
    found = [names.index(name) for name in order]
    left = [names[v] for v in task.movable if v not in found]
    if left or len(set(found)) < len(found):
        raise GomeaBnError(
            "order must name every continuous column once; it "
            + (f"lacks {left}." if left else f"repeats a name: {list(order)}.")
        )
    return found


def check_bayesian_options(cardinality_over: Any, max_cycles: Any, max_candidates: Any) -> None:
    """Refuse options of the method that are out of range."""
    if cardinality_over not in ("table", "blanket"):
        raise GomeaBnError(f"cardinality_over must be 'table' or 'blanket', got {cardinality_over!r}.")
    if not is_integer(max_cycles) or max_cycles < 1:
        raise GomeaBnError(f"max_cycles must be an integer of at least 1, got {max_cycles!r}.")
    if max_candidates is not None and (not is_integer(max_candidates) or max_candidates < 10):
        raise GomeaBnError(
            f"max_candidates must be an integer of at least 10 or None, got {max_candidates!r}."
        )
