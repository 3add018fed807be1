"""The test of a graph against data: permuted gains, false-discovery rates, and which graphs are rejected."""

import itertools
import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from gomea_bn import DiscretizedBayesNet, ExpertNetwork, GomeaBnError
from gomea_bn.certainty import certify, graph_tests
from gomea_bn.certainty.graph_scores import GraphScores


def chain_rows(n: int, seed: int = 0, direct: float = 0.0) -> pd.DataFrame:
    """Return rows of a -> b -> c, in which c also follows a in a share of the rows."""
    rng = np.random.default_rng(seed)
    a = rng.integers(3, size=n)
    b = np.where(rng.random(n) < 0.7, a, rng.integers(3, size=n))
    c = np.where(rng.random(n) < 0.6, b, rng.integers(3, size=n))
    c = np.where(rng.random(n) < direct, (a + 1) % 3, c)
    return pd.DataFrame({"a": a.astype(str), "b": b.astype(str), "c": c.astype(str), "x": rng.normal(size=n)})


def network_of(frame: pd.DataFrame, edges: list[tuple[str, str]]) -> DiscretizedBayesNet:
    return DiscretizedBayesNet.from_table(frame, edges, {"x": [0.0]})


CHAIN = [("a", "b"), ("b", "c")]


def test_a_true_graph_stays_and_a_wrong_one_is_rejected_at_its_missing_edge():
    frame = chain_rows(400)
    kept = graph_tests.test_graph(network_of(frame, CHAIN), frame, random_state=1)
    assert kept.p_value > 0.05
    assert (kept.missing["q_value"] > 0.05).all()
    assert (kept.present["gain"] < 0).all()
    rejected = graph_tests.test_graph(network_of(frame, CHAIN[:1]), frame, random_state=1)
    assert rejected.p_value < 0.01
    found = rejected.missing[rejected.missing["q_value"] < 1e-6]
    assert {"b", "c"} in [set(pair) for pair in found[["parent", "child"]].to_numpy().tolist()]
    assert "x" not in found[["parent", "child"]].to_numpy()
    assert "400 rows reject the graph" in str(rejected)
    assert "a → b: the data support this edge (p = " in str(rejected)
    assert "c — b: the data miss this edge (p = " in str(rejected)
    assert rejected.note("b", "c") == rejected.note("c", "b") == rejected.notes["c", "b"]
    assert "the data do not decide on this edge: this number of rows" in rejected.note("a", "x")
    assert ("a", "x") not in rejected.notes
    assert ("x", "a") not in rejected.notes


def test_words_list_twenty_missing_edges_and_count_the_others():
    """Ten copies of one column with noise miss 45 edges without a graph."""
    rng = np.random.default_rng(1)
    source = rng.integers(0, 2, 300)
    frame = pd.DataFrame(
        {f"c{k}": np.where(rng.random(300) < 0.02, 1 - source, source) for k in range(10)}
    ).astype(str)
    network = DiscretizedBayesNet.from_table(frame, [], {})
    result = graph_tests.test_graph(network, frame, n_permutations=99, random_state=1)
    missed = result.missing[result.missing["q_value"] < 0.05]
    lines = str(result).splitlines()
    assert len(result.notes) == len(missed) > 20
    assert sum("the data miss this edge" in line for line in lines) == 20
    assert f"and {len(missed) - 20} more edges that the data miss" in lines[-1]
    first = missed.iloc[0]
    assert lines[1].startswith(f"  {first['parent']} — {first['child']}: ")


def test_an_edge_between_independent_columns_is_open_until_rows_are_many():
    for n, verdict in ((400, "do not decide on"), (4_000, "speak against")):
        frame = chain_rows(n)
        network = network_of(frame, [("a", "b"), ("x", "b")])
        result = graph_tests.test_graph(network, frame, n_permutations=99, random_state=1)
        verdicts = result.present.set_index("parent")["verdict"]
        assert verdicts.to_dict() == {"a": "support", "x": verdict}
    assert "the data speak against this edge: a weak relation would have shown" in result.note("x", "b")
    assert "the data do not miss this edge" in result.note("x", "c")


