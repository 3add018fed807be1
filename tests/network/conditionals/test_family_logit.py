"""Logits of discrete columns: probabilities, cells, draws, files and further rows, against formulas and each other."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy
from averaged_examples import conditionals_of, lines_of, weight_of, with_lines
from conditional_oracles import slow_density, slow_sum
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, GomeaBnError, average_families, fit_shape
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
    return average_families(network, frame, n_copies=2, prefer="density")


@pytest.fixture(scope="module")
def network() -> DiscretizedBayesNet:
    """A network in which the grade follows a logit."""
    return averaged_network(graded_frame())


def logit_of(network: DiscretizedBayesNet) -> FamilyLogit:
    line = lines_of(network)["grade"]
    assert isinstance(line, FamilyLogit)
    return line


def inside(network: DiscretizedBayesNet, frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["x"].between(*network.support["x"])]


def test_smooth_odds_predict_new_rows_better_than_bins(network: DiscretizedBayesNet) -> None:
    new = inside(network, graded_frame(4_000, seed=1))
    by_tables = average_families(network.of_tables(), graded_frame(), n_copies=2, line="none")
    logs, of_tables = (net.log_density_terms(new)["grade"] for net in (network, by_tables))
    assert weight_of(network, "grade") > 0.6
    assert "logistic regression on curves" in logit_of(network).words
    assert "a logistic regression on curves" in network.summary()
    gain = logs - of_tables
    assert gain.mean() > 5 * gain.std() / np.sqrt(len(gain))
    assert (true_logs(new) - logs).mean() < 0.02


def test_probabilities_are_those_of_the_formula(network: DiscretizedBayesNet) -> None:
    logit, known = logit_of(network), conditionals_of(network)
    rows = graded_frame().iloc[:50].astype({"grade": str, "c": str})
    alone = with_lines(network, {"grade": (1.0, logit)})
    logs = network.log_density_terms(rows)["grade"]
    for row, record in enumerate(rows.to_dict("records")):
        index = slow_sum(network, known, logit.terms, logit.coefficients[0], record)
        odds = np.exp(logit.constants + logit.positions[0] * index)
        probability = (odds / odds.sum())[network.levels["grade"].index(record["grade"])]
        assert alone.log_density_terms(rows.iloc[[row]])["grade"][0] == pytest.approx(np.log(probability))
        assert logs[row] == pytest.approx(np.log(slow_density(network, "grade", record)))


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

    from gomea_bn.network.conditionals import Columns

    density = logit_of(network).given("grade", network.families["grade"].facts)
    low, high = 0.1, 0.9
    cell = Columns({"x": np.array([0.5]), "c": np.array([0])}, {"x": (np.array([low]), np.array([high]))})
    of_cell = density.masses(None, cell)[0]
    points = np.linspace(low, high, 2_001)
    of_points = density.masses(None, Columns({"x": points, "c": np.zeros(2_001, np.int64)}))
    at_middle = density.masses(None, Columns({"x": np.array([0.5]), "c": np.array([0])}))[0]
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
        ("positions", [0.0, 1.0], "one coefficient per term"),
        ("coefficients", [0.0, 1.0], "one coefficient per term"),
        ("constants", [float("nan")] * 3, "must be finite numbers"),
        ("functions", 5, "must be lists"),
    ],
)
def test_damaged_files_are_refused(
    network: DiscretizedBayesNet, part: str, value: object, message: str
) -> None:
    content = {**logit_of(network).to_content(), part: value}
    with pytest.raises(GomeaBnError, match=message):
        FamilyLogit.from_content(content)


def test_logits_that_do_not_fit_the_network_are_refused(network: DiscretizedBayesNet) -> None:
    logit = logit_of(network)
    for lines, message in (
        ({"x": logit}, "'x' is continuous and cannot follow a logit"),
        ({"c": logit}, "The effects on 'c' are of 'x', which is no parent"),
        ({"grade": replace(logit, parents=("y",))}, "The effects on 'grade' are of 'y', which is no parent"),
        (
            {"grade": replace(logit, groups=())},
            "The effects on 'grade' are of 'c', which is no discrete parent",
        ),
        (
            {"grade": replace(logit, constants=np.zeros(2), positions=np.zeros(2))},
            "constants of 3 levels, got 2",
        ),
    ):
        with pytest.raises(GomeaBnError, match=message):
            with_lines(network, {name: (0.5, one) for name, one in lines.items()})


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


def class_rows(
    generator: np.random.Generator, n_rows: int, noise: float, shift: float, n_levels: int
) -> pd.DataFrame:
    """Return rows of a class that depends on x, sharply without noise, and on a group."""
    x, group = np.clip(generator.normal(size=n_rows) + shift, -3, 3), generator.integers(0, 2, n_rows)
    index = x + group + noise * generator.logistic(size=n_rows)
    levels = pd.Index(["a", "b", "c"][:n_levels])
    kind = np.searchsorted([0.0, 1.2][: n_levels - 1], index)
    return pd.DataFrame(
        {"x": x, "group": np.array(["p", "q"])[group], "kind": pd.Categorical.from_codes(kind, levels)}
    )


def class_network(frame: pd.DataFrame) -> DiscretizedBayesNet:
    shape = fit_shape(frame["x"].to_numpy(), ()).shape
    network = DiscretizedBayesNet.from_table(
        frame,
        [("x", "kind"), ("group", "kind")],
        {"x": [-0.5, 0.5]},
        pseudo_count="auto",
        shapes={"x": shape},
    )
    return average_families(network, frame, n_copies=2, prefer="density")


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(16))
def test_an_update_is_near_a_fit_to_all_rows(seed: int) -> None:
    generator = np.random.default_rng(seed)
    noise, n_levels = (0.0, 0.1, 0.3, 1.0)[seed % 4], 2 + seed % 3 // 2
    former = class_rows(generator, int(generator.integers(150, 600)), noise, 0.0, n_levels)
    former.loc[:1, "x"] = [-3.0, 3.0]
    further = class_rows(generator, int(generator.integers(20, 600)), noise, generator.normal(), n_levels)
    if seed % 2:
        # most rows contradict the former ones
        further.loc[generator.random(len(further)) < 0.8, "kind"] = "a"
    network, of_all = class_network(former), class_network(pd.concat([former, further], ignore_index=True))
    updated = network.update(further)
    assert_allclose(updated.query("kind"), of_all.query("kind"), atol=0.02)


def sharp_rows(n_rows: int = 200) -> pd.DataFrame:
    x = np.random.default_rng(0).normal(size=n_rows)
    return pd.DataFrame({"x": x, "kind": np.where(x > 0, "a", "b")})


def sharp_network(frame: pd.DataFrame, **options: Any) -> DiscretizedBayesNet:
    learner = BayesNetLearner(prefer="density", max_evaluations=100, max_seconds=None, random_state=1)
    network = learner.fit(frame, **options).network_
    # tables of weighted rows may be sharp too
    assert options or isinstance(lines_of(network)["kind"], FamilyLogit)
    return network


def test_rows_without_a_class_leave_a_sharp_logit_as_it_is() -> None:
    network = sharp_network(sharp_rows())
    rows = pd.DataFrame({"x": np.random.default_rng(1).uniform(-1, 1, 5_000), "kind": None})
    updated = network.update(rows)
    before, after = (lines_of(known)["kind"] for known in (network, updated))
    assert isinstance(before, FamilyLogit)
    assert isinstance(after, FamilyLogit)
    assert_allclose(after.constants, before.constants, atol=1e-9)
    assert_allclose(after.coefficients, before.coefficients, atol=1e-9)


def test_classes_without_the_parent_move_it() -> None:
    updated = sharp_network(sharp_rows()).update(pd.DataFrame({"x": np.nan, "kind": ["a"] * 200}))
    assert updated.query("kind")["a"] == pytest.approx((200 + 102) / 400, abs=0.03)
    probabilities = updated.predict_proba(pd.DataFrame({"x": [-1.0, 1.0]}), "kind")["a"]
    assert_allclose(probabilities, [0, 1], atol=0.02)


def test_large_weights_leave_a_sharp_logit_finite() -> None:
    network = sharp_network(sharp_rows())
    rows = pd.DataFrame({"x": np.linspace(*network.support["x"], 50), "kind": "a"})
    for weight in (1e-300, 1.0, 1e8, 1e13):
        updated = network.update(rows, weight)
        assert updated.query("kind")["a"] == pytest.approx(
            (102 + 50 * weight) / (200 + 50 * weight), abs=0.02
        )


@pytest.mark.parametrize("forget", [100.0, 1_000.0])
def test_a_sharp_logit_forgets_by_the_weights_of_rows(forget: float) -> None:
    updated = sharp_network(sharp_rows()).update(sharp_rows().assign(kind="a"), forget=forget)
    newest, former = (0.5 ** (np.arange(200) / forget)).sum(), 0.5 ** (200 / forget)
    assert updated.query("kind")["a"] == pytest.approx(
        (102 * former + newest) / (200 * former + newest), abs=0.02
    )


def test_a_sharp_logit_of_weighted_rows_has_their_share() -> None:
    rows = sharp_rows(400)
    weights = np.where(rows["x"] > 0, 0.5, 1.0) + np.random.default_rng(1).random(400)
    network = sharp_network(rows, sample_weight=weights)
    share = weights[rows["kind"] == "a"].sum() / weights.sum()
    assert network.query("kind")["a"] == pytest.approx(share, abs=0.02)
    assert_allclose(network.predict_proba(pd.DataFrame({"x": [-0.5, 0.5]}), "kind")["a"], [0, 1], atol=0.03)
