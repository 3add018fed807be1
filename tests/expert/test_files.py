import gzip
import json
from importlib import resources

import numpy as np
import pgmpy
import pyagrum
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from network_examples import HOSTILE_LEVELS, HOSTILE_NAMES, network_with, small_network, with_parts
from pgmpy.readwrite import BIFReader, BIFWriter
from wrong_input import untyped

from gomea_bn import DiscretizedBayesNet, ExpertNetwork, GomeaBnError, read_table
from gomea_bn.network.formats import to_bif
from gomea_bn.simulation import random_network as ground_truth

EXAMPLES = resources.files(pgmpy) / "utils" / "example_models"


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.booleans())
def test_json_keeps_everything(seed, with_tables):
    network = small_network(seed, names=HOSTILE_NAMES[seed % 20 : seed % 20 + 5], levels=HOSTILE_LEVELS)
    if with_tables:
        open_bins = {
            name: np.arange(len(levels) - 1.0) for name, levels in network.levels.items() if len(levels) > 1
        }
        expert = ExpertNetwork(network.names, network.edges, cut_points=open_bins, network=network)
    else:
        expert = ExpertNetwork.from_edges(network.edges, names=network.names, cut_points=network.cut_points)
    again = ExpertNetwork.from_json(expert.to_json())
    assert again == expert
    assert again.edges == expert.edges


def test_json_files_of_experts_and_networks(tmp_path):
    expert = ExpertNetwork.from_edges([("a", "b")], names=["c", "b", "a"], cut_points={"b": [0.1, 0.3]})
    text = expert.to_json(tmp_path / "expert.json")
    assert (tmp_path / "expert.json").read_text(encoding="utf-8") == text
    assert json.loads(text) == {
        "format": "gomea-bn expert", "format_version": 1, "names": ["c", "b", "a"], "edges": [["a", "b"]],
        "cut_points": {"b": [0.1, 0.3]},
    }  # fmt: skip
    assert ExpertNetwork.from_file(tmp_path / "expert.json") == expert
    assert json.loads(ExpertNetwork.from_edges([], names=["a"]).to_json())["edges"] == []
    network = small_network(2)
    network.to_json(tmp_path / "network.json")
    (tmp_path / "network.txt").write_text("\n " + network.to_json())
    for name in ("network.json", "network.txt"):
        assert ExpertNetwork.from_file(tmp_path / name) == ExpertNetwork.from_network(network)


