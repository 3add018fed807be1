"""The most probable combinations, against the sorted answers of `query`, which tests compare with enumeration."""

import itertools

import numpy as np
import pandas as pd
import pytest
from averaged_examples import averaged_example
from hypothesis import given
from hypothesis import strategies as st
from inference_examples import slow_joint
from network_examples import simple_network, slow_code, small_network, with_parts

from gomea_bn import DiscretizedBayesNet, GomeaBnError
from gomea_bn.network.inference import elimination
from gomea_bn.network.inference import most_probable as search
from gomea_bn.simulation import random_network


def ones(network: DiscretizedBayesNet) -> dict[str, np.ndarray]:
    return {name: np.ones(network.cardinality(name)) for name in network.names}


@given(seed=st.integers(0, 10**6), n=st.integers(1, 12), n_targets=st.integers(1, 5), zeros=st.booleans())
def test_the_best_of_all_combinations_are_found(seed, n, n_targets, zeros):
    network = small_network(seed, 5, zeros=zeros)
    targets = np.random.default_rng(seed).permutation(network.names)[:n_targets].tolist()
    answer = network.most_probable(targets=targets, n=n)
    joint = slow_joint(network, ones(network), targets)
    expected = np.sort(joint[joint > 0])[::-1][:n]
    assert answer.columns.tolist() == [*targets, "probability"]
    np.testing.assert_allclose(answer["probability"], expected, rtol=1e-9)
    by_states = network.query(targets)
    for row in answer.itertuples(index=False):
        key = row[:-1] if n_targets > 1 else row[0]
        assert by_states[key] == pytest.approx(row[-1])


@given(seed=st.integers(0, 10**6), observed=st.integers(0, 3))
def test_evidence_counts_and_all_other_variables_are_targets(seed, observed):
    network = small_network(seed, 4)
    name, others = (
        network.names[observed],
        [other for other in network.names if other != network.names[observed]],
    )
    value = network.sample(1, random_state=seed, values="numbers")[name].iloc[0]
    answer = network.most_probable({name: value, others[0]: None}, n=1)
    assert answer.columns.tolist() == [*others, "probability"]
    assert answer["probability"].iloc[0] == pytest.approx(network.query(others, {name: value}).max())


@given(seed=st.integers(0, 10**6), n=st.sampled_from([1, 4, 5_000]), tied=st.booleans())
def test_all_kinds_of_evidence_count_and_ties_are_listed_once(seed, n, tied):
    generator = np.random.default_rng(seed)
    network = small_network(seed, 4, zeros=not tied)
    if tied:
        uniform = {name: np.full(table.shape, 1 / table.shape[-1]) for name, table in network.tables.items()}
        network = with_parts(network, tables=uniform)
    order = generator.permutation(network.names).tolist()
    targets, observed = order[:2], order[2:]
    row = network.sample(1, random_state=seed, values="numbers").iloc[0]
    evidence: dict[str, object] = {}
    likelihoods = ones(network)
    for name in observed:
        states = network.query(name).index.tolist()
        weights = generator.choice([0.0, 0.3, 1.0], len(states))
        if not weights.any():
            evidence[name] = row[name]
            weights[slow_code(network, name, row[name])] = 1.0
        elif set(weights.tolist()) <= {0.0, 1.0}:
            evidence[name] = {state for state, weight in zip(states, weights, strict=True) if weight}
        else:
            evidence[name] = dict(zip(states, weights.tolist(), strict=True))
        likelihoods[name] = weights
    joint = slow_joint(network, likelihoods, targets)
    if not joint.any():
        with pytest.raises(GomeaBnError, match="probability 0"):
            network.most_probable(evidence, targets, n)
        return
    answer = network.most_probable(evidence, targets, n)
    expected = np.sort(joint[joint > 0])[::-1] / joint.sum()
    np.testing.assert_allclose(answer["probability"], expected[:n], rtol=1e-9)
    assert not answer[targets].astype(str).duplicated().any()


@pytest.mark.sample(3)
@pytest.mark.parametrize("cells", [8, 16, "bins"])
@pytest.mark.parametrize("n_targets", [1, 2, 3])
def test_cells_inside_a_bin_are_summed(cells, n_targets):
    network = averaged_example()
    value = network.sample(1, random_state=4, values="numbers").iloc[0]
    for targets in itertools.combinations(network.names, n_targets):
        observed = next(name for name in network.names if name not in targets)
        evidence = {observed: value[observed]}
        answer = network.most_probable(evidence, targets, n=3, cells=cells)
        expected = np.sort(np.asarray(network.query(list(targets), evidence, cells=cells)))[::-1]
        np.testing.assert_allclose(answer["probability"], expected[:3], rtol=1e-6)
        if cells != "bins":
            assert answer.attrs["cells"] == network.query(list(targets), evidence, cells=cells).attrs["cells"]


