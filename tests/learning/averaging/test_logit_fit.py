"""Whether discrete columns follow logits, and what rows that are left out of their fit are predicted to be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from averaged_examples import conditionals_of
from learning_inside import design_of_terms
from numpy.typing import NDArray

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, average_families
from gomea_bn.learning.averaging import Member
from gomea_bn.learning.averaging.logit_fit import LogitRows, fitted_logit
from gomea_bn.network.conditionals import (
    Columns,
    FamilyLogit,
    Stack,
    Terms,
    UnitScale,
    broken_line,
    indicators,
    log_levels,
)
from gomea_bn.network.conditionals.terms import SumOfTerms

TERMS = Terms(
    (
        broken_line("x", np.array([-5.0, 5.0]), in_units=False),
        broken_line("w", np.array([-5.0, 5.0]), in_units=False),
        indicators(["g"], [3]),
    )
)


class Example:
    """Rows of levels that follow lines of two columns, and amounts of the three levels of another one."""

    def __init__(self, n_rows: int, n_levels: int, seed: int = 0, offset: float = 0.0) -> None:
        generator = np.random.default_rng(seed)
        x, w = generator.normal(size=(2, n_rows))
        g = generator.integers(0, 3, n_rows)
        noisy = 2 * x - w + np.array([0.0, 1.0, -1.0])[g] + generator.logistic(size=n_rows)
        self.n_levels = n_levels
        self.levels = np.searchsorted(np.quantile(noisy, np.arange(1, n_levels) / n_levels), noisy)
        self.values = {"x": x + offset, "w": w, "g": g}
        self.scales = {name: UnitScale(offset, 1.0, (-99.0, 99.0)) for name in "xw"}

    def fitted(self, rows: NDArray[np.int64] | None = None) -> Member | None:
        """Return the logit of all or some rows."""
        chosen = np.arange(len(self.levels)) if rows is None else rows
        columns = Columns({name: values[chosen] for name, values in self.values.items()})
        design = design_of_terms(TERMS, np.full(TERMS.n_terms, 1.0), columns, {False: self.scales}, {"g": 3})
        places = {name: columns.positions(name, self.scales[name]) for name in "xw"}
        return fitted_logit(LogitRows(self.levels[chosen], self.n_levels, design), ("x", "w"), ("g",), places)

    def logs(self, logit: Any, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the log probabilities of the levels of some rows under a logit."""
        columns = Columns({name: values[rows] for name, values in self.values.items()})
        sums = SumOfTerms(logit.terms, logit.coefficients[0], {False: self.scales}, {"g": 3}).of(columns)
        return log_levels(sums[None], logit.constants, logit.positions)


@pytest.mark.parametrize("n_levels", [2, 3])
def test_rows_are_predicted_as_by_fits_without_them(n_levels: int) -> None:
    rows = Example(150, n_levels)
    fitted = rows.fitted()
    assert fitted is not None
    left_out = []
    for row in range(60):
        without = rows.fitted(np.delete(np.arange(150), row))
        assert without is not None
        left_out.append(rows.logs(without.fitted, np.array([row]))[0, rows.levels[row]])
    inside = rows.logs(fitted.fitted, np.arange(60))[np.arange(60), rows.levels[:60]]
    optimism = inside.mean() - np.mean(left_out)
    assert optimism > 0
    # to first order
    assert fitted.left_out[:60].mean() == pytest.approx(np.mean(left_out), abs=0.25 * optimism)
    assert np.corrcoef(fitted.left_out[:60], left_out)[0, 1] > 0.99


