"""The folder of a front: what is written, what comes back, what is refused; and the summary of columns."""

import csv
import gzip
import itertools
import json
import os
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from front_examples import contents, edited, example_front, rewritten
from hypothesis import given
from hypothesis import strategies as st
from network_examples import HOSTILE_NAMES
from wrong_input import untyped

from gomea_bn import DiscretizedBayesNet, Front, GomeaBnError, read_front, read_table, write_front
from gomea_bn.data.column_summary import column_summary
from gomea_bn.front import Objective
from gomea_bn.front.folder import front_table, is_front_folder, network_file
from gomea_bn.front.store import StoredParts


def slow_counts(values, edges):
    """Count the values of each (a, b], the first with its lower edge, one by one."""
    pairs = list(itertools.pairwise(edges))
    counts = [0] * len(pairs)
    for value in values:
        for position, (low, high) in enumerate(pairs):
            if low < value <= high or (position == 0 and value == low):
                counts[position] += 1
    return counts


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=10, max_size=60).filter(lambda values: len(set(values)) > 1),
    st.booleans(),
)
def test_a_histogram_holds_every_value_once(values, whole):
    values = np.round(values) if whole else np.array(values)
    if len(np.unique(values)) == 1:
        return
    table = read_table(pd.DataFrame({"x": values}), kinds={"x": "continuous"})
    (summary,) = column_summary(table)
    edges, counts = summary["histogram"]["edges"], summary["histogram"]["counts"]
    assert summary["kind"] == "continuous"
    assert 1 <= len(counts) == len(edges) - 1 <= 100
    assert all(low < high for low, high in itertools.pairwise(edges))
    assert counts == slow_counts(values.tolist(), edges)
    assert sum(counts) == len(values)


def test_a_value_on_an_edge_is_counted_in_the_bin_below():
    values = np.arange(11) / 4
    (summary,) = column_summary(read_table(pd.DataFrame({"x": values}), kinds={"x": "continuous"}))
    assert summary["histogram"] == {"edges": values.tolist(), "counts": [2, *[1] * 9]}


def test_whole_numbers_get_bins_of_whole_width_around_them():
    ages = np.repeat(np.arange(18, 91), 8)
    (summary,) = column_summary(read_table(pd.DataFrame({"age": ages})))
    edges, counts = np.array(summary["histogram"]["edges"]), summary["histogram"]["counts"]
    assert set(np.diff(edges)) == {2.0}
    assert edges[0] == 17.5
    assert set(counts[:-1]) == {16}
    real = column_summary(read_table(pd.DataFrame({"x": ages / 7})))[0]["histogram"]["edges"]
    assert (real[0], real[-1], len(real)) == (18 / 7, 90 / 7, 51)  # 2 sqrt(584) is 48.3, rounded up to 50


def test_levels_are_counted_in_their_order_unseen_ones_too():
    frame = pd.DataFrame({"c": pd.Categorical(["b", "a"] * 6, ["b", "never", "a"]), "d": [True, False] * 6})
    assert column_summary(read_table(frame)) == [
        {"name": "c", "kind": "discrete", "levels": ["b", "never", "a"], "counts": [6, 0, 6]},
        {"name": "d", "kind": "discrete", "levels": [False, True], "counts": [6, 6]},
    ]


@pytest.mark.parametrize(
    "values", [[0.0, 2e-303] * 6, [1.0, 1.0 + 2**-52] * 6, [-1e300, 7e299] * 6, [1e17, 1e17 + 16] * 6]
)
def test_histograms_reach_the_limits_of_numbers(values):
    table = read_table(pd.DataFrame({"x": values}), kinds={"x": "continuous"})
    (summary,) = json.loads(json.dumps(column_summary(table), allow_nan=False))
    edges, counts = summary["histogram"]["edges"], summary["histogram"]["counts"]
    assert sum(counts) == 12
    assert np.isfinite(edges).all()
    assert (np.diff(edges) > 0).all()


@pytest.fixture(scope="module")
def front():
    return example_front(30)


@pytest.fixture
def folder(front, tmp_path):
    write_front(tmp_path / "front", front, networks=8)
    return tmp_path / "front"


