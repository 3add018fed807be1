"""Columns of counts: their densities by the formulas, further rows, and files that are refused."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from averaged_examples import conditionals_of
from conditional_oracles import random_conditionals_network, random_rows, slow_sum, with_levels
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gomea_bn import DiscretizedBayesNet, GomeaBnError
from gomea_bn.network.conditionals import Columns, FamilyCounts, FurtherRows
from gomea_bn.network.conditionals.family_counts import fitted_count


def network_of(seed: int) -> DiscretizedBayesNet:
    return random_conditionals_network(seed, FamilyCounts, alone=True)


def counts_of(network: DiscretizedBayesNet) -> FamilyCounts:
    counts = conditionals_of(network).stacks["y"].members[0][1]
    assert isinstance(counts, FamilyCounts)
    return counts


def slow_probability(number: int, mean: float, dispersion: float) -> float:
    """Return the probability of a count by the product of its steps."""
    if dispersion == 0:
        return math.exp(number * math.log(mean) - mean - math.lgamma(number + 1))
    size = 1 / dispersion
    logs = math.lgamma(number + size) - math.lgamma(size) - math.lgamma(number + 1)
    return math.exp(logs + size * math.log(size / (size + mean)) + number * math.log(mean / (size + mean)))


def slow_density(network: DiscretizedBayesNet, row: dict[str, Any]) -> float:
    """Return the probability of a point mass, or the density of another number: a probability over its step."""
    known, counts = conditionals_of(network), counts_of(network)
    log_mean = slow_sum(network, known, counts.terms, counts.coefficients, row)
    mean = math.exp(min(max(log_mean, -30.0), 20.0))
    low, high = network.support["y"]
    points = known.scales["y"].points
    numbers = [k for k in range(int(high) + 2) if k - 0.5 < high and k + 0.5 > low]
    numbers = [k for k in numbers if k + 0.5 != low]
    own = [k for k in numbers if k - 0.5 < row["y"] <= k + 0.5] or numbers[:1]
    total = math.fsum(slow_probability(k, mean, counts.dispersion) for k in numbers)
    p = slow_probability(own[0], mean, counts.dispersion) / total
    inside = {
        point: mass
        for point, mass in points.items()
        if own[0] - 0.5 < point <= own[0] + 0.5 or point == low == own[0] - 0.5
    }
    if row["y"] in inside:
        return p * inside[row["y"]] / math.fsum(inside.values())
    width = min(own[0] + 0.5, high) - max(own[0] - 0.5, low)
    return (0.0 if inside else p / width) + 1e-9 / (high - low)


@given(st.integers(0, 5000))
def test_densities_are_those_of_the_formulas(seed: int) -> None:
    network = network_of(seed)
    rows = random_rows(network, 8, seed)
    logs = network.families["y"].log_density(Columns(rows))
    slow = [slow_density(network, row) for row in with_levels(network, rows)]
    assert_allclose(np.exp(logs), slow, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_many_further_rows_draw_the_mean_to_them(seed: int) -> None:
    network = network_of(seed)
    counts, facts = counts_of(network), network.families["y"].facts
    rows = random_rows(network, 1, seed)
    rows["y"] = np.array([3.0])
    further = FurtherRows(
        Columns(rows),
        np.array([1e6]),
        1.0,
        50.0,
        50,
        facts,
        1.0,
        lambda: Columns(random_rows(network, 200, 1)),
    )
    moved = counts.with_rows("y", further)
    at = Columns(rows)
    design = np.column_stack([np.ones(1), moved.terms.of_rows(at, facts.scales, facts.n_levels)])
    assert (design @ moved.coefficients)[0] == pytest.approx(math.log(3), abs=0.01)
    assert moved.dispersion == counts.dispersion


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("value", [0.0, 3.0])
def test_the_mean_is_that_of_the_rows_and_effects_stay(seed: int, value: float) -> None:
    network = network_of(seed)
    counts, facts = counts_of(network), network.families["y"].facts
    rows = random_rows(network, 40, seed)
    rows["y"] = np.where(np.arange(40) < 30, value, 5.0) + 0.2
    weights = np.linspace(100.0, 300.0, 40)
    further = FurtherRows(Columns(rows), weights, 1.0, 50.0, 50, facts, 1.0, lambda: Columns(rows))
    moved = counts.counted("y", further)
    design = np.column_stack([np.ones(40), moved.terms.of_rows(Columns(rows), facts.scales, facts.n_levels)])
    # half a row of one on either side
    assert weights @ np.exp(design @ moved.coefficients) == pytest.approx(
        weights @ np.round(rows["y"]), rel=1e-3, abs=1.0
    )
    np.testing.assert_array_equal(moved.coefficients[1:], counts.coefficients[1:])
    assert moved.dispersion == counts.dispersion


@pytest.mark.parametrize("size", [np.inf, 1.5])
def test_the_fit_is_the_maximum_of_the_posterior(size: float) -> None:
    generator = np.random.default_rng(0)
    x = np.column_stack([np.ones(200), generator.normal(size=(200, 2))])
    values = generator.poisson(np.exp(x @ np.array([1.0, 0.5, -0.3]))).astype(float)
    weights, precisions = generator.uniform(0.5, 2, 200), np.array([0.0, 3.0, 3.0])
    beta, information = fitted_count(x, values, weights, precisions, size, np.zeros(3))

    def objective(beta: Any) -> float:
        logs = x @ beta
        of_rows = [
            math.log(slow_probability(int(y), math.exp(log), 0.0 if size == np.inf else 1 / size))
            for y, log in zip(values.tolist(), logs.tolist(), strict=True)
        ]
        return float(weights @ np.array(of_rows) - 0.5 * precisions @ beta**2)

    step = 1e-3 * np.eye(3)
    for i in range(3):
        bend = (objective(beta + step[i]) - 2 * objective(beta) + objective(beta - step[i])) / 1e-6
        assert (objective(beta + step[i]) - objective(beta - step[i])) / 2e-3 == pytest.approx(0, abs=0.02)
        assert -bend == pytest.approx(information[i, i], rel=1e-3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dispersion": -1.0}, "dispersion of at least 0"),
        ({"dispersion": "much"}, "dispersion of at least 0"),
        ({"coefficients": [1.0]}, "one coefficient per term"),
        ({"coefficients": ["a"]}, "must be numbers"),
        ({"parents": "x"}, "must be a list of names"),
        ({"functions": None}, "must be lists"),
    ],
)
def test_broken_files_are_refused(change: dict[str, Any], words: str) -> None:
    content = counts_of(network_of(3)).to_content()
    with pytest.raises(GomeaBnError, match=words):
        FamilyCounts.from_content({**content, **change})


@dataclass(frozen=True)
class WithRange:
    """A network whose column "y" has another range."""

    network: DiscretizedBayesNet
    support: dict[str, tuple[float, float]]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.network, name)


def test_a_range_below_0_has_no_counts() -> None:
    network = network_of(0)
    known = conditionals_of(network)
    scales: Any = {False: known.scales, True: known.units}
    below: Any = WithRange(network, {"y": (-5.0, -2.0)})
    with pytest.raises(GomeaBnError, match="must have whole numbers from 0 on"):
        counts_of(network).check(below, "y", scales)
