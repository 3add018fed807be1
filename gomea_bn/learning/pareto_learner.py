"""`ParetoBayesNetLearner`: one call from a table, and an expert's network, to a front of networks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from math import log
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from gomea_bn.algorithms.mogomea import MOGOMEA
from gomea_bn.data.column_summary import column_summary
from gomea_bn.data.sources import as_frame
from gomea_bn.data.table import Table, read_table, table_digest
from gomea_bn.errors import GomeaBnError, is_integer, is_real
from gomea_bn.expert.distance import draw_expert_sample
from gomea_bn.expert.expert_network import ExpertNetwork
from gomea_bn.front.front import Front
from gomea_bn.front.objectives import COMPLEXITY, EXPERT_DISTANCE, MISFIT, Objective, check_objectives
from gomea_bn.learning.learning_problem import (
    OPTIMAL,
    LearningOptions,
    learned_cut_points,
    learned_edges,
    library_growth,
    scored_variables,
)
from gomea_bn.learning.options import both, check_options, seed_of, thread_count
from gomea_bn.learning.warm_up import compile_front_kernels
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.parameters import Parameters
from gomea_bn.problems.front_problem import FrontProblem, smoothed_scorer
from gomea_bn.problems.interval_dp import CutLimits, IntervalScore
from gomea_bn.problems.knowledge import ExpertKnowledge
from gomea_bn.problems.policies import POLICY_FAMILIES, Policy
from gomea_bn.problems.pricing import Pricing
from gomea_bn.problems.scores import score_rule, scoring_method
from gomea_bn.problems.screening import candidate_pairs
from gomea_bn.runtime.limits import Callback, FrontHistoryEntry, Limits

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["OwnObjective", "ParetoBayesNetLearner", "front_problem"]

_STANDARD = {objective.name: objective for objective in (MISFIT, COMPLEXITY, EXPERT_DISTANCE)}
# networks may have so many times the expert's free parameters (Ha et al. 2024)
_TIMES_EXPERT = 10.0
# what a free parameter costs where cuts are priced, in shares of the (ln n)/2 of BIC: fine bins and coarse ones
_PRICES = (0.2, 0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True)
class OwnObjective:
    """An objective of one's own, to be minimised.

    Parameters
    ----------
    name : str
    function : callable
        ``function(edges, cut_points) -> float``: edges as (parent, child) names, but those of variables with a single
        bin that are not required, and inner cuts by continuous column. It is called for every network that is evaluated
        and holds up the search for that long.
    label, unit, better : str
        For tables and pictures: what it is, in what unit, and what small values mean ("cheaper").
    """

    name: str
    function: Callable[[list[tuple[str, str]], dict[str, NDArray[np.float64]]], float]
    label: str = ""
    unit: str = ""
    better: str = "better"

    @property
    def shown(self) -> Objective:
        """The objective as a front describes it."""
        return Objective(self.name, self.label or self.name, self.unit or "units", self.better)


class ParetoBayesNetLearner(Parameters):
    """Learns a front of discretized Bayesian networks under several objectives, with MO-DBN-GOMEA.

    Parameters
    ----------
    discretizer : {"equal-frequency", "equal-width", "optimal"}
        How a continuous variable's range is cut; the number of bins is learned. "optimal" begins with equal frequency
        and prices cuts: it finds the best ones for some of the networks, by the log density less several prices per
        free parameter, and mixes them like all else.
    objectives : sequence of str or OwnObjective, optional
        Out of "misfit" (minus the mean log density of a row, nats), "complexity" (free parameters) and
        "expert_distance" (KL(expert || network) over the families of the variables that the expert mentions, nats), and
        one's own. By default the first two, and the third if
        there is an expert.
    expert : ExpertNetwork, DiscretizedBayesNet or path, optional
        A domain expert's own network; what it leaves out is completed from the table.
    max_complexity : float, optional
        Most free parameters. By default 10 times those of the expert's network, completed over the table; without an
        expert 10 times what the network without edges and with the fewest bins needs, or the number of rows if that
        is more.
    expert_sample_size : int
        Rows drawn from the expert's network to measure distances by, rounded up to a power of two.
    cut_points, max_bins, max_indegree, knowledge, kinds, missing, max_levels, random_repair, initial_indegree,
    max_candidates
        As of `BayesNetLearner`; `max_bins` is 9 by default, as in the paper.
    min_width, min_bin_count
        As of `BayesNetLearner`: of "optimal".
    pseudo_count : float
        Added to every row of a table, spread evenly over its cells; misfit and distance are measured with the
        smoothed tables. The distance needs it above 0.
    algorithm : MOGOMEA, optional
        Options of the search.
    max_seconds, max_evaluations, max_generations, patience, n_jobs, random_state, callback, verbose
        As of `BayesNetLearner`; `patience` counts from the last network that entered the archive.

    Attributes
    ----------
    front_ : Front
        Ordered by the first objective.
    table_ : Table
    expert_ : DiscretizedBayesNet or None
        The expert's network, completed over the table's columns.
    history_ : list of FrontHistoryEntry
    n_eval_, n_eval_full_, n_generations_ : int, float, int
    fit_seconds_, time_to_best_ : float
        Seconds of search, and until the archive changed last.
    stopped_by_ : str
    statistics_ : dict
    n_candidate_pairs_ : int
        Pairs of variables that the search could join.
    seed_ : int
        What repeats the run, with ``max_evaluations=n_eval_`` if a clock or Ctrl-C ended it.

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

    def __init__(
        self,
        discretizer: str = "equal-frequency",
        *,
        objectives: Sequence[str | OwnObjective] | None = None,
        expert: ExpertNetwork | DiscretizedBayesNet | str | os.PathLike[str] | None = None,
        max_complexity: float | None = None,
        expert_sample_size: int = 4096,
        cut_points: Mapping[str, Iterable[float]] | None = None,
        max_bins: int = 9,
        max_indegree: int | None = 6,
        knowledge: ExpertKnowledge | None = None,
        pseudo_count: float = 1.0,
        kinds: Mapping[str, str] | None = None,
        missing: str = "error",
        max_levels: int = 50,
        algorithm: MOGOMEA | None = None,
        random_repair: bool = True,
        initial_indegree: float = 1.0,
        min_width: float = 1e-3,
        min_bin_count: int = 1,
        max_candidates: int | str | None = "auto",
        max_seconds: float | None = 60.0,
        max_evaluations: int | None = None,
        max_generations: int | None = None,
        patience: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        callback: Callback | None = None,
        verbose: bool = False,
    ) -> None:
        self.discretizer = discretizer
        self.objectives = objectives
        self.expert = expert
        self.max_complexity = max_complexity
        self.expert_sample_size = expert_sample_size
        self.cut_points = cut_points
        self.max_bins = max_bins
        self.max_indegree = max_indegree
        self.knowledge = knowledge
        self.pseudo_count = pseudo_count
        self.kinds = kinds
        self.missing = missing
        self.max_levels = max_levels
        self.algorithm = algorithm
        self.random_repair = random_repair
        self.initial_indegree = initial_indegree
        self.min_width = min_width
        self.min_bin_count = min_bin_count
        self.max_candidates = max_candidates
        self.max_seconds = max_seconds
        self.max_evaluations = max_evaluations
        self.max_generations = max_generations
        self.patience = patience
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def fit(self, X: pd.DataFrame | NDArray[Any] | str | os.PathLike[str], y: object = None) -> Self:
        """Learn a front from a table and return self.

        Parameters
        ----------
        X : DataFrame, path of a CSV, TSV or Parquet file, or ndarray of shape (n_rows, n_columns)
            Never changed. An array's columns are named x0, x1, ...
        y : ignored
            Present for scikit-learn's tools.

        Raises
        ------
        GomeaBnError
            For a table, an expert's network, an option or a rule that cannot be used; the message says what to do.
        """
        limits = Limits(self.max_seconds, self.max_evaluations, self.max_generations, self.patience)
        n_threads = thread_count(self.n_jobs)
        seed = seed_of(self.random_state)
        if isinstance(self.pseudo_count, str) and self.pseudo_count == "auto":
            raise GomeaBnError(
                "pseudo_count must be a finite number of at least 0, got 'auto': all networks of a front are compared "
                "under one smoothing. Choose a number, then smooth the network that you take by "
                "DiscretizedBayesNet.from_table(table, network.edges, network.cut_points, pseudo_count='auto')."
            )
        check_options(self, MOGOMEA)
        expert = _expert(self.expert)
        objectives = _objectives(self.objectives, expert is not None)
        shown = check_objectives([_STANDARD[o] if isinstance(o, str) else o.shown for o in objectives])
        table = read_table(as_frame(X), kinds=self.kinds, missing=self.missing, max_levels=self.max_levels)
        completed = None if expert is None else expert.fitted(table, pseudo_count=self.pseudo_count)
        mentioned = None if expert is None else frozenset(expert.mentioned(table))
        problem = front_problem(self, table, objectives, completed, mentioned, seed)
        compile_front_kernels()
        algorithm = self.algorithm or MOGOMEA()
        if self.verbose:
            from gomea_bn.runtime.progress import LiveTable

            with LiveTable() as live:
                callback = both(live, self.callback)
                result = algorithm.run(
                    problem, limits, random_state=seed, n_jobs=n_threads, callback=callback
                )
        else:
            result = algorithm.run(
                problem, limits, random_state=seed, n_jobs=n_threads, callback=self.callback
            )
        if not len(result.X):
            raise GomeaBnError(
                f"No network with at most {problem.front_rules.max_parameters:g} free parameters was found in "
                f"{result.n_eval:,} evaluations; raise max_complexity or the limits."
            )
        self.table_ = table
        self.expert_ = completed
        self.history_: list[FrontHistoryEntry] = result.history
        self.n_eval_ = result.n_eval
        self.n_eval_full_ = result.n_eval_full
        self.n_generations_ = result.n_generations
        self.fit_seconds_ = result.exec_time
        self.time_to_best_ = result.time_to_best
        self.stopped_by_ = result.stopped_by
        self.statistics_ = result.statistics
        self.n_candidate_pairs_ = problem.n_edge_genes
        self.seed_ = seed
        self.feature_names_in_ = np.array(table.names, dtype=object)
        self.n_features_in_ = len(table.names)
        shared = {"seed": seed, "n_eval": result.n_eval, "data_sha256": table_digest(table)}
        found = [
            (_edges(problem, table, genotype), problem.policy_indices(genotype)) for genotype in result.X
        ]
        libraries = [problem.scorer.library(v) for v in range(problem.n_nodes)]
        network = _Networks(table, found, libraries, self.pseudo_count, shared)
        self.front_ = Front(
            shown,
            result.F,
            network,
            table=table,
            expert=completed,
            record=self._record(objectives, problem),
        )
        return self

    def _record(self, objectives: Sequence[str | OwnObjective], problem: FrontProblem) -> dict[str, Any]:
        """Return where the front comes from, in plain values."""
        from gomea_bn.learning.run_folder import plain_parameters
        from gomea_bn.runtime.environment import environment

        parameters = plain_parameters(self)
        parameters["objectives"] = [o if isinstance(o, str) else o.name for o in objectives]
        parameters["expert"] = (
            os.fspath(self.expert) if isinstance(self.expert, (str, os.PathLike)) else self.expert is not None
        )
        parameters["max_complexity"] = min(problem.front_rules.max_parameters, 1e300)
        for name in ("cut_points", "kinds"):
            given = parameters[name]
            parameters[name] = None if given is None else {k: _plain(v) for k, v in given.items()}
        algorithm = self.algorithm or MOGOMEA()
        options = {field.name: getattr(algorithm, field.name) for field in fields(algorithm)}
        plain = (str, int, float, bool, type(None))
        return {
            "seed": self.seed_,
            "data_sha256": table_digest(self.table_),
            "n_rows": self.table_.n_rows,
            "dropped_rows": list(self.table_.dropped_rows),
            "columns": column_summary(self.table_),
            "parameters": parameters,
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
            "repeat": {"random_state": self.seed_, "max_evaluations": self.n_eval_, "max_seconds": None},
        }


