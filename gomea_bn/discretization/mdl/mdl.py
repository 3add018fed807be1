"""Bins that shorten the description of a network and its data (Friedman & Goldszmidt 1996)."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.sources import source_frame
from gomea_bn.data.table import Table
from gomea_bn.discretization.base import (
    Cuts,
    DiscretizationTask,
    Discretizer,
    NoNeighbourWarning,
    starting_cuts,
)
from gomea_bn.discretization.levels import LevelGroups, grouped_columns, level_groups
from gomea_bn.discretization.mdl.cycle import MDLColumns, MDLCycle
from gomea_bn.discretization.mdl.description_length import CRITERIA, Criterion, DescriptionLength
from gomea_bn.discretization.mdl.search import SEARCHES, SearchOptions, ThresholdProblem
from gomea_bn.discretization.neighbourhood import Graph, Network
from gomea_bn.errors import GomeaBnError, check_choice, check_integer, nearest
from gomea_bn.problems.blanket import CodedColumn, CodedFamily, Neighbourhood
from gomea_bn.problems.interval_counts import SortedColumn
from gomea_bn.problems.policies import MAX_CARDINALITY, equal_frequency_cuts
from gomea_bn.runtime.limits import HistoryEntry

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MDLDiscretizer"]

VARIANTS = ("corrected", "published")
STARTS = ("equal-width", "equal-frequency", "network")


class MDLDiscretizer(Discretizer):
    """Cuts the columns of a network so that the network, its bins and the data take least to describe.

    One column after the other gets its best thresholds, given the bins of all others, and is visited again once
    something around it has changed. All steps share one description length, and no step is taken that lengthens it.
    A column without neighbours gets one bin: without a graph or `y` there is nothing to preserve.

    Parameters
    ----------
    search : {"exact", "merge", "split", "single-threshold"}
        How the thresholds of one column are found. "exact": dynamic programming, one layer per number of bins.
        "merge": from all thresholds, the two neighbours that lose least merge until one bin is left, and the best
        partition on the whole path counts. "split": thresholds are added, the best first, until none helps (the
        original paper's way). "single-threshold": every threshold goes whose lone removal from among all of them does
        not lengthen the description (Corcoran, Tran & Levine 2014); meant for discrete columns and many rows, and
        degenerate on others: a warning says so.
    criterion : {"mdl", "bic", "aic"}
        The description length, or only its data part with (ln n)/2 or 1 nat per parameter.
    variant : {"corrected", "published"}
        "published" counts the distinct values of *raw* children and spouses in the price of a bin, as the code behind
        the MDL results of Chen, Wheeler & Kochenderfer (2017) does; it leaves almost every column in one bin. Steps
        then have no common length: all are taken, for at most `max_cycles`, 10 by default.
    aggregate_levels : "ordered" or sequence of str, optional
        Discrete columns whose adjacent levels may be grouped: all those with at least three levels that are numbers
        or come from an ordered pandas categorical, or the named ones, which must have an order. All other discrete
        columns keep their levels.
    start : {"equal-width", "equal-frequency", "network"}
        First bins of every column.
    start_bins : int, optional
        Their number, and that of first groups of levels (of equal frequency). By default as many bins as the largest
        discrete column has levels (see `base.starting_cuts`), and every level apart.
    order : sequence of str, optional
        The order of a cycle, all columns that are cut or grouped; by default children before their parents.
    max_bins : int
        Most bins or groups of a column.
    n_cells : int, optional
        Candidates are the borders of so many cells of equal frequency, instead of all mid-points between
        neighbouring values. The exact search is exact up to so many distinct values, 1,000 by default; above, it solves
        a grid of so many cells, 400 by default, and refines it around the chosen thresholds until they lie between
        neighbouring values.
    max_cycles : int, optional
    kinds, missing, max_levels
        See `gomea_bn.read_table`.
    max_seconds : float, optional
        Deadline; the best so far is kept.

    Attributes
    ----------
    level_groups_ : dict of str to tuple of tuples
        Groups of every column that `aggregate_levels` names, in code order; `transform` gives their positions.
    description_length_ : DescriptionLength
        Parts and total, in nats (corrected, for either variant), of the last `fit`.
    history_ : list of HistoryEntry
        The length after every step that was taken.
    n_cycles_ : int

    Notes
    -----
    The local description length is given at `ThresholdProblem`. The search by dynamic programming takes O(C m)
    count updates plus O(max_bins C^2) steps for C candidate cells and m their distinct values; "merge" takes
    O(n log n) merges.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> x = np.arange(200.0)
    >>> frame = pd.DataFrame({"x": x, "y": np.where(x < 80, "low", "high")})
    >>> MDLDiscretizer().fit(frame, network=[("x", "y")]).cut_points_
    {'x': array([79.5])}
    """

    level_groups_: dict[str, LevelGroups]
    description_length_: DescriptionLength
    history_: list[HistoryEntry]
    n_cycles_: int

    def __init__(
        self,
        search: str = "exact",
        *,
        criterion: str = "mdl",
        variant: str = "corrected",
        aggregate_levels: str | Sequence[str] | None = None,
        start: str = "equal-width",
        start_bins: int | None = None,
        order: Sequence[str] | None = None,
        max_bins: int = 30,
        n_cells: int | None = None,
        max_cycles: int | None = None,
        kinds: Mapping[str, str] | None = None,
        missing: str = "error",
        max_levels: int = 50,
        max_seconds: float | None = None,
    ) -> None:
        self.search = search
        self.criterion = criterion
        self.variant = variant
        self.aggregate_levels = aggregate_levels
        self.start = start
        self.start_bins = start_bins
        self.order = order
        self.max_bins = max_bins
        self.n_cells = n_cells
        self.max_cycles = max_cycles
        self.kinds = kinds
        self.missing = missing
        self.max_levels = max_levels
        self.max_seconds = max_seconds

    def transform(self, X: Any) -> pd.DataFrame:
        """Return the codes of the fitted columns, int32 (n_rows, n_features_in_), with the frame's index.

        As for every discretizer, but columns in `level_groups_` get the positions of their groups.
        """
        codes = super().transform(X)
        for name, groups in self.level_groups_.items():
            group_of = np.repeat(np.arange(len(groups), dtype=np.int32), [len(group) for group in groups])
            codes[name] = group_of[codes[name].to_numpy()]
        return codes

    def check_options(self) -> None:
        """Raise `GomeaBnError` for parameters out of range."""
        check_search(self.search, self.max_bins, self.n_cells)
        check_choice("criterion", self.criterion, CRITERIA)
        check_choice("variant", self.variant, VARIANTS)
        check_choice("start", self.start, STARTS)
        check_integer("start_bins", self.start_bins, 1, MAX_CARDINALITY, optional=True)
        check_integer("max_cycles", self.max_cycles, 1, optional=True)
        if self.variant == "published" and self.criterion != "mdl":
            raise GomeaBnError(f"variant='published' needs criterion='mdl', got {self.criterion!r}.")

    def compile(self) -> None:
        """Compile or load the kernels of the method."""
        compile_mdl_kernels()

    def read(self, source: Any, network: Network | None = None) -> Table:
        """Return the source as a table; see `Discretizer.read`."""
        frame = None if isinstance(source, Table) else source_frame(source)
        table = super().read(source if frame is None else frame, network)
        self._grouped = grouped_columns(self.aggregate_levels, table, frame)
        return table

    def _find_cuts(self, task: DiscretizationTask) -> Cuts:
        columns = MDLColumns(task, self._grouped)
        graph = with_target(task, columns)
        if not any(graph.parents) and columns.movable:
            warnings.warn(
                "No column has a neighbour, so every column gets one bin: pass network=, or classes as y=, or learn "
                "the graph too with MDLNetwork.",
                NoNeighbourWarning,
                stacklevel=3,
            )
        criterion = Criterion(self.criterion, task.table.n_rows)
        published = self.variant == "published"
        options = SearchOptions(self.search, self.max_bins, self.n_cells)
        cycle = MDLCycle(columns, criterion, options, published=published)
        cuts = {
            **starting_cuts(task, self.start, self.start_bins),
            **starting_groups(columns, self.start_bins),
        }
        cycle.note(cycle.length(cuts, graph).total)
        max_cycles = 10 if published and self.max_cycles is None else self.max_cycles
        found = cycle.run(cuts, graph, self._order_of(columns, graph), max_cycles)
        if max_cycles is not None and cycle.n_cycles >= max_cycles:
            self.stopped_by_ = "max_cycles"
        self._warn_of_degenerate(cycle)
        return self._keep(cycle, found, graph)

    def _warn_of_degenerate(self, cycle: MDLCycle) -> None:
        """Warn, once, of the columns for which the single-threshold rule decided without looking at the data."""
        reasons = cycle.degenerate
        if not reasons:
            return
        names = cycle.columns.task.table.names
        listed = "; ".join(f"{names[v]!r}: {reasons[v]}" for v in sorted(reasons)[:3])
        more = f"; and {len(reasons) - 3} columns more" if len(reasons) > 3 else ""
        warnings.warn(
            f"search='single-threshold' is degenerate, whatever the data say, for {listed}{more}. Such steps are kept "
            "only if they shorten the description. Set n_cells to fewer cells, say 20 to 100, or use "
            "search='exact' or 'merge'.",
            UserWarning,
            stacklevel=4,
        )

    def _keep(self, cycle: MDLCycle, cuts: Cuts, graph: Graph) -> Cuts:
        """Set the attributes of a result and return the cuts of the continuous columns."""
        columns = cycle.columns
        table = columns.task.table
        self.description_length_ = cycle.length(cuts, graph)
        self.history_ = cycle.history
        self.n_cycles_ = cycle.n_cycles
        self.level_groups_ = {
            table.names[v]: level_groups(table.columns[v].levels or (), cuts[v])
            for v in sorted(columns.grouped)
        }
        return {v: cuts[v] for v in columns.task.movable}

    def _order_of(self, columns: MDLColumns, graph: Graph) -> list[int]:
        """Return the columns that move in the order of a cycle."""
        if self.order is None:
            return [v for v in graph.reverse_topological_order() if v in columns.movable]
        names = columns.task.table.names
        listed = list(self.order) if isinstance(self.order, Iterable) else [self.order]
        wanted = {names[v] for v in columns.movable}
        for name in listed:
            if name not in wanted:
                raise GomeaBnError(
                    f"order: {name!r} is no column that is cut or grouped.{nearest(str(name), wanted)}"
                )
        if isinstance(self.order, str) or len(listed) != len(wanted) or set(listed) != wanted:
            raise GomeaBnError(f"order must hold each of {sorted(wanted)} once, got {listed!r}.")
        return [names.index(name) for name in listed]


def with_target(task: DiscretizationTask, columns: MDLColumns) -> Graph:
    """Return the task's graph, with the classes as one more variable, a parent of every column that moves."""
    graph = task.graph
    if task.target is None:
        return graph
    target = len(graph.names)
    parents = tuple(
        (*found, target) if v in columns.movable else found for v, found in enumerate(graph.parents)
    )
    return Graph((*graph.names, "classes given as y"), (*parents, ()))


def starting_groups(columns: MDLColumns, n_groups: int | None) -> Cuts:
    """Return first cuts of the grouped columns: so many groups of equal frequency, or all levels apart."""
    return {
        v: columns.sorted[v].cuts if n_groups is None else equal_frequency_cuts(columns.values(v), n_groups)
        for v in columns.grouped
    }


def check_search(search: str, max_bins: int, n_cells: int | None) -> None:
    """Raise `GomeaBnError` for options of the search that are out of range."""
    check_choice("search", search, SEARCHES)
    check_integer("max_bins", max_bins, 1, MAX_CARDINALITY)
    check_integer("n_cells", n_cells, 2, optional=True)


@cache
def compile_mdl_kernels() -> None:
    """Compile or load the kernels on a tiny problem, so that no deadline pays for it."""
    codes: NDArray[np.int32] = (np.arange(12, dtype=np.int32) // 4) % 2
    other = CodedColumn(codes, 2)
    around = Neighbourhood((other,), (CodedFamily(other, (other,)),))
    problem = ThresholdProblem(SortedColumn(np.arange(12.0)), around, Criterion("mdl", 12))
    for search in SEARCHES:
        problem.find(SearchOptions(search))
