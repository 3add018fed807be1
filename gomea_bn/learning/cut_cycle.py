"""Optimal cuts of one variable of a network after another, the graph given, until none can be improved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, Option, is_real, names_in, nearest
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.column_graph import ColumnGraph
from gomea_bn.network.recorded import fixed_columns
from gomea_bn.problems.cuts.blanket import (
    CodedColumn,
    Cuts,
    DueColumns,
    Neighbourhood,
    coded_bins,
    coded_columns,
)
from gomea_bn.problems.cuts.cut_column import CutColumn, ScoredVariable
from gomea_bn.problems.cuts.interval_dp import CutLimits, CutProblem, IntervalScore
from gomea_bn.problems.cuts.policies import MAX_CARDINALITY, Policy, equal_frequency_cuts
from gomea_bn.problems.cuts.shape import ColumnShape
from gomea_bn.problems.cuts.shape_fit import table_shapes
from gomea_bn.problems.family_scorer import FamilyScorer, graph_families
from gomea_bn.problems.knowledge import ExpertKnowledge
from gomea_bn.problems.scores import is_gain, recorded_options, score_record, score_rule, scoring_method
from gomea_bn.runtime.limits import Callback, HistoryEntry, Progress
from gomea_bn.runtime.threads import StopFlag, Workers


class RefinementSession:
    """A network's graph, its data, and the score of any cut points.

    The columns of the table are the network's in its order. The method is a density score; penalty and prior are by
    default those of the metadata, or else "bic" and Dirichlet(1). By default the cuts of every continuous variable may
    move whose cuts no user has fixed. `record` has the fields of the metadata that describe the score.

    Shapes of columns are fitted to the rows. A variable with a shape in the network has it whatever its cuts. Other
    variables are uniform inside their bins; if the network was learned with shapes, their shape limits the width of
    bins with repeated values.
    """

    def __init__(
        self,
        network: DiscretizedBayesNet,
        table: Table,
        method_name: str,
        penalty: str | float | None,
        variables: Sequence[str] | None,
        prior: str | None = None,
    ) -> None:
        costs = {name: network.metadata.get(name) for name in ("cut_cost", "edge_cost")}
        self.method = scoring_method(method_name, **{name: c for name, c in costs.items() if is_real(c)})
        if not self.method.density:
            raise GomeaBnError(
                [Option("scoring_method"), f" must be 'density-bic' or 'density-bd', got {method_name!r}."]
            )
        self.table = table
        options = recorded_options(network.metadata)
        options |= {} if penalty is None else {"penalty": penalty}
        options |= {} if prior is None else {"prior": prior}
        self.rule = score_rule(self.method, self.table.n_rows, n_variables=self.table.n_varying, **options)
        self.record = score_record(self.method, self.rule, options.get("penalty", "bic"))
        names = network.names
        self.graph = ColumnGraph.of(network, names)
        continuous = network.cut_points
        self.network_cuts: Cuts = {v: continuous[name] for v, name in enumerate(names) if name in continuous}
        has_limits = network.metadata.get("shape") in ("auto", "marginal")
        self.shapes: dict[int, ColumnShape] = {}
        if has_limits or network.shapes:
            fitted = table_shapes(table)
            self.shapes = {
                v: replace(
                    fitted[names[v]],
                    may_be_shaped=names[v] in network.shapes,
                    may_be_uniform=names[v] not in network.shapes,
                )
                for v in self.network_cuts
                if has_limits or names[v] in network.shapes
            }
        chosen = None if variables is None else names_in("variables", variables)
        for name in chosen or ():
            if not isinstance(name, str) or name not in continuous:
                raise GomeaBnError(
                    f"variables: no continuous variable {name!r}.{nearest(str(name), continuous)}"
                )
        self.fixed = fixed_columns(network)
        movable = set(names) - set(self.fixed) if chosen is None else set(chosen)
        self.movable = [v for v in self.network_cuts if names[v] in movable]
        self._variables = [
            ScoredVariable.of(column, shape=self.shapes.get(v)) for v, column in enumerate(table.columns)
        ]

    def scored_variables(self, cuts: Cuts) -> list[ScoredVariable]:
        """Return the variables with one policy each."""
        return [
            variable
            if variable.n_levels
            else variable.with_policies(
                [Policy(cuts[v], v in self.movable or variable.name not in self.fixed)]
            )
            for v, variable in enumerate(self._variables)
        ]

    def score(self, cuts: Cuts) -> float:
        """Return the network's score in nats under any cut points."""
        scorer = FamilyScorer(self.scored_variables(cuts), self.method, self.rule)
        scores = scorer.score(graph_families(self.graph.parents), use_cache=False)
        return float(scores.sum()) + scorer.constant_score

    @cached_property
    def interval_score(self) -> IntervalScore:
        """The score as a sum over intervals; `GomeaBnError` under the prior BDeu."""
        return IntervalScore(self.method, self.rule)

    def sorted_column(self, v: int) -> CutColumn:
        """Return a continuous column, sorted once."""
        return self._variables[v].ranks

    def cut_problem(self, v: int, around: Neighbourhood) -> CutProblem:
        """Return the problem of the cuts of a column, given the bins of its Markov blanket."""
        return CutProblem.of_rows(self.sorted_column(v), around, self.interval_score, self.shapes.get(v))

    def coded(self, cuts: Cuts) -> list[CodedColumn]:
        """Return the codes of all variables under any cut points."""
        return coded_columns(self.table.columns, cuts)