def front_problem(
    options: ParetoBayesNetLearner,
    table: Table,
    objectives: Sequence[str | OwnObjective],
    expert: DiscretizedBayesNet | None,
    mentioned: frozenset[str] | None,
    seed: int,
) -> FrontProblem:
    """Return the problem of learning a front for `table`; `seed` is of the expert's sample."""
    known = sorted([OPTIMAL, *POLICY_FAMILIES])
    if not isinstance(options.discretizer, str) or options.discretizer not in known:
        raise GomeaBnError(
            f"discretizer must be one of {known} for a front, got {options.discretizer!r}; other "
            "discretizers work in BayesNetLearner, or by themselves: cut_points=found.cut_points_."
        )
    learning = LearningOptions(
        min_width=options.min_width,
        min_bin_count=options.min_bin_count,
        discretizer=options.discretizer,
        cut_points=options.cut_points,
        max_bins=options.max_bins,
        max_indegree=options.max_indegree,
        knowledge=options.knowledge,
        random_repair=options.random_repair,
        initial_indegree=options.initial_indegree,
        max_candidates=options.max_candidates,
    )
    size = options.expert_sample_size
    if not is_integer(size) or not 2 <= size <= 1 << 20:
        raise GomeaBnError(f"expert_sample_size must be an integer from 2 to {1 << 20}, got {size!r}.")
    variables, rules = scored_variables(table, learning)
    names = [o if isinstance(o, str) else o.name for o in objectives]
    sample = None
    if expert is not None and "expert_distance" in names:
        sample = draw_expert_sample(expert, size, seed, mentioned)
    limit = options.max_complexity
    least = float(sum((v.n_levels or v.policies[0].n_bins) - 1 for v in variables))
    if limit is None:
        alone = max(float(table.n_rows), _TIMES_EXPERT * least)
        limit = alone if expert is None else max(_TIMES_EXPERT * expert.n_parameters, least)
    elif not is_real(limit) or not limit > 0:
        raise GomeaBnError(f"max_complexity must be a positive number or None, got {limit!r}.")
    elif limit < least:
        raise GomeaBnError(
            f"max_complexity must be at least {least:g}, the free parameters without any edge and with the fewest "
            f"bins, got {limit!r}."
        )
    problem: FrontProblem

    def own(objective: OwnObjective) -> Callable[[NDArray[np.int16]], float]:
        def value(genotype: NDArray[np.int16]) -> float:
            found = objective.function(
                _edges(problem, table, genotype), learned_cut_points(problem, genotype)
            )
            if not is_real(found):
                raise GomeaBnError(f"The objective {objective.name!r} must return a number, got {found!r}.")
            return float(found)

        return value

    growth = library_growth(table, variables, learning)
    scorer = smoothed_scorer(variables, table.n_rows, options.pseudo_count, growth=growth)
    problem = FrontProblem(
        scorer,
        rules,
        names,
        expert=sample,
        own={o.name: own(o) for o in objectives if not isinstance(o, str)},
        max_parameters=float(limit),
        random_repair=options.random_repair,
        initial_indegree=options.initial_indegree,
        pricing=None if growth is None else _pricing(table.n_rows, options),
        pairs=candidate_pairs(scorer, rules, learning.max_candidates),
    )
    return problem


