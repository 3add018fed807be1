import itertools
import math
import pickle
from collections import Counter
from typing import Any

import moocore
import numpy as np
import pandas as pd
import pytest
from front_examples import NETWORKS, TRIO, front_of, matrices, slow_front, spread
from hypothesis import given, settings
from hypothesis import strategies as st
from mo_oracles import dominates
from network_examples import small_network
from wrong_input import untyped

from gomea_bn import DiscretizedBayesNet, Front, GomeaBnError, read_table
from gomea_bn.front import COMPLEXITY, EXPERT_DISTANCE, MISFIT, Objective


def test_order_is_by_the_first_objective_then_the_next_and_networks_follow():
    values = [[2.0, 1.0], [1.0, 3.0], [1.0, 2.0], [0.0, 9.0]]
    front = Front([MISFIT, COMPLEXITY], values, NETWORKS[:4])
    assert front.values.tolist() == [[0, 9], [1, 2], [1, 3], [2, 1]]
    assert [candidate.network for candidate in front] == [NETWORKS[index] for index in (3, 2, 1, 0)]
    assert [candidate.index for candidate in front] == [0, 1, 2, 3]
    assert front[-1].objectives == {"misfit": 2.0, "complexity": 1.0}
    assert front.original_index == (0, 1, 2, 3)
    assert len(front) == 4
    assert repr(front) == "Front(4 networks, objectives misfit, complexity)"
    assert repr(front[1]) == "Candidate(index=1, misfit=1, complexity=2)"


def test_a_front_cannot_be_changed():
    given_values = np.array([[1.0, 2.0]])
    record: dict[str, Any] = {"seed": 1, "list": [1]}
    front = Front([MISFIT, COMPLEXITY], given_values, NETWORKS[:1], record=record)
    given_values[0, 0] = 9
    record["list"].append(2)
    front.record["seed"] = 2
    assert front.values[0, 0] == 1
    assert front.record == {"seed": 1, "list": [1]}
    with pytest.raises(ValueError, match="read-only"):
        front.values[0, 0] = 3
    with pytest.raises(AttributeError):
        untyped(front).values = given_values
    with pytest.raises(AttributeError):
        untyped(front[0]).index = 4


def test_networks_are_built_once_on_first_use_by_their_row():
    calls = []

    def build(row):
        calls.append(row)
        return NETWORKS[row]

    front = Front([MISFIT], [[3.0], [1.0], [2.0]], build)
    assert calls == []
    assert front[0].network is NETWORKS[1]
    assert front.network(0) is front[-3].network
    assert calls == [1]
    front.to_frame()
    assert sorted(calls) == [0, 1, 2]


@pytest.mark.parametrize(
    ("objectives", "values", "message"),
    [
        ([], np.zeros((1, 0)), "at least one objective"),
        ([MISFIT, MISFIT], [[1, 2]], "Duplicate objective name 'misfit'"),
        (["misfit"], [[1]], "Objective values, got 'misfit'"),
        ([MISFIT], [1.0], r"shape \(n_networks, 1\).*got \(1,\)"),
        ([MISFIT], [[1.0, 2.0]], r"got \(1, 2\)"),
        ([MISFIT], np.zeros((0, 1)), "at least one network"),
        ([MISFIT], [["x"]], "must be numbers"),
        ([MISFIT, COMPLEXITY], [[0, 1], [2, np.nan]], "got nan for 'complexity' in row 1"),
        ([MISFIT], [[np.inf]], "got inf for 'misfit' in row 0"),
    ],
)
def test_values_that_make_no_front_are_refused(objectives, values, message):
    with pytest.raises(GomeaBnError, match=message):
        Front(objectives, values, lambda row: NETWORKS[row])


def test_networks_and_records_that_do_not_fit_are_refused():
    with pytest.raises(GomeaBnError, match=r"one network per row of values \(2\), got 1"):
        Front([MISFIT], [[1], [2]], NETWORKS[:1])
    with pytest.raises(GomeaBnError, match="row 1 must give a DiscretizedBayesNet, got NoneType"):
        Front([MISFIT], [[2], [1]], lambda row: None)[0].network  # noqa: B018
    with pytest.raises(GomeaBnError, match="JSON can hold"):
        front_of([[1, 2]], record={"x": object()})
    for thinned in (
        {"indices": [0, 1]},
        {"n_networks": 5, "indices": [0]},
        {"n_networks": 5, "indices": [1, 1]},
        {"n_networks": 5, "indices": [1, 5]},
        {"n_networks": 5, "indices": [1, [2]]},
        [0, 1],
    ):
        with pytest.raises(GomeaBnError, match="thinned_from"):
            front_of([[1, 2], [2, 1]], record={"thinned_from": thinned})
    front = front_of([[1, 2], [2, 1]])
    for wrong in (2, -3, 1.0, "0", True, None):
        with pytest.raises(GomeaBnError, match="networks 0 to 1"):
            front[wrong]


