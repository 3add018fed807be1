"""Averaged networks as JSON: the exact way back, and files that are damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from averaged_examples import averaged_example, copy_with, line_of_b
from network_examples import HOSTILE_NAMES, small_network

from gomea_bn.errors import GomeaBnError
from gomea_bn.network.averaged.network import AveragedBayesNet
from gomea_bn.network.bayes_net import DiscretizedBayesNet

TEXT = averaged_example().to_json()
# to take a field away
GONE = object()


def damaged(*path: str | int, value: object) -> str:
    """Return the text with one part replaced or taken away."""
    content = json.loads(TEXT)
    part: Any = content
    for key in path[:-1]:
        part = part[key]
    if value is GONE:
        del part[path[-1]]
    else:
        part[path[-1]] = value
    return json.dumps(content)


def test_every_number_comes_back_exactly(tmp_path: Path) -> None:
    averaged = averaged_example(
        lines={"b": line_of_b(weight=0.1 + 0.2, scales=np.array([1 / 3, np.nextafter(0.1, 1)]))}
    )
    path = tmp_path / "averaged.json"
    text = averaged.to_json(path)
    assert path.read_text(encoding="utf-8") == text
    for again in (AveragedBayesNet.from_json(text), AveragedBayesNet.from_json(path)):
        assert again == averaged
        assert again.to_json() == text
        assert again.network == averaged.network
        assert again.network.pseudo_count == "auto"
        assert again.copies == averaged.copies
        assert again.scales == averaged.scales
        assert again.n_rows == averaged.n_rows
        assert again.units == averaged.units
        for part in ("coefficients", "scales", "freedom"):
            np.testing.assert_array_equal(
                getattr(again.lines["b"], part), getattr(averaged.lines["b"], part), strict=True
            )
        assert again.lines["b"].weight == 0.1 + 0.2
        for name in averaged.network.cut_points:
            assert again.cut_probabilities(name).equals(averaged.cut_probabilities(name))
            assert again.cut_intervals(name).equals(averaged.cut_intervals(name))
        rows = averaged.sample(20, random_state=1)
        assert again.sample(20, random_state=1).equals(rows)
        np.testing.assert_array_equal(again.log_density(rows), averaged.log_density(rows))


@pytest.mark.parametrize("seed", range(6))
def test_any_network_comes_back_also_without_lines_and_probabilities(seed: int) -> None:
    network = small_network(seed, 5, names=HOSTILE_NAMES[5 * seed : 5 * seed + 5], zeros=seed % 2 == 0)
    averaged = AveragedBayesNet(network, [network, network], n_rows=10)
    again = AveragedBayesNet.from_json(averaged.to_json())
    assert again == averaged
    assert again.network.metadata == {"seed": seed}
    assert again.lines == {}
    assert again.has_cut_probabilities == (not network.cut_points)
    assert again.has_cut_intervals == (not network.cut_points)


def test_files_of_earlier_versions_have_no_intervals_of_cuts() -> None:
    again = AveragedBayesNet.from_json(damaged("cut_intervals", value=GONE))
    assert again == averaged_example(cut_intervals=None)
    assert not again.has_cut_intervals


def test_the_network_that_is_shown_can_be_read_alone() -> None:
    part = json.loads(TEXT)["network"]
    assert DiscretizedBayesNet.from_json(json.dumps(part)) == copy_with(1)


def test_a_file_of_a_network_is_refused() -> None:
    with pytest.raises(GomeaBnError, match="not an averaged network"):
        AveragedBayesNet.from_json(copy_with(1).to_json())
    with pytest.raises(GomeaBnError, match="not a network"):
        DiscretizedBayesNet.from_json(TEXT)


@pytest.mark.parametrize("field", sorted(json.loads(TEXT)))
@pytest.mark.parametrize("value", [GONE, None, "x", 2.5, [5], {"q": 5}])
def test_fields_of_a_wrong_kind_are_refused(field: str, value: object) -> None:
    if field in ("cut_intervals", "units") and value is GONE:
        pytest.skip("files of earlier versions lack it")
    with pytest.raises(GomeaBnError, match="JSON text"):
        AveragedBayesNet.from_json(damaged(field, value=value))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("format_version",), 2, "format_version 2; this release reads 1"),
        (("n_rows",), 0, "n_rows must be an integer of at least 1, got 0"),
        (("n_rows",), True, "n_rows must be an integer of at least 1, got True"),
        (("copies",), [], "copies must hold at least one network, got none"),
        (("copies", 1), 5, r"copies\[1\] must be an object, got int"),
        (("copies", 1, "tables"), GONE, r"copies\[1\]: wanted an object under 'tables', got none"),
        (("copies", 1, "cut_points", "b"), ["x"], r"cut_points\['b'\] must be numbers"),
        (("copies", 1, "cut_points", "b"), GONE, "'b'"),
        (("copies", 1, "tables", "a"), [1.0], r"tables\['a'\] must have shape"),
        (("lines", "b"), 5, "A line must be an object with the fields"),
        (("lines", "b", "parents"), 5, "The parents of a line must be a list of names, got 5"),
        (("lines", "b", "parents"), ["p", "a"], "The line of 'b' must have the continuous parents"),
        (("lines", "b", "weight"), 1, "A line must have a weight between 0 and 1"),
        (("lines", "b", "scales"), [0.5], "A line must have a weight between 0 and 1"),
        (("scales", "b"), GONE, "scales must have an entry for 'b', which is part of a line"),
        (("scales", "b"), 5, "A shape must be an object, got int"),
        (("scales", "q"), json.loads(TEXT)["scales"]["b"], "scales: unknown variable 'q'"),
        (("cut_probabilities", "b"), 5, "cut_probabilities of 'b' must be one number"),
        (("cut_probabilities", "b"), ["x"], "cut_probabilities of 'b' must be one number"),
        (("cut_probabilities", "b"), GONE, "cut_probabilities must have an entry for 'b', got none"),
        (("network", "variables"), [], "network: A network must have at least one variable"),
    ],
)
def test_damaged_parts_are_refused(path: tuple[str | int, ...], value: object, message: str) -> None:
    with pytest.raises(GomeaBnError, match=message):
        AveragedBayesNet.from_json(damaged(*path, value=value))


def test_text_that_is_not_json_and_missing_files_are_refused(tmp_path: Path) -> None:
    for source in (TEXT[:-20], "{", tmp_path / "none.json", TEXT.replace("0.4", "NaN")):
        with pytest.raises(GomeaBnError):
            AveragedBayesNet.from_json(source)
