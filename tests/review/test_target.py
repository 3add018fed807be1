"""The page's answers about one column: drivers, other columns, scenarios, intervals; held against `query`."""

import re

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from gomea_bn import DiscretizedBayesNet, average_families, read_table
from gomea_bn.learning.checks import checked_network
from gomea_bn.network.bin_distributions import BinDistributions
from gomea_bn.simulation import random_network

pytestmark = pytest.mark.filterwarnings("error")

TARGET = 2


def wait(page: Page) -> None:
    page.wait_for_selector("body[data-described]:not([data-described=''])")


def bins(network: DiscretizedBayesNet, position: int, codes: list[int]) -> set:
    return set(network.query(network.names[position]).index[codes])


def mean(network: DiscretizedBayesNet, evidence: dict, name: str) -> float:
    return float(network.query(name, evidence).to_numpy() @ BinDistributions(network, name).means())


def row(page: Page, table: str, variable: int) -> dict[str, str]:
    return page.locator(f"#{table} tr[data-variable='{variable}']").evaluate("one => ({ ...one.dataset })")


@pytest.fixture(scope="module")
def learned():
    frame = random_network(7, discrete_fraction=0.0, random_state=3).sample(250, 3)
    edges = [("X1", "X3"), ("X5", "X3"), ("X3", "X7"), ("X5", "X2"), ("X2", "X4"), ("X1", "X6"), ("X6", "X7")]
    cuts = {str(name): np.quantile(frame[name], [0.3, 0.7][: 1 + at % 2]) for at, name in enumerate(frame)}
    table = read_table(frame)
    return DiscretizedBayesNet.from_table(table, edges, cuts), table


@pytest.fixture
def page(shown, learned):
    network, table = learned
    with shown(network, f"#shows=answers&target={TARGET}", table=table) as page:
        yield page


def press(page: Page, variable: int, code: int) -> None:
    page.locator(f".card[data-variable='{variable}'] .state[data-code='{code}']").click()


@pytest.mark.long
def test_findings_are_ranked_by_how_far_the_answer_moves_without_them(page, learned):
    network, _ = learned
    name, pressed = network.names[TARGET], {0: 0, 4: 1, 6: 0}
    for variable, code in pressed.items():
        press(page, variable, code)
    page.click("#show-target")
    wait(page)
    evidence = {
        network.names[variable]: bins(network, variable, [code]) for variable, code in pressed.items()
    }
    now = network.query(name, evidence).to_numpy()
    order = page.locator("#drivers tbody tr").evaluate_all(
        "all => all.map(one => Number(one.dataset.variable))"
    )
    moved = [float(row(page, "drivers", variable)["moved"]) for variable in order]
    assert moved == sorted(moved, reverse=True)
    for variable, share in zip(order, moved):
        rest = {key: value for key, value in evidence.items() if key != network.names[variable]}
        expected = np.abs(network.query(name, rest).to_numpy() - now).sum() / 2
        assert share == pytest.approx(expected, abs=1e-9)


@pytest.mark.sample(1)
@pytest.mark.parametrize("asked", ["mean", "0"])
def test_other_columns_give_the_range_of_the_answer_and_their_information(page, learned, asked):
    network, _ = learned
    name = network.names[TARGET]
    assert name in network.cut_points
    press(page, 0, 1)
    page.click("#show-target")
    page.select_option("#quantity", asked)
    wait(page)
    evidence = {network.names[0]: bins(network, 0, [1])}
    prior = network.query(name, evidence).to_numpy()
    ranges = []
    for position, other in enumerate(network.names):
        if position in (0, TARGET):
            assert page.locator(f"#effects tr[data-variable='{position}']").count() == 0
            continue
        shares = network.query(other, evidence).to_numpy()
        values, bits = [], 0.0
        for code in np.flatnonzero(shares):
            stated = {**evidence, other: bins(network, position, [int(code)])}
            given = network.query(name, stated).to_numpy()
            values.append(mean(network, stated, name) if asked == "mean" else given[0])
            bits += shares[code] * np.sum(given * np.log2(np.where(given > 0, given / prior, 1.0)))
        if bits < 1e-9:
            # a rounding error is nothing that a column tells
            assert page.locator(f"#effects tr[data-variable='{position}']").count() == 0
            continue
        shown = row(page, "effects", position)
        assert float(shown["low"]) == pytest.approx(min(values), abs=1e-9)
        assert float(shown["high"]) == pytest.approx(max(values), abs=1e-9)
        assert float(shown["bits"]) == pytest.approx(bits, abs=1e-9)
        ranges.append(max(values) - min(values))
    shown = page.locator("#effects tbody tr").evaluate_all(
        "all => all.map(one => one.dataset.high - one.dataset.low)"
    )
    assert shown == pytest.approx(sorted(ranges, reverse=True), abs=1e-9)
    page.select_option("#column-order", "information")
    bits = page.locator("#effects tbody tr").evaluate_all("all => all.map(one => Number(one.dataset.bits))")
    assert bits == sorted(bits, reverse=True)