def csv_columns(path, names):
    """Return the numbers of some columns; pandas may round them."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [[float(row[name]) for row in rows] for name in names]


def assert_same(other, front):
    assert other.objectives == front.objectives
    assert other.values.tobytes() == front.values.tobytes()
    assert other.expert == front.expert
    assert other.run_hash == front.run_hash
    for ours, theirs in zip(other, front, strict=True):
        assert ours.network == theirs.network
        assert ours.network.metadata == theirs.network.metadata


def test_what_is_written_comes_back(front, folder):
    written = read_front(folder)
    assert_same(written, front)
    assert written.table is None
    assert written.record == front.record | {"n_rows": 60, "columns": column_summary(front.table)}


def test_the_files_say_the_same(front, folder):
    ids = sorted(front.thin(8).original_index)
    assert len(ids) == 8
    written = {"front.json", "front.csv", "networks.gz", "expert_completed.json"}
    written |= {f"networks/{index:04d}.{ending}" for index in ids for ending in ("json", "bif", "dot")}
    assert set(contents(folder)) == written
    assert csv_columns(folder / "front.csv", front.names) == front.values.T.tolist()
    frame = pd.read_csv(folder / "front.csv", index_col="id", keep_default_na=False)
    assert frame.index.tolist() == list(range(30))
    assert frame["n_edges"].tolist() == [len(candidate.network.edges) for candidate in front]
    assert frame["n_parameters"].tolist() == [candidate.network.n_parameters for candidate in front]
    assert frame.index[frame["knee"]].tolist() == [front.knee().index]
    assert frame.index[frame["closest_to_expert"]].tolist() == [front.closest_to_expert().index]
    assert frame.index[frame["file"] != ""].tolist() == ids
    for index in ids:
        assert frame["file"][index] == network_file(index, "json") == f"networks/{index:04d}.json"
        network = DiscretizedBayesNet.from_json(folder / network_file(index, "json"))
        assert network == front[index].network
        assert (folder / network_file(index, "bif")).read_text() == network.to_bif()
        assert (folder / network_file(index, "dot")).read_text() == network.to_dot()
    assert DiscretizedBayesNet.from_json(folder / "expert_completed.json") == front.expert
    content = json.loads((folder / "front.json").read_text())
    assert (content["format"], content["format_version"]) == ("gomea-bn front", 2)
    assert content["run_hash"] == front.run_hash
    assert content["networks_with_files"] == ids
    assert content["values"] == front.values.tolist()


def test_the_paths_are_returned_and_no_row_is_copied(front, tmp_path):
    written = write_front(tmp_path / "new" / "front", front, networks=3)
    assert {str(path.relative_to(tmp_path / "new" / "front")) for path in written} == set(
        contents(tmp_path / "new" / "front")
    )
    values = {repr(value) for column in front.table.columns[:-1] for value in column.values.tolist()}
    support = {repr(end) for ends in front[0].network.support.values() for end in ends}
    cuts = {
        repr(cut)
        for candidate in front
        for column_cuts in candidate.network.cut_points.values()
        for cut in column_cuts.tolist()
    }
    text = (tmp_path / "new" / "front" / "front.json").read_text() + (
        gzip.decompress((tmp_path / "new" / "front" / "networks.gz").read_bytes()).decode(errors="replace")
    )
    assert len(values) > 150
    assert not {value for value in values - support - cuts if value in text}


@pytest.mark.sample(2)
@pytest.mark.parametrize(("networks", "count"), [(0, 0), (1, 1), (None, 30), (30, 30), (1000, 30)])
def test_as_many_networks_get_files_as_are_asked_for(front, tmp_path, networks, count):
    write_front(tmp_path, front, networks=networks)
    assert len(list(tmp_path.glob("networks/*.bif"))) == count
    assert (tmp_path / "networks").exists() == (count > 0)
    assert_same(read_front(tmp_path), front)


def test_networks_get_files_until_the_writer_is_asked_to_end(front, tmp_path):
    asked = []

    def go_on(n_done, n_networks):
        asked.append((n_done, n_networks))
        return n_done < 3

    write_front(tmp_path, front, networks=8, go_on=go_on)
    assert asked == [(0, 8), (1, 8), (2, 8), (3, 8)]
    ids = json.loads((tmp_path / "front.json").read_text())["networks_with_files"]
    assert sorted(path.name for path in tmp_path.glob("networks/*.json")) == [f"{i:04d}.json" for i in ids]
    assert len(ids) == 3
    assert_same(read_front(tmp_path), front)


def test_the_files_of_a_thinned_front_are_named_by_its_own_ids(front, tmp_path):
    part = front.thin(9)
    write_front(tmp_path, part, networks=4)
    written = read_front(tmp_path)
    assert_same(written, part)
    assert written.original_index == part.original_index
    names = sorted(path.stem for path in tmp_path.glob("networks/*.json"))
    assert len(names) == 4
    for name in names:
        assert (
            DiscretizedBayesNet.from_json(tmp_path / "networks" / f"{name}.json") == part[int(name)].network
        )


def test_an_expert_is_kept_whose_distance_was_no_objective(front, tmp_path):
    two = Front(front.objectives[:2], front.values[:, :2], front.network, expert=front.expert)
    write_front(tmp_path, two)
    assert_same(read_front(tmp_path), two)
    assert "closest_to_expert" not in (tmp_path / "front.csv").read_text()


def test_a_front_without_expert_table_or_record_is_written_and_read(tmp_path):
    whole = example_front(4, expert=False)
    bare = Front(whole.objectives, whole.values, whole.network)
    write_front(tmp_path, bare)
    written = read_front(tmp_path)
    assert_same(written, bare)
    assert written.record == {}
    assert not (tmp_path / "expert_completed.json").exists()
    assert "closest_to_expert" not in (tmp_path / "front.csv").read_text()


def test_a_front_that_was_read_can_be_written_again(front, folder, tmp_path):
    write_front(tmp_path / "again", read_front(folder), networks=8)
    first, second = contents(folder), contents(tmp_path / "again")
    for name in set(first) - {"front.csv"}:
        assert first[name] == second[name], name
    assert_same(read_front(tmp_path / "again"), front)


def test_hostile_names_and_levels_come_back(tmp_path):
    names = (*HOSTILE_NAMES[:12], "</script>", "=1+1")
    front = example_front(3, names=names)
    objective = Objective('cost, "net"\n', "Cost <b>", "€", "cheaper")
    hostile = Front([objective, *front.objectives[1:]], front.values, front.network, expert=front.expert)
    write_front(tmp_path, hostile)
    assert_same(read_front(tmp_path), hostile)
    assert csv_columns(tmp_path / "front.csv", [objective.name]) == [front.values[:, 0].tolist()]


def test_networks_are_read_when_asked_for(front, folder, monkeypatch):
    built = []
    original = StoredParts.network

    def network(parts):
        built.append(parts)
        return original(parts)

    monkeypatch.setattr(StoredParts, "network", network)
    written = read_front(folder)
    for path in folder.glob("network*"):  # a front that was read needs its files no more
        path.rename(folder.parent / path.name)
    assert written[17].network == front[17].network
    assert written[17].network is written[17].network
    assert front_table(written).equals(front_table(front))
    assert len(built) == 1


def test_a_smaller_front_replaces_all_of_a_larger_one(front, folder):
    (folder / "page.html").write_text("mine")
    small = example_front(2, expert=False, seed=6)
    write_front(folder, small, networks=None, parquet=True)
    assert_same(read_front(folder), small)
    assert {path.name for path in folder.glob("networks/*.json")} == {"0000.json", "0001.json"}
    assert {path.name for path in folder.iterdir()} == {
        "front.json", "front.csv", "front.parquet", "networks.gz", "networks", "page.html",
    }  # fmt: skip
    parquet = pd.read_parquet(folder / "front.parquet")
    assert parquet.index.name == "id"
    assert parquet["misfit"].tolist() == small.values[:, 0].tolist()
    write_front(folder, front, networks=0)
    assert {path.name for path in folder.iterdir()} == {
        "front.json", "front.csv", "networks.gz", "expert_completed.json", "page.html",
    }  # fmt: skip


class Stopped(BaseException):
    """As Ctrl-C is: no Exception."""


@pytest.mark.sample(5)
@pytest.mark.parametrize("kind", [OSError(28, "No space left on device"), Stopped()])
@pytest.mark.parametrize("step", range(0, 16, 3))
def test_a_write_that_breaks_off_leaves_the_old_front(front, folder, monkeypatch, step, kind):
    before = contents(folder)
    steps = iter(range(1000))
    original_write, original_rename = Path.write_bytes, os.rename

    def breaking(original):
        def call(*arguments):
            if next(steps) == step:
                raise kind
            return original(*arguments)

        return call

    monkeypatch.setattr(Path, "write_bytes", breaking(original_write))
    monkeypatch.setattr(os, "rename", breaking(original_rename))
    with pytest.raises(GomeaBnError if isinstance(kind, OSError) else Stopped) as caught:
        write_front(folder, example_front(2, seed=7), networks=1)
    monkeypatch.undo()
    assert isinstance(kind, Stopped) or "No space left on device" in str(caught.value)
    assert contents(folder) == before
    assert_same(read_front(folder), front)
    assert not list(folder.glob(".part*"))


def test_what_could_not_be_put_back_is_kept(folder, monkeypatch):
    before, original, count = contents(folder), os.rename, iter(range(100))

    def breaking(source, target):
        if next(count) >= 7:
            raise OSError(5, "Input/output error")
        original(source, target)

    monkeypatch.setattr(os, "rename", breaking)
    with pytest.raises(GomeaBnError, match="Input/output error"):
        write_front(folder, example_front(2, seed=7), networks=1)
    monkeypatch.undo()
    (remains,) = folder.glob(".part*/old")
    assert {name: before[name] for name in contents(remains)} == contents(remains)
    assert "front.json" in contents(remains)


def test_folders_that_cannot_take_a_front(front, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    (tmp_path / "held" / "front.csv").mkdir(parents=True)
    (tmp_path / "mine" / "networks").mkdir(parents=True)
    (tmp_path / "mine" / "networks" / "notes.txt").write_text("")
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "networks").write_text("")
    for name, message in (
        ("file", "not a folder"),
        ("file/below", "not a folder"),
        ("held", "a folder has this name"),
        ("mine", "notes.txt"),
        ("odd", "in the way"),
    ):
        before = contents(tmp_path)
        with pytest.raises(GomeaBnError, match=message):
            write_front(tmp_path / name, front)
        assert contents(tmp_path) == before
    for bad in (-1, 2.0, True, "all"):
        with pytest.raises(GomeaBnError, match="networks must be"):
            write_front(tmp_path / "new", front, networks=untyped(bad))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(GomeaBnError, match=r"pip install 'gomea-bn\[parquet\]'"):
        write_front(tmp_path / "new", front, parquet=True)
    assert not (tmp_path / "new").exists()


TARGETS = (
    "front.json", "front.csv", "front.parquet", "networks.gz", "expert_completed.json", "networks/0001.bif"
)  # fmt: skip


@pytest.mark.parametrize("content", ["mine", '{"format": "gomea-bn network"}', "[]"])
@pytest.mark.parametrize("name", TARGETS)
def test_files_that_are_no_fronts_stay(front, tmp_path, name, content):
    (tmp_path / "networks").mkdir()
    (tmp_path / name).write_text(content)
    with pytest.raises(GomeaBnError, match=f"{re.escape(name)}'.*choose another folder"):
        write_front(tmp_path, front)
    assert contents(tmp_path) == {name: content.encode()}


def column(position, **values):
    """Return a function that changes one summary of a column."""
    return lambda columns: columns[position].update(values)


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    "damage",
    [
        lambda columns: columns.__setitem__(0, 5),
        lambda columns: columns[0].pop("name"),
        column(0, name=["a"]),
        column(0, kind="real"),
        column(0, histogram=None),
        column(0, histogram={"edges": [0, "1"], "counts": [60]}),
        column(0, histogram={"edges": [0, None], "counts": [60]}),
        column(0, histogram={"edges": [0, 10**400], "counts": [60]}),
        column(0, histogram={"edges": [1, 0], "counts": [60]}),
        column(0, histogram={"edges": [0, 1], "counts": [30, 30]}),
        column(0, histogram={"edges": [0, 1], "counts": ["60"]}),
        column(0, histogram={"edges": [0], "counts": []}),
        column(3, counts=[1, 2]),
        column(3, counts=[1, 2, -1]),
        column(3, levels={}),
    ],
)
def test_damaged_summaries_of_columns_are_refused(front, folder, tmp_path, damage):
    edited(lambda content: damage(content["record"]["columns"]))(folder)
    with pytest.raises(GomeaBnError, match=r"columns\[[03]\] must have a name and a histogram") as caught:
        read_front(folder)
    assert str(folder) in str(caught.value)
    record = json.loads((folder / "front.json").read_text())["record"]
    with pytest.raises(GomeaBnError, match="must have a name and a histogram"):
        write_front(tmp_path / "other", Front(front.objectives, front.values, front.network, record=record))
    assert not (tmp_path / "other").exists()


def text(name, content):
    return lambda folder: (folder / name).write_bytes(content)


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "front.json").unlink(), "has no front.json"),
        (lambda folder: shutil.rmtree(folder), "is not a folder"),
        (text("front.json", b"{"), "is not JSON"),
        (text("front.json", b"\xff\xfe"), "is not UTF-8 text"),
        (text("front.json", b"[" * 100_000), "is not JSON"),
        (text("front.json", b"[1]"), "is not a front"),
        (text("front.json", b'{"format": "gomea-bn run"}'), "got 'gomea-bn run'"),
        (
            edited(lambda content: content.update(format_version=3)),
            "format_version 3; this release reads 1 to 2",
        ),
        (edited(lambda content: content.update(format_version=True)), "format_version True"),
        (edited(lambda content: content.pop("values")), "wanted a list under 'values', got none"),
        (edited(lambda content: content.update(objectives={})), "wanted a list under 'objectives'"),
        (edited(lambda content: content.update(record=[])), "wanted an object under 'record'"),
        (edited(lambda content: content["record"].update(columns=5)), "columns must be a list, got int"),
        (edited(lambda content: content.pop("sha256")), "wanted an object under 'sha256'"),
        (edited(lambda content: content["sha256"].update({"expert.json": ""})), "unknown file 'expert.json'"),
        (edited(lambda content: content["objectives"][0].pop("unit")), "an objective must have the texts"),
        (edited(lambda content: content["objectives"][0].update(unit=1)), "an objective must have the texts"),
        (edited(lambda content: content["objectives"].pop()), "values must have shape"),
        (edited(lambda content: content["values"][0].append(1)), "values must"),
        (edited(lambda content: content["values"][3].__setitem__(1, "x")), "values must be numbers"),
        (edited(lambda content: content["values"][3].__setitem__(1, None)), "values must be finite"),
        (edited(lambda content: content.update(values=[])), "values must have shape"),
        (edited(lambda content: content["values"][3].__setitem__(1, 1e9)), "run_hash"),
        (edited(lambda content: content["values"].reverse()), "in the front's order"),
        (edited(lambda content: content["record"].update(seed=6)), "run_hash"),
        (edited(lambda content: content.update(run_hash=None)), "run_hash"),
        (lambda folder: (folder / "networks.gz").unlink(), "lacks networks.gz"),
        (lambda folder: (folder / "expert_completed.json").unlink(), "lacks expert_completed.json"),
        (text("networks.gz", b"other"), "its SHA-256 differs"),
        (text("expert_completed.json", b"{}"), "its SHA-256 differs"),
        (rewritten("expert_completed.json", b"{}"), "is not a network"),
    ],
)
def test_other_folders_are_refused(folder, damage, message):
    damage(folder)
    with pytest.raises(GomeaBnError, match=re.escape(message)) as caught:
        read_front(folder)
    assert str(folder) in str(caught.value)


def in_version_1(folder):
    """Write the store of a folder again as version 1 had it: one network per line, as JSON text."""
    front = read_front(folder)
    lines = "".join(candidate.network.to_json().replace("\n", " ") + "\n" for candidate in front)
    (folder / "networks.gz").unlink()
    edited(lambda content: content.update(format_version=1, table_sha256="ab"))(folder)
    edited(lambda content: content["sha256"].pop("networks.gz"))(folder)
    rewritten("networks.jsonl.gz", gzip.compress(lines.encode()))(folder)


def test_a_folder_of_version_1_is_read_and_replaced(front, folder):
    in_version_1(folder)
    assert_same(read_front(folder), front)
    assert front_table(read_front(folder)).equals(front_table(front))
    write_front(folder, front)
    assert "networks.jsonl.gz" not in contents(folder)
    assert_same(read_front(folder), front)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"other", "not compressed by gzip"),
        (gzip.compress(b"{}\n")[:-9], "not compressed by gzip"),
        (gzip.compress(b"{}\n"), "must hold 30 networks, one per line, got 1"),
        (gzip.compress(b"{}\n" * 30), "line 5: JSON text is not a network"),
        (gzip.compress(b"front.json\n" * 30), "line 5: JSON text is not a network"),
        (gzip.compress(b"\xff\n" * 30), "line 5: "),
    ],
    ids=["text", "cut off", "one line", "other JSON", "no JSON", "no UTF-8"],
)
def test_stores_of_version_1_without_networks_are_refused_when_read(folder, content, message):
    in_version_1(folder)
    rewritten("networks.jsonl.gz", content)(folder)
    front = read_front(folder)
    for _ in range(2):
        with pytest.raises(GomeaBnError, match=message):
            _ = front[4].network


def test_a_run_folder_is_distinguished_from_a_front(folder, tmp_path):
    assert is_front_folder(folder)
    assert not is_front_folder(tmp_path)
    assert not is_front_folder(tmp_path / "none")
