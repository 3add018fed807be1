"""Rounds of GOMEA between which a discretizer proposes cuts for the best network so far."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gomea_bn.algorithms.gomea import GomeaRun
from gomea_bn.algorithms.multi_start import ended_before
from gomea_bn.data.table import Table
from gomea_bn.discretization.base import NoNeighbourWarning
from gomea_bn.discretization.proposals import propose, proposers
from gomea_bn.errors import GomeaBnWarning, Setting, give_warning
from gomea_bn.learning.learning_problem import learning_problem
from gomea_bn.learning.options import LearningOptions
from gomea_bn.learning.search.rounds import SearchRounds, SearchSettings
from gomea_bn.learning.search.shown_cuts import LearnedNetwork, learned_cut_points
from gomea_bn.learning.search.staged_search import GraphAndCuts, genotype_of
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.problems.cuts.interval_dp import CutLimits
from gomea_bn.problems.structure import StructureProblem
from gomea_bn.runtime.checkpoints import State
from gomea_bn.runtime.limits import Result
from gomea_bn.texts import counted

CutsByName = dict[str, NDArray[np.float64]]

# evaluations per gene before the first run of the discretizer; later runs follow whenever the number has doubled
_FIRST_PER_GENE = 4
_MIN_WIDTH = CutLimits().min_width
# share of the remaining time for a discretizer that has not come to its end in any run
_TIME_SHARE = 1 / 3
# reasons why a search ends by itself, as opposed to limits that interrupt it
_SETTLED = ("done", "patience", "max_population_size")


@dataclass(eq=False)
class DiscretizerSearch:
    """Learning run in which a discretizer proposes cuts for the best network so far.

    The notes of `BayesNetLearner` say when it runs, which rounds follow, and what time it gets. A run is skipped if the
    best network has not changed since the last one, and discretizers that ignore the graph run only once. Without new
    cuts `patience` ends the search. Cuts of a run that the deadline interrupts are discarded unless the first run was
    late, so that the same number of evaluations gives the same network again. A late discretizer waits until the search
    has taken as long.
    """

    problem: StructureProblem
    table: Table
    options: LearningOptions
    settings: SearchSettings
    too_many: dict[str, int] = field(default_factory=dict)
    last_network: DiscretizedBayesNet | None = None
    discretizer_seconds: float = 0.0
    # unlike a genotype it does not refer to libraries of cuts
    best: LearnedNetwork = field(default_factory=lambda: LearnedNetwork([], {}))
    objective: float = np.inf

    def __post_init__(self) -> None:
        method, most = self.options.discretizer, self.options.max_bins
        self.discretizers = proposers(method, max_bins=most, random_state=self.settings.seed)
        self.fixed = sorted(self.options.cut_points or ())
        self.entered: dict[str, list[NDArray[np.float64]]] = {
            c.name: [] for c in self.table.columns if c.is_continuous and c.name not in self.fixed
        }
        # number of evaluations at which the discretizer runs next
        self.next_run_at = max(_FIRST_PER_GENE * self.problem.n_variables, 1)

    def run(self, start: GraphAndCuts | None = None) -> tuple[StructureProblem, Result]:
        """Return the problem of the last round, and the best of all rounds as a result of that problem.

        A given `start`, edges and cuts, is where the first round begins, with the cuts of equal frequency nearest to
        its own.
        """
        section = self.settings.section
        if section.saved is not None and "entered" in section.saved:
            for name, cuts in section.saved["entered"]:
                self.entered[name][:] = [np.array(of_column, np.float64) for of_column in cuts]
            # libraries that cuts have entered are in another order than the first ones
            if any(self.entered.values()):
                self.problem = self._problem_of_round()
        before = ended_before(section, self.problem)
        if before is not None:
            return self.problem, before
        # compile before the clock starts
        self.discretizers[0].compile()
        self.rounds = SearchRounds(self.settings)
        self.statistics = self.rounds.statistics
        self.statistics.update(discretizer_runs=0, discretizer_cut_short=0, policies_entered=0)
        self.stop = self.rounds.stop
        problem = self.problem
        initial = None if start is None else genotype_of(problem, start)[None]
        self.rounds.open(self._restore, self._state)
        with self.stop.catching_interrupts():
            while (proposed := self._round(problem, initial)) is not None:
                problem = self._problem_of_round()
                starts = (self.best.cuts, *({**self.best.cuts, **cuts} for cuts in proposed))
                initial = np.stack([_genotype(problem, self.best.edges, cuts) for cuts in starts])
        self._warn()
        genotype = _genotype(problem, self.best.edges, self.best.cuts)
        statistics = {"rounds": len(self.rounds.results)}
        return problem, self.rounds.finish(problem, genotype, self.objective, statistics, self._cuts_state())

    def _problem_of_round(self) -> StructureProblem:
        """Return the problem with the cuts that have entered so far."""
        return learning_problem(self.table, self.options, self.entered, pairs=self.problem.pairs)

    def _cuts_state(self) -> State:
        return {"entered": [[name, cuts] for name, cuts in self.entered.items()]}

    def _state(self) -> State:
        """Return all that the rest of the search depends on, apart from the round that is running."""
        last = self.last_network
        return {
            **self._cuts_state(),
            "rounds": self.rounds.state(),
            "best": [
                float(self.objective),
                self.best.edges,
                [[*item] for item in self.best.cuts.items()],
            ],
            "too_many": [[*pair] for pair in self.too_many.items()],
            "last_network": None if last is None else last.to_json(),
            "discretizer_seconds": self.discretizer_seconds,
            "next_run_at": self.next_run_at,
        }

    def _restore(self, state: State) -> None:
        """Go on from what `_state` had returned."""
        self.rounds.restore(state["rounds"])
        self.objective, edges, cuts = state["best"]
        self.best = LearnedNetwork(
            [(parent, child) for parent, child in edges],
            {name: np.array(of_column, np.float64) for name, of_column in cuts},
        )
        self.too_many = dict(state["too_many"])
        if state["last_network"] is not None:
            self.last_network = DiscretizedBayesNet.from_json(state["last_network"])
        self.discretizer_seconds, self.next_run_at = state["discretizer_seconds"], state["next_run_at"]

    def _round(self, problem: StructureProblem, initial: NDArray[np.int16] | None) -> list[CutsByName] | None:
        """Search until the discretizer proposes cuts that no library has; return them, or None to end the search."""
        n_eval, random_state = self.rounds.n_eval, self.rounds.random_state
        proposed = None

        def search(settings: SearchSettings) -> Result:
            nonlocal proposed
            run = GomeaRun(
                settings.algorithm,
                problem,
                settings.limits,
                random_state=random_state,
                n_jobs=settings.n_threads,
                callback=settings.callback,
                initial=initial,
            )
            run.begin(settings.section)
            while proposed is None and not self.stop.reason:
                with run, run.stop.catching_interrupts():
                    # tested first, since a run may go on from where the discretizer is due
                    while n_eval + run.n_eval < self.next_run_at and run.advance(settings.section):
                        pass
                result = run.result()
                if result.F[0] < self.objective:
                    self.objective = float(result.F[0])
                    self.best = LearnedNetwork(problem.edges(result.X), learned_cut_points(problem, result.X))
                ended = run.stop.reason
                if not ended or ended in _SETTLED:
                    # a problem without genes needs no evaluation
                    self.next_run_at = 2 * max(n_eval + run.n_eval, 1)
                    proposed = self._new_cuts(problem, settled=bool(ended))
                if ended and (proposed is None or ended not in _SETTLED):
                    self.stop.raise_for(ended)
            return run.result()

        self.rounds.run(search, "round", self.rounds.limits(), best=self.objective)
        return None if self.stop.reason else proposed

    def _new_cuts(self, problem: StructureProblem, *, settled: bool) -> list[CutsByName] | None:
        """Return the cuts that the discretizer proposes for the best network, or None if none of them is new.

        Unless the search is `settled`, a discretizer that the clock ended waits until the search has taken as long.
        """
        if not self.entered or (self.last_network is not None and not self.discretizers[0].follows_graph):
            return None
        was_late = self.statistics["discretizer_cut_short"] > 0
        if was_late and not settled and 2 * self.discretizer_seconds > self.stop.seconds:
            return None
        network = self.best.over(self.table, metadata={"fixed_cut_points": self.fixed})
        self.stop.check_deadline()
        if self.stop.reason or network == self.last_network:
            return None
        began = self.stop.seconds
        proposals, finished = self._proposals(network)
        self.discretizer_seconds += self.stop.seconds - began
        self.stop.check_deadline()
        # the cuts of an interrupted method would depend on the clock
        if self.stop.reason:
            return None
        self.last_network = network
        self.statistics["discretizer_runs"] += 1
        self.statistics["discretizer_cut_short"] += not finished
        return self._entering(problem, proposals)

    def _proposals(self, network: DiscretizedBayesNet) -> tuple[list[CutsByName], bool]:
        """Return the cuts that the discretizer finds for a network, and whether it came to its end in time."""
        began, allowed = self.stop.seconds, None
        if self.settings.limits.max_seconds is not None:
            allowed = self.settings.limits.max_seconds - began
            if not self.statistics["discretizer_runs"] or self.statistics["discretizer_cut_short"]:
                allowed *= _TIME_SHARE
        proposals: list[CutsByName] = []
        for method in self.discretizers:
            left = None if allowed is None else max(allowed - (self.stop.seconds - began), 1e-6)
            with warnings.catch_warnings():
                # the best graph may be empty in the first rounds
                warnings.simplefilter("ignore", NoNeighbourWarning)
                cuts, ended_by = propose(method, self.table, network, min_width=_MIN_WIDTH, max_seconds=left)
            if ended_by == "interrupt":
                self.stop.raise_for("interrupt")
                return proposals, False
            proposals.append(cuts)
            limit = method.max_seconds
            if ended_by == "max_seconds" and left is not None and (limit is None or limit > left):
                return proposals, False
        return proposals, True

    def _entering(self, problem: StructureProblem, proposals: list[CutsByName]) -> list[CutsByName] | None:
        """Enter new cuts into the next libraries; return the usable cuts of each proposal, or None if none is new."""
        present = {
            v.name: {tuple(policy.cut_points.tolist()) for policy in v.policies}
            for v in problem.scorer.variables
        }
        usable: list[CutsByName] = []
        n_new = 0
        for proposed in proposals:
            usable.append({})
            for name, cuts in ((name, proposed[name]) for name in self.entered):
                if len(cuts) >= self.options.max_bins:
                    self.too_many[name] = max(len(cuts) + 1, self.too_many.get(name, 0))
                    continue
                usable[-1][name] = cuts
                if tuple(cuts.tolist()) not in present[name]:
                    present[name].add(tuple(cuts.tolist()))
                    self.entered[name].append(cuts)
                    n_new += 1
        self.statistics["policies_entered"] += n_new
        return usable if n_new else None

    def _warn(self) -> None:
        """Warn if cuts were too many to be used, and if the result depends on the clock."""
        if self.too_many:
            worst = max(self.too_many, key=lambda name: self.too_many[name])
            warning = GomeaBnWarning(
                f"The discretizer cut {worst!r} into {self.too_many[worst]} bins, more than the limit of "
                f"{self.options.max_bins}. Such cuts of {counted(len(self.too_many), 'column')} were not used.",
                [Setting("max_bins")],
            )
            give_warning(warning)
        n_late, n_runs = self.statistics["discretizer_cut_short"], self.statistics["discretizer_runs"]
        if n_late:
            warning = GomeaBnWarning(
                f"The time limit ended the discretizer in {n_late} of {n_runs} runs. Its cuts until then were "
                "used, so the same seed may give another network.",
                [Setting("max_seconds"), "give the discretizer options that make it faster"],
            )
            give_warning(warning)


def _genotype(problem: StructureProblem, edges: list[tuple[int, int]], cuts: CutsByName) -> NDArray[np.int16]:
    """Return the genotype of arcs and of cuts that are in the libraries of their columns."""
    variables = enumerate(problem.scorer.variables)
    by_position = {v: cuts[variable.name] for v, variable in variables if variable.policies}
    return genotype_of(problem, GraphAndCuts(edges, by_position))
