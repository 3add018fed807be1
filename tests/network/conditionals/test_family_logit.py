"""Logits of discrete columns: probabilities, cells, draws, files and further rows, against formulas and each other."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy
from averaged_examples import conditionals_of
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from gomea_bn import DiscretizedBayesNet, GomeaBnError, average_families
from gomea_bn.network.conditionals import FamilyLogit

N_ROWS = 1_500


def graded_frame(n_rows: int = N_ROWS, seed: int = 0) -> pd.DataFrame:
    """Return rows in which the grade, one of three, rises with x and with the group c."""
    generator = np.random.default_rng(seed)
    x, c = generator.uniform(-2, 2, n_rows), generator.integers(0, 2, n_rows)
    noisy = 3 * np.sin(x) + 1.5 * c + generator.logistic(size=n_rows)
    grade = pd.Categorical(
        np.array(["low", "mid", "high"])[np.searchsorted([-1.0, 1.0], noisy)], ["low", "mid", "high"]
    )
    return pd.DataFrame({"x": x, "c": pd.Categorical(np.where(c, "new", "old")), "grade": grade})


def true_logs(frame: pd.DataFrame) -> NDArray[np.float64]:
    """Return the log probability of every row's grade in `graded_frame`."""
    index = 3 * np.sin(frame["x"].to_numpy()) + 1.5 * (frame["c"] == "new").to_numpy()
    below = scipy.special.expit(np.array([-1.0, 1.0]) - index[:, None])
    probabilities = np.diff(below, axis=1, prepend=0.0, append=1.0)
    return np.log(probabilities[np.arange(len(frame)), frame["grade"].cat.codes.to_numpy()])


def averaged_network(frame: pd.DataFrame) -> DiscretizedBayesNet:
    network = DiscretizedBayesNet.from_table(
        frame, [("x", "grade"), ("c", "grade")], {"x": np.array([-0.5, 0.5])}, pseudo_count=1.0
    )
    return average_families(network, frame, n_copies=2)


@pytest.fixture(scope="module")
def network() -> DiscretizedBayesNet:
    """A network in which the grade follows a logit."""
    return averaged_network(graded_frame())


def logit_of(network: DiscretizedBayesNet) -> FamilyLogit:
    line = conditionals_of(network).lines["grade"]
    assert isinstance(line, FamilyLogit)
    return line


def inside(network: DiscretizedBayesNet, frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["x"].between(*network.support["x"])]


def test_smooth_odds_predict_new_rows_better_than_bins(network: DiscretizedBayesNet) -> None:
    new = inside(network, graded_frame(4_000, seed=1))
    by_tables = average_families(network.of_tables(), graded_frame(), n_copies=2, line="none")
    logs, of_tables = (net.log_density_terms(new)["grade"] for net in (network, by_tables))
    assert logit_of(network).weight > 0.6
    assert "logit of curves" in logit_of(network).words
    assert "a logit of curves" in network.summary()
    gain = logs - of_tables
    assert gain.mean() > 5 * gain.std() / np.sqrt(len(gain))
    assert (true_logs(new) - logs).mean() < 0.02


def test_probabilities_are_those_of_the_formula(network: DiscretizedBayesNet) -> None:
    from gomea_bn.network.conditionals.scales import ProbabilityScale

    logit, known, frame = logit_of(network), conditionals_of(network), graded_frame().iloc[:50]
    z = ProbabilityScale(known.scales["x"], known.n_rows).of_values(frame["x"].to_numpy())
    of_tables = network.changed(conditionals=known.changed(lines={})).log_density_terms(frame)["grade"]
    logs = network.log_density_terms(frame)["grade"]
    position = {level: code for code, level in enumerate(network.levels["grade"])}
    for row in range(len(frame)):
        hinges = [max(z[row] - knot, 0.0) for knot in logit.knots[0]]
        terms = [z[row], *hinges, *([z[row] ** 2] if logit.has_products else [])]
        group = network.levels["c"].index(frame["c"].iloc[row])
        index = float(np.dot(logit.coefficients, terms)) + logit.amounts[0][group]
        odds = np.exp(logit.constants + logit.positions * index)
        probability = (odds / odds.sum())[position[frame["grade"].iloc[row]]]
        expected = np.log((1 - logit.weight) * np.exp(of_tables[row]) + logit.weight * probability)
        assert logs[row] == pytest.approx(expected)


