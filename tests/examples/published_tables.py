"""Tables that the discretization papers used, with their letters for the columns, from the mlxtend package."""

from typing import Any

import numpy as np
import pandas as pd
from mlxtend.data import autompg_data, boston_housing_data, iris_data, wine_data

from gomea_bn.discretization import BayesianDiscretizer

LETTERS = "ABCDEFGHIJKLMN"
# families of the published graphs, each with its child last
AUTO_FAMILIES = ["B", "BC", "CE", "EA", "AECG", "CD", "DF", "H"]
K2_FAMILIES = ["B", "BC", "CBE", "EBA", "ABG", "CBD", "DEF", "CBH"]
WINE_FAMILIES = ["H", "HA", "AK", "AD", "AB", "HG", "AN", "HDAI", "AC", "AHM", "NAF", "ADE", "AL", "HFJ"]
HOUSING_FAMILIES = [
    "E", "EB", "EH", "EBC", "CEBI", "EBG", "ICBJ", "ICJK", "GM", "A", "JL", "MN", "D", "NAF",
]  # fmt: skip
IRIS_FAMILIES = ["E", "EA", "EB", "EC", "ED"]


def edges_of(families: list[str]) -> list[tuple[str, str]]:
    """Return the edges of a graph, family by family."""
    return [(parent, family[-1]) for family in families for parent in family[:-1]]


AUTO_GRAPH = edges_of(AUTO_FAMILIES)


def auto_mpg() -> tuple[pd.DataFrame, dict[str, str]]:
    """Return 392 rows: A mpg, B cylinders, C displacement, D horsepower, E weight, F acceleration, G year, H origin."""
    x, y = autompg_data()
    return _named(np.column_stack((y, x[:, :7])), "BGH")


def wine() -> tuple[pd.DataFrame, dict[str, str]]:
    """Return 178 rows, the class first."""
    x, y = wine_data()
    return _named(np.column_stack((y, x)), "A")


def housing() -> tuple[pd.DataFrame, dict[str, str]]:
    """Return 506 rows of the Boston housing table."""
    x, y = boston_housing_data()
    return _named(np.column_stack((x, y)), "DI")


def iris() -> tuple[pd.DataFrame, dict[str, str]]:
    """Return 150 rows, the class last."""
    x, y = iris_data()
    return _named(np.column_stack((x, y)), "E")


def _named(rows: np.ndarray, discrete: str) -> tuple[pd.DataFrame, dict[str, str]]:
    frame = pd.DataFrame(rows, columns=list(LETTERS[: rows.shape[1]]))
    return frame, {name: "discrete" if name in discrete else "continuous" for name in map(str, frame)}


def assert_cuts(cut_points: dict[str, np.ndarray], expected: dict[str, str]) -> None:
    """Compare cuts by name with cuts as printed."""
    assert list(cut_points) == list(expected)
    for name, cuts in expected.items():
        np.testing.assert_allclose(
            cut_points[name], [float(c) for c in cuts.split()], rtol=1e-12, err_msg=name
        )


def fitted(
    table: tuple[pd.DataFrame, dict[str, str]], families: list[str], **options: Any
) -> BayesianDiscretizer:
    """Return the Bayesian discretizer with a graph, in the published order of visits."""
    frame, kinds = table
    order = [family[-1] for family in reversed(families) if kinds[family[-1]] == "continuous"]
    learner = BayesianDiscretizer(**{"kinds": kinds, "order": order, **options})
    return learner.fit(frame, network=edges_of(families))


def fitted_auto_mpg(**options: Any) -> BayesianDiscretizer:
    """Return the Bayesian discretizer after at most 8 cycles on Auto-MPG, with the published graph and order."""
    return fitted(auto_mpg(), AUTO_FAMILIES, **{"max_cycles": 8, **options})
