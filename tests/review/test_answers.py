"""Answers of the review page in a browser, held against those of Python. Needs the system's Chromium."""

import re
import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from network_examples import network_with, simple_network, with_parts
from playwright.sync_api import Page, expect
from review_browser import opened
from review_examples import HOSTILE_NAMES, example_front

from gomea_bn import DiscretizedBayesNet, Front, GomeaBnError, network_report, read_table, review_page
from gomea_bn.front import COMPLEXITY, MISFIT
from gomea_bn.network.inference.elimination import ExactEngine
from gomea_bn.network.inference.question import Evidence
from gomea_bn.review import pools
from gomea_bn.simulation import random_network

pytestmark = pytest.mark.filterwarnings("error")

ASK = """([network, questions]) => new Promise((resolve, reject) => {
  const script = new Blob([document.getElementById("worker").textContent], { type: "text/javascript" });
  const worker = new Worker(URL.createObjectURL(script));
  worker.onerror = (event) => reject(event.message);
  worker.onmessage = ({ data }) => {
    worker.terminate();
    resolve((data.answers ?? []).map(({ log, marginals }) => [String(log), marginals?.map((m) => [...m]) ?? null]));
  };
  for (const family of network.families) family.t = Float64Array.from(family.t);
  worker.postMessage({ ticket: 1, network, questions });
})"""


def as_message(network: DiscretizedBayesNet) -> dict:
    """Return a network as the page's worker receives it, apart from the type of its tables."""
    position = {name: index for index, name in enumerate(network.names)}
    families = [
        {
            "p": [position[parent] for parent in network.parents(name)],
            "t": network.tables[name].ravel().tolist(),
        }
        for name in network.names
    ]
    return {"cards": [network.cardinality(name) for name in network.names], "families": families}


def random_evidence(network: DiscretizedBayesNet, rng: np.random.Generator) -> Evidence:
    """Return a row of evidence: single bins, sets and weights of bins."""
    codes = np.full((1, len(network.names)), -1, np.int32)
    weights = {}
    for position, name in enumerate(network.names):
        card, kind = network.cardinality(name), rng.random()
        if kind < 0.2:
            codes[0, position] = rng.integers(card)
        elif kind < 0.3:
            weights[position] = rng.random((1, card))
        elif kind < 0.4 and card > 1:
            weights[position] = np.eye(card)[[0]] + np.eye(card)[[-1]]
    return Evidence(codes, weights)


def shares(page: Page) -> list[list[float]]:
    """Return the probabilities on all cards, in the order of the columns."""
    page.wait_for_selector("body[data-answered]:not([data-answered=''])")
    texts = page.locator(".card").evaluate_all(
        """cards => cards.sort((a, b) => a.dataset.variable - b.dataset.variable)
          .map(card => [...card.querySelectorAll('.state')].map(state => state.dataset.share))"""
    )
    return [[float(text) for text in card] for card in texts]


def state(page: Page, variable: int, code: int):
    return page.locator(f".card[data-variable='{variable}'] .state[data-code='{code}']")


def words(page: Page) -> str:
    page.wait_for_selector("body[data-answered]:not([data-answered=''])")
    return page.locator("#answer-words").inner_text()


def agree(page: Page, network: DiscretizedBayesNet, evidence: dict) -> None:
    """Hold all cards against `query`."""
    shown = shares(page)
    for position, name in enumerate(network.names):
        if name not in evidence:
            np.testing.assert_allclose(
                shown[position], network.query(name, evidence).to_numpy(), rtol=0, atol=1e-9
            )


def test_the_worker_answers_as_python_does(page):
    rng = np.random.default_rng(5)
    for seed in range(25):
        network = random_network(int(rng.integers(2, 16)), random_state=seed)
        rows = [random_evidence(network, rng) for _ in range(4)]
        questions = [
            {
                "known": row.codes[0].tolist(),
                "weights": [[position, values[0].tolist()] for position, values in row.weights.items()],
            }
            for row in rows
        ]
        found = page.evaluate(ASK, [as_message(network), questions])
        engine = ExactEngine(network)
        for row, (log, marginals) in zip(rows, found, strict=True):
            assert float(log) == pytest.approx(float(engine.joint(row, ()).log_evidence[0]), abs=1e-9)
            for ours, theirs in zip(marginals, engine.marginals(row), strict=True):
                np.testing.assert_allclose(ours, theirs[0], rtol=0, atol=1e-9)


