import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from network_examples import small_network
from shaped_examples import point_at_a_cut
from wrong_input import untyped

from gomea_bn import Front, GomeaBnError, accept, read_decision
from gomea_bn.front import COMPLEXITY, MISFIT
from gomea_bn.front.decision import MAX_BYTES, Decision

FRONT = Front(
    [MISFIT, COMPLEXITY],
    [[number, (19 - number) ** 2] for number in range(20)],
    lambda row: small_network(row, 3),
    record={"seed": 5, "data_sha256": "ab", "n_rows": 30},
)
CONTENT = {
    "format": "gomea-bn decision",
    "format_version": 1,
    "run_hash": FRONT.run_hash,
    "network": 12,
    "shortlist": [3, 12],
    "notes": {"3": 'too "dense" </script> é 😀', "12": ""},
    "weights": {"misfit": 0.25, "complexity": 1},
    "filters": {"misfit": [0, 1.5], "n_edges": [2, 4]},
    "rules": ["has a → b", "has a cut of a up to 1"],
    "made": "2026-11-05T14:30:00.123Z",
}


def text_of(**changes):
    """Return the text of a decision with fields replaced, or taken out where the value is `...`."""
    content = {**CONTENT, **changes}
    return json.dumps({key: value for key, value in content.items() if value is not ...})


def test_a_decision_of_the_page_is_read_from_file_and_text(tmp_path):
    path = tmp_path / "decision.json"
    path.write_text(text_of(), encoding="utf-8")
    decision = read_decision(path)
    assert decision == read_decision(str(path)) == read_decision("\n" + text_of())
    assert decision == Decision(
        run_hash=FRONT.run_hash,
        network=12,
        made="2026-11-05T14:30:00.123Z",
        shortlist=(3, 12),
        notes={3: 'too "dense" </script> é 😀', 12: ""},
        weights={"misfit": 0.25, "complexity": 1.0},
        filters={"misfit": (0.0, 1.5), "n_edges": (2.0, 4.0)},
        rules=("has a → b", "has a cut of a up to 1"),
    )
    path.write_bytes(b"\xef\xbb\xbf" + text_of().encode())
    assert read_decision(path) == decision


def test_half_a_character_in_a_note_does_no_harm():
    decision = read_decision(text_of(notes={"3": "\ud83d"}))
    assert accept(FRONT, decision).metadata["decision"]["notes"] == {"3": "\ud83d"}
    assert read_decision(decision.to_json()) == decision


def test_fields_that_say_nothing_may_be_missing():
    decision = read_decision(text_of(shortlist=..., notes=..., weights=..., filters=..., rules=...))
    assert (decision.shortlist, decision.notes, decision.weights, decision.filters) == ((), {}, {}, {})
    assert decision.rules == ()


