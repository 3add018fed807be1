"""The commands in docs/commands.md run in their order, and docs/formats.md lists the formats that exist."""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import ok

from gomea_bn import DiscretizedBayesNet
from gomea_bn.network.formats.registry import FORMATS

DOCS = Path(__file__).resolve().parents[2] / "docs"
COMMANDS = (DOCS / "commands.md").read_text(encoding="utf-8")


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


def test_every_command_of_the_page_runs(folder):
    lines = "".join(
        re.findall(r"^```bash\n(.*?)^```$", COMMANDS, flags=re.MULTILINE | re.DOTALL)
    ).splitlines()
    commands = [shlex.split(line)[1:] for line in lines]
    assert {words[0] for words in commands} == {
        "learn", "confidence", "query", "predict", "impute", "discretize", "fit", "certify", "show",
        "most-probable", "explain", "update", "drift", "report", "plot", "test-graph", "cross-validate",
    }  # fmt: skip
    for words in commands:
        result = ok(*words)
        if "-o" in words:
            assert Path(words[words.index("-o") + 1]).is_file()
        else:
            assert result.stdout


def test_the_guide_to_long_runs_runs(folder):
    guide = (DOCS / "long_runs.md").read_text(encoding="utf-8")
    (commands,) = re.findall(r"^```bash\n(.*?)^```$", guide, flags=re.MULTILINE | re.DOTALL)
    for line in commands.splitlines():
        ok(*shlex.split(line)[1:], "--max-evaluations", "400", "--seed", "1", "--quiet")
    (code,) = re.findall(r"^```python\n(.*?)^```$", guide, flags=re.MULTILINE | re.DOTALL)
    exec(code.replace('"ck"', '"ck2"'), {})
    assert Path("ck/checkpoint.gomea").is_file()
    assert Path("ck2/checkpoint.gomea").is_file()


def test_the_guide_to_large_tables_runs(folder):
    guide = (DOCS / "large_tables.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", guide, flags=re.MULTILINE | re.DOTALL)
    exec(code, {})
    blocks = re.findall(r"^```bash\n(.*?)^```$", guide, flags=re.MULTILINE | re.DOTALL)
    lines = [line.split("#")[0] for block in blocks for line in block.splitlines()]
    first, pattern, scheduler, *checkpointed = lines
    assert "--scheduler" in scheduler
    small = ("--max-evaluations", "400", "--seed", "1", "--quiet", "--sample-rows", "1000")
    for line in (first, pattern.replace("rows/year=2024/", "rows/"), *checkpointed):
        ok(*shlex.split(line)[1:], *small)


def test_the_page_lists_the_formats():
    rows = re.findall(
        r"^\| `(\w+)` \| (.*?) \|", (DOCS / "formats.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    assert dict(rows) == {
        name: ", ".join(f"`.{ending}`" for ending in form.endings) for name, form in FORMATS.items()
    }
