"""How the texts of options are read."""

from pathlib import Path
from typing import Any

import pytest

from gomea_bn import GomeaBnError
from gomea_bn.cli import option_texts
from gomea_bn.cli.commands.bins import _read_options
from gomea_bn.cli.option_texts import read_kinds
from gomea_bn.front.decision import Decision


def test_the_last_equals_sign_separates_a_column_from_its_kind():
    assert read_kinds(["a=b=discrete", " c = continuous "]) == {"a=b": "discrete", "c": "continuous"}


def test_the_first_equals_sign_separates_an_option_from_its_value():
    assert _read_options(["a=b=c", "n=3", 'names=["x"]']) == {"a": "b=c", "n": 3, "names": ["x"]}


def test_options_are_read_from_words():
    assert option_texts.read_kinds(["a=b=discrete"]) == {"a=b": "discrete"}
    assert option_texts.read_cut_points(["age = 18, 40,65 ", "x="]) == {"age": [18.0, 40.0, 65.0], "x": []}
    assert option_texts.cut_files(["x=1", "cuts.json"]) == [Path("cuts.json")]
    assert option_texts.read_edges("--require", ["a,b", "a -> b", '"a,b",c', '"p->q",r']) == [
        ("a", "b"), ("a", "b"), ("a,b", "c"), ("p->q", "r"),
    ]  # fmt: skip
    assert option_texts.read_tiers(['a,"b,c"', "d"], None) == [["a", "b,c"], ["d"]]
    for bad in ("", "->b", "a->", "a->b->c", ",", "a,"):
        with pytest.raises(GomeaBnError, match="--forbid"):
            option_texts.read_edges("--forbid", [bad])


@pytest.mark.parametrize("first", ["a", "a b", 'say "a"', "a->b", "a,b", '5" pipe'])
@pytest.mark.parametrize("second", ["c", 'the "c"', "c->d", "c,d"])
@pytest.mark.parametrize("mark", [",", "->", " -> ", " , "])
def test_names_of_edges_may_be_quoted_around_commas_and_arrows(first, second, mark):
    quoted = ['"' + name.replace('"', '""') + '"' for name in (first, second)]
    assert option_texts.read_edges("--require", [mark.join(quoted)]) == [(first, second)]
    plain = [name if name.isalnum() else text for name, text in zip((first, second), quoted, strict=True)]
    assert option_texts.read_edges("--require", [mark.join(plain)]) == [(first, second)]


@pytest.mark.parametrize("text", ['"a,b', 'a,"b', '"a"x,b', '"a->b', 'a->"b'])
def test_a_quote_that_is_not_closed_is_refused(text):
    with pytest.raises(GomeaBnError, match="--require"):
        option_texts.read_edges("--require", [text])


def test_tiers_come_from_one_place(tmp_path):
    file = tmp_path / "tiers.txt"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(GomeaBnError, match="not UTF-8"):
        option_texts.read_tiers([], file)
    file.write_text("\n\n")
    with pytest.raises(GomeaBnError, match="names no column"):
        option_texts.read_tiers([], file)
    with pytest.raises(GomeaBnError, match="not both"):
        option_texts.read_tiers(["a"], file)


def test_one_tier_alone_says_that_it_rules_out_nothing(capsys):
    rules: dict[str, Any] = {
        "require": (), "forbid": (), "rules": None, "tiers": None, "max_table_cells": 100,
    }  # fmt: skip
    option_texts.read_knowledge(tier=["a,b", "c"], **rules)
    assert capsys.readouterr().err == ""
    option_texts.read_knowledge(tier=["a,b"], **rules)
    assert "--tier: one tier alone rules out no edge; name at least two" in capsys.readouterr().err


def test_rules_of_a_decision_join_those_of_the_options(tmp_path, capsys):
    file = tmp_path / "decision.json"
    rules: dict[str, Any] = {"rules": file, "tier": (), "tiers": None, "max_table_cells": 100}
    decision = Decision(
        None, 0, "2026-11-05", required_edges=(("a", "b"),), forbidden_edges=(("b", "c"), ("c", "b"))
    )
    file.write_text(decision.to_json(), encoding="utf-8")
    knowledge = option_texts.read_knowledge(require=["a,b", "d,e"], forbid=["b,c"], **rules)
    assert knowledge.required_edges == (("a", "b"), ("d", "e"))
    assert knowledge.forbidden_edges == (("b", "c"), ("c", "b"))
    assert capsys.readouterr().err == ""
    file.write_text(Decision(None, 0, "2026-11-05").to_json(), encoding="utf-8")
    option_texts.read_knowledge(require=(), forbid=(), **rules)
    assert "has no rule about an edge" in capsys.readouterr().err
    file.write_text("{}", encoding="utf-8")
    with pytest.raises(GomeaBnError, match="--rules"):
        option_texts.read_knowledge(require=(), forbid=(), **rules)
