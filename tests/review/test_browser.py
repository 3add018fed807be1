"""The review page in a browser: choosing, what it shows, and how it looks. Needs the system's Chromium."""

import io
import json
import os
import re

import matplotlib.image
import numpy as np
import pandas as pd
import pytest
from network_examples import simple_network
from playwright.sync_api import Page, expect
from review_browser import (
    CHROMIUM,
    handle,
    hidden_nodes,
    left,
    name_size,
    opened,
    saved,
    selected,
)
from review_examples import HOSTILE_NAMES, example_front

from gomea_bn import (
    DiscretizedBayesNet,
    Front,
    accept,
    network_report,
    read_decision,
    read_table,
    review_page,
)
from gomea_bn.review import page as review
from gomea_bn.simulation import random_network


def test_continuous_integration_has_a_browser():
    assert CHROMIUM or not os.environ.get("CI"), "install chromium: nothing may be skipped here"


pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.long
def test_starts_at_the_recommended_network_with_everything_in_sight(page, front):
    assert selected(page) == front.knee().index
    assert page.locator("#headline").inner_text() == "14 networks explain your data; pick one."
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    for part in (
        "#headline",
        "#landmarks",
        "#filter-plot",
        "#scatter",
        "#weights",
        "#graph",
        "#note",
        "#save",
    ):
        box = page.locator(part).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 1280, part
        assert box["y"] + box["height"] <= 760, part


@pytest.mark.long
def test_arrow_keys_follow_the_front_through_the_networks_left(page, front):
    page.click("button[data-key=misfit]")
    assert selected(page) == front.best("misfit").index == 0
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert selected(page) == 2
    page.keyboard.press("ArrowLeft")
    assert selected(page) == 1
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert selected(page) == 0
    assert page.locator("#live").inner_text() == "This is the first network."
    page.click("#next")
    assert re.match(r"Network 1: Misfit [\d.]+ per row, Complexity", page.locator("#live").inner_text())


@pytest.mark.long
def test_a_brush_along_an_axis_keeps_what_lies_inside(page, front):
    plot = page.locator("#filter-plot").bounding_box()
    y = plot["y"] + 30
    page.mouse.move(plot["x"] + 0.5 * plot["width"], y)
    page.mouse.down()
    page.mouse.move(plot["x"] + 0.95 * plot["width"], y, steps=4)
    page.mouse.up()
    values = front.values[:, 0]
    low = float(handle(page, 0, 0).get_attribute("aria-valuenow"))
    high = float(handle(page, 0, 1).get_attribute("aria-valuenow"))
    inside = [index for index, value in enumerate(values) if low <= value <= high]
    assert 0 < len(inside) < len(front)
    assert left(page) == len(inside)
    assert page.locator("#left").inner_text() == f"{len(inside)} of 14 left"
    assert page.locator(".strand.out").count() >= 14 - len(inside) - 1
    page.click("button[data-key=misfit]")
    assert selected(page) == inside[0]
    page.keyboard.press("ArrowLeft")
    assert selected(page) == inside[0]
    page.mouse.click(plot["x"] + 0.2 * plot["width"], y)
    assert left(page) == 14


def test_a_brush_over_whole_numbers_ends_at_whole_numbers_inside_it(page, front):
    plot = page.locator("#filter-plot").bounding_box()
    n_edges = sorted(set(front.to_frame()["n_edges"].tolist()))
    inset = 11
    per_edge = (plot["width"] - 2 * inset) / (n_edges[-1] - n_edges[0])

    def move_to(value):
        page.mouse.move(plot["x"] + inset + (value - n_edges[0]) * per_edge, plot["y"] + 3 * 52 + 30)

    move_to(n_edges[1] - 0.6)
    page.mouse.down()
    move_to(n_edges[-1] - 0.4)
    page.mouse.up()
    ends = [float(handle(page, 3, side).get_attribute("aria-valuenow")) for side in (0, 1)]
    assert ends == [n_edges[1], n_edges[-1] - 1]
    assert left(page) == front.to_frame()["n_edges"].between(*ends).sum()


