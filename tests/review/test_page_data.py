"""The data of the review page: networks, landmarks, histograms, tables, and what is missing or damaged."""

import re

import numpy as np
import pandas as pd
import pytest
from averaged_examples import averaged_example
from network_examples import simple_network, with_parts
from review_examples import edges_in, example_front, page_data, stored

from gomea_bn import (
    BayesNetLearner,
    DiscretizedBayesNet,
    ExpertNetwork,
    Front,
    GomeaBnWarning,
    network_report,
    read_table,
    review_page,
)
from gomea_bn.data.column_summary import column_summary
from gomea_bn.network.effects import shows_effects
from gomea_bn.network.rows import table_for
from gomea_bn.review import page_data as page_data_module
from gomea_bn.review import pools
from gomea_bn.review.page_data import page_rows
from gomea_bn.review.pools import MOST_TABLE_ROWS

pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.sample(3)
@pytest.mark.parametrize("n_objectives", [1, 2, 3, 4])
def test_page_holds_every_network_as_it_is(n_objectives):
    front = example_front(n_objectives=n_objectives)
    data = page_data(review_page(front))
    assert data["values"] == front.values.tolist()
    assert data["run_hash"] == front.run_hash
    assert data["ids"] == list(range(len(front)))
    for candidate, entry in zip(front, data["networks"]):
        network = candidate.network
        assert edges_in(data, entry) == set(network.edges)
        n = len(network.names)
        open_edges = [(network.names[key // n], network.names[key % n]) for key in entry["o"]]
        assert open_edges == list(network.cpdag().reversible)
        for position, name in enumerate(network.names):
            family = data["families"][position][entry["f"][position]]
            rows = network.tables[name].reshape(-1, network.cardinality(name))
            assert family["r"] == len(rows)
            if family["i"] is None:
                np.testing.assert_array_equal(stored(family), rows.ravel())
            cuts = data["cuts"][position][entry["c"][position]]["at"]
            if name in network.cut_points:
                np.testing.assert_allclose(cuts, network.cut_points[name], rtol=1e-9)
            else:
                assert cuts is None


def test_counts_behind_bins_and_table_rows_are_those_of_the_rows():
    front = example_front(n_variables=5, n_rows=120)
    data = page_data(review_page(front))
    columns = {column.name: column.values.tolist() for column in front.table.columns}
    network = front[3].network
    entry = data["networks"][3]

    def code(name, value):
        return sum(value > cut for cut in network.cut_points[name]) if name in network.cut_points else value

    checked = 0
    for position, name in enumerate(network.names):
        codes = [code(name, value) for value in columns[name]]
        bins = data["cuts"][position][entry["c"][position]]["n"]
        assert bins == [codes.count(state) for state in range(network.cardinality(name))]
        family = data["families"][position][entry["f"][position]]
        parents = network.parents(name)
        if not parents:
            assert family["n"] is None
            continue
        shape = [network.cardinality(parent) for parent in parents]
        expected = np.zeros(shape, dtype=int)
        for row in range(front.table.n_rows):
            expected[tuple(code(parent, columns[parent][row]) for parent in parents)] += 1
        assert family["n"] == expected.ravel().tolist()
        checked += 1
    assert checked


def test_landmarks_are_the_fronts_choices():
    front = example_front(n_objectives=4)
    landmarks = {landmark["key"]: landmark for landmark in page_data(review_page(front))["landmarks"]}
    assert landmarks["recommended"]["id"] == front.knee().index
    assert landmarks["expert_distance"]["id"] == front.closest_to_expert().index
    assert landmarks["complexity"]["id"] == front.best("complexity").index
    assert landmarks["misfit"]["id"] == front.best("misfit").index
    assert landmarks["price <b>"]["label"] == "Least price of <measuring>"
    labels = [landmark["label"] for landmark in page_data(review_page(front))["landmarks"]]
    assert labels[:4] == ["Recommended", "Closest to mine", "Simplest", "Best fit"]


def test_a_front_of_two_objectives_has_a_recommended_network():
    front = example_front(n_objectives=2)
    landmarks = page_data(review_page(front))["landmarks"]
    assert [landmark["key"] for landmark in landmarks] == ["recommended", "complexity", "misfit"]


def test_a_value_equal_to_a_cut_is_counted_in_the_bin_below():
    table = read_table(pd.DataFrame({"x": np.repeat([1.0, 2.0, 3.0, 4.5], [4, 5, 6, 7])}))
    network = DiscretizedBayesNet.from_table(table, [], {"x": [2.0, 3.0]})
    assert page_data(network_report(network, table))["cuts"][0][0]["n"] == [9, 6, 7]


def test_further_axes_are_columns_of_the_fronts_frame():
    front = example_front()
    data, frame = page_data(review_page(front)), front.to_frame()
    assert data["n_edges"] == frame["n_edges"].tolist()
    assert data["most_parents"] == frame["most_parents"].tolist()


def test_thinned_page_names_networks_by_their_place_in_the_whole_front():
    front = example_front(n_networks=30)
    data = page_data(review_page(front, max_networks=7))
    assert len(data["ids"]) == 7
    assert data["run_hash"] == front.run_hash
    assert front.knee().index in data["ids"]
    for number, row in zip(data["ids"], data["values"]):
        assert row == front.values[number].tolist()
    assert data["headline"] == "7 networks explain your data; pick one."
    assert "Chosen from 30:" in data["origin"]
    assert "differ most from them" in data["origin"]


def test_page_of_a_thinned_front_speaks_of_that_front_and_says_what_it_came_from():
    front = example_front(n_networks=30)
    small = front.thin(9)
    data = page_data(review_page(small))
    assert data["run_hash"] == small.run_hash
    assert data["ids"] == list(range(9))
    assert "Chosen from 30: recommended" in data["origin"]
    again = page_data(review_page(small, max_networks=4))
    assert [small.values[number].tolist() for number in again["ids"]] == again["values"]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("limit", "words"),
    [(460.0, "Complexity was limited to 460 free parameters."), (1e300, ""), ("many", ""), (None, "")],
)
def test_a_limit_of_the_complexity_is_said(limit, words):
    front = example_front(record={"parameters": {"max_complexity": limit}})
    origin = page_data(review_page(front))["origin"]
    assert origin.endswith(words or "rows.")


def test_histograms_come_from_the_rows_or_from_the_record():
    with_table = example_front()
    columns = column_summary(with_table.table)
    without = example_front(keep_table=False, record={"columns": columns, "n_rows": 200})
    bare = example_front(keep_table=False)
    variables = [page_data(review_page(front))["variables"] for front in (with_table, without, bare)]
    assert variables[0] == variables[1]
    for position, column in enumerate(columns):
        if column["kind"] == "continuous":
            assert variables[0][position]["histogram"]["counts"] == column["histogram"]["counts"]
            np.testing.assert_allclose(
                variables[0][position]["histogram"]["edges"], column["histogram"]["edges"], rtol=1e-8
            )
            assert variables[2][position]["histogram"] is None
        else:
            assert variables[0][position]["counts"] == column["counts"]
            assert variables[2][position]["counts"] is None
    assert "200 rows" in page_data(review_page(without))["origin"]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "columns", [None, 3, [1], [{"name": 1}], [{"name": "X1", "histogram": {"edges": [1]}}]]
)
def test_spoilt_columns_of_a_record_give_no_histogram(columns):
    front = example_front(keep_table=False, record={"columns": columns})
    variables = page_data(review_page(front))["variables"]
    assert len(variables) == len(front[0].network.names)
    for variable in variables:
        assert variable.get("histogram") is None
        assert variable.get("counts") is None


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "histogram",
    [
        {"edges": ["low", 1, 2], "counts": [3, 4]},
        {"edges": [0, 1, None], "counts": [3, 4]},
        {"edges": [0, 1, 10**400], "counts": [3, 4]},
        {"edges": [0, 2, 1], "counts": [3, 4]},
        {"edges": [0, 1, 2], "counts": [3, "many"]},
        {"edges": [0, 1, 2], "counts": [3, -1]},
        {"edges": [0, 1, 2], "counts": {"0": 3}},
        {"edges": [0], "counts": []},
        [0, 1],
    ],
)
def test_damaged_histograms_and_counts_are_left_out_and_said_to_be(histogram):
    columns = column_summary(example_front().table)
    kinds = [column["kind"] for column in columns]
    index, of_levels = kinds.index("continuous"), kinds.index("discrete")
    columns[index]["histogram"] = histogram
    columns[of_levels]["counts"][0] = "many"
    front = example_front(keep_table=False, record={"columns": columns})
    variables = page_data(review_page(front))["variables"]
    assert variables[index]["histogram"] is variables[of_levels]["counts"] is None
    assert {at for at, variable in enumerate(variables) if variable["damaged"]} == {index, of_levels}