@dataclass(eq=False)
class CutCycle:
    """Optimal steps of one variable after another, until none improves the score, in nats.

    If `free`, numbers of bins may change. The callback gets a `Progress` after every step, and a true return value
    stops. `history` has every improvement of the best score, and counts steps as evaluations: dynamic programmes.
    Cycles are passes over the variables, of all starts.
    """

    session: RefinementSession
    limits: CutLimits
    free: bool
    stop: StopFlag
    callback: Callback | None
    history: list[HistoryEntry] = field(default_factory=list)
    n_steps: int = 0
    n_cycles: int = 0
    best: float = -np.inf

    def run(self, starts: int, score: float, generator: np.random.Generator) -> Cuts:
        """Return the best cut points over all starts; the first start is the network's cuts, of the given score."""
        session = self.session
        best, best_score = session.network_cuts, score
        self.best = score
        with self.stop.catching_interrupts(), Workers(1, self.stop) as self.workers:
            for start in range(starts):
                cuts, reached, order = session.network_cuts, score, session.movable
                if start:
                    cuts = self._random_start(generator)
                    reached = session.score(cuts)
                    order = generator.permutation(order).tolist()
                cuts, reached = self._cycle(dict(cuts), reached, order)
                if reached > best_score:
                    best, best_score = cuts, reached
                    self._note(reached)
                if self.stop.reason:
                    break
        return best

    def _note(self, score: float) -> None:
        if score > self.best:
            self.best = score
            self.history.append(HistoryEntry(self.stop.seconds, self.n_steps, -score, 0))

    def _cycle(self, cuts: Cuts, score: float, order: Sequence[int]) -> tuple[Cuts, float]:
        """Return cuts that no step improves, and their score; changes `cuts`."""
        session = self.session
        coded = session.coded(cuts)
        passes = DueColumns(order, session.graph.blanket, is_over=lambda: bool(self.stop.reason))
        before = self.n_cycles
        for v in passes:
            self.n_cycles = before + passes.n_passes
            gain, better_cuts = self._step(v, cuts[v], coded)
            if self.stop.reason:
                break
            reached = score + gain
            if session.table.n_missing and is_gain(gain, score):
                # the programme keeps the order in which parents are judged, the score may not
                reached = session.score({**cuts, v: better_cuts})
            if is_gain(reached - score, score):
                cuts[v] = better_cuts
                coded[v] = coded_bins(session.table.columns[v].values, better_cuts)
                score = reached
                self._note(score)
                passes.note_change(v)
            progress = Progress(self.stop.seconds, self.n_steps, self.n_cycles, (), (), -self.best, {})
            if self.callback is not None and self.callback(progress):
                self.stop.raise_for("callback")
        return cuts, score

    def _step(
        self, v: int, cuts: NDArray[np.float64], coded: Sequence[CodedColumn]
    ) -> tuple[float, NDArray[np.float64]]:
        """Return the gain of the best cut points of one variable, -inf if there are none, and these."""
        self.n_steps += 1
        around = replace(self.session.graph.neighbourhood(v, coded), centre=coded[v])
        n_bins = len(cuts) + 1
        limits = CutLimits(n_bins, n_bins, self.limits.min_width, self.limits.min_bin_count)
        if self.free:
            # tables that are already too large may stay so
            most = max(around.most_bins(ExpertKnowledge.max_table_cells), n_bins)
            limits = replace(self.limits, max_bins=min(self.limits.max_bins or MAX_CARDINALITY, most))
        outcome: list[tuple[float, NDArray[np.float64]]] = []

        def work(_thread: int, _block: int) -> None:
            problem = self.session.cut_problem(v, around)
            best = problem.optimal(limits, incumbent=cuts, stop=self.stop.flag)
            if best is not None:
                outcome.append((best.value - problem.value(cuts), best.cut_points))

        self.workers.run(work, 1, n_threads=1, inline=False, n_certain=0)
        return outcome[0] if outcome else (-np.inf, cuts)

    def _random_start(self, generator: np.random.Generator) -> Cuts:
        """Return cuts at random quantiles, in 2 to 5 bins if numbers of bins are free, else in as many as now."""
        cuts = dict(self.session.network_cuts)
        for v in self.session.movable:
            column = self.session.sorted_column(v)
            n_bins = int(generator.integers(2, 6)) if self.free else len(cuts[v]) + 1
            # drawn by rank, so that the order of the rows does not matter
            sample = generator.choice(np.sort(column.values), 20 * n_bins)
            drawn = equal_frequency_cuts(sample, n_bins)
            raw = column.cuts[column.gaps(drawn)]
            below = np.concatenate(([0], column.rows_below(raw), [column.n_rows])).astype(np.int64)
            if (
                (self.free or len(raw) + 1 == n_bins)
                and self._are_wide(v, raw, below)
                and (np.diff(below) >= self.limits.min_bin_count).all()
            ):
                cuts[v] = raw
        return cuts

    def _are_wide(self, v: int, cuts: NDArray[np.float64], below: NDArray[np.int64]) -> bool:
        """Return whether the bins of a variable, with the number of rows below every edge, have their least widths."""
        column, shape = self.session.sorted_column(v), self.session.shapes.get(v)
        if shape is not None and shape.may_be_shaped:
            return True
        edges = np.concatenate(([column.low], cuts, [column.high]))
        distinct = column.distinct_below(edges)
        distinct[0] = 0
        if shape is not None and shape.is_too_narrow(edges, below, distinct):
            return False
        return bool((np.diff(edges) >= self.limits.min_width * (column.high - column.low)).all())
