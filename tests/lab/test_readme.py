"""The README of the laboratory names every module and every experiment."""

import re
from pathlib import Path

import lab
from lab.runner.registry import experiments

FOLDER = Path(lab.__file__).parent


def test_the_readme_names_every_module():
    named = set(re.findall(r"`(\w+\.py)`", (FOLDER / "README.md").read_text(encoding="utf-8")))
    assert named == {path.name for path in FOLDER.glob("**/*.py")} - {"__init__.py"}


def test_the_readme_names_every_experiment():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert {name for name in experiments() if f"`{name}`" not in text} == set()
