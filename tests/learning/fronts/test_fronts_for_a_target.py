"""Fronts of networks that predict one column, as users of the learner call them."""

from math import log
from typing import Any

import numpy as np
import pandas as pd
import pytest
from averaged_examples import lines_of

from gomea_bn import ExpertKnowledge, GomeaBnError, read_front, write_front
from gomea_bn.front import COMPLEXITY, EXPERT_DISTANCE, MISFIT, TARGET
from gomea_bn.learning import OwnObjective, ParetoBayesNetLearner

QUICK: dict[str, Any] = {"max_seconds": None, "max_evaluations": 1500, "random_state": 1, "single_share": 0.0}


def learned(frame, **options):
    return ParetoBayesNetLearner(**{**QUICK, **options}).fit(frame)


def blanket(network, target):
    return {target, *network.markov_blanket(target)}


def counted(network, target):
    """The free parameters of the target's family and of its children's, or of its logit."""
    if network.conditionals is not None:
        return lines_of(network)[target].n_parameters
    tables = [target, *(child for parent, child in network.edges if parent == target)]
    return sum(
        network.tables[name].size // network.cardinality(name) * (network.cardinality(name) - 1)
        for name in tables
    )


@pytest.fixture(scope="module")
def mixed():
    """240 rows in which c says with noise whether a is large, or d."""
    rng = np.random.default_rng(7)
    a = rng.normal(size=240)
    d = rng.integers(0, 4, 240)
    c = np.where(a + 0.8 * (d - 1.5) + 0.5 * rng.normal(size=240) > 0, "high", "low")
    b = a + rng.normal(scale=0.4, size=240)
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": np.exp(rng.normal(size=240)) * 1000})


@pytest.fixture(scope="module")
def of_class(mixed):
    return learned(mixed, target="c")


def test_networks_have_what_decides_on_the_target_and_nothing_else(mixed, of_class):
    front = of_class.front_
    assert front.names == ("target", "complexity")
    assert front.objectives[0].unit == "nats per row"
    assert len(front) > 3
    for candidate in front:
        network = candidate.network
        assert candidate.objectives["complexity"] == counted(network, "c")
        inside = blanket(network, "c")
        assert {name for edge in network.edges for name in edge} <= inside
        assert all(not len(network.cut_points[name]) for name in network.cut_points if name not in inside)
    # little more than half of the entropy of c
    assert front.best("target").objectives["target"] < 0.6 * log(2)
    assert {"a", "d"} <= blanket(front.best("target").network, "c")
    assert front.best("complexity").objectives["complexity"] == 1


def test_an_in_sample_loss_is_that_of_the_answers_of_the_network(mixed):
    front = learned(
        mixed, target="c", misfit="in-sample", pseudo_count=1.0, discretizer="equal-frequency"
    ).front_
    for candidate in list(front)[::3]:
        answers = candidate.network.predict_proba(mixed, "c")
        right = answers.to_numpy()[np.arange(len(mixed)), answers.columns.get_indexer(mixed["c"])]
        assert candidate.objectives["target"] == pytest.approx(-np.log(right).mean(), abs=1e-9)


def test_a_number_is_predicted_in_its_units(mixed):
    front = learned(mixed, target="b", objectives=["target", "complexity"]).front_
    assert front.objectives[0].unit == "CRPS in units of b"
    # half the mean difference of two rows is what the distribution of all rows costs
    values = mixed["b"].to_numpy()
    alone = np.abs(values[:, None] - values).mean() / 2
    assert front.values[:, 0].max() == pytest.approx(alone, rel=0.1)
    assert front.values[:, 0].min() < 0.6 * alone
    assert {"a", "b"} <= blanket(front.best("target").network, "b")


@pytest.mark.parametrize("target", ["c", "b"])
def test_threads_do_not_matter(mixed, target):
    options = {"target": target, "max_evaluations": 800}
    assert learned(mixed, **options).front_.run_hash == learned(mixed, **options, n_jobs=2).front_.run_hash