@pytest.mark.long
def test_the_worker_answers_in_dense_graphs_and_with_zeros(page):
    rng = np.random.default_rng(6)
    for _ in range(10):
        names = [f"v{position}" for position in range(9)]
        edges = [pair for pair in combinations(names, 2) if rng.random() < 0.45]
        network = simple_network({name: int(rng.integers(2, 4)) for name in names}, edges, rng)
        tables = {}
        for name, table in network.tables.items():
            sparse = table * (rng.random(table.shape) < 0.6)
            sparse[..., 0] += 0.05
            tables[name] = sparse / sparse.sum(axis=-1, keepdims=True)
        sparse_network = network_with(names, network.edges, levels=network.levels, tables=tables)
        row = random_evidence(sparse_network, rng)
        question = {
            "known": row.codes[0].tolist(),
            "weights": [[v, w[0].tolist()] for v, w in row.weights.items()],
        }
        ((log, marginals),) = page.evaluate(ASK, [as_message(sparse_network), [question]])
        expected = float(ExactEngine(sparse_network).joint(row, ()).log_evidence[0])
        if expected == -np.inf:
            assert (log, marginals) == ("-Infinity", None)
            continue
        assert float(log) == pytest.approx(expected, abs=1e-9)
        for ours, theirs in zip(marginals, ExactEngine(sparse_network).marginals(row), strict=True):
            np.testing.assert_allclose(ours, theirs[0], rtol=0, atol=1e-9)


def test_clicks_set_evidence_and_all_columns_follow(browser, tmp_path):
    network = random_network(9, random_state=4)
    network_report(network, None, tmp_path / "page.html")
    first, second = [
        position for position, name in enumerate(network.names) if network.cardinality(name) > 2
    ][:2]

    def bins(position: int, codes: list[int]):
        return set(network.query(network.names[position]).index[codes])

    with opened(browser, tmp_path / "page.html") as page:
        page.click("#show-answers")
        agree(page, network, {})
        expect(page.locator("#clear-evidence")).not_to_be_visible()
        state(page, first, 1).click()
        evidence = {network.names[first]: bins(first, [1])}
        agree(page, network, evidence)
        assert shares(page)[first] == [0.0, 1.0] + [0.0] * (network.cardinality(network.names[first]) - 2)
        state(page, second, 0).focus()
        page.keyboard.press("Enter")
        state(page, second, 2).click(modifiers=["Control"])
        evidence[network.names[second]] = bins(second, [0, 2])
        agree(page, network, evidence)
        assert page.locator(".state[aria-pressed=true]").count() == 3
        listed = page.locator("#findings li").all_inner_texts()
        assert len(listed) == 2
        assert listed[1].startswith(f"{network.names[second]} ")
        assert " or " in listed[1]
        first_share = network.query(network.names[first]).to_numpy()[1]
        second_shares = network.query(
            network.names[second], {network.names[first]: bins(first, [1])}
        ).to_numpy()
        chance = first_share * second_shares[[0, 2]].sum()
        stated = words(page).split("probability ")[1].split("\u00a0")[0]
        assert float(stated) == pytest.approx(100 * chance, abs=0.06)
        page.click("#show-graph")
        assert page.locator(".node.known").count() == 2
        # the address follows a moment later, last with both ranges of the second column
        expect(page).to_have_url(re.compile("given=.*ranges.*ranges.*%2C"))
        url = page.url
        page.keyboard.press("d")
        state(page, first, 1).click()
        agree(page, network, {network.names[second]: evidence[network.names[second]]})
        page.click("#clear-evidence")
        agree(page, network, {})
        assert page.locator("#findings li.finding").count() == 0
    with opened(browser, tmp_path / "page.html", "#" + url.partition("#")[2] + "&shows=answers") as page:
        assert page.locator("#findings li.finding").count() == 2
        agree(page, network, evidence)


