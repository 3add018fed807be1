"""Bars inside the boxes of the drawing: answers to read, and evidence to click. Needs the system's Chromium."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from network_examples import simple_network
from playwright.sync_api import Page, expect
from review_browser import name_size, opened
from review_examples import example_front, learned_table, random_candidate

from gomea_bn import DiscretizedBayesNet, GomeaBnWarning, network_report, review_page

pytestmark = pytest.mark.filterwarnings("error")

LARGE = {"width": 1440, "height": 900}


def small_network() -> DiscretizedBayesNet:
    table = learned_table(6, 200, 3)
    return random_candidate(table, np.random.default_rng(3), np.arange(6))


def network_of_levels(counts: list[int]) -> DiscretizedBayesNet:
    """Return discrete columns with numbers of levels, each the parent of the next two."""
    names = [f"column {number}" for number in range(len(counts))]
    edges = [(names[i], names[j]) for j in range(len(names)) for i in range(max(0, j - 2), j)]
    return simple_network(dict(zip(names, counts, strict=True)), edges, np.random.default_rng(1))


def shares(page: Page, variable: int) -> list[float]:
    """Return the probabilities that the bars of a column show."""
    page.wait_for_selector("body[data-answered]:not([data-answered=''])")
    rows = page.locator(f".node[data-variable='{variable}'] .bar-row")
    return list(map(float, rows.evaluate_all("all => all.map(one => one.dataset.share)")))


@pytest.fixture
def report(browser, tmp_path):
    network = small_network()
    network_report(network, None, tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html", "", viewport=LARGE) as page:
        yield page, network


@pytest.mark.long
def test_bars_are_there_where_they_can_be_read_and_answer_as_query_does(report):
    page, network = report
    expect(page.locator("#bars")).to_have_attribute("aria-pressed", "true")
    assert name_size(page) >= 11
    given = network.names[0]
    page.locator(".node[data-variable='0'] .bar-row").nth(1).click()
    expect(page.locator(".finding")).to_contain_text(given)
    expect(page.locator("#evidence-words")).to_contain_text("probability")
    states = list(network.query(given, cells="bins").index)
    for position, name in enumerate(network.names[1:], 1):
        with warnings.catch_warnings():
            # a column apart from the given one keeps its distribution, which its bars show as well
            warnings.filterwarnings(
                "ignore", ".* has no (path of edges|edges in this network)", GomeaBnWarning
            )
            known = network.query(name, {given: states[1]}, cells="bins")
        assert shares(page, position) == pytest.approx(np.asarray(known), abs=1e-9)
    assert shares(page, 0) == pytest.approx(np.eye(len(states))[1], abs=1e-9)
    page.locator(".node[data-variable='0'] .bar-row").nth(1).click()
    expect(page.locator(".finding")).to_have_count(0)


@pytest.mark.long
def test_no_tick_lies_on_a_bar_and_names_still_open_columns(report):
    page, network = report
    page.locator(".node[data-variable='0'] .bar-row").first.click()
    shares(page, 1)
    gaps = page.locator(".bar-row").evaluate_all(
        """all => all.map((row) => {
          const of = (name) => row.querySelector(name);
          const middle = (one) => Number(one.getAttribute("d").match(/^M\\S+ (\\S+)h/)[1]);
          const thick = (one) => parseFloat(getComputedStyle(one).strokeWidth);
          const [bar, tick] = [of(".row-bar"), of(".row-before")];
          return middle(tick) - thick(tick) / 2 - middle(bar) - thick(bar) / 2;
        })"""
    )
    assert min(gaps) >= 0
    page.locator(".node[data-variable='2'] > text").first.dispatch_event("click")
    expect(page.locator(".variable-name")).to_have_text(network.names[2])


@pytest.mark.long
def test_the_button_and_the_address_keep_bars_away(report):
    page, _ = report
    page.keyboard.press("b")
    expect(page.locator(".bar-row")).to_have_count(0)
    expect(page).to_have_url(re.compile("bars=off"))
    page.reload()
    page.wait_for_selector("body[data-ready='1']")
    expect(page.locator(".bar-row")).to_have_count(0)
    page.click("#bars")
    expect(page.locator(".bar-row").first).to_be_attached()


def test_boxes_with_bars_stay_apart_and_many_levels_are_counted(browser, tmp_path):
    network = network_of_levels([2, 12, 9, 8, 3, 2, 30])
    network_report(network, None, tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html", "#bars=on", viewport=LARGE) as page:
        page.wait_for_selector("body[data-answered]:not([data-answered=''])")
        boxes = page.locator(".node > rect").evaluate_all(
            "all => all.map(one => one.getBoundingClientRect()).map(b => [b.left, b.right, b.top, b.bottom])"
        )
        for i, (left, right, top, bottom) in enumerate(boxes):
            for other in boxes[:i]:
                assert left >= other[1] or right <= other[0] or top >= other[3] or bottom <= other[2]
        for position, name in enumerate(network.names):
            node = page.locator(f".node[data-variable='{position}']")
            levels = len(network.levels[name])
            assert node.locator(".bar-row").count() == (levels if levels <= 8 else 7)
            more = node.locator(".bars > text").all_text_contents()
            assert more == ([] if levels <= 8 else [f"{levels - 7} more"])


@pytest.mark.sample(1)
@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_boxes_glide_to_the_next_network_where_motion_is_allowed(browser, tmp_path, motion):
    review_page(example_front(n_networks=4, n_variables=8), tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html", reduced_motion=motion) as page:
        moving = page.evaluate(
            """() => {
              document.querySelector("#next").click();
              return document.querySelector(".node").getAnimations().length;
            }"""
        )
        assert moving == (1 if motion == "no-preference" else 0)
