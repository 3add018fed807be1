"""The model of a column as a sum of curves of its parents that a search scores the family by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.column_functions import ColumnFunctions, NumberFunctions, column_functions
from gomea_bn.problems.curves import CurveSizes, family_curve_data, new_curve_scratch
from gomea_bn.problems.cuts.cut_column import ScoredVariable
from gomea_bn.problems.family_scorer import FamilyScorer, ScoredFamily
from gomea_bn.problems.kernels.curves import (
    COEFFICIENTS,
    IN_ORDER,
    IN_UNITS,
    OF_COUNTS,
    OF_LEVELS,
    PRIOR,
    SOLVED,
    TARGET,
    curve_score,
    regress_levels,
    solve_family,
    start_count,
)
from gomea_bn.problems.kernels.score import ScoreRule
from gomea_bn.problems.scores import ScoringMethod
from gomea_bn.runtime.threads import one_blas_thread


@dataclass(frozen=True)
class CurveModel:
    """How a column follows its parents, of all models that the score compares.

    Attributes
    ----------
    score : float
        Log marginal likelihood in nats, without the costs of edges and cuts, as `curve_score` gives it.
    functions : list of list of int
        Functions of every parent that have coefficients, by number, in the order of the parents.
    n_curves : list of int
        Number of functions of every parent's ranks or levels; a column in its own units has the next number.
    products : ndarray of shape (n_products, 4), int64
        Products that have coefficients: a parent, which of its factors, another parent, and which of its factors.
    precisions : ndarray of shape (n_functions + n_products,), float64
        Prior precision of every coefficient, in rows.
    of_counts : bool
        Whether the column is a count, and the logarithm of its mean a sum of the functions.
    of_levels : bool
        Whether every level of a discrete column has a sum of the functions of its own, and not a position on one.
    in_order : bool
        Whether the levels of a discrete column have positions at equal distances.
    in_units : bool
        Whether the column is in its own units, and not on the scale of its normal scores.
    transform : ndarray of shape (n_functions,), float64, optional
        Coefficients of the functions of the column that its transformation is a sum of.
    widths : list of list of int
        Functions of every parent that the log width of the noise is a sum of, by number, in the order of the parents.
    """

    score: float
    functions: list[list[int]]
    n_curves: list[int]
    products: NDArray[np.int64]
    precisions: NDArray[np.float64]
    of_counts: bool
    of_levels: bool
    in_order: bool
    in_units: bool
    transform: NDArray[np.float64] | None
    widths: list[list[int]]


def best_curve_model(
    family: Sequence[ScoredVariable], sizes: CurveSizes, functions: Sequence[ColumnFunctions] | None = None
) -> CurveModel | None:
    """Return the model of the last variable of a family given all others; None if it cannot follow curves.

    It does not depend on cuts. `functions` are those of the variables, if they are known.
    """
    n_views, child = len(family), len(family) - 1
    views = np.arange(n_views, dtype=np.int64)
    if functions is None:
        with one_blas_thread():
            functions = column_functions(family, sizes.per_column, sizes.has_units)
    curves = family_curve_data(family, sizes, functions)._replace(variable=views)
    if not len(curves.products):
        return None
    scratch = new_curve_scratch(curves)
    score = curve_score(curves, scratch, views, n_views)
    if not score > -np.inf:
        return None
    best = scratch.best.copy()
    n_widths = 0 if curves.logits.n_levels[child] else int(scratch.widths.counts[2])
    widths = scratch.widths.best[:n_widths].copy()
    prior, of_counts = int(best[PRIOR]), False
    if curves.logits.n_levels[child]:
        n_used = int(regress_levels(curves, scratch, views, n_views, prior, False))
        in_units, transform = False, None
    else:
        of_counts = int(best[TARGET]) == OF_COUNTS
        if of_counts:
            start_count(curves, scratch, views, n_views, prior)
        else:
            solve_family(curves, scratch, views, n_views, prior)
        n_used, in_units = int(best[SOLVED]), int(best[TARGET]) == IN_UNITS
        size = int(curves.transforms.n_functions[child])
        is_moved = int(best[TARGET]) == curves.alone.shape[1]
        transform = best[COEFFICIENTS : COEFFICIENTS + size].copy() if is_moved else None
    used, first = scratch.functions[:n_used], curves.first
    plain, products = used[used < first[-1]], used[used >= first[-1]]
    return CurveModel(
        score=float(score),
        functions=_of_parents(plain, first),
        n_curves=[
            of.n_curves if isinstance(of, NumberFunctions) else len(of.roughness) for of in functions[:child]
        ],
        products=curves.terms[products - first[-1]],
        precisions=curves.precisions[prior, np.concatenate([np.sort(plain), products])],
        of_counts=of_counts,
        of_levels=int(best[TARGET]) == OF_LEVELS,
        in_order=int(best[TARGET]) == IN_ORDER,
        in_units=in_units,
        transform=transform,
        widths=_of_parents(widths[: 0 if of_counts else n_widths], first),
    )


def _of_parents(functions: NDArray[np.int64], first: NDArray[np.int64]) -> list[list[int]]:
    """Return the numbers of functions among those of every parent, given the first ones and those of the child."""
    return [
        (functions[(functions >= start) & (functions < end)] - start).tolist()
        for start, end in pairwise(first[:-1].tolist())
    ]


def beats_table(
    model: CurveModel, family: Sequence[ScoredVariable], method: ScoringMethod, rule: ScoreRule
) -> bool:
    """Return whether the model of the last variable of a family given all others scores better than their table.

    Method and rule are those of `FamilyScorer`. The cuts of every continuous variable are its only policy.
    """
    child = len(family) - 1
    scorer = FamilyScorer(family, method, rule)
    of_family = ScoredFamily((child, 0), tuple((parent, 0) for parent in range(child)))
    (of_table,) = scorer.score([of_family], use_cache=False).tolist()
    costs = rule.edge_cost * child + float(scorer.rows.own_cost[scorer.view(child, 0)])
    return bool(model.score - costs > of_table)
