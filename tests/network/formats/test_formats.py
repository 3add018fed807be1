import json
import os

import numpy as np
import pydot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from network_examples import HOSTILE_LEVELS, HOSTILE_NAMES, one_column, small_network

from gomea_bn import DiscretizedBayesNet, GomeaBnError
from gomea_bn.runtime import write_text


@pytest.fixture
def network():
    return small_network(1, 4)


def exact(network):
    """Return everything of a network in a form that tells -0.0 from 0.0 and 1 from True."""
    return (
        network.names,
        network.edges,
        {name: cuts.tobytes() for name, cuts in network.cut_points.items()},
        {name: np.array(ends).tobytes() for name, ends in network.support.items()},
        {name: [(type(level), level) for level in levels] for name, levels in network.levels.items()},
        {name: (table.shape, table.tobytes()) for name, table in network.tables.items()},
        network.pseudo_count,
        network.metadata,
    )


@settings(max_examples=60)
@given(
    names=st.lists(st.text(min_size=1, max_size=6).filter(str.strip), min_size=1, max_size=5, unique=True),
    levels=st.lists(
        st.lists(
            st.one_of(st.text(max_size=5), st.integers(), st.booleans(), st.floats(-1e300, 1e300)),
            min_size=1,
            max_size=4,
            unique=True,
        ).map(tuple),
        min_size=1,
        max_size=3,
    ),
    seed=st.integers(0, 10_000),
)
def test_json_gives_back_every_bit(names, levels, seed):
    network = small_network(seed, names=names, levels=levels)
    again = DiscretizedBayesNet.from_json(network.to_json())
    assert again == network
    assert exact(again) == exact(network)


def test_json_of_hostile_names_through_a_file(tmp_path):
    network = small_network(2, names=HOSTILE_NAMES, levels=HOSTILE_LEVELS)
    text = network.to_json(tmp_path / "net.json")
    assert (tmp_path / "net.json").read_text(encoding="utf-8") == text
    for source in (tmp_path / "net.json", str(tmp_path / "net.json"), text, "\n  " + text):
        assert exact(DiscretizedBayesNet.from_json(source)) == exact(network)


def test_json_extreme_numbers_are_exact():
    network = one_column(
        [-5e-324, 0.1 + 0.2, 1e307],
        (-1 / 3, 1.7976931348623157e307),
        [1 / 3, 1 / 3, 1 / 3, 5e-324],
        metadata={"numpy": np.float64(0.1), "array": np.arange(2), "nested": {"a": [None, True]}},
    )
    again = DiscretizedBayesNet.from_json(network.to_json())
    assert exact(again) == exact(network)
    assert again.metadata == {"numpy": 0.1, "array": [0, 1], "nested": {"a": [None, True]}}


def test_json_says_its_version(network):
    content = json.loads(network.to_json())
    assert content["format"] == "gomea-bn network"
    assert content["format_version"] == 1
    assert [entry["name"] for entry in content["variables"]] == list(network.names)


def edited(network, change):
    content = json.loads(network.to_json())
    change(content)
    return json.dumps(content)


def first(kind):
    def find(content):
        return next(entry for entry in content["variables"] if entry["kind"] == kind)

    return find


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c.update(format_version=2), ["format_version 2", "reads 1", "newer gomea-bn"]),
        (lambda c: c.update(format_version=True), ["format_version True"]),
        (lambda c: c.pop("format_version"), ["format_version None"]),
        (lambda c: c.update(format="other"), ["not a network", "'other'"]),
        (lambda c: c.pop("variables"), ["wanted a list under 'variables', got none"]),
        (lambda c: c.update(variables={}), ["got dict"]),
        (lambda c: c.update(variables=[]), ["at least one variable"]),
        (lambda c: c["variables"].append(3), ["variables[4] must be an object"]),
        (lambda c: c["variables"].append(c["variables"][0]), ["Duplicate variable name 'v0'"]),
        (lambda c: c["variables"][0].pop("name"), ["variables[0]", "'name'"]),
        (lambda c: c["variables"][0].update(kind="odd"), ["'v0'", "'odd'"]),
        (lambda c: c["variables"][0].update(parents=["nobody"]), ["unknown variable 'nobody'"]),
        (lambda c: c["variables"][0].update(parents=3), ["'parents'", "got int"]),
        (lambda c: c["variables"][1].update(table=[["a"]]), ["tables['v1']"]),
        (lambda c: c["variables"][1].update(table=None), ["'table'"]),
        (lambda c: first("continuous")(c).update(cut_points=[3, 2]), ["increase strictly"]),
        (lambda c: first("continuous")(c).pop("support"), ["'support'"]),
        (lambda c: first("discrete")(c).update(levels=[[1]]), ["levels["]),
        (lambda c: c.update(metadata=[]), ["'metadata'"]),
        (lambda c: c.update(pseudo_count="1"), ["pseudo_count"]),
        (lambda c: next(e["parents"] for e in c["variables"] if len(e["parents"]) == 2).reverse(), ["order"]),
    ],
)
def test_malformed_json_is_refused_with_the_place(change, words):
    network = next(net for net in map(small_network, range(99)) if rich(net))
    with pytest.raises(GomeaBnError) as caught:
        DiscretizedBayesNet.from_json(edited(network, change))
    for word in words:
        assert word in str(caught.value)