def test_a_hand_written_file_may_leave_fields_out():
    text = '{"format": "gomea-bn expert", "format_version": 1, "edges": [["age", "bp"]], "cut_points": {"bmi": [25]}}'
    assert ExpertNetwork.from_json(text) == ExpertNetwork.from_edges(
        [("age", "bp")], cut_points={"bmi": [25]}
    )
    assert ExpertNetwork.from_json(f"\n {text}") == ExpertNetwork.from_json(text)
    network = small_network(2)
    head = {"format": "gomea-bn expert", "format_version": 1, "network": json.loads(network.to_json())}
    assert ExpertNetwork.from_json(json.dumps(head)) == ExpertNetwork.from_network(network)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"format": "other"},
            "wanted \"format\": 'gomea-bn expert', got 'other'.*'gomea-bn network', can be read as well",
        ),
        ({"format_version": 2}, "format_version 2; this release reads 1"),
        ({"format_version": True}, "format_version True"),
        ({"cutpoints": {}}, "unknown field 'cutpoints'.*Did you mean 'cut_points'"),
        ({"edges": {}}, "edges must be a list of"),
        ({"edges": [["a"]]}, "edges must be a list of"),
        ({"edges": [["a", 1]]}, "pair of names"),
        ({"edges": None}, "edges must be a list of"),
        ({"names": "ab"}, "names must be a list of names"),
        ({"names": ["a", None]}, "must be text"),
        ({"cut_points": [1]}, "cut_points must map names to lists"),
        ({"cut_points": {"a": [None]}}, r"cut_points\['a'\] must be a list of numbers"),
        ({"cut_points": {"a": [3, 2]}}, r"cut_points\['a'\] must increase strictly"),
        ({"network": [1]}, "not a network"),
        ({"network": {"format": "gomea-bn network", "format_version": 3}}, "format_version 3"),
    ],
)
def test_json_of_something_else_is_refused(tmp_path, fields, message):
    path = tmp_path / "e.json"
    path.write_text(
        json.dumps({"format": "gomea-bn expert", "format_version": 1, "edges": [["a", "b"]], **fields})
    )
    with pytest.raises(GomeaBnError, match=f"(?s)File '.*e.json'.*{message}"):
        ExpertNetwork.from_file(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "JSON text is not JSON"),
        ('{"a": 1, "a": 2}', "duplicate key 'a'"),
        ('{"format": NaN}', "NaN is not a JSON number"),
        ("{}", "got None"),
    ],
)
def test_text_in_no_known_format_is_refused(text, message):
    with pytest.raises(GomeaBnError, match=message):
        ExpertNetwork.from_json(text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("e.csv", 'parent,child\n"a, b",c\nc,"d ""q"""\n'),
        ("e.tsv", 'parent\tchild\r\na, b\tc\r\n\r\nc\t"d ""q"""\r\n'),
        ("e.txt", '\ufeffChild, Parent\n c , "a, b"\n"d ""q""", c'),
        ("e.csv", 'parent;child\na, b;c\nc;"d ""q"""'),
    ],
)
def test_edges_are_read_from_a_text_file(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    expert = ExpertNetwork.from_file(tmp_path / name)
    assert expert.edges == [("a, b", "c"), ("c", 'd "q"')]
    assert expert.names == ("a, b", "c", 'd "q"')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("from,to\na,b\n", "columns parent,child in its first line, got 'from,to'"),
        ("", "columns parent,child"),
        ("parent,child,weight\na,b,1\n", "columns parent,child"),
        ("parent,child\na,b\na,b,c\n", r"line 3: wanted a parent and a child, got \['a', 'b', 'c'\]"),
        ("parent,child\na,\n", "line 2: wanted a parent and a child"),
        ('parent,child\n"a,b\n', "line 2: unexpected end of data"),
        ("parent,child\na,b\nb,a\n", "File '.*e.csv': Expert's network: The edges contain the cycle"),
        ("parent,child\n", "The expert's network is empty"),
    ],
)
def test_text_files_without_edges_are_refused(tmp_path, text, message):
    (tmp_path / "e.csv").write_text(text)
    with pytest.raises(GomeaBnError, match=message):
        ExpertNetwork.from_file(tmp_path / "e.csv")


def test_unreadable_files_are_refused(tmp_path):
    for name in ("none.json", "none.bif", "none.csv", "none"):
        with pytest.raises(GomeaBnError, match=f"File '.*{name}' does not exist"):
            ExpertNetwork.from_file(tmp_path / name)
    (tmp_path / "latin.csv").write_bytes("parent,child\né,b\n".encode("latin-1"))
    with pytest.raises(GomeaBnError, match="is not UTF-8 text"):
        ExpertNetwork.from_file(tmp_path / "latin.csv")
    (tmp_path / "notes.txt").write_text("smoking causes cancer")
    with pytest.raises(
        GomeaBnError, match=r"wanted \.json, \.bif, \.xdsl, .* or edges with the columns parent,child"
    ):
        ExpertNetwork.from_file(tmp_path / "notes.txt")
    with pytest.raises(GomeaBnError, match="cannot be read"):
        ExpertNetwork.from_file(tmp_path)
    with pytest.raises(GomeaBnError, match="needs a path, got 3"):
        ExpertNetwork.from_file(untyped(3))


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_our_own_bif_files_come_back_whole(tmp_path_factory, seed):
    path = tmp_path_factory.mktemp("own") / "own.bif"
    levels = [levels for levels in HOSTILE_LEVELS if len(set(map(str, levels))) == len(levels)]
    network = small_network(seed, names=HOSTILE_NAMES[seed % 24 : seed % 24 + 6], levels=levels)
    network.to_bif(path)
    network_read = ExpertNetwork.from_file(path).network
    assert network_read.names == network.names
    assert network_read.edges == network.edges
    assert network_read.support == network.support
    for name, cuts in network.cut_points.items():
        np.testing.assert_array_equal(network_read.cut_points[name], cuts)
    for name, own_levels in network.levels.items():
        assert network_read.levels[name] == tuple(str(level) for level in own_levels)
    for name, table in network.tables.items():
        np.testing.assert_array_equal(network_read.tables[name], table)


