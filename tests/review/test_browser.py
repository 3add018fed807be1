"""Choosing on the review page in a browser: buttons, keys, filters, weights, decision. Needs the system's Chromium."""

import json
import os
import re

import numpy as np
import pytest
from playwright.sync_api import expect
from review_browser import CHROMIUM, handle, left, needs_browser, opened, saved, selected
from review_examples import example_front

from gomea_bn.front.decision import accept, read_decision
from gomea_bn.front.front import Front
from gomea_bn.review.page import review_page


def test_continuous_integration_has_a_browser():
    assert CHROMIUM or not os.environ.get("CI"), "install chromium: nothing may be skipped here"


pytestmark = pytest.mark.filterwarnings("error")


@needs_browser
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


@needs_browser
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
    assert re.match(r"Network 1: Misfit [\d.]+ nats per row, Complexity", page.locator("#live").inner_text())


@needs_browser
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


@needs_browser
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


@needs_browser
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


@needs_browser
def test_sliders_choose_as_the_front_does(page, front):
    for weights in ((100, 0, 0), (10, 90, 40), (0, 15, 100), (35, 35, 0), (0, 0, 0)):
        for position, weight in enumerate(weights):
            page.locator(f"#weight-{position}").fill(str(weight))
        used_weights = weights if any(weights) else (1, 1, 1)
        assert selected(page) == front.nearest(used_weights).index
        shares = [round(100 * weight / sum(used_weights)) for weight in used_weights]
        shown = page.locator("#weights output").all_inner_texts()
        assert shown == [f"{share}\u00a0%" for share in shares]


@needs_browser
def test_equally_near_networks_are_chosen_by_their_weighted_sum(browser, tmp_path):
    # with equal weights the pseudo-weights of the middle two, (2/3, 1/3) and (1/3, 2/3), are equally near
    values = np.array([[0.0, 1.0], [0.4, 0.7], [0.6, 0.2], [1.0, 0.0]])
    example = example_front(n_networks=4)
    front = Front(example.objectives[:2], values, [candidate.network for candidate in example])
    review_page(front, tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as page:
        page.click("button[data-key=misfit]")
        page.locator("#weight-0").fill("20")
        page.locator("#weight-1").fill("20")
        assert selected(page) == front.nearest([1, 1]).index == 2


@needs_browser
def test_weights_are_saved_once_a_slider_was_moved(browser, tmp_path):
    review_page(example_front(), tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as page:
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


@needs_browser
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


@needs_browser
def test_a_button_leads_to_the_best_of_the_networks_that_a_filter_leaves(page, front):
    best = front.best("misfit")
    handle(page, 0, 0).press("ArrowRight")
    page.click("button[data-key=misfit]")
    others = np.delete(front.values[:, 0], best.index)
    assert front.values[selected(page), 0] == others.min()


@needs_browser
def test_the_recommended_network_may_be_the_first(browser, tmp_path):
    example = example_front(n_networks=3)
    values = np.array([[0.0, 2.0], [1.0, 1.0], [2.0, 0.0]])
    front = Front(example.objectives[:2], values, [candidate.network for candidate in example])
    assert front.knee().index == 0
    review_page(front, tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as page:
        page.click("button[data-key=complexity]")
        assert selected(page) == 2
        page.click("button[data-key=recommended]")
        assert selected(page) == 0


@needs_browser
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


@needs_browser
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
