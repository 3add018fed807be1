"""The order of rows by their values alone, and rows that count as evidence."""

import itertools
import json
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from averaged_examples import conditionals_of
from command_line import ok
from hypothesis import given
from hypothesis import strategies as st
from review_examples import page_data

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, read_table, refine_boundaries
from gomea_bn.data.content_order import (
    chance_of_copies,
    column_order,
    counted_rows,
    in_column_order,
    in_row_order,
    row_order,
    turned_marks,
)
from gomea_bn.network.conditionals import FamilyTable

NUMBERS = st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-300, 1e300, float("nan")])
ROWS = st.lists(st.tuples(NUMBERS, st.integers(-1, 2), NUMBERS), min_size=1, max_size=12)


def columns_of(rows):
    first, second, third = zip(*rows, strict=True)
    return [np.array(first), np.array(second, np.int32), np.array(third)]


def table(n_rows=60):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"x": rng.normal(size=n_rows), "y": rng.integers(0, 3, n_rows).astype(str)})
    return read_table(frame.mask(rng.random(frame.shape) < 0.1), missing="keep")


@given(ROWS, st.randoms(use_true_random=False))
def test_rows_in_order_are_the_same_from_every_permutation(rows, random):
    permuted = random.sample(rows, len(rows))
    for one_way, another_way in zip(columns_of(rows), columns_of(permuted), strict=True):
        np.testing.assert_array_equal(
            one_way[row_order(columns_of(rows))], another_way[row_order(columns_of(permuted))]
        )


def test_nan_of_other_bits_are_equal():
    values = np.array([np.nan, 1.0, 2.0])
    others = values.copy()
    others[0] = np.uint64(0xFFF8000000000123).view(np.float64)
    assert np.isnan(others[0])
    np.testing.assert_array_equal(row_order([values]), row_order([others]))


def test_equal_rows_stay_in_their_order():
    assert row_order([np.zeros(5), np.ones(5, np.int32)]).tolist() == [0, 1, 2, 3, 4]


def test_rows_of_hash_order_have_no_pattern():
    values = np.arange(10_000.0)
    assert abs(np.corrcoef(values, row_order([values]))[0, 1]) < 0.05


def test_a_table_keeps_its_ordered_rows_and_its_source():
    given_table = replace(table(), dropped_rows=(3, 70))
    ordered = in_row_order(given_table)
    assert ordered is not given_table
    assert in_row_order(given_table) is ordered
    assert in_row_order(ordered) is ordered
    assert ordered.dropped_rows == (3, 70)
    rows, in_order = given_table.to_frame(), ordered.to_frame()
    assert not rows.equals(in_order)
    assert sorted(map(repr, rows.values.tolist())) == sorted(map(repr, in_order.values.tolist()))


def test_units_do_not_change_the_order():
    values = np.random.default_rng(0).normal(size=50).round(1)
    others = np.arange(50.0)[::-1] % 7
    assert row_order([values, others]).tolist() == row_order([1e-3 * values + 20, others**3]).tolist()


@given(ROWS, st.permutations(range(3)), st.randoms(use_true_random=False))
def test_columns_in_order_are_the_same_from_every_permutation(rows, places, random):
    columns = columns_of(rows)
    permuted = columns_of(random.sample(rows, len(rows)))
    permuted = [permuted[place] for place in places]
    tables = [ranks_in_order(columns), ranks_in_order(permuted)]
    assert sorted(zip(*tables[0], strict=True)) == sorted(zip(*tables[1], strict=True))


def ranks_in_order(columns):
    ordered = [columns[v] for v in column_order(columns)]
    return [np.unique(values, return_inverse=True)[1].tolist() for values in ordered]


def test_columns_without_ties_are_told_apart_by_the_others():
    rng = np.random.default_rng(3)
    first, second = rng.normal(size=40), rng.normal(size=40)
    columns = [first, second, first + second, first * second]
    order = column_order(columns)
    for places in itertools.permutations(range(4)):
        permuted = [np.exp(columns[place]) for place in places]
        assert [places[v] for v in column_order(permuted)] == order


def test_discrete_columns_follow_continuous_ones_and_equal_columns_stay_in_their_order():
    codes, values = np.array([0, 1, 1], np.int32), np.array([0.0, 1.0, 1.0])
    assert column_order([codes, values, values, codes]) == [1, 2, 0, 3]


def test_a_table_keeps_its_ordered_columns():
    given_table = table()
    orders = [given_table, given_table.in_order(["y", "x"])]
    ordered = [in_column_order(of_order) for of_order in orders]
    assert ordered[0].names == ordered[1].names
    assert in_column_order(orders[1]) is ordered[1]
    assert in_column_order(ordered[1]) is ordered[1]


CONTINUOUS = {"x": "continuous", "y": "continuous", "k": "discrete"}
VALUES = st.sampled_from([0.0, 0.5, 1.0, 4.0])
# all columns vary
REPEATED_ROWS = st.lists(st.tuples(VALUES, VALUES, st.sampled_from("ab")), min_size=8, max_size=30).map(
    lambda rows: [*rows, (7.0, 8.0, "a"), (8.0, 7.0, "b")]
)


