"""The table of anchors of the page of benchmarks is the one that its script prints, and has the stored figures."""

import json
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lab
from gomea_bn import GomeaBnError
from lab.command import read_arguments
from lab.runner.registry import experiments

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "lab" / "anchors.py"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def test_the_page_has_the_table_that_the_script_prints(script: dict[str, Any]) -> None:
    printed = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=True).stdout
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert page.split(script["BEGIN"])[1].split(script["END"])[0].strip() == printed.strip()


def test_every_anchor_says_by_what_when_and_where_it_was_measured(script: dict[str, Any]) -> None:
    anchors = json.loads((SCRIPT.parent / "anchors.json").read_text(encoding="utf-8"))
    assert len({(anchor["measure"], anchor["peer"]) for anchor in anchors}) == len(anchors) > 30
    for anchor in anchors:
        assert all(anchor[name] for name in ("measure", "peer", "command", "date", "machine")), anchor
    rows = script["table"](anchors, ROOT / "results").splitlines()
    assert len(rows) == len(anchors) + 2
    assert {row.count(" | ") for row in rows[2:]} == {
        rows[0].count(" | ")
    }  # a bar in a figure would add a cell


def commands_of(page: str) -> list[list[str]]:
    """Return the arguments of the laboratory in the code of a page; a span may be broken over two lines."""
    spans = re.findall(r"`(python\s+scripts/lab\s[^`]*)`", page)
    code = [*spans, *re.findall(r"(?m)^    (python scripts/lab .*)$", page)]
    return [shlex.split(" ".join(text.split()))[2:] for text in code]


def test_every_command_of_an_anchor_is_an_experiment() -> None:
    for anchor in json.loads((SCRIPT.parent / "anchors.json").read_text(encoding="utf-8")):
        program, script, *arguments = shlex.split(anchor["command"])
        assert (program, script) == ("python", "scripts/lab")
        read_arguments(arguments[0], arguments[1:])


@pytest.mark.parametrize(
    "page",
    [
        ROOT / "README.md",
        SCRIPT.parent / "README.md",
        *(ROOT / "docs").glob("*.md"),
        *(SCRIPT.parent / "studies").glob("*.md"),
    ],
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_every_command_of_a_page_has_its_experiment_and_options(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name, *options in commands_of(text):
        if name not in ("NAME", "list", "all"):
            read_arguments(name, options)
    assert re.findall(r"`[a-z_]+\.py [a-z]", text) == []  # the form of scripts that are gone


def test_the_pages_have_commands_with_options_and_wrong_ones_are_refused() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert {name for name, *options in commands_of(page) if options} > {"chen", "prediction", "scale-learn"}
    assert {name for name, *_ in commands_of(page)} <= {*experiments(), "NAME", "list"}
    for line in ("no-such", "rows-count --row 5", "rows-count --rows many", "shapes-skeletons --laws none"):
        with pytest.raises(GomeaBnError):
            read_arguments(line.split()[0], line.split()[1:])


def test_a_claim_is_read_from_the_stored_results(script: dict[str, Any], tmp_path: Path) -> None:
    claims = [
        {"published number": "KL, 200 rows", "setting": "EF, 10 networks", "ours": ".5", "paper": ".9"},
        {"published number": "KL, 200 rows", "setting": "EW, 10 networks", "ours": ".6", "paper": ".9"},
    ]
    (tmp_path / "table1").mkdir()
    (tmp_path / "table1" / "claims.json").write_text(json.dumps(claims), encoding="utf-8")
    anchor = {"results": "table1", "claim": "KL, 200 rows", "setting": "EW"}
    assert script["figures"](anchor, tmp_path) == (".6", ".9")
    for setting in ("", "BD"):  # two claims, and none
        with pytest.raises(ValueError, match="not 1"):
            script["figures"](anchor | {"setting": setting}, tmp_path)


def test_only_the_text_between_the_markers_is_replaced(script: dict[str, Any]) -> None:
    page = f"before\n{script['BEGIN']}\nold\n{script['END']}\nafter"
    text = script["with_table"](page, "new")
    assert text.startswith("before\n")
    assert text.endswith("\nafter")
    assert "\nnew\n" in text
    assert "old" not in text
    assert script["with_table"](text, "new") == text
    with pytest.raises(ValueError, match="lacks"):
        script["with_table"]("a page without markers", "new")


FOLDER = Path(lab.__file__).parent


def test_the_readme_names_every_module():
    named = set(re.findall(r"`(\w+\.py)`", (FOLDER / "README.md").read_text(encoding="utf-8")))
    assert named == {path.name for path in FOLDER.glob("**/*.py")} - {"__init__.py"}


def test_the_readme_names_every_experiment():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert {name for name in experiments() if f"`{name}`" not in text} == set()
