from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser
from review_browser import launched


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with launched() as chromium:
        yield chromium
