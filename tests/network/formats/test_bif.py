import gzip
from importlib import resources
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pgmpy
import pyagrum
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from network_examples import (
    HOSTILE_LEVELS,
    HOSTILE_NAMES,
    check_tables_of_pyagrum,
    one_column,
    padded,
    small_network,
)
from pgmpy.readwrite import BIFReader

from gomea_bn import DiscretizedBayesNet, GomeaBnError
from gomea_bn.network.formats.bif import bif_variables, safe_names
from gomea_bn.network.formats.discrete import network_of_variables

EXAMPLES = resources.files(pgmpy) / "utils" / "example_models"


def read_bif(path):
    """Return the network of a file with its own names and labels."""
    return DiscretizedBayesNet.from_file(path, "bif", restore=False)


def parse_bif(text):
    return network_of_variables(bif_variables(text), DiscretizedBayesNet, restore=False)


def check_with_pyagrum(network, path):
    ids = safe_names(network.names, fold_case=True)
    # single precision there
    check_tables_of_pyagrum(network, pyagrum.loadBN(str(path)), ids, atol=1e-7)


def check_with_pgmpy(network, path):
    model = BIFReader(str(path), include_properties=True).get_model()
    safe = dict(zip(network.names, safe_names(network.names, fold_case=True)))
    assert model.check_model()
    assert set(model.nodes()) == set(safe.values())
    for name in network.names:
        factor = model.get_cpds(safe[name]).to_factor()
        axes = [safe[other] for other in (*network.parents(name), name)]
        table = factor.values.transpose([factor.variables.index(axis) for axis in axes])
        np.testing.assert_array_equal(table, padded(network, name))
        properties = model.nodes[safe[name]]
        assert unquote(properties["name"]) == name
        if name in network.cut_points:
            low, high = network.support[name]
            assert [float(edge) for edge in properties["edges"].split()] == [
                low, *network.cut_points[name].tolist(), high,
            ]  # fmt: skip
        else:
            texts = [unquote("" if text == "%" else text) for text in properties["levels"].split()]
            assert texts == [str(level) for level in network.levels[name]]


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(12))
def test_pyagrum_and_pgmpy_read_the_same_probabilities(tmp_path, seed):
    network = small_network(seed, 5, max_bins=5)
    network.to_bif(tmp_path / "net.bif")
    check_with_pyagrum(network, tmp_path / "net.bif")
    check_with_pgmpy(network, tmp_path / "net.bif")


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(6))
def test_hostile_names_and_levels_are_read_too(tmp_path, seed):
    names = np.random.default_rng(seed).permutation(HOSTILE_NAMES).tolist()
    network = small_network(seed, names=names, levels=HOSTILE_LEVELS)
    assert network.to_bif(tmp_path / "net.bif").isascii()
    check_with_pyagrum(network, tmp_path / "net.bif")
    check_with_pgmpy(network, tmp_path / "net.bif")


@pytest.mark.parametrize("seed", range(12))
def test_our_reader_gets_back_every_probability(tmp_path, seed):
    network = small_network(seed, names=HOSTILE_NAMES, levels=HOSTILE_LEVELS)
    network.to_bif(tmp_path / "net.bif")
    again = read_bif(tmp_path / "net.bif")
    assert again.names == tuple(safe_names(network.names, fold_case=True))
    for name, safe in zip(network.names, again.names):
        np.testing.assert_array_equal(again.tables[safe], padded(network, name))


def test_bins_are_named_by_their_cuts_and_kept_exactly():
    network = small_network(11, names=["x"], max_bins=9)
    assert len(network.cut_points["x"]) > 2
    text = network.to_bif()
    cuts = network.cut_points["x"].tolist()
    assert f"le_{cuts[0]:.4g}, gt_{cuts[0]:.4g}_le_{cuts[1]:.4g}," in text
    assert " ".join(map(repr, cuts)) in text


