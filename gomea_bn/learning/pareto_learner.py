"""`ParetoBayesNetLearner`: learns a front of networks from a table, and from an expert's network, in one call."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, replace
from math import log
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from gomea_bn.algorithms.mogomea import MOGOMEA
from gomea_bn.data.column_summary import column_summary
from gomea_bn.data.sources import source_table
from gomea_bn.data.table import Table, table_digest
from gomea_bn.errors import (
    GomeaBnError,
    GomeaBnWarning,
    Option,
    Setting,
    check_choice,
    check_integer,
    check_number,
    is_real,
    nearest,
)
from gomea_bn.expert.distance import (
    DEFAULT_SAMPLE,
    LARGEST_SAMPLE,
    check_point_masses,
    draw_expert_sample,
    mentioned_names,
)
from gomea_bn.expert.expert_network import ExpertNetwork
from gomea_bn.front.front import Front
from gomea_bn.front.objectives import COMPLEXITY, EXPERT_DISTANCE, MISFIT, Objective, check_objectives
from gomea_bn.learning.hasty_preparation import options_of_run
from gomea_bn.learning.learning_problem import (
    OPTIMAL,
    LearningOptions,
    column_shapes,
    learned_cut_points,
    learned_edges,
    learned_shapes,
    library_growth,
    scored_variables,
    searched_pairs,
)
from gomea_bn.learning.options import (
    LearnerParameters,
    check_options,
    learner_section,
    limits_after_preparation,
    limits_of,
    preparation_seconds,
    seed_of,
    why_unrepeatable,
    with_live_table,
)
from gomea_bn.learning.search.single_network import (
    SingleNetwork,
    limits_after,
    limits_of_single,
    single_network,
    with_single,
)
from gomea_bn.learning.search.table_search import continued
from gomea_bn.learning.warm_up import compile_front_kernels
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.inference.completion import completed_table
from gomea_bn.network.smoothing import PseudoCount
from gomea_bn.problems.cuts.interval_dp import CutLimits, IntervalScore
from gomea_bn.problems.cuts.policies import POLICY_FAMILIES
from gomea_bn.problems.cuts.pricing import Pricing
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.problems.family_scorer import ScoredVariable
from gomea_bn.problems.front_problem import MISFIT_ESTIMATES, FrontProblem, smoothed_scorer
from gomea_bn.problems.knowledge import EdgeRules
from gomea_bn.problems.scores import score_rule, scoring_method
from gomea_bn.runtime.checkpoints import CheckpointOption, Section
from gomea_bn.runtime.interrupts import delayed_interrupts
from gomea_bn.runtime.limits import Callback, FrontHistoryEntry, Limits, Result
from gomea_bn.runtime.threads import in_background, thread_count
from gomea_bn.texts import counted, listed

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["OwnObjective", "ParetoBayesNetLearner", "check_front_learning", "front_problem"]

_STANDARD = {objective.name: objective for objective in (MISFIT, COMPLEXITY, EXPERT_DISTANCE)}
# default limit on free parameters, as a multiple of the expert's (Ha et al. 2024)
_TIMES_EXPERT = 10.0
# and as a multiple of the single network's, so that the front goes on beyond that network
_TIMES_SINGLE = 3.0
# number of rows at which a chosen cut costs twice as much as with very many rows
_FEW_ROWS = 75.0
# prices of a free parameter when cuts are priced, as multiples of the (ln n)/2 of BIC: from fine to coarse bins
_PRICES = (0.2, 0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True)
class OwnObjective:
    """User-defined objective, to be minimised.

    Parameters
    ----------
    name : str
        Name in the front; it must differ from the names of the standard objectives.
    function : callable
        ``function(edges, cut_points) -> float``, with edges as (parent, child) names, and inner cuts by continuous
        column. Edges of variables with a single bin are left out unless they are required. It is called for every
        evaluated network, and the search waits for it.
    label : str
        Description for tables and pictures; by default the name.
    unit : str
        Unit of the values; by default "units".
    better : str
        Meaning of small values, for example "cheaper".
    """

    name: str
    function: Callable[[list[tuple[str, str]], dict[str, NDArray[np.float64]]], float]
    label: str = ""
    unit: str = ""
    better: str = "better"

    @property
    def shown(self) -> Objective:
        """Description of the objective for a front."""
        return Objective(self.name, self.label or self.name, self.unit or "units", self.better)


@dataclass(kw_only=True, eq=False, repr=False)
class ParetoBayesNetLearner(LearnerParameters):
    """Learn a front of discretized Bayesian networks under several objectives, with MO-DBN-GOMEA.

    Parameters
    ----------
    discretizer : {"optimal", "equal-frequency", "equal-width"}
        Method that cuts the ranges of continuous variables into bins; the search chooses the number of bins. "optimal"
        starts with equal frequency and computes exact best cuts for some of the networks, by the log density minus
        one of several prices per free parameter. The paper has the other two.
    objectives : sequence of str or OwnObjective, optional
        At least two of "misfit" (minus the mean log density per row, in nats), "complexity" (number of free
        parameters), "expert_distance" (KL(expert || network) over the families of the variables that the expert
        mentions, in nats), and user-defined ones. By default the first two, and the third if there is an expert.
    expert : ExpertNetwork, DiscretizedBayesNet or path, optional
        Network of a domain expert; the table supplies what it leaves open.
    max_complexity : float, optional
        Largest number of free parameters. By default 10 times the number of the expert's network, completed over the
        table. Without an expert, 10 times the number of the network without edges and with the fewest bins, or the
        number of rows if that is larger. It is at least 3 times the number of the single network.
    misfit : {"left-out", "in-sample"}
        How the misfit of a network is estimated: from tables that leave out the row whose density is taken, which is
        closer to the density of new rows, or from the tables of all rows, as in the paper. The shape of a column is
        fitted to all rows, so that "left-out" charges the shape for its effective parameters.
    cut_cost : float
        Cost of a chosen cut in the misfit "left-out", as a multiple of ln(distinct values - 1) nats, which is divided
        by the number n of rows. The rows chose the cuts, also those that are left out of a table. With few rows this
        choice misleads more: the cost is 1 + (75 / n)**2 times as high, and an edge costs 2 (75 / n)**2 times as many
        ln(varying columns - 1) nats. The misfit "in-sample" has no such costs. In the search for a single network it is
        the `cut_cost` of `BayesNetLearner`.
    single_share : float
        Share of the limits for the search for a single network, from 0 to below 1. This search is that of
        `BayesNetLearner` without curves, and every population of the other search begins with its network. 0 leaves it
        out, as in the paper.
    single_evaluations : int, optional
        Number of evaluations of the search for a single network, in place of the share; it repeats a run.
    expert_sample_size : int
        Number of rows drawn from the expert's network to measure distances, rounded up to a power of two; from 2 to
        2**20.
    missing : {"available", "error", "drop"}
        How to treat missing values. "available": the search for a single network uses them as `BayesNetLearner` does,
        draws from its network fill the missing cells once, and the front is that of the filled rows. "error" raises,
        and "drop" drops rows with missing or infinite values.
    cut_points, max_indegree, knowledge, kinds, max_levels, random_repair, initial_indegree, max_candidates
        As of `BayesNetLearner`.
    shape : {"auto", "uniform", "marginal"}
        As of `BayesNetLearner`, but "auto" chooses by the misfit. The completed network of the expert has the same
        shapes, so that the bins decide on the distance. Variables to which the expert gave tables and a support keep
        their own shapes or stay uniform inside their bins; the distance then counts the difference inside the bins.
    max_bins : int or "auto"
        As of `BayesNetLearner`; 9 in the paper.
    min_width, min_bin_count
        As of `BayesNetLearner`; they apply to "optimal" only.
    pseudo_count : float or "auto"
        Smoothing of the tables, as of `BayesNetLearner`; 1 in the paper. With "auto" the misfits come from the best of
        four amounts of smoothing per table, and the distances from tables with one pseudo-count per row. "left-out" and
        the distance need a value above 0.
    algorithm : MOGOMEA, optional
        Settings of the search.
    max_seconds, max_evaluations, max_generations, n_jobs, random_state, callback, verbose
        As of `BayesNetLearner`.
    patience : float or None
        Stop when the number of evaluations exceeds this multiple of the number at which a network last entered the
        archive, and 1,000 per gene.

    Attributes
    ----------
    front_ : Front
        Learned networks, ordered by the first objective. Its `single` is the single network, which stays in the front
        if others dominate it.
    table_ : Table
        Rows that the networks were learned from.
    expert_ : DiscretizedBayesNet or None
        Expert's network, completed over the columns of the table.
    history_ : list of FrontHistoryEntry
        Size of the archive over the search.
    n_eval_, n_eval_full_, n_generations_ : int, float, int
        Number of evaluations, of equivalent full evaluations, and of generations, those of the search for a single
        network included.
    n_eval_single_ : int
        Number of evaluations of the search for a single network.
    fit_seconds_, time_to_best_ : float
        Seconds of both searches, and until the archive last changed.
    stopped_by_ : str
        Name of the limit that ended the search, or "interrupt".
    statistics_ : dict
        Counts of scored families, cache hits and priced variables. "preparation_cut_short" is 1 if the time limit
        shortened the preparation of the table.
    n_candidate_pairs_ : int
        Number of pairs of variables that the search could join.
    seed_ : int
        Seed that repeats the run, with ``max_evaluations=n_eval_`` and ``single_evaluations=n_eval_single_`` if a time
        limit or Ctrl-C ended it. It does not repeat a run in which the time limit ended the search of a table with
        missing values, or shortened the preparation of a table of more than 50,000 rows.
    feature_names_in_ : ndarray of str
        Names of the columns.
    n_features_in_ : int
        Number of columns.

    Notes
    -----
    Constant columns become roots with a single level, as in `BayesNetLearner`. An edge of the expert's at such a
    column stays in the expert's network. It does not change a distance, for the column has no information.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> x = np.random.default_rng(0).normal(size=300)
    >>> frame = pd.DataFrame({"x": x, "y": x + np.random.default_rng(1).normal(scale=0.3, size=300)})
    >>> expert = ExpertNetwork.from_edges([("y", "x")])
    >>> learner = ParetoBayesNetLearner(expert=expert, max_evaluations=2000, random_state=1).fit(frame)
    >>> learner.front_.names
    ('misfit', 'complexity', 'expert_distance')
    >>> len(learner.front_.knee().network.edges)
    1
    """

    discretizer: str = field(default=OPTIMAL, kw_only=False)
    objectives: Sequence[str | OwnObjective] | None = None
    expert: ExpertNetwork | DiscretizedBayesNet | str | os.PathLike[str] | None = None
    max_complexity: float | None = None
    misfit: str = MISFIT_ESTIMATES[0]
    cut_cost: float = 0.5
    single_share: float = 0.5
    single_evaluations: int | None = None
    expert_sample_size: int = DEFAULT_SAMPLE
    algorithm: MOGOMEA | None = None
    patience: float | None = None

    def fit(
        self,
        X: pd.DataFrame | Table | NDArray[Any] | str | os.PathLike[str],
        y: object = None,
        *,
        checkpoint: CheckpointOption = None,
    ) -> Self:
        """Learn a front from a table.

        Parameters
        ----------
        X : DataFrame, Table, path of a CSV, TSV or Parquet file, or ndarray of shape (n_rows, n_columns)
            Rows; never changed. The columns of an array are named x0, x1, ... A `Table` keeps its levels:
            `max_levels` does not apply to it.
        y : ignored
            Present for compatibility with scikit-learn.
        checkpoint : Checkpoint or path, optional
            Folder for checkpoints, from which a run that was killed can go on; see `gomea_bn.Checkpoint`.

        Returns
        -------
        ParetoBayesNetLearner
            The learner itself.

        Raises
        ------
        GomeaBnError
            If the table, the expert's network, an option or a rule is invalid; the message says what to do. Also for
            a checkpoint of other data or options.
        """
        limits = self._checked_limits()
        n_threads = thread_count(self.n_jobs)
        seed = seed_of(self.random_state)
        expert = _expert(self.expert)
        objectives = _objectives(self.objectives, expert is not None)
        shown = check_objectives([_STANDARD[o] if isinstance(o, str) else o.shown for o in objectives])
        began = perf_counter()
        table = source_table(X, kinds=self.kinds, missing=self.missing, max_levels=self.max_levels)
        given = self._options(table)
        # wrong options are an error before the search for a single network
        checked = _checked_expert(self, table, given)
        section, seed = learner_section(self, checkpoint, table, seed, expert=checked)
        # the compiler is not on the clock
        began += compile_front_kernels(n_columns=len(table.names))
        seconds = began + preparation_seconds(limits) - perf_counter()
        options = options_of_run(given, table, seconds, section)
        hashed = in_background(table_digest, table)
        with with_live_table(self.verbose, self.callback) as callback:
            single = self._single(
                table, options, limits, began, seed, n_threads, callback, section.part("single network")
            )
            rows = table if single is None else single.rows
            noted: list[bool] = []
            # Ctrl-C must not lose the single network
            with nullcontext() if single is None else delayed_interrupts(lambda: noted.append(True)):
                completed = None if expert is None else _completed(expert, rows, self, options)
                problem = front_problem(self, rows, objectives, completed, seed, single, options=options)
            if single is not None and noted:
                single = replace(single, result=replace(single.result, stopped_by="interrupt"))
            of_single = 0.0 if single is None else single.result.exec_time
            left = limits_after_preparation(limits, perf_counter() - began - of_single)
            result, position = self._search(
                problem, single, left, seed, n_threads, callback, section.part("front")
            )
        section.close()
        if not len(result.X):
            raise GomeaBnError(
                f"No network with at most {problem.front_rules.max_parameters:g} free parameters was found in "
                f"{result.n_eval:,} evaluations.",
                [Setting("max_complexity"), "raise the limits of the search"],
            )
        self.expert_ = completed
        self.history_: list[FrontHistoryEntry] = result.history
        self.n_eval_single_ = 0 if single is None else single.result.n_eval
        self._keep_search(table, problem.n_edge_genes, result, seed)
        if options != given:
            self.statistics_["preparation_cut_short"] = 1
        digest = hashed.result()
        shared = {"seed": seed, "n_eval": result.n_eval, "data_sha256": digest}
        structures = [
            (_edges(problem, table, x), learned_cut_points(problem, x), learned_shapes(problem, x))
            for x in result.X
        ]
        networks = _Networks(rows, structures, self.pseudo_count, {**shared, "shape": self.shape})
        record = self._record(objectives, problem, digest)
        if single is not None:
            if position is None:
                warnings.warn(
                    GomeaBnWarning(
                        f"The single network has {counted(single.n_parameters, 'free parameter')}, more than the limit "
                        f"of {problem.front_rules.max_parameters:g}, so the front lacks it.",
                        [Setting("max_complexity")],
                    ),
                    stacklevel=2,
                )
            record["single_network"] = {
                "id": position,
                "score": single.score,
                "n_eval": single.result.n_eval,
                "seconds": single.result.exec_time,
            }
        self.front_ = Front(shown, result.F, networks, table=table, expert=completed, record=record)
        return self

    def _checked_limits(self) -> Limits:
        """Return the limits of both searches, after a check of the options that need no table."""
        limits = limits_of(self)
        check_options(self, MOGOMEA, auto=True)
        check_choice("misfit", self.misfit, MISFIT_ESTIMATES)
        check_number("single_share", self.single_share, 0, 1, below=True)
        check_integer("single_evaluations", self.single_evaluations, 0, optional=True)
        most = limits.max_evaluations
        if self.single_evaluations is not None and most is not None and self.single_evaluations >= most:
            raise GomeaBnError(
                [
                    Option("single_evaluations"),
                    f" must be below {most:,}, the limit of both searches, got {self.single_evaluations:,}.",
                ]
            )
        return limits

    def _options(self, table: Table) -> LearningOptions:
        """Return the options of the search space."""
        _check_discretizer(self.discretizer)
        return LearningOptions.of(self, table.n_rows, curves="none")

    def _single(
        self,
        table: Table,
        options: LearningOptions,
        limits: Limits,
        began: float,
        seed: int,
        n_threads: int,
        callback: Callback | None,
        section: Section,
    ) -> SingleNetwork | None:
        """Search for a single network, if the options leave something for it.

        The preparation, which began at a time of `perf_counter`, takes its share of the seconds of this search.
        """
        of_single = limits_of_single(limits, self.single_share, self.single_evaluations)
        if of_single is None:
            return None
        return single_network(
            table,
            options,
            of_single,
            began=began,
            share=1.0 if self.single_evaluations is not None else self.single_share,
            seed=seed,
            n_threads=n_threads,
            callback=callback,
            section=section,
        )

    def _search(
        self,
        problem: FrontProblem,
        single: SingleNetwork | None,
        limits: Limits,
        seed: int,
        n_threads: int,
        callback: Callback | None,
        section: Section,
    ) -> tuple[Result, int | None]:
        """Search for the front, and return it with the position of the single network in it."""
        algorithm = self.algorithm or MOGOMEA()
        options: dict[str, Any] = {"random_state": seed, "n_jobs": n_threads, "checkpoint": section}
        if single is None:
            return algorithm.run(problem, limits, callback=callback, **options), None
        genotype = single.genotype(problem)
        result = algorithm.run(
            problem,
            limits_after(limits, single),
            callback=continued(callback, single.result, keeps_best=False),
            initial=genotype[None],
            **options,
        )
        return with_single(problem, result, single, genotype)

    def _record(
        self, objectives: Sequence[str | OwnObjective], problem: FrontProblem, digest: str
    ) -> dict[str, Any]:
        """Return the record of the run, in plain values."""
        from gomea_bn.learning.run_folder import plain_parameters
        from gomea_bn.runtime.environment import environment

        parameters = plain_parameters(self)
        parameters["objectives"] = [o if isinstance(o, str) else o.name for o in objectives]
        parameters["expert"] = (
            os.fspath(self.expert) if isinstance(self.expert, (str, os.PathLike)) else self.expert is not None
        )
        parameters["max_complexity"] = min(problem.front_rules.max_parameters, 1e300)
        for name in ("cut_points", "kinds"):
            by_name = parameters[name]
            parameters[name] = None if by_name is None else {k: _plain(v) for k, v in by_name.items()}
        algorithm = self.algorithm or MOGOMEA()
        options = {field.name: getattr(algorithm, field.name) for field in fields(algorithm)}
        plain = (str, int, float, bool, type(None))
        return {
            "seed": self.seed_,
            "data_sha256": digest,
            "n_rows": self.table_.n_rows,
            "dropped_rows": list(self.table_.dropped_rows),
            "columns": column_summary(self.table_),
            "parameters": parameters,
            "reading": self.table_.reading.given,
            "algorithm": {k: v if isinstance(v, plain) else repr(v) for k, v in options.items()},
            **environment(),
            "counts": {
                "n_eval": self.n_eval_,
                "n_eval_full": self.n_eval_full_,
                "n_generations": self.n_generations_,
                "n_candidate_pairs": self.n_candidate_pairs_,
                **self.statistics_,
            },
            "seconds": {"search": self.fit_seconds_, "to_last_change": self.time_to_best_},
            "stopped_by": self.stopped_by_,
            "repeat": None
            if why_unrepeatable(self)
            else {
                "random_state": self.seed_,
                "max_evaluations": self.n_eval_,
                "single_evaluations": self.n_eval_single_,
                "max_seconds": None,
            },
        }


def check_front_learning(learner: ParetoBayesNetLearner, table: Table) -> None:
    """Raise `GomeaBnError` for options, rules and an expert's network that do not fit a table, before a search."""
    learner._checked_limits()
    _objectives(learner.objectives, learner.expert is not None)
    _checked_expert(learner, table, learner._options(table))