def front_of_a_short_expert() -> tuple[Front, list[str]]:
    """Return a front whose expert gave an edge and the cuts of its child, with these columns and a further one."""
    plain = example_front()
    names = [column.name for column in plain.table.columns if column.is_continuous][:3]
    expert = ExpertNetwork.from_edges([(names[0], names[1])], cut_points={names[1]: [0.5]}).fitted(
        plain.table
    )
    networks = [candidate.network for candidate in plain]
    return Front(plain.objectives, plain.values, networks, table=plain.table, expert=expert), names


def test_what_the_expert_did_not_say_is_marked():
    front, (first, second, third) = front_of_a_short_expert()
    unsaid = {entry["name"]: entry["unsaid"] for entry in page_data(review_page(front))["variables"]}
    assert unsaid.pop(first) == "bins"
    assert unsaid.pop(second) is None
    assert third in unsaid
    assert set(unsaid.values()) == {"variable"}
    assert {entry["unsaid"] for entry in page_data(review_page(example_front()))["variables"]} == {None}


def wide_network(n_parents: int = 4) -> DiscretizedBayesNet:
    """Return a network whose last table has 5**n_parents rows."""
    levels = {f"p{number}": 5 for number in range(n_parents)}
    return simple_network(
        {**levels, "child": 2}, [(name, "child") for name in levels], np.random.default_rng(0)
    )


