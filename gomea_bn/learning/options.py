"""What the learners share: options of the search space, checks, seeds, limits, densities of rows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gomea_bn.data.censoring import with_outcome
from gomea_bn.data.columns import MANY_ROWS
from gomea_bn.data.content_order import in_column_order, in_row_order
from gomea_bn.data.sources import is_in_pieces, source_table
from gomea_bn.data.table import Table, column_digests
from gomea_bn.data.weights import rows_to_search_in_groups
from gomea_bn.errors import (
    GomeaBnError,
    GomeaBnWarning,
    Option,
    Setting,
    check_callable,
    check_choice,
    check_number,
    check_verbose,
    give_warning,
    is_integer,
    nearest,
    row_list,
)
from gomea_bn.learning.parameters import FORMER_PATIENCE, LearnerParameters, NetworkParameters
from gomea_bn.network.parts import check_pseudo_count
from gomea_bn.parameters import Parameters, check_declared, declarations
from gomea_bn.problems.cuts.interval_dp import CutLimits
from gomea_bn.problems.cuts.policies import POLICY_FAMILIES
from gomea_bn.problems.cuts.shape_fit import with_point_masses
from gomea_bn.problems.knowledge import ExpertKnowledge
from gomea_bn.problems.scores import SCORING_METHODS
from gomea_bn.runtime.checkpoints import CheckpointOption, Section, opened, option_texts
from gomea_bn.runtime.limits import Callback, Limits
from gomea_bn.runtime.phases import present_table, showing
from gomea_bn.texts import counted, listed

_DECLARED = declarations(NetworkParameters)
OPTIMAL = "optimal"
"""The discretizer that prices cuts during the search."""
_DEFAULT_FAMILY = "equal-frequency"
# number of rows for which "auto" is resolved where there is no table
_USUAL_ROWS = 10_000


def automatic_bins(n_rows: int) -> int:
    """Return the largest number of bins that "auto" allows: 1.5 times the cube root of the rows, from 10 to 60."""
    return int(np.clip(round(1.5 * n_rows ** (1 / 3)), 10, 60))


def automatic_indegree(n_rows: int) -> int:
    """Return the largest number of parents that "auto" allows: log2 of the rows minus 2, from 3 to 12.

    With more parents most of their configurations have fewer than 4 rows, even if all parents have two values.
    """
    return int(np.clip(np.log2(n_rows) - 2, 3, 12))


class LearningOptions(NetworkParameters):
    """The options of a learner, checked and with numbers in place of "auto", for the score and the search space.

    Numbers of bins and parents are those of `automatic_bins` and `automatic_indegree`.
    """

    max_bins: int
    max_indegree: int | None

    @classmethod
    def of(cls, learner: LearnerParameters, n_rows: int = _USUAL_ROWS, **changes: Any) -> LearningOptions:
        """Return the options of a learner, some of them changed; "auto" is resolved for `n_rows` rows.

        Options that the learner lacks have the defaults of a learner of one network.
        """
        given = learner.get_params(deep=False)
        values = {name: given[name] for name in cls._parameter_names() if name in given} | changes
        automatic = {"max_bins": automatic_bins(n_rows), "max_indegree": automatic_indegree(n_rows)}
        for name, number in automatic.items():
            if isinstance(values[name], str) and values[name] == "auto":
                values[name] = number
        options = cls(**values)
        options._check()
        return options

    def _check(self) -> None:
        """Raise `GomeaBnError` for an option that no table allows."""
        if not (isinstance(self.discretizer, str) and self.discretizer in (OPTIMAL, *POLICY_FAMILIES)):
            from gomea_bn.discretization.proposals import check_proposer

            check_proposer(self.discretizer, "discretizer", (OPTIMAL, *POLICY_FAMILIES))
        if self.knowledge is not None and not isinstance(self.knowledge, ExpertKnowledge):
            raise GomeaBnError(f"knowledge must be an ExpertKnowledge or None, got {self.knowledge!r}.")
        if self.scoring_method is not None:
            check_choice("scoring_method", self.scoring_method, sorted(SCORING_METHODS))
        if self.cut_points is not None and not isinstance(self.cut_points, Mapping):
            raise GomeaBnError(f"cut_points must map column names to cuts, got {self.cut_points!r}.")
        check_declared(_DECLARED.values(), self.get_params(deep=False))

    @property
    def family(self) -> str:
        """Family of cuts in the initial libraries: equal width, or equal frequency for all other discretizers."""
        is_family = isinstance(self.discretizer, str) and self.discretizer in POLICY_FAMILIES
        return str(self.discretizer) if is_family else _DEFAULT_FAMILY

    def scoring_of(self, table: Table) -> str:
        """Return the name of the scoring method; the default depends on the discretizer, the shape and the table."""
        if self.scoring_method is not None:
            return self.scoring_method
        prices = self.shape != "uniform" or any(column.is_continuous for column in table.columns)
        return "density-bd" if self.discretizer == OPTIMAL and prices else "density-bic"

    def scores_shapes(self, table: Table) -> bool:
        """Return whether the score is the default one of tables with continuous columns, with shapes inside bins.

        Copies among the rows and edges that left-out rows do not need then have no weight. Published settings and other
        scores count every row, and keep the network of the best score.
        """
        has_shapes = self.shape != "uniform" and any(column.is_continuous for column in table.columns)
        is_default = self.discretizer == OPTIMAL and self.prior == "dirichlet"
        return is_default and has_shapes and self.scoring_of(table) == "density-bd"

    @property
    def has_curves(self) -> bool:
        """Whether columns may be sums of curves of their parents, which needs the marginal likelihood as score."""
        return self.curves == "auto" and self.discretizer == OPTIMAL

    @property
    def cut_limits(self) -> CutLimits:
        """Limits of cuts that the search prices."""
        return CutLimits(1, self.max_bins, self.min_width, self.min_bin_count)

    @property
    def asks_discretizer(self) -> bool:
        """Whether a discretizer proposes cuts during the search."""
        return self.discretizer not in (self.family, OPTIMAL)


def refuse_times(options: Mapping[str, Any], what: str) -> None:
    """Raise `GomeaBnError` if the options of a learner name times until an event, for which something has no place."""
    if options["duration"] is not None:
        text = f" is an option of `BayesNetLearner.fit` alone: {what} would take censored rows as they are."
        raise GomeaBnError([Option("duration"), text], ["leave it out"])


def table_to_learn(
    source: Any,
    sample_weight: ArrayLike | None = None,
    *,
    kinds: Mapping[str, str] | None,
    missing: str,
    max_levels: int,
    groups: str | None = None,
    target: str | None = None,
    duration: str | None = None,
    horizon: float | None = None,
) -> Table:
    """Return the table of `source_table`, in which a target with a duration is the event within the horizon.

    Of one with weights or groups these are the rows to search, with the point masses of all rows.
    """
    if is_in_pieces(source):
        raise GomeaBnError(
            "Fronts and ensembles take no table in pieces, since they judge networks by rows in memory.",
            ["give one table, such as pandas.concat(frames) or pandas.read_parquet(folder)"],
        )
    table = source_table(
        source, kinds=kinds, missing=missing, max_levels=max_levels, groups=groups, duration=duration
    )
    if sample_weight is not None:
        from gomea_bn.data.weights import refuse_groups, weighted_table

        refuse_groups(table)
        table = weighted_table(table, sample_weight)
    table = with_outcome(table, target, duration, horizon)
    # before rows are drawn, whose numbers are not those of the table
    check_target(target, table)
    return rows_that_count(table)


def check_target(target: Any, table: Table) -> None:
    """Raise `GomeaBnError` unless the option `target` is None or a column with several values and none missing."""
    if target is None:
        return
    if not isinstance(target, str) or target not in table.names:
        wanted = f" must be a column of the table, got {target!r:.80}."
        raise GomeaBnError([Option("target"), wanted + nearest(str(target), table.names)])
    column = table.columns[table.names.index(target)]
    if column.is_constant:
        raise GomeaBnError(
            [Option("target"), f" must have several values, got {target!r}: {column.reason or 'constant'}."]
        )
    missing = np.flatnonzero(column.is_missing)
    if missing.size:
        raise GomeaBnError(
            [
                Option("target"),
                f" must not have missing values, got {counted(len(missing), 'missing value')} of {target!r} in "
                f"{row_list(missing)}.",
            ],
            ["drop these rows", Setting("missing", "drop")],
        )


def rows_that_count(table: Table) -> Table:
    """Return the table of the rows to learn from; those that groups or weights choose have the point masses of all.

    Raises `GomeaBnError` for rows of a single group.
    """
    groups = table.groups
    if groups is not None and groups.n_given is None and not np.ptp(groups.codes):
        raise GomeaBnError(
            [
                Option("groups"),
                f": all {counted(table.n_rows, 'row')} have one value of '{groups.column}', and would count as one "
                "observation.",
            ],
            ["name a column of several groups", "leave the option out if rows are independent"],
        )
    table = rows_to_search_in_groups(table)
    if table.all_rows is None:
        return table
    return with_point_masses(table, table.all_rows.table, table.all_rows.shares)


WORTHWHILE_GAIN = 1.0
"""Nats that twice the work of a search has to gain at least, or else the search is done."""
_WORTHWHILE_GAIN_OF_ROW = 1e-3

# parameters that change no result
_WITHOUT_EFFECT = ("callback", "n_jobs", "scheduler", "verbose")

# values per second of a limit: those that a whole fit with effects learns from, those that a search with curves does
# where tables alone follow it, and continuous ones that a search of tables prepares
_VALUES_PER_SECOND, _VALUES_OF_CURVES_PER_SECOND, _VALUES_OF_TABLES_PER_SECOND = 15_000, 50_000, 100_000
# fewest rows of a sample, and the share of the rows from which all of them are searched: a sample costs a climb
_FEWEST_ROWS, _NEARLY_ALL_ROWS = 1_000, 0.7
# a search has this share of the seconds of its preparation at least, up to a share of the limit
_SHARE_AFTER_PREPARATION = 0.5
_MOST_AFTER_PREPARATION = 0.25
# share of the limit that it has in any case
_LEAST_SHARE = 0.01
# seconds of the final tables per second of preparing
_SHARE_OF_TABLES = 0.3
# seconds that what follows a search takes for a value: shown cuts, edges, conditionals and checks; most of the limit
_SECONDS_AFTER_SEARCH = 1e-4
_MOST_AFTER_SEARCH = 0.5
# seconds that a column takes after a search in any case, which preparation and search leave, up to some of the limit
_SECONDS_OF_COLUMN, _MOST_OF_COLUMNS = 1.2e-2, 0.5


def rows_to_search(learner: LearnerParameters, table: Table) -> int:
    """Return the number of rows beyond which a sample is searched: fewer than `sample_rows` if the seconds are few.

    A search of some rows that ends is better than one of all rows that does not, and effects need time after it.
    Searches of tables without curves, and those for a target, have all of up to 50,000 rows.
    """
    n_continuous = sum(column.is_continuous for column in table.columns)
    if learner.max_seconds is None or not n_continuous:
        return learner.sample_rows
    if isinstance(learner, NetworkParameters) and learner.target is None and _has_curves(learner, table):
        has_effects = learner.density == "averaged" and learner.line != "none"
        of_second = _VALUES_PER_SECOND if has_effects else _VALUES_OF_CURVES_PER_SECOND
        affordable = max(of_second * learner.max_seconds / len(table.columns), _FEWEST_ROWS)
        if affordable >= _NEARLY_ALL_ROWS * table.n_rows:
            return learner.sample_rows
    elif table.n_rows <= MANY_ROWS < learner.sample_rows:
        return learner.sample_rows
    else:
        # searches on completed rows draw missing cells again and again
        of_second = _VALUES_PER_SECOND if table.n_missing else _VALUES_OF_TABLES_PER_SECOND
        affordable = of_second * learner.max_seconds / n_continuous
    return min(learner.sample_rows, max(int(affordable), _FEWEST_ROWS))


def _has_curves(learner: NetworkParameters, table: Table) -> bool:
    """Return whether the search of a table scores curves under the default score."""
    options = LearningOptions.of(learner)
    return options.has_curves and options.scores_shapes(table)


def sampled_table(learner: LearnerParameters, table: Table, seed: int) -> Table:
    """Return the rows of a table that a learner searches: all of at most `sample_rows` rows, otherwise a sample.

    The sample is smaller if the seconds are few for the columns, since all of it is prepared before the search. It has
    the rows with the extreme values of continuous columns, and the first row of every level, of every value of a column
    of few values, and with a gap, as the sample of a table in pieces has (`gomea_bn.data.survey`).
    """
    size = rows_to_search(learner, table)
    if table.n_rows <= size:
        return table
    if size < learner.sample_rows:
        columns = counted(len(table.columns), "column")
        rows = f"a sample of {size:,} of {table.n_rows:,} rows is searched"
        warning = f"The time limit is short for {columns}: {rows}."
        give_warning(GomeaBnWarning(warning, [Setting("max_seconds")]))
    from gomea_bn.data.survey import FIRST_ROWS, MOST_DISTINCT

    generator = np.random.default_rng(seed)
    positions = [generator.choice(table.n_rows, size, replace=False, shuffle=False)]
    for column in table.columns:
        if column.n_missing:
            positions.append(np.flatnonzero(column.is_missing)[:1])
        if column.levels is None:
            if len(np.unique(column.values[:FIRST_ROWS])) <= MOST_DISTINCT:
                _, first_rows = np.unique(column.values, return_index=True)
                positions.append(np.sort(first_rows)[:MOST_DISTINCT])
            # those that skip missing values look for them first
            first_of = (np.nanargmin, np.nanargmax) if column.n_missing else (np.argmin, np.argmax)
            positions.append(np.array([position_of(column.values) for position_of in first_of]))
        else:
            first = np.full(len(column.levels) + 1, -1, np.int64)
            # of equal levels the last one is assigned; missing values have the code -1
            first[column.values[::-1]] = np.arange(table.n_rows)[::-1]
            positions.append(first[:-1][first[:-1] >= 0])
    sample = table.take(np.unique(np.concatenate(positions)))
    # symbols of missing values were found when the table was read
    return replace(sample, reading=replace(sample.reading, na_values=()))


def columns_of_search(table: Table, shape: str) -> Table:
    """Return a table with its columns in the order in which a learner with the option `shape` searches them.

    It is `in_column_order`, since ties and random draws depend on order, and a user chose none.
    """
    return table if _keeps_order(table, shape) else in_column_order(table)


def rows_of_search(table: Table, shape: str) -> Table:
    """Return the rows of a table in the order in which a learner with the option `shape` searches and draws them.

    It is `in_row_order`, since sums over shapes and curves, draws for missing values and draws of rows depend on order.
    """
    return table if _keeps_order(table, shape) else in_row_order(table)


def _keeps_order(table: Table, shape: str) -> bool:
    """Return whether results are recorded that depend on the order of a table: those of published settings."""
    return shape == "uniform" and not table.n_missing


def check_options(learner: Any, algorithm: type) -> None:
    """Raise `GomeaBnError` for an invalid algorithm, callback, switch or pseudo-count.

    `algorithm` is the class that the learner's algorithm must be of, unless it is None.
    """
    if learner.algorithm is not None and not isinstance(learner.algorithm, algorithm):
        raise GomeaBnError(f"algorithm must be a {algorithm.__name__} or None, got {learner.algorithm!r}.")
    check_callable("callback", learner.callback)
    check_verbose(learner.verbose)
    if learner.pseudo_count is None:
        check_number("pseudo_count", None, 0)
    check_pseudo_count(learner.pseudo_count)


def learner_section(
    learner: Parameters, checkpoint: CheckpointOption, table: Table, seed: int, /, **options: Any
) -> tuple[Section, int]:
    """Return the section of a learner in its checkpoint, and its seed: that of the file if the learner has none.

    The parameters of the learner or ensemble must be those of the checkpoint, apart from those that change no result.
    `options` are values in place of parameters.
    """

    def digests() -> dict[str, str]:
        of_columns = {f"column {name!r}": digest for name, digest in column_digests(table).items()}
        if table.all_rows is None:
            return of_columns
        return of_columns | {
            "weighting of the rows": hashlib.sha256(table.all_rows.weights.tobytes()).hexdigest()
        }

    return section_of_data(learner, checkpoint, type(learner).__name__, digests, seed, **options)


def section_of_data(
    learner: Parameters,
    checkpoint: CheckpointOption,
    kind: str,
    digests: Callable[[], Mapping[str, str]],
    seed: int,
    /,
    **options: Any,
) -> tuple[Section, int]:
    """Return what `learner_section` returns, for a kind of run and the digests of its data by name."""
    has_seed = learner.get_params(deep=False)["random_state"] is not None

    def texts() -> dict[str, str]:
        values = {**learner.get_params(deep=False), **options, "random_state": seed}
        return option_texts({name: value for name, value in values.items() if name not in _WITHOUT_EFFECT})

    # checkpoints of earlier versions have the scheduler and the device
    free = (*_WITHOUT_EFFECT, "device", *(() if has_seed else ("random_state",)))
    section = opened(checkpoint, kind, texts, digests, free=free)
    if isinstance(checkpoint, Section):
        return section, seed
    return section, int(section.options.get("random_state", seed))


def limits_of(
    learner: LearnerParameters,
    *,
    worthwhile: float = WORTHWHILE_GAIN,
    former_patience: float | None = FORMER_PATIENCE,
) -> Limits:
    """Return the limits of a learner; raises `GomeaBnError` if they are invalid or none is set.

    The patience "auto" is that the search has a least gain, or, where the work is given as a number of evaluations or
    generations, the ratio that was the default before, so that these runs repeat.
    """
    counts = {"max_evaluations": learner.max_evaluations, "max_generations": learner.max_generations}
    patience, least_gain = learner.patience, None
    if isinstance(patience, str):
        check_declared([_DECLARED["patience"]], {"patience": patience})
        is_given = any(count is not None for count in counts.values())
        patience, least_gain = (former_patience, None) if is_given else (None, worthwhile)
    return Limits(learner.max_seconds, **counts, patience=patience, least_gain=least_gain)


def worthwhile_gain(n_rows: int) -> float:
    """Return the nats that twice the work of a search of some rows has to gain: more of them have larger scores."""
    return max(WORTHWHILE_GAIN, _WORTHWHILE_GAIN_OF_ROW * n_rows)


CUT_SHORT_WORDS = "The time limit cut short: "
"""Beginning of the warning of what the time limit of a fit has cut short."""


def warn_of_cut_short(names: Sequence[str]) -> None:
    """Warn of what the time limit of a fit has cut short, if anything."""
    if names:
        give_warning(GomeaBnWarning(f"{CUT_SHORT_WORDS}{listed(names)}.", [Setting("max_seconds")]))


def why_ended(learner: Any) -> str:
    """Return the beginning of a sentence on why the search of a fitted learner ended."""
    if learner.stopped_by_ == "done":
        return "Done, since as much work again gained hardly anything,"
    if learner.stopped_by_ == "max_seconds":
        return f"The limit of {learner.max_seconds:g} s ended the search before it was done,"
    return f"Stopped by {learner.stopped_by_}"


def why_unrepeatable(learner: LearnerParameters) -> str:
    """Return how the clock changed a run that its seed and its evaluations do not repeat, "" for other runs.

    The text is the beginning of a sentence.
    """
    counts = learner.statistics_
    if late := counts.get("discretizer_cut_short"):
        return f"The clock ended the discretizer in {late} of {counts['discretizer_runs']} runs"
    if counts.get("improvement_cut_short"):
        return "The clock or Ctrl-C ended the improvement over all rows"
    if counts.get("preparation_cut_short"):
        return "The preparation of the table was shortened by the limit on seconds"
    if counts.get("conclusion_cut_short"):
        return "The limit on seconds cut short what follows the search"
    if learner.stopped_by_ in ("max_seconds", "interrupt") and learner.table_.n_missing:
        return "The clock ended the search of a table with missing values"
    return ""


def seconds_after_search(limits: Limits, n_values: int, further: float) -> float:
    """Return the seconds of a limit that stay for what follows a search of averaged densities of some values.

    `further` seconds are those of a count of all rows, if others were searched.
    """
    return min(_SECONDS_AFTER_SEARCH * n_values + further, _MOST_AFTER_SEARCH * (limits.max_seconds or 0.0))


def seconds_of_columns(limits: Limits, n_columns: int) -> float:
    """Return the seconds of a limit that columns need after a search, however short it is."""
    return min(_SECONDS_OF_COLUMN * n_columns, _MOST_OF_COLUMNS * (limits.max_seconds or 0.0))


def limits_after_preparation(
    limits: Limits, seconds: float, after: float = 0.0, needed: float = 0.0
) -> Limits:
    """Return the limits that are left for a search when its table took some seconds to read and prepare.

    A share of these seconds stays for the tables of the network, whose cost grows with the same rows and columns, or
    `after` seconds for all that follows the search, if these are more. A
    search has at least half as many seconds as its preparation took, but no more than a quarter of `max_seconds`
    without those that are `needed` in any case for this, since a network without edges is worth no preparation.
    """
    most = (limits.max_seconds or 0.0) - needed
    least = max(min(_SHARE_AFTER_PREPARATION * seconds, _MOST_AFTER_PREPARATION * most), _LEAST_SHARE * most)
    return limits.after(seconds + max(_SHARE_OF_TABLES * seconds, after), least_seconds=least)


@contextmanager
def with_live_table(verbose: bool, callback: Callback | None) -> Iterator[Callback | None]:
    """Give the callback of a search: the given one, after a live table of the progress if `verbose`.

    The table also shows the phases that begin in the block. One that a block around this one shows is that of both.
    """
    if not verbose:
        yield callback
        return
    from gomea_bn.runtime.progress import LiveTable

    with ExitStack() as opened:
        live = present_table()
        if live is None:
            live = opened.enter_context(LiveTable())
            opened.enter_context(showing(live))

        def report(progress: Any) -> bool:
            return bool(live(progress)) | bool(callback is not None and callback(progress))

        yield report


def seed_of(random_state: Any) -> int:
    """Return the integer that repeats a run: `random_state` itself, or drawn from it or from the system."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint32)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**32, dtype=np.uint64))
    if is_integer(random_state) and random_state >= 0:
        return int(random_state)
    raise GomeaBnError(
        f"random_state must be an integer of at least 0, a NumPy generator or None, got {random_state!r}."
    )
