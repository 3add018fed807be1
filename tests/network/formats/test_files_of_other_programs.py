"""Files of networks as JavaBayes, pyAgrum and GeNIe write them, and in encodings that are not UTF-8."""

from pathlib import Path

import numpy as np
import pytest

from gomea_bn import DiscretizedBayesNet, GomeaBnError

JAVABAYES = """// Bayesian network
network "Dog-Problem" { //3 variables
	property "credal-set constant-density-bounded 1.1" ;
}
variable  "light-on" { //2 values
	type discrete[2] {  "true"  "false" };
	property "position = (218, 195)" ;
}
variable  "bowel problem" { //2 values
	type discrete[2] {  "true"  "false" };
}
variable  "dog-out" { //2 values
	type discrete[2] {  "true"  "false" };
}
probability (  "light-on" ) { //1 variable(s) and 2 values
	table 0.6 0.4 ;
}
probability (  "bowel problem" ) { table 0.01 0.99 ; }
probability (  "dog-out" | "bowel problem" "light-on" ) { //3 variable(s) and 8 values
	(true true) 0.99 0.01 ;
	(true false) 0.97 0.03 ;
	(false true) 0.9 0.1 ;
	(false false) 0.3 0.7 ;
}
"""


def test_javabayes_separates_by_blanks(tmp_path: Path) -> None:
    text = JAVABAYES.replace('"bowel problem"', '"bowel-problem"')
    (tmp_path / "dog.bif").write_text(text)
    network = DiscretizedBayesNet.from_file(tmp_path / "dog.bif")
    assert network.names == ("light-on", "bowel-problem", "dog-out")
    answer = network.query("dog-out", {"light-on": "false", "bowel-problem": "true"})
    assert np.isclose(answer["true"], 0.97)


def test_one_parent_may_have_blanks_in_its_name(tmp_path: Path) -> None:
    lone = JAVABAYES.replace('| "bowel problem" "light-on"', '| "bowel problem"').replace(
        "(true true) 0.99 0.01 ;", ""
    )
    lone = (
        lone.replace("(true false)", "(true)")
        .replace("(false true) 0.9 0.1 ;", "")
        .replace("(false false)", "(false)")
    )
    (tmp_path / "dog.bif").write_text(lone)
    network = DiscretizedBayesNet.from_file(tmp_path / "dog.bif")
    assert np.isclose(network.query("dog-out", {"bowel problem": "false"})["true"], 0.3)


BIF = """network x { }
variable Größe { type discrete [ 2 ] { groß, klein }; }
probability ( Größe ) { table 0.2, 0.8; }
"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_bif_in_other_encodings(encoding, tmp_path, recwarn):
    (tmp_path / "a.bif").write_bytes(BIF.encode(encoding))
    assert DiscretizedBayesNet.from_file(tmp_path / "a.bif").levels == {"Größe": ("groß", "klein")}
    assert [("Windows-1252" in str(w.message), "Größe" in str(w.message)) for w in recwarn] == (
        [(True, True)] if encoding == "cp1252" else []
    )


XDSL = """<?xml version="1.0" encoding="{}"?>
<smile version="1.0" id="n" numsamples="10"><nodes><cpt id="a"><state id="{}"/><state id="no"/>
<probabilities>0.25 0.75</probabilities></cpt></nodes></smile>
"""


@pytest.mark.parametrize(
    ("encoding", "level"),
    [("utf-8", "groß"), ("ISO-8859-1", "groß"), ("windows-1252", "groß"), ("GBK", "大"), ("utf-16", "groß")],
)
def test_xdsl_in_the_encoding_that_it_declares(encoding, level, tmp_path):
    (tmp_path / "a.xdsl").write_bytes(XDSL.format(encoding, level).encode(encoding))
    assert DiscretizedBayesNet.from_file(tmp_path / "a.xdsl").levels == {"a": (level, "no")}


def test_an_unknown_encoding_is_named(tmp_path):
    (tmp_path / "a.xdsl").write_bytes(XDSL.format("klingon", "x").encode())
    with pytest.raises(GomeaBnError, match="unknown encoding: klingon"):
        DiscretizedBayesNet.from_file(tmp_path / "a.xdsl")


def test_net_of_pyagrum(tmp_path):
    gum = pytest.importorskip("pyagrum")
    theirs = gum.fastBN("a{yes|no}->c{lo|mid|hi};b[3]->c")
    gum.saveBN(theirs, str(tmp_path / "a.net"))
    network = DiscretizedBayesNet.from_file(tmp_path / "a.net")
    answer = network.query("c", {"a": "no", "b": "1"})
    expected = [theirs.cpt("c")[{"a": "no", "b": 1, "c": level}] for level in range(3)]
    assert np.allclose(answer[["lo", "mid", "hi"]].to_numpy(np.float64), expected)
