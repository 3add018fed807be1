"""How good predictions of an outcome are on rows that were left out, next to those of other methods."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from gomea_bn.data.table import Column, Table
from gomea_bn.data.weights import weighted_table
from gomea_bn.learning.learner import BayesNetLearner
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.prediction.distributions import folds_of
from gomea_bn.texts import counted, listed

OURS, LINEAR, BOOSTING = "this network", "regression", "boosting"
"""Methods."""

# drawn again, for intervals that hold 90 %
_N_DRAWS, _ENDS = 400, (0.05, 0.95)
# chances at which the value of decisions is computed
_CHANCES = np.arange(1, 100) / 100
_N_PARTS = 10
# share of the predictions up to which chances are looked at
_HIGHEST = 0.995
_LEAST_PROBABILITY = 1e-6
_MOST_CATEGORIES = 255


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Predictions of rows by methods that had not seen them.

    Attributes
    ----------
    observed : ndarray of shape (n_rows,), float64
        Whether the outcome happened, 1 or 0, or the value of a continuous target.
    predictions : dict of str to ndarray of shape (n_rows,), float64
        Probability of the outcome, or mean of a continuous target, by method.
    intervals : ndarray of shape (n_rows, 2), or None
        Ends of the central 90 % interval of a continuous target.
    units : ndarray of shape (n_rows,), int64
        Number of the row, or of its group, which are drawn again together.
    n_folds : int
    absent : str
        Why other methods are missing; "" if they are not.
    weights : ndarray of shape (n_rows,), float64, or None
        How much every row counts; None if all count alike.
    """

    observed: NDArray[np.float64]
    predictions: dict[str, NDArray[np.float64]]
    intervals: NDArray[np.float64] | None
    units: NDArray[np.int64]
    n_folds: int
    absent: str = ""
    weights: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        """Return in a line how many rows and which methods."""
        return f"LeftOut({counted(len(self.observed), 'row')} in {self.n_folds} parts, by {listed(self.predictions)})"

    @property
    def is_binary(self) -> bool:
        """Whether the outcome happens or not."""
        return self.intervals is None

    def _draws(self) -> NDArray[np.float64]:
        """Return how often rows are drawn, first each once, times their weights, float64 (1 + n_draws, n_rows)."""
        codes = np.unique(self.units, return_inverse=True)[1]
        n = int(codes.max()) + 1
        generator = np.random.default_rng(0)
        counts = [np.bincount(generator.integers(n, size=n), minlength=n)[codes] for _ in range(_N_DRAWS)]
        draws = np.stack([np.ones(len(codes)), *counts]).astype(np.float64)
        return draws if self.weights is None else draws * self.weights

    def quality(self) -> pd.DataFrame:
        """Return every measure of every method with the ends of its interval.

        The index is (method, measure), and the columns are "value", "low", "high": the interval holds 90 % of the
        values for rows, or groups of rows, that are drawn again from these.
        """
        draws = self._draws()
        records = {}
        for method, predicted in self.predictions.items():
            if self.is_binary:
                measured = _measures_of_chances(self.observed, predicted, draws)
            else:
                measured = _measures_of_means(self.observed, predicted, draws)
                if method == OURS and self.intervals is not None:
                    low, high = self.intervals.T
                    inside = (low <= self.observed) & (self.observed <= high)
                    measured["coverage"] = draws @ inside / draws.sum(axis=1)
            for name, values in measured.items():
                low, high = np.nanquantile(values[1:], _ENDS)
                records[method, name] = {"value": values[0], "low": low, "high": high}
        frame = pd.DataFrame.from_dict(records, orient="index")
        frame.index = pd.MultiIndex.from_tuples(list(records), names=["method", "measure"])
        return frame

    def calibration(self) -> pd.DataFrame:
        """Return what this network said and what happened, in ten parts of the rows from low to high predictions.

        Columns "rows", "said", "happened", "low", "high": the means of predictions and of outcomes, and the ends of a
        90 % interval of the latter.
        """
        predicted = self.predictions[OURS]
        codes = _parts(predicted)
        draws = self._draws()
        records = []
        for part in range(int(codes.max()) + 1):
            of_part = codes == part
            weights = draws[:, of_part]
            totals = weights.sum(axis=1)
            means = np.divide(
                weights @ self.observed[of_part], totals, out=np.full(len(totals), np.nan), where=totals > 0
            )
            low, high = np.nanquantile(means[1:], _ENDS)
            records.append(
                {
                    "rows": int(of_part.sum()), "said": float(predicted[of_part].mean()), "happened": means[0],
                    "low": low, "high": high,
                }
            )  # fmt: skip
        return pd.DataFrame(records)

    def net_benefit(self) -> pd.DataFrame | None:
        """Return what acting above a chance is worth, in outcomes found per row, by chance; None for numbers.

        Acting at a chance t says that a missed outcome is as bad as (1 - t) / t needless acts: net benefit is the share
        of rows with the outcome and above t, minus t / (1 - t) times the share without it (Vickers and Elkin, "Decision
        curve analysis", 2006). Columns are the methods and "act on all"; acting on none is worth 0. The rows end
        where hardly anybody is above.
        """
        if not self.is_binary:
            return None
        odds = _CHANCES / (1 - _CHANCES)
        weights = np.ones(len(self.observed)) if self.weights is None else self.weights
        share = np.average(self.observed, weights=weights)
        columns = {}
        for method, predicted in self.predictions.items():
            above = predicted[None, :] >= _CHANCES[:, None]
            found = np.average(above * self.observed, axis=1, weights=weights)
            columns[method] = found - odds * (np.average(above, axis=1, weights=weights) - found)
        columns["act on all"] = share - odds * (1 - share)
        frame = pd.DataFrame(columns, index=pd.Index(_CHANCES, name="chance"))
        last = max(float(np.quantile(predicted, _HIGHEST)) for predicted in self.predictions.values())
        return frame.loc[: max(last, _CHANCES[1])]


