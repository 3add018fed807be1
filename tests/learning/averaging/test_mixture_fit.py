"""Whether columns follow a mixture of lines: only where left-out rows are better predicted, and copies buy nothing."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from averaged_examples import conditionals_of, lines_of, stack_without_odds, weight_of

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, ExpertKnowledge, average_families
from gomea_bn.learning.averaging import LineRows
from gomea_bn.learning.averaging.mixture_fit import JudgedMixture, Sums
from gomea_bn.network.conditionals import FamilyMixture
from gomea_bn.network.conditionals.family_mixture import components_of, sums_of_shares


def two_columns(y: np.ndarray, x: np.ndarray, line: str = "auto") -> DiscretizedBayesNet:
    """Return the network x -> y with three bins each and conditionals."""
    frame = pd.DataFrame({"x": x, "y": y})
    cuts = {str(name): np.quantile(frame[name], [1 / 3, 2 / 3]) for name in frame}
    network = DiscretizedBayesNet.from_table(frame, [("x", "y")], cuts, pseudo_count=1.0)
    return average_families(network, frame, n_copies=2, line=line)


def line_of(network: DiscretizedBayesNet) -> object:
    """Return what y follows, None for tables alone."""
    return lines_of(network).get("y")


@pytest.mark.parametrize("n_groups", [1, 3])
@pytest.mark.parametrize("is_divided", [False, True])
def test_sums_by_shares_are_those_of_one_row_after_another(n_groups: int, is_divided: bool) -> None:
    generator = np.random.default_rng(5)
    n, d, n_parts = 300, 2, 3
    parents, z, groups = generator.normal(size=(n, d)), generator.normal(size=n), np.arange(n) % n_groups
    weights, steps = generator.uniform(0.5, 2.0, n), generator.normal(size=n)
    values, part = np.column_stack([np.ones(n), parents, z]), generator.integers(0, n_parts, n)
    of_parts = [values[part == k] + np.array([0.0, 0.0, 0.0, k]) for k in range(n_parts)]
    counts = np.array([np.bincount(groups[part == k], minlength=n_groups) for k in range(n_parts)], float)
    components = components_of(np.array([v.T @ v for v in of_parts]), counts, np.full(n_parts, 0.1))
    axes = generator.normal(size=(n_parts, d + 2)) if is_divided else None
    sums = sums_of_shares(components, z, parents, groups, weights, steps, axes)
    moments, of_groups, of_steps = map(np.zeros_like, sums)
    for row in range(n):
        white = np.einsum("kij,kj->ki", components.factors, parents[row] - components.centres)
        distances = (z[row] - components.coefficients @ values[row, :-1]) / components.scales
        logs = components.log_gates[:, groups[row]] - np.log(components.scales)
        logs -= ((white**2).sum(axis=1) + distances**2) / 2
        shares = np.exp(logs - np.logaddexp.reduce(logs)) * weights[row]
        for k, share in enumerate(shares):
            place = k + n_parts if axes is not None and axes[k] @ values[row] > 0 else k
            moments[place] += share * np.outer(values[row], values[row])
            of_groups[place, groups[row]] += share
            of_steps[place] += share * steps[row]
    for found, wanted in zip(sums, (moments, of_groups, of_steps), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize(
    ("seed", "n", "slope", "copies"),
    [*((seed, 1000, 1, 1) for seed in range(4)), (0, 600, 0, 1), (1, 600, 0, 1), (5, 120, 1, 10)],
)
def test_lines_noise_and_copies_of_rows_make_no_mixture(seed: int, n: int, slope: int, copies: int) -> None:
    generator = np.random.default_rng(seed)
    x = generator.normal(size=n)
    y = slope * x + generator.normal(size=n)
    line = line_of(two_columns(np.tile(y, copies), np.tile(x, copies)))
    assert not isinstance(line, FamilyMixture)
    assert (line is not None) >= (slope == copies == 1)


def test_a_mixture_that_is_not_worth_its_numbers_is_not_fitted_to_all_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fitted: list[int] = []
    of_all = JudgedMixture.fitted

    def counted(self: JudgedMixture, rows: LineRows) -> Sums:
        fitted.append(len(rows.z))
        return of_all(self, rows)

    monkeypatch.setattr(JudgedMixture, "fitted", counted)
    generator = np.random.default_rng(3)
    x, noise = generator.normal(size=(2, 1500))
    two_columns(np.sin(2 * x) + 0.3 * noise, x)
    assert not fitted
    # sixteen components gain, but less than a nat for each of their numbers
    fast, of_fast = np.random.default_rng(4).normal(size=(2, 1500))
    two_columns(np.sin(3 * fast) + 0.5 * of_fast, fast)
    assert not fitted
    two_columns(np.where(noise > 0, x, -x) + 0.3 * noise, x)
    assert fitted


def test_a_circle_has_a_mixture() -> None:
    angles = np.random.default_rng(0).uniform(0, 2 * math.pi, 2000)
    noise = 0.05 * np.random.default_rng(1).normal(size=2000)
    network = two_columns(np.sin(angles) + noise, np.cos(angles))
    line = line_of(network)
    assert isinstance(line, FamilyMixture)
    assert weight_of(network, "y") > 0.8
    # no lines and no bins say that y is near +1 or -1 where x is near 0
    curve = network.conditional_density("y", {"x": 0.0})
    low, high = np.interp([0.0, 1.0], curve.values, curve.densities)
    assert high > 5 * low
    single = line_of(two_columns(np.sin(angles) + noise, np.cos(angles), "single"))
    assert not isinstance(single, FamilyMixture)


@pytest.mark.parametrize("beyond", [False, True])
def test_a_value_that_repeats_in_many_rows_gains_no_density(beyond: bool) -> None:
    def rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
        generator = np.random.default_rng(seed)
        x, repeats = generator.normal(size=2000), generator.random(2000) < 0.3
        if beyond:
            return x, np.where(repeats, 5.0, x + generator.normal(size=2000))
        # no other value is near 0
        return x, np.where(repeats, 0.0, 1 + np.exp(generator.normal(size=2000)))

    x, y = rows(0)
    network = two_columns(y, x)
    value, distinct = 5.0 if beyond else 0.0, np.unique(y)
    place = int(np.searchsorted(distinct, value))
    gaps = np.diff(distinct)[max(place - 1, 0) : place + 1]
    x, y = rows(1)
    some = pd.DataFrame({"x": x, "y": y})[y == value]
    densities = network.log_density_terms(some)["y"]
    # no more than the probability 1 of its step
    assert densities.mean() < -math.log(gaps.mean())


def test_left_out_losses_are_those_of_new_rows() -> None:
    def rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
        generator = np.random.default_rng(seed)
        x = generator.uniform(-2, 2, 1500)
        return x, x**2 + (0.1 + np.abs(x)) * generator.normal(size=1500)

    x, y = rows(0)
    network = two_columns(y, x)
    assert isinstance(line_of(network), FamilyMixture)
    n_rows, mean, deviation = conditionals_of(network).log_losses["y"]
    x, y = rows(1)
    frame = pd.DataFrame({"x": x, "y": y})
    inside = frame["x"].between(*network.support["x"]) & frame["y"].between(*network.support["y"])
    of_new = -network.log_density_terms(frame[inside])["y"]
    error = math.hypot(deviation / math.sqrt(n_rows), of_new.std() / math.sqrt(len(of_new)))
    assert abs(of_new.mean() - mean) < 4 * error


def branching_rows(seed: int, n: int) -> pd.DataFrame:
    """Return rows whose column x follows one line of t, or has nothing to do with it where t is one of two values."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    z = np.clip(x + 0.4 * rng.normal(size=n), -1, 1.2)
    t = np.select(
        [rng.random(n) < 0.3, rng.random(n) < 0.3], [1.5, 4.0], x * 0.5 + 3 + 0.03 * rng.normal(size=n)
    )
    return pd.DataFrame({"t": t, "z": z, "x": x})


