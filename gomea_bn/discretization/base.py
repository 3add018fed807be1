"""What all discretizers share: the input, the graph around a column, coded columns, the deadline, the result."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import Level, column_positions, encode_levels, numeric_values
from gomea_bn.data.sources import source_frame
from gomea_bn.data.table import Table, read_table
from gomea_bn.discretization.neighbourhood import (
    CodedColumn,
    CodedFamily,
    Graph,
    Neighbourhood,
    Network,
    candidate_cuts,
    coded_bins,
    joint_codes,
)
from gomea_bn.errors import GomeaBnError, is_real, nearest
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.parameters import Parameters
from gomea_bn.problems.policies import equal_frequency_cuts, fixed_policy, midpoint
from gomea_bn.runtime.threads import StopFlag, Workers

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "DISCRETIZERS",
    "CodedColumn",
    "CodedFamily",
    "DiscretizationTask",
    "Discretizer",
    "Graph",
    "Neighbourhood",
    "Network",
    "candidate_cuts",
    "coded_bins",
    "discretizer",
    "joint_codes",
    "starting_bin_count",
    "starting_cuts",
]

T = TypeVar("T")
Cuts = dict[int, NDArray[np.float64]]
"""Inner cuts by position of the column in the table."""

DISCRETIZERS = {
    "bayesian": ("gomea_bn.discretization.bayesian.bayesian", "BayesianDiscretizer"),
    "equal-frequency": ("gomea_bn.discretization.baselines", "EqualFrequency"),
    "equal-width": ("gomea_bn.discretization.baselines", "EqualWidth"),
    "k-means": ("gomea_bn.discretization.baselines", "KMeans"),
    "latent": ("gomea_bn.discretization.latent.latent", "LatentDiscretizer"),
    "mdl": ("gomea_bn.discretization.mdl.mdl", "MDLDiscretizer"),
    "mdlp": ("gomea_bn.discretization.baselines", "MDLP"),
    "mgcd": ("gomea_bn.discretization.mgcd.mgcd", "MGCDiscretizer"),
}
"""Module and class of every discretizer by its name."""


@dataclass(frozen=True)
class DiscretizationTask:
    """What a method gets to work on.

    Attributes
    ----------
    table : Table
    graph : Graph
        Over the table's columns.
    movable : tuple of int
        The continuous columns whose cuts are wanted, in column order.
    known_cuts : dict of int to ndarray
        The cuts that a given network has, fixed ones included; a method may start from them.
    target : ndarray of shape (n_rows,), int32, or None
        `y` as codes of its distinct values, aligned with the table's rows.
    stop : StopFlag
        Raised by the deadline and by Ctrl-C; ask `expired`, or read ``stop.flag`` in kernels.
    """

    table: Table
    graph: Graph
    movable: tuple[int, ...]
    known_cuts: Cuts
    target: NDArray[np.int32] | None
    stop: StopFlag
    workers: Workers

    @property
    def expired(self) -> bool:
        """True once the deadline has passed or Ctrl-C was pressed."""
        self.stop.check_deadline()
        return bool(self.stop.reason)

    def interruptible(self, call: Callable[[], T]) -> T:
        """Return what a compiled call returns; meanwhile the deadline and Ctrl-C raise ``stop.flag``."""
        found: list[T] = []
        self.workers.run(
            lambda _thread, _block: found.append(call()), 1, n_threads=1, inline=False, n_certain=1
        )
        return found[0]

    def coded(self, cuts: Cuts) -> list[CodedColumn]:
        """Return all columns as codes under the given cuts of the continuous ones."""
        return [
            CodedColumn(column.values, len(column.levels))
            if column.levels is not None
            else coded_bins(column.values, cuts[v])
            for v, column in enumerate(self.table.columns)
        ]


class Discretizer(Parameters, ABC):
    """Cuts the continuous columns of a table into bins ``(a, b]``.

    A subclass has the parameters `kinds`, `missing`, `max_levels` and `max_seconds` besides its own, and finds the
    cuts in `_find_cuts`.

    Attributes
    ----------
    cut_points_ : dict of str to ndarray of shape (n_bins - 1,), float64
        Inner cuts of every continuous column, in the data's units; none means one bin.
    levels_ : dict of str to tuple
        Levels of every discrete column, in code order.
    table_ : Table
        The rows it learned from.
    stopped_by_ : str
        "fixpoint" where the method came to its own end, else the limit that ended it ("max_seconds",
        "max_cycles", …) or "interrupt".
    fit_seconds_ : float
        Seconds of the search; compiling is not counted.
    feature_names_in_ : ndarray of str
    n_features_in_ : int
    """

    kinds: Mapping[str, str] | None
    missing: str
    max_levels: int
    max_seconds: float | None

    @abstractmethod
    def _find_cuts(self, task: DiscretizationTask) -> Cuts:
        """Return the inner cuts of every movable column; sets ``self.stopped_by_`` if not "fixpoint"."""

    def _check_options(self) -> None:
        """Refuse parameters out of range."""

    def _compile(self) -> None:
        """Compile or load the method's kernels; called before the clock starts."""

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
            The graph over columns of X; by default no edges. A network also decides the kinds of its columns, and
            the cuts that its metadata name as fixed by the user stay.

        Raises
        ------
        GomeaBnError
            For a table, an option or a graph that cannot be used; the message says what to do.
        """
        if self.max_seconds is not None and not (is_real(self.max_seconds) and self.max_seconds > 0):
            raise GomeaBnError(f"max_seconds must be a positive number or None, got {self.max_seconds!r}.")
        self._check_options()
        table = self._read(X, network)
        graph = Graph.of(network, table.names)
        known, fixed = _cuts_of(network, table)
        target = None if y is None else _target(y, table)
        movable = tuple(
            v for v, column in enumerate(table.columns) if column.is_continuous and v not in fixed
        )
        for column in (table.columns[v] for v in movable):
            if column.values.min() == column.values.max():
                raise GomeaBnError(
                    f"Column '{column.name}' has one value, {column.values[0]:g}, in all {table.n_rows} rows; drop it."
                )
        self.stopped_by_ = "fixpoint"
        self._compile()
        stop = StopFlag(self.max_seconds)
        with stop.catching_interrupts(), Workers(1, stop) as workers:
            task = DiscretizationTask(table, graph, movable, known, target, stop, workers)
            found = self._find_cuts(task)
        cuts = {**{v: known[v] for v in fixed}, **found}
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
        frame = source_frame(X)
        positions = column_positions(frame, self.feature_names_in_.tolist())
        codes = {}
        for name, position in ((name, positions[name]) for name in self.feature_names_in_.tolist()):
            series = frame.iloc[:, position]
            if name in self.levels_:
                codes[name] = encode_levels(series, name, self.levels_[name])
            else:
                codes[name] = coded_bins(numeric_values(series, name), self.cut_points_[name]).codes
        return pd.DataFrame(codes, index=frame.index)

    def fit_transform(self, X: Any, y: Any = None, *, network: Network | None = None) -> pd.DataFrame:
        """Return the codes of the table that was fitted; see `fit` and `transform`."""
        return self.fit(X, y, network=network).transform(X)

    def _read(self, source: Any, network: Network | None) -> Table:
        """Return the source as a table, its kinds those of the network where this decides them."""
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
            for column in source.columns:
                kind = "continuous" if column.is_continuous else "discrete"
                if kinds.get(column.name, kind) != kind and not column.is_constant:
                    raise GomeaBnError(
                        f"Column {column.name!r} of the Table is {kind}, but wanted {kinds[column.name]}; "
                        "read the table again with kinds=."
                    )
            return source
        frame = source_frame(source)
        if isinstance(network, DiscretizedBayesNet):
            column_positions(frame, network.names)  # the better message for a column that is missing
        return read_table(frame, kinds=kinds, missing=self.missing, max_levels=self.max_levels, min_rows=2)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(string=True, categorical=True),
        )


def discretizer(name: str, **options: Any) -> Discretizer:
    """Return a discretizer by its name, one of `DISCRETIZERS`, with the given parameters.

    Raises
    ------
    GomeaBnError
        For an unknown name, or a parameter that the method does not have.
    """
    if not isinstance(name, str) or name not in DISCRETIZERS:
        raise GomeaBnError(
            f"A discretizer must be one of {sorted(DISCRETIZERS)}, got {name!r}."
            f"{nearest(str(name), DISCRETIZERS)}"
        )
    module, kind = DISCRETIZERS[name]
    chosen = getattr(import_module(module), kind)
    known = chosen._parameter_names()
    for option in options:
        if option not in known:
            raise GomeaBnError(
                f"The discretizer {name!r} has no option {option!r}; it has {', '.join(known)}."
                f"{nearest(option, known)}"
            )
    made: Discretizer = chosen(**options)
    return made


def starting_bin_count(table: Table) -> int:
    """Return how many bins a column starts with: as many as the largest discrete column has levels.

    Without a discrete column round(ln(columns) + 1), at least 2 (Chen, Wheeler & Kochenderfer 2017, their code).
    Constant columns do not count.
    """
    sizes = [
        len(column.levels) for column in table.columns if column.levels is not None and not column.is_constant
    ]
    return max(sizes) if sizes else max(round(np.log(len(table.columns)) + 1), 2)


def starting_cuts(task: DiscretizationTask, how: str = "equal-width", n_bins: int | None = None) -> Cuts:
    """Return first cuts of every continuous column, for methods that need all others cut.

    Fixed columns keep their cuts.

    Parameters
    ----------
    task : DiscretizationTask
    how : {"equal-width", "equal-frequency", "network"}
        "equal-width": bins [a, b) as in the code of Chen et al., each cut moved to the mid-point between the values
        around it, so that no bin is empty. "network": the cuts of the given network, equal frequency for columns that
        it does not know.
    n_bins : int, optional
        By default `starting_bin_count`.
    """
    wanted = starting_bin_count(task.table) if n_bins is None else n_bins
    cut = _equal_width_start if how == "equal-width" else equal_frequency_cuts
    found = {}
    for v, column in enumerate(task.table.columns):
        if not column.is_continuous:
            continue
        if v in task.known_cuts and (how == "network" or v not in task.movable):
            found[v] = task.known_cuts[v]
        else:
            found[v] = cut(column.values, wanted)
    return found


def _equal_width_start(values: NDArray[np.float64], n_bins: int) -> NDArray[np.float64]:
    """Return mid-points that separate the values as bins [a, b) of equal width would; empty bins merge."""
    distinct = np.unique(values)
    width = (distinct[-1] - distinct[0]) / n_bins
    if width == 0.0:  # neighbouring floats of the smallest size
        return np.empty(0)
    bins = np.minimum(np.floor((distinct - distinct[0]) / width), n_bins - 1)
    last = np.flatnonzero(bins[1:] > bins[:-1])
    cuts = midpoint(distinct[last], distinct[last + 1])
    kept: NDArray[np.float64] = cuts[cuts > distinct[0]]
    return kept


def _cuts_of(network: Network | None, table: Table) -> tuple[Cuts, set[int]]:
    """Return the cuts of a given network by position in the table, and which of them a user has fixed."""
    if not isinstance(network, DiscretizedBayesNet):
        return {}, set()
    named = network.metadata.get("fixed_cut_points")
    fixed_names = set(named) if isinstance(named, list) else set()
    known, fixed = {}, set()
    for name, cuts in network.cut_points.items():
        v = table.names.index(name)
        if not table.columns[v].is_continuous:
            raise GomeaBnError(
                f"Column {name!r} is continuous in the network, but discrete here ({table.columns[v].reason}).",
                ["fit to the rows that the network was learned from", "leave the column out of both"],
            )
        values = table.columns[v].values
        if name in fixed_names:
            known[v] = fixed_policy(name, values, cuts.tolist()).cut_points
            fixed.add(v)
        else:
            known[v] = cuts[(cuts > values.min()) & (cuts < values.max())]
    return known, fixed


def _target(y: Any, table: Table) -> NDArray[np.int32]:
    """Return the classes as codes of their distinct values, for the rows that the table kept."""
    import pandas as pd

    if isinstance(y, str):
        if y not in table.names:
            raise GomeaBnError(f"y names the column '{y}', but there is none.{nearest(y, table.names)}")
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
    found: NDArray[np.int32] = codes.astype(np.int32)
    return found
