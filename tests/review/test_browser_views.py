"""What the review page shows in a browser: edges, variables, tables, comparisons, addresses. Needs Chromium."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect
from review_browser import handle, left, needs_browser, opened, selected
from review_examples import example_front

from gomea_bn.front.front import Front
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.review.page import network_report, review_page
from gomea_bn.simulation import random_network

pytestmark = pytest.mark.filterwarnings("error")


@needs_browser
def test_the_last_parent_varies_fastest_in_a_table(browser, tmp_path):
    levels = {"p": ("a", "b"), "q": ("x", "y", "z"), "child": ("no", "yes")}
    tables = {"p": np.full(2, 1 / 2), "q": np.full(3, 1 / 3), "child": np.full((2, 3, 2), 1 / 2)}
    network = DiscretizedBayesNet(
        list(levels),
        [("p", "child"), ("q", "child")],
        cut_points={},
        support={},
        levels=levels,
        tables=tables,
    )
    network_report(network, None, tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as page:
        page.locator(".node[data-variable='2']").press("Enter")
        rows = page.locator("#probabilities tbody tr").all()
        parents = [row.locator("th").all_inner_texts() for row in rows]
    assert parents == [[p, q] for p in levels["p"] for q in levels["q"]]


@needs_browser
def test_probabilities_of_edges_are_numbers_and_thickness(browser, tmp_path):
    network = random_network(4, law="ide-cozman", random_state=1)
    (parent, child), *others = network.edges
    assert others
    pairs = [[child, parent, 0.125, 0.625]]
    sure = network.with_metadata(edge_probabilities={"pairs": pairs})
    network_report(sure, None, tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as page:
        numbers = page.locator("#graph .sure").all_text_contents()
        assert sorted(numbers) == sorted(["75\u00a0%", *["0\u00a0%"] * len(others)])
        key = f"{network.names.index(parent)},{network.names.index(child)}"
        likely = page.locator(f'#graph [data-edge="{key}"]')
        assert "an edge is 75\u00a0% sure, this direction 63\u00a0%" in likely.text_content()
        widths = page.locator("#graph .edge path:not(.touch)").evaluate_all(
            "paths => paths.map(p => +p.getAttribute('stroke-width'))"
        )
        assert sorted(widths)[-1] > 3 * sorted(widths)[-2]
        assert "thick, %: probability of an edge" in page.locator("#legend").text_content()


@needs_browser
def test_edges_are_classed_against_the_expert(page, front):
    network, expert = front[selected(page)].network, front.expert
    ours, theirs = set(network.edges), set(expert.edges)
    classes = {
        "both": ours & theirs,
        "reversed": {(a, b) for a, b in ours if (b, a) in theirs},
        "here": {(a, b) for a, b in ours if (a, b) not in theirs and (b, a) not in theirs},
        "there": {(a, b) for a, b in theirs if (a, b) not in ours and (b, a) not in ours},
    }
    assert sum(map(len, classes.values())) > 5
    for kind, edges in classes.items():
        drawn = page.locator(f"#graph .edge.{kind}").evaluate_all("all => all.map(one => one.dataset.edge)")
        names = network.names
        assert {tuple(names[int(index)] for index in edge.split(",")) for edge in drawn} == edges
    open_edges = page.locator("#graph .edge.open").evaluate_all("all => all.map(one => one.dataset.edge)")
    reversible = set(network.cpdag().reversible)
    assert {
        tuple(network.names[int(index)] for index in edge.split(",")) for edge in open_edges
    } == reversible
    legend = page.locator("#legend li").all_inner_texts()
    assert [text for text in legend if "turned" in text] == [f"could be turned {len(reversible)}"][
        : len(reversible)
    ]
    assert [int(text.split()[-1]) for text in legend[:4]] == [
        len(classes[kind]) for kind in ("both", "reversed", "here", "there")
    ]
    listed = [text.split(" (")[0] for text in page.locator("#panel .edge-list li").all_inner_texts()]
    assert {re.sub(r"\s*\d+\s%", "", text).removesuffix(" ?").strip() for text in listed} == {
        f"{a} → {b}" for edges in classes.values() for a, b in edges
    }


@needs_browser
def test_nodes_can_stay_where_they_are_and_edges_thicken_with_their_share(page, front):
    transforms = "all => all.map(one => one.getAttribute('transform'))"
    own = page.locator(".node").evaluate_all(transforms)
    page.click("#places")
    shared = page.locator(".node").evaluate_all(transforms)
    assert shared != own
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator(".node").evaluate_all(transforms) == shared
    page.keyboard.press("o")
    assert page.locator(".node").evaluate_all(transforms) != shared
    network = front[selected(page)].network
    frequency = {
        edge: sum(edge in candidate.network.edges for candidate in front) / len(front)
        for edge in network.edges
    }
    names = network.names
    for (parent, child), share in frequency.items():
        edge = page.locator(f".edge[data-edge='{names.index(parent)},{names.index(child)}'] path:not(.touch)")
        assert float(edge.get_attribute("stroke-width")) == pytest.approx(1.1 + 3.2 * share, abs=0.006)


@needs_browser
def test_a_variable_opens_with_its_bins_table_and_blanket(page, front):
    network = front[selected(page)].network
    name = next(
        variable
        for variable in network.cut_points
        if network.parents(variable) and len(network.cut_points[variable])
    )
    page.locator(f".node[data-variable='{network.names.index(name)}']").focus()
    page.keyboard.press("Enter")
    assert page.locator(".variable-name").inner_text() == name
    assert page.locator("#histogram .bar").count() > 5
    assert page.locator("#histogram line.cut.this").count() == 2 * len(network.cut_points[name])
    assert page.locator("#histogram line.cut.yours").count() == 2 * len(front.expert.cut_points[name])
    rows = network.tables[name].reshape(-1, network.cardinality(name))
    assert page.locator("#probabilities tbody tr").count() == len(rows)
    first = page.locator("#probabilities tbody tr").first.locator("td.share").all_inner_texts()
    assert [float(text) for text in first] == pytest.approx(rows[0].tolist(), abs=0.0051)
    counts = page.locator("#probabilities tbody td.muted").all_inner_texts()
    assert sum(int(text) for text in counts) == front.table.n_rows
    children = {child for parent, child in network.edges if parent == name}
    partners = {parent for parent, child in network.edges if child in children and parent != name}
    blanket = set(network.parents(name)) | children | partners
    shown = page.locator(".node.blanket").evaluate_all("all => all.map(one => Number(one.dataset.variable))")
    assert {network.names[index] for index in shown} == blanket
    page.click("summary:text('Bins as a table')")
    bins = page.locator("#panel details table").first.locator("tbody td").all_inner_texts()
    assert sum(int(text) for text in bins) == front.table.n_rows
    page.keyboard.press("Escape")
    assert page.locator(".node.blanket").count() == 0


@needs_browser
def test_slash_finds_a_variable(page, front):
    page.keyboard.press("/")
    page.keyboard.type("nowhere")
    assert page.locator("#find-note").inner_text() == "No name contains “nowhere”."
    page.fill("#find", "")
    page.keyboard.type("x3")
    assert page.locator(".node.found title").text_content() == "X3"
    page.keyboard.press("Enter")
    assert page.locator(".variable-name").inner_text() == "X3"
    page.keyboard.press("s")
    assert page.locator("#shortlist button").count() == 1


@needs_browser
def test_pin_and_compare_in_words(page, front):
    page.click("button[data-key=misfit]")
    page.keyboard.press("p")
    assert "This is A" in page.locator("#panel").inner_text()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    here, pinned = front[3].network, front[0].network
    text = page.locator("#panel").inner_text()
    assert "with A (network 0)" in text
    only_here = [edge for edge in here.edges if edge not in pinned.edges and edge[::-1] not in pinned.edges]
    assert (f"Only here: {len(only_here)}" in text) == bool(only_here)
    for parent, child in only_here:
        assert f"{parent} → {child}" in text
    side = "here" if front.values[3, 1] < front.values[0, 1] else "A has"
    difference = f"{abs(front.values[3, 1] - front.values[0, 1]):,.0f} free parameters fewer: simpler"
    assert f"; {side} {difference}" in text
    differing = [
        name for name, cuts in here.cut_points.items() if cuts.tolist() != pinned.cut_points[name].tolist()
    ]
    assert differing
    for name in differing:
        assert re.search(rf"{name}: .*here; .* in A\.", text)
    page.click("#against button:text('with yours')")
    assert "with your network" in page.locator("#panel").inner_text()
    page.keyboard.press("p")
    assert page.locator("body").get_attribute("data-pinned") == "3"


@needs_browser
def test_address_restores_the_whole_view(page):
    page.click("button[data-key=misfit]")
    page.keyboard.press("p")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("s")
    page.fill("#note", "note & more = 1, 2: #3")
    page.select_option("#axis-x", label="Largest table")
    page.locator("#weight-1").evaluate("one => { one.value = 80; }")
    handle(page, 0, 1).press("ArrowLeft")
    page.locator(".node").nth(2).click()
    state = """() => [document.body.dataset.selected, document.body.dataset.left, document.body.dataset.pinned,
      document.querySelector('#axis-x').value, document.querySelector('#note').value,
      [...document.querySelectorAll('#weights output')].map(one => one.textContent).join(),
      document.querySelector('.variable-name')?.textContent, document.querySelector('#shortlist').textContent]"""
    expect(page).to_have_url(re.compile(r"variable=2.*note="))
    before = page.evaluate(state)
    page.reload()
    page.wait_for_selector("body[data-ready='1']")
    assert page.evaluate(state) == before
    page.evaluate("location.hash = '#network=4'")
    page.wait_for_selector("body[data-selected='4']")
    assert page.evaluate(state)[1:3] == ["14", ""]


@needs_browser
def test_a_spoilt_address_is_ignored(browser, page_file, front):
    with opened(browser, page_file, "#network=999&pin=x") as page:
        for fragment in (
            "#filters=0:9:1,99:1:2,a:b:c",
            "#axes=7,99&weights=1&variable=-1&tab=none",
            "#%E0%A4%A&note=:",
        ):
            assert selected(page) == front.knee().index
            assert left(page) == len(front)
            page.evaluate(f"location.replace({fragment!r})")
            page.reload()
            page.wait_for_selector("body[data-ready='1']")
        assert selected(page) == front.knee().index


@needs_browser
def test_tables_say_what_the_charts_show(page, front):
    page.click("#open-table")
    rows = page.locator("#table-body tbody tr")
    assert rows.count() == len(front)
    frame = front.to_frame()
    cells = rows.nth(6).locator("td").all_inner_texts()
    assert [int(cells[3]), int(cells[4].replace(",", ""))] == frame.loc[
        6, ["n_edges", "largest_table"]
    ].tolist()
    assert float(cells[0]) == pytest.approx(front.values[6, 0], abs=0.01)
    rows.nth(6).locator("th button").click()
    assert selected(page) == 6
    expect(page.locator("#table-dialog")).not_to_be_visible()


@needs_browser
def test_the_table_is_ordered_stars_and_pins(page, front):
    page.click("#open-table")
    heads = page.locator("#table-body thead button")
    heads.nth(2).click()
    order = [int(text) for text in page.locator("#table-body tbody th").all_inner_texts()]
    assert order == np.argsort(front.values[:, 2], kind="stable").tolist()
    heads.nth(2).click()
    assert page.locator("#table-body th[aria-sort=descending]").count() == 1
    assert int(page.locator("#table-body tbody th").first.inner_text()) == int(front.values[:, 2].argmax())
    page.click("[aria-label='Star network 5']")
    page.click("[aria-label='Keep network 7 as A']")
    page.click("#close-table")
    assert page.locator("#shortlist button").all_inner_texts() == ["★ 5"]
    assert page.locator("body").get_attribute("data-pinned") == "7"


@needs_browser
def test_values_that_differ_differ_in_the_table(browser, tmp_path):
    example = example_front(n_networks=3)
    values = np.array([[1.0, 9.0], [1.0000004, 5.0], [7.0, 1.0]])
    front = Front(example.objectives[:2], values, [candidate.network for candidate in example])
    review_page(front, tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as page:
        page.click("#open-table")
        shown = page.locator("#table-body tbody td:nth-of-type(1)").all_inner_texts()
        assert len(set(shown)) == 3


@needs_browser
def test_reversed_edges_are_split_by_whether_they_contradict(browser, tmp_path):
    levels = dict.fromkeys("abc", ("0", "1"))

    def network(edges):
        sizes = {name: sum(child == name for _, child in edges) for name in levels}
        tables = {name: np.full((2,) * (size + 1), 0.5) for name, size in sizes.items()}
        return DiscretizedBayesNet(
            list(levels), edges, cut_points={}, support={}, levels=levels, tables=tables
        )

    networks = [
        network([("a", "b"), ("b", "c")]),
        network([("b", "a"), ("c", "b")]),
        network([("a", "b"), ("c", "b")]),
        network([("b", "a"), ("b", "c"), ("a", "c")]),
        network([("b", "a"), ("c", "a")]),
    ]
    objectives = example_front(n_networks=2).objectives[:2]
    front = Front(objectives, [[float(at), 5.0 - at] for at in range(5)], networks)
    review_page(front, tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html", "#network=0&pin=1&against=pin") as page:
        assert "Turned, which the rows cannot tell: 2" in page.locator("#panel").inner_text()
    with opened(browser, tmp_path / "page.html", "#network=2&pin=4&against=pin") as page:
        assert "Turned, a contradiction: 1" in page.locator("#panel").inner_text()
