"""Which pairs of variables a search may join: every variable's best partners by what a pair shares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError, is_integer
from gomea_bn.problems._score_kernels import score_families
from gomea_bn.problems.family_scorer import FamilyScorer, new_scratch
from gomea_bn.problems.knowledge import EdgeRules
from gomea_bn.problems.scores import score_rule, scoring_method
from gomea_bn.problems.thread_caches import new_cache

__all__ = [
    "AUTO_CANDIDATES",
    "UNSCREENED_VARIABLES",
    "candidate_pairs",
    "check_max_candidates",
    "pairwise_strengths",
]

UNSCREENED_VARIABLES = 40
"""Up to so many variables, "auto" leaves all pairs to the search."""
AUTO_CANDIDATES = 12
"""Partners that "auto" keeps for every variable above that."""

# numbers of bins at which two continuous columns are compared; the best combination counts
_BINS = (2, 4, 8)
# pairs times combinations times rows, about a nanosecond each; beyond, a sample of the rows is compared
_MAX_VISITS = 4e9
_FEWEST_ROWS = 2000
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
        A pair stays if one of its variables is among the `max_candidates` best partners of the other. None: all stay;
        "auto": None up to `UNSCREENED_VARIABLES`, above it `AUTO_CANDIDATES`.

    Notes
    -----
    Partners are ranked by `pairwise_strengths`, as the sparse candidates of Friedman, Nachman and Pe'er (1999) are by
    mutual information. Weak partners fill up the number: a parent may count only beside another one.
    """
    n = len(scorer.variables)
    if max_candidates == "auto":
        max_candidates = None if n <= UNSCREENED_VARIABLES else AUTO_CANDIDATES
    if max_candidates is None or int(max_candidates) >= n - 1:
        return None
    required = np.triu(~rules.allowed[:, :, 0], 1)
    possible = np.triu(rules.allowed[:, :, 1] | rules.allowed[:, :, 2], 1)
    required, possible = required | required.T, possible | possible.T
    strengths = np.where(possible, pairwise_strengths(scorer), -np.inf)
    # a stable order, so that equal strengths do not depend on the sorting method
    ranked = np.argsort(-strengths, axis=1, kind="stable")[:, : int(max_candidates)]
    kept = np.zeros((n, n), np.bool_)
    np.put_along_axis(kept, ranked, True, axis=1)
    return np.asarray(((kept | kept.T) & possible) | required)


def pairwise_strengths(scorer: FamilyScorer) -> NDArray[np.float64]:
    """Return how far every two variables are from independence, a symmetric matrix of shape (N, N).

    In standard deviations of what independent variables show. Columns with several policies are compared at about
    2, 4 and 8 bins, and the best combination counts. The diagonal is minus infinity.

    Notes
    -----
    (n MI - d/2) / sqrt(d/2), MI in nats and d = (r - 1)(s - 1) for cardinalities r and s: under independence 2 n MI is
    chi-squared with d degrees of freedom (Wilks 1938). Unlike a gain in score it ranks weak pairs of few and of many
    bins alike. Large tables are compared on a random sample of the rows.
    """
    n = len(scorer.variables)
    groups = [_coarse_views(scorer, variable) for variable in range(n)]
    views = np.concatenate(groups)
    owner = np.repeat(np.arange(n), [len(group) for group in groups])
    n_families = len(views) * (len(views) - 1) / 2
    n_rows = int(min(scorer.n_rows, max(_FEWEST_ROWS, _MAX_VISITS / max(n_families, 1.0))))
    rows = scorer.rows
    if n_rows < scorer.n_rows:
        chosen = np.sort(np.random.default_rng(_ROW_SEED).choice(scorer.n_rows, n_rows, replace=False))
        rows = rows._replace(codes=np.ascontiguousarray(rows.codes[:, chosen]))
    rule = score_rule(scoring_method("bic"), n_rows)._replace(weight=0.0)
    scratch = new_scratch(n_rows, scorer.max_cardinality)
    nothing, uncounted = new_cache(2), new_cache(0)

    def log_likelihood(families: NDArray[np.int64]) -> NDArray[np.float64]:
        found = np.empty(len(families))
        offsets = np.arange(len(families) + 1) * families.shape[1]
        score_families(rows, rule, scratch, nothing, uncounted, offsets, families.ravel(), found)
        return found

    alone = log_likelihood(views[:, None])
    freedom = rows.cardinality[views] - 1
    strengths = np.full((n, n), -np.inf)
    first_view = np.searchsorted(owner, np.arange(n + 1))
    for child in range(n - 1):
        others = np.arange(first_view[child + 1], len(views))
        for own in range(first_view[child], first_view[child + 1]):
            families = np.column_stack([views[others], np.full(len(others), views[own])])
            half = freedom[others] * freedom[own] / 2.0
            information = log_likelihood(families) - alone[own]
            # a constant column has no degrees of freedom, and no information
            found = (information - half) / np.sqrt(np.maximum(half, 0.5))
            np.maximum.at(strengths[child], owner[others], found)
    return np.maximum(strengths, strengths.T)


def _coarse_views(scorer: FamilyScorer, variable: int) -> NDArray[np.int64]:
    """Return the views of a variable at which it is compared: of its policies those nearest to `_BINS`."""
    views = np.arange(scorer.view_offset[variable], scorer.view_offset[variable + 1])
    cardinality = scorer.rows.cardinality[views]
    nearest = [int(np.argmin(np.abs(cardinality - bins))) for bins in _BINS]
    return np.asarray(views[sorted(set(nearest))])