def _parts(predicted: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the part of each row, of ten from low to high predictions; equal predictions have one part."""
    ends = np.unique(np.quantile(predicted, np.arange(1, _N_PARTS) / _N_PARTS, method="inverted_cdf"))
    codes = np.searchsorted(ends, predicted)
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


def _measures_of_chances(
    observed: NDArray[np.float64], predicted: NDArray[np.float64], draws: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """Return measures of probabilities, float64 (n_draws,) by name."""
    totals = draws.sum(axis=1)
    p = np.clip(predicted, _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
    losses = -np.where(observed > 0, np.log(p), np.log1p(-p))
    return {
        "auc": _auc(observed, predicted, draws),
        "brier": draws @ (predicted - observed) ** 2 / totals,
        "log_loss": draws @ losses / totals,
    }


def _auc(
    observed: NDArray[np.float64], predicted: NDArray[np.float64], draws: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the share of pairs, one with the outcome and one without, that are ranked right; ties count half."""
    ranks = np.unique(predicted, return_inverse=True)[1]
    order = np.argsort(ranks, kind="stable")
    starts = np.flatnonzero(np.diff(ranks[order], prepend=-1))
    with_it, without = (
        np.add.reduceat((draws * of)[:, order], starts, axis=1) for of in (observed, 1 - observed)
    )
    below = np.cumsum(without, axis=1) - without / 2
    pairs = with_it.sum(axis=1) * without.sum(axis=1)
    return np.asarray(
        np.divide((with_it * below).sum(axis=1), pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)
    )


def _measures_of_means(
    observed: NDArray[np.float64], predicted: NDArray[np.float64], draws: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """Return measures of means, float64 (n_draws,) by name."""
    totals = draws.sum(axis=1)
    squares = draws @ (predicted - observed) ** 2 / totals
    means = draws @ observed / totals
    variances = draws @ observed**2 / totals - means**2
    return {
        "r2": 1 - np.divide(squares, variances, out=np.ones_like(squares), where=variances > 0),
        "rmse": np.sqrt(squares),
        "mae": draws @ np.abs(predicted - observed) / totals,
    }


def fitted_network(options: Mapping[str, Any], table: Table) -> DiscretizedBayesNet:
    """Return the network that a learner with some options learns from a table.

    Raises `KeyboardInterrupt` where Ctrl-C ended the search: a study does not judge a network that is not done.
    """
    learner = BayesNetLearner(**dict(options)).fit(table)
    if learner.stopped_by_ == "interrupt":
        raise KeyboardInterrupt
    return learner.network_


def left_out(
    table: Table,
    weights: NDArray[np.float64] | None,
    target: str,
    state: int | None,
    options: Mapping[str, Any],
    n_folds: int,
    seed: int,
    tell: Callable[[str], None],
) -> LeftOut:
    """Return predictions of every row by networks that were learned from the folds without it.

    `state` is the position of the level that is the outcome, None for a continuous target; `options` are those of the
    learner. Other methods need scikit-learn.
    """
    folds = folds_of(table, target, n_folds, np.random.default_rng(seed))
    column = table.columns[table.names.index(target)]
    observed = (
        column.values.astype(np.float64) if state is None else (column.values == state).astype(np.float64)
    )
    predictors = [column for column in table.columns if column.name != target and not column.is_constant]
    features = {LINEAR: _indicators(predictors, table.n_rows), BOOSTING: _codes(predictors, table.n_rows)}
    # boosting takes codes of more levels as numbers
    are_levels = np.array(
        [0 < len(column.levels or ()) <= _MOST_CATEGORIES for column in predictors], np.bool_
    )
    methods, absent = _other_methods(are_levels, binary=state is not None)
    predictions = {name: np.empty(table.n_rows) for name in (OURS, *methods)}
    intervals = np.empty((table.n_rows, 2)) if state is None else None
    for fold in range(n_folds):
        tell(f"Judging on left-out rows: part {fold + 1} of {n_folds} ...")
        rows = np.flatnonzero(folds == fold)
        kept = np.flatnonzero(folds != fold)
        with warnings.catch_warnings():
            # values of left-out rows may lie outside the range of the others; scikit-learn warns of slow steps
            warnings.simplefilter("ignore")
            others = table.take(kept)
            network = fitted_network(
                options, others if weights is None else weighted_table(others, weights[kept])
            )
            frame = table.take(rows).to_frame().drop(columns=target)
            if state is None:
                assert intervals is not None
                answers = network.predict_interval(frame, target, _ENDS).to_numpy(np.float64)
                predictions[OURS][rows], intervals[rows] = answers[:, 0], answers[:, 2:]
            else:
                predictions[OURS][rows] = network.predict_proba(frame, target).to_numpy()[:, state]
            for name, method in methods.items():
                of = features[name]
                # threads that wait for each other take ten times as long as one on a few thousand rows
                with threadpool_limits(1):
                    fitted = method()
                    # a chain of steps names the one that takes the weights
                    option = f"{fitted.steps[-1][0]}__sample_weight" if name == LINEAR else "sample_weight"
                    counting = {} if weights is None else {option: weights[kept]}
                    fitted.fit(of[kept], observed[kept], **counting)
                    predictions[name][rows] = (
                        fitted.predict(of[rows]) if state is None else fitted.predict_proba(of[rows])[:, 1]
                    )
    units = np.arange(table.n_rows) if table.groups is None else table.groups.codes
    return LeftOut(observed, predictions, intervals, units, n_folds, absent, weights)


def _other_methods(
    are_levels: NDArray[np.bool_], *, binary: bool
) -> tuple[dict[str, Callable[[], Any]], str]:
    """Return makers of other methods by name, and why there are none; `are_levels` says which columns are discrete."""
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
        from sklearn.linear_model import LogisticRegression, Ridge
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
    except ImportError:
        return {}, (
            "scikit-learn is not installed, so no other methods stand next to the network (pip install scikit-learn)"
        )
    linear: Any = LogisticRegression(max_iter=200) if binary else Ridge()
    trees: Any = HistGradientBoostingClassifier if binary else HistGradientBoostingRegressor
    return {
        LINEAR: lambda: make_pipeline(StandardScaler(), linear),
        BOOSTING: lambda: trees(
            random_state=0, max_iter=60, early_stopping=True, categorical_features=are_levels
        ),
    }, ""


def _indicators(columns: Sequence[Column], n_rows: int) -> NDArray[np.float64]:
    """Return columns as numbers: levels as indicators, missing cells as the mean, and an indicator of these.

    float64 (n_rows, n_features).
    """
    parts = []
    for column in columns:
        missing = column.is_missing
        if column.levels is None:
            values = np.where(missing, column.observed.mean(), column.values)
            parts.append(values[:, None])
        else:
            parts.append(
                np.eye(len(column.levels) + 1)[column.values][:, 1 if len(column.levels) == 2 else 0 : -1]
            )
        if missing.any():
            parts.append(missing[:, None].astype(np.float64))
    return np.concatenate([np.empty((n_rows, 0)), *parts], axis=1)


def _codes(columns: Sequence[Column], n_rows: int) -> NDArray[np.float64]:
    """Return columns as numbers or codes of levels, NaN for missing cells, float64 (n_rows, n_columns)."""
    parts = [np.where(column.is_missing, np.nan, column.values)[:, None] for column in columns]
    return np.concatenate([np.empty((n_rows, 0)), *parts], axis=1)