@pytest.mark.long
def test_filters_move_by_keys_to_values_that_networks_have(page, front):
    edges = sorted(set(front.to_frame()["n_edges"]))
    top = handle(page, 3, 1)
    assert top.get_attribute("aria-label") == "Most Edges"
    before = selected(page)
    top.press("ArrowLeft")
    assert left(page) == int((front.to_frame()["n_edges"] <= edges[-2]).sum())
    assert top.get_attribute("aria-valuetext") == str(edges[-2])
    assert selected(page) == before
    top.press("End")
    assert left(page) == 14
    expect(page.locator("#clear-filters")).to_be_hidden()
    handle(page, 1, 0).press("ArrowRight")
    assert left(page) == 13
    page.click("#clear-filters")
    assert left(page) == 14


@pytest.mark.long
def test_sliders_choose_as_the_front_does(page, front):
    for weights in ((100, 0, 0), (10, 90, 40), (0, 15, 100), (35, 35, 0), (0, 0, 0)):
        for position, weight in enumerate(weights):
            page.locator(f"#weight-{position}").fill(str(weight))
        used_weights = weights if any(weights) else (1, 1, 1)
        assert selected(page) == front.nearest(used_weights).index
        shares = [round(100 * weight / sum(used_weights)) for weight in used_weights]
        shown = page.locator("#weights output").all_inner_texts()
        assert shown == [f"{share}\u00a0%" for share in shares]


@pytest.mark.long
def test_equally_near_networks_are_chosen_by_their_weighted_sum(shown):
    # with equal weights the pseudo-weights of the middle two, (2/3, 1/3) and (1/3, 2/3), are equally near
    values = np.array([[0.0, 1.0], [0.4, 0.7], [0.6, 0.2], [1.0, 0.0]])
    example = example_front(n_networks=4)
    front = Front(example.objectives[:2], values, [candidate.network for candidate in example])
    with shown(front) as page:
        page.click("button[data-key=misfit]")
        page.locator("#weight-0").fill("20")
        page.locator("#weight-1").fill("20")
        assert selected(page) == front.nearest([1, 1]).index == 2


@pytest.mark.long
def test_weights_are_saved_once_a_slider_was_moved(shown):
    with shown(example_front()) as page:
        page.click("button[data-key=recommended]")
        assert saved(page)["weights"] == {}
        expect(page).to_have_url(re.compile("network="))
        expect(page).not_to_have_url(re.compile("weights="))
        page.locator("#weight-1").fill("0")
        weights = {"misfit": 0.5, "complexity": 0.0, "expert_distance": 0.5}
        assert saved(page)["weights"] == weights
        expect(page).to_have_url(re.compile("weights=50%2C0%2C50"))
        page.reload()
        page.wait_for_selector("body[data-ready='1']")
        assert saved(page)["weights"] == weights


def test_buttons_lead_to_the_fronts_choices(page, front):
    choices = {
        "recommended": front.knee(),
        "expert_distance": front.closest_to_expert(),
        "complexity": front.best("complexity"),
        "misfit": front.best("misfit"),
    }
    for key, candidate in choices.items():
        page.click(f"button[data-key={key}]")
        assert selected(page) == candidate.index
        assert page.locator(f"button[data-key={key}]").get_attribute("aria-pressed") == "true"


@pytest.mark.long
def test_a_button_leads_to_the_best_of_the_networks_that_a_filter_leaves(page, front):
    best = front.best("misfit")
    handle(page, 0, 0).press("ArrowRight")
    page.click("button[data-key=misfit]")
    others = np.delete(front.values[:, 0], best.index)
    assert front.values[selected(page), 0] == others.min()


@pytest.mark.long
def test_the_recommended_network_may_be_the_first(shown):
    example = example_front(n_networks=3)
    values = np.array([[0.0, 2.0], [1.0, 1.0], [2.0, 0.0]])
    front = Front(example.objectives[:2], values, [candidate.network for candidate in example])
    assert front.knee().index == 0
    with shown(front) as page:
        page.click("button[data-key=complexity]")
        assert selected(page) == 2
        page.click("button[data-key=recommended]")
        assert selected(page) == 0