def test_our_own_bif_is_fitted_to_data_of_any_level_type(tmp_path):
    network = small_network(4, 8, levels=[(0, 1, 2), (True, False), ("a b", "a_b")])
    assert {type(levels[0]) for levels in network.levels.values()} == {int, bool, str}
    network.to_bif(tmp_path / "n.bif")
    frame = network.sample(30, 1)
    fitted = ExpertNetwork.from_file(tmp_path / "n.bif").fitted(read_table(frame))
    assert fitted.levels == network.levels
    np.testing.assert_allclose(fitted.log_density(frame), network.log_density(frame), rtol=1e-12)


def test_levels_that_look_alike_keep_their_labels(tmp_path):
    network = network_with(["v"], [], levels={"v": (1, "1", 2.5)}, tables={"v": [0.2, 0.3, 0.5]})
    network.to_bif(tmp_path / "n.bif")
    assert ExpertNetwork.from_bif(tmp_path / "n.bif").network.levels == {"v": ("1", "x_1_2", "x_2_5")}


def test_properties_that_do_not_fit_are_refused(tmp_path):
    text = to_bif(
        DiscretizedBayesNet(
            ["v", "w"], [], cut_points={"v": [1, 2]}, support={"v": (0, 3)}, levels={"w": ("a", "b")},
            tables={"v": [0.2, 0.3, 0.5], "w": [0.5, 0.5]},
        )
    )  # fmt: skip
    path = tmp_path / "n.bif"
    for old, new, message in [
        ("edges = 0.0 1.0 2.0 3.0", "edges = 0.0 1.0 2.0", "'v' has 3 states, but its property edges makes 2"),
        ("edges = 0.0 1.0 2.0 3.0", "edges = 0.0", "'v' has 3 states, but its property edges makes 0"),
        ("levels = a b", "edges = 0.5", "'w' has 2 states, but its property edges makes 0"),
        ("edges = 0.0 1.0 2.0 3.0", "edges = 0.0 1.0 two 3.0", "'v': its property edges must hold numbers, got 'two'"),
        ("edges = 0.0 1.0 2.0 3.0", "edges = 0.0 2.0 1.0 3.0", r"cut_points\['v'\] must increase"),
        ("levels = a b", "levels = a b c", "'w' has 2 states, but its property levels makes 3"),
    ]:  # fmt: skip
        assert old in text
        path.write_text(text.replace(old, new))
        with pytest.raises(GomeaBnError, match=f"File '.*n.bif': .*{message}"):
            ExpertNetwork.from_file(path)


def as_states(network):
    """Return the network with each bin as a state "b0", "b1", ... of a discrete variable."""
    states = {
        name: tuple(f"b{code}" for code in range(len(cuts) + 1)) for name, cuts in network.cut_points.items()
    }
    return DiscretizedBayesNet(
        network.names, network.edges, cut_points={}, support={},
        levels={**network.levels, **states}, tables=network.tables,
    )  # fmt: skip


def write_with_pgmpy(network, path):
    BIFWriter(as_states(network).to_pgmpy()).write(str(path))


def write_with_pyagrum(network, path):
    pyagrum.saveBN(as_states(network).to_pyagrum(), str(path))


