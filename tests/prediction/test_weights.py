"""Weights of the families around a target: what they do to probabilities, and how they are found."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from gomea_bn import BayesNetLearner, DiscretizedBayesNet
from gomea_bn.prediction.distributions import Cells, cell_probabilities, crps
from gomea_bn.prediction.structures import _weighted
from gomea_bn.prediction.weights import Answers, Weights, family_logs, fitted_weights, log_loss


def of(
    probabilities: np.ndarray, logs: np.ndarray, log_widths: np.ndarray, scores: np.ndarray | None = None
) -> Answers:
    """Return answers about a class, for rows that have no scores unless some are given."""
    scores = np.zeros((len(logs), 0)) if scores is None else scores
    return Answers(probabilities, logs, log_widths, scores, np.eye(probabilities.shape[1]))


def rows(n: int = 400) -> pd.DataFrame:
    """Return a class, a number that depends on it, one that depends on both, and a level."""
    rng = np.random.default_rng(2)
    sick = rng.integers(2, size=n)
    dose = rng.normal(size=n) + sick
    weight = dose * (1 + sick) + rng.normal(scale=0.5, size=n)
    place = np.where(rng.random(n) < 0.3 + 0.3 * sick, "north", "south")
    return pd.DataFrame({"sick": np.where(sick, "yes", "no"), "dose": dose, "weight": weight, "place": place})


@pytest.fixture(scope="module")
def network() -> DiscretizedBayesNet:
    return BayesNetLearner(max_seconds=None, max_evaluations=2_000, random_state=1).fit(rows()).network_


def test_families_of_complete_rows_add_up_to_the_answer_of_the_network(network):
    frame = rows().iloc[:50]
    names = network.names
    logs = family_logs(network, frame, "sick", np.arange(2, dtype=np.int32), names).sum(axis=2)
    expected = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(network.predict_proba(frame, "sick").to_numpy(), expected, rtol=1e-6)


def test_families_of_a_number_add_up_to_the_density_at_its_values(network):
    frame = rows().iloc[:5]
    values = np.quantile(rows()["dose"], [0.2, 0.5, 0.8])
    logs = family_logs(network, frame, "dose", values, network.names).sum(axis=2)
    for k, value in enumerate(values):
        density = network.log_density(frame.assign(dose=value))
        first = network.log_density(frame.assign(dose=values[0]))
        np.testing.assert_allclose(logs[:, k] - logs[:, 0], density - first, rtol=1e-6, atol=1e-9)


def test_families_with_missing_members_say_nothing(network):
    frame = rows().iloc[:6].assign(weight=np.nan)
    names = network.names
    logs = family_logs(network, frame, "sick", np.arange(2, dtype=np.int32), names)
    for k, name in enumerate(names):
        members = (name, *network.parents(name))
        is_known = "sick" in members and "weight" not in members
        assert bool(np.any(logs[:, :, k])) == is_known, name


def test_weights_of_one_leave_answers_alone():
    probabilities = np.array([[0.7, 0.2, 0.1], [1.0, 0.0, 0.0], [1e-300, 1 - 1e-16, 1e-16]])
    answers = of(probabilities, np.zeros((3, 3, 1)), np.zeros(3))
    assert Weights().applied(answers, ["a"]) is probabilities
    for power in (0.2, 1.4):
        raised = Weights(power).applied(answers, ["a"])
        np.testing.assert_allclose(raised.sum(axis=1), 1)
        np.testing.assert_array_equal(raised.argsort(axis=1), probabilities.argsort(axis=1))
    raised = Weights(2.0).applied(of(probabilities[:1], np.zeros((1, 3, 1)), np.zeros(3)), ["a"])
    np.testing.assert_allclose(raised, [[0.49 / 0.54, 0.04 / 0.54, 0.01 / 0.54]])


def test_doubt_bounds_the_loss_of_a_row():
    answers = of(np.array([[1.0, 0.0]]), np.zeros((1, 2, 0)), np.zeros(2))
    mixed = Weights(doubt=0.1, prior=np.array([0.8, 0.2])).applied(answers, [])
    np.testing.assert_allclose(mixed, [[0.98, 0.02]])


def test_powers_of_cells_are_those_of_densities():
    # a uniform density stays uniform, however wide its cells are
    widths = np.array([0.5, 2.0, 1.5])
    answers = of(widths[None] / 4, np.zeros((1, 3, 0)), np.log(widths))
    np.testing.assert_allclose(Weights(0.3).applied(answers, []), widths[None] / 4)


def evidence(n: int, copies: int) -> tuple[Answers, np.ndarray]:
    """Return answers of a network that counts one finding several times, and another finding once, and the truth."""
    rng = np.random.default_rng(7)
    codes = rng.integers(2, size=n).astype(np.int32)
    signs = 2 * codes - 1
    findings = [signs + rng.normal(scale=1.5, size=n) for _ in range(2)]
    # ln p(finding | 1) - ln p(finding | 0) of a normal finding
    ratios = np.column_stack([2 * finding / 1.5**2 for finding in findings])
    logs = np.stack([np.zeros_like(ratios), ratios], axis=1)
    total = logs @ np.array([copies, 1.0])
    probabilities = np.exp(total - total.max(axis=1, keepdims=True))
    copied = np.concatenate([np.repeat(logs[:, :, :1], copies, axis=2), logs[:, :, 1:]], axis=2)
    return of(probabilities / probabilities.sum(axis=1, keepdims=True), copied, np.zeros(2)), codes


def test_copies_of_a_finding_share_its_weight():
    answers, codes = evidence(4_000, copies=4)
    names, loss = ["a", "b", "c", "d", "e"], log_loss(codes)
    free = fitted_weights(answers, loss, names, (1.0, 0.0))
    assert abs(sum(free.of_families[name] for name in names[:4]) - 1) < 0.15
    assert abs(free.of_families["e"] - 1) < 0.15
    # a single power has to choose between the two
    plain = fitted_weights(answers, loss, names, (0.0, 0.0))
    assert not plain.of_families
    assert 0.25 < plain.power < 0.9
    losses = [loss(weights.applied(answers, names))[0].mean() for weights in (free, plain)]
    assert losses[0] < losses[1] - 0.01


def test_weights_have_the_least_loss_of_all_near_them():
    answers, codes = evidence(500, copies=2)
    names, loss = ["a", "b", "c"], log_loss(codes)
    fitted = fitted_weights(answers, loss, names, (0.3, 0.0))
    excess = np.array([fitted.of_families[name] - fitted.power for name in names])
    doubt, prior = 1 / 501, answers.probabilities.mean(axis=0)

    def total(power: float, excess: np.ndarray) -> float:
        of_prior = np.log(power) ** 2 / (2 * 0.5**2) + (excess**2).sum() / (2 * 0.3**2)
        weights = Weights(power, dict(zip(names, (power + excess).tolist(), strict=True)), doubt, prior)
        return float(loss(weights.applied(answers, names))[0].sum() + of_prior)

    least = total(fitted.power, excess)
    rng = np.random.default_rng(0)
    for _ in range(40):
        step = rng.normal(scale=0.05, size=1 + len(excess))
        assert total(fitted.power * np.exp(step[0]), excess + step[1:]) > least - 1e-3


def test_slopes_are_those_of_a_logistic_regression_where_the_network_knows_nothing():
    rng = np.random.default_rng(4)
    scores = rng.normal(size=(600, 3))
    chances = np.exp(scores @ rng.normal(size=(3, 3)))
    codes = (rng.random(600)[:, None] > np.cumsum(chances / chances.sum(axis=1, keepdims=True), axis=1)).sum(
        axis=1
    )
    codes = codes.astype(np.int32)
    silent = of(np.full((600, 3), 1 / 3), np.zeros((600, 3, 0)), np.zeros(3), scores)
    fitted = fitted_weights(silent, log_loss(codes), [], (0.0, 0.5))
    # the penalty of a deviation d is that of C = d^2; the doubt is small
    regression = LogisticRegression(C=0.25, fit_intercept=False, tol=1e-8).fit(scores, codes)
    np.testing.assert_allclose(fitted.slopes, regression.coef_.T, atol=0.03)
    expected = (1 - fitted.doubt) * regression.predict_proba(scores) + fitted.doubt / 3
    np.testing.assert_allclose(fitted.applied(silent, []), expected, atol=0.01)


def test_slopes_mend_what_the_families_do_not_say():
    answers, codes = evidence(2_000, copies=1)
    unsaid = 0.8 * (2 * codes - 1) + np.random.default_rng(1).normal(size=2_000)
    answers = of(answers.probabilities, answers.logs, answers.log_widths, unsaid[:, None])
    names, loss = ["a", "b"], log_loss(codes)
    losses = []
    for freedom in ((0.5, 0.0), (0.5, 0.5)):
        weights = fitted_weights(answers, loss, names, freedom)
        losses.append(loss(weights.applied(answers, names))[0].mean())
    assert losses[1] < losses[0] - 0.05
    # ln p(score | 1) - ln p(score | 0) of a normal score is 2 * .8 times the score
    assert abs(weights.slopes[0, 1] - weights.slopes[0, 0] - 1.6) < 0.2


def test_a_sum_of_levels_that_decides_a_class_is_learned():
    rng = np.random.default_rng(3)
    scores = rng.choice([-0.5, 0.5], size=(600, 9))
    codes = (scores.sum(axis=1) > 0).astype(np.int32)
    answers = of(np.full((600, 2), 0.5), np.zeros((600, 2, 1)), np.zeros(2), scores)
    _, losses = _weighted(answers, codes, log_loss, ["a"])
    peer = LogisticRegression(C=25.0).fit(scores[:400], codes[:400])
    assert losses.mean() < log_loss(codes[400:])(peer.predict_proba(scores[400:]))[0].mean() + 0.01


def test_a_slope_of_a_number_moves_its_mean():
    rng = np.random.default_rng(8)
    score = rng.normal(size=3_000)
    values = 0.6 * score + rng.normal(size=3_000)
    cells = Cells.of(rng.normal(size=20_000) * 1.2)
    widths = np.diff(cells.edges)
    # a network that knows the distribution of the number alone
    height = np.exp(-(cells.values**2) / (2 * 1.36)) * widths
    known = np.broadcast_to(height / height.sum(), (3_000, len(widths)))
    statistics = ((cells.values - cells.values.mean()) / cells.values.std())[None]
    answers = Answers(known, np.zeros((3_000, len(widths), 0)), np.log(widths), score[:, None], statistics)
    weights = fitted_weights(answers, lambda p: crps(cells, p, values), [], (0.0, 0.5), unit=0.5)
    means = weights.applied(answers, []) @ cells.values
    slope = np.polyfit(score, means, 1)[0]
    assert abs(slope - 0.6) < 0.05


def test_rows_that_no_weight_explains_raise_the_doubt():
    answers, codes = evidence(2_000, copies=1)
    names, wrong = ["a", "b"], codes.copy()
    wrong[::50] = 1 - wrong[::50]
    sure = of(answers.probabilities, 4 * answers.logs[:, :, [0, -1]], answers.log_widths)
    doubts = [fitted_weights(sure, log_loss(of_rows), names, (0.1, 0.0)).doubt for of_rows in (codes, wrong)]
    assert 1 / 2_001 <= doubts[0] <= doubts[1]


def test_slopes_of_scores_are_their_differences():
    rng = np.random.default_rng(3)
    cells = Cells.of(rng.normal(size=12))
    probabilities = rng.dirichlet(np.ones(len(cells.values)), 4)
    values = np.array([-5.0, cells.values[3], 0.1, 5.0])
    scores, slopes = crps(cells, probabilities, values)
    step = 1e-6
    for k in range(len(cells.values)):
        moved = probabilities.copy()
        moved[:, k] += step
        difference = (crps(cells, moved, values)[0] - scores) / step
        np.testing.assert_allclose(slopes[:, k], difference, rtol=1e-3, atol=1e-4)


def test_answers_over_cells_are_those_of_the_density(network):
    frame = rows().iloc[:20]
    cells = Cells.of(rows()["dose"].to_numpy())
    logs = family_logs(network, frame, "dose", cells.values, network.names).sum(axis=2)
    widths = np.diff(cells.edges)
    by_values = np.exp(logs) * widths
    by_values /= by_values.sum(axis=1, keepdims=True)
    answers = cell_probabilities(network, frame, "dose", cells)
    assert np.abs(np.cumsum(by_values, axis=1) - np.cumsum(answers, axis=1)).max() < 0.1
