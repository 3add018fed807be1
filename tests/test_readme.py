"""What the README prints runs, and what it names exists."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gomea_bn.cli import app as cli

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)


def commands():
    for line in "".join(blocks("bash")).splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["gomea-bn"]:
            yield words[1:]


def test_the_first_python_block_is_the_call_in_six_lines(capsys):
    block = blocks("python")[0]
    assert len(block.strip().splitlines()) == 6
    assert "BayesNetLearner(" in block
    assert ".fit(frame)" in block
    names = {}
    exec(block, names)
    assert names["learner"].network_.summary() in capsys.readouterr().out
    assert len(names["learner"].network_.edges) >= 5


def test_all_python_blocks_run_in_order(tmp_path):
    (tmp_path / "readme.py").write_text("\n".join(blocks("python")), encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "readme.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert "True [12. 13.]" in lines  # the required edge and the fixed cuts
    assert lines[-1] == "True"  # the run that is repeated
    assert [line for line in lines if line in ("[-20.]", "[-66.]")] == [
        "[-20.]",
        "[-66.]",
        "[-20.]",
        "[-20.]",
    ]
    written = {path.name for path in tmp_path.iterdir()} - {"readme.py", "__pycache__"}
    assert written == {
        "network.json",
        "network.bif",
        "network.dot",
        "equivalence.dot",
        "averaged.json",
        "page.html",
        "front.png",
    }


def test_the_first_screen_has_the_two_commands_before_the_call():
    first_screen = TEXT[: TEXT.index("```python")]
    assert first_screen.index("make demo") < first_screen.index("make test")
    assert len(first_screen.splitlines()) < 25
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"make ([\w-]+) ", first_screen)
    assert {"demo", "test"} <= set(targets)
    for target in targets:
        assert f"\n{target}:" in makefile


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_every_command_and_option_exists(words):
    result = CliRunner().invoke(cli.main, [words[0], "--help"])
    assert result.exit_code == 0
    for option in [word for word in words[1:] if word.startswith("--")]:
        assert option in result.stdout


def test_every_linked_file_exists():
    links, scripts = re.findall(r"\]\(([^)#]+)\)", TEXT), re.findall(r"scripts/\w+\.py", TEXT)
    assert len(links) >= 5
    assert len(scripts) >= 3
    for target in [*links, *scripts]:
        assert (ROOT / target).is_file(), target


def test_every_extra_that_is_named_exists():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras = re.findall(r"'\.\[(\w+)\]'", TEXT)
    assert {"interop", "parquet", "dev"} <= set(extras)
    for extra in extras:
        assert f"\n{extra} = [" in project
