"""Chains over graphs and bins against sums over all graphs and all bins of tiny tables, and resumed ones."""

import itertools
import json
from math import log
from typing import Any

import numpy as np
import pandas as pd
import pytest
from certainty_examples import discrete_frame, graphs, network_of
from checkpoint_examples import killed_and_resumed
from numpy.typing import NDArray
from oracles import slow_score_of_codes

from gomea_bn import Checkpoint, DiscretizedBayesNet, ExpertKnowledge, GomeaBnError, read_table
from gomea_bn.certainty import EdgeProbabilities, edge_posterior, edge_probabilities
from gomea_bn.certainty.chains import bins_chain
from gomea_bn.certainty.chains.bins_chain import CutSums, with_parents
from gomea_bn.certainty.graph_scores import GraphScores
from gomea_bn.runtime import StopFlag

Cuts = tuple[float, ...]


def frame() -> pd.DataFrame:
    """Return two continuous columns of six values each, each twice, and a discrete one."""
    x = [0.0, 0.9, 1.7, 6.1, 7.3, 8.0]
    y = [2.4, 1.0, 9.2, 0.0, 8.1, 7.7]
    return pd.DataFrame({"x": x + x, "y": y + y[1:] + y[:1], "z": pd.Categorical(list("aababbaabbbb"))})


def network(data: pd.DataFrame) -> DiscretizedBayesNet:
    return DiscretizedBayesNet.from_table(
        read_table(data, kinds={"x": "continuous", "y": "continuous"}),
        [("x", "y")],
        {"x": [4.0], "y": [5.0]},
        metadata={"scoring_method": "density-bd"},
    )


def all_cuts(values: NDArray[np.float64]) -> list[Cuts]:
    """Return every set of mid-points between neighbouring values."""
    ascending = np.unique(values)
    middles = ((ascending[1:] + ascending[:-1]) / 2).tolist()
    return [cuts for k in range(len(middles) + 1) for cuts in itertools.combinations(middles, k)]


def enumerated(data: pd.DataFrame, max_indegree: int, required: Any = ()) -> NDArray[np.float64]:
    """Return the probability of every edge by a sum over all graphs and all bins."""
    x, y = data["x"].to_numpy(), data["y"].to_numpy()
    z = data["z"].cat.codes.to_numpy().astype(np.int64)
    arcs, total = np.zeros((3, 3)), 0.0
    for cuts in itertools.product(all_cuts(x), all_cuts(y)):
        codes, of_bins = [], 0.0
        for values, of_column in zip((x, y), cuts, strict=True):
            column = np.searchsorted(of_column, values)
            edges = np.concatenate(([values.min()], of_column, [values.max()]))
            of_bins -= float(np.log(np.diff(edges))[column].sum()) + len(of_column) * log(
                len(np.unique(values)) - 1
            )
            codes.append(column.astype(np.int64))
        codes.append(z)
        cards = [len(cuts[0]) + 1, len(cuts[1]) + 1, 2]
        scores = {
            (v, parents): slow_score_of_codes(codes, cards, v, parents, "k2")
            for v in range(3)
            for k in range(max_indegree + 1)
            for parents in itertools.combinations([u for u in range(3) if u != v], k)
        }
        for graph in graphs(3, max_indegree):
            edges_of_graph = {(p, v) for v, parents in enumerate(graph) for p in parents}
            free = edges_of_graph - set(required)
            if set(required) <= edges_of_graph and all(cards[p] > 1 and cards[v] > 1 for p, v in free):
                weight = np.exp(of_bins + sum(scores[v, parents] for v, parents in enumerate(graph)))
                total += weight
                for p, v in edges_of_graph:
                    arcs[p, v] += weight
    return arcs / total


@pytest.mark.long
@pytest.mark.parametrize(("max_indegree", "required"), [(2, ()), (1, ((1, 0),))])
def test_drawn_bins_give_the_sums_over_all_graphs_and_bins(monkeypatch, max_indegree, required):
    monkeypatch.setattr(bins_chain, "SWEEPS_PER_DRAW", 1)
    data = frame()
    names = list(data)
    result = edge_probabilities(
        network(data),
        data,
        bins="drawn",
        max_indegree=max_indegree,
        knowledge=ExpertKnowledge(required_edges=[(names[p], names[v]) for p, v in required]),
        n_sweeps=500,
        n_chains=2,
        tolerance=0.0,
        max_seconds=None,
        random_state=3,
    )
    expected = enumerated(data, max_indegree, required)
    # x and y are often in one bin each, which has no edge
    assert expected.max() > 0.2
    np.testing.assert_allclose(result.arcs, expected, atol=0.05)
    assert result.has_drawn_bins
    assert "bins drawn with the graphs" in str(result)


def model_of(data: pd.DataFrame, edge_cost: float = 0.0) -> bins_chain.BinsModel:
    return bins_chain.BinsModel.of(
        GraphScores.of(
            network(data),
            data,
            max_indegree=2,
            knowledge=None,
            scoring_method=None,
            equivalent_sample_size=None,
            edge_cost=edge_cost,
        )
    )


