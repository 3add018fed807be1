"""Scores of rows by what a learner or an ensemble has learned, as of scikit-learn's density estimators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from gomea_bn.errors import GomeaBnError

if TYPE_CHECKING:
    import os

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from gomea_bn.data.table import Table


class DensityEstimator(ABC):
    """Scores of rows by what a learner or an ensemble has learned, as of scikit-learn's density estimators."""

    feature_names_in_: NDArray[Any]

    @abstractmethod
    def _judge(self) -> tuple[Any, str]:
        """Return what has `log_density`, and how missing values are treated; raises before `fit`."""

    def score(
        self,
        X: pd.DataFrame | Table | NDArray[Any] | str | os.PathLike[str],
        y: object = None,
        *,
        resolution: str = "points",
    ) -> float:
        """Return the mean log density per row, in nats and the units of the data; higher is better.

        Point masses count with their probability, as in `DiscretizedBayesNet.log_density`. With ``missing="drop"`` it
        is the mean over the rows without missing values. Parameters and errors are those of `score_samples`; `y` is
        present for compatibility with scikit-learn, and ignored.
        """
        import numpy as np

        densities = self.score_samples(X, resolution=resolution)
        complete = densities[~np.isnan(densities)]
        if not len(complete):
            raise GomeaBnError("score needs at least one row without missing values.")
        return float(complete.mean())

    def score_samples(
        self, X: pd.DataFrame | Table | NDArray[Any] | str | os.PathLike[str], *, resolution: str = "points"
    ) -> NDArray[np.float64]:
        """Return the log density of every row, float64 (n_rows,), in nats and the units of the data.

        Parameters
        ----------
        X : DataFrame, Table, path or ndarray
            Rows, as of `fit`.
        resolution : {"points", "steps"}
            Measure of values that are point masses: their probability, or the density of a bin as wide as the
            measuring step of their column, which compares with libraries that know no point masses.

        Raises
        ------
        GomeaBnError
            For missing columns, infinite values and undeclared levels. Missing cells are summed out. With
            ``missing="drop"`` rows with missing or infinite values get nan instead.
        """
        import numpy as np

        from gomea_bn.data.dates import source_name
        from gomea_bn.data.frames import plain_frame
        from gomea_bn.data.sources import source_frame

        judge, missing = self._judge()
        frame = plain_frame(source_frame(X))
        if missing != "drop":
            return np.asarray(judge.log_density(frame, resolution=resolution), np.float64)
        # the names of variables that are dates end in a unit
        names = {*self.feature_names_in_, *map(source_name, self.feature_names_in_)}
        used = frame.iloc[:, [position for position, name in enumerate(frame.columns) if str(name) in names]]
        # a column without values may be one of the network, with a level for missing values
        used = used.iloc[:, np.flatnonzero(used.notna().any())]
        complete = ~used.isin([np.inf, -np.inf]).any(axis=1) & used.notna().all(axis=1)
        densities = np.full(len(frame), np.nan)
        if complete.any():
            rows = np.flatnonzero(complete)
            densities[rows] = judge.log_density(frame.iloc[rows], resolution=resolution)
        return densities