@pytest.mark.long
def test_typed_values_are_evidence_and_wrong_ones_are_named(shown):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=300), "sex": rng.choice(["f", "m"], 300)})
    frame["y"] = frame["x"] + rng.normal(size=300)
    network = DiscretizedBayesNet.from_table(
        frame, [("x", "y"), ("sex", "y")], {"x": [0.0], "y": [-1.0, 1.0]}
    )
    with shown(network) as page:
        page.click("#show-answers")
        page.select_option("#typed-variable", label="x")
        page.fill("#typed-value", "0.5")
        page.keyboard.press("Enter")
        agree(page, network, {"x": 0.5})
        assert page.locator("#findings li").inner_text().startswith("x = 0.5")
        page.fill("#typed-value", "tall")
        page.click("#typed button")
        assert "x needs a number such as 1.5; got “tall”." in words(page)
        assert page.locator("#typed-value").get_attribute("aria-invalid") == "true"
        # the page itself prints minus signs
        page.fill("#typed-value", "\u22120.5")
        page.keyboard.press("Enter")
        agree(page, network, {"x": -0.5})
        page.fill("#typed-value", "-1e9")
        page.keyboard.press("Enter")
        assert "counts as in the end bin" in words(page)
        with pytest.warns(match="outside"):
            agree(page, network, {"x": -1e9})
        page.select_option("#typed-variable", label="sex")
        page.fill("#typed-value", "q")
        page.keyboard.press("Enter")
        assert "sex has the levels f, m; “q” is none of them." in words(page)
        page.fill("#typed-value", "m")
        page.keyboard.press("Enter")
        assert page.locator("#findings li").count() == 2


@pytest.mark.long
def test_impossible_evidence_is_said_with_what_to_remove(shown):
    network = simple_network({"a": 2, "b": 2, "c": 2}, [("a", "b")])
    tables = dict(network.tables) | {"b": np.eye(2)}
    certain = with_parts(network, cut_points={}, support={}, tables=tables)
    with pytest.raises(GomeaBnError, match="probability 0"):
        certain.query("c", {"a": "a0", "b": "b1"})
    with shown(certain) as page:
        page.click("#show-answers")
        for variable, code in ((2, 0), (0, 0), (1, 1)):
            state(page, variable, code).click()
        expect(page.locator("#answer-words")).to_contain_text("Impossible")
        assert "Without a or b the rest is possible." in words(page)
        assert page.locator(".state .number").first.inner_text() == "\u2013"
        state(page, 1, 1).click()
        agree(page, certain, {"a": "a0", "c": "c0"})


@pytest.mark.long
def test_large_cliques_and_large_tables_are_estimated_in_words(shown, browser, tmp_path, monkeypatch):
    roots = [f"r{position}" for position in range(8)]
    levels = dict.fromkeys(roots, 8)
    edges = []
    for first, second in combinations(roots, 2):
        levels[f"{first}{second}"] = 2
        edges += [(first, f"{first}{second}"), (second, f"{first}{second}")]
    network = simple_network(levels, edges, np.random.default_rng(1))
    with shown(network, "#shows=answers") as page:
        expect(page.locator("#answer-words")).to_contain_text("Estimated from 20,000 drawn cases")
        for position, share in enumerate(shares(page)):
            exact = network.query(network.names[position], method="sampling", n_draws=200_000, random_state=1)
            np.testing.assert_allclose(share, exact.to_numpy(), rtol=0, atol=0.02)
        state(page, len(roots), 0).click()
        expect(page.locator("#answer-words")).to_contain_text("may be off by 0.")
        evidence = {network.names[len(roots)]: network.levels[network.names[len(roots)]][0]}
        for position in (0, 1, 9):
            exact = network.query(
                network.names[position], evidence, method="sampling", n_draws=200_000, random_state=1
            )
            np.testing.assert_allclose(shares(page)[position], exact.to_numpy(), rtol=0, atol=0.02)
        state(page, len(roots), 0).click()
        state(page, 0, 0).click()
        expect(page.locator("#answer-words")).not_to_contain_text("Estimated")
        expect(page.locator("#answer-words")).to_contain_text("This finding has probability")
    monkeypatch.setattr(pools, "_MOST_WHOLE", 100)
    wide = simple_network({"a": 21, "b": 21, "c": 2}, [("a", "c"), ("b", "c")], np.random.default_rng(1))
    network_report(wide, None, tmp_path / "wide.html")
    with opened(browser, tmp_path / "wide.html", "#shows=answers") as page:
        expect(page.locator("#answer-words")).to_contain_text("rare rows of it are replaced by their mean")
        page.click(".card[data-variable='2'] .link")
        assert page.locator("#probabilities tbody tr").count() == pools.MOST_TABLE_ROWS


