"""How the review page looks in a browser: other fronts, odd names, screens, paper. Needs the system's Chromium."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from playwright.sync_api import expect
from review_browser import hidden_nodes, left, name_size, needs_browser, opened, saved
from review_examples import HOSTILE_NAMES, example_front

from gomea_bn.front.decision import read_decision
from gomea_bn.front.front import Front
from gomea_bn.review import page as review
from gomea_bn.review.page import network_report, review_page
from gomea_bn.simulation.random_networks import random_network

pytestmark = pytest.mark.filterwarnings("error")


@needs_browser
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


@needs_browser
@pytest.mark.parametrize(("n_objectives", "expert"), [(1, False), (2, True), (4, False)])
def test_any_number_of_objectives_with_and_without_an_expert(browser, tmp_path, n_objectives, expert):
    front = example_front(n_objectives=n_objectives, expert=expert, keep_table=n_objectives > 1)
    review_page(front, tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as page:
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


@needs_browser
def test_front_of_one_network_can_be_saved_but_not_browsed(browser, tmp_path):
    front = example_front(n_networks=1)
    review_page(front, tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as page:
        expect(page.locator("#choose")).not_to_be_visible()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("s")
        assert saved(page)["network"] == 0
        assert page.locator("#shortlist button").count() == 0


@needs_browser
def test_report_of_one_network_shows_it_without_a_choice(browser, tmp_path, front):
    network_report(front[3].network, front.table, tmp_path / "page.html", record={"score": 1.5})
    with opened(browser, tmp_path / "page.html") as page:
        expect(page.locator("#choose")).not_to_be_visible()
        expect(page.locator("#save")).to_have_text("Save rules and note")
        assert page.locator("#graph .edge.plain").count() == len(front[3].network.edges)
        page.locator(".node").nth(1).click()
        assert page.locator(".variable-name").inner_text() == front[3].network.names[1]


@needs_browser
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


@needs_browser
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


@needs_browser
def test_an_enlarged_table_keeps_the_parents_in_sight(browser, tmp_path):
    # tables of discrete columns alone are shown whole
    network = random_network(6, law="ide-cozman", discrete_fraction=1.0, random_state=7)
    position = max(range(6), key=lambda at: len(network.parents(network.names[at])))
    n_parents = len(network.parents(network.names[position]))
    assert n_parents == 3
    network_report(network, None, tmp_path / "page.html")
    size = {"width": 390, "height": 844}
    with opened(browser, tmp_path / "page.html", f"#variable={position}&tab=variable", viewport=size) as page:
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


@needs_browser
def test_sixty_variables_are_readable_and_can_be_seen_whole(browser, tmp_path):
    review_page(example_front(n_networks=5, n_variables=64, n_rows=100), tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as page:
        assert name_size(page) >= 11
        page.click("#whole")
        assert hidden_nodes(page) == 0
        expect(page.locator("#part-note")).to_be_hidden()


@needs_browser
def test_paper_gets_one_page(browser, page_file):
    with opened(browser, page_file) as page:
        page.fill("#note", "Agrees with the clinic.")
        page.locator("body").press("s")
        text = page.pdf(prefer_css_page_size=True)
        assert re.findall(rb"/Count (\d+)", text) == [b"1"]
        page.emulate_media(media="print")
        summary = page.locator("#print-summary").inner_text()
        assert "Agrees with the clinic." in summary
        assert "Bins and levels" in summary
        expect(page.locator("#choose")).not_to_be_visible()


@needs_browser
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


@needs_browser
def test_values_have_room_next_to_long_names(browser, tmp_path):
    record = {
        "parameters": {"discretizer_parameters": {"minimum_rows_per_bin_of_equal_frequency": 20}},
        "data_sha256": "0123456789abcdef" * 4,
        "stopped_by": "max_evaluations",
    }
    review_page(example_front(record=record), tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as page:
        page.click("#tab-about")
        page.click("#panel summary")
        panel = page.locator("#panel").bounding_box()
        for fact in page.locator(".facts dd").all():
            box = fact.bounding_box()
            assert box["width"] >= 0.45 * panel["width"]
            assert box["x"] + box["width"] <= panel["x"] + panel["width"]
        value = page.locator(".facts dd", has_text="max_evaluations")
        assert value.evaluate("one => one.getBoundingClientRect().height") < 30


@needs_browser
def test_a_narrow_page_shows_the_details_as_high_as_they_are(browser, page_file):
    with opened(browser, page_file, viewport={"width": 600, "height": 900}) as page:
        # of the text that fits into 60 % of the window's height nothing is hidden
        shown, whole = page.evaluate(
            "(p => [p.clientHeight, p.scrollHeight])(document.querySelector('#panel'))"
        )
        assert whole > 200
        assert shown == min(whole, 540)


@needs_browser
def test_axes_have_ticks_names_of_rules_have_room_and_numbers_are_explained(browser, tmp_path):
    names = [f"a column with a long name {k}" for k in range(9)]
    review_page(example_front(n_networks=20, n_variables=9, names=names), tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as page:
        vertical = page.locator("#scatter .grid").evaluate_all(
            "all => all.map(line => line.getAttribute('x1') === line.getAttribute('x2'))"
        )
        assert sum(vertical) >= 3
        assert len(vertical) - sum(vertical) >= 3
        for side in ("from", "to"):
            assert page.locator(f"#rule-{side}").evaluate("one => one.clientWidth") > 100
        assert "number of bins or levels" in page.locator("#legend").inner_text()
