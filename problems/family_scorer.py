"""Scores of families (a variable with its parents, each with a discretization), computed in batches and cached."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import GomeaBnError
from gomea_bn.problems._score_kernels import (
    BLOCK,
    RowData,
    ScoreRule,
    ScoreScratch,
    score_families,
)
from gomea_bn.problems.policies import MAX_CARDINALITY, Policy
from gomea_bn.problems.scores import ScoringMethod
from gomea_bn.problems.thread_caches import ThreadCaches, new_cache

__all__ = ["Family", "FamilyScorer", "ScoredVariable", "new_scratch"]

_KEY_SEED = 20240219  # any fixed number: keys must be alike in every process
_MAX_CELLS = 2**62  # configurations are numbered by 64-bit integers


@dataclass(frozen=True)
class ScoredVariable:
    """One column as the score sees it.

    Attributes
    ----------
    name : str
    values : ndarray of shape (n_rows,)
        Continuous: float64 in original units. Discrete: integer codes.
    n_levels : int
        Cardinality of a discrete column; 0 marks a continuous one.
    policies : tuple of Policy
        The library of a continuous column, fewest bins first; empty for a discrete one.
    """

    name: str
    values: NDArray[np.float64] | NDArray[np.int32]
    n_levels: int
    policies: tuple[Policy, ...] = ()


@dataclass(frozen=True, slots=True)
class Family:
    """A child and its parents, each a (variable index, policy index) pair; the policy of a discrete column is 0."""

    child: tuple[int, int]
    parents: tuple[tuple[int, int], ...] = ()


def new_scratch(n_rows: int, max_cardinality: int) -> ScoreScratch:
    """Return one thread's counting work space."""
    n_slots = 1 << int(2 * n_rows - 1).bit_length()
    n_counts = max(min(65536, 8 * n_rows + 1024), n_rows * max_cardinality)
    return ScoreScratch(
        np.zeros(BLOCK, np.uint16),
        np.zeros(n_counts, np.int32),
        np.zeros(n_slots, np.int64),
        np.zeros(n_slots, np.int64),
        np.zeros(3, np.int64),
    )


def _log_width_sum(counts: NDArray[np.int64], edges: NDArray[np.float64]) -> float:
    """Return the sum over rows of the log bin width, for bins between `edges`, scaled to a range of 1."""
    held = counts > 0
    # a difference of logarithms, for the quotient of a narrow bin and a huge range may underflow
    return float(np.sum(counts[held] * (np.log(np.diff(edges)[held]) - np.log(edges[-1] - edges[0]))))