@pytest.mark.long
def test_scatter_selects_by_pointer_and_changes_axes(page, front):
    page.select_option("#axis-x", label="Edges")
    page.select_option("#axis-y", label="Complexity")
    dot = page.locator(".dot[data-id='5']").bounding_box()
    page.mouse.click(dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2)
    assert selected(page) == 5
    assert (
        page.locator("#scatter").get_attribute("aria-label").startswith("Complexity against Edges; 14 of 14")
    )
    lower, higher = front.best("complexity").index, int(front.values[:, 1].argmax())
    boxes = [page.locator(f".dot[data-id='{number}']").bounding_box() for number in (lower, higher)]
    assert boxes[0]["y"] > boxes[1]["y"]


@pytest.mark.long
def test_decision_holds_what_was_decided_and_is_accepted(page, front):
    page.click("button[data-key=complexity]")
    page.keyboard.press("s")
    page.keyboard.press("ArrowLeft")
    page.click("#star")
    chosen = selected(page)
    page.fill("#note", 'Plausible: "smoking" → cost </script> 😀')
    page.locator("#weight-0").fill("100")
    handle(page, 1, 0).press("ArrowRight")
    page.locator("#shortlist button").first.click()
    assert selected(page) == chosen
    content = saved(page)
    decision = read_decision(json.dumps(content))
    assert content.pop("made").endswith("Z")
    complexity = sorted(set(front.values[:, 1]))
    assert content == {
        "format": "gomea-bn decision",
        "format_version": 1,
        "run_hash": front.run_hash,
        "network": chosen,
        "shortlist": sorted([front.best("complexity").index, chosen]),
        "notes": {str(chosen): 'Plausible: "smoking" → cost </script> 😀'},
        "weights": {"misfit": 0.5, "complexity": 0.25, "expert_distance": 0.25},
        "filters": {"complexity": [complexity[1], complexity[-1]]},
    }
    assert accept(front, decision).edges == front[chosen].network.edges


def test_the_last_parent_varies_fastest_in_a_table(shown):
    levels = {"p": ("a", "b"), "q": ("x", "y", "z"), "child": ("no", "yes")}
    with shown(simple_network(levels, [("p", "child"), ("q", "child")])) as page:
        page.locator(".node[data-variable='2']").press("Enter")
        rows = page.locator("#probabilities tbody tr").all()
        parents = [row.locator("th").all_inner_texts() for row in rows]
    assert parents == [[p, q] for p in levels["p"] for q in levels["q"]]


@pytest.mark.long
def test_probabilities_of_edges_are_numbers_and_thickness(shown):
    network = random_network(4, law="ide-cozman", random_state=1)
    (parent, child), *others = network.edges
    assert others
    pairs = [[child, parent, 0.125, 0.625]]
    sure = network.with_metadata(edge_probabilities={"pairs": pairs})
    with shown(sure) as page:
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


@pytest.mark.long
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


@pytest.mark.long
def test_a_variable_opens_with_its_bins_table_and_blanket(page, front):
    network = front[selected(page)].network
    name = next(
        variable
        for variable in network.cut_points
        if network.parents(variable) and len(network.cut_points[variable])
    )
    page.locator(f".node[data-variable='{network.names.index(name)}']").press("Enter")
    assert page.locator(".variable-name").inner_text() == name
    assert page.locator("#histogram .bar").count() > 5
    assert page.locator("#histogram line.cut.this").count() == 2 * len(network.cut_points[name])
    assert page.locator("#histogram line.cut.yours").count() == 2 * len(front.expert.cut_points[name])
    rows = network.tables[name].reshape(-1, network.cardinality(name))
    assert page.locator("#probabilities tbody tr").count() == len(rows)
    for row, shown in zip(rows, page.locator("#probabilities tbody tr").all(), strict=True):
        texts = shown.locator("td.share").all_inner_texts()
        assert [float(text) for text in texts] == pytest.approx(row.tolist(), abs=0.0051)
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


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
def test_address_restores_the_whole_view(page):
    page.click("button[data-key=misfit]")
    page.keyboard.press("p")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("s")
    page.fill("#note", "note & more = 1, 2: #3")
    page.select_option("#axis-x", label="Most parents")
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


@pytest.mark.long
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


@pytest.mark.long
def test_tables_say_what_the_charts_show(page, front):
    page.click("#open-table")
    rows = page.locator("#table-body tbody tr")
    assert rows.count() == len(front)
    frame = front.to_frame()
    cells = rows.nth(6).locator("td").all_inner_texts()
    assert [int(cells[3]), int(cells[4].replace(",", ""))] == frame.loc[
        6, ["n_edges", "most_parents"]
    ].tolist()
    assert float(cells[0]) == pytest.approx(front.values[6, 0], abs=0.01)
    rows.nth(6).locator("th button").click()
    assert selected(page) == 6
    expect(page.locator("#table-dialog")).not_to_be_visible()