def test_the_best_combination_is_not_that_of_the_best_values():
    of_b = [[0.4, 0.3, 0.3], [0.0, 0.9, 0.1]]
    network = simple_network(
        {"a": "xy", "b": "uvw"}, [("a", "b")], a=np.array([0.55, 0.45]), b=np.array(of_b)
    )
    best = network.most_probable(n=1)
    assert best[["a", "b"]].iloc[0].tolist() == ["y", "v"]
    assert best["probability"].iloc[0] == pytest.approx(0.405)
    gaps = pd.DataFrame({"a": [None, "x"], "b": [None, None]})
    assert network.impute(gaps, "mode").iloc[0].tolist() == ["x", "v"]
    assert network.impute(gaps, "joint").to_numpy().tolist() == [["y", "v"], ["x", "u"]]


@pytest.mark.parametrize("network", [small_network(3, 5), averaged_example()])
def test_joint_imputation_fills_the_best_bins(network):
    rows = network.sample(12, random_state=1, values="numbers")
    gaps = rows.mask(np.random.default_rng(2).random(rows.shape) < 0.4)
    filled = network.impute(gaps, "joint")
    pd.testing.assert_frame_equal(filled.mask(gaps.isna()), gaps, check_dtype=False)
    codes = network.discretize(filled)
    cells = None if network.conditionals is None else 8
    for position, row in enumerate(gaps.to_dict("records")):
        evidence = {name: value for name, value in row.items() if not pd.isna(value)}
        targets = [name for name in network.names if name not in evidence]
        if targets and cells is None:
            best = network.query(targets, evidence)
            best = best.to_numpy().reshape([network.cardinality(name) for name in targets])
            assert codes[targets].iloc[position].tolist() == list(np.unravel_index(best.argmax(), best.shape))
    assert not filled.isna().any(axis=None)


def test_refusals_name_what_is_wrong(monkeypatch):
    network = random_network(6, random_state=1)
    with pytest.raises(GomeaBnError, match="n must be an integer of at least 1"):
        network.most_probable(n=0)
    with pytest.raises(GomeaBnError, match="'X1' is both target and evidence"):
        network.most_probable({"X1": 0.5}, ["X1", "X2"])
    with pytest.raises(GomeaBnError, match="unknown"):
        network.most_probable({}, ["Y"])
    with pytest.raises(GomeaBnError, match="how='joint' needs method='exact', got 'sampling'"):
        network.impute(network.sample(2, random_state=1), "joint", method="sampling")
    monkeypatch.setattr(search, "_MOST_MULTIPLICATIONS", 1.0)
    with pytest.raises(
        GomeaBnError, match=r"given up after \d+ partial ones.* Give more evidence, or name fewer targets"
    ):
        network.most_probable()


@pytest.mark.parametrize("cells", [None, 64])
def test_too_large_answers_over_cells_point_to_the_bins(monkeypatch, cells):
    network = averaged_example()
    targets = ["a", "p", "b", "c"]
    sizes = [network.cardinality(name) for name in network.names]
    # no answer over cells fits, and one over bins does
    monkeypatch.setattr(elimination, "MOST_CELLS", 3 * int(np.prod(sizes)))
    if cells is None:
        monkeypatch.setattr(elimination, "MOST_MULTIPLICATIONS", 1.0)
    advice = r'Pass cells="bins", give '
    with pytest.raises(GomeaBnError, match=advice):
        network.query(targets, cells=cells)
    with pytest.raises(GomeaBnError, match=advice):
        network.query(targets, pd.DataFrame({"g": ["no", "yes"]}), cells=cells)
    monkeypatch.setattr(search, "_MOST_MULTIPLICATIONS", 1.0)
    with pytest.raises(GomeaBnError, match=advice):
        network.most_probable(cells=cells)
    monkeypatch.undo()
    monkeypatch.setattr(elimination, "MOST_CELLS", 3 * int(np.prod(sizes)))
    assert network.query(targets, cells="bins").sum() == pytest.approx(1)
    assert len(network.most_probable(cells="bins")) == 5
    # not even the answer over bins fits
    monkeypatch.setattr(elimination, "MOST_CELLS", 4)
    for refused in (lambda: network.query(targets, cells=cells), lambda: network.most_probable(cells=cells)):
        with pytest.raises(GomeaBnError) as error:
            refused()
        assert "cells=" not in str(error.value)


def test_a_dense_network_is_refused_with_the_size_of_its_tables():
    network = random_network(60, law="ide-cozman", max_indegree=5, cardinality=(6, 6), random_state=3)
    with pytest.raises(
        GomeaBnError, match=r"most probable combination of 60 variables .* tables of about .* numbers"
    ):
        network.most_probable()
