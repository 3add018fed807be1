"""The search space of a front: its problem, the expert's network in it, and the checks before a search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import log

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, Option, Setting, is_real
from gomea_bn.expert.distance import check_point_masses, draw_expert_sample, mentioned_names
from gomea_bn.expert.expert_network import ExpertNetwork
from gomea_bn.front.objectives import EXPERT_DISTANCE, OwnObjective
from gomea_bn.learning.fronts.options import expert_of, limits_of_front, objectives_of, options_of_front
from gomea_bn.learning.learning_problem import column_shapes, library_growth, scored_variables, searched_pairs
from gomea_bn.learning.options import LearningOptions, limits_of
from gomea_bn.learning.parameters import FrontParameters
from gomea_bn.learning.search.shown_cuts import learned_cut_points, learned_edges
from gomea_bn.learning.search.single_network import SingleNetwork, limits_of_single
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.inference.completion import completed_table
from gomea_bn.problems.cuts.interval_dp import CutLimits, IntervalScore
from gomea_bn.problems.cuts.pricing import Pricing
from gomea_bn.problems.front_problem import FrontProblem, smoothed_scorer
from gomea_bn.problems.knowledge import EdgeRules
from gomea_bn.problems.scoring.scored_columns import ScoredVariable
from gomea_bn.problems.scoring.scores import score_rule, scoring_method

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
    objectives_of(learner.objectives, learner.expert is not None)
    checked_expert(learner, table, options_of_front(learner, table))


def checked_expert(
    learner: FrontParameters, table: Table, options: LearningOptions
) -> DiscretizedBayesNet | None:
    """Return the expert's network over the table, after a check of what a search needs; None without an expert.

    Bins are uniform, since shapes take long to fit. Missing values are drawn column by column. Both will do for the
    check.
    """
    options = replace(options, shape="uniform")
    of_single = limits_of_single(limits_of(learner), learner.single_share, learner.single_evaluations)
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
    variables, rules, max_parameters = _search_space(learner, table, expert, learning)
    if single is not None and learner.max_complexity is None:
        max_parameters = max(max_parameters, _TIMES_SINGLE * single.n_parameters)
    names = [objective if isinstance(objective, str) else objective.name for objective in objectives]
    sample = None
    if expert is not None and EXPERT_DISTANCE.name in names:
        shapes = {v.name: v.shape.shape for v in variables if v.shape is not None}
        check_point_masses(expert, shapes)
        sample = draw_expert_sample(expert, learner.expert_sample_size, seed, mentioned_names(expert))
    problem: FrontProblem
    growth = library_growth(table, variables, learning)
    of_few_rows = learner.cut_cost * (_FEW_ROWS / table.n_rows) ** 2
    scorer = smoothed_scorer(
        variables,
        table.n_rows,
        learner.pseudo_count,
        estimate=learner.misfit,
        cut_cost=learner.cut_cost + of_few_rows,
        edge_cost=2 * of_few_rows * log(max(table.n_varying - 1, 1)),
        growth=growth,
    )
    problem = FrontProblem(
        scorer,
        rules,
        names,
        expert=sample,
        # the functions take the networks of the problem itself
        user_objectives={
            o.name: _value_of_genotype(o, table, lambda: problem)
            for o in objectives
            if not isinstance(o, str)
        },
        max_parameters=max_parameters,
        random_repair=learning.random_repair,
        initial_indegree=learning.initial_indegree,
        pricing=None if growth is None else _pricing(table.n_rows, learning),
        pairs=searched_pairs(table, scorer, rules, learning.max_candidates)
        if single is None
        else single.pairs,
    )
    return problem


def _value_of_genotype(
    objective: OwnObjective, table: Table, problem_of: Callable[[], FrontProblem]
) -> Callable[[NDArray[np.int16]], float]:
    """Return a user's objective as a function of genotypes of the problem that `problem_of` returns."""

    def value(genotype: NDArray[np.int16]) -> float:
        problem = problem_of()
        returned = objective.function(
            named_edges(problem, table, genotype), learned_cut_points(problem, genotype)
        )
        if not is_real(returned):
            raise GomeaBnError(f"The objective {objective.name!r} must return a number, got {returned!r}.")
        return float(returned)

    return value


def _search_space(
    learner: FrontParameters,
    table: Table,
    expert: DiscretizedBayesNet | None,
    options: LearningOptions,
) -> tuple[list[ScoredVariable], EdgeRules, float]:
    """Return the variables, the rules and the limit on free parameters of a front for a table."""
    variables, rules = scored_variables(table, options)
    least = float(sum((v.n_levels or v.policies[0].n_bins) - 1 for v in variables))
    if learner.max_complexity is None:
        without_expert = max(float(table.n_rows), _TIMES_EXPERT * least)
        limit = without_expert if expert is None else max(_TIMES_EXPERT * expert.n_parameters, least)
    elif learner.max_complexity < least:
        raise GomeaBnError(
            [
                Option("max_complexity"),
                f" must be at least {least:g}, the number of free parameters without any edge and with the fewest "
                f"bins, got {learner.max_complexity!r}.",
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
    return Pricing(CutLimits(1, options.max_bins, options.min_width, options.min_bin_count), scores)


def completed_expert(
    expert: ExpertNetwork, table: Table, learner: FrontParameters, options: LearningOptions
) -> DiscretizedBayesNet:
    """Return the expert's network over all columns, with the shapes that networks of the front may have."""
    shapes = column_shapes(table, options)
    return expert.fitted(
        table, pseudo_count=learner.pseudo_count, shapes={name: c.shape for name, c in shapes.items()}
    )


def named_edges(problem: FrontProblem, table: Table, genotype: NDArray[np.int16]) -> list[tuple[str, str]]:
    """Return the edges of a genotype's network as names of (parent, child)."""
    return [(table.names[parent], table.names[child]) for parent, child in learned_edges(problem, genotype)]