def test_a_sure_dependence_is_supported_whatever_its_edge_costs():
    # the edge saves less than 36 more probabilities cost
    rng = np.random.default_rng(0)
    p = rng.integers(7, size=2_000)
    weak = pd.DataFrame(
        {
            "p": p.astype(str),
            "c": np.where(rng.random(2_000) < 0.12, p, rng.integers(7, size=2_000)).astype(str),
        }
    )
    for edges in ([("p", "c")], []):
        of_weak = graph_tests.test_graph(
            DiscretizedBayesNet.from_table(weak, edges, {}),
            weak,
            scoring_method="density-bic",
            random_state=1,
        )
        word = "support" if edges else "miss"
        assert f"the data {word} this edge" in of_weak.note("p", "c")
        assert of_weak.note("p", "c") in of_weak.notes.values()


def test_weak_relations_are_spoken_against_as_rarely_as_said():
    # p has w = .1 with c, and each table is tested once
    rng = np.random.default_rng(0)
    n, against = 1_500, 0
    for _ in range(100):
        p = rng.integers(2, size=n)
        c = (rng.random(n) < 0.5 + np.where(p == 1, 0.05, -0.05)).astype(int)
        frame = pd.DataFrame({"p": p.astype(str), "c": c.astype(str)})
        network = DiscretizedBayesNet.from_table(frame, [("p", "c")], {})
        result = graph_tests.test_graph(network, frame, n_permutations=40, random_state=1)
        against += result.present["p_weak"].item() < 0.05
    assert against <= 11


def test_the_p_value_of_an_edge_is_that_of_the_pair_without_it():
    frame = chain_rows(80, seed=3, direct=0.1)
    edges = [*CHAIN, ("a", "c")]
    present = graph_tests.test_graph(network_of(frame, edges), frame, random_state=1).present
    missing = graph_tests.test_graph(network_of(frame, CHAIN), frame, random_state=1).missing
    of_edge = present[(present["parent"] == "a") & (present["child"] == "c")]
    of_pair = missing[(missing["parent"] == "a") & (missing["child"] == "c")]
    assert 0.02 < of_pair["p_value"].item() < 0.9
    assert of_edge["p_value"].item() == pytest.approx(of_pair["p_value"].item(), abs=0.15)
    assert of_edge["gain"].item() == pytest.approx(-of_pair["gain"].item())


def test_gains_are_differences_of_scores():
    frame = chain_rows(300, direct=0.3)
    edges = [("a", "b"), ("x", "b")]
    network = network_of(frame, edges)
    result = graph_tests.test_graph(network, frame, n_permutations=20, random_state=1)
    graphs = GraphScores.of(
        network, frame, max_indegree=4, knowledge=None, scoring_method=None, equivalent_sample_size=None
    )

    def score(chosen: list[tuple[str, str]]) -> float:
        parents = [[network.names.index(p) for p, c in chosen if c == name] for name in network.names]
        return graphs.score(parents)

    for row in result.missing.itertuples():
        assert row.gain == pytest.approx(score([*edges, (str(row.parent), str(row.child))]) - score(edges))
    for row in result.present.itertuples():
        rest = [edge for edge in edges if edge != (row.parent, row.child)]
        assert row.gain == pytest.approx(score(rest) - score(edges))
    tested = {frozenset(pair) for pair in result.missing[["parent", "child"]].to_numpy().tolist()}
    pairs = {frozenset(pair) for pair in itertools.combinations(network.names, 2)}
    assert tested == pairs - set(map(frozenset, edges))


