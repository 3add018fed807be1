"""The commands around a front: what they print, write and refuse."""

import gzip
import io
import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from averaged_examples import tables_of
from command_line import ok, refused, refused_last
from front_examples import example_front, small_frame
from review_examples import page_data

from gomea_bn import DiscretizedBayesNet, GomeaBnError, certainty, compare, read_front, write_front
from gomea_bn.cli.named_networks import candidate, named_network
from gomea_bn.front.decision import Decision
from gomea_bn.network.conditionals import Conditionals
from gomea_bn.texts import counted

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"


@pytest.fixture(scope="module")
def front():
    return example_front(20)


@pytest.fixture(scope="module")
def folder(front, tmp_path_factory):
    path = tmp_path_factory.mktemp("fronts") / "front"
    write_front(path, front, networks=4)
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return the folder of a run of `learn`, and its table next to it."""
    path = tmp_path_factory.mktemp("runs")
    small_frame().to_csv(path / "rows.csv", index=False)
    arguments = ["--max-evaluations", "500", "--seed", "1", "--quiet", "--max-levels", "7"]
    ok("learn", path / "rows.csv", "--out", path / "run", *arguments)
    return path / "run"


@pytest.mark.sample(3)
@pytest.mark.parametrize("ending", ["json", "bif", "dot", "xdsl"])
def test_export_takes_one_network_out(front, folder, run, tmp_path, ending):
    texts = {n: getattr(front[n].network, f"to_{ending}")() for n in range(20)}
    assert ok("export", folder, "--network", 12, "--to", ending).stdout == texts[12]
    target = tmp_path / f"one.{ending}"
    assert ok("export", folder, "--network", 19, "-o", target).stderr == f"Wrote {target}.\n"
    assert target.read_text() == texts[19]
    for which, chosen in {
        "knee": front.knee(),
        "closest": front.closest_to_expert(),
        "complexity": front.best("complexity"),
    }.items():
        assert ok("export", folder, "--network", which, "--to", ending.upper()).stdout == texts[chosen.index]
    only = DiscretizedBayesNet.from_json(run / "network.json")
    assert ok("export", run, "--to", ending).stdout == getattr(only, f"to_{ending}")()


def test_export_marks_reversible_edges_in_dot(front, folder, run):
    knee = front.knee().network
    assert ok("export", folder, "--network", "knee", "--to", "dot", "--cpdag").stdout == knee.to_dot(
        cpdag=True
    )
    assert knee.to_dot(cpdag=True) != knee.to_dot()
    only = DiscretizedBayesNet.from_json(run / "network.json")
    assert ok("export", run, "--to", "dot", "--cpdag").stdout == only.to_dot(cpdag=True)
    assert "--cpdag is for --to dot, got bif" in refused(2, "export", run, "--to", "bif", "--cpdag")


def test_export_gives_the_table(front, folder, tmp_path):
    frame = pd.read_csv(io.StringIO(ok("export", folder, "--to", "csv").stdout), index_col="id")
    assert np.allclose(frame[list(front.names)], front.values, rtol=5e-6, atol=0)
    assert frame["n_edges"].tolist() == [len(entry.network.edges) for entry in front]
    assert frame.index[frame["knee"]].tolist() == [front.knee().index]
    ok("export", folder, "-o", tmp_path / "table.parquet")
    assert pd.read_parquet(tmp_path / "table.parquet")["misfit"].tolist() == front.values[:, 0].tolist()


def test_the_exported_table_has_the_marks_of_the_table_that_was_read(tmp_path):
    small_frame().to_csv(tmp_path / "rows.csv", index=False, sep=";", decimal=",")
    options = ["--max-evaluations", 300, "--max-seconds", 0, "--seed", 1, "--max-levels", 7, "--quiet"]
    ok("front", tmp_path / "rows.csv", "--out", tmp_path / "front", *options)
    text = ok("export", tmp_path / "front", "--to", "csv").stdout
    misfits = pd.read_csv(io.StringIO(text), sep=";", decimal=",")["misfit"]
    assert np.allclose(misfits, read_front(tmp_path / "front").values[:, 0], rtol=5e-6, atol=0)
    moved = tmp_path / "moved.csv"
    (tmp_path / "rows.csv").rename(moved)
    # without the table nothing says how a reader writes numbers
    assert ok("export", tmp_path / "front", "--to", "csv").stdout.startswith("id,misfit")
    assert ok("export", tmp_path / "front", "--to", "csv", "--data", moved).stdout == text
    moved.write_text("a;b\n1,5;2\n")
    assert "is not the file that was learned from" in refused(
        3, "export", tmp_path / "front", "--to", "csv", "--data", moved
    )


def test_export_says_what_it_cannot_write(folder, run, tmp_path, monkeypatch):
    assert "must be one of json, bif, dot, xdsl, net, csv, parquet" in refused(
        2, "export", folder, "--to", "pickle"
    )
    assert "got 'txt'" in refused(2, "export", folder, "-o", tmp_path / "table.txt")
    assert "name it with --network" in refused(2, "export", folder, "--to", "bif")
    assert "leave --network out" in refused(2, "export", folder, "--to", "csv", "--network", 3)
    assert "networks 0 to 19, got 20" in refused(2, "export", folder, "--network", 20)
    assert "Did you mean 'knee'?" in refused(2, "export", folder, "--network", "kne")
    assert "--out" in refused(2, "export", folder, "--to", "parquet")
    assert "no ids and no table; leave --network out" in refused(2, "export", run, "--network", 0)
    assert "no table; --to must be one of json, bif, dot, xdsl" in refused(2, "export", run, "--to", "csv")
    assert "does not exist" in refused(3, "export", tmp_path / "none")
    assert "holds neither front.json nor network.json" in refused(3, "export", tmp_path)
    (tmp_path / "front.json").write_text("{}")
    assert "is not a front" in refused(3, "export", tmp_path, "--to", "csv")
    assert "does not exist" in refused(1, "export", run, "-o", tmp_path / "none" / "one.bif")
    assert "does not exist" in refused(1, "export", folder, "-o", tmp_path / "none" / "table.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "needs pyarrow" in refused(1, "export", folder, "-o", tmp_path / "table.parquet")


def test_networks_are_named_by_file_folder_or_id(front, folder, run, tmp_path):
    twelfth = front[12].network
    twelfth.to_json(tmp_path / "a#1.json")
    twelfth.to_bif(tmp_path / "a.bif")
    (tmp_path / "a.bif.gz").write_bytes(gzip.compress((tmp_path / "a.bif").read_bytes()))
    assert named_network(str(tmp_path / "a#1.json")) == twelfth
    for name in ("a.bif", "a.bif.gz"):
        network = named_network(str(tmp_path / name))
        assert network.edges == twelfth.edges
        assert {key: cuts.tolist() for key, cuts in network.cut_points.items()} == {
            key: cuts.tolist() for key, cuts in twelfth.cut_points.items()
        }
    assert named_network(f"{folder}#12") == twelfth
    assert named_network(f"{folder}/#knee") == front.knee().network
    assert named_network(f"{folder}#expert") == front.expert
    (tmp_path / "front #1").symlink_to(folder)
    assert named_network(f"{tmp_path / 'front #1'}#12") == twelfth
    assert named_network(f"{folder}#misfit") == front.best("misfit").network
    assert named_network(str(run)) == DiscretizedBayesNet.from_json(run / "network.json")
    for text, message in (
        (str(folder), "name one"),
        (f"{folder}#99", "networks 0 to 19"),
        (f"{folder}#-1", "named by its id"),
        (f"{folder}#²", "named by its id"),
        (f"{run}#1", "has no front.json"),
        (str(tmp_path / "none.json"), "does not exist"),
        (str(tmp_path), "holds neither"),
    ):
        with pytest.raises(GomeaBnError, match=message):
            named_network(text)
    alone = example_front(3, expert=False)
    write_front(tmp_path / "alone", alone)
    with pytest.raises(GomeaBnError, match="without an expert"):
        named_network(f"{tmp_path / 'alone'}#expert")
    with pytest.raises(
        GomeaBnError, match="The front has no objective 'expert_distance', only misfit, complexity"
    ):
        candidate(alone, "closest")


@pytest.mark.parametrize(("script", "command"), [("run_mo", "front"), ("export_front", "export")])
def test_the_launchers_are_the_same_commands(stand_in, data, folder, capsys, script, command):
    arguments = {"front": [data, "--quiet"], "export": [folder, "--network", "knee", "--to", "bif"]}[command]
    launcher = runpy.run_path(str(SCRIPTS / f"{script}.py"))
    with pytest.raises(SystemExit) as ended:
        launcher["main"]([str(argument) for argument in arguments])
    assert ended.value.code == 0
    printed, errors = capsys.readouterr()
    assert errors == ""
    assert printed == ok(command, *arguments).stdout
    assert len((SCRIPTS / f"{script}.py").read_text().splitlines()) < 80


MOVED = "The table is not where it was, or has changed"


def test_review_writes_the_page_of_a_front(stand_in, front, folder, data, tmp_path):
    result = ok("review", folder, "-o", tmp_path / "page.html", "--networks", 5)
    assert front.run_hash in (tmp_path / "page.html").read_text()
    assert MOVED in result.stderr
    assert f"gomea-bn accept {folder} decision.json -o model.json" in result.stdout
    out = tmp_path / "front"
    ok("front", data, "--out", out, "--quiet")
    assert ok("review", out).stderr == ""
    with_rows = (out / "review.html").read_text()
    assert read_front(out).run_hash in with_rows
    data.rename(tmp_path / "moved.csv")
    assert MOVED in ok("review", out).stderr
    assert (out / "review.html").read_text() != with_rows  # without the rows it has fewer counts
    assert ok("review", out, "--data", tmp_path / "moved.csv").stderr == ""
    assert (out / "review.html").read_text() == with_rows
    small_frame().iloc[1:].to_csv(data, index=False)
    assert MOVED in ok("review", out).stderr
    assert "is not the file that was learned from" in refused(3, "review", out, "--data", data)
    assert "nothere.csv' does not exist" in refused(3, "review", out, "--data", tmp_path / "nothere.csv")
    assert f"'{tmp_path}' is not a file" in refused(3, "review", out, "--data", tmp_path)


def test_a_table_is_found_from_elsewhere_and_a_damaged_histogram_reported(
    stand_in, data, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "front"
    ok("front", "rows.csv", "--out", "front", "--quiet")
    ok("learn", "rows.csv", "--out", "run", "--max-evaluations", 200, "--quiet")
    monkeypatch.chdir("/")
    assert ok("review", out).stderr == ""
    assert ok("review", tmp_path / "run").stderr == ""
    data.write_text(data.read_text() + "\n")
    assert MOVED in ok("review", out).stderr
    assert "is not the file that was learned from" in refused(3, "review", out, "--data", data)
    data.unlink()
    content = json.loads((out / "front.json").read_text())
    content["record"]["columns"][0]["histogram"]["edges"][0] = "low"
    (out / "front.json").write_text(json.dumps(content))
    assert "columns[0] must have a name and a histogram" in refused(3, "review", out)


def test_review_reports_a_run_of_learn(run, tmp_path):
    result = ok("review", run, "-o", tmp_path / "page.html")
    assert result.stderr == ""
    assert "accept" not in result.stdout
    page = (tmp_path / "page.html").read_text()
    assert json.loads((run / "run.json").read_text())["data"]["table_sha256"] in page
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "network.json").write_bytes((run / "network.json").read_bytes())
    assert MOVED in ok("review", alone).stderr
    for text, message in (("[]", "not the record of a run"), ("{", "is not JSON")):
        (alone / "run.json").write_text(text)
        assert message in refused(3, "review", alone)


def test_review_says_what_it_cannot_show(folder, tmp_path):
    assert "does not exist" in refused(3, "review", tmp_path / "none")
    assert "holds neither" in refused(3, "review", tmp_path)
    assert "--networks" in refused(2, "review", folder, "--networks", 0)
    assert "does not exist" in refused_last(1, "review", folder, "-o", tmp_path / "none" / "page.html")


def test_compare_prints_the_difference_in_words(front, folder, tmp_path):
    first, second = front[3].network, front[8].network
    second.to_json(tmp_path / "second.json")
    result = ok("compare", f"{folder}#3", tmp_path / "second.json")
    assert compare(first, second).to_text("A", "B") in result.stdout
    assert result.stdout.startswith(f"A: {folder}#3\nB: {tmp_path / 'second.json'}\n")
    facts = json.loads(ok("compare", f"{folder}#3", tmp_path / "second.json", "--json").stdout)
    assert {tuple(edge) for edge in facts["common"]} == set(first.edges) & set(second.edges)
    assert {variable["name"]: variable["n_b"] for variable in facts["variables"]} == {
        name: second.cardinality(name) for name in second.names
    }
    assert "equal in every probability" in ok("compare", f"{folder}#3", f"{folder}#3").stdout
    assert "networks 0 to 19" in refused(3, "compare", f"{folder}#3", f"{folder}#20")
    assert "does not exist" in refused(3, "compare", tmp_path / "none.bif", f"{folder}#3")


def test_the_graph_of_an_expert_is_tested_where_it_is_looked_at(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    a = rng.integers(3, size=300)
    rows = pd.DataFrame(
        {
            "a": a,
            "b": np.where(rng.random(300) < 0.7, a, rng.integers(3, size=300)),
            "c": rng.integers(3, size=300),
        }
    ).astype(str)
    rows = "l" + rows
    rows.to_csv("rows.csv", index=False)
    Path("expert.csv").write_text("parent,child\nc,b\n")
    with_b = DiscretizedBayesNet.from_table(rows, [("a", "b")], {})
    with_b.to_json("net.json")
    expert = named_network("expert.csv", rows)
    tests = [certainty.test_graph(network, rows, random_state=0) for network in (expert, with_b)]
    assert "do not decide" in tests[0].note("c", "b")
    assert "miss" in tests[0].note("a", "b")
    compared = ("compare", "expert.csv", "net.json", "--data", "rows.csv")
    assert "reject" not in ok(*compared).stdout
    assert ok(*compared, "--test-graph").stdout.endswith(f"\n\nA: {tests[0]}\n\nB: {tests[1]}\n")
    record = json.loads(ok(*compared, "--test-graph", "--json").stdout)
    assert [record["test_a"], record["test_b"]] == [test.to_dict() for test in tests]
    show = ("show", "expert.csv", "--data", "rows.csv", "--test-graph", "--why")
    shown = ok(*show, "c", "b").stdout
    assert shown.startswith(str(expert.why(("c", "b"), rows)))
    assert shown.endswith(f"\nc and b: {tests[0].note('c', 'b')}.\n{tests[0].sentence}\n")
    assert ok(*show, "b", "a").stdout == f"b and a: {tests[0].note('a', 'b')}.\n{tests[0].sentence}\n"
    ok("review", "expert.csv", "--data", "rows.csv", "--test-graph", "-o", "page.html")
    assert page_data(Path("page.html").read_text())["tested"]["graph"] == tests[0].sentence
    assert "give them with --data" in refused(2, "compare", "net.json", "net.json", "--test-graph")
    assert "--test-graph is for --why" in refused(2, "show", "net.json", "--test-graph")
    assert "'a' and 'z' were not tested" in refused(2, *show, "a", "z")
    assert "--test-graph needs the table" in refused(
        1, "review", "net.json", "--test-graph", "-o", "page.html"
    )
    rows.mask(rows == "l1").to_csv("gaps.csv", index=False)
    of_gaps = " of 300 rows, those without missing values, "
    assert of_gaps in ok("compare", "net.json", "net.json", "--data", "gaps.csv", "--test-graph").stdout
    for network in ("net.json", "expert.csv"):
        assert of_gaps in ok("test-graph", network, "gaps.csv").stdout
        ok("review", network, "--data", "gaps.csv", "--test-graph", "-o", "page.html")
        assert of_gaps in page_data(Path("page.html").read_text())["tested"]["graph"]
    # no row is complete
    is_even = rows.index % 2 == 0
    rows.assign(a=rows["a"].where(is_even), b=rows["b"].where(~is_even)).to_csv("none.csv", index=False)
    assert "got 0 of 300" in refused(3, "test-graph", "net.json", "none.csv")
    ok("review", "net.json", "--data", "none.csv", "--test-graph", "-o", "page.html")
    assert (
        "was not tested. A test of the graph needs"
        in page_data(Path("page.html").read_text())["tested"]["graph"]
    )


def test_the_graph_of_a_run_is_tested_on_its_table_with_gaps(tmp_path):
    rng = np.random.default_rng(4)
    x = rng.normal(size=200)
    rows = pd.DataFrame({"x": x, "y": x + rng.normal(size=200), "k": np.where(x > 0, "a", "b")})
    rows.loc[::3, "y"] = np.nan
    rows.to_csv(tmp_path / "rows.csv", index=False)
    run = tmp_path / "run"
    ok("learn", tmp_path / "rows.csv", "--max-seconds", 0, "--max-evaluations", 50, "--seed", 1, "--out", run)
    sentence = "133 of 200 rows, those without missing values, "
    assert sentence in ok("test-graph", run, tmp_path / "rows.csv").stdout
    ok("review", run, "--test-graph", "-o", tmp_path / "page.html")
    assert sentence in page_data((tmp_path / "page.html").read_text())["tested"]["graph"]


def test_accept_says_which_rules_about_edges_the_network_breaks(front, folder, tmp_path):
    candidate = max(front, key=lambda one: len(one.network.edges))
    edge, there = candidate.network.edges[:2]
    turned = tuple(reversed(edge))
    names = candidate.network.names
    absent = next((a, b) for a in names for b in names if a != b and (a, b) not in candidate.network.edges)
    made = Decision(
        front.run_hash,
        candidate.index,
        "2026-11-05T14:30:00Z",
        forbidden_edges=(edge, turned),
        required_edges=(there, absent),
    )
    path = tmp_path / "decision.json"
    path.write_text(made.to_json())
    result = ok("accept", folder, path, "-o", tmp_path / "model.json")
    assert f"rules out '{edge[0]}' -> '{edge[1]}', and the network has it." in result.stderr
    assert f"demands '{absent[0]}' -> '{absent[1]}', and the network lacks it." in result.stderr
    assert result.stderr.count("The decision ") == 2
    assert f"gomea-bn front DATA --rules {path}" in result.stderr


def test_accept_turns_a_decision_into_a_model(front, folder, run, tmp_path):
    notes = {12: "plausible\x1b[31m", 3: "too large"}
    made = Decision(front.run_hash, 12, "2026-11-05T14:30:00Z", shortlist=(12, 3), notes=notes)
    (tmp_path / "decision.json").write_text(made.to_json())
    result = ok("accept", folder, tmp_path / "decision.json", "-o", tmp_path / "model.json")
    model = DiscretizedBayesNet.from_json(tmp_path / "model.json")
    assert model == front[12].network
    assert model.metadata["decision"]["notes"]["12"] == notes[12]
    assert result.stderr == f"Wrote {tmp_path / 'model.json'}.\n"
    assert "Network 12, chosen 2026-11-05T14:30:00Z from a front of 20." in result.stdout
    assert "Note: plausible\\x1b[31m\n" in result.stdout
    # one screen, and how to see the rest
    assert f"{counted(len(model.edges), 'edge')}.\n" in result.stdout
    assert f"Next: gomea-bn show {tmp_path / 'model.json'}" in result.stdout
    assert len(result.stdout.splitlines()) < 25
    ok("accept", folder, tmp_path / "decision.json", "-o", tmp_path / "model.bif")
    assert (tmp_path / "model.bif").read_text() == model.to_bif()
    target = tmp_path / "other.json"
    assert "must end in one of .json, .bif, .dot" in refused(
        2, "accept", folder, tmp_path / "decision.json", "-o", tmp_path / "model.txt"
    )
    assert "--out" in refused(2, "accept", folder, tmp_path / "decision.json")
    assert "has no front.json" in refused(3, "accept", run, tmp_path / "decision.json", "-o", target)
    of_page = tmp_path / "of_page.json"
    of_page.write_text(Decision(None, 0, "2026-11-05", notes={0: "seen"}).to_json())
    result = ok("accept", run, of_page, "-o", tmp_path / "of_page_model.json")
    assert "The network of the run, accepted 2026-11-05.\nNote: seen" in result.stdout
    assert "nothing to choose" in refused(3, "accept", folder, of_page, "-o", target)
    assert "does not exist" in refused(3, "accept", folder, tmp_path / "none.json", "-o", target)
    write_front(tmp_path / "other", example_front(20, seed=9))
    assert "about another front" in refused(
        3, "accept", tmp_path / "other", tmp_path / "decision.json", "-o", target
    )
    assert not target.exists()
    assert "does not exist" in refused(
        1, "accept", folder, tmp_path / "decision.json", "-o", tmp_path / "no" / "model.json"
    )


def test_review_draws_the_density_of_conditionals(run, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    for name in ("network.json", "run.json"):
        (folder / name).write_bytes((run / name).read_bytes())
    network = DiscretizedBayesNet.from_json(run / "network.json")
    copies = [tables_of(network), tables_of(network)]
    network.changed(conditionals=Conditionals.of_tables(copies, n_rows=10)).to_json(folder / "network.json")
    ok("review", folder, "-o", tmp_path / "page.html", "--data", run.parent / "rows.csv")
    assert '"copies":2' in (tmp_path / "page.html").read_text()
