"""No command replaces a file that it reads: it exits with code 2 and leaves every file as it was."""

import json
import os
from pathlib import Path

import pytest
from front_examples import contents, example_front, small_frame
from typer.testing import CliRunner

from gomea_bn import DiscretizedBayesNet, read_table, write_front
from gomea_bn.cli import main
from gomea_bn.front.decision import Decision


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the working folder: a table, cuts, tiers, an expert, a front, a run, a decision, and links to them."""
    monkeypatch.chdir(tmp_path)
    frame = small_frame()
    frame.to_csv("rows.csv", index=False)
    network = DiscretizedBayesNet.from_table(
        read_table(frame), [("a", "b")], {"a": [0.0], "b": [0.1], "c": []}
    )
    Path("run").mkdir()
    network.to_json("run/network.json")
    cuts = '{"format": "gomea-bn cut points", "format_version": 1, "cut_points": {"a": [0.0]}}'
    Path("run/network.dot").write_text(cuts)
    Path("run/run.json").write_text("a\nb,c\n")
    front = example_front(5)
    write_front("front", front, networks=2)
    Path("decision.json").write_text(Decision(front.run_hash, 1, "2026-11-05T14:30:00Z").to_json())
    Path("link.json").symlink_to("decision.json")
    Path("linked").symlink_to("front", target_is_directory=True)
    os.link("rows.csv", "same.csv")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "option", "target", "source"),
    [
        ("learn rows.csv --cut-points run/network.dot --out run", "--out", "run/network.dot", "--cut-points"),
        ("learn rows.csv --tiers run/run.json --out ./run", "--out", "run/run.json", "--tiers"),
        ("learn run/run.json --out run", "--out", "run/run.json", "DATA"),
        ("front rows.csv --expert front/networks/0001.json --out front", "--out", "front/networks", "--expert"),
        ("front rows.csv --expert front/expert_completed.json --out linked", "--out", "linked", "--expert"),
        ("front rows.csv --tiers front/front.csv --out front", "--out", "front/front.csv", "--tiers"),
        ("discretize rows.csv --method mdl -o rows.csv", "--out", "rows.csv", "DATA"),
        ("discretize rows.csv --method mdl --codes same.csv", "--codes", "same.csv", "DATA"),
        (
            "discretize rows.csv --method mdl --network run/network.json -o run/../run/network.json",
            "--out",
            "network.json",
            "--network",
        ),
        ("refine run/network.json rows.csv --out run/network.json", "--out", "run/network.json", "NETWORK"),
        ("refine run/network.json rows.csv --out same.csv", "--out", "same.csv", "DATA"),
        ("review front -o front/front.json", "--out", "front/front.json", "NETWORK"),
        ("review front -o front/networks/0001.dot", "--out", "0001.dot", "NETWORK"),
        ("review run -o run/network.json", "--out", "run/network.json", "NETWORK"),
        ("export front --network 1 -o front/front.json", "--out", "front/front.json", "NETWORK"),
        ("export linked -o front/front.csv", "--out", "front/front.csv", "NETWORK"),
        ("export run -o run/network.json", "--out", "run/network.json", "NETWORK"),
        ("accept front decision.json -o decision.json", "--out", "decision.json", "DECISION"),
        ("accept front decision.json -o link.json", "--out", "link.json", "DECISION"),
        ("accept front decision.json -o front/expert_completed.json", "--out", "completed.json", "FOLDER"),
        ("fit run/network.json rows.csv -o run/network.json", "--out", "run/network.json", "GRAPH"),
        (
            "fit run/network.json rows.csv -o run/run.json --cut-points run/run.json",
            "--out",
            "run/run.json",
            "--cut-points",
        ),
        ("impute run rows.csv -o same.csv", "--out", "same.csv", "DATA"),
    ],
)  # fmt: skip
def test_what_a_command_reads_stays(folder, command, option, target, source):
    if command.startswith(("review run", "impute run")):
        Path("run/run.json").unlink()
    before = contents(folder)
    result = CliRunner().invoke(main, command.split())
    assert result.exit_code == 2, result.stderr
    error = result.stderr.splitlines()[-1]
    assert error.startswith(f"Error: {option}: cannot write '")
    assert target in error
    assert f"since it is an input ({source}) and would be lost" in error
    assert contents(folder) == before


def test_the_table_of_a_review_stays_whether_named_or_recorded(folder):
    arguments = ["learn", "rows.csv", "--out", "learned", "--max-evaluations", "50", "--quiet"]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    before = Path("rows.csv").read_bytes()
    for extra, source in (([], "the table of NETWORK"), (["--data", "same.csv"], "--data")):
        result = CliRunner().invoke(main, ["review", "learned", "-o", "rows.csv", *extra])
        assert result.exit_code == 2
        assert f"--out: cannot write 'rows.csv', since it is an input ({source})" in result.stderr
    assert Path("rows.csv").read_bytes() == before


@pytest.mark.parametrize(
    "command",
    [
        "export {} --to csv -o table.csv",
        "export {}#0 --to json -o table.csv",
        "impute {}#0 rows.csv -o table.csv",
        "drift {}#0 rows.csv -o table.csv",
        "refine {}#0 rows.csv --out table.csv",
        "update {}#0 rows.csv -o table.csv",
        "show {}#0 -o table.csv",
        "review {}#0 -o table.csv",
        "discretize rows.csv --method equal-width --network {}#0 -o table.csv",
        "fit {}#0 rows.csv -o table.csv",
    ],
)
@pytest.mark.parametrize("searched", ["learn", "front"])
def test_the_table_of_a_run_or_front_is_no_target(folder, searched, command):
    Path("table.csv").write_bytes(Path("rows.csv").read_bytes())
    arguments = [searched, "table.csv", "--out", "out", "--max-evaluations", "50", "--quiet"]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    before = contents(folder)
    # a run has no numbers of networks
    command = command.format("out") if searched == "front" else command.format("out").replace("#0", "")
    result = CliRunner().invoke(main, command.split())
    assert result.exit_code == 2, result.stderr
    assert "--out: cannot write 'table.csv', since it is an input (the table of " in result.stderr
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("searched", "file"), [("learn", "out/network.json"), ("front", "out/networks/0000.json")]
)
def test_the_table_behind_a_file_of_a_run_or_front_is_no_target(folder, searched, file):
    Path("table.csv").write_bytes(Path("rows.csv").read_bytes())
    more = ["--networks", "1"] if searched == "front" else []
    arguments = [searched, "table.csv", "--out", "out", "--max-evaluations", "50", "--quiet", *more]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    before = contents(folder)
    result = CliRunner().invoke(main, ["impute", file, "rows.csv", "-o", "table.csv"])
    assert result.exit_code == 2, result.stderr
    assert "cannot write 'table.csv', since it is an input (the table of NETWORK)" in result.stderr
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("command", "endings"),
    [
        ("export run --to bif -o rows.txt", ".bif"),
        ("export run --to dot -o rows.json", ".dot or .gv"),
        ("export front --to csv -o rows.json", ".csv"),
        ("update run rows.csv -o model.bif", ".json"),
        ("refine run rows.csv --out model.bif", ".json"),
        ("drift run rows.csv -o drift.json", ".csv"),
        ("cross-validate rows.csv -o table.parquet", ".csv"),
        ("impute run rows.csv -o table.json", ".csv or .parquet"),
        ("discretize rows.csv --method equal-width -o cuts.csv", ".json"),
        ("discretize rows.csv --method equal-width --codes codes.json", ".csv"),
        ("review front -o page.pdf", ".html"),
        ("study rows.csv -o page.txt", ".html or .pdf"),
        ("show run -o page.html", ".png, .svg or .pdf"),
    ],
)
def test_the_ending_of_a_file_is_that_of_its_format(folder, command, endings):
    Path("run/run.json").unlink()
    before = contents(folder)
    result = CliRunner().invoke(main, command.split())
    assert result.exit_code == 2, result.stderr
    assert f"must end in {endings}." in result.stderr
    assert contents(folder) == before


def test_two_results_need_two_files(folder):
    Path("link.csv").symlink_to("codes.csv")
    arguments = ["discretize", "rows.csv", "--method", "mdl", "-o", "codes.csv", "--codes", "link.csv"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "--out and --codes must be two files, got 'link.csv' twice." in result.stderr
    assert not Path("codes.csv").exists()


def test_other_files_in_the_same_folder_are_written(folder):
    for command in (
        "review front",
        "export front --network 1 -o front/mine.json",
        "accept front decision.json -o front/model.json",
        "refine run/network.json rows.csv --out run/refined.json",
        "discretize rows.csv --method equal-width -o cuts.json --codes codes.csv",
    ):
        result = CliRunner().invoke(main, command.split())
        assert result.exit_code == 0, result.stderr
    for name in ("front/review.html", "front/mine.json", "front/model.json", "run/refined.json", "codes.csv"):
        assert Path(name).is_file()


def test_a_record_that_names_no_possible_file_stops_no_command(folder):
    Path("other").mkdir()
    DiscretizedBayesNet.from_json("run/network.json").to_json("other/network.json")
    record = {"format": "gomea-bn run", "format_version": 1, "data": {"path": "ro\0ws.csv"}}
    Path("other/run.json").write_text(json.dumps(record))
    result = CliRunner().invoke(main, ["refine", "other/network.json", "rows.csv", "-o", "refined.json"])
    assert result.exit_code == 0, result.stderr
    assert Path("refined.json").exists()