def test_other_objectives_may_stand_next_to_the_target(mixed, expert):
    default = learned(mixed, target="c", expert=expert).front_
    assert default.objectives == (
        TARGET.__class__(**{**fields_of(TARGET), "unit": MISFIT.unit}),
        COMPLEXITY,
        EXPERT_DISTANCE,
    )
    several = learned(
        mixed, target="c", expert=expert, objectives=["expert_distance", "target", "misfit"]
    ).front_
    assert several.names == ("expert_distance", "target", "misfit")
    # all families are judged, and all columns keep their bins and edges
    assert any(child not in blanket(c.network, "c") for c in several for _, child in c.network.edges)
    for front in (default, learned(mixed, target="c", objectives=["misfit", "target", "complexity"]).front_):
        for candidate in list(front)[::10]:
            assert candidate.objectives["complexity"] == candidate.network.n_parameters


def fields_of(objective):
    return {name: getattr(objective, name) for name in ("name", "label", "unit", "better")}


def test_the_target_may_be_predicted_at_a_price_of_the_users(mixed):
    price = OwnObjective(
        "price", lambda edges, _: float(len({name for edge in edges for name in edge} - {"c"}))
    )
    front = learned(mixed, target="c", objectives=["target", price], max_evaluations=400).front_
    for candidate in front:
        assert candidate.objectives["price"] == len({n for e in candidate.network.edges for n in e} - {"c"})


def test_required_edges_stay_and_the_single_network_is_cut_to_the_question(mixed):
    knowledge = ExpertKnowledge(required_edges=[("d", "e")])
    front = learned(mixed, target="c", single_share=0.5, knowledge=knowledge).front_
    assert front.single is not None
    for candidate in front:
        assert ("d", "e") in candidate.network.edges
    others = [edge for edge in front.single.network.edges if edge != ("d", "e")]
    assert {name for edge in others for name in edge} <= blanket(front.single.network, "c")


def test_gaps_of_other_columns_are_filled(mixed):
    gaps = mixed.assign(a=mixed["a"].mask(np.arange(240) % 5 == 0))
    front = learned(gaps, target="c", single_share=0.5).front_
    assert "d" in blanket(front.best("target").network, "c")
    assert front.table.n_missing == 48


def test_the_simplest_network_that_predicts_as_well_is_recommended(mixed, of_class):
    for learner in (of_class, learned(mixed, target="b", max_evaluations=600)):
        front = learner.front_
        chosen = front.recommended()
        assert "loss of" in chosen.detail
        least = front.best("target")
        gap = chosen.candidate.objectives["target"] - least.objectives["target"]
        assert 0 <= gap < 0.2 * front.values[:, 0].max()
        assert chosen.candidate.objectives["complexity"] <= least.objectives["complexity"]
        assert front.nearest({"target": 1}).objectives["target"] == least.objectives["target"]


def test_a_front_is_written_and_read(of_class, tmp_path):
    write_front(tmp_path / "front", of_class.front_)
    again = read_front(tmp_path / "front")
    assert again.objectives == of_class.front_.objectives
    assert again.record["parameters"]["target"] == "c"
    assert again.values.tolist() == of_class.front_.values.tolist()
    assert "target" in (tmp_path / "front" / "front.csv").read_text().splitlines()[0].split(",")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "cc"}, "target must be a column of the table, got 'cc'.*Did you mean 'c'"),
        ({"target": 3}, "target must be a column of the table, got 3"),
        ({"target": "k"}, "target must have several values, got 'k'"),
        (
            {"target": "gap"},
            "target must not have missing values, got 2 missing values of 'gap' in rows 1, 3",
        ),
        (
            {"objectives": ["target", "misfit"]},
            "'target' and the option target need each other.*and no target",
        ),
        (
            {"target": "c", "objectives": ["misfit", "complexity"]},
            "'target' and the option target need each other.*and the target 'c'",
        ),
        ({"target": "c", "max_complexity": 0.5}, "max_complexity must be at least 1"),
    ],
)
def test_each_bad_option_is_named(mixed, options, message):
    gap = pd.Series(np.where(np.isin(np.arange(len(mixed)), [1, 3]), np.nan, mixed["a"]))
    frame = mixed.assign(gap=gap) if options.get("target") == "gap" else mixed.assign(k="same")
    with pytest.raises(GomeaBnError, match=message):
        learned(frame, **options)
