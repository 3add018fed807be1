"""The structure problem that GOMEA searches, made from a table and the options of a learner."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from threading import Event
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import extremes
from gomea_bn.data.content_order import FIXED_SEED
from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, Option, Setting, nearest
from gomea_bn.learning.options import OPTIMAL, LearningOptions
from gomea_bn.problems.curves import curve_data
from gomea_bn.problems.cuts.cut_column import ScoredVariable
from gomea_bn.problems.cuts.interval_dp import IntervalScore
from gomea_bn.problems.cuts.libraries import Pricing, first_cuts, library_capacity
from gomea_bn.problems.cuts.policies import (
    MAX_CARDINALITY,
    Policy,
    fixed_policy,
    policy_library,
    without_narrow_bins,
    without_sparse_bins,
)
from gomea_bn.problems.cuts.shape import ColumnShape
from gomea_bn.problems.cuts.shape_fit import table_shapes
from gomea_bn.problems.family_scorer import FamilyScorer, LibraryGrowth
from gomea_bn.problems.kernels.curves import CurveData
from gomea_bn.problems.kernels.score import BDEU, DIRICHLET, ScoreRule
from gomea_bn.problems.knowledge import EdgeRules, edge_rules
from gomea_bn.problems.parents import UNSCREENED_VARIABLES, candidate_pairs, ranked_pairs
from gomea_bn.problems.scores import ScoringMethod, score_rule, scoring_method
from gomea_bn.problems.structure import StructureProblem
from gomea_bn.runtime.fit_clock import CURVES, FIRST_BINS, FIRST_CUTS, NO_LIMIT, PAIRS, FitClock
from gomea_bn.runtime.phases import begin_part
from gomea_bn.runtime.threads import thread_pool
from gomea_bn.texts import counted, listed

# pricing adds finer cuts to the first libraries where they pay
_MOST_FIRST_BINS = 15
# the same where time is short
_MOST_LATE_BINS = 5
# local searches whose pairs join the screened ones: each takes about as long as ten scores of all pairs
_N_CLIMBS = 5
_MOST_CLIMBED_CELLS = 2e8

# by table, with what decides them
_first_of_tables: WeakKeyDictionary[Table, tuple[tuple[Any, ...], dict[int, list[NDArray[np.float64]]]]] = (
    WeakKeyDictionary()
)


def learning_problem(
    table: Table,
    options: LearningOptions,
    proposed: Mapping[str, Sequence[NDArray[np.float64]]] | None = None,
    *,
    pairs: NDArray[np.bool_] | None = None,
    clock: FitClock = NO_LIMIT,
) -> StructureProblem:
    """Return the problem of learning a network for a table.

    `proposed` inner cuts join those of the family in the library of their column; duplicates merge. `pairs`, bool (N,
    N), are those that the search may join, from an earlier problem for the same table; by default `searched_pairs`, and
    where "auto" screens discrete columns, also the pairs that local searches join. Once the time of the clock is up,
    shapes are quick ones, libraries begin with few bins, there are no curves, no further first cuts or ranks of pairs,
    and pairs are screened quickly.

    Raises `GomeaBnError` if the scoring method does not fit the columns or the discretizer, fixed cut points do not fit
    their column, or the knowledge contradicts itself or the table.
    """
    method, rule = scoring_of(table, options)
    of_columns = counted(len(table.columns), "column")
    begin_part(f"Fitting the shapes of {of_columns}")
    variables, rules = scored_variables(table, options, proposed, clock=clock)
    begin_part(f"Finding first cuts and curves of {of_columns}")
    # cross products need complete rows
    has_curves = options.has_curves and rule.kind == DIRICHLET and not table.n_missing
    has_curves = has_curves and not clock.late(CURVES)()
    growth, pricing = library_growth(table, variables, options), None
    first: dict[int, list[NDArray[np.float64]]] = {}
    if growth is not None:
        is_plain = proposed is None
        find_cuts = partial(
            _first_cuts, table, options, variables, method, is_plain=is_plain, is_late=clock.late(FIRST_CUTS)
        )
        first, curves = _cuts_and_curves(find_cuts, variables if has_curves else None)
        variables = with_cuts(variables, first)
        pricing = Pricing(options.cut_limits, [IntervalScore(method, rule)])
    else:
        curves = curve_data(variables) if has_curves else None
    scorer = FamilyScorer(variables, method, rule, growth=growth, curves=curves)
    is_discrete = all(v.n_levels for v in variables)
    start: list[tuple[int, int]] = []
    if pairs is None:
        begin_part(f"Choosing which pairs of {of_columns} may be joined")
        if is_discrete and options.max_candidates == "auto" and len(variables) > UNSCREENED_VARIABLES:
            pairs, start = _pairs_of_discrete(table, scorer, rules, clock)
        else:
            pairs = searched_pairs(table, scorer, rules, options.max_candidates, clock.late(PAIRS))
    return StructureProblem(
        scorer,
        rules,
        random_repair=options.random_repair,
        initial_indegree=options.initial_indegree,
        pricing=pricing,
        pairs=pairs,
        first_cuts=first,
        prices_parents=is_discrete,
        start=start,
    )


def _cuts_and_curves(
    find_cuts: Callable[[Callable[[], bool]], dict[int, list[NDArray[np.float64]]]],
    variables: Sequence[ScoredVariable] | None,
) -> tuple[dict[int, list[NDArray[np.float64]]], CurveData | None]:
    """Return the first cuts and the curves of variables, if any, made at the same time.

    `find_cuts`, which another thread calls, asks its argument whether to end early.
    """
    if variables is None:
        return find_cuts(lambda: False), None
    is_over = Event()
    with thread_pool() as pool:
        try:
            cuts = pool.submit(find_cuts, is_over.is_set)
            curves = curve_data(variables)
            return cuts.result(), curves
        finally:
            is_over.set()


def _pairs_of_discrete(
    table: Table, scorer: FamilyScorer, rules: EdgeRules, clock: FitClock
) -> tuple[NDArray[np.bool_] | None, list[tuple[int, int]]]:
    """Return the pairs of many discrete columns, and the edges of a graph from which their search begins.

    These are screened pairs, and those that local searches over all pairs join. Tables that are too large for these
    searches get pairs of parents that matter only together, and as long as there is time those around a graph.
    """
    from gomea_bn.problems.parents import pairs_of_climbs, widened_pairs

    generator = np.random.default_rng(FIXED_SEED)
    if ranks_pairs(table):
        is_late = clock.late(PAIRS)
        ranked = _varying_pairs(table, ranked_pairs(scorer, rules, is_late))
        if ranked is None or is_late():
            return ranked, []
        widened, edges = widened_pairs(scorer, rules, ranked, generator, is_late)
        return _varying_pairs(table, widened), edges
    pairs = searched_pairs(table, scorer, rules, "auto")
    joined = pairs_of_climbs(scorer, rules, _N_CLIMBS, generator)
    return None if pairs is None else np.logical_or(pairs, joined), []


def ranks_pairs(table: Table) -> bool:
    """Return whether "auto" ranks the pairs of a discrete table, which is too large for local searches."""
    n = len(table.columns)
    is_large = n > UNSCREENED_VARIABLES and n**2 * table.n_rows > _MOST_CLIMBED_CELLS
    return is_large and not any(column.is_continuous for column in table.columns)


def _first_cuts(
    table: Table,
    options: LearningOptions,
    variables: list[ScoredVariable],
    method: ScoringMethod,
    is_over: Callable[[], bool],
    *,
    is_plain: bool,
    is_late: Callable[[], bool],
) -> dict[int, list[NDArray[np.float64]]]:
    """Return the first cuts of a search; a table keeps them, since few options decide them.

    `is_plain` says whether the libraries of cuts hold those of the options alone. Cuts that `is_late` or `is_over`
    ended are not kept.
    """
    is_short = False

    def no_time_left() -> bool:
        nonlocal is_short
        is_short = is_short or is_over() or is_late()
        return is_short

    limits = options.cut_limits
    if not is_plain or options.cut_points:
        return first_cuts(variables, method, limits, no_time_left)
    decisive = options.shape, method, limits
    if table in _first_of_tables and _first_of_tables[table][0] == decisive:
        return dict(_first_of_tables[table][1])
    made = first_cuts(variables, method, limits, no_time_left)
    if not is_short:
        _first_of_tables[table] = decisive, made
    return dict(made)


def column_shapes(
    table: Table, options: LearningOptions, clock: FitClock = NO_LIMIT
) -> dict[str, ColumnShape]:
    """Return the fitted shapes of the continuous columns of a table; none if bins are uniform.

    A table keeps its shapes, since a search may ask for them repeatedly. The clock is that of `table_shapes`.
    """
    if options.shape == "uniform":
        return {}
    return {
        name: replace(
            fitted,
            may_be_uniform=options.shape == "auto",
            min_uniform_width=options.min_width * (fitted.shape.high - fitted.shape.low),
        )
        for name, fitted in table_shapes(table, clock).items()
    }


def check_learning(table: Table, options: LearningOptions) -> None:
    """Raise what `learning_problem` would raise for a table; but fit no shapes, screen no pairs, code no rows."""
    scoring_of(table, options)
    scored_variables(table, replace(options, shape="uniform", curves="none"))


def scoring_of(table: Table, options: LearningOptions) -> tuple[ScoringMethod, ScoreRule]:
    """Return the scoring method with its costs, and the score for the rows of a table."""
    method = scoring_method(options.scoring_of(table), cut_cost=options.cut_cost, edge_cost=options.edge_cost)
    continuous = [column.name for column in table.columns if column.is_continuous]
    if continuous and not method.density:
        raise GomeaBnError(
            [
                Option("scoring_method", method.name),
                f" is for discrete columns only, but {listed(map(repr, continuous), 5)} "
                f"{'are' if len(continuous) > 1 else 'is'} continuous. Use 'density-bic' or 'density-bd', or declare "
                "the columns discrete by ",
                Option("kinds"),
                ".",
            ]
        )
    rule = score_rule(
        method,
        table.n_rows,
        n_variables=table.n_varying,
        penalty=options.penalty,
        prior=options.prior,
        equivalent_sample_size=options.equivalent_sample_size,
        centred=options.shape != "uniform",
        equivalent=options.shape != "uniform",
    )
    is_priced = options.discretizer == OPTIMAL and not set(continuous) <= {*(options.cut_points or {})}
    if is_priced and rule.kind == BDEU:
        raise GomeaBnError(
            [
                Option("discretizer", OPTIMAL),
                " cannot price cuts under ",
                Option("prior", "bdeu"),
                ", whose gains depend on the number of bins.",
            ],
            [
                Setting("prior", "dirichlet"),
                Setting("scoring_method", "density-bic"),
                Setting("discretizer", "equal-frequency"),
            ],
        )
    return method, rule


def searched_pairs(
    table: Table,
    scorer: FamilyScorer,
    rules: EdgeRules,
    max_candidates: int | str | None,
    is_late: Callable[[], bool] = lambda: False,
) -> NDArray[np.bool_] | None:
    """Return the pairs of variables that the search may join, bool (N, N), symmetric; None stands for all pairs.

    These are the pairs of `candidate_pairs` without those of constant columns.
    """
    return _varying_pairs(table, candidate_pairs(scorer, rules, max_candidates, is_late))


def _varying_pairs(table: Table, pairs: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    """Return pairs, of which None stands for all, without those of constant columns."""
    varying = np.array([not column.is_constant for column in table.columns])
    if varying.all():
        return pairs
    both_vary = np.outer(varying, varying)
    return both_vary if pairs is None else np.logical_and(pairs, both_vary)


def library_growth(
    table: Table, variables: Sequence[ScoredVariable], options: LearningOptions
) -> LibraryGrowth | None:
    """Return how far libraries may grow if the search prices cuts, None if it does not."""
    n_priced = sum(v.has_free_cuts for v in variables)
    if options.discretizer != OPTIMAL or not n_priced:
        return None
    return LibraryGrowth(library_capacity(n_priced, table.n_rows), options.max_bins)


def scored_variables(
    table: Table,
    options: LearningOptions,
    proposed: Mapping[str, Sequence[NDArray[np.float64]]] | None = None,
    *,
    clock: FitClock = NO_LIMIT,
) -> tuple[list[ScoredVariable], EdgeRules]:
    """Return the columns of a table with their policy libraries, and the edges that the knowledge allows.

    Arguments are those of `learning_problem`. Raises `GomeaBnError` if fixed cut points do not fit their column, a
    column has too many levels, or the knowledge contradicts itself or the table.
    """
    fixed = dict(options.cut_points or {})
    _check_fixed(table, fixed)
    shapes = column_shapes(table, options, clock)
    is_late = clock.late(FIRST_BINS)
    variables = []
    for column in table.columns:
        shape = shapes.get(column.name)
        if column.levels is not None:
            if len(column.levels) > MAX_CARDINALITY:
                raise GomeaBnError(
                    f"Column {column.name!r} must have at most {MAX_CARDINALITY} levels to be searched, got "
                    f"{len(column.levels)}.",
                    ["merge rare levels", Setting("drop", column.name)],
                )
            variables.append(ScoredVariable.of(column))
            continue
        low, high = extremes(column.observed)
        if not np.isfinite(high - low):
            raise GomeaBnError(
                f"Column {column.name!r} ranges from {low:g} to {high:g}, too wide for float64.",
                ["rescale it"],
            )
        if column.name in fixed:
            policy = fixed_policy(column.name, column.observed, fixed[column.name])
            variables.append(ScoredVariable.of(column, (policy,), shape))
        else:
            is_priced = options.discretizer == OPTIMAL
            most = options.max_bins
            if is_priced:
                most = min(most, _MOST_LATE_BINS if is_late() else _MOST_FIRST_BINS)
            policies = policy_library(column.observed, options.family, most, joins_values=shape is not None)
            if is_priced:
                policies = _within_limits(policies, column.observed, (low, high), options)
            if proposed and column.name in proposed:
                policies = merged_library(policies, proposed[column.name])
            variables.append(ScoredVariable.of(column, policies, shape))
    fewest = [v.n_levels or v.policies[0].n_bins for v in variables]
    rules = edge_rules(options.knowledge, table.names, fewest, max_indegree=options.max_indegree)
    # the search joins constant columns to no others
    reasons = {column.name: column.reason for column in table.columns if column.is_constant}
    for edge in options.knowledge.required_edges if options.knowledge is not None else ():
        for name in edge:
            if name in reasons:
                raise GomeaBnError(
                    [
                        Option("required_edges"),
                        f": {edge[0]!r} -> {edge[1]!r} cannot be learned, since column {name!r} has no edges "
                        f"({reasons[name]}).",
                    ],
                    ["leave the edge out"],
                )
    return variables, rules


def _check_fixed(table: Table, fixed: Mapping[str, Iterable[float]]) -> None:
    columns = {column.name: column for column in table.columns}
    for name in fixed:
        if not isinstance(name, str):
            raise GomeaBnError(f"cut_points: column names must be text, got {name!r}.")
        if name not in columns:
            raise GomeaBnError([Option("cut_points"), f": unknown column {name!r}.{nearest(name, columns)}"])
        if not columns[name].is_continuous:
            remedy = [] if columns[name].is_constant else [Setting("kinds", "continuous", name)]
            raise GomeaBnError(
                [Option("cut_points"), f": column {name!r} is discrete ({columns[name].reason})."],
                ["leave its cut points out", *remedy],
            )


def with_cuts(
    variables: Sequence[ScoredVariable], proposed: Mapping[int, Iterable[NDArray[np.float64]]]
) -> list[ScoredVariable]:
    """Return the variables with further cuts, by position, in their libraries."""
    return [
        variable.with_policies(merged_library(variable.policies, proposed[v])) if v in proposed else variable
        for v, variable in enumerate(variables)
    ]


def merged_library(policies: Iterable[Policy], proposed: Iterable[NDArray[np.float64]]) -> tuple[Policy, ...]:
    """Return policies and those of the proposed inner cuts, without duplicates, by increasing number of bins."""
    by_cuts = {tuple(policy.cut_points.tolist()): policy for policy in policies}
    for cuts in proposed:
        by_cuts.setdefault(tuple(cuts.tolist()), Policy(cuts))
    return tuple(by_cuts[cuts] for cuts in sorted(by_cuts, key=lambda cuts: (len(cuts), cuts)))


def _within_limits(
    policies: Iterable[Policy],
    values: NDArray[np.float64],
    support: tuple[float, float],
    options: LearningOptions,
) -> tuple[Policy, ...]:
    """Return the policies with bins that are too narrow or hold too few rows for pricing merged into a neighbour."""
    cuts = [policy.cut_points for policy in policies]
    # shaped bins may be narrow
    if options.shape != "marginal":
        cuts = [without_narrow_bins(of_policy, support, options.min_width) for of_policy in cuts]
    return merged_library((), [without_sparse_bins(c, values, options.min_bin_count) for c in cuts])


# a column sorted for pricing: order, values, cuts and ranks, of 8 bytes each
_BYTES_OF_SORTED = 32
_BYTES_OF_CACHE = 1 << 26
# what families with as many configurations as rows need: slots and keys of 8 bytes, with at least a half of them free
_BYTES_OF_SLOTS = 2 * 8 * 2


def planned_bytes(table: Table, options: LearningOptions, n_threads: int, sample_rows: int) -> int:
    """Return about how many bytes the search for one network may take at most, the table and its ordered rows included.

    These are the codes of all policies, columns sorted for pricing, the cache of scores, and the work space of every
    thread. A search that is short takes less, since libraries fill up while it runs. At most `sample_rows` rows are
    searched.
    """
    n_rows = min(table.n_rows, sample_rows)
    fixed = options.cut_points or {}
    n_free = sum(column.is_continuous and column.name not in fixed for column in table.columns)
    of_table = sum(column.values.nbytes for column in table.columns)
    if options.discretizer == OPTIMAL:
        n_policies, of_sorted = library_capacity(max(n_free, 1), n_rows), _BYTES_OF_SORTED
    else:
        n_policies, of_sorted = options.max_bins, 0
    of_codes = n_rows * (n_free * n_policies + len(table.columns) - n_free)
    of_thread = n_rows * (_BYTES_OF_SLOTS + 4 * options.max_bins)
    return 2 * of_table + of_codes + n_free * n_rows * of_sorted + n_threads * of_thread + _BYTES_OF_CACHE
