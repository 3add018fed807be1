"""From a table and a learner's options to the structure problem that GOMEA searches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.table import Table
from gomea_bn.discretization.base import Discretizer
from gomea_bn.discretization.proposals import check_proposer, with_full_bins, with_wide_bins
from gomea_bn.errors import GomeaBnError, is_integer, is_real, nearest
from gomea_bn.problems.family_scorer import FamilyScorer, LibraryGrowth, ScoredVariable
from gomea_bn.problems.interval_dp import CutLimits, IntervalScore
from gomea_bn.problems.kernels.score import BDEU
from gomea_bn.problems.knowledge import EdgeRules, ExpertKnowledge, edge_rules
from gomea_bn.problems.policies import MAX_CARDINALITY, POLICY_FAMILIES, Policy, fixed_policy, policy_library
from gomea_bn.problems.pricing import Pricing, library_capacity
from gomea_bn.problems.scores import ScoringMethod, score_rule, scoring_method
from gomea_bn.problems.screening import candidate_pairs, check_max_candidates
from gomea_bn.problems.structure import StructureProblem

__all__ = [
    "OPTIMAL",
    "LearningOptions",
    "learned_cut_points",
    "learned_edges",
    "learning_problem",
    "library_growth",
    "merged_library",
    "scored_variables",
]

DEFAULT_FAMILY = "equal-frequency"
OPTIMAL = "optimal"


@dataclass(frozen=True)
class LearningOptions:
    """What decides the score and the search space; the fields are `BayesNetLearner`'s parameters."""

    discretizer: str | Discretizer = OPTIMAL
    scoring_method: str | None = None
    cut_points: Mapping[str, Iterable[float]] | None = None
    max_bins: int = 15
    max_indegree: int | None = 6
    knowledge: ExpertKnowledge | None = None
    penalty: str | float = "bic"
    prior: str = "dirichlet"
    equivalent_sample_size: float = 10.0
    random_repair: bool = True
    initial_indegree: float = 1.0
    cut_cost: float = 0.5
    edge_cost: float = 1.0
    min_width: float = 1e-3
    min_bin_count: int = 1
    max_candidates: int | str | None = "auto"

    def __post_init__(self) -> None:
        check_proposer(self.discretizer, "discretizer", (OPTIMAL, *POLICY_FAMILIES))
        if not is_integer(self.max_bins) or not 2 <= self.max_bins <= MAX_CARDINALITY:
            raise GomeaBnError(
                f"max_bins must be an integer from 2 to {MAX_CARDINALITY}, got {self.max_bins!r}."
            )
        if self.max_indegree is not None and not (is_integer(self.max_indegree) and self.max_indegree >= 0):
            raise GomeaBnError(
                f"max_indegree must be an integer of at least 0 or None, got {self.max_indegree!r}."
            )
        if self.knowledge is not None and not isinstance(self.knowledge, ExpertKnowledge):
            raise GomeaBnError(f"knowledge must be an ExpertKnowledge or None, got {self.knowledge!r}.")
        if self.cut_points is not None and not isinstance(self.cut_points, Mapping):
            raise GomeaBnError(f"cut_points must map column names to cuts, got {self.cut_points!r}.")
        if not isinstance(self.random_repair, bool):
            raise GomeaBnError(f"random_repair must be True or False, got {self.random_repair!r}.")
        if not is_real(self.initial_indegree) or not 0 <= self.initial_indegree < np.inf:
            raise GomeaBnError(
                f"initial_indegree must be a finite number of at least 0, got {self.initial_indegree!r}."
            )
        if not is_real(self.min_width) or not 0 <= self.min_width < 1:
            raise GomeaBnError(
                f"min_width must be a fraction of the range, from 0 to below 1, got {self.min_width!r}."
            )
        if not is_integer(self.min_bin_count) or self.min_bin_count < 0:
            raise GomeaBnError(f"min_bin_count must be an integer of at least 0, got {self.min_bin_count!r}.")
        check_max_candidates(self.max_candidates)

    @property
    def family(self) -> str:
        """The family of cuts that fills the libraries: the discretizer's own, or the one that others add to."""
        known = isinstance(self.discretizer, str) and self.discretizer in POLICY_FAMILIES
        return str(self.discretizer) if known else DEFAULT_FAMILY

    def scoring_of(self, table: Table) -> str:
        """Return the scoring method's name: where none is given, what fits the discretizer and the table."""
        if self.scoring_method is not None:
            return self.scoring_method
        prices = self.discretizer == OPTIMAL and any(column.is_continuous for column in table.columns)
        return "density-bd" if prices else "density-bic"

    @property
    def asks_discretizer(self) -> bool:
        """Whether a discretizer proposes cuts during the search."""
        return self.discretizer not in (self.family, OPTIMAL)


