"""The two searches of a front: one for a single network, and one for the front, which begins with that network."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from gomea_bn.algorithms.gomea import GOMEA
from gomea_bn.algorithms.mogomea import MOGOMEA
from gomea_bn.data.table import Table
from gomea_bn.expert.expert_network import ExpertNetwork
from gomea_bn.front.objectives import OwnObjective
from gomea_bn.learning.fronts.search_space import completed_expert, front_problem
from gomea_bn.learning.options import LearningOptions, limits_after_preparation
from gomea_bn.learning.parameters import FrontParameters
from gomea_bn.learning.reported_scores import continued
from gomea_bn.learning.search.single_network import (
    SingleNetwork,
    limits_of_single,
    single_network,
    with_single,
)
from gomea_bn.learning.search.staged_search import SearchSettings
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.problems.front_problem import FrontProblem
from gomea_bn.runtime.checkpoints import Section
from gomea_bn.runtime.interrupts import delayed_interrupts
from gomea_bn.runtime.limits import Budget, Callback, Limits, Result


@dataclass(frozen=True)
class SearchedFront:
    """Result of both searches: the front and the counts of both, and the expert's network, completed over the rows.

    `position` is that of the single network in the front. Without a search for a single network `single` is None.
    """

    problem: FrontProblem
    expert: DiscretizedBayesNet | None
    single: SingleNetwork | None
    position: int | None
    result: Result

    @property
    def n_eval_single(self) -> int:
        """Number of evaluations of the search for a single network."""
        return 0 if self.single is None else self.single.result.n_eval


@dataclass(frozen=True, kw_only=True)
class FrontSearch:
    """The searches for a front of a table, with what both of them share: limits of both together, and options.

    The preparation of the table began at the time `began` of `perf_counter`.
    """

    learner: FrontParameters
    table: Table
    options: LearningOptions
    limits: Limits
    began: float
    seed: int
    n_threads: int
    callback: Callback | None
    section: Section
    of_sample: bool = False

    def run(self, objectives: Sequence[str | OwnObjective], expert: ExpertNetwork | None) -> SearchedFront:
        """Search for a single network and then for the front of the objectives."""
        single = self._single()
        rows = self.table if single is None else single.rows
        interrupts: list[bool] = []
        # Ctrl-C must not lose the single network
        with nullcontext() if single is None else delayed_interrupts(lambda: interrupts.append(True)):
            completed = None if expert is None else completed_expert(expert, rows, self.learner, self.options)
            problem = front_problem(
                self.learner, rows, objectives, completed, self.seed, single, options=self.options
            )
        if single is not None and interrupts:
            single = replace(single, result=replace(single.result, stopped_by="interrupt"))
        result, position = self._front(problem, single)
        return SearchedFront(problem, completed, single, position, result)

    def _single(self) -> SingleNetwork | None:
        """Search for a single network, if the options leave something for it.

        The preparation takes its share of the seconds of this search.
        """
        learner = self.learner
        of_single = limits_of_single(self.limits, learner.single_share, learner.single_evaluations)
        if of_single is None:
            return None
        return single_network(
            self.table,
            self.options,
            SearchSettings(
                GOMEA(),
                of_single,
                self.seed,
                self.n_threads,
                self.callback,
                self.section.part("single network"),
                self.of_sample,
            ),
            began=self.began,
            share=1.0 if learner.single_evaluations is not None else learner.single_share,
        )

    def _front(self, problem: FrontProblem, single: SingleNetwork | None) -> tuple[Result, int | None]:
        """Search for the front, and return it with the position of the single network in it."""
        of_single = 0.0 if single is None else single.result.exec_time
        left = limits_after_preparation(self.limits, perf_counter() - self.began - of_single)
        algorithm = self.learner.algorithm or MOGOMEA()
        options: dict[str, Any] = {
            "random_state": self.seed,
            "n_jobs": self.n_threads,
            "checkpoint": self.section.part("front"),
        }
        if single is None:
            return algorithm.run(problem, left, callback=self.callback, **options), None
        genotype = single.genotype(problem)
        result = algorithm.run(
            problem,
            # the first population has the single network, and is a front
            Limits(max_generations=1) if single.was_stopped else Budget(left).after(single.result).share(),
            callback=continued(self.callback, single.result, keeps_best=False),
            initial=genotype[None],
            **options,
        )
        return with_single(problem, result, single, genotype)
