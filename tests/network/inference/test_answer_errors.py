"""Intervals of answers: the tables that they depend on, the misfit that findings add, and one definition everywhere."""

from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from averaged_examples import averaged_example
from network_examples import small_network

from gomea_bn import DiscretizedBayesNet, GomeaBnError
from gomea_bn.network.bin_distributions import BinDistributions
from gomea_bn.network.graph import requisite_tables
from gomea_bn.network.inference.cell_engine import CellEngine

REACH = NormalDist().inv_cdf(0.95)


def with_misfit(network: DiscretizedBayesNet, **misfits: float) -> DiscretizedBayesNet:
    """Return a network that records misfits."""
    return network.with_metadata(checks={"pairs": 3, "off": 0, "worst": [], "misfits": misfits})


def widths(network, target, evidence) -> np.ndarray:
    """Return the lengths of 90 % intervals."""
    interval = network.query(target, evidence, interval=0.9).attrs["interval"]
    return np.array(interval["high"]) - np.array(interval["low"])


@pytest.mark.filterwarnings("ignore:.*in this network")
@pytest.mark.parametrize("seed", range(25))
def test_answers_depend_on_requisite_tables_alone(seed):
    network, rng = small_network(seed, 5), np.random.default_rng(seed)
    target, *others = rng.permutation(network.names).tolist()
    row = network.sample(1, random_state=seed, values="numbers").iloc[0]
    known = {name: row[name] for name in others[: seed % 4]}
    # a set of levels or an interval says something of its column, not its value
    hinted = others[seed % 4]
    some: Any
    if hinted in network.levels:
        some = set(network.levels[hinted][:-1]) or set(network.levels[hinted])
    else:
        low, high = network.support[hinted]
        some = (low, low + 0.6 * (high - low))
    findings = known | {hinted: some}
    parents = {name: network.parents(name) for name in network.names}
    requisite = requisite_tables(parents, target, set(known), {hinted})
    before = network.query(target, findings).to_numpy()
    for name, table in network.tables.items():
        other = table * rng.uniform(0.5, 1.5, table.shape)
        changed = network.changed(tables={**network.tables, name: other / other.sum(axis=-1, keepdims=True)})
        moved = np.abs(changed.query(target, findings).to_numpy() - before).max() > 1e-12
        assert name in requisite or not moved


def test_tables_that_findings_separate_are_not_requisite():
    chain = {"a": (), "b": ("a",), "c": ("b",), "d": ("c",)}
    assert requisite_tables(chain, "b", set(), set()) == {"a", "b"}
    assert requisite_tables(chain, "c", {"b"}, set()) == {"c"}
    assert requisite_tables(chain, "b", {"d"}, set()) == {"a", "b", "c", "d"}
    assert requisite_tables(chain, "b", set(), {"c"}) == {"a", "b", "c"}
    assert requisite_tables(chain, "a", {"c", "d"}, set()) == {"a", "b", "c"}


@pytest.mark.parametrize("share", [0.0, 0.02, 0.2])
def test_every_finding_adds_the_misfit_of_the_target(share):
    plain = averaged_example()
    row = plain.sample(1, random_state=5, values="numbers").iloc[0]
    target = next(iter(plain.levels))
    network = with_misfit(plain, **{target: share})
    others = [name for name in network.names if name != target]
    for n in range(3):
        findings = {name: row[name] for name in others[:n]}
        assert network.query(target, findings, interval=0.9).attrs["interval"]["misfit"] == share
        probabilities = network.query(target, findings, cells="bins").to_numpy()
        for level, p in zip(network.levels[target], map(float, probabilities), strict=True):
            both = [of.explain(target, findings, state=level).interval for of in (plain, network)]
            if min(low for low, _ in both) == 0 or max(high for _, high in both) == 1:
                continue
            given, wide = ((high - low) / 2 for low, high in both)
            assert wide**2 - given**2 == pytest.approx(
                REACH**2 * n * share**2 * p * (1 - p), rel=1e-6, abs=1e-12
            )


@pytest.mark.parametrize("finding", ["p", "b"])
def test_intervals_include_the_error_of_cells(finding):
    network, target = averaged_example(), "g"
    findings = {finding: network.sample(1, random_state=5, values="numbers").iloc[0][finding]}
    coarse, of_tables = (network.query(target, findings, cells=cells, interval=0.9) for cells in (16, "bins"))
    error = coarse.attrs["resolution_error"]
    assert error > 0.001
    wide, given = (
        np.fmax(answer.attrs["interval"]["high"] - answer, answer - answer.attrs["interval"]["low"])
        for answer in (coarse, of_tables)
    )
    np.testing.assert_allclose(wide**2 - given**2, (REACH * error) ** 2, rtol=1e-6)