class FamilyScorer:
    """Scores families of one table under one rule.

    Parameters
    ----------
    variables : sequence of ScoredVariable
    method : ScoringMethod
    rule : ScoreRule
        From `scores.score_rule`.
    cache_bytes : int
        Upper limit of the shared score cache.

    Attributes
    ----------
    caches : ThreadCaches
    rows : RowData
        Codes and constants, for compiled callers.
    view_offset : ndarray of shape (n_variables + 1,), int64
        ``view_offset[i] + policy`` is the row of ``rows.codes`` for variable i.
    """

    def __init__(
        self,
        variables: Sequence[ScoredVariable],
        method: ScoringMethod,
        rule: ScoreRule,
        *,
        cache_bytes: int = 1 << 26,
    ) -> None:
        self.variables = tuple(variables)
        self.method = method
        self.rule = rule
        self.rows, self.view_offset = self._rows()
        self.max_cardinality = int(self.rows.cardinality.max())
        self.n_rows = self.rows.codes.shape[1]
        self.caches = ThreadCaches(cache_bytes)
        self._scratch = new_scratch(self.n_rows, self.max_cardinality)

    def _rows(self) -> tuple[RowData, NDArray[np.int64]]:
        codes, cardinality, constant, offsets = [], [], [], [0]
        for variable in self.variables:
            most = max([variable.n_levels, *(policy.n_bins for policy in variable.policies)])
            if most > MAX_CARDINALITY:
                raise GomeaBnError(
                    f"Variable {variable.name!r} has {most} levels or bins; at most {MAX_CARDINALITY} can be scored."
                )
            if variable.n_levels:
                codes.append(variable.values.astype(np.uint8))
                cardinality.append(variable.n_levels)
                constant.append(0.0)
            else:
                values = np.asarray(variable.values, np.float64)
                order = np.argsort(values)
                ranked = values[order]
                n_gaps = int(np.count_nonzero(ranked[1:] != ranked[:-1]))
                cut_cost = np.log(max(n_gaps, 1)) if self.method.charges_cuts else 0.0
                for policy in variable.policies:
                    ends = np.searchsorted(ranked, policy.cut_points, side="right")
                    counts = np.diff(ends, prepend=0, append=len(values))
                    column = np.empty(len(values), np.uint8)
                    column[order] = np.repeat(np.arange(policy.n_bins, dtype=np.uint8), counts)
                    codes.append(column)
                    cardinality.append(policy.n_bins)
                    cost = cut_cost * (policy.n_bins - 1) if policy.chosen else 0.0
                    edges = np.concatenate((ranked[:1], policy.cut_points, ranked[-1:]))
                    constant.append(-_log_width_sum(counts, edges) - cost)
            offsets.append(len(codes))
        generator = np.random.default_rng(_KEY_SEED)
        keys = generator.integers(1, 2**63, size=(2, len(codes)), dtype=np.int64).astype(np.uint64)
        rows = RowData(
            np.ascontiguousarray(codes),
            np.array(cardinality, np.int64),
            np.array(constant),
            2 * keys[0] + 1,
            2 * keys[1] + 1,
        )
        return rows, np.array(offsets, np.int64)

    def view(self, variable: int, policy: int = 0) -> int:
        """Return the row of ``rows.codes`` that holds a variable under a policy."""
        n_policies = int(self.view_offset[variable + 1] - self.view_offset[variable])
        if not 0 <= policy < n_policies:
            name = self.variables[variable].name
            raise GomeaBnError(f"Variable {name!r} has policies 0 to {n_policies - 1}, got {policy}.")
        return int(self.view_offset[variable]) + policy

    def encode(self, families: Iterable[Family]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return families in compressed rows: offsets (n_families + 1,), views with the child last."""
        views: list[int] = []
        offsets = [0]
        for family in families:
            parents = sorted(family.parents)
            views += [self.view(*parent) for parent in parents]
            views.append(self.view(*family.child))
            cells = np.prod([float(self.rows.cardinality[v]) for v in views[offsets[-1] :]])
            if cells > _MAX_CELLS:
                raise GomeaBnError(
                    f"The table of {self.variables[family.child[0]].name!r} with {len(parents)} parents has "
                    f"{cells:.3g} cells; at most {_MAX_CELLS} can be scored."
                )
            offsets.append(len(views))
        return np.array(offsets, np.int64), np.array(views, np.int64)

    def score(self, families: Iterable[Family], *, use_cache: bool = True) -> NDArray[np.float64]:
        """Return the scores of families in nats, shape (n_families,), higher is better.

        Equal for any order of the parents. The sum over a network's families is its score; for density methods
        that is the log density of the rows with every continuous column scaled to [0, 1], minus the penalties.
        """
        return self.score_encoded(*self.encode(families), use_cache=use_cache)

    def score_encoded(
        self, offsets: NDArray[np.int64], views: NDArray[np.int64], *, use_cache: bool = True
    ) -> NDArray[np.float64]:
        """Return the scores of families given as `encode` returns them."""
        scores = np.empty(len(offsets) - 1)
        if use_cache:
            self.reserve(len(scores))
        own = self.caches.shared if use_cache else new_cache(0)
        score_families(self.rows, self.rule, self._scratch, new_cache(2), own, offsets, views, scores)
        return scores

    def reserve(self, n_more: int) -> None:
        """Make room in the cache for `n_more` entries, up to its limit."""
        self.caches.reserve(n_more)
