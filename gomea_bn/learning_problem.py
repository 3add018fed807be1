"""From a table and a learner's options to the structure problem that GOMEA searches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gomea_bn._columns import nearest
from gomea_bn.discretization.base import Discretizer
from gomea_bn.discretization.proposals import check_proposer
from gomea_bn.errors import GomeaBnError, is_integer, is_real
from gomea_bn.problems.family_scorer import FamilyScorer, ScoredVariable
from gomea_bn.problems.knowledge import EdgeRules, ExpertKnowledge, edge_rules
from gomea_bn.problems.policies import MAX_CARDINALITY, POLICY_FAMILIES, Policy, fixed_policy, policy_library
from gomea_bn.problems.scores import ScoringMethod, score_rule, scoring_method
from gomea_bn.problems.screening import candidate_pairs, check_max_candidates
from gomea_bn.problems.structure import StructureProblem
from gomea_bn.table import Table

__all__ = ["LearningOptions", "learned_cut_points", "learning_problem", "merged_library", "scored_variables"]

DEFAULT_FAMILY = "equal-frequency"


@dataclass(frozen=True)
class LearningOptions:
    """What decides the score and the search space; the fields are `BayesNetLearner`'s parameters."""

    discretizer: str | Discretizer = DEFAULT_FAMILY
    scoring_method: str = "density-bic"
    cut_points: Mapping[str, Iterable[float]] | None = None
    max_bins: int = 15
    max_indegree: int | None = 6
    knowledge: ExpertKnowledge | None = None
    penalty: str | float = "bic"
    prior: str = "dirichlet"
    equivalent_sample_size: float = 10.0
    random_repair: bool = True
    initial_indegree: float = 1.0
    max_candidates: int | str | None = "auto"

    def __post_init__(self) -> None:
        check_proposer(self.discretizer, "discretizer", tuple(POLICY_FAMILIES))
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
        check_max_candidates(self.max_candidates)

    @property
    def family(self) -> str:
        """The family of cuts that fills the libraries: the discretizer's own, or the one that others add to."""
        known = isinstance(self.discretizer, str) and self.discretizer in POLICY_FAMILIES
        return str(self.discretizer) if known else DEFAULT_FAMILY

    @property
    def asks_discretizer(self) -> bool:
        """Whether a discretizer proposes cuts during the search."""
        return self.discretizer != self.family


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
        If the scoring method does not fit the columns, fixed cut points do not fit their column, or the knowledge
        contradicts itself or the table.
    """
    method = scoring_method(options.scoring_method)
    _check_kinds(table, method)
    variables, rules = scored_variables(table, options, proposed)
    rule = score_rule(
        method,
        table.n_rows,
        penalty=options.penalty,
        prior=options.prior,
        equivalent_sample_size=options.equivalent_sample_size,
    )
    scorer = FamilyScorer(variables, method, rule)
    return StructureProblem(
        scorer,
        rules,
        random_repair=options.random_repair,
        initial_indegree=options.initial_indegree,
        pairs=candidate_pairs(scorer, rules, options.max_candidates) if pairs is None else pairs,
    )


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


def learned_cut_points(
    problem: StructureProblem, genotype: NDArray[np.int16]
) -> dict[str, NDArray[np.float64]]:
    """Return the inner cuts of every continuous variable of a genotype, by name."""
    chosen = zip(problem.scorer.variables, problem.policy_indices(genotype).tolist(), strict=True)
    return {v.name: v.policies[index].cut_points for v, index in chosen if not v.n_levels}


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