@pytest.mark.long
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


def test_values_that_differ_differ_in_the_table(shown):
    example = example_front(n_networks=3)
    values = np.array([[1.0, 9.0], [1.0000004, 5.0], [7.0, 1.0]])
    front = Front(example.objectives[:2], values, [candidate.network for candidate in example])
    with shown(front) as page:
        page.click("#open-table")
        shown = page.locator("#table-body tbody td:nth-of-type(1)").all_inner_texts()
        assert len(set(shown)) == 3


@pytest.mark.long
def test_reversed_edges_are_split_by_whether_they_contradict(shown, browser, tmp_path):
    graphs = ("ab bc", "ba cb", "ab cb", "ba bc ac", "ba ca")
    networks = [
        simple_network({"a": 2, "b": 2, "c": 2}, [(edge[0], edge[1]) for edge in graph.split()])
        for graph in graphs
    ]
    objectives = example_front(n_networks=2).objectives[:2]
    front = Front(objectives, [[float(at), 5.0 - at] for at in range(5)], networks)
    with shown(front, "#network=0&pin=1&against=pin") as page:
        assert "Turned, which the rows cannot tell: 2" in page.locator("#panel").inner_text()
    with opened(browser, tmp_path / "page.html", "#network=2&pin=4&against=pin") as page:
        assert "Turned, a contradiction: 1" in page.locator("#panel").inner_text()


def test_hostile_names_are_shown_literally(browser, tmp_path):
    names = HOSTILE_NAMES
    front = example_front(n_variables=len(names), names=names, n_objectives=4, record={"<b>": names[0]})
    review_page(front, tmp_path / "page.html", title="<b>Study</b>")
    with opened(browser, tmp_path / "page.html") as page:
        assert page.title().startswith("<b>Study</b>")
        for position, name in enumerate(names):
            page.locator(f".node[data-variable='{position}']").press("Enter")
            assert page.locator(".variable-name").evaluate("one => one.textContent") == name
            assert (
                page.locator(f".node[data-variable='{position}'] title").evaluate("one => one.textContent")
                == name
            )
        page.click("#tab-about")
        assert "<script>window.hacked" in page.locator("#panel").inner_text()
        page.click("#tab-network")
        for _ in range(4):
            page.keyboard.press("p")
            page.keyboard.press("ArrowRight")
        page.click("#open-table")
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280
        assert page.locator("script").count() == 3
        assert page.locator("img").count() == 0


@pytest.mark.sample(1)
@pytest.mark.parametrize(("n_objectives", "expert"), [(1, False), (2, True), (4, False)])
def test_any_number_of_objectives_with_and_without_an_expert(shown, n_objectives, expert):
    front = example_front(n_objectives=n_objectives, expert=expert, keep_table=n_objectives > 1)
    with shown(front) as page:
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        page.keyboard.press("p")
        page.keyboard.press("ArrowLeft")
        page.locator(".node").first.click()
        page.locator(".node").last.click()
        assert page.locator("#weights input").count() == (n_objectives if n_objectives > 1 else 0)
        assert page.locator("#filter-labels li").count() == n_objectives + 2
        content = saved(page)
        assert content["weights"] == {}
        assert read_decision(json.dumps(content)).weights == {}


def test_front_of_one_network_can_be_saved_but_not_browsed(shown):
    front = example_front(n_networks=1)
    with shown(front) as page:
        expect(page.locator("#choose")).not_to_be_visible()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("s")
        assert saved(page)["network"] == 0
        assert page.locator("#shortlist button").count() == 0


def test_report_of_one_network_shows_it_without_a_choice(browser, tmp_path, front):
    network_report(front[3].network, front.table, tmp_path / "page.html", record={"score": 1.5})
    with opened(browser, tmp_path / "page.html") as page:
        expect(page.locator("#choose")).not_to_be_visible()
        expect(page.locator("#save")).to_have_text("Save rules and note")
        assert page.locator("#graph .edge.plain").count() == len(front[3].network.edges)
        page.locator(".node").nth(1).click()
        assert page.locator(".variable-name").inner_text() == front[3].network.names[1]