@pytest.mark.parametrize("has_several", [False, True])
def test_levels_in_several_directions_are_predicted_by_an_index_each(has_several: bool) -> None:
    generator = np.random.default_rng(3)
    x, w = generator.normal(size=(2, 1_000))
    logs = log_levels(np.array([x, w, 0 * x]), np.zeros(3), 1.5 * np.eye(3))
    levels = (logs + generator.gumbel(size=logs.shape)).argmax(axis=1)
    scales = {name: UnitScale(0.0, 1.0, (-99.0, 99.0)) for name in "xw"}
    terms = Terms(TERMS.functions[:2])
    columns = Columns({"x": x, "w": w})
    design = design_of_terms(terms, np.ones(terms.n_terms), columns, {False: scales}, {})
    places = {"x": x, "w": w}
    member = fitted_logit(LogitRows(levels, 3, design, has_several), ("x", "w"), (), places)
    assert member is not None
    logit: Any = member.fitted
    assert len(logit.positions) == (3 if has_several else 1)
    assert logit.n_parameters == (6 if has_several else 5)
    sums = [SumOfTerms(logit.terms, of, {False: scales}, {}).of(columns) for of in logit.coefficients]
    found = log_levels(np.array(sums), logit.constants, logit.positions)
    error = np.abs(np.exp(found) - np.exp(logs)).mean()
    loss = float(logs[np.arange(1_000), levels].mean() - member.left_out.mean())
    assert (error < 0.03 and abs(loss) < 0.02) == has_several


def test_levels_are_as_frequent_as_in_the_rows_wherever_the_parents_lie() -> None:
    rows = Example(500, 3, offset=5.0)
    fitted = rows.fitted()
    assert fitted is not None
    shares = np.exp(rows.logs(fitted.fitted, np.arange(500))).mean(axis=0)
    np.testing.assert_allclose(shares, np.bincount(rows.levels) / 500, atol=0.01)


def test_logits_need_a_column_of_two_to_ten_levels() -> None:
    assert Example(400, 11).fitted() is None
    rows = Example(400, 2)
    rows.levels = np.zeros(400, np.int64)
    assert rows.fitted() is None


def test_a_level_without_rows_keeps_the_probability_of_half_a_row() -> None:
    rows = Example(200, 2)
    rows.levels, rows.n_levels = 2 * rows.levels, 4
    fitted = rows.fitted()
    assert fitted is not None
    probabilities = np.exp(rows.logs(fitted.fitted, np.arange(200))).mean(axis=0)
    assert 0 < probabilities[1] < 0.01
    assert probabilities[1] == pytest.approx(probabilities[3])


def averaged_of(x: NDArray[np.float64], codes: NDArray[np.int64], **options: Any) -> DiscretizedBayesNet:
    frame = pd.DataFrame({"x": x, "k": pd.Categorical(codes.astype(str))})
    cuts = {"x": np.quantile(x, [1 / 3, 2 / 3])}
    network = DiscretizedBayesNet.from_table(frame, [("x", "k")], cuts, pseudo_count=1.0)
    return average_families(network, frame, n_copies=2, **options)


def stack_of(x: NDArray[np.float64], codes: NDArray[np.int64], **options: Any) -> Stack:
    return conditionals_of(averaged_of(x, codes, **options)).stacks["k"]


@pytest.mark.parametrize("seed", range(4))
def test_columns_that_do_not_depend_have_level_odds(seed: int) -> None:
    generator = np.random.default_rng(seed)
    x, codes = generator.normal(size=600), generator.integers(0, 2, 600)
    network = averaged_of(x, codes)
    answers = network.predict_proba(pd.DataFrame({"x": np.linspace(-1.5, 1.5, 7)}), "k")["1"]
    # about four standard errors of the rows of a bin
    assert np.abs(answers - codes.mean()).max() < 0.25


def test_steps_stay_tables_and_slopes_become_logits() -> None:
    generator = np.random.default_rng(0)
    x = generator.normal(size=2_000)
    p = np.where(x > np.quantile(x, 2 / 3), 0.8, 0.2)
    of_step = stack_of(x, (generator.random(2_000) < p).astype(np.int64))
    assert of_step.smooth_weight < 0.5
    rows = (generator.logistic(size=2_000) < 6 * x).astype(np.int64)
    [(weight, of_slope)] = stack_of(x, rows).smooth
    assert isinstance(of_slope, FamilyLogit)
    assert weight > 0.6
    assert of_slope.words == "a logistic regression on lines"
    assert not of_slope.in_units
    assert not stack_of(x, rows, line="none").smooth


