"""The page of a front about one column: curves of left-out predictions, against plain counts; what a reader sees."""

import copy
import itertools
import re
from math import log, sqrt

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from review_browser import opened
from review_examples import HOSTILE_NAMES, page_data, question_front

from gomea_bn import Front, review_page
from gomea_bn.data.columns import outcome_code
from gomea_bn.front.judged_rows import SCALE
from gomea_bn.front.predictions import prediction_summary
from gomea_bn.review.question import level_curves

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(scope="module")
def question():
    return question_front()


@pytest.fixture(scope="module")
def predicted(question):
    """By part, the probability of the level "yes" and whether a row has it, of the recommended network."""
    entries = prediction_summary(question)["networks"]
    [entry] = [one for one in entries if one["id"] == question.recommended().candidate.index]
    return [
        [
            (scaled / SCALE, has)
            for scaled, having, lacking in part
            for has in [True] * having + [False] * lacking
        ]
        for part in entry["levels"][1]
    ]


@pytest.fixture(scope="module")
def curves(predicted):
    parts = []
    for rows in predicted:
        shares = sorted({share for share, _ in rows})
        parts.append(
            [[round(share * SCALE), *(rows.count((share, has)) for has in (True, False))] for share in shares]
        )
    return level_curves(parts)


def test_the_area_is_the_share_of_pairs_of_a_part_in_the_right_order(predicted, curves):
    wins, placements = [], ({}, {})
    for number, part in enumerate(predicted):
        for (i, (share, has)), (j, (other, lacks)) in itertools.product(enumerate(part), repeat=2):
            if has and not lacks:
                win = (share > other) + 0.5 * (share == other)
                wins.append(win)
                placements[0].setdefault((number, i), []).append(win)
                placements[1].setdefault((number, j), []).append(win)
    auc, low, high = curves["auc"]
    assert auc == pytest.approx(np.mean(wins), abs=1e-12)
    variance = 0.0
    for of_kind in placements:
        means = np.array([np.mean(of_row) for of_row in of_kind.values()])
        variance += ((means - auc) ** 2).sum() / (len(means) - 1) / len(means)
    half = 1.959963984540054 * sqrt(variance) / (auc * (1 - auc))
    assert log(high / (1 - high)) - log(auc / (1 - auc)) == pytest.approx(half, rel=1e-9)
    assert log(auc / (1 - auc)) - log(low / (1 - low)) == pytest.approx(half, rel=1e-9)


def test_the_characteristic_is_that_of_the_parts_and_has_the_area(predicted, curves):
    assert (curves["roc"][-1], len(curves["roc"])) == (1.0, 101)
    assert curves["roc"] == sorted(curves["roc"])
    assert np.trapezoid(curves["roc"], dx=0.01) == pytest.approx(curves["auc"][0], abs=0.01)
    # at a share of false alarms between two of every part
    at, found, n_having = 0.33, 0.0, sum(has for part in predicted for _, has in part)
    for part in predicted:
        ends = [(0.0, 0.0)]
        for threshold in sorted({share for share, _ in part}, reverse=True):
            ends.append(
                tuple(
                    np.mean([share >= threshold for share, has in part if has == kind])
                    for kind in (False, True)
                )
            )
        (x0, y0), (x1, y1) = next(pair for pair in itertools.pairwise(ends) if pair[0][0] < at < pair[1][0])
        found += (y0 + (at - x0) / (x1 - x0) * (y1 - y0)) * sum(has for _, has in part) / n_having
    assert curves["roc"][33] == pytest.approx(found, abs=1e-4)


def test_net_benefit_counts_those_with_the_level_less_weighted_others(predicted, curves):
    rows = [row for part in predicted for row in part]
    for percentage in (1, 10, 33, 70, 99):
        threshold = percentage / 100
        benefit = 0.0
        for share, has in rows:
            if share >= threshold - 1e-12:
                benefit += 1 if has else -threshold / (1 - threshold)
        assert curves["net_benefit"][percentage - 1] == pytest.approx(benefit / len(rows), abs=1e-5)