def test_table_of_a_front_says_what_the_networks_are():
    front = front_of(spread(6, 3, 1), record={"n_rows": 50})
    frame = front.to_frame()
    assert frame.index.name == "id"
    assert frame.columns.tolist() == [
        "misfit", "complexity", "expert_distance", "n_edges", "n_parameters", "most_parents", "complexity_nats",
    ]  # fmt: skip
    np.testing.assert_array_equal(frame[["misfit", "complexity", "expert_distance"]], front.values)
    for candidate in front:
        row, tables = frame.loc[candidate.index], candidate.network.tables
        free = sum(table[..., 1:].size for table in tables.values())
        assert row["n_edges"] == sum(table.ndim - 1 for table in tables.values())
        assert row["n_parameters"] == free
        assert row["most_parents"] == max(table.ndim - 1 for table in tables.values())
        assert row["complexity_nats"] == pytest.approx(row["complexity"] * math.log(50) / 100)
    assert "complexity_nats" not in front_of([[1, 2]]).to_frame()


def test_number_of_rows_comes_from_the_table_or_the_record():
    table = read_table(pd.DataFrame({"x": np.linspace(0, 1, 30)}))
    assert front_of([[1, 2]], table=table, record={"n_rows": 7}).n_rows == 30
    assert front_of([[1, 2]], record={"n_rows": 7}).n_rows == 7
    for wrong in ({}, {"n_rows": "7"}, {"n_rows": 0}, {"n_rows": True}):
        assert front_of([[1, 2]], record=wrong).n_rows is None


def test_a_front_and_its_parts_survive_pickling():
    front = Front([MISFIT, COMPLEXITY], spread(12, 2, 3), NETWORKS[:12], record={"seed": 3})
    again = pickle.loads(pickle.dumps(front.thin(5)))
    assert again.run_hash == front.thin(5).run_hash
    assert [candidate.network for candidate in again] == [candidate.network for candidate in front.thin(5)]


def test_hash_depends_on_everything_that_names_a_run_and_on_nothing_else():
    values = spread(5, 3, 0)
    record = {"seed": 3, "data_sha256": "ab"}
    front = Front(TRIO, values, NETWORKS[:5], record=record)
    assert len(front.run_hash) == 64
    order = np.random.default_rng(0).permutation(5)
    same = [
        Front(TRIO, values[order], [NETWORKS[index] for index in order], record=record),
        Front(TRIO, values, NETWORKS[5:10], record={**record, "versions": {"numpy": "2"}}),
        Front(
            [MISFIT, COMPLEXITY, Objective("expert_distance", "", "", "")],
            values,
            NETWORKS[:5],
            record=record,
        ),
    ]
    assert {other.run_hash for other in same} == {front.run_hash}
    nudged = values.copy()
    nudged[2, 1] = np.nextafter(nudged[2, 1], 2)
    different = [
        Front(TRIO, nudged, NETWORKS[:5], record=record),
        Front(TRIO, values[:4], NETWORKS[:4], record=record),
        Front(TRIO, values, NETWORKS[:5], record={**record, "seed": 4}),
        Front(TRIO, values, NETWORKS[:5], record={**record, "data_sha256": "ac"}),
        Front(TRIO, values, NETWORKS[:5], record={"seed": 3}),
        Front(TRIO, values, NETWORKS[:5]),
        Front([MISFIT, EXPERT_DISTANCE, COMPLEXITY], values, NETWORKS[:5], record=record),
    ]
    assert len({other.run_hash for other in different} | {front.run_hash}) == len(different) + 1


def test_hash_takes_both_zeros_for_the_same_number():
    assert front_of([[0.0, 1.0]]).run_hash == front_of([[-0.0, 1.0]]).run_hash


@given(matrices())
def test_best_is_least_and_first_in_order_and_dominated_by_none(values):
    front = front_of(values)
    assert len(front.names) == values.shape[1]
    for position, name in enumerate(front.names):
        best = front.best(name)
        assert front.values[best.index, position] == front.values[:, position].min()
        assert (front.values[: best.index, position] > best.objectives[name]).all()
        assert not any(dominates(row, front.values[best.index]) for row in front.values.tolist())