@pytest.mark.long
def test_evidence_outlasts_a_change_of_the_network_or_rests(browser, tmp_path):
    front = example_front(n_networks=6, n_variables=5)
    review_page(front, tmp_path / "page.html")
    name = next(name for name in front[0].network.cut_points if len(front[0].network.cut_points[name]))
    position = front[0].network.names.index(name)
    cuts = front[0].network.cut_points[name]
    with (
        warnings.catch_warnings(),
        opened(browser, tmp_path / "page.html", "#network=0&shows=answers") as page,
    ):
        warnings.filterwarnings("ignore", ".*has no edges in this network")
        shares(page)
        state(page, position, len(cuts)).click()
        seen = set()
        for number, candidate in enumerate(front):
            shown = page.locator("#findings li.finding")
            fits = cuts[-1] in candidate.network.cut_points[name]
            seen.add(fits)
            assert ("not counted: other bins here" in shown.inner_text()) != fits
            agree(page, candidate.network, {name: pd.Interval(cuts[-1], np.inf)} if fits else {})
            page.keyboard.press("ArrowRight")
            page.wait_for_selector(f"body[data-selected='{min(number + 1, len(front) - 1)}']")
        assert seen == {True, False}


@pytest.mark.long
def test_answers_show_hostile_names_and_fit_a_phone(browser, tmp_path):
    front = example_front(n_variables=len(HOSTILE_NAMES), names=HOSTILE_NAMES)
    review_page(front, tmp_path / "page.html")
    with opened(
        browser, tmp_path / "page.html", "#shows=answers", viewport={"width": 390, "height": 844}
    ) as page:
        shares(page)
        for position, name in enumerate(HOSTILE_NAMES):
            title = page.locator(f".card[data-variable='{position}'] .link")
            assert title.evaluate("one => one.textContent") == name
            page.locator(f".card[data-variable='{position}'] .state").first.press("Enter")
        assert page.locator("#findings .finding").count() >= len(HOSTILE_NAMES) - 2
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.long
def test_bars_take_the_room_that_labels_leave_and_have_ticks_only_with_evidence(shown):
    network = simple_network({"short": 2, "other": 2}, [("short", "other")], np.random.default_rng(1))
    with shown(network, "#shows=answers") as page:
        page.wait_for_selector("body[data-answered]:not([data-answered=''])")
        widths = page.locator(".card .track").evaluate_all("all => all.map(one => one.clientWidth)")
        cards = page.locator(".card").evaluate_all("all => all.map(one => one.clientWidth)")
        assert min(widths) > 0.5 * max(cards)
        assert page.locator(".before:visible").count() == 0
        state(page, 0, 1).click()
        expect(page.locator(".before:visible")).to_have_count(4)


def test_cards_can_be_ordered_by_what_moved(shown):
    network = random_network(8, random_state=4)
    with shown(network, "#shows=answers") as page:
        before = [np.array(card) for card in shares(page)]
        state(page, 3, 0).click()
        after = [np.array(card) for card in shares(page)]
        page.select_option("#card-order", "moved")
        order = page.locator(".card").evaluate_all(
            "cards => cards.map(card => Number(card.dataset.variable))"
        )
        moved = [float(np.abs(before[position] - after[position]).sum() / 2) for position in order]
        assert moved[0] > 0
        assert moved == sorted(moved, reverse=True)


