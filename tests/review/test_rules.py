"""The rules on the review page: networks that have or lack an edge or a cut, or have a number of bins."""

import json
import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from review_browser import handle, left, opened, saved, selected

from gomea_bn import read_decision
from gomea_bn.front import accept

pytestmark = pytest.mark.filterwarnings("error")


def submit(page: Page, kind: str, **fields: str | float) -> None:
    """Fill in the form of a rule, and keep only the networks that follow it."""
    page.select_option("#rule-kind", kind)
    for name, value in fields.items():
        if name in ("low", "high"):
            page.fill(f"#rule-{name}", str(value))
        else:
            page.select_option(f"#rule-{name}", str(value))
    page.click("#rule-form button")


def rules(page: Page) -> list[str]:
    return page.locator("#rules bdi").all_inner_texts()


def reloaded(page: Page, part: str) -> None:
    """Open the page again once its address contains a text."""
    expect(page).to_have_url(re.compile(part))
    page.reload()
    page.wait_for_selector("body[data-ready='1']")


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", ["has", "either", "lacks"])
def test_rules_of_an_edge_keep_the_networks_that_fit(page, front, kind):
    names = front[0].network.names
    tail, head = front[selected(page)].network.edges[0]
    submit(page, kind, **{"from": names.index(tail), "to": names.index(head)})
    edges = [set(candidate.network.edges) for candidate in front]
    has = [(tail, head) in some for some in edges]
    either = [(tail, head) in some or (head, tail) in some for some in edges]
    expected = {"has": sum(has), "either": sum(either), "lacks": len(front) - sum(either)}[kind]
    assert left(page) == expected
    reloaded(page, f"edge=.*{kind}")
    assert left(page) == expected
    page.click("#rules button")
    assert left(page) == len(front)


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", ["cut", "uncut", "bins"])
def test_rules_of_cuts_and_bins_keep_the_networks_that_fit(page, front, kind):
    networks = [candidate.network for candidate in front]
    name = next(name for name in networks[0].names if name in networks[0].cut_points)
    cuts = [network.cut_points[name] for network in networks]
    values = np.unique(np.concatenate(cuts))
    low, high = (2.0, 3.0) if kind == "bins" else (float(values[-1]) - 1e-6, 1e9)
    submit(page, kind, column=networks[0].names.index(name), low=low, high=high)
    inside = [bool(((some >= low) & (some <= high)).any()) for some in cuts]
    counts = [low <= len(some) + 1 <= high for some in cuts]
    expected = {"cut": sum(inside), "uncut": len(front) - sum(inside), "bins": sum(counts)}[kind]
    assert 0 < expected < len(front)
    assert left(page) == expected
    reloaded(page, f"edge=.*{kind}")
    assert left(page) == expected
    assert name in rules(page)[0]


def test_an_open_end_of_a_range_has_no_limit(page, front):
    network = front[0].network
    position = next(at for at, name in enumerate(network.names) if name in network.cut_points)
    submit(page, "cut", column=position)
    with_cuts = [len(candidate.network.cut_points[network.names[position]]) > 0 for candidate in front]
    assert left(page) == sum(with_cuts)
    submit(page, "bins", column=position, low=3)
    assert left(page) == sum(len(item.network.cut_points[network.names[position]]) >= 2 for item in front)
    assert rules(page)[1] == f"number of bins of {network.names[position]} from 3"


@pytest.mark.long
def test_rules_are_part_of_the_decision(page, front):
    names = front[0].network.names
    submit(page, "either", **{"from": 1, "to": 0})
    if page.locator("#passing").is_visible():
        page.click("#passing")
    assert read_decision(json.dumps(saved(page))).rules == (f"has {names[1]} \u2013 {names[0]}",)


@pytest.mark.long
def test_a_rule_is_kept_once(page):
    submit(page, "either", **{"from": 0, "to": 1})
    submit(page, "either", **{"from": 1, "to": 0})
    expect(page.locator("#rule-note")).to_have_text("This rule is already there.")
    assert len(rules(page)) == 1
    submit(page, "has", **{"from": 1, "to": 0})
    assert len(rules(page)) == 2
    page.click("#clear-filters")
    assert rules(page) == []


def test_the_address_merges_equal_rules_and_leaves_out_wrong_ones(browser, page_file):
    texts = [
        "0-1-lacks", "1-0-lacks", "0-1-lacks", "0-0-has", "0-99-has", "99-cut-1~2", "0-bins-3~2",
        "0-other-1~2",
    ]  # fmt: skip
    with opened(browser, page_file, "#" + "&".join(f"edge={text}" for text in texts)) as page:
        assert len(rules(page)) == 1


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("kind", "fields", "words"),
    [
        ("has", {"from": 1, "to": 1}, "An edge joins two different columns."),
        ("cut", {"low": "2", "high": "1"}, "The range ends before it begins."),
        ("cut", {"low": "wide"}, "A range needs numbers such as 1.5."),
        ("bins", {}, "Give the least or the largest number of bins."),
    ],
)
def test_a_rule_that_says_nothing_is_refused_in_words(page, front, kind, fields, words):
    submit(page, kind, **fields)
    expect(page.locator("#rule-note")).to_have_text(words)
    assert rules(page) == []
    assert left(page) == len(front)