@pytest.mark.parametrize("known", ["", "p", "b", "pb"])
def test_explanations_include_the_error_of_cells(known):
    network, target = averaged_example(), "g"
    row = network.sample(1, random_state=5, values="numbers").iloc[0]
    findings = {name: row[name] for name in known}
    answer = network.query(target, findings, interval=0.9)
    assert answer.attrs["resolution_error"] > 0.001
    interval = answer.attrs["interval"]
    for k, level in enumerate(network.levels[target]):
        explanation = network.explain(target, findings, state=level)
        assert explanation.interval == pytest.approx((interval["low"][k], interval["high"][k]))
        for name, push in explanation.pushes.iterrows():
            rest = {other: value for other, value in findings.items() if other != name}
            of_rest = network.query(target, rest, interval=0.9).attrs["interval"]
            assert (push["low"], push["high"]) == pytest.approx((of_rest["low"][k], of_rest["high"][k]))
        for name, effect in explanation.measure_next.iterrows():
            if name not in network.levels:
                continue
            at = next(value for value in network.levels[name] if str(value) == effect["lowest_at"])
            of_state = network.query(target, findings | {name: at}, interval=0.9).attrs["interval"]
            ends = effect["lowest_low"], effect["lowest_high"]
            assert ends == pytest.approx((of_state["low"][k], of_state["high"][k]), rel=1e-3)


def test_draws_explain_where_cells_are_the_coarsest(monkeypatch):
    # the error of cells is the difference to half of them, which the coarsest ones lack
    monkeypatch.setattr(CellEngine, "over_half", lambda self, used: None)
    network, target = averaged_example(), "g"
    findings = {"p": network.sample(1, random_state=5, values="numbers").iloc[0]["p"]}
    given = network.query(target, findings, cells="bins", interval=0.9).attrs["interval"]
    for level, low, high in zip(network.levels[target], given["low"], given["high"], strict=True):
        least, most = network.explain(target, findings, state=level).interval
        assert most - least > high - low + 1e-4


def test_query_and_explain_have_the_same_interval():
    network = with_misfit(averaged_example(), **dict.fromkeys(averaged_example().names, 0.05))
    row = network.sample(1, random_state=5, values="numbers").iloc[0]
    target = next(iter(network.levels))
    findings = {name: row[name] for name in network.names if name != target}
    answer = network.query(target, findings, interval=0.9)
    interval = answer.attrs["interval"]
    assert interval["probability"] == 0.9
    for k, level in enumerate(network.levels[target]):
        explanation = network.explain(target, findings, state=level)
        assert explanation.answer == pytest.approx(answer.iloc[k])
        assert explanation.interval == pytest.approx((interval["low"][k], interval["high"][k]))
    sooner = network.query(target, findings, interval=0.5).attrs["interval"]
    assert all(
        a <= b <= p <= c <= d
        for a, b, p, c, d in zip(
            interval["low"], sooner["low"], answer, sooner["high"], interval["high"], strict=True
        )
    )


def test_means_have_the_misfit_as_a_share_of_their_standard_deviation():
    plain = averaged_example()
    target = next(iter(plain.cut_points))
    other = next(name for name in plain.names if name != target)
    finding = {other: plain.sample(1, random_state=2, values="numbers").iloc[0][other]}
    ends = [of.explain(target, finding).interval for of in (plain, with_misfit(plain, **{target: 3.0}))]
    given, wide = ((high - low) / 2 for low, high in ends)
    shares = plain.query(target, finding, cells="bins").to_numpy()
    means = BinDistributions(plain, target).means()
    variance = shares @ means**2 - (shares @ means) ** 2
    assert wide**2 - given**2 == pytest.approx(REACH**2 * 9 * variance)


