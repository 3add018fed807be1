"""The search for a front: its options, the search for a single network, the search space, and both searches."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import inf, log, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.algorithms.mogomea import MOGOMEA
from gomea_bn.algorithms.optimisation import evaluate_genotypes
from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, Option, Setting, is_real, nearest
from gomea_bn.expert.distance import check_point_masses, draw_expert_sample, mentioned_names
from gomea_bn.expert.expert_network import ExpertNetwork
from gomea_bn.front.choice import nondominated_rows
from gomea_bn.front.objectives import COMPLEXITY, EXPERT_DISTANCE, MISFIT, TARGET, Objective, OwnObjective
from gomea_bn.learning.fronts.logits import LogitNetwork, logit_networks
from gomea_bn.learning.learning_problem import column_shapes, library_growth, scored_variables, searched_pairs
from gomea_bn.learning.options import (
    OPTIMAL,
    WORTHWHILE_GAIN,
    LearningOptions,
    check_options,
    check_target,
    limits_after_preparation,
    limits_of,
)
from gomea_bn.learning.parameters import FORMER_PATIENCE, FrontParameters
from gomea_bn.learning.search.rounds import SearchRounds, SearchSettings
from gomea_bn.learning.search.search import search
from gomea_bn.learning.search.shown_cuts import learned_cut_points, learned_edges
from gomea_bn.learning.search.staged_search import GraphAndCuts, genotype_of
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.inference.completion import completed_table
from gomea_bn.network.recorded import counted_parents
from gomea_bn.parameters import check_declared, declarations
from gomea_bn.problems.curves import curve_data
from gomea_bn.problems.cuts.cut_column import ScoredVariable
from gomea_bn.problems.cuts.interval_dp import IntervalScore
from gomea_bn.problems.cuts.libraries import Pricing
from gomea_bn.problems.cuts.policies import POLICY_FAMILIES
from gomea_bn.problems.front_problem import MISFIT_ESTIMATES, FrontProblem, judges_all, smoothed_scorer
from gomea_bn.problems.kernels.curves import CurveData
from gomea_bn.problems.knowledge import EdgeRules
from gomea_bn.problems.scores import score_rule, scoring_method
from gomea_bn.runtime.fit_clock import NO_LIMIT, FitClock
from gomea_bn.runtime.interrupts import delayed_interrupts
from gomea_bn.runtime.limits import STOPPED_BY_USER, FrontHistoryEntry, Limits, Result
from gomea_bn.texts import listed

STANDARD_OBJECTIVES = {
    objective.name: objective for objective in (MISFIT, TARGET, COMPLEXITY, EXPERT_DISTANCE)
}
"""Objectives that a front can have without functions of the user, by name."""


# share of its hypervolume that twice the work on a front has to gain, or else the search is done
_WORTHWHILE_SHARE = 0.005


def limits_of_front(learner: FrontParameters) -> Limits:
    """Return the limits of both searches, after a check of the options that need no table."""
    limits = limits_of(learner, worthwhile=_WORTHWHILE_SHARE, former_patience=None)
    check_options(learner, MOGOMEA)
    check_declared(declarations(FrontParameters).values(), learner.get_params(deep=False))
    most = limits.max_evaluations
    if learner.single_evaluations is not None and most is not None and learner.single_evaluations >= most:
        wanted = f" must be below {most:,}, the limit of both searches, got {learner.single_evaluations:,}."
        raise GomeaBnError([Option("single_evaluations"), wanted])
    return limits


def options_of_front(learner: FrontParameters, table: Table) -> LearningOptions:
    """Return the options of the search space."""
    discretizer, methods = learner.discretizer, sorted([OPTIMAL, *POLICY_FAMILIES])
    if not (isinstance(discretizer, str) and discretizer in methods):
        raise GomeaBnError(
            [
                Option("discretizer"),
                f" must be one of {listed(map(repr, methods))} for a front, got {discretizer!r:.80}. Other "
                "discretizers work in BayesNetLearner; or cut the table by one alone, then learn with its cuts as ",
                Option("cut_points"),
                ".",
            ]
        )
    options = LearningOptions.of(learner, table.n_rows)
    return options if follows_curves(learner) else replace(options, curves="none")


def follows_curves(learner: FrontParameters) -> bool:
    """Return whether columns of a front's networks may follow curves, as those of `BayesNetLearner`.

    A misfit that leaves rows out compares curves with tables. An expert's distance and the loss of a target are those
    of tables.
    """
    if learner.target is not None or learner.misfit != MISFIT_ESTIMATES[0]:
        return False
    names = {o if isinstance(o, str) else o.name for o in learner.objectives or ()}
    without_expert = EXPERT_DISTANCE.name not in names if names else learner.expert is None
    return without_expert and (not names or MISFIT.name in names) and LearningOptions.of(learner).has_curves


def expert_of(value: Any) -> ExpertNetwork | None:
    """Return the expert's network that the option `expert` stands for."""
    if value is None or isinstance(value, ExpertNetwork):
        return value
    if isinstance(value, DiscretizedBayesNet):
        return ExpertNetwork.from_network(value)
    if isinstance(value, (str, os.PathLike)):
        return ExpertNetwork.from_file(value)
    raise GomeaBnError(
        f"expert must be an ExpertNetwork, a DiscretizedBayesNet, a path or None, got {value!r:.80}."
    )


