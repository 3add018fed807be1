"""One variable after the other cut optimally, the graph given, until none can be improved."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, is_real, nearest
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.problems.family_scorer import Family, FamilyScorer, ScoredVariable
from gomea_bn.problems.interval_dp import Child, Coded, CutLimits, CutProblem, IntervalScore, SortedColumn
from gomea_bn.problems.knowledge import DEFAULT_MAX_TABLE_CELLS
from gomea_bn.problems.policies import MAX_CARDINALITY, Policy, bin_codes, equal_frequency_cuts
from gomea_bn.problems.scores import score_rule, scoring_method
from gomea_bn.runtime.limits import Callback, HistoryEntry, Progress
from gomea_bn.runtime.threads import StopFlag, Workers

__all__ = ["CutCycle", "Cuts", "RefinementSession"]

Cuts = dict[int, NDArray[np.float64]]
"""Inner cuts by index of the variable."""

_LEAST_GAIN = 1e-10  # of the score's size: smaller gains are rounding, and would keep the cycle from ending


class RefinementSession:
    """A network's graph, its data, and the score of any cut points."""

    def __init__(
        self,
        network: DiscretizedBayesNet,
        table: Table,
        method_name: str,
        penalty: str | float,
        variables: Sequence[str] | None,
    ) -> None:
        shares = {name: network.metadata.get(name) for name in ("cut_cost", "edge_cost")}
        charged = {name: share for name, share in shares.items() if is_real(share)}
        self.method = scoring_method(method_name, **charged)
        if not self.method.density:
            raise GomeaBnError(f"scoring_method must be 'density-bic' or 'density-bd', got {method_name!r}.")
        self.table = table
        self.rule = score_rule(
            self.method, self.table.n_rows, n_variables=self.table.n_varying, penalty=penalty
        )
        names = network.names
        self.parents = [[names.index(parent) for parent in network.parents(name)] for name in names]
        self.children = [[c for c, found in enumerate(self.parents) if v in found] for v in range(len(names))]
        continuous = network.cut_points
        self.own_cuts: Cuts = {v: continuous[name] for v, name in enumerate(names) if name in continuous}
        for name in variables or ():
            if name not in continuous:
                raise GomeaBnError(
                    f"variables: no continuous variable {name!r}.{nearest(str(name), continuous)}"
                )
        known = network.metadata.get("fixed_cut_points")
        self.fixed = set(known) if isinstance(known, list) else set()
        if variables is None:
            self.movable = [v for v in self.own_cuts if names[v] not in self.fixed]
        else:
            self.movable = [v for v in self.own_cuts if names[v] in variables]

    def scored_variables(self, cuts: Cuts) -> list[ScoredVariable]:
        """Return the variables with one policy each."""
        return [
            ScoredVariable(c.name, c.values, len(c.levels))
            if c.levels is not None
            else ScoredVariable(
                c.name, c.values, 0, (Policy(cuts[v], v in self.movable or c.name not in self.fixed),)
            )
            for v, c in enumerate(self.table.columns)
        ]

    def score(self, cuts: Cuts) -> float:
        """Return the network's score in nats under the given cut points."""
        scorer = FamilyScorer(self.scored_variables(cuts), self.method, self.rule)
        families = [Family((v, 0), tuple((p, 0) for p in found)) for v, found in enumerate(self.parents)]
        return float(scorer.score(families, use_cache=False).sum())

    def coded(self, cuts: Cuts) -> list[Coded]:
        """Return every variable's codes under the given cut points."""
        found = []
        for v, column in enumerate(self.table.columns):
            if column.levels is not None:
                found.append(Coded(column.values.astype(np.uint8), len(column.levels)))
            else:
                found.append(Coded(bin_codes(column.values, cuts[v]), len(cuts[v]) + 1))
        return found