def test_unknown_objectives_are_answered_with_the_nearest_name():
    front = front_of([[1.0, 2.0]])
    with pytest.raises(
        GomeaBnError, match=r"Unknown objective 'complexty'; the front has misfit, complexity. Did you mean"
    ):
        front.best("complexty")
    with pytest.raises(GomeaBnError, match="Unknown objective 3"):
        front.best(3)
    with pytest.raises(GomeaBnError, match="learn it with expert"):
        front.closest_to_expert()
    assert (
        front_of(spread(9, 3, 2)).closest_to_expert().index == front_of(spread(9, 3, 2)).values[:, 2].argmin()
    )


@given(matrices(fewest_columns=2))
def test_nondominated_keeps_what_nothing_dominates(values):
    front = front_of(values)
    left = front.nondominated()
    indices = slow_front(front.values)
    np.testing.assert_array_equal(left.values, front.values[indices])
    assert left.original_index == tuple(indices)
    assert [candidate.network for candidate in left] == [front.network(index) for index in indices]
    assert left.nondominated() is left


def test_networks_near_the_limit_are_named_by_role():
    networks = sorted(NETWORKS[:3], key=lambda network: network.n_parameters)
    sizes = [network.n_parameters for network in networks]
    assert sizes[0] < 0.9 * sizes[1] < 0.8 * sizes[2]
    # the knee is the network in the middle
    values = [[9.0, sizes[0]], [1.0, sizes[1]], [0.999, sizes[2]]]

    def roles(most: Any) -> dict[str, int]:
        record = {"n_rows": 100, "parameters": {"max_complexity": most}}
        near = Front([MISFIT, COMPLEXITY], values, networks, record=record).near_limit()
        return {role: chosen.network.n_parameters for role, chosen in near.items()}

    assert roles(sizes[1]) == {"knee": sizes[1], "best fit": sizes[2]}
    assert roles(sizes[2] / 0.94) == {}
    assert roles(sizes[2] / 0.96) == {"best fit": sizes[2]}
    assert roles(None) == {}
    assert front_of(spread(5, 2, 1)).near_limit() == {}


@given(matrices(most_rows=25), st.integers(1, 25), st.sampled_from([None, 3, 40]))
@settings(max_examples=60)
def test_thinning_keeps_its_promises(values, n, rows):
    front = front_of(values, record={} if rows is None else {"n_rows": rows})
    thin = front.thin(n)
    if n >= len(front):
        assert thin is front
        return
    assert len(thin) == n
    ids = list(thin.original_index)
    assert ids == sorted(set(ids))
    np.testing.assert_array_equal(thin.values, front.values[ids])
    assert [candidate.network for candidate in thin] == [front.network(index) for index in ids]
    promised = [front.knee().index]
    if "expert_distance" in front.names:
        promised.append(front.closest_to_expert().index)
    promised += [front.best(name).index for name in front.names]
    assert set(list(dict.fromkeys(promised))[:n]) <= set(ids)
    note = thin.record["thinned_from"]
    assert (note["run_hash"], note["n_networks"], note["indices"]) == (front.run_hash, len(front), ids)
    assert "greedy hypervolume" in note["how"]
    assert "thinned_from" not in front.record


def test_thinning_to_two_leaves_the_knee_and_the_closest_to_the_expert():
    front = front_of(spread(30, 3, 8))
    assert front.thin(1).original_index == (front.knee().index,)
    assert set(front.thin(2).original_index) == {front.knee().index, front.closest_to_expert().index}


def test_thinning_takes_every_graph_before_a_second_network_of_one():
    values = spread(60, 3, 4)
    graphs = [NETWORKS[0], NETWORKS[1], NETWORKS[2]]
    front = Front(TRIO, values, [graphs[0]] * 50 + [graphs[1]] * 5 + [graphs[2]] * 5)
    best_of_graph = {
        front.knee().index,
        front.closest_to_expert().index,
        *(front.best(name).index for name in front.names),
    }
    count = len(best_of_graph) + 2
    assert {tuple(candidate.network.edges) for candidate in front.thin(count)} == {
        tuple(candidate.edges) for candidate in graphs
    }


def test_thinning_twice_points_to_the_whole_front():
    front = front_of(spread(30, 2, 7), record={"seed": 1})
    twice = front.thin(20).thin(9)
    np.testing.assert_array_equal(twice.values, front.values[list(twice.original_index)])
    note = twice.record["thinned_from"]
    assert (note["run_hash"], note["n_networks"]) == (front.run_hash, 30)
    assert twice.record["seed"] == 1
    again = Front(
        front.objectives, twice.values, [candidate.network for candidate in twice], record=twice.record
    )
    assert again.original_index == twice.original_index


@pytest.mark.long
def test_thinning_ten_thousand_builds_few_networks():
    built = []

    def build(row):
        built.append(row)
        return small_network(row, 6)

    front = Front(TRIO, spread(10_000, 3, 11), build)
    thin = front.thin(60)
    assert len(thin) == 60
    assert len({tuple(candidate.network.edges) for candidate in thin}) == 60
    assert len(built) < 120
    share = moocore.hypervolume(thin.values, ref=1.1) / moocore.hypervolume(front.values, ref=1.1)
    assert share > 0.85


