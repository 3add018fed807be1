"""Other libraries on continuous and mixed columns: their input, and the time limit."""

import time

import numpy as np
import pandas as pd
import pytest

from lab.methods.skeleton_peers import SKELETON_PEERS, binned, encoded, essential_edges, peer_skeletons


@pytest.fixture
def chain():
    rng = np.random.default_rng(0)
    a, c = rng.normal(size=400), rng.normal(size=400)
    level = pd.Categorical(np.where(a + 0.3 * rng.normal(size=400) > 0, "high", "low"))
    return pd.DataFrame({"a": a, "level": level, "c": c})


def test_levels_become_numbers_and_values_become_five_bins(chain):
    numbers = encoded(chain)
    assert numbers.shape == (400, 3)
    assert set(numbers[:, 1]) == {0.0, 1.0}
    assert numbers[:, 0].tolist() == chain["a"].tolist()
    bins = binned(chain)
    assert bins["a"].value_counts().tolist() == [80] * 5
    assert chain["a"][bins["a"] == 0].max() < chain["a"][bins["a"] == 1].min()
    assert bins["level"].tolist() == chain["level"].cat.codes.tolist()
    repeated = pd.DataFrame({"x": np.repeat([0.0, 1.0], [95, 5])})
    assert binned(repeated)["x"].nunique() <= 2


def edges_of(label, frame):
    module, learn = SKELETON_PEERS[label]
    pytest.importorskip(module)
    try:
        edges = learn(frame)
    except RuntimeError as error:
        # the semiparametric networks of pybnesian need a device
        if "OpenCL" not in str(error):
            raise
        pytest.skip(str(error))
    return edges


def test_edges_without_a_direction_stand_in_both():
    assert essential_edges("xyz", [("x", "y"), ("y", "z")]) == [
        ("x", "y"),
        ("y", "x"),
        ("y", "z"),
        ("z", "y"),
    ]
    assert essential_edges("xyz", [("x", "y"), ("z", "y")]) == [("x", "y"), ("z", "y")]


MISLED_BY_A_COLLIDER = {"pybnesian CLG, BIC", *(label for label in SKELETON_PEERS if "BOSS, basis" in label)}
MISLED_BY_A_COLLIDER |= {label for label in SKELETON_PEERS if "hill climbing" in label or "tabu" in label}


@pytest.mark.parametrize("label", sorted(SKELETON_PEERS.keys() - MISLED_BY_A_COLLIDER))
def test_peers_find_the_directions_of_a_collider(label):
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=1000), rng.normal(size=1000)
    c = a + b + 0.5 * rng.normal(size=1000)
    frame = pd.DataFrame({"c": c, "a": a, "b": b, "d": c + 0.5 * rng.normal(size=1000)})
    assert sorted(edges_of(label, frame)) == [("a", "c"), ("b", "c"), ("c", "d")]


@pytest.mark.parametrize("label", SKELETON_PEERS)
def test_every_peer_finds_the_edge(label, chain):
    assert sorted(edges_of(label, chain)) == [("a", "level"), ("level", "a")]


def edges_at_once(frame):
    return [tuple(frame.columns[:2])]


def edges_too_late(frame):
    time.sleep(60.0)


def edges_with_an_error(frame):
    raise ValueError("no edges")


@pytest.mark.long
def test_peers_that_are_late_fail_or_are_absent_have_a_note(chain):
    peers = {
        "late": ("json", edges_too_late),
        "wrong": ("json", edges_with_an_error),
        "absent": ("module_that_is_absent", edges_at_once),
        "quick": ("json", edges_at_once),
    }
    results = {result.label: result for result in peer_skeletons(chain, 2.0, peers)}
    assert [result.edges for result in results.values()] == [None, None, None, [("a", "level")]]
    assert results["late"].note == "stopped after 2 s"
    assert results["wrong"].note == "failed: ValueError: no edges"
    assert "module_that_is_absent" in results["absent"].note
    assert 0.0 <= results["quick"].seconds < 2.0