def of_many_parents(n_parents: int) -> DiscretizedBayesNet:
    """Return a network of independent columns of four levels, all of them parents of a column of two."""
    rng = np.random.default_rng(n_parents)
    names = [f"p{k}" for k in range(n_parents)]
    table = rng.beta(2, 5, size=(4,) * n_parents)
    levels = {name: ["u", "v", "w", "x"] for name in names} | {"y": ["no", "yes"]}
    tables = {name: rng.dirichlet(np.full(4, 5.0)) for name in names}
    return DiscretizedBayesNet(
        [*names, "y"],
        [(name, "y") for name in names],
        cut_points={},
        support={},
        levels=levels,
        tables=tables | {"y": np.stack([1 - table, table], axis=-1)},
        metadata={"n_rows": 8_000},
    )


def test_a_table_that_rows_cannot_fill_keeps_the_parents_that_are_known():
    network, most = of_many_parents(7), 8_000 / 20
    for finding in ("p6", "p1"):
        # four rows of a table by each of these parents
        kept = [finding, *[name for name in network.names[:7] if name != finding][:3]]
        assert 4 ** len(kept) <= most < 4 ** (len(kept) + 1)
        smaller = network.with_fewer_parents({"y": kept})
        assert smaller.parents("y") == tuple(sorted(kept))
        shares = [smaller.tables[name] for name in smaller.parents("y")]
        p = smaller.tables["y"][..., 1]
        code = 2
        axis = smaller.parents("y").index(finding)
        joint = np.einsum("i,j,k,l->ijkl", *shares)
        given = np.zeros_like(joint)
        known = (slice(None),) * axis + (code,)
        given[known] = joint[known] / joint[known].sum()
        variance = (given**2 * p * (1 - p) / (8_000 * joint + 2)).sum()
        # the answer also depends on the shares of the parents that are not known
        for other, share in zip(smaller.parents("y"), shares, strict=True):
            if other != finding:
                axes = tuple(k for k, name in enumerate(smaller.parents("y")) if name != other)
                slopes = (given * p).sum(axis=axes) / share
                spread = (share * slopes**2).sum() - (share * slopes).sum() ** 2
                variance += spread / (8_000 + 2)
        found = widths(network, "y", {finding: "w"})
        assert found == pytest.approx(np.full(2, 2 * REACH * np.sqrt(variance)))


def test_explanations_of_a_large_table_name_the_parents_that_it_keeps():
    explanation = of_many_parents(7).explain("y", {"p6": "w"}, state="yes")
    given = explanation.parameters[explanation.parameters["column"] == "y"]["given"]
    assert len(given)
    # a table has up to 4,096 rows
    assert all("p6 = w" in text and text.count("=") == 6 for text in given)


def test_fewer_parents_average_the_others():
    network = of_many_parents(3)
    fewer = network.with_fewer_parents({"y": ["p0", "p2"]})
    assert fewer.edges == [("p0", "y"), ("p2", "y")]
    expected = np.einsum("ijkl,j->ikl", network.tables["y"], network.tables["p1"])
    assert np.abs(fewer.tables["y"] - expected).max() < 0.02
    assert fewer.tables["p1"].tolist() == network.tables["p1"].tolist()


def test_more_rows_make_intervals_shorter():
    network = small_network(3, 4)
    target = next(iter(network.levels))
    few, many = (widths(network.with_metadata(n_rows=n), target, {}) for n in (100, 1_000))
    assert (many < few).all()
    assert np.isnan(widths(network, target, {})).all()


def test_words_say_what_intervals_take_as_given():
    plain = averaged_example()
    target = next(iter(plain.levels))
    assert "given graph and bins)" in plain.explain(target).sentences[0]
    sentence = with_misfit(plain, **{target: 0.1}).explain(target).sentences[0]
    assert "90 % interval" in sentence
    assert "given graph" not in sentence


def test_damaged_misfits_are_left_out():
    target = next(iter(averaged_example().levels))
    for value in (-1.0, "much", None):
        network = averaged_example().with_metadata(
            checks={"pairs": 3, "off": 0, "worst": [], "misfits": {target: value}}
        )
        assert network.query(target, interval=0.9).attrs["interval"]["misfit"] is None


def test_wrong_intervals_are_refused():
    network = averaged_example()
    target = next(iter(network.levels))
    with pytest.raises(GomeaBnError, match="interval must"):
        network.query(target, interval=90)
    with pytest.raises(GomeaBnError, match="interval is for one target"):
        network.query(list(network.names[:2]), interval=0.9)
    with pytest.raises(GomeaBnError, match="interval is for a single question"):
        network.query(target, network.sample(2, 1).drop(columns=target), interval=0.9)
