"""A network for all rows of a table in pieces: a search on a sample, then improvement over all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn.data.table import Table, read_table
from gomea_bn.errors import GomeaBnError, Option, Setting, check_integer
from gomea_bn.large.cells import MOST_BOUNDARIES, Coding, scaled_log_density
from gomea_bn.large.climb import Climb, SearchRules
from gomea_bn.large.counts import Coded, CountPlan, FamilyCounter, View
from gomea_bn.large.grid_cuts import GridColumn
from gomea_bn.large.opening import (
    SourceFiles,
    check_complete,
    opened_counter,
    print_line,
    sample_frame,
    silent,
)
from gomea_bn.learning.learner import BayesNetLearner
from gomea_bn.learning.learning_options import LearningOptions
from gomea_bn.learning.learning_problem import column_shapes, learning_problem, scored_variables, scoring_of
from gomea_bn.learning.options import seed_of
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.tables import table_of_counts
from gomea_bn.network.value_kinds import value_kinds_of
from gomea_bn.problems.cuts.interval_counts import SortedColumn
from gomea_bn.problems.cuts.interval_dp import CutLimits
from gomea_bn.problems.cuts.shape import ColumnShape
from gomea_bn.problems.kernels.score_rules import DIRICHLET
from gomea_bn.problems.scores import price_per_parameter
from gomea_bn.problems.screening import UNSCREENED_VARIABLES
from gomea_bn.runtime.kernel_progress import announced_kernels
from gomea_bn.runtime.threads import StopFlag
from gomea_bn.texts import counted

__all__ = ["LargeFit", "compile_large_kernels", "learn_from_pieces"]

# boundaries of cells that are spread over a column; the others are near its cuts
_SPREAD = 120
# sample ranks around a learned cut that become boundaries
_NEAR = (-64, -32, -16, -8, -4, -2, -1, 1, 2, 4, 8, 16, 32, 64)
# cells next to a cut that hold more rows are split, unless the last split has gained less in nats
_FINE_ROWS = 2
_LEAST_GAIN = 1.0
_MOST_ZOOMS = 4
_MOST_ROUNDS = 4
# a column with more rows than this per distinct value of the sample repeats its values
_TIES = 2


@dataclass(frozen=True)
class LargeFit:
    """A network learned from all rows of a table in pieces.

    Attributes
    ----------
    network : DiscretizedBayesNet
    on_sample : BayesNetLearner
        Learner that was fitted to the sample.
    score : float
        Score of the network over all rows, in nats.
    record : dict
        Plain values: numbers of rows, of rows of the sample, of readings of the files and of passes over the cells of
        all rows; the moves that only all rows showed; and seconds.
    """

    network: DiscretizedBayesNet
    on_sample: BayesNetLearner
    score: float
    record: dict[str, Any]


def learn_from_pieces(
    learner: BayesNetLearner,
    source: Any,
    *,
    announce: Callable[[str], object] | None = None,
) -> LargeFit:
    """Return the network that a learner finds for all rows of a table in pieces.

    Parameters
    ----------
    learner : BayesNetLearner
        Options; the learner itself stays as it is. Curves are not used.
    source : path of a folder, pattern of file names, Dask dataframe, or sequence of DataFrame
        See `pieces.pieces_of`. The client of the process counts the rows of a Dask dataframe, if there is one.
    announce : callable, optional
        Receives a line on every step.

    Raises
    ------
    GomeaBnError
        For options that do not apply, unreadable files, and missing values unless they are dropped.
    """
    check_integer("sample_rows", learner.sample_rows, 1000)
    _check_options(learner)
    tell = announce or (print_line if learner.verbose else silent)
    with opened_counter(source, learner.scheduler, learner.n_jobs) as counter:
        return _Fit(learner, source, counter, tell).run()


def compile_large_kernels(announce: Callable[[str], object]) -> float:
    """Compile or load the kernels of this package, by learning from a few rows, and return the seconds this took.

    Parameters
    ----------
    announce : callable
        Function that receives a line on each kernel that takes long, if kernels are not in the cache of this machine.
    """
    began = perf_counter()
    x = np.random.default_rng(0).normal(size=60)
    frame = pd.DataFrame({"x": x, "k": np.where(x > 0, "a", "b")})
    with announced_kernels(announce):
        learn_from_pieces(BayesNetLearner(max_evaluations=200, random_state=1), [frame])
    return perf_counter() - began


def _check_options(learner: BayesNetLearner) -> None:
    """Raise for options that only tables in memory have."""
    if learner.density != "bins":
        raise GomeaBnError(
            [Option("density", "averaged"), " needs a table in memory."], [Setting("density", "bins")]
        )
    if learner.discretizer != "optimal":
        raise GomeaBnError(
            [
                "A table in pieces can be learned with ",
                Option("discretizer", "optimal"),
                f" alone, got {learner.discretizer!r}.",
            ]
        )


class _Fit:
    """The steps of learning from pieces."""

    def __init__(
        self,
        learner: BayesNetLearner,
        source: Any,
        counter: FamilyCounter,
        tell: Callable[[str], object],
    ) -> None:
        self.learner = learner
        # of the sample too, which a seed that is drawn must repeat
        self.seed = seed_of(learner.random_state)
        self.files = SourceFiles(source)
        self.counter = counter
        self.tell = tell
        self.stop = StopFlag(None)
        self.began = perf_counter()
        self.n_readings = 0

    def run(self) -> LargeFit:
        """Return the network for all rows."""
        table = self._sample()
        on_sample = replace(self.learner, curves="none", missing="error", random_state=self.seed)
        self.options = LearningOptions.of(on_sample, self.n_rows)
        self.method, self.rule = scoring_of(table, self.options)
        if self.rule.kind != DIRICHLET and any(column.is_continuous for column in table.columns):
            raise GomeaBnError(
                [
                    "A table in pieces with continuous columns can be learned with ",
                    Option("scoring_method", "density-bd"),
                    f" alone, got {self.method.name!r}.",
                ]
            )
        self.table = table
        self.tell(f"Searching on a sample of {table.n_rows:,} rows.")
        on_sample.fit(table)
        self.after_search = perf_counter() - self.began
        try:
            with self.stop.catching_interrupts():
                if on_sample.stopped_by_ == "interrupt":
                    self.tell("Counting the tables over all rows (Ctrl-C leaves those of the sample).")
                    self.stop.raise_for("interrupt")
                return self._improved(on_sample)
        except KeyboardInterrupt:
            return self._of_sample(on_sample)

    def _improved(self, on_sample: BayesNetLearner) -> LargeFit:
        """Return the network of the sample, improved on all rows."""
        self.shapes = column_shapes(self.table, self.options)
        self.sorted = {
            column.name: SortedColumn(np.asarray(column.values, np.float64))
            for column in self.table.columns
            if column.is_continuous
        }
        network = on_sample.network_
        boundaries = {name: self._first_boundaries(name, network.cut_points[name]) for name in self.sorted}
        self._code(boundaries, is_first=True)
        climb = self._climb(network)
        self._refine(climb)
        for _ in range(_MOST_ROUNDS):
            if self.stop.flag[0] or not climb.improve(edges=True) or not self._refine(climb):
                break
        return self._result(climb, on_sample)

    def _of_sample(self, on_sample: BayesNetLearner) -> LargeFit:
        """Return the network and the tables of the sample, after a Ctrl-C that did not wait for all rows."""
        self.stop.raise_for("interrupt")
        record = self._record(0, [], tables_of="sample")
        network = on_sample.network_.with_metadata(all_rows=record)
        return LargeFit(network, on_sample, on_sample.score_, record)

    def _record(self, n_passes: int, moves: list[dict[str, Any]], *, tables_of: str) -> dict[str, Any]:
        """Return what was done, as plain values."""
        return {
            "n_rows": self.n_rows,
            "sample_rows": self.table.n_rows,
            "tables_of": tables_of,
            "readings": self.n_readings,
            "passes": n_passes,
            "moves": moves,
            "stopped_by": self.stop.reason or "local optimum",
            "seconds_to_sample_network": self.after_search,
            "seconds": perf_counter() - self.began,
        }

    def _sample(self) -> Table:
        """Read all rows once, and return the sample as a table."""
        rows, self.n_rows, n_pieces = sample_frame(self.counter, self.learner.sample_rows, self.seed)
        self.tell(f"{self.n_rows:,} rows in {counted(n_pieces, 'piece')}.")
        self.n_readings += 1
        missing = "drop" if self.learner.missing == "drop" else "keep"
        kinds, max_levels = self.learner.kinds, self.learner.max_levels
        table = read_table(rows, kinds=kinds, missing=missing, max_levels=max_levels)
        numbers = np.array([column.n_missing for column in table.columns])
        check_complete(table, numbers, f" of a sample of {table.n_rows:,} rows")
        return table

    def _first_boundaries(self, name: str, cuts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the boundaries of the first cells of a column: the cuts of the sample, near ones, and spread ones."""
        column = self.sorted[name]
        gaps = column.gaps(cuts) if len(cuts) else np.empty(0, np.int64)
        near = (gaps[:, None] + np.array(_NEAR)).ravel()
        near = near[(near >= 0) & (near < len(column.cuts))]
        if len(near) > MOST_BOUNDARIES - _SPREAD - len(cuts):
            near = near[:: -(-len(near) // max(MOST_BOUNDARIES - _SPREAD - len(cuts), 1))]
        spread = column.grid(min(_SPREAD, len(column.cuts) + 1))
        chosen = column.cuts[np.setdiff1d(np.union1d(near, spread), gaps)]
        return self._with_cuts(chosen, cuts)

    def _with_cuts(self, boundaries: NDArray[np.float64], cuts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return at most `MOST_BOUNDARIES` boundaries, all cuts among them, ascending."""
        others = np.setdiff1d(boundaries, cuts)
        room = MOST_BOUNDARIES - len(cuts)
        if len(others) > room:
            others = others[np.linspace(0, len(others) - 1, room).round().astype(np.int64)]
        return np.union1d(others, cuts)

    def _code(
        self,
        boundaries: dict[str, NDArray[np.float64]],
        *,
        is_first: bool = False,
    ) -> None:
        """Read all rows, keep their cells, and describe the columns by them."""
        began = perf_counter()
        shapes = {name: shape.shape for name, shape in self.shapes.items()} if is_first else {}
        coding = Coding(
            self.table.names,
            boundaries,
            {column.name: column.levels for column in self.table.columns if column.levels is not None},
            shapes,
            drops_missing=self.learner.missing == "drop",
        )
        coded = self.counter.code(coding)
        self.files.check_unchanged()
        self.n_readings += 1
        if self.learner.missing != "drop":
            check_complete(self.table, coded.n_missing)
        self.n_rows = coded.n_rows
        if is_first:
            self.shapes = {
                name: self._shape_of_all(name, shape, coded) for name, shape in self.shapes.items()
            }
        self.tell(f"All rows read and coded in {perf_counter() - began:.1f} s.")
        self.cardinality = [
            len(boundaries[column.name]) + 1 if column.levels is None else len(column.levels)
            for column in self.table.columns
        ]
        views = [View.of_codes(v, np.arange(n_cells), n_cells) for v, n_cells in enumerate(self.cardinality)]
        plan = CountPlan([[view] for view in views])
        rows = dict(zip(self.table.names, plan.tables(self.counter.count(plan)), strict=True))
        self.columns: list[GridColumn | None] = [
            self._grid_column(column.name, boundaries[column.name], rows[column.name])
            if column.levels is None
            else None
            for column in self.table.columns
        ]

    def _shape_of_all(self, name: str, shape: ColumnShape, coded: Coded) -> ColumnShape:
        """Return the shape of a column with its log likelihood over all rows.

        Its price in nats grows as the logarithm of the number of rows does.
        """
        values = self.sorted[name].values
        of_sample = scaled_log_density(shape.shape, values)
        price = (of_sample - shape.log_likelihood) * np.log(self.n_rows) / np.log(len(values))
        return replace(shape, log_likelihood=coded.log_densities[name] - price)

    def _grid_column(self, name: str, boundaries: NDArray[np.float64], rows: NDArray[np.int64]) -> GridColumn:
        column = self.sorted[name]
        ends = np.concatenate(([0], np.searchsorted(column.distinct, boundaries, side="right")))
        distinct = np.diff(np.append(ends, len(column.distinct)))
        n_distinct = self._n_distinct(column)
        if not self._repeats(column):
            distinct = rows
        cost = self.method.cut_cost * np.log(max(n_distinct - 1, 1))
        if name in (self.options.cut_points or {}):
            cost = 0.0
        return GridColumn(boundaries, column.low, column.high, rows, distinct, cost, self.shapes.get(name))

    def _repeats(self, column: SortedColumn) -> bool:
        """Return whether a column has few distinct values for its rows, so that the sample shows them all."""
        return column.n_rows > _TIES * len(column.distinct)

    def _n_distinct(self, column: SortedColumn) -> float:
        """Return an estimate of the number of distinct values in all rows.

        Of the rows outside the sample, the share of values that occur once in the sample is new (Good, 1953); but no
        more values are unseen than their numbers of occurrences suggest (Chao, 1984).
        """
        counts = np.diff(np.concatenate(([0], column.below, [column.n_rows])))
        once, twice = float((counts == 1).sum()), float((counts == 2).sum())
        new = once / column.n_rows * (self.n_rows - column.n_rows)
        return len(column.distinct) + min(new, once * max(once - 1, 0) / (2 * (twice + 1)))

    def _climb(self, network: DiscretizedBayesNet) -> Climb:
        """Return the climb that begins with the network of the sample."""
        table, options = self.table, self.options
        _, edge_rules = scored_variables(table, replace(options, shape="uniform"))
        n = len(table.columns)
        varying = np.array([not column.is_constant for column in table.columns])
        pairs = np.logical_and.outer(varying, varying)
        if n > UNSCREENED_VARIABLES:
            screened = learning_problem(table, replace(options, curves="none")).pairs
            pairs = pairs if screened is None else pairs & screened
        position = {name: v for v, name in enumerate(table.names)}
        parents = [frozenset(position[p] for p in network.parents(name)) for name in table.names]
        fixed = set(options.cut_points or {})
        return Climb(
            counter=self.counter,
            columns=self.columns,
            cardinality=self.cardinality,
            parents=parents,
            cuts=self._indices(network.cut_points),
            rules=SearchRules(
                edges=edge_rules,
                pairs=pairs,
                score=self.rule._replace(
                    weight=price_per_parameter(self.method, self.n_rows, self.options.penalty)
                ),
                limits=CutLimits(1, options.max_bins, options.min_width, options.min_bin_count),
                recut=frozenset(
                    v for v, c in enumerate(table.columns) if c.is_continuous and c.name not in fixed
                ),
            ),
            announce=self.tell,
            stop=self.stop,
        )

    def _indices(self, cuts: dict[str, NDArray[np.float64]]) -> list[NDArray[np.int64]]:
        """Return the indices of cuts among the boundaries of their columns; empty for discrete columns."""
        return [
            np.empty(0, np.int64)
            if column is None
            else np.searchsorted(column.boundaries, cuts[name]).astype(np.int64)
            for name, column in zip(self.table.names, self.columns, strict=True)
        ]

    def _cuts(self, climb: Climb) -> dict[str, NDArray[np.float64]]:
        """Return the cuts of the continuous columns, by name."""
        return {
            name: column.boundaries[climb.cuts[v]]
            for v, (name, column) in enumerate(zip(self.table.names, climb.columns, strict=True))
            if column is not None
        }

    def _refine(self, climb: Climb) -> bool:
        """Find the best cuts for the graph to within a few rows; return whether they have changed."""
        before = self._cuts(climb)
        climb.improve(edges=False)
        for _ in range(_MOST_ZOOMS):
            cuts = self._cuts(climb)
            zoomed = {
                name: self._zoomed(name, column, climb.cuts[v])
                for v, (name, column) in enumerate(zip(self.table.names, climb.columns, strict=True))
                if column is not None
            }
            if self.stop.flag[0] or all(boundaries is None for boundaries in zoomed.values()):
                break
            present = {
                name: column.boundaries
                for name, column in zip(self.table.names, climb.columns, strict=True)
                if column is not None
            }
            self._code({name: present[name] if new is None else new for name, new in zoomed.items()})
            climb.use_cells(self.columns, self._indices(cuts))
            if climb.improve(edges=False) < _LEAST_GAIN:
                break
        after = self._cuts(climb)
        return any(not np.array_equal(before[name], after[name]) for name in after)

    def _zoomed(self, name: str, column: GridColumn, cuts: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """Return boundaries with more of them next to the cuts, or None if the cells there are fine."""
        sample = self.sorted[name]
        if not len(cuts) or self._repeats(sample):
            return None
        if (np.maximum(column.rows[cuts], column.rows[cuts + 1]) <= _FINE_ROWS).all():
            return None
        edges = column.edges
        n_each = (MOST_BOUNDARIES - _SPREAD - len(cuts)) // len(cuts)
        near = np.concatenate(
            [np.linspace(edges[cut], edges[cut + 2], max(n_each, 3) + 2)[1:-1] for cut in cuts.tolist()]
        )
        spread = sample.cuts[sample.grid(min(_SPREAD, len(sample.cuts) + 1))]
        chosen = np.concatenate((near, edges[cuts], edges[cuts + 2], spread))
        inside = np.unique(chosen[(chosen > column.low) & (chosen < column.high)])
        return self._with_cuts(inside, column.boundaries[cuts])

    def _result(self, climb: Climb, on_sample: BayesNetLearner) -> LargeFit:
        """Return the network, with tables of all rows."""
        table, names = self.table, self.table.names
        counts = climb.family_tables()
        score, is_shaped = climb.score(counts)
        score += sum(shape.constant_score for shape in self.shapes.values())
        cuts = self._cuts(climb)
        several = [climb.view(v).cardinality > 1 for v in range(len(names))]
        tables, edges = {}, []
        for v, name in enumerate(names):
            parents = [
                p
                for p in sorted(climb.parents[v])
                if (several[p] and several[v]) or climb.rules.requires(p, v)
            ]
            score += (len(climb.parents[v]) - len(parents)) * climb.rules.score.edge_cost
            edges += [(names[p], name) for p in parents]
            axes = tuple(a for a, p in enumerate(sorted(climb.parents[v])) if p not in parents)
            of_parents = np.asarray(counts[v].sum(axis=axes), np.float64)
            tables[name] = table_of_counts(of_parents, on_sample.pseudo_count)
        continuous = [column.name for column in table.columns if column.is_continuous]
        record = self._record(climb.n_passes, _described(climb, names), tables_of="all rows")
        network = DiscretizedBayesNet(
            names,
            edges,
            cut_points=cuts,
            support={name: (self.sorted[name].low, self.sorted[name].high) for name in continuous},
            levels={column.name: column.levels for column in table.columns if column.levels is not None},
            tables=tables,
            shapes={name: self.shapes[name].shape for v, name in enumerate(names) if is_shaped[v]},
            pseudo_count=on_sample.pseudo_count,
            value_kinds=value_kinds_of({column.name: column for column in table.columns}),
            metadata={
                **on_sample.network_.metadata,
                "score": score,
                "n_rows": self.n_rows,
                "all_rows": record,
            },
        )
        return LargeFit(network, on_sample, score, record)


def _described(climb: Climb, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the moves as plain values."""
    return [
        {"kind": move.kind, "columns": [names[v] for v in move.columns], "nats": float(move.gain)}
        for move in climb.moves
    ]
