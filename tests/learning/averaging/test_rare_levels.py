"""What a single row of a level changes, for columns of every kind that may follow levels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, ExpertKnowledge

WARDS = {"a": 0.0, "b": 0.5, "c": -0.5, "d": 0.8, "e": -0.8}


def visits(kind: str, n_rare: int = 1, n_rows: int = 1_000) -> pd.DataFrame:
    """Return an outcome that follows a ward and a number, and rows of a further ward with its most extreme value."""
    generator = np.random.default_rng(1)
    ward = generator.choice(list(WARDS), n_rows)
    x = generator.normal(size=n_rows)
    index = np.array([WARDS[name] for name in ward]) + 0.7 * x
    if kind == "two":
        y: list[Any] = np.where(index - 2 + generator.logistic(size=n_rows) > 0, "yes", "no").tolist()
    elif kind == "three":
        odds = np.column_stack([np.zeros(n_rows), index - 1, -index - 2]) + generator.gumbel(size=(n_rows, 3))
        y = np.array(["no", "maybe", "yes"])[odds.argmax(axis=1)].tolist()
    elif kind == "count":
        y = generator.poisson(np.exp(0.5 * index + 1.3)).tolist()
    else:
        y = (index + generator.normal(size=n_rows)).tolist()
    extreme: Any = {"two": "yes", "three": "yes", "count": 40, "number": 8.0}[kind]
    rows = pd.DataFrame({"x": x, "ward": ward, "y": y})
    rows.loc[: n_rare - 1, "ward"] = "new"
    # rows that differ, since copies of a row add nothing to coefficients
    rows.loc[: n_rare - 1, "x"] = np.linspace(0.0, 0.01, n_rare)
    rows.loc[: n_rare - 1, "y"] = extreme
    return rows


def learned(rows: pd.DataFrame) -> DiscretizedBayesNet:
    knowledge = ExpertKnowledge(required_edges=[("ward", "y"), ("x", "y")])
    learner = BayesNetLearner(max_evaluations=500, max_seconds=600, random_state=1, knowledge=knowledge)
    return learner.fit(rows).network_


@pytest.mark.parametrize("is_ordered", [False, True])
@pytest.mark.parametrize("kind", ["two", "three"])
def test_a_single_row_of_a_level_makes_no_outcome_certain(kind: str, is_ordered: bool) -> None:
    rows = visits(kind)
    if is_ordered:
        rows["ward"] = pd.Categorical(rows["ward"], ["new", "e", "c", "a", "b", "d"], ordered=True)
    answers = learned(rows).predict_proba(rows.iloc[[0]], "y")["yes"].to_numpy()
    assert answers[0] < 0.55


@pytest.mark.parametrize("kind", ["two", "three"])
def test_many_rows_of_a_level_say_what_they_are(kind: str) -> None:
    rows = visits(kind, 40)
    assert learned(rows).predict_proba(rows.iloc[[0]], "y")["yes"].to_numpy()[0] > 0.85


@pytest.mark.parametrize(("kind", "most"), [("count", 36.0), ("number", 7.0)])
def test_a_single_row_of_a_level_moves_a_mean_by_part_of_its_distance(kind: str, most: float) -> None:
    rows = visits(kind)
    network = learned(rows)
    mean = float(network.predict(rows.iloc[[0]].drop(columns="y"), "y", "mean").iloc[0])
    assert mean < most
    many = visits(kind, 40)
    of_many = float(learned(many).predict(many.iloc[[0]].drop(columns="y"), "y", "mean").iloc[0])
    # one count of 40 is far from all others, so that it says almost as much as forty
    assert of_many > (32.0 if kind == "count" else mean + 0.3)