@pytest.mark.long
def test_a_network_that_breaks_the_readers_rules_is_not_saved(page, front):
    chosen = front[selected(page)].network
    edges = [set(candidate.network.edges) for candidate in front]
    edge = next(edge for edge in chosen.edges if any(edge not in of and edge[::-1] not in of for of in edges))
    first, second = (chosen.names.index(name) for name in edge)
    submit(page, "lacks", **{"from": first, "to": second})
    page.click("#save")
    expect(page.locator("#saved [role=alert]")).to_contain_text("Not saved")
    expect(page.locator("#saved")).to_contain_text(f"lacks {edge[0]} \u2013 {edge[1]}")
    page.click("#saved button")
    decision = read_decision(json.dumps(saved(page)))
    assert edge in decision.forbidden_edges
    assert not {edge, edge[::-1]} & edges[decision.network]


@pytest.mark.long
def test_a_network_beyond_the_readers_limits_is_not_saved(page, front):
    lowest = front.best("complexity").index
    page.click("button[data-key=complexity]")
    assert selected(page) == lowest
    handle(page, 1, 0).press("ArrowRight")
    page.click("#save")
    expect(page.locator("#saved [role=alert]")).to_contain_text("breaks your own rule: Complexity from")
    page.click("#saved button")
    decision = read_decision(json.dumps(saved(page)))
    low, high = decision.filters["complexity"]
    assert low <= front.values[decision.network, 1] <= high
    expect(page.locator("#saved")).not_to_contain_text("breaks")


@pytest.mark.long
@pytest.mark.parametrize(
    "demands",
    [
        [("has", 0, 1), ("lacks", 1, 0)],
        [("has", 0, 1), ("not", 0, 1)],
        [("either", 0, 1), ("lacks", 0, 1)],
        [("has", 0, 1), ("has", 1, 2), ("has", 2, 0)],
    ],
    ids=lambda demands: "_".join(kind for kind, _, _ in demands),
)
@pytest.mark.parametrize("is_front", [True, False], ids=["front", "network"])
def test_rules_that_contradict_each_other_are_not_saved(shown, front, demands, is_front):
    if not is_front and demands[0][0] == "either":
        pytest.skip("a page of one network has no rules of either direction")
    # a rule that has nothing to do with it stays
    codes = ["3-4-lacks", *(f"{from_}-{to}-{kind}" for kind, from_, to in demands)]
    fragment = "#" + "&".join(f"edge={code}" for code in codes)
    with shown(front if is_front else front[0].network, fragment) as page:
        page.click("#save")
        expect(page.locator("#saved [role=alert]")).to_contain_text("no network can follow all of your rules")
        assert page.locator("#saved button").count() == len(demands)
        page.locator("#saved button").last.click()
        assert len(rules(page)) == len(demands)
        if page.locator("#passing").is_visible():
            page.click("#passing")
        decision = read_decision(json.dumps(saved(page)))
    names = front[0].network.names
    assert (names[3], names[4]) in decision.forbidden_edges
    assert not set(decision.required_edges) & set(decision.forbidden_edges)


def test_rules_that_no_network_follows_are_saved_with_a_word(page, front):
    edges = [set(candidate.network.edges) for candidate in front]
    names = front[0].network.names
    pairs = [(a, b) for a in names for b in names if a != b]
    nowhere = next(pair for pair in pairs if not any({pair, pair[::-1]} & of for of in edges))
    submit(page, "has", **{"from": names.index(nowhere[0]), "to": names.index(nowhere[1])})
    assert left(page) == 0
    assert read_decision(json.dumps(saved(page))).required_edges == (nowhere,)
    words = f"No network follows all of your rules. This one breaks: has {nowhere[0]} → {nowhere[1]}."
    expect(page.locator("#saved")).to_contain_text(words)


@pytest.mark.long
def test_a_page_of_one_network_takes_rules_of_a_search(shown, front):
    network = front[0].network
    first, second = network.names[:2]
    with shown(network) as page:
        kinds = page.locator("#rule-kind option").evaluate_all("options => options.map(one => one.value)")
        assert kinds == ["has", "not", "lacks"]
        submit(page, "has", **{"from": 0, "to": 1})
        decision = read_decision(json.dumps(saved(page)))
        expect(page.locator("#saved")).to_contain_text("gomea-bn learn DATA --rules decision.json")
    assert decision.required_edges == ((first, second),)
    assert accept(network, decision).edges == network.edges
