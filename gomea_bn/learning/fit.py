"""What `BayesNetLearner.fit` does, from top to bottom: read, search, learn conditionals, count every row, compare."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from gomea_bn.algorithms.gomea import GOMEA
from gomea_bn.data.content_order import counted_rows
from gomea_bn.data.files.reading import number_form
from gomea_bn.data.sources import is_in_pieces
from gomea_bn.data.table import Table, table_digest
from gomea_bn.data.weights import record_of_groups
from gomea_bn.errors import GomeaBnError, GomeaBnWarning, Option, Setting, check_verbose, give_warning
from gomea_bn.learning.averaging.families import (
    N_COPIES,
    ROWS_OF_LINES,
    average_in_time,
    interrupted_averaging,
    seconds_of_effects,
    with_target,
)
from gomea_bn.learning.checks import checked_network, seconds_of_checks
from gomea_bn.learning.learning_problem import check_learning
from gomea_bn.learning.options import (
    LearningOptions,
    check_options,
    columns_of_search,
    learner_section,
    limits_of,
    rows_of_search,
    rows_to_search,
    seconds_after_search,
    seed_of,
    table_to_learn,
    warn_of_cut_short,
    with_live_table,
)
from gomea_bn.learning.parameters import NetworkParameters
from gomea_bn.learning.search.rounds import SearchSettings
from gomea_bn.learning.search.search import search
from gomea_bn.learning.search.shown_cuts import Found
from gomea_bn.learning.warm_up import compile_kernels, size_of_table
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.parts import LEFT_OUT_COLUMNS, READ_DECIMAL, READ_FORMS
from gomea_bn.network.recorded import CUT_SHORT, FAMILY_SCORES
from gomea_bn.parameters import check_declared, declarations
from gomea_bn.problems.scores import score_record
from gomea_bn.runtime.checkpoints import CheckpointOption
from gomea_bn.runtime.fit_clock import BEFORE_SEARCH, NO_LIMIT, SEARCH, FitClock
from gomea_bn.runtime.interrupts import delayed_interrupts
from gomea_bn.runtime.jit import kernels_are_cached
from gomea_bn.runtime.kernel_progress import announced_kernels, compiling
from gomea_bn.runtime.limits import Limits
from gomea_bn.runtime.phases import COMPARISON, DENSITIES, begin_phase
from gomea_bn.runtime.threads import in_background, one_blas_thread, spare_threads, thread_count
from gomea_bn.texts import counted, listed

if TYPE_CHECKING:
    from gomea_bn.network.conditionals.conditionals import Conditionals

SECONDS_OF_COUNT = 4e-6
"""Seconds that a count of all rows after the search takes for a value."""


@dataclass(frozen=True, eq=False)
class RowEvidence:
    """The rows of a table that a search learns from, and those that its network counts in the end.

    Both are the same in most tables. A search leaves out copies of rows, rows of the same group, and repeats rows by
    their weights. Its network counts every row of the table, by its weight.

    Attributes
    ----------
    given : Table
        The table, whose `all_rows` are the rows with their weights if these or groups decide how rows count.
    searched : Table
        Rows of the table that a search learns from.
    """

    given: Table
    searched: Table

    @classmethod
    def of(cls, table: Table, *, without_copies: bool = False) -> Self:
        """Return the evidence of a table, from which a search may leave out copies of rows."""
        positions = counted_rows(table) if without_copies else None
        return cls(table, table if positions is None else table.take(positions))

    @property
    def has_copies(self) -> bool:
        """Whether the table has copies of rows that the search leaves out."""
        return self.searched is not self.given

    @property
    def n_counted(self) -> int:
        """Number of rows that the network counts after the search; 0 if these are the rows searched."""
        if self.given.all_rows is not None:
            return self.given.all_rows.table.n_rows
        return self.given.n_rows if self.has_copies else 0

    @property
    def final(self) -> tuple[Table, NDArray[np.float64] | None, int | None]:
        """Rows that the network counts in the end, their weights, and the number of rows that they are evidence like.

        Rows without weights, float64 (n_rows,), count alike. Without a number it is that of the weights.
        """
        given = self.given
        if given.all_rows is not None:
            n_evidence = None if given.groups is None else given.n_rows
            return given.all_rows.table, given.all_rows.weights, n_evidence
        return given, None, self.searched.n_rows if self.has_copies else None

    def network(self, network: DiscretizedBayesNet) -> DiscretizedBayesNet:
        """Return the network of a search with every row counted, and with a record of how rows count."""
        given = self.given
        record: dict[str, Any] = {}
        if given.groups is not None:
            record["groups"] = record_of_groups(given)
        if given.censoring is not None:
            record["censoring"] = given.censoring._asdict()
        with delayed_interrupts():
            if self.has_copies:
                from gomea_bn.network.updates import with_copies

                n_evidence = self.searched.n_rows
                begin_phase("Counting all rows", COMPARISON)
                network = with_copies(network, given)
                copies = {"rows": given.n_rows, "evidence": n_evidence}
                record |= {"n_rows": given.n_rows, "copies": copies}
            elif (final := given.all_rows) is not None:
                if given.groups is None:
                    sizes = {"rows": final.table.n_rows, "searched": network.metadata["n_rows"]}
                    record["weights"] = {**sizes, "sum": float(final.weights.sum())}
                from gomea_bn.network.updates import network_of_all_rows

                network = network_of_all_rows(network, final.table, final.weights)
        return network.with_metadata(**record) if record else network


# seconds that the choice of the parents of a target takes for a value, most of those that are left, and seconds that it
# takes for a column in any case
_SECONDS_OF_TARGET, _MOST_OF_TARGET, _SECONDS_OF_CANDIDATE = 2.5e-5, 0.5, 5e-3

_has_compiled: list[bool] = []


def fit_network(
    learner: NetworkParameters,
    X: Any,
    sample_weight: ArrayLike | None,
    start: DiscretizedBayesNet | None,
    checkpoint: CheckpointOption,
) -> None:
    """Learn the network of a learner from a table, as its `fit` describes, and set the fitted attributes."""
    check_verbose(learner.verbose)
    with with_live_table(learner.verbose, None), one_blas_thread():
        # a mistake in options that need no table shows before it is read
        limits = limits_of(learner)
        check_options(learner, GOMEA)
        check_declared(declarations(type(learner)).values(), learner.get_params(deep=False))
        if start is not None and not isinstance(start, DiscretizedBayesNet):
            raise GomeaBnError(
                [Option("start"), f" must be a DiscretizedBayesNet or None, got {type(start).__name__}."]
            )
        fit = _Fit(learner, limits, FitClock(limits.max_seconds), start, checkpoint)
        if is_in_pieces(X):
            fit.of_pieces(X, sample_weight)
        else:
            fit.of_table(X, sample_weight)
        fit.record()


@dataclass(frozen=True)
class _Fit:
    """One fit of a learner, whose fitted attributes it sets: its limits, clock, start and checkpoint."""

    learner: NetworkParameters
    limits: Limits
    clock: FitClock
    start: DiscretizedBayesNet | None
    checkpoint: CheckpointOption

    @property
    def is_averaged(self) -> bool:
        """Whether the network learns conditionals after the search."""
        return self.learner.density == "averaged"

    def of_pieces(self, source: Any, sample_weight: ArrayLike | None) -> None:
        """Learn from a table in pieces."""
        learner = self.learner
        for name, value, why, way in (
            ("target", learner.target, "left-out rows choose its parents", "give a sample of the rows"),
            (
                "sample_weight",
                sample_weight,
                "pieces are counted where they lie",
                "repeat the rows of the pieces",
            ),
            ("groups", learner.groups, "pieces are counted where they lie", "give one table"),
            ("duration", learner.duration, "it decides how rows count", "give one table"),
        ):
            if value is not None:
                raise GomeaBnError([Option(name), f" needs a table in memory: {why}."], [way])
        self.search_sample(source)
        self.compare(learner.table_, clock=NO_LIMIT, of_sample=True)

    def of_table(self, source: Any, sample_weight: ArrayLike | None) -> None:
        """Learn from a table in memory."""
        learner = self.learner
        begin_phase("Reading the table", SEARCH)
        table = self.read(source, sample_weight)
        # copies of rows are no further evidence where densities are smooth
        is_smooth = self.is_averaged and LearningOptions.of(learner).scores_shapes(table)
        evidence = RowEvidence.of(table, without_copies=is_smooth and table.n_rows <= learner.sample_rows)
        if evidence.searched.n_rows > rows_to_search(learner, evidence.searched):
            self.search_sample(evidence.searched)
            learner.table_ = table
        else:
            self.search_table(evidence, may_simplify=is_smooth and not table.n_missing)
        learner.network_ = evidence.network(learner.network_)
        self.compare(*evidence.final, clock=self.clock)

    def read(self, source: Any, sample_weight: ArrayLike | None) -> Table:
        """Return the table to learn from; one that the options do not fit is an error."""
        learner = self.learner
        table = table_to_learn(
            source,
            sample_weight,
            kinds=learner.kinds,
            missing=learner.missing,
            max_levels=learner.max_levels,
            groups=learner.groups,
            target=learner.target,
            duration=learner.duration,
            horizon=learner.horizon,
        )
        if LearningOptions.of(learner).asks_discretizer:
            table.require_complete("A discretizer that proposes cuts", Setting("missing", "drop"))
        if learner.target is not None:
            from gomea_bn.learning.target import check_target_of

            check_target_of(learner.get_params(deep=False), table, rows_to_search(learner, table))
        return table

    def search_table(self, evidence: RowEvidence, *, may_simplify: bool) -> None:
        """Search for the network of rows in memory, and learn its conditionals from these.

        Edges that left-out rows do not need go, if they may.
        """
        learner, table = self.learner, evidence.given
        n_threads = thread_count(learner.n_jobs)
        section, seed = learner_section(
            learner, self.checkpoint, table, seed_of(learner.random_state), **_started_from(self.start)
        )
        settings = SearchSettings(learner.algorithm or GOMEA(), self.limits, seed, n_threads, section=section)
        rows = columns_of_search(evidence.searched, learner.shape)
        n_columns = len(rows.names)
        count = SECONDS_OF_COUNT * evidence.n_counted * n_columns
        with spare_threads(n_threads):
            if not self.is_averaged:
                self.search(rows, table, settings)
            else:
                after = seconds_after_search(self.limits, _n_values(rows), count)
                found = self.search(rows, table, settings, after)
                checks = seconds_of_checks(max(rows.n_rows, evidence.n_counted), n_columns, self.clock)
                before = self.clock.before(count + checks)
                self.learn_conditionals(rows, found.conditionals, before, may_simplify=may_simplify)
        learner.network_ = learner.network_.in_order(table.names)

    def search_sample(self, source: Any) -> None:
        """Search for the network of a sample, improve it over all rows, and keep it with tables of all rows."""
        from gomea_bn.learning.many_rows import Improvement, opened_counter

        learner, n_threads = self.learner, thread_count(self.learner.n_jobs)
        with spare_threads(n_threads), opened_counter(source, learner.scheduler, learner.n_jobs) as counter:
            # the compiler starts after the look at the files
            compile_many_rows()
            rows = Improvement(learner, source, counter, self.checkpoint, self.clock)
            with rows.about_sample():
                limits = rows.limits_of_search(self.limits)
                settings = SearchSettings(
                    learner.algorithm or GOMEA(), limits, rows.seed, n_threads, section=rows.part
                )
                found = self.search(rows.sample, rows.given_sample, settings)
            begin_phase(f"Improving the network over all {rows.n_rows:,} rows", COMPARISON)
            network, learner.score_, record = rows.run(learner.network_, found.problem, learner.stopped_by_)
        learner.network_ = network.in_order(rows.given_sample.names)
        if record["stopped_by"] in ("interrupt", "max_seconds"):
            learner.statistics_["improvement_cut_short"] = 1
        if rows.sample.n_rows < min(rows.n_rows, learner.sample_rows):
            learner.statistics_["preparation_cut_short"] = 1
        learner.fit_seconds_ = record["seconds"]
        if record["stopped_by"] == "interrupt":
            learner.stopped_by_ = "interrupt"

    def search(self, rows: Table, given: Table, settings: SearchSettings, after: float = 0.0) -> Found:
        """Search for the network of some rows, keep it with tables counted from them, and return what was found.

        Their columns stand in the order of the search, and those of the given table, which may have copies of them, in
        that of the user. `after` seconds stay for what follows the search.
        """
        learner, start = self.learner, self.start
        if start is not None and not set(start.names) & set(rows.names):
            raise GomeaBnError(
                [
                    Option("start"),
                    f" must share columns with the table, got a network of {listed(map(repr, start.names), 3)} for a "
                    f"table of {listed(map(repr, rows.names), 3)}.",
                ]
            )
        options = LearningOptions.of(learner, rows.n_rows)
        if learner.target is not None:
            from gomea_bn.learning.target import knowledge_around

            options = replace(options, knowledge=knowledge_around(learner.knowledge, rows, learner.target))
        if not kernels_are_cached():
            # wrong options are an error before the wait for the compiler
            check_learning(rows, options)
        compile_kernels(**size_of_table(rows, has_curves=options.has_curves))
        digest = in_background(table_digest, given)
        after_search = (DENSITIES, COMPARISON) if self.is_averaged else ()
        begin_phase(f"Preparing {counted(len(rows.names), 'column')}", SEARCH, *after_search)
        with with_live_table(learner.verbose, learner.callback) as callback:
            found = search(
                rows_of_search(rows, options.shape),
                options,
                replace(settings, callback=callback),
                clock=self.clock,
                after=after,
                start=start,
            )
        # Ctrl-C must not lose what the search has found
        with delayed_interrupts():
            settings.section.close()
            network, score = _network_of_search(
                learner, rows, found, seed=settings.seed, data_digest=digest.result()
            )
            record: dict[str, Any] = _started_from(start)
            if given.reading.na_values is not None:
                record["na_values"] = list(given.reading.na_values)
            learner._keep_network(network.with_metadata(**record), score, found.result.history)
            n_pairs = found.problem.n_edge_genes
            learner._keep_search(given, n_pairs, found.result, settings.seed, self.clock.seconds)
        return found

    def learn_conditionals(
        self, rows: Table, conditionals: Conditionals | None, clock: FitClock, *, may_simplify: bool
    ) -> None:
        """Learn the conditionals of the network from rows; Ctrl-C leaves it with its tables alone, with a warning.

        Given conditionals fill missing cells first. Edges that left-out rows do not need go before, if they may. All of
        it ends when the time of the clock is up, apart from what it needs at least.
        """
        learner = self.learner
        network = learner.network_
        if conditionals is not None:
            network = network.changed(conditionals=conditionals)
        line, prefer = learner.line, learner.prefer
        of_columns = clock
        if learner.target is not None:
            of_target = min(_SECONDS_OF_TARGET * _n_values(rows), _MOST_OF_TARGET * max(clock.left, 0.0))
            of_target = max(of_target, _SECONDS_OF_CANDIDATE * len(rows.names))
            of_columns = clock.before(of_target)
        try:
            if may_simplify and prefer == "simple":
                from gomea_bn.learning.averaging.simplest import simplest_network

                begin_phase("Judging edges by left-out rows", DENSITIES, COMPARISON)
                network = simplest_network(
                    network,
                    rows,
                    line=line,
                    random_state=learner.seed_,
                    clock=of_columns.before(seconds_of_effects(network, rows.n_rows)),
                )
                learner.score_ = network.metadata["score"]
            begin_phase(f"Fitting the densities of {counted(len(rows.names), 'column')}", COMPARISON)
            network = average_in_time(network, rows, N_COPIES, line, prefer, learner.seed_, of_columns)
            if learner.target is not None:
                from gomea_bn.learning.target import rules_of_target

                begin_phase(f"Choosing the parents of {learner.target!r}", COMPARISON)
                network = with_target(
                    network,
                    rows,
                    learner.target,
                    rules_of_target(network, rows, learner.target, learner.get_params(deep=False)),
                    line=line,
                    prefer=prefer,
                    random_state=learner.seed_,
                    clock=clock,
                )
            learner.network_ = network
        except KeyboardInterrupt:
            give_warning(interrupted_averaging("network_", learner.target))

    def compare(
        self,
        rows: Table,
        weights: NDArray[np.float64] | None = None,
        n_evidence: int | None = None,
        *,
        clock: FitClock,
        of_sample: bool = False,
    ) -> None:
        """Compare the network with rows, and keep them and the differences; see `checked_network`."""
        learner = self.learner
        begin_phase("Comparing the network with the rows")
        with delayed_interrupts():
            learner.network_ = checked_network(
                learner.network_,
                rows,
                learner.seed_,
                weights,
                n_evidence,
                of_sample=of_sample,
                clock=clock,
            )

    def record(self) -> None:
        """Record the seconds of the fit, and what its clock has cut short, and warn of what a reader must know."""
        learner, clock = self.learner, self.clock
        _warn_of_many_probabilities(learner.network_)
        learner.fit_seconds_ = max(learner.fit_seconds_, clock.seconds)
        # `stopped_by_` says that the clock has ended the search
        if learner.stopped_by_ == "max_seconds":
            clock.note(SEARCH)
        if not clock.cut_short:
            return
        learner.network_ = learner.network_.with_metadata(**{CUT_SHORT: clock.cut_short})
        others = [name for name in clock.cut_short if name != SEARCH]
        if not set(others) <= set(BEFORE_SEARCH):
            learner.statistics_["conclusion_cut_short"] = 1
        warn_of_cut_short(others)


def _n_values(rows: Table) -> int:
    """Return the number of values that conditionals are learned from."""
    return min(rows.n_rows, ROWS_OF_LINES) * len(rows.names)


def _started_from(start: DiscretizedBayesNet | None) -> dict[str, str]:
    """Return the digest of the network from which a search begins, as records and checkpoints have it."""
    if start is None:
        return {}
    return {"started_from": hashlib.sha256(start.to_json().encode()).hexdigest()}


def compile_many_rows(announce: Callable[[str], object] | None = None) -> float:
    """Compile or load the kernels of a table of many rows by learning from a few, and return the seconds this took.

    `announce` receives a line on each kernel that takes long, if kernels are not in the cache of this machine; by
    default the line is printed. Ctrl-C is a `KeyboardInterrupt`, for there is no result yet that it could keep.
    """
    if _has_compiled:
        return 0.0
    _has_compiled.append(True)
    began = perf_counter()
    x = np.random.default_rng(0).normal(size=1_500)
    frame = pd.DataFrame({"x": x, "y": x[::-1], "k": np.where(x > 0, "a", "b")})
    from gomea_bn.learning.many_rows import print_line

    learner = NetworkParameters(max_evaluations=200, sample_rows=1_000, random_state=1)
    with announced_kernels(announce or print_line), compiling(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # frames of pieces may be read-only, and those of a table are not
        sources: tuple[Any, ...] = ([frame], frame)
        for source in sources:
            fit_network(learner, source, None, None, None)
            # the network of an interrupted search, or without the conditionals that Ctrl-C left out
            if learner.stopped_by_ == "interrupt" or learner.network_.conditionals is None:
                _has_compiled.clear()
                raise KeyboardInterrupt
    return perf_counter() - began


def _network_of_search(
    learner: NetworkParameters, table: Table, found: Found, *, seed: int, data_digest: str
) -> tuple[DiscretizedBayesNet, float]:
    """Return the network of a search with tables counted from the rows, and its score in nats.

    A network that breaks a rule about edges is a mistake of the search, and a `RuntimeError`.
    """
    problem, learned, result = found.problem, found.network, found.result
    cuts = learned.cuts
    cardinality = [len(c.levels) if c.levels else len(cuts[c.name]) + 1 for c in table.columns]
    broken = problem.edge_rules.violations(table.names, learned.edges, cardinality)
    if broken:
        raise RuntimeError(
            f"The learned network breaks the knowledge ({'; '.join(broken)}); please report this."
        )
    method, rule = problem.scorer.method, problem.scorer.rule
    left_out = dict.fromkeys(table.reading.drop, "the option drop names it") | dict(table.left_out)
    if table.groups is not None and table.groups.column not in table.names:
        left_out[table.groups.column] = "it names the groups of the rows"
    forms = {
        name: form
        for name, form in table.reading.forms.items()
        if name in table.names and number_form(form) is not None
    }
    # the search charged for void edges, which the network lacks
    score = -float(result.F[0]) + learned.n_void * rule.edge_cost
    scores = learned.family_scores
    network = learned.over(
        table,
        pseudo_count=learner.pseudo_count,
        metadata={
            "scoring_method": method.name,
            "score": score,
            "seed": seed,
            "n_eval": result.n_eval,
            "n_rows": table.n_rows,
            **({"rows_searched": problem.scorer.n_rows} if problem.scorer.n_rows < table.n_rows else {}),
            "fixed_cut_points": sorted(learner.cut_points or ()),
            "data_sha256": data_digest,
            "shape": learner.shape,
            **({LEFT_OUT_COLUMNS: left_out} if left_out else {}),
            **({READ_FORMS: forms} if forms else {}),
            **({READ_DECIMAL: table.reading.decimal} if forms and table.reading.decimal else {}),
            **learned.record,
            # rows with missing values have no score that is a sum over all rows
            **({FAMILY_SCORES: scores} if scores and not table.n_missing else {}),
            **score_record(method, rule, learner.penalty),
        },
    )
    return network, score


def _warn_of_many_probabilities(network: DiscretizedBayesNet) -> None:
    """Warn the caller of `fit` if a network has more free parameters than rows, and name its largest table.

    Tables that are computed from conditionals need no rows for each of their probabilities.
    """
    n_rows = network.metadata["n_rows"]
    if network.conditionals is not None or network.n_parameters <= n_rows:
        return
    tables = network.tables
    name = max(network.names, key=lambda name: tables[name].size)
    warning = GomeaBnWarning(
        f"The network has {network.n_parameters:,} free parameters, more than the "
        f"{counted(n_rows, 'row')}. The largest table is that of {name!r}, with "
        f"{counted(tables[name].size, 'cell')}. Few rows decide each of its probabilities.",
        ["allow fewer parents or smaller tables"],
    )
    give_warning(warning)
