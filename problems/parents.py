"""Parents that a search considers: screened pairs of columns, priced parent sets, and graphs of searches over orders.

Screening keeps the pairs of variables with the strongest dependence, marginal or given other parents.

Pricing adds parent sets that improve a network to libraries. The search is column generation with GOMEA as the master
problem, as it is for cuts. Sets of parents one edge away from those of a good network are scored, and a local search
moves one variable at a time to another position in an order of the variables, where every variable has the best set of
its library without later variables. This neighbourhood is that of MINOBS (Lee and van Beek 2017). Graphs of many
variables are first improved by moves of whole chains of variables: one variable gets its best set, and all that this
displaces get their best remaining ones. Where variables determine each other in both directions, no move of a single
one turns a chain of edges round: all of them have to move at once.

A local search over orders can end thousands of nats below the one that begins at another order. Another start takes
seconds, and kicks of a bad graph rarely mend it. The pairs that the graphs of several starts join are candidates.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.content_order import FIXED_SEED
from gomea_bn.errors import GomeaBnWarning, Setting, give_warning
from gomea_bn.problems.curves import no_curves
from gomea_bn.problems.family_scorer import FamilyScorer, new_score_cache, new_scratch
from gomea_bn.problems.kernels.insertion import (
    OrderWork,
    ParentSetTable,
    choose_sets,
    move_chain,
    reinsert,
    sets_with_members,
)
from gomea_bn.problems.kernels.score import score_families
from gomea_bn.problems.knowledge import EdgeRules
from gomea_bn.problems.scores import is_gain, rounding, score_rule, scoring_method
from gomea_bn.texts import counted, listed

UNSCREENED_VARIABLES = 100
"""Largest number of variables at which "auto" leaves all pairs to the search."""
AUTO_CANDIDATES = 10
"""Number of partners per variable, from either ranking, that "auto" keeps for more variables."""

# sets of other parents, with the gain of each
_Sets = dict[tuple[int, ...], float]

# numbers of bins at which continuous columns are compared, and those where time is short
_BINS: tuple[int, ...] = (3, 6)
_QUICK_BINS: tuple[int, ...] = (3,)
_MOST_PARENTS = 4
# of `conditional_ranks`: other parents that are given, and sets of them of one size
_MOST_GIVEN = 2
_KEPT_SETS = 6
_MOST_RANKED = 5
# families times rows, about a nanosecond each; with more, a sample of the rows is compared
_MAX_VISITS = 4e9
_FEWEST_ROWS = 5000
# the same where time is short
_MAX_QUICK_VISITS = 1e9
_FEWEST_QUICK_ROWS = 1000

Parents = tuple[int, ...]
Arc = tuple[int, int]

DEPTHS = (0, 1, 2, 4, 8, 1_000)
"""Generations of ancestors that chains of variables change with a variable; the last number stands for all of them."""

# graphs with the best score after which no further search begins
_MOST_EQUAL = 3
# kicks without a gain: quick ones of every graph, thorough ones of good graphs, and of the best one
_QUICK_KICKS = 100
_THOROUGH_KICKS = 50


def candidate_pairs(
    scorer: FamilyScorer,
    rules: EdgeRules,
    max_candidates: int | str | None,
    is_late: Callable[[], bool] = lambda: False,
) -> NDArray[np.bool_] | None:
    """Return the pairs that the search may join, a symmetric bool matrix of shape (N, N); None for every pair.

    A pair is a candidate if one of its variables is among the other's `max_candidates` best partners, by
    `Screening.pairwise` or by `Screening.conditional`. None means no limit, and "auto" no limit up to
    `UNSCREENED_VARIABLES`, otherwise `AUTO_CANDIDATES`. Pairs with a required edge are always candidates, pairs whose
    edges are forbidden never. The kind of score has no influence. If `is_late` says so before the rankings,
    `Screening.pairwise` of few rows alone decides.

    Based on the sparse candidates of Friedman, Nachman and Pe'er (1999), who rank by marginal mutual information first
    and then by dependence given the network of an earlier search.
    """
    n = len(scorer.variables)
    if max_candidates == "auto":
        max_candidates = None if n <= UNSCREENED_VARIABLES else AUTO_CANDIDATES
    if max_candidates is None or int(max_candidates) >= n - 1:
        return None
    required, possible = _ruled_pairs(rules)
    is_candidate = required.copy()
    is_quick = is_late()
    screening = Screening(scorer, is_quick=is_quick)
    rankings = [screening.pairwise()]
    if not is_quick:
        rankings.append(screening.conditional(rules.max_indegree))
    for strengths in rankings:
        strengths[~possible] = -np.inf
        # a stable order, so that equal strengths do not depend on the sorting method
        best = np.argsort(-strengths, axis=1, kind="stable")[:, : int(max_candidates)]
        np.put_along_axis(is_candidate, best, True, axis=1)
    return np.asarray((is_candidate | is_candidate.T) & possible)


def ranked_pairs(
    scorer: FamilyScorer, rules: EdgeRules, is_late: Callable[[], bool] = lambda: False
) -> NDArray[np.bool_]:
    """Return pairs by `Screening.conditional_ranks`, a symmetric bool matrix of shape (N, N).

    Among tables of many discrete columns that determine each other, it finds parents that `candidate_pairs` leaves out,
    in about three times the time. Rules count as in `candidate_pairs`. `is_late` is asked before every column. A
    warning then names columns whose partners were ranked without other parents, on all rows of the sample or, by
    `Screening.pairwise`, on few of them.
    """
    required, possible = _ruled_pairs(rules)
    ranks, n_ranked = Screening(scorer).conditional_ranks(rules.max_indegree, is_late)
    if n_ranked[-1] < len(ranks):
        names = [variable.name for variable in scorer.variables]
        _warn_of_late_ranks(names[n_ranked[0] :], names[n_ranked[-1] : n_ranked[0]])
    if n_ranked[0] < len(ranks):
        # without any partners these columns could have no edges, although time is left for a search
        strengths = Screening(scorer, is_quick=True).pairwise()[n_ranked[0] :]
        strongest = np.argsort(-strengths, axis=1, kind="stable")
        np.put_along_axis(ranks[n_ranked[0] :], strongest, np.arange(len(ranks))[None], axis=1)
    is_candidate = ranks < _MOST_RANKED
    return np.asarray((required | is_candidate | is_candidate.T) & possible)


def _warn_of_late_ranks(on_few_rows: Sequence[str], without_sets: Sequence[str]) -> None:
    """Warn that partners of some columns were ranked without other parents, and those of others on few rows too."""
    parts = []
    if without_sets:
        parts.append(f"The partners of {_columns(without_sets)} were ranked without other parents.")
    if on_few_rows:
        parts.append(
            f"The partners of {_columns(on_few_rows)} were ranked without other parents and on few rows."
        )
    give_warning(
        GomeaBnWarning(
            f"The time limit is short for ranking the pairs of columns. {' '.join(parts)}",
            [Setting("max_seconds")],
        )
    )


def _columns(names: Sequence[str]) -> str:
    return f"{counted(len(names), 'column')} ({listed(list(map(repr, names)), 5)})"


def _ruled_pairs(rules: EdgeRules) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the pairs with a required edge, and those that may be joined, symmetric, (N, N)."""
    return ~rules.may_lack, rules.may_lead | rules.may_lead.T


