"""Plots of fronts: points, the expert and the truth in them, two and three objectives."""

import itertools
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from shaped_examples import shaped_network, shaped_table
from wrong_input import untyped

from gomea_bn import ExpertNetwork, Front, GomeaBnError
from gomea_bn.front import MISFIT, Objective
from gomea_bn.metrics import kl_divergence
from gomea_bn.plots import front_points, plot_front


def test_front_points_are_the_front_then_the_expert_and_the_truth(front, truth, frame):
    points = front_points(front, expert=True, truth=truth)
    assert list(points.columns) == ["source", "id", "misfit", "complexity", "expert_distance"]
    assert list(points["source"]) == ["front"] * len(front) + ["expert", "truth"]
    of_front = points[points["source"] == "front"]
    np.testing.assert_array_equal(of_front[list(front.names)], front.values)
    assert of_front["id"].tolist() == list(range(len(front)))
    expert, other = points.iloc[-2], points.iloc[-1]
    assert points["id"].isna().tolist() == [False] * len(front) + [True, True]
    assert expert["misfit"] == pytest.approx(-front.expert.log_density(frame).mean())
    assert expert["complexity"] == front.expert.n_parameters
    assert expert["expert_distance"] == pytest.approx(0, abs=1e-9)
    assert other["misfit"] == pytest.approx(-truth.log_density(frame).mean())
    assert other["complexity"] == truth.n_parameters
    distance = kl_divergence(front.expert, truth, 200_000, random_state=9)
    assert other["expert_distance"] == pytest.approx(distance.mean, abs=3 * distance.standard_error)
    pd.testing.assert_frame_equal(points, front_points(front, expert=True, truth=truth))


def test_distances_to_an_expert_are_the_learner_s_objective(frame):
    from gomea_bn.learning import ParetoBayesNetLearner

    first, second = list(frame.columns)[:2]
    statement = ExpertNetwork.from_edges([(first, second)])
    learner = ParetoBayesNetLearner(
        expert=statement, pseudo_count=1.0, max_evaluations=400, random_state=3, expert_sample_size=512
    ).fit(frame)
    assert len(learner.front_) > 1
    for candidate in learner.front_:
        points = front_points(learner.front_, truth=candidate.network, objectives=["expert_distance"])
        expected = candidate.objectives["expert_distance"]
        assert points.iloc[-1]["expert_distance"] == pytest.approx(expected, abs=1e-9)


def test_the_front_s_own_network_falls_on_its_point(front, networks):
    points = front_points(front, expert=networks[0], objectives=["complexity", "misfit"])
    row = points.iloc[-1]
    hits = points[points["source"] == "front"]
    assert ((hits["misfit"] - row["misfit"]).abs() < 1e-12).any()
    assert row["complexity"] == networks[0].n_parameters


def test_an_expert_s_statement_is_fitted_to_the_front_s_table(front, truth):
    statement = ExpertNetwork.from_edges(truth.edges[:2], names=truth.names)
    points = front_points(front, expert=statement)
    assert points.iloc[-1]["complexity"] == statement.fitted(front.table).n_parameters


def test_an_expert_s_statement_gets_the_shapes_of_the_front_s_networks():
    table = shaped_table(120)
    network = shaped_network(table)
    front = Front([MISFIT], [[-network.score(table.to_frame())]], [network], table=table)
    statement = ExpertNetwork.from_edges([("cause", "rain")], names=table.names)
    fitted = statement.fitted(table, shapes=network.shapes)
    assert set(fitted.shapes) == {"cause", "rain", "tail"}
    points = front_points(front, expert=statement)
    assert points.iloc[-1]["misfit"] == pytest.approx(-fitted.score(table.to_frame()), abs=1e-12)


def test_a_front_of_two_objectives_is_a_scatter(front, truth):
    ax: Any = plot_front(front, expert=True, truth=truth, objectives=["misfit", "complexity"])
    points = front_points(front, expert=True, truth=truth, objectives=["misfit", "complexity"])
    for dots, source in zip(ax.collections, ["front", "expert", "truth"], strict=True):
        np.testing.assert_array_equal(
            dots.get_offsets(), points.loc[points["source"] == source, ["misfit", "complexity"]]
        )
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == [f"front ({len(front)} networks)", "expert's network", "truth"]
    assert ax.get_xlabel() == "Misfit [nats per row]   ← fits the data better"
    assert ax.get_ylabel() == "Complexity [free parameters]   ← simpler"
    paths = [dots.get_paths()[0].vertices.tolist() for dots in ax.collections]
    assert all(path != other for path, other in itertools.combinations(paths, 2))


def test_a_front_of_three_objectives_is_a_solid_scatter(front):
    ax: Any = plot_front(front, expert=True)
    positions = np.column_stack([np.asarray(part) for part in ax.collections[0]._offsets3d])
    np.testing.assert_array_equal(positions, front.values)
    assert ax.get_xlabel() == "Misfit [nats per row]\nlower: fits the data better"
    assert ax.get_zlabel() == "Distance to the expert [nats]\nlower: closer to the expert's network"
    axes = plt.figure().add_subplot(projection="3d")
    assert plot_front(front, ax=axes) is axes


def test_fronts_name_what_is_wrong(front, truth, networks):
    with pytest.raises(GomeaBnError, match=r"drawn over 2 or 3 objectives, got 1; the front has misfit"):
        plot_front(front, objectives=["misfit"])
    with pytest.raises(GomeaBnError, match=r"truth must be the DiscretizedBayesNet .* got int; leave it out"):
        plot_front(front, truth=untyped(5))
    with pytest.raises(GomeaBnError, match=r"truth must be the DiscretizedBayesNet .* got bool"):
        front_points(front, truth=untyped(False))
    with pytest.raises(GomeaBnError, match=r"expert must be a DiscretizedBayesNet.* True, got str"):
        plot_front(front, expert=untyped("mine.json"))
    extra = [Objective(f"o{i}", f"O{i}", "units", "smaller") for i in range(4)]
    wide = Front(extra, np.eye(4), networks[:4], table=front.table)
    with pytest.raises(GomeaBnError, match=r"got 4; .* Choose with objectives="):
        plot_front(wide)
    with pytest.raises(GomeaBnError, match="value of truth in the objective 'o0' cannot be computed"):
        front_points(wide, truth=truth)
    with pytest.raises(GomeaBnError, match=r"unknown objective 'misfitt'.* Did you mean 'misfit'\?"):
        plot_front(front, objectives=["misfitt", "complexity"])
    with pytest.raises(GomeaBnError, match="objectives has a duplicate"):
        plot_front(front, objectives=["misfit", "misfit"])
    with pytest.raises(GomeaBnError, match="single text"):
        plot_front(front, objectives="misfit")
    with pytest.raises(GomeaBnError, match="3 objectives need axes of 3 dimensions"):
        plot_front(front, ax=plt.figure().add_subplot())
    with pytest.raises(GomeaBnError, match="2 objectives need axes of 2 dimensions"):
        plot_front(front, objectives=front.names[:2], ax=plt.figure().add_subplot(projection="3d"))
    bare = Front(front.objectives, front.values, networks)
    with pytest.raises(GomeaBnError, match="this front has none; pass a network"):
        front_points(bare, expert=True)
    with pytest.raises(GomeaBnError, match="this front has no table; leave truth out"):
        front_points(bare, truth=truth)
    without = Front(front.objectives, front.values, networks, table=front.table)
    with pytest.raises(GomeaBnError, match="needs a front with an expert"):
        front_points(without, truth=truth)
