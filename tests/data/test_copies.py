"""Rows that count as evidence: equal rows beyond what rounding explains do not."""

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gomea_bn import BayesNetLearner, read_table
from gomea_bn.data.copies import chance_of_copies, counted_rows

CONTINUOUS = {"x": "continuous", "y": "continuous", "k": "discrete"}
VALUES = st.sampled_from([0.0, 0.5, 1.0, 4.0])
# all columns vary
ROWS = st.lists(st.tuples(VALUES, VALUES, st.sampled_from("ab")), min_size=8, max_size=30).map(
    lambda rows: [*rows, (7.0, 8.0, "a"), (8.0, 7.0, "b")]
)


def table_of(rows):
    frame = pd.DataFrame(rows, columns=["x", "y", "k"])
    return read_table(frame, kinds=CONTINUOUS)


def twin_of_chance(rows):
    """Compare all pairs of rows."""
    pairs = list(combinations(rows, 2))
    n_equal = sum(a == b for a, b in pairs)
    if not n_equal:
        return 1.0
    by_column = []
    for column in (0, 1):
        order = sorted({row[column] for row in rows})
        n_steps = 0
        for a, b in pairs:
            others = [k for k in range(3) if k != column]
            is_step = abs(order.index(a[column]) - order.index(b[column])) == 1
            n_steps += is_step and all(a[k] == b[k] for k in others)
        by_column.append(n_steps)
    return min(max(by_column) / 2 / n_equal, 1.0)


def rounded(n_rows, step, seed=3):
    """Return correlated normal columns, rounded to a step."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_rows, 3)) @ np.linalg.cholesky(0.5 * np.eye(3) + 0.5).T
    return pd.DataFrame(np.round(values / step) * step, columns=["a", "b", "c"])


@given(ROWS)
def test_chance_is_that_of_all_pairs(rows):
    table = table_of(rows)
    assert chance_of_copies(table) == pytest.approx(twin_of_chance(rows))
    kept = counted_rows(table)
    share = twin_of_chance(rows)
    expected = []
    for position, row in enumerate(rows):
        n_before, n_equal = rows[:position].count(row), rows.count(row)
        if share > 0.5 or n_before <= round((n_equal - 1) * share):
            expected.append(position)
    assert (list(range(len(rows))) if kept is None else kept.tolist()) == expected


@pytest.mark.parametrize("step", [0.3, 0.5])
def test_equal_rows_of_rounded_values_all_count(step):
    frame = rounded(1000, step)
    assert frame.duplicated().any()
    table = read_table(frame, kinds=dict.fromkeys(frame, "continuous"))
    assert chance_of_copies(table) > 0.7
    assert counted_rows(table) is None


def test_copies_of_fine_values_count_once():
    frame = rounded(300, 0.001)
    twice = pd.concat([frame, frame.iloc[:60], frame.iloc[:20]], ignore_index=True)
    kept = counted_rows(read_table(twice))
    assert kept is not None
    assert kept.tolist() == list(range(300))


def test_missing_values_are_equal():
    frame = rounded(50, 0.001)
    frame.iloc[0, 0] = np.nan
    table = read_table(pd.concat([frame, frame.iloc[:1]], ignore_index=True), missing="keep")
    kept = counted_rows(table)
    assert kept is not None
    assert len(kept) == 50


def test_rows_of_discrete_columns_all_count():
    assert counted_rows(read_table(pd.DataFrame({"a": list("xyxyxy") * 3, "b": list("uvuvuv") * 3}))) is None


def test_the_learner_learns_from_counted_rows():
    frame = rounded(150, 0.001)
    copied = pd.concat([frame, frame.iloc[:50]], ignore_index=True)
    options: dict[str, Any] = {"max_evaluations": 300, "max_seconds": None, "random_state": 1}
    learner = BayesNetLearner(**options).fit(copied)
    alone = BayesNetLearner(**options).fit(frame)
    assert learner.network_.metadata["left_out_copies"] == 50
    assert learner.table_.n_rows == 200
    assert learner.score_ == alone.score_
    np.testing.assert_array_equal(learner.score_samples(frame), alone.score_samples(frame))
    assert "50 rows did not count" in learner.network_.summary()
    uniform = BayesNetLearner(shape="uniform", **options).fit(copied)
    assert "left_out_copies" not in uniform.network_.metadata
