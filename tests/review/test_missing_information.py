"""The page names information that the expert did not give or that is damaged. Needs the system's Chromium."""

import re

import pytest
from review_browser import needs_browser, opened
from review_examples import example_front

from gomea_bn.data.column_summary import column_summary
from gomea_bn.expert.expert_network import ExpertNetwork
from gomea_bn.front.front import Front
from gomea_bn.review.page import review_page

pytestmark = pytest.mark.filterwarnings("error")


@needs_browser
def test_bins_that_the_expert_did_not_give_are_not_called_theirs(browser, tmp_path):
    plain = example_front()
    first, second, third = [column.name for column in plain.table.columns if column.is_continuous][:3]
    expert = ExpertNetwork.from_edges([(first, second)], cut_points={second: [0.5]}).fitted(plain.table)
    front = Front(
        plain.objectives,
        plain.values,
        [candidate.network for candidate in plain],
        table=plain.table,
        expert=expert,
    )
    review_page(front, tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as page:
        text = page.locator("#panel").inner_text()
        assert f"You gave no bins: {first}." in text
        others = [name for name in expert.names if name not in (first, second)]
        assert f"You did not mention: {', '.join(others)}." in text
        named = re.findall(r"^(.*): .* in yours\.$", text, flags=re.MULTILINE)
        assert named == [second]
        expected = {
            first: "You gave no bins: 3 bins of equal frequency stand in for yours.",
            third: "You did not mention this variable. You gave no bins: 3 bins of equal frequency stand in "
            "for yours.",
        }
        for name, words in expected.items():
            page.locator(f".node[data-variable='{expert.names.index(name)}']").press("Enter")
            assert page.locator("#panel .unsaid").inner_text() == words
            assert page.locator("#histogram .yours").count() == 0
            assert "yours" not in page.locator("#histogram").get_attribute("aria-label")
        page.locator(f".node[data-variable='{expert.names.index(second)}']").press("Enter")
        assert page.locator("#panel .unsaid").count() == 0
        assert page.locator("#histogram line.cut.yours").count() == 2


@needs_browser
def test_a_damaged_histogram_is_said_to_be_damaged(browser, tmp_path):
    columns = column_summary(example_front().table)
    index = next(index for index, column in enumerate(columns) if column["kind"] == "continuous")
    columns[index]["histogram"]["edges"][0] = "low"
    review_page(example_front(keep_table=False, record={"columns": columns}), tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as page:
        page.locator(f".node[data-variable='{index}']").press("Enter")
        assert "is damaged in the record" in page.locator("#panel").inner_text()
        assert page.locator("#histogram .bar").count() == 0
