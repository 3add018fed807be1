"""Scores of families: a variable and its parents, each with a discretization. Computed in batches and cached.

Columns are taken as the score needs them: their values, their codes and constants under a policy, and the smooth
functions of every column that another column may be a sum of, with their cross products.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from math import lgamma, log, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import ROWS_WORTH_THREADS
from gomea_bn.data.content_order import FIXED_SEED
from gomea_bn.errors import GomeaBnError
from gomea_bn.problems.curves import curves_of_views, new_curve_scratch, no_curves
from gomea_bn.problems.cuts.cut_column import ScoredVariable
from gomea_bn.problems.cuts.policies import MAX_CARDINALITY, Policy
from gomea_bn.problems.kernels.curves import CurveData
from gomea_bn.problems.kernels.logits import (
    LogitData,
)
from gomea_bn.problems.kernels.score import (
    BLOCK,
    LEFT_OUT,
    LEFT_OUT_BEST,
    MISFIT_KINDS,
    MOST_MEMBERS,
    FamilyCache,
    RowData,
    ScoreCache,
    ScoreRule,
    ScoreScratch,
    cache_merge,
    score_counts,
    score_families,
)
from gomea_bn.problems.scores import ScoringMethod, family_score
from gomea_bn.runtime.checkpoints import fill, generator_states, generators_of
from gomea_bn.runtime.threads import in_spare_threads, in_threads, n_spare_threads, zeros_by_pages

_LEAVES_OUT = (LEFT_OUT, LEFT_OUT_BEST)
# powers of 2 above it are normal floats
_LEAST_EXPONENT = -1000
# constants have this number of binary digits for the nats of a row, about twelve decimal ones
_BITS_OF_CONSTANT = 40

_FIRST_CAPACITY = 1 << 12
# fewest families times rows of a call that threads share: a row of a family by curves takes .15 µs, and a thread .1 ms
_LEAST_SHARED_ROWS = 8_000


def _log_width_sum(
    counts: NDArray[np.int64], edges: NDArray[np.float64], *, of_earlier_versions: bool
) -> float:
    """Return the sum over rows of the log bin width, for bins between `edges`, scaled to a range of 1.

    A column times a power of 2 has the same sum to the last bit, other than in earlier versions. Networks whose scores
    are equal but for rounding would change places.
    """
    filled = counts > 0
    widths = edges[1:] - edges[:-1]
    if of_earlier_versions:
        return float(np.sum(counts[filled] * (np.log(widths[filled]) - np.log(edges[-1] - edges[0]))))
    digits, exponents = np.frexp(np.concatenate((widths[filled], edges[-1:] - edges[:1])))
    # in units in which the range is from a half to 1
    exponents -= exponents[-1]
    if exponents.min() > _LEAST_EXPONENT:
        logs = np.log(np.ldexp(digits, exponents))
    else:
        # logarithms of digits and exponent where a narrow bin of a huge range would underflow
        logs = np.where(
            exponents > _LEAST_EXPONENT,
            np.log(np.ldexp(digits, np.maximum(exponents, _LEAST_EXPONENT))),
            np.log(digits) + exponents * log(2),
        )
    return float(np.sum(counts[filled] * (logs[:-1] - logs[-1])))


class ScoredColumn:
    """A continuous column that can be coded under any policy. Only its observed rows count in its constants."""

    def __init__(self, variable: ScoredVariable, method: ScoringMethod, rule: ScoreRule) -> None:
        self._ranks = ranks = variable.ranks
        self.weight = ranks.weight
        self.cut_cost = method.cut_cost * np.log(max(len(ranks.cuts), 1))
        self._rule = rule
        self._shape = shape = variable.shape
        self._measures = (False,) if shape is None else shape.measures
        # log density of the rows under the shape for misfits, in nats with the range scaled to 1
        self._of_shape = 0.0
        if shape is not None and rule.kind in MISFIT_KINDS and True in self._measures:
            # the shape was fitted to all rows, so that a misfit that leaves rows out charges its effective parameters
            self._of_shape = shape.log_likelihood
            if rule.kind not in _LEAVES_OUT:
                self._of_shape = float(shape.shape.log_scaled_density(ranks.ascending).sum())

    def code(self, policy: Policy, codes: NDArray[np.uint8]) -> tuple[float, float, bool]:
        """Fill `codes`; return constant and cost in nats, both per all rows, and whether the bins are shaped."""
        ranks, shape = self._ranks, self._shape
        below = np.concatenate(([0], ranks.code(policy.cut_points, codes), [ranks.n_rows]))
        counts = below[1:] - below[:-1]
        cost = self.cut_cost * (policy.n_bins - 1) if policy.chosen else 0.0
        edges = np.concatenate(([ranks.low], policy.cut_points, [ranks.high]))
        constants: dict[bool, float] = {}
        if True in self._measures:
            constants[True] = self._rounded(self._shaped(policy, counts))
        # in a column that may have a shape instead, narrow bins are not uniform
        if False in self._measures and not (
            constants and shape and shape.is_too_narrow(edges, below, ranks.cells_of_rows(below))
        ):
            # without shapes learners repeat the results of versions that had none
            constants[False] = self._rounded(
                -_log_width_sum(counts, edges, of_earlier_versions=shape is None)
            )
        # equal constants: uniform bins, which need no further numbers
        shaped = max(sorted(constants), key=lambda measure: constants[measure])
        if len(constants) == 2 and self._rule.kind in _LEAVES_OUT:
            shaped = self._scores_better_shaped(counts, constants[False])
        return float(constants[shaped] - cost) * self.weight, float(cost) * self.weight, shaped

    def _rounded(self, constant: float) -> float:
        """Return the constant of a column with a shape without digits that depend on the units of the column."""
        if self._shape is None:
            return constant
        # a power of 2, so that nothing else is rounded
        step = 2.0 ** (self._ranks.n_rows.bit_length() - _BITS_OF_CONSTANT)
        return round(constant / step) * step

    def _scores_better_shaped(self, counts: NDArray[np.int64], uniform: float) -> bool:
        """Return whether shaped bins have the larger marginal likelihood, by which `BayesNetLearner` decides.

        The shape was fitted to the rows, so that their density under it would overrate it. `uniform` is minus the sum
        of the rows' log widths in nats.
        """
        assert self._shape is not None
        n_bins = len(counts)
        of_bins = sum(lgamma(count + 1.0) for count in counts.tolist())
        of_bins += lgamma(n_bins) - lgamma(n_bins + int(counts.sum()))
        return self._shape.log_likelihood > uniform + of_bins

    def _shaped(self, policy: Policy, counts: NDArray[np.int64]) -> float:
        """Return the constant of shaped bins without the cost of the cuts, in nats.

        It is the log density of the shape, minus the score of the bins without parents. A log density that is the same
        for all cuts is left out. Misfits use the masses of the bins under the shape in place of that score, as the
        density of a network does.
        """
        shape = self._shape
        assert shape is not None
        if self._rule.kind in MISFIT_KINDS:
            return self._of_shape - float(counts @ np.log(shape.shape.bin_masses(policy.cut_points)))
        root = score_counts(counts.astype(np.int32), 1, 1.0, policy.n_bins, self._rule)
        return shape.compared_log_likelihood - float(root)


def new_cache(capacity: int) -> FamilyCache:
    """Return an empty cache table; `capacity` is a power of two."""
    return FamilyCache(
        keys=np.zeros(capacity, np.uint64), scores=np.zeros(capacity), used=np.zeros(1, np.int64)
    )


def new_score_cache(capacity: int) -> ScoreCache:
    """Return empty tables for scores; `capacity`, of each, is a power of two."""
    return ScoreCache(new_cache(capacity), new_cache(capacity))


class ThreadCaches:
    """A cache of limited bytes that is only read while threads run; their new scores are merged afterwards."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.shared = new_cache(_FIRST_CAPACITY)
        self._per_thread: list[FamilyCache] = []

    def pair(self, thread: int, n_threads: int) -> tuple[FamilyCache, FamilyCache]:
        """Return the table that a thread reads, and the one that it also writes: a single thread the shared one."""
        if n_threads == 1:
            return new_cache(2), self.shared
        while len(self._per_thread) <= thread:
            self._per_thread.append(new_cache(_FIRST_CAPACITY))
        return self.shared, self._per_thread[thread]

    def grown(self, thread: int, cache: FamilyCache) -> FamilyCache:
        """Return a thread's table with room for further scores; called by that thread between its kernels."""
        larger = _grown(cache, max(int(cache.used[0]), _FIRST_CAPACITY), self.max_bytes)
        if cache is self.shared:
            self.shared = larger
        else:
            self._per_thread[thread] = larger
        return larger

    def merge(self) -> None:
        """Move the threads' new scores into the shared table, in thread order."""
        for thread, cache in enumerate(self._per_thread):
            used = int(cache.used[0])
            if used:
                self.shared = _grown(self.shared, used, self.max_bytes)
                cache_merge(self.shared, cache)
                self._per_thread[thread] = new_cache(len(cache.keys))

    def reserve(self, n_more: int) -> None:
        """Make room in the shared table for `n_more` entries, within the limit."""
        self.shared = _grown(self.shared, n_more, self.max_bytes)


