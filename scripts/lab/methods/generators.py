"""Densities of other libraries that draw rows: mixtures, copulas, probabilistic circuits, adversarial forests."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import multivariate_normal, norm

from lab.methods.skeleton_peers import encoded
from lab.samples.real_tables import RealTable

MOST_GAUSSIANS = 128
LEAST_VARIANCE = 1e-4
"""Added to the variances of a Gaussian, as a share of those of the columns."""
# least probability of a tail, as in the library
_LEAST_TAIL = 1e-9

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Generator:
    """A learned density: a function that draws n rows, and one that returns the log densities of rows in nats."""

    sample: Callable[[int], pd.DataFrame]
    log_density: Callable[[pd.DataFrame], Values]


def _learned_circuit(values: Values, seed: int) -> Any:
    """Return a sum-product network of spflow with Gaussian leaves, whose structure LearnSPN finds.

    Its options are the defaults. Leaves have at least 100 rows, or a fifth of few rows.
    """
    import torch
    from spflow.interfaces.sklearn import SPFlowDensityEstimator

    torch.manual_seed(seed)
    # the global generator clusters rows
    np.random.seed(seed)  # noqa: NPY002
    least = min(100, max(len(values) // 5, 2))
    return SPFlowDensityEstimator(min_instances_slice=least, dtype="float64").fit(values)


def _by_levels(
    fit: Callable[[Values, int], Any], real: RealTable, train: pd.DataFrame, seed: int
) -> Generator:
    """Return the densities of the standardised continuous columns for every combination of levels.

    `fit` returns an estimator of scikit-learn with `score_samples` and `sample`.
    """
    discrete = [name for name in train if name not in real.continuous]
    centre, scale = train[real.continuous].mean(), train[real.continuous].std()
    groups = train.groupby(discrete, observed=True).indices
    mixtures = {
        levels: fit(((train[real.continuous].iloc[rows] - centre) / scale).to_numpy(), seed)
        for levels, rows in groups.items()
    }

    def sample(n: int) -> pd.DataFrame:
        drawn = train.iloc[np.random.default_rng(seed).integers(len(train), size=n)].reset_index(drop=True)
        for levels, rows in drawn.groupby(discrete, observed=True).indices.items():
            values = mixtures[levels].sample(len(rows))
            # that of a mixture has components too
            values = values[0] if isinstance(values, tuple) else values
            values = values * scale.to_numpy() + centre.to_numpy()
            drawn.loc[rows, real.continuous] = values
        return drawn

    def log_density(frame: pd.DataFrame) -> Values:
        densities = np.full(len(frame), -np.inf)
        for levels, rows in frame.groupby(discrete, observed=True).indices.items():
            if levels in mixtures:
                values = ((frame[real.continuous].iloc[rows] - centre) / scale).to_numpy()
                share = len(groups[levels]) / len(train)
                densities[rows] = mixtures[levels].score_samples(values) + np.log(share)
        return densities - float(np.log(scale).sum())

    return Generator(sample, log_density)


def _best_mixture(values: Values, seed: int) -> Any:
    """Return a mixture of Gaussians, whose number is doubled until BIC is worse."""
    from sklearn.mixture import GaussianMixture

    best, least, count = None, np.inf, 1
    while count <= min(MOST_GAUSSIANS, len(values) // 2):
        mixture = GaussianMixture(count, reg_covar=LEAST_VARIANCE, random_state=seed).fit(values)
        if mixture.bic(values) >= least:
            break
        best, least, count = mixture, mixture.bic(values), 2 * count
    return best


class _Copula:
    """A Gaussian copula of the library copulas with beta margins, the defaults of SDV's GaussianCopulaSynthesizer."""

    def __init__(self, values: Values, seed: int) -> None:
        from copulas.multivariate import GaussianMultivariate
        from copulas.univariate import BetaUnivariate

        self._model = GaussianMultivariate(distribution=BetaUnivariate, random_state=seed)
        self._model.fit(pd.DataFrame(values))

    def sample(self, n: int) -> Values:
        """Return n rows."""
        return self._model.sample(n).to_numpy()

    def score_samples(self, values: Values) -> Values:
        """Return log densities: of the margins, and of their normal scores against independent ones."""
        uniform, density = (
            np.column_stack(
                [getattr(margin, of)(values[:, j]) for j, margin in enumerate(self._model.univariates)]
            )
            for of in ("cumulative_distribution", "log_probability_density")
        )
        # its own density of a row leaves the margins out
        scores = norm.ppf(np.clip(uniform, _LEAST_TAIL, 1 - _LEAST_TAIL))
        joint = multivariate_normal(cov=self._model.correlation.to_numpy(), allow_singular=True)
        return np.asarray(joint.logpdf(scores) - norm.logpdf(scores).sum(axis=1) + density.sum(axis=1))


gaussian_mixture, probabilistic_circuit, gaussian_copula = (
    partial(_by_levels, fit) for fit in (_best_mixture, _learned_circuit, _Copula)
)


def adversarial_forest(real: RealTable, train: pd.DataFrame, seed: int) -> Generator:
    """Return an adversarial random forest of arfpy with its default options.

    A density of a row is the mean over the trees: the share of the leaf of the row, times truncated normal densities
    and frequencies of levels in the leaf. A leaf in which a column is constant counts as 0.
    """
    vars(np).setdefault("in1d", np.isin)  # a former name that arfpy 0.1.1 uses
    from arfpy.arf import arf
    from scipy.stats import truncnorm

    # it looks columns up by their positions, and draws from NumPy's global generator
    np.random.seed(seed)  # noqa: NPY002
    forest = arf(train.set_axis(range(train.shape[1]), axis=1), verbose=False, random_state=seed)
    forest.forde()
    continuous = [list(train).index(name) for name in real.continuous]
    discrete = sorted(set(range(train.shape[1])) - set(continuous))
    shares = forest.bnds.groupby(["tree", "nodeid"])["cvg"].first()
    normals = forest.params.pivot(index=["tree", "nodeid"], columns="variable")
    frequencies = forest.class_probs.set_index(["tree", "nodeid", "variable", "value"])["prob"]

    def log_density(frame: pd.DataFrame) -> Values:
        values = encoded(frame)
        total = np.full(len(values), -np.inf)
        for tree, leaves in enumerate(forest.clf.apply(values).T):
            keys = [np.full(len(leaves), tree), leaves]
            of_leaf = normals.reindex(pd.MultiIndex.from_arrays(keys))
            low, high, mean, deviation = (
                of_leaf[part][continuous].to_numpy(np.float64) for part in ("min", "max", "mean", "sd")
            )
            with np.errstate(divide="ignore", invalid="ignore"):
                ends = (low - mean) / deviation, (high - mean) / deviation
                density = truncnorm.logpdf(values[:, continuous], *ends, mean, deviation).sum(axis=1)
                density += np.log(shares.reindex(pd.MultiIndex.from_arrays(keys)).to_numpy())
                for position in discrete:
                    cells = [*keys, np.full(len(leaves), position), values[:, position].astype(int)]
                    density += np.log(frequencies.reindex(pd.MultiIndex.from_arrays(cells)).to_numpy())
            total = np.logaddexp(total, np.nan_to_num(density, nan=-np.inf, posinf=-np.inf))
        return total - np.log(forest.num_trees)

    return Generator(lambda n: forest.forge(n).set_axis(list(train), axis=1), log_density)