@pytest.mark.parametrize("seed", [1, 7])
def test_turned_columns_and_rows_in_another_order_have_the_same_mixture(seed: int) -> None:
    rows, new_rows = branching_rows(seed, 500), branching_rows(seed + 100, 2_000)
    rules = ExpertKnowledge(required_edges=(("t", "x"), ("z", "x")), forbidden_edges=(("t", "z"), ("z", "t")))
    learner = BayesNetLearner(
        prefer="density", max_evaluations=60, max_seconds=None, random_state=1, knowledge=rules
    )
    densities = []
    for turned in ([], ["z"], ["t"], ["x"], ["t", "z"]):
        signs = pd.Series({name: -1.0 if name in turned else 1.0 for name in rows})
        order = np.random.default_rng(len(densities)).permutation(len(rows))
        network = learner.fit((rows * signs).iloc[order]).network_
        # next to effects, or alone
        kinds = [type(fitted) for _, fitted in stack_without_odds(network, "x").members]
        assert FamilyMixture in kinds
        densities.append(network.log_density_terms(new_rows * signs)["x"].mean())
    assert max(densities) - min(densities) < 0.02
    # a single line has less than 0
    assert min(densities) > 0.2


@pytest.mark.filterwarnings("ignore::gomea_bn.errors.GomeaBnWarning")
def test_a_value_of_half_of_the_rows_keeps_its_share():
    """A component around a point mass may be as narrow as its probability needs."""
    x = np.random.default_rng(4).gamma(1, 1, 400)
    x = np.concatenate((x, np.full(400, x[3])))
    frame = pd.DataFrame({"x": x, "y": x**2})
    learner = BayesNetLearner(
        max_evaluations=100,
        max_seconds=None,
        random_state=1,
        knowledge=ExpertKnowledge(required_edges=[("x", "y")]),
    )
    network = learner.fit(frame).network_
    assert isinstance(line_of(network), FamilyMixture)
    drawn = network.sample(4000, random_state=1)
    is_point = drawn["x"] == x[3]
    assert abs(is_point.mean() - 0.5) < 0.05
    assert np.isclose(drawn["y"][is_point], x[3] ** 2).mean() > 0.99
    assert network.log_density_terms(frame[3:4])["y"][0] > -0.01
