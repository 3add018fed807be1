"""Scores as users see them: in the progress of several searches, in results, and in the metadata of a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gomea_bn.errors import is_real
from gomea_bn.problems.kernels.score import BDEU, LIKELIHOOD, ScoreRule
from gomea_bn.problems.scores import ScoringMethod
from gomea_bn.runtime.limits import Callback, Progress, Result


def reporting(callback: Callback | None, constant_score: float) -> Callback | None:
    """Return a callback for a search that passes its progress on to the given one, with scores as users see them.

    The constant is the part of all scores in nats that the search leaves out; see `FamilyScorer`.
    """
    if callback is None:
        return None

    def report(progress: Progress) -> bool | None:
        return callback(replace(progress, best=progress.best - constant_score))

    return report


def reported(result: Result, constant_score: float) -> Result:
    """Return the result of a search for the score with scores as users see them; see `reporting`."""
    history = [replace(entry, objective=entry.objective - constant_score) for entry in result.history]
    return replace(result, F=result.F - constant_score, history=history)


SCORE_FIELDS = (
    "cut_cost",
    "edge_cost",
    "penalty",
    "prior",
    "equivalent_sample_size",
    "centred",
    "equivalent",
)
"""Fields of the metadata that describe a score, besides the name of the method."""


def score_record(method: ScoringMethod, rule: ScoreRule, penalty: str | float) -> dict[str, Any]:
    """Return the fields of the metadata that describe a score.

    The penalty that the rule was made with and a prior are recorded only where a density score uses them and they are
    not the default ones, "bic" and Dirichlet(1). The equivalent sample size is recorded for "bdeu" too, and whether
    the prior of tables is centred on the distributions of their columns, and that of discrete columns the same for
    equivalent graphs.
    """
    record: dict[str, Any] = dict(method.charges)
    if method.density and rule.kind == LIKELIHOOD and penalty != "bic":
        record["penalty"] = penalty
    if method.density and rule.kind == BDEU:
        record |= {"prior": "bdeu", "equivalent_sample_size": rule.prior}
    elif rule.kind == BDEU:
        record["equivalent_sample_size"] = rule.prior
    if rule.centred:
        record["centred"] = True
    if rule.equivalent:
        record["equivalent"] = True
    return record


def recorded_method(metadata: Mapping[str, Any], default: str) -> str:
    """Return the name of the density score that a network was learned with, or else a default."""
    name = metadata.get("scoring_method")
    return name if name in ("density-bic", "density-bd") else default


def recorded_options(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a score that the metadata record, as keywords of `score_rule`."""
    is_valid: dict[str, Callable[[Any], object]] = {
        "penalty": lambda value: value in ("literal", "aic") or is_real(value),
        "prior": lambda value: value == "bdeu",
        "equivalent_sample_size": is_real,
        "centred": lambda value: value is True,
        "equivalent": lambda value: value is True,
    }
    return {
        name: metadata[name] for name, check in is_valid.items() if name in metadata and check(metadata[name])
    }
