"""Learn a graph by `gomea-bn learn` from a table of Benchpress, and write it as Benchpress reads it.

The search ends by itself at the timeout, with the best graph so far. Snakemake puts lines before this file, so that it
cannot import from `__future__`.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import pandas as pd

from gomea_bn import DiscretizedBayesNet


def learn(job: Any) -> None:
    """Run a job of Snakemake: input data, output adjmat, time and ntests, and wildcards, which are texts."""
    began = perf_counter()
    wildcards = job.wildcards
    # a discrete table has the numbers of levels below the names
    frame = pd.read_csv(job.input["data"], skiprows=[1] if wildcards["datatype"] == "discrete" else None)
    options = ["--seed", wildcards["seed"], "--jobs", "1", "--header", "first-line", "--quiet"]
    if wildcards["timeout"] != "None":
        options += ["--max-seconds", wildcards["timeout"]]
    if wildcards["scoring_method"] != "None":
        options += ["--scoring-method", wildcards["scoring_method"]]
    for name in frame:
        options += ["--kind", f"{name}={wildcards['datatype']}"]
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder, "data.csv"), Path(folder, "run")
        frame.to_csv(data, index=False)
        command = [sys.executable, "-m", "gomea_bn", "learn", str(data), "--out", str(out), *options]
        subprocess.run(command, check=True)
        edges = DiscretizedBayesNet.from_file(out / "network.json").edges
    graph = pd.DataFrame(0, index=frame.columns, columns=frame.columns)
    for parent, child in edges:
        graph.loc[parent, child] = 1
    graph.to_csv(job.output["adjmat"], index=False)
    Path(job.output["time"]).write_text(str(perf_counter() - began), encoding="utf-8")
    Path(job.output["ntests"]).write_text("None", encoding="utf-8")


# a name that the lines of Snakemake define
learn(globals()["snakemake"])
