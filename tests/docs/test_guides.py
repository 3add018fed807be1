"""What the guides print runs, and what they link to exists."""

import re
import runpy
import shlex
from pathlib import Path

import matplotlib as mpl
import pytest
from command_line import ok
from typer.testing import CliRunner

from gomea_bn import DiscretizedBayesNet
from gomea_bn.cli import app as cli

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
GUIDES = (
    "averaging", "conventions", "cuts", "experiments", "fronts", "gallery", "knowledge", "missing_values", "networks",
    "own_problems", "questions",
)  # fmt: skip
PAGES = {path.name: path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md"))}
WRITTEN = {
    "fronts": {"page.html"},
    "gallery": {"front.png"},
    "networks": {"network.json", "network.bif", "network.dot"},
    "questions": {"equivalence.dot"},
}
LAST_LINES = {"conventions": "True"}


def blocks(page, languages):
    return re.findall(rf"^```({languages})\n(.*?)^```$", PAGES[page], flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def opening():
    """Return the first block of most guides, and what it defines: a table, a learner and its network."""
    text = blocks("networks.md", "python")[0][1]
    names = {}
    exec(text, names)
    return text, {name: names[name] for name in ("frame", "learner", "network", "BayesNetLearner")}


@pytest.mark.parametrize("guide", GUIDES)
def test_the_python_blocks_of_a_guide_run_in_order(guide, opening, tmp_path, monkeypatch, capsys):
    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    shared, names = opening
    code = [text for _, text in blocks(f"{guide}.md", "python")]
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
    sharing = [guide for guide in GUIDES if blocks(f"{guide}.md", "python")[0][1] == opening[0]]
    assert len(sharing) >= len(GUIDES) - 3


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
    assert {"wine.csv", "expert.csv", "knee.json", "wine.html", "front.html"} <= {
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