def test_answers_follow_the_curve_and_agree_with_draws(network: DiscretizedBayesNet) -> None:
    levels = network.levels["grade"]
    for x in (-1.5, 0.0, 1.2):
        answer = network.query("grade", {"x": x, "c": "old"})
        frame = pd.DataFrame({"x": [x] * 3, "c": ["old"] * 3, "grade": levels})
        exact = np.exp(network.log_density_terms(frame)["grade"])
        assert exact.sum() == pytest.approx(1)
        assert_allclose(answer.to_numpy(), exact, atol=1e-6)
    drawn = network.sample(60_000, random_state=1)
    marginal = network.query("grade", {})
    shares = drawn["grade"].astype(str).value_counts(normalize=True)
    of_rows = graded_frame()["grade"].astype(str).value_counts(normalize=True)
    for level, probability in zip(levels, marginal, strict=True):
        assert shares[str(level)] == pytest.approx(probability, abs=0.01)
        # the answer is made of draws too
        assert shares[str(level)] == pytest.approx(of_rows[str(level)], abs=0.03)


def test_cells_of_a_parent_have_the_mean_probability_over_the_cell(network: DiscretizedBayesNet) -> None:
    from gomea_bn.network.conditionals.columns import Columns

    family = network.families["grade"]
    assert family.of_line is not None
    low, high = 0.1, 0.9
    cell = Columns({"x": np.array([0.5]), "c": np.array([0])}, {"x": (np.array([low]), np.array([high]))})
    of_cell = family.of_line.masses(None, cell)[0]
    points = np.linspace(low, high, 2_001)
    of_points = family.of_line.masses(None, Columns({"x": points, "c": np.zeros(2_001, np.int64)}))
    at_middle = family.of_line.masses(None, Columns({"x": np.array([0.5]), "c": np.array([0])}))[0]
    error, of_middle = (np.abs(part - of_points.mean(axis=0)).max() for part in (of_cell, at_middle))
    assert of_cell.sum() == pytest.approx(1)
    assert error < 0.01
    assert error < of_middle


def test_files_keep_logits(network: DiscretizedBayesNet) -> None:
    content = json.loads(json.dumps(logit_of(network).to_content()))
    assert FamilyLogit.from_content(content).to_content() == logit_of(network).to_content()
    assert DiscretizedBayesNet.from_json(network.to_json()) == network


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("parents", "x", "parents of a logit must be a list of names"),
        ("constants", ["a", "b", "c"], "must be numbers"),
        ("information", [1.0, 2.0], "information of a logit"),
        ("positions", [0.0, 1.0], "one coefficient per term"),
        ("weight", 1.0, "weight between 0 and 1"),
        ("knots", [[float("nan")]], "all finite"),
    ],
)
def test_damaged_files_are_refused(
    network: DiscretizedBayesNet, part: str, value: object, message: str
) -> None:
    content = {**logit_of(network).to_content(), part: value}
    with pytest.raises(GomeaBnError, match=message):
        FamilyLogit.from_content(content)


def test_logits_that_do_not_fit_the_network_are_refused(network: DiscretizedBayesNet) -> None:
    known, logit = conditionals_of(network), logit_of(network)
    for lines, message in (
        ({"x": logit}, "lines\\['x'\\] must be a FamilyLine or a FamilyMixture"),
        ({"c": logit}, "must have the continuous parents"),
        ({"grade": replace(logit, parents=("y",))}, "must have the continuous parents"),
    ):
        with pytest.raises(GomeaBnError, match=message):
            network.changed(conditionals=known.changed(lines=lines))


def test_further_rows_move_a_logit_as_if_it_had_seen_them(network: DiscretizedBayesNet) -> None:
    further = inside(network, graded_frame(6_000, seed=2))
    new = inside(network, graded_frame(4_000, seed=3))
    few = averaged_network(graded_frame(300, seed=4))
    rows = inside(few, further)
    updated = few.update(rows)
    test = inside(few, new)
    before, after = (net.log_density_terms(test)["grade"].mean() for net in (few, updated))
    assert after > before + 0.003
    assert (true_logs(test) - updated.log_density_terms(test)["grade"]).mean() < 0.02
    # the same rows again say nothing new
    again = inside(network, graded_frame())
    same = network.update(again)
    logs, former = (net.log_density_terms(again)["grade"] for net in (same, network))
    assert np.abs(logs - former).mean() < 0.02
    assert_allclose(logit_of(same).information, 2 * logit_of(network).information, rtol=0.2, atol=60)
