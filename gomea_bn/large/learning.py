"""A network for all rows of a table in pieces: a search on a sample, then improvement over all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn.data.sources import AVAILABLE
from gomea_bn.data.table import read_table, table_digest
from gomea_bn.errors import GomeaBnError, Option, check_integer
from gomea_bn.large.available import observed_counts
from gomea_bn.large.climb import Climb
from gomea_bn.large.coded_table import CodedTable
from gomea_bn.large.counters.plan import FamilyCounter
from gomea_bn.large.incomplete_rows import network_of_counts, with_expected_tables
from gomea_bn.large.known_scores import KnownScores
from gomea_bn.large.moves import LEAST_GAIN_OF_CUTS, SearchRules
from gomea_bn.large.opening import (
    SourceFiles,
    about_sample,
    check_complete,
    opened_counter,
    print_line,
    sample_frame,
    silent,
)
from gomea_bn.learning.averaging.families import ROWS_OF_LINES, with_lines
from gomea_bn.learning.learner import BayesNetLearner
from gomea_bn.learning.learning_options import LearningOptions
from gomea_bn.learning.learning_problem import learning_problem, scored_variables, scoring_of
from gomea_bn.learning.options import section_of_data, seed_of
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.conditionals.family import TableSet
from gomea_bn.network.inference.completion import completed_table
from gomea_bn.network.rows import table_for
from gomea_bn.network.value_kinds import value_kinds_of
from gomea_bn.problems.cuts.interval_dp import CutLimits
from gomea_bn.problems.kernels.score_rules import DIRICHLET
from gomea_bn.problems.parents.screening import UNSCREENED_VARIABLES
from gomea_bn.problems.scoring.scores import price_per_parameter
from gomea_bn.runtime.checkpoints import CheckpointOption, State
from gomea_bn.runtime.kernel_progress import announced_kernels
from gomea_bn.runtime.threads import StopFlag, thread_count
from gomea_bn.texts import counted

__all__ = ["LargeFit", "compile_large_kernels", "learn_from_pieces", "score_of_pieces"]

_MOST_ZOOMS = 4
_MOST_ROUNDS = 4


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
    checkpoint: CheckpointOption = None,
    announce: Callable[[str], object] | None = None,
) -> LargeFit:
    """Return the network that a learner finds for all rows of a table in pieces.

    Parameters
    ----------
    learner : BayesNetLearner
        Options; the learner itself stays as it is. Curves are not used.
    source : path of a folder, pattern of file names, Dask dataframe, or sequence of DataFrame
        See `pieces.pieces_of`. The client of the process counts the rows of a Dask dataframe, if there is one.
    checkpoint : Checkpoint, path or None
        Folder for checkpoints of the search on the sample, and of the scores that passes over all rows gave.
    announce : callable, optional
        Receives a line on every step.

    Raises
    ------
    GomeaBnError
        For options that do not apply, unreadable files, missing values unless they are dropped, and a checkpoint of
        other data or options.
    """
    check_integer("sample_rows", learner.sample_rows, 1000)
    _check_options(learner)
    tell = announce or (print_line if learner.verbose else silent)
    with opened_counter(source, learner.scheduler, learner.n_jobs) as counter:
        return _Fit(learner, source, counter, tell, checkpoint).run()


def score_of_pieces(learner: BayesNetLearner, source: Any, network: DiscretizedBayesNet) -> float:
    """Return the score of a network over all rows of a table in pieces, in nats.

    Networks of one learner and one source are compared by it, however they were found: the numbers of distinct values
    and the shapes of columns come from the same sample.

    Parameters
    ----------
    learner, source
        As of `learn_from_pieces`; the learner needs a `random_state`.
    network : DiscretizedBayesNet
        Edges and cuts; its tables are not used.
    """
    with opened_counter(source, learner.scheduler, learner.n_jobs) as counter:
        return _Fit(learner, source, counter, silent).score_of(network)


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
        checkpoint: CheckpointOption = None,
    ) -> None:
        self.learner = learner
        self.files = SourceFiles(source)
        # the seed is that of the sample too, so that a run with a drawn one can be repeated
        self.section, self.seed = section_of_data(
            learner,
            checkpoint,
            f"{type(learner).__name__}, table in pieces",
            lambda: {"names, sizes and times of the files": self.files.digest},
            seed_of(learner.random_state),
        )
        self.known = KnownScores(self.section)
        self.seconds_before = 0.0
        self.after_search = 0.0
        self.counter = counter
        self.tell = tell
        self.stop = StopFlag(None)
        self.began = perf_counter()

    def run(self) -> LargeFit:
        """Return the network for all rows."""
        self._read_sample()
        self.sample_digest = table_digest(self.table)
        self.section.resume(self._restore)
        self.section.keep(self._state)
        on_sample = replace(
            self.learner,
            curves="none",
            density="bins",
            missing=AVAILABLE,
            random_state=self.seed,
            device="cpu",
        )
        without = " without curves" if self.learner.curves == "auto" else ""
        self.tell(f"Searching on a sample of {self.table.n_rows:,} rows{without}.")
        with about_sample(self.table.n_rows, self.n_rows):
            on_sample.fit(self.table, checkpoint=self.section.part("sample"))
        self.after_search = self.after_search or self._seconds
        try:
            with self.stop.catching_interrupts():
                if on_sample.stopped_by_ == "interrupt":
                    self.tell("Counting the tables over all rows (Ctrl-C leaves those of the sample).")
                    self.stop.raise_for("interrupt")
                return self._improved(on_sample)
        except KeyboardInterrupt:
            return self._of_sample(on_sample)

    @property
    def _seconds(self) -> float:
        """Seconds so far, with those of former runs that a checkpoint has."""
        return self.seconds_before + perf_counter() - self.began

    def _state(self) -> State:
        """Return what a resumed run needs in addition to the search on the sample."""
        return {
            "sample": self.sample_digest,
            "seconds": self._seconds,
            "seconds of the search": self.after_search,
            "known": self.known.state(),
        }

    def _restore(self, state: State) -> None:
        """Go on from what `_state` has returned."""
        if state["sample"] != self.sample_digest:
            raise GomeaBnError("The checkpoint belongs to another run: the table has other values.")
        n_readings = self.known.n_readings
        self.known.restore(state["known"])
        self.known.n_readings += n_readings
        self.seconds_before = float(state["seconds"])
        self.after_search = float(state["seconds of the search"])

    def score_of(self, network: DiscretizedBayesNet) -> float:
        """Return the score of a network over all rows in nats."""
        self._read_sample()
        rows = self._coded_around(network)
        climb = self._climb(network, rows)
        score, _ = climb.score(climb.family_tables())
        return score + rows.constant_score

    def _improved(self, on_sample: BayesNetLearner) -> LargeFit:
        """Return the network of the sample, improved on all rows."""
        rows = self._coded_around(on_sample.network_)
        climb = self._climb(on_sample.network_, rows)
        self._refine(climb, rows)
        for _ in range(_MOST_ROUNDS):
            if self.stop.flag[0] or not climb.improve(edges=True) or not self._refine(climb, rows):
                break
        else:
            # the last round has moved cuts, for which edges are counted once more
            climb.improve(edges=True)
        self.section.write()
        return self._result(climb, rows, on_sample)

    def _coded_around(self, network: DiscretizedBayesNet) -> CodedTable:
        """Return all rows as cells around the cuts of a network."""
        rows = CodedTable(
            self.counter,
            self.files,
            self.table,
            self.n_rows,
            self.options,
            self.known,
            missing=self.learner.missing,
            announce=self.tell,
        )
        rows.code_around(network.cut_points)
        return rows

    def _of_sample(self, on_sample: BayesNetLearner) -> LargeFit:
        """Return the network and the tables of the sample, after a Ctrl-C that did not wait for all rows."""
        self.stop.raise_for("interrupt")
        record = self._record(tables_of="sample")
        network = self._with_lines(on_sample.network_).with_metadata(all_rows=record)
        return LargeFit(network, on_sample, on_sample.score_, record)

    def _with_lines(self, network: DiscretizedBayesNet) -> DiscretizedBayesNet:
        """Return a network with conditionals: its tables, and lines from rows of the sample; itself for "bins"."""
        if self.learner.density == "bins":
            return network
        generator = np.random.default_rng(self.seed)
        rows = table_for(network, self.table, allow_missing=True)
        if rows.n_rows > ROWS_OF_LINES:
            rows = rows.take(np.sort(generator.permutation(rows.n_rows)[:ROWS_OF_LINES]))
        rows = completed_table(network, rows, generator)
        parents = {name: network.parents(name) for name in network.names}
        return with_lines(
            network, TableSet(network.cut_points, parents, network.tables), rows, line=self.learner.line
        )

    def _record(
        self,
        *,
        tables_of: str,
        rows: CodedTable | None = None,
        moves: Sequence[dict[str, Any]] = (),
    ) -> dict[str, Any]:
        """Return what was done, as plain values."""
        return {
            "n_rows": self.n_rows if rows is None else rows.n_rows,
            "sample_rows": self.table.n_rows,
            "tables_of": tables_of,
            "readings": self.known.n_readings,
            "passes": self.known.n_passes,
            "moves": list(moves),
            "stopped_by": self.stop.reason or "local optimum",
            "seconds_to_sample_network": self.after_search,
            "seconds": self._seconds,
        }

    def _read_sample(self) -> None:
        """Read all rows once, and keep the sample, its options and its score."""
        self.known.n_readings += 1
        frame, self.n_rows, n_pieces = sample_frame(self.counter, self.learner.sample_rows, self.seed)
        self.tell(f"{self.n_rows:,} rows in {counted(n_pieces, 'piece')}.")
        missing = "drop" if self.learner.missing == "drop" else "keep"
        kinds, max_levels = self.learner.kinds, self.learner.max_levels
        with about_sample(len(frame), self.n_rows):
            table = read_table(frame, kinds=kinds, missing=missing, max_levels=max_levels)
        if self.learner.missing == "error":
            numbers = np.array([column.n_missing for column in table.columns])
            check_complete(table, numbers, f" (in a sample of {table.n_rows:,} rows)")
        self.table = table
        self.options = LearningOptions.of(replace(self.learner, curves="none"), self.n_rows)
        self.method, self.rule = scoring_of(table, self.options)
        if self.rule.kind != DIRICHLET and any(column.is_continuous for column in table.columns):
            raise GomeaBnError(
                [
                    "A table in pieces with continuous columns can be learned with ",
                    Option("scoring_method", "density-bd"),
                    f" alone, got {self.method.name!r}.",
                ]
            )

    def _climb(self, network: DiscretizedBayesNet, rows: CodedTable) -> Climb:
        """Return the climb that begins with the network of the sample."""
        table, options = self.table, self.options
        _, edge_rules = scored_variables(table, replace(options, shape="uniform"))
        n = len(table.columns)
        varying = np.array([not column.is_constant for column in table.columns])
        pairs = np.logical_and.outer(varying, varying)
        # no sample has to be prepared again where all pairs may be joined
        is_screened = options.max_candidates is not None and (
            options.max_candidates != "auto" or n > UNSCREENED_VARIABLES
        )
        if is_screened:
            screened = learning_problem(table, options).pairs
            pairs = pairs if screened is None else pairs & screened
        position = {name: v for v, name in enumerate(table.names)}
        parents = [frozenset(position[p] for p in network.parents(name)) for name in table.names]
        fixed = set(options.cut_points or {})
        return Climb(
            counter=rows,
            known=self.known,
            coding=rows.key,
            columns=rows.columns,
            cardinality=rows.cardinality,
            has_missing=rows.has_missing,
            parents=parents,
            cuts=rows.indices(network.cut_points),
            rules=SearchRules(
                edges=edge_rules,
                pairs=pairs,
                score=self.rule._replace(
                    weight=price_per_parameter(self.method, rows.n_rows, self.options.penalty)
                ),
                limits=CutLimits(1, options.max_bins, options.min_width, options.min_bin_count),
                recut=frozenset(
                    v for v, c in enumerate(table.columns) if c.is_continuous and c.name not in fixed
                ),
            ),
            announce=self.tell,
            stop=self.stop,
            n_threads=thread_count(self.learner.n_jobs),
        )

    def _refine(self, climb: Climb, rows: CodedTable) -> bool:
        """Find the best cuts for the graph to within a few rows; return whether they have changed."""
        before = rows.cut_points(climb.cuts)
        climb.improve(edges=False)
        for _ in range(_MOST_ZOOMS):
            cuts = rows.cut_points(climb.cuts)
            if self.stop.flag[0] or not rows.zoom(climb.cuts):
                break
            climb.use_cells(rows.key, rows.columns, rows.indices(cuts))
            if climb.improve(edges=False) < LEAST_GAIN_OF_CUTS:
                break
        after = rows.cut_points(climb.cuts)
        return any(not np.array_equal(before[name], after[name]) for name in after)

    def _result(self, climb: Climb, rows: CodedTable, on_sample: BayesNetLearner) -> LargeFit:
        """Return the network, with tables of all rows."""
        table, names = self.table, self.table.names
        counts = climb.family_tables()
        score, is_shaped = climb.score(counts)
        score += rows.constant_score
        edges: list[tuple[str, str]] = []
        available: list[NDArray[np.int64]] = []
        for v, name in enumerate(names):
            parents = climb.table_parents(v)
            score += (len(climb.parents[v]) - len(parents)) * climb.rules.score.edge_cost
            edges += [(names[p], name) for p in parents]
            members = [*sorted(climb.parents[v]), v]
            axes = [axis for axis, member in enumerate(members) if member in (*parents, v)]
            available.append(observed_counts(counts[v], [climb.view(member) for member in members], axes))
        parts = {
            "cut_points": rows.cut_points(climb.cuts),
            "support": {name: (sample.low, sample.high) for name, sample in rows.sorted_samples.items()},
            "levels": {column.name: column.levels for column in table.columns if column.levels is not None},
            "shapes": {name: rows.shapes[name].shape for v, name in enumerate(names) if is_shaped[v]},
            "pseudo_count": on_sample.pseudo_count,
            "value_kinds": value_kinds_of({column.name: column for column in table.columns}),
            "metadata": {
                **on_sample.network_.metadata,
                "score": score,
                "n_rows": rows.n_rows,
            },
        }
        network = network_of_counts(names, edges, available, parts)
        views = [climb.view(v) for v in range(len(names))]
        network = with_expected_tables(network, available, views, rows, self.tell)
        network = self._with_lines(network)
        record = self._record(tables_of="all rows", rows=rows, moves=_described(climb, names))
        network = network.with_metadata(all_rows=record)
        return LargeFit(network, on_sample, score, record)


def _described(climb: Climb, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the moves as plain values."""
    return [
        {"kind": move.kind, "columns": [names[v] for v in move.columns], "nats": float(move.gain)}
        for move in climb.moves
    ]