@pytest.mark.long
def test_likelihoods_are_soft_findings(page, learned):
    network, _ = learned
    card = network.cardinality(network.names[4])
    weights = [1, 3, *[0.5] * (card - 2)]
    page.select_option("#typed-variable", label=network.names[4])
    page.fill("#typed-value", "1 2 3 4 5 6 7 8 9")
    page.keyboard.press("Enter")
    expect(page.locator("#answer-words")).to_contain_text(f"needs {card} likelihoods; got 9")
    page.fill("#typed-value", " ".join(map(str, weights)))
    page.keyboard.press("Enter")
    expect(page.locator("#findings")).to_contain_text("by likelihoods 1 : 3")
    page.wait_for_selector("body[data-answered]:not([data-answered=''])")
    shown = page.locator(f".card[data-variable='{TARGET}'] .state").evaluate_all(
        "all => all.map(one => Number(one.dataset.share))"
    )
    name = network.names[TARGET]
    shares = network.query(network.names[4]).to_numpy() * weights
    given = [
        network.query(name, {network.names[4]: bins(network, 4, [code])}).to_numpy() for code in range(card)
    ]
    np.testing.assert_allclose(shown, shares @ given / shares.sum(), rtol=0, atol=1e-9)
    expect(page).to_have_url(re.compile("%3Alikelihoods%3A"))
    page.reload()
    page.wait_for_selector("body[data-ready='1']")
    expect(page.locator("#findings")).to_contain_text("by likelihoods 1 : 3")


@pytest.mark.long
def test_scenarios_stand_side_by_side_and_return_with_the_address(page, learned):
    network, _ = learned
    name = network.names[TARGET]
    press(page, 0, 0)
    page.click("#show-target")
    page.click("#save-scenario")
    page.click("#clear-evidence")
    page.click("#show-answers")
    press(page, 4, 1)
    page.click("#show-target")
    page.click("#save-scenario")
    expect(page).to_have_url(re.compile("scenario=S1.*scenario=S2"))
    page.reload()
    wait(page)
    shares = page.locator("#scenarios tbody tr").evaluate_all(
        "all => all.slice(1).map(one => [...one.querySelectorAll('td')].map(cell => Number(cell.dataset.share)))"
    )
    evidence = [{}, {4: 1}, {0: 0}, {4: 1}]
    for column, stated in enumerate(evidence):
        given = {network.names[key]: bins(network, key, [code]) for key, code in stated.items()}
        expected = network.query(name, given).to_numpy()
        np.testing.assert_allclose(np.array(shares)[:, column], expected, rtol=0, atol=1e-9)
    page.click("[aria-label='Use scenario S1']")
    expect(page.locator("#findings .finding")).to_have_count(1)
    page.click("[aria-label='Remove scenario S1']")
    expect(page.locator("#scenarios thead th")).to_have_count(4)


@pytest.mark.long
def test_the_interval_is_that_of_the_rows_behind_the_tables(shown):
    rng = np.random.default_rng(0)
    for n_rows in (40, 1000):
        rows = np.array(["yes", "no"])[(np.arange(n_rows) >= 0.3 * n_rows).astype(int)]
        table = read_table(pd.DataFrame({"x": rows, "y": rng.choice(["a", "b"], n_rows)}))
        network = DiscretizedBayesNet.from_table(table, [], {})
        share = network.query("x").to_numpy()[0]
        with shown(network, "#shows=target&target=0&quantity=0", table=table) as page:
            wait(page)
            words = page.locator("#target-words").inner_text()
        low, high = [
            float(text) / 100 for text in re.search(r"interval ([\d.]+)\s% to ([\d.]+)\s%", words).groups()
        ]
        # the Beta distribution with a weight of the rows plus 1 is nearly normal
        half = 1.645 * np.sqrt(share * (1 - share) / (n_rows + 2))
        assert (high - low) / 2 == pytest.approx(half, rel=0.2)
        assert (high + low) / 2 == pytest.approx(share, abs=0.002)


