"""Networks whose continuous variables have shapes inside their bins: densities, samples, files, equality, errors."""

import copy
import itertools
import json
import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from network_examples import rain_and_height, slow_code
from scipy.stats import chisquare, kstest
from shape_oracles import slow_log_density, slow_mass
from shaped_examples import random_network
from wrong_input import untyped

from gomea_bn import DiscretizedBayesNet, GomeaBnError, Shape

# half of the probability below 1, a point at the cut 2.5
SHAPE = Shape([0.0, 1.0, 4.0], [2.0, 0.2], [2.0, 0.2], {2.5: 0.35})


def build(**changes: Any) -> DiscretizedBayesNet:
    return rain_and_height(**{"shapes": {"height": SHAPE}, **changes})


def test_log_density_by_hand():
    rows = pd.DataFrame(
        {"height": [0.5, 1.0, 1.5, 2.5, 3.0, -7.0, 9.0], "rain": ["no", "no", "no", "yes", "no", "yes", "no"]}
    )
    # probabilities of the bins under the shape: 0.5, 0.075 and the point, 0.075
    expected = [
        0.25 * 0.5 * 0.5 / 0.5, 0.25 * 0.5 * 0.5 / 0.5, 0.25 * 0.25 * 0.05 / 0.425, 0.75 * 0.9 * 0.35 / 0.425,
        0.25 * 0.25 * 0.05 / 0.075, 0.75 * 0.1 * 0.5 / 0.5, 0.25 * 0.25 * 0.05 / 0.075,
    ]  # fmt: skip
    assert np.exp(build().log_density(rows)) == pytest.approx(expected)


@given(st.integers(0, 10_000))
@settings(max_examples=30)
def test_log_density_equals_the_plain_twin(seed):
    network = random_network(seed)
    frame = network.sample(12, seed)
    for name, shape in network.shapes.items():
        points = [*shape.points, shape.low, shape.high][:5]
        frame.loc[: len(points) - 1, name] = points
    expected = []
    for _, row in frame.iterrows():
        codes = {name: slow_code(network, name, row[name]) for name in network.names}
        total = 0.0
        for name in network.names:
            cell = tuple(codes[other] for other in (*network.parents(name), name))
            total += math.log(network.tables[name][cell])
            if name in network.levels:
                continue
            edges = [network.support[name][0], *network.cut_points[name].tolist(), network.support[name][1]]
            low, high = edges[codes[name] : codes[name] + 2]
            if name in network.shapes:
                shape = network.shapes[name]
                total += slow_log_density(shape, row[name]) - math.log(slow_mass(shape, low, high))
            else:
                total -= math.log(high - low)
        expected.append(total)
    assert network.log_density(frame) == pytest.approx(expected, abs=1e-7)
    terms = network.log_density_terms(frame)
    assert sum(terms.values()) == pytest.approx(expected, abs=1e-7)


def nodes(network: DiscretizedBayesNet, name: str) -> tuple[list[Any], list[float]]:
    """Values and weights whose weighted sum is the integral over a variable, or the sum over levels and points."""
    if name in network.levels:
        return list(network.levels[name]), [1.0] * len(network.levels[name])
    shape = network.shapes.get(name)
    ends = [*network.support[name], *network.cut_points[name].tolist()]
    if shape is not None:
        ends += shape.edges.tolist()
    values: list[float] = []
    weights: list[float] = []
    # two Gauss-Legendre nodes are exact for lines
    for low, high in itertools.pairwise(np.unique(ends).tolist()):
        middle, half = (low + high) / 2, (high - low) / 2
        values += [middle - half / math.sqrt(3), middle + half / math.sqrt(3)]
        weights += [half, half]
    points = list(shape.points) if shape is not None else []
    return values + points, weights + [1.0] * len(points)


@pytest.mark.parametrize("seed", range(6))
def test_the_density_integrates_to_one(seed):
    network = random_network(seed, 3)
    axes = [nodes(network, name) for name in network.names]
    rows = list(itertools.product(*(values for values, _ in axes)))
    weights = np.array([math.prod(w) for w in itertools.product(*(weights for _, weights in axes))])
    densities = np.exp(network.log_density(pd.DataFrame(rows, columns=list(network.names))))
    assert float(densities @ weights) == pytest.approx(1.0, abs=1e-9)


