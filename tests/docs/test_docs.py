"""The pages in docs: what they print runs in its order, and what they link to and list exists."""

import json
import re
import runpy
import shlex
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from command_line import ok
from typer.testing import CliRunner

from gomea_bn import DiscretizedBayesNet
from gomea_bn.cli import app as cli
from gomea_bn.network.formats.registry import FORMATS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = {path.name: path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md"))}


def blocks(page, languages):
    """Return the languages and the texts of the blocks of a page."""
    return re.findall(rf"^```({languages})\n(.*?)^```$", PAGES[page], flags=re.MULTILINE | re.DOTALL)


def code_of(page):
    """Return the texts of the blocks in Python."""
    return [text for _, text in blocks(page, "python")]


def lines_of(page):
    """Return the lines of the blocks of commands."""
    return "".join(text for _, text in blocks(page, "bash")).splitlines()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the working folder with the table, the edges and the run that the page speaks of."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    age = rng.uniform(20, 80, 200).round(1)
    smoker = rng.random(200) < 0.4
    cough = rng.random(200) < 0.1 + 0.4 * smoker + age / 400
    frame = pd.DataFrame({"age": age, "smoker": smoker, "cough": cough}).replace({True: "yes", False: "no"})
    frame["age"] = age
    network = DiscretizedBayesNet.from_table(
        frame, [("smoker", "cough"), ("age", "cough")], {"age": [40.0, 60.0]}
    )
    Path("out/run").mkdir(parents=True)
    network.to_json("out/run/network.json")
    frame.insert(0, "id", [f"p{row}" for row in range(200)])
    frame.to_csv("data.csv", index=False)
    frame.sample(frac=0.5, random_state=1).to_csv("new.csv", index=False)
    Path("edges.csv").write_text("parent,child\nage,cough\nsmoker,cough\n")
    return tmp_path


@pytest.mark.long
def test_every_command_of_the_page_runs(folder):
    commands = [shlex.split(line)[1:] for line in lines_of("commands.md")]
    assert {words[0] for words in commands} == {
        "learn", "confidence", "query", "predict", "impute", "discretize", "fit", "effect", "show", "explain",
        "update", "drift", "study", "test-graph", "cross-validate", "check",
    }  # fmt: skip
    for words in commands:
        result = ok(*words)
        if "-o" in words:
            assert Path(words[words.index("-o") + 1]).is_file()
        else:
            assert result.stdout


@pytest.mark.long
def test_the_guide_to_long_runs_runs(folder):
    for line in lines_of("long_runs.md"):
        ok(*shlex.split(line)[1:], "--max-evaluations", "400", "--seed", "1", "--quiet")
    (code,) = code_of("long_runs.md")
    exec(code.replace('"ck"', '"ck2"'), {})
    assert Path("ck/checkpoint.gomea").is_file()
    assert Path("ck2/checkpoint.gomea").is_file()


@pytest.mark.long
def test_the_guide_to_large_tables_runs(folder):
    (code,) = code_of("large_tables.md")
    exec(code, {})
    lines = [line.split("#")[0] for line in lines_of("large_tables.md")]
    first, pattern, columns, form, scheduler, *checkpointed = lines
    assert "--form" in form
    assert "--scheduler" in scheduler
    small = ("--max-evaluations", "400", "--seed", "1", "--quiet", "--sample-rows", "1000")
    for line in (first, pattern.replace("rows/year=2024/", "rows/"), columns, *checkpointed):
        ok(*shlex.split(line)[1:], *small)


def test_the_page_lists_the_formats():
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", PAGES["formats.md"], flags=re.MULTILINE)
    assert dict(rows) == {name: f"`.{name}`" for name in FORMATS}


GUIDES = (
    "averaging", "conventions", "cuts", "experiments", "fronts", "gallery", "knowledge", "missing_values", "networks",
    "own_problems", "questions",
)  # fmt: skip
WRITTEN = {
    "fronts": {"page.html"},
    "gallery": {"front.png"},
    "networks": {"network.json", "network.bif", "network.dot"},
    "questions": {"equivalence.dot"},
}
LAST_LINES = {"conventions": "True"}


@pytest.fixture(scope="module")
def opening():
    """Return the first block of most guides, and what it defines: a table, a learner and its network."""
    text = code_of("networks.md")[0]
    names = {}
    exec(text, names)
    return text, {name: names[name] for name in ("frame", "learner", "network", "BayesNetLearner")}


@pytest.mark.sample(1)
@pytest.mark.parametrize("guide", GUIDES)
def test_the_python_blocks_of_a_guide_run_in_order(guide, opening, tmp_path, monkeypatch, capsys):
    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    shared, names = opening
    code = code_of(f"{guide}.md")
    is_shared = code[0] == shared
    # a limit of evaluations ends the searches of a guide sooner than its clock
    text = "\n".join(code[is_shared:]).replace("max_seconds=5", "max_evaluations=3_000")
    script = tmp_path / f"guide_{guide}.py"
    script.write_text(text, encoding="utf-8")
    runpy.run_path(str(script), init_globals=dict(names) if is_shared else {})
    if guide in LAST_LINES:
        assert capsys.readouterr().out.splitlines()[-1] == LAST_LINES[guide]
    written = {path.name for path in tmp_path.iterdir()} - {script.name, "__pycache__"}
    assert written == WRITTEN.get(guide, set())


def test_most_guides_share_their_opening(opening):
    sharing = [guide for guide in GUIDES if code_of(f"{guide}.md")[0] == opening[0]]
    assert len(sharing) >= len(GUIDES) - 3


@pytest.mark.long
def test_the_first_network_from_table_to_decision(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for language, text in blocks("first_network.md", "python|bash"):
        if language == "python":
            exec(text, names)
            continue
        for line in command_lines(text):
            words = shlex.split(line)[1:]
            if "--max-seconds" in words:
                at = words.index("--max-seconds")
                words[at : at + 2] = ["--max-evaluations", "2000", "--quiet"]
            ok(*words)
    assert {"wine.csv", "expert.csv", "recommended.json", "wine.html", "front.html"} <= {
        path.name for path in tmp_path.iterdir()
    }
    informed = DiscretizedBayesNet.from_json("out/informed/network.json").edges
    assert ("cultivar", "flavanoids") in informed
    assert "cultivar" not in {child for _, child in informed}


def command_lines(text):
    return text.replace("\\\n", " ").splitlines()


def commands():
    for page in PAGES:
        for _, text in blocks(page, "bash|console"):
            for line in command_lines(text):
                words = shlex.split(line, comments=True)
                if words[:1] == ["gomea-bn"]:
                    yield page, words[1:]


def test_every_command_and_option_of_the_guides_exists():
    helps = {}
    for page, words in commands():
        if words[0] not in helps:
            result = CliRunner().invoke(cli.main, [words[0], "--help-all"])
            if result.exit_code != 0:  # commands of few options have no other help
                result = CliRunner().invoke(cli.main, [words[0], "--help"])
            assert result.exit_code == 0, (page, words)
            helps[words[0]] = result.stdout
        for option in [word.split("=")[0] for word in words[1:] if word.startswith("--")]:
            assert option in helps[words[0]], (page, words)
    assert len(helps) >= 12


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["notebook", "questions", "own_problem"])
def test_the_cells_run_and_show_what_the_notebook_keeps(name):
    notebook = json.loads((DOCS / f"{name}.ipynb").read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    n_shown = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        *lines, last = "".join(cell["source"]).rstrip().splitlines()
        exec("\n".join(lines), names)
        value = eval(last, names)
        (output,) = cell["outputs"]
        by_kind = {kind: "".join(text) for kind, text in output["data"].items()}
        if "text/plain" in by_kind:
            # long texts are shortened
            assert repr(value).startswith(by_kind["text/plain"].removesuffix("..."))
        if "text/html" in by_kind:
            assert value._repr_html_().count("<rect") == by_kind["text/html"].count("<rect")
        n_shown += 1
    assert n_shown >= 3


@pytest.mark.long
def test_the_blocks_about_predictions_run_in_order(capsys):
    names: dict[str, Any] = {}
    for block in code_of("prediction.md"):
        # a limit of evaluations ends the searches sooner than the clock
        exec(block.replace("max_seconds=10", "max_seconds=None, max_evaluations=500"), names)
    printed = capsys.readouterr().out
    assert "5%" in printed
    assert re.search(r"age +int64", printed)
    assert re.search(r"visit +datetime64", printed)
    assert names["classifier"].score(*names["load_iris"](return_X_y=True, as_frame=True)) > 0.9
    assert not names["regressor"].network_.children("target")
