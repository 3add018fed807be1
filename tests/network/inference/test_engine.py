"""Exact inference and inference by sampling: against enumeration, pyAgrum, and each other."""

import numpy as np
import pyagrum
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inference_examples import random_evidence, row_likelihoods, slow_joint
from network_examples import small_network
from scipy.stats import chisquare
from wrong_input import untyped

from gomea_bn import DiscretizedBayesNet, GomeaBnError
from gomea_bn.network.inference import elimination
from gomea_bn.network.inference.elimination import ExactEngine
from gomea_bn.network.inference.engine import engine_for
from gomea_bn.network.inference.question import Evidence
from gomea_bn.simulation import random_network


def chain_of(tables: dict, edges: list[tuple[str, str]]) -> DiscretizedBayesNet:
    """A network of discrete variables, with as many levels as their tables have columns."""
    levels = {name: list(range(np.shape(table)[-1])) for name, table in tables.items()}
    return DiscretizedBayesNet(list(tables), edges, cut_points={}, support={}, levels=levels, tables=tables)


@given(seed=st.integers(0, 10**6), n_targets=st.integers(0, 3), zeros=st.booleans())
@settings(max_examples=60)
def test_joint_distributions_equal_enumeration(seed, n_targets, zeros):
    network = small_network(seed, 5, zeros=zeros, max_parents=3)
    targets = tuple(np.random.default_rng(seed).permutation(5)[:n_targets].tolist())
    evidence = random_evidence(network, 6, seed, hidden=targets)
    answer = ExactEngine(network).joint(evidence, targets)
    for row in range(6):
        names = [network.names[target] for target in targets]
        joint = slow_joint(network, row_likelihoods(network, evidence, row), names)
        total = joint.sum()
        if total == 0:
            assert answer.log_evidence[row] == -np.inf
            continue
        assert answer.log_evidence[row] == pytest.approx(np.log(total), abs=1e-9)
        if targets:
            np.testing.assert_allclose(answer.tables[row], joint.ravel() / total, atol=1e-12)


@pytest.mark.long
@given(seed=st.integers(0, 10**6))
@settings(max_examples=40)
def test_marginals_of_all_variables_equal_enumeration(seed):
    network = small_network(seed, 5, max_parents=3)
    evidence = random_evidence(network, 5, seed)
    marginals = ExactEngine(network).marginals(evidence)
    for row in range(5):
        likelihoods = row_likelihoods(network, evidence, row)
        for name, table in zip(network.names, marginals, strict=True):
            expected = slow_joint(network, likelihoods, [name])
            np.testing.assert_allclose(table[row], expected / expected.sum(), atol=1e-12)


@pytest.mark.parametrize("law", ["tree", "ide-cozman"])
@pytest.mark.parametrize("seed", range(3))
def test_posteriors_equal_pyagrums(law, seed):
    network = random_network(14, law=law, random_state=seed, max_indegree=4)
    rng = np.random.default_rng(seed)
    codes = network.discretize(network.sample(5, seed)).to_numpy(np.int32, copy=True)
    codes[rng.random(codes.shape) < 0.6] = -1
    marginals = ExactEngine(network).marginals(Evidence(codes, {}))
    log_evidence = ExactEngine(network).joint(Evidence(codes, {}), ()).log_evidence
    model = network.to_pyagrum()
    for row in range(len(codes)):
        oracle = pyagrum.LazyPropagation(model)
        observed = {
            name: int(code) for name, code in zip(network.names, codes[row], strict=True) if code >= 0
        }
        oracle.setEvidence(observed)
        assert log_evidence[row] == pytest.approx(np.log(oracle.evidenceProbability()), abs=1e-9)
        for name, table in zip(network.names, marginals, strict=True):
            np.testing.assert_allclose(table[row], oracle.posterior(name).toarray(), atol=1e-9)


@pytest.mark.parametrize("seed", [1, 5, 8])
@pytest.mark.parametrize("method", ["exact", "sampling"])
def test_draws_follow_the_joint_posterior(method, seed):
    network = small_network(seed, 4, max_bins=3)
    evidence = random_evidence(network, 1, seed, hidden=(0, 2))
    n_draws = 4000 if method == "exact" else 400
    engine = engine_for(network, method, 2000, seed)
    repeats = 1 if method == "exact" else 10
    drawn = np.concatenate(
        [engine.draws(evidence, n_draws, np.random.default_rng(seed + i))[0] for i in range(repeats)]
    )
    observed = np.flatnonzero(evidence.codes[0] >= 0)
    assert (drawn[:, observed] == evidence.codes[0, observed]).all()
    joint = slow_joint(network, row_likelihoods(network, evidence, 0), list(network.names))
    expected = joint.ravel() / joint.sum() * len(drawn)
    counts = np.bincount(np.ravel_multi_index(drawn.T, joint.shape), minlength=joint.size)
    assert counts[expected == 0].sum() == 0
    often = expected > 5
    total = counts[often].sum()
    if often.sum() > 1:
        # draws by sampling repeat the same weighted draws, so they vary more than independent ones
        least = 1e-3 if method == "exact" else 1e-12
        assert chisquare(counts[often], expected[often] / expected[often].sum() * total).pvalue > least