def test_long_tables_are_cut_and_say_which_rows_are_kept():
    network = wide_network()
    family = page_data(network_report(network))["families"][-1][0]
    assert family["r"] == 625
    assert family["i"] == list(range(MOST_TABLE_ROWS))
    assert family["w"]
    np.testing.assert_array_equal(stored(family), network.tables["child"].ravel())


@pytest.mark.parametrize("limit", ["_MOST_WHOLE", "_MOST_STORED"])
def test_tables_beyond_the_limits_keep_the_rows_that_are_shown(monkeypatch, limit):
    network = wide_network()
    # the other tables of the network have 5 cells each
    size = network.tables["child"].size + (20 if limit == "_MOST_STORED" else 0)
    monkeypatch.setattr(pools, limit, size)
    assert page_data(network_report(network))["families"][-1][0]["w"]
    monkeypatch.setattr(pools, limit, size - 1)
    family = page_data(network_report(network))["families"][-1][0]
    assert not family["w"]
    rows = network.tables["child"].reshape(-1, 2)
    assert family["k"] == list(range(MOST_TABLE_ROWS))
    expected = np.vstack([rows[:MOST_TABLE_ROWS], rows[MOST_TABLE_ROWS:].mean(axis=0)])
    np.testing.assert_allclose(stored(family), expected.ravel(), rtol=1e-12)


def test_a_large_table_whose_rows_without_data_are_equal_is_kept_exactly(monkeypatch):
    network = wide_network()
    tables = dict(network.tables)
    rows = tables["child"].reshape(-1, 2).copy()
    rows[np.arange(625) % 5 > 0] = [0.25, 0.75]
    tables["child"] = rows.reshape(tables["child"].shape)
    network = with_parts(network, cut_points={}, support={}, tables=tables)
    monkeypatch.setattr(pools, "_MOST_WHOLE", 300)
    family = page_data(network_report(network))["families"][-1][0]
    assert family["w"]
    assert family["k"] == list(range(0, 625, 5))
    np.testing.assert_array_equal(stored(family), np.vstack([rows[::5], [0.25, 0.75]]).ravel())


@pytest.mark.parametrize("n_rows", [MOST_TABLE_ROWS, MOST_TABLE_ROWS + 1])
def test_a_table_is_cut_from_one_row_above_the_limit(n_rows):
    network = simple_network({"parent": n_rows, "child": 2}, [("parent", "child")])
    family = page_data(network_report(network))["families"][1][0]
    assert family["i"] == (None if n_rows == MOST_TABLE_ROWS else list(range(MOST_TABLE_ROWS)))


