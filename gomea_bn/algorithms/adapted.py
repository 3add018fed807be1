"""RV-GOMEA where every evaluation is a whole one: groups of interacting variables, each with an adapted distribution.

Interactions are second differences of the objective, as in differential grouping: Omidvar, Li, Mei & Yao, "Cooperative
co-evolution with differential grouping for large scale optimization", IEEE Transactions on Evolutionary Computation 18,
2014. The distributions adapt as in CMA-ES: Hansen, "The CMA evolution strategy: a tutorial", arXiv 1604.00772.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.problems.continuous import RealProblem
from gomea_bn.runtime.checkpoints import State
from gomea_bn.runtime.evaluations import ROUND

MOST_VARIABLES = 200
"""Variables above which covariances of all of them are no longer adapted."""

# share of the sizes of the four objectives above which a second difference is no rounding
_ROUNDING = 1e-12
# share of the initial range below which a distribution no longer moves anything
_LEAST_WIDTH = 1e-12
# relative change of the best objectives of some generations below which they are equal
_EQUAL = 1e-14


def evaluates_whole(problem: RealProblem) -> bool:
    """Return whether a change of one variable costs as much as a whole evaluation."""
    user = getattr(problem, "user", None)
    if user is not None:
        return not hasattr(user, "evaluate_partial")
    return problem.n_terms == problem.n_objectives


def interacting_groups(
    objectives_of: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    generator: np.random.Generator,
) -> list[NDArray[np.int64]]:
    """Return the groups of variables that no second difference between the solutions x and y connects.

    `objectives_of` returns the objectives (k,) of solutions (k, n_variables). The 2 n + 2 first ones find the variables
    that interact with none. Pairs of the others follow in random rounds, as long as they are in different groups.
    """
    n = len(x)
    diagonal = np.arange(n)
    near, far = np.tile(x, (n + 1, 1)), np.tile(y, (n + 1, 1))
    near[diagonal, diagonal], far[diagonal, diagonal] = y, x
    of_near, of_far = np.split(objectives_of(np.concatenate([near, far])), 2)

    def differ(*parts: Any) -> Any:
        second = np.abs(parts[0] - parts[1] - parts[2] + parts[3])
        # an objective that is not finite may hide anything
        return ~(second <= _ROUNDING * sum(np.abs(part) for part in parts))

    interacts = differ(of_near[:n], of_near[n], of_far[n], of_far[:n])
    group = diagonal.copy()
    first, second = np.triu_indices(n, 1)
    chosen = np.flatnonzero(interacts[first] & interacts[second])
    chosen = generator.permutation(chosen)
    while len(chosen := chosen[group[first[chosen]] != group[second[chosen]]]):
        i, j = first[chosen[:ROUND]], second[chosen[:ROUND]]
        chosen = chosen[ROUND:]
        both = np.tile(x, (len(i), 1))
        rows = np.arange(len(i))
        both[rows, i], both[rows, j] = y[i], y[j]
        linked = differ(objectives_of(both), of_near[i], of_near[j], of_near[n])
        for a, b in zip(i[linked], j[linked], strict=True):
            group[group == group[b]] = group[a]
    return [np.flatnonzero(group == g) for g in np.unique(group)]


class Adapted:
    """A normal distribution over a group of k variables, adapted from generations of solutions as in CMA-ES."""

    def __init__(
        self, variables: NDArray[np.int64], mean: NDArray[np.float64], widths: NDArray[np.float64]
    ) -> None:
        k = len(variables)
        self.variables, self.widths = variables, widths
        self.mean, self.step = mean, 1.0
        # the axes are those of the covariances at their latest decomposition
        # first standard deviation, as a share of the initial range
        self.axes, self.lengths = np.eye(k), 0.3 * widths
        self.covariance = np.diag(self.lengths**2)
        self.path, self.step_path = np.zeros(k), np.zeros(k)
        self.counts = np.zeros(2, np.int64)  # generations, and those at the latest decomposition
        self.latest: list[float] = []
        self.has_ended = not (widths > 0).all()

    def state(self) -> State:
        """Return the distribution as plain values and arrays."""
        return dict(self.__dict__)

    @classmethod
    def of_state(cls, saved: State) -> Adapted:
        """Return the distribution of `state`."""
        adapted = cls.__new__(cls)
        for name, value in saved.items():
            setattr(adapted, name, np.array(value) if isinstance(value, np.ndarray) else value)
        adapted.latest = list(saved["latest"])
        return adapted

    def draw(
        self, n: int, lower: NDArray[np.float64], upper: NDArray[np.float64], generator: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return n draws, shape (n, k), within the bounds if a few attempts lead there."""
        values = np.empty((n, len(self.mean)))
        rows = np.arange(n)
        # attempts to draw inside the bounds
        for _ in range(3):
            normals = generator.standard_normal((len(rows), len(self.mean)))
            values[rows] = self.mean + self.step * (normals * self.lengths) @ self.axes.T
            rows = np.flatnonzero(((values < lower) | (values > upper)).any(axis=1))
            if not len(rows):
                break
        return values

    def adapt(self, ordered: NDArray[np.float64], best: float) -> None:
        """Adapt to values (n, k), best first, of which the best has an objective."""
        n, k = ordered.shape
        raw = np.log((n + 1) / 2) - np.log(np.arange(1, n + 1))
        n_parents = n // 2
        weights = raw[:n_parents] / raw[:n_parents].sum()
        mass = 1.0 / (weights**2).sum()
        rate_step = (mass + 2) / (k + mass + 5)
        rate_path = (4 + mass / k) / (k + 4 + 2 * mass / k)
        rate_one = 2 / ((k + 1.3) ** 2 + mass)
        rate_many = min(1 - rate_one, 2 * (mass - 2 + 1 / mass) / ((k + 2) ** 2 + mass))
        damping = 1 + 2 * max(0.0, np.sqrt((mass - 1) / (k + 1)) - 1) + rate_step
        expected = np.sqrt(k) * (1 - 1 / (4 * k) + 1 / (21 * k * k))
        steps = (ordered - self.mean) / self.step
        normed = (steps @ self.axes) / self.lengths
        # the worst half pushes the covariances away from its directions
        losing = np.minimum(raw, 0.0)
        mass_losing = losing.sum() ** 2 / (losing**2).sum()
        least = min(
            1 + rate_one / rate_many if rate_many > 0 else 1.0,
            1 + 2 * mass_losing / (mass + 2),
            (1 - rate_one - rate_many) / (k * rate_many) if rate_many > 0 else 1.0,
        )
        all_weights = losing * (least / -losing.sum())
        all_weights[:n_parents] = weights
        shares = np.where(all_weights >= 0, 1.0, k / np.maximum((normed**2).sum(axis=1), 1e-300))
        shift = weights @ steps[:n_parents]
        self.mean = self.mean + self.step * shift
        whitened = ((shift @ self.axes) / self.lengths) @ self.axes.T
        self.step_path = (1 - rate_step) * self.step_path + np.sqrt(
            rate_step * (2 - rate_step) * mass
        ) * whitened
        length = float(np.sqrt((self.step_path**2).sum()))
        self.counts[0] += 1
        bias = np.sqrt(1 - (1 - rate_step) ** (2 * int(self.counts[0])))
        is_short = length / bias < (1.4 + 2 / (k + 1)) * expected
        self.path = (1 - rate_path) * self.path + is_short * np.sqrt(
            rate_path * (2 - rate_path) * mass
        ) * shift
        lost = (not is_short) * rate_one * rate_path * (2 - rate_path)
        remaining = 1 + lost - rate_one - rate_many * all_weights.sum()
        scaled = steps * (all_weights * shares)[:, None]
        self.covariance = (
            remaining * self.covariance
            + rate_one * np.outer(self.path, self.path)
            + rate_many * (steps.T @ scaled)
        )
        self.step *= float(np.exp(min(1.0, rate_step / damping * (length / expected - 1))))
        # beyond the bounds nothing holds a step back
        self.step = min(self.step, float((self.widths / self.lengths).min()))
        if (self.counts[0] - self.counts[1]) * 10 * k * (rate_one + rate_many) >= 1:
            self._decompose()
        window = 10 + -(-30 * k // n)
        self.latest = [*self.latest[-window + 1 :], best]
        spread = max(self.latest) - min(self.latest)
        is_flat = len(self.latest) == window and spread <= _EQUAL * max(map(abs, self.latest))
        self.has_ended |= is_flat or bool((self.step * self.lengths).max() < _LEAST_WIDTH * self.widths.max())

    def _decompose(self) -> None:
        self.counts[1] = self.counts[0]
        self.covariance = (self.covariance + self.covariance.T) / 2
        variances, axes = np.linalg.eigh(self.covariance)
        # largest condition number of a covariance matrix
        if not (variances[0] > 0 and variances[-1] < 1e14 * variances[0]):
            self.has_ended = True
            return
        self.axes, self.lengths = axes, np.sqrt(variances)
