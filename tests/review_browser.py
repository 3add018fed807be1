"""Opening a review page in the system's browser, and reading off what it shows."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
# as long as a busy machine may need
_MOST_MILLISECONDS = 600_000
expect.set_options(timeout=_MOST_MILLISECONDS)


@contextmanager
def launched() -> Iterator[Browser]:
    """Start the system's browser, and end it after use."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@contextmanager
def opened(browser: Browser, path: Path, fragment: str = "#bars=off", **options) -> Iterator[Page]:
    """Open a page, and at the end demand that nothing was complained about and nothing was asked for.

    Boxes of small networks hold bars where a fragment does not say otherwise.
    """
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 760}, **options})
    page = context.new_page()
    page.set_default_timeout(_MOST_MILLISECONDS)
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.add_init_script(
        "addEventListener('securitypolicyviolation', e => console.error(e.violatedDirective))"
    )
    page.goto(path.as_uri() + fragment)
    page.wait_for_selector("body[data-ready='1']")
    try:
        yield page
        assert complaints == []
        assert {url.split(":")[0] for url in requests} <= {"file", "blob", "data"}
        assert page.evaluate("window.hacked") is None
    finally:
        context.close()


def selected(page: Page) -> int:
    return int(page.locator("body").get_attribute("data-selected"))


def left(page: Page) -> int:
    return int(page.locator("body").get_attribute("data-left"))


def handle(page: Page, axis: int, side: int):
    return page.locator(f".handle[data-axis='{axis}'][data-side='{side}']")


def saved(page: Page) -> dict:
    with page.expect_download() as download:
        page.click("#save")
    assert download.value.suggested_filename == "decision.json"
    return json.loads(Path(download.value.path()).read_text(encoding="utf-8"))


def name_size(page: Page) -> float:
    """Return the size in pixels of the screen of the variables' names in the drawing."""
    return float(
        page.locator(".node text").first.evaluate(
            "one => parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a"
        )
    )


def hidden_nodes(page: Page) -> int:
    """Return the number of boxes that lie in part outside the frame of the drawing."""
    return page.locator(".node rect").evaluate_all(
        """all => {
          const frame = document.getElementById("graph-frame").getBoundingClientRect();
          return all.map(one => one.getBoundingClientRect()).filter(({ left, right, top, bottom }) =>
            left < frame.left || right > frame.right || top < frame.top || bottom > frame.bottom).length;
        }"""
    )