def _pricing(n_rows: int, options: ParetoBayesNetLearner) -> Pricing:
    """Return what is priced for a front: cuts by the log density less several prices per free parameter."""
    method = scoring_method("density-bic")
    prices = [share * log(n_rows) / 2 for share in _PRICES]
    scores = [IntervalScore(method, score_rule(method, n_rows, penalty=price)) for price in prices]
    return Pricing(CutLimits(1, options.max_bins, options.min_width, options.min_bin_count), scores)


def _edges(problem: FrontProblem, table: Table, genotype: NDArray[np.int16]) -> list[tuple[str, str]]:
    return [(table.names[parent], table.names[child]) for parent, child in learned_edges(problem, genotype)]


@dataclass(frozen=True)
class _Networks:
    """The networks of a front's rows, built when they are asked for; unlike a closure it can be pickled."""

    table: Table
    found: list[tuple[list[tuple[str, str]], NDArray[np.int64]]]  # edges and policy indices by row
    libraries: list[list[Policy | None]]
    pseudo_count: float
    metadata: dict[str, Any]

    def __call__(self, row: int) -> DiscretizedBayesNet:
        edges, chosen = self.found[row]
        cuts = {}
        for column, library, index in zip(self.table.columns, self.libraries, chosen.tolist(), strict=True):
            if column.is_continuous and (policy := library[index]) is not None:
                cuts[column.name] = policy.cut_points
        return DiscretizedBayesNet.from_table(
            self.table, edges, cuts, pseudo_count=self.pseudo_count, metadata=self.metadata
        )