def table_of(rows):
    return read_table(pd.DataFrame(rows, columns=["x", "y", "k"]), kinds=CONTINUOUS)


def rows_that_tell(rows):
    """Return whether a number of each row is not heaped, by comparing counts of values one by one."""
    tell = [False] * len(rows)
    for column in (0, 1):
        values = [row[column] for row in rows]
        ordered = sorted(set(values), key=lambda value: (-values.count(value), value))
        heaped = set()
        for n in range(1, len(ordered) - 1):
            if values.count(ordered[n - 1]) >= 5 * values.count(ordered[n]):
                heaped = set(ordered[:n])
        for position, value in enumerate(values):
            is_wide = len({row for row in rows if row[column] == value}) > 1
            if value not in heaped or not (is_wide or values.count(value) >= 0.1 * len(rows)):
                tell[position] = True
    return tell


def twin_of_chance(rows):
    """Compare all pairs of rows that tell of copies."""
    pairs = list(
        combinations([row for row, tells in zip(rows, rows_that_tell(rows), strict=True) if tells], 2)
    )
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


@given(REPEATED_ROWS)
def test_chance_is_that_of_all_pairs(rows):
    table = table_of(rows)
    assert chance_of_copies(table) == pytest.approx(twin_of_chance(rows))
    kept = counted_rows(table)
    chance, tell = twin_of_chance(rows), rows_that_tell(rows)
    before = [rows[:position].count(row) for position, row in enumerate(rows)]
    counts = [rows.count(row) for row in rows]
    is_kept = [b <= round((k - 1) * chance) for b, k in zip(before, counts, strict=True)]
    share = np.mean([k for k, tells in zip(is_kept, tell, strict=True) if tells])
    expected = [
        position
        for position, tells in enumerate(tell)
        if chance > 0.5
        or (is_kept[position] if tells else before[position] < max(np.round(counts[position] * share), 1))
    ]
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


def zeros(n_rows, n_columns):
    """Return exact amounts that are mostly zero together, and a level."""
    rng = np.random.default_rng(3)
    amounts = rng.gamma(2, size=(n_rows, n_columns)) * (rng.random((n_rows, 1)) < 0.3)
    return pd.DataFrame(amounts, columns=list("xyz")[:n_columns]).assign(k=rng.choice(list("ab"), n_rows))


@pytest.mark.parametrize("value", [0.0, np.nan])
def test_equal_rows_of_zeros_or_missing_values_all_count(value):
    frame = zeros(300, 2).replace(0.0, value)
    assert frame.duplicated().sum() > 150
    assert counted_rows(read_table(frame, missing="keep")) is None


def test_a_record_of_zeros_counts_as_often_as_it_stands():
    frame = zeros(300, 2).drop(columns="k")
    assert len(frame[frame.x == 0].drop_duplicates()) == 1
    assert counted_rows(read_table(frame)) is None


def test_a_copied_record_counts_once():
    frame = rounded(300, 0.001)
    kept = counted_rows(read_table(pd.concat([frame, *[frame.iloc[:1]] * 9], ignore_index=True)))
    assert kept is not None
    assert len(kept) == 300


def test_zeros_of_a_copied_table_count_in_proportion():
    frame = zeros(300, 2)
    kept = counted_rows(read_table(pd.concat([frame] * 3, ignore_index=True)))
    assert kept is not None
    of_kept = pd.concat([frame] * 3, ignore_index=True).iloc[kept]
    assert (of_kept.x == 0).sum() == (frame.x == 0).sum()
    assert sorted(of_kept.x) == sorted(frame.x)


def test_rows_of_discrete_columns_all_count():
    assert counted_rows(read_table(pd.DataFrame({"a": list("xyxyxy") * 3, "b": list("uvuvuv") * 3}))) is None


def test_the_learner_knows_how_often_a_value_is_zero():
    frame = zeros(300, 2)
    network = BayesNetLearner(max_evaluations=300, max_seconds=None, random_state=1).fit(frame).network_
    share = float(np.exp(network.log_density(pd.DataFrame({"x": [0.0]}), of="x"))[0])
    assert share == pytest.approx((frame.x == 0).mean(), abs=0.03)
    assert "copies" not in network.metadata


OPTIONS: dict[str, Any] = {"max_evaluations": 300, "max_seconds": None, "random_state": 1}


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 4), st.booleans())
def test_marks_of_rows_do_not_change_where_columns_are_turned_or_moved(seed, n_rows, n_columns, is_coarse):
    rng = np.random.default_rng(seed)
    columns = [
        np.round(column) if is_coarse else column for column in rng.normal(size=(n_columns + 1, n_rows))
    ]
    codes = rng.integers(0, 3, n_rows)
    first, *others = columns
    marks = turned_marks([first, codes, *others], 2)
    order = rng.permutation(n_rows)
    moved = [column[order] * rng.choice([-1, 1]) for column in rng.permutation(others)]
    again = turned_marks([first[order] * rng.choice([-1, 1]), codes[order], *moved], 2)
    np.testing.assert_array_equal(again, marks[order])
    if not is_coarse:
        # of three columns hardly two rows have the same distances from both ends
        assert len(np.unique(marks)) >= (n_rows if n_columns > 2 else 1)


