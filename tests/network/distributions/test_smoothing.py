"""Smoothing chosen by the data: against loops that really remove every row, and in every place that offers it."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from network_examples import with_parts
from typer.testing import CliRunner
from wrong_input import untyped

from gomea_bn import (
    BayesNetLearner,
    DiscretizedBayesNet,
    ExpertNetwork,
    GomeaBnError,
    ParetoBayesNetLearner,
    read_table,
    refine_boundaries,
)
from gomea_bn.cli import main
from gomea_bn.network.tables import AMOUNTS, Smoothing, fitted_smoothing, smoothed
from gomea_bn.simulation import random_network

QUICK: dict[str, Any] = {"max_evaluations": 1500, "random_state": 1}


def rows_of(counts):
    """Return every row as a tuple of codes, repeated as often as counted."""
    return [cell for cell, count in np.ndenumerate(counts) for _ in range(int(count))]


def slow_probability(rows, cell, smoothing, card):
    """Return P(child | parents) of a cell by walking over all rows; `smoothing.parents` are axes of the rows."""
    same = [row for row in rows if all(row[axis] == cell[axis] for axis in smoothing.parents)]
    both = sum(row[-1] == cell[-1] for row in same)
    probability = 0.0
    for base, weights in zip(smoothing.bases, smoothing.weights, strict=True):
        of_base = 1 / card if base is None else slow_probability(rows, cell, base, card)
        for weight, amount in zip(weights, AMOUNTS, strict=True):
            probability += weight * (both + amount * of_base) / (len(same) + amount)
    return probability


def slow_leave_one_out(rows, smoothing, card):
    """Return the sum over all rows of ln P(row | all other rows)."""
    return math.fsum(
        math.log(slow_probability(rows[:index] + rows[index + 1 :], row, smoothing, card))
        for index, row in enumerate(rows)
    )


def alone(parents, base, amount):
    """Return the smoothing by one base and one of the amounts."""
    return Smoothing(parents, (base,), (tuple(float(candidate == amount) for candidate in AMOUNTS),))


def slow_fit(rows, parents, card):
    """Return the smoothing that the rule of `fitted_smoothing` names, every likelihood by removing rows."""

    def averaged(parent_set, bases):
        logs = [
            [slow_leave_one_out(rows, alone(parent_set, base, a), card) for a in AMOUNTS] for base in bases
        ]
        top = max(map(max, logs))
        roots = [[math.sqrt(math.sqrt(math.exp(log - top))) for log in line] for line in logs]
        weights = [tuple(root / sum(map(sum, roots)) for root in line) for line in roots]
        return Smoothing(parent_set, tuple(bases), tuple(weights))

    root = averaged((), [None])
    if not parents:
        return root
    bases = [None, root]
    if len(parents) > 1:
        remaining = max(
            (tuple(parent for parent in parents if parent != gone) for gone in parents),
            key=lambda fewer: max(
                slow_leave_one_out(rows, alone(fewer, root, amount), card) for amount in AMOUNTS
            ),
        )
        bases.append(slow_fit(rows, remaining, card))
    return averaged(parents, bases)


def assert_same(computed, other):
    """Assert that two smoothings are the same to rounding."""
    assert computed.parents == other.parents
    np.testing.assert_allclose(computed.weights, other.weights, rtol=1e-8, atol=1e-300)
    for mine, its in zip(computed.bases, other.bases, strict=True):
        assert (mine is None) == (its is None)
        if mine is not None:
            assert_same(mine, its)


@st.composite
def tables_of_counts(draw, most_parents=3, most=6):
    cards = draw(st.lists(st.integers(1, 3), max_size=most_parents))
    shape = (*cards, draw(st.integers(1, 4)))
    cells = draw(st.lists(st.integers(0, most), min_size=math.prod(shape), max_size=math.prod(shape)))
    return np.array(cells, float).reshape(shape)


@st.composite
def smoothings(draw, parents):
    """Draw any smoothing whose bases have fewer parents, with any weights."""
    bases = [None]
    if parents:
        for _ in range(draw(st.integers(0, 2))):
            fewer = draw(st.lists(st.sampled_from(parents), max_size=len(parents) - 1, unique=True))
            bases.append(draw(smoothings(tuple(sorted(fewer)))))
    size = len(bases) * len(AMOUNTS)
    weights = np.array(draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)), float) + 0.01
    shares = (weights / weights.sum()).reshape(len(bases), -1).tolist()
    return Smoothing(parents, tuple(bases), tuple(map(tuple, shares)))


@given(st.data())
@settings(max_examples=50)
def test_tables_are_those_of_a_walk_over_the_rows(data):
    counts = data.draw(tables_of_counts(most=3))
    smoothing = data.draw(smoothings(tuple(range(counts.ndim - 1))))
    rows, card = rows_of(counts), counts.shape[-1]
    table = smoothed(counts, smoothing)
    for cell in np.ndindex(counts.shape):
        assert table[cell] == pytest.approx(slow_probability(rows, cell, smoothing, card), rel=1e-12)


@pytest.mark.parametrize("shape", [(2,), (2, 3), (3, 2), (2, 2, 2), (2, 3, 2)])
def test_the_weights_are_those_of_removing_every_row(shape):
    rng = np.random.default_rng(sum(shape))
    weights = rng.dirichlet(np.full(shape[-1], 0.6), size=shape[:-1] or None)
    counts = rng.multinomial(6, weights).astype(float)
    assert_same(fitted_smoothing(counts), slow_fit(rows_of(counts), tuple(range(len(shape) - 1)), shape[-1]))


@given(tables_of_counts(most=40))
@settings(max_examples=60)
def test_rows_sum_to_one_and_no_probability_is_zero(counts):
    smoothing = fitted_smoothing(counts)
    table = smoothed(counts, smoothing)
    assert table.shape == counts.shape
    np.testing.assert_allclose(table.sum(axis=-1), 1.0, rtol=1e-12)
    assert (table > 0).all()
    assert sum(map(sum, smoothing.weights)) == pytest.approx(1.0, rel=1e-12)
    if not counts.any():
        np.testing.assert_allclose(table, 1 / counts.shape[-1], rtol=1e-12)


def test_tables_are_those_worked_out_by_hand():
    # 3 rows of the first level and 1 of the second: without itself a row has 2 of 3 or 0 of 3 left
    counts = np.array([3.0, 1.0])
    logs = [3 * math.log((2 + a / 2) / (3 + a)) + math.log((0 + a / 2) / (3 + a)) for a in AMOUNTS]
    for amount, by_hand in zip(AMOUNTS, logs, strict=True):
        smoothing = alone((), None, amount)
        assert slow_leave_one_out(rows_of(counts), smoothing, 2) == pytest.approx(by_hand, rel=1e-12)
    roots = [math.exp(log) ** 0.25 for log in logs]
    first = sum(root * (3 + a / 2) / (4 + a) for root, a in zip(roots, AMOUNTS)) / sum(roots)
    np.testing.assert_allclose(smoothed(counts, fitted_smoothing(counts)), [first, 1 - first], rtol=1e-12)


def test_the_parent_to_drop_is_chosen_by_the_best_amount():
    # the worst amount would choose the other parent
    counts = np.random.default_rng(1).integers(0, 3, size=(2, 2, 2)).astype(float)
    smoothing = fitted_smoothing(counts)
    assert smoothing.bases[2].parents == (1,)
    assert_same(smoothing, slow_fit(rows_of(counts), (0, 1), 2))


def test_a_useless_parent_leads_to_the_table_without_it():
    rng = np.random.default_rng(4)
    a, noise = rng.integers(0, 2, 300), rng.integers(0, 30, 300)
    child = np.where(rng.random(300) < 0.9, a, rng.integers(0, 3, 300))
    counts = np.zeros((2, 30, 3))
    np.add.at(counts, (a, noise, child), 1)
    smoothing = fitted_smoothing(counts)
    assert [base and base.parents for base in smoothing.bases] == [None, (), (0,)]
    assert sum(smoothing.weights[2]) > 0.99
    without = smoothed(counts.sum(axis=1), smoothing.bases[2])
    assert np.abs(smoothed(counts, smoothing) - without[:, None]).max() < 0.1


def test_a_parent_that_decides_everything_is_hardly_smoothed():
    counts = np.zeros((3, 3))
    np.fill_diagonal(counts, 50)
    smoothing = fitted_smoothing(counts)
    assert all(np.argmax(weights) == 0 for weights in smoothing.weights)
    assert np.diag(smoothed(counts, smoothing)).min() > 0.97


def test_automatic_smoothing_is_near_the_best_fixed_amount_on_random_networks():
    amounts: tuple[Any, ...] = (1.0, 4.0, 8.0, 16.0, "auto")
    lost = np.zeros(len(amounts))
    for seed in range(1000, 1006):
        truth = random_network(6, random_state=seed)
        frame, fresh = truth.sample(300, random_state=seed), truth.sample(10_000, random_state=seed + 1)
        table = read_table(frame, kinds=dict.fromkeys(truth.cut_points, "continuous"))
        cuts = {
            name: [cut for cut in column_cuts if frame[name].min() < cut < frame[name].max()]
            for name, column_cuts in truth.cut_points.items()
        }
        for position, amount in enumerate(amounts):
            net = DiscretizedBayesNet.from_table(table, truth.edges, cuts, pseudo_count=amount)
            lost[position] += truth.score(fresh) - net.score(fresh)
    assert lost[-1] < 1.05 * lost[:-1].min()


# ---- where it can be asked for


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    a = rng.normal(size=150)
    return pd.DataFrame(
        {"a": a, "b": a + rng.normal(scale=0.5, size=150), "c": rng.choice(list("xyz"), size=150)}
    )


def counted(frame, pseudo_count):
    return DiscretizedBayesNet.from_table(
        read_table(frame), [("a", "b"), ("c", "b")], {"a": [-0.5, 0.5], "b": [0.0]}, pseudo_count=pseudo_count
    )


def test_a_network_remembers_auto_and_its_tables_are_the_smoothed_counts(frame):
    network = counted(frame, "auto")
    assert network.pseudo_count == "auto"
    codes = network.discretize(frame)
    counts = np.zeros((3, 3, 2))
    np.add.at(counts, (codes["a"], codes["c"], codes["b"]), 1)
    np.testing.assert_allclose(network.tables["b"], smoothed(counts, fitted_smoothing(counts)), rtol=1e-12)
    again = DiscretizedBayesNet.from_json(network.to_json())
    assert again == network
    assert again.pseudo_count == "auto"
    same_tables = with_parts(network, pseudo_count=1.0)
    assert same_tables != network


def test_bif_keeps_the_tables(frame, tmp_path):
    network = counted(frame, "auto")
    network.to_bif(tmp_path / "auto.bif")
    read = ExpertNetwork.from_bif(tmp_path / "auto.bif").network
    assert set(network.tables) == set(frame.columns)
    for name, table in network.tables.items():
        np.testing.assert_allclose(read.tables[name], table, rtol=1e-12)


def test_the_learner_takes_automatic_smoothing(frame):
    learner = BayesNetLearner(pseudo_count="auto", density="bins", **QUICK).fit(frame)
    net = learner.network_
    assert net.pseudo_count == "auto"
    assert net == DiscretizedBayesNet.from_table(
        learner.table_,
        net.edges,
        net.cut_points,
        pseudo_count="auto",
        shapes=net.shapes,
        # tables of levels keep what their score says
        metadata={"equivalent": True},
    )
    plain = BayesNetLearner(pseudo_count=1.0, **QUICK).fit(frame).network_
    assert (plain.edges, plain.pseudo_count) == (net.edges, 1.0)


def test_refining_keeps_automatic_smoothing(frame, tmp_path):
    network = counted(frame, "auto")
    assert refine_boundaries(network, frame, pseudo_count="auto").network.pseudo_count == "auto"
    network.to_json(tmp_path / "net.json")
    frame.to_csv(tmp_path / "data.csv", index=False)
    arguments = [
        "refine", str(tmp_path / "net.json"), str(tmp_path / "data.csv"), "--out", str(tmp_path / "new.json"),
    ]  # fmt: skip
    assert CliRunner().invoke(main, arguments).exit_code == 0
    assert DiscretizedBayesNet.from_json(tmp_path / "new.json").pseudo_count == "auto"


def test_an_expert_can_be_completed_with_automatic_smoothing(frame):
    expert = ExpertNetwork.from_edges([("a", "b")])
    assert expert.fitted(read_table(frame), pseudo_count="auto").pseudo_count == "auto"


def test_the_command_line_takes_automatic_smoothing(frame, tmp_path):
    frame.to_csv(tmp_path / "data.csv", index=False)
    base = ["learn", str(tmp_path / "data.csv"), "--max-evaluations", "500", "--seed", "1", "-q"]
    out = tmp_path / "run"
    result = CliRunner().invoke(main, [*base, "--pseudo-count", "auto", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert DiscretizedBayesNet.from_json(out / "network.json").pseudo_count == "auto"
    result = CliRunner().invoke(main, [*base, "--pseudo-count", "automatic"])
    assert result.exit_code == 2
    assert "--pseudo-count must be a finite number of at least 0, or auto, got 'automatic'" in result.output


def test_other_words_are_refused(frame):
    refused = "pseudo_count must be a finite number of at least 0 or 'auto'"
    for word in ("Auto", "bic", ""):
        with pytest.raises(GomeaBnError, match=refused):
            counted(frame, word)
        for learner in (BayesNetLearner, ParetoBayesNetLearner):
            with pytest.raises(GomeaBnError, match=refused):
                learner(pseudo_count=untyped(word), **QUICK).fit(frame)
    with pytest.raises(GomeaBnError, match="pseudo_count='auto' needs misfit='left-out'"):
        ParetoBayesNetLearner(misfit="in-sample", **QUICK).fit(frame)
