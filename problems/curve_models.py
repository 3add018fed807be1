"""The model of a column as a sum of curves of its parents that a search scores the family by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.curves import (
    CurveSizes,
    ScoredVariable,
    family_curve_data,
    new_curve_scratch,
)
from gomea_bn.problems.family_scorer import Family, FamilyScorer
from gomea_bn.problems.kernels.curves import COEFFICIENTS, IN_UNITS, PRIOR, SOLVED, TARGET, curve_score
from gomea_bn.problems.kernels.score import ScoreRule
from gomea_bn.problems.scores import ScoringMethod


@dataclass(frozen=True)
class CurveModel:
    """How a column follows its parents, of all models that the score compares.

    Attributes
    ----------
    score : float
        Log marginal likelihood in nats, without the costs of edges and cuts, as `curve_score` gives it.
    prior : int
        Prior of the curves: those of lines, of smooth and of rough curves, by number.
    has_products : bool
        Whether products of two parents have coefficients.
    in_units : bool
        Whether the column is in its own units, and not on the scale of its normal scores.
    transform : ndarray of shape (n_functions,), float64, optional
        Coefficients of the functions of the column that its transformation is a sum of.
    heavy_tails : float
        Degrees of freedom of the noise, inf for normal noise.
    """

    score: float
    prior: int
    has_products: bool
    in_units: bool
    transform: NDArray[np.float64] | None
    heavy_tails: float


def best_curve_model(family: Sequence[ScoredVariable], sizes: CurveSizes) -> CurveModel | None:
    """Return the model of the last variable of a family given all others; None if it cannot follow curves."""
    curves = family_curve_data(family, sizes)
    scratch = new_curve_scratch(curves)
    curves = curves._replace(variable=np.arange(len(family), dtype=np.int64))
    score = curve_score(curves, scratch, np.arange(len(family), dtype=np.int64), len(family))
    if not score > -np.inf:
        return None
    best, child = scratch.best, len(family) - 1
    transformed = int(best[TARGET]) == curves.alone.shape[1]
    size = int(curves.transforms.n_functions[child])
    n_plain = sum(
        int((curves.precisions[int(best[PRIOR]), curves.first[v] : curves.first[v + 1]] < np.inf).sum())
        for v in range(child)
    )
    return CurveModel(
        score=float(score),
        prior=int(best[PRIOR]),
        has_products=int(best[SOLVED]) > n_plain,
        in_units=int(best[TARGET]) == IN_UNITS,
        transform=best[COEFFICIENTS : COEFFICIENTS + size].copy() if transformed else None,
        heavy_tails=float(best[-1]),
    )


def scored_curve_model(
    family: Sequence[ScoredVariable], method: ScoringMethod, rule: ScoreRule, sizes: CurveSizes
) -> tuple[CurveModel | None, bool]:
    """Return the model of the last variable of a family given all others, and whether it scores better than a table.

    Parameters are those of `FamilyScorer`, and `sizes` those of the whole table. The cuts of every continuous variable
    are its only policy. Without a model the table is better.
    """
    model = best_curve_model(family, sizes)
    if model is None:
        return None, False
    child = len(family) - 1
    families = [Family((child, 0), tuple((parent, 0) for parent in range(child)))]
    of_table, of_curves = (
        float(FamilyScorer(family, method, rule, curves=curves).score(families, use_cache=False)[0])
        for curves in (None, family_curve_data(family, sizes))
    )
    return model, of_curves > of_table
