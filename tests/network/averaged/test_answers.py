"""Answers of averaged networks: estimates against exact answers and against drawn rows, exact ones, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from averaged_examples import LEVELS, averaged_example, copy_with

from gomea_bn import AveragedBayesNet, DiscretizedBayesNet, GomeaBnError
from gomea_bn.network.value_kinds import ValueKind

N_DRAWS = 20_000


@pytest.fixture(scope="module")
def averaged() -> AveragedBayesNet:
    return averaged_example()


@pytest.fixture(scope="module")
def of_tables() -> AveragedBayesNet:
    """Return an average of one network, whose density is that of its tables."""
    network = copy_with(1)
    return AveragedBayesNet(network, [network], n_rows=60)


@pytest.mark.parametrize(
    ("targets", "evidence"),
    [
        ("d", None),
        ("b", {"a": 0.3, "g": "yes"}),
        ("a", {"d": 2, "b": 5.6}),
        (["g", "c"], {"d": {0, 1}, "p": None}),
        ("g", {"d": {0: 0.2, 2: 1.0}, "a": (0.5, None)}),
        ("p", {"b": {(5.0, 5.4), (6.5, 6.9)}}),
        ("a", {"b": (7.5, 8.0)}),
        ("a", {"b": {(7.5, 8.0): 1.0, (2.0, 3.0): 4.0, (5.0, 5.2): 6.0}}),
        ("p", {"c": {pd.Interval(0.0, 0.3, closed="right"): 3.0, pd.Interval(0.6, 0.9): 1.0}}),
    ],
)
@pytest.mark.filterwarnings("ignore:Values outside")
def test_estimates_without_lines_agree_with_exact_answers(
    of_tables: AveragedBayesNet, targets: Any, evidence: Any
) -> None:
    answer = of_tables.query(targets, evidence, method="sampling", n_draws=N_DRAWS, random_state=1)
    exact = of_tables.network.query(targets, evidence)
    assert answer.index.equals(exact.index)
    assert np.isclose(answer.sum(), 1)
    error = answer.attrs["standard_error"]
    assert 0 < error < 0.05
    assert np.abs(answer - exact).max() < 4 * error


def test_standard_errors_are_the_spread_of_repeated_estimates(averaged: AveragedBayesNet) -> None:
    answers = [
        averaged.query("g", {"b": 5.7, "c": (0.2, 0.6)}, method="sampling", n_draws=500, random_state=seed)
        for seed in range(200)
    ]
    spread = np.std([answer.to_numpy()[0] for answer in answers])
    assert np.isclose(np.mean([answer.attrs["standard_error"] for answer in answers]), spread, rtol=0.2)


def test_estimates_include_lines(averaged: AveragedBayesNet) -> None:
    rows = averaged.sample(200_000, random_state=3, values="numbers")
    chosen = rows[rows["b"].between(5.4, 5.6) & (rows["g"] == "no")]
    answer = averaged.query(
        "a", {"b": (5.4, 5.6), "g": "no"}, method="sampling", n_draws=N_DRAWS, random_state=2
    )
    codes = np.searchsorted(averaged.network.cut_points["a"], chosen["a"])
    expected = np.bincount(codes, minlength=len(answer)) / len(chosen)
    error = np.hypot(answer.attrs["standard_error"], 0.5 / np.sqrt(len(chosen)))
    assert np.abs(answer.to_numpy() - expected).max() < 4 * error
    # the tables of the network that is shown do not know the line
    assert np.abs(averaged.query("a", {"b": (5.4, 5.6), "g": "no"}) - expected).max() > 8 * error


def test_probabilities_of_levels_are_ratios_of_joint_densities(averaged: AveragedBayesNet) -> None:
    rows = averaged.sample(30, random_state=1, values="numbers")
    for target in ("g", "d"):
        joint = np.column_stack(
            [np.exp(averaged.log_density(rows.assign(**{target: level}))) for level in LEVELS[target]]
        )
        answer = averaged.predict_proba(rows.drop(columns=target), target)
        np.testing.assert_allclose(answer, joint / joint.sum(axis=1, keepdims=True), atol=1e-12)
        predicted = averaged.predict(rows, target)
        assert predicted.tolist() == [LEVELS[target][code] for code in joint.argmax(axis=1)]
        assert list(predicted.cat.categories) == list(LEVELS[target])


def test_rows_with_missing_cells_are_estimated(averaged: AveragedBayesNet) -> None:
    rows = averaged.sample(3, random_state=5, values="numbers")
    exact = averaged.predict_proba(rows, "g")
    rows.loc[1, "c"] = np.nan
    with pytest.raises(GomeaBnError, match="missing cells"):
        averaged.predict_proba(rows, "g")
    answer = averaged.predict_proba(rows, "g", method="sampling", n_draws=N_DRAWS, random_state=1)
    # all other cells of the first row are known, so that only the weights of the two levels are estimated
    assert np.abs(answer.iloc[0] - exact.iloc[0]).max() < 5 * answer.attrs["standard_error"][0] + 1e-12
    one = averaged.query(
        "g",
        {str(name): value for name, value in rows.drop(columns="g").iloc[1].items()},
        method="sampling",
        n_draws=N_DRAWS,
        random_state=2,
    )
    errors = one.attrs["standard_error"] + answer.attrs["standard_error"][1]
    assert np.abs(answer.iloc[1].to_numpy() - one.to_numpy()).max() < 4 * errors


def test_what_is_not_known_is_refused(averaged: AveragedBayesNet) -> None:
    rows = averaged.sample(3, random_state=5)
    for call in (
        lambda: averaged.predict_proba(rows, "b"),
        lambda: averaged.predict(rows, "b"),
        lambda: averaged.predict_interval(rows, "b"),
        lambda: averaged.impute(rows),
    ):
        with pytest.raises(GomeaBnError, match=r"An averaged network has no .*attribute network"):
            call()
    with pytest.raises(GomeaBnError, match="unknown variable 'z'"):
        averaged.query("z", method="sampling")
    with pytest.raises(GomeaBnError, match="both target and evidence"):
        averaged.query("a", {"a": 1.0}, method="sampling")
    with pytest.raises(GomeaBnError, match="agrees with the evidence"):
        averaged.query("a", {"b": (5.1, 5.1 + 1e-9)}, method="sampling", n_draws=50)
    with pytest.raises(GomeaBnError, match="n_draws"):
        averaged.query("a", method="sampling", n_draws=0)


def test_rows_have_the_kinds_of_their_columns() -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {
            "age": rng.integers(18, 90, 200),
            "size": pd.Categorical(rng.choice(["s", "m"], 200), ["s", "m"], ordered=True),
            "weight": rng.normal(70, 9, 200).round(1),
            "visit [days since 2024-01-01]": rng.integers(0, 365, 200).astype(float),
        }
    )
    names = list(rows.columns)
    network = DiscretizedBayesNet.from_table(
        rows, [("age", "weight")], {"age": [40.0, 65.0], "weight": [70.0], names[3]: []}
    )
    assert network.value_kinds["weight"] == ValueKind(step=0.1)
    averaged = AveragedBayesNet(network, [network], n_rows=200)
    own, grid, numbers = (
        averaged.sample(50, random_state=1, values=values) for values in ("own", "grid", "numbers")
    )
    assert own["age"].dtype == np.int64
    assert own["size"].cat.ordered
    assert own.columns.tolist() == network.sample(1, random_state=0).columns.tolist()
    assert own.dtypes.tolist() == network.sample(1, random_state=0).dtypes.tolist()
    np.testing.assert_array_equal(grid["weight"], grid["weight"].round(1))
    assert (own["weight"] != own["weight"].round(1)).any()
    assert numbers["age"].dtype == np.float64
    np.testing.assert_array_equal(np.abs(own["age"] - numbers["age"]) < 1, True)
    with pytest.raises(GomeaBnError, match="values must be"):
        averaged.sample(3, values="text")


def test_densities_of_rows_with_missing_cells_say_which_network_has_them(averaged: AveragedBayesNet) -> None:
    rows = averaged.sample(3, random_state=1)
    name = next(iter(averaged.network.cut_points))
    rows.loc[1, name] = np.nan
    for of_rows in (averaged.log_density, averaged.score):
        with pytest.raises(GomeaBnError, match=rf"missing cells, as in '{name}': .*its attribute network"):
            of_rows(rows)
    assert np.isfinite(averaged.network.log_density(rows)).all()
