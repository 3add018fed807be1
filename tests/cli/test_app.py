"""The command as a whole: its help, its former launchers, and the demonstration."""

import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import QUICK, RUN_FILES, invoke, learn, ok, refused

import gomea_bn
from gomea_bn import DiscretizedBayesNet, read_table
from gomea_bn.metrics.distances import histogram_baseline


def test_no_command_shows_the_help_and_a_wrong_one_is_refused():
    assert "learn" in invoke().stdout
    assert invoke("--version").stdout == f"gomea-bn {gomea_bn.__version__}\n"
    assert "lern" in refused(2, "lern")


def test_the_launcher_is_the_same_command(table, capsys):
    script = runpy.run_path(str(Path(__file__).resolve().parents[2] / "scripts" / "run_so.py"))
    with pytest.raises(SystemExit) as ended:
        script["main"]([str(table), *QUICK, "--quiet"])
    assert ended.value.code == 0
    printed, errors = capsys.readouterr()
    assert errors == ""
    same = [line for line in learn(table, *QUICK, "--quiet").stdout.splitlines() if "Stopped" not in line]
    assert [line for line in printed.splitlines() if "Stopped" not in line] == same


def test_the_demo_says_what_the_network_is_worth(tmp_path, capsys):
    demo = runpy.run_path(str(Path(__file__).resolve().parents[2] / "scripts" / "demo_wine.py"))
    demo["main"](["--out", str(tmp_path / "wine"), "--seconds", "0.3"])
    printed = capsys.readouterr().out
    assert {path.name for path in (tmp_path / "wine").iterdir()} == RUN_FILES - {"run.json"}
    network = DiscretizedBayesNet.from_json(tmp_path / "wine" / "network.json")
    frame = demo["wine"]()
    rows = np.arange(len(frame)) % 5 == 4
    assert f"{network.score(frame[rows]):.2f} ±" in printed
    histograms = histogram_baseline(read_table(frame[~rows]), 10)
    assert f"{histograms.score(frame[rows]):.2f} ±" in printed
    assert network.score(frame[rows]) > histograms.score(frame[rows])
    with pytest.raises(SystemExit) as ended:
        demo["main"](["--seconds", "-1", "--out", str(tmp_path)])
    assert ended.value.code == 2


@pytest.mark.parametrize("command", ["learn", "front", "discretize"])
def test_a_command_reads_its_table_once(table, monkeypatch, command):
    read, real = [], pd.read_csv

    def counting(path, **options):
        read.append(options.get("nrows"))
        return real(path, **options)

    monkeypatch.setattr(pd, "read_csv", counting)
    arguments = ["--method", "mdl"] if command == "discretize" else ["--max-evaluations", "100"]
    ok(command, table, *arguments, "--quiet")
    assert read == [200, None]  # first lines, then the rows
