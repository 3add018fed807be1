from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from review_browser import CHROMIUM, launched, opened
from review_examples import example_front

from gomea_bn import DiscretizedBayesNet, Front, network_report, review_page


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip(
            "no chromium, chromium-browser or google-chrome: install one (Debian: apt-get install chromium)"
        )
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


@pytest.fixture
def shown(browser, tmp_path) -> Callable[..., AbstractContextManager[Page]]:
    """Return a function that writes the page of a front or of a network, and opens it."""

    def show(
        what: Front | DiscretizedBayesNet, fragment: str = "#bars=off", *, table: Any = None, **options: Any
    ) -> AbstractContextManager[Page]:
        path = tmp_path / "page.html"
        if isinstance(what, Front):
            review_page(what, path)
        else:
            network_report(what, table, path)
        return opened(browser, path, fragment, **options)

    return show