def objectives_of(value: Any, has_expert: bool, target: Any = None) -> list[str | OwnObjective]:
    """Return the objectives that the option `objectives` stands for, next to a `target` or None."""
    if value is None:
        fit = MISFIT if target is None else TARGET
        return [fit.name, COMPLEXITY.name, *([EXPERT_DISTANCE.name] if has_expert else [])]
    allowed = f"names out of {sorted(STANDARD_OBJECTIVES)}, or OwnObjective"
    if isinstance(value, (str, OwnObjective)) or not isinstance(value, Iterable):
        raise GomeaBnError(f"objectives must be a list of {allowed}, got {value!r:.80}.")
    objectives = list(value)
    for objective in objectives:
        if isinstance(objective, OwnObjective):
            _check_own_objective(objective)
        elif not (isinstance(objective, str) and objective in STANDARD_OBJECTIVES):
            hint = nearest(objective, STANDARD_OBJECTIVES) if isinstance(objective, str) else ""
            raise GomeaBnError(f"objectives must be {allowed}, got {objective!r:.80}.{hint}")
    names = [objective if isinstance(objective, str) else objective.name for objective in objectives]
    if len(names) < 2 or len(set(names)) < len(names):
        raise GomeaBnError(f"objectives must be at least two different ones, got {names}.")
    if EXPERT_DISTANCE.name in names and not has_expert:
        raise GomeaBnError(f"objectives: {EXPERT_DISTANCE.name!r} needs the expert's network; pass expert=.")
    if (TARGET.name in names) != (target is not None):
        got = "no target" if target is None else f"the target {target!r:.80}"
        needs = f"objectives: {TARGET.name!r} and the option "
        raise GomeaBnError([needs, Option("target"), f" need each other, got {names} and {got}."])
    return objectives


def shown_objective(objective: str | OwnObjective, table: Table, target: str | None) -> Objective:
    """Return the description of an objective for a front."""
    if isinstance(objective, OwnObjective):
        return objective.shown
    if objective == TARGET.name and target is not None:
        column = table.columns[table.names.index(target)]
        return replace(TARGET, unit=f"CRPS in units of {target}" if column.is_continuous else MISFIT.unit)
    return STANDARD_OBJECTIVES[objective]


def _check_own_objective(objective: OwnObjective) -> None:
    if not isinstance(objective.name, str) or objective.name in ("", *STANDARD_OBJECTIVES):
        raise GomeaBnError(
            f"The name of an OwnObjective must be text other than '' and the names {sorted(STANDARD_OBJECTIVES)}, got "
            f"{objective.name!r:.80}."
        )
    if not callable(objective.function):
        raise GomeaBnError(
            f"The function of the OwnObjective {objective.name!r} must be callable, got {objective.function!r:.80}."
        )


_ROUNDING = 1e-11
# any number: the rows must be other draws than those of the searches
_SEED_OF_ROWS = 7


@dataclass(frozen=True)
class SingleNetwork:
    """The network that a search for the best score has found.

    Edges are pairs (parent, child), and cuts the shown ones of every continuous column, by position. `pairs`, bool (N,
    N), are those that the search could join, and `n_parameters` counts the free parameters of tables by the parents
    that these need. Missing values of `rows` are drawn from the network. Without missing values `curves` are those of
    the rows, if the search had any. The objective of `result` is minus the score in nats.
    """

    edges: list[tuple[int, int]]
    cuts: Mapping[int, NDArray[np.float64]]
    n_parameters: int
    pairs: NDArray[np.bool_] | None
    rows: Table
    result: Result
    curves: CurveData | None = None

    @property
    def was_stopped(self) -> bool:
        """Whether Ctrl-C or a callback ended the search, so that no other one should follow."""
        return self.result.stopped_by in STOPPED_BY_USER


