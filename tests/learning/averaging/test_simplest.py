"""Edges that left-out rows do not need go; what goes, and what is said of it."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from learning_inside import of_families

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, ExpertKnowledge, average_families, read_table
from gomea_bn.learning.averaging import Member
from gomea_bn.learning.averaging.simplest import simplest_network
from gomea_bn.runtime import FitClock
from gomea_bn.runtime.fit_clock import EDGES

OPTIONS: dict[str, Any] = {"max_evaluations": 1500, "max_seconds": None, "random_state": 1}


def rows(n_rows: int = 250) -> pd.DataFrame:
    """Return a column, one that follows it, and one that follows neither."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=n_rows)
    return pd.DataFrame({"x": x, "y": x + rng.normal(scale=0.4, size=n_rows), "z": rng.normal(size=n_rows)})


def with_false_edge(frame: pd.DataFrame) -> DiscretizedBayesNet:
    """Return a network whose child y has its parent x and the false parent z."""
    cuts = {str(name): np.quantile(column, [0.33, 0.67]).tolist() for name, column in frame.items()}
    return DiscretizedBayesNet.from_table(
        read_table(frame),
        [("x", "y"), ("z", "y")],
        cuts,
        pseudo_count="auto",
        metadata={
            "scoring_method": "density-bd",
            "score": 10.0,
            "parents": {"y": [["x", 90.0], ["z", 1.5]]},
            "curves": {"y": {"nats": 7.0, "table_parents": ["x", "z"]}},
        },
    )


def test_a_false_edge_goes_and_a_true_one_stays() -> None:
    frame = rows()
    simple = simplest_network(with_false_edge(frame), read_table(frame), line="auto", random_state=0)
    assert simple.edges == [("x", "y")]
    assert simple.metadata["score"] == pytest.approx(8.5)
    assert simple.metadata["parents"] == {"y": [["x", 90.0]]}
    assert simple.metadata["curves"] == {"y": {"nats": 5.5, "table_parents": ["x"]}}
    record = simple.metadata["left_out_edges"]
    assert record["edges"] == [["z", "y"]]
    assert record["nats"] <= record["error"]
    assert "Left out: z → y. The best score, 10.000 nats, has it" in simple.summary()
    averaged = average_families(simple, frame, random_state=0)
    assert averaged.edges == simple.edges
    assert averaged.metadata["left_out_edges"] == record


def test_edges_that_nobody_judges_in_time_stay() -> None:
    clock, network = FitClock(1e-9), with_false_edge(rows())
    late = simplest_network(network, read_table(rows()), line="auto", random_state=0, clock=clock)
    assert late.edges == network.edges
    assert clock.cut_short == [EDGES]


def test_the_loss_is_that_of_tables_counted_without_each_row() -> None:
    frame = rows(60)
    cuts = {str(name): [float(np.median(column))] for name, column in frame.items()}
    network = with_false_edge(frame).changed(pseudo_count=1.0)
    fixed = DiscretizedBayesNet.from_table(
        read_table(frame),
        network.edges,
        cuts,
        pseudo_count=1.0,
        metadata={**network.metadata, "curves": {}, "fixed_cut_points": ["x", "y", "z"]},
    )
    record = simplest_network(fixed, read_table(frame), line="none", random_state=0).metadata[
        "left_out_edges"
    ]
    codes = {name: (column > cuts[str(name)][0]).to_numpy() for name, column in frame.items()}
    differences = []
    for row in range(len(frame)):
        others = np.arange(len(frame)) != row
        logs = []
        for parents in (("x", "z"), ("x",)):
            same = others & np.all([codes[p] == codes[p][row] for p in parents], axis=0)
            n_cell = (codes["y"][same] == codes["y"][row]).sum()
            logs.append(np.log((n_cell + 0.5) / (same.sum() + 1)))
        differences.append(logs[0] - logs[1])
    assert record["nats"] == pytest.approx(np.mean(differences))
    assert record["error"] == pytest.approx(np.std(differences, ddof=1) / np.sqrt(len(frame)))


def test_edges_without_a_recorded_gain_stay() -> None:
    frame = rows()
    network = with_false_edge(frame)
    bare = network.changed(metadata={**network.metadata, "parents": {"y": [["x", 90.0]]}})
    assert simplest_network(bare, read_table(frame), line="auto", random_state=0) is bare


@pytest.mark.long
def test_the_learner_prefers_the_simple_network_or_the_best_score(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def recorded(network: DiscretizedBayesNet, *arguments: object, **options: object) -> DiscretizedBayesNet:
        asked.append(network)
        return network

    monkeypatch.setattr("gomea_bn.learning.averaging.simplest.simplest_network", recorded)
    frame = rows(120)
    simple = BayesNetLearner(**OPTIONS).fit(frame)
    assert len(asked) == 1
    best = BayesNetLearner(prefer="density", **OPTIONS).fit(frame)
    assert simple.network_ == best.network_
    # gains of parents are those of the score
    for name, entries in best.network_.metadata["parents"].items():
        assert {parent for parent, _ in entries} == set(best.network_.parents(name))
    for options in ({"shape": "uniform"}, {"density": "bins"}, {"discretizer": "equal-frequency"}):
        BayesNetLearner(**{**OPTIONS, **options}).fit(frame)
    BayesNetLearner(**OPTIONS).fit(frame.mask(frame.index.to_numpy()[:, None] == [3, -1, -1]))
    assert len(asked) == 1


def test_required_edges_have_no_gain_and_stay() -> None:
    knowledge = ExpertKnowledge(required_edges=[("z", "y")])
    learner = BayesNetLearner(knowledge=knowledge, **OPTIONS).fit(rows(120))
    assert ("z", "y") in learner.network_.edges
    entries = learner.network_.metadata["parents"].get("y", [])
    assert "z" not in [parent for parent, _ in entries]


def test_effects_of_a_family_are_fitted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(400, 4))
    x[:, 1] += x[:, 0]
    x[:, 2] += 0.15 * x[:, 0] + x[:, 1]
    x[:, 3] += 0.15 * x[:, 1]
    frame = pd.DataFrame(x, columns=list("abcd"))
    fits = []
    fitted_effects = of_families.Averaging._fitted_effects

    def noted(averaging: Any, name: str, parents: tuple[str, ...], *others: Any) -> Member | None:
        fits.append((name, tuple(parents)))
        return fitted_effects(averaging, name, parents, *others)

    monkeypatch.setattr(of_families.Averaging, "_fitted_effects", noted)
    BayesNetLearner(max_evaluations=300, max_seconds=None, random_state=1).fit(frame)
    assert len(fits) >= 3
    assert len(set(fits)) == len(fits)
