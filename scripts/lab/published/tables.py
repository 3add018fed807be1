"""Tables of the discretization papers, from the package mlxtend, and their graphs; published discrete networks."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.bayes_net import DiscretizedBayesNet

LETTERS = "ABCDEFGHIJKLMN"
TABLES = {"auto": "BGH", "wine": "A", "housing": "DI", "iris": "E"}
"""Discrete columns by table; the names of columns are letters."""

FAMILIES: dict[str, tuple[str, ...]] = {
    "auto": ("B", "BC", "CE", "EA", "AECG", "CD", "DF", "H"),
    "wine": (
        "H", "HA", "AK", "AD", "AB", "HG", "AN", "HDAI", "AC", "AHM", "NAF", "ADE", "AL", "HFJ",
    ),
    "housing": (
        "E", "EB", "EH", "EBC", "CEBI", "EBG", "ICBJ", "ICJK", "GM", "A", "JL", "MN", "D", "NAF",
    ),
    "iris": ("E", "EA", "EB", "EC", "ED"),
}  # fmt: skip
"""Chen, Wheeler & Kochenderfer (2017): parents and then the child of every column, parents before children."""

ORDERS = {
    "auto": ("BCEAGDFH", 2, 5),
    "wine": ("CDJLINGBMAHEFK", 13, 10),
    "housing": ("BGLNFDCMHAJEKI", 3, 10),
    "iris": ("EABCD", 2, 10),
}
"""Order of the columns, limit on parents and limit on passes of the coupled method; those of iris are ours."""


def published_table(name: str) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return a table and the kinds of its columns; discrete columns are categorical, so that a fold has all levels.

    Auto-MPG (392 rows: mpg, cylinders, displacement, horsepower, weight, acceleration, year, origin), Wine (178 rows,
    the class first), Boston housing (506 rows), Iris (150 rows, the class last).
    """
    x, y = _sources()[name]()
    rows = {"auto": lambda: (y, x[:, :7]), "wine": lambda: (y, x)}.get(name, lambda: (x, y))()
    frame = pd.DataFrame(np.column_stack(rows))
    frame.columns = list(LETTERS[: frame.shape[1]])
    discrete = TABLES[name]
    frame = frame.assign(**{column: pd.Categorical(frame[column].astype(int)) for column in discrete})
    names = LETTERS[: frame.shape[1]]
    return frame, {column: "discrete" if column in discrete else "continuous" for column in names}


def _sources() -> dict[str, Any]:
    try:
        from mlxtend.data import autompg_data, boston_housing_data, iris_data, wine_data
    except ImportError:
        raise GomeaBnError('This experiment needs mlxtend: pip install "gomea-bn[experiments]".') from None
    return {"auto": autompg_data, "wine": wine_data, "housing": boston_housing_data, "iris": iris_data}


def family_edges(families: Sequence[str]) -> list[tuple[str, str]]:
    """Return the (parent, child) pairs of families, the child last in each."""
    return [(parent, family[-1]) for family in families for parent in family[:-1]]


def published_network(name: str) -> DiscretizedBayesNet:
    """Return one of the discrete networks that pgmpy ships as BIF: "alarm", "asia", "child", "hepar2", ..."""
    return DiscretizedBayesNet.from_file(published_model(f"{name}.bif.gz"), restore=False)


def published_model(name: str) -> Path:
    """Return the path of one of the files of networks that pgmpy ships."""
    package = find_spec("pgmpy")
    if package is None or package.origin is None:
        raise GomeaBnError('This experiment needs pgmpy: pip install "gomea-bn[experiments]".')
    return Path(package.origin).parent / "utils" / "example_models" / name


def parents_first(network: DiscretizedBayesNet) -> list[str]:
    """Return the variables, each after its parents, otherwise in the network's order."""
    from networkx import lexicographical_topological_sort

    return list(lexicographical_topological_sort(network.to_networkx(), network.names.index))


def varying_sample(truth: DiscretizedBayesNet, n_rows: int, net: int) -> pd.DataFrame:
    """Return rows of a network, without columns that have one value."""
    frame = truth.sample(n_rows, random_state=10_000 + net)
    return frame[[name for name in truth.names if frame[name].nunique() > 1]]
