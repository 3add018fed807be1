"""GOMEA with a discretizer: rounds of search, between which the discretizer's cuts enter the policy libraries."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gomea_bn.algorithms.gomea import GOMEA, GomeaRun
from gomea_bn.data.table import Table
from gomea_bn.discretization.base import NoNeighbourWarning
from gomea_bn.discretization.proposals import follows_graph, propose, proposers
from gomea_bn.learning.learning_problem import LearningOptions, learned_cut_points, learning_problem
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.problems.interval_dp import CutLimits
from gomea_bn.problems.structure import StructureProblem
from gomea_bn.runtime.limits import Callback, HistoryEntry, Limits, Progress, Result
from gomea_bn.runtime.threads import StopFlag

__all__ = ["DiscretizerSearch"]

CutsByName = dict[str, NDArray[np.float64]]

# evaluations per gene before the discretizer is asked first; later whenever they have doubled
_FIRST_PER_GENE = 4
_NO_CUTS = np.empty(0)
_MIN_WIDTH = CutLimits().min_width
_TIME_SHARE = 1 / 3  # of the time left, for a run of a discretizer of which none has finished
# reasons to end of a search that finds nothing more, not of one that was told to end
_SATISFIED = ("patience", "max_population_size")


@dataclass(frozen=True, slots=True)
class _Best:
    """A network in terms that outlive a round's libraries: arcs (parent, child) by position, inner cuts by name."""

    objective: float
    edges: list[tuple[int, int]]
    cuts: CutsByName