def test_rows_may_have_any_pattern_and_order():
    network = random_network(9, law="ide-cozman", random_state=4)
    evidence = random_evidence(network, 50, 3)
    whole = ExactEngine(network).joint(evidence, ())
    for row in range(50):
        single = ExactEngine(network).joint(evidence.take(np.array([row])), ())
        assert single.log_evidence[0] == whole.log_evidence[row]


def test_calls_of_kernels_are_short_enough_for_an_interrupt(monkeypatch):
    network = random_network(9, law="ide-cozman", random_state=4)
    evidence = random_evidence(network, 50, 3)
    whole = ExactEngine(network).marginals(evidence)
    monkeypatch.setattr(elimination, "_MULTIPLICATIONS_PER_CALL", 100)
    spans = elimination.call_spans(np.full(50, 40.0))
    assert spans[0] == (0, 2)
    assert [start for start, _ in spans[1:]] == [stop for _, stop in spans[:-1]]
    assert spans[-1][1] == 50
    for first, second in zip(whole, ExactEngine(network).marginals(evidence), strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("seed", range(6))
def test_estimates_are_as_near_as_their_standard_errors_say(seed):
    network = small_network(seed, 5)
    evidence = random_evidence(network, 20, seed, hidden=(1, 3))
    exact = ExactEngine(network).joint(evidence, (1, 3))
    estimated = engine_for(network, "sampling", 4000, seed).joint(evidence, (1, 3))
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = (estimated.tables - exact.tables) / estimated.errors
        log_scores = (estimated.log_evidence - exact.log_evidence) / estimated.log_evidence_errors
    scores = scores[estimated.errors > 1e-3]
    assert np.abs(scores).max() < 5
    # errors are neither too small nor far too large
    assert 0.7 < scores.std() < 1.4
    log_scores = log_scores[estimated.log_evidence_errors > 1e-3]
    assert np.abs(log_scores).max(initial=0) < 5


def test_draws_of_equal_weight_estimate_the_evidence_without_error():
    network = chain_of({"a": [0.3, 0.7], "b": [[0.5, 0.5], [0.1, 0.9]]}, [("a", "b")])
    answer = engine_for(network, "sampling", 100, 0).joint(Evidence(np.array([[1, -1]], np.int32), {}), (1,))
    assert answer.log_evidence[0] == pytest.approx(np.log(0.7))
    assert answer.log_evidence_errors[0] == pytest.approx(0.0, abs=1e-7)
    # the error of a share among 100 draws
    share = answer.tables[0, 0]
    assert answer.errors[0, 0] == pytest.approx(np.sqrt(share * (1 - share) / 100))


def test_estimated_marginals_are_near():
    network = small_network(3, 5)
    evidence = random_evidence(network, 10, 3)
    exact = ExactEngine(network).marginals(evidence)
    estimated = engine_for(network, "sampling", 20_000, 1).marginals(evidence)
    for first, second in zip(exact, estimated, strict=True):
        np.testing.assert_allclose(first, second, atol=0.04)


def test_hundreds_of_improbable_observations_do_not_underflow():
    children = [f"c{i}" for i in range(400)]
    tables = {"root": [0.5, 0.5], **{name: [[0.999, 0.001], [0.998, 0.002]] for name in children}}
    network = chain_of(tables, [("root", name) for name in children])
    codes = np.ones((1, 401), np.int32)
    codes[0, 0] = -1
    answer = ExactEngine(network).joint(Evidence(codes, {}), (0,))
    # ln(0.5 * 0.001**400 + 0.5 * 0.002**400)
    expected = np.log(0.5) + 400 * np.log(0.002) + np.log1p(0.5**400)
    assert answer.log_evidence[0] == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(answer.tables[0], [0.5**400, 1.0], rtol=1e-9)
    estimated = engine_for(network, "sampling", 1000, 0).joint(Evidence(codes, {}), (0,))
    assert estimated.tables[0, 1] == pytest.approx(1.0)
    assert estimated.log_evidence[0] == pytest.approx(expected, abs=0.2)


def test_small_messages_along_a_chain_do_not_underflow():
    # every second variable of the chain is observed at an improbable level
    n = 300
    tables: dict = {"v0": [0.5, 0.5]}
    edges = []
    for i in range(1, n):
        tables[f"v{i}"] = [[1 - 1e-8, 1e-8], [1 - 1e-8, 1e-8]]
        edges.append((f"v{i - 1}", f"v{i}"))
    network = chain_of(tables, edges)
    codes = np.where(np.arange(n) % 2 == 1, 1, -1).astype(np.int32)[None]
    answer = ExactEngine(network).joint(Evidence(codes, {}), ())
    assert answer.log_evidence[0] == pytest.approx((n // 2) * np.log(1e-8), rel=1e-9)


def grid(n: int) -> DiscretizedBayesNet:
    """An n by n grid, whose tables need 2**n cells however it is eliminated."""
    tables, edges = {}, []
    for i in range(n):
        for j in range(n):
            parents = [(i - 1, j)] * (i > 0) + [(i, j - 1)] * (j > 0)
            tables[f"v{i}.{j}"] = np.full((2,) * (len(parents) + 1), 0.5)
            edges += [(f"v{a}.{b}", f"v{i}.{j}") for a, b in parents]
    return chain_of(tables, edges)


def test_a_network_of_large_treewidth_is_refused_with_its_size_and_a_way_out():
    network = grid(30)
    last = len(network.names) - 1
    nothing = Evidence(np.full((3, last + 1), -1, np.int32), {})
    with pytest.raises(GomeaBnError) as caught:
        ExactEngine(network).joint(nothing, (last,))
    words = str(caught.value)
    assert "row 0" in words
    assert "the limit is 33,554,432" in words
    assert 'method="sampling"' in words
    assert float(words.split("about ")[1].split(" ")[0]) > 2**25
    estimate = engine_for(network, "sampling", 500, 0).joint(nothing.take(np.array([0])), (last,))
    assert estimate.tables[0] == pytest.approx([0.5, 0.5], abs=0.1)
    # a variable without evidence below it does not count
    first = ExactEngine(network).joint(nothing, (0,))
    np.testing.assert_allclose(first.tables, 0.5)
    # what is observed cuts the paths
    codes = np.zeros((1, last + 1), np.int32)
    codes[0, last] = -1
    np.testing.assert_allclose(ExactEngine(network).joint(Evidence(codes, {}), (last,)).tables, 0.5)


def test_the_limit_counts_the_cells_of_all_tables(monkeypatch):
    nothing = Evidence(np.full((1, 16), -1, np.int32), {})
    expected = ExactEngine(grid(4)).joint(nothing, (15,)).tables
    monkeypatch.setattr(elimination, "MOST_CELLS", 20)
    with pytest.raises(GomeaBnError, match=r"needs tables of about .* numbers; the limit is 20 "):
        ExactEngine(grid(4)).joint(nothing, (15,))
    np.testing.assert_allclose(expected, 0.5)


def test_too_many_multiplications_are_refused(monkeypatch):
    network = grid(4)
    nothing = Evidence(np.full((5, 16), -1, np.int32), {})
    monkeypatch.setattr(elimination, "MOST_MULTIPLICATIONS", 500)
    with pytest.raises(
        GomeaBnError, match=r"these 5 rows takes about .* Give fewer rows at once, or pass method"
    ):
        ExactEngine(network).joint(nothing, (15,))


@pytest.mark.parametrize("method", ["exact", "sampling"])
def test_an_answer_with_too_many_cells_is_refused(method):
    network = grid(6)
    nothing = Evidence(np.full((2, 36), -1, np.int32), {})
    with pytest.raises(GomeaBnError, match=r"would have 134,217,728 numbers; the limit is 33,554,432"):
        engine_for(network, method).joint(nothing, tuple(range(26)))


def test_options_of_the_engine_are_checked():
    network = small_network(0, 3)
    with pytest.raises(GomeaBnError, match="method must be one of 'exact', 'sampling', got 'exakt'"):
        engine_for(network, "exakt")
    with pytest.raises(GomeaBnError, match="n_draws must be an integer of at least 2, got 1"):
        engine_for(network, "sampling", 1)
    with pytest.raises(GomeaBnError, match="random_state"):
        engine_for(network, "sampling", 10, untyped("seed"))


def test_impossible_rows_have_no_answer():
    network = chain_of({"a": [1.0, 0.0], "b": [[0.5, 0.5], [0.5, 0.5]]}, [("a", "b")])
    evidence = Evidence(np.array([[1, -1], [0, -1]], np.int32), {})
    for method in ("exact", "sampling"):
        engine = engine_for(network, method, 10, 0)
        assert engine.joint(evidence, (1,)).log_evidence[0] == -np.inf
        assert np.isnan(engine.marginals(evidence)[1][0]).all()
        drawn = engine.draws(evidence, 2, np.random.default_rng(0))
        assert (drawn[0] == -1).all()
        assert (drawn[1, :, 0] == 0).all()
