from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from review_browser import launched, opened
from review_examples import example_front

from gomea_bn.front.front import Front
from gomea_bn.review.page import review_page


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with launched() as chromium:
        yield chromium


@pytest.fixture(scope="session")
def front() -> Front:
    return example_front(n_networks=14, n_variables=8)


@pytest.fixture(scope="session")
def page_file(front, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("review") / "page.html"
    review_page(front, path)
    return path


@pytest.fixture
def page(browser, page_file) -> Iterator[Page]:
    with opened(browser, page_file) as opened_page:
        yield opened_page
