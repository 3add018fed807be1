"""Tables that the discretization papers used, with their letters for the columns, from the mlxtend package."""

from typing import Any

import numpy as np
import pandas as pd
from mlxtend.data import autompg_data, boston_housing_data, iris_data, wine_data

from gomea_bn.discretization import BayesianDiscretizer

LETTERS = "ABCDEFGHIJKLMN"
# the published graph of Auto-MPG
AUTO_GRAPH = [(edge[0], edge[1]) for edge in ("BC", "CE", "EA", "AG", "EG", "CG", "CD", "DF")]


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


def published_graph(families: list[tuple[int, ...]]) -> tuple[list[tuple[str, str]], list[str]]:
    """Return edges and the columns in order; a family lists 1-based positions, its child last."""
    edges = [(LETTERS[p - 1], LETTERS[child - 1]) for *parents, child in families for p in parents]
    return edges, [LETTERS[family[-1] - 1] for family in families]


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


def fitted_auto_mpg(**options: Any) -> BayesianDiscretizer:
    """Return the Bayesian discretizer after at most 8 cycles on Auto-MPG, with the published graph and order."""
    frame, kinds = auto_mpg()
    options = {"order": list("FDAEC"), "max_cycles": 8, **options}
    return BayesianDiscretizer(kinds=kinds, **options).fit(frame, network=AUTO_GRAPH)
