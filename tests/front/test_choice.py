import math
from itertools import combinations

import moocore
import numpy as np
import pytest
from front_examples import NETWORKS, front_of, matrices, slow_front, spread
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mo_oracles import dominates
from review_examples import example_front

from gomea_bn import DiscretizedBayesNet, Front, GomeaBnError, review_page
from gomea_bn.front import COMPLEXITY, MISFIT, choice


@given(matrices(), st.data())
@settings(max_examples=150)
def test_the_knee_ignores_units_order_and_copies_and_is_dominated_by_none(values, data):
    m = values.shape[1]
    scales = 2.0 ** np.array(data.draw(st.lists(st.integers(-8, 8), min_size=m, max_size=m)))
    shifts = np.array(data.draw(st.lists(st.integers(-64, 64), min_size=m, max_size=m)), dtype=float)
    order = data.draw(st.permutations(range(len(values))))
    row = choice.hyperplane_knee(values)
    assert not any(dominates(other, values[row]) for other in values.tolist())
    assert choice.hyperplane_knee(values * scales + shifts) == row
    shuffled, doubled = values[list(order)], np.vstack([values, values])
    np.testing.assert_array_equal(shuffled[choice.hyperplane_knee(shuffled)], values[row])
    np.testing.assert_array_equal(doubled[choice.hyperplane_knee(doubled)], values[row])


def line_distance(point, first, second):
    """Return by how far a point lies below the line through two others."""
    (x0, y0), (x1, y1), (x, y) = first, second, point
    return ((x1 - x0) * (y0 - y) - (x0 - x) * (y1 - y0)) / math.hypot(x1 - x0, y1 - y0)


@pytest.mark.parametrize("seed", range(8))
def test_hyperplane_knee_of_two_objectives_is_farthest_from_the_line_of_extremes(seed):
    values = np.vstack([spread(20, 2, seed), np.random.default_rng(seed).random((20, 2))]) * [5, 1000]
    front = values[slow_front(values)]
    unit = (front - front.min(axis=0)) / np.ptp(front, axis=0)
    first, second = unit[unit[:, 0].argmin()], unit[unit[:, 1].argmin()]
    distances = [line_distance(point, first, second) for point in unit]
    np.testing.assert_array_equal(values[choice.hyperplane_knee(values)], front[int(np.argmax(distances))])


def test_hyperplane_knee_of_three_objectives_uses_the_plane_through_the_extremes():
    values = np.array([[0, 6, 8], [8, 0, 6], [10, 10, 0], [4, 4, 3], [2, 5, 4.5], [3, 6, 2.5]], dtype=float)
    unit = values / 10
    edges = unit[1] - unit[0], unit[2] - unit[0]
    normal = np.cross(*edges)
    normal *= np.sign(normal[0])
    assert (normal > 0).all()
    below = (unit[0] - unit) @ normal
    assert choice.hyperplane_knee(values) == below.argmax() == 5
    assert np.argmin(unit.sum(axis=1)) == 3


def test_hyperplane_knee_takes_equal_sums_where_the_plane_does_not_face_the_ideal():
    one_best_in_two = np.array([[0, 0, 10], [4, 4, 4], [5, 3, 5], [10, 8, 0]], dtype=float)
    good_extreme = np.array([[0, 10, 5], [10, 0, 10], [4, 3, 0], [3, 4, 3]], dtype=float)
    for values in (one_best_in_two, good_extreme):
        unit = (values - values.min(axis=0)) / np.ptp(values, axis=0)
        assert choice.hyperplane_knee(values) == unit.sum(axis=1).argmin()


def test_degenerate_fronts_have_a_knee():
    line = np.array([[0.0, 4.0], [1.0, 3.0], [2.0, 2.0], [3.0, 1.0], [4.0, 0.0]])
    cases = {
        "one": (np.array([[3.0, 1.0]]), {0}),
        "two": (np.array([[1.0, 7.0], [2.0, 3.0]]), {0, 1}),
        "line": (line, {0}),
        "one constant": (np.column_stack([line, np.full(5, 7.0)]), {0}),
        "all equal": (np.full((4, 3), 2.0), {0}),
        "one objective": (np.array([[3.0], [1.0], [2.0]]), {1}),
    }
    for name, (values, allowed) in cases.items():
        assert choice.hyperplane_knee(values) in allowed, name


def test_default_knee_prices_a_parameter_by_akaike():
    values = np.array([[3.0, 10, 1], [2.0, 20, 5], [1.8, 40, 2], [1.79, 400, 0]])
    for rows in (5, 60, 150, 10**6):
        front = front_of(values, record={"n_rows": rows})
        assert front.knee().index == (front.values[:, 0] + front.values[:, 1] / rows).argmin()
        assert front.knee("aic").index == front.knee().index
    assert len({front_of(values, record={"n_rows": rows}).knee().index for rows in (5, 60, 150, 10**6)}) == 4
    longer = np.vstack([values, [1.7899, 9000, 50]])
    assert (
        front_of(longer, record={"n_rows": 60}).knee().objectives
        == front_of(values, record={"n_rows": 60}).knee().objectives
    )


