"""Networks as XDSL and NET files: what other libraries and our own readers find in them."""

import gzip

import numpy as np
import pyagrum
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from network_examples import (
    HOSTILE_LEVELS,
    HOSTILE_NAMES,
    check_tables_of_pyagrum,
    padded,
    small_network,
    with_parts,
)
from pgmpy.readwrite import XDSLReader

from gomea_bn import DiscretizedBayesNet, ExpertNetwork, GomeaBnError
from gomea_bn.network.formats.discrete import distinct_names, printable_text
from gomea_bn.network.formats.registry import FORMATS, WRITTEN, format_of

# ending of a file, and the precision in which pyAgrum reads it
ENDINGS = {"xdsl": 1e-15, "net": 1e-7}
# pyAgrum 3.3 reads and writes XDSL with the first parent fastest; in files of GeNIe and in pgmpy it is slowest
MOST_PARENTS = {"xdsl": 1}
NAMED = ["bif", "xdsl", "net"]


def check_with_pyagrum(network, path, atol):
    """Compare all tables; variables are found by their position in NET files."""
    loaded = pyagrum.loadBN(str(path))
    if path.suffix == ".xdsl":
        ids = distinct_names(network.names, printable_text)
    else:
        ids = [line.split()[1] for line in path.read_text().splitlines() if line.startswith("node ")]
    return loaded, check_tables_of_pyagrum(network, loaded, ids, atol=atol)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("seed", range(6))
def test_pyagrum_reads_the_same_tables_and_posteriors(tmp_path, ending, seed):
    network = small_network(seed, 6, max_bins=5, max_parents=MOST_PARENTS.get(ending, 3))
    path = tmp_path / f"net.{ending}"
    network.export(path)
    loaded, safe = check_with_pyagrum(network, path, ENDINGS[ending])
    inference = pyagrum.LazyPropagation(loaded)
    observed = network.names[-1]
    inference.setEvidence({safe[observed]: 0})
    inference.makeInference()
    ours = network.query(list(network.names[:-1]), {observed: _first_state(network, observed)})
    for name in network.names[:-1]:
        marginal = ours.groupby(level=name, sort=False, observed=False).sum().to_numpy()
        theirs = inference.posterior(safe[name]).toarray()[: len(marginal)]
        np.testing.assert_allclose(theirs, marginal, atol=10 * ENDINGS[ending])


def _first_state(network, name):
    return network.levels[name][0] if name in network.levels else network.support[name][0]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("seed", range(4))
def test_pyagrum_reads_hostile_names_and_levels(tmp_path, ending, seed):
    names = np.random.default_rng(seed).permutation(HOSTILE_NAMES).tolist()
    most = MOST_PARENTS.get(ending, 2)
    network = small_network(seed, names=names, levels=HOSTILE_LEVELS, max_parents=most)
    network.export(tmp_path / f"net.{ending}")
    check_with_pyagrum(network, tmp_path / f"net.{ending}", ENDINGS[ending])


def test_pgmpy_reads_the_same_tables(tmp_path):
    network = small_network(5, 6, max_bins=5, max_parents=3)
    network.export(tmp_path / "net.xdsl")
    model = XDSLReader(str(tmp_path / "net.xdsl")).get_model()
    for name in network.names:
        factor = model.get_cpds(name).to_factor()
        axes = [factor.variables.index(other) for other in (*network.parents(name), name)]
        np.testing.assert_allclose(factor.values.transpose(axes), padded(network, name), atol=1e-15)


def without_smoothing(network):
    """Return the network without what these formats have no place for."""
    return with_parts(network)