def _checked_expert(
    learner: ParetoBayesNetLearner, table: Table, options: LearningOptions
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
    expert = _expert(learner.expert)
    completed = None if expert is None else _completed(expert, rows, learner, options)
    _search_space(learner, rows, completed, options)
    return completed


def front_problem(
    learner: ParetoBayesNetLearner,
    table: Table,
    objectives: Sequence[str | OwnObjective],
    expert: DiscretizedBayesNet | None,
    seed: int,
    single: SingleNetwork | None = None,
    *,
    options: LearningOptions | None = None,
) -> FrontProblem:
    """Return the problem of learning a front for a table.

    Parameters
    ----------
    learner : ParetoBayesNetLearner
        Options.
    table : Table
        Rows to learn from.
    objectives : sequence of str or OwnObjective
        Objectives, in the order of the front.
    expert : DiscretizedBayesNet or None
        Expert's network, completed over the table by `ExpertNetwork.fitted`.
    seed : int
        Seed of the sample from the expert's network.
    single : SingleNetwork, optional
        Network that the front should go beyond; its search space is that of the front.
    options : LearningOptions, optional
        Options of the search space; by default those of the learner.

    Raises
    ------
    GomeaBnError
        If an option or a rule is invalid or does not fit the table.
    """
    learning = learner._options(table) if options is None else options
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

    def function_of(objective: OwnObjective) -> Callable[[NDArray[np.int16]], float]:
        def value(genotype: NDArray[np.int16]) -> float:
            returned = objective.function(
                _edges(problem, table, genotype), learned_cut_points(problem, genotype)
            )
            if not is_real(returned):
                raise GomeaBnError(
                    f"The objective {objective.name!r} must return a number, got {returned!r}."
                )
            return float(returned)

        return value

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
        user_objectives={o.name: function_of(o) for o in objectives if not isinstance(o, str)},
        max_parameters=max_parameters,
        random_repair=learner.random_repair,
        initial_indegree=learner.initial_indegree,
        pricing=None if growth is None else _pricing(table.n_rows, learning),
        pairs=searched_pairs(table, scorer, rules, learning.max_candidates, is_quick=learning.is_hasty)
        if single is None
        else single.pairs,
    )
    return problem