@pytest.mark.parametrize("edge_cost", [0.0, 1.5])
@pytest.mark.parametrize(("parents", "children"), [((1,), ()), ((2,), ()), ((1, 2), ()), ((2,), (1,))])
def test_gains_of_parents_are_ratios_of_sums_over_the_cuts(parents, children, edge_cost):
    data = frame()
    model, y_cuts = model_of(data, edge_cost), np.array([5.0])
    x, y, z = data["x"].to_numpy(), data["y"].to_numpy(), data["z"].cat.codes.to_numpy().astype(np.int64)
    coded = model.session.coded({0: np.array([4.0]), 1: y_cuts})
    # z -> y stays
    graph = [[], [2, *([0] if 1 in children else [])], []]
    # the option is a multiple of ln(n - 1)
    cost = edge_cost * log(2) * len(parents)

    def log_total(of_x: frozenset[int]) -> float:
        graph_of_x, terms = with_parents(graph, 0, of_x), []
        for cuts in all_cuts(x):
            codes = [
                np.searchsorted(cuts, x).astype(np.int64),
                np.searchsorted(y_cuts, y).astype(np.int64),
                z,
            ]
            cards = [len(cuts) + 1, 2, 2]
            if len(cuts) or not (of_x or children):
                widths = np.diff(np.concatenate(([x.min()], cuts, [x.max()])))
                score = sum(slow_score_of_codes(codes, cards, v, graph_of_x[v], "k2") for v in range(3))
                terms.append(
                    score - float(np.log(widths)[codes[0]].sum()) - len(cuts) * log(len(np.unique(x)) - 1)
                )
        return float(np.logaddexp.reduce(terms))

    sums = CutSums(model, 0, np.array([4.0]), graph, coded, seed=1)
    without, wanted = frozenset[int](), frozenset(parents)
    gain = log_total(wanted) - log_total(without) - cost
    assert sums.gain(without, wanted) == pytest.approx(gain, abs=1e-9)
    assert sums.gain(wanted, without) == pytest.approx(-gain, abs=1e-9)


def test_a_stop_during_a_draw_leaves_the_chain_as_it_was():
    model = model_of(frame())
    stop = StopFlag(None)
    stopped = bins_chain.BinsChain(model, True, np.random.default_rng(2), stop)
    whole = bins_chain.BinsChain(model, True, np.random.default_rng(2), StopFlag(None))
    n = bins_chain.SWEEPS_PER_DRAW
    stop.raise_for("max_seconds")
    stopped.sweep(n + 5)
    assert stopped.sums.n_sweeps == n
    stop.flag[0] = 0
    stopped.sweep(5)
    whole.sweep(n + 5)
    assert stopped.sums.n_sweeps == whole.sums.n_sweeps == n + 5
    assert np.array_equal(stopped.sums.mean(), whole.sums.mean())


@pytest.mark.filterwarnings("ignore:The chains have not mixed")
def test_the_clock_is_read_within_a_draw(monkeypatch):
    draw = bins_chain.BinsModel.draw

    def late(model: Any, cuts: Any, parents: Any, generator: Any, stop: Any = None) -> Any:
        # the time is over when the second chain draws its bins
        if any(parents):
            calls.append(stop)
        if len(calls) == 2:
            stop.raise_for("max_seconds")
        return draw(model, cuts, parents, generator, stop)

    calls: list[Any] = []
    monkeypatch.setattr(bins_chain.BinsModel, "draw", late)
    result = drawn(frame(), n_sweeps=100, max_seconds=1000.0, n_jobs=1)
    assert result.stopped_by == "max_seconds"
    assert result.n_sweeps < 100
    assert len(calls) == 2


def drawn(data: pd.DataFrame, of: DiscretizedBayesNet | None = None, **options: Any) -> EdgeProbabilities:
    """Return probabilities after a few draws."""
    quick: dict[str, Any] = {"bins": "drawn", "n_sweeps": 6, "n_chains": 2, "max_seconds": None}
    return edge_probabilities(of or network(data), data, random_state=4, **{**quick, **options})


@pytest.mark.filterwarnings("ignore:The chains have not mixed")
def test_killed_and_resumed_draws_give_the_same_probabilities(monkeypatch, tmp_path):
    monkeypatch.setattr(bins_chain, "SWEEPS_PER_DRAW", 2)
    monkeypatch.setattr(edge_posterior, "SWEEPS_PER_DRAW", 1)
    data = frame()
    resumed, n_kills = killed_and_resumed(
        monkeypatch, lambda checkpoint: drawn(data, checkpoint=checkpoint), tmp_path / "c", 2
    )
    assert n_kills > 1
    assert np.array_equal(resumed.arcs, drawn(data).arcs)