@settings(max_examples=200)
@given(
    names=st.lists(st.text(max_size=8) | st.sampled_from(HOSTILE_NAMES), max_size=12),
    fold_case=st.booleans(),
    digits=st.booleans(),
)
@example(names=["0", "0"], fold_case=False, digits=True)
def test_safe_names_are_injective_and_keep_what_is_safe(names, fold_case, digits):
    safe = safe_names(names, fold_case=fold_case, digits=digits)
    assert len(safe) == len(names)
    assert len({name.lower() if fold_case else name for name in safe}) == len(names)
    for name in safe:
        assert name.isascii()
        assert all(letter.isalnum() or letter in "_-" for letter in name)
    assert safe_names(safe, fold_case=fold_case, digits=digits) == safe


def test_a_safe_name_stays_as_it_is_even_after_one_that_would_become_the_same():
    assert safe_names(["a b", "a_b", "a/b"], fold_case=False) == ["a_b_2", "a_b", "a_b_3"]
    assert safe_names(["2", "x_2"], fold_case=False) == ["x_2_2", "x_2"]


def test_pyagrum_reads_bins_with_huge_cuts(tmp_path):
    one_column([1e-20, 1e20], (0.0, 1e30), [0.25, 0.25, 0.5]).to_bif(tmp_path / "x.bif")
    model = pyagrum.loadBN(str(tmp_path / "x.bif"))
    assert model.variable("x").labels() == ("le_1e-20", "gt_1e-20_le_1e20", "gt_1e20")
    assert model.cpt("x").toarray().tolist() == [0.25, 0.25, 0.5]


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["asia", "alarm", "child", "insurance", "sachs"])
def test_the_reader_agrees_with_pgmpys_on_published_networks(name):
    path = Path(str(EXAMPLES / f"{name}.bif.gz"))
    network = read_bif(path)
    reader = BIFReader(string=gzip.decompress(path.read_bytes()).decode())
    assert list(network.names) == reader.variable_names
    assert set(network.edges) == {tuple(edge) for edge in reader.variable_edges}
    for variable in network.names:
        parents = reader.variable_parents[variable]
        assert network.levels[variable] == tuple(reader.variable_states[variable])
        shape = [len(reader.variable_states[other]) for other in (variable, *parents)]
        expected = reader.variable_cpds[variable].reshape(shape)
        axes = [1 + parents.index(other) for other in network.parents(variable)]
        np.testing.assert_allclose(network.tables[variable], expected.transpose([*axes, 0]), rtol=1e-9)


OLD_STYLE = """
network "dogs" { property "author x"; }
// a comment with variable and } in it
variable "dog out" { type discrete[2] { "true" "false" }; property position = (3, 4); }
variable lights { // one more
  type discrete [ 3 ] { on, off, half on };
}
/* probability ( of nothing ) { */
probability ( lights ) { table 0.5 0.25 0.25; }
probability ( "dog out" | lights ) { default 0.5 0.5; (half on) .9, 1e-1; property x; }
"""


def test_the_reader_takes_quotes_comments_defaults_and_spaces():
    network = parse_bif(OLD_STYLE)
    assert network.names == ("dog out", "lights")
    assert network.levels == {"dog out": ("true", "false"), "lights": ("on", "off", "half on")}
    assert network.tables["dog out"].tolist() == [[0.5, 0.5], [0.5, 0.5], [0.9, 0.1]]


def test_a_table_with_parents_lets_the_child_change_slowest():
    text = """
    variable a { type discrete [ 2 ] { x, y }; }
    variable b { type discrete [ 3 ] { p, q, r }; }
    probability ( a ) { table 0.5, 0.5; }
    probability ( b a ) { table 0.1, 0.2, 0.3, 0.3, 0.6, 0.5; }
    """
    table = parse_bif(text).tables["b"]
    assert table.tolist() == [[0.1, 0.3, 0.6], [0.2, 0.3, 0.5]]
    model = BIFReader(string=text.replace("    }", "}").replace("; }", ";\n}")).get_model()
    np.testing.assert_array_equal(model.get_cpds("b").get_values().T, table)


def test_rounded_rows_are_scaled_and_wrong_ones_refused():
    text = "variable a {{ type discrete [ 2 ] {{ x, y }}; }} probability ( a ) {{ table {}, 0.333; }}"
    table = parse_bif(text.format(0.666)).tables["a"]
    assert table.sum() == pytest.approx(1, abs=1e-15)
    assert table[0] == pytest.approx(0.666 / 0.999)
    with pytest.raises(GomeaBnError, match="does not sum to 1"):
        parse_bif(text.format(0.6))