@pytest.mark.long
@given(
    st.builds(
        Decision,
        run_hash=st.text("0123456789abcdef", min_size=64, max_size=64),
        network=st.integers(0, 10**9 - 1),
        made=st.datetimes().map(lambda time: time.isoformat()),
        shortlist=st.lists(st.integers(0, 10**9 - 1), unique=True).map(tuple),
        notes=st.dictionaries(st.integers(0, 10**9 - 1), st.text()),
        weights=st.dictionaries(st.text(), st.floats(0, 1e300)),
        filters=st.dictionaries(st.text(), st.tuples(st.floats(-1e300, 0), st.floats(0, 1e300))),
        rules=st.lists(st.text()).map(tuple),
        required_edges=st.lists(st.tuples(st.text(), st.text())).map(tuple),
        forbidden_edges=st.lists(st.tuples(st.text(), st.text())).map(tuple),
        names=st.dictionaries(st.text(), st.text()),
        levels=st.dictionaries(st.text(), st.dictionaries(st.text(), st.text())),
    )
)
def test_a_decision_survives_its_own_text(decision):
    assert read_decision(decision.to_json()) == decision


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"format": "gomea-bn network"},
            "not a decision: wanted .*'gomea-bn decision', got 'gomea-bn network'",
        ),
        ({"format": ...}, "not a decision.*got None"),
        ({"format_version": 2}, "format_version 2; this release reads 1"),
        ({"format_version": True}, "format_version True"),
        ({"format_version": ...}, "format_version None"),
        ({"run_hash": 12}, "run_hash must be 64 hexadecimal digits, got 12"),
        ({"forbidden_edges": ["ab"]}, "forbidden_edges must hold pairs of parent and child, got 'ab'"),
        ({"required_edges": [["a", 1]]}, "A child in required_edges must be text, got 1"),
        ({"required_edges": "ab"}, "required_edges must be a list of edges, got str"),
        ({"names": []}, "names must be an object, got list"),
        ({"levels": {"a": []}}, "levels..a.. must be an object, got list"),
        ({"run_hash": "AB" * 32}, "run_hash"),
        ({"run_hash": FRONT.run_hash + "\n"}, "run_hash"),
        ({"run_hash": ...}, "lacks the field 'run_hash'"),
        ({"network": "12"}, "network must hold ids of networks, integers of at least 0, got '12'"),
        ({"network": 12.0}, "network.*got 12.0"),
        ({"network": True}, "network.*got True"),
        ({"network": -1}, "network.*got -1"),
        ({"network": None}, "network.*got None"),
        ({"network": 10**30}, "network.*got 1000"),
        ({"network": ...}, "lacks the field 'network'"),
        ({"shortlist": {"3": 1}}, "shortlist must be a list of ids, got dict"),
        ({"shortlist": [3, "x"]}, "shortlist must hold ids.*got 'x'"),
        ({"shortlist": [3, 3]}, r"shortlist has a duplicate id, got \[3, 3\]"),
        ({"rules": "has a → b"}, "rules must be a list of texts, got str"),
        ({"rules": [3]}, "A rule in rules must be text, got 3"),
        ({"notes": ["x"]}, "notes must be an object, got list"),
        ({"notes": {"3": 4}}, r"notes\[3\] must be text, got 4"),
        ({"notes": {"03": "x"}}, "ids of networks as keys, got '03'"),
        ({"notes": {"-1": "x"}}, "ids of networks as keys, got '-1'"),
        ({"notes": {"٣": "x"}}, "ids of networks as keys"),
        ({"notes": {"9" * 5000: "x"}}, "ids of networks as keys"),
        ({"weights": {"misfit": -1}}, r"weights\['misfit'\] must be a finite number of at least 0, got -1"),
        (
            {"weights": {"misfit": None}},
            r"weights\['misfit'\] must be a finite number of at least 0, got None",
        ),
        ({"weights": {"misfit": True}}, "must be a finite number of at least 0, got True"),
        ({"weights": {"misfit": 10**400}}, "must be a finite number of at least 0, got 1000"),
        ({"weights": [1, 2]}, "weights must be an object, got list"),
        ({"filters": {"misfit": 3}}, r"filters\['misfit'\] must be two numbers, least and most, got 3"),
        ({"filters": {"misfit": [1, 2, 3]}}, "must be two numbers"),
        ({"filters": {"misfit": [2, 1]}}, r"must have its smaller number first, got \[2.0, 1.0\]"),
        ({"filters": {"misfit": [None, 1]}}, "must be a finite number, got None"),
        ({"filters": None}, "filters must be an object, got NoneType"),
        ({"made": "yesterday"}, "made must be a time such as .*got 'yesterday'"),
        ({"made": 1762353000}, "made must be a time"),
        ({"made": ...}, "lacks the field 'made'"),
        ({"netwrok": 3}, "unknown field 'netwrok'.*Did you mean 'network'"),
    ],
)
def test_fields_of_wrong_type_or_form_are_refused(changes, message):
    with pytest.raises(GomeaBnError, match=message):
        read_decision(text_of(**changes))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "JSON text is not JSON"),
        (text_of().replace("0.25", "NaN"), "NaN is not a JSON number"),
        (text_of().replace("0.25", "Infinity"), "Infinity is not a JSON number"),
        (text_of().replace("0.25", "1e999"), "must be a finite number of at least 0, got inf"),
        (text_of().replace('"network": 12', '"network": 12, "network": 3'), "duplicate key 'network'"),
        (text_of().replace('"3": ', '"12": '), "duplicate key '12'"),
        (text_of().replace('"network": 12', '"network": ' + "9" * 5000), "not JSON"),
        ('{"format": ' + "[" * 100_000, "not JSON"),
        (text_of() + "}", "not JSON"),
        (text_of() + " " * MAX_BYTES, "is not a decision; the limit is 5,000,000"),
    ],
)
def test_text_that_is_no_such_json_is_refused(text, message):
    with pytest.raises(GomeaBnError, match=message):
        read_decision(text)


