"""What the README prints runs, and what it names exists."""

import json
import re
import shlex
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gomea_bn.cli import app as cli

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)


def commands():
    for line in "".join(blocks("bash")).splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["gomea-bn"]:
            yield words[1:]


def test_the_python_block_is_one_call_in_ten_lines(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = blocks("python")
    lines = [line for line in block.splitlines() if line]
    assert len(lines) == 10 - 1
    names = {}
    assert block.count("BayesNetLearner(") == 1
    exec(block.replace("BayesNetLearner(", "BayesNetLearner(max_evaluations=3_000, "), names)
    printed = capsys.readouterr().out
    assert names["network"].summary() in printed
    assert len(names["network"].edges) >= 5
    assert "<html" in Path("page.html").read_text(encoding="utf-8")


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
    assert len(links) >= 30
    assert len(scripts) >= 3
    for target in [*links, *scripts]:
        assert (ROOT / target).is_file(), target


def test_the_page_on_installing_lists_every_extra():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    install = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", install, flags=re.MULTILINE)) == set(
        project["optional-dependencies"]
    )
    named = {name for text in re.findall(r"'\.\[([\w,]+)\]'", TEXT + install) for name in text.split(",")}
    assert {"interop", "parquet", "dev"} <= named <= set(project["optional-dependencies"])


def claims(experiment):
    return json.loads((ROOT / "results" / experiment / "claims.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("sentence", "experiment", "quantity", "setting", "ours", "paper"),
    [
        ("falls to .080 nats with 12,800 rows", "table1", "KL, EF, 12800 rows",
         'default, law "ide-cozman", 10 networks; the clock ended 10', "0.0797 ± 0.103", "0.46 ± 0.17"),
        ("score is 85.58", "linkage", "BDeu, GOMEA against pyAgrum-tabu",
         "alarm, 1000 rows, medians", "85.58", "-29.33 (not of the paper)"),
        ("log density of -25.17", "chen", "log density, auto, coupled",
         "optimal, 5 orders of rows, 10 folds", "-25.17 ± 0.0611", "-25.94"),
        ("edges is 0.978", "fig6", "median accuracy to truth, default, 1600 rows",
         '10 variables, law "ide-cozman"', "oracle 1, knee 0.978, single 1", "front's best above single"),
        ("paper it is 0.844", "fig6", "median accuracy to truth, EF, 1600 rows",
         '10 variables, law "ide-cozman"', "oracle 0.911, knee 0.844, single 0.711", "front's best above single"),
    ],
)  # fmt: skip
def test_every_number_is_that_of_its_experiment(sentence, experiment, quantity, setting, ours, paper):
    assert sentence in " ".join(TEXT.split())
    (claim,) = [
        each
        for each in claims(experiment)
        if (each["published number"], each["setting"]) == (quantity, setting)
    ]
    assert (claim["ours"], claim["paper"]) == (ours, paper)


def test_the_published_numbers_are_the_best_ones():
    published = [
        float(each["paper"].split()[0])
        for each in claims("table1")
        if each["published number"].endswith(", 12800 rows")
    ]
    assert min(published) == 0.46
    assert "methods reached .46 in 24 hours" in " ".join(TEXT.split())
    published = [
        float(each["paper"])
        for each in claims("chen")
        if each["published number"].startswith("log density, auto")
    ]
    assert f"published network has {max(published):.2f}" in " ".join(TEXT.split())


def test_the_verdicts_are_counted():
    counts = Counter(
        each["verdict"] for path in ROOT.glob("results/*/claims.json") for each in claims(path.parent.name)
    )
    text = " ".join(TEXT.split())
    assert f"Of {counts.total()} comparisons" in text
    assert (
        f"{counts['reproduced']} are reproduced, {counts['beaten']} beaten, {counts['even']} even, "
        f"{counts['behind']} behind, {counts['not reproduced']} not reproduced, {counts['undecided']} undecided "
        f"and {counts['not run']} not run"
    ) in text


def test_the_page_is_short():
    assert len(TEXT.splitlines()) <= 160