VARIABLE = "variable a { type discrete [ 2 ] { x, y }; }\n"
CHILD = (
    VARIABLE + "variable b { type discrete [ 2 ] { x, y }; }\n"
    + "probability ( a ) { table 1, 0; }\nprobability ( b | a ) {\n"
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["no variable"]),
        ("junk", ["line 1", "'junk'"]),
        (VARIABLE, ["'a' has no probability"]),
        (VARIABLE * 2, ["line 2", "duplicate variable 'a'"]),
        ("variable a { }", ["'a' has no type"]),
        ("variable a { type discrete [ 3 ] { x, y }; }", ["'a'", "wanted discrete with 3 labels"]),
        ("variable a {" + " type discrete [ 2 ] { x, y };" * 2 + " }", ["'a' has two types"]),
        ("variable a { type real [ 2 ] { x, y }; }", ["got real"]),
        ("variable a { type discrete [ 2 ] { x", ["end of the text"]),
        (VARIABLE + "probability ( b ) { table 1, 0; }", ["line 2", "unknown variable 'b'"]),
        (VARIABLE + "probability ( a | c ) { table 1, 0; }", ["unknown variable 'c'"]),
        (VARIABLE + "probability ( a ) { table 1, 0, 0; }", ["wanted 2 numbers, got 3"]),
        (VARIABLE + "probability ( a ) { table 1, b; }", ["line 2", "'b'"]),
        (VARIABLE + "probability ( a ) { }", ["no numbers"]),
        (VARIABLE + "probability ( a ) { table 2, -1; }", ["negative"]),
        (VARIABLE + "probability ( a ) { table nan, 1; }", ["no numbers"]),
        (VARIABLE + "probability ( ) { table 1, 0; }", ["line 2", "names no variable"]),
        (VARIABLE + "probability ( , ) { table 1, 0; }", ["line 2", "names no variable"]),
        (VARIABLE + "probability ( a ) { table 1, 0; }\n" * 2, ["line 3", "two probability blocks"]),
        (
            VARIABLE + "variable b { type discrete [ 2 ] { x, y }; }\n"
            + "probability ( a ) { table 1, 0; }\nprobability ( b | a ) {\n (x) 1, 0;\n (z) 1, 0;\n}",
            ["line 6", "'a' has no label 'z'"],
        ),
        (CHILD + " (x) 1, 0;\n (y) 1, 0;\n (x) 0, 1;\n}", ["line 7", "of 'b'", "second row for (x)"]),
        (CHILD + " (x) 1, 0;\n table 1, 0, 0, 1;\n}", ["line 6", "of 'b'", "rows that the block has"]),
        (CHILD + " table 1, 0, 0, 1;\n (x) 1, 0;\n}", ["line 6", "of 'b'", "second row for (x)"]),
        (CHILD + " table 1, 0, 0, 1;\n table 1, 0, 0, 1;\n}", ["line 6", "of 'b'", "rows that the block has"]),
        (CHILD + " default 1, 0;\n default 0, 1;\n}", ["line 6", "of 'b'", "second default row"]),
    ],
)  # fmt: skip
def test_malformed_files_are_refused_with_the_line(text, words):
    with pytest.raises(GomeaBnError) as caught:
        parse_bif(text)
    for word in words:
        assert word in str(caught.value)


def test_unreadable_files_are_named(tmp_path):
    with pytest.raises(GomeaBnError, match=r"no\.bif' does not exist"):
        read_bif(tmp_path / "no.bif")
    (tmp_path / "a.bif.gz").write_bytes(b"\x1f\x8b\x08junk")
    with pytest.raises(GomeaBnError, match=r"a\.bif\.gz' cannot be read"):
        read_bif(tmp_path / "a.bif.gz")
    (tmp_path / "a.bif").write_bytes(b"\xff\xff")
    with pytest.raises(GomeaBnError, match="is not UTF-8 text"):
        read_bif(tmp_path / "a.bif")
    (tmp_path / "b.bif").write_text("junk")
    with pytest.raises(GomeaBnError, match=r"b\.bif': line 1"):
        read_bif(tmp_path / "b.bif")