def learning_problem(
    table: Table,
    options: LearningOptions,
    proposed: Mapping[str, Sequence[NDArray[np.float64]]] | None = None,
    *,
    pairs: NDArray[np.bool_] | None = None,
) -> StructureProblem:
    """Return the problem of learning a network for `table`.

    Parameters
    ----------
    table : Table
    options : LearningOptions
    proposed : mapping of str to sequence of ndarray, optional
        Inner cuts by column that enter its library beside those of the family; equal ones merge.
    pairs : ndarray of shape (N, N), bool, optional
        The pairs that may be joined, from an earlier problem for the same table; by default they are screened.

    Raises
    ------
    GomeaBnError
        If the scoring method does not fit the columns or the discretizer, fixed cut points do not fit their column, or
        the knowledge contradicts itself or the table.
    """
    method = scoring_method(options.scoring_of(table), cut_cost=options.cut_cost, edge_cost=options.edge_cost)
    _check_kinds(table, method)
    variables, rules = scored_variables(table, options, proposed)
    rule = score_rule(
        method,
        table.n_rows,
        n_variables=len(table.columns),
        penalty=options.penalty,
        prior=options.prior,
        equivalent_sample_size=options.equivalent_sample_size,
    )
    growth, pricing = library_growth(table, variables, options), None
    if growth is not None:
        if rule.kind == BDEU:
            raise GomeaBnError(
                "discretizer='optimal' finds no exact cuts under prior='bdeu', whose gains differ with the number of "
                "bins; use prior='dirichlet', scoring_method='density-bic', or discretizer='equal-frequency'."
            )
        limits = CutLimits(1, options.max_bins, options.min_width, options.min_bin_count)
        pricing = Pricing(limits, [IntervalScore(method, rule)])
    scorer = FamilyScorer(variables, method, rule, growth=growth)
    return StructureProblem(
        scorer,
        rules,
        random_repair=options.random_repair,
        initial_indegree=options.initial_indegree,
        pricing=pricing,
        pairs=candidate_pairs(scorer, rules, options.max_candidates) if pairs is None else pairs,
    )


def library_growth(
    table: Table, variables: Sequence[ScoredVariable], options: LearningOptions
) -> LibraryGrowth | None:
    """Return how far libraries may grow where the search prices cuts; None where it does not."""
    n_priced = sum(v.has_free_cuts for v in variables)
    if options.discretizer != OPTIMAL or not n_priced:
        return None
    return LibraryGrowth(library_capacity(n_priced, table.n_rows), options.max_bins)


def scored_variables(
    table: Table,
    options: LearningOptions,
    proposed: Mapping[str, Sequence[NDArray[np.float64]]] | None = None,
) -> tuple[list[ScoredVariable], EdgeRules]:
    """Return a table's columns with their policy libraries, and what the knowledge allows for every pair.

    Parameters as of `learning_problem`.

    Raises
    ------
    GomeaBnError
        As `learning_problem`.
    """
    fixed = dict(options.cut_points or {})
    _check_fixed(table, fixed)
    variables = []
    for column in table.columns:
        if column.levels is not None:
            if len(column.levels) > MAX_CARDINALITY:
                raise GomeaBnError(
                    f"Column {column.name!r} has {len(column.levels)} levels; the search takes at most "
                    f"{MAX_CARDINALITY}. Merge rare levels."
                )
            variables.append(ScoredVariable(column.name, column.values, len(column.levels)))
        elif not np.isfinite(np.ptp(column.values)):
            raise GomeaBnError(
                f"Column {column.name!r} ranges from {column.values.min():g} to {column.values.max():g}, which is more "
                "than a float can hold; rescale it."
            )
        elif column.name in fixed:
            policy = fixed_policy(column.name, column.values, fixed[column.name])
            variables.append(ScoredVariable(column.name, column.values, 0, (policy,)))
        else:
            policies = policy_library(column.values, options.family, options.max_bins)
            if options.discretizer == OPTIMAL:
                policies = _within_limits(policies, column.values, options)
            if proposed and column.name in proposed:
                policies = merged_library(policies, proposed[column.name])
            variables.append(ScoredVariable(column.name, column.values, 0, policies))
    fewest = [v.n_levels or v.policies[0].n_bins for v in variables]
    rules = edge_rules(options.knowledge, table.names, fewest, max_indegree=options.max_indegree)
    return variables, rules


