"""The command `show` prints a saved network and says which files hold none."""

import pytest
from command_line import invoke, ok, refused, refused_last

from gomea_bn import DiscretizedBayesNet, cut_gains

EDGES = [("a", "b"), ("b", "c")]
CUTS = {"a": [0.0], "b": [-0.5, 0.5]}


def test_show_prints_a_saved_network(table, tmp_path):
    ok("learn", table, "--max-evaluations", 2000, "--seed", 1, "--out", tmp_path / "run")
    result = ok("show", tmp_path / "run" / "network.json")
    network = DiscretizedBayesNet.from_json(tmp_path / "run" / "network.json")
    assert result.stdout.startswith(network.summary())
    assert "Score (density-bd)" in result.stdout
    scored = invoke("show", tmp_path / "run" / "network.json", "--data", table)
    assert scored.stdout.startswith(network.summary(cut_gains(network, table)))
    assert "nats gained by" in scored.stdout
    assert "none.csv" in refused_last(
        3, "show", tmp_path / "run" / "network.json", "--data", tmp_path / "none.csv"
    )
    assert "is not a network" in refused(3, "show", tmp_path / "run" / "run.json")
    assert invoke("show", tmp_path / "none.json").exit_code == 3


@pytest.mark.long
def test_commands_answer_for_rows_with_missing_cells(rows, tmp_path):
    gaps = tmp_path / "gaps.csv"
    rows.assign(b=rows["b"].where(rows["c"].index % 3 > 0)).to_csv(gaps, index=False)
    out = tmp_path / "run"
    ok("learn", gaps, "--max-evaluations", 500, "--seed", 1, "--out", out)
    network = DiscretizedBayesNet.from_json(out / "network.json")
    shown = ok("show", out, "--data", gaps).stdout
    assert "nats gained by" in shown
    assert shown.startswith(network.summary(cut_gains(network, gaps)))
    assert "missing values" in (ok("review", out), (out / "review.html").read_text())[1]
    parent, child = next(edge for edge in network.edges if "b" in edge)
    assert "each left out in turn" in ok("show", out, "--data", gaps, "--why", parent, child).stdout
    ok("refine", out / "network.json", gaps, "-o", tmp_path / "refined.json")
    by_mdl = invoke("refine", out / "network.json", gaps, "-o", tmp_path / "r.json", "--method", "mdl")
    assert by_mdl.exit_code == 2
    assert by_mdl.stderr.endswith("Fill them, or give --method dp.\n")


def test_show_takes_folders_and_files_of_other_programs(rows, tmp_path):
    network = DiscretizedBayesNet.from_table(rows, EDGES, CUTS)
    (tmp_path / "run").mkdir()
    network.to_json(tmp_path / "run" / "network.json")
    assert ok("show", tmp_path / "run").stdout == network.summary() + "\n"
    network.export(tmp_path / "net.xdsl")
    assert ok("show", tmp_path / "net.xdsl").stdout == network.summary() + "\n"
    assert "holds neither front.json nor network.json" in refused(3, "show", tmp_path)


def test_show_answers_questions_about_the_graph(rows, table, tmp_path):
    network = DiscretizedBayesNet.from_table(rows, EDGES, CUTS)
    network.to_json(tmp_path / "net.json")
    show = ("show", tmp_path / "net.json")
    relatives = (
        "--parents", "b", "--children", "b", "--ancestors", "c", "--descendants", "d", "--markov-blanket",
        "b",
    )  # fmt: skip
    assert ok(*show, *relatives).stdout.splitlines() == [
        "Parents of b: a", "Children of b: c", "Ancestors of c: a, b", "Descendants of d: none",
        "Markov blanket of b: a, c",
    ]  # fmt: skip
    assert "a and c are d-separated given b" in ok(*show, "--d-separated", "a", "c", "--given", "b").stdout
    assert "a and c are not d-separated:" in ok(*show, "--d-separated", "a", "c").stdout
    why = ok(*show, "--why", "a", "b", "--data", table).stdout
    assert why == str(network.why(("a", "b"), rows)) + "\n"
    assert ok(*show, "--reversible").stdout == str(network.cpdag()) + "\n"
    assert "Unknown variable 'z'" in refused(2, *show, "--parents", "z")
    assert "It has the reverse" in refused(2, *show, "--why", "b", "a")
    assert "--given is for --d-separated" in refused(2, *show, "--given", "b")
