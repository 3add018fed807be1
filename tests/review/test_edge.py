"""Edges on the review page: what they say in words, and what a reader says against them."""

import json
import re

import pytest
from network_examples import network_with
from playwright.sync_api import Page, expect
from review_browser import handle, left, opened, saved, selected
from review_examples import HOSTILE_NAMES, example_front, page_data

from gomea_bn import (
    DiscretizedBayesNet,
    Front,
    GomeaBnError,
    certainty,
    network_report,
    read_decision,
    read_table,
    review_page,
)

pytestmark = pytest.mark.filterwarnings("error")


def sick_network() -> DiscretizedBayesNet:
    """Return a network in which smokers are more often sick."""
    return network_with(
        ["smoker", "sick"],
        [("smoker", "sick")],
        levels={"smoker": ("no", "yes"), "sick": ("no", "yes")},
        tables={"smoker": [0.7, 0.3], "sick": [[0.88, 0.12], [0.6, 0.4]]},
    )


def object_to(page: Page, edge: tuple[str, str], text: str) -> None:
    page.click(f"[aria-label='About {edge[0]} → {edge[1]}']")
    page.click(f".objections button:text('{text}')")


@pytest.mark.long
def test_an_edge_says_in_words_what_the_network_answers(browser, tmp_path):
    network = sick_network()
    network_report(network, None, tmp_path / "page.html")
    chances = [network.query("sick", {"smoker": level})["yes"] for level in ("yes", "no")]
    assert chances == pytest.approx([0.4, 0.12])
    with opened(browser, tmp_path / "page.html") as page:
        expect(page.locator(".not-causes")).to_contain_text("Arrows are not causes")
        page.locator(".edge path.touch").click(force=True)
        card = page.locator(".edge-card")
        expect(card).to_contain_text(
            re.compile(
                "Where smoker = (yes, 40|no, 88).% have sick = (yes|no); where smoker = (no, 12|yes, 60).%"
            ),
        )
        expect(card).to_contain_text("fit as well with the arrow turned")
        card.locator("[aria-label='Close the edge']").click()
        expect(card).to_have_count(0)


@pytest.mark.long
def test_objections_filter_the_networks_and_are_saved_as_rules(page, front):
    edges = front[selected(page)].network.edges
    first, second = edges[0], edges[-1]
    object_to(page, first, "This direction is impossible")
    assert left(page) == sum(first not in candidate.network.edges for candidate in front)
    object_to(page, second, "There is no such edge")
    page.click("#save")
    expect(page.locator("#saved")).to_contain_text("Not saved")
    page.click("#passing")
    assert first not in front[selected(page)].network.edges
    expect(page.locator("#passing")).to_be_hidden()
    decision = read_decision(json.dumps(saved(page)))
    assert decision.forbidden_edges == (first, second, second[::-1])
    assert decision.required_edges == ()
    assert decision.rules == (f"lacks {first[0]} → {first[1]}", f"lacks {second[0]} \u2013 {second[1]}")
    expect(page.locator("#saved")).to_contain_text("2 rules: decision.json")
    expect(page.locator("#saved")).to_contain_text("gomea-bn front DATA --rules decision.json")
    # the note on what was saved goes with the next change
    page.click(f"[aria-label='Remove the rule lacks {first[0]} → {first[1]}']")
    expect(page.locator("#saved")).to_be_empty()
    assert read_decision(json.dumps(saved(page))).forbidden_edges == (second, second[::-1])


@pytest.mark.long
def test_the_page_of_one_network_saves_rules(shown):
    with shown(sick_network()) as page:
        object_to(page, ("smoker", "sick"), "There is no such edge")
        expect(page.locator("#rules")).to_contain_text("lacks smoker \u2013 sick")
        decision = read_decision(json.dumps(saved(page)))
        assert decision.run_hash is None
        assert decision.forbidden_edges == (("smoker", "sick"), ("sick", "smoker"))


