"""Many rows: the network that a search found on a sample of them is improved over all rows.

`opened_counter` gives what reads and counts all rows. `CodedTable` holds them as cells of their columns. `Improvement`
draws the sample, climbs over the cells from the network of the sample, and counts the tables of the result.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.algorithms.gomea import GOMEA
from gomea_bn.data.cells import observed_counts
from gomea_bn.data.columns import FEW_VALUES
from gomea_bn.data.forms import in_given_forms, with_forms
from gomea_bn.data.pieces import ChosenColumns, frames_digests, pieces_of
from gomea_bn.data.row_counters import DaskCounter, FamilyCounter, LocalCounter
from gomea_bn.data.sources import AVAILABLE
from gomea_bn.data.survey import Sample, sample_of, sampled_rows
from gomea_bn.data.symbols import without_symbols
from gomea_bn.data.table import Table, read_table, table_digest
from gomea_bn.errors import GomeaBnError, GomeaBnWarning, Setting, give_warning, raise_all
from gomea_bn.learning.averaging.families import rows_of_lines, with_lines
from gomea_bn.learning.checks import seconds_of_checks
from gomea_bn.learning.improvement import (
    Climb,
    CodedTable,
    KnownScores,
    SourceFiles,
    check_complete,
)
from gomea_bn.learning.learning_problem import scored_variables, scoring_of
from gomea_bn.learning.options import (
    OPTIMAL,
    LearningOptions,
    columns_of_search,
    learner_section,
    sampled_table,
    section_of_data,
    seed_of,
)
from gomea_bn.learning.parameters import NetworkParameters
from gomea_bn.learning.search.shown_cuts import learned_edges
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.conditionals.family_table import TableSet
from gomea_bn.network.counting import network_of_counts
from gomea_bn.network.counting_pieces import completes_pieces
from gomea_bn.network.inference.completion import completed_table
from gomea_bn.network.matched_rows import ROW_COUNTS, counted_sets, record_of_counts
from gomea_bn.network.recorded import FAMILY_SCORES, counted_parents
from gomea_bn.network.rows import table_for
from gomea_bn.network.tables import smoothing_of, table_of_counts
from gomea_bn.problems.cuts.counted_cells import available_score
from gomea_bn.problems.kernels.score import DIRICHLET
from gomea_bn.problems.structure import StructureProblem
from gomea_bn.runtime.checkpoints import CheckpointOption, State
from gomea_bn.runtime.cluster import connected, distributed
from gomea_bn.runtime.fit_clock import FitClock
from gomea_bn.runtime.limits import Limits
from gomea_bn.runtime.threads import StopFlag, thread_count
from gomea_bn.texts import counted

# bytes of cells that stay in memory
_MOST_BYTES = 2**30
# least share of `max_seconds` of the search on the sample of a table in memory
_LEAST_SHARE_OF_SEARCH = 0.5
# seconds that the improvement needs on a core for the lines, and for every value
_SECONDS_OF_LINES = 3.0
_SECONDS_OF_VALUE = 4e-7
# rows that lines are learned from after Ctrl-C, and the seconds of `max_seconds` that the climb leaves for lines
_ROWS_OF_LATE_LINES = 4_000
_SECONDS_OF_LATE_LINES = 2.0
_MOST_ROUNDS = 4
# evaluations of the search for a graph under the cuts of all rows, and its share of the seconds that are left
_GRAPHS_PER_GENE = 250
_MOST_GRAPHS = 100_000
_SHARE_OF_GRAPHS = 0.5


@contextmanager
def opened_counter(source: Any, scheduler: str | None, n_jobs: int | None) -> Iterator[FamilyCounter]:
    """Give the counter of a source of `pieces_of`: the workers of a cluster, or threads of this process.

    The client of the process counts the rows of a Dask dataframe, if there is one. Raises `GomeaBnError` for a source
    that cannot be read, and a scheduler that does not answer.
    """
    pieces = pieces_of(source)
    if isinstance(source, Table):
        # as the preparation of a table, counting takes all cores
        n_jobs = -1
    client = None
    if hasattr(source, "dask") and scheduler is None:
        with suppress(ValueError, GomeaBnError):
            client = distributed().default_client()
    if scheduler is None and client is None:
        with LocalCounter(pieces, thread_count(n_jobs), _MOST_BYTES) as counter:
            yield counter
        return
    with nullcontext(client) if scheduler is None else connected(scheduler) as client:
        yield DaskCounter(client, pieces)


def drawn_sample(counter: FamilyCounter, size: int, seed: int) -> tuple[Sample, int]:
    """Return a sample of the rows of a table in pieces, and the number of all rows."""
    n_rows = counter.sizes()
    if not sum(n_rows):
        raise GomeaBnError("The table has no rows.")
    positions = sampled_rows(n_rows, size, seed)
    return sample_of(counter.pieces, counter.survey(positions), positions), sum(n_rows)


def _some_rows(rows: NDArray[np.int64]) -> str:
    """Return words for rows of a sample, whose positions nobody can look up."""
    return "one row" if len(rows) == 1 else "some rows"


@contextmanager
def about_sample(
    sample_rows: int, n_rows: int, named: Callable[[NDArray[np.int64]], str] = _some_rows
) -> Iterator[None]:
    """Say in errors and warnings that they are about a sample; a sample of all rows needs no such words.

    Errors have the words of `named` for positions of rows in the sample. Warnings are given at the end.
    """
    if sample_rows == n_rows:
        try:
            yield
        except GomeaBnError as error:
            raise error.with_rows(named) from error
        return
    of_sample = f"In a sample of {sample_rows:,} of {n_rows:,} rows: "
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    except GomeaBnError as error:
        raise error.with_rows(named).within(of_sample) from error
    finally:
        for warning in caught:
            message = warning.message
            if isinstance(message, GomeaBnWarning):
                message = message.within(of_sample)
            warnings.warn_explicit(message, warning.category, warning.filename, warning.lineno)


def print_line(line: str) -> None:
    """Print a line to standard error."""
    print(line, file=sys.stderr, flush=True)


def print_nothing(line: str) -> None:
    """Print nothing."""


class Improvement:
    """The improvement over all rows of a network that was found on a sample of them.

    The counter is that of the rows of the source. The clock is that of the fit. `given_sample` has
    the rows to search, with the extreme values of continuous columns and all levels of discrete ones, and `sample` has
    its columns in the order of the search. `seed` is that of the sample and of the search, and `part` the section of
    the search in the checkpoint.
    """

    def __init__(
        self,
        learner: NetworkParameters,
        source: Any,
        counter: FamilyCounter,
        checkpoint: CheckpointOption,
        clock: FitClock,
    ) -> None:
        self.learner = learner
        self.source = source
        self.files = SourceFiles(source)
        self.in_memory = source if isinstance(source, Table) else None
        self.counter = counter
        self.tell = print_line if learner.verbose else print_nothing
        self.stop = StopFlag(None)
        self.clock = clock
        self.problem: StructureProblem | None = None
        # a run with a drawn seed can be repeated
        seed, kind = seed_of(learner.random_state), f"{type(learner).__name__}, table in pieces"

        def digests() -> dict[str, str]:
            if isinstance(source, (list, tuple)):
                return {f"column {name!r}": digest for name, digest in frames_digests(source).items()}
            return {"names, sizes and times of the files": self.files.digest}

        self.section, self.seed = (
            section_of_data(learner, checkpoint, kind, digests, seed)
            if self.in_memory is None
            else learner_section(learner, checkpoint, self.in_memory, seed)
        )
        self.known = KnownScores(self.section)
        self.seconds_before = 0.0
        self.after_search = 0.0
        # whether the clock ended the search for a graph
        self.is_cut_short = False
        self._draw_sample()
        self.sample_digest = table_digest(self.sample)
        self.section.resume(self._restore)
        self.section.keep(self._state)
        self.part = self.section.part("sample")

    def about_sample(self) -> AbstractContextManager[None]:
        """Return a context in which errors and warnings say that they are about the sample."""
        return about_sample(self.sample.n_rows, self.n_rows)

    def limits_of_search(self, limits: Limits) -> Limits:
        """Return the limits of the search on the sample: a part of the seconds, if those limit the improvement too."""
        if self.in_memory is None or limits.max_seconds is None:
            return limits
        needed = _SECONDS_OF_VALUE * self.n_rows * len(self.sample.columns) + self._seconds_of_checks
        needed += 0.0 if self.learner.density == "bins" else _SECONDS_OF_LINES
        least = _LEAST_SHARE_OF_SEARCH * limits.max_seconds
        return replace(limits, max_seconds=max(least, limits.max_seconds - needed))

    def run(
        self, network: DiscretizedBayesNet, problem: StructureProblem, stopped_by: str
    ) -> tuple[DiscretizedBayesNet, float, dict[str, Any]]:
        """Return the network with tables of all rows, its score over them in nats, and a record of plain values.

        The record has the numbers of rows, of rows of the sample, of readings of the files and of passes over the cells
        of all rows; the moves that only all rows showed; the number of columns whose cuts could move; and seconds. The
        given network is that of the sample, with the problem of its search and what ended that.
        """
        self.problem = problem
        # the search may have learned the cost of an edge
        self._take_options(replace(self.options, edge_cost=problem.scorer.method.edge_cost))
        self.after_search = self.after_search or self._seconds
        if self.in_memory is not None:
            # lines follow the climb
            after = self._seconds_of_lines + self._seconds_of_checks
            self.stop.start_clock(self._seconds + after, self.learner.max_seconds)
        try:
            with self.stop.catching_interrupts():
                if stopped_by == "interrupt":
                    self.tell("Counting the tables over all rows (Ctrl-C leaves those of the sample).")
                    self.stop.raise_for("interrupt")
                return self._improved(network)
        except KeyboardInterrupt:
            self.stop.replace_reason("interrupt")
            record = self._record()
            by_tables = TableSet.of_network(network, network.counts)
            of_sample = self._with_lines(network, by_tables).with_metadata(all_rows=record)
            return of_sample, float(network.metadata["score"]), record

    @property
    def _seconds(self) -> float:
        """Seconds so far, with those of former runs that a checkpoint has."""
        return self.seconds_before + self.clock.seconds

    @property
    def _seconds_of_lines(self) -> float:
        """Seconds of the limit that are left for lines; 0 without a limit."""
        limit = self.learner.max_seconds
        return (
            0.0 if limit is None or self.learner.density == "bins" else min(_SECONDS_OF_LATE_LINES, limit / 3)
        )

    @property
    def _seconds_of_checks(self) -> float:
        """Seconds that stay for the comparison with all rows, or with the sample of rows in pieces."""
        n_rows = self.sample.n_rows if self.in_memory is None else self.n_rows
        return seconds_of_checks(n_rows, len(self.sample.names), self.clock)

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
        climb = self._climb(network)
        score, _ = climb.score(climb.family_tables())
        return score + climb.rows.constant_score

    def _improved(self, network: DiscretizedBayesNet) -> tuple[DiscretizedBayesNet, float, dict[str, Any]]:
        """Return what `run` returns, if no Ctrl-C ends it at once."""
        climb = self._climb(network)
        climb.refine()
        self._search_graphs(climb)
        for _ in range(_MOST_ROUNDS):
            if self.stop.is_over or not climb.improve(edges=True) or not climb.refine():
                break
        else:
            # the last round has moved cuts, for which edges are counted once more
            climb.improve(edges=True)
        self.section.write()
        return self._result(climb, network)

    def _with_lines(self, network: DiscretizedBayesNet, tables: TableSet) -> DiscretizedBayesNet:
        """Return a network with conditionals: given tables, and lines from rows of the sample; itself for "bins"."""
        options = self.learner.get_params(deep=False)
        if options["density"] == "bins":
            return network
        is_late = self.stop.reason == "max_seconds" and self._seconds >= (self.learner.max_seconds or 0.0)
        # tables do not show what columns that follow curves depend on
        if is_late and not network.metadata.get("curves"):
            warning = GomeaBnWarning(
                "The time limit is short: densities are those of the tables, without lines.",
                [Setting("max_seconds")],
            )
            give_warning(warning)
            return network
        generator = np.random.default_rng(self.seed)
        rows = table_for(network, self.sample, allow_missing=True)
        # passes over pieces take as long as they take
        passes = self._seconds - self.after_search if self.in_memory is None else 0.0
        clock = self.clock.before(self._seconds_of_checks - passes)
        most = (
            _ROWS_OF_LATE_LINES
            if self.stop.reason == "interrupt"
            else rows_of_lines(network, rows.n_rows, clock)
        )
        if rows.n_rows > most:
            rows = rows.take(np.sort(generator.permutation(rows.n_rows)[:most]))
        rows = completed_table(network, rows, generator)
        return with_lines(network, tables, rows, line=options["line"], clock=clock)

    def _has_no_pass_left(self) -> bool:
        """Return whether the clock or Ctrl-C ends the passes that complete all rows, with a warning."""
        if not self.stop.is_over:
            return False
        is_late = self.stop.reason == "max_seconds"
        cause = "The time limit is short" if is_late else "Ctrl-C ended the passes that complete rows"
        warning = GomeaBnWarning(
            f"{cause}: tables are counted from the rows that have values in all columns of a "
            "family, and would be completed by further passes.",
            [Setting("max_seconds")] if is_late else [],
        )
        give_warning(warning)
        return True

    def _record(self, climb: Climb | None = None) -> dict[str, Any]:
        """Return what was done, as plain values; without a climb the tables are those of the sample."""
        names, moves = self.sample.names, [] if climb is None else climb.moves
        return {
            "n_rows": self.n_rows if climb is None else climb.rows.n_rows,
            "sample_rows": self.sample.n_rows,
            "tables_of": "sample" if climb is None else "all rows",
            "readings": self.known.n_readings,
            "passes": self.known.n_passes,
            "moves": [
                {"kind": m.kind, "columns": [names[v] for v in m.columns], "nats": float(m.gain)}
                for m in moves
            ],
            "recut": 0 if climb is None else len(climb.recut),
            "stopped_by": self.stop.reason or ("max_seconds" if self.is_cut_short else "local optimum"),
            "seconds_to_sample_network": self.after_search,
            "seconds": self._seconds,
        }

    def _draw_sample(self) -> None:
        """Draw the sample, and keep its options and its score; pieces are read once for it."""
        if self.in_memory is not None:
            self.n_rows = self.in_memory.n_rows
            self.given_sample = sampled_table(self.learner, self.in_memory, self.seed)
        else:
            self.known.n_readings += 1
            size, missing = self.learner.sample_rows, self.learner.missing
            chosen = self.source if isinstance(self.source, ChosenColumns) else ChosenColumns("")
            given = dict(chosen.forms)
            forms = self._read_forms(given)
            sample, self.n_rows = drawn_sample(self.counter, size, self.seed)
            self.tell(f"{self.n_rows:,} rows in {counted(len(self.counter.pieces), 'piece')}.")
            with about_sample(len(sample.rows), self.n_rows, sample.named):
                table = read_table(
                    sample.rows,
                    kinds=self.learner.kinds,
                    missing="drop" if missing == "drop" else "keep",
                    max_levels=self.learner.max_levels,
                    columns=None if chosen.columns is None else list(map(str, sample.rows.columns)),
                    forms={name: form for name, form in given.items() if name in sample.rows},
                )
            # the first rows had other texts
            unlike = {name: form for name, form in table.reading.forms.items() if name not in given}
            if unlike:
                name, form = next(iter(unlike.items()))
                raise GomeaBnError(
                    f"Column '{name}' holds texts that read as {form!r}, unlike those of its first rows.",
                    [Setting("forms", form, name), "write numbers or dates into the files"],
                )
            reading = replace(table.reading, drop=chosen.drop, forms=forms)
            table = replace(table, reading=reading)
            if missing == "error":
                numbers = np.array([column.n_missing for column in table.columns])
                check_complete(table, numbers, f" (in a sample of {table.n_rows:,} rows)")
            self.given_sample = table
        self.sample = columns_of_search(self.given_sample, self.learner.shape)
        self.tell(f"Searching on a sample of {self.sample.n_rows:,} rows.")
        self._take_options(LearningOptions.of(self.learner, self.n_rows))

    def _read_forms(self, given: Mapping[str, str]) -> dict[str, str]:
        """Let the pieces give texts in given forms, or else in those of the first rows, and return the forms of both.

        Warnings say what the first rows show, since the sample has no texts in forms any more.
        """
        as_stored = [piece.in_forms({}, None) for piece in self.counter.pieces]
        rows = next((rows for piece in as_stored for rows in piece.frames() if len(rows)), None)
        if rows is None:
            return dict(given)
        kinds = {} if self.learner.kinds is None else self.learner.kinds
        rows, _, _ = without_symbols(rows, None)
        in_given, doubts, _ = in_given_forms(rows, given, None)
        formed = with_forms(in_given, kinds, given, dates="numbers", decimal=None, few=FEW_VALUES)
        raise_all(formed.problems)
        # other doubts are those of the sample, too
        doubts += in_given_forms(rows, formed.forms, formed.decimal)[1]
        for doubt in doubts:
            give_warning(doubt.within(f"In the first {len(rows):,} rows: "))
        forms = {**formed.forms, **given}
        self.counter.pieces = [piece.in_forms(forms, formed.decimal) for piece in as_stored]
        for note in formed.notes:
            self.tell(note.text(str))
        return forms

    def _take_options(self, options: LearningOptions) -> None:
        self.options = options
        self.method, self.rule = scoring_of(self.sample, options)

    def _climb(self, network: DiscretizedBayesNet) -> Climb:
        """Return the climb that begins with the network of the sample, over cells around its cuts."""
        table, options = self.sample, self.options
        rows = CodedTable(
            self.counter,
            self.files,
            table,
            self.n_rows,
            options,
            self.known,
            # the rows of a table in memory are those that count
            missing=self.learner.missing if self.in_memory is None else AVAILABLE,
            announce=self.tell,
            stop=self.stop,
        )
        rows.code_around(network.cut_points)
        if self.problem is not None:
            edge_rules = self.problem.edge_rules
        else:
            _, edge_rules = scored_variables(table, replace(options, shape="uniform"))
        varying = np.array([not column.is_constant for column in table.columns])
        pairs = np.logical_and.outer(varying, varying)
        if self.problem is not None and self.problem.pairs is not None:
            pairs &= self.problem.pairs
        position = {name: v for v, name in enumerate(table.names)}
        parents = [frozenset(position[p] for p in network.parents(name)) for name in table.names]
        follows = frozenset(position[name] for name in network.metadata.get("curves", ()))
        fixed = {position[name] for name in options.cut_points or {}}
        fixed |= follows.union(*(parents[v] for v in follows))
        # the programme for cuts knows the Dirichlet prior alone
        may_recut = options.discretizer == OPTIMAL and self.rule.kind == DIRICHLET
        continuous = [v for v, column in enumerate(table.columns) if column.is_continuous]
        return Climb(
            rows=rows,
            parents=parents,
            cuts=rows.indices(network.cut_points),
            edge_rules=edge_rules,
            pairs=pairs,
            score_rule=rows.rule,
            limits=options.cut_limits,
            recut=frozenset(v for v in continuous if may_recut and v not in fixed),
            keeps_parents=follows,
            n_threads=thread_count(self.learner.n_jobs if self.in_memory is None else -1),
        )

    def _search_graphs(self, climb: Climb) -> None:
        """Search for the graph of the sample under the present cuts, and take it if it is better over all rows.

        A climb cannot leave a graph whose edges lead the other way around. The search has to find its cuts as well, and
        may end in such a graph; given the cuts it takes seconds from the start.
        """
        if self.problem is None or not climb.recut or climb.keeps_parents or self.stop.is_over:
            return
        cuts = climb.rows.cut_points(climb.cuts)
        limit = self.stop.max_seconds
        graphs = self.problem.with_cuts({self.sample.names.index(name): cuts[name] for name in cuts})
        limits = Limits(
            max_evaluations=min(_GRAPHS_PER_GENE * graphs.n_variables, _MOST_GRAPHS),
            max_seconds=None if limit is None else max(_SHARE_OF_GRAPHS * (limit - self._seconds), 1e-6),
        )
        algorithm = self.learner.algorithm or GOMEA()
        n_threads = thread_count(self.learner.n_jobs)
        result = algorithm.run(graphs, limits, random_state=self.seed, n_jobs=n_threads)
        if result.stopped_by == "interrupt":
            self.stop.raise_for("interrupt")
        self.is_cut_short |= result.stopped_by == "max_seconds"
        edges = learned_edges(graphs, result.X)
        climb.offer([frozenset(p for p, child in edges if child == v) for v in range(len(climb.parents))])

    def _result(
        self, climb: Climb, of_sample: DiscretizedBayesNet
    ) -> tuple[DiscretizedBayesNet, float, dict[str, Any]]:
        """Return what `run` returns, with tables of all rows."""
        rows, table, names = climb.rows, self.sample, self.sample.names
        curves = of_sample.metadata.get("curves", {})
        counts = climb.family_tables()
        score, is_shaped = climb.score(counts)
        score += rows.constant_score
        edges: list[tuple[str, str]] = []
        available: list[NDArray[np.int64]] = []
        # by the parents that tables need
        by_tables: dict[str, NDArray[np.int64]] = {}
        for v, name in enumerate(names):
            parents = climb.table_parents(v)
            score += (len(climb.parents[v]) - len(parents)) * climb.score_rule.edge_cost
            edges += [(names[p], name) for p in parents]
            members = [*sorted(climb.parents[v]), v]
            views = [climb.view(member) for member in members]
            axes = [axis for axis, member in enumerate(members) if member in (*parents, v)]
            available.append(observed_counts(counts[v], views, axes))
            if name in curves:
                chosen = curves[name]["table_parents"]
                axes = [a for a, member in enumerate(members) if member == v or names[member] in chosen]
                by_tables[name] = observed_counts(counts[v], views, axes)
                others = tuple(axis for axis in range(len(members)) if axis not in axes)
                score -= available_score(counts[v], views, climb.score_rule)
                score += available_score(
                    counts[v].sum(axis=others), [views[axis] for axis in axes], climb.score_rule
                )
                # the gain of curves is known on the sample alone
                score += curves[name]["nats"] * rows.n_rows / table.n_rows
        # those of the sample
        metadata = {key: value for key, value in of_sample.metadata.items() if key != FAMILY_SCORES}
        parts = {
            "cut_points": rows.cut_points(climb.cuts),
            "support": {name: (sample.low, sample.high) for name, sample in rows.sorted_samples.items()},
            "levels": {column.name: column.levels for column in table.columns if column.levels is not None},
            "shapes": {name: rows.shapes[name].shape for v, name in enumerate(names) if is_shaped[v]},
            "pseudo_count": of_sample.pseudo_count,
            "value_kinds": of_sample.value_kinds,
            "metadata": {**metadata, "score": score, "n_rows": rows.n_rows},
        }
        views = [climb.view(v) for v in range(len(names))]
        with_children = {names.index(parent) for parent, _ in edges}
        completed = completes_pieces(
            views, with_children, rows.n_rows, rows.total, self.tell, self._has_no_pass_left
        )
        of_families = [counts.astype(np.float64) for counts in available]
        network = network_of_counts(DiscretizedBayesNet, names, edges, of_families, parts, completed)
        of_curves = {name: of_name.astype(np.float64) for name, of_name in by_tables.items()}
        in_tables = _parents_of(network)
        tables = {
            name: table_of_counts(
                of_name,
                smoothing_of(
                    of_sample.pseudo_count or 0.0, network.metadata, network.levels, (name, *in_tables[name])
                ),
            )
            for name, of_name in of_curves.items()
        }
        tables, of_curves = network.stored_tables | tables, network.counts | of_curves
        of_all_rows = TableSet(network.cut_points, _parents_of(network), tables, of_curves)
        network = self._with_lines(network, of_all_rows)
        counts_of_rows = self._row_counts(climb, network)
        record = self._record(climb)
        return network.with_metadata(all_rows=record, **counts_of_rows), score, record

    def _row_counts(self, climb: Climb, network: DiscretizedBayesNet) -> dict[str, Any]:
        """Return the entry of a network's metadata with numbers of all rows; empty if a table in memory has them.

        There is none where the clock or Ctrl-C ends the search, nor without conditionals.
        """
        views = [climb.view(v) for v in range(len(network.names))]
        cards = [view.cardinality for view in views]
        if self.in_memory is not None or self.stop.is_over or network.conditionals is None:
            return {}
        if network.names != self.sample.names or cards != [
            network.cardinality(name) for name in network.names
        ]:
            return {}
        sets = counted_sets(network.adjacency_matrix, cards, climb.rows.n_rows)
        families = [tuple(views[v] for v in members) for members in sets]
        tables: dict[tuple[int, ...], NDArray[np.int64]] = {}

        def keep(position: int, counts: list[NDArray[np.int64]]) -> None:
            members = sets[position]
            tables[members] = observed_counts(counts[0], families[position], range(len(members)))

        climb.count([[family] for family in families], keep)
        gaps = [name for name, view in zip(network.names, views, strict=True) if view.has_missing]
        n_rows = climb.rows.n_rows
        ordered = {members: tables[members] for members in sets}
        return {ROW_COUNTS: record_of_counts(network.names, n_rows, n_rows, gaps, ordered)}


def _parents_of(network: DiscretizedBayesNet) -> dict[str, tuple[str, ...]]:
    """Return the parents by which rows of every variable are counted into tables, by name."""
    return dict(zip(network.names, counted_parents(network), strict=True))
