"""Everything on the review page can be done with the keyboard alone: no test here uses the pointer."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from review_browser import left, opened, selected

pytestmark = pytest.mark.filterwarnings("error")

SIZE = {"width": 1440, "height": 900}
CONTROLS = """() => [...document.querySelectorAll(
    "a[href], button, select, input, textarea, summary, [tabindex='0'], [role=button], [role=slider], [role=tab]")]
  .filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.disabled && one.tabIndex >= 0)
  .map((one) => { one.dataset.control ??= String(Math.random()); return one.dataset.control })"""
LOOKS_FOCUSED = """() => {
  const focused = document.activeElement;
  const look = () => [focused, focused.querySelector(":scope > rect")].filter(Boolean).map((one) => {
    const { outlineStyle, outlineWidth, outlineColor, stroke, strokeWidth, fill } = getComputedStyle(one);
    return [outlineStyle, outlineWidth, outlineColor, stroke, strokeWidth, fill].join() }).join(";");
  const before = look();
  focused.blur();
  const after = look();
  focused.focus();
  return before !== after }"""
FOCUSED = "document.activeElement.dataset.control"


@pytest.fixture
def page(browser, page_file):
    with opened(browser, page_file, viewport=SIZE) as opened_page:
        yield opened_page


def tab_to(page: Page, selector: str, backwards: bool = False) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(300):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Shift+Tab" if backwards else "Tab")
    raise AssertionError(f"The Tab key does not lead to {selector}.")


def press(page: Page, selector: str, key: str = "Enter", backwards: bool = False) -> None:
    """Press a key on an element to which the Tab key leads."""
    tab_to(page, selector, backwards)
    page.keyboard.press(key)


def choose(page: Page, selector: str, value: str | int) -> None:
    """Choose an option of a list by arrow keys."""
    tab_to(page, selector)
    page.keyboard.press("Home")
    for _ in range(50):
        if page.locator(selector).input_value() == str(value):
            return
        page.keyboard.press("ArrowDown")
    raise AssertionError(f"{selector} has no option {value}.")


@pytest.mark.sample(1)
@pytest.mark.parametrize("fragment", ["", "#shows=answers", "#shows=target", "#variable=2&tab=variable"])
def test_tab_visits_every_control_once_and_shows_the_focus(browser, page_file, fragment):
    with opened(browser, page_file, fragment, viewport=SIZE) as page:
        if "shows" in fragment:
            ready = {"#shows=answers": "answered", "#shows=target": "described"}[fragment]
            page.wait_for_selector(f"body[data-{ready}]:not([data-{ready}=''])")
        controls = page.evaluate(CONTROLS)
        visited = []
        for _ in range(len(controls)):
            page.keyboard.press("Tab")
            visited.append(page.evaluate(FOCUSED))
            assert page.evaluate(LOOKS_FOCUSED), page.evaluate(
                "document.activeElement.outerHTML.slice(0, 200)"
            )
        assert sorted(visited) == sorted(controls)


@pytest.mark.long
def test_networks_are_chosen_sorted_starred_and_pinned(page, front):
    press(page, "button[data-key=complexity]")
    assert selected(page) == front.best("complexity").index
    press(page, "#previous")
    before = selected(page)
    press(page, "#star", "Space")
    press(page, "#pin", "Space")
    press(page, "#previous", backwards=True)
    assert page.locator("body").get_attribute("data-pinned") == str(before)
    press(page, "#shortlist button")
    assert selected(page) == before
    expect(page.locator("#shortlist button")).to_be_focused()
    press(page, "#open-table", backwards=True)
    press(page, "#table-body [data-axis='0']")
    press(page, "[data-mark='star-3']", "Space")
    press(page, "[data-mark='pin-3']", "Space")
    page.keyboard.press("Escape")
    expect(page.locator("#table-dialog")).not_to_be_visible()
    expect(page.locator("#open-table")).to_be_focused()
    assert page.locator("body").get_attribute("data-pinned") == "3"
    page.keyboard.press("Enter")
    tab_to(page, "#table-body tbody th button")
    number = page.evaluate("Number(document.activeElement.textContent)")
    page.keyboard.press("Enter")
    assert selected(page) == number


@pytest.mark.long
def test_networks_are_narrowed_down_by_ranges_sliders_and_rules(page, front):
    press(page, ".handle[data-axis='0'][data-side='0']", "ArrowRight")
    assert left(page) == len(front) - 1
    press(page, "#clear-filters", backwards=True)
    assert left(page) == len(front)
    choose(page, "#rule-kind", "lacks")
    choose(page, "#rule-from", 2)
    choose(page, "#rule-to", 5)
    press(page, "#rule-form button")
    names = front[0].network.names
    pair = {names[2], names[5]}
    assert left(page) == sum(pair not in map(set, item.network.edges) for item in front)
    choose(page, "#axis-y", 2)
    choose(page, "#axis-x", 3)
    tab_to(page, "#weight-0")
    page.keyboard.press("End")
    assert page.locator("#weight-0").input_value() == "100"
    press(page, "#rules button", backwards=True)
    expect(page.locator("#rule-kind")).to_be_focused()
    assert left(page) == len(front)
    choose(page, "#rule-kind", "bins")
    tab_to(page, "#rule-low")
    page.keyboard.type("9")
    page.keyboard.press("Enter")
    assert left(page) == 0


@pytest.mark.long
def test_the_drawing_is_zoomed_moved_searched_and_saved(page, front):
    press(page, "#zoom-in")
    scale = float(page.locator("body").get_attribute("data-scale"))
    box = page.locator("#graph").get_attribute("viewBox")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    assert page.locator("#graph").get_attribute("viewBox") != box
    press(page, "#whole")
    assert float(page.locator("body").get_attribute("data-scale")) < scale
    press(page, "#places", "Space", backwards=True)
    assert page.locator("#places").get_attribute("aria-pressed") == "true"
    for key, ending in (("#save-svg", "svg"), ("#save-png", "png")):
        tab_to(page, key)
        with page.expect_download() as download:
            page.keyboard.press("Enter")
        assert download.value.suggested_filename.endswith(ending)
    press(page, ".node[data-variable='4']")
    assert page.locator(".variable-name").inner_text() == front[0].network.names[4]
    page.keyboard.press("Escape")
    assert page.locator(".node.chosen").count() == 0
    page.keyboard.press("/")
    page.keyboard.type(front[0].network.names[6])
    page.keyboard.press("Enter")
    expect(page.locator(".node[data-variable='6']")).to_be_focused()
    press(page, "#full-screen", "Space", backwards=True)
    page.wait_for_selector("#full-screen[aria-pressed=true]")
    page.keyboard.press("f")
    page.wait_for_selector("#full-screen[aria-pressed=false]")


@pytest.mark.long
def test_panels_fold_open_and_scroll(page):
    press(page, "#fold-choose", "Space")
    expect(page.locator("#choose")).to_be_hidden()
    page.keyboard.press("[")
    expect(page.locator("#choose")).to_be_visible()
    press(page, "#help summary")
    assert page.locator("#help").get_attribute("open") is not None
    page.keyboard.press("Escape")
    assert page.locator("#help").get_attribute("open") is None
    press(page, "#tab-network", "ArrowRight")
    assert page.locator("#tab-variable").get_attribute("aria-selected") == "true"
    press(page, ".node[data-variable='2']", backwards=True)
    press(page, "#enlarge")
    expect(page.locator("#large-dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#enlarge")).to_be_focused()
    press(page, "#panel summary", "Space", backwards=True)
    assert page.locator("#panel details").first.get_attribute("open") is not None


@pytest.mark.long
def test_questions_are_asked_and_scenarios_saved(page):
    press(page, "#show-answers")
    page.wait_for_selector("body[data-answered]:not([data-answered=''])")
    press(page, "#several", "Space")
    press(page, ".card .state:not([disabled])", "Space")
    assert page.locator("#findings .finding").count() == 1
    expect(page.locator(".card .state[aria-pressed=true]")).to_be_focused()
    press(page, "#clear-evidence", backwards=True)
    expect(page.locator("#show-answers")).to_be_focused()
    choose(page, "#typed-variable", page.evaluate("document.querySelector('#rule-column').value"))
    tab_to(page, "#typed-value")
    page.keyboard.type("1000")
    page.keyboard.press("Enter")
    assert "= 1,000" in page.locator("#findings").inner_text()
    press(page, "#show-target", backwards=True)
    page.wait_for_selector("body[data-described]:not([data-described=''])")
    choose(page, "#target", 3)
    choose(page, "#column-order", "information")
    press(page, "#save-scenario")
    expect(page.locator("#scenarios")).to_be_visible()
    page.wait_for_selector("body[data-described]:not([data-described=''])")
    press(page, "#scenarios thead button")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Use scenario S1"
    page.wait_for_selector("body[data-described]:not([data-described=''])")
    press(page, "#scenarios [aria-label^='Remove']")
    expect(page.locator("#target-parts")).to_be_focused()
    expect(page.locator("#scenarios")).to_have_count(0)
    press(page, "#findings .finding button", backwards=True)
    assert page.locator("#findings .finding").count() == 0


@pytest.mark.long
def test_the_focus_stays_where_parts_are_drawn_again(page):
    press(page, "#pin", "Space")
    page.keyboard.press("ArrowRight")
    press(page, "#against button", backwards=True)
    assert page.evaluate("document.activeElement.textContent") == "with A"
    press(page, "#panel .link")
    expect(page.locator("#tab-variable")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#panel")).to_be_focused()


def test_the_decision_is_noted_and_saved(page):
    number = selected(page)
    tab_to(page, "#note")
    page.keyboard.type("spd agrees")
    page.keyboard.press("Escape")
    page.keyboard.press("s")
    tab_to(page, "#save")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    content = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert (content["network"], content["shortlist"]) == (number, [number])
    assert content["notes"] == {str(number): "spd agrees"}