def test_copies_are_no_evidence_and_count_in_tables():
    frame = rounded(150, 0.001)
    copied = pd.concat([frame, frame.iloc[:50]], ignore_index=True)
    learner, alone = (BayesNetLearner(**OPTIONS).fit(rows) for rows in (copied, frame))
    network = learner.network_
    assert learner.table_.n_rows == 200
    assert (learner.score_, network.edges) == (alone.score_, alone.network_.edges)
    assert [cuts.tolist() for cuts in network.cut_points.values()] == [
        cuts.tolist() for cuts in alone.network_.cut_points.values()
    ]
    counted = [
        one.counts
        for stack in conditionals_of(network).stacks.values()
        for _, fitted in stack.members
        if isinstance(fitted, FamilyTable)
        for one in fitted.tables
    ]
    assert counted
    assert all(counts is not None and counts.sum() == 200 for counts in counted)
    uniform = BayesNetLearner(shape="uniform", **OPTIONS).fit(copied)
    assert "copies" not in uniform.network_.metadata


def test_lowered_evidence_is_named_everywhere(tmp_path):
    frame = rounded(150, 0.001)
    pd.concat([frame, frame.iloc[:50]], ignore_index=True).to_csv(tmp_path / "data.csv", index=False)
    words = "50 rows of 200 (25 %) repeat others more often than chance explains."
    limits = ["--max-seconds", 0, "--max-evaluations", 50, "--seed", 1]
    assert words in ok("learn", tmp_path / "data.csv", *limits, "--out", tmp_path / "out").stdout
    network = DiscretizedBayesNet.from_json(tmp_path / "out" / "network.json")
    assert network.metadata["copies"] == {"rows": 200, "evidence": 150}
    assert network.metadata["n_rows"] == 200
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["data"]["copies"] == network.metadata["copies"]
    assert words in network.summary()
    ok("review", tmp_path / "out", "-o", tmp_path / "page.html")
    assert words in page_data((tmp_path / "page.html").read_text())["origin"]
    refined = refine_boundaries(network, tmp_path / "data.csv").network
    assert "repeat others" not in refined.summary()


def copied_rows(seed: int) -> pd.DataFrame:
    """Return rows of which some stand often, such as those of one batch; the first column has a heap."""
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(60, 400))
    x = rng.gamma(1.5, size=n_rows) * (rng.random(n_rows) > rng.choice([0, 0.3]))
    y = np.round(x + rng.normal(size=n_rows), int(rng.choice([1, 3, 6])))
    frame = pd.DataFrame({"x": x, "y": y, "k": rng.choice(list("abc"), n_rows)})
    times = 1 + rng.integers(0, 8, n_rows) * (y > np.quantile(y, rng.choice([0.5, 0.9])))
    return frame.loc[np.repeat(np.arange(n_rows), times)].sample(frac=1, random_state=seed, ignore_index=True)


@pytest.mark.sample(5)
@pytest.mark.parametrize("seed", range(20))
def test_the_distribution_of_every_column_is_that_of_all_rows(seed):
    frame = copied_rows(seed)
    network = BayesNetLearner(**{**OPTIONS, "max_evaluations": 60}).fit(frame).network_
    drawn = network.sample(20_000, random_state=1)
    shares = frame["k"].value_counts(normalize=True).sort_index()
    np.testing.assert_allclose(drawn["k"].value_counts(normalize=True).sort_index(), shares, atol=0.03)
    for name in ("x", "y"):
        assert drawn[name].mean() == pytest.approx(frame[name].mean(), abs=0.1 * frame[name].std())
        for value in frame[name].quantile(np.linspace(0.1, 0.9, 9)):
            assert (drawn[name] <= value).mean() == pytest.approx((frame[name] <= value).mean(), abs=0.09)


def test_copies_of_a_column_with_many_parents_get_a_table_of_those_that_fit():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"x{k}": [f"l{code}" for code in rng.integers(0, 5, 400)] for k in range(13)})
    amounts = [rng.normal(size=5)[frame[name].str[1].astype(int)] for name in frame]
    frame["y"] = np.sum(amounts, axis=0) + rng.normal(scale=0.5, size=400)
    copied = pd.concat([frame, frame.iloc[:150]], ignore_index=True)
    network = BayesNetLearner(target="y", max_evaluations=50, random_state=1).fit(copied).network_
    # a table of all parents would have billions of cells
    assert network.cardinality("y") * 5 ** len(network.parents("y")) > 2**27
    error = network.predict(frame, "y") - frame["y"]
    assert error.std() < 0.5 * frame["y"].std()
