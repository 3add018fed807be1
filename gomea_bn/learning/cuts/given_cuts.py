"""Shapes of columns whose cuts a user gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gomea_bn.data.table import Table
from gomea_bn.learning.learning_options import LearningOptions
from gomea_bn.learning.learning_problem import scored_variables, scoring_of
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.problems.scoring.family_scorer import FamilyScorer

__all__ = ["shapes_of_cuts"]


def shapes_of_cuts(
    table: Table, cut_points: Mapping[str, Sequence[float]], shape: str = "auto"
) -> dict[str, Shape]:
    """Return the shapes that a learner would give to columns with these cuts, by name, for `from_table`.

    Parameters
    ----------
    table : Table
        Rows.
    cut_points : mapping of str to sequence of float
        Inner cuts of all continuous columns.
    shape : {"auto", "uniform", "marginal"}
        As of `BayesNetLearner`: "auto" chooses for every column by the score.

    Raises
    ------
    GomeaBnError
        For an unknown shape, and cuts that do not fit their column.
    """
    options = LearningOptions(cut_points=cut_points, shape=shape)
    if shape == "uniform":
        return {}
    method, rule = scoring_of(table, options)
    variables, _ = scored_variables(table, options)
    scorer = FamilyScorer(variables, method, rule)
    return {
        variable.name: variable.shape.shape
        for v, variable in enumerate(variables)
        if variable.shape is not None and scorer.is_shaped[scorer.view(v, 0)]
    }
