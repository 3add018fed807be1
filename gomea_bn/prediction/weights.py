"""Weights of the families that say something about the target, and slopes: what prediction makes of a network.

A network multiplies the densities of the families that the target is a member of. That is right if the network is.
Where it lacks an edge between two features, it counts twice what both say. So every family has a weight, and every
feature a slope for what its families do not say:

    ln P(t | features) = power * ln P_network(t | features) + sum of (weight - power) * ln p_family(t)
                         + sum of slope * score of the feature * statistic(t) + constant

A class has a statistic for each of its levels, 1 there and 0 elsewhere; that of a number is its standardised value. The
power is one for all that the network says, the weights of single families are near it, and slopes are near 0. Without
what the network says, the rest is a logistic regression, or a linear one. Rows of which some cells are missing have the
sum over the families whose members are known, and missing cells have the score 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize

from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.conditionals.scales import Columns
from gomea_bn.prediction.scores import read_features

Loss = Callable[[NDArray[np.float64]], tuple[NDArray[np.float64], NDArray[np.float64]]]
"""Losses of probabilities (n_rows, n_values): float64 (n_rows,), and their derivatives (n_rows, n_values)."""

# the logarithm of the power has a normal prior around 0 with this deviation
_POWER_DEVIATION = 0.5
_LEAST_POWER, _MOST_POWER = 0.05, 2.0
FREEDOMS = ((0.0, 0.0), (0.1, 0.0), (0.5, 0.0), (0.5, 0.15), (0.5, 0.5))
"""Standard deviations that are tried: of the weights around the power, and of the slopes around 0."""
WIDER = ((0.5, 1.5), (0.5, 5.0))
"""Those that are tried in turn while the one before is the best: sums of scores may decide a class without error."""
# log densities of a family that are further below the largest one of the row count as much below it
_FARTHEST = 50.0
_LEAST_PROBABILITY = 1e-300
_DOUBTS = (0.003, 0.01, 0.03, 0.1)


@dataclass(frozen=True)
class Answers:
    """What a network says of rows, as float64 arrays.

    `probabilities` (n_rows, n_values) are P(value of the target | features). `logs` (n_rows, n_values, n_families) are
    log densities of families, less the largest one of the row; 0 for families with members that are not known, and for
    those that the target is no member of. `log_widths` (n_values,) are ln of the widths of the cells that values of a
    number stand for, 0 for levels; powers are those of densities. `scores` (n_rows, n_scores) are of features, and
    `statistics` (n_statistics, n_values) of the target.
    """

    probabilities: NDArray[np.float64]
    logs: NDArray[np.float64]
    log_widths: NDArray[np.float64]
    scores: NDArray[np.float64]
    statistics: NDArray[np.float64]

    @property
    def log_densities(self) -> NDArray[np.float64]:
        """Log of the probabilities over the widths of their cells, float64 (n_rows, n_values)."""
        return np.log(np.maximum(self.probabilities, _LEAST_PROBABILITY)) - self.log_widths

    def some(self, rows: NDArray[np.bool_]) -> Answers:
        """Return the answers for some rows."""
        return replace(
            self, probabilities=self.probabilities[rows], logs=self.logs[rows], scores=self.scores[rows]
        )

    @staticmethod
    def joined(parts: Sequence[Answers]) -> Answers:
        """Return the answers for the rows of all parts."""
        return replace(
            parts[0],
            probabilities=np.concatenate([part.probabilities for part in parts]),
            logs=np.concatenate([part.logs for part in parts]),
            scores=np.concatenate([part.scores for part in parts]),
        )


@dataclass(frozen=True)
class Weights:
    """The power of the probabilities of a network, weights of families, slopes, and a share of the prior distribution.

    Families have weights of at least 0, and all others the power. `slopes` are those of the scores of features, float64
    (n_scores, n_statistics), and empty without slopes. The share `doubt` is that of `prior` in every prediction, the
    distribution of the target over all rows, float64 (n_values,); empty without doubt.
    """

    power: float = 1.0
    of_families: Mapping[str, float] = field(default_factory=dict)
    doubt: float = 0.0
    prior: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    slopes: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))

    @property
    def special(self) -> list[str]:
        """Columns whose families have weights other than the power."""
        return [name for name, weight in self.of_families.items() if weight != self.power]

    def applied(self, answers: Answers, names: Sequence[str]) -> NDArray[np.float64]:
        """Return the probabilities of the values of the target with these weights, float64 (n_rows, n_values).

        `names` are the columns of the families of the answers.
        """
        excess = np.array([self.of_families.get(name, self.power) - self.power for name in names])
        probabilities = answers.probabilities
        if self.power != 1.0 or excess.any() or self.slopes.size:
            logs = self.power * answers.log_densities + answers.logs @ excess
            if self.slopes.size:
                logs += answers.scores @ self.slopes @ answers.statistics
            probabilities = _scaled(logs + answers.log_widths)
        if self.doubt > 0:
            probabilities = (1 - self.doubt) * probabilities + self.doubt * self.prior
        return np.asarray(probabilities)


def _scaled(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities of every row from their logarithms up to a constant."""
    raised = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def family_logs(
    network: DiscretizedBayesNet,
    frame: pd.DataFrame,
    target: str,
    values: NDArray[np.float64] | NDArray[np.int32],
    names: Sequence[str],
) -> NDArray[np.float64]:
    """Return the log densities of the families of some columns at values of the target, as `Answers.logs` has them.

    Cells of the features may be missing. Values are numbers of the target, or codes of its levels. Families that the
    target is no member of say nothing.
    """
    families = {
        name: (*network.parents(name), name)
        for name in names
        if name in network.names and target in (*network.parents(name), name)
    }
    features = [
        n for n in network.names if n != target and any(n in of_name for of_name in families.values())
    ]
    read = read_features(network, frame, features)
    known = {
        name: values >= 0 if name in network.levels else ~np.isnan(values) for name, values in read.items()
    }
    columns = {
        name: np.where(known[name], values, 0 if name in network.levels else network.support[name][0])
        for name, values in read.items()
    }
    logs = np.zeros((len(frame), len(values), len(names)))
    for name, members in families.items():
        others = [member for member in members if member != target]
        rows = np.flatnonzero(
            np.all([known[other] for other in others] or [np.ones(len(frame), bool)], axis=0)
        )
        of_rows = {other: columns[other][rows, None] for other in others}
        density = network.families[name].log_density(Columns({**of_rows, target: values[None, :]}))
        top = density.max(axis=1, keepdims=True)
        possible = top > -np.inf
        below = np.maximum(density - np.where(possible, top, 0.0), -_FARTHEST)
        logs[rows, :, names.index(name)] = np.where(possible, below, 0.0)
    return logs