class CutCycle:
    """Optimal steps of one variable after the other, until none improves the score."""

    def __init__(
        self,
        session: RefinementSession,
        limits: CutLimits,
        free: bool,
        stop: StopFlag,
        callback: Callback | None,
    ) -> None:
        self.session = session
        self.limits = limits
        self.free = free
        self.stop = stop
        self.callback = callback
        self.history: list[HistoryEntry] = []
        self.interval_score = IntervalScore(session.method, session.rule)
        self.columns: dict[int, SortedColumn] = {}
        self.n_steps = 0
        self.n_cycles = 0
        self.best = -np.inf

    def run(self, starts: int, score: float, generator: np.random.Generator) -> Cuts:
        """Return the best cut points over all starts, the first from the network's own cuts with that score."""
        session = self.session
        best, best_score = session.own_cuts, score
        self.best = score
        with self.stop.catching_interrupts(), Workers(1, self.stop) as self.workers:
            for start in range(starts):
                cuts, reached, order = session.own_cuts, score, session.movable
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
        """Improve `cuts` to a fixpoint; a variable is visited again only once something around it has changed."""
        session = self.session
        coded = session.coded(cuts)
        due = set(order)
        while due:
            self.n_cycles += 1
            for v in order:
                if v not in due:
                    continue
                due.discard(v)
                gain, found = self._step(v, cuts[v], coded)
                if self.stop.reason:
                    return cuts, score
                if gain > _LEAST_GAIN * max(1.0, abs(score)):
                    cuts[v] = found
                    values = session.table.columns[v].values
                    coded[v] = Coded(bin_codes(values, found), len(found) + 1)
                    score += gain
                    self._note(score)
                    due |= self._around(v) & set(order)
                if self.callback is not None and self.callback(self._progress()):
                    self.stop.raise_for("callback")
                    return cuts, score
        return cuts, score

    def _step(
        self, v: int, cuts: NDArray[np.float64], coded: Sequence[Coded]
    ) -> tuple[float, NDArray[np.float64]]:
        """Return the best cut points of one variable and by how much they raise the score; -inf for none."""
        self.n_steps += 1
        session = self.session
        limits = self._limits(v, len(cuts) + 1, coded)
        outcome: list[tuple[float, NDArray[np.float64]]] = []

        def work(_thread: int, _block: int) -> None:
            children = [
                Child(coded[c], tuple(coded[s] for s in session.parents[c] if s != v))
                for c in session.children[v]
            ]
            parents = [coded[p] for p in session.parents[v]]
            problem = CutProblem(self._sorted(v), parents, children, self.interval_score)
            found = problem.optimal(limits, incumbent=cuts, stop=self.stop.flag)
            if found is not None:
                outcome.append((found.value - problem.value(cuts), found.cut_points))

        self.workers.run(work, 1, n_threads=1, inline=False, n_certain=0)
        return outcome[0] if outcome else (-np.inf, cuts)

    def _limits(self, v: int, n_bins: int, coded: Sequence[Coded]) -> CutLimits:
        """Return the limits of a variable with `n_bins` bins: as many, or free as far as its tables may grow."""
        limits, session = self.limits, self.session
        if not self.free:
            return CutLimits(n_bins, n_bins, limits.width_floor, limits.min_bin_count)
        most = limits.max_bins or MAX_CARDINALITY
        for family in (v, *session.children[v]):
            others = {family, *session.parents[family]} - {v}
            room = DEFAULT_MAX_TABLE_CELLS // prod(coded[other].cardinality for other in others)
            most = min(most, max(room, n_bins))
        return CutLimits(limits.min_bins, most, limits.width_floor, limits.min_bin_count)

    def _around(self, v: int) -> set[int]:
        """Return parents, children and spouses of a variable."""
        session = self.session
        found = {*session.parents[v], *session.children[v]}
        for child in session.children[v]:
            found.update(session.parents[child])
        return found - {v}

    def _random_start(self, generator: np.random.Generator) -> Cuts:
        """Return cuts at random quantiles, in 2 to 5 bins or as many as the network has."""
        cuts = dict(self.session.own_cuts)
        for v in self.session.movable:
            column = self._sorted(v)
            n_bins = int(generator.integers(2, 6)) if self.free else len(cuts[v]) + 1
            drawn = equal_frequency_cuts(generator.choice(column.values, 20 * n_bins), n_bins)
            raw = column.cuts[column.gaps(drawn)]
            edges = np.concatenate(([column.low], raw, [column.high]))
            rows = np.diff(np.concatenate(([0], column.rows_below(raw), [column.n_rows])))
            wide = np.diff(edges) >= self.limits.width_floor * (column.high - column.low)
            if (
                (self.free or len(raw) + 1 == n_bins)
                and wide.all()
                and (rows >= self.limits.min_bin_count).all()
            ):
                cuts[v] = raw
        return cuts

    def _sorted(self, v: int) -> SortedColumn:
        if v not in self.columns:
            self.columns[v] = SortedColumn(self.session.table.columns[v].values)
        return self.columns[v]

    def _progress(self) -> Progress:
        return Progress(self.stop.seconds, self.n_steps, self.n_cycles, (), (), -self.best, {})
