"""Which pairs of variables a search may join: every variable's most dependent partners, alone and beside others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, is_integer
from gomea_bn.problems.family_scorer import FamilyScorer, new_scratch
from gomea_bn.problems.kernels.score import score_families
from gomea_bn.problems.knowledge import EdgeRules
from gomea_bn.problems.scores import score_rule, scoring_method
from gomea_bn.problems.thread_caches import new_cache

__all__ = [
    "AUTO_CANDIDATES",
    "UNSCREENED_VARIABLES",
    "Screening",
    "candidate_pairs",
    "check_max_candidates",
]

UNSCREENED_VARIABLES = 100
"""Up to so many variables, "auto" leaves all pairs to the search."""
AUTO_CANDIDATES = 10
"""Partners by either ranking that "auto" keeps for every variable above that."""

# numbers of bins at which continuous columns are compared
_BINS = (3, 6)
_MOST_PARENTS = 4
# families times rows, about a nanosecond each; beyond, a sample of the rows is compared
_MAX_VISITS = 4e9
_FEWEST_ROWS = 1000
_ROW_SEED = 20240219  # any fixed number: candidates must be alike in every run on a table


def check_max_candidates(max_candidates: int | str | None) -> None:
    """Raise `GomeaBnError` unless `max_candidates` is "auto", None or an integer of at least 1."""
    if max_candidates is None or (isinstance(max_candidates, str) and max_candidates == "auto"):
        return
    if not is_integer(max_candidates) or int(max_candidates) < 1:
        raise GomeaBnError(
            f'max_candidates must be "auto", None or an integer of at least 1, got {max_candidates!r}.'
        )


def candidate_pairs(
    scorer: FamilyScorer, rules: EdgeRules, max_candidates: int | str | None
) -> NDArray[np.bool_] | None:
    """Return which pairs the search may join, a symmetric matrix of shape (N, N); None if it is every pair.

    Parameters
    ----------
    scorer : FamilyScorer
        Its rows and policy libraries; its score does not matter.
    rules : EdgeRules
        Pairs that must be joined stay, pairs that must not be are no candidates.
    max_candidates : int, "auto" or None
        A pair stays if one of its variables is among the other's `max_candidates` best partners, by
        `Screening.pairwise` or by `Screening.conditional`. None: all stay; "auto": None up to `UNSCREENED_VARIABLES`,
        above it `AUTO_CANDIDATES`.

    Notes
    -----
    After the sparse candidates of Friedman, Nachman and Pe'er (1999), who rank by mutual information alone first, and
    given the network of an earlier search later.
    """
    n = len(scorer.variables)
    if max_candidates == "auto":
        max_candidates = None if n <= UNSCREENED_VARIABLES else AUTO_CANDIDATES
    if max_candidates is None or int(max_candidates) >= n - 1:
        return None
    required = np.triu(~rules.allowed[:, :, 0], 1)
    possible = np.triu(rules.allowed[:, :, 1] | rules.allowed[:, :, 2], 1)
    required, possible = required | required.T, possible | possible.T
    kept = required.copy()
    screening = Screening(scorer)
    for strengths in (screening.pairwise(), screening.conditional(rules.max_indegree)):
        strengths[~possible] = -np.inf
        # a stable order, so that equal strengths do not depend on the sorting method
        best = np.argsort(-strengths, axis=1, kind="stable")[:, : int(max_candidates)]
        np.put_along_axis(kept, best, True, axis=1)
    return np.asarray((kept | kept.T) & possible)


class Screening:
    """Strengths of dependence between the columns of a table, in standard deviations of what independence shows.

    A strength is (G - d/2) / sqrt(d/2), with G the log likelihood in nats that a parent gains, and d its degrees of
    freedom: under independence 2 G is chi-squared with d degrees of freedom (Wilks 1938). Unlike a gain in score it
    ranks weak partners of few and of many bins alike. Continuous columns are compared at about 3 and at about 6 bins,
    and the strongest comparison counts. Large tables are compared on a random sample of the rows.

    Parameters
    ----------
    scorer : FamilyScorer
        Its rows and policy libraries.
    """

    def __init__(self, scorer: FamilyScorer) -> None:
        self.n_variables = n = len(scorer.variables)
        n_families = 2.0 * n**2 * len(_BINS) ** 2
        n_rows = int(min(scorer.n_rows, max(_FEWEST_ROWS, _MAX_VISITS / n_families)))
        rows = scorer.rows
        if n_rows < scorer.n_rows:
            chosen = np.sort(np.random.default_rng(_ROW_SEED).choice(scorer.n_rows, n_rows, replace=False))
            rows = rows._replace(codes=np.ascontiguousarray(rows.codes[:, chosen]))
        self._rows = rows
        bic = score_rule(scoring_method("bic"), n_rows)
        self._price = bic.weight
        self._rule = bic._replace(weight=0.0)
        self._scratch = new_scratch(n_rows, scorer.max_cardinality)
        self._caches = (new_cache(2), new_cache(0))
        # (number of levels, N): by level the view of every variable
        self._views = np.array([_nearest_views(scorer, bins) for bins in _BINS])

    def _log_likelihood(self, families: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return log likelihoods of children, whose views come last in `families`, shape (n, members)."""
        found = np.empty(len(families))
        offsets = np.arange(len(families) + 1) * families.shape[1]
        views = np.ascontiguousarray(families).ravel()
        score_families(self._rows, self._rule, self._scratch, *self._caches, offsets, views, found)
        return found

    def pairwise(self) -> NDArray[np.float64]:
        """Return strengths of all pairs, symmetric, shape (N, N); minus infinity on the diagonal."""
        n = self.n_variables
        strengths = np.full((n, n), -np.inf)
        for own in self._views:
            for other in self._views:
                for child in range(1, n):
                    found = self._strengths(own[child], np.zeros(0, np.int64), other[:child])[0]
                    np.maximum(strengths[child, :child], found, out=strengths[child, :child])
        return np.asarray(np.maximum(strengths, strengths.T))

    def conditional(self, max_indegree: int = _MOST_PARENTS) -> NDArray[np.float64]:
        """Return strengths of one more parent beside others, shape (N, N): row child, column parent.

        The others are found for every variable by itself, by forward selection with the BIC; every parent has its
        strength from the selection's step at which it was strongest, so that a parent that matters only jointly
        with a stronger one is seen.
        """
        n = self.n_variables
        strengths = np.full((n, n), -np.inf)
        for views in self._views:
            for child in range(n):
                parents: list[int] = []
                while len(parents) < n - 1:
                    others = np.array([i for i in range(n) if i != child and i not in parents], np.int64)
                    given = views[np.array(sorted(parents), np.int64)]
                    found, gains = self._strengths(views[child], given, views[others])
                    strengths[child, others] = np.maximum(strengths[child, others], found)
                    best = int(np.argmax(gains))
                    if gains[best] <= 0 or len(parents) >= min(_MOST_PARENTS, max_indegree):
                        break
                    parents.append(int(others[best]))
        return strengths

    def _strengths(
        self, child: np.int64, given: NDArray[np.int64], others: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the strengths and the BIC gains of views `others` as one more parent of a view beside those given."""
        cardinality = self._rows.cardinality
        repeated = np.broadcast_to(given, (len(others), len(given)))
        families = np.column_stack([repeated, others, np.full(len(others), child)])
        before = self._log_likelihood(np.append(given, child)[None])
        gained = self._log_likelihood(families) - before
        rows = float(np.prod(cardinality[given].astype(np.float64)))
        freedom = rows * (cardinality[others] - 1) * (cardinality[child] - 1)
        half = np.maximum(freedom / 2.0, 0.5)  # a constant column gains nothing, and ranks low
        return (gained - half) / np.sqrt(half), gained - self._price * freedom


def _nearest_views(scorer: FamilyScorer, bins: int) -> list[int]:
    """Return by variable the view whose number of bins is nearest to `bins`."""
    found = []
    for first, variable in zip(scorer.view_offset[:-1].tolist(), scorer.variables, strict=True):
        cardinality = scorer.rows.cardinality[first : first + max(len(variable.policies), 1)]
        found.append(first + int(np.argmin(np.abs(cardinality - bins))))
    return found
