"""Networks with conditionals as JSON: the exact way back, and files that are damaged."""

import json
from typing import Any

import numpy as np
import pytest
from averaged_examples import averaged_example, conditionals_of, line_of_b, tables_of
from network_examples import HOSTILE_NAMES, small_network

from gomea_bn import DiscretizedBayesNet, GomeaBnError
from gomea_bn.network.conditionals import Conditionals

TEXT = averaged_example().to_json()
# to take a field away
GONE = object()


def damaged(*path: str | int, value: object) -> str:
    """Return the text with one part of the conditionals replaced or taken away."""
    content = json.loads(TEXT)
    part: Any = content["conditionals"]
    for key in path[:-1]:
        part = part[key]
    if value is GONE:
        del part[path[-1]]
    else:
        part[path[-1]] = value
    return json.dumps(content)


def test_every_number_comes_back_exactly(tmp_path):
    network = averaged_example(
        lines={"b": line_of_b(weight=0.1 + 0.2, scales=np.array([1 / 3, np.nextafter(0.1, 1)]))}
    )
    path = tmp_path / "network.json"
    text = network.to_json(path)
    assert path.read_text(encoding="utf-8") == text
    rows = network.sample(20, random_state=1)
    for again in (DiscretizedBayesNet.from_json(text), DiscretizedBayesNet.from_json(path)):
        assert again == network
        assert again.to_json() == text
        line, expected = (conditionals_of(each).lines["b"] for each in (again, network))
        for part in ("coefficients", "scales", "freedom"):
            np.testing.assert_array_equal(getattr(line, part), getattr(expected, part), strict=True)
        assert line.weight == 0.1 + 0.2
        for name in network.cut_points:
            assert again.cut_probabilities(name).equals(network.cut_probabilities(name))
            assert again.cut_intervals(name).equals(network.cut_intervals(name))
        assert again.sample(20, random_state=1).equals(rows)
        np.testing.assert_array_equal(again.log_density(rows), network.log_density(rows))


@pytest.mark.parametrize("seed", range(6))
def test_any_network_comes_back_also_without_lines_and_probabilities(seed):
    tables = small_network(seed, 5, names=HOSTILE_NAMES[5 * seed : 5 * seed + 5], zeros=seed % 2 == 0)
    copies = [tables_of(tables), tables_of(tables)]
    network = tables.changed(conditionals=Conditionals(copies, n_rows=10))
    again = DiscretizedBayesNet.from_json(network.to_json())
    assert again == network
    assert again.metadata == {"seed": seed}
    assert again.of_tables() == tables


def test_a_network_without_conditionals_has_no_field_for_them():
    tables = averaged_example().of_tables()
    assert "conditionals" not in json.loads(tables.to_json())
    assert DiscretizedBayesNet.from_json(tables.to_json()) == tables


@pytest.mark.parametrize("field", sorted(json.loads(TEXT)["conditionals"]))
@pytest.mark.parametrize("value", [GONE, None, "x", 2.5, [5], {"q": 5}])
def test_fields_of_a_wrong_kind_are_refused(field, value):
    if field in ("cut_intervals", "log_losses", "units", "set_values") and value is GONE:
        pytest.skip("files of earlier versions lack it")
    with pytest.raises(GomeaBnError, match="JSON text"):
        DiscretizedBayesNet.from_json(damaged(field, value=value))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("n_rows",), True, "n_rows must be an integer of at least 1, got True"),
        (("copies", 1), 5, r"copies\[1\] must be an object, got int"),
        (("copies", 1, "tables"), GONE, r"copies\[1\]: wanted an object under 'tables', got none"),
        (("copies", 1, "cut_points", "b"), ["x"], r"cut_points\['b'\] must be numbers"),
        (("copies", 1, "cut_points", "b"), GONE, "'b'"),
        (("copies", 1, "tables", "a"), [1.0], r"tables\['a'\] must have shape"),
        (("lines", "b"), 5, "A line must be an object with the fields"),
        (("lines", "b", "parents"), ["p", "c"], "The line of 'b' must have the continuous parents"),
        (("scales", "b"), GONE, "scales must have an entry for 'b', which is part of a line"),
        (("scales", "b"), 5, "A shape must be an object, got int"),
        (("cut_probabilities", "b"), 5, "cut_probabilities of 'b' must be one number"),
        (("cut_probabilities", "b"), GONE, "cut_probabilities must have an entry for 'b', got none"),
        (("copies", 1, "parents"), GONE, r"copies\[1\]: wanted an object under 'parents', got none"),
        (("copies", 1, "parents", "d"), 5, r"copies\[1\]: parents must be lists of names"),
        (("copies", 1, "parents", "d"), [["c"]], "The table of 'd' in a copy must have some of the parents"),
    ],
)
def test_damaged_parts_are_refused(path, value, message):
    with pytest.raises(GomeaBnError, match=message):
        DiscretizedBayesNet.from_json(damaged(*path, value=value))


def test_text_that_is_not_json_and_missing_files_are_refused(tmp_path):
    for source in (TEXT[:-20], "{", tmp_path / "none.json", TEXT.replace("0.4", "NaN")):
        with pytest.raises(GomeaBnError):
            DiscretizedBayesNet.from_json(source)