def test_files_that_cannot_be_read_are_refused(tmp_path):
    path = tmp_path / "decision.json"
    with pytest.raises(GomeaBnError, match=r"decision.json' does not exist"):
        read_decision(path)
    with pytest.raises(GomeaBnError, match="cannot be read: Is a directory"):
        read_decision(tmp_path)
    with pytest.raises(GomeaBnError, match=r"File 'a.b' cannot be read: embedded null"):
        read_decision("a\0b")
    with pytest.raises(GomeaBnError, match="path or JSON text, got int"):
        read_decision(untyped(3))
    path.write_bytes(b'{"format": "\xff"}')
    with pytest.raises(GomeaBnError, match="not UTF-8 text: invalid start byte at byte 12"):
        read_decision(path)
    path.write_text("[1, 2]")
    with pytest.raises(GomeaBnError, match=r"not a decision.*got list"):
        read_decision(path)
    with open(path, "wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(GomeaBnError, match="larger than 5,000,000 bytes"):
        read_decision(path)


def test_accepting_returns_the_network_with_the_decision_in_its_metadata():
    decision = read_decision(text_of())
    model = accept(FRONT, decision)
    chosen = FRONT[12].network
    assert model == chosen
    assert chosen.metadata == {"seed": chosen.metadata["seed"]}
    metadata = model.metadata
    assert metadata.pop("decision") == {
        key: value for key, value in json.loads(decision.to_json()).items() if not key.startswith("format")
    }
    assert metadata == chosen.metadata


def test_accepting_keeps_the_shapes_of_the_network():
    front = Front([MISFIT], [[1.0]], [point_at_a_cut()])
    network = accept(front, Decision(front.run_hash, 0, "2026-11-05T14:30:00Z"))
    assert network == front[0].network
    assert network.shapes["x"].points == {4.0: 0.4}


def test_a_decision_about_another_front_is_refused_with_both_hashes():
    other = Front([MISFIT, COMPLEXITY], FRONT.values, lambda row: small_network(row, 3), record={"seed": 6})
    with pytest.raises(
        GomeaBnError, match=f"its run_hash is {FRONT.run_hash}, this front has {other.run_hash}. Give"
    ):
        accept(other, read_decision(text_of()))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"network": 20}, "network: unknown network 20; the front has networks 0 to 19"),
        ({"shortlist": [3, 77]}, "shortlist: unknown network 77"),
        ({"notes": {"20": "x"}}, "notes: unknown network 20"),
        ({"weights": {"misfits": 1}}, "unknown objective 'misfits'.*Did you mean 'misfit'"),
    ],
)
def test_ids_and_objectives_that_the_front_lacks_are_refused(changes, message):
    with pytest.raises(GomeaBnError, match=message):
        accept(FRONT, read_decision(text_of(**changes)))


def test_a_thinned_front_answers_for_the_whole_one():
    thin = FRONT.thin(8)
    for position, number in enumerate(thin.original_index):
        whole = Decision(FRONT.run_hash, number, "2026-11-05", shortlist=(19,))
        assert accept(thin, whole) == accept(FRONT, whole) == FRONT[number].network
        thinned = replace(whole, run_hash=thin.run_hash, network=position, shortlist=())
        assert accept(thin, thinned) == FRONT[number].network
        with pytest.raises(GomeaBnError, match="about another front"):
            accept(FRONT, thinned)
    left_out = next(number for number in range(20) if number not in thin.original_index)
    with pytest.raises(GomeaBnError, match=f"Network {left_out} was left out when .* thinned from 20 to 8"):
        accept(thin, Decision(FRONT.run_hash, left_out, "2026-11-05"))
    with pytest.raises(GomeaBnError, match="network: unknown network 8; the front has networks 0 to 7"):
        accept(thin, Decision(thin.run_hash, 8, "2026-11-05"))


def test_only_a_front_and_a_decision_are_accepted():
    with pytest.raises(GomeaBnError, match="got Front and dict"):
        accept(FRONT, untyped(CONTENT))
    with pytest.raises(GomeaBnError, match="got list and Decision"):
        accept(untyped([]), read_decision(text_of()))


def test_decisions_made_in_python_are_checked_and_copied_too():
    notes: dict[Any, str] = {np.int64(3): "x"}
    decision = Decision(
        FRONT.run_hash, untyped(np.int64(3)), "2026-11-05", shortlist=untyped([np.int64(4)]), notes=notes
    )
    notes[5] = "y"
    assert decision.notes == {3: "x"}
    assert decision.shortlist == (4,)
    assert read_decision(decision.to_json()) == decision
    with pytest.raises(GomeaBnError, match="notes must hold ids"):
        Decision(FRONT.run_hash, 3, "2026-11-05", notes=untyped({"3": "x"}))
    with pytest.raises(GomeaBnError, match="A name in weights must be text, got 3"):
        Decision(FRONT.run_hash, 3, "2026-11-05", weights=untyped({3: 1.0}))


def test_a_decision_about_one_network_has_nothing_to_accept():
    with pytest.raises(GomeaBnError, match=r"nothing to choose.*--rules"):
        accept(FRONT, Decision(None, 0, "2026-11-05", forbidden_edges=(("a", "b"),)))


def test_a_decision_about_one_network_stays_with_it():
    network = FRONT.network(0)
    first, second = network.names[:2]
    said = Decision(None, 0, "2026-11-05", notes={0: "x"}, forbidden_edges=((first, second),))
    accepted = accept(network, said)
    assert accepted.edges == network.edges
    assert accepted.metadata["decision"]["notes"] == {"0": "x"}
    with pytest.raises(GomeaBnError, match="no column 'other'"):
        accept(network, Decision(None, 0, "2026-11-05", required_edges=((first, "other"),)))
    with pytest.raises(GomeaBnError, match="chooses network 3 of a front"):
        accept(network, Decision(FRONT.run_hash, 3, "2026-11-05"))