def test_knee_of_a_misfit_that_leaves_rows_out_gives_up_at_most_two_standard_errors():
    values = np.array([[3.0, 10, 1], [2.0, 20, 5], [1.8, 40, 2], [1.79, 400, 0]])
    record = {"parameters": {"misfit": "left-out"}}
    chosen = []
    for rows in (2, 15, 1500, 10**6):
        front = front_of(values, record={**record, "n_rows": rows})
        misfit, complexity = front.values[:, :2].T
        costs = np.where(misfit <= misfit.min() + 2 / rows**0.5, misfit + complexity / rows, np.inf)
        assert front.knee().index == costs.argmin()
        assert front.knee("left-out").index == front.knee().index
        chosen.append(front.knee().index)
    assert chosen == [3, 2, 1, 0]
    front = front_of(values, record={**record, "n_rows": 5})
    for parameters in ({"misfit": "in-sample"}, {}):
        plain = front_of(values, record={"n_rows": 5, "parameters": parameters})
        assert front.knee("aic").index == plain.knee().index != front.knee().index
    with pytest.raises(GomeaBnError, match="method='left-out' needs the number of rows"):
        front_of(values).knee("left-out")


def test_knee_falls_back_to_geometry_and_methods_are_checked():
    values = spread(30, 3, 5)
    unpriced, priced = front_of(values), front_of(values, record={"n_rows": 10})
    assert unpriced.knee().index == choice.hyperplane_knee(unpriced.values)
    with_cost = front_of(spread(30, 4, 5), record={"n_rows": 10})
    assert with_cost.knee().index == choice.hyperplane_knee(with_cost.values)
    assert priced.knee("hyperplane").index == choice.hyperplane_knee(priced.values)
    with pytest.raises(GomeaBnError, match="number of rows"):
        unpriced.knee("aic")
    with pytest.raises(GomeaBnError, match="needs the objective 'complexity'"):
        Front([MISFIT], [[1.0]], NETWORKS[:1], record={"n_rows": 3}).knee("aic")
    with pytest.raises(GomeaBnError, match="Did you mean 'hyperplane'"):
        unpriced.knee("hyper-plane")


@pytest.mark.long
@given(matrices(), st.integers(1, 40))
def test_akaike_knee_is_dominated_by_none(values, rows):
    assume(values.shape[1] in (2, 3))
    front = front_of(values, record={"n_rows": rows})
    chosen = front.values[front.knee("aic").index]
    assert not any(dominates(row, chosen) for row in front.values.tolist())


def slow_nearest(values, weights):
    """Return the objective values of the row whose pseudo-weights are nearest, by loops."""
    rows = [values[index].tolist() for index in slow_front(values)]
    columns = [j for j in range(values.shape[1]) if len({row[j] for row in rows}) > 1]
    best = {j: min(row[j] for row in rows) for j in columns}
    worst = {j: max(row[j] for row in rows) for j in columns}
    if len(columns) < 2:
        return min(rows)
    total = sum(weights[j] for j in columns)
    target = {j: weights[j] / total if total else 1 / len(columns) for j in columns}

    def key(row):
        gained = {j: (worst[j] - row[j]) / (worst[j] - best[j]) for j in columns}
        shares = {j: gained[j] / sum(gained.values()) for j in columns}
        distance = math.sqrt(sum((shares[j] - target[j]) ** 2 for j in columns))
        return round(distance, 8), round(sum(target[j] * (1 - gained[j]) for j in columns), 8), row

    return min(rows, key=key)


@given(matrices(), st.lists(st.integers(0, 6), min_size=4, max_size=4))
@settings(max_examples=150)
def test_nearest_has_the_nearest_pseudo_weights_whatever_the_units(values, weights):
    weights = weights[: values.shape[1]]
    assume(any(weights))
    front = front_of(values)
    chosen = front.nearest(weights)
    assert list(chosen.objectives.values()) == slow_nearest(front.values, weights)
    other = front_of(front.values * 4 + 16)
    assert other.nearest([weight * 0.25 for weight in weights]).index == chosen.index
    assert front.nearest(dict(zip(front.names, weights))).index == chosen.index


def test_nearest_finds_extremes_and_balance_of_two_objectives():
    front = front_of([[0, 10], [1, 6], [3, 3], [6, 1], [10, 0]])
    assert front.nearest({"misfit": 1}).index == 0
    assert front.nearest({"complexity": 3.5}).index == 4
    assert front.nearest([1, 1]).index == 2
    assert front.nearest(np.array([1e300, 1e300])).index == 2
    assert front.nearest((5e-324, 5e-324)).index == 2


def test_nearest_prefers_the_better_of_two_equally_near():
    front = front_of([[0, 20], [8, 12], [10, 5], [20, 0]])
    assert front.nearest([1, 1]).index == 2


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"misfitt": 1}, r"Unknown objective 'misfitt'.*Did you mean 'misfit'"),
        ({"misfit": -1}, r"weights\['misfit'\] must be a finite number of at least 0, got -1"),
        ({"misfit": np.nan}, "got nan"),
        ([1, np.inf], "'complexity'.*got inf"),
        ([1, "2"], "'complexity'.*got '2'"),
        ([True, 1], "'misfit'.*got True"),
        ([0, 0], "above 0"),
        ({}, "above 0"),
        ([1], r"2 numbers \(misfit, complexity\), got 1"),
        ("12", "weights must be numbers by objective"),
        (3.0, "weights must be numbers by objective"),
    ],
)
def test_weights_that_say_nothing_are_refused(weights, message):
    with pytest.raises(GomeaBnError, match=message):
        front_of([[0, 1], [1, 0]]).nearest(weights)