def _grown(cache: FamilyCache, n_more: int, max_bytes: int) -> FamilyCache:
    """Return `cache`, or a larger copy that holds `n_more` further entries at half load, within `max_bytes`."""
    capacity = len(cache.keys)
    while capacity < 2 * (int(cache.used[0]) + n_more) and 32 * capacity <= max_bytes:
        capacity *= 2
    if capacity == len(cache.keys):
        return cache
    larger = new_cache(capacity)
    cache_merge(larger, cache)
    return larger


def _new_words(generator: np.random.Generator, *n_views: int) -> NDArray[np.uint64]:
    """Return random odd words by which caches know views as children and as parents, uint64 (2, *n_views)."""
    words = generator.integers(1, 2**63, size=(2, *n_views), dtype=np.int64).astype(np.uint64)
    return 2 * words + 1


# configurations are numbered by 64-bit integers
_MAX_CELLS = 2**62


@dataclass(frozen=True, slots=True)
class ScoredFamily:
    """A child and its parents, each a (variable index, policy index) pair; the policy of a discrete column is 0."""

    child: tuple[int, int]
    parents: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Completion:
    """How the rows of discrete columns were completed, each `n_completions` times by draws.

    The completions of a row count as one row. The price of a family is multiplied by the fourth root of the number of
    rows per row in which all its members were observed.
    """

    is_observed: NDArray[np.bool_]  # (n_variables, n_rows) before completion
    n_completions: int  # a variable has this number of values per row

    @property
    def words(self) -> NDArray[np.uint64]:
        """Observed values as bits, uint64 (n_variables, n_words)."""
        n_variables, n_rows = self.is_observed.shape
        bits = np.zeros((n_variables, -(-n_rows // 64) * 64), np.bool_)
        bits[:, :n_rows] = self.is_observed
        return np.packbits(bits, axis=1).view(np.uint64)


def graph_families(parents: Iterable[Iterable[int]]) -> list[ScoredFamily]:
    """Return the family of every variable of a graph, given its parents, under the first policy of each library."""
    return [ScoredFamily((v, 0), tuple((p, 0) for p in of_child)) for v, of_child in enumerate(parents)]


def new_scratch(n_rows: int, max_cardinality: int, curves: CurveData | None = None) -> ScoreScratch:
    """Return the work space of one thread for counting, and for curves."""
    n_slots = 1 << int(2 * n_rows - 1).bit_length()
    n_dense = min(65536, 8 * n_rows + 1024)
    return ScoreScratch(
        joint=np.zeros(BLOCK, np.uint16),
        counts=np.zeros(max(n_dense, n_rows * max_cardinality), np.int32),
        slots=np.zeros(n_slots, np.int64),
        slot_keys=np.zeros(n_slots, np.int64),
        is_complete=np.zeros(BLOCK, np.uint8),
        sums=np.zeros(n_dense, np.int32),
        members=np.zeros(MOST_MEMBERS, np.int64),
        statistics=np.zeros(2, np.int64),
        curves=new_curve_scratch(no_curves() if curves is None else curves),
    )


@dataclass(frozen=True, slots=True)
class LibraryGrowth:
    """Limits of the growth of the libraries of continuous variables whose cuts are not fixed."""

    capacity: int  # most policies of a variable; a larger first library stays as it is
    max_bins: int  # of a policy that enters


class FamilyScorer:
    """Scores families of one table under one rule.

    `cache_bytes` limits the shared score cache, and `growth` is room for policies that enter later. `completion` says
    which values are completed; only for discrete columns, and not for the score of misfits. `curves`
    (`curves.curve_data`) make the score of a family that of its table or of curves of its parents, whichever is better.

    Variable i under a policy is the row ``view_offset[i] + policy`` of ``rows.codes``; the cardinality of a free index
    in a library is 0. `constant_score` is the part of the score of every network in nats which scores of families leave
    out: the log likelihoods of the columns whose bins can only be shaped. A score is reported with it. It is 0 for
    misfits. By view, `is_shaped` says whether bins have the shape of their column inside; by variable, `grows` whether
    its library may grow.
    """

    def __init__(
        self,
        variables: Sequence[ScoredVariable],
        method: ScoringMethod,
        rule: ScoreRule,
        *,
        cache_bytes: int = 1 << 26,
        growth: LibraryGrowth | None = None,
        curves: CurveData | None = None,
        completion: Completion | None = None,
    ) -> None:
        self.variables = tuple(variables)
        self.method = method
        self.rule = rule
        self.growth = growth
        self.constant_score = 0.0
        if rule.kind not in MISFIT_KINDS:
            self.constant_score = float(sum(v.constant_score for v in self.variables))
        for variable in self.variables:
            most = max([variable.n_levels, *(policy.n_bins for policy in variable.policies)])
            if most > MAX_CARDINALITY:
                raise GomeaBnError(
                    f"Variable {variable.name!r} has {most} levels or bins; at most {MAX_CARDINALITY} can be scored."
                )
        self.grows = np.array([growth is not None and v.has_free_cuts for v in self.variables], np.bool_)
        sizes = [max(len(v.policies), 1) for v in self.variables]
        if growth is not None:
            sizes = [max(n, growth.capacity) if g else n for n, g in zip(sizes, self.grows.tolist())]
        self.view_offset = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        self._keys = np.random.default_rng(FIXED_SEED)
        self._columns: dict[int, ScoredColumn] = {}
        self._libraries: list[list[Policy | None]] = [[] for _ in self.variables]
        self.is_shaped = np.zeros(int(self.view_offset[-1]), np.bool_)
        self.rows = self._rows(len(self.variables[0].values))
        if completion is not None:
            self.rule = rule._replace(completions=float(completion.n_completions))
            self.rows = self.rows._replace(observed=completion.words)
        if curves is not None:
            curves = curves_of_views(curves, self.view_offset)
            self.rows = self.rows._replace(curves=curves._replace(logits=self._with_roots(curves.logits)))
        self.max_cardinality = max(
            int(self.rows.cardinality.max()), growth.max_bins if growth is not None else 0
        )
        self.n_rows = self.rows.codes.shape[1]
        self.caches, self.curve_caches = ThreadCaches(cache_bytes), ThreadCaches(cache_bytes)
        # of all scorers with cuts: scores, and the words of a variable under a policy
        self._caches_of_cuts = ThreadCaches(cache_bytes)
        self._words_of_cuts: dict[tuple[int, bytes, bool], NDArray[np.uint64]] = {}
        self._scratch = self.new_scratch()
        # of spare threads
        self._more_scratch: list[ScoreScratch] = []

    def _with_roots(self, logits: LogitData) -> LogitData:
        """Return logits with the scores of tables without parents."""
        alone = logits.alone.copy()
        for v in np.flatnonzero(logits.n_levels):
            n_levels = self.variables[v].n_levels
            counts = np.bincount(self.variables[v].values, minlength=n_levels)
            alone[v] = family_score(counts, self.rule, [True])
        return logits._replace(alone=alone)

    def _rows(self, n_rows: int) -> RowData:
        n_views = int(self.view_offset[-1])
        words = _new_words(self._keys, n_views)
        rows = RowData(
            # most policies enter later or never
            codes=zeros_by_pages((n_views, n_rows), np.uint8),
            cardinality=np.zeros(n_views, np.int64),
            constant=np.zeros(n_views),
            own_cost=np.zeros(n_views),
            child_key=words[0],
            parent_key=words[1],
            curves=no_curves(),
            has_missing=np.zeros(n_views, np.bool_),
            is_level=np.zeros(n_views, np.bool_),
            observed=np.zeros((n_views, 0), np.uint64),
        )
        n_threads = -1 if n_rows > ROWS_WORTH_THREADS else 1
        in_threads(lambda v: self._fill(rows, v), range(len(self.variables)), n_threads=n_threads)
        return rows

    def _fill(self, rows: RowData, v: int) -> None:
        """Fill the views of a variable under its first policies."""
        variable, first = self.variables[v], int(self.view_offset[v])
        rows.has_missing[first : self.view_offset[v + 1]] = variable.n_observed < len(variable.values)
        if variable.n_levels:
            rows.is_level[first] = not variable.are_bins
            rows.codes[first] = variable.values
            rows.cardinality[first] = variable.n_levels
            return
        column = ScoredColumn(variable, self.method, self.rule)
        views = slice(first, first + len(variable.policies))
        if variable.policies:
            coded = [column.code(*pair) for pair in zip(variable.policies, rows.codes[views], strict=True)]
            rows.constant[views], rows.own_cost[views], self.is_shaped[views] = zip(*coded, strict=True)
            rows.cardinality[views] = [policy.n_bins for policy in variable.policies]
        if self.grows[v]:
            self._columns[v] = column
        free = int(self.view_offset[v + 1]) - first - len(variable.policies)
        self._libraries[v] = [*variable.policies, *[None] * free]

    @property
    def has_curves(self) -> bool:
        """Whether any family may be scored by curves."""
        return len(self.rows.curves.products) > 0

    def new_scratch(self) -> ScoreScratch:
        """Return the work space of one thread."""
        return new_scratch(self.n_rows, self.max_cardinality, self.rows.curves)

    def for_thread(self) -> FamilyScorer:
        """Return the scorer with a work space of its own; `use_cache` must be False in threads."""
        other = copy(self)
        other._scratch, other._more_scratch = self.new_scratch(), []
        return other

    def with_cuts(self, cuts: Mapping[int, NDArray[np.float64]]) -> FamilyScorer:
        """Return a scorer in which some variables whose libraries grow have given cuts alone, charged as chosen.

        All such scorers of one scorer share the scores of families with equal cuts, and the scores by curves. The edge
        cost must not change in any but this one.
        """
        variables = [
            variable.with_policies([Policy(cuts[v])]) if v in cuts and self.grows[v] else variable
            for v, variable in enumerate(self.variables)
        ]
        other = FamilyScorer(variables, self.method, self.rule, curves=self.rows.curves)
        other.caches, other.curve_caches = self._caches_of_cuts, self.curve_caches
        for v, variable in enumerate(variables):
            known = [(v, policy.cut_points.tobytes(), policy.chosen) for policy in variable.policies]
            for view, key in enumerate(known or [(v, b"", False)], start=int(other.view_offset[v])):
                if key not in self._words_of_cuts:
                    self._words_of_cuts[key] = _new_words(self._keys)
                other.rows.child_key[view], other.rows.parent_key[view] = self._words_of_cuts[key]
        return other

    def without_curves(self) -> FamilyScorer:
        """Return a scorer by tables alone; both share their libraries, which become the first ones again."""
        self._restore_first_libraries()
        other = copy(self)
        other.rows = self.rows._replace(curves=no_curves())
        other.caches, other._caches_of_cuts = (ThreadCaches(self.caches.max_bytes) for _ in range(2))
        other._scratch, other._more_scratch = other.new_scratch(), []
        return other

    def library(self, variable: int) -> list[Policy | None]:
        """Return a continuous variable's policies by index, None for a free index; [] for a discrete variable."""
        return list(self._libraries[variable])

    def policy(self, variable: int, index: int) -> Policy:
        """Return a policy of a continuous variable's library by its index."""
        policy = self._libraries[variable][index]
        if policy is None:
            raise GomeaBnError(f"Variable {self.variables[variable].name!r} has no policy {index}.")
        return policy

    def enter(self, variable: int, cut_points: NDArray[np.float64]) -> int:
        """Return the index of the policy with these cuts, which enters if it is new; -1 if the library is full."""
        library = self._libraries[variable]
        for index, present in enumerate(library):
            if present is not None and np.array_equal(present.cut_points, cut_points):
                return index
        name = self.variables[variable].name
        if self.growth is None or not self.grows[variable]:
            raise GomeaBnError(f"The library of variable {name!r} cannot grow.")
        if len(cut_points) >= self.growth.max_bins:
            raise GomeaBnError(
                f"Variable {name!r}: at most {self.growth.max_bins} bins can enter, got {len(cut_points) + 1}."
            )
        if None not in library:
            return -1
        index = library.index(None)
        self._replace_policy(variable, index, Policy(cut_points))
        return index

    def leave(self, variable: int, index: int) -> None:
        """Free an index of a variable's library that no solution uses; the first index cannot be freed."""
        if index == 0 or not self.grows[variable]:
            raise GomeaBnError(f"Policy {index} of variable {self.variables[variable].name!r} cannot leave.")
        self._libraries[variable][index] = None
        self.rows.cardinality[int(self.view_offset[variable]) + index] = 0

    def _restore_first_libraries(self) -> None:
        """Take the policies that have entered out of the libraries, and put first policies that have left back."""
        for v in np.flatnonzero(self.grows).tolist():
            first = self.variables[v].policies
            for index, present in enumerate(self._libraries[v]):
                if index >= len(first):
                    self.leave(v, index)
                elif present is not first[index]:
                    self._replace_policy(v, index, first[index])

    def set_edge_cost(self, edge_cost: float) -> None:
        """Charge edges another share of ln(N - 1); scores of families are forgotten, and those by curves stay."""
        price = self.rule.edge_cost * edge_cost / self.method.edge_cost
        self.method = replace(self.method, edge_cost=edge_cost)
        self.rule = self.rule._replace(edge_cost=price)
        self.caches, self._caches_of_cuts = (ThreadCaches(self.caches.max_bytes) for _ in range(2))

    def libraries_state(self) -> dict[str, Any]:
        """Return the libraries that grow, and the words by which cached scores know their policies."""
        return {
            "keys": generator_states([self._keys]),
            "child_key": self.rows.child_key,
            "parent_key": self.rows.parent_key,
            "policies": {
                str(v): [None if p is None else [p.cut_points, p.chosen] for p in self._libraries[v]]
                for v in np.flatnonzero(self.grows).tolist()
            },
        }

    def restore_libraries(self, state: Mapping[str, Any]) -> None:
        """Make the libraries those of `libraries_state`, with codes and constants; cached scores are dropped."""
        (self._keys.bit_generator.state,) = [g.bit_generator.state for g in generators_of(state["keys"])]
        fill(self.rows.child_key, state["child_key"])
        fill(self.rows.parent_key, state["parent_key"])
        for name, saved in state["policies"].items():
            v = int(name)
            library = self._libraries[v]
            if len(saved) != len(library):
                raise ValueError(f"the library of variable {v} has {len(library)} places, not {len(saved)}")
            for index, entry in enumerate(saved):
                view = int(self.view_offset[v]) + index
                library[index] = None
                self.rows.cardinality[view] = 0
                if entry is not None:
                    self._set_policy(v, index, Policy(np.array(entry[0], np.float64), bool(entry[1])))
        self.caches = ThreadCaches(self.caches.max_bytes)

    def _replace_policy(self, variable: int, index: int, policy: Policy) -> None:
        """Put a policy at an index of a library that another policy may have had."""
        self._set_policy(variable, index, policy)
        # fresh words: cached scores of the former policy at this index must never be found again
        view = int(self.view_offset[variable]) + index
        self.rows.child_key[view], self.rows.parent_key[view] = _new_words(self._keys)

    def _set_policy(self, variable: int, index: int, policy: Policy) -> None:
        """Put a policy into a library, with its codes and constants."""
        view = int(self.view_offset[variable]) + index
        constant, own_cost, shaped = self._columns[variable].code(policy, self.rows.codes[view])
        self.rows.constant[view], self.rows.own_cost[view] = constant, own_cost
        self.is_shaped[view] = shaped
        self.rows.cardinality[view] = policy.n_bins
        self._libraries[variable][index] = policy

    def view(self, variable: int, policy: int = 0) -> int:
        """Return the row of ``rows.codes`` that holds a variable under a policy."""
        n_policies = int(self.view_offset[variable + 1] - self.view_offset[variable])
        if not 0 <= policy < n_policies or not self.rows.cardinality[self.view_offset[variable] + policy]:
            name = self.variables[variable].name
            raise GomeaBnError(f"Variable {name!r} has policies 0 to {n_policies - 1}, got {policy}.")
        return int(self.view_offset[variable]) + policy

    def encode(self, families: Iterable[ScoredFamily]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return families in compressed rows: offsets (n_families + 1,), views with the child last."""
        views: list[int] = []
        offsets, cardinality = [0], self.rows.cardinality
        for family in families:
            parents = sorted(family.parents)
            views += [self.view(*parent) for parent in parents]
            views.append(self.view(*family.child))
            cells = prod(float(cardinality[v]) for v in views[offsets[-1] :])
            if cells > _MAX_CELLS:
                raise GomeaBnError(
                    f"The table of {self.variables[family.child[0]].name!r} with {len(parents)} parents has "
                    f"{cells:.3g} cells; at most {_MAX_CELLS} can be scored."
                )
            offsets.append(len(views))
        return np.array(offsets, np.int64), np.array(views, np.int64)

    def score(self, families: Iterable[ScoredFamily], *, use_cache: bool = True) -> NDArray[np.float64]:
        """Return the scores of families in nats, shape (n_families,), higher is better.

        Equal for any order of the parents. The sum over a network's families, plus `constant_score`, is its score; for
        density methods that is the log density of the rows with every continuous column scaled to [0, 1], minus the
        penalties.
        """
        return self.score_encoded(*self.encode(families), use_cache=use_cache)

    def graph_score(self, parents: Iterable[Iterable[int]]) -> float:
        """Return the sum of the scores of a graph's families in nats, given the parents of every variable."""
        return float(self.score(graph_families(parents)).sum())

    def score_encoded(
        self, offsets: NDArray[np.int64], views: NDArray[np.int64], *, use_cache: bool = True
    ) -> NDArray[np.float64]:
        """Return the scores of families given as `encode` returns them; spare threads share those that take long.

        Most families are in a cache, so that the calling thread scores alone up to the first one that takes curves.
        """
        n, n_threads = len(offsets) - 1, 1 + n_spare_threads()
        scores, n_alone = np.empty(n), 0
        if use_cache:
            self.reserve(n)
        is_shared = n_threads > 1 and self.has_curves and n * self.n_rows >= _LEAST_SHARED_ROWS

        def score_some(part: int, n_parts: int, *, ends_at_curves: bool = False) -> int:
            caches = self.cache_pair(part, n_parts) if use_cache else (new_score_cache(2), new_score_cache(0))
            scratch = self._more_scratch[part - 1] if part else self._scratch
            return score_families(
                self.rows,
                self.rule,
                scratch,
                *caches,
                offsets,
                views,
                scores,
                n_alone + part,
                n_parts,
                ends_at_curves,
            )

        if use_cache or not is_shared:
            n_alone = score_some(0, 1, ends_at_curves=is_shared)
        # two parts a thread, since families take more or less time; those of one child take about the same
        n_parts = min(2 * n_threads, n - n_alone)
        self._more_scratch += [self.new_scratch() for _ in range(n_parts - 1 - len(self._more_scratch))]
        in_spare_threads(lambda part: score_some(part, n_parts), range(n_parts))
        if use_cache and n_parts > 1:
            self.merge_caches()
        return scores

    def table_scores(self, families: Iterable[ScoredFamily]) -> NDArray[np.float64]:
        """Return the scores of families by their tables, in nats, whether or not curves are better, (n_families,)."""
        rows = self.rows._replace(curves=no_curves())
        offsets, views = self.encode(families)
        scores = np.empty(len(offsets) - 1)
        caches = new_score_cache(2), new_score_cache(0)
        score_families(rows, self.rule, self._scratch, *caches, offsets, views, scores)
        return scores

    def cache_pair(self, thread: int, n_threads: int) -> tuple[ScoreCache, ScoreCache]:
        """Return the tables that a thread reads, and those that it also writes, see `ThreadCaches.pair`."""
        of_families = self.caches.pair(thread, n_threads)
        of_curves = self.curve_caches.pair(thread, n_threads)
        return ScoreCache(of_families[0], of_curves[0]), ScoreCache(of_families[1], of_curves[1])

    def grown_cache(self, thread: int, cache: ScoreCache) -> ScoreCache:
        """Return a thread's tables with room for further scores; called by that thread between its kernels."""
        return ScoreCache(
            self.caches.grown(thread, cache.families), self.curve_caches.grown(thread, cache.curves)
        )

    def merge_caches(self) -> None:
        """Move the threads' new scores into the shared tables, in thread order."""
        self.caches.merge()
        self.curve_caches.merge()

    def reserve(self, n_more: int) -> None:
        """Make room in the caches for `n_more` families, up to their limits."""
        self.caches.reserve(n_more)
        if self.has_curves:
            # a family enters with its score and its number of parameters
            self.curve_caches.reserve(2 * n_more)