def test_calibration_has_all_rows_in_groups_with_wilson_intervals(predicted, curves):
    groups = curves["calibration"]
    rows = [row for part in predicted for row in part]
    assert sum(n for *_, n in groups) == len(rows)
    assert sum(mean * n for mean, *_, n in groups) == pytest.approx(sum(share for share, _ in rows), abs=0.1)
    assert sum(share * n for _, share, _, _, n in groups) == pytest.approx(
        sum(has for _, has in rows), abs=0.1
    )
    for _, share, low, high, n in groups:
        # the ends are the shares from which the seen one lies 1.96 standard errors away
        for end in (low, high):
            assert abs(share - end) == pytest.approx(1.96 * sqrt(end * (1 - end) / n), abs=2e-3)


def test_equal_probabilities_tell_nothing_and_sure_ones_everything():
    alike = level_curves([[[3000, 30, 70]], [[3100, 31, 69]]])
    assert alike["auc"][0] == 0.5
    assert alike["roc"] == pytest.approx(np.arange(101) / 100, abs=1e-4)
    assert level_curves([[[1, 0, 9], [9999, 9, 0]]])["auc"] == [1.0, 1.0, 1.0]
    assert level_curves([[[1, 0, 9], [9999, 1, 0]]])["auc"] is None


def test_the_page_has_the_predictions_of_the_rows_or_of_the_record(question):
    data = page_data(review_page(question))["question"]
    assert data["note"] is None
    without_rows = Front(
        question.objectives,
        question.values,
        list(map(question.network, range(len(question)))),
        record={**question.record, "n_rows": 400, "predictions": prediction_summary(question)},
    )
    page = page_data(review_page(without_rows))
    assert page["question"] == data
    assert not any("predictions" in name for name, _ in page["facts"])
    assert without_rows.recommended().candidate.index == question.recommended().candidate.index
    thinned = page_data(review_page(without_rows, max_networks=3))
    for position, identity in enumerate(thinned["ids"]):
        assert thinned["question"]["networks"][position] == data["networks"][identity]


def test_the_first_level_says_yes_or_is_rare():
    renamed = question_front(target="died", n_rows=120)
    data = page_data(review_page(renamed))
    levels = renamed.network(0).levels["died"]
    assert data["variables"][data["question"]["target"]]["outcome"] == levels.index("yes")
    assert outcome_code(["a", "b", "c"], [3, 0, 2]) == 2
    assert outcome_code([0, 1], [2, 9]) == 1
    assert outcome_code(["No", " YES"], [1, 2]) == 1
    assert outcome_code(["yes", "1"], [5, 2]) == 1


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda stored: stored.update(n_rows=7), "are damaged"),
        (lambda stored: stored.update(target="grade"), "are damaged"),
        (lambda stored: [one["levels"].pop() for one in stored["networks"]], "are damaged"),
        (lambda stored: [one.update(id=one["id"] + 90) for one in stored["networks"]], "does not show"),
        (lambda stored: stored.clear(), "are damaged"),
    ],
)
def test_damaged_predictions_are_left_out_with_a_reason(question, damage, words):
    stored = copy.deepcopy(prediction_summary(question))
    damage(stored)
    networks = list(map(question.network, range(len(question))))
    record = {**question.record, "predictions": stored}
    data = page_data(review_page(Front(question.objectives, question.values, networks, record=record)))
    assert words in data["question"]["note"]
    assert "networks" not in data["question"]


def test_other_pages_have_no_question(front):
    assert page_data(review_page(front))["question"] is None


# ---- in the browser


@pytest.fixture(scope="module")
def file(question, tmp_path_factory):
    path = tmp_path_factory.mktemp("question") / "page.html"
    review_page(question, path)
    return path


@pytest.fixture
def page(browser, file):
    with opened(browser, file, "") as page:
        yield page


def numbers(page: Page) -> list[float]:
    return [float(text) for text in re.findall(r"\d+\.\d+", page.locator("#prediction-words").inner_text())]