@pytest.mark.filterwarnings("ignore:The chains have not mixed")
@pytest.mark.parametrize(("n_sweeps", "n_draws"), [(20, "0 times"), (21, "1 time"), (60, "2 times")])
def test_results_say_how_often_bins_were_drawn(monkeypatch, n_sweeps, n_draws):
    calls = []
    draw = bins_chain.BinsChain._draw_bins

    def counted(chain: bins_chain.BinsChain) -> None:
        calls.append(chain)
        draw(chain)

    monkeypatch.setattr(bins_chain.BinsChain, "_draw_bins", counted)
    result = drawn(frame(), n_sweeps=n_sweeps)
    assert f"bins drawn with the graphs {n_draws};" in str(result)
    assert len(calls) == 2 * result.n_draws
    assert json.loads(result.to_json())["n_draws"] == result.n_draws


@pytest.mark.filterwarnings("ignore:The chains have not mixed")
def test_fixed_cuts_stay_and_levels_need_no_draws():
    data = frame()
    fixed = network(data).with_metadata(fixed_cut_points=["x", "y"])
    over_network = edge_probabilities(fixed, data)
    result = drawn(data, fixed, n_sweeps=400)
    np.testing.assert_allclose(result.arcs, over_network.arcs, atol=0.05)
    assert result.n_draws == 0
    levels = discrete_frame(1)
    assert edge_probabilities(network_of(levels), levels, bins="drawn").method == "exact"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bins": "mine"}, "bins must be a list of networks or 'drawn', got 'mine'"),
        ({"bins": None}, "bins must be a list of networks or 'drawn', got None"),
        ({"bins": [3]}, r"bins\[0\] must be a DiscretizedBayesNet, got int"),
        ({"method": "exact"}, "method='exact' is for given bins"),
        ({"scoring_method": "density-bic"}, "Drawn bins need the score 'density-bd' .* got 'density-bic'"),
    ],
)
def test_draws_that_are_not_possible_are_refused(options, message):
    with pytest.raises(GomeaBnError, match=message):
        drawn(frame(), **options)


def rows() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    a = rng.integers(2, size=80)
    b = np.where(rng.random(80) < 0.8, a, 1 - a)
    return pd.DataFrame(
        {"a": a, "b": b, "c": rng.integers(3, size=80), "d": b ^ (rng.random(80) < 0.2)}
    ).astype(str)


def probabilities(data: pd.DataFrame | None = None, **options: Any) -> EdgeProbabilities:
    network = DiscretizedBayesNet.from_table(read_table(rows()), [("a", "b")], {})
    sampled = {"method": "sampled", "n_sweeps": 12, "n_chains": 2, "max_seconds": None, "random_state": 4}
    data = rows() if data is None else data
    return edge_probabilities(network, data, scoring_method="bdeu", **{**sampled, **options})


@pytest.mark.filterwarnings("ignore:The chains have not mixed")
def test_killed_and_resumed_chains_give_the_same_probabilities(monkeypatch, tmp_path):
    monkeypatch.setattr(edge_posterior, "_SETS_PER_TURN", 1)
    resumed, n_kills = killed_and_resumed(
        monkeypatch, lambda checkpoint: probabilities(checkpoint=checkpoint), tmp_path / "c", 3
    )
    whole = probabilities()
    assert n_kills > 2
    assert resumed.n_sweeps == whole.n_sweeps == 12
    assert np.array_equal(resumed.arcs, whole.arcs)
    assert resumed.chain_difference == whole.chain_difference
    again = Checkpoint(tmp_path / "c", resume=True)
    assert np.array_equal(probabilities(checkpoint=again).arcs, whole.arcs)
    with pytest.raises(GomeaBnError, match="option n_sweeps was 12, and is now 13"):
        probabilities(n_sweeps=13, checkpoint=again)


@pytest.mark.filterwarnings("ignore:The chains have not mixed")
def test_chains_that_the_clock_ended_stay_ended(tmp_path):
    options: dict[str, Any] = {"n_sweeps": 10**6, "tolerance": 0.0, "max_seconds": 0.05}
    first = probabilities(checkpoint=tmp_path, **options)
    again = probabilities(checkpoint=Checkpoint(tmp_path, resume=True), **options)
    assert (again.stopped_by, again.n_sweeps) == ("max_seconds", first.n_sweeps)
    assert np.array_equal(again.arcs, first.arcs)


@pytest.mark.filterwarnings("ignore:The chains have not mixed")
def test_means_over_several_tables_go_on_with_the_next_one(monkeypatch, tmp_path):
    monkeypatch.setattr(edge_posterior, "_SETS_PER_TURN", 1)
    frame = rows().mask(np.random.default_rng(1).random((80, 4)) < 0.1)
    options: dict[str, Any] = {"n_completions": 2, "n_sweeps": 5, "data": frame}
    resumed, n_kills = killed_and_resumed(
        monkeypatch, lambda checkpoint: probabilities(checkpoint=checkpoint, **options), tmp_path / "c", 3
    )
    assert n_kills > 2
    assert np.array_equal(resumed.arcs, probabilities(**options).arcs)
    again = Checkpoint(tmp_path / "c", resume=True)
    monkeypatch.setattr(edge_posterior, "_run_chains", lambda *_: pytest.fail("sampled again"))
    assert np.array_equal(probabilities(checkpoint=again, **options).arcs, resumed.arcs)