# shares of the search for a single network, which a target needs only to fill cells
_SHARE, _SHARE_TO_FILL = 0.5, 0.1


def share_of_single(learner: FrontParameters, table: Table) -> float:
    """Return the share of the search for a single network: the option, or its default for a table."""
    if learner.single_share is not None:
        return learner.single_share
    if learner.target is None:
        return _SHARE
    return _SHARE_TO_FILL if table.n_missing else 0.0


def limits_of_single(limits: Limits, share: float, evaluations: int | None) -> Limits | None:
    """Return the limits of the search for a single network, None if nothing is left for it.

    `share`, from 0 to below 1, is that of the seconds, evaluations and generations of both searches together; a number
    of `evaluations`, below that of `limits`, takes its place. Where the work is not given, the search ends when it is
    done, as that of `BayesNetLearner`.
    """
    if evaluations == 0 or (evaluations is None and not share):
        return None
    patience = limits.patience or FORMER_PATIENCE
    if evaluations is not None:
        return Limits(limits.max_seconds, evaluations, None, patience)
    seconds, most, generations = limits.max_seconds, limits.max_evaluations, limits.max_generations
    most, generations = most and int(share * most), generations and int(share * generations)
    if most == 0 or generations == 0:
        return None
    if limits.patience is None and most is None and generations is None:
        return Limits(seconds and share * seconds, least_gain=WORTHWHILE_GAIN)
    return Limits(seconds and share * seconds, most, generations, patience)


def single_network(
    table: Table, options: LearningOptions, settings: SearchSettings, *, clock: FitClock, share: float
) -> SingleNetwork:
    """Return the network that `BayesNetLearner` would find for a table; see `search`."""
    found = search(table, options, settings, clock=clock, share=share)
    problem, learned = found.problem, found.network
    rows, position = table, {name: v for v, name in enumerate(table.names)}
    network = learned.over(table, pseudo_count="auto", metadata=learned.record)
    if table.n_missing:
        if found.conditionals is not None:
            network = network.changed(conditionals=found.conditionals)
        rows = completed_table(network, table, np.random.default_rng([settings.seed, _SEED_OF_ROWS]))
    cards = {name: network.cardinality(name) for name in network.names}
    return SingleNetwork(
        edges=learned.edges,
        cuts={position[name]: cuts for name, cuts in learned.cuts.items()},
        n_parameters=sum(
            prod(cards[parent] for parent in parents) * (cards[name] - 1)
            for name, parents in zip(network.names, counted_parents(network), strict=True)
        ),
        pairs=problem.pairs,
        rows=rows,
        result=found.result,
        curves=None if table.n_missing or not options.has_curves else problem.scorer.rows.curves,
    )


def with_single(
    problem: FrontProblem, front: Result, single: SingleNetwork, genotype: NDArray[np.int16]
) -> tuple[Result, int | None]:
    """Return the front of a search with the single network in it, in order, and the position of that network.

    The network stays in the front if others dominate it. It replaces a network with the same objectives. The position
    is None for a network that exceeds the limit on free parameters. Seconds and evaluations of the history are those of
    both searches.
    """
    values, violations, repaired = evaluate_genotypes(problem, genotype[None])
    genotypes, objectives = front.X, front.F
    position = None
    if violations[0] == 0:
        # the same network may have its terms added in another order
        others = ~np.isclose(objectives, values[0], rtol=_ROUNDING, atol=_ROUNDING).all(axis=1)
        genotypes = np.concatenate([genotypes[others], repaired])
        objectives = np.concatenate([objectives[others], values])
        order = np.lexsort(objectives.T[::-1])
        genotypes, objectives = genotypes[order], objectives[order]
        position = int(np.flatnonzero(order == len(order) - 1)[0])
    before = single.result
    history = [
        replace(entry, seconds=before.exec_time + entry.seconds, n_eval=before.n_eval + entry.n_eval)
        for entry in front.history
        if isinstance(entry, FrontHistoryEntry)
    ]
    return replace(
        front,
        X=genotypes,
        F=objectives,
        time_to_best=before.exec_time + front.time_to_best,
        history=history,
        extra={**front.extra, "violation": np.zeros(len(genotypes))},
    ), position


