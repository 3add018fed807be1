"""The README of the benchmarks names every module of their folder."""

import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "scripts" / "benchmarks"


def test_the_readme_names_every_module():
    named = re.findall(r"`(\w+\.py)`(?=[,| ])", (FOLDER / "README.md").read_text(encoding="utf-8"))
    modules = {path.name for path in FOLDER.glob("*.py")}
    runnable = {name for name in modules if "__main__" in (FOLDER / name).read_text(encoding="utf-8")}
    assert modules <= set(named)
    assert set(named) <= modules
    in_first_table = (FOLDER / "README.md").read_text(encoding="utf-8").split("The other modules")[0]
    # libraries run these two in processes of their own
    assert runnable - {"peers.py", "cuts_elsewhere.py"} == set(
        re.findall(r"`(\w+\.py)`(?=[,| ])", in_first_table)
    )
