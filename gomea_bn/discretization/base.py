"""Base class of all discretizers, the task that a method works on, and starting bins."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import Level, column_positions, encode_levels, numeric_values
from gomea_bn.data.dates import source_name
from gomea_bn.data.files.reading import Loaded, ReadingOptions
from gomea_bn.data.sources import check_kinds, complete_table, source_frame
from gomea_bn.data.table import MAX_LEVELS, Table, load, table_of
from gomea_bn.errors import GomeaBnError, GomeaBnWarning, check_choice, nearest
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.column_graph import ColumnGraph, Network
from gomea_bn.network.recorded import fixed_columns
from gomea_bn.parameters import Number, Parameters, check_declared, declarations, option
from gomea_bn.problems.cuts.blanket import (
    CodedColumn,
    Cuts,
    DueColumns,
    ParentSets,
    coded_bins,
    coded_columns,
)
from gomea_bn.problems.cuts.cut_column import CutColumn
from gomea_bn.problems.cuts.policies import equal_frequency_cuts, fixed_policy, midpoint
from gomea_bn.runtime.threads import StopFlag, Workers
from gomea_bn.texts import listed

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")

EM_TOLERANCE = 1e-5
"""Nats per row that a step of EM gains at least, or else it is the last one."""


class NoNeighbourWarning(GomeaBnWarning):
    """Issued when a discretizer that follows a graph gets one without edges, so that every column gets one bin."""


@dataclass(frozen=True)
class DiscretizationTask:
    """The input of a method.

    `graph` is over the table's columns, and `has_graph` says whether the caller gave it. `movable` has the positions of
    the continuous columns to cut, in column order. `known_cuts` are those of the network given to `fit`, fixed ones
    included; a method may start from them. `target` is `y` as codes of its distinct values, aligned with the table's
    rows. The deadline and Ctrl-C raise `stop`; use `expired`, or ``stop.flag`` in kernels. Compiled calls run in the
    thread of `workers`; see `interruptible`.
    """

    table: Table
    graph: ColumnGraph
    has_graph: bool
    movable: tuple[int, ...]
    known_cuts: Cuts
    target: NDArray[np.int32] | None
    stop: StopFlag
    workers: Workers
    _sorted: dict[int, CutColumn] = field(default_factory=dict, repr=False)

    @property
    def expired(self) -> bool:
        """Return whether the deadline has passed or Ctrl-C was pressed."""
        self.stop.check_deadline()
        return bool(self.stop.reason)

    def interruptible(self, call: Callable[[], T]) -> T:
        """Return the result of a compiled call, during which the deadline and Ctrl-C raise ``stop.flag``."""
        results: list[T] = []
        self.workers.run(
            lambda _thread, _block: results.append(call()), 1, n_threads=1, inline=False, n_certain=1
        )
        return results[0]

    def passes(
        self,
        order: Sequence[int],
        max_passes: int | None = None,
        *,
        graph: ParentSets | None = None,
        **how: Any,
    ) -> DueColumns:
        """Return passes over columns that are cut one at a time until the deadline; see `DueColumns`.

        The graph is that of the task unless another one is given.
        """
        relatives = (self.graph if graph is None else graph).blanket
        return DueColumns(order, relatives, max_passes, is_over=lambda: self.expired, **how)

    def sorted_column(self, v: int) -> CutColumn:
        """Return a column sorted once, for all graphs: its values, or the codes of its levels."""
        if v not in self._sorted:
            self._sorted[v] = CutColumn.of_values(np.asarray(self.table.columns[v].values, np.float64))
        return self._sorted[v]

    def coded(self, cuts: Cuts) -> list[CodedColumn]:
        """Return all columns as codes under the cuts of the continuous ones."""
        return coded_columns(self.table.columns, cuts)


@dataclass(eq=False, repr=False, kw_only=True)
class Discretizer(Parameters):
    """Cuts the continuous columns of a table into bins ``(a, b]``.

    A subclass is a dataclass that declares further parameters as `gomea_bn.parameters.option`, and implements
    `_cut`, or `_find_cuts` if columns matter to each other. It may extend `check_options`, and override `compile` and
    `read`.

    Attributes
    ----------
    cut_points_ : dict of str to ndarray of shape (n_bins - 1,), float64
        Inner cuts of every continuous column, in the data's units; an empty array means one bin.
    levels_ : dict of str to tuple
        Levels of every discrete column, in code order.
    table_ : Table
        Rows of the last `fit`.
    stopped_by_ : str
        "fixpoint" if the method came to its end, else the limit that ended it ("max_seconds", "max_cycles", ...) or
        "interrupt".
    fit_seconds_ : float
        Duration of reading and searching in seconds; compiling is not counted.
    feature_names_in_ : ndarray of str
        Names of the columns.
    n_features_in_ : int
        Number of columns.
    """

    _warm_ups: ClassVar[tuple[Callable[[], None], ...]] = ()
    """Functions that call the kernels of the method on tiny problems, once in a process."""
    _uses_classes: ClassVar[bool] = True
    """Whether `y` of `fit` is read; methods whose classes belong into the table ignore it."""
    follows_graph: ClassVar[bool] = True
    """Whether another graph may give other cuts."""

    kinds: Mapping[str, str] | None = None
    missing: str = "error"
    max_levels: int = MAX_LEVELS
    max_seconds: float | None = option(None, Number(0, above=True, none=""))

    def _find_cuts(self, task: DiscretizationTask) -> Cuts:
        """Return the inner cuts of every movable column; set ``self.stopped_by_`` unless it is "fixpoint"."""
        cuts: Cuts = {v: np.empty(0) for v in task.movable}
        for v in task.passes(task.movable):
            cuts[v] = self._cut(task.table.columns[v].values, task)
        return cuts

    def _cut(self, values: NDArray[np.float64], task: DiscretizationTask) -> NDArray[np.float64]:
        """Return the inner cuts of a column, of a method that cuts every column by itself."""
        raise NotImplementedError(f"{type(self).__name__} must implement _cut or _find_cuts.")

    def check_options(self) -> None:
        """Raise `GomeaBnError` for parameters out of range.

        `fit` calls it first. A program that reads large tables may call it before.
        """
        check_declared(declarations(type(self)).values(), vars(self))

    def compile(self) -> None:
        """Compile or load the kernels of the method; `fit` calls it before the clock of `max_seconds` starts."""
        for warm_up in self._warm_ups:
            warm_up()

    def fit(
        self,
        X: pd.DataFrame | Table | NDArray[Any] | str | os.PathLike[str],
        y: Any = None,
        *,
        network: Network | None = None,
    ) -> Self:
        """Find the cuts of every continuous column and return self.

        Parameters
        ----------
        X : DataFrame, Table, path of a CSV, TSV or Parquet file, or ndarray of shape (n_rows, n_columns)
            Never changed. An array's columns are named x0, x1, ...
        y : array-like of shape (n_rows,), or str, optional
            Classes, or the name of the column of X that holds them; only some methods use it.
        network : DiscretizedBayesNet or list of (parent, child), optional
            Graph over columns of X; by default no edges. `MGCDiscretizer` learns it by default, and `LDBN` always does.
            A network also decides the kinds of its columns, and cuts that its metadata name as fixed by the user stay.

        Raises
        ------
        GomeaBnError
            For a table, an option or a graph that cannot be used; the message says what to do.
        """
        self.check_options()
        began = perf_counter()
        table = self.read(X, network)
        graph = ColumnGraph.of(network, table.names)
        known_cuts, fixed = _cuts_of(network, table)
        target = _target(y, table) if y is not None and self._uses_classes else None
        movable = tuple(
            v for v, column in enumerate(table.columns) if column.is_continuous and v not in fixed
        )
        for column in (table.columns[v] for v in movable):
            if column.values.min() == column.values.max():
                raise GomeaBnError(
                    f"Column '{column.name}' has one value, {column.values[0]:g}, in all {table.n_rows} rows; drop it."
                )
        self.stopped_by_ = "fixpoint"
        seconds_of_reading = perf_counter() - began
        self.compile()
        stop = StopFlag(self.max_seconds)
        stop.start_clock(seconds_of_reading, self.max_seconds)
        with stop.catching_interrupts(), Workers(1, stop) as workers:
            task = DiscretizationTask(
                table, graph, network is not None, movable, known_cuts, target, stop, workers
            )
            movable_cuts = self._find_cuts(task)
        cuts = {**{v: known_cuts[v] for v in fixed}, **movable_cuts}
        self.stopped_by_ = stop.reason or self.stopped_by_
        self.fit_seconds_ = stop.seconds
        self.cut_points_ = {c.name: cuts[v] for v, c in enumerate(table.columns) if c.levels is None}
        self.levels_: dict[str, tuple[Level, ...]] = {
            column.name: column.levels for column in table.columns if column.levels is not None
        }
        self.table_ = table
        self.feature_names_in_ = np.array(table.names, dtype=object)
        self.n_features_in_ = len(table.names)
        return self

    def transform(self, X: pd.DataFrame | NDArray[Any] | str | os.PathLike[str]) -> pd.DataFrame:
        """Return the codes of the fitted columns, int32 (n_rows, n_features_in_), with the frame's index.

        A value equal to a cut goes to the lower bin, a value outside the fitted range to an end bin; discrete columns
        get the codes of `levels_`. Columns are matched by name; others are ignored.

        Raises
        ------
        GomeaBnError
            Naming column and rows: missing columns, missing or infinite values, levels never seen.
        """
        import pandas as pd

        if not hasattr(self, "cut_points_"):
            raise GomeaBnError(f"This {type(self).__name__} has no cuts yet; call fit(frame) first.")
        index, values = self._values(X)
        codes = {
            name: of_column if name in self.levels_ else coded_bins(of_column, self.cut_points_[name]).codes
            for name, of_column in values.items()
        }
        return pd.DataFrame(codes, index=index)

    def _values(self, X: Any) -> tuple[pd.Index[Any], dict[str, NDArray[Any]]]:
        """Return the index of a frame, and its fitted columns by name: numbers, or codes of levels."""
        frame = source_frame(X)
        names = self.feature_names_in_.tolist()
        positions = column_positions(frame, names)
        values: dict[str, NDArray[Any]] = {}
        for name in names:
            series = frame.iloc[:, positions[name]]
            if name in self.levels_:
                values[name] = encode_levels(series, name, self.levels_[name])
            else:
                values[name] = numeric_values(series, name)
        return frame.index, values

    def fit_transform(self, X: Any, y: Any = None, *, network: Network | None = None) -> pd.DataFrame:
        """Return the codes of the table that was fitted; see `fit` and `transform`."""
        return self.fit(X, y, network=network).transform(X)

    def read(self, source: Any, network: Network | None = None) -> Table:
        """Return the source, as of `fit` or `Loaded`, as a table; columns of a network have their kinds there."""
        if self.kinds is not None and not isinstance(self.kinds, Mapping):
            raise GomeaBnError(f"kinds must map column names to kinds, got {type(self.kinds).__name__}.")
        kinds = {str(name): kind for name, kind in (self.kinds or {}).items()}
        if isinstance(network, DiscretizedBayesNet):
            for name in network.names:
                kind = "continuous" if name in network.cut_points else "discrete"
                if kinds.setdefault(name, kind) != kind:
                    raise GomeaBnError(
                        f"kinds[{name!r}] is {kinds[name]!r}, but {name!r} is {kind} in the network."
                    )
        if isinstance(source, Table):
            check_kinds(source, kinds)
            return complete_table(source, self.missing, type(self).__name__)
        check_choice("missing", self.missing, ("error", "drop"))
        loaded = source if isinstance(source, Loaded) else load(source, ReadingOptions())
        if isinstance(network, DiscretizedBayesNet):
            # its message for a missing column is clearer
            column_positions(loaded.frame, network.names)
            kinds = {source_name(name): kind for name, kind in kinds.items()}
        return table_of(loaded, kinds=kinds, missing=self.missing, max_levels=self.max_levels, min_rows=2)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(string=True, categorical=True),
        )


def check_each_once(order: Iterable[str], names: Sequence[str], noun: str) -> None:
    """Raise `GomeaBnError` unless the option `order` contains each of the names, which are those of a `noun`, once."""
    # a mapping would count as its values
    counts = Counter(list(order))
    lacking = [name for name in names if not counts[name]]
    duplicates = [name for name, count in counts.items() if count > 1]
    if lacking or duplicates:
        reason = f"it lacks {listed(map(repr, lacking), most=5)}"
        if not lacking:
            reason = f"duplicate {listed(map(repr, duplicates), most=5)}"
        raise GomeaBnError(f"order must name every {noun} once; {reason}.")


def order_of_columns(
    order: Sequence[str] | None, movable: Iterable[int], graph: ColumnGraph, noun: str, full_noun: str
) -> list[int]:
    """Return the movable columns in the order of a pass: the option `order`, by default children before parents."""
    positions = sorted(movable)
    if order is None:
        return [v for v in graph.reverse_topological_order() if v in positions]
    if isinstance(order, str) or not isinstance(order, Iterable):
        raise GomeaBnError(f"order must be a list of column names, got {order!r:.80}.")
    names = [graph.names[v] for v in positions]
    for name in order:
        if name not in names:
            raise GomeaBnError(f"order: {name!r} is not a {full_noun}.{nearest(str(name), names)}")
    check_each_once(order, names, noun)
    return [graph.names.index(name) for name in order]


def starting_bin_count(table: Table) -> int:
    """Return the starting number of bins: the number of levels of the largest discrete column.

    Without a discrete column it is round(ln(columns) + 1), at least 2 (code of Chen, Wheeler & Kochenderfer 2017).
    Constant columns do not count.
    """
    sizes = [
        len(column.levels) for column in table.columns if column.levels is not None and not column.is_constant
    ]
    return max(sizes) if sizes else max(round(np.log(len(table.columns)) + 1), 2)


def starting_cuts(task: DiscretizationTask, how: str = "equal-width", n_bins: int | None = None) -> Cuts:
    """Return first cuts of every continuous column, for methods that need the bins of all other columns.

    Fixed columns keep their cuts. "equal-width": bins [a, b) as in the code of Chen et al., with every cut moved to the
    mid-point of the values around it, so that no bin is empty. "network": the cuts of the network given to `fit`, and
    equal frequency for other columns. The default number of bins is that of `starting_bin_count`.
    """
    n_starting = starting_bin_count(task.table) if n_bins is None else n_bins
    cut = _equal_width_start if how == "equal-width" else equal_frequency_cuts
    cuts = {}
    for v, column in enumerate(task.table.columns):
        if not column.is_continuous:
            continue
        if v in task.known_cuts and (how == "network" or v not in task.movable):
            cuts[v] = task.known_cuts[v]
        else:
            cuts[v] = cut(column.values, n_starting)
    return cuts


def _equal_width_start(values: NDArray[np.float64], n_bins: int) -> NDArray[np.float64]:
    """Return mid-points that separate the values as bins [a, b) of equal width would; empty bins merge."""
    distinct = np.unique(values)
    width = (distinct[-1] - distinct[0]) / n_bins
    # neighbouring floats of the smallest size
    if width == 0.0:
        return np.empty(0)
    bins = np.minimum(np.floor((distinct - distinct[0]) / width), n_bins - 1)
    last = np.flatnonzero(bins[1:] > bins[:-1])
    cuts = midpoint(distinct[last], distinct[last + 1])
    return np.asarray(cuts[cuts > distinct[0]], np.float64)


def _cuts_of(network: Network | None, table: Table) -> tuple[Cuts, set[int]]:
    """Return the cuts of a network by position in the table, and the positions of those that a user has fixed."""
    if not isinstance(network, DiscretizedBayesNet):
        return {}, set()
    fixed_names = fixed_columns(network)
    known_cuts, fixed = {}, set()
    for name, cuts in network.cut_points.items():
        v = table.names.index(name)
        if not table.columns[v].is_continuous:
            raise GomeaBnError(
                f"Column {name!r} is continuous in the network, but discrete here ({table.columns[v].reason}).",
                ["fit to the rows that the network was learned from", "leave the column out of both"],
            )
        values = table.columns[v].values
        if name in fixed_names:
            known_cuts[v] = fixed_policy(name, values, cuts.tolist()).cut_points
            fixed.add(v)
        else:
            known_cuts[v] = cuts[(cuts > values.min()) & (cuts < values.max())]
    return known_cuts, fixed


def _target(y: Any, table: Table) -> NDArray[np.int32]:
    """Return the classes as codes of their distinct values, for the rows that the table kept."""
    import pandas as pd

    if isinstance(y, str):
        if y not in table.names:
            raise GomeaBnError(f"y: unknown column '{y}'.{nearest(y, table.names)}")
        values: Any = table.columns[table.names.index(y)].values
    else:
        values = np.asarray(y)
        n_source = table.n_rows + len(table.dropped_rows)
        if values.shape != (n_source,):
            raise GomeaBnError(f"y must have one class per row, shape ({n_source},), got {values.shape}.")
        values = np.delete(values, list(table.dropped_rows))
    codes, _ = pd.factorize(values, use_na_sentinel=True)
    if (codes < 0).any():
        raise GomeaBnError("y has missing values; drop these rows of X and y.")
    return np.asarray(codes, np.int32)