def _check_discretizer(discretizer: Any) -> None:
    """Raise unless a front can have the discretizer."""
    methods = sorted([OPTIMAL, *POLICY_FAMILIES])
    if not isinstance(discretizer, str) or discretizer not in methods:
        raise GomeaBnError(
            [
                Option("discretizer"),
                f" must be one of {listed(map(repr, methods))} for a front, got {discretizer!r:.80}. Other "
                "discretizers work in BayesNetLearner; or cut the table by one alone, then learn with its cuts as ",
                Option("cut_points"),
                ".",
            ]
        )


def _search_space(
    learner: ParetoBayesNetLearner,
    table: Table,
    expert: DiscretizedBayesNet | None,
    options: LearningOptions,
) -> tuple[list[ScoredVariable], EdgeRules, float]:
    """Return the variables, the rules and the limit on free parameters of a front for a table."""
    check_integer("expert_sample_size", learner.expert_sample_size, 2, LARGEST_SAMPLE)
    check_number("max_complexity", learner.max_complexity, 0, above=True, optional=True)
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


def _completed(
    expert: ExpertNetwork, table: Table, learner: ParetoBayesNetLearner, options: LearningOptions
) -> DiscretizedBayesNet:
    """Return the expert's network over all columns, with the shapes that networks of the front may have."""
    shapes = column_shapes(table, options)
    return expert.fitted(
        table, pseudo_count=learner.pseudo_count, shapes={name: c.shape for name, c in shapes.items()}
    )