def test_samples_follow_the_density():
    frame = build().sample(20_000, 1)
    for level, row in (("no", [0.5, 0.25, 0.25]), ("yes", [0.1, 0.9, 0.0])):
        heights = frame.loc[frame["rain"] == level, "height"].to_numpy()
        codes = np.searchsorted([1.0, 2.5], heights, side="left")
        counts = np.bincount(codes, minlength=3)
        cells = np.array(row) > 0
        assert (counts[~cells] == 0).all()
        assert chisquare(counts[cells], np.array(row)[cells] * len(heights)).pvalue > 0.001
        at_point = (heights == 2.5).mean()
        assert at_point == pytest.approx(row[1] * 0.35 / 0.425, abs=0.02)
        # inside its bin the density is flat
        assert kstest(heights[codes == 0], "uniform").pvalue > 0.001
        between = heights[(codes == 1) & (heights < 2.5)]
        assert kstest((between - 1) / 1.5, "uniform").pvalue > 0.001


def test_samples_of_a_shape_differ_from_uniform_ones_inside_a_bin():
    steep = Shape([0.0, 4.0], [1.9], [0.1])
    parts: dict[str, Any] = {
        "cut_points": {"x": []}, "support": {"x": (0.0, 4.0)}, "levels": {}, "tables": {"x": [1.0]},
    }  # fmt: skip
    for shapes, is_uniform in (({}, True), ({"x": steep}, False)):
        values = DiscretizedBayesNet(["x"], [], **parts, shapes=shapes).sample(2000, 3)["x"]
        assert (kstest(values / 4, "uniform").pvalue > 0.001) == is_uniform
        assert ((values >= 0) & (values <= 4)).all()
    assert kstest(steep.distribution(values), "uniform").pvalue > 0.001


@given(st.integers(0, 10_000))
@settings(max_examples=30)
def test_json_gives_back_every_bit(seed):
    network = random_network(seed)
    back = DiscretizedBayesNet.from_json(network.to_json())
    assert back == network
    assert list(back.shapes) == list(network.shapes)
    for name, shape in network.shapes.items():
        assert back.shapes[name].edges.tobytes() == shape.edges.tobytes()
        assert back.shapes[name].points == shape.points
    assert back.to_json() == network.to_json()


def test_files_without_shapes_are_uniform_inside_bins():
    content = json.loads(build().to_json())
    for entry in content["variables"]:
        entry.pop("shape", None)
    old = DiscretizedBayesNet.from_json(json.dumps(content))
    assert old == build(shapes=None)
    assert old.shapes == {}
    assert "shape" not in build(shapes={}).to_json()


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ([], "variable 'height': A shape must be an object, got list"),
        ({"edges": [0, 4], "left": [1]}, "variable 'height': A shape must have a field 'right'"),
        ({"edges": [0, 4], "left": [1], "right": [2]}, "variable 'height': .* total probability 1, got 1.5"),
        ({"edges": [0, 5], "left": [1], "right": [1]}, r"shapes\['height'\] must have the support"),
    ],
)
def test_bad_shapes_in_files_are_refused_by_name(shape, message):
    content = json.loads(build().to_json())
    content["variables"][1]["shape"] = shape
    with pytest.raises(GomeaBnError, match=message):
        DiscretizedBayesNet.from_json(json.dumps(content))


def test_a_shape_of_a_discrete_variable_in_a_file_is_refused():
    content = json.loads(build().to_json())
    content["variables"][0]["shape"] = SHAPE.to_content()
    with pytest.raises(GomeaBnError, match="shapes must not have an entry for 'rain', which is discrete"):
        DiscretizedBayesNet.from_json(json.dumps(content))


def test_shapes_count_for_equality():
    network = build()
    assert network == build()
    assert hash(network) == hash(build())
    assert network != build(shapes=None)
    assert network != build(shapes={"height": Shape([0, 4], [1], [1])})
    assert build(shapes={}) == build(shapes=None)


def test_copies_are_equal_and_read_only():
    network = build()
    for copied in (pickle.loads(pickle.dumps(network)), copy.deepcopy(network)):
        assert copied == network
        assert copied.shapes == {"height": SHAPE}
        with pytest.raises(ValueError, match="read-only"):
            copied.shapes["height"].edges[0] = 1.0
    network.shapes.clear()
    assert network.shapes == {"height": SHAPE}


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"rain": SHAPE}, "shapes must not have an entry for 'rain', which is discrete"),
        ({"heigth": SHAPE}, "shapes: unknown variable 'heigth'.*height"),
        ({"height": SHAPE.to_content()}, r"shapes\['height'\] must be a Shape, got dict"),
        (
            {"height": Shape([0, 5], [1], [1])},
            r"shapes\['height'\] must have the support of the variable \(0.0, 4.0\), got \(0.0, 5.0\)",
        ),
        ([SHAPE], "shapes must map variable names to values, got"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(shapes, message):
    with pytest.raises(GomeaBnError, match=message):
        build(shapes=untyped(shapes))