def slow_greedy(values, obliged, n, keys):
    """Return the greedy choice by computing every gain again; ties go to the first row."""
    chosen = list(dict.fromkeys(obliged))
    while len(chosen) < n:
        left = [row for row in range(len(values)) if row not in chosen]
        new = [row for row in left if keys[row] not in {keys[row_chosen] for row_chosen in chosen}]
        base = moocore.hypervolume(values[chosen], ref=1.1) if chosen else 0.0
        gains = {row: moocore.hypervolume(values[[*chosen, row]], ref=1.1) - base for row in new or left}
        chosen.append(max(gains, key=lambda row: (round(gains[row], 10), -row)))
    return chosen


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_greedy_hypervolume_equals_the_plain_greedy_choice(m):
    for seed in range(3):
        values = spread(35, m, seed) if m > 1 else np.random.default_rng(seed).random((35, 1))
        keys = np.random.default_rng(seed).integers(0, 12, size=35).tolist()
        got = choice.greedy_hypervolume(values, [4, 7, 4], 20, keys.__getitem__)
        assert got == slow_greedy(values, [4, 7], 20, keys)
    assert choice.greedy_hypervolume(values, [], 35, lambda row: 0) == slow_greedy(values, [], 35, [0] * 35)


LEFT_OUT = {"parameters": {"misfit": "left-out"}}


def left_out_front(gap: float, *, keep_table: bool = True) -> Front:
    """Return a front of three networks; the second is simpler than the best by misfit, which is ahead by `gap`."""
    example = example_front(n_networks=3, keep_table=keep_table, expert=False, n_objectives=2)
    values = np.array([[1.0, 300.0], [1.0 + gap, 60.0], [9.0, 10.0]])
    networks = [candidate.network for candidate in example]
    record = {"seed": 1, "n_rows": 200, **LEFT_OUT}
    return Front([MISFIT, COMPLEXITY], values, networks, table=example.table, record=record)


def standard_error(front: Front) -> float:
    """Return the standard error of the mean log density of the best network, row by row."""
    rows = front.table.to_frame()
    logs = [front[0].network.log_density(rows.iloc[[row]])[0] for row in range(len(rows))]
    mean = sum(logs) / len(logs)
    return float(np.sqrt(sum((one - mean) ** 2 for one in logs)) / len(logs))


def test_the_simplest_network_within_one_standard_error_is_recommended():
    error = standard_error(left_out_front(0.1))
    for gap, chosen in ((0.99 * error, 1), (1.01 * error, 0)):
        recommendation = left_out_front(gap).recommended()
        assert recommendation.candidate.index == chosen
    assert f"standard error is {error:.2g}." in left_out_front(0.99 * error).recommended().detail
    assert recommendation.reason == "The best fit."


@pytest.mark.parametrize(("gap", "chosen"), [(0.07, 1), (0.072, 0)])
def test_without_rows_a_row_deviates_by_a_nat(gap, chosen):
    # 1 / sqrt(200) is 0.0707
    assert left_out_front(gap, keep_table=False).recommended().candidate.index == chosen


def test_misfits_in_sample_have_the_knee():
    front = example_front()
    assert front.recommended().candidate.index == front.knee().index


def test_a_network_that_answers_exactly_is_preferred():
    names = [f"r{k}" for k in range(9)]
    pairs = list(combinations(names, 2))
    levels = {name: tuple(range(8)) for name in names} | {f"{a}{b}": (0, 1) for a, b in pairs}
    every = list(levels)

    def network(edges):
        shapes = {n: (*(len(levels[a]) for a in every if (a, n) in edges), len(levels[n])) for n in every}
        tables = {name: np.full(shape, 1 / shape[-1]) for name, shape in shapes.items()}
        return DiscretizedBayesNet(every, edges, cut_points={}, support={}, levels=levels, tables=tables)

    tangled = network([(one, f"{a}{b}") for a, b in pairs for one in (a, b)])
    record = {"n_rows": 10, **LEFT_OUT}
    front = Front([MISFIT, COMPLEXITY], [[1.0, 50.0], [1.1, 10.0]], [network([]), tangled], record=record)
    assert front.recommended().candidate.index == 0
    alone = Front([MISFIT, COMPLEXITY], [[1.1, 10.0]], [tangled], record=record)
    assert alone.recommended().reason == "The best fit; its answers are estimates."


def test_a_thinned_front_and_its_page_keep_the_recommended_network():
    front = example_front(n_networks=12, record=LEFT_OUT)
    assert front.recommended().candidate.index in front.thin(3).original_index
    assert front.recommended().reason in review_page(front, max_networks=3)