@pytest.mark.long
def test_p_values_are_shares_of_permutations_within_the_parents():
    frame = chain_rows(60, seed=3, direct=0.15)
    network = network_of(frame, CHAIN)
    result = graph_tests.test_graph(network, frame, n_permutations=2_000, random_state=1)
    row = result.missing[result.missing["child"] == "c"].set_index("parent").loc["a"]

    def gain(c: np.ndarray) -> float:
        a, b = frame["a"].to_numpy(), frame["b"].to_numpy()
        triples, of_b = Counter(zip(a, b, c, strict=True)), Counter(b)
        pairs, others = Counter(zip(a, b, strict=True)), Counter(zip(b, c, strict=True))
        return sum(
            n * math.log(n * of_b[kb] / (pairs[ka, kb] * others[kb, kc]))
            for (ka, kb, kc), n in triples.items()
        )

    rng = np.random.default_rng(0)
    observed, n_larger, n_drawn = gain(frame["c"].to_numpy()), 0, 2_000
    for _ in range(n_drawn):
        permuted = frame.groupby("b")["c"].transform(lambda part: rng.permutation(part.to_numpy()))
        n_larger += gain(permuted.to_numpy()) >= observed - 1e-9
    assert row["p_value"] == pytest.approx(n_larger / n_drawn, abs=0.04)


def test_false_discovery_rates_are_those_of_benjamini_and_hochberg():
    frame = chain_rows(200, seed=1)
    missing = graph_tests.test_graph(network_of(frame, []), frame, random_state=1).missing
    p = missing["p_value"].to_numpy()
    slow = [min(min(p[k] * len(p) / (k + 1) for k in range(first, len(p))), 1.0) for first in range(len(p))]
    assert missing["q_value"].tolist() == pytest.approx(slow)


def test_the_level_holds():
    p_values = []
    for seed in range(150):
        frame = chain_rows(80, seed)
        result = graph_tests.test_graph(
            network_of(frame, CHAIN), frame, n_permutations=39, random_state=10_000 + seed
        )
        p_values.append(result.p_value)
    # Kolmogorov's bound at a level of one in ten thousand
    distance = np.abs(np.sort(p_values) - (np.arange(150) + 0.5) / 150).max()
    assert distance < 2.2 / math.sqrt(150)


def test_a_complete_graph_and_constant_columns_cannot_be_rejected():
    frame = chain_rows(50)[["a", "b"]]
    result = graph_tests.test_graph(DiscretizedBayesNet.from_table(frame, [("a", "b")], {}), frame)
    assert result.p_value == 1.0
    assert len(result.missing) == 0
    assert "50 rows do not reject the graph (p = 1)" in str(result)


def test_an_experts_network_is_completed():
    frame = chain_rows(300)
    result = graph_tests.test_graph(ExpertNetwork(["a", "b"], [("a", "b")]), frame, random_state=1)
    assert result.p_value < 0.05
    assert len(result.missing) == 5


def test_end_bins_without_rows_count_like_levels_without_rows():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 10, 200)
    rows = pd.DataFrame({"x": x, "y": x + rng.normal(size=200), "k": np.where(x > 5, "a", "b")})
    edges, cuts = [("x", "y"), ("y", "k")], {"x": [2.0, 5.0, 8.0], "y": [5.0, 7.0]}
    of_all = DiscretizedBayesNet.from_table(rows, edges, cuts)
    few = rows[rows["x"].between(2.5, 7.5)].reset_index(drop=True)
    as_levels = DiscretizedBayesNet.from_table(of_all.discretize(rows).astype(str), edges, {})
    results = [
        graph_tests.test_graph(network, data, n_permutations=49, scoring_method="density-bd", random_state=1)
        for network, data in ((of_all, few), (as_levels, of_all.discretize(few).astype(str)))
    ]
    bins, levels = results
    assert bins.p_value == levels.p_value
    assert bins.missing["gain"].abs().max() > 1
    for part in ("missing", "present"):
        pd.testing.assert_frame_equal(getattr(bins, part), getattr(levels, part))
    certificate = certify(of_all, few)
    assert certificate.score < certificate.best_score
    assert ("x", "k") in certificate.edges


