"""Every command takes a network by every name: a folder, FOLDER#ID, files of networks, an expert's edges."""

from pathlib import Path

import pandas as pd
import pytest
from command_line import ok, refused
from front_examples import example_front, small_frame

from gomea_bn import DiscretizedBayesNet, ExpertNetwork, Front, write_front
from gomea_bn.cli.named_networks import named_network
from gomea_bn.front.folder import front_table
from gomea_bn.front.store import StoredParts

NAMES = ("run", "front#3", "front#knee", "front#expert", "model.json", "model.bif", "model.xdsl")
OF_EXPERTS = ("edges.csv", "edges.tsv", "edges.dot", "expert.json")


@pytest.fixture(scope="module")
def front():
    return example_front(6)


@pytest.fixture(scope="module")
def folder(front, tmp_path_factory) -> Path:
    """Return a folder with a network under every kind of name, and with a table."""
    path = tmp_path_factory.mktemp("named")
    network = front[3].network
    write_front(path / "front", front, networks=1)
    small_frame().to_csv(path / "rows.csv", index=False)
    (path / "run").mkdir()
    network.to_json(path / "run" / "network.json")
    for ending in ("json", "bif", "xdsl"):
        getattr(network, f"to_{ending}")(path / f"model.{ending}")
    ExpertNetwork.from_edges(network.edges, names=network.names).to_json(path / "expert.json")
    for ending, mark in (("csv", ","), ("tsv", "\t")):
        lines = [mark.join(edge) for edge in [("parent", "child"), *network.edges]]
        (path / f"edges.{ending}").write_text("\n".join(lines) + "\n")
    network.to_dot(path / "edges.dot")
    return path


@pytest.fixture
def here(folder, monkeypatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", [*NAMES, *OF_EXPERTS])
def test_every_command_takes_every_name(here, front, tmp_path, name):
    completes = ["--data", "rows.csv"] if name in OF_EXPERTS else []
    assert " → " in ok("show", name, *completes).stdout
    for pair in ((name, "front#3"), ("front#3", name)):
        assert ok("compare", *pair, *completes).stdout.startswith(f"A: {pair[0]}\nB: {pair[1]}\n")
    ok("export", name, *completes, "-o", tmp_path / "model.json")
    exported = DiscretizedBayesNet.from_json(tmp_path / "model.json")
    if name not in ("front#knee", "front#expert"):
        assert set(exported.edges) == set(front[3].network.edges)
    ok("review", name, *completes, "-o", tmp_path / "page.html")
    assert "One network of" in (tmp_path / "page.html").read_text()
    ok("refine", name, "rows.csv", "--out", tmp_path / "refined.json", "--max-seconds", "0")
    assert set(DiscretizedBayesNet.from_json(tmp_path / "refined.json").edges) == set(exported.edges)


@pytest.mark.parametrize("name", OF_EXPERTS)
@pytest.mark.parametrize(
    "command",
    ["show", "export", "review", "compare", "query", "explain", "confidence", "update", "impute"],
)
def test_edges_without_probabilities_need_a_table(here, command, name):
    others = {
        "compare": ["front#3"],
        "query": ["--target", "a"],
        "explain": ["--target", "a"],
        "confidence": ["--certify"],
        "update": ["rows.csv", "-o", "a.json"],
        "impute": ["rows.csv"],
    }
    error = refused(3, command, name, *others.get(command, []))
    # not every command has an option for a table
    assert f"`gomea-bn export {name} --data DATA -o model.json` completes it by a table" in error


def test_the_network_of_the_single_search_has_a_name(front, tmp_path):
    write_front(tmp_path / "front", front, networks=0)
    assert "single if it has one" in refused(3, "show", f"{tmp_path / 'front'}#single")
    marked = Front(
        front.objectives, front.values, front.network, expert=front.expert,
        record={"single_network": {"id": 2}},
    )  # fmt: skip
    write_front(tmp_path / "marked", marked, networks=0)
    assert named_network(f"{tmp_path / 'marked'}#single") == front[2].network


def test_the_folder_of_a_front_is_one_network_only_with_an_id(here):
    for command in ("show", "refine"):
        arguments = ["rows.csv", "--out", "other.json"] if command == "refine" else []
        assert "holds a front; name one of its networks: 'front#12'" in refused(
            3, command, "front", *arguments
        )
    assert "name one of its networks" in refused(3, "compare", "front", "run")
    ok("export", "front", "--network", 3, "--to", "bif")
    assert "no ids and no table; leave --network out" in refused(2, "export", "front#3", "--network", 3)


@pytest.mark.parametrize(
    ("name", "page"),
    [("front", "front/review.html"), ("front#3", "front/review_3.html"), ("model.bif", "model.html")],
)
def test_a_page_stands_next_to_what_it_shows(here, name, page):
    ok("review", name)
    assert Path(page).is_file()
    Path(page).unlink()


def test_a_page_of_a_file_counts_the_rows_of_a_table(here, tmp_path):
    ok("review", "model.json", "-o", tmp_path / "page.html", "--data", "rows.csv")
    assert f"Learned from {len(small_frame())} rows" in (tmp_path / "page.html").read_text()
    assert "cannot write 'rows.csv'" in refused(
        2, "review", "model.json", "--data", "rows.csv", "-o", "rows.csv"
    )


def test_the_table_of_a_front_is_exported_without_building_networks(here, front, tmp_path, monkeypatch):
    expected = front_table(front)
    monkeypatch.setattr(StoredParts, "network", None)
    ok("export", "front", "--to", "csv", "-o", tmp_path / "table.csv")
    written = pd.read_csv(tmp_path / "table.csv", index_col="id")
    # computed numbers have six digits
    pd.testing.assert_frame_equal(written, expected, check_names=False, check_dtype=False, rtol=5e-6)


def test_export_says_that_a_folder_keeps_no_curves(here, front, tmp_path):
    network = front[3].network
    curves = {"curves": {network.names[0]: {"nats": 3.0, "table_parents": []}}}
    network.with_metadata(**curves).to_json(tmp_path / "curves.json")
    said = ok("export", tmp_path / "curves.json", "-o", tmp_path / "copy.json").stderr
    assert f"not the curves of {network.names[0]!r}" in said
    assert "average_families" in said
    assert "curves" not in ok("export", "front", "--network", "3", "-o", tmp_path / "plain.json").stderr