def rich(network):
    """Return whether a network has both kinds and two parents alike, so that only order tells."""
    pairs = [network.parents(name) for name in network.names if len(network.parents(name)) == 2]
    same = [pair for pair in pairs if network.cardinality(pair[0]) == network.cardinality(pair[1])]
    return bool(network.cut_points and network.levels and same and pairs[0] == same[0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ('{"format": NaN}', "NaN is not a JSON number"),
        ("{}", "is not a network: wanted"),
        ("{" * 100_000, "is not JSON"),
        ('{"a": 1} x', "is not JSON: Extra data"),
        ('{"format": "gomea-bn network", "format": "gomea-bn network"}', "duplicate key 'format'"),
    ],
)
def test_text_that_is_no_network_is_refused(text, message):
    with pytest.raises(GomeaBnError, match=f"^JSON text .*{message}"):
        DiscretizedBayesNet.from_json(text)


def test_files_that_are_no_network_are_refused(tmp_path):
    with pytest.raises(GomeaBnError, match="does not exist"):
        DiscretizedBayesNet.from_json(tmp_path / "none.json")
    with pytest.raises(GomeaBnError, match="cannot be read"):
        DiscretizedBayesNet.from_json(tmp_path)
    (tmp_path / "list.json").write_text("[1]")
    with pytest.raises(GomeaBnError, match=r"list\.json' is not a network"):
        DiscretizedBayesNet.from_json(tmp_path / "list.json")
    (tmp_path / "junk.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(GomeaBnError, match="not UTF-8"):
        DiscretizedBayesNet.from_json(tmp_path / "junk.json")


def test_writing_replaces_whole_files_only(tmp_path, monkeypatch):
    path = tmp_path / "net.json"
    write_text(path, "old\r\n")
    assert path.read_bytes() == b"old\r\n"

    def no_replace(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", no_replace)
    with pytest.raises(GomeaBnError, match=r"Cannot write .*net\.json': No space left"):
        write_text(path, "new")
    monkeypatch.undo()
    assert path.read_text() == "old\n"
    assert os.listdir(tmp_path) == ["net.json"]
    write_text(str(path), "new é")
    assert path.read_text(encoding="utf-8") == "new é"


def test_writing_follows_links_and_names_bad_places(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    write_text(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"
    with pytest.raises(GomeaBnError, match="does not exist"):
        write_text(tmp_path / "no" / "a.txt", "")
    with pytest.raises(GomeaBnError, match="is a folder"):
        write_text(tmp_path, "")


@pytest.mark.long
def test_dot_has_every_node_and_edge(tmp_path):
    network = small_network(2, names=HOSTILE_NAMES, levels=HOSTILE_LEVELS)
    text = network.to_dot(tmp_path / "net.dot")
    assert (tmp_path / "net.dot").read_text(encoding="utf-8") == text
    (graph,) = pydot.graph_from_dot_data(text)
    nodes = {node.get_name(): node for node in graph.get_nodes() if node.get_name() != "node"}
    assert len(nodes) == len(network.names)
    for position, name in enumerate(network.names):
        label = nodes[f"n{position}"].get("label")
        unit = "bin" if name in network.cut_points else "level"
        count = network.cardinality(name)
        expected = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        assert label == f'"{expected}\\n{count} {unit}{"" if count == 1 else "s"}"'
    edges = {(edge.get_source(), edge.get_destination()) for edge in graph.get_edges()}
    assert edges == {
        (f"n{network.names.index(parent)}", f"n{network.names.index(child)}")
        for parent, child in network.edges
    }