@pytest.mark.parametrize("ending", ["xdsl", "net"])
@pytest.mark.parametrize("seed", range(6))
def test_our_readers_restore_the_network_to_the_last_bit(tmp_path, ending, seed):
    network = small_network(seed, names=HOSTILE_NAMES, levels=HOSTILE_LEVELS)
    path = tmp_path / f"net.{ending}"
    network.export(path)
    again = DiscretizedBayesNet.from_file(path)
    assert again == without_smoothing(network)
    assert [[type(level) for level in levels] for levels in again.levels.values()] == [
        [type(level) for level in levels] for levels in network.levels.values()
    ]
    (tmp_path / f"packed.{ending}.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert DiscretizedBayesNet.from_file(tmp_path / f"packed.{ending}.gz") == again
    assert ExpertNetwork.from_file(path).network == again


@settings(max_examples=60, deadline=None)
@given(
    names=st.lists(
        st.text(st.characters(codec="utf-8"), min_size=1, max_size=6) | st.sampled_from(HOSTILE_NAMES),
        min_size=1, max_size=5, unique=True,
    ).filter(lambda names: all(name.strip() for name in names)),
    levels=st.lists(
        st.text(st.characters(codec="utf-8"), max_size=4) | st.integers() | st.booleans(),
        min_size=1, max_size=4, unique_by=(str, lambda level: level),
    ),
    seed=st.integers(0, 99),
)  # fmt: skip
@example(names=["<&>", '"', "ä ö", "\x00", "a\x7fb"], levels=["]]>", "&amp;", "<b/>", "\u2028"], seed=0)
def test_any_names_and_levels_come_back(tmp_path_factory, names, levels, seed):
    network = small_network(seed, names=names, levels=[tuple(levels)])
    folder = tmp_path_factory.mktemp("formats")
    for ending in NAMED:
        network.export(folder / f"net.{ending}")
        again = DiscretizedBayesNet.from_file(folder / f"net.{ending}")
        assert again.names == network.names
        assert [tuple(map(str, states)) for states in again.levels.values()] == [
            tuple(map(str, states)) for states in network.levels.values()
        ]
        for name in names:
            np.testing.assert_array_equal(again.tables[name], network.tables[name])


def test_states_are_readable_and_bins_distinct(tmp_path):
    network = DiscretizedBayesNet(
        ["Größe in m", "sex"],
        [("Größe in m", "sex")],
        cut_points={"Größe in m": [-1e-7, 2.5, 2.50001]},
        support={"Größe in m": (-1.0, 4.0)},
        levels={"sex": ("weiblich", 'männlich "m"')},
        tables={"Größe in m": [0.25] * 4, "sex": [[0.5, 0.5]] * 4},
    )
    xdsl = network.to_xdsl()
    for state in (
        "up_to_minus_1e_minus_07",
        "from_minus_1e_minus_07_to_2_5",
        "above_2_50001",
        "mannlich__m_",
    ):
        assert f'<state id="{state}" />' in xdsl
    assert "<name>Größe in m</name>" in xdsl
    assert '<cpt id="Gro_e_in_m">' in xdsl
    net = network.to_net()
    assert 'states = ("up to -1e-07" "-1e-07 to 2.5" "2.5 to 2.50001" "above 2.50001");' in net
    assert "state_values = (-1.0 -1e-07 2.5 2.50001 4.0);" in net
    assert 'states = ("weiblich" "mannlich \'m\'");' in net


def test_drawings_have_parents_above_children_and_no_overlap():
    network = small_network(2, 12, max_parents=3)
    boxes = _boxes(network.to_xdsl())
    assert set(boxes) == set(network.names)
    for parent, child in network.edges:
        assert boxes[parent][3] < boxes[child][1]
    for first in network.names:
        for second in network.names:
            a, b = boxes[first], boxes[second]
            assert first == second or a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
    heights = dict(
        zip(
            network.names,
            (line.split("(")[1].split()[1] for line in network.to_net().splitlines() if "position" in line),
        )
    )
    for parent, child in network.edges:
        assert int(heights[parent].rstrip(");")) > int(heights[child].rstrip(");"))


def _boxes(text):
    """Return the positions in XDSL text by node."""
    lines = text.splitlines()
    starts = [(index, line.split('"')[1]) for index, line in enumerate(lines) if "<node id=" in line]
    return {
        name: [int(end) for end in lines[index + 5].split(">")[1].split("<")[0].split()]
        for index, name in starts
    }


XDSL = """<?xml version="1.0" encoding="ISO-8859-1"?>
<smile version="1.0" id="n" numsamples="1000">
 <nodes>
  <cpt id="rain"><state id="yes" /><state id="no" /><probabilities>0.2 0.8</probabilities></cpt>
  <deterministic id="wet"><state id="dry" /><state id="wet" /><parents>rain</parents>
   <resultingstates>wet dry</resultingstates></deterministic>
 </nodes>
 <extensions><genie version="1.0"><node id="rain"><name>L\xe4rm</name></node></genie></extensions>
</smile>"""
OTHER_NET = """net { node_size = (80 40); HR_Zoom = "100"; }
% a comment with { in it
node B { states = ("x" "y" "z"); label = "a { b"; }
discrete node A { states = (u v); }
potential (A) { data = (0.25 0.75); }
potential ( B | A ) { % rows
  data = ((0.1 0.2 0.7) % A=u
          (0.5 0.25 0.25)); }
"""


def test_files_of_other_programs_are_read(tmp_path):
    (tmp_path / "a.xdsl").write_bytes(XDSL.encode("latin-1"))
    network = DiscretizedBayesNet.from_file(tmp_path / "a.xdsl")
    assert network.levels == {"rain": ("yes", "no"), "wet": ("dry", "wet")}
    assert network.tables["wet"].tolist() == [[0, 1], [1, 0]]
    (tmp_path / "a.net").write_text(OTHER_NET)
    network = DiscretizedBayesNet.from_file(tmp_path / "a.net")
    assert network.names == ("B", "A")
    assert network.edges == [("A", "B")]
    assert network.tables["B"].tolist() == [[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]]
    assert network.tables["A"].tolist() == [0.25, 0.75]


@pytest.mark.parametrize("ending", ["bifxml", "xmlbif", "xml"])
def test_xmlbif_of_pyagrum_has_its_probabilities(tmp_path, monkeypatch, ending):
    monkeypatch.chdir(tmp_path)
    network = small_network(5, 6, max_bins=5, max_parents=3)
    network.export("start.bif")
    theirs = pyagrum.loadBN("start.bif")
    pyagrum.saveBN(theirs, "theirs.bifxml")
    (tmp_path / "theirs.bifxml").rename(f"model.{ending}")
    again = DiscretizedBayesNet.from_file(f"model.{ending}")
    assert set(again.names) == set(theirs.names())
    for name in again.names:
        parents = again.parents(name)
        for cell in np.ndindex(again.tables[name].shape):
            states = dict(zip([*parents, name], map(int, cell)))
            assert np.isclose(again.tables[name][cell], theirs.cpt(name)[states], atol=2e-6)
    assert sorted(ExpertNetwork.from_file(f"model.{ending}").edges) == sorted(again.edges)
    with pytest.raises(GomeaBnError, match="must end in one of"):
        network.export("other.bifxml")


XMLBIF = """<?xml version="1.0"?>
<!DOCTYPE BIF [ <!ELEMENT BIF ( NETWORK )*> <!ATTLIST BIF VERSION CDATA #REQUIRED> ]>
<BIF VERSION="0.3"><NETWORK><NAME>dog</NAME>
<VARIABLE TYPE="nature"><NAME>out</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>ill</NAME><OUTCOME>a</OUTCOME><OUTCOME>b</OUTCOME><OUTCOME>c</OUTCOME></VARIABLE>
<DEFINITION><FOR>out</FOR><GIVEN>ill</GIVEN><TABLE>.1 .9 <!-- a --> .2 .8
 .3 .7</TABLE></DEFINITION>
<DEFINITION><FOR>ill</FOR><TABLE>.5 .25 .25</TABLE></DEFINITION>
</NETWORK></BIF>
"""


def test_the_variable_itself_changes_fastest_in_xmlbif(tmp_path):
    (tmp_path / "dog.xmlbif").write_text(XMLBIF)
    network = DiscretizedBayesNet.from_file(tmp_path / "dog.xmlbif")
    assert network.levels == {"out": ("yes", "no"), "ill": ("a", "b", "c")}
    assert network.tables["out"].tolist() == [[0.1, 0.9], [0.2, 0.8], [0.3, 0.7]]


BOMB = """<?xml version="1.0"?>
<!DOCTYPE smile [ <!ENTITY a "aaaaaaaaaa"> <!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"> ]>
<smile><nodes>&b;</nodes></smile>"""
LEAK = """<!DOCTYPE smile [ <!ENTITY x SYSTEM "file:///etc/hostname"> ]><smile><nodes>&x;</nodes></smile>"""


@pytest.mark.parametrize(
    ("ending", "text", "words"),
    [
        ("xdsl", BOMB, ["line 2", "entity 'a'"]),
        ("xdsl", LEAK, ["line 1", "entity 'x'"]),
        ("xmlbif", BOMB.replace("smile", "BIF"), ["line 2", "entity 'a'"]),
        ("xmlbif", "<BIF/>", ["no variables"]),
        ("xmlbif", XMLBIF.replace("nature", "decision", 1), ["line 4", "'out'", "'decision'"]),
        ("xmlbif", XMLBIF.replace("<GIVEN>ill", "<GIVEN>well"), ["line 6", "unknown variable 'well'"]),
        ("xmlbif", XMLBIF.replace("<FOR>ill", "<FOR>out"), ["'out' is defined twice"]),
        ("xmlbif", XMLBIF.replace(".25 .25", ".25"), ["ill", "wanted 3 numbers"]),
        ("xdsl", "<a>" * 200, ["wanted the root element smile, got 'a'"]),
        ("xdsl", "<smile>" * 200, ["nested more than 100 deep"]),
        ("xdsl", "<smile><nodes>", ["is not XML"]),
        ("xdsl", "", ["is not XML"]),
        ("xdsl", "<smile/>", ["no nodes"]),
        ("xdsl", '<smile><nodes>\n<noisymax id="q"/></nodes></smile>', ["line 2", "node 'q'", "'noisymax'"]),
        ("xdsl", '<smile><nodes><cpt id="q"/></nodes></smile>', ["'q' has no states"]),
        ("xdsl", XDSL.replace("0.2 0.8", "0.2 0.7"), ["line 4", "'rain'", "does not sum to 1"]),
        ("xdsl", XDSL.replace("0.2 0.8", "0.2 0.8 0"), ["line 4", "wanted 2 numbers", "got 3"]),
        ("xdsl", XDSL.replace("0.2 0.8", "0.2 x"), ["line 4", "'rain'", "'x'"]),
        ("xdsl", XDSL.replace("0.2 0.8", "nan 0.8"), ["does not sum to 1"]),
        ("xdsl", XDSL.replace("0.2 0.8", "-0.2 1.2"), ["negative"]),
        ("xdsl", XDSL.replace(">rain</parents>", ">snow</parents>"), ["line 5", "unknown parent 'snow'"]),
        ("xdsl", XDSL.replace('id="wet">', 'id="rain">', 1), ["line 5", "duplicate node"]),
        ("xdsl", XDSL.replace("wet dry", "wet damp"), ["'wet'", "does not sum to 1"]),
        ("xdsl", XDSL.replace("</cpt>", "<probabilities>1 0</probabilities></cpt>"),
         ["line 4", "node 'rain' has 2 elements probabilities"]),
        ("xdsl", XDSL.replace("<parents>", "<parents></parents><parents>"), ["line 5", "'wet' has 2 elements parents"]),
        ("net", OTHER_NET.replace("data = (0.25", "data = (1 0); data = (0.25"),
         ["line 5", "potential of 'A' has two values of 'data'"]),
        ("net", OTHER_NET.replace("states = (u", "states = (w x); states = (u"), ["line 4", "'A' has two values of"]),
        ("net", "", ["empty"]),
        ("net", "hello", ["line 1", "wanted net, node or potential"]),
        ("net", OTHER_NET.replace("discrete node", "continuous node"), ["line 4", "continuous"]),
        ("net", OTHER_NET.replace("node B", "utility B"), ["line 3", "'B'", "'utility'"]),
        ("net", OTHER_NET.replace("(0.25 0.75)", "(0.25 0.7 0.05)"), ["line 5", "'A'", "wanted 2 numbers", "got 3"]),
        ("net", OTHER_NET.replace("(0.25 0.75)", "normal (0, 1)"), ["line 5", "'A'"]),
        ("net", OTHER_NET.replace("| A", "| C"), ["line 8", "unknown node 'C'"]),
        ("net", OTHER_NET.replace("potential (A)", "potential (B)"), ["'B' has two potentials"]),
        ("net", OTHER_NET.replace("( B | A )", "( B A )"), ["one node, got 2"]),
        ("net", OTHER_NET[: OTHER_NET.index("0.5 0.25")], ["end of the text"]),
    ],
)  # fmt: skip
def test_malformed_and_hostile_files_are_refused_in_one_line(tmp_path, ending, text, words):
    path = tmp_path / f"bad.{ending}"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(GomeaBnError) as caught:
        DiscretizedBayesNet.from_file(path)
    for word in (f"bad.{ending}'", *words):
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def many_parents(n):
    """Return files with a variable whose table would have 2**n rows, by ending."""
    names = [f"v{i}" for i in range(n)]
    parents = " ".join(names)
    node = '<cpt id="{}"><state id="a"/><state id="b"/>{}<probabilities>0.5 0.5</probabilities></cpt>'
    bif = "variable {} {{ type discrete [ 2 ] {{ a, b }}; }}\n"
    return {
        "xdsl": "<smile><nodes>"
        + "".join(node.format(name, "") for name in names)
        + node.format("w", f"<parents>{parents}</parents>")
        + "</nodes></smile>",
        "net": "net {}\n"
        + "".join(f"node {name} {{ states = (a b); }}\n" for name in [*names, "w"])
        + "".join(f"potential ({name}) {{ data = (.5 .5); }}\n" for name in names)
        + f"potential (w | {parents}) {{ data = (.5 .5); }}",
        "bif": "".join(bif.format(name) for name in [*names, "w"])
        + "".join(f"probability ( {name} ) {{ table .5, .5; }}\n" for name in names)
        + f"probability ( w | {', '.join(names)} ) {{ default .5, .5; }}",
    }


@pytest.mark.parametrize("n", [30, 70])
@pytest.mark.parametrize("ending", ["xdsl", "net", "bif"])
def test_tables_that_a_file_cannot_hold_are_refused_before_they_are_made(tmp_path, monkeypatch, ending, n):
    path = tmp_path / f"large.{ending}"
    path.write_text(many_parents(n)[ending])
    allocated = []
    full = np.full

    def noted(shape, *rest):
        allocated.append(np.prod(shape))
        return full(shape, *rest)

    monkeypatch.setattr(np, "full", noted)
    with pytest.raises(
        GomeaBnError, match=rf"large\.{ending}': .*({n} parents|wanted {2 ** (n + 1):,} numbers)"
    ):
        DiscretizedBayesNet.from_file(path)
    assert max(allocated, default=0) <= 2


@pytest.mark.parametrize(
    ("ending", "way"),
    [(ending, r"GeNIe.*\.xdsl") for ending in ("dsl", "DNE", "dnet", "neta", "dne.gz")]
    + [("uai", r"pyAgrum.*\.bif")],
)
def test_formats_of_other_programs_are_named(tmp_path, ending, way):
    path = tmp_path / f"model.{ending}"
    path.write_text('bnet Unnamed { version = "9.01"; };')
    attempts = [
        lambda: DiscretizedBayesNet.from_file(path),
        lambda: ExpertNetwork.from_file(path),
    ]
    if not ending.endswith("gz"):
        attempts.append(lambda: small_network(1).export(path))
    for attempt in attempts:
        with pytest.raises(GomeaBnError, match=rf"files are neither read nor written.*{way}"):
            attempt()
    assert path.read_text().startswith("bnet")


def test_a_table_with_a_default_row_may_be_larger_than_the_file(tmp_path):
    (tmp_path / "a.bif").write_text(many_parents(12)["bif"])
    assert DiscretizedBayesNet.from_file(tmp_path / "a.bif").tables["w"].shape == (2,) * 13


def test_the_ending_decides_the_format(tmp_path):
    network = small_network(1)
    assert {name: format_of(f"A.{name.upper()}") for name in FORMATS} == {name: name for name in FORMATS}
    assert format_of("a.net.gz") is None
    assert format_of("a.net.gz", compressed=True) == "net"
    assert format_of("net") is None
    network.export(tmp_path / "plain", "xdsl")
    assert DiscretizedBayesNet.from_file(tmp_path / "plain", "xdsl").names == network.names
    for name in WRITTEN:
        network.export(tmp_path / f"b.{name}")
        assert (tmp_path / f"b.{name}").read_text() == getattr(network, f"to_{name}")()
    with pytest.raises(GomeaBnError, match=r"must end in one of \.json, \.bif, \.dot, \.xdsl, \.net\."):
        network.export(tmp_path / "b.pickle")
    with pytest.raises(GomeaBnError, match="format must be"):
        network.export(tmp_path / "b.net", "pickle")
    with pytest.raises(GomeaBnError, match="format must be"):
        DiscretizedBayesNet.from_file(tmp_path / "b.dot")