class Screening:
    """Strengths of dependence between the columns of a table, in standard deviations under independence.

    A strength is (G - d/2) / sqrt(d/2), where G is the gain of log likelihood in nats by a parent and d its degrees of
    freedom: under independence 2 G is chi-squared with d degrees of freedom (Wilks 1938). Unlike a gain of score, it
    does not favour weak partners with few bins. Continuous columns are compared at about 3 and at about 6 bins, and the
    strongest comparison counts. Large tables are compared on a random sample of the rows. `is_quick` compares at 3 bins
    alone, and at most a quarter of the rows.
    """

    def __init__(self, scorer: FamilyScorer, *, is_quick: bool = False) -> None:
        self.n_variables = n = len(scorer.variables)
        n_families = 2.0 * n**2 * len(_BINS) ** 2
        fewest, most_visits, numbers = _FEWEST_ROWS, _MAX_VISITS, _BINS
        if is_quick:
            fewest, most_visits, numbers = _FEWEST_QUICK_ROWS, _MAX_QUICK_VISITS, _QUICK_BINS
        n_rows = int(min(scorer.n_rows, max(fewest, most_visits / n_families)))
        rows = scorer.rows._replace(curves=no_curves())
        # (number of levels, N): by level the view of every variable; levels of discrete columns are the same
        self._views = np.unique([_nearest_views(scorer, bins) for bins in numbers], axis=0)
        if n_rows < scorer.n_rows:
            chosen = np.sort(np.random.default_rng(FIXED_SEED).choice(scorer.n_rows, n_rows, replace=False))
            codes = np.zeros((len(rows.codes), n_rows), np.uint8)
            for view in np.unique(self._views).tolist():
                codes[view] = rows.codes[view, chosen]
            rows = rows._replace(codes=codes)
        self._rows = rows
        bic = score_rule(scoring_method("bic"), n_rows)
        self._price = bic.weight
        # gains on few rows must not count more than their rows
        self._rule = bic._replace(weight=0.0, extrapolates=False)
        self._scratch = new_scratch(n_rows, scorer.max_cardinality)
        self._caches = (new_score_cache(2), new_score_cache(0))

    def _log_likelihood(self, families: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return log likelihoods of children, whose views come last in `families`, shape (n, members)."""
        log_likelihoods = np.empty(len(families))
        offsets = np.arange(len(families) + 1) * families.shape[1]
        views = np.ascontiguousarray(families).ravel()
        score_families(self._rows, self._rule, self._scratch, *self._caches, offsets, views, log_likelihoods)
        return log_likelihoods

    def pairwise(self) -> NDArray[np.float64]:
        """Return strengths of all pairs, symmetric, shape (N, N); minus infinity on the diagonal."""
        n = self.n_variables
        strengths = np.full((n, n), -np.inf)
        no_parents = np.zeros(0, np.int64)
        for child_views in self._views:
            for parent_views in self._views:
                for child in range(1, n):
                    compared, _ = self._strengths(child_views[child], no_parents, parent_views[:child])
                    np.maximum(strengths[child, :child], compared, out=strengths[child, :child])
        return np.asarray(np.maximum(strengths, strengths.T))

    def conditional(self, max_indegree: int = _MOST_PARENTS) -> NDArray[np.float64]:
        """Return strengths of one more parent given others, shape (N, N): row child, column parent.

        The other parents of every variable come from forward selection with the BIC. The strength of a parent is its
        largest over the steps of the selection, so that a parent counts that matters only together with a stronger
        one.
        """
        n = self.n_variables
        strengths = np.full((n, n), -np.inf)
        for views in self._views:
            for child in range(n):
                parents: list[int] = []
                while len(parents) < n - 1:
                    others = np.array([i for i in range(n) if i != child and i not in parents], np.int64)
                    parent_views = views[np.array(sorted(parents), np.int64)]
                    compared, gains = self._strengths(views[child], parent_views, views[others])
                    strengths[child, others] = np.maximum(strengths[child, others], compared)
                    best = int(np.argmax(gains))
                    if gains[best] <= 0 or len(parents) >= min(_MOST_PARENTS, max_indegree):
                        break
                    parents.append(int(others[best]))
        return strengths

    def conditional_ranks(
        self, max_indegree: int = _MOST_PARENTS, is_late: Callable[[], bool] = lambda: False
    ) -> tuple[NDArray[np.int64], list[int]]:
        """Return the best rank of one more parent given others, and how many columns were ranked as children.

        Parents are ranked by strength given each of the best few sets of none, one and two other parents. A switch
        between two parents is independent of the child unless both of them are given, and its rank is low before. All
        children are ranked without other parents first; `is_late` is asked before every child.

        Ranks are int64 (N, N), row child, column parent; 0 is first, N stands for pairs that were not ranked. The
        second result has the number of children ranked without other parents, and with all sets of them.
        """
        n = self.n_variables
        ranks = np.full((n, n), n)
        children = range(n)
        levels = range(len(self._views))
        sets: list[list[_Sets]] = [[{(): 0.0} for _ in levels] for _ in children]
        n_ranked = []
        for sizes in (range(1), range(1, min(_MOST_GIVEN, max_indegree - 1) + 1)):
            for child in children:
                if sizes and is_late():
                    children = range(child)
                    break
                for size, level in itertools.product(sizes, levels):
                    larger = self._rank(ranks[child], child, sets[child][level], self._views[level])
                    sets[child][level] = larger if size < _MOST_GIVEN else {}
            n_ranked.append(len(children))
        return ranks, n_ranked

    def _rank(self, ranks: NDArray[np.int64], child: int, sets: _Sets, views: NDArray[np.int64]) -> _Sets:
        """Lower the ranks of one more parent given each of some sets, int64 (N,), and return the best larger sets."""
        larger: _Sets = {}
        for parents, gain in sets.items():
            others = np.setdiff1d(np.arange(self.n_variables), [child, *parents])
            given = views[np.array(parents, np.int64)]
            compared, gains = self._strengths(views[child], given, views[others])
            strongest = others[np.argsort(-compared, kind="stable")]
            ranks[strongest] = np.minimum(ranks[strongest], np.arange(len(strongest)))
            for k in np.argsort(-gains, kind="stable")[:_KEPT_SETS].tolist():
                if gains[k] > 0:
                    larger[tuple(sorted((*parents, int(others[k]))))] = gain + float(gains[k])
        return dict(sorted(larger.items(), key=lambda item: -item[1])[:_KEPT_SETS])

    def _strengths(
        self, child: np.int64, parents: NDArray[np.int64], others: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the strengths and the BIC gains of each of the views `others` as one more parent of a view."""
        cardinality = self._rows.cardinality
        repeated = np.broadcast_to(parents, (len(others), len(parents)))
        families = np.column_stack([repeated, others, np.full(len(others), child)])
        before = self._log_likelihood(np.append(parents, child)[None])
        gained = self._log_likelihood(families) - before
        rows = float(np.prod(cardinality[parents].astype(np.float64)))
        freedom = rows * (cardinality[others] - 1) * (cardinality[child] - 1)
        # a constant column gains nothing, and ranks low
        half = np.maximum(freedom / 2.0, 0.5)
        return (gained - half) / np.sqrt(half), gained - self._price * freedom


def _nearest_views(scorer: FamilyScorer, bins: int) -> list[int]:
    """Return for every variable the view whose number of bins is nearest to `bins`."""
    views = []
    for first, variable in zip(scorer.view_offset[:-1].tolist(), scorer.variables, strict=True):
        cardinality = scorer.rows.cardinality[first : first + max(len(variable.policies), 1)]
        views.append(first + int(np.argmin(np.abs(cardinality - bins))))
    return views


def arcs_of(sets: Sequence[Parents]) -> list[Arc]:
    """Return the arcs (parent, child) of the parents of every variable."""
    return [(parent, v) for v, of_variable in enumerate(sets) for parent in of_variable]


def random_order(parents: Sequence[Iterable[int]], generator: np.random.Generator) -> NDArray[np.int64]:
    """Return a random order of the variables in which parents come before their children."""
    return ranked_order(parents, generator.permutation(len(parents)))


def ranked_order(parents: Sequence[Iterable[int]], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the order in which parents come before their children, otherwise the lowest rank (0 to n - 1) first."""
    n = len(parents)
    rank = ranks.tolist()
    variable = np.argsort(ranks).tolist()
    children: list[list[int]] = [[] for _ in range(n)]
    n_waiting = [0] * n
    for v, of_variable in enumerate(parents):
        for parent in of_variable:
            children[parent].append(v)
            n_waiting[v] += 1
    ready = [rank[v] for v in range(n) if not n_waiting[v]]
    heapify(ready)
    order = []
    while ready:
        v = variable[heappop(ready)]
        order.append(v)
        for child in children[v]:
            n_waiting[child] -= 1
            if not n_waiting[child]:
                heappush(ready, rank[child])
    return np.array(order, np.int64)


@dataclass(eq=False)
class ChainSearch:
    """Moves of chains in orders of the variables, where every variable has its best set without later variables.

    `depths` are numbers of generations of ancestors that get their best sets too; every variable is moved with each of
    them. `is_stopped` is asked before every move.
    """

    table: ParentSetTable
    depths: Sequence[int]
    is_stopped: Callable[[], bool]

    def improved(self, work: OrderWork, generator: np.random.Generator) -> OrderWork:
        """Return an order, with its sets chosen, after one pass over the variables that moves chains with a gain."""
        self._choose(work)
        score = self._score(work)
        for v in generator.permutation(len(work.order)).tolist():
            for depth in self.depths:
                if self.is_stopped():
                    return work
                other = self._moved(v, depth, work)
                if other is not None and is_gain(self._score(other) - score, score):
                    work, score = other, self._score(other)
        return work

    def kicked(
        self, work: OrderWork, generator: np.random.Generator, most_idle: int, *, is_thorough: bool = True
    ) -> OrderWork:
        """Return an order after moves of chains that lose at first, each followed by moves of single variables.

        Moves that lose least come first. They end after `most_idle` kicks without a gain. With `is_thorough` all
        variables may move after every kick. Otherwise they may if the moves of those gain whose sets changed or are not
        their best ones, which takes about a fifth of the time.
        """
        self._choose(work)
        score, n_idle = self._score(work), 0
        while n_idle < most_idle and not self.is_stopped():
            gained = False
            for v, depth in self._kicks(work):
                if n_idle >= most_idle or self.is_stopped():
                    return work
                other = self._moved(v, depth, work)
                if other is None:
                    continue
                n_idle += 1
                if not is_thorough:
                    is_changed = other.chosen != work.chosen
                    other.is_changed[:] = is_changed | (other.chosen != self.table.starts[:-1])
                    reinsert(self.table, other, rounding(score), generator, True)
                if is_thorough or is_gain(self._score(other) - score, score):
                    reinsert(self.table, other, rounding(score), generator, False)
                if is_gain(self._score(other) - score, score):
                    work, score, n_idle, gained = other, self._score(other), 0, True
            if not gained:
                break
        return work

    def _kicks(self, work: OrderWork) -> list[tuple[int, int]]:
        """Return the chain moves of an order, (variable, depth), smallest loss first, one of each loss."""
        kicks: dict[float, tuple[int, int]] = {}
        for v in range(len(work.order)):
            for depth in self.depths:
                if self.is_stopped():
                    return []
                other = self._moved(v, depth, work)
                if other is not None:
                    kicks.setdefault(self._score(other), (v, depth))
        return [kicks[score] for score in sorted(kicks, reverse=True)]

    def _moved(self, v: int, depth: int, work: OrderWork) -> OrderWork | None:
        """Return the order in which a variable has its best set, None if it has it or cannot have it."""
        if work.chosen[v] == self.table.starts[v]:
            return None
        other = work._replace(order=np.empty_like(work.order), chosen=np.zeros_like(work.chosen))
        return other if move_chain(self.table, work.order, work.chosen, v, depth, other) else None

    def _choose(self, work: OrderWork) -> None:
        if not choose_sets(self.table, work):
            raise ValueError(f"No parent set in the library suits the order {work.order.tolist()}.")

    def _score(self, work: OrderWork) -> float:
        return float(self.table.scores[work.chosen].sum())


# graphs of fewer variables reach their optimum by moves of single variables
_FEWEST_CHAINED = 100


_Ranked = tuple[NDArray[np.uint64], NDArray[np.float64], NDArray[np.int32], NDArray[np.int64]]
"""The parts of a `ParentSetTable` that are of one variable."""


_Neighbours = tuple[int, Parents, NDArray[np.int64], NDArray[np.int64]]
"""A variable, a set of its parents, and sets with one parent less and with one more, members in columns."""
# families that are scored between two looks at the clock
_FAMILIES_TOGETHER = 128


class _Library:
    """Parent sets of one variable, each with its score, in the order of their entry."""

    def __init__(self, n_words: int) -> None:
        self.sets: list[Parents] = []
        self.scores: list[float] = []
        self.position: dict[Parents, int] = {}
        # sets whose neighbours have been scored
        self.expanded: set[Parents] = set()
        self.ranks = np.empty(0, np.int64)
        # the sets as bits, in bytes of words
        self._n_bytes = 8 * n_words
        self._bits = bytearray()

    def enter(self, parents: Parents, score: float) -> None:
        if parents not in self.position:
            self.position[parents] = len(self.sets)
            self.sets.append(parents)
            self.scores.append(score)
            self._bits += sum(1 << parent for parent in parents).to_bytes(self._n_bytes, "little")

    def score(self, parents: Parents) -> float:
        return self.scores[self.position[parents]]

    def best(self) -> Parents:
        return self.sets[int(np.argmax(self.scores))]

    def ranked(self, n_variables: int) -> _Ranked:
        """Return the sets as bits and their scores, best score first, the smaller set first among equals.

        The last two are those of `sets_with_members`.
        """
        members = np.frombuffer(bytes(self._bits), "<u8").reshape(len(self.sets), -1).astype(np.uint64)
        scores, sizes = np.array(self.scores), np.fromiter(map(len, self.sets), np.int64, len(self.sets))
        self.ranks = np.lexsort((sizes, -scores))
        members = members[self.ranks]
        with_member, starts = np.empty(sizes.sum(), np.int32), np.zeros(n_variables + 1, np.int64)
        sets_with_members(members, with_member, starts)
        return members, scores[self.ranks], with_member, starts


class ParentLibraries:
    """Parent sets of every variable that are worth a place, in libraries that grow.

    Every variable of the scorer has one policy. `pairs` (N, N) are those that may be joined, by default all; `widen`
    adds to them. `is_late` is asked before every piece of work; `stop` is raised if no time is left. `n_scored` counts
    families scored, `n_scans` searches for a set in a library.
    """

    def __init__(
        self,
        scorer: FamilyScorer,
        rules: EdgeRules,
        pairs: NDArray[np.bool_] | None,
        is_late: Callable[[], bool] = lambda: False,
    ) -> None:
        self.scorer = scorer
        self.rules = rules
        self.is_late = is_late
        n = len(scorer.variables)
        may = rules.may_lead
        self.required = [set(np.flatnonzero(rules.required[:, v]).tolist()) for v in range(n)]
        self._may = may
        self.pairs = np.ones((n, n), np.bool_) if pairs is None else pairs.copy()
        self._candidates = [np.flatnonzero(may[:, v] & self.pairs[:, v]) for v in range(n)]
        self._cardinality = scorer.rows.cardinality[scorer.view_offset[:-1]].astype(np.float64)
        self._words = -(-n // 64)
        self._libraries = [_Library(self._words) for _ in range(n)]
        self._ranked: list[_Ranked | None] = [None] * n
        self.n_scored = 0
        self.n_scans = 0
        for v, required in enumerate(self.required):
            self.enter(v, tuple(sorted(required)))

    @property
    def effort(self) -> float:
        """Number of evaluations that take about as long as the work so far."""
        # searches for a set in a library that take about as long as an evaluation
        return self.n_scored + self.n_scans / 30

    def _scores(self, *of_variables: tuple[int, NDArray[np.int64]]) -> list[NDArray[np.float64]]:
        """Return the scores of variables, each with parent sets of one size, (n_sets, size), members ascending."""
        offset, rows = self.scorer.view_offset, []
        for v, sets in of_variables:
            rows.append(np.column_stack([offset[sets], np.full(len(sets), offset[v])]).astype(np.int64))
        sizes = np.repeat([of_sets.shape[1] for of_sets in rows], list(map(len, rows)))
        ends = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        scores = self.scorer.score_encoded(ends, np.concatenate([of_sets.ravel() for of_sets in rows]))
        return np.split(scores, np.cumsum(list(map(len, rows)))[:-1])

    def enter(self, v: int, parents: Parents) -> None:
        """Put a parent set, members in increasing order, into the library of a variable if it is new."""
        library = self._libraries[v]
        if parents not in library.position:
            self.n_scored += 1
            ((score,),) = self._scores((v, np.array([parents], np.int64)))
            library.enter(parents, float(score))
            self._ranked[v] = None

    def score(self, sets: Sequence[Parents]) -> float:
        """Return the score of the parents of every variable in nats; they are in its library."""
        return sum(library.score(parents) for library, parents in zip(self._libraries, sets, strict=True))

    def expand(self, v: int, parents: Parents) -> bool:
        """Enter sets with one parent less, and better ones with one more; returns whether that had not been done."""
        if parents in self._libraries[v].expanded:
            return False
        self._enter_neighbours([self._neighbours(v, parents)])
        return True

    def _neighbours(self, v: int, parents: Parents) -> _Neighbours:
        """Return the neighbours of a parent set that are to be scored, which counts as done."""
        library = self._libraries[v]
        library.expanded.add(parents)
        fewer = [tuple(p for p in parents if p != q) for q in parents if q not in self.required[v]]
        new = [smaller for smaller in fewer if smaller not in library.position]
        smaller = np.array(new, np.int64).reshape(len(new), max(len(parents) - 1, 0))
        _, larger = self._enlarged(v, parents, self._candidates[v])
        self.n_scored += len(smaller) + len(larger)
        return v, parents, smaller, larger

    def _enter_neighbours(self, of_variables: Sequence[_Neighbours]) -> None:
        """Score neighbours of a parent set of each of some variables together, and enter those that `expand` enters."""
        if not of_variables:
            return
        groups = [(v, sets) for v, _, *both in of_variables for sets in both]
        scores = iter(self._scores(*groups))
        for v, parents, smaller, larger in of_variables:
            library = self._libraries[v]
            least = library.score(parents)
            of_smaller, of_larger = next(scores), next(scores)
            better = np.flatnonzero(of_larger > least + rounding(least))
            for members, score in zip(smaller.tolist(), of_smaller.tolist(), strict=True):
                library.enter(tuple(members), score)
            for members, score in zip(larger[better].tolist(), of_larger[better].tolist(), strict=True):
                library.enter(tuple(members), score)
            if len(smaller) or len(better):
                self._ranked[v] = None

    def _enlarged(
        self, v: int, parents: Parents, candidates: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the candidates that may join a parent set, and the larger sets, int64 (n, size + 1)."""
        cells = float(self._cardinality[[v, *parents]].prod())
        others = np.setdiff1d(candidates, parents, assume_unique=True)
        others = others[cells * self._cardinality[others] <= self.rules.max_table_cells]
        if len(parents) >= self.rules.max_indegree:
            others = others[:0]
        larger = np.column_stack([np.tile(np.array(parents, np.int64), (len(others), 1)), others])
        larger.sort(axis=1)
        return others, larger

    def _scored_enlarged(
        self, v: int, parents: Parents, candidates: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the candidates that may join a parent set, and the scores of the larger sets."""
        others, larger = self._enlarged(v, parents, candidates)
        self.n_scored += len(larger)
        return others, self._scores((v, larger))[0]

    def _is_stopped(self, stop: NDArray[np.uint8]) -> bool:
        """Return whether `stop` is raised, after raising it if no time is left."""
        if self.is_late():
            stop[0] = 1
        return bool(stop[0])

    def enter_pairs(self, stop: NDArray[np.uint8]) -> None:
        """Score two more parents than the required ones of every variable; pairs that gain more than either enter.

        Parents that count only together are not found by adding one at a time. Of many candidates the best single ones
        are combined. Another thread may raise `stop` to end early.
        """
        for v, required in enumerate(self.required):
            if self._is_stopped(stop):
                break
            parents = tuple(sorted(required))
            if len(parents) + 2 > self.rules.max_indegree:
                continue
            single, scores = self._scored_enlarged(v, parents, self._candidates[v])
            # candidates of a variable of which `ParentLibraries.enter_pairs` scores all pairs
            best = np.argsort(-scores, kind="stable")[:60]
            of_single = dict(zip(single.tolist(), scores.tolist(), strict=True))
            # the first member of a pair is the better one
            pairs = np.array(list(combinations(single[best].tolist(), 2)), np.int64).reshape(-1, 2)
            cells = self._cardinality[[v, *parents]].prod() * self._cardinality[pairs].prod(axis=1)
            pairs = pairs[cells <= self.rules.max_table_cells]
            if not len(pairs):
                continue
            sets = np.column_stack([np.tile(np.array(parents, np.int64), (len(pairs), 1)), pairs])
            sets.sort(axis=1)
            without = self._libraries[v].score(parents)
            least = np.array([max(of_single[first], without) for first in pairs[:, 0].tolist()])
            self.n_scored += len(sets)
            (of_pairs,) = self._scores((v, sets))
            for k in np.flatnonzero(of_pairs > least + rounding(without)).tolist():
                self._libraries[v].enter(tuple(sets[k].tolist()), float(of_pairs[k]))
            self._ranked[v] = None

    def widen(self, sets: Sequence[Parents], stop: NDArray[np.uint8]) -> bool:
        """Add pairs to `pairs` whose edge would raise the score of a graph, cycles aside; returns whether any does.

        Every variable may get one more parent, or another one in place of one. For each of these changes the best few
        parents are added. The sets of the graph are in the libraries.
        """
        joined = np.zeros_like(self.pairs)
        for v, parents in enumerate(sets):
            if self._is_stopped(stop):
                break
            outside = np.flatnonzero(self._may[:, v] & ~self.pairs[:, v])
            present = self._libraries[v].score(parents)
            fewer = [
                tuple(p for p in parents if p != other) for other in parents if other not in self.required[v]
            ]
            for kept in [parents, *fewer]:
                others, scores = self._scored_enlarged(v, kept, outside)
                # partners that one neighbour of a parent set may add in `ParentLibraries.widen`
                best = np.argsort(-scores, kind="stable")[:3]
                gaining = others[best[scores[best] > present + rounding(present)]]
                joined[v, gaining] = joined[gaining, v] = True
        self.pairs |= joined
        for v in np.flatnonzero(joined.any(axis=0)).tolist():
            self._candidates[v] = np.flatnonzero(self._may[:, v] & self.pairs[:, v])
            self._libraries[v].expanded.clear()
        return bool(joined.any())

    def _expand_all(self, sets: Iterable[Parents | None], stop: NDArray[np.uint8]) -> bool:
        """Expand one set of every variable until `stop` is raised; returns whether any had not been expanded before."""
        grew, waiting, n_before = False, [], self.n_scored
        for v, parents in enumerate(sets):
            if self._is_stopped(stop):
                break
            if parents is None or parents in self._libraries[v].expanded:
                continue
            grew = True
            waiting.append(self._neighbours(v, parents))
            if self.n_scored - n_before >= _FAMILIES_TOGETHER:
                self._enter_neighbours(waiting)
                waiting, n_before = [], self.n_scored
        self._enter_neighbours(waiting)
        return grew

    def expand_best(self, stop: NDArray[np.uint8]) -> None:
        """Expand the best set of every variable, whatever the order, until no neighbour of it scores higher."""
        for v, library in enumerate(self._libraries):
            while not self._is_stopped(stop) and self.expand(v, library.best()):
                pass

    def _unexpanded(self, v: int) -> Parents | None:
        """Return the best set of a variable whose neighbours have not been scored, None if there is none."""
        library = self._libraries[v]
        ranked = (library.sets[k] for k in library.ranks.tolist())
        return next((parents for parents in ranked if parents not in library.expanded), None)

    def table(self) -> ParentSetTable:
        """Return all sets for kernels."""
        ranked = [
            library.ranked(len(self._libraries)) if of_variable is None else of_variable
            for library, of_variable in zip(self._libraries, self._ranked, strict=True)
        ]
        self._ranked = list(ranked)
        members, scores, with_member, member_starts = zip(*ranked, strict=True)
        n_members = np.array(list(map(len, with_member)), np.int64)
        return ParentSetTable(
            members=np.concatenate(members),
            scores=np.concatenate(scores),
            starts=np.concatenate(([0], np.cumsum(list(map(len, scores))))).astype(np.int64),
            with_member=np.concatenate(with_member),
            member_starts=np.stack(member_starts) + (np.cumsum(n_members) - n_members)[:, None],
        )

    def climbed(
        self,
        order: NDArray[np.int64],
        generator: np.random.Generator,
        stop: NDArray[np.uint8],
        *,
        explores: bool = True,
    ) -> list[Parents]:
        """Return the parents of every variable in the graph at which a local search from an order ends.

        Every variable has a set in its library without later variables. The last pass over the variables moved none
        with a gain, and all neighbours of the parent sets have been scored. If it `explores`, a search that gains
        nothing lets the libraries grow by the neighbours of further sets, and begins again.
        """
        work = self._new_work(order, stop)
        gained = explored = is_over = False
        while True:
            table = self.table()
            if not choose_sets(table, work):
                raise ValueError(f"No parent set in the library suits the order {order.tolist()}.")
            size = float(np.abs(table.scores[work.chosen]).sum())
            gained |= reinsert(table, work, rounding(size), generator, False) > 0
            sets = self._chosen(table, work)
            if is_over:
                break
            grew = self._expand_all(sets, stop)
            if self._is_stopped(stop):
                # a last pass makes use of what has been scored
                is_over, work = True, work._replace(stop=np.zeros(1, np.uint8))
                continue
            if grew:
                continue
            if gained or explored or not explores:
                break
            self._expand_all([self._unexpanded(v) for v in range(len(sets))], stop)
            explored = True
        self.n_scans += int(work.n_scans[0])
        return sets

    def improved(
        self,
        order: NDArray[np.int64],
        generator: np.random.Generator,
        stop: NDArray[np.uint8],
        depths: Sequence[int] = (0,),
    ) -> list[Parents]:
        """Return the parents of every variable after moves of chains, if there are many, and of single variables."""
        if len(order) > _FEWEST_CHAINED:
            self.expand_best(stop)
            work = self.chain_search(depths, stop).improved(self._new_work(order, stop), generator)
            self.n_scans += int(work.n_scans[0])
            order = work.order
        return self.climbed(order, generator, stop)

    def kicked(
        self,
        order: NDArray[np.int64],
        generator: np.random.Generator,
        stop: NDArray[np.uint8],
        depths: Sequence[int],
        most_idle: int,
        *,
        is_thorough: bool = True,
    ) -> list[Parents]:
        """Return the parents of every variable after chain moves that lose at first, see `ChainSearch.kicked`.

        Families by curves take long, and kicks are many: there libraries grow by the neighbours of the graphs alone.
        """
        search = self.chain_search(depths, stop)
        work = search.kicked(self._new_work(order, stop), generator, most_idle, is_thorough=is_thorough)
        self.n_scans += int(work.n_scans[0])
        return self.climbed(work.order, generator, stop, explores=not self.scorer.has_curves)

    def chain_search(self, depths: Sequence[int], stop: NDArray[np.uint8]) -> ChainSearch:
        """Return the search by moves of chains for the present libraries; parameters as of `improved`."""
        return ChainSearch(self.table(), depths, lambda: self._is_stopped(stop))

    def _new_work(self, order: NDArray[np.int64], stop: NDArray[np.uint8]) -> OrderWork:
        """Return work space that begins with an order."""
        return OrderWork(
            order=order.copy(),
            chosen=np.zeros(len(order), np.int64),
            visits=np.zeros(len(order), np.int64),
            is_changed=np.zeros(len(order), np.uint8),
            previous=np.zeros(len(order), np.int64),
            before=np.zeros(self._words, np.uint64),
            reached=np.zeros(self._words, np.uint64),
            stop=stop,
            n_scans=np.zeros(1, np.int64),
        )

    def _chosen(self, table: ParentSetTable, work: OrderWork) -> list[Parents]:
        """Return the parents of every variable that kernels have chosen from the latest table."""
        ranks = (work.chosen - table.starts[:-1]).tolist()
        return [self.parents(v, rank) for v, rank in enumerate(ranks)]

    def state(self) -> dict[str, Any]:
        """Return the sets in the order of their entry, with 1 for those whose neighbours have been scored."""
        return {
            "counts": [self.n_scored, self.n_scans],
            "sets": [
                [[int(parents in library.expanded), *parents] for parents in library.sets]
                for library in self._libraries
            ],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take in what `state` had returned for the same variables."""
        for v, saved in enumerate(state["sets"]):
            self._libraries[v] = _Library(self._words)
            for is_expanded, *members in saved:
                self.enter(v, tuple(members))
                if is_expanded:
                    self._libraries[v].expanded.add(tuple(members))
        self.n_scored, self.n_scans = state["counts"]

    def parents(self, v: int, rank: int) -> Parents:
        """Return the parent set of a variable with a rank in the latest table, counted from the best one."""
        library = self._libraries[v]
        return library.sets[int(library.ranks[rank])]


@dataclass(eq=False)
class OrderStarts:
    """Local searches from several orders in the same growing libraries, until `stop` is raised.

    `keeps_pairs` joins only the pairs that the libraries join.
    """

    libraries: ParentLibraries
    generator: np.random.Generator
    stop: NDArray[np.uint8]
    keeps_pairs: bool = False

    def improved(self, first: Sequence[Parents]) -> Sequence[Parents]:
        """Return the best graph of searches from a graph, whose sets are in the libraries, and from other orders.

        Every search gets quick kicks. The best graph gets thorough ones after every few searches, and so do the best
        few graphs at the end. Pairs that the best one lacks are then added, as long as this gains, unless pairs are
        kept.
        """
        # best score first
        graphs = [self._kicked(first)]
        # searches from further orders; the first of them begins at a greedy graph
        for start in range(9):
            if self.stop[0] or self._is_settled(graphs):
                break
            graphs.append(self._kicked(self._further_graph(start, graphs[0])))
            graphs.sort(key=self.libraries.score, reverse=True)
            # searches after which the best graph gets thorough kicks
            if start % 3 == 0:
                graphs[0] = self._kicked(graphs[0], _THOROUGH_KICKS, is_thorough=True)
        # graphs that get thorough kicks at the end
        for k, graph in enumerate(graphs[:3]):
            graphs[k] = self._kicked(graph, _THOROUGH_KICKS, is_thorough=True)
        best = max(graphs, key=self.libraries.score)
        best = self._kicked(best, 400, is_thorough=True)
        return best if self.keeps_pairs else self._with_missing_pairs(best)

    def _is_settled(self, graphs: Sequence[Sequence[Parents]]) -> bool:
        """Return whether as many graphs as needed have the score of the first, the best one."""
        best, *scores = [self.libraries.score(graph) for graph in graphs]
        return 1 + sum(not is_gain(best - score, best) for score in scores) >= _MOST_EQUAL

    def _further_graph(self, start: int, best: Sequence[Parents]) -> Sequence[Parents]:
        """Return the graph at which a local search without kicks ends, from an order that suits its number.

        The first one begins at a greedy graph. Then random orders take turns with those of the best graph of which a
        random segment is reversed.
        """
        if start == 0:
            order = random_order(self._greedy_graph(), self.generator)
        elif start % 2:
            order = random_order(self.libraries.required, self.generator)
        else:
            order = self._with_reversed_segment(best)
        sets = self.libraries.improved(order, self.generator, self.stop, DEPTHS)
        return self.libraries.improved(random_order(sets, self.generator), self.generator, self.stop, DEPTHS)

    def _with_reversed_segment(self, sets: Sequence[Parents]) -> NDArray[np.int64]:
        """Return an order of a graph with a random segment reversed; required parents stay before their children."""
        order, n = random_order(sets, self.generator), len(sets)
        # part of the order that a reversed segment has at least
        length = int(self.generator.integers(n // 10, n // 2 + 1))
        first = int(self.generator.integers(n - length + 1))
        order[first : first + length] = order[first : first + length][::-1]
        return ranked_order(self.libraries.required, np.argsort(order))

    def _greedy_graph(self) -> Sequence[Parents]:
        """Return the graph of libraries that grow by one parent at a time; its sets enter the shared libraries.

        Such a graph can lie near a better one than a graph of all pairs of parents does.
        """
        libraries = self.libraries
        greedy = ParentLibraries(libraries.scorer, libraries.rules, libraries.pairs, libraries.is_late)
        sets = greedy.improved(random_order(greedy.required, self.generator), self.generator, self.stop)
        for v, parents in enumerate(sets):
            libraries.enter(v, parents)
        return sets

    def _kicked(
        self, sets: Sequence[Parents], most_idle: int = _QUICK_KICKS, *, is_thorough: bool = False
    ) -> list[Parents]:
        order = random_order(sets, self.generator)
        return self.libraries.kicked(
            order, self.generator, self.stop, DEPTHS, most_idle, is_thorough=is_thorough
        )

    def _with_missing_pairs(self, sets: Sequence[Parents]) -> Sequence[Parents]:
        """Return a graph after pairs around it were added, and it was improved with them, while that gains."""
        libraries = self.libraries
        # times that pairs are added around the best graph
        for _ in range(3):
            if self.stop[0] or not libraries.widen(sets, self.stop):
                break
            order = random_order(sets, self.generator)
            larger = libraries.improved(order, self.generator, self.stop, DEPTHS)
            larger = self._kicked(larger)
            if not is_gain(libraries.score(larger) - libraries.score(sets), libraries.score(sets)):
                break
            sets = larger
        return sets


# rounds of `widened_pairs`
_MOST_ROUNDS = 3


def pairs_of_climbs(
    scorer: FamilyScorer, rules: EdgeRules, n_climbs: int, generator: np.random.Generator
) -> NDArray[np.bool_]:
    """Return the pairs of variables that are joined in the graphs of searches from random orders, (N, N), symmetric."""
    libraries = ParentLibraries(scorer, rules, None)
    n = len(scorer.variables)
    joined = np.zeros((n, n), np.bool_)
    for _ in range(n_climbs):
        order = random_order(libraries.required, generator)
        for v, parents in enumerate(libraries.climbed(order, generator, np.zeros(1, np.uint8))):
            joined[v, list(parents)] = True
    return joined | joined.T


def widened_pairs(
    scorer: FamilyScorer,
    rules: EdgeRules,
    pairs: NDArray[np.bool_],
    generator: np.random.Generator,
    is_late: Callable[[], bool] = lambda: False,
) -> tuple[NDArray[np.bool_], list[Arc]]:
    """Return pairs of variables that matter around a good graph, (N, N), and the edges (parent, child) of that graph.

    They are some pairs and those that these lack around the graph of a local search, in a few rounds.
    A round finds a graph within the pairs, and then scores every variable as a further parent of every other one, and
    in place of each of its parents. A ranking before any search is filled by variables that predict a column equally
    well; given one of them as a parent, the others gain little. Searches from other orders follow, see `OrderStarts`.
    Every variable has one policy. `is_late` is asked before every piece of work; the graph is then the present one.
    """
    libraries = ParentLibraries(scorer, rules, pairs, is_late)
    stop = np.zeros(1, np.uint8)
    libraries.enter_pairs(stop)
    sets = libraries.improved(random_order(libraries.required, generator), generator, stop, DEPTHS)
    for _ in range(_MOST_ROUNDS):
        if stop[0] or not libraries.widen(sets, stop):
            break
        sets = libraries.improved(random_order(sets, generator), generator, stop, DEPTHS)
    best = OrderStarts(libraries, generator, stop).improved(sets)
    return libraries.pairs, arcs_of(best)