def test_refusals_name_what_is_wrong():
    frame = chain_rows(50)
    with pytest.raises(
        GomeaBnError, match="graph must be a DiscretizedBayesNet or an ExpertNetwork, got list"
    ):
        graph_tests.test_graph(CHAIN, frame)  # type: ignore[arg-type]
    with pytest.raises(GomeaBnError, match="'a' and 'z' were not tested"):
        graph_tests.test_graph(network_of(frame, CHAIN), frame, n_permutations=9).note("a", "z")
    with pytest.raises(GomeaBnError, match="n_permutations must be an integer of at least 1, got 0"):
        graph_tests.test_graph(network_of(frame, CHAIN), frame, n_permutations=0)
    gone = frame.assign(b=frame["b"].where(frame.index == 0))
    with pytest.raises(
        GomeaBnError, match=r"at least 2 rows without missing values, got 1 of 50\. Most .* 'b' \(49\)"
    ):
        graph_tests.test_graph(network_of(frame, CHAIN), gone)


@pytest.mark.parametrize("is_expert", [False, True])
def test_rows_without_missing_values_are_tested_and_the_others_counted(is_expert):
    frame = chain_rows(300, direct=0.3)
    gaps = frame.assign(further=np.nan)
    gaps.loc[::4, "b"] = None
    gaps.loc[1::5, "x"] = np.nan
    complete = gaps.drop(columns="further").dropna()
    network = ExpertNetwork(["a", "b", "c"], CHAIN) if is_expert else network_of(frame, CHAIN)
    of_gaps = graph_tests.test_graph(
        network, gaps if not is_expert else gaps.drop(columns="further"), random_state=1
    )
    assert (of_gaps.n_rows, of_gaps.n_incomplete) == (len(complete), 300 - len(complete))
    assert f"{len(complete)} of 300 rows, those without missing values, " in str(of_gaps)
    assert of_gaps.to_dict()["n_incomplete"] == 300 - len(complete)
    if not is_expert:
        of_complete = graph_tests.test_graph(network, complete, random_state=1)
        assert of_gaps.p_value == of_complete.p_value
        pd.testing.assert_frame_equal(of_gaps.missing, of_complete.missing)
        pd.testing.assert_frame_equal(of_gaps.present, of_complete.present)


def test_edges_alone_have_the_verdicts_of_the_whole_test():
    frame = chain_rows(300)
    frame.loc[:9, "a"] = np.nan
    network = network_of(chain_rows(300), CHAIN)
    whole = graph_tests.test_graph(network, frame, n_permutations=99, random_state=3)
    present, n_rows = graph_tests.edge_verdicts(network, frame, random_state=3)
    pd.testing.assert_frame_equal(present, whole.present)
    assert n_rows == whole.n_rows == 290
    texts = graph_tests.verdict_texts(present)
    assert {edge: whole.notes[edge] for edge in network.edges} == texts


def test_a_p_value_below_what_permutations_resolve_is_a_bound():
    frame = chain_rows(2_000)
    rejected = graph_tests.test_graph(network_of(frame, []), frame, n_permutations=99)
    children = rejected.missing["child"].nunique()
    bound = 1 - (1 - 1 / 100) ** children
    assert rejected.p_value < bound
    assert rejected.sentence == f"2,000 rows reject the graph (p at most {bound:.2g})."
    few = graph_tests.test_graph(network_of(frame, []), frame, n_permutations=19)
    assert few.sentence.endswith(f"at most {1 - (1 - 1 / 20) ** children:.2g}, drawn as {few.p_value:.2g}).")
    kept = graph_tests.test_graph(network_of(frame, CHAIN), frame)
    assert kept.sentence == f"2,000 rows do not reject the graph (p = {kept.p_value:.3g})."


def test_a_gap_in_a_column_that_the_expert_does_not_mention_takes_no_row_away():
    frame = chain_rows(400)
    gaps = frame.assign(x=frame["x"].where(frame.index % 3 > 0))
    expert = ExpertNetwork.from_edges(CHAIN)
    whole = graph_tests.test_graph(expert, gaps)
    assert (whole.n_rows, whole.n_incomplete, whole.n_edge_rows) == (266, 134, 400)
    assert "Its edges are tested on 400 rows:" in str(whole)
    alone, n_rows = graph_tests.edge_verdicts(expert, gaps)
    assert n_rows == 400
    pd.testing.assert_frame_equal(alone, whole.present)
    pd.testing.assert_frame_equal(alone, graph_tests.edge_verdicts(expert, frame[["a", "b", "c"]])[0])