def merged_library(policies: Iterable[Policy], proposed: Iterable[NDArray[np.float64]]) -> tuple[Policy, ...]:
    """Return policies and further ones of the proposed inner cuts, fewest bins first, equal ones merged."""
    found = {tuple(policy.cut_points.tolist()): policy for policy in policies}
    for cuts in proposed:
        found.setdefault(tuple(cuts.tolist()), Policy(cuts))
    return tuple(found[cuts] for cuts in sorted(found, key=lambda cuts: (len(cuts), cuts)))


def _within_limits(
    policies: Iterable[Policy], values: NDArray[np.float64], options: LearningOptions
) -> tuple[Policy, ...]:
    """Return policies whose bins all are as wide and as full as priced ones must be; others join a neighbour."""
    support = float(values.min()), float(values.max())
    wide = [with_wide_bins(policy.cut_points, support, options.min_width) for policy in policies]
    return merged_library((), [with_full_bins(cuts, values, options.min_bin_count) for cuts in wide])


def learned_cut_points(
    problem: StructureProblem, genotype: NDArray[np.int16]
) -> dict[str, NDArray[np.float64]]:
    """Return the inner cuts of every continuous variable of a genotype, by name."""
    chosen = enumerate(problem.policy_indices(genotype).tolist())
    scorer = problem.scorer
    return {
        scorer.variables[v].name: scorer.policy(v, place).cut_points
        for v, place in chosen
        if not scorer.variables[v].n_levels
    }


def learned_edges(problem: StructureProblem, genotype: NDArray[np.int16]) -> list[tuple[int, int]]:
    """Return the arcs (parent, child) of a repaired genotype that say something, by variable index.

    An arc from or to a variable with a single bin changes no probability; only required ones stay.
    """
    views = problem.scorer.view_offset[:-1] + problem.policy_indices(genotype)
    several = problem.scorer.rows.cardinality[views] > 1
    required = ~problem.edge_rules.allowed[:, :, 0]
    return [
        (parent, child)
        for parent, child in problem.edges(genotype)
        if (several[parent] and several[child]) or required[parent, child]
    ]


def _check_kinds(table: Table, method: ScoringMethod) -> None:
    continuous = [column.name for column in table.columns if column.is_continuous]
    if continuous and not method.density:
        raise GomeaBnError(
            f"scoring_method={method.name!r} is for discrete columns only, but {_listed(continuous)} "
            "are continuous. Use 'density-bic' or 'density-bd', or declare them discrete with kinds=."
        )


def _check_fixed(table: Table, fixed: Mapping[str, Iterable[float]]) -> None:
    kinds = {column.name: column.is_continuous for column in table.columns}
    for name in fixed:
        if name not in kinds:
            if not isinstance(name, str):
                raise GomeaBnError(f"cut_points: column names are text, got {name!r}.")
            raise GomeaBnError(f"cut_points: no column {name!r}.{nearest(name, list(kinds))}")
        if not kinds[name]:
            raise GomeaBnError(
                f"cut_points: column {name!r} is discrete; declare it continuous with kinds={{{name!r}: 'continuous'}}."
            )


def _listed(names: list[str], most: int = 5) -> str:
    shown = ", ".join(map(repr, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