@pytest.mark.parametrize("n_rare", [1, 3])
def test_a_level_of_few_rows_moves_little_and_others_follow_their_rows(n_rare: int) -> None:
    generator = np.random.default_rng(5)
    g = generator.integers(0, 12, 1_500)
    chances = np.tile([0.05, 0.1, 0.3], 4)
    levels = (generator.random(len(g)) < chances[g]).astype(np.int64)
    g[:n_rare], levels[:n_rare] = 12, 1
    terms = Terms((indicators(["g"], [13]),))
    shares = np.bincount(g) / len(g)
    scaled = Terms((terms.functions[0].combined(np.diag(1 / np.sqrt(shares * (1 - shares)))),))
    design = design_of_terms(scaled, np.ones(13), Columns({"g": g}), {}, {"g": 13})
    member = fitted_logit(LogitRows(levels, 2, design), (), ("g",), {})
    assert member is not None
    logit: Any = member.fitted
    sums = SumOfTerms(logit.terms, logit.coefficients[0], {}, {"g": 13}).of(Columns({"g": np.arange(13)}))
    answers = np.exp(log_levels(sums[None], logit.constants, logit.positions))[:, 1]
    # the base rate is .15
    assert 0.15 < answers[12] < 0.65
    of_rows = np.array([levels[g == level].mean() for level in range(12)])
    np.testing.assert_allclose(answers[:12], of_rows, atol=0.02)


@pytest.mark.parametrize("seed", [3, 6, 13])
def test_small_counts_follow_both_parents_step_by_step(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=300), rng.integers(0, 2, 300)
    count = np.minimum(rng.poisson(np.exp(0.4 * x + 0.5 * z + 0.5)), 8)
    frame = pd.DataFrame({"x": x, "z": np.array(["no", "yes"])[z], "n": count, "other": rng.normal(size=300)})
    network = BayesNetLearner(random_state=1).fit(frame).network_
    assert {frozenset(edge) for edge in network.edges} == {frozenset("xn"), frozenset("zn")}
    ((_, fitted),) = network.conditionals.stacks["n"].members
    assert fitted.words == "a logistic regression of levels in their order on lines"
    n_levels = len(network.levels["n"])
    # a constant for every level but one, a slope and the difference of two levels
    assert fitted.n_parameters == n_levels - 1 + 2
    # every step up multiplies the odds of neighbouring levels by the same factor
    low, high = (network.query("n", {"x": at, "z": "no"}).to_numpy() for at in (-1.0, 1.0))
    ratios = (high[1:] / high[:-1]) / (low[1:] / low[:-1])
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-6)
    assert ratios[0] > 1.5


@pytest.mark.parametrize("unused", [0, 3, 6])
def test_a_level_without_rows_is_a_step_in_the_order(unused: int) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=300)
    used = [level for level in range(7) if level != unused]
    rows = np.minimum(rng.poisson(np.exp(0.5 * x + 0.5)), 5)
    levels = [f"level {level}" for level in range(7)]
    values = np.array(levels)[np.array(used)[rows]]
    frame = pd.DataFrame({"x": x, "n": pd.Categorical(values, levels, ordered=True)})
    network = BayesNetLearner(random_state=1).fit(frame).network_
    ((_, fitted),) = network.conditionals.stacks["n"].members
    assert fitted.words == "a logistic regression of levels in their order on lines"
    # six constants and a slope
    assert fitted.n_parameters == 7
    low, high = (network.query("n", {"x": at}).to_numpy() for at in (-1.0, 1.0))
    ratios = (high[1:] / high[:-1]) / (low[1:] / low[:-1])
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-6)
    # it has half of a row
    at_rows = network.predict_proba(frame[["x"]], "n").to_numpy()
    assert 0.4 < at_rows[:, unused].sum() < 0.6
