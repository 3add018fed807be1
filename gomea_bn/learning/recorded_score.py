"""How the metadata of a network record the score that it was learned with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gomea_bn.errors import is_real
from gomea_bn.problems.kernels.score import BDEU, LIKELIHOOD, ScoreRule
from gomea_bn.problems.scoring.scores import ScoringMethod

__all__ = ["SCORE_FIELDS", "recorded_method", "recorded_options", "score_record"]

SCORE_FIELDS = ("cut_cost", "edge_cost", "penalty", "prior", "equivalent_sample_size")
"""Fields of the metadata that describe a score, besides the name of the method."""


def score_record(method: ScoringMethod, rule: ScoreRule, penalty: str | float) -> dict[str, Any]:
    """Return the fields of the metadata that describe a score.

    A penalty and a prior are recorded only where a density score uses them and they are not the default ones, "bic" and
    Dirichlet(1). The equivalent sample size is recorded for "bdeu" too.

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
    elif rule.kind == BDEU:
        record["equivalent_sample_size"] = rule.prior
    return record


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