@pytest.mark.long
def test_where_nothing_is_left_the_page_names_what_to_drop(page, front):
    page.click("button[data-key=misfit]")
    edge = front[0].network.edges[0]
    handle(page, 0, 1).press("Home")
    assert left(page) == 1
    assert "%" in page.locator(".edge-list").first.inner_text()
    object_to(page, edge, "This direction is impossible")
    assert left(page) == 0
    assert "%" not in page.locator(".edge-list").first.inner_text()
    number = sum(edge not in candidate.network.edges for candidate in front)
    drop = page.locator("#drops button", has_text="the limits of Misfit")
    expect(drop).to_contain_text(f"({number} left)")
    expect(page.locator("#drops button", has_text="lacks")).to_contain_text("(1 left)")
    drop.click()
    assert left(page) == number > 0
    expect(page.locator("#drops")).to_be_hidden()


@pytest.mark.long
def test_a_wide_table_shows_first_what_agrees_with_the_expert(shown):
    front = example_front(n_networks=3, n_variables=26)
    chosen = front.recommended().candidate.network
    # all networks of the example follow one order, so that edges of two of them close no cycle
    others = [edge for candidate in front for edge in candidate.network.edges]
    new = [edge for edge in others if edge not in chosen.edges and edge[::-1] not in chosen.edges][:3]
    kept = list(chosen.edges)[: 2 * len(chosen.edges) // 3]
    expert = DiscretizedBayesNet.from_table(front.table, [*kept, *new], chosen.cut_points)
    networks = [candidate.network for candidate in front]
    front = Front(front.objectives, front.values, networks, table=front.table, expert=expert)
    with shown(front) as page:
        kinds = ("both", "reversed", "here", "there")
        drawn = {kind: page.locator(f"#graph .edge.{kind}:visible").count() for kind in kinds}
        whole = {kind: page.locator(f"#graph .edge.{kind}").count() for kind in kinds}
        assert whole["here"] > 0 < whole["there"]
        assert drawn == {**whole, "here": 0, "there": 0}
        page.click("#legend button.kind:text('only here')")
        expect(page.locator("#graph .edge.here").first).to_be_visible()
        page.click("#legend button.kind:text('only here')")
        expect(page.locator("#graph .edge.here").first).not_to_be_visible()


@pytest.mark.long
def test_a_wide_table_where_little_agrees_shows_its_own_edges(browser, tmp_path):
    front = example_front(n_networks=3, n_variables=26)
    network, expert = front.recommended().candidate.network, front.expert
    assert 4 * len(set(network.edges) & set(expert.edges)) < len(network.edges)
    review_page(front, tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as page:
        assert page.locator("#graph .edge.here:visible").count() > 10
        assert page.locator("#graph .edge.there:visible").count() == 0


@pytest.mark.long
def test_the_outcome_comes_first_and_names_are_kept_in_the_decision(page, front):
    network = front[selected(page)].network
    outcome = network.edges[-1][1]
    position = network.names.index(outcome)
    page.select_option("#target", label=outcome)
    expect(page.locator(".node.outcome title")).to_have_text(outcome)
    listed = page.locator(".edge-list", has_text=outcome).first.locator("li").first
    assert outcome in listed.inner_text()
    page.click("#show-answers")
    expect(page.locator(".card").first).to_have_attribute("data-variable", str(position))
    page.click("#show-graph")
    level = next(name for name in network.names if name in network.levels)
    for name, field, text in ((outcome, "", "Died <b>"), (level, ".0", "alive")):
        page.locator(f".node[data-variable='{network.names.index(name)}']").click()
        page.click("summary:text('Call it something else')")
        page.fill(f".rename input[name='{network.names.index(name)}{field}']", text)
        with page.expect_navigation():
            page.click(".rename button")
        page.wait_for_selector("body[data-ready='1']")
    expect(page.locator(f".node[data-variable='{position}'] title")).to_have_text("Died <b>")
    page.click("#tab-network")
    parent, child = network.edges[-1]
    shown = {outcome: "Died <b>"}
    object_to(page, (shown.get(parent, parent), shown.get(child, child)), "This direction is impossible")
    page.click("#passing")
    decision = read_decision(json.dumps(saved(page)))
    assert decision.names == {outcome: "Died <b>"}
    assert decision.levels == {level: {network.levels[level][0]: "alive"}}
    assert decision.forbidden_edges == ((parent, child),)


@pytest.mark.long
def test_the_page_says_what_rows_say_about_the_edges_of_the_expert(browser, tmp_path):
    front = example_front(n_networks=4, n_variables=6, names=HOSTILE_NAMES[:6])
    test = certainty.test_graph(front.expert, front.table, random_state=0)
    notes = page_data(review_page(front, tmp_path / "page.html", test_graph=True))["tested"]["pairs"]
    assert {(front.expert.names[i], front.expert.names[j]): note for i, j, note in notes} == test.notes
    assert set(front.expert.edges) <= set(test.notes)
    with opened(browser, tmp_path / "page.html") as page:
        expect(page.locator("#panel > .tested")).to_have_text(f"Your network: {test.sentence}")
        network = front[selected(page)].network
        either_way = test.notes | {pair[::-1]: note for pair, note in test.notes.items()}
        shown = {*network.edges, *(e for e in front.expert.edges if e[::-1] not in network.edges)}
        wanted = sorted(f"Your network: {either_way[edge]}" for edge in shown if edge in either_way)
        assert sorted(page.locator(".edge-list .tested").all_inner_texts()) == wanted
        page.locator(".edge-list li", has=page.locator(".tested")).locator(
            "[aria-label^='About']"
        ).first.click()
        expect(page.locator(".edge-card .tested")).to_contain_text("Your network: the data")
        # a kept network is not the one that was tested
        page.click("#pin")
        expect(page.locator("#panel > .tested")).to_have_count(0)


@pytest.mark.long
def test_the_page_of_one_network_says_what_rows_say_about_its_edges(shown, browser, tmp_path):
    network, table = sick_network(), read_table(sick_network().sample(400, 1))
    network_report(network, table, tmp_path / "page.html", test_graph=True)
    with opened(browser, tmp_path / "page.html") as page:
        expect(page.locator("#panel > .tested")).to_have_text(
            "Tested: 400 rows do not reject the graph (p = 1)."
        )
        expect(page.locator(".edge-list .tested")).to_contain_text("the data support this edge (p = ")
    with shown(network, table=table) as page:
        expect(page.locator(".tested")).to_have_count(0)


def test_a_test_needs_a_table_and_an_expert():
    with pytest.raises(GomeaBnError, match="test_graph needs the table"):
        network_report(sick_network(), test_graph=True)
    with pytest.raises(GomeaBnError, match="test_graph needs an expert's network"):
        review_page(example_front(n_networks=2, expert=False), test_graph=True)


@pytest.mark.long
def test_figures_say_on_how_many_rows_they_rest(shown):
    network = sick_network()
    rows = network.sample(300, random_state=1)
    n_smokers = int((rows["smoker"] == "yes").sum())
    with shown(network, "#bars=off&shows=target&target=1", table=read_table(rows)) as page:
        expect(page.locator("#effects")).to_contain_text(f"of {n_smokers}")
        share = (rows.loc[rows["smoker"] == "yes", "sick"] == "yes").mean()
        expect(page.locator("#effects")).to_contain_text(f"rows {100 * share:.1f}\u00a0% of {n_smokers}")
    with shown(network, table=read_table(rows)) as page:
        page.locator(".edge path.touch").click(force=True)
        expect(page.locator(".edge-card")).to_contain_text(f"(of {n_smokers} rows)")


@pytest.mark.long
def test_a_page_without_an_outcome_asks_for_it_and_fades_the_rest(page):
    assert "dimmed" not in (page.locator("#graph").get_attribute("class") or "")
    page.locator("#ask button").first.click()
    expect(page.locator("#ask")).to_be_hidden()
    expect(page.locator("#graph")).to_have_class(re.compile("dimmed"))


@pytest.mark.long
def test_the_reason_says_which_edges_of_the_expert_the_rows_support(browser, tmp_path):
    front = example_front(n_networks=8, n_variables=5, n_rows=200)
    review_page(front, tmp_path / "page.html", test_graph=True)
    data = page_data((tmp_path / "page.html").read_text())
    recommended = front.recommended().candidate.network
    joined = {frozenset(edge) for edge in recommended.edges}
    lacking = [edge for edge in front.expert.edges if frozenset(edge) not in joined]
    names = [variable["name"] for variable in data["variables"]]
    supported = [(names[i], names[j]) for i, j in data["tested"]["supported"]]
    with opened(browser, tmp_path / "page.html") as page:
        reason = page.locator("#reason").inner_text()
    assert ("It lacks" in reason) == bool(lacking)
    assert ("You may be right" in reason) == any(edge in supported for edge in lacking)
