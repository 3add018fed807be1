"""The search for one network: preparation, the first search, searches on completed rows, and the shown cuts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gomea_bn.data.table import Table
from gomea_bn.learning.learning_problem import learning_problem
from gomea_bn.learning.options import (
    LearningOptions,
    limits_after_preparation,
    seconds_of_columns,
    worthwhile_gain,
)
from gomea_bn.learning.search.rounds import SearchRounds, SearchSettings
from gomea_bn.learning.search.shown_cuts import Found, with_shown_cuts
from gomea_bn.learning.search.staged_search import searched, start_of
from gomea_bn.network.recorded import NetworkLike
from gomea_bn.problems.cuts.shape_fit import table_shapes
from gomea_bn.problems.scores import reported, reporting
from gomea_bn.problems.structure import StructureProblem
from gomea_bn.runtime.fit_clock import BEFORE_SEARCH, FitClock
from gomea_bn.runtime.interrupts import delayed_interrupts
from gomea_bn.runtime.limits import Result

# share of the seconds after which a preparation makes no further first cuts, and the search must begin
_SHARE_OF_PREPARATION = 0.5
# share of complete rows from which these alone are searched
_NEARLY_ALL = 0.8


def search(
    table: Table,
    options: LearningOptions,
    settings: SearchSettings,
    *,
    clock: FitClock,
    after: float = 0.0,
    share: float = 1.0,
    start: NetworkLike | None = None,
) -> Found:
    """Search for the best network of a table, whose rows stand in the order of the search.

    Ctrl-C ends the search that is running, and what has been found is completed. The limits of the settings are those
    of everything together: they pay for a share of the seconds that the preparation of the table takes, which began
    with the clock, that of the whole fit. `after` seconds stay for what follows the search. `start` is a network from
    whose graph and cuts the search begins.

    If nearly all rows are complete, these alone are searched: they show all dependences, and need no completion.
    """
    if options.has_curves and not options.asks_discretizer and (complete := _nearly_all(table)) is not None:
        found = search(complete, options, settings, clock=clock, after=after, share=share, start=start)
        shapes = {name: table_shapes(table)[name].shape for name in found.network.shapes}
        return replace(found, network=replace(found.network, shapes=shapes))
    most, preparation = settings.limits.max_seconds, clock
    needed = seconds_of_columns(settings.limits, len(table.columns)) if after else 0.0
    if most is not None and clock.max_seconds is not None and np.isfinite(most):
        preparation = clock.before(clock.max_seconds - _SHARE_OF_PREPARATION * (most - needed))
    problem = learning_problem(table, options, clock=preparation)
    is_cut_short = not set(clock.cut_short).isdisjoint(BEFORE_SEARCH)
    settings = replace(
        settings,
        limits=limits_after_preparation(settings.limits, share * clock.seconds, after, needed),
        callback=reporting(settings.callback, problem.scorer.constant_score),
    )
    if settings.limits.least_gain is not None:
        settings = settings.within(replace(settings.limits, least_gain=worthwhile_gain(table.n_rows)))
    begin = None if start is None else start_of(start, table, problem, options.min_bin_count)
    if options.asks_discretizer:
        from gomea_bn.learning.search.discretizer_rounds import DiscretizerSearch

        problem, result = DiscretizerSearch(problem, table, options, settings.part("search")).run(begin)
        found = _shown(problem, result, clock)
    elif table.n_missing and (options.has_curves or not _is_counted_exactly(problem, table)):
        from gomea_bn.learning.search.completed_tables import with_completions

        found = with_completions(problem, table, options, SearchRounds(settings), begin, clock)
    else:
        found = _shown(problem, searched(problem, settings.part("search"), begin), clock)
    if is_cut_short:
        found.result.statistics["preparation_cut_short"] = 1
    return replace(found, result=reported(found.result, found.problem.scorer.constant_score))


def _nearly_all(table: Table) -> Table | None:
    """Return the complete rows of a table with missing values; None if these are few, or lack values of a column."""
    if not table.n_missing:
        return None
    complete = table.complete_rows()
    if complete.n_rows < _NEARLY_ALL * table.n_rows or complete.n_varying < table.n_varying:
        return None
    return complete


def _shown(problem: StructureProblem, result: Result, clock: FitClock) -> Found:
    """Return what a search has found, which Ctrl-C must not lose."""
    with delayed_interrupts():
        return Found(problem, *with_shown_cuts(problem, result, clock))


def _is_counted_exactly(problem: StructureProblem, table: Table) -> bool:
    """Return whether rows with missing values need no completion: counts of the other rows are exact without it.

    That is so if the rules allow a single graph, in which columns with gaps have no children.
    """
    rules = problem.edge_rules
    has_gaps = np.array([column.n_missing > 0 for column in table.columns])
    return rules.is_settled and not rules.required[has_gaps].any()
