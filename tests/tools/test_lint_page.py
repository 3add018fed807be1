"""Linting the page's scripts is left out, and says so, where npx is missing, but never in continuous integration."""

import shutil
from pathlib import Path

import lint_page
import pytest

from gomea_bn.review import page


@pytest.mark.parametrize(("environment", "code"), [(None, 0), ("true", 1)])
def test_a_missing_npx_is_reported(monkeypatch, capsys, environment, code):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.delenv("CI", raising=False)
    if environment:
        monkeypatch.setenv("CI", environment)
    assert lint_page.main([]) == code
    assert "npx is not installed" in capsys.readouterr().out


def test_the_whole_scripts_contain_every_script_file():
    assets = Path(page.__file__).parent / "assets"
    assert {path.name for path in assets.glob("*.js")} == {*page._SCRIPTS, *page._WORKER_SCRIPTS}
    script = page.page_script() + page.worker_script()
    assert all(path.read_text(encoding="utf-8") in script for path in assets.glob("*.js"))
