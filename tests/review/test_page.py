"""The review page without a browser: how it is written, what can never happen to it, and what is refused."""

import base64
import hashlib
import re

import pytest
from network_examples import network_with, with_parts
from review_examples import HOSTILE_NAMES, Elements, edges_in, example_front, learned_table, page_data
from wrong_input import untyped

from gomea_bn import DiscretizedBayesNet, Front, GomeaBnError, network_report, review_page
from gomea_bn.front import COMPLEXITY, MISFIT
from gomea_bn.review import page as review


def test_report_of_one_network_leaves_out_what_chooses():
    front = example_front()
    network = front[2].network
    data = page_data(
        network_report(network, front.table, record={"score": -3.25, "options": {"a": [1, 2], "b": []}})
    )
    assert data["kind"] == "network"
    assert data["run_hash"] is None
    assert data["objectives"] == []
    assert data["facts"] == [["score", "-3.25"], ["options · a", "1, 2"], ["options · b", "none"]]
    assert edges_in(data, data["networks"][0]) == set(network.edges)


def test_a_frame_of_rows_gives_the_same_page_as_its_table():
    front = example_front()
    network = front[2].network
    assert network_report(network, front.table.to_frame()) == network_report(network, front.table)
    with pytest.raises(GomeaBnError, match="no column"):
        network_report(network, front.table.to_frame().drop(columns=network.names[0]))


def test_a_front_of_one_network_has_no_landmarks():
    front = example_front(n_networks=1)
    data = page_data(review_page(front))
    assert data["headline"] == "One network explains your data."
    assert data["landmarks"] == []


def test_expert_in_another_column_order_is_matched_by_name():
    front = example_front()
    names = list(front.expert.names)[::-1]
    tables = {
        name: front.expert.tables[name].reshape(-1, front.expert.cardinality(name))[0] for name in names
    }
    turned = with_parts(front.expert.in_order(names), edges=[], tables=tables)
    reordered = Front(
        front.objectives, front.values, [c.network for c in front], table=front.table, expert=turned
    )
    data = page_data(review_page(reordered))
    assert edges_in(data, data["expert"]) == set()
    for position, name in enumerate(front.expert.names):
        cuts = data["cuts"][position][data["expert"]["c"][position]]["at"]
        assert (cuts is None) == (name not in front.expert.cut_points)


def test_page_is_written_whole(tmp_path):
    path = tmp_path / "page.html"
    text = review_page(example_front(), path)
    assert path.read_text(encoding="utf-8") == text
    with pytest.raises(GomeaBnError, match="does not exist"):
        review_page(example_front(), tmp_path / "no folder" / "page.html")


def test_same_front_same_page():
    assert review_page(example_front()) == review_page(example_front())


@pytest.mark.sample(1)
@pytest.mark.parametrize("packed", [False, True])
def test_hostile_texts_stay_data(monkeypatch, packed):
    if packed:
        monkeypatch.setattr(review, "_LARGEST_PLAIN", 10)
    names = HOSTILE_NAMES
    front = example_front(n_variables=len(names), names=names, n_objectives=4, record={"</script>": names})
    page = review_page(front, title="</title><script>window.hacked = 1</script>")
    plain = Elements(review_page(example_front()))
    elements = Elements(page)
    assert [tag for tag, _ in elements.tags] == [tag for tag, _ in plain.tags]
    data = page_data(page)
    assert [variable["name"] for variable in data["variables"]] == names
    assert data["title"] == "</title><script>window.hacked = 1</script>"
    assert page.count("window.hacked") == (
        0 if packed else page.count("\\u003cscript>window.hacked") + page.count("onerror='")
    )
    assert "\u2028" not in page
    assert "\u2029" not in page