def test_the_page_opens_on_the_prediction_of_the_outcome(page, question, curves):
    expect(page.locator("h1")).to_have_text("10 networks predict died; pick one.")
    assert page.locator("body").get_attribute("data-shows") == "prediction"
    assert page.locator("#target").input_value() == str(question.network(0).names.index("died"))
    auc, low, high, expected, share = numbers(page)[:5]
    assert [auc, low, high] == pytest.approx([100 * value for value in curves["auc"]], abs=0.051)
    assert [expected, share] == pytest.approx([100 * curves[key] for key in ("expected", "share")], abs=0.051)
    summary = prediction_summary(question)
    expect(page.locator("#prediction-words")).to_contain_text(f"without any column {summary['prior']:.3f}")
    expect(page.locator("#prediction-words")).to_contain_text(f"of naive Bayes {summary['naive_bayes']:.3f}")
    assert page.locator("#prediction-parts .chart").count() == 3
    # the other level has the same area, and the complement of the share
    page.select_option("#level", "0")
    assert numbers(page)[0] == auc
    assert numbers(page)[4] == pytest.approx(100 - share, abs=0.11)
    expect(page).to_have_url(re.compile("level=0"))


@pytest.mark.long
def test_networks_stand_side_by_side_with_the_columns_that_they_use(page, question):
    heads = page.locator("#users thead button").all_inner_texts()
    assert heads == [
        str(entry["id"]) for entry in sorted(prediction_summary(question)["networks"], key=lambda e: e["id"])
    ]
    rows = page.locator("#users tr[data-column]").evaluate_all(
        """all => all.map(({ dataset, cells }) =>
          [Number(dataset.column), ...[...cells].slice(1).map((cell) => cell.innerText)])"""
    )
    names = question.network(0).names
    for at, text in enumerate(heads):
        network = question.network(int(text))
        used = {names[column]: cells[at] for column, *cells in rows if cells[at].isdigit()}
        assert used == {name: str(network.cardinality(name)) for name in network.markov_blanket("died")}
    page.locator("#users thead button").last.click()
    assert page.locator("body").get_attribute("data-selected") == heads[-1]
    page.click("#pin")
    page.locator("#users thead button").first.click()
    assert page.locator(".chart polyline.density.pin").count() == 2
    expect(page.locator("#prediction-parts")).to_contain_text("Dashed violet: network A")


@pytest.mark.long
def test_the_graph_begins_with_what_decides_on_the_outcome(page, question):
    page.click("#show-graph")
    names = question.network(0).names
    shown = page.locator(".node.blanket").evaluate_all("all => all.map(one => Number(one.dataset.variable))")
    network = question.recommended().candidate.network
    assert {names[index] for index in shown} == {"died", *network.markov_blanket("died")}
    assert page.locator("#scatter .reference").count() == 2
    # an address without a choice keeps the outcome, and one that takes it back does not
    page.select_option("#target", "")
    expect(page).to_have_url(re.compile("target=&|target=$"))
    page.reload()
    page.wait_for_selector("body[data-ready='1']")
    assert page.locator("#target").input_value() == ""


@pytest.mark.long
def test_a_continuous_outcome_has_means_and_coverage(shown):
    front = question_front(target="cost")
    with shown(front, "") as page:
        assert page.locator("#prediction-parts .chart").count() == 2
        words = page.locator("#prediction-words").inner_text()
        entries = {entry["id"]: entry for entry in prediction_summary(front)["networks"]}
        entry = entries[front.recommended().candidate.index]
        assert f"misses cost by {entry['rmse']:.3g}" in words
        assert f"{round(100 * entry['coverage'][-1])}\xa0% of the rows" in words
        assert page.locator("#level-line").is_hidden()


@pytest.mark.long
def test_hostile_names_are_texts(shown):
    front = question_front(
        names=dict(zip(("age", "creatinine", "grade", "noise", "died", "cost"), HOSTILE_NAMES))
    )
    with shown(front, "") as page:
        expect(page.locator("h1")).to_contain_text("predict")
        page.click("#show-graph")


@pytest.mark.long
def test_without_predictions_the_page_opens_on_the_graph_and_says_why(shown):
    front = question_front(n_rows=25)
    with shown(front, "") as page:
        assert page.locator("body").get_attribute("data-shows") == "graph"
        page.click("#show-prediction")
        expect(page.locator("#prediction-words")).to_contain_text("too few rows")
