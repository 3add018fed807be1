"""Tables that the discretization papers used, with their letters for the columns, and their published graphs."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from gomea_bn.discretization import BayesianDiscretizer
from lab.published.tables import FAMILIES, LETTERS, family_edges, published_table

__all__ = ["LETTERS", "family_edges"]

NAMES = ("auto", "wine", "housing", "iris")
AUTO_FAMILIES, WINE_FAMILIES, HOUSING_FAMILIES, IRIS_FAMILIES = (FAMILIES[name] for name in NAMES)
K2_FAMILIES = ("B", "BC", "CBE", "EBA", "ABG", "CBD", "DEF", "CBH")
AUTO_GRAPH = family_edges(AUTO_FAMILIES)


def table_of(name: str) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return the rows of a table as numbers, and the kinds of its columns."""
    frame, kinds = published_table(name)
    return frame.astype(float), kinds


auto_mpg, wine, housing, iris = (partial(table_of, name) for name in NAMES)


def assert_cuts(cut_points: dict[str, np.ndarray], expected: dict[str, str]) -> None:
    """Compare cuts by name with cuts as printed."""
    assert list(cut_points) == list(expected)
    for name, cuts in expected.items():
        np.testing.assert_allclose(
            cut_points[name], [float(c) for c in cuts.split()], rtol=1e-12, err_msg=name
        )


def fitted(
    table: tuple[pd.DataFrame, dict[str, str]], families: Sequence[str], **options: Any
) -> BayesianDiscretizer:
    """Return the Bayesian discretizer with a graph, in the published order of visits."""
    frame, kinds = table
    order = [family[-1] for family in reversed(families) if kinds[family[-1]] == "continuous"]
    learner = BayesianDiscretizer(**{"kinds": kinds, "order": order, **options})
    return learner.fit(frame, network=family_edges(families))


def fitted_auto_mpg(**options: Any) -> BayesianDiscretizer:
    """Return the Bayesian discretizer after at most 8 cycles on Auto-MPG, with the published graph and order."""
    return fitted(auto_mpg(), AUTO_FAMILIES, **{"max_cycles": 8, **options})
