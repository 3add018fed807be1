"""Explanations of answers: against enumeration, permutations, finite differences and drawn tables."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from averaged_examples import averaged_example
from hypothesis import given
from hypothesis import strategies as st
from inference_examples import slow_joint
from network_examples import slow_code, small_network

from gomea_bn import DiscretizedBayesNet, GomeaBnError
from gomea_bn.network.bin_distributions import BinDistributions


def slow_answer(network: DiscretizedBayesNet, target: str, state: object, findings: dict[str, Any]) -> float:
    """Return the mean of a continuous target or the probability of a level, by enumeration of a network of tables."""
    likelihoods = {name: np.ones(network.cardinality(name)) for name in network.names}
    for name, value in findings.items():
        likelihoods[name] = np.eye(network.cardinality(name))[slow_code(network, name, value)]
    shares = slow_joint(network, likelihoods, [target])
    shares = shares / shares.sum()
    if target in network.levels:
        return float(shares[network.levels[target].index(state)])
    return float(shares @ BinDistributions(network, target).means())


def a_question(seed: int, n: int = 4, n_findings: int = 2, n_rows: int = 50):
    network = small_network(seed, n).with_metadata(n_rows=n_rows)
    target, *others = np.random.default_rng(seed).permutation(network.names).tolist()
    row = network.sample(1, random_state=seed, values="numbers").iloc[0]
    findings = {name: row[name] for name in others[:n_findings]}
    state = None if target in network.cut_points else network.levels[target][0]
    return network, target, state, findings


@given(seed=st.integers(0, 10**6), n_findings=st.integers(0, 3))
def test_answers_are_those_of_enumeration(seed, n_findings):
    network, target, state, findings = a_question(seed, n_findings=n_findings)
    explanation = network.explain(target, findings, state=state)
    assert explanation.answer == pytest.approx(slow_answer(network, target, state, findings))
    assert explanation.baseline == pytest.approx(slow_answer(network, target, state, {}))
    for name, row in explanation.pushes.iterrows():
        rest = {other: value for other, value in findings.items() if other != name}
        assert row["without"] == pytest.approx(slow_answer(network, target, state, rest))
        assert row["low"] <= row["without"] <= row["high"]


@pytest.mark.long
@given(seed=st.integers(0, 10**6))
def test_shapley_values_are_means_over_all_orders(seed):
    network, target, state, findings = a_question(seed, n_findings=3)
    values = dict.fromkeys(findings, 0.0)
    orders = list(itertools.permutations(findings))
    for order in orders:
        for k, name in enumerate(order):
            after, before = ({n: findings[n] for n in order[:stop]} for stop in (k + 1, k))
            values[name] += slow_answer(network, target, state, after) / len(orders)
            values[name] -= slow_answer(network, target, state, before) / len(orders)
    explanation = network.explain(target, findings, state=state)
    assert explanation.pushes["shapley"].to_dict() == pytest.approx(values, abs=1e-9)


@pytest.mark.long
@given(seed=st.integers(0, 10**6), n_findings=st.integers(0, 2))
def test_columns_have_their_bits_and_the_range_of_the_answer(seed, n_findings):
    network, target, state, findings = a_question(seed, n_findings=n_findings)
    explanation = network.explain(target, findings, state=state)
    no_findings: dict[str, Any] = {}
    for frame, known in ((explanation.drivers, no_findings), (explanation.measure_next, findings)):
        assert set(frame.index) == set(network.names) - {target} - set(known)
        for name, row in frame.iterrows():
            joint = network.query([target, str(name)], known).to_numpy()
            joint = joint.reshape(network.cardinality(target), -1)
            shares, of_target = joint.sum(axis=0), joint.sum(axis=1)
            bits = np.nansum(joint * np.log2(joint / np.outer(of_target, shares)))
            assert row["bits"] == pytest.approx(bits, abs=1e-9)
            given_states = []
            for code in range(network.cardinality(str(name))):
                value: Any = code
                if name in network.levels:
                    value = network.levels[str(name)][code]
                else:
                    low, high = network.support[str(name)]
                    edges = [low, *network.cut_points[str(name)], high]
                    value = (edges[code] + edges[code + 1]) / 2
                given_states.append(slow_answer(network, target, state, {**known, str(name): value}))
            assert (row["lowest"], row["highest"]) == pytest.approx((min(given_states), max(given_states)))
            labels = network.bin_labels(str(name))
            assert given_states[labels.index(row["lowest_at"])] == pytest.approx(min(given_states))
    assert (explanation.drivers["bits"].diff().dropna() <= 1e-12).all()


@pytest.mark.long
@given(seed=st.integers(0, 10**6), n_findings=st.integers(0, 2))
def test_derivatives_are_those_of_finite_differences(seed, n_findings):
    network, target, state, findings = a_question(seed, n_findings=n_findings)
    explanation = network.explain(target, findings, state=state)
    for row in explanation.parameters.head(4).itertuples():
        table = network.tables[row.column].copy()
        names = [*network.parents(row.column), row.column]
        for codes in np.ndindex(table.shape):
            labels = [network.bin_labels(name)[code] for name, code in zip(names, codes, strict=True)]
            shown = ", ".join(
                f"{name} = {label}" for name, label in zip(names[:-1], labels[:-1], strict=True)
            )
            if (shown, labels[-1]) == (row.given, row.value):
                break
        probability, step = table[codes], 1e-6
        assert row.probability == pytest.approx(probability)
        changed = []
        for moved in (probability - step, probability + step):
            other = table.copy()
            other[codes[:-1]] *= (1 - moved) / (1 - probability)
            other[codes] = moved
            nearby = network.changed(tables={**network.tables, row.column: other})
            changed.append(slow_answer(nearby, target, state, findings))
        assert row.derivative == pytest.approx((changed[1] - changed[0]) / (2 * step), rel=1e-3, abs=1e-5)


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(4))
def test_intervals_are_those_of_drawn_tables(seed):
    network, target, state, findings = a_question(seed, n_findings=1, n_rows=2_000)
    explanation = network.explain(target, findings, state=state)
    rng = np.random.default_rng(1)
    weights = {}
    for name in network.names:
        parents = list(network.parents(name))
        shares = np.ones(()) if not parents else network.query(parents).to_numpy()
        shape = [network.cardinality(parent) for parent in parents]
        weights[name] = 2_000 * shares.reshape(shape) + 1
    answers = []
    for _ in range(400):
        tables = {}
        for name, table in network.tables.items():
            drawn = rng.gamma(np.maximum(table * weights[name][..., None], 1e-300))
            tables[name] = drawn / drawn.sum(axis=-1, keepdims=True)
        answers.append(slow_answer(network.changed(tables=tables), target, state, findings))
    width = explanation.interval[1] - explanation.interval[0]
    assert width == pytest.approx(2 * 1.645 * np.std(answers), rel=0.2, abs=1e-9)


def test_a_learned_network_answers_from_its_densities():
    network = averaged_example()
    row = network.sample(1, random_state=5, values="numbers").iloc[0]
    for target in network.names:
        explanation = network.explain(target, row=row)
        one = pd.DataFrame([row])
        expected = (
            network.predict_proba(one, target).iloc[:, explanation.state]
            if target in network.levels
            else network.predict(one, target)
        )
        assert explanation.answer == pytest.approx(float(expected.iloc[0]))
        change = explanation.answer - explanation.baseline
        assert explanation.pushes["shapley"].sum() == pytest.approx(change)
        assert explanation.interval[0] < explanation.answer < explanation.interval[1]
        assert target in str(explanation)
        assert len(explanation.measure_next) == 0


def test_directions_are_in_words():
    network = DiscretizedBayesNet(
        ["x", "y", "k"], [("x", "y"), ("k", "y")],
        cut_points={"x": [1.0, 2.0], "y": [5.0]}, support={"x": (0.0, 3.0), "y": (0.0, 10.0)},
        levels={"k": ["a", "b"]},
        tables={"x": [0.3, 0.4, 0.3], "k": [0.5, 0.5],
                "y": [[[0.9, 0.1], [0.8, 0.2]], [[0.2, 0.8], [0.1, 0.9]], [[0.6, 0.4], [0.5, 0.5]]]},
    )  # fmt: skip
    explanation = network.explain("y")
    assert explanation.drivers["direction"].to_dict() == {"x": "rises, then falls", "k": "is highest at b"}
    assert np.isnan(explanation.interval[0])
    assert network.explain("y", {"x": (0.5, 2.0)}).pushes["finding"].tolist() == ["in 0.5..2"]
    assert network.explain("x").drivers.loc["y", "direction"] == "rises"


def test_of_independent_columns_rounding_is_no_direction():
    cuts = {"x": [1.0, 2.0], "y": [5.0], "z": [2.0, 7.0]}
    network = DiscretizedBayesNet(
        ["x", "y", "z"], [("x", "y")], cut_points=cuts, levels={},
        support={"x": (0.0, 3.0), "y": (0.0, 10.0), "z": (0.0, 9.0)},
        tables={"x": [0.3, 0.4, 0.3], "y": [[0.9, 0.1], [0.7, 0.3], [0.3, 0.7]], "z": [0.1, 0.2, 0.7]},
    )  # fmt: skip
    for target, other in (("z", "y"), ("y", "z")):
        driver = network.explain(target).drivers.loc[other]
        assert driver["bits"] == 0
        assert driver["direction"] == "stays"
        assert driver["lowest"] == driver["highest"]
    assert "No column says anything about z." in network.explain("z").sentences
    assert "No further column would tell anything." in network.explain("z", {"x": 0.5}).sentences
    assert any("x says most about y" in text for text in network.explain("y").sentences)


def test_of_many_findings_twelve_have_shapley_values():
    network = small_network(7, 15)
    row = network.sample(1, random_state=1, values="numbers").iloc[0]
    pushes = network.explain(network.names[0], row=row).pushes
    assert len(pushes) == 14
    assert pushes["shapley"].notna().sum() == 12
    assert pushes["moves"].is_monotonic_decreasing


def test_refusals_name_what_is_wrong():
    network = small_network(1, 4)
    discrete, continuous = next(iter(network.levels)), next(iter(network.cut_points))
    with pytest.raises(GomeaBnError, match="is both target and evidence"):
        network.explain(continuous, {continuous: 0.0})
    with pytest.raises(GomeaBnError, match="state must be one of the levels"):
        network.explain(discrete, state="absent")
    with pytest.raises(GomeaBnError, match="state is for a discrete target"):
        network.explain(continuous, state=1)
    with pytest.raises(GomeaBnError, match="row must be a row of a frame or a mapping"):
        network.explain(continuous, row=[3])  # type: ignore[arg-type]
    with pytest.raises(GomeaBnError, match="evidence and row both have a value"):
        network.explain(discrete, {continuous: 0.0}, row={continuous: 1.0})


def test_findings_that_move_nothing_are_not_said_to():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"x": rng.normal(size=90), "y": rng.normal(size=90), "k": rng.choice(["a", "b", "c"], 90)}
    )
    cuts = {"x": [-0.5, 0.5], "y": [0.0]}
    apart = DiscretizedBayesNet.from_table(frame, [], cuts)
    for target, findings in (("k", {"x": 0.7, "y": 0.3}), ("y", {"x": 0.7, "k": "a"})):
        explanation = apart.explain(target, findings)
        assert (explanation.pushes["without"] == explanation.answer).all()
        said = " ".join(explanation.sentences)
        assert "Of 2 findings, none moves the answer: it stays without any one of them." in said
        assert "pushes" not in said
    # x comes before y, and only y moves the answer
    joined = DiscretizedBayesNet.from_table(frame, [("y", "k")], cuts)
    said = " ".join(joined.explain("k", {"x": 0.7, "y": 0.3}).sentences)
    assert "Of 2 findings, y = 0.3 moves the answer most" in said


@pytest.mark.parametrize(
    ("finding", "text"),
    [
        (50.5, "age = 50.5"),
        (pd.Interval(60, np.inf, closed="neither"), "age > 60"),
        (pd.Interval(-np.inf, 60, closed="neither"), "age < 60"),
        ((60, None), "age >= 60"),
        ((None, 60.0), "age <= 60"),
        ((40, 60), "age in 40..60"),
        (pd.Interval(40, 60, closed="left"), "age >= 40 and < 60"),
    ],
)
def test_findings_are_printed_in_the_form_of_statements(finding, text):
    rng = np.random.default_rng(5)
    age = rng.uniform(20, 90, 200)
    frame = pd.DataFrame({"age": age, "ill": np.where(rng.random(200) < age / 120, "yes", "no")})
    network = DiscretizedBayesNet.from_table(frame, [("age", "ill")], {"age": [40.0, 60.0]})
    explanation = network.explain("ill", {"age": finding})
    assert f"Of 1 finding, {text} moves the answer most" in " ".join(explanation.sentences)
    of_set = network.explain("age", {"ill": {"yes", "no"}}).pushes["finding"].tolist()
    assert of_set == ["in {no, yes}"]


def test_dates_are_shown_as_dates():
    day = "day [days since 1970-01-01]"
    network = DiscretizedBayesNet(
        [day, "x"], [(day, "x")], levels={},
        cut_points={day: [18_500.0], "x": [1.0]}, support={day: (18_300.0, 18_900.0), "x": (0.0, 2.0)},
        tables={day: [0.5, 0.5], "x": [[0.75, 0.25], [0.25, 0.75]]},
    )  # fmt: skip
    of_x = network.explain("x", {"day": "2020-03-01"})
    assert of_x.pushes["finding"].tolist() == ["= 2020-03-01"]
    assert network.explain("x", {"day": 18_322.0}).pushes["finding"].tolist() == ["= 2020-03-01"]
    assert of_x.drivers["lowest_at"].tolist() == ["[2020-02-08, 2020-08-26]"]
    assert of_x.drivers["highest_at"].tolist() == ["(2020-08-26, 2021-09-30]"]
    assert "since 1970" not in str(of_x)
    assert "day says most about x" in str(of_x)
    # the means of the bins are 18400 and 18700: .75 * 18400 + .25 * 18700 and the other way round
    of_day = network.explain("day", {"x": 0.5})
    assert of_day.answer == pytest.approx(18_475)
    assert of_day.target == day
    assert "The mean of day is 2020-08-01; without findings 2020-10-15." in of_day.sentences
    assert "x = 0.5 moves the answer most: without it 2020-10-15, so it pushes down by 75 days" in str(of_day)
    assert "goes from 2020-08-01 at [0, 1] to 2020-12-29 at (1, 2]" in str(of_day)
    assert of_day.drivers["lowest"].tolist() == pytest.approx([18_475])
    assert "since 1970" not in str(of_day)
