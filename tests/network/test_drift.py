"""Tests of whether further rows still follow a network."""

import numpy as np
import pandas as pd
import pytest
import scipy

from gomea_bn import DiscretizedBayesNet, GomeaBnError, average_families
from gomea_bn.problems.cuts.shape_fit import fit_shape

EDGES = [("a", "b"), ("b", "c"), ("a", "k")]
CUTS = {"a": [-0.7, 0.7], "b": [-0.5, 0.5], "c": [0.0]}


def rows(n: int, seed: int) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    a = generator.normal(size=n)
    b = np.sin(1.5 * a) + 0.4 * generator.normal(size=n)
    c = 0.8 * b + 0.4 * generator.normal(size=n)
    k = np.where(a + generator.normal(size=n) > 0, "p", "q")
    return pd.DataFrame({"a": a, "b": b, "c": c, "k": k})


def network_of(frame: pd.DataFrame) -> DiscretizedBayesNet:
    shapes = {name: fit_shape(frame[name].to_numpy(), ()).shape for name in CUTS}
    return DiscretizedBayesNet.from_table(frame, EDGES, CUTS, pseudo_count="auto", shapes=shapes)


@pytest.fixture(scope="module")
def networks() -> dict[str, DiscretizedBayesNet]:
    frame = rows(800, 0)
    network = network_of(frame)
    return {"tables": network, "averaged": average_families(network, frame, n_copies=2)}


@pytest.mark.parametrize("kind", ["tables", "averaged"])
def test_rows_of_the_same_law_have_not_drifted(networks, kind):
    report = networks[kind].drift(rows(500, 1))
    assert list(report.index) == ["a", "b", "c", "k"]
    assert not report["drifted"].any()
    assert (report["broken"] == "").all()
    assert (report["log_loss"] - report["expected"]).abs().max() < 0.15


@pytest.mark.parametrize("kind", ["tables", "averaged"])
def test_a_column_that_has_moved_is_named_and_no_other(networks, kind):
    moved = rows(500, 2)
    moved["a"] += 0.4
    # all other columns still follow their parents
    generator = np.random.default_rng(3)
    moved["b"] = np.sin(1.5 * moved["a"]) + 0.4 * generator.normal(size=500)
    moved["c"] = 0.8 * moved["b"] + 0.4 * generator.normal(size=500)
    moved["k"] = np.where(moved["a"] + generator.normal(size=500) > 0, "p", "q")
    report = networks[kind].drift(moved)
    assert report.index[report["drifted"]].tolist() == ["a"]


def test_a_change_that_keeps_the_mean_loss_is_found_by_the_cells(networks):
    frame = pd.DataFrame({"x": ["a"] * 500 + ["b"] * 500})
    network = DiscretizedBayesNet.from_table(frame, [], {})
    report = network.drift(pd.DataFrame({"x": ["a"] * 250 + ["b"] * 150}))
    assert report.loc["x", "log_loss"] == pytest.approx(report.loc["x", "expected"], abs=1e-3)
    # twice the chi-square of two samples, to first order
    statistic = (250 / 400 - 0.5) ** 2 / 0.25 / (1 / 400 + 1 / 1000)
    assert report.loc["x", "p_value"] == pytest.approx(2 * scipy.stats.chi2.sf(statistic, 1), rel=0.05)
    assert report.loc["x", "drifted"]


def test_a_broken_edge_is_named(networks):
    changed = rows(500, 4)
    changed["c"] = np.random.default_rng(5).permutation(changed["c"])
    for network in networks.values():
        report = network.drift(changed)
        assert report.loc["c", "drifted"]
        assert report["broken"].to_dict() == {"a": "", "b": "", "c": "b", "k": ""}


def test_a_wider_noise_is_found(networks):
    changed = rows(500, 6)
    changed["c"] = 0.8 * changed["b"] + 0.7 * np.random.default_rng(7).normal(size=500)
    report = networks["averaged"].drift(changed)
    assert report.loc["c", "drifted"]
    assert report.loc["c", "log_loss"] > report.loc["c", "expected"] + 0.3


def test_families_with_missing_cells_are_judged_by_their_complete_rows(networks):
    further = rows(300, 8)
    further.loc[:99, "b"] = np.nan
    report = networks["averaged"].drift(further)
    assert report["rows"].to_dict() == {"a": 300, "b": 200, "c": 200, "k": 300}
    complete = networks["averaged"].drift(further.iloc[100:])
    assert report.loc["c", "log_loss"] == pytest.approx(complete.loc["c", "log_loss"])


def test_values_outside_the_support_are_counted(networks):
    further = rows(100, 9)
    further.loc[:4, "a"] = 50.0
    assert networks["averaged"].drift(further).loc["a", "outside"] == 0.05


def test_few_columns_of_many_tables_seem_to_have_drifted():
    # 60 tables of four columns: at the level .05 three are expected
    n_wrong = 0
    for seed in range(60):
        network = network_of(rows(300, 100 + seed))
        n_wrong += bool(network.drift(rows(200, 1_000 + seed))["drifted"].any())
    assert n_wrong <= 9


def test_levels_that_are_about_as_likely_seldom_seem_to_have_drifted():
    drifted = []
    for seed in range(60):
        generator = np.random.default_rng(seed)
        former, further = (pd.DataFrame({"coin": generator.choice(["head", "tail"], n)}) for n in (500, 400))
        network = average_families(DiscretizedBayesNet.from_table(former, [], {}), former)
        drifted.append(bool(network.drift(further)["drifted"].iloc[0]))
    # 3 of 60 expected; 8 or more have probability .01
    assert sum(drifted) < 8


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_the_level_is_checked(networks, level):
    with pytest.raises(GomeaBnError, match="level must be"):
        networks["tables"].drift(rows(10, 0), level=level)