def fitted_weights(
    answers: Answers, loss: Loss, names: Sequence[str], freedom: tuple[float, float], unit: float = 1.0
) -> Weights:
    """Return the weights of greatest posterior density on left-out rows, and the doubt of least loss with them.

    The doubt is at least one in as many rows as there are, since the network may not know the next one. `freedom` are
    the standard deviations of the weights around the power and of the slopes around 0, each 0 for none of them, and
    `unit` is the loss that counts as one nat.
    """
    deviation, of_slopes = freedom
    n_families = len(names) if deviation > 0 else 0
    base, logs = answers.log_densities, answers.logs[:, :, :n_families]
    scores = answers.scores[:, : answers.scores.shape[1] if of_slopes > 0 else 0]
    shape = scores.shape[1], len(answers.statistics)

    def objective(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        power, excess, slopes = np.exp(point[0]), point[1 : 1 + n_families], point[1 + n_families :]
        tilted = power * base + logs @ excess + scores @ slopes.reshape(shape) @ answers.statistics
        probabilities = _scaled(tilted + answers.log_widths)
        # the loss of a row that no weight explains is bounded by the doubt
        mixed = (1 - least) * probabilities + least * prior
        losses, changes = loss(mixed)
        changes = (1 - least) * changes
        along = probabilities * (changes - (probabilities * changes).sum(axis=1, keepdims=True)) / unit
        value = float(losses.sum()) / unit + point[0] ** 2 / (2 * _POWER_DEVIATION**2)
        gradient = np.empty(len(point))
        gradient[0] = power * float((along * base).sum()) + point[0] / _POWER_DEVIATION**2
        if n_families:
            value += float(excess @ excess) / (2 * deviation**2)
            gradient[1 : 1 + n_families] = (
                np.tensordot(along, logs, axes=((0, 1), (0, 1))) + excess / deviation**2
            )
        if slopes.size:
            value += float(slopes @ slopes) / (2 * of_slopes**2)
            of_data = scores.T @ (along @ answers.statistics.T)
            gradient[1 + n_families :] = of_data.ravel() + slopes / of_slopes**2
        return value, gradient

    prior, least = answers.probabilities.mean(axis=0), 1 / (len(base) + 1)
    ends = (np.log(_LEAST_POWER), np.log(_MOST_POWER))
    found = minimize(
        objective,
        np.zeros(1 + n_families + shape[0] * shape[1]),
        jac=True,
        method="L-BFGS-B",
        bounds=[ends, *[(-_MOST_POWER, _MOST_POWER)] * n_families, *[(None, None)] * (shape[0] * shape[1])],
    )
    power = float(np.exp(found.x[0]))
    # what a family says is never turned into its opposite
    of_families = dict(
        zip(names, np.maximum(power + found.x[1 : 1 + n_families], 0.0).tolist(), strict=False)
    )
    slopes = found.x[1 + n_families :].reshape(shape)
    candidates = [
        Weights(power, of_families, doubt, prior, slopes)
        for doubt in (least, *(d for d in _DOUBTS if d > least))
    ]
    return min(candidates, key=lambda weights: float(loss(weights.applied(answers, names))[0].sum()))


def log_loss(codes: NDArray[np.int32]) -> Loss:
    """Return the log loss of rows whose target has some codes, in nats."""
    rows = np.arange(len(codes))

    def losses(probabilities: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        of_code = np.maximum(probabilities[rows, codes], _LEAST_PROBABILITY)
        slopes = np.zeros_like(probabilities)
        slopes[rows, codes] = -1 / of_code
        return -np.log(of_code), slopes

    return losses