def test_thinning_needs_a_positive_integer():
    for wrong in (0, -1, 2.0, "3", True, None):
        with pytest.raises(GomeaBnError, match="n must be an integer of at least 1"):
            front_of([[1, 2], [2, 1]]).thin(wrong)


def test_plot_draws_every_network():
    front = front_of(spread(7, 2, 3))
    axes = front.plot(objectives=["complexity", "misfit"])
    assert "Complexity" in axes.get_xlabel()
    assert sum(len(points.get_offsets()) for points in axes.collections) >= 7


def test_edge_frequency_counts_arcs_and_pairs():
    front = front_of(spread(25, 2, 0))
    arcs, pairs = Counter(), Counter()
    for candidate in front:
        arcs.update(candidate.network.edges)
        pairs.update(frozenset(edge) for edge in candidate.network.edges)
    frame = front.edge_frequency()
    assert frame.columns.tolist() == ["parent", "child", "arc", "adjacent"]
    frequencies = {(row.parent, row.child): (row.arc, row.adjacent) for row in frame.itertuples()}
    assert frequencies == {edge: (arcs[edge] / 25, pairs[frozenset(edge)] / 25) for edge in arcs}
    assert frame["adjacent"].is_monotonic_decreasing
    bare = DiscretizedBayesNet(
        ["x"], [], cut_points={"x": []}, support={"x": (0, 1)}, levels={}, tables={"x": [1.0]}
    )
    empty = Front([MISFIT], [[1.0]], [bare]).edge_frequency()
    assert empty.shape == (0, 4)
    mixed = Front([MISFIT], [[1.0], [2.0]], [bare, NETWORKS[0]])
    with pytest.raises(GomeaBnError, match="Networks 0 and 1 have different variables"):
        mixed.edge_frequency()


@given(matrices(most_rows=6, most_columns=3))
@settings(max_examples=40)
def test_hypervolume_counts_the_dominated_cells(values):
    m = values.shape[1]
    front = front_of(values)
    cells = sum(
        any(all(a <= c for a, c in zip(row, cell)) for row in values.tolist())
        for cell in itertools.product(range(14), repeat=m)
    )
    assert front.hypervolume(14.0, ideal=0, nadir=1) == pytest.approx(cells)
    assert front.hypervolume([14 / 7] * m, ideal=np.zeros(m), nadir=[7] * m) == pytest.approx(cells / 7**m)


def test_hypervolume_is_scaled_by_the_front_itself_by_default():
    front = front_of([[0, 4], [2, 2], [4, 0]])
    by_hand = 1.1 * 0.1 + 0.6 * 0.5 + 0.1 * 0.5
    assert front.hypervolume() == pytest.approx(by_hand)
    assert front_of(front.values * 8 - 3).hypervolume() == pytest.approx(by_hand)
    assert front_of([[5.0, 5.0]]).hypervolume() == pytest.approx(1.21)
    assert front.hypervolume(nadir=[8, 8]) == pytest.approx(1.1 * 0.6 + 0.85 * 0.25 + 0.6 * 0.25)
    with pytest.raises(GomeaBnError, match=r"ideal must not exceed nadir, got 5.0 and 4.0 for 'complexity'"):
        front.hypervolume(ideal=[0, 5])
    with pytest.raises(GomeaBnError, match="reference must be 2 finite numbers"):
        front.hypervolume([1.1, 1.1, 1.1])
    with pytest.raises(GomeaBnError, match="nadir must be numbers"):
        front.hypervolume(nadir="x")


def test_igd_plus_is_the_mean_distance_in_what_is_worse():
    reference = front_of([[0, 10], [5, 5], [10, 0]])
    front = front_of([[1, 8], [6, 6]])
    expected = []
    for point in reference.values / 10:
        worse = [np.maximum(candidate - point, 0) for candidate in front.values / 10]
        expected.append(min(math.hypot(*part) for part in worse))
    assert front.igd_plus(reference) == pytest.approx(np.mean(expected))
    assert front.igd_plus(reference.values) == front.igd_plus(reference)
    assert reference.igd_plus(reference) == 0
    assert front_of([[0, 0]]).igd_plus(reference) == 0
    with pytest.raises(GomeaBnError, match="the other has misfit, complexity, expert_distance"):
        front.igd_plus(front_of([[1, 2, 3]]))
    with pytest.raises(GomeaBnError, match="reference_front must have shape"):
        front.igd_plus([[1, 2, 3]])
