"""What a search has learned, and the cuts that are shown of a network in which some columns follow curves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.table import Table
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.conditionals.conditionals import Conditionals
from gomea_bn.network.recorded import FEWER_CELLS
from gomea_bn.problems.cuts.blanket import (
    CodedFamily,
    Cuts,
    DueColumns,
    Neighbourhood,
    ParentSets,
    coded_bins,
)
from gomea_bn.problems.cuts.interval_counts import PricedCuts
from gomea_bn.problems.cuts.interval_dp import CutProblem
from gomea_bn.problems.cuts.libraries import Pricing
from gomea_bn.problems.cuts.policies import MAX_CARDINALITY, equal_frequency_cuts
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.problems.family_scorer import FamilyScorer, ScoredFamily
from gomea_bn.problems.scores import is_gain
from gomea_bn.problems.structure import StructureProblem
from gomea_bn.runtime.fit_clock import NO_LIMIT, SHOWN_CUTS, FitClock
from gomea_bn.runtime.kernel_progress import search_clock
from gomea_bn.runtime.limits import Result
from gomea_bn.runtime.phases import begin_part


def learned_cut_points(
    problem: StructureProblem, genotype: NDArray[np.int16]
) -> dict[str, NDArray[np.float64]]:
    """Return the inner cuts of every continuous variable under a genotype, by name."""
    scorer = problem.scorer
    return {scorer.variables[v].name: cuts for v, cuts in problem.cuts(genotype).items()}


def learned_shapes(problem: StructureProblem, genotype: NDArray[np.int16]) -> dict[str, Shape]:
    """Return the shapes of the continuous variables whose bins have them under a genotype, by name."""
    scorer = problem.scorer
    shapes = {}
    for v, policy in enumerate(problem.policy_indices(genotype).tolist()):
        shape = scorer.variables[v].shape
        if shape is not None and scorer.is_shaped[scorer.view(v, policy)]:
            shapes[scorer.variables[v].name] = shape.shape
    return shapes


def learned_edges(
    problem: StructureProblem, genotype: NDArray[np.int16], follows: NDArray[np.bool_] | None = None
) -> list[tuple[int, int]]:
    """Return the arcs (parent, child) of a repaired genotype, by variable index, without void ones.

    An arc from or to a variable with a single bin is void: it changes no probability. Required arcs stay, and arcs of
    families that curves score better than their tables, which `follows`, bool (n_nodes,), says where it is known.
    """
    if follows is None:
        follows = problem.follows_curves(genotype)
    views = problem.scorer.view_offset[:-1] + problem.policy_indices(genotype)
    several = problem.scorer.rows.cardinality[views] > 1
    required = ~problem.edge_rules.allowed[:, :, 0]
    return [
        (parent, child)
        for parent, child in problem.edges(genotype)
        if (several[parent] and several[child]) or required[parent, child] or follows[child]
    ]


Edges = list[tuple[int, int]]

# rounds of table parents given cuts and cuts given table parents: of every start, and of the best one after that
_ROUNDS_OF_START = 2
_MOST_ROUNDS = 3
# columns and rows beyond which there is one start, since the choice follows the search and its clock
_MOST_COLUMNS_OF_STARTS = 40
_MOST_ROWS_OF_STARTS = 20_000
# of the seconds that a fit has left after the search, apart from those that a column takes after its cuts in any case
_SHARE_OF_TIME, _SECONDS_AFTER_CUTS = 0.25, 6e-3
# passes over the columns in a round of the best start
_MOST_PASSES = 3
# rows beyond which grids of cuts are coarser, the cells of these, and what a change or a finer grid has to gain a row
_FEW_ROWS, _N_CELLS, _WORTHWHILE_GAIN_OF_ROW = 5_000, 32, 2e-5
# columns beyond which grids of few rows are coarser, and their cells
_FEW_COLUMNS, _CELLS_OF_FEW_ROWS = 8, 48
# most bins of a column in a family with curves, so that people can read its table
_MOST_BINS = 6
# most cells of the table of all parents of a column that follows curves, unless two bins a column exceed it
_MOST_CELLS = 2**16
# bins of equal frequency of a neighbour that has no cuts
_BINS_OF_NEIGHBOUR = 5


@dataclass(frozen=True)
class LearnedNetwork:
    """The parts of a learned network that a search decides.

    Edges are arcs by position, and inner cuts and shapes stand by continuous column. `n_void` edges of the search are
    not in the graph, since one of their variables has a single bin. `record` has fields of the metadata. "parents": by
    column, its parents and the nats of the score that each adds to those before it, the one that adds most first; only
    of default scores, and without required edges. "curves": by column that follows curves, the "nats" by which
    these are better than the table of its "table_parents", and the names of these. `family_scores` are those of the
    search in nats, by column, whose sum is the score of the network without its void edges; only where there are
    "parents".
    """

    edges: Edges
    cuts: dict[str, NDArray[np.float64]]
    shapes: dict[str, Shape] = field(default_factory=dict)
    record: dict[str, Any] = field(default_factory=dict)
    n_void: int = 0
    family_scores: dict[str, float] = field(default_factory=dict)

    def over(self, table: Table, **options: Any) -> DiscretizedBayesNet:
        """Return the network with the tables of some rows; the options are further ones of `from_table`."""
        edges = [(table.names[parent], table.names[child]) for parent, child in self.edges]
        return DiscretizedBayesNet.from_table(table, edges, self.cuts, shapes=self.shapes, **options)


@dataclass(frozen=True)
class Found:
    """What a search has found: the problem of its last part, edges and shown cuts, and the genotype with all counts.

    Objectives of the result are minus the score as users see it. The conditionals are those that the searches on
    completed rows ended with, if any.
    """

    problem: StructureProblem
    network: LearnedNetwork
    result: Result
    conditionals: Conditionals | None = None


def with_shown_cuts(
    problem: StructureProblem, result: Result, clock: FitClock = NO_LIMIT
) -> tuple[LearnedNetwork, Result]:
    """Return the network of a search, and its result with the seconds that the choice of cuts took.

    Without curves the cuts are those of the search. If columns follow curves, cuts are chosen for the score by tables
    alone, and change the libraries of the problem. The table of such a column has those of its parents that raise the
    score, its table parents. Cuts and table parents take turns: the cuts of one column after another are the best ones
    given those of all others. In the end every column with an edge has at least two bins, if its limits allow them.
    The choice takes a quarter of the seconds that a clock has left, apart from 6 ms a column for what follows.
    """
    began = search_clock()
    follows = problem.follows_curves(result.X)
    edges = learned_edges(problem, result.X, follows)
    network = LearnedNetwork(
        edges=edges,
        n_void=len(problem.edges(result.X)) - len(edges),
        cuts=learned_cut_points(problem, result.X),
        shapes=learned_shapes(problem, result.X),
        record=_parents_record(problem, result.X, edges),
        family_scores=_family_scores(problem, result.X, edges),
    )
    if not follows.any():
        return network, result
    begin_part("Choosing the cuts that are shown")
    searched = problem.families(result.X)
    scores = problem.scorer.score(searched)
    has_fewer_cells = scores < problem.scorer.table_scores(searched)
    # libraries may forget them when the problem of tables is made
    cuts = problem.cuts(result.X)
    tables = problem.of_tables(edges)
    choice = _ShownCuts(tables, edges, follows, cuts)
    of_cuts = clock.before(_SECONDS_AFTER_CUTS * problem.n_nodes).part(_SHARE_OF_TIME)
    choice.climb(of_cuts.late(SHOWN_CUTS))
    choice.make_readable()
    genotype = choice.genotype()
    by_tables = tables.scorer.score(tables.families(genotype))
    gains = np.maximum(scores - by_tables, 0.0).tolist()
    names = [variable.name for variable in problem.scorer.variables]
    record: dict[str, dict[str, Any]] = {
        names[v]: {"nats": gains[v], "table_parents": [names[parent] for parent in choice.parents[v]]}
        for v in np.flatnonzero(follows).tolist()
    }
    for v in np.flatnonzero(follows & has_fewer_cells).tolist():
        record[names[v]][FEWER_CELLS] = True
    learned = replace(
        network,
        cuts=learned_cut_points(tables, genotype),
        shapes=learned_shapes(tables, genotype),
        record={**network.record, "curves": record},
    )
    return learned, replace(result, exec_time=result.exec_time + search_clock() - began)


def _family_scores(problem: StructureProblem, genotype: NDArray[np.int16], edges: Edges) -> dict[str, float]:
    """Return the score of every family in nats, with what all networks have of its column, and without void edges."""
    scorer = problem.scorer
    # scores of default options alone
    if not scorer.rule.centred:
        return {}
    families = problem.families(genotype)
    scores: dict[str, float] = {}
    for family, score in zip(families, scorer.score(families).tolist(), strict=True):
        child, _ = family.child
        n_void = sum((parent, child) not in edges for parent, _ in family.parents)
        variable = scorer.variables[child]
        scores[variable.name] = score + variable.constant_score + n_void * scorer.rule.edge_cost
    return scores


def _parents_record(problem: StructureProblem, genotype: NDArray[np.int16], edges: Edges) -> dict[str, Any]:
    """Return the field "parents" of the metadata: parents of every column, the one that adds most first.

    The parent without which the score is highest goes first and stands last, and so on.
    """
    scorer = problem.scorer
    # scores of default options alone
    if not scorer.rule.centred:
        return {}
    required = ~problem.edge_rules.allowed[:, :, 0]
    names = [variable.name for variable in scorer.variables]
    record: dict[str, list[list[Any]]] = {}
    for family in problem.families(genotype):
        child, _ = family.child
        free = [p for p in family.parents if (p[0], child) in edges and not required[p[0], child]]
        (score,) = scorer.score([family], use_cache=False)
        order: list[list[Any]] = []
        while free:
            smaller = [replace(family, parents=tuple(q for q in family.parents if q != p)) for p in free]
            scores = scorer.score(smaller, use_cache=False)
            least = int(np.argmax(scores))
            order.insert(0, [names[free[least][0]], float(score - scores[least])])
            family, score = smaller[least], scores[least]
            del free[least]
        if order:
            record[names[child]] = order
    return {"parents": record} if record else {}


def greedy_table_parents(
    scorer: FamilyScorer,
    score_tables: Callable[[Iterable[ScoredFamily]], NDArray[np.float64]],
    child: int,
    parents: Sequence[int],
    policies: Sequence[int],
    most_cells: float,
) -> tuple[tuple[int, ...], float]:
    """Return parents of a column that enter its table one after another while its score rises, and the score in nats.

    `score_tables` scores families of the scorer by their tables. `policies` are those of all variables, and a table has
    at most `most_cells` cells.
    """

    def family(of_table: Sequence[int]) -> ScoredFamily:
        return ScoredFamily((child, policies[child]), tuple((p, policies[p]) for p in of_table))

    def n_cells(of_table: Sequence[int]) -> float:
        return prod(float(scorer.rows.cardinality[scorer.view(v, policies[v])]) for v in (child, *of_table))

    chosen: tuple[int, ...] = ()
    (score,) = score_tables([family(chosen)]).tolist()
    while True:
        larger = [tuple(sorted({*chosen, p})) for p in parents if p not in chosen]
        larger = [p for p in larger if n_cells(p) <= most_cells]
        scores = score_tables(map(family, larger)).tolist()
        if not larger or not is_gain(max(scores) - score, score):
            return chosen, score
        score = max(scores)
        chosen = larger[scores.index(score)]


_Solved = tuple[int, float, PricedCuts | None]
"""The most bins of a column, the score of its cuts in nats, and its best cuts, if there are any."""


class _ShownCuts:
    """The cuts of all columns and the table parents of those that follow curves, which are improved in turns.

    `tables` scores networks by tables alone. `follows`, bool (n_nodes,), says which columns follow curves; the table of
    any other column has all its parents. `parents` are those in the table of every column, ascending.
    """

    def __init__(
        self, tables: StructureProblem, edges: Edges, follows: NDArray[np.bool_], cuts: Cuts
    ) -> None:
        self.tables = tables
        self.graph = ParentSets([p for p, child in edges if child == v] for v in range(tables.n_nodes))
        self.followers = np.flatnonzero(follows).tolist()
        self.parents = [() if follows[v] else parents for v, parents in enumerate(self.graph.parents)]
        self.movable = tables.priced_variables
        n_rows = tables.scorer.n_rows
        self._least_gain = _WORTHWHILE_GAIN_OF_ROW * n_rows if n_rows > _FEW_ROWS else 0.0
        members = {v for child in self.followers for v in (child, *self.graph.parents[child])}
        self._in_curves = members & set(self.movable)
        self._policies = [0] * tables.n_nodes
        self._coded = tables.coded_network(self.genotype()).columns
        self.cuts = dict(cuts)
        self._solved: dict[tuple[Any, ...], _Solved] = {}
        self._entered: dict[tuple[Any, ...], tuple[tuple[int, ...], float]] = {}
        self._set_all(cuts)

    def genotype(self) -> NDArray[np.int16]:
        """Return the genotype of the cuts and of the parents in tables."""
        edges = [(parent, child) for child, parents in enumerate(self.parents) for parent in parents]
        return self.tables.genotype(edges, self._policies)

    def climb(self, is_late: Callable[[], bool]) -> None:
        """Choose cuts and table parents in turns, from several starts, until the score rises no more or it is late."""
        first, best, best_score = list(self.parents), (self.cuts, self.parents), -np.inf
        for cuts in self._starts():
            if best_score > -np.inf and is_late():
                break
            self._set_all(cuts)
            self.parents = list(first)
            for _ in range(_ROUNDS_OF_START):
                self._choose_parents()
                self._choose_cuts(1, is_late)
            self._choose_parents()
            score = float(self.tables.scorer.score(self.tables.families(self.genotype())).sum())
            if score > best_score:
                best, best_score = (dict(self.cuts), self.parents), score
        self._set_all(best[0])
        self.parents = best[1]
        for _ in range(_MOST_ROUNDS):
            if is_late() or not (self._choose_cuts(_MOST_PASSES, is_late) | self._choose_parents()):
                break

    def make_readable(self) -> None:
        """Give every column with an edge at least two bins, and limit the size of tables of all parents."""
        in_tables = ParentSets(self.parents)
        for v in self.movable:
            if self.graph.blanket(v) and not (in_tables.blanket(v) and len(self.cuts[v])):
                self._set(v, self._cuts_without_table(v))
        most = self.tables.max_table_cells
        self._shrink(self.followers, min(most, _MOST_CELLS), 2)
        self._shrink(range(len(self.parents)), most, 1)
        self._choose_parents()

    def _starts(self) -> list[Cuts]:
        """Return cuts to start from: first cuts where a column in curves has more of these than the search found."""
        present = dict(self.cuts)
        first = {v: cuts for v, cuts in self.tables.first_cuts.items() if v in self._in_curves and cuts}
        starts = []
        for turn in range(max(map(len, first.values()), default=1)):
            # the last ones are those that show most
            of_turn = {v: cuts[-1 - turn % len(cuts)] for v, cuts in first.items()}
            finer = {v: cuts for v, cuts in of_turn.items() if len(cuts) > len(present[v])}
            starts.append({**present, **finer})
        is_large = len(present) > _MOST_COLUMNS_OF_STARTS or self.tables.scorer.n_rows > _MOST_ROWS_OF_STARTS
        return starts[:1] if is_large else starts

    def _choose_parents(self) -> bool:
        """Choose table parents, given the cuts; return whether any of them change."""
        changed = False
        for child in self.followers:
            parents = self.graph.parents[child]
            # most columns keep their cuts from one turn to the next
            key = (child, *(self.cuts[m].tobytes() for m in (child, *parents) if m in self.cuts))
            if key not in self._entered:
                self._entered[key] = greedy_table_parents(
                    self.tables.scorer,
                    self.tables.scorer.score,
                    child,
                    parents,
                    self._policies,
                    self.tables.max_table_cells,
                )
            chosen, score = self._entered[key]
            (before,) = self._scores(child, [self.parents[child]])
            if is_gain(score - before, before):
                self.parents[child] = chosen
                changed = True
        return changed

    def _choose_cuts(self, most_passes: int, is_late: Callable[[], bool]) -> bool:
        """Give one column after another its best cuts, given the table parents; return whether any cuts change.

        Once it is late, columns keep their cuts.
        """
        graph = ParentSets(self.parents)
        passes = DueColumns(self.movable, graph.blanket, most_passes)
        changed = False

        def solved(v: int) -> _Solved:
            # rounds and starts have problems in common
            families = {v, *graph.children[v]}
            members = sorted({*families, *(p for family in families for p in graph.parents[family])})
            key = (
                v,
                tuple(self.cuts[m].tobytes() for m in members if m in self.cuts),
                tuple((family, graph.parents[family]) for family in sorted(families)),
            )
            if key not in self._solved:
                if is_late():
                    return 0, -np.inf, None
                around = graph.neighbourhood(v, self._coded)
                most = _MOST_BINS if v in self._in_curves else MAX_CARDINALITY
                most = min(most, around.most_bins(self.tables.max_table_cells))
                problem = self._problem(v, around)
                best = self._best(v, problem, 1, most) if most else None
                before = -np.inf if best is None else problem.value(self.cuts[v])
                self._solved[key] = most, before, best
            return self._solved[key]

        for v, (most, before, best) in passes.solved(solved):
            if best is None:
                continue
            if len(self.cuts[v]) >= most or is_gain(best.value - before - self._least_gain, before):
                self._set(v, best.cut_points)
                passes.note_change(v)
                changed = True
        return changed

    def _shrink(self, children: Sequence[int], most_cells: float, least_bins: int) -> None:
        """Take bins from columns in too large tables of all parents, first where the score by tables loses least."""
        graph = ParentSets(self.parents)
        losses: dict[int, tuple[float, NDArray[np.float64]]] = {}
        while True:
            members = {
                v
                for child in children
                if self._n_cells(child, self.graph.parents[child]) > most_cells
                for v in (child, *self.graph.parents[child])
                if v in self.movable and len(self.cuts[v]) >= least_bins
            }
            if not members:
                return
            for v in members - set(losses):
                problem = self._problem(v, graph.neighbourhood(v, self._coded))
                best = self._best(v, problem, least_bins, len(self.cuts[v]))
                fewer = self.cuts[v][:-1] if best is None else best.cut_points
                losses[v] = problem.value(self.cuts[v]) - problem.value(fewer), fewer
            v = min(sorted(members), key=lambda member: losses[member][0])
            self._set(v, losses[v][1])
            for other in (v, *graph.blanket(v)):
                losses.pop(other, None)

    def _best(self, v: int, problem: CutProblem, least_bins: int, most_bins: int) -> PricedCuts | None:
        """Return the best cuts of a column, None if no cuts are within the limits."""
        limits = self._pricing.limits
        most_bins = min(most_bins, limits.max_bins or MAX_CARDINALITY)
        limits = replace(limits, min_bins=least_bins, max_bins=most_bins)
        return problem.optimal(
            limits, n_cells=self._cells_of_grid, incumbent=self.cuts[v], least_gain=self._least_gain
        )

    def _problem(self, v: int, around: Neighbourhood) -> CutProblem:
        return CutProblem.of_rows(
            self.tables.sorted_column(v), around, self._pricing.scores[0], self.tables.shape(v)
        )

    @property
    def _cells_of_grid(self) -> int:
        if self.tables.scorer.n_rows > _FEW_ROWS:
            return _N_CELLS
        return _CELLS_OF_FEW_ROWS if self.tables.n_nodes > _FEW_COLUMNS else self._pricing.n_cells

    @property
    def _pricing(self) -> Pricing:
        pricing = self.tables.pricing
        # without it no cuts move
        assert pricing is not None
        return pricing

    def _cuts_without_table(self, v: int) -> NDArray[np.float64]:
        """Return cuts of a column that no table needs: the best ones for each of its neighbours in the graph alone.

        If these are none, the bins are thirds of the rows, or halves; no cuts are returned if the limits allow none.
        """
        families = []
        for other in sorted({*self.graph.parents[v], *self.graph.children[v]}):
            column = self._coded[other]
            if column.cardinality == 1:
                values = self.tables.values(other)
                column = coded_bins(values, equal_frequency_cuts(values, _BINS_OF_NEIGHBOUR))
            families.append(CodedFamily(column))
        problem = self._problem(v, Neighbourhood(families=tuple(families)))
        best = self._best(v, problem, 1, _MOST_BINS)
        if best is not None and len(best.cut_points):
            return best.cut_points
        values, limits = self.tables.values(v), self._pricing.limits
        for n_bins in (3, 2):
            cuts = equal_frequency_cuts(values, n_bins)
            counts = np.bincount(coded_bins(values, cuts).codes, minlength=len(cuts) + 1)
            if n_bins <= (limits.max_bins or MAX_CARDINALITY) and counts.min() >= limits.min_bin_count:
                return cuts
        return self.cuts[v]

    def _n_cells(self, child: int, parents: Iterable[int]) -> float:
        return prod(float(self._coded[v].cardinality) for v in (child, *parents))

    def _scores(self, child: int, parent_sets: Iterable[Iterable[int]]) -> list[float]:
        """Return the scores of the tables of a column with some sets of parents, in nats."""
        families = [
            ScoredFamily((child, self._policies[child]), tuple((p, self._policies[p]) for p in parents))
            for parents in parent_sets
        ]
        return list(map(float, self.tables.scorer.score(families)))

    def _set_all(self, cuts: Cuts) -> None:
        for v in self.movable:
            self._set(v, cuts[v])

    def _set(self, v: int, cuts: NDArray[np.float64]) -> None:
        """Give a column other cuts, which enter its library."""
        self.cuts[v] = cuts
        self._coded[v] = coded_bins(self.tables.values(v), cuts)
        self._policies[v] = self.tables.enter_between_runs(v, cuts, [])