# default limit on free parameters, as a multiple of the expert's (Ha et al. 2024)
_TIMES_EXPERT = 10.0
# and as a multiple of the single network's, so that the front goes on beyond that network
_TIMES_SINGLE = 3.0
# number of rows at which a chosen cut costs twice as much as with very many rows
_FEW_ROWS = 75.0
# prices of a free parameter when cuts are priced, as multiples of the (ln n)/2 of BIC: from fine to coarse bins
_PRICES = (0.2, 0.5, 1.0, 2.0, 4.0)


def check_front_learning(learner: FrontParameters, table: Table) -> None:
    """Raise `GomeaBnError` for options, rules and an expert's network that do not fit a table, before a search."""
    limits_of_front(learner)
    objectives_of(learner.objectives, learner.expert is not None, learner.target)
    check_target(learner.target, table)
    checked_expert(learner, table, options_of_front(learner, table))


def checked_expert(
    learner: FrontParameters, table: Table, options: LearningOptions
) -> DiscretizedBayesNet | None:
    """Return the expert's network over the table, after a check of what a search needs; None without an expert.

    Bins are uniform, since shapes take long to fit. Missing values are drawn column by column. Both will do for the
    check.
    """
    options = replace(options, shape="uniform")
    share = share_of_single(learner, table)
    of_single = limits_of_single(limits_of_front(learner), share, learner.single_evaluations)
    if table.n_missing and of_single is None:
        raise GomeaBnError(
            [
                "The search for a single network fills the missing values of a table, but ",
                Option("single_share"),
                ", ",
                Option("single_evaluations"),
                " and the limits of the search leave nothing for it.",
            ],
            ["raise these", Setting("missing", "drop")],
        )
    rows = table
    if table.n_missing:
        without_edges = DiscretizedBayesNet.from_table(
            table,
            [],
            {column.name: np.empty(0) for column in table.columns if column.is_continuous},
            pseudo_count=1.0,
        )
        rows = completed_table(without_edges, table, np.random.default_rng(0))
    expert = expert_of(learner.expert)
    completed = None if expert is None else completed_expert(expert, rows, learner, options)
    _search_space(learner, rows, completed, options)
    return completed


def front_problem(
    learner: FrontParameters,
    table: Table,
    objectives: Sequence[str | OwnObjective],
    expert: DiscretizedBayesNet | None,
    seed: int,
    single: SingleNetwork | None = None,
    *,
    options: LearningOptions | None = None,
) -> FrontProblem:
    """Return the problem of learning a front for a table, under objectives in the order of the front.

    The expert's network is completed over the table by `ExpertNetwork.fitted`, and `seed` is that of the sample from
    it. The front should go beyond the `single` network, whose search space is that of the front. Options of the search
    space are by default those of the learner. Raises `GomeaBnError` if an option or a rule does not fit the table.
    """
    learning = options_of_front(learner, table) if options is None else options
    was_short = single is not None and "preparation_cut_short" in single.result.statistics
    variables, rules, max_parameters = _search_space(learner, table, expert, learning, is_short=was_short)
    if single is not None and learner.max_complexity is None:
        max_parameters = max(max_parameters, _TIMES_SINGLE * single.n_parameters)
    names = [objective if isinstance(objective, str) else objective.name for objective in objectives]
    target = None if learner.target is None else table.names.index(learner.target)
    sample = None
    if expert is not None and EXPERT_DISTANCE.name in names:
        shapes = {v.name: v.shape.shape for v in variables if v.shape is not None}
        check_point_masses(expert, shapes)
        sample = draw_expert_sample(expert, learner.expert_sample_size, seed, mentioned_names(expert))
    growth = library_growth(table, variables, learning)
    curves = None if single is None else single.curves
    if curves is None and learning.has_curves and not was_short:
        curves = curve_data(variables)
    of_few_rows = learner.cut_cost * (_FEW_ROWS / table.n_rows) ** 2
    scorer = smoothed_scorer(
        variables,
        table.n_rows,
        learner.pseudo_count,
        estimate=learner.misfit,
        cut_cost=learner.cut_cost + of_few_rows,
        edge_cost=2 * of_few_rows * log(max(table.n_varying - 1, 1)),
        growth=growth,
        curves=curves,
    )

    def value(objective: OwnObjective, genotype: NDArray[np.int16]) -> float:
        # the functions take the networks of the problem itself
        edges = [
            (table.names[parent], table.names[child]) for parent, child in learned_edges(problem, genotype)
        ]
        returned = objective.function(edges, learned_cut_points(problem, genotype))
        if not is_real(returned):
            raise GomeaBnError(f"The objective {objective.name!r} must return a number, got {returned!r}.")
        return float(returned)

    problem = FrontProblem(
        scorer,
        rules,
        names,
        expert=sample,
        target=target,
        user_objectives={o.name: partial(value, o) for o in objectives if not isinstance(o, str)},
        max_parameters=max_parameters,
        random_repair=learning.random_repair,
        initial_indegree=learning.initial_indegree,
        pricing=None if growth is None else _pricing(table.n_rows, learning),
        pairs=_with_pairs_of(
            target,
            searched_pairs(table, scorer, rules, learning.max_candidates) if single is None else single.pairs,
        ),
    )
    return problem


