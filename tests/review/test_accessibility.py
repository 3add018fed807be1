"""The review page has no critical or serious finding of axe-core, which npm fetches. Needs npm and Chromium."""

import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page
from review_browser import opened
from review_examples import example_front, question_front

from gomea_bn import review_page

AXE = "axe-core@4.14.1"
CHECK = """async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  return violations.filter(({ impact }) => ["critical", "serious"].includes(impact))
    .map(({ id, nodes }) => [id, nodes.slice(0, 3).map((node) => node.html.slice(0, 150) + node.failureSummary)]);
}"""
SCREENS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1440, "height": 900}},
    "dark": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "dark"},
    "narrow": {"viewport": {"width": 390, "height": 844}},
}


@pytest.fixture(scope="module")
def axe(tmp_path_factory) -> str:
    """Return the script of axe-core."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm, which fetches axe-core (Debian: apt-get install npm)")
    folder = tmp_path_factory.mktemp("axe")
    fetched = subprocess.run(
        [npm, "pack", AXE], cwd=folder, capture_output=True, text=True, timeout=600, check=False
    )
    files = list(Path(folder).glob("*.tgz"))
    if not files:
        pytest.skip(f"npm cannot fetch {AXE}: {fetched.stderr.strip()[-200:]}")
    with tarfile.open(files[0]) as archive:
        script = archive.extractfile("package/axe.min.js")
        assert script is not None
        return script.read().decode()


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[int, Path]:
    """Return the pages of a small and of a large front by their number of columns."""
    paths = {n: tmp_path_factory.mktemp("axe") / "page.html" for n in (6, 40)}
    for n, path in paths.items():
        review_page(example_front(n_networks=5, n_variables=n), path)
    return paths


def serious(page: Page, axe: str) -> list:
    page.evaluate(axe)
    return list(page.evaluate(CHECK))


@pytest.mark.long
@pytest.mark.parametrize(("n", "screen"), [(6, "light"), (6, "dark"), (6, "narrow"), (40, "light")])
def test_no_view_has_a_serious_finding(browser, files, axe, n, screen):
    with opened(browser, files[n], "#variable=1&tab=variable", bypass_csp=True, **SCREENS[screen]) as page:
        assert serious(page, axe) == []
        page.click("#enlarge")
        assert serious(page, axe) == []
        page.keyboard.press("Escape")
        for view, ready in (("answers", "answered"), ("target", "described")):
            page.click(f"#show-{view}")
            page.wait_for_selector(f"body[data-{ready}]:not([data-{ready}=''])")
            assert serious(page, axe) == []
            if view == "answers":
                page.locator(".card .state:not([disabled])").first.evaluate("one => one.click()")
        page.click("#save-scenario")
        page.wait_for_selector("#scenarios")
        assert serious(page, axe) == []
        page.click("#tab-network")
        page.click("#pin")
        page.click("#next")
        page.click("#show-graph")
        page.click("#open-table")
        assert serious(page, axe) == []


@pytest.mark.long
@pytest.mark.parametrize("screen", SCREENS)
def test_the_page_for_a_question_has_no_serious_finding(browser, axe, tmp_path, screen):
    review_page(question_front(), tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html", "", bypass_csp=True, **SCREENS[screen]) as page:
        assert serious(page, axe) == []
        page.click("#show-graph")
        assert serious(page, axe) == []


@pytest.mark.sample(1)
@pytest.mark.parametrize("n", [6, 40])
def test_paper_has_no_serious_finding(browser, files, axe, n):
    with opened(browser, files[n], bypass_csp=True) as page:
        page.emulate_media(media="print")
        assert serious(page, axe) == []
