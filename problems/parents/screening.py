"""Candidate edges: the pairs of variables with the strongest dependence, marginal or given other parents."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnWarning, Setting
from gomea_bn.problems.kernels.score import score_families
from gomea_bn.problems.knowledge import EdgeRules
from gomea_bn.problems.scoring.curves import no_curves
from gomea_bn.problems.scoring.family_scorer import FamilyScorer, new_cache, new_scratch
from gomea_bn.problems.scoring.scores import score_rule, scoring_method
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
# any fixed number: candidates must be the same in every run on a table
_ROW_SEED = 20240219


def candidate_pairs(
    scorer: FamilyScorer, rules: EdgeRules, max_candidates: int | str | None, *, deadline: float = np.inf
) -> NDArray[np.bool_] | None:
    """Return the pairs that the search may join, a symmetric bool matrix of shape (N, N); None for every pair.

    A pair is a candidate if one of its variables is among the other's `max_candidates` best partners, by
    `Screening.pairwise` or by `Screening.conditional`. None means no limit, and "auto" no limit up to
    `UNSCREENED_VARIABLES`, otherwise `AUTO_CANDIDATES`. Pairs with a required edge are always candidates, pairs whose
    edges are forbidden never. The kind of score has no influence. After the deadline, a time of `perf_counter`,
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
    is_late = perf_counter() > deadline
    screening = Screening(scorer, is_quick=is_late)
    rankings = [screening.pairwise()]
    if not is_late:
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
    warnings.warn(
        GomeaBnWarning(
            f"The time limit is short for ranking the pairs of columns. {' '.join(parts)}",
            [Setting("max_seconds")],
        ),
        stacklevel=5,
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
            chosen = np.sort(np.random.default_rng(_ROW_SEED).choice(scorer.n_rows, n_rows, replace=False))
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
        self._caches = (new_cache(2), new_cache(0))

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