def test_long_tables_keep_the_rows_with_most_data():
    frame = wide_network().sample(900, 1)
    table = read_table(frame)
    network = DiscretizedBayesNet.from_table(table, [(f"p{number}", "child") for number in range(4)], {})
    family = page_data(network_report(network, table))["families"][-1][0]
    counts = frame.groupby([f"p{number}" for number in range(4)], observed=False).size().to_numpy()
    rows_shown = family["i"]
    assert family["n"] == counts[rows_shown].tolist()
    left_out = np.delete(counts, rows_shown)
    assert left_out.size == 625 - MOST_TABLE_ROWS
    assert left_out.max() <= min(family["n"])
    np.testing.assert_array_equal(stored(family), network.tables["child"].ravel())


def test_tables_of_numbers_show_the_parents_that_add_most():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(400, 4)), columns=["p0", "p1", "p2", "y"])
    cuts = {name: np.quantile(frame[name], [0.2, 0.4, 0.6, 0.8]) for name in ("p0", "p1", "p2", "y")}
    gains = [["p2", 70.0], ["p0", 25.0], ["p1", 5.0]]
    network = DiscretizedBayesNet.from_table(
        read_table(frame), [(f"p{k}", "y") for k in range(3)], cuts, metadata={"parents": {"y": gains}}
    )
    data = page_data(network_report(network, read_table(frame)))
    whole = data["families"][-1][0]
    shown = whole["v"]
    assert whole["p"] == [0, 1, 2]
    np.testing.assert_array_equal(stored(whole), network.tables["y"].ravel())
    # 5 * 5 * 5 cells, and not 625
    assert shown["p"] == [2, 0]
    counts = np.array(whole["n"]).reshape(5, 5, 5)
    assert shown["n"] == counts.sum(axis=1).T.ravel().tolist()
    table = stored(shown).reshape(5, 5, 5)
    weights = counts[3, :, 1].astype(float)
    np.testing.assert_allclose(table[1, 3], weights @ network.tables["y"][3, :, 1] / weights.sum())
    assert data["known"] == ["", "", "", "2 of 3 parents carry 95 % of what is known of it"]
    # without rows of data drawn ones weigh
    drawn = page_data(network_report(network))["families"][-1][0]["v"]
    assert drawn["n"] is None
    np.testing.assert_allclose(stored(drawn).reshape(5, 5, 5).sum(axis=-1), 1.0)


@pytest.mark.long
def test_bins_that_the_expert_did_not_give_are_not_called_theirs(shown):
    front, (first, second, third) = front_of_a_short_expert()
    expert = front.expert
    with shown(front) as page:
        text = page.locator("#panel").inner_text()
        assert f"You gave no bins: {first}." in text
        others = [name for name in expert.names if name not in (first, second)]
        assert f"You did not mention: {', '.join(others)}." in text
        named = re.findall(r"^(.*): .* in yours\.$", text, flags=re.MULTILINE)
        assert named == [second]
        expected = {
            first: "You gave no bins: 3 bins of equal frequency stand in for yours.",
            third: "You did not mention this variable. You gave no bins: 3 bins of equal frequency stand in "
            "for yours.",
        }
        for name, words in expected.items():
            page.locator(f".node[data-variable='{expert.names.index(name)}']").press("Enter")
            assert page.locator("#panel .unsaid").inner_text() == words
            assert page.locator("#histogram .yours").count() == 0
            assert "yours" not in page.locator("#histogram").get_attribute("aria-label")
        page.locator(f".node[data-variable='{expert.names.index(second)}']").press("Enter")
        assert page.locator("#panel .unsaid").count() == 0
        assert page.locator("#histogram line.cut.yours").count() == 2


@pytest.mark.long
def test_a_damaged_histogram_is_said_to_be_damaged(shown):
    columns = column_summary(example_front().table)
    index = next(index for index, column in enumerate(columns) if column["kind"] == "continuous")
    columns[index]["histogram"]["edges"][0] = "low"
    with shown(example_front(keep_table=False, record={"columns": columns})) as page:
        page.locator(f".node[data-variable='{index}']").press("Enter")
        assert "is damaged in the record" in page.locator("#panel").inner_text()
        assert page.locator("#histogram .bar").count() == 0