def _expert(given: Any) -> ExpertNetwork | None:
    """Return what the option `expert` means."""
    if given is None or isinstance(given, ExpertNetwork):
        return given
    if isinstance(given, DiscretizedBayesNet):
        return ExpertNetwork.from_network(given)
    if isinstance(given, (str, os.PathLike)):
        return ExpertNetwork.from_file(given)
    raise GomeaBnError(
        f"expert must be an ExpertNetwork, a DiscretizedBayesNet, a path or None, got {given!r}."
    )


def _objectives(given: Any, has_expert: bool) -> list[str | OwnObjective]:
    """Return what the option `objectives` means."""
    if given is None:
        return [*_STANDARD] if has_expert else ["misfit", "complexity"]
    known = f"{sorted(_STANDARD)} or OwnObjective"
    if isinstance(given, (str, OwnObjective)) or not isinstance(given, Iterable):
        raise GomeaBnError(f"objectives must be a list out of {known}, got {given!r}.")
    listed = list(given)
    for one in listed:
        own = isinstance(one, OwnObjective)
        name = one.name if own else one
        if not own and not (isinstance(name, str) and name in _STANDARD):
            raise GomeaBnError(f"objectives must be out of {known}, got {one!r}.")
        if own and (not isinstance(name, str) or name in ("", *_STANDARD) or not callable(one.function)):
            raise GomeaBnError(
                f"An objective of one's own needs a new name and a callable, got {one.name!r}, {one.function!r}."
            )
    names = [one if isinstance(one, str) else one.name for one in listed]
    if len(listed) < 2 or len(set(names)) < len(names):
        raise GomeaBnError(f"objectives must be at least two different ones, got {names}.")
    if "expert_distance" in names and not has_expert:
        raise GomeaBnError("objectives name 'expert_distance', but there is no expert; pass expert=.")
    return listed


def _plain(value: Any) -> Any:
    """Return an option's value as JSON can hold it."""
    if isinstance(value, str):
        return value
    return [float(one) for one in value]
