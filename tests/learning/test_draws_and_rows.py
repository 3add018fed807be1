"""Means, variances and quantiles of draws and answers agree with the rows, for columns of every kind."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from gomea_bn import BayesNetLearner

N_DRAWS = 100_000
# differences in standard errors of the table and the draws together; many are compared
MOST_ERRORS = 4.5

Latent = NDArray[np.float64]

KINDS: dict[str, Callable[[np.random.Generator, Latent], Any]] = {
    "zero and one": lambda rng, z: (rng.random(len(z)) < 1 / (1 + np.exp(1.5 - z))).astype(np.float64),
    "grades": lambda rng, z: np.clip(np.rint(2 + z + rng.normal(size=len(z)) / 2), 0, 4),
    "counts": lambda rng, z: rng.poisson(np.exp(0.4 + 0.5 * z)),
    "counts with many zeros": lambda rng, z: np.where(
        rng.random(len(z)) < 0.6, 0, rng.poisson(np.exp(1.5 + z / 2))
    ),
    "long counts": lambda rng, z: rng.negative_binomial(1, 0.1, len(z)),
    "score of thirty": lambda rng, z: rng.binomial(30, 1 / (1 + np.exp(-z))),
    "doses": lambda rng, z: np.array([0.5, 1.0, 1.5, 2.5, 10.0])[np.digitize(z, [-0.3, 0.4, 1.0, 1.5])],
    "rounded": lambda rng, z: np.round(10 + 2 * z + rng.normal(size=len(z)), 1),
    "rounded to whole numbers": lambda rng, z: np.round(70 + 3 * z + rng.normal(size=len(z))),
    "zero or a number": lambda rng, z: np.where(rng.random(len(z)) < 0.4, 0.0, np.exp(0.4 * z)),
    "atoms and a bell": lambda rng, z: np.where(
        rng.random(len(z)) < 0.3, 5.5, np.where(rng.random(len(z)) < 0.2, 9.0, z)
    ),
    "bell": lambda rng, z: z + rng.normal(size=len(z)),
    "waiting times": lambda rng, z: rng.exponential(np.exp(z / 3)),
    "days": lambda rng, z: pd.Timestamp("2020-01-01") + pd.to_timedelta(np.rint(300 + 90 * z), unit="D"),
}

HEAVY_TAILS: dict[str, Callable[[np.random.Generator, Latent], Any]] = {
    "lognormal": lambda rng, z: np.exp(1.5 * z + rng.normal(size=len(z))),
    "cauchy": lambda rng, z: rng.standard_cauchy(len(z)) + z,
    "three degrees of freedom": lambda rng, z: rng.standard_t(3, len(z)) + z,
}


def _table(rng: np.random.Generator, names: list[str], n_rows: int) -> pd.DataFrame:
    latent = rng.normal(size=n_rows)
    return pd.DataFrame({name: {**KINDS, **HEAVY_TAILS}[name](rng, latent) for name in names})


def _numbers(column: pd.Series[Any]) -> NDArray[np.float64]:
    if column.dtype.kind == "M":
        column = (column - pd.Timestamp("2020-01-01")) / pd.Timedelta("1D")
    return np.asarray(column.astype(np.float64))


def _fitted(frame: pd.DataFrame, density: str) -> BayesNetLearner:
    learner = BayesNetLearner(
        density=density, max_evaluations=1_500, max_seconds=None, random_state=0, n_jobs=1
    )
    with warnings.catch_warnings():
        # columns of few values
        warnings.simplefilter("ignore")
        return learner.fit(frame)


@pytest.mark.sample(1)
@pytest.mark.parametrize("density", ["bins", "averaged"])
@pytest.mark.parametrize("seed", range(3))
def test_draws_have_the_means_variances_and_quantiles_of_the_rows(seed: int, density: str) -> None:
    rng = np.random.default_rng(seed)
    names = [*rng.permutation(list(KINDS))[:6].tolist(), *rng.permutation(list(HEAVY_TAILS))[:1].tolist()]
    n_rows = int(rng.integers(300, 1_500))
    frame = _table(rng, names, n_rows)
    drawn = _fitted(frame, density).sample(N_DRAWS, random_state=1)
    assert list(drawn.columns) == names
    for name in names:
        rows, draws = _numbers(frame[name]), _numbers(drawn[name])
        if name in HEAVY_TAILS:
            for level in (0.05, 0.25, 0.5, 0.75, 0.95):
                error = np.sqrt(level * (1 - level) * (1 / n_rows + 1 / N_DRAWS))
                below = (draws <= np.quantile(rows, level)).mean()
                assert below == pytest.approx(level, abs=MOST_ERRORS * error), name
            continue
        share = 1 / n_rows + 1 / N_DRAWS
        assert draws.mean() == pytest.approx(rows.mean(), abs=MOST_ERRORS * rows.std() * share**0.5), name
        squares = (rows - rows.mean()) ** 2
        assert draws.var() == pytest.approx(rows.var(), abs=MOST_ERRORS * squares.std() * share**0.5), name