@pytest.mark.long
def test_the_interval_is_that_of_explain(shown):
    rng = np.random.default_rng(1)
    x = rng.normal(size=2_000)
    y = np.where(x + rng.normal(size=2_000) > 0, "yes", "no")
    frame = pd.DataFrame({"x": x, "y": y, "z": rng.choice(["a", "b"], 2_000)})
    network = average_families(DiscretizedBayesNet.from_table(frame, [("x", "y")], {"x": [0.0]}), frame)
    network = checked_network(network, read_table(frame), 0)
    assert network.metadata["checks"]["misfits"]["y"] > 0
    network = network.with_metadata(checks={**network.metadata["checks"], "misfits": {"y": 0.08}})
    expected = network.explain("y", {"x": pd.Interval(0, x.max(), closed="right")}, state="yes").interval
    with shown(network, "#shows=target&target=1&quantity=1", table=read_table(frame)) as page:
        page.click("#show-answers")
        press(page, 0, 1)
        page.click("#show-target")
        wait(page)
        words = page.locator("#target-words").inner_text()
        notes = page.locator("#target-parts").inner_text()
    found = [float(text) / 100 for text in re.search(r"interval ([\d.]+)\s% to ([\d.]+)\s%", words).groups()]
    assert found == pytest.approx(expected, abs=0.006)
    # the rows alone make it less than half as wide
    assert found[1] - found[0] > 0.08
    assert "by how much arrows and bins were off the rows of the fit" in notes


@pytest.mark.long
def test_without_rows_there_is_no_interval_and_a_known_target_is_said(shown, learned):
    network, _ = learned
    with shown(network, f"#shows=target&target={TARGET}") as page:
        wait(page)
        expect(page.locator("#target-words")).to_contain_text("No interval: the number of rows")
        page.click("#show-answers")
        press(page, TARGET, 0)
        page.keyboard.press("t")
        expect(page.locator("#target-words")).to_contain_text("is known. Remove its finding")


def test_the_column_with_most_edges_is_asked_about_before_there_is_an_outcome(shown):
    names = ["a", "b", "hub", "c", "alone"]
    frame = pd.DataFrame(np.random.default_rng(1).integers(0, 2, (60, 5)), columns=names)
    edges = [("a", "hub"), ("hub", "b"), ("hub", "c")]
    table = read_table(frame)
    network = DiscretizedBayesNet.from_table(table, edges, {})
    with shown(network, "#shows=target", table=table) as page:
        wait(page)
        words = page.locator("#target-words")
        assert words.inner_text().startswith("The probability of hub = 1 is ")
        assert words.inner_text().endswith("Choose your outcome at the top of the page.")
        page.select_option("#target", "4")
        wait(page)
        assert words.inner_text().startswith("The probability of alone = 1 is ")
        assert "Choose" not in words.inner_text()


def test_only_columns_that_tell_stand_in_the_table_of_others(shown):
    """Columns without a path to the outcome get no bar of a rounding error; a sentence counts them."""
    names = ["a", "b", "c", "alone"]
    frame = pd.DataFrame(np.random.default_rng(2).integers(0, 2, (60, 4)), columns=names)
    table = read_table(frame)
    network = DiscretizedBayesNet.from_table(table, [("a", "b"), ("b", "c")], {})
    others = {0: ([1, 2], "One other column"), 3: ([], "3 other columns")}
    with shown(network, "#shows=target&target=0", table=table) as page:
        for column, (expected, words) in others.items():
            page.select_option("#target", str(column))
            wait(page)
            rows = page.locator("#effects tbody tr")
            listed = rows.evaluate_all("all => all.map(one => Number(one.dataset.variable))")
            assert sorted(listed) == expected
            note = f"{words} would tell nothing more about {names[column]} in this network."
            expect(page.locator("#target-parts")).to_contain_text(note)
        assert page.locator("#effects").count() == 0


def test_a_page_offers_connected_columns_as_outcomes(shown):
    names = ["a", "b", "alone"]
    frame = pd.DataFrame(np.random.default_rng(3).integers(0, 2, (60, 3)), columns=names)
    table = read_table(frame)
    network = DiscretizedBayesNet.from_table(table, [("a", "b")], {})
    with shown(network, "#shows=target", table=table) as page:
        wait(page)
        assert set(page.locator("#ask button").all_inner_texts()) == {"a", "b"}
        page.locator("#ask button", has_text="b").click()
        wait(page)
        assert page.locator("#target-words").inner_text().startswith("The probability of b = 1 is ")
        expect(page.locator("#ask")).to_be_hidden()


def test_an_answer_says_that_its_interval_is_being_computed(page):
    page.click("#show-target")
    wait(page)
    page.evaluate(
        """() => {
          const words = document.getElementById("target-words");
          window.said = [];
          new MutationObserver(() => window.said.push(words.textContent)).observe(words, { childList: true });
        }"""
    )
    page.select_option("#target", "0")
    wait(page)
    said = page.evaluate("window.said")
    assert "Computing the answer …" in said[0]
    assert any("(interval: computing …)" in words for words in said)
    assert re.search(r"\(90 % interval \S+ to \S+\)", said[-1])
