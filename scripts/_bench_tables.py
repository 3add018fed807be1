"""Real tables that come with mlxtend and scikit-learn: the rows, the discrete columns, and the classes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

__all__ = ["TABLES", "with_levels"]

Source = tuple[pd.DataFrame, list[str], str | None]


def auto_mpg() -> Source:
    """Return 392 cars: consumption and seven properties."""
    from mlxtend.data import autompg_data

    x, y = autompg_data()
    frame = pd.DataFrame(np.column_stack((y, x[:, :7])), columns=list("ABCDEFGH"))
    return frame, ["B", "G", "H"], None


def wine() -> Source:
    """Return 178 wines: three growers and thirteen measurements."""
    from mlxtend.data import wine_data

    x, y = wine_data()
    return pd.DataFrame(np.column_stack((y, x)), columns=list("ABCDEFGHIJKLMN")), ["A"], "A"


def housing() -> Source:
    """Return 506 districts of Boston."""
    from mlxtend.data import boston_housing_data

    x, y = boston_housing_data()
    return pd.DataFrame(np.column_stack((x, y)), columns=list("ABCDEFGHIJKLMN")), ["D", "I"], None


def iris() -> Source:
    """Return 150 flowers: four measurements and three species."""
    from mlxtend.data import iris_data

    x, y = iris_data()
    return pd.DataFrame(np.column_stack((x, y)), columns=list("ABCDE")), ["E"], "E"


def breast_cancer(first: int = 0) -> Source:
    """Return 569 tumours: ten measurements, and whether it is benign.

    From column 0 on there are the means of the measurements, from 10 on their errors, from 20 on the worst values.
    """
    from sklearn.datasets import load_breast_cancer

    x, y = load_breast_cancer(return_X_y=True)
    return (
        pd.DataFrame(np.column_stack((x[:, first : first + 10], y)), columns=list("ABCDEFGHIJK")),
        ["K"],
        "K",
    )


def diabetes() -> Source:
    """Return 442 patients: ten measurements, of which the sex is discrete, and the disease a year later."""
    from sklearn.datasets import load_diabetes

    x, y = load_diabetes(return_X_y=True, scaled=False)
    return pd.DataFrame(np.column_stack((x, y)), columns=list("ABCDEFGHIJK")), ["B"], None


TABLES: dict[str, Callable[[], Source]] = {
    "auto-mpg": auto_mpg,
    "wine": wine,
    "housing": housing,
    "iris": iris,
    "breast cancer": breast_cancer,
    "breast cancer errors": partial(breast_cancer, 10),
    "breast cancer worst": partial(breast_cancer, 20),
    "diabetes": diabetes,
}


def with_levels(frame: pd.DataFrame, discrete: list[str]) -> pd.DataFrame:
    """Return the frame with its discrete columns as categories, so that a fold knows the levels of all rows."""
    columns = {name: pd.Categorical(frame[name].astype(int)) for name in discrete}
    return frame.assign(**columns)