def test_policy_allows_the_pages_own_script_and_style_only():
    elements = Elements(review_page(example_front()))
    policy = next(
        a["content"] for a, _ in elements.all("meta") if a.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data: blob:"
    scripts = [text for attributes, text in elements.all("script") if "type" not in attributes]
    styles = [text for _, text in elements.all("style")]
    assert len(scripts) == len(styles) == 1
    for rule, text in (("script-src", scripts[0]), ("style-src", styles[0])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    attributes = {name for _, tag_attributes in elements.tags for name in tag_attributes}
    assert not {name for name in attributes if name.startswith("on")} | (
        {"style", "src", "srcset"} & attributes
    )


def test_assets_insert_no_markup_from_data_and_load_nothing():
    script = "".join(review._asset(name) for name in (*review._SCRIPTS, *review._WORKER_SCRIPTS))
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|fetch\(|XMLHttp|import\("
    )
    assert re.findall(forbidden, script) == []
    assert "</script" not in script
    style = review.style_of("gomea_bn.review", "page.css")
    assert "url(" not in style
    assert "@import" not in style
    assert max(script.count(word) for word in ("TODO", "FIXME", "console.")) == 0


def test_large_data_are_compressed_to_the_same_data(monkeypatch):
    front = example_front()
    plain = review_page(front)
    monkeypatch.setattr(review, "_LARGEST_PLAIN", 1000)
    packed = review_page(front)
    assert 'type="application/gzip"' in packed
    assert len(packed) < len(plain)
    assert page_data(packed) == page_data(plain)


@pytest.mark.long
def test_two_hundred_networks_of_twenty_variables_stay_below_a_megabyte():
    front = example_front(n_networks=200, n_variables=20, n_rows=400)
    page = review_page(front)
    assert len(page.encode()) < 1_000_000
    assert len(page_data(page)["networks"]) == 200


@pytest.mark.parametrize("number", [0, -1, 2.5, True, "many"])
def test_refuses_odd_numbers_of_networks(number):
    with pytest.raises(GomeaBnError, match="max_networks must be an integer of at least 1"):
        review_page(example_front(), max_networks=number)


def test_refuses_networks_experts_and_tables_over_other_variables():
    front, other = example_front(), example_front(n_variables=7)
    networks = [candidate.network for candidate in front]
    changed = [*networks[:4], other[0].network, *networks[5:]]
    with pytest.raises(GomeaBnError, match="network 4 differs"):
        review_page(Front(front.objectives, front.values, changed))
    with pytest.raises(GomeaBnError, match=r"ExpertNetwork\.fitted"):
        review_page(Front(front.objectives, front.values, networks, expert=other.expert))
    with pytest.raises(GomeaBnError, match="The table has no column 'X7'"):
        network_report(other[0].network, front.table)


def test_refuses_networks_with_another_order_of_the_variables():
    networks = [
        network_with(
            names,
            [],
            cut_points={"a": [], "b": []},
            support={"a": (0, 1), "b": (0, 1)},
            tables={"a": [1.0], "b": [1.0]},
        )
        for names in (["a", "b"], ["b", "a"])
    ]
    with pytest.raises(GomeaBnError, match="network 1 differs"):
        review_page(Front([MISFIT, COMPLEXITY], [[1.0, 2.0], [2.0, 1.0]], networks))


def test_refuses_a_title_that_is_no_text():
    with pytest.raises(GomeaBnError, match="title must be text"):
        review_page(example_front(), title=untyped(3))


def test_a_front_without_bins_or_edges_is_drawn():
    table = learned_table(4, 50, 3)
    cuts = {column.name: [] for column in table.columns if column.is_continuous}
    network = DiscretizedBayesNet.from_table(table, [], cuts)
    data = page_data(review_page(Front([MISFIT], [[1.0], [2.0]], [network, network], table=table)))
    assert data["n_edges"] == [0, 0]
    assert data["layout"]["curves"] == []


def test_layout_is_shared():
    front = example_front()
    pairs = {(i, j) for i, j, _ in page_data(review_page(front))["layout"]["curves"]}
    for candidate in front:
        names = candidate.network.names
        for parent, child in candidate.network.edges:
            assert tuple(sorted((names.index(parent), names.index(child)))) in pairs
