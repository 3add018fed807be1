"""How the metadata of a network record the score that it was learned with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.errors import is_real
from gomea_bn.problems.family_scorer import Family
from gomea_bn.problems.kernels.score import BDEU, LIKELIHOOD, ScoreRule
from gomea_bn.problems.scores import ScoringMethod
from gomea_bn.problems.structure import StructureProblem

__all__ = ["SCORE_FIELDS", "curve_record", "recorded_method", "recorded_options", "score_record"]

SCORE_FIELDS = ("cut_cost", "edge_cost", "penalty", "prior", "equivalent_sample_size")
"""Fields of the metadata that describe a score, besides the name of the method."""


def score_record(method: ScoringMethod, rule: ScoreRule, penalty: str | float) -> dict[str, Any]:
    """Return the fields of the metadata that describe a score.

    A penalty and a prior are recorded only where a density score uses them and they are not the default ones, "bic" and
    Dirichlet(1).

    Parameters
    ----------
    method : ScoringMethod
    rule : ScoreRule
        From `score_rule`.
    penalty : str or float
        Penalty that the rule was made with.
    """
    record: dict[str, Any] = dict(method.charges)
    if method.density and rule.kind == LIKELIHOOD and penalty != "bic":
        record["penalty"] = penalty
    if method.density and rule.kind == BDEU:
        record |= {"prior": "bdeu", "equivalent_sample_size": rule.prior}
    return record


def curve_record(problem: StructureProblem, genotype: NDArray[np.int16]) -> dict[str, Any]:
    """Return the field of the metadata that describes families with curves; no field without any.

    Returns
    -------
    dict
        "curves": by column that follows curves, "nats" by which these are better than its table, and "only": the
        parents without which the score by tables would be at least as high.
    """
    names = [variable.name for variable in problem.scorer.variables]
    families = problem.families(genotype)
    record: dict[str, Any] = {}
    for family, gain in zip(families, problem.curve_gains(genotype).tolist(), strict=True):
        if gain > 0:
            without = [
                Family(family.child, tuple(other for other in family.parents if other != parent))
                for parent in family.parents
            ]
            with_all, *fewer = problem.scorer.table_scores([family, *without]).tolist()
            only = [
                names[v] for (v, _), score in zip(family.parents, fewer, strict=True) if score >= with_all
            ]
            record[names[family.child[0]]] = {"nats": gain, "only": only}
    return {"curves": record} if record else {}


def recorded_method(metadata: Mapping[str, Any], default: str) -> str:
    """Return the name of the density score that a network was learned with, or else a default."""
    name = metadata.get("scoring_method")
    return name if name in ("density-bic", "density-bd") else default


def recorded_options(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the penalty, prior and equivalent sample size that the metadata record, as keywords of `score_rule`."""
    is_valid = {
        "penalty": lambda value: value in ("literal", "aic") or is_real(value),
        "prior": lambda value: value == "bdeu",
        "equivalent_sample_size": is_real,
    }
    return {
        name: metadata[name] for name, check in is_valid.items() if name in metadata and check(metadata[name])
    }