@pytest.mark.parametrize(("write", "digits"), [(write_with_pgmpy, 1e-9), (write_with_pyagrum, 1e-4)])
@pytest.mark.parametrize("with_support", [False, True])
def test_states_of_a_foreign_bif_become_bins(tmp_path, write, digits, with_support):
    network = ground_truth(6, random_state=3, discrete_fraction=0.3)
    path = tmp_path / "foreign.bif"
    write(network, path)
    frame = network.sample(200, 5)
    table = read_table(frame[frame.columns[::-1]])
    support = network.support if with_support else None
    expert = ExpertNetwork.from_bif(path, cut_points=network.cut_points, support=support)
    assert set(expert.edges) == set(network.edges)
    assert bool(expert.network.cut_points) is with_support
    fitted = expert.fitted(table)
    ranges = {name: (frame[name].min(), frame[name].max()) for name in network.cut_points}
    assert fitted.support == dict((support or ranges).items())
    same = DiscretizedBayesNet(
        network.names, network.edges, cut_points=network.cut_points, support=support or ranges,
        levels=network.levels, tables=network.tables,
    )  # fmt: skip
    np.testing.assert_allclose(fitted.log_density(frame), same.log_density(frame), atol=digits, rtol=digits)
    assert ExpertNetwork.from_json(expert.to_json()) == expert


def test_bins_and_values_may_stand_side_by_side(tmp_path):
    network = ground_truth(5, random_state=3)
    write_with_pgmpy(network, tmp_path / "n.bif")
    cut, *others = network.cut_points
    expert = ExpertNetwork.from_bif(
        tmp_path / "n.bif", cut_points=network.cut_points, support={cut: (-1.0, 2.0)}
    )
    assert set(expert.network.cut_points) == {cut}
    fitted = expert.fitted(read_table(network.sample(100, 1)))
    assert fitted.support[cut] == (-1.0, 2.0)
    assert all(fitted.support[name] != (-1.0, 2.0) for name in others)


def test_cuts_for_a_foreign_bif_must_fit(tmp_path):
    network = ground_truth(4, random_state=3)
    path = tmp_path / "n.bif"
    write_with_pgmpy(network, path)
    name = next(iter(network.cut_points))
    with pytest.raises(
        GomeaBnError, match=f"File '.*n.bif': cut_points\\['{name}'\\] makes .* give .* cut points"
    ):
        ExpertNetwork.from_bif(path, cut_points={name: np.arange(20)})
    with pytest.raises(GomeaBnError, match="cut_points: unknown variable 'X9'"):
        ExpertNetwork.from_bif(path, cut_points={"X9": [1]})
    with pytest.raises(GomeaBnError, match=f"support: variable '{name}' has no entry in cut_points"):
        ExpertNetwork.from_bif(path, support={name: (0, 1)})
    with pytest.raises(GomeaBnError, match=r"File '.*n\.bif': .*inside the support"):
        ExpertNetwork.from_bif(path, cut_points={name: network.cut_points[name]}, support={name: (5, 6)})
    wide = {name: network.cut_points[name] + 7 for name in network.cut_points}
    with pytest.raises(GomeaBnError, match=rf"Expert's cut point.*give support={{'{name}': \(min, max\)}}"):
        ExpertNetwork.from_bif(path, cut_points=wide).fitted(read_table(network.sample(50, 0)))
    with pytest.raises(GomeaBnError, match=f"Column '{name}' is continuous .* states .*'b0'.*cut_points"):
        ExpertNetwork.from_bif(path).fitted(read_table(network.sample(50, 0)))


@pytest.mark.long
def test_a_published_bif_is_an_expert_on_its_own_data(tmp_path):
    content = (EXAMPLES / "asia.bif.gz").read_bytes()
    (tmp_path / "asia.bif.gz").write_bytes(content)
    (tmp_path / "asia.txt").write_bytes(gzip.decompress(content))
    expert = ExpertNetwork.from_file(tmp_path / "asia.bif.gz")
    assert expert == ExpertNetwork.from_file(tmp_path / "asia.txt")
    model = BIFReader(string=gzip.decompress(content).decode()).get_model()
    assert set(expert.edges) == set(model.edges())
    frame = expert.network.sample(500, 0)
    bools = (frame == "yes").astype(bool)[frame.columns[::-1]]
    renamed = dict.fromkeys(expert.names, ("true", "false"))
    network = expert.network
    as_bools = with_parts(network, cut_points={}, support={}, levels=renamed)
    fitted = ExpertNetwork.from_network(as_bools).fitted(read_table(bools))
    np.testing.assert_allclose(fitted.log_density(bools), network.log_density(frame))