@pytest.mark.long
def test_compressed_data_dark_mode_and_many_networks(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(review, "_LARGEST_PLAIN", 1000)
    front = example_front(n_networks=200, n_variables=20, n_rows=300)
    page_text = review_page(front, tmp_path / "page.html")
    assert 'type="application/gzip"' in page_text
    with opened(
        browser, tmp_path / "page.html", color_scheme="dark", viewport={"width": 1920, "height": 1080}
    ) as page:
        assert page.locator(".strand").count() == 200
        dark, light = page.evaluate("getComputedStyle(document.body).backgroundColor"), "rgb(253, 252, 250)"
        assert dark != light
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.documentElement.scrollWidth") <= 1920


@pytest.mark.long
def test_a_front_of_thousands_stays_quick_and_says_what_is_left_out(browser, tmp_path):
    example = example_front(n_networks=3)
    share = np.arange(1200) / 1200
    networks = [example[position % 3].network for position in range(1200)]
    front = Front(example.objectives[:2], np.column_stack([share, 1 - share]), networks)
    review_page(front, tmp_path / "page.html", max_networks=1200)
    with opened(browser, tmp_path / "page.html", "#network=1") as page:
        number = page.locator(".strand").count()
        assert 1000 <= number < 1200
        assert page.locator(".strand.selected").count() == 1
        assert page.locator(".dot").count() == 1200
        assert (
            page.locator("#strand-note").inner_text().startswith(f"{number:,} of 1,200 networks have a line")
        )
        page.locator(".handle[data-axis='0'][data-side='0']").press("End")
        assert left(page) == 1
        page.click("#open-table")
        rows = page.locator("#table-body tbody tr")
        assert rows.count() == 500
        assert "The first 500 of 1,200 networks" in page.locator("#table-body").inner_text()
        page.click("#more-rows")
        assert rows.count() == 1000
        page.keyboard.press("Enter")
        assert page.locator("body").get_attribute("data-selected") == "500"


@pytest.mark.long
def test_an_enlarged_table_keeps_the_parents_in_sight(shown):
    # tables of discrete columns alone are shown whole
    network = random_network(6, law="ide-cozman", discrete_fraction=1.0, random_state=7)
    position = max(range(6), key=lambda at: len(network.parents(network.names[at])))
    n_parents = len(network.parents(network.names[position]))
    assert n_parents == 3
    size = {"width": 390, "height": 844}
    with shown(network, f"#variable={position}&tab=variable", viewport=size) as page:
        page.click("#panel details.as-table > summary")
        page.click("#enlarge")
        table = page.locator("#large-probabilities")
        probabilities = network.tables[network.names[position]].reshape(
            -1, network.cardinality(network.names[position])
        )
        assert table.locator("tbody tr").count() == len(probabilities)
        first = table.locator("tbody tr").first.locator("td.share").all_inner_texts()
        assert [float(text) for text in first] == pytest.approx(probabilities[0], abs=5e-5)
        assert 1 <= table.locator("thead th.kept").count() <= n_parents
        page.evaluate("document.getElementById('large-body').scrollBy(200, 0)")
        page.wait_for_function("document.getElementById('large-body').scrollLeft > 0")
        cell, body = [
            page.locator(selector).first.bounding_box()
            for selector in ("#large-probabilities tbody th", "#large-body")
        ]
        assert abs(cell["x"] - body["x"]) < 2
        page.keyboard.press("Escape")
        expect(page.locator("#large-dialog")).not_to_be_visible()
        expect(page.locator("#enlarge")).to_be_focused()


@pytest.mark.long
def test_the_frame_of_the_drawing_keeps_its_size_on_a_phone(shown):
    network = random_network(6, law="ide-cozman", discrete_fraction=1.0, random_state=7)
    with shown(network, "", viewport={"width": 390, "height": 844}) as page:
        heights = page.evaluate(
            """async () => {
              const heights = new Set();
              for (let frame = 0; frame < 20; frame += 1) {
                await new Promise(requestAnimationFrame);
                heights.add(document.getElementById("graph-frame").getBoundingClientRect().height);
              }
              return [...heights];
            }"""
        )
        assert len(heights) == 1


@pytest.mark.long
def test_sixty_variables_are_readable_and_can_be_seen_whole(shown):
    with shown(example_front(n_networks=5, n_variables=64, n_rows=100)) as page:
        assert name_size(page) >= 11
        page.click("#whole")
        assert hidden_nodes(page) == 0
        expect(page.locator("#part-note")).to_have_text("All of the drawing, in small letters.")


@pytest.mark.long
def test_paper_gets_one_page(browser, page_file):
    with opened(browser, page_file) as page:
        page.fill("#note", "Agrees with the clinic.")
        page.locator("body").press("s")
        assert re.findall(rb"/Count (\d+)", page.pdf(prefer_css_page_size=True)) == [b"1"]
        page.emulate_media(media="print")
        summary = page.locator("#print-summary").inner_text()
        assert "Agrees with the clinic." in summary
        assert "Bins and levels" in summary
        assert f"Network {selected(page)}: not saved yet." in summary
        expect(page.locator("#choose")).not_to_be_visible()


@pytest.mark.long
def test_sixty_columns_with_long_names_fit_on_one_page(shown):
    rng = np.random.default_rng(1)
    names = [f"worst_compactness_{k}" for k in range(60)]
    table = read_table(pd.DataFrame(rng.normal(size=(80, 60)), columns=names))
    edges = [(names[parent], name) for k, name in enumerate(names) for parent in range(max(k - 2, 0), k)]
    network = DiscretizedBayesNet.from_table(table, edges, {name: [0.0] for name in names})
    with shown(network, table=table) as page:
        assert re.findall(rb"/Count (\d+)", page.pdf(prefer_css_page_size=True)) == [b"1"]
        paper = page.locator("#print-summary").text_content()
        assert f"{names[0]}, {names[1]} → {names[2]};" in paper
        assert paper.count("→") == 59


@pytest.mark.long
def test_paper_says_what_was_saved_and_how_the_network_differs_from_a(page):
    paper = page.locator("#print-summary")
    saved(page)
    assert f"Network {selected(page)}: saved in decision.json." in paper.text_content()
    page.click("#pin")
    page.click("#next")
    assert f"Network {selected(page)}: not saved yet." in paper.text_content()
    values = page.locator("#panel .plain-list").first.locator("li").all()
    assert len(values) == page.locator("#values dt").count()
    for sentence in (*values, page.locator("#panel p").first):
        assert sentence.inner_text() in paper.text_content()
    assert re.findall(rb"/Count (\d+)", page.pdf(prefer_css_page_size=True)) == [b"1"]
    page.get_by_role("button", name="Stop comparing").click()
    assert page.locator("body").get_attribute("data-pinned") == ""
    assert " in A;" not in paper.text_content()


@pytest.mark.long
def test_parts_have_names_and_roles(page):
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll('button, select, input, textarea, [role=slider], [role=button]')]
          .filter(one => !(one.textContent.trim() || one.getAttribute('aria-label') || one.labels?.length))
          .map(one => one.outerHTML)"""
    )
    assert unnamed == []
    assert page.locator("[role=tab][aria-selected=true]").count() == 1
    page.locator("#tab-network").press("ArrowRight")
    assert page.locator("#tab-variable").get_attribute("aria-selected") == "true"
    page.locator(".node").first.focus()
    page.keyboard.press("Tab")
    outline = page.evaluate("getComputedStyle(document.activeElement.querySelector('rect')).strokeWidth")
    assert float(outline.removesuffix("px")) > 3


@pytest.mark.long
def test_values_have_room_next_to_long_names(shown):
    record = {
        "parameters": {"discretizer_parameters": {"minimum_rows_per_bin_of_equal_frequency": 20}},
        "data_sha256": "0123456789abcdef" * 4,
        "stopped_by": "max_evaluations",
    }
    with shown(example_front(record=record)) as page:
        page.click("#tab-about")
        page.click("#panel summary")
        panel = page.locator("#panel").bounding_box()
        for fact in page.locator(".facts dd").all():
            box = fact.bounding_box()
            assert box["width"] >= 0.45 * panel["width"]
            assert box["x"] + box["width"] <= panel["x"] + panel["width"]
        value = page.locator(".facts dd", has_text="max_evaluations")
        assert value.evaluate("one => one.getBoundingClientRect().height") < 30


def test_a_narrow_page_shows_the_details_as_high_as_they_are(browser, page_file):
    with opened(browser, page_file, viewport={"width": 600, "height": 900}) as page:
        # of the text that fits into 60 % of the window's height nothing is hidden
        shown, whole = page.evaluate(
            "(p => [p.clientHeight, p.scrollHeight])(document.querySelector('#panel'))"
        )
        assert whole > 200
        assert shown == min(whole, 540)


@pytest.mark.long
def test_axes_have_ticks_names_of_rules_have_room_and_numbers_are_explained(shown):
    names = [f"a column with a long name {k}" for k in range(9)]
    with shown(example_front(n_networks=20, n_variables=9, names=names)) as page:
        vertical = page.locator("#scatter .grid").evaluate_all(
            "all => all.map(line => line.getAttribute('x1') === line.getAttribute('x2'))"
        )
        assert sum(vertical) >= 3
        assert len(vertical) - sum(vertical) >= 3
        for side in ("from", "to"):
            assert page.locator(f"#rule-{side}").evaluate("one => one.clientWidth") > 100
        assert "number of bins or levels" in page.locator("#legend").inner_text()


def test_a_phone_shows_what_a_network_is_and_names_of_outcomes_whole(browser, page_file):
    with opened(browser, page_file, viewport={"width": 390, "height": 844}) as page:
        expect(page.locator("#network-tags")).to_contain_text("recommended")
        for part in ("#network-tags", "#ask button >> nth=0"):
            assert page.locator(part).evaluate("one => one.scrollWidth <= one.clientWidth")


def test_a_finger_meets_the_ends_of_a_range(browser, page_file):
    with opened(browser, page_file, viewport={"width": 390, "height": 844}) as page:
        for end in page.locator(".handle").all():
            end.scroll_into_view_if_needed()
            box = end.bounding_box()
            assert box is not None
            middle = box["y"] + box["height"] / 2
            for y in (middle - 19.5, middle + 19.5):
                touched = "([x, y]) => document.elementFromPoint(x, y).classList.contains('handle')"
                assert page.evaluate(touched, [box["x"] + box["width"] / 2, y])


def test_a_phone_shades_the_edge_beyond_which_a_table_goes_on(browser, page_file):
    def darkest(page: Page) -> float:
        """Return the least brightness of the last column of the table's part of the screen, from 0 to 1."""
        box = page.locator("#target-parts").bounding_box()
        assert box is not None
        shot = page.screenshot(
            clip={"x": box["x"] + box["width"] - 3, "y": box["y"] + 1, "width": 2, "height": 4}
        )
        image = matplotlib.image.imread(io.BytesIO(shot))
        return float(image[..., :3].mean(axis=2).min())

    with opened(browser, page_file, "#shows=target", viewport={"width": 390, "height": 844}) as page:
        page.wait_for_selector("body[data-described]:not([data-described=''])")
        page.locator("#target-parts").evaluate(
            "one => { one.style.minWidth = '0'; one.style.width = '260px'; }"
        )
        assert page.locator("#target-parts").evaluate("one => one.scrollWidth > one.clientWidth")
        assert darkest(page) < 0.85
        page.locator("#target-parts").evaluate("one => { one.scrollLeft = one.scrollWidth; }")
        assert darkest(page) > 0.95


@pytest.mark.parametrize("view", ["answers", "target"])
def test_a_printed_table_stays_on_its_sheets(shown, view):
    front = example_front(n_networks=2, n_variables=16)
    with shown(front, viewport={"width": 703, "height": 1032}) as page:
        page.click(f"#show-{view}")
        done = {"answers": "answered", "target": "described"}[view]
        page.wait_for_selector(f"body[data-{done}]:not([data-{done}=''])")
        page.emulate_media(media="print")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        # parts of flexes that go on to a second sheet overlap there
        for part in ("body", "main", ".look", ".cards-scroll:visible"):
            assert page.locator(part).evaluate("one => getComputedStyle(one).display") == "block"


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1024, 768), (390, 844)])
def test_the_first_screen_says_that_arrows_are_not_causes(browser, page_file, width, height):
    with opened(browser, page_file, viewport={"width": width, "height": height}) as page:
        box = page.locator(".not-causes").bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= height