def test_a_page_of_large_tables_merges_bins_and_says_so(monkeypatch):
    network = averaged_example()
    assert "merged" not in page_data(network_report(network))["origin"]
    monkeypatch.setattr(page_data_module, "MOST_COMPUTED_CELLS", 40)
    data = page_data(network_report(network))
    compiled = network.compiled(40)
    assert data["origin"].startswith("The page answers with merged bins of ")
    for position, name in enumerate(network.names):
        (family,) = data["families"][position]
        np.testing.assert_array_equal(stored(family), compiled.tables[name].ravel())


def test_a_column_that_shows_effects_has_them_on_the_page_of_one_network():
    network = averaged_example()
    data = page_data(network_report(network))
    assert data["n_parameters"] == [network.n_parameters]
    shown = [name for name in network.names if shows_effects(network, name)]
    assert (
        [name for name, of_name in zip(network.names, data["effects"], strict=True) if of_name]
        == shown
        == ["c"]
    )
    effects, entry = network.column_effects("c"), data["effects"][network.names.index("c")]
    assert entry["outcomes"] == [0]
    (one,) = entry["parents"]
    assert network.names[one["p"]] == "b"
    np.testing.assert_allclose(one["mean"][0], effects.effects[0].means[:, 0], rtol=1e-4)
    np.testing.assert_allclose(one["at"], effects.effects[0].values, rtol=1e-7)
    assert len(one["edges"]) == len(one["at"]) + 1 == len(one["rows"]) + 1


def test_numbers_of_rows_are_those_of_merged_bins():
    rng = np.random.default_rng(1)
    x = rng.normal(size=400)
    frame = pd.DataFrame({"x": x, "y": x + rng.normal(size=400), "z": rng.choice(["a", "b"], 400)})
    frame.loc[:9, "z"] = None
    cuts = {"x": [-1.0, 0.0, 1.0], "y": [0.0]}
    network = DiscretizedBayesNet.from_table(frame.dropna(), [("x", "y")], cuts)
    merged = DiscretizedBayesNet.from_table(frame.dropna(), [("x", "y")], {"x": [0.0], "y": [0.0]})
    rows = page_rows(network, merged, table_for(network, frame, allow_missing=True))
    known = frame.dropna()
    counts = pd.crosstab([known["x"] > 0, known["y"] > 0], known["z"]).to_numpy().ravel()
    assert rows["counts"]["0,1,2"] == counts.tolist()
    assert rows["counts"]["0,1"] == pd.crosstab(frame["x"] > 0, frame["y"] > 0).to_numpy().ravel().tolist()
    assert rows["gaps"] == [2]
    assert (rows["n"], rows["evidence"], rows["limits"][0]) == (400, 1.0, 3.0)
    assert page_rows(network, merged, None) is None
    # cuts that are no shown ones divide rows that were counted together
    other = DiscretizedBayesNet.from_table(frame.dropna(), [("x", "y")], {"x": [0.5], "y": [0.0]})
    assert set(page_rows(network, other, table_for(network, frame, allow_missing=True))["counts"]) == {
        "1",
        "2",
        "1,2",
    }


def test_a_large_front_has_rows_of_networks_with_a_button():
    front = example_front(n_networks=14)
    data = page_data(review_page(front))
    with_button = {entry["id"] for entry in data["landmarks"]}
    assert {position for position, rows in enumerate(data["rows"]) if rows} == with_button
    few = page_data(review_page(example_front(n_networks=3)))
    assert all(few["rows"])
    numbers = [sum(map(len, rows["counts"].values())) for rows in data["rows"] if rows]
    assert sum(numbers) <= 2**16
    assert page_data(review_page(example_front(keep_table=False)))["rows"] is None


def test_times_until_an_event_and_their_event_are_called_so():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {
            "x": rng.normal(size=60),
            "survival_time": rng.exponential(size=60),
            "died": rng.integers(2, size=60),
        }
    )
    with pytest.warns(GomeaBnWarning, match="looks like the time until 'died'"):
        table = read_table(rows)
    learned = BayesNetLearner(max_evaluations=20, max_seconds=None, n_jobs=1, density="bins").fit(table)
    data = page_data(network_report(learned.network_, table))
    roles = {variable["name"]: variable["role"] for variable in data["variables"]}
    assert roles == {"x": None, "survival_time": "time until died", "died": "event"}