def _with_pairs_of(target: int | None, pairs: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    """Return pairs of variables, of which None stands for all, with those of the target and any varying column."""
    if target is None or pairs is None:
        return pairs
    of_target = np.zeros_like(pairs)
    of_target[target] = pairs.any(axis=0)
    of_target[target, target] = False
    return np.asarray(pairs | of_target | of_target.T)


def _search_space(
    learner: FrontParameters,
    table: Table,
    expert: DiscretizedBayesNet | None,
    options: LearningOptions,
    *,
    is_short: bool = False,
) -> tuple[list[ScoredVariable], EdgeRules, float]:
    """Return the variables, the rules and the limit on free parameters of a front for a table.

    Libraries of cuts begin with few bins if time is short.
    """
    variables, rules = scored_variables(table, options, clock=FitClock(0.0) if is_short else NO_LIMIT)
    names = [
        objective if isinstance(objective, str) else objective.name
        for objective in objectives_of(learner.objectives, learner.expert is not None, learner.target)
    ]
    counted_variables = [v for v in variables if judges_all(names) or v.name == learner.target]
    least = float(sum((v.n_levels or v.policies[0].n_bins) - 1 for v in counted_variables))
    if learner.max_complexity is None:
        without_expert = max(float(table.n_rows), _TIMES_EXPERT * least)
        limit = without_expert if expert is None else max(_TIMES_EXPERT * expert.n_parameters, least)
    elif learner.max_complexity < least:
        raise GomeaBnError(
            [
                Option("max_complexity"),
                f" must be at least {least:g}, the number of free parameters without any edge and with the fewest "
                f"bins that the search begins with, got {learner.max_complexity!r}.",
            ]
        )
    else:
        limit = learner.max_complexity
    return variables, rules, float(limit)


def _pricing(n_rows: int, options: LearningOptions) -> Pricing:
    """Return the pricing of cuts for a front: by the log density minus several prices per free parameter."""
    method = scoring_method("density-bic")
    prices = [share * log(n_rows) / 2 for share in _PRICES]
    scores = [IntervalScore(method, score_rule(method, n_rows, penalty=price)) for price in prices]
    return Pricing(options.cut_limits, scores)


def completed_expert(
    expert: ExpertNetwork, table: Table, learner: FrontParameters, options: LearningOptions
) -> DiscretizedBayesNet:
    """Return the expert's network over all columns, with the shapes that networks of the front may have."""
    shapes = column_shapes(table, options)
    return expert.fitted(
        table, pseudo_count=learner.pseudo_count, shapes={name: c.shape for name, c in shapes.items()}
    )


@dataclass(frozen=True)
class SearchedFront:
    """Result of both searches: the front and the counts of both, and the expert's network, completed over the rows.

    `position_in_result` is that of the single network in the result. Without a search for a single network `single` is
    None. `logits` are networks whose target follows a logit, and `cut_short` names what the clock has cut short.
    """

    problem: FrontProblem
    expert: DiscretizedBayesNet | None
    single: SingleNetwork | None
    position_in_result: int | None
    result: Result
    logits: Sequence[LogitNetwork] = ()
    cut_short: Sequence[str] = ()

    @cached_property
    def members(self) -> list[int | LogitNetwork]:
        """The networks of the front in its order: rows of the result, and networks with logits.

        Networks with logits take the place of those that they dominate, but for the single network.
        """
        values = [*self.result.F, *(self._values_of(logit) for logit in self.logits)]
        is_kept = np.ones(len(values), np.bool_)
        if self.logits:
            is_kept[:] = False
            is_kept[nondominated_rows(np.array(values))] = True
            if self.position_in_result is not None:
                is_kept[self.position_in_result] = True
        n_found = len(self.result.F)
        order = [int(k) for k in np.lexsort(np.array(values).T[::-1]) if is_kept[k]]
        return [k if k < n_found else self.logits[k - n_found] for k in order]

    @property
    def values(self) -> NDArray[np.float64]:
        """Objectives of the members, float64 (n_networks, n_objectives)."""
        return np.array(
            [self.result.F[m] if isinstance(m, int) else self._values_of(m) for m in self.members]
        )

    @property
    def position(self) -> int | None:
        """Position of the single network in the front; None if the front lacks it."""
        return None if self.position_in_result is None else self.members.index(self.position_in_result)

    def _values_of(self, logit: LogitNetwork) -> list[float]:
        of_names = {TARGET.name: logit.loss, COMPLEXITY.name: float(logit.n_parameters)}
        return [of_names[name] for name in self.problem.objectives]

    @property
    def n_eval_single(self) -> int:
        """Number of evaluations of the search for a single network."""
        return 0 if self.single is None else self.single.result.n_eval


def searched_front(
    learner: FrontParameters,
    table: Table,
    options: LearningOptions,
    settings: SearchSettings,
    objectives: Sequence[str | OwnObjective],
    expert: ExpertNetwork | None,
    *,
    clock: FitClock,
) -> SearchedFront:
    """Search for a single network, if the options leave something for it, and then for the front of the objectives.

    Limits are those of both searches together. The clock is that of the fit, and began with the preparation of the
    table; the search for a single network pays for its share of these seconds.
    """
    limits, single = settings.limits, None
    share, evaluations = share_of_single(learner, table), learner.single_evaluations
    if (of_single := limits_of_single(limits, share, evaluations)) is not None:
        alone = settings.part("single network").within(of_single)
        paid = share if evaluations is None else 1.0
        single = single_network(table, options, alone, clock=clock, share=paid)
    rows = table if single is None else single.rows
    interrupts: list[bool] = []
    # Ctrl-C must not lose the single network
    with nullcontext() if single is None else delayed_interrupts(lambda: interrupts.append(True)):
        completed = None if expert is None else completed_expert(expert, rows, learner, options)
        problem = front_problem(learner, rows, objectives, completed, settings.seed, single, options=options)
        logits = _logit_networks(learner, problem, rows)
    if single is not None and interrupts:
        single = replace(single, result=replace(single.result, stopped_by="interrupt"))
    seconds = 0.0 if single is None else single.result.exec_time
    left = limits_after_preparation(limits, clock.seconds - seconds)
    rounds, genotype, position = SearchRounds(settings.within(left)), None, None
    if single is not None:
        rounds.add(single.result)
        # its cuts enter the libraries of the front
        genotype = genotype_of(problem, GraphAndCuts(single.edges, dict(single.cuts)))
        # the first population has the single network, and is a front
        left = Limits(max_generations=1) if single.was_stopped else rounds.limits()
    search = partial(
        SearchSettings.run,
        problem=problem,
        initial=None if genotype is None else genotype[None],
        algorithm=learner.algorithm or MOGOMEA(),
    )
    result = rounds.run(search, "front", left)
    if single is not None and genotype is not None:
        result, position = with_single(problem, result, single, genotype)
    return SearchedFront(problem, completed, single, position, rounds.total(result), logits, clock.cut_short)


def _logit_networks(learner: FrontParameters, problem: FrontProblem, rows: Table) -> list[LogitNetwork]:
    """Return networks whose target follows a logit, for a front of its left-out loss and of complexity alone.

    There are none for a target that has not two levels, nor where edges are required.
    """
    target, rules = problem.target_variable, problem.edge_rules
    variables = problem.scorer.variables
    if (
        target is None
        or set(problem.objectives) != {TARGET.name, COMPLEXITY.name}
        or learner.misfit != MISFIT_ESTIMATES[0]
        or variables[target].n_levels != 2
        or rules.required.any()
    ):
        return []
    given = learner.max_indegree
    n_parents = float(given) if isinstance(given, int) else inf
    return logit_networks(
        rows,
        variables[target].name,
        [variables[v].name for v in np.flatnonzero(rules.may_lead[:, target])],
        most_parents=n_parents,
        most_parameters=problem.front_rules.max_parameters,
        fixed_cuts={
            v.name: v.policies[0].cut_points for v in variables if not v.n_levels and not v.has_free_cuts
        },
        shapes={v.name: v.shape.shape for v in variables if v.shape is not None},
        pseudo_count=learner.pseudo_count,
        edge_cost=problem.scorer.rule.edge_cost,
    )
