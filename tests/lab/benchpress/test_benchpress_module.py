"""The module for Benchpress: its rule with the names of a workflow, its schema, and the script that the rule runs."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import lab

MODULE = Path(lab.__file__).parent / "benchpress" / "gomea_bn"
SCHEMA = json.loads((MODULE / "schema.json").read_text(encoding="utf-8"))


def rendered_rule(item):
    """Return what the rule asks for, with the pattern that Benchpress makes of the options of an item."""
    pattern = "/".join(f"{name}={{{name}}}" for name in item if name != "id")
    folders = {
        "alg_output_adjmat_path": "adjmat",
        "alg_output_time_path": "time",
        "alg_output_ntests_path": "ntests",
    }
    text = (MODULE / "rule.smk").read_text(encoding="utf-8").replace("alg_input_data()", "data.csv")
    for function, folder in folders.items():
        text = text.replace(f"{function}(module_name)", f"{folder}/{pattern}/seed={{seed}}")
    return dict(re.findall(r"(\w+) = ([^,\n]+)", text)), re.search(r'script:\s+"([^"]+)"', text)[1]


def run_script(tmp_path, frame, **wildcards):
    """Run the script of the rule as Snakemake does: as a text below lines of its own."""
    item = {**SCHEMA["items"]["examples"][0], **wildcards, "seed": 1}
    files, script = rendered_rule(SCHEMA["items"]["examples"][0])
    paths = {name: tmp_path / re.sub(r"\W+", "-", path.format(**item)) for name, path in files.items()}
    frame.to_csv(paths["data"], index=False)
    job = SimpleNamespace(
        input={"data": str(paths["data"])},
        output={name: str(path) for name, path in paths.items() if name != "data"},
        wildcards={name: str(value) for name, value in item.items()},
    )
    source = "lines_of_snakemake = True\n" + (MODULE / script).read_text(encoding="utf-8")
    exec(compile(source, script, "exec"), {"snakemake": job, "__name__": "__main__"})
    return {name: path.read_text(encoding="utf-8") for name, path in paths.items()}, paths["adjmat"]


def test_the_rule_has_the_paths_of_every_option():
    item = SCHEMA["items"]["examples"][0]
    assert set(item) == set(SCHEMA["items"]["required"]) == set(SCHEMA["items"]["properties"])
    files, script = rendered_rule(item)
    pattern = "datatype={datatype}/scoring_method={scoring_method}/timeout={timeout}/seed={seed}"
    assert files == {
        "data": "data.csv",
        **{name: f"{name}/{pattern}" for name in ("adjmat", "time", "ntests")},
    }
    assert (MODULE / script).is_file()


@pytest.mark.long
@pytest.mark.parametrize("datatype", ["continuous", "discrete"])
def test_the_script_writes_the_graph_and_the_seconds(tmp_path, datatype):
    generator = np.random.default_rng(0)
    causes = generator.normal(size=(400, 2))
    effect = causes.sum(axis=1) + 0.3 * generator.normal(size=400)
    frame = pd.DataFrame(
        {"3": causes[:, 0], "effect": effect, "1": causes[:, 1], "alone": generator.random(400)}
    )
    if datatype == "discrete":
        frame = frame.rank(pct=True).mul(2.999).astype(int)
        frame = pd.concat([pd.DataFrame({name: [3] for name in frame}), frame])
    texts, path = run_script(tmp_path, frame, datatype=datatype, timeout=60)
    graph = pd.read_csv(path)
    assert list(graph) == list(frame)
    # the only v-structure
    assert graph.to_numpy().tolist() == [[0, 1, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert float(texts["time"]) > 0.0
    assert texts["ntests"] == "None"


@pytest.mark.long
def test_an_option_of_the_item_reaches_the_command(tmp_path, capfd):
    with pytest.raises(Exception, match="exit status 2"):
        run_script(tmp_path, pd.DataFrame({"a": [0.1, 0.2], "b": [0.5, 0.1]}), scoring_method="unknown")
    assert "unknown" in capfd.readouterr().err
