"""The README of the benchmarks names every module of their folder."""

import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "scripts" / "benchmarks"


def test_the_readme_names_every_module():
    commands, packages = (FOLDER / "README.md").read_text(encoding="utf-8").split("The packages:")
    assert named_modules(commands) == {path.name for path in FOLDER.glob("*.py")}
    shared = {path.name for path in FOLDER.glob("*/*.py")}
    assert shared <= named_modules(packages)
    assert named_modules(packages) <= shared | {"shapes.py", "optimal.py"}


def test_every_module_outside_of_the_packages_is_a_command():
    assert [
        path.name for path in FOLDER.glob("*.py") if "__main__" not in path.read_text(encoding="utf-8")
    ] == []


def named_modules(text):
    return set(re.findall(r"`(\w+\.py)`(?=[,| ])", text))