def _edges(problem: FrontProblem, table: Table, genotype: NDArray[np.int16]) -> list[tuple[str, str]]:
    return [(table.names[parent], table.names[child]) for parent, child in learned_edges(problem, genotype)]


@dataclass(frozen=True)
class _Networks:
    """Networks of the rows of a front, built on demand; unlike a closure it can be pickled."""

    table: Table
    # edges, cut points and shapes by row
    structures: list[tuple[list[tuple[str, str]], dict[str, NDArray[np.float64]], dict[str, Shape]]]
    pseudo_count: PseudoCount
    metadata: dict[str, Any]

    def __call__(self, row: int) -> DiscretizedBayesNet:
        edges, cuts, shapes = self.structures[row]
        return DiscretizedBayesNet.from_table(
            self.table, edges, cuts, pseudo_count=self.pseudo_count, shapes=shapes, metadata=self.metadata
        )


def _expert(value: Any) -> ExpertNetwork | None:
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


def _objectives(value: Any, has_expert: bool) -> list[str | OwnObjective]:
    """Return the objectives that the option `objectives` stands for."""
    if value is None:
        return [*_STANDARD] if has_expert else [MISFIT.name, COMPLEXITY.name]
    allowed = f"names out of {sorted(_STANDARD)}, or OwnObjective"
    if isinstance(value, (str, OwnObjective)) or not isinstance(value, Iterable):
        raise GomeaBnError(f"objectives must be a list of {allowed}, got {value!r:.80}.")
    objectives = list(value)
    for objective in objectives:
        if isinstance(objective, OwnObjective):
            _check_own_objective(objective)
        elif not (isinstance(objective, str) and objective in _STANDARD):
            hint = nearest(objective, _STANDARD) if isinstance(objective, str) else ""
            raise GomeaBnError(f"objectives must be {allowed}, got {objective!r:.80}.{hint}")
    names = [objective if isinstance(objective, str) else objective.name for objective in objectives]
    if len(names) < 2 or len(set(names)) < len(names):
        raise GomeaBnError(f"objectives must be at least two different ones, got {names}.")
    if EXPERT_DISTANCE.name in names and not has_expert:
        raise GomeaBnError(f"objectives: {EXPERT_DISTANCE.name!r} needs the expert's network; pass expert=.")
    return objectives


def _check_own_objective(objective: OwnObjective) -> None:
    if not isinstance(objective.name, str) or objective.name in ("", *_STANDARD):
        raise GomeaBnError(
            f"The name of an OwnObjective must be text other than '' and the names {sorted(_STANDARD)}, got "
            f"{objective.name!r:.80}."
        )
    if not callable(objective.function):
        raise GomeaBnError(
            f"The function of the OwnObjective {objective.name!r} must be callable, got {objective.function!r:.80}."
        )


def _plain(value: Any) -> Any:
    """Return the value of an option in a form that JSON can hold."""
    if isinstance(value, str):
        return value
    return [float(number) for number in value]