class DiscretizerSearch:
    """One learning run in which a discretizer proposes cuts for the best network so far.

    The discretizer is asked whenever the evaluations have doubled, and when a round has found nothing for as long as
    `patience` says; but only if the best network is not the one that it was asked for last, and one that looks at no
    graph only once. Cuts that no library has
    end the round: they enter the libraries, and a new round starts from the best network, and from the same graph with
    all of the proposed cuts. The search ends by patience when there are no such cuts.

    The first run of the discretizer takes at most a third of the time that is left, and its best cuts until then count.
    If it came to its end, later runs may take all the time that is left, and cuts that the end of the clock leaves
    unfinished do not count, so that the same evaluations give the same network again. If not, a third is the limit of
    later runs too, and the search first has as long as the discretizer had before this is asked again.

    Parameters
    ----------
    table : Table
    options : LearningOptions
    algorithm : GOMEA
    limits : Limits
        Of all rounds together; `patience` and the evaluations that it waits for at least count anew in every round.
    seed : int
    n_threads : int
    callback : callable, optional
        Gets a `Progress` with the counts of all rounds.
    """

    def __init__(
        self,
        table: Table,
        options: LearningOptions,
        algorithm: GOMEA,
        limits: Limits,
        *,
        seed: int,
        n_threads: int,
        callback: Callback | None,
    ) -> None:
        self.table = table
        self.options = options
        self.algorithm = algorithm
        self.limits = limits
        self.seed = seed
        self.n_threads = n_threads
        self.callback = callback
        self.discretizers = proposers(options.discretizer, max_bins=options.max_bins, random_state=seed)
        self.fixed = sorted(options.cut_points or ())
        self.entered: dict[str, list[NDArray[np.float64]]] = {
            c.name: [] for c in table.columns if c.is_continuous and c.name not in self.fixed
        }
        self.too_many: dict[str, int] = {}
        self.asked: DiscretizedBayesNet | None = None
        self.asking = 0.0  # seconds
        self.ask_at = 0
        self.rounds: list[Result] = []
        self.history: list[HistoryEntry] = []
        self.statistics: Counter[str] = Counter(
            discretizer_runs=0, discretizer_cut_short=0, policies_entered=0
        )
        self.best = _Best(np.inf, [], {})

    def run(self) -> tuple[StructureProblem, Result]:
        """Return the last round's problem, and the best of all rounds as a result of that problem."""
        self.discretizers[0].compile()  # the clock of a run never pays for compiling
        self.stop = StopFlag(self.limits.max_seconds)
        problem = learning_problem(self.table, self.options)
        self.ask_at = _FIRST_PER_GENE * problem.n_variables
        initial: NDArray[np.int16] | None = None
        with self.stop.catching_interrupts():
            while (proposed := self._round(problem, initial)) is not None:
                problem = learning_problem(self.table, self.options, self.entered, pairs=problem.pairs)
                starts = (self.best.cuts, *({**self.best.cuts, **cuts} for cuts in proposed))
                initial = np.stack([_genotype(problem, self.best.edges, cuts) for cuts in starts])
        self._warn()
        return problem, self._result(problem)

    def _round(self, problem: StructureProblem, initial: NDArray[np.int16] | None) -> list[CutsByName] | None:
        """Search until the discretizer has cuts that no library has, and return them; None ends the search."""
        n_eval, seconds = sum(r.n_eval for r in self.rounds), self.stop.seconds
        run = GomeaRun(
            self.algorithm,
            problem,
            self._limits_left(),
            random_state=np.random.SeedSequence([self.seed, len(self.rounds)]) if self.rounds else self.seed,
            n_jobs=self.n_threads,
            callback=None if self.callback is None else self._reporter(self.callback),
            initial=initial,
        )
        proposed = None
        while proposed is None and not self.stop.reason:
            with run, run.stop.catching_interrupts():
                while run.step() and n_eval + run.n_eval < self.ask_at:
                    pass
            self._note_best(problem, run.result())
            ended = run.stop.reason
            if not ended or ended in _SATISFIED:
                self.ask_at = 2 * (n_eval + run.n_eval)
                proposed = self._ask(problem, settled=bool(ended))
            if ended and (proposed is None or ended not in _SATISFIED):
                self.stop.raise_for(ended)
        result = run.result()
        self.rounds.append(result)
        self.statistics.update(result.statistics)
        for entry in result.history:
            if not self.history or entry.objective < self.history[-1].objective:
                total = replace(entry, seconds=seconds + entry.seconds, n_eval=n_eval + entry.n_eval)
                self.history.append(total)
        return None if self.stop.reason else proposed

    def _note_best(self, problem: StructureProblem, result: Result) -> None:
        if result.F[0] < self.best.objective:
            cuts = learned_cut_points(problem, result.X)
            self.best = _Best(float(result.F[0]), problem.edges(result.X), cuts)

    def _ask(self, problem: StructureProblem, *, settled: bool) -> list[CutsByName] | None:
        """Return the discretizer's cuts for the best network and enter them, or None if no library lacks one.

        A search that is not `settled` goes on for as long as a discretizer took that the clock has ended.
        """
        if not self.entered or (self.asked is not None and not follows_graph(self.discretizers[0])):
            return None
        late = self.statistics["discretizer_cut_short"] > 0
        if late and not settled and 2 * self.asking > self.stop.seconds:
            return None
        names = self.table.names
        network = DiscretizedBayesNet.from_table(
            self.table,
            [(names[parent], names[child]) for parent, child in self.best.edges],
            self.best.cuts,
            metadata={"fixed_cut_points": self.fixed},
        )
        self.stop.check_deadline()
        if self.stop.reason or network == self.asked:
            return None
        began = self.stop.seconds
        found, finished = self._proposals(network)
        self.asking += self.stop.seconds - began
        self.stop.check_deadline()
        if self.stop.reason:  # what an unfinished method found would depend on the clock
            return None
        self.asked = network
        self.statistics["discretizer_runs"] += 1
        self.statistics["discretizer_cut_short"] += not finished
        return self._entering(problem, found)

    def _proposals(self, network: DiscretizedBayesNet) -> tuple[list[CutsByName], bool]:
        """Return what the discretizer finds for a network in its time, and whether it came to its end."""
        began, allowed = self.stop.seconds, None
        if self.limits.max_seconds is not None:
            allowed = self.limits.max_seconds - began
            if not self.statistics["discretizer_runs"] or self.statistics["discretizer_cut_short"]:
                allowed *= _TIME_SHARE
        found: list[CutsByName] = []
        for method in self.discretizers:
            left = None if allowed is None else max(allowed - (self.stop.seconds - began), 1e-6)
            with warnings.catch_warnings():
                # the best graph may well be empty for a while
                warnings.simplefilter("ignore", NoNeighbourWarning)
                proposal = propose(method, self.table, network, min_width=_MIN_WIDTH, max_seconds=left)
            if proposal.stopped_by == "interrupt":
                self.stop.raise_for("interrupt")
                return found, False
            found.append(proposal.cut_points)
            own = method.max_seconds
            if proposal.stopped_by == "max_seconds" and left is not None and (own is None or own > left):
                return found, False
        return found, True

    def _entering(self, problem: StructureProblem, proposals: list[CutsByName]) -> list[CutsByName] | None:
        """Put proposed cuts that no library has where the next libraries take them from; None if there are none."""
        known = {
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
                if tuple(cuts.tolist()) not in known[name]:
                    known[name].add(tuple(cuts.tolist()))
                    self.entered[name].append(cuts)
                    n_new += 1
        self.statistics["policies_entered"] += n_new
        return usable if n_new else None

    def _limits_left(self) -> Limits:
        """Return what the rounds so far have left; each round evaluates at least one network."""
        limits = self.limits
        seconds, evaluations, generations = limits.max_seconds, limits.max_evaluations, limits.max_generations
        if seconds is not None:
            seconds = max(seconds - self.stop.seconds, 1e-6)
        if evaluations is not None:
            evaluations -= sum(r.n_eval for r in self.rounds)
        if generations is not None:
            generations -= sum(r.n_generations for r in self.rounds)
        return replace(limits, max_seconds=seconds, max_evaluations=evaluations, max_generations=generations)

    def _reporter(self, callback: Callback) -> Callback:
        """Return a callback that hands on the progress of one round with the counts of all rounds."""
        n_eval = sum(r.n_eval for r in self.rounds)
        n_generations = sum(r.n_generations for r in self.rounds)
        statistics, best = Counter(self.statistics), self.best.objective

        def report(progress: Progress) -> bool | None:
            return callback(
                replace(
                    progress,
                    seconds=self.stop.seconds,
                    n_eval=n_eval + progress.n_eval,
                    n_generations=n_generations + progress.n_generations,
                    best=min(best, progress.best),
                    statistics=dict(statistics + Counter(progress.statistics)),
                )
            )

        return report

    def _result(self, problem: StructureProblem) -> Result:
        """Return the best network as a genotype of the last round's problem, with the counts of all rounds."""
        return Result(
            X=_genotype(problem, self.best.edges, self.best.cuts),
            F=np.array([self.best.objective]),
            n_eval=sum(r.n_eval for r in self.rounds),
            n_eval_full=sum(r.n_eval_full for r in self.rounds),
            exec_time=self.stop.seconds,
            time_to_best=self.history[-1].seconds,
            history=self.history,
            stopped_by=self.stop.reason,
            n_generations=sum(r.n_generations for r in self.rounds),
            statistics={**self.statistics, "rounds": len(self.rounds)},
            extra=self.rounds[-1].extra,
        )

    def _warn(self) -> None:
        """Warn where cuts were too many to be used, and where the clock had a say in them."""
        if self.too_many:
            worst = max(self.too_many, key=lambda name: self.too_many[name])
            warnings.warn(
                f"The discretizer cut {worst!r} into {self.too_many[worst]} bins, more than max_bins="
                f"{self.options.max_bins}: such cuts, of {len(self.too_many)} columns, were not used. Raise max_bins.",
                UserWarning,
                stacklevel=5,
            )
        n_late, n_runs = (self.statistics[f"discretizer_{what}"] for what in ("cut_short", "runs"))
        if n_late:
            warnings.warn(
                f"max_seconds ended the discretizer in {n_late} of {n_runs} runs; its cuts until then were used, and "
                "the same seed may give another network. Raise max_seconds, or give the discretizer options that make "
                "it faster.",
                UserWarning,
                stacklevel=5,
            )


def _genotype(problem: StructureProblem, edges: list[tuple[int, int]], cuts: CutsByName) -> NDArray[np.int16]:
    """Return the genotype of arcs and cuts, each of which is in its column's library."""
    policies = []
    for variable in problem.scorer.variables:
        wanted = cuts.get(variable.name, _NO_CUTS)  # a discrete column has no policies to choose from
        same = [np.array_equal(policy.cut_points, wanted) for policy in variable.policies]
        policies.append(same.index(True) if same else 0)
    return problem.genotype(edges, policies)