def told_network() -> tuple[DiscretizedBayesNet, pd.DataFrame]:
    """Return a network without an edge between two of its columns that depend on each other, and the rows."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=600)
    frame = pd.DataFrame(
        {
            "x": x,
            "z": np.where(x + 0.5 * rng.normal(size=600) > 0, "high", "low"),
            "w": rng.choice(["a", "b", "c"], 600),
            "v": rng.choice(["p", "q"], 600),
        }
    )
    return DiscretizedBayesNet.from_table(frame, [("w", "v")], {"x": [-0.5, 0.5]}), frame


def test_rows_stand_next_to_answers(shown):
    network, frame = told_network()
    bins = np.searchsorted([-0.5, 0.5], frame["x"])
    levels = {name: list(network.levels[name]) for name in "zwv"}
    with shown(network, "#shows=answers", table=frame) as page:
        page.click("#show-answers")

        def press(name: str, code: int) -> None:
            page.click(f'.card[aria-label="{name}"] .state[data-code="{code}"]')
            page.wait_for_selector("body[data-answered]:not([data-answered=''])")

        def rows_of(name: str) -> list[str]:
            return page.locator(f'.card[aria-label="{name}"] .rows').all_inner_texts()

        def shares(name: str, fits: np.ndarray) -> list[str]:
            found = frame[name][fits]
            return [f"{100 * (found == level).mean():.1f}\u00a0%" for level in levels[name]]

        everything = np.ones(len(frame), bool)
        page.wait_for_selector("body[data-answered]:not([data-answered=''])")
        assert rows_of("w") == shares("w", everything)
        press("w", 1)
        b = (frame["w"] == levels["w"][1]).to_numpy()
        assert rows_of("v") == shares("v", b)
        assert f"{b.sum()} rows" in page.inner_text('.card[aria-label="v"] h3')
        assert rows_of("w") == [""] * 3
        assert not page.locator(".rows.off").count()
        press("x", 2)
        both = b & (bins == 2)
        assert [text.replace("≠ ", "") for text in rows_of("z")] == shares("z", both)
        words = page.inner_text("#answer-words")
        n = both.sum()
        share = 100 * (frame["z"][both] == levels["z"][0]).mean()
        of_network = 100 * network.query("z").iloc[0]
        both_levels = [
            f"z = {level}: network {p:.1f}\u00a0%, rows {q:.1f}\u00a0% of {n}."
            for level, p, q in zip(
                levels["z"], (of_network, 100 - of_network), (share, 100 - share), strict=True
            )
        ]
        assert any(text in words for text in both_levels)
        assert "The rows know more than this network, which has no edge between x and z." in words
        assert page.locator('.card[aria-label="z"] .rows.off').count() == 2
        assert page.locator('.card[aria-label="v"] .rows.off').count() == 0
        press("v", 0)
        assert "The page has no counts of rows with more than two findings" in page.inner_text(
            "#answer-words"
        )
        assert rows_of("z") == [""] * 2


def test_rows_stand_next_to_the_answers_of_a_front(shown):
    network, frame = told_network()
    other = DiscretizedBayesNet.from_table(frame, [("x", "z")], {"x": [0.0]})
    table = read_table(frame)
    values = [[0.0, 1.0], [1.0, 0.0]]
    front = Front([COMPLEXITY, MISFIT], values, [network, other], table=table)
    for position, cuts in enumerate(([-0.5, 0.5], [0.0])):
        with shown(front, f"#network={position}&shows=answers") as page:
            page.click("#show-answers")
            page.click(f'.card[aria-label="x"] .state[data-code="{len(cuts)}"]')
            page.wait_for_selector("body[data-answered]:not([data-answered=''])")
            fits = np.searchsorted(cuts, frame["x"]) == len(cuts)
            expected = [
                f"{100 * (frame['z'][fits] == level).mean():.1f}\u00a0%" for level in network.levels["z"]
            ]
            found = page.locator('.card[aria-label="z"] .rows').all_inner_texts()
            assert [text.replace("≠ ", "") for text in found] == expected
            # the network without the edge is off
            assert (page.locator('.card[aria-label="z"] .rows.off').count() > 0) == (position == 0)


def test_a_page_says_nothing_of_rows_that_it_does_not_know(shown):
    network, _ = told_network()
    with shown(network) as page:
        page.click("#show-answers")
        page.wait_for_selector("body[data-answered]:not([data-answered=''])")
        assert not page.locator(".rows").count()
        assert "rows" not in page.inner_text("#answer-words")
